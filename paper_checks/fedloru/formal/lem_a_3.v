(** Lemma A.3 of FedLoRU (Appendix A.1, eqs. (10) and (11)): Weyl's inequalities. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices dimension complex forms.
From FedLoRU Require Import eigenvalues.
Open Scope R_scope.

(** Each Hermitian matrix has eigenvalues, and no others, so that the inequalities are about the eigenvalues. *)
Definition lem_A_3_states {upper_shift lower_shift : nat} {sign : R} : Prop :=
  (forall (n : nat) (D : Mc n n), hermitian D ->
    exists lambda, eigenvalues D lambda /\
    forall other, eigenvalues D other -> forall i, (1 <= i <= n)%nat -> other i = lambda i) /\
  forall (n : nat) (A B : Mc n n) (lambda_A lambda_B lambda_sum : nat -> R),
  eigenvalues A lambda_A -> eigenvalues B lambda_B -> eigenvalues (A ⊕ B) lambda_sum ->
  forall i j, (1 <= i <= n)%nat -> (1 <= j <= n)%nat ->
  ((i + j <= n + 1)%nat -> sign * lambda_sum (i + j - 1 + upper_shift)%nat <= sign * (lambda_A i + lambda_B j)) /\
  ((i + j >= n + 1)%nat -> sign * lambda_sum (i + j - n + lower_shift)%nat >= sign * (lambda_A i + lambda_B j)).

Lemma ordered n (lambda : nat -> R) :
  (forall i j, (1 <= i)%nat -> (i <= j)%nat -> (j <= n)%nat -> lambda j <= lambda i) ->
  decreasing n (fun k => lambda (S k)).
Proof. intros order i j before low. apply order; lia. Qed.

Lemma inequalities n (A B : Mc n n) (a b c : nat -> R) :
  eigenvalues A a -> eigenvalues B b -> eigenvalues (A ⊕ B) c ->
  forall i j, (1 <= i <= n)%nat -> (1 <= j <= n)%nat ->
  ((i + j <= n + 1)%nat -> c (i + j - 1)%nat <= a i + b j) /\ ((i + j >= n + 1)%nat -> c (i + j - n)%nat >= a i + b j).
Proof.
  intros [order_a (U & unitary_U & A_is)] [order_b (V & unitary_V & B_is)] [order_c (T & unitary_T & sum_is)]
    i j low_i low_j.
  assert (total : forall x, quadratic (A ⊕ B) x = quadratic A x + quadratic B x).
  { intro x. unfold quadratic. now rewrite add_complex_product, dot_add. }
  assert (of_A := of_eigenvalues U (fun k => a (S k)) unitary_U).
  assert (of_B := of_eigenvalues V (fun k => b (S k)) unitary_V).
  assert (of_sum := of_eigenvalues T (fun k => c (S k)) unitary_T).
  rewrite <- A_is in of_A. rewrite <- B_is in of_B. rewrite <- sum_is in of_sum.
  split; intro bound.
  - assert (step := weyl _ _ _ _ _ _ _ (i - 1) (j - 1) (standard_basis n) ltac:(lia) of_A of_B of_sum
      (ordered _ _ order_a) (ordered _ _ order_b) (ordered _ _ order_c) total ltac:(lia)).
    cbv beta in step. replace (S (i - 1)) with i in step by lia. replace (S (j - 1)) with j in step by lia.
    now replace (S (i - 1 + (j - 1))) with (i + j - 1)%nat in step by lia.
  - assert (step := weyl_from_below _ _ _ _ _ _ _ (i - 1) (j - 1) (standard_basis n) ltac:(lia) of_A of_B of_sum
      (ordered _ _ order_a) (ordered _ _ order_b) (ordered _ _ order_c) total ltac:(lia) ltac:(lia) ltac:(lia)).
    cbv beta in step. replace (S (i - 1)) with i in step by lia. replace (S (j - 1)) with j in step by lia.
    replace (S (i - 1 + (j - 1) - (n - 1))) with (i + j - n)%nat in step by lia. now apply Rle_ge.
Qed.

Lemma eigenvalues_of_zero n : eigenvalues (zero : Mc n n) (fun _ => 0).
Proof.
  split; [intros; lra|]. exists (of_real (identity n)).
  assert (own : (of_real (identity n))^* = of_real (identity n)).
  { apply same_parts; unfold adjoint, of_real, parts, re, im; cbn [fst snd].
    - apply transpose_identity.
    - rewrite transpose_zero. vectors. }
  unfold unitary. rewrite own. split; [split; apply complex_identity_product|].
  rewrite complex_identity_product, complex_product_identity.
  apply same_parts; [|reflexivity]. unfold of_real, parts, re. cbn [fst zero Mc pairs]. unfold diagonal.
  apply same_entries; intros. cbn [zero M]. rewrite !entry_from by assumption. now destruct (Nat.eqb i j).
Qed.

Lemma at_most_as_large n (D : Mc n n) a b i : eigenvalues D a -> eigenvalues D b -> (1 <= i <= n)%nat -> b i <= a i.
Proof.
  intros of_a of_b inside.
  destruct (inequalities n D zero a (fun _ => 0) b of_a (eigenvalues_of_zero n)) with (i := i) (j := 1%nat) as [step _]; try lia.
  - now rewrite add_zero.
  - specialize (step ltac:(lia)). replace (i + 1 - 1)%nat with i in step by lia. lra.
Qed.

(* proves: fedloru-v2/lem-A.3 *)
Theorem lem_A_3 : lem_A_3_states (upper_shift := 0) (lower_shift := 0) (sign := 1).
Proof.
  split.
  - intros n D of_D. destruct (eigenvalues_exist D of_D) as [lambda own]. exists lambda. split; [assumption|].
    intros other of_other i inside. apply Rle_antisym; now apply (at_most_as_large n D).
  - intros n A B a b c of_A of_B of_sum i j low_i low_j. rewrite !Rmult_1_l, !Nat.add_0_r.
    now apply (inequalities n A B).
Qed.
