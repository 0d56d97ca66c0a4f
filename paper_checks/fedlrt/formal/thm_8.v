(** Theorem 8 of FeDLRT (Appendix F.2, eq. (34)): descent of a round before truncation, with one constant. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds thm_7.
Open Scope R_scope.

Definition thm_8_states {constant leading limit : R} : Prop :=
  forall r : round,
  (0 < L r -> lambda r <= 1 / (limit * L r * s_ r)) ->
  mean_L r (W_star r) - mean_L r (W_start r)
  <= - (leading * (s_ r * lambda r)) * (1 - constant * (s_ r * lambda r) * L r) * ‖((U r)^T × F r (W_start r) × V r)‖ ^ 2.

(** The same with the constant 1 - 1/(2s), for longer steps. That no smaller one serves all small rates is thm_2_least,
    in thm_2.v. *)
Definition thm_8_best_states : Prop :=
  forall r : round,
  s_ r * lambda r * L r <= 1 ->
  mean_L r (W_star r) - mean_L r (W_start r)
  <= - (s_ r * lambda r) * (1 - (1 - 1 / (2 * s_ r)) * (s_ r * lambda r) * L r) * ‖((U r)^T × F r (W_start r) × V r)‖ ^ 2.

(* best: fedlrt/thm-8 *)
Theorem thm_8_best : thm_8_best_states.
Proof.
  intros r short. rewrite length_of_F. unfold slope.
  assert (natural := s_ge_1 r). assert (some := some_clients r).
  assert (descent := local_steps_descend (clients r) (steps r) (L r) (lambda r) (own_loss r) (nabla_S_of r) (S r)
    (fun _ => nabla_S r (S r)) some (rate_nonneg r) (constant_L r)
    ltac:(intros; now apply own_smooth) 1 (some_steps r) short ltac:(lra)).
  rewrite vmean_const, mean_of_slopes, mean_const in descent by assumption.
  specialize (descent eq_refl ltac:(lra)). rewrite <- star_server, !mean_own_loss in descent.
  fold (W_star r) (W_start r) (s_ r) in descent.
  replace (1 - 1 / (2 * s_ r)) with (/ 2 * (1 + (1 - / s_ r) * 1)) by (field; lra).
  replace (‖(nabla_S r (S r))‖ ^ 2) with (‖(nabla_S r (S r))‖ * ‖(nabla_S r (S r))‖) by ring.
  replace (/ 2 * (1 + (1 - / s_ r) * 1) * (s_ r * lambda r) * L r)
    with (/ 2 * (1 + (1 - / s_ r) * 1) * (s_ r * lambda r * L r)) by ring.
  exact descent.
Qed.

(* proves: fedlrt/thm-8 *)
Theorem thm_8 : thm_8_states (constant := 12) (leading := 1) (limit := 12).
Proof.
  intros r short. assert (natural := s_ge_1 r). assert (rate := rate_nonneg r). assert (sign := constant_L r).
  assert (small : s_ r * lambda r * L r <= 1).
  { destruct (Req_dec (L r) 0) as [flat|curved]; [rewrite flat; lra|]. specialize (short ltac:(lra)).
    assert (12 * (s_ r * lambda r * L r) <= 1); [|lra].
    replace 1 with (12 * (s_ r * (1 / (12 * L r * s_ r)) * L r)) by (field; lra).
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_l; lra. }
  eapply Rle_trans; [exact (thm_8_best r small)|].
  set (g := ‖((U r)^T × F r (W_start r) × V r)‖). rewrite Rmult_1_l.
  apply Rmult_le_compat_r; [apply pow2_ge_0|].
  assert (0 <= s_ r * lambda r) by (apply Rmult_le_pos; lra).
  assert (0 < 1 / (2 * s_ r)) by (apply Rdiv_lt_0_compat; lra).
  assert (0 <= s_ r * lambda r * (s_ r * lambda r) * L r) by (apply Rmult_le_pos; [apply Rmult_le_pos|]; lra).
  set (x := s_ r * lambda r) in *. set (i := 1 / (2 * s_ r)) in *.
  assert ((1 - i) * (x * x * L r) <= 12 * (x * x * L r)) by (apply Rmult_le_compat_r; lra).
  lra.
Qed.
