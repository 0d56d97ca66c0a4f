"""Replays of the claims in ``risk_and_hessians``: perturbations of a matrix with three different eigenvalues."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values

FINE = 10**12
DIAGONALS = {"copies": "multiplicity of a", "kernel": "multiplicity of 0"}


def _root_above(square: Fraction) -> Fraction:
    """A fraction just above the square root."""
    return Fraction(isqrt(square.numerator * FINE**2 // square.denominator) + 1, FINE)


def _change(values: Values, norm: str) -> Violation:
    """A = diag(1, a, ..., 0, ...) and E = diag(x, y, ..., z, ...): by how much the stable rank changes."""
    a, m, k, x, y, z = (Fraction(values[name]) for name in ("a", "copies", "kernel", "x", "y", "z"))
    before, after = 1 + m * a**2, ((1 + x) ** 2, (a + y) ** 2, z**2)
    ratio = (after[0] + m * after[1] + k * after[2]) / max(after) / before
    sizes = {"spectral": max(abs(x), abs(y), abs(z)), "Frobenius": _root_above((x**2 + m * y**2 + k * z**2) / before)}
    size = sizes[norm]
    assumes = assuming(
        Hypothesis("a, the second eigenvalue", a, ">", 0),
        Hypothesis("a, against the largest eigenvalue", a, "<=", 1),
        Hypothesis("eigenvalues a", m, ">=", 1),
        Hypothesis("eigenvalues 0", k, ">=", 1),
        Hypothesis(f"relative {norm} size of E", size, "<", 1),
    )
    factor = max(ratio, 1 / ratio)
    return Violation(
        factor,
        ((1 + size) / (1 - size)) ** 2,
        assumes=assumes,
        reads="A = diag(1, a, ..., a, 0, ..., 0), E = diag(x, y, ..., y, z, ..., z): factor by which the stable rank "
        f"changes, up or down, against ((1 + e)/(1 - e))^2, e the relative {norm} size of E",
    )


@replay("fedloru-v2/claim-srank-robust@small-in-the-spectral-norm", **DIAGONALS)
def in_the_spectral_norm(values: Values) -> Violation:
    """Many small eigenvalues add up."""
    return _change(values, "spectral")


@replay("fedloru-v2/claim-srank-robust@small-in-the-frobenius-norm", **DIAGONALS)
def in_the_frobenius_norm(values: Values) -> Violation:
    """The largest of many eigenvalues can change while all of them together hardly do."""
    return _change(values, "Frobenius")
