"""Replays of the claims in ``splitting``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions, square


@replay("fedlrt/thm-5")
def thm_5_as_printed(values: Values) -> Violation:
    r"""A flat loss, both flows at rest, for any $d_2, d_3 > 0$: $\Delta t$ in units of $d_3$, the rest of $d_2d_3$.

    A flat loss has every L and every B, so that constants that depend on these are any numbers; a bound with $d_2$ or
    $d_3$ at most 0 implies the one with positive numbers in their place.
    """
    time, theta, cut = fractions(values, "time over d_3", "theta over d_2 d_3", "cut part over d_2 d_3")
    assumes = [
        Hypothesis("Delta t over d_3", time, ">", 0),
        Hypothesis("cut part over d_2 d_3", cut, ">", 0),
        Hypothesis("cut part over d_2 d_3", cut, "<", theta),
    ]
    # d_2 Delta t and d_3 theta / Delta t, over d_2 d_3.
    return Violation(
        cut,
        time + theta / time,
        assumes=assumes,
        reads="flat loss, epsilon = 0, any numbers d_2 > 0 and d_3 > 0: the cut part, against "
        "d_2 Delta t + d_3 theta / Delta t, both over d_2 d_3",
    )


def _below(values: Values, left: Fraction, reads: str) -> Violation:
    r"""From diag(a, b, 0, 0) under $\frac12\|W - \mathrm{diag}(a, m, 0, 0)\|^2$ a round moves b alone, and it is cut.

    The gradient, b - m at (2, 2), is within the bases, and zero beside them, whatever completes them.
    """
    largest, second, aim, rate, theta = fractions(values, "largest", "second", "aim", "rate", "theta")
    assumes = [
        Hypothesis("lambda L, or L Delta t", rate, ">", 0),
        Hypothesis("lambda L, or L Delta t", rate, "<=", 2),
        Hypothesis("least kept singular value, against theta", min(largest, second), ">", theta),
        Hypothesis("the second one after the step, at most, against theta", aim + left, "<", theta),
    ]
    return Violation(aim**2 / 2, (second - aim) ** 2 / 2, assumes=assumes, reads=reads)


@replay("fedlrt/claim-robust@no-limit-at-all-with-truncation")
def claim_robust_as_read(values: Values) -> Violation:
    r"""One explicit step leaves $(1 - \lambda)(b - m)$ beside m."""
    second, aim, rate = fractions(values, "second", "aim", "rate")
    return _below(
        values,
        (1 - rate) * (second - aim),
        "n = 4, rank 2, one client, loss |W - diag(largest, aim, 0, 0)|^2/2 from diag(largest, second, 0, 0): loss "
        "after a round, which cuts the second singular value, and before",
    )


@replay("fedlrt/claim-robust@guaranteed-by-theorem-5")
def claim_robust_exact(values: Values) -> Violation:
    r"""Exact flows of K and L move b as that of S does, which starts at b; $e^{-t} \le 1/(1 + t)$."""
    second, aim, rate = fractions(values, "second", "aim", "rate")
    return _below(
        values,
        (second - aim) / (1 + rate),
        "n = 4, rank 2, loss |W - diag(largest, aim, 0, 0)|^2/2 from diag(largest, second, 0, 0), K, L and S "
        "integrated exactly: loss after a round, which cuts the second singular value, and before",
    )


@replay("fedlrt/eq-17")
def eq_17(values: Values) -> Violation:
    """Columns of Ut' U_0, which is 2r by r, against the rows of the 2r by 2r matrix beside it."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(
        Fraction(abs(r - 2 * r)),
        Fraction(0),
        assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("2r", 2 * r, "<=", n)],
        reads="columns of the first factor against rows of the second, difference",
    )


@replay("fedlrt/lemma-2")
def lemma_2_as_printed(values: Values) -> Violation:
    r"""Bases (e1, e2) of four rows and a gradient that maps them to (e3, e4) by X: third columns of both factors.

    The part of $K(t_1)$ across $U_0$ is $-\lambda X$, that of $-\nabla_U\mathcal{L}$ is $-XS_0^\top$; the third column
    of an orthogonal factor is the first column of these, over its length, up to sign.
    """
    S, X = square(values["S"], 2), square(values["gradient"], 2)
    (rate,) = fractions(values, "rate")
    first = [-rate * X[i][0] for i in range(2)]
    second = [-sum(X[i][k] * S[0][k] for k in range(2)) for i in range(2)]
    sizes = [sum(entry**2 for entry in column) for column in (first, second)]
    along = sum(a * b for a, b in zip(first, second, strict=True)) ** 2
    det_S, det_X = (M[0][0] * M[1][1] - M[0][1] * M[1][0] for M in (S, X))
    return Violation(
        1 - along / (sizes[0] * sizes[1]) if all(sizes) else Fraction(0),
        Fraction(0),
        assumes=[
            Hypothesis("det S_0", det_S, "!=", 0),
            Hypothesis("determinant of the gradient's block, for independent columns", det_X, "!=", 0),
            Hypothesis("lambda", rate, ">", 0),
        ],
        given={"U_0, V_0": "e1 and e2 of four axes", "S_0": S, "block X of the gradient": X},
        reads="squared sine between the third columns of the orthogonal factors of (16) and of (19), which would be 0 "
        "if the two were one up to signs",
    )
