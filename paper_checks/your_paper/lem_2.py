"""Lemma 2 (Section 2): an inequality that fails as printed and is corrected."""

from __future__ import annotations

from paper_checks.claim import Evidence, Form, claim
from paper_checks.methods.domain import Searched
from paper_checks.your_paper.measurements.pairs import judge_sums, measure_pairs


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
