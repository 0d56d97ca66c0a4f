(** Complex matrices with m rows and n columns, as their real and imaginary parts. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices dimension.
Open Scope R_scope.

(** Pairs of vectors, with the sum of both products. *)
Definition pairs (E F : space) : space.
Proof.
  refine (Space (E * F) (zero, zero)
    (fun x y => (fst x ⊕ fst y, snd x ⊕ snd y)) (fun a x => (a ⋅ fst x, a ⋅ snd x))
    (fun x y => ⟨ fst x, fst y ⟩ + ⟨ snd x, snd y ⟩) _ _ _ _ _ _ _ _ _ _ _ _ _);
    intros; repeat match goal with x : (_ * _)%type |- _ => destruct x end; cbn [fst snd].
  - f_equal; vectors.
  - f_equal; vectors.
  - f_equal; vectors.
  - f_equal; vectors.
  - f_equal; vectors.
  - f_equal; vectors.
  - f_equal; vectors.
  - f_equal; vectors.
  - now rewrite (dot_sym E), (dot_sym F).
  - rewrite !dot_add. ring.
  - rewrite !dot_scale. ring.
  - apply Rplus_le_le_0_compat; apply dot_nonneg.
  - cbn [fst snd] in H. assert (0 <= ⟨ v, v ⟩) by apply dot_nonneg. assert (0 <= ⟨ v0, v0 ⟩) by apply dot_nonneg.
    f_equal; apply dot_definite; lra.
Defined.

(** Complex matrices: the product is the real part of the Frobenius product. *)
Definition Mc (m n : nat) : space := pairs (M m n) (M m n).
Definition re {m n} (A : Mc m n) : M m n := fst A.
Definition im {m n} (A : Mc m n) : M m n := snd A.
Definition parts {m n} (A B : M m n) : Mc m n := (A, B).

Definition complex_product {m n p} (A : Mc m n) (B : Mc n p) : Mc m p :=
  parts (re A × re B ⊖ im A × im B) (re A × im B ⊕ im A × re B).
Definition adjoint {m n} (A : Mc m n) : Mc n m := parts (re A)^T ((-1) ⋅ (im A)^T).
(** A real matrix as a complex one. *)
Definition of_real {m n} (A : M m n) : Mc m n := parts A zero.

Notation "A ×ᶜ B" := (complex_product A B) (at level 40, left associativity).
Notation "A ^*" := (adjoint A) (at level 8, format "A ^*").

Lemma same_parts {m n} (A B : Mc m n) : re A = re B -> im A = im B -> A = B.
Proof. destruct A, B. unfold re, im. cbn. now intros -> ->. Qed.

Lemma transpose_add {m n} (A B : M m n) : (A ⊕ B)^T = A^T ⊕ B^T.
Proof. entries. now rewrite !entry_add, !entry_from by assumption. Qed.

Lemma transpose_scale {m n} a (A : M m n) : (a ⋅ A)^T = a ⋅ A^T.
Proof. entries. now rewrite !entry_scale, !entry_from by assumption. Qed.

Lemma product_zero {m n p} (A : M m n) : A × (zero : M n p) = zero.
Proof. entries. cbn [zero M]. rewrite entry_from by assumption. apply sum_zero. intros. rewrite entry_from by assumption. ring. Qed.

Lemma zero_product {m n p} (B : M n p) : (zero : M m n) × B = zero.
Proof. entries. cbn [zero M]. rewrite entry_from by assumption. apply sum_zero. intros. rewrite entry_from by assumption. ring. Qed.

Lemma transpose_zero {m n} : (zero : M m n)^T = zero.
Proof. entries. cbn [zero M]. now rewrite !entry_from by assumption. Qed.

#[global] Hint Rewrite @product_add @add_product @product_scale @scale_product @transpose_add @transpose_scale
  @product_zero @zero_product @transpose_zero @transpose_product @transpose_transpose @product_assoc : matrix_laws.

Lemma complex_product_assoc {m n p q} (A : Mc m n) (B : Mc n p) (C : Mc p q) :
  (A ×ᶜ B) ×ᶜ C = A ×ᶜ (B ×ᶜ C).
Proof.
  apply same_parts; unfold complex_product, parts, re, im, sub; cbn [fst snd];
    autorewrite with matrix_laws; vectors.
Qed.

Lemma adjoint_product {m n p} (A : Mc m n) (B : Mc n p) : (A ×ᶜ B)^* = B^* ×ᶜ A^*.
Proof.
  apply same_parts; unfold complex_product, adjoint, parts, re, im, sub; cbn [fst snd];
    autorewrite with matrix_laws; vectors.
Qed.

Lemma adjoint_adjoint {m n} (A : Mc m n) : (A^*)^* = A.
Proof.
  apply same_parts; unfold adjoint, parts, re, im; cbn [fst snd]; autorewrite with matrix_laws; vectors.
Qed.

Lemma complex_product_add {m n p} (A : Mc m n) (B C : Mc n p) : A ×ᶜ (B ⊕ C) = A ×ᶜ B ⊕ A ×ᶜ C.
Proof.
  apply same_parts; unfold complex_product, parts, re, im, sub; cbn [add pairs Mc fst snd];
    autorewrite with matrix_laws; vectors.
Qed.

Lemma add_complex_product {m n p} (A B : Mc m n) (C : Mc n p) : (A ⊕ B) ×ᶜ C = A ×ᶜ C ⊕ B ×ᶜ C.
Proof.
  apply same_parts; unfold complex_product, parts, re, im, sub; cbn [add pairs Mc fst snd];
    autorewrite with matrix_laws; vectors.
Qed.

Lemma complex_identity_product {m n} (A : Mc m n) : of_real (identity m) ×ᶜ A = A.
Proof.
  apply same_parts; unfold complex_product, of_real, parts, re, im; cbn [fst snd];
    rewrite !identity_product, !zero_product; vectors.
Qed.

Lemma complex_product_identity {m n} (A : Mc m n) : A ×ᶜ of_real (identity n) = A.
Proof.
  apply same_parts; unfold complex_product, of_real, parts, re, im; cbn [fst snd];
    rewrite !product_identity, !product_zero; vectors.
Qed.

Lemma complex_product_scale {m n p} (A : Mc m n) a (B : Mc n p) : A ×ᶜ (a ⋅ B) = a ⋅ (A ×ᶜ B).
Proof.
  apply same_parts; unfold complex_product, parts, re, im, sub; cbn [scale pairs Mc fst snd];
    autorewrite with matrix_laws; vectors.
Qed.

Lemma dot_complex {m n} (A B : Mc m n) : ⟨ A, B ⟩ = ⟨ re A, re B ⟩ + ⟨ im A, im B ⟩.
Proof. reflexivity. Qed.

Lemma dot_complex_product {m n p} (A : Mc m n) (B : Mc n p) (C : Mc m p) : ⟨ A ×ᶜ B, C ⟩ = ⟨ B, A^* ×ᶜ C ⟩.
Proof.
  rewrite !dot_complex. unfold complex_product, adjoint, parts, re, im, sub. cbn [fst snd].
  autorewrite with matrix_laws. autorewrite with products. rewrite !dot_product_left. ring.
Qed.
