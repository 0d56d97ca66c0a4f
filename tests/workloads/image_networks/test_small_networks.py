"""Networks are seeded by their seed alone; pooled images keep the mean."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from workloads.data.datasets import ImageSet
from workloads.image_networks.small import ACTIVATIONS, perceptron, pool, small_convnet

FACTORIES = {
    "perceptron": lambda seed, **more: perceptron(64, (6, 5), 10, seed, **more),
    "convnet": lambda seed, **more: small_convnet(8, (3, 4), 10, seed, **more),
}


@pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES.keys())
def test_the_seed_decides_and_the_global_state_is_left_alone(make):
    before = torch.get_rng_state()
    model = make(3)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(99)
    same, other = make(3), make(4)
    for parameter, twin in zip(model.parameters(), same.parameters(), strict=True):
        assert torch.equal(parameter, twin)
        assert parameter.dtype == torch.float64
        assert parameter.requires_grad
    assert not torch.equal(next(model.parameters()), next(other.parameters()))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES.keys())
def test_shapes(make, activation):
    model = make(0, activation=activation, dtype=torch.float32)
    x = torch.randn(7, 64)
    assert model(x).shape == (7, 10)
    assert model(x).dtype == torch.float32
    assert any(type(module) is ACTIVATIONS[activation] for module in model)


def test_sizes_are_as_asked():
    model = perceptron(4, (3,), 2, 0)
    assert [tuple(p.shape) for p in model.parameters()] == [(3, 4), (3,), (2, 3), (2,)]
    assert isinstance(model[-1], nn.Linear)
    assert [tuple(p.shape) for p in perceptron(4, (), 2, 0).parameters()] == [(2, 4), (2,)]
    convnet = small_convnet(8, (3,), 2, 0)
    assert [tuple(p.shape) for p in convnet.parameters()] == [(3, 1, 3, 3), (3,), (2, 48), (2,)]
    x = torch.randn(5, 8, 8, dtype=torch.float64)
    assert torch.equal(convnet(x), convnet(x[:, None]))


def test_initial_weights_have_variance_one_over_fan_in():
    weight = perceptron(400, (500,), 1, 0)[0].weight
    deviation = 400**-0.5
    # The sample variance of 200,000 normals has a relative deviation of sqrt(2/200000); 5 deviations are allowed.
    assert abs(weight.var().item() / deviation**2 - 1) < 5 * (2 / weight.numel()) ** 0.5
    assert abs(weight.mean().item()) < 5 * deviation / weight.numel() ** 0.5


def test_bad_sizes_are_named():
    with pytest.raises(ValueError, match=r"positive, got \(4, 0, 2\)"):
        perceptron(4, (0,), 2, 0)
    with pytest.raises(ValueError, match="unknown activation 'relu': choose one of tanh"):
        perceptron(4, (3,), 2, 0, activation="relu")
    with pytest.raises(ValueError, match="divisible by 4 for 2 stages, got 14"):
        small_convnet(14, (2, 2), 10, 0)


@pytest.fixture
def data():
    images = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)
    return ImageSet("noise", images, np.zeros(5, np.uint8), "train", Path(), pixel_mean=0.25, pixel_deviation=0.5)


@pytest.mark.parametrize("side", [28, 14, 7, 4, 1])
def test_pool_averages_blocks(data, side):
    grey = torch.from_numpy(data.images.astype(np.float64))[:, None] / 255
    expected = nn.functional.avg_pool2d(grey, 28 // side)[:, 0]
    torch.testing.assert_close(pool(data, side), (expected - 0.25) / 0.5, rtol=0, atol=1e-14)
    assert pool(data, side, torch.float32).dtype == torch.float32


def test_pool_needs_a_divisor(data):
    with pytest.raises(ValueError, match=r"one of \[1, 2, 4, 7, 14, 28\], got 10"):
        pool(data, 10)
