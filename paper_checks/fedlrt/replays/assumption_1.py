"""Assumption 1 (Section 3.2): its meaning, and when its delta is small along runs.

Setting: `shared.descent`.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.descent import G, d, f, h
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions, square


@proof("fedlrt/assumption-1")
def assumption_1(factor: Fraction = Fraction(2)) -> str:
    r"""With b inside and a in all: the square outside is $a^2 - b^2$, and (14) says $a - b \le \delta g$.

    For the global loss at the start a = g, so $b = (1 - \delta)g + f$, and d is $1 - \delta$. For a client
    $a = b + h$ with $\delta g = h + f$.
    """
    b = sympy.Symbol("b", positive=True)
    delta = 1 - d
    start = delta * (factor - delta) * G**2 - (G**2 - (d * G + f) ** 2)
    client = (h + f) * (factor * b + h + f) - ((b + h) ** 2 - b**2)
    require(non_negative(start), "the square outside for the global loss")
    require(non_negative(client), "the square outside for a client")
    return (
        r"the squared norm outside the block is at most $\delta(2-\delta)g^2$ at the start and at most $\delta g(2b + "
        r"\delta g)$ for a client, because each bound minus the squared norm is a sum of products of non-negative "
        r"quantities; here $g = "
        r"\|\nabla_{\tilde S}\mathcal{L}\|$ and $b = \|\nabla_S\mathcal{L}_c\|$"
    )


@replay(
    "fedlrt/assumption-1",
    inside="norm of the gradient's block",
    outside="norm of the rest",
    norm="norm of the gradient",
)
def assumption_1_as_printed(values: Values) -> Violation:
    """Compare the part outside the block with delta times the norm of the gradient, G = L at the start."""
    inside, outside, size, delta = fractions(values, "inside", "outside", "norm", "delta")
    assumes = (
        Hypothesis("squared norm of the gradient", inside**2 + outside**2, "=", size**2),
        Hypothesis("its block", inside, ">=", 0),
        Hypothesis("delta, for delta << 1", delta, "<=", Fraction(1, 10)),
        Hypothesis("(14): gradient minus its block", size - inside, "<", delta * size),
    )
    return Violation(
        outside,
        delta * size,
        assumes=assumes,
        reads="we compare the norm of the gradient outside the block with delta times the norm of the gradient",
    )


@replay("fedlrt/claim-assumption-when", matrix="the solution, of rank 1")
def claim_assumption_when(values: Values) -> Violation:
    """W under |W - T|^2 / 2 from e1 e1', one client and one step a round, every round cut to rank 1.

    W stays a multiple of u u'. While the gradient sends u across itself, both augmented bases are the plane, the
    gradient in the augmented coefficients is W - T, and its block is u'(W - T)u. All matrices are symmetric.
    """
    (a, b), (c, d) = square(values["matrix"], 2)
    rate, theta = fractions(values, "step", "theta")
    rounds = int(values["rounds"])
    assumes = [
        Hypothesis("upper right entry of the solution", b, "=", c),
        Hypothesis("determinant of the solution", a * d - b * c, "=", 0),
        Hypothesis("lambda L s", rate, ">", 0),
        Hypothesis("lambda L s", rate, "<=", Fraction(1, 12)),
        Hypothesis("rounds", rounds, ">=", 1),
        Hypothesis("rounds", rounds, "<=", 200),
    ]
    with localcontext(prec=60):
        T = [[Decimal(v.numerator) / v.denominator for v in row] for row in ((a, b), (c, d))]
        s, u, step = Decimal(1), (Decimal(1), Decimal(0)), Decimal(rate.numerator) / rate.denominator
        widened = kept = Decimal(1)
        cut = Decimal(0)
        for count in range(max(rounds, 0) + 1):
            W = [[s * u[i] * u[j] for j in range(2)] for i in range(2)]
            G = [[W[i][j] - T[i][j] for j in range(2)] for i in range(2)]
            along = (G[0][0] * u[0] + G[0][1] * u[1], G[1][0] * u[0] + G[1][1] * u[1])
            distance = sum((entry**2 for row in G for entry in row), Decimal(0)).sqrt()
            block, across = along[0] * u[0] + along[1] * u[1], along[1] * u[0] - along[0] * u[1]
            widened = min(widened, abs(across))
            if count == rounds or not distance:
                break
            W = [[W[i][j] - step * G[i][j] for j in range(2)] for i in range(2)]
            middle, apart = (W[0][0] + W[1][1]) / 2, (((W[0][0] - W[1][1]) / 2) ** 2 + W[0][1] ** 2).sqrt()
            s, way = middle + apart, (W[0][1], middle + apart - W[0][0])  # the larger eigenvalue and its vector
            kept, cut = min(kept, s), max(cut, abs(middle - apart))
            length = (way[0] ** 2 + way[1] ** 2).sqrt()
            u = (way[0] / length, way[1] / length) if length else u
        needed = (distance - abs(block)) / distance if distance else Decimal(0)
    # 60 digits of these numbers of order one are far more than 30 digits of their difference from 0.
    assumes.append(Hypothesis("least gradient across the basis", Fraction(widened), ">", Fraction(1, 10**30)))
    assumes.append(Hypothesis("largest second singular value of a round, which is cut", Fraction(cut), "<", theta))
    assumes.append(Hypothesis("least first singular value of a round, which stays", Fraction(kept), ">", theta))
    assumes.append(Hypothesis("distance from the solution", Fraction(distance), "<=", Fraction(1, 100)))
    return Violation(
        Fraction(needed),
        Fraction(1, 10),
        error=1e-12,
        assumes=assumes,
        reads="with one client, one step a round, the loss |W - T|^2/2, where T is the matrix, and the start e1 e1', "
        "every round truncates the weights to rank 1. We compare the smallest delta that satisfies (14) at the start "
        "of the next round, near T, with 1/10",
    )
