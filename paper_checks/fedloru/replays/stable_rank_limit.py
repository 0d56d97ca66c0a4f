"""Replays of the claims in ``stable_rank_limit``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from paper_checks.fedloru.replays.dense_draws import DENSE, hessian, limit_of_mean
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions


def sample_sizes(values: Values) -> list[Hypothesis]:
    """The assumptions of Theorem 3.2; client and server are sigma s_M and sigma s_N."""
    client, server = fractions(values, "client", "server")
    return [
        Hypothesis("sigma s_N", server, ">", 0),
        Hypothesis("sigma s_N, against sigma s_M", server, "<", client),
        Hypothesis("|theta_0|, against sigma s_M", max(abs(Fraction(x)) for x in values["spikes"]), ">=", client),
    ]


def stable_rank_over_R(values: Values, noise: float, R: int, rng: np.random.Generator) -> float:
    """Of one dense Hessian."""
    one = hessian(R, [float(spike) for spike in values["spikes"]], noise, rng)
    return float((one**2).sum()) / float(np.abs(np.linalg.eigvalsh(one)).max()) ** 2 / R


def printed_over_R(values: Values, noise: float) -> float:
    """Four times the squared noise over that of the printed largest eigenvalue."""
    theta = max((float(spike) for spike in values["spikes"]), key=abs)
    return 4.0 * noise**2 / (theta + noise**2 / theta) ** 2


@replay("fedloru-v2/eq-36")
def eq_36(values: Values) -> Violation:
    """The expected squared Frobenius norm over R from the entry variances of eq. (1), against the printed numerator."""
    noise, R, spikes = Fraction(values["client"]), int(values["R"]), [Fraction(spike) for spike in values["spikes"]]
    expected = (sum(spike**2 for spike in spikes) + R * R * noise**2 / R) / R
    outliers = [spike + noise**2 / spike for spike in spikes]
    printed = (sum(g**2 for g in outliers) + (R - len(spikes)) * 4 * noise**2) / Fraction(R)
    return Violation(abs(printed - expected), noise**2, assumes=sample_sizes(values),
                     reads="client, |printed numerator - E ||H||_F^2| / R against sigma^2 s^2")  # fmt: skip


@replay("fedloru-v2/eq-36-conv")
def eq_36_conv(values: Values) -> Violation:
    """The stable rank over R of dense Hessians against the printed one."""
    noise = float(values["client"])
    mean, error = limit_of_mean(lambda R, rng: stable_rank_over_R(values, noise, R, rng), 400, 30, 36)
    printed = printed_over_R(values, noise)
    return Violation(abs(printed - mean), 0.0, error, sampled=DENSE, assumes=sample_sizes(values),
                     reads=f"client, |srank^/R - srank/R|, {printed:.3g} against {mean:.3g}")  # fmt: skip


def gap_and_printed(values: Values, seed: int) -> tuple[float, float, float]:
    """Gap over R of dense clients and servers, its error, and four times n_M^2/g_M^2 - n_N^2/g_N^2."""
    client, server = float(values["client"]), float(values["server"])

    def gap(R: int, rng: np.random.Generator) -> float:
        return stable_rank_over_R(values, client, R, rng) - stable_rank_over_R(values, server, R, rng)

    return *limit_of_mean(gap, 400, 30, seed), printed_over_R(values, client) - printed_over_R(values, server)


@replay("fedloru-v2/eq-37")
def eq_37(values: Values) -> Violation:
    """The gap over R of dense Hessians against the printed one."""
    mean, error, printed = gap_and_printed(values, 37)
    return Violation(abs(printed - mean), 0.0, error, sampled=DENSE, assumes=sample_sizes(values),
                     reads=f"|gap of srank^ - gap of srank| / R, {printed:.3g} against {mean:.3g}")  # fmt: skip


@replay("fedloru-v2/thm-3.2")
def thm_3_2(values: Values) -> Violation:
    """The printed lower bound over R (the sum over spikes is of order 1/R) against the gap of dense Hessians over R."""
    mean, error, bound = gap_and_printed(values, 45)
    return Violation(bound, mean, error, sampled=DENSE, assumes=sample_sizes(values),
                     reads="printed lower bound / R against gap / R")  # fmt: skip
