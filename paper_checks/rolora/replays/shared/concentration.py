r"""Concentration of minimisers and gradients for normal samples; $d \ge 2$, since $\delta^t$ is 0 otherwise.

a is independent of the samples. Units: $\|b^*\| = 1$; $a^* = ca + \delta u$ with a unit vector
u across a; $A = \log N$, $L = \log\frac2{\epsilon_0} \ge \log 2$, $Q = \max\{A, d\} \ge 2$.
"""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import iv, mpf

from paper_checks.replay import require

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
    """Return whether an interval lies above zero."""
    return bool(condition.a > mpf(0))


def normal_quotient() -> None:
    r"""A client's minimiser is off by more than $e\delta$ with probability at most $(1 + e^2)^{-m/2}$.

    Client i has $s_i = c + \delta T_i$ with $T = z^\top w/\|z\|^2$ for the independent standard normal vectors $z =
    X_ia$, $w = X_iu$ of m entries: a normal variable over an independent $\chi_m$. For a standard normal g, $P(|g|
    > y) \le e^{-y^2/2}$ (the difference is 0 at 0 and at infinity and first rises, then falls), so $P(|T| > e)
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
