"""Replays of the claims in ``accuracies``: printed accuracies in per cent, each with every rounding."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values

HALF = Fraction(1, 200)


def accuracies(text: str) -> list[Fraction]:
    """Accuracies printed with two decimals, separated by spaces."""
    if not text or any(len(number.partition(".")[2]) != 2 for number in text.split()):
        raise ValueError(f"not accuracies with two decimals: {text!r}")
    return [Fraction(number) for number in text.split()]


def _best_rival(values: Values) -> tuple[Fraction, Fraction]:
    """The best value of the other low-rank methods, rounded down, and FedLoRU's best, rounded up."""
    rivals = accuracies(values["FedLoRA"]) + accuracies(values["FedHM"])
    return max(rivals) - HALF, max(accuracies(values["FedLoRU"])) + HALF


@replay("fedloru-iclr/txt-100")
def txt_100(values: Values) -> Violation:
    """The best values over all sizes."""
    rival, ours = _best_rival(values)
    unmet = "" if (values["split"], values["clients"]) == ("IID", 100) else "IID, 100 clients"
    return Violation(rival, ours, unmet=unmet, strict=True, reads="best rival against the best value of FedLoRU")


@replay("fedloru-v1/txt-surpass")
def txt_surpass(values: Values) -> Violation:
    """The best values over all sizes, in any setting of the table."""
    rival, ours = _best_rival(values)
    settings = [("IID", 20), ("IID", 100), ("NonIID", 20)]
    known = values["dataset"] in ("CIFAR-10", "CIFAR-100") and (values["split"], values["clients"]) in settings
    return Violation(rival, ours, unmet="" if known else "a setting of v1 Table 1", strict=True,
                     reads="best rival against the best value of FedLoRU")  # fmt: skip
