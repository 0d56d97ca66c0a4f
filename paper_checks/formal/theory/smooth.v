(** Smooth functions: a gradient that changes by at most L times the way. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces.
Open Scope R_scope.

(** [g] is the gradient of [f]: along each line the derivative is the product with it. *)
Definition is_gradient {E : space} (f : E -> R) (g : E -> E) : Prop :=
  forall x v : E, derivable_pt_lim (fun t => f (x ⊕ t ⋅ v)) 0 ⟨ g x, v ⟩.

(** [f] is L-smooth: its gradient [g] is Lipschitz continuous with the constant L. *)
Definition smooth {E : space} (L : R) (f : E -> R) (g : E -> E) : Prop :=
  is_gradient f g /\ forall x y : E, ‖(g x ⊖ g y)‖ <= L * ‖(x ⊖ y)‖.

Lemma derivative_of_square a b t : derivable_pt_lim (fun t => a * t + b * (t * t)) t (a + 2 * b * t).
Proof.
  intros eps positive.
  assert (above : 0 < Rabs b + 1) by (assert (sign := Rabs_pos b); lra).
  exists (mkposreal _ (Rdiv_lt_0_compat _ _ positive above)). simpl. intros h nonzero small.
  replace ((a * (t + h) + b * ((t + h) * (t + h)) - (a * t + b * (t * t))) / h - (a + 2 * b * t))
    with (h * b) by (field; assumption).
  rewrite Rabs_mult. assert (sign := Rabs_pos b). assert (room := Rabs_pos h).
  apply Rle_lt_trans with (Rabs h * (Rabs b + 1)); [nra|].
  replace eps with (eps / (Rabs b + 1) * (Rabs b + 1)) by (field; lra).
  apply Rmult_lt_compat_r; lra.
Qed.

Section Smooth.
Context {E : space}.
Implicit Types f : E -> R.
Implicit Types g : E -> E.

Lemma gradient_on_line f g (x v : E) t :
  is_gradient f g -> derivable_pt_lim (fun t => f (x ⊕ t ⋅ v)) t ⟨ g (x ⊕ t ⋅ v), v ⟩.
Proof.
  intros gradient eps positive. destruct (gradient (x ⊕ t ⋅ v) v eps positive) as [delta near].
  exists delta. intros h nonzero small. specialize (near h nonzero small).
  replace (x ⊕ (t + h) ⋅ v) with ((x ⊕ t ⋅ v) ⊕ (0 + h) ⋅ v) by vectors.
  replace (f (x ⊕ t ⋅ v)) with (f ((x ⊕ t ⋅ v) ⊕ 0 ⋅ v)) by (f_equal; vectors).
  exact near.
Qed.

(** The change of a smooth function is at most that of its linear part and half of L times the squared way. *)
Theorem smooth_bound L f g (x v : E) :
  smooth L f g -> f (x ⊕ v) <= f x + ⟨ g x, v ⟩ + L / 2 * ⟨ v, v ⟩.
Proof.
  intros [gradient lipschitz].
  set (way := fun t => f (x ⊕ t ⋅ v) - (⟨ g x, v ⟩ * t + L / 2 * ⟨ v, v ⟩ * (t * t))).
  set (slope := fun t => ⟨ g (x ⊕ t ⋅ v), v ⟩ - (⟨ g x, v ⟩ + 2 * (L / 2 * ⟨ v, v ⟩) * t)).
  assert (derivative : forall t, 0 <= t <= 1 -> derivable_pt_lim way t (slope t)).
  { intros t _. unfold way, slope.
    apply derivable_pt_lim_minus; [now apply gradient_on_line|apply derivative_of_square]. }
  destruct (MVT_cor2 way slope 0 1) as (t & change & inside); [lra|exact derivative|].
  assert (falls : slope t <= 0).
  { unfold slope. replace (2 * (L / 2 * ⟨ v, v ⟩) * t) with (L * t * ⟨ v, v ⟩) by field.
    apply Rle_trans with (⟨ g (x ⊕ t ⋅ v) ⊖ g x, v ⟩ - L * t * ⟨ v, v ⟩); [rewrite dot_sub; lra|].
    assert (step := dot_le (g (x ⊕ t ⋅ v) ⊖ g x) v).
    assert (turn := lipschitz (x ⊕ t ⋅ v) x).
    replace ((x ⊕ t ⋅ v) ⊖ x) with (t ⋅ v) in turn by vectors.
    rewrite norm_scale, Rabs_right in turn by lra. rewrite <- norm_square.
    assert (nv := norm_nonneg v). nra. }
  unfold way in change at 1 2.
  replace (x ⊕ 1 ⋅ v) with (x ⊕ v) in change by vectors.
  replace (x ⊕ 0 ⋅ v) with x in change by vectors.
  lra.
Qed.

(** Where a gradient is at most G long on the way, the function changes by at most G times the way. *)
Theorem bounded_gradient f g (x v : E) G :
  is_gradient f g -> (forall t, 0 <= t <= 1 -> ‖(g (x ⊕ t ⋅ v))‖ <= G) -> f (x ⊕ v) <= f x + G * ‖v‖.
Proof.
  intros gradient bounded.
  destruct (MVT_cor2 (fun t => f (x ⊕ t ⋅ v)) (fun t => ⟨ g (x ⊕ t ⋅ v), v ⟩) 0 1) as (t & change & inside).
  - lra.
  - intros t _. now apply gradient_on_line.
  - cbv beta in change. replace (x ⊕ 1 ⋅ v) with (x ⊕ v) in change by vectors.
    replace (x ⊕ 0 ⋅ v) with x in change by vectors.
    assert (step := dot_le (g (x ⊕ t ⋅ v)) v). assert (nv := norm_nonneg v).
    assert (short := bounded t ltac:(lra)). nra.
Qed.

(** The mean of smooth functions is smooth. *)
Definition mean_loss (C : nat) (f : nat -> E -> R) : E -> R := fun x => mean C (fun c => f c x).
Definition mean_gradient (C : nat) (g : nat -> E -> E) : E -> E := fun x => vmean C (fun c => g c x).

Lemma derivative_of_sum C (f : nat -> R -> R) (d : nat -> R) t :
  (forall c, (c < C)%nat -> derivable_pt_lim (f c) t (d c)) ->
  derivable_pt_lim (fun t => sum C (fun c => f c t)) t (sum C d).
Proof.
  induction C as [|C IH]; intro each; simpl.
  - apply derivable_pt_lim_const.
  - apply (derivable_pt_lim_plus (fun t => sum C (fun c => f c t)) (f C)); auto with arith.
Qed.

Lemma mean_smooth C L (f : nat -> E -> R) (g : nat -> E -> E) :
  (0 < C)%nat -> (forall c, (c < C)%nat -> smooth L (f c) (g c)) -> smooth L (mean_loss C f) (mean_gradient C g).
Proof.
  intros some each. split.
  - intros x v. unfold mean_loss, mean_gradient. rewrite dot_vmean. unfold mean.
    apply (derivable_pt_lim_scal (fun t => sum C (fun c => f c (x ⊕ t ⋅ v)))).
    apply derivative_of_sum. intros c below. now apply each.
  - intros x y. unfold mean_gradient. rewrite <- vmean_sub.
    eapply Rle_trans; [now apply norm_vmean|].
    replace (L * ‖(x ⊖ y)‖) with (mean C (fun _ => L * ‖(x ⊖ y)‖)) by now apply mean_const.
    apply mean_le; [assumption|]. intros c below. now apply each.
Qed.
End Smooth.

(** A change of coordinates: [f] is linear, [t] its adjoint, and [f] keeps lengths. *)
Record isometry (E H : space) := Isometry {
  into : H -> E;
  back : E -> H;
  into_adjoint : forall x y, ⟨ into x, y ⟩ = ⟨ x, back y ⟩;
  back_into : forall x, back (into x) = x
}.
Arguments into {E H}.
Arguments back {E H}.

Section Isometry.
Context {E H : space} (i : isometry E H).

Lemma into_add x y : into i (x ⊕ y) = into i x ⊕ into i y.
Proof. apply eq_by_dot; intro z. now rewrite dot_add, !into_adjoint, dot_add. Qed.

Lemma into_scale a x : into i (a ⋅ x) = a ⋅ into i x.
Proof. apply eq_by_dot; intro z. now rewrite dot_scale, !into_adjoint, dot_scale. Qed.

Lemma into_sub x y : into i (x ⊖ y) = into i x ⊖ into i y.
Proof. unfold sub. now rewrite into_add, into_scale. Qed.

Lemma into_norm x : ‖(into i x)‖ = ‖x‖.
Proof. unfold norm. now rewrite into_adjoint, back_into. Qed.

Lemma back_sub x y : back i (x ⊖ y) = back i x ⊖ back i y.
Proof.
  apply eq_by_dot; intro z. rewrite dot_sub, !(dot_sym _ (back i _)), <- !into_adjoint. apply dot_sub_r.
Qed.

Lemma back_vmean n (f : nat -> E) : back i (vmean n f) = vmean n (fun k => back i (f k)).
Proof.
  apply eq_by_dot; intro z. rewrite dot_sym, <- into_adjoint, dot_sym, !dot_vmean.
  apply mean_ext. intros k _. rewrite dot_sym, into_adjoint. apply dot_sym.
Qed.

Lemma back_norm x : ‖(back i x)‖ <= ‖x‖.
Proof.
  assert (step := dot_le (into i (back i x)) x).
  rewrite into_adjoint, into_norm, <- norm_square in step.
  assert (nb := norm_nonneg (back i x)). assert (nx := norm_nonneg x).
  destruct (Rle_lt_dec ‖(back i x)‖ 0) as [none|some]; [lra|]. nra.
Qed.

Lemma smooth_back L f g :
  smooth L f g -> smooth L (fun x : H => f (into i x)) (fun x => back i (g (into i x))).
Proof.
  intros [gradient lipschitz]. split.
  - intros x v. rewrite dot_sym, <- into_adjoint, dot_sym.
    intros eps positive. destruct (gradient (into i x) (into i v) eps positive) as [delta near].
    exists delta. intros h nonzero small. specialize (near h nonzero small).
    now rewrite !into_add, !into_scale.
  - intros x y. rewrite <- back_sub. eapply Rle_trans; [apply back_norm|].
    eapply Rle_trans; [apply lipschitz|]. rewrite <- into_sub, into_norm. apply Rle_refl.
Qed.
End Isometry.

(** Half of L times the squared distance from [b] is L-smooth, and so is its negative. *)
Section Bowl.
Context {E : space}.
Variable b : E.
Definition bowl (a : R) (x : E) : R := a / 2 * ⟨ x ⊖ b, x ⊖ b ⟩.
Definition bowl_gradient (a : R) (x : E) : E := a ⋅ (x ⊖ b).

Lemma bowl_smooth L a : Rabs a <= L -> smooth L (bowl a) (bowl_gradient a).
Proof.
  intro bounded. split.
  - intros x v.
    assert (line := derivative_of_square ⟨ a ⋅ (x ⊖ b), v ⟩ (a / 2 * ⟨ v, v ⟩) 0).
    intros eps positive. destruct (line eps positive) as [delta near].
    exists delta. intros h nonzero small. specialize (near h nonzero small).
    replace (bowl a (x ⊕ (0 + h) ⋅ v) - bowl a (x ⊕ 0 ⋅ v))
      with (⟨ a ⋅ (x ⊖ b), v ⟩ * (0 + h) + a / 2 * ⟨ v, v ⟩ * ((0 + h) * (0 + h)) -
            (⟨ a ⋅ (x ⊖ b), v ⟩ * 0 + a / 2 * ⟨ v, v ⟩ * (0 * 0))).
    + unfold bowl_gradient. replace ⟨ a ⋅ (x ⊖ b), v ⟩
        with (⟨ a ⋅ (x ⊖ b), v ⟩ + 2 * (a / 2 * ⟨ v, v ⟩) * 0) at 3 by ring. exact near.
    + unfold bowl. autorewrite with products.
      rewrite (dot_sym _ v x), (dot_sym _ b x), (dot_sym _ b v). field.
  - intros x y. unfold bowl_gradient.
    replace (a ⋅ (x ⊖ b) ⊖ a ⋅ (y ⊖ b)) with (a ⋅ (x ⊖ y)) by vectors.
    rewrite norm_scale. apply Rmult_le_compat_r; [apply norm_nonneg|assumption].
Qed.
End Bowl.
