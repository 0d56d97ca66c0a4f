"""Lemma 3 (Appendix F) and the update in augmented bases (eq. (26))."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paper_checks.claim import Form, Intended, Reading
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.first_rounds import (
    ROUND_SCOPE,
    Corrected,
    first_rounds,
    gradient_by_autograd,
    measure_full,
    rate_of,
)
from paper_checks.fedlrt.measurements.watched_rounds import STEPS
from paper_checks.methods.relations import Relation, Relations, relations, same


@relations(
    "fedlrt/eq-26",
    where="Appendix F.1, eq. (26) (the sentence after it, whose signs are others: fedlrt/eq-26-gradients)",
    says=r"""The corrected update (8) can be written $\tilde S_c^{s+1} = \tilde S_c^s + \lambda\tilde U^\top(F_c(\tilde
    W_{r,c}^s) - F_c(\tilde W_r) + F(\tilde W_r))\tilde V$, with $F_c = -\nabla_W\mathcal{L}_c$ and $F =
    \frac1C\sum_cF_c$.""",
    measure=measure_full,
    mutants=[{"sign": -1}, {"stale": 0.99}, {"whole": 1.01}],
    uses=("fedlrt/eq-8",),
    expect=("holds", "proof"),
)
def eq_26(found: Corrected, sign: int = 1, stale: float = 1.0, whole: float = 1.0) -> Relations:
    """The clients' uploads against the recursion with full-rank gradients."""
    for one in found.rounds:
        start = one.U @ one.start @ one.V.mT
        forces = [-client.gradient({"W": start})["W"] for client in one.case.clients]
        mean = torch.stack(forces).mean(dim=0)
        for client, force, sent in zip(one.case.clients, forces, one.coefficients, strict=True):
            S = one.start
            for _ in range(STEPS):
                moved = -client.gradient({"W": one.U @ S @ one.V.mT})["W"] - stale * force + whole * mean
                S = S + sign * rate_of(one) * one.U.mT @ moved @ one.V
            yield same("the recursion is what clients send", S, sent)
    return ROUND_SCOPE


@dataclass(frozen=True)
class Sides:
    """Both sides of the sentence after (26) for one client.

    Attributes:
        moved: Ut' F_c Vt where a client ends, and the gradient of its loss there.
        start: The same at the start.
        whole: With F and the global loss at the start, and with F_c of this client in its place.
        V: The augmented basis, ``(n, 2r)``.
        by_hand: The case in plain numbers, if it is small.
    """

    moved: tuple[Tensor, Tensor]
    start: tuple[Tensor, Tensor]
    whole: tuple[Tensor, Tensor, Tensor]
    V: Tensor
    by_hand: Mapping[str, Any] | None = None


def measure_sides(context: Context) -> list[Sides]:
    """Run losses |W - A|^2 / 2 by hand at W = S e1 e1^T, both augmented bases the plane's axes; then random ones."""
    targets, kept = ([[2, 1], [1, 0]], [[4, 1], [1, 0]]), 1
    found, wide = [], torch.eye(2, dtype=torch.float64)
    forces = [torch.tensor(target, dtype=torch.float64) - kept * torch.outer(wide[0], wide[0]) for target in targets]
    mean = torch.stack(forces).mean(dim=0)
    first, numbers = (forces[0], -forces[0]), {"S": kept, "targets": list(targets)}
    found.append(Sides(first, first, (mean, -mean, forces[0]), wide, numbers))
    for one in first_rounds(context, "full"):
        clients, weights = one.case.clients, []
        for S in (one.coefficients[0], one.start):
            W = {"W": one.U @ S @ one.V.mT}
            pulled = [one.U.mT @ -client.gradient(W)["W"] @ one.V for client in clients]
            weights.append((pulled, [gradient_by_autograd(one, client, S) for client in clients]))
        (moved, moved_slopes), (start, start_slopes) = weights
        whole = torch.stack(start).mean(dim=0), torch.stack(start_slopes).mean(dim=0), start[0]
        found.append(Sides((moved[0], moved_slopes[0]), (start[0], start_slopes[0]), whole, one.V))
    return found


