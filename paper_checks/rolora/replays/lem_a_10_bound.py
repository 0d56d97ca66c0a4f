"""Appendix A.3, proof of Lemma A.10: the bound (eqs. (62) to (76)).

Setting: `shared.gradient_tails`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.gradient_tails import (
    SUM_IN_ALGORITHM_2,
    SUM_OF_FRESH_SAMPLES,
    deviation,
    e,
    own_samples_stay_in_the_plane,
    same,
    tail_of_sum,
)
from paper_checks.rolora.replays.shared.nets_and_norms import nearest_point_of_a_net
from paper_checks.rolora.replays.shared.one_step import READS, beyond, failing_client
from paper_checks.rolora.replays.shared.thresholds import thresholds
from paper_checks.stored_values import Values, fractions


def nearly_across(values: Values, share: Fraction) -> tuple[tuple[Hypothesis, ...], Fraction]:
    """Return what is assumed of one client in the plane, a* nearly across a, and a bound on P(the gradient is near).

    With T = z / chi_m and R = chi^2_(m-1) / m, independent, s = cosine + delta T: along u the gradient misses its mean
    over all samples by 2 delta |s R - cosine (m-1)/m|, and |M||b| is delta |s| (1 + T^2)^(1/2). Let 10 cosine < |T| < 1
    and R > 1/2: then that is more than 2 share |M||b|. The density of T is at most (m/6)^(1/2); 2^(m/2) >= 1 + m/3;
    Chebyshev for R.
    """
    (cosine,) = fractions(values, "cosine")
    m = int(values["m"])
    assumes = assuming(
        Hypothesis("cosine", cosine, ">", 0),
        Hypothesis("cosine", cosine, "<", 1),
        Hypothesis("m, for Chebyshev", m, ">=", 3),
        Hypothesis("least deviation over its bound", (9 - 10 * cosine**2) * (1 - 3 * share) / 2, ">", 1),
    )
    near = 20 * cosine * enclose("sqrt", Fraction(m, 6))[1]
    return assumes, near + Fraction(3, 3 + m) + 2 * (m - 1) / (Fraction(m, 2) - 1) ** 2


def inside(*numbers: tuple[str, Fraction]) -> tuple[Hypothesis, ...]:
    """Return the hypotheses that thresholds lie between 0 and 1."""
    return assuming(
        *(Hypothesis(name, e, ">", 0) for name, e in numbers), *(Hypothesis(name, e, "<", 1) for name, e in numbers)
    )


@replay("rolora/eq-62")
def eq_62_as_printed(values: Values) -> Violation:
    """Compare a lower bound on the probability, with (64) for c_5 >= 1/30."""
    e_0, e_3 = fractions(values, "eps_0", "eps_3")
    thresholds = inside(("eps_0", e_0), ("eps_3", e_3))
    assumes, missed = nearly_across(values, e_3)
    right = 2 * (1 + 2 / e_0) ** 2 * enclose("exp", -(e_3**2) * int(values["m"]) / 30)[1]
    return Violation(
        1 - missed,
        right,
        assumes=(*thresholds, *assumes),
        reads="one client has m samples, d = 2, and cosine refers to the angle between a and a*. A smaller cosine and "
        "more samples violate (64) for any other c_5. We compare a lower bound on the probability with (64) for c_5 = "
        "1/30",
    )


def union_over_the_net(one: Fraction) -> None:
    """Show that the sum over a net is (64)."""
    d = sympy.Symbol("d", positive=True)
    size = (1 + 2 / e) ** d
    require(one == 1 and same(sympy.log(size), d * sympy.log(1 + 2 / e)), "the size of the net")


@proof("rolora/eq-62@expectation-of-49")
def eq_62(c5: str = SUM_IN_ALGORITHM_2, net: Fraction = Fraction(1)) -> str:
    r"""(59) at each of at most $(1 + 2/\epsilon_0)^d$ points of the net, whose probabilities add up."""
    tail_of_sum(c5, 4)
    own_samples_stay_in_the_plane()
    union_over_the_net(net)
    return "we use (59) at the points of the net, and Boole's inequality"


@proof("rolora/eq-62@samples-independent-of-b")
def eq_62_independent(c5: str = SUM_OF_FRESH_SAMPLES, net: Fraction = Fraction(1)) -> str:
    r"""The union over the net of (62), with the tails for a fixed vector, $\bar b \ne 0$ and $M \ne 0$."""
    tail_of_sum(c5, 1)
    union_over_the_net(net)
    return "(59) at the points of the net, and Boole's inequality"


@replay("rolora/eq-65")
def eq_65_as_printed(values: Values) -> Violation:
    """(66) is 2 eps_3/(1 - eps_0) |M||b|; a lower bound on the probability that the gradient is farther off."""
    e_0, e_2, e_3 = fractions(values, "eps_0", "eps_2", "eps_3")
    thresholds = inside(("eps_0", e_0), ("eps_2", e_2), ("eps_3", e_3))
    assumes, missed = nearly_across(values, e_3 / (1 - e_0))
    m, q = int(values["m"]), [2 * ln / e_2**2 for ln in enclose("ln", 2 / e_0)]
    enough = Hypothesis("m, against q", m, ">=", q[1])
    right = 2 * (1 + 2 / e_0) ** 2 * enclose("exp", -(e_3**2) * m / 30)[1] + q[0] ** -10
    return Violation(
        1 - missed,
        right,
        assumes=(*thresholds, *assumes, enough),
        reads="one client has m samples, d = 2, and cosine refers to the angle between a and a*. A smaller cosine and "
        "more samples violate the statement for any other c_5 and any constant in m = Omega(q). We compare a lower "
        "bound on the probability that the gradient is farther from its mean over all samples than (66) with the "
        "probability that is allowed for c_5 = 1/30",
    )


@replay("rolora/eq-65@expectation-of-49")
def eq_65_with_49(values: Values) -> Violation:
    """(74) fails where b is farther from g than Lemma A.9 says; eps_3 = 1/2, c_5 = 1/30."""
    assumes, level, q, root = failing_client(values)
    (e_0,) = fractions(values, "eps_0")
    net = (1 + 2 / e_0) ** int(values["d"])
    gradient = 2 * net * enclose("exp", -Fraction(thresholds(values).m, 120))[1]
    return Violation(
        2 * beyond(level, root),
        gradient + q**-10,
        assumes=assumes,
        reads=f"{READS}With eps_3 = 1/2 and c_5 = 1/30, (74) fails for |T| > eps', so with probability at least 2 "
        "p(eps'). For any other c_5 a smaller eps_2 violates the statement. We compare this probability with 2 exp(d "
        "log(1 + 2/eps_0) - m/120) + q^-10",
    )


@replay("rolora/eq-65@on-the-events")
def eq_65_events(values: Values) -> Violation:
    """Compare (67) with (68) for a b* across a, so a'(b - g) = 0; squares, over the length of b and the factor.

    In the plane of a and u, with a* = c a + delta u and b = (c + kappa delta) b*, the matrix of (67) is
    (kappa delta a - delta u) b*'.
    """
    sine, level, kappa = fractions(values, "sine", "level", "kappa")
    assumes = (
        Hypothesis("delta", sine, ">", 0),
        Hypothesis("delta", sine, "<", 1),
        Hypothesis("|b - g| over delta |b*|, against eps'", abs(kappa), "<=", level),
    )
    return Violation(
        (kappa**2 + 1) * sine**2,
        sine**2,
        assumes=assumes,
        reads="b* has length 1 and is orthogonal to a, delta = sine, level = eps' and b - g = kappa delta b*. We "
        "compare the square of the operator norm in (67), which is delta^2 (1 + kappa^2), with the square of the "
        "bracket in (68), which is delta^2",
    )


@proof("rolora/eq-65")
def eq_65(one: Fraction = Fraction(1), power: Fraction = Fraction(1)) -> str:
    r"""(65) is [Lemma A.7](rolora--lem-A.7.md) and (66) the event of (62).

    This holds for any vector that replaces the expectation in both. With the matrix of (67) in (68) the rest is
    elementary. $ag^\top = aa^\top a^*b^{*\top}$ gives (67); (68), (70) and (71) are triangle inequalities, (69) norms
    of rank one, (72) is $\|g\| \le \|b^*\|$, (74) the event of (42), and (75) $(\delta^t)^2 \le \delta^t$.
    """
    nearest_point_of_a_net(Fraction(1))
    deviation(one, power)
    return "we use an identity of matrices, norms of matrices of rank one, and the signs of coefficients"
