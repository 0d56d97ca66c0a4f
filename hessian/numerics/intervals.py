"""Values with intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, inf, log10

from rmt.results import Result

LEAST_DIGITS, MOST_DIGITS = 4, 8
"""Digits of printed numbers; ends that only more would tell apart are printed with the fewest."""


@dataclass(frozen=True)
class Interval(Result):
    """A value between two ends."""

    value: float
    low: float
    high: float

    @property
    def relative_width(self) -> float:
        """Distance of the ends over the modulus of the value; 0 for a value of 0 without width."""
        return (self.high - self.low) / abs(self.value) if self.value else (0.0 if self.high == self.low else inf)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return format_interval(self.value, self.low, self.high)


@dataclass(frozen=True)
class StableRankInterval(Result):
    """An estimate of the stable rank with its interval, and the numbers behind it.

    Attributes:
        value: The estimate.
        low: Lower end of the interval.
        high: Upper end of the interval.
        confidence: Confidence level of the interval.
        spectral_norm: Norm, between the largest Ritz value in modulus and its upper bound.
        frobenius: Frobenius norm.
        eigenvalue: The eigenvalue of largest modulus, with its sign.
        residual: Residual of its Ritz pair, with a floor for rounding.
        certified: There is an upper bound of the norm that does not rest on the starting vector.
        deterministic_width: Share of the relative width due to the spectral norm and to rounding.
        statistical_width: Share due to the probes.
        steps: Rows of the Krylov basis.
        probes: Random probes; 0 if the complement was exhausted, so nothing is random.
        products: Products with one vector, all together.
        reached: The relative width asked for was reached.
        signs: The probes were random signs, without deflation.
        given_up: Compromises made for a budget of memory, in words; empty for none.
        limit: Why no number of products would reach the width asked for, in words; empty if more may.
        gradients: Time of the products in units of a gradient over the same data, where that was measured.
    """

    value: float
    low: float
    high: float
    confidence: float
    spectral_norm: Interval
    frobenius: Interval
    eigenvalue: float
    residual: float
    certified: bool
    deterministic_width: float
    statistical_width: float
    steps: int
    probes: int
    products: int
    reached: bool
    signs: bool = False
    given_up: str = ""
    limit: str = ""
    gradients: float | None = field(default=None, compare=False)

    @property
    def relative_width(self) -> float:
        """Distance of the ends over the value."""
        return (self.high - self.low) / self.value

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def words(self) -> dict[str, str]:
        """Return estimate, interval and norms in words."""
        norm = "certified" if self.certified else "probable"
        kind = "vectors of signs" if self.signs else "probes"
        share = f"{100 * self.statistical_width:.2g} % from {self.probes} {kind}" if self.probes else "nothing random"
        goal = "" if self.reached else f"; wider than requested: {self.limit or 'raise products'}"
        return {
            "stable rank": f"{format_interval(self.value, self.low, self.high)} at {100 * self.confidence:g} %; "
            f"width {100 * self.deterministic_width:.2g} % from the norm ({norm}), {share}{goal}",
            "norms": f"spectral {self.spectral_norm.value:.4g} (eigenvalue {self.eigenvalue:+.4g}), Frobenius "
            f"{self.frobenius}",
            **({"memory": self.given_up} if self.given_up else {}),
        }


def format_interval(value: float, low: float, high: float) -> str:
    """Return a value and its interval, with as many digits as distinguish the ends, at least four.

    >>> format_interval(3.237, 3.225, 3.252), format_interval(1.00213, 1.00204, 1.00241)
    ('3.237, 3.225 to 3.252', '1.0021, 1.0020 to 1.0024')
    """
    digits, width, size = LEAST_DIGITS, high - low, max(abs(low), abs(high))
    if 0.0 < width < size < inf:
        needed = ceil(log10(size / width)) + 1
        digits = needed if LEAST_DIGITS < needed <= MOST_DIGITS else LEAST_DIGITS
    ends = [
        f"{number:#.{digits}g}" if digits > LEAST_DIGITS else f"{number:.{digits}g}" for number in (value, low, high)
    ]
    return f"{ends[0]}, {ends[1]} to {ends[2]}"
