"""Local steps stay on the device of the weights and do not synchronise it.

Without a GPU, a foreign default device replaces it: a tensor that is created without naming its device lands there,
where it has no values, and the computation fails.
"""

from dataclasses import dataclass

import pytest
import torch
from layer_cases import PLAIN, normal
from synchronisations import Synchronisations
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.fedlin import FedLin
from algorithms.fedloru import FedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.layers import Factorable, call, factorable, observe
from algorithms.low_rank import Truncation
from algorithms.optimisers import AdamW, Sgd
from algorithms.rolora import RoLoRA
from algorithms.rounds import go_on
from algorithms.schedules import Cosine
from algorithms.tree import Tree

LAYERS = "0, 4"
STATISTICS = ("1.running_mean", "1.running_var")


@dataclass(frozen=True)
class NetworkOfTest:
    """A client with a convolution, batch norm and a head, and its own images."""

    network: Factorable
    x: Tensor
    y: Tensor
    takes_values = True
    statistics = frozenset(STATISTICS)

    @property
    def samples(self):
        return len(self.x)

    def batch(self, indices):
        return (self.x, self.y) if indices is None else (self.x[indices], self.y[indices])

    def loss(self, w, batch=None):
        x, y = self.batch(batch)
        return nn.functional.cross_entropy(call(self.network, w, x), y)

    def loss_and_statistics(self, w, batch=None):
        x, y = self.batch(batch)
        output, statistics = observe(self.network, w, x)
        return nn.functional.cross_entropy(output, y), statistics


def federation():
    """A problem of clients with initial weights."""
    module = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(3 * 16, 4), nn.GroupNorm(2, 4)
    ).to(PLAIN)
    network = factorable(module, LAYERS)
    names = [*(name for name, _ in module.named_parameters()), *STATISTICS]
    start = {name: 0.3 * normal(*network.shapes[name], seed=number) for number, name in enumerate(names)}
    clients = [NetworkOfTest(network, normal(9, 1, 6, 6, seed=k), (torch.arange(9) + k) % 4) for k in range(3)]
    return clients, Tree(start)


def local(steps, **options):
    return Descent(**{"steps": steps, "learning_rate": 0.05, "batch": 4, **options})


ALGORITHMS = {
    "plain": lambda steps: FedAvg(local(steps)),
    "momentum": lambda steps: FedAvg(local(steps, optimiser=Sgd(0.9, 1e-3, True), clip=1.0)),
    "AdamW": lambda steps: FedAvg(
        local(steps, optimiser=AdamW(), optimiser_state="personal", learning_rate=Cosine(0.01, 9, per="step"))
    ),
    "FedLin": lambda steps: FedLin(local(steps)),
    "FedLoRU": lambda steps: FedLoRU(local(steps, optimiser=Sgd(0.9)), Adapter(2, layers=LAYERS), tau=2),
    "RoLoRA": lambda steps: RoLoRA(local(steps), Adapter(2, layers=LAYERS)),
    "FeDLRT": lambda steps: FeDLRT(local(steps), 2, Truncation(0.05), "full", layers=LAYERS),
}


def states(algorithm, given, rounds=3):
    clients, start = given
    fed = Federation(clients, seed=1)
    state = algorithm.start(fed, start)
    return list(go_on(algorithm.round, fed, state, rounds, 2))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_nothing_is_created_on_another_device_than_the_weights(name):
    given = federation()
    expected = states(ALGORITHMS[name](3), given)
    with torch.device("meta"):
        found = states(ALGORITHMS[name](3), given)
    for one, other in zip(pytree.tree_leaves(found), pytree.tree_leaves(expected), strict=True):
        assert torch.equal(one, other) if isinstance(other, Tensor) else one == other


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_local_step_waits_for_the_device(name):
    def waits(steps):
        given = federation()
        with Synchronisations() as counted:
            states(ALGORITHMS[name](steps), given, rounds=2)
        return len(counted.found), counted.operations

    few, more = waits(2), waits(7)
    assert few[1] < more[1]
    assert few[0] == more[0]
