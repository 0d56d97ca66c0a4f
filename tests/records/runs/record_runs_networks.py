"""Records of networks in a federation: losses, batches, tests, checks of networks and data, and what is refused."""

from functools import partial

import numpy as np
import torch
from recording import refused
from torch import nn

from algorithms.descent import gradient
from algorithms.tree import Tree
from runs.network_problem import NetworkClients, NetworkProblem, indices_of, network_problem, require_once
from runs.networks.curvatures import SERVER, curvatures, samples_of
from runs.networks.dependence import depends_on
from runs.networks.network_checks import (
    check_split,
    is_alike,
    is_of_classes,
    require_learnable,
    require_no_other_state,
    require_separate,
)
from runs.networks.network_function import Batch, Labelled, are_classes, count_parts, network_of, seeded_draws
from runs.networks.plain_weight_norm import without_fused_weight_norm
from runs.networks.shared_memory import tied_names
from runs.networks.turned_layer import turn_layers
from workloads.data.augmentation import Preparation
from workloads.partition import Parts

DOUBLE = torch.float64


def _numbers(*shape, step=0.37):
    count = torch.Size(shape).numel()
    return torch.sin(torch.arange(1.0, 1.0 + count, dtype=DOUBLE) * step).reshape(shape)


def _filled(module):
    with torch.no_grad():
        for place, parameter in enumerate(module.parameters(), start=1):
            parameter.copy_(0.5 * _numbers(*parameter.shape, step=0.4 + place))
    return module.to(DOUBLE)


def _perceptron():
    return _filled(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 3)).to(DOUBLE))


def _normed(**options):
    return _filled(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, **options), nn.Linear(3, 3)).to(DOUBLE))


X, Y = _numbers(9, 4), torch.arange(9) % 3
TEST = (_numbers(5, 4, step=0.9), torch.arange(5) % 3)
PARTS = [[0, 1, 2, 3], [5, 4], [8]]


def _problem(module=None, parts=PARTS, train=(X, Y), test=TEST, **options):
    return network_problem(module or _perceptron(), train, [np.array(part) for part in parts], test, **options)


def _made(module=None, parts=PARTS, train=(X, Y), test=TEST, rows=1000, loss=nn.functional.cross_entropy, **options):
    """Return a problem as `network_problem` does, without its checks, which take longer."""
    options = {"preparation": None, "statistics": "averaged", **options}
    own, further = options.pop("own", None), options.pop("validation", None)
    network, start = network_of(module or _perceptron(), loss, **options)
    splits = {"test": Labelled(*test), **({} if further is None else {"validation": Labelled(*further)})}
    clients = NetworkClients(network, Labelled(*train), Parts.join(map(np.array, parts)), rows)
    return NetworkProblem("made", clients, start, splits, None if own is None else Parts.join(map(np.array, own)), rows)


def a_problem_that_is_checked():
    made = _problem(eval_batch=2, validation=(X[:2], Y[:2]), own=[np.array([6]), np.array([7]), np.array([6, 7])])
    yield made.evaluate(made.start), made.rows, made.own.sizes, made.name, made.given, made.clients.rows


def a_problem_and_its_numbers():
    for made in (
        _made(),
        _made(rows=2, validation=(X[:2], Y[:2]), own=[[6], [7], [7, 1]]),
        _made(loss=nn.functional.mse_loss, train=(X, _numbers(9, 3)), test=(X[:2], _numbers(2, 3))),
        _made(_normed(), parts=[[0, 1, 2], [3, 4]], rows=3),
        _made(_normed(), parts=[[0, 1, 2], [3, 4]], rows=3, statistics="batch"),
    ):
        yield made.evaluate(made.start), made.evaluate_personal(lambda number: made.start)  # noqa: B023
        yield [*made.start], len(made.clients), list(made.clients.sizes), made.shares, made.width_of(3), made.name
        yield (
            made.of_width(3) is made,
            made.clients.pooled().indices,
            made.clients[0].random,
            made.clients[0].statistics,
        )
        for client in (made.clients[0], made.clients[1]):
            yield client.loss(made.start), gradient(client, made.start).square(), client.samples
            passes = [client.passes(together) for together in (True, False)]
            yield [[(share, part) for share, part in one] for one in passes]


