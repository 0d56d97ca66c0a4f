r"""Proofs of the auxiliary lemmas of Appendix A.2 and of the tails (18) and (26), with constants for unnamed ones."""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import iv

from paper_checks.replay import Proof, proof
from paper_checks.rolora.replays.concentration_proofs import EULER, interval, surely
from paper_checks.stored_values import Values

t, y = sympy.symbols("t y", positive=True)
p, q, V, M = sympy.symbols("p q V M", positive=True)


def vanishes(expression: sympy.Expr) -> bool:
    """Whether it is identically zero."""
    return bool(sympy.simplify(expression) == 0)


@proof("rolora/lem-A.3", half="1/2")
def lem_A_3(values: Values) -> Proof:
    r"""If a norm is 0, so is the product; else let $\|\xi\|_{\psi_2} = \|v\|_{\psi_2} = 1$, as both sides scale alike.

    $|\xi v| \le \frac12(\xi^2 + v^2)$, as the difference is a square. So $E\exp|\xi v| \le
    E\,e^{\xi^2/2}e^{v^2/2} \le (Ee^{\xi^2}\,Ee^{v^2})^{1/2} \le 2$, by Cauchy and Schwarz.
    """
    half = sympy.Rational(str(values["half"]))
    met = vanishes(half * (p**2 + q**2) - p * q - half * (p - q) ** 2)
    return Proof(met, "a square, and the inequality of Cauchy and Schwarz" if met else "the square")


@proof("rolora/lem-A.4", numerator="16", quarter="1/4")
def lem_A_4(values: Values) -> Proof:
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
    whole, part = sympy.Rational(str(values["numerator"])), sympy.Rational(str(values["quarter"]))
    K = sympy.Symbol("K", positive=True)
    theta, most, root = sympy.symbols("theta lambda R", positive=True)  # R^2 is log 2
    square = vanishes(part * p**2 / theta + theta * q**2 - p * q - (p / 2 - theta * q) ** 2 / theta)
    between = vanishes((part * most**2 / theta + theta * root**2).subs(theta, most / (2 * root)) - root * most)
    beyond = vanishes((part + root**2 / most**2).subs(most, 2 * root) - sympy.Rational(1, 2))
    sizes = surely(iv.sqrt(iv.log(2)) - iv.log(2)) and surely(iv.sqrt(iv.log(2)) - iv.mpf(1) / 2)
    # (1 - 4K/t^2)^(-1/2) at t^2 = 16/3 K.
    mixed = vanishes(1 - 4 * K / (whole / 3 * K) - sympy.Rational(1, 4))
    series = Fraction(1, 2) * (1 + Fraction(1, 3) / (1 - Fraction(1, 4))) <= 1
    met = square and between and beyond and sizes and mixed and series and surely(EULER - 1 - 1 / EULER)
    return Proof(met, "the exponential moments of a centred variable, mixed by a normal law" if met else "a constant")


@proof("rolora/lem-A.7", share="1")
def lem_A_7(values: Values) -> Proof:
    r"""For $a \ne 0$ the unit vector along a and a point x of the net within $\epsilon < 1$ of it; a = 0 is trivial.

    $2\langle a, x\rangle = \|a\|(2 - \|\hat a - x\|^2)$ for the unit vector $\hat a$ along a, at least $\|a\|(2 -
    \epsilon^2)$, and $1 - \frac12\epsilon^2 \ge 1 - k\epsilon$ for $k \ge \frac12$; k = 1 is printed.
    """
    share = sympy.Rational(str(values["share"]))
    # The squared distance of unit vectors of product p is 2 - 2 p.
    met = vanishes((2 - (2 - 2 * p)) / 2 - p) and share >= sympy.Rational(1, 2)
    return Proof(bool(met), "unit vectors at the nearest point of the net" if met else "the share")


@proof("rolora/thm-A.8", c="1/4")
def thm_A_8(values: Values) -> Proof:
    r"""$Ee^{\lambda X} \le e^{\lambda^2}$ for centred X of norm 1 and $|\lambda| \le 1$; then Chernoff's bound.

    $(e^x - 1 - x)/x^2$ grows with x, so that $Ee^{\lambda X} - 1 \le \lambda^2E(e^{|X|} - 1 - |X|) \le \lambda^2$.
    With V the sum of the squared norms and M the largest, $\log P(S \ge t) \le -\lambda t + \lambda^2V$ for $\lambda
    \le \frac1M$: $-\frac{t^2}{4V}$ at $\lambda = \frac t{2V}$ if that is allowed; otherwise $V \le \frac12tM$, and
    $\lambda = \frac1M$ gives $-\frac t{2M}$ or less. Both tails: twice that.
    """
    c = sympy.Rational(str(values["c"]))
    inner = vanishes((-y * t + y**2 * V).subs(y, t / (2 * V)) + c * t**2 / V)
    outer = sympy.simplify((-t / M + (t * M / 2 - p) / M**2) + t / (2 * M) + p / M**2) == 0
    met = bool(inner and outer and c <= sympy.Rational(1, 2))
    return Proof(met, "exponential moments and Chernoff's bound in two cases" if met else "the constant")


