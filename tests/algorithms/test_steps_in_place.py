"""Plain steps in place have the bits of steps in new tensors, and nobody else sees the weights change."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from algorithms.descent import Descent, descend
from algorithms.executors.processes import Processes
from algorithms.fedavg import FedAvg, local_descent
from algorithms.federation import Federation, FederationError, Memory
from algorithms.fedprox import FedProx
from algorithms.local_training import LocalTraining
from algorithms.optimisers import Sgd
from algorithms.resumable import Resumable
from algorithms.rounds import go_on, one_round
from algorithms.schedules import Cosine
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from runs.network_problem import NetworkClients
from runs.networks.network_function import Labelled, network_of
from runs.silos.guarded import check_losses
from workloads.data.augmentation import Preparation
from workloads.partition import Parts

SIZES = (5, 11, 8)


class Tied(nn.Module):
    """One matrix in two layers, a parameter that the loss does not use, and an expanded bias."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.idle = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.second(torch.tanh(self.first(x.flatten(1)[:, :6])))[:, :3]


class Counting(nn.Module):
    """A layer that multiplies its outputs by a number that it writes in every call."""

    def __init__(self):
        super().__init__()
        self.layer, calls = nn.Linear(24, 3), torch.zeros(())
        self.register_buffer("calls", calls)

    def forward(self, x):
        self.calls += 1
        return self.layer(x.flatten(1)) * self.calls


class Exchanged(torch.autograd.Function):
    """Zero, whose gradient in either weight is the other weight itself."""

    @staticmethod
    def forward(context, a, b):
        context.save_for_backward(a, b)
        return a.new_zeros(())

    @staticmethod
    def backward(context, grad):
        a, b = context.saved_tensors
        return b, a


