"""Replays of the claims in ``noise_model``: two data points and one of them, over all samples."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


@replay("fedloru-v2/eq-1@uncorrelated-noises")
def uncorrelated_noises(values: Values) -> Violation:
    """Covariance of an entry h of the Hessian of one of two data points with an entry g of that of both.

    A data point is one of three, with probabilities p1, p2 and what is missing to 1; the client's is either of the
    server's two.
    """
    p = [Fraction(values["p1"]), Fraction(values["p2"])]
    p.append(1 - p[0] - p[1])
    h, g = ([Fraction(values[f"{name}{k}"]) for k in (1, 2, 3)] for name in "hg")
    assumes = assuming(Hypothesis("least probability", min(p), ">", 0))
    drawn = [(p[i] * p[j] / 2, h[k], (g[i] + g[j]) / 2) for i, j in product(range(3), repeat=2) for k in (i, j)]
    return Violation(abs(_covariance(drawn)), 0, assumes=assumes,
                     reads="a data point is one of three, with probabilities p1, p2, 1 - p1 - p2 and the entries g1, "
                     "g2, g3 and h1, h2, h3 of its Hessian; the server has N = 2, the client M = 1 of these: "
                     "|Cov(epsilon_M, epsilon_N)| of the entries h and g")  # fmt: skip


def _covariance(terms: list[tuple[Fraction, Fraction, Fraction]]) -> Fraction:
    """From all values with their probabilities."""
    first, second = (sum((term[0] * term[k] for term in terms), Fraction(0)) for k in (1, 2))
    return sum((p * (a - first) * (b - second) for p, a, b in terms), Fraction(0))
