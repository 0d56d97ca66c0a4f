r"""What one round of local steps does to the mean loss, proved for all clients, steps and learning rates.

Let every client step along $-(p_c + D_c(e))$ from $e = 0$, with $\frac1C\sum_cp_c = g$, the mean gradient,
$|p_c| \le \rho|g|$ in root mean square, and $|D_c(e)| \le L|e|$. With $x = s\lambda L \le 1$ and
$R = (1 - \frac1s)\rho$ the mean loss changes by at most $-s\lambda(1 - \frac{1 + R}2x)|g|^2$.

Proof. $|e_k| \le ((1+\lambda L)^k - 1)|p_c|/L$ by induction, so that the mean step is $-s\lambda(g + u)$ with
$|u| \le \rho|g|\,(((1+\frac xs)^s - 1)/x - 1) \le R\beta|g|$, $\beta = (e^x - 1 - x)/x$: the j-th coefficient of
$(1+\frac xs)^s$ is $\frac1{j!}\prod_{i<j}(1 - \frac is) \le (1 - \frac1s)/j!$ for $j \ge 2$. By smoothness of the mean
the change over $s\lambda$ is at most $-\langle g, g+u\rangle + \frac x2|g+u|^2$, in which $\langle g, u\rangle$ has the
factor $-(1-x) \le 0$: at most $|g|^2(-1 + \frac x2 + (1-x)R\beta + \frac x2R^2\beta^2)$. What is left to see is
$(1-x)\beta + \frac x2R\beta^2 \le \frac x2$.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import sympy


def flaw_of_bracket(largest: Fraction, limit: Fraction) -> str:
    """Why the last inequality is not proved for all R up to ``largest`` and x up to ``limit``; empty if it is.

    beta is below its first two terms plus a geometric series of the rest; that leaves polynomials in A, x = limit /
    (1 + A), whose coefficients must have one sign.
    """
    A = sympy.Symbol("A", positive=True)
    x = sympy.Rational(limit.numerator, limit.denominator) / (1 + A)
    R = sympy.Rational(largest.numerator, largest.denominator)
    if not 0 < limit <= 1 or largest <= 0:
        return "the argument needs 0 < x <= 1 and R > 0"
    beta = x / 2 + x**2 / 6 + x**3 / (24 * (1 - x / 5))
    room = x / 2 - (1 - x) * beta - x / 2 * R * beta**2
    signs = set()
    for part in sympy.fraction(sympy.together(room)):
        signs |= {sympy.sign(c) for c in sympy.Poly(part, A).coeffs()}
    return "" if signs in ({1}, {-1}) else f"not proved for all x <= {limit} and R <= {largest}"


def flaw_of_series(steps: int, terms: int = 12) -> str:
    """Whether the coefficients of (1 + x/s)^s are as the proof has them, at one number of steps."""
    for j in range(2, min(steps, terms) + 1):
        coefficient = Fraction(comb(steps, j), steps**j)
        if coefficient > (1 - Fraction(1, steps)) / factorial(j):
            return f"coefficient {j} at {steps} steps"
    return "" if steps >= 1 else "no steps"
