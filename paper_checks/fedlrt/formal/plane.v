(** Rounds in two by two matrices from a start of rank one, whose augmented bases are the whole plane. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds bases.
Open Scope R_scope.

(** Two by two matrices by their entries. *)
Definition two (a b c d : R) : M 2 2 :=
  from_entries 2 2 (fun i j => match i, j with O, O => a | O, _ => b | _, O => c | _, _ => d end).

Lemma two_eq (A B : M 2 2) :
  entry A 0 0 = entry B 0 0 -> entry A 0 1 = entry B 0 1 -> entry A 1 0 = entry B 1 0 -> entry A 1 1 = entry B 1 1 -> A = B.
Proof.
  intros. apply same_entries. intros i j low_i low_j.
  destruct i as [|[|i]]; [| |lia]; (destruct j as [|[|j]]; [| |lia]); assumption.
Qed.

Lemma two_product a b c d e f g h :
  two a b c d × two e f g h = two (a * e + b * g) (a * f + b * h) (c * e + d * g) (c * f + d * h).
Proof. apply two_eq; cbn; ring. Qed.

Lemma two_transpose a b c d : (two a b c d)^T = two a c b d.
Proof. apply two_eq; reflexivity. Qed.

Lemma two_sub a b c d e f g h : two a b c d ⊖ two e f g h = two (a - e) (b - f) (c - g) (d - h).
Proof. apply two_eq; cbn; ring. Qed.

Lemma two_add a b c d e f g h : two a b c d ⊕ two e f g h = two (a + e) (b + f) (c + g) (d + h).
Proof. apply two_eq; cbn; ring. Qed.

Lemma two_scale x a b c d : x ⋅ two a b c d = two (x * a) (x * b) (x * c) (x * d).
Proof. apply two_eq; cbn; ring. Qed.

Lemma two_identity : identity 2 = two 1 0 0 1.
Proof. apply two_eq; reflexivity. Qed.

Lemma two_square a b c d : ⟨ two a b c d, two a b c d ⟩ = a ^ 2 + b ^ 2 + c ^ 2 + d ^ 2.
Proof. cbn. ring. Qed.

Lemma two_same a b c d e f g h : a = e -> b = f -> c = g -> d = h -> two a b c d = two e f g h.
Proof. now intros -> -> -> ->. Qed.

Lemma diagonal_two d : diagonal 2 d = two (d 0%nat) 0 0 (d 1%nat).
Proof. apply two_eq; reflexivity. Qed.

Definition plane : M 2 2 := identity 2.

Lemma plane_orthonormal : orthonormal plane.
Proof. unfold orthonormal, plane. now rewrite transpose_identity, identity_product. Qed.

Definition start : M 2 2 := two 1 0 0 0.

Lemma start_norm : ‖start‖ = 1.
Proof. unfold norm, start. rewrite two_square. replace (1 ^ 2 + 0 ^ 2 + 0 ^ 2 + 0 ^ 2) with 1 by ring. apply sqrt_1. Qed.

Section PlaneRound.
Variables (C s : nat) (K l : R) (f : nat -> M 2 2 -> R) (g : nat -> M 2 2 -> M 2 2).
Hypothesis some_C : (1 <= C)%nat.
Hypothesis some_s : (1 <= s)%nat.
Hypothesis curvature : 0 <= K.
Hypothesis rate : 0 <= l.
Hypothesis smooth_f : forall c, (c < C)%nat -> smooth K (f c) (g c).

Definition plane_round : round :=
  Round 2 2 2 C s K l f g plane plane start some_C some_s curvature rate smooth_f plane_orthonormal plane_orthonormal.

Lemma plane_both (X : M 2 2) : plane^T × X × plane = X.
Proof. unfold plane. now rewrite transpose_identity, identity_product, product_identity. Qed.

Lemma plane_model (X : M 2 2) : model plane_round X = X.
Proof.
  change (plane × X × plane^T = X). unfold plane. now rewrite transpose_identity, identity_product, product_identity.
Qed.

Lemma plane_slope c (X : M 2 2) : nabla_S_of plane_round c X = g c X.
Proof. change (plane^T × g c (model plane_round X) × plane = g c X). now rewrite plane_both, plane_model. Qed.

Lemma plane_mean_slope (X : M 2 2) : nabla_S plane_round X = nabla plane_round X.
Proof.
  change (plane^T × nabla plane_round (model plane_round X) × plane = nabla plane_round X).
  now rewrite plane_both, plane_model.
Qed.

Definition plane_factors : factors plane_round.
Proof.
  refine (Factors plane_round 1 _ (identity 1) _); [simpl; lia|]. apply two_eq; reflexivity.
Defined.

Lemma plane_before : W_before plane_factors = start.
Proof. rewrite augmentation_keeps. apply plane_model. Qed.

Lemma plane_holds : holds_the_gradients plane_round plane_factors.
Proof.
  split; change (U plane_round) with (identity 2); change (V plane_round) with (identity 2);
    now rewrite transpose_identity, !identity_product.
Qed.

Lemma plane_augmented : augmented plane_round plane_factors.
Proof. split; reflexivity. Qed.

(** The start is e_1 e_1^T. A gradient that is not diagonal there forces both bases to be the whole plane. *)
Lemma plane_spanned x y z w : nabla plane_round start = two x y z w -> y <> 0 -> z <> 0 ->
  spanned_by_the_gradients plane_round plane_factors.
Proof.
  intros is other_y other_z. unfold spanned_by_the_gradients, nabla_U, nabla_V. rewrite plane_before, is.
  set (to k l := from_entries 1 2 (fun _ j => match j with O => k | _ => l end) : M 1 2).
  split; [exists (to 1 (- (x / z))), (to 0 (/ z))|exists (to 1 (- (x / y))), (to 0 (/ y))];
    apply two_eq; cbn; now field.
Qed.

(** The truncation of coefficients of rank one, of which nothing is lost. *)
Section PlaneTruncation.
Variables (X : M 2 2) (a : R) (counted : nat) (theta : R).
Hypothesis is : X = two a 0 0 0.
Hypothesis few : (counted <= 1)%nat.
Hypothesis positive : 0 < theta.
Hypothesis small : theta <= a.

Definition one_value (i : nat) : R := match i with O => a | _ => 0 end.

Definition plane_truncation : truncation plane_round X.
Proof.
  refine (Truncation plane_round X plane plane one_value (1 + counted) theta plane_orthonormal plane_orthonormal _ _ _).
  - change (X = plane × diagonal 2 one_value × plane^T). unfold plane.
    rewrite transpose_identity, identity_product, product_identity, diagonal_two. exact is.
  - change (1 + counted <= 2)%nat. lia.
  - rewrite sum_zero; [rewrite sqrt_0; lra|]. intros i _. cbn. ring.
Defined.

Lemma plane_next : W_next plane_truncation = X.
Proof.
  rewrite next_coefficients, plane_model.
  change (plane × diagonal 2 (kept_values (1 + counted) one_value) × plane^T = X). unfold plane.
  rewrite transpose_identity, identity_product, product_identity, diagonal_two, is.
  apply two_same; [reflexivity|reflexivity|reflexivity|]. unfold kept_values, one_value. now destruct (Nat.ltb _ _).
Qed.

Lemma plane_decreasing : decreasing plane_truncation.
Proof.
  intros i j order _. change (0 <= one_value j <= one_value i). unfold one_value.
  destruct i, j; try lia; lra.
Qed.

Lemma plane_keeps : keeps_the_least counted plane_truncation.
Proof.
  unfold keeps_the_least. change (kept plane_truncation) with (1 + counted)%nat.
  change (bases.theta plane_truncation) with theta.
  split; [lia|]. split.
  - replace (1 + counted - counted)%nat with 1%nat by lia.
    replace (tail_after plane_truncation 1) with 0; [assumption|].
    unfold tail_after. change (0 = sqrt (sum 1 (fun i => one_value (1 + i) ^ 2))). cbn.
    replace (0 + 0 * (0 * 1)) with 0 by ring. now rewrite sqrt_0.
  - intros k low. replace (k - counted)%nat with 0%nat by lia.
    replace (tail_after plane_truncation 0) with a; [assumption|].
    unfold tail_after. change (a = sqrt (sum 2 (fun i => one_value (0 + i) ^ 2))). cbn.
    replace (0 + a * (a * 1) + 0 * (0 * 1)) with (a * a) by ring. rewrite sqrt_square; lra.
Qed.
End PlaneTruncation.

(** The truncation of coefficients of rank two with two values of which none is cut. *)
Section BothKept.
Variables (X : M 2 2) (a b : R) (counted : nat) (theta : R).
Hypothesis is : X = two a b b 0.
Hypothesis positive : 0 < a.

Definition apart : R := sqrt (a * a + 4 * (b * b)).
Definition larger : R := (apart + a) / 2.
Definition smaller : R := (apart - a) / 2.

Hypothesis few : (counted <= 1)%nat.
Hypothesis high : theta <= larger.
Hypothesis below_both : counted = 0%nat -> 0 < theta <= smaller.
Hypothesis between : counted = 1%nat -> smaller < theta.

Lemma apart_square : apart * apart = a * a + 4 * (b * b).
Proof. apply sqrt_sqrt. assert (0 <= b * b) by apply Rle_0_sqr. nra. Qed.

Lemma apart_low : a <= apart.
Proof.
  unfold apart. rewrite <- (sqrt_square a) at 1 by lra. apply sqrt_le_1_alt. assert (0 <= b * b) by apply Rle_0_sqr. lra.
Qed.

Definition turn_cos : R := sqrt (larger / apart).
Definition turn_sin : R := b / (apart * turn_cos).

Lemma turn_squares :
  turn_cos * turn_cos = larger / apart /\ turn_sin * turn_sin = smaller / apart /\ turn_cos * turn_sin = b / apart.
Proof.
  assert (low := apart_low). assert (square := apart_square).
  assert (long : 0 < larger / apart) by (apply Rdiv_lt_0_compat; unfold larger; lra).
  assert (cosine : turn_cos * turn_cos = larger / apart) by (apply sqrt_sqrt; lra).
  assert (some : 0 < turn_cos) by now apply sqrt_lt_R0.
  split; [exact cosine|]. split; [|unfold turn_sin; field; lra].
  transitivity (b * b / (apart * apart * (turn_cos * turn_cos))); [unfold turn_sin; field; lra|].
  rewrite cosine. unfold larger, smaller. apply Rmult_eq_reg_r with (apart * (apart + a)); [|nra].
  field_simplify; [nra|lra|lra].
Qed.

Definition turn_P : M 2 2 := two turn_cos (- turn_sin) turn_sin turn_cos.
Definition turn_Q : M 2 2 := two turn_cos turn_sin turn_sin (- turn_cos).
Definition two_values (i : nat) : R := match i with O => larger | _ => smaller end.

Lemma turn_P_orthonormal : orthonormal turn_P.
Proof.
  destruct turn_squares as (cc & ss & _). assert (low := apart_low).
  assert (one : turn_cos * turn_cos + turn_sin * turn_sin = 1) by (rewrite cc, ss; unfold larger, smaller; field; lra).
  unfold orthonormal, turn_P. rewrite two_transpose, two_product, two_identity. apply two_same; lra.
Qed.

Lemma turn_Q_orthonormal : orthonormal turn_Q.
Proof.
  destruct turn_squares as (cc & ss & _). assert (low := apart_low).
  assert (one : turn_cos * turn_cos + turn_sin * turn_sin = 1) by (rewrite cc, ss; unfold larger, smaller; field; lra).
  unfold orthonormal, turn_Q. rewrite two_transpose, two_product, two_identity. apply two_same; lra.
Qed.

Lemma turn_decomposition : X = turn_P × diagonal 2 two_values × turn_Q^T.
Proof.
  destruct turn_squares as (cc & ss & cs). assert (low := apart_low).
  rewrite is, diagonal_two. unfold turn_P, turn_Q, two_values. rewrite two_transpose, !two_product. apply two_same.
  - transitivity (turn_cos * turn_cos * larger - turn_sin * turn_sin * smaller); [|ring].
    rewrite cc, ss. unfold larger, smaller. field. lra.
  - transitivity (turn_cos * turn_sin * (larger + smaller)); [|ring]. rewrite cs. unfold larger, smaller. field. lra.
  - transitivity (turn_cos * turn_sin * (larger + smaller)); [|ring]. rewrite cs. unfold larger, smaller. field. lra.
  - transitivity (turn_sin * turn_sin * larger - turn_cos * turn_cos * smaller); [|ring].
    rewrite cc, ss. field. lra.
Qed.

Definition whole_truncation : truncation plane_round X.
Proof.
  refine (Truncation plane_round X turn_P turn_Q two_values 2 theta turn_P_orthonormal turn_Q_orthonormal
    turn_decomposition (le_n 2) _).
  change (sqrt 0 <= theta). rewrite sqrt_0. assert (low := apart_low). destruct counted as [|[|more]]; [| |lia].
  - destruct (below_both eq_refl). lra.
  - assert (0 <= smaller) by (unfold smaller; lra). assert (less := between eq_refl). lra.
Defined.

Lemma whole_next : W_next whole_truncation = X.
Proof.
  rewrite next_coefficients, plane_model.
  change (turn_P × diagonal 2 (kept_values 2 two_values) × turn_Q^T = X). rewrite turn_decomposition, !diagonal_two.
  reflexivity.
Qed.

Lemma whole_decreasing : decreasing whole_truncation.
Proof.
  assert (low := apart_low). intros i j order _. change (0 <= two_values j <= two_values i).
  unfold two_values, larger, smaller. destruct i, j; try lia; lra.
Qed.

Lemma whole_keeps : keeps_the_least counted whole_truncation.
Proof.
  assert (low := apart_low). unfold keeps_the_least. change (kept whole_truncation) with 2%nat.
  change (bases.theta whole_truncation) with theta.
  assert (none : tail_after whole_truncation 2 = 0) by (change (sqrt 0 = 0); apply sqrt_0).
  assert (last : tail_after whole_truncation 1 = smaller).
  { change (sqrt (0 + smaller * (smaller * 1)) = smaller).
    replace (0 + smaller * (smaller * 1)) with (smaller * smaller) by ring. apply sqrt_square. unfold smaller. lra. }
  assert (all : larger <= tail_after whole_truncation 0).
  { change (larger <= sqrt (0 + larger * (larger * 1) + smaller * (smaller * 1))).
    rewrite <- (sqrt_square larger) at 1 by (unfold larger; lra). apply sqrt_le_1_alt.
    assert (0 <= smaller * smaller) by apply Rle_0_sqr. lra. }
  assert (cases : counted = 0%nat \/ counted = 1%nat) by lia.
  split; [lia|]. destruct cases as [no|one]; [rewrite no|rewrite one]; cbn [Nat.sub].
  - destruct (below_both no) as [some least]. rewrite none. split; [assumption|].
    intros k below. destruct k as [|[|k]]; [| |lia]; cbn [Nat.sub]; [|rewrite last]; lra.
  - rewrite last. split; [exact (between one)|]. intros k below. replace k with 1%nat by lia. cbn [Nat.sub]. lra.
Qed.
End BothKept.
End PlaneRound.
