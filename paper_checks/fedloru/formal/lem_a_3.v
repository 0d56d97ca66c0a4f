(** Lemma A.3 of FedLoRU (Appendix A.1, eqs. (10) and (11)): Weyl's inequalities. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices dimension complex forms.
From FedLoRU Require Import eigenvalues.
Open Scope R_scope.

Definition lem_A_3_states {upper_shift lower_shift : nat} {sign : R} : Prop :=
  forall (n : nat) (A B : Mc n n) (lambda_A lambda_B lambda_sum : nat -> R),
  eigenvalues A lambda_A -> eigenvalues B lambda_B -> eigenvalues (A ⊕ B) lambda_sum ->
  forall i j, (1 <= i <= n)%nat -> (1 <= j <= n)%nat ->
  ((i + j <= n + 1)%nat -> sign * lambda_sum (i + j - 1 + upper_shift)%nat <= sign * (lambda_A i + lambda_B j)) /\
  ((i + j >= n + 1)%nat -> sign * lambda_sum (i + j - n + lower_shift)%nat >= sign * (lambda_A i + lambda_B j)).

Lemma ordered n (lambda : nat -> R) :
  (forall i j, (1 <= i)%nat -> (i <= j)%nat -> (j <= n)%nat -> lambda j <= lambda i) ->
  decreasing n (fun k => lambda (S k)).
Proof. intros order i j before low. apply order; lia. Qed.

(* proves: fedloru-v2/lem-A.3 *)
Theorem lem_A_3 : lem_A_3_states (upper_shift := 0) (lower_shift := 0) (sign := 1).
Proof.
  intros n A B a b c [order_a (U & unitary_U & A_is)] [order_b (V & unitary_V & B_is)] [order_c (T & unitary_T & sum_is)]
    i j low_i low_j.
  assert (total : forall x, quadratic (A ⊕ B) x = quadratic A x + quadratic B x).
  { intro x. unfold quadratic. now rewrite add_complex_product, dot_add. }
  assert (of_A := of_eigenvalues U (fun k => a (S k)) unitary_U).
  assert (of_B := of_eigenvalues V (fun k => b (S k)) unitary_V).
  assert (of_sum := of_eigenvalues T (fun k => c (S k)) unitary_T).
  rewrite <- A_is in of_A. rewrite <- B_is in of_B. rewrite <- sum_is in of_sum.
  rewrite !Rmult_1_l, !Nat.add_0_r. split; intro bound.
  - assert (step := weyl _ _ _ _ _ _ _ (i - 1) (j - 1) (standard_basis n) ltac:(lia) of_A of_B of_sum
      (ordered _ _ order_a) (ordered _ _ order_b) (ordered _ _ order_c) total ltac:(lia)).
    cbv beta in step. replace (S (i - 1)) with i in step by lia. replace (S (j - 1)) with j in step by lia.
    now replace (S (i - 1 + (j - 1))) with (i + j - 1)%nat in step by lia.
  - assert (step := weyl_from_below _ _ _ _ _ _ _ (i - 1) (j - 1) (standard_basis n) ltac:(lia) of_A of_B of_sum
      (ordered _ _ order_a) (ordered _ _ order_b) (ordered _ _ order_c) total ltac:(lia) ltac:(lia) ltac:(lia)).
    cbv beta in step. replace (S (i - 1)) with i in step by lia. replace (S (j - 1)) with j in step by lia.
    replace (S (i - 1 + (j - 1) - (n - 1))) with (i + j - n)%nat in step by lia. now apply Rle_ge.
Qed.
