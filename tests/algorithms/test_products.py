"""Factors instead of weights give the function and the gradient of the product, without forming it."""

import copy
import pickle

import pytest
import torch
from layer_cases import ALONG, WHOLE, cases, normal, values
from synchronisations import Synchronisations
from torch.func import functional_call
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from algorithms.federation import FederationError
from algorithms.kernels import as_matrix, from_matrix, layer_names, matrix_shape
from algorithms.layers import call, factorable
from algorithms.weights import Added, Factored, dense, dense_tree

CASES = cases()
WITHOUT_PATH = ("odd", "W @ vector")
KINDS = ["added", "twice", "factored", "unequal", "added to factored"]


def through(case, value, *inputs):
    """Return the case's output with factors for its weight."""
    own = {name: p.detach() for name, p in case.module.named_parameters()}
    return call(factorable(case.module, case.name), {**own, case.name: value}, *(inputs or case.inputs))


def by_product(case, value):
    """Return the case's output with the product, computed only by torch."""
    return functional_call(case.module, {case.name: dense(value)}, case.inputs, tie_weights=True)


def first(output):
    return output[0] if isinstance(output, tuple) else output


def close(a, b):
    """Check equality up to the rounding of a chain of products, which differs between machines."""
    return float((a - b).detach().norm()) <= 1e-11 * (1.0 + float(b.detach().norm()))


def required(value):
    return pytree.tree_map(lambda leaf: leaf.clone().requires_grad_(), value)


@pytest.mark.parametrize("name", CASES)
def test_the_function_and_its_gradient_are_those_of_the_product(name):
    case = CASES[name]
    for kind in KINDS:
        value, other = (required(values(case)[kind]) for _ in range(2))
        found, expected = first(through(case, value)), first(by_product(case, other))
        assert close(found, expected)
        along = normal(*expected.shape, seed=11)
        (found * along).sum().backward()
        (expected * along).sum().backward()
        for one, two in zip(pytree.tree_leaves(value), pytree.tree_leaves(other), strict=True):
            assert close(one.grad, two.grad)


@pytest.mark.parametrize("name", [name for name in CASES if "with padding" not in name])
def test_gradients_are_those_of_finite_differences(name):
    case = CASES[name]
    inputs = tuple(x.clone().requires_grad_(x.is_floating_point()) for x in case.inputs)
    leaves, form = pytree.tree_flatten(values(case, rank=1)["added to factored"])

    def output(*given):
        value = pytree.tree_unflatten(list(given[: len(leaves)]), form)
        return first(through(case, value, *given[len(leaves) :]))

    parts = tuple(leaf.requires_grad_() for leaf in leaves)
    assert torch.autograd.gradcheck(output, (*parts, *inputs), eps=1e-6, atol=1e-6, fast_mode=True)


class MatrixProducts(TorchDispatchMode):
    """Records the shapes of matrix products."""

    def __init__(self):
        super().__init__()
        self.shapes = set()

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        result = operation(*arguments, **(options or {}))
        if operation.name() in ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::linear"):
            self.shapes.add(tuple(result.shape))
        return result


@pytest.mark.parametrize("name", [name for name in CASES if name not in WITHOUT_PATH])
def test_no_product_is_formed_nothing_lands_elsewhere_and_nothing_waits(name):
    case = CASES[name]
    for kind in KINDS:
        value = required(values(case, rank=1)[kind])
        expected = first(through(case, value))
        with torch.device("meta"), Synchronisations() as counted, MatrixProducts() as made:
            found = first(through(case, value))
        assert not {case.matrix, case.matrix[::-1]} & made.shapes - {tuple(found.shape)}
        assert torch.equal(found, expected)
        assert counted.found == []


def test_products_that_are_formed_are_seen():
    case = CASES["odd"]
    with MatrixProducts() as made:
        through(case, values(case, rank=1)["added"])
    assert case.matrix in made.shapes


def counted(function):
    with FlopCounterMode(display=False) as flops:
        function()
    return flops.get_total_flops()


