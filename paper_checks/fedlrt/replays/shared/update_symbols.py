r"""The clients' updates in symbols: eqs. (2), (4), (7) to (9), (26), (32), (33) and (39) to (45).

Matrices are symbols that do not commute, so an identity holds for all sizes and ranks; in the bases $\tilde U =
[U|\bar U]$ and $\tilde V = [V|\bar V]$ they are two blocks by two. F and $F_c$ are the negative gradients of
$\mathcal{L}$ and $\mathcal{L}_c$, and g, $g_c$ the gradients themselves.
"""

from __future__ import annotations

from typing import Any

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import require

w, g, g_c, g_s = sympy.symbols("w g g_c g_s", commutative=False)  # at the start: mean and client; g_s: on the way

U, Ubar, V, Vbar = sympy.symbols("U Ubar V Vbar", commutative=False)

Ut, Ubart, Vt, Vbart = sympy.symbols("U^T Ubar^T V^T Vbar^T", commutative=False)

RATE = sympy.Symbol("lambda", positive=True)

CORNER = sympy.diag(1, 0)


def wide(A: Any) -> sympy.Matrix:
    r"""$\tilde U^\top A\tilde V$ in blocks."""
    return (sympy.Matrix([Ut, Ubart]) * sympy.Matrix([[A]]) * sympy.Matrix([[V, Vbar]])).expand()


def corner(A: Any) -> sympy.Matrix:
    """Return a matrix with this block in the upper left corner and zeros elsewhere."""
    return sympy.diag(A, 0)


def same(left: Any, right: Any, step: str) -> None:
    """Require that two expressions, or two matrices of them, are the same."""
    gap = left - right
    entries = gap if isinstance(gap, sympy.MatrixBase) else [gap]
    require(all(sympy.expand(entry) == 0 for entry in entries), step)


def linear_loss(m: int, n: int, r: int) -> tuple[Any, ...]:
    r"""Return U, S, V, G with symbols for entries, m x r, r x r, n x r, m x n, and $\langle G, USV^\top\rangle$."""
    U, S, V, G = (
        sympy.Matrix(rows, columns, lambda i, j, name=name: sympy.Symbol(f"{name}_{i}{j}"))
        for name, rows, columns in (("u", m, r), ("s", r, r), ("v", n, r), ("g", m, n))
    )
    return U, S, V, G, sum(a * b for a, b in zip(G, U * S * V.T, strict=True))


SIZES = ((2, 2, 1), (3, 4, 2), (4, 3, 2))  # rows and columns of W, and of the coefficients


def chain_rule(share: Any = 1) -> None:
    r"""$\nabla_S\mathcal{L}(USV^\top) = U^\top\nabla_W\mathcal{L}\,V$, entry by entry at some sizes of U, S and V.

    A derivative at a point sees the loss to first order, so a linear loss $\langle G, W\rangle$ represents them
    all.
    """
    for m, n, r in SIZES:
        left, S, right, G, loss = linear_loss(m, n, r)
        slope = S.applyfunc(lambda entry, loss=loss: sympy.diff(loss, entry))
        same(slope, share * left.T * G * right, f"the gradient in the coefficients, {m} x {n}")


def smoothness(inner: Any, half: Any) -> None:
    r"""$\mathcal{L}(Y + D) - \mathcal{L}(Y) \le -\langle F(Y), D\rangle + \frac L2\|D\|^2$, inner is -1, half 1/2.

    Lemma 4: the derivative along D is at most $\langle\nabla\mathcal{L}(Y), D\rangle + tL\|D\|^2$ at the share t of the
    way.
    """
    t, square = sympy.Symbol("t"), sympy.Symbol("q", positive=True)
    require(inner == -1, "another derivative at the start of the way")  # F is the negative gradient
    room = half * square - sympy.integrate(t * square, (t, 0, 1))
    require(non_negative(room), "the integral of the Lipschitz bound")


def corrected(S: Any, correction: Any) -> Any:
    """Return a client's step in Algorithms 1 and 5 with its correction."""
    return S - RATE * (wide(g_s) + correction)


S_c = sympy.Matrix(2, 2, sympy.symbols("s_0:4", commutative=False))
