"""Section 4.2 and Appendix B: the settings of the experiments on images.

240/C local iterations are a whole number for 1, 2, 4, 8 and 16 clients, not for 32, nor for every number up to 16.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


def left_over_batches(values: Values) -> Violation:
    """Return the batches of a round that are left when every client has made as many whole iterations as it can."""
    clients, batches = int(values["clients"]), int(values["batches"])
    assumes = assuming(
        Hypothesis("clients", clients, ">=", 1),
        Hypothesis("most clients", clients, "<=", 32),
        Hypothesis("batches of a round, by one client", batches, "=", 240),
    )
    return Violation(batches % clients, 0, assumes=assumes, reads="batches left over, of those that 240/C asks for")


exp_resnet18 = replay("fedlrt/exp-resnet18")(left_over_batches)

exp_resnet18_every = replay("fedlrt/exp-resnet18@every-number-up-to-16")(left_over_batches)


@replay("fedlrt/exp-other-vision")
def exp_other_vision(values: Values) -> Violation:
    """Count the weights of VGG16 layer by layer: the two hidden layers of its head as a share of all."""
    widths, hidden, classes = [int(w) for w in values["widths"]], [int(w) for w in values["hidden"]], values["classes"]
    assumes = assuming(
        Hypothesis("convolutions of VGG16", len(widths), "=", 13),
        Hypothesis("hidden layers of its head", len(hidden), "=", 2),
        Hypothesis("narrowest convolution", min(widths, default=0), "=", 64),
        Hypothesis("widest convolution", max(widths, default=0), "=", 512),
        Hypothesis("narrowest hidden layer", min(hidden, default=0), ">=", 1),
        Hypothesis("classes of CIFAR10", int(classes), "=", 10),
    )
    convolutions = [9 * a * b for a, b in pairwise([3, *widths])]
    head = [a * b for a, b in pairwise([widths[-1], *hidden, int(classes)])]
    share = Fraction(sum(head[:-1]), sum(convolutions) + sum(head))
    return Violation(
        1 - share,
        Fraction(0),
        assumes=assumes,
        reads="weights of the head's two hidden layers over those of all layers, either of which may be "
        "meant to be low-rank: 1 minus it, against 0, with a head of two hidden layers that the text "
        "admits",
    )


@replay("fedlrt/exp-data")
def exp_data(values: Values) -> Violation:
    """A row of two pixels, 0 and 1: the mean of its first one over flips, normalised as CIFAR10's first channel."""
    one, other = (Fraction(value) for value in values["probabilities"])
    assumes = [Hypothesis(f"a probability of a flip, {value}", value, "<=", 1) for value in (one, other)]
    assumes += [Hypothesis(f"a probability of a flip, {value}, above 0", value, ">", 0) for value in (one, other)]
    mean, deviation = Fraction(4914, 10_000), Fraction(2470, 10_000)
    first = [(share * 1 + (1 - share) * 0 - mean) / deviation for share in (one, other)]
    return Violation(
        abs(first[0] - first[1]),
        Fraction(0),
        assumes=assumes,
        reads="a row of two pixels 0 and 1, flipped with either probability and normalised: difference of the means "
        "of its first pixel, both of which the text admits",
    )
