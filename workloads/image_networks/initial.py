"""Initial weights of networks, drawn from a seed without touching the global random state."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeVar

import torch
from torch import Tensor, nn

NORMS = (nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm)
M = TypeVar("M", bound=nn.Module)


def initialise(shapes: M, seed: int, dtype: torch.dtype = torch.float32, *, fan: str = "in") -> M:
    """Allocate a network of the meta device and draw its initial weights, in place.

    Convolutions are normal with variance 2/(channels x kernel area) (He et al., 2015). Linear layers are normal with
    variance 1/fan-in, or 2/fan-in where a ReLU follows in a `Sequential`. Biases are zero and norms the identity. A
    module with parameters of its own draws them in its method ``draw(generator)``.

    Args:
        shapes: The network, on the meta device.
        seed: Seed of the initial weights.
        dtype: Type of the parameters.
        fan: Channels of a convolution that count: `in` keeps the size of the signal, `out` that of the gradient.
    """
    model = shapes.to_empty(device="cpu").to(dtype)
    rectified = {
        id(layer)
        for sequence in model.modules()
        if isinstance(sequence, nn.Sequential)
        for layer, after in pairwise(sequence)
        if isinstance(after, nn.ReLU)
    }
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                channels = module.out_channels if fan == "out" else module.in_channels
                area = module.kernel_size[0] * module.kernel_size[1]
                module.weight.normal_(0, (2 / (channels * area)) ** 0.5, generator=generator)
                _zero(module.bias)
            elif isinstance(module, nn.Linear):
                gain = 2 if id(module) in rectified else 1
                module.weight.normal_(0, (gain / module.in_features) ** 0.5, generator=generator)
                _zero(module.bias)
            elif isinstance(module, NORMS):
                module.reset_parameters()
            else:
                draw = getattr(module, "draw", None)
                if callable(draw):
                    draw(generator)
    return model


def _zero(bias: Tensor | None) -> None:
    if bias is not None:
        bias.zero_()
