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


def _sides(values: Values) -> tuple[Fraction, Fraction, tuple[Hypothesis, ...]]:
    """FedAvg's accuracy rounded down and the best of FedLoRU's rounded up."""
    (fedavg,), ours = accuracies(values["FedAvg"]), accuracies(values["FedLoRU"])
    assumes = (
        Hypothesis("least accuracy", min(high for _, high in (fedavg, *ours)), ">=", 0),
        Hypothesis("largest accuracy", max(low for low, _ in (fedavg, *ours)), "<=", 100),
    )
    return fedavg[0], max(high for _, high in ours), assumes


def _decrease(values: Values, of: str) -> Violation:
    fedavg, ours, assumes = _sides(values)
    found = 100 * (1 - ours / fedavg) if of == "per cent of FedAvg's" else fedavg - ours
    return Violation(found, 5, assumes=assumes, given={"FedAvg": fedavg, "FedLoRU": ours},
                     reads=f"decrease from FedAvg to FedLoRU, in {of}")  # fmt: skip


@replay("fedloru-v2/txt-5pct")
def txt_5pct(values: Values) -> Violation:
    """One cell of Table 1, in points."""
    return _decrease(values, "points")


@replay("fedloru-v2/txt-5pct@relative-every-cell")
def txt_5pct_relative(values: Values) -> Violation:
    """One cell, relative to FedAvg."""
    return _decrease(values, "per cent of FedAvg's")


@replay("fedloru-v2/txt-5pct@relative-best-ratio")
def txt_5pct_relative_best(values: Values) -> Violation:
    """One setting with FedLoRU's accuracies at all ratios, of which the best counts."""
    return _decrease(values, "per cent of FedAvg's")


@replay("fedloru-v2/txt-beats-avg")
def txt_beats_avg(values: Values) -> Violation:
    """One cell: FedAvg rounded down against FedLoRU rounded up."""
    fedavg, ours, assumes = _sides(values)
    return Violation(fedavg, ours, strict=True, assumes=assumes, given={"FedAvg": fedavg, "FedLoRU": ours},
                     reads="FedAvg against FedLoRU in one cell")  # fmt: skip
