"""Section 3.1: the clients' coefficient updates and their average (eqs. (7) to (10)), and the truncation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy
import torch

from algorithms.descent import Descent
from algorithms.fedlin import FedLin
from algorithms.rounds import one_round
from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.federations import draw_cases
from paper_checks.fedlrt.measurements.first_rounds import (
    ROUND_SCOPE,
    Corrected,
    first_rounds,
    gradient_by_autograd,
    measure_full,
    projected_gradient,
    rate_of,
)
from paper_checks.fedlrt.measurements.symbolic_flow import entrywise
from paper_checks.fedlrt.measurements.watched_rounds import STEPS, Round, watch
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity, rational
from paper_checks.methods.relations import Relation, Relations, judge_relations, relations, same
from paper_checks.recorded_federation import Watched


@relations(
    "fedlrt/eq-7",
    where="Section 3.1, eq. (7)",
    says=r"""Without variance correction client c trains $\tilde S_c$ for $s_*$ iterations with learning rate $\lambda$:
    $\tilde S_c^{s+1} = \tilde S_c^s - \lambda\nabla_{\tilde S}\mathcal{L}_c(\tilde U\tilde S_c^s\tilde V^\top)$, $s =
    0, \ldots, s_* - 1$, with $\tilde S_c^{s=0} = \tilde S$.""",
    measure=lambda context: first_rounds(context, "none"),
    mutants=[{"rate": 1.01}, {"more": 1}, {"transposed": True}, {"own": False}],
    uses=("fedlrt/lemma-1",),
    kind="definition",
    expect=("holds", "proof"),
)
def eq_7(
    rounds: list[Round], rate: float = 1.0, more: int = 0, transposed: bool = False, own: bool = True
) -> Relations:
    """The clients' uploads against the recursion with gradients in W, and those against differentiation."""
    for one in rounds:
        for client, sent in zip(one.case.clients, one.coefficients, strict=True):
            used = client if own else one.case.clients[0]
            S = one.start
            for step in range(STEPS + more):
                slope = projected_gradient(one, used, S).mT if transposed else projected_gradient(one, used, S)
                if step == 0:
                    yield same("the gradient in S is Ut' G Vt", slope, gradient_by_autograd(one, used, S))
                S = S - rate * rate_of(one) * slope
            yield same("the recursion is what clients send", S, sent)
    return ROUND_SCOPE


@relations(
    "fedlrt/eq-8",
    where="Section 3.1, eq. (8)",
    says=r"""One more communication round aggregates $G_{\tilde S,c} = \nabla_{\tilde S}\mathcal{L}_c(\tilde U\tilde
    S\tilde V^\top)$ to $G_{\tilde S} = \frac1C\sum_cG_{\tilde S,c}$ and broadcasts it. With $V_c = G_{\tilde S} -
    G_{\tilde S,c}$ client c iterates $\tilde S_c^{s+1} = \tilde S_c^s - \lambda(\nabla_{\tilde S}\mathcal{L}_c(\tilde
    U\tilde S_c^s\tilde V^\top) + V_c)$, $s = 0, \ldots, s_*-1$, with $\tilde S_c^{s=0} = \tilde S$.""",
    measure=measure_full,
    mutants=[{"sign": -1.0}, {"sign": 0.0}, {"more": 0}, {"share": 0.99}],
    uses=("fedlrt/eq-7",),
    kind="definition",
    expect=("holds", "proof"),
)
def eq_8(found: Corrected, sign: float = 1.0, share: float = 1.0, more: int = 1) -> Relations:
    """The clients' uploads against the recursion, with full-rank gradients in the augmented bases."""
    for one in found.rounds:
        slopes = [projected_gradient(one, client, one.start) for client in one.case.clients]
        mean = share * torch.stack(slopes).mean(dim=0)
        for client, slope, sent in zip(one.case.clients, slopes, one.coefficients, strict=True):
            S = one.start
            for _ in range(STEPS):
                S = S - rate_of(one) * (projected_gradient(one, client, S) + sign * (mean - slope))
            yield same("the recursion is what clients send", S, sent)
        total = torch.stack([mean - slope for slope in slopes]).sum(dim=0)
        yield same("the corrections cancel", total, torch.zeros_like(total))
        yield Relation("communication rounds", one.trips, found.plain_trips + more)
    for one in found.single:
        slopes = [projected_gradient(one, client, one.start) for client in one.case.clients]
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
    """Run rounds with the simplified correction."""
    case = draw_cases(context)[0]
    fed = Watched(case.clients)
    one_round(FedLin(Descent(1, 0.01)).round, fed, case.factors.U @ case.factors.S @ case.factors.V.T)
    return Simplified(tuple(first_rounds(context, "simplified")), len(fed.trips), watch(case, "full")[0].trips)


