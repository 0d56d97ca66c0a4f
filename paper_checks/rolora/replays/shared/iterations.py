"""Numbers of iterations of both theorems, and one iteration of one client, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, Violation, assuming
from paper_checks.rolora.replays.shared.thresholds import thresholds
from paper_checks.stored_values import Values, fractions


def inside(name: str, value: Fraction, high: Fraction | int = 1) -> tuple[Hypothesis, Hypothesis]:
    """Return the hypotheses that a number is in (0, high)."""
    return Hypothesis(name, value, ">", 0), Hypothesis(name, value, "<", high)


def iteration_count(values: Values) -> Violation:
    """Compare both numbers of iterations; printed is exact > simple, so the witness has simple > exact."""
    delta_0, c, quotient, root = fractions(values, "delta_0", "c", "quotient", "root")
    y = c * (1 - delta_0**2)
    assumes = assuming(
        *inside("delta_0", delta_0),
        *inside("c", c),
        *inside("epsilon / delta_0", quotient),
        Hypothesis("factor of the logarithm", root, ">=", 1),
    )
    low, high = enclose("ln", 1 / quotient)
    return Violation(
        root * low / y,
        root * high / enclose("ln", 1 / (1 - y))[0],
        assumes=assumes,
        reads="with quotient = epsilon / delta_0 and y = c (1 - delta_0^2), we compare a lower bound on root "
        "log(1/quotient)/y with an upper bound on root log(quotient)/log(1 - y), which the paper prints as larger",
    )


def one_iteration(values: Values) -> Violation:
    """One client in the plane, any step: a lower bound on the probability that it misses C.

    The step turns a by an angle whose tangent is a positive number times R, m R a chi-square of k = m - 1 degrees of
    freedom, and has to end within psi of a*, sin psi = C delta_0. So log R lies in an interval of length
    log(tan(theta + psi) / tan(theta - psi)) <= 2 psi / (sin(theta - psi) cos(theta + psi)), with psi <= 1.01 C delta_0,
    sin(theta - psi) >= delta_0 (1 - 2 C), cos(theta + psi) >= 1 - 4 delta_0^2. The density of log R is at most
    sqrt(k / (4 pi)) (Stirling), and pi > 3.
    """
    at = thresholds(values)
    c, delta_0 = fractions(values, "c", "delta_0")
    assumes = assuming(*at.assumes, *inside("c", c), *inside("delta_0", delta_0))
    bound = enclose("sqrt", 1 - c * (1 - delta_0**2))[1]
    assumes += (
        Hypothesis("N, for which the law is exact", int(values["N"]), "=", 1),
        Hypothesis("d", int(values["d"]), "=", 2),
        Hypothesis("C, for the estimates", bound, "<", Fraction(1, 10)),
    )
    length = Fraction(202, 100) * bound / ((1 - 2 * bound) * (1 - 4 * delta_0**2))
    within = enclose("sqrt", Fraction(at.m - 1, 12))[1] * length
    return Violation(
        1 - within,
        Fraction(2, 2**10),
        assumes=assumes,
        given={"sqrt(1 - c (1 - delta_0^2)), from above": bound, "length of the interval, from above": length},
        reads="one client has m = C q samples with q as in Lemma 5.3, d = 2, and any step size is allowed. The step "
        "turns a by an angle whose tangent is a number times R, where m R is a chi-square variable with m - 1 degrees "
        "of freedom. It keeps the factor only if log R is in an interval of length 2.02 f /((1 - 2 f)(1 - 4 "
        "delta_0^2)) with f = sqrt(1 - c (1 - delta_0^2)), and the density of log R is at most ((m - 1)/12)^(1/2). "
        "For a larger C, a c nearer to 1 and a smaller delta_0 violate the statement. We compare a lower bound on the "
        "probability that the first iteration misses the factor with 2 max{log N, d}^-10",
    )
