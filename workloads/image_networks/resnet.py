"""Residual networks for small images: a 3x3 stem without pooling, four stages of basic blocks, a linear head.

The architecture of He et al. (2016) for images of 28 to 64 pixels: the stem keeps the resolution, stages 2 to 4 halve
it. ResNet-18 with 64 channels has 11,173,962 parameters for 10 classes of colour images; FedLoRU trains ResNet-10 on
Fashion-MNIST and ResNet-18 on CIFAR.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from workloads.image_networks.initial import initialise

BLOCKS = {10: (1, 1, 1, 1), 18: (2, 2, 2, 2)}
"""Basic blocks of the four stages, by depth."""
NORMS = ("batch", "group")
GROUPS = 2
"""Groups of a group norm, which Hsieh et al. (2020) propose where batch norm fails: on clients of few labels."""


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with norms, added to the input; (n, c, h, w) to (n, c', h/stride, w/stride).

    Attributes:
        shortcut: A 1x1 convolution with a norm where the shape changes, else the identity.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, norm: str) -> None:
        super().__init__()
        self.conv1 = _convolution(inputs, outputs, 3, stride)
        self.norm1 = _norm(outputs, norm)
        self.conv2 = _convolution(outputs, outputs, 3)
        self.norm2 = _norm(outputs, norm)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(_convolution(inputs, outputs, 1, stride), _norm(outputs, norm))

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        inner = relu(self.norm1(self.conv1(x)))
        return relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


class ResNet(nn.Module):
    """Images (n, channels, h, w) to logits (n, classes); `resnet` builds it with initial weights.

    Attributes:
        layer1, layer2, layer3, layer4: The stages, with 1, 2, 4 and 8 times the stem's width.
    """

    def __init__(self, blocks: tuple[int, int, int, int], classes: int, channels: int, width: int, norm: str) -> None:
        super().__init__()
        self.conv1 = _convolution(channels, width, 3)
        self.norm1 = _norm(width, norm)
        self.layer1 = _stage(width, width, blocks[0], 1, norm)
        self.layer2 = _stage(width, 2 * width, blocks[1], 2, norm)
        self.layer3 = _stage(2 * width, 4 * width, blocks[2], 2, norm)
        self.layer4 = _stage(4 * width, 8 * width, blocks[3], 2, norm)
        self.head = nn.Linear(8 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        x = relu(self.norm1(self.conv1(x)))
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
        return self.head(x.mean(dim=(2, 3)))


def resnet(
    depth: int,
    classes: int,
    seed: int,
    *,
    channels: int = 3,
    width: int = 64,
    norm: str = "batch",
    dtype: torch.dtype = torch.float32,
) -> ResNet:
    """Return a residual network for small images, initialised without touching the global random state.

    Convolutions are normal with variance 2/(outputs x kernel area) (He et al., 2015), the head is normal with variance
    1/fan-in and zero bias, norms are the identity.

    Args:
        depth: 10 or 18.
        classes: Number of logits.
        seed: Seed of the initial weights.
        channels: Channels of the images: 1 for grey levels, 3 for colours.
        width: Channels of the stem.
        norm: `batch`, or `group` with two groups, which has the same parameters and no statistics.
        dtype: Type of the parameters.

    Raises:
        ValueError: The depth or the norm is unknown, or a size is not positive or not divisible.
    """
    return initialise(resnet_shapes(depth, classes, channels=channels, width=width, norm=norm), seed, dtype, fan="out")


def resnet_shapes(depth: int, classes: int, *, channels: int = 3, width: int = 64, norm: str = "batch") -> ResNet:
    """Return the same network without values, on the meta device, for counting and for naming layers.

    Raises:
        ValueError: As `resnet`.
    """
    if depth not in BLOCKS:
        raise ValueError(f"unknown depth {depth}: choose one of {', '.join(map(str, BLOCKS))}")
    if norm not in NORMS:
        raise ValueError(f"unknown norm {norm!r}: choose one of {', '.join(NORMS)}")
    if min(classes, channels, width) < 1:
        raise ValueError(f"classes, channels and width must be positive, got {(classes, channels, width)}")
    if norm == "group" and width % GROUPS:
        raise ValueError(f"width must be divisible by {GROUPS} for group norm, got {width}")
    with torch.device("meta"):
        return ResNet(BLOCKS[depth], classes, channels, width, norm)


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


def _norm(channels: int, norm: str) -> nn.Module:
    return nn.BatchNorm2d(channels) if norm == "batch" else nn.GroupNorm(GROUPS, channels)


def _stage(inputs: int, outputs: int, blocks: int, stride: int, norm: str) -> nn.Sequential:
    rest = [BasicBlock(outputs, outputs, 1, norm) for _ in range(blocks - 1)]
    return nn.Sequential(BasicBlock(inputs, outputs, stride, norm), *rest)
