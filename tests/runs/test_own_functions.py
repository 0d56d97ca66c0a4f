"""Networks, data and states of a user's own: seeds reach them, changes are noticed, what does not serve is named."""

import json
import random
import sys
from functools import partial
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import FederationError
from algorithms.optimisers import Adam, AdamW, Sgd
from algorithms.rounds import rounds
from rankproof import main
from runs.network_problem import network_problem
from runs.plan import SETTINGS, make_plan, parts_of
from workloads.partition import Even
from workloads.written import RECORD

MODULE = """
import dataclasses
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils import prune

from algorithms.fedavg import FedAvg
from algorithms.tree import Tree

WIDTH, SHIFT, TEST_SHIFT, ACTIVATION, SCALE, DETACHED = 4, 0.0, 0.0, nn.ReLU, 1.0, False


class Layers(nn.Sequential):
    def forward(self, x):
        inner = self[0](x)
        return SCALE * self[2](self[1](inner.detach() if DETACHED else inner))


def network():
    return Layers(nn.Linear(6, WIDTH), ACTIVATION(), nn.Linear(WIDTH, 2))


def data():
    x = torch.randn(24, 6, generator=torch.Generator().manual_seed(0)) + SHIFT
    return (x, (x[:, 0] > 0).long()), (x + TEST_SHIFT, (x[:, 0] > 0).long())


@dataclasses.dataclass
class Held:
    w: Tree


@dataclasses.dataclass(frozen=True)
class Own(FedAvg):
    def start(self, fed, w):
        return Held(w)

    def weights(self, state):
        return state.w
"""


@pytest.fixture
def mine(monkeypatch):
    module = ModuleType("mine_of_this_test")
    exec(MODULE, module.__dict__)
    for kind in (module.Held, module.Own):
        kind.__module__ = module.__name__
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


GIVEN = {"model": "mine_of_this_test:network", "clients": 2, "batch": 4, "epochs": 1}
DATA = "mine_of_this_test:data"


def start(seed):
    return parts_of(make_plan("fedavg", DATA, {**GIVEN, "seed": seed})).problem.start


def test_the_seed_of_a_run_reaches_the_network_of_a_function(mine):
    state = torch.get_rng_state()
    weights = [start(seed)["0.weight"] for seed in (0, 0, 1)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert torch.equal(torch.get_rng_state(), state)


def run(folder, rounds, *more):
    words = [word for name, value in GIVEN.items() for word in (f"--{name}", str(value))]
    return main(["train", "fedavg", "--data", DATA, *words, "--rounds", str(rounds), "--out", str(folder), *more])


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("WIDTH", 5, "network"),
        ("ACTIVATION", nn.Tanh, "network"),
        ("SHIFT", 0.5, "data"),
        ("TEST_SHIFT", 0.5, "data"),
        ("SCALE", 1.1, "computation in the network"),
        ("DETACHED", True, "computation in the network"),
    ],
)
def test_another_network_or_other_data_do_not_go_on_with_a_run(mine, tmp_path, capsys, name, value, what):
    assert run(tmp_path / "run", 2) == 0
    stored = json.loads((tmp_path / "run" / SETTINGS).read_text())
    assert set(stored["given"]) == {"network", "data", "computation in the network"}
    before = (tmp_path / "run" / "metrics.csv").read_bytes()
    as_it_was = getattr(mine, name)
    setattr(mine, name, value)
    capsys.readouterr()
    assert run(tmp_path / "run", 3) == 2
    assert (
        f"holds a run with another {what}: the output of your function or file has changed" in capsys.readouterr().err
    )
    assert (tmp_path / "run" / "metrics.csv").read_bytes() == before
    setattr(mine, name, as_it_was)
    assert run(tmp_path / "run", 3) == 0
    assert (tmp_path / "run" / "metrics.csv").read_bytes().startswith(before)


def test_a_network_that_computes_the_same_to_rounding_goes_on_and_so_does_a_run_of_earlier_versions(mine, tmp_path):
    assert run(tmp_path / "run", 2) == 0
    path = tmp_path / "run" / SETTINGS
    content = json.loads(path.read_text())
    rounded = [float(f"{number:.5g}") for number in content["given"]["computation in the network"]]
    for given in (rounded, None):
        del content["given"]["computation in the network"]
        if given is not None:
            content["given"]["computation in the network"] = given
        path.write_text(json.dumps(content, indent=1) + "\n")
        (tmp_path / "run" / RECORD).unlink()  # as earlier versions left it
        assert run(tmp_path / "run", 3) == 0
        content = json.loads(path.read_text())


