"""Values and derivatives are computed in float32 on a GPU for any defaults of torch, which are restored afterwards."""

from contextlib import nullcontext, suppress

import numpy as np
import pytest
import torch

from hessian import Curvature, exact_hessian, stable_rank_of
from hessian.numerics.differentiation import exact_algebra, exact_evaluation
from hessian.pyhessian.backend import top_eigenvalues
from workloads.image_networks.small import small_convnet

LOSS = torch.nn.CrossEntropyLoss()


class Square(torch.autograd.Function):
    """The square of its input, which notes the settings under which it is computed and differentiated."""

    seen: set[tuple[str, str, bool]] = set()  # noqa: RUF012

    @classmethod
    def note(cls, what):
        fast = torch.backends.mha.get_fastpath_enabled()
        cls.seen.add((what, torch.backends.cudnn.conv.fp32_precision, what == "value" and fast))

    @staticmethod
    def forward(ctx, x):
        Square.note("value")
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        Square.note("slope")
        return Slope.apply(*ctx.saved_tensors, g)


class Slope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, g):
        ctx.save_for_backward(x, g)
        return 2 * x * g

    @staticmethod
    def backward(ctx, h):
        Square.note("curvature")
        x, g = ctx.saved_tensors
        return 2 * g * h, 2 * x * h


class Squared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)

    def forward(self, x):
        return Square.apply(self.layer(x))


@pytest.mark.skipif(not hasattr(torch.backends.cudnn, "conv"), reason="an older torch has one setting for all")
@pytest.mark.parametrize("keep_graph", [True, False])
def test_convolutions_are_exact_where_there_is_a_gpu(monkeypatch, keep_graph):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(Square, "seen", set())
    torch.manual_seed(0)
    model, data = Squared(), (torch.randn(6, 3), torch.randint(4, (6,)))
    operator = Curvature(model, LOSS, data, keep_graph=keep_graph)
    stable_rank_of(operator, rng=np.random.default_rng(0), relative_width=0.5)
    exact_hessian(model, LOSS, *data)
    assert Square.seen == {(what, "ieee", False) for what in ("value", "slope", "curvature")}
    assert torch.backends.cudnn.conv.fp32_precision == "tf32"
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.skipif(not hasattr(torch.backends.cudnn, "conv"), reason="an older torch has one setting for all")
def test_convolutions_of_pyhessian_are_exact_where_there_is_a_gpu(monkeypatch):
    pytest.importorskip("pyhessian")
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(Square, "seen", set())
    torch.manual_seed(0)
    data = torch.randn(6, 3), torch.randint(4, (6,))
    top_eigenvalues(Squared(), LOSS, data)
    assert Square.seen == {(what, "ieee", False) for what in ("value", "slope", "curvature")}
    assert torch.backends.cudnn.conv.fp32_precision == "tf32"


@pytest.mark.parametrize("fast", [True, False])
def test_the_faster_transformer_layers_are_as_before_whatever_happens(monkeypatch, fast):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    before = torch.backends.mha.get_fastpath_enabled()
    try:
        torch.backends.mha.set_fastpath_enabled(fast)
        with suppress(ZeroDivisionError), exact_evaluation():
            assert not torch.backends.mha.get_fastpath_enabled()
            raise ZeroDivisionError
        assert torch.backends.mha.get_fastpath_enabled() == fast
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


class Recurrent(torch.nn.Module):
    """A recurrent layer; with or without the common way to turn cuDNN off for second derivatives."""

    def __init__(self, flags):
        super().__init__()
        self.recurrent, self.head, self.flags, self.seen = torch.nn.LSTM(3, 4), torch.nn.Linear(4, 3), flags, []

    def forward(self, x):
        cudnn = torch.backends.cudnn
        self.seen.append((cudnn.enabled, cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision))
        with cudnn.flags(enabled=False, allow_tf32=False) if self.flags else nullcontext():
            return self.head(self.recurrent(x.transpose(0, 1))[0][-1])


@pytest.fixture(params=[("tf32", "tf32"), ("ieee", "tf32"), ("ieee", "ieee"), "older"])
def precisions(request):
    """Settings that a user has made, in both ways that torch has."""
    cudnn = torch.backends.cudnn
    if not hasattr(cudnn, "conv"):
        pytest.skip("an older torch has one setting for all")
    if request.param == "older":
        cudnn.allow_tf32 = False
    else:
        cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision = request.param
    yield cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision
    cudnn.allow_tf32 = True
    assert (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == ("tf32", "tf32")


@pytest.mark.parametrize("flags", [False, True])
def test_recurrent_layers_have_products_where_there_is_a_gpu(monkeypatch, precisions, flags):
    torch.manual_seed(0)
    model, data = Recurrent(flags), (torch.randn(6, 5, 3), torch.randint(3, (6,)))
    vector = torch.ones(sum(p.numel() for p in model.parameters()))
    with monkeypatch.context() as there:
        there.setattr(torch.cuda, "is_initialized", lambda: True)
        found = Curvature(model, LOSS, data) @ vector
    cudnn = torch.backends.cudnn
    assert set(model.seen) == {(False, "ieee", "ieee")}
    assert (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == precisions
    assert cudnn.enabled
    if not flags or precisions[0] == precisions[1] == "tf32":  # else torch itself refuses flags
        assert torch.equal(found, Curvature(model, LOSS, data) @ vector)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_products_with_convolutions_have_seven_digits_on_a_gpu():
    torch.manual_seed(0)
    model, data = small_convnet(14, (8,), 10, 0).float(), (torch.randn(64, 1, 14, 14), torch.randint(10, (64,)))
    vector = torch.randn(sum(p.numel() for p in model.parameters()))
    found = Curvature(model.cuda(), LOSS, tuple(part.cuda() for part in data)) @ vector.cuda()
    wide = tuple(part.double() if part.is_floating_point() else part for part in data)
    expected = Curvature(model.cpu().double(), LOSS, wide) @ vector.double()
    assert float((found.cpu() - expected).norm() / expected.norm()) < 1e-5


@pytest.mark.parametrize("chosen", ["highest", "high", "medium"])
def test_algebra_is_exact_whatever_products_of_matrices_are_asked_for(chosen):
    def precisions():
        return [of.fp32_precision for of in (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul)]

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(chosen)
    try:
        outside = precisions()
        with exact_algebra(), exact_algebra():
            assert set(precisions()) <= {"ieee", "none"}
        assert precisions() == outside
        assert torch.get_float32_matmul_precision() == chosen
    finally:
        torch.set_float32_matmul_precision(before)
