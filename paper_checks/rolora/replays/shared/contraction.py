r"""The corrected contraction of the angle: on the events of the lemmas, with unlimited and with fixed samples.

Units: $\|b^*\| = 1$, so $\eta$ is s; $a^{*\top}a = c > 0$ (else change the signs of a* and b*), $a^* = ca +
\delta u$ with a unit vector u across a, $D = 1 - (\delta^0)^2 \le c^2$, $S_i = X_i^\top X_i/m$. A client's minimiser
is $s_ib^*$, $s_i = c + \delta T_i$ with $T_i = a^\top S_iu/a^\top S_ia$; their mean is $\bar s = c + \delta T$.

On the events. $\|\bar b - g\| \le \epsilon'\delta$ gives $\beta = \|\bar b\|^2$ between $(c - \epsilon'\delta)^2 \ge D
- \epsilon'$ and $(c + \epsilon'\delta)^2 \le 1 + \epsilon'^2$. With (88), (76), (106) and (115) the quotient
$\delta^{t+1}/\delta^t$ is at most $(|1 - 2s\beta| + 2s\tilde\epsilon(1+\epsilon')^2)$ over the root of $1 -
4s(\tilde\epsilon(1+\epsilon')^2 + \epsilon'^2 + \epsilon')$. Let $s \le \frac12$, let both thresholds be at most $\frac
D{10}$ and $\sigma = \tilde\epsilon(1+\epsilon')^2 \le 0.121D$. Where $1 - 2s\beta \ge 0$ the numerator is at most $1 -
2s(D - \epsilon') + 2s\sigma \le 1 - sD$, as $2\epsilon' + 2\sigma \le 0.442D$. Where it is negative, $2s\beta - 1 +
2s\sigma$ grows with s and $1 - sD$ falls, so $s = \frac12$ decides: $\epsilon'^2 + \sigma \le 0.131D \le 1 - \frac
D2$. Under the root is at least $1 - sD$, as $4(\sigma + \epsilon'^2 + \epsilon') \le 0.924D$. So the quotient is at
most $\sqrt{1 - sD}$, and $\delta^{t+1} \le \delta^t \le \delta^0$ keeps $D \le c^2$.

Unlimited samples. With u the squared cosine, $(\delta^{t+1}/\delta^t)^2 = (1 - 2su)^2/(1 + 4s^2u(1-u))$, and $(1 -
sD)(1 + 4s^2u(1-u)) - (1 - 2su)^2 = s\,h(u)$ with $h(u) = 4u - D - 4su^2 + 4s(1 - sD)u(1-u)$, concave in u: its ends D
and 1 decide. $h(1) = 4 - D - 4s$ gives the bound on s, $\frac14(4 - D)$, beyond which h is negative near u = 1. $h(D)/D
= 3 - 4sD + 4s(1 - sD)(1-D)$ is concave in s, where the ends decide again: 3 at s = 0, and at the bound at least $3 - (4
- D)D = (1-D)(3-D) \ge 0$.

Fixed samples, the same in both halves and in all iterations: let every $\|S_i - I\| \le \rho = k\sqrt D$ (a smaller
norm satisfies that too), and $e = \rho/\sqrt{1 - \rho^2}$. $(S_i - I)a$ lies in a ball of radius $\rho$, so the
angle of $S_ia$ with a has a sine of at most $\rho$: $|T_i| \le e$. The gradient is $2\bar s\delta\bar S(Ta - u)$, and
$Ta - u$ has the component $\bar s$ along the unit vector w across a* with $a = ca^* + \delta w$. So the part of $a -
s\nabla$ across a* is at most $\delta(|1 - 2s\bar s^2| + 2s\bar s\,\rho\sqrt{1 + e^2})$, and $\rho\sqrt{1 + e^2} = e$.
Along a the gradient is $2\bar s\delta\,\mathrm{mean}((T - T_i)(a^\top S_ia - 1))$, because $a^\top S_ia^* = s_i\,a^\top
S_ia$: at most $2\bar s\delta \rho e$ (the mean of $|T - T_i|$ is at most the root of the variance of the $T_i$, at most
e), so $\|a - s\nabla\| \ge 1 - 2s\bar s\rho e$. Further $\bar s \ge c - \delta e \ge \sqrt D - e\sqrt{1 - D} \ge
p\sqrt D$ with $p = 1 - r(1 - D/2)$ for any $r \ge e/\sqrt D$, as c grows where $\delta$ falls, and $\bar s^2 \le 1 +
e^2$. Let $2s\bar s^2 \le 1$. $(1 - 2s\bar s(\bar s - e))/(1 - 2s\bar s\rho e)$ falls in $\bar s$ wherever $\bar s \ge
e(\frac12 + \rho)$, so $\bar s = p\sqrt D$ decides. For $k = \frac3{10}$ one has $e \le r\sqrt D$ with $r = k(1 +
\frac D{20})$, and what has to be positive is the polynomial $(1 - sD)(1 - 2skprD^{3/2})^2 - (1 - 2sp(p-r)D)^2$ over sD,
in $\sqrt D$ from 0 to 1 and s from 0 to $\frac12$. Let $2s\bar s^2 > 1$: the numerator is at most $e^2 + e\sqrt{1 +
e^2}$ for $s \le \frac12$, which is less than 0.44, and the other side at least $\sqrt{1/2}$ times $1 - \rho e\sqrt{1 +
e^2} > 0.9$.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import sympy

from paper_checks.replay import require

D, s, u, x = sympy.symbols("D s u x")

FIXED_WORDS = {
    "more": "rho/sqrt(1 - rho^2) <= rho(1 + more D) for rho, the distance of fixed samples, up to share sqrt(D), "
    "D = 1 - (delta^0)^2"
}
"""Meaning of the constant for fixed samples."""


def _share(at: tuple[int, ...], powers: tuple[int, ...], degrees: list[int]) -> Fraction:
    """Return the weight of a power in a coefficient of Bernstein's basis."""
    share = Fraction(1)
    for i, p, n in zip(at, powers, degrees, strict=True):
        share *= Fraction(comb(i, p), comb(n, p))
    return share


