"""Networks in several processes give the bits of one process, with batch norm, batches, momentum and factors."""

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Sequential
from algorithms.fedlin import FedLin
from algorithms.fedloru import FedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Truncation
from algorithms.optimisers import AdamW, Sgd
from algorithms.rounds import rounds
from runs.network_problem import network_problem
from workloads.image_networks.initial import initialise
from workloads.partition import Even

LAYERS = "0, 5"
LOCAL = Descent(epochs=1, batch=3, learning_rate=0.05, optimiser=Sgd(0.9, 1e-3))
PERSONAL = Descent(3, 0.01, batch=3, optimiser=AdamW(), optimiser_state="personal")
ALGORITHMS = {
    "FedLin": FedLin(LOCAL),
    "FedLoRU": FedLoRU(PERSONAL, Adapter(2, layers=LAYERS), tau=2),
    "FeDLRT": FeDLRT(LOCAL, 2, Truncation(0.05), "full", layers=LAYERS),
}


def problem():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(60, 1, 8, 8, generator=generator), torch.arange(60) % 3
    layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(16, 3)
    module = initialise(nn.Sequential(*layers), 0, torch.float32)
    return network_problem(module, (x, y), Even().parts(y.numpy(), 20, 0), (x[:6], y[:6]))


@pytest.fixture(scope="module")
def pool(two_workers):
    """Two workers of one thread; this process also uses one thread, because the number of threads affects rounding."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield two_workers
    torch.set_num_threads(threads)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_networks_come_to_the_bits_of_one_process(name, pool):
    given = problem()
    runs = [
        list(rounds(ALGORITHMS[name], given, rounds=3, cohort=18, executor=executor))[-1]
        for executor in (Sequential(), pool)
    ]
    states = [pytree.tree_leaves((run.state.algorithm, dict(run.state.federation.personal))) for run in runs]
    for one, other in zip(*states, strict=True):
        assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other
    assert runs[0].metrics == runs[1].metrics
