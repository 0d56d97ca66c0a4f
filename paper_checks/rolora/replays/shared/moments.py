r"""Expectations of Appendix A.4.1 for any number N of clients, m samples and cosine $\alpha$.

Client i has the independent standard normal vectors $z_i = X_ia$ and $w_i$ with $X_ia^* = \alpha z_i + \beta w_i$,
$\beta^2 = 1 - \alpha^2$. With $h_i = \|z_i\|$ the variable $g_i = z_i^\top w_i/h_i$ is standard normal and independent
of $z_i$, and $s_i = \alpha + \beta g_i/h_i$. So everything is a polynomial in $g_i$, $h_i$ and $1/h_i$ with $Eg_i =
0$, $Eg_i^2 = 1$, $Eh_i^2 = m$ and, for $m \ge 3$, $Eh_i^{-2} = \frac1{m-2}$. Different clients are independent: of the
others there are $N - 1$ squares and $(N - 1)(N - 2)$ products.
"""

from __future__ import annotations

from typing import Any

import sympy

from paper_checks.replay import require
from paper_checks.rolora.replays.shared.expected_loss import m

g, h, alpha, beta, y = sympy.symbols("g h alpha beta y", positive=True)

SCALE = alpha + beta * g / h

PRODUCT = alpha * h**2 + beta * h * g
"""$s_i$ and $(X_ia)^\\top(X_ia^*)$."""

MOMENTS = "we use moments of independent normal and chi-square variables, for any N and m"
"""Steps of the proofs, for the page and the replay."""


def mean(expression: Any) -> Any:
    """Return the expectation over one client, with 1 - alpha^2 for beta^2."""
    total = sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(expression)):
        factor, powers = term.as_independent(g, h)[0], term.as_powers_dict()
        of_g, of_h = powers.get(g, 0), powers.get(h, 0)
        if of_g % 2 == 0:  # odd powers of g have the mean 0
            total += factor * {0: 1, 2: 1}[int(of_g)] * {-2: 1 / (m - 2), 0: 1, 2: m}[int(of_h)]
    return sympy.simplify(total.subs(beta**2, 1 - alpha**2)) if total else total


def vanishes(gap: Any) -> bool:
    """Return whether a difference is identically 0."""
    return bool(sympy.simplify(gap) == 0)


def chi_square_means() -> None:
    """Show that a chi-square variable has the mean m and its inverse the mean 1/(m - 2)."""
    k = sympy.Symbol("k", positive=True)
    density = y ** (m / 2 - 1) * sympy.exp(-y / 2) / (2 ** (m / 2) * sympy.gamma(m / 2))
    first = sympy.integrate(density * y, (y, 0, sympy.oo))
    inverse = sympy.integrate((density / y).subs(m, k + 2), (y, 0, sympy.oo)).subs(k, m - 2)
    means = sympy.gammasimp(first) - m, sympy.gammasimp(inverse) - 1 / (m - 2)
    require(all(map(vanishes, means)), "the means of a chi-square variable")


def moment_is_finite_from(fewest: int, power: int) -> None:
    r"""$E\chi_m^{-p}$ is finite from ``fewest`` samples on and infinite with fewer.

    Near 0 the density of $\chi_m^2$ is of the order $y^{m/2 - 1}$; $\int_0^1y^{m/2 - 1 - p/2}dy$ is finite for m > p.
    """
    near = [sympy.integrate(y ** sympy.Rational(k - 2 - power, 2), (y, 0, 1)) for k in (fewest - 1, fewest)]
    require(near[0] == sympy.oo > near[1], "the number of samples")
