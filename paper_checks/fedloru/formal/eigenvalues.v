(** Eigenvalues of Hermitian matrices, numbered from the largest (Appendix A.1 of FedLoRU). *)

From Coq Require Import Reals Lra Lia Psatz List.
From Rankproof Require Import sums spaces smooth matrices dimension complex forms spectral.
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
Definition column {n p} (U : Mc n p) (k : nat) : Mc n 1 :=
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

(** What has the same columns is the same, and a product acts on each column. *)
Lemma same_columns {n p} (A B : Mc n p) : (forall k, (k < p)%nat -> column A k = column B k) -> A = B.
Proof.
  intro same. apply same_parts; apply same_entries; intros i k low_i low_k.
  - assert (step := f_equal (fun x : Mc n 1 => entry (re x) i 0) (same k low_k)). cbv beta in step.
    unfold column, parts in step. unfold re at 1 3 in step. cbn [fst] in step. now rewrite !entry_from in step by lia.
  - assert (step := f_equal (fun x : Mc n 1 => entry (im x) i 0) (same k low_k)). cbv beta in step.
    unfold column, parts in step. unfold im at 1 3 in step. cbn [snd] in step. now rewrite !entry_from in step by lia.
Qed.

Lemma column_product {m n p} (A : Mc m n) (B : Mc n p) k : (k < p)%nat -> column (A ×ᶜ B) k = A ×ᶜ column B k.
Proof.
  intro low. apply same_parts; apply same_entries; intros i j low_i low_j;
    unfold column, complex_product, parts, re, im; cbn [fst snd];
    rewrite entry_from by lia; rewrite ?entry_sub, ?entry_add, !entry_product by lia;
    (apply (f_equal2 Rminus) || apply (f_equal2 Rplus)); apply sum_ext; intros l below; now rewrite entry_from by lia.
Qed.

Lemma column_scaled {n} (U : Mc n n) (d : nat -> R) l :
  (l < n)%nat -> column (U ×ᶜ of_real (diagonal n d)) l = d l ⋅ column U l.
Proof.
  intro low.
  assert (scaled : forall A : M n n, from_entries n 1 (fun i _ => entry (A × diagonal n d) i l)
    = d l ⋅ (from_entries n 1 (fun i _ => entry A i l) : M n 1)).
  { intro A. entries. rewrite entry_scale, entry_from by lia. rewrite (sum_single n _ l); [|assumption|].
    - unfold diagonal. rewrite entry_from, Nat.eqb_refl by assumption. ring.
    - intros k below other. unfold diagonal. rewrite entry_from by assumption. destruct (Nat.eqb_spec k l); [congruence|ring]. }
  apply same_parts; unfold column, complex_product, of_real, parts, re, im; cbn [fst snd scale pairs Mc];
    rewrite product_zero; rewrite <- scaled; apply same_entries; intros i j low_i low_j; rewrite !entry_from by lia.
  - rewrite entry_sub by lia. cbn [zero M]. rewrite entry_from by lia. ring.
  - rewrite entry_add by lia. cbn [zero M]. rewrite entry_from by lia. ring.
Qed.

Section Existence.
Context {n : nat} (D : Mc n n) (of_D : hermitian D).

Lemma acts_symmetric : symmetric (fun x : Mc n 1 => D ×ᶜ x).
Proof.
  split; intros.
  - apply complex_product_add.
  - apply complex_product_scale.
  - now rewrite dot_complex_product, of_D.
Qed.

Lemma times_i_commutes (x : Mc n 1) : D ×ᶜ times_i x = times_i (D ×ᶜ x).
Proof.
  apply same_parts; unfold times_i, complex_product, parts, re, im, sub; cbn [fst snd];
    autorewrite with matrix_laws; vectors.
Qed.

Lemma times_i_twice (x y : Mc n 1) : ⟨ times_i x, times_i y ⟩ = ⟨ x, y ⟩.
Proof.
  rewrite !dot_complex. unfold times_i, parts, re, im. cbn [fst snd]. rewrite dot_scale, dot_scale_r. ring.
Qed.

