"""Rates of an iteration under Theorem 5.4, searched over its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.context import Context
from paper_checks.methods.domain import OPEN_UNIT, UNIT, Axis, Cases, Searched
from paper_checks.methods.inequality import collect_cases


def quotient_squared(square: Any, s: Any) -> Any:
    r"""Return $(\delta_{t+1}/\delta_t)^2$ with unlimited samples, from $\delta_t^2$ and $s = \eta\|b^*\|^2$."""
    return (1 - 2 * s * (1 - square)) ** 2 / (1 + 4 * s**2 * square * (1 - square))


@dataclass(frozen=True)
class Rates:
    """Cases of the opening statement of Appendix A.4.

    Attributes:
        unlimited: All angles and all c, unlimited samples.
        events: Steps, angles, thresholds and lengths of b on the events of Lemmas A.9 and A.10.
    """

    unlimited: Searched
    events: Cases


def search_rates(context: Context) -> Rates:
    """Search over all angles and all c; draw on the events, with corners."""
    axes = (
        Axis("delta_0", 1e-4, 0.9999, OPEN_UNIT, words="first angle distance, delta^0"),
        Axis("ratio", 1e-4, 1.0, UNIT, words="angle distance over the first one, delta^t/delta^0"),
        Axis("c", 1e-4, 0.9999, OPEN_UNIT),
    )

    def gap(c: Cases) -> NDArray[np.float64]:
        square = (c["ratio"] * c["delta_0"]) ** 2
        return 1 - c["c"] * (1 - c["delta_0"] ** 2) - quotient_squared(square, np.minimum(c["c"], 0.5))

    unlimited = collect_cases(
        context, axes, lambda c: c["c"] < 1.0, gap, examples=context.size(150, 1500), restarts=context.size(1, 4)
    )
    rng, n = context.rng("events"), context.size(2000, 20000)
    drawn = {name: rng.uniform(1e-6, 0.999999, n) for name in ("share", "D", "level", "tilde", "place")}
    for column in drawn.values():
        corner = rng.uniform(size=n) < 0.5
        column[corner] = rng.choice([1e-6, 0.999999], corner.sum())
    return Rates(unlimited, drawn)
