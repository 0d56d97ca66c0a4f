"""Experiments as data: lines, the choice of learning rates, the table, and its findings on comparisons."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from figures.experiments import experiment as running
from figures.experiments.effects import POWER, Effect, by_seed, mean_and_half_width, paired_effect, smallest_detectable
from figures.experiments.experiment import CHOICE, RUN, Design, Line, finals, key_columns, run_design
from figures.experiments.sweep import needs_runs
from figures.experiments.tables import Contrast, Value, count_effects
from figures.figure import FigureError, Settings
from figures.ledger import select

METRICS = ("accuracy", "validation_accuracy")
LINES = tuple(
    Line(
        {"method": method, "clients": clients},
        algorithm,
        "quadratics",
        {"clients": clients},
        "loss",
        method,
        clients == 2,
    )
    for method, algorithm in (("FedAvg", "fedavg"), ("FedLin", "fedlin"))
    for clients in (2, 3)
)


def test_every_line_is_run_with_the_same_seeds(tmp_path):
    design = Design(tuple(replace(line, tuned=True) for line in LINES), 3, 2, (0.1,))
    assert design.runs == 8
    table = run_design(design, Settings(seed=1, runs=tmp_path))
    assert key_columns(table) == ["method", "clients"]
    assert set(table.stage) == {RUN}
    assert set(table.seed) == {100, 101}
    assert set(table.rate) == {0.1}
    for _, run in table.groupby(["method", "clients", "seed"]):
        assert run["round"].tolist() == [0, 1, 2, 3]
        assert run.bytes.is_monotonic_increasing
    assert table.equals(run_design(design, Settings(seed=1, runs=tmp_path)))


def test_final_values_are_means_of_the_last_evaluations(tmp_path):
    table = run_design(Design(LINES, 3, 2, (0.1,)), Settings(runs=tmp_path))
    ends = finals(table, 2)
    assert len(ends) == 8
    one = table[(table.method == "FedLin") & (table.clients == 3) & (table.seed == 1)]
    assert by_seed(ends, method="FedLin", clients=3)[1] == pytest.approx(one.value.iloc[-2:].mean())
    with pytest.raises(FigureError, match="several lines"):
        by_seed(ends, method="FedLin")
    with pytest.raises(FigureError, match="no line"):
        by_seed(ends, method="FedProx")


def outcomes_by(accuracy):
    """Runs whose last value is a function of the trial's learning rate; None: a run that failed."""

    def made(experiment, settings, before=""):
        for trial, seed in experiment.runs:
            value = accuracy(trial)
            row = {
                "round": trial.rounds,
                "bytes_down": 1,
                "bytes_up": 2,
                "validation_accuracy": value,
                "accuracy": value,
            }
            yield SimpleNamespace(
                trial=trial,
                seed=seed,
                failure="" if value is not None else "it diverged",
                curve=lambda metric, row=row: [row],
            )

    return made


def test_the_rate_that_is_best_on_held_out_samples_is_the_group_s(monkeypatch):
    def accuracy(trial):
        rate = trial.settings["learning_rate"]
        return None if rate > 1 else (1 - abs(rate - 0.1) if "FedAvg" in trial.label else rate)

    monkeypatch.setattr(running, "outcomes_of", outcomes_by(accuracy))
    lines = tuple(replace(line, metric="accuracy") for line in LINES)
    design = Design(lines, 5, 2, (0.03, 0.1, 0.3, 3.0), 2)
    table = run_design(design, Settings())
    choice, runs = table[table.stage == CHOICE], table[table.stage == RUN]
    assert set(choice.seed) == {99}
    assert set(choice.clients) == {2}
    assert choice[choice.rate == 3.0].failed.tolist() == [1, 1]
    assert runs.groupby("method").rate.unique().map(list).to_dict() == {"FedAvg": [0.1], "FedLin": [0.3]}
    assert design.runs == 8 + 2 * 4


@pytest.mark.parametrize(
    ("best", "tried", "chosen"),
    [
        (0.1, [0.03, 0.1, 0.3], 0.1),
        (3.0, [0.03, 0.1, 0.3, 1.0, 3.0, 10.0], 3.0),
        (0.003, [0.03, 0.1, 0.3, 0.01, 0.003, 0.001], 0.003),
        (1e9, [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0], 30.0),
        (1e-9, [0.03, 0.1, 0.3, 0.01, 0.003, 0.001, 0.0003], 0.0003),
    ],
)
def test_rates_continue_until_the_best_is_inside(monkeypatch, best, tried, chosen):
    monkeypatch.setattr(
        running,
        "outcomes_of",
        outcomes_by(lambda trial: 1 - 0.03 * abs(np.log(trial.settings["learning_rate"] / best))),
    )
    lines = tuple(replace(line, metric="accuracy") for line in LINES if line.keys["method"] == "FedAvg")
    table = run_design(Design(lines, 5, 1, (0.03, 0.1, 0.3), 2), Settings())
    assert table[table.stage == CHOICE].rate.tolist() == tried
    assert set(table[table.stage == RUN].rate) == {chosen}


