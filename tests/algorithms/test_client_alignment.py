"""Alignment of the clients' updates and the server's, by hand, for all algorithms that have one."""

import math
from dataclasses import dataclass

import pytest
import torch

from algorithms.alignment import alignment
from algorithms.federation import FederationError
from algorithms.ledger import Ledger
from algorithms.rounds import rounds
from algorithms.tree import Tree
from runs.catalogue import ALGORITHMS, algorithm_of
from runs.plan import make_plan, parts_of, read_plan, write_plan
from runs.settings import Conduct

GIVEN = {"clients": 4, "steps": 3, "rows": 5, "columns": 4, "learning_rate": 0.05}
RANKED = {
    "fedavg": {},
    "fedprox": {},
    "fedlin": {},
    "scaffold": {},
    "fedhm": {"rank": 2},
    "fedlora": {"rank": 2},
    "fedloru": {"rank": 2, "tau": 2},
    "fedloru-finetune": {"rank": 2, "tau": 2},
    "mfedloru": {"rank": 2, "tau": 2},
    "frlora": {"rank": 2},
    "fedpara": {"rank": 2},
    "pfedloru": {"rank": 2, "tau": 2},
    "pfedpara": {"rank": 2},
}


@dataclass(frozen=True)
class Slope:
    """A client with constant gradient, minus its direction, so that a step of rate 1 adds the direction."""

    direction: tuple[float, ...]
    samples: float = 1.0

    def loss(self, w, batch=None):
        return -(w["w"] * torch.tensor(self.direction, dtype=torch.float64)).sum()


class Field:
    measures = {}  # noqa: RUF012
    shares = None

    def __init__(self, *clients):
        self.clients = clients
        self.start = {"w": torch.zeros(2, dtype=torch.float64)}

    def loss(self, w):
        return 0.0


def plan(algorithm, **changed):
    return make_plan(algorithm, "quadratics", {**GIVEN, **RANKED.get(algorithm, {}), **changed}, Conduct(rounds=5))


def steps(of, aligned=True, **options):
    parts = parts_of(of)
    cohort, seed = of.settings["cohort"], of.settings["seed"]
    return list(rounds(parts.algorithm, parts.problem, rounds=5, cohort=cohort, seed=seed, aligned=aligned, **options))


class Averaging:
    """An algorithm whose state and uploads are models."""

    weights = staticmethod(lambda state: state)
    client_model = staticmethod(lambda state, upload: upload)


def half(*weights):
    return Tree(w=torch.tensor(weights, dtype=torch.float16))


def test_weights_in_half_precision_are_compared_in_double():
    start, end = half(1.0, 1.0), half(301.0, 1.0)  # 300^2 is beyond the largest number of 65,504
    assert alignment(Averaging, start, end, [half(301.0, 401.0)]) == pytest.approx(0.6, rel=1e-12)
    assert alignment(Averaging, start, end, [half(301.0, 401.0), end]) == pytest.approx(0.8, rel=1e-12)


def test_two_clients_by_hand():
    fedavg = algorithm_of("fedavg", "quadratics", {**plan("fedavg").settings, "steps": 1, "learning_rate": 1.0})
    found = [
        step.metrics["alignment"]
        for step in rounds(fedavg, Field(Slope((3.0, 0.0)), Slope((0.0, 4.0))), rounds=2, aligned=True)
    ]
    assert math.isnan(found[0])
    assert found[1:] == pytest.approx([(3 / 5 + 4 / 5) / 2] * 2)  # the sum points to (3, 4)
    unequal = Field(Slope((1.0, 0.0), 3.0), Slope((-1.0, 0.0), 1.0))  # plain mean over clients of 1 and -1
    assert next(s.metrics["alignment"] for s in rounds(fedavg, unequal, rounds=1, aligned=True) if s.state.round) == 0.0


def measured(of):
    return [step.metrics["alignment"] for step in steps(of)][1:]