@relations(
    "fedlrt/eq-26-gradients",
    where="Appendix F.1, sentence after eq. (26)",
    says=r"""In (26), $\tilde U^\top F_c(\tilde W_{r,c}^s)\tilde V = \nabla_{\tilde S_c}\mathcal{L}_c(\tilde U\tilde
    S_c^s\tilde V)$, $\tilde U^\top F_c(\tilde W_{r,c})\tilde V = \nabla_{\tilde S_c}\mathcal{L}_c(\tilde U\tilde
    S_c^{s=0}\tilde V)$ and $\tilde U^\top F_c(\tilde W_{r,c}^s)\tilde V = \nabla_{\tilde S_c}\mathcal{L}(\tilde U\tilde
    S_c^s\tilde V)$.""",
    measure=measure_sides,
    control=Form(
        r"With $\tilde V^\top$ for $\tilde V$ the two sides of the first two equations have the same norm.",
        {"keep": ("norms",)},
    ),
    correction=Form(
        r"""$\tilde U^\top F_c\tilde V = -\nabla_{\tilde S}\mathcal{L}_c(\tilde U\tilde S\tilde V^\top)$, as $F =
        -\nabla_W\mathcal{L}$, and the third with the global F: $\tilde U^\top F(\tilde W_r)\tilde V = -\nabla_{\tilde
        S}\mathcal{L}(\tilde U\tilde S\tilde V^\top)$. As printed 2r columns of $\tilde U\tilde S$ meet n rows of
        $\tilde V$.""",
        {"sign": -1.0, "third": "F", "last": "V^T"},
        ({"sign": 1.0}, {"sign": -1.01}, {"third": "F_c"}, {"last": "V"}),
    ),
    importance="detail",
    because=r"F is the negative gradient, so the sign is wrong. The third line prints $F_c$ instead of F, and "
    r"$\tilde V$ without its transpose.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        r"Appendix C: “$F_c(W) = -\nabla_W\mathcal{L}_c(W)$”; so $\widetilde U^\top F_c\widetilde "
        r"V = -\nabla_{\widetilde S}\mathcal{L}_c$; (26) itself is right.",
    ),
    print="misprint",
)
def eq_26_gradients(
    found: list[Sides], sign: float = 1.0, third: str = "F_c", last: str = "V", keep: tuple[str, ...] = ("equations",)
) -> Relations:
    """The three equations, gradients by differentiation, and whether their models are products of fitting shapes."""
    for one in found:
        for force, slope in (one.moved, one.start):
            if "norms" in keep:
                sizes = [torch.linalg.matrix_norm(side).reshape(1) for side in (force, slope)]
                yield same("the same norm", *sizes)
            else:
                yield same("a client's equation", force, sign * slope, one.by_hand)
        if "equations" in keep:
            mean, slope, own = one.whole
            yield same("the global equation", mean if third == "F" else own, sign * slope)
            rows = (one.V if last == "V" else one.V.mT).shape[0]
            yield Relation("columns of the coefficients meet rows of the last factor", one.V.shape[1], rows)
    return f"two clients by hand; {ROUND_SCOPE}"


Exact = Any  # an array of fractions, which numpy's types know nothing of


@dataclass(frozen=True)
class Lipschitz:
    """A function with constant L at two points in given bases, in fractions.

    Attributes:
        U: ``(n, r)``, orthonormal.
        V: ``(n, r)``, orthonormal.
        change: F(U S_1 V') - F(U S_2 V'), ``(n, n)``.
        step: S_1 - S_2, ``(r, r)``.
        constant: L.
    """

    U: Exact
    V: Exact
    change: Exact
    step: Exact
    constant: Fraction


def square(matrix: Exact) -> Fraction:
    """Return the square of the Frobenius norm."""
    return sum((entry * entry for entry in matrix.flat), Fraction(0))


