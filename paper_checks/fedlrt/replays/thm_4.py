"""Theorem 4, which is Theorem 11 of Appendix G.1: the descent with simplified correction.

Setting: `shared.chains`.

Setting: `shared.full_correction`.

Setting: `shared.descent`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import sympy

from paper_checks.fedlrt.replays.shared.chains import square_of_sum
from paper_checks.fedlrt.replays.shared.descent import (
    SQUARE_OF_ROOT,
    G,
    cost_of_truncation,
    descent_for_all_steps,
    f,
    h,
    x,
)
from paper_checks.fedlrt.replays.shared.opposite_clients import LOSSES, entries, follow_opposite, inner
from paper_checks.fedlrt.replays.shared.slack import (
    SIZES,
    Row,
    Slack,
    all_proved,
    bound_by_multipliers,
    plus,
    round_of,
    rounds,
)
from paper_checks.fedlrt.replays.shared.update_symbols import RATE, S_c, g, g_c, g_s, same, wide
from paper_checks.proof_steps import non_negative, positive
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions


def no_smaller_constant_serves(constant: Fraction) -> None:
    r"""No constant below $\frac{1+R}2$ serves all small rates; `constant` is a factor of it, which must be 1.

    Clients start along $p = g + \delta n$, where $|g| = 1$, g is in the block of S, and n is a unit vector in the
    augmented bases and outside that block, so $|p| = \rho$. The n of all clients add up to zero: two are opposite, and
    three or more lie in a plane. As the mean gradient g adds no direction to the bases, a QR decomposition completes
    them with columns of its own; n is made of products of these with one another or with columns of U and V. Each
    client has, up to terms of higher order in the rate, gradients $D(-tp) = -t\rho g$ on its way, $t = k\lambda$, and
    $D(-xg) = -xg$ at the server's point. Smooth functions with L = 1 through these exist: by the interpolation
    conditions, each of which is an equality or has a rest without negative coefficients in $\rho - 1$. With all
    gradients times $1 - \eta$ they are strict, and the higher orders fit in. The mean step is then $-yg$, $y = x -
    \frac12(1 - \frac1s)\rho x^2$ to second order, and the change $-y + \frac12y^2$.
    """
    x, t, q, h, s = sympy.symbols("x t q h s", positive=True)
    rho = 1 + h

    def inner(one: tuple[sympy.Expr, sympy.Expr], other: tuple[sympy.Expr, sympy.Expr]) -> sympy.Expr:
        return one[0] * other[0] + one[0] * other[1] + one[1] * other[0] + rho**2 * one[1] * other[1]  # along g and p

    zero = sympy.Integer(0)
    way = {at: ((zero, -at), (-at * rho, zero), at**2 * rho / 2) for at in (t, q)}
    end = ((-x, zero), (-x, zero), x**2 / 2)
    for one, other in ((way[t], way[q]), (way[t], end), (end, way[t])):
        apart, turn = (tuple(b - a for a, b in zip(one[i], other[i], strict=True)) for i in (0, 1))
        bent = (inner(turn, turn) - inner(apart, apart) + 2 * inner(turn, apart)) / 4
        room = other[2] - one[2] - inner(one[1], apart) - bent
        require(non_negative(room), "no smooth function has these gradients")
    y = x - (1 - 1 / s) * rho * x**2 / 2
    second = sympy.expand(-y + y**2 / 2).coeff(x, 2)
    needed = sympy.simplify(second - constant * (1 + (1 - 1 / s) * rho) / 2)
    require(needed == 0, "another constant")


def loss_can_rise(push: int = 4, inside: int = 20_000) -> None:
    r"""Under (14) the loss can rise in a round of Algorithm 5, for every $\delta = \frac1k$, k a number above 10.

    Let $n = 2$, $r = 1$, L = 1, $W_r = e_1e_1^\top$ and $w = W - W_r$. Two clients have the losses $\pm(Pw_{11} +
    Qw_{22} + w_{11}w_{22}) + w_{11} + \delta(w_{12} + w_{21})$, of which the terms with $\pm$ cancel in L, and take two
    steps of $\lambda = \frac1{48}$; $Q = \frac4\lambda = 192$ and $P = 20000k$. As $\delta \ne 0$ the augmented bases
    are the whole plane. The correction takes out P and leaves Q, so $w_{22}$ moves by $\mp\lambda Q$ in the first
    step, and $w_{11}$ by $-\lambda(1 - \lambda Q)$ in the second one of either client. In the mean $w_{11} = -2\lambda
    + \lambda^2Q = 2\lambda$, $w_{12} = w_{21} = -2\lambda\delta$ and $w_{22} = 0$: the loss rises by $2\lambda(1 -
    2\delta^2)$, while $C > 0$, and nothing is cut where $\vartheta$ is below the smaller singular value, which is not
    0. (14) holds for L, which has one gradient everywhere, of norm $g = \sqrt{1 + 2\delta^2}$, as $(1 - \delta)^2g^2 <
    1$; for a client at each step, with b in the block and h outside of it, as $\sqrt{b^2 + h^2} - b \le
    \frac{h^2}{2b} < \delta \le \delta g$.
    """
    beyond = sympy.Symbol("m", positive=True)
    k, step = 10 + beyond, sympy.Rational(1, 48)
    delta, Q, P = 1 / k, push / step, inside * k
    slope, ends, holds = sympy.Matrix([[1, delta], [delta, 0]]), [], []
    for sign in (1, -1):
        w = sympy.zeros(2, 2)
        for _ in range(2):
            own = slope + sign * sympy.Matrix([[P + w[1, 1], 0], [0, Q + w[0, 0]]])
            block, outside = sign * own[0, 0], own[0, 1] ** 2 + own[1, 0] ** 2 + own[1, 1] ** 2
            holds += [positive(block), positive(2 * block * delta - outside)]
            w = w - step * (own - sign * sympy.Matrix([[P, 0], [0, 0]]))
        ends.append(w)
    w, whole = (ends[0] + ends[1]) / 2, 2 * step
    holds += [
        positive(1 - (1 - delta) ** 2 * (1 + 2 * delta**2)),
        positive(1 - delta**2 - 12 * whole + delta**2 * whole),
        positive(sum(a * b for a, b in zip(slope, w, strict=True))),
        positive(w[0, 1] * w[1, 0] - (1 + w[0, 0]) * w[1, 1]),
    ]
    require(all(holds), "the loss does not rise under (14)")


Pair = tuple[Row, Row]
"""Parts of a vector inside and outside of the block, which are orthogonal."""


class Parts:
    """The slack in both parts of the space, and the vectors by their coordinates.

    Inside are g and the changes of the clients' gradients; outside, their gradients at the start come first.
    """

    def __init__(self, clients: int, points: int) -> None:
        self.clients, self.points = clients, points
        self.inside, self.outside = Slack(1 + clients * points), Slack(clients + clients * points)
        starts = [self.outside.unit(c) for c in range(clients)]
        mean = plus(*((Fraction(1, clients), start) for start in starts))
        within = self.inside.unit(0)
        self.g: Pair = (within, mean)
        self.pushes: list[Pair] = [(within, start) for start in starts]
        self.nothing: Pair = ([Fraction(0)] * self.inside.size, [Fraction(0)] * self.outside.size)

    def change(self, client: int, point: int) -> Pair:
        """Return the change of a client's gradient between the start and one of its points."""
        place = client * self.points + point
        return self.inside.unit(1 + place), self.outside.unit(self.clients + place)

    def add(self, factor: Fraction | int, one: Pair, other: Pair) -> None:
        """Add a multiple of an inner product."""
        self.inside.add(factor, one[0], other[0])
        self.outside.add(factor, one[1], other[1])

    def non_negative(self) -> bool:
        """Return whether both parts are."""
        return self.inside.non_negative() and self.outside.non_negative()


