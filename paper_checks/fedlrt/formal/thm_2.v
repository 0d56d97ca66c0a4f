(** Theorem 2 of FeDLRT (Section 3.2, eq. (12)), which is Theorem 9 (eqs. (35), (38)): descent of an iteration. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds thm_7 thm_8 bases plane.
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

(** No constant below 1 - 1/(2s) serves all small rates of losses with L = 1 and all small thresholds, for any number
    of steps: one client runs Algorithm 1, and its truncation, by either rule, loses nothing. The gradient lies in the
    old bases, and QR completes the bases. *)
Definition thm_2_least_states : Prop :=
  forall (s counted : nat) (constant : R), (1 <= s)%nat -> (counted <= 1)%nat -> constant < 1 - 1 / (2 * INR s) ->
  forall small, 0 < small ->
  exists (r : round) (before : factors r) (t : truncation r (S_star r)),
  steps r = s /\ clients r = 1%nat /\ L r = 1 /\ 0 < lambda r <= small /\ s_ r * lambda r * L r <= 1 /\
  augmented r before /\ holds_the_gradients r before /\ decreasing t /\ keeps_the_least counted t /\ 0 < theta t <= small /\
  mean_L r (W_next t) - mean_L r (W_before before)
  > - (s_ r * lambda r) * (1 - constant * (s_ r * lambda r) * L r) * ‖(nabla_S r (S r))‖ ^ 2
    + theta t * ‖(nabla r (W_star r))‖ + L r / 2 * theta t ^ 2.

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

(** A bowl around 0. *)
Lemma bowl_towards_zero (X : M 2 2) : bowl_gradient zero 1 X = X.
Proof. unfold bowl_gradient. vectors. Qed.

Lemma scaled_start a : a ⋅ start = two a 0 0 0.
Proof. unfold start. rewrite two_scale. apply two_same; ring. Qed.

Lemma value_of_bowl a : bowl zero 1 (a ⋅ start) = a ^ 2 / 2.
Proof.
  unfold bowl. replace (a ⋅ start ⊖ zero) with (a ⋅ start) by vectors.
  rewrite scaled_start, two_square. field.
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

Section BowlRound.
Variables (s : nat) (l : R).
Hypothesis some : (1 <= s)%nat.
Hypothesis rate : 0 <= l.

Lemma towards_zero_smooth (c : nat) : (c < 1)%nat -> smooth 1 (bowl (zero : M 2 2) 1) (bowl_gradient zero 1).
Proof. intros _. apply bowl_smooth. rewrite Rabs_right; lra. Qed.

Definition bowl_round : round :=
  plane_round 1 s 1 l (fun _ => bowl zero 1) (fun _ => bowl_gradient zero 1) (le_n 1) some Rle_0_1 rate towards_zero_smooth.

Lemma bowl_slope c (X : M 2 2) : nabla_S_of bowl_round c X = X.
Proof. etransitivity; [apply plane_slope|apply bowl_towards_zero]. Qed.

Lemma bowl_nabla (X : M 2 2) : nabla bowl_round X = X.
Proof.
  transitivity (bowl_gradient zero 1 X); [|apply bowl_towards_zero].
  exact (vmean_const 1 (bowl_gradient zero 1 X) (le_n 1)).
Qed.

Lemma bowl_mean_slope (X : M 2 2) : nabla_S bowl_round X = X.
Proof. etransitivity; [apply plane_mean_slope|apply bowl_nabla]. Qed.

Lemma bowl_mean_loss (X : M 2 2) : mean_L bowl_round X = bowl zero 1 X.
Proof. exact (mean_const 1 (bowl zero 1 X) (le_n 1)). Qed.

Lemma one_step a : a ⋅ start ⊖ l ⋅ (a ⋅ start ⊖ start ⊕ start) = ((1 - l) * a) ⋅ start.
Proof. vectors. Qed.

Lemma bowl_coefficients i : coefficients bowl_round 0 i = (1 - l) ^ i ⋅ start.
Proof.
  induction i as [|i IH].
  - symmetry. exact (scale_one (M 2 2) start).
  - change (coefficients bowl_round 0 i ⊖ l ⋅ (nabla_S_of bowl_round 0 (coefficients bowl_round 0 i)
      ⊖ nabla_S_of bowl_round 0 start ⊕ nabla_S bowl_round start) = ((1 - l) * (1 - l) ^ i) ⋅ start).
    rewrite !bowl_slope, bowl_mean_slope, IH. apply one_step.
Qed.

Lemma bowl_star : S_star bowl_round = (1 - l) ^ s ⋅ start.
Proof.
  transitivity (vmean 1 (fun _ : nat => (1 - l) ^ s ⋅ start)); [|apply (vmean_const 1); lia].
  apply (vmean_ext 1). intros c low. replace c with 0%nat by lia. apply bowl_coefficients.
Qed.
End BowlRound.

(* proves: fedlrt/thm-2: together with thm_2 and thm_2_bounded *)
Theorem thm_2_least : thm_2_least_states.
Proof.
  intros s counted constant some few least small positive.
  assert (natural : 1 <= INR s) by (apply le_INR in some; exact some).
  set (n := INR s) in *. set (room := 1 - 1 / (2 * n) - constant) in *.
  assert (gap : 0 < room) by (unfold room; lra).
  set (l := Rmin (Rmin small (/ (2 * n))) (room / (8 * n))).
  assert (l_pos : 0 < l).
  { unfold l. apply Rmin_glb_lt; [apply Rmin_glb_lt; [assumption|apply Rinv_0_lt_compat; lra]|].
    apply Rdiv_lt_0_compat; lra. }
  assert (l_small : l <= small) by (unfold l; eapply Rle_trans; [apply Rmin_l|apply Rmin_l]).
  assert (l_short : l <= / (2 * n)) by (unfold l; eapply Rle_trans; [apply Rmin_l|apply Rmin_r]).
  assert (l_room : l <= room / (8 * n)) by (unfold l; apply Rmin_r).
  assert (n_l : n * l <= 1 / 2).
  { replace (1 / 2) with (n * / (2 * n)) by (field; lra). apply Rmult_le_compat_l; lra. }
  assert (l_half : l <= 1 / 2) by nra.
  set (a := (1 - l) ^ s).
  assert (a_pos : 0 < a) by (apply pow_lt; lra).
  assert (a_high : a <= 1).
  { apply Rle_trans with (1 ^ s); [apply pow_incr; lra|rewrite pow1; lra]. }
  assert (slack : 0 < n ^ 2 * l ^ 2 * room) by (apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; apply pow_lt; lra|assumption]).
  set (theta := Rmin (Rmin small a) (n ^ 2 * l ^ 2 * room / 4)).
  assert (theta_pos : 0 < theta) by (unfold theta; repeat apply Rmin_glb_lt; lra).
  assert (theta_small : theta <= small) by (unfold theta; eapply Rle_trans; [apply Rmin_l|apply Rmin_l]).
  assert (theta_a : theta <= a) by (unfold theta; eapply Rle_trans; [apply Rmin_l|apply Rmin_r]).
  assert (theta_room : theta <= n ^ 2 * l ^ 2 * room / 4) by (unfold theta; apply Rmin_r).
  clearbody theta.
  set (r := bowl_round s l some (Rlt_le _ _ l_pos)).
  assert (star : S_star r = a ⋅ start) by apply bowl_star.
  assert (star_is : S_star r = two a 0 0 0) by (rewrite star; apply scaled_start).
  set (t := plane_truncation 1 s 1 l _ _ (le_n 1) some Rle_0_1 (Rlt_le _ _ l_pos) towards_zero_smooth (S_star r) a counted
    theta star_is few theta_pos).
  set (factors := plane_factors 1 s 1 l _ _ (le_n 1) some Rle_0_1 (Rlt_le _ _ l_pos) towards_zero_smooth).
  exists r, factors, t.
  split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|]. change (s_ r) with n.
  change (lambda r) with l. change (L r) with 1. change (bases.theta t) with theta.
  split; [lra|]. split; [lra|]. split; [apply plane_augmented|]. split; [apply plane_holds|].
  split; [now apply plane_decreasing|]. split; [now apply plane_keeps|]. split; [lra|].
  assert (next : @W_next r (S_star r) t = S_star r) by apply plane_next.
  assert (first : @W_before r factors = start) by apply plane_before.
  rewrite next, first.
  assert (slope_is_1 : ‖(nabla_S r (S r))‖ = 1).
  { change (S r) with start. unfold r. rewrite bowl_mean_slope. exact start_norm. }
  assert (end_slope : ‖(nabla r (W_star r))‖ = a).
  { unfold r. rewrite bowl_nabla. fold r. unfold W_star. transitivity ‖(a ⋅ start)‖.
    - f_equal. etransitivity; [apply plane_model|exact star].
    - rewrite norm_scale, start_norm, Rabs_right by lra. ring. }
  assert (before : mean_L r start = 1 / 2).
  { unfold r. rewrite bowl_mean_loss. transitivity (bowl zero 1 (1 ⋅ start)); [|rewrite value_of_bowl; field].
    f_equal. symmetry. exact (scale_one (M 2 2) start). }
  assert (after : mean_L r (S_star r) = a ^ 2 / 2).
  { rewrite star. unfold r. rewrite bowl_mean_loss. apply value_of_bowl. }
  rewrite before, after, slope_is_1, end_slope.
  assert (power := power_of_bowl l (2 * s) ltac:(lra)). rewrite mult_INR in power. simpl (INR 2) in power.
  fold n in power. replace ((1 - l) ^ (2 * s)) with (a ^ 2) in power by (unfold a; rewrite <- pow_mult; f_equal; lia).
  set (p := a ^ 2) in *.
  assert (constant_is : constant = 1 - 1 / (2 * n) - room) by (unfold room; lra).
  assert (cubic : 8 * n ^ 3 * l ^ 3 <= n ^ 2 * l ^ 2 * room).
  { replace (8 * n ^ 3 * l ^ 3) with (n ^ 2 * l ^ 2 * (8 * n * l)) by ring.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; apply pow2_ge_0|].
    replace room with (8 * n * (room / (8 * n))) by (field; lra). apply Rmult_le_compat_l; lra. }
  assert (cost : theta * a + 1 / 2 * theta ^ 2 <= 3 / 2 * theta) by nra.
  rewrite constant_is.
  replace (- (n * l) * (1 - (1 - 1 / (2 * n) - room) * (n * l) * 1) * 1 ^ 2)
    with (- (n * l) + n ^ 2 * l ^ 2 - n * l ^ 2 / 2 - n ^ 2 * l ^ 2 * room) by (field; lra).
  lra.
Qed.
