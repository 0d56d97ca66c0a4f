"""Every batch counts: modules that only some batches reach, and memory that changes later."""

import numpy as np
import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError, SpectrumSettings
from hessian.block_ranks import block_ranks

LOSS = nn.CrossEntropyLoss()
ORDERS = pytest.mark.parametrize("order", [(0, 1), (1, 0)])


class Heads(nn.Module):
    """A head of 3 classes for one task and one of 2 for the other."""

    def __init__(self):
        super().__init__()
        self.body, self.a, self.b, self.kept = nn.Linear(4, 5), nn.Linear(5, 3), nn.Linear(5, 2), {}

    def forward(self, x, task):
        hidden = torch.tanh(self.body(x))
        return self.a(hidden) if task == "a" else self.head(hidden)

    def head(self, hidden):
        return self.b(hidden)


def heads(kind=Heads):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return kind().double()


def tasks(order=(0, 1)):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(20, 4, generator=generator).double()
    batches = [
        ((x[:7], "a"), torch.randint(3, (7,), generator=generator)),
        ((x[7:], "b"), torch.randint(2, (13,), generator=generator)),
    ]
    return [batches[place] for place in order]


def dense(model, value):
    own = list(model.parameters())
    gradient = torch.cat([g.flatten() for g in torch.autograd.grad(value, own, create_graph=True)])
    rows = [torch.autograd.grad(entry, own, retain_graph=True, materialize_grads=True) for entry in gradient]
    return torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])


def mean_loss(model, batches, loss=LOSS):
    sizes = [len(targets) for _, targets in batches]
    return sum(n * loss(model(*x), y) for n, (x, y) in zip(sizes, batches, strict=True)) / sum(sizes)


@ORDERS
@pytest.mark.parametrize("options", [{}, {"keep_graph": True}])
def test_a_module_that_one_batch_reaches_is_used(order, options):
    model, batches = heads(), tasks(order)
    operator = Curvature(model, LOSS, batches, reduction="mean", **options)
    assert operator.unused == ()
    hessian = dense(model, mean_loss(model, batches))
    torch.testing.assert_close(operator @ torch.eye(operator.P).double(), hessian, rtol=1e-9, atol=1e-12)
    ranks = {block.name: block for block in block_ranks(operator, SpectrumSettings())}
    values = torch.linalg.eigvalsh(hessian[-12:, -12:])
    assert ranks["b"].why == ""
    assert ranks["b"].rank.value == pytest.approx(float((values**2).sum() / values.abs().max() ** 2), rel=0.05)


@ORDERS
@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton", "residual"])
def test_parameters_that_one_batch_reaches_have_their_own_matrix(order, matrix):
    model, batches = heads(), tasks(order)
    whole = Curvature(model, LOSS, batches, matrix=matrix, reduction="mean").block("b.*")
    alone = Curvature(model, LOSS, batches, matrix=matrix, reduction="mean", parameters="b.*")
    vector = torch.linspace(-1.0, 1.5, 12).double()
    torch.testing.assert_close(alone @ vector, whole @ vector, rtol=1e-9, atol=1e-12)


def test_parameters_that_no_batch_reaches_are_refused():
    with pytest.raises(CurvatureError, match="does not depend on any of the parameters"):
        Curvature(heads(), LOSS, tasks()[:1], parameters="b.*")


@ORDERS
def test_captured_weights_are_refused_in_any_batch(order):
    model = heads()
    captured = list(model.b.parameters())

    def penalised(output, targets):
        penalty = sum(p.square().sum() for p in captured) if output.shape[1] == 2 else 0.0
        return LOSS(output, targets) + penalty

    with pytest.raises(CurvatureError, match=r"keeps a reference to b\.weight"):
        Curvature(model, penalised, tasks(order))


class Cached(Heads):
    def head(self, hidden):
        if "w" not in self.kept:
            self.kept["w"] = torch.tanh(self.b.weight)
        return hidden @ self.kept["w"].T + self.b.bias


