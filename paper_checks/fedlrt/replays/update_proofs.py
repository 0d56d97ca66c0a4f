r"""Proofs of the formulas for the clients' updates: eqs. (2), (4), (7) to (9), (26), (32), (33) and (39) to (45).

Matrices are symbols that do not commute, so that an identity holds for all sizes and ranks; in the bases $\tilde U =
[U|\bar U]$ and $\tilde V = [V|\bar V]$ they are two blocks by two. F stands for the negative gradient of $\mathcal{L}$,
$F_c$ for that of $\mathcal{L}_c$, and g, $g_c$ for the gradients themselves.
"""

from __future__ import annotations

from typing import Any

import sympy

from paper_checks.fedlrt.replays.boxes import trips
from paper_checks.proof_steps import non_negative, rational
from paper_checks.replay import Proof, proof
from paper_checks.stored_values import Values

SIZES = ((2, 2, 1), (3, 4, 2), (4, 3, 2))  # rows and columns of W, and of the coefficients
w, g, g_c, g_s = sympy.symbols("w g g_c g_s", commutative=False)  # at the start: mean and client; g_s: on the way
U, Ubar, V, Vbar = sympy.symbols("U Ubar V Vbar", commutative=False)
Ut, Ubart, Vt, Vbart = sympy.symbols("U^T Ubar^T V^T Vbar^T", commutative=False)
rate = sympy.Symbol("lambda", positive=True)
CORNER = sympy.diag(1, 0)


def wide(A: Any) -> sympy.Matrix:
    r"""$\tilde U^\top A\tilde V$ in blocks."""
    return (sympy.Matrix([Ut, Ubart]) * sympy.Matrix([[A]]) * sympy.Matrix([[V, Vbar]])).expand()


def corner(A: Any) -> sympy.Matrix:
    """A block in the upper left corner, beside zeros."""
    return sympy.diag(A, 0)


def differ(left: Any, right: Any, flaw: str) -> str:
    """The flaw, if two expressions or two matrices of them are not the same."""
    gap = left - right
    return (
        "" if (gap.expand().is_zero_matrix if isinstance(gap, sympy.MatrixBase) else sympy.expand(gap) == 0) else flaw
    )


def linear_loss(m: int, n: int, r: int) -> tuple[Any, ...]:
    r"""U, S, V and G with symbols for entries, m x r, r x r, n x r and m x n, and $\langle G, USV^\top\rangle$."""
    U, S, V, G = (
        sympy.Matrix(rows, columns, lambda i, j, name=name: sympy.Symbol(f"{name}_{i}{j}"))
        for name, rows, columns in (("u", m, r), ("s", r, r), ("v", n, r), ("g", m, n))
    )
    return U, S, V, G, sum(a * b for a, b in zip(G, U * S * V.T, strict=True))


def flaw_of_chain(share: Any = 1) -> str:
    r"""Why $\nabla_S\mathcal{L}(USV^\top)$ is not $U^\top\nabla_W\mathcal{L}\,V$, for U, V of a size; empty if it is.

    A derivative at a point sees the loss to first order, so that a linear loss $\langle G, W\rangle$ stands for all.
    """
    for m, n, r in SIZES:
        left, S, right, G, loss = linear_loss(m, n, r)
        slope = S.applyfunc(lambda entry, loss=loss: sympy.diff(loss, entry))
        if not (slope - share * left.T * G * right).expand().is_zero_matrix:
            return f"the gradient in the coefficients, {m} x {n}"
    return ""


def flaw_of_smoothness(inner: Any, half: Any) -> str:
    r"""That $\mathcal{L}(Y + D) - \mathcal{L}(Y) \le -\langle F(Y), D\rangle + \frac L2\|D\|^2$, inner is -1, half 1/2.

    Lemma 4: the derivative along D is at most $\langle\nabla\mathcal{L}(Y), D\rangle + tL\|D\|^2$ at the share t of the
    way.
    """
    t, square = sympy.Symbol("t"), sympy.Symbol("q", positive=True)
    if inner != -1:  # F is the negative gradient
        return "another derivative at the start of the way"
    room = half * square - sympy.integrate(t * square, (t, 0, 1))
    return "" if non_negative(room) else "the integral of the Lipschitz bound"