def losses_of_batches():
    made = _made()
    client = made.clients[0]
    yield client.loss(made.start, torch.tensor([1, 3])), client.loss(made.start, Batch(torch.tensor([1, 3])))
    rng = np.random.default_rng(0)
    yield client.batches(rng, [torch.tensor([0, 1]), torch.tensor([2])]), rng.integers(100)
    with client.bind_weights(made.start) as loss:
        yield loss(Batch(torch.tensor([1, 3])))
    yield client.with_tensors({"indices": torch.tensor([4])}).loss(made.start), client.tensors()


def running_statistics():
    for options in ({}, {"momentum": 0.5}, {"affine": False}, {"track_running_stats": False}):
        made = _made(_normed(**options), parts=[[0, 1, 2], [3, 4]])
        value, statistics = made.clients[0].loss_and_statistics(made.start)
        network = made.clients.network
        yield (
            value,
            dict(sorted(statistics.items())),
            network.joint,
            network.joint_in_tests,
            sorted(network.statistics),
            network.random,
        )
    yield refused(_made, _normed(momentum=None)), refused(_made, _normed(), statistics="mean")
    yield refused(_made(_normed(), parts=[[0, 1, 2], [3]]).clients[1].loss, made.start)


def noise_of_drop_out():
    made = _made(nn.Sequential(nn.Dropout(0.5), _perceptron()))
    client, rng = made.clients[0], np.random.default_rng(3)
    batches = client.batches(rng, [torch.tensor([0, 1]), torch.tensor([2])])
    yield client.random, [batch.noise for batch in batches], made.clients.network.joint
    yield [client.loss(made.start, batch).item() != client.loss(made.start, batch.samples).item() for batch in batches]
    yield client.loss(made.start, batches[0]) == client.loss(made.start, batches[0]), client.loss(made.start)
    with seeded_draws(5, torch.device("cpu")):
        one = torch.rand(2)
    with seeded_draws(6, torch.device("cpu")):
        yield one, torch.rand(2)


def images_are_prepared():
    x = _numbers(9, 1, 4, 4)
    module = _filled(nn.Sequential(nn.Flatten(), nn.Linear(16, 3)).to(DOUBLE))
    for preparation in (Preparation(1, True, (0.5,), (0.25,)), Preparation(0, False, (0.5,), (0.25,))):
        made = _made(module, train=(x, Y), test=(x[:3], Y[:3]), preparation=preparation)
        client, rng = made.clients[0], np.random.default_rng(1)
        batches = client.batches(rng, [torch.tensor([0, 1]), torch.tensor([3])])
        yield made.evaluate(made.start), client.random, batches, [client.loss(made.start, one) for one in batches]


def tests_in_parts():
    made = _made()
    for rows in (1, 2, 4, 5, 100):
        yield made.clients.network.test(made.start, made.splits["test"], rows)
    yield [[count_parts(count, rows, least) for count in (1, 4, 5)] for rows in (1, 2, 3) for least in (1, 2)]
    normed = _made(_normed(), parts=[[0, 1, 2], [3, 4]], statistics="batch")
    yield [normed.clients.network.test(normed.start, normed.splits["test"], rows) for rows in (2, 3, 5)]
    yield refused(normed.clients.network.test, normed.start, Labelled(X[:1], Y[:1]), 5)


def accuracies():
    smooth = {"loss": nn.functional.mse_loss, "train": (X, _numbers(9, 3)), "test": (X[:2], _numbers(2, 3))}
    ones = partial(nn.functional.multi_margin_loss, p=2)
    for options in (
        {},
        {"accuracy": False},
        {"loss": ones},
        {**smooth, "accuracy": False},
        {**smooth, "accuracy": True},
    ):
        made = _made(**options)
        yield made.evaluate(made.start)
    one = _filled(nn.Sequential(nn.Linear(4, 1)).to(DOUBLE))
    yield _made(one, loss=lambda outputs, y: outputs.square().mean()).evaluate(_made(one).start)
    yield [
        is_of_classes(loss)
        for loss in (nn.CrossEntropyLoss(), nn.NLLLoss(), nn.MSELoss(), nn.functional.nll_loss, ones)
    ]
    yield [are_classes(y) for y in (Y, Y.double(), Y[:, None])]


def partitions_that_are_refused():
    data = Labelled(X, Y)
    for parts in ([[0, 1], [1, 2]], [[0, 0]], [[9]], [[8]], [[-1]], [[0.5]], [[]], [], [[0], []], [["a"]], 3):
        made = refused(indices_of, "the samples", parts, data)
        yield made if isinstance(made, str) else [list(made.sizes), made.order]
        yield made if isinstance(made, str) else refused(require_once, made, None)
    trained = Parts.join([[0, 1], [5]])
    for own in ([[6], [7]], [[6], [6]], [[6, 6], [7]], [[6], [7, 7]], [[6], [5]], [[1, 6], [7]], [[6, 0], [7]]):
        yield refused(require_once, trained, Parts.join(map(np.array, own)))
    yield [refused(_problem, own=[np.array(part) for part in own]) for own in ([[6], [7]], [[6], [], [7]])]


