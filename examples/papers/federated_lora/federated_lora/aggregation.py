"""FLoRA and Fed-SB: averages of factors, stacks of factors, and averages of the matrix between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
import torch

from algorithms.adapter import AB
from algorithms.flora import stack
from algorithms.tree import Tree
from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, Stated, tried
from paper_checks.methods.identity import Equation, Equations, generic_points, identities
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relations, relations, same


@dataclass(frozen=True)
class Clients:
    """Factors of the clients' updates, B ``(m, r_k)`` and A ``(r_k, n)``, and the clients' weights."""

    B: tuple[np.ndarray, ...]
    A: tuple[np.ndarray, ...]
    weights: tuple[int, ...]

    @property
    def size(self) -> int:
        """The largest entry of the difference in the text, times the square of the sum of the weights."""
        total = sum(self.weights)
        mean = total * sum(s * B @ A for s, B, A in zip(self.weights, self.B, self.A, strict=True))
        B, A = (sum(s * one for s, one in zip(self.weights, of, strict=True)) for of in (self.B, self.A))
        return int(np.abs(mean - B @ A).max())


def draw_clients(context: Context, equal: bool) -> list[Clients]:
    """Draw factors with whole numbers as entries for 2 to 6 clients, of one rank or of several."""
    rng, found = context.rng("clients"), []
    for count in (2, 3, 4, 6):
        for r in (1, 2, 4):
            ranks = [r] * count if equal else [r * (1 + k % 3) for k in range(count)]
            m, n = 3 * r + 2, 3 * r + 4
            B = tuple(rng.integers(-4, 5, (m, rank)) for rank in ranks)
            A = tuple(rng.integers(-4, 5, (rank, n)) for rank in ranks)
            found.append(Clients(B, A, tuple(int(one) for one in rng.integers(1, 5, count))))
    return found


@claim(
    "federated-lora/flora-noise",
    where="FLoRA (arXiv 2409.05976), abstract; the formula follows from it",
    says=r"""The usual averages of LoRA adapters are mathematically inaccurate: $\sum_ks_kB_k\sum_ks_kA_k$ differs from
    $\sum_ks_kB_kA_k$.""",
    measure=lambda context: draw_clients(context, True),
    mutants=[{"clients": 1}, {"shared": True}],
    because="For one client, or a common A, there is no difference.",
    importance="result",
    expect=("holds", "search"),
)
def flora_noise(drawn: list[Clients], clients: int = 6, shared: bool = False) -> Evidence:
    """The size of the difference, which is not 0 for independent factors."""
    kept = [
        Clients(one.B[:clients], (one.A[:1] * len(one.A) if shared else one.A)[:clients], one.weights[:clients])
        for one in drawn
    ]
    sizes = np.array([float(one.size) for one in kept])
    enough = "two clients of rank 1 already differ"
    return judge_inequality(
        np.zeros_like(sizes),
        sizes,
        0.0,
        strict=True,
        scope="factors with independent whole numbers as entries",
        case=[{"clients": len(one.B), "r": one.A[0].shape[0]} for one in drawn],
        printed="0 < the difference",
        domain=tried(
            ("clients", [len(one.B) for one in drawn], Stated(2.0, float("inf"), "[)")),
            ("r", [one.A[0].shape[0] for one in drawn], FROM_ONE),
            settled={"clients": enough, "r": enough},
        ),
    )


@relations(
    "federated-lora/flora-stack",
    where="FLoRA, abstract; the stacks as a later paper states them (FLoRIST, Section 2)",
    says=r"""Stacking is noise-free, also with different ranks: with $[B_1\ \cdots\ B_K]$ and the $s_kA_k$ on top of
    each other the product is $\sum_ks_kB_kA_k$.""",
    measure=lambda context: draw_clients(context, False),
    mutants=[{"weighted": "both"}, {"weighted": "neither"}],
    importance="result",
    expect=("holds", "search"),
)
def flora_stack(drawn: list[Clients], weighted: str = "one") -> Relations:
    """The toolkit's stacks, whose factors have the names A and B exchanged, and the sum of the products."""
    for one in drawn:
        total = sum(one.weights)
        shares = [s / total for s in one.weights]
        pairs = [
            AB(Tree(W=torch.tensor(B, dtype=torch.float64)), Tree(W=torch.tensor(A, dtype=torch.float64)), Tree())
            for B, A in zip(one.B, one.A, strict=True)
        ]
        stacked = stack(pairs, shares if weighted != "neither" else [1.0] * len(shares))
        right = stacked.B["W"]
        if weighted == "both":
            rows = [s for s, A in zip(shares, one.A, strict=True) for _ in range(len(A))]
            right = torch.tensor(rows, dtype=torch.float64)[:, None] * right
        mean = sum(s * torch.tensor(B @ A, dtype=torch.float64) for s, B, A in zip(shares, one.B, one.A, strict=True))
        yield same("the mean of the products", stacked.A["W"] @ right, torch.as_tensor(mean))
    return "2 to 6 clients with ranks 1 to 12 and weights of 1 to 4"


