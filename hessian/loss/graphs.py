r"""Differentiated graphs of one batch: a product with a curvature matrix is a pass through one.

Two kinds suffice. A *Hessian* is the derivative of gradients; so is the residual of the Gauss-Newton matrix, with the
gradients of $\langle s, f(w)\rangle$ at constant slopes s. All others are *sandwiches* $J^T M J$, with what
`hessian.loss.output_curvature` puts between the Jacobians of the outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from hessian.numerics.differentiation import gradients_of
from hessian.numerics.symmetric import CurvatureError

_AT_ZERO = ("Norm", "Sqrt", "Rsqrt", "Pow", "Dist", "Hypot", "Acos", "Asin", "Atan2")
"""Operations, by how their nodes are named, that have no finite second derivative at zero or at an end of a range."""
_NORMALISED = ("BatchNorm", "LayerNorm", "GroupNorm", "RmsNorm", "RMSNorm", "InstanceNorm")
AT_ONCE = 2**20
"""Numbers that are joined at once: many small parts take a third of the time so, and the memory of both is little."""
Parts = Sequence[Tensor]
"""A vector as one tensor per parameter; several vectors have a leading dimension."""
Positions = tuple[int, ...]


class Block(NamedTuple):
    """A block of the matrix.

    Attributes:
        rows: Positions of the parameters of its rows.
        columns: Positions of those of its columns.
    """

    rows: Positions
    columns: Positions


@dataclass(frozen=True)
class Layout:
    """Where the parameters lie in one flat vector.

    Attributes:
        sizes: Entries of each.
        shapes: Shape of each.
        total: Entries of all.
        even: Whether each begins at an even place.
    """

    sizes: tuple[int, ...]
    shapes: tuple[torch.Size, ...]
    total: int
    even: bool

    @staticmethod
    def of(parameters: Sequence[Tensor]) -> Layout:
        """Lay the parameters out one after the other."""
        sizes = tuple(p.numel() for p in parameters)
        even = all(size % 2 == 0 for size in sizes[:-1])
        return Layout(sizes, tuple(p.shape for p in parameters), sum(sizes), even)

    def parts(self, rows: Tensor) -> list[Tensor]:
        """Return one row ``(1, total)`` as a tensor per parameter, or several as tensors with a leading dimension.

        They are views, or copies where numbers begin at odd places, as after a parameter of odd size.
        """
        if len(rows) == 1:
            split: Iterable[Tensor] = rows[0].split(self.sizes)
            if not self.even or rows.storage_offset() % 2:
                split = map(at_even_place, split)
            return [part.view(shape) for part, shape in zip(split, self.shapes, strict=True)]
        split = map(at_even_place, rows.split(self.sizes, dim=1))
        return [part.reshape(len(rows), *shape) for part, shape in zip(split, self.shapes, strict=True)]

    def write(self, parts: list[Tensor | None], rows: Tensor, add: bool) -> None:
        """Write or add such tensors to rows ``(k, total)``; missing ones count as zeros.

        Parts of many numbers are let go one by one as they are written, so both are never there as a whole.
        """
        if not add and rows.numel() <= AT_ONCE and all(part is not None for part in parts):
            torch.cat([part.reshape(len(rows), -1) for part in parts if part is not None], dim=1, out=rows)
            return
        for place, here in enumerate(rows.split(self.sizes, dim=1)):
            part, parts[place] = parts[place], None
            if part is not None:
                part = part.reshape(here.shape)
                here.add_(part) if add else here.copy_(part)
            elif not add:
                here.zero_()


def at_even_place(numbers: Tensor) -> Tensor:
    """Return numbers whose rows begin at even places of their memory, where pairs can be viewed as complex numbers."""
    odd = numbers.storage_offset() % 2 or any(stride % 2 for stride in numbers.stride()[:-1])
    return numbers.clone(memory_format=torch.contiguous_format) if odd else numbers


def separate_from(parts: list[Tensor | None], rows: Tensor) -> None:
    """Copy the parts that share memory with rows, because a derivative can be one of its vectors."""
    home = rows.untyped_storage().data_ptr()
    for place, part in enumerate(parts):
        with suppress(NotImplementedError, RuntimeError):  # zeros without memory
            if part is not None and part.untyped_storage().data_ptr() == home:
                parts[place] = part.clone()


class Graph(Protocol):
    """The curvature of one batch."""

    @property
    def route(self) -> int:
        """Route of what is differentiated in a product, see `route_of`."""
        ...

    def product(self, parts: Parts, batched: bool, last: bool = False) -> list[Tensor | None]:
        """Multiply the matrix by one vector, or several if batched; None represents zeros.

        The last product takes the graph down as it goes, so its memory is not added to that of the graph.
        """
        ...

    def restrict(self, rows: Sequence[int], columns: Sequence[int]) -> Graph:
        """Return the block of some parameters by others: vectors have the columns' parts, products the rows'."""
        ...


class Middle(Protocol):
    """The middle factor between the Jacobians: a symmetric map of vectors of the outputs' shape."""

    @property
    def differentiated(self) -> tuple[Tensor, ...]:
        """Tensors to differentiate for that."""
        ...

    def times(self, pushed: Tensor, batched: bool) -> Tensor | None:
        """Map one such vector, or several if batched; None represents zeros."""
        ...


