(** Section 5.1 of RoLoRA, eqs. (10) and (11): the floor of FFA-LoRA, whose a^0 stays as it was initialised. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From RoLoRA Require Import outer.
Open Scope R_scope.

(** The objective (10) for the samples X, as a function of b. *)
Definition objective {m d q} (X : M m d) (a_star a_0 : M d 1) (b_star b : M q 1) : R :=
  ‖(X × a_star × b_star^T ⊖ X × a_0 × b^T)‖ ^ 2.

(** Neither vector is a multiple of the other. *)
Definition independent {n} (x y : M n 1) : Prop := forall r s, r ⋅ x ⊕ s ⋅ y = zero -> r = 0 /\ s = 0.

(** The squared distance of X a_star from the multiples of X a_0. *)
Definition rest {m d} (X : M m d) (a_star a_0 : M d 1) : R :=
  ‖(X × a_star)‖ ^ 2 - ⟨ X × a_0, X × a_star ⟩ ^ 2 / ‖(X × a_0)‖ ^ 2.

(** The least value of (10) over b, which is not 0. *)
Definition saturates {m d q} (share : R) (X : M m d) (a_star a_0 : M d 1) (b_star : M q 1) : Prop :=
  let least := ‖b_star‖ ^ 2 * rest X a_star a_0 in
  0 < least /\
  (forall b, share * least <= objective X a_star a_0 b_star b) /\
  exists b, objective X a_star a_0 b_star b = share * least.

Definition s5_saturate_states {share : R} : Prop :=
  forall (m d q : nat) (X : M m d) (a_star a_0 : M d 1) (b_star : M q 1),
  independent (X × a_0) (X × a_star) -> b_star <> zero -> saturates share X a_star a_0 b_star.

(** The same for samples that take no vector but 0 to 0, of which there are at least d. For them it is enough that a_0
    and a_star are not parallel. *)
Definition s5_saturate_injective_states {share : R} : Prop :=
  forall (m d q : nat) (X : M m d) (a_star a_0 : M d 1) (b_star : M q 1),
  (forall v : M d 1, X × v = zero -> v = zero) ->
  independent a_0 a_star -> b_star <> zero -> saturates share X a_star a_0 b_star.

(** The length of (I - a_star a_star^T) x. *)
Definition sine {d} (a_star x : M d 1) : R := ‖(x ⊖ a_star × a_star^T × x)‖.

(** The global loss: the mean over N clients, each with m samples. *)
Definition global_loss {m d q} (N : nat) (X : nat -> M m d) (a_star a_0 : M d 1) (b_star b : M q 1) : R :=
  / (INR N * INR m) * sum N (fun i => objective (X i) a_star a_0 b_star b).

Definition minimises {m d q} (X : M m d) (a_star a_0 : M d 1) (b_star b : M q 1) : Prop :=
  forall other, objective X a_star a_0 b_star b <= objective X a_star a_0 b_star other.

(** How far X a_star reaches along X a_0. *)
Definition reach {m d} (X : M m d) (a_star a_0 : M d 1) : R := ⟨ X × a_0, X × a_star ⟩ / ‖(X × a_0)‖ ^ 2.

(** What FFA-LoRA finds for fixed samples that do not take a^0 to 0: client i has the minimiser b i, a multiple of
    b_star, and the server takes the mean. Its global loss has two parts: what no b of a client removes, and what the
    clients differ by. *)
Definition prop_5_5_samples_states {share : R} : Prop :=
  forall (N m d q : nat) (X : nat -> M m d) (a_star a_0 : M d 1) (b_star : M q 1) (b : nat -> M q 1),
  (1 <= N)%nat -> (1 <= m)%nat -> (forall i, (i < N)%nat -> X i × a_0 <> zero) ->
  (forall i, (i < N)%nat -> minimises (X i) a_star a_0 b_star (b i)) ->
  let s i := reach (X i) a_star a_0 in
  (forall i, (i < N)%nat -> b i = s i ⋅ b_star) /\
  global_loss N X a_star a_0 b_star (vmean N b)
  = share * ‖b_star‖ ^ 2 * (/ (INR N * INR m) * sum N (fun i =>
      rest (X i) a_star a_0 + (mean N s - s i) ^ 2 * ‖(X i × a_0)‖ ^ 2)).

(** An analogue for fixed samples with X_i^T X_i / m the identity, as in the limit of infinitely many: the term of order
    1/(N m) is 0. It is not an instance of the proposition, which is about the expectation over normal samples. *)
Definition prop_5_5_states {share : R} : Prop :=
  forall (N m d q : nat) (X : nat -> M m d) (a_star a_0 : M d 1) (b_star : M q 1) (b : nat -> M q 1),
  (1 <= N)%nat -> (1 <= m)%nat -> (forall i, (i < N)%nat -> (X i)^T × X i = INR m ⋅ identity d) ->
  ‖a_star‖ = 1 -> ‖a_0‖ = 1 ->
  (forall i, (i < N)%nat -> minimises (X i) a_star a_0 b_star (b i)) ->
  global_loss N X a_star a_0 b_star (vmean N b) = share * (‖b_star‖ ^ 2 * sine a_star a_0 ^ 2).

(* part of: rolora/s5-saturate: the least value, and that it is not 0, for samples that give both vectors independent images *)
Theorem s5_saturate : s5_saturate_states (share := 1).
Proof.
  intros m d q X a_star a_0 b_star apart nonzero. unfold saturates, rest. cbv zeta.
  set (u := X × a_star) in *. set (v := X × a_0) in *.
  set (least := ‖b_star‖ ^ 2 * (‖u‖ ^ 2 - ⟨ v, u ⟩ ^ 2 / ‖v‖ ^ 2)).
  assert (v_some : ⟨ v, v ⟩ <> 0).
  { intro none. apply dot_definite in none. destruct (apart 1 0) as [one _]; [|lra]. rewrite none. vectors. }
  assert (b_some : 0 < ⟨ b_star, b_star ⟩).
  { assert (sign := dot_nonneg _ b_star). destruct (Req_dec ⟨ b_star, b_star ⟩ 0) as [none|]; [|lra].
    now apply dot_definite in none. }
  rewrite !Rmult_1_l. split; [|split].
  - unfold least. apply Rmult_lt_0_compat; [now rewrite square_of_norm|].
    assert (v_positive : 0 < ⟨ v, v ⟩) by (assert (sign := dot_nonneg _ v); lra).
    set (r := - (⟨ v, u ⟩ / ⟨ v, v ⟩)).
    assert (square : ⟨ r ⋅ v ⊕ 1 ⋅ u, r ⋅ v ⊕ 1 ⋅ u ⟩ = ‖u‖ ^ 2 - ⟨ v, u ⟩ ^ 2 / ‖v‖ ^ 2).
    { rewrite !square_of_norm. autorewrite with products. rewrite (dot_sym _ u v). unfold r. field. assumption. }
    rewrite <- square. assert (sign := dot_nonneg _ (r ⋅ v ⊕ 1 ⋅ u)).
    destruct (Req_dec ⟨ r ⋅ v ⊕ 1 ⋅ u, r ⋅ v ⊕ 1 ⋅ u ⟩ 0) as [none|]; [|lra].
    apply dot_definite, apart in none. lra.
  - intro b. unfold objective. fold u v. rewrite completed by assumption. fold least.
    assert (0 <= ‖v‖ ^ 2 * ‖(b ⊖ (⟨ v, u ⟩ / ‖v‖ ^ 2) ⋅ b_star)‖ ^ 2); [|lra].
    apply Rmult_le_pos; apply pow2_ge_0.
  - exists ((⟨ v, u ⟩ / ‖v‖ ^ 2) ⋅ b_star). unfold objective. fold u v. rewrite completed by assumption. fold least.
    replace ((⟨ v, u ⟩ / ‖v‖ ^ 2) ⋅ b_star ⊖ (⟨ v, u ⟩ / ‖v‖ ^ 2) ⋅ b_star) with (zero : M q 1) by vectors.
    rewrite norm_zero. ring.
Qed.

(* part of: rolora/s5-saturate: the same for vectors that are not parallel, and d samples or more that take no vector but 0 to 0 *)
Theorem s5_saturate_injective : s5_saturate_injective_states (share := 1).
Proof.
  intros m d q X a_star a_0 b_star injective apart nonzero. apply s5_saturate; [|assumption].
  intros r s none. apply apart, injective. now rewrite product_add, !product_scale.
Qed.

(** The objective of a client, completed to a square in b. *)
Lemma objective_is {m d q} (X : M m d) a_star a_0 (b_star b : M q 1) : X × a_0 <> zero ->
  objective X a_star a_0 b_star b
  = ‖b_star‖ ^ 2 * rest X a_star a_0 + ‖(X × a_0)‖ ^ 2 * ‖(b ⊖ reach X a_star a_0 ⋅ b_star)‖ ^ 2.
Proof.
  intro some. unfold objective, rest, reach. apply completed. intro none. now apply some, dot_definite.
Qed.

Lemma minimiser_is {m d q} (X : M m d) a_star a_0 (b_star b : M q 1) :
  X × a_0 <> zero -> minimises X a_star a_0 b_star b -> b = reach X a_star a_0 ⋅ b_star.
Proof.
  intros some least. specialize (least (reach X a_star a_0 ⋅ b_star)). rewrite !objective_is in least by assumption.
  replace (reach X a_star a_0 ⋅ b_star ⊖ reach X a_star a_0 ⋅ b_star) with (zero : M q 1) in least by vectors.
  rewrite norm_zero in least.
  assert (length : 0 < ‖(X × a_0)‖ ^ 2).
  { rewrite square_of_norm. assert (sign := dot_nonneg _ (X × a_0)).
    destruct (Req_dec ⟨ X × a_0, X × a_0 ⟩ 0) as [none|]; [|lra]. now apply dot_definite in none. }
  apply sub_zero_eq, dot_definite. rewrite <- square_of_norm.
  assert (square := pow2_ge_0 ‖(b ⊖ reach X a_star a_0 ⋅ b_star)‖). nra.
Qed.

(* part of: rolora/prop-5.5@three-samples-or-more: before the expectation, for fixed samples that do not take a^0 to 0, the minimisers of the clients and both parts of the loss *)
Theorem prop_5_5_samples : prop_5_5_samples_states (share := 1).
Proof.
  intros N m d q X a_star a_0 b_star b clients samples some least s.
  assert (found : forall i, (i < N)%nat -> b i = s i ⋅ b_star).
  { intros i low. apply minimiser_is; [now apply some|now apply least]. }
  split; [exact found|].
  assert (average : vmean N b = mean N s ⋅ b_star).
  { rewrite (vmean_ext N b (fun i => s i ⋅ b_star)) by assumption. apply eq_by_dot. intro y.
    rewrite dot_vmean, dot_scale. unfold mean. rewrite (sum_ext N _ (fun i => s i * ⟨ b_star, y ⟩)).
    - rewrite sum_scale_r. ring.
    - intros. now rewrite dot_scale. }
  unfold global_loss. rewrite average, Rmult_1_l.
  rewrite (sum_ext N _ (fun i => ‖b_star‖ ^ 2 * (rest (X i) a_star a_0 + (mean N s - s i) ^ 2 * ‖(X i × a_0)‖ ^ 2))).
  - rewrite sum_scale. ring.
  - intros i low. rewrite objective_is by now apply some. fold (s i).
    replace (mean N s ⋅ b_star ⊖ s i ⋅ b_star) with ((mean N s - s i) ⋅ b_star) by vectors.
    rewrite !square_of_norm. autorewrite with products. ring.
Qed.

Lemma sine_square {d} (a_star a_0 : M d 1) :
  ‖a_star‖ = 1 -> ‖a_0‖ = 1 -> sine a_star a_0 ^ 2 = 1 - ⟨ a_0, a_star ⟩ ^ 2.
Proof.
  intros unit_star unit_0.
  assert (one : ⟨ a_0, a_0 ⟩ = 1) by (rewrite <- norm_square, unit_0; ring).
  assert (star : ⟨ a_star, a_star ⟩ = 1) by (rewrite <- norm_square, unit_star; ring).
  unfold sine. rewrite product_assoc.
  replace (a_star × (a_star^T × a_0)) with (⟨ a_star, a_0 ⟩ ⋅ a_star).
  - rewrite square_of_norm. autorewrite with products. rewrite one, star, (dot_sym _ a_star a_0). ring.
  - apply same_entries; intros i j low_i low_j. rewrite entry_scale, !entry_product by assumption. cbn [sum].
    rewrite entry_product by lia. rewrite dot_columns. replace j with 0%nat by lia.
    rewrite (sum_ext d (fun k => entry a_star^T 0 k * entry a_0 k 0) (fun k => entry a_star k 0 * entry a_0 k 0))
      by (intros; now rewrite entry_transpose by lia). ring.
Qed.

(* part of: rolora/prop-5.5@three-samples-or-more: an analogue of the expectation, for fixed samples with X_i^T X_i / m the identity *)
Theorem prop_5_5 : prop_5_5_states (share := 1).
Proof.
  intros N m d q X a_star a_0 b_star b clients samples whitened unit_star unit_0 least.
  assert (N_some : INR N <> 0) by (apply not_0_INR; lia). assert (m_some : INR m <> 0) by (apply not_0_INR; lia).
  assert (one : ⟨ a_0, a_0 ⟩ = 1) by (rewrite <- norm_square, unit_0; ring).
  assert (star : ⟨ a_star, a_star ⟩ = 1) by (rewrite <- norm_square, unit_star; ring).
  assert (image : forall i (x y : M d 1), (i < N)%nat -> ⟨ X i × x, X i × y ⟩ = INR m * ⟨ x, y ⟩).
  { intros i x y low. rewrite dot_product_left, <- product_assoc, (whitened i low), scale_product, identity_product.
    now rewrite dot_scale_r. }
  assert (some : forall i, (i < N)%nat -> X i × a_0 <> zero).
  { intros i low none. assert (length := image i a_0 a_0 low). rewrite none, dot_zero, one in length. lra. }
  destruct (prop_5_5_samples N m d q X a_star a_0 b_star b clients samples some least) as [_ value]. rewrite value.
  assert (same : forall i, (i < N)%nat -> reach (X i) a_star a_0 = ⟨ a_0, a_star ⟩).
  { intros i low. unfold reach. rewrite square_of_norm, !image, one by assumption. now field. }
  assert (average : mean N (fun i => reach (X i) a_star a_0) = ⟨ a_0, a_star ⟩).
  { rewrite (mean_ext N _ (fun _ => ⟨ a_0, a_star ⟩)) by assumption. apply mean_const. lia. }
  rewrite average, sine_square by assumption.
  rewrite (sum_ext N _ (fun _ => INR m * (1 - ⟨ a_0, a_star ⟩ ^ 2))).
  - rewrite sum_const. field. now split.
  - intros i low. rewrite same by assumption. unfold rest. rewrite !square_of_norm, !image, one, star by assumption.
    field. assumption.
Qed.
