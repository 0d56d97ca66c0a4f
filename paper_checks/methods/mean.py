"""Means of random quantities, by intervals whose level is stated; never by hypothesis, which chooses its own law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Evidence
from paper_checks.context import LEVEL
from paper_checks.methods.bands import Predictions, judge_bands
from paper_checks.methods.limit import mean_interval


def judge_means(
    draws: Mapping[str, NDArray[np.float64]],
    predicted: Predictions,
    rivals: Sequence[Predictions],
    *,
    scope: str,
    settings: Mapping[str, Mapping[str, float]] | None = None,
) -> Evidence:
    """Judges predicted expectations against independent draws, at the level of one claim in total.

    Args:
        draws: independent draws of each quantity, enough of them for their mean to be nearly Gaussian.
        predicted: expectations of the form that is judged.
        rivals: expectations of every form.
        scope: what was covered, in words; the numbers of quantities and draws are added.
        settings: parameters behind each quantity, for the witness.
    """
    level = LEVEL / len(draws)
    intervals = {name: mean_interval(np.asarray(sample), level) for name, sample in draws.items()}
    numbers = {
        name: {**(settings or {}).get(name, {}), "draws": len(sample), "mean": float(np.mean(sample))}
        for name, sample in draws.items()
    }
    fewest = min(len(sample) for sample in draws.values())
    measured = f"{len(draws)} quantities, at least {fewest} draws each"
    return judge_bands(intervals, predicted, rivals, scope=f"{scope}; {measured}", witness=numbers)
