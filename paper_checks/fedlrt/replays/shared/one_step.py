"""One step of one client in fractions: 2 x 2, rank 1, loss |W - B|^2 / 2, up to the truncation.

The gradients of U and V leave the spans of U and V, so the augmented bases span everything and both projections are the
identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from paper_checks.replay import Hypothesis
from paper_checks.stored_values import Values, fractions, square

Matrix = list[list[Fraction]]

TRUNCATED = {
    "vector": "first singular vector of the model before truncation",
    "kept": "first singular value of that model",
    "tail": "second singular value of that model",
}

_PAIRS = [(i, j) for i in range(2) for j in range(2)]


@dataclass(frozen=True)
class Step:
    """Start, negative gradient there, model before truncation, learning rate, and what is assumed."""

    W: Matrix
    F: Matrix
    star: Matrix
    B: Matrix
    rate: Fraction
    assumes: tuple[Hypothesis, ...]

    @property
    def given(self) -> dict[str, object]:
        """Read the set-up: factors of the start, the global loss L, its smoothness L."""
        return {
            "U": [1, 0],
            "V": [1, 0],
            "S": self.W[0][0],
            "loss L(W)": "|W - B|^2/2",
            "smoothness L": 1,
            "B": self.B,
            "clients": 1,
            "local steps": 1,
            "W before truncation": self.star,
        }


def one_step(values: Values) -> Step:
    """Follow the round up to the truncation."""
    W, B = square(values["W"], 2), square(values["B"], 2)
    rate = Fraction(values["step"])
    F = [[B[i][j] - W[i][j] for j in range(2)] for i in range(2)]
    star = [[W[i][j] + rate * F[i][j] for j in range(2)] for i in range(2)]
    assumes = (
        Hypothesis("S, which is W_11", W[0][0], ">", 0),
        *(Hypothesis(f"W_{i + 1}{j + 1} of U S V'", W[i][j], "=", 0) for i, j in _PAIRS if i + j),
        Hypothesis("gradient of U across U", F[1][0], "!=", 0),
        Hypothesis("gradient of V across V", F[0][1], "!=", 0),
        Hypothesis("lambda", rate, ">", 0),
        Hypothesis("12 s lambda L", 12 * rate, "<=", 1),
    )
    return Step(W, F, star, B, rate, assumes)


def inner(one: Matrix, other: Matrix) -> Fraction:
    """Return the inner product of matrices."""
    return sum(
        (a * b for row, beside in zip(one, other, strict=True) for a, b in zip(row, beside, strict=True)), Fraction(0)
    )


def minus(one: Matrix, other: Matrix) -> Matrix:
    """Return the difference."""
    return [[one[i][j] - other[i][j] for j in range(2)] for i in range(2)]


def truncate(values: Values, at: Step) -> tuple[Matrix, Fraction, tuple[Hypothesis, ...]]:
    """Return the model cut to rank 1, the threshold, and what is assumed, of the step as well.

    Rank 1 is the least positive one, both with the tail after it and with the tail printed, from sigma_1 on.
    """
    theta, kept, tail = fractions(values, "theta", "kept", "tail")
    x, y = (Fraction(v) for v in values["vector"])
    vector, other = [x, y], [-y, x]
    spectral = [[kept * vector[i] * vector[j] + tail * other[i] * other[j] for j in range(2)] for i in range(2)]
    apart = minus(spectral, at.star)
    assumes = (
        *at.assumes,
        Hypothesis("squared length of the singular vector", inner([vector], [vector]), "=", 1),
        Hypothesis("squared distance of W from its singular values and vectors", inner(apart, apart), "=", 0),
        Hypothesis("second singular value", tail, ">", 0),
        Hypothesis("second singular value, against the first", tail, "<", kept),
        Hypothesis("tail after the first singular value, against theta", tail, "<", theta),
        Hypothesis(
            "squared tail with the first one, as printed, against squared theta", tail**2 + kept**2, "<", theta**2
        ),
    )
    return [[kept * vector[i] * vector[j] for j in range(2)] for i in range(2)], theta, assumes
