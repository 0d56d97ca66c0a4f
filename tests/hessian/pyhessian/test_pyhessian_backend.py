"""PyHessian behind its adapter: right against dense Hessians, nothing left behind, and the raw package's faults pinned.

Where a test of the first class fails, a fault of PyHessian 0.1 has gone, and a guard of the adapter may go with it.
"""

import inspect
import threading
import weakref

import numpy as np
import pyhessian
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from hessian import CurvatureError, exact_hessian
from hessian.pyhessian.backend import PyHessianSettings, density_quadrature, printed_estimate, top_eigenvalues
from workloads.image_networks.small import perceptron

raw = pytest.importorskip("pyhessian")
LOSS = nn.CrossEntropyLoss()


def problem(dtype=torch.float64, samples=40, seed=3):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(samples, 6, generator=generator, dtype=torch.float64).to(dtype)
    targets = torch.randint(3, (samples,), generator=generator)
    return perceptron(6, (5,), 3, seed, dtype=dtype), inputs, targets


def spectrum(model, inputs, targets):
    """Exact, decreasing modulus."""
    values = torch.linalg.eigvalsh(exact_hessian(model, LOSS, inputs, targets).double()).numpy()
    return values[np.argsort(-np.abs(values))]


def batches(inputs, targets, size=15, **options):
    return DataLoader(TensorDataset(inputs, targets), batch_size=size, **options)  # the last batch is smaller


@pytest.mark.filterwarnings("ignore:Using backward")
class TestFaultsOfTheRawPackage:
    def top(self, model, loss=LOSS, **data):
        torch.manual_seed(0)
        return raw.hessian(model, loss, cuda=False, **data).eigenvalues(maxIter=1000, tol=1e-9)[0][0]

    def test_a_second_object_on_one_model_sees_twice_the_hessian(self):
        model, inputs, targets = problem()
        first = raw.hessian(model, LOSS, data=(inputs, targets), cuda=False)
        second = self.top(model, data=(inputs, targets))
        assert second == pytest.approx(2.0 * spectrum(model, inputs, targets)[0], rel=1e-5)
        assert first.gradsH  # alive until here

    def test_sums_over_batches_are_weighted_as_means(self):
        model, inputs, targets = problem()
        found = self.top(model, nn.CrossEntropyLoss(reduction="sum"), dataloader=batches(inputs, targets))
        assert abs(found / (len(inputs) * spectrum(model, inputs, targets)[0]) - 1.0) > 0.5

    def test_the_density_calls_a_function_that_is_gone(self):
        model, inputs, targets = problem()
        with pytest.raises((RuntimeError, AttributeError), match=r"eig|deprecated"):
            raw.hessian(model, LOSS, data=(inputs, targets), cuda=False).density(iter=5)

    def test_the_model_is_left_in_evaluation_mode_with_a_graph_in_its_gradients(self):
        model, inputs, targets = problem()
        raw.hessian(model.train(), LOSS, data=(inputs, targets), cuda=False)
        assert not model.training
        assert all(p.grad is not None and p.grad.requires_grad for p in model.parameters())
        model.zero_grad(set_to_none=True)

    def test_an_unused_parameter_ends_in_autograd(self):
        model, inputs, targets = problem()
        model.spare = nn.Parameter(torch.zeros(2, dtype=torch.float64))
        model.forward = lambda x: model[2](model[1](model[0](x)))
        with pytest.raises((AssertionError, RuntimeError, TypeError, AttributeError)):
            self.top(model, data=(inputs, targets))

    def test_shuffled_batches_are_another_matrix_every_time(self):
        model, inputs, targets = problem()
        loader = batches(inputs, targets, size=25, shuffle=True, drop_last=True)
        assert abs(self.top(model, dataloader=loader) / spectrum(model, inputs, targets)[0] - 1.0) > 1e-3

    def test_lanczos_vectors_are_too_short_where_the_hessian_is_small(self, monkeypatch):
        model, inputs, targets = problem()
        monkeypatch.setattr("torch.eig", lambda T, eigenvectors: (torch.linalg.eigvalsh(T)[:, None], torch.eye(len(T))))
        torch.manual_seed(0)
        small = raw.hessian(model, lambda x, y: 1e-6 * LOSS(x, y), data=(inputs, targets), cuda=False)
        top = max(small.density(iter=25)[0][0])
        assert abs(top / (1e-6 * spectrum(model, inputs, targets)[0]) - 1.0) > 0.1

    def test_the_iteration_stops_at_once_where_the_hessian_is_small(self):
        model, inputs, targets = problem()
        torch.manual_seed(0)
        small = raw.hessian(model, lambda x, y: 1e-10 * LOSS(x, y), data=(inputs, targets), cuda=False)
        found = small.eigenvalues(tol=1e-3)[0][0]
        assert abs(found / (1e-10 * spectrum(model, inputs, targets)[0]) - 1.0) > 0.1


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-6), (torch.float32, 1e-4)])
@pytest.mark.parametrize("loader", [False, True])
def test_eigenvalues_are_those_of_the_dense_hessian(dtype, close, loader):
    model, inputs, targets = problem(dtype)
    data = batches(inputs, targets) if loader else (inputs, targets)
    found = top_eigenvalues(model, LOSS, data, PyHessianSettings(iterations=2000, top_n=3, tolerance=1e-6))
    exact = spectrum(model, inputs, targets)[:3]
    assert found.values == pytest.approx(exact, rel=1e-3)
    assert found.values[0] == pytest.approx(exact[0], rel=100 * close)
    assert found.version == "0.1"
    assert found.vectors.shape == (3, 53)
    hessian = exact_hessian(model, LOSS, inputs, targets)
    own = torch.linalg.vector_norm(
        found.vectors @ hessian - torch.tensor(found.values)[:, None].to(dtype) * found.vectors, dim=1
    )
    assert found.residuals == pytest.approx(own.double().numpy(), abs=close)


