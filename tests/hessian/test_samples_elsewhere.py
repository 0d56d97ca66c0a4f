"""Batches whose samples are not along dimension 0: time-first, or one sequence for each item."""

import copy

import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError

CE = nn.CrossEntropyLoss()


class TimeFirst(nn.Module):
    """Predicts a class at each time of sequences, (T, B) to (T, classes, B)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.cell, self.out = nn.Embedding(4, 2), nn.RNN(2, 3), nn.Linear(3, 4)

    def forward(self, tokens):
        return self.out(self.cell(self.embedding(tokens))[0]).transpose(1, 2)


class Single(nn.Module):
    """Classifies one sequence, (T, 3) to (classes,)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.inner, self.out = nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(torch.tanh(self.inner(x)).mean(-2))


def tokens():
    generator = torch.Generator().manual_seed(2)
    return [tuple(torch.randint(4, (5, size), generator=generator) for _ in range(2)) for size in (3, 2)]


def sequences():
    generator = torch.Generator().manual_seed(3)
    return [(torch.randn(size, 3, generator=generator), torch.tensor(size % 3)) for size in (3, 5, 7)]


def by_hand(model, batches, weights):
    double = copy.deepcopy(model).double()
    cast = [(x.double() if x.is_floating_point() else x, y) for x, y in batches]
    value = sum(w * CE(double(x), y) for w, (x, y) in zip(weights, cast, strict=True))
    parameters = list(double.parameters())
    slopes = torch.autograd.grad(value, parameters, create_graph=True)
    flat = torch.cat([slope.flatten() for slope in slopes])
    return torch.stack(
        [torch.cat([g.flatten() for g in torch.autograd.grad(one, parameters, retain_graph=True)]) for one in flat]
    )


CASES = [
    (TimeFirst, tokens, lambda batch: batch[1].shape[1], (3 / 5, 2 / 5)),
    (Single, sequences, lambda batch: 1, (1 / 3, 1 / 3, 1 / 3)),
]


@pytest.mark.parametrize(("kind", "data", "count", "weights"), CASES)
def test_count_and_reduction_together_take_them(kind, data, count, weights):
    model, batches = kind(), data()
    operator = Curvature(model, CE, batches, count=count, reduction="mean")
    dense = by_hand(model, batches, weights)
    torch.testing.assert_close(operator @ torch.eye(operator.P), dense.float(), atol=1e-5, rtol=1e-4)
    total = Curvature(model, lambda output, target: CE(output, target), batches, count=count, reduction="sum")
    dense = by_hand(model, batches, [1.0] * len(batches))
    torch.testing.assert_close(total @ torch.eye(total.P), dense.float(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("kind", "data", "count", "weights"), CASES)
def test_without_both_the_cause_and_the_remedy_are_named(kind, data, count, weights):
    model, batches = kind(), data()
    with pytest.raises(CurvatureError, match=r"dimension 0.*time-first.*x\.transpose\(0, 1\) or x\[None\].*count="):
        Curvature(model, CE, batches)
    with pytest.raises(
        CurvatureError,
        match=r"count must be additive: .*dimension 0 does not index the "
        r"samples.*name reduction='mean'",
    ):
        Curvature(model, CE, batches, count=count)


def test_samples_put_first_are_taken_as_they_are():
    batches = [(x[None], y[None]) for x, y in sequences()]
    operator = Curvature(Single(), CE, batches, reduction="mean")
    dense = by_hand(Single(), sequences(), (1 / 3, 1 / 3, 1 / 3))
    torch.testing.assert_close(operator @ torch.eye(operator.P), dense.float(), atol=1e-5, rtol=1e-4)
