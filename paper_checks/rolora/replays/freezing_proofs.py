r"""Proofs of FFA-LoRA's expected loss, and of RoLoRA's at a given angle, for normal samples that a is independent of.

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

from paper_checks.replay import proof, require

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


def second_term_is_at_most(constant: Fraction) -> None:
    """Show that N m |c| is at most ``constant`` for m >= 3 and whole N. N = n + 1, m = k + 4."""
    bound = constant * N * (m - 2)
    # m >= 4, where N (4 - m) - 2 is negative; m = 3, where it is N - 2.
    room = sympy.expand((bound - (N * (m - 4) + 2)).subs({N: n + 1, m: k + 4}))
    met = all(c >= 0 for c in sympy.Poly(room, n, k).coeffs()) and constant >= 1
    require(met, "the constant in O(1/(Nm))")


@proof("rolora/prop-5.5")
def prop_5_5(four: Fraction = Fraction(4), two: Fraction = Fraction(2), constant: Fraction = Fraction(1)) -> str:
    r"""The expectation by the setting above, and the size of what is beside 1 in it.

    $1 + \tilde c = \frac1m(m - 1 + (1 - \frac1N)^2 + \frac{N-1}{N^2}\cdot\frac m{m-2})$, so that $\tilde c = \frac{N(4
    - m) - 2}{N^2m(m-2)}$. Its product with Nm is at most 1 in size: for $m \ge 4$ by the signs of coefficients in N - 1
    and m - 4, and at m = 3 it is $|N - 2|/N$.
    """
    expected_loss(four, two)
    second_term_is_at_most(constant)
    return (
        r"the loss as a sum of two orthogonal parts, for every $m \ge 3$ and any number of "
        r"clients; $Nm|\tilde c| \le 1$"
    )


@proof("rolora/s5-rolora-loss")
def s5_rolora_loss(four: Fraction = Fraction(4), two: Fraction = Fraction(2), fewest: Fraction = Fraction(4)) -> str:
    r"""The expectation of Proposition 5.5 at $a^T$, with $\delta^T \le \epsilon$ by Theorem 5.4 as corrected.

    Its second term has the sign of $N(4 - m) - 2 < 0$ for $m \ge 4$. The loss caused by the angle is its first,
    $\|b^*\|^2(\delta^T)^2$, and Theorem 5.4 as corrected has a T for every $\epsilon$.
    """
    expected_loss(four, two)
    require(fewest >= four and two > 0, "the number of samples")
    return "the expected loss of Proposition 5.5 at the last a; its second term is negative from 4 samples on"


@proof("rolora/s5-rolora-loss@at-recovery")
def at_recovery(four: Fraction = Fraction(4), two: Fraction = Fraction(2), fewest: Fraction = Fraction(4)) -> str:
    r"""With $\delta^T \le \epsilon$ given, the expectation of Proposition 5.5 at $a^T$ is the statement.

    Its second term has the sign of $N(4 - m) - 2$, which is negative for $m \ge 4$, so that nothing is added to the
    squared sine. That more iterations make $\epsilon$ arbitrarily small is [Theorem 5.4 as
    corrected](rolora--thm-5.4.md), on samples that are near enough to the identity once for all iterations.
    """
    return str(s5_rolora_loss.evaluate(four, two, fewest))


@proof("rolora/s5-saturate")
def s5_saturate(share: Fraction = Fraction(1)) -> str:
    r"""Column by column, with $f = \|Xa^0\|^2 > 0$, $h = Xa^0\cdot Xa^*$ and $j = \|Xa^*\|^2$.

    $\|Xa^*b^*_p - Xa^0b_p\|^2 = f(b_p - \frac hfb^*_p)^2 + b_p^{*2}(j - \frac{h^2}f)$, and $fj > h^2$ for linearly
    independent vectors (Cauchy and Schwarz). Two normal vectors of $m \ge 2$ entries, of correlation below 1 in size,
    are almost surely linearly independent; two of one entry never are, and almost surely $Xa^0 \ne 0$.
    """
    f, h, j, b, own = sympy.symbols("f h j b own")
    whole = j * own**2 - 2 * h * own * b + f * b**2
    least = share * own**2 * (j - h**2 / f)
    require(sympy.simplify(whole - f * (b - h / f * own) ** 2 - least) == 0, "the least value")
    return "a square is completed, and the inequality of Cauchy and Schwarz"


@proof("rolora/s5-saturate@normal-samples-two-or-more")
def two_or_more(share: Fraction = Fraction(1)) -> str:
    r"""The least value is positive for linearly independent $Xa^0$, $Xa^*$, which they almost surely are."""
    return str(s5_saturate.evaluate(share))
