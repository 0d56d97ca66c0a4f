"""AlexNet for images of 32 x 32 pixels: five convolutions, three linear layers.

FeDLRT trains AlexNet on CIFAR-10 (Appendix B.3) and prints neither its layers nor a count of parameters. What it prints
is that the linear layers save 96 % to 97 % of the communication, and all layers together 87.3 % to 87.5 %; so the
linear layers hold 90.0 % to 91.1 % of the parameters. The network here has the five convolutions of Krizhevsky (2014)
with kernels of 3 x 3 and the usual head of 4096 features: 23,272,266 parameters for 10 classes, 90.3 % of them in the
head. The network for ImageNet (95.7 % at 10 classes) does not fit what is printed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from workloads.image_networks.initial import initialise
from workloads.image_networks.resize import adapt_network, require_positive

SIDE = 32
CHANNELS = (64, 192, 384, 256, 256)


class AlexNet(nn.Module):
    """Images (n, channels, h, w) to logits (n, classes); `alexnet` builds it with initial weights.

    Attributes:
        fit: Brings the images to 32 x 32.
        features: Convolutions, to (n, 256, 2, 2) at full width.
        head: The three linear layers, which FeDLRT factorises.
    """

    def __init__(self, classes: int, channels: int, side: int, adapt: str, hidden: int, filters: Sequence[int]) -> None:
        super().__init__()
        self.fit = adapt_network("AlexNet", side, SIDE, adapt)
        first, second, third, fourth, fifth = filters
        self.features = nn.Sequential(
            *(nn.Conv2d(channels, first, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(second, third, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(third, fourth, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(fourth, fifth, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        )
        self.head = nn.Sequential(
            *(nn.Linear(4 * fifth, hidden), nn.ReLU()),
            *(nn.Linear(hidden, hidden), nn.ReLU()),
            nn.Linear(hidden, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        return self.head(self.features(self.fit(x)).flatten(1))


def alexnet(
    classes: int,
    seed: int,
    *,
    channels: int = 3,
    side: int = SIDE,
    adapt: str = "none",
    hidden: int = 4096,
    filters: Sequence[int] = CHANNELS,
    dtype: torch.dtype = torch.float32,
) -> AlexNet:
    """Return AlexNet for small images, initialised without touching the global random state.

    Dropout, which the original has before its first two linear layers, is left out: its noise would have to be drawn
    before each client's work, and FeDLRT does not mention it.

    Args:
        classes: Number of logits.
        seed: Seed of the initial weights.
        channels: Channels of the images.
        side: Height and width of the images.
        adapt: Treatment of images that are smaller than 32 x 32; see `workloads.image_networks.resize.adapt_network`.
        hidden: Features between the linear layers.
        filters: Channels of the five convolutions.
        dtype: Type of the parameters.

    Raises:
        ValueError: A size is not positive, or the images do not fit.
    """
    shapes = alexnet_shapes(classes, channels=channels, side=side, adapt=adapt, hidden=hidden, filters=filters)
    return initialise(shapes, seed, dtype)


def alexnet_shapes(
    classes: int,
    *,
    channels: int = 3,
    side: int = SIDE,
    adapt: str = "none",
    hidden: int = 4096,
    filters: Sequence[int] = CHANNELS,
) -> AlexNet:
    """Return the same network without values, on the meta device, for counting and for naming layers.

    Raises:
        ValueError: As `alexnet`.
    """
    require_positive(classes=classes, channels=channels, hidden=hidden, filters=min(filters))
    with torch.device("meta"):
        return AlexNet(classes, channels, side, adapt, hidden, filters)
