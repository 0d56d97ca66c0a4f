"""Replays of the claims in ``simplified``, in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@dataclass(frozen=True)
class Opposite:
    """A round of two clients from ``start e1 e1'``; p and q are the entries (1, 1) and (2, 2), from the start on.

    The loss of client c is ``sign (P p + Q q + curvature q^2 / 2) + inside p + outside q``, so that L is the curvature
    and the global loss ``inside p + outside q``. The gradients in U and V are multiples of e1 and 2r = n = 2, so that
    the second columns are e2 or -e2 and the wide coefficients are the entries of W, up to sign.

    Attributes:
        p: both clients' moves inside the block.
        q: both clients' moves outside.
        change: of the global loss.
        square: of its gradient.
        whole: s lambda.
        rate: lambda.
        delta: of Assumption 1.
        theta: the threshold.
        unmet: what is not met.
    """

    p: list[Fraction]
    q: list[Fraction]
    change: Fraction
    square: Fraction
    whole: Fraction
    rate: Fraction
    delta: Fraction
    theta: Fraction
    unmet: str


def opposite(values: Values) -> Opposite:
    """Follows Algorithm 5 and checks Assumption 1 at every step of every client."""
    start, inside, outside, size, delta, rate, theta = fractions(
        values, "start", "inside", "outside", "norm", "delta", "step", "theta"
    )
    P, Q, curvature = fractions(values, "apart_inside", "apart_outside", "curvature")
    steps, unmet = int(values["steps"]), []
    if not (inside**2 + outside**2 == size**2 and size > 0 and start > 0 and inside > 0 and curvature == 1):
        unmet.append("the norm of the gradient, L = 1")
    if not (0 < rate * 12 * steps <= 1 and 0 < delta <= Fraction(1, 10)):
        unmet.append("0 < lambda <= 1/(12 L s), delta << 1")
    if not size - inside < delta * size:
        unmet.append("(14) for the global loss")
    ends_p, ends_q = [], []
    for sign in (1, -1):
        p = q = Fraction(0)
        correction = inside - (sign * P + inside)
        for _ in range(steps):
            own_p, own_q = sign * P + inside, sign * (Q + curvature * q) + outside
            # sqrt(a^2 + b^2) < |a| + c  if and only if  a^2 + b^2 < (|a| + c)^2
            if not own_p**2 + own_q**2 < (abs(own_p) + delta * size) ** 2:
                unmet.append("(14) for a client")
            p, q = p - rate * (own_p + correction), q - rate * own_q
        ends_p.append(p)
        ends_q.append(q)
    p, q = sum(ends_p, Fraction(0)) / 2, sum(ends_q, Fraction(0)) / 2
    if not min(abs(start + p), abs(q)) > theta > 0:
        unmet.append("nothing is truncated")
    return Opposite(ends_p, ends_q, inside * p + outside * q, size**2, steps * rate, rate, delta, theta,
                    "; ".join(dict.fromkeys(unmet)))  # fmt: skip


@replay("fedlrt/assumption-1")
def assumption_1(values: Values) -> Violation:
    """The part outside the block against delta times the norm of the gradient, G = L at the start."""
    inside, outside, size, delta = fractions(values, "inside", "outside", "norm", "delta")
    unmet = "" if inside**2 + outside**2 == size**2 and size - inside < delta * size else "(14)"
    return Violation(outside, delta * size, unmet=unmet or ("" if delta <= Fraction(1, 10) else "delta << 1"),
                     reads="gradient outside the block, against delta times the gradient")  # fmt: skip


@replay("fedlrt/thm-4")
def thm_4(values: Values) -> Violation:
    """Change of the loss in the round against the printed bound."""
    at = opposite(values)
    bracket = 1 - at.delta**2 - 12 * at.whole + at.delta**2 * at.whole
    return Violation(at.change, -at.whole * bracket * at.square + at.theta, unmet=at.unmet,
                     reads="change of the loss, against the printed bound")  # fmt: skip


@replay("fedlrt/cor-1")
def cor_1(values: Values) -> Violation:
    """T = 1, L = 1."""
    at = opposite(values)
    unmet = at.unmet or ("" if at.whole * (12 + at.delta**2) <= 1 else "the learning rate of the corollary")
    return Violation(at.square, 96 * -at.change + 96 * at.theta, unmet=unmet,
                     reads="squared gradient, against the printed bound")  # fmt: skip


@replay("fedlrt/cor-2-proof")
def cor_2_proof(values: Values) -> Violation:
    """1 / (96 L) against the rate times the bracket of Theorem 4."""
    L, delta = fractions(values, "L", "delta")
    whole = 1 / (12 * L + delta**2)
    bracket = 1 - delta**2 - 12 * whole * L + delta**2 * whole
    unmet = "" if L > 0 and 0 < delta <= Fraction(1, 10) else "L > 0, 0 < delta << 1"
    return Violation(1 / (96 * L), whole * bracket, unmet=unmet,
                     reads="what is needed, against the learning rate times the bracket")  # fmt: skip
