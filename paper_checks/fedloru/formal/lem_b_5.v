(** Lemma B.5 of FedLoRU (Appendix B.1): each client's loss, and their mean, are smooth in one factor. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
Open Scope R_scope.

(** The weighted mean of the clients' losses, and its gradient. *)
Definition weighted {E : space} (K : nat) (p : nat -> R) (f : nat -> E -> R) (x : E) : R := sum K (fun k => p k * f k x).
Definition weighted_gradient {E : space} (K : nat) (p : nat -> R) (g : nat -> E -> E) (x : E) : E :=
  vsum K (fun k => p k ⋅ g k x).

(** The loss and the gradient as functions of one factor, the other one being fixed. *)
Definition in_A {m n r} (W : M m n) (B : M r n) (f : M m n -> R) (A : M m r) : R := f (W ⊕ A × B).
Definition nabla_A {m n r} (W : M m n) (B : M r n) (g : M m n -> M m n) (A : M m r) : M m r := g (W ⊕ A × B) × B^T.
Definition in_B {m n r} (W : M m n) (A : M m r) (f : M m n -> R) (B : M r n) : R := f (W ⊕ A × B).
Definition nabla_B {m n r} (W : M m n) (A : M m r) (g : M m n -> M m n) (B : M r n) : M r n := A^T × g (W ⊕ A × B).

Definition lem_B_5_states {constant : R} : Prop :=
  forall (m n r K : nat) (L C_A C_B : R) (p : nat -> R) (f : nat -> M m n -> R) (g : nat -> M m n -> M m n) (W : M m n),
  0 <= L ->
  (forall k, (k < K)%nat -> smooth L (f k) (g k)) ->
  (forall k, (k < K)%nat -> 0 <= p k) -> sum K p = 1 ->
  (forall (B : M r n), ‖B‖ <= C_B ->
    (forall k, (k < K)%nat -> smooth (constant * (L * C_B ^ 2)) (in_A W B (f k)) (nabla_A W B (g k)))
    /\ smooth (constant * (L * C_B ^ 2)) (in_A W B (weighted K p f)) (nabla_A W B (weighted_gradient K p g)))
  /\
  (forall (A : M m r), ‖A‖ <= C_A ->
    (forall k, (k < K)%nat -> smooth (constant * (L * C_A ^ 2)) (in_B W A (f k)) (nabla_B W A (g k)))
    /\ smooth (constant * (L * C_A ^ 2)) (in_B W A (weighted K p f)) (nabla_B W A (weighted_gradient K p g))).

Lemma weighted_smooth {E : space} K L p (f : nat -> E -> R) (g : nat -> E -> E) :
  (forall k, (k < K)%nat -> smooth L (f k) (g k)) -> (forall k, (k < K)%nat -> 0 <= p k) -> sum K p = 1 ->
  smooth L (weighted K p f) (weighted_gradient K p g).
Proof.
  intros each weights whole. split.
  - intros x v. unfold weighted, weighted_gradient. rewrite dot_vsum.
    rewrite (sum_ext K _ (fun k => p k * ⟨ g k x, v ⟩)) by (intros; apply dot_scale).
    apply (derivative_of_sum K (fun k t => p k * f k (x ⊕ t ⋅ v))). intros k low.
    apply (derivable_pt_lim_scal (fun t => f k (x ⊕ t ⋅ v))). now apply each.
  - intros x y. unfold weighted_gradient.
    replace (vsum K (fun k => p k ⋅ g k x) ⊖ vsum K (fun k => p k ⋅ g k y))
      with (vsum K (fun k => p k ⋅ (g k x ⊖ g k y))).
    + eapply Rle_trans; [apply norm_vsum|]. rewrite <- (Rmult_1_l (L * _)), <- whole, <- sum_scale_r.
      apply sum_le. intros k low. rewrite norm_scale, Rabs_right by (apply Rle_ge; now apply weights).
      apply Rmult_le_compat_l; [now apply weights|]. now apply each.
    + apply eq_by_dot; intro z. rewrite dot_sub, !dot_vsum.
      replace (sum K (fun i => ⟨ p i ⋅ g i x, z ⟩) - sum K (fun i => ⟨ p i ⋅ g i y, z ⟩))
        with (sum K (fun i => ⟨ p i ⋅ g i x, z ⟩) + sum K (fun i => -1 * ⟨ p i ⋅ g i y, z ⟩)) by (rewrite sum_scale; ring).
      rewrite <- sum_add. apply sum_ext. intros. rewrite !dot_scale, dot_sub. ring.
Qed.

Lemma smooth_in_A {m n r} (W : M m n) (B : M r n) L C f g :
  0 <= L -> ‖B‖ <= C -> smooth L f g -> smooth (1 * (L * C ^ 2)) (in_A W B f) (nabla_A W B g).
Proof.
  intros positive bounded [gradient lipschitz]. assert (nb := norm_nonneg B). split.
  - intros A v. unfold in_A, nabla_A. rewrite dot_product_right, transpose_transpose, dot_sym.
    rewrite <- (transpose_transpose B) at 2. rewrite transpose_transpose.
    replace ⟨ v × B, g (W ⊕ A × B) ⟩ with ⟨ g (W ⊕ A × B), v × B ⟩ by apply dot_sym.
    intros eps small. destruct (gradient (W ⊕ A × B) (v × B) eps small) as [delta near].
    exists delta. intros h nonzero tiny. specialize (near h nonzero tiny).
    rewrite !add_product, !scale_product, !add_assoc. exact near.
  - intros A A'. unfold nabla_A.
    replace (g (W ⊕ A × B) × B^T ⊖ g (W ⊕ A' × B) × B^T) with ((g (W ⊕ A × B) ⊖ g (W ⊕ A' × B)) × B^T)
      by (unfold sub; now rewrite add_product, scale_product).
    eapply Rle_trans; [apply norm_product|]. rewrite norm_transpose.
    assert (step := lipschitz (W ⊕ A × B) (W ⊕ A' × B)).
    replace ((W ⊕ A × B) ⊖ (W ⊕ A' × B)) with ((A ⊖ A') × B) in step
      by (unfold sub at 1; rewrite add_product, scale_product; vectors).
    assert (product := norm_product (A ⊖ A') B). assert (na := norm_nonneg (A ⊖ A')).
    apply Rle_trans with (L * (‖(A ⊖ A')‖ * ‖B‖) * ‖B‖).
    + apply Rmult_le_compat_r; [assumption|]. eapply Rle_trans; [exact step|]. apply Rmult_le_compat_l; lra.
    + replace (L * (‖(A ⊖ A')‖ * ‖B‖) * ‖B‖) with (L * ‖(A ⊖ A')‖ * (‖B‖ * ‖B‖)) by ring.
      replace (1 * (L * C ^ 2) * ‖(A ⊖ A')‖) with (L * ‖(A ⊖ A')‖ * (C * C)) by ring.
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat; assumption.
Qed.

Lemma smooth_in_B {m n r} (W : M m n) (A : M m r) L C f g :
  0 <= L -> ‖A‖ <= C -> smooth L f g -> smooth (1 * (L * C ^ 2)) (in_B W A f) (nabla_B W A g).
Proof.
  intros positive bounded [gradient lipschitz]. assert (nb := norm_nonneg A). split.
  - intros B v. unfold in_B, nabla_B.
    replace ⟨ A^T × g (W ⊕ A × B), v ⟩ with ⟨ g (W ⊕ A × B), A × v ⟩
      by (rewrite dot_product_left, transpose_transpose; reflexivity).
    intros eps small. destruct (gradient (W ⊕ A × B) (A × v) eps small) as [delta near].
    exists delta. intros h nonzero tiny. specialize (near h nonzero tiny).
    rewrite !product_add, !product_scale, !add_assoc. exact near.
  - intros B B'. unfold nabla_B.
    replace (A^T × g (W ⊕ A × B) ⊖ A^T × g (W ⊕ A × B')) with (A^T × (g (W ⊕ A × B) ⊖ g (W ⊕ A × B')))
      by (unfold sub; now rewrite product_add, product_scale).
    eapply Rle_trans; [apply norm_product|]. rewrite norm_transpose.
    assert (step := lipschitz (W ⊕ A × B) (W ⊕ A × B')).
    replace ((W ⊕ A × B) ⊖ (W ⊕ A × B')) with (A × (B ⊖ B')) in step
      by (unfold sub at 1; rewrite product_add, product_scale; vectors).
    assert (product := norm_product A (B ⊖ B')). assert (na := norm_nonneg (B ⊖ B')).
    apply Rle_trans with (‖A‖ * (L * (‖A‖ * ‖(B ⊖ B')‖))).
    + apply Rmult_le_compat_l; [assumption|]. eapply Rle_trans; [exact step|]. apply Rmult_le_compat_l; lra.
    + replace (‖A‖ * (L * (‖A‖ * ‖(B ⊖ B')‖))) with (L * ‖(B ⊖ B')‖ * (‖A‖ * ‖A‖)) by ring.
      replace (1 * (L * C ^ 2) * ‖(B ⊖ B')‖) with (L * ‖(B ⊖ B')‖ * (C * C)) by ring.
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat; assumption.
Qed.

(* proves: fedloru-v2/lem-B.5 *)
Theorem lem_B_5 : lem_B_5_states (constant := 1).
Proof.
  intros m n r K L C_A C_B p f g W positive each weights whole.
  assert (mean := weighted_smooth K L p f g each weights whole). split; intros X bounded; split.
  - intros k low. apply smooth_in_A; auto.
  - now apply smooth_in_A.
  - intros k low. apply smooth_in_B; auto.
  - now apply smooth_in_B.
Qed.
