"""The index sets of Theorem 3.2 under both printed definitions, and their sums term by term."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, assuming
from paper_checks.stored_values import Values, fractions

Sets = tuple[set[int], set[int]]  # indices outside the bulk at M and at N

REST = (
    "the number rest counts the eigenvalues of H_true that are 0, and the corresponding eigenvalues of H_M and H_N "
    "are at the edges"
)


def read(values: Values) -> tuple[list[Fraction], Fraction, Fraction, list[Hypothesis]]:
    r"""Read spikes, both thresholds, and the assumptions of Theorem 3.2."""
    spikes = [Fraction(text) for text in values["spikes"]]
    sigma, s_M, s_N = fractions(values, "sigma", "s_M", "s_N")
    assumes = assuming(
        Hypothesis("sigma", sigma, ">", 0),
        Hypothesis("s_N", s_N, ">", 0),
        Hypothesis("s_N, against s_M", s_N, "<", s_M),
        Hypothesis("s_M", s_M, "<", 1),
        Hypothesis("least |theta_j|", min(map(abs, spikes)), ">", 0),
        Hypothesis("theta_1", max(spikes), ">", 0),
        Hypothesis("theta_(p+q)", min(spikes), "<", 0),
        Hypothesis("|theta_0|, against sigma s_M", max(map(abs, spikes)), ">=", sigma * s_M),
    )
    return spikes, sigma * s_M, sigma * s_N, [*assumes]


def by_limit(spikes: list[Fraction], n: Fraction) -> set[int]:
    r"""$\{i : \lambda_i \to g^{-1}(\theta_i)\}$: spikes beyond the threshold, whose eigenvalue leaves the bulk."""
    return {i for i, theta in enumerate(spikes) if theta > n or theta < -n}


def shares(spikes: list[Fraction], n: Fraction) -> tuple[list[Fraction], Fraction]:
    r"""Squares over $g^{-1}(\theta_0)^2$: of each outlier and of the edge."""
    theta_0 = spikes[0]
    for theta in spikes:
        if abs(theta) > abs(theta_0):
            theta_0 = theta
    norm = (theta_0 + n**2 / theta_0) ** 2
    return [(theta + n**2 / theta) ** 2 / norm for theta in spikes], 4 * n**2 / norm
