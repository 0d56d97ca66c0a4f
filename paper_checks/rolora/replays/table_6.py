"""Table 6 (Appendix B.2.1): Table 1 with FlexLoRA."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.rolora.replays.table_1 import half_unit
from paper_checks.stored_values import Values


@replay("rolora/table-6")
def table_6(values: Values) -> Violation:
    """Compare difference of the two printings of one value, with their roundings."""
    one, two = values["Table 1"], values["Table 6"]
    return Violation(
        abs(Fraction(one) - Fraction(two)),
        half_unit(one) + half_unit(two),
        reads="for LoRA with rank 4 and 20 clients, we compare the difference of the two printed deviations for QNLI "
        "with what rounding allows",
    )
