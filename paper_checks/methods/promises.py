"""Algorithm boxes: the box is executed by the toolkit's own algorithm, and every promise of its text is evaluated.

A promise is an equality or an inequality between two numbers of one run. Runs come in the order of their simplicity:
the first is small enough to be followed by hand and is the witness where a promise is broken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from paper_checks.claim import Evidence


@dataclass(frozen=True)
class Promise:
    """One promise of a text on one run.

    Attributes:
        name: what is promised, in words; the same for all runs.
        left: left side.
        right: right side; an inequality reads ``left <= right``.
        error: bound on the rounding of the difference.
        at_most: an inequality instead of an equality.
        case: the run in plain numbers, if it can be replayed by hand.
    """

    name: str
    left: float
    right: float
    error: float = 0.0
    at_most: bool = False
    case: Mapping[str, Any] | None = None

    @property
    def excess(self) -> float:
        """By how much it is broken; at most 0 if it is kept."""
        difference = self.left - self.right if self.at_most else abs(self.left - self.right)
        return difference - self.error


def same(name: str, left: Tensor, right: Tensor, case: Mapping[str, Any] | None = None,
         relative: float = 1e-10) -> Promise:  # fmt: skip
    """The promise that two tensors are one, up to rounding; different shapes break it."""
    if left.shape != right.shape:
        return Promise(name, 1.0, 0.0, case=case)
    scale = max(1.0, float(right.abs().max()) if right.numel() else 0.0)
    distance = float((left - right).abs().max()) if right.numel() else 0.0
    return Promise(name, distance, 0.0, error=relative * scale, case=case)


def orthonormal(name: str, columns: Tensor, case: Mapping[str, Any] | None = None) -> Promise:
    """The promise that the columns of a matrix are orthonormal."""
    return same(name, columns.mT @ columns, torch.eye(columns.shape[-1], dtype=columns.dtype), case)


def judge_promises(promises: Sequence[Promise], scope: str) -> Evidence:
    """Judges that all promises are kept; the first broken one that can be replayed is the witness."""
    broken = [promise for promise in promises if not promise.excess <= 0.0]
    names = list(dict.fromkeys(promise.name for promise in promises))
    if not broken:
        worst = max((promise.excess for promise in promises), default=0.0)
        return Evidence(
            True, "search", scope, "; ".join(names), f"all kept in {len(promises)} evaluations", -worst,
            cases=len(promises),
        )  # fmt: skip
    shown = next((promise for promise in broken if promise.case is not None), broken[0])
    failed = list(dict.fromkeys(promise.name for promise in broken))
    return Evidence(
        False, "search", scope, shown.name,
        f"{shown.left:.6g} and {shown.right:.6g} at the witness; broken in {len(broken)} of {len(promises)} "
        f"evaluations: {'; '.join(failed)}",
        margin=-max(promise.excess for promise in broken), cases=len(promises),
        witness=None if shown.case is None else {**shown.case, "promise": shown.name},
    )  # fmt: skip
