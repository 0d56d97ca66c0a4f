r"""Proofs of the expectations of Appendix A.4.1 for any number N of clients, m samples and cosine $\alpha$.

Client i has the independent standard normal vectors $z_i = X_ia$ and $w_i$ with $X_ia^* = \alpha z_i + \beta w_i$,
$\beta^2 = 1 - \alpha^2$. With $h_i = \|z_i\|$ the variable $g_i = z_i^\top w_i/h_i$ is standard normal and independent
of $z_i$, and $s_i = \alpha + \beta g_i/h_i$. So everything is a polynomial in $g_i$, $h_i$ and $1/h_i$ with $Eg_i =
0$, $Eg_i^2 = 1$, $Eh_i^2 = m$ and, for $m \ge 3$, $Eh_i^{-2} = \frac1{m-2}$. Different clients are independent: of the
others there are $N - 1$ squares and $(N - 1)(N - 2)$ products.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.replay import proof, require
from paper_checks.rolora.replays.freezing_proofs import N, expected_loss, m

g, h, alpha, beta, y = sympy.symbols("g h alpha beta y", positive=True)
SCALE = alpha + beta * g / h
PRODUCT = alpha * h**2 + beta * h * g
"""$s_i$ and $(X_ia)^\\top(X_ia^*)$."""
MOMENTS = "moments of independent normal and chi-square variables, for any N and m"
"""Steps of the proofs, for the page and the replay."""


def mean(expression: Any) -> Any:
    """The expectation over one client, with 1 - alpha^2 for beta^2."""
    total = sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(expression)):
        factor, powers = term.as_independent(g, h)[0], term.as_powers_dict()
        of_g, of_h = powers.get(g, 0), powers.get(h, 0)
        if of_g % 2 == 0:  # odd powers of g have the mean 0
            total += factor * {0: 1, 2: 1}[int(of_g)] * {-2: 1 / (m - 2), 0: 1, 2: m}[int(of_h)]
    return sympy.simplify(total.subs(beta**2, 1 - alpha**2)) if total else total


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


def vanishes(gap: Any) -> bool:
    """Whether a difference is identically 0."""
    return bool(sympy.simplify(gap) == 0)


def first_square(weight: Fraction, noise: Fraction) -> Any:
    """The stated numerator of (204) and (229)."""
    return weight * alpha**2 * m + noise * (1 - alpha**2)


@proof("rolora/eq-189")
def eq_189(noise: Fraction = Fraction(1), weight: Fraction = Fraction(1), power: int = 2) -> str:
    r"""$u_1^\top u_1 = s_1^2h_1^2/N^2$, and $r_2^2/r_1 = g_1^2$.

    With $x_{1,1} = z_1$ and $x_{1,2} = w_1$, $r_1 = h_1^2$ and $r_2 = h_1g_1$; $s_1h_1 = \alpha h_1 + \beta g_1$. And
    $E(\alpha h_1 + \beta g_1)^2 = \alpha^2Eh_1^2 + 2\alpha\beta Eh_1Eg_1 + \beta^2Eg_1^2 = \alpha^2m + 1 - \alpha^2$,
    for any m.
    """
    chi_square_means()
    require(vanishes(mean(g**2) - noise), "the noise")
    require(vanishes(mean(SCALE**2 * h**2) / N**2 - first_square(weight, noise) / N**power), "line 204")
    return MOMENTS


@proof("rolora/eq-227")
def eq_227(noise: Fraction = Fraction(1), weight: Fraction = Fraction(1), power: int = 1) -> str:
    r"""$v^\top u_1 = \frac{s_1}N(X_1a)^\top(X_1a^*)$ with $(X_1a)^\top(X_1a^*) = s_1h_1^2$.

    So it is N times $u_1^\top u_1 = s_1^2h_1^2/N^2$: the mean of $(\alpha h_1 + \beta g_1)^2/N$, by (204).
    """
    chi_square_means()
    require(vanishes(mean(SCALE * PRODUCT) / N - first_square(weight, noise) / N**power), "line 229")
    return MOMENTS


@proof("rolora/eq-230")
def eq_230(others: Fraction = Fraction(1), factor: Fraction = Fraction(1), power: int = 2, fewest: int = 2) -> str:
    r"""For $m \ge 2$: $z_2$ is independent of the first client, $E[v^\top u_2] = Ez_2 \cdot E[(X_1a)^\top(X_1a^*)]$.

    $E|s_i|$ is finite, as $Eh^{-1}$ is; so $Es_i = \alpha + \beta EgEh^{-1} = \alpha$ and $Ez_2 = \frac{N-1}N\alpha$.
    And $E[(X_1a)^\top(X_1a^*)] = E[\alpha h_1^2 + \beta h_1g_1] = \alpha m$.
    """
    moment_is_finite_from(fewest, 1)
    chi_square_means()
    whole = (N - 1) / N * mean(SCALE) * mean(PRODUCT)
    require(vanishes(whole - factor * m * (N - others) * alpha**power / N), "line 236")
    return MOMENTS


@proof("rolora/eq-237")
def eq_237(others: Fraction = Fraction(1), power: int = 2, clients_power: int = 2, fewest: int = 2) -> str:
    r"""For $m \ge 2$: $u_1^\top u_2 = z_2\frac{s_1}Nh_1^2$, $s_1h_1^2 = (X_1a)^\top(X_1a^*)$, and independence again.

    $E|s_i|$ is finite, as $Eh^{-1}$ is; so $Ez_2 = \frac{N-1}N\alpha$, and $E[(X_1a)^\top(X_1a^*)] = \alpha m$, both
    as for (236): the mean is $\frac{N-1}N\alpha \cdot \frac{\alpha m}N$.
    """
    moment_is_finite_from(fewest, 1)
    chi_square_means()
    require(sympy.expand(SCALE * h**2 - PRODUCT) == 0, "the product")
    whole = (N - 1) / N * mean(SCALE) * mean(SCALE * h**2) / N
    require(vanishes(whole - (N - others) * m * alpha**power / N**clients_power), "line 240")
    return MOMENTS


@proof("rolora/eq-207")
def eq_207(lower: int = 2, double: Fraction = Fraction(1)) -> str:
    r"""$(s_2 + \ldots + s_N)^2$ has the $N - 1$ squares and each product $s_is_j$ of two different ones of them.

    These are $(N - 1)(N - 2)$, of mean $\alpha^2$ each; with both indices from 1 there would be $N(N - 1)$. For $m \ge
    3$ all means are finite.
    """
    chi_square_means()
    number = N + 1 - lower
    whole = (N - 1) * mean(SCALE**2) + (N - 1) * (N - 2) * mean(SCALE) ** 2
    stated = (N - 1) * mean(SCALE**2) + double * number * (number - 1) * mean(SCALE) ** 2
    require(vanishes(whole - stated), "line 208")
    return MOMENTS


@proof("rolora/eq-205")
def eq_205(two: Fraction = Fraction(2), others: Fraction = Fraction(1), fewest: int = 3) -> str:
    r"""For $m \ge 3$: $R = g/h$, and $Ez_2^2 = \frac1{N^2}((N-1)Es^2 + (N-1)(N-2)(Es)^2)$; $h_1$ is independent of it.

    $h^2$ has the density $y^{m/2-1}e^{-y/2}/(2^{m/2}\Gamma(\frac m2))$, so that $Eh^{-2} = \Gamma(\frac m2 -
    1)/(2\Gamma(\frac m2)) = \frac1{m-2} = ER^2$, and $ER = EgEh^{-1} = 0$. With $s = \alpha + \beta R$: $Es = \alpha$,
    $Es^2 = \alpha^2 + \frac{1-\alpha^2}{m-2}$, and $E[u_2^\top u_2] = Ez_2^2 \cdot Eh_1^2$ is $\frac m{N^2}$ times $(N
    - 1)(\alpha^2 + \frac{1-\alpha^2}{m-2}) + (N - 1)(N - 2)\alpha^2 = (N - 1)^2\alpha^2 + (N -
    1)\frac{1-\alpha^2}{m-2}$.

    Fewer samples. The law of h has a density in proportion to $h^{m-1}e^{-h^2/2}$, so that $Eh^{-2}$ is one of
    $\int h^{m-3}e^{-h^2/2} \,dh$, which is infinite for m of 1 and 2. Then $Es^2 = \alpha^2 + (1 - \alpha^2)ER^2$ is
    infinite unless $\alpha^2 = 1$. With m = 2 $E|R| = E|g|\,Eh^{-1}$ is finite and $Es = \alpha$; with m = 1 R is of
    Cauchy's law.
    """
    moment_is_finite_from(fewest, 2)
    chi_square_means()
    square = mean(SCALE**2)
    require(vanishes(mean(SCALE) - alpha), "line 222")
    require(vanishes(mean((g / h) ** 2) - 1 / (m - two)), "line 216")
    require(vanishes(square - alpha**2 - (1 - alpha**2) / (m - two)), "line 218")
    whole = m / N**2 * ((N - 1) * square + (N - 1) * (N - 2) * mean(SCALE) ** 2)
    rest = N - others
    stated = m / N**2 * (rest**2 * alpha**2 + rest * (1 - alpha**2) / (m - two))
    require(vanishes(whole - stated), "line 226")
    return MOMENTS


@proof("rolora/eq-241")
def eq_241(
    four: Fraction = Fraction(4), two: Fraction = Fraction(2), cross: Fraction = Fraction(2), power: int = 2
) -> str:
    r"""The six expectations, for $m \ge 3$, with $\beta^2 = 1 - \alpha^2$, add up to (242).

    $m + \frac{\alpha^2m + \beta^2}{N^2} + \frac m{N^2}[(N-1)^2\alpha^2 + (N-1)\frac{\beta^2}{m-2}] - 2\frac{\alpha^2m +
    \beta^2}N - 2\frac{m(N-1)\alpha^2}N + 2\frac{m(N-1)\alpha^2}{N^2}$. Of $\alpha^2m$ there are $\frac{(1 + N -
    1)^2}{N^2} - 2 = -1$, which makes $m(1 - \alpha^2) = m\beta^2$ with the first term. What is left is
    $\beta^2[\frac1{N^2} - \frac2N + \frac{m(N-1)}{N^2(m-2)}]$. Over m it is $\beta^2[1 + \frac{(1 - 2N)(m - 2) + m(N -
    1)}{N^2m(m-2)}]$, where the numerator is $N(4 - m) - 2$. The expectation of the whole, found without the six, is
    the same.
    """
    chi_square_means()
    one, product = mean(SCALE), mean(PRODUCT)
    others = (N - 1) / N * one
    second = ((N - 1) * mean(SCALE**2) + (N - 1) * (N - 2) * one**2) / N**2 * m
    six = (
        m
        + mean(SCALE**2 * h**2) / N**2
        + second
        - 2 * mean(SCALE * PRODUCT) / N
        - 2 * others * product
        + cross * others * product / N
    )
    stated = (1 - alpha**2) * (1 + (N * (four - m) - two) / (N**power * m * (m - 2)))
    require(vanishes(six / m - stated), "line 242")
    expected_loss(four, two)
    return MOMENTS