def test_moments_beyond_those_of_the_iterations_are_refused():
    """One node at the mean of each probe has the mean's square and not that of the spectrum."""
    model, inputs, targets = problem()
    exact = spectrum(model, inputs, targets)
    one, two = (
        density_quadrature(model, LOSS, (inputs, targets), PyHessianSettings(iterations=m, runs=40, tolerance=1.0))
        for m in (1, 2)
    )
    with pytest.raises(CurvatureError, match="moment 2 needs steps of at least 2"):
        one.measure.moment(2)
    found = two.measure.moment(2)
    assert abs(found.value - (exact**2).mean()) < 5.0 * found.sd


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_quadrature_has_the_ends_and_moments_of_the_spectrum(dtype):
    model, inputs, targets = problem(dtype)
    exact = spectrum(model, inputs, targets)
    found = density_quadrature(model, LOSS, (inputs, targets), PyHessianSettings(iterations=35, runs=24))
    ends = np.array([(x[0], x[-1]) for x in found.nodes])
    # What PyHessian adds to norms limits this, in either precision.
    assert ends == pytest.approx(np.tile([exact.min(), exact.max()], (24, 1)), rel=1e-4)
    assert all(w.sum() == pytest.approx(1.0) and (w >= 0.0).all() for w in found.weights)
    for power in (1, 2):
        moment = found.measure.moment(power)
        assert abs(moment.value - (exact**power).mean()) < 5.0 * moment.sd


def test_double_precision_is_kept_throughout():
    model, inputs, targets = problem()
    settings = PyHessianSettings(iterations=35)
    found = density_quadrature(model, lambda x, y: 1e6 * LOSS(x, y), (inputs, targets), settings)
    assert abs(found.nodes[0][-1] / (1e6 * spectrum(model, inputs, targets)[0]) - 1.0) < 1e-9  # float32 has 6e-8


def test_the_estimate_through_the_package_is_that_of_its_quadrature():
    model, inputs, targets = problem()
    settings = PyHessianSettings(iterations=25, runs=4, seed=5)
    found = printed_estimate(model, LOSS, (inputs, targets), settings)
    quadrature = density_quadrature(model, LOSS, (inputs, targets), settings)
    low, high = (np.mean([x[i] for x in quadrature.nodes]) for i in (0, -1))
    grid = np.linspace(low - 0.01, high + 0.01, 10_000)
    variance = 1e-5 * max(1.0, grid[-1] - grid[0])
    density = sum(
        w[:, None] * np.exp(-((grid - x[:, None]) ** 2) / (2 * variance))
        for x, w in zip(quadrature.nodes, quadrature.weights, strict=True)
    ).sum(axis=0)
    assert abs(high) > abs(low)
    at = np.abs(grid - high).argmin()
    assert found.value == pytest.approx(density @ grid**2 / (density[at] * grid[at] ** 2))


def guarded(model):
    return (
        [m.training for m in model.modules()],
        [p.grad for p in model.parameters()],
        {name: tensor.clone() for name, tensor in model.state_dict().items()},
        torch.get_rng_state(),
    )


