"""Table 1 and what the text says about it: costs counted while the algorithms run, as polynomials in the sizes."""

from __future__ import annotations

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("fedlrt/table-1")
def table_1(values: Values) -> Violation:
    """Compare the messages of Algorithm 1 with var_cor, line by line, with O(6nr + 10r^2) with its constants."""
    n, r = int(values["n"]), int(values["r"])
    basis, small, wide = n * r, r * r, (2 * r) ** 2  # entries of U or V, of S, of the coefficients in both bases
    lines = {2: [basis, basis, small], 4: [basis, basis], 6: [basis, basis], 11: [wide], 12: [wide], 16: [wide]}
    sent = sum(sum(entries) for entries in lines.values())
    return Violation(
        sent,
        6 * n * r + 10 * r * r,
        assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("2r", 2 * r, "<=", n)],
        reads="for FeDLRT with full correction, we compare the number of entries that a client sends and receives in "
        "a round with 6nr + 10r^2",
    )
