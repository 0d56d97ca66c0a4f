"""Sums of tensors and a multiple of others, whose product is rounded before the sum.

The roundings are those of ``a + factor * b`` for every type, device and memory layout, so runs have the same bits
wherever their tensors are. `torch.add(a, b, alpha=factor)` rounds once.
"""

from __future__ import annotations

import torch
from torch import Tensor

_ONE = {dtype: torch.ones((), dtype=dtype, device="cpu") for dtype in (torch.float32, torch.float64)}
"""The number 1 in the types that torch computes with on a processor; it computes half precision in single."""


def add_multiple(a: list[Tensor], b: list[Tensor], factor: float) -> list[Tensor]:
    """Return a + factor b in new tensors of the types and layouts of a; there must be at least one.

    >>> add_multiple([torch.ones(2)], [torch.ones(2)], -0.25)
    [tensor([0.7500, 0.7500])]
    """
    ones = _ones(a, b)
    if ones is not None:
        return list(torch._foreach_addcmul(a, b, ones, value=factor))
    product = list(torch._foreach_mul(b, factor))
    if any(map(_differ, a, product)):  # a sum has the type and the layout of its first term
        return list(torch._foreach_add(a, product))
    torch._foreach_add_(product, a)  # the same bits, without memory for a second result
    return product


def add_multiple_(a: list[Tensor], b: list[Tensor], factor: float) -> None:
    """Add factor b to a in place, with the bits of `add_multiple`."""
    ones = _ones(a, b)
    if ones is not None:
        torch._foreach_addcmul_(a, b, ones, value=factor)
    else:
        torch._foreach_add_(a, torch._foreach_mul(b, factor))


def _differ(one: Tensor, other: Tensor) -> bool:
    return one.dtype != other.dtype or one.shape != other.shape or one.stride() != other.stride()


def _ones(a: list[Tensor], b: list[Tensor]) -> list[Tensor] | None:
    """Return the ones with which `torch.addcmul` rounds as we do, or None if it would not.

    On a processor, it rounds factor b. The product with 1 is exact, so only the sum is rounded again. That takes one
    pass over the tensors.
    """
    if any(x.dtype not in _ONE or x.dtype != y.dtype or not x.is_cpu for x, y in zip(a, b, strict=True)):
        return None
    return [_ONE[x.dtype] for x in a]
