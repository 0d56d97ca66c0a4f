"""Experiments on language models: their runs, equal uplinks, and the statements about invented results."""

from collections.abc import Mapping
from math import nan
from types import SimpleNamespace

import pandas as pd
import pytest

from figures.experiments import experiment
from figures.experiments.experiment import CHOICE, RUN
from figures.fedloru import fig4 as fig4
from figures.figure import Settings
from figures.language.designs import (
    ALGORITHMS,
    SIZES,
    THREE,
    TRIPS,
    budgets_lines,
    clients_lines,
    designs,
    tuning_designs,
    uplinks_lines,
)
from figures.language.sizes import trained
from figures.rolora.language import (
    CLIENTS_FIGURE,
    FIG_3,
    FIG_4,
    FIG_5,
    best_evaluations,
    falls,
    language_outcome,
    leads,
    robustness,
    settings_of,
)
from figures.rolora.printed import TABLE_8

FIGURES = {CLIENTS_FIGURE: clients_lines, FIG_3: clients_lines, FIG_4: budgets_lines, FIG_5: uplinks_lines}


@pytest.mark.parametrize("scale", SIZES)
def test_every_run_can_be_planned(scale):
    sizes = SIZES[scale]
    for lines in (clients_lines(sizes), budgets_lines(sizes), uplinks_lines(sizes)):
        made = designs(lines, sizes.seeds, {}, sizes.rates[0])
        assert sum(len(design.lines) for design in made) == len(lines)
        for design in (*made, *tuning_designs(sizes, ALGORITHMS)):
            for line in design.lines:
                plan = line.trial(design.rounds, (0,), None if "learning_rate" in line.options else 0.1).plan(0)
                assert plan.settings["optimiser"] == "adamw"


@pytest.mark.parametrize("scale", SIZES)
def test_more_clients_use_about_as_many_samples_and_evaluate_as_often(scale):
    sizes = SIZES[scale]
    used = [clients * rounds for clients, rounds in sizes.rounds.items()]
    assert max(used) <= 2 * min(used)
    for line, rounds in (*clients_lines(sizes), *budgets_lines(sizes), *uplinks_lines(sizes)):
        own = rounds // TRIPS.get(str(line.keys["method"]), 1)
        assert own // line.options["evaluate_every"] == sizes.evaluations
        assert own % line.options["evaluate_every"] == 0
        assert rounds % TRIPS.get(str(line.keys["method"]), 1) == 0


@pytest.mark.parametrize("scale", SIZES)
def test_equal_uplinks_are_equal(scale):
    sizes, width = SIZES[scale], 384
    sent: dict[str, set[int]] = {}
    for line, _ in uplinks_lines(sizes):
        matrices = len(str(line.options["layers"]).split(","))
        numbers = trained(str(line.keys["method"]), matrices * width, matrices * width, int(line.options["rank"]))
        sent.setdefault(str(line.keys["uplink"]), set()).update(numbers)
    assert [len(numbers) for numbers in sent.values()] == [1, 1]


def test_layers_of_a_budget_are_the_last_ones():
    assert SIZES["laptop"].layers("P2") == "*.layer.4.*.query, *.layer.4.*.value, *.layer.5.*.query, *.layer.5.*.value"
    sizes = [len(SIZES["laptop"].layers(name)) for name in ("P1", "P2", "P3", "twice U")]
    assert sizes == sorted(sizes)


def test_uplinks_at_the_papers_scale_have_the_layers_of_its_table_8():
    found = {
        (line.keys["uplink"], line.keys["method"]): len(str(line.options["layers"]).split(",")) // 2
        for line, _ in uplinks_lines(SIZES["paper"])
    }
    printed = {
        (uplink, method): layers.layers
        for uplink, budget in zip(("low", "high"), TABLE_8.values(), strict=True)
        for method, layers in budget.items()
    }
    assert found == printed