def test_other_samples_in_the_files_of_a_partition_do_not_go_on_with_a_run(mine, tmp_path, capsys):
    files = [tmp_path / "parts" / f"{client}.txt" for client in range(2)]
    files[0].parent.mkdir()
    texts = [" ".join(map(str, range(start, start + 12))) for start in (0, 12)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    more = ["--partition", "files", "--partition-folder", str(files[0].parent)]
    assert run(tmp_path / "run", 2, *more) == 0
    files[0].write_text(" ".join(reversed(texts[0].split())))  # the same samples
    assert run(tmp_path / "run", 3, *more) == 0
    files[0].write_text(texts[1])
    files[1].write_text(texts[0])
    capsys.readouterr()
    for words in ([*more], None):
        assert (
            run(tmp_path / "run", 4, *words) if words else main(["train", "--resume", str(tmp_path / "run"), "--trust"])
        ) == 2
        assert "holds a run with another partition: the output of your function or file" in capsys.readouterr().err


def test_a_state_that_cannot_be_stored_is_named_before_the_first_round(mine, tmp_path, capsys):
    words = ["--model", GIVEN["model"], "--clients", "2", "--steps", "1", "--rounds", "1"]
    assert main(["train", "mine_of_this_test:Own", "--data", DATA, *words, "--out", str(tmp_path / "run")]) == 2
    assert "a state holds a mine_of_this_test.Held, which cannot be stored" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def problem(
    module, *, loss=nn.functional.cross_entropy, y=None, statistics="averaged", count=24, eval_batch=1000, **more
):
    x = torch.randn(count, 6, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).long() if y is None else y
    return network_problem(
        module,
        (x, y),
        Even().parts(range(len(x)), 2, 0),
        (x, y),
        loss=loss,
        statistics=statistics,
        eval_batch=eval_batch,
        **more,
    )


def zero_head():
    module = nn.Sequential(nn.Linear(6, 2))
    nn.init.zeros_(module[0].weight)
    nn.init.zeros_(module[0].bias)
    return module


LOSSES = {
    "a sum": (nn.CrossEntropyLoss(reduction="sum"), "their sum; divide it by the number of samples"),
    "weights of classes": (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0])), "neither that nor their sum"),
    "weights of classes that are nearly equal": (
        nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.003])),
        "neither that nor their sum",
    ),
    "ignored targets": (nn.CrossEntropyLoss(ignore_index=1), "neither that nor their sum"),
    "a root": (lambda out, y: nn.functional.mse_loss(out[:, 0], y.to(out.dtype)).sqrt(), "neither that nor their sum"),
    "a maximum": (lambda out, y: (out[:, 0] - y).abs().max(), "neither that nor their sum"),
    "a mean over pairs": (lambda out, y: ((out[:, :1] - y.to(out.dtype)) ** 2).mean(), "neither that nor their sum"),
    "a sum over probabilities": (
        lambda out, y: nn.functional.binary_cross_entropy(out[:, 1], y.to(out.dtype), reduction="sum"),
        "their sum",
    ),
    "a sum of logarithms": (lambda out, y: -out[range(len(y)), y].log().sum(), "their sum"),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("count", [24, 3000])
def test_a_loss_that_is_no_mean_over_samples_is_refused(name, count):
    loss, message = LOSSES[name]
    module = nn.Sequential(zero_head(), nn.Softmax(dim=1))
    with pytest.raises(FederationError, match=f"must be the mean of its samples' losses, and is {message}"):
        problem(module, loss=loss, count=count)