@proof("fedlrt/eq-1@no-sample-at-two-clients", weight="1")
def eq_1(values: Values) -> Proof:
    r"""For any C and any number m of samples of a client X has Cm samples, and both sides are linear in their losses.

    A sample that one client has counts $\frac1{Cm}$ in the mean over X, and $\frac1C\cdot\frac1m$ in the mean of the
    clients' means; one that is counted once for each of k clients counts k times that in both.
    """
    weight = rational(values["weight"])
    clients, samples = sympy.symbols("C m", positive=True, integer=True)
    times = sympy.Symbol("k", positive=True, integer=True)
    return Proof.without_flaw(
        "the weight of a sample in both means, for any C, m and k",
        differ(times / (clients * samples), weight * times / clients / samples, "another weight of a sample"),
    )


@proof("fedlrt/eq-2@local-loss", rate="1", more=0)
def eq_2(values: Values) -> Proof:
    r"""With $\nabla\mathcal{L}_c$ for the gradient, the step is line 5 of Algorithm 3, from the start and as often.

    Two recursions with one start and one step, whatever the losses, have the same iterates by induction over s, and
    clients send the same weights.
    """
    share, more = rational(values["rate"]), int(values["more"])
    steps = sympy.Symbol("s", integer=True)
    return Proof.without_flaw(
        "start, step and number of steps are those of lines 3 to 5 of Algorithm 3",
        differ(w - share * rate * g_s, w - rate * g_s, "another step"),
        differ(steps + more, steps, "another number of steps"),
    )


@proof("fedlrt/eq-4@local-loss", sign="1", rate="1")
def eq_4(values: Values) -> Proof:
    r"""With $V_c = g_c - g$ the step is the one of Algorithm 4 with its correction $g - g_c$ inside the bracket.

    The first step, with $\nabla \mathcal{L}_c(w) = g_c$, is along g, and the corrections of all clients add up to zero.
    At a stationary point of $\mathcal{L}$ the first step is 0, and with it every other one.
    """
    sign, share = rational(values["sign"]), rational(values["rate"])
    step = w - share * rate * (g_s - sign * (g_c - g))
    first = step.subs(g_s, g_c)
    return Proof.without_flaw(
        "the step of the corrected Algorithm 4; the first one is along the global gradient, and 0 where that is",
        differ(step, w - rate * (g_s + (g - g_c)), "not the step of Algorithm 4"),
        differ(first, w - rate * g, "the first step is not the global one"),
        differ(first.subs(g, 0), w, "a stationary point moves"),
    )


@proof("fedlrt/eq-7", rate="1", more=0)
def eq_7(values: Values) -> Proof:
    r"""The chain rule: $\nabla_{\tilde S}\mathcal{L}_c = \tilde U^\top\nabla_W\mathcal{L}_c\tilde V$.

    The recursion is then that of Algorithm 2, step by step, from Lemma 1's start.
    """
    share, more, steps = rational(values["rate"]), int(values["more"]), sympy.Symbol("s", integer=True)
    S = sympy.Matrix(2, 2, sympy.symbols("s_0:4", commutative=False))
    return Proof.without_flaw(
        "the chain rule, and the step and the number of steps of Algorithm 2",
        flaw_of_chain(),
        differ(S - share * rate * wide(g_s), S - rate * wide(g_s), "another step"),
        differ(steps + more, steps, "another number of steps"),
    )


def _corrected(S: Any, correction: Any) -> Any:
    """A client's step in Algorithms 1 and 5 with its correction."""
    return S - rate * (wide(g_s) + correction)


S_c = sympy.Matrix(2, 2, sympy.symbols("s_0:4", commutative=False))


@proof("fedlrt/eq-8", sign="1", share="1", more=1)
def eq_8(values: Values) -> Proof:
    r"""The first step is along the mean gradient for every client, and the corrections add up to zero.

    Without correction a round has two trips, for gradients of the factors and for coefficients; the gradients of
    $\tilde S$, which need the wide bases, are a third.
    """
    sign, share, more = rational(values["sign"]), rational(values["share"]), int(values["more"])
    step = S_c - rate * (wide(g_s) + sign * (share * wide(g) - wide(g_c)))
    return Proof.without_flaw(
        "the step of Algorithm 1; the first one is the global gradient's",
        flaw_of_chain(),
        differ(step, _corrected(S_c, wide(g - g_c)), "not the step of Algorithm 1"),
        differ(step.subs(g_s, g_c), S_c - rate * wide(g), "the first step is not the global one"),
        "" if len(trips("full")) == len(trips("none")) + more else "another number of communication rounds",
    )


