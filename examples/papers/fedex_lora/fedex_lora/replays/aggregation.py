"""Section 3: eq. (7) as printed, and the proof of the rank."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Violation, proof, replay, require
from paper_checks.stored_values import Values


@replay("fedex-lora/eq-7")
def eq_7(values: Values) -> Violation:
    """An entry of a client's weights by eq. (7), against the ideal aggregation."""
    frozen, ideal, own = (Fraction(values[name]) for name in ("W", "P", "own"))
    ends = frozen + own, frozen + ideal
    return Violation(max(ends), min(ends), reads="the weights by eq. (7) and the ideal ones, the larger first")


@proof("fedex-lora/sec-3-rank")
def sec_3_rank(cap: str = "k r") -> str:
    r"""The residual is $\frac1k\sum_i(B_i - B_k)(A_i - \bar A)$, because $\sum_i(A_i - \bar A) = 0$.

    The term of client k vanishes. So the residual is a sum of k - 1 products of rank at most r, and its rank is at most
    (k - 1)r, which is less than kr.
    """
    products, sum_B, sum_A, last = sympy.symbols("products sum_B sum_A last", commutative=False)
    k, r = sympy.symbols("k r", positive=True, integer=True)
    mean = sum_A / k
    terms = products - sum_B * mean - last * (sum_A - k * mean)
    require(sympy.expand(terms / k - (products / k - (sum_B / k) * mean)) == 0, "the sum is the residual")
    room = {"k r": k * r, "(k - 1) r": (k - 1) * r, "(k - 1) r - 1": (k - 1) * r - 1}[cap] - (k - 1) * r
    require(sympy.expand(room).is_nonnegative is True, "the cap is at least (k - 1) r")
    return "the residual is a sum of k - 1 products of rank at most r"
