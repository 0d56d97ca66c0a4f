"""Theorem 3.2 between the estimates of eq. (36), with finite counts of eigenvalues at the edges: exact instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from paper_checks.claim import Evidence
from paper_checks.facts import Fact, identity, positive, together
from paper_checks.fedloru.spectral.spike_sets import Gap, Instance, SetReading, assumed, judge_instances
from paper_checks.fedloru.spectral.stable_rank import S_M, S_N, SIGMA, SYMBOLS, THETA_0, THETA_J, outliers
from rmt.spiked import wigner_outlier


def difference(instance: Instance, sets: SetReading) -> Fraction:
    """Eq. (36) at M minus eq. (36) at N: each index with its outlier or with the edge, by the sets at M and at N."""
    at_M, at_N = instance.outside(instance.noise_M, sets), instance.outside(instance.noise_N, sets)
    edge_M, edge_N = instance.edges
    spikes = sum(
        (share_M if i in at_M else edge_M) - (share_N if i in at_N else edge_N)
        for i, (share_M, share_N) in enumerate(instance.shares)
    )
    return spikes + instance.rest * (edge_M - edge_N)


def bound(instance: Instance, sets: SetReading, first: Fraction, second: Fraction) -> Fraction:
    """Right side of eq. (4), with factors for the printed 8 and 4."""
    spikes, edges = instance.once(("sums of the bound", sets), lambda: _sums(instance, sets))
    return first * spikes + second * edges


def _sums(instance: Instance, sets: SetReading) -> tuple[Fraction, Fraction]:
    """The two sums of eq. (4) without its factors."""
    m, n, theta = instance.noise_M, instance.noise_N, instance.theta_0
    at_N = instance.outside(n, sets)
    norms = (wigner_outlier(theta, m) * wigner_outlier(theta, n)) ** 2
    pairs = sum((abs(theta / instance.spikes[j] - instance.spikes[j] / theta) for j in at_N), Fraction(0))
    counted = instance.rest + len(instance.spikes) - len(at_N)
    edges = counted * (theta**2 - (m * n / theta) ** 2)
    return (m**2 - n**2) * m * n * pairs / norms, (m**2 - n**2) * edges / norms


@cache
def _proof() -> tuple[Fact, ...]:
    r"""Each outlier exceeds the edge, so that $F_j$ is at least its part of the bound; the rest is eq. (43)."""
    g_Mj, g_N0, g_Nj, g_M0 = outliers(SYMBOLS)
    m, n = SIGMA * S_M, SIGMA * S_N
    spread, gap = THETA_0 / THETA_J - THETA_J / THETA_0, m**2 - n**2
    norms = (g_M0 * g_N0) ** 2
    edges = (2 * m / g_M0) ** 2 - (2 * n / g_N0) ** 2
    products = g_Mj * g_N0 + g_Nj * g_M0
    excess = g_Mj * (g_N0 - 2 * n) + 2 * n * (g_Mj - 2 * m) + g_Nj * (g_M0 - 2 * m) + 2 * m * (g_Nj - 2 * n)
    a, b = sympy.symbols("a b", positive=True)
    return together(
        identity("an outlier exceeds the edge by a square", (g_Mj - 2 * m) - (THETA_J - m) ** 2 / THETA_J),
        identity("F_j", (g_Mj / g_M0) ** 2 - (g_Nj / g_N0) ** 2 - products * gap * spread / norms),
        identity("F_j less its bound", products - 8 * m * n - excess),
        positive("the spread of the spikes", spread, {THETA_0: THETA_J + a}),
        identity("eq. (43)", edges - 4 * gap * (THETA_0**2 - (m * n / THETA_0) ** 2) / norms),
        positive("the edges", edges, {S_M: S_N + a, THETA_0: SIGMA * (S_N + a) + b}),
    )


def judge_estimates(
    instances: Sequence[Instance], sets: SetReading, first: float, second: float, assumption: bool
) -> Evidence:
    """Whether the difference of the estimates is positive and at least the right side of eq. (4).

    Args:
        instances: those with no eigenvalue at an edge are left out.
        sets: which indices count as outliers.
        first: the printed 8.
        second: the printed 4.
        assumption: whether to ask for that of the theorem.
    """
    factors = Fraction(str(first)), Fraction(str(second))

    def gap(instance: Instance, sets: SetReading) -> Gap:
        left = instance.once(("difference", sets), lambda: difference(instance, sets))
        right = bound(instance, sets, *factors)
        short = max(right - left, -left)
        return Gap(left <= 0 or left < right, short, f"difference {float(left):.6g} against {float(right):.6g}")

    return judge_instances(
        [instance for instance in assumed(list(instances), assumption) if instance.rest],
        gap,
        (sets,),
        proof=lambda: _proof() if sets == "condition" and factors[0] <= 8 and factors[1] <= 4 and assumption else (),
        scope="expressions (36) with 1 to 19 indices beside the spikes, the same number at M and at N",
        printed="the difference of the expressions (36) is positive, and at least the right side of (4)",
    )


def bound_4(values: Mapping[str, Any], weight: Any, count: Any, g_power: int = 2) -> Any:
    r"""Right side of eq. 4 for any kind of number.

    Args:
        values: the paper's parameters.
        weight: sum of $|\theta_0/\theta_j - \theta_j/\theta_0|$ over the set.
        count: $B_N$.
        g_power: power of $g_M^{-1}(\theta_0)$ below.
    """
    t0, sigma, s_M, s_N = (values[name] for name in ("theta_0", "sigma", "s_M", "s_N"))
    g_M0, g_N0 = wigner_outlier(t0, sigma * s_M), wigner_outlier(t0, sigma * s_N)
    bracket = 8 * sigma**4 * s_M * s_N * weight + 4 * sigma**2 * count * (t0**2 - sigma**4 * s_M**2 * s_N**2 / t0**2)
    return (s_M**2 - s_N**2) / (g_M0**g_power * g_N0**2) * bracket
