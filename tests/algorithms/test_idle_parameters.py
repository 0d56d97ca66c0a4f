"""Parameters that do not affect the loss of a step are not updated, as in `torch.optim`, with any executor."""

from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.fedlin import FedLin
from algorithms.optimisers import Adam, AdamW, Sgd
from algorithms.rounds import rounds
from algorithms.vmap import Vmap
from runs.network_problem import network_problem
from workloads.partition import Even

SAMPLES, RATE, DTYPE = 14, 0.2, torch.float64
OPTIMISERS = [
    (Sgd(weight_decay=0.1), torch.optim.SGD, {"weight_decay": 0.1}),
    (Sgd(0.9, 0.1, nesterov=True), torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    (Adam(weight_decay=0.1), torch.optim.Adam, {"weight_decay": 0.1}),
    (AdamW(weight_decay=0.1), torch.optim.AdamW, {"weight_decay": 0.1}),
]


class Pooled(nn.Module):
    """A network with an unused layer, such as a pre-trained network's layer for another task."""

    def __init__(self):
        super().__init__()
        self.head, self.pooler = nn.Linear(4, 3, dtype=DTYPE), nn.Linear(4, 2, dtype=DTYPE)

    def forward(self, x):
        return self.head(x)


class Sometimes(Pooled):
    """A network that uses its second layer only for full batches, not for the last batch of an epoch."""

    def forward(self, x):
        return self.head(x) + (self.pooler(x).sum(1, keepdim=True) * self.head.bias if len(x) > 2 else 0.0)


class Routed(Pooled):
    """A network whose samples choose their layers, so that a step trains only the layers that its batch uses."""

    def __init__(self):
        super().__init__()
        self.other = nn.Linear(4, 3, dtype=DTYPE)

    def scaled(self, x):
        return self.pooler(x).sum(1, keepdim=True) * self.head.bias

    def forward(self, x):
        out, chosen = self.head(x), (x[:, 0] > 0.4, x[:, 1] > 0.7)
        for layer, rows in zip((self.other, self.scaled), chosen, strict=True):
            if rows.any():
                out = out.index_add(0, rows.nonzero()[:, 0], layer(x[rows]))
        return out


def data():
    x = torch.randn(SAMPLES, 4, generator=torch.Generator().manual_seed(1), dtype=DTYPE)
    return x, torch.arange(SAMPLES) % 3


@cache
def made(kind, clients=1, eval_batch=1000):
    torch.manual_seed(0)
    x, y = data()
    return network_problem(kind(), (x, y), Even().parts(y.numpy(), clients, 0), (x, y), eval_batch=eval_batch)


def by_torch(kind, optimiser, options, settings, number=1):
    torch.manual_seed(0)
    module, (x, y) = kind(), data()
    own = optimiser(module.parameters(), lr=RATE, **options)
    (client,) = made(kind).clients
    for round in range(1, number + 1):
        for batch in settings.draw(client, np.random.default_rng([0, round, 1, 0])):
            own.zero_grad()
            nn.functional.cross_entropy(module(x[batch.samples]), y[batch.samples]).backward()
            own.step()
    return {name: value.detach() for name, value in module.named_parameters()}


def trained(kind, settings, executor=None, algorithm=FedAvg, number=1, **of):
    return list(rounds(algorithm(settings), made(kind, **of), rounds=number, executor=executor))[-1].state.algorithm


@pytest.mark.parametrize("kind", [Pooled, Sometimes, Routed])
@pytest.mark.parametrize(("own", "optimiser", "options"), OPTIMISERS)
def test_they_are_those_of_torch_optim(kind, own, optimiser, options):
    settings = Descent(epochs=3, batch=4, learning_rate=RATE, optimiser=own)
    expected, found = by_torch(kind, optimiser, options, settings), trained(kind, settings)
    torch.testing.assert_close(dict(found), expected, rtol=0, atol=1e-14)
    assert torch.equal(found["pooler.weight"], made(kind).start["pooler.weight"]) is (kind is Pooled)


@pytest.mark.parametrize("kind", [Sometimes, Routed])
@pytest.mark.parametrize(("own", "optimiser", "options"), OPTIMISERS[1:])
def test_a_state_that_a_client_keeps_counts_the_steps_of_each_parameter(own, optimiser, options, kind):
    settings = Descent(epochs=2, batch=3, learning_rate=RATE, optimiser=own, optimiser_state="personal")
    expected = by_torch(kind, optimiser, options, settings, number=3)
    torch.testing.assert_close(dict(trained(kind, settings, number=3)), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("own", [Adam(weight_decay=0.1), AdamW()])
def test_what_every_step_reaches_has_the_same_bits_where_others_are_left_out(own):
    settings = Descent(epochs=3, batch=4, learning_rate=RATE, optimiser=own)
    found, plain = trained(Pooled, settings), trained(lambda: Pooled().head, settings)
    assert torch.equal(found["head.weight"], plain["weight"])


@pytest.mark.sample(1)
@pytest.mark.parametrize("batch", [4, None])
@pytest.mark.parametrize("own", [case[0] for case in OPTIMISERS], ids=repr)
def test_all_executors_leave_them(own, batch, two_workers):
    settings = Descent(steps=3, batch=batch, learning_rate=RATE, optimiser=own)
    start, of = made(Pooled).start, {"clients": 2, "eval_batch": 5}  # all samples of a client are two parts
    for executor in (None, Vmap()):
        found = trained(Pooled, settings, executor, **of)
        torch.testing.assert_close(found["pooler.weight"], start["pooler.weight"], rtol=1e-15, atol=0)
        assert not torch.equal(found["head.weight"], start["head.weight"])
    there, here = (trained(Pooled, settings, executor, **of)["pooler.bias"] for executor in (two_workers, None))
    assert torch.equal(there, here)


@pytest.mark.parametrize("executor", [None, Vmap()])
def test_a_correction_takes_them_along(executor):
    """The gradient that it corrects is 0 there, and the formula has the decay of the weights."""
    settings = Descent(steps=2, batch=4, learning_rate=RATE, optimiser=Sgd(weight_decay=0.1))
    found, start = trained(Pooled, settings, executor, FedLin)["pooler.bias"], made(Pooled).start["pooler.bias"]
    torch.testing.assert_close(found, (1 - RATE * 0.1) ** 2 * start, rtol=1e-14, atol=0)
