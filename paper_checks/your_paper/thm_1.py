"""Theorem 1 (Section 3): a limit in the dimension."""

from __future__ import annotations

from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.limit import Ladder, judge_limit


def draw_quotients(context: Context) -> dict[str, Ladder]:
    """Draw quotients at two dimensions from the law of two sums: ``a + b`` and ``a - b`` are independent."""
    rng, count = context.rng("updates"), context.size(100, 1000)
    rungs = []
    for R in (10**6, 10**9):
        added, subtracted = rng.chisquare(R, (2, count))
        rungs.append((R, 2.0 * added / (added + subtracted)))
    return {"|a + b|^2 / (|a|^2 + |b|^2)": Ladder(tuple(rungs))}


@claim(
    "your-paper/thm-1",
    where="Section 3, Theorem 1",
    says=r"For independent updates $a$ and $b$ in $\mathbb{R}^R$ with standard normal entries: "
    r"$\frac{\|a + b\|^2}{\|a\|^2 + \|b\|^2} \to 1$ as $R \to \infty$.",
    measure=draw_quotients,
    mutants=[{"limit": 1.05}, {"limit": 0.95}],
    uses=("your-paper/eq-1",),
    importance="result",
    expect=("holds", "statistical"),
)
def thm_1(ladders: dict[str, Ladder], limit: float = 1.0) -> Evidence:
    """The quotient at the largest dimension, compared with the one before."""
    return judge_limit(ladders, dict.fromkeys(ladders, limit), scope="standard normal entries")
