"""The listed algorithms learn genuine images: the stored curves, one short live run each, and how rates are chosen."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from scipy.stats import beta, binomtest

import rankproof
from figures.curves import learning_curves_runs as behind
from figures.curves.learning_curves import (
    LEARNING_CURVES,
    LEVEL,
    MARGIN,
    curves_data,
    learning_headline,
    lower_bound,
    margins,
)
from figures.curves.learning_curves_runs import (
    CURVE_SIZES,
    FAMILIES,
    METHODS,
    Case,
    cases_of,
    constant_answers,
    curves_choice,
    options_of,
    tune,
)
from figures.figure import Settings
from figures.make import read_table
from figures.stored_numbers import FOLDER, stored_numbers
from runs.catalogue import ALGORITHMS
from workloads.data.datasets import REGISTRY, find

ROOT = Path(__file__).resolve().parents[3] / "data"
LAPTOP = CURVE_SIZES["laptop"]
LABELS = [method.label for method in METHODS]
TINY = replace(CURVE_SIZES["quick"], rounds=4, every=4, tau=2)
LIVE_MARGIN = 0.1
"""Margin of the short runs, by the same bound."""


@pytest.fixture(scope="module")
def stored():
    entry = stored_numbers(LEARNING_CURVES, Settings("laptop"))
    assert entry is not None
    return read_table(entry["csv"])


def test_methods_are_of_the_catalogue_and_fedloru_has_each_restart():
    assert {method.algorithm for method in METHODS} <= set(ALGORITHMS)
    assert len(set(LABELS)) == len(LABELS)
    restarts = {method.settings["restart"] for method in METHODS if method.algorithm == "fedloru"}
    assert restarts == {"random", "keep A", "momentum"}


def test_the_stored_table_is_whole(stored):
    curves = stored[stored.stage == "curve"]
    assert set(curves.method) == set(LABELS)
    rounds = list(range(0, LAPTOP.rounds + 1, LAPTOP.every))
    for _, run in curves.groupby(["method", "data", "split", "seed"]):
        assert run["round"].tolist() == rounds
    assert curves.groupby(["method", "data", "split"]).seed.nunique().tolist() == [LAPTOP.seeds] * 4 * len(METHODS)


@pytest.mark.parametrize("label", LABELS)
def test_each_algorithm_ends_far_above_a_constant_answer(stored, label):
    finals = margins(stored)
    mine = finals[finals.method == label]
    assert len(mine) == 4 * LAPTOP.seeds
    assert mine.margin.min() >= MARGIN


def test_rates_are_those_that_did_best_where_no_test_image_was_seen(stored):
    choice = stored[stored.stage == "choice"]
    curves = stored[stored.stage == "curve"]
    assert set(choice.rate) >= set(LAPTOP.rates)
    assert not set(choice.seed) & set(curves.seed)
    for label in LABELS:
        means = choice[choice.method == label].groupby("rate").accuracy.mean()
        assert set(curves[curves.method == label].rate) == {means.idxmax()}
        assert means.index.min() < means.idxmax() < means.index.max()


@pytest.mark.sample(6)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.algorithm)
def test_each_algorithm_learns_here_and_now(stored, method, tmp_path, monkeypatch):
    if find("mnist", ROOT) is None:
        pytest.skip("MNIST is not here: `rankproof data fetch mnist`")
    rates = stored[(stored.stage == "curve") & (stored.method == method.label)].rate
    monkeypatch.setitem(CURVE_SIZES, "quick", replace(TINY, methods=(method.label,), rates=(float(rates.iloc[0]),)))
    monkeypatch.setattr(behind, "curves_choice", lambda settings: SimpleNamespace(names=("mnist",)))
    finals = margins(curves_data(Settings(data_root=ROOT, runs=tmp_path)))
    assert len(finals) == 1
    assert finals.margin.iloc[0] >= LIVE_MARGIN


@pytest.mark.parametrize(("right", "samples"), [(0, 10), (1, 10), (10, 10), (8123, 10_000), (231, 400)])
def test_the_lower_bound_is_the_exact_one(right, samples):
    exact = binomtest(right, samples, alternative="greater").proportion_ci(LEVEL).low
    assert lower_bound(right / samples, samples) == pytest.approx(exact, abs=1e-12)


def curve_to(rounds, value, metric):
    return [{"round": 0, metric: 0.1}, {"round": rounds, metric: value}]


def outcomes_by(accuracy):
    """Outcomes of runs whose final accuracy is a function of their line and rate; none for a run that failed."""

    def made(experiment, settings, before=""):
        found = []
        for trial, seed in experiment.runs:
            assert seed == 99
            value = accuracy(trial, trial.settings["learning_rate"])
            failure = "" if value is not None else "it diverged"
            found.append(SimpleNamespace(failure=failure, curve=partial(curve_to, trial.rounds, value)))
        return found

    return made


def test_the_rate_with_the_best_mean_is_chosen_and_a_failure_counts_as_nothing(monkeypatch):
    def accuracy(trial, rate):
        if trial.label.startswith("FedAvg"):
            return {0.1: 0.5, 0.3: 0.6, 1.0: 0.9 if "IID" in trial.label else None, 3.0: 0.2}[rate]
        return 0.5 - abs(rate - 10.0) / 20

    monkeypatch.setattr(behind, "outcomes_of", outcomes_by(accuracy))
    sizes = replace(LAPTOP, methods=("FedAvg", "FedLin"))
    cases = [Case("mnist", split, of) for split, of in sizes.splits.items()]
    rows, rates = tune(Settings("laptop"), sizes, cases)
    assert rates == {"FedAvg": 0.3, "FedLin": 10.0}
    tried = {name: [row["rate"] for row in rows if row["method"] == name] for name in rates}
    first = [0.1, 0.1, 0.3, 0.3, 1.0, 1.0, 3.0, 3.0]
    assert tried == {"FedAvg": first, "FedLin": [*first, 10.0, 10.0, 30.0, 30.0]}
    assert {row["stage"] for row in rows} == {"choice"}


def test_one_rate_needs_no_choice():
    assert tune(Settings(), TINY, []) == ([], dict.fromkeys(TINY.methods, 0.3))


def test_options():
    case = Case("mnist", "IID", {"partition": "even"})
    of = {method.label: options_of(method, LAPTOP, case, 0.3) for method in METHODS}
    assert of["FedHM, many ranks"]["ranks"] == (2, 4, 8, 2, 4, 8, 2, 4, 8, 2)
    assert "ranks" not in of["FedHM, one rank"]
    assert of["FedLoRU, A kept"]["restart"] == "keep A"
    assert ("rank" in of["FedAvg"], "tau" in of["FedLoRA"], of["mFedLoRU"]["tau"]) == (False, False, 5)
    common = set.intersection(*(set(options.items()) - {("ranks", ())} for options in of.values()))
    assert {name for name, _ in common} >= {"model", "samples", "clients", "partition", "batch", "held_out"}


def test_constant_answers_are_counted():
    if find("mnist", ROOT) is None:
        pytest.skip("MNIST is not here: `rankproof data fetch mnist`")
    case = Case("mnist", "Dirichlet", LAPTOP.splits["Dirichlet"])
    found = constant_answers(case, LAPTOP, 0, Settings(data_root=ROOT))
    assert found[False] == (0.1135, 10_000)
    share, samples = found[True]
    assert samples == 400
    assert 0.3 < share < 0.6
    assert share * samples == pytest.approx(round(share * samples))


def test_a_data_set_that_is_not_here_is_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.setitem(REGISTRY, "fashion-mnist", replace(REGISTRY["fashion-mnist"], places=()))
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    here = tmp_path / "MNIST" / "raw"
    here.mkdir(parents=True)
    for file in REGISTRY["mnist"].md5:
        (here / file).write_bytes(b"")
    choice = curves_choice(Settings(data_root=tmp_path))
    assert choice.names == ("mnist",)
    assert choice.note == "fashion-mnist was not found and is left out"
    assert {case.data for case in cases_of(Settings("laptop", data_root=tmp_path))} == {"mnist"}
    assert curves_choice(Settings(data_root=tmp_path / "none")).names == ("mnist", "fashion-mnist")


@pytest.mark.slow
def test_the_picture_has_a_panel_for_each_algorithm(stored):
    picture = LEARNING_CURVES.draw(stored)
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in picture.axes if axes.axison]
    assert titles == LABELS
    for axes, label in zip([axes for axes in picture.axes if axes.axison], LABELS, strict=True):
        mine = stored[(stored.stage == "curve") & (stored.method == label)]
        lines = [line for line in axes.get_lines() if len(line.get_xdata()) > 2]
        ends = sorted(float(line.get_ydata()[-1]) for line in lines)
        last = mine[mine["round"] == LAPTOP.rounds].groupby(["data", "split"]).accuracy.mean()
        assert ends == pytest.approx(sorted(100 * last))
    assert sum(map(len, FAMILIES.values())) == len(titles)


def test_the_title_says_so_where_a_run_does_not_learn(stored):
    assert learning_headline(stored).startswith("All 19 algorithms end at least ")
    bad = stored.copy()
    run = (bad.method == "FedAvg") & (bad.data == "mnist") & (bad.seed == 0) & (bad["round"] == LAPTOP.rounds)
    bad.loc[run, "accuracy"] = 0.3
    assert learning_headline(bad).startswith(f"2 of {4 * len(METHODS) * LAPTOP.seeds} runs end less than 20 points")


@pytest.mark.slow
def test_the_command_draws_the_stored_numbers(capsys, tmp_path):
    assert rankproof.main(["figure", LEARNING_CURVES.id, "--scale", "laptop", "--out", str(tmp_path)]) == 0
    assert "numbers as stored" in capsys.readouterr().out
    drawn = (tmp_path / "training-learning-curves.csv").read_bytes()
    assert drawn == (FOLDER / "training-learning-curves.csv").read_bytes()
    assert not (tmp_path / "runs").exists()


def test_a_margin_is_from_the_best_constant_answer_to_the_lower_bound():
    """The lower bound at 99 % for 81 right in 100 is the quantile of Beta(81, 20)."""
    rows = [("curve", 1, 0.2, 0.1), ("curve", 3, 0.81, 0.1), ("curve", 3, 0.4, 0.1), ("choice", 3, 0.0, 0.9)]
    table = pd.DataFrame(rows, columns=["stage", "round", "accuracy", "constant"])
    table = table.assign(samples=100, data="mnist", method="FedAvg", seed=0, split="IID")
    found = margins(table)
    bounds = [beta.ppf(0.01, right, 100 - right + 1) for right in (81, 40)]
    assert found.bound.tolist() == pytest.approx(bounds)
    assert found.margin.tolist() == pytest.approx([bound - 0.1 for bound in bounds])
    assert learning_headline(table) == "1 of 2 runs end less than 20 points above the best constant answer"
    enough = table.assign(constant=bounds[1] - MARGIN - 1e-12)
    assert learning_headline(enough).endswith(" end at least 20 points above the best constant answer")
