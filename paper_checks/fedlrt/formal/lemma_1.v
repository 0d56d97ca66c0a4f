(** Lemma 1 of FeDLRT (Section 3.1): the coefficients in the augmented bases. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds bases.
Open Scope R_scope.

(** [A] with [B] to its right. *)
Definition beside {m k l} (A : M m k) (B : M m l) : M m (k + l) :=
  from_entries m (k + l) (fun i j => if Nat.ltb j k then entry A i j else entry B i (j - k)).

Definition lemma_1_states {corner outside : R} : Prop :=
  forall (m n r q : nat) (U : M m r) (S : M r r) (V : M n r) (U_bar : M m q) (V_bar : M n q),
  let U_wide := beside U U_bar in
  let V_wide := beside V V_bar in
  orthonormal U_wide -> orthonormal V_wide ->
  let S_wide := U_wide^T × U × S × V^T × V_wide in
  S_wide = bases.corner (r + q) outside (corner ⋅ S) /\ U_wide × S_wide × V_wide^T = U × S × V^T.

Lemma first_beside {m k l} (A : M m k) (B : M m l) : first k (beside A B) = A.
Proof.
  apply same_entries; intros i j low_i low_j. rewrite entry_first by assumption.
  unfold beside. rewrite entry_from by lia. now rewrite (proj2 (Nat.ltb_lt j k) low_j).
Qed.

(** [U_wide S_wide V_wide^T] with S in the corner of zeros is [U S V^T]. *)
Lemma corner_in_wide {m n r q} (U : M m r) (S : M r r) (V : M n r) (U_bar : M m q) (V_bar : M n q) :
  beside U U_bar × bases.corner (r + q) 0 S × (beside V V_bar)^T = U × S × V^T.
Proof. rewrite corner_product by lia. now rewrite transpose_transpose, !first_beside. Qed.

(* proves: fedlrt/lemma-1 *)
Theorem lemma_1 : lemma_1_states (corner := 1) (outside := 0).
Proof.
  intros m n r q U S V U_bar V_bar U_wide V_wide u v S_wide.
  assert (block : S_wide = bases.corner (r + q) 0 S).
  { transitivity (U_wide^T × (U × S × V^T) × V_wide); [unfold S_wide; now rewrite !product_assoc|].
    rewrite <- (corner_in_wide U S V U_bar V_bar). fold U_wide V_wide.
    rewrite !product_assoc, v, product_identity, <- product_assoc, u. apply identity_product. }
  split.
  - rewrite block. f_equal. vectors.
  - rewrite block. apply corner_in_wide.
Qed.
