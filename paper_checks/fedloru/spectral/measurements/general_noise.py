"""Noise of a general law, and where the eigenvalues of spikes under it are observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmt.closed_laws import MarchenkoPastur, Semicircle
from rmt.general_laws import DensityLaw, RTransformLaw
from rmt.laws import Law
from rmt.secular import law_spectrum

STRAY = 3.0
"""Where the one stray eigenvalue of X lies, beyond the edge 2 of its law."""


@dataclass(frozen=True)
class Noise:
    """A law of the noise together with its R-transform, continued along the real axis past the edges.

    Attributes:
        name: readable name.
        law: the law of X.
        transform: the R-transform.
        numbers: what a second evaluation needs to know of the law.
    """

    name: str
    law: Law
    transform: Callable[[Any], Any]
    numbers: tuple[tuple[str, float], ...] = ()

    def spectrum(self, R: int, stray: bool = False) -> NDArray[np.float64]:
        """Return the eigenvalues of X: quantiles of the law, the largest one replaced by the stray one."""
        points = _spectrum(self, R)
        return np.concatenate([[STRAY], points[1:]]) if stray else points


@cache
def _spectrum(noise: Noise, R: int) -> NDArray[np.float64]:
    return law_spectrum(noise.law, R)


def _marchenko_pastur(w: Any) -> Any:
    return 1.0 / (1.0 - 0.25 * w)


MARCHENKO_PASTUR = Noise("Marchenko-Pastur", MarchenkoPastur(0.25), _marchenko_pastur, (("ratio", 0.25),))

SEMICIRCLE = Noise("semicircle", Semicircle(1.0), lambda w: w)


def _skewed(w: Any) -> Any:
    return w + 1.0 / (1.0 - 0.25 * w) - 1.0


SKEWED = Noise("semicircle plus Marchenko-Pastur (skewed)", RTransformLaw(_skewed), _skewed)

UNIFORM = Noise(
    "uniform (jumps at its edges)",
    DensityLaw(lambda x: 0.5, (-1.0, 1.0), "uniform"),
    lambda w: 1.0 / np.tanh(w) - 1.0 / w,
    (("half_width", 1.0),),
)
