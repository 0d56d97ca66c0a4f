r"""Proofs for different clients under the population loss: what the iteration does, and what the losses are.

All identities are between inner products (`rank_one`), so that they hold for any number of clients, any dimensions and
any $b_i^*$. x is the cosine between a and $a^*$, $G = \|\bar b^*\|^2$.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from paper_checks.proof_steps import non_negative, rational
from paper_checks.replay import Proof, proof
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
from paper_checks.rolora.replays.rate_proofs import flaw_of_tangents, weaker
from paper_checks.stored_values import Values

ETA = sympy.Symbol("eta", positive=True)
CLIENT: Model = [(TRUTH, OWN)]
MINIMISER: Model = [(TRUTH, MEAN)]
SINE_SQUARED = 1 - COSINE**2


def first(*checks: tuple[str, bool]) -> str:
    """The name of the first check that fails; empty if none does."""
    return next((name for name, passed in checks if not passed), "")


def square(model: Model) -> Any:
    """Squared Frobenius norm."""
    return frobenius(model, model)


def loss(a: Vector, b: Vector) -> Any:
    """The global population loss, a mean over the clients."""
    return over_clients(square(minus(CLIENT, [(a, b)])))


def minimiser_checks() -> tuple[tuple[str, bool], ...]:
    r"""At a unit a the client's loss is $\|b_i^*\|^2(1 - x^2) + \|b - xb_i^*\|^2$: the minimiser is $xb_i^*$."""
    own = square(minus(CLIENT, [(A, B)]))
    off = plus((1, B), (-COSINE, OWN))
    return (
        ("the client's loss is not a completed square", same(own, OWN_SQUARED * SINE_SQUARED + inner(off, off))),
        ("the squared sine is not 1 - x^2", same(inner(_across(A), _across(A)), SINE_SQUARED)),
    )


def _across(vector: Vector) -> Vector:
    """The part of a vector that is orthogonal to a*."""
    return plus((1, vector), (-inner(vector, TRUTH), TRUTH))


@proof("rolora/a5-minimiser", excess="1", least="1")
def a5_minimiser(values: Values) -> Proof:
    r"""Two completed squares.

    For any $a', b'$ the loss is $\gamma^2 + \|a'b'^\top - a^*\bar b^{*\top}\|^2$. For a unit $a'$ the second term is
    $G(1 - x^2) + \|b' - x\bar b^*\|^2$ with $|x| \le 1$. It is 0 if and only if $b' = x\bar b^*$ and, unless
    $\bar b^* = 0$, $x^2 = 1$, which for unit vectors is $a' = \pm a^*$; so $b' = \pm\bar b^*$ with the same sign. Any
    $a'$ of a minimiser is a unit vector times a number c, which $b'$ is divided by; with $\bar b^* = 0$ the product
    $a'b'^\top$ is 0, and so is one of the two.
    """
    excess, least = rational(values["excess"]), rational(values["least"])
    off, rest = minus([(A, B)], MINIMISER), plus((1, B), (-COSINE, MEAN))
    spread = plus((1, OWN), (-1, MEAN))
    flaw = first(
        ("gamma^2", same(over_clients(inner(spread, spread)), GAMMA_SQUARED)),
        ("the loss", sympy.expand(loss(A, B) - least * GAMMA_SQUARED - excess * square(off)) == 0),
        ("the second square", same(square(off), MEAN_SQUARED * SINE_SQUARED + inner(rest, rest))),
    )
    return Proof(not flaw, flaw or "two completed squares, identities in inner products")


@proof("rolora/lem-A.15", factor="2", mean_power="1")
def lem_A_15(values: Values) -> Proof:
    r"""At a unit a the client's loss is a completed square in b, least at $b = xb_i^*$ with $x = a^\top a^*$.

    The server's mean of these is $x\bar b^*$ with $\bar b^* = \frac1N\sum_ib_i^*$. The gradient in a at this mean is
    $2(a\|b\|^2 - a^*\langle b_i^*, b\rangle)$ for a client, and with $\bar b^*$ for $b_i^*$ for the mean of the
    clients, because it is linear in $b_i^*$.
    """
    return eq_249_steps(values)


@proof("rolora/eq-249", factor="2", mean_power="1")
def eq_249(values: Values) -> Proof:
    r"""The client's minimiser, its mean over the clients, and the gradients in a.

    The minimiser is seen by a completed square, and the gradients are the coefficient of t in the loss at $a + th$, for
    every direction h.
    """
    return eq_249_steps(values)


