"""Second evaluations in fractions: FedAvg is run, from the claimed end, instead of solved."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, followed

LEAST = Fraction(1, 10)


def run_to_end(values: Values) -> tuple[Any, ...]:
    """Return hypotheses, E, step, minimiser, and the distance from it to the end of FedAvg.

    A round maps w to an affine function of it. Two rounds, from 0 and from 1, give both coefficients.
    """
    a, b, E, step = Fraction(values["a"]), Fraction(values["b"]), followed(values, "E", 300), Fraction(values["step"])
    assumes = assuming(
        Hypothesis("a", a, ">", 0),
        Hypothesis("b", b, ">=", a),
        Hypothesis("E", E, ">", 1),
        Hypothesis("step", step, ">", 0),
        Hypothesis("step b", step * b, "<=", 1),
    )

    def after_a_round(w: Fraction) -> Fraction:
        first = second = w
        for _ in range(E):
            first, second = first - step * a * first, second - step * b * (second - 1)
        return (first + second) / 2

    start = after_a_round(Fraction(0))
    end = start / (1 - (after_a_round(Fraction(1)) - start))
    minimiser = b / (a + b)
    return assumes, E, step, minimiser, abs(end - minimiser)


@replay("fedavg-quadratics/thm-4@small-enough-for-the-problem")
def thm_4(values: Values) -> Violation:
    """A tenth of (E - 1) times the step against the distance."""
    assumes, E, step, minimiser, distance = run_to_end(values)
    return Violation(
        LEAST * (E - 1) * step * minimiser, distance, assumes=assumes, reads="0.1 (E - 1) eta w* against the distance"
    )


@replay("fedavg-quadratics/abstract@on-all-such-data")
def abstract(values: Values) -> Violation:
    """A tenth of the step against the distance."""
    assumes, _, step, minimiser, distance = run_to_end(values)
    return Violation(LEAST * step * minimiser, distance, assumes=assumes, reads="0.1 eta w* against the distance")