def exact(rows: Sequence[Sequence[Any]]) -> Exact:
    """Return a matrix of fractions."""
    return np.array([[Fraction(entry) for entry in row] for row in rows], dtype=object)


def measure_lipschitz(context: Context) -> list[Lipschitz]:
    """Return axes and rational rotations of them; multiples, absolute values, clipped and rotated values for F."""
    rng = context.rng("cases")
    turn = exact([["3/5", "-4/5", 0, 0], ["4/5", "3/5", 0, 0], [0, 0, "5/13", "-12/13"], [0, 0, "12/13", "5/13"]])
    mix = exact([["2/3", "-2/3", "1/3", 0], ["1/3", "2/3", "2/3", 0], ["-2/3", "-1/3", "2/3", 0], [0, 0, 0, 1]])
    bases = [exact(np.eye(4, dtype=int).tolist()), turn, turn @ mix]
    functions = (
        lambda W: W,
        lambda W: abs(W),
        np.vectorize(lambda entry: min(max(entry, Fraction(-1)), Fraction(1)), otypes=[object]),
        lambda W: turn @ W @ mix.T,
        lambda W: W.T,
    )
    found = []
    for r in (1, 2, 3, 4):
        for number in range(context.size(6, 40)):
            U, V = (bases[int(rng.integers(len(bases)))][:, :r] for _ in range(2))
            if number == 0:
                U = V = bases[0][:, :r]
            S = [exact(rng.integers(-5, 6, (r, r)).tolist()) for _ in range(2)]
            constant = Fraction(1 + number % 3)
            F = functions[number % len(functions)]
            change = constant * (F(U @ S[0] @ V.T) - F(U @ S[1] @ V.T))
            found.append(Lipschitz(U, V, change, S[0] - S[1], constant))
    return found


@relations(
    "fedlrt/lemma-3",
    where="Appendix F, Lemma 3, eqs. (24) and (25) (the lines of its proof: fedlrt/lemma-3-proof)",
    says=r"""For orthonormal $U, V \in \mathbb R^{n \times r}$, an L-continuous F and $S_1, S_2 \in \mathbb R^{r \times
    r}$: (24) $\|P_U(F(US_1V^\top) - F(US_2V^\top))P_V\| \le L\|S_1 - S_2\|$ and (25) $\|U(F(US_1V^\top) -
    F(US_2V^\top))V^\top\| \le L\|S_1 - S_2\|$.""",
    measure=measure_lipschitz,
    control=Form("(24), with the first and the last step of its proof.", {"keep": ("(24)", "proof")}),
    correction=Form(
        r"""(24) holds, and (25) with $U^\top(F(US_1V^\top) - F(US_2V^\top))V$, the form that is used later. The
        constant L is the best. Norms of U and V in the proof are operator norms; Frobenius norms would be $\sqrt
        r$.""",
        {"form": "U'(.)V"},
        ({"constant": 0.99}, {"form": "U(.)V'"}),
    ),
    because=r"In (25) U has r columns and F has n rows, so the product does not exist for $r < n$.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        r"“We use in (I) Lemma 3” for $\widetilde U^\top(\cdot)\widetilde V$ in the proof of "
        "Theorem 6: (25) has its transposes on the wrong factors.",
    ),
    print="misprint",
)
def lemma_3(
    cases: list[Lipschitz],
    form: str = "U(.)V'",
    constant: float = 1.0,
    keep: tuple[str, ...] = ("(24)", "(25)", "proof"),
) -> Relations:
    """Squares of both sides, in fractions; shapes of the product; the first and the last step of the proof."""

    def at_most(name: str, left: Fraction, right: Fraction) -> Relation:
        return Relation(name, float(left > right), 0.0, at_most=True)

    for one in cases:
        n, r = one.U.shape
        bound = (Fraction(constant) * one.constant) ** 2 * square(one.step)
        inside = one.U @ (one.U.T @ one.change @ one.V) @ one.V.T
        if "(24)" in keep:
            yield at_most("(24)", square(inside), bound)
        if "(25)" in keep:
            first, last = (one.U, one.V.T) if form == "U(.)V'" else (one.U.T, one.V)
            shapes = {"n": n, "r": r}
            yield Relation("the product of (25) exists", first.shape[1], n, case=shapes)
            if first.shape[1] == n:
                yield at_most("(25)", square(first @ one.change @ last), bound)
        if "proof" in keep:
            yield at_most("steps (I) and (II) of the proof", square(inside), square(one.change))
            yield at_most("the last steps of the proof", square(one.U @ one.step @ one.V.T), square(one.step))
    return (
        "bases of rank 1 to 4 in 4 dimensions with rational entries; multiples, absolute "
        "values, clipped, transposed and rotated values for F; in fractions"
    )


