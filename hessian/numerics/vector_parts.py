"""Vectors in parts, one for each parameter, without copies to a flat vector as large as the model.

Parts that derivatives return are only read, because they may share memory with each other or with their sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import hypot, isfinite, sqrt

import torch
from torch import Tensor

from hessian.numerics.differentiation import exact_algebra

Vector = list[Tensor | None]
"""One tensor per parameter; ``None`` represents zeros."""


def draw_like(own: list[Tensor], padding: dict[int, list[int]], generator: torch.Generator) -> list[Tensor]:
    """Draw a normal vector, each parameter on its own scale; some rows of some parameters are 0."""
    norms, counts = [norm_of(p) for p in own], [p.numel() for p in own]
    overall = hypot(*norms) / sqrt(max(sum(counts), 1)) or 1.0
    drawn = []
    for position, (p, norm, count) in enumerate(zip(own, norms, counts, strict=True)):
        z = torch.randn(p.shape, generator=generator, dtype=torch.float64, device="cpu").to(p)
        z *= norm / sqrt(max(count, 1)) or overall
        if position in padding:
            z[padding[position]] = 0.0
        drawn.append(z)
    return drawn


@exact_algebra()
def dot(parts: Vector, v: Sequence[Tensor]) -> Tensor:
    """Return the inner product of two vectors."""
    found = [part.reshape(-1) @ own.reshape(-1) for part, own in zip(parts, v, strict=True) if part is not None]
    return torch.stack(found).sum() if found else v[0].new_zeros(())


def shift(point: Sequence[Tensor], direction: Sequence[Tensor], step: float) -> list[Tensor]:
    """Return new leaves, a step along a direction away from a point."""
    return [torch.add(p.detach(), d, alpha=step).requires_grad_() for p, d in zip(point, direction, strict=True)]


def quotient(above: Vector, below: Vector, step: float) -> Vector:
    """Return the difference of two vectors divided by a step; both are emptied on the way to save memory."""
    found = []
    while above:
        part = _less(above.pop(), below.pop())
        found.append(part if part is None else part.div_(step))
    return found[::-1]


def detach_parts(parts: Sequence[Tensor | None]) -> Vector:
    """Detach the parts from their graph, which a derivative has if it is itself a weight."""
    return [part if part is None else part.detach() for part in parts]


def change(vector: Vector, how: Callable[[Tensor], Tensor]) -> None:
    """Replace each part, one after the other to save memory."""
    for place, part in enumerate(vector):
        vector[place] = part if part is None else how(part)


def subtract(vector: Vector, other: Vector, factor: float) -> None:
    """Subtract a multiple of another vector in place, part by part to save memory."""
    for place, part in enumerate(other):
        vector[place] = _less(vector[place], part, factor)


def fill_missing(parts: Vector, like: Sequence[Tensor]) -> list[Tensor]:
    """Fill missing parts with zeros that take the memory of one entry."""
    zero = like[0].new_zeros(())
    return [zero.expand_as(p) if part is None else part for part, p in zip(parts, like, strict=True)]


def norm_of(vector: Tensor) -> float:
    """Return the Euclidean norm, also where the squares of the entries overflow or lose their digits."""
    norm, limits = float(torch.linalg.vector_norm(vector)), torch.finfo(vector.dtype)
    if isfinite(norm) and norm * sqrt(limits.eps) > sqrt(limits.tiny):
        return norm
    largest = float(vector.abs().max()) if vector.numel() else 0.0
    if largest == 0.0 or not isfinite(largest):
        return largest
    return largest * float(torch.linalg.vector_norm(vector.double() / largest))


def sizes_of(parts: Iterable[Tensor | None]) -> Tensor:
    """Return the norms of a vector's parts, in double precision; their norm is the norm of the vector."""
    return torch.tensor([0.0 if part is None else norm_of(part) for part in parts], dtype=torch.float64, device="cpu")


def gaps_of(one: Vector, other: Vector) -> Tensor:
    """Return the norms of the parts of a difference of vectors, of which one part is held at a time."""
    return sizes_of(map(_less, one, other))


def _less(one: Tensor | None, other: Tensor | None, factor: float = 1.0) -> Tensor | None:
    """Return one part less a multiple of another, in new memory."""
    if other is None:
        return one if one is None else one.clone()
    return -factor * other if one is None else torch.sub(one, other, alpha=factor)
