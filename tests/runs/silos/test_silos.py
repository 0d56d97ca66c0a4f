"""Silos without Flower: the bits of one process for every algorithm, and what becomes of what is wrong or missing."""

import json
from dataclasses import dataclass, replace

import pytest
import torch
from silo_line import Beside, silos_of
from torch import nn

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.fedavg import FedAvg, local_descent
from algorithms.federation import FederationError, Memory
from algorithms.fedloru import FedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Truncation
from algorithms.optimisers import Sgd
from algorithms.rounds import rounds
from algorithms.scaffold import Scaffold
from algorithms.tree import Tree, tensors
from runs.catalogue import ALGORITHMS
from runs.network_problem import network_problem
from runs.plan import make_plan, parts_of
from runs.silos.executor import Silos
from runs.silos.expected import Rehearsal
from runs.silos.membership import Membership
from runs.silos.node import Node, failure
from runs.silos.problem import RemoteClient, RemoteClients, SiloProblem
from runs.silos.registered import works
from runs.silos.transport import AnswerPolicy
from runs.silos.wire import Limits
from workloads.image_networks.initial import initialise
from workloads.partition import Even

NAMES = ("north", "east", "south")
RUN = "0123456789ab"
QUICK = {"seconds": 5.0, "again": 4.0}


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def given(name):
    """A small run of an algorithm."""
    problem = "regression" if name == "rolora-exact" else "quadratics"
    plan = make_plan(name, problem, {"clients": 3, "cohort": 2, "seed": 3})
    if name != "rolora-exact":
        plan = make_plan(name, problem, {**plan.settings, "steps": 3, **({"tau": 2} if "tau" in plan.settings else {})})
    return parts_of(plan)


class Met:
    """A server that has met its silos."""

    def __init__(self, clients, folder, start, change=lambda node, request, letter: letter, names=NAMES, **patience):
        self.said = []
        self.line = Beside(silos_of(clients, names, folder), change)
        patience = AnswerPolicy(**{**QUICK, **patience})
        self.executor = Silos(names, self.line, RUN, patience, say=self.said.append, pause=0.001)
        found = zip(names, self.executor.meet(), strict=True)
        known = RemoteClients(tuple(RemoteClient(name, *about) for name, about in found))
        self.problem = SiloProblem(known, Tree(start), lambda w: {"loss": 0.0})

    def run(self, algorithm, number=3, **options):
        return list(rounds(algorithm, self.problem, rounds=number, executor=self.executor, **options))


def same(one, other):
    one, other = tensors(one), tensors(other)
    assert len(one) == len(other)
    return all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "central"])
def test_every_algorithm_has_the_bits_of_one_process_and_its_ledger(name, tmp_path, monkeypatch):
    rehearsed = []
    own = Rehearsal.expect
    monkeypatch.setattr(Rehearsal, "expect", lambda self, trip: rehearsed.append(own(self, trip)) or rehearsed[-1])
    parts = given(name)
    options = {"cohort": 2, "seed": 3}
    alone = list(rounds(parts.algorithm, parts.problem, rounds=3, **options))
    met = Met(parts.problem.clients, tmp_path, parts.problem.start)
    apart = met.run(parts.algorithm, **options)
    assert all(same(a.state.algorithm, b.state.algorithm) for a, b in zip(alone, apart, strict=True))
    assert apart[-1].ledger.entries == alone[-1].ledger.entries
    assert same(apart[-1].state.federation.personal, {}), "what clients keep stays with them"
    assert rehearsed
    assert all(rehearsed) == (name != "rolora-exact"), "the server knows what uploads look like"


def test_a_network_with_batch_norm_and_batches_has_the_bits_of_one_process(tmp_path):
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(30, 1, 8, 8, generator=generator), torch.arange(30) % 3
    layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(16, 3)
    module = initialise(nn.Sequential(*layers), 0, torch.float32)
    problem = network_problem(module, (x, y), Even().parts(y.numpy(), 3, 0), (x[:6], y[:6]))
    local = Descent(epochs=1, batch=3, learning_rate=0.05, optimiser=Sgd(0.9, 1e-3), optimiser_state="personal")
    for algorithm in (
        FedAvg(local),
        FeDLRT(local, 2, Truncation(0.05), "full", layers="0, 5"),
        FedLoRU(local, Adapter(2, layers="0, 5"), tau=1),  # forgets what clients' optimisers remember
    ):
        alone = list(rounds(algorithm, problem, rounds=3))
        met = Met(problem.clients, tmp_path / type(algorithm).__name__, problem.start)
        apart = met.run(algorithm, 3)
        assert same(alone[-1].state.algorithm, apart[-1].state.algorithm)


def test_work_is_registered_by_name_and_nothing_else_is():
    assert {"fedavg.local_descent", "fedlrt.coefficient_descent", "rolora.train_A", "mfedloru.train_nested"} <= set(
        works()
    )
    assert all(name.count(".") == 1 and "._" not in name for name in works())


