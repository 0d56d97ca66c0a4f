"""Replays of the claims in ``bound_by_size``."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.monotonicity import two_sizes
from paper_checks.replay import Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, expression, fractions


@replay("fedloru-v2/thm-3.2-mono", s_larger="s at the larger sample size")
def infinite_bounds(values: Values) -> Violation:
    r"""The reciprocal of the right side of (4) at both sample sizes, with $1/B_N = 0$ by eq. (29).

    The right side is at least $B_N$ times what one index adds, $4(m^2 - n^2)(\theta_0^2 - m^2n^2/\theta_0^2)$ over a
    square with $m = \sigma s_M$, $n = \sigma s_N$: positive at either size, so that both right sides are infinite.
    """
    theta_0, sigma, s_M, s_larger, s_N = fractions(values, "theta_0", "sigma", "s_M", "s_larger", "s_N")
    assumes = assuming(*two_sizes(sigma, theta_0, s_M, s_larger, s_N))
    return Violation(
        Fraction(0),
        Fraction(0),
        assumes=assumes,
        strict=True,
        reads="B_N infinite: 1/(right side of (4)) at M against that at a larger sample size, which should be greater",
    )


@proof("fedloru-v2/thm-3.2-mono@a-finite-count")
def thm_3_2_mono(certificate: Values) -> str:
    r"""The right side of eq. (4) grows with $m = \sigma s_M$, which falls as M grows; $n = \sigma s_N$ stays.

    The count $B_N$ is finite, at least 1, and that of the server, the same for every M. Let $t = |\theta_0| \ge m >
    n$, $g_M = (t^2 + m^2)/t$, and W the sum of the weights $w_j = |\theta_0/\theta_j - \theta_j/\theta_0|$. By eq.
    (43) the right side is $8nWh/g_N^2$ with $h = m(m^2 - n^2)/g_M^2$, plus $4B_N$ times $m^2/g_M^2 - n^2/g_N^2$.
    The derivative of $m/g_M$ by m has the sign of $t^2 - m^2 \ge 0$, and that of h the sign of $3m^2t^2 - m^4 -
    n^2t^2 + 3m^2n^2 = m^2(t^2 - m^2) + t^2(m^2 - n^2) + m^2t^2 + 3m^2n^2 > 0$.

    The certificate holds the derivative, times $g_M^3g_N^2 > 0$ of t, as a sum of products of positive quantities for
    $m = n + a$ and $t = m + b$, $n, a, b > 0$, two weights and B indices at the edge.
    """
    n, a, b, w1, w2, B = sympy.symbols("n a b w1 w2 B", positive=True)
    m, t = sympy.symbols("m t", positive=True)
    names = {"n": n, "a": a, "b": b, "w1": w1, "w2": w2, "B": B, "m": n + a, "t": n + a + b}
    terms = [expression(term, names) for term in certificate["terms"]]
    g_M, g_N = t + m**2 / t, t + n**2 / t
    bracket = 8 * m * n * (w1 + w2) + 4 * B * (t**2 - m**2 * n**2 / t**2)
    right_side = (m**2 - n**2) / (g_M**2 * g_N**2) * bracket
    scaled = sympy.cancel(sympy.diff(right_side, m) * g_M**3 * g_N**2)
    difference = sympy.together(scaled.subs({m: names["m"], t: names["t"]}, simultaneous=True) - sum(terms))
    require(all(term.is_positive and term.free_symbols <= {n, a, b, w1, w2, B} for term in terms), "positive terms")
    require(sympy.expand(sympy.fraction(difference)[0]) == 0, "the sum of the terms")
    return (
        f"{len(terms)} positive terms add up to the scaled derivative; m = sigma s_M = n + a, n = sigma s_N, t = "
        "|theta_0| = m + b, w_j = |theta_0/theta_j - theta_j/theta_0|, B = B_N"
    )
