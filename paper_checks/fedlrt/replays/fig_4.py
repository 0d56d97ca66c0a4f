"""Figure 4: the ranks of FeDLRT in the homogeneous test, with polynomials of value 1 at 1."""

from __future__ import annotations

from paper_checks.fedlrt.replays.shared.median_ranks import median_rank
from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


@replay("fedlrt/fig-4@value-1-at-1-with-a-start-of-size-0-01")
def fig_4(values: Values) -> Violation:
    """Run FeDLRT from small starts with polynomials of value 1 at 1."""
    return median_rank(values)
