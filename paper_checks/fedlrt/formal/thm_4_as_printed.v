(** Theorem 4 of FeDLRT as printed: under Assumption 1 the loss can rise, and two of its terms promise too much. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds bases plane thm_4.
Open Scope R_scope.

(** Assumption 1, eq. (14), at each coefficient update of a client, for the global loss and those of all clients. *)
Definition assumption_1 {r : round} (before : factors r) (delta : R) : Prop :=
  forall c i other, (c < clients r)%nat -> (i < steps r)%nat -> (other < clients r)%nat ->
  let W := model r (simplified before c i) in
  let met (G : M (rows r) (columns r)) :=
    ‖((U r)^T × G × V r)‖ - ‖((U_before before)^T × G × V_before before)‖ < delta * ‖(nabla_S r (S r))‖ in
  met (nabla r W) /\ met (gradient r other W).

(** The printed C, which is not the number of clients. *)
Definition printed_C {twelve first second : R} (r : round) (delta : R) : R :=
  s_ r * lambda r * (1 - first * delta ^ 2 - twelve * (s_ r * lambda r) * L r + second * delta ^ 2 * (s_ r * lambda r)).

(** Under Assumption 1 the loss can rise where the printed inequality promises a descent, however small delta is. The
    gradients of U and V are not in the old bases, so that they force the augmented ones. *)
Definition thm_4_fails {twelve first second : R} : Prop :=
  forall (counted : nat) (delta : R), (counted <= 1)%nat -> 0 < delta <= 1 / 10 ->
  exists (r : round) (before : factors r) (t : truncation r (S_simplified before)),
  0 < L r /\ 0 < lambda r <= 1 / (twelve * L r * s_ r) /\ assumption_1 before delta /\
  augmented r before /\ holds_the_gradients r before /\ spanned_by_the_gradients r before /\
  decreasing t /\ keeps_the_least counted t /\
  let promised := printed_C (twelve := twelve) (first := first) (second := second) r delta in
  let change := mean_L r (W_next t) - mean_L r (W_before before) in
  0 < promised /\ 0 < change /\ ~ change <= - promised * ‖(nabla_S r (S r))‖ ^ 2 + L r * theta t.

(** For delta <= 1/5 and L < delta^2 / 12 the printed C promises too much at the largest rate. One client with one step
    shows it. Its gradient is in the block, so that Assumption 1 and the corrected one are met, and QR completes the
    bases. At delta = 1/10 and L = 1/2400 the loss falls by 191.7, which is 23/24 of 200, and C is 398. *)
Definition thm_4_promises_states {twelve first second : R} : Prop :=
  forall (counted : nat) (delta K : R), (counted <= 1)%nat -> 0 < delta <= 1 / 5 -> 0 < K < delta ^ 2 / 12 ->
  exists (r : round) (before : factors r) (t : truncation r (S_simplified before)),
  clients r = 1%nat /\ steps r = 1%nat /\ L r = K /\ lambda r = 1 / (12 * K) /\ ‖(nabla_S r (S r))‖ = 1 /\
  assumption_1 before delta /\ hat before 0 = zero /\
  augmented r before /\ holds_the_gradients r before /\ decreasing t /\ keeps_the_least counted t /\
  let promised := printed_C (twelve := twelve) (first := first) (second := second) r delta in
  let change := mean_L r (W_next t) - mean_L r (W_before before) in
  change = - (23 / 24 * lambda r) /\ promised = delta ^ 2 * lambda r * (lambda r - 1) /\
  ~ change <= - promised * ‖(nabla_S r (S r))‖ ^ 2 + L r * theta t.

(** Truncation can cost more than L theta, for every delta up to 1, under Assumption 1 and the corrected one. The
    gradients of U and V lie in the old bases, and QR completes the bases. *)
Definition thm_4_truncation_states : Prop :=
  forall (counted : nat) (delta : R), (counted <= 1)%nat -> 0 < delta <= 1 ->
  exists (r : round) (before : factors r) (t : truncation r (S_simplified before)),
  0 < L r /\ 0 < lambda r <= 1 / (12 * L r * s_ r) /\ assumption_1 before delta /\
  mean (clients r) (fun c => ‖(hat before c)‖ ^ 2) <= delta ^ 2 * ‖(nabla_S r (S r))‖ ^ 2 /\
  augmented r before /\ holds_the_gradients r before /\ decreasing t /\ keeps_the_least counted t /\
  mean_L r (W_next t) - mean_L r (model r (S_simplified before)) > L r * theta t.

Lemma two_norm a b c d : ‖(two a b c d)‖ = sqrt (a ^ 2 + b ^ 2 + c ^ 2 + d ^ 2).
Proof. unfold norm. now rewrite two_square. Qed.

Lemma close a b d e : b ^ 2 + b ^ 2 + d ^ 2 < 2 * Rabs a * e -> 0 < e -> sqrt (a ^ 2 + b ^ 2 + b ^ 2 + d ^ 2) - Rabs a < e.
Proof.
  intros near positive. assert (low := Rabs_pos a).
  assert (square : Rabs a * Rabs a = a ^ 2) by (unfold Rabs; destruct (Rcase_abs a); ring).
  assert (sqrt (a ^ 2 + b ^ 2 + b ^ 2 + d ^ 2) < Rabs a + e); [|lra].
  rewrite <- (sqrt_square (Rabs a + e)) by lra. apply sqrt_lt_1_alt.
  assert (0 <= b ^ 2) by apply pow2_ge_0. assert (0 <= d ^ 2) by apply pow2_ge_0.
  assert (0 <= a ^ 2) by apply pow2_ge_0. nra.
Qed.

Lemma block_two a b c d : block 1 (two a b c d) = two a 0 0 0.
Proof. apply two_eq; reflexivity. Qed.

Section Plane.
Variables (C s : nat) (K l : R) (f : nat -> M 2 2 -> R) (g : nat -> M 2 2 -> M 2 2).
Hypothesis some_C : (1 <= C)%nat.
Hypothesis some_s : (1 <= s)%nat.
Hypothesis curvature : 0 <= K.
Hypothesis rate : 0 <= l.
Hypothesis smooth_f : forall c, (c < C)%nat -> smooth K (f c) (g c).
Let r := plane_round C s K l f g some_C some_s curvature rate smooth_f.
Let before : factors r := plane_factors C s K l f g some_C some_s curvature rate smooth_f.

Lemma narrow_norm a b c d : ‖((U_before before)^T × two a b c d × V_before before)‖ = Rabs a.
Proof.
  unfold norm. rewrite <- sqrt_Rsqr_abs. f_equal. unfold Rsqr. cbn. ring.
Qed.

Lemma met_by a b d most : b ^ 2 + b ^ 2 + d ^ 2 < 2 * Rabs a * most -> 0 < most ->
  ‖(plane^T × two a b b d × plane)‖ - ‖((U_before before)^T × two a b b d × V_before before)‖ < most.
Proof. intros near positive. rewrite narrow_norm, plane_both, two_norm. now apply close. Qed.

(** One step of a client. *)
Lemma plane_step c i :
  @simplified r before c (Datatypes.S i)
  = @simplified r before c i ⊖ l ⋅ (g c (@simplified r before c i) ⊖ block 1 (g c start) ⊕ block 1 (nabla r start)).
Proof.
  cbn [simplified]. rewrite check_of_block, check_block. change (S r) with start. change (rank before) with 1%nat.
  unfold r. now rewrite !plane_slope, plane_mean_slope.
Qed.
End Plane.

(** Two clients with the losses s (P w11 + Q w22 + w11 w22) + w11 + e (w12 + w21) for s = 1 and s = -1, w the way from
    the start. *)
Definition swap (X : M 2 2) : M 2 2 := two (entry X 1 1) 0 0 (entry X 0 0).
Definition side (c : nat) : R := match c with O => 1 | _ => -1 end.

Lemma side_square c : side c * side c = 1.
Proof. unfold side. destruct c; ring. Qed.

Lemma swap_product (X Y : M 2 2) : ⟨ swap X, Y ⟩ = entry X 1 1 * entry Y 0 0 + entry X 0 0 * entry Y 1 1.
Proof. unfold swap. cbn. ring. Qed.

Lemma swap_shorter (X : M 2 2) : ⟨ swap X, swap X ⟩ <= ⟨ X, X ⟩.
Proof.
  unfold swap. rewrite two_square. cbn [dot M sum].
  assert (0 <= entry X 0 1 * entry X 0 1) by apply Rle_0_sqr. assert (0 <= entry X 1 0 * entry X 1 0) by apply Rle_0_sqr. nra.
Qed.

Lemma swap_sub (X Y : M 2 2) : swap X ⊖ swap Y = swap (X ⊖ Y).
Proof. unfold swap. rewrite two_sub, !entry_sub by lia. apply two_same; ring. Qed.

Section Saddle.
Variables (P Q e : R).
Definition pull (c : nat) : M 2 2 := two (side c * P + 1) e e (side c * Q).
Definition saddle (c : nat) (X : M 2 2) : R :=
  ⟨ pull c, X ⊖ start ⟩ + side c * / 2 * ⟨ swap (X ⊖ start), X ⊖ start ⟩.
Definition saddle_gradient (c : nat) (X : M 2 2) : M 2 2 := pull c ⊕ side c ⋅ swap (X ⊖ start).

Lemma saddle_smooth c : smooth 1 (saddle c) (saddle_gradient c).
Proof.
  split.
  - intros X V. set (w := X ⊖ start).
    assert (line := derivative_of_square ⟨ saddle_gradient c X, V ⟩ (side c * / 2 * ⟨ swap V, V ⟩) 0).
    intros eps positive. destruct (line eps positive) as [near small]. exists near. intros h nonzero inside.
    specialize (small h nonzero inside).
    assert (value : forall t, saddle c (X ⊕ t ⋅ V)
      = saddle c X + (⟨ saddle_gradient c X, V ⟩ * t + side c * / 2 * ⟨ swap V, V ⟩ * (t * t))).
    { intro t. unfold saddle, saddle_gradient. replace (X ⊕ t ⋅ V ⊖ start) with (w ⊕ t ⋅ V) by (unfold w; vectors).
      fold w. rewrite !swap_product. rewrite dot_add_r, dot_scale_r, dot_add, dot_scale, swap_product.
      rewrite !entry_add, !entry_scale by lia. field. }
    rewrite !value. set (G := ⟨ saddle_gradient c X, V ⟩) in *. set (H := side c * / 2 * ⟨ swap V, V ⟩) in *.
    match goal with |- Rabs (?a / h - _) < _ => replace a with (G * (0 + h) + H * ((0 + h) * (0 + h)) - (G * 0 + H * (0 * 0))) by ring end.
    replace G with (G + 2 * H * 0) at 3 by ring. exact small.
  - intros X Y. unfold saddle_gradient. rewrite Rmult_1_l. apply norm_by_square; [apply norm_nonneg|].
    rewrite norm_square.
    replace (pull c ⊕ side c ⋅ swap (X ⊖ start) ⊖ (pull c ⊕ side c ⋅ swap (Y ⊖ start)))
      with (side c ⋅ (swap (X ⊖ start) ⊖ swap (Y ⊖ start))) by vectors.
    rewrite swap_sub. replace (X ⊖ start ⊖ (Y ⊖ start)) with (X ⊖ Y) by vectors.
    rewrite dot_scale, dot_scale_r, <- Rmult_assoc, side_square, Rmult_1_l. apply swap_shorter.
Qed.

Lemma saddle_gradient_is c a b d :
  saddle_gradient c (two a b b d) = two (side c * (P + d) + 1) e e (side c * (Q + (a - 1))).
Proof.
  unfold saddle_gradient, pull, start. rewrite two_sub. unfold swap.
  replace (entry (two (a - 1) (b - 0) (b - 0) (d - 0)) 1 1) with (d - 0) by reflexivity.
  replace (entry (two (a - 1) (b - 0) (b - 0) (d - 0)) 0 0) with (a - 1) by reflexivity.
  rewrite two_scale, two_add. apply two_same; ring.
Qed.

Lemma saddle_is c a b d :
  saddle c (two a b b d) = (side c * (P + d) + 1) * (a - 1) + 2 * (e * b) + side c * Q * d.
Proof.
  unfold saddle, pull, start. rewrite two_sub, swap_product.
  replace (entry (two (a - 1) (b - 0) (b - 0) (d - 0)) 1 1) with (d - 0) by reflexivity.
  replace (entry (two (a - 1) (b - 0) (b - 0) (d - 0)) 0 0) with (a - 1) by reflexivity.
  cbn. field.
Qed.

Lemma saddle_small (c : nat) : (c < 2)%nat -> smooth 1 (saddle c) (saddle_gradient c).
Proof. intros _. apply saddle_smooth. Qed.

Lemma step_nonneg : 0 <= 1 / 48.
Proof. lra. Qed.

Definition saddle_round : round :=
  plane_round 2 2 1 (1 / 48) saddle saddle_gradient (le_S _ _ (le_n 1)) (le_S _ _ (le_n 1)) Rle_0_1 step_nonneg saddle_small.
Definition saddle_factors : factors saddle_round :=
  plane_factors 2 2 1 (1 / 48) saddle saddle_gradient (le_S _ _ (le_n 1)) (le_S _ _ (le_n 1)) Rle_0_1 step_nonneg saddle_small.

Lemma saddle_nabla a b d : nabla saddle_round (two a b b d) = two 1 e e 0.
Proof.
  change (vmean 2 (fun c => saddle_gradient c (two a b b d)) = two 1 e e 0). unfold vmean. cbn [vsum].
  rewrite !saddle_gradient_is. unfold side. change (INR 2) with 2.
  apply two_eq; cbn; field.
Qed.

Lemma saddle_mean a b : mean_L saddle_round (two a b b 0) = a - 1 + 2 * (e * b).
Proof.
  change (mean 2 (fun c => saddle c (two a b b 0)) = a - 1 + 2 * (e * b)). unfold mean. cbn [sum].
  rewrite !saddle_is. unfold side. change (INR 2) with 2. field.
Qed.

Lemma saddle_slope : nabla_S saddle_round start = two 1 e e 0.
Proof. etransitivity; [apply plane_mean_slope|]. exact (saddle_nabla 1 0 0). Qed.

Lemma saddle_next c i a b d : @simplified saddle_round saddle_factors c i = two a b b d ->
  @simplified saddle_round saddle_factors c (Datatypes.S i)
  = two (a - 1 / 48 * (side c * d + 1)) (b - 1 / 48 * e) (b - 1 / 48 * e) (d - 1 / 48 * (side c * (Q + (a - 1)))).
Proof.
  intro is. etransitivity; [apply plane_step|]. fold saddle_round saddle_factors. rewrite is, saddle_gradient_is.
  assert (first : saddle_gradient c start = two (side c * P + 1) e e (side c * Q)).
  { transitivity (two (side c * (P + 0) + 1) e e (side c * (Q + (1 - 1)))); [apply saddle_gradient_is|].
    apply two_same; ring. }
  assert (mean : nabla saddle_round start = two 1 e e 0) by exact (saddle_nabla 1 0 0).
  rewrite first, mean.
  rewrite !block_two, two_sub, two_add, two_scale, two_sub. apply two_same; ring.
Qed.

Lemma saddle_first c : @simplified saddle_round saddle_factors c 1
  = two (47 / 48) (- (e / 48)) (- (e / 48)) (- (1 / 48 * (side c * Q))).
Proof.
  etransitivity; [apply (saddle_next c 0 1 0 0); reflexivity|]. apply two_same; field.
Qed.

Lemma saddle_end : Q = 192 -> S_simplified saddle_factors = two (25 / 24) (- (e / 24)) (- (e / 24)) 0.
Proof.
  intro is.
  assert (second : forall c, @simplified saddle_round saddle_factors c 2
    = two (25 / 24) (- (e / 24)) (- (e / 24)) (side c * (1 / 2304 - 8))).
  { intro c. etransitivity; [apply (saddle_next c 1 _ _ _ (saddle_first c))|]. rewrite is.
    assert (one := side_square c). apply two_same; try field.
    transitivity (47 / 48 - 1 / 48 + 4 / 48 * (side c * side c)); [field|rewrite one; field]. }
  unfold S_simplified.
  change (vmean 2 (fun c => @simplified saddle_round saddle_factors c 2) = two (25 / 24) (- (e / 24)) (- (e / 24)) 0).
  unfold vmean. cbn [vsum]. rewrite !second. unfold side. change (INR 2) with 2.
  apply two_eq; cbn; field.
Qed.
End Saddle.

(** The length of the gradient. *)
Definition saddle_length (delta : R) : R := sqrt (1 + 2 * delta ^ 2).

Lemma saddle_length_is P Q delta : ‖(nabla_S (saddle_round P Q delta) start)‖ = saddle_length delta.
Proof.
  transitivity ‖(two 1 delta delta 0)‖; [f_equal; apply saddle_slope|]. rewrite two_norm. unfold saddle_length.
  f_equal. ring.
Qed.

Lemma saddle_length_low delta : 1 <= saddle_length delta.
Proof.
  unfold saddle_length. rewrite <- sqrt_1 at 1. apply sqrt_le_1_alt. assert (0 <= delta ^ 2) by apply pow2_ge_0. lra.
Qed.

Lemma saddle_assumption delta : 0 < delta <= 1 / 10 ->
  assumption_1 (saddle_factors (20000 / delta) 192 delta) delta.
Proof.
  intros [low high]. set (P := 20000 / delta). set (r := saddle_round P 192 delta).
  set (before := saddle_factors P 192 delta).
  assert (P_delta : P * delta = 20000) by (unfold P; field; lra).
  assert (P_large : 200000 <= P) by nra.
  assert (slope_is : ‖(nabla_S r start)‖ = saddle_length delta) by apply saddle_length_is.
  assert (long := saddle_length_low delta). set (g := saddle_length delta) in *. clearbody g.
  assert (more : delta <= delta * g) by nra. assert (small : delta ^ 2 <= 1 / 100) by nra.
  assert (met : forall a d, 0 <= Rabs d <= 192 -> P - 5 <= Rabs a ->
    ‖(plane^T × two a delta delta d × plane)‖
    - ‖((@U_before r before)^T × two a delta delta d × @V_before r before)‖ < delta * g).
  { intros a d few large. apply met_by; [|lra].
    assert (square : d ^ 2 = Rabs d * Rabs d) by (unfold Rabs; destruct (Rcase_abs d); ring). rewrite square.
    assert (Rabs d * Rabs d <= 192 * 192) by (apply Rmult_le_compat; lra).
    assert ((P - 5) * delta <= Rabs a * (delta * g)) by (apply Rmult_le_compat; lra). lra. }
  assert (mean_met : ‖(plane^T × two 1 delta delta 0 × plane)‖
    - ‖((@U_before r before)^T × two 1 delta delta 0 × @V_before r before)‖ < delta * g).
  { apply met_by; [|lra]. rewrite Rabs_R1. nra. }
  assert (places : forall c i, (i < 2)%nat -> exists a b d,
    @simplified r before c i = two a b b d /\ -4 <= d <= 4 /\ 47 / 48 <= a <= 1).
  { intros c i few. destruct i as [|[|i]]; [| |lia].
    - exists 1, 0, 0. split; [reflexivity|]. lra.
    - exists (47 / 48), (- (delta / 48)), (- (1 / 48 * (side c * 192))). split; [apply saddle_first|].
      unfold side. destruct c; lra. }
  intros c i other _ few _. cbv zeta. change (i < 2)%nat in few.
  destruct (places c i few) as (a & b & d & is & d_range & a_range).
  assert (W_is : model r (@simplified r before c i) = two a b b d) by (etransitivity; [apply plane_model|exact is]).
  rewrite W_is. change (S r) with start. rewrite slope_is. split.
  - assert (mean : nabla r (two a b b d) = two 1 delta delta 0) by apply saddle_nabla. rewrite mean. exact mean_met.
  - assert (own : gradient r other (two a b b d)
      = two (side other * (P + d) + 1) delta delta (side other * (192 + (a - 1)))) by apply saddle_gradient_is.
    rewrite own. apply met.
    + unfold side. unfold Rabs. destruct other; destruct (Rcase_abs _); lra.
    + unfold side. unfold Rabs. destruct other; destruct (Rcase_abs _); lra.
Qed.

(* refutes: fedlrt/thm-4 *)
Theorem thm_4_fails_as_printed : thm_4_fails (twelve := 12) (first := 1) (second := 1).
Proof.
  intros counted delta few [low high]. set (P := 20000 / delta).
  set (r := saddle_round P 192 delta). set (before := saddle_factors P 192 delta).
  set (b := - (delta / 24)).
  assert (star_is : @S_simplified r before = two (25 / 24) b b 0) by (apply saddle_end; reflexivity).
  (* the smaller singular value is not 0, and small *)
  assert (positive : 0 < 25 / 24) by lra.
  assert (square := apart_square (25 / 24) b). assert (far := apart_low (25 / 24) b positive).
  assert (b_square : 0 < b * b <= 1 / 57600) by (unfold b; split; nra).
  assert (some : 0 < smaller (25 / 24) b <= 1 / 50000) by (unfold smaller; split; nra).
  assert (large : 1 <= larger (25 / 24) b) by (unfold larger; lra).
  set (theta := if Nat.eqb counted 0 then smaller (25 / 24) b else 1 / 24).
  assert (theta_high : theta <= 1 / 24) by (unfold theta; destruct (Nat.eqb counted 0); lra).
  assert (theta_larger : theta <= larger (25 / 24) b) by lra.
  assert (below_both : counted = 0%nat -> 0 < theta <= smaller (25 / 24) b) by (intros ->; unfold theta; cbn; lra).
  assert (between : counted = 1%nat -> smaller (25 / 24) b < theta) by (intros ->; unfold theta; cbn; lra).
  set (t := whole_truncation 2 2 1 (1 / 48) _ _ _ _ Rle_0_1 step_nonneg (saddle_small P 192 delta) (@S_simplified r before)
    (25 / 24) b counted theta star_is positive few below_both between : truncation r (@S_simplified r before)).
  exists r, before, t.
  assert (slope_is : ‖(nabla_S r (S r))‖ = saddle_length delta) by apply saddle_length_is.
  assert (next : mean_L r (@W_next r (@S_simplified r before) t) = 1 / 24 + 2 * (delta * b)).
  { transitivity (mean_L r (two (25 / 24) b b 0)); [f_equal; etransitivity; [apply whole_next|exact star_is]|].
    etransitivity; [apply saddle_mean|field]. }
  assert (first : mean_L r (@W_before r before) = 0).
  { transitivity (mean_L r (two 1 0 0 0)); [f_equal; apply plane_before|]. etransitivity; [apply saddle_mean|ring]. }
  unfold printed_C. change (s_ r) with 2. change (lambda r) with (1 / 48). change (L r) with 1.
  change (bases.theta t) with theta. rewrite next, first, slope_is.
  split; [lra|]. split; [lra|]. split; [apply saddle_assumption; lra|]. split; [apply plane_augmented|].
  split; [apply plane_holds|].
  split; [apply (plane_spanned _ _ _ _ _ _ _ _ _ _ _ 1 delta delta 0); [exact (saddle_nabla P 192 delta 1 0 0)|lra|lra]|].
  split; [apply whole_decreasing; assumption|]. split; [apply whole_keeps; assumption|]. cbv zeta.
  assert (0 <= delta ^ 2 <= 1 / 100) by (split; [apply pow2_ge_0|nra]).
  assert (fall : 0 <= - (2 * (delta * b)) <= 1 / 1200) by (unfold b; split; nra).
  assert (g_square : saddle_length delta ^ 2 = 1 + 2 * delta ^ 2) by (unfold saddle_length; rewrite pow2_sqrt; lra).
  rewrite g_square. repeat split; nra.
Qed.

(** A bowl with its lowest point beyond the start, and one client with one step. *)
Section Beyond.
Variables (K l A B : R).
Hypothesis curvature : 0 <= K.
Hypothesis rate : 0 <= l.

Definition beyond : M 2 2 := two (1 + A) 0 0 B.

Lemma beyond_smooth (c : nat) : (c < 1)%nat -> smooth K (bowl beyond K) (bowl_gradient beyond K).
Proof. intros _. apply bowl_smooth. rewrite Rabs_right; lra. Qed.

Definition beyond_round : round :=
  plane_round 1 1 K l (fun _ => bowl beyond K) (fun _ => bowl_gradient beyond K) (le_n 1) (le_n 1) curvature rate beyond_smooth.
Definition beyond_factors : factors beyond_round :=
  plane_factors 1 1 K l (fun _ => bowl beyond K) (fun _ => bowl_gradient beyond K) (le_n 1) (le_n 1) curvature rate beyond_smooth.

Lemma beyond_gradient : bowl_gradient beyond K start = two (- (K * A)) 0 0 (- (K * B)).
Proof. unfold bowl_gradient, beyond, start. rewrite two_sub, two_scale. apply two_same; ring. Qed.

Lemma beyond_nabla : nabla beyond_round start = two (- (K * A)) 0 0 (- (K * B)).
Proof.
  transitivity (bowl_gradient beyond K start); [|apply beyond_gradient].
  exact (vmean_const 1 (bowl_gradient beyond K start) (le_n 1)).
Qed.

Lemma beyond_slope : nabla_S beyond_round start = two (- (K * A)) 0 0 (- (K * B)).
Proof. etransitivity; [apply plane_mean_slope|apply beyond_nabla]. Qed.

Lemma beyond_value a d : mean_L beyond_round (two a 0 0 d) = K / 2 * ((a - 1 - A) ^ 2 + (d - B) ^ 2).
Proof.
  transitivity (bowl beyond K (two a 0 0 d)); [exact (mean_const 1 _ (le_n 1))|].
  unfold bowl, beyond. rewrite two_sub, two_square. field.
Qed.

Lemma beyond_end : S_simplified beyond_factors = two (1 + l * (K * A)) 0 0 (l * (K * B)).
Proof.
  transitivity (@simplified beyond_round beyond_factors 0 1).
  - transitivity (vmean 1 (fun _ : nat => @simplified beyond_round beyond_factors 0 1)); [|apply (vmean_const 1); lia].
    apply (vmean_ext 1). intros c low. now replace c with 0%nat by lia.
  - etransitivity; [apply plane_step|].
    change (start ⊖ l ⋅ (bowl_gradient beyond K start ⊖ block 1 (bowl_gradient beyond K start)
      ⊕ @block 2 1 (nabla beyond_round start)) = two (1 + l * (K * A)) 0 0 (l * (K * B))).
    rewrite beyond_gradient, beyond_nabla. unfold start. rewrite !block_two, two_sub, two_add, two_scale, two_sub.
    apply two_same; ring.
Qed.

Lemma beyond_assumption delta :
  (K * B) ^ 2 < 2 * Rabs (- (K * A)) * (delta * ‖(nabla_S beyond_round start)‖) ->
  0 < delta * ‖(nabla_S beyond_round start)‖ -> assumption_1 beyond_factors delta.
Proof.
  intros near positive c i other _ few _. cbv zeta. change (i < 1)%nat in few. replace i with 0%nat by lia.
  assert (W_is : model beyond_round (@simplified beyond_round beyond_factors c 0) = start) by apply plane_model.
  rewrite W_is. change (S beyond_round) with start.
  assert (own : gradient beyond_round other start = two (- (K * A)) 0 0 (- (K * B))) by apply beyond_gradient.
  assert (square : 0 ^ 2 + 0 ^ 2 + (- (K * B)) ^ 2 = (K * B) ^ 2) by ring.
  split; [rewrite beyond_nabla|rewrite own]; (apply met_by; [rewrite square|]; assumption).
Qed.

Lemma beyond_hat c : hat beyond_factors c = two 0 0 0 (- (K * B)).
Proof.
  unfold hat. change (S beyond_round) with start. change (rank beyond_factors) with 1%nat.
  assert (own : nabla_S_of beyond_round c start = two (- (K * A)) 0 0 (- (K * B))).
  { etransitivity; [apply plane_slope|apply beyond_gradient]. }
  rewrite own, block_two, two_sub. apply two_same; ring.
Qed.
End Beyond.

(* proves: fedlrt/thm-4: together with thm_4 and thm_4_at_0 and thm_4_truncation and thm_4_least *)
Theorem thm_4_promises : thm_4_promises_states (twelve := 12) (first := 1) (second := 1).
Proof.
  intros counted delta K few [low high] [K_low K_high].
  assert (square : 0 < delta ^ 2 <= 1 / 25) by (split; [now apply pow_lt|nra]).
  assert (curvature : 0 <= K) by lra. set (l := 1 / (12 * K)).
  assert (l_K : l * K = 1 / 12) by (unfold l; field; lra).
  assert (l_pos : 0 < l) by (unfold l; apply Rdiv_lt_0_compat; lra). assert (rate : 0 <= l) by lra.
  assert (l_delta : 1 < delta ^ 2 * l) by nra. assert (l_large : 25 <= l) by nra.
  set (A := / K). assert (K_A : K * A = 1) by (unfold A; field; lra).
  set (r := beyond_round K l A 0 curvature rate). set (before := beyond_factors K l A 0 curvature rate).
  assert (slope_is : ‖(nabla_S r (S r))‖ = 1).
  { transitivity ‖(two (- (K * A)) 0 0 (- (K * 0)))‖; [f_equal; apply beyond_slope|].
    rewrite two_norm, K_A. replace ((- (1)) ^ 2 + 0 ^ 2 + 0 ^ 2 + (- (K * 0)) ^ 2) with 1 by ring. apply sqrt_1. }
  assert (star_is : @S_simplified r before = two (1 + l) 0 0 0).
  { etransitivity; [apply beyond_end|]. rewrite K_A. apply two_same; ring. }
  set (t := plane_truncation 1 1 K l _ _ _ _ curvature rate (beyond_smooth K A 0 curvature) (@S_simplified r before)
    (1 + l) counted 1 star_is few Rlt_0_1 : truncation r (@S_simplified r before)).
  exists r, before, t.
  assert (next : mean_L r (@W_next r (@S_simplified r before) t) = K / 2 * ((l - A) ^ 2)).
  { transitivity (mean_L r (two (1 + l) 0 0 0)); [f_equal; etransitivity; [apply plane_next|exact star_is]|].
    etransitivity; [apply beyond_value|ring]. }
  assert (first : mean_L r (@W_before r before) = K / 2 * A ^ 2).
  { transitivity (mean_L r (two 1 0 0 0)); [f_equal; apply plane_before|]. etransitivity; [apply beyond_value|ring]. }
  unfold printed_C. change (s_ r) with 1. change (lambda r) with l. change (L r) with K.
  change (bases.theta t) with 1. rewrite next, first, slope_is.
  assert (change_is : K / 2 * (l - A) ^ 2 - K / 2 * A ^ 2 = - (23 / 24 * l)).
  { transitivity (l * (l * K) / 2 - l * (K * A)); [field|rewrite l_K, K_A; field]. }
  assert (promised_is : 1 * l * (1 - 1 * delta ^ 2 - 12 * (1 * l) * K + 1 * delta ^ 2 * (1 * l)) = delta ^ 2 * l * (l - 1)).
  { transitivity (l * (1 - delta ^ 2 - 12 * (l * K) + delta ^ 2 * l)); [ring|rewrite l_K; field]. }
  cbv zeta. rewrite change_is, promised_is.
  split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|].
  split.
  { apply beyond_assumption; fold r; change (nabla_S r start) with (nabla_S r (S r)); rewrite slope_is, Rmult_1_r; [|lra].
    rewrite K_A, Rmult_0_r. assert (0 < 2 * Rabs (- (1)) * delta); [|lra].
    rewrite Rabs_left by lra. lra. }
  split; [etransitivity; [apply beyond_hat|]; apply two_eq; cbn; ring|].
  split; [apply plane_augmented|]. split; [apply plane_holds|]. split; [apply plane_decreasing; lra|]. split; [apply plane_keeps; lra|].
  split; [reflexivity|]. split; [reflexivity|].
  assert (K <= 1 / 300) by lra. assert (l < delta ^ 2 * l * l) by nra. nra.
