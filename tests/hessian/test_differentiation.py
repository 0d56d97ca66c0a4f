"""Values and derivatives are computed in float32 on a GPU, whatever torch's defaults, which stand afterwards."""

import numpy as np
import pytest
import torch

from hessian import Curvature, exact_hessian, stable_rank_of
from workloads.networks import small_convnet

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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_products_with_convolutions_have_seven_digits_on_a_gpu():
    torch.manual_seed(0)
    model, data = small_convnet(14, (8,), 10, 0).float(), (torch.randn(64, 1, 14, 14), torch.randint(10, (64,)))
    vector = torch.randn(sum(p.numel() for p in model.parameters()))
    found = Curvature(model.cuda(), LOSS, tuple(part.cuda() for part in data)) @ vector.cuda()
    wide = tuple(part.double() if part.is_floating_point() else part for part in data)
    expected = Curvature(model.cpu().double(), LOSS, wide) @ vector.double()
    assert float((found.cpu() - expected).norm() / expected.norm()) < 1e-5
