"""The comparison of all methods: its runs, the error of an aggregation, and what the stored table shows."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib import rc_context
from matplotlib.text import Text

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.fedlora import FedLoRA
from algorithms.flora import FLoRA
from algorithms.rounds import one_round
from algorithms.tree import Tree
from figures.aggregation_error import ExchangeRecorder
from figures.curves.method_comparison import (
    EXACT,
    METHODS_COMPARED,
    compare_methods,
    ends_of_grid,
    largest_errors,
    methods_headline,
    round_times,
    summary,
)
from figures.curves.method_comparison_picture import spread
from figures.curves.method_comparison_runs import (
    FAMILY,
    FASHION,
    LABELS,
    METHOD_SIZES,
    WHOLE,
    MethodSizes,
    aggregation_error,
    design_of,
    line_of,
    vector,
)
from figures.experiments.disclosures import borrowed_rates, close_rates, rates_at_an_end
from figures.figure import Settings
from figures.make import read_table
from figures.stored_numbers import stored_numbers
from figures.style import STYLE
from runs.catalogue import ALGORITHMS
from toymodels.quadratic import centred

EXACT_METHODS = {"FedAvg", "FedProx", "FedHM", "FFA-LoRA", "Fed-SB", "FLoRA", "FedEx-LoRA"}


def test_methods_are_compared_in_the_order_of_the_catalogue():
    assert list(LABELS) == [name for name in ALGORITHMS if name in LABELS]
    assert set(FAMILY) == set(LABELS.values())
    assert set(WHOLE) <= set(LABELS)


@pytest.mark.parametrize("name", LABELS)
def test_personal_models_are_marked_and_measured_as_such(name):
    line = line_of(name, METHOD_SIZES["laptop"])
    assert LABELS[name].endswith("(p)") is (line.metric == "personal_accuracy")
    assert name not in WHOLE or line.metric == "accuracy"


@pytest.mark.parametrize("scale", METHOD_SIZES)
def test_rates_are_chosen_for_each_method_by_runs_as_long_as_the_others(scale):
    design = design_of(Settings(scale))
    assert design.tuning_rounds == design.rounds
    assert all(line.tuned for line in design.lines)
    assert len({line.rate_of for line in design.lines}) == len(design.lines)


def clients():
    """Return three clients of 4 x 3 weights, and unequal shares."""
    rng = torch.Generator().manual_seed(0)
    roots = torch.randn(3, 12, 12, generator=rng, dtype=torch.float64) / 4
    centres = torch.randn(3, 4, 3, generator=rng, dtype=torch.float64)
    return [centred(root @ root.T, centre) for root, centre in zip(roots, centres, strict=True)], (1.0, 2.0, 3.0)


def error_of(algorithm, recorder=None):
    """Return the error of the second round, the states around it, and the algorithm's federation."""
    losses, shares = clients()
    fed = Federation(losses, shares=shares, executor=recorder)
    state = algorithm.start(fed, Tree(W=torch.eye(4, 3, dtype=torch.float64)))
    state = one_round(algorithm.round, fed, state)
    if recorder is not None:
        recorder.exchanges()
    before = (state, fed.state)
    after = one_round(algorithm.round, fed, state)
    return aggregation_error(algorithm, losses, shares, 0, before, after), state, after


def test_averages_of_weights_and_stacks_have_no_error():
    assert error_of(FedAvg(Descent(3, 0.05)))[0] < 1e-12
    assert error_of(FLoRA(Descent(3, 0.05), Adapter(2)))[0] < 1e-12


def test_the_error_of_separate_averages_is_the_one_of_the_uploads():
    recorder, algorithm = ExchangeRecorder(), FedLoRA(Descent(3, 0.05), Adapter(2))
    error, before, after = error_of(algorithm, recorder)
    (exchange,) = recorder.exchanges()
    models = [vector(algorithm.client_model(before, sent)) for sent in exchange.sent]
    mean = sum(share * model for share, model in zip(exchange.shares, models, strict=True))
    expected = (vector(algorithm.weights(after)) - mean).norm() / (mean - vector(algorithm.weights(before))).norm()
    assert error == pytest.approx(float(expected), rel=1e-9)
    assert error > 1e-3


