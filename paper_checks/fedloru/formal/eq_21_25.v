(** Eqs. (21) to (25) of FedLoRU (Appendix A.3): where noise can move the eigenvalues of a Hessian of low rank. *)

From Coq Require Import Reals Lra Lia Psatz ZArith.
From Coquelicot Require Import Rbar.
From Rankproof Require Import sums spaces smooth matrices dimension complex forms.
From FedLoRU Require Import eigenvalues lem_a_3.
Open Scope R_scope.

(** Of n eigenvalues in decreasing order the first p are positive, the last q negative, and the others 0. *)
Definition signs (n p q : nat) (theta : nat -> R) : Prop :=
  (p + q <= n)%nat /\
  forall i, (1 <= i <= n)%nat -> (0 < theta i <-> (i <= p)%nat) /\ (theta i < 0 <-> (n - q < i)%nat).

(** An eigenvalue with any whole number as its index: infinite where there is none. *)
Definition extended (n : nat) (lambda : nat -> R) (k : Z) : Rbar :=
  if (k <=? 0)%Z then p_infty else if (Z.of_nat n <? k)%Z then m_infty else Finite (lambda (Z.to_nat k)).

(** The dimension is n, which is R in the paper, and the index in each line is [i]. Real symmetric matrices are
    Hermitian. *)
Definition eq_21_25_states {p_shift q_shift : nat} : Prop :=
  forall (n p0 q0 : nat) (H_true epsilon_N H_N : Mc n n) (theta epsilon lambda : nat -> R),
  H_N = H_true ⊕ epsilon_N ->
  eigenvalues H_true theta -> eigenvalues epsilon_N epsilon -> eigenvalues H_N lambda -> signs n p0 q0 theta ->
  let p := (p0 + p_shift)%nat in
  let q := (q0 + q_shift)%nat in
  (* (21) *)
  (forall i j k, (1 <= j <= n)%nat -> (1 <= k <= n)%nat -> i = (j + k - 1)%nat -> (i <= n)%nat ->
    lambda i <= theta (1 + i - j)%nat + epsilon (1 + i - k)%nat) /\
  (* (22) *)
  (forall i j k, (1 <= j <= n)%nat -> (1 <= k <= n)%nat -> (i + n = j + k)%nat -> (i >= 1)%nat ->
    lambda i >= theta (n + i - j)%nat + epsilon (n + i - k)%nat) /\
  (* (23) *)
  (forall i j, (1 <= j <= n)%nat -> i = (j + p)%nat -> (i <= n)%nat ->
    lambda i <= theta (1 + i - j)%nat + epsilon (i - p)%nat) /\
  (* (24) *)
  (forall i j, (1 <= j <= n)%nat -> (i + q = j)%nat -> (i >= 1)%nat ->
    lambda i >= theta (n + i - j)%nat + epsilon (i + q)%nat) /\
  ((p + q < n)%nat -> theta (1 + p)%nat = 0 /\ theta (n - q)%nat = 0) /\
  (* (25) *)
  (forall i, (1 <= i <= n)%nat ->
    Rbar_le (extended n epsilon (Z.of_nat i + Z.of_nat q)) (lambda i) /\
    Rbar_le (lambda i) (extended n epsilon (Z.of_nat i - Z.of_nat p))).

