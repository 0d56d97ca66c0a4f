"""Algorithm boxes: the toolkit's own algorithm executes the box, and every relation that its text states is evaluated.

A relation is an equality or an inequality between two numbers of one run, ``left = right`` or ``left <= right``. Runs
come in the order of their simplicity: the first can be followed by hand and is the witness of a broken relation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paper_checks.claim import Evidence
from paper_checks.engine.lines import Line, line_of
from paper_checks.evaluation import decimal_as_fraction, format_apart
from paper_checks.facts import combine, compare
from paper_checks.methods.sides import ROUNDING, UndefinedError, exactly, number, require_decided
from paper_checks.methods.yielded import by


@dataclass(frozen=True)
class Relation:
    """An equality or inequality that a text states, on one run.

    Attributes:
        name: what the text states, in words; the same for all runs.
        left: left side.
        right: right side; an inequality reads ``left <= right``.
        error: bound on the rounding of the difference.
        at_most: an inequality instead of an equality.
        case: the run in plain numbers, if it can be replayed by hand.
        size: size of the quantities that are compared; toy problems have entries of order one.
        resolution: the source of the error if it is more than rounding, such as the last digit of a figure; it is part
            of what was obtained.

    Raises:
        UndefinedError: a side or an error that is not a number, or an exact side and a float that are nearer to each
            other than rounding.
    """

    name: str
    left: float | Fraction
    right: float | Fraction
    error: float = 0.0
    at_most: bool = False
    case: Mapping[str, Any] | None = None
    size: float = 1.0
    resolution: str = ""

    def __post_init__(self) -> None:
        number(self.left, f"{self.name}: the left side")
        number(self.right, f"{self.name}: the right side")
        if number(self.error, f"{self.name}: the error") < 0 or number(self.size, f"{self.name}: the size") < 0:
            raise UndefinedError(
                f"{self.name}: an error and a size must be at least 0, got {self.error} and {self.size}"
            )
        for name in ("left", "right", "error", "size"):  # a decimal is never rounded by a context
            object.__setattr__(self, name, decimal_as_fraction(getattr(self, name)))
        if isinstance(self.left, float | np.floating) != isinstance(self.right, float | np.floating):
            require_decided(self.left, self.right, float(self.left) - float(self.right), self.error, self.name)

    @property
    def distance(self) -> float:
        """Return by how much it would be broken without an error."""
        apart = exactly(self.left) - exactly(self.right)  # numpy would round to the shorter of two types
        return float(apart if self.at_most else abs(apart))

    @property
    def excess(self) -> float:
        """By how much it is broken; at most 0 if it is kept."""
        return float(self.distance - self.error)

    @property
    def loose(self) -> bool:
        """Whether it is kept only within a tolerance that is more than rounding and that nothing explains."""
        size = max(abs(float(self.left)), abs(float(self.right)), self.size)
        return not self.resolution and self.excess <= 0 < self.distance and self.error > ROUNDING * size


def same(
    name: str,
    left: Tensor,
    right: Tensor,
    case: Mapping[str, Any] | None = None,
    relative: float = 1e-10,
    resolution: str = "",
) -> Relation:
    """Return the relation of two equal tensors, up to rounding or a stated resolution; different shapes break it.

    Whole numbers have no rounding, so without a resolution they are equal or not.
    """
    if left.shape != right.shape:
        return Relation(name, 1.0, 0.0, case=case)
    if not any(side.is_floating_point() or side.is_complex() for side in (left, right)):
        if not resolution:
            return Relation(name, float((left != right).sum()), 0.0, case=case)
        left, right = left.double(), right.double()
    scale = max(1.0, float(right.abs().max()) if right.numel() else 0.0)
    distance = float((left - right).abs().max()) if right.numel() else 0.0
    return Relation(name, distance, 0.0, error=relative * scale, case=case, size=scale, resolution=resolution)


def orthonormal(name: str, columns: Tensor, case: Mapping[str, Any] | None = None) -> Relation:
    """Return the relation V'V = I of a matrix with orthonormal columns."""
    return same(name, columns.mT @ columns, torch.eye(columns.shape[-1], dtype=columns.dtype), case)


def judge_relations(promises: Sequence[Relation], scope: str, whole: bool = False) -> Evidence:
    """Judge whether all relations hold; the first broken one that can be replayed is the witness.

    Args:
        promises: relations on all runs.
        scope: what they cover.
        whole: whether they are all that the statement needs, such as every entry of a table; their sides are then
            whole numbers and fractions, and are compared exactly.

    Raises:
        UndefinedError: a relation that holds only within a tolerance that nothing explains.
        TypeError: sides that are to be compared exactly and are not exact numbers.
    """
    broken = [promise for promise in promises if not promise.excess <= 0.0]
    names = list(dict.fromkeys(promise.name for promise in promises))
    lines = _lines(promises)
    if not broken:
        loose = [promise for promise in promises if promise.loose]
        if loose:
            one = max(loose, key=lambda promise: promise.error)
            raise UndefinedError(f"{one.name}: kept only within {float(one.error):.2g}, which is more than rounding")
        margin = min((-promise.excess for promise in promises), default=0.0)
        within = dict[str, float]()  # the largest error by its source
        for one in promises:
            if one.resolution:
                within[one.resolution] = max(one.error, within.get(one.resolution, 0.0))
        told = (f"within {float(error):.2g}, {resolution}" for resolution, error in within.items())
        kept = "; ".join((f"all kept in {len(promises)} evaluations", *told))
        shown = (compare(one.name, one.left, "<=" if one.at_most else "=", one.right) for one in promises if whole)
        return Evidence(
            True,
            scope,
            "; ".join(names),
            kept,
            margin,
            cases=len(promises),
            lines=lines,
            whole=whole,
            facts=combine(*shown),
        )
    first = next((promise for promise in broken if promise.case is not None), broken[0])
    failed = list(dict.fromkeys(promise.name for promise in broken))
    sides = float(first.left), float(first.right)
    where = f"{' and '.join(format_apart(*sides))} at the witness"
    return Evidence(
        False,
        scope,
        first.name,
        f"{where}; broken in {len(broken)} of {len(promises)} evaluations: {'; '.join(failed)}",
        margin=-max(promise.excess for promise in broken),
        cases=len(promises),
        witness=None if first.case is None else {**first.case, "promise": first.name},
        sides=sides,
        lines=lines,
    )


relations = by(judge_relations)
"""Declares a claim whose judge yields relations and returns what they cover, and True if these are all cases."""
Relations = Generator[Relation, None, str | tuple[str, bool]]


def _lines(promises: Sequence[Relation]) -> dict[str, Line]:
    """Return a line for all relations of a name in all runs; an equality compares its distance with the error."""
    named = defaultdict[str, list[Relation]](list)
    for one in promises:
        named[one.name].append(one)
    return {
        name: line_of(
            all(one.excess <= 0.0 for one in some),
            [float(one.left) if one.at_most else one.distance for one in some],
            [float(one.right) + one.error if one.at_most else one.error for one in some],
            equal=not all(one.at_most for one in some),
        )
        for name, some in named.items()
    }
