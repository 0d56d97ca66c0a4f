"""Appendix A.4.1, proof of Proposition 5.5: the minimiser's concentration (eqs. (189) to (204), (227) to (240)).

Setting: `shared.moments`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.rolora.replays.shared.expected_loss import N, m
from paper_checks.rolora.replays.shared.moments import (
    MOMENTS,
    PRODUCT,
    SCALE,
    alpha,
    chi_square_means,
    g,
    h,
    mean,
    moment_is_finite_from,
    vanishes,
)
from paper_checks.stored_values import Values, fractions


def first_square(weight: Fraction, noise: Fraction) -> Any:
    """Return the stated numerator of (204) and (229)."""
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


def _mean_size(values: Values) -> tuple[Fraction, Fraction, int, tuple[Hypothesis, ...]]:
    """Bound E|v'u_2| for one sample from below; return it with the constant, N, and what is assumed.

    s_i = alpha + beta R_i, R_i = x_(i,2)/x_(i,1) of Cauchy's law. The sum of N - 1 of them has the law of (N - 1) s_2,
    and is independent of the first client, whose (X_1 a)'(X_1 a*) has the mean alpha. P(|R| > r) = (2/pi) arctan(1/r)
    is at least 1/(2r) for r >= 1, as arctan is concave; so E min(|R|, 2^k) is at least k/4, k = halvings. And beta is
    at least 1 - |alpha|.
    """
    alpha, constant = fractions(values, "alpha", "constant")
    N, m, k = (int(values[name]) for name in ("N", "m", "halvings"))
    assumes = (
        Hypothesis("N", N, ">=", 2),
        Hypothesis("m", m, "=", 1),
        Hypothesis("halvings", k, ">=", 1),
        Hypothesis("|alpha|", abs(alpha), "<", 1),
        Hypothesis("constant", constant, ">", 0),
    )
    size = (1 - abs(alpha)) * Fraction(k, 4) - abs(alpha)
    return Fraction(N - 1, N) * abs(alpha) * size, constant, N, assumes


@replay("rolora/eq-230")
def eq_230_as_printed(values: Values) -> Violation:
    """Evaluate the mean of |v'u_2|, with what is larger than 2^k cut off, passes any bound as k grows."""
    least, constant, _, assumes = _mean_size(values)
    return Violation(
        least,
        constant,
        assumes=assumes,
        reads="there is one sample, and the cosine is alpha. With more halvings our lower bound on E|v'u_2| exceeds "
        "any constant, so v'u_2 has no mean. We compare it with a constant",
    )


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


@proof("rolora/eq-230@two-samples-or-more")
def eq_230_from_two(
    others: Fraction = Fraction(1), factor: Fraction = Fraction(1), power: int = 2, fewest: int = 2
) -> str:
    r"""For $m \ge 2$ all means exist, as $Eh^{-1}$ is finite.

    So $Es_i = \alpha + \beta\,Eg\,Eh^{-1} = \alpha$ and $Ez_2 = \frac{N-1}N\alpha$. The other clients are independent
    of the first: $E[v^\top u_2] = Ez_2 \cdot E[(X_1a)^\top(X_1a^*)] = \frac{N-1}N\alpha \cdot \alpha m$.
    """
    return str(eq_230.evaluate(others, factor, power, fewest))


@replay("rolora/eq-237")
def eq_237_as_printed(values: Values) -> Violation:
    """As for (230): with one sample u_1'u_2 is v'u_2 / N, as s_1 |X_1 a|^2 = (X_1 a)'(X_1 a*)."""
    least, constant, N, assumes = _mean_size(values)
    return Violation(
        least / N,
        constant,
        assumes=assumes,
        reads="there is one sample, and the cosine is alpha. With more halvings our lower bound on E|u_1'u_2| exceeds "
        "any constant, so u_1'u_2 has no mean. We compare it with a constant",
    )


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


@proof("rolora/eq-237@two-samples-or-more")
def eq_237_from_two(others: Fraction = Fraction(1), power: int = 2, clients_power: int = 2, fewest: int = 2) -> str:
    r"""For $m \ge 2$ all means exist, and the other clients are independent of the first.

    $u_1^\top u_2 = z_2\frac{s_1}Nh_1^2$ with $s_1h_1^2 = (X_1a)^\top(X_1a^*)$, of mean $\alpha m$, and $Ez_2 =
    \frac{N-1}N\alpha$: the mean is $\frac{N-1}N\alpha \cdot \frac{\alpha m}N$.
    """
    return str(eq_237.evaluate(others, power, clients_power, fewest))
