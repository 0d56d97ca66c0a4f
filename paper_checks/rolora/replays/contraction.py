"""Replays of the claims in ``contraction``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import enclosed, rational_root
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.rolora.replays.gradient import MANY_SAMPLES, learning_rate, own_samples
from paper_checks.rolora.replays.minimiser import thresholds
from paper_checks.stored_values import Values, fractions


def setting(step: Fraction, D: Fraction) -> list[Hypothesis]:
    """A step of at most 1/|b*|^2 and an angle."""
    return [
        *learning_rate(step),
        Hypothesis("D = 1 - delta_0^2", D, ">", 0),
        Hypothesis("D = 1 - delta_0^2", D, "<", 1),
    ]


def threshold(name: str, eps: Fraction, D: Fraction) -> list[Hypothesis]:
    """A threshold below D/16."""
    return [Hypothesis(name, eps, ">", 0), Hypothesis(f"{name}, against (1 - delta_0^2)/16", eps, "<", D / 16)]


@replay(
    "rolora/lem-A.11",
    share="step, eta |b*|^2",
    D="1 - delta_0^2",
    place="place of the squared cosine between that of the first angle, 0, and 1",
)
def lem_A_11_as_printed(values: Values) -> Violation:
    """One step for infinitely many samples, in the plane of a and a*, from coordinates; squares of both sides."""
    s, D, place = fractions(values, "share", "D", "place")
    u = D + (1 - D) * place  # squared cosine c^2 of the angle; a = c a* + d e with d^2 = 1 - u
    # a+ = a - 2 s c^2 a + 2 s c a*: along a* it is c (1 - 2 s u + 2 s), across d (1 - 2 s u).
    across = (1 - u) * (1 - 2 * s * u) ** 2
    along = u * (1 - 2 * s * u + 2 * s) ** 2
    return Violation(
        across / (along + across),
        (1 - u) * (1 - s * D),
        assumes=[*setting(s, D), Hypothesis("place", place, ">=", 0), Hypothesis("place", place, "<=", 1)],
        reads=f"squared cosine of the angle D + (1 - D) place; {MANY_SAMPLES}; squares of the next angle distance and "
        "of its bound",
    )


@replay("rolora/eq-100", step="eta |b*|^2", D="1 - delta_0^2", eps="eps'", delta="delta_t")
def eq_100_as_printed(values: Values) -> Violation:
    """E_1 over delta at b = g."""
    s, D, eps, delta = fractions(values, "step", "D", "eps", "delta")
    square = 1 - delta**2  # |b|^2 / |b*|^2, the squared cosine
    assumes = [
        *setting(s, D),
        *threshold("eps'", eps, D),
        Hypothesis("delta_t", delta, ">", 0),
        Hypothesis("delta_t^2, against delta_0^2", delta**2, "<=", 1 - D),
    ]
    return Violation(
        abs(1 - 2 * s * square),
        abs(1 - 2 * s * (D - eps)),
        assumes=assumes,
        reads="b = g, so that |b|^2 / |b*|^2 = 1 - "
        "delta^2; E_1 over delta, |1 - 2 step (1 - delta^2)|, against (101), |1 - 2 step (D - eps)|",
    )


@replay("rolora/eq-117", step="eta |b*|^2", delta="delta_t = delta_0", eps="eps'", tilde="eps~")
def eq_117_as_printed(values: Values) -> Violation:
    """(E_1 + E_2)/|a+| is not negative, and its bound C delta is, by the sign of its numerator."""
    s, delta, eps, tilde = fractions(values, "step", "delta", "eps", "tilde")
    D, shift = 1 - delta**2, tilde * (1 + eps) ** 2
    under = 1 - 4 * s * (shift + eps**2 + eps)
    assumes = (
        *learning_rate(s),
        Hypothesis("delta_t = delta_0", delta, ">", 0),
        Hypothesis("delta_t = delta_0", delta, "<", 1),
        *threshold("eps'", eps, D),
        *threshold("eps~", tilde, D),
        Hypothesis("the condition on the thresholds, D", D, ">", max(4 * (shift + eps**2 + eps), 2 * eps + 2 * shift)),
        Hypothesis("what is under the root of C", under, ">", 0),
    )
    return Violation(
        0,
        1 - 2 * s * (D - eps) + 2 * s * shift,
        assumes=assumes,
        given={"E_1 over delta at b = g": abs(1 - 2 * s * D)},
        reads="D = 1 - delta^2; 0, which E_1 + E_2 is at least, against the numerator of C, 1 - 2 step (D - eps) + 2 "
        "step tilde (1 + eps)^2",
    )


ONE_STEP = (
    "one client, aa, au, uu: entries of X'X/m in the basis of a and u, a* = cosine a + sine u, b* = 1, b = cosine + "
    "sine au/aa; over all samples the gradient has the mean 0 along a and -2 cosine sine (1 - 1/m) along u"
)


def one_step(values: Values) -> tuple[tuple[Hypothesis, ...], dict[str, Fraction], Fraction]:
    """The samples of one client, and the learning rate of a step."""
    assumes, at = own_samples(values)
    (s,) = fractions(values, "s")
    return (*assumes, *learning_rate(s)), at, s


@replay("rolora/eq-81")
def eq_81_as_printed(values: Values) -> Violation:
    """Both sides along the unit vector v across a*, for which P a = -sine v and P u = cosine v; a'grad is 0."""
    assumes, at, s = one_step(values)
    cosine, sine = fractions(values, "cosine", "sine")
    left = -sine - s * cosine * at["across"]
    right = -sine * (1 - 2 * s * at["b"] ** 2) + s * cosine * (at["mean"] - at["across"])
    return Violation(
        abs(left - right),
        0,
        assumes=assumes,
        given={"P a+": left, "(85)": right},
        reads=f"{ONE_STEP}; distance of both sides of (85), along the unit vector across a*",
    )