def _plus(*terms: tuple[Fraction | int, Pair]) -> Pair:
    return plus(*((k, pair[0]) for k, pair in terms)), plus(*((k, pair[1]) for k, pair in terms))


def simplified_steps_are_bounded(content: Mapping[str, Any]) -> None:
    """Require that the multipliers of a certificate prove its bound for rounds with simplified correction."""
    clients, steps, step = round_of(content)
    bound, delta, whole = Fraction(content["bound"]), Fraction(content["outside"]), steps * step
    multipliers = {name: Fraction(value) for name, value in content["multipliers"].items()}
    require(
        content["recursion"] == "FeDLRT, simplified" and min(multipliers.values(), default=Fraction(-1)) >= 0,
        "not a certificate of rounds with simplified correction with non-negative multipliers",
    )
    # -x (1 - kappa x) with 2 kappa = 1 + (1 - 1/s) sqrt(1 + delta^2); only the root on the left of >=
    root = (2 * (bound / whole + 1) / whole - 1) / (1 - Fraction(1, steps))
    require(root <= 0 or root**2 <= 1 + delta**2, "the certified bound is above the corrected statement")
    names = [*map(str, range(steps)), "+"]
    parts = Parts(clients, steps)
    slopes = [[parts.nothing, *(parts.change(c, k) for k in range(steps))] for c in range(clients)]
    walks = []
    for D, push in zip(slopes, parts.pushes, strict=True):
        walk = [parts.nothing]
        for k in range(steps):
            walk.append(_plus((1, walk[-1]), (-step, D[k]), (-step, push)))
        walks.append(walk)
    end = _plus(*((Fraction(1, clients), walk[-1]) for walk in walks))
    outside = multipliers.pop("outside", Fraction(0))
    parts.add(bound, parts.g, parts.g)
    parts.add(-1, parts.g, end)
    parts.add(-outside * delta**2, parts.g, parts.g)
    for push in parts.pushes:
        beyond = (parts.nothing[0], push[1])
        parts.add(outside / clients, beyond, beyond)
    points = [[*walk[:steps], end] for walk in walks]
    bound_by_multipliers(parts, _plus, names, slopes, points, multipliers, Fraction(-1))


