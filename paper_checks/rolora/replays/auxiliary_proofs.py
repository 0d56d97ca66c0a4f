r"""Proofs of the auxiliary lemmas of Appendix A.2 and of the tails (18) and (26), with constants for unnamed ones."""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import iv

from paper_checks.replay import proof, require
from paper_checks.rolora.replays.concentration_proofs import EULER, interval, surely

t, y = sympy.symbols("t y", positive=True)
p, q, V, M = sympy.symbols("p q V M", positive=True)


def vanishes(expression: sympy.Expr) -> bool:
    """Whether it is identically zero."""
    return bool(sympy.simplify(expression) == 0)


@proof("rolora/lem-A.3")
def lem_A_3(half: Fraction = Fraction(1, 2)) -> str:
    r"""If a norm is 0, so is the product; else let $\|\xi\|_{\psi_2} = \|v\|_{\psi_2} = 1$, as both sides scale alike.

    $|\xi v| \le \frac12(\xi^2 + v^2)$, as the difference is a square. So $E\exp|\xi v| \le
    E\,e^{\xi^2/2}e^{v^2/2} \le (Ee^{\xi^2}\,Ee^{v^2})^{1/2} \le 2$, by Cauchy and Schwarz.
    """
    require(vanishes(half * (p**2 + q**2) - p * q - half * (p - q) ** 2), "the square")
    return "a square, and the inequality of Cauchy and Schwarz"