def test_silos_that_are_gone_are_left_to_the_others_or_end_the_round(tmp_path):
    parts = given("fedlrt-full")

    def silent(node, request, letter):
        asked = json.loads(request.text)
        return None if asked.get("silo") == "east" and asked["trip"] == 2 else letter

    met = Met(parts.problem.clients, tmp_path / "a", parts.problem.start, silent, seconds=0.3)
    with pytest.raises(FederationError, match=r"round 1, augmented_gradient: 2 of 3 silos .* no answer from east"):
        met.run(parts.algorithm)
    met = Met(parts.problem.clients, tmp_path / "b", parts.problem.start, silent, seconds=0.3, least=2)
    (last,) = met.run(parts.algorithm, 1)[-1:]
    up = [(entry.what, entry.clients) for entry in last.ledger.entries if entry.direction == "up"]
    assert up == [("factor_gradients", 3), ("augmented_gradient", 2), ("coefficient_descent", 2)]
    assert any("round 1, exchange 2, silo east: missing" in text for text in met.said)
    down = [(entry.what, entry.clients) for entry in last.ledger.entries if entry.direction == "down"]
    assert down == [("factor_gradients", 3), ("augmented_gradient", 3), ("coefficient_descent", 2)]


@pytest.mark.parametrize(
    ("absent", "name", "expected"),
    [
        ("for good", "fedavg", [(1, 3), (2, 2), (3, 2)]),
        ("for good", "mfedloru", [(1, 3), (2, 2), (2, "tell", 2), (3, 2)]),
        ("in round 2", "fedavg", [(1, 3), (2, 3), (3, 3)]),
        ("in round 2", "mfedloru", [(1, 3), (2, 3), (2, "tell", 3), (3, 3)]),
    ],
)
def test_a_silo_that_is_left_out_is_sent_no_bytes(absent, name, expected, tmp_path):
    """South fails in round 1 and is left out, or is silent in round 2 alone; mFedLoRU tells its sums in round 2."""
    parts = given(name)

    def answer(node, request, letter):
        asked = json.loads(request.text)
        if asked.get("silo") != "south":
            return letter
        if absent == "for good":
            return failure(FederationError("no data"), request, "south")
        return None if asked["round"] == 2 else letter

    left_out = {"wrong": "left out"} if absent == "for good" else {}
    met = Met(parts.problem.clients, tmp_path, parts.problem.start, answer, seconds=0.3, least=1, **left_out)
    (last,) = met.run(parts.algorithm, 3)[-1:]
    down = [entry for entry in last.ledger.entries if entry.direction == "down" and entry.round]
    found = [(one.round, *(["tell"] if one.what == "tell" else []), one.clients) for one in down]
    assert found == expected


@pytest.mark.parametrize("name", ["fedavg", "fedlrt-full"])
def test_a_silo_without_connection_is_sent_no_bytes_in_the_round_in_which_it_goes(name, tmp_path):
    """South leaves before round 2 and comes back before round 3."""
    parts = given(name)
    met = Met(parts.problem.clients, tmp_path, parts.problem.start, seconds=0.3, least=1)
    steps = rounds(parts.algorithm, met.problem, rounds=3, executor=met.executor)
    south = 100 + NAMES.index("south")
    for step in steps:
        if step.state.round == 1:
            away = met.line.silos.pop(south)
        elif step.state.round == 2:
            met.line.silos[south] = away
    down = [(entry.round, entry.clients) for entry in step.ledger.entries if entry.direction == "down"]
    up = [(entry.round, entry.clients) for entry in step.ledger.entries if entry.direction == "up"]
    assert dict(down) == dict(up) == {1: 3, 2: 2, 3: 3}


@pytest.mark.parametrize("cohort", [1, 2])
def test_rounds_draw_their_silos_from_those_that_are_not_left_out(cohort, tmp_path):
    """A round that drew only silos that are left out could never end."""
    parts = given("fedavg")
    met = Met(parts.problem.clients, tmp_path, parts.problem.start, seconds=0.3, least=1, wrong="left out")
    met.executor.leave_out({"south": "left out in round 1"})
    steps = met.run(parts.algorithm, 8, cohort=cohort)
    asked = [json.loads(letter.text) for _, letter in met.line.sent]
    by_round = [{one["silo"] for one in asked if one.get("round") == number} for number in range(1, 9)]
    assert set(map(len, by_round)) == {cohort}
    assert set().union(*by_round) == {"north", "east"}
    assert [entry.clients for entry in steps[-1].ledger.entries] == [cohort] * 16


@pytest.mark.parametrize("least", [1, 2])
def test_a_round_without_enough_silos_needs_as_many_as_it_draws(least, tmp_path):
    """Two of three silos are left out: a cohort of two has one that can answer, which `least` may allow."""
    parts = given("fedavg")
    met = Met(parts.problem.clients, tmp_path, parts.problem.start, seconds=0.3, least=least, wrong="left out")
    met.executor.leave_out({"south": "left out in round 1", "north": "left out in round 1"})
    if least == 1:
        assert len(met.run(parts.algorithm, 3, cohort=2)) == 4  # with the start
    else:
        with pytest.raises(FederationError, match=r"1 of 2 silos answered, but 2 are needed"):
            met.run(parts.algorithm, 3, cohort=2)