@dataclass(frozen=True, eq=False)
class HessianGraph:
    """Gradients that can be differentiated again."""

    parameters: tuple[Tensor, ...]
    gradients: tuple[Tensor | None, ...]

    @staticmethod
    def of(value: Tensor, parameters: tuple[Tensor, ...]) -> HessianGraph:
        """Differentiate a loss once; one that depends on no parameter has a matrix of zeros.

        Raises:
            CurvatureError: Its gradients are sparse.
        """
        if not value.requires_grad:
            return HessianGraph(parameters, (None,) * len(parameters))
        gradients = gradients_of(value, parameters, create_graph=True, allow_unused=True)
        require_dense(gradients)
        return HessianGraph(parameters, gradients)

    @property
    def route(self) -> int:
        """Route of the gradients."""
        return route_of(self.gradients)

    def product(self, parts: Parts, batched: bool, last: bool = False) -> list[Tensor | None]:
        """Multiply the Hessian by one vector, or several if batched."""
        pairs = [(g, part) for g, part in zip(self.gradients, parts, strict=True) if g is not None and g.requires_grad]
        return pull([g for g, _ in pairs], self.parameters, [part for _, part in pairs], batched, keep=not last)

    def restrict(self, rows: Sequence[int], columns: Sequence[int]) -> HessianGraph:
        """Return the block of some parameters by others."""
        return HessianGraph(tuple(self.parameters[i] for i in rows), tuple(self.gradients[i] for i in columns))


@dataclass(frozen=True, eq=False)
class GaussNewtonGraph:
    """The output, its transposed Jacobian times a dummy, and what is between the Jacobians.

    The transposed Jacobian is linear in the dummy, so its derivative by the dummy is the Jacobian itself.
    """

    parameters: tuple[Tensor, ...]
    output: Tensor
    dummy: Tensor
    pulled: tuple[Tensor | None, ...]
    middle: Middle

    @staticmethod
    def of(output: Tensor, middle: Middle, parameters: tuple[Tensor, ...]) -> GaussNewtonGraph:
        """Differentiate the output, which must require gradients, by the parameters."""
        dummy = torch.zeros_like(output, requires_grad=True)
        pulled = gradients_of(output, parameters, dummy, create_graph=True, allow_unused=True)
        return GaussNewtonGraph(parameters, output, dummy, pulled, middle)

    @property
    def route(self) -> int:
        """Route of the output, of its transposed Jacobian and of the middle factor."""
        return route_of([self.output, *self.pulled, *self.middle.differentiated])

    def product(self, parts: Parts, batched: bool, last: bool = False) -> list[Tensor | None]:
        """Multiply $J^T M J$ by one vector, or several if batched."""
        pairs = [(g, part) for g, part in zip(self.pulled, parts, strict=True) if g is not None]
        (pushed,) = pull([g for g, _ in pairs], (self.dummy,), [part for _, part in pairs], batched)
        curved = None if pushed is None else self.middle.times(pushed, batched)
        if curved is None:
            return [None] * len(self.parameters)
        return pull([self.output], self.parameters, [curved], batched, keep=not last)

    def restrict(self, rows: Sequence[int], columns: Sequence[int]) -> GaussNewtonGraph:
        """Return the block of some parameters by others."""
        parameters, pulled = tuple(self.parameters[i] for i in rows), tuple(self.pulled[i] for i in columns)
        return GaussNewtonGraph(parameters, self.output, self.dummy, pulled, self.middle)