@proof("fedlrt/eq-9", block="1", outside="0", sign="1", fewer=1)
def eq_9(values: Values) -> Proof:
    r"""The block of $\tilde U^\top A\tilde V$ for $\tilde U = [U|\bar U]$ is $U^\top AV$, the gradient in S of (9).

    Gradients in S need the bases U and V only, so that they travel with those in U and V: two trips, as FedLin's for
    the weights' gradient and for the weights.
    """
    block, outside = rational(values["block"]), rational(values["outside"])
    sign, fewer = rational(values["sign"]), int(values["fewer"])
    full = wide(g - g_c)
    stated = outside * (full - CORNER * full * CORNER) + sign * block * CORNER * full * CORNER
    rounds = len(trips("simplified"))
    return Proof.without_flaw(
        "the block of the full correction, which needs no wide basis",
        flaw_of_chain(),
        differ(corner(Ut * g * V) - corner(Ut * g_c * V), stated, "not the block of the full correction"),
        "" if rounds == len(trips("FedLin")) == len(trips("full")) - fewer else "communication rounds",
    )


@proof("fedlrt/eq-26", sign="1", stale="1", whole="1")
def eq_26(values: Values) -> Proof:
    r"""All three gradients of (8) are $\tilde U^\top(\cdot)\tilde V$ of gradients in W, by the chain rule."""
    sign, stale, whole = (rational(values[name]) for name in ("sign", "stale", "whole"))
    printed = S_c + sign * rate * wide(-g_s - stale * (-g_c) + whole * (-g))
    return Proof.without_flaw(
        "the chain rule, and (8) with F for the negative gradient",
        flaw_of_chain(),
        differ(printed, _corrected(S_c, wide(g) - wide(g_c)), "not the step of (8)"),
    )


@proof("fedlrt/eq-26-gradients", sign="-1")
def eq_26_gradients(values: Values) -> Proof:
    r"""The chain rule with $F_c = -\nabla_W\mathcal{L}_c$ and, for the mean loss, with $F = -\nabla_W\mathcal{L}$."""
    return Proof.without_flaw(
        r"$\tilde U^\top F\tilde V = -\nabla_{\tilde S}\mathcal{L}$ for every loss",
        flaw_of_chain(-rational(values["sign"])),
    )


@proof("fedlrt/eq-39", sign="1", share="1")
def eq_39(values: Values) -> Proof:
    r"""$\check G_{\tilde S}$ has $G_S = \nabla_S\mathcal{L}(USV^\top) = U^\top gV$ in its corner, by the chain rule."""
    sign, share = rational(values["sign"]), rational(values["share"])
    return Proof.without_flaw(
        "both sides are the block of the gradients' difference",
        flaw_of_chain(),
        differ(
            corner(Ut * g * V) - corner(Ut * g_c * V),
            sign * share * corner(Ut * (g - g_c) * V),
            "not the correction of Algorithm 5",
        ),
    )


@proof("fedlrt/eq-39b", first="1", second="1")
def eq_39b(values: Values) -> Proof:
    r"""With $E = \mathrm{diag}(I, 0)$, 2r by 2r, $[U|0] = \tilde UE$, n by 2r, and $g - g_c = F_c - F$, n by n."""
    first, second = rational(values["first"]), rational(values["second"])
    stated, force = corner(Ut * (g - g_c) * V), -g_c - (-g)
    outer = sympy.Matrix([Ut, 0]) * sympy.Matrix([[force]]) * sympy.Matrix([[V, 0]])
    return Proof.without_flaw(
        "both expressions are the block of the correction",
        flaw_of_chain(),
        differ(stated, first * outer, "the first expression"),
        differ(stated, second * CORNER * wide(force) * CORNER, "the second expression"),
    )


@proof("fedlrt/eq-40", first="-1", second="-1", power=1)
def eq_40(values: Values) -> Proof:
    r"""Algorithm 5's step with $\check V_c$ of (39); $\check V_c$ is the block of $F_c - F$."""
    first, second, power = rational(values["first"]), rational(values["second"]), int(values["power"])
    check = corner(Ut * (g - g_c) * V)
    step, plain = _corrected(S_c, check), S_c + rate * wide(-g_s)
    inside = CORNER * wide(-g_c - (-g)) * CORNER
    return Proof.without_flaw(
        "the step of Algorithm 5 in both forms",
        flaw_of_chain(),
        differ(step, plain + first * rate * inside, "the first expression"),
        differ(step, plain + second * rate**power * check, "the second expression"),
    )


@proof("fedlrt/eq-42@the-corner-and-the-rest", share="1", off_diagonal=2)
def eq_42(values: Values) -> Proof:
    r"""The rest has zeros in the corner, so that the squares of the two parts add up, entry by entry.

    At the start $\tilde S$ is S in the corner of zeros (Lemma 1), and the rest is zero. Of the three blocks beside the
    corner two stand off the diagonal.
    """
    beside = [(i, j) for i in range(2) for j in range(2) if i or j]
    share = rational(values["share"])
    rest = S_c - share * corner(S_c[0, 0])
    return Proof.without_flaw(
        "a corner and the three blocks around it",
        differ(rest[0, 0], sympy.Integer(0), "a part in the corner"),
        differ(rest + corner(S_c[0, 0]), S_c, "not the whole"),
        "" if sum(i != j for i, j in beside) == int(values["off_diagonal"]) else "another number off the diagonal",
    )


