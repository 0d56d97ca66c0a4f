"""Replays of the claims in ``outlier_map``."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/eq-32")
def eq_32(values: Values) -> Violation:
    r"""K = 1/g at $z = \theta + n^2/\theta$: the root of $z^2 - 4n^2 = (\theta - n^2/\theta)^2$ is taken by hand."""
    theta, noise = fractions(values, "theta", "noise")
    unmet = "" if theta != 0 and noise > 0 and abs(theta) != noise else "theta non-zero, z outside the support"
    z = theta + noise**2 / theta
    square = z**2 - 4 * noise**2
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 != square:
        unmet = "the square root is not rational"
    g = (z - (root if z > 0 else -root)) / (2 * noise**2)
    return Violation(abs(1 / g - theta), Fraction(0), unmet=unmet, reads="|k(k^{-1}(theta)) - theta|")
