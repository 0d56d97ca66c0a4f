"""Theorem A.14: convergence with different clients, and its proof (eqs. (286) to (297)).

Setting: `shared.clients_and_minimisers`.

Setting: `shared.tangent_map`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import Violation, proof, replay, require
from paper_checks.rolora.replays.sec_a_5 import end
from paper_checks.rolora.replays.shared.clients_and_minimisers import MINIMISER, across, square
from paper_checks.rolora.replays.shared.iterations import iteration_count
from paper_checks.rolora.replays.shared.logarithms import bounds_of_logarithms
from paper_checks.rolora.replays.shared.rank_one import COSINE, MEAN, MEAN_SQUARED, TRUTH, A, inner, minus, plus, same
from paper_checks.rolora.replays.shared.tangent_map import (
    at_least,
    at_most,
    ratio,
    s,
    sines_decrease,
    tangents_decrease,
    u,
)
from paper_checks.stored_values import Values


@replay("rolora/thm-A.14")
def thm_A_14_as_printed(values: Values) -> Violation:
    """Evaluate the sine after as many iterations."""
    square, wanted, assumes = end(values)
    return Violation(
        square,
        wanted,
        assumes=assumes,
        reads="with L_max = ||mean b*|| = 1, s = step = eta and epsilon = quotient delta_0, each of T iterations "
        "changes u to u (1 - 2s(1 - u))^2/(1 + 4s^2 u(1 - u)), from u_0 = delta_0^2. The theorem requires T to be at "
        "least log(1/quotient)/(c (1 - u_0)). We compare u_T with epsilon^2",
    )


def no_larger_constant(factor: Fraction) -> None:
    r"""No larger constant than $2s$ is enough for short steps and $\epsilon$ near $\delta_0$.

    The logarithm of the tangent falls by $2s(1 + o(1))$ in an iteration as s tends to 0, and has to fall by
    $\ell/(1 - \delta_0^2)(1 + o(1))$ as $\ell = \log(\delta_0/\epsilon)$ tends to 0, its slope in $\log\epsilon$.
    """
    e = sympy.Symbol("e", positive=True)
    slope = e * (sympy.log(e) - sympy.log(1 - e**2) / 2).diff(e)
    falls = sympy.limit(-sympy.log(ratio(s, u)) / s, s, 0)
    require(sympy.simplify(slope - 1 / (1 - e**2)) == 0 == falls - factor, "the best constant")


@proof("rolora/thm-A.14")
def thm_A_14(
    factor: Fraction = Fraction(2),
    longest: Fraction = Fraction(1, 2),
    lead: Fraction = Fraction(2),
    pull: Fraction = Fraction(1),
) -> str:
    r"""Both numbers of iterations are enough, for $0 < s \le \frac12$, $0 < \delta_0 < 1$, $0 < \epsilon \le \delta_0$.

    The sine never grows, so Lemma A.16 applies at every iteration: $\delta_T \le \delta_0(1 - y)^T$ with $y = 2s(1
    - \delta_0^2)$, and $(1 - y)^T \le e^{-yT} \le \epsilon/\delta_0$. The logarithm of the tangent falls in every
    iteration by at least $2s/(1 - s + 2s\delta_0^2)$, so after as many as stated the tangent is at most the
    tangent of $\epsilon$. For short steps and $\epsilon$ near $\delta_0$ no constant above 2 works. The second
    inequality of the theorem is $\|\bar b^*\|$ times the first (eq. (293)).
    """
    at_least(2, factor=factor, lead=lead)
    at_least(Fraction(1, 2), longest=longest)
    at_least(1, pull=pull)
    sines_decrease(factor, longest)
    tangents_decrease(lead, pull, longest)
    no_larger_constant(factor)
    return (
        r"we use Lemma A.16 with $(1-y)^T \le e^{-yT}$, the exact factor of the tangent, $1 - \frac{2s}{1 + 2su}$, "
        r"with $\operatorname{artanh} z \ge z$, and its limit for short steps"
    )


@proof("rolora/thm-A.14@c-of-lemma-a-16")
def thm_A_14_tied(factor: Fraction = Fraction(2), longest: Fraction = Fraction(1, 2)) -> str:
    r"""For $c \le y/(1 - \delta_0^2)$, $y = 2s(1 - \delta_0^2)$: $(1 - y)^T \le e^{-yT} \le \epsilon/\delta_0$."""
    at_least(2, factor=factor)
    at_least(Fraction(1, 2), longest=longest)
    sines_decrease(factor, longest)
    return r"we apply Lemma A.16 in every iteration, with $(1-y)^T \le e^{-yT}$"


@replay("rolora/eq-286")
def eq_286_as_printed(values: Values) -> Violation:
    """Evaluate both quotients in intervals; the printed order is exact > simple."""
    return iteration_count(values)


@proof("rolora/eq-286")
def eq_286(size: Fraction = Fraction(1)) -> str:
    r"""$\log(1-y) < -y < 0$, so $-1/\log(1-y) < 1/y$; times $-\log(\epsilon/\delta_0) > 0$.

    The lines before it: the logarithm is increasing, and division by $\log(1-y) < 0$ turns the inequality round.
    """
    at_most(1, size=size)
    bounds_of_logarithms()
    require(size >= 1, "near y = 0 the quotients agree, so the size is needed")
    return r"$-\log(1-y) - y$ vanishes at 0 and has the derivative $y/(1-y)$"


@proof("rolora/eq-293")
def eq_293(size: Fraction = Fraction(1)) -> str:
    r"""$b^{T+1} = x\bar b^*$ with $x = a^{*\top}a^T$, so $a^T(b^{T+1})^\top = a^T(a^T)^\top a^*\bar b^{*\top}$.

    That is (293) and (294). (295) is the norm of rank one, and $\|(I_d - a^T(a^T)^\top)a^*\|^2 = 1 - x^2 = \delta_T^2$.
    (296) is the assumption $\delta_T \le \epsilon$, (297) $\|a^*\| = 1$.
    """
    at_most(1, size=size)
    apart = square(minus([(A, plus((COSINE, MEAN)))], MINIMISER))
    side = plus((1, TRUTH), (-COSINE, A))
    require(same(apart, inner(side, side) * MEAN_SQUARED), "(294), (295)")
    require(same(inner(side, side), inner(across(A), across(A))), "the sine from either side")
    delta_squared, more = sympy.symbols("delta2 more", nonnegative=True)
    require(non_negative((size**2 * (delta_squared + more) - delta_squared) * MEAN_SQUARED), "(296)")
    require(same(square(MINIMISER), MEAN_SQUARED), "(297)")
    return "we square identities in inner products"
