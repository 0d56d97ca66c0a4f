"""Which means of several runs there can be, where each run counts the right answers on one test set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from figures.rolora_printed import Row
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
    sums = _sums(Fraction(size), runs, entering)
    return bool(sums[ceil(100 * runs * value.low) : floor(100 * runs * value.high) + 1].any())


@cache
def _sums(size: Fraction, runs: int, entering: Trials) -> NDArray[np.bool_]:
    """Which sums of the runs there are, in hundredths of a per cent."""
    if runs == 1:
        single = np.zeros(FULL + 1, dtype=bool)
        for right in range(floor(size) + 1):
            share = FULL * right / size
            low, high = floor(share + Fraction(1, 2)), ceil(share - Fraction(1, 2))
            single[[floor(share)] if entering == "cut" else [low, high]] = True
        return single
    one, others = _sums(size, 1, entering), _sums(size, runs - 1, entering)
    return np.asarray(fftconvolve(one.astype(float), others.astype(float)) > 0.5)  # counts of ways, to 1e-8


def judge_runs(
    rows: Iterable[Row], sizes: Mapping[str, Fraction | int], runs: int, entering: Trials, scope: str
) -> Evidence:
    """Judges that every mean can be that of so many runs on test sets of these sizes.

    Args:
        rows: rows of a table.
        sizes: examples of each test set.
        runs: number of runs.
        entering: how each run enters its mean.
        scope: which tables.
    """
    means = {f"{row.name}, {name}": (row.scores[name].mean, size) for row in rows for name, size in sizes.items()}
    missed = [name for name, (text, size) in means.items() if not attainable(text, runs, size, entering)]
    other = [n for n in range(1, 11) if all(attainable(text, n, size, entering) for text, size in means.values())]
    scope = f"{scope}; of 1 to 10 runs, {', '.join(map(str, other)) or 'none'} give all {len(means)} means"
    stated = f"{runs} runs give each of {len(means)} means"
    if missed:
        text, size = means[missed[0]]
        return Evidence(
            False,
            scope,
            stated,
            f"{len(missed)} are no such mean: {'; '.join(missed)}",
            margin=-float(len(missed)),
            cases=len(means),
            witness={"mean": text, "runs": runs, "size": str(size), "trials": entering, "cell": missed[0]},
        )
    shown = compared("means that are none", len(missed), "=", 0)
    return Evidence(
        True,
        scope,
        stated,
        "each is a mean of whole counts",
        margin=1.0,
        cases=len(means),
        facts=together(shown),
        whole=True,
    )
