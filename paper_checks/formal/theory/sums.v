(** Finite sums and means of real numbers, [sum n f] = f 0 + ... + f (n - 1). *)

From Coq Require Import Reals Lra Lia Psatz.
Open Scope R_scope.

Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S k => sum k f + f k
  end.

Definition mean (n : nat) (f : nat -> R) : R := / INR n * sum n f.

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof.
  induction n as [|n IH]; intro same; simpl; [reflexivity|].
  rewrite IH, same; auto with arith.
Qed.

Lemma sum_add n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n as [|n IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma sum_scale n a f : sum n (fun i => a * f i) = a * sum n f.
Proof. induction n as [|n IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma sum_scale_r n a f : sum n (fun i => f i * a) = sum n f * a.
Proof. induction n as [|n IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma sum_const n a : sum n (fun _ => a) = INR n * a.
Proof. induction n as [|n IH]; [simpl; ring|]. rewrite S_INR. simpl. rewrite IH. ring. Qed.

Lemma sum_zero n f : (forall i, (i < n)%nat -> f i = 0) -> sum n f = 0.
Proof. intro zero. rewrite (sum_ext n f (fun _ => 0)) by assumption. rewrite sum_const. ring. Qed.

Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
  induction n as [|n IH]; intro below; simpl; [lra|].
  apply Rplus_le_compat; auto with arith.
Qed.

Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof.
  intro signs. replace 0 with (sum n (fun _ => 0)) by (rewrite sum_const; ring).
  now apply sum_le.
Qed.

Lemma sum_term n f i : (forall j, (j < n)%nat -> 0 <= f j) -> (i < n)%nat -> f i <= sum n f.
Proof.
  induction n as [|n IH]; intros signs below; [lia|]. simpl.
  assert (0 <= sum n f) by (apply sum_nonneg; auto with arith).
  destruct (Nat.eq_dec i n) as [->|other]; [lra|].
  assert (f i <= sum n f) by (apply IH; [auto with arith|lia]).
  assert (0 <= f n) by auto with arith. lra.
Qed.

Lemma sum_swap m n (f : nat -> nat -> R) :
  sum m (fun i => sum n (fun j => f i j)) = sum n (fun j => sum m (fun i => f i j)).
Proof.
  induction m as [|m IH]; simpl; [now rewrite sum_zero|]. now rewrite IH, <- sum_add.
Qed.

Lemma sum_single n f i : (i < n)%nat -> (forall j, (j < n)%nat -> j <> i -> f j = 0) -> sum n f = f i.
Proof.
  induction n as [|n IH]; intros below zero; [lia|]. simpl.
  destruct (Nat.eq_dec i n) as [->|other].
  - rewrite sum_zero; [ring|]. intros j small. apply zero; lia.
  - rewrite IH; [|lia|intros; apply zero; lia]. rewrite (zero n); [ring|lia|lia].
Qed.

Lemma sum_split m n f : sum (m + n) f = sum m f + sum n (fun i => f (m + i)%nat).
Proof.
  induction n as [|n IH]; simpl; [rewrite Nat.add_0_r; ring|].
  rewrite Nat.add_succ_r. simpl. rewrite IH. ring.
Qed.

Lemma sum_split_at k n f :
  (k <= n)%nat -> sum n f = sum k f + sum (n - k) (fun i => f (k + i)%nat).
Proof. intro small. rewrite <- sum_split. f_equal. lia. Qed.

Lemma mean_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> mean n f = mean n g.
Proof. intro same. unfold mean. now rewrite (sum_ext n f g). Qed.

Lemma mean_le n f g : (0 < n)%nat -> (forall i, (i < n)%nat -> f i <= g i) -> mean n f <= mean n g.
Proof.
  intros some below. unfold mean. apply Rmult_le_compat_l; [|now apply sum_le].
  apply Rlt_le, Rinv_0_lt_compat, lt_0_INR, some.
Qed.

Lemma mean_const n a : (0 < n)%nat -> mean n (fun _ => a) = a.
Proof. intro some. unfold mean. rewrite sum_const. field. apply not_0_INR. lia. Qed.

Lemma mean_add n f g : mean n (fun i => f i + g i) = mean n f + mean n g.
Proof. unfold mean. rewrite sum_add. ring. Qed.

Lemma mean_scale n a f : mean n (fun i => a * f i) = a * mean n f.
Proof. unfold mean. rewrite sum_scale. ring. Qed.

(** The square of a sum of n numbers is at most n times the sum of their squares. *)
Lemma square_of_sum n f : sum n f * sum n f <= INR n * sum n (fun i => f i * f i).
Proof.
  induction n as [|n IH]; [simpl; lra|]. rewrite S_INR. simpl.
  set (a := sum n f) in *. set (q := sum n (fun i => f i * f i)) in *. set (x := f n) in *.
  assert (0 <= INR n) by apply pos_INR.
  assert (0 <= q) by (apply sum_nonneg; intros; nra).
  destruct (Req_dec (INR n) 0) as [none|some].
  - assert (a * a <= 0) by (rewrite none in IH; lra). assert (az : a = 0) by nra. rewrite none, az. nra.
  - assert (0 < INR n) by lra.
    assert (2 * (a * x) <= / INR n * (a * a) + INR n * (x * x)).
    { assert (room : 0 <= / INR n * ((a - INR n * x) * (a - INR n * x))).
      { apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat; lra|apply Rle_0_sqr]. }
      replace (/ INR n * ((a - INR n * x) * (a - INR n * x)))
        with (/ INR n * (a * a) + INR n * (x * x) - 2 * (a * x)) in room by (field; lra).
      lra. }
    assert (/ INR n * (a * a) <= q).
    { apply Rmult_le_reg_l with (INR n); [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. }
    lra.
Qed.

Lemma square_of_mean n f : (0 < n)%nat -> mean n f * mean n f <= mean n (fun i => f i * f i).
Proof.
  intro some. unfold mean. assert (0 < INR n) by now apply lt_0_INR.
  assert (step := square_of_sum n f).
  replace (/ INR n * sum n f * (/ INR n * sum n f)) with (/ INR n * / INR n * (sum n f * sum n f)) by ring.
  replace (/ INR n * sum n (fun i => f i * f i))
    with (/ INR n * / INR n * (INR n * sum n (fun i => f i * f i))) by (field; lra).
  apply Rmult_le_compat_l; [|exact step].
  apply Rlt_le, Rmult_lt_0_compat; now apply Rinv_0_lt_compat.
Qed.
