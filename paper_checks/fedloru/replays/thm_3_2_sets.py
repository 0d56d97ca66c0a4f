"""Appendix A.4, proof of Theorem 3.2: the index sets and their counts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from paper_checks.fedloru.replays.shared.index_sets import REST, by_limit, read, shares
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


def _by_condition(spikes: list[Fraction], n: Fraction) -> set[int]:
    r"""$\{i : g^{-1}(\theta_i) > U\}$ for positive and $\{i : g^{-1}(\theta_i) < L\}$ for negative spikes."""
    above = {i for i, theta in enumerate(spikes) if theta > 0 and theta + n**2 / theta > 2 * n}
    below = {i for i, theta in enumerate(spikes) if theta < 0 and theta + n**2 / theta < -2 * n}
    return above | below


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
        reads="we count the spikes that are in the sets at N but not in the sets at M, and take the smaller count of "
        "the two definitions of the sets",
    )


READINGS: tuple[Callable[[list[Fraction], Fraction], set[int]], ...] = (_by_condition, by_limit)


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
        reads=f"{REST}. We compute |left - right| of eq. (38) with the sets defined by limits and with the sets "
        "defined by conditions, and take the smaller number",
    )


@replay("fedloru-v2/eq-42")
def eq_42(values: Values) -> Violation:
    """Compare the middle of the chain with its right end, which are printed as equal, under either definition."""
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
        reads=f"{REST}. We compute |middle - right end| of eq. (42) with the sets defined by limits and with the sets "
        "defined by conditions, and take the smaller number",
    )