@relations(
    "fedlrt/eq-9",
    where=r"Section 3.1, eq. (9), as the definition of $\check V_c$ (what it lacks of $V_c$, for $\approx$: "
    r"fedlrt/assumption-1 and fedlrt/claim-simplified-sufficient), with $\tilde G_{\tilde S}$ instead of $\check "
    r"G_{\tilde S}$ in its last sentence in our copy of the paper",
    says=r"""$V_c = G_{\tilde S} - G_{\tilde S,c} \approx \check V_c := \check G_{\tilde S} - \check G_{\tilde S,c} =
    \begin{bmatrix}\nabla_S\mathcal{L}(U^tS^tV^{t,\top}) - \nabla_S\mathcal{L}_c(U^tS^tV^{t,\top}) & 0\\0 &
    0\end{bmatrix}$, the correction of the coefficients that are not augmented. It makes lines 10 and 12 of Algorithm 1
    redundant, since $\tilde G_{\tilde S}$ can be aggregated with $G_U$, $G_V$ in line 4 and broadcast with $\bar U$,
    $\bar V$ in line 6, which leaves two communication rounds, as many as FedLin's.""",
    measure=measure_simplified,
    mutants=[{"block": 1.01}, {"outside": 1.0}, {"sign": -1}, {"fewer": 0}],
    uses=("fedlrt/eq-8",),
    kind="definition",
    expect=("holds", "proof"),
    intended=Intended(
        "literal",
        "“which only considers the correction term of the *non-augmented* coefficients $S^t$”: the block alone, which "
        "Algorithm 5 aggregates in line 5.",
    ),
)
def eq_9(found: Simplified, block: float = 1.0, outside: float = 0.0, sign: int = 1, fewer: int = 1) -> Relations:
    """The correction that travelled against blocks of the full one, and what clients send with it."""
    for one in found.rounds:
        r = one.before.S["W"].shape[0]
        slopes = [projected_gradient(one, client, one.start) for client in one.case.clients]
        mean = torch.stack(slopes).mean(dim=0)
        for client, slope, added, sent in zip(one.case.clients, slopes, one.corrections, one.coefficients, strict=True):
            expected = outside * (mean - slope)
            expected[:r, :r] = sign * block * (mean - slope)[:r, :r]
            yield same("the correction is the block of the full one", added, expected)
            S = one.start
            for _ in range(STEPS):
                S = S - rate_of(one) * (projected_gradient(one, client, S) + expected)
            yield same("the recursion is what clients send", S, sent)
        yield Relation("communication rounds of FedLin", one.trips, found.fedlin)
        yield Relation("one fewer than with the full correction", one.trips, found.full - fewer)
    return (
        f"{ROUND_SCOPE}; line 11, the aggregation between the two, goes with them; what line 4 aggregates is the block"
    )


@dataclass(frozen=True)
class Shared:
    """Symbolic bases and coefficients of three clients, and integer coefficients with 2r for exact ranks."""

    bases: tuple[tuple[sympy.Matrix, sympy.Matrix], ...]
    own: tuple[tuple[sympy.Matrix, ...], ...]
    coefficients: tuple[tuple[sympy.Matrix, ...], ...]
    points: tuple[Point, ...]
    integers: tuple[tuple[sympy.Matrix, ...], ...]


TWO_MODELS: dict[str, list[str]] = {"models": ["1", "3"]}

SIZES = ((2, 2, 1), (3, 2, 1), (2, 4, 1))  # rows, columns and rank of shared bases


def measure_shared(context: Context) -> Shared:
    """Draw bases that are not even orthonormal; means of integer matrices that keep and that lose rank."""

    def symbols(name: str, rows: int, columns: int) -> sympy.Matrix:
        return sympy.Matrix(rows, columns, lambda i, j: sympy.Symbol(f"{name}_{i}{j}"))

    bases = tuple((symbols("U", m, 2 * r), symbols("V", n, 2 * r)) for m, n, r in SIZES)
    own = tuple(tuple(symbols(f"U{c}", m, 2 * r) for c in range(3)) for m, _, r in SIZES)
    coefficients = tuple(tuple(symbols(f"S{c}", 2 * r, 2 * r) for c in range(3)) for _, _, r in SIZES)
    every = {s for group in (*bases, *own, *coefficients) for matrix in group for s in matrix}
    rng = context.rng("integers")
    integers = [(sympy.diag(1, 1), sympy.diag(1, -1))]
    for size in (2, 4, 4, 6):
        integers.append(tuple(sympy.Matrix(size, size, rng.integers(-4, 5, size * size).tolist()) for _ in range(3)))
    return Shared(bases, own, coefficients, tuple(generic_points(context, sorted(every, key=str), 1)), tuple(integers))


