r"""Proofs of the formulas for the clients' updates: eqs. (2), (4), (7) to (9), (26), (32), (33) and (39) to (45).

Matrices are symbols that do not commute, so that an identity holds for all sizes and ranks; in the bases $\tilde U =
[U|\bar U]$ and $\tilde V = [V|\bar V]$ they are two blocks by two. F stands for the negative gradient of $\mathcal{L}$,
$F_c$ for that of $\mathcal{L}_c$, and g, $g_c$ for the gradients themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy

from paper_checks.fedlrt.replays.boxes import trips
from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require

SIZES = ((2, 2, 1), (3, 4, 2), (4, 3, 2))  # rows and columns of W, and of the coefficients
w, g, g_c, g_s = sympy.symbols("w g g_c g_s", commutative=False)  # at the start: mean and client; g_s: on the way
U, Ubar, V, Vbar = sympy.symbols("U Ubar V Vbar", commutative=False)
Ut, Ubart, Vt, Vbart = sympy.symbols("U^T Ubar^T V^T Vbar^T", commutative=False)
RATE = sympy.Symbol("lambda", positive=True)
CORNER = sympy.diag(1, 0)


def wide(A: Any) -> sympy.Matrix:
    r"""$\tilde U^\top A\tilde V$ in blocks."""
    return (sympy.Matrix([Ut, Ubart]) * sympy.Matrix([[A]]) * sympy.Matrix([[V, Vbar]])).expand()


def corner(A: Any) -> sympy.Matrix:
    """A block in the upper left corner, beside zeros."""
    return sympy.diag(A, 0)


def same(left: Any, right: Any, step: str) -> None:
    """Require that two expressions, or two matrices of them, are the same."""
    gap = left - right
    require(gap.expand().is_zero_matrix if isinstance(gap, sympy.MatrixBase) else sympy.expand(gap) == 0, step)


def linear_loss(m: int, n: int, r: int) -> tuple[Any, ...]:
    r"""U, S, V and G with symbols for entries, m x r, r x r, n x r and m x n, and $\langle G, USV^\top\rangle$."""
    U, S, V, G = (
        sympy.Matrix(rows, columns, lambda i, j, name=name: sympy.Symbol(f"{name}_{i}{j}"))
        for name, rows, columns in (("u", m, r), ("s", r, r), ("v", n, r), ("g", m, n))
    )
    return U, S, V, G, sum(a * b for a, b in zip(G, U * S * V.T, strict=True))


def chain_rule(share: Any = 1) -> None:
    r"""$\nabla_S\mathcal{L}(USV^\top) = U^\top\nabla_W\mathcal{L}\,V$, entry by entry at some sizes of U, S and V.

    A derivative at a point sees the loss to first order, so that a linear loss $\langle G, W\rangle$ stands for all.
    """
    for m, n, r in SIZES:
        left, S, right, G, loss = linear_loss(m, n, r)
        slope = S.applyfunc(lambda entry, loss=loss: sympy.diff(loss, entry))
        same(slope, share * left.T * G * right, f"the gradient in the coefficients, {m} x {n}")


def smoothness(inner: Any, half: Any) -> None:
    r"""$\mathcal{L}(Y + D) - \mathcal{L}(Y) \le -\langle F(Y), D\rangle + \frac L2\|D\|^2$, inner is -1, half 1/2.

    Lemma 4: the derivative along D is at most $\langle\nabla\mathcal{L}(Y), D\rangle + tL\|D\|^2$ at the share t of the
    way.
    """
    t, square = sympy.Symbol("t"), sympy.Symbol("q", positive=True)
    require(inner == -1, "another derivative at the start of the way")  # F is the negative gradient
    room = half * square - sympy.integrate(t * square, (t, 0, 1))
    require(non_negative(room), "the integral of the Lipschitz bound")


@proof("fedlrt/eq-1@no-sample-at-two-clients")
def eq_1(weight: Fraction = Fraction(1)) -> str:
    r"""For any C and any number m of samples of a client X has Cm samples, and both sides are linear in their losses.

    A sample that one client has counts $\frac1{Cm}$ in the mean over X, and $\frac1C\cdot\frac1m$ in the mean of the
    clients' means; one that is counted once for each of k clients counts k times that in both.
    """
    clients, samples = sympy.symbols("C m", positive=True, integer=True)
    times = sympy.Symbol("k", positive=True, integer=True)
    same(times / (clients * samples), weight * times / clients / samples, "another weight of a sample")
    return "the weight of a sample in both means, for any C, m and k"


@proof("fedlrt/eq-2@local-loss")
def eq_2(rate: Fraction = Fraction(1), more: int = 0) -> str:
    r"""With $\nabla\mathcal{L}_c$ for the gradient, the step is line 5 of Algorithm 3, from the start and as often.

    Two recursions with one start and one step, whatever the losses, have the same iterates by induction over s, and
    clients send the same weights.
    """
    steps = sympy.Symbol("s", integer=True)
    same(w - rate * RATE * g_s, w - RATE * g_s, "another step")
    same(steps + more, steps, "another number of steps")
    return "start, step and number of steps are those of lines 3 to 5 of Algorithm 3"


@proof("fedlrt/eq-4@local-loss")
def eq_4(sign: Fraction = Fraction(1), rate: Fraction = Fraction(1)) -> str:
    r"""With $V_c = g_c - g$ the step is the one of Algorithm 4 with its correction $g - g_c$ inside the bracket.

    The first step, with $\nabla \mathcal{L}_c(w) = g_c$, is along g, and the corrections of all clients add up to zero.
    At a stationary point of $\mathcal{L}$ the first step is 0, and with it every other one.
    """
    step = w - rate * RATE * (g_s - sign * (g_c - g))
    first = step.subs(g_s, g_c)
    same(step, w - RATE * (g_s + (g - g_c)), "not the step of Algorithm 4")
    same(first, w - RATE * g, "the first step is not the global one")
    same(first.subs(g, 0), w, "a stationary point moves")
    return "the step of the corrected Algorithm 4; the first one is along the global gradient, and 0 where that is"


@proof("fedlrt/eq-7")
def eq_7(rate: Fraction = Fraction(1), more: int = 0) -> str:
    r"""The chain rule: $\nabla_{\tilde S}\mathcal{L}_c = \tilde U^\top\nabla_W\mathcal{L}_c\tilde V$.

    The recursion is then that of Algorithm 2, step by step, from Lemma 1's start.
    """
    steps = sympy.Symbol("s", integer=True)
    S = sympy.Matrix(2, 2, sympy.symbols("s_0:4", commutative=False))
    chain_rule()
    same(S - rate * RATE * wide(g_s), S - RATE * wide(g_s), "another step")
    same(steps + more, steps, "another number of steps")
    return "the chain rule, and the step and the number of steps of Algorithm 2"


def corrected(S: Any, correction: Any) -> Any:
    """A client's step in Algorithms 1 and 5 with its correction."""
    return S - RATE * (wide(g_s) + correction)


