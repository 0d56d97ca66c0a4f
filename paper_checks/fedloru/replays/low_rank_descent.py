"""Replays of the claims in ``low_rank_descent`` and ``smoothness``: runs with one weight, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, followed, fractions

QUADRATIC = "one weight w = W + AB with loss L w^2/2 (within the zone), E = steps; "


def product_of_averages(values: Values) -> Violation:
    """How far the product of two averages is from the product that every client of the cohort sent."""
    shares = [Fraction(text) for text in values["shares"].split()]
    cohort = {int(text) for text in values["cohort"].split()}
    A, B = fractions(values, "A", "B")
    total = sum((shares[k] for k in cohort if k < len(shares)), Fraction(0))
    assumes = (
        Hypothesis("sum of the shares", sum(shares), "=", 1),
        Hypothesis("least share", min(shares), ">", 0),
        Hypothesis("first client of the cohort", min(cohort), ">=", 0),
        Hypothesis("last client of the cohort", max(cohort), "<", len(shares)),
    )
    return Violation(
        abs(total * A * total * B - A * B),
        0,
        assumes=assumes,
        reads="clients numbered from 0, A and B sent by each of the cohort: distance from A B of the "
        "product of the sums with the printed weights",
    )


@replay("fedloru-v2/eq-agg")
def eq_agg_as_printed(values: Values) -> Violation:
    """With the printed weights of a cohort."""
    return product_of_averages(values)


@replay("fedloru-v2/sec-4-jointly@with-restarts")
def sec_4_jointly_with_restarts(values: Values) -> Violation:
    """The same in the round before any restart."""
    return product_of_averages(values)


@replay("fedloru-v2/eq-WT")
def eq_WT_as_printed(values: Values) -> Violation:
    """W as a client holds it, adding alpha A B at multiples of tau, against W_0 plus the unscaled products.

    The loss is (w - target)^2 / 2, with one step of both factors a round. Only the first cycle enters, so that no
    restart matters.
    """
    W, A, B, target, alpha, rate = fractions(values, "W", "A", "B", "target", "alpha", "rate")
    tau, T = followed(values, "tau"), int(values["rounds"])
    assumes = (
        Hypothesis("tau", tau, ">=", 1),
        Hypothesis("T, against tau", T, ">=", tau),
        Hypothesis("T, for one accumulation", T, "<", 2 * tau),
        Hypothesis("learning rate", rate, ">", 0),
    )
    for _ in range(tau):
        slope = alpha * (W + alpha * A * B - target)
        A, B = A - rate * slope * B, B - rate * slope * A
    held, told = W + alpha * A * B, W + A * B
    return Violation(
        abs(held - told),
        0,
        assumes=assumes,
        reads="loss (w - target)^2/2 at w = W + alpha A B, one step of both factors a round; distance of "
        "the formula from what the clients hold",
    )


def mean_step(values: Values) -> tuple[Fraction, Fraction, tuple[Hypothesis, ...]]:
    """How far the mean step in A of E local steps on L w^2/2 is from the gradients' mean over i = 1..E; and eta E."""
    L, zone, W, A, B, rate = fractions(values, "L", "zone", "W", "A", "B", "rate")
    E, start, weights, later = followed(values, "steps"), A, list[Fraction](), list[Fraction]()
    assumes = assuming(
        Hypothesis("L", L, ">", 0), Hypothesis("learning rate", rate, ">", 0), Hypothesis("steps E", E, ">=", 1)
    )
    for i in range(E + 1):
        weights.append(W + A * B)
        slope = L * weights[-1]
        if i > 0:
            later.append(slope * B)
        if i < E:
            A, B = A - rate * slope * B, B - rate * slope * A
    assumes += (Hypothesis("largest |w|, where the loss is quadratic", max(map(abs, weights)), "<=", zone),)
    return abs((start - A) / (rate * E) - sum(later, Fraction(0)) / E), rate * E, assumes


@replay("fedloru-v2/eq-59-60")
def eq_59_60_as_printed(values: Values) -> Violation:
    """The whole move of A over eta E against the mean gradient with the printed indices."""
    apart, _, assumes = mean_step(values)
    return Violation(
        apart, 0, assumes=assumes, reads=QUADRATIC + "distance of the mean step in A from the printed mean"
    )


@replay("fedloru-v2/eq-61-62")
def eq_61_62_as_printed(values: Values) -> Violation:
    """The change of A at the server, which has one client of weight 1: eta E times the mean step."""
    apart, scale, assumes = mean_step(values)
    return Violation(
        scale * apart,
        0,
        assumes=assumes,
        reads=QUADRATIC + "one client; distance of the change of A from the printed one",
    )