@replay("rolora/eq-86")
def eq_86_as_printed(values: Values) -> Violation:
    """The step along P a, before it is normalised, in the plane; |grad - mean grad| is 0."""
    assumes, at, s = one_step(values)
    cosine, sine = fractions(values, "cosine", "sine")
    off = abs(at["across"] - at["mean"])  # along a both are 0
    # P a = -sine v and P u = cosine v for the unit vector v across a*.
    return Violation(
        abs(-sine - s * cosine * at["across"]),
        sine * abs(1 - 2 * s * at["b"] ** 2) + s * off,
        assumes=assumes,
        reads=f"{ONE_STEP}; both sides of (88) times the length of the step",
    )


@replay("rolora/eq-110")
def eq_110_as_printed(values: Values) -> Violation:
    """The mean along a is 0, since a'grad is 0 on all samples; (112) by b and g."""
    assumes, at, s = one_step(values)
    (cosine,) = fractions(values, "cosine")
    gap = at["b"] - cosine
    return Violation(
        abs(4 * s * (gap * cosine + gap**2)),
        0,
        assumes=assumes,
        reads=f"{ONE_STEP}; size of (112), where the left side of (110) is 0",
    )


def failing(values: Values) -> tuple[tuple[Hypothesis, ...], Fraction, Fraction, Fraction]:
    """One client with m >= C q, a at the angle of sine 3/5: what is assumed, eps', q from below, and sqrt(m/2)."""
    at = thresholds(values)
    level = at.e[2] / ((1 - at.e[0]) * (1 - at.e[1]))
    assumes = (
        *at.assumes,
        Hypothesis("N, for which the law is exact", int(values["N"]), "=", 1),
        Hypothesis("eps', against (1 - delta_0^2)/16", level, "<", Fraction(1, 25)),
        Hypothesis("m, for the far tail", at.m, ">=", 1000),
    )
    return assumes, level, at.q[0], enclosed("sqrt", Fraction(at.m, 2))[1]


def beyond(bound: Fraction, root: Fraction) -> Fraction:
    """Lower bound of P(T > bound), by the proof of Lemma A.9: exp(-(x + 1)^2)/2 with x = bound sqrt(m/2)."""
    return enclosed("exp", -((bound * root + 1) ** 2))[0] / 2


FAR = Fraction(1, 2**500)
"""P(T > 1) is at most 2^(-m/2), the mean of exp(-chi^2_m / 2), which is no larger for m >= 1000."""
READS = (
    "one client, delta = 3/5, m = C q samples; with standard normal z = Xa, w = Xu the minimiser is cosine + delta T, "
    "T = z'w/|z|^2, and P(T > x) >= p(x) = exp(-(x (m/2)^(1/2) + 1)^2)/2 by the proof of Lemma A.9; "
    "for any C a smaller eps_2 keeps these p from falling and makes q as large as one likes; "
)


def missing(bound: Fraction, root: Fraction) -> tuple[Fraction, Fraction]:
    """A lower bound of P(|grad - E grad| > 2 delta bound), for (49) and for the mean over all samples, and the x of it.

    Along a the gradient is 0 and (49) is 2 delta T (cosine + delta T). Across it the gradient misses its mean by 2
    delta |cosine (R - 1 + 1/m) + delta T R|, m R a chi-square of m - 1 degrees of freedom that T is independent of:
    for R >= 9/10, by Chebyshev at least every second time for m >= 1000, and one sign of T more than 2 delta^2 |T|
    9/10.
    """
    x = bound * Fraction(50, 27)
    return beyond(x, root) / 2, x


