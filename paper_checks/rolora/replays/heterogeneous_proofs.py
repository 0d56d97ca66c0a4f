r"""Proofs for different clients under the population loss: what the iteration does, and what the losses are.

All identities are between inner products (`rank_one`), so that they hold for any number of clients, any dimensions and
any $b_i^*$. x is the cosine between a and $a^*$, $G = \|\bar b^*\|^2$.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require
from paper_checks.rolora.replays.rank_one import (
    COSINE,
    GAMMA_SQUARED,
    MEAN,
    MEAN_SQUARED,
    OWN,
    OWN_SQUARED,
    SQUARE_A,
    TRUTH,
    A,
    B,
    H,
    Model,
    Vector,
    frobenius,
    inner,
    minus,
    over_clients,
    plus,
    same,
    same_vector,
)
from paper_checks.rolora.replays.rate_proofs import at_most, tangents_decrease

ETA = sympy.Symbol("eta", positive=True)
CLIENT: Model = [(TRUTH, OWN)]
MINIMISER: Model = [(TRUTH, MEAN)]
SINE_SQUARED = 1 - COSINE**2


def square(model: Model) -> Any:
    """Squared Frobenius norm."""
    return frobenius(model, model)


def loss(a: Vector, b: Vector) -> Any:
    """The global population loss, a mean over the clients."""
    return over_clients(square(minus(CLIENT, [(a, b)])))


def minimiser_of_a_client() -> None:
    r"""At a unit a the client's loss is $\|b_i^*\|^2(1 - x^2) + \|b - xb_i^*\|^2$: the minimiser is $xb_i^*$."""
    own = square(minus(CLIENT, [(A, B)]))
    off = plus((1, B), (-COSINE, OWN))
    completed = OWN_SQUARED * SINE_SQUARED + inner(off, off)
    require(same(own, completed), "the client's loss is not a completed square")
    require(same(inner(across(A), across(A)), SINE_SQUARED), "the squared sine is not 1 - x^2")


def across(vector: Vector) -> Vector:
    """The part of a vector that is orthogonal to a*."""
    return plus((1, vector), (-inner(vector, TRUTH), TRUTH))


@proof("rolora/a5-minimiser")
def a5_minimiser(excess: Fraction = Fraction(1), least: Fraction = Fraction(1)) -> str:
    r"""Two completed squares.

    For any $a', b'$ the loss is $\gamma^2 + \|a'b'^\top - a^*\bar b^{*\top}\|^2$. For a unit $a'$ the second term is
    $G(1 - x^2) + \|b' - x\bar b^*\|^2$ with $|x| \le 1$. It is 0 if and only if $b' = x\bar b^*$ and, unless
    $\bar b^* = 0$, $x^2 = 1$, which for unit vectors is $a' = \pm a^*$; so $b' = \pm\bar b^*$ with the same sign. Any
    $a'$ of a minimiser is a unit vector times a number c, which $b'$ is divided by; with $\bar b^* = 0$ the product
    $a'b'^\top$ is 0, and so is one of the two.
    """
    off, rest = minus([(A, B)], MINIMISER), plus((1, B), (-COSINE, MEAN))
    spread = plus((1, OWN), (-1, MEAN))
    require(same(over_clients(inner(spread, spread)), GAMMA_SQUARED), "gamma^2")
    require(sympy.expand(loss(A, B) - least * GAMMA_SQUARED - excess * square(off)) == 0, "the loss")
    require(same(square(off), MEAN_SQUARED * SINE_SQUARED + inner(rest, rest)), "the second square")
    return "two completed squares, identities in inner products"


