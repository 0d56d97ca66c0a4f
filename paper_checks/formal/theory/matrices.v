(** Real matrices with m rows and n columns: a space with the Frobenius product. *)

From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Hierarchy.
From Rankproof Require Import sums spaces smooth.
Open Scope R_scope.

Section Entries.
Context {m n : nat}.

Definition entry (A : matrix m n) (i j : nat) : R := coeff_mat 0 A i j.
Definition from_entries (f : nat -> nat -> R) : matrix m n := mk_matrix m n f.

Lemma entry_from f i j : (i < m)%nat -> (j < n)%nat -> entry (from_entries f) i j = f i j.
Proof. apply coeff_mat_bij. Qed.

Lemma same_entries (A B : matrix m n) :
  (forall i j, (i < m)%nat -> (j < n)%nat -> entry A i j = entry B i j) -> A = B.
Proof.
  intro same. rewrite <- (mk_matrix_bij 0 A), <- (mk_matrix_bij 0 B). now apply mk_matrix_ext.
Qed.
End Entries.
Arguments from_entries m n f : clear implicits.

Ltac by_entries := intros; apply same_entries; intros; rewrite ?entry_from by assumption; try ring.

(** The space of matrices. *)
Definition M (m n : nat) : space.
Proof.
  refine (Space (matrix m n)
    (from_entries m n (fun _ _ => 0))
    (fun A B => from_entries m n (fun i j => entry A i j + entry B i j))
    (fun a A => from_entries m n (fun i j => a * entry A i j))
    (fun A B => sum m (fun i => sum n (fun j => entry A i j * entry B i j))) _ _ _ _ _ _ _ _ _ _ _ _ _);
    try by_entries; intros.
  - apply sum_ext; intros; apply sum_ext; intros; ring.
  - rewrite <- sum_add. apply sum_ext; intros. rewrite <- sum_add. apply sum_ext; intros.
    rewrite entry_from by assumption. ring.
  - rewrite <- sum_scale. apply sum_ext; intros. rewrite <- sum_scale. apply sum_ext; intros.
    rewrite entry_from by assumption. ring.
  - apply sum_nonneg; intros; apply sum_nonneg; intros. apply Rle_0_sqr.
  - assert (signs : forall i j, (i < m)%nat -> (j < n)%nat -> 0 <= entry x i j * entry x i j)
      by (intros; apply Rle_0_sqr).
    assert (0 <= entry x i j * entry x i j) by auto.
    assert (entry x i j * entry x i j <= sum n (fun j => entry x i j * entry x i j))
      by (apply (sum_term n (fun j => entry x i j * entry x i j)); auto).
    assert (sum n (fun j => entry x i j * entry x i j) <= 0).
    { rewrite <- H. apply (sum_term m (fun i => sum n (fun j => entry x i j * entry x i j))); [|assumption].
      intros; apply sum_nonneg; auto. }
    nra.
Defined.

Lemma entry_add {m n} (A B : M m n) i j :
  (i < m)%nat -> (j < n)%nat -> entry (A ⊕ B) i j = entry A i j + entry B i j.
Proof. intros. now apply entry_from. Qed.

Lemma entry_scale {m n} a (A : M m n) i j :
  (i < m)%nat -> (j < n)%nat -> entry (a ⋅ A) i j = a * entry A i j.
Proof. intros. now apply entry_from. Qed.

Lemma entry_sub {m n} (A B : M m n) i j :
  (i < m)%nat -> (j < n)%nat -> entry (A ⊖ B) i j = entry A i j - entry B i j.
Proof. intros. unfold sub. rewrite entry_add, entry_scale by assumption. ring. Qed.

Lemma entry_vsum {m n} k (f : nat -> M m n) i j :
  (i < m)%nat -> (j < n)%nat -> entry (vsum k f) i j = sum k (fun c => entry (f c) i j).
Proof.
  intros. induction k as [|k IH]; simpl; [now apply entry_from|].
  now rewrite entry_from, IH by assumption.
Qed.

Definition product {m n p} (A : M m n) (B : M n p) : M m p :=
  from_entries m p (fun i j => sum n (fun k => entry A i k * entry B k j)).
Definition transpose {m n} (A : M m n) : M n m := from_entries n m (fun i j => entry A j i).
Definition identity (n : nat) : M n n := from_entries n n (fun i j => if Nat.eqb i j then 1 else 0).
Definition diagonal (n : nat) (d : nat -> R) : M n n := from_entries n n (fun i j => if Nat.eqb i j then d i else 0).

Notation "A × B" := (product A B) (at level 40, left associativity).
Notation "A ^T" := (transpose A) (at level 8, format "A ^T").

