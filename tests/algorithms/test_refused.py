"""One-line errors of algorithms and federations where results would be meaningless."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from algorithms.adapter import Adapter
from algorithms.central_training import CentralTraining
from algorithms.descent import Descent
from algorithms.executors.processes import Processes
from algorithms.fed_sb import FedSB
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError, Reply, Sequential
from algorithms.fedhm import FedHM
from algorithms.fedlin import FedLin
from algorithms.fedlrt import FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.fedpara import FedPara
from algorithms.fedprox import FedProx
from algorithms.fedsa_lora import FedSALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.frlora import FRLoRA
from algorithms.low_rank import Truncation
from algorithms.mfedloru import NestedFedLoRU
from algorithms.optimisers import Sgd, Velocity
from algorithms.rounds import one_round, rounds
from algorithms.scaffold import Scaffold
from algorithms.schedules import Cosine, Step
from algorithms.tree import Tree
from toymodels.quadratic import random_quadratics
from toymodels.regression import regression

STEP = Descent(1, 0.5)


def quadratics(clients=3):
    return random_quadratics((4, 3), clients, np.random.default_rng(0))


def remembering(optimiser_state):
    return Descent(2, 0.1, optimiser=Sgd(0.9), optimiser_state=optimiser_state)


@pytest.mark.parametrize(
    "make",
    [
        lambda local: FedHM(local, 2),
        lambda local: FlexLoRA(local, Adapter(2)),
        lambda local: FRLoRA(local, Adapter(2)),
        lambda local: NestedFedLoRU(local, Adapter(2), 2, ranks=((1, 1),) * 3),
    ],
)
def test_no_optimiser_remembers_factors_that_are_new_in_every_round(make):
    with pytest.raises(FederationError, match=r"again in every round.*leave optimiser_state fresh"):
        make(remembering("personal"))
    assert list(rounds(make(remembering("fresh")), quadratics(), rounds=1))[-1].state.round == 1


@pytest.mark.parametrize("local", [Descent(2, 0.1, optimiser=Sgd(0.9)), Descent(2, 0.1, clip=1.0)])
def test_scaffold_takes_the_change_of_the_weights_for_gradients_of_plain_steps_only(local):
    with pytest.raises(FederationError, match="needs plain steps; leave optimiser and clip out, or choose control 'gr"):
        Scaffold(local)
    assert list(rounds(Scaffold(local, control="gradient"), quadratics(), rounds=1))[-1].state.round == 1


def test_scaffold_needs_a_rate_above_zero_in_some_step():
    still = Descent(2, Cosine(0.1, period=1, restart=False))
    assert still.rate(2) == 0.0
    with pytest.raises(FederationError, match=r"round 2, controlled_descent: the learning rate is 0 in all steps"):
        list(rounds(Scaffold(still), quadratics(), rounds=2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FedProx(Descent(), -0.5), "mu must be finite and at least 0, got -0.5"),
        (lambda: FedProx(Descent(), float("nan")), "mu must be finite and at least 0, got nan"),
        (lambda: Scaffold(Descent(), 0.0), "server_rate must be positive and finite, got 0.0"),
        (lambda: Scaffold(Descent(), control="both"), "control must be one of .*, got 'both'"),
        (lambda: FedSB(Descent(), Adapter(1), "adam"), "first_step must be one of .*, got 'adam'"),
        (lambda: FedSB(Descent(), Adapter(1), first_rate=0.0), "first_rate must be positive and finite, got 0.0"),
        (lambda: FedPara(Descent(), 0), "rank must be a whole number of at least 1, got 0"),
        (lambda: FedPara(Descent(), 1, initial="normal"), "initial must be one of .*, got 'normal'"),
        (lambda: FedSALoRA(Descent(), Adapter(1, rest="frozen"), True), "a frozen rest is the same at all clients"),
    ],
)
def test_values_out_of_their_range_are_named(make, message):
    with pytest.raises(FederationError, match=message):
        make()


@pytest.mark.parametrize(
    "local",
    [Descent(2, 0.1, optimiser=Sgd(0.9)), Descent(2, 0.1, clip=1.0), Descent(2, Cosine(0.1, period=4, per="step"))],
)
def test_line_9_as_printed_is_for_plain_steps_of_one_size(local):
    with pytest.raises(FederationError, match="plain steps at a constant rate within each round"):
        FedLin(local, as_printed=True)
    FedLin(local)
    FedLin(Descent(2, Cosine(0.1, period=4)), as_printed=True)


def test_nothing_travels_in_central_training():
    steps = list(rounds(CentralTraining(Descent(3, 0.1)), quadratics(), rounds=3))
    assert [(step.metrics["bytes_down"], step.metrics["bytes_up"]) for step in steps] == [(0, 0)] * 4
    assert steps[-1].metrics["loss"] < steps[0].metrics["loss"]


def test_a_personal_optimiser_continues_in_central_training():
    def last(state):
        algorithm = CentralTraining(Descent(2, 0.05, optimiser=Sgd(0.9), optimiser_state=state))
        return list(rounds(algorithm, quadratics(), rounds=2))[-1].metrics["loss"]

    def once():
        return list(rounds(CentralTraining(Descent(4, 0.05, optimiser=Sgd(0.9))), quadratics(), rounds=1))[-1]

    assert last("personal") == once().metrics["loss"] != last("fresh")


def answer(client, memory, found):
    return Reply(upload=found[int(memory.number)])


SENT = {
    "nothing": ((torch.ones(2), None), "client 1 sent a NoneType; a mean needs tensors"),
    "a number": ((torch.ones(2), 1.0), "client 1 sent a float; a mean needs tensors"),
    "another shape": ((torch.ones(2), torch.ones(1)), "client 1 sent a different structure .* same shapes and types"),
    "another type": (
        (torch.ones(2), torch.ones(2).double()),
        "client 1 sent a different structure .* same shapes and types",
    ),
    "another structure": ((torch.ones(2), (torch.ones(2),)), "client 1 sent a different structure"),
}


@pytest.mark.slow
@pytest.mark.parametrize("executor", [Sequential, lambda: Processes(2)], ids=["one process", "two workers"])
@pytest.mark.parametrize("case", SENT)
def test_a_mean_is_of_tensors_of_one_form(case, executor):
    found, message = SENT[case]
    executor = executor()
    fed = Federation(quadratics(2).clients, executor=executor)
    try:
        with pytest.raises(FederationError, match=message):
            fed.mean(answer, to=(0, 1), found=found)
    finally:
        getattr(executor, "close", lambda: None)()


WRITTEN = {
    "sent": lambda memory, w, own: w["W"],
    "sent to one": lambda memory, w, own: own["W"],
    "told": lambda memory, w, own: memory.shared["told"]["W"],
    "equipped": lambda memory, w, own: memory.personal["equipped"]["W"],
    "kept for the round": lambda memory, w, own: memory.kept["kept"]["W"],
    "kept for good": lambda memory, w, own: memory.personal["personal"]["W"],
}


WAYS = {
    "an operation in place": lambda weights: weights.sub_(1.0),
    "the data": lambda weights: weights.data.sub_(1.0),
    "numpy": lambda weights: np.subtract(weights.numpy(), 1.0, out=weights.numpy()),
    "one bit": lambda weights: weights.numpy().view(np.uint64).__ior__(np.eye(*weights.shape, dtype=np.uint64)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("where", WRITTEN)
def test_what_others_hold_too_is_not_the_clients_to_write_in(where, way):
    def keep(client, memory, w):
        return Reply(keep={"kept": w.map(torch.clone)}, personal={"personal": w.map(torch.clone)})

    def work(client, memory, w, own):
        WAYS[way](WRITTEN[where](memory, w, own))
        return Reply(upload=w)

    problem = quadratics()
    w = Tree(problem.start)
    fed = Federation(problem.clients, seed=0)
    fed.broadcast(told=w.map(torch.clone))
    fed.set_personal(equipped=w.map(torch.clone))
    fed.gather(keep, to=(0, 1), w=w)
    each = {"own": {number: w.map(torch.clone) for number in (0, 1)}}
    named = "" if where in ("sent", "told") and way != "an operation in place" else " 0"
    with pytest.raises(FederationError, match=f"client{named} changed in place a value from the server or one that it"):
        fed.mean(work, to=(0, 1), each=each, w=w)


def test_line_9_as_printed_needs_a_rate_and_naive_rounds_do_not():
    still = Descent(2, Cosine(0.05, period=2, restart=False))
    with pytest.raises(FederationError, match="the learning rate is 0"):
        list(rounds(FedLin(still, as_printed=True), quadratics(), rounds=3))
    assert list(rounds(NaiveFeDLRT(still, 2), quadratics(), rounds=3))[-1].state.round == 3


@pytest.mark.parametrize("cohort", [(3,), (-1,), (0, 0), (), (0.0, 1.0), "01"])
@pytest.mark.parametrize("ask", ["mean", "gather"])
def test_a_cohort_is_some_of_the_clients_each_once(ask, cohort):
    fed = Federation(quadratics().clients)
    with pytest.raises(FederationError, match="a cohort must be distinct clients from 0 to 2, got"):
        getattr(fed, ask)(answer, to=cohort, found=[torch.ones(1)] * 3)


@dataclass(frozen=True)
class Basis:
    """A user's state with a tensor called U."""

    U: torch.Tensor


