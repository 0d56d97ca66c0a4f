"""The cost of a run before it starts, by hand: one linear layer from 6 inputs to 3 classes.

A product of n inputs with the weights takes 2 * 6 * 3 * n = 36 n operations, and so does the gradient of the weights.
"""

import sys
from types import ModuleType

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from algorithms.federation import Federation
from algorithms.rounds import one_round, rounds
from algorithms.tree import Tree
from runs.cost import cost_of, forecast
from runs.plan import make_plan, parts_of
from runs.settings import Conduct

GRADIENT = 2 * 36
"""Operations of a gradient, for each sample."""
MODEL = 4 * (6 * 3 + 3)
"""Bytes of the weights and the biases in single precision."""


@pytest.fixture(autouse=True)
def linear(monkeypatch):
    """35 samples: clients of unequal sizes, whose mean size is what counts."""
    module = ModuleType("linear_of_this_test")
    x = torch.randn(35, 6, generator=torch.Generator().manual_seed(0))
    module.network = lambda: nn.Linear(6, 3)
    module.data = lambda: ((x, torch.arange(35) % 3), (x[:4], torch.arange(4) % 3))
    monkeypatch.setitem(sys.modules, module.__name__, module)


def plan(algorithm, clients, rounds, **given):
    model = {"model": "linear_of_this_test:network", "learning_rate": 0.1, "clients": clients}
    return make_plan(algorithm, "linear_of_this_test:data", {**model, **given}, Conduct(rounds=rounds))


FACTORS = {"rank": 1, "layers": "*weight"}
RANKED = {
    "fedavg": {},
    "fedlin": {},
    "fedlora": FACTORS,
    "rolora": FACTORS,
    "ffa-lora": FACTORS,
    "fedloru": {**FACTORS, "tau": 3},
    "pfedloru": {**FACTORS, "tau": 4},
    "flora": FACTORS,
    "fedex-lora": FACTORS,
    "hetlora": FACTORS,
}
LENGTHS = [
    ({"steps": 2, "batch": 5}, 2 * 5),
    ({"steps": 5, "batch": 2}, 5 * 2),
    ({"epochs": 1, "batch": 2}, 35 / 4),
    ({"epochs": 3, "batch": 5}, 3 * 35 / 4),
]


@pytest.mark.parametrize("cohort", [None, 3])
@pytest.mark.parametrize(("length", "samples"), LENGTHS)
def test_a_cohort_takes_its_steps_in_every_round(cohort, length, samples):
    chosen = {} if cohort is None else {"cohort": cohort}
    found = cost_of(plan("fedavg", 4, 7, **length, **chosen))
    assert found.operations == pytest.approx(7 * (cohort or 4) * samples * GRADIENT)
    assert found.bytes == 7 * (cohort or 4) * 2 * MODEL  # down and up


@pytest.mark.parametrize("partition", ["even", "dirichlet-in-turn"])
def test_a_gradient_over_all_of_a_clients_samples_is_counted_once_a_round(partition):
    """FedLin takes one, and sends gradients in addition to the models. A single client has all 35 samples."""
    found = cost_of(plan("fedlin", 1, 3, steps=2, batch=5, partition=partition))
    assert found.operations == pytest.approx(3 * (35 + 2 * 5) * GRADIENT)
    assert found.bytes == 3 * 4 * MODEL


@pytest.mark.parametrize("cohort", [None, 2])
@pytest.mark.parametrize("algorithm", RANKED)
def test_bytes_are_those_of_the_run(algorithm, cohort):
    """Messages to all clients count once, as do those before the first round and of rounds that accumulate."""
    of = plan(algorithm, 5, 7, steps=2, batch=3, **({} if cohort is None else {"cohort": cohort}), **RANKED[algorithm])
    parts = parts_of(of)
    *_, last = rounds(parts.algorithm, parts.problem, rounds=7, cohort=cohort, evaluate_every=7)
    assert cost_of(of).bytes == last.metrics["bytes_down"] + last.metrics["bytes_up"]


