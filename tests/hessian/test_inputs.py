"""Models, losses and targets of many kinds: taken, against Hessians by hand, or refused by one line with the cause."""

import copy
import warnings
from typing import NamedTuple

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, weight_norm
from torch.nn.utils.rnn import pack_sequence
from torch.utils.data import DataLoader, TensorDataset

from hessian import Curvature, CurvatureError, exact_hessian, stable_rank
from hessian.loss.checked_objective import checked_objective

DRAWN = torch.Generator().manual_seed(3)
X = torch.randn(11, 4, generator=DRAWN, dtype=torch.float64)
Y = torch.randint(0, 3, (11,), generator=DRAWN)
FORCES = torch.randn(11, 5, generator=DRAWN, dtype=torch.float64)
CE = nn.CrossEntropyLoss()


def network(last=3, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, last)).double()


def by_hand(model, loss):
    """The Hessian of a loss by all parameters of a model, row by row."""
    parameters = list(model.parameters())
    slopes = torch.autograd.grad(loss(), parameters, create_graph=True, materialize_grads=True)
    rows = []
    for one in torch.cat([slope.flatten() for slope in slopes]):
        row = torch.autograd.grad(one, parameters, retain_graph=True, materialize_grads=True)
        rows.append(torch.cat([part.flatten() for part in row]))
    return torch.stack(rows).detach()


def dense(model, loss, data, **options):
    operator = Curvature(model, loss, data, **options)
    return operator.products(torch.eye(operator.P, dtype=torch.float64))


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10)


class Energy(nn.Module):
    """Energies and forces, which are their derivatives by the inputs."""

    def __init__(self, way):
        super().__init__()
        self.net, self.way = network(1), way

    def forward(self, x):
        if self.way == "func":
            return torch.cat([self.net(x), torch.func.vmap(torch.func.grad(lambda z: self.net(z).sum()))(x)], dim=1)
        if self.way == "func.jvp":
            slope = torch.func.jvp(self.net, (x,), (torch.ones_like(x),))[1]
            return torch.cat([self.net(x), slope, slope, slope, slope], dim=1)
        x = {"marked": x.requires_grad_, "detached": x.detach().requires_grad_, "enabled": lambda: x}[self.way]()
        with torch.enable_grad():
            x = x.detach().requires_grad_() if self.way == "enabled" else x
            energy = self.net(x)
            (force,) = torch.autograd.grad(energy.sum(), x, create_graph=True)
        return torch.cat([energy, force], dim=1)


@pytest.mark.parametrize("way", ["marked", "detached", "enabled", "func", "func.jvp"])
@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton"])
def test_models_that_differentiate_by_their_inputs(way, matrix):
    model, loss = Energy(way), nn.MSELoss()
    expected = by_hand(model, lambda: loss(model(X.clone()), FORCES))
    parts = [(X[:4], FORCES[:4]), (X[4:], FORCES[4:])]
    if matrix == "hessian":
        close(dense(model, loss, (X, FORCES)), expected)
        close(dense(model, loss, parts), expected)
        close(exact_hessian(model, loss, X, FORCES), expected)
    else:
        assert stable_rank(model, loss, parts, matrix=matrix).value > 1.0
    assert not X.requires_grad


