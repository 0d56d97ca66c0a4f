"""Probabilities: exact laws where they exist, otherwise Clopper-Pearson intervals; n draws say nothing below 1/n."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.stats import binomtest

from paper_checks.claim import Evidence
from paper_checks.context import LEVEL
from paper_checks.engine.lines import Line
from paper_checks.evaluation import as_written
from paper_checks.facts import as_fraction, combine, compare
from paper_checks.methods.sides import UndefinedError, number

MOST_DRAWS = 2**53
"""From here on floats do not hold every count."""


@dataclass(frozen=True)
class Counted:
    """How often an event happened in independent draws.

    Raises:
        UndefinedError: counts that are not whole numbers, no draw, or more events than draws.
    """

    happened: int
    draws: int

    def __post_init__(self) -> None:
        counts = self.happened, self.draws
        whole = all(isinstance(count, int | np.integer) and not isinstance(count, bool) for count in counts)
        if not whole or not 0 <= self.happened <= self.draws or not 0 < self.draws < MOST_DRAWS:
            raise UndefinedError(
                f"an event happens in some of at least one draw, got {self.happened!r} of {self.draws!r}"
            )

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the exact two-sided interval of the probability that misses with probability at most ``level``."""
        found = binomtest(self.happened, self.draws).proportion_ci(confidence_level=1.0 - level, method="exact")
        return float(found.low), float(found.high)


@dataclass(frozen=True)
class Law:
    """A probability from an exact law: a fraction, or a float with a bound on its error.

    Raises:
        UndefinedError: no probability, or a float without an error.
    """

    probability: float | Fraction
    error: float = 0.0

    def __post_init__(self) -> None:
        value, error = number(self.probability, "a probability"), number(self.error, "its error")
        if not isinstance(self.probability, float | np.floating):
            object.__setattr__(self, "probability", as_fraction(self.probability))
        if not 0 <= self.probability <= 1 or error < 0:
            raise UndefinedError(f"a probability must lie in [0, 1], got {value} with an error of {error}")
        if not isinstance(self.probability, Fraction) and not error:
            raise UndefinedError(f"a probability that is a float needs an error, got {value} without")

    def interval(self) -> tuple[float, float]:
        """Return all that it can be."""
        value = float(self.probability)
        return value - self.error, value + self.error


def _exact_bound(bound: float | Fraction, what: str) -> Fraction:
    """Return a bound as a fraction; a float is the decimal that it is written as.

    Raises:
        UndefinedError: It is not a finite number.
    """
    number(bound, what)
    return as_fraction(as_written(float(bound) if isinstance(bound, float | np.floating) else bound))


def judge_probability(
    event: Counted | Law,
    low: float | Fraction,
    high: float | Fraction,
    *,
    scope: str,
    what: str,
    witness: dict[str, object] | None = None,
    level: float = LEVEL,
) -> Evidence:
    """Judge that the probability of an event lies in ``[low, high]``.

    Args:
        event: counts, or the probability where its law is known.
        low: lower bound the form claims; a float is the decimal that it is written as.
        high: upper bound the form claims, likewise.
        scope: what was covered.
        what: the event, in words.
        witness: plain numbers for storage; the bounds and what was found are added.
        level: probability that the interval of counts misses.
    """
    ends: tuple[float | Fraction, ...] = _exact_bound(low, "the lower bound"), _exact_bound(high, "the upper bound")
    low, high = map(float, ends)
    law = isinstance(event, Law)
    found = event.interval() if isinstance(event, Law) else event.interval(level)
    exact = isinstance(event, Law) and not event.error
    printed = f"P({what}) in [{low:.6g}, {high:.6g}]"
    obtained = f"{found[0]:.6g}" if exact else f"in [{found[0]:.6g}, {found[1]:.6g}]"
    spent = 0.0 if law else level
    value = Fraction(event.probability) if isinstance(event, Law) and exact else None
    least, most = found if value is None else (value, value)
    if value is None:
        ends = low, high
    is_inside, is_outside = ends[0] <= least and most <= ends[1], most < ends[0] or ends[1] < least
    inside = min(found[0] - low, high - found[1])
    outside = max(low - found[1], found[0] - high)
    outcome = True if is_inside else False if is_outside else None
    lines = {what: Line(outcome, (low, high, event), (np.array([low, -high]), np.zeros(2)), equal=False)}
    if is_outside:
        numbers = {**(witness or {}), "event": what, "claimed": [low, high], "found": list(found)}
        facts = (
            combine(compare(what, value, "!=", ends[0] if value < ends[0] else ends[1])) if value is not None else ()
        )
        return Evidence(
            False, scope, printed, obtained, min(-outside, 0.0), level=spent, witness=numbers, facts=facts, lines=lines
        )
    if is_inside:
        both = (("<=", ends[1]), (">=", ends[0]))
        facts = combine(*(compare(what, value, sign, at) for sign, at in both)) if value is not None else ()  # type: ignore[arg-type]
        return Evidence(True, scope, printed, obtained, max(inside, 0.0), level=spent, facts=facts, lines=lines)
    reason = f"the interval of P({what}) straddles a bound"
    return Evidence(None, scope, printed, obtained, inside, level=spent, reason=reason, lines=lines)
