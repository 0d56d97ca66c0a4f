(** Real inner product spaces, their norms, and sums and means of vectors. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums.
Open Scope R_scope.

Record space := Space {
  vector :> Type;
  zero : vector;
  add : vector -> vector -> vector;
  scale : R -> vector -> vector;
  dot : vector -> vector -> R;
  add_comm : forall x y, add x y = add y x;
  add_assoc : forall x y z, add x (add y z) = add (add x y) z;
  add_zero : forall x, add x zero = x;
  add_inverse : forall x, add x (scale (-1) x) = zero;
  scale_one : forall x, scale 1 x = x;
  scale_scale : forall a b x, scale a (scale b x) = scale (a * b) x;
  scale_add : forall a x y, scale a (add x y) = add (scale a x) (scale a y);
  add_scale : forall a b x, scale (a + b) x = add (scale a x) (scale b x);
  dot_sym : forall x y, dot x y = dot y x;
  dot_add : forall x y z, dot (add x y) z = dot x z + dot y z;
  dot_scale : forall a x y, dot (scale a x) y = a * dot x y;
  dot_nonneg : forall x, 0 <= dot x x;
  dot_definite : forall x, dot x x = 0 -> x = zero
}.

Arguments zero {s}.
Arguments add {s}.
Arguments scale {s}.
Arguments dot {s}.

Definition sub {E : space} (x y : E) : E := add x (scale (-1) y).
Definition norm {E : space} (x : E) : R := sqrt (dot x x).

Notation "x ⊕ y" := (add x y) (at level 50, left associativity).
Notation "x ⊖ y" := (sub x y) (at level 50, left associativity).
Notation "a ⋅ x" := (scale a x) (at level 40, left associativity).
Notation "⟨ x , y ⟩" := (dot x y) (at level 0, x at level 60, y at level 60).
Notation "‖ x ‖" := (norm x) (at level 0, x at level 9, format "‖ x ‖").

Fixpoint vsum {E : space} (n : nat) (f : nat -> E) : E :=
  match n with
  | O => zero
  | S k => vsum k f ⊕ f k
  end.

Definition vmean {E : space} (n : nat) (f : nat -> E) : E := / INR n ⋅ vsum n f.

Section Space.
Context {E : space}.
Implicit Types x y z : E.

Lemma dot_zero y : ⟨ (zero : E), y ⟩ = 0.
Proof.
  assert (twice : ⟨ (zero : E), y ⟩ = ⟨ zero, y ⟩ + ⟨ zero, y ⟩)
    by (rewrite <- dot_add, add_zero; reflexivity).
  lra.
Qed.

Lemma dot_sub x y z : ⟨ x ⊖ y, z ⟩ = ⟨ x, z ⟩ - ⟨ y, z ⟩.
Proof. unfold sub. rewrite dot_add, dot_scale. ring. Qed.

Lemma dot_vsum n (f : nat -> E) y : ⟨ vsum n f, y ⟩ = sum n (fun i => ⟨ f i, y ⟩).
Proof.
  induction n as [|n IH]; simpl; [apply dot_zero|]. now rewrite dot_add, IH.
Qed.

Lemma dot_vmean n (f : nat -> E) y : ⟨ vmean n f, y ⟩ = mean n (fun i => ⟨ f i, y ⟩).
Proof. unfold vmean, mean. now rewrite dot_scale, dot_vsum. Qed.

Lemma dot_add_r x y z : ⟨ x, y ⊕ z ⟩ = ⟨ x, y ⟩ + ⟨ x, z ⟩.
Proof. rewrite dot_sym, dot_add, (dot_sym _ y), (dot_sym _ z). reflexivity. Qed.

Lemma dot_scale_r a x y : ⟨ x, a ⋅ y ⟩ = a * ⟨ x, y ⟩.
Proof. now rewrite dot_sym, dot_scale, dot_sym. Qed.

Lemma dot_sub_r x y z : ⟨ x, y ⊖ z ⟩ = ⟨ x, y ⟩ - ⟨ x, z ⟩.
Proof. rewrite dot_sym, dot_sub, (dot_sym _ y), (dot_sym _ z). reflexivity. Qed.

Lemma dot_zero_r x : ⟨ x, (zero : E) ⟩ = 0.
Proof. rewrite dot_sym. apply dot_zero. Qed.

Lemma sub_zero_eq x y : x ⊖ y = zero -> x = y.
Proof.
  unfold sub. intro none.
  assert (same : (x ⊕ (-1) ⋅ y) ⊕ y = zero ⊕ y) by now rewrite none.
  rewrite <- add_assoc, (add_comm _ _ y), add_inverse, add_zero, add_comm, add_zero in same.
  exact same.
Qed.

(** Vectors with the same products are equal. *)
Lemma eq_by_dot x y : (forall z, ⟨ x, z ⟩ = ⟨ y, z ⟩) -> x = y.
Proof.
  intro same. apply sub_zero_eq, dot_definite. rewrite dot_sub, same. ring.
Qed.
End Space.

#[global] Hint Rewrite @dot_add @dot_scale @dot_sub @dot_zero @dot_vsum @dot_vmean : left_products.
#[global] Hint Rewrite @dot_add @dot_scale @dot_sub @dot_zero
  @dot_add_r @dot_scale_r @dot_sub_r @dot_zero_r : products.

(** Proves equations of vectors from the laws of a vector space. *)
Ltac vectors := apply eq_by_dot; let z := fresh "z" in intro z; autorewrite with left_products; try ring.

Section Norm.
Context {E : space}.
Implicit Types x y z : E.

Lemma norm_nonneg x : 0 <= ‖x‖.
Proof. apply sqrt_pos. Qed.

Lemma norm_square x : ‖x‖ * ‖x‖ = ⟨ x, x ⟩.
Proof. apply sqrt_sqrt, dot_nonneg. Qed.

Lemma norm_by_square x a : 0 <= a -> ⟨ x, x ⟩ <= a * a -> ‖x‖ <= a.
Proof.
  intros sign below. unfold norm. rewrite <- (sqrt_square a) by assumption. now apply sqrt_le_1_alt.
Qed.

Lemma norm_zero : ‖(zero : E)‖ = 0.
Proof. unfold norm. rewrite dot_zero. apply sqrt_0. Qed.

(** Cauchy and Schwarz. *)
Lemma dot_le x y : ⟨ x, y ⟩ <= ‖x‖ * ‖y‖.
Proof.
  assert (nx := norm_nonneg x). assert (ny := norm_nonneg y).
  assert (xx := norm_square x). assert (yy := norm_square y).
  assert (room := dot_nonneg E (‖y‖ ⋅ x ⊖ ‖x‖ ⋅ y)).
  autorewrite with products in room. rewrite (dot_sym _ y x), <- xx, <- yy in room.
  set (a := ‖x‖) in *. set (b := ‖y‖) in *. set (d := ⟨ x, y ⟩) in *.
  destruct (Req_dec a 0) as [az|az]; [|destruct (Req_dec b 0) as [bz|bz]].
  - assert (x = zero) as -> by (apply dot_definite; rewrite <- xx, az; ring).
    unfold d. rewrite dot_zero. rewrite az. lra.
  - assert (y = zero) as -> by (apply dot_definite; rewrite <- yy, bz; ring).
    unfold d. rewrite dot_zero_r. rewrite bz. lra.
  - assert (0 < a * b) by (apply Rmult_lt_0_compat; lra). nra.
Qed.

Lemma norm_scale a x : ‖(a ⋅ x)‖ = Rabs a * ‖x‖.
Proof.
  unfold norm. rewrite dot_scale, dot_scale_r, <- Rmult_assoc, sqrt_mult_alt by nra.
  f_equal. apply sqrt_Rsqr_abs.
Qed.

Lemma norm_opp x : ‖((-1) ⋅ x)‖ = ‖x‖.
Proof. rewrite norm_scale, Rabs_left by lra. ring. Qed.

Lemma dot_ge x y : - (‖x‖ * ‖y‖) <= ⟨ x, y ⟩.
Proof.
  assert (step := dot_le ((-1) ⋅ x) y). rewrite dot_scale, norm_opp in step. lra.
Qed.

Lemma norm_add x y : ‖(x ⊕ y)‖ <= ‖x‖ + ‖y‖.
Proof.
  apply norm_by_square; [assert (nx := norm_nonneg x); assert (ny := norm_nonneg y); lra|].
  autorewrite with products. rewrite (dot_sym _ y x), <- !norm_square.
  assert (step := dot_le x y). nra.
Qed.

Lemma norm_sub x y : ‖(x ⊖ y)‖ <= ‖x‖ + ‖y‖.
Proof. unfold sub. rewrite <- (norm_opp y). apply norm_add. Qed.

Lemma norm_vsum n (f : nat -> E) : ‖(vsum n f)‖ <= sum n (fun i => ‖(f i)‖).
Proof.
  induction n as [|n IH]; simpl; [rewrite norm_zero; lra|].
  assert (step := norm_add (vsum n f) (f n)). lra.
Qed.

Lemma norm_vmean n (f : nat -> E) : (0 < n)%nat -> ‖(vmean n f)‖ <= mean n (fun i => ‖(f i)‖).
Proof.
  intro some. unfold vmean, mean. assert (0 < / INR n) by now apply Rinv_0_lt_compat, lt_0_INR.
  rewrite norm_scale, Rabs_right by lra. apply Rmult_le_compat_l; [lra|]. apply norm_vsum.
Qed.

(** The square of the length of a sum of n vectors is at most n times the sum of the squares. *)
Lemma square_of_vsum n (f : nat -> E) :
  ⟨ vsum n f, vsum n f ⟩ <= INR n * sum n (fun i => ⟨ f i, f i ⟩).
Proof.
  assert (long := norm_vsum n f). assert (nn := norm_nonneg (vsum n f)).
  assert (step := square_of_sum n (fun i => ‖(f i)‖)).
  rewrite <- norm_square. rewrite (sum_ext n (fun i => ⟨ f i, f i ⟩) (fun i => ‖(f i)‖ * ‖(f i)‖))
    by (intros; now rewrite norm_square). nra.
Qed.

Lemma square_of_vmean n (f : nat -> E) :
  (0 < n)%nat -> ⟨ vmean n f, vmean n f ⟩ <= mean n (fun i => ⟨ f i, f i ⟩).
Proof.
  intro some. assert (long := norm_vmean n f some). assert (nn := norm_nonneg (vmean n f)).
  assert (step := square_of_mean n (fun i => ‖(f i)‖) some).
  rewrite <- norm_square. rewrite (mean_ext n (fun i => ⟨ f i, f i ⟩) (fun i => ‖(f i)‖ * ‖(f i)‖))
    by (intros; now rewrite norm_square). nra.
Qed.

Lemma vsum_ext n (f g : nat -> E) : (forall i, (i < n)%nat -> f i = g i) -> vsum n f = vsum n g.
Proof.
  induction n as [|n IH]; intro same; simpl; [reflexivity|].
  rewrite IH, same; auto with arith.
Qed.

Lemma vmean_ext n (f g : nat -> E) : (forall i, (i < n)%nat -> f i = g i) -> vmean n f = vmean n g.
Proof. intro same. unfold vmean. now rewrite (vsum_ext n f g). Qed.

Lemma vmean_const n x : (0 < n)%nat -> vmean n (fun _ => x) = x.
Proof. intro some. apply eq_by_dot; intro z. rewrite dot_vmean. now apply mean_const. Qed.

Lemma vmean_add n (f g : nat -> E) : vmean n (fun i => f i ⊕ g i) = vmean n f ⊕ vmean n g.
Proof.
  apply eq_by_dot; intro z. rewrite dot_add, !dot_vmean, <- mean_add. apply mean_ext. intros. apply dot_add.
Qed.

Lemma vmean_sub n (f g : nat -> E) : vmean n (fun i => f i ⊖ g i) = vmean n f ⊖ vmean n g.
Proof.
  apply eq_by_dot; intro z. rewrite dot_sub, !dot_vmean. unfold Rminus.
  replace (- mean n (fun i => ⟨ g i, z ⟩)) with (mean n (fun i => - ⟨ g i, z ⟩)).
  - rewrite <- mean_add. apply mean_ext. intros. rewrite dot_sub. ring.
  - rewrite <- (Rmult_1_l (mean n (fun i => ⟨ g i, z ⟩))), Ropp_mult_distr_l, <- mean_scale.
    apply mean_ext. intros. ring.
Qed.

Lemma vmean_scale n a (f : nat -> E) : vmean n (fun i => a ⋅ f i) = a ⋅ vmean n f.
Proof.
  apply eq_by_dot; intro z. rewrite dot_scale, !dot_vmean, <- mean_scale. apply mean_ext. intros. apply dot_scale.
Qed.
End Norm.
