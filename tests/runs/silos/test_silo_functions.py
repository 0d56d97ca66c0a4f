"""Functions of users in a run of silos: a start, numbers of an evaluation, and clients with their losses."""

import json
import pickle
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from silo_line import Beside, silos_of
from torch import nn
from torch.func import functional_call

import rankproof
import runs
from algorithms.federation import FederationError
from runs.listing import describe_partial_means, find_runs
from runs.settings import ANEW, Remedy, RunError
from runs.silos.executor import Silos
from runs.silos.given import MARGIN, check_start
from runs.silos.problem import SiloProblem
from runs.silos.server import serve
from runs.silos.transport import AnswerPolicy

X = torch.linspace(-1.0, 1.0, 15, dtype=torch.float64).view(5, 3)
Y = torch.stack([X.sum(1), X[:, 0] - X[:, 2]], 1)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(Silos.__init__, "__defaults__", (*Silos.__init__.__defaults__[:-1], 1e-3))  # the pause
    yield
    torch.set_num_threads(threads)


class Linear:
    """A client of W x, whose loss is the mean of squares."""

    def __init__(self, shift=0.0):
        self.x, self.y, self.samples = X + shift, Y, 5.0

    def outputs(self, w, x):
        return x @ w["W"].T

    def loss(self, w, batch=None):
        rows = slice(None) if batch is None else batch
        return ((self.outputs(w, self.x[rows]) - self.y[rows]) ** 2).mean()


