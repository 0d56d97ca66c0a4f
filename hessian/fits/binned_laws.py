"""Laws of finitely many atoms from long lists of eigenvalues and weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmt import AtomicLaw

Array = NDArray[np.float64]
PER_DECADE = 40
"""Bins of small eigenvalues and of weights, each replaced by its mean."""


def bin_values(values: Array, counts: Array) -> tuple[Array, Array]:
    """Bin values by equal ratios and replace each by the mean of its bin; the sum stays, and zeros stay zeros."""
    zeros, positive = values <= 0.0, values > 0.0
    bins = np.full(len(values), -(2**31), dtype=np.int64)
    bins[positive] = np.floor(PER_DECADE * np.log10(values[positive])).astype(np.int64)
    _, place = np.unique(bins, return_inverse=True)
    number = np.bincount(place, counts).astype(np.float64)
    means = np.bincount(place, counts * np.where(zeros, 0.0, values)) / np.maximum(number, 1e-300)
    return means, number


def law_of(values: Array, counts: Array) -> AtomicLaw:
    """Return a law of binned values, in which equal ones are merged."""
    merged, place = np.unique(values, return_inverse=True)
    number = np.bincount(place, counts).astype(np.float64)
    return AtomicLaw(merged.tolist(), (number / number.sum()).tolist())