@claim(
    "fedlrt/eq-10",
    where="Section 3.1, coefficient averaging, eq. (10)",
    says=r"""With shared bases $\tilde W_r^* = \frac1C\sum_{c=1}^C\tilde W_r^{s_*} = \frac1C\sum_{c=1}^C(\tilde U\tilde
    S_c^{s_*}\tilde V^\top) = \tilde U(\frac1C\sum_{c=1}^C\tilde S_c^{s_*})\tilde V^\top = \tilde U\tilde S^*\tilde
    V^\top$. As the basis is fixed, the rank 2r is preserved in the aggregation, where other schemes may aggregate to
    full rank.""",
    measure=measure_shared,
    readings=(
        LITERAL,
        Reading(
            "rank at most 2r",
            r"$\tilde W_r^* = \frac1C\sum_c\tilde W_{r,c}^{s_*} = \frac1C\sum_c\tilde U\tilde S_c^{s_*}\tilde V^\top = "
            r"\tilde U(\frac1C\sum_c\tilde S_c^{s_*})\tilde V^\top = \tilde U\tilde S^*\tilde V^\top$, and the "
            "aggregate has rank at most 2r.",
            {"index": True},
            "The sentence continues with other schemes, whose aggregate could be of full rank.",
            ({"share": 1.01}, {"bases": "own"}, {"room": -1}),
        ),
    ),
    because=r"The summand $\tilde W_r^{s_*}$ lacks the index c that (32) has. “The rank 2r is preserved” must "
    "mean rank at most 2r.",
    expect=("holds", "proof"),
    intended=Intended(
        "rank at most 2r",
        "“Since the basis is fixed, the rank 2r is preserved in the aggregation, ... in contrast "
        r"to other” schemes of full rank: it does not grow. (32) has $\widetilde W_{r,c}^{s_*}$.",
    ),
    print="misprint",
)
def eq_10(data: Shared, share: float = 1.0, bases: str = "shared", room: int = 0, index: bool = False) -> Evidence:
    """The two sides agree entry by entry for any bases, orthonormal or not, and the ranks of means are exact.

    Without the index the summand is the same for all clients: the mean would be that of one of them.
    """
    if not index:
        models = np.array([float(Fraction(model)) for model in TWO_MODELS["models"]])
        nearest = float(np.abs(models - models.mean()).min())
        line = Relation("the model nearest to the mean of two", nearest, 0.0, case=TWO_MODELS)
        return judge_relations([line], "two clients with models of one entry")
    equations: list[Equation] = []
    for coefficients in data.integers:
        mean, size = sum(coefficients[1:], coefficients[0]), coefficients[0].rows + room
        found = mean.rank()
        if found > size:
            equations.append(Equation("rank of the mean", sympy.Integer(found), sympy.Integer(size)))
    for (U, V), own, coefficients in zip(data.bases, data.own, data.coefficients, strict=True):
        used = own if bases == "own" else (U,) * len(coefficients)
        whole = sum(
            (basis * S * V.T for basis, S in zip(used[1:], coefficients[1:], strict=True)),
            used[0] * coefficients[0] * V.T,
        )
        mean = sum(coefficients[1:], coefficients[0]) * rational(share)
        equations += entrywise(f"mean, {U.rows} x {V.rows}", whole / 3, U * mean * V.T / 3)
    return judge_identity(
        equations,
        data.points,
        "all bases and coefficients of three clients, symbolic, 2r = 2; "
        "exact ranks of means of integer coefficients up to 2r = 6; for other numbers and sizes the same, as both "
        "sides are linear in each client's coefficients, and a product with 2r columns has a rank of at most 2r; the "
        "rank can be lower, as that of the mean of diag(1, 1) and diag(1, -1)",
    )


Spectrum = tuple[tuple[Fraction, ...], Fraction]


