(** One iteration of RoLoRA's linear model with infinitely many samples (Algorithm 2, Appendix A.5): each client fits b
    to a, the server takes the mean, then a makes a step along the mean gradient and is normalised. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From RoLoRA Require Import outer.
Open Scope R_scope.

(** The population loss of a client at a and b. *)
Definition population {d q} (a_star : M d 1) (b_star : M q 1) (a : M d 1) (b : M q 1) : R :=
  ‖(a_star × b_star^T ⊖ a × b^T)‖ ^ 2.

Record iteration := Iteration {
  d : nat; q : nat; N : nat;                  (* the lengths of a and b, and the clients *)
  a_star : M d 1; own_b_star : nat -> M q 1;  (* what is to be learned: the clients have one a^* and each its b_i^* *)
  a : M d 1;                                  (* a^t *)
  eta : R;                                    (* the step *)
  own_b : nat -> M q 1;                       (* b_i, the clients' minimisers *)
  gradient : nat -> M d 1 -> M d 1;           (* nabla_a l_i at the mean of the b_i, as a function of a *)
  some_clients : (1 <= N)%nat;
  unit_a_star : ‖a_star‖ = 1;
  unit_a : ‖a‖ = 1;
  step_nonneg : 0 <= eta;
  minimisers : forall i other, (i < N)%nat ->
    population a_star (own_b_star i) a (own_b i) <= population a_star (own_b_star i) a other;
  gradients : forall i, (i < N)%nat ->
    is_gradient (fun x => population a_star (own_b_star i) x (vmean N own_b)) (gradient i)
}.

(** A gradient is the only one. *)
Lemma gradient_unique {E : space} (f : E -> R) (g h : E -> E) (x : E) :
  is_gradient f g -> is_gradient f h -> g x = h x.
Proof. intros one other. apply eq_by_dot. intro v. exact (uniqueness_limite _ _ _ _ (one x v) (other x v)). Qed.

Lemma population_gradient {d q} (a_star : M d 1) (b_star b : M q 1) :
  is_gradient (fun x => population a_star b_star x b) (fun x => 2 ⋅ (x × b^T × b ⊖ a_star × b_star^T × b)).
Proof.
  intros x v. set (w := a_star × b_star^T ⊖ x × b^T). set (e := v × b^T).
  assert (product : ⟨ 2 ⋅ (x × b^T × b ⊖ a_star × b_star^T × b), v ⟩ = - (2 * ⟨ w, e ⟩)).
  { rewrite dot_scale, dot_sub. unfold w, e. rewrite dot_sub.
    rewrite !(dot_product_right _ b v). ring. }
  assert (line := derivative_of_square (- (2 * ⟨ w, e ⟩)) ⟨ e, e ⟩ 0).
  intros eps positive. destruct (line eps positive) as [near small]. exists near. intros h nonzero inside.
  specialize (small h nonzero inside).
  assert (value : forall t, population a_star b_star (x ⊕ t ⋅ v) b = ⟨ w, w ⟩ + (- (2 * ⟨ w, e ⟩) * t + ⟨ e, e ⟩ * (t * t))).
  { intro t. unfold population. rewrite square_of_norm, add_product, scale_product. fold e.
    replace (a_star × b_star^T ⊖ (x × b^T ⊕ t ⋅ e)) with (w ⊖ t ⋅ e) by (unfold w; vectors).
    autorewrite with products. rewrite (dot_sym _ e w). ring. }
  rewrite !value, product.
  replace (⟨ w, w ⟩ + (- (2 * ⟨ w, e ⟩) * (0 + h) + ⟨ e, e ⟩ * ((0 + h) * (0 + h)))
    - (⟨ w, w ⟩ + (- (2 * ⟨ w, e ⟩) * 0 + ⟨ e, e ⟩ * (0 * 0))))
    with (- (2 * ⟨ w, e ⟩) * (0 + h) + ⟨ e, e ⟩ * ((0 + h) * (0 + h)) - (- (2 * ⟨ w, e ⟩) * 0 + ⟨ e, e ⟩ * (0 * 0))) by ring.
  replace (- (2 * ⟨ w, e ⟩)) with (- (2 * ⟨ w, e ⟩) + 2 * ⟨ e, e ⟩ * 0) at 3 by ring. exact small.
Qed.

Section Iteration.
Variable it : iteration.

(** The mean of the b_i^*, which is b^* where all clients have the same. *)
Definition b_star : M (q it) 1 := vmean (N it) (own_b_star it).
(** b^{t+1}, and a^{t+1}, which is a^t after the step, with the length 1. *)
Definition b_next : M (q it) 1 := vmean (N it) (own_b it).
Definition a_plus : M (d it) 1 := a it ⊖ eta it ⋅ vmean (N it) (fun i => gradient it i (a it)).
Definition a_next : M (d it) 1 := / ‖a_plus‖ ⋅ a_plus.

(** The cosine of the angle between a and a_star. *)
Definition cosine : R := ⟨ a_star it, a it ⟩.
(** The angle distance of a vector: the length of (I - a_star a_star^T) x. *)
Definition delta_of (x : M (d it) 1) : R := ‖(x ⊖ ⟨ a_star it, x ⟩ ⋅ a_star it)‖.
Definition delta : R := delta_of (a it).
Definition delta_next : R := delta_of a_next.
(** eta times the square of the length of b_star. *)
Definition s : R := eta it * ‖b_star‖ ^ 2.

Lemma one_of_unit : ⟨ a_star it, a_star it ⟩ = 1.
Proof. rewrite <- norm_square, unit_a_star. ring. Qed.

Lemma one_of_a : ⟨ a it, a it ⟩ = 1.
Proof. rewrite <- norm_square, unit_a. ring. Qed.

(** Lemma A.15. *)
Lemma own_b_is i : (i < N it)%nat -> own_b it i = cosine ⋅ own_b_star it i.
Proof.
  intro low. assert (least := minimisers it i (cosine ⋅ own_b_star it i) low). unfold population in least.
  rewrite !completed in least by (rewrite one_of_a; lra). rewrite unit_a in least.
  rewrite (dot_sym _ (a it) (a_star it)) in least. fold cosine in least.
  replace (cosine / 1 ^ 2) with cosine in least by field.
  replace (cosine ⋅ own_b_star it i ⊖ cosine ⋅ own_b_star it i) with (zero : M (q it) 1) in least by vectors.
  rewrite norm_zero in least. apply sub_zero_eq, dot_definite. rewrite <- square_of_norm.
  assert (square := pow2_ge_0 ‖(own_b it i ⊖ cosine ⋅ own_b_star it i)‖). lra.
Qed.

Lemma b_next_is : b_next = cosine ⋅ b_star.
Proof. unfold b_next, b_star. rewrite <- vmean_scale. apply vmean_ext. exact own_b_is. Qed.

Lemma a_plus_by_mean :
  a_plus = a it ⊖ (2 * eta it) ⋅ (⟨ b_next, b_next ⟩ ⋅ a it ⊖ ⟨ b_star, b_next ⟩ ⋅ a_star it).
Proof.
  unfold a_plus.
  rewrite (vmean_ext (N it) _ (fun i => (2 * ⟨ b_next, b_next ⟩) ⋅ a it ⊖ (2 * ⟨ own_b_star it i, b_next ⟩) ⋅ a_star it)).
  - rewrite vmean_sub, vmean_const by apply some_clients.
    replace (vmean (N it) (fun i => (2 * ⟨ own_b_star it i, b_next ⟩) ⋅ a_star it))
      with ((2 * ⟨ b_star, b_next ⟩) ⋅ a_star it); [vectors|].
    unfold b_star. apply eq_by_dot; intro z. rewrite !dot_vmean, dot_scale.
    rewrite (mean_ext (N it) (fun i => ⟨ (2 * ⟨ own_b_star it i, b_next ⟩) ⋅ a_star it, z ⟩)
      (fun i => 2 * ⟨ a_star it, z ⟩ * ⟨ own_b_star it i, b_next ⟩)) by (intros; rewrite dot_scale; ring).
    rewrite mean_scale. ring.
  - intros i low. rewrite (gradient_unique _ _ _ (a it) (gradients it i low) (population_gradient _ _ _)).
    fold b_next. rewrite !outer_times. vectors.
Qed.

Lemma square_of_delta x : delta_of x * delta_of x = ⟨ x, x ⟩ - ⟨ a_star it, x ⟩ * ⟨ a_star it, x ⟩.
Proof.
  unfold delta_of. rewrite norm_square. autorewrite with products. rewrite one_of_unit, (dot_sym _ x (a_star it)). ring.
Qed.

Lemma delta_square : delta * delta = 1 - cosine * cosine.
Proof. unfold delta. rewrite square_of_delta, one_of_a. reflexivity. Qed.

Lemma s_nonneg : 0 <= s.
Proof. unfold s. apply Rmult_le_pos; [apply step_nonneg|apply pow2_ge_0]. Qed.

Lemma a_plus_is : a_plus = (1 - 2 * s * (cosine * cosine)) ⋅ a it ⊕ (2 * s * cosine) ⋅ a_star it.
Proof.
  rewrite a_plus_by_mean, b_next_is. unfold s. rewrite dot_scale, !dot_scale_r, <- norm_square.
  generalize cosine as c. intro c. generalize ‖b_star‖ as b. intro b. vectors.
Qed.

Lemma length_of_a_plus : ⟨ a_plus, a_plus ⟩ = 1 + 4 * s * s * (cosine * cosine) * (delta * delta).
Proof.
  rewrite a_plus_is, delta_square. autorewrite with products. rewrite one_of_unit, one_of_a, (dot_sym _ (a it)).
  fold cosine. ring.
Qed.

(** What an iteration makes of the angle distance. *)
Theorem delta_next_square :
  delta_next * delta_next * (1 + 4 * s * s * (cosine * cosine) * (delta * delta))
  = delta * delta * (1 - 2 * s * (cosine * cosine)) ^ 2.
Proof.
  assert (long : 0 < ⟨ a_plus, a_plus ⟩).
  { rewrite length_of_a_plus. assert (0 <= s * s) by apply Rle_0_sqr.
    assert (0 <= s * s * (cosine * cosine) * (delta * delta)); [|lra].
    apply Rmult_le_pos; [apply Rmult_le_pos|]; try assumption; apply Rle_0_sqr. }
  rewrite <- length_of_a_plus. unfold delta_next. rewrite square_of_delta.
  unfold a_next. rewrite !dot_scale, !dot_scale_r.
  assert (inverse : / ‖a_plus‖ * / ‖a_plus‖ * ⟨ a_plus, a_plus ⟩ = 1).
  { rewrite <- norm_square. field. intro none. rewrite <- norm_square, none in long. lra. }
  set (i := / ‖a_plus‖) in *. set (q := ⟨ a_plus, a_plus ⟩) in *. set (p := ⟨ a_star it, a_plus ⟩).
  replace ((i * (i * q) - i * p * (i * p)) * q) with (i * i * q * (q - p * p)) by ring.
  rewrite inverse, Rmult_1_l. unfold q, p. rewrite length_of_a_plus, a_plus_is.
  rewrite dot_add_r, !dot_scale_r, one_of_unit. fold cosine. rewrite delta_square. ring.
Qed.
End Iteration.

(** All data make an iteration. *)
Definition iteration_of (d q N : nat) (a_star : M d 1) (own_b_star : nat -> M q 1) (a : M d 1) (eta : R)
  (some : (1 <= N)%nat) (unit_star : ‖a_star‖ = 1) (unit : ‖a‖ = 1) (nonneg : 0 <= eta) : iteration.
Proof.
  refine (Iteration d q N a_star own_b_star a eta (fun i => ⟨ a_star, a ⟩ ⋅ own_b_star i) _ some unit_star unit nonneg
    _ (fun i _ => population_gradient a_star (own_b_star i) _)).
  intros i other _. assert (one : ⟨ a, a ⟩ = 1) by (rewrite <- norm_square, unit; ring).
  unfold population. rewrite !completed by (rewrite one; lra). rewrite unit, (dot_sym _ a a_star).
  replace (⟨ a_star, a ⟩ / 1 ^ 2) with ⟨ a_star, a ⟩ by field.
  replace (⟨ a_star, a ⟩ ⋅ own_b_star i ⊖ ⟨ a_star, a ⟩ ⋅ own_b_star i) with (zero : M q 1) by vectors.
  rewrite norm_zero. assert (square := pow2_ge_0 ‖(other ⊖ ⟨ a_star, a ⟩ ⋅ own_b_star i)‖). lra.
Defined.
