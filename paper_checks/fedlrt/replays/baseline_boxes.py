"""Replays of the claims in ``baseline_boxes``: the boxes as printed, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, followed, square


@replay("fedlrt/eq-1")
def eq_1_as_printed(values: Values) -> Violation:
    """Two clients with two samples each, of which they share the first: X has three samples."""
    shared, one, other = (Fraction(values[f"l_{number}"]) for number in range(3))
    samples = {"shared": shared, "of the first": one, "of the second": other}
    means = [Fraction(sum(pair), 2) for pair in ((shared, one), (shared, other))]
    return Violation(
        abs(Fraction(sum(samples.values()), len(samples)) - Fraction(sum(means), len(means))),
        Fraction(0),
        reads="X_1 and X_2 of two samples each, the first in both, X their union of three: distance of the loss of X "
        "from the mean of the two losses",
    )


@replay("fedlrt/alg-4")
def alg_4_as_printed(values: Values) -> Violation:
    """Line 9 from a stationary point: clients with losses h (w - c)^2 / 2 of one number."""
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
        reads="losses h (w - c)^2 / 2 of one number, from their mean's minimiser 0: distance of the next weight",
    )


def parabolas(values: Values) -> tuple[list[tuple[Fraction, Fraction]], Fraction, int, list[Hypothesis]]:
    """Clients with losses h (w - c)^2 / 2 of one number whose mean is least at 0."""
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
        reads="losses h (w - c)^2 / 2 of one number, from their mean's minimiser 0: "
        "distance of (2) as printed from descent on the first client's own loss",
    )


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
        reads="losses h (w - c)^2 / 2 of one number, from their mean's minimiser 0: "
        "distance of (4) as printed from the same with the first client's own loss",
    )


@replay("fedlrt/claim-drift")
def claim_drift_as_printed(values: Values) -> Violation:
    """The weights at which a round of FedAvg stays, with fewer and with more local steps."""
    pairs, rate, more, assumes = parabolas(values)
    fewer = int(values["fewer"])
    assumes += [
        Hypothesis("fewer local steps", fewer, ">=", 1),
        Hypothesis("fewer local steps", fewer, "<", more),
        Hypothesis("largest h times the learning rate", max(h for h, _ in pairs) * rate, "<", 1),
    ]

    def limit(steps: int) -> Fraction:
        shift = kept = Fraction(0)  # a round maps w to shift + kept w
        for h, c in pairs:
            left = (1 - rate * h) ** steps
            shift, kept = shift + (1 - left) * c / len(pairs), kept + left / len(pairs)
        return shift / (1 - kept) if kept != 1 else Fraction(0)

    return Violation(
        abs(limit(fewer)),
        abs(limit(more)),
        assumes=assumes,
        reads="losses h (w - c)^2 / 2 of one number, their mean's minimiser 0: distance of FedAvg's limit "
        "with fewer local steps against that with more",
    )


@replay("fedlrt/claim-fedlin@by-its-weights")
def claim_fedlin_as_read(values: Values) -> Violation:
    """FedLin with one client is gradient descent; its step from w > 0 adds 2 rate w / (1 + w^2)^2, which is positive.

    The gradient -2 w / (1 + w^2)^2 is 0 at 0 only, so that weights which grow from round to round converge to no
    stationary point. The second derivative (6 w^2 - 2) / (1 + w^2)^3 lies between -2 and 1/2.
    """
    start, rate, rounds, L = Fraction(values["start"]), Fraction(values["rate"]), int(values["rounds"]), 2
    assumes = (
        Hypothesis("start", start, ">", 0),
        Hypothesis("lambda L s", rate * L, ">", 0),
        Hypothesis("lambda L s", rate * L, "<=", 1),
        *assuming(Hypothesis("rounds", rounds, ">=", 1), Hypothesis("rounds", rounds, "<=", 6)),
    )
    w = start
    for _ in range(rounds):
        w += rate * 2 * w / (1 + w**2) ** 2
    return Violation(
        w,
        start,
        assumes=assumes,
        reads="loss 1/(1 + w^2) of one number, one client, one local step, from w > 0, where every step "
        "adds 2 lambda w/(1 + w^2)^2 > 0: distance from 0, the only stationary point, after these rounds, "
        "against the start's",
    )


@replay("fedlrt/claim-fedlin@4-as-printed")
def claim_fedlin_printed(values: Values) -> Violation:
    """One round of (4) as printed from the minimiser 0 of the mean of two clients' losses, b(w) + a w and b(w) - a w.

    b(w) is w^2/2 for w > 0 and w^2/4 for w < 0, convex with a second derivative between 1/2 and 1. At 0 the
    corrections are a and -a. A round is a continuous map of the weight, so that weights can converge to 0 only if a
    round from 0 ends there; and with this loss gradients tend to 0 only where the weights do.
    """
    slope, rate, steps = Fraction(values["slope"]), Fraction(values["rate"]), followed(values, "steps")
    first = second = Fraction(0)
    for _ in range(steps):
        first -= rate * (max(first, first / 2) - slope)
        second -= rate * (max(second, second / 2) + slope)
    return Violation(
        abs(first + second) / 2,
        0,
        assumes=(
            Hypothesis("local steps", steps, ">=", 1),
            Hypothesis("lambda L s, with L = 1", rate * steps, ">", 0),
            Hypothesis("lambda L s, with L = 1", rate * steps, "<=", 1),
        ),
        reads="two clients with losses b(w) + slope w and b(w) - slope w of one number, b = w^2/2 for w > 0 and w^2/4 "
        "for w < 0, from the minimiser 0 of their mean: distance from it after a round of (4) as printed; as a round "
        "is continuous, weights converge only to a point at which it stays",
    )


@replay("fedlrt/alg-6")
def alg_6(values: Values) -> Violation:
    """One step of two clients with losses |W - T|^2 / 2 from W = e1 e1', U = V = e1.

    The gradients in U and V are -(T - W) e1 and -(T - W)' e1, so that client c's bases are e1 and, up to sign, the
    axis of its target. Whatever the signs, a mean of coefficients in the bases of either client has no entry outside
    these two axes.
    """
    targets, rate = (
        [square(target, len(values["targets"][0])) for target in values["targets"]],
        Fraction(values["rate"]),
    )
    size = len(targets[0])
    W = [[Fraction(int(i == j == 0)) for j in range(size)] for i in range(size)]
    axes, assumes = [], [Hypothesis("learning rate", rate, ">", 0)]
    assumes += assuming(Hypothesis("clients", len(targets), "=", 2))
    for c, target in enumerate(targets, 1):
        moves = [target[i][0] - W[i][0] for i in range(size)], [target[0][j] - W[0][j] for j in range(size)]
        axes.append([{i for i in range(size) if move[i]} for move in moves])
        assumes.append(Hypothesis(f"entry (1, 1) of target {c}", target[0][0], "=", 1))
        assumes += [Hypothesis(f"axes along which client {c} leaves e1", len(axis), "=", 1) for axis in axes[-1]]
    both = sum(len(one & beside) for one, beside in zip(*axes, strict=True))
    assumes.append(Hypothesis("axes that both clients have", both, "=", 0))
    # A step in the bases moves the entries within them towards the target.
    mean = [[Fraction(0)] * size for _ in range(size)]
    for target, (rows, columns) in zip(targets, axes, strict=True):
        for i in range(size):
            for j in range(size):
                inside = i in {0, *rows} and j in {0, *columns}
                mean[i][j] += (W[i][j] + (rate * (target[i][j] - W[i][j]) if inside else 0)) / len(targets)
    missed = []
    for rows, columns in axes:
        outside = [
            abs(mean[i][j]) for i in range(size) for j in range(size) if i not in {0, *rows} or j not in {0, *columns}
        ]
        missed.append(max(outside, default=Fraction(0)))
    return Violation(
        min(missed),
        0,
        assumes=assumes,
        given={"targets": targets, "mean model": mean},
        reads="losses |W - T|^2 / 2 from W = e1 e1', one step: "
        "whichever client's bases are taken, an entry of the mean model that is 0 in them, the smaller of the two",
    )
