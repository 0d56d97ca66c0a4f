r"""The effect of local steps (Lemmas B.5 to B.8, eqs. (63) to (66)), for all losses, shapes, clients and step sizes.

$\|\cdot\|$ of a random matrix is the root of its mean square, for which the triangle inequality holds. (A.2) and (A.5)
give $\|\nabla f^{(k)}(W)\| \le G$ at every W, and a fresh sample has $\|g\| \le G$ regardless of the past; (A.3) holds
without exception. (Labels follow Section 4.2; Appendix B exchanges (A.4) and (A.5), so unbiasedness is its
(A.4).) The weights $p^{(k)}$ are at least 0 and of sum 1, so f and averages are means. Norms are
submultiplicative. Hence a step moves A by at most $\eta GC_B$ and B by at most
$\eta GC_A$, i steps by i times that, and with $A_iB_i - AB = (A_i - A)B_i + A(B_i - B)$ what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from paper_checks.replay import require

L, G, a, b, eta, i, more, h = sympy.symbols("L G C_A C_B eta i e h", positive=True)

E = 1 + more
"""Local steps: at least one."""

moved_a, moved_b = i * eta * G * b, i * eta * G * a

moved_ab = moved_a * b + a * moved_b

drift_a, drift_b = b * L * moved_ab + G * moved_b, a * L * moved_ab + G * moved_a

rate_a, rate_b = L * b * (a**2 + b**2) + G * a, L * a * (a**2 + b**2) + G * b
"""Bounds on what i local steps move, and on the changes of the gradients in the factors."""


def positive_sizes(sizes: Sequence[int]) -> Sequence[int]:
    """Return the sizes at which a step is repeated: there are some, and each is at least 1."""
    require(min(sizes, default=0) >= 1, "sizes of at least 1")
    return sizes


def mean_drift() -> sympy.Expr:
    """Return the drift of the gradient in A, averaged over i = 0..E-1."""
    k = sympy.Symbol("k", positive=True)
    return sympy.expand(sympy.summation(drift_a.subs(i, k), (k, 0, more)) / E)


def one_weight(steps: int, slope: Any) -> list[tuple[sympy.Expr, sympy.Expr]]:
    """Return A and B of one weight from C_A and C_B on, after every step along ``slope(A, B)``."""
    path = [(a, b)]
    for _ in range(steps):
        A, B = path[-1]
        s = slope(A, B)
        path.append((sympy.expand(A - eta * s * B), sympy.expand(B - eta * s * A)))
    return path
