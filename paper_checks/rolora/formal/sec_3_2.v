(** Section 3.2 of RoLoRA, eqs. (1) and (2): the mean of products against the product of means. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
Open Scope R_scope.

(** The mean update of eq. (1), and the product of the mean factors of eq. (2). *)
Definition mean_of_products {d r n} (N : nat) (A : nat -> M d r) (B : nat -> M r n) : M d n := vmean N (fun i => A i × B i).
Definition product_of_means {d r n} (N : nat) (A : nat -> M d r) (B : nat -> M r n) : M d n := vmean N A × vmean N B.

(** The difference is what the factors have in common, and from two clients on there are factors for which it is not
    0. *)
Definition eq_1_states {cross : R} : Prop :=
  (forall (N d r n : nat) (A : nat -> M d r) (B : nat -> M r n), (1 <= N)%nat ->
    mean_of_products N A B ⊖ product_of_means N A B
    = cross ⋅ vmean N (fun i => (A i ⊖ vmean N A) × (B i ⊖ vmean N B))) /\
  forall N d r n : nat, (2 <= N)%nat -> (1 <= d)%nat -> (1 <= r)%nat -> (1 <= n)%nat ->
    exists (A : nat -> M d r) (B : nat -> M r n), mean_of_products N A B <> product_of_means N A B.

(** The two sides can be the same: they are where all clients have the same B, whatever their A. *)
Definition eq_1_for_all_fails : Prop :=
  forall (N d r n : nat) (A : nat -> M d r) (B : M r n), (1 <= N)%nat ->
  mean_of_products N A (fun _ => B) = product_of_means N A (fun _ => B).

Lemma sub_product {m n p} (A B : M m n) (C : M n p) : (A ⊖ B) × C = A × C ⊖ B × C.
Proof. unfold sub. now rewrite add_product, scale_product. Qed.

Lemma product_sub {m n p} (A : M m n) (B C : M n p) : A × (B ⊖ C) = A × B ⊖ A × C.
Proof. unfold sub. now rewrite product_add, product_scale. Qed.

(** One client has factors of ones, the others of zeros. *)
Definition ones {m n} (i : nat) : M m n := from_entries m n (fun _ _ => match i with O => 1 | _ => 0 end).

Lemma entry_mean_of_ones {m n} N i j :
  (1 <= N)%nat -> (i < m)%nat -> (j < n)%nat -> entry (vmean N (@ones m n)) i j = / INR N.
Proof.
  intros some low_i low_j. unfold vmean. rewrite entry_scale, entry_vsum by assumption.
  rewrite (sum_single N _ 0%nat) by first [lia | intros k low other; unfold ones; rewrite entry_from by assumption;
    destruct k; [lia|reflexivity]].
  unfold ones. rewrite entry_from by assumption. ring.
Qed.

(* part of: rolora/eq-1@in-general-position: the difference, and factors with a difference for all sizes *)
Theorem eq_1 : eq_1_states (cross := 1).
Proof.
  split.
  - intros N d r n A B some. unfold mean_of_products, product_of_means. rewrite scale_one.
    set (a := vmean N A). set (b := vmean N B).
    rewrite (vmean_ext N (fun i => (A i ⊖ a) × (B i ⊖ b)) (fun i => (A i × B i ⊖ a × B i) ⊖ (A i × b ⊖ a × b)))
      by (intros; now rewrite product_sub, !sub_product; vectors).
    rewrite !vmean_sub, <- product_vmean, <- vmean_product, vmean_const by lia. fold a b. vectors.
  - intros N d r n two some_d some_r some_n. exists ones, ones. intro same.
    assert (first : entry (@mean_of_products d r n N ones ones) 0 0 = / INR N * INR r).
    { unfold mean_of_products, vmean. rewrite entry_scale, entry_vsum by lia. f_equal.
      rewrite (sum_single N _ 0%nat).
      - rewrite entry_product, (sum_ext r _ (fun _ => 1)), sum_const by
          first [lia | intros; unfold ones; rewrite !entry_from by lia; ring]. ring.
      - lia.
      - intros k low other. rewrite entry_product by lia. apply sum_zero. intros. unfold ones.
        rewrite !entry_from by lia. destruct k; [lia|ring]. }
    assert (second : entry (@product_of_means d r n N ones ones) 0 0 = INR r * (/ INR N * / INR N)).
    { unfold product_of_means. rewrite entry_product, <- sum_const by lia. apply sum_ext. intros.
      now rewrite !entry_mean_of_ones by lia. }
    rewrite same, second in first.
    assert (1 <= INR r) by (apply (le_INR 1 r) in some_r; simpl in some_r; lra).
    assert (2 <= INR N) by (apply (le_INR 2 N) in two; simpl in two; lra).
    assert (inverse : / INR N * INR N = 1) by (apply Rinv_l; lra).
    assert (positive : 0 < / INR N) by (apply Rinv_0_lt_compat; lra). set (i := / INR N) in *. clearbody i.
    assert (i <= 1 / 2) by nra. assert (0 < INR r * i) by nra. nra.
Qed.

(* refutes: rolora/eq-1 *)
Theorem eq_1_for_all : eq_1_for_all_fails.
Proof.
  intros N d r n A B some. unfold mean_of_products, product_of_means. now rewrite vmean_const, vmean_product by lia.
Qed.
