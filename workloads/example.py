"""A worked example for `rankproof spectrum`: a small convolutional network, trained on the genuine MNIST.

`network` takes some seconds of one processor; nothing is kept, and two calls give the same weights.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from workloads.data.datasets import load
from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.small import pool, small_convnet

TRAINED_ON, MEASURED_ON = 20_000, 1_000
"""Images, from the beginning of the training set; the spectrum is taken over the first of those trained on."""
TRAINING = FitSettings(epochs=2, batch=64, learning_rate=2e-3, seed=0)


def network() -> nn.Module:
    """Return a trained network with two convolutions and 6,610 parameters.

    Raises:
        DataError: MNIST is not on this machine; the message says how to fetch it.
    """
    model = small_convnet(28, (6, 12), 10, seed=0, dtype=torch.float32)
    fit(model, *_images(TRAINED_ON), TRAINING)
    return model.eval()


def images() -> tuple[Tensor, Tensor]:
    """Return inputs and targets: standardised images (n, 28, 28) and their classes.

    Raises:
        DataError: As `network`.
    """
    return _images(MEASURED_ON)


def _images(count: int) -> tuple[Tensor, Tensor]:
    data = load("mnist")
    return pool(data, 28, torch.float32)[:count], torch.from_numpy(data.labels[:count]).long()
