(** Eq. (1) of FedLoRU (Section 3.1): mean and covariances of the Hessian noise of a sample, for laws of finitely many
    data points. Expectations are finite sums. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
Open Scope R_scope.

(** A law of the data: the point [a] has the probability [p a] and the Hessian [h a]. *)
Record law := Law {
  size : nat;                       (* R, the number of weights *)
  points : nat;
  p : nat -> R;
  h : nat -> M size size;
  probabilities : forall a, (a < points)%nat -> 0 <= p a;
  of_sum_1 : sum points p = 1
}.

(** The expectation of X over all samples [s 0], ..., [s (N - 1)] of N independent points. *)
Fixpoint expectation (d : law) (N : nat) (X : (nat -> nat) -> R) : R :=
  match N with
  | O => X (fun _ => O)
  | S N => expectation d N (fun s => sum (points d) (fun a => p d a * X (fun k => if Nat.eqb k N then a else s k)))
  end.

Definition H_true (d : law) : M (size d) (size d) := vsum (points d) (fun a => p d a ⋅ h d a).

(** The Hessian of a sample's first N points, and its noise. *)
Definition H_of (d : law) (N : nat) (s : nat -> nat) : M (size d) (size d) := vmean N (fun k => h d (s k)).
Definition epsilon (d : law) (N : nat) (s : nat -> nat) : M (size d) (size d) := H_of d N s ⊖ H_true d.

(** The covariance of two entries of the Hessian of one data point. *)
Definition V (d : law) (i j k l : nat) : R :=
  sum (points d) (fun a => p d a * (entry (h d a ⊖ H_true d) i j * entry (h d a ⊖ H_true d) k l)).

(** The server has N points, and the client the first M of them, as likely as any others. *)
Definition eq_1_states {power : nat} : Prop :=
  forall (d : law) (N M : nat) (i j k l : nat),
  (1 <= M <= N)%nat -> (i < size d)%nat -> (j < size d)%nat -> (k < size d)%nat -> (l < size d)%nat ->
  expectation d N (fun s => entry (epsilon d N s) i j) = 0 /\
  expectation d N (fun s => entry (epsilon d M s) i j) = 0 /\
  expectation d N (fun s => entry (epsilon d N s) i j * entry (epsilon d N s) k l) = V d i j k l / INR N ^ power /\
  expectation d N (fun s => entry (epsilon d M s) i j * entry (epsilon d M s) k l) = V d i j k l / INR M ^ power /\
  expectation d N (fun s => entry (epsilon d M s) i j * entry (epsilon d N s) k l) = V d i j k l / INR N ^ power.

(** Noises that share data are correlated. *)
Definition eq_1_uncorrelated_fails {between : R} : Prop :=
  exists (d : law) (N M i j k l : nat), (1 <= M < N)%nat /\
  (i < size d)%nat /\ (j < size d)%nat /\ (k < size d)%nat /\ (l < size d)%nat /\
  expectation d N (fun s => entry (epsilon d M s) i j * entry (epsilon d N s) k l) <> between * V d i j k l.

Section Expectation.
Variable d : law.

Lemma expectation_ext N X Y : (forall s, X s = Y s) -> expectation d N X = expectation d N Y.
Proof.
  revert X Y. induction N as [|N IH]; intros X Y same; cbn; [apply same|].
  apply IH. intro s. apply sum_ext. intros. now rewrite same.
Qed.

Lemma expectation_add N X Y : expectation d N (fun s => X s + Y s) = expectation d N X + expectation d N Y.
Proof.
  revert X Y. induction N as [|N IH]; intros X Y; cbn; [reflexivity|].
  rewrite <- IH. apply expectation_ext. intro s. rewrite <- sum_add. apply sum_ext. intros. ring.
Qed.

Lemma expectation_scale N a X : expectation d N (fun s => a * X s) = a * expectation d N X.
Proof.
  revert X. induction N as [|N IH]; intro X; cbn; [reflexivity|].
  rewrite <- IH. apply expectation_ext. intro s. rewrite <- sum_scale. apply sum_ext. intros. ring.
Qed.

Lemma expectation_const N a : expectation d N (fun _ => a) = a.
Proof.
  induction N as [|N IH]; cbn; [reflexivity|]. rewrite (expectation_ext N _ (fun _ => a)); [assumption|].
  intro s. now rewrite sum_scale_r, of_sum_1, Rmult_1_l.
Qed.

(** The sum over the first N points of a sample, with one more point. *)
Lemma one_more N M (u : nat -> R) s a :
  (M <= N)%nat -> sum M (fun k => u (if Nat.eqb k N then a else s k)) = sum M (fun k => u (s k)).
Proof. intro below. apply sum_ext. intros k low. destruct (Nat.eqb_spec k N); [lia|reflexivity]. Qed.

Section Centred.
Variables u v : nat -> R.
Hypothesis centred_u : sum (points d) (fun a => p d a * u a) = 0.
Hypothesis centred_v : sum (points d) (fun a => p d a * v a) = 0.

Lemma mean_of_sum N M : (M <= N)%nat -> expectation d N (fun s => sum M (fun k => u (s k))) = 0.
Proof.
  revert M. induction N as [|N IH]; intros M below.
  - replace M with 0%nat by lia. reflexivity.
  - cbn [expectation]. destruct (Nat.eq_dec M (S N)) as [->|other].
    + rewrite (expectation_ext N _ (fun s => sum N (fun k => u (s k)))); [apply IH; lia|].
      intro s. cbn [sum]. rewrite (sum_ext _ _ (fun a => p d a * sum N (fun k => u (s k)) + p d a * u a)).
      * rewrite sum_add, sum_scale_r, of_sum_1, centred_u. ring.
      * intros a low. rewrite one_more, Nat.eqb_refl by lia. ring.
    + rewrite (expectation_ext N _ (fun s => sum M (fun k => u (s k)))); [apply IH; lia|].
      intro s. rewrite (sum_ext _ _ (fun a => p d a * sum M (fun k => u (s k)))).
      * now rewrite sum_scale_r, of_sum_1, Rmult_1_l.
      * intros a low. now rewrite one_more by lia.
Qed.

Lemma product_of_sums N M K : (M <= K)%nat -> (K <= N)%nat ->
  expectation d N (fun s => sum M (fun k => u (s k)) * sum K (fun k => v (s k)))
  = INR M * sum (points d) (fun a => p d a * (u a * v a)).
Proof.
  revert M K. induction N as [|N IH]; intros M K first second.
  - replace M with 0%nat by lia. replace K with 0%nat by lia. cbn. ring.
  - cbn [expectation].
    destruct (Nat.eq_dec K (S N)) as [->|other_K]; [destruct (Nat.eq_dec M (S N)) as [->|other_M]|].
    + rewrite (expectation_ext N _ (fun s => sum N (fun k => u (s k)) * sum N (fun k => v (s k))
        + sum (points d) (fun a => p d a * (u a * v a)))).
      * rewrite expectation_add, expectation_const, (IH N N) by lia. rewrite S_INR. ring.
      * intro s. cbn [sum]. set (x := sum N (fun k => u (s k))). set (y := sum N (fun k => v (s k))).
        rewrite (sum_ext _ _ (fun a => (p d a * (x * y) + p d a * (u a * v a)) + (y * (p d a * u a) + x * (p d a * v a)))).
        -- rewrite !sum_add, !sum_scale, sum_scale_r, of_sum_1, centred_u, centred_v. ring.
        -- intros a low. rewrite !one_more, Nat.eqb_refl by lia. fold x y. ring.
    + rewrite (expectation_ext N _ (fun s => sum M (fun k => u (s k)) * sum N (fun k => v (s k)))); [apply IH; lia|].
      intro s. cbn [sum]. set (x := sum M (fun k => u (s k))). set (y := sum N (fun k => v (s k))).
      rewrite (sum_ext _ _ (fun a => p d a * (x * y) + x * (p d a * v a))).
      * rewrite sum_add, sum_scale, sum_scale_r, of_sum_1, centred_v. ring.
      * intros a low. rewrite !one_more, Nat.eqb_refl by lia. fold x y. ring.
    + rewrite (expectation_ext N _ (fun s => sum M (fun k => u (s k)) * sum K (fun k => v (s k)))); [apply IH; lia|].
      intro s. rewrite (sum_ext _ _ (fun a => p d a * (sum M (fun k => u (s k)) * sum K (fun k => v (s k))))).
      * rewrite sum_scale_r, of_sum_1. ring.
      * intros a low. now rewrite !one_more by lia.
Qed.
End Centred.

Definition centred (i j : nat) (a : nat) : R := entry (h d a ⊖ H_true d) i j.

Lemma is_centred i j :
  (i < size d)%nat -> (j < size d)%nat -> sum (points d) (fun a => p d a * centred i j a) = 0.
Proof.
  intros low_i low_j. unfold centred.
  rewrite (sum_ext _ _ (fun a => p d a * entry (h d a) i j + p d a * - entry (H_true d) i j)).
  - rewrite sum_add, sum_scale_r, of_sum_1. unfold H_true. rewrite entry_vsum by assumption.
    rewrite (sum_ext _ (fun c => entry (p d c ⋅ h d c) i j) (fun c => p d c * entry (h d c) i j)) by
      (intros; now rewrite entry_scale). ring.
  - intros a low. rewrite entry_sub by assumption. ring.
Qed.

Lemma entry_epsilon N s i j :
  (1 <= N)%nat -> (i < size d)%nat -> (j < size d)%nat ->
  entry (epsilon d N s) i j = / INR N * sum N (fun k => centred i j (s k)).
Proof.
  intros some low_i low_j. unfold epsilon, H_of, vmean, centred.
  rewrite entry_sub, entry_scale, entry_vsum by assumption.
  rewrite (sum_ext N (fun k => entry (h d (s k) ⊖ H_true d) i j)
    (fun k => entry (h d (s k)) i j + -1 * entry (H_true d) i j)) by (intros; rewrite entry_sub by assumption; ring).
  rewrite sum_add, sum_const. field. apply not_0_INR. lia.
Qed.
End Expectation.

(* part of: fedloru-v2/eq-1: means and covariances, also of samples that share data, for laws of finitely many points *)
Theorem eq_1 : eq_1_states (power := 1).
Proof.
  intros d N M i j k l [some below] low_i low_j low_k low_l.
  assert (nonzero_N : INR N <> 0) by (apply not_0_INR; lia). assert (nonzero_M : INR M <> 0) by (apply not_0_INR; lia).
  assert (mean : forall K, (1 <= K <= N)%nat -> expectation d N (fun s => entry (epsilon d K s) i j) = 0).
  { intros K inside. rewrite (expectation_ext d N _ (fun s => / INR K * sum K (fun k => centred d i j (s k))))
      by (intro; apply entry_epsilon; lia).
    rewrite expectation_scale, mean_of_sum; [ring|now apply is_centred|lia]. }
  assert (product : forall K L, (1 <= K <= L)%nat -> (L <= N)%nat ->
    expectation d N (fun s => entry (epsilon d K s) i j * entry (epsilon d L s) k l) = V d i j k l / INR L ^ 1).
  { intros K L inside within.
    rewrite (expectation_ext d N _ (fun s => / INR K * / INR L
      * (sum K (fun n => centred d i j (s n)) * sum L (fun n => centred d k l (s n)))))
      by (intro; rewrite !entry_epsilon by lia; ring).
    rewrite expectation_scale, product_of_sums by first [now apply is_centred | lia].
    unfold V, centred. field. split; apply not_0_INR; lia. }
  repeat split; first [apply mean; lia | apply product; lia].
Qed.

(** A fair coin of the Hessians 1 and -1 of one weight. *)
Definition coin : law.
Proof.
  refine (Law 1 2 (fun _ => / 2) (fun a => from_entries 1 1 (fun _ _ => match a with O => 1 | _ => -1 end)) _ _).
  - intros. lra.
  - cbn. lra.
Defined.

(* refutes: fedloru-v2/eq-1@uncorrelated-noises *)
Theorem eq_1_uncorrelated : eq_1_uncorrelated_fails (between := 0).
Proof.
  exists coin, 2%nat, 1%nat, 0%nat, 0%nat, 0%nat, 0%nat. repeat split; try (simpl; lia).
  destruct (eq_1 coin 2%nat 1%nat 0%nat 0%nat 0%nat 0%nat) as (_ & _ & _ & _ & ->); try (simpl; lia).
  unfold V, H_true, coin. cbn. lra.
Qed.
