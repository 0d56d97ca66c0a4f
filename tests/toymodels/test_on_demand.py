"""Clients of toy problems on demand: always the same client, of the same law, and none of them is stored."""

import pickle
from itertools import product
from math import inf

import numpy as np
import pytest
import torch

from algorithms.central_training import CentralTraining
from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError
from algorithms.rounds import one_round, rounds
from algorithms.tree import Tree
from runs.plan import make_plan, parts_of
from runs.problems import HeterogeneousLegendre, Legendre, PopulationRegression, Quadratics, Regression, Ridges
from runs.settings import RunError
from toymodels.legendre import homogeneous_on_demand
from toymodels.on_demand import SAMPLED, ClientsOnDemand, sampled_problem
from toymodels.problem import ProblemError
from toymodels.quadratic import centred, quadratics_on_demand, random_quadratics
from toymodels.regression import regression_on_demand
from toymodels.ridges import Pieces, ridge_problem, ridges_on_demand

KINDS = [Quadratics, Legendre, Regression, PopulationRegression, Ridges]
MILLION = 1_000_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_million_clients_are_drawn_one_by_one(kind):
    problem, again = kind(MILLION, 3, 2).build(7), kind(MILLION, 3, 2).build(7)
    assert len(problem.clients) == len(problem.clients.sizes) == len(problem.shares) == MILLION
    w = {"W": torch.arange(6.0, dtype=torch.float64).reshape(3, 2) / 7}
    for number in (0, 999_999, 31):
        one, two = problem.clients[number], pickle.loads(pickle.dumps(again.clients))[number]
        assert torch.equal(one.loss(w), two.loss(w))
        assert one.samples == problem.clients.sizes[number]
    assert torch.equal(problem.clients[-1].loss(w), problem.clients[MILLION - 1].loss(w))
    assert len({float(client.loss(w)) for client in problem.clients[5:8]}) == 3
    with pytest.raises(IndexError):
        problem.clients[MILLION]
    first = [float(problem.clients[k].loss(w)) for k in range(SAMPLED)]
    assert problem.loss(w) == pytest.approx(np.mean(first), rel=1e-12)
    other = kind(MILLION, 3, 2).build(8)
    assert float(other.clients[0].loss(w)) != first[0]
    assert not torch.equal(other.start["W"], problem.start["W"])


