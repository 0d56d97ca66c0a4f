"""Preparation of image batches on their device: crops, flips and normalisation.

Randomness is given: offsets and flips are drawn before the work, from a generator on the host, so the same
seed gives the same images on every device and in every order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Offsets(NamedTuple):
    """Random numbers for a batch of n images.

    Attributes:
        top: Row of the padded image where each crop begins, int64 (n,).
        left: Column where each crop begins, likewise.
        flip: Whether the image is mirrored, bool (n,).
    """

    top: Tensor
    left: Tensor
    flip: Tensor


@dataclass(frozen=True)
class Preparation:
    """Preparation of images: random crops and flips in training, normalisation always.

    A crop has the image's own size, taken from the image with black pixels around it. The mirror image is taken of
    every second image, left and right exchanged. Then come levels between 0 and 1, minus the mean, over the deviation.

    Attributes:
        padding: Black pixels on each side from which crops are taken; 0: no crop.
        flip: Whether every second image is mirrored, at random.
        mean: Mean of the levels, one for each channel.
        deviation: Deviation of the levels, likewise.

    Raises:
        ValueError: A padding below 0, no or unequally many means and deviations, or deviations that are not positive.
    """

    padding: int = 0
    flip: bool = False
    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if self.padding < 0:
            raise ValueError(f"padding must be at least 0, got {self.padding}")
        if not self.mean or len(self.mean) != len(self.deviation) or not min(self.deviation) > 0:
            raise ValueError(
                f"one mean and one positive deviation are needed for each channel, got {self.mean} and {self.deviation}"
            )

    @property
    def random(self) -> bool:
        """Whether it draws random numbers."""
        return self.flip or self.padding > 0

    def draw(self, rng: np.random.Generator, count: int) -> Offsets:
        """Draw the offsets of a batch of ``count`` images."""
        top, left = (torch.from_numpy(rng.integers(0, 2 * self.padding + 1, count)) for _ in range(2))
        flip = rng.integers(0, 2, count).astype(bool) if self.flip else np.zeros(count, dtype=bool)
        return Offsets(top, left, torch.from_numpy(flip))

    def __call__(self, images: Tensor, offsets: Offsets | None = None) -> Tensor:
        """Prepare a batch.

        Args:
            images: Levels, uint8 from 0 to 255 or floating from 0 to 1, (n, c, h, w); grey levels also (n, h, w).
            offsets: Crops and flips, on any device; none: the images as they are, as for a test set.

        Returns:
            Floating (n, c, h, w); of uint8, float32.

        Raises:
            ValueError: Another shape, or another number of channels.
        """
        if images.ndim == 3:
            images = images.unsqueeze(1)
        if images.ndim != 4 or images.shape[1] != len(self.mean):
            raise ValueError(
                f"expected images (n, {len(self.mean)}, height, width), got {tuple(images.shape)}; there is one mean "
                "for each channel"
            )
        if offsets is not None and self.random:
            images = crop(images, offsets, self.padding)
        levels = images if images.is_floating_point() else images.to(torch.float32) / 255
        # One operation for each channel: constants on the host become no tensors that would have to be copied.
        channels = [(levels[:, c] - m) / d for c, (m, d) in enumerate(zip(self.mean, self.deviation, strict=True))]
        return torch.stack(channels, dim=1)


def crop(images: Tensor, offsets: Offsets, padding: int) -> Tensor:
    """Crop images to their own size after padding them with ``padding`` zeros, and mirror them where asked.

    Args:
        images: (n, c, h, w).
        offsets: Where each crop begins in the padded image, from 0 to 2 padding, and whether it is mirrored.
        padding: Zeros on each side.
    """
    count, _, height, width = images.shape
    top, left, flip = (part.to(images.device, non_blocking=True).unsqueeze(1) for part in offsets)
    rows = top - padding + torch.arange(height, device=images.device)
    columns = torch.arange(width, device=images.device)
    columns = left - padding + torch.where(flip, width - 1 - columns, columns)
    within = ((rows >= 0) & (rows < height)).unsqueeze(2) & ((columns >= 0) & (columns < width)).unsqueeze(1)
    picked = images[
        torch.arange(count, device=images.device)[:, None, None],
        :,
        rows.clamp(0, height - 1).unsqueeze(2),
        columns.clamp(0, width - 1).unsqueeze(1),
    ]  # (n, h, w, c)
    return (picked * within.unsqueeze(3)).permute(0, 3, 1, 2)


FEDLRT_CIFAR_10 = Preparation(flip=True, mean=(0.4914, 0.4822, 0.4465), deviation=(0.2470, 0.2435, 0.2616))
"""FeDLRT, Appendix B.2: random horizontal flips, normalisation."""
FEDLRT_CIFAR_100 = Preparation(flip=True, mean=(0.5071, 0.4867, 0.4408), deviation=(0.2673, 0.2564, 0.2762))
"""Likewise."""
