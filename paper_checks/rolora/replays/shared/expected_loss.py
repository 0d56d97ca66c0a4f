r"""FFA-LoRA's expected loss, and RoLoRA's at a given angle, for normal samples independent of a.

Units: $\|b^*\| = 1$; $a^* = ca + \delta u$ with a unit vector u across a. Client i has the independent standard
normal vectors $z_i = X_ia$ and $w_i = X_iu$ of m entries, and its minimiser is $c + \delta T_i$ with $T_i = z_i^\top
w_i/\|z_i\|^2$. The loss of client 1 at the mean is $\delta^2\|w_1 - \bar Tz_1\|^2/m$, and $w_1 - T_1z_1$ is
orthogonal to $z_1$: $\|w_1 - \bar Tz_1\|^2 = \|w_1 - T_1z_1\|^2 + (T_1 - \bar T)^2\|z_1\|^2$. The first has the
expectation m - 1. $T_1\|z_1\|$ is standard normal and independent of $z_1$; the other $T_i$ are independent of client
1, with mean 0 and $ET_i^2 = E\chi_m^{-2} = \frac1{m-2}$ for $m \ge 3$. So the second has the expectation $(1 -
\frac1N)^2 + \frac{N-1}{N^2} \cdot\frac m{m-2}$.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import require

N, m, n, k = sympy.symbols("N m n k", positive=True)


def expected_loss(four: Fraction, two: Fraction) -> None:
    """Show that the expectation is the stated one."""
    y = sympy.Symbol("y", positive=True)
    density = y ** (m / 2 - 1) * sympy.exp(-y / 2) / (2 ** (m / 2) * sympy.gamma(m / 2))
    inverse = sympy.integrate((density / y).subs(m, k + 2), (y, 0, sympy.oo)).subs(k, m - 2)
    gap = sympy.simplify(sympy.gammasimp(inverse) - 1 / (m - 2))
    require(gap == 0, "the mean of an inverse chi-square variable")
    whole = (m - 1 + (1 - 1 / N) ** 2 + (N - 1) / N**2 * m / (m - 2)) / m
    stated = 1 + (N * (four - m) - two) / (N**2 * m * (m - 2))
    require(sympy.simplify(whole - stated) == 0, "the expected loss")
