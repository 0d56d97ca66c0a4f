"""Eq. (14) of v1: low-rank updates of unequal ranks."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions


@proof("fedloru-v1/eq-14@updates-of-a-and-b")
def eq_14(cross: Fraction = Fraction(1), cross_power: int = 1, rank_shift: int = 0) -> str:
    r"""The product multiplied out, in matrices that do not commute; what has an inner size of r has at most rank r.

    $A + \alpha_AA_dA_u$ has r columns and $B + \alpha_BB_dB_u$ has r rows, for all $r_A$ and $r_B$. For m = n = r
    and $A = B = I$, $A_d = B_d = 0$ the rank is r.
    """
    A, A_d, A_u, B, B_d, B_u = sympy.symbols("A A_d A_u B B_d B_u", commutative=False)
    one, two = sympy.symbols("alpha_A alpha_B")
    both = cross * (one * two) ** cross_power
    updated = (A + one * A_d * A_u) * (B + two * B_d * B_u)
    added = one * A_d * A_u * B + two * A * B_d * B_u + both * A_d * A_u * B_d * B_u
    require(sympy.expand(updated - A * B - added) == 0, "the product")
    require(sympy.eye(2).rank() == 2 + rank_shift, "the rank")
    return "we multiply out the product of noncommuting matrices; its inner size is r"


@replay("fedloru-v1/eq-14")
def eq_14_as_printed(values: Values) -> Violation:
    """Evaluate the determinant of a 2 x 2 matrix A, which for a product of inner size 1 is 0."""
    a, b, c, d = fractions(values, "A11", "A12", "A21", "A22")
    return Violation(
        abs(a * d - b * c),
        0,
        reads="A is 2 x 2, r = 2 and r_A = 1. We compute the absolute value of the determinant of A, which would be 0 "
        "for every product of a 2 x 1 and a 1 x 2 matrix",
    )
