"""Which means and deviations of several runs there can be, where each run counts the right answers on one test set."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from paper_checks.methods.printed import Rounded

Trials = Literal["whole", "rounded", "cut"]
"""How a run enters the mean: as it is, rounded to hundredths of a per cent (a tie either way), or cut after them."""

FULL = 10_000
"""Hundredths of a per cent in all."""


@cache
def sums_of_counts(size: Fraction, runs: int, entering: Trials) -> NDArray[np.bool_]:
    """Return which sums of the runs there are, in hundredths of a per cent."""
    if runs == 1:
        single = np.zeros(FULL + 1, dtype=bool)
        for right in range(floor(size) + 1):
            share = FULL * right / size
            low, high = floor(share + Fraction(1, 2)), ceil(share - Fraction(1, 2))
            single[[floor(share)] if entering == "cut" else [low, high]] = True
        return single
    one, others = sums_of_counts(size, 1, entering), sums_of_counts(size, runs - 1, entering)
    return np.asarray(fftconvolve(one.astype(float), others.astype(float)) > 0.5)  # counts of ways, to 1e-8


def attainable(text: str, runs: int, size: Fraction | int, entering: Trials = "rounded") -> bool:
    """Return whether whole numbers of right answers in several runs can give a printed mean accuracy.

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
