"""Which means and deviations of several runs there can be, where each run counts the right answers on one test set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from figures.rolora_printed import Row, Score
from paper_checks.claim import Evidence
from paper_checks.facts import compared, together
from paper_checks.methods.printed import Rounded

Trials = Literal["whole", "rounded", "cut"]
"""How a run enters the mean: as it is, rounded to hundredths of a per cent (a tie either way), or cut after them."""
FULL = 10_000
"""Hundredths of a per cent in all."""


def attainable(text: str, runs: int, size: Fraction | int, entering: Trials = "rounded") -> bool:
    """Whether a printed mean accuracy can be that of whole numbers of right answers in several runs.

    Args:
        text: the mean in per cent.
        runs: number of runs.
        size: examples of each.
        entering: how each run enters the mean.
    """
    value = Rounded.printed(text)
    if entering == "whole":
        unit = Fraction(100) / (runs * size)
        return ceil(value.low / unit) <= floor(value.high / unit)
    sums = sums_of_counts(Fraction(size), runs, entering)
    return bool(sums[ceil(100 * runs * value.low) : floor(100 * runs * value.high) + 1].any())


@cache
def sums_of_counts(size: Fraction, runs: int, entering: Trials) -> NDArray[np.bool_]:
    """Which sums of the runs there are, in hundredths of a per cent."""
    if runs == 1:
        single = np.zeros(FULL + 1, dtype=bool)
        for right in range(floor(size) + 1):
            share = FULL * right / size
            low, high = floor(share + Fraction(1, 2)), ceil(share - Fraction(1, 2))
            single[[floor(share)] if entering == "cut" else [low, high]] = True
        return single
    one, others = sums_of_counts(size, 1, entering), sums_of_counts(size, runs - 1, entering)
    return np.asarray(fftconvolve(one.astype(float), others.astype(float)) > 0.5)  # counts of ways, to 1e-8


def half_unit(text: str, places: int = 0) -> Fraction:
    """Half a unit of the last printed digit, or of a further one where so many decimals are meant."""
    return Fraction(1, 2 * 10 ** max(places, len(text.partition(".")[2])))


@cache
def with_deviation(
    score: Score, size: Fraction | int, entering: Trials = "rounded", divisor: int = 2, places: int = 0
) -> bool:
    """Whether mean and standard deviation together can be those of whole numbers of right answers in three runs.

    Args:
        score: both in per cent.
        size: examples of each run.
        entering: how each run enters.
        divisor: of the summed squares, 2 or 3.
        places: decimals that are meant, where fewer are printed.
    """
    unit = Fraction(100) / size if entering == "whole" else Fraction(1, 100)
    values = (
        np.arange(floor(size) + 1)
        if entering == "whole"
        else np.flatnonzero(sums_of_counts(Fraction(size), 1, entering))
    )
    there = np.zeros(values[-1] + 1, dtype=bool)
    there[values] = True
    mean, room = Fraction(score.mean), half_unit(score.mean, places)
    deviation, spread = Fraction(score.deviation), half_unit(score.deviation, places)
    least, most = (3 * divisor * (max(d, Fraction(0)) / unit) ** 2 for d in (deviation - spread, deviation + spread))
    reach = float((deviation + spread) / unit) * divisor**0.5 + 1.0  # no run is farther from the mean
    for total in range(ceil(3 * (mean - room) / unit), floor(3 * (mean + room) / unit) + 1):
        near = values[np.abs(values - total / 3) <= reach].astype(np.int64)
        third = total - near[:, None] - near
        known = (third >= 0) & (third <= values[-1])
        known &= there[np.where(known, third, 0)]
        squares = 3 * (near[:, None] ** 2 + near**2 + third**2) - total**2
        if (known & (squares >= ceil(least)) & (squares <= floor(most))).any():
            return True
    return False


def missed_cells(
    rows: Iterable[Row], sizes: Mapping[str, Fraction | int], entering: Trials, divisor: int = 2, places: int = 0
) -> list[str]:
    """Cells of which no three runs give mean and deviation."""
    return [
        f"{row.name}, {name}"
        for row in rows
        for name, size in sizes.items()
        if not with_deviation(row.scores[name], size, entering, divisor, places)
    ]


def judge_runs(
    rows: Sequence[Row],
    sizes: Mapping[str, Fraction | int],
    runs: int,
    entering: Trials,
    scope: str,
    divisor: int = 2,
    places: int = 0,
) -> Evidence:
    """Judges that mean and deviation of every cell can be those of so many runs on test sets of these sizes.

    Args:
        rows: rows of a table.
        sizes: examples of each test set.
        runs: number of runs; the deviations are judged for three.
        entering: how each run enters its mean.
        scope: which tables.
        divisor: of the summed squares in a deviation.
        places: decimals that are meant, where fewer are printed.
    """
    means = {f"{row.name}, {name}": (row.scores[name].mean, size) for row in rows for name, size in sizes.items()}
    missed = [name for name, (text, size) in means.items() if not attainable(text, runs, size, entering)]
    apart = (
        [one for one in missed_cells(rows, sizes, entering, divisor, places) if one not in missed] if runs == 3 else []
    )
    other = [n for n in range(1, 11) if all(attainable(text, n, size, entering) for text, size in means.values())]
    scope = f"{scope}; of 1 to 10 runs, {', '.join(map(str, other)) or 'none'} give all {len(means)} means"
    stated = f"{runs} runs give each of {len(means)} means" + " with its deviation" * (runs == 3)
    if missed:
        text, size = means[missed[0]]
        return Evidence(
            False,
            scope,
            stated,
            f"{len(missed)} are no such mean: {'; '.join(missed)}"
            + f"; of {len(apart)} more no such runs have the deviation too: {'; '.join(apart)}" * bool(apart),
            margin=-float(len(missed)),
            cases=len(means),
            witness={"mean": text, "runs": runs, "size": str(size), "trials": entering, "cell": missed[0]},
        )
    if apart:
        row, name = next((row, name) for row in rows for name in sizes if f"{row.name}, {name}" == apart[0])
        return Evidence(
            False,
            scope,
            stated,
            f"each mean is that of such runs, but of {len(apart)} none have the deviation too: {'; '.join(apart)}",
            margin=-float(len(apart)),
            cases=len(means),
            witness={
                **row.scores[name]._asdict(),
                "divisor": divisor,
                "places": max(places, len(row.scores[name].mean.partition(".")[2])),
                "size": str(sizes[name]),
                "trials": entering,
                "cell": apart[0],
            },
        )
    shown = compared("means that are none", len(missed), "=", 0)
    return Evidence(
        True,
        scope,
        stated,
        "each is a mean of whole counts" + ", with its deviation" * (runs == 3),
        margin=1.0,
        cases=len(means),
        facts=together(shown),
        whole=True,
    )
