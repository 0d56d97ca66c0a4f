"""The dense Hessian against torch's own, against finite differences, and at its doors."""

import itertools
from functools import cache

import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError, exact_hessian

CROSS_ENTROPY = nn.functional.cross_entropy


def perceptron(activation=nn.Tanh, bias=True):
    return nn.Sequential(
        nn.Linear(5, 4, bias=bias), activation(), nn.Linear(4, 3, bias=bias), activation(), nn.Linear(3, 3, bias=bias)
    ).double()


def convnet():
    return nn.Sequential(
        nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 2, 3), nn.Softplus(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(2, 3)
    ).double()


class Residual(nn.Module):
    """Layers in parallel, a skip, and a product of activations: the layered route must follow any graph."""

    def __init__(self):
        super().__init__()
        self.wide, self.gate, self.out = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 3)
        self.double()

    def forward(self, x):
        return self.out(x + torch.tanh(self.wide(x)) * torch.sigmoid(self.gate(x)))


class Branches(nn.Module):
    """Two paths that meet late: the later layers of one do not see the earlier layers of the other."""

    def __init__(self):
        super().__init__()
        self.left, self.right, self.upper, self.lower = (nn.Linear(5, 5) for _ in range(4))
        self.double()

    def forward(self, x):
        left, right = torch.tanh(self.left(x)), torch.tanh(self.right(x))
        return (self.upper(right) * self.lower(left))[:, :3]


