r"""Proofs of the concentration lemmas, for normal samples, and $d \ge 2$, without which $\delta^t$ is 0.

a is independent of the samples, unless every a is meant. Units: $\|b^*\| = 1$; $a^* = ca + \delta u$ with a unit vector
u across a; $A = \log N$, $L = \log\frac2{\epsilon_0} \ge \log 2$, $Q = \max\{A, d\} \ge 2$.
"""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import iv, mpf

from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require

iv.dps = 30
LOG_2, EULER = iv.log(2), iv.exp(1)


GRADIENT_WORDS = {
    "alpha": "the chi-square with n = Nm degrees of freedom is within alpha eps_3 n of n",
    "beta": "that of the part across is at most beta eps_3^2 n; alpha^2 + (1 + alpha) beta <= 1 gives (76)",
}
"""Meaning of the constants of the deviation of the gradient."""


def interval(number: object) -> iv.mpf:
    """Return an interval that contains a number."""
    exact = Fraction(str(number))
    return iv.mpf(exact.numerator) / iv.mpf(exact.denominator)


def surely(condition: iv.mpf) -> bool:
    """Whether an interval lies above zero."""
    return bool(condition.a > mpf(0))


def normal_quotient() -> None:
    r"""A client's minimiser is off by more than $e\delta$ with probability at most $(1 + e^2)^{-m/2}$.

    Client i has $s_i = c + \delta T_i$ with $T = z^\top w/\|z\|^2$ for the independent standard normal vectors $z =
    X_ia$, $w = X_iu$ of m entries: a normal variable over an independent $\chi_m$. For a standard normal g, $P(|g|
    > y) \le e^{-y^2/2}$ (the difference is 0 at 0 and at infinity and first rises, then falls), so that $P(|T| > e)
    \le E\,e^{-e^2\chi_m^2/2} = (1 + e^2)^{-m/2}$. The mean of the $b_i$ is within the largest of their distances.
    """
    m, e, y = sympy.symbols("m e y", positive=True)
    density = y ** (m / 2 - 1) / (2 ** (m / 2) * sympy.gamma(m / 2))
    mean = sympy.integrate(density * sympy.exp(-y * (1 + e**2) / 2), (y, 0, sympy.oo))
    tail = sympy.simplify(sympy.expand_log(sympy.log(mean) + m / 2 * sympy.log(1 + e**2), force=True))
    require(tail == 0, "the law of a client's minimiser")
    # e^(-y^2/2) - erfc(y/sqrt 2) is 0 at both ends; its slope changes its sign once, from + to -.
    slope = sympy.diff(sympy.exp(-(y**2) / 2) - sympy.erfc(y / sympy.sqrt(2)), y) * sympy.exp(y**2 / 2)
    require(sympy.simplify(slope - (sympy.sqrt(2 / sympy.pi) - y)) == 0, "the tail of a normal variable")