def test_arithmetic_is_that_of_the_factors():
    samples, m, n, r = 4, 30, 50, 3
    x, bias = normal(samples, n), normal(m)
    factored = Factored(normal(m, r), normal(r, r), normal(n, r))
    added = Added(normal(m, n), 0.5, normal(m, r), normal(r, n))
    linear = torch.nn.functional.linear
    assert counted(lambda: linear(x, factored, bias)) == 2 * samples * (n * r + r * r + r * m)
    assert counted(lambda: linear(x, added, bias)) == 2 * samples * (m * n + r * (m + n))
    many = normal(100, n)  # the first two matrices are multiplied first, because 30 rows are fewer than 100 samples
    assert counted(lambda: linear(many, factored, bias)) == 2 * 100 * r * (m + n) + 2 * m * r * r
    image, (out, channels, k) = normal(2, 6, 10, 10), (8, 6, 3)
    positions, wide = 2 * 8 * 8, 2 * 10 * 8
    whole = Factored(normal(out, r), normal(r, r), normal(channels * k * k, r), (out, channels, k, k))
    along = Factored(normal(out * k, r), normal(r, r), normal(channels * k, r), (out, channels, k, k))
    conv = torch.nn.functional.conv2d
    assert counted(lambda: conv(image, whole)) == 2 * positions * r * (channels * k * k + out) + 2 * out * r * r
    assert counted(lambda: conv(image, along)) == (
        2 * r * (wide * channels * k + positions * out * k) + 2 * out * k * r * r
    )


def test_attention_of_one_sequence_projects_it_once():
    case = CASES["attention in_proj_weight one"]
    value = Factored(normal(18, 2), normal(2, 2), normal(6, 2))
    parameters = {**dict(case.module.named_parameters()), "attention.in_proj_weight": value}
    network, tokens = factorable(case.module, "attention"), 3 * 5
    found = counted(lambda: call(network, parameters, *case.inputs))
    scores, output = 2 * 2 * 3 * 2 * 5 * 5 * 3, 2 * tokens * 6 * 6
    assert found == 2 * tokens * 2 * (6 + 2 + 18) + scores + output


@pytest.mark.parametrize("name", CASES)
def test_all_clients_at_once_and_functional_gradients(name):
    case = CASES[name]
    value = values(case)["added to factored"]
    many = pytree.tree_map(lambda leaf: torch.stack([leaf, 2.0 * leaf, -leaf]), value)

    def loss(one):
        return first(through(case, one)).square().sum()

    found = torch.vmap(torch.func.grad(loss))(many)
    for number in range(3):
        alone = required(pytree.tree_map(lambda leaf, number=number: leaf[number], many))
        loss(alone).backward()
        for one, two in zip(pytree.tree_leaves(found), pytree.tree_leaves(alone), strict=True):
            assert close(one[number], two.grad)


@pytest.mark.parametrize("shape", [(7, 5), (6, 5, 3), (6, 5, 3, 2), (4, 3, 2, 5, 2), (6, 5, 1, 3), (6, 5, 3, 1)])
def test_a_weight_is_its_matrix(shape):
    W = normal(*shape)
    for how in (WHOLE, ALONG) if len(shape) in (2, 4) else (WHOLE,):
        M = as_matrix(W, how)
        assert tuple(M.shape) == matrix_shape(shape, how)
        assert torch.equal(from_matrix(M, shape), W)


def test_the_two_readings_of_a_kernel():
    W = normal(6, 5, 3, 2)
    assert as_matrix(W)[4, 2 * 6 + 1 * 2 + 1] == W[4, 2, 1, 1]
    assert as_matrix(W, ALONG)[4 * 3 + 2, 3 * 2 + 1] == W[4, 3, 2, 1]


def test_values_say_what_they_are():
    W, A, B = normal(7, 5), normal(7, 2), normal(2, 5)
    value = Added(W, 0.5, A, B)
    assert torch.equal(dense(value), W + 0.5 * (A @ B))
    assert (value.shape, value.ndim, value.dtype, value.device) == (W.shape, 2, W.dtype, W.device)
    assert not value.requires_grad
    assert Added(W, 0.5, A.clone().requires_grad_(), B).requires_grad
    assert torch.equal(value.t(), dense(value).t())
    assert torch.equal(W * value, W * dense(value))
    kernel = Factored(normal(4, 2), normal(2, 2), normal(18, 2))
    assert kernel.shape == (4, 18)
    tree = {"W": value, "kernel": kernel, "bias": W[0]}
    like = {"W": W, "kernel": normal(4, 2, 3, 3), "bias": W[0]}
    assert {name: tuple(t.shape) for name, t in dense_tree(tree, like).items()} == {
        "W": (7, 5),
        "kernel": (4, 2, 3, 3),
        "bias": (5,),
    }
    for again in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert isinstance(again, Added)
        assert torch.equal(dense(again), dense(value))
    with pytest.raises(AttributeError):
        value.no_such_thing  # noqa: B018
    assert torch.equal(value[0], dense(value)[0])  # not the first of its factors


