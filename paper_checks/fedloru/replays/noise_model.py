"""Replays of the claims in ``noise_model``: two data points and one of them, over all samples."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values

POINTS = (
    "a data point is one of three, with probabilities p1, p2, 1 - p1 - p2 and the entries g1, g2, g3 and h1, "
    "h2, h3 of its Hessian; the server has N = 2, the client M = 1 of these: "
)


def _two_and_one(values: Values) -> tuple[Fraction, Fraction, Fraction, tuple[Hypothesis, ...]]:
    """Covariances of an entry h with an entry g: of one data point with the mean of two, of each with itself.

    A data point is one of three, with probabilities p1, p2 and what is missing to 1; the client's is either of the
    server's two.
    """
    p = [Fraction(values["p1"]), Fraction(values["p2"])]
    p.append(1 - p[0] - p[1])
    h, g = ([Fraction(values[f"{name}{k}"]) for k in (1, 2, 3)] for name in "hg")
    assumes = assuming(Hypothesis("least probability", min(p), ">", 0))
    pairs = list(product(range(3), repeat=2))
    between = [(p[i] * p[j] / 2, h[k], (g[i] + g[j]) / 2) for i, j in pairs for k in (i, j)]
    server = [(p[i] * p[j], (h[i] + h[j]) / 2, (g[i] + g[j]) / 2) for i, j in pairs]
    client = [(p[k], h[k], g[k]) for k in range(3)]
    return _covariance(between), _covariance(server), _covariance(client), assumes


@replay("fedloru-v2/eq-1@uncorrelated-noises")
def uncorrelated_noises(values: Values) -> Violation:
    """The noises of two data points and of one of them are correlated."""
    between, _, _, assumes = _two_and_one(values)
    return Violation(
        abs(between), 0, assumes=assumes, reads=f"{POINTS}|Cov(epsilon_M, epsilon_N)| of the entries h and g"
    )


@replay("fedloru-v2/eq-1@one-matrix-x")
def one_matrix(values: Values) -> Violation:
    """Multiples of one matrix have a covariance whose square is the product of their own."""
    between, server, client, assumes = _two_and_one(values)
    return Violation(
        abs(between**2 - server * client),
        0,
        assumes=assumes,
        reads=f"{POINTS}distance of the square of Cov(epsilon_M, epsilon_N), entries h and g, from the "
        "product of Cov(epsilon_M) and Cov(epsilon_N)",
    )


def _covariance(terms: list[tuple[Fraction, Fraction, Fraction]]) -> Fraction:
    """From all values with their probabilities."""
    first, second = (sum((term[0] * term[k] for term in terms), Fraction(0)) for k in (1, 2))
    return sum((p * (a - first) * (b - second) for p, a, b in terms), Fraction(0))