def test_the_printed_settings_stand_at_the_papers_scale():
    sizes = SIZES["paper"]
    assert sizes.rates == (5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1)
    assert (sizes.rounds[3], sizes.common["steps"], sizes.common["batch"]) == (500, 20, 64)
    assert set(sizes.ranks) == {1, 2, 4, 8}
    assert [sizes.blocks[name] for name in ("P1", "P2", "P3")] == [3, 6, 24]


def invented(lines, sizes, level: Mapping[str, float]):
    """A table in which a method ends at a level, less with more clients or a smaller budget if it is not RoLoRA."""
    rows = []
    for line, rounds in lines:
        method = str(line.keys["method"])
        less = (
            0.0
            if method == "RoLoRA"
            else 0.001 * int(line.keys.get("clients", 0)) + 0.01 * (line.keys.get("budget") == "P1")
        )
        for seed in range(3):
            for number in (0, rounds):
                rows.append(
                    {
                        "stage": RUN,
                        **line.keys,
                        "seed": seed,
                        "rate": 0.005,
                        "round": number,
                        "value": 0.5 if number == 0 else level[method] - less + 0.001 * seed,
                        "bytes": 100 * number,
                        "failed": 0,
                    }
                )
    return pd.DataFrame(rows)


LEVEL = {"LoRA": 0.8, "FFA-LoRA": 0.75, "FlexLoRA": 0.79, "RoLoRA": 0.82, "FedLoRU": 0.81}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_what_is_found_is_what_was_invented(figure):
    sizes = SIZES["laptop"]
    table = invented(FIGURES[figure](sizes), sizes, LEVEL)
    assert all(effect.above == "supports" for _, _, effect in leads(table))
    methods = set(table.method)
    assert {other for _, other, _ in leads(table)} == methods - {"RoLoRA"}
    assert "RoLoRA is above LoRA in" in figure.found(table)
    assert "undecided" not in language_outcome(table)
    worse = invented(FIGURES[figure](sizes), sizes, {**LEVEL, "RoLoRA": 0.6})
    assert all(effect.above == "contradicts" for _, _, effect in leads(worse))
    assert "all training sentences, 512 test sentences, at most 64 tokens" in figure.sizes(table)
    assert "LoRA 0.005" in figure.sizes(table)
    picture = figure.draw(table)
    drawn = [text.get_text().strip() for axes in picture.axes for text in (*axes.texts, axes.title)]
    if figure is FIG_3:
        assert len([text for text in drawn if text]) == len(settings_of(table)) == 5
    else:
        assert set(methods) <= set(drawn)


def test_the_best_evaluation_of_each_run_is_also_compared():
    sizes = SIZES["laptop"]
    table = invented(budgets_lines(sizes), sizes, LEVEL)
    middle = table[table["round"] == 0].assign(round=24)
    middle.loc[middle.method == "LoRA", "value"] = table.value.max() + 0.02
    peaked = pd.concat([table, middle], ignore_index=True)
    best = best_evaluations(peaked)
    assert len(best) == len(table) / 2  # one row for each run, none of the start
    assert set(best[best.method == "LoRA"].value) == {table.value.max() + 0.02}
    assert leads(best)[0][2].above == "contradicts"
    assert leads(peaked)[0][2].above == "supports"
    assert "in which every method was evaluated: RoLoRA is above LoRA in 0 of 12 settings, below in 12" in FIG_4.found(
        peaked
    )


