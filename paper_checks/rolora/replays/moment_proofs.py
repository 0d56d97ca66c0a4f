r"""Proofs of the expectations of Appendix A.4.1 for any number N of clients, m samples and cosine $\alpha$.

Client i has the independent standard normal vectors $z_i = X_ia$ and $w_i$ with $X_ia^* = \alpha z_i + \beta w_i$,
$\beta^2 = 1 - \alpha^2$. With $h_i = \|z_i\|$ the variable $g_i = z_i^\top w_i/h_i$ is standard normal and independent
of $z_i$, and $s_i = \alpha + \beta g_i/h_i$. So everything is a polynomial in $g_i$, $h_i$ and $1/h_i$ with $Eg_i =
0$, $Eg_i^2 = 1$, $Eh_i^2 = m$ and, for $m \ge 3$, $Eh_i^{-2} = \frac1{m-2}$. Different clients are independent: of the
others there are $N - 1$ squares and $(N - 1)(N - 2)$ products.
"""

from __future__ import annotations

from typing import Any

import sympy

from paper_checks.proof_steps import first_flaw, rational
from paper_checks.replay import Proof, proof
from paper_checks.rolora.replays.freezing_proofs import N, flaw_of_loss, m
from paper_checks.stored_values import Values

g, h, alpha, beta, y = sympy.symbols("g h alpha beta y", positive=True)
SCALE = alpha + beta * g / h
PRODUCT = alpha * h**2 + beta * h * g
"""$s_i$ and $(X_ia)^\\top(X_ia^*)$."""


def mean(expression: Any) -> Any:
    """The expectation over one client, with 1 - alpha^2 for beta^2."""
    total = sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(expression)):
        factor, powers = term.as_independent(g, h)[0], term.as_powers_dict()
        of_g, of_h = powers.get(g, 0), powers.get(h, 0)
        if of_g % 2 == 0:  # odd powers of g have the mean 0
            total += factor * {0: 1, 2: 1}[int(of_g)] * {-2: 1 / (m - 2), 0: 1, 2: m}[int(of_h)]
    return sympy.simplify(total.subs(beta**2, 1 - alpha**2)) if total else total


def flaw_of_moments() -> str:
    """Why a chi-square variable has not the means m and, for its inverse, 1/(m - 2); empty if it has."""
    k = sympy.Symbol("k", positive=True)
    density = y ** (m / 2 - 1) * sympy.exp(-y / 2) / (2 ** (m / 2) * sympy.gamma(m / 2))
    first = sympy.integrate(density * y, (y, 0, sympy.oo))
    inverse = sympy.integrate((density / y).subs(m, k + 2), (y, 0, sympy.oo)).subs(k, m - 2)
    means = sympy.gammasimp(first) - m, sympy.gammasimp(inverse) - 1 / (m - 2)
    return "" if all(sympy.simplify(gap) == 0 for gap in means) else "the means of a chi-square variable"


def flaw_of_fewest(power: int, fewest: int) -> str:
    r"""Why $E\chi_m^{-p}$ is not finite from ``fewest`` samples on and infinite with fewer; empty if it is.

    Near 0 the density of $\chi_m^2$ is of the order $y^{m/2 - 1}$; $\int_0^1y^{m/2 - 1 - p/2}dy$ is finite for m > p.
    """
    near = [sympy.integrate(y ** sympy.Rational(k - 2 - power, 2), (y, 0, 1)) for k in (fewest - 1, fewest)]
    met = near[0] == sympy.oo > near[1]
    return "" if met else "the number of samples"


def flaw(**gaps: Any) -> str:
    """The first of the differences that is not 0, by name."""
    wrong = next((name for name, gap in gaps.items() if sympy.simplify(gap) != 0), "")
    return flaw_of_moments() or wrong.replace("_", " ")


def told(found: str) -> Proof:
    """A verified proof, or the flaw."""
    return Proof(not found, found or "moments of independent normal and chi-square variables, for any N and m")


def first_square(values: Values) -> Any:
    """The stated numerator of (204) and (229)."""
    return rational(values["weight"]) * alpha**2 * m + rational(values["noise"]) * (1 - alpha**2)


