"""Lemma 1 and Appendix E: augmented bases and coefficients in them (eqs. (6), (22) and (23)).

Setting: `shared.wide_bases`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.singular_values import symbols_of
from paper_checks.fedlrt.replays.shared.update_symbols import U, Ut, V, Vt, same
from paper_checks.fedlrt.replays.shared.wide_bases import G, S, T, row
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedlrt/claim-gu-gv-choice")
def claim_gu_gv(beyond_tangent: Fraction = Fraction(0)) -> str:
    r"""With $G_U = GVS^\top$ and $G_V = G^\top US$ all that (5) moves lies in the augmented bases; S has an inverse.

    $\dot U = -(I - P_U)GVS^{-1} = [U|G_U]\,(U^\top GVS^{-1}; -S^{-\top}S^{-1})$, blocks below each other, and
    $\dot V$ of the transposed problem likewise. The projected gradient is $P_UG + GP_V - P_UGP_V =
    [U|GV]\begin{pmatrix}-U^\top GV & I\\I & 0\end{pmatrix}[V|G^\top U]^\top$, and $GV = G_US^{-\top}$,
    $G^\top U = G_VS^{-1}$. That (6) spans what the basis update of the splitting spans is Lemma 2, which has its own
    proof.
    """
    G_U, inner = G * V * T, Ut * G * V
    U_dot = -(G * V - U * Ut * G * V) * S**-1
    moves = row(U, G_U) * sympy.Matrix([inner * S**-1, -(T**-1) * S**-1])
    off = (1 - U * Ut) * G * (1 - V * Vt)
    spanned = row(U, G * V) * sympy.Matrix([[-inner, 1], [1, 0]]) * sympy.Matrix([Vt, Ut * G])
    same(moves[0, 0], U_dot, "the direction of U")
    same(G_U * T**-1, G * V, "GV is not spanned")
    same(spanned[0, 0], G - (1 - beyond_tangent) * off, "the projected gradient")
    return "the directions of U and V and the projected gradient are products with the augmented bases"


@proof("fedlrt/lemma-1")
def lemma_1(corner: Fraction = Fraction(1), ranks: Sequence[int] = (1, 2, 3)) -> str:
    r"""$\tilde U = [U|\bar U]$ is orthonormal (eq. (22)), so $\tilde U^\top U$ is the identity above zeros.

    Then $\tilde U^\top USV^\top\tilde V$ is S between two such matrices, the corner of zeros. The program computes the
    product for some ranks. For any rank, every entry outside the corner has a factor zero.
    """
    require(len(ranks) > 0, "no ranks")
    for r in ranks:
        S = symbols_of("S", r, r)
        tall = sympy.eye(r).col_join(sympy.zeros(r, r))
        wanted = sympy.diag(corner * S, sympy.zeros(r, r))
        require(tall * S * tall.T == wanted, f"another matrix at rank {r}")
    return r"$\tilde U^\top U$ and $V^\top\tilde V$ are identity matrices padded with zeros, for any rank"


@replay("fedlrt/eq-22")
def eq_22_as_printed(values: Values) -> Violation:
    """Two rows, one column u of length 1: [-u, q] times an upper triangle is [u, g], with q across u."""
    u, g = ([Fraction(entry) for entry in values[name]] for name in ("u", "g"))
    Q = [[-u[0], u[1]], [-u[1], -u[0]]]
    R = [[Fraction(-1), -u[0] * g[0] - u[1] * g[1]], [Fraction(0), u[1] * g[0] - u[0] * g[1]]]
    found = [[sum(Q[i][k] * R[k][j] for k in range(2)) for j in range(2)] for i in range(2)]
    assumes = [
        Hypothesis("squared length of u", u[0] ** 2 + u[1] ** 2, "=", 1),
        *(
            Hypothesis(f"entry ({i + 1}, {j + 1}) of QR", found[i][j], "=", (u, g)[j][i])
            for i in (0, 1)
            for j in (0, 1)
        ),
    ]
    top, below = (Q[0][k] * u[0] + Q[1][k] * u[1] for k in range(2))
    return Violation(
        (top - 1) ** 2 + below**2,
        Fraction(0),
        assumes=assumes,
        given={"Q": Q, "R": R},
        reads="for QR = [u, g], where R is an upper triangle, we compute the squared distance of Q'u from [1; 0]",
    )


def orthonormal_triangle_is_the_identity(r: int) -> None:
    r"""An upper triangle R with a positive diagonal and $R^\top R = I$ is I: solve row by row for its entries."""
    R = sympy.Matrix(r, r, lambda i, j: sympy.Symbol(f"t_{i}{j}", positive=True if i == j else None) if i <= j else 0)
    for i in range(r):
        (root,) = sympy.solve((R.T * R)[i, i] - 1, R[i, i])  # what is left of column i, given the rows above
        R = R.subs(R[i, i], root)
        for j in range(i + 1, r):
            (entry,) = sympy.solve((R.T * R)[i, j], R[i, j])
            R = R.subs(R[i, j], entry)
    require(sympy.eye(r) == R, f"another triangle of size {r}")


@proof("fedlrt/eq-22@u-kept-in-front")
def eq_22(
    corner: Fraction = Fraction(1),
    columns: int = 0,
    sizes: Sequence[tuple[int, int]] = ((2, 1), (3, 1), (5, 2), (6, 3)),
) -> str:
    r"""Turn the rows so that U is the first r axes: with $G_U = (G_1; G_2)$ below each other, $\bar U = (0; Q)$.

    Here $G_2 = QR_2$ is a QR decomposition of the n - r lower rows, with r orthonormal columns in Q, which exist for
    $2r \le n$ and any rank of $G_2$. Then $[U|\bar U]R = [U|G_U]$ with R the upper triangle of I, $G_1$ and $R_2$,
    which is a QR decomposition that does not change U, and $\bar U^\top U = 0$. Any other one begins with columns $Q_1$
    such that $U = Q_1R_{11}$, where $R_{11} = Q_1^\top U$ is triangular and orthogonal, hence diagonal with entries 1
    and -1: a library can choose signs of the columns of U, and no more.
    """
    require(len(sizes) > 0, "no sizes")
    for n, r in sizes:

        def symbols(name: str, rows: int, columns: int) -> sympy.Matrix:
            return sympy.Matrix(rows, columns, lambda i, j: sympy.Symbol(f"{name}_{i}{j}"))

        first, Q, above = sympy.eye(n)[:, :r], symbols("q", n - r, r), symbols("g", r, r)
        R_2 = sympy.Matrix(r, r, lambda i, j: sympy.Symbol(f"r_{i}{j}") if i <= j else 0)
        bar = sympy.zeros(r, r).col_join(Q)
        whole = first.row_join(bar)
        R = sympy.eye(r).row_join(above).col_join(sympy.zeros(r, r).row_join(R_2))
        same(whole * R, first.row_join(above.col_join(Q * R_2)), f"not a decomposition at {n}, {r}")
        require(R.is_upper and n >= 2 * r, f"R is not triangular, or does not fit, at {n}, {r}")
        product, below = whole.T * first, r + columns
        require(product.rows == r + below, "another shape")
        same(product, (corner * sympy.eye(r)).col_join(sympy.zeros(below, r)), f"not [I; 0] at {r}")
        orthonormal_triangle_is_the_identity(r)
    return (
        r"the QR decomposition begins with U, as any such decomposition does up to signs, so $\tilde U^\top U = [I; "
        "0]$"
    )
