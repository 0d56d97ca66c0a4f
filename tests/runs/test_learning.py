"""The algorithms learn genuine images: far better than chance after a few rounds, at a scale of seconds."""

from pathlib import Path

import pytest

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.fedloru import FedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Truncation
from algorithms.optimisers import Sgd
from algorithms.rolora import RoLoRA
from algorithms.rounds import rounds
from runs.networks.image_federation import ImageFederation
from workloads.data.datasets import find

ROOT = Path(__file__).resolve().parents[2] / "data"
LOCAL = Descent(epochs=1, batch=20, learning_rate=0.1, optimiser=Sgd(momentum=0.9))
LAYERS = "layer*"
ALGORITHMS = {
    "FedAvg": FedAvg(LOCAL),
    "FedLoRU": FedLoRU(LOCAL, Adapter(2, layers=LAYERS), tau=2),
    "RoLoRA": RoLoRA(LOCAL, Adapter(2, layers=LAYERS)),
    "FeDLRT": FeDLRT(LOCAL, 2, Truncation(0.05), layers=LAYERS),
}
CHANCE, MARGIN = 0.12, 0.25
"""The largest class holds at most 12 % of the test images of both sets; the margin is far beyond 500 images' noise."""


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_genuine_digits_are_learnt(name):
    if find("mnist", ROOT) is None:
        pytest.skip("MNIST is not here: `rankproof data fetch mnist`")
    settings = ImageFederation("mnist", "resnet10", clients=4, side=7, width=4, samples=800, test_samples=500)
    steps = list(rounds(ALGORITHMS[name], settings.build(0, root=str(ROOT)), rounds=4, evaluate_every=4))
    assert steps[-1].metrics["accuracy"] > CHANCE + MARGIN