def measure_spectra(context: Context) -> list[Spectrum]:
    """Draw decreasing singular values and thresholds: simple ones first, then ties, zeros, and decades."""
    rng = context.rng("spectra")
    simple = (
        "1 1: 1/10",
        "1 0: 1/10",
        "5 4 3 0: 5",
        "5 4 3 0: 26/5",
        "5 4 3 0: 4",
        "1 0 0 0: 1",
        "1 999/1000: 1",
        "3 2 2 2: 7/2",
        "1 1/1000000000 0 0: 1/100",
    )
    found: list[Spectrum] = []
    for text in simple:
        values, theta_text = text.split(": ")
        found.append((tuple(map(Fraction, values.split())), Fraction(theta_text)))
    for _ in range(context.size(60, 600)):
        size = 2 * int(rng.integers(1, 5))
        digits, powers = rng.integers(0, 10, size).tolist(), rng.integers(-6, 3, size).tolist()
        sigma = sorted((Fraction(d) * Fraction(10) ** p for d, p in zip(digits, powers, strict=True)), reverse=True)
        theta = Fraction(int(rng.integers(1, 10))) * Fraction(10) ** int(rng.integers(-6, 2))
        if sum(s * s for s in sigma) >= theta**2:
            found.append((tuple(sigma), theta))
    return found


@relations(
    "fedlrt/claim-trunc",
    where="Section 3.1, automatic compression via rank truncation",
    says=r"""Truncation is needed to identify the optimal rank and to make sure that S has full rank. The SVD of $\tilde
    S^*$ is cut to its $r_1$ largest singular values; $r_1$ can be chosen by a variety of criteria, such as the
    threshold $\|[\sigma_{r_1}, \ldots, \sigma_{2r}]\|_2 < \vartheta$.""",
    measure=measure_spectra,
    control=Form(r"Where the rule leaves a choice, the truncated part is below $\vartheta$.", {"keep": ("error",)}),
    correction=Form(
        r"""With the tail from the first value that goes, $\|[\sigma_{r_1+1}, \ldots, \sigma_{2r}]\|_2 < \vartheta$, and
        $0 < \vartheta \le \|\tilde S^*\|$ the smallest such $r_1$ always exists, is the least rank of any matrix nearer
        than $\vartheta$ to $\tilde W_r^*$ in the Frobenius norm, and every kept singular value is positive. The tail
        from $\sigma_{r_1}$ on keeps one value more, which may be zero, and no $r_1$ satisfies it where $\sigma_{2r} \ge
        \vartheta$.""",
        {"after": 1},
        ({"after": 0}, {"after": 2}, {"strict": False}, {"bound": 0.99}),
    ),
    because=r"The tail includes $\sigma_{r_1}$, which is kept, so it can happen that no rank qualifies or that a 0 is "
    "kept (fedlrt/claim-factors).",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“contains the $r_1$ largest singular values”: the tail of what is cut starts at "
        r"$\sigma_{r_1+1}$; (36) needs $\vartheta \geq \|W_r^{t+1} - \widetilde W_r^*\|$.",
    ),
    print="misprint",
)
def claim_trunc(
    spectra: list[Spectrum],
    after: int = 0,
    strict: bool = True,
    bound: float = 1.0,
    keep: tuple[str, ...] = ("exists", "error", "rank", "full"),
) -> Relations:
    """The smallest rank that the rule admits, in fractions, and what it leaves."""
    share = Fraction(bound)
    for sigma, theta in spectra:
        squares = [sum((s * s for s in sigma[k:]), Fraction(0)) for k in range(len(sigma) + 1)]
        case = {"sigma": [str(s) for s in sigma], "theta": str(theta)}

        def below(k: int, squares: list[Fraction] = squares, theta: Fraction = theta) -> bool:
            tail = squares[min(k, len(squares) - 1)]
            return tail < theta**2 or (not strict and tail == theta**2)

        admitted = [k for k in range(1, len(sigma) + 1) if below(k - 1 + after)]
        if "exists" in keep:
            yield Relation("some rank from 1 to 2r is admitted", 1, len(admitted), at_most=True, case=case)
        if not admitted:
            continue
        kept = admitted[0]
        near = int(squares[kept] < (share * theta) ** 2)
        if "error" in keep:
            yield Relation("the truncated part is below the threshold", near, 1.0, case=case)
        if "rank" in keep:
            least = min(k for k in range(len(sigma) + 1) if squares[k] < theta**2)
            yield Relation("no smaller rank comes as near", kept, max(least, 1), case=case)
        if "full" in keep:
            yield Relation("S has full rank", float(sigma[kept - 1] > 0), 1.0, case=case)
    return f"{len(spectra)} spectra of 2 to 8 singular values, with ties, zeros and many decades, in fractions"
