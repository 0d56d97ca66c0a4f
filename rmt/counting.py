"""Quantiles of laws whose distribution function and density come together from one solution of their equation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

STEPS = 200

Counted = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def quantiles(levels: np.ndarray, low: np.ndarray, high: np.ndarray, counted: Counted, state: np.ndarray) -> np.ndarray:
    """The points at which a distribution function reaches levels: Newton's method, kept inside a bracket.

    Args:
        levels: (n,).
        low: where it lies below, (n,); updated.
        high: where it has reached the level, (n,); updated. Points with low = high are returned as they are.
        counted: (x, state) -> distribution function, density, state, where the state of a point starts the next.
        state: first guess, (n, ...).
    """
    widest = float((high - low).max(initial=0.0))
    x = low + (high - low) / 2
    active = np.flatnonzero(low < high)
    for step in range(STEPS):
        if not len(active):
            break
        here = x[active]
        reached, density, state[active] = counted(here, state[active])
        excess = reached - levels[active]
        enough = excess >= 0
        high[active], low[active] = np.where(enough, here, high[active]), np.where(enough, low[active], here)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            new = here - excess / density
        middle = low[active] + (high[active] - low[active]) / 2
        inside = (new > low[active]) & (new < high[active]) & (step % 4 < 3)  # every fourth step halves
        narrow = high[active] - low[active] <= 4e-16 * np.maximum(np.abs(middle), 1e-6 * widest)
        met = (np.abs(excess) < 1e-14) & (density > 0)
        x[active] = np.where(met, here, np.where(narrow, high[active], np.where(inside, new, middle)))
        active = active[~(met | narrow)]
    return x