def test_no_method_has_its_best_among_more_evaluations_than_another():
    """A method with two trips per round is evaluated at fewer rounds; a failed run has one row."""
    sizes = SIZES["laptop"]
    table = invented(clients_lines(sizes), sizes, LEVEL)
    start = table[table["round"] == 0]
    peak = start[(start.method == "LoRA") & (start.clients == 3)].assign(round=24, value=0.99)
    both = start[(start.method != "RoLoRA") & (start.clients == 50)].assign(round=2, value=0.99)
    peaked = pd.concat([table, peak, both], ignore_index=True)
    best = best_evaluations(peaked)
    assert len(best) == len(table) / 2
    assert language_outcome(best) == language_outcome(best_evaluations(table)) == language_outcome(table)
    with_all = pd.concat([peaked, start[(start.method == "RoLoRA") & (start.clients == 50)].assign(round=2)])
    assert set(best_evaluations(with_all).query("clients == 50 and method == 'LoRA'").value) == {0.99}
    assert best_evaluations(with_all).query("clients == 3 and method == 'LoRA'").value.max() < 0.9
    one_seed = with_all[(with_all.seed > 0) | (with_all.method != "RoLoRA") | (with_all["round"] != 2)]
    found = best_evaluations(one_seed).query("clients == 50 and method == 'LoRA'").set_index("seed").value
    assert found[0] < 0.9
    assert (found[1:] == 0.99).all()
    failed = with_all.drop(with_all[(with_all.clients == 50) & (with_all.method == "RoLoRA")].index)
    ended = table[(table.clients == 50) & (table.method == "RoLoRA") & (table["round"] > 0)].assign(value=nan, failed=1)
    of_failed = best_evaluations(pd.concat([failed, ended]))
    assert set(of_failed.query("clients == 50 and method == 'LoRA'").value) == {0.99}
    assert of_failed.query("clients == 50 and method == 'RoLoRA'").value.isna().all()


def test_stated_falls():
    sizes = SIZES["laptop"]
    table = invented(clients_lines(sizes), sizes, LEVEL)
    assert [(name, effect.above) for name, effect in falls(table)] == [
        (f"{method} falls by more than RoLoRA from 3 to 50 clients", "supports") for method in ("LoRA", "FFA-LoRA")
    ]
    assert falls(table)[0][1].mean == pytest.approx(0.047)
    table = invented(budgets_lines(sizes), sizes, LEVEL)
    assert [effect.mean for _, effect in robustness(table)] == pytest.approx([0.01] * 4)
    assert [name[:6] for name, _ in robustness(table)] == ["rank 4", "rank 8", "rank 2", "rank 1"]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_every_rate_that_is_tried_is_a_row(figure, monkeypatch):
    def made(experiment, settings, before=""):
        for trial, seed in experiment.runs:
            value = 0.9 - 5 * abs(trial.settings["learning_rate"] - 0.01)
            row = {"round": trial.rounds, "accuracy": value, "validation_accuracy": value}
            yield SimpleNamespace(trial=trial, seed=seed, failure="", curve=lambda metric, row=row: [row])

    monkeypatch.setattr(experiment, "outcomes_of", made)
    sizes = SIZES["laptop"]
    table = figure.data(Settings(scale="laptop"))
    choice, runs = table[table.stage == CHOICE], table[table.stage == RUN]
    methods = set(runs.method)
    assert len(choice) == len(methods) * len(sizes.rates)
    assert choice.groupby("method").rate.agg(tuple).to_dict() == dict.fromkeys(methods, sizes.rates)
    assert set(choice["round"]) == {sizes.tuning_rounds}
    assert set(runs.rate) == {0.01}
    assert not choice.isna().any().any()
    assert "rates: LoRA 0.01, FFA-LoRA 0.01" in figure.sizes(table)
    assert "seeds 0, 1, 2." in figure.sizes(table)
    assert len(figure.draw(table).axes) == len(figure.draw(runs).axes)


def test_every_method_is_compared_and_chooses_its_rate():
    sizes = SIZES["laptop"]
    tuned = [line for design in tuning_designs(sizes, ALGORITHMS) for line in design.lines]
    assert {line.rate_of for line in tuned} == set(ALGORITHMS)
    assert all(line.tuned and line.options["held_out"] == 256 for line in tuned)
    assert {str(line.keys["method"]) for line, _ in budgets_lines(sizes)} == set(THREE)
    assert all("held_out" not in line.options for line, _ in clients_lines(sizes))


@pytest.mark.parametrize("scale", fig4.SIZES)
def test_runs_of_fine_tuning_can_be_planned(scale):
    made = fig4.design(Settings(scale))
    for line in made.lines:
        plan = line.trial(made.rounds, (0,)).plan(0)
        assert (plan.settings["optimiser"], plan.settings["learning_rate"]) == ("adamw", 3e-4)
        assert plan.settings["rank"] == 8
    assert ("tau" in made.lines[0].options, "tau" in made.lines[1].options) == (False, True)


