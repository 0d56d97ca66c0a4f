"""Caches of the weights, and what looks like one and is none."""

import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError


class WithUnused(nn.Module):
    """A weight that the loss does not see, of the shape of a hidden value: 4 or 5 samples by 3, or transposed."""

    def __init__(self, *shape):
        super().__init__()
        self.unused, self.used = nn.Parameter(torch.ones(*shape).double()), nn.Linear(4, 3).double()

    def forward(self, x):
        return torch.tanh(self.used(x)).sum(dim=1, keepdim=True)


def test_an_unused_weight_may_have_the_shape_of_what_is_computed():
    x, y = torch.linspace(-1.0, 1.0, 20).view(5, 4).double(), torch.zeros(5, 1).double()
    for shape in ((4, 3), (3, 4), (5, 3), (3, 5)):  # four samples are tried before all
        operator = Curvature(WithUnused(*shape), nn.MSELoss(), (x, y))
        assert operator.unused == ("unused",)
        size = shape[0] * shape[1]
        assert not (operator @ torch.ones(operator.P).double())[:size].any()


def test_a_cache_in_another_precision_is_refused():
    kept, mixing = {}, torch.ones(4, 1).double()

    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 1)

        def forward(self, x):
            if not kept:
                kept["weight"] = self.linear.weight.to(torch.float64)
            return kept["weight"] @ mixing * x[:, :1]

    with pytest.raises(CurvatureError, match="keeps a tensor that it has computed from the weights"):
        Curvature(Kept(), nn.MSELoss(), (torch.ones(5, 4), torch.zeros(5, 1)))


class Copied(nn.Module):
    """Reads a constant in place of a weight and a bias that the loss does not see."""

    def __init__(self, *shape):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(3, 2).double()), nn.Parameter(torch.ones(6).double())
        self.last, self.copies = nn.Linear(4, 1).double(), [torch.linspace(-1.0, 1.0, 6).double().view(*shape)]

    def forward(self, x):
        return self.last(x) * self.copies[0].square().sum() + self.copies[0][..., :2].sum()


def test_a_copy_of_an_unused_weight_has_its_sizes_in_any_order():
    """A row of as many numbers as the bias, or a matrix of other sizes, is not taken for a copy."""
    x, y = torch.linspace(-1.0, 1.0, 20).view(5, 4).double(), torch.zeros(5, 1).double()
    for shape in ((3, 2), (2, 3)):
        said = rf"^weight does not reach the loss, but a tensor of the same shape \({shape[0]}, {shape[1]}\)"
        with pytest.raises(CurvatureError, match=said):
            Curvature(Copied(*shape), nn.MSELoss(), (x, y))
    for shape in ((6,), (1, 6), (3, 2, 1)):
        assert Curvature(Copied(*shape), nn.MSELoss(), (x, y)).unused == ("weight", "bias")