@replay("rolora/eq-107")
def eq_107_as_printed(values: Values) -> Violation:
    """(109) fails where the gradient misses its expectation by more than 2 eps' (1 + eps')^2."""
    assumes, level, q, root = failing(values)
    left, x = missing(level * (1 + level) ** 2 * Fraction(5, 3), root)
    return Violation(
        left,
        2 * q**-10,
        assumes=assumes,
        given={"x": x},
        reads=f"{READS}(109) fails with probability at least p(x)/2, x = 250/81 eps' (1 + eps')^2, whether (49) or the "
        "mean over all samples is meant; against 2 q^-10",
    )


@replay("rolora/eq-90")
def eq_90_as_printed(values: Values) -> Violation:
    """(91) fails where the gradient misses its expectation by more than 2 eps~ (1 + eps')^2 delta; eps_3 = eps_2."""
    assumes, level, q, root = failing(values)
    e_0, e_2 = fractions(values, "eps_0", "eps_2")
    left, x = missing(e_2 / (1 - e_0) * (1 + level) ** 2, root)
    return Violation(
        left,
        2 * q**-10,
        assumes=assumes,
        given={"x": x},
        reads=f"eps_3 = eps_2, {READS}(91) fails with probability at least p(x)/2, x = 50/27 eps~ (1 + eps')^2, "
        "whether (49) or the mean over all samples is meant; against 2 q^-10",
    )


@replay("rolora/eq-92")
def eq_92_as_printed(values: Values) -> Violation:
    """|b| = |cosine + delta T| |b*|, and (95) fails for eps' < -T < 2 cosine/delta - eps', which is more than 1."""
    assumes, level, q, root = failing(values)
    return Violation(
        beyond(level, root) - FAR,
        q**-10,
        assumes=assumes,
        reads=f"{READS}(95) fails for eps' < -T <= 1, with probability at least p(eps') - 2^-500; against q^-10",
    )


@replay("rolora/eq-96")
def eq_96_as_printed(values: Values) -> Violation:
    """At delta_t = delta_0: with y = -T, |b|^2 lacks 2 delta cosine y - delta^2 y^2 of cosine^2, in units of |b*|^2.

    That is 24/25 y - 9/25 y^2, which rises up to y = 4/3, and at y = 5/4 eps' it is 6/5 eps' - 9/16 eps'^2 > eps'. So
    (99) fails for 5/4 eps' <= y <= 1.
    """
    assumes, level, q, root = failing(values)
    return Violation(
        beyond(Fraction(5, 4) * level, root) - FAR,
        q**-10,
        assumes=assumes,
        reads=f"{READS}at delta_t = delta_0 (99) fails for 5/4 eps' < -T <= 1, with probability at least p(5/4 eps') - "
        "2^-500; against q^-10",
    )


@replay("rolora/eq-107@on-the-events")
def eq_107_events(values: Values) -> Violation:
    """One client in the plane of a and u, X'X/m = diag(1, uu) and b* = 1: b = g = cosine b*, so that M b = -sine u g.

    The deviation is 2 (X'X/m - I) M b, which is 2 (1 - uu) sine cosine along u; for eps_3 >= |uu - 1| the event of (62)
    occurs for every net.
    """
    uu, sine, s, eps, eps_3 = fractions(values, "uu", "sine", "s", "eps", "eps_3")
    cosine = rational_root(1 - sine**2)
    assumes = (
        Hypothesis("X'X/m along u", uu, ">", 0),
        Hypothesis("|uu - 1|, against eps_3", abs(uu - 1), "<=", eps_3),
        Hypothesis("eps_3", eps_3, "<", 1),
        Hypothesis("eps', which bounds |b - g| = 0", eps, ">", 0),
        Hypothesis("eps', against (1 - delta_0^2)/16", eps, "<", (1 - sine * sine) / 16),
        Hypothesis("eta |b*|^2", s, "<=", 1),
    )
    return Violation(
        4 * s * abs(uu - 1) * sine * cosine,
        4 * s * eps * (eps + 1) ** 2,
        assumes=assumes,
        reads="one client, X'X/m = diag(1, uu) in the basis of a and u, a* = cos a + sine u; (108) and the bound of "
        "(109)",
    )
