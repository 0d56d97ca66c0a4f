"""The listed algorithm for one weight and one client, followed in fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation
from paper_checks.stored_values import Values, followed, fractions

ONE_WEIGHT = (
    "the model is one weight w = W + alpha A B with the loss (w - target)^2/2, and each round takes one step in both "
    "factors. We compute the "
)

REACHED = "distance of the returned model from the model reached in round T"

EITHER = f"{REACHED}, with W as at the start or as the box has updated it, whichever is closer"


@dataclass
class Single:
    """One weight and one client with loss (w - target)^2 / 2; one step in both factors a round, at once."""

    W: Fraction
    A: Fraction
    B: Fraction
    target: Fraction
    alpha: Fraction
    rate: Fraction

    def step(self, extra: Fraction = Fraction(0)) -> None:
        """Take a step of eq. (7), with something else in the model."""
        slope = self.rate * self.alpha * (self.W + self.alpha * self.A * self.B + extra - self.target)
        self.A, self.B = self.A - slope * self.B, self.B - slope * self.A


def start(values: Values, most: int = 8) -> tuple[Single, int, int, list[Hypothesis]]:
    """Return the run, tau, T, and what is assumed; at most so many rounds are followed."""
    single = Single(*fractions(values, "W", "A", "B", "target", "alpha", "rate"))
    tau, T = int(values["tau"]), followed(values, "rounds", most)
    assumes = [
        Hypothesis("tau", tau, ">=", 1),
        Hypothesis("T, against tau", T, ">=", tau),
        Hypothesis("learning rate", single.rate, ">", 0),
    ]
    return single, max(tau, 1), T, assumes


def listing(values: Values) -> Violation:
    """Return how far, right after an accumulation, the model is from the one that training reached: no restart."""
    run, tau, T, assumes = start(values)
    gaps = [Fraction(0)]
    for t in range(1, T + 1):
        run.step()
        if t % tau == 0 and t < T:
            trained = run.W + run.alpha * run.A * run.B
            run.W += run.alpha * run.A * run.B
            gaps.append(abs(run.W + run.alpha * run.A * run.B - trained))
    return Violation(
        max(gaps),
        0,
        assumes=assumes,
        reads=ONE_WEIGHT + "distance between the model that was reached and the model from which training continues "
        "after an accumulation, which contains alpha A B twice, in W and next to it",
    )