def test_a_group_whose_best_rate_is_inside_tries_no_more_when_another_does(monkeypatch):
    best = {"FedAvg": 0.1, "FedLin": 0.3}
    monkeypatch.setattr(
        running,
        "outcomes_of",
        outcomes_by(lambda of: 1 / (1 + abs(np.log(of.settings["learning_rate"] / best[of.label.split(",")[0]])))),
    )
    lines = tuple(replace(line, metric="accuracy") for line in LINES)
    table = run_design(Design(lines, 5, 1, (0.03, 0.1, 0.3), 2), Settings())
    tried = table[table.stage == CHOICE].groupby("method").rate.apply(list)
    assert tried.to_dict() == {"FedAvg": [0.03, 0.1, 0.3], "FedLin": [0.03, 0.1, 0.3, 1.0]}


def test_the_paper_s_grid_is_not_continued(monkeypatch):
    monkeypatch.setattr(running, "outcomes_of", outcomes_by(lambda trial: trial.settings["learning_rate"]))
    lines = tuple(replace(line, metric="accuracy") for line in LINES)
    for scale, tried in (("paper", {0.03, 0.1}), ("laptop", {0.03, 0.1, 0.3, 1.0, 3.0, 10.0})):
        table = run_design(Design(lines, 5, 1, (0.03, 0.1), 2), Settings(scale))
        assert set(table[table.stage == CHOICE].rate) == tried


def test_a_second_seed_decides_between_rates_that_the_first_does_not_tell_apart(monkeypatch):
    accuracies = {(0.03, 99): 0.5, (0.1, 99): 0.792, (0.3, 99): 0.791, (1.0, 99): 0.7, (0.1, 98): 0.77, (0.3, 98): 0.78}
    monkeypatch.setattr(
        running, "outcomes_of", outcomes_by(lambda of: accuracies.get((of.settings["learning_rate"], of.seeds[0]), 0.5))
    )
    lines = tuple(replace(line, metric="accuracy") for line in LINES if line.keys["method"] == "FedAvg")
    table = run_design(Design(lines, 5, 1, (0.03, 0.1, 0.3, 1.0), 2), Settings())
    choice = table[table.stage == CHOICE]
    assert list(zip(choice.rate, choice.seed, strict=True)) == list(accuracies)
    assert set(table[table.stage == RUN].rate) == {0.3}


def test_a_run_that_fails_is_a_row_without_a_value(monkeypatch):
    monkeypatch.setattr(running, "outcomes_of", outcomes_by(lambda trial: None if "FedLin" in trial.label else 0.5))
    table = run_design(Design(tuple(replace(line, metric="accuracy") for line in LINES), 5, 2, (0.1,)), Settings())
    ends = finals(table)
    assert ends.groupby("method").failed.sum().to_dict() == {"FedAvg": 0, "FedLin": 4}
    assert ends[ends.failed == 1].value.isna().all()
    assert set(table.bytes[table.failed == 0]) == {1 + 2}  # down and up
    assert set(table["round"]) == {5}
    effect = paired_effect(by_seed(ends, method="FedAvg", clients=2), by_seed(ends, method="FedLin", clients=2))
    assert (effect.pairs, effect.failed, effect.above) == (0, 2, "undecided")
    assert effect.text == "no seed without a failed run"
    with pytest.raises(FigureError, match="no seed in common"):
        paired_effect({0: 0.5}, {1: 0.5})


def test_final_values_keep_the_order_of_the_experiment_where_a_line_fails(monkeypatch):
    monkeypatch.setattr(running, "outcomes_of", outcomes_by(lambda trial: None if "FedAvg" in trial.label else 0.5))
    ends = finals(
        run_design(Design(tuple(replace(line, metric="accuracy") for line in LINES), 5, 1, (0.1,)), Settings())
    )
    assert list(zip(ends.method, ends.clients, strict=True)) == [tuple(line.keys.values()) for line in LINES]


