(** The bases of an iteration: the factors before the augmentation, and the truncation after the server's mean. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds.
Open Scope R_scope.

(** The first columns of a matrix, and a block in the corner of a matrix that is [outside] elsewhere. *)
Definition first {m n} (k : nat) (A : M m n) : M m k := from_entries m k (entry A).
Definition corner {k} (n : nat) (outside : R) (B : M k k) : M n n :=
  from_entries n n (fun i j => if (Nat.ltb i k && Nat.ltb j k)%bool then entry B i j else outside).
Definition kept_values (kept : nat) (sigma : nat -> R) (i : nat) : R := if Nat.ltb i kept then sigma i else 0.

(** [U S V^T] before the augmentation: the first columns of the wide bases, with S in the corner of zeros. *)
Record factors (r : round) := Factors {
  rank : nat;
  small_rank : (rank <= width r)%nat;
  S_before : M rank rank;
  coefficients_at_start : S r = corner (width r) 0 S_before
}.
Arguments rank {r}.
Arguments S_before {r}.
Arguments small_rank {r}.
Arguments coefficients_at_start {r}.
Definition U_before {r} (before : factors r) := first (rank before) (U r).
Definition V_before {r} (before : factors r) := first (rank before) (V r).
Definition W_before {r} (before : factors r) : M (rows r) (columns r) :=
  U_before before × S_before before × (V_before before)^T.

(** A singular value decomposition of the coefficients [X] of which the first values are kept; those that are
    cut have a norm of at most theta. *)
Record truncation (r : round) (X : M (width r) (width r)) := Truncation {
  P : M (width r) (width r); Q : M (width r) (width r);
  sigma : nat -> R;
  kept : nat;
  theta : R;
  orthonormal_P : orthonormal P;
  orthonormal_Q : orthonormal Q;
  decomposition : X = P × diagonal (width r) sigma × Q^T;
  kept_at_most : (kept <= width r)%nat;
  tail : sqrt (sum (width r - kept) (fun i => sigma (kept + i)%nat ^ 2)) <= theta
}.
Arguments P {r X}.
Arguments Q {r X}.
Arguments sigma {r X}.
Arguments kept {r X}.
Arguments theta {r X}.
Arguments tail {r X}.
Arguments orthonormal_P {r X}.
Arguments orthonormal_Q {r X}.
Arguments decomposition {r X}.
Arguments kept_at_most {r X}.

(** The values are singular values: none is negative, and none is greater than those before it. *)
Definition decreasing {r X} (t : truncation r X) : Prop :=
  forall i j, (i <= j)%nat -> (j < width r)%nat -> 0 <= sigma t j <= sigma t i.

(** The model after the truncation, from the kept columns of the new bases. *)
Definition W_next {r X} (t : truncation r X) : M (rows r) (columns r) :=
  (U r × first (kept t) (P t)) × diagonal (kept t) (sigma t) × (V r × first (kept t) (Q t))^T.

(** The gradients of U and V, by which Algorithm 1 augments the bases. *)
Definition nabla_U {r} (before : factors r) : M (rows r) (rank before) :=
  nabla r (W_before before) × V_before before × (S_before before)^T.
Definition nabla_V {r} (before : factors r) : M (columns r) (rank before) :=
  (nabla r (W_before before))^T × U_before before × S_before before.

(** The augmented bases hold the gradients of U and V. Square ones hold everything. *)
Definition holds_the_gradients (r : round) (before : factors r) : Prop :=
  U r × (U r)^T × nabla_U before = nabla_U before /\ V r × (V r)^T × nabla_V before = nabla_V before.

(** The augmented bases hold nothing beyond the old ones and the gradients. Without this the QR decompositions have
    completed them with vectors of their own. *)
Definition spanned_by_the_gradients (r : round) (before : factors r) : Prop :=
  (exists A B : M (rank before) (width r), U r = U_before before × A ⊕ nabla_U before × B) /\
  exists A B : M (rank before) (width r), V r = V_before before × A ⊕ nabla_V before × B.

(** The augmented bases have twice the old rank, and the old factors the coefficients 1. *)
Definition augmented (r : round) (before : factors r) : Prop :=
  width r = (2 * rank before)%nat /\ S_before before = identity (rank before).

(** The norm of the singular values after the first k. *)
Definition tail_after {r X} (t : truncation r X) (k : nat) : R :=
  sqrt (sum (width r - k) (fun i => sigma t (k + i)%nat ^ 2)).

(** The least number of values is kept for which the tail has a norm below theta. The tail of the printed rule begins
    with the last value that is kept, [counted := 1]. What the rule is for begins after it, [counted := 0]. *)
Definition keeps_the_least {r X} (counted : nat) (t : truncation r X) : Prop :=
  (counted <= kept t)%nat /\ tail_after t (kept t - counted) < theta t /\
  forall k, (counted <= k < kept t)%nat -> theta t <= tail_after t (k - counted).

Lemma entry_first {m n} k (A : M m n) i j :
  (i < m)%nat -> (j < k)%nat -> entry (first k A) i j = entry A i j.
Proof. apply entry_from. Qed.

Lemma corner_product {m n k p} (A : M m n) (B : M k k) (C : M n p) :
  (k <= n)%nat ->
  A × corner n 0 B × C = first k A × B × (first k (C^T))^T.
Proof.
  intro small. apply same_entries; intros i j low_i low_j.
  rewrite !entry_product by assumption.
  rewrite (sum_split_at k n) by assumption. rewrite (sum_zero (n - k)), Rplus_0_r.
  - apply sum_ext; intros l low_l. rewrite !entry_product by lia.
    rewrite entry_transpose, entry_first, entry_transpose by lia. f_equal.
    rewrite (sum_split_at k n) by assumption. rewrite (sum_zero (n - k)), Rplus_0_r.
    + apply sum_ext; intros q low_q. rewrite entry_first by lia. unfold corner. rewrite entry_from by lia.
      now rewrite (proj2 (Nat.ltb_lt q k) low_q), (proj2 (Nat.ltb_lt l k) low_l).
    + intros q low_q. unfold corner. rewrite entry_from by lia.
      rewrite (proj2 (Nat.ltb_ge (k + q) k)) by lia. simpl. ring.
  - intros l low_l. rewrite entry_product by lia. rewrite sum_zero; [ring|].
    intros q low_q. unfold corner. rewrite entry_from by lia.
    rewrite (proj2 (Nat.ltb_ge (k + l) k)) by lia. rewrite Bool.andb_false_r. ring.
Qed.

(** Lemma 1's use: the augmentation does not change the model. *)
Lemma augmentation_keeps {r} (before : factors r) : W_before before = W_start r.
Proof.
  unfold W_before, W_start, model, U_before, V_before.
  rewrite (coefficients_at_start before), corner_product by apply small_rank.
  now rewrite transpose_transpose.
Qed.

Lemma first_product {m n p} k (A : M m n) (B : M n p) : (k <= p)%nat -> first k (A × B) = A × first k B.
Proof.
  intro small. apply same_entries; intros i j low_i low_j.
  rewrite entry_first, !entry_product by lia.
  apply sum_ext; intros. now rewrite entry_first by lia.
Qed.

Lemma diagonal_corner n k d : (k <= n)%nat -> diagonal n (kept_values k d) = corner n 0 (diagonal k d).
Proof.
  intro small. apply same_entries; intros i j low_i low_j. unfold diagonal, corner, kept_values.
  rewrite !entry_from by assumption.
  destruct (Nat.ltb_spec i k); destruct (Nat.ltb_spec j k); simpl; try rewrite entry_from by assumption;
    destruct (Nat.eqb_spec i j); (reflexivity || lia).
Qed.

Lemma next_coefficients {r X} (t : truncation r X) :
  W_next t = model r (P t × diagonal (width r) (kept_values (kept t) (sigma t)) × (Q t)^T).
Proof.
  unfold W_next, model. rewrite diagonal_corner by apply kept_at_most.
  rewrite <- !first_product by apply kept_at_most.
  rewrite <- (transpose_transpose (V r × Q t)) at 1. rewrite <- corner_product by apply kept_at_most.
  now rewrite transpose_product, !product_assoc.
Qed.

Lemma diagonal_sub n d e : diagonal n d ⊖ diagonal n e = diagonal n (fun i => d i - e i).
Proof.
  apply same_entries; intros i j low_i low_j. rewrite entry_sub by assumption. unfold diagonal.
  rewrite !entry_from by assumption. destruct (Nat.eqb_spec i j); ring.
Qed.

Lemma diagonal_square n d : ⟨ diagonal n d, diagonal n d ⟩ = sum n (fun i => d i ^ 2).
Proof.
  cbn [dot M]. apply sum_ext; intros i low_i. rewrite (sum_single n _ i low_i).
  - unfold diagonal. rewrite entry_from by assumption. rewrite Nat.eqb_refl. ring.
  - intros j low_j other. unfold diagonal. rewrite entry_from by assumption.
    destruct (Nat.eqb_spec i j); [congruence|ring].
Qed.

(** What is cut has a norm of at most theta. *)
Lemma cut_le_theta {r X} (t : truncation r X) : ‖(W_next t ⊖ model r X)‖ <= theta t.
Proof.
  rewrite next_coefficients. set (D := diagonal (width r) (kept_values (kept t) (sigma t))).
  set (i := bases (P t) (Q t) (orthonormal_P t) (orthonormal_Q t)).
  assert (whole : model r X = into (coordinates r) (into i (diagonal (width r) (sigma t))))
    by exact (f_equal (model r) (decomposition t)).
  rewrite whole. change (model r (P t × D × (Q t)^T)) with (into (coordinates r) (into i D)).
  rewrite <- !into_sub, !into_norm. unfold D. rewrite diagonal_sub. unfold norm. rewrite diagonal_square.
  eapply Rle_trans; [|exact (tail t)]. apply sqrt_le_1_alt.
  assert (small := kept_at_most t).
  rewrite (sum_split_at (kept t) (width r)) by assumption. rewrite sum_zero.
  - rewrite Rplus_0_l. right. apply sum_ext; intros j _. unfold kept_values.
    rewrite (proj2 (Nat.ltb_ge (kept t + j) (kept t))) by lia. ring.
  - intros j low. unfold kept_values. rewrite (proj2 (Nat.ltb_lt j (kept t)) low). ring.
Qed.

(** Smoothness along the truncation. *)
Lemma truncation_cost {r X} (t : truncation r X) :
  mean_L r (W_next t) - mean_L r (model r X)
  <= theta t * ‖(nabla r (model r X))‖ + L r / 2 * theta t ^ 2.
Proof.
  assert (step := smooth_bound (L r) (mean_L r) (nabla r) (model r X) (W_next t ⊖ model r X)
    (mean_smooth (clients r) (L r) (loss r) (gradient r) (some_clients r) (smooth_losses r))).
  replace (model r X ⊕ (W_next t ⊖ model r X)) with (W_next t) in step by vectors.
  assert (cut := cut_le_theta t). assert (product := dot_le (nabla r (model r X)) (W_next t ⊖ model r X)).
  rewrite <- norm_square in step. assert (sign := constant_L r).
  assert (ng := norm_nonneg (nabla r (model r X))). assert (nc := norm_nonneg (W_next t ⊖ model r X)).
  set (d := ‖(W_next t ⊖ model r X)‖) in *. set (a := ‖(nabla r (model r X))‖) in *.
  assert (a * d <= theta t * a) by nra.
  assert (L r / 2 * (d * d) <= L r / 2 * theta t ^ 2) by (apply Rmult_le_compat_l; nra).
  lra.
Qed.
