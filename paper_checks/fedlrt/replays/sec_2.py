"""Section 2: the federated problem, FedAvg and FedLin (eqs. (1) to (4)).

Setting: `shared.update_symbols`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.update_symbols import RATE, g, g_c, g_s, same, w
from paper_checks.replay import Hypothesis, Violation, proof, replay
from paper_checks.stored_values import Values, followed


@replay("fedlrt/eq-1")
def eq_1_as_printed(values: Values) -> Violation:
    """Pool two clients with two samples each, of which they share the first: X has three samples."""
    shared, one, other = (Fraction(values[f"l_{number}"]) for number in range(3))
    samples = {"shared": shared, "of the first": one, "of the second": other}
    means = [Fraction(sum(pair), 2) for pair in ((shared, one), (shared, other))]
    return Violation(
        abs(Fraction(sum(samples.values()), len(samples)) - Fraction(sum(means), len(means))),
        Fraction(0),
        reads="X_1 and X_2 have two samples each and share the first, so their union X has three samples. We compute "
        "the distance between the loss of X and the mean of the two clients' losses",
    )


@proof("fedlrt/eq-1@no-sample-at-two-clients")
def eq_1(weight: Fraction = Fraction(1)) -> str:
    r"""For any C and any number m of samples of a client X has Cm samples, and both sides are linear in their losses.

    A sample that one client has counts $\frac1{Cm}$ in the mean over X, and $\frac1C\cdot\frac1m$ in the mean of the
    clients' means; one that is counted once for each of k clients counts k times that in both.
    """
    clients, samples = sympy.symbols("C m", positive=True, integer=True)
    times = sympy.Symbol("k", positive=True, integer=True)
    same(times / (clients * samples), weight * times / clients / samples, "another weight of a sample")
    return "we compare the weights of a sample in both means, for any C, m and k"


def parabolas(values: Values) -> tuple[list[tuple[Fraction, Fraction]], Fraction, int, list[Hypothesis]]:
    """Read clients with losses h (w - c)^2 / 2 of one number whose mean is least at 0."""
    pairs = [(Fraction(h), Fraction(c)) for h, c in zip(values["curvatures"], values["centres"], strict=True)]
    rate, steps = Fraction(values["rate"]), followed(values, "steps")
    assumes = [
        Hypothesis("gradient of the mean loss at 0", sum((-h * c for h, c in pairs), Fraction(0)), "=", 0),
        *(Hypothesis(f"h of client {number}", h, ">", 0) for number, (h, _) in enumerate(pairs, 1)),
        Hypothesis("learning rate", rate, ">", 0),
        Hypothesis("local steps", steps, ">=", 1),
    ]
    return pairs, rate, steps, assumes


@replay("fedlrt/eq-2")
def eq_2_as_printed(values: Values) -> Violation:
    """The first client from the minimiser of the mean: (2) as printed stays there, descent on its own loss does not."""
    pairs, rate, steps, assumes = parabolas(values)
    h, c = pairs[0]
    mean = sum((h for h, _ in pairs), Fraction(0)) / len(pairs)
    printed = own = Fraction(0)
    for _ in range(steps):
        printed -= rate * mean * printed
        own -= rate * h * (own - c)
    return Violation(
        abs(printed - own),
        0,
        assumes=assumes,
        reads="for the losses h (w - c)^2 / 2 of one number and a start at 0, the minimiser of their mean, we compute "
        "the distance between a step of (2) as printed and a descent step on the first client's own loss",
    )


@proof("fedlrt/eq-2@local-loss")
def eq_2(rate: Fraction = Fraction(1), more: int = 0) -> str:
    r"""With $\nabla\mathcal{L}_c$ for the gradient, the step is line 5 of Algorithm 3, from the start and as often.

    Two recursions with one start and one step, for any losses, have the same iterates by induction over s, and
    clients send the same weights.
    """
    steps = sympy.Symbol("s", integer=True)
    same(w - rate * RATE * g_s, w - RATE * g_s, "another step")
    same(steps + more, steps, "another number of steps")
    return "the start, the step and the number of steps are the same as in lines 3 to 5 of Algorithm 3"


@replay("fedlrt/eq-4")
def eq_4_as_printed(values: Values) -> Violation:
    """The first client from the minimiser of the mean: (4) as printed leaves it, and with its own gradient it stays."""
    pairs, rate, steps, assumes = parabolas(values)
    h, c = pairs[0]
    mean = sum((h for h, _ in pairs), Fraction(0)) / len(pairs)
    correction, printed, own = -h * c, Fraction(0), Fraction(0)
    for _ in range(steps):
        printed -= rate * (mean * printed - correction)
        own -= rate * (h * (own - c) - correction)
    return Violation(
        abs(printed - own),
        0,
        assumes=assumes,
        reads="for the losses h (w - c)^2 / 2 of one number and a start at 0, the minimiser of their mean, we compute "
        "the distance between a step of (4) as printed and the same step with the first client's own loss",
    )


@proof("fedlrt/eq-4@local-loss")
def eq_4(sign: Fraction = Fraction(1), rate: Fraction = Fraction(1)) -> str:
    r"""With $V_c = g_c - g$ the step is the one of Algorithm 4 with its correction $g - g_c$ inside the bracket.

    The first step, with $\nabla \mathcal{L}_c(w) = g_c$, is along g, and the corrections of all clients add up to zero.
    At a stationary point of $\mathcal{L}$ the first step is 0, and with it every other one.
    """
    step = w - rate * RATE * (g_s - sign * (g_c - g))
    first = step.subs(g_s, g_c)
    same(step, w - RATE * (g_s + (g - g_c)), "not the step of Algorithm 4")
    same(first, w - RATE * g, "the first step is not the global one")
    same(first.subs(g, 0), w, "a stationary point moves")
    return (
        "the step is the step of the corrected Algorithm 4; the first step is along the global gradient, and 0 if "
        "that is 0"
    )
