(** The spectral theorem, by the largest value of a quadratic form at right angles with the eigenvectors found before. *)

From Coq Require Import Reals Lra Lia Psatz List Classical_Prop.
From Rankproof Require Import sums spaces dimension.
Open Scope R_scope.

Record symmetric {E : space} (T : E -> E) : Prop := Symmetric {
  image_add : forall x y, T (x ⊕ y) = T x ⊕ T y;
  image_scale : forall a x, T (a ⋅ x) = a ⋅ T x;
  moves : forall x y, ⟨ T x, y ⟩ = ⟨ x, T y ⟩
}.

Section Form.
Context {E : space} {T : E -> E}.
Variables (mu : R) (symmetry : symmetric T).

(** How far the form is below mu, as a product. *)
Definition gap (x y : E) : R := mu * ⟨ x, y ⟩ - ⟨ T x, y ⟩.

Hypothesis nonneg : forall x, 0 <= gap x x.

Lemma gap_sym x y : gap x y = gap y x.
Proof. unfold gap. rewrite (moves _ symmetry), (dot_sym _ x y), (dot_sym _ x (T y)). reflexivity. Qed.

Lemma gap_add x y z : gap (x ⊕ y) z = gap x z + gap y z.
Proof. unfold gap. rewrite (image_add _ symmetry), !dot_add. ring. Qed.

Lemma gap_scale a x y : gap (a ⋅ x) y = a * gap x y.
Proof. unfold gap. rewrite (image_scale _ symmetry), !dot_scale. ring. Qed.

(** Where the form reaches mu there is an eigenvector. *)
Lemma eigenvector x : gap x x = 0 -> T x = mu ⋅ x.
Proof.
  intro none.
  assert (all : forall y, gap x y = 0).
  { intro y. set (a := gap x y). set (b := gap y y). assert (sign : 0 <= b) by apply nonneg.
    assert (step := nonneg (x ⊕ (- a / (b + 1)) ⋅ y)).
    rewrite gap_add, gap_scale, (gap_sym x (x ⊕ _)), (gap_sym y (x ⊕ _)), !gap_add, !gap_scale, none, (gap_sym y x) in step.
    fold a b in step. assert (positive : 0 < b + 1) by lra.
    replace (0 + - a / (b + 1) * a + - a / (b + 1) * (a + - a / (b + 1) * b))
      with (- (a * a) * ((b + 2) * / ((b + 1) * (b + 1)))) in step by (field; lra).
    assert (0 < (b + 2) * / ((b + 1) * (b + 1))).
    { apply Rmult_lt_0_compat; [lra|]. apply Rinv_0_lt_compat. nra. }
    assert (a * a <= 0) by nra. nra. }
  apply eq_by_dot. intro z. rewrite dot_scale. specialize (all z). unfold gap in all. lra.
Qed.

(** A form that is nowhere 0 but at 0 is a product of its own, and at least a share of the square. *)
Lemma bounded_below N (e : nat -> E) :
  basis N e -> (forall x, gap x x = 0 -> x = zero) -> exists c, 0 < c /\ forall x, c * ⟨ x, x ⟩ <= gap x x.
