"""Lemma 3 (Section 3): the mean of a random quantity."""

from __future__ import annotations

import numpy as np

from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.mean import Draws, Tails, judge_means

DIMENSIONS = (10, 20)


def draw_sums(context: Context) -> dict[int, Draws]:
    """Squared lengths of sums of two updates, by their dimension."""
    rng, count = context.rng("updates"), context.size(100_000, 1_000_000)
    return {R: sum(np.sum(rng.standard_normal((2, count)), axis=0) ** 2 for _ in range(R)) for R in DIMENSIONS}


@claim(
    "your-paper/lem-3",
    where="Section 3, Lemma 3",
    says=r"For independent updates $a$ and $b$ in $\mathbb{R}^R$ with standard normal entries: $E\|a + b\|^2 = 2R$.",
    measure=draw_sums,
    mutants=[{"factor": 2.1}, {"power": 2}],
    expect=("holds", "statistical"),
)
def lem_3(draws: dict[int, Draws], factor: float = 2.0, power: int = 1) -> Evidence:
    """Means of the draws, whose law, twice a chi-square of R degrees, has the standard deviation sqrt(8R)."""
    named = {f"R = {R}": R for R in draws}
    return judge_means(
        {name: draws[R] for name, R in named.items()},
        {name: factor * R**power for name, R in named.items()},
        scope="standard normal entries",
        tails=Tails({name: float(np.sqrt(8.0 * R)) for name, R in named.items()}),
    )
