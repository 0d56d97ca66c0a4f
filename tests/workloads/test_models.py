"""Every named network takes the images it is made for."""

import pytest
import torch

from workloads.models import MODELS, ModelSettings, model

WIDTHS = {
    "resnet10": 2,
    "resnet18": 2,
    "alexnet": 8,
    "vgg16": 8,
    "vit": 8,
    "two-layer": 8,
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
    with pytest.raises(ValueError, match="vit has no norm to choose; norm='group' is for residual networks"):
        model("vit", ModelSettings(10, 3, 32, norm="group"))
    with pytest.raises(ValueError, match="convnet takes grey images, got 3 channels"):
        model("convnet", ModelSettings(10, 3, 32))
    with pytest.raises(ValueError, match="VGG16 takes images of 32 x 32, got 28 x 28; adapt='pad'"):
        model("vgg16", ModelSettings(10, 1, 28))