@pytest.mark.parametrize(
    "loss",
    [
        nn.CrossEntropyLoss(),
        nn.CrossEntropyLoss(label_smoothing=0.1),
        lambda out, y: nn.functional.mse_loss(out[:, 0], y.to(out.dtype)),
        lambda out, y: nn.functional.binary_cross_entropy(out.softmax(1)[:, 1], y.to(out.dtype)),
        lambda out, y: nn.functional.binary_cross_entropy(
            out[:, 1], y.to(out.dtype)
        ),  # refuses what is not a probability
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_means_over_samples_are_taken(loss, dtype):
    module = nn.Sequential(nn.Linear(6, 2), nn.Softmax(dim=1)).to(dtype)
    x = torch.randn(24, 6, generator=torch.Generator().manual_seed(0)).to(dtype)
    y = (x[:, 0] > 0).long()
    network_problem(module, (x, y), Even().parts(y.numpy(), 2, 0), (x, y), loss=lambda out, y: loss(out, y))


@pytest.mark.parametrize("loss", [nn.functional.cross_entropy, nn.CrossEntropyLoss()])
def test_a_label_beyond_the_outputs_is_named_whatever_way_the_loss_is_written(loss):
    y = torch.zeros(24, dtype=torch.long)
    y[7] = 2
    with pytest.raises(FederationError, match="sample 7 of the training data has label 2"):
        problem(nn.Linear(6, 2), loss=loss, y=y)


def lazy_linear():
    return nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 2))


def lazy_norm():
    return nn.Sequential(nn.Linear(6, 4), nn.LazyBatchNorm1d(), nn.Linear(4, 2))


def called_once():
    network = lazy_linear()
    network(torch.zeros(1, 6))
    return network


@pytest.mark.parametrize("network", [lazy_linear, lazy_norm])
@pytest.mark.parametrize("algorithm", ["fedavg", "fedlrt"])
def test_lazy_layers_of_a_function_are_named_in_one_line(mine, tmp_path, capsys, network, algorithm):
    more = ["--rank", "1", "--layers", "0"] if algorithm == "fedlrt" else []
    words = ["--data", DATA, "--model", "mine_of_this_test:network", "--rounds", "1", *more]
    mine.network = network
    assert main(["train", algorithm, *words, "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        "rankproof: a lazy layer of the network has no weights yet; call the network once on a batch in your function\n"
    )
    assert not (tmp_path / "run").exists()
    mine.network = called_once
    assert main(["train", algorithm, *words, "--clients", "2", "--out", str(tmp_path / "run")]) == 0


def test_lazy_layers_without_weights_are_named():
    with pytest.raises(FederationError, match="a lazy layer of the network has no weights yet; call the network once"):
        problem(nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.Linear(3, 2)))


def normed():
    return nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))


def test_no_part_of_an_evaluation_is_of_one_sample():
    made = problem(normed(), statistics="batch", count=25, eval_batch=8)  # parts of 8, 8, 8 and 1
    assert set(made.evaluate(made.start)) == {"loss", "accuracy"}
    with pytest.raises(FederationError, match="batch norm cannot normalise a batch of one sample"):
        problem(normed(), statistics="batch", eval_batch=1).evaluate(made.start)


def test_a_norm_in_evaluation_mode_stays_as_it_is():
    module = normed().train()
    module[1].eval()
    made = problem(module)
    assert made.clients.network.statistics == frozenset()
    assert not made.clients.network.joint
    client = made.clients[0]
    whole = client.loss(made.start)
    by_hand = nn.functional.cross_entropy(
        module(made.clients.data.x[client.indices]), made.clients.data.y[client.indices]
    )
    torch.testing.assert_close(whole, by_hand)
    # A whole network in evaluation mode is as saved networks are: training puts it into training mode.
    assert problem(normed().eval()).clients.network.statistics == {"1.running_mean", "1.running_var"}


class Leaky(nn.Module):
    """A layer that changes what a call makes, or itself, in some way."""

    def __init__(self, way):
        super().__init__()
        self.layer, self.way, self.calls = nn.Linear(6, 2), way, 0

    def forward(self, x):
        out = self.layer(x)
        if self.way == "an attribute":
            self.calls += 1
            return out * self.calls
        if self.way == "a count" or (self.way == "a count of tests" and not self.training):
            self.calls += 1  # of which nothing is made, maybe after a hundred calls
        if self.way == "a cache":
            self.last, self.size = out, len(x)
        if self.way == "weights":
            with torch.no_grad():
                self.layer.weight.mul_(0.5)
        if self.way == "random":
            return out * random.random()
        if self.way == "numpy":
            return out * np.random.rand()  # noqa: NPY002 - as other people do
        return out


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("an attribute", "returns different outputs for the same inputs when it is called again"),
        ("weights", r"change its weights layer\.weight in place"),
        ("a count", "calls of the network change its attribute calls, which would carry over between clients"),
        ("a count of tests", "calls of the network change its attribute calls"),
        ("random", "random numbers outside of"),
        ("numpy", "random numbers outside of"),
    ],
)
def test_what_a_network_remembers_or_draws_by_itself_is_refused(way, message):
    problem(Leaky("not at all"))
    problem(Leaky("a cache"))  # what every call makes again
    with pytest.raises(FederationError, match=message):
        problem(Leaky(way))