class Exchanging(nn.Module):
    """A layer next to two weights that are the gradients of each other."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(24, 3)
        self.a, self.b = nn.Parameter(torch.tensor([1.0, 2.0])), nn.Parameter(torch.tensor([0.5, -3.0]))

    def forward(self, x):
        return self.layer(x.flatten(1)) + Exchanged.apply(self.a, self.b)


def linear(*layers):
    return nn.Sequential(nn.Flatten(), nn.Linear(24, 7), nn.Tanh(), *layers, nn.Linear(7, 3))


def convolutions():
    return nn.Sequential(nn.Conv2d(2, 3, (2, 3)), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3))


NETWORKS = {
    "linear layers": (linear, {}),
    "convolution": (convolutions, {}),
    "tied weights": (Tied, {}),
    "gradients that are weights": (Exchanging, {}),
    "drop-out": (lambda: linear(nn.Dropout(0.5)), {}),
    "a buffer that is written": (Counting, {}),
    "batch norm without running means": (lambda: linear(nn.BatchNorm1d(7)), {"statistics": "batch"}),
    "batch norm with running means": (lambda: linear(nn.BatchNorm1d(7)), {}),
    "float64": (lambda: linear().double(), {}),
    "half precision": (lambda: linear().bfloat16(), {}),
}


class Made(NamedTuple):
    """Clients of unequal sizes, and their start."""

    clients: NetworkClients
    start: Tree


def problem(make=linear, preparation=None, statistics="averaged"):
    torch.manual_seed(0)
    module, generator = make(), torch.Generator().manual_seed(1)
    x = torch.randn(sum(SIZES), 2, 3, 4, generator=generator).to(next(module.parameters()).dtype)
    y = torch.randint(3, (len(x),), generator=generator)
    parts = Parts.join(np.split(np.arange(len(x)), np.cumsum(SIZES)[:-1]))
    network, start = network_of(module, nn.functional.cross_entropy, preparation, statistics)
    return Made(NetworkClients(network, Labelled(x, y), parts), start)


def final(algorithm, made, clients=None, executor=None, count=2):
    """Return the weights after some rounds."""
    fed = Federation(made.clients if clients is None else clients, executor=executor)
    *_, state = go_on(algorithm.round, fed, algorithm.start(fed, made.start), count)
    return state


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


class Plain:
    """A client without `bind_weights`, whose steps make new tensors."""

    def __init__(self, client):
        self.client = client

    def __getattr__(self, name):
        if name in ("client", "bind_weights"):
            raise AttributeError(name)
        return getattr(self.client, name)


def plain(made):
    return [Plain(made.clients[number]) for number in range(len(SIZES))]


@pytest.mark.parametrize("name", NETWORKS)
def test_steps_in_place_have_the_bits_of_steps_in_new_tensors(name):
    make, options = NETWORKS[name]
    made, algorithm = problem(make, **options), FedAvg(Descent(2, 0.3, batch=4))
    found = final(algorithm, made)
    assert equal(found, final(algorithm, made, plain(made)))
    assert not equal(found, made.start)
    assert equal(found, final(algorithm, made, executor=Resumable()))


def test_each_step_has_its_own_rate_and_batch():
    made = problem()
    algorithm = FedAvg(Descent(epochs=2, batch=3, learning_rate=Cosine(0.4, period=7, per="step")))
    assert equal(final(algorithm, made), final(algorithm, made, plain(made)))


def test_crops_and_flips_are_those_of_the_batch():
    made = problem(preparation=Preparation(1, True, (0.5, 0.2), (2.0, 1.0)))
    local = Descent(3, 0.3, batch=4)
    assert equal(final(FedAvg(local), made), final(FedAvg(local), made, plain(made)))


@pytest.mark.slow
def test_workers_come_to_the_same_bits():
    made, local = problem(), Descent(3, 0.3, batch=4)
    expected = final(FedAvg(local), made)
    workers = Processes(2)
    try:
        assert equal(final(FedAvg(local), made, executor=workers), expected)
    finally:
        workers.close()


def test_stacked_clients_come_to_the_same_weights():
    made, algorithm = problem(), FedAvg(Descent(3, 0.3, batch=4))
    clients = [made.clients[0], made.clients[0].with_tensors({"indices": torch.tensor([4, 9, 13, 2, 0])})]
    found, stacked = (final(algorithm, made, clients, executor) for executor in (None, Vmap()))
    assert all(torch.allclose(stacked[name], found[name], atol=1e-6) for name in found)


def test_the_start_and_the_results_of_earlier_rounds_do_not_change():
    made, algorithm = problem(), FedAvg(Descent(4, 0.3, batch=4))
    fed, start = Federation(made.clients), made.start
    states = [start, *go_on(algorithm.round, fed, start, 3)]
    copies = [start.map(torch.clone)]
    again = Federation(made.clients)
    for _ in range(3):
        copies.append(one_round(algorithm.round, again, copies[-1]).map(torch.clone))
    assert all(map(equal, states, copies))
    assert not equal(states[0], states[1])
    assert not equal(states[1], states[2])


def test_clients_do_not_see_the_steps_of_others():
    made, local = problem(), Descent(4, 0.3, batch=4)
    w = made.start

    def uploads(cohort):
        return Federation(made.clients).gather(local_descent, to=cohort, draw=local.draw, w=w, settings=local)

    together = uploads([0, 1, 2])
    assert all(equal(one, uploads([number])[0]) for number, one in enumerate(together))
    assert len({value.data_ptr() for one in (w, *together) for value in one.values()}) == 4 * len(w)


def test_what_a_client_keeps_across_rounds_does_not_change():
    made = problem()
    algorithm, fed = LocalTraining(Descent(2, 0.3, batch=4)), Federation(made.clients)
    start = algorithm.start(fed, made.start)
    kept = [algorithm.personal_weights(fed, start, 1)]
    copies = [kept[0].map(torch.clone)]
    for state in go_on(algorithm.round, fed, start, 2):
        kept.append(algorithm.personal_weights(fed, state, 1))
        copies.append(kept[-1].map(torch.clone))
    assert all(map(equal, kept, copies))
    assert not equal(kept[1], kept[2])


class Record:
    """Keeps the state after every step, and a copy of it."""

    def __init__(self):
        self.states, self.copies = [], []

    def resume(self):
        return None

    def record(self, state):
        self.states.append(state.trained)
        self.copies.append([value.clone() for value in state.trained])

    def finish(self, result):
        pass


def test_recorded_steps_do_not_change():
    made, local, record = problem(), Descent(4, 0.3, batch=4), Record()
    client = made.clients[1]
    drawn = local.draw(client, np.random.default_rng(0))
    recorded = descend(client, made.start, local, Memory(drawn=drawn, steps=record)).parameters
    assert len(record.states) == 4
    assert all(
        torch.equal(*pair)
        for pairs in zip(record.states, record.copies, strict=True)
        for pair in zip(*pairs, strict=True)
    )
    assert len({state[0].data_ptr() for state in record.states}) == 4
    assert equal(recorded, descend(client, made.start, local, Memory(drawn=drawn)).parameters)


@dataclass
class Keeping:
    """A client that keeps the weights of every call, and does not say that they may change."""

    samples: float = 4.0
    kept: list = field(default_factory=list)

    def loss(self, w, batch=None):
        self.kept.append((w["a"].detach(), w["a"].detach().clone()))
        return (w["a"] ** 2).sum()


def test_weights_do_not_change_for_a_client_that_may_keep_them():
    client = Keeping()
    descend(client, Tree(a=torch.ones(3)), Descent(3, 0.25), Memory())
    assert [float(copy[0]) for _, copy in client.kept] == [1.0, 0.5, 0.25]
    assert all(torch.equal(kept, copy) for kept, copy in client.kept)


SEEN = []


class Referring(nn.Module):
    """A module that keeps a reference to its parameter."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(24, 3)

    def forward(self, x):
        if torch.is_grad_enabled():
            SEEN.append(self.layer.weight)
        return self.layer(x.flatten(1))