class Own(FedAvg):
    def start(self, fed, w):
        return Basis(w["W"])

    def round(self, fed, cohort, state):
        return Basis(super().round(fed, cohort, Tree(W=state.U))["W"])

    def weights(self, state):
        return Tree(W=state.U)


def test_only_states_in_factors_have_a_rank():
    found = list(rounds(Own(STEP), quadratics(), rounds=1))[-1]
    assert "rank" not in found.metrics
    assert "rank" in list(rounds(FeDLRT(STEP, 2), quadratics(), rounds=1))[-1].metrics


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("make", [lambda: FeDLRT(STEP, 2), lambda: NaiveFeDLRT(STEP, 2), lambda: FedHM(STEP, 2)])
def test_decompositions_of_short_numbers_are_refused(make, dtype):
    class Short:
        samples = 1.0

        def loss(self, w, batch=None):
            return (w["W"] ** 2).sum()

    class Problem:
        clients, shares = (Short(),), None

        @property
        def start(self):
            return {"W": torch.ones(3, 3, dtype=dtype)}

        @property
        def measures(self):
            return {}

        def loss(self, w):
            return 1.0

    with pytest.raises(FederationError, match=r"numbers of this type .* use float32 or float64"):
        list(rounds(make(), Problem(), rounds=1))