class Embedded(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.embedding, self.head = nn.Embedding(8, 4, **options), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.embedding((x[:, 0] * 2).long().clamp(0, 7)))


def test_an_embedding_with_a_largest_norm_would_be_changed_by_clients():
    problem(Embedded())
    with pytest.raises(FederationError, match=r"change its weights embedding\.weight in place, as max_norm does"):
        problem(Embedded(max_norm=0.1))


def hooked():
    module = nn.Linear(6, 2)
    module.weight.register_hook(torch.zeros_like)
    return module


class Weighing(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, out, y):
        return self.weight * nn.functional.cross_entropy(out, y)


def test_what_would_be_left_out_of_training_is_refused():
    with pytest.raises(FederationError, match="the hook on the gradient of weight would not be called"):
        problem(hooked())
    with pytest.raises(FederationError, match="parameters of the loss would not be trained"):
        problem(nn.Linear(6, 2), loss=Weighing())
    with pytest.raises(FederationError, match="weight is complex"):
        problem(nn.Linear(6, 2, dtype=torch.complex64))


SETS = [
    ({"own": [[0], [24]]}, "own must be among the 24 of the training data, from 0"),
    ({"own": [[0], [-1]]}, "own must be among the 24 of the training data, from 0"),
    ({"own": [[0]]}, "own must have held-out samples of every client"),
    ({"own": [[0], []]}, "own must have held-out samples of every client"),
    ({"parts": [[0, 1], [2, 30]]}, "the clients' samples must be among the 24"),
    ({"parts": 3}, "the clients' samples must be Parts, or whole numbers for each client"),
    ({"parts": []}, "expected samples for at least one client"),
    ({"parts": [[0, 4, 1, 4], [2]]}, "the clients' samples: sample 4 occurs twice at client 0; leave one out"),
    ({"parts": [[3], [0, 1], [2, 1]]}, "the clients' samples: sample 1 occurs at client 1 and at client 2; leave one"),
    ({"parts": [[0], [1]], "own": [[2], [4, 2, 4]]}, "own: sample 4 occurs twice at client 1; leave one out"),
    (
        {"parts": [[0, 1], [2, 3]], "own": [[5], [4, 0]]},
        "own: sample 0 of client 1 is also used for training; leave it",
    ),
]


@pytest.mark.parametrize(("given", "message"), SETS)
def test_samples_of_clients_are_checked(given, message):
    x = torch.randn(24, 6, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).long()
    parts = given.pop("parts", [range(12), range(12, 24)])
    with pytest.raises(FederationError, match=message):
        network_problem(nn.Linear(6, 2), (x, y), parts, (x, y), **given)
    made = network_problem(nn.Linear(6, 2), (x, y), [range(12), range(12, 23)], (x, y), own=[[23], [23]])
    assert [client.samples for client in made.clients] == [12, 11]


def counted(outputs, targets):
    return nn.functional.gaussian_nll_loss(outputs[:, 0], targets.to(outputs.dtype), outputs[:, 1].exp())


def test_whole_numbers_are_classes_where_the_loss_is_of_classes_or_somebody_says_so():
    def metrics(**given):
        made = problem(nn.Linear(6, 2), **given)
        return set(made.evaluate(made.start))

    def own(outputs, targets):
        return nn.functional.cross_entropy(outputs, targets)

    assert metrics(loss=counted) == {"loss"}
    assert metrics(loss=own) == {"loss"}
    assert metrics(loss=own, accuracy=True) == {"loss", "accuracy"}
    assert metrics(accuracy=False) == {"loss"}
    smooth = partial(nn.functional.cross_entropy, label_smoothing=0.1)
    for loss in (smooth, nn.CrossEntropyLoss(label_smoothing=0.1), nn.MultiMarginLoss()):
        assert metrics(loss=loss) == {"loss", "accuracy"}
    y = torch.zeros(24, 1)
    with pytest.raises(FederationError, match="accuracy needs outputs"):
        problem(nn.Linear(6, 1), loss=nn.functional.mse_loss, y=y, accuracy=True)


