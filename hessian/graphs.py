"""Differentiated graphs of one batch: a product with the Hessian or the Gauss-Newton matrix is a pass through one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from hessian.symmetric import CurvatureError

Parts = Sequence[Tensor]
"""A vector as one tensor per parameter; several vectors have a leading dimension."""


def flat(parts: Sequence[Tensor | None], like: Parts) -> Tensor:
    """One vector of the parts, zeros for those that are missing."""
    return torch.cat(
        [(torch.zeros_like(p) if part is None else part).reshape(-1) for part, p in zip(parts, like, strict=True)]
    )


class Graph(Protocol):
    """The curvature of one batch."""

    @property
    def used(self) -> tuple[bool, ...]:
        """Which parameters the loss depends on."""
        ...

    def product(self, parts: Parts, batched: bool) -> list[Tensor | None]:
        """The matrix times one vector, or several if batched; ``None`` stands for zeros."""
        ...

    def restricted(self, kept: Sequence[int]) -> Graph:
        """The diagonal block of some parameters."""
        ...


@dataclass(frozen=True, eq=False)
class HessianGraph:
    """Gradients that can be differentiated again."""

    parameters: tuple[Tensor, ...]
    gradients: tuple[Tensor | None, ...]

    @staticmethod
    def of(value: Tensor, parameters: tuple[Tensor, ...]) -> HessianGraph:
        """Differentiates a loss once.

        Raises:
            CurvatureError: It does not depend on the parameters, or its gradients are sparse.
        """
        require_dependence(value)
        gradients = torch.autograd.grad(value, parameters, create_graph=True, allow_unused=True)
        require_dense(gradients)
        return HessianGraph(parameters, gradients)

    @property
    def used(self) -> tuple[bool, ...]:
        """Which parameters the loss depends on."""
        return tuple(gradient is not None for gradient in self.gradients)

    def product(self, parts: Parts, batched: bool) -> list[Tensor | None]:
        """The Hessian times one vector, or several if batched."""
        pairs = [(g, part) for g, part in zip(self.gradients, parts, strict=True) if g is not None and g.requires_grad]
        return _pull([g for g, _ in pairs], self.parameters, [part for _, part in pairs], batched)

    def restricted(self, kept: Sequence[int]) -> HessianGraph:
        """The diagonal block of some parameters."""
        return HessianGraph(tuple(self.parameters[i] for i in kept), tuple(self.gradients[i] for i in kept))


@dataclass(frozen=True, eq=False)
class GaussNewtonGraph:
    """The output, its transposed Jacobian times a dummy, and the loss's gradient by the output.

    The transposed Jacobian is linear in the dummy, so that its derivative by the dummy is the Jacobian itself.
    """

    parameters: tuple[Tensor, ...]
    output: Tensor
    dummy: Tensor
    pulled: tuple[Tensor | None, ...]
    cut: Tensor
    slope: Tensor

    @staticmethod
    def of(
        output: Any, loss: Callable[[Tensor], Tensor], weight: float, parameters: tuple[Tensor, ...]
    ) -> GaussNewtonGraph:
        """Differentiates the output by the parameters and the loss by the output.

        Raises:
            CurvatureError: The output is not one tensor, or the loss depends on the parameters also without it.
        """
        if not isinstance(output, Tensor):
            raise CurvatureError(
                f"the Gauss-Newton matrix needs a model with one tensor as output, got {type(output).__name__}; wrap it"
            )
        require_dependence(output)
        dummy = torch.zeros_like(output, requires_grad=True)
        pulled = torch.autograd.grad(output, parameters, dummy, create_graph=True, allow_unused=True)
        cut = output.detach().requires_grad_()
        value = loss(cut) * weight
        slope, *beside = torch.autograd.grad(
            value, (cut, *parameters), create_graph=True, allow_unused=True, materialize_grads=False
        )
        if any(part is not None for part in beside):
            raise CurvatureError(
                "the loss depends on the parameters beside the model's output (a penalty), and the Gauss-Newton matrix "
                "leaves that out: take it out of the loss, or take matrix='hessian'"
            )
        if slope is None:
            raise CurvatureError("the loss does not depend on the model's output")
        return GaussNewtonGraph(parameters, output, dummy, pulled, cut, slope)

    @property
    def used(self) -> tuple[bool, ...]:
        """Which parameters the output depends on."""
        return tuple(part is not None for part in self.pulled)

    def product(self, parts: Parts, batched: bool) -> list[Tensor | None]:
        """The Gauss-Newton matrix times one vector, or several if batched."""
        pairs = [(g, part) for g, part in zip(self.pulled, parts, strict=True) if g is not None]
        (pushed,) = _pull([g for g, _ in pairs], (self.dummy,), [part for _, part in pairs], batched)
        if pushed is None or not self.slope.requires_grad:
            return [None] * len(self.parameters)
        (curved,) = _pull([self.slope], (self.cut,), [pushed], batched)
        return (
            [None] * len(self.parameters)
            if curved is None
            else _pull([self.output], self.parameters, [curved], batched)
        )

    def restricted(self, kept: Sequence[int]) -> GaussNewtonGraph:
        """The diagonal block of some parameters."""
        parameters, pulled = tuple(self.parameters[i] for i in kept), tuple(self.pulled[i] for i in kept)
        return GaussNewtonGraph(parameters, self.output, self.dummy, pulled, self.cut, self.slope)


def require_dependence(value: Tensor) -> None:
    """Refuses a value without a graph.

    Raises:
        CurvatureError: It depends on no parameter.
    """
    if not value.requires_grad:
        raise CurvatureError("the loss does not depend on any of the parameters: look for detach() or no_grad()")


def require_dense(gradients: Sequence[Tensor | None]) -> None:
    """Refuses gradients that are sparse.

    Raises:
        CurvatureError: One is.
    """
    if any(gradient is not None and gradient.layout != torch.strided for gradient in gradients):
        raise CurvatureError("gradients are sparse, and have no second derivative: use Embedding(sparse=False)")


def _pull(values: list[Tensor], by: Sequence[Tensor], directions: list[Tensor], batched: bool) -> list[Tensor | None]:
    """Directions times the Jacobian of the values; ``None`` where nothing depends."""
    if not values:
        return [None] * len(by)
    found = torch.autograd.grad(values, by, directions, retain_graph=True, allow_unused=True, is_grads_batched=batched)
    return list(found)