class Copying(Linear):
    """A client that computes through parameters of its own, into which it copies the weights."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 2, bias=False).double()

    def outputs(self, w, x):
        self.net.load_state_dict({"weight": w["W"]})
        return self.net(x)


class Detached(Linear):
    def loss(self, w, batch=None):
        return super().loss(w, batch).detach()


class Unlabelled(Linear):
    """A client with batches that have no label, whose loss is then a constant."""

    def loss(self, w, batch=None):
        if batch is not None and 0 not in batch:
            return torch.tensor(0.0, dtype=torch.float64)
        return super().loss(w, batch)


def start():
    return {"W": torch.tensor([[0.5, -0.25, 1.0], [0.0, 2.0, -1.0]], dtype=torch.float64)}


def trained(folder, clients=None, algorithm="fedavg", start=start, evaluate=None, change=None, rounds=2, **options):
    clients = clients or [Linear(), Linear(0.5), Linear(-0.25)]
    names = "abc"[: len(clients)]
    line = Beside(silos_of(clients, names, folder), *([] if change is None else [change]))
    config = {"algorithm": algorithm, "silos": ",".join(names), "folder": str(folder / "run"), "rounds": rounds}
    config |= {"seconds": 5.0, "steps": 2, "learning-rate": 0.05, **options}
    return serve(config, line, start, evaluate)


@pytest.mark.parametrize("odd", [Copying, Detached])
@pytest.mark.parametrize("algorithm", ["fedavg", "fedlin", "fedlrt-full", "rolora", "fedloru"])
def test_a_loss_that_depends_on_none_of_its_weights_is_refused_by_the_name_of_its_silo(odd, algorithm, tmp_path):
    with pytest.raises(FederationError, match=r"silo b: the loss depends on none of .*functional_call\("):
        trained(tmp_path, [Linear(), odd(), Linear()], algorithm)


class Clamped(Linear):
    def loss(self, w, batch=None):
        w["W"].data.clamp_(-0.3, 0.3)
        return super().loss(w, batch)


class Rounded(Linear):
    def loss(self, w, batch=None):
        numbers = w["W"].detach().numpy()
        numbers[:] = numbers.round(1)
        return super().loss(w, batch)


class Rebound(Linear):
    def loss(self, w, batch=None):
        w["W"].data = w["W"].data * 0.5
        return super().loss(w, batch)


@pytest.mark.parametrize("odd", [Clamped, Rounded, Rebound])
@pytest.mark.parametrize("kind", [torch.float64, torch.float32])
def test_a_loss_that_changes_its_weights_is_refused_even_where_torch_counts_no_version(odd, kind, tmp_path):
    clients = [Linear(), odd(), Linear()]
    for client in clients:
        client.x, client.y = client.x.to(kind), client.y.to(kind)
    with pytest.raises(FederationError, match="silo b: the loss changes W in place"):
        trained(tmp_path, clients, start=lambda: {"W": start()["W"].to(kind)})


def test_weights_that_begin_between_two_words_of_memory_are_watched(tmp_path):
    def odd_start():
        return {"W": start()["W"].float(), "b": torch.tensor([1.0, 2.0, 3.0, 4.0])[1:], "c": torch.tensor(0.5)}

    class Biased(Linear):
        def loss(self, w, batch=None):
            w["b"][1:].data.mul_(self.by)
            return super().loss(w, batch) + (w["b"] ** 2).sum() + w["c"] ** 2

    clients = [Biased(), Biased()]
    for client in clients:
        client.x, client.y, client.by = client.x.float(), client.y.float(), 1.0
    assert trained(tmp_path / "a", clients, start=odd_start)["round"] == 2
    clients[1].by = 1.5
    with pytest.raises(FederationError, match="silo b: the loss changes b in place"):
        trained(tmp_path / "b", clients, start=odd_start)


class Noisy(Linear):
    """A client whose loss draws from the global generators, as drop-out does."""

    def loss(self, w, batch=None):
        drawn = float(torch.rand(())), np.random.random(), random.random()  # noqa: NPY002
        self.drawn.append(drawn)
        return super().loss(w, batch) + sum(drawn) * w["W"].sum()


def test_global_generators_give_the_same_numbers_in_a_repeated_run_and_others_in_each_exchange(tmp_path):
    drawn = {}
    for place, seed in (("a", 1), ("b", 2)):
        clients = [Noisy(), Noisy()]
        for client in clients:
            client.drawn = drawn.setdefault(place, [])
            client.fingerprint = ("x", "y")
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        trained(tmp_path / place, clients, evaluate=lambda w: {"loss": 0.0})
        assert torch.equal(torch.get_rng_state(), before)
    assert drawn["a"] == drawn["b"]
    assert len({*drawn["a"]}) == len(drawn["a"]) == 2 * 2 * 2  # rounds, silos, steps
    assert all(len({*column}) == len(drawn["a"]) for column in zip(*drawn["a"], strict=True))


def test_a_loss_of_some_of_the_weights_and_of_some_of_the_batches_is_taken(tmp_path):
    unused = {**start(), "unused": torch.ones(2, dtype=torch.float64)}
    assert trained(tmp_path / "a", [Linear(), Linear()], start=lambda: unused)["round"] == 2
    clients = [Unlabelled(), Linear()]
    assert trained(tmp_path / "b", clients, batch=1, **{"learning-rate": 0.01})["round"] == 2


def test_what_a_loss_cannot_be_is_said(tmp_path):
    class Plain(Linear):
        def loss(self, w, batch=None):
            return float(super().loss(w, batch))

    with pytest.raises(FederationError, match=r"silo b: the loss must return one number in a tensor, .* got float$"):
        trained(tmp_path, [Linear(), Plain()])


def test_a_start_of_another_type_than_the_data_is_named_as_the_cause(tmp_path):
    with pytest.raises(FederationError, match=r"fails for weights of float32, which start\(\) .* but not for float64"):
        trained(tmp_path / "a", start=lambda: {"W": start()["W"].float()})
    low = [Linear(), Linear()]
    for client in low:
        client.x, client.y = client.x.half(), client.y.half()
    assert trained(tmp_path / "b", low, start=lambda: {"W": start()["W"].half()})["round"] == 2


def batch_norm():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).double()


class Normed(Linear):
    statistics = frozenset({"1.running_mean", "1.running_var"})

    def outputs(self, w, x):
        return functional_call(batch_norm(), w, (x,))

    def loss(self, w, batch=None):
        return self.loss_and_statistics(w, batch)[0]

    def loss_and_statistics(self, w, batch=None):
        own = {name: w[name].clone() for name in w}
        return super().loss(own, batch), {name: own[name] for name in self.statistics}


def floats():
    return {name: entry for name, entry in batch_norm().state_dict().items() if entry.is_floating_point()}


def test_a_state_dict_without_its_whole_numbers_trains_as_the_refusal_says(tmp_path):
    with pytest.raises(
        RunError, match=r"^start\(\) returns '1.num_batches_tracked' as int64, .*: leave it out, as in "
    ):
        trained(tmp_path, [Normed(), Normed()], start=lambda: batch_norm().state_dict())
    assert not (tmp_path / "run").exists()
    assert trained(tmp_path, [Normed(), Normed()], start=floats)["round"] == 2


def test_running_statistics_that_a_client_does_not_declare_are_named(tmp_path):
    class Changing(Linear):
        def outputs(self, w, x):
            w["W"].mul_(0.5)
            return super().outputs(w, x)

    with pytest.raises(FederationError, match=r"silo b: the loss changes W in place"):
        trained(tmp_path / "a", [Linear(), Changing()])
    with pytest.raises(FederationError, match=r"round 1, local_descent: silo b: the loss changes W in place"):
        trained(tmp_path / "b", [Linear(), Changing()], evaluate=lambda w: {"accuracy": 0.5})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, r"start\(\) returns no weights"),
        ({3: torch.ones(2)}, "got the name 3"),
        ({"W": torch.ones(2, 3), "n": 1.0}, "got a float for 'n'"),
        (
            {"W": torch.ones(2, 3).to_sparse()},
            r"must return dense tensors; 'W' is a sparse tensor \(sparse_coo\): "
            r"pass x.to_dense\(\)",
        ),
        ({"W": torch.ones(2, 3, device="meta")}, "must return dense tensors; 'W' is a tensor on the meta device"),
        ({"W": torch.ones(2, 3), "n": torch.tensor(3)}, "'n' as int64"),
        ({"W": torch.ones(2, 3), "n": torch.tensor([True])}, "'n' as bool"),
        ({"W": torch.ones(2, 3, dtype=torch.complex64)}, "'W' as complex64"),
        ({"W": torch.ones(2, 3).to(torch.float8_e5m2)}, "'W' as float8_e5m2, a type with which torch cannot compute"),
        ({"W": torch.tensor([[1.0, float("nan")]])}, "numbers for 'W' that are not finite"),
    ],
)
def test_a_start_that_no_silo_can_train_is_refused_before_one_is_asked(given, why, tmp_path):
    line = Beside(silos_of([Linear()], "a", tmp_path))
    with pytest.raises(RunError, match=why):
        serve({"algorithm": "fedavg", "silos": "a", "folder": str(tmp_path / "run")}, line, lambda: given)
    assert not line.sent


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (torch.tensor(0.25), "0.25"),
        (torch.tensor([[0.25]], dtype=torch.float16, requires_grad=True), "0.25"),
        (torch.tensor(3), "3.0"),
        (np.float32(0.25), "0.25"),
        (np.array([0.25]), "0.25"),
        (np.int64(3), "3.0"),
        (3, "3"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_of_torch_and_numpy_are_written_as_numbers(value, written, tmp_path):
    trained(tmp_path, [Linear()], evaluate=lambda w: {"accuracy": value}, rounds=1)
    header, *rows = (tmp_path / "run" / "metrics.csv").read_text().splitlines()
    assert [row.split(",")[header.split(",").index("accuracy")] for row in rows] == [written] * 2
    assert rankproof.main(["runs", "list", str(tmp_path)]) == 0
    assert trained(tmp_path, [Linear()], evaluate=lambda w: {"accuracy": value})["round"] == 2


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, -(2**63), 10**19, -(10**300)])
def test_whole_numbers_of_any_size_can_be_listed_and_compared(value, tmp_path, capsys):
    for seed, flops in enumerate((value, value // 2)):
        # One silo, whose key is a part of the digest of its data, in both runs.
        trained(tmp_path, [Linear()], evaluate=lambda w, f=flops: {"flops": f}, seed=seed, rounds=1)
        (tmp_path / "run").rename(tmp_path / f"{seed}")
    header, *rows = (tmp_path / "0" / "metrics.csv").read_text().splitlines()
    written = {row.split(",")[header.split(",").index("flops")] for row in rows}
    assert written == {str(value) if abs(value) < 2**63 else str(float(value))}
    capsys.readouterr()
    for words in (["list"], ["compare", "--metric", "flops"]):
        assert rankproof.main(["runs", words[0], str(tmp_path), *words[1:]]) == 0
    mean, deviation = value / 2 + value / 4, abs(value / 4) * 2**0.5
    assert {f"{mean:.4g}", f"{deviation:.4g}"} <= set(capsys.readouterr().out.split())
    assert rankproof.main(["runs", "show", str(tmp_path / "0")]) == 0


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (0.5, r"by name, such as {'accuracy': 0.5}, got a float$"),
        (None, "got None$"),
        ([("accuracy", 0.5)], "got a list$"),
        ({"accuracy": None}, "got a NoneType that is not one number for 'accuracy'$"),
        ({"accuracy": True}, "got True for 'accuracy'$"),
        ({"accuracy": np.True_}, "got a bool.* for 'accuracy'$"),
        ({"accuracy": torch.tensor(True)}, "got a Tensor for 'accuracy'$"),
        ({"accuracy": "0.5"}, "got '0.5' for 'accuracy'$"),
        ({"accuracy": torch.ones(2)}, "got a Tensor that is not one number"),
        ({"accuracy": np.ones(0)}, "got a ndarray that is not one number"),
        ({"accuracy": 1j}, "got a complex"),
        ({"accuracy": torch.ones(1, device="meta")}, "got a Tensor that is not one number"),
        ({"accuracy": [0.5]}, "got a list for 'accuracy'"),
        ({"accuracy": np.array([10**400], dtype=object)}, "does not fit in a float"),
        ({"accuracy": 10**400}, "for 'accuracy' that does not fit in a float$"),
        *(
            ({name: 5.0}, f"with the name '{name}', which is a column")
            for name in ("round", "rank", "bytes_up", "bytes_down")
        ),
        ({"alignment": 5.0}, "with the name 'alignment', which is a column"),
        ({"a,b\n": 5.0}, r"with the name 'a,b\\n'; use a printable name"),
        ({"": 5.0}, "with the name ''; use a printable name"),
        ({1: 5.0}, "with the name 1; use"),
    ],
)
def test_what_is_no_number_by_a_free_name_is_refused_in_one_line(found, why, tmp_path):
    with pytest.raises(FederationError, match=why) as refused:
        trained(tmp_path, [Linear()], evaluate=lambda w: found)
    assert str(refused.value).isprintable()
    assert not (tmp_path / "run").exists()


def halved(w):
    w["W"].mul_(0.5)
    return {"accuracy": 0.5}


class Tied(nn.Module):
    """A network whose embedding is also its last layer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.e, self.h = nn.Embedding(5, 3, dtype=torch.float64), nn.Linear(3, 5, bias=False, dtype=torch.float64)
        self.h.weight = self.e.weight

    def forward(self, x):
        return self.h(self.e(x))


