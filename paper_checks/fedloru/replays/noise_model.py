"""Replays of the claims in ``noise_model``."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import prod

import sympy

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/eq-1")
def eq_1(values: Values) -> Violation:
    """The covariance of an entry of H_M and one of H_N by counting all samples and all subsets."""
    N, M = int(values["N"]), int(values["M"])
    p1, p2 = fractions(values, "p1", "p2")
    shares = (p1, p2, 1 - p1 - p2)
    h, g = fractions(values, "h1", "h2", "h3"), fractions(values, "g1", "g2", "g3")
    unmet = "" if 0 < M < N and min(shares) >= 0 else "D_M a proper part of D_N, probabilities"
    both = first = second = Fraction(0)
    for sample in product(range(3), repeat=N):
        parts = list(combinations(range(N), M))
        weight = prod((shares[a] for a in sample), start=Fraction(1)) / len(parts)
        H_N = sum((g[a] for a in sample), Fraction(0)) / N
        for part in parts:
            H_M = sum((h[sample[i]] for i in part), Fraction(0)) / M
            both, first, second = both + weight * H_M * H_N, first + weight * H_M, second + weight * H_N
    return Violation(abs(both - first * second), Fraction(0), unmet=unmet,
                     reads=f"|Cov(epsilon_M, epsilon_N)| at N = {N}, M = {M}")  # fmt: skip


@replay("fedloru-v1/eq-3-4")
def eq_3_4(values: Values) -> Violation:
    """The mean normalised trace of Z Z^T / n, Z of p rows and n columns of independent standard Gaussians."""
    ratio = Fraction(values["ratio"])
    p, n = ratio.numerator, ratio.denominator
    unmet = ""
    if values["ensemble"] != "Wishart" or not 0 < ratio < 1:
        unmet = "a Wishart matrix whose limiting law has compact support and a density"
    z = sympy.Symbol("z", real=True)
    weight = sympy.exp(-(z**2) / 2) / sympy.sqrt(2 * sympy.pi)
    second = sympy.integrate(z**2 * weight, (z, -sympy.oo, sympy.oo))
    trace = sum((Fraction(int(second)) / n for _ in range(p * n)), Fraction(0))
    return Violation(abs(trace) / p, Fraction(0), unmet=unmet,
                     reads=f"|E tr X| / R for p/n = {ratio}, which E H_N = H_true makes 0")  # fmt: skip
