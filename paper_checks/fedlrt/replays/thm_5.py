"""Theorem 5 (Appendix D): the basis update and Galerkin splitting (eqs. (15) to (17))."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions


@replay("fedlrt/eq-17")
def eq_17(values: Values) -> Violation:
    """Compare the columns of Ut' U_0, which is 2r by r, with the rows of the 2r by 2r matrix next to it."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(
        Fraction(abs(r - 2 * r)),
        Fraction(0),
        assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("2r", 2 * r, "<=", n)],
        reads="we compute the difference between the number of columns of the first factor and the number of rows of "
        "the second",
    )


@proof("fedlrt/thm-5@steps-up-to-1")
def thm_5(d_2: Fraction = Fraction(1), d_3: Fraction = Fraction(1), longest: Fraction = Fraction(1)) -> str:
    r"""Both flows start at $W_0$, which lies in the augmented bases; let P be the projection on them.

    $e = W - W_r$ has $e' = -(\nabla\mathcal{L}(W) - \nabla\mathcal{L}(W_r)) - (I - P)\nabla\mathcal{L}(W_r)$, so
    $\|e\|' \le L\|e\| + B$ and, by Gronwall, $\|e\| \le y(t) = B(e^{Lt} - 1)/L$, the solution of $y' = Ly + B$ from 0.
    With $x = Lt$, $xe^x - (e^x - 1)$ is 0 at 0 and has the derivative $xe^x \ge 0$, so $y \le Be^{Lt}t \le Be^Lt$
    for $t \le 1$. Truncation adds at most $\vartheta \le \vartheta/t$.
    """
    t, L, B, x, A = sympy.symbols("t L B x A", positive=True)
    y = B * (sympy.exp(L * t) - 1) / L
    require(sympy.simplify(sympy.diff(y, t) - L * y - B) == 0 and y.subs(t, 0) == 0, "not the solution")
    room = d_2 * x * sympy.exp(x) - (sympy.exp(x) - 1)
    slope = sympy.expand(sympy.simplify(sympy.diff(room, x) * sympy.exp(-x)))
    require(room.subs(x, 0) == 0 and non_negative(slope), "the integral is not below d_2 B e^L t")
    require(longest == 1, "e^(Lt) is at most e^L only for t up to 1")
    numerator = sympy.cancel((d_3 - longest / (1 + A)) * (1 + A))  # t = longest / (1 + A)
    require(non_negative(numerator), "the truncated part is not within d_3 theta / t")
    return (
        r"Gronwall's inequality for the difference of the flows gives $B(e^{L\Delta t} - 1)/L$, at most $Be^L\Delta "
        r"t$; truncation adds $\vartheta$, so $d_1 = 0$, $d_2 = Be^L$ and $d_3 = 1$"
    )


@replay("fedlrt/thm-5")
def thm_5_as_printed(values: Values) -> Violation:
    r"""Follow a flat loss, both flows at rest, $d_2, d_3 > 0$: $\Delta t$ in units of $d_3$, the rest of $d_2d_3$.

    A flat loss has every L and every B, so constants that depend on these are any numbers; a bound with $d_2$ or
    $d_3$ at most 0 implies the one with positive numbers in their place.
    """
    time, theta, cut = fractions(values, "time over d_3", "theta over d_2 d_3", "cut part over d_2 d_3")
    assumes = [
        Hypothesis("Delta t over d_3", time, ">", 0),
        Hypothesis("cut part over d_2 d_3", cut, ">", 0),
        Hypothesis("cut part over d_2 d_3", cut, "<", theta),
    ]
    # d_2 Delta t and d_3 theta / Delta t, over d_2 d_3.
    return Violation(
        cut,
        time + theta / time,
        assumes=assumes,
        reads="with a flat loss, epsilon = 0 and any d_2 > 0 and d_3 > 0, we compare the truncated part with "
        "d_2 Delta t + d_3 theta / Delta t, both over d_2 d_3",
    )
