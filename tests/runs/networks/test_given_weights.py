"""Losses and gradients are those of the weights of the round, also where a network keeps or reads weights elsewhere."""

import functools

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from algorithms.federation import FederationError
from runs.network_problem import network_problem


def problem(module):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(7, 4, generator=generator, dtype=torch.float64)
    y = torch.arange(7) % 3
    return network_problem(module, (x, y), [np.arange(3), np.arange(3, 7)], (x, y))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


class Listed(Layers):
    def __init__(self):
        super().__init__()
        self.double()
        self.kept = [self.first.weight]

    def forward(self, x):
        return self.last(torch.tanh(nn.functional.linear(x, self.kept[0], self.first.bias)))


class Bound(Layers):
    def __init__(self):
        super().__init__()
        self.double()
        self.first_of = functools.partial(nn.functional.linear, weight=self.first.weight)

    def forward(self, x):
        return self.last(torch.tanh(self.first_of(x)))


class Cached(Layers):
    kept = None

    def forward(self, x):
        if self.kept is None:
            self.kept = self.first.weight.t()
        return self.last(torch.tanh(x @ self.kept))


class Closed(Layers):
    def __init__(self):
        super().__init__()
        self.double()
        self.call = lambda x: self.first(x)

    def forward(self, x):
        return self.last(torch.tanh(self.call(x)))


class Checkpointed(Layers):
    reentrant = False

    def inner(self, x):
        return torch.tanh(self.first(x))

    def forward(self, x):
        x = x.requires_grad_() if self.reentrant else x
        return self.last(checkpoint(self.inner, x, use_reentrant=self.reentrant))


class Reentrant(Checkpointed):
    reentrant = True


class CheckpointedParts(Layers):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5), nn.Tanh())

    def forward(self, x):
        return self.last(checkpoint_sequential(self.parts, 2, torch.tanh(self.first(x)), use_reentrant=False))


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layer):
        ctx.layer = layer
        return layer(x)

    @staticmethod
    def backward(ctx, grad):
        return grad @ ctx.layer.weight, None


class ReadBackwards(Layers):
    def forward(self, x):
        return Reversed.apply(torch.tanh(self.first(x)), self.last)


class Scaled(Layers):
    def forward(self, x):
        inner = torch.tanh(self.first(x))
        if inner.requires_grad:
            inner.register_hook(lambda grad: grad * self.last.weight.square().sum())
        return self.last(inner)


class Named(Layers):
    def forward(self, x):
        return self.last(torch.tanh(nn.functional.linear(x, self.get_parameter("first.weight"))))


@pytest.mark.parametrize(
    "kind", [Listed, Bound, Cached, Closed, Checkpointed, Reentrant, CheckpointedParts, ReadBackwards, Scaled, Named]
)
def test_weights_that_training_does_not_reach_are_refused(kind):
    with pytest.raises(FederationError, match="calls of the network do not take every weight from its layer"):
        problem(kind().double())


class Recurrent(Layers):
    def __init__(self):
        super().__init__()
        self.inner = nn.LSTM(5, 5, proj_size=2, batch_first=True)
        self.last = nn.Linear(2, 3)

    def forward(self, x):
        return self.last(self.inner(self.first(x)[:, None])[0][:, 0])


class Method(Layers):
    def __init__(self):
        super().__init__()
        self.call = self.first.forward

    def forward(self, x):
        return self.last(torch.tanh(self.call(x)))


class Kept(Layers):
    """A frozen teacher in a list, so it is none of the network's layers, and a constant computed once."""

    def __init__(self):
        super().__init__()
        self.teacher, self.constant = [nn.Linear(4, 5).double()], None

    def forward(self, x):
        if self.constant is None:
            self.constant = torch.arange(5.0, dtype=x.dtype)
        return self.last(torch.tanh(self.first(x)) + self.teacher[0](x) + self.constant)


class Normed(Layers):
    def __init__(self):
        super().__init__()
        self.norm, self.drop = nn.BatchNorm1d(5), nn.Dropout(0.5)
        self.first = nn.utils.parametrizations.weight_norm(self.first)
        self.first.bias.requires_grad_(False)

    def forward(self, x):
        return self.last(self.drop(torch.tanh(self.norm(self.first(x)))))


@pytest.mark.parametrize("kind", [Layers, Recurrent, Method, Kept, Normed])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_networks_whose_layers_have_all_weights_are_taken(kind, dtype):
    module = kind().double()
    if dtype == torch.float64:
        assert problem(module).clients
    elif kind is not Kept:
        generator = torch.Generator().manual_seed(0)
        x, y = torch.randn(7, 4, generator=generator), torch.arange(7) % 3
        assert network_problem(module.float(), (x, y), [np.arange(7)], (x, y)).clients


class SharedNumbers(Layers):
    def __init__(self, made):
        super().__init__()
        self.second = nn.Linear(4, 5)
        made(self)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)) + self.second(x))


def by_data(network):
    network.second.weight.data = network.first.weight.data


def by_overlap(network):
    flat = torch.randn(30, dtype=torch.float64)
    network.first.weight.data, network.second.weight.data = flat[:20].view(5, 4), flat[10:].view(5, 4)


def by_buffer(network):
    network.register_buffer("copy", network.first.weight.data[0])


@pytest.mark.parametrize(
    ("made", "other"), [(by_data, "second.weight"), (by_overlap, "second.weight"), (by_buffer, "copy")]
)
def test_parameters_in_the_same_memory_are_refused(made, other):
    network = SharedNumbers(lambda network: None).double()
    made(network)
    with pytest.raises(FederationError, match=f"first.weight and {other} of the network share memory"):
        problem(network)


def by_parameter(network):
    network.second.weight = network.first.weight


def by_neighbours(network):
    flat = torch.randn(5, 8, dtype=torch.float64)
    network.first.weight.data, network.second.weight.data = flat.chunk(2, dim=1)


def by_frozen(network):
    by_data(network)
    network.first.weight.requires_grad_(False), network.second.weight.requires_grad_(False)


@pytest.mark.parametrize("made", [by_parameter, by_neighbours, by_frozen])
def test_tied_parameters_neighbours_in_memory_and_frozen_ones_are_taken(made):
    network = SharedNumbers(lambda network: None).double()
    made(network)
    assert problem(network).clients


@pytest.mark.parametrize(("ignored", "taken"), [([0, 0], True), ([1, 0], False), ([1, 1], True)])
@pytest.mark.parametrize(
    "loss", [nn.CrossEntropyLoss(ignore_index=9), functools.partial(nn.functional.cross_entropy, ignore_index=9)]
)
def test_targets_ignored_in_few_of_many_samples_are_refused(ignored, taken, loss):
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(900, 4, generator=generator), torch.randint(0, 3, (900, 2, 2), generator=generator)
    y[:, 0, 0] = torch.where(torch.arange(900) == 450, 9 if ignored[0] else y[:, 0, 0], 9 if ignored[1] else y[:, 0, 0])
    module = nn.Sequential(nn.Linear(4, 12), nn.Unflatten(1, (3, 2, 2)))

    def make():
        return network_problem(module, (x, y), [np.arange(900)], (x, y), loss=loss)

    if taken:
        assert make().clients
        return
    with pytest.raises(FederationError, match="it ignores 1 targets of sample 450 of the training data and 0 of"):
        make()
