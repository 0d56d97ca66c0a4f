"""Tables 2 to 7: ratios, scales and totals."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


@replay("fedloru-v2/txt-ratio")
def txt_ratio(values: Values) -> Violation:
    """Compare corners of the rounding box of the two accuracies, with the printed ratio and its rounding."""
    half = Fraction(1, 200)
    fedavg, accuracy, ratio = Fraction(values["FedAvg"]), Fraction(values["X"]), Fraction(values["ratio"])
    corners = [((accuracy + a) - (fedavg + b)) / (accuracy + a) for a in (-half, half) for b in (-half, half)]
    distance = max(min(corners) - ratio, ratio - max(corners))
    return Violation(
        distance,
        Fraction(1, 2000),
        assumes=[
            Hypothesis("least accuracy", min(fedavg, accuracy), ">", half),
            Hypothesis("largest accuracy", max(fedavg, accuracy), "<=", 100),
        ],
        reads="for X = FedLoRU with 400 clients in v2's Table 6, we compare the distance of the printed ratio from (X "
        "- FedAvg)/X, for the nearest of all roundings, with half a unit of the last digit",
    )


@replay("fedloru-v2/txt-scal")
def txt_scal(values: Values) -> Violation:
    """Compare the gap to FedAvg at the fewer clients, rounded down, with that at the more, rounded up."""
    half, (fewer, more) = Fraction(1, 200), (int(values[name]) for name in ("fewer", "more"))
    fedavg, ours = ([Fraction(text) for text in values[name].split()] for name in ("FedAvg", "accuracy"))
    accuracies = [*fedavg, *ours]
    assumes = assuming(
        Hypothesis("fewer clients, against more", fewer, "<", more),
        Hypothesis("accuracies of FedAvg", len(fedavg), "=", 2),
        Hypothesis("accuracies next to them", len(ours), "=", 2),
        Hypothesis("least accuracy", min(accuracies), ">", half),
        Hypothesis("largest accuracy", max(accuracies), "<=", 100),
    )
    before, after = (own - whole for own, whole in zip(ours, fedavg, strict=True))
    return Violation(
        before - 2 * half,
        after + 2 * half,
        strict=True,
        assumes=assumes,
        reads="in v2's Table 6 we compare the accuracy minus FedAvg's at fewer clients, rounded down, with the same "
        "difference at more clients, rounded up, which should be larger",
    )


@replay("fedloru-v2/txt-total20")
def txt_total20(values: Values) -> Violation:
    """Add up the counts."""
    counts = [int(values[name]) for name in values if name.startswith("r=")]
    assumes = [Hypothesis("ranks", len(counts), "=", 3), Hypothesis("least count", min(counts), ">=", 1)]
    return Violation(
        abs(sum(counts) - int(values["total"])),
        0,
        assumes=assumes,
        reads="for setting 2, we compute the distance of the sum of the clients' numbers from the printed total",
    )