def simplified_rounds_are_bounded(certificates: Sequence[Mapping[str, Any]]) -> None:
    """Require the proofs of all certificates, at the settings that are promised."""
    settings = [
        (*one, "descent", "-1", outside) for one in rounds([Fraction(1, 12), 1], SIZES[1:]) for outside in ("1/10", "1")
    ]
    all_proved(certificates, settings, simplified_steps_are_bounded)


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

    $\frac1C\sum|p_c|^2 \le |g|^2 + \delta^2|g|^2$, so $R = (1 - \frac1s)\sqrt{1+\delta^2}$. The certificates prove
    the same for some clients and steps with nothing but the inequalities of smooth functions. That (14) is not enough,
    however small $\delta$ is, an example shows (below).
    """
    descent_for_all_steps(largest, limit, steps, SQUARE_OF_ROOT)
    cost_of_truncation(square)
    simplified_rounds_are_bounded(certificate["certificates"])
    no_smaller_constant_serves(least)
    loss_can_rise()
    return (
        "a client's drift and a rational inequality give the bound for all clients, steps and learning rates, and "
        f"{len(certificate['certificates'])} certificates prove instances of it; smoothness bounds the cost of "
        "truncation; by the interpolation conditions of smooth functions there are clients whose gradients rule out a "
        r"smaller $\kappa$; for every $\delta$ below 1/10, two clients raise the loss under (14). The page of the "
        r"proof lists numbers by name: “largest” is an upper bound on $(1 - \frac1{s_*})\sqrt{1+\delta^2}$, “limit” "
        r"is an upper bound on $s_*\lambda L$, “square” is the coefficient of $L\vartheta^2$, and “least” is the "
        r"share of $\kappa$ below which no constant is valid. In its certificates, “i,j” is the multiplier of the "
        "interpolation inequality of smooth functions for a client's iterates i and j, where + denotes the mean after "
        r"the local steps, and the bound is on the change of the loss divided by $\|\nabla_{\tilde S}\mathcal{L}\|^2/L$"
    )


@replay("fedlrt/thm-4")
def thm_4_as_printed(values: Values) -> Violation:
    """Compare the change of the loss in the round with the printed bound."""
    at = follow_opposite(values)
    bracket = 1 - at.delta**2 - 12 * at.whole + at.delta**2 * at.whole
    return Violation(
        at.change,
        -at.whole * bracket * at.square + at.theta,
        assumes=at.assumes,
        given=at.given,
        reads=f"{LOSSES}, no singular value is truncated in the round. We compare the change of the loss with the "
        "printed bound",
    )


def _step_of_algorithm_5(corner: sympy.Matrix) -> Any:
    """Return a client's step with the corner of the correction."""
    return S_c - RATE * (wide(g_s) + corner * wide(g - g_c) * corner)


