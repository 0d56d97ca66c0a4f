(** Theorem 2 of FeDLRT (Section 3.2, eq. (12)), which is Theorem 9 (eqs. (35), (38)): descent of an iteration. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds thm_7 thm_8 bases.
Open Scope R_scope.

(** The corrected statement: for all s lambda L up to the limit, with what a truncation can cost. *)
Definition thm_2_states {constant leading share limit : R} : Prop :=
  forall (r : round) (before : factors r) (t : truncation r (S_star r)),
  s_ r * lambda r * L r <= limit ->
  mean_L r (W_next t) - mean_L r (W_before before)
  <= - (leading * (s_ r * lambda r)) * (1 - constant * (1 - 1 / (2 * s_ r)) * (s_ r * lambda r) * L r)
       * ‖(nabla_S r (S r))‖ ^ 2
     + share * (theta t * ‖(nabla r (W_star r))‖ + L r / 2 * theta t ^ 2).

(** The printed cost serves where L also bounds the gradient along the truncation. *)
Definition thm_2_bounded_states : Prop :=
  forall (r : round) (before : factors r) (t : truncation r (S_star r)),
  s_ r * lambda r * L r <= 1 ->
  (forall h, 0 <= h <= 1 -> ‖(nabla r (W_star r ⊕ h ⋅ (W_next t ⊖ W_star r)))‖ <= L r) ->
  mean_L r (W_next t) - mean_L r (W_before before)
  <= - (s_ r * lambda r) * (1 - (1 - 1 / (2 * s_ r)) * (s_ r * lambda r) * L r) * ‖(nabla_S r (S r))‖ ^ 2
     + L r * theta t.

(** No constant below 1 - 1/(2s) serves all small rates of losses with L = 1, for any number of steps, even where
    nothing is cut. *)
Definition thm_2_least_states : Prop :=
  forall s (constant : R), (1 <= s)%nat -> constant < 1 - 1 / (2 * INR s) ->
  forall small, 0 < small ->
  exists (r : round) (before : factors r) (t : truncation r (S_star r)),
  steps r = s /\ clients r = 1%nat /\ L r = 1 /\ 0 < lambda r <= small /\ s_ r * lambda r * L r <= 1 /\
  decreasing t /\ theta t = 0 /\
  mean_L r (W_next t) - mean_L r (W_before before)
  > - (s_ r * lambda r) * (1 - constant * (s_ r * lambda r) * L r) * ‖(nabla_S r (S r))‖ ^ 2.

Lemma descent_of_coefficients (r : round) (before : factors r) :
  s_ r * lambda r * L r <= 1 ->
  mean_L r (W_star r) - mean_L r (W_before before)
  <= - (s_ r * lambda r) * (1 - (1 - 1 / (2 * s_ r)) * (s_ r * lambda r) * L r) * ‖(nabla_S r (S r))‖ ^ 2.
Proof.
  intro short. rewrite augmentation_keeps. assert (step := thm_8_best r short).
  now rewrite length_of_F in step.
Qed.

(* proves: fedlrt/thm-2: together with thm_2_bounded and thm_2_least *)
Theorem thm_2 : thm_2_states (constant := 1) (leading := 1) (share := 1) (limit := 1).
Proof.
  intros r before t short.
  assert (first := descent_of_coefficients r before short). assert (second := truncation_cost t).
  fold (W_star r) in second. rewrite !Rmult_1_l. lra.
Qed.

(* proves: fedlrt/thm-2: together with thm_2 and thm_2_least *)
Theorem thm_2_bounded : thm_2_bounded_states.
Proof.
  intros r before t short bounded.
  assert (first := descent_of_coefficients r before short).
  assert (second := bounded_gradient (mean_L r) (nabla r) (W_star r) (W_next t ⊖ W_star r) (L r)
    (proj1 (mean_smooth (clients r) (L r) (loss r) (gradient r) (some_clients r) (smooth_losses r))) bounded).
  replace (W_star r ⊕ (W_next t ⊖ W_star r)) with (W_next t) in second by vectors.
  assert (cut := cut_le_theta t). fold (W_star r) in cut. assert (sign := constant_L r).
  assert (L r * ‖(W_next t ⊖ W_star r)‖ <= L r * theta t) by now apply Rmult_le_compat_l.
  lra.
Qed.

(** A bowl in matrices of one entry, from 1 towards 0. *)
Definition one : M 1 1 := identity 1.
Lemma one_orthonormal : orthonormal one.
Proof. unfold orthonormal, one. now rewrite transpose_identity, identity_product. Qed.

Definition bowl_round (s : nat) (lambda : R) (some : (1 <= s)%nat) (positive : 0 < lambda) : round.
Proof.
  refine (Round 1 1 1 1 s 1 lambda (fun _ => bowl zero 1) (fun _ => bowl_gradient zero 1) one one one
    (le_n 1) some Rle_0_1 (Rlt_le _ _ positive) _ one_orthonormal one_orthonormal).
  intros. apply bowl_smooth. rewrite Rabs_right; lra.
Defined.

Lemma one_by_one (A : M 1 1) : one^T × A × one = A.
Proof. unfold one. rewrite transpose_identity, identity_product. apply product_identity. Qed.

Lemma bowl_towards_zero (X : M 1 1) : bowl_gradient zero 1 X = X.
Proof. unfold bowl_gradient. vectors. Qed.

Lemma model_of_bowl s lambda some positive (X : M 1 1) : model (bowl_round s lambda some positive) X = X.
Proof.
  change (one × X × one^T = X). unfold one. rewrite transpose_identity, identity_product. apply product_identity.
Qed.

Lemma one_step l a : a ⋅ one ⊖ l ⋅ (a ⋅ one ⊖ one ⊕ one) = ((1 - l) * a) ⋅ one.
Proof. vectors. Qed.

Lemma bowl_coefficients s lambda some positive i :
  coefficients (bowl_round s lambda some positive) 0 i = (1 - lambda) ^ i ⋅ one.
Proof.
  set (r := bowl_round s lambda some positive).
  assert (own : forall X : M 1 1, nabla_S_of r 0 X = X).
  { intro X. change (one^T × bowl_gradient zero 1 (model r X) × one = X).
    unfold r. rewrite model_of_bowl, one_by_one. apply bowl_towards_zero. }
  assert (mean : forall X : M 1 1, nabla_S r X = X).
  { intro X. rewrite <- (mean_of_slopes r X). transitivity (nabla_S_of r 0 X); [|apply own].
    exact (vmean_const 1 (nabla_S_of r 0 X) (le_n 1)). }
  induction i as [|i IH].
  - symmetry. exact (scale_one (M 1 1) one).
  - change (coefficients r 0 i ⊖ lambda ⋅ (nabla_S_of r 0 (coefficients r 0 i) ⊖ nabla_S_of r 0 one ⊕ nabla_S r one)
            = ((1 - lambda) * (1 - lambda) ^ i) ⋅ one).
    rewrite own, own, mean, IH. exact (one_step lambda ((1 - lambda) ^ i)).
Qed.

Lemma length_one : ⟨ one, one ⟩ = 1.
Proof. cbn [dot M sum]. unfold one, identity. rewrite entry_from by lia. simpl. ring. Qed.

Lemma norm_one : ‖one‖ = 1.
Proof. unfold norm. rewrite length_one. apply sqrt_1. Qed.

Lemma value_of_bowl a : bowl zero 1 (a ⋅ one) = a ^ 2 / 2.
Proof.
  unfold bowl. replace (a ⋅ one ⊖ zero) with (a ⋅ one) by vectors.
  rewrite dot_scale, dot_scale_r, length_one. field.
Qed.

Lemma power_of_bowl l s : 0 <= l <= 1 ->
  (1 - l) ^ s >= 1 - INR s * l + INR s * (INR s - 1) / 2 * (l * l) - INR s ^ 3 * l ^ 3.
Proof.
  intros [low high]. induction s as [|s IH]; [simpl; lra|].
  rewrite S_INR. assert (natural := pos_INR s). set (n := INR s) in *. simpl pow at 1.
  assert (step : (1 - l) * (1 - l) ^ s
    >= (1 - l) * (1 - n * l + n * (n - 1) / 2 * (l * l) - n ^ 3 * l ^ 3)) by (apply Rle_ge, Rmult_le_compat_l; lra).
  assert (0 <= l ^ 3) by (apply pow_le; lra).
  assert (0 <= n ^ 3 * l ^ 4) by (apply Rmult_le_pos; apply pow_le; lra).
  assert (0 <= (2 * n ^ 2 + 7 / 2 * n + 1 + n ^ 2 / 2) * l ^ 3).
  { apply Rmult_le_pos; [|assumption]. assert (0 <= n ^ 2) by apply pow2_ge_0. lra. }
  match goal with |- _ >= ?right =>
    replace right with ((1 - l) * (1 - n * l + n * (n - 1) / 2 * (l * l) - n ^ 3 * l ^ 3)
      - n ^ 3 * l ^ 4 - (2 * n ^ 2 + 7 / 2 * n + 1 + n ^ 2 / 2) * l ^ 3) by field end.
  lra.
Qed.

(** The factors and the truncation of such a round, which cuts nothing. *)
Definition bowl_factors s lambda some positive : factors (bowl_round s lambda some positive).
Proof.
  refine (Factors (bowl_round s lambda some positive) 1 (le_n 1) one _).
  change (one = corner 1 0 one). apply same_entries; intros i j low_i low_j. unfold corner. rewrite entry_from by assumption.
  now replace i with 0%nat by lia; replace j with 0%nat by lia.
Defined.

Definition bowl_truncation s lambda some positive X : truncation (bowl_round s lambda some positive) X.
Proof.
  refine (Truncation (bowl_round s lambda some positive) X one one (fun _ => entry X 0 0) 1 0 one_orthonormal
    one_orthonormal _ (le_n 1) _).
  - change (X = one × diagonal 1 (fun _ => entry (X : M 1 1) 0 0) × one^T).
    unfold one. rewrite transpose_identity, identity_product, product_identity.
    apply same_entries; intros i j low_i low_j. change (i < 1)%nat in low_i. change (j < 1)%nat in low_j.
    unfold diagonal. rewrite entry_from by assumption.
    now replace i with 0%nat by lia; replace j with 0%nat by lia.
  - cbn. rewrite sqrt_0. apply Rle_refl.
Defined.

Lemma bowl_cuts_nothing s lambda some positive X :
  W_next (bowl_truncation s lambda some positive X) = model (bowl_round s lambda some positive) X.
Proof.
  assert (cut := cut_le_theta (bowl_truncation s lambda some positive X)). cbn [theta bowl_truncation] in cut.
  apply sub_zero_eq, dot_definite. rewrite <- norm_square.
  assert (low := norm_nonneg (W_next (bowl_truncation s lambda some positive X)
    ⊖ model (bowl_round s lambda some positive) X)).
  apply Rle_antisym; nra.
Qed.

(* proves: fedlrt/thm-2: together with thm_2 and thm_2_bounded *)
Theorem thm_2_least : thm_2_least_states.
Proof.
  intros s constant some least small positive.
  assert (natural : 1 <= INR s) by (apply le_INR in some; exact some).
  set (n := INR s) in *. set (room := 1 - 1 / (2 * n) - constant) in *.
  assert (gap : 0 < room) by (unfold room; lra).
  set (l := Rmin (Rmin small (/ n)) (room / (8 * n))).
  assert (l_pos : 0 < l).
  { unfold l. apply Rmin_glb_lt; [apply Rmin_glb_lt; [assumption|apply Rinv_0_lt_compat; lra]|].
    apply Rdiv_lt_0_compat; lra. }
  assert (l_small : l <= small) by (unfold l; eapply Rle_trans; [apply Rmin_l|apply Rmin_l]).
  assert (l_short : l <= / n) by (unfold l; eapply Rle_trans; [apply Rmin_l|apply Rmin_r]).
  assert (l_room : l <= room / (8 * n)) by (unfold l; apply Rmin_r).
  assert (n_l : n * l <= 1).
  { replace 1 with (n * / n) by (field; lra). apply Rmult_le_compat_l; lra. }
  exists (bowl_round s l some l_pos), (bowl_factors s l some l_pos), (bowl_truncation s l some l_pos (S_star _)).
  rewrite bowl_cuts_nothing, augmentation_keeps. fold (W_star (bowl_round s l some l_pos)).
  set (r := bowl_round s l some l_pos).
  assert (own : nabla_S_of r 0 one = one).
  { change (one^T × bowl_gradient zero 1 (model r one) × one = one).
    unfold r. rewrite model_of_bowl, one_by_one. apply bowl_towards_zero. }
  assert (slope_is_1 : ‖(nabla_S r (S r))‖ = 1).
  { rewrite <- (mean_of_slopes r (S r)). transitivity ‖(nabla_S_of r 0 one)‖; [|rewrite own; exact norm_one].
    f_equal. exact (vmean_const 1 (nabla_S_of r 0 one) (le_n 1)). }
  assert (value : forall X : M 1 1, mean_L r (model r X) = bowl zero 1 X).
  { intro X. unfold r. rewrite model_of_bowl. exact (mean_const 1 (bowl zero 1 X) (le_n 1)). }
  assert (before : mean_L r (W_start r) = 1 / 2).
  { transitivity (bowl zero 1 (1 ⋅ one)); [|rewrite value_of_bowl; field].
    rewrite <- value. f_equal. symmetry. exact (f_equal (model r) (scale_one (M 1 1) one)). }
  assert (star : S_star r = (1 - l) ^ s ⋅ one).
  { transitivity (vmean 1 (fun _ : nat => (1 - l) ^ s ⋅ one)).
    - apply (vmean_ext 1). intros c low. replace c with 0%nat by lia. apply bowl_coefficients.
    - apply vmean_const. lia. }
  assert (after : mean_L r (W_star r) = ((1 - l) ^ s) ^ 2 / 2).
  { rewrite <- value_of_bowl, <- value. unfold W_star. do 2 f_equal. exact star. }
  change (s_ r) with n. change (lambda r) with l. change (L r) with 1. rewrite before, after, slope_is_1.
  split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|]. split; [lra|]. split; [lra|].
  split; [|split; [reflexivity|]].
  { intros i j _ _. change (0 <= entry (S_star r) 0 0 <= entry (S_star r) 0 0). rewrite star.
    assert (corner_is : entry ((1 - l) ^ s ⋅ one) 0 0 = (1 - l) ^ s).
    { rewrite entry_scale by lia. unfold one, identity. rewrite entry_from by lia. cbn [Nat.eqb]. ring. }
    assert (l <= n * l) by nra. assert (0 <= (1 - l) ^ s) by (apply pow_le; lra).
    split; [|apply Rle_refl]. apply Rle_trans with ((1 - l) ^ s); [assumption|]. right. symmetry. exact corner_is. }
  assert (power := power_of_bowl l (2 * s) ltac:(nra)). rewrite mult_INR in power. simpl (INR 2) in power.
  fold n in power. replace ((1 - l) ^ (2 * s)) with (((1 - l) ^ s) ^ 2) in power by (rewrite <- pow_mult; f_equal; lia).
  set (p := ((1 - l) ^ s) ^ 2) in *.
  assert (constant_is : constant = 1 - 1 / (2 * n) - room) by (unfold room; lra).
  assert (cubic : 8 * n ^ 3 * l ^ 3 <= n ^ 2 * l ^ 2 * room).
  { replace (8 * n ^ 3 * l ^ 3) with (n ^ 2 * l ^ 2 * (8 * n * l)) by ring.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; apply pow2_ge_0|].
    replace room with (8 * n * (room / (8 * n))) by (field; lra). apply Rmult_le_compat_l; lra. }
  assert (0 < n ^ 2 * l ^ 2 * room) by (apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; apply pow_lt; lra|assumption]).
  rewrite constant_is.
  replace (- (n * l) * (1 - (1 - 1 / (2 * n) - room) * (n * l) * 1) * 1 ^ 2)
    with (- (n * l) + n ^ 2 * l ^ 2 - n * l ^ 2 / 2 - n ^ 2 * l ^ 2 * room) by (field; lra).
  lra.
Qed.
