"""Noise of a general law, and where the eigenvalues of spikes under it are observed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.context import Context
from paper_checks.methods.limit import Ladder
from rmt.closed_laws import MarchenkoPastur, Semicircle
from rmt.general_laws import DensityLaw, RTransformLaw
from rmt.laws import Law
from rmt.secular import RotatedDraw, draw_rotated, law_spectrum
from rmt.spiked import SpikedModel

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
        """Eigenvalues of X: quantiles of the law, the largest one replaced by the stray one."""
        points = _spectrum(self, R)
        return np.concatenate([[STRAY], points[1:]]) if stray else points


@cache
def _spectrum(noise: Noise, R: int) -> NDArray[np.float64]:
    return law_spectrum(noise.law, R)


def _marchenko_pastur(w: Any) -> Any:
    return 1.0 / (1.0 - 0.25 * w)


def _mirrored(w: Any) -> Any:
    return -1.0 / (1.0 + 0.25 * w)


def _skewed(w: Any) -> Any:
    return w + 1.0 / (1.0 - 0.25 * w) - 1.0


def _left_skewed(w: Any) -> Any:
    return 1.0 - 1.0 / (1.0 + 0.25 * w)


MARCHENKO_PASTUR = Noise("Marchenko-Pastur", MarchenkoPastur(0.25), _marchenko_pastur, (("ratio", 0.25),))
SEMICIRCLE = Noise("semicircle", Semicircle(1.0), lambda w: w)
MIRRORED = Noise("mirrored Marchenko-Pastur (negative mean)", RTransformLaw(_mirrored), _mirrored)
SKEWED = Noise("semicircle plus Marchenko-Pastur (skewed)", RTransformLaw(_skewed), _skewed)
UNIFORM = Noise(
    "uniform (jumps at its edges)",
    DensityLaw(lambda x: 0.5, (-1.0, 1.0), "uniform"),
    lambda w: 1.0 / np.tanh(w) - 1.0 / w,
    (("half_width", 1.0),),
)
LEFT_SKEWED = Noise("mirrored Marchenko-Pastur, centred", RTransformLaw(_left_skewed), _left_skewed)
NOISES = (MARCHENKO_PASTUR, SEMICIRCLE, MIRRORED, SKEWED, UNIFORM)


@dataclass(frozen=True)
class Spot:
    """One eigenvalue under observation.

    Attributes:
        noise: law of X.
        s: scale of the noise.
        spikes: all spikes of the model.
        theta: the spike this eigenvalue belongs to; 0 for an index past all spikes.
        index: index from the top, or from the bottom if negative.
        stray: whether X has one eigenvalue beyond the edge of its law.
    """

    noise: Noise
    s: float
    spikes: tuple[float, ...]
    theta: float
    index: int
    stray: bool = False

    @property
    def name(self) -> str:
        """Readable name."""
        place = f"lambda_{self.index}" if self.index > 0 else f"lambda_R-{-1 - self.index}"
        listed = ", ".join(f"{spike:.3g}" for spike in self.spikes)
        return f"{place}, {self.noise.name}{' with a stray eigenvalue' if self.stray else ''}, spikes {listed}"

    @cached_property
    def model(self) -> SpikedModel:
        """The spiked model."""
        return SpikedModel(self.spikes, self.noise.law, self.s)

    def numbers(self) -> dict[str, float]:
        """Plain numbers for witnesses."""
        return {"theta": self.theta, "s": self.s, "spikes": len(self.spikes), **dict(self.noise.numbers)}

    @cached_property
    def relative(self) -> float:
        """The spike in units of the threshold on its side; infinite where every spike separates."""
        below, above = self.model.thresholds
        threshold = above if self.theta > 0 else below
        return self.theta / threshold if threshold else np.inf

    def observe(self, draw: RotatedDraw) -> float:
        """The eigenvalue in one draw."""
        return draw.eigenvalue(self.index if self.index > 0 else draw.R + 1 + self.index)


def _spots() -> tuple[Spot, ...]:
    found = []
    for noise in NOISES:
        s = 0.5
        below, above = SpikedModel((1.0,), noise.law, s).thresholds
        up = (0.5, 0.7, 1.5, 2.0)
        down = (0.5, 1.6)
        spikes = [ratio * above for ratio in up] if above else [0.2, 0.4, 0.7]
        spikes += [ratio * below for ratio in down] if below else [-0.3, -0.7]
        found += [Spot(noise, s, (theta,), theta, 1 if theta > 0 else -1) for theta in spikes]
    together = (0.7, 0.2, -0.08, -0.4)  # Marchenko-Pastur at s = 1/2 has its thresholds at 0.375 and -0.125
    for theta, index in zip((*together, 0.0, 0.0), (1, 2, -2, -1, 3, -3), strict=True):
        found.append(Spot(MARCHENKO_PASTUR, 0.5, together, theta, index))
    found.append(Spot(SEMICIRCLE, 0.5, (0.75,), 0.75, 1, stray=True))
    return tuple(found)


SPOTS = _spots()


def observe(context: Context, spots: Sequence[Spot], dimensions: Sequence[int] = (10**3, 10**4)) -> dict[Spot, Ladder]:
    """Draws every model at each dimension once for all spots on it."""
    found: dict[Spot, Ladder] = {}
    models = {(spot.noise, spot.spikes, spot.stray): spot.model for spot in spots}
    for (noise, spikes, stray), model in models.items():
        here = [spot for spot in spots if (spot.noise, spot.spikes, spot.stray) == (noise, spikes, stray)]
        rungs = []
        for R in dimensions:
            rng, spectrum = context.rng(f"{here[0].name}, R = {R}"), noise.spectrum(R, stray)
            draws = [draw_rotated(model, R, rng, spectrum=spectrum) for _ in range(context.size(32, 200))]
            rungs.append((R, np.array([[spot.observe(draw) for spot in here] for draw in draws])))
        found |= {spot: Ladder(tuple((R, values[:, place]) for R, values in rungs)) for place, spot in enumerate(here)}
    return found


def limiting_eigenvalue(
    spot: Spot,
    rule: str = "printed",
    coefficient: float = 1.0,
    edge: float = 1.0,
    threshold: float = 1.0,
    inner: bool = True,
    **_: Any,
) -> float:
    """The two branches, by the printed rule or by the threshold; ``inner`` puts the scale into the argument of R."""
    lower, upper = spot.model.bulk_edges
    limit = edge * (upper if spot.index > 0 else lower)
    if not spot.theta:
        return limit
    g = spot.theta + coefficient * spot.s * float(spot.noise.transform((spot.s if inner else 1.0) / spot.theta))
    if rule == "printed":
        return g if (g > limit if spot.theta > 0 else g < limit) else limit
    return g if spot.relative > threshold else limit


@dataclass(frozen=True)
class Case:
    """Client and server with one spike and the same law of the noise."""

    noise: Noise
    theta: float
    s_M: float  # noqa: N815
    s_N: float  # noqa: N815

    @property
    def name(self) -> str:
        """Readable name."""
        return f"{self.noise.name}, theta = {self.theta:g}, s_M = {self.s_M:g}, s_N = {self.s_N:g}"

    @cached_property
    def models(self) -> dict[str, SpikedModel]:
        """Client (M) and server (N)."""
        scales = {"M": self.s_M, "N": self.s_N}
        return {which: SpikedModel((self.theta,), self.noise.law, s) for which, s in scales.items()}

    def numbers(self) -> dict[str, float]:
        """Plain numbers for witnesses."""
        return {"theta": self.theta, "s_M": self.s_M, "s_N": self.s_N, **dict(self.noise.numbers)}

    def spike_decides(self, which: str) -> bool:
        """Whether the spike, not the bulk, determines the limit of the norm."""
        model = self.models[which]
        return model.spectral_norm > max(map(abs, model.bulk_edges))
