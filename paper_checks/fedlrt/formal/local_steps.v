(** One round of local steps in any inner product space: what FeDLRT's theorems on a round share.

    Client c starts at [start] along [- direction c] and steps
    [lambda (direction c + g c (its point) - g c start)]. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth.
Open Scope R_scope.

(** How much (1 + y)^k is above 1. *)
Definition growth (y : R) (k : nat) : R := (1 + y) ^ k - 1.

Lemma growth_nonneg y k : 0 <= y -> 0 <= growth y k.
Proof. intro sign. unfold growth. assert (1 <= (1 + y) ^ k) by (apply pow_R1_Rle; lra). lra. Qed.

Lemma growth_step y k : growth y (S k) = growth y k + y * (1 + growth y k).
Proof. unfold growth. simpl. ring. Qed.

Lemma growth_is_sum y k : growth y k = y * sum k (fun j => (1 + y) ^ j).
Proof.
  induction k as [|k IH]; [unfold growth; simpl; ring|].
  assert (power : (1 + y) ^ k = 1 + growth y k) by (unfold growth; ring).
  rewrite growth_step. simpl. rewrite power.
  rewrite (Rmult_plus_distr_l y (sum k _)), <- IH. reflexivity.
Qed.

Lemma growth_mono y k n : 0 <= y -> (k <= n)%nat -> growth y k <= growth y n.
Proof.
  intros sign below. unfold growth. assert ((1 + y) ^ k <= (1 + y) ^ n) by (apply Rle_pow; [lra|assumption]). lra.
Qed.

Lemma sum_growth y s : y * sum s (growth y) = growth y s - INR s * y.
Proof.
  induction s as [|s IH]; [unfold growth; simpl; ring|].
  rewrite S_INR, growth_step. simpl. rewrite (Rmult_plus_distr_l y (sum s _)), IH. ring.
Qed.

Lemma sum_growth_nonneg y s : 0 <= y -> 0 <= sum s (growth y).
Proof. intro. apply sum_nonneg. intros. now apply growth_nonneg. Qed.

Lemma sum_growth_le y s :
  0 <= y -> INR s * y <= 1 ->
  sum s (growth y) <= INR s * (INR s - 1) / 2 * y * (1 + INR s * y / 2).
Proof.
  intro sign. induction s as [|s IH]; intro short; [simpl; lra|].
  rewrite S_INR in *. assert (natural := pos_INR s). set (n := INR s) in *.
  assert (small : n * y <= 1) by nra. specialize (IH small).
  assert (total := sum_growth y s). fold n in total.
  simpl. replace (growth y s) with (y * sum s (growth y) + n * y) by lra.
  set (q := sum s (growth y)) in *.
  apply Rle_trans with ((1 + y) * (n * (n - 1) / 2 * y * (1 + n * y / 2)) + n * y); [nra|].
  assert (room : 0 <= n / 2 + 3 / 2 - n * (n - 1) * y / 2).
  { assert (n * (n - 1) * y <= n + 1); [|lra]. destruct (Rle_lt_dec 1 n); nra. }
  assert (0 <= n * y * y / 2 * (n / 2 + 3 / 2 - n * (n - 1) * y / 2)).
  { apply Rmult_le_pos; [|exact room]. apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; [nra|assumption]. }
  match goal with |- ?left <= ?right =>
    replace right with (left + n * y * y / 2 * (n / 2 + 3 / 2 - n * (n - 1) * y / 2)) by field end.
  lra.
Qed.

(** The inequality in one variable by which Theorem 2 has the constant 1 - 1/(2s). *)
Lemma constant_suffices y s rho :
  0 <= y -> (0 < s)%nat -> INR s * y <= 1 -> 0 <= rho <= 3 / 2 ->
  (1 - INR s * y) * sum s (growth y) + y / 2 * (sum s (growth y) * sum s (growth y)) * rho
  <= INR s * (INR s - 1) / 2 * y.
Proof.
  intros sign some short [low high].
  assert (q_low := sum_growth_nonneg y s sign). assert (q_high := sum_growth_le y s sign short).
  assert (natural : 1 <= INR s) by (apply (le_INR 1 s) in some; simpl in some; exact some).
  set (n := INR s) in *. set (q := sum s (growth y)) in *. set (x := n * y) in *.
  assert (0 <= x) by (unfold x; nra).
  set (T := n * (n - 1) / 2 * y) in *.
  assert (0 <= T) by (unfold T; apply Rmult_le_pos; [|assumption]; nra).
  assert (yq : y * q <= x * x / 2 * (1 + x / 2)).
  { apply Rle_trans with (y * (T * (1 + x / 2))); [nra|].
    assert (y * T <= x * x / 2). { unfold T, x. assert (0 <= n * (y * y)) by nra. nra. }
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; lra. }
  assert (last : (1 + x / 2) * (1 - x + 3 / 4 * (x * x / 2 * (1 + x / 2))) <= 1).
  { replace ((1 + x / 2) * (1 - x + 3 / 4 * (x * x / 2 * (1 + x / 2))))
      with (1 - x / 2 - x * x / 2 + 3 / 8 * (x * x) * ((1 + x / 2) * (1 + x / 2))) by field.
    assert ((1 + x / 2) * (1 + x / 2) <= 9 / 4) by nra.
    assert (0 <= x * x <= x) by nra. nra. }
  assert (0 <= y * q) by nra.
  apply Rle_trans with (q * (1 - x + 3 / 4 * (x * x / 2 * (1 + x / 2)))).
  - replace ((1 - x) * q + y / 2 * (q * q) * rho) with (q * (1 - x + rho / 2 * (y * q))) by field.
    apply Rmult_le_compat_l; [assumption|]. assert (rho * (y * q) <= 3 / 2 * (y * q)) by nra. nra.
  - assert (0 <= 1 - x + 3 / 4 * (x * x / 2 * (1 + x / 2))) by nra.
    apply Rle_trans with (T * (1 + x / 2) * (1 - x + 3 / 4 * (x * x / 2 * (1 + x / 2)))); [|nra].
    now apply Rmult_le_compat_r.
Qed.

Section LocalSteps.
Context {H : space}.
Variables (C s : nat) (L lambda : R) (f : nat -> H -> R) (g : nat -> H -> H).
Variables (start : H) (direction : nat -> H).

Fixpoint point (c k : nat) : H :=
  match k with
  | O => start
  | S k => point c k ⊖ lambda ⋅ (direction c ⊕ (g c (point c k) ⊖ g c start))
  end.

Definition turn (c k : nat) : H := g c (point c k) ⊖ g c start.

Hypothesis clients : (0 < C)%nat.
Hypothesis rate : 0 <= lambda.
Hypothesis curvature : 0 <= L.
Hypothesis smooth_losses : forall c, (c < C)%nat -> smooth L (f c) (g c).

Lemma turn_le c k : (c < C)%nat -> ‖(turn c k)‖ <= L * ‖(point c k ⊖ start)‖.
Proof. intro below. now apply smooth_losses. Qed.

Lemma drift_step c k : (c < C)%nat ->
  ‖(point c (S k) ⊖ start)‖ <= ‖(point c k ⊖ start)‖ + lambda * (‖(direction c)‖ + ‖(turn c k)‖).
Proof.
  intro below. simpl. fold (turn c k).
  replace (point c k ⊖ lambda ⋅ (direction c ⊕ turn c k) ⊖ start)
    with ((point c k ⊖ start) ⊖ lambda ⋅ (direction c ⊕ turn c k)) by vectors.
  eapply Rle_trans; [apply norm_sub|]. rewrite norm_scale, Rabs_right by lra.
  assert (step := norm_add (direction c) (turn c k)). nra.
Qed.

(** A client's way, without a division by L. *)
Lemma drift_sum c k : (c < C)%nat ->
  ‖(point c k ⊖ start)‖ <= lambda * sum k (fun j => (1 + lambda * L) ^ j) * ‖(direction c)‖.
Proof.
  intro below. induction k as [|k IH].
  - simpl. replace (start ⊖ start) with (zero : H) by vectors. rewrite norm_zero. lra.
  - assert (step := drift_step c k below). assert (bound := turn_le c k below).
    assert (total := growth_is_sum (lambda * L) k). unfold growth in total.
    assert (nd := norm_nonneg (direction c)). assert (nw := norm_nonneg (point c k ⊖ start)).
    change (sum (S k) (fun j => (1 + lambda * L) ^ j))
      with (sum k (fun j => (1 + lambda * L) ^ j) + (1 + lambda * L) ^ k).
    set (q := sum k (fun j => (1 + lambda * L) ^ j)) in *.
    replace ((1 + lambda * L) ^ k) with (1 + lambda * L * q) by lra.
    assert (0 <= lambda * L) by nra.
    assert (lambda * ‖(turn c k)‖ <= lambda * L * (lambda * q * ‖(direction c)‖)).
    { apply Rle_trans with (lambda * (L * ‖(point c k ⊖ start)‖)); [now apply Rmult_le_compat_l|].
      rewrite <- Rmult_assoc. now apply Rmult_le_compat_l. }
    lra.
Qed.

Lemma turn_growth c k : (c < C)%nat -> ‖(turn c k)‖ <= growth (lambda * L) k * ‖(direction c)‖.
Proof.
  intro below. eapply Rle_trans; [now apply turn_le|].
  rewrite growth_is_sum. assert (step := drift_sum c k below).
  apply Rle_trans with (L * (lambda * sum k (fun j => (1 + lambda * L) ^ j) * ‖(direction c)‖));
    [now apply Rmult_le_compat_l|]. lra.
Qed.

Lemma point_sum c k :
  point c k = start ⊖ (INR k * lambda) ⋅ direction c ⊖ lambda ⋅ vsum k (turn c).
Proof.
  induction k as [|k IH].
  - simpl. vectors.
  - rewrite S_INR. simpl. fold (turn c k). rewrite IH. vectors.
Qed.

Definition total_turn : H := vmean C (fun c => vsum s (turn c)).
Definition server : H := vmean C (fun c => point c s).

Lemma server_sum : server = start ⊕ ((- (INR s * lambda)) ⋅ vmean C direction ⊖ lambda ⋅ total_turn).
Proof.
  unfold server, total_turn.
  rewrite (vmean_ext C _ (fun c => start ⊖ (INR s * lambda) ⋅ direction c ⊖ lambda ⋅ vsum s (turn c)))
    by (intros; apply point_sum).
  rewrite !vmean_sub, !vmean_scale, vmean_const by assumption. vectors.
Qed.

(** What smoothness says of the mean loss at the server's point. *)
Lemma server_change :
  vmean C direction = mean_gradient C g start ->
  let G := mean_gradient C g start in
  mean_loss C f server - mean_loss C f start
  <= - (INR s * lambda) * (1 - L * (INR s * lambda) / 2) * ⟨ G, G ⟩
     - lambda * (1 - L * (INR s * lambda)) * ⟨ G, total_turn ⟩ + L / 2 * (lambda * lambda) * ⟨ total_turn, total_turn ⟩.
Proof.
  intros same G. rewrite server_sum, same. fold G.
  assert (step := smooth_bound L (mean_loss C f) (mean_gradient C g) start
    ((- (INR s * lambda)) ⋅ G ⊖ lambda ⋅ total_turn) (mean_smooth C L f g clients smooth_losses)).
  fold G in step. autorewrite with products in step. rewrite (dot_sym _ total_turn G) in step. lra.
Qed.

Lemma total_turn_le rho : 0 <= rho ->
  mean C (fun c => ⟨ direction c, direction c ⟩)
    <= rho * rho * ⟨ mean_gradient C g start, mean_gradient C g start ⟩ ->
  ‖total_turn‖ <= sum s (growth (lambda * L)) * rho * ‖(mean_gradient C g start)‖.
Proof.
  intros sign spread. unfold total_turn.
  eapply Rle_trans; [now apply norm_vmean|].
  apply Rle_trans with (mean C (fun c => sum s (growth (lambda * L)) * ‖(direction c)‖)).
  - apply mean_le; [assumption|]. intros c below. eapply Rle_trans; [apply norm_vsum|].
    rewrite <- sum_scale_r. apply sum_le. intros k _. now apply turn_growth.
  - rewrite mean_scale, Rmult_assoc. apply Rmult_le_compat_l; [apply sum_growth_nonneg; nra|].
    assert (ng := norm_nonneg (mean_gradient C g start)).
    assert (square := square_of_mean C (fun c => ‖(direction c)‖) clients).
    cbv beta in square.
    rewrite (mean_ext C (fun c => ‖(direction c)‖ * ‖(direction c)‖) (fun c => ⟨ direction c, direction c ⟩))
      in square by (intros; apply norm_square).
    rewrite <- norm_square in spread. set (a := mean C (fun c => ‖(direction c)‖)) in *.
    set (b := ‖(mean_gradient C g start)‖) in *.
    assert (a * a <= rho * b * (rho * b)) by lra.
    assert (0 <= rho * b) by nra. destruct (Rle_lt_dec a (rho * b)); [assumption|nra].
Qed.

(** The mean loss after the local steps, for directions with the mean gradient as their mean. *)
Theorem local_steps_descend rho :
  (0 < s)%nat -> INR s * lambda * L <= 1 -> 0 <= rho <= 3 / 2 ->
  vmean C direction = mean_gradient C g start ->
  mean C (fun c => ⟨ direction c, direction c ⟩)
    <= rho * rho * ⟨ mean_gradient C g start, mean_gradient C g start ⟩ ->
  mean_loss C f server - mean_loss C f start
  <= - (INR s * lambda) * (1 - / 2 * (1 + (1 - / INR s) * rho) * (INR s * lambda * L))
     * (‖(mean_gradient C g start)‖ * ‖(mean_gradient C g start)‖).
Proof.
  intros some short bounds same spread.
  assert (change := server_change same). cbv zeta in change.
  assert (size := total_turn_le rho (proj1 bounds) spread).
  assert (key := constant_suffices (lambda * L) s rho ltac:(nra) some ltac:(lra) bounds).
  assert (q_low := sum_growth_nonneg (lambda * L) s ltac:(nra)).
  assert (low := dot_ge (mean_gradient C g start) total_turn).
  rewrite <- !norm_square in change.
  assert (nt := norm_nonneg total_turn). assert (ng := norm_nonneg (mean_gradient C g start)).
  assert (natural : 1 <= INR s) by (apply (le_INR 1 s) in some; simpl in some; exact some).
  set (G := ‖(mean_gradient C g start)‖) in *. set (D := ‖total_turn‖) in *.
  set (p := ⟨ mean_gradient C g start, total_turn ⟩) in *.
  set (q := sum s (growth (lambda * L))) in *. set (n := INR s) in *.
  set (x := n * lambda * L) in *.
  assert (first : - lambda * (1 - L * (n * lambda)) * p <= lambda * (1 - x) * (G * (q * rho * G))).
  { assert (0 <= lambda * (1 - x)) by (apply Rmult_le_pos; lra).
    replace (- lambda * (1 - L * (n * lambda)) * p) with (lambda * (1 - x) * - p) by (unfold x; ring).
    apply Rmult_le_compat_l; [assumption|].
    assert (G * D <= G * (q * rho * G)) by now apply Rmult_le_compat_l. lra. }
  assert (second : L / 2 * (lambda * lambda) * (D * D)
                   <= L / 2 * (lambda * lambda) * (q * rho * G * (q * rho * G))).
  { apply Rmult_le_compat_l; [apply Rmult_le_pos; nra|]. apply Rmult_le_compat; lra. }
  assert (third : lambda * (1 - x) * (G * (q * rho * G)) + L / 2 * (lambda * lambda) * (q * rho * G * (q * rho * G))
                  <= lambda * rho * (G * G) * (n * (n - 1) / 2 * (lambda * L))).
  { replace (lambda * (1 - x) * (G * (q * rho * G)) + L / 2 * (lambda * lambda) * (q * rho * G * (q * rho * G)))
      with (lambda * rho * (G * G) * ((1 - n * (lambda * L)) * q + lambda * L / 2 * (q * q) * rho))
      by (unfold x; field).
    apply Rmult_le_compat_l; [|exact key].
    apply Rmult_le_pos; [apply Rmult_le_pos; lra|nra]. }
  replace (- (n * lambda) * (1 - / 2 * (1 + (1 - / n) * rho) * x) * (G * G))
    with (- (n * lambda) * (1 - L * (n * lambda) / 2) * (G * G)
          + lambda * rho * (G * G) * (n * (n - 1) / 2 * (lambda * L))) by (unfold x; field; lra).
  lra.
Qed.
End LocalSteps.