Lemma times_i_turns (x y : Mc n 1) : ⟨ times_i x, y ⟩ = - ⟨ x, times_i y ⟩.
Proof.
  rewrite !dot_complex. unfold times_i, parts, re, im. cbn [fst snd]. rewrite dot_scale, dot_scale_r. ring.
Qed.

Lemma times_i_scale a (x : Mc n 1) : times_i (a ⋅ x) = a ⋅ times_i x.
Proof. apply same_parts; unfold times_i, parts, re, im; cbn [fst snd scale pairs Mc]; vectors. Qed.

Lemma form_bounded : exists bound, forall x : Mc n 1, Rabs ⟨ D ×ᶜ x, x ⟩ <= bound * ⟨ x, x ⟩.
Proof.
  exists (2 * (‖(re D)‖ + ‖(im D)‖)). intro x.
  set (a := ‖(re D)‖). set (b := ‖(im D)‖). set (y := ‖(re x)‖). set (z := ‖(im x)‖).
  assert (a_low : 0 <= a) by apply norm_nonneg. assert (b_low : 0 <= b) by apply norm_nonneg.
  assert (y_low : 0 <= y) by apply norm_nonneg. assert (z_low : 0 <= z) by apply norm_nonneg.
  assert (side : forall (A : M n n) (v w : M n 1), Rabs ⟨ A × v, w ⟩ <= ‖A‖ * ‖v‖ * ‖w‖).
  { intros A v w. assert (high := dot_le (A × v) w). assert (low := dot_ge (A × v) w).
    assert (product := norm_product A v). assert (nw := norm_nonneg w).
    apply Rabs_le. nra. }
  assert (s1 := side (re D) (re x) (re x)). assert (s2 := side (im D) (im x) (re x)).
  assert (s3 := side (re D) (im x) (im x)). assert (s4 := side (im D) (re x) (im x)).
  fold a b y z in s1, s2, s3, s4.
  assert (form : ⟨ D ×ᶜ x, x ⟩ = ⟨ re D × re x, re x ⟩ - ⟨ im D × im x, re x ⟩
    + (⟨ re D × im x, im x ⟩ + ⟨ im D × re x, im x ⟩)).
  { transitivity (⟨ re D × re x ⊖ im D × im x, re x ⟩ + ⟨ re D × im x ⊕ im D × re x, im x ⟩); [reflexivity|].
    rewrite dot_sub, dot_add. ring. }
  rewrite form, dot_complex, <- !norm_square. fold y z.
  apply Rabs_le.
  assert (p1 := Rle_abs ⟨ re D × re x, re x ⟩). assert (q1 := Rle_abs (- ⟨ re D × re x, re x ⟩)).
  assert (p2 := Rle_abs ⟨ im D × im x, re x ⟩). assert (q2 := Rle_abs (- ⟨ im D × im x, re x ⟩)).
  assert (p3 := Rle_abs ⟨ re D × im x, im x ⟩). assert (q3 := Rle_abs (- ⟨ re D × im x, im x ⟩)).
  assert (p4 := Rle_abs ⟨ im D × re x, im x ⟩). assert (q4 := Rle_abs (- ⟨ im D × re x, im x ⟩)).
  rewrite Rabs_Ropp in q1, q2, q3, q4.
  assert (0 <= b * (y - z) * (y - z)) by (rewrite Rmult_assoc; apply Rmult_le_pos; [assumption|apply Rle_0_sqr]).
  assert (0 <= a * y * y) by (repeat apply Rmult_le_pos; assumption).
  assert (0 <= a * z * z) by (repeat apply Rmult_le_pos; assumption).
  assert (0 <= b * y * y) by (repeat apply Rmult_le_pos; assumption).
  assert (0 <= b * z * z) by (repeat apply Rmult_le_pos; assumption).
  split; lra.
Qed.

Definition both (k : nat) (u : nat -> Mc n 1) (j : nat) : Mc n 1 := if Nat.ltb j k then u j else times_i (u (j - k)%nat).

Definition complex_orthonormal (k : nat) (u : nat -> Mc n 1) : Prop :=
  forall i j, (i < k)%nat -> (j < k)%nat ->
  ⟨ u i, u j ⟩ = (if Nat.eqb i j then 1 else 0) /\ ⟨ u i, times_i (u j) ⟩ = 0.