Qed.

(* proves: fedlrt/thm-4: together with thm_4 and thm_4_at_0 and thm_4_promises and thm_4_least *)
Theorem thm_4_truncation : thm_4_truncation_states.
Proof.
  intros counted delta few [low high].
  set (B := 10 / delta). set (A := B / delta).
  assert (B_delta : B * delta = 10) by (unfold B; field; lra).
  assert (A_delta : A * delta = B) by (unfold A; field; lra).
  assert (B_large : 10 <= B) by nra. assert (A_large : B <= A) by nra.
  assert (A_B : B * B = 10 * A) by nra.
  assert (rate : 0 <= 1 / 12) by lra.
  set (r := beyond_round 1 (1 / 12) A B Rle_0_1 rate). set (before := beyond_factors 1 (1 / 12) A B Rle_0_1 rate).
  set (a := 1 + A / 12). set (b := B / 12).
  assert (star_is : @S_simplified r before = two a 0 0 b).
  { etransitivity; [apply beyond_end|]. unfold a, b. apply two_same; field. }
  set (theta := if Nat.eqb counted 0 then a else a + b).
  assert (b_pos : 0 < b) by (unfold b; lra). assert (a_b : b < a) by (unfold a, b; lra).
  assert (theta_range : a <= theta <= a + b) by (unfold theta; destruct (Nat.eqb counted 0); lra).
  set (values := fun i : nat => match i with O => a | _ => b end).
  assert (decomposed : @S_simplified r before = plane × diagonal 2 values × plane^T).
  { unfold plane. rewrite transpose_identity, identity_product, product_identity, diagonal_two. exact star_is. }
  assert (cut : sqrt (sum (2 - 1) (fun i => values (1 + i)%nat ^ 2)) <= theta).
  { cbn. replace (0 + b * (b * 1)) with (b * b) by ring. rewrite sqrt_square; lra. }
  set (t := Truncation r (@S_simplified r before) plane plane values 1 theta plane_orthonormal plane_orthonormal
    decomposed (le_S _ _ (le_n 1)) cut).
  assert (slope_is : nabla_S r (S r) = two (- A) 0 0 (- B)).
  { etransitivity; [apply beyond_slope|]. apply two_same; ring. }
  assert (slope_norm : ‖(nabla_S r (S r))‖ = sqrt (A ^ 2 + B ^ 2)).
  { transitivity ‖(two (- A) 0 0 (- B))‖; [f_equal; exact slope_is|]. rewrite two_norm. f_equal. ring. }
  assert (long : A <= sqrt (A ^ 2 + B ^ 2)).
  { rewrite <- (sqrt_square A) at 1 by lra. apply sqrt_le_1_alt. nra. }
  exists r, before, t.
  change (s_ r) with 1. change (lambda r) with (1 / 12). change (L r) with 1. change (bases.theta t) with theta.
  change (clients r) with 1%nat.
  split; [lra|]. split; [lra|]. split.
  { apply beyond_assumption; fold r; change (nabla_S r start) with (nabla_S r (S r)); rewrite slope_norm; [|nra].
    rewrite !Rmult_1_l, Rabs_left by lra.
    assert (A * B <= A * (delta * sqrt (A ^ 2 + B ^ 2))) by (apply Rmult_le_compat_l; nra). nra. }
  split.
  { rewrite slope_norm. unfold mean. cbn [sum].
    assert (hat_norm : ‖(@hat r before 0)‖ ^ 2 = B ^ 2).
    { transitivity (‖(two 0 0 0 (- (1 * B)))‖ ^ 2); [do 2 f_equal; apply beyond_hat|].
      rewrite two_norm, pow2_sqrt by nra. ring. }
    rewrite hat_norm, pow2_sqrt by nra. change (INR 1) with 1.
    assert (0 <= B ^ 2) by apply pow2_ge_0. assert (0 <= delta ^ 2) by apply pow2_ge_0.
    replace (delta ^ 2 * (A ^ 2 + B ^ 2)) with ((A * delta) ^ 2 + delta ^ 2 * B ^ 2) by ring. rewrite A_delta.
    assert (0 <= delta ^ 2 * B ^ 2) by now apply Rmult_le_pos. lra. }
  split; [apply plane_augmented|]. split; [apply plane_holds|]. split.
  { intros i j order _. change (0 <= values j <= values i). unfold values. destruct i, j; try lia; lra. }
  split.
  { unfold keeps_the_least. change (kept t) with 1%nat. change (bases.theta t) with theta.
    assert (whole : a <= tail_after t 0 < a + b).
    { unfold tail_after. change (sqrt (sum (width r - 0) (fun i => sigma t (0 + i) ^ 2)))
        with (sqrt (0 + a * (a * 1) + b * (b * 1))).
      split; [rewrite <- (sqrt_square a) at 1 by lra; apply sqrt_le_1_alt; nra|].
      rewrite <- (sqrt_square (a + b)) by lra. apply sqrt_lt_1_alt. nra. }
    assert (last : tail_after t 1 = b).
    { unfold tail_after. change (sqrt (sum (width r - 1) (fun i => sigma t (1 + i) ^ 2))) with (sqrt (0 + b * (b * 1))).
      replace (0 + b * (b * 1)) with (b * b) by ring. apply sqrt_square. lra. }
    destruct counted as [|[|counted]]; [| |lia]; unfold theta; cbn [Nat.eqb Nat.sub]; (split; [lia|]).
    - rewrite last. split; [assumption|]. intros k below. replace k with 0%nat by lia.
      cbn [Nat.sub]. lra.
    - split; [lra|]. intros k below. lia. }
  assert (next : @W_next r (@S_simplified r before) t = two a 0 0 0).
  { etransitivity; [apply next_coefficients|]. etransitivity; [apply plane_model|].
    change (plane × diagonal 2 (kept_values 1 values) × plane^T = two a 0 0 0). unfold plane.
    rewrite transpose_identity, identity_product, product_identity, diagonal_two. reflexivity. }
  assert (star_model : model r (@S_simplified r before) = two a 0 0 b) by (etransitivity; [apply plane_model|exact star_is]).
  rewrite next, star_model.
  assert (values_are : forall d, mean_L r (two a 0 0 d) = 1 / 2 * ((a - 1 - A) ^ 2 + (d - B) ^ 2))
    by (intro; apply beyond_value).
  rewrite !values_are.
  assert (rise : 1 / 2 * ((a - 1 - A) ^ 2 + (0 - B) ^ 2) - 1 / 2 * ((a - 1 - A) ^ 2 + (b - B) ^ 2) = 23 / 288 * (B * B))
    by (unfold b; field).
  rewrite rise, A_B. unfold a, b in *. lra.
Qed.
