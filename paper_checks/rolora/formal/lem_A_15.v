(** Lemma A.15 of RoLoRA (Appendix A.5): an iteration with infinitely many samples, in closed form. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From RoLoRA Require Import outer angle.
Open Scope R_scope.

(** Eqs. (247) and (248). *)
Definition lem_A_15_of {factor : R} {mean_power : nat} (it : iteration) : Prop :=
  let b_bar_star := (/ INR (N it) ^ mean_power) ⋅ vsum (N it) (own_b_star it) in
  let b_bar := ⟨ a_star it, a it ⟩ ⋅ b_bar_star in
  let a_plus := a it ⊖ (factor * eta it) ⋅ (a it × b_bar^T × b_bar ⊖ a_star it × b_bar_star^T × b_bar) in
  b_next it = b_bar /\ a_next it = / ‖a_plus‖ ⋅ a_plus.

Definition lem_A_15_states {factor : R} {mean_power : nat} : Prop :=
  forall it : iteration, lem_A_15_of (factor := factor) (mean_power := mean_power) it.

(** With the sum for the mean it fails. *)
Definition lem_A_15_fails {factor : R} {mean_power : nat} : Prop :=
  exists it : iteration, ~ lem_A_15_of (factor := factor) (mean_power := mean_power) it.

(* proves: rolora/lem-A.15 *)
Theorem lem_A_15 : lem_A_15_states (factor := 2) (mean_power := 1).
Proof.
  intro it. unfold lem_A_15_of. cbv zeta.
  assert (mean : (/ INR (N it) ^ 1) ⋅ vsum (N it) (own_b_star it) = b_star it) by now rewrite pow_1.
  rewrite mean. fold (cosine it). rewrite <- b_next_is. split; [reflexivity|].
  unfold a_next. now rewrite a_plus_by_mean, !outer_times.
Qed.

Lemma one_norm : ‖(identity 1)‖ = 1.
Proof.
  unfold norm. replace ⟨ identity 1, identity 1 ⟩ with 1; [apply sqrt_1|].
  cbn [dot M sum]. unfold identity. rewrite entry_from by lia. simpl. ring.
Qed.

(* refutes: rolora/lem-A.15 *)
Theorem lem_A_15_with_the_sum : lem_A_15_fails (factor := 2) (mean_power := 0).
Proof.
  set (one := identity 1). assert (unit : ‖one‖ = 1) by exact one_norm.
  assert (square : ⟨ one, one ⟩ = 1) by (rewrite <- norm_square, unit; ring).
  exists (iteration_of 1 1 2 one (fun _ => one) one 0 (le_S _ _ (le_n 1)) unit unit (Rle_refl 0)).
  intros [first _]. unfold b_next in first. cbn [N own_b own_b_star a_star a iteration_of] in first.
  apply (f_equal (fun x => ⟨ x, one ⟩)) in first.
  unfold vmean in first. cbn [vsum] in first. autorewrite with products in first. rewrite square in first.
  assert (corner : entry one 0 0 = 1) by (unfold one, identity; now rewrite entry_from by lia).
  simpl in first. rewrite !corner in first. lra.
Qed.
