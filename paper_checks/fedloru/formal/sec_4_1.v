(** Section 4.1 of FedLoRU, practical advantages: numbers sent in a round, and when factors are fewer than a matrix. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
Open Scope R_scope.

(** The numbers in a message: those of an m x n matrix, and those of the factors A (m x r) and B (r x n). *)
Definition numbers (rows columns : nat) : nat := rows * columns.
Definition of_factors (m n r : nat) : nat := numbers m r + numbers r n.

(** M clients send what a round of FedAvg, and one of FedLoRU, has them send. *)
Definition fedavg_sends (M m n : nat) : nat := M * numbers m n.
Definition fedloru_sends (M m n r : nat) : nat := M * of_factors m n r.

Definition claim_comm_states {half sides : R} : Prop :=
  forall M m n r : nat, (1 <= M)%nat -> (1 <= m)%nat -> (1 <= n)%nat ->
  INR (fedavg_sends M m n) = INR M * INR m * INR n /\
  INR (fedloru_sends M m n r) = sides * (INR M * INR r * (INR m + INR n)) /\
  (INR r < half * Rmin (INR m) (INR n) -> (fedloru_sends M m n r < fedavg_sends M m n)%nat) /\
  ((fedloru_sends M m n r < fedavg_sends M m n)%nat <-> INR r < INR m * INR n / (INR m + INR n)).

(** As printed, a rank far below one of the sides is enough. However far below, it is not, for any number of clients and
    a rank below both sides. *)
Definition claim_comm_fails {sides : R} : Prop :=
  forall (far M : nat), (1 <= M)%nat ->
  exists m n r : nat, (1 <= r < Nat.min m n)%nat /\ (far * r <= m)%nat /\
  ~ sides * (INR M * INR r * (INR m + INR n)) < INR M * INR m * INR n.

(** No larger share of the smaller side than a half serves all matrices. *)
Definition claim_comm_least_states : Prop :=
  forall share : R, 1 / 2 < share -> exists m n r : nat, (1 <= r < Nat.min m n)%nat /\
  INR r < share * Rmin (INR m) (INR n) /\ forall M, (fedavg_sends M m n <= fedloru_sends M m n r)%nat.

Lemma counted M m n r :
  (1 <= M)%nat -> (fedloru_sends M m n r < fedavg_sends M m n)%nat <-> INR r * (INR m + INR n) < INR m * INR n.
Proof.
  intro some. unfold fedloru_sends, fedavg_sends, of_factors, numbers.
  rewrite <- plus_INR, <- !mult_INR. split; intro less.
  - apply lt_INR. apply (Nat.mul_lt_mono_pos_l M); nia.
  - apply INR_lt in less. apply (Nat.mul_lt_mono_pos_l M); nia.
Qed.

(* part of: fedloru-v2/claim-comm@far-below-both-sides: the counts of a message of factors, and when they are fewer *)
Theorem claim_comm : claim_comm_states (half := 1 / 2) (sides := 1).
Proof.
  intros M m n r some_M some_m some_n.
  assert (m_low : 1 <= INR m) by now apply (le_INR 1). assert (n_low : 1 <= INR n) by now apply (le_INR 1).
  assert (r_low := pos_INR r).
  split; [|split; [|split]].
  - unfold fedavg_sends, numbers. rewrite !mult_INR. ring.
  - unfold fedloru_sends, of_factors, numbers. rewrite mult_INR, plus_INR, !mult_INR. ring.
  - intro far. apply counted; [assumption|].
    assert (below_m := Rmin_l (INR m) (INR n)). assert (below_n := Rmin_r (INR m) (INR n)). nra.
  - rewrite counted by assumption. split; intro less.
    + apply Rmult_lt_reg_r with (INR m + INR n); [lra|]. replace (INR m * INR n / (INR m + INR n) * (INR m + INR n))
        with (INR m * INR n) by (field; lra). assumption.
    + apply (Rmult_lt_compat_r (INR m + INR n)) in less; [|lra].
      now replace (INR m * INR n / (INR m + INR n) * (INR m + INR n)) with (INR m * INR n) in less by (field; lra).
Qed.

(* refutes: fedloru-v2/claim-comm *)
Theorem claim_comm_as_printed : claim_comm_fails (sides := 1).
Proof.
  intros far M some. set (k := (far + 2)%nat). exists (k * k)%nat, (k + 1)%nat, k.
  assert (two : (2 <= k)%nat) by (unfold k; lia).
  split; [split; [lia|apply Nat.min_glb_lt; nia]|]. split; [apply Nat.mul_le_mono_r; unfold k; lia|].
  rewrite Rmult_1_l, <- plus_INR, <- !mult_INR. intro less. apply INR_lt in less. nia.
Qed.

(* part of: fedloru-v2/claim-comm@far-below-both-sides: no share of the smaller side above a half serves *)
Theorem claim_comm_least : claim_comm_least_states.
Proof.
  intros share more.
  destruct (archimed (1 / (share - 1 / 2))) as [above _].
  set (k := Z.to_nat (up (1 / (share - 1 / 2)))).
  assert (positive : 0 < 1 / (share - 1 / 2)) by (apply Rdiv_lt_0_compat; lra).
  assert (large : 1 / (share - 1 / 2) < INR k).
  { unfold k. rewrite INR_IZR_INZ, Z2Nat.id; [assumption|]. apply le_IZR. lra. }
  assert (k_positive : 0 < INR k) by lra. assert (some : (0 < k)%nat) by now apply INR_lt.
  exists (2 * k)%nat, (2 * k)%nat, k. split; [lia|]. split.
  - rewrite Rmin_left by lra. rewrite mult_INR. cbn [INR].
    assert (step : 1 < (share - 1 / 2) * INR k).
    { apply (Rmult_lt_compat_l (share - 1 / 2)) in large; [|lra].
      now replace ((share - 1 / 2) * (1 / (share - 1 / 2))) with 1 in large by (field; lra). }
    lra.
  - intro M. unfold fedavg_sends, fedloru_sends, of_factors, numbers. nia.
Qed.
