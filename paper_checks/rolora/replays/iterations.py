"""Replays of the claims in ``iterations``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import enclosed
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.rolora.replays.gradient import MANY_SAMPLES, learning_rate
from paper_checks.rolora.replays.minimiser import thresholds
from paper_checks.stored_values import Values, fractions


def inside(name: str, value: Fraction, high: Fraction | int = 1) -> tuple[Hypothesis, Hypothesis]:
    """A number in (0, high)."""
    return Hypothesis(name, value, ">", 0), Hypothesis(name, value, "<", high)


def iteration_count(values: Values) -> Violation:
    """Both numbers of iterations; printed is exact > simple, so the witness has simple > exact."""
    delta_0, c, quotient, root = fractions(values, "delta_0", "c", "quotient", "root")
    y = c * (1 - delta_0**2)
    assumes = assuming(
        *inside("delta_0", delta_0),
        *inside("c", c),
        *inside("epsilon / delta_0", quotient),
        Hypothesis("factor of the logarithm", root, ">=", 1),
    )
    low, high = enclosed("ln", 1 / quotient)
    return Violation(
        root * low / y,
        root * high / enclosed("ln", 1 / (1 - y))[0],
        assumes=assumes,
        reads="quotient = epsilon / delta_0, y = c (1 - delta_0^2); root log(1/quotient)/y, from below, "
        "against root log(quotient)/log(1 - y), from above, which is printed to be larger",
    )


@replay("rolora/eq-172")
def eq_172_as_printed(values: Values) -> Violation:
    """The order of eqs. (172) and (173)."""
    return iteration_count(values)


@replay("rolora/eq-168")
def eq_168_as_printed(values: Values) -> Violation:
    """An angle that is recovered although (168) is not met, by squares."""
    delta_0, c, quotient = fractions(values, "delta_0", "c", "quotient")
    T = int(values["T"])
    square, wanted = delta_0**2, (quotient * delta_0) ** 2
    first = square
    for _ in range(min(max(T, 0), 6)):
        square = square * (1 - 2 * c * (1 - square)) ** 2 / (1 + 4 * c**2 * square * (1 - square))
    assumes = assuming(
        *inside("delta_0", delta_0),
        Hypothesis("c", c, ">", 0),
        Hypothesis("c = eta |b*|^2, against 1/2", c, "<=", Fraction(1, 2)),
        Hypothesis("epsilon / delta_0", quotient, ">", 0),
        Hypothesis("T, for exact squares", T, "<=", 6),
        Hypothesis("delta_T^2, against epsilon^2", square, "<=", wanted),
    )
    return Violation(
        first * (1 - c * (1 - first)) ** T,
        wanted,
        assumes=assumes,
        reads="unlimited samples, c = eta |b*|^2, epsilon = quotient delta_0: u = delta^2 becomes "
        "u (1 - 2c(1 - u))^2/(1 + 4c^2 u(1 - u)), T times; delta_0^2 (1 - c(1 - delta_0^2))^T against epsilon^2, which "
        "the square of the angle distance at T does not exceed",
    )


@replay("rolora/a4-first-step", square="delta_0^2", step="eta |b*|^2")
def a4_first_step_as_printed(values: Values) -> Violation:
    """One step with unlimited samples, by squares of coordinates: a = (c, d), a* = (1, 0), b* = 1."""
    square, s = fractions(values, "square", "step")
    x = 1 - square
    # a+ = a(1 - 2 s c^2) + 2 s c a*: coordinates c(1 - 2 s x) + 2 s c and d(1 - 2 s x); both squared.
    along, across = x * (1 - 2 * s * x + 2 * s) ** 2, square * (1 - 2 * s * x) ** 2
    assumes = (*inside("delta_0^2", square), *learning_rate(s))
    return Violation(
        across / (along + across),
        square * (1 - s * x),
        assumes=assumes,
        reads=f"{MANY_SAMPLES}; delta_1^2 against that of the bound",
    )


@replay("rolora/eq-124", delta="delta_t", step="eta |b*|^2", eps="eps'")
def eq_124_as_printed(values: Values) -> Violation:
    """Eq. (144) with a mean of minimisers that is exact, divided by delta."""
    delta, s, eps = fractions(values, "delta", "step", "eps")
    x = 1 - delta**2
    assumes = (*inside("delta", delta), *learning_rate(s), *inside("eps', against (1 - delta^2)/16", eps, x / 16))
    return Violation(
        abs(1 - 2 * s * x), abs(1 - 2 * s * (x - eps)), assumes=assumes, reads="b = g; both sides of (144) over delta"
    )


@replay("rolora/eq-175")
def eq_175_as_printed(values: Values) -> Violation:
    """The sum of (179) and the right side of (180), over |b*|, for an angle below eps."""
    level, delta, eps, first = fractions(values, "level", "delta", "target", "first")
    assumes = (
        *inside("delta_0", first),
        *inside("eps', against (1 - delta_0^2)/16", level, (1 - first**2) / 16),
        Hypothesis("eps, against delta_0", eps, "<", first),
        Hypothesis("delta_T", delta, ">", 0),
        Hypothesis("delta_T, against eps", delta, "<=", eps),
    )
    return Violation(
        abs(level * delta + delta - (1 + level) * eps),
        0,
        assumes=assumes,
        reads="first = delta_0, level = eps', delta = delta_T, target = eps; distance "
        "of (179) from (180), printed as equal",
    )


def one_iteration(values: Values) -> Violation:
    """One client in the plane, any step: a lower bound of the probability that it misses C.

    The step turns a by an angle whose tangent is a positive number times R, m R a chi-square of k = m - 1 degrees of
    freedom, and has to end within psi of a*, sin psi = C delta_0. So log R lies in an interval of length
    log(tan(theta + psi) / tan(theta - psi)) <= 2 psi / (sin(theta - psi) cos(theta + psi)), with psi <= 1.01 C delta_0,
    sin(theta - psi) >= delta_0 (1 - 2 C), cos(theta + psi) >= 1 - 4 delta_0^2. The density of log R is at most
    sqrt(k / (4 pi)) (Stirling), and pi > 3.
    """
    at = thresholds(values)
    c, delta_0 = fractions(values, "c", "delta_0")
    assumes = assuming(*at.assumes, *inside("c", c), *inside("delta_0", delta_0))
    bound = enclosed("sqrt", 1 - c * (1 - delta_0**2))[1]
    assumes += (
        Hypothesis("N, for which the law is exact", int(values["N"]), "=", 1),
        Hypothesis("d", int(values["d"]), "=", 2),
        Hypothesis("C, for the estimates", bound, "<", Fraction(1, 10)),
    )
    length = Fraction(202, 100) * bound / ((1 - 2 * bound) * (1 - 4 * delta_0**2))
    within = enclosed("sqrt", Fraction(at.m - 1, 12))[1] * length
    return Violation(
        1 - within,
        Fraction(2, 2**10),
        assumes=assumes,
        given={"sqrt(1 - c (1 - delta_0^2)), from above": bound, "length of the interval, from above": length},
        reads="one client, d = 2, m = C q samples, q of Lemma 5.3, any step: it turns a by an angle whose tangent is "
        "a number times R, m R a chi-square of m - 1 degrees of freedom, and keeps the factor only if log R is in an "
        "interval of length 2.02 f /((1 - 2 f)(1 - 4 delta_0^2)), f = sqrt(1 - c (1 - delta_0^2)); the density of "
        "log R is at most ((m - 1)/12)^(1/2). Probability that the first iteration misses the factor, from below, "
        "and 2 max{log N, d}^-10; for a larger C a c nearer to 1 and a smaller delta_0 do the same",
    )


a4_c_as_printed = replay("rolora/a4-c")(one_iteration)
eq_167_as_printed = replay("rolora/eq-167")(one_iteration)