@pytest.mark.parametrize("test", [None, 3, torch.zeros(2, 6), (torch.zeros(2, 6),), torch.zeros(3)])
def test_data_that_are_no_pair_are_named(test):
    x = torch.randn(24, 6)
    train = (x, (x[:, 0] > 0).long())
    with pytest.raises(FederationError, match="the test data must be"):
        network_problem(nn.Linear(6, 2), train, Even().parts(range(24), 2, 0), test)


def old_weight_norm():
    return nn.Sequential(nn.utils.weight_norm(nn.Linear(6, 2)))


def pruned():
    layer = nn.Linear(6, 2)
    prune.l1_unstructured(layer, "weight", 0.5)
    return nn.Sequential(layer)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("make", [old_weight_norm, pruned])
def test_networks_that_cannot_be_copied_are_named_with_the_remedy(make):
    with pytest.raises(FederationError, match=r"the network cannot be copied .*use torch\.nn\.utils\.param"):
        problem(make())


@pytest.mark.parametrize(
    "local", [{}, {"optimiser": Sgd(0.9, 0.1)}, {"optimiser": Adam()}, {"optimiser": AdamW()}, {"clip": 0.1}]
)
def test_sparse_gradients_of_an_embedding_are_those_of_a_dense_one(local):
    found = []
    tokens = torch.randint(3, (24,), generator=torch.Generator().manual_seed(0))
    for sparse in (True, False):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Embedding(3, 4, sparse=sparse), nn.Linear(4, 2))
        made = network_problem(module, (tokens, tokens % 2), Even().parts(range(24), 2, 0), (tokens, tokens % 2))
        found.append(list(rounds(FedAvg(Descent(3, 0.1, **local)), made, rounds=2))[-1].metrics)
    assert found[0] == found[1]


class Switched(nn.Module):
    """A network whose result depends on the mode, as in networks with auxiliary outputs."""

    def __init__(self, train):
        super().__init__()
        self.layer, self.train_as = nn.Linear(6, 2), train

    def forward(self, x):
        return self.train_as(self.layer(x)) if self.training else self.layer(x)


@pytest.mark.parametrize(
    ("module", "given", "message"),
    [
        (
            lambda: Switched(lambda out: (out, out)),
            {},
            "fails in training mode, though not in evaluation mode: cross_entropy",
        ),
        (lambda: Switched(torch.detach), {}, "the loss depends on none of the network's weights, so nothing would be"),
        (
            lambda: nn.Linear(6, 2),
            {"loss": lambda outputs, y: (outputs.argmax(1) == y).float().mean()},
            "depends on none",
        ),
        (lambda: torch.jit.script(nn.Linear(6, 2)), {}, "a scripted module keeps its own weights"),
        (lambda: nn.Linear(6, 2), {"eval_batch": 0}, "eval_batch must be a whole number of at least 1, got 0"),
        (lambda: nn.Linear(6, 2), {"eval_batch": 1.5}, "eval_batch must be a whole number of at least 1, got 1.5"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_would_not_learn_is_refused(module, given, message):
    with pytest.raises(FederationError, match=message):
        problem(module(), **given)


def test_nothing_is_trained_within_inference_mode():
    made, algorithm = problem(nn.Linear(6, 2)), FedAvg(Descent(2, 0.1))
    with (
        torch.inference_mode(),
        pytest.raises(FederationError, match=r"within torch\.inference_mode\(\): train outside"),
    ):
        list(rounds(algorithm, made, rounds=1))
    with torch.inference_mode(), pytest.raises(FederationError, match="make the problem outside of it"):
        problem(nn.Linear(6, 2))
    with torch.no_grad():  # this does not matter
        assert list(rounds(algorithm, made, rounds=1))[-1].metrics["loss"] < made.evaluate(made.start)["loss"]
