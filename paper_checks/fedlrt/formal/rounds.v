(** FeDLRT's local steps with full variance correction, in the paper's words.

    [round] collects what the theorems on a round share: Section 3.2 ("the general assumption that L_c and L
    are L-smooth with constant L") and the setting of Theorem 1. The mean loss L is that of the clients. *)

From Coq Require Import Reals Lra Lia Psatz.
From Rankproof Require Import sums spaces smooth matrices.
From FeDLRT Require Import local_steps.
Open Scope R_scope.

Record round := Round {
  rows : nat; columns : nat; width : nat;              (* of W, and of the augmented bases: 2r in the paper *)
  clients : nat; steps : nat;                          (* C and s_* *)
  L : R; lambda : R;                                   (* smoothness and learning rate *)
  loss : nat -> M rows columns -> R;                   (* loss c is L_c *)
  gradient : nat -> M rows columns -> M rows columns;  (* gradient c is that of L_c *)
  U : M rows width; V : M columns width;               (* the augmented bases, with a tilde in the paper *)
  S : M width width;                                   (* the coefficients at the start, with a tilde *)
  some_clients : (1 <= clients)%nat;
  some_steps : (1 <= steps)%nat;
  constant_L : 0 <= L;
  rate_nonneg : 0 <= lambda;
  smooth_losses : forall c, (c < clients)%nat -> smooth L (loss c) (gradient c);
  orthonormal_U : orthonormal U;
  orthonormal_V : orthonormal V
}.

Section Round.
Variable r : round.

(** The model with coefficients [X]. *)
Definition model (X : M (width r) (width r)) : M (rows r) (columns r) := U r × X × (V r)^T.

(** The mean loss, its gradient, and the gradients with respect to the coefficients. *)
Definition mean_L : M (rows r) (columns r) -> R := mean_loss (clients r) (loss r).
Definition nabla : M (rows r) (columns r) -> M (rows r) (columns r) := mean_gradient (clients r) (gradient r).
Definition nabla_S_of (c : nat) (X : M (width r) (width r)) : M (width r) (width r) :=
  (U r)^T × gradient r c (model X) × V r.
Definition nabla_S (X : M (width r) (width r)) : M (width r) (width r) := (U r)^T × nabla (model X) × V r.

(** The coefficients of client c after i local steps of (8), which is (26). *)
Fixpoint coefficients (c i : nat) : M (width r) (width r) :=
  match i with
  | O => S r
  | Datatypes.S i => coefficients c i ⊖ lambda r ⋅ (nabla_S_of c (coefficients c i) ⊖ nabla_S_of c (S r) ⊕ nabla_S (S r))
  end.

(** The coefficients after the server's mean, and the model with them. *)
Definition S_star : M (width r) (width r) := vmean (clients r) (fun c => coefficients c (steps r)).
Definition W_start : M (rows r) (columns r) := model (S r).
Definition W_star : M (rows r) (columns r) := model S_star.

(** The number of steps and the length of the gradient, as numbers. *)
Definition s_ : R := INR (steps r).
Definition slope : R := ‖(nabla_S (S r))‖.

(** What connects the round with local steps in the space of the coefficients. *)
Definition coordinates := bases (U r) (V r) (orthonormal_U r) (orthonormal_V r).
Definition own_loss (c : nat) (X : M (width r) (width r)) : R := loss r c (into coordinates X).

Lemma own_smooth c : (c < clients r)%nat -> smooth (L r) (own_loss c) (nabla_S_of c).
Proof. intro below. exact (smooth_back coordinates (L r) _ _ (smooth_losses r c below)). Qed.

Lemma mean_of_slopes X : mean_gradient (clients r) nabla_S_of X = nabla_S X.
Proof. symmetry. exact (back_vmean coordinates (clients r) (fun c => gradient r c (model X))). Qed.

Lemma coefficients_point c i :
  coefficients c i = point (lambda r) nabla_S_of (S r) (fun _ => nabla_S (S r)) c i.
Proof. induction i as [|i IH]; cbn [coefficients point]; [reflexivity|]. rewrite <- IH. vectors. Qed.

Lemma star_server :
  S_star = server (clients r) (steps r) (lambda r) nabla_S_of (S r) (fun _ => nabla_S (S r)).
Proof. apply vmean_ext. intros. apply coefficients_point. Qed.

Lemma mean_own_loss X : mean_loss (clients r) own_loss X = mean_L (model X).
Proof. reflexivity. Qed.

Lemma s_ge_1 : 1 <= s_.
Proof. unfold s_. assert (some := some_steps r). apply le_INR in some. exact some. Qed.
End Round.
