"""Replays of the claims in ``freezing`` and ``freezing_steps``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("rolora/eq-207")
def eq_207(values: Values) -> Violation:
    """The square of a sum against both sums with the printed limits, for two clients."""
    s_1, s_2 = fractions(values, "s1", "s2")
    printed = s_2**2 + 2 * s_1 * s_2
    return Violation(abs(printed - s_2**2), 0, reads="N = 2: right side minus left side")


def _small(values: Values, printed: Fraction) -> Violation:
    """At m = 1, E[1/chi^2] is infinite; truncated to 1/chi^2 <= K it exceeds any number, here what is printed.

    For a standard normal g, E[min(1/g^2, K)] >= K P(g^2 <= 1/K) >= K * 2 * density(1) / sqrt(K) for K >= 1, and the
    density at 1 is above 6/25; the expectation printed is smaller than a part of the true one.
    """
    N, m = int(values["N"]), int(values["m"])
    alpha = Fraction(values["alpha"])
    unmet = "" if N >= 2 and m == 1 and 0 < alpha < 1 else "two clients or more, one sample, delta_0 in (0, 1)"
    K = 10**4
    part = Fraction(2 * 6, 25) * 100  # K / sqrt(K) = 100
    lower = Fraction(N - 1, N**2) * (1 - alpha**2) * part  # m E[z_2^2] with the smaller part of E[R^2]
    return Violation(lower, printed, unmet=unmet,
                     reads=f"a part of the expectation (1/chi^2 cut at {K}) against the formula")  # fmt: skip


@replay("rolora/eq-205")
def eq_205(values: Values) -> Violation:
    """E[u_2'u_2] at one sample: an infinite expectation against a negative number."""
    N, m, alpha = int(values["N"]), int(values["m"]), Fraction(values["alpha"])
    printed = Fraction(m, N**2) * ((N - 1) ** 2 * alpha**2 + (N - 1) * (1 - alpha**2) / (m - 2))
    return _small(values, printed)


@replay("rolora/eq-241")
def eq_241(values: Values) -> Violation:
    r"""The loss at one sample.

    With $\bar s = \alpha + \beta\bar t$, the loss of client 1 is $\beta^2(y_1 - \bar tx_1)^2$ for m = 1, and its
    expectation, by independence and symmetry, is at least $\beta^2E[\bar t_2^2x_1^2]$, with $\bar t_2$ of the others.
    """
    N, m, alpha = int(values["N"]), int(values["m"]), Fraction(values["alpha"])
    printed = (1 - alpha**2) * (1 + Fraction(N * (4 - m) - 2, N**2 * m * (m - 2)))
    return _small(values, printed)


@replay("rolora/s5-saturate")
def s5_saturate(values: Values) -> Violation:
    """The objective at the best multiple of b*, entry by entry; the statement has it positive."""
    X, target, a, b_star = ([[Fraction(x) for x in row] for row in values["X"]],
                            *([Fraction(x) for x in values[name]] for name in ("target", "a", "b")))  # fmt: skip
    ours, theirs = ([sum(x * y for x, y in zip(row, v, strict=True)) for row in X] for v in (a, target))
    parallel = all(a[i] * target[j] == a[j] * target[i] for i in range(len(a)) for j in range(i))
    below = sum(u * u for u in ours)
    s = sum(u * v for u, v in zip(ours, theirs, strict=True)) / below if below else Fraction(0)
    value = sum((v * b - u * s * b) ** 2 for u, v in zip(ours, theirs, strict=True) for b in b_star)
    unmet = "" if not parallel and any(b_star) else "a start that is not parallel to the truth, and b* that is not 0"
    return Violation(Fraction(0), value, unmet=unmet, strict=True, reads="0 < the objective at b = s b*")
