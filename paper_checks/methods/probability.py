"""Probabilities: exact laws where they exist, otherwise Clopper-Pearson intervals; n draws say nothing below 1/n."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import binomtest

from paper_checks.claim import Evidence
from paper_checks.context import LEVEL


@dataclass(frozen=True)
class Counted:
    """How often an event happened in independent draws."""

    happened: int
    draws: int

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Exact two-sided interval of the probability that misses with probability at most ``level``."""
        found = binomtest(self.happened, self.draws).proportion_ci(confidence_level=1.0 - level, method="exact")
        return float(found.low), float(found.high)


def judge_probability(
    event: Counted | float, low: float, high: float, *, scope: str, what: str, witness: dict[str, object] | None = None
) -> Evidence:
    """Judges that the probability of an event lies in ``[low, high]``.

    Args:
        event: counts, or the exact probability where its law is known.
        low: lower bound the form claims.
        high: upper bound the form claims.
        scope: what was covered.
        what: the event, in words.
        witness: plain numbers for storage; the bounds and what was found are added.
    """
    exact = isinstance(event, float)
    found = (event, event) if isinstance(event, float) else event.interval()
    printed = f"P({what}) in [{low:.6g}, {high:.6g}]"
    obtained = f"{found[0]:.6g}" if exact else f"in [{found[0]:.6g}, {found[1]:.6g}]"
    inside = min(found[0] - low, high - found[1])
    outside = max(low - found[1], found[0] - high)
    grade, level = ("proof" if exact else "statistical"), (0.0 if exact else LEVEL)
    if outside > 0:
        numbers = {**(witness or {}), "event": what, "claimed": [low, high], "found": list(found)}
        return Evidence(False, grade, scope, printed, obtained, -outside, level=level, witness=numbers)  # type: ignore[arg-type]
    if inside >= 0:
        return Evidence(True, grade, scope, printed, obtained, inside, level=level)  # type: ignore[arg-type]
    return Evidence(None, grade, scope, printed, obtained, inside, level=level,  # type: ignore[arg-type]
                    reason=f"the interval of P({what}) straddles a bound")  # fmt: skip