@pytest.mark.parametrize("algorithm", RANKED)
def test_a_client_alone_is_aligned_and_several_are_less_so(algorithm):
    """The factors' updates give the model's, also in rounds that accumulate and restart the factors."""
    assert measured(plan(algorithm, cohort=1)) == pytest.approx([1.0] * 5)
    assert all(-1.0 < one < 1 - 1e-4 for one in measured(plan(algorithm)))


def test_every_algorithm_with_client_models_is_among_these():
    """Those that inherit the method from another algorithm may send something else."""
    assert set(RANKED) == {name for name, entry in ALGORITHMS.items() if hasattr(entry.kind, "client_model")}


def test_a_product_that_counts_twice_leads_elsewhere_than_its_client():
    found = measured(plan("fedloru", cohort=1, restart="momentum"))
    assert found[0] == pytest.approx(1.0)
    assert min(found) < 0.99


def test_the_update_is_that_of_the_model_and_not_of_the_factors():
    """For FedLoRU, the client models W + A_k B_k are compared with the mean of the factors, on accumulating weights."""
    of = plan("fedloru", tau=1)
    parts = parts_of(of)
    found = list(rounds(parts.algorithm, parts.problem, rounds=2, aligned=True))
    before, after = (parts.algorithm.weights(step.state.algorithm)["W"] for step in found[1:])
    models = []
    for number in range(4):
        only = OneClient(parts.problem, number)
        (end,) = rounds(parts.algorithm, only, rounds=2, resume=(found[1].state, Ledger()))
        models.append(parts.algorithm.weights(end.state.algorithm)["W"])
    cosines = [torch.cosine_similarity((m - before).flatten(), (after - before).flatten(), dim=0) for m in models]
    assert found[-1].metrics["alignment"] == pytest.approx(float(torch.stack(cosines).mean()), rel=1e-12)


class OneClient:
    """A federation of one client of a problem."""

    def __init__(self, problem, number):
        self.clients, self.shares = (problem.clients[number],), None
        self.start, self.loss, self.measures = problem.start, problem.loss, problem.measures


@pytest.mark.parametrize("algorithm", RANKED)
def test_numbers_are_those_of_a_run_that_does_not_look(algorithm):
    looked, not_looked = steps(plan(algorithm, cohort=2)), steps(plan(algorithm, cohort=2), aligned=False)
    for one, other in zip(looked, not_looked, strict=True):
        assert {name: value for name, value in one.metrics.items() if name != "alignment"} == other.metrics


@pytest.mark.parametrize("algorithm", ["rolora", "ffa-lora", "flexlora", "fedlrt", "fedlrt-naive", "local", "central"])
@pytest.mark.parametrize("columns", [4, 5])
def test_what_sends_no_model_has_none_whatever_its_shape(algorithm, columns):
    rank = {} if algorithm in ("local", "central") else {"rank": 2}  # coefficients of FeDLRT are 4 x 4 in a round
    parts = parts_of(plan(algorithm, **rank, columns=columns, rows=columns))
    with pytest.raises(FederationError, match="has no alignment"):
        next(rounds(parts.algorithm, parts.problem, rounds=1, aligned=True))  # before any work


@pytest.mark.parametrize("restart", ["random", "momentum"])
def test_fine_tuning_trains_the_same_models_as_fedloru(restart):
    found = [
        [step.metrics["alignment"] for step in steps(plan(name, rank=2, tau=2, restart=restart))][1:]
        for name in ("fedloru", "fedloru-finetune")
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_it_is_a_part_of_what_a_run_is_only_where_it_is_asked_for(tmp_path):
    plain, asked, not_asked = plan("fedavg"), plan("fedavg", alignment=True), plan("fedavg", alignment=False)
    assert plain.digest == not_asked.digest != asked.digest
    assert "alignment" not in plain.identity
    for one in (plain, asked):
        write_plan(tmp_path, one)
        assert read_plan(tmp_path).digest == one.digest
        assert read_plan(tmp_path).settings["alignment"] is one.settings["alignment"]
