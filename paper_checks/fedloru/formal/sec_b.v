(** Appendix B of FedLoRU: the accumulation and the re-initialisation leave the loss as it is. *)

From Coq Require Import Reals Lra Lia.
From Rankproof Require Import sums spaces smooth matrices.
Open Scope R_scope.

(** [W], [A], [B] are those of round t + 1 before an accumulation; a bar marks the factors after it. *)
Definition claim_reinit_states {accumulated : R} : Prop :=
  forall (m n r : nat) (f : M m n -> R) (W W_next : M m n) (A A_bar : M m r) (B B_bar : M r n),
  W_next = W ⊕ accumulated ⋅ (A × B) ->
  A_bar × B_bar = zero ->
  f (W ⊕ A × B) = f (W_next ⊕ A_bar × B_bar).

(* proves: fedloru-v2/claim-reinit *)
Theorem claim_reinit : claim_reinit_states (accumulated := 1).
Proof.
  intros m n r f W W_next A A_bar B B_bar next restart. rewrite next, restart. f_equal. vectors.
Qed.
