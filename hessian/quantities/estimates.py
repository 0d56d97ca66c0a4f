"""Results of a measurement: numbers and curves with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hessian.lanczos.krylov import Array
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.numerics.intervals import StableRankInterval, format_interval
from hessian.quantities.names import Quantity
from rmt.results import LABEL, Result


@dataclass(frozen=True)
class Estimate(Result):
    """One number with its confidence interval.

    Attributes:
        quantity: The measured quantity.
        value: The estimate.
        low: Lower end of the interval.
        high: Upper end of the interval.
        confidence: Confidence level of the interval.
        probes: Random probes on which the interval is based; 0 if no probe was needed.
        reached: The width asked for was reached.
        limit: Change that would make the interval narrower, in words; empty if the width was reached.
        uncertain: Part of the distance of the ends that more probes would not remove: what the quadrature does not
            resolve, what a starting vector may hide, and rounding.
    """

    quantity: Quantity
    value: float
    low: float
    high: float
    confidence: float
    probes: int
    reached: bool
    limit: str = ""
    uncertain: float = 0.0

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def width(self) -> float:
        """Distance of the ends."""
        return self.high - self.low

    def words(self) -> dict[str, str]:
        """Return the estimate and its interval in words."""
        kind = f"{self.probes} probes" if self.probes else "no probes"
        missing = "" if self.reached else f"; wider than requested: {self.limit}"
        text = format_interval(self.value, self.low, self.high)
        return {self.quantity.label: f"{text} at {100 * self.confidence:g} %; {kind}{missing}"}


@dataclass(frozen=True, eq=False)
class Profile(Result):
    """Many numbers with confidence intervals: the diagonal, or the distribution function of the eigenvalues.

    Attributes:
        quantity: The measured quantity.
        points: Points of the distribution function in increasing order; of the diagonal, the positions.
        value: The estimates.
        low: Lower ends.
        high: Upper ends.
        sd: Standard errors of the diagonal; empty for a distribution function.
        confidence: Confidence level: of each interval of the diagonal, of the whole band of a distribution function.
        probes: Random probes; 0 if none was needed.
        reached: The width asked for was reached.
        limit: Change that would make the intervals narrower, in words; empty if the width was reached.
    """

    quantity: Quantity
    points: Array
    value: Array
    low: Array
    high: Array
    sd: Array
    confidence: float
    probes: int
    reached: bool
    limit: str = ""

    def __post_init__(self) -> None:
        fix_arrays(self)

    def bracket(self, x: Array | float) -> tuple[Array, Array]:
        """Return bounds of a distribution function at any points: between its own points, the band continues as steps.

        Args:
            x: Points, any shape.
        """
        at = np.asarray(x, dtype=float)
        low = np.r_[0.0, self.low][np.searchsorted(self.points, at, side="right")]
        high = np.r_[self.high, 1.0][np.searchsorted(self.points, at, side="left")]
        return low, high

    def words(self) -> dict[str, str]:
        """Return the number of points and the typical width in words."""
        missing = "" if self.reached else f"; wider than requested: {self.limit}"
        level = f"{100 * self.confidence:g} %"
        if self.quantity.name == "density":
            text = f"band of median width {np.median(self.high - self.low):.2g} at {level}, {len(self.points)} points"
        else:
            error = float(np.sqrt((self.sd**2).mean()))
            text = f"{len(self.value):,} entries, sum {self.value.sum():.4g}; root mean square error {error:.2g}"
        return {self.quantity.label: f"{text}; {self.probes} probes{missing}"}


Measured = Estimate | Profile | StableRankInterval


@dataclass(frozen=True, eq=False)
class Measurement(Result):
    """Quantities of one matrix, measured together.

    Attributes:
        P: Dimension.
        confidence: Confidence level of each interval.
        found: Results by quantity, in the order asked for; `measurement["trace"]` is one of them.
        steps: Rows of the common Krylov basis.
        products: Products with one vector, by part; parts are shared by all quantities that need them.
        gradients: Time of the products in units of a gradient over the same data, where that was measured.
        given_up: Compromises made for a budget of memory, in words; empty for none.
        warm: The search started from the eigenvectors of an earlier matrix.
    """

    P: int
    confidence: float
    found: dict[Quantity, Measured]
    steps: int
    products: dict[str, int]
    gradients: float | None = field(default=None, compare=False)
    given_up: str = ""
    warm: bool = field(default=False, compare=False)

    def __getitem__(self, quantity: Quantity | str) -> Any:
        """Return one result by the quantity's name."""
        return self.found[Quantity.of(quantity)]

    def __iter__(self) -> Any:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    @property
    def reached(self) -> bool:
        """Whether every quantity has the width asked for."""
        return all(one.reached for one in self.found.values())

    def words(self) -> dict[str, str]:
        """Return all results in words, and what they cost."""
        rows: dict[str, str] = {}
        for quantity, one in self.found.items():
            label, text = next(iter(one.words().items()))
            rows[quantity.label] = text if len(label) < LABEL else f"  {text}"
        parts = ", ".join(f"{part} {count}" for part, count in self.products.items() if count)
        time = "" if self.gradients is None else f", the time of {self.gradients:.0f} gradients"
        rows["cost"] = f"{sum(self.products.values())} products ({parts}){time}"
        return rows | ({"memory": self.given_up} if self.given_up else {})

    def _values(self) -> dict[str, Any]:
        return super()._values() | {"found": {str(quantity): one for quantity, one in self.found.items()}}