@pytest.mark.parametrize("kind", KINDS)
def test_clients_on_demand_have_the_law_of_the_others(kind, monkeypatch):
    """Means over fifty clients of the loss at 0, for eight seeds each."""
    monkeypatch.setattr("toymodels.on_demand.SAMPLED", 1)
    w = {"W": torch.zeros(2, 2, dtype=torch.float64)}
    found = []
    for clients in (100, 60_000):
        values = []
        for seed in range(8):
            problem = kind(clients, 2, 2).build(seed)
            values.append(np.mean([float(problem.clients[k].loss(w)) for k in range(0, clients, clients // 50)]))
        found.append(values)
    one, two = np.array(found)
    error = np.sqrt(one.var() / len(one) + two.var() / len(two))
    assert abs(one.mean() - two.mean()) < 5 * error


def test_the_border_is_the_same_on_every_machine():
    assert not Quadratics(50_000, 1, 2).on_demand
    assert Quadratics(50_001, 1, 2).on_demand
    assert isinstance(Quadratics(50_001, 1, 2).build(0).clients, ClientsOnDemand)
    assert isinstance(Quadratics(50, 1, 2).build(0).clients, tuple)
    assert not Quadratics(1220, 16, 40).on_demand  # 3.998 GB
    assert Quadratics(1221, 16, 40).on_demand
    assert not Quadratics(1, 300, 300).on_demand
    with pytest.raises(RunError, match="a problem of this size takes"):
        HeterogeneousLegendre(MILLION).build(0)  # every client has the points of all


def test_problems_of_before_keep_their_numbers():
    """Draws one after the other from one generator, as by hand."""
    rng, shape = np.random.default_rng(3), (3, 2)

    def curvature():
        basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        values = np.concatenate([[0.1, 1.0], rng.uniform(0.1, 1.0, 4)])
        return basis * values @ basis.T

    def target(size):
        return size * (rng.standard_normal((3, 2)) @ rng.standard_normal((2, 2))) / np.sqrt(2)

    common, _ = target(1.0), curvature()
    made = []
    for _ in range(3):
        centre = common + target(0.5)
        made.append(centred(curvature(), centre))
    start = target(0.1)
    found = random_quadratics(shape, 3, np.random.default_rng(3), heterogeneity=0.5, scale=0.1)
    assert torch.equal(found.start["W"], torch.from_numpy(start))
    for one, two in zip(found.clients, made, strict=True):
        assert torch.equal(one.H, two.H)
        assert torch.equal(one.B, two.B)
    rng = np.random.default_rng(4)
    common = rng.standard_normal(shape)
    for client in ridge_problem(shape, 2, np.random.default_rng(4), samples=5, heterogeneity=0.3).clients:
        D = rng.standard_normal((5, *shape))
        D /= np.linalg.norm(D, axis=(1, 2), keepdims=True)
        expected = (D * (common + 0.3 * rng.standard_normal(shape))).sum(axis=(1, 2))
        assert torch.equal(client.y, torch.from_numpy(expected))


def test_a_run_draws_its_cohort_and_what_is_evaluated_alone():
    drawn = []

    def make(rng):
        drawn.append(1)
        return centred(np.eye(6), rng.standard_normal((3, 2)))

    clients = ClientsOnDemand(make, MILLION, 0)
    problem = sampled_problem("counted", clients, torch.zeros(3, 2, dtype=torch.float64), 1.0, int(256e6 / 8 / 20))
    assert len(drawn) == len(problem.sampled) == 20
    last = list(rounds(FedAvg(Descent(2, 0.1)), problem, rounds=3, cohort=4))[-1]
    assert len(drawn) <= 20 + 3 * 4 + 1  # one is drawn to inspect its type
    assert last.metrics["loss"] > 0
    assert last.metrics["bytes_up"] == 3 * 4 * 6 * 8
    with pytest.raises(ProblemError, match="1000000 clients are drawn on demand and cannot be pooled"):
        next(rounds(CentralTraining(Descent(2, 0.1)), problem, rounds=1))


def test_clients_are_drawn_from_seed_and_number_and_what_they_share_from_the_seed():
    """Each stream differs from all others: also client 1 of seed 0 from client 0 of seed 1."""
    streams = {
        (seed, number): ClientsOnDemand(lambda rng: tuple(rng.random(4)), 3, seed)[number]
        for seed, number in product(range(3), range(3))
    }
    streams |= {seed: tuple(np.random.default_rng(seed).random(4)) for seed in range(3)}
    assert len(set(streams.values())) == 3 * 3 + 3
    again = ClientsOnDemand(lambda rng: tuple(rng.random(4)), 3, 2)
    assert [again[number] for number in range(-3, 3)] == [streams[2, number] for number in (0, 1, 2, 0, 1, 2)]


def test_numbers_of_clients_on_demand_are_whole():
    drawn = ClientsOnDemand(lambda rng: float(rng.random()), 3, 0)
    for number in (1.5, float("nan"), "1", None, np.array([1, 2])):
        with pytest.raises(ProblemError, match="the number of a client must be a whole number, got"):
            drawn[number]
    assert drawn[np.int64(2)] == drawn[torch.tensor(2)] == drawn[2.0] == drawn[-1]
    for number in (3, -4, 10**30):
        with pytest.raises(IndexError, match=f"client {number} does not exist; there are 3"):
            drawn[number]
    for total in (2.5, "3", float("inf")):
        with pytest.raises(ProblemError, match="the number of clients must be a whole number, got"):
            ClientsOnDemand(lambda rng: 0, total, 0)
    for samples in (float("nan"), float("inf"), "3"):
        with pytest.raises(ProblemError, match="the number of samples must be"):
            ClientsOnDemand(lambda rng: 0, 3, 0, samples)


def test_what_is_known_of_problems_on_demand(monkeypatch):
    """A client of 2 x 3 holds Gram matrix and target, H, or 5 directions with offsets; the room is 1000 numbers."""
    monkeypatch.setattr("toymodels.on_demand.ROOM", 8 * 1000.0)
    steep = Pieces((0.0,), (-3.0, 1.0))
    for make, entries, smoothness in (
        (lambda n: regression_on_demand(2, 3, n, 7, samples=5, heterogeneity=0.1), 4 + 6, inf),
        (lambda n: regression_on_demand(3, 2, n, 7, samples=None, heterogeneity=0.1), 9 + 6, 2.0),
        (lambda n: quadratics_on_demand((2, 3), n, 7, curvatures=(-3.0, 1.0)), 36, 3.0),
        (lambda n: homogeneous_on_demand(n, 7, shape=(2, 3), rank=1, samples=5, basis="dx"), 36, inf),
        (lambda n: ridges_on_demand((2, 3), n, 7, profile=steep, samples=5, heterogeneity=0.1), 5 * 7, 3.0),
    ):
        many, few = make(400), make(9)
        assert (many.evaluated, len(many.sampled)) == (1000 // entries,) * 2
        assert (few.evaluated, len(few.sampled)) == (9, 9)
        assert many.smoothness == smoothness
        models = [{"W": (k + 1.0) * many.start["W"]} for k in range(many.evaluated)]
        losses = [float(client.loss(w)) for client, w in zip(many.sampled, models, strict=True)]
        assert many.evaluate_personal(models.__getitem__) == {"personal_loss": pytest.approx(np.mean(losses))}


def test_the_angle_of_a_regression_on_demand_is_that_with_its_truth():
    given = regression_on_demand(5, 3, 4, 7, samples=6, heterogeneity=0.1)
    truth, first = given.facts["truth"], given.facts["first"]
    assert given.measures["angle"]({"W": truth @ torch.ones(1, 3).double()}) == pytest.approx(0.0, abs=1e-12)
    sine = (1.0 - float((truth * first).sum()) ** 2) ** 0.5
    assert given.measures["angle"](given.start) == pytest.approx(sine)
    assert sine > 0.1


SQUARES = {Regression: 1e-6 / 4, PopulationRegression: 1e-6 / 4, Quadratics: 0.01, Ridges: 2.0, Legendre: 1 / 4}
"""Mean squared entry of starts of 4 rows: 1e-3 of a normal row times a unit column; a tenth of a product of normal
factors; a normal matrix, the common one, plus another; a normal matrix over the root of the longer side."""


@pytest.mark.parametrize("kind", SQUARES)
@pytest.mark.parametrize("many", [False, True])
def test_starts_have_the_size_that_is_said(kind, many, monkeypatch):
    """Over 150 seeds, within 5 standard errors."""
    monkeypatch.setattr("toymodels.on_demand.SAMPLED", 1)
    problems = [kind(MILLION if many else 1, 4, 3).build(seed) for seed in range(150)]
    found = np.array([float((problem.start["W"] ** 2).mean()) / SQUARES[kind] for problem in problems])
    assert abs(found.mean() - 1.0) < 5 * found.std() / len(found) ** 0.5


def test_a_planned_run_on_demand_repeats():
    made = [
        parts_of(make_plan("fedlrt", "quadratics", {"clients": 60_000, "cohort": 3, "rows": 3, "columns": 2}))
        for _ in range(2)
    ]
    ends = [list(rounds(parts.algorithm, parts.problem, rounds=2, cohort=3))[-1].metrics for parts in made]
    assert ends[0] == ends[1]


def test_non_finite_data_are_distinguished_from_diverging_steps():
    clients = [centred(np.eye(2), np.ones((2, 1))), centred(np.eye(2), np.array([[1.0], [np.nan]]))]
    fed = Federation(clients)
    w = Tree({"W": torch.zeros(2, 1, dtype=torch.float64)})
    with pytest.raises(
        FederationError, match=r"client 1: .* non-finite numbers; its data B are not finite; correct them, or leave"
    ):
        one_round(FedAvg(Descent(1, 0.1)).round, fed, w)
    with pytest.raises(
        FederationError,
        match=r"client 0: .* non-finite numbers; lower the learning rate, check "
        r"its data",
    ):
        one_round(FedAvg(Descent(40, 1e300)).round, Federation(clients[:1]), w)
