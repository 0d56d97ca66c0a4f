"""Gradient alignment in drawn scenes, and its expected value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.context import Budget, Context
from rmt.alignment import ClientGradients, alignment_by_rank, draw_two_clients, outlier_slopes
from rmt.closed_laws import Semicircle
from rmt.spiked import SpikedModel


@dataclass(frozen=True)
class Scene:
    """Two clients of one spiked model with sigma s_N = 1/2, and their gradients."""

    model: SpikedModel
    gradients: ClientGradients

    @property
    def outliers(self) -> int:
        r"""Return the number $\tilde r$ of spikes above the threshold."""
        return sum(outlier.separated for outlier in self.model.outliers)

    def numbers(self) -> dict[str, Any]:
        """Return plain numbers for witnesses."""
        return {
            "spikes": list(self.model.spikes),
            "noise": self.model.sigma(),
            "gradient": list(self.gradients.along),
            "noise_square": self.gradients.noise_square,
        }


def _scene(spikes: tuple[float, ...], along: tuple[float, ...], elsewhere: float, noise_square: float) -> Scene:
    return Scene(SpikedModel(spikes, Semicircle(2.0), 0.25), ClientGradients(along, elsewhere, noise_square))


SCENES = {
    "opposite spikes": _scene((1.0, -1.0), (1.0, 1.0), 0.0, 0.0),
    "no own errors": _scene((1.5, 1.0, -0.75), (1.0, 1.5, 2.0), 0.3, 0.0),
    "own errors, small first slope": _scene((1.5, 1.0, -0.75), (0.1, 5.0, 2.0), 0.0, 0.25),
    "own errors": _scene((1.5, 1.0, -0.75), (1.0, 1.5, 2.0), 0.3, 1.0),
}

RANKS = 5

R = 20_000

SETTLED = "outliers and their overlaps are off their limits by the order of 1/R"


@dataclass(frozen=True)
class Alignment:
    """Means over the clients' own errors for each draw of two clients; arrays of shape ``(draws, RANKS)``.

    Attributes:
        cosines: cosine of the rank-r gradients.
        own: part i = j of their inner product.
        cross: part i != j.
        norms: product of their norms.
    """

    cosines: NDArray[np.float64]
    own: NDArray[np.float64]
    cross: NDArray[np.float64]
    norms: NDArray[np.float64]


@cache
def draw_scene(name: str, seed: int, budget: Budget) -> Alignment:
    """Draw one scene, the same for all claims."""
    context = Context("fedloru-v2/thm-3.3", seed, budget)
    scene, rng, rows = SCENES[name], context.rng(name), []
    noisy = scene.gradients.noise_square > 0
    # The cosine is 0 or not for opposite spikes, of either sign for a small first slope: these take more draws.
    draws = {"opposite spikes": 120, "own errors": 50}.get(name, 40)
    for _ in range(context.size(draws, 80 if noisy else 200)):
        pair = draw_two_clients(scene.model, R, rng, RANKS)
        slopes = pair.slopes(scene.gradients, rng, 20_000 if noisy else 1)
        rows.append([pair.cosines(slopes), *pair.products(slopes), pair.norms(slopes)])
    return Alignment(*np.array(rows).transpose(1, 0, 2))


def measure_alignment(context: Context, names: tuple[str, ...] = tuple(SCENES)) -> dict[str, Alignment]:
    """Draw all scenes."""
    return {name: draw_scene(name, context.seed, context.budget) for name in names}


def expected_alignment(
    scene: Scene, rank: int, form: str, beta_square: float = 0.0, noise: float = 1.0, power: float = 2.0
) -> float:
    r"""Return the limit of the expected cosine at one rank.

    Args:
        scene: model and gradients.
        rank: number of eigenvectors kept.
        form: ``expectations`` is the paper's quotient of $\alpha_i^2\phi_i^2$ and $\alpha_i^2$ (eqs. 54, 57);
            ``direction`` accounts for the clients' own errors (``rmt.alignment``).
        beta_square: $\beta^2$ in the quotient.
        noise: factor on the mean square of the own errors.
        power: power of $\phi_i$ in the quotient.
    """
    if form == "direction":
        gradients = replace(scene.gradients, noise_square=noise * scene.gradients.noise_square)
        return alignment_by_rank(scene.model, gradients, (rank,))[0]
    slopes, overlaps = outlier_slopes(scene.model, scene.gradients)
    squares, bulk = slopes[:rank] ** 2, max(rank - len(slopes), 0)
    return float(squares @ overlaps[:rank] ** (power / 2.0)) / (float(squares.sum()) + bulk * beta_square)