def test_data_that_require_gradients_are_differentiated_by():
    class Slopes(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = network(1)

        def forward(self, x):
            return torch.autograd.grad(self.net(x).sum(), x, create_graph=True)[0]

    model, x = Slopes(), X.clone().requires_grad_()
    expected = by_hand(model, lambda: model(x).square().mean())
    expected_names = [name for name, _ in model.named_parameters()]
    found = Curvature(model, lambda output, target: output.square().mean(), (x, None))
    assert list(found.names) == expected_names
    close(found.products(torch.eye(found.P, dtype=torch.float64)), expected)


def test_penalties_on_gradients():
    model = network()

    def by_weights(output, target):
        value = functional.cross_entropy(output, target)
        slopes = torch.autograd.grad(value, list(model.parameters()), create_graph=True)
        return value + 0.1 * sum(slope.square().sum() for slope in slopes)

    close(dense(model, by_weights, (X, Y)), by_hand(model, lambda: by_weights(model(X), Y)))

    class WithInputs(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = network()

        def forward(self, x):
            x = x.clone().requires_grad_()
            return self.net(x), x

    def by_inputs(output, target):
        output, x = output
        (slope,) = torch.autograd.grad(functional.cross_entropy(output, target, reduction="sum"), x, create_graph=True)
        return functional.cross_entropy(output, target) + 0.1 * slope.square().sum(dim=1).mean()

    both = WithInputs()
    expected = by_hand(both, lambda: by_inputs(both(X), Y))
    close(dense(both, by_inputs, (X, Y)), expected)
    close(dense(both, by_inputs, [(X[:3], Y[:3]), (X[3:], Y[3:])]), expected)


TARGETS = {
    "a mapping": ({"y": Y}, lambda target: target["y"]),
    "a tuple": ((Y, Y.double()), lambda target: target[0]),
    "a list": ([Y, Y.double()], lambda target: target[0]),
    "nested": ({"y": (Y, [Y])}, lambda target: target["y"][1][0]),
}


def rows_of(targets, part):
    if isinstance(targets, dict):
        return {name: rows_of(value, part) for name, value in targets.items()}
    return targets[part] if isinstance(targets, torch.Tensor) else type(targets)(rows_of(one, part) for one in targets)


@pytest.mark.parametrize("kind", TARGETS)
def test_targets_that_are_not_one_tensor(kind):
    targets, picked = TARGETS[kind]
    model = network()
    expected = by_hand(model, lambda: CE(model(X), Y))

    def loss(output, target):
        return functional.cross_entropy(output, picked(target))

    close(dense(model, loss, (X, targets)), expected)
    parts = [(X[part], rows_of(targets, part)) for part in (slice(4), slice(4, None))]
    close(dense(model, loss, parts), expected)


@pytest.mark.parametrize(
    "data",
    [
        (X, None),
        (X,),
        [X],
        [(X[:4], None), (X[4:], None)],
        [(X[:4],), (X[4:],)],
        DataLoader(TensorDataset(X), batch_size=4),
    ],
    ids=["none", "one", "list", "batches", "batches of one", "loader"],
)
def test_inputs_without_targets(data):
    model = network()
    expected = by_hand(model, lambda: model(X).square().mean())
    close(dense(model, lambda output, target: output.square().mean(), data), expected)


def test_pairs_of_batches_are_not_taken_for_inputs_and_targets():
    model = network()
    expected = by_hand(model, lambda: CE(model(X), Y))
    for batches in (((X[:4], Y[:4]), (X[4:], Y[4:])), [[X[:4], Y[:4]], [X[4:], Y[4:]]], [(X, Y)]):
        close(dense(model, CE, batches), expected)


def dual(model):
    class Dual(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = model

        def forward(self, x, weight=1.0):
            return self.net(x) * weight

    return Dual()


def test_mappings_as_inputs_have_targets_of_any_kind():
    model = dual(network())
    expected = by_hand(model, lambda: CE(model(X), Y))
    close(dense(model, CE, ({"x": X}, Y)), expected)
    close(dense(model, lambda output, target: CE(output, target["y"]), ({"x": X}, {"y": Y})), expected)


REFUSED = {
    "a tensor": (X, r"got a tensor of shape \(11, 4\).*\(inputs, None\)"),
    "three": ((X, Y, Y), r"got a tuple of 3 .*several targets \(inputs, \(s, t\)\)"),
    "a loader of three": (DataLoader(TensorDataset(X, Y, Y), batch_size=4), r"item 1 is not a batch but a list of 3"),
    "arrays": ((X.numpy(), Y.numpy()), r"item 1 is not a batch but ndarray \(torch.from_numpy"),
    "images": ((list(X), Y), r"list of 11 tensors, one for each sample, .*torch.stack"),
    "images and boxes": ((list(X), [{"y": y} for y in Y]), r"list of 11 tensors, one for each sample, .*torch.stack"),
    "no targets": ((X, None), r"the targets of batch 1 are None, which the loss cannot take"),
    "labels too large": (
        (X, Y + 5),
        r"failed: IndexError .*the labels run from 5 to 7, and 3 outputs are for labels 0",
    ),
    "labels below": ([(X, Y), (X, Y - 9)], r"batch 2 failed: IndexError .*the labels run from -9 to -7"),
    "whole numbers": ((X.long(), Y), r"failed: RuntimeError .*the inputs are int64"),
    "no samples": ([(X, Y), (X[:0], Y[:0])], "a batch has no samples"),
    "an empty loader": (DataLoader(TensorDataset(X[:0], Y[:0]), batch_size=3), "the data are empty: no batch"),
    "a dropped batch": (DataLoader(TensorDataset(X, Y), batch_size=50, drop_last=True), "drop_last=True leaves"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_taken_is_named(kind):
    data, said = REFUSED[kind]
    with pytest.raises(CurvatureError, match=said):
        Curvature(network(), CE, data)


def test_labels_out_of_range_are_one_line_everywhere():
    for measure in (lambda: exact_hessian(network(), CE, X, Y + 5), lambda: stable_rank(network(), CE, (X, Y + 5))):
        with pytest.raises(CurvatureError, match="the labels run from 5 to 7, and 3 outputs are for labels 0 to 2"):
            measure()
    places = torch.full((4, 5), 7)  # labels of 5 places, of which each has 3 outputs
    with pytest.raises(CurvatureError, match="the labels run from 7 to 7, and 3 outputs are for labels 0 to 2"):
        Curvature(nn.Conv1d(2, 3, 1), CE, (torch.ones(4, 2, 5), places))


def test_batchmean_is_a_mean_over_samples():
    model, loss = nn.Sequential(network(), nn.LogSoftmax(dim=1)), nn.KLDivLoss(reduction="batchmean")
    shares = FORCES[:, :3].softmax(dim=1)
    expected = by_hand(model, lambda: loss(model(X), shares))
    for data in ((X, shares), [(X[:3], shares[:3]), (X[3:], shares[3:])]):
        close(dense(model, loss, data, reduction="mean"), expected)
    with pytest.raises(CurvatureError, match="reduces by 'mean', but a sum was requested"):
        Curvature(model, loss, (X, shares), reduction="sum")


@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
@pytest.mark.parametrize("form", [weight_norm, parametrizations.weight_norm])
@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_is_taken_by_its_formula(form, dim):
    model = network()
    model[0] = form(model[0], dim=dim)
    names = dict(model.named_parameters())
    v = next(p for name, p in names.items() if name.endswith(("weight_v", "original1")))
    g = next(p for name, p in names.items() if name.endswith(("weight_g", "original0")))

    def plain():
        norm = v.norm() if dim is None else v.square().sum(dim=1 - dim, keepdim=True).sqrt()
        hidden = torch.tanh(functional.linear(X, g * v / norm, names["0.bias"]))
        return CE(model[2](hidden), Y)

    expected = by_hand(model, plain)
    close(dense(model, CE, (X, Y)), expected)
    close(exact_hessian(model, CE, X, Y), expected)


def test_parts_of_other_types_are_named():
    model = network()
    model[0].float()
    with pytest.raises(CurvatureError, match=r"several dtypes .*model\.float\(\) or model\.double\(\)"):
        Curvature(model, CE, (X, Y))
    model[0].requires_grad_(False)
    with pytest.raises(
        CurvatureError, match=r"0\.weight is torch\.float32, but the parameters, and so the data, are torch\.float64"
    ):
        Curvature(model, CE, (X, Y))


@pytest.mark.parametrize("power", ["norm", "root", "power"])
def test_second_derivatives_that_are_infinite_at_zero_are_named(power):
    model = network()
    nn.init.zeros_(model[0].bias)

    def loss(output, target):
        bias = model[0].bias
        size = {"norm": bias.norm, "root": bias.square().sum().sqrt, "power": lambda: bias.abs().pow(1.5).sum()}[
            power
        ]()
        return CE(output, target) + 0.1 * size

    for measure in (lambda: stable_rank(model, loss, (X, Y)), lambda: exact_hessian(model, loss, X, Y)):
        with pytest.raises(CurvatureError, match=r"second derivatives in 0\.bias are not finite on batch 1.*at zero"):
            measure()
    away = copy.deepcopy(model)
    nn.init.ones_(away[0].bias)
    assert stable_rank(away, lambda output, target: CE(output, target) + 0.1 * away[0].bias.norm(), (X, Y)).value > 1.0


def size_of_output(output, target):
    return output.square().mean()


def test_two_batches_without_targets_that_are_read_as_one_are_warned_of():
    model = network(4)
    second = X.flip(0)[:7]
    with pytest.warns(UserWarning, match=r"the loss does not read the second: .*\[\(first, None\), \(second, None\)\]"):
        read = Curvature(model, size_of_output, [X, X.flip(0)])
    assert read.samples == 11
    both = torch.cat([X, second])
    found = dense(model, size_of_output, [(X, None), (second, None)])
    torch.testing.assert_close(found, by_hand(model, lambda: size_of_output(model(both), None)))


@pytest.mark.parametrize(
    ("loss", "data", "last"),
    [
        (nn.MSELoss(), [X, X.flip(0)], 4),
        (size_of_output, (X, X.flip(0)), 4),
        (size_of_output, [X, Y], 3),
        (size_of_output, [X, X[:, :3]], 3),
        (size_of_output, [(X, None), (X, None)], 3),
    ],
    ids=["targets are read", "a pair", "labels", "other targets", "batches"],
)
def test_no_other_data_are_warned_of(loss, data, last):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Curvature(network(last), loss, data)


class Fields(NamedTuple):
    rows: torch.Tensor
    scale: torch.Tensor


class Whole(nn.Module):
    """Takes a named tuple as one argument."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3).double()

    def forward(self, fields, factor=1.0):
        return torch.tanh(self.net(fields.rows)) * fields.scale * factor


class ByName(Whole):
    """Takes each field as an argument."""

    def forward(self, rows, scale):
        return super().forward(Fields(rows, scale))


@pytest.mark.parametrize("kind", [Whole, ByName])
def test_named_inputs_come_whole_where_the_model_takes_them_whole(kind):
    generator = torch.Generator().manual_seed(2)
    rows, scale = (torch.randn(11, width, generator=generator, dtype=torch.float64) for width in (4, 3))
    labels = torch.randint(3, (11,), generator=generator)
    model = kind()
    by_hand = torch.nn.functional.cross_entropy(torch.tanh(model.net(rows)) * scale, labels)
    for data in (
        (Fields(rows, scale), labels),
        [(Fields(rows[:4], scale[:4]), labels[:4]), (Fields(rows[4:], scale[4:]), labels[4:])],
    ):
        operator = Curvature(model, nn.CrossEntropyLoss(), data)
        assert operator.loss == pytest.approx(float(by_hand.detach()), rel=1e-12)
        assert (operator @ torch.ones(operator.P, dtype=torch.float64)).isfinite().all()


def test_packed_sequences_are_refused_with_what_to_give():
    packed = pack_sequence([torch.ones(n, 2) for n in (5, 4, 4, 2)])
    labels = torch.tensor([0, 1, 1, 0])
    for data in ((packed, labels), [(packed, labels), (packed, labels)], {"x": packed, "y": labels}):
        with pytest.raises(CurvatureError, match=r"hold a PackedSequence.*\(\(padded, lengths\), targets\)"):
            Curvature(nn.Linear(2, 2), nn.CrossEntropyLoss(), data)


class Tokens(nn.Module):
    """Embeds tokens, and multiplies by a tensor that `double` does not reach."""

    def __init__(self):
        super().__init__()
        self.embed, self.mix = nn.Embedding(9, 4), torch.eye(4)

    def forward(self, tokens):
        return self.embed(tokens).mean(1) @ self.mix


def test_the_tensor_of_another_type_is_named_and_not_the_tokens():
    tokens, labels = torch.arange(20).reshape(5, 4) % 9, torch.arange(5) % 4
    with pytest.raises(CurvatureError, match=r"mix is torch\.float32.*register_buffer\('mix', \.\.\.\)") as found:
        Curvature(Tokens().double(), nn.CrossEntropyLoss(), (tokens, labels))
    assert "x.float()" not in str(found.value)
    with pytest.raises(CurvatureError, match=r"the inputs are int64.*x\.float\(\)"):
        Curvature(nn.Linear(4, 4), nn.CrossEntropyLoss(), (tokens, labels))


def test_a_loss_that_reads_what_a_worker_lacks_is_named():
    state = {"scale": 1.0}
    data = [(torch.linspace(-1.0, 2.0, 4 * n).reshape(n, 4).sin(), torch.arange(n) % 3) for n in (5, 8)]
    loss = lambda output, labels: state["scale"] * nn.functional.cross_entropy(output, labels)  # noqa: E731
    share = checked_objective(nn.Linear(4, 3), loss, data).share(range(2, 3), torch.device("cpu"))
    state["scale"] = 2.0
    with pytest.raises(CurvatureError, match=r"batch 2 has loss .* in this process and .* in a worker.*global"):
        share.batch_loss(data[1], 2)


def test_assertions_of_a_model_are_one_line():
    class Strict(nn.Linear):
        """Takes three rows."""

        def forward(self, x):
            assert len(x) == 3, "three rows only"
            return super().forward(x)

    with pytest.raises(CurvatureError, match=r"AssertionError.*three rows only"):
        Curvature(Strict(4, 3), nn.CrossEntropyLoss(), (torch.ones(5, 4), torch.arange(5) % 3))
