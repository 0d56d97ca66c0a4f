"""Replays of the claims in ``accuracies``: printed accuracies in per cent, each with every rounding."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values

HALF = Fraction(1, 200)


def accuracies(text: str) -> list[Fraction]:
    """Accuracies printed with two decimals, separated by spaces."""
    if not text or any(len(number.partition(".")[2]) != 2 for number in text.split()):
        raise ValueError(f"not accuracies with two decimals: {text!r}")
    return [Fraction(number) for number in text.split()]


def _best_rival(values: Values, where: str) -> Violation:
    """The best value of the other low-rank methods, rounded down, and FedLoRU's best, rounded up, over all sizes."""
    ours, theirs = accuracies(values["FedLoRU"]), accuracies(values["FedLoRA"]) + accuracies(values["FedHM"])
    assumes = (
        Hypothesis("least accuracy", min(ours + theirs), ">=", 0),
        Hypothesis("largest accuracy", max(ours + theirs), "<=", 100),
    )
    return Violation(max(theirs) - HALF, max(ours) + HALF, strict=True, assumes=assumes,
                     given={"rivals": theirs, "FedLoRU": ours},
                     reads=f"{where}: best rival against the best value of FedLoRU")  # fmt: skip


@replay("fedloru-iclr/txt-100")
def txt_100(values: Values) -> Violation:
    """Fashion-MNIST in the older version's table."""
    return _best_rival(values, "Fashion-MNIST, IID, 100 clients")


@replay("fedloru-v1/txt-surpass")
def txt_surpass(values: Values) -> Violation:
    """A setting of v1 Table 1."""
    return _best_rival(values, "CIFAR-100, NonIID, 20 clients")
