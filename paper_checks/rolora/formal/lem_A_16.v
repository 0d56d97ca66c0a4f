(** Lemma A.16 of RoLoRA (Appendix A.5): the angle contracts, with infinitely many samples. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces.
From RoLoRA Require Import angle.
Open Scope R_scope.

(** For any number of clients. Here b_star is the mean of the b_i^*, which the paper writes with a bar. *)
Definition lem_A_16_states {factor longest : R} : Prop :=
  forall (it : iteration) (delta_0 L_max : R),
  0 < L_max -> ‖(b_star it)‖ <= L_max -> delta it <= delta_0 -> eta it <= longest / L_max ^ 2 ->
  delta_next it <= delta it * (1 - factor * eta it * (1 - delta_0 ^ 2) * ‖(b_star it)‖ ^ 2).

Lemma delta_nonneg it : 0 <= delta it.
Proof. apply norm_nonneg. Qed.

Lemma le_of_squares x y : 0 <= y -> x * x <= y * y -> x <= y.
Proof. intros. destruct (Rle_lt_dec x y); [assumption|]. nra. Qed.

Lemma s_le it L_max (longest : R) :
  0 < L_max -> ‖(b_star it)‖ <= L_max -> eta it <= longest / L_max ^ 2 -> s it <= longest.
Proof.
  intros positive bounded short. unfold s. assert (nb := norm_nonneg (b_star it)). assert (e := step_nonneg it).
  apply Rle_trans with (eta it * L_max ^ 2).
  - apply Rmult_le_compat_l; [assumption|]. apply pow_incr. split; assumption.
  - assert (0 < L_max ^ 2) by now apply pow_lt.
    replace longest with (longest / L_max ^ 2 * L_max ^ 2) by (field; lra). apply Rmult_le_compat_r; lra.
Qed.

(* proves: rolora/lem-A.16 *)
Theorem lem_A_16 : lem_A_16_states (factor := 2) (longest := 1 / 2).
Proof.
  intros it delta_0 L_max positive bounded near short.
  assert (half := s_le it L_max (1 / 2) positive bounded short).
  assert (next := delta_next_square it). assert (square := delta_square it).
  assert (sn := s_nonneg it). assert (dn := delta_nonneg it).
  replace (2 * eta it * (1 - delta_0 ^ 2) * ‖(b_star it)‖ ^ 2) with (2 * s it * (1 - delta_0 ^ 2)) by (unfold s; ring).
  set (u := cosine it * cosine it) in *.
  assert (u_low : 0 <= u) by apply Rle_0_sqr. clearbody u.
  assert (u_high : u <= 1) by (assert (0 <= delta it * delta it) by apply Rle_0_sqr; lra).
  assert (delta it * delta it <= delta_0 * delta_0) by (apply Rmult_le_compat; lra).
  assert (u_near : 1 - delta_0 ^ 2 <= u) by (simpl; lra).
  assert (product : s it * (1 - delta_0 ^ 2) <= s it * u) by now apply Rmult_le_compat_l.
  assert (small : 2 * (s it * u) <= 1).
  { assert (s it * u <= 1 / 2 * 1) by (apply Rmult_le_compat; lra). lra. }
  apply Rle_trans with (delta it * (1 - 2 * s it * u)); [|apply Rmult_le_compat_l; lra].
  apply le_of_squares; [apply Rmult_le_pos; lra|].
  assert (next_low : 0 <= delta_next it * delta_next it) by apply Rle_0_sqr.
  assert (more : 0 <= 4 * s it * s it * u * (delta it * delta it)).
  { assert (0 <= delta it * delta it) by apply Rle_0_sqr. generalize dependent (s it). intros. repeat apply Rmult_le_pos; lra. }
  replace (delta it * (1 - 2 * s it * u) * (delta it * (1 - 2 * s it * u)))
    with (delta it * delta it * (1 - 2 * s it * u) ^ 2) by ring.
  rewrite <- next.
  assert (0 <= delta_next it * delta_next it * (4 * s it * s it * u * (delta it * delta it)))
    by now apply Rmult_le_pos.
  lra.
Qed.