S_c = sympy.Matrix(2, 2, sympy.symbols("s_0:4", commutative=False))


@proof("fedlrt/eq-8")
def eq_8(sign: Fraction = Fraction(1), share: Fraction = Fraction(1), more: int = 1) -> str:
    r"""The first step is along the mean gradient for every client, and the corrections add up to zero.

    Without correction a round has two trips, for gradients of the factors and for coefficients; the gradients of
    $\tilde S$, which need the wide bases, are a third.
    """
    step = S_c - RATE * (wide(g_s) + sign * (share * wide(g) - wide(g_c)))
    chain_rule()
    same(step, corrected(S_c, wide(g - g_c)), "not the step of Algorithm 1")
    same(step.subs(g_s, g_c), S_c - RATE * wide(g), "the first step is not the global one")
    require(len(trips("full")) == len(trips("none")) + more, "another number of communication rounds")
    return "the step of Algorithm 1; the first one is the global gradient's"


@proof("fedlrt/eq-9")
def eq_9(
    block: Fraction = Fraction(1), outside: Fraction = Fraction(0), sign: Fraction = Fraction(1), fewer: int = 1
) -> str:
    r"""The block of $\tilde U^\top A\tilde V$ for $\tilde U = [U|\bar U]$ is $U^\top AV$, the gradient in S of (9).

    Gradients in S need the bases U and V only, so that they travel with those in U and V: two trips, as FedLin's for
    the weights' gradient and for the weights.
    """
    full = wide(g - g_c)
    stated = outside * (full - CORNER * full * CORNER) + sign * block * CORNER * full * CORNER
    chain_rule()
    same(corner(Ut * g * V) - corner(Ut * g_c * V), stated, "not the block of the full correction")
    rounds = len(trips("simplified"))
    require(rounds == len(trips("FedLin")) == len(trips("full")) - fewer, "communication rounds")
    return "the block of the full correction, which needs no wide basis"


