(** One iteration of RoLoRA's linear model with infinitely many samples (Algorithm 2, Lemma A.15):
    b is fitted to a, then a makes a gradient step and is normalised. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces.
Open Scope R_scope.

(** The model a b^T in any inner product spaces, that of a and that of b. *)
Record iteration := Iteration {
  D : space; K : space;
  a_star : D; b_star : K;         (* what is to be learned *)
  a : D;                          (* a^t *)
  eta : R;                        (* the step *)
  unit_a_star : ‖a_star‖ = 1;
  unit_a : ‖a‖ = 1;
  step_nonneg : 0 <= eta
}.

Section Iteration.
Variable it : iteration.

(** The cosine of the angle between a and a_star. *)
Definition cosine : R := ⟨ a_star it, a it ⟩.
(** b^{t+1} = b_star (a_star^T a^t) minimises the loss at a^t. *)
Definition b_next : K it := cosine ⋅ b_star it.
(** a^t - 2 eta (a^t b^T b - a_star b_star^T b), and a^{t+1}, the same with the length 1. *)
Definition a_plus : D it :=
  a it ⊖ (2 * eta it) ⋅ (⟨ b_next, b_next ⟩ ⋅ a it ⊖ ⟨ b_star it, b_next ⟩ ⋅ a_star it).
Definition a_next : D it := / ‖a_plus‖ ⋅ a_plus.

(** The angle distance of a vector: the length of (I - a_star a_star^T) x. *)
Definition delta_of (x : D it) : R := ‖(x ⊖ ⟨ a_star it, x ⟩ ⋅ a_star it)‖.
Definition delta : R := delta_of (a it).
Definition delta_next : R := delta_of a_next.
(** eta times the square of the length of b_star. *)
Definition s : R := eta it * ‖(b_star it)‖ ^ 2.

Lemma one_of_unit : ⟨ a_star it, a_star it ⟩ = 1.
Proof. rewrite <- norm_square, unit_a_star. ring. Qed.

Lemma one_of_a : ⟨ a it, a it ⟩ = 1.
Proof. rewrite <- norm_square, unit_a. ring. Qed.

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
  unfold a_plus, b_next, s. rewrite dot_scale, !dot_scale_r, <- norm_square.
  generalize cosine as c. intro c. generalize ‖(b_star it)‖ as b. intro b. vectors.
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