@pytest.mark.parametrize("call", [top_eigenvalues, density_quadrature, printed_estimate])
@pytest.mark.parametrize("loader", [False, True])
@pytest.mark.parametrize("with_gradient", [False, True])
def test_nothing_is_left_behind(call, loader, with_gradient):
    model, inputs, targets = problem()
    model = nn.Sequential(model[0], nn.BatchNorm1d(5, dtype=torch.float64), nn.Dropout(0.5), *model[1:]).train()
    model[1].eval()  # modes differ, and both come back
    if with_gradient:
        for number, parameter in enumerate(model.parameters()):
            parameter.grad = torch.full_like(parameter, float(number))
    kept = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    outputs = []
    handle = model.register_forward_hook(lambda m, i, output: outputs.append(weakref.ref(output)))
    modes, gradients, weights, state = guarded(model)
    own = torch.eig
    data = batches(inputs, targets) if loader else (inputs.requires_grad_(), targets)
    call(model, LOSS, data, PyHessianSettings(iterations=6))
    handle.remove()
    after = guarded(model)
    assert after[0] == modes
    assert all(one is other for one, other in zip(after[1], gradients, strict=True))
    assert all(g is None if k is None else torch.equal(g, k) for g, k in zip(after[1], kept, strict=True))
    assert all(torch.equal(after[2][name], weights[name]) for name in weights)
    assert torch.equal(after[3], state)
    assert inputs.grad is None
    assert torch.eig is own
    assert raw.hessian.__init__.__globals__["torch"] is torch
    assert outputs
    assert all(output() is None for output in outputs)  # no graph is alive


def test_an_error_inside_restores_everything_too():
    model, inputs, targets = problem()
    calls = []

    def fails_late(outputs, classes):
        calls.append(1)
        if len(calls) > 4:
            raise KeyboardInterrupt
        return LOSS(outputs, classes)

    model.train()
    with pytest.raises(KeyboardInterrupt):
        density_quadrature(model, fails_late, batches(inputs, targets), PyHessianSettings(iterations=5))
    assert model.training
    assert all(p.grad is None for p in model.parameters())
    assert raw.hessian.__init__.__globals__["torch"] is torch
    density_quadrature(model, LOSS, (inputs, targets), PyHessianSettings(iterations=5))  # the lock is free


def test_calls_repeat_by_their_seed_also_from_several_threads():
    model, inputs, targets = problem()

    def nodes(seed):
        return density_quadrature(model, LOSS, (inputs, targets), PyHessianSettings(iterations=8, seed=seed)).nodes[0]

    wanted = {seed: nodes(seed) for seed in range(4)}
    found = {}
    threads = [threading.Thread(target=lambda s=s: found.update({s: nodes(s)})) for s in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[seed], wanted[seed]) for seed in wanted)
    assert not np.array_equal(wanted[0], wanted[1])


class Pair(nn.Module):
    """One layer that is used and one that is not."""

    def __init__(self):
        super().__init__()
        self.used, self.spare = nn.Linear(6, 3), nn.Linear(2, 2)

    def forward(self, x):
        return self.used(x)


@pytest.mark.parametrize("call", [top_eigenvalues, density_quadrature])
def test_what_would_be_wrong_is_refused_in_one_line(call):
    model, inputs, targets = problem(torch.float32)
    data = (inputs, targets)

    def refused(match, model=model, loss=LOSS, data=data, **settings):
        modes = [m.training for m in model.modules()]
        with pytest.raises(CurvatureError, match=match) as caught:
            call(model, loss, data, PyHessianSettings(**settings) if settings else None)
        assert "\n" not in str(caught.value)
        assert [m.training for m in model.modules()] == modes
        assert all(p.grad is None for p in model.parameters())

    refused("reduction='sum'", loss=nn.CrossEntropyLoss(reduction="sum"))
    refused(
        "is a sum over samples",
        loss=lambda x, y: nn.functional.cross_entropy(x, y, reduction="sum"),
        data=batches(*data),
    )
    refused("shuffles", data=batches(*data, shuffle=True))
    refused("read only once", data=iter([data]))
    refused("order of the data", data=_Unsteady(*data))
    refused("is or has a mapping", data={"x": inputs, "labels": targets})
    refused("inputs of tuple", data=[((inputs, inputs), targets), ((inputs, inputs), targets)])
    refused("empty", data=[])
    refused(r"does not depend on spare\.weight, spare\.bias", model=Pair())
    refused(
        r"does not depend on used\.weight, used\.bias, or only linearly",
        model=_frozen(Pair()),
        loss=lambda x, y: x.mean(),
    )
    refused("meta", model=nn.Linear(6, 3, device="meta"))
    refused("must be a scalar", loss=lambda x, y: nn.functional.cross_entropy(x, y, reduction="none"))
    refused("float32 or float64", model=nn.Linear(6, 3).half())
    refused("adds 1e-06 to its divisor", loss=lambda x, y: 1e-7 * LOSS(x, y), iterations=25)
    if call is top_eigenvalues:
        refused("top_n must be at most the number of parameters 53, got 54", top_n=54)
    else:
        refused("iterations must be at most the number of parameters 53, got 100")
    with pytest.raises(CurvatureError, match="tolerance positive, got 1, 1, 1 and 0"):
        PyHessianSettings(iterations=1, tolerance=0.0)


