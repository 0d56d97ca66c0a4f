"""Algorithm 4: FedLin, executed and compared with its text."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@replay("fedlrt/alg-4")
def alg_4_as_printed(values: Values) -> Violation:
    """Follow line 9 from a stationary point: clients with losses h (w - c)^2 / 2 of one number."""
    curvatures = [Fraction(h) for h in values["curvatures"]]
    centres = [Fraction(c) for c in values["centres"]]
    rate, steps = Fraction(values["rate"]), int(values["steps"])
    slope = sum((h * -c for h, c in zip(curvatures, centres, strict=True)), Fraction(0)) / len(centres)  # of the mean
    ends = []
    for h, c in zip(curvatures, centres, strict=True):
        w, correction = Fraction(0), slope - h * -c
        for _ in range(steps):
            w = w - rate * h * (w - c) + correction
        ends.append(w)
    assumes = (
        Hypothesis("gradient of the mean loss at 0", slope, "=", 0),
        *(Hypothesis(f"h of client {c}", h, ">", 0) for c, h in enumerate(curvatures, 1)),
        Hypothesis("learning rate", rate, ">", 0),
        Hypothesis("local steps", steps, ">=", 1),
    )
    mean = sum(ends, Fraction(0)) / len(ends)
    return Violation(
        abs(mean),
        Fraction(0),
        assumes=assumes,
        reads="for the losses h (w - c)^2 / 2 of one number, we compute how far the next weight is from 0, the "
        "minimiser of their mean, where the round starts",
    )


@proof("fedlrt/alg-4")
def alg_4(inside: Fraction = Fraction(1)) -> str:
    r"""With $V_c = G - G_c$ inside the bracket a step is along $\nabla \mathcal{L}_c(w) - (G_c - G)$, as in (4).

    At a stationary point of the global loss G = 0; a client at that point steps along $G_c + 0 - G_c = 0$ and
    stays, by induction over the steps.
    """
    w, rate, slope, G, G_c = sympy.symbols("w lambda g G G_c")
    box = w - inside * rate * (slope + (G - G_c))
    require(sympy.expand(box - (w - rate * (slope - (G_c - G)))) == 0, "not the step of (4)")
    require(sympy.expand(box.subs({G: 0, slope: G_c}) - w) == 0, "a stationary point moves")
    return "the step equals the step in (4) for any gradients, and it is 0 if the global gradient is 0"
