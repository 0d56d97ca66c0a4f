(** Section 5.1 of RoLoRA, eqs. (10) and (11): the floor of FFA-LoRA, whose a^0 stays as it was initialised. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
Open Scope R_scope.

(** The objective (10) for the samples X, as a function of b. *)
Definition objective {m d q} (X : M m d) (a_star a_0 : M d 1) (b_star b : M q 1) : R :=
  ‖(X × a_star × b_star^T ⊖ X × a_0 × b^T)‖ ^ 2.

(** Neither vector is a multiple of the other. *)
Definition independent {n} (x y : M n 1) : Prop := forall r s, r ⋅ x ⊕ s ⋅ y = zero -> r = 0 /\ s = 0.

(** The least value of (10) over b, which is not 0. *)
Definition s5_saturate_states {share : R} : Prop :=
  forall (m d q : nat) (X : M m d) (a_star a_0 : M d 1) (b_star : M q 1),
  independent (X × a_0) (X × a_star) -> b_star <> zero ->
  let least := ‖b_star‖ ^ 2 * (‖(X × a_star)‖ ^ 2 - ⟨ X × a_0, X × a_star ⟩ ^ 2 / ‖(X × a_0)‖ ^ 2) in
  0 < least /\
  (forall b, share * least <= objective X a_star a_0 b_star b) /\
  exists b, objective X a_star a_0 b_star b = share * least.

(** The length of (I - a_star a_star^T) x. *)
Definition sine {d} (a_star x : M d 1) : R := ‖(x ⊖ a_star × a_star^T × x)‖.

(** With infinitely many samples, where X^T X / m is the identity, each client finds the same b. *)
Definition prop_5_5_states {share : R} : Prop :=
  forall (d q : nat) (a_star a_0 : M d 1) (b_star b_FFA : M q 1),
  ‖a_star‖ = 1 -> ‖a_0‖ = 1 -> 0 < sine a_star a_0 < 1 ->
  let loss b := ‖(a_star × b_star^T ⊖ a_0 × b^T)‖ ^ 2 in
  (forall b, loss b_FFA <= loss b) ->
  loss b_FFA = share * (‖b_star‖ ^ 2 * sine a_star a_0 ^ 2).

Lemma dot_columns {n} (x y : M n 1) : ⟨ x, y ⟩ = sum n (fun i => entry x i 0 * entry y i 0).
Proof. cbn [dot M sum]. apply sum_ext. intros. ring. Qed.

Lemma dot_outer {m n} (u v : M m 1) (x y : M n 1) : ⟨ u × x^T, v × y^T ⟩ = ⟨ u, v ⟩ * ⟨ x, y ⟩.
Proof.
  rewrite !dot_columns. cbn [dot M]. rewrite <- sum_scale_r. apply sum_ext. intros i low_i.
  rewrite <- sum_scale. apply sum_ext. intros j low_j. rewrite !entry_product by assumption. cbn [sum].
  rewrite !entry_transpose by lia. ring.
Qed.

Lemma square_of_norm {E : space} (x : E) : ‖x‖ ^ 2 = ⟨ x, x ⟩.
Proof. rewrite <- norm_square. ring. Qed.

(** The squared length of u x^T - v y^T, completed to a square in y. *)
Lemma completed {m n} (u v : M m 1) (x y : M n 1) :
  ⟨ v, v ⟩ <> 0 ->
  ‖(u × x^T ⊖ v × y^T)‖ ^ 2
  = ‖x‖ ^ 2 * (‖u‖ ^ 2 - ⟨ v, u ⟩ ^ 2 / ‖v‖ ^ 2) + ‖v‖ ^ 2 * ‖(y ⊖ (⟨ v, u ⟩ / ‖v‖ ^ 2) ⋅ x)‖ ^ 2.
Proof.
  intro some. rewrite !square_of_norm. autorewrite with products. rewrite !dot_outer, (dot_sym _ u v), (dot_sym _ y x).
  field. assumption.
Qed.

(* part of: rolora/s5-saturate: the least value, and that it is not 0, for samples that give both vectors independent images *)
Theorem s5_saturate : s5_saturate_states (share := 1).
Proof.
  intros m d q X a_star a_0 b_star apart nonzero least.
  set (u := X × a_star) in *. set (v := X × a_0) in *.
  assert (v_some : ⟨ v, v ⟩ <> 0).
  { intro none. apply dot_definite in none. destruct (apart 1 0) as [one _]; [|lra]. rewrite none. vectors. }
  assert (b_some : 0 < ⟨ b_star, b_star ⟩).
  { assert (sign := dot_nonneg _ b_star). destruct (Req_dec ⟨ b_star, b_star ⟩ 0) as [none|]; [|lra].
    now apply dot_definite in none. }
  rewrite !Rmult_1_l. split; [|split].
  - unfold least. apply Rmult_lt_0_compat; [now rewrite square_of_norm|].
    assert (v_positive : 0 < ⟨ v, v ⟩) by (assert (sign := dot_nonneg _ v); lra).
    set (r := - (⟨ v, u ⟩ / ⟨ v, v ⟩)).
    assert (square : ⟨ r ⋅ v ⊕ 1 ⋅ u, r ⋅ v ⊕ 1 ⋅ u ⟩ = ‖u‖ ^ 2 - ⟨ v, u ⟩ ^ 2 / ‖v‖ ^ 2).
    { rewrite !square_of_norm. autorewrite with products. rewrite (dot_sym _ u v). unfold r. field. assumption. }
    rewrite <- square. assert (sign := dot_nonneg _ (r ⋅ v ⊕ 1 ⋅ u)).
    destruct (Req_dec ⟨ r ⋅ v ⊕ 1 ⋅ u, r ⋅ v ⊕ 1 ⋅ u ⟩ 0) as [none|]; [|lra].
    apply dot_definite, apart in none. lra.
  - intro b. unfold objective. fold u v. rewrite completed by assumption. fold least.
    assert (0 <= ‖v‖ ^ 2 * ‖(b ⊖ (⟨ v, u ⟩ / ‖v‖ ^ 2) ⋅ b_star)‖ ^ 2); [|lra].
    apply Rmult_le_pos; apply pow2_ge_0.
  - exists ((⟨ v, u ⟩ / ‖v‖ ^ 2) ⋅ b_star). unfold objective. fold u v. rewrite completed by assumption. fold least.
    replace ((⟨ v, u ⟩ / ‖v‖ ^ 2) ⋅ b_star ⊖ (⟨ v, u ⟩ / ‖v‖ ^ 2) ⋅ b_star) with (zero : M q 1) by vectors.
    rewrite norm_zero. ring.
Qed.

(* part of: rolora/prop-5.5@three-samples-or-more: infinitely many samples *)
Theorem prop_5_5 : prop_5_5_states (share := 1).
Proof.
  intros d q a_star a_0 b_star b_FFA unit_star unit_0 _ loss least.
  assert (one : ⟨ a_0, a_0 ⟩ = 1) by (rewrite <- norm_square, unit_0; ring).
  assert (star : ⟨ a_star, a_star ⟩ = 1) by (rewrite <- norm_square, unit_star; ring).
  assert (some : ⟨ a_0, a_0 ⟩ <> 0) by lra.
  assert (sine_is : sine a_star a_0 ^ 2 = 1 - ⟨ a_0, a_star ⟩ ^ 2).
  { unfold sine. rewrite product_assoc.
    replace (a_star × (a_star^T × a_0)) with (⟨ a_star, a_0 ⟩ ⋅ a_star).
    - rewrite square_of_norm. autorewrite with products. rewrite one, star, (dot_sym _ a_star a_0). ring.
    - apply same_entries; intros i j low_i low_j. rewrite entry_scale, !entry_product by assumption. cbn [sum].
      rewrite entry_product by lia. rewrite dot_columns. replace j with 0%nat by lia.
      rewrite (sum_ext d (fun k => entry a_star^T 0 k * entry a_0 k 0) (fun k => entry a_star k 0 * entry a_0 k 0))
        by (intros; now rewrite entry_transpose by lia). ring. }
  set (best := (⟨ a_0, a_star ⟩ / ‖a_0‖ ^ 2) ⋅ b_star).
  assert (at_best : loss best = ‖b_star‖ ^ 2 * sine a_star a_0 ^ 2).
  { unfold loss. rewrite completed by assumption. fold best.
    replace (best ⊖ best) with (zero : M q 1) by vectors. rewrite norm_zero, sine_is, unit_star, unit_0. field. }
  apply Rle_antisym; rewrite Rmult_1_l, <- at_best; [apply least|].
  rewrite at_best. unfold loss. rewrite completed by assumption. rewrite sine_is, unit_star, unit_0.
  assert (0 <= 1 ^ 2 * ‖(b_FFA ⊖ (⟨ a_0, a_star ⟩ / 1 ^ 2) ⋅ b_star)‖ ^ 2) by (apply Rmult_le_pos; apply pow2_ge_0).
  replace (⟨ a_0, a_star ⟩ ^ 2 / 1 ^ 2) with (⟨ a_0, a_star ⟩ ^ 2) by field. lra.
Qed.