@proof("fedlrt/eq-26")
def eq_26(sign: Fraction = Fraction(1), stale: Fraction = Fraction(1), whole: Fraction = Fraction(1)) -> str:
    r"""All three gradients of (8) are $\tilde U^\top(\cdot)\tilde V$ of gradients in W, by the chain rule."""
    printed = S_c + sign * RATE * wide(-g_s - stale * (-g_c) + whole * (-g))
    chain_rule()
    same(printed, corrected(S_c, wide(g) - wide(g_c)), "not the step of (8)")
    return "the chain rule, and (8) with F for the negative gradient"


@proof("fedlrt/eq-26-gradients")
def eq_26_gradients(sign: Fraction = Fraction(-1)) -> str:
    r"""The chain rule with $F_c = -\nabla_W\mathcal{L}_c$ and, for the mean loss, with $F = -\nabla_W\mathcal{L}$."""
    chain_rule(-sign)
    return r"$\tilde U^\top F\tilde V = -\nabla_{\tilde S}\mathcal{L}$ for every loss"


@proof("fedlrt/eq-39")
def eq_39(sign: Fraction = Fraction(1), share: Fraction = Fraction(1)) -> str:
    r"""$\check G_{\tilde S}$ has $G_S = \nabla_S\mathcal{L}(USV^\top) = U^\top gV$ in its corner, by the chain rule."""
    chain_rule()
    block = corner(Ut * g * V) - corner(Ut * g_c * V)
    same(block, sign * share * corner(Ut * (g - g_c) * V), "not the correction of Algorithm 5")
    return "both sides are the block of the gradients' difference"


@proof("fedlrt/eq-39b")
def eq_39b(first: Fraction = Fraction(1), second: Fraction = Fraction(1)) -> str:
    r"""With $E = \mathrm{diag}(I, 0)$, 2r by 2r, $[U|0] = \tilde UE$, n by 2r, and $g - g_c = F_c - F$, n by n."""
    stated, force = corner(Ut * (g - g_c) * V), -g_c - (-g)
    outer = sympy.Matrix([Ut, 0]) * sympy.Matrix([[force]]) * sympy.Matrix([[V, 0]])
    chain_rule()
    same(stated, first * outer, "the first expression")
    same(stated, second * CORNER * wide(force) * CORNER, "the second expression")
    return "both expressions are the block of the correction"


@proof("fedlrt/eq-40")
def eq_40(first: Fraction = Fraction(-1), second: Fraction = Fraction(-1), power: int = 1) -> str:
    r"""Algorithm 5's step with $\check V_c$ of (39); $\check V_c$ is the block of $F_c - F$."""
    check = corner(Ut * (g - g_c) * V)
    step, plain = corrected(S_c, check), S_c + RATE * wide(-g_s)
    inside = CORNER * wide(-g_c - (-g)) * CORNER
    chain_rule()
    same(step, plain + first * RATE * inside, "the first expression")
    same(step, plain + second * RATE**power * check, "the second expression")
    return "the step of Algorithm 5 in both forms"


