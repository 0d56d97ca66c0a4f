"""Replays of the claims in ``eigenvalues``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/prop-3.1")
def prop_3_1(values: Values) -> Violation:
    """By eqs. (25) and (27) of the paper itself the limit is at most theta + U_N; the printed limit is larger."""
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    unmet = "" if 0 < s < 1 and sigma > 0 and theta != 0 else "s in (0, 1), sigma > 0, theta non-zero"
    size, edge = abs(theta), 2 * sigma * s
    g = size + sigma**2 * s**2 / size
    printed = g if g > edge else edge
    return Violation(
        printed, size + edge, unmet=unmet,
        reads="printed limit of |lambda_1| against Weyl's bound |theta| + 2 sigma s for it",
    )  # fmt: skip


@replay("fedloru-v2/eq-5")
def eq_5(values: Values) -> Violation:
    """A squared inner product cannot have a negative limit; the printed set contains this spike."""
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    edge, g = 2 * sigma * s, abs(theta) + sigma**2 * s**2 / abs(theta)
    unmet = "" if g > edge and 0 < s < 1 else "g^{-1}(theta) beyond the edge, s in (0, 1)"
    return Violation(
        Fraction(0), 1 - sigma**2 * s**2 / theta**2, unmet=unmet, reads="0 against the printed limit of a square"
    )


@replay("fedloru-v2/prop-3.1-bulk")
def prop_3_1_bulk(values: Values) -> Violation:
    """The same share of the spectrum of dense Gaussian Hessians, as a distance from either edge."""
    sigma, s, share = float(values["sigma"]), float(values["s"]), float(values["share"])
    R, draws, rng = 200, 60, np.random.default_rng(20_090)
    inside = []
    for _ in range(draws):
        upper = np.triu(rng.normal(0.0, sigma / np.sqrt(R), (R, R)))
        hessian = s * (upper + np.triu(upper, 1).T)
        hessian[0, 0] += 2.0 * sigma * s
        inside.append(np.linalg.eigvalsh(hessian)[R - round(share * R)])
    edge, mean = 2.0 * sigma * s, float(np.mean(inside))
    error = 7.0 * float(np.std(inside, ddof=1)) / np.sqrt(draws) + edge * R ** (-2.0 / 3.0)
    unmet = "" if 0 < share < 1 else "a share of the spectrum between 0 and 1"
    return Violation(edge - abs(mean), 0.0, error, exact=False, unmet=unmet,
                     reads=f"distance of the mean lambda_i, i = {share:g} R, from the nearer edge")  # fmt: skip
