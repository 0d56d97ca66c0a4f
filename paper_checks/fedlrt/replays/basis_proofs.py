r"""Proofs about wide bases and means of low-rank models: eqs. (20) to (22), Lemma 7, what $G_U$ and $G_V$ span.

Matrices are symbols that do not commute, so that an identity holds for all sizes and ranks; an inverse cancels by
itself. Blocks beside each other are rows of such symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy

from paper_checks.fedlrt.replays.low_rank_proofs import tail_is_what_the_best_rank_misses
from paper_checks.fedlrt.replays.update_proofs import SIZES, U, Ubar, Ut, V, Vbart, Vt, linear_loss, same
from paper_checks.replay import proof, require

rate = sympy.Symbol("lambda", positive=True)
G, S, T, X, Y, Z, J = sympy.symbols("G S S^T X Y Z J", commutative=False)


def row(*blocks: Any) -> sympy.Matrix:
    """Blocks beside each other."""
    return sympy.Matrix([blocks])


@proof("fedlrt/eq-22@u-kept-in-front")
def eq_22(
    corner: Fraction = Fraction(1),
    columns: int = 0,
    sizes: Sequence[tuple[int, int]] = ((2, 1), (3, 1), (5, 2), (6, 3)),
) -> str:
    r"""Turn the rows so that U is the first r axes: with $G_U = (G_1; G_2)$ below each other, $\bar U = (0; Q)$.

    Here $G_2 = QR_2$ is a QR decomposition of the n - r lower rows, with r orthonormal columns in Q, which there are
    for $2r \le n$ whatever the rank of $G_2$. Then $[U|\bar U]R = [U|G_U]$ with R the upper triangle of I, $G_1$ and
    $R_2$, which is a QR decomposition that leaves U as it is, and $\bar U^\top U = 0$. Any other one begins with
    columns $Q_1$ such that $U = Q_1R_{11}$, where $R_{11} = Q_1^\top U$ is triangular and orthogonal, hence diagonal
    with entries 1 and -1: a library can choose signs of the columns of U, and no more.
    """
    require(sizes, "no sizes")
    for n, r in sizes:

        def symbols(name: str, rows: int, columns: int) -> sympy.Matrix:
            return sympy.Matrix(rows, columns, lambda i, j: sympy.Symbol(f"{name}_{i}{j}"))

        first, Q, above = sympy.eye(n)[:, :r], symbols("q", n - r, r), symbols("g", r, r)
        R_2 = sympy.Matrix(r, r, lambda i, j: sympy.Symbol(f"r_{i}{j}") if i <= j else 0)
        bar = sympy.zeros(r, r).col_join(Q)
        whole = first.row_join(bar)
        R = sympy.eye(r).row_join(above).col_join(sympy.zeros(r, r).row_join(R_2))
        same(whole * R, first.row_join(above.col_join(Q * R_2)), f"not a decomposition at {n}, {r}")
        require(R.is_upper and n >= 2 * r, f"R is no triangle, or no room, at {n}, {r}")
        product, below = whole.T * first, r + columns
        require(product.rows == r + below, "another shape")
        same(product, (corner * sympy.eye(r)).col_join(sympy.zeros(below, r)), f"not [I; 0] at {r}")
        orthonormal_triangle_is_the_identity(r)
    return r"a QR decomposition that begins with U, as any does up to signs; $\tilde U^\top U = [I; 0]$"


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


@proof("fedlrt/lemma-7")
def lemma_7(padding: Fraction = Fraction(0)) -> str:
    r"""With S in the corner of zeros (Lemma 1) the wide model is $[U|\bar U]\tilde S[V|\bar V]^\top = USV^\top$.

    The two models are one matrix, and any loss has one value there.
    """
    coefficients = sympy.Matrix([[S, padding * X], [padding * Y, padding * Z]])
    model = (row(U, Ubar) * coefficients * row(Vt, Vbart).T)[0, 0]
    same(model, U * S * Vt, "another model")
    return "one model before and after the augmentation"


@proof("fedlrt/lemma-2-step-20")
def step_20(tilt: Fraction = Fraction(0)) -> str:
    r"""Each matrix is $[U_0|-X]$, $X = \nabla_K\mathcal{L}(K(0)V_0^\top)$, times an invertible triangle.

    With $K(t_1) = U_0S_0 - \lambda X$: the triangles are $\begin{pmatrix}I & S_0\\0 & \lambda I\end{pmatrix}$,
    $\begin{pmatrix}I & I\\0 & \lambda I\end{pmatrix}$ and $\begin{pmatrix}I & 0\\0 & \lambda I\end{pmatrix}$, of
    determinant $\lambda^r \ne 0$, for singular $S_0$ too. For V and L take the transposed problem.
    """
    last = row(U, -X + tilt * J)
    for name, beside, above in (
        ("K(t1)", U * S - rate * X, S),
        ("the start minus a step", U - rate * X, 1),
        ("the step", -rate * X, 0),
    ):
        triangle = sympy.Matrix([[1, above], [0, rate]])
        same(row(U, beside), last * triangle, f"another span with {name}")
        require(triangle[1, 0] == 0 and all(triangle[i, i].is_positive for i in (0, 1)), "not invertible")
    return r"all four are $[U_0|-X]$ times invertible triangles, for every $\lambda > 0$ and $S_0$"


@proof("fedlrt/lemma-2-step-21")
def step_21(sign: int = 1, left: int = 0, within: Fraction = Fraction(1)) -> str:
    r"""With (5), $\dot S = -U^\top GV$ and $\dot U = -(I - P_U)GVS^{-1}$, and with $P_U = UU^\top$ every line is $-GV$.

    Nothing is used of the matrices but $S^{-1}S = I$, so that the lines hold for all sizes, ranks and gradients.
    """
    inverse = (T if left else S) ** -1
    end, P = -G * V, U * Ut
    across = (1 - P) * G * V
    lines = (
        ("the product rule", -(1 - P) * G * V * inverse * S + U * (-sign * Ut * G * V)),
        ("(5) inserted", -across * S**-1 * S - within * U * Ut * G * V),
        ("S cancels", -across - within * P * G * V),
        ("the sign taken in", (P - 1) * G * V - within * P * G * V),
    )
    for name, line in lines:
        same(line, end, f"another end: {name}")
    return "every line is $-GV$, for all sizes and ranks and every invertible S"


@proof("fedlrt/lemma-2-step-chain")
def step_chain(scale: Fraction = Fraction(1), plain: int = 0) -> str:
    r"""To first order a step D of U adds $\langle G, DSV^\top\rangle = \langle GVS^\top, D\rangle$ to L.

    So $\nabla_U\mathcal{L} = GVS^\top$ for all sizes and every loss; the machine differentiates in every entry of U at
    some sizes, with the linear loss $\langle G, W\rangle$, which stands for all to first order. For S of full rank
    $S^\top S^{-\top} = I$, so that $-\nabla_U\mathcal{L}\,S^{-\top} = -GV = \dot K$: each of the two matrices is the
    other times an invertible one, and they span the same.
    """
    for m, n, r in SIZES:
        left, middle, right, slope, loss = linear_loss(m, n, r)
        found = left.applyfunc(lambda entry, loss=loss: sympy.diff(loss, entry))
        stated = scale * slope * right * (middle if plain else middle.T)
        same(found, stated, f"the gradient in U, {m} x {n}")
    same(-scale * G * V * (S if plain else T) * T**-1, -G * V, "not the derivative of K")
    return r"$\nabla_U\mathcal{L} = GVS^\top$ for every loss, and the invertible factor $S^\top$ between the two"


@proof("fedlrt/claim-gu-gv-choice@5-as-the-gradient-flow")
def claim_gu_gv(beyond_tangent: Fraction = Fraction(0)) -> str:
    r"""With $G_U = GVS^\top$ and $G_V = G^\top US$ all that (5) moves lies in the wide bases; S has an inverse.

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
    return r"the directions of U and V, and the projected gradient, as products with the wide bases"


