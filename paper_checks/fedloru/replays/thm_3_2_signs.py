"""Appendix A.4, proof of Theorem 3.2: signs of the summands (eqs. (39) to (44))."""

from __future__ import annotations

import sympy

from paper_checks.replay import Violation, proof, replay, require
from paper_checks.stored_values import Values, expression, fractions


@proof("fedloru-v2/eq-40")
def eq_40(certificate: Values) -> str:
    r"""A sum of non-negative terms.

    Both sides of eq. (40) carry $\sigma^2(s_M^2 - s_N^2)|\theta_0/\theta_j - \theta_j/\theta_0|/(g_M^2g_N^2) \ge 0$;
    what is left is $g_M(\theta_j)g_N(\theta_0) + g_N(\theta_j)g_M(\theta_0) \ge 8\sigma^2s_Ms_N$ for positive spikes
    (g is odd, so signs drop out). It holds since $a + b^2/a \ge 2b$: $g_M \ge 2\sigma s_M$ and $g_N \ge 2\sigma s_N$ at
    every spike, so each product is at least $4\sigma^2s_Ms_N$. The certificate writes the difference as a sum of
    terms that are products of positive quantities and squares.
    """
    t0, tj, m, n = sympy.symbols("t0 tj m n", positive=True)  # |theta_0|, |theta_j|, sigma s_M, sigma s_N
    names = {"t0": t0, "tj": tj, "m": m, "n": n}

    def g(theta: sympy.Symbol, noise: sympy.Symbol) -> sympy.Expr:
        return theta + noise**2 / theta

    terms = [expression(term, names) for term in certificate["terms"]]
    left = g(tj, m) * g(t0, n) + g(tj, n) * g(t0, m) - 8 * m * n
    require(all(term.is_nonnegative for term in terms), "no term is negative")
    require(sympy.simplify(left - sum(terms)) == 0, "the sum of the terms")
    return f"{len(terms)} non-negative terms add up to the difference of the sides"


@replay("fedloru-v2/eq-44")
def eq_44(values: Values) -> Violation:
    """Evaluate lines 2 and 3 at the witness, in fractions."""
    theta, sigma, s = fractions(values, "theta_0", "sigma", "s_M")
    U, g = 2 * sigma * s, theta + sigma**2 * s**2 / theta
    slope_g = 2 * sigma**2 * s / theta
    line_2 = (2 * U * 2 * sigma * g**2 - 2 * g * slope_g * U**2) / g**4
    line_3 = (4 * sigma * U * g - 4 * sigma**2 * s * U**2 * g / theta) / g**4
    return Violation(abs(line_2 - line_3), 0, reads="we compute |line 2 - line 3|")