class Tied(nn.Module):
    """One layer used twice."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 5).double()

    def forward(self, x):
        return self.layer(torch.tanh(self.layer(x)))


class Sequence(nn.Module):
    """A linear layer over (samples, places, features)."""

    def __init__(self):
        super().__init__()
        self.layer, self.out = nn.Linear(2, 3).double(), nn.Linear(3, 3).double()

    def forward(self, x):
        return self.out(torch.tanh(self.layer(x[:, :4].reshape(-1, 2, 2))).mean(dim=1))


class Unused(nn.Module):
    """A layer that does nothing: its rows and columns are zero."""

    def __init__(self):
        super().__init__()
        self.idle, self.out = nn.Linear(2, 2).double(), nn.Linear(5, 3).double()

    def forward(self, x):
        return self.out(x).sin()


def penalised(model):
    def loss(outputs, targets):
        return CROSS_ENTROPY(outputs, targets) + 0.1 * sum(p.pow(4).sum() for p in model.parameters())

    return loss


def oracle(model, loss, x, y):
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    parameters = [model.get_parameter(name).detach() for name in names]

    def value(flat):
        parts = flat.split([p.numel() for p in parameters])
        given = {name: part.view_as(p) for name, part, p in zip(names, parts, parameters, strict=True)}
        return loss(torch.func.functional_call(model, given, (x,)), y)

    return torch.autograd.functional.hessian(value, torch.cat([p.reshape(-1) for p in parameters]))


def samples(model, count=23, features=5, seed=1):
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.7, generator=generator)
    x = torch.randn(count, features, dtype=torch.float64, generator=generator)
    return x, torch.randint(0, 3, (count,), generator=generator)


LAYERED = {
    "perceptron": perceptron,
    "softplus": lambda: perceptron(nn.Softplus),
    "no bias": lambda: perceptron(bias=False),
    "residual": Residual,
    "branches": Branches,
}


@cache
def layered(make):
    """A network, its samples and its Hessian, which all ways to compute it share."""
    model = make()
    x, y = samples(model)
    return model, x, y, oracle(model, CROSS_ENTROPY, x, y)


BY_COLUMNS = {"tied": Tied, "sequence": Sequence, "unused": Unused}


@pytest.mark.parametrize(
    ("method", "rows"), [("auto", 7), *itertools.product(("layered", "columns"), (1000, 23, 7, 1))]
)
@pytest.mark.parametrize("make", LAYERED.values(), ids=LAYERED.keys())
def test_layered_networks_in_unequal_chunks(make, method, rows):
    model, x, y, expected = layered(make)
    found = exact_hessian(model, CROSS_ENTROPY, x, y, method=method, rows=rows, columns=11)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    assert torch.equal(found, found.mT)


@pytest.mark.parametrize("make", BY_COLUMNS.values(), ids=BY_COLUMNS.keys())
def test_other_networks_take_the_columns(make):
    model = make()
    x, y = samples(model)
    found = exact_hessian(model, CROSS_ENTROPY, x, y, rows=10)
    torch.testing.assert_close(found, oracle(model, CROSS_ENTROPY, x, y), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"layered Hessian does not apply: .*method='columns'"):
        exact_hessian(model, CROSS_ENTROPY, x, y, method="layered")


def test_convolutional_network():
    model = convnet()
    x, y = samples(model, features=16)
    found = exact_hessian(model, CROSS_ENTROPY, x, y, rows=10, columns=7)
    torch.testing.assert_close(found, oracle(model, CROSS_ENTROPY, x, y), rtol=0, atol=1e-12)


class Leaky(nn.Module):
    """Uses a weight outside its layer as well."""

    def __init__(self):
        super().__init__()
        self.layers = perceptron()

    def forward(self, x):
        return self.layers(x) + self.layers[0].weight.square().sum()


def test_a_parameter_used_outside_its_layer_is_noticed():
    model = Leaky()
    x, _ = samples(model.layers)
    loss = nn.functional.mse_loss
    target = torch.randn(len(x), 3, dtype=x.dtype, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(
        exact_hessian(model, loss, x, target), oracle(model, loss, x, target), rtol=0, atol=1e-11
    )
    with pytest.raises(ValueError, match="misses an exact Hessian-vector product"):
        exact_hessian(model, loss, x, target, method="layered")


def test_a_penalty_is_included_and_not_left_to_the_layered_route():
    model = perceptron()
    x, y = samples(model)
    loss = penalised(model)
    found = exact_hessian(model, loss, x, y)
    weights = nn.utils.parameters_to_vector(model.parameters()).detach()
    expected = oracle(model, CROSS_ENTROPY, x, y) + torch.diag(1.2 * weights**2)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="reads parameters in addition to the model's output"):
        exact_hessian(model, loss, x, y, method="layered")


def test_finite_differences():
    model = perceptron()
    x, y = samples(model)
    hessian = exact_hessian(model, CROSS_ENTROPY, x, y)
    parameters = list(model.parameters())

    def gradient(flat):
        nn.utils.vector_to_parameters(flat, parameters)
        return nn.utils.parameters_to_vector(torch.autograd.grad(CROSS_ENTROPY(model(x), y), parameters))

    centre = nn.utils.parameters_to_vector(parameters).detach()
    direction = torch.linspace(-1, 1, len(centre), dtype=torch.float64)

    def slope(step):
        return (gradient(centre + step * direction) - gradient(centre - step * direction)) / (2 * step)

    step = 1e-3
    extrapolated = (4 * slope(step / 2) - slope(step)) / 3  # removes the error of order step squared
    torch.testing.assert_close(extrapolated, hessian @ direction, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", ["layered", "columns"])
def test_frozen_parameters_are_left_out(method):
    model = perceptron()
    x, y = samples(model)
    whole = exact_hessian(model, CROSS_ENTROPY, x, y)
    free = torch.cat(
        [torch.full((p.numel(),), name not in ("0.bias", "2.weight")) for name, p in model.named_parameters()]
    )
    model[0].bias.requires_grad_(False)
    model[2].weight.requires_grad_(False)
    found = exact_hessian(model, CROSS_ENTROPY, x, y, method=method)
    torch.testing.assert_close(found, whole[free][:, free], rtol=0, atol=1e-13)


def test_float32_stays_float32():
    model = perceptron()
    x, y = samples(model)
    exact = exact_hessian(model, CROSS_ENTROPY, x, y)
    found = exact_hessian(model.float(), CROSS_ENTROPY, x.float(), y, method="layered")
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=1e-5)


def test_subsets_add_up():
    model = perceptron()
    x, y = samples(model)
    first, second = torch.arange(0, 9), torch.arange(9, 23)
    parts = [exact_hessian(model, CROSS_ENTROPY, x[part], y[part]) for part in (first, second)]
    whole = exact_hessian(model, CROSS_ENTROPY, x, y)
    torch.testing.assert_close((9 * parts[0] + 14 * parts[1]) / 23, whole, rtol=0, atol=1e-13)


@pytest.mark.parametrize("make", [perceptron, Tied])
def test_nothing_is_left_behind(make):
    model = make()
    x, y = samples(model)
    model.train()
    gradients = [torch.full_like(p, 3.0) for p in model.parameters()]
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        parameter.grad = gradient.clone()
    state = torch.get_rng_state()
    done = []
    with torch.no_grad():
        exact_hessian(model, CROSS_ENTROPY, x, y, rows=10, progress=lambda *seen: done.append(seen))
    assert done == [(10, 23), (20, 23), (23, 23)]
    assert model.training
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), gradients, strict=True))
    assert not any(module._forward_hooks for module in model.modules())


def test_a_failing_loss_leaves_no_hook():
    model = perceptron()
    x, y = samples(model)
    x[20] = torch.nan
    with pytest.raises(CurvatureError, match="the loss is nan on batch 3"):
        exact_hessian(model, CROSS_ENTROPY, x, y, rows=10)
    assert not any(module._forward_hooks for module in model.modules())


def test_errors_name_the_cause():
    model = perceptron()
    x, y = samples(model)
    with pytest.raises(ValueError, match="at least one, got 0 and 0"):
        exact_hessian(model, CROSS_ENTROPY, x[:0], y[:0])
    with pytest.raises(ValueError, match="got 23 and 22"):
        exact_hessian(model, CROSS_ENTROPY, x, y[:22])
    with pytest.raises(ValueError, match="'fast'"):
        exact_hessian(model, CROSS_ENTROPY, x, y, method="fast")
    with pytest.raises(ValueError, match="rows=0"):
        exact_hessian(model, CROSS_ENTROPY, x, y, rows=0)
    with pytest.raises(ValueError, match=r"scalar tensor, got shape \(23,\)"):
        exact_hessian(model, nn.CrossEntropyLoss(reduction="none"), x, y)
    with pytest.raises(ValueError, match="reduces by 'sum'"):
        exact_hessian(model, nn.CrossEntropyLoss(reduction="sum"), x, y)
    with pytest.raises(CurvatureError, match="the loss is nan on batch 1"):
        exact_hessian(model, CROSS_ENTROPY, x * torch.nan, y)
    with pytest.raises(ValueError, match="does not depend on any of the parameters"):
        exact_hessian(model, lambda outputs, targets: x.mean() * 0, x, y)
    model[0].float()
    with pytest.raises(ValueError, match="several dtypes"):
        exact_hessian(model, CROSS_ENTROPY, x, y)
    with pytest.raises(ValueError, match="no trainable parameter"):
        exact_hessian(model.requires_grad_(False), CROSS_ENTROPY, x, y)


def test_dropout_and_batch_norm_are_named():
    model = perceptron()
    x, y = samples(model)
    with pytest.raises(CurvatureError, match="dropout"):
        exact_hessian(nn.Sequential(model, nn.Dropout(0.5)), CROSS_ENTROPY, x, y)
    normed = nn.Sequential(nn.BatchNorm1d(5).double(), model)
    with pytest.raises(ValueError, match=r"batch norm '0' is in training mode.*model.eval"):
        exact_hessian(normed, CROSS_ENTROPY, x, y)
    found = exact_hessian(normed.eval(), CROSS_ENTROPY, x, y, rows=10)
    torch.testing.assert_close(found, oracle(normed, CROSS_ENTROPY, x, y), rtol=0, atol=1e-12)


def test_a_small_penalty_in_single_precision_is_not_left_out():
    """The layered route sees the weights through their layers only."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 4))
    inputs, targets = 3.0 * torch.randn(100, 10), torch.randint(4, (100,))
    penalty = 5e-5

    def penalised(output, target):
        return nn.functional.cross_entropy(output, target) + penalty * sum(p.square().sum() for p in model.parameters())

    found = exact_hessian(model, penalised, inputs, targets)
    plain = exact_hessian(model, nn.functional.cross_entropy, inputs, targets)
    added = (found - plain).double().diagonal().sum().item()
    assert added == pytest.approx(2.0 * penalty * len(found), rel=1e-2)


def test_buffers_keep_a_dtype_of_their_own():
    """Times in double precision, with weights in single, differ by less than single precision resolves."""

    class Timed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)
            self.register_buffer("times", torch.tensor([1600000017.0, 1600000000.0], dtype=torch.float64))

        def forward(self, x):
            return self.layer(x * (self.times[0] - self.times[1]).to(x.dtype))

    torch.manual_seed(0)
    model, inputs, targets = Timed(), torch.randn(20, 3), torch.randint(2, (20,))
    expected = nn.functional.cross_entropy(model(inputs), targets).item()
    assert Curvature(model, nn.CrossEntropyLoss(), (inputs, targets)).loss == pytest.approx(expected, rel=1e-6)