def least_quotient() -> None:
    r"""A client's minimiser is off by more than $e\delta$ with probability at least $e^{-(x+1)^2}$, $x = e\sqrt{m/2}$.

    For a standard normal g, $P(|g| > y\sqrt2) = \operatorname{erfc}y$, which falls and is convex for $y \ge 0$: its
    slope is $-\frac2{\sqrt\pi}e^{-y^2}$. So by Jensen's inequality $P(|T| > e) = E\operatorname{erfc}(e\chi_m/\sqrt2)
    \ge \operatorname{erfc}(eE\chi_m/\sqrt2) \ge \operatorname{erfc}x$ with $x = e\sqrt{m/2}$, as $E\chi_m \le
    \sqrt{E\chi_m^2} = \sqrt m$. And $\operatorname{erfc}x \ge \frac2{\sqrt\pi}\int_x^{x+1}e^{-y^2}dy \ge
    e^{-(x+1)^2}$, as $\pi < 4$. T is symmetric, so that T > e has half the probability of |T| > e. With m = Cq, one
    client and $e = \epsilon'$, $x^2 = \frac{Cd\log(2/\epsilon_0)}{2(1-\epsilon_0)^2(1-\epsilon_1)^2}$.
    """
    m, y, x, C, d, L, near, far, e2 = sympy.symbols("m y x C d L near far e2", positive=True)
    slope = sympy.diff(sympy.erfc(y), y)
    convex = sympy.simplify(slope.diff(y) * sympy.sqrt(sympy.pi) * sympy.exp(y**2) - 4 * y) == 0
    falls = sympy.simplify(slope * sympy.sqrt(sympy.pi) * sympy.exp(y**2) + 2) == 0
    require(convex and falls, "erfc falls and is convex")
    density = y ** (m / 2 - 1) * sympy.exp(-y / 2) / (2 ** (m / 2) * sympy.gamma(m / 2))
    square = sympy.gammasimp(sympy.integrate(density * y, (y, 0, sympy.oo)))
    require(sympy.simplify(square - m) == 0, "the mean of a chi-square variable")
    # At y = x + 1/(1 + d) the exponent of the integrand is less than (x + 1)^2.
    room = sympy.factor(sympy.together((x + 1) ** 2 - (x + 1 / (1 + d)) ** 2))
    require(non_negative(sympy.expand(sympy.numer(room))) and surely(4 - iv.pi), "the bound from below")
    level = e2 / (near * far)  # near = 1 - eps_0, far = 1 - eps_1
    stated = level**2 * C * d * L / e2**2 / 2 - C * d * L / (2 * near**2 * far**2)
    require(sympy.simplify(stated) == 0, "x at m = Cq")


def enough_for_minimisers(factor: Fraction) -> None:
    r"""$m \ge Cq$ makes $N(1 + \epsilon'^2)^{-m/2}$ at most $\max\{\log N, d\}^{-10}$.

    For $e = \epsilon' \ge \epsilon_2$ and $m \ge Cq$: $\log(1 + e^2) \ge \epsilon_2^2\log 2$ (concavity) and
    $q\epsilon_2^2 \ge M = \max\{A, dL\}$. So $\frac m2\log(1 + e^2) \ge \frac C2\log2\,M$, which must be at least
    $A + 10\log Q$, and $\log Q \le Q/e$ with Euler's e. For $A \ge d$ that needs $\frac C2\log2 \ge 1 +
    \frac{10}e$, otherwise $\frac C2(\log2)^2 \ge 1 + \frac{10}e$.
    """
    half, needed = interval(factor) / 2, 1 + 10 / EULER
    met = surely(half * LOG_2 - needed) and surely(half * LOG_2**2 - needed)
    require(met, "the number of samples for the minimisers")


