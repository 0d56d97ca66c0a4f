"""Lemma B.5.

Setting: `shared.local_steps`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.local_steps import L, a, b
from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require


@proof("fedloru-v2/lem-B.5")
def lem_B_5(constant: Fraction = Fraction(1), power: int = 2) -> str:
    r"""$\|(\nabla(A'B) - \nabla(AB))B^T\| \le L\|(A'-A)B\|\|B\| \le LC_B^2\|A'-A\|$, for f as for each client.

    One weight with loss $\frac12Lw^2$ attains it; both factors at once have the Hessian $L(1, 2; 2, 1)$ at A = B = 1.
    """
    joint = sympy.hessian(L * (a * b) ** 2 / 2, (a, b)).subs({a: 1, b: 1})
    require(non_negative(constant * L * b**power - L * b * b), "the product of the bounds")
    require(sympy.diff(L * a * b * b, a) == L * b**2, "one weight attains it")
    require(max(joint.eigenvals(), key=lambda v: v / L) == 3 * L, "no such constant for both factors at once")
    return r"the gradient is Lipschitz, and each side has a factor $\|B\|$; one weight attains the bound"
