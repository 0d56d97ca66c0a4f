"""FFA-LoRA and FRLoRA: halves of factors, and the rank of what accumulates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy
from sympy import QQ, ZZ
from sympy.polys.matrices import DomainMatrix

from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, tried
from paper_checks.methods.identity import Equation, Equations, generic_points, identities
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations

SHARES = sympy.symbols("s1 s2 s3")
ROWS = tuple(sympy.symbols(f"b{k}_1:3") for k in (1, 2, 3))
COLUMN, OTHER = sympy.symbols("a1 a2"), sympy.symbols("c1 c2")


@identities(
    "federated-lora/ffa-exact",
    where="FFA-LoRA (arXiv 2403.12313), abstract, on factors that clients optimise together and the server averages",
    says=r"""With A fixed, separate averages are no longer at odds with the product: $\sum_ks_kB_kA =
    \left(\sum_ks_kB_k\right)A$.""",
    measure=lambda context: generic_points(
        context, (*SHARES, *COLUMN, *OTHER, *(one for row in ROWS for one in row)), 3
    ),
    mutants=[{"fixed": False}],
    importance="result",
    expect=("holds", "proof"),
    family="three clients, rank 2, any entry; the product is linear in B",
)
def ffa_exact(points: list[object], fixed: bool = True) -> Equations:
    """An entry of both sides; a mutant has another A at the first client."""
    columns = [COLUMN if fixed else OTHER, COLUMN, COLUMN]
    each = sum(
        s * sum(b * a for b, a in zip(row, column, strict=True))
        for s, row, column in zip(SHARES, ROWS, columns, strict=True)
    )
    mean_A = [
        sum(s * column[i] for s, column in zip(SHARES, columns, strict=True)) / sum(SHARES) for i in range(len(COLUMN))
    ]
    mean_B = [sum(s * row[i] for s, row in zip(SHARES, ROWS, strict=True)) for i in range(len(COLUMN))]
    yield Equation("the mean of the updates", sum(b * a for b, a in zip(mean_B, mean_A, strict=True)), each)
    return points, "any shares and factors"


Layers = tuple[tuple[int, int], ...]
MODELS: tuple[Layers, ...] = (
    ((768, 768),),
    ((64, 64), (1024, 1024)),
    ((768, 3072),),
    ((3072, 768),),
    ((768, 3072), (3072, 768)),
)
"""Output and input sizes of layers: square ones, one that is not, and both of a feed-forward block."""


@relations(
    "federated-lora/ffa-half",
    where="FFA-LoRA, abstract",
    says="Training only the factors that start at zero halves the communication of LoRA.",
    measure=lambda context: MODELS,
    mutants=[{"part": 3}],
    readings=(
        Reading(
            "square layers, or pairs of layers",
            "It is exactly a half where outputs and inputs are as many in total, as with square layers, or with both "
            "layers of a feed-forward block.",
            why="The abstract is about whole language models, whose adapted layers are of these kinds.",
        ),
        Reading(
            "every layer",
            "It is exactly a half in every layer of outputs m and inputs n.",
            {"every": True},
            why="Nothing is said about the layers.",
        ),
    ),
    because="B has mr of the (m + n)r numbers. This is 80 % for a layer from 768 to 3072, and 20 % for the layer back.",
    expect=("holds", "search"),
    intended=Intended("square layers, or pairs of layers", "“communication cost of federated fine-tuning LLMs”"),
)
def ffa_half(models: Sequence[Layers], part: int = 2, every: bool = False) -> Relations:
    """Numbers of B and of both factors, at rank 1."""
    for layers in models:
        outputs, inputs = (sum(size) for size in zip(*layers, strict=True))
        if every or outputs == inputs:
            case = {"outputs": outputs, "inputs": inputs}
            yield Relation("what B has, times two", part * outputs, outputs + inputs, case=case)
    return "layers of 64 to 3072 outputs and inputs"


@dataclass(frozen=True)
class Rounds:
    """Averaged factors of T rounds, and the first ones, with whole numbers as entries."""

    B: np.ndarray
    A: np.ndarray

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of rounds and rank."""
        return len(self.B) - 1, self.A.shape[1]

    def rank(self, accumulated: bool) -> int:
        """Return the rank of the change of the model: summed over the rounds, or from the first factors to the last."""
        products = self.B @ self.A
        change = products[1:].sum(axis=0) - (len(products) - 1) * products[0] if accumulated else products[-1]
        return int(DomainMatrix(change.tolist(), change.shape, ZZ).convert_to(QQ).rank())


def draw_rounds(context: Context) -> list[Rounds]:
    """Draw averaged factors of 1 to 6 rounds of rank 1 to 3, for matrices that are large enough for every rank."""
    rng, found = context.rng("rounds"), []
    for T in (1, 2, 4, 6):
        for r in (1, 2, 3):
            m, n = (T + 1) * r + 1, (T + 1) * r + 2
            found.append(Rounds(rng.integers(-4, 5, (T + 1, m, r)), rng.integers(-4, 5, (T + 1, r, n))))
    return found


@claim(
    "federated-lora/frlora-rank",
    where="FRLoRA (ICLR 2025), abstract; the rank follows from its update",
    says=r"""Adding the change of the averaged factors to the weights in each round, and starting at the same factors
    again, updates the global model in a space of higher rank: of at most $(T + 1)r$ after T rounds, instead of r.""",
    measure=draw_rounds,
    mutants=[{"more": 0}, {"more": -1}],
    because=r"Independent factors reach the cap, and for T = 1 it is 2r.",
    importance="result",
    expect=("holds", "proof"),
)
def frlora_rank(drawn: list[Rounds], more: int = 1) -> Evidence:
    """Ranks in exact arithmetic."""
    left = np.array([float(one.rank(True)) for one in drawn])
    right = np.array([float((one.sizes[0] + more) * one.sizes[1]) for one in drawn])
    enough = "the proof is for any number"
    return judge_inequality(
        left,
        right,
        0.0,
        scope="averaged factors with independent whole numbers as entries",
        case=[dict(zip(("T", "r"), one.sizes, strict=True)) for one in drawn],
        printed=f"rank <= (T + {more}) r",
        domain=tried(
            ("T", [one.sizes[0] for one in drawn], FROM_ONE),
            ("r", [one.sizes[1] for one in drawn], FROM_ONE),
            settled={"T": enough, "r": enough},
        ),
    )


@relations(
    "federated-lora/frlora-higher",
    where="FRLoRA, abstract: “in a higher-rank parameter space”",
    says=r"""From the second round on the accumulated change can have a higher rank than LoRA's, which is r, and it has
    $(T + 1)r$ for independent factors.""",
    measure=draw_rounds,
    mutants=[{"accumulated": False}],
    expect=("holds", "search"),
)
def frlora_higher(drawn: list[Rounds], accumulated: bool = True) -> Relations:
    """The ranks of both changes; those of LoRA from a first product of zero."""
    for one in drawn:
        T, r = one.sizes
        yield Relation("LoRA's change has rank r", one.rank(False), r)
        yield Relation("the accumulated change has rank (T + 1) r", one.rank(accumulated), (T + 1) * r)
    return "1 to 6 rounds, ranks 1 to 3, independent factors"
