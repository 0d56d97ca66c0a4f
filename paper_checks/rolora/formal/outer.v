(** Outer products x y^T of two columns. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
Open Scope R_scope.

Lemma dot_columns {n} (x y : M n 1) : ⟨ x, y ⟩ = sum n (fun i => entry x i 0 * entry y i 0).
Proof. cbn [dot M sum]. apply sum_ext. intros. ring. Qed.

Lemma dot_outer {m n} (u v : M m 1) (x y : M n 1) : ⟨ u × x^T, v × y^T ⟩ = ⟨ u, v ⟩ * ⟨ x, y ⟩.
Proof.
  rewrite !dot_columns. cbn [dot M]. rewrite <- sum_scale_r. apply sum_ext. intros i low_i.
  rewrite <- sum_scale. apply sum_ext. intros j low_j. rewrite !entry_product by assumption. cbn [sum].
  rewrite !entry_transpose by lia. ring.
Qed.

Lemma square_of_norm {E : space} (x : E) : ‖x‖ ^ 2 = ⟨ x, x ⟩.
Proof. rewrite <- norm_square. ring. Qed.

(** The squared length of u x^T - v y^T, completed to a square in y. *)
Lemma completed {m n} (u v : M m 1) (x y : M n 1) :
  ⟨ v, v ⟩ <> 0 ->
  ‖(u × x^T ⊖ v × y^T)‖ ^ 2
  = ‖x‖ ^ 2 * (‖u‖ ^ 2 - ⟨ v, u ⟩ ^ 2 / ‖v‖ ^ 2) + ‖v‖ ^ 2 * ‖(y ⊖ (⟨ v, u ⟩ / ‖v‖ ^ 2) ⋅ x)‖ ^ 2.
Proof.
  intro some. rewrite !square_of_norm. autorewrite with products. rewrite !dot_outer, (dot_sym _ u v), (dot_sym _ y x).
  field. assumption.
Qed.

Lemma outer_times {m n} (x : M m 1) (y z : M n 1) : x × y^T × z = ⟨ y, z ⟩ ⋅ x.
Proof.
  rewrite product_assoc. apply same_entries; intros i j low_i low_j.
  rewrite entry_scale, entry_product by assumption. cbn [sum]. rewrite entry_product by lia. rewrite dot_columns.
  replace j with 0%nat by lia.
  rewrite (sum_ext n (fun k => entry y^T 0 k * entry z k 0) (fun k => entry y k 0 * entry z k 0))
    by (intros; now rewrite entry_transpose by lia). ring.
Qed.