def enough_for_gradient(samples: Fraction, alpha: Fraction, beta: Fraction) -> None:
    r"""$Nm\epsilon_3^2 \ge C\log2\,K$ keeps two columns of $\bar S - I$ below $\epsilon_3$ but for $K^{-10}$.

    The deviation of the gradient is $2(\bar S - I)(\bar sa - a^*)\bar s = 2\bar s\delta(\bar S - I)(Ta - u)$ with the
    mean $\bar S$ of n = Nm samples and the mean T: at most $2|\bar s|\delta(|T|\,\|(\bar S - I)a\| + \|(\bar S -
    I)u\|)$, whether or not T is from the same samples. Let both norms be at most $\epsilon_3$ and $|T| \le \epsilon'$;
    then $|\bar s| \le 1 + \epsilon'$ gives (76). For a fixed unit vector v the square of $\|(\bar S - I)v\|$ is
    $(\frac{\chi^2_n}n - 1)^2 + \frac{\chi^2_n\chi^2_{d-1}}{n^2}$ with independent variables: at most
    $\epsilon_3^2(\alpha^2 + (1+\alpha)\beta)$ where $|\chi^2_n - n| \le \alpha\epsilon_3n$ and $\chi^2_{d-1} \le
    \beta\epsilon_3^2n$. By Chernoff's bound the first fails with probability at most $2\exp(-\frac
    n2\epsilon_3^2(\alpha - \log(1+\alpha)))$, as $(x - \log(1+x))/x^2$ falls in x and the lower tail is lighter; the
    second, for $n\epsilon_3^2 \ge yK/\beta$ with $K \ge d$, with at most $\exp(-\frac K2(y - 1 - \log y))$, which is
    largest at d = K. Here $n\epsilon_3^2 \ge C\log2\,K$: with K = d for $Nm \ge CdL/\epsilon_3^2$, and with K = Q for
    $m \ge Cq$ and $\epsilon_3 = \epsilon_2$. For C = 100, $\alpha = \frac35$ and $\beta = \frac7{20}$, where $\alpha^2
    + (1+\alpha)\beta = 0.92$, that makes $y \ge 24$ and probabilities of at most $2e^{-\kappa K}$ and $e^{-\lambda K}$
    for each vector with $\kappa > 4.5$ and $\lambda > 9.9$. And $4e^{-\kappa K} + 2e^{-\lambda K} \le 5e^{-\kappa K}
    \le K^{-10}$ for $K \ge 2$, as $\kappa K - 10\log K$ is least at $K = 10/\kappa$, where it is more than $\log5$.
    """
    whole, share, rest = interval(samples) * LOG_2, interval(alpha), interval(beta)
    kappa = whole * (share - iv.log(1 + share)) / 2
    y = whole * rest
    lighter = (y - 1 - iv.log(y)) / 2
    # 4 e^(-kappa K) + 2 e^(-lambda K) <= 5 e^(-kappa K), as (lambda - kappa) K >= log 2; then
    # kappa K - 10 log K is least at K = 10 / kappa.
    met = (
        surely(1 - share**2 - (1 + share) * rest)
        and surely(y - 1)
        and surely(1 - share)
        and surely(2 * (lighter - kappa) - LOG_2)
        and surely(10 - 10 * iv.log(10 / kappa) - iv.log(5))
    )
    require(met, "the number of samples for the gradient")


def near_identity(every: Fraction, every_more: Fraction) -> None:
    r"""$m \ge Kq$ gives (13) for every unit vector a at once with probability $1 - q^{-10}$, on the same samples too.

    With $S_i = X_i^\top X_i/m$, $\|S_i - I\|_{op} \le \rho \le 1$ fails with probability at most $2e^{-\rho^2m/50}$
    where $d \le \rho^2m/25$: the singular values of $X_i$ are within $\sqrt d + t$ of $\sqrt m$ but for a probability
    of $2e^{-t^2/2}$ (Davidson and Szarek); $t = \frac15\rho\sqrt m$ makes that at most $z\sqrt m$, $z = \frac25\rho$,
    and $2z + z^2 \le \rho$. Then $(S_i - I)a$ lies in a ball of radius $\rho$ for every a, so that $|T_i| \le
    \rho/\sqrt{1 - \rho^2}$. Let $\rho^2 = \frac12\epsilon_2^2$: that is at most $\epsilon_2 \le \epsilon'$, which is
    (13). With $\ell = -\log\min(\epsilon_1, \epsilon_2)$, $M = q\epsilon_2^2 \ge \max\{\log N, dL\} \ge 2\log2$ and
    $\log q \le \log M + 2\ell$ it fails at some client with probability at most $2Ne^{-\epsilon_2^2m/100} \le q^{-10}$
    for $K = 520 + 1450\ell$.
    """
    first, more, z = interval(every), interval(every_more), Fraction(2, 5)
    met = (
        2 * z + z**2 <= 1
        and surely(first / 50 - 1 / LOG_2)
        and surely(first / 100 - (iv.mpf(3) / 2 + 10 / EULER))  # log 2, log N and 10 log M over M
        and surely(more / 100 * 2 * LOG_2 - 20)
    )
    require(met, "the number of samples for every a")


