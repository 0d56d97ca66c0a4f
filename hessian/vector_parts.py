"""Vectors in parts, one for each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, sqrt

import torch
from torch import Tensor

from hessian.differentiation import exact_algebra


def drawn_like(own: list[Tensor], padding: dict[int, int], generator: torch.Generator) -> list[Tensor]:
    """A normal vector, each parameter on its own scale; some rows of some parameters are 0."""
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
def along(vector: Tensor, v: Sequence[Tensor]) -> Tensor:
    """The product of a vector and one in parts, without a copy of these."""
    parts = zip(split(vector, v), v, strict=True)
    return torch.stack([part.reshape(-1) @ own.reshape(-1) for part, own in parts]).sum()


def shifted(point: Sequence[Tensor], direction: Sequence[Tensor], step: float) -> list[Tensor]:
    """New leaves, a step along a direction away from a point."""
    return [torch.add(p.detach(), d, alpha=step).requires_grad_() for p, d in zip(point, direction, strict=True)]


def norm_of(vector: Tensor) -> float:
    """The Euclidean norm."""
    return float(torch.linalg.vector_norm(vector))


def split(vector: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """The parts of a vector."""
    return [part.reshape(p.shape) for part, p in zip(vector.split([p.numel() for p in like]), like, strict=True)]


def sizes_of(vector: Tensor, like: Sequence[Tensor]) -> Tensor:
    """Norms of a vector's parts."""
    return torch.stack([torch.linalg.vector_norm(part) for part in split(vector, like)])
