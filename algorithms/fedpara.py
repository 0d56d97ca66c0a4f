r"""FedPara (Hyeon-Woo et al., 2022): weights are Hadamard products of two low-rank ones, $W = W_1 \odot W_2$.

A matrix has $W_i = X_iY_i^T$ (Proposition 1) and a kernel $W_i = T_i \times_1 X_i \times_2 Y_i$ with a core $T_i$
``(r, r, k, k)`` (Proposition 3). $W$ has a rank of up to $r^2$, so $r \ge \sqrt{\min(m, n)}$ allows full rank. The
network trains from scratch: given weights only determine shapes and, with `initial` `matched`, sizes. In the personal
variant pFedPara, $W = W_1 \odot (W_2 + 1)$, $W_1$ is averaged, and every client keeps its own $W_2$. The average of the
factors does not give the average of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorithms.adapter import NAME_LAYERS, factorised_names
from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply, require_whole
from algorithms.tree import Tree

Initial = Literal["He", "matched"]
INITIALS: tuple[Initial, ...] = ("He", "matched")


class Low(NamedTuple):
    """The factors of a low-rank weight in every layer: X ``(m, r)``, Y ``(n, r)``, and cores T of kernels."""

    X: Tree
    Y: Tree
    T: Tree

    def weights(self) -> Tree:
        """Return the weights."""
        X, Y, T = self
        return Tree(
            {
                name: torch.einsum("xy...,mx,ny->mn...", T[name], x, Y[name]) if name in T else x @ Y[name].mT
                for name, x in X.items()
            }
        )


class Hadamard(NamedTuple):
    """Both low-rank weights, and the weights that are not factorised."""

    first: Low
    second: Low
    rest: Tree


class FirstLow(NamedTuple):
    """The averaged part of pFedPara: the first low-rank weight, and the weights that are not factorised."""

    first: Low
    rest: Tree


@dataclass(frozen=True)
class FedPara:
    r"""One round is the average of all factors of $W = W_1 \odot W_2$; the state is the factors.

    Attributes:
        local: Local steps in all factors and the weights that are not factorised.
        rank: Rank r of both low-rank weights.
        layers: Patterns for the names of the layers that are factorised; default: all weights, which then must be
            matrices or kernels.
        cap: Lower a rank that exceeds the number of inputs or outputs of a layer; without it, such a rank is an error.
        initial: Sizes of the normal initial factors: variance 2 over the entries of a row, or of a slice of the core,
            as in the released code (`He`), or so that the weights have the mean square of the given ones (`matched`).
        seed: Seed of the initial factors.

    Raises:
        FederationError: A value is out of its range.
    """

    local: Descent
    rank: int
    layers: str | None = None
    cap: bool = False
    initial: Initial = "He"
    seed: int = 0

    def __post_init__(self) -> None:
        require_whole(1, rank=self.rank)
        require_whole(0, seed=self.seed)
        if self.initial not in INITIALS:
            raise FederationError(f"initial must be one of {INITIALS}, got {self.initial!r}")

    def start(self, fed: Federation, w: Tree) -> Hadamard:
        """Return the state before the first round.

        Raises:
            FederationError: The rank does not fit a layer.
        """
        return self.factors(w, lambda square: (square**0.5, square**0.5))

    def round(self, fed: Federation, cohort: Cohort, state: Hadamard) -> Hadamard:
        """Do one round and return the new state."""
        return fed.mean(train_both, to=cohort, draw=self.local.draw, start=state, local=self.local)

    def weights(self, state: Hadamard) -> Tree:
        """Return the weights of the model."""
        return multiply(state)

    def client_model(self, state: Hadamard, sent: Hadamard) -> Tree:
        """Return the model that a client trained in a round, given its upload."""
        return multiply(sent)

    def factors(self, w: Mapping[str, Tensor], squares: Callable[[float], tuple[float, float]]) -> Hadamard:
        """Return initial factors, which depend only on the seed, and the other weights.

        Args:
            w: Given weights.
            squares: Returns the mean squares of both low-rank weights from the one of a given weight.
        """
        generator = torch.Generator().manual_seed(int(np.random.SeedSequence([self.seed]).generate_state(1)[0]))
        names = factorised_names(w, self.layers)
        lows: list[tuple[dict[str, Tensor], ...]] = [({}, {}, {}), ({}, {}, {})]
        for name in names:
            W = w[name]
            r = self._fit(name, W)
            sizes = squares(float(W.double().square().mean()))
            for low, size in zip(lows, sizes, strict=True):
                shapes = [(W.shape[0], r), (W.shape[1], r), *([(r, r, *W.shape[2:])] if W.ndim > 2 else [])]
                fans = [W.shape[0], W.shape[1], *([r * prod(W.shape[2:])] if W.ndim > 2 else [])]
                for part, shape, scale in zip(low, shapes, self._scales(name, fans, r, W.ndim, size), strict=False):
                    drawn = torch.randn(*shape, generator=generator, dtype=torch.float64, device="cpu")
                    part[name] = (drawn * scale).to(W)
        first, second = (Low(*map(Tree, low)) for low in lows)
        return Hadamard(first, second, Tree(w).but(names))

    def _scales(self, name: str, fans: list[int], rank: int, dimensions: int, square: float) -> list[float]:
        """Return the standard deviations of the factors of a low-rank weight, of given mean square if matched."""
        scales = [(2.0 / fan) ** 0.5 for fan in fans]
        if self.initial == "He":
            return scales
        if square == 0.0:
            raise FederationError(f"{name} has only zeros, whose size cannot be matched; choose initial He")
        terms = rank if dimensions == 2 else rank**2
        factor = (square / (terms * prod(scale**2 for scale in scales))) ** (0.5 / len(scales))
        return [scale * factor for scale in scales]

    def _fit(self, name: str, W: Tensor) -> int:
        what = f"rank {self.rank} does not fit {name} of shape {tuple(W.shape)}"
        if W.ndim < 2:
            raise FederationError(f"{what}, which is not a matrix; {NAME_LAYERS}")
        m, n = W.shape[:2]
        if self.rank > min(m, n) and not self.cap:
            kind = "matrix it" if W.ndim == 2 else "array of kernels it"
            raise FederationError(f"{what}: as a {m} x {n} {kind} takes 1 to {min(m, n)}; lower the rank, or set cap")
        return min(self.rank, m, n)


@dataclass(frozen=True)
class PersonalFedPara(FedPara):
    r"""pFedPara: one round is the average of the factors of $W_1$ in $W_1 \odot (W_2 + 1)$.

    Each client keeps its own $W_2$. With `initial` `matched`, $W_2$ has the mean square 1, and $W_1$ half of that of
    the given weights.
    """

    def start(self, fed: Federation, w: Tree) -> FirstLow:  # type: ignore[override]
        """Give a first second factor to every client and return the state before the first round.

        Raises:
            FederationError: The rank does not fit a layer.
        """
        first, second, rest = self.factors(w, lambda square: (square / 2.0, 1.0))
        fed.set_personal(second=second)
        return FirstLow(first, rest)

    def round(self, fed: Federation, cohort: Cohort, state: FirstLow) -> FirstLow:  # type: ignore[override]
        """Do one round and return the new state."""
        return fed.mean(train_first_and_own, to=cohort, draw=self.local.draw, start=state, local=self.local)

    def weights(self, state: FirstLow) -> Tree:  # type: ignore[override]
        """Return the averaged part as a model, the one of a client whose $W_2$ is zero."""
        return Tree({**state.first.weights(), **state.rest})

    def client_model(self, state: FirstLow, sent: FirstLow) -> Tree:  # type: ignore[override]
        """Return the model of the averaged part that a client uploaded."""
        return self.weights(sent)

    def personal_weights(self, fed: Federation, state: FirstLow, client: int) -> Tree:
        """Return the model of a client."""
        return multiply_plus_one(Hadamard(state.first, fed.personal(client)["second"], state.rest))


def train_both(client: Client, memory: Memory, start: Hadamard, local: Descent) -> Reply:
    """Take local steps in all factors and the rest."""
    trained, personal = descend(client, start, local, memory, multiply)
    return Reply(upload=trained, personal=personal)


def train_first_and_own(client: Client, memory: Memory, start: FirstLow, local: Descent) -> Reply:
    """Take local steps in the server's first weight, the client's second one and the rest at once."""
    at = Hadamard(start.first, memory.personal["second"], start.rest)
    (first, second, rest), personal = descend(client, at, local, memory, multiply_plus_one)
    return Reply(upload=FirstLow(first, rest), personal={"second": second, **personal})


def multiply(at: Hadamard) -> Tree:
    r"""Return the weights $W_1 \odot W_2$, and the rest."""
    return Tree({**at.first.weights().map(torch.mul, at.second.weights()), **at.rest})


def multiply_plus_one(at: Hadamard) -> Tree:
    r"""Return the weights $W_1 \odot (W_2 + 1)$, and the rest."""
    return Tree({**at.first.weights().map(lambda W, V: W * (V + 1.0), at.second.weights()), **at.rest})
