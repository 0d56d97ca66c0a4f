"""Remembered checks: once for a structure, again for changed code, operations, shapes, data or options."""

import gc

import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError, PassedChecks
from hessian.loss import checked_objective as checks


@pytest.fixture
def full(monkeypatch):
    """Count the full tests of second derivatives."""
    calls = []
    test = checks.require_second_derivatives

    def counted(*args, **options):
        calls.append(args[1])
        return test(*args, **options)

    monkeypatch.setattr(checks, "require_second_derivatives", counted)
    return calls


def data(count=40, split=False):
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(count, 5, generator=generator).double()
    y = torch.randint(0, 3, (count,), generator=generator)
    return [(x[:25], y[:25]), (x[25:], y[25:])] if split else (x, y)


def network(seed=0, activation=nn.Tanh):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 4), activation(), nn.Linear(4, 3)).double()


@pytest.mark.parametrize("split", [False, True])
def test_other_weights_of_the_same_structure_are_checked_once(full, split):
    passed, loss = PassedChecks(), nn.CrossEntropyLoss()
    for seed in range(3):
        model = network(seed)
        remembered = Curvature(model, loss, data(split=split), checks=passed)
        calls = len(full)
        plain = Curvature(model, loss, data(split=split))
        del full[calls:]
        v = torch.ones(plain.P).double()
        assert torch.equal(remembered @ v, plain @ v)
        assert (remembered.loss, remembered.samples, remembered.unused) == (plain.loss, plain.samples, plain.unused)
    assert (len(full), len(passed)) == (1, 1)


def test_a_gradient_is_timed_once_for_a_structure():
    passed, loss = PassedChecks(), nn.CrossEntropyLoss()
    first, second = (Curvature(network(seed), loss, data(), checks=passed) for seed in (0, 1))
    seconds = first.cost().gradient_seconds
    assert second.cost().gradient_seconds == seconds
    longer = Curvature(network(2), loss, data(count=4000), checks=passed)
    assert longer.cost().gradient_seconds != seconds
    block = second.block("0.*")
    assert block.cost(seconds).gradient_seconds == seconds


class Knot:
    """Garbage that only the collector frees, and whose end runs code."""

    def __init__(self):
        self.own = self

    def __del__(self):
        torch.zeros(1).add(1)


class Littering(nn.Tanh):
    def forward(self, x):
        Knot()
        return super().forward(x)


def test_the_collectors_work_is_no_part_of_a_call(full):
    passed, before = PassedChecks(), gc.get_threshold()
    try:
        for often in (1, before[0], 1):
            gc.set_threshold(often)
            Curvature(network(activation=Littering), nn.CrossEntropyLoss(), data(), checks=passed)
    finally:
        gc.set_threshold(*before)
    assert (len(full), len(passed), gc.isenabled()) == (1, 1, True)


def test_without_the_memory_every_matrix_is_checked(full):
    for _ in range(2):
        Curvature(network(), nn.CrossEntropyLoss(), data())
    assert len(full) == 2


@pytest.mark.parametrize(
    "other",
    [
        lambda passed: Curvature(network(activation=nn.Sigmoid), nn.CrossEntropyLoss(), data(), checks=passed),
        lambda passed: Curvature(network(), nn.CrossEntropyLoss(), data(41), checks=passed),
        lambda passed: Curvature(network(), nn.CrossEntropyLoss(label_smoothing=0.1), data(), checks=passed),
        lambda passed: Curvature(network(), nn.CrossEntropyLoss(), data(), matrix="gauss-newton", checks=passed),
        lambda passed: Curvature(network(), nn.CrossEntropyLoss(), data(), parameters="2.*", checks=passed),
        lambda passed: Curvature(network().float(), nn.CrossEntropyLoss(), data(), checks=passed),
        lambda passed: Curvature(network(), nn.CrossEntropyLoss(), data(split=True), checks=passed),
    ],
    ids=["activation", "samples", "loss", "matrix", "parameters", "precision", "batches"],
)
def test_another_structure_is_checked(full, other):
    passed = PassedChecks()
    Curvature(network(), nn.CrossEntropyLoss(), data(), checks=passed)
    other(passed)
    assert (len(full), len(passed)) == (2, 2)