Lemma entry_product {m n p} (A : M m n) (B : M n p) i j :
  (i < m)%nat -> (j < p)%nat -> entry (product A B) i j = sum n (fun k => entry A i k * entry B k j).
Proof. apply entry_from. Qed.

Lemma entry_transpose {m n} (A : M m n) i j :
  (i < n)%nat -> (j < m)%nat -> entry (transpose A) i j = entry A j i.
Proof. intros. unfold transpose. now rewrite entry_from. Qed.

Ltac entries := intros; apply same_entries; intros; unfold product, transpose, identity;
  rewrite ?entry_from by assumption.

Lemma product_assoc {m n p q} (A : M m n) (B : M n p) (C : M p q) :
  product (product A B) C = product A (product B C).
Proof.
  entries.
  rewrite (sum_ext p _ (fun k => sum n (fun l => entry A i l * entry B l k * entry C k j))).
  - rewrite sum_swap. apply sum_ext; intros l below. rewrite entry_from by assumption.
    rewrite <- sum_scale. apply sum_ext; intros. ring.
  - intros k below. rewrite entry_from by assumption. now rewrite <- sum_scale_r.
Qed.

Lemma identity_product {m n} (A : M m n) : product (identity m) A = A.
Proof.
  entries. rewrite (sum_single m _ i) by
    first [assumption | intros k below other; rewrite entry_from by assumption;
      destruct (Nat.eqb_spec i k); [congruence|ring]].
  rewrite entry_from by assumption. rewrite Nat.eqb_refl. ring.
Qed.

Lemma product_identity {m n} (A : M m n) : product A (identity n) = A.
Proof.
  entries. rewrite (sum_single n _ j) by
    first [assumption | intros k below other; rewrite entry_from by assumption;
      destruct (Nat.eqb_spec k j); [congruence|ring]].
  rewrite entry_from by assumption. rewrite Nat.eqb_refl. ring.
Qed.

Lemma transpose_transpose {m n} (A : M m n) : transpose (transpose A) = A.
Proof. entries. reflexivity. Qed.

Lemma transpose_product {m n p} (A : M m n) (B : M n p) :
  transpose (product A B) = product (transpose B) (transpose A).
Proof. entries. apply sum_ext; intros. rewrite !entry_from by assumption. ring. Qed.

Lemma transpose_identity n : transpose (identity n) = identity n.
Proof. entries. now rewrite Nat.eqb_sym. Qed.

Lemma product_add {m n p} (A : M m n) (B C : M n p) : product A (B ⊕ C) = product A B ⊕ product A C.
Proof.
  entries. rewrite entry_add, !entry_from by assumption. rewrite <- sum_add.
  apply sum_ext; intros. rewrite entry_add by assumption. ring.
Qed.

Lemma add_product {m n p} (A B : M m n) (C : M n p) : product (A ⊕ B) C = product A C ⊕ product B C.
Proof.
  entries. rewrite entry_add, !entry_from by assumption. rewrite <- sum_add.
  apply sum_ext; intros. rewrite entry_add by assumption. ring.
Qed.

Lemma product_scale {m n p} (A : M m n) a (B : M n p) : product A (a ⋅ B) = a ⋅ product A B.
Proof.
  entries. rewrite entry_scale, !entry_from by assumption. rewrite <- sum_scale.
  apply sum_ext; intros. rewrite entry_scale by assumption. ring.
Qed.

Lemma scale_product {m n p} a (A : M m n) (B : M n p) : product (a ⋅ A) B = a ⋅ product A B.
Proof.
  entries. rewrite entry_scale, !entry_from by assumption. rewrite <- sum_scale.
  apply sum_ext; intros. rewrite entry_scale by assumption. ring.
Qed.

Lemma product_vsum {m n p} (A : M m n) k (f : nat -> M n p) : product A (vsum k f) = vsum k (fun c => product A (f c)).
Proof.
  induction k as [|k IH]; cbn [vsum].
  - entries. cbn [zero M]. rewrite entry_from by assumption.
    apply sum_zero; intros. rewrite entry_from by assumption. ring.
  - now rewrite product_add, IH.
Qed.

Lemma vsum_product {m n p} k (f : nat -> M m n) (B : M n p) : product (vsum k f) B = vsum k (fun c => product (f c) B).
Proof.
  induction k as [|k IH]; cbn [vsum].
  - entries. cbn [zero M]. rewrite entry_from by assumption.
    apply sum_zero; intros. rewrite entry_from by assumption. ring.
  - now rewrite add_product, IH.
Qed.

Lemma product_vmean {m n p} (A : M m n) k (f : nat -> M n p) :
  product A (vmean k f) = vmean k (fun c => product A (f c)).
Proof. unfold vmean. now rewrite product_scale, product_vsum. Qed.

