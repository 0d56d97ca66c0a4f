"""Every name builds what it says, from the settings that concern it."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from algorithms.adapter import Adapter
from algorithms.central_training import CentralTraining
from algorithms.descent import Descent
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.executors.ray_actors import Actors
from algorithms.fed_sb import FedSB
from algorithms.fedavg import FedAvg
from algorithms.federation import FederationError, Sequential
from algorithms.fedex_lora import FedExLoRA
from algorithms.fedhm import FedHM
from algorithms.fedlin import FedLin
from algorithms.fedlora import FedLoRA
from algorithms.fedloru import FedLoRU
from algorithms.fedloru_finetuning import FineTuneFedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.fedpara import FedPara, PersonalFedPara
from algorithms.fedprox import FedProx
from algorithms.fedsa_lora import FedSALoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.flora import FLoRA
from algorithms.frlora import FRLoRA
from algorithms.hetlora import HetLoRA
from algorithms.kernels import layer_names
from algorithms.local_training import LocalTraining
from algorithms.lora_fair import LoRAFair
from algorithms.low_rank import Truncation
from algorithms.mfedloru import NestedFedLoRU
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rbla import RBLA
from algorithms.rolora import RoLoRA
from algorithms.rounds import rounds
from algorithms.scaffold import Scaffold
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from runs.catalogue import ALGORITHMS, CONDUCT, EXECUTORS, PROBLEMS, TOYS, executor_of, options_of
from runs.plan import make_plan, parts_of
from runs.settings import Conduct, RunError
from workloads.image_networks.models import ADAPTED, LAYERS, MODELS, ModelSettings
from workloads.image_networks.models import model as build

GIVEN = {
    "clients": 3,
    "cohort": 2,
    "steps": 7,
    "learning_rate": 0.03,
    "rank": 4,
    "tau": 5,
    "restart": "keep A",
    "scale": 1.5,
    "truncation": 0.2,
    "rows": 6,
    "columns": 5,
    "heterogeneity": 0.25,
    "samples": 11,
    "seed": 8,
    "target_rank": 4,
}


def made(algorithm="fedavg", problem="quadratics", **given):
    """The parts of a run of the given values, as far as the algorithm and the problem take them."""
    known = options_of(algorithm, problem, {})
    return parts_of(make_plan(algorithm, problem, {k: v for k, v in {**GIVEN, **given}.items() if k in known}))


def algorithm_of(name, **given):
    return made(name, **given).algorithm


def problem_of(name, **given):
    return made("fedavg", name, **given).problem


def steps(problem, algorithm, **options):
    return rounds(algorithm, problem, **options)


LOCAL, ADAPTER, CUT = Descent(7, 0.03), Adapter(4, 1.5, 8), Truncation(0.2)
BUILT = {
    "fedavg": FedAvg(LOCAL),
    "fedlin": FedLin(LOCAL),
    "fedlrt": FeDLRT(LOCAL, 4, CUT, "simplified"),
    "fedlrt-full": FeDLRT(LOCAL, 4, CUT, "full"),
    "fedlrt-plain": FeDLRT(LOCAL, 4, CUT, "none"),
    "fedlora": FedLoRA(LOCAL, ADAPTER),
    "ffa-lora": FFALoRA(LOCAL, ADAPTER),
    "rolora": RoLoRA(LOCAL, ADAPTER),
    "flexlora": FlexLoRA(LOCAL, ADAPTER),
    "fedloru": FedLoRU(LOCAL, ADAPTER, 5, "keep A"),
    "fedloru-finetune": FineTuneFedLoRU(LOCAL, ADAPTER, 5, "keep A"),
    "pfedloru": PersonalFedLoRU(LOCAL, ADAPTER, 5, "keep A", personal=LOCAL, personal_adapter=Adapter(1, 1.5, 9)),
    "pfedlora-1": PersonalFedLoRA(LOCAL, LOCAL, ADAPTER),
    "pfedlora-2": PersonalFedLoRA(LOCAL, LOCAL, ADAPTER, jointly=True),
    "fedlrt-naive": NaiveFeDLRT(LOCAL, 4, CUT),
    "rolora-exact": ExactRoLoRA(0.03),
    "fedhm": FedHM(LOCAL, 4),
    "local": LocalTraining(LOCAL),
    "central": CentralTraining(LOCAL),
    "mfedloru": NestedFedLoRU(LOCAL, ADAPTER, 5, "keep A", ranks=((2, 2),) * 3),
    "flora": FLoRA(LOCAL, ADAPTER),
    "fedex-lora": FedExLoRA(LOCAL, ADAPTER),
    "rbla": RBLA(LOCAL, ADAPTER),
    "hetlora": HetLoRA(LOCAL, ADAPTER),
    "lora-fair": LoRAFair(LOCAL, ADAPTER),
    "fedprox": FedProx(LOCAL),
    "scaffold": Scaffold(LOCAL),
    "fedsa-lora": FedSALoRA(LOCAL, ADAPTER),
    "frlora": FRLoRA(LOCAL, ADAPTER),
    "fed-sb": FedSB(LOCAL, ADAPTER),
    "fedpara": FedPara(LOCAL, 4, seed=8),
    "pfedpara": PersonalFedPara(LOCAL, 4, seed=8),
}
m, n, r = 6, 5, 2
TRAVELS = {  # numbers per client in the second round, down and up, and its trips; methods.md has those of all methods
    "fedavg": (m * n, m * n, 1),
    "fedlin": (2 * m * n, 2 * m * n, 2),
    "fedlrt-plain": (2 * (m + n) * r + r * r, (m + n) * r + 4 * r * r, 2),
    "fedlrt": (2 * (m + n) * r + 2 * r * r, (m + n) * r + 5 * r * r, 2),
    "fedlrt-full": (2 * (m + n) * r + 5 * r * r, (m + n) * r + 8 * r * r, 3),
    "fedlora": ((m + n) * r, (m + n) * r, 1),
    "ffa-lora": (n * r, n * r, 1),
    "rolora": ((m + n) * r, (m + n) * r, 2),
    "flexlora": ((m + n) * r, (m + n) * r, 1),
    "fedloru": ((m + n) * r, (m + n) * r, 1),
    "fedloru-finetune": ((m + n) * r, (m + n) * r, 1),
    "pfedloru": ((m + n) * r, (m + n) * r, 1),
    "pfedlora-1": (m * n, m * n, 1),
    "pfedlora-2": (m * n, m * n, 1),
    "fedlrt-naive": ((m + n) * r + r * r, (m + n) * 2 * r + 4 * r * r, 1),
    "rolora-exact": (m + n, m + n, 2),
    "fedhm": ((m + n) * r, (m + n) * r, 1),
    "local": (0, 0, 0),
    "central": (0, 0, 0),
    "mfedloru": ((m + n) * r, m + r + r + n, 1),
    "flora": (3 * (m + n) * r, (m + n) * r, 1),  # the stacked factors of three clients
    "fedex-lora": (3 * (m + n) * r, (m + n) * r, 1),  # the factors, and a residual of two columns fewer than those
    "rbla": ((m + n) * r, (m + n) * r, 1),
    "hetlora": ((m + n) * r, (m + n) * r + 1, 2),  # whether it prunes, and its factors
    "lora-fair": ((m + n) * r, (m + n) * r, 1),
    "fedprox": (m * n, m * n, 1),
    "scaffold": (2 * m * n, 2 * m * n, 1),
    "fedsa-lora": (m * r, m * r, 1),
    "frlora": ((m + n) * r, (m + n) * r, 1),
    "fed-sb": (r * r, r * r, 1),
    "fedpara": (2 * (m + n) * r, 2 * (m + n) * r, 1),
    "pfedpara": ((m + n) * r, (m + n) * r, 1),
}


def test_every_name_has_its_algorithm_here():
    assert set(ALGORITHMS) == set(BUILT), "give BUILT, in this file, a line for each name"


@pytest.mark.parametrize("name", BUILT)
def test_a_name_builds_its_algorithm(name):
    assert algorithm_of(name) == BUILT[name]


def test_ranks_that_are_given_take_the_place_of_half_the_rank():
    built = algorithm_of("mfedloru", client_ranks=(4, 1, 2))
    assert built == replace(BUILT["mfedloru"], ranks=(), client_ranks=(4, 1, 2))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_two_options_of_a_run_have_one_name(name, problem):
    options = options_of(name, problem, {}, every=True)
    assert all(option.help for option in options.values()), [name for name, o in options.items() if not o.help]
    assert not {option.flag for option in options.values()} & {"--rounds", "--root", "--save-every", "--data", "--out"}


@pytest.mark.parametrize("name", TRAVELS)
def test_a_name_makes_the_trips_of_its_box(name):
    given = {"rank": r, "steps": 1, "truncation": 0.0, "cohort": None}
    problem = problem_of("regression", **given)
    # From a full matrix, so that FeDLRT starts at the rank asked for.
    wide = replace(problem, start={"W": torch.eye(m, n, dtype=torch.float64)})
    last = list(steps(wide, algorithm_of(name, **given), rounds=1))[-1].ledger
    assert (last.count("down", 1) / 3, last.count("up", 1) / 3, last.trips(1)) == TRAVELS[name]


def on_graphics(share):
    return Conduct(executor="ray", device="cuda", gpus_per_worker=share)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: made("fedlrtt"), r"unknown algorithm 'fedlrtt'; did you mean fedlrt\?"),
        (lambda: made("sgd"), "unknown algorithm 'sgd'; known: fedavg, fedlin"),
        (lambda: made("fedavg", "quadratic"), r"unknown problem 'quadratic'; did you mean quadratics\?"),
        (lambda: executor_of("rays"), r"unknown executor 'rays'; did you mean ray\?"),
        (lambda: Conduct(address="auto"), "address and gpus_per_worker require executor ray: choose it"),
        (lambda: Conduct(gpus_per_worker=0.25), "address and gpus_per_worker require executor ray: choose it"),
        (lambda: Conduct(executor="ray", address=""), "address must name a Ray cluster"),
        (lambda: on_graphics(-1.0), "GPUs of a worker must be a fraction such as .* or a whole number, got -1"),
        (lambda: on_graphics(1.5), "GPUs of a worker must be a fraction such as .* or a whole number, got 1.5"),
        (lambda: on_graphics(1e-5), "at least 0.0001, or a whole number, got 1e-05"),
        (lambda: on_graphics(float("inf")), "or a whole number, got inf"),
        (lambda: Conduct(executor="ray", gpus_per_worker=1.0), "for these only, got 1.0 for cpu"),
        (
            lambda: Conduct(executor="ray", device="cuda"),
            "required for GPU devices and for these only, got None for cuda",
        ),
        (lambda: make_plan("fedavg", "quadratics", {"tau": 3}), "fedavg on quadratics takes no --tau"),
        (lambda: made(rows=10**6), r"takes [\d,]+ GB, [\d,]+ GB are here; lower rows"),
        (lambda: made(rows=2**62, columns=2**62), "lower rows"),
        (lambda: made(clients=0, cohort=None), "clients must be a whole number of at least 1, got 0"),
        (lambda: made(heterogeneity=-1.0), "heterogeneity must be at least 0"),
        (lambda: made(cohort=4), "cohort must be at most the number of clients, 3, got 4"),
        (
            lambda: parts_of(make_plan("fedavg", "quadratics", {"device": "cuda:7"})),
            "toy problems are computed on the cpu",
        ),
    ],
)
def test_what_does_not_serve_is_named(wrong, message):
    with pytest.raises(RunError, match=message):
        wrong()


def test_executors_are_what_they_are_called():
    assert isinstance(executor_of("sequential"), Sequential)
    assert isinstance(executor_of("vmap"), Vmap)
    assert set(EXECUTORS) == set(CONDUCT.options({})["executor"].words)


def test_actors_are_as_many_and_where_they_are_asked_for():
    pytest.importorskip("ray")
    actors = executor_of("ray", 3, gpus_per_worker=0.25)  # starts nothing
    assert isinstance(actors, Actors)
    assert (actors.workers, actors.address, actors.graphics) == (3, "local", 0.25)
    with pytest.raises(FederationError, match=r"no Ray cluster answers at 127\.0\.0\.1:1 "):
        executor_of("ray", 3, "127.0.0.1:1")


def test_ray_needs_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(FederationError, match=r"Ray is not installed: pip install 'rankproof\[ray\]'"):
        executor_of("ray", 2)


HELD = {  # for three clients, weights 6 x 5 and 11 samples
    "quadratics": 3 * 30 * 30,  # a curvature each
    "indefinite-quadratics": 3 * 30 * 30,
    "legendre": 3 * (11 + 30) * 30,  # the features of the samples, and a curvature
    "legendre-heterogeneous": 3 * (11 + 30) * 30,
    "regression": 3 * (6 * 6 + 6 * 5) + 11 * 6,  # a Gram matrix and a target each, and the samples of one of them
    "regression-population": 3 * (6 * 6 + 6 * 5),
    "ridges": 3 * 11 * 30,  # a direction for each sample
    "ridges-nonconvex": 3 * 11 * 30,
}


@pytest.mark.parametrize("name", TOYS)
def test_the_memory_of_a_problem_is_told_before_it_is_made(name, monkeypatch):
    kept = sum(part.numel() for client in problem_of(name).clients for part in client.tensors().values())
    assert 0.5 * kept < HELD[name]
    sizes = {"SC_PAGE_SIZE": 8, "SC_PHYS_PAGES": HELD[name]}
    monkeypatch.setattr("os.sysconf", sizes.__getitem__)
    assert problem_of(name).start["W"].shape == (6, 5)
    sizes["SC_PHYS_PAGES"] -= 1
    with pytest.raises(RunError, match="a problem of this size takes 0 GB, 0 GB are here; lower rows, columns"):
        problem_of(name)


def test_memory_that_runs_out_is_one_line(monkeypatch):
    def full(*given, **settings):
        raise MemoryError

    monkeypatch.setattr("runs.problems.ridge_problem", full)
    with pytest.raises(RunError, match="a problem of this size does not fit in memory; lower rows, columns"):
        problem_of("ridges")


@pytest.mark.parametrize("name", TOYS)
def test_a_problem_has_the_clients_and_shapes_asked_for(name):
    problem = problem_of(name)
    assert len(problem.clients) == len(problem.shares) == 3
    assert problem.start["W"].shape == (6, 5)
    sizes = {client.samples for client in problem.clients}
    # All clients of Legendre with a target each have all points.
    assert sizes == {
        {
            "legendre-heterogeneous": 33.0,
            **dict.fromkeys(("legendre", "regression", "ridges", "ridges-nonconvex"), 11.0),
        }.get(name, 1.0)
    }
    start = problem.start["W"]
    assert torch.equal(problem_of(name).start["W"], start)
    assert not torch.equal(problem_of(name, seed=9).start["W"], start)
    assert problem_of(name).loss(problem.start) == problem.loss(problem.start)


@pytest.mark.parametrize("name", ["quadratics", "indefinite-quadratics", "regression", "regression-population"])
def test_heterogeneity_is_how_much_clients_differ(name):
    def spread(size):
        problem = problem_of(name, heterogeneity=size, samples=40)
        slopes = [client.gradient(Tree(W=torch.zeros(6, 5).double()))["W"] for client in problem.clients]
        return float((slopes[0] - slopes[1]).abs().max())

    if name != "regression":  # its samples differ
        assert spread(0.0) == pytest.approx(0.0, abs=1e-12)
    assert spread(0.5) > 1e-2
    assert spread(4.0) > 2 * spread(0.5)


def test_problems_are_what_they_are_called():
    low, high = problem_of("quadratics", clients=1, cohort=None).facts["curvature"]
    assert (low, high) == pytest.approx((0.1, 1.0))
    low, high = problem_of("indefinite-quadratics", clients=1, cohort=None).facts["curvature"]
    assert (low, high) == pytest.approx((-0.05, 1.0))
    assert problem_of("ridges").facts["curvatures"][0] == 0.0
    assert problem_of("ridges-nonconvex").facts["curvatures"][0] == pytest.approx(-2 * np.exp(-1.5))
    identity = torch.eye(6).double()
    assert all(torch.equal(client.G, identity) for client in problem_of("regression-population").clients)
    assert not any(torch.equal(client.G, identity) for client in problem_of("regression").clients)
    one = problem_of("legendre", samples=200)
    assert torch.linalg.matrix_rank(one.facts["target"]) == 4
    assert one.least == pytest.approx(0.0, abs=1e-12)
    assert problem_of("legendre-heterogeneous", samples=200).least > 1e-3
    assert one.facts["basis"] == problem_of("legendre-heterogeneous").facts["basis"] == "uniform"
    start = problem_of("quadratics").start["W"]
    assert float(torch.linalg.matrix_norm(start)) < 2.0  # a tenth of a target


def test_a_run_uses_cohort_seed_and_executor():
    problem, algorithm = problem_of("quadratics"), algorithm_of("fedavg")

    def end(**options):
        return list(steps(problem, algorithm, rounds=3, **options))[-1]

    assert end(cohort=2).ledger.count("up") == 3 * 2 * 30
    assert end().ledger.count("up") == 3 * 3 * 30
    losses = [end(cohort=1, seed=seed).metrics["loss"] for seed in range(4)]
    assert len(set(losses)) > 1
    assert end(cohort=1).metrics["loss"] == losses[0]
    with pytest.raises(Exception, match="cannot be stacked"):
        list(steps(replace(problem, clients=tuple(map(Bare, problem.clients))), algorithm, rounds=1, executor=Vmap()))


class Bare:
    def __init__(self, client):
        self.samples, self.loss = client.samples, client.loss


def test_steps_report_every_round_and_what_is_known():
    problem, algorithm = problem_of("quadratics"), algorithm_of("fedlrt")
    found = list(steps(problem, algorithm, rounds=2))
    assert [step.metrics["round"] for step in found] == [step.state.round for step in found] == [0, 1, 2]
    for step in found:
        W = algorithm.weights(step.state.algorithm)
        assert step.metrics["loss"] == problem.loss(W)
        assert step.metrics["distance"] == problem.measures["distance"](W)
        assert step.metrics["rank"] == step.state.algorithm.S["W"].shape[0]
    last = found[-1]
    assert last.metrics["bytes_down"] == last.ledger.bytes("down") > last.metrics["bytes_up"] == last.ledger.bytes("up")
    plain = list(steps(problem, algorithm_of("fedavg"), rounds=1))[-1]
    assert "rank" not in plain.metrics


def test_clients_are_weighted_as_the_problem_says():
    problem = replace(problem_of("quadratics"), shares=(1.0, 0.0, 0.0))
    alone = replace(problem, clients=problem.clients[:1], shares=(1.0,))
    algorithm = algorithm_of("fedavg")
    ends = [list(steps(given, algorithm, rounds=2))[-1].metrics["loss"] for given in (problem, alone)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_layers_that_are_factorised_by_default_are_those_of_the_network(model):
    plan = make_plan("fedloru", "fashion-mnist", {"model": model})
    assert plan.settings["layers"] == LAYERS[model]
    two_layer = model.startswith("two-layer")
    small = None if two_layer else {"vit": 64}.get(model, 8)
    network = build(model, ModelSettings(10, 1, 28, width=small, adapt="pad" if model in ADAPTED else "none"))
    shapes = [(name, parameter.shape) for name, parameter in network.named_parameters()]
    chosen = layer_names(shapes, LAYERS[model])
    assert 0 < len(chosen) < sum(len(shape) >= 2 for _, shape in shapes)
    assert not {shapes[0][0], shapes[-2][0]} & set(chosen) or two_layer or model == "perceptron"
    assert make_plan("fedloru", "fashion-mnist", {"model": model, "layers": "head*"}).settings["layers"] == "head*"
