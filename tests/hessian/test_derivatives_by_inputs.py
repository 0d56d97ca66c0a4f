"""Models that differentiate by their inputs are measured, however they mark these."""

import pytest
import torch
from torch import nn

from hessian import Curvature, exact_hessian, sample_factors
from hessian.operators.sample_hessians import sample_hessian_parts

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(12, 4, generator=GENERATOR)
T = torch.randn(12, 3, generator=GENERATOR)
MSE = nn.MSELoss()


def assigned(x):
    x.requires_grad = True
    return x


def in_place(x):
    return x.requires_grad_()


def unless_marked(x):
    if not x.requires_grad:
        x.requires_grad = True
    return x


def copied(x):
    return x.detach().clone().requires_grad_()


class Slopes(nn.Module):
    """First and second derivatives of a scalar by the inputs, and the scalar."""

    def __init__(self, mark):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
        self.mark = mark

    def forward(self, x):
        x = self.mark(x)
        value = self.net(x)
        (slope,) = torch.autograd.grad(value.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(slope[:, 0].sum(), x, create_graph=True)
        return torch.cat([slope[:, 1:2], second[:, :1], value], dim=1)


def by_hand():
    """The Hessian in double precision."""
    model = Slopes(copied).double()
    chosen = list(model.parameters())
    slopes = torch.autograd.grad(MSE(model(X.double()), T.double()), chosen, create_graph=True)
    flat = torch.cat([slope.flatten() for slope in slopes])
    rows = [torch.autograd.grad(one, chosen, retain_graph=True, materialize_grads=True) for one in flat]
    return torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])


def close(found, expected):
    return float((found.double() - expected).norm() / expected.norm()) < 1e-5


@pytest.mark.parametrize("mark", [assigned, in_place, unless_marked, copied])
@pytest.mark.parametrize("given", [False, True], ids=["plain", "marked by the user"])
def test_inputs_may_be_marked_in_any_way(mark, given):
    x = X.clone().requires_grad_(given)
    expected = by_hand()
    for data, options in (
        ((x, T), {}),
        ([(x.detach()[:5], T[:5]), (x.detach()[5:], T[5:])], {}),
        ((x, T), {"reduction": "mean", "vectorize": 3}),
    ):
        operator = Curvature(Slopes(mark), MSE, data, **options)
        assert close(operator @ torch.eye(operator.P), expected)
    assert close(exact_hessian(Slopes(mark), MSE, x, T, rows=5), expected)
    assert x.requires_grad == given
    assert x.grad is None


def test_samples_one_by_one_may_be_marked_too():
    gauss_newton = Curvature(Slopes(copied), MSE, (X, T), matrix="gauss-newton")
    factors = torch.stack(list(sample_factors(Slopes(assigned), MSE, (X, T))))
    summed = torch.einsum("nkp,nkq->pq", factors, factors) / len(X)
    assert close(summed, (gauss_newton @ torch.eye(gauss_newton.P)).double())
    parts = sample_hessian_parts(Slopes(assigned), MSE, (X, T), rank=gauss_newton.P)
    summed = sum((vectors * values) @ vectors.T for values, vectors, _ in parts) / len(X)
    assert close(summed, by_hand())
