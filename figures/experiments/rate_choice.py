"""The choice of a learning rate: which rates to try next, by which seed, and which one is best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

BEYOND = 100.0
"""Learning rates are tried up to this factor beyond the ends of a grid."""
CLOSE = 0.005
"""Accuracies on validation samples that differ by at most this do not decide: both rates get a second seed."""
Tries = Mapping[tuple[float, int], float]
"""Accuracies on validation samples by learning rate and number of the seed, 0 or 1; failed runs have 0."""


def next_tries(values: Tries, grid: Sequence[float], scale: str = "laptop") -> list[tuple[float, int]]:
    """Return the learning rates to try next, each with the number of its seed; empty if the choice is made.

    Every rate of the grid is tried with the first seed. While the best rate is at an end of those tried, the next rate
    of the grid, which repeats in every decade, follows, up to the factor `BEYOND`; a smaller one if every run failed.
    Last, the rates that the first seed leaves within `CLOSE` of the best are tried with a second seed.

    Args:
        values: Accuracies of the rates tried so far.
        grid: The rates to try first; fewer than two leave no choice.
        scale: At the scale `paper` no rate beyond the grid is tried, because grids are the papers'.

    >>> next_tries({}, (0.1, 0.3))
    [(0.1, 0), (0.3, 0)]
    >>> next_tries({(0.1, 0): 0.7, (0.3, 0): 0.8}, (0.1, 0.3))
    [(1.0, 0)]
    >>> next_tries({(0.1, 0): 0.7, (0.3, 0): 0.8, (1.0, 0): 0.797}, (0.1, 0.3))
    [(0.3, 1), (1.0, 1)]
    """
    if len(grid) < 2:
        return []
    untried = [(rate, 0) for rate in grid if (rate, 0) not in values]
    if untried:
        return untried
    further = None if scale == "paper" else _beyond(values, grid)
    if further is not None:
        return [(further, 0)]
    close = _undecided(values)
    decided = len(close) == 1 or not any(values.values())
    return [] if decided else [(rate, 1) for rate in close if (rate, 1) not in values]


def best_rate(values: Tries) -> float:
    """Return the learning rate with the largest accuracy, of equals the first; the smallest if every run failed.

    Rates that the first seed does not tell apart are compared by their means over both seeds, once all of them have
    both.

    >>> best_rate({(0.1, 0): 0.792, (0.3, 0): 0.791, (1.0, 0): 0.7, (0.1, 1): 0.78, (0.3, 1): 0.79})
    0.3
    """
    accuracies = _of_undecided(values)
    if not any(accuracies.values()):
        return min(accuracies)
    return max(accuracies, key=lambda rate: accuracies[rate])


def close_to_best(values: Tries) -> list[float]:
    """Return the other learning rates whose accuracy is within `CLOSE` of the best one's, by all seeds they share.

    >>> close_to_best({(0.1, 0): 0.8, (0.3, 0): 0.797, (1.0, 0): 0.7}), close_to_best({(0.1, 0): 0.8, (0.3, 0): 0.794})
    ([0.3], [])
    """
    accuracies, best = _of_undecided(values), best_rate(values)
    return [rate for rate in accuracies if rate != best and round(accuracies[best] - accuracies[rate], 9) <= CLOSE]


def _of_undecided(values: Tries) -> dict[float, float]:
    """Return the accuracies of rates that the first seed does not tell apart, over both seeds if all have both."""
    close = _undecided(values)
    both = all((rate, 1) in values for rate in close)
    return {rate: (values[rate, 0] + values[rate, 1]) / 2 if both else values[rate, 0] for rate in close}


def _undecided(values: Tries) -> list[float]:
    """Return the rates whose accuracy by the first seed is within `CLOSE` of the largest."""
    first = {rate: value for (rate, seed), value in values.items() if seed == 0}
    largest = max(first.values())
    return [rate for rate, value in first.items() if round(largest - value, 9) <= CLOSE]


def _beyond(values: Tries, grid: Sequence[float]) -> float | None:
    """Return the learning rate beyond the best if that is at an end of those tried; None if it is inside.

    The grid repeats in every decade. If no run has a positive value, a smaller rate is next.
    """
    best, tried = best_rate(values), {rate for rate, _ in values}
    if best == min(tried) or not any(values.values()):
        beyond = max(rate for rate in _decades(grid, -1) if rate < min(tried))
        return beyond if beyond >= _twelve_digits(min(grid) / BEYOND) else None
    if best == max(tried):
        beyond = min(rate for rate in _decades(grid, 1) if rate > max(tried))
        return beyond if beyond <= _twelve_digits(max(grid) * BEYOND) else None
    return None


def _decades(grid: Sequence[float], sign: int) -> list[float]:
    """Return the grid and its next four decades in a direction, rounded to twelve digits."""
    further = [_twelve_digits(rate * 10.0 ** (sign * power)) for power in range(1, 5) for rate in grid]
    return [*grid, *further]


def _twelve_digits(rate: float) -> float:
    return float(f"{rate:.12g}")


def describe_rates(choice: DataFrame, grid: Sequence[float]) -> str:
    """Return the learning rates tried as text, and those beyond the grid that only some lines tried.

    Args:
        choice: The rows that chose, of any number.
        grid: The rates that every line tried.

    >>> import pandas as pd
    >>> describe_rates(pd.DataFrame({"rate": [0.1, 0.3, 1.0]}), (0.1, 0.3))
    '0.1, 0.3 (and 1 where the best was at an end)'
    """
    text = ", ".join(f"{rate:g}" for rate in grid)
    further = [f"{rate:g}" for rate in sorted(set(choice.rate) - set(grid))] if len(choice) else []
    return f"{text} (and {', '.join(further)} where the best was at an end)" if further else text


def describe_seeds(choice: DataFrame) -> str:
    """Return the seeds of the runs that chose as text; the first seed is the larger one.

    >>> import pandas as pd
    >>> describe_seeds(pd.DataFrame({"seed": [99, 99, 98]}))
    'seed 99 (and 98 for rates that differ by at most 0.5 points)'
    """
    first, *second = sorted(map(int, set(choice.seed)), reverse=True)
    others = f" (and {second[0]} for rates that differ by at most {100 * CLOSE:g} points)" if second else ""
    return f"seed {first}{others}"
