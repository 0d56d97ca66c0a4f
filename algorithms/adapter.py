r"""The update $\alpha AB$ of a layer's weight: its factors, their initial values, and the resulting weights.

For a weight that is read as a matrix ``(m, n)``, A is ``(m, r)`` and B is ``(r, n)``, so our A is PEFT's B. If A
is placed at the inputs, A is ``(n, r)``, B is ``(r, m)`` and the update is the transposed product. Weights that are not
factorised (norms, biases, a stem, a head) are the `rest`: trained and averaged with the factors, or frozen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from algorithms.descent import Assemble, takes_values
from algorithms.federation import Client, FederationError, require_whole
from algorithms.kernels import CONVOLUTIONS, Convolution, as_matrix, from_matrix, layer_names, matrix_shape
from algorithms.tree import Tree, narrow, wide
from algorithms.weights import Added

NAME_LAYERS = "name the layers that are factorised, as in --layers 'layer1.*, layer2.*'"
"""Remedy in errors about weights that cannot be factorised."""


class AB(NamedTuple):
    r"""The factors of every layer's update, A ``(m, r)`` and B ``(r, n)``, and the weights that are not factorised."""

    A: Tree
    B: Tree
    rest: Tree = Tree()


@dataclass(frozen=True)
class Adapter:
    r"""The settings of the update $\alpha AB$, which starts with A normal of variance 1/m and B zero.

    Attributes:
        rank: Rank r of the factors.
        scale: Scale $\alpha$ of the product of the factors.
        seed: Seed of the initial A.
        layers: Patterns for the names of the layers that are factorised, such as ``layer*.conv*, head``; default: all
            weights, which then must be matrices.
        convolution: How to reshape a convolution kernel into a matrix; see `algorithms.kernels`.
        rest: Whether the other weights are `trained` and averaged with the factors, or `frozen`.
        cap: Lower a rank that exceeds the smaller side of a layer; without it, such a rank is an error.
        a_at: The side of a layer at which A acts: its `outputs` (the rows of a weight), or its `inputs`, as in RoLoRA's
            xAB and in PEFT; default: outputs.
        precision: Type of the factors: that of the `weights`, or `float32` for half-precision weights (layers then
            round the factors to the type of the weights); default: weights.
        b_rate: Learning rate of B relative to that of A and of the rest, as in LoRA+ (Hayou et al., 2024); default: 1.

    Raises:
        FederationError: A value is out of its range.
    """

    rank: int
    scale: float = 1.0
    seed: int = 0
    layers: str | None = None
    convolution: Convolution = CONVOLUTIONS[0]
    rest: Literal["trained", "frozen"] = "trained"
    cap: bool = False
    a_at: Literal["outputs", "inputs"] | None = None
    precision: Literal["weights", "float32"] | None = None
    b_rate: float | None = None

    def __post_init__(self) -> None:
        require_whole(1, rank=self.rank)
        require_whole(0, seed=self.seed)
        if not np.isfinite(self.scale) or self.scale == 0.0:
            raise FederationError(f"scale must be finite and not 0, got {self.scale}")
        if self.convolution not in CONVOLUTIONS or self.rest not in ("trained", "frozen"):
            raise FederationError(
                f"convolution must be one of {CONVOLUTIONS} and rest 'trained' or 'frozen', got {self.convolution!r} "
                f"and {self.rest!r}"
            )
        if self.a_at not in (None, "outputs", "inputs") or self.precision not in (None, "weights", "float32"):
            raise FederationError(
                f"a_at must be 'outputs' or 'inputs' and precision 'weights' or 'float32', got {self.a_at!r} and "
                f"{self.precision!r}"
            )
        if self.b_rate is not None and not 0.0 < self.b_rate < float("inf"):
            raise FederationError(f"b_rate must be positive and finite, got {self.b_rate}")

    def rates(self, factors: AB) -> Any:
        """Return what the learning rate of each trained tensor is multiplied by; None: all by 1."""
        if self.b_rate is None:
            return None
        multiples: tuple[Any, ...] = (1.0, self.b_rate, 1.0)
        return AB(*(Tree(dict.fromkeys(part, one)) for part, one in zip(factors, multiples, strict=True)))

    def factors(self, w: Mapping[str, Tensor], turn: int = 0) -> AB:
        """Return initial factors, which depend only on the seed and `turn`, and the rest of the weights if trained.

        Raises:
            FederationError: The rank does not fit a layer.
        """
        pair = self.pair(w, turn)
        return pair if self.rest == "frozen" else pair._replace(rest=Tree(w).but(pair.A))

    def pair(self, w: Mapping[str, Tensor], turn: int = 0) -> AB:
        """Return initial factors without the rest of the weights.

        Raises:
            FederationError: The rank does not fit a layer.
        """
        generator = torch.Generator().manual_seed(int(np.random.SeedSequence([self.seed, turn]).generate_state(1)[0]))
        A, B = {}, {}
        names = factorised_names(w, self.layers)
        for name in names:  # first, because no rank and no cap helps a weight that is not a matrix
            require_matrix(name, w[name], self.rank_of(name))
        for name in names:
            W = w[name]
            m, n, r = fit_rank(name, W, self.rank_of(name), self.convolution, self.cap)
            m, n = (n, m) if self.a_at == "inputs" else (m, n)
            like = self.like(W)
            A[name] = torch.randn(m, r, generator=generator, dtype=torch.float64, device="cpu").to(like) / m**0.5
            B[name] = like.new_zeros(r, n)
        return AB(Tree(A), Tree(B))

    def rank_of(self, name: str) -> int:
        """Return the rank of a layer's factors."""
        return self.rank

    def of_client(self, number: int, rank: int) -> Adapter:
        """Return the adapter of a client, with its own rank and a seed of its own."""
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        return replace(self, rank=rank, seed=seed)

    def like(self, W: Tensor) -> Tensor:
        """Return a tensor of the type and the device of a weight's factors."""
        return wide(W.new_empty(0)) if self.precision == "float32" else W

    def matrices(self, w: Mapping[str, Tensor]) -> Tree:
        """Return the factorised weights as matrices whose rows belong to A, in at least single precision.

        Raises:
            FederationError: The rank does not fit a layer.
        """
        found = {}
        for name in factorised_names(w, self.layers):
            fit_rank(name, w[name], self.rank_of(name), self.convolution, self.cap)
            matrix = wide(as_matrix(w[name], self.convolution))
            found[name] = matrix.mT if self.a_at == "inputs" else matrix
        return Tree(found)

    def weights(self, base: Mapping[str, Any], factors: AB) -> Tree:
        r"""Return $W_0 + \alpha AB$ as tensors, and the rest."""
        A, B, rest = factors
        return Tree(
            {name: self._sum(W, A[name], B[name]) if name in A else rest.get(name, W) for name, W in base.items()}
        )

    def values(self, base: Mapping[str, Any], factors: AB) -> Tree:
        r"""Return $W_0 + \alpha AB$ as factors through which layers compute, and the rest."""
        values: dict[str, Any] = {**base, **factors.rest}
        for name, A in factors.A.items():
            values[name] = Added(base[name], self.scale, *self.orient(A, factors.B[name], base[name].dtype))
        return Tree(values)

    def weights_for(self, client: Client, base: Mapping[str, Any], factors: AB) -> Tree:
        """Return the weights in the form that a client accepts: factors or tensors."""
        return self.values(base, factors) if takes_values(client) else self.weights(base, factors)

    def assembler(self, client: Client, base: Mapping[str, Any]) -> Assemble:
        """Return the map from factors to the weights of a client."""
        return lambda factors: self.weights_for(client, base, factors)

    def orient(self, A: Tensor, B: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return the factors ``(m, r)`` and ``(r, n)`` of the update of a weight ``(m, n)``, in the weight's type."""
        if A.dtype != dtype and self.precision == "float32":
            A, B = A.to(dtype), B.to(dtype)
        return (B.mT, A.mT) if self.a_at == "inputs" else (A, B)

    def add_products(self, base: Mapping[str, Tensor], products: Mapping[str, Tensor]) -> Tree:
        r"""Return $W_0 + \alpha P$ for given products $P$ of factors, and the other weights as they are."""
        turned = self.a_at == "inputs"
        return Tree(
            {
                name: self._add(W, self.scale * (products[name].mT if turned else products[name]))
                if name in products
                else W
                for name, W in base.items()
            }
        )

    def _sum(self, W: Tensor, A: Tensor, B: Tensor) -> Tensor:
        A, B = self.orient(A, B, A.dtype)
        return self._add(W, self.scale * (A @ B))

    @staticmethod
    def _add(W: Tensor, update: Tensor) -> Tensor:
        total = (update if update.shape[-W.ndim :] == W.shape else from_matrix(update, W.shape)) + W
        return narrow(total, W.dtype)


def factorised_names(w: Mapping[str, Tensor], layers: str | None) -> tuple[str, ...]:
    """Return the names of the weights that match the patterns; all names without patterns.

    Raises:
        FederationError: A pattern matches no layer.
    """
    return tuple(w) if layers is None else layer_names([(name, W.shape) for name, W in w.items()], layers)


def fit_rank(name: str, W: Tensor, rank: int, convolution: Convolution, cap: bool = False) -> tuple[int, int, int]:
    """Return the rows and columns of a weight read as a matrix, and the rank of its factors.

    Args:
        name: Name of the weight.
        W: The weight.
        rank: Requested rank.
        convolution: How a kernel is read as a matrix.
        cap: Lower the rank to the smaller side if necessary.

    Raises:
        FederationError: The weight is not a matrix, or the rank is below 1 or above the smaller side.
    """
    require_matrix(name, W, rank)
    m, n = matrix_shape(W.shape, convolution)
    if rank < 1 or (rank > min(m, n) and not cap):
        raise FederationError(
            f"rank {rank} does not fit {name} of shape {tuple(W.shape)}: as a {m} x {n} matrix it takes 1 to "
            f"{min(m, n)}; lower the rank, or set cap"
        )
    return m, n, min(rank, m, n)


def require_matrix(name: str, W: Tensor, rank: int) -> None:
    """Check that a weight can be read as a matrix.

    Raises:
        FederationError: It is a number or a vector, such as a bias or the scale of a norm.
    """
    if W.ndim < 2:
        raise FederationError(
            f"rank {rank} does not fit {name} of shape {tuple(W.shape)}, which is not a matrix; {NAME_LAYERS}"
        )


def require_rank_for_each(ranks: Sequence[int], clients: int) -> None:
    """Check that there is one rank for each client, or none at all.

    Raises:
        FederationError: There is another number of ranks.
    """
    if ranks and len(ranks) != clients:
        raise FederationError(f"expected a rank for each of {clients} clients, got {len(ranks)}")


def require_ranks_within(ranks: Sequence[int], most: int) -> None:
    """Check that the clients' ranks are at most the server's.

    Raises:
        FederationError: A rank is below 1 or above the server's.
    """
    outside = [rank for rank in ranks if not 1 <= rank <= most]
    if outside:
        raise FederationError(f"ranks must be from 1 to the server's, {most} (--rank), got {outside[0]}")


class Adapted(Protocol):
    """A state with weights and the factors of their update."""

    @property
    def base(self) -> Tree:
        """The weights."""
        ...

    @property
    def factors(self) -> AB:
        """The factors."""
        ...


class LoRAState(NamedTuple):
    """Frozen weights and factors."""

    base: Tree
    factors: AB


class MergedState(NamedTuple):
    """Weights into which every round merges an update, factors, and the largest rank of what has been merged."""

    base: Tree
    factors: AB
    merged: int
