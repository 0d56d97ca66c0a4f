"""Spectra of single spikes in noise, their outliers and overlaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paper_checks.context import Context
from paper_checks.methods.limit import Ladder
from rmt.banded import draw_banded
from rmt.closed_laws import Semicircle
from rmt.spiked import SpikedModel


@dataclass(frozen=True)
class Setting:
    """One instance of the noise model: spikes, entry scale and sample-size factor."""

    spikes: tuple[float, ...]
    sigma: float
    s: float

    @property
    def noise(self) -> float:
        r"""Return $\sigma s$, the threshold and half the edge."""
        return self.sigma * self.s

    def model(self) -> SpikedModel:
        """Return the setting as a spiked model."""
        return SpikedModel(self.spikes, Semicircle(self.sigma), self.s)


# Spikes in units of sigma s: deep inside the bulk, just below and just above the threshold, far outside; both signs.
ALONE = (0.05, 0.5, 0.9, 1.1, 1.5, 2.0, 5.0, -0.5, -1.1, -2.0)

NOISES = ((2.0, 0.5), (1.5, 0.4))
"""Values of sigma and s."""

UNIT_LAW = Semicircle(1.0)
"""Limit law of the noise at sigma s = 1."""


def single_spikes() -> list[tuple[str, Setting]]:
    """Return settings with one spike, from inside the noise to far outside, by name."""
    found = []
    for index, ratio in enumerate(ALONE):
        sigma, s = NOISES[index % len(NOISES)]
        found.append((f"theta = {ratio:g} sigma s", Setting((ratio * sigma * s,), sigma, s)))
    return found


@dataclass(frozen=True)
class Spectra:
    """Ladders of extreme eigenvalues or overlaps, with the setting and spike each belongs to."""

    ladders: dict[str, Ladder]
    spikes: dict[str, tuple[Setting, float]]

    def numbers(self) -> dict[str, dict[str, float]]:
        """Return spike, sigma and s of each quantity, for witnesses."""
        return {name: {"theta": theta, "sigma": at.sigma, "s": at.s} for name, (at, theta) in self.spikes.items()}


def measure_overlaps(context: Context) -> Spectra:
    """Measure overlaps of the extreme eigenvector with its one spike at growing R, and all pairs for three spikes."""
    ladders, spikes = {}, {}
    for name, setting in single_spikes():
        rng, theta = context.rng(name), setting.spikes[0]
        rungs = []
        for R in (10**3, 10**5, 10**8):
            found = []
            for _ in range(context.size(12, 60)):
                draw = draw_banded(setting.model(), R, rng, top=int(theta > 0), bottom=int(theta < 0))
                found.append((draw.top_overlaps(1) if theta > 0 else draw.bottom_overlaps(1))[1][0, 0])
            rungs.append((R, np.array(found)))
        ladders[name], spikes[name] = Ladder(tuple(rungs)), (setting, theta)
    setting = Setting((3.0, 2.0, 1.4), 2.0, 0.5)
    tables = []
    for R in (10**5, 10**8):
        rng = context.rng(f"together, R = {R}")
        found = [draw_banded(setting.model(), R, rng, top=3).top_overlaps(3)[1] for _ in range(context.size(16, 80))]
        tables.append((R, np.array(found)))
    for i in range(3):
        for j in range(3):
            name = f"|<v_{j + 1}, u_{i + 1}>|^2 of three spikes"
            ladders[name] = Ladder(tuple((R, table[:, i, j]) for R, table in tables))
            spikes[name] = (setting, setting.spikes[i] if i == j else 0.0)
    return Spectra(ladders, spikes)


def limiting_overlap(
    setting: Setting, theta: float, everywhere: bool, coefficient: float, power: float, squared: bool
) -> float:
    """Return the limit of eq. (5): the cone around a spike; 0 across spikes and for spikes that stay in the bulk."""
    if theta == 0.0 or (not everywhere and abs(theta) <= setting.noise):
        return 0.0
    overlap = 1.0 - coefficient * abs(setting.noise / theta) ** power
    return overlap if squared or overlap < 0 else overlap**0.5
