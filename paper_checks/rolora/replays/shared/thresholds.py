"""Thresholds of Appendix A.2 and the fewest samples, with logarithms enclosed between fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, assuming
from paper_checks.stored_values import Values, fractions


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of Appendix A.2, fractions below and above q, the fewest samples m >= C q, and what is assumed."""

    e: tuple[Fraction, Fraction, Fraction]
    q: tuple[Fraction, Fraction]
    m: int
    assumes: tuple[Hypothesis, ...]


def thresholds(values: Values) -> Thresholds:
    """Read a setting.

    Raises:
        ValueError: the fewest samples are not decided by the fractions around q.
    """
    e_0, e_1, e_2, C = fractions(values, "eps_0", "eps_1", "eps_2", "C")
    N, d = int(values["N"]), int(values["d"])
    assumes = assuming(
        *(Hypothesis(f"eps_{k}", eps, ">", 0) for k, eps in enumerate((e_0, e_1, e_2))),
        *(Hypothesis(f"eps_{k}", eps, "<", 1) for k, eps in enumerate((e_0, e_1, e_2))),
        Hypothesis("N", N, ">=", 1),
        Hypothesis("d", d, ">=", 2),
        Hypothesis("C", C, ">", 0),
    )
    low, high = (
        max(clients / min(e_1, e_2) ** 2, d * net / e_2**2)
        for clients, net in zip(enclose("ln", N), enclose("ln", 2 / e_0), strict=True)
    )
    if ceil(C * low) != ceil(C * high):
        raise ValueError("samples are not decided")
    return Thresholds((e_0, e_1, e_2), (low, high), ceil(C * high), assumes)
