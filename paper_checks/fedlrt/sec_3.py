"""Section 3: low-rank dynamics (eq. (5)), and what clients and server compute and send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sympy
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Rule, Truncation, factorise
from algorithms.rounds import go_on
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.counting import FACTORISATIONS, LOW_RANK, Counted
from paper_checks.fedlrt.measurements.federations import SCOPE, Case, draw_cases
from paper_checks.fedlrt.measurements.layers import LAYERS_SCOPE, run_layers
from paper_checks.fedlrt.measurements.symbolic_flow import Flow, entrywise, symbolic_flow
from paper_checks.methods.identity import Point, generic_points, judge_identity, rational
from paper_checks.methods.relations import Relation, Relations, orthonormal, relations, same
from paper_checks.recorded_federation import Watched
from toymodels.quadratic import centred

SQUARES = ((2, 1), (3, 1), (4, 2))  # n and r


def measure_flow(context: Context) -> tuple[tuple[Flow, ...], tuple[Point, ...]]:
    """Return symbols, with a point whose gradient has a single entry off the diagonal and a generic one."""
    flows = tuple(symbolic_flow(n, n, r) for n, r in SQUARES)
    symbols = sorted({s for flow in flows for s in (*flow.S, *flow.G)}, key=str)
    single = {s: sympy.Integer(int(str(s) in ("G_01", "S_00", "S_11"))) for s in symbols}
    return flows, (single, *generic_points(context, symbols, 1))


@claim(
    "fedlrt/eq-5",
    where="Section 3, eq. (5)",
    says=r"""The gradient flow, projected onto a local tangent plane of $\mathcal M_r$, is for the factors $\dot S =
    -U^\top\nabla_W\mathcal{L}(USV^\top)V$, $\dot U = -(I - P_U)\nabla_W\mathcal{L}(USV^\top)VS^{-1}$, $\dot V = -(I -
    P_V)\nabla_W\mathcal{L}(USV^\top)US^{-\top}$, with $P_U = UU^\top$ and $P_V = VV^\top$.""",
    measure=measure_flow,
    control=Form(
        r"The lines for S and U: the flow in the row space, $(\dot US + U\dot S)V^\top = -GP_V$.", {"lines": "S and U"}
    ),
    correction=Form(
        r"""The third line is $\dot V = -(I - P_V)G^\top US^{-\top}$ with $G = \nabla_W\mathcal{L}(USV^\top)$; then
        $\dot W = -(G - (I - P_U)G(I - P_V))$, and $U^\top\dot U = V^\top\dot V = 0$.""",
        {"transposed": True},
        ({"transposed": False}, {"inverses": "exchanged"}, {"sign": -1}, {"projection": 0.9}),
        asks="neither",
    ),
    importance="detail",
    because=r"The third line needs the transposed gradient, because U multiplies the gradient from the left and V "
    "from the right.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“derived in [19, Proposition 2.1]”: the third line is the second with rows and columns "
        "exchanged and lacks the transpose of the gradient.",
    ),
    print="misprint",
)
def eq_5(
    data: tuple[Sequence[Flow], Sequence[Point]],
    transposed: bool = False,
    inverses: str = "printed",
    sign: int = 1,
    projection: float = 1.0,
    lines: str = "all",
) -> Evidence:
    """By the product rule, the three lines give the projected gradient, entry by entry."""
    flows, points = data
    equations = []
    for flow in flows:
        U, S, V, G = flow.U, flow.S, flow.V, flow.G
        I, inverse, k = sympy.eye(G.rows), S.inv(), rational(projection)  # noqa: E741 - the paper's symbol
        first, second = (inverse, inverse.T) if inverses == "printed" else (inverse.T, inverse)
        S_dot = -sign * U.T * G * V
        U_dot = -(I - k * U * U.T) * G * V * first
        V_dot = -(I - k * V * V.T) * (G.T if transposed else G) * U * second
        rows = U_dot * S * V.T + U * S_dot * V.T
        if lines == "all":
            off = (I - U * U.T) * G * (I - V * V.T)
            equations += entrywise(f"projected flow, {flow.name}", rows + U * S * V_dot.T, -(G - off))
            equations += entrywise(f"V stays orthonormal, {flow.name}", V.T * V_dot, 0 * S)
        else:
            equations += entrywise(f"row space, {flow.name}", rows, -G * V * V.T)
        equations += entrywise(f"U stays orthonormal, {flow.name}", U.T * U_dot, 0 * S)
    evidence = judge_identity(
        equations,
        points,
        "all gradients and all invertible S, symbolic, for n = 2 to 4 and r = 1, 2; bases at the axes without loss "
        "of generality; for other n and r the same, as S cancels and P_U and I - P_U, P_V and I - P_V add up to I",
    )
    return replace(evidence, witness={"S": 1, "G": [[0, 1], [0, 0]]}) if evidence.witness else evidence


TAU = 0.1


@dataclass(frozen=True)
class Factors:
    """Factors after a round, and the round in plain numbers if it is small."""

    U: Tensor
    S: Tensor
    V: Tensor
    by_hand: Mapping[str, Any] | None = None


RULES: tuple[Rule, ...] = ("printed", "after")


def measure_factors(context: Context) -> dict[str, list[Factors]]:
    """Run FeDLRT under both rules: a gradient within the bases by hand, then random cases."""
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


@relations(
    "fedlrt/claim-factors",
    where="Section 3.1, first paragraph (the printed rule for $r_1$, with which a 0 can be kept: fedlrt/claim-trunc)",
    says="""FeDLRT ensures that for all $t > 1$ the bases $U^t$ and $V^t$ are orthonormal and $S^t$ is diagonal and of
    full rank.""",
    measure=measure_factors,
    readings=(
        Reading(
            "tail from the last value that is kept",
            r"The same with the threshold of Section 3.1 as printed, $\|[\sigma_{r_1}, \ldots, \sigma_{2r}]\|_2 < "
            r"\vartheta$, where $r_1$ is the smallest rank that satisfies it.",
            why="The paper prints this rule four paragraphs later, as one of a variety of criteria.",
        ),
        Reading(
            "tail from the first value that is cut",
            r"""With $2r \le n$, as the shapes of (6) imply, or bases of fewer columns where n is smaller, U and V are
            orthonormal and S is diagonal; S has full rank if the threshold $0 < \vartheta \le \|\tilde S^*\|$ applies
            to the tail from $\sigma_{r_1+1}$ on and $r_1$ is the smallest rank that satisfies it.""",
            {"rule": "after"},
            "The purpose of truncation is that S has full rank (Section 3.1), and with this tail no zero is kept.",
            ({"rule": "printed"}, {"rule": "after", "length": 1.01}, {"rule": "after", "diagonal": 0.99}),
        ),
    ),
    vary=("length",),
    uses=("fedlrt/claim-trunc",),
    because=r"The tail in Section 3.1 includes $\sigma_{r_1}$, which is kept, so a singular value of 0 can be kept.",
    expect=("holds", "proof"),
    intended=Intended(
        "tail from the first value that is cut",
        r"“2) to ensure that S is full rank”: with the tail from $\sigma_{r_1+1}$ on no zero is kept.",
    ),
)
def claim_factors(
    found: dict[str, list[Factors]],
    rule: str = "printed",
    full: bool = True,
    length: float = 1.0,
    diagonal: float = 1.0,
) -> Relations:
    """Every round under a rule; full rank means a smallest singular value beyond rounding."""
    for one in found[rule]:
        sigma = one.S.diagonal()
        yield from [
            orthonormal("U is orthonormal", length * one.U),
            orthonormal("V is orthonormal", one.V),
            same("S is diagonal", one.S, diagonal * torch.diag(sigma)),
        ]
        if full:
            yield Relation(
                "S has full rank", 1e-12 * float(sigma.max()), float(sigma.min()), at_most=True, case=one.by_hand
            )
    return f"a gradient within the bases by hand; {SCOPE}; two rounds at tau = {TAU}"


@relations(
    "fedlrt/claim-server-qr-svd",
    where="Section 3, low client compute cost",
    says=r"""The clients only evaluate gradients of low-rank factors and optimise the small matrix $S \in \mathbb R^{r
    \times r}$; for clients with GPUs this further implies that all parts that suit GPUs badly, SVD and QR decomposition
    for augmenting and compressing, are performed on the server.""",
    measure=run_layers,
    readings=(
        LITERAL,
        Reading(
            "augmented coefficients",
            r"The same, with clients that optimise the augmented matrix $\tilde S \in \mathbb R^{2r \times 2r}$.",
            {"sides": 2.0},
            "The paragraph before has clients update the augmented coefficient matrix, and so does Algorithm 1.",
            ({"variants": ("naive",)}, {"sides": 4.0}),
        ),
    ),
    because=r"The clients optimise the augmented $\tilde S$, which is 2r by 2r. The rest of the sentence is right.",
    uses=("fedlrt/alg-1", "fedlrt/alg-5"),
    expect=("holds", "proof"),
    intended=Intended(
        "augmented coefficients",
        "Section 3 on panel 4: “only the augmented coefficient matrix S is updated”: r for 2r.",
    ),
    print="misprint",
)
def claim_server_qr_svd(
    layers: Mapping[str, list[Counted]], variants: tuple[str, ...] = tuple(LOW_RANK), sides: float = 1.0
) -> Relations:
    """Where factorisations happen, and the size of what comes back after the local steps."""
    for variant in variants:
        for one in layers[variant]:
            found = one.factorisations()
            on_client = sum(operation.place == "client" for operation in found)
            yield Relation("no factorisation on a client", on_client, 0.0)
            kinds = {FACTORISATIONS[operation.name] for operation in found if operation.place == "server"}
            yield Relation("QR and SVD on the server", float(len(kinds)), 2.0)
            side = min(sides * one.sizes.r, one.sizes.n, one.sizes.m)
            yield Relation(
                "entries of the square matrix that a client optimises",
                one.last_upload,
                side**2,
                case={"n": one.sizes.n, "r": one.sizes.r},
            )
    return f"every operation of {LAYERS_SCOPE}"


@relations(
    "fedlrt/claim-two-rounds",
    where="Section 3, efficient communication",
    says="""Similar to FedLin, FeDLRT requires in practice two communication rounds: one that aggregates and
    distributes global gradients for basis augmentation and variance correction, and one that aggregates the locally
    updated coefficients.""",
    measure=run_layers,
    mutants=[{"rounds": 1}, {"rounds": 3}, {"variants": ("FeDLRT, full",)}],
    readings=(
        Reading(
            "with the simplified correction",
            "Without correction and with the simplified one, a round of FeDLRT has two communication rounds, like a "
            "round of FedLin. The first carries the gradients, the second the coefficients.",
            why="A single communication round carries the gradients of the bases and of the correction only if the "
            "correction is simplified (Section 3.1, Algorithm 5).",
        ),
    ),
    uses=("fedlrt/alg-1", "fedlrt/alg-5"),
    expect=("holds", "proof"),
    intended=Intended(
        "with the simplified correction",
        "“requires in practice two communication rounds”; with (9) “reducing the communication "
        "rounds to two - the same as FedLin”.",
    ),
)
def claim_two_rounds(
    layers: Mapping[str, list[Counted]],
    rounds: float = 2.0,
    variants: tuple[str, ...] = ("FeDLRT", "FeDLRT, simplified"),
) -> Relations:
    """Trips of the ledger; and that the last one brings the coefficients."""
    for variant in (*variants, "FedLin"):
        for one in layers[variant]:
            yield Relation("communication rounds", len(one.trips), rounds)
            first = one.trips[0].uploads[0]
            gradients = {"U", "V"} <= set(first) if variant in LOW_RANK else "W" in first
            yield Relation("the first brings gradients", float(gradients), 1.0)
    told = {"FeDLRT": "without correction", "FeDLRT, simplified": "with the simplified one"}
    named = [told.get(variant, "with the full one") for variant in variants]
    return f"{LAYERS_SCOPE}; {', '.join(named)}, and FedLin"