class Filled(Heads):
    """The batches of one task fill a cache that only those of the other read."""

    def forward(self, x, task):
        if task == "a":
            self.kept["w"] = torch.tanh(self.b.weight)
        return super().forward(x, task)

    def head(self, hidden):
        return hidden @ self.kept.get("w", self.b.weight).T + self.b.bias


@ORDERS
@pytest.mark.parametrize("kind", [Cached, Filled])
def test_a_cache_of_any_batch_is_refused(order, kind):
    with pytest.raises(CurvatureError, match="keeps a tensor that it has computed from the weights"):
        Curvature(heads(kind), LOSS, tasks(order))


def test_a_constant_of_one_task_in_the_shape_of_the_other_head_is_no_cache():
    constant = torch.linspace(-1.0, 1.0, 10).double().view(2, 5)

    class WithConstant(Heads):
        def forward(self, x, task):
            output = super().forward(x, task)
            return output + constant.sum() if task == "a" else output

    for order in ((0, 1), (1, 0)):
        assert Curvature(heads(WithConstant), LOSS, tasks(order), reduction="mean").unused == ()


class Detached(torch.autograd.Function):
    """The exponential, whose gradient forgets that it depends on the argument."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].detach().exp()


class WrongHead(Heads):
    def head(self, hidden):
        return Detached.apply(self.b(hidden))


@pytest.mark.parametrize("place", range(9))
def test_products_are_tested_on_the_one_batch_that_reaches_a_module(place):
    few, other = tasks()
    batches = [few] * 8
    batches.insert(place, other)
    with pytest.raises(CurvatureError, match="not second derivatives"):
        Curvature(heads(WrongHead), LOSS, batches, reduction="mean")


class Rare(nn.Module):
    """Samples of a mark go through a module of their own."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        marked = x[:, 0] > 5.0
        found = self.a(x)
        if bool(marked.any()):
            found = found.index_put((marked.nonzero()[:, 0],), Detached.apply(self.b(x[marked])))
        return found


@pytest.mark.parametrize("place", [0, 17, 59])
def test_products_are_tested_on_the_one_sample_that_reaches_a_module(place):
    generator = torch.Generator().manual_seed(2)
    x, y = torch.randn(60, 4, generator=generator).double(), torch.randint(3, (60,), generator=generator)
    x[place, 0] = 6.0
    with pytest.raises(CurvatureError, match="not second derivatives"):
        Curvature(heads(Rare), LOSS, (x, y))


@pytest.mark.parametrize("which", ["inputs", "targets"])
@pytest.mark.parametrize("several", [False, True])
def test_numpy_cannot_change_a_matrix(which, several):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    rng = np.random.default_rng(0)
    inputs, targets = rng.standard_normal((30, 4)), rng.integers(3, size=30)
    x, y = torch.from_numpy(inputs), torch.from_numpy(targets)
    data = [(x[:11], y[:11]), (x[11:], y[11:])] if several else (x, y)
    operator = Curvature(model, LOSS, data, keep_graph=True)
    vector = torch.linspace(-1.0, 1.5, operator.P).double()
    before = operator @ vector
    if which == "inputs":
        inputs[:] = rng.standard_normal((30, 4))
    else:
        targets[:] = (targets + 1) % 3
    assert torch.equal(operator @ vector, before)
    with torch.no_grad():
        (x if which == "inputs" else y).add_(0)
    with pytest.raises(CurvatureError, match="changed in place after the operator was built"):
        operator @ vector


@pytest.mark.parametrize("change", ["more", "fewer"])
def test_a_list_of_another_length_is_refused(change):
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(20, 4, generator=generator).double(), torch.randint(3, (20,), generator=generator)
    data = [(x[:7], y[:7]), (x[7:12], y[7:12]), (x[12:], y[12:])]
    operator = Curvature(nn.Linear(4, 3).double(), LOSS, data)
    vector = torch.linspace(-1.0, 1.5, operator.P).double()
    operator @ vector
    if change == "more":
        data.append((x[:3], y[:3]))
    else:
        data.pop()
    for later in (lambda: operator @ vector, operator.cost):
        with pytest.raises(CurvatureError, match=f"had 3 batches when the operator was built and have {change} now"):
            later()