class OfTied:
    samples, fingerprint = 6.0, "five words"

    def __init__(self, shift):
        self.net, self.words, self.next = Tied(), torch.arange(6) % 5, (torch.arange(6) + shift) % 5

    def loss(self, w, batch=None):
        return nn.functional.cross_entropy(functional_call(self.net, dict(w), (self.words,)), self.next)


def of_tied(folder, given):
    line = Beside(silos_of([OfTied(1), OfTied(2)], "ab", folder))
    config = {"algorithm": "fedavg", "silos": "a,b", "folder": str(folder / "results"), "steps": 1, "rounds": 1}
    return serve({**config, "learning_rate": 0.5, "seconds": 5.0}, line, given)


def test_tied_weights_of_a_state_dict_are_refused_and_train_as_the_refusal_says(tmp_path):
    with pytest.raises(RunError, match=r"start\(\) returns 'e.weight' and 'h.weight', which are tied: .* Leave"):
        of_tied(tmp_path / "a", lambda: {n: w for n, w in Tied().state_dict().items() if w.is_floating_point()})
    with pytest.raises(FederationError, match=r"silo a: the loss gets several values for weights"):
        of_tied(tmp_path / "b", lambda: {n: w.clone() for n, w in Tied().state_dict().items()})
    last = of_tied(tmp_path / "c", lambda: dict(Tied().named_parameters()))
    w = Tied().e.weight.detach()
    ends = []
    for client in (OfTied(1), OfTied(2)):  # by hand, with one weight in both places
        one = w.clone().requires_grad_()
        nn.functional.cross_entropy(one[client.words] @ one.T, client.next).backward()
        ends.append(w - 0.5 * one.grad)
    mean = (ends[0] + ends[1]) / 2
    losses = [nn.functional.cross_entropy(mean[c.words] @ mean.T, c.next) for c in (OfTied(1), OfTied(2))]
    assert last["loss"] == pytest.approx(float(sum(losses) / 2), rel=1e-12)