def test_personal_steps_are_counted_as_the_run_takes_them():
    of = plan("pfedloru", 3, 2, **FACTORS, tau=9, steps=2, batch=4, personal_steps=7)
    parts = parts_of(of)
    with FlopCounterMode(display=False) as counter:
        for _ in rounds(parts.algorithm, parts.problem, rounds=2, evaluate_every=9):
            pass
    evaluations = FlopCounterMode(display=False)
    with evaluations:
        next(iter(rounds(parts.algorithm, parts.problem, rounds=0)))
    assert (
        counter.get_total_flops()
        > cost_of(of).operations
        > counter.get_total_flops() - 3 * evaluations.get_total_flops()
    )


@pytest.mark.parametrize(("tau", "rounds_"), [(1, 5), (2, 5), (3, 7), (9, 4)])
def test_operations_grow_with_the_factors_that_clients_keep(tau, rounds_):
    """Fine-tuning keeps every accumulated pair as factors, so each accumulation makes later rounds dearer."""
    of = plan("fedloru-finetune", 5, rounds_, **FACTORS, tau=tau, steps=2, batch=3)
    parts = parts_of(of)
    fed = Federation(parts.problem.clients, seed=0)
    state = parts.algorithm.start(fed, Tree(parts.problem.start))
    counted = 0
    for _ in range(rounds_):
        with FlopCounterMode(display=False) as counter:
            state = one_round(parts.algorithm.round, fed, state)
        counted += counter.get_total_flops()
    assert cost_of(of).operations == counted


def test_a_batch_is_no_larger_than_a_clients_data():
    found = cost_of(plan("fedavg", 4, 7, steps=2, batch=500))
    assert found.operations == pytest.approx(7 * 2 * 35 * GRADIENT)


def test_each_clients_batch_is_cut_to_its_own_data(tmp_path):
    """Clients of 3 and 11 samples take batches of 3 and 5; a batch is below their mean size, 7."""
    for name, indices in (("0.txt", range(3)), ("1.txt", range(3, 14))):
        (tmp_path / name).write_text(" ".join(map(str, indices)))
    found = cost_of(plan("fedavg", 2, 7, steps=2, batch=5, partition="files", partition_folder=str(tmp_path)))
    assert found.operations == pytest.approx(7 * 2 * (3 + 5) * GRADIENT)


@pytest.mark.parametrize("cohort", [None, 2])
@pytest.mark.parametrize("algorithm", [*RANKED, "mfedloru", "scaffold"])
def test_a_forecast_has_the_bytes_of_each_direction(algorithm, cohort):
    given = {"clients": 5, "rows": 4, "columns": 6, **({} if cohort is None else {"cohort": cohort})}
    of = make_plan(algorithm, "ridges", given, Conduct(rounds=3))
    parts, found = parts_of(of), forecast(of)
    *_, last = rounds(parts.algorithm, parts.problem, rounds=3, cohort=cohort)
    if algorithm != "hetlora" or cohort is None:  # HetLoRA prunes ranks while it trains
        assert (found.down, found.up) == (last.metrics["bytes_down"], last.metrics["bytes_up"])
    assert (found.clients, found.samples, found.weights) == (5, None, 4 * 6)