def test_a_reference_to_a_parameter_follows_the_steps_as_in_torch():
    made, local = problem(Referring), Descent(3, 0.3, batch=4)
    client = made.clients[1]
    memory = Memory(drawn=local.draw(client, np.random.default_rng(0)))
    SEEN.clear()
    found = descend(client, made.start, local, memory).parameters
    assert len(SEEN) == 3
    assert all(torch.equal(weight, found["layer.weight"]) for weight in SEEN)


@dataclass
class Binding:
    """A quadratic that binds its weights, and counts how often."""

    samples: float = 4.0
    bound: list = field(default_factory=list)

    def draw(self, steps):
        return [torch.arange(2)] * steps

    def loss(self, w, batch=None):
        return (w["a"] ** 2).sum() / 2

    @contextmanager
    def bind_weights(self, w):
        self.bound.append(w["a"])
        yield lambda batch: self.loss(w, batch)


def test_weights_are_bound_once_for_all_steps():
    client, start = Binding(), torch.tensor([8.0, -16.0])
    found, personal = descend(client, Tree(a=start), Descent(3, 0.5, batch=2), Memory(drawn=client.draw(3)))
    assert len(client.bound) == 1
    assert not personal
    assert torch.equal(found["a"], torch.tensor([1.0, -2.0]))
    assert torch.equal(start, torch.tensor([8.0, -16.0]))
    assert not found["a"].requires_grad
    assert found["a"].data_ptr() == client.bound[0].data_ptr()


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"optimiser": Sgd()}, {}),
        ({"clip": 1e6}, {}),
        ({}, {"correction": Tree(a=torch.zeros(2))}),
        ({}, {"pull": 0.5}),
        ({}, {"rates": Tree(a=1.0)}),
        ({}, {"assemble": lambda w: Tree(w)}),
    ],
)
def test_other_steps_bind_no_weights(settings, options):
    client = Binding()
    memory = Memory(drawn=client.draw(3))
    descend(client, Tree(a=torch.ones(2)), Descent(3, 0.5, batch=2, **settings), memory, **options)
    descend(client, Tree(a=torch.ones(2)), Descent(3, 0.5, **settings), Memory(), **options)
    assert not client.bound


def test_proximal_steps_have_the_bits_of_clients_that_bind_no_weights():
    made, algorithm = problem(), FedProx(Descent(3, 0.3, batch=4), 0.1)
    assert equal(final(algorithm, made), final(algorithm, made, plain(made)))


def test_the_module_is_as_before_after_an_error_in_a_step():
    made, local = problem(), Descent(2, 0.3, batch=4)
    module, client = made.clients.network.training.module, made.clients[0]
    before = dict(module.named_parameters())
    drawn = local.draw(client, np.random.default_rng(0))
    drawn[1] = drawn[1]._replace(samples=torch.tensor([99]))
    with pytest.raises(IndexError):
        descend(client, made.start, local, Memory(drawn=drawn))
    assert all(value is before[name] for name, value in module.named_parameters())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.but(["1.bias"]), r"the weights lack 1\.bias"),
        (lambda w: Tree({**w, "2.bias": torch.ones(2)}), r"the network has no '2\.bias'; it has 1\.weight"),
        (lambda w: Tree({**w, "1.bias": torch.ones(2)}), r"1\.bias has shape \(2,\), but the network needs \(7,\)"),
    ],
)
def test_weights_of_other_names_or_shapes_are_refused(change, message):
    made, local = problem(), Descent(2, 0.3, batch=4)
    memory = Memory(drawn=local.draw(made.clients[0], np.random.default_rng(0)))
    with pytest.raises(FederationError, match=message):
        descend(made.clients[0], change(made.start), local, memory)


def test_a_batch_of_one_sample_is_refused_where_batch_norm_needs_several():
    made = problem(lambda: linear(nn.BatchNorm1d(7)), statistics="batch")
    with pytest.raises(
        FederationError, match="batch norm cannot normalise a batch of one sample; choose another batch"
    ):
        final(FedAvg(Descent(2, 0.3, batch=1)), made, count=1)


def test_losses_of_silos_are_checked_also_where_the_client_binds_weights():
    class Elsewhere(Binding):
        def loss(self, w, batch=None):
            return torch.ones((), requires_grad=True) * 2

    with pytest.raises(FederationError, match="the loss depends on none of the network's weights"):
        descend(
            check_losses(Elsewhere()), Tree(a=torch.ones(2)), Descent(1, 0.5, batch=2), Memory(drawn=[torch.arange(2)])
        )
