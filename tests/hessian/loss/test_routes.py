"""Faster routes to products are used only where they give what single products give, and a line says so otherwise."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from hessian import (
    Curvature,
    RouteWarning,
    exact_hessian,
    sample_factors,
    sample_hessian_parts,
    sample_hessians,
    stable_rank,
)
from hessian.loss.graphs import GaussNewtonGraph, HessianGraph, pull
from hessian.operators import per_sample
from workloads.image_networks.resnet import resnet

LOSS = nn.CrossEntropyLoss()
SHAPES = [(1, 4, 2, 2), (1, 9, 3, 3), (1, 6, 2, 3), (1, 4, 3, 3), (2, 4, 2, 2), (3, 6, 3, 2)]
"""Samples, channels, height and width: as many channels as places, and not."""


def network(channels, places, groups=1):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = [nn.Conv2d(1, channels, 1), nn.GroupNorm(groups, channels), nn.Tanh(), nn.Flatten()]
        return nn.Sequential(*layers, nn.Linear(channels * places, 2)).double()


def data(samples, *shape):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(samples, *shape, generator=generator).double()
    return x, torch.randint(2, (samples,), generator=generator)


def dense(model, given, **options):
    operator = Curvature(model, LOSS, given, **options)
    return operator.products(torch.eye(operator.P, dtype=operator.dtype))


def close(found, exact, relative=1e-12):
    assert float((found - exact).norm()) <= relative * float(exact.norm())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("vectorize", [3, "trial"])
def test_group_norm_is_right_several_vectors_at_a_time(shape, groups, vectorize):
    samples, channels, height, width = shape
    if channels % groups:
        pytest.skip("channels do not make up so many groups")
    model, given = network(channels, height * width, groups), data(samples, 1, height, width)
    exact = dense(model, given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RouteWarning)
        close(dense(model, given, vectorize=vectorize), exact)
        close(exact_hessian(model, LOSS, *given), exact)


def test_all_routes_through_group_norm_warn_and_are_right():
    model, given = network(4, 4), data(2, 1, 2, 2)
    exact, gauss_newton = dense(model, given), dense(model, given, matrix="gauss-newton")
    P = len(exact)
    with pytest.warns(RouteWarning, match=r"vectorize=5: vectors are multiplied one at a time.*it fails"):
        close(dense(model, given, vectorize=5), exact)
    close(dense(model, given, vectorize=5, matrix="gauss-newton"), gauss_newton)
    with pytest.warns(RouteWarning, match="exact_hessian"):
        close(exact_hessian(model, LOSS, *given), exact)
    with pytest.warns(RouteWarning, match=r"sample_hessians.*differs from single products"):
        parts = [*sample_hessian_parts(model, LOSS, given, rank=P)]
    close(sum((v * values) @ v.T for values, v, _ in parts) / 2, exact, 1e-10)
    factors = [*sample_factors(model, LOSS, given)]
    close(sum(factor.T @ factor for factor in factors) / 2, gauss_newton)


@pytest.mark.parametrize("fails", [False, True])
def test_factors_of_samples_are_right_where_several_passes_at_once_are_not(fails, monkeypatch):
    model, given = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double(), data(5, 3)
    exact = [*sample_factors(model, LOSS, given)]

    def wrong(values, by, directions, batched, keep=True):
        if batched and fails:
            raise RuntimeError("no rule")
        return [part * (1.0 + 1e-6 * batched) for part in pull(values, by, directions, batched, keep)]

    monkeypatch.setattr(per_sample, "pull", wrong)
    with pytest.warns(RouteWarning, match="sample_factors"):
        found = [*sample_factors(model, LOSS, given)]
    close(torch.stack(found), torch.stack(exact))


def test_our_own_network_with_group_norm_is_measured():
    model = resnet(10, 2, 0, channels=1, width=2, norm="group", dtype=torch.float64)
    given = data(2, 1, 4, 4)
    plain = stable_rank(model, LOSS, given, relative_width=0.5)
    with pytest.warns(RouteWarning, match="one at a time"):
        found = stable_rank(model, LOSS, given, relative_width=0.5, vectorize=4)
    assert found.value == pytest.approx(plain.value, rel=0.5)
    assert found.low <= plain.high
    assert plain.low <= found.high


def test_a_trial_says_why_it_takes_one_vector_and_warns_of_nothing():
    model, given = network(4, 4), data(1, 1, 2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RouteWarning)
        operator = Curvature(model, LOSS, given, vectorize="trial")
        operator.products(torch.ones(2, operator.P).double())
    assert operator.together == 1
    assert "differs from single products" in operator.cost().fault
    assert Curvature(model, LOSS, given).cost().fault == ""


@pytest.mark.parametrize("share", [1.0, 1e-5])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("matrix", ["hessian", "residual", "gauss-newton"])
def test_any_route_that_is_wrong_for_a_small_parameter_is_not_used(matrix, fails, share, monkeypatch):
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    given = data(5, 3)
    for kind in (HessianGraph, GaussNewtonGraph):
        product = kind.product

        def wrong(self, parts, batched, last=False, product=product):
            found = product(self, parts, batched, last)
            if batched and fails:
                raise IndexError("no rule")
            if batched and found[1] is not None:
                found[1] = found[1] * (1.0 + share)
            return found

        monkeypatch.setattr(kind, "product", wrong)
    exact = dense(model, given, matrix=matrix)
    with pytest.warns(RouteWarning, match=r"no rule" if fails else "differs from single products"):
        close(dense(model, given, matrix=matrix, vectorize=4), exact)


def test_a_route_is_compared_once_for_each_number_of_vectors_and_block(monkeypatch):
    model, given = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double(), data(7, 3)
    batches = [(x, y) for x, y in zip(given[0].split(3), given[1].split(3), strict=True)]  # of 3, 3 and 1
    operators = [Curvature(model, LOSS, given, vectorize=4), Curvature(model, LOSS, batches, vectorize=4)]
    calls, product = [], HessianGraph.product

    def counted(self, parts, batched, last=False):
        calls.append(batched)
        return product(self, parts, batched, last)

    monkeypatch.setattr(HessianGraph, "product", counted)
    for operator, pieces, shapes in zip(operators, (1, 3), (1, 2), strict=True):
        for first in (True, False):
            calls.clear()
            operator.products(torch.ones(8, operator.P).double())
            assert calls.count(True) == 2 * pieces + shapes * first
            assert calls.count(False) == shapes * first
        calls.clear()
        operator.products(torch.ones(3, operator.P).double())  # another number of vectors
        assert (calls.count(True), calls.count(False)) == (pieces + shapes, shapes)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_is_no_reason_to_refuse_a_route(dtype):
    """A bias before batch statistics has rows of rounding alone, and a nearly flat loss is mostly rounding."""
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2)).to(dtype)
    x, y = data(7, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RouteWarning)
        dense(model, (x.to(dtype), y), batch_norm="batch", vectorize=4)
        flat = nn.Linear(3, 2).to(dtype)
        with torch.no_grad():
            flat.weight.mul_(30.0)
        dense(flat, (x.to(dtype), flat(x.to(dtype)).argmax(dim=1)), vectorize=4)
        found = sample_hessians(flat, LOSS, (x.to(dtype), y), rank=3)
    assert np.isfinite(found.eigenvalues).all()


class ByDomain(nn.Module):
    """Samples of one domain are normalised by group, those of the other are not: routes by numbers, of one shape."""

    def __init__(self, affine):
        super().__init__()
        self.first, self.last = nn.Conv1d(2, 4, 1), nn.Linear(8, 3)
        self.norm = nn.GroupNorm(2, 4, affine=affine)

    def forward(self, x, domain):
        hidden = self.first(x)
        found = torch.zeros_like(hidden)
        for marked, route in ((domain == 0, lambda h: h), (domain == 1, self.norm)):
            if bool(marked.any()):
                found = found.index_put((marked.nonzero()[:, 0],), route(hidden[marked]))
        return self.last(torch.tanh(found).flatten(1))


def by_domain(affine, domains):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = ByDomain(affine).double()
    x, y = data(len(domains), 2, 2)
    return model, ((x, torch.tensor(domains)), y)


@pytest.mark.filterwarnings("ignore::hessian.RouteWarning")
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("domains", [[0, 0, 0, 1, 1], [1, 1, 0, 0, 0], [0, 1, 0, 1, 0]])
def test_each_route_of_samples_of_one_shape_is_compared(affine, domains):
    model, batch = by_domain(affine, domains)
    plain = Curvature(model, LOSS, batch)
    hessian = plain @ torch.eye(plain.P).double()
    found = sample_hessians(model, LOSS, batch, rank=plain.P)
    torch.testing.assert_close(torch.from_numpy(found.plus - found.minus), hessian, rtol=1e-8, atol=1e-9)
    gauss = Curvature(model, LOSS, batch, matrix="gauss-newton") @ torch.eye(plain.P).double()
    factors = sum(one.T @ one for one in sample_factors(model, LOSS, batch)) / len(domains)
    torch.testing.assert_close(factors, gauss, rtol=1e-8, atol=1e-9)


@pytest.mark.filterwarnings("ignore::hessian.RouteWarning")
@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton"])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("domains", [[0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 1]])
def test_each_route_of_batches_of_one_shape_is_compared(matrix, keep, domains):
    model, ((x, domain), y) = by_domain(False, domains)
    batches = [((x[:2], domain[:2]), y[:2]), ((x[2:], domain[2:]), y[2:])]
    plain = Curvature(model, LOSS, batches, matrix=matrix)
    several = Curvature(model, LOSS, batches, matrix=matrix, vectorize=2, keep_graph=keep)
    rows = torch.eye(plain.P).double()
    torch.testing.assert_close(several @ rows, plain @ rows, rtol=1e-9, atol=1e-11)
