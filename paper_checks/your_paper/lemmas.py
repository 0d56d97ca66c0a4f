"""Section 2: sums of two updates."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.methods.domain import Axis, Cases, Searched, Stated
from paper_checks.methods.inequality import collect_cases, judge_inequality

ANY = Stated(0.0, inf)


def measure_pairs(context: Context) -> Searched:
    """Pairs of numbers of either sign over eight decades, searched towards equality in both lemmas."""
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


@claim(
    "your-paper/lem-1",
    where="Section 2, Lemma 1",
    says=r"For real $a$ and $b$: $\left(\frac{a + b}{2}\right)^2 \le \frac{1}{2}(a^2 + b^2)$.",
    measure=measure_pairs,
    mutants=[{"K": 0.49}, {"share": 0.51}],
    importance="result",
    expect=("holds", "search"),
)
def lem_1(pairs: Searched, K: float = 0.5, share: float = 0.5) -> Evidence:
    """The square of the mean against the mean of the squares."""
    return judge_sums(pairs, K, share)


@claim(
    "your-paper/lem-2",
    where="Section 2, Lemma 2",
    says=r"For real $a$ and $b$: $(a + b)^2 \le a^2 + b^2$.",
    measure=measure_pairs,
    control=Form(r"$(a + b)^2 \le 4(a^2 + b^2)$.", {"K": 4.0}),
    correction=Form(r"$(a + b)^2 \le 2(a^2 + b^2)$.", {"K": 2.0}, mutants=({"K": 1.98},)),
    uses=("your-paper/lem-1",),
    because="The product 2ab is missing, which is positive where a and b have one sign.",
    importance="result",
    expect=("corrected", "proof"),
)
def lem_2(pairs: Searched, K: float = 1.0) -> Evidence:
    """The square of the sum against the sum of the squares."""
    return judge_sums(pairs, K, 1.0)