@proof("fedlrt/thm-11-hat-lines")
def thm_11_hat_lines(
    jensen: Fraction = Fraction(1), clients: Sequence[int] = (1, 2, 3), steps: Sequence[int] = (1, 2, 3)
) -> str:
    r"""Algorithm 5 corrects only the corner, so the rest moves along the clients' own gradients, from zero.

    Its end is minus $\frac\lambda C\sum_{c,s}\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)$ (Lemma 1, eq. (40) as
    corrected): the first equalities of both terms. A product with the gradient is a sum of products, each at most the
    product of the norms. Lemma 6 over the clients and then over the steps gives the two bounds of the square. In both
    last lines all terms of a sum are equal.
    """
    require(len(clients) * len(steps) > 0, "no numbers")
    corner = sympy.diag(1, 0)
    full = _step_of_algorithm_5(corner)
    rest = full - corner * full * corner
    start = S_c - corner * S_c * corner
    own = wide(g_s)
    same(rest, start - RATE * (own - corner * own * corner), "the steps of the rest")
    for C, count in product(clients, steps):
        square_of_sum(C, jensen)
        square_of_sum(count)
    return (
        "we follow the steps outside the block, and apply the Cauchy-Schwarz inequality and twice Lemma 6, for any "
        "numbers of terms"
    )


def _linear(values: Values) -> tuple[Fraction, Fraction, Fraction, Fraction, list[Hypothesis]]:
    """Read squared gradient outside the block, squared gradient, delta, rate, and what is assumed; L = 1, s = 1.

    One client with the loss ``<slope, w>``: its gradients are the global ones, the same everywhere.
    """
    slope = entries(values["slope"])
    size, delta, rate = fractions(values, "norm", "delta", "step")
    assumes = [
        Hypothesis("squared norm of the gradient", inner(slope, slope), "=", size**2),
        Hypothesis("norm of the gradient", size, ">", 0),
        Hypothesis("gradient of V across V", slope[1], "!=", 0),
        Hypothesis("gradient of U across U", slope[2], "!=", 0),
        Hypothesis("lambda", rate, ">", 0),
        Hypothesis("12 s lambda L", 12 * rate, "<=", 1),
        Hypothesis("delta", delta, ">", 0),
        Hypothesis("delta, for delta << 1", delta, "<=", Fraction(1, 10)),
        Hypothesis("(14): gradient minus its block", size - abs(slope[0]), "<", delta * size),
    ]
    return size**2 - slope[0] ** 2, size**2, delta, rate, assumes


def _two_opposite(values: Values, delta: Fraction) -> tuple[list[Fraction], list[Hypothesis]]:
    """Return the mean move of two opposite clients in two steps of 1/48, and (14) for their losses at each."""
    P, Q = fractions(values, "apart_inside", "apart_outside")
    slope, step, ends, assumes = entries(values["slope"]), Fraction(1, 48), [], []
    for sign in (1, -1):
        w = [Fraction(0)] * 4
        for _ in range(2):
            own = [sign * P + slope[0], slope[1], slope[2], sign * (Q + w[3]) + slope[3]]
            c = delta * Fraction(values["norm"])
            name = "(14), one of two opposite clients: squared gradient outside the block"
            assumes.append(Hypothesis(name, inner(own[1:], own[1:]), "<", 2 * abs(own[0]) * c + c**2))
            w = [a - step * (slope[0] if i == 0 else b) for i, (a, b) in enumerate(zip(w, own, strict=True))]
        ends.append(w)
    return [(a + b) / 2 for a, b in zip(*ends, strict=True)], assumes


