(** Dimension: fewer conditions than dimensions leave a vector that is not zero. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Rankproof Require Import sums spaces.
Open Scope R_scope.

(** [v 0], ..., [v (k - 1)] have length 1 and right angles. *)
Definition orthonormal_family {E : space} (k : nat) (v : nat -> E) : Prop :=
  forall i j, (i < k)%nat -> (j < k)%nat -> ⟨ v i, v j ⟩ = if Nat.eqb i j then 1 else 0.

(** An orthonormal basis of N vectors. *)
Definition basis {E : space} (N : nat) (e : nat -> E) : Prop :=
  orthonormal_family N e /\ forall x, ⟨ x, x ⟩ = sum N (fun i => ⟨ x, e i ⟩ * ⟨ x, e i ⟩).

(** A vector has a right angle with each of a list. *)
Definition right_angles {E : space} (vectors : list E) (x : E) : Prop := forall w, In w vectors -> ⟨ x, w ⟩ = 0.

Section Dimension.
Context {E : space}.
Implicit Types x y z : E.

(** What is left of [x] after its components along [v]. *)
Definition rest (k : nat) (v : nat -> E) (x : E) : E := x ⊖ vsum k (fun i => ⟨ x, v i ⟩ ⋅ v i).

Lemma dot_rest k v x z : ⟨ z, rest k v x ⟩ = ⟨ z, x ⟩ - sum k (fun i => ⟨ x, v i ⟩ * ⟨ z, v i ⟩).
Proof.
  unfold rest. rewrite dot_sub_r. f_equal. rewrite dot_sym, dot_vsum. apply sum_ext. intros.
  now rewrite dot_scale, (dot_sym _ (v i)).
Qed.

Lemma rest_right k v x j : orthonormal_family k v -> (j < k)%nat -> ⟨ v j, rest k v x ⟩ = 0.
Proof.
  intros family low. rewrite dot_rest, (sum_single k _ j) by
    first [assumption | intros i below other; rewrite (family j i low below);
      destruct (Nat.eqb_spec j i); [congruence|ring]].
  rewrite (family j j low low), Nat.eqb_refl, (dot_sym _ x). ring.
Qed.

Lemma rest_square k v x :
  orthonormal_family k v -> ⟨ rest k v x, rest k v x ⟩ = ⟨ x, x ⟩ - sum k (fun i => ⟨ x, v i ⟩ * ⟨ x, v i ⟩).
Proof.
  intro family. unfold rest at 1. rewrite dot_sub, dot_vsum, sum_zero, dot_rest.
  - ring.
  - intros i low. now rewrite dot_scale, (rest_right k v x i), Rmult_0_r.
Qed.

Lemma zero_or_not x : x = zero \/ 0 < ⟨ x, x ⟩.
Proof.
  destruct (Req_dec ⟨ x, x ⟩ 0) as [none|some]; [left; now apply dot_definite|right].
  assert (sign := dot_nonneg E x). lra.
Qed.

(** Gram and Schmidt. *)
Lemma orthonormalised (vectors : list E) :
  exists k v, (k <= length vectors)%nat /\ orthonormal_family k v /\
  forall x, (forall i, (i < k)%nat -> ⟨ x, v i ⟩ = 0) -> right_angles vectors x.
Proof.
  induction vectors as [|w vectors (k & v & short & family & enough)].
  - exists 0%nat, (fun _ => zero). split; [simpl; lia|]. split; [intros i j low; lia|]. intros x _ w [].
  - assert (split : forall x, (forall i, (i < k)%nat -> ⟨ x, v i ⟩ = 0) -> ⟨ x, w ⟩ = ⟨ x, rest k v w ⟩).
    { intros x right. rewrite dot_rest, sum_zero; [ring|]. intros i low. rewrite right by assumption. ring. }
    destruct (zero_or_not (rest k v w)) as [none|some].
    + exists k, v. split; [simpl; lia|]. split; [assumption|]. intros x right u [<-|among].
      * now rewrite split, none, dot_zero_r.
      * now apply enough.
    + set (r := rest k v w) in *. set (size := ‖r‖).
      assert (positive : 0 < size) by (unfold size, norm; now apply sqrt_lt_R0).
      assert (square : size * size = ⟨ r, r ⟩) by apply norm_square.
      exists (S k), (fun i => if Nat.ltb i k then v i else / size ⋅ r).
      split; [simpl; lia|]. split.
      * intros i j low_i low_j.
        destruct (Nat.ltb_spec i k), (Nat.ltb_spec j k).
        -- now apply family.
        -- destruct (Nat.eqb_spec i j); [lia|]. rewrite dot_scale_r. unfold r. rewrite rest_right by assumption. ring.
        -- destruct (Nat.eqb_spec i j); [lia|]. rewrite dot_scale, dot_sym. unfold r. rewrite rest_right by assumption. ring.
        -- destruct (Nat.eqb_spec i j); [|lia]. rewrite dot_scale, dot_scale_r, <- square. field. lra.
      * intros x right.
        assert (before : forall i, (i < k)%nat -> ⟨ x, v i ⟩ = 0).
        { intros i low. specialize (right i ltac:(lia)). destruct (Nat.ltb_spec i k); [assumption|lia]. }
        assert (last := right k ltac:(lia)). cbv beta in last.
        destruct (Nat.ltb_spec k k); [lia|]. rewrite dot_scale_r in last.
        intros u [<-|among]; [|now apply enough].
        rewrite split by assumption.
        assert (0 < / size) by now apply Rinv_0_lt_compat. nra.
Qed.

Lemma some_not_zero N (r : nat -> E) :
  (forall j, (j < N)%nat -> r j = zero) \/ exists j, (j < N)%nat /\ 0 < ⟨ r j, r j ⟩.
Proof.
  induction N as [|N [all|(j & low & some)]].
  - left. intros j low. lia.
  - destruct (zero_or_not (r N)) as [none|some]; [left|right; exists N; split; [lia|assumption]].
    intros j low. destruct (Nat.eq_dec j N) as [->|other]; [assumption|]. apply all. lia.
  - right. exists j. split; [lia|assumption].
Qed.

Theorem room N (e : nat -> E) (vectors : list E) :
  basis N e -> (length vectors < N)%nat -> exists x, 0 < ⟨ x, x ⟩ /\ right_angles vectors x.
Proof.
  intros [unit whole] few.
  destruct (orthonormalised vectors) as (k & v & short & family & enough).
  destruct (some_not_zero N (fun j => rest k v (e j))) as [none|(j & low & some)].
  - exfalso.
    assert (counted : sum N (fun j => sum k (fun i => ⟨ e j, v i ⟩ * ⟨ e j, v i ⟩)) = INR N).
    { rewrite <- (Rmult_1_r (INR N)), <- sum_const. apply sum_ext. intros j low.
      assert (square := rest_square k v (e j) family). rewrite (none j low), dot_zero in square.
      rewrite (unit j j low low), Nat.eqb_refl in square. lra. }
    rewrite sum_swap in counted.
    assert (again : sum k (fun i => sum N (fun j => ⟨ e j, v i ⟩ * ⟨ e j, v i ⟩)) = INR k).
    { rewrite <- (Rmult_1_r (INR k)), <- sum_const. apply sum_ext. intros i low.
      rewrite (sum_ext N _ (fun j => ⟨ v i, e j ⟩ * ⟨ v i, e j ⟩)) by (intros; now rewrite (dot_sym _ (e i0))).
      rewrite <- whole. now rewrite (family i i low low), Nat.eqb_refl. }
    rewrite again in counted. apply INR_eq in counted. lia.
  - exists (rest k v (e j)). split; [assumption|]. apply enough. intros i below. now rewrite dot_sym, rest_right.
Qed.

(** As many orthonormal vectors as dimensions are a basis. *)
Theorem basis_of_size N (e v : nat -> E) : basis N e -> orthonormal_family N v -> basis N v.
Proof.
  intros [unit whole] family. split; [assumption|]. intro x.
  assert (all : sum N (fun j => ⟨ rest N v (e j), rest N v (e j) ⟩) = 0).
  { rewrite (sum_ext N _ (fun j => 1 + -1 * sum N (fun i => ⟨ v i, e j ⟩ * ⟨ v i, e j ⟩))).
    - rewrite sum_add, sum_const, sum_scale, sum_swap.
      rewrite (sum_ext N (fun j => sum N _) (fun _ => 1)); [rewrite sum_const; ring|].
      intros i low. now rewrite <- whole, (family i i low low), Nat.eqb_refl.
    - intros j low. rewrite rest_square by assumption. rewrite (unit j j low low), Nat.eqb_refl.
      rewrite (sum_ext N (fun i => ⟨ e j, v i ⟩ * ⟨ e j, v i ⟩) (fun i => ⟨ v i, e j ⟩ * ⟨ v i, e j ⟩))
        by (intros; now rewrite (dot_sym _ (e j))). ring. }
  assert (none : forall j, (j < N)%nat -> rest N v (e j) = zero).
  { intros j low. apply dot_definite. apply Rle_antisym; [|apply dot_nonneg]. rewrite <- all.
    apply (sum_term N (fun j => ⟨ rest N v (e j), rest N v (e j) ⟩)); [|assumption]. intros; apply dot_nonneg. }
  assert (left : ⟨ rest N v x, rest N v x ⟩ = 0).
  { rewrite whole. apply sum_zero. intros j low.
    replace ⟨ rest N v x, e j ⟩ with 0; [ring|].
    assert (part : ⟨ rest N v x, e j ⟩ = ⟨ rest N v x, rest N v (e j) ⟩).
    { rewrite (dot_rest N v (e j) (rest N v x)). rewrite sum_zero; [ring|].
      intros i below. rewrite (dot_sym _ (rest N v x)), rest_right by assumption. ring. }
    rewrite part, none, dot_zero_r by assumption. reflexivity. }
  rewrite rest_square in left by assumption. lra.
Qed.
End Dimension.
