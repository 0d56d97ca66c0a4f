"""Rounding of products as they are, which the checks in double precision do not see, is in the intervals or refused."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from hessian import (
    Curvature,
    CurvatureError,
    SpectrumSettings,
    exact_hessian,
    measure_spectrum,
    stable_rank,
    stable_rank_of,
)

CE = nn.CrossEntropyLoss()


class Inside(nn.Module):
    """A perceptron that calls itself in another way."""

    def __init__(self, call, seed=0, sizes=(6, 10, 3)):
        super().__init__()
        first, hidden, last = sizes
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.net = nn.Sequential(nn.Linear(first, hidden), nn.Tanh(), nn.Linear(hidden, last))
        self.call = call

    def forward(self, x):
        return self.call(self.net, x)


def autocast(net, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return net(x).to(x.dtype)


def plain(net, x):
    return net(x)


def drawn(count, features=6, classes=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, features, generator=generator), torch.randint(classes, (count,), generator=generator)


def by_hand(net, x, y, rows=None, columns=None):
    """A block of the Hessian in double precision."""
    double = copy.deepcopy(net).double()
    parameters = list(double.parameters())
    slopes = torch.autograd.grad(CE(double(x.double()), y), parameters, create_graph=True)
    flat = torch.cat([slope.flatten() for slope in slopes])
    found = [torch.cat([g.flatten() for g in torch.autograd.grad(one, parameters, retain_graph=True)]) for one in flat]
    return torch.stack(found)[rows][:, columns] if rows is not None else torch.stack(found)


def norms_of(matrix):
    spectral, frobenius = float(torch.linalg.matrix_norm(matrix, 2)), float(torch.linalg.matrix_norm(matrix))
    return spectral, frobenius, (frobenius / spectral) ** 2


@pytest.mark.parametrize(("seed", "count"), [(0, 40), (1, 7), (2, 90), (3, 23)])
def test_the_intervals_of_autocast_inside_hold_the_norms_of_the_function(seed, count):
    model, (x, y) = Inside(autocast, seed, (6, 11, 4)), drawn(count, classes=4, seed=seed)
    spectral, frobenius, rank = norms_of(by_hand(model.net, x, y))
    found = stable_rank(model, CE, (x, y))
    assert spectral in found.spectral_norm
    assert frobenius in found.frobenius
    assert rank in found
    assert found.spectral_norm.relative_width > 1e-3


class FaintHalf(nn.Module):
    """A network in single precision, next to one in bfloat16 that hardly counts."""

    def __init__(self, share, call):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(3)
            self.loud, self.faint = nn.Linear(6, 3), nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
        self.share, self.call = share, call

    def forward(self, x):
        return self.loud(x) + self.share * self.call(self.faint, x)


@pytest.mark.parametrize("share", [1e-3, 1e-4])
def test_a_faint_block_in_half_precision_has_its_own_rounding(share):
    model, (x, y) = FaintHalf(share, autocast), drawn(30)
    operator = Curvature(model, CE, (x, y))
    assert operator.rounding < 1e-4
    block = operator.block("faint.2.*")
    assert block.rounding > 1e-4
    exact = by_hand(FaintHalf(share, plain), x, y)[-block.P :, -block.P :]
    spectral, _, rank = norms_of(exact)
    found = stable_rank_of(block, rng=np.random.default_rng(0))
    assert spectral in found.spectral_norm
    assert rank in found


def test_rounding_is_measured_on_the_scale_of_a_block():
    model, (x, y) = Inside(autocast), drawn(30)
    operator = Curvature(model, CE, (x, y))
    first = slice(0, 70)
    spectral, _, rank = norms_of(by_hand(model.net, x, y, first, first))
    block = operator.block("net.0.*")
    assert block.rounding != operator.rounding
    found = stable_rank_of(block, rng=np.random.default_rng(0))
    assert spectral in found.spectral_norm
    assert rank in found
    across, last = slice(70, 103), operator.between("net.0.*", "net.2.*").stable_rank(rng=np.random.default_rng(0))
    spectral, _, rank = norms_of(by_hand(model.net, x, y, first, across))
    assert spectral in last.spectral_norm
    assert rank in last


def test_single_precision_inside_doubles_is_in_the_interval():
    def single(net, x):
        return functional.linear(net[1](net[0](x)).float(), net[2].weight.float(), net[2].bias.float()).to(x.dtype)

    (x, y), model = drawn(40), Inside(single).double()
    found = stable_rank(model, CE, (x.double(), y))
    spectral, _, rank = norms_of(by_hand(model.net, x, y))
    assert spectral in found.spectral_norm
    assert rank in found
    assert found.spectral_norm.relative_width < 1e-5


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_half_precision_by_name_is_refused_by_name(kind, dtype):
    model, (x, y) = Inside(lambda net, x: net[2](net[1](net[0](x)).to(kind).to(x.dtype))).to(dtype), drawn(12)
    with pytest.raises(CurvatureError, match=f"computes in {str(kind).removeprefix('torch.')}"):
        stable_rank(model, CE, (x.to(dtype), y))


def test_another_function_in_double_precision_is_refused():
    model, (x, y) = Inside(lambda net, x: net(x) * (1.0 if x.dtype == torch.float64 else 1.3)), drawn(12)
    with pytest.raises(CurvatureError, match=r"products with the matrix in float32 are off by 0\.\d+ of their size"):
        stable_rank(model, CE, (x, y))
    assert stable_rank(model.double(), CE, (x.double(), y)).value > 1.0


def test_what_has_no_interval_is_refused_under_autocast():
    x, y = drawn(12)
    with pytest.raises(CurvatureError, match=r"off by 0\.\d+ of their size.*autocast"):
        exact_hessian(Inside(autocast), CE, x, y)
    assert exact_hessian(Inside(plain), CE, x, y).shape == (103, 103)


def large(seed, kind, count=80):
    """Inputs of which a few samples do not show how much products are rounded."""
    x, y = drawn(count, 5, 3, seed)
    return {"scaled": 1e3 * x, "pixels": 127.0 + 74.0 * x, "raw": 1e3 + 100.0 * x}[kind], y


@pytest.mark.parametrize(
    ("activation", "kind", "seed"),
    [(nn.Tanh, "scaled", 6), (nn.Tanh, "pixels", 0), (nn.GELU, "raw", 0), (nn.GELU, "raw", 22), (nn.Tanh, "raw", 4)],
)
def test_intervals_hold_the_norms_for_inputs_that_are_not_scaled(activation, kind, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(5, 8), activation(), nn.Linear(8, 3))
    x, y = large(seed, kind)
    spectral, frobenius, rank = norms_of(by_hand(model, x, y))
    found = stable_rank(model, CE, (x, y))
    assert spectral in found.spectral_norm
    assert frobenius in found.frobenius
    assert rank in found
    streamed = stable_rank(model, CE, [(x[:31], y[:31]), (x[31:], y[31:])])
    assert spectral in streamed.spectral_norm


def test_all_samples_are_compared_also_within_a_budget_of_memory():
    with torch.random.fork_rng():
        torch.manual_seed(6)
        model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    x, y = large(6, "scaled", 40)
    plain, limited = (Curvature(model, CE, (x, y), memory=memory) for memory in (None, "2 GiB"))
    assert limited.rounding == plain.rounding
    exact = by_hand(model, x, y)
    products = plain.products(torch.eye(plain.P)).double()
    assert plain.rounding >= float(torch.linalg.matrix_norm(products - exact, 2) / torch.linalg.matrix_norm(exact, 2))


def masked(net, x):
    out = net(x)
    return out.masked_fill(torch.arange(out.shape[1]) == 2, torch.finfo(out.dtype).min)


@pytest.mark.parametrize(("call", "scale", "all_samples"), [(plain, 1.0, 0), (masked, 1.0, 0), (plain, 1e3, 1)])
def test_products_with_all_samples_are_compared_only_where_numbers_are_large(monkeypatch, call, scale, all_samples):
    called = []
    monkeypatch.setattr("hessian.operators.curvature.rounding_on_all", lambda *_: called.append(1) or 0.0)
    x, y = drawn(60)
    assert Curvature(Inside(call), CE, (scale * x, y % 2)).rounding >= 0.0
    assert len(called) == all_samples


def test_large_inputs_are_seen_before_layers_that_are_not_measured(monkeypatch):
    called = []
    monkeypatch.setattr("hessian.operators.curvature.rounding_on_all", lambda *_: called.append(1) or 0.0)
    x, y = drawn(60)
    assert Curvature(Inside(plain), CE, (1e3 * x, y), parameters="net.2.*").rounding >= 0.0
    assert called == [1]


class Rotated(nn.Module):
    """A perceptron after a fixed rotation that it holds in one of several ways."""

    def __init__(self, held, seed=1):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
            rotation = torch.linalg.qr(torch.randn(5, 5))[0]
        self.held = held
        if held == "attribute":
            self.rotation = rotation
        elif held == "closure":
            self.rotate = lambda x: x @ rotation
        elif held == "written":
            self.rotation = [rotation]
        else:
            self.register_buffer("rotation", rotation)

    def forward(self, x):
        if self.held == "single":
            assert x.dtype == torch.float32, "single precision only"
        if self.held == "closure":
            return self.net(self.rotate(x))
        if self.held == "written":
            turned = torch.zeros(len(x), 5)
            turned[torch.arange(len(x))] = x @ self.rotation[0]
            return self.net(turned)
        return self.net(x @ self.rotation)


@pytest.mark.parametrize("seed", [0, 4])
@pytest.mark.parametrize("held", ["attribute", "closure", "written", "single"])
def test_rounding_is_measured_where_constants_stay_in_single_precision(held, seed):
    x, y = large(seed, "raw", 61)
    buffered = Rotated("buffer", seed)
    spectral, frobenius, rank = norms_of(by_hand(buffered, x, y))
    operator = Curvature(Rotated(held, seed), CE, (x, y))
    if held in ("attribute", "closure"):
        assert operator.rounding == Curvature(buffered, CE, (x, y)).rounding
    assert operator.rounding > 1e-6
    found = stable_rank_of(operator, rng=np.random.default_rng(0))
    assert spectral in found.spectral_norm
    assert frobenius in found.frobenius
    assert rank in found


def test_constants_of_a_loss_are_double_in_the_checks():
    weight = torch.tensor([0.2, 1.0, 3.0])
    x, y = large(3, "scaled", 40)
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    found = [
        Curvature(model, loss, (x, y)).rounding
        for loss in (lambda o, t: functional.cross_entropy(o, t, weight), nn.CrossEntropyLoss(weight))
    ]
    assert found[0] == found[1] > 0.0


class Detached(Rotated):
    """Takes single precision only, with a derivative that leaves a part out."""

    def forward(self, x):
        out = super().forward(x)
        return out * (1.0 + out.detach().square())


def test_a_miss_in_single_precision_names_why_double_precision_fails():
    x, y = drawn(60, 5, 3)
    with pytest.raises(CurvatureError, match=r"fails in double precision \(single precision only.*register_buffer"):
        stable_rank(Detached("single"), CE, (x, y))


@pytest.mark.parametrize(("seed", "batches"), [(0, 2), (1, 1)])
def test_training_that_goes_on_does_not_change_what_was_built(seed, batches):
    """Dropout of the model and of the loss is on again, and the statistics of batch norm those of each batch."""

    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.3)

        def forward(self, out, y):
            return CE(self.drop(out), y)

    x, y = drawn(60, 5, 3, seed)
    data = (40 * x, y) if batches == 1 else [(40 * x[:20], y[:20]), (40 * x[20:], y[20:])]
    torch.manual_seed(seed)
    norm = nn.BatchNorm1d(8)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), norm, nn.Dropout(0.5), nn.Linear(8, 3)).eval()
    loss = Noisy().eval()
    expected = stable_rank_of(Curvature(model, loss, data), rng=np.random.default_rng(0))
    operator = Curvature(model, loss, data)
    block = operator.block("4.*")
    model.train()
    loss.train()
    assert stable_rank_of(operator, rng=np.random.default_rng(0)) == expected
    assert stable_rank_of(block, rng=np.random.default_rng(0)).value > 0.0
    assert operator.cost().gradient_seconds > 0.0
    assert model[3].training
    assert norm.training
    assert loss.drop.training
    assert norm.num_batches_tracked == 0


def test_what_rounding_limits_asks_for_precision_and_not_for_products():
    model, (x, y) = Inside(autocast, 0, (12, 9, 3)), drawn(90, 12, 3)
    settings = SpectrumSettings(outliers=3, probes=1, steps=5, products=500, width=1e-3)
    report = measure_spectrum(Curvature(model, CE, (x, y)), settings)
    assert not report.converged
    assert not report.stable_rank.reached
    for label in ("stable rank", "eigenvalues", "residuals"):
        text = report.words()[label]
        assert "raise products" not in text
        assert "products are rounded by " in text
        assert "leave out autocast" in text
        assert "--double" in text
    report = measure_spectrum(Curvature(copy.deepcopy(model).double(), CE, (x.double(), y)), settings)
    assert report.converged
    assert report.stable_rank.reached


def test_where_products_run_out_more_are_asked_for():
    model, (x, y) = Inside(plain, 0, (12, 9, 3)), drawn(90, 12, 3)
    settings = SpectrumSettings(outliers=3, probes=1, steps=5, products=32, width=1e-3)
    words = measure_spectrum(Curvature(model, CE, (x, y)), settings).words()
    assert "wider than requested: raise products" in words["stable rank"]
    assert "not converged: raise products" in words["residuals"]
    assert "rounded" not in "".join(words.values())
    least = SpectrumSettings(outliers=3, probes=1, steps=5, tolerance=1e-30, width=1e-15)
    report = measure_spectrum(Curvature(model.double(), CE, (x.double(), y)), least)
    assert "ask for less" in report.words()["stable rank"]
    assert "autocast" not in "".join(report.words().values())