(* proves: fedloru-v2/eq-21-25 *)
Theorem eq_21_25 : eq_21_25_states (p_shift := 0) (q_shift := 0).
Proof.
  intros n p0 q0 H E HN theta epsilon lambda HN_is of_H of_E of_HN [room signs] p q.
  assert (p = p0) by (unfold p; lia). assert (q = q0) by (unfold q; lia). clearbody p q. subst p q HN.
  assert (weyl := inequalities n H E theta epsilon lambda of_H of_E of_HN).
  assert (upper : forall i j k, (1 <= j <= n)%nat -> (1 <= k <= n)%nat -> i = (j + k - 1)%nat -> (i <= n)%nat ->
    lambda i <= theta (1 + i - j)%nat + epsilon (1 + i - k)%nat).
  { intros i j k low_j low_k index low_i.
    destruct (weyl k j low_k low_j) as [bound _]. specialize (bound ltac:(lia)).
    replace (k + j - 1)%nat with i in bound by lia. replace (1 + i - j)%nat with k by lia.
    now replace (1 + i - k)%nat with j by lia. }
  assert (lower : forall i j k, (1 <= j <= n)%nat -> (1 <= k <= n)%nat -> (i + n = j + k)%nat -> (i >= 1)%nat ->
    lambda i >= theta (n + i - j)%nat + epsilon (n + i - k)%nat).
  { intros i j k low_j low_k index low_i.
    destruct (weyl k j low_k low_j) as [_ bound]. specialize (bound ltac:(lia)).
    replace (k + j - n)%nat with i in bound by lia. replace (n + i - j)%nat with k by lia.
    now replace (n + i - k)%nat with j by lia. }
  assert (above : forall i j, (1 <= j <= n)%nat -> i = (j + p0)%nat -> (i <= n)%nat ->
    lambda i <= theta (1 + i - j)%nat + epsilon (i - p0)%nat).
  { intros i j low_j index low_i. replace (i - p0)%nat with (1 + i - (1 + p0))%nat by lia. apply upper; lia. }
  assert (below : forall i j, (1 <= j <= n)%nat -> (i + q0 = j)%nat -> (i >= 1)%nat ->
    lambda i >= theta (n + i - j)%nat + epsilon (i + q0)%nat).
  { intros i j low_j index low_i. replace (i + q0)%nat with (n + i - (n - q0))%nat by lia. apply lower; lia. }
  split; [exact upper|]. split; [exact lower|]. split; [exact above|]. split; [exact below|].
  assert (not_positive : forall i, (p0 < i <= n)%nat -> theta i <= 0).
  { intros i inside. destruct (signs i ltac:(lia)) as [positive _]. destruct (Rle_lt_dec (theta i) 0) as [|above_0]; [assumption|].
    apply positive in above_0. lia. }
  assert (not_negative : forall i, (1 <= i <= n - q0)%nat -> 0 <= theta i).
  { intros i inside. destruct (signs i ltac:(lia)) as [_ negative]. destruct (Rle_lt_dec 0 (theta i)) as [|below_0]; [assumption|].
    apply negative in below_0. lia. }
  split.
  - intro part. split; apply Rle_antisym; first [apply not_positive; lia | apply not_negative; lia].
  - intros i inside. unfold extended. split.
    + destruct (Z.leb_spec (Z.of_nat i + Z.of_nat q0) 0); [lia|].
      destruct (Z.ltb_spec (Z.of_nat n) (Z.of_nat i + Z.of_nat q0)); [exact I|].
      replace (Z.to_nat (Z.of_nat i + Z.of_nat q0)) with (i + q0)%nat by lia. cbn.
      assert (bound := below i (i + q0)%nat ltac:(lia) ltac:(lia) ltac:(lia)).
      replace (n + i - (i + q0))%nat with (n - q0)%nat in bound by lia.
      assert (0 <= theta (n - q0)%nat) by (apply not_negative; lia). lra.
    + destruct (Z.leb_spec (Z.of_nat i - Z.of_nat p0) 0); [exact I|].
      destruct (Z.ltb_spec (Z.of_nat n) (Z.of_nat i - Z.of_nat p0)); [lia|].
      replace (Z.to_nat (Z.of_nat i - Z.of_nat p0)) with (i - p0)%nat by lia. cbn.
      assert (bound := above i (i - p0)%nat ltac:(lia) ltac:(lia) ltac:(lia)).
      replace (1 + i - (i - p0))%nat with (1 + p0)%nat in bound by lia.
      assert (theta (1 + p0)%nat <= 0) by (apply not_positive; lia). lra.
Qed.

(** The two lines of the first version and of ICLR's, eqs. (20) and (21), for the indices that a condition admits: a sign
    of 1 reads "at most", one of -1 "at least". *)
Definition lines_of_v1 {first second : R} (n : nat) (admitted : nat -> Prop) (theta epsilon lambda : nat -> R) : Prop :=
  (forall i j k, admitted i -> (1 <= j <= n)%nat -> (1 <= k <= n)%nat -> i = (j + k - 1)%nat -> (i <= n)%nat ->
    first * lambda i <= first * (theta (1 + i - j)%nat + epsilon (1 + i - k)%nat)) /\
  (forall i j k, admitted i -> (1 <= j <= n)%nat -> (1 <= k <= n)%nat -> (i + n = j + k)%nat -> (i >= 1)%nat ->
    second * lambda i <= second * (theta (n + i - j)%nat + epsilon (n + i - k)%nat)).

(** The corrected statement: both lines for all indices, the two eigenvalues that are 0, and the conclusion
    (22). *)
Definition eq_20_22_states {first second : R} {p_shift q_shift : nat} : Prop :=
  forall (n p0 q0 : nat) (H_true epsilon_N H_N : Mc n n) (theta epsilon lambda : nat -> R),
  H_N = H_true ⊕ epsilon_N ->
  eigenvalues H_true theta -> eigenvalues epsilon_N epsilon -> eigenvalues H_N lambda -> signs n p0 q0 theta ->
  let p := (p0 + p_shift)%nat in
  let q := (q0 + q_shift)%nat in
  lines_of_v1 (first := first) (second := second) n (fun i => (1 <= i <= n)%nat) theta epsilon lambda /\
  ((p + q < n)%nat -> theta (1 + p)%nat = 0 /\ theta (n - q)%nat = 0) /\
  forall i, (1 <= i <= n)%nat ->
    Rbar_le (extended n epsilon (Z.of_nat i + Z.of_nat q)) (lambda i) /\
    Rbar_le (lambda i) (extended n epsilon (Z.of_nat i - Z.of_nat p)).