TINY = MethodSizes(
    ("fedavg", "fedlora", "flora", "fedsa-lora"),
    {"model": "perceptron", "width": 8, "clients": 3, "own_share": 0.2, "batch": 20, "held_out": 50},
    rank=2,
    tau=2,
    rounds=2,
    every=1,
    seeds=2,
    rates=(0.1, 0.3),
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    comparison = replace(FASHION, data="examples.own_images:images", sizes={"quick": TINY})
    return compare_methods(comparison, Settings(runs=tmp_path_factory.mktemp("runs")))


def test_a_tiny_version_has_every_stage(tiny):
    counts = tiny.groupby("stage").size()
    assert counts["choice"] >= 4 * 2
    assert counts["run"] == 4 * 2 * 3
    assert counts["seconds"] == 4 * 2
    assert counts["error"] == 3 * 2
    assert not tiny.failed.any()
    assert set(tiny[tiny.stage == "run"].seed) == {0, 1}
    assert set(tiny[tiny.stage == "choice"].seed) == {99}
    assert set(tiny.device) == {"cpu"}


def test_a_tiny_versions_rates_did_best_on_validation_samples(tiny):
    choice, runs = tiny[tiny.stage == "choice"], tiny[tiny.stage == "run"]
    for method, own in choice.groupby("method"):
        best = own.rate[own.value.idxmax()]
        assert set(runs[runs.method == method].rate) == {best}
        assert own.rate.min() < best < own.rate.max()


def test_a_tiny_versions_errors_and_times(tiny):
    errors = largest_errors(tiny)
    assert set(errors) == {"FedAvg", "FedLoRA", "FLoRA"}
    assert max(errors["FedAvg"], errors["FLoRA"]) < EXACT < errors["FedLoRA"]
    assert min(round_times(tiny).values()) > 0.0


def test_a_failed_run_counts_as_nothing(tiny):
    assert summary(tiny).value.min() > 0.0
    bad = tiny.copy()
    bad.loc[(bad.stage == "run") & (bad.method == "FedAvg") & (bad.seed == 0), ["value", "failed"]] = (float("nan"), 1)
    means = summary(bad)
    assert means.failed["FedAvg"] >= 1
    assert means.value["FedAvg"] < summary(tiny).value["FedAvg"]


def test_bytes_are_means_over_the_seeds(tiny):
    more = tiny.copy()
    more.loc[(more.stage == "run") & (more.method == "FedAvg") & (more.seed == 0), "bytes"] += 100
    seeds = tiny[tiny.stage == "run"].seed.nunique()
    assert summary(more).bytes["FedAvg"] == pytest.approx(summary(tiny).bytes["FedAvg"] + 100 / seeds)


def test_the_headline_names_the_fewest_bytes_near_the_best():
    rows = [("A", 0.9, 100), ("B", 0.89, 25), ("C", 0.8, 1), ("D (p)", 0.99, 1)]
    table = pd.DataFrame([{"stage": "run", "method": m, "seed": 0, "value": v, "bytes": b} for m, v, b in rows])
    table = table.assign(rate=0.1, failed=0)
    table["round"] = 1
    assert methods_headline(table) == "A ends best (90.0 %); B reaches 89.0 % with 0.25 times the bytes"
    alone = "A ends best, at 90.0 %; no method within 2 points sends less"
    assert methods_headline(table[table.method != "B"]) == alone
    same = table.assign(bytes=25).loc[::-1]  # another method is named first, with as many bytes
    assert methods_headline(same) == alone


def test_rates_that_were_chosen_by_little_are_named():
    tried = {"A": {0.1: 0.5, 0.3: 0.806, 1.0: 0.81}, "B": {0.1: 0.8, 0.3: 0.81, 1.0: 0.79}, "C": {0.1: 0.5, 0.3: 0.5}}
    rows = [("choice", name, rate, value) for name, of in tried.items() for rate, value in of.items()]
    table = pd.DataFrame(rows, columns=["stage", "method", "rate", "value"]).assign(seed=0, bytes=1, failed=0)
    table["round"] = 1
    table = table[["stage", "method", "seed", "rate", "round", "value", "bytes", "failed"]]
    assert close_rates(table) == (
        "Learning rates chosen by at most 0.5 points on the validation samples: 1 over 0.3: A; 0.1 over 0.3: C."
    )
    one = table[table.method != "C"].assign(value=lambda rows: rows.value.round(2), method="A")
    one.insert(1, "clients", [1, 1, 1, 4, 4, 4])
    assert close_rates(one).endswith("samples: 0.3 over 1: A (1 client).")
    failed = (table.method == "A") & (table.rate == 0.3)
    table.loc[failed, ["value", "failed"]] = [float("nan"), 1]
    assert close_rates(table[table.method == "A"]) == ""
    assert close_rates(table.assign(stage="run")) == ""


def test_means_over_two_seeds_count_where_rates_were_chosen_by_little():
    rows = [(99, 0.1, 0.80), (99, 0.3, 0.80), (99, 1.0, 0.81), (99, 3.0, 0.806), (98, 1.0, 0.77), (98, 3.0, 0.79)]
    table = pd.DataFrame(rows, columns=["seed", "rate", "value"]).assign(bytes=1, failed=0)
    table["round"] = 1
    table.insert(0, "stage", "choice")
    table.insert(1, "method", "A")
    assert close_rates(table) == ""  # 3.0 by 0.8 points
    assert rates_at_an_end(table).endswith("3, the largest: A.")
    table.loc[5, "value"] = 0.775  # 3.0 over 1.0 by 0.05 points
    assert close_rates(table).endswith("3 over 1: A.")
    table.loc[4, "value"] = 0.78  # 1.0 over 3.0 by 0.45 points, and no longer at an end
    assert close_rates(table).endswith("1 over 3: A.")
    assert rates_at_an_end(table) == ""


def test_lines_whose_rate_another_line_chose_are_counted():
    rows = [("choice", "A", 0.1), ("run", "A", 0.1), ("run", "B", 0.1), ("run", "C", float("nan"))]
    table = pd.DataFrame(rows, columns=["stage", "method", "rate"])
    table.insert(2, "seed", 0)
    assert borrowed_rates(table) == "Of 2 lines, 1 have a learning rate that was chosen on another line."
    assert borrowed_rates(table[table.method != "B"]) == borrowed_rates(table[table.stage == "run"]) == ""


def test_rates_at_an_end_of_the_grid_are_named():
    rows = [("choice", "A", rate) for rate in (0.1, 0.3, 1.0)] + [("run", m, r) for m, r in (("A", 0.3), ("B", 1.0))]
    table = pd.DataFrame(rows, columns=["stage", "method", "rate"]).assign(seed=0, value=0.5, bytes=1, failed=0)
    table["round"] = 1
    table = table[["stage", "method", "seed", "rate", "round", "value", "bytes", "failed"]]
    assert (
        ends_of_grid(table) == "The largest rate of the grid is best for B, so that a rate beyond it could be better. "
    )
    assert ends_of_grid(table[table.method == "A"]) == ""


@pytest.fixture(scope="module")
def stored():
    entry = stored_numbers(METHODS_COMPARED, Settings("laptop"))
    assert entry is not None
    return read_table(entry["csv"])


def test_the_stored_table_is_whole(stored):
    sizes = METHOD_SIZES["laptop"]
    runs = stored[stored.stage == "run"]
    assert list(dict.fromkeys(runs.method)) == list(LABELS.values())
    assert runs[runs.failed == 0].groupby("method").seed.nunique().max() == sizes.seeds
    rounds = list(range(0, sizes.rounds + 1, sizes.every))
    for _, run in runs[runs.failed == 0].groupby(["method", "seed"]):
        assert run["round"].tolist() == rounds


def test_the_stored_errors_are_rounding_exactly_where_the_page_says_exact(stored):
    errors = largest_errors(stored)
    assert {method for method, error in errors.items() if error < EXACT} == EXACT_METHODS


def test_the_stored_picture_has_a_bar_for_each_method(stored):
    with rc_context(STYLE):
        picture = METHODS_COMPARED.picture(stored)
        picture.draw_without_rendering()
    *_, bars = picture.axes
    means = summary(stored).value
    named = [f"{number} {name}, {100 * means[name]:.1f} %" for number, name in enumerate(LABELS.values(), 1)]
    assert [text.get_text() for text in bars.get_yticklabels()] == named


def test_the_numbers_at_the_ends_of_the_stored_curves_do_not_overlap(stored):
    with rc_context(STYLE):
        picture = METHODS_COMPARED.picture(stored)
        picture.draw_without_rendering()
        for axes in picture.axes[:2]:
            boxes = [Text.get_window_extent(text) for text in axes.texts]
            assert len(boxes) > 10
            assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


@pytest.mark.parametrize(
    ("heights", "gap", "expected"),
    [
        ([0.5, 0.5, 0.1], 0.2, [0.4, 0.6, 0.1]),
        ([0.9, 0.1], 0.2, [0.9, 0.1]),
        ([1.0, 0.95, 0.2], 0.1, [1.0, 0.9, 0.2]),
        ([0.0, 0.0], 0.5, [0.0, 0.5]),
        ([], 0.1, []),
    ],
)
def test_heights_move_as_little_as_the_gap_asks_for(heights, gap, expected):
    assert spread(np.array(heights), gap).tolist() == pytest.approx(expected)


def test_sizes_are_those_of_the_scale(tiny):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(METHOD_SIZES, "quick", replace(TINY, federation={**TINY.federation, "partition_psi": 0.3}))
        assert "2 rounds, seeds 0, 1, learning rates from 0.1, 0.3" in METHODS_COMPARED.sizes(tiny)
