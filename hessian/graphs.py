"""Differentiated graphs of one batch: a product with the Hessian or the Gauss-Newton matrix is a pass through one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from hessian.batches import Batch, Loss, loss_of
from hessian.symmetric import CurvatureError

Parts = Sequence[Tensor]
"""A vector as one tensor per parameter; several vectors have a leading dimension."""


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
        """Differentiates a loss once."""
        _require_dependence(value)
        gradients = torch.autograd.grad(value, parameters, create_graph=True, allow_unused=True)
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
        output: Any, loss: Loss, batch: Batch, number: int, weight: float, parameters: tuple[Tensor, ...]
    ) -> GaussNewtonGraph:
        """Differentiates the output by the parameters and the loss by the output.

        Raises:
            CurvatureError: The output is not one tensor.
        """
        if not isinstance(output, Tensor):
            raise CurvatureError(
                f"the Gauss-Newton matrix needs a model with one tensor as output, got {type(output).__name__}; wrap it"
            )
        _require_dependence(output)
        dummy = torch.zeros_like(output, requires_grad=True)
        pulled = torch.autograd.grad(output, parameters, dummy, create_graph=True, allow_unused=True)
        cut = output.detach().requires_grad_()
        value = loss_of(loss, cut, batch, number) * weight
        (slope,) = torch.autograd.grad(value, cut, create_graph=True)
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


def _require_dependence(value: Tensor) -> None:
    if not value.requires_grad:
        raise CurvatureError("the loss does not depend on any of the parameters: look for detach() or no_grad()")


def _pull(values: list[Tensor], by: Sequence[Tensor], directions: list[Tensor], batched: bool) -> list[Tensor | None]:
    """Directions times the Jacobian of the values; ``None`` where nothing depends."""
    if not values:
        return [None] * len(by)
    found = torch.autograd.grad(values, by, directions, retain_graph=True, allow_unused=True, is_grads_batched=batched)
    return list(found)