@proof("rolora/eq-189", noise="1", weight="1", power=2)
def eq_189(values: Values) -> Proof:
    r"""$u_1^\top u_1 = s_1^2h_1^2/N^2$, and $r_2^2/r_1 = g_1^2$.

    With $x_{1,1} = z_1$ and $x_{1,2} = w_1$, $r_1 = h_1^2$ and $r_2 = h_1g_1$; $s_1h_1 = \alpha h_1 + \beta g_1$. And
    $E(\alpha h_1 + \beta g_1)^2 = \alpha^2Eh_1^2 + 2\alpha\beta Eh_1Eg_1 + \beta^2Eg_1^2 = \alpha^2m + 1 - \alpha^2$,
    for any m.
    """
    own = mean(SCALE**2 * h**2) / N**2
    stated = first_square(values) / N ** values["power"]
    return told(flaw(the_noise=mean(g**2) - rational(values["noise"]), line_204=own - stated))


@proof("rolora/eq-227", noise="1", weight="1", power=1)
def eq_227(values: Values) -> Proof:
    r"""$v^\top u_1 = \frac{s_1}N(X_1a)^\top(X_1a^*)$ with $(X_1a)^\top(X_1a^*) = s_1h_1^2$.

    So it is N times $u_1^\top u_1 = s_1^2h_1^2/N^2$: the mean of $(\alpha h_1 + \beta g_1)^2/N$, by (204).
    """
    return told(flaw(line_229=mean(SCALE * PRODUCT) / N - first_square(values) / N ** values["power"]))


@proof("rolora/eq-230", others="1", factor="1", power=2, fewest=2)
def eq_230(values: Values) -> Proof:
    r"""For $m \ge 2$: $z_2$ is independent of the first client, $E[v^\top u_2] = Ez_2 \cdot E[(X_1a)^\top(X_1a^*)]$.

    $E|s_i|$ is finite, as $Eh^{-1}$ is; so $Es_i = \alpha + \beta EgEh^{-1} = \alpha$ and $Ez_2 = \frac{N-1}N\alpha$.
    And $E[(X_1a)^\top(X_1a^*)] = E[\alpha h_1^2 + \beta h_1g_1] = \alpha m$.
    """
    whole = (N - 1) / N * mean(SCALE) * mean(PRODUCT)
    others, factor = rational(values["others"]), rational(values["factor"])
    stated = factor * m * (N - others) * alpha ** values["power"] / N
    return told(flaw_of_fewest(1, values["fewest"]) or flaw(line_236=whole - stated))


@proof("rolora/eq-237", others="1", power=2, clients_power=2, fewest=2)
def eq_237(values: Values) -> Proof:
    r"""For $m \ge 2$: $u_1^\top u_2 = z_2\frac{s_1}Nh_1^2$, $s_1h_1^2 = (X_1a)^\top(X_1a^*)$, and independence again.

    $E|s_i|$ is finite, as $Eh^{-1}$ is; so $Ez_2 = \frac{N-1}N\alpha$, and $E[(X_1a)^\top(X_1a^*)] = \alpha m$, both
    as for (236): the mean is $\frac{N-1}N\alpha \cdot \frac{\alpha m}N$.
    """
    whole = (N - 1) / N * mean(SCALE) * mean(SCALE * h**2) / N
    stated = (N - rational(values["others"])) * m * alpha ** values["power"] / N ** values["clients_power"]
    found = flaw(the_product=sympy.expand(SCALE * h**2 - PRODUCT), line_240=whole - stated)
    return told(flaw_of_fewest(1, values["fewest"]) or found)


@proof("rolora/eq-207", lower=2, double="1")
def eq_207(values: Values) -> Proof:
    r"""$(s_2 + \ldots + s_N)^2$ has the $N - 1$ squares and each product $s_is_j$ of two different ones of them.

    These are $(N - 1)(N - 2)$, of mean $\alpha^2$ each; with both indices from 1 there would be $N(N - 1)$. For $m \ge
    3$ all means are finite.
    """
    number = N + 1 - values["lower"]
    whole = (N - 1) * mean(SCALE**2) + (N - 1) * (N - 2) * mean(SCALE) ** 2
    stated = (N - 1) * mean(SCALE**2) + rational(values["double"]) * number * (number - 1) * mean(SCALE) ** 2
    return told(flaw(line_208=whole - stated))


