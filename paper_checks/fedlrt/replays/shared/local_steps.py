r"""Effect of one round of local steps on the mean loss, proved for all clients, steps and learning rates.

Let every client step along $-(p_c + D_c(e))$ from $e = 0$, with $\frac1C\sum_cp_c = g$, the mean gradient,
$|p_c| \le \rho|g|$ in root mean square, and $|D_c(e)| \le L|e|$. With $x = s\lambda L \le 1$ and
$R = (1 - \frac1s)\rho$ the mean loss changes by at most $-s\lambda(1 - \frac{1 + R}2x)|g|^2$.

Proof. $|e_k| \le ((1+\lambda L)^k - 1)|p_c|/L$ by induction, so the mean step is $-s\lambda(g + u)$ with
$|u| \le \rho|g|\,(((1+\frac xs)^s - 1)/x - 1) \le R\beta|g|$, $\beta = (e^x - 1 - x)/x$: the j-th coefficient of
$(1+\frac xs)^s$ is $\frac1{j!}\prod_{i<j}(1 - \frac is) \le (1 - \frac1s)/j!$ for $j \ge 2$. By smoothness of the mean
the change over $s\lambda$ is at most $-\langle g, g+u\rangle + \frac x2|g+u|^2$, in which $\langle g, u\rangle$ has the
factor $-(1-x) \le 0$: at most $|g|^2(-1 + \frac x2 + (1-x)R\beta + \frac x2R^2\beta^2)$. It remains to prove
$(1-x)\beta + \frac x2R\beta^2 \le \frac x2$.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import sympy

from paper_checks.replay import require


def local_steps_descend(largest: Fraction, limit: Fraction) -> None:
    r"""The last inequality, for all R up to `largest` and x up to `limit`.

    $\beta \le \frac x2 + \frac{x^2}6 + \frac{x^3}{24}\cdot\frac1{1 - x/5}$, because the terms of its series fall by a
    factor of at most $\frac x5$ from the third on. The larger R, the harder the inequality, so the largest
    decides. With x = limit/(1 + A) for $A \ge 0$ the difference of the sides is then a quotient of polynomials in A,
    and it is positive as all of their coefficients have one sign.
    """
    require(0 < limit <= 1 and largest > 0, "the argument needs 0 < x <= 1 and R > 0")
    A = sympy.Symbol("A", positive=True)
    x = limit / (1 + A)
    beta = x / 2 + x**2 / 6 + x**3 / (24 * (1 - x / 5))
    room = x / 2 - (1 - x) * beta - x / 2 * largest * beta**2
    signs = set()
    for part in sympy.fraction(sympy.together(room)):
        signs |= {sympy.sign(c) for c in sympy.Poly(part, A).coeffs()}
    require(signs in ({1}, {-1}), f"not proved for all x <= {limit} and R <= {largest}")


def coefficients_of_the_power(steps: int, terms: int = 12) -> None:
    r"""The j-th coefficient of $(1 + \frac xs)^s$ is at most $(1 - \frac1s)/j!$ for $j \ge 2$.

    The program compares the first ones for some numbers s of steps.
    """
    require(steps >= 1, "no steps")
    for j in range(2, min(steps, terms) + 1):
        coefficient = Fraction(comb(steps, j), steps**j)
        require(coefficient <= (1 - Fraction(1, steps)) / factorial(j), f"coefficient {j} at {steps} steps")
