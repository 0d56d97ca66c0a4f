"""Cases from hypothesis: corners and simple values first, the same for the same seed, nothing kept on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar
from unittest.mock import patch

import hypothesis
from hypothesis import strategies
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.internal.conjecture.providers import HypothesisProvider

from paper_checks.context import Context

Case = TypeVar("Case")


@contextmanager
def _alone() -> Iterator[None]:
    """Run Hypothesis without constants of the code and in its own folder; else it writes to the current one.

    It reads constants out of all modules that happen to be loaded, so cases would change with the order of the
    claims, with the number of jobs and with any edit of the code; Hypothesis lacks a setting for it.
    """
    constants = patch.object(HypothesisProvider, "_maybe_draw_constant", return_value=None, create=True)
    with tempfile.TemporaryDirectory(prefix="rankproof-") as private, constants:
        set_hypothesis_home_dir(private)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def draw_cases(context: Context, strategy: strategies.SearchStrategy[Case], examples: int) -> list[Case]:
    """Draw cases for deterministic statements.

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

    with _alone():
        draw()
    return found
