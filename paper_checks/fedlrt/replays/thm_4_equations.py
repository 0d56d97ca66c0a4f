"""Appendix G.1: the equations of the proof of Theorem 11, (39) to (46).

Setting: `shared.descent`.

Setting: `shared.update_symbols`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy

from paper_checks.fedlrt.replays.shared.descent import SQUARE_OF_ROOT, descent_for_all_steps
from paper_checks.fedlrt.replays.shared.opposite_clients import LOSSES, Opposite, follow_opposite, inner
from paper_checks.fedlrt.replays.shared.update_symbols import (
    CORNER,
    RATE,
    S_c,
    Ut,
    V,
    chain_rule,
    corner,
    corrected,
    g,
    g_c,
    g_s,
    same,
    smoothness,
    wide,
)
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions


@proof("fedlrt/eq-39")
def eq_39(sign: Fraction = Fraction(1), share: Fraction = Fraction(1)) -> str:
    r"""$\check G_{\tilde S}$ has $G_S = \nabla_S\mathcal{L}(USV^\top) = U^\top gV$ in its corner, by the chain rule."""
    chain_rule()
    block = corner(Ut * g * V) - corner(Ut * g_c * V)
    same(block, sign * share * corner(Ut * (g - g_c) * V), "not the correction of Algorithm 5")
    return "both sides are the same block of the difference of the gradients"


@replay("fedlrt/eq-39b")
def eq_39b_as_printed(values: Values) -> Violation:
    """Compare the upper left entry for the first client, gradient minus own gradient, with F - F_c, F = -gradient."""
    at = follow_opposite(values)
    (P,) = fractions(values, "apart_inside")
    inside = at.slope[0]
    correction, printed = inside - (P + inside), -inside + (P + inside)
    return Violation(
        abs(correction - printed),
        Fraction(0),
        assumes=at.assumes,
        given=at.given,
        reads=f"{LOSSES}, we compute the correction minus the first expression",
    )


@proof("fedlrt/eq-39b")
def eq_39b(first: Fraction = Fraction(1), second: Fraction = Fraction(1)) -> str:
    r"""With $E = \mathrm{diag}(I, 0)$, 2r by 2r, $[U|0] = \tilde UE$, n by 2r, and $g - g_c = F_c - F$, n by n."""
    stated, force = corner(Ut * (g - g_c) * V), -g_c - (-g)
    outer = sympy.Matrix([Ut, 0]) * sympy.Matrix([[force]]) * sympy.Matrix([[V, 0]])
    chain_rule()
    same(stated, first * outer, "the first expression")
    same(stated, second * CORNER * wide(force) * CORNER, "the second expression")
    return "both expressions are the same block of the correction"


def _first_step(values: Values) -> tuple[Opposite, Fraction, list[Fraction]]:
    """Entry (1, 1) of the first client after one step: by Algorithm 5, or (45), and by both expressions of (40)."""
    at = follow_opposite(values)
    (P,) = fractions(values, "apart_inside")
    inside = at.slope[0]
    own = P + inside
    correction = inside - own
    return at, -at.rate * (own + correction), [at.rate * (-own + (-own + inside)), -at.rate * own + correction]


STEPS = (
    f"{LOSSES}, we compute the distance of the first step of client 1 by Algorithm 5 and (45) from the nearer "
    "expression of (40)"
)


@replay("fedlrt/eq-40")
def eq_40_as_printed(values: Values) -> Violation:
    """Evaluate the nearer expression; and the second one with the sign of Algorithm 5, which lacks lambda."""
    at, after, printed = _first_step(values)
    name = "second expression with the sign put right, distance for want of lambda"
    lost = Hypothesis(name, abs((1 - at.rate) * at.P), ">", 0)
    return Violation(
        min(abs(after - one) for one in printed), Fraction(0), assumes=(*at.assumes, lost), given=at.given, reads=STEPS
    )


@proof("fedlrt/eq-40")
def eq_40(first: Fraction = Fraction(-1), second: Fraction = Fraction(-1), power: int = 1) -> str:
    r"""Algorithm 5's step with $\check V_c$ of (39); $\check V_c$ is the block of $F_c - F$."""
    check = corner(Ut * (g - g_c) * V)
    step, plain = corrected(S_c, check), S_c + RATE * wide(-g_s)
    inside = CORNER * wide(-g_c - (-g)) * CORNER
    chain_rule()
    same(step, plain + first * RATE * inside, "the first expression")
    same(step, plain + second * RATE**power * check, "the second expression")
    return "both forms give the step of Algorithm 5"


@replay("fedlrt/eq-42")
def eq_42_as_printed(values: Values) -> Violation:
    """Count the blocks of two by two, other than the upper left one, that have a row other than their column."""
    stated = int(values["stated"])
    others = [(row, column) for row in (1, 2) for column in (1, 2) if (row, column) != (1, 1)]
    return Violation(
        stated,
        sum(row != column for row, column in others),
        assumes=[Hypothesis("blocks off the diagonal, as stated", stated, "=", 3)],
        reads="we compare 3, the stated number of off-diagonal blocks, with the number of off-diagonal blocks among "
        "the three blocks other than the upper left one",
    )


