"""Replays of the claims in ``bases``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions, square


@replay("fedlrt/eq-5")
def eq_5(values: Values) -> Violation:
    """Two rows and columns, rank one, U = V = e1: (5) as printed against the projected gradient."""
    s, G = Fraction(values["S"]), square(values["G"], 2)
    S_dot = -G[0][0]
    inverse = 1 / s if s else Fraction(0)
    U_dot = [Fraction(0), -G[1][0] * inverse]  # -(I - e1 e1') G e1 / s
    V_dot = [Fraction(0), -G[1][0] * inverse]  # the same as printed, with G and not its transpose
    moved = [[S_dot, s * V_dot[1]], [s * U_dot[1], Fraction(0)]]
    projected = [[-G[0][0], -G[0][1]], [-G[1][0], Fraction(0)]]
    apart = max(abs(moved[i][j] - projected[i][j]) for i in range(2) for j in range(2))
    return Violation(
        apart,
        Fraction(0),
        assumes=[Hypothesis("S", s, "!=", 0)],
        given={"U": [1, 0], "V": [1, 0], "S": s, "gradient": G},
        reads="with U = V = e1 and gradient G, the largest entry of the flow by (5) minus the projected flow",
    )


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
        reads="QR = [u, g] with R an upper triangle: squared distance of Q'u from [1; 0]",
    )


@replay("fedlrt/claim-gu-gv-choice")
def claim_gu_gv_as_printed(values: Values) -> Violation:
    """Three rows and columns, U = V = e1, S = 1: the wide basis of V is that of e1 and G'e1, the first row of G.

    The row ends in axis 3; (5) as printed moves V along Ge1, the first column, whose part across e1 is in axis 2.
    """
    along, across = fractions(values, "entry (1, 3)", "entry (2, 1)")
    return Violation(
        across**2,
        Fraction(0),
        assumes=[Hypothesis("entry (1, 3), the part of G_V across V", along, "!=", 0)],
        given={"U": [1, 0, 0], "V": [1, 0, 0], "S": 1, "G": [[0, 0, along], [across, 0, 0], [0, 0, 0]]},
        reads="with U = V = e1 and S = 1, squared part of (I - P_V) G U, the direction of V in (5) as printed, "
        "outside of the span of V and G_V = G'U S",
    )
