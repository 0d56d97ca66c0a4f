"""The cost of a run before it starts, by hand: one linear layer from 6 inputs to 3 classes.

A product of n inputs with the weights takes 2 * 6 * 3 * n = 36 n operations, and so does the gradient of the weights.
"""

import sys
from types import ModuleType

import pytest
import torch
from torch import nn

from algorithms.rounds import rounds
from runs.cost import cost_of
from runs.plan import make_plan, parts_of
from runs.settings import Conduct

GRADIENT = 2 * 36
"""Operations of a gradient, for each sample."""
MODEL = 4 * (6 * 3 + 3)
"""Bytes of the weights and the biases in single precision."""


@pytest.fixture(autouse=True)
def linear(monkeypatch):
    """35 samples: clients of unequal sizes, whose mean size is what counts."""
    module = ModuleType("linear_of_this_test")
    x = torch.randn(35, 6, generator=torch.Generator().manual_seed(0))
    module.network = lambda: nn.Linear(6, 3)
    module.data = lambda: ((x, torch.arange(35) % 3), (x[:4], torch.arange(4) % 3))
    monkeypatch.setitem(sys.modules, module.__name__, module)


def plan(algorithm, clients, rounds, **given):
    model = {"model": "linear_of_this_test:network", "learning_rate": 0.1, "clients": clients}
    return make_plan(algorithm, "linear_of_this_test:data", {**model, **given}, Conduct(rounds=rounds))


RANKED = {"fedavg": {}, "fedlin": {}, "fedlora": {"rank": 1, "layers": "*weight"}}
LENGTHS = [
    ({"steps": 2, "batch": 5}, 2 * 5),
    ({"steps": 5, "batch": 2}, 5 * 2),
    ({"epochs": 1, "batch": 2}, 35 / 4),
    ({"epochs": 3, "batch": 5}, 3 * 35 / 4),
]


@pytest.mark.parametrize("cohort", [None, 3])
@pytest.mark.parametrize(("length", "samples"), LENGTHS)
def test_a_cohort_takes_its_steps_in_every_round(cohort, length, samples):
    chosen = {} if cohort is None else {"cohort": cohort}
    found = cost_of(plan("fedavg", 4, 7, **length, **chosen))
    assert found.operations == pytest.approx(7 * (cohort or 4) * samples * GRADIENT)
    assert found.bytes == 7 * (cohort or 4) * 2 * MODEL  # down and up


@pytest.mark.parametrize("partition", ["even", "dirichlet-in-turn"])
def test_a_gradient_over_all_of_a_clients_samples_is_counted_once_a_round(partition):
    """FedLin takes one, and sends gradients in addition to the models. A single client has all 35 samples."""
    found = cost_of(plan("fedlin", 1, 3, steps=2, batch=5, partition=partition))
    assert found.operations == pytest.approx(3 * (35 + 2 * 5) * GRADIENT)
    assert found.bytes == 3 * 4 * MODEL


@pytest.mark.parametrize(("algorithm", "cohort"), [("fedavg", None), ("fedlin", 2), ("fedlora", 2)])
def test_bytes_are_those_of_the_run(algorithm, cohort):
    """Bytes of the rounds; what is sent before the first one is not counted."""
    of = plan(algorithm, 5, 3, steps=2, batch=3, **({} if cohort is None else {"cohort": cohort}), **RANKED[algorithm])
    parts = parts_of(of)
    first, *_, last = (
        step.metrics["bytes_down"] + step.metrics["bytes_up"]
        for step in rounds(parts.algorithm, parts.problem, rounds=3, cohort=cohort)
    )
    assert cost_of(of).bytes == last - first
    assert (first > 0) is (algorithm == "fedlora")
