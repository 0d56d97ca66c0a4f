"""Section 3.1 and Appendix F: the clients' coefficient updates (eqs. 7 to 9 and 26) and Lemma 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedlin import FedLin
from algorithms.fedlrt import Correction
from algorithms.rounds import one_round
from paper_checks.claim import Form
from paper_checks.context import Context
from paper_checks.fedlrt.boxes import STEPS, Round, watch
from paper_checks.fedlrt.federations import SCOPE, draw_cases
from paper_checks.methods.promises import Promise, Promises, promises, same
from paper_checks.recorded_federation import Watched

ROUND_SCOPE = f"{SCOPE}; the first round, of {STEPS} local steps"


def first_rounds(context: Context, correction: Correction, steps: int = STEPS) -> list[Round]:
    """The first round of every case."""
    return [watch(case, correction, steps)[0] for case in draw_cases(context)]


def rate_of(one: Round, steps: int = STEPS) -> float:
    """The learning rate that was watched."""
    return 0.5 / (12.0 * one.case.smoothness * steps)


def differentiated(one: Round, client: Any, S: Tensor) -> Tensor:
    r"""The gradient of the client's loss of $\tilde US\tilde V^\top$ in S, by automatic differentiation."""
    slope: Tensor = torch.func.grad(lambda free: client.loss({"W": one.U @ free @ one.V.mT}))(S)
    return slope


def pulled(one: Round, client: Any, S: Tensor) -> Tensor:
    r"""The same gradient as $\tilde U^\top\nabla_W\mathcal{L}_c\tilde V$."""
    slope: Tensor = one.U.mT @ client.gradient({"W": one.U @ S @ one.V.mT})["W"] @ one.V
    return slope


@promises(
    "fedlrt/eq-7",
    where="Section 3.1, eq. (7)",
    says=r"Without variance correction client c trains $\tilde S_c$ for $s_*$ iterations with learning rate "
    r"$\lambda$: $\tilde S_c^{s+1} = \tilde S_c^s - \lambda\nabla_{\tilde S}\mathcal{L}_c(\tilde U\tilde S_c^s\tilde "
    r"V^\top)$, $s = 0, \ldots, s_* - 1$, with $\tilde S_c^{s=0} = \tilde S$.",
    measure=lambda context: first_rounds(context, "none"),
    mutants=[{"rate": 1.01}, {"more": 1}, {"transposed": True}, {"own": False}],
    uses=("fedlrt/lemma-1",),
    kind="definition",
    expect=("holds", "proof"),
)
def eq_7(rounds: list[Round], rate: float = 1.0, more: int = 0, transposed: bool = False, own: bool = True) -> Promises:
    """The clients' uploads against the recursion with gradients in W, and those against differentiation."""
    for one in rounds:
        for client, sent in zip(one.case.clients, one.coefficients, strict=True):
            used = client if own else one.case.clients[0]
            S = one.start
            for step in range(STEPS + more):
                slope = pulled(one, used, S).mT if transposed else pulled(one, used, S)
                if step == 0:
                    yield same("the gradient in S is Ut' G Vt", slope, differentiated(one, used, S))
                S = S - rate * rate_of(one) * slope
            yield same("the recursion is what clients send", S, sent)
    return ROUND_SCOPE


@dataclass(frozen=True)
class Corrected:
    """Rounds with several local steps and with one, and the trips of a round without correction."""

    rounds: tuple[Round, ...]
    single: tuple[Round, ...]
    plain_trips: int


def measure_full(context: Context) -> Corrected:
    """Rounds with the full correction."""
    plain = watch(draw_cases(context)[0], "none")[0]
    return Corrected(tuple(first_rounds(context, "full")), tuple(first_rounds(context, "full", 1)), plain.trips)


