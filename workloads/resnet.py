"""Residual networks for small images: a 3x3 stem without pooling, four stages of basic blocks, a linear head.

The architecture of He et al. (2016) for images of 28 to 64 pixels: the stem keeps the resolution, stages 2 to 4 halve
it. ResNet-18 with 64 channels has 11,173,962 parameters for 10 classes of colour images.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

BLOCKS = {10: (1, 1, 1, 1), 18: (2, 2, 2, 2)}
"""Basic blocks of the four stages, by depth."""


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with batch norm, added to the input; (n, c, h, w) to (n, c', h/stride, w/stride).

    Attributes:
        shortcut: A 1x1 convolution with batch norm where the shape changes, else the identity.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _convolution(inputs, outputs, 3, stride)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = _convolution(outputs, outputs, 3)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(_convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        inner = relu(self.norm1(self.conv1(x)))
        return relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


class ResNet(nn.Module):
    """Images (n, channels, h, w) to logits (n, classes); `resnet` builds it with initial weights.

    Attributes:
        layer1, layer2, layer3, layer4: The stages, with 1, 2, 4 and 8 times the stem's width.
    """

    def __init__(self, blocks: tuple[int, int, int, int], classes: int, channels: int, width: int) -> None:
        super().__init__()
        self.conv1 = _convolution(channels, width, 3)
        self.norm1 = nn.BatchNorm2d(width)
        self.layer1 = _stage(width, width, blocks[0], stride=1)
        self.layer2 = _stage(width, 2 * width, blocks[1], stride=2)
        self.layer3 = _stage(2 * width, 4 * width, blocks[2], stride=2)
        self.layer4 = _stage(4 * width, 8 * width, blocks[3], stride=2)
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
    dtype: torch.dtype = torch.float32,
) -> ResNet:
    """Return a residual network for small images, initialised without touching the global random state.

    Convolutions are normal with variance 2/(outputs x kernel area) (He et al., 2015), the head is normal with variance
    1/fan-in and zero bias, batch norms are the identity.

    Args:
        depth: 10 or 18.
        classes: Number of logits.
        seed: Seed of the initial weights.
        channels: Channels of the images: 1 for grey levels, 3 for colours.
        width: Channels of the stem.
        dtype: Of the parameters.

    Raises:
        ValueError: The depth is unknown, or a size is not positive.
    """
    model = resnet_shapes(depth, classes, channels=channels, width=width).to_empty(device="cpu").to(dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                area = module.kernel_size[0] * module.kernel_size[1]
                module.weight.normal_(0, (2 / (module.out_channels * area)) ** 0.5, generator=generator)
            elif isinstance(module, nn.Linear):
                module.weight.normal_(0, module.in_features**-0.5, generator=generator)
                module.bias.zero_()
            elif isinstance(module, nn.BatchNorm2d):
                module.reset_parameters()
    return model


def resnet_shapes(depth: int, classes: int, *, channels: int = 3, width: int = 64) -> ResNet:
    """Return the same network without values, on the meta device, for counting and for naming layers.

    Raises:
        ValueError: The depth is unknown, or a size is not positive.
    """
    if depth not in BLOCKS:
        raise ValueError(f"unknown depth {depth}: choose one of {', '.join(map(str, BLOCKS))}")
    if min(classes, channels, width) < 1:
        raise ValueError(f"classes, channels and width must be positive, got {(classes, channels, width)}")
    with torch.device("meta"):
        return ResNet(BLOCKS[depth], classes, channels, width)


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


def _stage(inputs: int, outputs: int, blocks: int, stride: int) -> nn.Sequential:
    rest = [BasicBlock(outputs, outputs, 1) for _ in range(blocks - 1)]
    return nn.Sequential(BasicBlock(inputs, outputs, stride), *rest)