def not_smooth_at_zero(value: Tensor) -> list[str]:
    """Return the names of operations in a value's graph whose second derivatives are infinite somewhere."""
    names = {node.name().removesuffix("0").removesuffix("Backward") for node in _operations(value)}
    return sorted(
        name
        for name in names
        if any(word in name for word in _AT_ZERO) and not any(word in name for word in _NORMALISED)
    )


def inexact_embedding(value: Tensor) -> str:
    """Return what to do about a lookup in a value's graph whose gradient is none by design; empty if there is none."""
    for node in _operations(value):
        if not node.name().startswith("Embedding"):
            continue
        if getattr(node, "_saved_scale_grad_by_freq", False):
            return "an embedding with scale_grad_by_freq=True divides gradients by counts in the batch: leave it out"
        row = getattr(node, "_saved_padding_idx", -1)
        if 0 <= row < 2**63:  # -1 is read as unsigned
            return (
                f"an embedding with padding_idx={row} gives that row no gradient, although the loss depends on it: "
                f"use nn.Embedding(padding_idx={row}), whose row is known to be constant, or leave padding_idx out"
            )
    return ""


def _operations(value: Tensor) -> set[Any]:
    """Return the nodes of a value's graph."""
    pending: list[Any] = [value.grad_fn] if value.requires_grad else []
    seen = set(pending)
    while pending:
        fresh = {source for source, _ in pending.pop().next_functions if source is not None} - seen
        seen |= fresh
        pending += fresh
    return seen


def route_of(values: Iterable[Tensor | None]) -> int:
    """Return a hash of the operations that lead to values, of how they are joined and of the shapes that they give.

    Samples of one shape may take different routes, by their numbers. A rule that is right for the operations of one
    route may be wrong for those of another.
    """
    roots = [value.grad_fn for value in values if value is not None and value.grad_fn is not None]
    places: dict[Any, int] = {node: place for place, node in enumerate(dict.fromkeys(roots))}
    pending, found = list(places), []
    for node in pending:  # which grows on the way
        sources = []
        for source, output in node.next_functions:
            if source is not None and source not in places:
                places[source] = len(places)
                pending.append(source)
            sources.append((places.get(source), output))
        found.append((node.name(), *(tuple(one.shape) for one in node._input_metadata), *sources))
    return hash((*map(places.get, roots), *found))


def require_dense(gradients: Sequence[Tensor | None]) -> None:
    """Refuse sparse gradients.

    Raises:
        CurvatureError: One is.
    """
    if any(gradient is not None and gradient.layout != torch.strided for gradient in gradients):
        raise CurvatureError("sparse gradients have no second derivative: use Embedding(sparse=False)")


def pull(
    values: list[Tensor], by: Sequence[Tensor], directions: list[Tensor], batched: bool, keep: bool = True
) -> list[Tensor | None]:
    """Multiply directions by the Jacobian of the values; None where nothing depends."""
    if not values:
        return [None] * len(by)
    found = gradients_of(values, by, directions, retain_graph=keep, allow_unused=True, is_grads_batched=batched)
    return list(found)
