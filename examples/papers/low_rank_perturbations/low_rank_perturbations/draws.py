"""Draws of perturbed matrices at large dimension: sums, products and rectangular matrices, all by secular equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rmt import AtomicLaw, DensityLaw, FreeSum, Law, MarchenkoPastur, Semicircle, SpikedModel, draw_banded
from rmt.secular import RotatedDraw, draw_rotated, law_spectrum

Array = NDArray[np.float64]

WIGNER = "Gaussian Wigner"
BETA = DensityLaw(lambda x: 3.75 * x * np.sqrt(np.maximum(1 - x, 0.0)), (0.0, 1.0), "15/4 x sqrt(1 - x)")
LAWS: dict[str, Law] = {
    WIGNER: Semicircle(1.0),
    "Wishart, ratio 1/2": MarchenkoPastur(0.5),
    "two atoms plus Wigner": FreeSum(AtomicLaw((-1.0, 2.0), (0.6, 0.4)), Semicircle(0.7)),
    "density 15/4 x sqrt(1 - x)": BETA,
}
"""Laws of X by name, all with square root decay at the right end; the last two are of no classical ensemble."""
POSITIVE_LAWS: dict[str, Law] = {name: LAWS[name] for name in ("Wishart, ratio 1/2", "density 15/4 x sqrt(1 - x)")}
RUNGS = (500, 4_000)
GAUSSIAN_RUNGS = (10**4, 10**6)


@cache
def spectrum(name: str, R: int) -> Array:
    """Return eigenvalues of X in decreasing order, ``(R,)``: quantiles of the law of this name."""
    return law_spectrum(LAWS[name], R)


def projections(draw: RotatedDraw, value: float) -> Array:
    r"""Return squared projections of the unit eigenvector of an eigenvalue on the directions of P, ``(r,)``.

    With $K = (\lambda - D)^{-1}V$ the eigenvector is $Kc$ for the kernel c of $\Theta^{-1} - V^\top K$, in the order of
    the model's spikes.
    """
    K = draw.directions / (value - draw.noise)[:, None]
    M = draw.directions.T @ K
    sizes, vectors = np.linalg.eigh(np.diag(1 / np.asarray(draw.model.spikes)) - M)
    c = vectors[:, np.argmin(np.abs(sizes))]
    return (M @ c) ** 2 / np.sum((K @ c) ** 2)


@dataclass(frozen=True)
class Extremes:
    """Largest and smallest eigenvalues of one sum, and squared projections of each eigenvector, ``(count, spikes)``."""

    top: Array
    top_projections: Array
    bottom: Array
    bottom_projections: Array


def draw_sum(name: str, spikes: Sequence[float], R: int, rng: np.random.Generator, count: int = 2) -> Extremes:
    """Draw X + P at dimension R: a Gaussian Wigner matrix, or eigenvectors that are uniformly random.

    Args:
        name: of the law of X.
        spikes: eigenvalues of P.
        R: dimension.
        rng: random generator.
        count: how many of the largest and of the smallest eigenvalues to find.
    """
    model = SpikedModel(tuple(spikes), LAWS[name])
    if name == WIGNER:
        banded = draw_banded(model, R, rng, top=count, bottom=count)
        return Extremes(*banded.top_overlaps(count), *banded.bottom_overlaps(count))
    draw = draw_rotated(model, R, rng, spectrum=spectrum(name, R))
    ends = draw.top(count), draw.bottom(count)
    found = [np.array([projections(draw, value) for value in end]) for end in ends]
    return Extremes(ends[0], found[0], ends[1], found[1])


@dataclass(frozen=True)
class Product:
    r"""The largest eigenvalue of $(I + P)^{1/2}X(I + P)^{1/2}$ with $P = \theta vv^\top$, and the squared projection of
    its eigenvector on v."""

    value: float
    projection: float


def draw_product(name: str, theta: float, R: int, rng: np.random.Generator) -> Product:
    r"""Draw it, with the eigenvalues of $X^{1/2}(I + P)X^{1/2} = D + \theta aa^\top$ for $a = D^{1/2}v$.

    An eigenvector u of this sum is $(\lambda - D)^{-1}a$, and the one of the product is $(I + P)^{1/2}D^{1/2}u$.
    """
    D, v = spectrum(name, R), rng.standard_normal(R)
    weights = D * v**2 / (v @ v)

    def excess(value: float) -> float:
        with np.errstate(divide="ignore"):  # on the largest entry of D the sum is infinite
            return 1.0 / float(np.sum(weights / (value - D))) - theta

    value = float(brentq(excess, D[0], D[0] + theta * weights.sum(), xtol=1e-15 * D[0]))
    norm = value * float(np.sum(weights / (value - D) ** 2))
    return Product(value, (1.0 + theta) * float(np.sum(weights / (value - D))) ** 2 / norm)


def draw_singular(name: str, theta: float, ratio: float, m: int, rng: np.random.Generator) -> float:
    r"""Draw the largest singular value of $X + \theta uv^\top$, for m rows, m/ratio columns and uniform u and v.

    The law is that of the squares of the singular values of X. With the vectors extended by zeros, the singular values
    are eigenvalues of $\begin{pmatrix}0 & X\\X^\top & 0\end{pmatrix}$, which the perturbation changes by the
    eigenvalues $\pm\theta$ on $(u, \pm v)/\sqrt2$.
    """
    n = round(m / ratio)
    u, v = (one / np.linalg.norm(one) for one in (rng.standard_normal(m), rng.standard_normal(n)))
    singular = np.sqrt(spectrum(name, m))
    noise = np.concatenate([singular, np.zeros(n - m), -singular[::-1]])
    halves = [np.concatenate([u + s * v[:m], s * np.sqrt(2.0) * v[m:], (u - s * v[:m])[::-1]]) / 2 for s in (1, -1)]
    return RotatedDraw(SpikedModel((theta, -theta)), noise, np.stack(halves, axis=1)).eigenvalue(1)
