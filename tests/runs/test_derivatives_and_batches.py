"""Networks and losses that take derivatives are trained, and what depends on how data are cut into batches is not."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import FederationError
from algorithms.fedlora import FedLoRA
from algorithms.rounds import rounds
from runs.network_problem import network_problem

CLIENTS = [range(5), range(5, 12)]


def data(seed=0, samples=12, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(samples, 3, generator=generator, dtype=dtype), torch.arange(samples) % 2


def layers(seed=0, outputs=2, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, outputs)).to(dtype)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=dtype))
    return module


class Forces(nn.Module):
    """Energies and the forces that belong to them, which are derivatives by the inputs."""

    def __init__(self):
        super().__init__()
        self.inner = layers(outputs=1)

    def forward(self, x):
        x = x.requires_grad_()
        energy = self.inner(x)
        (slope,) = torch.autograd.grad(energy.sum(), x, create_graph=True)
        return torch.cat([energy, -slope], dim=1)


class ForcesByFunction(Forces):
    def forward(self, x):
        slope = torch.func.vmap(torch.func.grad(lambda one: self.inner(one).sum()))(x)
        return torch.cat([self.inner(x), -slope], dim=1)


class Jacobians(Forces):
    def forward(self, x):
        slope = torch.func.vmap(torch.func.jacrev(lambda one: self.inner(one)))(x)
        return torch.cat([self.inner(x), -slope[:, 0]], dim=1)


def by_hand(module, x, y, rate, steps):
    """Federated averaging of two clients, one full batch after the other."""
    start = {name: value.detach().clone() for name, value in module.named_parameters()}
    for _ in range(2):
        sums = {name: torch.zeros_like(value) for name, value in start.items()}
        for part in CLIENTS:
            module.load_state_dict(start)
            for _ in range(steps):
                loss = nn.functional.mse_loss(module(x[list(part)].clone()), y[list(part)])
                slopes = torch.autograd.grad(loss, list(module.parameters()))
                with torch.no_grad():
                    for parameter, slope in zip(module.parameters(), slopes, strict=True):
                        parameter -= rate * slope
            for name, value in module.named_parameters():
                sums[name] += len(part) / 12 * value.detach()
        start = sums
    module.load_state_dict(start)
    return float(nn.functional.mse_loss(module(x.clone()), y).detach())


@pytest.mark.parametrize("kind", [Forces, ForcesByFunction, Jacobians])
@pytest.mark.parametrize("rows", [3, 100])
def test_networks_that_differentiate_by_their_inputs_are_trained(kind, rows):
    (x, _), targets = data(), torch.randn(12, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    made = network_problem(kind(), (x, targets), CLIENTS, (x, targets), loss=nn.functional.mse_loss, eval_batch=rows)
    last = list(rounds(FedAvg(Descent(3, 0.02)), made, rounds=2))[-1].metrics
    assert last["loss"] == pytest.approx(by_hand(Forces(), x, targets, 0.02, 3), rel=1e-10)
    factors = list(rounds(FedLoRA(Descent(3, 0.02), Adapter(1, layers="inner.0, inner.2")), made, rounds=2))
    assert factors[-1].metrics["loss"] < factors[0].metrics["loss"]


class InnerStep(nn.Module):
    """A network that takes a step of its own along the slopes of its first layer, which has weight norm."""

    def __init__(self, first, last):
        super().__init__()
        self.first, self.last = first, last
        self.at = torch.tensor([[0.5, -1.0, 0.25]], dtype=torch.float64)

    def forward(self, x):
        own = dict(self.first.named_parameters())
        inner = self.last(torch.tanh(self.first(self.at))).square().sum()
        slopes = torch.autograd.grad(inner, list(own.values()), create_graph=True)
        moved = {name: p - 0.1 * slope for (name, p), slope in zip(own.items(), slopes, strict=True)}
        return self.last(torch.tanh(torch.func.functional_call(self.first, moved, (x,))))


class ByFormula(nn.Linear):
    """A layer with weight norm, written out; `over` is the dimension that the norms are over."""

    def __init__(self, weight, bias, over=1):
        super().__init__(*weight.shape[::-1], dtype=weight.dtype)
        self.weight = nn.Parameter(weight.detach().clone())
        self.bias = nn.Parameter(bias.detach().clone())
        self.over = over
        self.norms = nn.Parameter(weight.detach().square().sum(over, keepdim=True).sqrt())

    def forward(self, x):
        weight = self.norms * self.weight / self.weight.square().sum(self.over, keepdim=True).sqrt()
        return nn.functional.linear(x, weight, self.bias)


@pytest.mark.parametrize("dim", [0, 1])
def test_second_derivatives_of_weight_norm_are_those_of_its_formula(dim):
    (x, _), targets = data(), torch.randn(12, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    first, _, last = layers()
    written = InnerStep(ByFormula(first.weight, first.bias, 1 - dim), copy.deepcopy(last))
    network = InnerStep(nn.utils.parametrizations.weight_norm(first, dim=dim), last)
    made = network_problem(network, (x, targets), CLIENTS, (x, targets), loss=nn.functional.mse_loss)
    found = list(rounds(FedAvg(Descent(3, 0.02)), made, rounds=2))[-1].metrics
    assert found["loss"] == pytest.approx(by_hand(written, x, targets, 0.02, 3), rel=1e-10)


def penalised(outputs, targets):
    """Cross entropy, and the mean square of its gradient by the outputs, sample by sample."""
    each = nn.functional.cross_entropy(outputs, targets, reduction="none")
    (slope,) = torch.autograd.grad(each.sum(), outputs, create_graph=True)
    return (each + slope.square().sum(dim=1)).mean()


def penalised_by_hand(outputs, targets):
    each = nn.functional.cross_entropy(outputs, targets, reduction="none")
    slope = outputs.softmax(1) - nn.functional.one_hot(targets, outputs.shape[1])
    return (each + slope.square().sum(dim=1)).mean()


def test_penalties_on_gradients_in_the_loss_are_trained():
    found = []
    for loss in (penalised, penalised_by_hand):
        made = network_problem(layers(), data(), CLIENTS, data(1), loss=loss)
        found.append(list(rounds(FedAvg(Descent(3, 0.1)), made, rounds=2))[-1].metrics["loss"])
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    with pytest.raises(FederationError, match="the loss of a batch must be the mean of its samples' losses"):
        network_problem(layers(), data(), CLIENTS, data(1), loss=lambda out, y: 12 * penalised(out, y) / len(y))


class Coupled(nn.Module):
    """Outputs of a sample that depend on the others, in a mode or after some training alone."""

    def __init__(self, couple, mode=None, norm=False):
        super().__init__()
        self.inner, self.couple, self.mode = layers(), couple, mode
        self.amount = nn.Parameter(torch.zeros((), dtype=torch.float64))
        self.norm = nn.BatchNorm1d(2, dtype=torch.float64) if norm else nn.Identity()

    def forward(self, x):
        outputs = self.norm(self.inner(x))
        return outputs if self.mode not in (None, self.training) else self.couple(self, outputs)


COUPLINGS = {
    "less the mean": lambda module, out: out - 3 * out.mean(dim=0),
    "over the largest": lambda module, out: out / out.abs().max(),
    "the neighbour": lambda module, out: out + 0.1 * out.roll(1, 0),
    "size of the batch": lambda module, out: out / len(out),
    "place in the batch": lambda module, out: out + torch.arange(len(out))[:, None],
    "attention": lambda module, out: (out @ out.T).softmax(1) @ out,
    "later": lambda module, out: out + module.amount * out.mean(dim=0),
}


@pytest.mark.parametrize("couple", COUPLINGS)
@pytest.mark.parametrize(("mode", "word"), [(None, "evaluation"), (False, "evaluation"), (True, "training")])
@pytest.mark.parametrize("norm", [None, "averaged", "batch"])
def test_networks_whose_outputs_depend_on_the_batch_are_refused(couple, mode, word, norm):
    module = Coupled(COUPLINGS[couple], mode, norm is not None)
    with pytest.raises(FederationError, match=f"in {word} mode depends on the other samples in its batch"):
        network_problem(module, data(), CLIENTS, data(1), statistics=norm or "averaged")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("norm", [nn.BatchNorm1d, nn.LayerNorm, nn.Identity])
def test_networks_of_one_sample_at_a_time_are_taken_and_rows_change_no_loss(dtype, norm):
    x, y = data(dtype=dtype)
    found = []
    for rows in (2, 1000):
        module = nn.Sequential(layers(dtype=dtype), norm(2).to(dtype), nn.Dropout(0.1))
        made = network_problem(module, (x, y), CLIENTS, (x, y), eval_batch=rows)
        found.append(made.evaluate(made.start)["loss"])
    assert found[0] == pytest.approx(found[1], rel=1e-12 if dtype == torch.float64 else 1e-2)


class Rooted(nn.Module):
    def __init__(self, root):
        super().__init__()
        self.inner, self.root = layers(), root
        nn.init.zeros_(self.inner[2].weight)
        nn.init.zeros_(self.inner[2].bias)

    def forward(self, x):
        return self.root(self.inner(x))


@pytest.mark.parametrize("root", [lambda out: out.abs().sqrt(), lambda out: out.square().sum(1, keepdim=True).sqrt()])
def test_gradients_that_are_not_finite_at_the_start_are_named(root):
    x, y = data()
    with pytest.raises(
        FederationError,
        match=r"gradient in inner\.\d\.\w+ is not finite, which happens if a "
        r"root, a norm",
    ):
        network_problem(Rooted(root), (x, y.double()[:, None]), CLIENTS, (x, y.double()[:, None]), loss=square)


def square(outputs, targets):
    return (outputs - targets).square().mean()


def test_weights_that_are_not_finite_are_named_before_the_first_step():
    for name, value in (("0.weight", float("nan")), ("2.bias", float("inf"))):
        module = layers()
        with torch.no_grad():
            module.get_parameter(name).view(-1)[-1] = value
        with pytest.raises(FederationError, match=f"{name} of the network has entries that are not finite before the"):
            network_problem(module, data(), CLIENTS, data(1))
    module = nn.Sequential(nn.BatchNorm1d(3, dtype=torch.float64), layers())
    module[0].running_var[1] = float("nan")
    with pytest.raises(FederationError, match=r"0\.running_var of the network has entries that are not finite"):
        network_problem(module, data(), CLIENTS, data(1))


def test_mixed_types_are_named():
    x, y = data()
    with pytest.raises(FederationError, match="the inputs are float64 and the network's weights float32: convert one"):
        network_problem(layers(dtype=torch.float32), (x, y), CLIENTS, (x, y))
    pair = x.float(), torch.zeros(12, 2, dtype=torch.float64)
    made = network_problem(layers(dtype=torch.float32), pair, CLIENTS, pair, loss=nn.functional.mse_loss)
    assert list(rounds(FedAvg(Descent(1, 0.1)), made, rounds=1))[-1].metrics["loss"] > 0  # torch takes these


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda x, y: (x, {"boxes": y}),
            "got Tensor and dict; of the targets: concatenate its tensors into one, and split it in the loss",
        ),
        (lambda x, y: (x, (y, y)), "got Tensor and tuple; of the targets: concatenate its tensors into one"),
        (
            lambda x, y: (x, None),
            "got Tensor and NoneType; of the targets: a loss without targets can be given the inputs, or zeros",
        ),
        (lambda x, y: (x,), "must be inputs and targets, two tensors, got a tuple of 1"),
        (lambda x, y: (x, y.sum()), "of the targets: stack them into one tensor with a row each"),
        (lambda x, y: (x.numpy(), y), "got ndarray and Tensor; of the inputs: stack them into one"),
        (
            lambda x, y: ([*x[:-1], x[-1, :2]], y),
            r"inputs differ in shape or type: 0 is float64 \(3,\), 11 is float64 \(2,",
        ),
        (lambda x, y: {"x": x, "y": y}, "must be inputs and targets, two tensors, got dict"),
    ],
)
def test_data_that_are_no_two_tensors_are_named_exactly(change, message):
    with pytest.raises(FederationError, match=f"the training .*{message}"):
        network_problem(layers(), change(*data()), CLIENTS, data(1))


def test_lists_of_samples_are_one_tensor():
    x, y = data()
    made = [network_problem(layers(), pair, CLIENTS, data(1)) for pair in ((x, y), ([*x], [*y]))]
    losses = [list(rounds(FedAvg(Descent(2, 0.1)), one, rounds=2))[-1].metrics["loss"] for one in made]
    assert losses[0] == losses[1]


def test_labels_out_of_range_are_named_for_outputs_of_any_shape():
    x = torch.randn(12, 3, 2, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = torch.zeros(12, 2, 2, dtype=torch.long)
    y[7, 0, 1] = 4
    with pytest.raises(FederationError, match=r"sample 7 of the training data has label 4, .* labels 0 to 3"):
        network_problem(nn.Conv2d(3, 4, 1, dtype=torch.float64), (x, y), CLIENTS, (x, y))


def test_a_client_without_samples_is_named():
    made = network_problem(layers(), data(), [range(5), np.arange(0)], data(1))
    with pytest.raises(FederationError, match="client 1 has no data; leave it out"):
        list(rounds(FedAvg(Descent(1, 0.1)), made, rounds=1))