class Helped(nn.Module):
    """A network whose forward pass calls a function that can be changed."""

    def __init__(self, helper):
        super().__init__()
        self.first, self.helper, self.last = nn.Linear(5, 4), [helper], nn.Linear(4, 3)

    def forward(self, x):
        return self.last(self.helper[0](self.first(x)))


def squared(x):
    return x * x


def half_detached(x):
    return x * x.detach()


def hooked(x):
    made = x * x
    if made.requires_grad:
        made.register_hook(lambda gradient: gradient * 0.5)
    return made


@pytest.mark.parametrize("helper", [half_detached, hooked])
def test_changed_code_in_a_helper_is_not_trusted(helper):
    torch.manual_seed(0)
    model, passed = Helped(squared).double(), PassedChecks()
    Curvature(model, nn.CrossEntropyLoss(), data(), checks=passed)
    model.helper[0] = helper
    with pytest.raises(CurvatureError, match="not second derivatives"):
        Curvature(model, nn.CrossEntropyLoss(), data(), checks=passed)


class Halved(torch.autograd.Function):
    """The square, with the right derivative or half of it."""

    wrong = False

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x * (1.0 if Halved.wrong else 2.0)


def test_custom_backward_passes_are_never_remembered(monkeypatch):
    torch.manual_seed(0)
    model, passed = Helped(Halved.apply).double(), PassedChecks()
    Curvature(model, nn.CrossEntropyLoss(), data(), checks=passed)
    assert len(passed) == 0
    monkeypatch.setattr(Halved, "wrong", True)
    with pytest.raises(CurvatureError):
        Curvature(model, nn.CrossEntropyLoss(), data(), checks=passed)


class Caching(nn.Module):
    """A layer that may keep what it computed from its weights."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 5, dtype=torch.float64))
        self.keeps, self.kept = False, {}

    def forward(self, x):
        weight = self.kept.get("weight", self.weight.sin())
        if self.keeps:
            self.kept["weight"] = weight.detach()
        return x @ weight.T


def test_a_cache_that_is_turned_on_later_is_seen():
    model, passed = Caching(), PassedChecks()
    Curvature(model, nn.CrossEntropyLoss(), data(), checks=passed)
    model.keeps = True
    with pytest.raises(CurvatureError):
        Curvature(model, nn.CrossEntropyLoss(), data(), checks=passed)


def test_class_weights_and_ignored_labels_are_checked_again_although_operations_are_the_same():
    passed = PassedChecks()
    even = nn.CrossEntropyLoss(weight=torch.ones(3).double())
    Curvature(network(), even, data(split=True), checks=passed)
    even.weight = torch.tensor([1.0, 2.0, 5.0]).double()
    with pytest.raises(CurvatureError):
        Curvature(network(), even, data(split=True), checks=passed)
    passed, loss, batches = PassedChecks(), nn.CrossEntropyLoss(), data(split=True)
    Curvature(network(), loss, batches, checks=passed)
    batches[0][1][:7] = -100
    with pytest.raises(CurvatureError):
        Curvature(network(), loss, batches, checks=passed)


def test_blocks_are_tested_once_as_well(monkeypatch):
    tested = []
    test = checks.require_second_derivatives
    monkeypatch.setattr(
        checks, "require_second_derivatives", lambda *args, **options: tested.append(1) or test(*args, **options)
    )
    passed = PassedChecks()
    for seed in range(2):
        block = Curvature(network(seed), nn.CrossEntropyLoss(), data(), checks=passed).block("2.*")
        block @ torch.ones(block.P).double()
    assert len(tested) == 2  # the whole and the block, at the first weights


def test_what_weights_can_change_is_checked_for_each():
    passed = PassedChecks()
    Curvature(network().float(), nn.CrossEntropyLoss(), data(), checks=passed)
    model = network().float()
    with torch.no_grad():
        model[2].weight.fill_(float("inf"))
    with pytest.raises(CurvatureError):
        Curvature(model, nn.CrossEntropyLoss(), data(), checks=passed)
