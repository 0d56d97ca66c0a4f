"""Replays of the claims in ``running_text``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.rolora.replays.gradient import learning_rate
from paper_checks.stored_values import Values


@replay("rolora/txt-exponential")
def txt_exponential_as_printed(values: Values) -> Violation:
    """The rate at the minimiser, by the exact recursion of the squared tangent of the angle.

    One iteration on the expected loss maps T to T ((1 + T - 2k) / (1 + T + 2kT))^2, so that T'/T tends to (1 - 2k)^2
    as T tends to 0; exponential convergence to 0 needs a limit below 1.
    """
    step = Fraction(values["step"])

    def iterate(a_along: Fraction, a_across: Fraction) -> tuple[Fraction, Fraction]:
        # a = along a* + across; a <- a - 2k c^2 a + 2k c a*, with c the cosine, up to normalisation.
        cosine_squared = a_along**2 / (a_along**2 + a_across**2)
        # 2k c a* in units in which a has length |a|: c |a| = along.
        factor = 1 - 2 * step * cosine_squared
        return a_along * factor + 2 * step * a_along, a_across * factor

    along, across = iterate(Fraction(1), Fraction(1, 10**9))
    slope = abs(across / along) * 10**9
    assumes = (
        *learning_rate(step),
        Hypothesis(
            "one iteration at T = 1e-18, against the limit", abs(slope - abs(1 - 2 * step)), "<=", Fraction(1, 10**15)
        ),
    )
    return Violation(
        (1 - 2 * step) ** 2,
        Fraction(1),
        assumes=assumes,
        strict=True,
        reads="unlimited samples, kappa = step = eta ||b*||^2; limit of T'/T = ((1 + T - 2 kappa)/(1 + T + 2 kappa "
        "T))^2 as the squared tangent T goes to 0, which exponential convergence needs below 1",
    )
