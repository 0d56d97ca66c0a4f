"""One step of one client on its samples, and how likely it is that a bound on it fails."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, Violation
from paper_checks.rolora.replays.shared.own_samples import learning_rate, own_samples
from paper_checks.rolora.replays.shared.thresholds import thresholds
from paper_checks.stored_values import Values, fractions


def setting(step: Fraction, D: Fraction) -> list[Hypothesis]:
    """Return the hypotheses of a step of at most 1/|b*|^2 and of an angle."""
    return [
        *learning_rate(step),
        Hypothesis("D = 1 - delta_0^2", D, ">", 0),
        Hypothesis("D = 1 - delta_0^2", D, "<", 1),
    ]


def threshold(name: str, eps: Fraction, D: Fraction) -> list[Hypothesis]:
    """Return the hypotheses of a threshold below D/16."""
    return [Hypothesis(name, eps, ">", 0), Hypothesis(f"{name}, against (1 - delta_0^2)/16", eps, "<", D / 16)]


ONE_STEP = (
    "for one client, aa, au and uu are the entries of X'X/m in the basis of a and u, a* = cosine a + sine u, b* = 1 "
    "and b = cosine + sine au/aa. Over all samples the mean of the gradient is 0 along a and -2 cosine sine (1 - 1/m) "
    "along u"
)


def one_step(values: Values) -> tuple[tuple[Hypothesis, ...], dict[str, Fraction], Fraction]:
    """Return the samples of one client, and the learning rate of a step."""
    assumes, at = own_samples(values)
    (s,) = fractions(values, "s")
    return (*assumes, *learning_rate(s)), at, s


def failing_client(values: Values) -> tuple[tuple[Hypothesis, ...], Fraction, Fraction, Fraction]:
    """Return what is assumed of one client with m >= C q, a at the sine 3/5; eps', q from below, and sqrt(m/2)."""
    at = thresholds(values)
    level = at.e[2] / ((1 - at.e[0]) * (1 - at.e[1]))
    assumes = (
        *at.assumes,
        Hypothesis("N, for which the law is exact", int(values["N"]), "=", 1),
        Hypothesis("eps', against (1 - delta_0^2)/16", level, "<", Fraction(1, 25)),
        Hypothesis("m, for the far tail", at.m, ">=", 1000),
    )
    return assumes, level, at.q[0], enclose("sqrt", Fraction(at.m, 2))[1]


def beyond(bound: Fraction, root: Fraction) -> Fraction:
    """Bound P(T > bound) from below, by the proof of Lemma A.9: exp(-(x + 1)^2)/2 with x = bound sqrt(m/2)."""
    return enclose("exp", -((bound * root + 1) ** 2))[0] / 2


READS = (
    "one client has m = C q samples, and delta = 3/5. With the standard normal vectors z = Xa and w = Xu the "
    "minimiser is cosine + delta T, where T = z'w/|z|^2 and P(T > x) >= p(x) = exp(-(x (m/2)^(1/2) + 1)^2)/2 by the "
    "proof of Lemma A.9. For any C, a smaller eps_2 does not decrease these p(x) and makes q arbitrarily large. "
)


def missing_probability(bound: Fraction, root: Fraction) -> tuple[Fraction, Fraction]:
    """A lower bound on P(|grad - E grad| > 2 delta bound), for (49) and for the mean over all samples, and the x of it.

    Along a the gradient is 0 and (49) is 2 delta T (cosine + delta T). Across it the gradient misses its mean by 2
    delta |cosine (R - 1 + 1/m) + delta T R|, m R a chi-square of m - 1 degrees of freedom that T is independent of:
    for R >= 9/10, by Chebyshev at least every second time for m >= 1000, and one sign of T more than 2 delta^2 |T|
    9/10.
    """
    x = bound * Fraction(50, 27)
    return beyond(x, root) / 2, x


def gradient_too_far(values: Values, line: str) -> Violation:
    """Return how likely a gradient misses its mean by more than 2 eps~ (1 + eps')^2 delta |b*|^2, against 2 q^-10."""
    assumes, level, q, root = failing_client(values)
    e_0, e_2 = fractions(values, "eps_0", "eps_2")
    left, x = missing_probability(e_2 / (1 - e_0) * (1 + level) ** 2, root)
    return Violation(
        left,
        2 * q**-10,
        assumes=assumes,
        given={"x": x},
        reads=f"{READS}With eps_3 = eps_2, ({line}) fails with probability at least p(x)/2, where x = 50/27 eps~ (1 + "
        "eps')^2, for (49) as well as for the mean over all samples. We compare this probability with 2 q^-10",
    )