@proof("rolora/lem-A.9")
def lem_A_9(factor: Fraction = Fraction(20)) -> str:
    r"""The law of a client's minimiser, a union over clients, and the sample count.

    One client's minimiser is farther than $\epsilon'\delta$ from $cb^*$ with probability at most
    $(1 + \epsilon'^2)^{-m/2}$, and one of N clients with at most N times that. For $m \ge Cq$, C = 20, the
    exponent is at least $\log N + 10\log\max\{\log N, d\}$, so that the probability is at most $\max\{\log N,
    d\}^{-10}$. The mean of the minimisers is within the largest of their distances. From below, for one client: "Least
    quotient".
    """
    normal_quotient()
    enough_for_minimisers(factor)
    least_quotient()
    return (
        "the exact law of a client's minimiser, bounds on its tail from both sides, a "
        "union over the clients, and the number of samples by intervals"
    )


@proof("rolora/lem-A.9@constant-of-the-thresholds")
def lem_A_9_thresholds(
    factor: Fraction = Fraction(20),
    more: Fraction = Fraction(50),
    every: Fraction = Fraction(520),
    every_more: Fraction = Fraction(1450),
) -> str:
    r"""For a independent of the samples $K = 20 + 50\ell$ is enough, $\ell = -\log\min(\epsilon_1, \epsilon_2)$.

    By the tail of Lemma A.9 as corrected: $q\epsilon_2^2 \ge M \ge 2\log2$ and $\log q \le \log M + 2\ell$, so that
    what is at least $\frac K2\log2\,M$, $\frac m2\log(1 + \epsilon'^2)$, has to be at least $M + \frac{10}eM +
    20\ell$. For every $a^t$, with the same samples in all iterations too, $K = 520 + 1450\ell$ is: see the last part.
    """
    normal_quotient()
    met = surely(interval(factor) / 2 * LOG_2 - 1 - 10 / EULER) and surely(interval(more) / 2 * LOG_2 * 2 * LOG_2 - 20)
    require(met, "the number of samples")
    near_identity(every, every_more)
    return (
        "the exact law of a client's minimiser, a union over the clients, and the number of samples by intervals; "
        f"for every a the known bound on singular values; K = {factor} + {more} l, for every a "
        f"{every} + {every_more} l, where l = -log min(eps_1, eps_2)"
    )


@proof("rolora/lem-A.10", GRADIENT_WORDS)
def lem_A_10(
    factor: Fraction = Fraction(20),
    samples: Fraction = Fraction(100),
    alpha: Fraction = Fraction(3, 5),
    beta: Fraction = Fraction(7, 20),
) -> str:
    r"""The minimisers as in Lemma A.9, and two columns of the mean Gram matrix.

    The deviation of the gradient is at most $2|\bar s|\delta(|T|\,\|(\bar S - I)a\| + \|(\bar S - I)u\|)$ in
    which both norms are at most $\epsilon_3$ but for a probability of $4e^{-\kappa K} + 2e^{-\lambda
    K} \le K^{-10}$. With K = d for this and Q for the minimisers both fail with at most $2d^{-10}$, as $Q \ge d$.
    """
    normal_quotient()
    enough_for_minimisers(factor)
    enough_for_gradient(samples, alpha, beta)
    return (
        "Lemma A.9 as corrected and Chernoff's bounds for two fixed vectors, for any number "
        "of clients and dimensions; constants by intervals"
    )


