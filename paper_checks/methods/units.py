"""Units: a statement about quantities with dimensions must not change when their units do.

Each parameter carries a weight w: under a change of units by t it becomes t^w times itself. Both sides of an equation
or inequality must then scale by the same power of t. This finds sums of unlike quantities and lost powers for free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from paper_checks.claim import Evidence

Sides = Callable[[Mapping[str, Fraction]], tuple[Fraction, Fraction]]
_FACTORS = (Fraction(2), Fraction(3), Fraction(1, 5))


def judge_units(
    sides: Mapping[str, Sides], weights: Mapping[str, int], points: Sequence[Mapping[str, Fraction]], scope: str
) -> Evidence:
    """Judges that the two sides of every line scale alike, exactly, in fractions.

    Args:
        sides: both sides of each line as functions of the parameters.
        weights: power of the unit in each parameter.
        points: points at which both sides are non-zero.
        scope: which lines, and what the weights mean.
    """
    tried = 0
    for name, evaluate in sides.items():
        for point in points:
            left, right = evaluate(point)
            if left == 0 or right == 0:
                continue
            for factor in _FACTORS:
                tried += 1
                scaled = {key: value * factor ** weights.get(key, 0) for key, value in point.items()}
                scaled_left, scaled_right = evaluate(scaled)
                ratios = scaled_left / left, scaled_right / right
                if ratios[0] != ratios[1]:
                    return Evidence(
                        False, "proof", scope, f"{name}: both sides scale alike",
                        f"units changed by {factor}: left times {float(ratios[0]):.6g}, right times "
                        f"{float(ratios[1]):.6g}",
                        margin=-abs(float(ratios[0] / ratios[1]) - 1.0), cases=tried,
                        witness={"line": name, "factor": str(factor), **{k: str(v) for k, v in point.items()}},
                    )  # fmt: skip
    return Evidence(True, "proof", scope, "both sides scale alike", f"in all {len(sides)} lines, {tried} rescalings",
                    margin=float(tried), cases=tried)  # fmt: skip