@pytest.mark.parametrize("made", [quadratics, lambda: regression(3, 2, 2, np.random.default_rng(0))])
def test_a_problem_without_samples_takes_no_batches(made):
    with pytest.raises(FederationError, match=r"round 1.* use all of their data in each step"):
        list(rounds(FedAvg(Descent(1, 0.1, batch=1)), made(), rounds=1))


class Remembering(NamedTuple):
    velocity: Any


class Foreign(Sgd):
    """The momentum of `Sgd` in a state of another class."""

    def start(self, parameters):
        return Remembering(super().start(parameters).velocity)

    def step(self, parameters, gradient, state, rate):
        w, after = super().step(parameters, gradient, Velocity(state.velocity), rate)
        return w, Remembering(after.velocity)


def test_states_that_cannot_follow_moving_bases_are_refused():
    local = Descent(2, 0.1, optimiser=Foreign(0.9), optimiser_state="personal")
    list(rounds(FedAvg(local), quadratics(), rounds=2))
    for algorithm in (NaiveFeDLRT(local, 2), FeDLRT(local, 2)):
        with pytest.raises(FederationError, match="a Remembering does not support changing bases"):
            list(rounds(algorithm, quadratics(), rounds=2))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch": 8.0}, "batch must be a whole number of at least 1, got 8.0"),
        ({"steps": True}, "steps must be a whole number of at least 1, got True"),
        ({"epochs": 1.5}, "epochs must be a whole number of at least 1, got 1.5"),
        ({"learning_rate": lambda index: 0.1}, "which says what it counts"),
        ({"optimiser": torch.optim.SGD}, "an optimiser needs the methods start and step, as in algorithms.optimisers"),
    ],
)
def test_settings_of_another_kind_are_refused(given, message):
    with pytest.raises(FederationError, match=message):
        Descent(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": 0.5}, r"seed must be a whole number of at least 0, got 0\.5"),
        ({"rounds": -1}, "rounds must be a whole number of at least 0, got -1"),
        ({"rounds": 1.5}, r"rounds must be a whole number of at least 0, got 1\.5"),
        ({"cohort": 1.0}, r"cohort must be a whole number of at least 1, got 1\.0"),
        ({"cohort": True}, "cohort must be a whole number of at least 1, got True"),
        ({"cohort": 0}, "cohort must be a whole number of at least 1, got 0"),
        ({"evaluate_every": 0}, "evaluate_every must be a whole number of at least 1, got 0"),
    ],
)
def test_numbers_of_the_loop_are_checked(given, message):
    with pytest.raises(FederationError, match=message):
        next(rounds(FedAvg(Descent(1, 0.1)), quadratics(2), **{"rounds": 1, **given}))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adapter(2.0), "rank must be a whole number of at least 1, got 2.0"),
        (lambda: Adapter(2, seed=None), "seed must be a whole number of at least 0, got None"),
        (lambda: Truncation(least=1.0), "least must be a whole number of at least 0, got 1.0"),
        (lambda: Truncation(least=2, most=1), "most must be a whole number of at least 2, got 1"),
        (lambda: Cosine(0.1, period=1.5), "period must be a whole number of at least 1, got 1.5"),
        (lambda: Step(0.1, every=0), "every must be a whole number of at least 1, got 0"),
        (lambda: Processes(1.5), "workers must be a whole number of at least 1, got 1.5"),
        (lambda: Processes(1, threads=True), "threads must be a whole number of at least 1, got True"),
    ],
)
def test_whole_numbers_are_checked_everywhere(make, message):
    with pytest.raises(FederationError, match=message):
        make()


