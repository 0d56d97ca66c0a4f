"""Section 2.2 and Appendix A: unfoldings of a stored kernel, and the proofs of the ranks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedpara/prop-1")
def prop_1(cap: str = "r1 r2") -> str:
    r"""The Hadamard product of $xy^\top$ and $uv^\top$ is $(x \odot u)(y \odot v)^\top$, of rank at most 1.

    $X_1Y_1^\top$ is a sum of $r_1$ such matrices and $X_2Y_2^\top$ one of $r_2$, and the Hadamard product is bilinear.
    So W is a sum of $r_1r_2$ matrices of rank at most 1.
    """
    x, y, u, v = sympy.symbols("x_i y_j u_i v_j")
    require(sympy.expand((x * y) * (u * v) - (x * u) * (y * v)) == 0, "an entry of the product of two such matrices")
    r1, r2 = sympy.symbols("r1 r2", positive=True, integer=True)
    caps = {"r1 r2": r1 * r2, "r1 r2 - 1": r1 * r2 - 1, "r1 + r2": r1 + r2}
    require(sympy.expand(caps[cap] - r1 * r2).is_nonnegative is True, "the cap is at least r1 r2")
    return "W is a sum of r1 r2 matrices of rank at most 1"


@proof("fedpara/prop-2")
def prop_2(more: Fraction = Fraction(1), twice: Fraction = Fraction(2)) -> str:
    r"""$(r_1 + r_2)^2 = (r_1 - r_2)^2 + 4r_1r_2 \ge 4R^2$, so $r_1 + r_2 \ge 2R$.

    If $r_1 + r_2 = 2R$, then $(r_1 - r_2)^2 = 4R^2 - 4r_1r_2 \le 0$, so $r_1 = r_2 = R$. All other ranks have a
    sum of at least 2R + 1, because it is a whole number. The number of parameters is this sum times m + n.
    """
    r1, r2, R = sympy.symbols("r1 r2 R", positive=True, integer=True)
    require(sympy.expand((r1 + r2) ** 2 - (r1 - r2) ** 2 - 4 * r1 * r2) == 0, "the square of the sum")
    require(twice <= 2, "four times the square of R, at most")
    require(more <= 1, "the next whole number")
    require(sympy.expand((2 * R) ** 2 - 4 * R**2) == 0, "the bound at equal ranks")
    return "the square of r1 + r2 exceeds 4 r1 r2 by the square of r1 - r2"


@proof("fedpara/cor-1")
def cor_1(power: Fraction = Fraction(2), less: Fraction = Fraction(0)) -> str:
    r"""The rank is at most $\min(R^2, m, n)$ by Proposition 1, and some factors reach it.

    For $i < R^2$ let row i of $X_1$ and $Y_1$ have a 1 at $\lfloor i/R \rfloor$, and row i of $X_2$ and $Y_2$ at the
    remainder of i by R. The entry i, j of W is 1 if both agree, which is so only for $i = j$: the first
    $\min(R^2, m, n)$ rows and columns of W are the identity. So the rank can be $\min(m, n)$ if and only if
    $R^2 \ge \min(m, n)$.
    """
    for R in range(1, 7):
        pairs = {divmod(i, R) for i in range(R**2)}
        require(len(pairs) == R**2, f"quotient and remainder by {R} determine a number below its square")
    for R in range(2, 7):
        for size in range(1, R**2 + 3):
            stated = R**power >= size - less
            require(stated == (min(R**2, size) == size), f"R = {R}, min(m, n) = {size}")
    return "quotient and remainder by R determine each number below its square"


@proof("fedpara/rmin")
def rmin(less: Fraction = Fraction(0)) -> str:
    r"""$R^2 \ge \min(m, n)$ means $R \ge \lceil\sqrt{\min(m, n)}\rceil$ for whole numbers R.

    The root and rounding up are monotone, so this is $\min(\lceil\sqrt m\rceil, \lceil\sqrt n\rceil)$.
    """
    for size in range(1, 200):
        least = next(R for R in range(1, size + 1) if size <= R**2)
        require((least - 1) ** 2 < size <= least**2, f"the least R for {size}")
        require(least + less <= least, f"no R that is large enough is below the stated one, for {size}")
    return "the least whole number whose square is large enough is the root rounded up"


@replay("fedpara/rmin@any-inner-ranks")
def rmin_any(values: Values) -> Violation:
    """Twice the printed rank against the sum of two other inner ranks."""
    size, r1, r2 = (int(values[name]) for name in ("size", "r1", "r2"))
    least = next(R for R in range(1, size + 1) if size <= R**2)
    assumes = (Hypothesis("r1 r2", r1 * r2, ">=", size), Hypothesis("r1", r1, ">=", 1), Hypothesis("r2", r2, ">=", 1))
    return Violation(2 * least, r1 + r2, assumes=assumes, reads="2 r_min against the sum of the inner ranks")


def kernel(core: Any, X: Any, Y: Any) -> dict[tuple[int, int, int, int], int]:
    """Return the entries of $T \\times_1 X \\times_2 Y$, by loops."""
    R, depth, width = len(core), len(core[0][0]), len(core[0][0][0])
    return {
        (i, j, c, d): sum(core[a][b][c][d] * X[i][a] * Y[j][b] for a in range(R) for b in range(R))
        for i in range(len(X))
        for j in range(len(Y))
        for c in range(depth)
        for d in range(width)
    }


@replay("fedpara/prop-3")
def prop_3(values: Values) -> Violation:
    """Ranks of both unfoldings of the stored kernel."""
    one = kernel(values["T1"], values["X1"], values["Y1"])
    two = kernel(values["T2"], values["X2"], values["Y2"])
    R, rows, columns = len(values["T1"]), len(values["X1"]), len(values["Y1"])
    taps = sorted({place[2:] for place in one})
    first = [[one[i, j, *tap] * two[i, j, *tap] for j in range(columns) for tap in taps] for i in range(rows)]
    second = [[one[i, j, *tap] * two[i, j, *tap] for i in range(rows) for tap in taps] for j in range(columns)]
    ranks = sorted(int(sympy.Matrix(matrix).rank()) for matrix in (first, second))
    assumes = (Hypothesis("R", R, "<=", min(rows, columns)),)
    return Violation(
        ranks[1], ranks[0], assumes=assumes, reads="the larger rank of both unfoldings against the smaller"
    )


@proof("fedpara/prop-3")
def prop_3_corrected(less: Fraction = Fraction(0), power: Fraction = Fraction(2)) -> str:
    r"""Each unfolding is a Hadamard product of two matrices of rank at most R, as in Proposition 1.

    $(T \times_1 X \times_2 Y)^{(1)} = XT^{(1)}(I \otimes I \otimes Y)^\top$ has X as a factor, which has R columns, and
    the second unfolding has Y. The unfolding of a Hadamard product is the Hadamard product of the unfoldings.
    """
    R = sympy.Symbol("R", positive=True, integer=True)
    x, y, u, v = sympy.symbols("x_i y_j u_i v_j")
    require(sympy.expand((x * y) * (u * v) - (x * u) * (y * v)) == 0, "Hadamard products of matrices of rank 1")
    room = R ** sympy.Rational(power) - sympy.Rational(less) - R**2
    require(sympy.expand(room).is_nonnegative is True, "the cap is at least R^2")
    return "each unfolding is a sum of R^2 matrices of rank at most 1"
