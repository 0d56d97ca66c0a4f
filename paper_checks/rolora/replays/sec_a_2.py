"""Appendix A.2: definitions and auxiliary inequalities (Definition A.1 to Theorem A.8)."""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import iv

from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.rolora.replays.shared.concentration import EULER, surely
from paper_checks.rolora.replays.shared.tails import t, vanishes, y
from paper_checks.stored_values import Values

p, q, V, M = sympy.symbols("p q V M", positive=True)


@proof("rolora/lem-A.3")
def lem_A_3(half: Fraction = Fraction(1, 2)) -> str:
    r"""If a norm is 0, so is the product; else let $\|\xi\|_{\psi_2} = \|v\|_{\psi_2} = 1$, as both sides scale alike.

    $|\xi v| \le \frac12(\xi^2 + v^2)$, as the difference is a square. So $E\exp|\xi v| \le
    E\,e^{\xi^2/2}e^{v^2/2} \le (Ee^{\xi^2}\,Ee^{v^2})^{1/2} \le 2$, by Cauchy and Schwarz.
    """
    require(vanishes(half * (p**2 + q**2) - p * q - half * (p - q) ** 2), "the square")
    return "we use a square and the Cauchy-Schwarz inequality"


@proof("rolora/lem-A.4")
def lem_A_4(numerator: Fraction = Fraction(16), quarter: Fraction = Fraction(1, 4)) -> str:
    r"""$Ee^{\lambda X} \le e^{K\lambda^2}$ for centred X of norm 1, $K = \sqrt{\log2}$; then a normal $\lambda$.

    For $|\lambda| \le 1$: $e^x \le x + e^{x^2}$, so $Ee^{\lambda X} \le Ee^{\lambda^2X^2} \le
    (Ee^{X^2})^{\lambda^2} \le 2^{\lambda^2}$, and $\log2 \le K$. For $|\lambda| \ge 1$ and $0 < \theta \le 1$:
    $\lambda x \le \frac{\lambda^2}{4\theta} + \theta x^2$, so it is at most $2^\theta
    e^{\lambda^2/(4\theta)}$: for $|\lambda| \le 2K$ and $\theta = \frac{|\lambda|}{2K}$ that is $e^{K|\lambda|}
    \le e^{K\lambda^2}$; beyond, with $\theta = 1$, $2e^{\lambda^2/4} \le e^{\lambda^2/2}$. For the sum S with
    $\sigma^2 = \sum\|X_i\|^2$ and a standard normal g: $Ee^{S^2/t^2} = Ee^{\sqrt2gS/t} \le Ee^{2K\sigma^2g^2/t^2} =
    (1 - 4K\sigma^2/t^2)^{-1/2}$, which is at most 2 for $t^2 \ge \frac{16}3 K\sigma^2$. ($e^x \le x + e^{x^2}$: for
    $|x| \ge 1$ the right side minus the left is at least $x$ for $x > 0$, and $e^{x^2} - |x| - e^{-|x|} \ge e - 1 -
    1/e > 0$ for $x < 0$; for $|x| \le 1$, $e^x - x - 1 \le \frac{x^2}2(1 + \frac{|x|}3\cdot\frac1{1 - |x|/4}) \le
    x^2 \le e^{x^2} - 1$.)
    """
    K = sympy.Symbol("K", positive=True)
    theta, most, root = sympy.symbols("theta lambda R", positive=True)  # R^2 is log 2
    require(
        vanishes(quarter * p**2 / theta + theta * q**2 - p * q - (p / 2 - theta * q) ** 2 / theta),
        "the square between lambda x and its bound",
    )
    at_most = quarter * most**2 / theta + theta * root**2
    require(vanishes(at_most.subs(theta, most / (2 * root)) - root * most), "the exponent up to 2K")
    require(vanishes((quarter + root**2 / most**2).subs(most, 2 * root) - Fraction(1, 2)), "the exponent beyond 2K")
    require(surely(iv.sqrt(iv.log(2)) - iv.log(2)) and surely(iv.sqrt(iv.log(2)) - iv.mpf(1) / 2), "the size of K")
    # (1 - 4K/t^2)^(-1/2) at t^2 = 16/3 K.
    require(vanishes(1 - 4 * K / (numerator / 3 * K) - Fraction(1, 4)), "the mixed moment")
    require(Fraction(1, 2) * (1 + Fraction(1, 3) / (1 - Fraction(1, 4))) <= 1, "the series of the exponential")
    require(surely(EULER - 1 - 1 / EULER), "the exponential beyond 1")
    return "we mix the exponential moments of a centred variable with a normal law"


@replay("rolora/cor-A.5")
def cor_A_5_as_printed(values: Values) -> Violation:
    r"""Evaluate the sums of the proof for one client and two entries: $a_1^2$, where $a_1^2 + a_2^2$ is meant."""
    first, second = (Fraction(values[name]) for name in ("a0", "a1"))
    return Violation(
        (first**2 + second**2) * Fraction(8, 3),
        first**2 * Fraction(8, 3),
        assumes=(Hypothesis("second entry of a", second, "!=", 0),),
        reads="for N = 1 and d = 2, in units of C, we compare 8/3 |a|^2 with the sum over i = 1 to N of a_i^2 "
        "|xi_i|^2, which the paper prints as equal",
    )


@proof("rolora/lem-A.7")
def lem_A_7(share: Fraction = Fraction(1)) -> str:
    r"""For $a \ne 0$ the unit vector along a and a point x of the net within $\epsilon < 1$ of it; a = 0 is trivial.

    $2\langle a, x\rangle = \|a\|(2 - \|\hat a - x\|^2)$ for the unit vector $\hat a$ along a, at least $\|a\|(2 -
    \epsilon^2)$, and $1 - \frac12\epsilon^2 \ge 1 - k\epsilon$ for $k \ge \frac12$; k = 1 is printed.
    """
    require(vanishes((2 - (2 - 2 * p)) / 2 - p), "the squared distance of unit vectors of product p")
    require(share >= Fraction(1, 2), "the share")
    return "we compare a unit vector with the nearest point of the net"


@proof("rolora/thm-A.8")
def thm_A_8(c: Fraction = Fraction(1, 4)) -> str:
    r"""$Ee^{\lambda X} \le e^{\lambda^2}$ for centred X of norm 1 and $|\lambda| \le 1$; then Chernoff's bound.

    $(e^x - 1 - x)/x^2$ grows with x, so $Ee^{\lambda X} - 1 \le \lambda^2E(e^{|X|} - 1 - |X|) \le \lambda^2$.
    With V the sum of the squared norms and M the largest, $\log P(S \ge t) \le -\lambda t + \lambda^2V$ for $\lambda
    \le \frac1M$: $-\frac{t^2}{4V}$ at $\lambda = \frac t{2V}$ if that is allowed; otherwise $V \le \frac12tM$, and
    $\lambda = \frac1M$ gives $-\frac t{2M}$ or less. Both tails: twice that.
    """
    require(vanishes((-y * t + y**2 * V).subs(y, t / (2 * V)) + c * t**2 / V), "the constant at the best lambda")
    require(vanishes((-t / M + (t * M / 2 - p) / M**2) + t / (2 * M) + p / M**2), "the exponent at lambda = 1/M")
    require(c <= Fraction(1, 2), "the constant at lambda = 1/M")
    return "we use exponential moments and Chernoff's bound in two cases"
