r"""FeDLRT: dynamical low-rank training with variance correction (Algorithms 1 and 5 of the paper).

The weights are $U S V^T$. A round augments both bases by the mean gradients of the factors, lets every client descend
in the coefficients of the augmented bases, averages these coefficients, and truncates. Weights that are not factorised
are trained and averaged with the coefficients; their drift is corrected as in FedLin.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from algorithms.descent import Descent, descend, gradient
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.kernels import CONVOLUTIONS, Convolution
from algorithms.low_rank import (
    COMPLETIONS,
    USV,
    Completion,
    Truncation,
    append_columns,
    augment,
    factor_gradient,
    factorise,
    pad,
    product,
    project,
    truncate,
    values,
)
from algorithms.moving_bases import follow_bases, store_bases
from algorithms.tree import Tree

Correction = Literal["none", "full", "simplified"]
CORRECTIONS: tuple[Correction, ...] = ("none", "full", "simplified")


@dataclass(frozen=True)
class FeDLRT:
    r"""Clients step by $\tilde S \leftarrow \tilde S - \lambda(\nabla_{\tilde S}L_c + V_c)$; the state is the factors.

    Algorithm 1 has $V_c = 0$ (`none`) or the difference of the mean gradient in $\tilde S$ and the client's (`full`);
    Algorithm 5 has this difference only in the block of S (`simplified`).

    Attributes:
        local: Local steps in the coefficients; a personal state of the optimiser follows the bases.
        rank: Initial rank.
        truncation: Rule for the number of singular values to keep.
        correction: Correction of the drift of the clients' coefficient gradients: `none`, `full` or `simplified`.
        completion: How to complete a basis that the gradient does not determine.
        layers: Patterns for the names of the layers that are factorised; default: all weights, which then must be
            matrices.
        convolution: How to reshape a convolution kernel into a matrix; see `algorithms.kernels`.
        cap: Lower a rank that exceeds the smaller side of a layer; without it, such a rank is an error.

    Raises:
        FederationError: The correction or the completion is unknown.
    """

    local: Descent
    rank: int
    truncation: Truncation = field(default_factory=Truncation)
    correction: Correction = "simplified"
    completion: Completion = "orthogonal"
    layers: str | None = None
    convolution: Convolution = CONVOLUTIONS[0]
    cap: bool = False

    def __post_init__(self) -> None:
        if self.correction not in CORRECTIONS or self.completion not in COMPLETIONS:
            raise FederationError(
                f"correction must be one of {CORRECTIONS} and completion of {COMPLETIONS}, got {self.correction!r} and "
                f"{self.completion!r}"
            )

    def start(self, fed: Federation, w: Tree) -> USV:
        """Return the state before the first round: the best factors of the initial rank."""
        return factorise(w, self.rank, self.layers, self.convolution, self.cap)

    def round(self, fed: Federation, cohort: Cohort, state: USV) -> USV:
        """Do one round, which is two exchanges, or three with the full correction."""
        U, S, V = state
        simplified = self.correction == "simplified"
        G = fed.mean(factor_gradients, to=cohort, U=U, S=S, V=V, with_S=simplified)
        Ubar, Vbar = augment(U, G["U"], self.completion), augment(V, G["V"], self.completion)
        Ut, Vt = append_columns(U, Ubar), append_columns(V, Vbar)
        if self.correction == "full":
            G_St = fed.mean(augmented_gradient, to=cohort, Ubar=Ubar, Vbar=Vbar)
            S_star = fed.mean(coefficient_descent, to=cohort, draw=self.local.draw, settings=self.local, G_St=G_St)
        else:
            sent = {"G_S": G["S"]} if simplified else {}
            S_star = fed.mean(
                coefficient_descent, to=cohort, draw=self.local.draw, settings=self.local, Ubar=Ubar, Vbar=Vbar, **sent
            )
        return truncate(Ut, S_star, Vt, self.truncation)

    def weights(self, state: USV) -> Tree:
        """Return the model; named layers keep their factors, because these do not determine a kernel's shape."""
        return product(state) if self.layers is None else values(state)


def factor_gradients(client: Client, memory: Memory, U: Tree, S: Tree, V: Tree, with_S: bool) -> Reply:
    """Compute the gradients in U and V, and in S for the simplified correction."""
    gradients = factor_gradient(client, USV(U, S, V))
    upload = {"U": gradients.U, "V": gradients.V} | ({"S": gradients.S} if with_S else {})
    return Reply(upload=upload, keep={"U": U, "S": S, "V": V} | ({"G_S": gradients.S} if with_S else {}))


def augmented_gradient(client: Client, memory: Memory, Ubar: Tree, Vbar: Tree) -> Reply:
    """Compute the gradient in the coefficients of the augmented bases, at the start of the local steps."""
    Ut, Vt, St = widen(memory, Ubar, Vbar)
    G_St = gradient(project(client, Ut, Vt), St)
    return Reply(upload=G_St, keep={"Ubar": Ubar, "Vbar": Vbar, "G_St": G_St})


def coefficient_descent(
    client: Client,
    memory: Memory,
    settings: Descent,
    Ubar: Tree | None = None,
    Vbar: Tree | None = None,
    G_S: Tree | None = None,
    G_St: Tree | None = None,
) -> Reply:
    """Take local steps in the coefficients, corrected by the mean gradient G_St or its block G_S if given."""
    Ubar, Vbar = (memory.kept["Ubar"], memory.kept["Vbar"]) if Ubar is None or Vbar is None else (Ubar, Vbar)
    Ut, Vt, St = widen(memory, Ubar, Vbar)
    correction: Any = None
    if G_St is not None:
        correction = G_St - memory.kept["G_St"]
    elif G_S is not None:
        correction = pad(G_S - memory.kept["G_S"], Ut, Vt)
    inside = project(client, Ut, Vt)
    memory = replace(memory, personal=follow_bases(memory.personal, inside, St, Ut, Vt))
    S_star, personal = descend(inside, St, settings, memory, correction=correction)
    return Reply(upload=S_star, personal=store_bases(personal, Ut, Vt))


def widen(memory: Memory, Ubar: Tree, Vbar: Tree) -> tuple[Tree, Tree, Tree]:
    """Return the augmented bases and the coefficients in them."""
    Ut, Vt = append_columns(memory.kept["U"], Ubar), append_columns(memory.kept["V"], Vbar)
    return Ut, Vt, pad(memory.kept["S"], Ut, Vt)
