"""Theorem 1, which is Theorem 6 of Appendix F.1: the drift of a client in a round.

Setting: `shared.chains`.

Setting: `shared.slack`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import factorial

import sympy

from paper_checks.fedlrt.replays.shared.chains import a, d, h, s
from paper_checks.fedlrt.replays.shared.slack import (
    FURTHER_STEPS,
    all_proved,
    corrected_steps_are_bounded,
    round_of,
    rounds,
)
from paper_checks.fedlrt.replays.shared.update_symbols import RATE, S_c, chain_rule, g, g_c, g_s, same, wide
from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require
from paper_checks.stored_values import Values


def _e_from_below(terms: int = 30) -> Fraction:
    return sum((Fraction(1, factorial(j)) for j in range(terms)), Fraction(0))


@proof("fedlrt/thm-1")
def thm_1(certificate: Values, further_steps: Sequence[int] = (100, *FURTHER_STEPS)) -> str:
    r"""A client's way by induction, for all steps and learning rates; certificates show the same at small sizes.

    Let L = 1, g be the global gradient at the start, $e_k$ a client's way after k steps, and $D_k$ how much its own
    gradient differs there from that at the start, $|D_k| \le |e_k|$. From $e_{k+1} = e_k - \lambda(g + D_k)$ follows
    $|e_{k+1}| \le (1 + \lambda)|e_k| + \lambda|g|$, and by induction $|e_k| \le ((1 + \lambda)^k - 1)|g|$, which the
    loss $-\frac12\|w\|^2 + \langle g, w\rangle$ attains. Here $((1 + \lambda)^k - 1)/\lambda = \sum_{j<k}(1 +
    \lambda)^j$ grows with k and with $\lambda$, so for $k \le s_*$ and $\lambda \le 1/s_*$ it is at most $s_*((1 +
    1/s_*)^{s_*} - 1)$. That is below $(e - 1)s_*$, as the terms $\binom{s_*}j s_*^{-j}$ of the power are at most those
    of the series of e, $1/j!$. So $|e_k| \le (e - 1)s_*\lambda|g|$, less than the printed bound.
    """
    certificates = certificate["certificates"]
    all_proved(certificates, [(*one, "drift", "-1", None) for one in rounds([1])], corrected_steps_are_bounded)
    for content in certificates:
        _, steps, step = round_of(content)
        bound = Fraction(content["bound"])
        require(bound == ((1 + step) ** steps - 1) ** 2, "a certified bound is not the exact worst drift")
        require(bound <= (_e_from_below() * steps * step) ** 2, "a certified bound is above the printed one")
    require(len(further_steps) > 0, "no further steps")
    for steps in (*range(1, 60), *further_steps):
        power = (1 + Fraction(1, steps)) ** steps
        require(power < _e_from_below(max(30, steps + 1)), f"(1 + 1/s)^s is not below e at s = {steps}")
    return (
        r"$\|\tilde S_c^s - \tilde S_c\| \le ((1 + \lambda L)^s - 1)\|\nabla_{\tilde S}\mathcal{L}\|/L$ by "
        rf"induction, and $(1 + \frac1s)^s < e$; {len(certificates)} exact weighted sums of smoothness inequalities "
        "prove the same bound for few steps"
    )


@proof("fedlrt/thm-6-recursion")
def thm_6_recursion(
    steps: Fraction = Fraction(1),
    drift: Fraction = Fraction(1),
    leading: Fraction = Fraction(1),
    last: Fraction = Fraction(1),
) -> str:
    r"""The step of (26), the triangle inequality, Lemma 3, $\tilde S_c = \tilde S$ and $\lambda L \le \frac1{s_*}$.

    With a, d and G for the norms of $\tilde S_c^s - \tilde S_c$, of the change of the client's gradient and of the mean
    one: the square of the sum of norms minus the square of the norm of the sum consists of the remainders in the
    inequality of Cauchy and Schwarz; then $d = a - h$ with $h \ge 0$ by Lemma 3, and $\lambda = \frac1{s_*} - f$ with
    $f \ge 0$.
    """
    G, f, *rests = sympy.symbols("G f f_1:4", positive=True)
    chain_rule()
    step = S_c - RATE * (wide(g_s) - wide(g_c) + wide(g))
    same(step, S_c + steps * RATE * wide(-g_s - (-g_c) + (-g)), "not the step of (26)")
    lengths = (a, RATE * d, RATE * G)
    products = sum(x * y - rest for (x, y), rest in zip(combinations(lengths, 2), rests, strict=True))
    square = sum(x**2 for x in lengths) + 2 * products
    triangle = (a + drift * RATE * d + leading * RATE * G) ** 2 - square
    require(non_negative(triangle), "the triangle inequality")
    lemma = drift * RATE * a - (drift * RATE * d).subs(d, a - h)
    require(non_negative(lemma), "step (I)")
    same(a + drift * RATE * a + leading * RATE * G, (1 + RATE) * a + RATE * G, "collected")
    slower = (last / s - 1 / s + f) * a
    require(non_negative(slower.subs(s, 1 / h)), "the rate")
    return "we insert the step; the differences of successive members are sums of products of non-negative quantities"


@proof("fedlrt/thm-6-proof")
def thm_6_proof(steps: Sequence[int] = (1, 2, 3, 10, 100)) -> str:
    r"""$\frac{a^j - 1}{a - 1} = N(a^j - 1) \le Na^j \le Na^N \le eN$ for $N = s_*$, $j = s + 1 \le N$.

    From $x_{j+1} \le ax_j + \lambda\|g\|$ and $x_0 = 0$ follows $x_j \le a^jx_0 + \lambda\|g\|\sum_{i<j}a^i$ by
    induction, as $1 + a\sum_{i<j}a^i = \sum_{i\le j}a^i$. The sum is a geometric one, $a = 1 + \frac1N$, and $a - 1 =
    \frac1N$. Then N is left out, and $a^j \le a^N$ as $a > 1$. For the last comparison $a^N = \sum_i\binom NiN^{-i}$
    with $\binom NiN^{-i} = \frac1{i!}\prod_{k<i}(1 - \frac kN) \le \frac1{i!}$, the terms of the series of e.
    """
    require(len(steps) > 0, "no steps")
    N, a, P = sympy.symbols("N a P", positive=True)  # P is a^(s+1) >= 1
    geometric = sympy.simplify((P - 1) / (a - 1) - N * (P - 1)).subs(a, 1 + 1 / N)
    require(sympy.simplify(geometric) == 0, "the geometric sum is not N (a^(s+1) - 1)")
    for count in steps:
        a_value = 1 + Fraction(1, count)
        powers = [a_value**k for k in range(count + 1)]
        for j in range(1, count + 1):
            total = sum(powers[:j], Fraction(0))
            chain = total == (powers[j] - 1) * count <= powers[j] * count <= powers[count] * count
            require(chain, f"the chain fails at {count} steps, step {j}")
        require(powers[count] < _e_from_below(max(30, count + 1)), f"a^N is not below e at N = {count}")
    return (
        "we sum the geometric series for every N and obtain the comparisons and $a^N < e$ from the series of e; the "
        f"program writes them out for N in {list(steps)} and every step"
    )
