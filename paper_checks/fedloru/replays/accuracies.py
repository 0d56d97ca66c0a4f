"""Replays of the claims in ``accuracies``: printed accuracies in per cent, each with every rounding."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


def accuracies(text: str) -> list[tuple[Fraction, Fraction]]:
    """Printed accuracies, separated by spaces, each as the ends of what it is rounded from."""
    found = [(Fraction(number), Fraction(1, 2 * 10 ** len(number.partition(".")[2]))) for number in text.split()]
    return [(number - half, number + half) for number, half in found]


def _best_rival(values: Values, where: str) -> Violation:
    """The best value of the other low-rank methods, rounded down, and FedLoRU's best, rounded up, over all sizes."""
    ours, theirs = accuracies(values["FedLoRU"]), accuracies(values["FedLoRA"]) + accuracies(values["FedHM"])
    assumes = (
        Hypothesis("least accuracy", min(high for _, high in ours + theirs), ">=", 0),
        Hypothesis("largest accuracy", max(low for low, _ in ours + theirs), "<=", 100),
    )
    return Violation(max(low for low, _ in theirs), max(high for _, high in ours), strict=True, assumes=assumes,
                     given={"rivals": [low for low, _ in theirs], "FedLoRU": [high for _, high in ours]},
                     reads=f"{where}: best rival against the best value of FedLoRU")  # fmt: skip


@replay("fedloru-iclr/txt-100")
def txt_100(values: Values) -> Violation:
    """Fashion-MNIST in the older version's table."""
    return _best_rival(values, "Fashion-MNIST, IID, 100 clients")


@replay("fedloru-v1/txt-surpass")
def txt_surpass(values: Values) -> Violation:
    """A setting of v1 Table 1."""
    return _best_rival(values, "CIFAR-100, NonIID, 20 clients")
