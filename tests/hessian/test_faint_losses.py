"""Networks that are trained to a loss that is lost in rounding are refused with that reason and the remedy."""

import copy

import pytest
import torch
from torch import nn

from hessian import CurvatureError, stable_rank

CE = nn.CrossEntropyLoss()


def fitted(scale):
    """A network that has learned its labels, with logits of some size, and its data."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 5, generator=generator)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 30), nn.Tanh(), nn.Linear(30, 3))
    y = model(x).argmax(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(300):
        optimizer.zero_grad()
        CE(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for parameter in model[2].parameters():
            parameter *= scale
    return model, x, y


def test_a_loss_below_single_precision_is_refused_and_measured_in_double():
    model, x, y = fitted(2.3)
    double = copy.deepcopy(model).double()
    assert 1e-8 < float(CE(double(x.double()), y)) < 1e-6
    with pytest.raises(CurvatureError, match=r"the loss is .*zero loss.*float32: measure model\.double\(\).*--double"):
        stable_rank(model, CE, (x, y))
    assert stable_rank(double, CE, (x.double(), y)).value > 1.0


@pytest.mark.parametrize("scale", [8.0, 30.0])
def test_a_loss_below_double_precision_asks_for_an_earlier_state(scale):
    model, x, y = fitted(scale)
    for kind in (torch.float32, torch.float64):
        with pytest.raises(CurvatureError, match="even in double precision: measure an earlier state"):
            stable_rank(copy.deepcopy(model).to(kind), CE, (x.to(kind), y))


@pytest.mark.parametrize(("unit", "loss"), [(1.0, nn.MSELoss()), (1e-30, CE)])
def test_a_wrong_derivative_at_a_small_loss_keeps_its_reason(unit, loss):
    class Cut(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(5, 8), nn.Linear(8, 3)

        def forward(self, x):
            h = torch.tanh(self.body(x))
            return self.head(h.detach() * h)

    torch.manual_seed(0)
    model, x = Cut(), torch.randn(40, 5)
    y = model(x).detach() if unit == 1.0 else torch.randint(3, (40,))
    with pytest.raises(CurvatureError, match=r"not second derivatives.*detach\(\)"):
        stable_rank(model, lambda output, target: unit * loss(output, target), (x, y))
