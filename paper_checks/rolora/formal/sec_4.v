(** Section 4 of RoLoRA, eqs. (3) and (4): averages of one factor are exact while the other is frozen. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
Open Scope R_scope.

(** Eq. (3): the frozen A_i are the same at all clients. *)
Definition eq_3_states {weight : R} : Prop :=
  forall (N d r n : nat) (A : M d r) (A_ : nat -> M d r) (B_ : nat -> M r n),
  (1 <= N)%nat -> (forall i, (i < N)%nat -> A_ i = A) ->
  let Delta_W i := A_ i × B_ i in
  vmean N Delta_W = / INR N ⋅ vsum N (fun i => A_ i × B_ i)
  /\ vmean N Delta_W = weight ⋅ (/ INR N ⋅ (A × vsum N B_)).

(** Eq. (4): the B of the even round is what the server distributes. *)
Definition eq_4_states {weight : R} : Prop :=
  forall (N d r n : nat) (B : M r n) (A_ : nat -> M d r) (B_ : nat -> M r n),
  (1 <= N)%nat -> (forall i, (i < N)%nat -> B_ i = B) ->
  let Delta_W i := A_ i × B_ i in
  vmean N Delta_W = / INR N ⋅ vsum N (fun i => A_ i × B_ i)
  /\ vmean N Delta_W = weight ⋅ (/ INR N ⋅ vsum N A_ × B).

(** Eq. (4) with the B_i of eq. (3), the clients' own updates, of which B is the mean: it fails. *)
Definition eq_4_of_updates_fails {weight : R} : Prop :=
  exists (N d r n : nat) (A_ : nat -> M d r) (B_ : nat -> M r n),
  (1 <= N)%nat /\
  / INR N ⋅ vsum N (fun i => A_ i × B_ i) <> weight ⋅ (/ INR N ⋅ vsum N A_ × vmean N B_).

(* proves: rolora/eq-3 *)
Theorem eq_3 : eq_3_states (weight := 1).
Proof.
  intros N d r n A A_ B_ some same Delta_W. split; [reflexivity|].
  rewrite scale_one, product_vsum. unfold vmean. f_equal. apply vsum_ext. intros i low. unfold Delta_W.
  now rewrite same.
Qed.

(* proves: rolora/eq-4@b-distributed *)
Theorem eq_4 : eq_4_states (weight := 1).
Proof.
  intros N d r n B A_ B_ some same Delta_W. split; [reflexivity|].
  rewrite scale_one, scale_product, vsum_product. unfold vmean. f_equal. apply vsum_ext. intros i low. unfold Delta_W.
  now rewrite same.
Qed.

(** Adapters that are numbers: A = 1, 2 and B = 1, 3. *)
Definition number (x : R) : M 1 1 := from_entries 1 1 (fun _ _ => x).
Definition A_of (i : nat) : M 1 1 := number (match i with O => 1 | _ => 2 end).
Definition B_of (i : nat) : M 1 1 := number (match i with O => 1 | _ => 3 end).

(* refutes: rolora/eq-4 *)
Theorem eq_4_of_updates : eq_4_of_updates_fails (weight := 1).
Proof.
  exists 2%nat, 1%nat, 1%nat, 1%nat, A_of, B_of. split; [lia|]. intro same.
  apply (f_equal (fun X : M 1 1 => entry X 0 0)) in same. cbn in same. lra.
Qed.