@promises(
    "fedlrt/eq-8",
    where="Section 3.1, eq. (8)",
    says=r"One more communication round aggregates $G_{\tilde S,c} = \nabla_{\tilde S}\mathcal{L}_c(\tilde U\tilde "
    r"S\tilde V^\top)$ to $G_{\tilde S} = \frac1C\sum_cG_{\tilde S,c}$ and broadcasts it. With $V_c = G_{\tilde S} - "
    r"G_{\tilde S,c}$ client c iterates $\tilde S_c^{s+1} = \tilde S_c^s - \lambda(\nabla_{\tilde "
    r"S}\mathcal{L}_c(\tilde U\tilde S_c^s\tilde V^\top) + V_c)$, $s = 0, \ldots, s_*-1$, with $\tilde S_c^{s=0} = "
    r"\tilde S$.",
    measure=measure_full,
    mutants=[{"sign": -1.0}, {"sign": 0.0}, {"more": 0}, {"share": 0.99}],
    uses=("fedlrt/eq-7",),
    kind="definition",
    expect=("holds", "proof"),
)
def eq_8(found: Corrected, sign: float = 1.0, share: float = 1.0, more: int = 1) -> Promises:
    """The clients' uploads against the recursion, with full-rank gradients in the wide bases."""
    for one in found.rounds:
        slopes = [pulled(one, client, one.start) for client in one.case.clients]
        mean = share * torch.stack(slopes).mean(dim=0)
        for client, slope, sent in zip(one.case.clients, slopes, one.coefficients, strict=True):
            S = one.start
            for _ in range(STEPS):
                S = S - rate_of(one) * (pulled(one, client, S) + sign * (mean - slope))
            yield same("the recursion is what clients send", S, sent)
        total = torch.stack([mean - slope for slope in slopes]).sum(dim=0)
        yield same("the corrections cancel", total, torch.zeros_like(total))
        yield Promise("communication rounds", one.trips, found.plain_trips + more)
    for one in found.single:
        slopes = [pulled(one, client, one.start) for client in one.case.clients]
        stepped = one.start - rate_of(one, 1) * share * torch.stack(slopes).mean(dim=0)
        yield from [same("the first step is the global gradient's", sent, stepped) for sent in one.coefficients]
    return f"{ROUND_SCOPE}; and of one"


@dataclass(frozen=True)
class Simplified:
    """Rounds with the simplified correction, and the trips of FedLin and of the full correction."""

    rounds: tuple[Round, ...]
    fedlin: int
    full: int


def measure_simplified(context: Context) -> Simplified:
    """Rounds with the simplified correction."""
    case = draw_cases(context)[0]
    fed = Watched(case.clients)
    one_round(FedLin(Descent(1, 0.01)).round, fed, case.factors.U @ case.factors.S @ case.factors.V.T)
    return Simplified(tuple(first_rounds(context, "simplified")), len(fed.trips), watch(case, "full")[0].trips)


@promises(
    "fedlrt/eq-9",
    where=r"Section 3.1, eq. (9), as the definition of $\check V_c$ (what it lacks of $V_c$, for $\approx$: "
    "fedlrt/assumption-1 and fedlrt/claim-simplified-sufficient)",
    says=r"$V_c = G_{\tilde S} - G_{\tilde S,c} \approx \check V_c := \check G_{\tilde S} - \check G_{\tilde S,c} = "
    r"\begin{bmatrix}\nabla_S\mathcal{L}(U^tS^tV^{t,\top}) - \nabla_S\mathcal{L}_c(U^tS^tV^{t,\top}) & 0\\0 & "
    r"0\end{bmatrix}$, the correction of the coefficients that are not augmented. It makes lines 10 and 12 of "
    r"Algorithm 1 redundant, since $\tilde G_{\tilde S}$ can be aggregated with $G_U$, $G_V$ in line 4 and broadcast "
    r"with $\bar U$, $\bar V$ in line 6, which leaves two communication rounds, as many as FedLin's.",
    measure=measure_simplified,
    mutants=[{"block": 1.01}, {"outside": 1.0}, {"sign": -1}, {"fewer": 0}],
    uses=("fedlrt/eq-8",),
    kind="definition",
    expect=("holds", "proof"),
)
def eq_9(found: Simplified, block: float = 1.0, outside: float = 0.0, sign: int = 1, fewer: int = 1) -> Promises:
    """The correction that travelled against blocks of the full one, and what clients send with it."""
    for one in found.rounds:
        r = one.before.S["W"].shape[0]
        slopes = [pulled(one, client, one.start) for client in one.case.clients]
        mean = torch.stack(slopes).mean(dim=0)
        for client, slope, added, sent in zip(one.case.clients, slopes, one.corrections, one.coefficients, strict=True):
            expected = outside * (mean - slope)
            expected[:r, :r] = sign * block * (mean - slope)[:r, :r]
            yield same("the correction is the block of the full one", added, expected)
            S = one.start
            for _ in range(STEPS):
                S = S - rate_of(one) * (pulled(one, client, S) + expected)
            yield same("the recursion is what clients send", S, sent)
        yield Promise("communication rounds of FedLin", one.trips, found.fedlin)
        yield Promise("one fewer than with the full correction", one.trips, found.full - fewer)
    return (
        f"{ROUND_SCOPE}; line 11, the aggregation between the two, goes with them; what line 4 can aggregate is the "
        "block, which is printed with a tilde"
    )