@relations(
    "fedlrt/lemma-3-proof",
    where="Appendix F, proof of Lemma 3 (of (24); the paper says that (25) is analogous: fedlrt/lemma-3)",
    says=r"""With $D = F(US_1V^\top) - F(US_2V^\top)$: $\|P_UDP_V\| = \|UU^\top DVV^\top\| \le
    \|U\|\|U^\top\|\|D\|\|V\|\|V^\top\| \le \|D\| \le L\|US_1V^\top - US_2V^\top\| = L\|U(S_1 - S_2)V^\top\| \le
    L\|U\|\|S_1 - S_2\|\|V^\top\| \le L\|S_1 - S_2\|$, by the operator norm inequality of the Frobenius norm (I),
    orthonormality (II) and L-continuity (III).""",
    measure=measure_lipschitz,
    readings=(
        Reading(
            "Frobenius norms",
            "All norms are Frobenius norms.",
            why=r"Appendix C: applied to matrices, $\|\cdot\|$ denotes the Frobenius norm.",
        ),
        Reading(
            "operator norms of the bases",
            "Norms of U, V and their transposes are operator norms; the others are Frobenius norms.",
            {"norms": "operator"},
            "The paper justifies step (I) by the “operator norm inequality of the Frobenius norm”.",
            ({"norms": "operator", "constant": 0.99},),
        ),
    ),
    uses=("fedlrt/lemma-3",),
    importance="detail",
    because=r"The Frobenius norm of an orthonormal basis of r columns is $\sqrt r$, so steps (II) lose a factor of r "
    "or more.",
    expect=("holds", "proof"),
    intended=Intended(
        "operator norms of the bases",
        r"“the operator norm inequality of the Frobenius norm”: $\|U\|$ is the operator norm, "
        "though Appendix C has Frobenius norms for matrices.",
    ),
    print="inconsistent",
)
def lemma_3_proof(cases: list[Lipschitz], norms: str = "Frobenius", constant: float = 1.0) -> Relations:
    """Squares of all members, in fractions, each against the next; a basis has the Frobenius norm of I."""
    for one in cases:
        r = one.U.shape[1]
        basis = r if norms == "Frobenius" else 1  # the square of its norm
        D, step, L = square(one.change), square(one.step), one.constant**2
        members = (
            ("step (I)", square(one.U @ (one.U.T @ one.change @ one.V) @ one.V.T), basis**4 * D),
            ("step (II), first", basis**4 * D, D),
            ("step (III)", constant**2 * D, L * square(one.U @ one.step @ one.V.T)),
            ("step (I), second", L * square(one.U @ one.step @ one.V.T), constant**2 * L * basis**2 * step),
            ("step (II), second", L * basis**2 * step, L * step),
        )
        for name, left, right in members:
            case = {"r": r} if name == "step (II), first" and r > 1 else None
            yield Relation(name, float(left > right), 0.0, at_most=True, case=case)
    return (
        "bases of rank 1 to 4 in 4 dimensions with rational entries; multiples, absolute values, clipped, transposed "
        "and rotated values for F; in fractions"
    )
