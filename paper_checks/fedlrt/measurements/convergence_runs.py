"""Runs of several rounds in numbers, for Theorems 3 and 4 and Corollary 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from paper_checks.fedlrt.measurements.traces import Trace, norm

LIMIT = 1.0 / 12.0
"""Bound on s λ L in the theorems."""


@dataclass(frozen=True)
class Run:
    """Some rounds, in numbers; L = 1.

    Attributes:
        name: of the instance.
        steps: local steps.
        step: learning rate.
        slopes: norm of the mean gradient in the augmented coefficients, at the start of each round.
        descent: loss at the start minus loss at the end.
        size: of the two losses, for the rounding.
        lost: what each round's truncation takes away.
        before: norm of the global gradient before each truncation.
        theta: the threshold.
        outer: delta of the corrected assumption of Section 3.3, over all rounds; 0 with full correction.
        delta: of Assumption 1: the one of the witness, or a little more than the least it admits, over all rounds.
        witness: the instance in short numbers, if it has any.
    """

    name: str
    steps: int
    step: float
    slopes: tuple[float, ...]
    descent: float
    size: float
    lost: tuple[float, ...]
    before: tuple[float, ...]
    theta: float
    outer: float = 0.0
    delta: float = 0.0
    witness: Mapping[str, object] | None = None

    @property
    def whole(self) -> float:
        """Return the product s λ L."""
        return self.steps * self.step

    @property
    def shown(self) -> Mapping[str, object]:
        """Return the instance in short numbers, or its name."""
        return self.witness or {"instance": self.name}

    @property
    def least(self) -> float:
        """Return the smallest squared gradient of all rounds."""
        return min(self.slopes) ** 2

    @property
    def cost(self) -> float:
        """Return the mean over the rounds of what a truncation can cost."""
        return float(np.mean([lost * b + lost**2 / 2.0 for lost, b in zip(self.lost, self.before, strict=True)]))


def as_run(traces: Sequence[Trace], given: Mapping[str, Any] | None = None, simplified: bool = False) -> Run:
    """Return the numbers of rounds that follow each other.

    Args:
        traces: the rounds.
        given: the instance in short numbers, if it has any: its threshold and delta are judged; otherwise the
            threshold is what is lost at most, and delta a little more than the least that is admitted.
        simplified: whether the correction is.
    """
    first, last, lost = traces[0].losses[0], traces[-1].losses[2], tuple(one.lost for one in traces)
    named = {name: float(Fraction(given[name])) for name in ("theta", "delta") if given and name in given}
    least = max(one.needed for one in traces) * 1.0001 if simplified else 0.0
    return Run(
        traces[0].name,
        traces[0].steps,
        traces[0].step,
        tuple(norm(one.gradient) for one in traces),
        first - last,
        abs(first) + abs(last),
        lost,
        tuple(one.before for one in traces),
        named.get("theta", max(lost)),
        max(one.outer for one in traces) if simplified else 0.0,
        named.get("delta", least),
        given,
    )
