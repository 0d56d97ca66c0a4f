"""Records of toy problems from plain settings, of spectra along a run, and of estimates for networks."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from hidden_folder import in_folder
from recording import refused

from algorithms.central_training import CentralTraining
from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.tree import Tree
from runs.command import MANY_WEIGHTS, _model_in_words
from runs.cost import _bytes_of, _mean_samples
from runs.estimate import estimate
from runs.experiments import Trial, _unevaluated
from runs.listing import FoundRun
from runs.network_problem import NetworkClients, NetworkProblem
from runs.networks.network_function import Labelled, network_of
from runs.plan import Parts, make_plan
from runs.problems import (
    MANY,
    HeterogeneousLegendre,
    Legendre,
    PopulationRegression,
    Quadratics,
    Regression,
    Ridges,
    Toy,
)
from runs.settings import Conduct
from runs.spectrum import SpectrumTable
from workloads.partition import Parts as Division

DOUBLE = torch.float64
SMALL = {"clients": 3, "rows": 3, "columns": 2}
TOYS = (
    Quadratics(**SMALL, heterogeneity=0.25),
    Quadratics(**SMALL, least_curvature=-0.05),
    Legendre(**SMALL, samples=4),
    HeterogeneousLegendre(**SMALL, samples=4),
    Regression(**SMALL, samples=5),
    PopulationRegression(**SMALL),
    Ridges(**SMALL, samples=4),
    Ridges(**SMALL, samples=4, profile="welsch", heterogeneity=1.5),
)


def _numbers(problem):
    moved = Tree({name: value + 1.0 for name, value in problem.start.items()})
    clients = [problem.clients[k] for k in (0, 2)]
    losses = [[float(client.loss(w)) for client in clients] for w in (problem.start, moved)]
    return [losses, [client.samples for client in clients], [list(value.shape) for value in problem.start.values()]]


def toy_problems_of_two_seeds():
    return [_numbers(toy.build(seed)) for toy in TOYS for seed in (0, 1)]


def toy_problems_on_demand():
    for toy in TOYS:
        if type(toy)._on_demand is not Toy._on_demand:
            yield _numbers(toy._on_demand(0))[:2], _numbers(toy._on_demand(1))[0]


def sizes_of_toy_problems():
    for toy in TOYS:
        many = [replace(toy, clients=clients).on_demand for clients in (MANY, MANY + 1)]
        yield toy.entries, many, [replace(toy, rows=rows, columns=1000, clients=2).on_demand for rows in (1, 16, 40)]
    for clients, columns in ((4, 11180), (4, 11181), (5, 10000), (5, 10001), (1, 30000)):
        yield replace(Quadratics(rows=1), clients=clients, columns=columns).on_demand


def toy_problems_that_are_refused():
    for given in (
        {"clients": 0},
        {"rows": 0},
        {"columns": 0},
        {"heterogeneity": -0.1},
        {"heterogeneity": float("nan")},
        {"heterogeneity": 0.0, "least_curvature": 1.0},
        {"least_curvature": 1.01},
        {"clients": 1, "rows": 10**7, "columns": 10**7},
    ):
        found = refused(lambda given: Quadratics(**given).build(0), given)
        yield found.partition(", ")[0] if isinstance(found, str) else len(found.clients)
    yield refused(Quadratics().build, 0, "cuda"), refused(Legendre, samples=0), refused(Legendre, target_rank=0)
    yield [Toy.suggest(given) for given in ({}, {"epochs": 2}, {"epochs": None})]


def _network(parts=((0, 1, 2, 3), (4, 5), (6,))):
    module = torch.nn.Linear(2, 3).to(DOUBLE)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[0.5, -0.25], [0.125, 1.0], [-0.5, 0.75]]))
        module.bias.zero_()
    x = torch.arange(14, dtype=DOUBLE).reshape(7, 2) % 5 - 2
    data = Labelled(x, torch.arange(7) % 3)
    network, start = network_of(module, torch.nn.functional.cross_entropy, None, "averaged")
    clients = NetworkClients(network, data, Division.join([np.array(part) for part in parts]))
    return NetworkProblem("made", clients, start, {"test": data})


def estimates_for_networks():
    problem = _network()
    for method, given, done, evaluation in (
        (FedAvg(Descent(steps=2, learning_rate=0.1)), {}, 0, 0.5),
        (FedAvg(Descent(steps=2, learning_rate=0.1)), {"cohort": 2}, 1, None),
        (FedAvg(Descent(epochs=2, batch=2, learning_rate=0.1)), {"cohort": 1}, 4, 0.5),
        (FedAvg(Descent(steps=2, learning_rate=0.1)), {}, 3, 0.5),
        (FedAvg(Descent(steps=2, learning_rate=0.1)), {}, 10, 0.5),
        (CentralTraining(Descent(epochs=1, batch=2, learning_rate=0.1)), {}, 0, 0.5),
    ):
        conduct = Conduct(10, evaluate_every=4, workers=2)
        plan = make_plan("fedavg", "quadratics", {"clients": 3, **given}, conduct)
        found = estimate(plan, Parts(method, problem, None), done, evaluation)
        yield found.steps, found.evaluations, found.evaluation, found.workers
    toy = Parts(FedAvg(Descent(steps=1, learning_rate=0.1)), TOYS[0].build(0), None)
    yield estimate(plan, toy, 0, None), estimate(plan, Parts(SimpleNamespace(), problem, None), 0, None)


def samples_of_local_steps():
    sizes = np.array([4.0, 2.0, 1.0])
    for given in ({"steps": 3}, {"steps": 3, "batch": 2}, {"epochs": 2, "batch": 2}, {"steps": 1, "batch": 9}):
        yield _mean_samples(Descent(learning_rate=0.1, **given), sizes)
    entries = [SimpleNamespace(direction=way, bytes=size) for way, size in (("down", 3), ("up", 5), ("down", 4))]
    yield _bytes_of(entries), _bytes_of([])


def models_in_words():
    for model in ("resnet10", "convnet", "hf:minilm", "a:b"):
        plan = replace(make_plan("fedavg", "mnist", {}), settings={"model": model})
        yield [_model_in_words(plan, weights) for weights in (MANY_WEIGHTS, MANY_WEIGHTS + 1)]
    yield _model_in_words(make_plan("fedavg", "quadratics", {}), 2 * MANY_WEIGHTS)


def rounds_without_an_evaluation():
    trial = Trial("a line", "fedavg", "ridges", 6, {"evaluate_every": 2})
    for evaluated, done in (((0, 2, 4, 6), 6), ((0, 2, 4), 6), ((0, 4), 4), ((0, 3), 3), ((0,), 1), ((0, 2, 4, 6), 9)):
        rows = [{"round": k, "bytes_up": 0, **({"loss": 1.0} if k in evaluated else {})} for k in range(done + 1)]
        run = FoundRun(Path("x"), "fedavg", "ridges", {}, {}, 9, rows, {})
        yield _unevaluated(run, trial), _unevaluated(run, replace(trial, settings={}))


class _Table(SpectrumTable):
    def _rows_at(self, state, quantities):
        from hessian.numerics.symmetric import CurvatureError

        if state.round == 4:
            raise CurvatureError("it is not finite")
        return [{"round": state.round, "quantity": "sharpness", "value": 1.5, "low": 1.0, "high": 2.0}]


@in_folder
def tables_of_spectra(folder):
    said = []

    def table():
        return _Table(folder / "spectrum.csv", None, 2, ("sharpness",), 3, said.append, None)

    def state(number):
        return SimpleNamespace(round=number)

    one = table()
    for number in range(6):
        one.measure(state(number))
    one.measure(state(2))
    one.measure(state(4))
    yield (folder / "spectrum.csv").read_text(), said
    other = table()
    other.resume(state(2))
    yield [row["round"] for row in other.rows]
    other.measure(state(6))
    other = table()
    other.resume(state(1))
    yield [row["round"] for row in other.rows], (folder / "spectrum.csv").read_text()


@in_folder
def spectra_that_are_refused(folder):
    parts = Parts(FedAvg(Descent(steps=1, learning_rate=0.1)), _network(), None)
    toy = Parts(None, TOYS[0].build(0), None)
    for given, of in (
        ({}, parts),
        ({"spectrum_quantities": "sharpness"}, parts),
        ({"spectrum": 2}, toy),
        ({"spectrum": 2}, parts),
        ({"spectrum": 3, "spectrum_quantities": "sharpness, trace"}, parts),
        ({"spectrum": 3, "spectrum_quantities": "density"}, parts),
        ({"spectrum": 3, "spectrum_quantities": "nothing"}, parts),
    ):
        plan = replace(make_plan("fedavg", "quadratics", {"seed": 4}), conduct=Conduct(**given))
        found = refused(SpectrumTable.of, plan, of, folder / "spectrum.csv", print)
        yield [found.every, [str(one) for one in found.quantities], found.seed] if hasattr(found, "every") else found
    (folder / "spectrum.csv").write_text("mine")
    plan = replace(plan, conduct=Conduct(spectrum=1))
    yield refused(SpectrumTable.of, plan, parts, folder / "spectrum.csv", print)


@in_folder
def a_spectrum_of_a_network(folder):
    problem = _network()
    parts = Parts(SimpleNamespace(weights=lambda state: problem.start), problem, None)
    plan = replace(make_plan("fedavg", "quadratics", {}), conduct=Conduct(spectrum=1))
    table = SpectrumTable.of(plan, parts, folder / "spectrum.csv", print)
    return table._rows_at(SimpleNamespace(round=3, algorithm=None), table.quantities)
