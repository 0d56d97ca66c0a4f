(** Eigenvalues of Hermitian matrices, numbered from the largest (Appendix A.1 of FedLoRU). *)

From Coq Require Import Reals Lra Lia Psatz List.
From Rankproof Require Import sums spaces smooth matrices dimension complex forms.
Open Scope R_scope.

Definition hermitian {n} (D : Mc n n) : Prop := D^* = D.

Definition unitary {n} (U : Mc n n) : Prop :=
  U^* ×ᶜ U = of_real (identity n) /\ U ×ᶜ U^* = of_real (identity n).

(** [lambda 1 >= ... >= lambda n] are the eigenvalues of [D], with multiplicity: D = U diag(lambda) U^*. *)
Definition eigenvalues {n} (D : Mc n n) (lambda : nat -> R) : Prop :=
  (forall i j, (1 <= i)%nat -> (i <= j)%nat -> (j <= n)%nat -> lambda j <= lambda i) /\
  exists U : Mc n n, unitary U /\ D = U ×ᶜ of_real (diagonal n (fun k => lambda (S k))) ×ᶜ U^*.

(** The standard basis of complex vectors as a real space: the first n vectors are real, the others imaginary. *)
Definition unit_vector (n j : nat) : M n 1 := from_entries n 1 (fun i _ => if Nat.eqb i j then 1 else 0).
Definition standard (n : nat) (j : nat) : Mc n 1 :=
  if Nat.ltb j n then parts (unit_vector n j) zero else parts zero (unit_vector n (j - n)).

Lemma dot_unit_vector n (x : M n 1) j : (j < n)%nat -> ⟨ x, unit_vector n j ⟩ = entry x j 0.
Proof.
  intro low. cbn [dot M sum]. rewrite (sum_single n _ j); [|assumption|].
  - unfold unit_vector. rewrite entry_from, Nat.eqb_refl by lia. ring.
  - intros i below other. unfold unit_vector. rewrite entry_from by lia. destruct (Nat.eqb_spec i j); [congruence|ring].
Qed.

Lemma standard_basis n : basis (n * 2) (standard n).
Proof.
  split.
  - intros i j low_i low_j. unfold standard.
    destruct (Nat.ltb_spec i n), (Nat.ltb_spec j n); rewrite dot_complex; unfold parts, re, im; cbn [fst snd];
      rewrite ?dot_zero, ?dot_zero_r, ?dot_unit_vector by lia;
      unfold unit_vector; rewrite ?entry_from by lia.
    + rewrite Nat.eqb_sym. ring.
    + destruct (Nat.eqb_spec i j); [lia|ring].
    + destruct (Nat.eqb_spec i j); [lia|ring].
    + destruct (Nat.eqb_spec i j), (Nat.eqb_spec (j - n) (i - n)); try lia; ring.
  - intro x. replace (n * 2)%nat with (n + n)%nat by lia. rewrite sum_split, dot_complex. f_equal.
    + cbn [dot M sum]. apply sum_ext. intros i low. unfold standard. destruct (Nat.ltb_spec i n); [|lia].
      rewrite dot_complex. unfold parts, re, im. cbn [fst snd]. rewrite dot_zero_r, dot_unit_vector by lia. ring.
    + cbn [dot M sum]. apply sum_ext. intros i low. unfold standard. destruct (Nat.ltb_spec (n + i) n); [lia|].
      rewrite dot_complex. unfold parts, re, im. cbn [fst snd].
      replace (n + i - n)%nat with i by lia. rewrite dot_zero_r, dot_unit_vector by lia. ring.
Qed.

(** Column k of a matrix, and i times it: [U^* x] has the products with both as its real and imaginary part. *)
Definition column {n} (U : Mc n n) (k : nat) : Mc n 1 :=
  parts (from_entries n 1 (fun i _ => entry (re U) i k)) (from_entries n 1 (fun i _ => entry (im U) i k)).
Definition times_i {n} (x : Mc n 1) : Mc n 1 := parts ((-1) ⋅ im x) (re x).
Definition component {n} (U : Mc n n) (k : nat) (x : Mc n 1) : R :=
  ⟨ x, column U k ⟩ * ⟨ x, column U k ⟩ + ⟨ x, times_i (column U k) ⟩ * ⟨ x, times_i (column U k) ⟩.