def eq_249_steps(values: Mapping[str, Any]) -> Proof:
    r"""The client's minimiser, its mean, its gradient along every direction h, and the mean of the gradients.

    The loss at $a + th$ has the coefficient $\langle h, 2(a\|b\|^2 - a^*\langle b_i^*, b\rangle)\rangle$ of t. With
    $\bar b^* = N^{-p}\sum b_i^*$ the mean of the $xb_i^*$ is $x\bar b^*$ for all N only if p = 1.
    """
    factor, power = rational(values["factor"]), rational(values["mean_power"])
    N, t = sympy.symbols("N t", positive=True)
    moved = square(minus(CLIENT, [(plus((1, A), (t, H)), B)]))
    slope = plus((factor * inner(B, B), A), (-factor * inner(OWN, B), TRUTH))
    mean_slope = plus((factor * inner(B, B), A), (-factor * inner(MEAN, B), TRUTH))
    flaw = first(
        *minimiser_checks(),
        ("the mean", sympy.simplify(N * N ** (-power) - 1) == 0),
        ("the client's gradient", sympy.expand(moved.coeff(t, 1) - inner(slope, H)) == 0),
        ("the mean gradient", sympy.expand(over_clients(inner(slope, H)) - inner(mean_slope, H)) == 0),
    )
    return Proof(
        not flaw,
        flaw or "a completed square, the gradient along every direction, and their means, for any number of clients",
    )


def step(factor: Any) -> tuple[Vector, Any]:
    r"""The step before it is normalised, at $b = x\bar b^*$, and $\|b\|^2$."""
    b = plus((COSINE, MEAN))
    B_squared = inner(b, b)
    return plus((1 - factor * ETA * B_squared, A), (factor * ETA * inner(MEAN, b), TRUTH)), B_squared


@proof("rolora/eq-255", factor="2")
def eq_255(values: Values) -> Proof:
    r"""$\hat a^+ = (1 - 2\eta\|\bar b\|^2)a + 2\eta\langle\bar b^*, \bar b\rangle a^*$, as (261) writes its length.

    P is linear and $Pa^* = 0$, so that $P\hat a^+ = (1 - 2\eta\|\bar b\|^2)Pa$: over the length (257) and (258), where
    a third term with or without the factor $2\eta$ is 0. Its norm, with $\delta_{t+1} = \|Pa^{t+1}\|$ and $\delta_t =
    \|Pa^t\|$, is (259) and (260), with equality.
    """
    factor = rational(values["factor"])
    after, squares = step(factor)
    written = plus((1, A), (-2 * ETA * squares, A), (2 * ETA * inner(MEAN, plus((COSINE, MEAN))), TRUTH))
    flaw = first(
        ("the step", same_vector(after, written)),
        ("P a* is not 0", not _across(TRUTH)),
        ("(258)", same_vector(_across(after), plus((1 - 2 * ETA * squares, _across(A))))),
    )
    return Proof(not flaw, flaw or r"the part of the step orthogonal to $a^*$, as a combination of vectors")


@proof("rolora/eq-263", four="4", cross="4", sign=1, power=2)
def eq_263(values: Values) -> Proof:
    r"""With $\bar b = x\bar b^*$ and $\beta = \|\bar b\|^2 = x^2G$: $\langle\bar b^*, \bar b\rangle^2 = \beta G$.

    (264), (265): the square of $(1 - 2\eta\beta)a + 2\eta xGa^*$ for unit vectors a and $a^*$ with $a^\top a^* = x$.
    It is $(1 - 2\eta\beta)^2 + 4\eta^2\beta G + 4\eta(1 - 2\eta\beta)\beta = 1 + 4\eta^2\beta(G - \beta)$, (267). $G -
    \beta = (1 - x^2)G \ge 0$ gives (268).
    """
    four, cross = rational(values["four"]), rational(values["cross"])
    after, squares = step(2)
    along = COSINE * MEAN_SQUARED
    written = (1 - 2 * ETA * squares) ** 2 + four * ETA**2 * along ** values["power"]
    written += cross * ETA * (1 - 2 * ETA * squares) * COSINE * along
    last = 1 + values["sign"] * four * ETA**2 * squares * (MEAN_SQUARED - squares)
    rest = sympy.Symbol("rest", nonnegative=True)
    excess = sympy.expand(last - 1).subs(COSINE**2, 1 / (1 + rest)) * (1 + rest) ** 2
    flaw = first(
        ("(265)", same(inner(after, after), written)),
        ("(267)", same(written, last)),
        ("(268)", non_negative(sympy.cancel(excess))),
    )
    return Proof(not flaw, flaw or "the squared length of the step in inner products, and a sign")


@proof("rolora/prop-A.17", share="1", spread="1")
def prop_A_17(values: Values) -> Proof:
    r"""The loss at $b = x\bar b^*$, the mean of the clients' minimisers $xb_i^*$ at $a^0$; $\delta_0^2 = 1 - x^2$."""
    share, spread = rational(values["share"]), rational(values["spread"])
    stated = spread * GAMMA_SQUARED + share * MEAN_SQUARED * SINE_SQUARED
    flaw = first(*minimiser_checks(), ("the loss", same(loss(A, plus((COSINE, MEAN))), stated)))
    return Proof(not flaw, flaw or "the clients' minimisers by a completed square, and the loss at their mean")