def test_both_losses_are_those_of_the_same_runs(monkeypatch):
    asked = []

    def noted(design, settings):
        asked.extend((line.keys, line.metric, line.trial(design.rounds, (0,)).plan(0)) for line in design.lines)
        return pd.DataFrame({"stage": [RUN]})

    monkeypatch.setattr(fig4, "run_design", noted)
    monkeypatch.setattr(fig4, "announce_cost", lambda *_: None)
    assert len(fig4.fig4_data(Settings("quick"))) == 2
    told = [(keys["method"], keys["answers"], metric) for keys, metric, _ in asked]
    assert told == [
        (method, answers, metric)
        for answers, metric in (("held out", "loss"), ("training", "training_loss"))
        for method in fig4.METHODS
    ]
    assert len({plan.digest for *_, plan in asked}) == len(fig4.METHODS)


@pytest.mark.parametrize(("loss", "above"), [(2.0, "supports"), (3.0, "contradicts")])
def test_the_lower_loss_is_the_better_one(loss, above):
    rows = [
        {
            "stage": RUN,
            "method": method,
            "answers": answers,
            "seed": seed,
            "rate": 3e-4,
            "round": number,
            "value": ends[method] + 0.01 * seed + 0.001 * seed * (method == "FedLoRA"),
            "bytes": 0,
            "failed": 0,
        }
        for answers, ends in (
            ("held out", {"FedLoRA": 2.5, "FedLoRU": loss}),
            ("training", {"FedLoRA": 2.75, "FedLoRU": 2.25}),
        )
        for method in fig4.METHODS
        for seed in range(3)
        for number in (0, 50)
    ]
    table = pd.DataFrame(rows)
    assert fig4.gain(table).above == above
    assert fig4.gain(table, "training").mean == pytest.approx(0.501)
    assert fig4.fig4_found(table).endswith(f"{above}.")
    assert "FedLoRA 2.511 (perplexity 12.32)" in fig4.fig4_outcome(table)
    assert "on training answers +0.501 +- 0.002" in fig4.fig4_outcome(table)
    assert "smollm2 on instructions" in fig4.fig4_sizes(table)
    for axes, end in zip(fig4.draw_fig4(table).axes, (loss, 2.25), strict=True):
        assert [line.get_label() for line in axes.lines] == ["FedLoRA", "FedLoRU"]
        assert list(axes.lines[1].get_ydata()) == pytest.approx([end + 0.01] * 2)


def test_a_run_that_failed_is_said():
    table = pd.DataFrame(
        [
            {
                "stage": RUN,
                "method": method,
                "answers": answers,
                "seed": 0,
                "rate": 3e-4,
                "round": 12,
                "bytes": 0,
                "value": float("nan") if method == "FedLoRU" else 2.0,
                "failed": int(method == "FedLoRU"),
            }
            for answers in fig4.METRICS
            for method in fig4.METHODS
        ]
    )
    assert "FedLoRU failed" in fig4.fig4_outcome(table)
    fig4.draw_fig4(table)


def test_a_statement_about_later_rounds_is_not_reached():
    """The paper's statement begins after round 25, so a difference after 12 rounds neither supports nor refutes it."""
    table = pd.DataFrame(
        [
            {
                "stage": RUN,
                "method": method,
                "answers": answers,
                "seed": seed,
                "rate": 3e-4,
                "round": 12,
                "value": 2.0 + 0.5 * (method == "FedLoRU"),
                "bytes": 0,
                "failed": 0,
            }
            for answers in fig4.METRICS
            for method in fig4.METHODS
            for seed in range(3)
        ]
    )
    assert fig4.gain(table).above == "not reached"
    assert fig4.fig4_found(table).endswith("not reached within 12 rounds.")
    assert fig4.gain(table, "training").above == "contradicts"
