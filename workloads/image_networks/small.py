"""Small smooth networks, seeded without touching the global random state, and their input images."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from workloads.data.datasets import ImageSet

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "softplus": nn.Softplus,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
}


def perceptron(
    inputs: int,
    hidden: tuple[int, ...],
    classes: int,
    seed: int,
    *,
    activation: str = "tanh",
    dtype: torch.dtype = torch.float64,
) -> nn.Sequential:
    """Return a fully connected network from (n, inputs) to logits (n, classes).

    Weights are normal with variance 1/fan-in, biases zero. The default dtype is float64, so Hessians are exact.

    Args:
        inputs: Number of input features.
        hidden: Widths of the hidden layers; empty for a linear model.
        classes: Number of logits.
        seed: Seed of the initial weights.
        activation: A smooth activation: a name of `ACTIVATIONS`.
        dtype: Type of the parameters.

    Raises:
        ValueError: A width is not positive, or the activation is unknown.
    """
    widths = (inputs, *hidden, classes)
    _positive("widths", widths)
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        layers += [skip_init(nn.Linear, fan_in, fan_out, dtype=dtype), _activation(activation)]
    return _initialise(nn.Sequential(*layers[:-1]), seed)


def small_convnet(
    side: int,
    channels: tuple[int, ...],
    classes: int,
    seed: int,
    *,
    activation: str = "tanh",
    dtype: torch.dtype = torch.float64,
) -> nn.Sequential:
    """Return a convolutional network from (n, 1, side, side) or (n, side, side) to logits (n, classes).

    Every stage is a 3x3 convolution, the activation, and an average pool by 2; a linear layer follows.

    Args:
        side: Height and width of the images, divisible by 2 for every stage.
        channels: Channels of the stages.
        classes: Number of logits.
        seed: Seed of the initial weights.
        activation: A smooth activation: a name of `ACTIVATIONS`.
        dtype: Type of the parameters.

    Raises:
        ValueError: A size is not positive, the side is not divisible, or the activation is unknown.
    """
    _positive("side, channels and classes", (side, *channels, classes))
    shrink = 2 ** len(channels)
    if side % shrink:
        raise ValueError(f"side must be divisible by {shrink} for {len(channels)} stages, got {side}")
    layers: list[nn.Module] = [nn.Flatten(), nn.Unflatten(1, (1, side, side))]
    for fan_in, fan_out in pairwise((1, *channels)):
        convolution = skip_init(nn.Conv2d, fan_in, fan_out, kernel_size=3, padding=1, dtype=dtype)
        layers += [convolution, _activation(activation), nn.AvgPool2d(2)]
    features = (1, *channels)[-1] * (side // shrink) ** 2
    layers += [nn.Flatten(), skip_init(nn.Linear, features, classes, dtype=dtype)]
    return _initialise(nn.Sequential(*layers), seed)


def pool(data: ImageSet, side: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return the images averaged over blocks to (N, side, side), or (N, 3, side, side) in colour, and standardised.

    Levels are divided by 255, then shifted and scaled by the mean and the standard deviation of all train pixels at
    full size (MNIST 0.1307 and 0.3081, Fashion-MNIST 0.2860 and 0.3530), of each channel where there are several, for
    both splits and every side.

    Raises:
        ValueError: The side does not divide the images' side.
    """
    grey = levels(data, side, dtype)
    if isinstance(data.pixel_mean, float) and isinstance(data.pixel_deviation, float):
        return (grey - data.pixel_mean) / data.pixel_deviation
    mean, deviation = (torch.tensor(of, dtype=dtype)[:, None, None] for of in (data.pixel_mean, data.pixel_deviation))
    return (grey - mean) / deviation


def levels(data: ImageSet, side: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return the images averaged over blocks to (N, side, side), or (N, 3, side, side) in colour, from 0 to 1.

    Raises:
        ValueError: The side does not divide the images' side.
    """
    full = data.images.shape[-1]
    if side < 1 or full % side:
        divisors = [d for d in range(1, full + 1) if full % d == 0]
        raise ValueError(f"side must divide {full}, so be one of {divisors}, got {side}")
    block = full // side
    # Sums of levels are small integers, hence exact, and need no floating-point copy of the large images. Adding pixel
    # after pixel of all blocks at once takes a third of the time of numpy's sum over the blocks.
    first, *others = product(range(block), repeat=2)
    sums = data.images[..., first[0] :: block, first[1] :: block].astype(np.int32)
    for row, column in others:
        sums += data.images[..., row::block, column::block]
    return torch.from_numpy(sums).to(dtype) / (255 * block**2)


def _positive(name: str, sizes: tuple[int, ...]) -> None:
    if min(sizes) < 1:
        raise ValueError(f"{name} must be positive, got {sizes}")


def _activation(name: str) -> nn.Module:
    if name not in ACTIVATIONS:
        raise ValueError(f"unknown activation {name!r}: choose one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]()


@torch.no_grad()
def _initialise(model: nn.Sequential, seed: int) -> nn.Sequential:
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.normal_(0, parameter[0].numel() ** -0.5, generator=generator)
        else:
            parameter.zero_()
    return model