Lemma vmean_product {m n p} k (f : nat -> M m n) (B : M n p) :
  product (vmean k f) B = vmean k (fun c => product (f c) B).
Proof. unfold vmean. now rewrite scale_product, vsum_product. Qed.

Lemma dot_product_left {m n p} (A : M m n) (B : M n p) (C : M m p) :
  ⟨ product A B, C ⟩ = ⟨ B, product (transpose A) C ⟩.
Proof.
  cbn [dot M].
  rewrite (sum_ext m _ (fun i => sum n (fun k => sum p (fun j => entry A i k * entry B k j * entry C i j)))).
  - rewrite sum_swap. apply sum_ext; intros k below.
    rewrite sum_swap. apply sum_ext; intros j small.
    rewrite entry_product by assumption. rewrite <- sum_scale. apply sum_ext; intros.
    rewrite entry_transpose by assumption. ring.
  - intros i below. rewrite sum_swap. apply sum_ext; intros j small.
    rewrite entry_product by assumption. rewrite <- sum_scale_r. reflexivity.
Qed.

Lemma dot_transpose {m n} (A B : M m n) : ⟨ transpose A, transpose B ⟩ = ⟨ A, B ⟩.
Proof.
  cbn [dot M]. rewrite sum_swap. apply sum_ext; intros; apply sum_ext; intros.
  now rewrite !entry_transpose by assumption.
Qed.

Lemma dot_product_right {m n p} (A : M m n) (B : M n p) (C : M m p) :
  ⟨ product A B, C ⟩ = ⟨ A, product C (transpose B) ⟩.
Proof.
  rewrite <- dot_transpose, transpose_product, dot_product_left, transpose_transpose, <- dot_transpose.
  now rewrite transpose_transpose, transpose_product, transpose_transpose.
Qed.

(** The Frobenius norm of a product is at most the product of the norms. *)
Lemma norm_product {m n p} (A : M m n) (B : M n p) : ‖(A × B)‖ <= ‖A‖ * ‖B‖.
Proof.
  apply norm_by_square; [apply Rmult_le_pos; apply norm_nonneg|].
  replace (‖A‖ * ‖B‖ * (‖A‖ * ‖B‖)) with ((‖A‖ * ‖A‖) * (‖B‖ * ‖B‖)) by ring.
  rewrite !norm_square. cbn [dot M].
  rewrite (sum_swap n p (fun i j => entry B i j * entry B i j)).
  rewrite <- sum_scale_r. apply sum_le; intros i low_i. rewrite <- sum_scale. apply sum_le; intros j low_j.
  rewrite entry_product by assumption.
  set (row := from_entries 1 n (fun _ k => entry A i k) : M 1 n).
  set (column := from_entries 1 n (fun _ k => entry B k j) : M 1 n).
  assert (product : ⟨ row, column ⟩ = sum n (fun k => entry A i k * entry B k j)).
  { cbn [dot M sum]. rewrite Rplus_0_l. apply sum_ext; intros. unfold row, column. now rewrite !entry_from by lia. }
  assert (first : ⟨ row, row ⟩ = sum n (fun k => entry A i k * entry A i k)).
  { cbn [dot M sum]. rewrite Rplus_0_l. apply sum_ext; intros. unfold row. now rewrite !entry_from by lia. }
  assert (second : ⟨ column, column ⟩ = sum n (fun k => entry B k j * entry B k j)).
  { cbn [dot M sum]. rewrite Rplus_0_l. apply sum_ext; intros. unfold column. now rewrite !entry_from by lia. }
  rewrite <- product, <- first, <- second, <- !norm_square.
  assert (high := dot_le row column). assert (low := dot_ge row column).
  assert (nr := norm_nonneg row). assert (nc := norm_nonneg column). nra.
Qed.

Lemma norm_transpose {m n} (A : M m n) : ‖(A^T)‖ = ‖A‖.
Proof. unfold norm. now rewrite dot_transpose. Qed.

(** Columns that are orthonormal. *)
Definition orthonormal {m k} (U : M m k) : Prop := product (transpose U) U = identity k.

(** [U S V^T] as a change of coordinates, for orthonormal columns. *)
Definition bases {m n k} (U : M m k) (V : M n k) (u : orthonormal U) (v : orthonormal V) :
  isometry (M m n) (M k k).
Proof.
  refine (Isometry (M m n) (M k k)
    (fun S => product (product U S) (transpose V)) (fun A => product (product (transpose U) A) V) _ _).
  - intros S A. rewrite dot_product_right, transpose_transpose, dot_product_left. now rewrite <- product_assoc.
  - intro S. rewrite !product_assoc, v, product_identity, <- product_assoc, u. apply identity_product.
Defined.