@proof("rolora/eq-274", cross="0", split="1", last="1")
def eq_274(values: Values) -> Proof:
    r"""(280) is the square of the sum of $a^*(b_i^* - \bar b^*)^\top$ and $a^*\bar b^{*\top} - a^0(b^{FFA})^\top$.

    The second does not depend on i and the first is 0 on average over the clients, so that the mean of the traces is 0:
    (281). With $b^{FFA} = \bar b^*a^{*\top}a^0$ of (275) and (276) the second is $(I_d - a^0a^{0\top})a^*\bar
    b^{*\top}$. Norms of rank one give $\|u(b_i^* - \bar b^*)^\top\| = \|b_i^* - \bar b^*\|$ for every unit vector u, a
    or $a^*$, (282) and (283), and $\|(I_d - a^0a^{0\top})a^*\|\|\bar b^*\|$, (284), whose first factor is $\delta_0$.
    (285) is Definition A.13.
    """
    cross, split, last = (rational(values[name]) for name in ("cross", "split", "last"))
    own, off = minus(CLIENT, MINIMISER), minus(MINIMISER, [(A, plus((COSINE, MEAN)))])
    spread = plus((1, OWN), (-1, MEAN))
    whole = over_clients(square(minus(CLIENT, [(A, plus((COSINE, MEAN)))])))
    side = plus((1, TRUTH), (-COSINE, A))
    flaw = first(
        *minimiser_checks(),
        ("(280)", same(whole, over_clients(square(own)) + split * square(off) + 2 * over_clients(frobenius(own, off)))),
        ("(281)", same(over_clients(frobenius(own, off)), cross)),
        ("(282)", same(over_clients(square(own)), over_clients(inner(A, A) * inner(spread, spread)))),
        ("(284)", same(square(off), inner(side, side) * MEAN_SQUARED)),
        ("(285)", same(whole, GAMMA_SQUARED + last * MEAN_SQUARED * SINE_SQUARED)),
    )
    return Proof(not flaw, flaw or "every line as an identity in inner products")


@proof("rolora/eq-293", size="1")
def eq_293(values: Values) -> Proof:
    r"""$b^{T+1} = x\bar b^*$ with $x = a^{*\top}a^T$, so that $a^T(b^{T+1})^\top = a^T(a^T)^\top a^*\bar b^{*\top}$.

    That is (293) and (294). (295) is the norm of rank one, and $\|(I_d - a^T(a^T)^\top)a^*\|^2 = 1 - x^2 = \delta_T^2$.
    (296) is the assumption $\delta_T \le \epsilon$, (297) $\|a^*\| = 1$.
    """
    size = rational(values["size"])
    apart = square(minus([(A, plus((COSINE, MEAN)))], MINIMISER))
    side = plus((1, TRUTH), (-COSINE, A))
    delta_squared, more = sympy.symbols("delta2 more", nonnegative=True)
    flaw = weaker(values, most="size=1") or first(
        ("(294), (295)", same(apart, inner(side, side) * MEAN_SQUARED)),
        ("the sine from either side", same(inner(side, side), inner(_across(A), _across(A)))),
        ("(296)", non_negative((size**2 * (delta_squared + more) - delta_squared) * MEAN_SQUARED)),
        ("(297)", same(square(MINIMISER), MEAN_SQUARED)),
    )
    return Proof(not flaw, flaw or "identities in inner products, squared")


@proof("rolora/a5-loss@at-recovery", share="1", spread="1")
def a5_loss(values: Values) -> Proof:
    r"""The loss at $(a^T, b^{T+1})$ is $\gamma^2 + G\delta_T^2$, and $\delta_T$ tends to 0.

    For $\eta\|\bar b^*\|^2 \in (0, \frac12]$; with $\bar b^* = 0$ the loss is $\gamma^2$ at once.
    """
    share, spread = rational(values["share"]), rational(values["spread"])
    reached = loss(A, plus((COSINE, MEAN)))
    delta_squared, more = sympy.symbols("delta2 more", nonnegative=True)
    bound = spread * GAMMA_SQUARED + share * MEAN_SQUARED * (delta_squared + more)
    at = sympy.expand(reached.subs(SQUARE_A, 1).subs(COSINE**2, 1 - delta_squared))
    flaw = (
        weaker(values, most="share=1 spread=1")
        or first(
            ("the loss", same(reached, GAMMA_SQUARED + MEAN_SQUARED * SINE_SQUARED)),
            ("the bound", COSINE not in at.free_symbols and non_negative(bound - at)),
        )
        or flaw_of_tangents(rational("2"), rational("1"), rational("1/2"))
    )
    return Proof(not flaw, flaw or r"the loss as an identity, and a tangent that decreases at least geometrically")
