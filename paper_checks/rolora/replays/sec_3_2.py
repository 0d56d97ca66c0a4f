"""Section 3.2: averages of factors against averages of products (eqs. (1) and (2))."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


@replay("rolora/eq-1")
def eq_1(values: Values) -> Violation:
    """Compare the mean of the products with the product of the means, for two clients with different A and one B."""
    As, Bs = ([Fraction(number) for number in values[name]] for name in ("A", "B"))
    N = len(As)
    assumes = assuming(Hypothesis("clients", N, ">=", 2), Hypothesis("clients with a B", len(Bs), "=", N))
    assumes += (Hypothesis("A_1 - A_2", As[0] - As[1], "!=", 0),)
    products = sum((A * B for A, B in zip(As, Bs, strict=True)), Fraction(0)) / N
    means = sum(As, Fraction(0)) * sum(Bs, Fraction(0)) / N**2
    return Violation(
        0,
        abs(products - means),
        assumes=assumes,
        given={"(1)": products, "(2)": means},
        strict=True,
        reads="with two clients whose A and B are numbers, we compare 0 with the distance between (1) and (2), which "
        "the paper prints as larger",
    )
