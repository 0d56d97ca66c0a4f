"""Section 3.3: the size of the SVD, matrices that are never formed, and the cost of a correction."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy

from paper_checks.claim import Dropped, Evidence, Intended, Reading, claim
from paper_checks.fedlrt.fig_3 import PANELS
from paper_checks.fedlrt.measurements.counting import (
    FACTORISATIONS,
    LOW_RANK,
    Counted,
    Polynomial,
    Powers,
    Sizes,
    count_round,
    describe_polynomial,
    evaluate,
    unbounded_term,
)
from paper_checks.fedlrt.measurements.layers import LAYERS_SCOPE, run_layers
from paper_checks.fedlrt.table_1 import count_costs
from paper_checks.methods.relations import Relation, Relations, judge_relations, relations


@relations(
    "fedlrt/claim-svd-size",
    where="Section 3.3",
    says=r"""The server's compute cost scales linearly with the layer dimension n, as the SVD for truncation is needed
    of the augmented coefficient matrix only, of size $2r \times 2r$.""",
    measure=run_layers,
    mutants=[{"sides": 1.0}, {"sides": 4.0}, {"variants": ("naive",)}],
    uses=("fedlrt/alg-1", "fedlrt/alg-5"),
    expect=("holds", "proof"),
)
def claim_svd_size(
    layers: Mapping[str, list[Counted]], sides: float = 2.0, variants: tuple[str, ...] = tuple(LOW_RANK)
) -> Relations:
    """The shape of every SVD, one in a round; QR is of a basis and its gradient, side by side."""
    for variant in variants:
        for one in layers[variant]:
            shapes = {
                kind: [o.shapes[0] for o in one.factorisations() if FACTORISATIONS[o.name] == kind]
                for kind in ("QR", "SVD")
            }
            yield Relation("one SVD in a round", len(shapes["SVD"]), 1.0)
            for shape in shapes["SVD"]:
                for side in shape:
                    yield Relation("sides of the matrix decomposed", side, sides * one.sizes.r)
            widest = max((shape[1] for shape in shapes["QR"]), default=0)
            yield Relation("columns of the matrices orthonormalised", widest, 2.0 * one.sizes.r)
    return f"{LAYERS_SCOPE}, 2r at most the smaller side"


@relations(
    "fedlrt/claim-no-full-matrix",
    where="Section 3.3",
    says="""The complete federated learning process is performed on the low-rank factors, and the full matrix $W_r$ is
    never required, as, e.g., in [31, 44].""",
    measure=run_layers,
    mutants=[{"variants": ("naive",)}, {"variants": ("FedAvg",)}, {"columns": 1.0}],
    readings=(
        Reading(
            "the boxes, and layers of a network",
            "For any loss as a function of $W_r$, no line of Algorithms 1, 2 and 5 forms a matrix with as many "
            "entries as $W_r$, except for the gradients that it requires. For a layer that acts on samples as $x "
            r"\mapsto W_rx$, with 2r below its smaller side, no round forms a matrix with as many entries, at the "
            "server or at a client, except for the samples.",
            why="Section 2: W is the weight matrix of a layer of a network. If the loss is an arbitrary function of "
            r"W, the gradient in U may be computed as $\nabla_W\mathcal{L}\,VS^\top$, with a full matrix. The other "
            "lines do not use the loss.",
        ),
    ),
    uses=("fedlrt/alg-1", "fedlrt/alg-5"),
    expect=("holds", "proof"),
    intended=Intended(
        "the boxes, and layers of a network",
        "“the complete federated learning process is performed on the low-rank factors”: the "
        "algorithms, on the layers of a network.",
    ),
)
def claim_no_full_matrix(
    layers: Mapping[str, list[Counted]], variants: tuple[str, ...] = tuple(LOW_RANK), columns: float = 2.0
) -> Relations:
    """The largest matrix that any operation at server or client gives: an augmented basis."""
    for variant in variants:
        for one in layers[variant]:
            bound = columns * one.sizes.r * max(one.sizes.m, one.sizes.n)
            yield Relation("entries of the largest matrix formed", one.largest(), bound, at_most=True)
    return f"every result of an operation in {LAYERS_SCOPE}"


PAIR = ("FeDLRT, simplified", "FeDLRT, full")

SLIGHTLY = 0.25


def least_coefficient(polynomial: Mapping[Powers, Any], widest: int, steps: int) -> int:
    """Return the least coefficient where n is at least ``widest`` times r, s at least ``steps``, r and b at least 1."""
    A, B, D, H = sympy.symbols("A B D H")
    r = 1 + B
    shifted = evaluate(polynomial, widest * r + A, r, steps + D, 1 + H)
    return int(min(sympy.Poly(sympy.expand(shifted), A, B, D, H).coeffs()))


@claim(
    "fedlrt/claim-simplified-cheaper",
    where="Section 3.3",
    says="""The client's cost with the simplified correction is slightly below that with the full one, as gradients of
    coefficients that are not augmented suffice; the asymptotic behaviour is the same. Its main advantage is the smaller
    number of communication rounds.""",
    measure=count_costs,
    mutants=[
        {"cheaper": "FeDLRT, full", "than": "FeDLRT, simplified"},
        {"fewer": 0},
        {"cheaper": "FedLin"},
        {"slightly": 0.05},
    ],
    readings=(
        Reading(
            "at all sizes of Section 4",
            "For $s_* \\ge 7$ and $2r \\le n$, counted as the boxes compute, the simplified correction saves a part "
            "of the client's communication, computation and memory, at most a quarter of each; the orders are the "
            "same, and there is one fewer communication round.",
            why="“Slightly” has no number, so we take a quarter. The fewest local steps are 240/32, which is 7 or 8, "
            "and the augmented bases of eq. (6) need 2r columns.",
        ),
    ),
    hypotheses=(Dropped(r"$s_* \ge 7$", {"steps": 1}),),
    vary=("fewer", "slightly"),
    uses=("fedlrt/table-1",),
    expect=("holds", "proof"),
    intended=Intended(
        "at all sizes of Section 4",
        "“slightly reduced compared to the full variance corrected” gives no number. We take a quarter, at all sizes "
        "of Section 4 (240/32 steps, 2r ≤ n from eq. (6)).",
    ),
)
def claim_simplified_cheaper(
    costs: Mapping[str, Mapping[str, Polynomial]],
    cheaper: str = PAIR[0],
    than: str = PAIR[1],
    fewer: float = 1.0,
    steps: int = 7,
    widest: int = 2,
    slightly: float = SLIGHTLY,
) -> Evidence:
    """The difference has no negative term and is a fraction of the larger cost; both costs have the same order."""
    promises, told = [], []
    share = Fraction(str(slightly))
    for cost in PANELS:
        small, large = costs[cheaper][cost], costs[than][cost]
        difference = {power: large.get(power, 0) - small.get(power, 0) for power in {*small, *large}}
        promises.append(Relation(f"less {cost}", 0, min(difference.values()), at_most=True))
        promises.append(Relation(f"some of the {cost} saved", 1, max(difference.values()), at_most=True))
        for one, other in ((small, large), (large, small)):
            promises.append(Relation("the same asymptotics", int(unbounded_term(one, other) is not None), 0))
        told.append(
            f"{cost} saved: "
            f"{describe_polynomial({power: value for power, value in difference.items() if value}) or '0'}"
        )
        left = {
            power: share.numerator * large.get(power, 0) - share.denominator * value
            for power, value in difference.items()
        }
        least = least_coefficient(left, widest, steps)
        promises.append(Relation(f"slightly less {cost}, all sizes", 0, least, at_most=True))
    size_of_count = Sizes(11, 2)
    saved = len(count_round(than, size_of_count).trips) - len(count_round(cheaper, size_of_count).trips)
    promises.append(Relation("fewer rounds", saved, Fraction(fewer)))
    return judge_relations(
        promises,
        f"exact polynomials, counted, s_* >= {steps}, {widest}r <= n; {'; '.join(told)}; with one local step a third "
        "of the computation is saved, unless the first gradient is used again, and by Table 1 at most 7.5 %",
        whole=True,
    )