def test_what_does_not_fit_is_refused():
    kernel = normal(4, 2, 3, 3)
    with pytest.raises(FederationError, match=r"matrix \(4, 17\) do not give a weight of shape \(4, 2, 3, 3\)"):
        dense(Factored(normal(4, 2), normal(2, 2), normal(17, 2)), kernel.shape)
    with pytest.raises(FederationError, match="do not give"):
        dense(Added(kernel, 1.0, normal(12, 2), normal(2, 18)), kernel.shape)
    with pytest.raises(FederationError, match="unknown factorisation"):
        matrix_shape((3, 3, 3, 3), "3 x 3")
    with pytest.raises(FederationError, match="two-dimensional kernels"):
        matrix_shape((3, 3, 3), ALONG)
    with pytest.raises(FederationError, match="not a matrix"):
        matrix_shape((3,))


def test_patterns_name_layers():
    shapes = {
        "conv1.weight": (8, 3, 3, 3),
        "layer1.0.conv1.weight": (8, 8, 3, 3),
        "layer1.0.norm1.weight": (8,),
        "layer10.conv.weight": (8, 8, 3, 3),
        "layer2.shortcut.0.weight": (8, 8, 1, 1),
        "head.weight": (10, 8),
        "head.bias": (10,),
        "tokens": (1, 4, 8),
    }.items()
    conv, ten, shortcut, head = (
        "layer1.0.conv1.weight",
        "layer10.conv.weight",
        "layer2.shortcut.0.weight",
        "head.weight",
    )
    assert layer_names(shapes, "layer*.conv*") == (conv, ten)
    assert layer_names(shapes, "head, layer*") == (conv, ten, shortcut, head)
    assert layer_names(shapes, "layer1.*") == (conv,)
    assert layer_names(shapes, "conv1") == ("conv1.weight",)
    for empty in ("", "head,", ", head"):
        with pytest.raises(FederationError, match="no layer with a matrix weight matches ''"):
            layer_names(shapes, empty)
    assert layer_names(shapes, "tokens") == ("tokens",)
    with pytest.raises(FederationError, match=r"matches 'layer1.0.norm1'; there are conv1.weight, layer1"):
        layer_names(shapes, "head, layer1.0.norm1")


def test_a_name_goes_before_a_pattern():
    shapes = {
        "block[ab].weight": (4, 3),
        "blocka.weight": (4, 3),
        "blockb.inner.weight": (3, 2),
        "block[ab].inner.weight": (3, 2),
        "what?.weight": (5, 2),
        "whats.weight": (5, 2),
        "*.weight": (2, 2),
        "*.bias": (2,),
    }.items()
    assert layer_names(shapes, "block[ab].weight") == ("block[ab].weight",)
    assert layer_names(shapes, "block[ab]") == ("block[ab].weight",)
    assert layer_names(shapes, "block[ab].*") == ("block[ab].weight", "block[ab].inner.weight")
    assert layer_names(shapes, "what?") == ("what?.weight",)
    assert layer_names(shapes, "*, block[ab].inner") == ("block[ab].inner.weight", "*.weight")
    assert layer_names(shapes, "bloc[k][ab].weight") == ("blocka.weight",)
    assert len(layer_names(shapes, "**")) == 7
    with pytest.raises(FederationError, match=r"no layer with a matrix weight matches '\*\.bias'"):
        layer_names(shapes, "*.bias")


def test_what_only_a_tensor_can_do_as_an_embedding_is_done_with_the_product():
    case = CASES["embedding"]
    indices = torch.tensor([0, 3, 3, 8])
    for options in ({"max_norm": 0.5}, {"scale_grad_by_freq": True}, {"max_norm": 0.5, "norm_type": 1.0}):
        value, other = (required(values(case)["added"]) for _ in range(2))
        seen = []
        call(factorable(Looked(options, seen), "weight"), {"weight": value}, indices)
        found, expected = seen[0], torch.nn.functional.embedding(indices, dense(other), **options)
        assert close(found, expected)
        if "max_norm" not in options:
            found.sum().backward()
            expected.sum().backward()
            for one, two in zip(pytree.tree_leaves(value), pytree.tree_leaves(other), strict=True):
                assert close(one.grad, two.grad)


class Looked(torch.nn.Module):
    """An embedding with options."""

    def __init__(self, options, seen):
        super().__init__()
        self.weight, self.options, self.seen = torch.nn.Parameter(normal(9, 4, seed=3)), options, seen

    def forward(self, indices):
        self.seen.append(torch.nn.functional.embedding(indices, self.weight, **self.options))
        return self.seen[-1]
