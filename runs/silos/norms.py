"""Comparison of upload norms within an exchange, because an outlier spoils the model of all.

An upload is an outlier if more than half of the cohort sent far less. So a silo that sends too little, such as a loss
of 1 where all others report more, does not make others outliers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, hypot, log, sqrt
from typing import Any, NamedTuple

import torch
from torch import Tensor

from algorithms.tree import tensors, wide

SOME_TIMES, MANY_TIMES, FAR = 10.0, 1e3, 1e9
"""Norms that are remembered, reported in every exchange, and refused, as multiples of the usual one."""
SPREADS = 4.45
"""Spread of the others' norms, in logarithms, up to which a norm is not remembered: 3 normal standard deviations."""


class NormComparison(NamedTuple):
    """The norm of an upload compared with the others of its exchange.

    Attributes:
        norm: The norm.
        usual: Largest of the median norm of the others, the norm of what was sent that is comparable, and 1.
        remembered: Whether it may spoil the model although it is accepted.
        reported: Whether it is reported in every exchange.
        far: Whether it is refused.
        undecided: The larger of `MANY_TIMES` and `FAR` by which half of the cohort is larger than the other half; 0
            where there is none.
    """

    norm: float
    usual: float
    remembered: bool
    reported: bool
    far: bool
    undecided: float


def compare_norms(norms: Mapping[int, float], sent: Mapping[int, float | None]) -> dict[int, NormComparison]:
    """Compare each upload with the others of its exchange.

    Args:
        norms: Norms of the uploads, by client.
        sent: Norm of what each client was sent, where that is comparable with its upload; it decides where half of the
            cohort differs from the other half, and for a cohort of one.
    """
    return {
        number: _compare(norm, [other for one, other in norms.items() if one != number], sent.get(number))
        for number, norm in norms.items()
    }


def norm_of(message: Any) -> float:
    """Return the norm of all numbers in a message whose squares can be added in each tensor."""
    leaves = [leaf.detach().double().flatten() for leaf in tensors(message) if leaf.is_floating_point()]
    return hypot(*(float(torch.linalg.vector_norm(leaf)) for leaf in leaves))


def largest_number(leaf: Tensor) -> float:
    """Return the largest absolute value in a tensor, 0 in an empty one."""
    return float(leaf.detach().abs().max()) if leaf.numel() else 0.0


def largest_squarable(leaf: Tensor) -> float:
    """Return the number whose squares, as many as a tensor has numbers, can just be added in its type."""
    return sqrt(torch.finfo(wide(leaf.new_empty(0)).dtype).max / max(1, leaf.numel()))


def largest_norm(sent: Iterable[Any]) -> float:
    """Return the largest norm of one of several values, which does not depend on their shapes."""
    return max((norm_of(value) for value in sent), default=0.0)


def sent_norm(sent: Mapping[str, Any], upload: Any) -> float | None:
    """Return the norm of the sent tensors with the shapes of an upload; None if there are none."""
    shapes = [leaf.shape for leaf in tensors(upload)]
    alike = [value for value in sent.values() if [leaf.shape for leaf in tensors(value)] == shapes]
    return max(map(norm_of, alike), default=None)


def _compare(norm: float, others: Sequence[float], sent: float | None) -> NormComparison:
    floor = max(1.0, sent or 0.0)
    levels = sorted(max(other, floor) for other in others)
    usual = levels[(len(levels) - 1) // 2] if levels else floor
    spread = sorted(abs(log(level / usual)) for level in levels)[len(levels) // 2] if levels else 0.0
    some = max(SOME_TIMES, exp(min(SPREADS * spread, log(MANY_TIMES))))

    def half(times: float) -> bool:
        return 2 * sum(norm > times * level for level in levels) == len(levels) + 1

    def exceeds(times: float) -> bool:
        most = 2 * sum(norm > times * level for level in levels) > len(levels) + 1
        return most or (sent is not None and norm > times * floor and (half(times) or not levels))

    undecided = next((times for times in (FAR, MANY_TIMES) if half(times) and not exceeds(times)), 0.0)
    return NormComparison(norm, usual, exceeds(some), exceeds(MANY_TIMES), exceeds(FAR), undecided)
