"""Weights that a model reads as complex numbers, at odd places of the flat vector."""

import copy
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from hessian import Curvature, exact_hessian, sample_hessians, stable_rank

CE = nn.CrossEntropyLoss()


class Spectral(nn.Module):
    """Filters by complex weights that are stored as pairs, after a parameter of some size."""

    def __init__(self, before, pairs):
        super().__init__()
        torch.manual_seed(0)
        self.scale = nn.Parameter(torch.rand(before) + 0.5)
        self.filter = nn.Parameter(torch.randn(4, 3, 2) if pairs else torch.randn(4, 6))
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        found = torch.complex(x, torch.zeros_like(x)) @ torch.view_as_complex(self.filter.view(4, 3, 2))
        return self.head(torch.cat([found.real, found.imag], 1) * self.scale.sum())


def by_hand(model, x, y):
    """The Hessian in double precision, by products with units in tensors of their own."""
    double = copy.deepcopy(model).double()
    parameters = list(double.parameters())
    slopes = torch.autograd.grad(CE(double(x.double()), y), parameters, create_graph=True)
    columns = []
    for parameter, slope in zip(parameters, slopes, strict=True):
        for place in range(parameter.numel()):
            unit = torch.zeros_like(parameter)
            unit.view(-1)[place] = 1.0
            parts = torch.autograd.grad(slope, parameters, unit, retain_graph=True, materialize_grads=True)
            columns.append(torch.cat([part.flatten() for part in parts]))
    return torch.stack(columns, 1)


@pytest.fixture(scope="module")
def data():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(20, 4, generator=generator), torch.randint(3, (20,), generator=generator)


@pytest.mark.parametrize("together", [1, 3])
@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("before", [1, 2, 3])
def test_products_are_those_of_the_dense_hessian(data, before, pairs, together):
    (x, y), model = data, Spectral(before, pairs)
    dense = by_hand(model, x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # vectors are multiplied together
        for batches in ((x, y), [(x[:7], y[:7]), (x[7:], y[7:])]):
            operator = Curvature(model, CE, batches, vectorize=together)
            torch.testing.assert_close(operator @ torch.eye(operator.P), dense.float(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("before", [1, 2])
def test_all_that_rests_on_products_takes_them(data, before):
    (x, y), model = data, Spectral(before, True)
    dense = by_hand(model, x, y)
    torch.testing.assert_close(exact_hessian(model, CE, x, y), dense.float(), atol=1e-5, rtol=1e-4)
    found = stable_rank(model, CE, (x, y))
    assert float((dense**2).sum() / torch.linalg.matrix_norm(dense, 2) ** 2) in found
    above, below = sample_hessians(model, CE, (x, y), rank=len(dense)).traces
    assert above - below == pytest.approx(float(dense.trace()), rel=1e-4)
    cross = Curvature(model, CE, (x, y)).between("filter", "head.*")
    block = dense[before : before + 24, before + 24 :]
    exact = float((block**2).sum() / torch.linalg.matrix_norm(block, 2) ** 2)
    assert exact in cross.stable_rank(rng=np.random.default_rng(0))
