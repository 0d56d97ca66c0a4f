import gc
import time
import weakref
from functools import cache

import numpy as np
import pytest
import torch
from curvature_cases import cases
from torch import nn
from torch.func import functional_call
from torch.utils.data import DataLoader, TensorDataset

from hessian import Curvature, CurvatureError, as_scipy, exact_hessian
from hessian.loss.graphs import HessianGraph
from hessian.numerics.symmetric import multiply
from workloads.image_networks.small import perceptron

CASES = cases()


@cache
def dense(name):
    return CASES[name].dense()


MOST_COLUMNS = 300
"""Columns up to which matrices are compared whole; larger ones by products with a few random vectors."""


def vectors(P):
    """The unit vectors, or random ones: more than one pass of any way to multiply."""
    if P <= MOST_COLUMNS:
        return torch.eye(P).double()
    return torch.randn(23, P, generator=torch.Generator().manual_seed(1)).double()


def matrix(operator):
    return operator.products(torch.eye(operator.P, dtype=operator.dtype))


def close(found, expected, relative=1e-10):
    assert float((found - expected).abs().max()) <= relative * float(expected.abs().max())


@pytest.mark.sample(14)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", ["resident", "streamed", "kept graphs", "vmap", "loader of vectors"])
def test_products_are_those_of_the_dense_hessian(name, way):
    case = CASES[name]
    data = case.batch() if way in ("resident", "vmap") else case.uneven()
    options = {"kept graphs": {"keep_graph": True}, "vmap": {"vectorize": 5}}.get(way, {})
    operator = Curvature(case.model, case.loss, data, **case.options, **options)
    assert len(dense(name)) == operator.P
    assert operator.samples == len(case.inputs)
    if way == "loader of vectors":
        vector = torch.linspace(-1, 1, operator.P).double()
        close(operator @ vector, dense(name) @ vector)
        close(operator @ vector[:, None], dense(name) @ vector[:, None])
    else:
        tried = vectors(operator.P)
        close(operator.products(tried), tried @ dense(name).T)
        expected, written = operator.products(tried), tried.clone()
        assert multiply(operator, written) is written
        assert torch.equal(written, expected)