(** As printed, with "at most" in both lines and indices between p and n - q, it fails where there are spikes of
    both signs. *)
Definition eq_20_22_fails {first second : R} : Prop :=
  exists (n p q : nat) (H_true epsilon_N H_N : Mc n n) (theta epsilon lambda : nat -> R),
  (1 <= p)%nat /\ (1 <= q)%nat /\ H_N = H_true ⊕ epsilon_N /\
  eigenvalues H_true theta /\ eigenvalues epsilon_N epsilon /\ eigenvalues H_N lambda /\ signs n p q theta /\
  ~ lines_of_v1 (first := first) (second := second) n (fun i => (p < i < n - q)%nat) theta epsilon lambda.

(* proves: fedloru-v1/eq-20-22 *)
Theorem eq_20_22 : eq_20_22_states (first := 1) (second := - 1) (p_shift := 0) (q_shift := 0).
Proof.
  intros n p0 q0 H E HN theta epsilon lambda HN_is of_H of_E of_HN counted p q.
  destruct (eq_21_25 n p0 q0 H E HN theta epsilon lambda HN_is of_H of_E of_HN counted)
    as (upper & lower & _ & _ & zeros & last).
  split; [split|exact (conj zeros last)].
  - intros i j k _ low_j low_k index low_i. assert (step := upper i j k low_j low_k index low_i). lra.
  - intros i j k _ low_j low_k index low_i. assert (step := lower i j k low_j low_k index low_i). lra.
Qed.

(** A real diagonal matrix in decreasing order has its diagonal as eigenvalues. *)
Definition real_diagonal (n : nat) (d : nat -> R) : Mc n n := of_real (diagonal n (fun k => d (S k))).

Lemma eigenvalues_of_diagonal n d :
  (forall i j, (1 <= i)%nat -> (i <= j)%nat -> (j <= n)%nat -> d j <= d i) -> eigenvalues (real_diagonal n d) d.
Proof.
  intro order. split; [exact order|]. exists (of_real (identity n)).
  assert (own : (of_real (identity n))^* = of_real (identity n)).
  { apply same_parts; unfold adjoint, of_real, parts, re, im; cbn [fst snd].
    - apply transpose_identity.
    - rewrite transpose_zero. vectors. }
  unfold unitary. rewrite own. split; [split; apply complex_identity_product|].
  now rewrite complex_identity_product, complex_product_identity.
Qed.

Lemma diagonal_add n d e : real_diagonal n d ⊕ real_diagonal n e = real_diagonal n (fun k => d k + e k).
Proof.
  unfold real_diagonal. apply same_parts; unfold of_real, parts, re, im; cbn [fst snd].
  - apply same_entries. intros i j low_i low_j. cbn. unfold diagonal.
    repeat rewrite entry_from by assumption. destruct (Nat.eqb i j); ring.
  - change (zero ⊕ zero = (zero : M n n)). apply add_zero.
Qed.

(** Four weights, one with positive and one with negative curvature, and noise that adds to the positive one. *)
Definition spikes (k : nat) : R := match k with 1%nat => 1 | 4%nat => -1 | _ => 0 end.
Definition noise (k : nat) : R := match k with 1%nat => 1 | _ => 0 end.

(* refutes: fedloru-v1/eq-20-22 *)
Theorem eq_20_22_as_printed : eq_20_22_fails (first := 1) (second := 1).
Proof.
  exists 4%nat, 1%nat, 1%nat, (real_diagonal 4 spikes), (real_diagonal 4 noise),
    (real_diagonal 4 (fun k => spikes k + noise k)), spikes, noise, (fun k => spikes k + noise k).
  split; [lia|]. split; [lia|]. split; [symmetry; apply diagonal_add|].
  assert (order : forall i j, (1 <= i)%nat -> (i <= j)%nat -> (j <= 4)%nat -> spikes j <= spikes i /\ noise j <= noise i).
  { intros i j one before low. unfold spikes, noise.
    destruct i as [|[|[|[|[|i]]]]], j as [|[|[|[|[|j]]]]]; try lia; lra. }
  split; [apply eigenvalues_of_diagonal; intros; now apply order|].
  split; [apply eigenvalues_of_diagonal; intros; now apply order|].
  split; [apply eigenvalues_of_diagonal; intros i j one before low; destruct (order i j one before low); lra|].
  split.
  - split; [lia|]. intros i inside. unfold spikes.
    destruct i as [|[|[|[|[|i]]]]]; try lia; split; split; intro; (lra || lia).
  - intros [_ second]. specialize (second 2%nat 2%nat 4%nat ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)).
    cbn in second. lra.
Qed.
