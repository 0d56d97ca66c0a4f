"""The worked example's factories, on few of the genuine images."""

import pytest
import torch

from workloads import example
from workloads.data.datasets import listing
from workloads.image_networks.fit import FitSettings

present = {status.name: status.state == "present" for status in listing()}


@pytest.mark.skipif(not present["mnist"], reason="MNIST is not on this machine")
def test_the_example_is_the_same_on_every_call(monkeypatch):
    monkeypatch.setattr(example, "TRAINED_ON", 640)
    monkeypatch.setattr(example, "TRAINING", FitSettings(epochs=1, batch=64, learning_rate=2e-3, seed=0))
    one, other = example.network(), example.network()
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert not one.training
    assert sum(p.numel() for p in one.parameters()) == 6610
    inputs, targets = example.images()
    assert inputs.shape == (example.MEASURED_ON, 28, 28)
    assert targets.dtype == torch.int64
    assert one(inputs[:4]).shape == (4, 10)
    assert (one(inputs).argmax(dim=1) == targets).float().mean() > 0.3  # chance is 0.1