def enough_of_thresholds(samples: Fraction, alpha: Fraction, columns: Fraction) -> None:
    r"""$m \ge Kq$ for a constant K of the thresholds makes two probabilities at most $q^{-10}$ each.

    Let $\ell = -\log\min(\epsilon_1, \epsilon_2)$ and $M = q\epsilon_2^2 \ge dL \ge 2\log2$, so that $\log q \le \log M
    + 2\ell$. With $K \ge 300(1 + \ell)$, at least the constant of the proof of Lemma A.9 in this reading, (13) fails
    with probability at most $q^{-10}$. Let two columns have to be within $\tau \le 1$, and let $Nm\tau^2 \ge 300(1 +
    \ell)M$. In the proof of Lemma A.10 that is C log 2 times $k = gM(1 + \ell)$, $g = \frac{300}{C\log2}$, so that $k
    \ge d$ and they fail with probability at most $5e^{-\kappa k}$. And $\kappa k \ge \log5 + 10\log M + 20\ell$, as
    $\log M \le M/e$.
    """
    C, share, each = interval(samples), interval(alpha), interval(columns)
    kappa, g = C * LOG_2 * (share - iv.log(1 + share)) / 2, each / (C * LOG_2)
    least = 2 * LOG_2
    met = (
        surely(each * LOG_2 / 2 - 1 - 10 / EULER)
        and surely(each * LOG_2 * LOG_2 - 20)
        and surely(g * LOG_2 - 1)
        and surely(kappa * g - 10 / EULER)
        and surely((kappa * g - 10 / EULER) * least - iv.log(5))
        and surely(kappa * g * least - 20)
    )
    require(met, "the number of samples")


@proof("rolora/lem-A.10@with-the-m-of-lemma-a-9", GRADIENT_WORDS)
def lem_A_10_thresholds(
    columns: Fraction = Fraction(300),
    every: Fraction = Fraction(520),
    every_more: Fraction = Fraction(1450),
    samples: Fraction = Fraction(100),
    alpha: Fraction = Fraction(3, 5),
    beta: Fraction = Fraction(7, 20),
) -> str:
    r"""For a independent of the samples two columns, for every a the whole of the mean Gram matrix.

    The first, with a smaller threshold $\tau$ than $\epsilon_3$: let $\tau = \min\{1, \tilde\epsilon\frac{\epsilon'}{1
    + \epsilon'}\}$ and $K = 300(1 + \ell)\max\{1, \epsilon_2^2/\tau^2\}$. Where $|T| \le \epsilon'$ and both columns,
    $(\bar S - I)a$ and $(\bar S - I)u$, are at most $\tau$ long, the deviation of the gradient from (49) is at most
    $2\tau(1 + \epsilon')^2\delta \le 2\tilde\epsilon(\epsilon'^2 + \epsilon')\delta$ in units of $\|b^*\|^2$, as in the
    proof of Lemma A.10 with $\tau$ for $\epsilon_3$. $Nm\tau^2 \ge Kq\tau^2 \ge 300(1 + \ell)q\epsilon_2^2$, so that
    each of the two fails with probability at most $q^{-10}$.

    The second: where $\|S_i - I\|_{op} \le \rho$ for every client, $\rho = \min\{\epsilon_2/\sqrt2,
    \frac12\tilde\epsilon(\epsilon'^2 + \epsilon')\}$, every unit vector a has $|T| \le \rho/\sqrt{1 - \rho^2} \le
    \epsilon'$ and a deviation of at most $2|\bar s|\delta\rho\sqrt{1 + T^2} \le 2\delta\rho/(1 - \rho^2) \le
    4\delta\rho$, as $|\bar s| \le \sqrt{1 + T^2}$. That fails with probability at most $q^{-10}$ for K of $520 +
    1450\ell$ times $\epsilon_2^2/(2\rho^2)$, by the last part.
    """
    level, tilde = sympy.symbols("level tilde", positive=True)
    normal_quotient()
    enough_for_gradient(samples, alpha, beta)
    enough_of_thresholds(samples, alpha, columns)
    near_identity(every, every_more)
    same = sympy.expand((1 + level) ** 2 * tilde * level / (1 + level) - tilde * (level**2 + level))
    require(sympy.simplify(same) == 0, "the threshold of the columns")
    return (
        "Lemma A.9 in this reading and Chernoff's bounds for two fixed vectors, with a smaller threshold for these; "
        f"constants by intervals; K = {columns}(1 + l), for every a {every} + "
        f"{every_more} l, times what the thresholds ask for, l = -log min(eps_1, eps_2)"
    )


