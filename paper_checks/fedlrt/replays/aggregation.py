"""Replays of the claims in ``aggregation``, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, square


def admitted(sigma: list[Fraction], bound: Fraction) -> list[int]:
    """Ranks r1 with sigma_r1^2 + ... + sigma_2r^2 below the square of the threshold, as printed."""
    return [r for r in range(1, len(sigma) + 1) if sum((s * s for s in sigma[r - 1 :]), Fraction(0)) < bound]


@replay("fedlrt/eq-10")
def eq_10(values: Values) -> Violation:
    """Two by two coefficients of two clients: 2r = 2 against the rank of their mean, by determinants."""
    own = [square(entries, 2) for entries in values["coefficients"]]
    mean = [[sum((S[i][j] for S in own), Fraction(0)) / len(own) for j in range(2)] for i in range(2)]

    def determinant(S: list[list[Fraction]]) -> Fraction:
        return S[0][0] * S[1][1] - S[0][1] * S[1][0]

    rank = 2 if determinant(mean) else int(any(entry for row in mean for entry in row))
    assumes = [
        Hypothesis(f"determinant of the coefficients of client {c}", determinant(S), "!=", 0)
        for c, S in enumerate(own, 1)
    ]
    return Violation(
        2,
        rank,
        assumes=assumes,
        given={"coefficients": own, "mean": mean},
        reads="coefficients of rank 2r = 2: 2r against the rank of their mean",
    )


@replay("fedlrt/claim-trunc")
def claim_trunc_as_printed(values: Values) -> Violation:
    """Whether any rank from 1 to 2r satisfies the printed condition."""
    sigma, theta = [Fraction(s) for s in values["sigma"]], Fraction(values["theta"])
    assumes = (
        *(Hypothesis(f"sigma_{i + 1}", low, "<=", high) for i, (high, low) in enumerate(pairwise(sigma), 1)),
        Hypothesis(f"sigma_{len(sigma)}", sigma[-1], ">=", 0),
        Hypothesis("theta", theta, ">", 0),
        Hypothesis("squared theta, against the squared norm", theta**2, "<=", sum((s * s for s in sigma), Fraction(0))),
        Hypothesis("singular values, which are 2r, modulo 2", len(sigma) % 2, "=", 0),
    )
    return Violation(
        1,
        len(admitted(sigma, theta**2)),
        assumes=assumes,
        reads="1 against the number of ranks that the printed condition admits",
    )


@replay("fedlrt/claim-factors")
def claim_factors_as_printed(values: Values) -> Violation:
    """One step towards a multiple of the start e1 e1': both gradients are multiples of e1, S* is diag(s, 0)."""
    start, target, rate, tau = (Fraction(values[name]) for name in ("start", "target", "rate", "tau"))
    sigma = [abs(start - rate * (start - target)), Fraction(0)]
    ranks = admitted(sigma, (tau * sigma[0]) ** 2)
    smallest = sigma[min(ranks) - 1] if ranks else Fraction(1)
    assumes = (
        Hypothesis("start", start, "!=", 0),
        Hypothesis("tau", tau, ">", 0),
        Hypothesis("tau", tau, "<=", 1),
        Hypothesis("learning rate", rate, ">", 0),
        Hypothesis("largest singular value after the step", sigma[0], ">", 0),
        Hypothesis("n", int(values["size"]), ">=", 2),
    )
    return Violation(
        0,
        smallest,
        strict=True,
        assumes=assumes,
        reads="loss |W - target e1 e1'|^2 / 2 from start e1 e1', one step: "
        "0 against the smallest kept singular value, which should be greater",
    )


@replay("fedlrt/claim-alg6")
def claim_alg6_as_printed(values: Values) -> Violation:
    """The mean of S_c U_c V_c' over the columns, that is U diag(S)/count V': its singular values are those of diag."""
    size, weights = int(values["size"]), [Fraction(s) for s in values["S"]]
    count, assumes = len(weights), list[Hypothesis]()
    for name in ("U", "V"):
        columns = [[Fraction(entry) for entry in column] for column in values[name]]
        products = [[sum((x * y for x, y in zip(u, v, strict=True)), Fraction(0)) for v in columns] for u in columns]
        apart = max(abs(products[i][j] - (i == j)) for i in range(len(columns)) for j in range(len(columns)))
        assumes.append(Hypothesis(f"columns of {name}", len(columns), "=", count))
        assumes.append(Hypothesis(f"entries of a column of {name}", len(columns[0]), "=", size))
        assumes.append(Hypothesis(f"largest entry of {name}'{name} - I", apart, "=", 0))
    assumes += [Hypothesis(f"S_{c}", weight, ">", 0) for c, weight in enumerate(weights, 1)]
    return Violation(
        size,
        count,
        assumes=assumes,
        reads="mean of S_c U_c V_c' by columns: n against the size of a matrix with the same nonzero singular values",
    )
