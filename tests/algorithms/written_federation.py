"""The federation of `by_hand` for the code under test: its clients and its initial factors."""

from dataclasses import dataclass, replace

import by_hand
import torch

from algorithms.adapter import AB, Adapter
from algorithms.fed_sb import ARB, FedSB
from algorithms.fedpara import FedPara, Hadamard, Low, PersonalFedPara
from algorithms.frlora import FRLoRA
from algorithms.mfedloru import Nested, NestedFedLoRU
from algorithms.tree import Tree


def tensor(matrix):
    return torch.tensor([[float(entry) for entry in row] for row in matrix], dtype=torch.float64)


def trees(*matrices):
    return (Tree(W=tensor(matrix)) for matrix in matrices)


@dataclass(frozen=True, eq=False)
class Samples:
    """A client with the mean of 1/2 (<D_i, W> - y_i)^2 over a batch, without a gradient of its own."""

    D: torch.Tensor
    y: torch.Tensor

    @property
    def samples(self):
        return float(len(self.y))

    def loss(self, w, batch=None):
        D, y = (self.D, self.y) if batch is None else (self.D[batch], self.y[batch])
        return (((D * w["W"]).sum(dim=(-2, -1)) - y) ** 2).mean() / 2

    def tensors(self):
        return {"D": self.D, "y": self.y}

    def with_tensors(self, tensors):
        return replace(self, **tensors)


class Knowing(Samples):
    """The same client with its own gradient."""

    def gradient(self, w, batch=None):
        D, y = (self.D, self.y) if batch is None else (self.D[batch], self.y[batch])
        off = (D * w["W"]).sum(dim=(-2, -1)) - y
        return type(w)({"W": (off[:, None, None] * D).mean(dim=0)})


def clients(kind=Samples):
    return [
        kind(torch.tensor(D, dtype=torch.float64), torch.tensor(y, dtype=torch.float64))
        for D, y in zip(by_hand.D, by_hand.Y, strict=True)
    ]


@dataclass(frozen=True)
class Written(Adapter):
    """An adapter with the factors of `by_hand`."""

    own: bool = False

    def pair(self, w, turn=0):
        return AB(*trees(*by_hand.factors(self.rank, turn, self.own)))


@dataclass(frozen=True)
class WrittenFRLoRA(FRLoRA):
    """FRLoRA with the first factors of `by_hand`."""

    def principal_factors(self, w):
        return tuple(trees(*by_hand.factors(self.adapter.rank)))


@dataclass(frozen=True)
class WrittenSB(FedSB):
    """Fed-SB with the first factors of `by_hand`."""

    def first_factors(self, G):
        A, B = by_hand.factors(self.adapter.rank)
        return ARB(*trees(A, by_hand.middle(self.adapter.rank), B))


class WrittenLows:
    """The initial factors of `by_hand` for FedPara."""

    def factors(self, w, squares):
        return Hadamard(*(Low(*trees(*by_hand.low(self.rank, turn)), Tree()) for turn in (0, 3)), Tree())


class WrittenPara(WrittenLows, FedPara):
    """FedPara with these factors."""


class WrittenPersonalPara(WrittenLows, PersonalFedPara):
    """The personal variant with these factors."""


@dataclass(frozen=True)
class WrittenNested(NestedFedLoRU):
    """mFedLoRU with the initial nested factors of `by_hand`."""

    def draw_factors(self, factors, ranks, turn):
        return Nested(*trees(*by_hand.nested(self.adapter.rank, ranks, turn)))