def positive(polynomial: Any, variables: tuple[sympy.Symbol, ...], depth: int = 5, strict: bool = True) -> bool:
    """Return whether a polynomial is positive (or not negative) for all values of its variables in [0, 1].

    All of its coefficients in Bernstein's basis have the sign, on the whole or on each of the halves.
    """
    degrees = [max(sympy.degree(polynomial, v), 0) for v in variables]
    terms = {powers: Fraction(int(c.p), int(c.q)) for powers, c in sympy.Poly(polynomial, *variables).terms()}
    least = min(
        sum(
            (
                value * _share(at, powers, degrees)
                for powers, value in terms.items()
                if all(p <= i for p, i in zip(powers, at, strict=True))
            ),
            Fraction(0),
        )
        for at in product(*(range(n + 1) for n in degrees))
    )
    if least > 0 or (least == 0 and not strict):
        return True
    if depth == 0:
        return False
    widest = variables[depth % len(variables)]
    halves = (polynomial.subs(widest, widest / 2), polynomial.subs(widest, (1 + widest) / 2))
    return all(positive(sympy.expand(half), variables, depth - 1, strict) for half in halves)


def on_events(limit: Fraction, threshold: Fraction) -> None:
    """Show that a step up to ``limit`` contracts for thresholds up to ``threshold`` times D."""
    require(0 < limit <= 1 and threshold > 0, "a step and thresholds")
    level = threshold * D
    shift = level * (1 + level) ** 2
    require(positive(sympy.expand((D - 2 * level - 2 * shift) / D), (D,), strict=False), "the numerator")
    largest = 2 * limit * (1 + level**2) - 1 + 2 * limit * shift
    require(positive(sympy.expand(1 - limit * D - largest), (D,), strict=False), "the numerator, b long")
    below = D - 4 * (shift + level**2 + level)
    require(positive(sympy.expand(below / D), (D,), strict=False), "the denominator")