@proof("fedlrt/eq-45@the-update-of-algorithm-5", own="-1", mean="1", sign="1")
def eq_45(values: Values) -> Proof:
    r"""The corner of Algorithm 5's step, (40) as it should read: $\tilde U = [U|\bar U]$ has U for its first block."""
    own, mean, sign = (rational(values[name]) for name in ("own", "mean", "sign"))
    step = _corrected(S_c, corner(Ut * (g - g_c) * V))[0, 0]
    return Proof.without_flaw(
        "the corner of the step of Algorithm 5",
        flaw_of_chain(),
        differ(step, S_c[0, 0] - sign * rate * Ut * (g_s + own * g_c + mean * g) * V, "not the corner of the step"),
    )


@proof("fedlrt/eq-32", sign="1", share="1", clients=[1, 2, 3], steps=[1, 2, 3])
def eq_32(values: Values) -> Proof:
    r"""Each client adds its steps (26) in common bases; over the clients $F - F_c$ adds up to zero.

    $\tilde U(\tilde U^\top A\tilde V)\tilde V^\top = P_{\tilde U}AP_{\tilde V}$ is linear in A, so that the mean of
    the models is the start and the sum of all $F_c$, for any C and $s_*$. The sums are written out at some.
    """
    sign, share = rational(values["sign"]), rational(values["share"])
    flaws = ["" if values["clients"] and values["steps"] else "no sizes"]
    for C in map(int, values["clients"]):
        firsts = sympy.symbols(f"f_0:{C}", commutative=False)
        mean = sum(firsts) / C
        for steps in map(int, values["steps"]):
            forces = [(one, *sympy.symbols(f"f_{c}_1:{steps}", commutative=False)) for c, one in enumerate(firsts)]
            moved = (
                sum(
                    (force - first + mean for own, first in zip(forces, firsts, strict=True) for force in own),
                    sympy.Integer(0),
                )
                * rate
                / C
            )
            stated = share * sign * rate / C * sum((force for own in forces for force in own), sympy.Integer(0))
            flaws.append(differ(moved, stated, f"the corrections do not cancel at {C} clients and {steps} steps"))
    return Proof.without_flaw("the steps of (26), summed over steps and clients, however many", flaw_of_chain(), *flaws)


@proof("fedlrt/eq-33", inner="-1", half="1/2")
def eq_33(values: Values) -> Proof:
    r"""Lemma 4 between $\tilde W_r$ and $\tilde W_r^*$, then (32): $D = \tilde W_r^* - \tilde W_r$ is its double sum.

    Both expressions are one and the same function of D: $-\langle D, F\rangle + \frac L2\|D\|^2$.
    """
    flaw = flaw_of_smoothness(rational(values["inner"]), rational(values["half"]))
    return Proof.without_flaw("smoothness, and (32) put in", flaw)


@proof("fedlrt/eq-43-44", sign="1", half="1/2", mixed="0", last="1")
def eq_43_44(values: Values) -> Proof:
    r"""Lemma 4, and products and squares in common orthonormal bases, entry by entry.

    Both models have the bases $\tilde U$, $\tilde V$, so that their difference is $\tilde Ud\tilde V^\top$ with
    $d = \tilde S^* - \tilde S$; for every matrix F, $\langle\tilde Ud\tilde V^\top, F\rangle = \langle d, \tilde
    U^\top F\tilde V\rangle$, and $\|\tilde Ud\tilde V^\top\| = \|d\|$ as $\tilde U^\top\tilde U = \tilde V^\top\tilde
    V = I$. The chain rule along d is $\nabla_{\tilde S}\mathcal{L} = \tilde U^\top\nabla\mathcal{L}\tilde V$. The block
    of S and the rest have no entry in common, so that both sums split.
    """
    sign, half, mixed = (rational(values[name]) for name in ("sign", "half", "mixed"))
    flaws = []
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
        flaws.append(differ(value(inside) + value(outside) + mixed * square, whole, f"not the two parts at rank {r}"))
    return Proof.without_flaw(
        "smoothness, the chain rule, and sums over entries in two parts",
        flaw_of_smoothness(-sign, half),
        flaw_of_chain(rational(values["last"])),
        *flaws,
    )