def parts_of_one():
    return torch.arange(12.0, dtype=torch.float64)


@pytest.mark.parametrize(
    ("given", "tied"),
    [
        (lambda v: {"a": v, "b": v}, True),
        (lambda v: {"a": v, "b": v.view(3, 4).T}, True),
        (lambda v: {"a": v[:6], "c": v[8:], "b": v[5:7]}, True),
        (lambda v: {"a": v[:1].expand(3), "b": v[:2]}, True),
        (lambda v: {"a": v[:4], "b": v.view(torch.float32)[6:9]}, True),
        (lambda v: {"a": v[:6], "b": v[6:]}, False),
        (lambda v: {"a": v[::2], "b": v[1::2]}, False),
        (lambda v: {"a": v[:3], "b": v.view(torch.float32)[6:9]}, False),
        (lambda v: {"a": v[:1].expand(3), "b": v[1:1], "c": v[1:]}, False),
        (lambda v: {"a": v, "b": v.clone()}, False),
    ],
)
def test_weights_that_share_numbers_are_tied_and_neighbours_in_memory_are_not(given, tied):
    made = given(parts_of_one())
    if not tied:
        assert check_start(made).keys() == made.keys()
        return
    with pytest.raises(RunError, match=r"returns 'a' and 'b', which are tied"):
        check_start(made)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
