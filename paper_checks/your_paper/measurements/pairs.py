"""Pairs of numbers, on which Lemmas 1 and 2 are judged."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np

from paper_checks.claim import Evidence
from paper_checks.context import Context
from paper_checks.methods.domain import Axis, Cases, Searched, Stated
from paper_checks.methods.inequality import collect_cases, judge_inequality

ANY = Stated(0.0, inf)


def measure_pairs(context: Context) -> Searched:
    """Return pairs of numbers of either sign over eight decades, searched towards equality in both lemmas."""
    axes = [Axis(name, 1e-4, 1e4, of=ANY, signed=True) for name in ("a", "b")]

    def gap(cases: Cases) -> np.ndarray:
        return (cases["a"] - cases["b"]) ** 2 / (cases["a"] ** 2 + cases["b"] ** 2)

    return collect_cases(
        context, axes, lambda cases: np.isfinite(cases["a"]), gap, examples=context.size(100, 1000), restarts=1
    )


def judge_sums(pairs: Searched, K: float, share: float) -> Evidence:
    """``(share (a + b))^2 <= K (a^2 + b^2)`` for all pairs; the worst ones again in fractions."""
    a, b = pairs["a"], pairs["b"]
    left, right = (share * (a + b)) ** 2, K * (a**2 + b**2)
    exact_share, exact_K = Fraction(share), Fraction(K)
    return judge_inequality(
        left,
        right,
        1e-14 * np.maximum(left, right),
        scope="real a and b other than 0",
        case=pairs,
        exact=lambda at: ((exact_share * (at["a"] + at["b"])) ** 2, exact_K * (at["a"] ** 2 + at["b"] ** 2)),
        printed=f"({share:g} (a + b))^2 <= {K:g} (a^2 + b^2)",
        quotient=True,
        domain=pairs.domain,
    )