@proof("rolora/eq-205", two="2", others="1", fewest=3)
def eq_205(values: Values) -> Proof:
    r"""For $m \ge 3$: $R = g/h$, and $Ez_2^2 = \frac1{N^2}((N-1)Es^2 + (N-1)(N-2)(Es)^2)$; $h_1$ is independent of it.

    $h^2$ has the density $y^{m/2-1}e^{-y/2}/(2^{m/2}\Gamma(\frac m2))$, so that $Eh^{-2} = \Gamma(\frac m2 -
    1)/(2\Gamma(\frac m2)) = \frac1{m-2} = ER^2$, and $ER = EgEh^{-1} = 0$. With $s = \alpha + \beta R$: $Es = \alpha$,
    $Es^2 = \alpha^2 + \frac{1-\alpha^2}{m-2}$, and $E[u_2^\top u_2] = Ez_2^2 \cdot Eh_1^2$ is $\frac m{N^2}$ times $(N
    - 1)(\alpha^2 + \frac{1-\alpha^2}{m-2}) + (N - 1)(N - 2)\alpha^2 = (N - 1)^2\alpha^2 + (N -
    1)\frac{1-\alpha^2}{m-2}$.

    Fewer samples.     The law of h has a density in proportion to $h^{m-1}e^{-h^2/2}$, so that $Eh^{-2}$ is one of
    $\int h^{m-3}e^{-h^2/2} \,dh$, which is infinite for m of 1 and 2. Then $Es^2 = \alpha^2 + (1 - \alpha^2)ER^2$ is
    infinite unless $\alpha^2 = 1$. With m = 2 $E|R| = E|g|\,Eh^{-1}$ is finite and $Es = \alpha$; with m = 1 R is of
    Cauchy's law.
    """
    two, others = rational(values["two"]), N - rational(values["others"])
    square = mean(SCALE**2)
    whole = m / N**2 * ((N - 1) * square + (N - 1) * (N - 2) * mean(SCALE) ** 2)
    stated = m / N**2 * (others**2 * alpha**2 + others * (1 - alpha**2) / (m - two))
    found = first_flaw(
        flaw_of_fewest(2, values["fewest"]),
        flaw(
            line_222=mean(SCALE) - alpha,
            line_216=mean((g / h) ** 2) - 1 / (m - two),
            line_218=square - alpha**2 - (1 - alpha**2) / (m - two),
            line_226=whole - stated,
        ),
    )
    return told(found)


@proof("rolora/eq-241", four="4", two="2", cross="2", power=2)
def eq_241(values: Values) -> Proof:
    r"""The six expectations, for $m \ge 3$, with $\beta^2 = 1 - \alpha^2$, add up to (242).

    $m + \frac{\alpha^2m + \beta^2}{N^2} + \frac m{N^2}[(N-1)^2\alpha^2 + (N-1)\frac{\beta^2}{m-2}] - 2\frac{\alpha^2m +
    \beta^2}N - 2\frac{m(N-1)\alpha^2}N + 2\frac{m(N-1)\alpha^2}{N^2}$. Of $\alpha^2m$ there are $\frac{(1 + N -
    1)^2}{N^2} - 2 = -1$, which makes $m(1 - \alpha^2) = m\beta^2$ with the first term. What is left is
    $\beta^2[\frac1{N^2} - \frac2N + \frac{m(N-1)}{N^2(m-2)}]$. Over m it is $\beta^2[1 + \frac{(1 - 2N)(m - 2) + m(N -
    1)}{N^2m(m-2)}]$, where the numerator is $N(4 - m) - 2$. The expectation of the whole, found without the six, is
    the same.
    """
    one, product = mean(SCALE), mean(PRODUCT)
    others = (N - 1) / N * one
    second = ((N - 1) * mean(SCALE**2) + (N - 1) * (N - 2) * one**2) / N**2 * m
    six = (
        m
        + mean(SCALE**2 * h**2) / N**2
        + second
        - 2 * mean(SCALE * PRODUCT) / N
        - 2 * others * product
        + rational(values["cross"]) * others * product / N
    )
    four, two = rational(values["four"]), rational(values["two"])
    stated = (1 - alpha**2) * (1 + (N * (four - m) - two) / (N ** values["power"] * m * (m - 2)))
    return told(flaw(line_242=six / m - stated) or flaw_of_loss(four, two))
