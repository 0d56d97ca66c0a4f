(** Theorem 4 of FeDLRT (Section 3.2), which is Theorem 11 (eq. (41)): descent with simplified correction. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds bases.
Open Scope R_scope.

(** The block of S, with zeros elsewhere, and the rest: the part of a gradient with a hat. *)
Definition block {n} (k : nat) (X : M n n) : M n n :=
  from_entries n n (fun i j => if (Nat.ltb i k && Nat.ltb j k)%bool then entry X i j else 0).

Section Simplified.
Context {r : round} (before : factors r).

(** The gradients with respect to S that travel in Algorithm 5, in the corner of zeros. *)
Definition check_of (c : nat) : M (width r) (width r) :=
  corner (width r) 0 ((U_before before)^T × gradient r c (W_before before) × V_before before).
Definition check : M (width r) (width r) :=
  corner (width r) 0 ((U_before before)^T × nabla r (W_before before) × V_before before).

(** The coefficients of client c after i local steps of Algorithm 5, and what the server makes of them. *)
Fixpoint simplified (c i : nat) : M (width r) (width r) :=
  match i with
  | O => S r
  | Datatypes.S i => simplified c i ⊖ lambda r ⋅ (nabla_S_of r c (simplified c i) ⊖ check_of c ⊕ check)
  end.
Definition S_simplified : M (width r) (width r) := vmean (clients r) (fun c => simplified c (steps r)).

(** The gradient of client c at the start outside of the block of S, with a hat in the paper. *)
Definition hat (c : nat) : M (width r) (width r) :=
  nabla_S_of r c (S r) ⊖ block (rank before) (nabla_S_of r c (S r)).
End Simplified.

(** The corrected statement. *)
Definition thm_4_states {constant most limit : R} : Prop :=
  forall (r : round) (before : factors r) (t : truncation r (S_simplified before)) (delta : R),
  0 <= delta <= most ->
  s_ r * lambda r * L r <= limit ->
  mean (clients r) (fun c => ‖(hat before c)‖ ^ 2) <= delta ^ 2 * ‖(nabla_S r (S r))‖ ^ 2 ->
  let kappa := / 2 * (1 + (1 - 1 / s_ r) * sqrt (1 + delta ^ 2)) in
  mean_L r (W_next t) - mean_L r (W_before before)
  <= - (s_ r * lambda r) * (1 - constant * kappa * (s_ r * lambda r) * L r) * ‖(nabla_S r (S r))‖ ^ 2
     + theta t * ‖(nabla r (model r (S_simplified before)))‖ + L r / 2 * theta t ^ 2.

(** For delta = 0 no client has a gradient outside of the block at the start. In that case it is Theorem 2 with its best
    constant: no correction is left out, and kappa is 1 - 1/(2s). *)
Definition thm_4_at_0_states {constant : R} : Prop :=
  forall (r : round) (before : factors r) (delta : R), delta = 0 ->
  mean (clients r) (fun c => ‖(hat before c)‖ ^ 2) <= delta ^ 2 * ‖(nabla_S r (S r))‖ ^ 2 ->
  let kappa := / 2 * (1 + (1 - 1 / s_ r) * sqrt (1 + delta ^ 2)) in
  S_simplified before = S_star r /\ constant * kappa = 1 - 1 / (2 * s_ r).

Lemma block_adjoint {n} k (X Y : M n n) : ⟨ block k X, Y ⟩ = ⟨ X, block k Y ⟩.
Proof.
  cbn [dot M]. apply sum_ext; intros i low_i. apply sum_ext; intros j low_j.
  unfold block. rewrite !entry_from by assumption. destruct (Nat.ltb i k && Nat.ltb j k)%bool; ring.
Qed.

Lemma block_block {n} k (X : M n n) : block k (block k X) = block k X.
Proof.
  apply same_entries; intros i j low_i low_j. unfold block. rewrite !entry_from by assumption.
  now destruct (Nat.ltb i k && Nat.ltb j k)%bool.
Qed.

Lemma block_vmean {n} k m (f : nat -> M n n) : block k (vmean m f) = vmean m (fun c => block k (f c)).
Proof.
  apply eq_by_dot; intro z. rewrite block_adjoint, !dot_vmean. apply mean_ext. intros. now rewrite block_adjoint.
Qed.

Lemma first_gradient {m n k} (U : M m k) (V : M n k) (A : M m n) l :
  (l <= k)%nat -> corner k 0 ((first l U)^T × A × first l V) = block l (U^T × A × V).
Proof.
  intro small. apply same_entries; intros i j low_i low_j. unfold corner, block. rewrite !entry_from by assumption.
  destruct (Nat.ltb_spec i l); destruct (Nat.ltb_spec j l); simpl; try reflexivity.
  rewrite !entry_product by assumption. apply sum_ext; intros q low_q.
  rewrite entry_first, !entry_product by assumption. f_equal. apply sum_ext; intros p low_p.
  rewrite !entry_transpose, entry_first by assumption. reflexivity.
Qed.

Section Proof.
Context {r : round} (before : factors r).
Let k := rank before.
Let G := nabla_S r (S r).

Definition direction (c : nat) : M (width r) (width r) :=
  nabla_S_of r c (S r) ⊖ block (rank before) (nabla_S_of r c (S r)) ⊕ block (rank before) (nabla_S r (S r)).

Lemma check_of_block c : check_of before c = block k (nabla_S_of r c (S r)).
Proof.
  unfold check_of. rewrite augmentation_keeps. apply first_gradient. apply small_rank.
Qed.

Lemma check_block : check before = block k G.
Proof. unfold check. rewrite augmentation_keeps. apply first_gradient. apply small_rank. Qed.

Lemma same_step {E : space} (x : E) l (a b c d : E) :
  x ⊖ l ⋅ (a ⊖ b ⊕ c) = x ⊖ l ⋅ ((d ⊖ b ⊕ c) ⊕ (a ⊖ d)).
Proof. vectors. Qed.

Lemma simplified_point c i : simplified before c i = point (lambda r) (nabla_S_of r) (S r) direction c i.
Proof.
  induction i as [|i IH]; cbn [simplified point]; [reflexivity|].
  rewrite <- IH, check_of_block, check_block. apply same_step.
Qed.

Lemma simplified_server :
  S_simplified before = server (clients r) (steps r) (lambda r) (nabla_S_of r) (S r) direction.
Proof. apply vmean_ext. intros. apply simplified_point. Qed.

Lemma mean_of_rest {E : space} (x y : E) : x ⊖ y ⊕ y = x.
Proof. vectors. Qed.

Lemma mean_direction : vmean (clients r) direction = nabla_S r (S r).
Proof.
  unfold direction. rewrite vmean_add, vmean_sub, <- block_vmean, vmean_const by apply some_clients.
  change (vmean (clients r) (fun i => nabla_S_of r i (S r))) with (mean_gradient (clients r) (nabla_S_of r) (S r)).
  rewrite mean_of_slopes. apply mean_of_rest.
Qed.

Lemma length_direction c :
  ⟨ direction c, direction c ⟩ = ⟨ hat before c, hat before c ⟩ + ⟨ block k G, block k G ⟩.
Proof.
  unfold direction, hat. fold k G. set (a := nabla_S_of r c (S r)).
  assert (apart : ⟨ a ⊖ block k a, block k G ⟩ = 0).
  { rewrite dot_sub, (block_adjoint k a), block_block. ring. }
  rewrite dot_add, !dot_add_r, (dot_sym _ (block k G)), apart. ring.
Qed.

Lemma block_shorter {n} l (X : M n n) : ⟨ block l X, block l X ⟩ <= ⟨ X, X ⟩.
Proof.
  cbn [dot M]. apply sum_le; intros i low_i. apply sum_le; intros j low_j.
  unfold block. rewrite entry_from by assumption. destruct (Nat.ltb i l && Nat.ltb j l)%bool; nra.
Qed.
End Proof.

(* proves: fedlrt/thm-4: together with thm_4_at_0 and thm_4_promises and thm_4_truncation and thm_4_least *)
Theorem thm_4 : thm_4_states (constant := 1) (most := 1) (limit := 1).
Proof.
  intros r before t delta [low high] short spread kappa.
  assert (natural := s_ge_1 r). assert (some := some_clients r).
  set (rho := sqrt (1 + delta ^ 2)).
  assert (square : rho * rho = 1 + delta ^ 2) by (apply sqrt_sqrt; nra).
  assert (rho_low : 0 <= rho) by apply sqrt_pos.
  assert (rho_high : rho <= 3 / 2) by nra.
  assert (descent := local_steps_descend (clients r) (steps r) (L r) (lambda r) (own_loss r) (nabla_S_of r) (S r)
    (direction before) some (rate_nonneg r) (constant_L r)
    ltac:(intros; now apply own_smooth) rho (some_steps r) short (conj rho_low rho_high)).
  rewrite mean_direction, mean_of_slopes in descent. specialize (descent eq_refl).
  assert (mean (clients r) (fun c => ⟨ direction before c, direction before c ⟩)
          <= rho * rho * ⟨ nabla_S r (S r), nabla_S r (S r) ⟩) as long.
  { rewrite (mean_ext _ _ (fun c => ⟨ hat before c, hat before c ⟩
      + ⟨ block (rank before) (nabla_S r (S r)), block (rank before) (nabla_S r (S r)) ⟩))
      by (intros; apply length_direction).
    rewrite mean_add, mean_const by assumption. rewrite square.
    rewrite (mean_ext _ _ (fun c => ⟨ hat before c, hat before c ⟩)) in spread
      by (intros; rewrite <- norm_square; ring).
    replace (‖(nabla_S r (S r))‖ ^ 2) with (‖(nabla_S r (S r))‖ * ‖(nabla_S r (S r))‖) in spread by ring.
    rewrite norm_square in spread.
    assert (part := block_shorter (rank before) (nabla_S r (S r))). lra. }
  specialize (descent long). rewrite <- simplified_server, !mean_own_loss in descent.
  fold (s_ r) in descent. change (model r (S r)) with (W_start r) in descent.
  rewrite <- (augmentation_keeps before) in descent.
  assert (cost := truncation_cost t). unfold kappa. fold rho.
  replace (‖(nabla_S r (S r))‖ ^ 2) with (‖(nabla_S r (S r))‖ * ‖(nabla_S r (S r))‖) by ring.
  replace (1 * (/ 2 * (1 + (1 - 1 / s_ r) * rho)) * (s_ r * lambda r) * L r)
    with (/ 2 * (1 + (1 - / s_ r) * rho) * (s_ r * lambda r * L r)) by (field; lra).
  lra.
Qed.

(* proves: fedlrt/thm-4: together with thm_4 and thm_4_promises and thm_4_truncation and thm_4_least *)
Theorem thm_4_at_0 : thm_4_at_0_states (constant := 1).
Proof.
  intros r before delta none spread kappa. subst delta. assert (natural := s_ge_1 r).
  split; [|unfold kappa; replace (1 + 0 ^ 2) with 1 by ring; rewrite sqrt_1; field; lra].
  set (k := rank before). set (G := nabla_S r (S r)).
  assert (inside : forall c, (c < clients r)%nat -> hat before c = zero).
  { intros c below. apply dot_definite.
    assert (signs : forall i, (i < clients r)%nat -> 0 <= ⟨ hat before i, hat before i ⟩) by (intros; apply dot_nonneg).
    assert (term := sum_term (clients r) (fun i => ⟨ hat before i, hat before i ⟩) c signs below). cbv beta in term.
    assert (positive : 0 < / INR (clients r)) by (apply Rinv_0_lt_compat, lt_0_INR, some_clients).
    rewrite (mean_ext _ _ (fun i => ⟨ hat before i, hat before i ⟩)) in spread
      by (intros; rewrite <- norm_square; ring). unfold mean in spread.
    assert (0 <= ⟨ hat before c, hat before c ⟩) by apply dot_nonneg. nra. }
  assert (own : forall c, (c < clients r)%nat -> nabla_S_of r c (S r) = block k (nabla_S_of r c (S r)))
    by (intros; now apply sub_zero_eq, inside).
  assert (whole : block k G = G).
  { unfold G. rewrite <- mean_of_slopes. unfold mean_gradient. rewrite block_vmean. symmetry. now apply vmean_ext. }
  rewrite simplified_server, star_server. apply vmean_ext. intros c below.
  assert (same : direction before c = G).
  { unfold direction. fold k. rewrite <- own by assumption. fold G. rewrite whole.
    unfold sub. rewrite add_inverse, add_comm. apply add_zero. }
  induction (steps r) as [|i IH]; cbn [point]; [reflexivity|]. now rewrite IH, same.
Qed.
