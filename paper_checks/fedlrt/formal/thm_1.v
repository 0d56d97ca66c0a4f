(** Theorem 1 of FeDLRT (Section 3.2, eq. (11)), which is Theorem 6 (eq. (27)): the drift of a client. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds.
Open Scope R_scope.

Definition thm_1_states {constant limit : R} : Prop :=
  forall r : round,
  (0 < L r -> lambda r <= limit / (L r * s_ r)) ->
  forall c s, (c < clients r)%nat -> (s <= steps r)%nat ->
  ‖(coefficients r c s ⊖ S r)‖ <= constant * s_ r * lambda r * ‖(nabla_S r (S r))‖.

(** The bound for each number of steps, without a condition on the rate. *)
Definition thm_1_best_states : Prop :=
  forall r : round, 0 < L r ->
  forall c s, (c < clients r)%nat ->
  ‖(coefficients r c s ⊖ S r)‖ <= ((1 + lambda r * L r) ^ s - 1) / L r * ‖(nabla_S r (S r))‖.

Lemma power_below_e s : (0 < s)%nat -> (1 + / INR s) ^ s <= exp 1.
Proof.
  intro some. assert (positive : 0 < INR s) by now apply lt_0_INR.
  assert (inverse := Rinv_0_lt_compat _ positive).
  assert (step : 1 + / INR s <= exp (/ INR s)) by (apply Rlt_le, exp_ineq1; lra).
  apply Rle_trans with (exp (/ INR s) ^ s); [apply pow_incr; lra|].
  assert (power : forall k x, exp x ^ k = exp (INR k * x)).
  { induction k as [|k IH]; intro x; [simpl; now rewrite Rmult_0_l, exp_0|].
    rewrite S_INR. simpl. rewrite IH, <- exp_plus. f_equal. ring. }
  rewrite power, Rinv_r by lra. apply Rle_refl.
Qed.

Lemma drift_in_round (r : round) c s : (c < clients r)%nat ->
  ‖(coefficients r c s ⊖ S r)‖
  <= lambda r * sum s (fun j => (1 + lambda r * L r) ^ j) * ‖(nabla_S r (S r))‖.
Proof.
  intro below. rewrite coefficients_point.
  apply (drift_sum (clients r) (L r) (lambda r) (own_loss r) (nabla_S_of r) (S r) (fun _ => nabla_S r (S r)));
    [apply rate_nonneg|apply constant_L|intros; now apply own_smooth|assumption].
Qed.

(* best: fedlrt/thm-1 *)
Theorem thm_1_best : thm_1_best_states.
Proof.
  intros r curved c s below. eapply Rle_trans; [now apply drift_in_round|].
  apply Rmult_le_compat_r; [apply norm_nonneg|].
  assert (total := growth_is_sum (lambda r * L r) s). unfold growth in total. rewrite total.
  right. field. lra.
Qed.

Lemma thm_1_from (constant : R) : exp 1 - 1 <= constant -> thm_1_states (constant := constant) (limit := 1).
Proof.
  intros enough r short c i below early.
  assert (natural := s_ge_1 r). assert (rate := rate_nonneg r). assert (sign := constant_L r).
  assert (small : lambda r * L r <= / s_ r).
  { assert (0 < / s_ r) by (apply Rinv_0_lt_compat; lra).
    destruct (Req_dec (L r) 0) as [flat|curved]; [rewrite flat; lra|]. specialize (short ltac:(lra)).
    replace (/ s_ r) with (1 / (L r * s_ r) * L r) by (field; lra). apply Rmult_le_compat_r; lra. }
  eapply Rle_trans; [now apply drift_in_round|].
  apply Rmult_le_compat_r; [apply norm_nonneg|]. rewrite (Rmult_comm _ (lambda r)).
  apply Rmult_le_compat_l; [lra|].
  apply Rle_trans with (sum (steps r) (fun j => (1 + / s_ r) ^ j)).
  - apply Rle_trans with (sum i (fun j => (1 + / s_ r) ^ j)).
    + apply sum_le. intros j _. apply pow_incr. split; [|lra]. assert (0 <= lambda r * L r) by nra. lra.
    + replace (steps r) with (i + (steps r - i))%nat by lia. rewrite sum_split.
      assert (0 <= sum (steps r - i) (fun j => (1 + / s_ r) ^ (i + j))); [|lra].
      apply sum_nonneg. intros. apply pow_le. assert (0 < / s_ r) by (apply Rinv_0_lt_compat; lra). lra.
  - assert (total := growth_is_sum (/ s_ r) (steps r)). unfold growth in total.
    assert (below_e := power_below_e (steps r) (some_steps r)). fold (s_ r) in below_e.
    apply Rmult_le_reg_l with (/ s_ r); [apply Rinv_0_lt_compat; lra|].
    rewrite <- total. replace (/ s_ r * (constant * s_ r)) with constant by (field; lra). lra.
Qed.

(* proves: fedlrt/thm-1 *)
Theorem thm_1 : thm_1_states (constant := exp 1) (limit := 1).
Proof. apply thm_1_from. lra. Qed.

(* best: fedlrt/thm-1 *)
Theorem thm_1_with_e_minus_1 : thm_1_states (constant := exp 1 - 1) (limit := 1).
Proof. apply thm_1_from. lra. Qed.
