"""Section 2.2 and Appendix A: ranks of Hadamard products of low-rank matrices and kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, isqrt
from typing import Any

import numpy as np
from sympy import QQ, ZZ
from sympy.polys.matrices import DomainMatrix

from paper_checks.claim import Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, Stated, tried
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations


def rank_of(matrix: Any) -> int:
    """Return the rank of a matrix of whole numbers, in exact arithmetic."""
    entries = np.asarray(matrix)
    return int(DomainMatrix(entries.tolist(), entries.shape, ZZ).convert_to(QQ).rank())


@dataclass(frozen=True)
class Product:
    """Factors with small whole numbers as entries, shapes ``(m, r1)``, ``(n, r1)``, ``(m, r2)`` and ``(n, r2)``."""

    X1: np.ndarray
    Y1: np.ndarray
    X2: np.ndarray
    Y2: np.ndarray

    @property
    def ranks(self) -> tuple[int, int]:
        """The inner ranks."""
        return self.X1.shape[1], self.X2.shape[1]

    @property
    def rank(self) -> int:
        """Rank of the Hadamard product."""
        return rank_of((self.X1 @ self.Y1.T) * (self.X2 @ self.Y2.T))


def draw_products(context: Context) -> list[Product]:
    """Draw factors of inner ranks 1 to 4, for matrices that are large enough for every rank."""
    rng, found = context.rng("factors"), []
    for r1 in (1, 2, 3, 4):
        for r2 in (1, 2, 3, 4):
            m, n = r1 * r2 + 2, r1 * r2 + 1
            shapes = ((m, r1), (n, r1), (m, r2), (n, r2))
            found.append(Product(*(rng.integers(-4, 5, shape) for shape in shapes)))
    return found


CAPS = {"r1 r2": lambda a, b: a * b, "r1 r2 - 1": lambda a, b: a * b - 1, "r1 + r2": lambda a, b: a + b}


@claim(
    "fedpara/prop-1",
    where="Section 2.2, Proposition 1, and its proof in Appendix A.1",
    says=r"""For $X_1 \in \mathbb{R}^{m \times r_1}$, $X_2 \in \mathbb{R}^{m \times r_2}$,
    $Y_1 \in \mathbb{R}^{n \times r_1}$, $Y_2 \in \mathbb{R}^{n \times r_2}$, $r_1, r_2 \le \min(m, n)$ and
    $W := (X_1Y_1^\top) \odot (X_2Y_2^\top)$: $\mathrm{rank}(W) \le r_1r_2$.""",
    measure=draw_products,
    mutants=[{"cap": "r1 r2 - 1"}, {"cap": "r1 + r2"}],
    importance="result",
    expect=("holds", "proof"),
)
def prop_1(products: list[Product], cap: str = "r1 r2") -> Evidence:
    """Ranks in exact arithmetic."""
    left = np.array([float(one.rank) for one in products])
    right = np.array([float(CAPS[cap](*one.ranks)) for one in products])
    enough = "the proof is for any number"
    return judge_inequality(
        left,
        right,
        0.0,
        scope="factors with independent whole numbers as entries",
        case=[dict(zip(("r1", "r2"), one.ranks, strict=True)) for one in products],
        printed=f"rank <= {cap}",
        domain=tried(
            ("r1", [one.ranks[0] for one in products], FROM_ONE),
            ("r2", [one.ranks[1] for one in products], FROM_ONE),
            settled={"r1": enough, "r2": enough},
        ),
    )


def pairs_of_ranks(context: Context) -> list[tuple[int, int, int]]:
    """Return R and inner ranks with $r_1r_2 \\ge R^2$: all of them for small R, and some for large ones."""
    small = [
        (R, a, b) for R in (1, 2, 3, 4) for a in range(1, R * R + 2) for b in range(1, R * R + 2) if a * b >= R * R
    ]
    large = [
        (R, a, -(-R * R // a) + more)
        for R in (1, 10, 31, 100, 1000)
        for a in sorted({1, max(1, R - 1), R, R + 1, 2 * R, 10**6})
        for more in (0, 1)
    ]
    return small + large


@claim(
    "fedpara/prop-2",
    where="Section 2.2, Proposition 2, and its proof in Appendix A.1",
    says=r"""Given $R \in \mathbb{N}$, $r_1 = r_2 = R$ is the unique minimiser of $(r_1 + r_2)(m + n)$ over
    $r_1, r_2 \in \mathbb{N}$ with $r_1r_2 \ge R^2$, and the minimum is $2R(m + n)$.""",
    measure=pairs_of_ranks,
    mutants=[{"more": 2}, {"twice": 3}],
    importance="result",
    expect=("holds", "proof"),
)
def prop_2(pairs: list[tuple[int, int, int]], more: int = 1, twice: int = 2) -> Evidence:
    """The sum of the inner ranks against 2R, and against 2R + 1 where they are not both R."""
    left = np.array([float(twice * R + more * ((a, b) != (R, R))) for R, a, b in pairs])
    right = np.array([float(a + b) for _, a, b in pairs])
    enough = "the proof is for any number"
    return judge_inequality(
        left,
        right,
        0.0,
        scope="whole numbers",
        case=[{"R": R, "r1": a, "r2": b} for R, a, b in pairs],
        printed="2R <= r1 + r2, and 2R + 1 <= r1 + r2 for other ranks than R and R",
        domain=tried(
            ("R", [R for R, _, _ in pairs], FROM_ONE),
            ("r1", [a for _, a, _ in pairs], FROM_ONE),
            settled=dict.fromkeys(("R", "r1"), enough),
        ),
    )


def unit_factors(size: int, R: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two 0-1 matrices of R columns: row i has its 1 at the quotient of i by R, and at its remainder."""
    first, second = np.zeros((size, R), dtype=int), np.zeros((size, R), dtype=int)
    for i in range(size):
        first[i, min(i // R, R - 1)] = second[i, i % R] = 1
    return first, second


def largest_rank(m: int, n: int, R: int) -> int:
    """Return the rank of the Hadamard product of such factors, the identity in its first rows and columns."""
    (X1, X2), (Y1, Y2) = unit_factors(m, R), unit_factors(n, R)
    return rank_of((X1 @ Y1.T) * (X2 @ Y2.T))


@relations(
    "fedpara/cor-1",
    where="Appendix A.1, Corollary 1; footnote 2 of Section 2.2",
    says=r"""With $r_1 = r_2 = R$, $R^2 \ge \min(m, n)$ is necessary and sufficient for $W$ to be able to have the
    maximal rank $\min(m, n)$.""",
    measure=lambda context: [(m, n, R) for m in (1, 2, 5, 9, 10) for n in (3, 7, 12) for R in (1, 2, 3) if m >= R],
    mutants=[{"power": 1}, {"less": 1}],
    importance="result",
    expect=("holds", "proof"),
)
def cor_1(sizes: list[tuple[int, int, int]], power: int = 2, less: int = 0) -> Relations:
    """The largest rank, reached by factors of zeros and ones."""
    for m, n, R in sizes:
        rank = largest_rank(m, n, R)
        yield Relation("the largest rank is min(R^2, m, n)", rank, min(R**2, m, n))
        enough = R**power >= min(m, n) - less
        yield Relation("it is maximal if and only if R^2 >= min(m, n)", int(rank == min(m, n)), int(enough))
    return "matrices of 1 x 3 to 10 x 12, inner ranks 1 to 3"


def smallest(size: int) -> int:
    """Return the smallest R with R^2 of at least a size."""
    return isqrt(size - 1) + 1


def draw_sizes(context: Context) -> list[tuple[int, int, int]]:
    """Return sizes min(m, n) and inner ranks whose product is at least the size."""
    sizes = [*range(1, 41), 64, 100, 129, 256, 768, 1000, 4096]
    return [
        (size, a, -(-size // a))
        for size in sizes
        for a in sorted({1, max(1, smallest(size) - 1), smallest(size), smallest(size) + 1, 4096})
    ]


@claim(
    "fedpara/rmin",
    where="Appendix A.1, after Corollary 1",
    says=r"""With $r_{min} := \min(\lceil\sqrt m\rceil, \lceil\sqrt n\rceil)$ and $r_1 = r_2 = r_{min}$ the rank of W
    can be maximal while the number of parameters is minimal.""",
    measure=draw_sizes,
    mutants=[{"less": 1}],
    readings=(
        Reading(
            "equal inner ranks",
            r"Among $r_1 = r_2 = R$ the least with $R^2 \ge \min(m, n)$ is $R = r_{min}$.",
            why="The sentence continues Corollary 1, which is “under Proposition 2”, where the inner ranks are equal.",
        ),
        Reading(
            "any inner ranks",
            r"No $r_1$ and $r_2$ with $r_1r_2 \ge \min(m, n)$ have $r_1 + r_2 < 2r_{min}$.",
            {"equal": False},
            why="Proposition 2 minimises over both inner ranks.",
        ),
    ),
    because=r"If min(m, n) is not near a square, one of the inner ranks can be smaller by 1: 1 and 2 for 2.",
    importance="step",
    expect=("holds", "proof"),
    intended=Intended("equal inner ranks", "“Under Proposition 2”, in Corollary 1, and “if we set r1 = r2 = rmin”"),
)
def rmin(sizes: list[tuple[int, int, int]], equal: bool = True, less: int = 0) -> Evidence:
    """Twice the printed rank against the sum of inner ranks that are large enough."""
    kept = [one for one in sizes if one[1] * one[2] >= one[0]]
    left = np.array([2.0 * (smallest(size) + less) for size, _, _ in kept])
    right = np.array([2.0 * max(smallest(size), max(a, b)) if equal else float(a + b) for size, a, b in kept])
    return judge_inequality(
        left,
        right,
        0.0,
        scope="whole numbers",
        case=[{"size": size, "r1": a, "r2": b} for size, a, b in kept],
        printed="2 r_min <= r1 + r2",
        domain=tried(
            ("min(m, n)", [size for size, _, _ in kept], FROM_ONE),
            ("r1", [a for _, a, _ in kept], FROM_ONE),
            settled={"min(m, n)": "the proof is for any number", "r1": "the proof is for any number"},
        ),
    )


@dataclass(frozen=True)
class Kernel:
    """Cores ``(R, R, k3, k4)`` and factors of a kernel ``(k1, k2, k3, k4)``, with whole numbers as entries."""

    T1: np.ndarray
    T2: np.ndarray
    X1: np.ndarray
    X2: np.ndarray
    Y1: np.ndarray
    Y2: np.ndarray

    @property
    def unfoldings(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the second unfolding of the Hadamard product."""
        one, two = (
            np.einsum("abcd,ia,jb->ijcd", T, X, Y)
            for T, X, Y in ((self.T1, self.X1, self.Y1), (self.T2, self.X2, self.Y2))
        )
        kernel = one * two
        return kernel.reshape(len(kernel), -1), np.moveaxis(kernel, 1, 0).reshape(kernel.shape[1], -1)

    @property
    def case(self) -> Mapping[str, Any]:
        """All arrays as lists."""
        return {name: getattr(self, name).tolist() for name in ("T1", "T2", "X1", "X2", "Y1", "Y2")}


def by_hand() -> Kernel:
    """Return a kernel of 2 x 4 x 4 x 1 whose unfoldings have ranks 1 and 4."""
    T1, T2, X = np.zeros((2, 2, 4, 1), dtype=int), np.zeros((2, 2, 4, 1), dtype=int), np.array([[1, 0], [0, 0]])
    Y1, Y2 = unit_factors(4, 2)
    T1[0, :, :, 0], T2[0, :, :, 0] = Y1.T, Y2.T
    return Kernel(T1, T2, X, X, Y1, Y2)


def draw_kernels(context: Context) -> Iterator[Kernel]:
    """Yield a kernel by hand, and kernels of several sizes with random entries."""
    rng = context.rng("kernels")
    yield by_hand()
    for R in (1, 2, 3):
        for k1, k2 in ((R, R), (R, R + 1), (R + 2, R + 1), (R + 2, R)):
            for k3, k4 in ((1, 1), (3, 3)):
                shapes = ((R, R, k3, k4),) * 2 + ((k1, R),) * 2 + ((k2, R),) * 2
                yield Kernel(*(rng.integers(-3, 4, shape) for shape in shapes))


@claim(
    "fedpara/prop-3",
    where="Section 2.2, Proposition 3, and its proof in Appendix A.1",
    says=r"""For $T_1, T_2 \in \mathbb{R}^{R \times R \times k_3 \times k_4}$, $X_1, X_2 \in \mathbb{R}^{k_1 \times R}$,
    $Y_1, Y_2 \in \mathbb{R}^{k_2 \times R}$, $R \le \min(k_1, k_2)$ and the kernel
    $W := (T_1 \times_1 X_1 \times_2 Y_1) \odot (T_2 \times_1 X_2 \times_2 Y_2)$:
    $\mathrm{rank}(W^{(1)}) = \mathrm{rank}(W^{(2)}) \le R^2$.""",
    measure=lambda context: list(draw_kernels(context)),
    correction=Form(
        r"""For such a kernel $\mathrm{rank}(W^{(1)}) \le R^2$ and $\mathrm{rank}(W^{(2)}) \le R^2$.""",
        {"equal": False},
        mutants=({"equal": False, "less": 1}, {"equal": False, "power": 1}),
    ),
    because="The two unfoldings have different numbers of rows, and different ranks in general.",
    importance="result",
    expect=("corrected", "proof"),
)
def prop_3(kernels: list[Kernel], equal: bool = True, less: int = 0, power: int = 2) -> Evidence:
    """The larger of both ranks against the smaller one, and against the square."""
    ranks = [tuple(map(rank_of, one.unfoldings)) for one in kernels]
    inner = [one.T1.shape[0] for one in kernels]
    caps = [R**power - less for R in inner]
    left = np.array([float(max(both)) for both in ranks])
    right = np.array([float(min(*both, cap)) if equal else float(cap) for both, cap in zip(ranks, caps, strict=True)])
    enough = "the proof is for any number"
    return judge_inequality(
        left,
        right,
        0.0,
        scope="kernels with whole numbers as entries",
        case=[one.case for one in kernels],
        printed="both ranks are the same, and at most R^2" if equal else "both ranks are at most R^2",
        domain=tried(
            ("R", inner, FROM_ONE),
            ("k1 - R", [len(one.X1) - R for one, R in zip(kernels, inner, strict=True)], Stated(0.0, inf, "[)")),
            settled={"R": enough, "k1 - R": enough},
        ),
    )
