"""Clients and problems of the records: a network of two layers on a few samples.

Clients have unequal numbers of samples, and no two sizes of a layer agree.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils import _pytree as pytree

from algorithms.tree import Tree

LAYERS = "first, second"


def numbers(*shape, seed=0):
    """Return normal numbers in double precision."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def start(*, observed=False):
    """Return the weights of the network: (4, 3) with a bias, and (2, 4)."""
    w = {
        "first.weight": numbers(4, 3, seed=1),
        "first.bias": numbers(4, seed=2),
        "second.weight": numbers(2, 4, seed=3),
    }
    return Tree({**w, "seen": numbers(3, seed=4)} if observed else w)


@dataclass(frozen=True, eq=False)
class Client:
    """A client with the mean squared error of the network, and perhaps a running mean of its inputs."""

    x: Tensor
    y: Tensor
    statistics: frozenset = frozenset()
    takes_values: bool = False

    @property
    def samples(self):
        return float(len(self.x))

    def loss(self, w, batch=None):
        x, y = (self.x, self.y) if batch is None else (self.x[batch], self.y[batch])
        inner = torch.tanh(functional.linear(x, w["first.weight"], w["first.bias"]))
        return ((functional.linear(inner, w["second.weight"]) - y) ** 2).mean()

    def loss_and_statistics(self, w, batch=None):
        x = self.x if batch is None else self.x[batch]
        return self.loss(w, batch), {"seen": 0.75 * w["seen"] + 0.25 * x.mean(0)}

    def tensors(self):
        return {"x": self.x, "y": self.y}

    def with_tensors(self, tensors):
        return replace(self, **tensors)


def clients(sizes=(3, 5, 4), **options):
    return [Client(numbers(n, 3, seed=10 + n) + k, numbers(n, 2, seed=20 + n), **options) for k, n in enumerate(sizes)]


@dataclass(frozen=True)
class Problem:
    """The clients, with the loss over all of their samples."""

    clients: list = field(default_factory=clients)
    shares: tuple | None = None
    start: Tree = field(default_factory=start)

    @property
    def takes_values(self):
        return self.clients[0].takes_values

    def loss(self, w):
        return float(sum(client.samples * client.loss(w) for client in self.clients))

    @property
    def measures(self):
        return {
            "size": lambda w: float(
                sum(
                    entry.dense().square().sum() if hasattr(entry, "dense") else entry.square().sum()
                    for entry in w.values()
                )
            )
        }


def digest(message):
    """Return the sum and a weighted sum of the sizes of the entries of each tensor; signs of columns do not count."""
    leaves = [
        leaf.detach().double().abs().flatten() for leaf in pytree.tree_leaves(message) if isinstance(leaf, Tensor)
    ]
    return [[float(leaf.sum()), float(leaf @ torch.arange(1.0, len(leaf) + 1).double().sqrt())] for leaf in leaves]


def signed(message):
    """Return the sum and a weighted sum of the entries of each tensor."""
    leaves = [leaf.detach().double().flatten() for leaf in pytree.tree_leaves(message) if isinstance(leaf, Tensor)]
    return [[float(leaf.sum()), float(leaf @ torch.arange(1.0, len(leaf) + 1).double().sqrt())] for leaf in leaves]