@proof("fedlrt/claim-factors")
def claim_factors(
    length: Fraction = Fraction(1), diagonal: Fraction = Fraction(1), after: int = 1, sizes: Sequence[int] = (2, 4, 6)
) -> str:
    r"""$U^{t+1} = \tilde UP_{r_1}$ with $\tilde S^* = P\Sigma Q^\top$, and $S^{t+1} = \Sigma_{r_1}$.

    $P_{r_1}^\top\tilde U^\top\tilde UP_{r_1} = P_{r_1}^\top P_{r_1} = I$, likewise V; $\Sigma_{r_1}$ is diagonal. The
    rule takes the first $r_1$ whose tail after it is below $\vartheta$; the tail from $r_1$ on is not, or is all of
    $\tilde S^*$ and at least $\vartheta$. So $\sigma_{r_1}^2$, the difference of the two squares, is positive, and so
    are the values before it.
    """
    wide, wide_t, P, P_t = sympy.symbols("W W^T P P^T", commutative=False)
    gram = sympy.expand(length**2 * P_t * wide_t * wide * P).subs(wide_t * wide, 1).subs(P_t * P, 1)
    kept = sympy.diag(*sympy.symbols("s_1:4"))
    same(gram, sympy.Integer(1), "the bases are not orthonormal")
    same(diagonal * kept, kept, "another diagonal")
    tail_is_what_the_best_rank_misses(after, sizes)
    return r"$\tilde UP_{r_1}$ is orthonormal, $\Sigma_{r_1}$ diagonal, and its last value positive"


@proof("fedlrt/claim-alg6")
def claim_alg6(
    spread: Fraction = Fraction(0),
    cases: Sequence[tuple[int, int, int]] = ((12, 2, 3), (6, 2, 3), (6, 2, 4), (5, 1, 1), (4, 3, 2)),
) -> str:
    r"""With $[U_1|\ldots|U_C] = Q_UR_U$ and $[V_1|\ldots|V_C] = Q_VR_V$ the mean is $Q_U(R_UDR_V^\top)Q_V^\top$.

    $CD$ has $S_1, \ldots, S_C$ along its diagonal. For $Cr < n$ the core $R_UDR_V^\top$ is Cr by Cr; its SVD gives
    that of the mean, as $Q_U$ and $Q_V$ have orthonormal columns. The rank is at most that of D, hence Cr, and n.
    Attained: let client c have the axes $(c-1)r + 1, \ldots, cr$, counted around the n axes, for its columns in U and
    in V, and $S_c = I$. The mean is diagonal and not negative, with as many positive entries as there are axes used.
    """
    require(cases, "no cases")
    for C in (1, 2, 3):
        Us, Ss, Vs = (sympy.symbols(f"{name}_1:{C + 1}", commutative=False) for name in ("U", "S", "V^T"))
        stacked = row(*Us) * sympy.diag(*Ss) * row(*Vs).T / C
        mean = sum((a * b * c for a, b, c in zip(Us, Ss, Vs, strict=True)), sympy.Integer(0)) / C
        same(stacked[0, 0] + spread * X, mean, f"not the mean of {C} clients")
    for n, r, C in cases:
        mean = sympy.zeros(n, n)
        for axis in range(C * r):
            mean[axis % n, axis % n] += sympy.Rational(1, C)
        require(r <= n and mean.rank() == min(n, C * r), f"not the rank min(n, Cr) at {n}, {r}, {C}")
    return "the mean as a product with the stacked factors, and axes for which its rank is min(n, Cr)"