def flaw_of_length(c1: sympy.Expr) -> str:
    """Why (18) is not proved with this constant; empty if it is."""
    slope = sympy.diff(-y - y**2 / 2 - sympy.log(1 - y), y)
    met = c1 * sympy.Rational(9, 64) == sympy.Rational(1, 4) and vanishes(slope - y**2 / (1 - y))
    return "" if met else "the constant c_1"


def flaw_of_products(c3: object) -> str:
    """Why (26) is not proved with this constant; empty if it is."""
    golden, g = (sympy.sqrt(5) - 1) / 2, (iv.sqrt(5) - 1) / 2
    # k = (1 - lambda^2) / 2, as the mean over w is exp(lambda^2 z^2 / 2).
    lam, k = sympy.symbols("l k", positive=True)
    over_z = 2 * sympy.integrate(sympy.exp(-k * y**2), (y, 0, sympy.oo)) / sympy.sqrt(2 * sympy.pi)
    met = vanishes(1 - golden**2 - golden) and surely(g + iv.log(g) / 2 - interval(c3))
    met = met and vanishes(over_z.subs(k, (1 - lam**2) / 2) - 1 / sympy.sqrt(1 - lam**2))
    return "" if met else "the constant c_3"


@proof("rolora/eq-18@a-independent-of-the-samples", c1="16/9")
def eq_18(values: Values) -> Proof:
    r"""Chernoff's bound.

    $\log P(\chi^2_m \le (1-\epsilon)m) \le \frac m2(\epsilon + \log(1-\epsilon)) \le -\frac m4\epsilon^2$, as
    $\log(1 - \epsilon) \le -\epsilon - \frac12\epsilon^2$ by its series; $c_1/K^4 = \frac14$ with $K^2 = \frac83$. No
    larger $c_1$ will do: by Cramer's theorem the first bound is the rate, and over $\epsilon^2$ it tends to the second.
    """
    flaw = flaw_of_length(sympy.Rational(str(values["c1"])))
    return Proof(not flaw, flaw or "Chernoff's bound for a chi-square variable")


@proof("rolora/eq-26", c3="0.3774")
def eq_26(values: Values) -> Proof:
    r"""(27) is (21), (28) is Theorem A.8, and (29) with $\le$ is (30) and (31), for $c_3 \le c/c_2^2$.

    The ends by themselves, with a larger $c_3$, by Chernoff for m products of independent normal variables z, w, for
    which $Ee^{\lambda zw} = (1 - \lambda^2)^{-1/2}$. One tail is at most $\exp(-m(\lambda\epsilon + \frac12\log(1 -
    \lambda^2)))$ for $0 \le \lambda < 1$. With $\lambda = g\epsilon$, g the golden ratio $\frac{\sqrt5 - 1}2$, where $1
    - g^2 = g$: $\frac12\log(1 - g^2\epsilon^2) \ge \frac12\epsilon^2\log(1 - g^2)$ by concavity in $\epsilon^2$, so
    that the exponent is at least $\epsilon^2(g + \frac12\log g)$ for $\epsilon \le 1$. For w at an angle to b* the sum
    is shorter. By Cramer's theorem the largest exponent is the rate, and as $\epsilon \to 1$ it tends to that at
    $\lambda = g$, so that no larger $c_3$ will do.
    """
    flaw = flaw_of_products(values["c3"])
    return Proof(not flaw, flaw or "Chernoff's bound for products of normal variables")


@proof("rolora/eq-36", c1="16/9", c3="0.3774", every="1/100")
def eq_36(values: Values) -> Proof:
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
    flaw = flaw_of_length(sympy.Rational(str(values["c1"]))) or flaw_of_products(values["c3"])
    every, z = Fraction(str(values["every"])), Fraction(2, 5)
    # t^2/2 = rho^2 m/50 = eps_2^2 m/100; and d > eps_2^2 m/50 makes d log 3 more than c_3 eps_2^2 m.
    met = 2 * z + z**2 <= 1 and every <= Fraction(1, 100) and surely(iv.log(3) - interval(50 * every))
    flaw = flaw or ("" if met else "the constant for every a")
    return Proof(not flaw, flaw or "(18) and (26), singular values for every a, and a union over the clients")
