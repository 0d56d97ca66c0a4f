"""Replays of the claims in ``stable_rank_limit``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


def dense_ranks(values: Values, noise: float, draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Stable ranks over R of dense Gaussian Hessians at R = 400."""
    R, spikes, found = 400, [float(spike) for spike in values["spikes"]], []
    for _ in range(draws):
        square = rng.normal(0.0, noise, (R, R))
        hessian = (square + square.T) / np.sqrt(2.0 * R)
        hessian[range(len(spikes)), range(len(spikes))] += spikes
        found.append(float((hessian**2).sum()) / float(np.abs(np.linalg.eigvalsh(hessian)).max()) ** 2 / R)
    return np.array(found)


def largest(values: Values) -> float:
    """theta_0."""
    return max((float(spike) for spike in values["spikes"]), key=abs)


def outlier(theta: float, noise: float) -> float:
    """The printed inverse of g."""
    return theta + noise**2 / theta


def unmet(values: Values) -> str:
    """The assumption of Theorem 3.2."""
    met = largest(values) ** 2 >= float(values["client"]) ** 2 > float(values["server"]) ** 2 > 0
    return "" if met else "theta_0^2 >= sigma^2 s_M^2 > sigma^2 s_N^2"


def with_error(draws: NDArray[np.float64]) -> tuple[float, float]:
    """Mean, and seven standard errors plus a tenth of it for the small dimension."""
    mean = float(np.mean(draws))
    return mean, 7.0 * float(np.std(draws, ddof=1)) / len(draws) ** 0.5 + 0.1 * abs(mean)


@replay("fedloru-v2/eq-36")
def eq_36(values: Values) -> Violation:
    """The expected squared Frobenius norm over R from the entry variances of eq. (1), against the printed numerator."""
    noise = Fraction(values["client"] if int(values["place"]) == 0 else values["server"])
    spikes, R = [Fraction(spike) for spike in values["spikes"]], int(values["R"])
    expected = (sum(spike**2 for spike in spikes) + R * R * noise**2 / R) / R
    outliers = [spike + noise**2 / spike for spike in spikes]
    printed = (sum(g**2 for g in outliers) + (R - len(spikes)) * 4 * noise**2) / Fraction(R)
    return Violation(abs(printed - expected), noise**2, unmet=unmet(values),
                     reads="|printed numerator - E ||H||_F^2| / R against sigma^2 s^2")  # fmt: skip


@replay("fedloru-v2/eq-36-conv")
def eq_36_conv(values: Values) -> Violation:
    """The stable rank over R of dense Hessians against the printed one."""
    noise = float(values["client"] if int(values["place"]) == 0 else values["server"])
    mean, error = with_error(dense_ranks(values, noise, 30, np.random.default_rng(36)))
    printed = 4.0 * noise**2 / outlier(largest(values), noise) ** 2
    return Violation(abs(printed - mean), 0.0, error, exact=False, unmet=unmet(values),
                     reads=f"|srank^/R - srank/R|, {printed:.3g} against {mean:.3g}")  # fmt: skip


def gap_and_printed(values: Values, seed: int) -> tuple[float, float, float]:
    """Gap over R of dense clients and servers, its error, and four times n_M^2/g_M^2 - n_N^2/g_N^2."""
    rng, noises = np.random.default_rng(seed), (float(values["client"]), float(values["server"]))
    client, server = (dense_ranks(values, noise, 30, rng) for noise in noises)
    mean, error = with_error(client - server)
    shares = [4.0 * noise**2 / outlier(largest(values), noise) ** 2 for noise in noises]
    return mean, error + 0.1 * float(np.mean(client)), shares[0] - shares[1]


@replay("fedloru-v2/eq-37")
def eq_37(values: Values) -> Violation:
    """The gap over R of dense Hessians against the printed one."""
    mean, error, printed = gap_and_printed(values, 37)
    return Violation(abs(printed - mean), 0.0, error, exact=False, unmet=unmet(values),
                     reads=f"|gap of srank^ - gap of srank| / R, {printed:.3g} against {mean:.3g}")  # fmt: skip


@replay("fedloru-v2/thm-3.2")
def thm_3_2(values: Values) -> Violation:
    """The printed lower bound over R (the sum over spikes is of order 1/R) against the gap of dense Hessians over R."""
    mean, error, bound = gap_and_printed(values, 45)
    return Violation(
        bound, mean, error, exact=False, unmet=unmet(values), reads="printed lower bound / R against gap / R"
    )
