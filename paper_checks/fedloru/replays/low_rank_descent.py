"""Replays of the claims in ``low_rank_descent`` and ``smoothness``: runs with one weight, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions

QUADRATIC = "one weight w = W + AB with loss L w^2/2 (within the zone), E = steps; "


@replay("fedloru-v2/eq-agg")
def eq_agg(values: Values) -> Violation:
    """How far the product of two averages is from the product that every client of the cohort sent."""
    shares = [Fraction(text) for text in values["shares"].split()]
    cohort = {int(text) for text in values["cohort"].split()}
    A, B = fractions(values, "A", "B")
    unmet = "" if sum(shares) == 1 and min(shares) > 0 and cohort <= set(range(len(shares))) else "shares of sum 1"
    total = sum((shares[k] for k in cohort), Fraction(0))
    return Violation(
        abs(total * A * total * B - A * B),
        Fraction(0),
        unmet=unmet,
        reads="factors A and B sent by every client of the cohort; " + str(values["promise"]),
    )


@replay("fedloru-v2/eq-WT")
def eq_WT(values: Values) -> Violation:
    """W as a client holds it, adding alpha A B at multiples of tau, against W_0 plus the unscaled products.

    The loss is (w - target)^2 / 2, with one step of both factors a round. Only the first cycle enters, so that no
    restart matters.
    """
    W, A, B, target, alpha, rate = fractions(values, "W", "A", "B", "target", "alpha", "rate")
    tau, T = int(values["tau"]), int(values["rounds"])
    unmet = "" if 1 <= tau <= T < 2 * tau and rate > 0 and alpha != 1 else "one accumulation, alpha not 1"
    for _ in range(tau):
        slope = alpha * (W + alpha * A * B - target)
        A, B = A - rate * slope * B, B - rate * slope * A
    held, told = W + alpha * A * B, W + A * B
    return Violation(
        abs(held - told),
        Fraction(0),
        unmet=unmet,
        reads="loss (w - target)^2/2 at w = W + alpha A B, one step of both factors a round; " + str(values["promise"]),
    )


def _step(values: Values) -> tuple[Fraction, Fraction, str]:
    """The mean step in A of E local steps on L w^2/2, and the mean of the gradients over i = 1..E."""
    L, zone, W, A, B, rate = fractions(values, "L", "zone", "W", "A", "B", "rate")
    E, start, unmet, later = int(values["steps"]), A, "" if rate > 0 else "a positive rate", []
    for i in range(E + 1):
        w = W + A * B
        if abs(w) > zone:
            unmet = "all weights where the loss is quadratic"
        slope = L * w
        if i > 0:
            later.append(slope * B)
        if i < E:
            A, B = A - rate * slope * B, B - rate * slope * A
    return (start - A) / (rate * E), sum(later, Fraction(0)) / E, unmet


@replay("fedloru-v2/eq-59-60")
def eq_59_60(values: Values) -> Violation:
    """The whole move of A over eta E against the mean gradient with the printed indices."""
    moved, told, unmet = _step(values)
    return Violation(abs(moved - told), Fraction(0), unmet=unmet, reads=QUADRATIC + str(values["promise"]))


@replay("fedloru-v2/eq-61-62")
def eq_61_62(values: Values) -> Violation:
    """The same for the server, which has one client of weight 1."""
    moved, told, unmet = _step(values)
    return Violation(
        abs(moved - told), Fraction(0), unmet=unmet, reads=QUADRATIC + "one client; " + str(values["promise"])
    )


@replay("fedloru-v2/claim-B3-just")
def claim_B3_just(values: Values) -> Violation:
    """The factors after a cycle in which every step draws the first sample, against (1 + eta G)^(tau E).

    The loss of a sample is its slope times the weight; G is the root of the slopes' mean square, as (A.2) has it.
    """
    slopes = [Fraction(text) for text in values["slopes"].split()]
    A, B, rate = fractions(values, "A", "B", "rate")
    E, tau = int(values["steps"]), int(values["tau"])
    square = sum((s**2 for s in slopes), Fraction(0)) / len(slopes)
    G = Fraction(1)
    unmet = "" if square == G**2 and rate > 0 and min(E, tau, int(values["rounds"])) >= 1 else "a second moment of 1"
    start = abs(A) + abs(B)
    for _ in range(tau * E):
        A, B = A - rate * slopes[0] * B, B - rate * slopes[0] * A
    bound = start * (1 + rate * G) ** (tau * E)
    return Violation(
        abs(A) + abs(B),
        bound,
        unmet=unmet,
        reads="one weight with samples of loss slope x w, each step on the first; "
        "norms after a cycle, an event of positive probability",
    )
