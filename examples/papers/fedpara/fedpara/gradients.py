"""Appendix B, Jacobian correction: gradients of the factors, and the weight after a step."""

from __future__ import annotations

import sympy

from paper_checks.claim import AS_CORRECTED, Form, Intended
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities

SIZE = 2
X1, Y1, X2, Y2, J = (
    sympy.Matrix(SIZE, SIZE, sympy.symbols(f"{name}_1:{SIZE**2 + 1}")) for name in ("x", "y", "u", "v", "j")
)
ENTRIES = tuple(symbol for matrix in (X1, Y1, X2, Y2, J) for symbol in matrix)


@identities(
    "fedpara/eq-6",
    where="Appendix B, eq. (6), with the gradients of (2)",
    says=r"""For $W_1 = X_1Y_1^\top$: $J_{W_1} = J_W \odot W_2$, $J_{X_1} = J_{W_1}Y_1^\top$ and
    $J_{Y_1} = X_1^\top J_{W_1}$.""",
    measure=lambda context: generic_points(context, ENTRIES, 2),
    correction=Form(
        r"""For $W_1 = X_1Y_1^\top$: $J_{W_1} = J_W \odot W_2$, $J_{X_1} = J_{W_1}Y_1$ and
        $J_{Y_1} = J_{W_1}^\top X_1$.""",
        {"turned": False},
        mutants=({"turned": False, "hadamard": False},),
        asks="neither",
    ),
    because="The printed gradients belong to a factorisation without a transpose, so their shapes do not fit.",
    importance="detail",
    expect=("holds", "proof"),
    intended=Intended(AS_CORRECTED, "eq. (7) subtracts them from the factors, so they have the factors' shapes"),
    print="misprint",
    family="2 x 2 matrices of inner rank 2, where the printed products have shapes that fit",
)
def eq_6(points: list[Point], turned: bool = True, hadamard: bool = True) -> Equations:
    """Against derivatives of the sum of the entries of $J_W \\odot W$."""
    W1, W2 = X1 * Y1.T, X2 * Y2.T
    loss = sum(J.multiply_elementwise(W1).multiply_elementwise(W2))
    inner = J.multiply_elementwise(W2) if hadamard else J
    stated = {"X_1": (X1, inner * (Y1.T if turned else Y1)), "Y_1": (Y1, X1.T * inner if turned else inner.T * X1)}
    for name, (factor, gradient) in stated.items():
        for symbol, entry in zip(factor, gradient, strict=True):
            yield Equation(f"the gradient of {name}", entry, sympy.diff(loss, symbol))
    return points, "any entries"


P1, P2, Q1, Q2, S1, S2, ETA = sympy.symbols("P_1 P_2 Q_1 Q_2 S_1 S_2 eta")
"""Entries of $X_iY_i^\\top$, of $J_{X_i}Y_i^\\top + X_iJ_{Y_i}^\\top$ and of $J_{X_i}J_{Y_i}^\\top$; the step size."""


@identities(
    "fedpara/eq-8",
    where="Appendix B, eq. (8), last lines",
    says=r"""After a step $W'$ is $P_1 \odot P_2 + \eta^4S_1 \odot S_2 - \eta^3(Q_1 \odot S_2 + Q_2 \odot S_1) +
    \eta^2(Q_1 \odot Q_2 + S_2 \odot P_2 + S_2 \odot P_1) - \eta(Q_1 \odot P_2 + Q_2 \odot P_1)$, where
    $P_i = X_iY_i^\top$, $Q_i = J_{X_i}Y_i^\top + X_iJ_{Y_i}^\top$ and $S_i = J_{X_i}J_{Y_i}^\top$.""",
    measure=lambda context: generic_points(context, (P1, P2, Q1, Q2, S1, S2, ETA), 3),
    correction=Form(
        r"""$W'$ is $P_1 \odot P_2 + \eta^4S_1 \odot S_2 - \eta^3(Q_1 \odot S_2 + Q_2 \odot S_1) +
        \eta^2(Q_1 \odot Q_2 + S_1 \odot P_2 + S_2 \odot P_1) - \eta(Q_1 \odot P_2 + Q_2 \odot P_1)$.""",
        {"first": True},
        mutants=({"first": True, "sign": 1},),
        asks="neither",
    ),
    because="One of the terms with the squared step has the index 2 twice.",
    importance="detail",
    expect=("holds", "proof"),
    intended=Intended(AS_CORRECTED, "the line above it, the product of both new factors"),
    print="misprint",
)
def eq_8(points: list[Point], first: bool = False, sign: int = -1) -> Equations:
    """Entry by entry, against the product of both new factors."""
    left = (P1 - ETA * Q1 + ETA**2 * S1) * (P2 - ETA * Q2 + ETA**2 * S2)
    squares = Q1 * Q2 + (S1 if first else S2) * P2 + S2 * P1
    right = P1 * P2 + ETA**4 * S1 * S2 + sign * ETA**3 * (Q1 * S2 + Q2 * S1) + ETA**2 * squares
    yield Equation("the weight after a step", left, right - ETA * (Q1 * P2 + Q2 * P1))
    return points, "any entries and step size"
