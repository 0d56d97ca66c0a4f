"""Lemma 1 (Section 2): an inequality over a domain."""

from __future__ import annotations

from paper_checks.claim import Evidence, claim
from paper_checks.methods.domain import Searched
from paper_checks.your_paper.measurements.pairs import judge_sums, measure_pairs


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
