"""The product of averaged factors against the product that each client sent."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation
from paper_checks.stored_values import Values, fractions


def product_of_averages(values: Values) -> Violation:
    """Return how far the product of two averages is from the product that every client of the cohort sent."""
    shares = [Fraction(text) for text in values["shares"].split()]
    cohort = {int(text) for text in values["cohort"].split()}
    A, B = fractions(values, "A", "B")
    total = sum((shares[k] for k in cohort if k < len(shares)), Fraction(0))
    assumes = (
        Hypothesis("sum of the shares", sum(shares), "=", 1),
        Hypothesis("least share", min(shares), ">", 0),
        Hypothesis("first client of the cohort", min(cohort), ">=", 0),
        Hypothesis("last client of the cohort", max(cohort), "<", len(shares)),
    )
    return Violation(
        abs(total * A * total * B - A * B),
        0,
        assumes=assumes,
        reads="clients are numbered from 0, and each client of the cohort sends A and B. We form the sums with the "
        "printed weights and compute the distance of their product from A B",
    )
