"""Networks and losses that write into what they are given: data and evaluations stay what they are."""

import pytest
import torch
from torch import nn

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.rounds import rounds
from runs.network_problem import network_problem


class Centring(nn.Module):
    """Subtracts in place."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x.sub_(0.5))


NETWORKS = [Centring, lambda: nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 2))]


@pytest.mark.parametrize("make", NETWORKS, ids=["own", "relu"])
def test_evaluations_do_not_wear_the_data_out(make):
    torch.manual_seed(0)
    x = torch.rand(24, 4) - 0.5
    y = (x[:, 0] > 0.0).long()
    kept = x.clone()
    problem = network_problem(make(), (x, y), [range(12), range(12, 24)], (x, y))
    assert len({problem.evaluate(problem.start)["loss"] for _ in range(3)}) == 1
    ends = [
        list(rounds(FedAvg(Descent(2, 0.1)), problem, rounds=4, evaluate_every=every))[-1].metrics["loss"]
        for every in (1, 4)
    ]
    assert ends[0] == ends[1]
    assert torch.equal(x, kept)
