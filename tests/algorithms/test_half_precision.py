"""Sums in half precision: over many clients, in parts, in passes over large data, with any executor."""

import pytest
import torch
from torch import nn
from travelling import send_share_of_one

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.rounds import one_round, rounds
from algorithms.tree import Tree, weighted_sum
from runs.network_problem import network_problem
from workloads.partition import Even

HALVES = [torch.bfloat16, torch.float16]
MANY = 5000  # 16 parts of 313 clients: a sum in bfloat16 stops growing at 256 equal terms


class Flat:
    """A client with a constant loss."""

    samples = 1.0

    def loss(self, w, batch=None):
        return (w["W"] * 0).sum()


class Resting:
    """A problem whose clients do not move."""

    shares, measures = None, {}

    def __init__(self, clients, dtype):
        self.clients, self.start = (Flat(),) * clients, {"W": torch.full((3,), 1.0, dtype=dtype)}

    def loss(self, w):
        return float(w["W"].double().sum())


@pytest.mark.parametrize("dtype", HALVES)
def test_the_mean_of_equal_models_is_that_model(dtype):
    last = list(rounds(FedAvg(Descent(1, 0.1)), Resting(MANY, dtype), rounds=1))[-1]
    w = last.state.algorithm["W"]
    assert w.dtype == dtype
    assert torch.equal(w, torch.ones_like(w))
    assert last.metrics["bytes_up"] == MANY * 3 * 2  # messages are in half precision


@pytest.mark.parametrize("dtype", HALVES)
def test_a_mean_of_what_was_gathered_is_the_mean(dtype):
    entries = torch.linspace(0.5, 1.5, MANY).to(dtype)
    fed = Federation((Flat(),) * MANY)
    found = fed.average([Tree(W=entry) for entry in entries], of=fed.everyone)["W"]
    assert found.dtype == dtype
    assert float(found) == float(entries.double().mean().to(dtype))
    assert weighted_sum([(0.5, entries)]).dtype == dtype


def test_any_number_of_workers_gives_the_bits_of_one_process(two_workers):
    expected, found = (
        one_round(lambda fed, cohort, _: fed.mean(send_share_of_one, to=cohort), fed, None)
        for fed in (Federation((Flat(),) * 40), Federation((Flat(),) * 40, executor=two_workers))
    )
    assert found["W"].dtype == expected["W"].dtype == torch.bfloat16
    assert torch.equal(found["W"], expected["W"])
    exact = sum((1 / (number + 1)) for number in range(40)) / 40
    assert float(expected["W"][0]) == pytest.approx(exact, rel=2**-8)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_pass_in_many_parts_is_the_pass(dtype):
    """Full gradients, one sample at a time, and evaluations whose sum exceeds the range of half precision."""
    torch.manual_seed(0)
    x, y = torch.randn(1000, 4).to(dtype), torch.full((1000, 1), 100.0).to(dtype)
    module = nn.Linear(4, 1).to(dtype)
    parts = Even().parts([0] * 1000, 1, 0)
    whole, singly = (
        network_problem(module, (x, y), parts, (x, y), loss=nn.functional.l1_loss, eval_batch=rows)
        for rows in (1000, 1)
    )
    assert singly.evaluate(singly.start)["loss"] == pytest.approx(100.0, rel=0.02)
    assert whole.evaluate(whole.start)["loss"] == pytest.approx(100.0, rel=0.02)
    slopes = []
    for made in (whole, singly):
        last = list(rounds(FedAvg(Descent(1, 1.0)), made, rounds=1))[-1]
        slopes.append((last.state.algorithm["bias"] - made.start["bias"]).item())
    assert slopes == pytest.approx([1.0, 1.0], rel=0.02)
