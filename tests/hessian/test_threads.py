"""Threads that measure one model take turns, because a model holds other weights while it is evaluated."""

from threading import Event, Thread, current_thread

import numpy as np
import pytest
import torch
from torch import nn

from hessian import Curvature, exact_hessian
from hessian.pyhessian.backend import top_eigenvalues

GENERATOR = torch.Generator().manual_seed(0)
X, Y = torch.randn(7, 2, generator=GENERATOR), torch.randint(2, (7,), generator=GENERATOR)
BATCHES = [(X[:2], Y[:2]), (X[2:], Y[2:])]
LOSS = nn.CrossEntropyLoss()


class Met(nn.Module):
    """A layer whose first evaluation starts a second thread, which stays in its own until it is released."""

    def __init__(self, work):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        with torch.no_grad():
            self.layer.weight.copy_(torch.tensor([[0.5, -1.0], [2.0, 0.25]]))
            self.layer.bias.copy_(torch.tensor([0.1, -0.2]))
        self.second, self.entered, self.released = Thread(target=work, args=(self,)), Event(), Event()

    def forward(self, x):
        if self.second.ident is None:
            self.second.start()
            self.entered.wait(0.2)  # in vain if threads take turns
        elif current_thread() is self.second and not self.entered.is_set():
            self.entered.set()
            self.released.wait(20.0)
        return self.layer(x)


@pytest.mark.parametrize(
    "measure",
    [
        lambda model: Curvature(model, LOSS, BATCHES) @ torch.eye(6),
        lambda model: exact_hessian(model, LOSS, X, Y),
        lambda model: top_eigenvalues(model, LOSS, BATCHES).values,
    ],
    ids=["products", "dense", "pyhessian"],
)
def test_a_second_thread_waits_and_measures_the_model_and_both_leave_it(measure):
    found = []
    model = Met(lambda shared: found.append(measure(shared)))
    before = {name: (parameter, parameter.detach().clone()) for name, parameter in model.named_parameters()}
    try:
        Curvature(model, LOSS, BATCHES)
    finally:
        model.released.set()
        model.second.join()
    for name, parameter in model.named_parameters():
        assert parameter is before[name][0]
        assert torch.equal(parameter, before[name][1])
    np.testing.assert_array_equal(np.asarray(found[0]), np.asarray(measure(model.layer)))