class Dot(torch.autograd.Function):
    """The product of two vectors, whose gradients are these themselves: a product's parts are those of its vector."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, slope):
        a, b = ctx.saved_tensors
        return b.view_as(b), a.view_as(a)


def test_products_in_the_place_of_vectors_bear_parts_that_are_those_of_the_vectors():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = (nn.Parameter(torch.arange(1.0, 4.0).double() * factor) for factor in (1.0, -2.0))

        def forward(self, x):
            return Dot.apply(self.a, self.b) + 0.0 * x

    x = torch.zeros(2, 1).double()
    operator = Curvature(Pair(), lambda out, _: out.mean(), (x, x))
    given = torch.arange(12.0).double().reshape(2, 6)
    expected = torch.cat([given[:, 3:], given[:, :3]], dim=1)
    assert torch.equal(operator.products(given), expected)
    assert torch.equal(multiply(operator, given.clone()), expected)
    assert torch.equal(multiply(operator, given[:1].clone()), expected[:1])


def test_gauss_newton_is_the_jacobian_around_the_curvature_of_the_loss():
    case = CASES["mlp"]
    parameters = dict(case.model.named_parameters())
    jacobian = torch.func.jacrev(lambda p: functional_call(case.model, p, case.inputs))(parameters)
    J = torch.cat([part.detach().reshape(11 * 3, -1) for part in jacobian.values()], dim=1)
    probabilities = torch.softmax(case.model(case.inputs), dim=1).detach()
    middle = torch.block_diag(*(torch.diag(p) - torch.outer(p, p) for p in probabilities)) / 11
    for options in ({}, {"vectorize": 4}):
        for data in (case.batch(), case.uneven()):
            close(matrix(Curvature(case.model, case.loss, data, matrix="gauss-newton", **options)), J.T @ middle @ J)


def test_an_independent_library_gives_the_same_products():
    curvlinops = pytest.importorskip("curvlinops")
    for name in ("mlp", "cnn", "resnet"):
        case = CASES[name]
        modes = {module: module.training for module in case.model.modules()}
        case.model.eval()
        parameters = [p for p in case.model.parameters() if p.requires_grad]
        other = curvlinops.HessianLinearOperator(case.model, case.loss, parameters, case.uneven())
        vector = torch.linspace(-1, 1, len(dense(name))).double()
        close(Curvature(case.model, case.loss, case.uneven(), **case.options) @ vector, other @ vector)
        for module, mode in modes.items():
            module.training = mode


def test_blocks_are_those_of_the_matrix():
    case = CASES["mlp"]
    whole = Curvature(case.model, case.loss, case.uneven())
    blocks = whole.blocks()
    assert list(blocks) == ["0", "2"]
    first = blocks["0"].P
    close(matrix(blocks["0"]), dense("mlp")[:first, :first])
    close(matrix(blocks["2"]), dense("mlp")[first:, first:])
    kept = Curvature(case.model, case.loss, case.batch())
    close(matrix(kept.block("*.weight")), matrix(Curvature(case.model, case.loss, case.batch(), parameters="*.weight")))
    network = CASES["resnet"]
    stages = Curvature(network.model, network.loss, network.batch(), batch_norm="running").blocks(1)
    assert list(stages) == ["conv1", "norm1", "layer1", "layer2", "layer3", "layer4", "head"]


class Named(nn.Module):
    """A chain of linear layers whose names may hold the characters of patterns."""

    def __init__(self, *names):
        super().__init__()
        self.d = nn.ModuleDict({name: nn.Linear(2 + k, 3 + k) for k, name in enumerate(names)})

    def forward(self, x):
        for layer in self.d.values():
            x = torch.tanh(layer(x))
        return x


@pytest.mark.parametrize(
    "names", [("conv[1]", "conv1", "out"), ("a?", "ab", "c"), ("*", "b", "c"), ("b", "c", "*"), ("[!x]", "y", "[x]")]
)
def test_a_name_with_the_characters_of_a_pattern_is_that_parameter(names):
    torch.manual_seed(0)
    model, x, y = Named(*names).double(), torch.randn(7, 2).double(), torch.randint(0, 5, (7,))
    whole = Curvature(model, nn.CrossEntropyLoss(), (x, y))
    every, ends, start = matrix(whole), {}, 0
    for k, name in enumerate(names):
        ends[name] = slice(start, start := start + (3 + k) ** 2)
    blocks = whole.blocks()
    assert list(blocks) == [f"d.{name}" for name in names]
    for name in names:
        close(matrix(blocks[f"d.{name}"]), every[ends[name], ends[name]])
        close(matrix(whole.block(f"d.{name}.*")), every[ends[name], ends[name]])
        alone = Curvature(model, nn.CrossEntropyLoss(), (x, y), parameters=[f"d.{name}.weight", f"d.{name}.bias"])
        close(matrix(alone), every[ends[name], ends[name]])
        assert whole.block(f"d.{name}.bias").names == (f"d.{name}.bias",)
    rows, columns = names[0], names[2]
    cross = whole.between(f"d.{rows}.*", f"d.{columns}.*")
    identity = torch.eye(cross.shape[1], dtype=torch.float64)
    close(cross.products(identity).T, every[ends[rows], ends[columns]])


def test_patterns_that_are_no_name_stay_patterns():
    model = Named("conv[1]", "conv1", "conv2").double()
    data = (torch.randn(4, 2).double(), torch.randint(0, 5, (4,)))
    whole = Curvature(model, nn.CrossEntropyLoss(), data)
    assert whole.block("d.conv?.bias").names == ("d.conv1.bias", "d.conv2.bias")
    assert whole.block("d.conv[[]1].*").names == ("d.conv[1].weight", "d.conv[1].bias")
    assert whole.block("d.conv[12].*").names == whole.block("d.conv?.*").names
    assert whole.block(["d.conv[1].bias", "d.conv2.*"]).names == ("d.conv[1].bias", "d.conv2.weight", "d.conv2.bias")
    assert len(whole.block("*").names) == 6


def test_batch_statistics_couple_the_samples_and_leave_the_buffers():
    case = CASES["resnet"]
    before = {name: buffer.clone() for name, buffer in case.model.named_buffers()}
    coupled = Curvature(case.model, case.loss, case.batch(), batch_norm="batch")
    tried = vectors(coupled.P)
    assert not torch.allclose(coupled.products(tried), tried @ dense("resnet").T)
    for name, buffer in case.model.named_buffers():
        assert torch.equal(buffer, before[name]), name


def test_the_model_is_left_alone_and_no_graph_survives():
    model = perceptron(6, (5,), 3, 0).train()
    inputs, targets = CASES["mlp"].batch()
    model[0].weight.grad = torch.ones_like(model[0].weight)
    kept = model[0].weight.grad
    operator = Curvature(model, nn.CrossEntropyLoss(), (inputs, targets))
    matrix(operator)
    assert model[0].weight.grad is kept
    assert model[2].weight.grad is None
    assert model.training
    assert all(p.requires_grad and p.grad_fn is None for p in model.parameters())
    dead = weakref.ref(model)
    del model, operator, kept
    gc.collect()
    assert dead() is None


def test_unused_and_linear_parameters_have_zero_rows():
    class Idle(nn.Module):
        def __init__(self):
            super().__init__()
            self.idle, self.used = nn.Linear(2, 2).double(), nn.Linear(6, 2).double()

        def forward(self, x):
            return self.used(x)

    operator = Curvature(Idle(), lambda out, y: out.mean(), (CASES["mlp"].inputs, CASES["mlp"].targets))
    assert operator.unused == ("idle.weight", "idle.bias")
    assert not matrix(operator).any()


def test_scipy_sees_the_same_matrix():
    case = CASES["mlp"]
    linear = as_scipy(Curvature(case.model, case.loss, case.batch()))
    assert linear.dtype == np.float64
    np.testing.assert_allclose(linear @ np.eye(linear.shape[0]), dense("mlp"), atol=1e-14)
    np.testing.assert_allclose(linear @ np.ones(linear.shape[0]), dense("mlp").sum(dim=1), atol=1e-14)


def test_scipy_may_give_complex_and_reversed_vectors():
    """A resolvent `(H - z)^-1`, for instance, is found by complex ones."""
    case = CASES["mlp"]
    linear, exact = as_scipy(Curvature(case.model, case.loss, case.batch())), dense("mlp").numpy()
    vectors = np.random.default_rng(0).normal(size=(3, len(exact), 2))
    given = vectors[0] + 1j * vectors[1]
    np.testing.assert_allclose(linear @ given, exact @ given, atol=1e-13)
    np.testing.assert_allclose(linear @ given[:, 0], exact @ given[:, 0], atol=1e-13)
    np.testing.assert_allclose(linear @ vectors[2][::-1], exact @ vectors[2][::-1], atol=1e-13)


def test_float32_inputs_and_loaders_serve_a_float64_model():
    case = CASES["mlp"]
    loader = DataLoader(TensorDataset(case.inputs.float(), case.targets), batch_size=4)
    found = matrix(Curvature(case.model, case.loss, loader))
    close(found, exact_hessian(case.model, case.loss, case.inputs.float().double(), case.targets))
    single = Curvature(perceptron(6, (5,), 3, 0).float(), case.loss, case.batch())
    assert matrix(single).dtype == torch.float32
    close(matrix(single).double(), dense("mlp"), 1e-5)


def test_a_loader_that_reads_ahead_gives_the_same_products():
    """Its process goes on from call to call, also where a reading ends after the first batch."""
    case = CASES["mlp"]
    loaders = (
        DataLoader(TensorDataset(*case.batch()), batch_size=4, **options)
        for options in ({}, {"num_workers": 1, "persistent_workers": True})
    )
    one, other = (matrix(Curvature(case.model, case.loss, loader)) for loader in loaders)
    assert torch.equal(one, other)


def test_cost_counts_products():
    case = CASES["mlp"]
    operator = Curvature(case.model, case.loss, case.batch())
    operator.products(torch.zeros(3, operator.P).double())
    assert operator.cost().products == 3
    assert operator.cost().gradients > 0.0


@pytest.mark.parametrize("way", ["resident", "streamed"])
@pytest.mark.parametrize(("slow", "together"), [(1, 8), (8, 1)])
def test_the_trial_takes_what_is_faster_and_counts_apart(monkeypatch, way, slow, together):
    """A clock of our own, on which products of so many vectors take a hundred seconds."""
    case, now = CASES["mlp"], [0.0]
    product = HessianGraph.product

    def slowed(self, parts, batched, **options):
        now[0] += 100.0 if batched == (slow > 1) else 1.0
        return product(self, parts, batched, **options)

    monkeypatch.setattr(HessianGraph, "product", slowed)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    data = case.batch() if way == "resident" else case.uneven()
    operator = Curvature(case.model, case.loss, data, vectorize="trial")
    assert operator.together == operator.cost().together == together
    assert operator.cost().products == 0
    assert operator.cost().check_seconds >= 400.0
    close(matrix(operator), dense("mlp"))


def test_a_trial_goes_on_without_what_vmap_does_not_know(monkeypatch):
    product = HessianGraph.product

    def single(self, parts, batched, **options):
        if batched:
            raise RuntimeError("no batching rule")
        return product(self, parts, batched, **options)

    monkeypatch.setattr(HessianGraph, "product", single)
    case = CASES["mlp"]
    operator = Curvature(case.model, case.loss, case.batch(), vectorize="trial")
    assert operator.together == 1
    close(matrix(operator), dense("mlp"))


def bad(change):
    """A model, a loss and data with one thing wrong."""
    case = CASES["mlp"]
    given = {"model": perceptron(6, (5,), 3, 0), "loss": nn.CrossEntropyLoss(), "data": case.batch(), "options": {}}
    change(given)
    return given


def _nan(given):
    with torch.no_grad():
        given["model"][0].weight[0, 0] = float("nan")


def _dropout(given):
    given["model"] = nn.Sequential(nn.Linear(6, 3).double(), nn.Dropout(0.5))


def _noise(given):
    class Noisy(nn.Linear):
        def forward(self, x):
            return super().forward(x + torch.randn_like(x))

    given["model"] = Noisy(6, 3).double()


def _batch_norm(given):
    given["model"] = nn.Sequential(nn.Linear(6, 3).double(), nn.BatchNorm1d(3).double())


def _integers(given):
    given["model"].register_parameter("table", nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False))
    for p in given["model"].parameters():
        p.requires_grad_(False)


def _loader(shuffle):
    def change(given):
        given["data"] = DataLoader(TensorDataset(*CASES["mlp"].batch()), batch_size=4, shuffle=shuffle)

    return change


def _reordered(given):
    class Reordered:
        turn = 0

        def __iter__(self):
            self.turn += 1
            x, y = CASES["mlp"].batch()
            yield from [(x[:4], y[:4]), (x[4:8], y[4:8])][:: (-1) ** self.turn]

    given["data"] = Reordered()


BAD = {
    "no parameters": (lambda g: g.update(model=nn.Flatten()), "no parameters"),
    "all frozen": (lambda g: g["model"].requires_grad_(False), "requires_grad is False"),
    "integers only": (lambda g: (g.update(model=nn.Module()), _integers(g)), "torch.int64"),
    "half precision": (lambda g: g["model"].half(), "float16"),
    "not a scalar": (lambda g: g.update(loss=nn.CrossEntropyLoss(reduction="none")), "reduction"),
    "vector loss": (lambda g: g.update(loss=lambda out, y: out.sum(dim=1)), r"scalar tensor, got shape \(11,\)"),
    "nan weights": (_nan, "0.weight has non-finite weights"),
    "infinite loss": (lambda g: g.update(loss=lambda out, y: out.sum() / 0.0), "the loss is .*inf on batch 1"),
    "shuffling": (_loader(True), "shuffles"),
    "reordered": (_reordered, "batch 1 has loss"),
    "empty": (lambda g: g.update(data=[]), "no batch"),
    "empty batch": (lambda g: g.update(data=(torch.empty(0, 6), torch.empty(0).long())), "no samples"),
    "iterator": (lambda g: g.update(data=iter([CASES["mlp"].batch()])), "read only once"),
    "no data": (lambda g: g.update(data=3), "expected .*got int"),
    "no batches": (lambda g: g.update(data=["a", "b", "c"]), "item 1 is not a batch"),
    "dropout": (_dropout, "dropout is on in '1'"),
    "noise": (_noise, "model is random"),
    "batch norm": (_batch_norm, "choose the statistics"),
    "devices": (lambda g: g["model"][2].to("meta"), "several devices"),
    "meta": (lambda g: g["model"].to("meta"), "meta device"),
    "dtypes": (lambda g: g["model"][2].float(), "several dtypes"),
    "pattern": (lambda g: g["options"].update(parameters="layer*"), "no parameter matches 'layer\\*'"),
    "no pattern": (lambda g: g["options"].update(parameters=[]), "no parameter is named"),
    "matrix": (lambda g: g["options"].update(matrix="kfac"), "one of 'hessian', .*got 'kfac'"),
    "together": (lambda g: g["options"].update(vectorize="try"), "at least 1, or 'trial', got 'try'"),
    "policy": (lambda g: g["options"].update(batch_norm="eval"), "'running' or 'batch'"),
    "reduction": (lambda g: g["options"].update(reduction="sum"), "the loss reduces by 'mean'"),
    "detached": (lambda g: g.update(loss=lambda out, y: out.detach().sum()), "does not depend"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_clear_line(name):
    change, message = BAD[name]
    given = bad(change)
    with pytest.raises(CurvatureError, match=message) as caught:
        Curvature(given["model"], given["loss"], given["data"], **given["options"])
    assert "\n" not in str(caught.value)


def test_vectors_that_do_not_fit_and_weights_that_move_are_refused():
    case = CASES["mlp"]
    model = perceptron(6, (5,), 3, 0)
    operator = Curvature(model, case.loss, case.batch())
    with pytest.raises(CurvatureError, match=r"shape \(k, 53\), got \(1, 4\)"):
        operator.products(torch.zeros(1, 4).double())
    with pytest.raises(CurvatureError, match="float32"):
        operator @ torch.zeros(53)
    with torch.no_grad():
        model[0].weight += 1.0
    with pytest.raises(CurvatureError, match="was changed"):
        operator @ torch.zeros(53).double()