@proof("rolora/lem-A.4")
def lem_A_4(numerator: Fraction = Fraction(16), quarter: Fraction = Fraction(1, 4)) -> str:
    r"""$Ee^{\lambda X} \le e^{K\lambda^2}$ for centred X of norm 1, $K = \sqrt{\log2}$; then a normal $\lambda$.

    For $|\lambda| \le 1$: $e^x \le x + e^{x^2}$, so that $Ee^{\lambda X} \le Ee^{\lambda^2X^2} \le
    (Ee^{X^2})^{\lambda^2} \le 2^{\lambda^2}$, and $\log2 \le K$. For $|\lambda| \ge 1$ and $0 < \theta \le 1$:
    $\lambda x \le \frac{\lambda^2}{4\theta} + \theta x^2$, so that it is at most $2^\theta
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
    return "the exponential moments of a centred variable, mixed by a normal law"


@proof("rolora/lem-A.7")
def lem_A_7(share: Fraction = Fraction(1)) -> str:
    r"""For $a \ne 0$ the unit vector along a and a point x of the net within $\epsilon < 1$ of it; a = 0 is trivial.

    $2\langle a, x\rangle = \|a\|(2 - \|\hat a - x\|^2)$ for the unit vector $\hat a$ along a, at least $\|a\|(2 -
    \epsilon^2)$, and $1 - \frac12\epsilon^2 \ge 1 - k\epsilon$ for $k \ge \frac12$; k = 1 is printed.
    """
    require(vanishes((2 - (2 - 2 * p)) / 2 - p), "the squared distance of unit vectors of product p")
    require(share >= Fraction(1, 2), "the share")
    return "unit vectors at the nearest point of the net"


@proof("rolora/thm-A.8")
def thm_A_8(c: Fraction = Fraction(1, 4)) -> str:
    r"""$Ee^{\lambda X} \le e^{\lambda^2}$ for centred X of norm 1 and $|\lambda| \le 1$; then Chernoff's bound.

    $(e^x - 1 - x)/x^2$ grows with x, so that $Ee^{\lambda X} - 1 \le \lambda^2E(e^{|X|} - 1 - |X|) \le \lambda^2$.
    With V the sum of the squared norms and M the largest, $\log P(S \ge t) \le -\lambda t + \lambda^2V$ for $\lambda
    \le \frac1M$: $-\frac{t^2}{4V}$ at $\lambda = \frac t{2V}$ if that is allowed; otherwise $V \le \frac12tM$, and
    $\lambda = \frac1M$ gives $-\frac t{2M}$ or less. Both tails: twice that.
    """
    require(vanishes((-y * t + y**2 * V).subs(y, t / (2 * V)) + c * t**2 / V), "the constant at the best lambda")
    require(vanishes((-t / M + (t * M / 2 - p) / M**2) + t / (2 * M) + p / M**2), "the exponent at lambda = 1/M")
    require(c <= Fraction(1, 2), "the constant at lambda = 1/M")
    return "exponential moments and Chernoff's bound in two cases"


def tail_of_length(c1: Fraction) -> None:
    """Show (18) with this constant."""
    slope = sympy.diff(-y - y**2 / 2 - sympy.log(1 - y), y)
    require(c1 * Fraction(9, 64) == Fraction(1, 4) and vanishes(slope - y**2 / (1 - y)), "the constant c_1")


def tail_of_products(c3: str) -> None:
    """Show (26) with this constant."""
    golden, g = (sympy.sqrt(5) - 1) / 2, (iv.sqrt(5) - 1) / 2
    require(vanishes(1 - golden**2 - golden), "the golden ratio")
    require(surely(g + iv.log(g) / 2 - interval(c3)), "the constant c_3")
    # k = (1 - lambda^2) / 2, as the mean over w is exp(lambda^2 z^2 / 2).
    lam, k = sympy.symbols("l k", positive=True)
    over_z = 2 * sympy.integrate(sympy.exp(-k * y**2), (y, 0, sympy.oo)) / sympy.sqrt(2 * sympy.pi)
    require(vanishes(over_z.subs(k, (1 - lam**2) / 2) - 1 / sympy.sqrt(1 - lam**2)), "the moment of a product")


@proof("rolora/eq-18@a-independent-of-the-samples")
def eq_18(c1: Fraction = Fraction(16, 9)) -> str:
    r"""Chernoff's bound.

    $\log P(\chi^2_m \le (1-\epsilon)m) \le \frac m2(\epsilon + \log(1-\epsilon)) \le -\frac m4\epsilon^2$, as
    $\log(1 - \epsilon) \le -\epsilon - \frac12\epsilon^2$ by its series; $c_1/K^4 = \frac14$ with $K^2 = \frac83$. No
    larger $c_1$ will do: by Cramer's theorem the first bound is the rate, and over $\epsilon^2$ it tends to the second.
    """
    tail_of_length(c1)
    return "Chernoff's bound for a chi-square variable"


@proof("rolora/eq-26")
def eq_26(c3: str = "0.3774") -> str:
    r"""(27) is (21), (28) is Theorem A.8, and (29) with $\le$ is (30) and (31), for $c_3 \le c/c_2^2$.

    The ends by themselves, with a larger $c_3$, by Chernoff for m products of independent normal variables z, w, for
    which $Ee^{\lambda zw} = (1 - \lambda^2)^{-1/2}$. One tail is at most $\exp(-m(\lambda\epsilon + \frac12\log(1 -
    \lambda^2)))$ for $0 \le \lambda < 1$. With $\lambda = g\epsilon$, g the golden ratio $\frac{\sqrt5 - 1}2$, where $1
    - g^2 = g$: $\frac12\log(1 - g^2\epsilon^2) \ge \frac12\epsilon^2\log(1 - g^2)$ by concavity in $\epsilon^2$, so
    that the exponent is at least $\epsilon^2(g + \frac12\log g)$ for $\epsilon \le 1$. For w at an angle to b* the sum
    is shorter. By Cramer's theorem the largest exponent is the rate, and as $\epsilon \to 1$ it tends to that at
    $\lambda = g$, so that no larger $c_3$ will do.
    """
    tail_of_products(c3)
    return "Chernoff's bound for products of normal variables"


@proof("rolora/eq-36")
def eq_36(c1: Fraction = Fraction(16, 9), c3: str = "0.3774", every: Fraction = Fraction(1, 100)) -> str:
    r"""For an a independent of the samples with $c_1$ and $c_3$ of (18) and (26), for every $a^t$ with $c_3 = 1/100$.

    Let $\|b^*\| = 1$ and $a^* = ca + \delta u$ with a unit vector u across a. Then $\tilde b_i - g = \delta T_ib^*$
    with $T_i = z^\top w/\|z\|^2$ for the independent standard normal vectors $z = X_ia$ and $w = X_iu$ of m entries.
    But for the events of (18) and of (26), $\|z\|^2 > (1 - \epsilon_1)m$ and $|z^\top w| < \epsilon_2m$, so that
    $|T_i| \le \frac{\epsilon_2}{1-\epsilon_1} \le \epsilon'$. The row vector of (19) is a multiple of $b^*$: (26) along
    $b^*$ is enough, without a net, and $P\{|T_i| > \epsilon'\} \le 2e^{-c_3\epsilon_2^2m} +
    e^{-c_1\epsilon_1^2m/K^4} \le p_0$. Then a union over the clients.

    From the second iteration on a depends on the samples, if they are the same in all. With $S_i = X_i^\top X_i/m$,
    $\|S_i - I\|_{op} \le \rho$ gives $|T_i| \le \rho/\sqrt{1 - \rho^2}$ for every unit vector a, as $(S_i - I)a$ lies
    in a ball of radius $\rho$: at most $\epsilon_2$ for $\rho^2 = \frac12\epsilon_2^2$. The singular values of $X_i$
    are within $\sqrt d + t$ of $\sqrt m$ but for a probability of $2e^{-t^2/2}$ (Davidson and Szarek). Where $d \le
    \frac1{25}\rho^2m$, $t = \frac15\rho\sqrt m$ keeps that to $z\sqrt m$, $z = \frac25\rho$, and $2z + z^2 \le \rho$:
    it fails with probability at most $2e^{-\rho^2m/50} = 2e^{-\epsilon_2^2m/100}$. Where d is larger, $d\log3 >
    \frac1{100}\epsilon_2^2m$ and $p_0 > 1$.
    """
    tail_of_length(c1)
    tail_of_products(c3)
    z = Fraction(2, 5)
    # t^2/2 = rho^2 m/50 = eps_2^2 m/100; and d > eps_2^2 m/50 makes d log 3 more than c_3 eps_2^2 m.
    met = 2 * z + z**2 <= 1 and every <= Fraction(1, 100) and surely(iv.log(3) - interval(50 * every))
    require(met, "the constant for every a")
    return "(18) and (26), singular values for every a, and a union over the clients"
