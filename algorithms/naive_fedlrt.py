r"""Naive FeDLRT: every client changes its own bases (Algorithm 6 of the FeDLRT paper).

The box prints the mean of the clients' coefficients, which belong to different bases, and the bases of no client in
particular. The text says what is meant: the server rebuilds $W^* = \frac1C\sum_c \tilde U_c\tilde S_c\tilde V_c^T$ and
decomposes it, at the cost of a full matrix. That is the default; `as_printed` averages the coefficients and takes the
bases of the first client.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from algorithms.descent import Descent, gradient
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.low_rank import USV, Truncation, augment, beside, factorise, product, projected, truncated
from algorithms.tree import Tree


@dataclass(frozen=True)
class NaiveFeDLRT:
    """Algorithm 6; the state is the factors.

    Attributes:
        local: Local steps; each widens the client's bases, steps in the coefficients and truncates to the start's rank.
        rank: Of the start, and at most of what clients keep between steps.
        truncation: Which singular values stay at the server.
        as_printed: Average coefficients across bases.
    """

    local: Descent
    rank: int
    truncation: Truncation = field(default_factory=Truncation)
    as_printed: bool = False

    def start(self, fed: Federation, w: Tree) -> USV:
        """The state before the first round."""
        if self.local.batch is not None:
            raise FederationError("the naive scheme takes full batches")
        return factorise(w, self.rank)

    def round(self, fed: Federation, cohort: Cohort, state: USV) -> USV:
        """One round."""
        uploads = fed.gather(own_bases, to=cohort, U=state.U, S=state.S, V=state.V, local=self.local)
        if self.as_printed:
            S = fed.average([upload.S for upload in uploads], of=cohort)
            return truncated(uploads[0].U, S, uploads[0].V, self.truncation)
        whole = fed.average([product(upload) for upload in uploads], of=cohort)
        return truncated(_identity(whole, 0), whole, _identity(whole, 1), self.truncation)

    def weights(self, state: USV) -> Tree:
        """The model."""
        return product(state)


def own_bases(client: Client, memory: Memory, U: Tree, S: Tree, V: Tree, local: Descent) -> Reply:
    """Local steps in bases of the client's own; the last one is sent as it is, wide."""
    factors = USV(U, S, V)
    most = max(entry.shape[1] for entry in U.values())
    for step in range(local.steps):
        if step:
            factors = truncated(*factors, Truncation(0.0, least=1, most=most))
        slopes = gradient(client, factors, product)
        Ut, Vt = beside(factors.U, augment(factors.U, slopes.U)), beside(factors.V, augment(factors.V, slopes.V))
        St = Ut.T @ product(factors) @ Vt
        factors = USV(Ut, St - local.learning_rate * gradient(projected(client, Ut, Vt), St), Vt)
    return Reply(upload=factors)


def _identity(w: Tree, side: int) -> Tree:
    return w.map(lambda W: W.new_zeros(W.shape[side], W.shape[side]).fill_diagonal_(1.0))