@replay("fedlrt/thm-11-hat-lines")
def thm_11_hat_lines_as_printed(values: Values) -> Violation:
    """Take the squared steps outside the block, and those by the gradients of the global loss, printed to be equal.

    Two opposite clients take two steps of 1/48; the global gradient is the slope everywhere.
    """
    _, _, delta, _, assumes = _linear(values)
    moved, more = _two_opposite(values, delta)
    stated = [Fraction(1, 24) * a for a in entries(values["slope"])]
    return Violation(
        abs(inner(moved[1:], moved[1:]) - inner(stated[1:], stated[1:])) / 2,
        Fraction(0),
        assumes=[*assumes, *more],
        reads="two clients take two steps of 1/48 with the losses ±(P w11 + Q w22 + w22^2/2) + <slope, w>. Half of "
        f"the squared steps outside the block is {float(inner(moved[1:], moved[1:])) / 2:.4g}, and with the gradients "
        f"of the global loss at the clients' weights it is {float(inner(stated[1:], stated[1:])) / 2:.4g}. We compute "
        "the difference of the two numbers",
    )


def product_outside_the_block(share: Fraction, power: int) -> None:
    r"""A product of two norms $a, b \le \delta g$ is at most share times $\delta$ to the power, times $g^2$.

    With $p = \delta g - a$, $q = \delta g - b$, all of them and a not negative, and $\delta = 1/(1 + A)$. Equality
    is at p = q = 0, for any A at the power 2.
    """
    a, p, q, A = sympy.symbols("a p q A", positive=True)
    D = a + p  # delta g
    product = D**2 - q * D - p * (D - q)  # (D - p)(D - q), with b = D - q
    bound = share * D**2 * (1 + A) ** (2 - power)
    difference = sympy.fraction(sympy.together(bound - product))
    require(all(map(non_negative, difference)), "a product of the two norms exceeds the bound")


@proof("fedlrt/thm-11-hat-first")
def thm_11_hat_first(share: Fraction = Fraction(1), power: int = 2) -> str:
    r"""Outside the block nothing corrects: $\hat S^* - \hat S = -\frac\lambda C\sum_{c,s}\nabla_{\hat S}\mathcal{L}_c$.

    Each term is at most $\delta g$ long, $g = \|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|$, hence the sum at most
    $s_*\lambda\,\delta g$; so is the mean of the terms at the start, $\nabla_{\hat S}\mathcal{L}(\tilde W_r)$, at most
    $\delta g$. By Cauchy and Schwarz the product is at most $s_*\lambda\,\delta^2g^2$ in size. For one client, one step
    and $\|\nabla_{\hat S}\mathcal{L}\| = \delta g$ it is that.
    """
    product_outside_the_block(share, power)
    return "the triangle inequality over steps and clients, followed by the Cauchy-Schwarz inequality, gives the bound"


@replay("fedlrt/thm-11-hat-first")
def thm_11_hat_first_as_printed(values: Values) -> Violation:
    """Run one client, one step, with the printed sign; two opposite clients, two steps of 1/48, with the other one."""
    outside, square, delta, rate, assumes = _linear(values)
    moved, more = _two_opposite(values, delta)
    bound = delta**2 * Fraction(1, 24) * square
    product = inner(entries(values["slope"])[1:], moved[1:])
    assumes += [*more, Hypothesis("inner product with the other sign, two clients", product, ">", bound)]
    return Violation(
        rate * outside,
        delta**2 * rate * square,
        assumes=assumes,
        reads="one client takes one step with the loss <slope, w>. (For the other sign we take two clients, two steps "
        "of 1/48 and the losses ±(P w11 + Q w22 + w22^2/2) + <slope, w>.) We compare the inner product with its bound",
    )


@replay("fedlrt/thm-11-hat-first@f-as-the-negative-gradient")
def thm_11_hat_first_as_meant(values: Values) -> Violation:
    """Run two opposite clients, two steps of 1/48, with the sign of Lemma 4; one client, one step, as printed."""
    outside, square, delta, rate, assumes = _linear(values)
    moved, more = _two_opposite(values, delta)
    printed = Hypothesis("inner product as printed, one client", rate * outside, ">", delta**2 * rate * square)
    return Violation(
        inner(entries(values["slope"])[1:], moved[1:]),
        delta**2 * Fraction(1, 24) * square,
        assumes=[*assumes, *more, printed],
        reads="with two clients, two steps of 1/48 and the losses ±(P w11 + Q w22 + w22^2/2) + <slope, w>, we compare "
        "the inner product of the move outside the block and the gradient there with its bound",
    )


