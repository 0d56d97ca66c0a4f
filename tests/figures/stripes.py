"""A tiny invented image set, under its own name."""

from pathlib import Path

import numpy as np

from workloads.data.datasets import ImageSet


def stripes(samples=400):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, samples).astype(np.uint8)
    rows = np.arange(28)[:, None] * (1 + labels)[:, None, None]
    images = (127 * (1 + np.sin(0.3 * rows)) * rng.uniform(0.5, 1.0, (samples, 28, 28))).astype(np.uint8)
    return ImageSet("invented-stripes", images, labels, "train", Path("nowhere"), 0.4, 0.3)
