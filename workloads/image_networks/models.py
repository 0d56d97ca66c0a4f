"""Networks for images by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from workloads.image_networks.alexnet import CHANNELS, alexnet
from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import perceptron, small_convnet
from workloads.image_networks.two_layer import two_layer
from workloads.image_networks.vgg import STAGES, vgg16
from workloads.image_networks.vit import vit


@dataclass(frozen=True)
class ModelSettings:
    """Sizes, seed and variant of a network.

    Attributes:
        classes: Number of logits.
        channels: Channels of the images.
        side: Height and width of the images.
        seed: Seed of the initial weights.
        width: Width of the network, in the unit of `MODELS`; default: the paper's.
        norm: Normalisation of a residual network: `batch` or `group`.
        adapt: Treatment of images that do not fit; see `workloads.image_networks.resize.adapt_network`.
        dtype: Type of the parameters.
    """

    classes: int
    channels: int
    side: int
    seed: int = 0
    width: int | None = None
    norm: str = "batch"
    adapt: str = "none"
    dtype: torch.dtype = torch.float32


def _resnet(depth: int) -> Callable[[ModelSettings], nn.Module]:
    return lambda s: resnet(
        depth, s.classes, s.seed, channels=s.channels, width=s.width or 64, norm=s.norm, dtype=s.dtype
    )


def _alexnet(s: ModelSettings) -> nn.Module:
    hidden = s.width or 4096
    return alexnet(
        s.classes,
        s.seed,
        channels=s.channels,
        side=s.side,
        adapt=s.adapt,
        hidden=hidden,
        filters=_narrow(CHANNELS, hidden, 4096),
        dtype=s.dtype,
    )


def _vgg16(s: ModelSettings) -> nn.Module:
    hidden = s.width or 512
    return vgg16(
        s.classes,
        s.seed,
        channels=s.channels,
        side=s.side,
        adapt=s.adapt,
        hidden=(hidden,) * 2,
        stages=tuple(_narrow(stage, hidden, 512) for stage in STAGES),
        dtype=s.dtype,
    )


def _narrow(channels: Sequence[int], width: int, full: int) -> tuple[int, ...]:
    """Return the channels of convolutions, in proportion to the width of the head."""
    return tuple(max(1, count * width // full) for count in channels)


def _vit(s: ModelSettings) -> nn.Module:
    return vit(s.classes, s.seed, channels=s.channels, side=s.side, adapt=s.adapt, width=s.width or 512, dtype=s.dtype)


def _two_layer(base: str = "normal", slope: float = 0.0) -> Callable[[ModelSettings], nn.Module]:
    return lambda s: two_layer(
        s.classes, s.seed, inputs=s.channels * s.side**2, width=s.width, base=base, slope=slope, dtype=s.dtype
    )


def _perceptron(s: ModelSettings) -> nn.Module:
    dense = perceptron(s.channels * s.side**2, (s.width or 64,), s.classes, s.seed, dtype=s.dtype)
    return nn.Sequential(nn.Flatten(), *dense)


def _convnet(s: ModelSettings) -> nn.Module:
    if s.channels != 1:
        raise ValueError(f"convnet takes grey images, got {s.channels} channels; choose another network")
    first = s.width or 8
    return small_convnet(s.side, (first, 2 * first), s.classes, s.seed, dtype=s.dtype)


MODELS: Mapping[str, Callable[[ModelSettings], nn.Module]] = {
    "resnet10": _resnet(10),
    "resnet18": _resnet(18),
    "alexnet": _alexnet,
    "vgg16": _vgg16,
    "vit": _vit,
    "two-layer": _two_layer(),
    "two-layer-printed": _two_layer("zero"),
    "two-layer-slope-1": _two_layer("zero", 1.0),
    "perceptron": _perceptron,
    "convnet": _convnet,
}
"""The width is: channels of the stem (resnet10, resnet18; 64), hidden features (alexnet 4096, vgg16 512, both with
convolutions in proportion; two-layer and its variants as many as pixels, perceptron 64), features of a token (vit 512),
channels of the first of two convolutions (convnet 8)."""

ADAPTED = ("alexnet", "vgg16", "vit")
"""Networks for images of one size, to which others can be padded."""

LAYERS: Mapping[str, str] = {
    "resnet10": "layer*",
    "resnet18": "layer*",
    "alexnet": "head.0*, head.2*",
    "vgg16": "head.0*, head.2*",
    "vit": "layers.*",
    "two-layer": "input*",
    "two-layer-printed": "input*",
    "two-layer-slope-1": "input*",
    "perceptron": "1*",
    "convnet": "5*",
}
"""Patterns for the layers that are factorised where nothing else is asked for, by network: the convolutions of the
stages with their shortcuts (FedLoRU's counts), the wide layers of the head (FeDLRT), all matrices of the transformer's
layers (FeDLRT), the input's map (RoLoRA); of the two small networks, the largest layer before the last."""


def model(name: str, settings: ModelSettings) -> nn.Module:
    """Build a network by its name.

    Raises:
        ValueError: An unknown name, a norm for a network that has none to choose, or sizes that do not fit.
    """
    if name not in MODELS:
        raise ValueError(f"unknown model {name!r}; known: {', '.join(MODELS)}")
    if settings.norm != "batch" and not name.startswith("resnet"):
        raise ValueError(f"{name} has no norm to choose; norm={settings.norm!r} is only for residual networks")
    return MODELS[name](settings)