@replay("fedloru-v2/claim-B3-just")
def claim_B3_just_as_printed(values: Values) -> Violation:
    """The factors after a cycle in which every step draws the first sample, against (1 + eta G)^(tau E).

    The loss of a sample is its slope times the weight; G is the root of the slopes' mean square, as (A.2) has it.
    """
    slopes = [Fraction(text) for text in values["slopes"].split()]
    A, B, rate = fractions(values, "A", "B", "rate")
    E, tau = followed(values, "steps"), followed(values, "tau")
    square = sum((s**2 for s in slopes), Fraction(0)) / len(slopes)
    assumes = (
        Hypothesis("second moment of the slopes, which is G^2", square, "=", 1),
        Hypothesis("learning rate", rate, ">", 0),
        Hypothesis("steps E", E, ">=", 1),
        Hypothesis("tau", tau, ">=", 1),
    )
    start = abs(A) + abs(B)
    for _ in range(tau * E):
        A, B = A - rate * slopes[0] * B, B - rate * slopes[0] * A
    bound = start * (1 + rate) ** (tau * E)
    return Violation(
        abs(A) + abs(B),
        bound,
        assumes=assumes,
        reads="one weight w = W + A B (alpha = 1), samples of loss slope times w, so that G = 1; every step draws the "
        "first one, an event of positive probability; |A| + |B| after a cycle, against (1 + rate G)^(tau E) times that "
        "at the start",
    )


def means_of_two_samples(
    L: Fraction, zone: Fraction, rate: Fraction, centres: list[Fraction]
) -> tuple[Fraction, Fraction]:
    """E[A'^2 D^2] and E[A'^2] E[D^2] of one weight from W = 0, A = B = 1, over the sample that its step draws."""

    def slopes(w: Fraction) -> list[Fraction]:
        return [L * min(max(w - c, -zone), zone) for c in centres]

    moved = [1 - rate * slope for slope in slopes(Fraction(1))]
    exact = [sum(slopes(w), Fraction(0)) / len(centres) for w in (Fraction(1), *moved)]
    bent = [(after - exact[0]) ** 2 for after in exact[1:]]
    squares = [A**2 for A in moved]
    both = sum((x * y for x, y in zip(squares, bent, strict=True)), Fraction(0)) / len(centres)
    return both, sum(squares, Fraction(0)) * sum(bent, Fraction(0)) / len(centres) ** 2


@replay("fedloru-v2/lem-B.6-mid", samples="the centres of the samples of one weight, for the second display")
def lem_B_6_mid_as_printed(values: Values) -> Violation:
    """The move of A in one step, with two rows, and the gradient of two rows and two columns, against each other."""
    L, zone, rate = fractions(values, "L", "zone", "rate")
    W, A, B = ([Fraction(text) for text in values[name].split()] for name in ("W", "A", "B"))
    assumes = assuming(
        *(Hypothesis(name, value, ">", 0) for name, value in {"L": L, "zone": zone, "learning rate": rate}.items()),
        *(Hypothesis(f"entries of {n}", len(x), "=", size) for n, x, size in (("W", W, 4), ("A", A, 2), ("B", B, 2))),
    )
    places = [(i, j) for i in range(2) for j in range(2)]
    S = {(i, j): L * min(max(W[2 * i + j] + A[i] * B[j], -zone), zone) for i, j in places}
    u = [-rate * sum(S[i, j] * B[j] for j in range(2)) for i in range(2)]
    both, apart = means_of_two_samples(L, zone, rate, [Fraction(text) for text in values["samples"].split()])
    turned = sum((u[0] * S[0, j] + u[1] * S[1, j]) ** 2 for j in range(2))
    return Violation(
        sum(x * x for x in u) * sum(s * s for s in S.values()),
        turned,
        assumes=assumes,
        given={
            "u": u,
            "gradient, by rows": list(S.values()),
            "second display, for samples: E[|A'|^2 |D|^2]": both,
            "E[|A'|^2] E[|D|^2], said to be no less": apart,
        },
        reads="W of two rows and two columns, one factor, one client, one step, loss a sum over the entries of L x^2/2 "
        "up to |x| = zone, linear beyond; |u|^2 |gradient|^2 against |u^T gradient|^2, said to be equal. Beside it one "
        "weight from W = 0, A = B = 1, whose samples, drawn with equal chances, have the same loss around their "
        "centres; A' is A after the step",
    )
