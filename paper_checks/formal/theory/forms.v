(** Quadratic forms that are sums of squares with coefficients: what a sum of two of them does to the coefficients. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Rankproof Require Import sums spaces dimension.
Open Scope R_scope.

(** [form x] is the sum of [value k * part k x], and the parts sum to the square of x. A part is 0 at right angles with
    its [width] lines. *)
Record squares {E : space} (n width : nat) (form : E -> R) (value : nat -> R) := Squares {
  part : nat -> E -> R;
  lines : nat -> list E;
  part_nonneg : forall k x, 0 <= part k x;
  part_zero : forall k x, right_angles (lines k) x -> part k x = 0;
  few_lines : forall k, (k < n)%nat -> length (lines k) = width;
  whole : forall x, sum n (fun k => part k x) = ⟨ x, x ⟩;
  weighted_whole : forall x, form x = sum n (fun k => value k * part k x)
}.
Arguments part {E n width form value}.
Arguments lines {E n width form value}.

Definition decreasing (n : nat) (value : nat -> R) : Prop :=
  forall i j, (i <= j)%nat -> (j < n)%nat -> value j <= value i.

Lemma sum_reverse n f : sum n (fun k => f (n - 1 - k)%nat) = sum n f.
Proof.
  induction n as [|n IH]; [reflexivity|].
  replace (S n) with (1 + n)%nat by lia. rewrite (sum_split 1 n (fun k => f (1 + n - 1 - k)%nat)).
  replace (1 + n)%nat with (S n) by lia. cbn [sum].
  replace (S n - 1 - 0)%nat with n by lia. rewrite Rplus_0_l, Rplus_comm. f_equal.
  rewrite <- IH. apply sum_ext. intros i low. f_equal. lia.
Qed.

Section Weyl.
Context {E : space} {n width : nat}.

Definition all_lines {form value} (s : squares (E := E) n width form value) (from count : nat) : list E :=
  concat (map (lines s) (seq from count)).

Lemma many_lines {form value} (s : squares (E := E) n width form value) from count :
  (from + count <= n)%nat -> length (all_lines s from count) = (count * width)%nat.
Proof.
  revert from. unfold all_lines. induction count as [|count IH]; intros from below; [reflexivity|].
  cbn [seq map concat]. rewrite app_length, IH, (few_lines _ _ _ _ s) by lia. lia.
Qed.

Lemma none_on_lines {form value} (s : squares (E := E) n width form value) from count x k :
  right_angles (all_lines s from count) x -> (from <= k < from + count)%nat -> part s k x = 0.
Proof.
  intros right inside. apply (part_zero _ _ _ _ s). intros w among. apply right. unfold all_lines.
  apply in_concat. exists (lines s k). split; [|assumption]. apply in_map. apply in_seq. lia.
Qed.

Lemma form_at_most {form value} (s : squares (E := E) n width form value) x i :
  decreasing n value -> (forall k, (k < i)%nat -> part s k x = 0) -> form x <= value i * ⟨ x, x ⟩.
Proof.
  intros order none. rewrite (weighted_whole _ _ _ _ s), <- (whole _ _ _ _ s), <- sum_scale. apply sum_le. intros k low.
  destruct (Nat.ltb_spec k i) as [before|after].
  - rewrite none by assumption. lra.
  - apply Rmult_le_compat_r; [apply (part_nonneg _ _ _ _ s)|]. now apply order.
Qed.

Lemma form_at_least {form value} (s : squares (E := E) n width form value) x i :
  decreasing n value -> (i < n)%nat -> (forall k, (i < k < n)%nat -> part s k x = 0) -> value i * ⟨ x, x ⟩ <= form x.
Proof.
  intros order below none. rewrite (weighted_whole _ _ _ _ s), <- (whole _ _ _ _ s), <- sum_scale. apply sum_le. intros k low.
  destruct (Nat.ltb_spec i k) as [after|before].
  - rewrite none by lia. lra.
  - apply Rmult_le_compat_r; [apply (part_nonneg _ _ _ _ s)|]. now apply order.
Qed.

(** Weyl: at a vector without the first parts of both forms and the last ones of the sum. *)
Theorem weyl (e : nat -> E) (f g h : E -> R) (a b c : nat -> R) i j :
  basis (n * width) e -> (0 < width)%nat ->
  squares n width f a -> squares n width g b -> squares n width h c ->
  decreasing n a -> decreasing n b -> decreasing n c ->
  (forall x, h x = f x + g x) -> (i + j < n)%nat -> c (i + j)%nat <= a i + b j.
Proof.
  intros base some sf sg sh order_a order_b order_c total low.
  set (count := (n - 1 - (i + j))%nat).
  destruct (room (n * width) e (all_lines sf 0 i ++ all_lines sg 0 j ++ all_lines sh (S (i + j)) count))
    as (x & positive & right); [assumption| |].
  - rewrite !app_length, !many_lines by (unfold count; lia). unfold count. nia.
  - assert (high_f : f x <= a i * ⟨ x, x ⟩).
    { apply (form_at_most sf); [assumption|]. intros k before. apply (none_on_lines sf 0 i); [|lia].
      intros w among. apply right. rewrite !in_app_iff. now left. }
    assert (high_g : g x <= b j * ⟨ x, x ⟩).
    { apply (form_at_most sg); [assumption|]. intros k before. apply (none_on_lines sg 0 j); [|lia].
      intros w among. apply right. rewrite !in_app_iff. right. now left. }
    assert (low_h : c (i + j)%nat * ⟨ x, x ⟩ <= h x).
    { apply (form_at_least sh); [assumption|assumption|]. intros k after.
      apply (none_on_lines sh (S (i + j)) count); [|unfold count; lia].
      intros w among. apply right. rewrite !in_app_iff. right. now right. }
    rewrite total in low_h. nra.
Qed.

(** The form with the other sign, with its coefficients from the last to the first. *)
Definition reversed {form value} (s : squares (E := E) n width form value) :
  squares (E := E) n width (fun x => - form x) (fun k => - value (n - 1 - k)%nat).
Proof.
  refine (Squares E n width _ _ (fun k => part s (n - 1 - k)) (fun k => lines s (n - 1 - k)) _ _ _ _ _).
  - intros. apply (part_nonneg _ _ _ _ s).
  - intros. now apply (part_zero _ _ _ _ s).
  - intros. apply (few_lines _ _ _ _ s). lia.
  - intro x. rewrite (sum_reverse n (fun k => part s k x)). apply (whole _ _ _ _ s).
  - intro x. rewrite (weighted_whole _ _ _ _ s).
    rewrite <- (sum_reverse n (fun k => value k * part s k x)), <- (Rmult_1_l (sum _ _)), Ropp_mult_distr_l, <- sum_scale.
    apply sum_ext. intros. ring.
Defined.

Lemma decreasing_reversed value : decreasing n value -> decreasing n (fun k => - value (n - 1 - k)%nat).
Proof. intros order i j before low. apply Ropp_le_contravar. apply order; lia. Qed.

Theorem weyl_from_below (e : nat -> E) (f g h : E -> R) (a b c : nat -> R) i j :
  basis (n * width) e -> (0 < width)%nat ->
  squares n width f a -> squares n width g b -> squares n width h c ->
  decreasing n a -> decreasing n b -> decreasing n c ->
  (forall x, h x = f x + g x) -> (i < n)%nat -> (j < n)%nat -> (n - 1 <= i + j)%nat ->
  a i + b j <= c (i + j - (n - 1))%nat.
Proof.
  intros base some sf sg sh order_a order_b order_c total low_i low_j high.
  assert (step := weyl e (fun x => - f x) (fun x => - g x) (fun x => - h x) _ _ _ (n - 1 - i) (n - 1 - j)
    base some (reversed sf) (reversed sg) (reversed sh) (decreasing_reversed _ order_a) (decreasing_reversed _ order_b)
    (decreasing_reversed _ order_c)).
  cbv beta in step.
  replace (n - 1 - (n - 1 - i))%nat with i in step by lia.
  replace (n - 1 - (n - 1 - j))%nat with j in step by lia.
  replace (n - 1 - (n - 1 - i + (n - 1 - j)))%nat with (i + j - (n - 1))%nat in step by lia.
  assert (- c (i + j - (n - 1))%nat <= - a i + - b j); [|lra].
  apply step; [intro x; rewrite total; ring|lia].
Qed.
End Weyl.
