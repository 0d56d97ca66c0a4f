"""Replays of the claims in ``convergence``, in fractions; singular vectors in decimals."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

from paper_checks.fedlrt.replays.truncation_steps import TRUNCATED, inner, minus, one_step, truncated
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions, square


@replay("fedlrt/thm-3", **TRUNCATED)
def thm_3_as_printed(values: Values) -> Violation:
    """T = 1, one client, one step at the rate of the proof, L = 1; the truncation keeps rank 1."""
    at = one_step(values)
    end, theta, assumes = truncated(values, at)
    assumes += (Hypothesis("learning rate of the proof", at.rate, "=", Fraction(1, 24)),)
    after = minus(end, at.B)
    square = inner(at.F, at.F)
    descent = (square - inner(after, after)) / 2
    return Violation(
        square,
        48 * descent + 48 * theta,
        assumes=assumes,
        given=at.given,
        reads="one client, one step, L = |W - B|^2/2, rank 1 to 1 in either reading of the truncation rule (if the "
        "tail begins after what is kept, also with theta = 6/5): squared gradient against the printed bound",
    )


@replay("fedlrt/thm-3@what-is-cut-for-the-threshold")
def thm_3_small_rate(values: Values) -> Violation:
    """T = 1, one client, one step at a small rate, L = 1; the model has rank two then, and nothing is cut."""
    at = one_step(values)
    after, star = minus(at.star, at.B), at.star
    square = inner(at.F, at.F)
    uncut = Hypothesis(
        "determinant of W before truncation, of which a small threshold cuts nothing",
        star[0][0] * star[1][1] - star[0][1] * star[1][0],
        "!=",
        0,
    )
    return Violation(
        square,
        24 * (square - inner(after, after)),
        assumes=(*at.assumes, uncut),
        given=at.given,
        reads="one client, one step, L = |W - B|^2/2, a threshold below the smaller singular value: squared gradient "
        "against 48 L times what the loss falls by",
    )


@replay("fedlrt/claim-thm3-text")
def claim_thm3_text_as_printed(values: Values) -> Violation:
    """W under |W - T|^2 / 2 from e1 e1', T = diag(matrix, 0, corner): the last rows and columns of W stay 0.

    While the first singular vector u is none of the matrix, in either of the spans, the gradients in U and V widen both
    bases to the first two coordinates and to nothing else; all matrices are symmetric. Decimals of 60 digits follow u.
    Every round is cut to rank 1, the least rank whose tail after it is within theta. T is the only stationary point.
    """
    (a, b), (c, d) = square(values["matrix"], 2)
    corner, rate, theta = fractions(values, "corner", "step", "theta")
    rounds = int(values["rounds"])
    assumes = [
        Hypothesis("upper right entry of the matrix", b, "=", c),
        Hypothesis("determinant of the matrix", a * d - b * c, "=", 0),
        Hypothesis("corner, the second direction of the solution", corner, ">", 0),
        Hypothesis("lambda L s", rate, ">", 0),
        Hypothesis("lambda L s", rate, "<=", Fraction(1, 12)),
        Hypothesis("rounds", rounds, ">=", 1),
    ]
    with localcontext(prec=60):
        T = [[Decimal(v.numerator) / v.denominator for v in row] for row in ((a, b), (c, d))]
        s, u, step = Decimal(1), (Decimal(1), Decimal(0)), Decimal(rate.numerator) / rate.denominator
        widened = lengths = kept = Decimal(1)
        cut = Decimal(0)
        for _ in range(rounds):
            gradient = (T[1][0] * u[0] + T[1][1] * u[1]) * u[0] - (T[0][0] * u[0] + T[0][1] * u[1]) * u[1]
            W = [[s * u[i] * u[j] for j in range(2)] for i in range(2)]
            W = [[W[i][j] - step * (W[i][j] - T[i][j]) for j in range(2)] for i in range(2)]
            middle, apart = (W[0][0] + W[1][1]) / 2, (((W[0][0] - W[1][1]) / 2) ** 2 + W[0][1] ** 2).sqrt()
            s, way = middle + apart, (W[0][1], middle + apart - W[0][0])  # the larger eigenvalue and its vector
            kept, cut = min(kept, s), max(cut, abs(middle - apart))
            length = (way[0] ** 2 + way[1] ** 2).sqrt()
            widened, lengths = min(widened, abs(gradient)), min(lengths, length)
            u = (way[0] / length, way[1] / length) if length else u
    # 60 digits of these numbers of order one are far more than 30 digits of their difference from 0.
    assumes.append(Hypothesis("least gradient across the basis", Fraction(widened), ">", Fraction(1, 10**30)))
    assumes.append(Hypothesis("least length of a singular vector", Fraction(lengths), ">", Fraction(1, 10**30)))
    assumes.append(Hypothesis("largest second singular value of a round, which is cut", Fraction(cut), "<", theta))
    assumes.append(Hypothesis("least first singular value of a round, which stays", Fraction(kept), ">", theta))
    return Violation(
        corner,
        theta,
        assumes=assumes,
        reads="loss |W - T|^2/2, T = diag(matrix, 0, corner), from e1 e1', every round cut to rank 1: "
        "distance from T, the only stationary point, at least the corner in every round, against "
        "theta",
    )
