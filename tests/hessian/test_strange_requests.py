"""Requests that cannot be measured are refused with the cause; models that differentiate by their weights are not."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, embedding, linear

from hessian import (
    Curvature,
    CurvatureError,
    DenseOperator,
    SpectrumSettings,
    exact_hessian,
    sample_factors,
    sample_hessian_parts,
)

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(23, 5, generator=GENERATOR).double()
Y = torch.randint(3, (23,), generator=GENERATOR)
LOSS = nn.CrossEntropyLoss()


def perceptron():
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).double()


class Adapted(nn.Module):
    """A network that takes a step of gradient descent in its first weight before it answers, as in meta-learning."""

    def __init__(self):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.first, self.last = nn.Linear(5, 4), nn.Linear(4, 3)
        self.double()

    def forward(self, x):
        first = self.first.weight
        inner = self.last(torch.tanh(linear(x, first, self.first.bias))).square().mean()
        (slope,) = torch.autograd.grad(inner, first, create_graph=True)
        return self.last(torch.tanh(linear(x, first - 0.5 * slope, self.first.bias)))


@pytest.mark.parametrize("keep_graph", [True, False])
def test_blocks_of_a_model_that_differentiates_by_its_weights(keep_graph):
    model = Adapted()
    parameters = list(model.parameters())
    slopes = torch.autograd.grad(LOSS(model(X), Y), parameters, create_graph=True)
    flat = torch.cat([slope.reshape(-1) for slope in slopes])
    rows = [torch.autograd.grad(one, parameters, retain_graph=True) for one in flat]
    dense = torch.stack([torch.cat([part.reshape(-1) for part in row]) for row in rows])
    whole = Curvature(model, LOSS, (X, Y), keep_graph=keep_graph)
    blocks = whole.blocks()
    for place, part in {"first": slice(24), "last": slice(24, None)}.items():
        expected = dense[part, part]
        found = blocks[place].products(torch.eye(len(expected), dtype=torch.float64))
        assert torch.allclose(found, expected, atol=1e-12)
    cross = whole.between("last.*", "first.*")
    found = cross.products(torch.eye(24, dtype=torch.float64))
    assert torch.allclose(found.T, dense[24:, :24], atol=1e-12)


def test_a_derivative_that_is_not_finite_is_no_wrong_derivative():
    class Gap(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(5, 3).double()

        def forward(self, x):
            return self.layer(x) * (1.0 + (self.layer(0.0 * x) - self.layer.bias).norm())

    with pytest.raises(CurvatureError, match=r"not finite on batch 1.*Norm.*add a small number inside"):
        Curvature(Gap(), LOSS, (X, Y))


def test_numbers_of_the_data_that_are_not_finite_are_named():
    broken = X.clone()
    broken[3, 2] = float("inf")
    with pytest.raises(CurvatureError, match="the data contain non-finite numbers, so leave those samples out"):
        Curvature(perceptron(), LOSS, (broken, Y))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.int64, torch.bool])
def test_only_real_floating_matrices_are_operators(dtype):
    with pytest.raises(CurvatureError, match=rf"real floating numbers, got {dtype}"):
        DenseOperator(torch.eye(3).to(dtype))


@pytest.mark.parametrize("vectorize", [1, 3])
def test_data_that_are_changed_in_place_are_refused(vectorize):
    inputs = X.clone()
    curvature = Curvature(perceptron(), LOSS, (inputs, Y), vectorize=vectorize)
    inputs.mul_(2.0)
    with pytest.raises(CurvatureError, match="changed in place after the operator was built"):
        curvature.products(torch.ones(3, curvature.P, dtype=torch.float64))


def test_data_on_the_meta_device_are_refused():
    with pytest.raises(CurvatureError, match="the data are on the meta device"):
        Curvature(perceptron(), LOSS, (X.to("meta"), Y))


@pytest.mark.parametrize(
    ("inputs", "targets", "message"),
    [
        (X, None, "got Tensor and NoneType"),
        ((X, X), Y, "got tuple and Tensor"),
        (X, {"labels": Y}, "got Tensor and dict"),
        (X, torch.tensor(1.0), "got Tensor and a single number"),
    ],
)
def test_exact_hessians_take_tensors(inputs, targets, message):
    with pytest.raises(CurvatureError, match=message):
        exact_hessian(perceptron(), LOSS, inputs, targets)


def test_numbers_and_names_of_other_kinds_are_refused():
    model = perceptron()
    with pytest.raises(CurvatureError, match=r"whole numbers of at least 1, got columns=64, rows=2\.5"):
        exact_hessian(model, LOSS, X, Y, rows=2.5)
    with pytest.raises(CurvatureError, match=r"whole number, got 2\.5"):
        sample_hessian_parts(model, LOSS, (X, Y), rank=2.5)
    for parameters in (5, [5], ["0.weight", None]):
        with pytest.raises(CurvatureError, match=r"parameters must be names or patterns"):
            Curvature(model, LOSS, (X, Y), parameters=parameters)
    with pytest.raises(CurvatureError, match="law must be a function of the output, got 3"):
        Curvature(model, cross_entropy, (X, Y), matrix="fisher", law=3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": "2 GiB"}, "memory must be a Budget, such as Budget\\('2 GiB'\\), got '2 GiB'"),
        ({"outliers": 2.5}, "outliers must be a whole number, got 2.5"),
        ({"probes": "4"}, "probes must be a whole number, got '4'"),
        ({"chunk": None}, "chunk must be a whole number, got None"),
    ],
)
def test_settings_of_other_kinds_are_refused(settings, message):
    with pytest.raises(CurvatureError, match=message):
        SpectrumSettings(**settings)


@pytest.mark.parametrize("depth", [1.5, -1, "1", 0, True])
def test_a_depth_below_one_is_refused(depth):
    with pytest.raises(CurvatureError, match="depth must be a whole number of at least 1"):
        Curvature(perceptron(), LOSS, (X, Y)).blocks(depth)


class Squeezed(nn.Linear):
    """Drops the dimension of a single sample."""

    def forward(self, x):
        return super().forward(x).squeeze()


def test_a_model_that_takes_no_single_sample_has_no_hessian_of_samples():
    model = Squeezed(5, 3).double()
    with pytest.raises(CurvatureError, match=r"on one sample of batch 1 alone failed.*squeeze"):
        list(sample_hessian_parts(model, LOSS, (X, Y), rank=2))


class Lookup(nn.Module):
    """Embeds by a function, or by a layer of given options."""

    def __init__(self, padding=None, **options):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.table, self.last = nn.Embedding(6, 4, **options), nn.Linear(4, 3)
        self.padding = padding
        self.double()

    def forward(self, tokens):
        found = self.table(tokens) if self.padding is None else embedding(tokens, self.table.weight, self.padding)
        return self.last(torch.tanh(found).mean(dim=1))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Lookup(2), r"padding_idx=2 gives that row no gradient.*nn\.Embedding\(padding_idx=2\)"),
        (Lookup(-1), r"padding_idx=5 gives that row no gradient"),
        (Lookup(0), r"padding_idx=0 gives that row no gradient"),
        (Lookup(scale_grad_by_freq=True), "scale_grad_by_freq=True divides gradients by counts"),
    ],
)
def test_an_embedding_whose_gradient_is_none_is_the_reason(model, message):
    tokens = torch.arange(23 * 4).view(23, 4) % 6
    with pytest.raises(CurvatureError, match=message):
        Curvature(model, LOSS, (tokens, Y))


@pytest.mark.parametrize("several", [False, True])
def test_inference_mode_after_the_checks_is_refused_and_forgotten(several):
    data = [(X[:3], Y[:3]), (X[3:], Y[3:])] if several else (X, Y)
    whole = Curvature(perceptron(), LOSS, data)
    block = whole.block("0.*")
    parts = [sample_hessian_parts(perceptron(), LOSS, data, rank=2), sample_factors(perceptron(), LOSS, data)]
    one = torch.ones(block.P, dtype=torch.float64)
    refused = [lambda: block @ one, *(partial(next, some) for some in parts)]
    if several:  # one batch keeps its graph, which inference mode does not affect
        refused.append(lambda: whole @ torch.ones(whole.P, dtype=torch.float64))
    for call in refused:
        with torch.inference_mode(), pytest.raises(CurvatureError, match="measure outside of it"):
            call()
    expected = Curvature(perceptron(), LOSS, (X, Y), parameters="0.*") @ one
    assert torch.allclose(block @ one, expected, atol=1e-12)
