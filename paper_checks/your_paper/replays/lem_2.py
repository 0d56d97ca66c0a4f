"""Lemma 2 (Section 2): the witness again in fractions, and the proof of the correction."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Violation, proof, replay, require
from paper_checks.stored_values import Values


@replay("your-paper/lem-2")
def lem_2(values: Values) -> Violation:
    """Both sides at the stored pair."""
    a, b = Fraction(values["a"]), Fraction(values["b"])
    return Violation((a + b) ** 2, a**2 + b**2, reads="(a + b)^2 against a^2 + b^2")


@proof("your-paper/lem-2")
def lem_2_corrected(K: Fraction = Fraction(2)) -> str:
    """$2(a^2 + b^2) - (a + b)^2 = (a - b)^2$, a square."""
    a, b = sympy.symbols("a b", real=True)
    difference = K * (a**2 + b**2) - (a + b) ** 2
    require(sympy.expand(difference - (a - b) ** 2) == 0, "the difference of the sides")
    return "the difference of the sides is the square of a - b"
