r"""The forms of a layer's weight: a tensor, $W_0 + \alpha AB$, $USV^T$, or $UV^T$.

Factors are those of the weight read as a matrix ``(m, n)`` (`algorithms.kernels`): ``(out, in)`` for a linear layer,
``(out, in k k)`` or ``(out k, in k)`` for a convolution. Our A is PEFT's B. Layers compute through the factors
(`algorithms.products`) and never form the product.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.kernels import reads_along
from algorithms.products import Product, Terms


@dataclass(frozen=True, eq=False)
class Added(Product):
    r"""The weight $W_0 + \alpha AB$.

    Attributes:
        base: $W_0$, of the layer's shape; may itself be a weight with an added pair.
        scale: Scale $\alpha$ of the product of the factors.
        A: ``(m, r)``.
        B: ``(r, n)``.

    >>> weight = Added(torch.eye(2, 3), 0.5, torch.ones(2, 1), torch.ones(1, 3))
    >>> torch.nn.functional.linear(torch.ones(3), weight)
    tensor([2.5000, 2.5000])
    """

    base: Weight
    scale: float
    A: Tensor
    B: Tensor

    @property
    def shape(self) -> torch.Size:
        """Shape of the layer's weight."""
        return self.base.shape

    @property
    def terms(self) -> Terms:
        """The terms of the base and the pair."""
        base = self.base.terms if isinstance(self.base, Product) else ((1.0, (self.base,)),)
        return *base, (self.scale, (self.A, self.B))


@dataclass(frozen=True, eq=False)
class Factored(Product):
    r"""The weight $USV^T$, or $UV^T$.

    Attributes:
        U: ``(m, r)``.
        S: ``(r, q)``, usually square; None for $UV^T$.
        V: ``(n, q)``.
        of: Shape of the layer's weight if that is not ``(m, n)``.
    """

    U: Tensor
    S: Tensor | None
    V: Tensor
    of: tuple[int, ...] | None = None

    @property
    def shape(self) -> torch.Size:
        """Shape of the layer's weight."""
        return torch.Size(self.of or (self.U.shape[-2], self.V.shape[-2]))

    @property
    def terms(self) -> Terms:
        """The product of two or three factors."""
        return ((1.0, (self.U, self.V.mT) if self.S is None else (self.U, self.S, self.V.mT)),)


Weight = Tensor | Added | Factored


def dense(weight: Weight, shape: Sequence[int] | None = None) -> Tensor:
    """Return a weight as a tensor.

    Args:
        weight: A tensor or factors.
        shape: Shape of the layer, which the factors of a convolution may not determine.

    Raises:
        FederationError: The factors do not give a weight of that shape.
    """
    return weight.dense() if isinstance(weight := with_shape(weight, shape), Product) else weight


def dense_tree(weights: Mapping[str, Weight], like: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """Return every weight as a tensor, in the shape of the tensor of the same name in `like` if given.

    Raises:
        FederationError: Factors do not give a weight of that shape.
    """
    return {name: dense(weight, None if like is None else like[name].shape) for name, weight in weights.items()}


def with_shape(weight: Weight, shape: Sequence[int] | None) -> Weight:
    """Return a weight with the shape of its layer set.

    Raises:
        FederationError: The factors do not give a weight of that shape.
    """
    if isinstance(weight, Added):
        base = with_shape(weight.base, shape)
        if shape is not None:
            reads_along((len(weight.A), weight.B.shape[-1]), shape)
        return weight if base is weight.base else Added(base, weight.scale, weight.A, weight.B)
    if isinstance(weight, Factored) and shape is not None and tuple(shape) != weight.shape:
        reads_along((len(weight.U), len(weight.V)), shape)
        return Factored(weight.U, weight.S, weight.V, tuple(shape))
    return weight


def _build_added(parts: Iterable[Any], scale: Any) -> Added:
    base, A, B = parts
    return Added(base, scale, A, B)


def _build_factored(parts: Iterable[Any], of: Any) -> Factored:
    U, S, V = parts
    return Factored(U, S, V, of)


pytree.register_pytree_node(
    Added,
    lambda weight: ([weight.base, weight.A, weight.B], weight.scale),
    _build_added,
    serialized_type_name="rankproof.Added",
)
pytree.register_pytree_node(
    Factored,
    lambda weight: ([weight.U, weight.S, weight.V], weight.of),
    _build_factored,
    serialized_type_name="rankproof.Factored",
)