Proof.
  intros [unit whole] definite.
  set (E' := Space E zero (@add E) (@scale E) gap (add_comm E) (add_assoc E) (add_zero E) (add_inverse E) (scale_one E)
    (scale_scale E) (scale_add E) (add_scale E) gap_sym gap_add gap_scale nonneg definite).
  destruct (@orthonormalised E' (map e (seq 0 N))) as (k & v & _ & family & enough).
  set (total := sum k (fun i => @dot E (v i) (v i))).
  assert (total_nonneg : 0 <= total) by (apply sum_nonneg; intros; apply dot_nonneg).
  assert (k_nonneg := pos_INR k).
  exists (/ (1 + INR k * total)). assert (room : 0 < 1 + INR k * total) by nra.
  split; [now apply Rinv_0_lt_compat|]. intro x.
  assert (none : @rest E' k v x = zero).
  { apply definite. assert (right : forall i, (i < N)%nat -> gap (@rest E' k v x) (e i) = 0).
    { intros i low. apply (enough (@rest E' k v x)).
      - intros j below. rewrite dot_sym. now apply (@rest_right E').
      - apply in_map. apply in_seq. lia. }
    revert right. generalize (@rest E' k v x). intro r. change (vector E) in r. intro right.
    assert (dead : ⟨ mu ⋅ r ⊖ T r, mu ⋅ r ⊖ T r ⟩ = 0).
    { rewrite whole. apply sum_zero. intros i low. specialize (right i low). unfold gap in right.
      replace ⟨ mu ⋅ r ⊖ T r, e i ⟩ with 0; [ring|]. rewrite dot_sub, dot_scale. lra. }
    apply dot_definite, sub_zero_eq in dead. unfold gap. rewrite <- dead, dot_scale. ring. }
  assert (square := @rest_square E' k v x family). rewrite none in square. rewrite dot_zero in square.
  assert (as_sum : x = @vsum E k (fun i => @scale E (gap x (v i)) (v i))).
  { apply sub_zero_eq in none. rewrite none at 1. clear -v x. induction k as [|k IH]; [reflexivity|]. cbn [vsum]. now rewrite IH. }
  assert (gap_is : gap x x = sum k (fun i => gap x (v i) * gap x (v i))).
  { change (0 = gap x x - sum k (fun i => gap x (v i) * gap x (v i))) in square. lra. }
  assert (short : ⟨ x, x ⟩ <= INR k * (total * gap x x)).
  { rewrite as_sum at 1 2. eapply Rle_trans; [apply square_of_vsum|]. apply Rmult_le_compat_l; [assumption|].
    rewrite gap_is, <- sum_scale. apply sum_le. intros i low. rewrite dot_scale, dot_scale_r.
    assert (part : @dot E (v i) (v i) <= total).
    { apply (sum_term k (fun i => @dot E (v i) (v i))); [|assumption]. intros; apply dot_nonneg. }
    assert (0 <= gap x (v i) * gap x (v i)) by apply Rle_0_sqr. nra. }
  apply Rmult_le_reg_l with (1 + INR k * total); [assumption|].
  rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. assert (sign := nonneg x). lra.
Qed.
End Form.

(** An eigenvector for the largest value of a form. *)
Lemma largest {E : space} (T : E -> E) N (e : nat -> E) bound :
  symmetric T -> basis N e -> (0 < N)%nat -> (forall x, ⟨ T x, x ⟩ <= bound * ⟨ x, x ⟩) ->
  exists mu x, ⟨ x, x ⟩ = 1 /\ T x = mu ⋅ x /\ forall y, ⟨ T y, y ⟩ <= mu * ⟨ y, y ⟩.
Proof.
  intros symmetry base some bounded.
  destruct (completeness (fun r => exists x, ⟨ x, x ⟩ = 1 /\ r = ⟨ T x, x ⟩)) as [mu [upper least]].
  - exists bound. intros r (x & unit & ->). specialize (bounded x). rewrite unit in bounded. lra.
  - exists ⟨ T (e 0%nat), e 0%nat ⟩, (e 0%nat). split; [|reflexivity]. destruct base as [unit _].
    now rewrite (unit 0%nat 0%nat some some).
  - assert (below : forall y, ⟨ T y, y ⟩ <= mu * ⟨ y, y ⟩).
    { intro y. destruct (zero_or_not y) as [->|positive].
      - rewrite !dot_zero_r. lra.
      - set (size := sqrt ⟨ y, y ⟩). assert (0 < size) by now apply sqrt_lt_R0.
        assert (square : size * size = ⟨ y, y ⟩) by (apply sqrt_sqrt; lra).
        assert (one := upper ⟨ T (/ size ⋅ y), / size ⋅ y ⟩).
        assert (step : ⟨ T (/ size ⋅ y), / size ⋅ y ⟩ <= mu).
        { apply one. exists (/ size ⋅ y). split; [|reflexivity]. rewrite dot_scale, dot_scale_r, <- square. field. lra. }
        rewrite (image_scale _ symmetry), dot_scale, dot_scale_r in step. rewrite <- square.
        replace ⟨ T y, y ⟩ with (size * size * (/ size * (/ size * ⟨ T y, y ⟩))) by (field; lra).
        rewrite (Rmult_comm mu). apply Rmult_le_compat_l; [nra|assumption]. }
    assert (nonneg : forall x, 0 <= gap (T := T) mu x x) by (intro x; unfold gap; specialize (below x); lra).
    destruct (classic (exists x, gap (T := T) mu x x = 0 /\ x <> zero)) as [(x & none & some_x)|all].
    + exists mu. destruct (zero_or_not x) as [|positive]; [contradiction|].
      set (size := sqrt ⟨ x, x ⟩). assert (0 < size) by now apply sqrt_lt_R0.
      assert (square : size * size = ⟨ x, x ⟩) by (apply sqrt_sqrt; lra).
      exists (/ size ⋅ x). split; [rewrite dot_scale, dot_scale_r, <- square; field; lra|]. split; [|assumption].
      rewrite (image_scale _ symmetry), (eigenvector mu symmetry nonneg x none). vectors.
    + exfalso. destruct (bounded_below mu symmetry nonneg N e base) as (c & positive & share).
      * intros x none. apply NNPP. intro other. apply all. now exists x.
      * assert (mu <= mu - c); [|lra]. apply least. intros r (x & unit & ->). specialize (share x).
        unfold gap in share. rewrite unit in share. lra.
Qed.

(** The next eigenvector, at right angles with those found before. *)
Theorem next_eigenvector {E : space} (T : E -> E) N (e : nat -> E) bound m (w : nat -> E) (nu : nat -> R) :
  symmetric T -> basis N e -> (forall x, Rabs ⟨ T x, x ⟩ <= bound * ⟨ x, x ⟩) ->
  orthonormal_family m w -> (forall i, (i < m)%nat -> T (w i) = nu i ⋅ w i) -> (m < N)%nat ->
  exists mu x, ⟨ x, x ⟩ = 1 /\ (forall i, (i < m)%nat -> ⟨ x, w i ⟩ = 0) /\ T x = mu ⋅ x /\
  forall y, (forall i, (i < m)%nat -> ⟨ y, w i ⟩ = 0) -> ⟨ T y, y ⟩ <= mu * ⟨ y, y ⟩.
Proof.
  intros symmetry base bounded family known few.
  set (T' := fun x => T x ⊖ vsum m (fun i => ((nu i + bound + 1) * ⟨ x, w i ⟩) ⋅ w i)).
  assert (form : forall x y, ⟨ T' x, y ⟩ = ⟨ T x, y ⟩ - sum m (fun i => (nu i + bound + 1) * (⟨ x, w i ⟩ * ⟨ y, w i ⟩))).
  { intros x y. unfold T'. rewrite dot_sub, dot_vsum. f_equal. apply sum_ext. intros.
    rewrite dot_scale, (dot_sym _ (w i)). ring. }
  assert (symmetry' : symmetric T').
  { split.
    - intros x y. apply eq_by_dot. intro z. rewrite dot_add, !form, (image_add _ symmetry), dot_add.
      rewrite (sum_ext m _ (fun i => (nu i + bound + 1) * (⟨ x, w i ⟩ * ⟨ z, w i ⟩)
        + (nu i + bound + 1) * (⟨ y, w i ⟩ * ⟨ z, w i ⟩))) by (intros; rewrite dot_add; ring).
      rewrite sum_add. ring.
    - intros a x. apply eq_by_dot. intro z. rewrite dot_scale, !form, (image_scale _ symmetry), dot_scale.
      rewrite (sum_ext m _ (fun i => a * ((nu i + bound + 1) * (⟨ x, w i ⟩ * ⟨ z, w i ⟩))))
        by (intros; rewrite dot_scale; ring).
      rewrite sum_scale. ring.
    - intros x y. rewrite (dot_sym _ x), !form, (moves _ symmetry), (dot_sym _ x (T y)). f_equal.
      apply sum_ext. intros. ring. }
  assert (at_w : forall i, (i < m)%nat -> - bound <= nu i).
  { intros i low. assert (step := bounded (w i)). rewrite (known i low), dot_scale in step.
    rewrite (family i i low low), Nat.eqb_refl in step.
    assert (sides := Rle_abs (- (nu i * 1))). rewrite Rabs_Ropp in sides. lra. }
  destruct (largest T' N e bound symmetry' base ltac:(lia)) as (mu & x & unit & own & most).
  - intro x. rewrite form. assert (step := bounded x). assert (side := Rle_abs ⟨ T x, x ⟩).
    assert (0 <= sum m (fun i => (nu i + bound + 1) * (⟨ x, w i ⟩ * ⟨ x, w i ⟩))); [|lra].
    apply sum_nonneg. intros i low. apply Rmult_le_pos; [specialize (at_w i low); lra|apply Rle_0_sqr].
  - assert (outside : forall y, (forall i, (i < m)%nat -> ⟨ y, w i ⟩ = 0) -> ⟨ T y, y ⟩ <= mu * ⟨ y, y ⟩).
    { intros y right. specialize (most y). rewrite form, sum_zero in most; [lra|]. intros i low. rewrite right by assumption. ring. }
    assert (mu_low : - bound <= mu).
    { destruct (room N e (map w (seq 0 m))) as (y & positive & right); [assumption|rewrite map_length, seq_length; lia|].
      assert (step := outside y). assert (side := bounded y).
      assert (low := Rle_abs (- ⟨ T y, y ⟩)). rewrite Rabs_Ropp in low.
      assert (⟨ T y, y ⟩ <= mu * ⟨ y, y ⟩).
      { apply step. intros i below. apply right. apply in_map. apply in_seq. lia. }
      nra. }
    assert (right : forall i, (i < m)%nat -> ⟨ x, w i ⟩ = 0).
    { intros i low. assert (both := moves _ symmetry' x (w i)). rewrite own, dot_scale in both.
      assert (T_w : ⟨ x, T' (w i) ⟩ = - (bound + 1) * ⟨ x, w i ⟩).
      { rewrite dot_sym, form, (known i low), dot_scale, (dot_sym _ (w i) x).
        rewrite (sum_single m _ i) by
          first [assumption | intros j below other; rewrite (family i j low below);
            destruct (Nat.eqb_spec i j); [congruence|ring]].
        rewrite (family i i low low), Nat.eqb_refl. ring. }
      rewrite T_w in both. assert ((mu + bound + 1) * ⟨ x, w i ⟩ = 0) by lra.
      apply Rmult_integral in H. destruct H; lra. }
    exists mu, x. split; [assumption|]. split; [assumption|]. split; [|assumption].
    rewrite <- own. apply eq_by_dot. intro z. rewrite form, sum_zero; [ring|]. intros i low. rewrite right by assumption. ring.
Qed.