@proof("fedlrt/thm-11-hat-second")
def thm_11_hat_second(half: Fraction = Fraction(1, 2), power: int = 2) -> str:
    r"""The way outside the block is at most $s_*\lambda\,\delta g$, $g = \|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|$.

    It is $s_*\lambda$ times the mean, over clients and steps, of the clients' gradients there. By Jensen's inequality a
    mean is at most as long as the root mean square of its terms, here $\delta g$. Half of the square follows, with
    L = 1.
    """
    product_outside_the_block(2 * half, power)
    return "Jensen's inequality over steps and clients gives the bound"


@replay("fedlrt/thm-11-hat-second")
def thm_11_hat_second_as_printed(values: Values) -> Violation:
    """Take one step."""
    outside, square, delta, rate, assumes = _linear(values)
    return Violation(
        rate**2 * outside / 2,
        delta**2 * rate**2 * square / 2,
        assumes=assumes,
        reads="with one client, one step and the loss <slope, w>, we compare the square with its bound",
    )


@proof("fedlrt/thm-11-combine")
def thm_11_combine(loss: Fraction = Fraction(2), half: Fraction = Fraction(1, 2)) -> str:
    r"""With L = 1, $\|U^\top FV\|^2 = (1 - \delta^2)G + f$ and $1 - 12x = h \ge 0$ right minus left side is $xhf$.

    $G = \|\tilde U^\top F\tilde V\|^2$, and f is the excess of the block over its smallest share of G; all three
    factors are non-negative.
    """
    delta = sympy.Symbol("delta", positive=True)
    block = (1 - delta**2) * G + f
    left = -x * (1 - 12 * x) * block + delta**2 * x * G + x**2 * delta**2 * G / 2
    right = -x * (1 - loss * delta**2 - 12 * (1 - delta**2) * x - half * delta**2 * x) * G
    room = sympy.expand(right - left - x * (1 - 12 * x) * f) + x * h * f
    require(non_negative(room), "the difference of the sides")
    return "the difference of the sides is a product of non-negative quantities"


def _step_one(values: Values, power: int) -> Violation:
    """Evaluate step (I) with delta to a power, in units of the squared gradient; the block has less than all of it."""
    L, x, delta, share = fractions(values, "L", "x", "delta", "share")
    assumes = (
        Hypothesis("L", L, ">", 0),
        Hypothesis("x", x, ">", 0),
        Hypothesis("12 x L", 12 * x * L, "<=", 1),
        Hypothesis("delta", delta, ">", 0),
        Hypothesis("delta, for delta << 1", delta, "<=", Fraction(1, 10)),
        Hypothesis("share of the block in the squared gradient", share, ">=", 1 - delta**2),
        Hypothesis("share of the block in the squared gradient", share, "<=", 1),
    )
    rest = delta**power * (x + x**2)
    first = -x * (1 - 12 * x * L)
    last = -x * (1 - delta**2 - 12 * x * L + delta**2 * x)
    unequal = Hypothesis("second line, which the paper equates with the third", first + rest, "!=", last)
    return Violation(
        first * share + rest,
        first + rest,
        assumes=(*assumes, unequal),
        reads="with x = s_* lambda and share = |U'FV|^2 / |Ut'FVt|^2, we compare the first line with the second, both "
        "in units of |Ut'FVt|^2",
    )


@replay("fedlrt/thm-11-combine")
def thm_11_combine_as_printed(values: Values) -> Violation:
    """Evaluate step (I) as printed."""
    return _step_one(values, 1)


@replay("fedlrt/thm-11-combine@squares-of-delta")
def thm_11_combine_as_meant(values: Values) -> Violation:
    """Evaluate step (I) with the squares of delta that the bounds have."""
    return _step_one(values, 2)
