"""Local training by FedAvg and FedLin on small problems (Section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from paper_checks.fedlrt.measurements.federations import Case
from toymodels.quadratic import Quadratic, centred

STEPS = 4


@dataclass(frozen=True)
class Descents:
    """Full-rank methods: the start, the clients, one round of a method and of its naive recursion."""

    case: Case
    start: Tensor
    rate: float
    steps: int
    found: Tensor
    printed: Tensor
    fixed: Tensor | None = None
    by_hand: Mapping[str, Any] | None = None


def two_parabolas(rate: float = 0.125, steps: int = 2) -> tuple[tuple[Quadratic, ...], Mapping[str, Any]]:
    """Return the losses (w - 1)^2 / 2 and (w + 1/2)^2 of two clients; the mean is least at 0."""
    clients = (centred([[1.0]], [[1.0]]), centred([[2.0]], [[-0.5]]))
    return clients, {"curvatures": [1.0, 2.0], "centres": [1.0, -0.5], "rate": rate, "steps": steps}
