"""Replays of the claims in ``eigenvalues``."""

from __future__ import annotations

from paper_checks.fedloru.replays.edges import noise
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/prop-3.1")
def prop_3_1_as_printed(values: Values) -> Violation:
    """By eqs. (25) and (27) of the paper itself the limit is at most theta + U_N; the printed limit is larger."""
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    assumes = assuming(*noise(sigma, s), Hypothesis("theta", theta, "!=", 0))
    size, edge = abs(theta), 2 * sigma * s
    g = size + sigma**2 * s**2 / size
    printed = g if g > edge else edge
    return Violation(
        printed,
        size + edge,
        assumes=assumes,
        reads="printed limit of |lambda_1| against Weyl's bound |theta| + 2 sigma s for it",
    )


@replay("fedloru-v2/eq-5")
def eq_5_as_printed(values: Values) -> Violation:
    """A squared inner product cannot have a negative limit; the printed set contains this spike."""
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    edge, g = 2 * sigma * s, abs(theta) + sigma**2 * s**2 / abs(theta)
    return Violation(
        0,
        1 - sigma**2 * s**2 / theta**2,
        assumes=[*noise(sigma, s), Hypothesis("|g^{-1}(theta)|, against the edge", g, ">", edge)],
        reads="0 against the printed limit of a square",
    )


@replay("fedloru-v2/prop-3.1-bulk")
def prop_3_1_bulk_as_printed(values: Values) -> Violation:
    r"""The eigenvalue at a share of the spectrum tends to a quantile of the semicircle (Weyl; Wigner's law).

    With d = min(c, 1 - c) the semicircle has at most $\frac{2d}\pi\sqrt{2d} \le \frac{2d}3 < d$ of its mass within
    $2\sigma sd$ of an edge: its density there is at most $\sqrt{2d}/(\pi\sigma s)$. So the quantile is farther inside.
    """
    sigma, s, share = fractions(values, "sigma", "s", "share")
    assumes = assuming(*noise(sigma, s), Hypothesis("share", share, ">", 0), Hypothesis("share", share, "<", 1))
    return Violation(
        2 * sigma * s * min(share, 1 - share),
        0,
        assumes=assumes,
        reads=f"distance of lim lambda_i, i = {float(share):g} R, from {{L, U}}, from below",
    )