Lemma both_orthonormal k u : complex_orthonormal k u -> orthonormal_family (k + k) (both k u).
Proof.
  intros family i j low_i low_j. unfold both.
  destruct (Nat.ltb_spec i k), (Nat.ltb_spec j k).
  - now apply family.
  - destruct (Nat.eqb_spec i j); [lia|]. apply family; lia.
  - destruct (Nat.eqb_spec i j); [lia|]. rewrite dot_sym. apply family; lia.
  - rewrite times_i_twice. destruct (family (i - k)%nat (j - k)%nat ltac:(lia) ltac:(lia)) as [-> _].
    destruct (Nat.eqb_spec i j), (Nat.eqb_spec (i - k) (j - k)); try lia; reflexivity.
Qed.

Lemma some_eigenvectors k : (k <= n)%nat -> exists u lambda,
  complex_orthonormal k u /\ (forall i, (i < k)%nat -> D ×ᶜ u i = lambda i ⋅ u i) /\ decreasing k lambda /\
  forall y, (forall i, (i < k)%nat -> ⟨ y, u i ⟩ = 0 /\ ⟨ y, times_i (u i) ⟩ = 0) ->
  forall i, (i < k)%nat -> ⟨ D ×ᶜ y, y ⟩ <= lambda i * ⟨ y, y ⟩.
Proof.
  induction k as [|k IH]; intro room.
  - exists (fun _ => zero), (fun _ => 0). unfold complex_orthonormal, decreasing. repeat split; intros; lia.
  - destruct (IH ltac:(lia)) as (u & lambda & family & own & order & most).
    destruct form_bounded as [bound bounded].
    destruct (next_eigenvector (fun x : Mc n 1 => D ×ᶜ x) (n * 2) (standard n) bound (k + k) (both k u)
      (fun j => if Nat.ltb j k then lambda j else lambda (j - k)%nat) acts_symmetric (standard_basis n) bounded
      (both_orthonormal k u family)) as (mu & x & unit & right & image & largest); [|lia|].
    { intros j low. unfold both. destruct (Nat.ltb_spec j k); [now apply own|].
      rewrite times_i_commutes, own, times_i_scale by lia. reflexivity. }
    assert (apart : forall i, (i < k)%nat -> ⟨ x, u i ⟩ = 0 /\ ⟨ x, times_i (u i) ⟩ = 0).
    { intros i low. split.
      - specialize (right i ltac:(lia)). unfold both in right. destruct (Nat.ltb_spec i k); [assumption|lia].
      - specialize (right (k + i)%nat ltac:(lia)). unfold both in right. destruct (Nat.ltb_spec (k + i) k); [lia|].
        now replace (k + i - k)%nat with i in right by lia. }
    exists (fun i => if Nat.ltb i k then u i else x), (fun i => if Nat.ltb i k then lambda i else mu).
    split; [|split; [|split]].
    + intros i j low_i low_j. destruct (Nat.ltb_spec i k), (Nat.ltb_spec j k).
      * now apply family.
      * destruct (Nat.eqb_spec i j); [lia|]. split; [rewrite dot_sym; now apply apart|].
        assert (turned := times_i_turns x (u i)). destruct (apart i ltac:(assumption)) as [_ none]. rewrite none in turned.
        rewrite dot_sym, turned. ring.
      * destruct (Nat.eqb_spec i j); [lia|]. now apply apart.
      * destruct (Nat.eqb_spec i j); [|lia]. split; [assumption|].
        assert (turned := times_i_turns x x). rewrite dot_sym in turned. lra.
    + intros i low. destruct (Nat.ltb_spec i k); [now apply own|assumption].
    + intros i j before low. destruct (Nat.ltb_spec i k), (Nat.ltb_spec j k); try lia; try lra.
      * now apply order.
      * assert (step := most x apart i ltac:(assumption)). rewrite image, dot_scale, unit in step. lra.
    + intros y outside i low.
      assert (before : forall i, (i < k)%nat -> ⟨ y, u i ⟩ = 0 /\ ⟨ y, times_i (u i) ⟩ = 0).
      { intros l below. specialize (outside l ltac:(lia)). destruct (Nat.ltb_spec l k); [assumption|lia]. }
      destruct (Nat.ltb_spec i k); [now apply most|]. apply largest.
      intros j below. unfold both. destruct (Nat.ltb_spec j k); apply before; lia.