def test_a_cosine_has_the_length_of_the_run_and_a_minimum_below_the_rate():
    line = replace(LINES[0], options={"schedule": "cosine", "schedule_minimum": 0.05})
    assert line.trial(8, (0,), 0.1).settings["schedule_period"] == 8
    assert line.trial(8, (0,), 0.01).settings["schedule_minimum"] == 0.01


def test_designs_that_cannot_be():
    with pytest.raises(FigureError, match="needs lines"):
        Design((), 1, 1)
    with pytest.raises(FigureError, match="same columns"):
        Design((LINES[0], replace(LINES[1], keys={"method": "FedAvg"})), 1, 1)
    with pytest.raises(FigureError, match="no line of the experiment chooses the learning rate of FedLin, 2"):
        Design((*LINES[:2], *(replace(line, tuned=False) for line in LINES[2:])), 1, 1, (0.1, 0.2))


def test_an_effect_is_the_paired_t_interval():
    ours, theirs = {0: 0.81, 1: 0.84, 2: 0.79, 7: 0.5}, {2: 0.77, 1: 0.8, 0: 0.8, 9: 0.1}
    effect = paired_effect(ours, theirs)
    interval = ttest_1samp([0.01, 0.04, 0.02], 0).confidence_interval(0.95)
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))
    assert (effect.pairs, effect.failed, effect.above) == (3, 0, "undecided")


def test_two_seeds_have_a_smallest_detectable_difference():
    """With one degree of freedom the bound is 12.7 standard errors."""
    assert smallest_detectable([0.1, 0.2]) == pytest.approx(0.8167, abs=2e-4)


@pytest.mark.parametrize(("shift", "finding"), [(0.05, "supports"), (-0.05, "contradicts"), (0.0, "undecided")])
def test_what_an_effect_says(shift, finding):
    noise = {0: 0.004, 1: -0.003, 2: -0.001}
    assert (
        paired_effect({seed: shift + value for seed, value in noise.items()}, dict.fromkeys(noise, 0.0)).above
        == finding
    )


@pytest.mark.parametrize(
    ("mean", "half_width", "finding"),
    [
        (0.01, 0.02, "undecided"),
        (-0.01, 0.02, "undecided"),
        (0.0, 0.02, "undecided"),
        (0.02, 0.02, "undecided"),
        (-0.02, 0.02, "undecided"),
        (0.02, 0.0199, "supports"),
        (-0.02, 0.0199, "contradicts"),
        (-0.02, float("inf"), "undecided"),
        (0.0, 0.0, "undecided"),
        (float("nan"), float("inf"), "undecided"),
    ],
)
def test_an_effect_decides_where_its_whole_interval_lies_on_one_side(mean, half_width, finding):
    """In a comparison, as drawn, and with the lines the other way round."""
    effect = Effect(5, mean, half_width, 0.03, 1, "hundredths")
    assert effect.above == finding
    opposite = {"supports": "contradicts", "contradicts": "supports"}.get(finding, finding)
    assert effect.reversed.above == opposite
    assert (effect.reversed.low, effect.reversed.high) == pytest.approx((-effect.high, -effect.low), nan_ok=True)
    same = ("pairs", "half_width", "detectable", "failed", "unit")
    assert [getattr(effect.reversed, name) for name in same] == [getattr(effect, name) for name in same]
    assert Contrast("", "", None, effect).finding == Contrast("", "", 0.0, effect).finding == finding
    assert Contrast("", "", 1.0, effect).finding == finding
    assert Contrast("", "", -1.0, effect).finding == opposite


@pytest.mark.parametrize(
    ("value", "difference", "cells"),
    [
        (Value("", "", 80.0, 75.5, 1.25, 2), -4.5, ("80.0", "75.5 ± 1.2 (2 failed)", "-4.5")),
        (Value("", "", 70.0, 75.5, float("nan")), 5.5, ("70.0", "75.5", "+5.5")),
        (Value("", "", 70.0, 75.5, 1.0, same_data=False), float("nan"), ("70.0", "75.5 ± 1.0", "")),
        (Value("", "", None, 75.5, 1.0), float("nan"), ("", "75.5 ± 1.0", "")),
        (Value("", "", 70.0, float("nan"), float("nan"), 3), float("nan"), ("70.0", "- (3 failed)", "")),
        (Value("", "", 70.0, 69.99, 0.0), -0.01, ("70.0", "70.0 ± 0.0", "+0.0")),
    ],
)
def test_a_difference_is_what_was_obtained_minus_what_is_printed(value, difference, cells):
    assert value.difference == pytest.approx(difference, nan_ok=True)
    assert value.cells == cells


