"""Derivatives of a block are tested at the block's own scale, on the diagonal and off it, of every matrix."""

import functools

import numpy as np
import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError, stable_rank_of
from hessian.block_ranks import block_ranks
from hessian.spectrum import SpectrumSettings

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(9, 4, generator=GENERATOR).double()
Y = torch.randint(3, (9,), generator=GENERATOR)
DATA = {"resident": (X, Y), "batches": list(zip(X.split(4), Y.split(4), strict=True))}
LOSS = nn.CrossEntropyLoss()
WRONG = "not second derivatives"


class Bent(torch.autograd.Function):
    """The square, whose first or second derivative is wrong."""

    @staticmethod
    def forward(ctx, x, order):
        ctx.save_for_backward(x)
        ctx.order = order
        return x**2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * {0: 2.0 * x, 1: 1.5 * x, 2: x + x.detach()}[ctx.order], None


class Meeting(torch.autograd.Function):
    """A product, whose mixed derivative is lost on one of two ways."""

    @staticmethod
    def forward(ctx, one, other):
        ctx.save_for_backward(one, other)
        return one * other

    @staticmethod
    def backward(ctx, gradient):
        one, other = ctx.saved_tensors
        return gradient * other.detach(), gradient * one


class Apart(nn.Module):
    """A large layer, and two others on a scale far below that."""

    def __init__(self, function, scale):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.large, self.small, self.other = nn.Linear(4, 3), nn.Linear(4, 3), nn.Linear(4, 3)
        self.function, self.scale = function, scale
        self.double()

    def forward(self, x):
        return self.large(x) + self.scale * self.function(self.small(x), self.other(x))


def bent(order):
    return functools.partial(_bent, order)


def _bent(order, one, other):
    return Bent.apply(one, order) * (1.0 + torch.sin(other))


def measured(operator):
    return stable_rank_of(operator, rng=np.random.default_rng(0), relative_width=0.5).value


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("matrix", ["hessian", "residual"])
def test_a_small_block_with_wrong_second_derivatives_is_refused(matrix, data):
    whole, right = (Curvature(Apart(bent(one), 1e-10), LOSS, DATA[data], matrix=matrix) for one in (2, 0))
    for names in ("small.*", ["small.*", "other.*"], "small.weight"):
        with pytest.raises(CurvatureError, match=WRONG) as caught:
            measured(whole.block(names))
        assert str(caught.value).startswith("block of small.weight")
        assert "\n" not in str(caught.value)
        assert measured(right.block(names)) >= 1.0 - 1e-9
    with pytest.raises(CurvatureError, match=WRONG):
        whole.blocks()["small"].products(torch.ones(1, 15).double())
    assert measured(whole.block("other.*")) == pytest.approx(measured(right.block("other.*")))


@pytest.mark.parametrize("data", DATA)
def test_a_small_block_off_the_diagonal_with_wrong_derivatives_is_refused(data):
    functions = Meeting.apply, torch.mul
    whole, right = (Curvature(Apart(one, 1e-10), LOSS, DATA[data]) for one in functions)
    for rows, columns in (("small.*", "other.*"), ("other.bias", "small.weight")):
        for block in (whole.between(rows, columns), whole.between(columns, rows).T):
            with pytest.raises(CurvatureError, match=rf"block of .* by .*: .*{WRONG}"):
                block.stable_rank(rng=np.random.default_rng(0))
        assert right.between(rows, columns).stable_rank(rng=np.random.default_rng(0)).value >= 1.0 - 1e-9


@pytest.mark.sample(3)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("matrix", ["gauss-newton", "fisher", "empirical-fisher"])
def test_a_small_block_with_wrong_derivatives_of_the_outputs_is_refused(matrix, data):
    whole = Curvature(Apart(bent(1), 1e-10), LOSS, DATA[data], matrix=matrix)
    with pytest.raises(CurvatureError, match=WRONG):
        measured(whole.block("small.*"))
    right = Curvature(Apart(bent(0), 1e-7), LOSS, DATA[data], matrix=matrix)
    assert measured(right.block("small.*")) >= 1.0 - 1e-9
    cross = right.between("small.*", "large.*")
    assert cross.stable_rank(rng=np.random.default_rng(0)).value >= 1.0 - 1e-9


def test_blocks_of_modules_are_measured_next_to_one_that_is_refused():
    operator = Curvature(Apart(bent(2), 1e-10), LOSS, (X, Y))
    ranks = {block.name: block for block in block_ranks(operator, SpectrumSettings(width=0.5))}
    assert ranks["small"].rank is None
    assert WRONG in ranks["small"].why
    assert "\n" not in ranks["small"].why
    assert ranks["large"].rank is not None
    assert ranks["other"].rank is not None


@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton", "residual"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_block_that_is_zero_to_rounding_is_not_refused(matrix, dtype):
    """A softmax does not see the bias of the keys."""

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            with torch.random.fork_rng():
                torch.manual_seed(2)
                self.query, self.key, self.head = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 3)

        def forward(self, x):
            x = x.reshape(-1, 2, 2)
            return self.head((torch.softmax(self.query(x) @ self.key(x).mT, dim=-1) @ x).mean(dim=1))

    operator = Curvature(Attention().to(dtype), LOSS, (X.to(dtype), Y), matrix=matrix)
    identity = torch.eye(2, dtype=dtype)
    small = 100 * torch.finfo(dtype).eps
    assert float(operator.block("key.bias").products(identity).abs().max()) <= small
    for names in ("key.weight", "query.*", "head.*"):
        assert float(operator.between("key.bias", names).T.products(identity).abs().max()) <= small


def test_the_check_of_a_block_counts_there_and_not_as_products():
    operator = Curvature(Apart(bent(0), 1e-10), LOSS, (X, Y))
    block = operator.block("small.*")
    before = block.cost().check_seconds
    block.products(torch.ones(2, 15).double())
    once = block.cost().check_seconds
    block.products(torch.ones(2, 15).double())
    assert before < once == block.cost().check_seconds
    assert block.cost().products == 4