@proof("rolora/lem-A.15")
def lem_A_15(factor: Fraction = Fraction(2), mean_power: Fraction = Fraction(1)) -> str:
    r"""At a unit a the client's loss is a completed square in b, least at $b = xb_i^*$ with $x = a^\top a^*$.

    The server's mean of these is $x\bar b^*$ with $\bar b^* = \frac1N\sum_ib_i^*$. The gradient in a at this mean is
    $2(a\|b\|^2 - a^*\langle b_i^*, b\rangle)$ for a client, and with $\bar b^*$ for $b_i^*$ for the mean of the
    clients, because it is linear in $b_i^*$.
    """
    return eq_249_steps(factor, mean_power)


@proof("rolora/eq-249")
def eq_249(factor: Fraction = Fraction(2), mean_power: Fraction = Fraction(1)) -> str:
    r"""The client's minimiser, its mean over the clients, and the gradients in a.

    The minimiser is seen by a completed square, and the gradients are the coefficient of t in the loss at $a + th$, for
    every direction h.
    """
    return eq_249_steps(factor, mean_power)


def eq_249_steps(factor: Fraction, mean_power: Fraction) -> str:
    r"""The client's minimiser, its mean, its gradient along every direction h, and the mean of the gradients.

    The loss at $a + th$ has the coefficient $\langle h, 2(a\|b\|^2 - a^*\langle b_i^*, b\rangle)\rangle$ of t. With
    $\bar b^* = N^{-p}\sum b_i^*$ the mean of the $xb_i^*$ is $x\bar b^*$ for all N only if p = 1.
    """
    minimiser_of_a_client()
    N, t = sympy.symbols("N t", positive=True)
    require(sympy.simplify(N * N ** (-mean_power) - 1) == 0, "the mean")
    moved = square(minus(CLIENT, [(plus((1, A), (t, H)), B)]))
    slope = plus((factor * inner(B, B), A), (-factor * inner(OWN, B), TRUTH))
    require(sympy.expand(moved.coeff(t, 1) - inner(slope, H)) == 0, "the client's gradient")
    mean_slope = plus((factor * inner(B, B), A), (-factor * inner(MEAN, B), TRUTH))
    require(sympy.expand(over_clients(inner(slope, H)) - inner(mean_slope, H)) == 0, "the mean gradient")
    return "a completed square, the gradient along every direction, and their means, for any number of clients"


def step(factor: Any) -> tuple[Vector, Any]:
    r"""The step before it is normalised, at $b = x\bar b^*$, and $\|b\|^2$."""
    b = plus((COSINE, MEAN))
    B_squared = inner(b, b)
    return plus((1 - factor * ETA * B_squared, A), (factor * ETA * inner(MEAN, b), TRUTH)), B_squared


@proof("rolora/eq-255")
def eq_255(factor: Fraction = Fraction(2)) -> str:
    r"""$\hat a^+ = (1 - 2\eta\|\bar b\|^2)a + 2\eta\langle\bar b^*, \bar b\rangle a^*$, as (261) writes its length.

    P is linear and $Pa^* = 0$, so that $P\hat a^+ = (1 - 2\eta\|\bar b\|^2)Pa$: over the length (257) and (258), where
    a third term with or without the factor $2\eta$ is 0. Its norm, with $\delta_{t+1} = \|Pa^{t+1}\|$ and $\delta_t =
    \|Pa^t\|$, is (259) and (260), with equality.
    """
    after, squares = step(factor)
    written = plus((1, A), (-2 * ETA * squares, A), (2 * ETA * inner(MEAN, plus((COSINE, MEAN))), TRUTH))
    require(same_vector(after, written), "the step")
    require(not across(TRUTH), "P a* is not 0")
    require(same_vector(across(after), plus((1 - 2 * ETA * squares, across(A)))), "(258)")
    return r"the part of the step orthogonal to $a^*$, as a combination of vectors"


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
    return "the squared length of the step in inner products, and a sign"


