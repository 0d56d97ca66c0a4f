"""Lemma A.16 and its proof (eqs. (254) to (273)).

Setting: `shared.clients_and_minimisers`.

Setting: `shared.tangent_map`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require
from paper_checks.rolora.replays.shared.clients_and_minimisers import across
from paper_checks.rolora.replays.shared.rank_one import COSINE, MEAN, MEAN_SQUARED, TRUTH, A, Vector, inner, plus, same
from paper_checks.rolora.replays.shared.tangent_map import at_least, sines_decrease


@proof("rolora/lem-A.16")
def lem_A_16(factor: Fraction = Fraction(2), longest: Fraction = Fraction(1, 2)) -> str:
    r"""The sine is multiplied by at most $1 - 2s(1 - \delta_0^2)$ in an iteration; for $s = 0$ nothing moves.

    With $x = 1 - u$ the part of the step across $a^*$ is $1 - 2sx$ times the part of a, and the squared length of the
    step is $1 + 4s^2ux \ge 1$. So the squared factor of the sine is $(1 - 2sx)^2$ over something that is at least 1,
    and $0 \le 1 - 2sx \le 1 - 2s(1 - \delta_0^2)$ for $0 < s \le \frac12$ and $u \le \delta_0^2$.
    """
    at_least(2, factor=factor)
    at_least(Fraction(1, 2), longest=longest)
    sines_decrease(factor, longest)
    return (
        r"the squared length of the step is $1 + 4s^2u(1-u) \ge 1$, and $0 \le 1 - 2s(1-u) \le 1 - 2s(1-\delta_0^2)$, "
        "as the signs of the coefficients show"
    )


ETA = sympy.Symbol("eta", positive=True)


def step(factor: Any) -> tuple[Vector, Any]:
    r"""Return the step before it is normalised, at $b = x\bar b^*$, and $\|b\|^2$."""
    b = plus((COSINE, MEAN))
    B_squared = inner(b, b)
    return plus((1 - factor * ETA * B_squared, A), (factor * ETA * inner(MEAN, b), TRUTH)), B_squared


def same_vector(one: Vector, other: Vector) -> bool:
    """Return whether two combinations are identical for a unit vector a."""
    return all(same(share, 0) for share in plus((1, one), (-1, other)).values())


@proof("rolora/eq-255")
def eq_255(factor: Fraction = Fraction(2)) -> str:
    r"""$\hat a^+ = (1 - 2\eta\|\bar b\|^2)a + 2\eta\langle\bar b^*, \bar b\rangle a^*$, as (261) writes its length.

    P is linear and $Pa^* = 0$, so $P\hat a^+ = (1 - 2\eta\|\bar b\|^2)Pa$: over the length (257) and (258), where
    a third term with or without the factor $2\eta$ is 0. Its norm, with $\delta_{t+1} = \|Pa^{t+1}\|$ and $\delta_t =
    \|Pa^t\|$, is (259) and (260), with equality.
    """
    after, squares = step(factor)
    written = plus((1, A), (-2 * ETA * squares, A), (2 * ETA * inner(MEAN, plus((COSINE, MEAN))), TRUTH))
    require(same_vector(after, written), "the step")
    require(not across(TRUTH), "P a* is not 0")
    require(same_vector(across(after), plus((1 - 2 * ETA * squares, across(A)))), "(258)")
    return "we write the part of the step orthogonal to $a^*$ as a combination of vectors"


@proof("rolora/eq-263")
def eq_263(four: Fraction = Fraction(4), cross: Fraction = Fraction(4), sign: int = 1, power: int = 2) -> str:
    r"""With $\bar b = x\bar b^*$ and $\beta = \|\bar b\|^2 = x^2G$: $\langle\bar b^*, \bar b\rangle^2 = \beta G$.

    (264), (265): the square of $(1 - 2\eta\beta)a + 2\eta xGa^*$ for unit vectors a and $a^*$ with $a^\top a^* = x$.
    It is $(1 - 2\eta\beta)^2 + 4\eta^2\beta G + 4\eta(1 - 2\eta\beta)\beta = 1 + 4\eta^2\beta(G - \beta)$, (267). $G -
    \beta = (1 - x^2)G \ge 0$ gives (268).
    """
    after, squares = step(2)
    along = COSINE * MEAN_SQUARED
    written = (1 - 2 * ETA * squares) ** 2 + four * ETA**2 * along**power
    written += cross * ETA * (1 - 2 * ETA * squares) * COSINE * along
    require(same(inner(after, after), written), "(265)")
    last = 1 + sign * four * ETA**2 * squares * (MEAN_SQUARED - squares)
    require(same(written, last), "(267)")
    rest = sympy.Symbol("rest", nonnegative=True)
    excess = sympy.expand(last - 1).subs(COSINE**2, 1 / (1 + rest)) * (1 + rest) ** 2
    require(non_negative(sympy.cancel(excess)), "(268)")
    return "we write the squared length of the step in inner products and use a sign"


@proof("rolora/eq-270")
def eq_270(factor: Fraction = Fraction(2), longest: Fraction = Fraction(1, 2)) -> str:
    r"""$\|\bar b\|^2 = c^2\|\bar b^*\|^2 \le L_{max}^2$, so $2\eta\|\bar b\|^2 \le 2\eta L_{max}^2 \le 1$.

    Hence $C \le |1 - 2\eta\|\bar b\|^2| = 1 - 2\eta\|\bar b\|^2$ by (269), (270); $\bar b = c\bar b^*$ is (271), $c^2
    = 1 - (\delta^t)^2$ is (272), and $\delta^t \le \delta^0$ gives (273). With $s = \eta\|\bar b^*\|^2 \le \frac12$
    the whole is the statement on sines below.
    """
    at_least(2, factor=factor)
    at_least(Fraction(1, 2), longest=longest)
    sines_decrease(factor, longest)
    return "the signs of coefficients give the three inequalities"
