"""VGG16 for images of 32 x 32 pixels: thirteen 3x3 convolutions with batch norm and five poolings, then linear layers.

Simonyan and Zisserman (2015), configuration D. FeDLRT trains VGG16 on CIFAR-10 (Appendix B.3) and prints neither its
head nor a count of parameters. With the two hidden layers of 512 features that are usual for CIFAR-10 it has 15,253,578
parameters for 10 classes; with no hidden layer 14,728,266.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from workloads.image_networks.initial import initialise
from workloads.image_networks.resize import adapt_network, require_positive

SIDE = 32
Stages = tuple[tuple[int, ...], ...]
STAGES: Stages = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
"""Channels of the convolutions of each stage; a pooling by 2 follows each stage."""


class VGG16(nn.Module):
    """Images (n, channels, h, w) to logits (n, classes); `vgg16` builds it with initial weights.

    Attributes:
        fit: Brings the images to 32 x 32.
        features: Convolutions, to (n, 512, 1, 1) at full width.
        head: The linear layers.
    """

    def __init__(
        self, classes: int, channels: int, side: int, adapt: str, hidden: tuple[int, ...], stages: Stages
    ) -> None:
        super().__init__()
        self.fit = adapt_network("VGG16", side, SIDE, adapt)
        layers: list[nn.Module] = []
        for stage in stages:
            for outputs in stage:
                layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
                channels = outputs
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        head: list[nn.Module] = []
        for inputs, outputs in pairwise((channels, *hidden)):
            head += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.head = nn.Sequential(*head, nn.Linear((channels, *hidden)[-1], classes))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        return self.head(self.features(self.fit(x)).flatten(1))


def vgg16(
    classes: int,
    seed: int,
    *,
    channels: int = 3,
    side: int = SIDE,
    adapt: str = "none",
    hidden: tuple[int, ...] = (512, 512),
    stages: Stages = STAGES,
    dtype: torch.dtype = torch.float32,
) -> VGG16:
    """Return VGG16 for small images, initialised without touching the global random state.

    Args:
        classes: Number of logits.
        seed: Seed of the initial weights.
        channels: Channels of the images.
        side: Height and width of the images.
        adapt: Treatment of images that are smaller than 32 x 32, which five poolings would leave without a pixel;
            see `workloads.image_networks.resize.adapt_network`.
        hidden: Features of the hidden layers of the head.
        stages: Channels of the convolutions, stage by stage.
        dtype: Type of the parameters.

    Raises:
        ValueError: A size is not positive, or the images do not fit.
    """
    shapes = vgg16_shapes(classes, channels=channels, side=side, adapt=adapt, hidden=hidden, stages=stages)
    return initialise(shapes, seed, dtype)


def vgg16_shapes(
    classes: int,
    *,
    channels: int = 3,
    side: int = SIDE,
    adapt: str = "none",
    hidden: tuple[int, ...] = (512, 512),
    stages: Stages = STAGES,
) -> VGG16:
    """Return the same network without values, on the meta device, for counting and for naming layers.

    Raises:
        ValueError: As `vgg16`.
    """
    require_positive(classes=classes, channels=channels, hidden=min(hidden, default=1), stages=min(map(min, stages)))
    with torch.device("meta"):
        return VGG16(classes, channels, side, adapt, hidden, stages)