Lemma dot_columns {n} (x y : M n 1) : ⟨ x, y ⟩ = sum n (fun i => entry x i 0 * entry y i 0).
Proof. cbn [dot M sum]. apply sum_ext. intros. ring. Qed.

Lemma components {n} (U : Mc n n) (x : Mc n 1) k : (k < n)%nat ->
  entry (re (U^* ×ᶜ x)) k 0 = ⟨ x, column U k ⟩ /\ entry (im (U^* ×ᶜ x)) k 0 = ⟨ x, times_i (column U k) ⟩.
Proof.
  intro low. rewrite !dot_complex. unfold complex_product, adjoint, times_i, column, parts, re, im. cbn [fst snd].
  rewrite entry_sub, entry_add, !entry_product, !dot_columns by lia. unfold Rminus.
  rewrite <- (Rmult_1_l (sum n (fun k0 => entry ((-1) ⋅ (snd U)^T) k k0 * entry (snd x) k0 0))), Ropp_mult_distr_l.
  rewrite <- !sum_scale, <- !sum_add.
  split; apply sum_ext; intros i below; rewrite !entry_scale, !entry_transpose, !entry_from by lia; ring.
Qed.

Lemma length_of_components {n} (U : Mc n n) (x : Mc n 1) : unitary U -> sum n (fun k => component U k x) = ⟨ x, x ⟩.
Proof.
  intros [_ whole]. transitivity ⟨ U^* ×ᶜ x, U^* ×ᶜ x ⟩.
  - rewrite dot_complex, !dot_columns, <- sum_add. apply sum_ext. intros k low. unfold component.
    destruct (components U x k low) as [-> ->]. reflexivity.
  - rewrite dot_complex_product, adjoint_adjoint, <- complex_product_assoc, whole. now rewrite complex_identity_product.
Qed.

Lemma form_by_components {n} (U : Mc n n) (d : nat -> R) (x : Mc n 1) :
  ⟨ U ×ᶜ of_real (diagonal n d) ×ᶜ U^* ×ᶜ x, x ⟩ = sum n (fun k => d k * component U k x).
Proof.
  rewrite !complex_product_assoc, dot_complex_product. set (y := U^* ×ᶜ x).
  assert (scaled : forall z : M n 1, diagonal n d × z = from_entries n 1 (fun i j => d i * entry z i j)).
  { intro z. entries. rewrite (sum_single n _ i); [|assumption|].
    - unfold diagonal. now rewrite entry_from, Nat.eqb_refl by assumption.
    - intros k below other. unfold diagonal. rewrite entry_from by assumption. destruct (Nat.eqb_spec i k); [congruence|ring]. }
  rewrite dot_complex. unfold complex_product at 1 2, of_real, parts, re, im. cbn [fst snd].
  rewrite !zero_product, !scaled, !dot_sub, !dot_add, !dot_zero, !dot_columns.
  rewrite Rminus_0_r, Rplus_0_r, <- sum_add. apply sum_ext. intros k low. rewrite !entry_from by lia. unfold component.
  destruct (components U x k low) as [<- <-]. fold y. unfold re, im. ring.
Qed.

(** The quadratic form of a matrix, which is real where the matrix is Hermitian. *)
Definition quadratic {n} (D : Mc n n) (x : Mc n 1) : R := ⟨ D ×ᶜ x, x ⟩.

Definition of_eigenvalues {n} (U : Mc n n) (lambda : nat -> R) (right : unitary U) :
  squares n 2 (quadratic (U ×ᶜ of_real (diagonal n lambda) ×ᶜ U^*)) lambda.
Proof.
  refine (Squares _ n 2 _ _ (component U) (fun k => column U k :: times_i (column U k) :: nil) _ _ _ _ _).
  - intros k x. unfold component. apply Rplus_le_le_0_compat; apply Rle_0_sqr.
  - intros k x none. unfold component. rewrite !none by (simpl; auto). ring.
  - reflexivity.
  - intro x. now apply length_of_components.
  - intro x. apply form_by_components.
Defined.