@proof("fedlrt/eq-42@the-corner-and-the-rest")
def eq_42(share: Fraction = Fraction(1), off_diagonal: int = 2) -> str:
    r"""The rest has zeros in the corner, so that the squares of the two parts add up, entry by entry.

    At the start $\tilde S$ is S in the corner of zeros (Lemma 1), and the rest is zero. Of the three blocks beside the
    corner two stand off the diagonal.
    """
    beside = [(i, j) for i in range(2) for j in range(2) if i or j]
    rest = S_c - share * corner(S_c[0, 0])
    same(rest[0, 0], sympy.Integer(0), "a part in the corner")
    same(rest + corner(S_c[0, 0]), S_c, "not the whole")
    require(sum(i != j for i, j in beside) == off_diagonal, "another number off the diagonal")
    return "a corner and the three blocks around it"


@proof("fedlrt/eq-45@the-update-of-algorithm-5")
def eq_45(own: Fraction = Fraction(-1), mean: Fraction = Fraction(1), sign: Fraction = Fraction(1)) -> str:
    r"""The corner of Algorithm 5's step, (40) as it should read: $\tilde U = [U|\bar U]$ has U for its first block."""
    step = corrected(S_c, corner(Ut * (g - g_c) * V))[0, 0]
    chain_rule()
    stated = S_c[0, 0] - sign * RATE * Ut * (g_s + own * g_c + mean * g) * V
    same(step, stated, "not the corner of the step")
    return "the corner of the step of Algorithm 5"


@proof("fedlrt/eq-32")
def eq_32(
    sign: Fraction = Fraction(1),
    share: Fraction = Fraction(1),
    clients: Sequence[int] = (1, 2, 3),
    steps: Sequence[int] = (1, 2, 3),
) -> str:
    r"""Each client adds its steps (26) in common bases; over the clients $F - F_c$ adds up to zero.

    $\tilde U(\tilde U^\top A\tilde V)\tilde V^\top = P_{\tilde U}AP_{\tilde V}$ is linear in A, so that the mean of
    the models is the start and the sum of all $F_c$, for any C and $s_*$. The sums are written out at some.
    """
    require(clients and steps, "no sizes")
    chain_rule()
    for C in clients:
        firsts = sympy.symbols(f"f_0:{C}", commutative=False)
        mean = sum(firsts) / C
        for count in steps:
            forces = [(one, *sympy.symbols(f"f_{c}_1:{count}", commutative=False)) for c, one in enumerate(firsts)]
            corrected = (force - own[0] + mean for own in forces for force in own)
            moved = RATE / C * sum(corrected, sympy.Integer(0))
            stated = share * sign * RATE / C * sum((force for own in forces for force in own), sympy.Integer(0))
            same(moved, stated, f"the corrections do not cancel at {C} clients and {count} steps")
    return "the steps of (26), summed over steps and clients, however many"


@proof("fedlrt/eq-33")
def eq_33(inner: Fraction = Fraction(-1), half: Fraction = Fraction(1, 2)) -> str:
    r"""Lemma 4 between $\tilde W_r$ and $\tilde W_r^*$, then (32): $D = \tilde W_r^* - \tilde W_r$ is its double sum.

    Both expressions are one and the same function of D: $-\langle D, F\rangle + \frac L2\|D\|^2$.
    """
    smoothness(inner, half)
    return "smoothness, and (32) put in"


@proof("fedlrt/eq-43-44")
def eq_43_44(
    sign: Fraction = Fraction(1),
    half: Fraction = Fraction(1, 2),
    mixed: Fraction = Fraction(0),
    last: Fraction = Fraction(1),
) -> str:
    r"""Lemma 4, and products and squares in common orthonormal bases, entry by entry.

    Both models have the bases $\tilde U$, $\tilde V$, so that their difference is $\tilde Ud\tilde V^\top$ with
    $d = \tilde S^* - \tilde S$; for every matrix F, $\langle\tilde Ud\tilde V^\top, F\rangle = \langle d, \tilde
    U^\top F\tilde V\rangle$, and $\|\tilde Ud\tilde V^\top\| = \|d\|$ as $\tilde U^\top\tilde U = \tilde V^\top\tilde
    V = I$. The chain rule along d is $\nabla_{\tilde S}\mathcal{L} = \tilde U^\top\nabla\mathcal{L}\tilde V$. The block
    of S and the rest have no entry in common, so that both sums split.
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
    return "smoothness, the chain rule, and sums over entries in two parts"