def test_a_start_whose_uploads_would_overflow_is_the_cause_and_no_silo(kind, tmp_path):
    wide = torch.float64 if kind == torch.float64 else torch.float32
    most = (torch.finfo(wide).max / 6) ** 0.5 / MARGIN
    assert check_start({"W": torch.full((2, 3), 0.9 * most, dtype=kind)})["W"].dtype == kind
    for value in (1.1 * most, -1.1 * most, 1e30 if wide != kind or kind == torch.float32 else 1e160):
        with pytest.raises(RunError, match=r"^start\(\) returns numbers for 'W' up to .*; make them at most "):
            check_start({"V": torch.ones(2, dtype=kind), "W": torch.full((2, 3), value, dtype=kind)})
    with pytest.raises(RunError, match=r"^start\(\) returns numbers for 'W' up to 1e\+30"):
        serve(
            {"algorithm": "fedavg", "silos": "a,b", "folder": str(tmp_path / "results")},
            Beside({}),
            lambda: {"W": torch.full((2, 2), 1e30)},
        )
    assert not (tmp_path / "results").exists()


def test_an_evaluation_that_changes_the_model_is_refused_and_leaves_it_as_it_was(tmp_path):
    with pytest.raises(FederationError, match=r"evaluate changed the weights in place, .* call module.eval"):
        trained(tmp_path / "a", evaluate=halved)
    state = floats()
    inputs = torch.linspace(0.0, 3.0, 12, dtype=torch.float64).view(4, 3)

    def forgetful(w):
        return {"size": functional_call(batch_norm(), dict(w), (inputs,)).square().mean()}

    with pytest.raises(FederationError, match="evaluate changed the weights in place"):
        trained(tmp_path / "b", [Normed(), Normed()], start=lambda: state, evaluate=forgetful)
    assert all(torch.equal(entry, state[name]) for name, entry in floats().items())
    careful = trained(tmp_path / "c", [Normed()], start=floats, evaluate=lambda w: {"size": len(dict(w))}, rounds=1)
    assert careful["size"] == 8