def test_a_mean_of_those_that_answered_has_their_weights(tmp_path):
    parts = given("fedavg")
    met = Met(
        parts.problem.clients,
        tmp_path,
        parts.problem.start,
        lambda node, request, letter: None if json.loads(request.text).get("silo") == "north" else letter,
        seconds=0.2,
        least=1,
    )
    (last,) = met.run(parts.algorithm, 1)[-1:]
    ends = [
        local_descent(client, Memory(), Tree(parts.problem.start), parts.algorithm.local).upload["W"]
        for client in parts.problem.clients[1:]
    ]
    torch.testing.assert_close(last.state.algorithm["W"], sum(ends) / 2, rtol=1e-12, atol=1e-14)


@dataclass(frozen=True)
class Towards:
    """A client of the loss |w - target|^2/2, whose first gradient at w = 0 is minus its target."""

    samples: float
    target: float

    def loss(self, w, batch=None):
        return ((w["W"] - self.target) ** 2).sum() / 2


@pytest.mark.parametrize("silent", [(), ("north",), ("east",), ("north", "south")])
def test_scaffolds_control_variate_is_the_mean_of_the_silos_own_where_some_do_not_answer(silent, tmp_path):
    clients = dict(zip(NAMES, (Towards(1.0, 8.0), Towards(2.0, 3.0), Towards(5.0, -4.0)), strict=True))
    met = Met(
        list(clients.values()),
        tmp_path,
        {"W": torch.zeros(2, 1, dtype=torch.float64)},
        lambda node, request, letter: None if json.loads(request.text).get("silo") in silent else letter,
        seconds=0.1,
        least=1,
    )
    (last,) = met.run(Scaffold(Descent(learning_rate=0.25)), 1)[-1:]
    answered = [client for name, client in clients.items() if name not in silent]
    own = -sum(client.samples * client.target for client in answered) / 8.0  # 0 of the others, which have all 8 samples
    torch.testing.assert_close(last.state.algorithm.c["W"], torch.full((2, 1), own, dtype=torch.float64))


def test_a_silo_that_comes_back_as_another_node_answers_again(tmp_path):
    parts = given("pfedloru")
    alone = list(rounds(parts.algorithm, parts.problem, rounds=3))
    met = Met(parts.problem.clients, tmp_path, parts.problem.start)
    lost = []

    def crash(node, request, letter):
        asked = json.loads(request.text)
        if asked.get("silo") == "east" and asked["round"] == 2 and not lost:
            lost.append(node)
            met.line.silos[999] = met.line.silos.pop(node)
            return "the node is gone"
        return letter

    met.line.change = crash
    assert same(met.run(parts.algorithm)[-1].state.algorithm, alone[-1].state.algorithm)
    assert lost
    assert sum("silo east: there" in text for text in met.said) == 2


def test_a_node_that_was_refused_for_its_name_is_asked_again_as_soon_as_that_is_free(tmp_path):
    line, said = Beside({1: Node("east", given("fedavg").problem.clients[0], tmp_path)}), []
    roll = Membership(("east",), line, Limits(), said.append)

    def greet():
        roll.greet(1.0)
        for ticket, answer in line.receive(roll.greetings):
            roll.take_answer(ticket, answer)
        return roll.places

    assert greet() == {0: 1}
    line.silos[2] = line.silos[1]
    assert greet() == greet() == {0: 1}
    assert sum("the name of another node" in text for text in said) == 1  # it is not asked all the time
    del line.silos[1]
    assert greet() == {0: 2}


def test_a_server_that_was_killed_goes_on_with_what_silos_keep(tmp_path):
    parts = given("pfedloru")
    alone = list(rounds(parts.algorithm, parts.problem, rounds=4))
    met = Met(parts.problem.clients, tmp_path, parts.problem.start)
    before = met.run(parts.algorithm, 3)
    again = Met(parts.problem.clients, tmp_path, parts.problem.start)
    for step in before[1:3]:  # also from a round before the last that silos did
        kept = type(step.ledger)([entry for entry in step.ledger.entries if entry.round <= step.state.round])
        found = again.run(parts.algorithm, 4, resume=(step.state, kept))
        assert same(found[-1].state.algorithm, alone[-1].state.algorithm)


def test_a_client_that_fails_ends_the_run_with_its_name(tmp_path):
    parts = given("fedavg")
    met = Met(parts.problem.clients, tmp_path, parts.problem.start)

    class Odd(type(parts.problem.clients[0])):
        def loss(self, w, batch=None):
            raise FederationError("the file of patients is damaged")

    client = parts.problem.clients[1]
    odd = object.__new__(Odd)
    odd.__dict__.update(vars(client))
    met.line.silos[101] = replace(met.line.silos[101], client=odd)
    object.__setattr__(odd, "gradient", lambda w, batch=None: odd.loss(w))
    with pytest.raises(FederationError, match=r"round 1, local_descent: silo east: .*damaged"):
        met.run(parts.algorithm)