@proof("fedlrt/eq-42@the-corner-and-the-rest")
def eq_42(share: Fraction = Fraction(1), off_diagonal: int = 2) -> str:
    r"""The rest has zeros in the corner, so the squares of the two parts add up, entry by entry.

    At the start $\tilde S$ is S in the corner of zeros (Lemma 1), and the rest is zero. Of the three blocks next to the
    corner two are off the diagonal.
    """
    beside = [(i, j) for i in range(2) for j in range(2) if i or j]
    rest = S_c - share * corner(S_c[0, 0])
    same(rest[0, 0], sympy.Integer(0), "a part in the corner")
    same(rest + corner(S_c[0, 0]), S_c, "not the whole")
    require(sum(i != j for i, j in beside) == off_diagonal, "another number off the diagonal")
    return "the matrix consists of a corner and the three blocks around it"


@replay("fedlrt/eq-43-44")
def eq_43_44_as_printed(values: Values) -> Violation:
    """Compare the change of the loss with the printed right side, F = -gradient, L = 1."""
    at = follow_opposite(values)
    right = -at.change + inner(at.moved, at.moved) / 2
    return Violation(
        at.change,
        right,
        assumes=at.assumes,
        given=at.given,
        reads=f"{LOSSES}, we compare the change of the loss with the printed right side",
    )


@proof("fedlrt/eq-43-44")
def eq_43_44(
    sign: Fraction = Fraction(1),
    half: Fraction = Fraction(1, 2),
    mixed: Fraction = Fraction(0),
    last: Fraction = Fraction(1),
) -> str:
    r"""Lemma 4, and products and squares in common orthonormal bases, entry by entry.

    Both models have the bases $\tilde U$, $\tilde V$, so their difference is $\tilde Ud\tilde V^\top$ with
    $d = \tilde S^* - \tilde S$; for every matrix F, $\langle\tilde Ud\tilde V^\top, F\rangle = \langle d, \tilde
    U^\top F\tilde V\rangle$, and $\|\tilde Ud\tilde V^\top\| = \|d\|$ as $\tilde U^\top\tilde U = \tilde V^\top\tilde
    V = I$. The chain rule along d is $\nabla_{\tilde S}\mathcal{L} = \tilde U^\top\nabla\mathcal{L}\tilde V$. The block
    of S and the rest have no entry in common, so both sums split.
    """
    smoothness(-sign, half)
    chain_rule(last)
    for r in (1, 2, 3):
        d, slope = (
            sympy.Matrix(2 * r, 2 * r, lambda i, j, name=name: sympy.Symbol(f"{name}_{i}_{j}")) for name in "dg"
        )
        inside = [(i, j) for i in range(r) for j in range(r)]
        outside = [(i, j) for i in range(2 * r) for j in range(2 * r) if (i, j) not in inside]

        def value(places: list[tuple[int, int]], d: Any = d, slope: Any = slope) -> Any:
            return sum(sign * d[at] * slope[at] + half * d[at] ** 2 for at in places)

        square = sum(entry**2 for entry in d)
        whole = sign * sum(a * b for a, b in zip(d, slope, strict=True)) + half * square
        same(value(inside) + value(outside) + mixed * square, whole, f"not the two parts at rank {r}")
    return "we use smoothness and the chain rule and split the sums over entries into two parts"


@proof("fedlrt/eq-45")
def eq_45(own: Fraction = Fraction(-1), mean: Fraction = Fraction(1), sign: Fraction = Fraction(1)) -> str:
    r"""The corner of Algorithm 5's step, (40) as it should read: $\tilde U = [U|\bar U]$ has U for its first block."""
    step = corrected(S_c, corner(Ut * (g - g_c) * V))[0, 0]
    chain_rule()
    stated = S_c[0, 0] - sign * RATE * Ut * (g_s + own * g_c + mean * g) * V
    same(step, stated, "not the corner of the step")
    return "the step is the corner of the step of Algorithm 5"


@proof("fedlrt/eq-46")
def eq_46(
    largest: Fraction = Fraction(3, 2), limit: Fraction = Fraction(1), steps: Sequence[int] = (1, 2, 3, 10, 100, 1000)
) -> str:
    r"""The argument of `shared.local_steps` for the block of S only, with g its gradient there.

    The correction takes the block's part of every client's first step to g, and what lies outside the block stays the
    client's own: the client starts along $p_c$ with $\frac1C\sum_c|p_c|^2 \le (1 + \delta^2)|g|^2$, so $\rho =
    \sqrt{1+\delta^2}$. The block's part of the mean step is $-s\lambda(g + u)$, and u, a part of the drift, is at most
    as long as it: $|u| \le R\beta|g|$ with $R = (1 - \frac1s)\rho$. The rest is as there.
    """
    descent_for_all_steps(largest, limit, steps, SQUARE_OF_ROOT)
    return "a client's drift and a rational inequality give the bound for all clients, steps and learning rates"


@replay("fedlrt/eq-46")
def eq_46_as_printed(values: Values) -> Violation:
    """Evaluate only the block, L = 1, with F as the negative gradient; with the printed sign it fails too."""
    at = follow_opposite(values)
    p, inside = at.moved[0], at.slope[0]
    right = -at.whole * (1 - 12 * at.whole) * inside**2
    printed = -p * inside + p**2 / 2
    fails = Hypothesis("left side with the printed sign", printed, ">", right)
    return Violation(
        p * inside + p**2 / 2,
        right,
        assumes=(*at.assumes, fails),
        given=at.given,
        reads=f"{LOSSES}, we compare the left side of (46), with F as the negative gradient (with the printed "
        f"sign it is {float(printed):.5g}), with the right side",
    )