def test_a_network_that_gives_the_start_may_be_loaded_in_evaluations(tmp_path):
    """FedLoRU keeps the start as its base, so it must not be the storage of the user's network."""
    net = nn.Linear(3, 2, bias=False).double()

    def began():
        return {"W": net.weight.detach()}

    def loaded(w):
        net.load_state_dict({"weight": w["W"]})
        return {"size": float(net.weight.detach().square().sum())}

    before = net.weight.detach().clone()
    shared = trained(tmp_path / "a", algorithm="fedloru", start=began, evaluate=loaded, rounds=3)
    alone = trained(
        tmp_path / "b",
        algorithm="fedloru",
        start=lambda: {"W": before},
        evaluate=lambda w: {"size": float(w["W"].square().sum())},
        rounds=3,
    )
    assert shared["size"] == alone["size"] != float(before.square().sum())


def answering(**parts):
    """Silo b answers with other parts, of those that are not empty."""

    def change(node, request, letter):
        content = json.loads(letter.text)
        if node == 101 and content["kind"] == "done":
            content |= {name: value(content) for name, value in parts.items() if content[name]}
        return type(letter)(json.dumps(content), letter.blobs)

    return change


@pytest.mark.parametrize(
    ("algorithm", "parts", "why"),
    [
        ("pfedloru", {"personal": lambda content: {}}, "for good; the work defines LU"),
        ("pfedloru", {"personal": lambda content: {"UL": content["personal"]["LU"]}}, "for good; the work defines LU"),
        ("fedlin", {"keep": lambda content: {}}, "until the round ends; the work defines G_c, w"),
        (
            "fedlrt-full",
            {"keep": lambda content: {**content["keep"], "Z": content["keep"]["S"]}},
            "until the round ends; the work defines S, U, V",
        ),
    ],
)
def test_names_of_what_a_client_keeps_are_those_that_the_work_gives(algorithm, parts, why, tmp_path):
    with pytest.raises(FederationError, match=f"silo b: names other values that its client keeps {why}$"):
        trained(tmp_path, algorithm=algorithm, change=answering(**parts))


def test_more_silos_than_there_are_cannot_be_needed(tmp_path):
    with pytest.raises(FederationError, match=r"^least must be at most 3, the number of silos, got 4$"):
        trained(tmp_path, least=4)
    with pytest.raises(FederationError, match=r"^least must be at most 2"):
        Silos(("a", "b"), Beside({}), "0" * 12, AnswerPolicy(least=3))
    assert trained(tmp_path, least=3, cohort=2)["round"] == 2


def test_an_export_of_a_run_of_silos_says_what_to_do_instead(tmp_path, capsys):
    trained(tmp_path, [Linear()], rounds=1)
    words = ["runs", "export", str(tmp_path / "run"), "--out", str(tmp_path / "adapter")]
    assert rankproof.main(words) == 2
    said = capsys.readouterr().err
    assert "is a run of silos, whose network is not on this machine" in said
    assert "let evaluate(w) of the app save them" in said
    assert not Path(tmp_path / "adapter").exists()


