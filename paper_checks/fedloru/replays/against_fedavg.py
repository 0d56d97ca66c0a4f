"""Sections 5.2 and F.1: printed accuracies against FedAvg's, each with every rounding."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.accuracies import accuracies, percentages
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


def _sides(values: Values) -> tuple[Fraction, Fraction, tuple[Hypothesis, ...]]:
    """Return FedAvg's accuracy rounded down and the best of FedLoRU's rounded up."""
    (fedavg,), ours = accuracies(values["FedAvg"]), accuracies(values["FedLoRU"])
    return fedavg[0], max(high for _, high in ours), percentages([fedavg, *ours])


@replay("fedloru-v2/txt-5pct")
def txt_5pct(values: Values) -> Violation:
    """Evaluate one cell of Table 1, in points."""
    fedavg, ours, assumes = _sides(values)
    return Violation(
        fedavg - ours,
        5,
        assumes=assumes,
        given={"FedAvg": fedavg, "FedLoRU": ours},
        reads="of all roundings we take the one with the smallest decrease from FedAvg to FedLoRU. We compare this "
        "decrease, in points, with the stated bound",
    )


def relative_decrease(values: Values) -> Violation:
    """Return FedLoRU's accuracy in a cell, or the best over the ratios of a setting, relative to FedAvg's."""
    fedavg, ours, assumes = _sides(values)
    return Violation(
        100 * (1 - ours / fedavg),
        5,
        assumes=assumes,
        given={"FedAvg": fedavg, "FedLoRU": ours},
        reads="if a cell has several accuracies of FedLoRU, we take the best, and of all roundings we take the one "
        "with the smallest decrease from FedAvg to FedLoRU. We compare this decrease, in per cent of FedAvg's "
        "accuracy, with the stated bound",
    )


every_cell = replay("fedloru-v2/txt-5pct@relative-every-cell")(relative_decrease)

best_ratio = replay("fedloru-v2/txt-5pct@relative-best-ratio")(relative_decrease)


@replay("fedloru-v2/txt-beats-avg")
def txt_beats_avg(values: Values) -> Violation:
    """Compare FedAvg rounded down with FedLoRU rounded up in one cell."""
    fedavg, ours, assumes = _sides(values)
    return Violation(
        fedavg,
        ours,
        strict=True,
        assumes=assumes,
        given={"FedAvg": fedavg, "FedLoRU": ours},
        reads="we compare FedAvg, rounded down, with FedLoRU, rounded up, in one cell",
    )
