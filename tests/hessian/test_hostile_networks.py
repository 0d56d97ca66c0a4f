"""Networks, losses and data that invite a wrong interval in silence, against eigenvalues of second derivatives by hand.

The oracle differentiates twice by itself, in double precision. Where all of the matrix is seen, the interval is narrow.
"""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from hessian import CurvatureError, DenseOperator, extreme_eigenpairs, spectral_measure, stable_rank, stable_rank_of

DRAWN = torch.Generator().manual_seed(1)
X, Y = torch.randn(12, 4, generator=DRAWN), torch.randint(0, 3, (12,), generator=DRAWN)
SHARES = torch.rand(12, generator=DRAWN)


def by_hand(model, loss):
    """The stable rank of a loss of the model's copy in double precision, by all parameters that need a gradient."""
    double = copy.deepcopy(model).double()
    parameters = [p for p in double.parameters() if p.requires_grad]

    def joined(parts):
        whole = zip(parts, parameters, strict=True)
        return torch.cat([(p.new_zeros(p.shape) if part is None else part).flatten() for part, p in whole])

    slope = joined(torch.autograd.grad(loss(double), parameters, create_graph=True))
    rows = [joined(torch.autograd.grad(one, parameters, retain_graph=True, allow_unused=True)) for one in slope]
    values = torch.linalg.eigvalsh(torch.stack(rows))
    return float((values**2).sum() / values.abs().max() ** 2)


class Small(nn.Module):
    """Base of the other networks: a perceptron of 43 parameters."""

    def __init__(self):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.layers = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))

    def forward(self, x):
        return self.layers(x)


class OneParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(0.7))

    def forward(self, x):
        return torch.tanh(self.w * x[:, :3])


class BufferCounts(Small):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.layers(x) * (1.0 + 0.1 * self.calls)


class PythonCounts(Small):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return self.layers(x) * (1.0 + 0.1 * self.calls)