def test_an_error_of_a_run_has_the_remedies_of_the_app(tmp_path):
    trained(tmp_path, [Linear()], rounds=3)
    with pytest.raises(RunError) as lowered:
        trained(tmp_path, [Linear()], rounds=1)
    assert str(lowered.value).endswith(
        "not lowered to 1; set rounds to 3 or more in the app's config, or name another `folder` in the app's config"
    )
    with pytest.raises(RunError, match=r"run with other seed; name another `folder` in the app's config$"):
        trained(tmp_path, [Linear()], rounds=3, seed=5)
    (tmp_path / "run" / "ledger.csv").unlink()
    with pytest.raises(RunError, match=r"without its ledger.csv; name another `folder` in the app's config$"):
        trained(tmp_path, [Linear()], rounds=3)


def test_remedies_are_listed_in_the_words_of_each_way_to_start_a_run():
    error = pickle.loads(pickle.dumps(RunError("it is full", "wait", Remedy("give --x 1", "set x to 1"), ANEW)))
    assert str(error) == "it is full; wait, give --x 1, or start over with --force"
    assert error.of_app() == "it is full; wait, or set x to 1"
    assert str(RunError("it is full")) == RunError("it is full").of_app() == "it is full"


class Constant:
    """A client whose loss is a number of its own at all weights."""

    fingerprint = "a number"

    def __init__(self, value, samples):
        self.value, self.samples = value, samples

    def loss(self, w, batch=None):
        return self.value + 0.0 * w["W"].sum()


def of_constants(folder, rounds, silent=()):
    """A run of silos a, b and c, in which the silent rounds have no loss of silo c; losses 1, 2 and 8."""

    def answer(node, request, letter):
        asked = json.loads(request.text)
        is_silent = str(asked.get("work", "")).endswith("local_loss") and asked["round"] in silent
        return None if is_silent and asked["silo"] == "c" else letter

    line = Beside(silos_of([Constant(1.0, 3.0), Constant(2.0, 1.0), Constant(8.0, 4.0)], "abc", folder), answer)
    config = {"algorithm": "fedavg", "silos": "a,b,c", "folder": str(folder / "results"), "steps": 1, "rounds": rounds}
    return serve({**config, "least": 1, "seconds": 0.3}, line, lambda: {"W": torch.ones(2, 2)})


def test_the_metrics_say_over_how_many_silos_a_loss_is_a_mean(tmp_path, capsys):
    of_constants(tmp_path, 3, silent=(2,))
    rows = runs.load(tmp_path / "results")
    assert rows["loss"].tolist() == [37 / 8, 37 / 8, 5 / 4, 37 / 8]
    assert rows["silos"].tolist() == [3, 3, 2, 3]
    said = (
        "results: the loss after round 2 is a mean over 2 of 3 silos, because the others did not answer or are left out"
    )
    for command in (["compare", "--round", "2"], ["plot", "--out", str(tmp_path)]):
        assert rankproof.main(["runs", command[0], str(tmp_path / "results"), *command[1:]]) == 0
        assert said in capsys.readouterr().out
    assert rankproof.main(["runs", "compare", str(tmp_path / "results")]) == 0
    assert "silos" not in capsys.readouterr().out

    (run,) = find_runs(tmp_path / "results")
    counted = [{**row, "silos": silos} for row, silos in zip((*run.rows, run.rows[-1]), (2, 1, 3, 2, 2), strict=True)]
    (line,) = describe_partial_means([replace(run, rows=tuple(counted))], "loss")
    assert "the loss after rounds 0, 1, 3 and 1 more is a mean over at least 1 of 3 silos," in line


def test_a_run_whose_table_an_earlier_version_began_goes_on_without_that_number(tmp_path, monkeypatch):
    own = SiloProblem.evaluate
    with monkeypatch.context() as earlier:
        earlier.setattr(SiloProblem, "evaluate", lambda self, w, fed: {"loss": own(self, w, fed)["loss"]})
        of_constants(tmp_path, 1)
    of_constants(tmp_path, 2)
    assert runs.load(tmp_path / "results").columns.tolist() == ["loss", "bytes_down", "bytes_up"]
