"""Every named network takes the images it is made for."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from workloads.image_networks.models import MODELS, ModelSettings, model

WIDTHS = {
    "resnet10": 2,
    "resnet18": 2,
    "alexnet": 8,
    "vgg16": 8,
    "vit": 8,
    "two-layer": 8,
    "two-layer-printed": 8,
    "two-layer-slope-1": 8,
    "perceptron": 8,
    "convnet": 2,
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_takes_its_images(name):
    settings = ModelSettings(7, 1, 28, seed=1, width=WIDTHS[name], adapt="pad")
    network = model(name, settings)
    for one, same in zip(network.state_dict().values(), model(name, settings).state_dict().values(), strict=True):
        assert torch.equal(one, same)
    assert network(torch.randn(2, 1, 28, 28)).shape == (2, 7)


@pytest.mark.parametrize(("name", "parameters"), [("resnet10", 4_902_090), ("two-layer", 784**2 + 7840)])
def test_the_default_width_is_the_papers(name, parameters):
    network = model(name, ModelSettings(10, 1, 28))
    assert sum(p.numel() for p in network.parameters()) == parameters


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="unknown model 'lenet'; known: resnet10, resnet18, alexnet"):
        model("lenet", ModelSettings(10, 1, 28))
    with pytest.raises(ValueError, match="vit has no norm to choose; norm='group' is only for residual networks"):
        model("vit", ModelSettings(10, 3, 32, norm="group"))
    with pytest.raises(ValueError, match="convnet takes grey images, got 3 channels"):
        model("convnet", ModelSettings(10, 3, 32))
    with pytest.raises(ValueError, match="VGG16 takes images of 32 x 32, got 28 x 28; adapt='pad'"):
        model("vgg16", ModelSettings(10, 1, 28))


def wide(network):
    """Output channels of convolutions and output features of linear layers, in order."""
    return [m.weight.shape[0] for m in network.modules() if isinstance(m, nn.Conv2d | nn.Linear)]


UNITS = {
    "resnet10": (64, lambda network, w: wide(network)[0] == w and wide(network)[-2] == 8 * w),
    "alexnet": (4096, lambda network, w: wide(network)[-4:] == [max(1, 256 * w // 4096), w, w, 7]),
    "vgg16": (512, lambda network, w: wide(network)[-4:] == [w, w, w, 7]),
    "vit": (512, lambda network, w: set(wide(network)) == {w, 7}),
    "two-layer": (784, lambda network, w: network.input.weight.shape == (784, w)),
    "perceptron": (64, lambda network, w: wide(network) == [w, 7]),
    "convnet": (8, lambda network, w: wide(network)[:2] == [w, 2 * w]),
}


@pytest.mark.parametrize("name", UNITS)
def test_the_width_has_the_unit_and_the_default_that_are_stated(name):
    default, has = UNITS[name]
    assert has(model(name, ModelSettings(7, 1, 28, width=16, adapt="pad")), 16)
    assert has(model(name, ModelSettings(7, 1, 28, adapt="pad")), default)


def test_channels_in_proportion_to_the_width_are_rounded_down_but_never_to_none():
    """At 12 of 512, 64 channels are 1.5; at 24 of 4096, 64, 192, 384 and 256 are 0.375, 1.125, 2.25 and 1.5."""
    vgg = model("vgg16", ModelSettings(7, 3, 32, width=12))
    alex = model("alexnet", ModelSettings(7, 3, 32, width=24, adapt="pad"))
    assert wide(vgg) == [1, 1, 3, 3, *[6] * 3, *[12] * 6, 12, 12, 7]
    assert wide(alex) == [1, 1, 2, 1, 1, 24, 24, 7]


@pytest.mark.parametrize("name", MODELS)
def test_seed_precision_and_classes_reach_the_network(name):
    settings = ModelSettings(5, 1, 28, width=WIDTHS[name], adapt="pad", dtype=torch.float64)
    network, other = model(name, settings), model(name, replace(settings, seed=1))
    assert all(p.dtype == torch.float64 for p in network.parameters())
    assert any(not torch.equal(p, q) for p, q in zip(network.parameters(), other.parameters(), strict=True))
    assert network(torch.zeros(1, 1, 28, 28).double()).shape == (1, 5)


@pytest.mark.parametrize("name", ["resnet10", "resnet18", "alexnet", "vgg16", "vit"])
def test_channels_and_norms_reach_the_network(name):
    settings = ModelSettings(5, 2, 32, width=WIDTHS[name])
    assert model(name, settings)(torch.randn(2, 2, 32, 32)).shape == (2, 5)
    if name.startswith("resnet"):
        kinds = {type(m) for m in model(name, replace(settings, norm="group", width=8)).modules()}
        assert nn.GroupNorm in kinds
        assert nn.BatchNorm2d not in kinds
        assert sum(isinstance(m, nn.Conv2d) for m in model(name, settings).modules()) == {"resnet10": 12}.get(name, 20)
