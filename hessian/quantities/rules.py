r"""Bounds of a quadratic form $z^T f(H) z$ by Lanczos from z (Golub and Meurant, 1994).

m steps give the moments of the spectral measure of z up to degree 2m - 1, and the last coupling one more for a rule
with one prescribed node. For f with derivatives of alternating signs, as log(x + t) and x/(x + t) have them, the Gauss
rule is an upper bound and the Gauss-Radau rule with a node at or below the spectrum a lower one. For a step at t, the
rule with a node at t bounds the measure on either side: the weights below t, without and with the weight of t itself
(Chebyshev, Markov and Stieltjes), and no bounds by these moments are closer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hessian.lanczos.krylov import Array, Krylov

AT_ONCE = 64
"""Rules with a prescribed node that are computed together."""
FAR = 1e7
"""Largest size of the other end of a rule, relative to all: rounding of more would reach the nodes."""
APART = 1e-14
"""Least distance of a prescribed node from a Ritz value, relative to the size of all."""


@dataclass(frozen=True, eq=False)
class Rule:
    """Quadrature of the spectral measure of one vector, of total mass 1.

    Attributes:
        nodes: Ritz values, increasing.
        starts: First coefficients of the Ritz vectors; their squares are the weights.
        couplings: Coupling of each Ritz vector to the next step; zeros if there is none, so the rule is exact.
        rounding: The rule is that of a matrix as near as this to the given one.
    """

    nodes: Array
    starts: Array
    couplings: Array
    rounding: float

    @staticmethod
    def of(krylov: Krylov) -> Rule:
        """Return the rule of a basis with one starting vector."""
        values, coefficients, _ = krylov.ritz()
        couplings = krylov.coupling @ coefficients
        row = couplings[0] if len(couplings) else np.zeros(len(values))
        return Rule(values, coefficients[0], row, krylov.rounding)

    @property
    def weights(self) -> Array:
        """Weights of the nodes."""
        return self.starts**2

    def with_node(self, places: Array) -> tuple[Array, Array, Array]:
        """Return rules that have a node at given places.

        Args:
            places: One for each rule, shape ``(k,)``.

        Returns:
            Nodes and weights, shape ``(k, m + 1)``, and the position of the prescribed node in each.
        """
        size, found = len(self.nodes), []
        own = float(np.abs(self.nodes).max()) + float(np.abs(self.couplings).max()) or 1.0
        for start in range(0, len(places), AT_ONCE):
            at = np.array(places[start : start + AT_ONCE], dtype=float)
            scale = np.maximum(own, np.abs(at))  # a place may be far beyond nodes that are zeros to rounding
            gaps, apart = self.nodes - at[:, None], APART * scale[:, None]
            gaps = np.where(np.abs(gaps) < apart, apart, gaps)
            square = np.zeros((len(at), size + 1, size + 1))
            square[:, np.arange(size), np.arange(size)] = self.nodes
            square[:, size, :size] = square[:, :size, size] = self.couplings
            square[:, size, size] = np.clip(at + (self.couplings**2 / gaps).sum(axis=1), -FAR * scale, FAR * scale)
            nodes, vectors = np.linalg.eigh(square)
            weights = np.einsum("i,kij->kj", self.starts, vectors[:, :size]) ** 2
            found.append((nodes, weights, np.abs(nodes - at[:, None]).argmin(axis=1)))
        return (
            np.concatenate([one[0] for one in found]),
            np.concatenate([one[1] for one in found]),
            np.concatenate([one[2] for one in found]),
        )

    @property
    def exact(self) -> bool:
        """Whether the measure has no mass beyond the nodes."""
        return not self.couplings.any()

    def masses(self, places: Array) -> tuple[Array, Array]:
        """Return bounds of the mass at or below given places, with what rounding may move.

        Args:
            places: Shape ``(k,)``.

        Returns:
            Lower and upper bounds, between 0 and 1.
        """
        at = np.asarray(places, dtype=float)
        if self.exact:
            upto = np.r_[0.0, np.cumsum(self.weights)]
            return (
                upto[np.searchsorted(self.nodes, at - self.rounding, side="right")],
                upto[np.searchsorted(self.nodes, at + self.rounding, side="right")],
            )
        _, weights, place = self.with_node(at - self.rounding)
        below = np.arange(weights.shape[1]) < place[:, None]
        _, others, at_most = self.with_node(at + self.rounding)
        upto = np.arange(others.shape[1]) <= at_most[:, None]
        return (weights * below).sum(axis=1), np.minimum((others * upto).sum(axis=1), 1.0)

    def mirrored(self) -> Rule:
        """Return the rule of the matrix times -1."""
        return Rule(-self.nodes[::-1], self.starts[::-1], self.couplings[::-1], self.rounding)