def data_that_are_refused():
    sparse, nan = X.to_sparse(), X.clone()
    nan[4, 2] = float("nan")
    for data in (
        None,
        X,
        (X,),
        (X, Y, Y),
        "xy",
        (X, Y[:8]),
        (X[:0], Y[:0]),
        (nan, Y),
        (X, nan[:, 2]),
        (sparse, Y),
        (X, None),
        ({"a": X}, Y),
        ((X, X), Y),
        (X.numpy(), Y),
        (X, torch.tensor(1.0)),
        (list(X), list(Y)),
        ([X[0], X[1, :2]], Y[:2]),
        ([X[0], X[1].float()], Y[:2]),
        (X.to(torch.float8_e4m3fn), Y),
    ):
        found = refused(check_split, "training", data)
        yield found if isinstance(found, str) else [one.shape for one in found]


class _Function(nn.Module):
    def __init__(self, function, inner=None):
        super().__init__()
        self.inner, self.function, self.calls = _perceptron() if inner is None else inner, function, 0
        self.gain = nn.Parameter(torch.zeros(1, dtype=DOUBLE))
        self.register_buffer("memory", torch.zeros(1, dtype=DOUBLE))

    def forward(self, x):
        return self.function(self, x)


def _counting(module, x):
    module.calls += 1
    return module.inner(x)


def _remembering(module, x):
    module.memory += 1.0
    return module.inner(x)


def _scaled(module, x):
    module.memory = module.memory + 1.0
    return module.inner(x) * module.memory


def _sums_over_the_batch(module, x):
    return module.inner(x) + 0.01 * x.sum()


def _sums_in_training(module, x):
    return module.inner(x) + (0.01 * x.sum() if module.training else 0.0)


def _grows(module, x):
    return module.inner(x) + module.gain * x.sum()


def networks_that_depend_on_their_batch_elsewhere():
    network, start = network_of(_Function(_grows), nn.functional.cross_entropy, None, "averaged")
    return refused(require_separate, network, start, Labelled(X, Y), 4), start["gain"]


def networks_that_are_refused():
    for function in (
        lambda module, x: (module.inner(x), x),
        lambda module, x: module.inner(x)[:1],
        lambda module, x: module.inner(x).sum(),
        lambda module, x: module.inner(x.float()),
        lambda module, x: module.inner(x[:, :3]),
        lambda module, x: module.inner(x).detach(),
        lambda module, x: module.inner(x)[:, :2],
    ):
        yield refused(lambda module: _problem(module).name, _Function(function)).partition(" on cpu: ")[0]  # then torch


def networks_with_a_memory_are_refused():
    for function in (
        _counting,
        _remembering,
        _scaled,
        _sums_over_the_batch,
        _sums_in_training,
        lambda module, x: nn.functional.dropout(module.inner(x), 0.5, module.training),
        lambda module, x: module.inner(x).abs().sqrt() * (0.0 * module.inner(x).sum()).sqrt(),
    ):
        loss = nn.functional.cross_entropy
        network, start = network_of(_Function(function), loss, None, "averaged")
        data = Labelled(X, Y)
        yield (
            refused(require_learnable, network, start, data, 4),
            refused(require_no_other_state, network, start, data, 4),
        )
        yield refused(require_separate, network, start, data, 4)


def weights_that_are_refused():
    infinite, tied, complex_ = _perceptron(), _perceptron(), _perceptron()
    infinite[0].bias.data[1] = float("inf")
    tied[2].weight.data = tied[0].weight.data[:, :3]
    complex_[0].bias = nn.Parameter(torch.zeros(3, dtype=torch.complex128))
    hooked = _perceptron()
    hooked[0].weight.register_hook(lambda slope: slope)
    lazy = nn.Sequential(nn.LazyLinear(3))
    for module in (infinite, tied, complex_, hooked, lazy, _perceptron().requires_grad_(False), nn.Tanh()):
        yield refused(_problem, module)


