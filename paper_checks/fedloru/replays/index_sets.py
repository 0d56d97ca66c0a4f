"""Replays of the claims in ``index_sets``: the sets under both printed definitions, the sums term by term."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions

Sets = tuple[set[int], set[int]]  # indices outside the bulk at M and at N
REST = "rest eigenvalues of H_true are 0, and theirs at the edges"


def read(values: Values) -> tuple[list[Fraction], Fraction, Fraction, list[Hypothesis]]:
    r"""Spikes, both thresholds, and the assumptions of Theorem 3.2."""
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


def _by_condition(spikes: list[Fraction], n: Fraction) -> set[int]:
    r"""$\{i : g^{-1}(\theta_i) > U\}$ for positive and $\{i : g^{-1}(\theta_i) < L\}$ for negative spikes."""
    above = {i for i, theta in enumerate(spikes) if theta > 0 and theta + n**2 / theta > 2 * n}
    below = {i for i, theta in enumerate(spikes) if theta < 0 and theta + n**2 / theta < -2 * n}
    return above | below


def by_limit(spikes: list[Fraction], n: Fraction) -> set[int]:
    r"""$\{i : \lambda_i \to g^{-1}(\theta_i)\}$: spikes beyond the threshold, whose eigenvalue leaves the bulk."""
    return {i for i, theta in enumerate(spikes) if theta > n or theta < -n}


READINGS: tuple[Callable[[list[Fraction], Fraction], set[int]], ...] = (_by_condition, by_limit)


@replay("fedloru-v2/claim-inclusion")
def claim_inclusion(values: Values) -> Violation:
    r"""Members of the sets at N that the sets at M lack, by either definition; the smaller number must be 0.

    By limits: a spike below half the threshold of M has $g_M^{-1}(\theta) > |\theta| + 2\sigma s_M$ in magnitude, more
    than Weyl's bound (eqs. 25 and 27 of the paper) allows its eigenvalue, so it is not in the set at M; above the
    threshold of N the printed Proposition 3.1 and the true transition agree that it is in the set at N.
    """
    spikes, n_M, n_N, assumes = read(values)
    condition = _by_condition(spikes, n_N) - _by_condition(spikes, n_M)
    limit = {
        i
        for i, theta in enumerate(spikes)
        if abs(theta) > n_N and abs(theta) + n_M**2 / abs(theta) > abs(theta) + 2 * n_M
    }
    return Violation(
        min(len(condition), len(limit)),
        0,
        assumes=assumes,
        reads="spikes in the sets at N and not at M (the fewer of both definitions)",
    )


def shares(spikes: list[Fraction], n: Fraction) -> tuple[list[Fraction], Fraction]:
    r"""Squares over $g^{-1}(\theta_0)^2$: of each outlier and of the edge."""
    theta_0 = spikes[0]
    for theta in spikes:
        if abs(theta) > abs(theta_0):
            theta_0 = theta
    norm = (theta_0 + n**2 / theta_0) ** 2
    return [(theta + n**2 / theta) ** 2 / norm for theta in spikes], 4 * n**2 / norm


@replay("fedloru-v2/eq-38")
def eq_38(values: Values) -> Violation:
    """Both sides with finite counts under either definition of the sets; the smaller distance."""
    spikes, n_M, n_N, assumes = read(values)
    assumes.append(Hypothesis("rest: eigenvalues of the true Hessian that are 0", int(values["rest"]), ">=", 0))
    (g_M, U_M), (g_N, U_N), total = shares(spikes, n_M), shares(spikes, n_N), len(spikes) + int(values["rest"])
    distances = []
    for sets in READINGS:
        at_M, at_N = sets(spikes, n_M), sets(spikes, n_N)
        stable_rank_M = sum((g_M[j] for j in at_M), (total - len(at_M)) * U_M)
        stable_rank_N = sum((g_N[j] for j in at_N), (total - len(at_N)) * U_N)
        right = sum((g_M[j] - g_N[j] for j in at_N), Fraction(0))
        right += sum((g_M[j] - U_N for j in at_M - at_N), Fraction(0))
        right += (total - len(at_M)) * (U_M - U_N)
        distances.append(abs(stable_rank_M - stable_rank_N - right))
    return Violation(
        min(distances),
        0,
        assumes=assumes,
        reads=f"{REST}: |left - right| of eq. (38), the smaller of that with the sets by limit and that "
        "with the sets by condition",
    )


@replay("fedloru-v2/eq-42")
def eq_42(values: Values) -> Violation:
    """The middle of the chain against its right end, which are printed as equal, under either definition."""
    spikes, n_M, n_N, assumes = read(values)
    assumes.append(Hypothesis("rest: eigenvalues of the true Hessian that are 0", int(values["rest"]), ">=", 0))
    (_, U_M), (_, U_N), total = shares(spikes, n_M), shares(spikes, n_N), len(spikes) + int(values["rest"])
    distances = []
    for sets in READINGS:
        at_M, at_N = sets(spikes, n_M), sets(spikes, n_N)
        middle = len(at_M - at_N) * (U_M - U_N) + (total - len(at_M)) * (U_M - U_N)
        distances.append(abs(middle - (total - len(at_N)) * (U_M - U_N)))
    return Violation(
        min(distances),
        0,
        assumes=assumes,
        reads=f"{REST}: |middle - right end| of eq. (42), the smaller of that with the sets by limit and "
        "that with the sets by condition",
    )


@replay("fedloru-v2/thm-3.2@estimates-sets-by-limit")
def thm_3_2_by_limit(values: Values) -> Violation:
    """Right side of eq. (4) against the difference of the expressions (36), with the sets by limits."""
    spikes, n_M, n_N, assumes = read(values)
    assumes.append(Hypothesis("rest: eigenvalues of the true Hessian that are 0", int(values["rest"]), ">=", 1))
    (g_M, U_M), (g_N, U_N), total = shares(spikes, n_M), shares(spikes, n_N), len(spikes) + int(values["rest"])
    at_M, at_N = by_limit(spikes, n_M), by_limit(spikes, n_N)
    stable_rank_M = sum((g_M[j] for j in at_M), (total - len(at_M)) * U_M)
    stable_rank_N = sum((g_N[j] for j in at_N), (total - len(at_N)) * U_N)
    theta = max(spikes, key=abs)
    norms = ((theta + n_M**2 / theta) * (theta + n_N**2 / theta)) ** 2
    bracket = sum((8 * n_M * n_N * abs(theta / spikes[j] - spikes[j] / theta) for j in at_N), Fraction(0))
    bracket += 4 * (total - len(at_N)) * (theta**2 - (n_M * n_N / theta) ** 2)
    return Violation(
        (n_M**2 - n_N**2) / norms * bracket,
        stable_rank_M - stable_rank_N,
        assumes=assumes,
        reads=f"{REST}: right side of eq. (4) against the difference of the expressions (36)",
    )
