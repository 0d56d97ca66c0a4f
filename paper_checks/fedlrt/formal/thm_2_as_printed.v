(** Theorem 2 of FeDLRT as printed fails: one client, one step, integers. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds bases plane.
Open Scope R_scope.

(** The printed inequality (12) for one iteration. *)
Definition thm_2_printed {constant leading share : R}
    (r : round) (before : factors r) (t : truncation r (S_star r)) : Prop :=
  mean_L r (W_next t) - mean_L r (W_before before)
  <= - (leading * (s_ r * lambda r)) * (1 - constant * (s_ r * lambda r) * L r) * ‖(nabla_S r (S r))‖ ^ 2
     + share * (L r * theta t).

(** It fails with either rule. The gradients of U and V are not in the old bases, so that they force the augmented
    ones. *)
Definition thm_2_fails {constant leading share : R} : Prop :=
  forall counted : nat, (counted <= 1)%nat ->
  exists (r : round) (before : factors r) (t : truncation r (S_star r)),
  0 < L r /\ 0 < lambda r <= 1 / (constant * L r * s_ r) /\
  augmented r before /\ holds_the_gradients r before /\ spanned_by_the_gradients r before /\
  decreasing t /\ keeps_the_least counted t /\
  ~ thm_2_printed (constant := constant) (leading := leading) (share := share) r before t.

(** The loss is half of the squared distance from this target. *)
Definition target : M 2 2 := two 65 48 48 136.
Definition first_vector : M 2 2 := two (4 / 5) (- 3 / 5) (3 / 5) (4 / 5).

Lemma first_vector_orthonormal : orthonormal first_vector.
Proof.
  unfold orthonormal, first_vector. rewrite two_transpose, two_product, two_identity. apply two_same; field.
Qed.

Definition integer_round : round.
Proof.
  refine (Round 2 2 2 1 1 1 (1 / 100) (fun _ => bowl target 1) (fun _ => bowl_gradient target 1)
    plane plane (two 1 0 0 0) (le_n 1) (le_n 1) Rle_0_1 _ _ plane_orthonormal plane_orthonormal).
  - lra.
  - intros. apply bowl_smooth. rewrite Rabs_right; lra.
Defined.

Lemma model_is (X : M 2 2) : model integer_round X = X.
Proof.
  change (plane × X × plane^T = X). unfold plane.
  now rewrite transpose_identity, identity_product, product_identity.
Qed.

Lemma nabla_is (X : M 2 2) : nabla integer_round X = X ⊖ target.
Proof.
  transitivity (1 ⋅ (X ⊖ target)); [|apply scale_one].
  exact (vmean_const 1 (bowl_gradient target 1 X) (le_n 1)).
Qed.

Lemma nabla_S_of_is c (X : M 2 2) : nabla_S_of integer_round c X = X ⊖ target.
Proof.
  change (plane^T × bowl_gradient target 1 (model integer_round X) × plane = X ⊖ target).
  rewrite model_is. unfold plane, bowl_gradient.
  now rewrite transpose_identity, identity_product, product_identity, scale_one.
Qed.

Lemma nabla_S_is (X : M 2 2) : nabla_S integer_round X = X ⊖ target.
Proof.
  rewrite <- (mean_of_slopes integer_round X). transitivity (nabla_S_of integer_round 0 X); [|apply nabla_S_of_is].
  exact (vmean_const 1 (nabla_S_of integer_round 0 X) (le_n 1)).
Qed.

Lemma mean_L_is (X : M 2 2) : mean_L integer_round X = / 2 * ⟨ X ⊖ target, X ⊖ target ⟩.
Proof.
  transitivity (bowl target 1 X); [exact (mean_const 1 (bowl target 1 X) (le_n 1))|]. unfold bowl. field.
Qed.

Lemma step_is (X : M 2 2) :
  X ⊖ (1 / 100) ⋅ ((X ⊖ target) ⊖ (X ⊖ target) ⊕ (X ⊖ target)) = X ⊖ (1 / 100) ⋅ (X ⊖ target).
Proof. vectors. Qed.

Lemma S_star_is : S_star integer_round = two (41 / 25) (12 / 25) (12 / 25) (34 / 25).
Proof.
  transitivity (coefficients integer_round 0 1).
  - transitivity (vmean 1 (fun _ : nat => coefficients integer_round 0 1)); [|apply (vmean_const 1); lia].
    apply (vmean_ext 1). intros c low. now replace c with 0%nat by lia.
  - change (two 1 0 0 0 ⊖ (1 / 100) ⋅ (nabla_S_of integer_round 0 (two 1 0 0 0)
      ⊖ nabla_S_of integer_round 0 (two 1 0 0 0) ⊕ nabla_S integer_round (two 1 0 0 0))
      = two (41 / 25) (12 / 25) (12 / 25) (34 / 25)).
    rewrite nabla_S_of_is, nabla_S_is, step_is. unfold target.
    rewrite two_sub, two_scale, two_sub. apply two_same; field.
Qed.

Definition integer_factors : factors integer_round.
Proof.
  refine (Factors integer_round 1 _ (identity 1) _); [simpl; lia|].
  apply two_eq; reflexivity.
Defined.

Lemma integer_spanned : spanned_by_the_gradients integer_round integer_factors.
Proof.
  assert (before : W_before integer_factors = two 1 0 0 0) by (rewrite augmentation_keeps; apply model_is).
  assert (slope : nabla integer_round (W_before integer_factors) = two (- 64) (- 48) (- 48) (- 136)).
  { rewrite before, nabla_is. unfold target. rewrite two_sub. apply two_same; ring. }
  unfold spanned_by_the_gradients, nabla_U, nabla_V. rewrite slope.
  set (to k l := from_entries 1 2 (fun _ j => match j with O => k | _ => l end) : M 1 2).
  split; exists (to 1 (- (4 / 3))), (to 0 (- (1 / 48))); apply two_eq; cbn; field.
Qed.

Definition singular_values (i : nat) : R := match i with O => 2 | _ => 1 end.

Definition integer_truncation (theta : R) (enough : 1 <= theta) : truncation integer_round (S_star integer_round).
Proof.
  refine (Truncation integer_round (S_star integer_round) first_vector first_vector singular_values 1 theta
    first_vector_orthonormal first_vector_orthonormal _ _ _).
  - rewrite S_star_is. change (width integer_round) with 2%nat.
    rewrite diagonal_two. unfold first_vector. rewrite two_transpose, two_product, two_product.
    apply two_same; simpl; field.
  - simpl. lia.
  - simpl. rewrite <- (sqrt_square theta) by lra. apply sqrt_le_1_alt. nra.
Defined.

Lemma W_next_is theta enough : W_next (integer_truncation theta enough) = two (32 / 25) (24 / 25) (24 / 25) (18 / 25).
Proof.
  rewrite next_coefficients. etransitivity; [apply model_is|].
  change (first_vector × diagonal 2 (kept_values 1 singular_values) × first_vector^T
          = two (32 / 25) (24 / 25) (24 / 25) (18 / 25)).
  rewrite diagonal_two. unfold first_vector. rewrite two_transpose, two_product, two_product.
  apply two_same; unfold kept_values; simpl; field.
Qed.

Lemma W_before_is : W_before integer_factors = two 1 0 0 0.
Proof. rewrite augmentation_keeps. apply model_is. Qed.

(* refutes: fedlrt/thm-2 *)
Theorem thm_2_fails_as_printed : thm_2_fails (constant := 12) (leading := 1) (share := 1).
Proof.
  intros counted few.
  set (cut := if Nat.eqb counted 0 then 3 / 2 else 9 / 4).
  assert (range : 1 <= cut <= 9 / 4) by (unfold cut; destruct (Nat.eqb counted 0); lra).
  exists integer_round, integer_factors, (integer_truncation cut (proj1 range)).
  split; [exact Rlt_0_1|]. split; [|split; [|split; [|split; [|split; [|split]]]]].
  - change (0 < 1 / 100 <= 1 / (12 * 1 * 1)). lra.
  - split; reflexivity.
  - split; change (U integer_round) with (identity 2); change (V integer_round) with (identity 2);
      now rewrite transpose_identity, !identity_product.
  - exact integer_spanned.
  - intros i j order low. change (width integer_round) with 2%nat in low. cbn [sigma integer_truncation].
    unfold singular_values. destruct i, j; try lia; lra.
  - unfold keeps_the_least, tail_after. cbn [kept theta sigma integer_truncation]. change (width integer_round) with 2%nat.
    destruct counted as [|[|counted]]; [| |lia]; unfold cut; cbn [Nat.eqb Nat.sub].
    + split; [lia|]. split.
      * rewrite <- (sqrt_square (3 / 2)) by lra. apply sqrt_lt_1_alt. cbn. lra.
      * intros k low. replace k with 0%nat by lia.
        rewrite <- (sqrt_square (3 / 2)) by lra. apply sqrt_le_1_alt. cbn. lra.
    + split; [lia|]. split; [|intros k low; lia].
      rewrite <- (sqrt_square (9 / 4)) by lra. apply sqrt_lt_1_alt. cbn. lra.
  - unfold thm_2_printed. intro bound.
    assert (after : mean_L integer_round (W_next (integer_truncation cut (proj1 range)))
                    = / 2 * ((32 / 25 - 65) ^ 2 + (24 / 25 - 48) ^ 2 + (24 / 25 - 48) ^ 2 + (18 / 25 - 136) ^ 2)).
    { rewrite W_next_is. etransitivity; [apply mean_L_is|]. unfold target. now rewrite two_sub, two_square. }
    assert (start : mean_L integer_round (W_before integer_factors)
                    = / 2 * ((1 - 65) ^ 2 + (0 - 48) ^ 2 + (0 - 48) ^ 2 + (0 - 136) ^ 2)).
    { rewrite W_before_is. etransitivity; [apply mean_L_is|]. unfold target. now rewrite two_sub, two_square. }
    assert (slope : ‖(nabla_S integer_round (S integer_round))‖ ^ 2
                    = (1 - 65) ^ 2 + (0 - 48) ^ 2 + (0 - 48) ^ 2 + (0 - 136) ^ 2).
    { replace (‖(nabla_S integer_round (S integer_round))‖ ^ 2)
        with (‖(nabla_S integer_round (S integer_round))‖ * ‖(nabla_S integer_round (S integer_round))‖) by ring.
      rewrite norm_square.
      assert (gradient : nabla_S integer_round (S integer_round) = two (1 - 65) (0 - 48) (0 - 48) (0 - 136)).
      { etransitivity; [exact (nabla_S_is (two 1 0 0 0))|apply two_sub]. }
      rewrite gradient. apply two_square. }
    rewrite after, start, slope in bound.
    change (s_ integer_round) with 1 in bound. change (lambda integer_round) with (1 / 100) in bound.
    change (L integer_round) with 1 in bound. change (theta (integer_truncation cut (proj1 range))) with cut in bound. lra.
Qed.
