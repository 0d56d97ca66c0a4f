(** Lemma 5.3 of RoLoRA (Section 5.1, eq. (9), which is Lemma A.11) with infinitely many samples: the contraction
    of the angle, the exact limit of the step, and its failure beyond, the stated largest step included. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From RoLoRA Require Import angle lem_A_16.
Open Scope R_scope.

(** Section 5.1: all clients have the same b^*. *)
Definition same_b_star (it : iteration) : Prop := forall i, (i < N it)%nat -> own_b_star it i = b_star it.

(** The contraction as Lemma A.11 prints it, eq. (80). *)
Definition contracts (it : iteration) (delta_0 : R) : Prop :=
  delta_next it <= delta it * sqrt (1 - eta it * (1 - delta_0 ^ 2) * ‖(b_star it)‖ ^ 2).

(** Up to half of the stated largest step it holds. *)
Definition half_step_states {limit : R} : Prop :=
  forall (it : iteration) (delta_0 L_max : R), same_b_star it ->
  0 < L_max -> ‖(b_star it)‖ <= L_max -> delta it <= delta_0 <= 1 -> eta it <= limit / L_max ^ 2 ->
  contracts it delta_0.

(** At every angle up to the first it holds if and only if s = eta |b_star|^2 is at most (3 + delta_0^2) / 4. *)
Definition exact_limit_states {sharp : R} : Prop :=
  forall (size delta_0 : R), 0 <= size -> 0 < delta_0 < 1 ->
  (forall it : iteration, same_b_star it -> s it = size -> delta it <= delta_0 -> contracts it delta_0)
  <-> size <= sharp * ((3 + delta_0 ^ 2) / 4).

(** At the stated largest step, 1 / L_max^2, it fails for every delta_0, in an iteration from some angle up to it. *)
Definition largest_step_fails : Prop :=
  forall delta_0, 0 < delta_0 < 1 ->
  exists (it : iteration) (L_max : R), same_b_star it /\
  0 < L_max /\ ‖(b_star it)‖ <= L_max /\ delta it <= delta_0 /\ eta it = 1 / L_max ^ 2 /\ ~ contracts it delta_0.

(** From delta_0 = 0.28 that step shrinks delta to 0.743 of itself, to three digits, where 0.28 is stated. There is such
    an iteration. *)
Definition first_step_states : Prop :=
  (forall it : iteration, eta it = 1 / ‖(b_star it)‖ ^ 2 -> b_star it <> zero -> delta it = 28 / 100 ->
    7425 / 10000 * delta it < delta_next it < 7435 / 10000 * delta it /\
    sqrt (1 - eta it * (1 - (28 / 100) ^ 2) * ‖(b_star it)‖ ^ 2) = 28 / 100) /\
  exists it : iteration, same_b_star it /\ eta it = 1 / ‖(b_star it)‖ ^ 2 /\ b_star it <> zero /\ delta it = 28 / 100.

Lemma below_the_limit it delta_0 :
  delta it <= delta_0 <= 1 -> s it <= (3 + delta_0 ^ 2) / 4 -> contracts it delta_0.
Proof.
  intros [near low] short. unfold contracts.
  assert (next := delta_next_square it). assert (square := delta_square it).
  assert (sn := s_nonneg it). assert (dn := delta_nonneg it).
  replace (eta it * (1 - delta_0 ^ 2) * ‖(b_star it)‖ ^ 2) with (s it * (1 - delta_0 ^ 2)) by (unfold s; ring).
  set (u := cosine it * cosine it) in *. set (d := 1 - delta_0 ^ 2) in *. set (x := s it) in *.
  clearbody u x.
  assert (d_low : 0 <= d) by (unfold d; nra). assert (d_high : d <= 1) by (unfold d; nra).
  assert (short_d : x <= 1 - d / 4) by (unfold d; lra).
  assert (u_high : u <= 1) by nra. assert (delta it * delta it <= delta_0 * delta_0) by (apply Rmult_le_compat; lra).
  assert (u_near : d <= u) by (unfold d; simpl; lra).
  assert (real : 0 <= 1 - x * d) by nra.
  assert (root := sqrt_sqrt _ real). assert (root_low := sqrt_pos (1 - x * d)).
  apply le_of_squares; [apply Rmult_le_pos; lra|].
  replace (delta it * sqrt (1 - x * d) * (delta it * sqrt (1 - x * d)))
    with (delta it * delta it * (sqrt (1 - x * d) * sqrt (1 - x * d))) by ring.
  rewrite root.
  (* a quadratic in u that is concave, and not negative at d and at 1 *)
  assert (at_d : 0 <= x * d * (3 - 4 * (x * d) + 4 * x * (1 - x * d) * (1 - d))).
  { assert (x * d <= 3 / 4) by nra. assert (0 <= x * d) by nra. assert (0 <= x * (1 - x * d) * (1 - d)).
    { apply Rmult_le_pos; [apply Rmult_le_pos|]; lra. }
    apply Rmult_le_pos; lra. }
  assert (at_1 : 0 <= x * (4 - d - 4 * x)) by (apply Rmult_le_pos; lra).
  assert (concave : 0 <= 4 * x * x * (2 - x * d) * ((u - d) * (1 - u))).
  { repeat apply Rmult_le_pos; lra. }
  assert (key : (1 - 2 * x * u) ^ 2 <= (1 - x * d) * (1 + 4 * x * x * u * (1 - u))).
  { destruct (Req_dec d 1) as [whole|part].
    - assert (at_one : u = 1) by lra. rewrite whole in at_1. rewrite at_one, whole. lra.
    - assert (0 <= (u - d) * (x * (4 - d - 4 * x))
                   + (1 - u) * (x * d * (3 - 4 * (x * d) + 4 * x * (1 - x * d) * (1 - d)))).
      { apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra. }
      assert ((1 - d) * ((1 - x * d) * (1 + 4 * x * x * u * (1 - u)) - (1 - 2 * x * u) ^ 2)
        = (u - d) * (x * (4 - d - 4 * x)) + (1 - u) * (x * d * (3 - 4 * (x * d) + 4 * x * (1 - x * d) * (1 - d)))
          + (1 - d) * (4 * x * x * (2 - x * d) * ((u - d) * (1 - u)))) by ring.
      assert (0 <= (1 - d) * (4 * x * x * (2 - x * d) * ((u - d) * (1 - u)))) by (apply Rmult_le_pos; lra).
      assert (0 <= (1 - d) * ((1 - x * d) * (1 + 4 * x * x * u * (1 - u)) - (1 - 2 * x * u) ^ 2)) by lra.
      assert (0 < 1 - d) by lra.
      destruct (Rle_lt_dec ((1 - 2 * x * u) ^ 2) ((1 - x * d) * (1 + 4 * x * x * u * (1 - u)))); [assumption|].
      assert ((1 - d) * ((1 - x * d) * (1 + 4 * x * x * u * (1 - u)) - (1 - 2 * x * u) ^ 2) < 0) by nra. lra. }
  rewrite square in next. set (W := 1 + 4 * x * x * u * (1 - u)) in *.
  assert (W_low : 1 <= W).
  { unfold W. assert (0 <= 4 * x * x * u * (1 - u)); [|lra]. repeat apply Rmult_le_pos; lra. }
  rewrite square. apply Rmult_le_reg_r with W; [lra|]. rewrite next.
  replace ((1 - u) * (1 - x * d) * W) with ((1 - u) * ((1 - x * d) * W)) by ring.
  apply Rmult_le_compat_l; lra.
Qed.

(** Plane vectors, and an iteration at an angle with the squared sine e, with |b_star| = 1. *)
Definition plane_vector (x y : R) : M 2 1 := from_entries 2 1 (fun i _ => match i with O => x | _ => y end).
Definition unit_number : M 1 1 := identity 1.

Lemma plane_dot x y z w : ⟨ plane_vector x y, plane_vector z w ⟩ = x * z + y * w.
Proof. cbn. ring. Qed.

Lemma unit_number_norm : ‖unit_number‖ = 1.
Proof.
  unfold norm. replace ⟨ unit_number, unit_number ⟩ with 1; [apply sqrt_1|].
  cbn [dot M sum]. unfold unit_number, identity. rewrite entry_from by lia. simpl. ring.
Qed.

Definition at_angle (e size : R) (low : 0 <= e) (high : e <= 1) (nonneg : 0 <= size) : iteration.
Proof.
  refine (iteration_of 2 1 1 (plane_vector 1 0) (fun _ => unit_number) (plane_vector (sqrt (1 - e)) (sqrt e)) size
    (le_n 1) _ _ nonneg);
    unfold norm; rewrite plane_dot.
  - replace (1 * 1 + 0 * 0) with 1 by ring. apply sqrt_1.
  - rewrite !sqrt_sqrt by lra. replace (1 - e + e) with 1 by ring. apply sqrt_1.
Defined.

Lemma above_the_limit size delta_0 :
  0 <= size -> 0 < delta_0 < 1 -> (3 + delta_0 ^ 2) / 4 < size ->
  exists it : iteration, same_b_star it /\ s it = size /\ eta it = size /\ ‖(b_star it)‖ = 1 /\ delta it <= delta_0 /\ ~ contracts it delta_0.
Proof.
  intros nonneg [low high] long. set (d := 1 - delta_0 ^ 2).
  assert (d_low : 0 < d) by (unfold d; nra). assert (d_high : d < 1) by (unfold d; nra).
  set (m := size * (4 * size - 4 + d)).
  assert (m_low : 0 < m) by (unfold m, d in *; apply Rmult_lt_0_compat; nra).
  set (e := Rmin (delta_0 ^ 2) (Rmin (1 / 4) (m / (24 * size ^ 2)))).
  assert (size_pos : 0 < size) by nra. assert (square_pos : 0 < size ^ 2) by now apply pow_lt.
  assert (e_pos : 0 < e).
  { unfold e. repeat apply Rmin_glb_lt; [nra|lra|]. apply Rdiv_lt_0_compat; lra. }
  assert (e_near : e <= delta_0 ^ 2) by apply Rmin_l.
  assert (e_small : e <= 1 / 4) by (unfold e; eapply Rle_trans; [apply Rmin_r|apply Rmin_l]).
  assert (e_room : e <= m / (24 * size ^ 2)) by (unfold e; eapply Rle_trans; [apply Rmin_r|apply Rmin_r]).
  assert (bound : 24 * size ^ 2 * e <= m).
  { replace m with (24 * size ^ 2 * (m / (24 * size ^ 2))) by (field; lra). apply Rmult_le_compat_l; lra. }
  assert (e_high : e <= 1) by lra.
  set (it := at_angle e size (Rlt_le _ _ e_pos) e_high nonneg). exists it.
  assert (mean_is : b_star it = unit_number) by exact (vmean_const 1 unit_number (le_n 1)).
  assert (length : ‖(b_star it)‖ = 1) by (rewrite mean_is; exact unit_number_norm).
  assert (s_is : s it = size) by (unfold s; rewrite length; change (eta it) with size; ring).
  assert (cos_is : cosine it * cosine it = 1 - e).
  { assert (root : cosine it = 1 * sqrt (1 - e) + 0 * sqrt e) by exact (plane_dot 1 0 (sqrt (1 - e)) (sqrt e)).
    rewrite root. transitivity (sqrt (1 - e) * sqrt (1 - e)); [ring|]. apply sqrt_sqrt. lra. }
  assert (delta_is : delta it * delta it = e) by (rewrite delta_square, cos_is; ring).
  assert (dn := delta_nonneg it).
  split; [intros i _; rewrite mean_is; reflexivity|]. split; [exact s_is|]. split; [reflexivity|]. split; [exact length|]. split.
  - apply le_of_squares; [lra|]. rewrite delta_is. nra.
  - unfold contracts. rewrite length. change (eta it) with size.
    replace (size * (1 - delta_0 ^ 2) * 1 ^ 2) with (size * d) by (unfold d; ring). intro holds.
    assert (next := delta_next_square it). rewrite s_is, cos_is, delta_is in next.
    assert (next_low : 0 <= delta_next it) by apply norm_nonneg.
    set (W := 1 + 4 * size * size * (1 - e) * e) in *.
    assert (W_low : 1 <= W).
    { unfold W. assert (0 <= 4 * size * size * (1 - e) * e); [|lra]. repeat apply Rmult_le_pos; lra. }
    assert (squares : delta_next it * delta_next it
                      <= delta it * sqrt (1 - size * d) * (delta it * sqrt (1 - size * d))).
    { apply Rmult_le_compat; assumption. }
    destruct (Rle_lt_dec 0 (1 - size * d)) as [real|unreal].
    + replace (delta it * sqrt (1 - size * d) * (delta it * sqrt (1 - size * d)))
        with (delta it * delta it * (sqrt (1 - size * d) * sqrt (1 - size * d))) in squares by ring.
      rewrite sqrt_sqrt, delta_is in squares by assumption.
      assert (product : delta_next it * delta_next it * W <= e * (1 - size * d) * W) by (apply Rmult_le_compat_r; lra).
      rewrite next in product.
      assert (less : (1 - 2 * size * (1 - e)) ^ 2 <= (1 - size * d) * W) by nra.
      assert (expanded : (1 - size * d) * W - (1 - 2 * size * (1 - e)) ^ 2
        = - m + (1 - size * d) * (4 * size ^ 2 * (1 - e) * e) - 4 * size * e * (1 - 2 * size) - 4 * size ^ 2 * e ^ 2)
        by (unfold W, m; ring).
      assert (first : (1 - size * d) * (4 * size ^ 2 * (1 - e) * e) <= 4 * size ^ 2 * e).
      { assert (0 <= 4 * size ^ 2 * e) by (repeat apply Rmult_le_pos; lra).
        assert (0 <= (1 - size * d) * (1 - e) <= 1) by nra.
        replace ((1 - size * d) * (4 * size ^ 2 * (1 - e) * e))
          with ((1 - size * d) * (1 - e) * (4 * size ^ 2 * e)) by ring. nra. }
      assert (0 <= size * e) by nra. assert (0 <= 4 * size ^ 2 * e ^ 2) by (repeat apply Rmult_le_pos; nra).
      nra.
    + rewrite (sqrt_neg_0 (1 - size * d)) in squares by lra.
      assert (none : delta_next it * delta_next it = 0) by nra. rewrite none, Rmult_0_l in next.
      assert (1 < size) by nra. assert (1 < 2 * size * (1 - e)) by nra.
      assert (0 < e * (1 - 2 * size * (1 - e)) ^ 2) by (apply Rmult_lt_0_compat; nra). lra.
Qed.

(* part of: rolora/lem-5.3: infinitely many samples, steps up to half of the stated largest *)
Theorem lem_5_3_half_step : half_step_states (limit := 1 / 2).
Proof.
  intros it delta_0 L_max _ positive bounded near short. apply below_the_limit; [assumption|].
  assert (half := s_le it L_max (1 / 2) positive bounded short). nra.
Qed.

(* part of: rolora/lem-5.3: infinitely many samples, the exact limit of the step *)
Theorem lem_5_3_exact_limit : exact_limit_states (sharp := 1).
Proof.
  intros size delta_0 nonneg bounds. rewrite Rmult_1_l. split.
  - intro every. destruct (Rle_lt_dec size ((3 + delta_0 ^ 2) / 4)) as [short|long]; [assumption|].
    destruct (above_the_limit size delta_0 nonneg bounds long) as (it & one & same & _ & _ & near & fails).
    destruct (fails (every it one same near)).
  - intros short it _ same near. apply below_the_limit; [lra|]. now rewrite same.
Qed.

(* part of: rolora/lem-5.3: infinitely many samples, the stated largest step, at some angle up to each delta_0 *)
Theorem lem_5_3_largest_step : largest_step_fails.
Proof.
  intros delta_0 bounds.
  destruct (above_the_limit 1 delta_0 ltac:(lra) bounds ltac:(nra)) as (it & one & _ & step & length & near & fails).
  exists it, 1. repeat split; try assumption; try lra.
Qed.

Lemma less_of_squares x y : 0 <= y -> x * x < y * y -> x < y.
Proof. intros low less. destruct (Rlt_le_dec x y) as [|more]; [assumption|]. nra. Qed.

(* part of: rolora/lem-5.3: infinitely many samples, the factor of the first step from delta_0 = 0.28 *)
Theorem lem_5_3_first_step : first_step_states.
Proof.
  split.
  - intros it step nonzero angle.
    assert (long : 0 < ‖(b_star it)‖).
    { destruct (norm_nonneg (b_star it)) as [some|none]; [exact some|]. destruct nonzero. apply dot_definite.
      rewrite <- norm_square, <- none. ring. }
    assert (one : eta it * ‖(b_star it)‖ ^ 2 = 1) by (rewrite step; field; lra).
    assert (s_is : s it = 1) by exact one.
    assert (square := delta_square it). assert (next := delta_next_square it). rewrite s_is, angle in next.
    rewrite angle in square.
    assert (cos_is : cosine it * cosine it = 9216 / 10000) by lra. rewrite cos_is in next.
    assert (low : 0 <= delta_next it) by apply norm_nonneg. rewrite angle.
    split; [split; apply less_of_squares; lra|].
    replace (1 - eta it * (1 - (28 / 100) ^ 2) * ‖(b_star it)‖ ^ 2)
      with (1 - eta it * ‖(b_star it)‖ ^ 2 * (1 - (28 / 100) ^ 2)) by ring.
    rewrite one. replace (1 - 1 * (1 - (28 / 100) ^ 2)) with (28 / 100 * (28 / 100)) by field. apply sqrt_square. lra.
  - assert (low : 0 <= (28 / 100) ^ 2) by lra. assert (high : (28 / 100) ^ 2 <= 1) by lra.
    set (it := at_angle ((28 / 100) ^ 2) 1 low high Rle_0_1). exists it.
    assert (mean_is : b_star it = unit_number) by exact (vmean_const 1 unit_number (le_n 1)).
    assert (length : ‖(b_star it)‖ = 1) by (rewrite mean_is; exact unit_number_norm).
    split; [intros i _; rewrite mean_is; reflexivity|].
    split; [change (1 = 1 / ‖(b_star it)‖ ^ 2); rewrite length; field|].
    split.
    + intro none. rewrite none, norm_zero in length. lra.
    + assert (root : cosine it = 1 * sqrt (1 - (28 / 100) ^ 2) + 0 * sqrt ((28 / 100) ^ 2))
        by exact (plane_dot 1 0 (sqrt (1 - (28 / 100) ^ 2)) (sqrt ((28 / 100) ^ 2))).
      assert (cos_is : cosine it * cosine it = 1 - (28 / 100) ^ 2).
      { rewrite root. transitivity (sqrt (1 - (28 / 100) ^ 2) * sqrt (1 - (28 / 100) ^ 2)); [ring|]. apply sqrt_sqrt. lra. }
      assert (square := delta_square it). rewrite cos_is in square.
      assert (0 <= delta it) by apply norm_nonneg. apply Rsqr_inj; [assumption|lra|]. unfold Rsqr. lra.
Qed.
