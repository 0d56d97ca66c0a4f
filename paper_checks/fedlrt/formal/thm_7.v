(** Theorem 7 of FeDLRT (Appendix F.2, eq. (31)): descent of a round before truncation, with full correction. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps rounds.
Open Scope R_scope.

(** The negative gradient (Appendix C). *)
Definition F (r : round) (W : M (rows r) (columns r)) : M (rows r) (columns r) := (-1) ⋅ nabla r W.

Definition thm_7_states {first drift square : R} : Prop :=
  forall r : round,
  let g := ‖((U r)^T × F r (W_start r) × V r)‖ in
  let way c s := ‖(coefficients r c s ⊖ S r)‖ in
  mean_L r (W_star r) - mean_L r (W_start r)
  <= - (s_ r * lambda r) * (1 - first * (s_ r * lambda r) * L r) * g ^ 2
     + drift * (L r * lambda r * mean (clients r) (fun c => sum (steps r) (fun s => way c s))) * g
     + square * (L r ^ 3 * lambda r ^ 2 * s_ r) * mean (clients r) (fun c => sum (steps r) (fun s => way c s ^ 2)).

Lemma length_of_F (r : round) : ‖((U r)^T × F r (W_start r) × V r)‖ = slope r.
Proof.
  unfold slope, nabla_S, F. rewrite product_scale, scale_product. apply norm_opp.
Qed.

(* proves: fedlrt/thm-7 *)
Theorem thm_7 : thm_7_states (first := 1) (drift := 1) (square := 1).
Proof.
  intros r g way. unfold g. rewrite length_of_F. clear g.
  assert (rate := rate_nonneg r).
  assert (sign := constant_L r). assert (some := some_clients r). assert (natural := s_ge_1 r).
  assert (change := server_change (clients r) (steps r) (L r) (lambda r) (own_loss r) (nabla_S_of r) (S r)
    (fun _ => nabla_S r (S r)) some ltac:(intros; now apply own_smooth)).
  rewrite vmean_const, mean_of_slopes in change by assumption. specialize (change eq_refl). cbv zeta in change.
  rewrite <- star_server, !mean_own_loss in change.
  fold (W_star r) (W_start r) (s_ r) in change.
  set (turns := total_turn (clients r) (steps r) (lambda r) (nabla_S_of r) (S r) (fun _ => nabla_S r (S r))) in *.
  assert (turned : forall c s, (c < clients r)%nat ->
    ‖(turn (lambda r) (nabla_S_of r) (S r) (fun _ => nabla_S r (S r)) c s)‖ <= L r * way c s).
  { intros c s below. unfold way. rewrite coefficients_point.
    apply (turn_le (clients r) (L r) (lambda r) (own_loss r)); [intros; now apply own_smooth|assumption]. }
  assert (linear : ‖turns‖ <= L r * mean (clients r) (fun c => sum (steps r) (way c))).
  { unfold turns, total_turn. eapply Rle_trans; [now apply norm_vmean|].
    rewrite <- mean_scale. apply mean_le; [assumption|]. intros c below.
    eapply Rle_trans; [apply norm_vsum|]. rewrite <- sum_scale. apply sum_le. auto. }
  assert (squared : ⟨ turns, turns ⟩
                    <= s_ r * L r ^ 2 * mean (clients r) (fun c => sum (steps r) (fun s => way c s ^ 2))).
  { unfold turns, total_turn. eapply Rle_trans; [now apply square_of_vmean|].
    rewrite <- mean_scale. apply mean_le; [assumption|]. intros c below.
    eapply Rle_trans; [apply square_of_vsum|]. fold (s_ r). rewrite Rmult_assoc.
    apply Rmult_le_compat_l; [lra|]. rewrite <- sum_scale. apply sum_le. intros s _.
    rewrite <- norm_square. assert (step := turned c s below).
    assert (nt := norm_nonneg (turn (lambda r) (nabla_S_of r) (S r) (fun _ => nabla_S r (S r)) c s)).
    replace (L r ^ 2 * way c s ^ 2) with (L r * way c s * (L r * way c s)) by ring.
    apply Rmult_le_compat; assumption. }
  fold (slope r) in *. set (a := s_ r * lambda r) in *.
  rewrite <- (norm_square (nabla_S r (S r))) in change. fold (slope r) in change.
  assert (ng : 0 <= slope r) by apply norm_nonneg.
  assert (low := dot_ge (nabla_S r (S r)) turns). fold (slope r) in low.
  (* the cross term of the square is at most a^2 |g|^2 + lambda^2 |turns|^2 *)
  assert (cross : 2 * ⟨ a ⋅ nabla_S r (S r), lambda r ⋅ turns ⟩
    <= ⟨ a ⋅ nabla_S r (S r), a ⋅ nabla_S r (S r) ⟩ + ⟨ lambda r ⋅ turns, lambda r ⋅ turns ⟩).
  { assert (room := dot_nonneg _ (a ⋅ nabla_S r (S r) ⊖ lambda r ⋅ turns)).
    autorewrite with products in room. autorewrite with products.
    rewrite (dot_sym _ turns (nabla_S r (S r))) in room. lra. }
  autorewrite with products in cross. rewrite <- (norm_square (nabla_S r (S r))) in cross. fold (slope r) in cross.
  set (p := ⟨ nabla_S r (S r), turns ⟩) in *. set (q := ⟨ turns, turns ⟩) in *. set (G := slope r) in *.
  set (drifts := mean (clients r) (fun c => sum (steps r) (way c))) in *.
  set (squares := mean (clients r) (fun c => sum (steps r) (fun s => way c s ^ 2))) in *.
  assert (first : - lambda r * p <= L r * lambda r * drifts * G).
  { assert (G * ‖turns‖ <= G * (L r * drifts)) by now apply Rmult_le_compat_l.
    replace (L r * lambda r * drifts * G) with (lambda r * (G * (L r * drifts))) by ring. 
    replace (- lambda r * p) with (lambda r * - p) by ring. apply Rmult_le_compat_l; lra. }
  assert (second : L r / 2 * (2 * (a * (lambda r * p))) <= L r / 2 * (a * (a * (G * G)) + lambda r * (lambda r * q))).
  { apply Rmult_le_compat_l; lra. }
  assert (third : L r * (lambda r * lambda r) * q <= L r * (lambda r * lambda r) * (s_ r * L r ^ 2 * squares)).
  { apply Rmult_le_compat_l; [apply Rmult_le_pos; nra|assumption]. }
  lra.
Qed.