Qed.

(** Each Hermitian matrix has eigenvalues: the spectral theorem. *)
Theorem eigenvalues_exist : exists lambda, eigenvalues D lambda.
Proof.
  destruct (some_eigenvectors n (Nat.le_refl n)) as (u & lambda & family & own & order & _).
  exists (fun i => lambda (i - 1)%nat). split.
  { intros i j one before low. apply order; lia. }
  set (U := parts (from_entries n n (fun i k => entry (re (u k)) i 0)) (from_entries n n (fun i k => entry (im (u k)) i 0))).
  assert (columns : forall k, (k < n)%nat -> column U k = u k).
  { intros k low. apply same_parts; apply same_entries; intros i j low_i low_j;
      replace j with 0%nat by lia; unfold column, U, parts, re, im; cbn [fst snd]; now rewrite !entry_from by lia. }
  assert (inner : U^* ×ᶜ U = of_real (identity n)).
  { apply same_columns. intros l low. rewrite column_product by assumption.
    apply same_parts; apply same_entries; intros k j low_k low_j; replace j with 0%nat by lia;
      destruct (components U (column U l) k low_k) as [real imaginary]; rewrite ?real, ?imaginary, !columns by assumption;
      destruct (family l k low low_k) as [same none]; rewrite ?same, ?none;
      unfold column, of_real, identity, parts, re, im; cbn [fst snd]; rewrite !entry_from by lia.
    - now rewrite Nat.eqb_sym.
    - cbn [zero M]. now rewrite entry_from by lia. }
  assert (whole : forall x : Mc n 1, ⟨ U^* ×ᶜ x, U^* ×ᶜ x ⟩ = ⟨ x, x ⟩).
  { intro x.
    destruct (basis_of_size (n * 2) (standard n) (both n u) (standard_basis n)) as [_ all].
    { replace (n * 2)%nat with (n + n)%nat by lia. now apply both_orthonormal. }
    rewrite (all x). replace (n * 2)%nat with (n + n)%nat by lia. rewrite sum_split, dot_complex, !dot_columns.
    f_equal; apply sum_ext; intros k low; destruct (components U x k low) as [real imaginary];
      rewrite ?real, ?imaginary, columns by assumption; unfold both.
    - destruct (Nat.ltb_spec k n); [reflexivity|lia].
    - destruct (Nat.ltb_spec (n + k) n); [lia|]. now replace (n + k - n)%nat with k by lia. }
  assert (returns : forall x : Mc n 1, U ×ᶜ (U^* ×ᶜ x) = x).
  { intro x. apply sub_zero_eq, dot_definite. rewrite dot_sub, !dot_sub_r.
    assert (first : ⟨ U ×ᶜ (U^* ×ᶜ x), U ×ᶜ (U^* ×ᶜ x) ⟩ = ⟨ x, x ⟩).
    { rewrite dot_complex_product, <- (complex_product_assoc (U^*) U), inner, complex_identity_product. apply whole. }
    assert (second : ⟨ U ×ᶜ (U^* ×ᶜ x), x ⟩ = ⟨ x, x ⟩) by (rewrite dot_complex_product; apply whole).
    rewrite first, second, (dot_sym _ x (U ×ᶜ (U^* ×ᶜ x))), second. ring. }
  assert (outer : U ×ᶜ U^* = of_real (identity n)).
  { apply same_columns. intros l low. rewrite <- (complex_product_identity (U ×ᶜ U^*)), column_product by assumption.
    now rewrite complex_product_assoc, returns. }
  exists U. split; [now split|].
  assert (images : D ×ᶜ U = U ×ᶜ of_real (diagonal n (fun k => lambda (S k - 1)%nat))).
  { apply same_columns. intros l low. rewrite column_product, columns, own, column_scaled, columns by assumption.
    now replace (S l - 1)%nat with l by lia. }
  rewrite <- images, complex_product_assoc, outer. now rewrite complex_product_identity.
Qed.
End Existence.
