"""Factories for `rankproof spectrum`: tiny networks and data, good and bad."""

import multiprocessing
import os
import signal

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from workloads.image_networks.small import perceptron

_GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(40, 6, generator=_GENERATOR)
Y = torch.randint(0, 3, (40,), generator=_GENERATOR)


def mlp():
    return perceptron(6, (8,), 3, seed=0, dtype=torch.float32)


def twice():
    """A layer that hangs in two places."""
    torch.manual_seed(0)
    shared = nn.Linear(6, 6)
    return nn.Sequential(shared, nn.Tanh(), shared, nn.Tanh(), nn.Linear(6, 3))


def splits():
    """Training and test samples, for runs."""
    return (X, Y), (X, Y)


def batch_norm():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))


def dropout():
    return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3))


def linear():
    model = nn.Linear(6, 3, bias=False)
    nn.init.zeros_(model.weight)
    return model


class Named(nn.Module):
    """Takes a mapping's entries as keywords."""

    def __init__(self):
        super().__init__()
        self.inner = mlp()

    def forward(self, features, labels):
        return {"logits": self.inner(features)}


class Integers(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.ones(6, 3, dtype=torch.int64), requires_grad=False)

    def forward(self, x):
        return x @ self.table


class Demanding(nn.Module):
    def __init__(self, size):
        super().__init__()


def without_parameters():
    return nn.Sequential(nn.Flatten(), nn.Tanh())


def frozen():
    return mlp().requires_grad_(False)


def not_a_number():
    model = mlp()
    with torch.no_grad():
        model[0].weight[0, 0] = float("nan")
    return model


def flat():
    """The loss does not depend on its weights in second order: a zero Hessian."""
    return nn.Linear(6, 1)


def on_meta():
    return nn.Linear(6, 3, device="meta")


def raises():
    raise KeyError("no such checkpoint")


def leaves():
    raise SystemExit(3)


def number():
    return 7


def nothing():
    return None


INSTANCE = mlp()
NUMBER = 7


def pair():
    return X, Y


def wide():
    return torch.randn(40, 9), Y


def batches():
    return [(X[:15], Y[:15]), (X[15:], Y[15:])]


def loader():
    return DataLoader(TensorDataset(X, Y), batch_size=16)


def shuffling():
    return DataLoader(TensorDataset(X, Y), batch_size=16, shuffle=True)


def empty():
    return []


def generator():
    return (batch for batch in batches())


def mapping():
    return {"features": X, "labels": Y}


def lengths():
    return X, X[:, :1]


def padded():
    """The later, the more ignored targets."""
    labels = torch.where((torch.arange(40) > 12) & (torch.arange(40) % 3 < 2), -100, Y)
    return [(X[:15], labels[:15]), (X[15:], labels[15:])]


def padded_at_once():
    inputs, labels = zip(*padded(), strict=True)
    return torch.cat(inputs), torch.cat(labels)


def kept(batch):
    return (batch[1] != -100).sum()


def hard():
    return nn.Sequential(nn.Linear(6, 8), nn.Hardsigmoid(), nn.Linear(8, 3))


def by_name():
    class ByName(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = mlp()

        def forward(self, x):
            return {"logits": self.inner(x)}

    return ByName()


def lazy():
    return nn.Sequential(nn.LazyLinear(8), nn.Linear(8, 3))


def sloped():
    return nn.Sequential(nn.Linear(6, 3), nn.RReLU())


WEIGHTED = nn.CrossEntropyLoss(weight=torch.tensor([0.2, 1.0, 3.0]))


def of_mapping(output, batch):
    return nn.functional.cross_entropy(output["logits"], batch["labels"])


def per_sample(output, target):
    return nn.functional.cross_entropy(output, target, reduction="none")


def summed(output, target):
    return nn.functional.cross_entropy(output, target, reduction="sum")


def deadly(output, target):
    """In a worker it ends that, as want of memory does."""
    if multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return nn.functional.cross_entropy(output, target)


def straight(output, target):
    return output.mean()


def infinite(output, target):
    return nn.functional.cross_entropy(output, target) / 0.0


def own_cross_entropy(output, target):
    """A loss that does not tell its law."""
    return nn.functional.cross_entropy(output, target)


def categories(output):
    return torch.distributions.Categorical(logits=output)
