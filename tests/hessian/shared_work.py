"""Networks, losses and data that workers can import, some of which behave otherwise there."""

import multiprocessing
import os
import signal
import time

import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset

from workloads.image_networks.small import perceptron

_GENERATOR = torch.Generator().manual_seed(3)
X = torch.randn(23, 6, generator=_GENERATOR).double()
Y = torch.randint(3, (23,), generator=_GENERATOR)
NETWORK = perceptron(6, (5,), 3, 0)


def in_worker():
    return multiprocessing.parent_process() is not None or "RAY_RAYLET_PID" in os.environ


def parts(*places):
    """Batches of X and Y, cut at places."""
    return list(zip(X.tensor_split(places), Y.tensor_split(places), strict=True))


class Stream(IterableDataset):
    """Samples in their order."""

    def __iter__(self):
        return zip(X, Y, strict=True)


class Whole(Dataset):
    """Batches as items."""

    def __len__(self):
        return 4

    def __getitem__(self, place):
        return X[5 * place : 5 * place + 5], Y[5 * place : 5 * place + 5]


class Reader:
    """Batches that are read again, not a list."""

    def __iter__(self):
        return iter(parts(4, 9, 16))


class Penalised(nn.Module):
    """A loss that has its model as an attribute."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, out, y):
        return nn.functional.cross_entropy(out, y) + 0.01 * sum(p.square().sum() for p in self.model.parameters())


def penalised_by_name(out, y):
    """In a worker the network of this module is another one."""
    return nn.functional.cross_entropy(out, y) + 0.01 * sum(p.square().sum() for p in NETWORK.parameters())


def kept(batch):
    return int((batch[1] != -100).sum())


def other_in_workers(out, y):
    return nn.functional.cross_entropy(out, y) * (1.5 if in_worker() else 1.0)


def fails_in_workers(out, y):
    if in_worker():
        raise ZeroDivisionError("no such file")
    return nn.functional.cross_entropy(out, y)


def dies_in_workers(out, y):
    if in_worker():
        os.kill(os.getpid(), signal.SIGKILL)
    return nn.functional.cross_entropy(out, y)


class Waits(nn.Module):
    """A loss that in workers tells a pipe that it is at work, and stays there."""

    def __init__(self, pipe):
        super().__init__()
        self.pipe = pipe

    def forward(self, out, y):
        if in_worker():
            held = os.open(self.pipe, os.O_WRONLY)
            os.write(held, b"ready\n")
            time.sleep(3600)
        return nn.functional.cross_entropy(out, y)