@promises(
    "fedlrt/eq-26",
    where="Appendix F.1, eq. (26) (the sentence after it, whose signs are others: fedlrt/eq-26-gradients)",
    says=r"The corrected update (8) can be written $\tilde S_c^{s+1} = \tilde S_c^s + \lambda\tilde U^\top(F_c(\tilde "
    r"W_{r,c}^s) - F_c(\tilde W_r) + F(\tilde W_r))\tilde V$, with $F_c = -\nabla_W\mathcal{L}_c$ and $F = "
    r"\frac1C\sum_cF_c$.",
    measure=measure_full,
    mutants=[{"sign": -1}, {"stale": 0.99}, {"whole": 1.01}],
    uses=("fedlrt/eq-8",),
    expect=("holds", "proof"),
)
def eq_26(found: Corrected, sign: int = 1, stale: float = 1.0, whole: float = 1.0) -> Promises:
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
        V: The wide basis, ``(n, 2r)``.
        by_hand: The case in plain numbers, if it is small.
    """

    moved: tuple[Tensor, Tensor]
    start: tuple[Tensor, Tensor]
    whole: tuple[Tensor, Tensor, Tensor]
    V: Tensor
    by_hand: Mapping[str, Any] | None = None


def measure_sides(context: Context) -> list[Sides]:
    """Losses |W - A|^2 / 2 by hand at W = S e1 e1^T, both wide bases the axes of the plane; then random ones."""
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
            weights.append((pulled, [differentiated(one, client, S) for client in clients]))
        (moved, moved_slopes), (start, start_slopes) = weights
        whole = torch.stack(start).mean(dim=0), torch.stack(start_slopes).mean(dim=0), start[0]
        found.append(Sides((moved[0], moved_slopes[0]), (start[0], start_slopes[0]), whole, one.V))
    return found


@promises(
    "fedlrt/eq-26-gradients",
    where="Appendix F.1, sentence after eq. (26)",
    says=r"In (26), $\tilde U^\top F_c(\tilde W_{r,c}^s)\tilde V = \nabla_{\tilde S_c}\mathcal{L}_c(\tilde U\tilde "
    r"S_c^s\tilde V)$, $\tilde U^\top F_c(\tilde W_{r,c})\tilde V = \nabla_{\tilde S_c}\mathcal{L}_c(\tilde U\tilde "
    r"S_c^{s=0}\tilde V)$ and $\tilde U^\top F_c(\tilde W_{r,c}^s)\tilde V = \nabla_{\tilde S_c}\mathcal{L}(\tilde "
    r"U\tilde S_c^s\tilde V)$.",
    measure=measure_sides,
    control=Form(
        r"With $\tilde V^\top$ for $\tilde V$ the two sides of the first two equations have the same norm.",
        {"keep": ("norms",)},
    ),
    correction=Form(
        r"$\tilde U^\top F_c\tilde V = -\nabla_{\tilde S}\mathcal{L}_c(\tilde U\tilde S\tilde V^\top)$, as $F = "
        r"-\nabla_W\mathcal{L}$, and the third with the global F: $\tilde U^\top F(\tilde W_r)\tilde V = "
        r"-\nabla_{\tilde S}\mathcal{L}(\tilde U\tilde S\tilde V^\top)$. As printed 2r columns of $\tilde U\tilde S$ "
        r"meet n rows of $\tilde V$.",
        {"sign": -1.0, "third": "F", "last": "V^T"},
        ({"sign": 1.0}, {"sign": -1.01}, {"third": "F_c"}, {"last": "V"}),
    ),
    importance="detail",
    because=r"F is the negative gradient: the other sign; the third line has $F_c$ for F; $\tilde V$, not transposed, "
    "does not fit.",
    expect=("corrected", "proof"),
)
def eq_26_gradients(
    found: list[Sides], sign: float = 1.0, third: str = "F_c", last: str = "V", keep: tuple[str, ...] = ("equations",)
) -> Promises:
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
            yield Promise("columns of the coefficients meet rows of the last factor", one.V.shape[1], rows)
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


def exact(rows: Sequence[Sequence[Any]]) -> Exact:
    """A matrix of fractions."""
    return np.array([[Fraction(entry) for entry in row] for row in rows], dtype=object)


def square(matrix: Exact) -> Fraction:
    """The square of the Frobenius norm."""
    return sum((entry * entry for entry in matrix.flat), Fraction(0))


def measure_lipschitz(context: Context) -> list[Lipschitz]:
    """Axes and rational rotations of them; multiples, absolute values, clipped and rotated values for F."""
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


@promises(
    "fedlrt/lemma-3",
    where="Appendix F, Lemma 3, eqs. (24) and (25) (the lines of its proof: fedlrt/lemma-3-proof)",
    says=r"For orthonormal $U, V \in \mathbb R^{n \times r}$, an L-continuous F and $S_1, S_2 \in \mathbb R^{r "
    r"\times r}$: (24) $\|P_U(F(US_1V^\top) - F(US_2V^\top))P_V\| \le L\|S_1 - S_2\|$ and (25) "
    r"$\|U(F(US_1V^\top) - F(US_2V^\top))V^\top\| \le L\|S_1 - S_2\|$.",
    measure=measure_lipschitz,
    control=Form("(24), with the first and the last step of its proof.", {"keep": ("(24)", "proof")}),
    correction=Form(
        r"(24) holds, and (25) with $U^\top(F(US_1V^\top) - F(US_2V^\top))V$, the form that is used later. The "
        r"constant L is the best. Norms of U and V in the proof are operator norms; Frobenius norms would be $\sqrt "
        "r$.",
        {"form": "U'(.)V"},
        ({"constant": 0.99}, {"form": "U(.)V'"}),
    ),
    because=r"In (25) U has r columns and F has n rows, so that for $r < n$ the product does not exist.",
    expect=("corrected", "proof"),
)
def lemma_3(
    cases: list[Lipschitz],
    form: str = "U(.)V'",
    constant: float = 1.0,
    keep: tuple[str, ...] = ("(24)", "(25)", "proof"),
) -> Promises:
    """Squares of both sides, in fractions; shapes of the product; the first and the last step of the proof."""

    def at_most(name: str, left: Fraction, right: Fraction) -> Promise:
        return Promise(name, float(left > right), 0.0, at_most=True)

    for one in cases:
        n, r = one.U.shape
        bound = (Fraction(constant) * one.constant) ** 2 * square(one.step)
        inside = one.U @ (one.U.T @ one.change @ one.V) @ one.V.T
        if "(24)" in keep:
            yield at_most("(24)", square(inside), bound)
        if "(25)" in keep:
            first, last = (one.U, one.V.T) if form == "U(.)V'" else (one.U.T, one.V)
            shapes = {"n": n, "r": r}
            yield Promise("the product of (25) exists", first.shape[1], n, case=shapes)
            if first.shape[1] == n:
                yield at_most("(25)", square(first @ one.change @ last), bound)
        if "proof" in keep:
            yield at_most("steps (I) and (II) of the proof", square(inside), square(one.change))
            yield at_most("the last steps of the proof", square(one.U @ one.step @ one.V.T), square(one.step))
    return (
        "bases of rank 1 to 4 in 4 dimensions with rational entries; multiples, absolute "
        "values, clipped, transposed and rotated values for F; in fractions"
    )