class _Unsteady:
    """Batches in another order every time."""

    def __init__(self, inputs, targets):
        self.data, self.turn = (inputs, targets), 0

    def __iter__(self):
        self.turn += 1
        inputs, targets = (part.roll(7 * self.turn, 0) for part in self.data)
        yield inputs[:20], targets[:20]
        yield inputs[20:], targets[20:]


def _frozen(model):
    model.spare.requires_grad_(False)
    return model


def test_other_devices_are_refused_by_name(monkeypatch):
    model, inputs, targets = problem(torch.float32)
    monkeypatch.setattr(
        "hessian.pyhessian.backend.select_parameters", lambda model, selection: {"w": torch.empty(1, device="meta")}
    )
    with pytest.raises(CurvatureError, match="cpu and cuda, not meta"):
        top_eigenvalues(model, LOSS, (inputs, targets))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_device_is_that_of_the_model():
    model, inputs, targets = problem()
    settings = PyHessianSettings(iterations=25, runs=2)
    exact = spectrum(model, inputs, targets)
    found = density_quadrature(model.cuda(), LOSS, (inputs, targets), settings)
    assert found.nodes[0][-1] == pytest.approx(exact[0], rel=1e-5)
    assert top_eigenvalues(model, LOSS, (inputs, targets)).values[0] == pytest.approx(exact[0], rel=0.05)


def test_the_defaults_are_those_of_the_package():
    stated = PyHessianSettings()
    for method, names in (("eigenvalues", ("maxIter", "tol", "top_n")), ("density", ("iter", "n_v"))):
        parameters = inspect.signature(getattr(pyhessian.hessian, method)).parameters
        own = {
            "maxIter": stated.iterations,
            "iter": stated.iterations,
            "tol": stated.tolerance,
            "top_n": stated.top_n,
            "n_v": stated.runs,
        }
        assert {name: parameters[name].default for name in names} == {name: own[name] for name in names}


def identity(a):
    """Return a problem whose Hessian is a times the identity in three dimensions."""
    model = nn.Linear(3, 1, bias=False, dtype=torch.float64)
    data = (3.0**0.5 * torch.eye(3, dtype=torch.float64), torch.zeros(3, 1, dtype=torch.float64))
    return model, lambda x, y: a * ((x - y) ** 2).mean() / 2.0, data


@pytest.mark.parametrize(("part", "taken"), [(0.7, False), (1.4, True)])
def test_the_density_of_small_eigenvalues_is_refused_below_twice_what_is_added_over_the_tolerance(part, taken):
    """The Hessian of a |w|^2 / 2 is a times the identity; the border is a = 2e-6 / 1e-2."""
    a = part * 2e-4

    def ask():
        return density_quadrature(*identity(a), PyHessianSettings(iterations=2, runs=1, tolerance=1e-2))

    if taken:
        assert np.abs(ask().nodes[0]).max() == pytest.approx(a, rel=0.02)
    else:
        with pytest.raises(CurvatureError, match=r"adds 1e-06 to its divisor, .* only those from 0\.0002 on"):
            ask()


@pytest.mark.parametrize(("part", "taken"), [(0.8, False), (1.2, True)])
def test_eigenvalues_below_what_is_added_to_divisors_are_refused(part, taken):
    """The Hessian is a times the identity in three dimensions, and the border is a = 1e-6."""
    model, loss, data = identity(part * 1e-6)
    settings = PyHessianSettings(iterations=3, top_n=3)
    if taken:
        assert top_eigenvalues(model, loss, data, settings).values == pytest.approx(np.full(3, part * 1e-6), rel=1e-5)
    else:
        with pytest.raises(
            CurvatureError, match=r"modulus 8e-07 cannot reach this tolerance, only those from 1e-06 on"
        ):
            top_eigenvalues(model, loss, data, settings)


@pytest.mark.parametrize(("call", "name"), [(top_eigenvalues, "top_n"), (density_quadrature, "iterations")])
def test_as_many_as_parameters_are_taken_and_one_more_is_refused(call, name):
    problem_of_three = identity(2.0)
    call(*problem_of_three, PyHessianSettings(**{name: 3}))
    with pytest.raises(CurvatureError, match=f"^{name} must be at most the number of parameters 3, got 4$"):
        call(*problem_of_three, PyHessianSettings(**{name: 4}))


def test_a_rule_with_as_many_nodes_as_parameters_has_all_moments():
    for iterations, powers in ((3, (1, 2, 5, 6, 20)), (2, (1, 2, 3))):
        measure = density_quadrature(*identity(2.0), PyHessianSettings(iterations=iterations)).measure
        for power in powers:
            assert measure.moment(power).value == pytest.approx(2.0**power, rel=1e-4)
    with pytest.raises(CurvatureError, match="moment 4 needs"):
        measure.moment(4)