class Tied(Small):
    """A square layer twice under two names."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 5)
        self.again = nn.Linear(5, 5)
        with torch.no_grad():
            self.inner.weight.copy_(torch.eye(5))
            self.inner.bias.zero_()
            self.again.bias.fill_(0.1)
        self.again.weight = self.inner.weight

    def forward(self, x):
        hidden = torch.tanh(self.again(torch.tanh(self.inner(torch.tanh(self.layers[0](x))))))
        return self.layers[2](hidden)


class OneStorage(Small):
    """Two parameters that look at the same numbers, and are two all the same."""

    def __init__(self):
        super().__init__()
        self.view = nn.Parameter(self.layers[0].weight.data[:3])

    def forward(self, x):
        return self.layers(x) + x @ self.view.T


def frozen():
    model = Small()
    model.layers[0].weight.requires_grad_(False)
    return model


def mean(x=X, y=Y, **options):
    return lambda model: functional.cross_entropy(model(x.double()), y, **options)


def penalised(output, target, model):
    return functional.cross_entropy(output, target) + 0.3 * sum(p.square().sum() for p in model.parameters())


PAIR, SINGLE = (X, Y), [(X[i : i + 1], Y[i : i + 1]) for i in range(12)]
ODD = [(X[:1], Y[:1]), (X[1:8], Y[1:8]), (X[8:], Y[8:])]
IGNORED = torch.where(torch.arange(12) < 5, -100, Y)
CE = nn.CrossEntropyLoss()
CASES = {
    "one parameter": (OneParameter, CE, PAIR, mean()),
    "one sample": (Small, CE, SINGLE[0], mean(X[:1], Y[:1])),
    "batches of one": (Small, CE, SINGLE, mean()),
    "odd batches": (Small, CE, ODD, mean()),
    "sums of odd batches": (Small, nn.CrossEntropyLoss(reduction="sum"), ODD, mean()),
    "a smoothed loss": (Small, nn.CrossEntropyLoss(label_smoothing=0.1), ODD, mean(label_smoothing=0.1)),
    "ignored targets": (Small, CE, (X, IGNORED), mean(y=IGNORED)),
    "a buffer counts": (BufferCounts, CE, PAIR, mean()),
    "an attribute counts": (PythonCounts, CE, PAIR, mean()),
    "tied weights": (Tied, CE, PAIR, mean()),
    "one storage": (OneStorage, CE, PAIR, mean()),
    "frozen weights": (frozen, CE, PAIR, mean()),
    "a tiny loss": (Small, lambda output, y: 1e-30 * functional.cross_entropy(output, y), PAIR, mean()),
    "a huge loss": (Small, lambda output, y: 1e30 * functional.cross_entropy(output, y), PAIR, mean()),
    "a loss of the other sign": (Small, lambda output, y: -functional.cross_entropy(output, y), PAIR, mean()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_interval_holds_the_eigenvalues_by_hand(name):
    build, loss, data, truth = CASES[name]
    model = build()
    exact = by_hand(model, truth)
    found = stable_rank(model, loss, data)
    assert found.low * (1 - 1e-5) <= exact <= found.high * (1 + 1e-5)
    assert found.relative_width < 0.05


def test_weights_of_samples_count_in_one_batch_and_are_refused_in_several():
    class OfMapping(Small):
        def forward(self, x, y, share):
            return self.layers(x)

    def loss(output, batch):
        each = functional.cross_entropy(output, batch["y"], reduction="none")
        return (each * batch["share"]).sum() / batch["share"].sum()

    batch = {"x": X, "y": Y, "share": SHARES}
    model = OfMapping()
    exact = by_hand(model, lambda double: loss(double.layers(X.double()), batch | {"share": SHARES.double()}))
    assert exact in stable_rank(model, loss, batch, relative_width=0.02)
    halves = [{name: part[of] for name, part in batch.items()} for of in (slice(5), slice(5, None))]
    with pytest.raises(CurvatureError, match="not a mean over independent samples"):
        stable_rank(model, loss, halves)


def test_a_penalty_counts():
    model = Small()
    exact = by_hand(model, lambda double: penalised(double(X.double()), Y, double))
    assert exact in stable_rank(model, lambda output, y: penalised(output, y, model), PAIR, relative_width=0.02)


@pytest.mark.parametrize("inside", [True, False])
def test_half_precision_of_autocast_is_in_the_interval(inside):
    class Cast(Small):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=inside):
                return self.layers(x).float()

    model = Cast()
    exact = by_hand(Small(), mean())
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not inside):
        found = stable_rank(model, CE, PAIR)
    assert exact in found
    assert 1e-3 < found.relative_width < 0.05


@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_autocast_around_what_is_done_with_products_changes_nothing(precision):
    """Nothing of it is for half precision: neither the basis, nor probes, nor a matrix that is given."""
    matrix = torch.randn(60, 60, generator=torch.Generator().manual_seed(0), dtype=precision)
    operator = DenseOperator(matrix + matrix.T)

    def measured():
        rank = stable_rank_of(operator, rng=np.random.default_rng(0), relative_width=0.2, basis=20)
        pairs = extreme_eigenpairs(operator, 2, rng=np.random.default_rng(0))
        density = spectral_measure(
            operator, rng=np.random.default_rng(0), probes=2, steps=10, without=pairs, three_vectors=True
        )
        return rank, density.nodes, pairs.values

    expected = measured()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = measured()
    assert found[0] == expected[0]
    np.testing.assert_array_equal(np.concatenate(found[1]), np.concatenate(expected[1]))
    np.testing.assert_array_equal(found[2], expected[2])


def test_numbers_that_no_slope_reaches_are_refused():
    class Fixed(Small):
        def forward(self, x):
            found = self.layers(x)
            with torch.no_grad():
                size = found.norm()
            return found / size

    class Rounded(Small):
        def forward(self, x):
            first, _, last = self.layers
            halves = [part.bfloat16() for part in (first.weight, first.bias, last.weight, last.bias)]
            return functional.linear(torch.tanh(functional.linear(x.bfloat16(), *halves[:2])), *halves[2:]).float()

    for model in (Fixed(), Rounded()):
        with pytest.raises(CurvatureError, match="not second derivatives"):
            stable_rank(model, CE, PAIR)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_weights_in_half_precision_are_refused_with_the_remedy(kind):
    with pytest.raises(CurvatureError, match=r"need float32 or float64 \(model.double\(\)\)"):
        stable_rank(Small().to(kind), CE, (X.to(kind), Y))
