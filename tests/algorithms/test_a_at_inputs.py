"""A at a layer's inputs, single-precision factors of half-precision weights, and values known before a broadcast."""

import pytest
import torch
from torch import nn

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation, FederationError
from algorithms.fedlora import FedLoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.kernels import CONVOLUTIONS
from algorithms.layers import call, factorable
from algorithms.rounds import rounds
from algorithms.tree import Tree


class Towards:
    """A client whose loss is half the squared distance of a matrix, or of its transpose, from a target."""

    samples = 1.0

    def __init__(self, target, transposed):
        self.target, self.transposed = target, transposed

    def loss(self, w, batch=None):
        W = w["W"].mT if self.transposed else w["W"]
        return 0.5 * (W - self.target).square().sum()


class Problem:
    """A problem of two such clients."""

    shares, measures = None, {}

    def __init__(self, transposed):
        generator = torch.Generator().manual_seed(0)
        targets = [torch.randn(5, 3, generator=generator, dtype=torch.float64) for _ in range(2)]
        start = torch.randn(5, 3, generator=generator, dtype=torch.float64)
        self.clients = [Towards(target, transposed) for target in targets]
        self.start = {"W": start.mT if transposed else start}

    def loss(self, w):
        return float(sum(client.loss(w) for client in self.clients))


@pytest.mark.parametrize("kind", [FedLoRA, FFALoRA])
def test_a_at_the_inputs_is_a_at_the_outputs_of_the_transposed_problem(kind):
    losses = []
    for transposed, a_at in ((False, "outputs"), (True, "inputs")):
        algorithm = kind(Descent(steps=3, learning_rate=0.1), Adapter(2, 0.7, a_at=a_at))
        losses.append([step.metrics["loss"] for step in rounds(algorithm, Problem(transposed), rounds=4)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)
    assert losses[0][-1] < 0.9 * losses[0][0]


@pytest.mark.parametrize("convolution", CONVOLUTIONS)
@pytest.mark.parametrize("module", [nn.Linear(5, 7), nn.Conv2d(4, 6, (3, 2))])
def test_values_are_the_tensors_that_they_stand_for(module, convolution):
    module = module.double()
    adapter = Adapter(2, 0.7, layers="weight", a_at="inputs", convolution=convolution)
    w = {name: p.detach() for name, p in module.named_parameters()}
    factors = adapter.factors(w)
    factors = factors._replace(B=factors.B.map(torch.ones_like))
    x = torch.randn(3, 5, dtype=torch.float64) if w["weight"].ndim == 2 else torch.randn(2, 4, 8, 9).double()
    network = factorable(module, "*")
    found, plain = (call(network, made(w, factors), x) for made in (adapter.values, adapter.weights))
    assert torch.allclose(found, plain, rtol=1e-12, atol=1e-12)
    assert float((found - module(x)).detach().abs().max()) > 0.01


def test_single_precision_factors_of_half_precision_weights():
    w = Tree(W=torch.randn(6, 4, dtype=torch.bfloat16))
    adapter = Adapter(2, precision="float32", a_at="inputs")
    factors = adapter.pair(w)
    assert (factors.A["W"].dtype, factors.A["W"].shape, factors.B["W"].shape) == (torch.float32, (4, 2), (2, 6))
    B = torch.randn(2, 6)
    made = adapter.weights(w, AB(factors.A, Tree(W=B)))["W"]
    exact = w["W"].double() + (factors.A["W"].double() @ B.double()).mT
    assert made.dtype == torch.bfloat16
    assert torch.equal(made, (w["W"].float() + (factors.A["W"] @ B).mT).bfloat16())
    assert torch.allclose(made.double(), exact, rtol=2**-8)
    value = adapter.values(w, AB(factors.A, Tree(W=B)))["W"]
    assert {matrix.dtype for _, chain in value.terms for matrix in chain} == {torch.bfloat16}


def test_telling_what_everybody_has_costs_nothing():
    problem = Problem(False)
    fed = Federation(problem.clients, known=[problem.start["W"]])
    bias = torch.zeros(3)
    fed.broadcast(base=Tree(W=problem.start["W"], bias=bias), again=problem.start["W"].clone())
    assert fed.ledger.count("down") == 2 * (3 + 15)


def test_another_side_or_precision_is_refused():
    with pytest.raises(FederationError, match="a_at must be 'outputs' or 'inputs'"):
        Adapter(1, a_at="left")
    with pytest.raises(FederationError, match="precision 'weights' or 'float32'"):
        Adapter(1, precision="double")