@pytest.mark.parametrize("cohort", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(("rank", "most"), [(2, 1), (2, 2), (2, 3), (2, 4), (1, 3), (3, 99)])
def test_a_truncated_residual_grows_only_up_to_its_rank(rank, most, cohort):
    """The residual of c clients has rank r(c - 1), at most the given one; a 7 x 6 layer has 13 numbers for each."""
    given = {"clients": 7, "rows": 7, "columns": 6, "rank": rank, "residual_rank": most, "cohort": cohort}
    found = forecast(make_plan("fedex-lora", "ridges", given, Conduct(rounds=3)))
    columns = min(rank * (cohort - 1), most)
    columns = min(columns, 6) if most < rank * (cohort - 1) else columns  # a decomposition has at most 6
    assert found.down - 7 * found.start == 3 * 8 * 13 * (cohort * rank + 7 * columns)


@pytest.mark.parametrize("ranks", [(1, 3, 4), (4, 1, 1), (2, 2, 2)])
@pytest.mark.parametrize("algorithm", ["flexlora", "hetlora", "rbla", "flora", "fedhm"])
def test_a_forecast_adds_up_ranks_by_client(algorithm, ranks):
    given = {"clients": 3, "rows": 7, "columns": 6, "rank": 4, "ranks": ranks}
    of = make_plan(algorithm, "ridges", given, Conduct(rounds=3))
    parts, found = parts_of(of), forecast(of)
    *_, last = rounds(parts.algorithm, parts.problem, rounds=3)
    assert (found.down, found.up) == (last.metrics["bytes_down"], last.metrics["bytes_up"])
    assert found.largest_rank == max(ranks)
    assert found.unless == ("if ranks stay as at the start" if algorithm == "hetlora" else "")


def test_a_forecast_prunes_no_ranks():
    """HetLoRA with ranks up to 3: factors of 6 x 3 and 3 x 3 and 3 biases, and one number about pruning."""
    given = {"rank": 3, "layers": "*weight", "cohort": 2, "decay": 0.5, "steps": 1, "batch": 5}
    found = forecast(plan("hetlora", 4, 6, **given))
    assert found.up == 6 * 2 * 4 * (6 * 3 + 3 * 3 + 3 + 1)
    assert (found.sent, found.unless) == (found.up / 12, "if ranks stay as at the start")


def test_a_forecast_says_what_the_client_of_the_largest_rank_sends():
    def found(**given):
        given = {"clients": 3, "rows": 7, "columns": 6, "rank": 4, **given}
        return forecast(make_plan("flexlora", "ridges", given, Conduct(rounds=5)))

    unequal = found(ranks=(1, 4, 2))
    assert (unequal.sent, unequal.received, unequal.largest_rank) == (8 * (7 + 6) * 4, 8 * (7 + 6) * 4, 4)
    equal = found()
    assert (equal.sent, equal.received, equal.largest_rank) == (8 * (7 + 6) * 4, 8 * (7 + 6) * 4, None)
    assert equal.start == 8 * 7 * 6  # the frozen weights
    assert equal.down == 3 * (equal.start + 5 * equal.received)


def test_a_forecast_of_a_part_of_the_clients_is_the_mean_over_cohorts():
    given = {"clients": 3, "rows": 7, "columns": 6, "rank": 4, "ranks": (1, 3, 4), "cohort": 2}
    found = forecast(make_plan("flexlora", "ridges", given, Conduct(rounds=3)))
    assert found.up == 3 * 2 / 3 * 8 * (7 + 6) * (1 + 3 + 4)
    assert found.unless == "in the mean over the cohorts"


def test_the_bytes_of_a_stack_are_the_mean_over_cohorts():
    """Three cohorts of one client; its factors go to all clients, and the base weights went before."""
    given = {"clients": 3, "rows": 7, "columns": 6, "rank": 4, "ranks": (4, 1, 1), "cohort": 1}
    found = forecast(make_plan("flora", "ridges", given, Conduct(rounds=5)))
    stack = 8 * (7 + 6) * (4 + 1 + 1) / 3
    assert found.down - 3 * found.start == pytest.approx(5 * 3 * stack)
    assert found.received == pytest.approx(stack)


@pytest.mark.parametrize(("algorithm", "options"), [("fedex-lora", {}), ("flora", {}), ("fedloru", {"tau": 2})])
def test_a_broadcast_counts_once_for_each_client(algorithm, options):
    """Two of eight clients take part, so most of what is sent goes to clients that do not."""
    given = {"clients": 8, "rows": 7, "columns": 6, "rank": 2, "cohort": 2, **options}
    of = make_plan(algorithm, "ridges", given, Conduct(rounds=4))
    parts, found = parts_of(of), forecast(of)
    *_, last = rounds(parts.algorithm, parts.problem, rounds=4, cohort=2)
    entries = [entry for entry in last.ledger.entries if entry.round and entry.direction == "down"]
    assert found.received == sum(entry.bytes / entry.clients for entry in entries) / 4


def test_a_forecast_counts_samples_and_all_weights():
    found = forecast(plan("fedlora", 4, 7, **FACTORS, steps=2, batch=5, samples=30))
    assert (found.clients, found.samples, found.weights) == (4, 30, 6 * 3 + 3)
