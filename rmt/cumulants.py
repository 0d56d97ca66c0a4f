"""Moments and free cumulants of one law, in any kind of number: float, Fraction, or a symbol of sympy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def moments_from_free_cumulants(cumulants: Sequence[Any]) -> tuple[Any, ...]:
    r"""Return the moments m_1, ..., m_n of the law with free cumulants C_1, ..., C_n.

    .. math:: m_n = \sum_{r=1}^{n} C_r \sum_{i_1 + \dots + i_r = n - r} m_{i_1} \cdots m_{i_r}, \qquad m_0 = 1

    Args:
        cumulants: C_1 first; C_n in units of x^n.

    Returns:
        As many moments, in the same kind of number (sympy expressions come unexpanded).

    Source: Speicher 1994 (sum over non-crossing partitions, ordered by the block of the first element).

    >>> moments_from_free_cumulants([0, 1, 0, 0, 0, 0])  # semicircle: the Catalan numbers
    (0, 1, 0, 2, 0, 5)
    """
    moments: list[Any] = [1]
    for n in range(1, len(cumulants) + 1):
        moments.append(sum(cumulants[r - 1] * _sum_of_products(moments, r, n - r) for r in range(1, n + 1)))
    return tuple(moments[1:])


def free_cumulants_from_moments(moments: Sequence[Any]) -> tuple[Any, ...]:
    """Return the free cumulants C_1, ..., C_n of moments m_1, ..., m_n: the same recursion, solved for C_n.

    Args:
        moments: m_1 first (m_0 = 1 is left out).

    Returns:
        As many cumulants, in the same kind of number.

    >>> free_cumulants_from_moments([0, 1, 0, 1, 0, 1])  # a fair coin on -1 and 1
    (0, 1, 0, -1, 0, 2)
    """
    known: list[Any] = [1, *moments]
    cumulants: list[Any] = []
    for n in range(1, len(moments) + 1):
        blocks = sum(cumulants[r - 1] * _sum_of_products(known, r, n - r) for r in range(1, n))
        cumulants.append(known[n] - blocks)
    return tuple(cumulants)


def _sum_of_products(moments: Sequence[Any], factors: int, total: int) -> Any:
    """Return the sum over i_1 + ... + i_factors = total of products of moments: a coefficient of a power series."""
    power: list[Any] = [1] + [0] * total
    for _ in range(factors):
        power = [sum(power[j] * moments[k - j] for j in range(k + 1)) for k in range(total + 1)]
    return power[total]