def test_settings_are_counted_on_either_side():
    effects = [Effect(5, mean, 0.015, 0.02) for mean in (0.02, 0.01, -0.01, 0.005, -0.03, -0.02, 0.03)]
    assert (
        count_effects("A", "B", effects)
        == "A is above B in 2 of 7 settings, below in 2, 3 undecided (-3.0 to +3.0 points)"
    )
    assert count_effects("A", "B", effects[:1]) == "A is above B in 1 of 1 setting (+2.0 points)"
    nothing = Effect(0, float("nan"), float("inf"), float("inf"), 5)
    assert count_effects("A", "B", [nothing]) == "A is above B in 0 of 1 setting, 1 undecided (runs failed)"


@pytest.mark.parametrize("values", [(0.2, 0.5, 0.3), (0.4, 0.1), (0.2, 0.5, 0.9, 0.1, 0.3)])
def test_a_mean_has_student_s_interval(values):
    mean, half_width = mean_and_half_width(dict(enumerate([*values, float("nan")])))
    interval = ttest_1samp(values, 0).confidence_interval(0.95)
    assert (mean - half_width, mean + half_width) == pytest.approx((interval.low, interval.high))


def test_final_numbers_are_those_of_the_last_evaluation():
    """Two lines of two seeds: rate and bytes of the last evaluation, the mean of the values, any failure."""
    table = pd.DataFrame(
        [
            (CHOICE, "a", 0, 0.5, 1, 9.0, 900, 0),
            (RUN, "a", 0, 0.1, 1, 1.0, 10, 0),
            (RUN, "a", 0, 0.2, 2, 2.0, 20, 0),
            (RUN, "a", 0, 0.3, 3, 4.0, 40, 0),
            (RUN, "b", 1, 0.1, 1, 8.0, 15, 1),
            (RUN, "b", 1, 0.4, 2, 6.0, 30, 0),
        ],
        columns=["stage", "method", "seed", "rate", "round", "value", "bytes", "failed"],
    )
    found = finals(table, 2).set_index("method")
    assert found.loc["a"].tolist() == [0, 0.3, 3.0, 40, 0]
    assert found.loc["b"].tolist() == [1, 0.4, 7.0, 30, 1]
    assert finals(table).value.tolist() == [4.0, 6.0]


def test_one_seed_and_failed_runs_decide_nothing_by_themselves():
    one = paired_effect({0: 0.9}, {0: 0.1})
    assert (one.above, one.text) == ("undecided", "+80.0 points, one seed")
    some = paired_effect({0: 0.9, 1: float("nan"), 2: 0.8}, {0: 0.1, 1: 0.2, 2: 0.1})
    assert (some.pairs, some.failed) == (2, 1)
    assert some.text.startswith("+75.0 [")
    assert some.text.endswith(", 1 of 3 seeds left out because a run failed")
    single = paired_effect({0: 0.9, 1: float("nan"), 2: float("nan")}, {0: 0.1, 1: 0.2, 2: 0.1})
    assert single.text == "+80.0 points, one seed, 2 of 3 seeds left out because a run failed"
    assert mean_and_half_width({0: 0.5, 1: float("nan")})[0] == 0.5
    assert np.isnan(mean_and_half_width({0: float("nan")})[0])


def test_the_smallest_detectable_difference_is_found_as_often_as_said():
    pairs = [0.01, -0.02, 0.015, 0.0, 0.005]
    size = smallest_detectable(pairs)
    draws = np.random.default_rng(0).normal(size, np.std(pairs, ddof=1), (20_000, len(pairs)))
    found = (ttest_1samp(draws, 0, axis=1).pvalue < 0.05).mean()
    assert found == pytest.approx(POWER, abs=4 * np.sqrt(POWER * (1 - POWER) / len(draws)))


def test_an_effect_in_words():
    assert Effect(5, -0.02, 0.01, 0.015).text == "-2.0 [-3.0, -1.0] points, smallest detectable 1.5"


@pytest.mark.parametrize(
    ("id", "trains"),
    [
        ("training/learning-curves", True),
        ("fedloru/tab-1", True),
        ("rolora/fig-2", True),
        ("rmt/transition", False),
        ("fedlrt/fig-3", False),
    ],
)
def test_a_figure_that_trains_says_so_before_it_starts(id, trains):
    (figure,) = select([id])
    assert needs_runs(figure) == trains
