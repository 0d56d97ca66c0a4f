"""Cases from hypothesis: corners and simple values first, the same for the same seed, nothing kept on disk."""

from __future__ import annotations

import tempfile
from typing import TypeVar

import hypothesis
from hypothesis import strategies
from hypothesis.configuration import set_hypothesis_home_dir

from paper_checks.context import Context

Case = TypeVar("Case")


def draw_cases(context: Context, strategy: strategies.SearchStrategy[Case], examples: int) -> list[Case]:
    """Draws cases for deterministic statements.

    Hypothesis chooses its own distribution, so these cases say nothing about means or probabilities.

    Args:
        context: names the random stream.
        strategy: the domain.
        examples: how many cases; a small domain may give fewer.
    """
    found: list[Case] = []

    @hypothesis.seed(context.integer_seed("hypothesis"))
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def draw(case: Case) -> None:
        found.append(case)

    with tempfile.TemporaryDirectory(prefix="rankproof-") as private:
        set_hypothesis_home_dir(private)  # else it writes where the user stands
        try:
            draw()
        finally:
            set_hypothesis_home_dir(None)
    return found
