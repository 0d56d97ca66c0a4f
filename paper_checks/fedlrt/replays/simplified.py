"""Replays of the claims in ``simplified``, in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions

LOSSES = "two clients, L = 1, rank 1, losses ±(P w11 + Q w22 + w11 w22) + <slope, w>, P and Q the parts apart"
Entries = list[Fraction]
"""w11, w12, w21, w22 of a 2 x 2 matrix."""


@dataclass(frozen=True)
class Opposite:
    """A round of two clients from ``start e1 e1'``, in the displacement w from there; rank 1, L = 1.

    The loss of client c is ``sign (P w11 + Q w22 + w11 w22) + <slope, w>``. Its second derivative has the eigenvalues
    1, -1, 0, 0. The gradients in U and V, ``start`` times the first column and row of the slope, leave the span of e1,
    so that the wide bases are all of the space and the wide coefficients the entries of W, up to sign.

    Attributes:
        moved: the server's displacement before truncation.
        slope: the global gradient, the same everywhere.
        square: its squared norm.
        whole: s lambda.
        rate: lambda.
        delta: of Assumption 1.
        theta: the threshold.
        unmet: what is not met.
    """

    moved: Entries
    slope: Entries
    square: Fraction
    whole: Fraction
    rate: Fraction
    delta: Fraction
    theta: Fraction
    unmet: str

    @property
    def change(self) -> Fraction:
        """Of the global loss, which is linear."""
        return inner(self.slope, self.moved)


def inner(one: Entries, other: Entries) -> Fraction:
    """Inner product."""
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def entries(matrix: list[list[str]]) -> Entries:
    """The four entries of a stored matrix."""
    return [Fraction(value) for row in matrix for value in row]


def opposite(values: Values) -> Opposite:
    """Follows Algorithm 5 and checks Assumption 1 at every step of every client."""
    start, size, delta, rate, theta = fractions(values, "start", "norm", "delta", "step", "theta")
    P, Q = fractions(values, "apart_inside", "apart_outside")
    slope, steps, unmet = entries(values["slope"]), int(values["steps"]), []
    if not (inner(slope, slope) == size**2 and start > 0 and slope[1] and slope[2]):
        unmet.append("the norm of the gradient, and that it widens both bases")
    if not (0 < rate * 12 * steps <= 1 and 0 < delta <= Fraction(1, 10)):
        unmet.append("0 < lambda <= 1/(12 L s), delta << 1")
    if not size < abs(slope[0]) + delta * size:
        unmet.append("(14) for the global loss")
    ends = []
    for sign in (1, -1):
        w, correction = [Fraction(0)] * 4, -sign * P
        for _ in range(steps):
            turn = [P + w[3], Fraction(0), Fraction(0), Q + w[0]]
            own = [sign * t + s for t, s in zip(turn, slope, strict=True)]
            # sqrt(a^2 + b^2) < |a| + c  if and only if  a^2 + b^2 < (|a| + c)^2
            if not inner(own, own) < (abs(own[0]) + delta * size) ** 2:
                unmet.append("(14) for a client")
            w = [a - rate * (b + (correction if i == 0 else 0)) for i, (a, b) in enumerate(zip(w, own, strict=True))]
        ends.append(w)
    moved = [(a + b) / 2 for a, b in zip(*ends, strict=True)]
    W = [start + moved[0], *moved[1:]]
    if not (W[0] * W[3] - W[1] * W[2]) ** 2 > theta**2 * inner(W, W) > 0:  # the smallest singular value is above theta
        unmet.append("nothing is truncated")
    return Opposite(moved, slope, size**2, steps * rate, rate, delta, theta, "; ".join(dict.fromkeys(unmet)))


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
                     reads=f"{LOSSES}: change of the loss, against the printed bound")  # fmt: skip


@replay("fedlrt/cor-1")
def cor_1(values: Values) -> Violation:
    """T = 1, L = 1."""
    at = opposite(values)
    unmet = at.unmet or ("" if at.whole * (12 + at.delta**2) <= 1 else "the learning rate of the corollary")
    return Violation(at.square, 96 * -at.change + 96 * at.theta, unmet=unmet,
                     reads=f"{LOSSES}: squared gradient, against the printed bound")  # fmt: skip


@replay("fedlrt/cor-2-proof")
def cor_2_proof(values: Values) -> Violation:
    """1 / (96 L) against the rate times the bracket of Theorem 4."""
    L, delta = fractions(values, "L", "delta")
    whole = 1 / (12 * L + delta**2)
    bracket = 1 - delta**2 - 12 * whole * L + delta**2 * whole
    unmet = "" if L > 0 and 0 < delta <= Fraction(1, 10) else "L > 0, 0 < delta << 1"
    return Violation(1 / (96 * L), whole * bracket, unmet=unmet,
                     reads="what is needed, against the learning rate times the bracket")  # fmt: skip
