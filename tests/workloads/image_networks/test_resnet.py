"""Residual networks have the published sizes, are seeded by their seed alone, and halve the resolution three times."""

import pytest
import torch
from torch import nn

from workloads.image_networks.resnet import resnet, resnet_shapes


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("depth", "classes", "channels", "parameters"),
    [(18, 10, 3, 11_173_962), (18, 100, 3, 11_220_132), (10, 10, 3, 4_903_242), (10, 10, 1, 4_902_090)],
)
def test_parameter_counts(depth, classes, channels, parameters):
    assert count(resnet_shapes(depth, classes, channels=channels)) == parameters


@pytest.mark.parametrize(("depth", "convolutions"), [(10, 8), (18, 16)])
def test_layers(depth, convolutions):
    model = resnet_shapes(depth, 10)
    kernels = [m.kernel_size[0] for name, m in model.named_modules() if isinstance(m, nn.Conv2d) and "layer" in name]
    assert kernels.count(3) == convolutions
    assert kernels.count(1) == 3
    assert [m.weight.shape[0] for m in (model.layer1[-1].conv2, model.layer4[-1].conv2)] == [64, 512]


@pytest.mark.parametrize(("depth", "channels"), [(10, 1), (18, 3)])
def test_forward_pass_on_a_narrow_width(depth, channels):
    model = resnet(depth, 7, 0, channels=channels, width=4, dtype=torch.float64)
    x = torch.randn(5, channels, 16, 16, dtype=torch.float64)
    logits = model(x)
    assert logits.shape == (5, 7)
    assert logits.dtype == torch.float64
    assert logits.isfinite().all()
    assert model.layer1(model.conv1(x)).shape == (5, 4, 16, 16)
    assert model.layer4(torch.randn(5, 16, 4, 4, dtype=torch.float64)).shape == (5, 32, 2, 2)


def test_every_parameter_takes_part():
    model = resnet(18, 3, 0, width=2)
    model(torch.randn(4, 3, 8, 8)).pow(2).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.abs().sum() > 0, name


def test_the_seed_decides_and_the_global_state_is_left_alone():
    before = torch.get_rng_state()
    model = resnet(10, 10, 3, width=4)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(99)
    same, other = resnet(10, 10, 3, width=4), resnet(10, 10, 4, width=4)
    for tensor, twin in zip(model.state_dict().values(), same.state_dict().values(), strict=True):
        assert torch.equal(tensor, twin)
    assert not torch.equal(model.conv1.weight, other.conv1.weight)


def test_initial_weights():
    model = resnet(10, 10, 0, width=32)
    weight = model.layer4[0].conv2.weight
    # The sample variance of n normals has a relative deviation of sqrt(2/n); 5 deviations are allowed.
    assert abs(weight.var().item() * 256 * 9 / 2 - 1) < 5 * (2 / weight.numel()) ** 0.5
    norm = model.layer4[0].norm2
    for tensor, value in ((norm.weight, 1), (norm.running_var, 1), (norm.bias, 0), (norm.running_mean, 0)):
        assert (tensor == value).all()


def test_bad_sizes_are_named():
    with pytest.raises(ValueError, match="unknown depth 34: choose one of 10, 18"):
        resnet(34, 10, 0)
    with pytest.raises(ValueError, match=r"positive, got \(10, 3, 0\)"):
        resnet(18, 10, 0, width=0)
