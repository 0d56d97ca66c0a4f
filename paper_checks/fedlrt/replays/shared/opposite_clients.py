"""One round of Algorithm 5 for two opposite clients with a loss in 2 x 2, in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from paper_checks.replay import Hypothesis
from paper_checks.stored_values import Values, followed, fractions, square

LOSSES = (
    "with two clients, L = 1, rank 1 and the losses ±(P w11 + Q w22 + w11 w22) + <slope, w>, where P = apart_inside, "
    "Q = apart_outside and w = W - S e1 e1^T is the change from the start"
)

Entries = list[Fraction]
"""w11, w12, w21, w22 of a 2 x 2 matrix."""


def inner(one: Entries, other: Entries) -> Fraction:
    """Return the inner product."""
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


@dataclass(frozen=True)
class Opposite:
    """A round of two clients from ``start e1 e1'``, in the displacement w from there; rank 1, L = 1.

    The loss of client c is ``sign (P w11 + Q w22 + w11 w22) + <slope, w>``. Its second derivative has the eigenvalues
    1, -1, 0, 0. The gradients in U and V, ``start`` times the first column and row of the slope, leave the span of e1,
    so that the augmented bases are all of the space and the augmented coefficients the entries of W, up to sign.

    Attributes:
        moved: the server's displacement before truncation.
        slope: the global gradient, the same everywhere.
        square: its squared norm.
        whole: s lambda.
        rate: lambda.
        delta: of Assumption 1.
        theta: the threshold.
        assumes: what is assumed, each with its value and its bound.
        start: S.
        P: part of the clients' losses that is apart inside the block.
        Q: outside of it.
    """

    moved: Entries
    slope: Entries
    square: Fraction
    whole: Fraction
    rate: Fraction
    delta: Fraction
    theta: Fraction
    assumes: tuple[Hypothesis, ...]
    start: Fraction
    P: Fraction
    Q: Fraction

    @property
    def given(self) -> dict[str, object]:
        """Read the set-up."""
        parts = f"({self.P} w11 + {self.Q} w22 + w11 w22)"
        return {
            "U": [1, 0],
            "V": [1, 0],
            "S": self.start,
            "clients": 2,
            "loss of client 1 in w = W - S e1 e1'": f"{parts} + <slope, w>",
            "loss of client 2": f"-{parts} + <slope, w>",
            "global loss L(W)": "<slope, w>",
            "smoothness L": 1,
            "slope": [self.slope[:2], self.slope[2:]],
            "w before truncation": [self.moved[:2], self.moved[2:]],
        }

    @property
    def change(self) -> Fraction:
        """Return the change of the global loss, which is linear."""
        return inner(self.slope, self.moved)


def entries(matrix: list[list[str]]) -> Entries:
    """Return the four entries of a stored matrix."""
    return [entry for row in square(matrix, 2) for entry in row]


def follow_opposite(values: Values) -> Opposite:
    """Follow Algorithm 5 and check Assumption 1 at every step of every client."""
    start, size, delta, rate, theta = fractions(values, "start", "norm", "delta", "step", "theta")
    P, Q = fractions(values, "apart_inside", "apart_outside")
    slope, steps = entries(values["slope"]), followed(values, "steps")
    assumes = [
        Hypothesis("squared norm of the gradient", inner(slope, slope), "=", size**2),
        Hypothesis("norm of the gradient", size, ">", 0),
        Hypothesis("S, which is start", start, ">", 0),
        Hypothesis("gradient of V across V", start * slope[1], "!=", 0),
        Hypothesis("gradient of U across U", start * slope[2], "!=", 0),
        Hypothesis("lambda", rate, ">", 0),
        Hypothesis("12 s lambda L", 12 * rate * steps, "<=", 1),
        Hypothesis("delta", delta, ">", 0),
        Hypothesis("delta, for delta << 1", delta, "<=", Fraction(1, 10)),
        Hypothesis("(14), global loss: gradient minus its block", size - abs(slope[0]), "<", delta * size),
    ]
    ends = []
    for client, sign in enumerate((1, -1), 1):
        w, correction = [Fraction(0)] * 4, -sign * P
        for step in range(1, steps + 1):
            turn = [P + w[3], Fraction(0), Fraction(0), Q + w[0]]
            own = [sign * t + s for t, s in zip(turn, slope, strict=True)]
            # sqrt(a^2 + b^2) < |a| + c  if and only if  b^2 < 2 |a| c + c^2
            name, c = f"(14), client {client}, step {step}: squared gradient outside the block", delta * size
            assumes.append(Hypothesis(name, inner(own[1:], own[1:]), "<", 2 * abs(own[0]) * c + c**2))
            w = [a - rate * (b + (correction if i == 0 else 0)) for i, (a, b) in enumerate(zip(w, own, strict=True))]
        ends.append(w)
    moved = [(a + b) / 2 for a, b in zip(*ends, strict=True)]
    W = [start + moved[0], *moved[1:]]
    # The product of the singular values is above theta times the larger one at least.
    assumes.append(Hypothesis("theta", theta, ">", 0))
    name = "nothing is cut: squared determinant of W before truncation"
    assumes.append(Hypothesis(name, (W[0] * W[3] - W[1] * W[2]) ** 2, ">", theta**2 * inner(W, W)))
    return Opposite(moved, slope, size**2, steps * rate, rate, delta, theta, tuple(assumes), start, P, Q)
