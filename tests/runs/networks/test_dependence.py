"""Whether a loss was computed from weights, on both sides of the border."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from runs.networks.dependence import depends_on


def weight():
    return torch.arange(6.0).view(2, 3).requires_grad_()


@pytest.mark.parametrize(
    "loss",
    [
        lambda w: w.sum(),
        lambda w: (w * 0.0).sum(),
        lambda w: w[0, 0],
        lambda w: (w.detach() @ torch.ones(3)).sum() + w[1].square().sum(),
        lambda w: checkpoint(torch.sin, w, use_reentrant=False).mean(),
        lambda w: torch.linalg.svd(w)[1].sum(),
    ],
)
def test_a_loss_that_was_computed_from_a_weight_depends_on_it(loss):
    w, other = weight(), weight()
    assert depends_on(loss(w), [other, w])
    assert depends_on(loss(w * 2.0), [w])
    made = w * 2.0
    assert depends_on(loss(made), [made])
    assert not depends_on(loss(w), [other])


def test_a_loss_of_other_parameters_or_of_none_does_not():
    w, net = weight(), nn.Linear(3, 2, bias=False)
    net.load_state_dict({"weight": w})
    value = net(torch.ones(3)).sum()
    assert value.requires_grad
    assert not depends_on(value, [w])
    assert depends_on(value, [net.weight])
    assert not depends_on(w.detach().sum(), [w])
    assert not depends_on(w.sum(), [w.detach()])
    leaf = torch.ones((), requires_grad=True)
    assert depends_on(leaf, [leaf])
