(** Theorem 4.2 of FedLoRU as corrected, its first bound, for exact gradients and all clients in each round. *)

From Coq Require Import Reals Lra Lia Psatz Classical_Prop.
From Rankproof Require Import sums spaces smooth matrices.
From FedLoRU Require Import lem_b_5.
Open Scope R_scope.

Record run := Run {
  m : nat; n : nat; r : nat;                       (* W is m x n, of rank r are A B *)
  K : nat; E : nat; T : nat;                       (* clients, local steps, rounds *)
  eta : R; L : R; G : R; C_A : R; C_B : R;         (* the step size and the constants of Assumption 4.1 *)
  p : nat -> R;                                    (* the clients' weights *)
  f : nat -> M m n -> R;
  g : nat -> M m n -> M m n;                       (* g k is the gradient of f k *)
  W : nat -> M m n; A : nat -> M m r; B : nat -> M r n;  (* at the start of round t *)
  f_star : R;
  some_steps : (1 <= E)%nat;
  some_rounds : (1 <= T)%nat;
  positive_eta : 0 < eta;
  signs : 0 <= L /\ 0 <= G /\ 0 <= C_A /\ 0 <= C_B;
  weights : forall k, (k < K)%nat -> 0 <= p k;
  weights_sum : sum K p = 1;
  smooth_losses : forall k, (k < K)%nat -> smooth L (f k) (g k);
  bounded_gradients : forall k X, (k < K)%nat -> ‖(g k X)‖ <= G;
  least_value : forall X, f_star <= weighted K p f X
}.

Section Run.
Variable x : run.

(** The factors of client k after i local steps of round t, one step of each at a time. *)
Fixpoint local (t k i : nat) : M (m x) (r x) * M (r x) (n x) :=
  match i with
  | O => (A x t, B x t)
  | S i =>
      let (X, Y) := local t k i in
      (X ⊖ eta x ⋅ (g x k (W x t ⊕ X × Y) × Y^T), Y ⊖ eta x ⋅ (X^T × g x k (W x t ⊕ X × Y)))
  end.
Definition A_local (t k i : nat) : M (m x) (r x) := fst (local t k i).
Definition B_local (t k i : nat) : M (r x) (n x) := snd (local t k i).

(** The server's averages at the end of a round. *)
Definition A_mean (t : nat) : M (m x) (r x) := vsum (K x) (fun k => p x k ⋅ A_local t k (E x)).
Definition B_mean (t : nat) : M (r x) (n x) := vsum (K x) (fun k => p x k ⋅ B_local t k (E x)).

(** The next round goes on with them, or the server accumulates and restarts with A B = 0. *)
Definition goes_on (t : nat) : Prop :=
  (W x (S t) = W x t /\ A x (S t) = A_mean t /\ B x (S t) = B_mean t)
  \/ (W x (S t) = W x t ⊕ A_mean t × B_mean t /\ A x (S t) × B x (S t) = zero).

Definition loss_at (t : nat) : R := weighted (K x) (p x) (f x) (W x t ⊕ A x t × B x t).
Definition squared_gradients (t : nat) : R :=
  ‖(nabla_A (W x t) (B x t) (weighted_gradient (K x) (p x) (g x)) (A x t))‖ ^ 2
  + ‖(nabla_B (W x t) (A x t) (weighted_gradient (K x) (p x) (g x)) (B x t))‖ ^ 2.
Definition Q : R := G x * C_A x * C_B x + / 2 * L x * (C_A x ^ 2 + C_B x ^ 2) ^ 2.
End Run.

Definition thm_4_2_states : Prop :=
  forall x : run,
  (forall t k i, (t < T x)%nat -> (k < K x)%nat -> (i <= E x)%nat ->
    ‖(A_local x t k i)‖ <= C_A x /\ ‖(B_local x t k i)‖ <= C_B x) ->
  (forall t, (t < T x)%nat -> goes_on x t) ->
  mean (T x) (squared_gradients x)
  <= (loss_at x 0 - f_star x) / (eta x * INR (T x) * INR (E x)) + (2 * INR (E x) - 1) * G x ^ 2 * Q x * eta x.

Lemma weighted_le K p (a : nat -> R) c :
  (forall k, (k < K)%nat -> 0 <= p k) -> sum K p = 1 -> (forall k, (k < K)%nat -> a k <= c) ->
  sum K (fun k => p k * a k) <= c.
Proof.
  intros weights whole below. rewrite <- (Rmult_1_l c), <- whole, <- sum_scale_r.
  apply sum_le. intros k low. apply Rmult_le_compat_l; auto.
Qed.

Lemma norm_weighted {E : space} K p (v : nat -> E) c :
  (forall k, (k < K)%nat -> 0 <= p k) -> sum K p = 1 -> (forall k, (k < K)%nat -> ‖(v k)‖ <= c) ->
  ‖(vsum K (fun k => p k ⋅ v k))‖ <= c.
Proof.
  intros weights whole below. eapply Rle_trans; [apply norm_vsum|].
  rewrite (sum_ext K _ (fun k => p k * ‖(v k)‖)).
  - now apply weighted_le.
  - intros k low. rewrite norm_scale, Rabs_right; [reflexivity|]. apply Rle_ge. auto.
Qed.

Lemma weighted_shift {E : space} K p (a : E) c (v : nat -> E) : sum K p = 1 ->
  vsum K (fun k => p k ⋅ (a ⊖ c ⋅ v k)) = a ⊖ c ⋅ vsum K (fun k => p k ⋅ v k).
Proof.
  intro whole. apply eq_by_dot; intro z. rewrite dot_sub, dot_scale, !dot_vsum.
  rewrite (sum_ext K _ (fun k => p k * ⟨ a, z ⟩ + - c * ⟨ p k ⋅ v k, z ⟩)).
  - rewrite sum_add, sum_scale, sum_scale_r, whole. ring.
  - intros k _. rewrite !dot_scale, dot_sub, dot_scale. ring.
Qed.

Lemma weighted_apart {E : space} K p (a : E) (v : nat -> E) : sum K p = 1 ->
  vsum K (fun k => p k ⋅ (v k ⊖ a)) = vsum K (fun k => p k ⋅ v k) ⊖ a.
Proof.
  intro whole. apply eq_by_dot; intro z. rewrite dot_sub, !dot_vsum.
  rewrite (sum_ext K _ (fun k => ⟨ p k ⋅ v k, z ⟩ + p k * (-1 * ⟨ a, z ⟩))).
  - rewrite sum_add, sum_scale_r, whole. ring.
  - intros k _. rewrite !dot_scale, dot_sub. ring.
Qed.

Lemma sum_of_numbers k : sum k INR = INR k * (INR k - 1) / 2.
Proof. induction k as [|k IH]; [simpl; field|]. rewrite S_INR. simpl. rewrite IH. field. Qed.

(** Local steps along [v], of which the first is [v k 0], against steps along the first one alone. *)
Lemma against_first {V : space} K p e eta (v : nat -> nat -> V) (first : nat -> V) (rate : R) :
  0 <= eta -> (forall k, (k < K)%nat -> 0 <= p k) -> sum K p = 1 ->
  (forall k i, (k < K)%nat -> (i <= e)%nat -> ‖(v k i ⊖ first k)‖ <= INR i * rate) ->
  ‖((- eta) ⋅ vsum K (fun k => p k ⋅ vsum e (v k)) ⊕ (eta * INR e) ⋅ vsum K (fun k => p k ⋅ first k))‖
  <= eta * (INR e * (INR e - 1) / 2 * rate).
Proof.
  intros sign weights whole near.
  replace ((- eta) ⋅ vsum K (fun k => p k ⋅ vsum e (v k)) ⊕ (eta * INR e) ⋅ vsum K (fun k => p k ⋅ first k))
    with ((- eta) ⋅ vsum K (fun k => p k ⋅ vsum e (fun i => v k i ⊖ first k))).
  - rewrite norm_scale, Rabs_Ropp, Rabs_right by lra. apply Rmult_le_compat_l; [assumption|].
    apply norm_weighted; [assumption|assumption|]. intros k low.
    eapply Rle_trans; [apply norm_vsum|].
    replace (INR e * (INR e - 1) / 2 * rate) with (sum e INR * rate) by (rewrite sum_of_numbers; reflexivity).
    rewrite <- sum_scale_r. apply sum_le. intros i before. apply near; [assumption|lia].
  - apply eq_by_dot; intro z. rewrite dot_add, !dot_scale, !dot_vsum.
    rewrite (sum_ext K _ (fun k => ⟨ p k ⋅ vsum e (v k), z ⟩ + - INR e * ⟨ p k ⋅ first k, z ⟩)).
    + rewrite sum_add, sum_scale. ring.
    + intros k _. rewrite !dot_scale, !dot_vsum.
      rewrite (sum_ext e _ (fun i => ⟨ v k i, z ⟩ + -1 * ⟨ first k, z ⟩)) by (intros; rewrite dot_sub; ring).
      rewrite sum_add, sum_const. ring.
Qed.

Section Round.
Variables (x : run) (t : nat).
Hypothesis bounded : forall k i, (k < K x)%nat -> (i <= E x)%nat ->
  ‖(A_local x t k i)‖ <= C_A x /\ ‖(B_local x t k i)‖ <= C_B x.
Hypothesis some : exists k, (k < K x)%nat.

Let slope k i : M (m x) (n x) := g x k (W x t ⊕ A_local x t k i × B_local x t k i).

Lemma A_step k i : A_local x t k (S i) = A_local x t k i ⊖ eta x ⋅ (slope k i × (B_local x t k i)^T).
Proof. unfold slope, A_local, B_local. cbn [local]. destruct (local x t k i) as [X Y]. reflexivity. Qed.

Lemma B_step k i : B_local x t k (S i) = B_local x t k i ⊖ eta x ⋅ ((A_local x t k i)^T × slope k i).
Proof. unfold slope, A_local, B_local. cbn [local]. destruct (local x t k i) as [X Y]. reflexivity. Qed.

Lemma A_sum k i : A_local x t k i = A x t ⊖ eta x ⋅ vsum i (fun j => slope k j × (B_local x t k j)^T).
Proof.
  induction i as [|i IH]; [change (A_local x t k 0) with (A x t); simpl vsum; vectors|].
  rewrite A_step, IH. cbn [vsum]. vectors.
Qed.

Lemma B_sum k i : B_local x t k i = B x t ⊖ eta x ⋅ vsum i (fun j => (A_local x t k j)^T × slope k j).
Proof.
  induction i as [|i IH]; [change (B_local x t k 0) with (B x t); simpl vsum; vectors|].
  rewrite B_step, IH. cbn [vsum]. vectors.
Qed.

Lemma slope_le k i : (k < K x)%nat -> ‖(slope k i)‖ <= G x.
Proof. intro low. now apply bounded_gradients. Qed.

Lemma term_A k i : (k < K x)%nat -> (i <= E x)%nat -> ‖(slope k i × (B_local x t k i)^T)‖ <= G x * C_B x.
Proof.
  intros low early. eapply Rle_trans; [apply norm_product|]. rewrite norm_transpose.
  apply Rmult_le_compat; try apply norm_nonneg; [now apply slope_le|now apply bounded].
Qed.

Lemma term_B k i : (k < K x)%nat -> (i <= E x)%nat -> ‖((A_local x t k i)^T × slope k i)‖ <= G x * C_A x.
Proof.
  intros low early. eapply Rle_trans; [apply norm_product|]. rewrite norm_transpose, Rmult_comm.
  apply Rmult_le_compat; try apply norm_nonneg; [now apply slope_le|now apply bounded].
Qed.

Lemma short_way {V : space} (a b : V) (v : nat -> V) i c :
  a = b ⊖ eta x ⋅ vsum i v -> (forall j, (j < i)%nat -> ‖(v j)‖ <= c) -> ‖(a ⊖ b)‖ <= eta x * (INR i * c).
Proof.
  intros same below. rewrite same.
  replace (b ⊖ eta x ⋅ vsum i v ⊖ b) with ((-1) ⋅ (eta x ⋅ vsum i v)) by (apply eq_by_dot; intro z; rewrite !dot_sub, !dot_scale; ring).
  rewrite norm_opp, norm_scale, Rabs_right by (assert (pos := positive_eta x); lra).
  apply Rmult_le_compat_l; [assert (pos := positive_eta x); lra|].
  eapply Rle_trans; [apply norm_vsum|]. rewrite <- sum_const. now apply sum_le.
Qed.

Lemma way_A k i : (k < K x)%nat -> (i <= E x)%nat -> ‖(A_local x t k i ⊖ A x t)‖ <= eta x * (INR i * (G x * C_B x)).
Proof. intros low early. apply (short_way _ _ _ _ _ (A_sum k i)). intros j before. apply term_A; [assumption|lia]. Qed.

Lemma way_B k i : (k < K x)%nat -> (i <= E x)%nat -> ‖(B_local x t k i ⊖ B x t)‖ <= eta x * (INR i * (G x * C_A x)).
Proof. intros low early. apply (short_way _ _ _ _ _ (B_sum k i)). intros j before. apply term_B; [assumption|lia]. Qed.

(** How far a client's own gradient in a factor is from that at the start of the round. *)
Lemma turn_W k i : (k < K x)%nat -> (i <= E x)%nat ->
  ‖(slope k i ⊖ slope k 0)‖ <= L x * (eta x * (INR i * G x) * (C_A x ^ 2 + C_B x ^ 2)).
Proof.
  intros low early. destruct (signs x) as (sL & sG & sA & sB).
  eapply Rle_trans; [now apply (smooth_losses x k low)|]. apply Rmult_le_compat_l; [assumption|].
  change (A_local x t k 0) with (A x t). change (B_local x t k 0) with (B x t).
  replace ((W x t ⊕ A_local x t k i × B_local x t k i) ⊖ (W x t ⊕ A x t × B x t))
    with ((A_local x t k i ⊖ A x t) × B_local x t k i ⊕ A x t × (B_local x t k i ⊖ B x t)).
  - eapply Rle_trans; [apply norm_add|].
    assert (first := norm_product (A_local x t k i ⊖ A x t) (B_local x t k i)).
    assert (second := norm_product (A x t) (B_local x t k i ⊖ B x t)).
    assert (wA := way_A k i low early). assert (wB := way_B k i low early).
    assert (bB := proj2 (bounded k i low early)). assert (bA := proj1 (bounded k 0 low (Nat.le_0_l _))).
    change (A_local x t k 0) with (A x t) in bA.
    assert (‖(A_local x t k i ⊖ A x t)‖ * ‖(B_local x t k i)‖ <= eta x * (INR i * (G x * C_B x)) * C_B x)
      by (apply Rmult_le_compat; try apply norm_nonneg; assumption).
    assert (‖(A x t)‖ * ‖(B_local x t k i ⊖ B x t)‖ <= C_A x * (eta x * (INR i * (G x * C_A x))))
      by (apply Rmult_le_compat; try apply norm_nonneg; assumption).
    lra.
  - unfold sub. rewrite add_product, product_add, scale_product, product_scale. vectors.
Qed.

Lemma turn_A k i : (k < K x)%nat -> (i <= E x)%nat ->
  ‖(slope k i × (B_local x t k i)^T ⊖ slope k 0 × (B x t)^T)‖
  <= eta x * (INR i * G x) * (L x * C_B x * (C_A x ^ 2 + C_B x ^ 2) + G x * C_A x).
Proof.
  intros low early. destruct (signs x) as (sL & sG & sA & sB).
  replace (slope k i × (B_local x t k i)^T ⊖ slope k 0 × (B x t)^T)
    with ((slope k i ⊖ slope k 0) × (B_local x t k i)^T ⊕ slope k 0 × ((B_local x t k i ⊖ B x t)^T)).
  - eapply Rle_trans; [apply norm_add|].
    assert (first := norm_product (slope k i ⊖ slope k 0) ((B_local x t k i)^T)).
    assert (second := norm_product (slope k 0) ((B_local x t k i ⊖ B x t)^T)).
    rewrite norm_transpose in first, second.
    assert (turn := turn_W k i low early). assert (way := way_B k i low early).
    assert (bB := proj2 (bounded k i low early)). assert (bG := slope_le k 0 low).
    assert (‖(slope k i ⊖ slope k 0)‖ * ‖(B_local x t k i)‖
            <= L x * (eta x * (INR i * G x) * (C_A x ^ 2 + C_B x ^ 2)) * C_B x)
      by (apply Rmult_le_compat; try apply norm_nonneg; assumption).
    assert (‖(slope k 0)‖ * ‖(B_local x t k i ⊖ B x t)‖ <= G x * (eta x * (INR i * (G x * C_A x))))
      by (apply Rmult_le_compat; try apply norm_nonneg; assumption).
    lra.
  - assert (turned : (B_local x t k i ⊖ B x t)^T = (B_local x t k i)^T ⊖ (B x t)^T).
    { apply eq_by_dot; intro z. rewrite dot_sub, <- (transpose_transpose z), !dot_transpose. apply dot_sub. }
    rewrite turned. unfold sub. rewrite add_product, product_add, scale_product, product_scale. vectors.
Qed.

Lemma turn_B k i : (k < K x)%nat -> (i <= E x)%nat ->
  ‖((A_local x t k i)^T × slope k i ⊖ (A x t)^T × slope k 0)‖
  <= eta x * (INR i * G x) * (L x * C_A x * (C_A x ^ 2 + C_B x ^ 2) + G x * C_B x).
Proof.
  intros low early. destruct (signs x) as (sL & sG & sA & sB).
  replace ((A_local x t k i)^T × slope k i ⊖ (A x t)^T × slope k 0)
    with ((A_local x t k i)^T × (slope k i ⊖ slope k 0) ⊕ (A_local x t k i ⊖ A x t)^T × slope k 0).
  - eapply Rle_trans; [apply norm_add|].
    assert (first := norm_product ((A_local x t k i)^T) (slope k i ⊖ slope k 0)).
    assert (second := norm_product ((A_local x t k i ⊖ A x t)^T) (slope k 0)).
    rewrite norm_transpose in first, second.
    assert (turn := turn_W k i low early). assert (way := way_A k i low early).
    assert (bA := proj1 (bounded k i low early)). assert (bG := slope_le k 0 low).
    assert (‖(A_local x t k i)‖ * ‖(slope k i ⊖ slope k 0)‖
            <= C_A x * (L x * (eta x * (INR i * G x) * (C_A x ^ 2 + C_B x ^ 2))))
      by (apply Rmult_le_compat; try apply norm_nonneg; assumption).
    assert (‖(A_local x t k i ⊖ A x t)‖ * ‖(slope k 0)‖ <= eta x * (INR i * (G x * C_B x)) * G x)
      by (apply Rmult_le_compat; try apply norm_nonneg; assumption).
    lra.
  - assert (turned : (A_local x t k i ⊖ A x t)^T = (A_local x t k i)^T ⊖ (A x t)^T).
    { apply eq_by_dot; intro z. rewrite dot_sub, <- (transpose_transpose z), !dot_transpose. apply dot_sub. }
    rewrite turned. unfold sub. rewrite add_product, product_add, scale_product, product_scale. vectors.
Qed.

Let S : M (m x) (n x) := weighted_gradient (K x) (p x) (g x) (W x t ⊕ A x t × B x t).
Let u : M (m x) (r x) := A_mean x t ⊖ A x t.
Let v : M (r x) (n x) := B_mean x t ⊖ B x t.

Lemma S_le : ‖S‖ <= G x.
Proof.
  apply norm_weighted; [apply weights|apply weights_sum|]. intros k low. now apply bounded_gradients.
Qed.

Lemma u_le : ‖u‖ <= eta x * (INR (E x) * (G x * C_B x)).
Proof.
  unfold u, A_mean. rewrite <- weighted_apart by apply weights_sum.
  apply norm_weighted; [apply weights|apply weights_sum|]. intros k low. now apply way_A.
Qed.

Lemma v_le : ‖v‖ <= eta x * (INR (E x) * (G x * C_A x)).
Proof.
  unfold v, B_mean. rewrite <- weighted_apart by apply weights_sum.
  apply norm_weighted; [apply weights|apply weights_sum|]. intros k low. now apply way_B.
Qed.

Lemma B_mean_le : ‖(B_mean x t)‖ <= C_B x.
Proof. apply norm_weighted; [apply weights|apply weights_sum|]. intros k low. now apply bounded. Qed.

Lemma A_start_le : ‖(A x t)‖ <= C_A x.
Proof. destruct some as [k low]. exact (proj1 (bounded k 0 low (Nat.le_0_l _))). Qed.

Lemma B_start_le : ‖(B x t)‖ <= C_B x.
Proof. destruct some as [k low]. exact (proj2 (bounded k 0 low (Nat.le_0_l _))). Qed.

Lemma nabla_A_sum : S × (B x t)^T = vsum (K x) (fun k => p x k ⋅ (slope k 0 × (B x t)^T)).
Proof. unfold S, weighted_gradient. rewrite vsum_product. apply vsum_ext. intros. apply scale_product. Qed.

Lemma nabla_B_sum : (A x t)^T × S = vsum (K x) (fun k => p x k ⋅ ((A x t)^T × slope k 0)).
Proof. unfold S, weighted_gradient. rewrite product_vsum. apply vsum_ext. intros. apply product_scale. Qed.

Lemma rest_A :
  ‖(u ⊕ (eta x * INR (E x)) ⋅ (S × (B x t)^T))‖
  <= eta x * (INR (E x) * (INR (E x) - 1) / 2 * (eta x * G x * (L x * C_B x * (C_A x ^ 2 + C_B x ^ 2) + G x * C_A x))).
Proof.
  unfold u, A_mean.
  rewrite (vsum_ext (K x) _ (fun k => p x k ⋅ (A x t ⊖ eta x ⋅ vsum (E x) (fun j => slope k j × (B_local x t k j)^T))))
    by (intros; f_equal; apply A_sum).
  rewrite weighted_shift by apply weights_sum. rewrite nabla_A_sum.
  replace (A x t ⊖ eta x ⋅ vsum (K x) (fun k => p x k ⋅ vsum (E x) (fun j => slope k j × (B_local x t k j)^T)) ⊖ A x t)
    with ((- eta x) ⋅ vsum (K x) (fun k => p x k ⋅ vsum (E x) (fun j => slope k j × (B_local x t k j)^T)))
    by (apply eq_by_dot; intro z; rewrite !dot_sub, !dot_scale; ring).
  apply (against_first (K x) (p x) (E x) (eta x) (fun k j => slope k j × (B_local x t k j)^T)).
  - apply Rlt_le, positive_eta.
  - apply weights.
  - apply weights_sum.
  - intros k i low early. eapply Rle_trans; [now apply turn_A|]. right. ring.
Qed.

Lemma rest_B :
  ‖(v ⊕ (eta x * INR (E x)) ⋅ ((A x t)^T × S))‖
  <= eta x * (INR (E x) * (INR (E x) - 1) / 2 * (eta x * G x * (L x * C_A x * (C_A x ^ 2 + C_B x ^ 2) + G x * C_B x))).
Proof.
  unfold v, B_mean.
  rewrite (vsum_ext (K x) _ (fun k => p x k ⋅ (B x t ⊖ eta x ⋅ vsum (E x) (fun j => (A_local x t k j)^T × slope k j))))
    by (intros; f_equal; apply B_sum).
  rewrite weighted_shift by apply weights_sum. rewrite nabla_B_sum.
  replace (B x t ⊖ eta x ⋅ vsum (K x) (fun k => p x k ⋅ vsum (E x) (fun j => (A_local x t k j)^T × slope k j)) ⊖ B x t)
    with ((- eta x) ⋅ vsum (K x) (fun k => p x k ⋅ vsum (E x) (fun j => (A_local x t k j)^T × slope k j)))
    by (apply eq_by_dot; intro z; rewrite !dot_sub, !dot_scale; ring).
  apply (against_first (K x) (p x) (E x) (eta x) (fun k j => (A_local x t k j)^T × slope k j)).
  - apply Rlt_le, positive_eta.
  - apply weights.
  - apply weights_sum.
  - intros k i low early. eapply Rle_trans; [now apply turn_B|]. right. ring.
Qed.

Lemma product_with_rest {V : space} (d w : V) c bound size :
  0 <= size -> ‖(w ⊕ c ⋅ d)‖ <= bound -> ‖d‖ <= size -> ⟨ d, w ⟩ <= - c * ‖d‖ ^ 2 + size * bound.
Proof.
  intros sign near short. assert (step := dot_le d (w ⊕ c ⋅ d)).
  rewrite dot_add_r, dot_scale_r, <- (norm_square d) in step.
  assert (nd := norm_nonneg d). assert (nr := norm_nonneg (w ⊕ c ⋅ d)).
  assert (‖d‖ * ‖(w ⊕ c ⋅ d)‖ <= size * bound) by (apply Rmult_le_compat; assumption).
  simpl. lra.
Qed.

Theorem round_descends :
  weighted (K x) (p x) (f x) (W x t ⊕ A_mean x t × B_mean x t)
  <= loss_at x t - eta x * INR (E x) * squared_gradients x t
     + eta x ^ 2 * INR (E x) * (2 * INR (E x) - 1) * G x ^ 2 * Q x.
Proof.
  destruct (signs x) as (sL & sG & sA & sB). assert (pos := positive_eta x).
  assert (steps : 1 <= INR (E x)) by (assert (e := some_steps x); apply le_INR in e; exact e).
  assert (step := smooth_bound (L x) (weighted (K x) (p x) (f x)) (weighted_gradient (K x) (p x) (g x))
    (W x t ⊕ A x t × B x t) (u × B_mean x t ⊕ A x t × v)
    (weighted_smooth (K x) (L x) (p x) (f x) (g x) (smooth_losses x) (weights x) (weights_sum x))).
  fold S in step.
  replace ((W x t ⊕ A x t × B x t) ⊕ (u × B_mean x t ⊕ A x t × v)) with (W x t ⊕ A_mean x t × B_mean x t) in step
    by (unfold u, v, sub; rewrite add_product, product_add, scale_product, product_scale; vectors).
  assert (linear : ⟨ S, u × B_mean x t ⊕ A x t × v ⟩ = ⟨ S × (B x t)^T, u ⟩ + ⟨ (A x t)^T × S, v ⟩ + ⟨ S, u × v ⟩).
  { replace (u × B_mean x t) with (u × B x t ⊕ u × v)
      by (unfold v, sub; rewrite product_add, product_scale; vectors).
    rewrite !dot_add_r, (dot_sym _ S (u × B x t)), (dot_sym _ S (A x t × v)), dot_product_right, dot_product_left.
    rewrite (dot_sym _ u), (dot_sym _ v). ring. }
  rewrite linear in step.
  assert (nA : ‖(S × (B x t)^T)‖ <= G x * C_B x).
  { eapply Rle_trans; [apply norm_product|]. rewrite norm_transpose.
    apply Rmult_le_compat; try apply norm_nonneg; [apply S_le|apply B_start_le]. }
  assert (nB : ‖((A x t)^T × S)‖ <= G x * C_A x).
  { eapply Rle_trans; [apply norm_product|]. rewrite norm_transpose, Rmult_comm.
    apply Rmult_le_compat; try apply norm_nonneg; [apply S_le|apply A_start_le]. }
  assert (partA := product_with_rest _ _ _ _ _ (Rmult_le_pos _ _ sG sB) rest_A nA).
  assert (partB := product_with_rest _ _ _ _ _ (Rmult_le_pos _ _ sG sA) rest_B nB).
  assert (cross : ⟨ S, u × v ⟩ <= G x * (eta x * (INR (E x) * (G x * C_B x)) * (eta x * (INR (E x) * (G x * C_A x))))).
  { eapply Rle_trans; [apply dot_le|]. apply Rmult_le_compat; try apply norm_nonneg; [apply S_le|].
    eapply Rle_trans; [apply norm_product|]. apply Rmult_le_compat; try apply norm_nonneg; [apply u_le|apply v_le]. }
  assert (way : ‖(u × B_mean x t ⊕ A x t × v)‖ <= eta x * INR (E x) * G x * (C_A x ^ 2 + C_B x ^ 2)).
  { eapply Rle_trans; [apply norm_add|].
    assert (‖(u × B_mean x t)‖ <= eta x * (INR (E x) * (G x * C_B x)) * C_B x).
    { eapply Rle_trans; [apply norm_product|]. apply Rmult_le_compat; try apply norm_nonneg; [apply u_le|apply B_mean_le]. }
    assert (‖(A x t × v)‖ <= C_A x * (eta x * (INR (E x) * (G x * C_A x)))).
    { eapply Rle_trans; [apply norm_product|]. apply Rmult_le_compat; try apply norm_nonneg; [apply A_start_le|apply v_le]. }
    lra. }
  assert (square : L x / 2 * ⟨ u × B_mean x t ⊕ A x t × v, u × B_mean x t ⊕ A x t × v ⟩
    <= L x / 2 * (eta x * INR (E x) * G x * (C_A x ^ 2 + C_B x ^ 2) * (eta x * INR (E x) * G x * (C_A x ^ 2 + C_B x ^ 2)))).
  { rewrite <- norm_square. apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat; try apply norm_nonneg; assumption. }
  unfold loss_at, squared_gradients, nabla_A, nabla_B. fold S. unfold Q.
  set (a := ‖(S × (B x t)^T)‖) in *. set (b := ‖((A x t)^T × S)‖) in *. set (e := INR (E x)) in *.
  eapply Rle_trans; [exact step|].
  eapply Rle_trans.
  - apply Rplus_le_compat; [apply Rplus_le_compat_l|exact square].
    apply Rplus_le_compat; [apply Rplus_le_compat; [exact partA|exact partB]|exact cross].
  - right. field.
Qed.
End Round.

(* part of: fedloru-v2/thm-4.2: the first bound, for exact gradients and all clients in each round *)
Theorem thm_4_2 : thm_4_2_states.
Proof.
  intros x bounded going. assert (pos := positive_eta x).
  assert (steps : 1 <= INR (E x)) by (assert (e := some_steps x); apply le_INR in e; exact e).
  assert (rounds : 1 <= INR (T x)) by (assert (e := some_rounds x); apply le_INR in e; exact e).
  assert (some : exists k, (k < K x)%nat).
  { destruct (K x) as [|k] eqn:none; [|exists k; lia].
    assert (whole := weights_sum x). rewrite none in whole. simpl in whole. lra. }
  set (cost := eta x ^ 2 * INR (E x) * (2 * INR (E x) - 1) * G x ^ 2 * Q x).
  assert (falls : forall t, (t <= T x)%nat ->
    eta x * INR (E x) * sum t (squared_gradients x) <= loss_at x 0 - loss_at x t + INR t * cost).
  { induction t as [|t IH]; intro early; [simpl; lra|].
    specialize (IH ltac:(lia)). rewrite S_INR. cbn [sum].
    assert (same : loss_at x (S t) = weighted (K x) (p x) (f x) (W x t ⊕ A_mean x t × B_mean x t)).
    { unfold loss_at. f_equal. destruct (going t ltac:(lia)) as [(w & a & b)|(w & restart)].
      - now rewrite w, a, b.
      - rewrite w, restart. apply add_zero. }
    assert (step := round_descends x t (fun k i => bounded t k i ltac:(lia)) some).
    rewrite <- same in step. fold cost in step. lra. }
  specialize (falls (T x) (le_n _)). assert (least := least_value x (W x (T x) ⊕ A x (T x) × B x (T x))).
  fold (loss_at x (T x)) in least.
  unfold mean. apply Rmult_le_reg_l with (eta x * INR (T x) * INR (E x)); [repeat apply Rmult_lt_0_compat; lra|].
  replace (eta x * INR (T x) * INR (E x) * (/ INR (T x) * sum (T x) (squared_gradients x)))
    with (eta x * INR (E x) * sum (T x) (squared_gradients x)) by (field; lra).
  replace (eta x * INR (T x) * INR (E x) *
      ((loss_at x 0 - f_star x) / (eta x * INR (T x) * INR (E x)) + (2 * INR (E x) - 1) * G x ^ 2 * Q x * eta x))
    with (loss_at x 0 - f_star x + INR (T x) * cost) by (unfold cost; field; lra).
  lra.
Qed.

(** The rate, for steps between c_1 and c_2 times 1 / sqrt T: the constant on the right does not depend on T. *)
Definition rate_states {power : R} : Prop :=
  forall (x : run) (c_1 c_2 : R), 0 < c_1 ->
  c_1 / sqrt (INR (T x)) <= eta x <= c_2 / sqrt (INR (T x)) ->
  (forall t k i, (t < T x)%nat -> (k < K x)%nat -> (i <= E x)%nat ->
    ‖(A_local x t k i)‖ <= C_A x /\ ‖(B_local x t k i)‖ <= C_B x) ->
  (forall t, (t < T x)%nat -> goes_on x t) ->
  exists t, (t < T x)%nat /\
  squared_gradients x t
  <= ((loss_at x 0 - f_star x) / (c_1 * INR (E x)) + (2 * INR (E x) - 1) * G x ^ 2 * Q x * c_2) / Rpower (INR (T x)) power.

(** Some number is at most the mean. *)
Lemma some_at_most_mean n f : (1 <= n)%nat -> exists t, (t < n)%nat /\ f t <= mean n f.
Proof.
  intro some. apply NNPP. intro none.
  assert (above : forall t, (t < n)%nat -> mean n f < f t).
  { intros t low. destruct (Rle_lt_dec (f t) (mean n f)) as [below|]; [|assumption]. exfalso. apply none. now exists t. }
  assert (whole : sum n f = INR n * mean n f) by (unfold mean; field; apply not_0_INR; lia).
  set (a := mean n f) in *. clearbody a. clear none.
  assert (strict : forall k, (1 <= k <= n)%nat -> INR k * a < sum k f).
  { induction k as [|k IH]; intro inside; [lia|]. rewrite S_INR. cbn [sum]. specialize (above k ltac:(lia)).
    destruct (Nat.eq_dec k 0) as [->|more]; [simpl; lra|]. specialize (IH ltac:(lia)). lra. }
  specialize (strict n ltac:(lia)). lra.
Qed.

(* part of: fedloru-v2/thm-4.2-rate@as-analysed-in-appendix-b: the rate, for exact gradients and all clients in each round, without the comparison with FedAvg *)
Theorem thm_4_2_rate : rate_states (power := 1 / 2).
Proof.
  intros x c_1 c_2 positive [long short] bounded going.
  destruct (signs x) as (sL & sG & sA & sB). assert (pos := positive_eta x).
  assert (steps : 1 <= INR (E x)) by (assert (e := some_steps x); apply le_INR in e; exact e).
  assert (rounds : 1 <= INR (T x)) by (assert (e := some_rounds x); apply le_INR in e; exact e).
  destruct (some_at_most_mean (T x) (squared_gradients x) (some_rounds x)) as (t & low & below).
  exists t. split; [assumption|]. eapply Rle_trans; [exact below|]. eapply Rle_trans; [now apply thm_4_2|].
  replace (1 / 2) with (/ 2) by field. rewrite Rpower_sqrt by lra.
  set (root := sqrt (INR (T x))) in *. assert (root_positive : 0 < root) by (apply sqrt_lt_R0; lra).
  assert (square : root * root = INR (T x)) by (apply sqrt_sqrt; lra). rewrite <- square.
  assert (falls : 0 <= loss_at x 0 - f_star x).
  { assert (least := least_value x (W x 0 ⊕ A x 0 × B x 0)). unfold loss_at. lra. }
  assert (Q_low : 0 <= Q x).
  { unfold Q. assert (0 <= G x * C_A x * C_B x) by (repeat apply Rmult_le_pos; assumption).
    assert (squared := pow2_ge_0 (C_A x ^ 2 + C_B x ^ 2)). nra. }
  rewrite Rdiv_plus_distr. apply Rplus_le_compat.
  - replace ((loss_at x 0 - f_star x) / (c_1 * INR (E x)) / root)
      with ((loss_at x 0 - f_star x) * / (c_1 / root * (root * root) * INR (E x))) by (field; repeat split; apply Rgt_not_eq; lra).
    unfold Rdiv at 1. apply Rmult_le_compat_l; [assumption|].
    assert (0 < c_1 / root) by now apply Rdiv_lt_0_compat.
    apply Rinv_le_contravar; [apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; [assumption|nra]|lra]|].
    apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_r; [nra|assumption].
  - unfold Rdiv at 1. rewrite (Rmult_assoc _ c_2). apply Rmult_le_compat_l; [|assumption].
    assert (squared := pow2_ge_0 (G x)). apply Rmult_le_pos; [|assumption]. apply Rmult_le_pos; [lra|assumption].
Qed.