K, RANK, ROWS, COLUMNS = sympy.symbols("K r m n")
SHARES = sympy.symbols("s1 s2 s3")
LEFT, RIGHT = sympy.symbols("b1 b2"), sympy.symbols("a1 a2")
MIDDLE = tuple(sympy.Matrix(2, 2, sympy.symbols(f"R{k}_1:5")) for k in (1, 2, 3))
NOISE, MORE, SCALE = (
    sympy.Matrix(2, 2, sympy.symbols("N_1:5")),
    sympy.Matrix(2, 2, sympy.symbols("M_1:5")),
    sympy.Symbol("t"),
)


def entry(middle: Any, left: Any = LEFT, right: Any = RIGHT) -> Any:
    """Return an entry of B R A, from a row of B and a column of A."""
    return (sympy.Matrix([left]) * middle * sympy.Matrix(right))[0]


@identities(
    "federated-lora/sb-exact",
    where="Fed-SB (arXiv 2502.15436), abstract",
    says=r"""LoRA-SB trains a matrix R between B and A and keeps the rest fixed. Direct averaging of R is exact:
    $B\left(\sum_ks_kR_k\right)A = \sum_ks_kBR_kA$.""",
    measure=lambda context: generic_points(context, (*SHARES, *LEFT, *RIGHT, *(one for R in MIDDLE for one in R)), 3),
    mutants=[{"trained": "R and A"}],
    importance="result",
    expect=("holds", "proof"),
    family="three clients, rank 2, any entry; the product is linear in R",
)
def sb_exact(points: list[Any], trained: str = "R") -> Equations:
    """An entry of both sides; a mutant also trains A, which scales it by the client's share here."""
    scales = [1, 1, 1] if trained == "R" else [1 + s for s in SHARES]
    mean = sum((s * R for s, R in zip(SHARES, MIDDLE, strict=True)), sympy.zeros(2))
    common = sum(s * scale for s, scale in zip(SHARES, scales, strict=True)) if trained != "R" else 1
    each = sum(s * scale * entry(R) for s, R, scale in zip(SHARES, MIDDLE, scales, strict=True))
    yield Equation("the mean of the updates", common * entry(mean), each)
    return points, "any shares, factors and matrices"


@identities(
    "federated-lora/sb-cost",
    where="Fed-SB, abstract",
    says=r"""Averaging R has a cost of communication that does not depend on the number of clients; that of earlier
    exact solutions grows linearly.""",
    measure=lambda context: generic_points(context, (K, RANK, ROWS, COLUMNS), 3),
    mutants=[{"stacked": True}],
    importance="result",
    expect=("holds", "proof"),
)
def sb_cost(points: list[Any], stacked: bool = False) -> Equations:
    """Numbers that one client receives with r x r matrices, and with stacks of K clients' factors as in FLoRA."""

    def received(clients: Any) -> Any:
        return clients * RANK**2 if stacked else RANK**2

    yield Equation("one more client, Fed-SB", received(K + 1), received(K))
    stacks = K * RANK * (ROWS + COLUMNS)
    yield Equation("one more client, stacks", stacks.subs(K, K + 1) - stacks, RANK * (ROWS + COLUMNS))
    return points, "any sizes; the download of one client in a round, for one matrix"


@identities(
    "federated-lora/sb-noise",
    where="Fed-SB, abstract, on private settings",
    says=r"""Noise on R is not amplified as by other methods: $B(R + tN)A - BRA$ is proportional to t, and
    $(B + tN)(A + tM) - BA$ has the square of t.""",
    measure=lambda context: generic_points(context, (SCALE, *LEFT, *RIGHT, *MIDDLE[0], *NOISE, *MORE), 3),
    mutants=[{"power": 1}],
    expect=("holds", "proof"),
    family="rank 2, any entry",
)
def sb_noise(points: list[Any], power: int = 2) -> Equations:
    """An entry of both updates with noise of size t."""
    R, row, column = MIDDLE[0], sympy.Matrix([LEFT]), sympy.Matrix(RIGHT)
    yield Equation("noise on R", entry(R + SCALE * NOISE) - entry(R), SCALE * entry(NOISE))
    left, right = row + SCALE * NOISE.row(0), column + SCALE * MORE.col(0)
    linear = (NOISE.row(0) * column)[0] + (row * MORE.col(0))[0]
    product = (NOISE.row(0) * MORE.col(0))[0]
    yield Equation(
        "noise on both factors", (left * right)[0] - (row * column)[0], SCALE * linear + SCALE**power * product
    )
    return points, "any factors and noise"
