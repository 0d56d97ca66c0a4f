"""Data of your own: tensors of inputs and classes, divided as you like. `python examples/own_data.py`."""

import torch
from torch import Tensor, nn

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.rounds import rounds
from runs.network_problem import network_problem
from workloads.partition import Dirichlet


def waves(count: int) -> tuple[Tensor, Tensor]:
    """Noisy waves of 32 points with one, two, three or four crests."""
    crests = torch.arange(count) % 4
    angles = torch.linspace(0, 6.28, 32) * (crests[:, None] + 1) + torch.rand(count, 1)
    return angles.sin() + 0.3 * torch.randn(count, 32), crests


torch.manual_seed(0)
train, test = waves(600), waves(200)
parts = Dirichlet(psi=0.3).parts(train[1].numpy(), clients=8, seed=0)
problem = network_problem(nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)), train, parts, test)
for step in rounds(FedAvg(Descent(steps=5, batch=20, learning_rate=0.2)), problem, rounds=5):
    print(step.metrics["round"], step.metrics["accuracy"])
