"""Replays of the claims in ``truncation_steps``: one client, one step, 2 x 2, loss |W - B|^2 / 2, in fractions.

The gradients of U and V leave the spans of U and V, so that the wide bases span everything and both projections are the
identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions, square

Matrix = list[list[Fraction]]
TRUNCATED = {
    "vector": "first singular vector of the model before truncation",
    "kept": "its first singular value",
    "tail": "its second singular value",
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
        """The set-up: factors of the start, the global loss L, its smoothness L."""
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
    """The round up to the truncation."""
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
    """Inner product of matrices."""
    return sum(
        (a * b for row, beside in zip(one, other, strict=True) for a, b in zip(row, beside, strict=True)), Fraction(0)
    )


def minus(one: Matrix, other: Matrix) -> Matrix:
    """Difference."""
    return [[one[i][j] - other[i][j] for j in range(2)] for i in range(2)]


def truncated(values: Values, at: Step) -> tuple[Matrix, Fraction, tuple[Hypothesis, ...]]:
    """The model cut to rank 1, the threshold, and what is assumed, of the step as well.

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


@replay("fedlrt/eq-32")
def eq_32_as_printed(values: Values) -> Violation:
    """The printed right side W - lambda F against the model after a step."""
    at = one_step(values)
    printed = [[at.W[i][j] - at.rate * at.F[i][j] for j in range(2)] for i in range(2)]
    apart = minus(at.star, printed)
    return Violation(
        inner(apart, apart),
        Fraction(0),
        assumes=at.assumes,
        given=at.given,
        reads="one client, one step, L = |W - B|^2/2: squared distance of the two sides",
    )


@replay("fedlrt/thm-7-clients")
def thm_7_clients_as_printed(values: Values) -> Violation:
    """Clients with |W - B_c|^2 / 2 from W = e1 e1', corrected: the first client's end against the printed member.

    Its last term has no factor s there, and both terms the sign of F = +gradient; with the signs put right the factor
    alone sets the sides apart.
    """
    targets = [square(B, 2) for B in values["targets"]]
    rate, steps = Fraction(values["step"]), int(values["steps"])
    W = [[Fraction(int(i == j == 0)) for j in range(2)] for i in range(2)]
    mean = [[sum((B[i][j] for B in targets), Fraction(0)) / len(targets) - W[i][j] for j in range(2)] for i in range(2)]
    away = minus(mean, minus(targets[0], W))  # F - F_c at the start
    point, walked = W, [[Fraction(0)] * 2 for _ in range(2)]
    for _ in range(steps):
        force = minus(targets[0], point)
        walked = [[walked[i][j] + force[i][j] for j in range(2)] for i in range(2)]
        point = [[point[i][j] + rate * (force[i][j] + away[i][j]) for j in range(2)] for i in range(2)]
    printed, signed = (
        [[W[i][j] + sign * rate * (walked[i][j] + away[i][j]) for j in range(2)] for i in range(2)] for sign in (-1, 1)
    )
    apart, left = minus(point, printed), minus(point, signed)
    assumes = (
        Hypothesis("gradient of U across U", mean[1][0], "!=", 0),
        Hypothesis("gradient of V across V", mean[0][1], "!=", 0),
        Hypothesis("lambda", rate, ">", 0),
        Hypothesis("12 s lambda L", 12 * steps * rate, "<=", 1),
        Hypothesis("squared distance with the signs put right, by the factor s", inner(left, left), ">", 0),
    )
    return Violation(
        inner(apart, apart),
        Fraction(0),
        assumes=assumes,
        given={"U": [1, 0], "V": [1, 0], "S": 1, "clients": len(targets), "F - F_c of the first": away},
        reads="clients with losses |W - B_c|^2/2, which the targets B_c are: squared distance of the first one's end "
        "from the printed last member",
    )


@replay("fedlrt/thm-7-first-term-lines")
def thm_7_first_term_lines_as_printed(values: Values) -> Violation:
    """Columns of F against rows of the transposed wide basis V, in the printed product of the fourth equality."""
    n, columns = int(values["n"]), int(values["columns"])
    return Violation(
        n,
        columns,
        assumes=[
            Hypothesis("columns of V, 2r", columns, ">=", 2),
            Hypothesis("columns of V, even", columns % 2, "=", 0),
        ],
        reads="columns of F, n, against rows of the transpose of the wide basis V, 2r, which must be as many",
    )


@replay("fedlrt/eq-33")
def eq_33_as_printed(values: Values) -> Violation:
    """The middle and the last expression of the printed line."""
    at = one_step(values)
    moved = minus(at.star, at.W)
    way = [[at.rate * at.F[i][j] for j in range(2)] for i in range(2)]
    middle = inner(moved, at.F) + inner(moved, moved) / 2
    last = -inner(way, at.F) + inner(way, way) / 2
    return Violation(
        abs(middle - last),
        Fraction(0),
        assumes=at.assumes,
        given=at.given,
        reads="one client, one step, L = |W - B|^2/2: distance of the two expressions",
    )


@replay("fedlrt/eq-36", **TRUNCATED)
def eq_36_as_printed(values: Values) -> Violation:
    """The rise of the loss by the truncation to rank 1, against the threshold (L = 1)."""
    at = one_step(values)
    end, theta, assumes = truncated(values, at)
    after, before = minus(end, at.B), minus(at.star, at.B)
    rise = (inner(after, after) - inner(before, before)) / 2
    return Violation(
        rise,
        theta,
        assumes=assumes,
        given=at.given,
        reads="one client, one step, L = |W - B|^2/2: rise of the loss by truncation, against L theta",
    )
