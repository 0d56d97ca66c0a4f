"""Section 2.2: the quotient of two numbers of parameters."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("fedpara/fewer")
def fewer(values: Values) -> Violation:
    """The distance of the printed quotient from the exact one, against half a unit of its last digit."""
    many, few, times = int(values["many"]), int(values["few"]), Fraction(values["times"])
    assumes = (Hypothesis("the smaller number", few, ">", 0), Hypothesis("the larger number", many, ">", few))
    reads = "distance of the quotient from the printed one against half a unit of the printed one"
    return Violation(abs(Fraction(many, few) - times), Fraction(1, 20), assumes=assumes, reads=reads)
