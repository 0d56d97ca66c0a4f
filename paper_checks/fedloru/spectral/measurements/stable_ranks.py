"""Stable ranks of drawn Hessians at two sizes, and their expected limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.context import Context
from rmt.banded import draw_banded
from rmt.closed_laws import Semicircle
from rmt.sample_size import stable_rank_gap
from rmt.spiked import SpikedModel

NOISE_SIGMA = 2.0


@dataclass(frozen=True)
class Sizes:
    r"""Spikes at two sample sizes: $\sigma s_M$ of the client and $\sigma s_N$ of the server."""

    spikes: tuple[float, ...]
    client: float
    server: float

    @property
    def theta_0(self) -> float:
        """Return the spike of largest modulus."""
        return max(self.spikes, key=abs)

    def model(self, noise: float) -> SpikedModel:
        """Return the spiked model at one sample size."""
        return SpikedModel(self.spikes, Semicircle(NOISE_SIGMA), noise / NOISE_SIGMA)

    def numbers(self) -> dict[str, Any]:
        """Return plain numbers for witnesses."""
        return {"spikes": list(self.spikes), "client": self.client, "server": self.server}


ABOVE = {
    "theta_0 = -6 sigma s_M": Sizes((-6.0, 2.0), 1.0, 0.8),
    "theta_0 = sigma s_M": Sizes((1.0,), 1.0, 0.5),
    "theta_0 = 1.2 sigma s_M": Sizes((1.2, -0.8), 1.0, 0.3),
    "five spikes, theta_0 = 3 sigma s_M": Sizes((3.0, 1.5, 0.7, -0.4, -2.0), 1.0, 0.5),
}

BETWEEN = {"theta_0 between": Sizes((0.7,), 1.0, 0.5)}

R = 10**9

SETTLED = "R is 10^9: means over R eigenvalues, and edges that are off their limits by the order of R^(-2/3)"


@dataclass(frozen=True)
class Ranks:
    """Independent draws of client and server at R: squared Frobenius norms and spectral norms, shape ``(draws, 2)``."""

    squared: NDArray[np.float64]
    norms: NDArray[np.float64]

    def ranks(self) -> NDArray[np.float64]:
        """Return the stable ranks."""
        return self.squared / self.norms**2

    def gaps(self) -> NDArray[np.float64]:
        """Return the client's stable rank minus the server's."""
        client, server = self.ranks().T
        return client - server


def draw_ranks(sizes: Sizes, R: int, draws: int, rng: np.random.Generator) -> Ranks:
    """Draw clients and servers with independent noise."""
    found = []
    for _ in range(draws):
        pair = [
            draw_banded(sizes.model(noise), R, rng, top=1, bottom=1).stable_rank()
            for noise in (sizes.client, sizes.server)
        ]
        found.append([[rank.frobenius_squared for rank in pair], [rank.spectral_norm for rank in pair]])
    table = np.array(found)
    return Ranks(table[:, 0], table[:, 1])


def measure_ranks(context: Context) -> dict[str, Ranks]:
    """Draw at R = 10^9 wherever the server has an outlier."""
    return {
        name: draw_ranks(sizes, R, context.size(6, 40), context.rng(name)) for name, sizes in (ABOVE | BETWEEN).items()
    }


def expected_ratio(sizes: Sizes, noise: float, part: str, bulk: float) -> float:
    r"""Return the limit of the stable rank, of its numerator or of its denominator, the first two over R.

    Args:
        sizes: spikes.
        noise: $\sigma s$.
        part: ``stable rank``, ``numerator`` or ``norm``.
        bulk: mean square of the limits of the bulk eigenvalues, in units of $\sigma^2s^2$: 4 if all sit at the edges.
    """
    model = sizes.model(noise)
    rank = model.stable_rank(R)
    if part == "norm":
        return rank.spectral_norm
    squared = rank.frobenius_squared + (bulk - 1.0) * noise**2 * (R - len(sizes.spikes))
    return squared / R / (rank.spectral_norm**2 if part == "stable rank" else 1.0)


def expected_gap(sizes: Sizes, bulk: float) -> float:
    """Return the difference of the stable ranks over R, for a mean square of the bulk as in ``expected_ratio``."""
    if bulk == 1.0:
        return stable_rank_gap(sizes.model(sizes.client), sizes.model(sizes.server), R) / R
    ratios = [expected_ratio(sizes, noise, "stable rank", bulk) for noise in (sizes.client, sizes.server)]
    return ratios[0] - ratios[1]
