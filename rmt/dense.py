r"""The spiked model as a dense matrix: any entry law, localised or spread spikes, numpy or torch.

This is the slow, general path and the oracle of the band form. Gaussian noise of either diagonal, other entry laws of
the same variance, and noise of any spectral law with uniformly random eigenvectors can be drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from rmt.checks import require_fourth_moment, require_not_negative, require_order
from rmt.closed_laws import Semicircle
from rmt.laws import Law
from rmt.spiked import SpikedModel, check_dimension

Sampler = Callable[[np.random.Generator, int, int], NDArray[np.float64]]


@dataclass(frozen=True)
class EntryLaw:
    r"""Law of the matrix entries: independent, mean 0, variance 1 before scaling.

    Attributes:
        name: how the law is called.
        sample: ``sample(rng, count, R)`` draws that many entries for a matrix of dimension R.
        fourth_moment: fourth moment of an entry; infinite or growing with R means that the edge is not at $2\sigma$.
        diagonal_variance: variance of a diagonal entry.

    Raises:
        ValueError: a fourth moment below 1, which no law of variance 1 has, or a variance that is negative or infinite.
    """

    name: str
    sample: Sampler
    fourth_moment: float
    diagonal_variance: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "fourth_moment", require_fourth_moment(self.fourth_moment))
        object.__setattr__(self, "diagonal_variance", require_not_negative("diagonal_variance", self.diagonal_variance))


def _gaussian(rng: np.random.Generator, count: int, R: int) -> NDArray[np.float64]:
    return rng.standard_normal(count)


def _rademacher(rng: np.random.Generator, count: int, R: int) -> NDArray[np.float64]:
    return 2.0 * rng.integers(0, 2, count).astype(np.float64) - 1.0


def _uniform(rng: np.random.Generator, count: int, R: int) -> NDArray[np.float64]:
    return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), count)


def _three_point(rng: np.random.Generator, count: int, R: int) -> NDArray[np.float64]:
    return np.sqrt(8.0) * rng.choice([-1.0, 0.0, 1.0], count, p=[1 / 16, 7 / 8, 1 / 16])


def _exponential(rng: np.random.Generator, count: int, R: int) -> NDArray[np.float64]:
    return rng.standard_exponential(count) - 1.0


def _one_per_row(rng: np.random.Generator, count: int, R: int) -> NDArray[np.float64]:
    """Draw entries that are non-zero with probability 1/R only: variance 1, one entry in a row on average."""
    return np.sqrt(R) * (rng.random(count) * R < 1.0) * _rademacher(rng, count, R)


ENTRY_LAWS = {
    law.name: law
    for law in (
        EntryLaw("goe", _gaussian, 3.0, diagonal_variance=2.0),
        EntryLaw("gaussian", _gaussian, 3.0),
        EntryLaw("rademacher", _rademacher, 1.0),
        EntryLaw("uniform", _uniform, 1.8),
        EntryLaw("three-point", _three_point, 8.0),
        EntryLaw("exponential", _exponential, 9.0),
        EntryLaw("one-per-row", _one_per_row, np.inf),
    )
}


@dataclass(frozen=True, eq=False)
class DenseDraw:
    """One dense draw of the spiked model.

    Attributes:
        model: the model it was drawn from.
        matrix: shape ``(R, R)``, symmetric.
        directions: orthonormal spike directions as columns, shape ``(R, spikes)``, largest spike first.
        device: torch device on which spectra are computed; None means LAPACK through scipy.
    """

    model: SpikedModel
    matrix: NDArray[np.float64]
    directions: NDArray[np.float64]
    device: str | None = None

    def eigenvalues(self) -> NDArray[np.float64]:
        """Return all eigenvalues in increasing order."""
        if self.device is None:
            return eigh(self.matrix, eigvals_only=True, check_finite=False)
        import torch

        return torch.linalg.eigvalsh(torch.as_tensor(self.matrix, device=self.device)).cpu().numpy()

    def top_overlaps(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return the largest eigenvalues, decreasing, and $|\langle v_j, u_i\rangle|^2$, shape ``(count, spikes)``."""
        return self._overlaps(count, largest=True)

    def bottom_overlaps(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the smallest eigenvalues, increasing, and their overlaps."""
        return self._overlaps(count, largest=False)

    def _overlaps(self, count: int, largest: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        R = len(self.matrix)
        if not 1 <= count <= R:
            raise ValueError(f"count must lie between 1 and R = {R}, got {count}")
        count = require_order("count", count)
        if self.device is None:
            window = (R - count, R - 1) if largest else (0, count - 1)
            values, vectors = eigh(self.matrix, subset_by_index=window, check_finite=False)
        else:
            import torch

            all_values, all_vectors = torch.linalg.eigh(torch.as_tensor(self.matrix, device=self.device))
            kept = slice(R - count, R) if largest else slice(0, count)
            values, vectors = all_values[kept].cpu().numpy(), all_vectors[:, kept].cpu().numpy()
        if largest:
            values, vectors = values[::-1], vectors[:, ::-1]
        return values, (vectors.T @ self.directions) ** 2


def draw_dense(
    model: SpikedModel,
    R: int,
    rng: np.random.Generator,
    *,
    entries: str | EntryLaw = "goe",
    directions: Literal["localised", "spread"] = "localised",
    device: str | None = None,
) -> DenseDraw:
    """Draw the spiked model as a dense matrix.

    With semicircular noise the entries follow ``entries``; with any other noise law the eigenvalues are the quantiles
    of that law and the eigenvectors uniformly random, and ``entries`` is not used.

    Args:
        model: spiked model.
        R: dimension, at least the number of spikes.
        rng: random generator; the draw depends only on it, not on the device.
        entries: an ``EntryLaw`` or the name of one in ``ENTRY_LAWS``.
        directions: spikes on the first coordinates, or on uniformly random orthonormal directions.
        device: torch device for spectra, for instance ``"cuda"``; None for LAPACK.

    Raises:
        ValueError: unknown entry law or directions, or R smaller than the number of spikes.
    """
    R = check_dimension(R, at_least=max(1, len(model.spikes)))
    if isinstance(entries, str):
        if entries not in ENTRY_LAWS:
            raise ValueError(f"unknown entry law {entries!r}; known: {', '.join(ENTRY_LAWS)}")
        entries = ENTRY_LAWS[entries]
    count = len(model.spikes)
    if directions == "localised":
        frame = np.eye(R, count)
    elif directions == "spread":
        frame = np.linalg.qr(rng.standard_normal((R, count)))[0]
    else:
        raise ValueError(f"directions must be 'localised' or 'spread', got {directions!r}")
    law = model.noise_law
    if isinstance(law, Semicircle):
        matrix = wigner(law.sigma, R, rng, entries)
        matrix.flat[:: R + 1] += law.center
    else:
        matrix = rotated(law, R, rng)
    matrix += (frame * np.asarray(model.spikes)) @ frame.T
    return DenseDraw(model, matrix, frame, device)


def wigner(sigma: float, R: int, rng: np.random.Generator, entries: EntryLaw) -> NDArray[np.float64]:
    """Draw a symmetric matrix with independent entries of mean 0 and off-diagonal variance ``sigma**2 / R``."""
    matrix = np.zeros((R, R))
    rows, columns = np.tril_indices(R, -1)
    matrix[rows, columns] = entries.sample(rng, len(rows), R)
    matrix += matrix.T
    matrix.flat[:: R + 1] = np.sqrt(entries.diagonal_variance) * entries.sample(rng, R, R)
    matrix *= sigma / np.sqrt(R)
    return matrix


def rotated(law: Law, R: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a symmetric matrix whose eigenvalues are the quantiles of a law, with uniformly random eigenvectors."""
    basis = np.linalg.qr(rng.standard_normal((R, R)))[0]
    return (basis * _quantiles(law, R)) @ basis.T


def _quantiles(law: Law, R: int) -> NDArray[np.float64]:
    """Return the eigenvalues of all draws of one law and size.

    They are kept with this very law: laws that compare equal need not be, since a density is code that may change.
    """
    if law.__dict__.get("_quantiles", ((), 0))[1] != R:
        law.__dict__["_quantiles"] = np.asarray(law.quantile((np.arange(R) + 0.5) / R)), R
    kept: NDArray[np.float64] = law.__dict__["_quantiles"][0]
    return kept
