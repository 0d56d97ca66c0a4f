"""Plain descent overwrites its own tensors, never one that somebody else holds, with the bits of new tensors."""

import pytest
import torch
from small_network import clients, start

from algorithms.descent import Descent, descend
from algorithms.federation import Memory
from algorithms.optimisers import GradientSteps
from algorithms.tree import Tree

RATE = 0.1


def by_new_tensors(loss, w, steps):
    """Return the weights after every step, each made of new tensors."""
    found = []
    for _ in range(steps):
        at = {name: entry.clone().requires_grad_() for name, entry in w.items()}
        slopes = torch.autograd.grad(loss(at), list(at.values()))
        w = {name: w[name] - RATE * slope for name, slope in zip(w, slopes, strict=True)}
        found.append(w)
    return found


class Client:
    """A client with a given loss, which remembers the weights that it is given if asked to."""

    samples = 1.0

    def __init__(self, function, remembers=False):
        self.function, self.remembers, self.seen = function, remembers, []

    def loss(self, w, batch=None):
        if self.remembers:
            self.seen.append(dict(w))
        return self.function(w)


def normal(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


class Constant(torch.autograd.Function):
    """A linear function whose derivative is a tensor that it keeps."""

    slope = None

    @staticmethod
    def forward(context, x):
        return (x * Constant.slope).sum()

    @staticmethod
    def backward(context, grad):
        return Constant.slope


LOSSES = {
    "network": lambda w: (torch.tanh(normal(5, 3, seed=1) @ w["a"].T) @ w["b"].T).square().mean(),
    "one gradient for both": lambda w: (w["a"].reshape(-1)[:4] + w["c"]).square().sum() + (w["c"] + w["d"]).exp().sum(),
    "expanded gradients": lambda w: w["a"].sum() + w["b"].mean() - w["c"].sum(),
    "views of one gradient": lambda w: torch.cat([w["c"], w["d"]]).square().sum(),
    "a gradient that is kept": lambda w: Constant.apply(w["c"]) + w["a"].square().sum(),
}


def weights(dtype=torch.float32):
    shapes = {"a": (4, 3), "b": (2, 4), "c": (4,), "d": (4,)}
    return {name: normal(*shape, seed=seed, dtype=dtype) for seed, (name, shape) in enumerate(shapes.items())}


@pytest.fixture(autouse=True)
def slope():
    Constant.slope = normal(4, seed=9)
    yield
    assert torch.equal(Constant.slope, normal(4, seed=9))


@pytest.mark.parametrize("remembers", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_steps_are_those_of_new_tensors_to_the_bit(name, remembers):
    w, loss = weights(), LOSSES[name]
    used = {of: entry for of, entry in w.items() if of in "ab" or name != "network"}
    used = {of: entry for of, entry in used.items() if _depends(loss, w, of)}
    client = Client(lambda at: loss({**w, **at}), remembers)
    expected = by_new_tensors(client.function, used, 5)
    found = descend(client, Tree(used), Descent(5, RATE), Memory()).parameters
    assert all(torch.equal(found[of], expected[-1][of]) for of in used)
    assert all(torch.equal(entry, weights()[of]) for of, entry in w.items())  # the start is as it was
    for seen, at in zip(client.seen, [used, *expected], strict=False):
        assert all(torch.equal(seen[of].detach(), at[of]) for of in used)
    assert len(client.seen) == 5 * remembers


def _depends(loss, w, of):
    at = {name: entry.clone().requires_grad_() for name, entry in w.items()}
    return torch.autograd.grad(loss(at), at[of], allow_unused=True)[0] is not None


class Known(Client):
    """A client with its own gradient, which is always the same tensor, and a memory of the weights."""

    slopes = Tree(c=normal(4, seed=3))

    def gradient(self, w, batch=None):
        self.seen.append(w["c"])
        return self.slopes


def test_a_client_keeps_its_own_gradient_and_the_weights_that_it_saw():
    client, w = Known(None), normal(4)
    found = descend(client, Tree(c=w), Descent(4, RATE), Memory()).parameters["c"]
    slope = normal(4, seed=3)
    assert torch.equal(client.slopes["c"], slope)
    for seen in [*client.seen, found]:
        assert torch.equal(seen, w)
        w = w - RATE * slope


@pytest.mark.parametrize("kind", [{}, {"clip": 0.01}])
def test_networks_with_kernels_and_statistics_step_as_before(kind):
    (client,) = clients(1)
    settings = Descent(4, RATE, **kind)
    found = descend(client, start(), settings, Memory()).parameters
    w = start()
    for _ in range(4):
        w = descend(client, w, Descent(1, RATE, **kind), Memory()).parameters
    assert all(torch.equal(found[name], w[name]) for name in w)


def steps(count=3, keep=lambda w, gradients: None):
    """Return the addresses of the parameters after each step, and of the gradients before."""
    plain, w, found, kept = GradientSteps(), [normal(4, 3), normal(3)], [], []
    for number in range(count):
        gradients = [normal(4, 3, seed=number), normal(3, seed=number)]
        kept.append(keep(w, gradients))
        w = plain.step(w, gradients, RATE)
        found.append([value.data_ptr() for value in w])
    return found


def test_memory_is_used_again_unless_somebody_holds_it():
    first, second, third = steps()
    assert first == second == third
    for keep in (
        lambda w, gradients: w[0],
        lambda w, gradients: w[1].detach(),
        lambda w, gradients: w[0][1:],
        lambda w, gradients: gradients[1],
        lambda w, gradients: gradients[0].view(-1),
    ):
        first, second, third = steps(keep=keep)
        assert all(old != new for old, new in zip(first + second, second + third, strict=True))


def test_steps_promote_types_as_new_tensors_do():
    w, gradients = [normal(3)], [normal(3, seed=1, dtype=torch.float64)]
    expected = w[0] - gradients[0] * RATE
    plain = GradientSteps()
    (found,) = plain.step(plain.step(w, gradients, RATE), [normal(3, seed=2, dtype=torch.float64)], RATE)
    assert found.dtype == torch.float64
    assert torch.equal(found, expected - normal(3, seed=2, dtype=torch.float64) * RATE)