def unlimited() -> None:
    """Show that (4 - D)/4 bounds the step for unlimited samples."""
    whole = (1 - s * D) * (1 + 4 * s**2 * u * (1 - u)) - (1 - 2 * s * u) ** 2
    h = sympy.expand(whole / s)
    near, far = sympy.expand(h.subs(u, 1)), sympy.expand(h.subs(u, D) / D)
    require(sympy.expand(whole - s * h) == 0 and sympy.expand(near - (4 - D - 4 * s)) == 0, "h")
    # Both second derivatives are negative for s in (0, 1], D in (0, 1].
    require(positive(sympy.expand(-h.diff(u, 2) / s), (s, D)), "h is concave")
    require(positive(sympy.expand(-far.diff(s, 2)), (D,), strict=False), "h(D) is concave in s")
    require(far.subs(s, 0) == 3, "h(D) at 0")
    longest = (4 - D) / 4
    require(positive(sympy.cancel(far.subs(s, longest) / (1 - D)), (D,)), "h(D) at the longest step")


def fixed_samples(share: Fraction, more: Fraction) -> None:
    r"""A step up to $\frac12$ contracts if $\|S_i - I\| \le k\sqrt D$ for every client, where k is ``share``.

    With y for ``more``, r is $k(1 + yD)$, and $e \le r\sqrt D$.
    """
    require(0 < share < 1, "a share of the cosine")
    above = (1 + more * D) ** 2 * (1 - share**2 * D) - 1
    require(positive(sympy.expand(above / D), (D,), strict=False), "r is above e")
    square = x**2  # D
    r = share * (1 + more * square)
    p = 1 - r * (1 - square / 2)
    require(positive(sympy.expand(p - r * (Fraction(1, 2) + share * x)), (x,)), "falls in the length of b")
    half = s / 2  # the step: s in [0, 1] here
    top = 1 - 2 * half * square * p * (p - r)
    below = 1 - 2 * half * x * square * share * p * r
    require(positive(sympy.expand(top), (x, s)) and positive(sympy.expand(below), (x, s)), "positive sides")
    room = sympy.cancel(sympy.expand((1 - half * square) * below**2 - top**2) / (s * square))
    require(positive(sympy.expand(room), (x, s)), "the contraction")
    e = share * (1 + more)
    over, under = e**2 + e * (1 + e**2 / 2), 1 - (1 + e**2 / 2) * share * e
    require(under > 0 and over**2 * 2 <= under**2, "the contraction, b long")


def near_identity(samples: Fraction, share: Fraction, threshold: Fraction) -> None:
    r"""$m \ge Cq$ keeps $\|S_i - I\|_{op}$ of every client below $\rho$ with probability at least $1 - 2Q^{-10}$.

    Let $\rho = \frac3{10}\sqrt D$, and let $\epsilon_2 \le \epsilon' < \frac D{16}$. The singular values of $X_i$ are
    within $\sqrt d + t$ of $\sqrt m$ but for a probability of $2e^{-t^2/2}$ (Davidson and Szarek). Where $d \le
    \frac1{25}\rho^2m$, $t = \frac15\rho\sqrt m$ keeps that to $z\sqrt m$, $z = \frac25\rho$, and $2z + z^2 \le \rho$:
    at some client $\|S_i - I\|_{op} > \rho$ with probability at most $2Ne^{-\rho^2m/50}$. For $m \ge 100q$, with $M =
    \max\{\log N, d\log2\}$ and $Q = \max\{\log N, d\} \le M/\log2$, $m \ge 100 \cdot 256M/D^2$, so $\rho^2m/50 \ge
    46M$, which is more than $\log N + 10\log Q \le M + \frac{10}{e\log2}M$: a probability of at most $2Q^{-10}$.
    """
    z, e, log_2 = Fraction(2, 5), Fraction(2718, 1000), Fraction(693, 1000)  # both from below
    spread = share**2 * samples / threshold**2  # rho^2 m over M, D = 1
    needed = 1 + 10 / (e * log_2)
    require(2 * z + z**2 <= 1 and spread / 25 * log_2 >= 1 and spread / 50 >= needed, "the samples")