@pytest.mark.parametrize("named", [np.array([0, 2]), torch.tensor([0, 2]), range(0, 3, 2), [0, 2]])
def test_clients_of_a_round_may_stand_in_an_array(named):
    algorithm, problem, found = FedAvg(Descent(2, 0.1)), quadratics(), []
    for cohort in ((0, 2), named):
        fed = Federation(problem.clients)
        found.append(one_round(algorithm.round, fed, Tree(problem.start), cohort)["W"])
    assert torch.equal(*found)
    drawn = [
        one_round(lambda fed, cohort, state: cohort, Federation(problem.clients), 0, two) for two in (2, np.int64(2))
    ]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 2


@dataclass(frozen=True)
class Forgetful(FedAvg):
    """An algorithm whose round returns nothing."""

    def round(self, fed, cohort, w):
        super().round(fed, cohort, w)


def test_a_round_that_returns_nothing_is_named():
    with pytest.raises(FederationError, match=r"the weights of Forgetful must be tensors by name, not a NoneType;"):
        list(rounds(Forgetful(Descent(2, 0.1)), quadratics(), rounds=1))


@pytest.mark.parametrize("cohort", [2.0, {0, 1}, np.array(2.0)])
def test_what_is_no_cohort_is_named(cohort):
    with pytest.raises(FederationError, match="a cohort must be a number of clients, or a list of client numbers, got"):
        one_round(FedAvg(Descent(2, 0.1)).round, Federation(quadratics().clients), Tree(quadratics().start), cohort)


def test_a_run_beyond_the_rounds_that_are_asked_for_does_not_end_in_silence():
    algorithm, problem = FedAvg(Descent(2, 0.1)), quadratics()
    last = list(rounds(algorithm, problem, rounds=3))[-1]
    resume = last.state, last.ledger
    with pytest.raises(FederationError, match="is at round 3, past the requested last round, 2; raise rounds"):
        list(rounds(algorithm, problem, rounds=2, resume=resume))
    assert list(rounds(algorithm, problem, rounds=3, resume=resume)) == []
    assert [step.state.round for step in rounds(algorithm, problem, rounds=4, resume=resume)] == [4]
