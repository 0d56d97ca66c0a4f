"""Probabilities: exact laws where they exist, otherwise Clopper-Pearson intervals; n draws say nothing below 1/n."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.stats import binomtest

from paper_checks.claim import Evidence
from paper_checks.context import LEVEL
from paper_checks.engine.lines import Line
from paper_checks.facts import combine, compare
from paper_checks.methods.sides import UndefinedError, number


@dataclass(frozen=True)
class Counted:
    """How often an event happened in independent draws."""

    happened: int
    draws: int

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
        if not 0 <= value <= 1 or error < 0:
            raise UndefinedError(f"a probability must lie in [0, 1], got {value} with an error of {error}")
        if not isinstance(self.probability, int | Fraction) and not error:
            raise UndefinedError(f"a probability that is a float needs an error, got {value} without")

    def interval(self) -> tuple[float, float]:
        """Return all that it can be."""
        value = float(self.probability)
        return value - self.error, value + self.error


def judge_probability(
    event: Counted | Law,
    low: float,
    high: float,
    *,
    scope: str,
    what: str,
    witness: dict[str, object] | None = None,
    level: float = LEVEL,
) -> Evidence:
    """Judge that the probability of an event lies in ``[low, high]``.

    Args:
        event: counts, or the probability where its law is known.
        low: lower bound the form claims.
        high: upper bound the form claims.
        scope: what was covered.
        what: the event, in words.
        witness: plain numbers for storage; the bounds and what was found are added.
        level: probability that the interval of counts misses.
    """
    low, high = number(low, "the lower bound"), number(high, "the upper bound")
    law = isinstance(event, Law)
    found = event.interval() if isinstance(event, Law) else event.interval(level)
    exact = isinstance(event, Law) and not event.error
    printed = f"P({what}) in [{low:.6g}, {high:.6g}]"
    obtained = f"{found[0]:.6g}" if exact else f"in [{found[0]:.6g}, {found[1]:.6g}]"
    inside = min(found[0] - low, high - found[1])
    outside = max(low - found[1], found[0] - high)
    spent = 0.0 if law else level
    value = Fraction(event.probability) if isinstance(event, Law) and exact else None
    outcome = True if inside >= 0 else False if outside > 0 else None
    lines = {what: Line(outcome, (low, high, event), (np.array([low, -high]), np.zeros(2)), equal=False)}
    if outside > 0:
        numbers = {**(witness or {}), "event": what, "claimed": [low, high], "found": list(found)}
        bound = Fraction(low if found[1] < low else high)
        facts = combine(compare(what, value, "!=", bound)) if value is not None else ()
        return Evidence(
            False, scope, printed, obtained, -outside, level=spent, witness=numbers, facts=facts, lines=lines
        )
    if inside >= 0:
        both = (("<=", Fraction(high)), (">=", Fraction(low)))
        facts = combine(*(compare(what, value, sign, at) for sign, at in both)) if value is not None else ()  # type: ignore[arg-type]
        return Evidence(True, scope, printed, obtained, inside, level=spent, facts=facts, lines=lines)
    reason = f"the interval of P({what}) straddles a bound"
    return Evidence(None, scope, printed, obtained, inside, level=spent, reason=reason, lines=lines)
