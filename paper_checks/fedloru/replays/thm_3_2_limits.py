"""Appendix A.4, proof of Theorem 3.2: the limits of the stable ranks (eqs. (36) and (37)).

Setting: `shared.stable_rank_limits`.
"""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.shared.limits import n, semicircle
from paper_checks.fedloru.replays.shared.sample_sizes import NOISES, gap_and_printed, limits, sample_sizes
from paper_checks.fedloru.replays.shared.stable_rank_limits import bulk_square, grows_with_noise, norm
from paper_checks.replay import Violation, proof, replay, require
from paper_checks.stored_values import Values


@replay("fedloru-v2/eq-36", **NOISES)
def eq_36_as_printed(values: Values) -> Violation:
    """Compare the expected squared Frobenius norm over R, from the entry variances of eq. (1), with the printed one."""
    noise, R, spikes = Fraction(values["client"]), int(values["R"]), [Fraction(spike) for spike in values["spikes"]]
    expected = (sum(spike**2 for spike in spikes) + R * R * noise**2 / R) / R
    outliers = [spike + noise**2 / spike for spike in spikes]
    printed = (sum(g**2 for g in outliers) + (R - len(spikes)) * 4 * noise**2) / Fraction(R)
    return Violation(
        abs(printed - expected),
        noise**2,
        assumes=sample_sizes(values),
        reads="for the client with M samples and N_u + N_l = R - p - q, we compare the distance of the printed "
        "numerator from E ||H||_F^2, divided by R, with sigma^2 s_M^2",
    )


@proof("fedloru-v2/eq-36")
def eq_36(bulk: Fraction = Fraction(1)) -> str:
    r"""The numerator is $\sum\theta_j^2 + n^2R(1 + o(1))$; by eq. (29) every fixed index past the outliers is counted.

    None of the eigenvalues inside the bulk tends to an edge, and their mean square is the semicircle's, $n^2$, not
    $U_N^2 = 4n^2$.
    """
    bulk_square(bulk)
    semicircle(2)
    return "the mean square of the entries"


BOUNDS = "theta_0^2 + n^2 <= lim ||H||^2 <= (|theta_0| + 2 n)^2 with n = sigma s"


@replay("fedloru-v2/eq-36-conv", **NOISES)
def eq_36_conv_as_printed(values: Values) -> Violation:
    """The printed stable rank over R less the largest that the stable rank over R can tend to."""
    _, high, printed = limits(values, Fraction(values["client"]))
    return Violation(
        printed - high,
        0,
        assumes=sample_sizes(values),
        reads="for the client with M samples, we compute a lower bound on lim |srank^ - srank| / R, from the bounds "
        f"{BOUNDS}",
    )


@proof("fedloru-v2/eq-36-conv")
def eq_36_conv(bulk: Fraction = Fraction(1)) -> str:
    r"""The quotient of both limits, and 1/4 where the edge is the norm."""
    at_edge = bulk * n**2 / (2 * n) ** 2
    bulk_square(bulk)
    norm()
    require(at_edge == Fraction(1, 4), "1/4 at the edge")
    return "we use the mean square of the entries and the norm in Proposition 3.1"


@replay("fedloru-v2/eq-37", **NOISES)
def eq_37_as_printed(values: Values) -> Violation:
    """Evaluate the gap of the printed stable ranks over R less the gap of the stable ranks over R."""
    gap, printed = gap_and_printed(values)
    return Violation(
        printed - gap,
        0,
        assumes=sample_sizes(values),
        reads=f"we compute a lower bound on lim |gap of srank^ - gap of srank| / R, from the bounds {BOUNDS}",
    )


@proof("fedloru-v2/eq-37")
def eq_37(bulk: Fraction = Fraction(1)) -> str:
    r"""The difference of two limits, which is not 0 since $n/\lambda_N < m/\lambda_M$."""
    bulk_square(bulk)
    norm()
    grows_with_noise()
    return "we use the mean square of the entries, the norm in Proposition 3.1 and the order of the two limits"
