"""Section 5.2: the network with two layers (eq. (12)) and its experiment."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("rolora/exp-5.2")
def exp_5_2(values: Values) -> Violation:
    """Take a gradient step on one image, by the chain rule; with B = 0 all logits are 0, all probabilities equal.

    Nothing but the derivative of ReLU at 0 makes the step vanish: without that factor the derivative in B is not 0.
    """
    x, A, B = ([Fraction(entry) for entry in values[name]] for name in ("x", "A", "B"))
    out, label, slope = values["out"], int(values["label"]), Fraction(values["slope"])
    labels = range(len(out[0]))
    G: list[Fraction] = [Fraction(1, len(labels)) - int(k == label) for k in labels]
    back = [sum((g * Fraction(entry) for g, entry in zip(G, row, strict=True)), Fraction(0)) for row in out]
    inner = sum((pixel * entry for pixel, entry in zip(x, A, strict=True)), Fraction(0))
    in_B = [inner * slope * one for one in back]
    behind = sum((slope * one * entry for one, entry in zip(back, B, strict=True)), Fraction(0))
    in_A = [pixel * behind for pixel in x]
    without = max(abs(inner * one) for one in back)
    assumes = (
        Hypothesis("largest entry of B", max(map(abs, B)), "=", 0),
        Hypothesis("derivative of ReLU at 0", slope, "=", 0),
        Hypothesis("labels that are the image's", sum(k == label for k in labels), "=", 1),
        Hypothesis("largest derivative in B, without ReLU's factor", without, ">", 0),
    )
    return Violation(
        0,
        max(map(abs, [*in_A, *in_B])),
        assumes=assumes,
        strict=True,
        reads="we compare 0 with the largest derivative in A and B at the start, which should be greater",
    )
