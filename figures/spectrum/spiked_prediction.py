"""Predictions of the spiked model for a measured spectrum, shared by the figures that compare the two."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from figures.figure import Settings
from hessian.fits.spiked_fit import spike_of
from rmt import Semicircle, SpikedModel
from workloads.data.datasets import ImageSet
from workloads.image_networks.small import pool

Array = NDArray[np.float64]


def shuffle(
    images: ImageSet, side: int, count: int, settings: Settings, purpose: str, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    """Return pooled images (count, side, side) and their classes (count,), in a random order named by its purpose."""
    order = torch.from_numpy(settings.rng(purpose, "order").permutation(len(images.labels))[:count])
    y = torch.from_numpy(images.labels.astype(np.int64))[order]
    return pool(images, side, dtype)[order].to(settings.device), y.to(settings.device)


def root_mean_square(eigenvalues: Array) -> float:
    """Return the square root of the second moment, which is sigma for a semicircle."""
    return float(np.sqrt(np.mean(eigenvalues**2)))


def exact_stable_rank(eigenvalues: Array) -> float:
    """Return the stable rank of a matrix from all its eigenvalues."""
    return float((eigenvalues**2).sum() / np.abs(eigenvalues).max() ** 2)


def with_noise(eigenvalues: Array, sigma: float) -> SpikedModel:
    """Return the spiked model with noise of a given size whose outliers are the eigenvalues beyond its edges."""
    outliers = eigenvalues[np.abs(eigenvalues) > 2.0 * sigma]
    return SpikedModel(tuple(spike_of(outliers, sigma)), Semicircle(sigma))


def predicted_eigenvalues(model: SpikedModel, R: int) -> Array:
    """Return all R eigenvalues that the model predicts, decreasing: its outliers, and quantiles of the bulk."""
    outliers = [o.location for o in model.outliers if o.separated]
    count = R - len(outliers)
    bulk = np.asarray(model.noise_law.quantile((np.arange(count) + 0.5) / count))
    return np.sort(np.concatenate([outliers, bulk]))[::-1]


def sides(model: SpikedModel) -> tuple[int, int]:
    """Return the numbers of positive and of negative spikes."""
    return sum(spike > 0 for spike in model.spikes), sum(spike < 0 for spike in model.spikes)


def noise_size(hessians: list[Tensor]) -> float:
    r"""Return the RMS deviation per row of independent Hessians from their mean: $\sigma s$ for a semicircle.

    Args:
        hessians: Hessians, at least two, of disjoint sets of equally many samples, each ``(P, P)``.
    """
    mean = torch.stack(hessians).mean(dim=0)
    squares = sum(float((hessian - mean).square().sum()) for hessian in hessians)
    return float((squares / (len(hessians) - 1) / len(mean)) ** 0.5)