def losses_that_are_refused():
    cross = nn.functional.cross_entropy
    for loss in (
        lambda outputs, y: cross(outputs, y, reduction="sum"),
        lambda outputs, y: cross(outputs, y, reduction="none"),
        lambda outputs, y: cross(outputs, y).sqrt(),
        lambda outputs, y: float(cross(outputs, y)),
        partial(cross, weight=torch.tensor([1.0, 2.0, 3.0], dtype=DOUBLE)),
        partial(cross, ignore_index=1),
        lambda outputs, y: 1 / 0,
    ):
        made = refused(refused, _problem, loss=loss)
        yield made if isinstance(made, str) else made.evaluate(made.start)
    for y in (Y + 1, Y - 1):
        yield refused(lambda y: _problem(train=(X, y)).name, y)
    few = torch.tensor([[0, 1], [0, -100]] * 4 + [[1, 1]])
    fewer = torch.tensor([[0, -100], [0, 1]] * 4 + [[1, 1]])
    images = _filled(nn.Sequential(nn.Linear(4, 6), nn.Unflatten(1, (3, 2))).to(DOUBLE))
    yield [refused(lambda y: _problem(images, train=(X, y), test=(X[:2], y[:2])).name, y) for y in (few, fewer)]


def differences_that_are_rounding():
    one = torch.tensor([1.0, -4.0], dtype=DOUBLE)
    for other in (one + 3.9e-6, one + 4.1e-6, -one, one[:1], one * float("inf"), one):
        yield is_alike(one, other, 1e-6), is_alike(other, one, 1e-6)
    yield is_alike(Y, Y, 0.1), is_alike(Y, Y + 1, 0.1), is_alike(one.half(), (one + 0.2).half(), 1e-6)


def dependence_on_weights():
    w, v = (torch.ones(2, requires_grad=True) for _ in range(2))
    u = torch.ones(2)
    values = ((w * v).sum(), w.sum(), w.detach().sum(), (u * v).sum(), w)
    return [[depends_on(value, weights) for weights in ([w], [v], [u], [u, w], [])] for value in values]


def memory_that_is_shared():
    room = torch.arange(12.0)
    for given in (
        {"a": room[:4], "b": room[4:8]},
        {"a": room[:5], "b": room[4:8]},
        {"c": room[8:], "a": room[:8:2], "b": room[1:8:2], "d": room[7:9]},
        {"a": room[:0], "b": room},
        {"a": room, "b": room.view(torch.int32)},
        {"a": room[:1].expand(5), "b": room[1:]},
        {"a": room[:6].view(torch.float64), "b": room[5:7]},
    ):
        yield tied_names(given)


def curvatures_of_clients():
    made = _made()
    start = Tree({name: value.clone() for name, value in made.start.items()})
    for number, operator in curvatures(made, start, (1, SERVER), double=True):
        vector = _numbers(27, step=0.7)
        yield number, (operator @ vector)[:4], samples_of(made, number)
    single = _made(_perceptron().float(), [[0, 1]], (X.float(), Y), (TEST[0].float(), TEST[1]))
    for double in ({}, {"double": False}, {"double": True}):
        ((_, operator),) = curvatures(single, single.start, (0,), **double)
        yield refused(lambda: (operator @ np.ones(27)).dtype)  # noqa: B023


class Conv1D(nn.Module):
    """A layer of GPT-2's kind, by its name."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(_numbers(4, 3)), nn.Parameter(_numbers(3))


def layers_that_are_replaced():
    module = nn.Sequential(nn.Sequential(Conv1D()), nn.Tanh())
    turn_layers(module)
    yield module(X[:2]), module[0][0].weight.shape
    normed = nn.utils.parametrizations.weight_norm(_perceptron()[0], dim=1)
    before = normed(X[:2])
    without_fused_weight_norm(normed)
    yield torch.allclose(before, normed(X[:2])), normed(X[:2]), type(normed.parametrizations.weight[0]).__name__


def networks_as_functions():
    loss = nn.functional.cross_entropy
    still = nn.Sequential(nn.Dropout(0.5).eval(), _perceptron())
    for module in (still, nn.Sequential(nn.Dropout(0.0), _perceptron()), nn.Sequential(nn.Dropout(0.5), _perceptron())):
        network, start = network_of(module, loss, None, "averaged")
        yield network.random, sorted(start), [layer.training for layer in network.training.module.modules()]
        yield [layer.training for layer in network.quiet.module.modules()], network.evaluation_weights(start) is start
    frozen = _normed()
    frozen[1].eval()
    network, start = network_of(frozen, loss, None, "averaged")
    yield network.joint, sorted(start), sorted(network.statistics)
