"""Replays of the claims in ``truncated_rounds``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


@replay("fedlrt/thm-2")
def thm_2(values: Values) -> Violation:
    r"""One client, one local step, 2 x 2, rank 1, loss $|W - B|^2/2$, so that L = 1 and the wide bases span everything.

    The bases are wide because the gradient of U leaves the span of U, and likewise for V.
    """
    (w, b, theta, step) = (values["W"], values["B"], Fraction(values["theta"]), Fraction(values["step"]))
    W, B = [[Fraction(v) for v in row] for row in w], [[Fraction(v) for v in row] for row in b]
    pairs = [(i, j) for i in range(2) for j in range(2)]
    G = [[W[i][j] - B[i][j] for j in range(2)] for i in range(2)]
    star = [[W[i][j] - step * G[i][j] for j in range(2)] for i in range(2)]
    vector, kept, tail = [Fraction(v) for v in values["vector"]], Fraction(values["kept"]), Fraction(values["tail"])
    other = [-vector[1], vector[0]]
    unmet = []
    if W[0][0] <= 0 or any(W[i][j] for i, j in pairs if i + j):
        unmet.append("the start is a positive multiple of e1 e1^T")
    if not G[1][0] or not G[0][1]:
        unmet.append("the gradients widen both bases")
    if not 0 < step <= Fraction(1, 12):
        unmet.append("0 < lambda <= 1/(12 L s)")
    spectral = [[kept * vector[i] * vector[j] + tail * other[i] * other[j] for j in range(2)] for i in range(2)]
    if spectral != star or vector[0] ** 2 + vector[1] ** 2 != 1 or not kept > tail > 0:
        unmet.append("the singular values of the aggregate are the stated ones")
    # Rank 1 is the least positive one, both with the tail after it and with the tail printed, from sigma_1 on.
    if not tail**2 + kept**2 < theta**2:
        unmet.append("truncation to rank 1 at this threshold")
    end = [[kept * vector[i] * vector[j] for j in range(2)] for i in range(2)]

    def loss(at: list[list[Fraction]]) -> Fraction:
        return sum(((at[i][j] - B[i][j]) ** 2 for i, j in pairs), Fraction(0)) / 2

    slope = sum((G[i][j] ** 2 for i, j in pairs), Fraction(0))
    return Violation(
        loss(end) - loss(W), -step * (1 - 12 * step) * slope + theta, unmet="; ".join(unmet),
        reads="one client, one step, L = |W - B|^2/2, rank 1 to 1 in either reading of the truncation rule (if the "
        "tail begins after what is kept, also with theta = 3/2): change of the loss, against the printed bound",
    )  # fmt: skip
