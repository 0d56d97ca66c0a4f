"""Units: a statement about quantities with dimensions must not change when their units do.

Each parameter carries a weight w: under a change of units by t it becomes t^w times itself. Both sides of an equation
or inequality must then scale by the same power of t. This finds sums of unlike quantities and lost powers for free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from paper_checks.claim import Evidence
from paper_checks.engine.lines import Line
from paper_checks.facts import Fact, as_fraction, combine, compare
from paper_checks.methods.sides import UndefinedError

Sides = Callable[[Mapping[str, Fraction]], tuple[Fraction, Fraction]]
_FACTORS = (Fraction(2), Fraction(3), Fraction(1, 5))


def judge_units(
    sides: Mapping[str, Sides], weights: Mapping[str, int], points: Sequence[Mapping[str, Fraction]], scope: str
) -> Evidence:
    """Judge that the two sides of every line scale alike, exactly, in fractions.

    Args:
        sides: both sides of each line as functions of the parameters.
        weights: power of the unit in each parameter.
        points: points at which both sides are non-zero.
        scope: which lines, and what the weights mean.

    Raises:
        UndefinedError: a line with a side that is zero at every point, so nothing was tried; or a weight of an unknown
            parameter, or only weights of 0, so nothing changes with the units.
    """
    strange = [name for name in weights if not all(name in point for point in points)]
    if strange:
        known = ", ".join(dict.fromkeys(name for point in points for name in point))
        raise UndefinedError(f"there is a weight of {', '.join(strange)}, but the parameters are {known}")
    if not any(weights.values()):
        raise UndefinedError("all weights are 0, so nothing changes with the units")
    tried, facts, lines = 0, list[Fact | None](), dict[str, Line]()
    for name, evaluate in sides.items():
        if not any(all(evaluate(point)) for point in points):
            raise UndefinedError(f"{name}: at every point one of the sides is 0, which scales like anything")
        for point in points:
            left, right = map(as_fraction, evaluate(point))
            if left == 0 or right == 0:
                continue
            for factor in _FACTORS:
                tried += 1
                scaled = {key: value * factor ** weights.get(key, 0) for key, value in point.items()}
                scaled_left, scaled_right = map(as_fraction, evaluate(scaled))
                ratios = scaled_left / left, scaled_right / right
                facts.append(compare(name, ratios[0], "=", ratios[1]))
                lines[name] = Line(facts[-1] is not None, (*ratios, lines[name].compared if name in lines else None))
                if facts[-1] is None:
                    return Evidence(
                        False,
                        scope,
                        f"{name}: both sides scale alike",
                        f"units changed by {factor}: left times {float(ratios[0]):.6g}, right times "
                        f"{float(ratios[1]):.6g}",
                        margin=-abs(float(ratios[0] / ratios[1]) - 1.0),
                        cases=tried,
                        facts=combine(compare(name, ratios[0], "!=", ratios[1])),
                        witness={"line": name, "factor": str(factor), **{k: str(v) for k, v in point.items()}},
                        lines=lines,
                    )
    return Evidence(
        True,
        scope,
        "both sides scale alike",
        f"in all {len(sides)} lines, {tried} rescalings",
        margin=float(tried),
        cases=tried,
        facts=combine(*facts),
        lines=lines,
    )
