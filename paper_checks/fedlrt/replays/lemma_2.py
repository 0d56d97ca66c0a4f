"""Lemma 2 (Appendix D): the mean factor gradients span what a step of the splitting does.

Setting: `shared.wide_bases`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.singular_values import symbols_of
from paper_checks.fedlrt.replays.shared.update_symbols import SIZES, U, Ut, V, linear_loss, same
from paper_checks.fedlrt.replays.shared.wide_bases import G, J, S, T, X, row
from paper_checks.replay import proof, require

rate = sympy.Symbol("lambda", positive=True)


@proof("fedlrt/lemma-2")
def lemma_2(share: Fraction = Fraction(1), ranks: Sequence[int] = (1, 2, 3)) -> str:
    r"""Both pairs of columns are one up to an invertible matrix.

    With G the gradient at $U_0S_0V_0^\top$ the chain rule gives $\nabla_K\mathcal{L} = GV_0$ and $\nabla_U\mathcal{L} =
    GV_0S_0^\top$, so $[U_0|K(t_1)] = [U_0|U_0S_0 - \lambda GV_0] = [U_0|-\nabla_U\mathcal{L}]\,M$ with $M =
    \begin{pmatrix}I & S_0\\0 & \lambda S_0^{-\top}\end{pmatrix}$, of determinant $\lambda^r/\det S_0 \ne 0$. So the
    spans are one; for V and L take the transposed problem. The models of (17) start at $P_{\tilde U}W_0P_{\tilde V}$
    and follow $\dot W = -P_{\tilde U}\nabla\mathcal{L}(W)P_{\tilde V}$: of the bases they know the spans only.
    """
    require(len(ranks) > 0, "no ranks")
    rate = sympy.Symbol("lambda", positive=True)
    for r in ranks:
        U, GV, S = symbols_of("U", r + 1, r), symbols_of("X", r + 1, r), symbols_of("S", r, r)
        inverse = S.T.adjugate() / S.det(method="berkowitz")
        M = sympy.eye(r).row_join(S).col_join(sympy.zeros(r, r).row_join(share * rate * inverse))
        left = U.row_join(U * S - rate * GV)
        gap = (U.row_join(-GV * S.T) * M - left).applyfunc(sympy.cancel)
        require(gap.is_zero_matrix, f"[U|K] is not the product at rank {r}")
        away = sympy.cancel(M.det(method="berkowitz") * S.det(method="berkowitz") - rate**r)
        require(away == 0, f"another determinant at rank {r}")
    return (
        r"$[U_0|K(t_1)] = [U_0|-\nabla_U\mathcal{L}]\,M$ with M invertible for every $\lambda > 0$ and invertible "
        r"$S_0$"
    )


@proof("fedlrt/lemma-2-step-20")
def step_20(tilt: Fraction = Fraction(0)) -> str:
    r"""Each matrix is $[U_0|-X]$, $X = \nabla_K\mathcal{L}(K(0)V_0^\top)$, times an invertible triangle.

    With $K(t_1) = U_0S_0 - \lambda X$: the triangles are $\begin{pmatrix}I & S_0\\0 & \lambda I\end{pmatrix}$,
    $\begin{pmatrix}I & I\\0 & \lambda I\end{pmatrix}$ and $\begin{pmatrix}I & 0\\0 & \lambda I\end{pmatrix}$, of
    determinant $\lambda^r \ne 0$, even for singular $S_0$. For V and L take the transposed problem.
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
    return r"all four are $[U_0|-X]$ times invertible triangular matrices, for every $\lambda > 0$ and $S_0$"


@proof("fedlrt/lemma-2-step-21")
def step_21(sign: int = 1, left: int = 0, within: Fraction = Fraction(1)) -> str:
    r"""With (5), $\dot S = -U^\top GV$ and $\dot U = -(I - P_U)GVS^{-1}$, and with $P_U = UU^\top$ every line is $-GV$.

    Nothing is used of the matrices but $S^{-1}S = I$, so the lines hold for all sizes, ranks and gradients.
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
    return "every line equals $-GV$, for all sizes and ranks and every invertible S"


@proof("fedlrt/lemma-2-step-chain")
def step_chain(scale: Fraction = Fraction(1), plain: int = 0) -> str:
    r"""To first order a step D of U adds $\langle G, DSV^\top\rangle = \langle GVS^\top, D\rangle$ to L.

    So $\nabla_U\mathcal{L} = GVS^\top$ for all sizes and every loss; the machine differentiates in every entry of U at
    some sizes, with the linear loss $\langle G, W\rangle$, which represents every loss to first order. For S of full
    rank $S^\top S^{-\top} = I$, so $-\nabla_U\mathcal{L}\,S^{-\top} = -GV = \dot K$: each of the two matrices is
    the other times an invertible one, and they span the same.
    """
    for m, n, r in SIZES:
        left, middle, right, slope, loss = linear_loss(m, n, r)
        found = left.applyfunc(lambda entry, loss=loss: sympy.diff(loss, entry))
        stated = scale * slope * right * (middle if plain else middle.T)
        same(found, stated, f"the gradient in U, {m} x {n}")
    same(-scale * G * V * (S if plain else T) * T**-1, -G * V, "not the derivative of K")
    return r"$\nabla_U\mathcal{L} = GVS^\top$ for every loss, and the invertible factor $S^\top$ between the two"
