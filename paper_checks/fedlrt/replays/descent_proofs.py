r"""Proofs of the corrected descent and convergence statements, L = 1, for all clients, steps and learning rates.

The effect of the local steps is proved in `local_steps`; here are truncation, the sum of the parts and the constants
that follow. A polynomial is shown to be non-negative by writing every quantity that is known to be non-negative as a
symbol: then no coefficient may be negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb
from types import MappingProxyType

import sympy

from paper_checks.fedlrt.replays.local_steps import (
    coefficients_of_the_power,
    local_steps_descend,
    loss_can_rise,
    no_smaller_constant_serves,
)
from paper_checks.fedlrt.replays.simplified_rounds import simplified_rounds_are_bounded
from paper_checks.fedlrt.replays.worst_cases import descends_as_a_bowl
from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require
from paper_checks.stored_values import Values

x, G, h, f, d = sympy.symbols("x G h f d", positive=True)
SQUARE_OF_ROOT = Fraction(2)
"""1 + delta^2 at most, for delta <= 1."""


def descent_for_all_steps(largest: Fraction, limit: Fraction, steps: Sequence[int], square: Fraction) -> None:
    """Require the descent of the local steps, with the clients' gradients at most the root of `square` times the mean.

    Args:
        largest: The largest R.
        limit: The largest s lambda L.
        steps: Numbers of steps at which the machine compares the coefficients.
        square: The square of the largest rho.
    """
    local_steps_descend(largest, limit)
    require(largest**2 >= square, "the largest R is below what the assumption allows")
    require(steps, "no steps")
    for s in steps:
        coefficients_of_the_power(s)


def cost_of_truncation(share: Fraction) -> None:
    r"""The cost of a truncation of norm $d \le \vartheta$: at most $\vartheta a + s\vartheta^2$, a the gradient's norm.

    Let D be what is cut, of norm d. Smoothness gives a change of at most $\langle\nabla\mathcal{L}, D\rangle +
    \frac12d^2$, and the product is $ad(1 - f)$ for some $f \ge 0$ by Cauchy and Schwarz. With $\vartheta = d + h$, $h
    \ge 0$, the bound minus that is a polynomial in a, d, f and h without a negative coefficient.
    """
    a, theta = sympy.Symbol("a", positive=True), d + h
    left = a * d * (1 - f) + d**2 / 2
    require(non_negative(theta * a + share * theta**2 - left), "the cost of the truncation")


@proof("fedlrt/lemma-4")
def lemma_4(half: Fraction = Fraction(1, 2)) -> str:
    r"""The loss along the segment from $Y_2$ to $Y_1$, integrated.

    $\phi(t) = \mathcal{L}(Y_2 + t(Y_1 - Y_2))$ has the derivative $\langle\nabla\mathcal{L}(Y_2 + t(Y_1 - Y_2)), Y_1 -
    Y_2\rangle$, which by the Lipschitz bound of the gradient is at most $\phi'(0) + tL\|Y_1 - Y_2\|^2$. The integral
    over t from 0 to 1 is $\phi'(0) + \frac L2\|Y_1 - Y_2\|^2$.
    """
    t = sympy.Symbol("t", positive=True)
    rest = sympy.integrate(t * G, (t, 0, 1))  # G stands for L times the squared distance
    require(non_negative(half * G - rest), "the integral of the Lipschitz bound")
    return "the Lipschitz bound of the gradient, integrated along the segment"


@proof("fedlrt/lemma-6")
def lemma_6(factor: Fraction = Fraction(1), clients: Sequence[int] = (1, 2, 3, 7)) -> str:
    r"""$C\sum_c\|x_c\|^2 - \|\sum_cx_c\|^2 = \sum_{c<k}\|x_c - x_k\|^2$: entry by entry, for any C.

    On the left $x_c^2$ has the factor C - 1 and $x_cx_k$ the factor -2; on the right each c is in C - 1 pairs.
    """
    require(clients, "no numbers of clients")
    for C in clients:
        xs = sympy.symbols(f"x_0:{C}")
        pairs = sum(((a - b) ** 2 for i, a in enumerate(xs) for b in xs[:i]), sympy.Integer(0))
        left = factor * C * sum(a**2 for a in xs) - sum(xs) ** 2
        require(sympy.expand(left - pairs) == 0, f"not the sum over pairs at {C} clients")
    return "the difference is the sum of the squares of all differences, for any C"


@proof("fedlrt/eq-36")
def eq_36(square: Fraction = Fraction(1, 2)) -> str:
    r"""Smoothness between the model before and after truncation, then Cauchy and Schwarz.

    The part that is cut has a norm of at most $\vartheta$, so that $\mathcal{L}(W + D) - \mathcal{L}(W) \le
    \langle\nabla\mathcal{L}(W), D\rangle + \frac L2 \|D\|^2 \le \vartheta\|\nabla\mathcal{L}(W)\| + \frac
    L2\vartheta^2$. With a bound G on the gradient along the way the mean value gives $\mathcal{L}(W + D) -
    \mathcal{L}(W) = \langle\nabla\mathcal{L}(W + hD), D\rangle \le \|\nabla\mathcal{L}(W + hD)\|\,\|D\| \le
    G\vartheta$.
    """
    cost_of_truncation(square)
    return (
        r"in units with L = 1, $\vartheta\|\nabla\mathcal{L}\| + \frac12\vartheta^2$ minus what smoothness gives is "
        "a sum of products of non-negative quantities"
    )


@proof("fedlrt/thm-2")
def thm_2(
    largest: Fraction = Fraction(1),
    limit: Fraction = Fraction(1),
    steps: Sequence[int] = (1, 2, 3, 10, 100, 1000),
    square: Fraction = Fraction(1, 2),
) -> str:
    r"""The local steps, then the truncation; the two bounds are added.

    With full correction every client's first step is along g, so that $\rho = 1$ and $R = 1 - \frac1s < 1$ in
    `local_steps`: for $x = s_*\lambda L \le 1$ the loss changes by at most $-s_*\lambda(1 - \frac{1+R}2x)\|g\|^2$
    before truncation, with $\frac{1+R}2 = 1 - \frac1{2s_*}$. The truncation adds at most
    $\vartheta\|\nabla\mathcal{L}\| + \frac L2 \vartheta^2$. No smaller constant serves all small learning rates: $\frac
    L2\|W - B\|^2$ for every client changes without truncation by $-\frac{1 - (1 - \lambda L)^{2s_*}}{2L}\|g\|^2$, which
    is $-s_*\lambda(1 - (1 - \frac1{2s_*})x)\|g\|^2$ up to terms of third order in $\lambda$.
    """
    descent_for_all_steps(largest, limit, steps, square=Fraction(1))
    cost_of_truncation(square)
    for s in steps:
        least = (1 - Fraction(1, 2 * s)) * s**2
        require(Fraction(comb(2 * s, 2), 2) == least, f"another constant at {s} steps")
    return (
        r"the constant $1 - \frac1{2s_*}$ for all clients, steps and $s_*\lambda L \le 1$ "
        "(a client's drift by induction, then a rational inequality in one variable), the least one by a "
        "bowl, and smoothness along the truncation"
    )


@proof("fedlrt/thm-9-proof@given-the-three-bounds")
def thm_9_proof(
    truncation: Fraction = Fraction(1), steps: Fraction = Fraction(1), constant: Fraction = Fraction(12)
) -> str:
    r"""The three differences add up to the whole one, whatever the losses are; and so do their bounds.

    Every bound is its difference plus a rest that is not negative, for the first by (36), for the second by Theorem 8;
    the third is zero (Lemma 7). The last line minus the change of the loss is the sum of the two.
    """
    first, wide, star, end, theta = sympy.symbols("L_0 L_wide L_star L_end theta")
    cut, slow = sympy.symbols("f_36 f_8", positive=True)
    parts = truncation * (end - star) + steps * (star - wide) + (wide - first)
    last = theta - x * (1 - 12 * x) * G**2  # L = 1, x = s lambda
    bounded = {end: star + theta - cut}, {star: wide - steps * x * (1 - constant * x) * G**2 - slow}, {wide: first}
    change = end - first
    for one in bounded:
        change = change.subs(one)
    require(sympy.expand(parts - (end - first)) == 0, "not the whole difference")
    require(sympy.expand(last - change - cut - slow) == 0, "another last line")
    return "a sum of three differences and of their bounds, two rests that are not negative"


@proof("fedlrt/thm-3")
def thm_3(
    limit: Fraction = Fraction(1, 2),
    steps: Sequence[int] = (1, 2, 3, 10, 16, 64, 300),
    constants: Mapping[str, Fraction] = MappingProxyType(
        {"1/24": Fraction("25.02"), "1/12": Fraction("13.03"), "213/10000": Fraction(48)}
    ),
) -> str:
    r"""A round descends by at least $|g|^2/K$ minus the cost of truncation; the least $|g|^2$ is below the mean.

    That share is the exact worst case of the local steps, which one bowl for all clients attains (below), so that K is
    the least for T = 1. As x tends to 0, K grows like $L/x$: no constant serves all small rates. For the comparison $1
    - (1 - \lambda L)^{2s_*} \ge 2x(1 - x)$: with $w = (1 - \lambda L)^{s_*} \le e^{-x} \le 1 - x + \frac{x^2}2$ one has
    $1 - w^2 \ge 1 - (1 - x + \frac{x^2}2)^2 = 2x(1 - x) + x^3(1 - \frac x4)$. For the constants at single x: K falls
    as x grows, and it is below $\frac{2L}{1 - e^{-2x}}$ for every $s_*$, with $e^{-y} \le 1 - y + \frac{y^2}2 -
    \frac{y^3}6 + \frac{y^4}{24}$.
    """
    require(0 < limit <= 1 - limit, "dominance needs x <= 1 - x")
    require(steps, "no steps")
    for s in steps:
        step = limit / s
        require(descends_as_a_bowl(s, step), f"not dominant at {s} steps")
        w = Fraction(1)
        for _ in range(s):
            w -= step * w
        K = 2 / (1 - (1 - step) ** (2 * s))
        attained = K * (1 - w**2) / 2 == 1 and 1 / (limit * (1 - limit)) >= K
        require(attained, f"the bowl does not attain K at {s} steps, or K is above 1/(x(1 - x))")
    require(constants, "no constants")
    for place, constant in constants.items():
        y = 2 * Fraction(place)
        fallen = y - y**2 / 2 + y**3 / 6 - y**4 / 24  # 1 - e^-y at least
        require(0 < y <= 2 * limit and constant * fallen >= 2, f"the constant at {place}")
    cost_of_truncation(Fraction(1, 2))
    return (
        "the exact worst case of the local steps, attained by a bowl, smoothness along the truncation, and the mean "
        "over the rounds"
    )


@proof("fedlrt/thm-4")
def thm_4(
    certificate: Values,
    largest: Fraction = Fraction(3, 2),
    limit: Fraction = Fraction(1),
    steps: Sequence[int] = (1, 2, 3, 10, 100, 1000),
    square: Fraction = Fraction(1, 2),
    least: Fraction = Fraction(1),
) -> str:
    r"""A client starts along $p_c$: g inside the block, its own gradient outside; the mean of the $p_c$ is g.

    $\frac1C\sum|p_c|^2 \le |g|^2 + \delta^2|g|^2$, so that $R = (1 - \frac1s)\sqrt{1+\delta^2}$. The certificates prove
    the same for some clients and steps with nothing but the inequalities of smooth functions. That (14) is not enough,
    however small $\delta$ is, an example shows (below).
    """
    descent_for_all_steps(largest, limit, steps, SQUARE_OF_ROOT)
    cost_of_truncation(square)
    simplified_rounds_are_bounded(certificate["certificates"])
    no_smaller_constant_serves(least)
    loss_can_rise()
    return (
        "all clients, steps and learning rates by a client's drift and a rational inequality; "
        f"{len(certificate['certificates'])} certificates of its instances; smoothness along the truncation; clients "
        r"whose gradients leave no smaller $\kappa$, by the interpolation conditions of smooth functions; two that "
        r"raise the loss under (14), for every $\delta$ below 1/10. Of the constants, largest bounds $(1 - "
        r"\frac1{s_*})\sqrt{1+\delta^2}$, limit $s_*\lambda L$; square and least are factors of $L\vartheta^2$ and of "
        r"$\kappa$. In a certificate i,j weighs the inequality of smooth functions between a client's points i and j "
        r"(+: the mean after the local steps), and the bound is that of the change over $\|\nabla_{\tilde "
        r"S}\mathcal{L}\|^2/L$"
    )


@proof("fedlrt/eq-46")
def eq_46(
    largest: Fraction = Fraction(3, 2), limit: Fraction = Fraction(1), steps: Sequence[int] = (1, 2, 3, 10, 100, 1000)
) -> str:
    r"""The argument of `local_steps` for the block of S alone, with g its gradient there.

    The correction takes the block's part of every client's first step to g, and what lies outside the block stays the
    client's own: the client starts along $p_c$ with $\frac1C\sum_c|p_c|^2 \le (1 + \delta^2)|g|^2$, so that $\rho =
    \sqrt{1+\delta^2}$. The block's part of the mean step is $-s\lambda(g + u)$, and u, a part of the drift, is at most
    as long as it: $|u| \le R\beta|g|$ with $R = (1 - \frac1s)\rho$. The rest is as there.
    """
    descent_for_all_steps(largest, limit, steps, SQUARE_OF_ROOT)
    return "all clients, steps and learning rates, by a client's drift and a rational inequality"


def _require_kappa_below(bound: Fraction) -> None:
    """Require that (1 + sqrt(2))/2, the largest kappa, is below a bound."""
    require(2 * bound > 1 and (2 * bound - 1) ** 2 > 2, "kappa can be larger")


@proof("fedlrt/cor-1")
def cor_1(
    largest: Fraction = Fraction(3, 2),
    limit: Fraction = Fraction(1, 2),
    steps: Sequence[int] = (1, 2, 3, 10, 100, 1000),
    kappa: str = "1.2072",
    constants: Mapping[str, Fraction] = MappingProxyType(
        {"1/12": Fraction("13.35"), "1/24": Fraction("25.28"), "1/94": Fraction(96), "1/2": Fraction(96)}
    ),
) -> str:
    r"""The corrected Theorem 4, summed over the rounds, and what its constant comes to.

    Each round has $\frac xL(1 - \kappa x)\|\nabla_{\tilde S}\mathcal{L}\|^2 \le \mathcal{L}(W_r^t) -
    \mathcal{L}(W_r^{t+1})$ plus the cost of its truncation. The sum over T rounds telescopes, and the least squared
    gradient is at most their mean. The constant $\frac1{x(1 - \kappa x)}$ grows with $\kappa < \frac12(1 + \sqrt2) <
    1.2072$, so that its values at a few x are known; as $x(1 - \kappa x)$ is concave in x, a constant that serves at
    two places serves between them.
    """
    bound = Fraction(kappa)
    _require_kappa_below(bound)
    require(constants, "no constants")
    for place, constant in constants.items():
        at = Fraction(place)
        require(0 < at <= Fraction(1, 2) and constant * at * (1 - bound * at) >= 1, f"the constant at {place}")
    descent_for_all_steps(largest, limit, steps, SQUARE_OF_ROOT)
    shown = ", ".join(f"{float(constant):g} at {place}" for place, constant in constants.items())
    return (
        rf"the corrected Theorem 4, its mean over the rounds, and the constants {shown} of "
        r"$s_*\lambda L$"
    )


@proof("fedlrt/cor-2-proof")
def cor_2_proof(kappa: str = "1.2072", constant: Fraction = Fraction(96), share: Fraction = Fraction(82)) -> str:
    r"""The corrected Theorem 4 at the printed rate; and both printed brackets there.

    With $x = s_*\lambda L = L/(12L + \delta^2)$ it has $\frac xL(1 - \kappa x)\|\nabla_{\tilde S}\mathcal{L}\|^2 \le
    \mathcal{L}(W_r^t) - \mathcal{L}(W_r^{t+1})$ plus the cost of truncation, $\kappa \le \frac12(1 + \sqrt2) < 1.2072$
    for all $\delta \le 1$. Where $L \ge \delta^2/82$, x lies between $\frac1{94}$ and $\frac1{12}$. At both ends $96x(1
    - \kappa x) \ge 1$, and so between them, as the left side is concave in x. At $s_*\lambda = 1/(12L + \delta^2)$ the
    bracket of (38) is $\delta^2/(12L + \delta^2)$ and that of Theorem 4 is $\delta^2(2 - 12L - \delta^2)/(12L +
    \delta^2)$, identities.
    """
    L, delta = sympy.symbols("L delta", positive=True)
    rate = 1 / (12 * L + delta**2)
    of_38 = 1 - 12 * rate * L - delta**2 * rate
    of_theorem_4 = 1 - delta**2 - 12 * rate * L + delta**2 * rate - delta**2 * (2 - 12 * L - delta**2) * rate
    require(sympy.simplify(of_38) == 0 and sympy.simplify(of_theorem_4) == 0, "the printed brackets")
    bound = Fraction(kappa)
    _require_kappa_below(bound)
    require(share > 0, "the constant")
    for end in (1 / (12 + share), Fraction(1, 12)):
        require(constant * end * (1 - bound * end) >= 1, "the constant")
    return (
        "the constant for every learning rate and every kappa that the corrected Theorem 4 has; the printed brackets "
        "as identities"
    )


@proof("fedlrt/assumption-1")
def assumption_1(factor: Fraction = Fraction(2)) -> str:
    r"""With b inside and a in all: the square outside is $a^2 - b^2$, and (14) says $a - b \le \delta g$.

    For the global loss at the start a = g, so that $b = (1 - \delta)g + f$, and d stands for $1 - \delta$. For a client
    $a = b + h$ with $\delta g = h + f$.
    """
    b = sympy.Symbol("b", positive=True)
    delta = 1 - d
    start = delta * (factor - delta) * G**2 - (G**2 - (d * G + f) ** 2)
    client = (h + f) * (factor * b + h + f) - ((b + h) ** 2 - b**2)
    require(non_negative(start), "the square outside for the global loss")
    require(non_negative(client), "the square outside for a client")
    return (
        r"$\delta(2-\delta)g^2$ and $\delta g(2b + \delta g)$ minus the square outside are sums "
        "of products of non-negative quantities"
    )


@proof("fedlrt/thm-11-combine")
def thm_11_combine(loss: Fraction = Fraction(2), half: Fraction = Fraction(1, 2)) -> str:
    r"""With L = 1, $\|U^\top FV\|^2 = (1 - \delta^2)G + f$ and $1 - 12x = h \ge 0$ right minus left side is $xhf$.

    $G = \|\tilde U^\top F\tilde V\|^2$, and f is what the block has above its least share of it; all three factors are
    non-negative.
    """
    delta = sympy.Symbol("delta", positive=True)
    block = (1 - delta**2) * G + f
    left = -x * (1 - 12 * x) * block + delta**2 * x * G + x**2 * delta**2 * G / 2
    right = -x * (1 - loss * delta**2 - 12 * (1 - delta**2) * x - half * delta**2 * x) * G
    room = sympy.expand(right - left - x * (1 - 12 * x) * f) + x * h * f
    require(non_negative(room), "the difference of the sides")
    return "the difference of the sides is a product of non-negative quantities"
