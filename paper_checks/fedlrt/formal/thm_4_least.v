(** Theorem 4 of FeDLRT: no constant below that of the corrected statement serves, from two clients on. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds bases plane thm_4.
Open Scope R_scope.

(** No constant below kappa serves all small rates of losses with L = 1 and all small thresholds, for any number of
    steps and any number of clients from two on: they run Algorithm 5, and its truncation, by either rule, loses
    nothing. The mean gradient lies in the old bases, and QR completes the bases. *)
Definition thm_4_least_states : Prop :=
  forall (s C counted : nat) (delta constant : R),
  (1 <= s)%nat -> (2 <= C)%nat -> (counted <= 1)%nat -> 0 <= delta <= 1 ->
  constant < / 2 * (1 + (1 - 1 / INR s) * sqrt (1 + delta ^ 2)) ->
  forall small, 0 < small ->
  exists (r : round) (before : factors r) (t : truncation r (S_simplified before)),
  steps r = s /\ clients r = C /\ L r = 1 /\ 0 < lambda r <= small /\ s_ r * lambda r * L r <= 1 /\
  mean (clients r) (fun c => ‖(hat before c)‖ ^ 2) = delta ^ 2 * ‖(nabla_S r (S r))‖ ^ 2 /\
  augmented r before /\ holds_the_gradients r before /\ decreasing t /\ keeps_the_least counted t /\ 0 < theta t <= small /\
  mean_L r (W_next t) - mean_L r (W_before before)
  > - (s_ r * lambda r) * (1 - constant * (s_ r * lambda r) * L r) * ‖(nabla_S r (S r))‖ ^ 2
    + theta t * ‖(nabla r (model r (S_simplified before)))‖ + L r / 2 * theta t ^ 2.

(** A derivative from the rest after the linear part. *)
Lemma derivative_by_rest (F : R -> R) d K :
  0 <= K -> (forall h, Rabs (F h - F 0 - d * h) <= K * (h * h)) -> derivable_pt_lim F 0 d.
Proof.
  intros sign rest eps positive. exists (mkposreal _ (Rdiv_lt_0_compat _ _ positive (Rle_lt_0_plus_1 K sign))).
  cbn [pos]. intros h nonzero near. rewrite Rplus_0_l.
  replace ((F h - F 0) / h - d) with ((F h - F 0 - d * h) / h) by (field; assumption).
  assert (size : 0 < Rabs h) by now apply Rabs_pos_lt.
  unfold Rdiv at 1. rewrite Rabs_mult, Rabs_inv.
  assert (bound := rest h). replace (h * h) with (Rabs h * Rabs h) in bound.
  2: { unfold Rabs. destruct (Rcase_abs h); ring. }
  apply Rle_lt_trans with (K * Rabs h).
  - apply Rmult_le_reg_r with (Rabs h); [assumption|].
    replace (Rabs (F h - F 0 - d * h) * / Rabs h * Rabs h) with (Rabs (F h - F 0 - d * h)) by (field; lra). lra.
  - replace eps with (eps / (K + 1) * (K + 1)) by (field; lra).
    assert (K * Rabs h <= (K + 1) * Rabs h) by lra.
    assert ((K + 1) * Rabs h < (K + 1) * (eps / (K + 1))) by (apply Rmult_lt_compat_l; lra). lra.
Qed.

Lemma rest_of_kink x h : - (2 * (h * h)) <= (x + h) * Rabs (x + h) - x * Rabs x - 2 * Rabs x * h <= 2 * (h * h).
Proof.
  unfold Rabs. destruct (Rcase_abs (x + h)), (Rcase_abs x); split; nra.
Qed.

(** A loss in any space: a slope, a bowl on one side of the way of v and a saddle on the other. *)
Section Kink.
Context {E : space}.
Variables (start p u v : E).
Hypothesis unit_u : ⟨ u, u ⟩ = 1.
Hypothesis unit_v : ⟨ v, v ⟩ = 1.
Hypothesis apart : ⟨ u, v ⟩ = 0.

Definition turned (w : E) : E := ⟨ u, w ⟩ ⋅ u ⊕ Rabs ⟨ v, w ⟩ ⋅ v.
Definition kink (x : E) : R :=
  let w := x ⊖ start in ⟨ p, w ⟩ + / 2 * (⟨ u, w ⟩ * ⟨ u, w ⟩) + / 2 * (⟨ v, w ⟩ * Rabs ⟨ v, w ⟩).
Definition kink_gradient (x : E) : E := p ⊕ turned (x ⊖ start).

Lemma bessel w : ⟨ u, w ⟩ * ⟨ u, w ⟩ + ⟨ v, w ⟩ * ⟨ v, w ⟩ <= ⟨ w, w ⟩.
Proof.
  assert (room := dot_nonneg E (w ⊖ ⟨ u, w ⟩ ⋅ u ⊖ ⟨ v, w ⟩ ⋅ v)).
  autorewrite with products in room. rewrite !unit_u, !unit_v, (dot_sym _ v u), !apart, (dot_sym _ w u), (dot_sym _ w v) in room. lra.
Qed.

Lemma kink_smooth : smooth 1 kink kink_gradient.
Proof.
  split.
  - intros x d. set (w := x ⊖ start).
    apply (derivative_by_rest _ _ (/ 2 * (⟨ u, d ⟩ * ⟨ u, d ⟩) + ⟨ v, d ⟩ * ⟨ v, d ⟩)).
    { assert (0 <= ⟨ u, d ⟩ * ⟨ u, d ⟩) by apply Rle_0_sqr. assert (0 <= ⟨ v, d ⟩ * ⟨ v, d ⟩) by apply Rle_0_sqr. lra. }
    intro h. unfold kink, kink_gradient, turned. cbv zeta.
    replace (x ⊕ h ⋅ d ⊖ start) with (w ⊕ h ⋅ d) by (unfold w; vectors).
    replace (x ⊕ 0 ⋅ d ⊖ start) with w by (unfold w; vectors). fold w.
    rewrite !dot_add_r, !dot_scale_r, !dot_add, !dot_scale.
    assert (rest := rest_of_kink ⟨ v, w ⟩ (h * ⟨ v, d ⟩)). apply Rabs_le.
    assert (0 <= h * ⟨ u, d ⟩ * (h * ⟨ u, d ⟩)) by apply Rle_0_sqr.
    split; lra.
  - intros x y. unfold kink_gradient, turned. rewrite Rmult_1_l.
    apply norm_by_square; [apply norm_nonneg|]. rewrite norm_square.
    eapply Rle_trans; [|apply bessel].
    set (a := x ⊖ start). set (b := y ⊖ start).
    replace (x ⊖ y) with (a ⊖ b) by (unfold a, b; vectors).
    replace (p ⊕ (⟨ u, a ⟩ ⋅ u ⊕ Rabs ⟨ v, a ⟩ ⋅ v) ⊖ (p ⊕ (⟨ u, b ⟩ ⋅ u ⊕ Rabs ⟨ v, b ⟩ ⋅ v)))
      with ((⟨ u, a ⟩ - ⟨ u, b ⟩) ⋅ u ⊕ (Rabs ⟨ v, a ⟩ - Rabs ⟨ v, b ⟩) ⋅ v) by vectors.
    autorewrite with products. rewrite unit_u, unit_v, (dot_sym _ v u), apart.
    assert (square : (Rabs ⟨ v, a ⟩ - Rabs ⟨ v, b ⟩) * (Rabs ⟨ v, a ⟩ - Rabs ⟨ v, b ⟩)
      <= (⟨ v, a ⟩ - ⟨ v, b ⟩) * (⟨ v, a ⟩ - ⟨ v, b ⟩)).
    { unfold Rabs. destruct (Rcase_abs ⟨ v, a ⟩), (Rcase_abs ⟨ v, b ⟩); nra. }
    lra.
Qed.
End Kink.

(** A client's steps along [g + delta n], in a plane. *)
Section Way.
Context {E : space}.
Variables (g n : E) (delta rho alpha beta : R).
Hypothesis unit_g : ⟨ g, g ⟩ = 1.
Hypothesis unit_n : ⟨ n, n ⟩ = 1.
Hypothesis across : ⟨ g, n ⟩ = 0.
Hypothesis circle : alpha * alpha + beta * beta = 1.
Hypothesis cosine : rho * (alpha * alpha - beta * beta) = 1.
Hypothesis sine : 2 * rho * alpha * beta = delta.
Hypothesis rho_pos : 0 < rho.
Hypothesis beta_pos : 0 <= beta.

Definition half : E := alpha ⋅ g ⊕ beta ⋅ n.
Definition half_turn : E := (- beta) ⋅ g ⊕ alpha ⋅ n.
Definition push : E := g ⊕ delta ⋅ n.

Lemma half_unit : ⟨ half, half ⟩ = 1.
Proof. unfold half. autorewrite with products. rewrite unit_g, unit_n, (dot_sym _ n g), across. lra. Qed.

Lemma half_turn_unit : ⟨ half_turn, half_turn ⟩ = 1.
Proof. unfold half_turn. autorewrite with products. rewrite unit_g, unit_n, (dot_sym _ n g), across. lra. Qed.

Lemma halves_apart : ⟨ half, half_turn ⟩ = 0.
Proof. unfold half, half_turn. autorewrite with products. rewrite unit_g, unit_n, (dot_sym _ n g), across. lra. Qed.

(** The gradient's change where the client goes. *)
Lemma turned_on_the_way a b : 0 <= a + b ->
  turned half half_turn ((- a) ⋅ push ⊕ (rho * b) ⋅ g) = (- (rho * a)) ⋅ g ⊕ b ⋅ push.
Proof.
  intro sign. unfold turned.
  assert (along : ⟨ half, (- a) ⋅ push ⊕ (rho * b) ⋅ g ⟩ = - (rho * alpha * (a - b))).
  { unfold half, push. autorewrite with products. rewrite unit_g, unit_n, (dot_sym _ n g), across, <- sine.
    assert (beta * beta = 1 - alpha * alpha) as square by lra. 
    assert (2 * rho * (alpha * alpha) = rho + 1) as twice by (rewrite square in cosine; lra).
    transitivity (- a * alpha - 2 * rho * a * alpha * (beta * beta) + rho * b * alpha); [ring|].
    rewrite square. transitivity (- a * alpha * (1 + 2 * rho) + a * alpha * (2 * rho * (alpha * alpha)) + rho * b * alpha); [ring|].
    rewrite twice. ring. }
  assert (around : ⟨ half_turn, (- a) ⋅ push ⊕ (rho * b) ⋅ g ⟩ = - (rho * beta * (a + b))).
  { unfold half_turn, push. autorewrite with products. rewrite unit_g, unit_n, (dot_sym _ n g), across, <- sine.
    assert (2 * rho * (alpha * alpha) = rho + 1) as twice by (replace (beta * beta) with (1 - alpha * alpha) in cosine by lra; lra).
    transitivity (a * beta - a * beta * (2 * rho * (alpha * alpha)) - rho * b * beta); [ring|].
    rewrite twice. ring. }
  rewrite along, around, Rabs_left1.
  2: { assert (0 <= rho * beta * (a + b)); [|lra]. apply Rmult_le_pos; [apply Rmult_le_pos; lra|assumption]. }
  unfold half, half_turn, push. apply eq_by_dot; intro z. autorewrite with left_products. rewrite <- sine.
  set (x := ⟨ g, z ⟩). set (y := ⟨ n, z ⟩).
  assert (b * x = b * (rho * (alpha * alpha - beta * beta)) * x) as one by (rewrite cosine; ring).
  assert (rho * a * x = rho * a * (alpha * alpha + beta * beta) * x) as two by (rewrite circle; ring).
  lra.
Qed.

(** The gradient's change and the loss where the server goes. *)
Lemma turned_at_the_server y : 0 <= y -> turned half half_turn ((- y) ⋅ g) = (- y) ⋅ g.
Proof.
  intro sign. unfold turned.
  assert (along : ⟨ half, (- y) ⋅ g ⟩ = - (y * alpha)).
  { unfold half. autorewrite with products. rewrite unit_g, (dot_sym _ n g), across. ring. }
  assert (around : ⟨ half_turn, (- y) ⋅ g ⟩ = y * beta).
  { unfold half_turn. autorewrite with products. rewrite unit_g, (dot_sym _ n g), across. ring. }
  rewrite along, around, Rabs_right by (apply Rle_ge, Rmult_le_pos; assumption).
  unfold half, half_turn. apply eq_by_dot; intro z. autorewrite with left_products.
  set (x := ⟨ g, z ⟩).
  assert (y * x = y * (alpha * alpha + beta * beta) * x) as one by (rewrite circle; ring). lra.
Qed.

Lemma kink_at_the_server start y : 0 <= y ->
  kink start push half half_turn (start ⊖ y ⋅ g) = - y + / 2 * (y * y).
Proof.
  intro sign. unfold kink. cbv zeta.
  replace (start ⊖ y ⋅ g ⊖ start) with ((- y) ⋅ g) by vectors.
  assert (along : ⟨ half, (- y) ⋅ g ⟩ = - (y * alpha)).
  { unfold half. autorewrite with products. rewrite unit_g, (dot_sym _ n g), across. ring. }
  assert (around : ⟨ half_turn, (- y) ⋅ g ⟩ = y * beta).
  { unfold half_turn. autorewrite with products. rewrite unit_g, (dot_sym _ n g), across. ring. }
  rewrite along, around, Rabs_right by (apply Rle_ge, Rmult_le_pos; assumption).
  unfold push. autorewrite with products. rewrite unit_g, (dot_sym _ n g), across.
  assert (y * y = y * y * (alpha * alpha + beta * beta)) as one by (rewrite circle; ring). lra.
Qed.
End Way.

(** How far a client is after k steps: this along its push, and this back along g, over rho. *)
Section Lengths.
Variable l : R.
Definition forth (k : nat) : R := / 2 * ((1 + l) ^ k - (1 - l) ^ k).
Definition back_ (k : nat) : R := / 2 * ((1 + l) ^ k + (1 - l) ^ k) - 1.

Lemma forth_step k : forth (Datatypes.S k) = forth k + l + l * back_ k.
Proof. unfold forth, back_. simpl. field. Qed.

Lemma back_step k : back_ (Datatypes.S k) = back_ k + l * forth k.
Proof. unfold forth, back_. simpl. field. Qed.

Hypothesis rate : 0 <= l.

Lemma lengths_below k : INR k * l <= forth k /\ INR k * (INR k - 1) / 2 * (l * l) <= back_ k.
Proof.
  induction k as [|k [first second]]; [unfold forth, back_; simpl; lra|].
  rewrite forth_step, back_step, S_INR. assert (natural := pos_INR k). set (n := INR k) in *.
  assert (low : 0 <= back_ k).
  { eapply Rle_trans; [|exact second]. destruct k as [|k]; [unfold n; simpl; lra|].
    unfold n. rewrite S_INR. assert (0 <= INR k) by apply pos_INR.
    assert (0 <= (INR k + 1) * (INR k + 1 - 1)) by (apply Rmult_le_pos; lra).
    assert (0 <= l * l) by apply Rle_0_sqr. apply Rmult_le_pos; lra. }
  assert (0 <= l * back_ k) by now apply Rmult_le_pos.
  assert (l * (n * l) <= l * forth k) by now apply Rmult_le_compat_l.
  split; lra.
Qed.

Lemma lengths_above k : INR k * l <= 1 ->
  forth k <= INR k * l + INR k ^ 3 * l ^ 3 /\ back_ k <= INR k ^ 2 * (l * l).
Proof.
  induction k as [|k IH]; [unfold forth, back_; simpl; lra|].
  rewrite forth_step, back_step, S_INR. assert (natural := pos_INR k). set (n := INR k) in *. intro short.
  assert (n * l <= 1) as small by lra. destruct (IH small) as [first second].
  assert (l * back_ k <= l * (n ^ 2 * (l * l))) by now apply Rmult_le_compat_l.
  assert (l * forth k <= l * (n * l + n ^ 3 * l ^ 3)) by now apply Rmult_le_compat_l.
  assert (0 <= n * l) by now apply Rmult_le_pos.
  assert (cube : n ^ 3 * l ^ 3 <= n * l).
  { replace (n ^ 3 * l ^ 3) with (n * l * (n * l * (n * l))) by ring. rewrite <- (Rmult_1_r (n * l)) at 4.
    apply Rmult_le_compat_l; nra. }
  assert (l * (n * l + n ^ 3 * l ^ 3) <= l * (n * l + n * l)) by (apply Rmult_le_compat_l; lra).
  assert (0 <= l ^ 3) by now apply pow_le. assert (0 <= n ^ 2) by now apply pow_le.
  split.
  - assert (0 <= (2 * n ^ 2 + 3 * n + 1) * l ^ 3) by (apply Rmult_le_pos; lra). lra.
  - assert (0 <= l * l) by apply Rle_0_sqr. lra.
Qed.
End Lengths.

(** Directions outside of the block whose mean is 0: pairs of opposite ones, and for an odd number three in a plane. *)
Definition sign (k : nat) : R := if Nat.even k then 1 else - 1.
Definition outer (C c : nat) : M 2 2 :=
  if Nat.even C then two 0 0 0 (sign c)
  else match c with
  | 0%nat => two 0 1 0 0
  | 1%nat => two 0 (- / 2) (sqrt 3 / 2) 0
  | 2%nat => two 0 (- / 2) (- (sqrt 3 / 2)) 0
  | Datatypes.S (Datatypes.S (Datatypes.S k)) => two 0 0 0 (sign k)
  end.

Lemma sign_square k : sign k * sign k = 1.
Proof. unfold sign. destruct (Nat.even k); ring. Qed.

Lemma outer_unit C c : ⟨ outer C c, outer C c ⟩ = 1.
Proof.
  assert (root := sqrt_sqrt 3 ltac:(lra)). unfold outer.
  destruct (Nat.even C); [|destruct c as [|[|[|c]]]]; rewrite two_square; try (assert (one := sign_square c)); try lra.
Qed.

Lemma outer_across C c : ⟨ start, outer C c ⟩ = 0.
Proof. unfold outer, start. destruct (Nat.even C); [|destruct c as [|[|[|c]]]]; cbn; ring. Qed.

Lemma outer_outside C c : block 1 (outer C c) = zero.
Proof. unfold outer. destruct (Nat.even C); [|destruct c as [|[|[|c]]]]; apply two_eq; reflexivity. Qed.

Lemma start_inside : block 1 start = start.
Proof. apply two_eq; reflexivity. Qed.

Lemma pairs j : vsum (2 * j) (fun c => two 0 0 0 (sign c)) = zero.
Proof.
  induction j as [|j IH]; [reflexivity|]. replace (2 * Datatypes.S j)%nat with (Datatypes.S (Datatypes.S (2 * j))) by lia.
  cbn [vsum]. rewrite IH. unfold sign. rewrite Nat.even_succ, <- Nat.negb_even, Nat.even_mul. cbn [Nat.even orb negb].
  apply two_eq; cbn; ring.
Qed.

Lemma vsum_from_three {E : space} m (f : nat -> E) :
  vsum (3 + m) f = f 0%nat ⊕ f 1%nat ⊕ f 2%nat ⊕ vsum m (fun k => f (3 + k)%nat).
Proof.
  induction m as [|m IH].
  - cbn. rewrite (add_comm _ zero), !add_zero. reflexivity.
  - change (vsum (3 + Datatypes.S m) f) with (vsum (3 + m) f ⊕ f (3 + m)%nat). rewrite IH.
    cbn [vsum]. now rewrite add_assoc.
Qed.

Lemma outer_mean C : (2 <= C)%nat -> vmean C (outer C) = zero.
Proof.
  intro some. assert (total : vsum C (outer C) = zero).
  { destruct (Nat.even C) eqn:parity.
    - destruct (proj1 (Nat.even_spec C) parity) as [j is].
      rewrite (vsum_ext C _ (fun c => two 0 0 0 (sign c))) by (intros; unfold outer; now rewrite parity).
      rewrite is. apply pairs.
    - assert (odd : Nat.odd C = true) by now rewrite <- Nat.negb_even, parity.
      destruct (proj1 (Nat.odd_spec C) odd) as [j is]. assert (C = (3 + 2 * (j - 1))%nat) as is_3 by lia.
      transitivity (vsum (3 + 2 * (j - 1)) (outer C)); [now rewrite <- is_3|].
      rewrite vsum_from_three. unfold outer. rewrite parity. cbn [Nat.add]. rewrite pairs.
      apply two_eq; cbn; lra. }
  unfold vmean. rewrite total. vectors.
Qed.

Section LeastRound.
Variables (C s : nat) (l delta rho alpha beta : R).
Hypothesis some_C : (2 <= C)%nat.
Hypothesis some_s : (1 <= s)%nat.
Hypothesis rate : 0 <= l.
Hypothesis circle : alpha * alpha + beta * beta = 1.
Hypothesis cosine : rho * (alpha * alpha - beta * beta) = 1.
Hypothesis sine : 2 * rho * alpha * beta = delta.
Hypothesis rho_pos : 0 < rho.
Hypothesis beta_pos : 0 <= beta.

Let n := outer C.
Let p c := push start (n c) delta.
Let u c := half start (n c) alpha beta.
Let v c := half_turn start (n c) alpha beta.

Lemma start_unit : ⟨ start, start ⟩ = 1.
Proof. unfold start. rewrite two_square. ring. Qed.

Lemma least_smooth c : (c < C)%nat -> smooth 1 (kink start (p c) (u c) (v c)) (kink_gradient start (p c) (u c) (v c)).
Proof.
  intros _. apply kink_smooth.
  - apply half_unit; [apply start_unit|apply outer_unit|apply outer_across|assumption].
  - apply half_turn_unit; [apply start_unit|apply outer_unit|apply outer_across|assumption].
  - apply halves_apart; [apply start_unit|apply outer_unit|apply outer_across].
Qed.

Definition least_round : round :=
  plane_round C s 1 l (fun c => kink start (p c) (u c) (v c)) (fun c => kink_gradient start (p c) (u c) (v c))
    (Nat.le_trans _ _ _ (le_S _ _ (le_n 1)) some_C) some_s Rle_0_1 rate least_smooth.

Definition least_factors : factors least_round :=
  plane_factors C s 1 l _ _ (Nat.le_trans _ _ _ (le_S _ _ (le_n 1)) some_C) some_s Rle_0_1 rate least_smooth.

Lemma least_slope c (X : M 2 2) : nabla_S_of least_round c X = p c ⊕ turned (u c) (v c) (X ⊖ start).
Proof. apply plane_slope. Qed.

Lemma turned_zero (x y : M 2 2) : turned x y zero = zero.
Proof. unfold turned. rewrite !dot_zero_r, Rabs_R0. vectors. Qed.

Lemma least_slope_at_start c : nabla_S_of least_round c start = p c.
Proof.
  rewrite least_slope. replace (start ⊖ start) with (zero : M 2 2) by vectors. rewrite turned_zero. apply add_zero.
Qed.

Lemma some_clients_2 : (0 < C)%nat.
Proof. lia. Qed.

Lemma mean_push : vmean C p = start.
Proof.
  unfold p, push. rewrite vmean_add, vmean_scale, vmean_const by apply some_clients_2.
  unfold n. rewrite outer_mean by assumption. vectors.
Qed.

Lemma least_mean_slope : nabla_S least_round start = start.
Proof.
  rewrite <- mean_of_slopes. transitivity (vmean C p); [|apply mean_push].
  apply (vmean_ext C). intros c _. apply least_slope_at_start.
Qed.

Lemma least_block c : block 1 (p c) = start.
Proof.
  assert (linear : block 1 (p c) = block 1 start ⊕ delta ⋅ block 1 (n c)).
  { apply eq_by_dot; intro z. rewrite block_adjoint. unfold p, push. autorewrite with left_products.
    now rewrite <- !block_adjoint. }
  rewrite linear, start_inside. unfold n. rewrite outer_outside. vectors.
Qed.

Lemma least_direction c : direction least_factors c = p c.
Proof.
  unfold direction. change (S least_round) with start. change (rank least_factors) with 1%nat.
  rewrite least_slope_at_start, least_mean_slope.
  change (p c ⊖ block 1 (p c) ⊕ block 1 start = p c). rewrite least_block, start_inside. apply mean_of_rest.
Qed.

Lemma least_hat c : hat least_factors c = delta ⋅ n c.
Proof.
  unfold hat. change (S least_round) with start. change (rank least_factors) with 1%nat.
  rewrite least_slope_at_start. change (p c ⊖ block 1 (p c) = delta ⋅ n c). rewrite least_block.
  unfold p, push. vectors.
Qed.

Lemma no_way {E : space} (x y z : E) a : x = x ⊕ ((- 0) ⋅ y ⊕ (a * 0) ⋅ z).
Proof. vectors. Qed.

Lemma way_back {E : space} (x y : E) : x ⊕ y ⊖ x = y.
Proof. vectors. Qed.

Lemma no_step {E : space} (x y : E) : x = x ⊖ 0 ⋅ y.
Proof. vectors. Qed.

Lemma next_point {E : space} (x y z : E) a b h : x ⊕ ((- a) ⋅ y ⊕ (rho * b) ⋅ z)
  ⊖ h ⋅ (y ⊕ ((- (rho * a)) ⋅ z ⊕ b ⋅ y)) = x ⊕ ((- (a + h + h * b)) ⋅ y ⊕ (rho * (b + h * a)) ⋅ z).
Proof. vectors. Qed.

Lemma least_point c k :
  point l (nabla_S_of least_round) start (direction least_factors) c k
  = start ⊕ ((- forth l k) ⋅ p c ⊕ (rho * back_ l k) ⋅ start).
Proof.
  induction k as [|k IH].
  - replace (forth l 0) with 0 by (unfold forth; simpl; ring).
    replace (back_ l 0) with 0 by (unfold back_; simpl; field). apply no_way.
  - cbn [point]. rewrite IH, least_direction, least_slope_at_start, least_slope.
    set (e := (- forth l k) ⋅ p c ⊕ (rho * back_ l k) ⋅ start).
    rewrite !way_back.
    assert (sums := lengths_below l rate k).
    assert (low : 0 <= forth l k + back_ l k).
    { assert (natural := pos_INR k). assert (0 <= INR k * l) by now apply Rmult_le_pos.
      assert (0 <= INR k * (INR k - 1) / 2 * (l * l)); [|lra].
      destruct k as [|k]; [simpl; lra|]. rewrite S_INR. assert (0 <= INR k) by apply pos_INR.
      assert (0 <= (INR k + 1) * (INR k + 1 - 1)) by (apply Rmult_le_pos; lra).
      assert (0 <= l * l) by apply Rle_0_sqr. apply Rmult_le_pos; lra. }
    assert (turn : turned (u c) (v c) e = (- (rho * forth l k)) ⋅ start ⊕ back_ l k ⋅ p c).
    { apply (turned_on_the_way start (n c) delta rho alpha beta start_unit (outer_unit C c) (outer_across C c)
        circle cosine sine rho_pos beta_pos). assumption. }
    rewrite turn, forth_step, back_step. apply next_point.
Qed.

Lemma least_star : S_simplified least_factors = start ⊖ (forth l s - rho * back_ l s) ⋅ start.
Proof.
  rewrite simplified_server. unfold server.
  transitivity (vmean C (fun c => start ⊕ ((- forth l s) ⋅ p c ⊕ (rho * back_ l s) ⋅ start))).
  - apply (vmean_ext C). intros c _. apply least_point.
  - rewrite !vmean_add, !vmean_scale, !vmean_const by apply some_clients_2. rewrite mean_push. vectors.
Qed.

Lemma least_loss y : 0 <= y -> mean_L least_round (start ⊖ y ⋅ start) = - y + / 2 * (y * y).
Proof.
  intro low. transitivity (mean C (fun _ => - y + / 2 * (y * y))); [|apply mean_const, some_clients_2].
  apply (mean_ext C). intros c _.
  apply (kink_at_the_server start (n c) delta alpha beta start_unit (outer_across C c) circle beta_pos).
  assumption.
Qed.

Lemma least_end_slope y : 0 <= y -> nabla least_round (start ⊖ y ⋅ start) = (1 - y) ⋅ start.
Proof.
  intro low. transitivity (vmean C (fun c => p c ⊕ (- y) ⋅ start)).
  - apply (vmean_ext C). intros c _. change (p c ⊕ turned (u c) (v c) (start ⊖ y ⋅ start ⊖ start) = p c ⊕ (- y) ⋅ start).
    f_equal. replace (start ⊖ y ⋅ start ⊖ start) with ((- y) ⋅ start) by vectors.
    apply (turned_at_the_server start (n c) alpha beta start_unit (outer_across C c)); assumption.
  - rewrite vmean_add, mean_push, vmean_const by apply some_clients_2. vectors.
Qed.
End LeastRound.

(* proves: fedlrt/thm-4: together with thm_4 and thm_4_at_0 and thm_4_promises and thm_4_truncation *)
Theorem thm_4_least : thm_4_least_states.
Proof.
  intros s C counted delta constant some many few [low high] least small positive.
  assert (natural : 1 <= INR s) by (apply le_INR in some; exact some).
  set (N := INR s) in *. set (rho := sqrt (1 + delta ^ 2)) in *.
  assert (square : rho * rho = 1 + delta ^ 2) by (apply sqrt_sqrt; nra).
  assert (rho_low : 0 <= rho) by apply sqrt_pos.
  assert (rho_1 : 1 <= rho) by nra. assert (rho_high : rho <= 3 / 2) by nra. clearbody rho.
  set (m := / 2 * (1 - 1 / N)).
  assert (inverse : 0 < 1 / N <= 1).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_reg_r with N; [lra|]. field_simplify; lra. }
  assert (m_low : 0 <= m) by (unfold m; lra). assert (m_high : m <= / 2) by (unfold m; lra).
  set (room := / 2 + m * rho - constant).
  assert (gap : 0 < room) by (unfold room, m; lra).
  (* half of the angle between the push and the mean gradient *)
  set (alpha := sqrt ((1 + / rho) / 2)). set (beta := sqrt ((1 - / rho) / 2)).
  assert (part : 0 < / rho <= 1).
  { split; [apply Rinv_0_lt_compat; lra|]. apply Rmult_le_reg_r with rho; [lra|]. rewrite Rinv_l; lra. }
  assert (alpha_square : alpha * alpha = (1 + / rho) / 2) by (apply sqrt_sqrt; lra).
  assert (beta_square : beta * beta = (1 - / rho) / 2) by (apply sqrt_sqrt; lra).
  assert (alpha_pos : 0 <= alpha) by apply sqrt_pos. assert (beta_pos : 0 <= beta) by apply sqrt_pos.
  assert (circle : alpha * alpha + beta * beta = 1) by lra.
  assert (cosine : rho * (alpha * alpha - beta * beta) = 1).
  { rewrite alpha_square, beta_square. field. lra. }
  assert (sine : 2 * rho * alpha * beta = delta).
  { assert (two_sided : (2 * rho * alpha * beta) ^ 2 = delta ^ 2).
    { transitivity (4 * (rho * rho) * (alpha * alpha) * (beta * beta)); [ring|].
      rewrite alpha_square, beta_square. transitivity (rho * rho - 1); [field; lra|lra]. }
    assert (0 <= 2 * rho * alpha * beta) by (apply Rmult_le_pos; [apply Rmult_le_pos|]; lra).
    apply Rsqr_inj; [assumption|assumption|]. unfold Rsqr. lra. }
  assert (rho_pos : 0 < rho) by lra. clearbody alpha beta.
  (* the rate, the lengths of the clients' ways, and the server's step y *)
  set (l := Rmin (Rmin small (/ (4 * N))) (room / (8 * N))).
  assert (l_pos : 0 < l).
  { unfold l. apply Rmin_glb_lt; [apply Rmin_glb_lt; [assumption|apply Rinv_0_lt_compat; lra]|].
    apply Rdiv_lt_0_compat; lra. }
  assert (l_small : l <= small) by (unfold l; eapply Rle_trans; [apply Rmin_l|apply Rmin_l]).
  assert (l_short : l <= / (4 * N)) by (unfold l; eapply Rle_trans; [apply Rmin_l|apply Rmin_r]).
  assert (l_room : l <= room / (8 * N)) by (unfold l; apply Rmin_r).
  set (x := N * l).
  assert (x_pos : 0 < x) by (unfold x; apply Rmult_lt_0_compat; lra).
  assert (x_short : x <= 1 / 4).
  { unfold x. replace (1 / 4) with (N * / (4 * N)) by (field; lra). apply Rmult_le_compat_l; lra. }
  assert (x_room : 8 * x <= room).
  { unfold x. replace room with (8 * (N * (room / (8 * N)))) by (field; lra).
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra. }
  assert (rate : 0 <= l) by lra.
  destruct (lengths_below l rate s) as [forth_low back_low].
  destruct (lengths_above l rate s ltac:(fold N; fold x; lra)) as [forth_high back_high].
  fold N in forth_low, back_low, forth_high, back_high.
  set (y := forth l s - rho * back_ l s).
  replace (N * (N - 1) / 2 * (l * l)) with (m * (x * x)) in back_low by (unfold m, x; field; lra).
  replace (N * l + N ^ 3 * l ^ 3) with (x + x ^ 3) in forth_high by (unfold x; ring).
  replace (N ^ 2 * (l * l)) with (x * x) in back_high by (unfold x; ring).
  fold x in forth_low.
  assert (y_low : 0 <= y).
  { assert (rho * back_ l s <= 3 / 2 * (x * x)) by (apply Rmult_le_compat; nra). unfold y. nra. }
  set (most := x + x ^ 3 - rho * m * (x * x)).
  assert (y_high : y <= most).
  { assert (rho * (m * (x * x)) <= rho * back_ l s) by (apply Rmult_le_compat_l; lra). unfold y, most. lra. }
  assert (rho_m : 0 <= rho * m <= 3 / 4) by nra.
  assert (x_2 : 0 <= x * x <= x / 4) by nra. assert (x_3 : 0 <= x ^ 3 <= x * x / 4) by nra.
  assert (most_high : most <= 1 / 2) by (unfold most; nra).
  assert (most_low : x - rho * m * (x * x) <= most) by (unfold most; lra).
  assert (falls : - most + / 2 * (most * most) <= - y + / 2 * (y * y)) by nra.
  assert (rises : - x + (/ 2 + rho * m) * (x * x) - 2 * x ^ 3 <= - most + / 2 * (most * most)).
  { assert (0 <= x - rho * m * (x * x)) by nra.
    assert ((x - rho * m * (x * x)) * (x - rho * m * (x * x)) <= most * most) by (apply Rmult_le_compat; lra).
    assert (0 <= rho * m * (x * x) * (rho * m * (x * x))) by apply Rle_0_sqr.
    assert (rho * m * x ^ 3 <= 3 / 4 * x ^ 3) by (apply Rmult_le_compat_r; lra).
    unfold most in *. lra. }
  set (slack := x * x * room).
  assert (slack_pos : 0 < slack) by (unfold slack; apply Rmult_lt_0_compat; nra).
  assert (cubic : 8 * x ^ 3 <= slack).
  { unfold slack. replace (8 * x ^ 3) with (x * x * (8 * x)) by ring. apply Rmult_le_compat_l; lra. }
  (* the threshold *)
  set (a := 1 - y). assert (a_pos : 1 / 2 <= a <= 1) by (unfold a; lra).
  set (theta := Rmin (Rmin small a) (slack / 4)).
  assert (theta_pos : 0 < theta) by (unfold theta; repeat apply Rmin_glb_lt; lra).
  assert (theta_small : theta <= small) by (unfold theta; eapply Rle_trans; [apply Rmin_l|apply Rmin_l]).
  assert (theta_a : theta <= a) by (unfold theta; eapply Rle_trans; [apply Rmin_l|apply Rmin_r]).
  assert (theta_slack : theta <= slack / 4) by (unfold theta; apply Rmin_r).
  clearbody theta.
  set (r := least_round C s l delta alpha beta many some rate circle).
  set (before := least_factors C s l delta alpha beta many some rate circle).
  assert (star : @S_simplified r before = start ⊖ y ⋅ start).
  { unfold before. apply least_star; assumption. }
  assert (star_is : @S_simplified r before = two a 0 0 0).
  { rewrite star. unfold start. rewrite two_scale, two_sub. apply two_same; unfold a; ring. }
  set (t := plane_truncation C s 1 l _ _ _ some Rle_0_1 rate (least_smooth C delta alpha beta circle)
    (@S_simplified r before) a counted theta star_is few theta_pos : truncation r (@S_simplified r before)).
  exists r, before, t.
  split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|]. change (s_ r) with N.
  change (lambda r) with l. change (L r) with 1. change (bases.theta t) with theta. change (clients r) with C.
  change (S r) with start.
  assert (slope_is : ‖(nabla_S r start)‖ = 1).
  { transitivity ‖start‖; [f_equal; apply least_mean_slope|exact start_norm]. }
  rewrite slope_is.
  split; [lra|]. split; [fold x; lra|]. split; [|split; [apply plane_augmented|split; [apply plane_holds|]]].
  { rewrite (mean_ext C _ (fun _ => delta ^ 2)); [rewrite mean_const by lia; ring|]. intros c _.
    assert (long : ‖(@hat r before c)‖ = delta).
    { transitivity ‖(delta ⋅ outer C c)‖; [f_equal; apply least_hat|].
      rewrite norm_scale. unfold norm. rewrite outer_unit, sqrt_1, Rabs_right by lra. ring. }
    now rewrite long. }
  split; [now apply plane_decreasing|]. split; [now apply plane_keeps|]. split; [lra|].
  assert (next : @W_next r (@S_simplified r before) t = @S_simplified r before) by apply plane_next.
  assert (first : @W_before r before = start) by apply plane_before.
  assert (same : model r (@S_simplified r before) = @S_simplified r before) by apply plane_model.
  rewrite next, first, same, star.
  assert (after : mean_L r (start ⊖ y ⋅ start) = - y + / 2 * (y * y)) by (apply least_loss; assumption).
  assert (at_start : mean_L r start = 0).
  { transitivity (mean_L r (start ⊖ 0 ⋅ start)); [f_equal; apply no_step|].
    transitivity (- 0 + / 2 * (0 * 0)); [apply least_loss; (assumption || apply Rle_refl)|ring]. }
  assert (end_slope : ‖(nabla r (start ⊖ y ⋅ start))‖ = a).
  { transitivity ‖((1 - y) ⋅ start)‖; [f_equal; apply least_end_slope; assumption|].
    rewrite norm_scale, start_norm, Rabs_right by (fold a; lra). fold a. ring. }
  rewrite after, at_start, end_slope. fold x.
  assert (constant_is : constant = / 2 + m * rho - room) by (unfold room; lra). rewrite constant_is.
  assert (cost : theta * a + 1 / 2 * theta ^ 2 <= 3 / 2 * theta) by nra.
  replace (- x * (1 - (/ 2 + m * rho - room) * x * 1) * 1 ^ 2)
    with (- x + (/ 2 + rho * m) * (x * x) - slack) by (unfold slack; ring).
  lra.
Qed.
