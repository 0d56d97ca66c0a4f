"""Section 5.2: printed accuracies in per cent, each with every rounding."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


def accuracies(text: str) -> list[tuple[Fraction, Fraction]]:
    """Return printed accuracies, separated by spaces, each as the ends of what it is rounded from."""
    found = [(Fraction(number), Fraction(1, 2 * 10 ** len(number.partition(".")[2]))) for number in text.split()]
    return [(number - half, number + half) for number, half in found]


def percentages(cells: list[tuple[Fraction, Fraction]]) -> tuple[Hypothesis, ...]:
    """Return the hypotheses that accuracies are percentages."""
    low, high = min(high for _, high in cells), max(low for low, _ in cells)
    return Hypothesis("least accuracy", low, ">=", 0), Hypothesis("largest accuracy", high, "<=", 100)


def _best_rival(values: Values, where: str) -> Violation:
    """Return the rivals' best value, rounded down, and FedLoRU's best, rounded up, over all sizes."""
    ours, theirs = accuracies(values["FedLoRU"]), accuracies(values["FedLoRA"]) + accuracies(values["FedHM"])
    return Violation(
        max(low for low, _ in theirs),
        max(high for _, high in ours),
        strict=True,
        assumes=percentages(ours + theirs),
        given={"rivals": [low for low, _ in theirs], "FedLoRU": [high for _, high in ours]},
        reads=f"for {where}, we compare the best value of FedLoRA and FedHM, rounded down, with the "
        "best of FedLoRU, rounded up",
    )


@replay("fedloru-iclr/txt-100")
def txt_100(values: Values) -> Violation:
    """Evaluate Fashion-MNIST in the older version's table."""
    return _best_rival(values, "Fashion-MNIST, IID, 100 clients")


@replay("fedloru-v1/txt-surpass")
def txt_surpass(values: Values) -> Violation:
    """Evaluate a setting of v1 Table 1."""
    return _best_rival(values, "CIFAR-100, NonIID, 20 clients")


@replay("fedloru-v2/txt-20of27")
def txt_20of27(values: Values) -> Violation:
    """Compare cells that FedAvg wins, FedAvg rounded down with FedLoRU rounded up."""
    fedavg, ours = (accuracies(" ".join(values[method])) for method in ("FedAvg", "FedLoRU"))
    assumes = assuming(
        Hypothesis("cells of Table 1", len(ours), "=", 27), Hypothesis("settings of FedAvg", len(fedavg), "=", 9)
    )
    return Violation(
        sum(fedavg[cell // 3][0] > high for cell, (_, high) in enumerate(ours)),
        len(ours) - 20,
        assumes=(*percentages([*fedavg, *ours]), *assumes),
        reads="the witness lists the cells of Table 1 in its order, with FedAvg's accuracy for each setting of three "
        "cells. We count the cells in which FedAvg's accuracy, rounded down, is above FedLoRU's, rounded up, and "
        "compare their number with 27 - 20, the largest possible number if FedLoRU is best in 20 cells",
    )
