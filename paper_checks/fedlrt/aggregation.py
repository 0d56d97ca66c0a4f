"""Sections 3 and 3.1: averaging in shared bases and in bases of the clients' own, and truncation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Rule, Truncation, factorise
from algorithms.rounds import go_on
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Evidence, Form, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.federations import SCOPE, Case, draw_cases
from paper_checks.fedlrt.symbolic_flow import entrywise
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity, rational
from paper_checks.methods.promises import Promise, Promises, orthonormal, promises, same
from paper_checks.recorded_federation import Watched
from toymodels.quadratic import centred

SIZES = ((2, 2, 1), (3, 2, 1), (2, 4, 1))  # rows, columns and rank of shared bases


@dataclass(frozen=True)
class Shared:
    """Symbolic bases and coefficients of three clients, and integer coefficients with 2r for exact ranks."""

    bases: tuple[tuple[sympy.Matrix, sympy.Matrix], ...]
    own: tuple[tuple[sympy.Matrix, ...], ...]
    coefficients: tuple[tuple[sympy.Matrix, ...], ...]
    points: tuple[Point, ...]
    integers: tuple[tuple[sympy.Matrix, ...], ...]


def measure_shared(context: Context) -> Shared:
    """Bases that are not even orthonormal; means of integer matrices that keep and that lose rank."""

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
    says=r"With shared bases $\tilde W_r^* = \frac1C\sum_{c=1}^C\tilde W_r^{s_*} = \frac1C\sum_{c=1}^C(\tilde "
    r"U\tilde S_c^{s_*}\tilde V^\top) = \tilde U(\frac1C\sum_{c=1}^C\tilde S_c^{s_*})\tilde V^\top = \tilde "
    r"U\tilde S^*\tilde V^\top$. As the basis is fixed, the rank 2r is preserved in the aggregation, where "
    "other schemes may aggregate to full rank.",
    measure=measure_shared,
    readings=(
        LITERAL,
        Reading(
            "rank at most 2r",
            r"$\frac1C\sum_c\tilde U\tilde S_c^{s_*}\tilde V^\top = \tilde U(\frac1C\sum_c\tilde S_c^{s_*})\tilde "
            r"V^\top$, and the aggregate has rank at most 2r.",
            {"rank": "at most"},
            "The sentence goes on with other schemes, whose aggregate could be of full rank.",
            ({"share": 1.01}, {"bases": "own"}, {"room": -1}),
        ),
    ),
    because="Coefficients of rank 2r can have a mean of lower rank; it is never higher.",
    expect=("depends on the reading", "proof"),
)
def eq_10(data: Shared, share: float = 1.0, bases: str = "shared", rank: str = "exactly", room: int = 0) -> Evidence:
    """Entry by entry for any bases, orthonormal or not; ranks of means of coefficients of full rank, exactly."""
    equations: list[Equation] = []
    for coefficients in data.integers:
        mean, size = sum(coefficients[1:], coefficients[0]), coefficients[0].rows + room
        found = mean.rank()
        if found > size or (rank == "exactly" and found != size):
            equations.append(Equation("rank of the mean", sympy.Integer(found), sympy.Integer(size)))
    for (U, V), own, coefficients in zip(data.bases, data.own, data.coefficients, strict=True):
        used = own if bases == "own" else (U,) * len(coefficients)
        whole = sum(
            (basis * S * V.T for basis, S in zip(used[1:], coefficients[1:], strict=True)),
            used[0] * coefficients[0] * V.T,
        )
        mean = sum(coefficients[1:], coefficients[0]) * rational(share)
        equations += entrywise(f"mean, {U.rows} x {V.rows}", whole / 3, U * mean * V.T / 3)
    evidence = judge_identity(
        equations,
        data.points,
        "all bases and coefficients of three clients, symbolic, 2r = 2; "
        "exact ranks of means of integer coefficients up to 2r = 6; for other numbers and sizes the same, as both "
        "sides are linear in each client's coefficients, and a product with 2r columns has a rank of at most 2r",
    )
    lowered = {
        "coefficients": [[[int(entry) for entry in matrix.row(i)] for i in range(2)] for matrix in data.integers[0]]
    }
    return replace(evidence, witness=lowered) if evidence.witness else evidence


Spectrum = tuple[tuple[Fraction, ...], Fraction]


def measure_spectra(context: Context) -> list[Spectrum]:
    """Singular values in decreasing order and thresholds: simple ones first, then ties, zeros, and decades."""
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


@promises(
    "fedlrt/claim-trunc",
    where="Section 3.1, automatic compression via rank truncation",
    says="Truncation is needed to identify the optimal rank and to make sure that S has full rank. The SVD of "
    r"$\tilde S^*$ is cut to its $r_1$ largest singular values; $r_1$ can be chosen by a variety of criteria, "
    r"such as the threshold $\|[\sigma_{r_1}, \ldots, \sigma_{2r}]\|_2 < \vartheta$.",
    measure=measure_spectra,
    control=Form(r"Where the rule leaves a choice, the truncated part is below $\vartheta$.", {"keep": ("error",)}),
    correction=Form(
        r"With the tail from the first value that goes, $\|[\sigma_{r_1+1}, \ldots, \sigma_{2r}]\|_2 < \vartheta$, "
        r"and $0 < \vartheta \le \|\tilde S^*\|$ the smallest such $r_1$ always exists, is the least rank of any "
        r"matrix nearer than $\vartheta$ to $\tilde W_r^*$ in the Frobenius norm, and every kept singular value is "
        r"positive. The tail from $\sigma_{r_1}$ on keeps one value more, which may be zero, and no $r_1$ satisfies "
        r"it where $\sigma_{2r} \ge \vartheta$.",
        {"after": 1},
        ({"after": 0}, {"after": 2}, {"strict": False}, {"bound": 0.99}),
    ),
    because=r"The tail counts $\sigma_{r_1}$, which is kept: no rank may qualify, or a 0 is kept "
    "(fedlrt/claim-factors).",
    expect=("corrected", "proof"),
)
def claim_trunc(
    spectra: list[Spectrum],
    after: int = 0,
    strict: bool = True,
    bound: float = 1.0,
    keep: tuple[str, ...] = ("exists", "error", "rank", "full"),
) -> Promises:
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
            yield Promise("some rank from 1 to 2r is admitted", 1, len(admitted), at_most=True, case=case)
        if not admitted:
            continue
        kept = admitted[0]
        near = int(squares[kept] < (share * theta) ** 2)
        if "error" in keep:
            yield Promise("the truncated part is below the threshold", near, 1.0, case=case)
        if "rank" in keep:
            least = min(k for k in range(len(sigma) + 1) if squares[k] < theta**2)
            yield Promise("no smaller rank comes as near", kept, max(least, 1), case=case)
        if "full" in keep:
            yield Promise("S has full rank", float(sigma[kept - 1] > 0), 1.0, case=case)
    return f"{len(spectra)} spectra of 2 to 8 singular values, with ties, zeros and many decades, in fractions"


RULES: tuple[Rule, ...] = ("printed", "after")
TAU = 0.1


@dataclass(frozen=True)
class Factors:
    """Factors after a round, and the round in plain numbers if it is small."""

    U: Tensor
    S: Tensor
    V: Tensor
    by_hand: Mapping[str, Any] | None = None


def measure_factors(context: Context) -> dict[str, list[Factors]]:
    """FeDLRT under both rules: a gradient within the bases by hand, then random cases."""
    hand = {"size": 4, "start": "1", "target": "2", "rate": "1/2", "tau": str(Fraction(1, 10))}
    W, target = (torch.zeros(4, 4, dtype=torch.float64) for _ in range(2))
    W[0, 0], target[0, 0] = 1.0, 2.0
    single = Case((centred(torch.eye(16, dtype=torch.float64), target),), factorise(Tree(W=W), 1), 1.0)
    found: dict[str, list[Factors]] = {rule: [] for rule in RULES}
    for case, rate, rounds in ((single, 0.5, 1), *((c, 0.3 / c.smoothness / 2, 2) for c in draw_cases(context))):
        for rule in RULES:
            algorithm = FeDLRT(Descent(1 if case is single else 2, rate), case.rank, Truncation(TAU, rule), "full")
            fed = Watched(case.clients)
            for state in go_on(algorithm.round, fed, case.factors, rounds):
                parts = [part["W"] for part in state]
                found[rule].append(Factors(parts[0], parts[1], parts[2], hand if case is single else None))
    return found


@promises(
    "fedlrt/claim-factors",
    where="Section 3.1, first paragraph",
    says="FeDLRT ensures that for all $t > 1$ the bases $U^t$ and $V^t$ are orthonormal and $S^t$ is diagonal and "
    "of full rank.",
    measure=measure_factors,
    control=Form(r"Where $2r \le n$ the bases are orthonormal and S is diagonal.", {"full": False}),
    correction=Form(
        r"With $2r \le n$, as the shapes of (6) imply, or bases of fewer columns where n is smaller, U and V are "
        r"orthonormal and S is diagonal; S has full rank if the threshold $0 < \vartheta \le \|\tilde "
        r"S^*\|$ is on the tail from $\sigma_{r_1+1}$ on, and $r_1$ the smallest that meets it.",
        {"rule": "after"},
        ({"rule": "printed"}, {"length": 1.01}, {"diagonal": 0.99}),
    ),
    vary=("length",),
    uses=("fedlrt/claim-trunc",),
    because=r"The threshold of Section 3.1 counts $\sigma_{r_1}$, which is kept, so that a singular value of 0 can be "
    "kept.",
    expect=("corrected", "proof"),
)
def claim_factors(
    found: dict[str, list[Factors]],
    rule: str = "printed",
    full: bool = True,
    length: float = 1.0,
    diagonal: float = 1.0,
) -> Promises:
    """Every round under a rule; full rank means a smallest singular value beyond rounding."""
    for one in found[rule]:
        sigma = one.S.diagonal()
        yield from [
            orthonormal("U is orthonormal", length * one.U),
            orthonormal("V is orthonormal", one.V),
            same("S is diagonal", one.S, diagonal * torch.diag(sigma)),
        ]
        if full:
            yield Promise(
                "S has full rank", 1e-12 * float(sigma.max()), float(sigma.min()), at_most=True, case=one.by_hand
            )
    return f"a gradient within the bases by hand; {SCOPE}; two rounds at tau = {TAU}"


@dataclass(frozen=True)
class Mean:
    """Low-rank models of clients in bases of their own, and what their mean comes to.

    Attributes:
        size: Side of the square weights.
        rank: Rank of every model.
        clients: Number of clients.
        found: Rank of the mean.
        gap: Largest difference of its singular values from those of the stacked factors' core.
        core: Size of that core.
        by_hand: The models in plain numbers, if they are small.
    """

    size: int
    rank: int
    clients: int
    found: int
    gap: float
    core: int
    by_hand: Mapping[str, Any] | None = None


def measure_means(context: Context) -> list[Mean]:
    """Two models by hand, then random ones, with fewer and with more columns together than there are rows."""
    rng = context.rng("models")
    units = np.eye(4)
    hand = [(units[:, [c]], np.eye(1), units[:, [c]]) for c in range(2)]
    groups: list[tuple[list[tuple[Any, Any, Any]], Mapping[str, Any] | None]] = [
        (hand, {"size": 4, "U": [[1, 0, 0, 0], [0, 1, 0, 0]], "V": [[1, 0, 0, 0], [0, 1, 0, 0]], "S": [1, 1]})
    ]
    for size, r, clients in ((12, 2, 3), (20, 1, 8), (6, 2, 2), (6, 2, 4), (5, 1, 1)) * context.size(1, 5):
        made = [tuple(np.linalg.qr(rng.standard_normal((size, r)))[0] for _ in range(2)) for _ in range(clients)]
        groups.append(([(U, rng.standard_normal((r, r)), V) for U, V in made], None))
    found = []
    for models, numbers in groups:
        size, r = models[0][0].shape
        mean = sum(U @ S @ V.T for U, S, V in models) / len(models)
        left, right = (np.linalg.qr(np.concatenate([model[i] for model in models], axis=1))[1] for i in (0, 2))
        blocks = np.zeros((len(models) * r,) * 2)
        for c, (_, S, _) in enumerate(models):
            blocks[c * r : (c + 1) * r, c * r : (c + 1) * r] = S / len(models)
        core = left @ blocks @ right.T
        sigma, small = (np.linalg.svd(matrix, compute_uv=False) for matrix in (mean, core))
        gap = float(np.abs(np.pad(small, (0, size - len(small))) - sigma).max())
        found.append(Mean(size, r, len(models), int((sigma > 1e-10).sum()), gap, len(small), numbers))
    return found


@promises(
    "fedlrt/claim-alg6",
    where="Section 3, other federated low-rank schemes, with Algorithm 6",
    says="Existing low-rank schemes effectively give each client a representation of its own, incompatible with the "
    "others'. While the factors can still be communicated efficiently, averaging on the server requires the full "
    r"matrix $W^* = \frac1C\sum_{c=1}^CU_cS_cV_c^\top$ to be "
    "rebuilt, as the local manifolds possibly diverge; so the local rank information is lost and needs to be recovered "
    r"by a costly full $n \times n$ SVD. As the mean of low-rank matrices is not necessarily of low rank, these "
    "schemes may lose crucial information if the clients' solutions drift too far apart.",
    measure=measure_means,
    control=Form(
        "The mean of models of rank r in different bases can have a rank beyond r, as that of the models judged has.",
        {"keep": ("beyond",)},
    ),
    correction=Form(
        r"The mean has rank at most $\min(n, Cr)$, which is attained. While $Cr < n$ neither $W^*$ nor an $n \times n$ "
        r"SVD is needed: QR decompositions of $[U_1|\ldots|U_C]$ and $[V_1|\ldots|V_C]$ and an SVD of size $Cr$ give "
        r"its factors.",
        {"needed": "stacked"},
        ({"needed": "whole"}, {"needed": "one client's"}, {"spread": 1e-3}),
    ),
    uses=("fedlrt/alg-6",),
    because="While Cr < n no full matrix is needed: QR decompositions of the stacked factors and an SVD of size Cr "
    "give the mean's.",
    expect=("corrected", "proof"),
)
def claim_alg6(
    means: list[Mean],
    needed: str = "whole",
    spread: float = 0.0,
    keep: tuple[str, ...] = ("needed", "attained", "beyond"),
) -> Promises:
    """Size of the matrix whose singular values are those of the mean; none smaller than its rank can be."""
    for one in means:
        together = min(one.size, one.clients * one.rank)
        size = {"whole": one.size, "stacked": together, "one client's": one.rank}[needed]
        if "needed" in keep:
            yield Promise("the size of the SVD that is needed", one.core, size, case=one.by_hand)
            yield Promise("it has the singular values of the mean", one.gap + spread, 0.0, 1e-10)
        if "attained" in keep:
            yield Promise("the rank of the mean", one.found, together)
        if "beyond" in keep and one.clients > 1:
            yield Promise("the mean has a rank beyond r", one.rank + 1, one.found, at_most=True)
    return (
        "two models by hand; 1 to 8 clients with random models of rank 1 and 2 and sizes 5 to 20, Cr below and above n"
    )
