"""Table 12 (Appendix B.2.5): MMLU."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.rolora.replays.table_1 import half_unit
from paper_checks.stored_values import Values

PRINTED = {"LoRA": "45.81", "FFA-LoRA": "45.80", "RoLoRA": "45.93"}


@replay("rolora/table-12@anatomy-in-other")
def table_12(values: Values) -> Violation:
    """Compare the accuracy on MMLU with that of its groups by the benchmark's own counts, for all roundings."""
    names, counts = ("human", "other", "social", "stem"), [int(number) for number in values["questions"]]
    assumes = assuming(
        Hypothesis("accuracy on MMLU", Fraction(values["MMLU"]), "=", Fraction(PRINTED.get(values["cell"], "0"))),
        Hypothesis("questions", sum(counts), "=", 14_042),
        Hypothesis("questions in human", counts[0], "=", 4705),
        Hypothesis("questions in social", counts[2], "=", 3077),
        Hypothesis("questions in other, anatomy among them", counts[1], "=", 3107 + 135),
    )
    shares = [Fraction(number, sum(counts)) for number in counts]
    whole, rounding = Fraction(0), half_unit(values["MMLU"])
    for name, share in zip(names, shares, strict=True):
        whole += share * Fraction(values[name])
        rounding += share * half_unit(values[name])
    return Violation(
        abs(whole - Fraction(values["MMLU"])),
        rounding,
        assumes=assumes,
        reads=f"for {values['cell']}, we compare the distance of the accuracy on MMLU from the mean of its groups, "
        f"{float(whole):.5g}, with what rounding allows",
    )