@proof("rolora/prop-A.17")
def prop_A_17(share: Fraction = Fraction(1), spread: Fraction = Fraction(1)) -> str:
    r"""The loss at $b = x\bar b^*$, the mean of the clients' minimisers $xb_i^*$ at $a^0$; $\delta_0^2 = 1 - x^2$."""
    minimiser_of_a_client()
    stated = spread * GAMMA_SQUARED + share * MEAN_SQUARED * SINE_SQUARED
    require(same(loss(A, plus((COSINE, MEAN))), stated), "the loss")
    return "the clients' minimisers by a completed square, and the loss at their mean"


@proof("rolora/eq-274")
def eq_274(cross: Fraction = Fraction(0), split: Fraction = Fraction(1), last: Fraction = Fraction(1)) -> str:
    r"""(280) is the square of the sum of $a^*(b_i^* - \bar b^*)^\top$ and $a^*\bar b^{*\top} - a^0(b^{FFA})^\top$.

    The second does not depend on i and the first is 0 on average over the clients, so that the mean of the traces is 0:
    (281). With $b^{FFA} = \bar b^*a^{*\top}a^0$ of (275) and (276) the second is $(I_d - a^0a^{0\top})a^*\bar
    b^{*\top}$. Norms of rank one give $\|u(b_i^* - \bar b^*)^\top\| = \|b_i^* - \bar b^*\|$ for every unit vector u, a
    or $a^*$, (282) and (283), and $\|(I_d - a^0a^{0\top})a^*\|\|\bar b^*\|$, (284), whose first factor is $\delta_0$.
    (285) is Definition A.13.
    """
    minimiser_of_a_client()
    own, off = minus(CLIENT, MINIMISER), minus(MINIMISER, [(A, plus((COSINE, MEAN)))])
    spread = plus((1, OWN), (-1, MEAN))
    whole = over_clients(square(minus(CLIENT, [(A, plus((COSINE, MEAN)))])))
    opened = over_clients(square(own)) + split * square(off) + 2 * over_clients(frobenius(own, off))
    require(same(whole, opened), "(280)")
    require(same(over_clients(frobenius(own, off)), cross), "(281)")
    require(same(over_clients(square(own)), over_clients(inner(A, A) * inner(spread, spread))), "(282)")
    side = plus((1, TRUTH), (-COSINE, A))
    require(same(square(off), inner(side, side) * MEAN_SQUARED), "(284)")
    require(same(whole, GAMMA_SQUARED + last * MEAN_SQUARED * SINE_SQUARED), "(285)")
    return "every line as an identity in inner products"


@proof("rolora/eq-293")
def eq_293(size: Fraction = Fraction(1)) -> str:
    r"""$b^{T+1} = x\bar b^*$ with $x = a^{*\top}a^T$, so that $a^T(b^{T+1})^\top = a^T(a^T)^\top a^*\bar b^{*\top}$.

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
    return "identities in inner products, squared"


@proof("rolora/a5-loss@at-recovery")
def a5_loss(share: Fraction = Fraction(1), spread: Fraction = Fraction(1)) -> str:
    r"""The loss at $(a^T, b^{T+1})$ is $\gamma^2 + G\delta_T^2$, and $\delta_T$ tends to 0.

    For $\eta\|\bar b^*\|^2 \in (0, \frac12]$; with $\bar b^* = 0$ the loss is $\gamma^2$ at once.
    """
    at_most(1, share=share, spread=spread)
    reached = loss(A, plus((COSINE, MEAN)))
    require(same(reached, GAMMA_SQUARED + MEAN_SQUARED * SINE_SQUARED), "the loss")
    delta_squared, more = sympy.symbols("delta2 more", nonnegative=True)
    bound = spread * GAMMA_SQUARED + share * MEAN_SQUARED * (delta_squared + more)
    at = sympy.expand(reached.subs(SQUARE_A, 1).subs(COSINE**2, 1 - delta_squared))
    require(COSINE not in at.free_symbols and non_negative(bound - at), "the bound")
    tangents_decrease(2, 1, Fraction(1, 2))
    return r"the loss as an identity, and a tangent that decreases at least geometrically"
