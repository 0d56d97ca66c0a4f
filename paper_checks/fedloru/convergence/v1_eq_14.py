"""Eq. (14) of v1: low-rank updates of unequal ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy

from paper_checks.claim import Intended, Reading
from paper_checks.context import Context
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, rational

ALPHA_A, ALPHA_B = sympy.symbols("alpha_A alpha_B")


@dataclass(frozen=True)
class Shape:
    """Rows and columns of W, the inner size r of AB, and the inner sizes r_A and r_B of the nested updates."""

    m: int
    n: int
    r: int
    nested_a: int
    nested_b: int

    def __str__(self) -> str:
        return f"{self.m} x {self.n}, r = {self.r}, r_A = {self.nested_a}, r_B = {self.nested_b}"


# Wide W, nested ranks below, at and above r, and r above m and n.
SHAPES = (Shape(2, 3, 1, 1, 2), Shape(1, 2, 3, 1, 2), Shape(1, 1, 1, 1, 1))


@dataclass(frozen=True)
class Nested:
    """The matrices of one nested update."""

    shape: Shape
    A: sympy.Matrix
    A_d: sympy.Matrix
    A_u: sympy.Matrix
    B: sympy.Matrix
    B_d: sympy.Matrix
    B_u: sympy.Matrix

    def updated(self, alpha_A: sympy.Expr, alpha_B: sympy.Expr) -> sympy.Matrix:
        """Return the right side of eq. (14)."""
        return (self.A + alpha_A * self.A_d * self.A_u) * (self.B + alpha_B * self.B_d * self.B_u)


@dataclass(frozen=True)
class Updates:
    """Symbolic updates with exact points, and exact ranks of integer updates with their shape and kind."""

    symbolic: tuple[Nested, ...]
    points: tuple[Point, ...]
    ranks: tuple[tuple[Shape, str, int], ...]


LARGE_SHAPES = (
    Shape(6, 5, 2, 1, 1),
    Shape(5, 7, 3, 2, 2),
    Shape(4, 6, 2, 3, 5),
    Shape(3, 3, 5, 2, 2),
    Shape(6, 6, 1, 1, 1),
    Shape(7, 4, 3, 3, 1),
)


def _blocks(shape: Shape) -> dict[str, tuple[int, int]]:
    return {
        "A": (shape.m, shape.r),
        "A_d": (shape.m, shape.nested_a),
        "A_u": (shape.nested_a, shape.r),
        "B": (shape.r, shape.n),
        "B_d": (shape.r, shape.nested_b),
        "B_u": (shape.nested_b, shape.n),
    }


def measure_updates(context: Context) -> Updates:
    """Return small shapes with every entry a symbol; larger ones with integers, also with degenerate blocks."""
    symbolic = tuple(
        Nested(
            shape,
            **{
                name: sympy.Matrix(*size, lambda i, j, name=name: sympy.Symbol(f"{name}_{i}{j}"))
                for name, size in _blocks(shape).items()
            },
        )
        for shape in SHAPES
    )
    symbols = {s for one in symbolic for s in one.updated(ALPHA_A, ALPHA_B).free_symbols}
    rng = context.rng("integers")
    ranks = []
    for shape in LARGE_SHAPES:
        for kind in ("generic", "A = 0", "A_d = 0", "rank one", "B = 0"):
            blocks = {}
            for name, (rows, columns) in _blocks(shape).items():
                block = rng.integers(-9, 10, (rows, columns))
                if kind == f"{name} = 0":
                    block = 0 * block
                elif kind == "rank one":
                    block = np.outer(block[:, 0], block[0])
                blocks[name] = sympy.Matrix(rows, columns, [int(entry) for entry in block.flat])
            updated = Nested(shape, **blocks).updated(sympy.Rational(1, 3), sympy.Rational(-5, 2))
            ranks.append((shape, kind, updated.rank()))
    return Updates(symbolic, tuple(generic_points(context, sorted(symbols, key=str), 2)), tuple(ranks))


@identities(
    "fedloru-v1/eq-14",
    where="v1 Section 3.2, model heterogeneous setting, eq. (14)",
    says=r"""To update A and B, low-rank updates are applied recursively: $AB \leftarrow (A + \alpha_AA_dA_u)(B +
    \alpha_BB_dB_u)$, where $AB$ is the rank-$r$ factorisation of a matrix W, and $A_dA_u$ and $B_dB_u$ are rank-$r_A$
    and rank-$r_B$ factorisations of A and B.""",
    measure=measure_updates,
    readings=(
        Reading(
            "factorisations of A and B",
            r"$A = A_dA_u$ and $B = B_dB_u$ with inner sizes $r_A, r_B < r$.",
            why=r"So printed; Appendix B.2 of v1 has $r_A, r_B < r$.",
        ),
        Reading(
            "updates of A and B",
            r"For all $A_dA_u$ of inner size $r_A$ and $B_dB_u$ of inner size $r_B$ the update adds $\alpha_AA_dA_uB + "
            r"\alpha_BAB_dB_u + \alpha_A\alpha_BA_dA_uB_dB_u$ to $AB$, and the result is again a product of inner size "
            "$r$, so its rank is at most $r$.",
            {"meaning": "updates"},
            r"The line adds them to A and B; Appendix B.2 of v1 starts each round at $A_dA_u = 0$, and the later "
            "versions call them matrices used to update A and B.",
            ({"cross": 0.0}, {"cross_power": 2}, {"rank_shift": -1}, {"swapped": True}),
        ),
    ),
    because=r"A matrix A of rank r is not a product of inner size $r_A < r$: $A_dA_u$ is an update of A, not a "
    "factorisation of it.",
    expect=("holds", "proof"),
    intended=Intended(
        "updates of A and B",
        "“we apply low-rank updates recursively”, and (14) has A + α_A A_d A_u; the text below "
        "calls A_d A_u a factorisation of A",
    ),
    print="misprint",
)
def eq_14(
    updates: Updates,
    meaning: str = "factorisations",
    cross: float = 1.0,
    cross_power: int = 1,
    rank_shift: int = 0,
    swapped: bool = False,
) -> Equations:
    """Every entry of the expansion with symbolic matrices, then exact ranks of larger ones."""
    if meaning == "factorisations":
        A = sympy.Matrix(2, 2, sympy.symbols("A11 A12 A21 A22"))
        yield Equation("the determinant of A, and of a product of inner size 1", A.det(), sympy.Integer(0))
        regular = dict(zip(A, map(sympy.Integer, (2, 1, 1, 1)), strict=True))
        return [regular], "2 x 2 matrices A, r = 2, r_A = 1"
    alphas = (ALPHA_B, ALPHA_A) if swapped else (ALPHA_A, ALPHA_B)
    for one in updates.symbolic:
        left, right = one.A_d * one.A_u, one.B_d * one.B_u
        both = rational(cross) * (ALPHA_A * ALPHA_B) ** cross_power
        terms = one.A * one.B + alphas[0] * left * one.B + alphas[1] * one.A * right + both * left * right
        actual = one.updated(ALPHA_A, ALPHA_B)
        yield from [
            Equation(f"{one.shape}, entry {i + 1}{j + 1}", actual[i, j], terms[i, j])
            for i in range(one.shape.m)
            for j in range(one.shape.n)
        ]
    for shape, kind, rank in updates.ranks:
        bound = shape.r + rank_shift
        if rank > bound:
            yield Equation(f"rank at most {bound} for {shape}, {kind}", sympy.Integer(rank), sympy.Integer(bound))
    reached = sum(rank == min(shape.m, shape.n, shape.r) for shape, _, rank in updates.ranks)
    return updates.points, (
        f"all matrices of {len(SHAPES)} shapes, symbolic, r_A and r_B below, at and above r; exact ranks of "
        f"{len(updates.ranks)} larger updates, also with zero and rank-one blocks, {reached} as large as can be"
    )
