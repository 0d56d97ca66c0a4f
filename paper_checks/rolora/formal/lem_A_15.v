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

(** With the sum for the mean it fails, at an angle with a step. *)
Definition lem_A_15_fails {factor : R} {mean_power : nat} : Prop :=
  exists it : iteration, 0 < eta it /\ 0 < delta it /\ ~ lem_A_15_of (factor := factor) (mean_power := mean_power) it.

(* proves: rolora/lem-A.15 *)
Theorem lem_A_15 : lem_A_15_states (factor := 2) (mean_power := 1).
Proof.
  intro it. unfold lem_A_15_of. cbv zeta.
  assert (mean : (/ INR (N it) ^ 1) ⋅ vsum (N it) (own_b_star it) = b_star it) by now rewrite pow_1.
  rewrite mean. fold (cosine it). rewrite <- b_next_is. split; [reflexivity|].
  unfold a_next. now rewrite a_plus_by_mean, !outer_times.
Qed.

Lemma one_square : ⟨ identity 1, identity 1 ⟩ = 1.
Proof. cbn. ring. Qed.

(** A direction in the plane. *)
Definition towards (x y : R) : M 2 1 := from_entries 2 1 (fun i _ => match i with O => x | _ => y end).

Lemma towards_unit x y : x * x + y * y = 1 -> ‖(towards x y)‖ = 1.
Proof.
  intro one. unfold norm. replace ⟨ towards x y, towards x y ⟩ with 1; [apply sqrt_1|].
  rewrite <- one. cbn. ring.
Qed.

(* refutes: rolora/lem-A.15 *)
Theorem lem_A_15_with_the_sum : lem_A_15_fails (factor := 2) (mean_power := 0).
Proof.
  assert (unit_1 : 1 * 1 + 0 * 0 = 1) by lra. assert (unit_2 : 3 / 5 * (3 / 5) + 4 / 5 * (4 / 5) = 1) by lra.
  set (it := iteration_of 2 1 2 (towards 1 0) (fun _ => identity 1) (towards (3 / 5) (4 / 5)) 1 (le_S _ _ (le_n 1))
    (towards_unit 1 0 unit_1) (towards_unit (3 / 5) (4 / 5) unit_2) Rle_0_1).
  exists it. split; [exact Rlt_0_1|].
  assert (cosine_is : cosine it = 3 / 5).
  { change (⟨ towards 1 0, towards (3 / 5) (4 / 5) ⟩ = 3 / 5). cbn. field. }
  split.
  { assert (square := delta_square it). rewrite cosine_is in square.
    assert (low : 0 <= delta it) by apply norm_nonneg.
    destruct low as [some|none]; [exact some|]. rewrite <- none in square. lra. }
  intros [first _]. unfold b_next in first. fold (cosine it) in first. rewrite cosine_is in first.
  apply (f_equal (fun x => ⟨ x, identity 1 ⟩)) in first.
  change (own_b it) with (fun _ : nat => cosine it ⋅ identity 1) in first. rewrite cosine_is in first.
  change (N it) with 2%nat in first. change (q it) with 1%nat in first. change (own_b_star it) with (fun _ : nat => identity 1) in first.
  unfold vmean in first. cbn [vsum] in first. autorewrite with products in first. rewrite one_square in first.
  change (INR 2) with 2 in first. rewrite pow_O in first. lra.
Qed.