@proof("rolora/eq-43")
def eq_43(factor: Fraction = Fraction(28), C: Fraction = Fraction(4)) -> str:
    r"""For $d \ge 2$, $M = \max\{A, dL\} \ge 2\log2$, f the factor: $m\min(\epsilon_1, \epsilon_2)^2 \ge fM$.

    $\log(1 + 2/\epsilon_0) \le 2L$, so that the exponents are at most $\log2 + 3M - c_3fM$ and $M - \frac f4M$
    ($c_1/K^4 = \frac14$). Plus $4Q \le 4M/\log2$ they fall in M: M = 2 log 2 decides. And $4Q > 10\log Q$, as $\log Q
    \le Q/e$. (43) follows by (37) and (42), whose proofs are [one](rolora--eq-36.md) and
    [another](rolora--eq-38.md).
    """
    f, rest = interval(factor), interval(C)
    golden = (iv.sqrt(5) - 1) / 2
    c3 = golden + iv.log(golden) / 2
    net, lower = c3 * f - 3 - rest / LOG_2, f / 4 - 1 - rest / LOG_2
    sums = 2 * iv.exp(-net * 2 * LOG_2) + iv.exp(-lower * 2 * LOG_2)
    met = surely(net) and surely(lower) and surely(1 - sums) and surely(rest - 10 / EULER)
    require(met, "the exponents")
    return "exponents by intervals, for any number of clients, any thresholds and d from 2 on"


@proof("rolora/eq-43@constant-of-the-thresholds")
def eq_43_thresholds(factor: Fraction = Fraction(28), C: Fraction = Fraction(4)) -> str:
    r"""As in the first reading, q for M: $A, dL \le q$, $q \ge 2\log2$, $m\min(\epsilon_1, \epsilon_2)^2 \ge fq$.

    Beside log 2 the exponents are at most $q + 2q - c_3fq$ and $q - \frac f4q$. Both are below $-Cq$, and by so much
    that twice the first exponential and the second one add up to at most $e^{-Cq}$: what is left falls in q, so that
    q = 2 log 2 decides. And $Cq > 10\log q$, as $\log q \le q/e$. (43) is [Lemma A.9 in this
    reading](rolora--lem-A.9--constant-of-the-thresholds.md), if K is not less than the constant there.
    """
    f, rest = interval(factor), interval(C)
    golden = (iv.sqrt(5) - 1) / 2
    c3 = golden + iv.log(golden) / 2
    net, lower = c3 * f - 1 - 2 - rest, f / 4 - 1 - rest
    sums = 2 * iv.exp(-net * 2 * LOG_2) + iv.exp(-lower * 2 * LOG_2)
    met = surely(net) and surely(lower) and surely(1 - sums) and surely(rest - 10 / EULER)
    require(met, "the exponents")
    return "exponents by intervals, for any number of clients, any thresholds and d from 2 on"


@proof("rolora/eq-77")
def eq_77(factor: Fraction = Fraction(100), C: Fraction = Fraction(4)) -> str:
    r"""The three inequalities that stand.

    $\log2 + d\log(1 + 2/\epsilon_0) - c_5n\epsilon_3^2 \le \log2 + (2 - c_5f)dL < -Cd$ for $n\epsilon_3^2 \ge fdL$:
    $L \ge \log2$ and $d \ge 2$ decide; $Cd > 10\log d$ as $\log d \le d/e$. The last: $d^{-10} + q^{-10} \le
    2\min\{q, d\}^{-10}$. For $\epsilon_2 \le 0.8$, $q \ge d\log2/\epsilon_2^2 > d$, so that (79) itself fails.
    """
    f, rest = interval(factor), interval(C)
    c5 = (1 - LOG_2) / 2
    room = (c5 * f - 2) * LOG_2 - rest
    require(surely(room) and surely(2 * room - LOG_2) and surely(rest - 10 / EULER), "the exponents")
    require(surely(LOG_2 / interval("16/25") - 1), "q above d")
    return "exponents by intervals, for any dimensions and thresholds"
