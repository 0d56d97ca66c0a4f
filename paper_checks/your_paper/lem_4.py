"""Lemma 4 (Section 3): a probability, from counts."""

from __future__ import annotations

import numpy as np

from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.probability import Counted, judge_probability


def count_longer(context: Context) -> Counted:
    """Return pairs of updates whose sum is longer than the first of them."""
    a, b = context.rng("updates").standard_normal((2, context.size(500_000, 5_000_000)))
    return Counted(int(np.sum((a + b) ** 2 > a**2)), len(a))


@claim(
    "your-paper/lem-4",
    where="Section 3, Lemma 4",
    says=r"For independent standard normal $a$ and $b$: $0.64 \le P((a + b)^2 > a^2) \le 0.66$.",
    measure=count_longer,
    mutants=[{"low": 0.66}, {"high": 0.64}],
    expect=("holds", "statistical"),
)
def lem_4(counted: Counted, low: float = 0.64, high: float = 0.66) -> Evidence:
    """An exact interval of the probability lies within the printed bounds."""
    return judge_probability(
        counted, low, high, scope=f"{counted.draws:,} independent pairs", what="the sum is longer than a"
    )
