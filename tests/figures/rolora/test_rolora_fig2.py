"""RoLoRA's Figure 2: its runs as printed, the start that does not move, and the findings on the stated differences."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from seen import band, curve, drawn, key, level, same, styled, texts

from figures.experiments.experiment import RUN
from figures.figure import Settings
from figures.rolora.fig2 import draw_fig2, fig2_data, fig2_found, fig2_outcome, last_rounds, plateau, statements, trips
from figures.rolora.fig2_runs import FIG2_SIZES, METHODS, PRINTED, SLOPE, designs, tuning_designs, whole_designs
from runs.plan import make_plan
from workloads.data.datasets import find

ROOT = Path(__file__).resolve().parents[3] / "data"
LAPTOP = FIG2_SIZES["laptop"]


@pytest.mark.parametrize("scale", FIG2_SIZES)
def test_every_run_can_be_planned(scale):
    sizes = FIG2_SIZES[scale]
    for start, rounds in sizes.rounds.items():
        for design in (*tuning_designs(sizes, start), *designs(sizes, start, {})):
            assert design.runs == len(design.lines) * (design.seeds + len(design.rates) * (len(design.rates) > 1))
            for line in design.lines:
                plan = line.trial(design.rounds, (0,), None if line.options.get("learning_rate") else 0.1).plan(0)
                assert plan.settings["partition"] == "by-label"
                assert design.rounds * trips(line.keys["method"]) in (rounds, sizes.tuning_rounds)


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_the_settings_are_the_printed_ones(scale):
    sizes = FIG2_SIZES[scale]
    assert sizes.options == {}
    lines = [line for start in sizes.rounds for design in designs(sizes, start, {}) for line in design.lines]
    assert {line.keys["clients"] for line in lines} == {5, 10}
    assert {line.keys["method"] for line in lines} == set(METHODS)
    for line in lines:
        plan = make_plan(line.algorithm, line.problem, line.options)
        printed = {
            "epochs": 5,
            "batch": 64,
            "rank": 16,
            "rest": "frozen",
            "samples": None,
            "test_samples": None,
            "held_out": 0,
            "side": None,
            "width": None,
        }
        assert {name: plan.settings[name] for name in printed} == printed


def test_learning_rates_are_chosen_on_held_out_images_for_each_panel_and_method():
    lines = [line for design in tuning_designs(LAPTOP, SLOPE) for line in design.lines]
    assert len({line.rate_of for line in lines}) == len(lines) == 6
    assert all(line.tuned and line.options["held_out"] == 5000 for line in lines)
    assert not list(tuning_designs(LAPTOP, PRINTED))
    rates = {line.rate_of: 0.01 * number for number, line in enumerate(lines, start=1)}
    given = [line for design in designs(LAPTOP, SLOPE, rates) for line in design.lines]
    assert {line.rate_of: line.options["learning_rate"] for line in given} == rates


@pytest.mark.parametrize(("scale", "runs"), [("laptop", 6 * (2 * (5 + 5) + 1)), ("paper", 6 * (10 + 7 + 10 + 6 + 1))])
def test_what_is_counted_are_all_runs(scale, runs):
    whole = list(whole_designs(FIG2_SIZES[scale]))
    assert sum(design.runs for design in whole) == runs
    assert {line.keys["start"] for design in whole for line in design.lines} == set(FIG2_SIZES[scale].rounds)


@pytest.mark.slow
def test_the_printed_start_stays_and_the_other_moves(tmp_path, monkeypatch):
    if find("mnist", ROOT) is None:
        pytest.skip("MNIST is not here: `rankproof data fetch mnist`")
    tiny = replace(
        FIG2_SIZES["quick"], rounds={SLOPE: 2, PRINTED: 2}, options={"samples": 300, "test_samples": 200, "epochs": 1}
    )
    monkeypatch.setitem(FIG2_SIZES, "quick", tiny)
    table = fig2_data(Settings(data_root=ROOT, runs=tmp_path))
    assert (table.stage == RUN).all()
    for start, moves in ((PRINTED, False), (SLOPE, True)):
        for _, run in table[table.start == start].groupby(["clients", "method"]):
            assert run["round"].max() == 2
            assert (run.value.nunique() > 1) is moves
    assert "stays at" in fig2_found(table)
    assert len(draw_fig2(table).axes) == 4


def written(finals):
    """A table of runs whose final accuracies are given by clients, method and seed."""
    rows = [
        {
            "stage": RUN,
            "start": SLOPE,
            "clients": clients,
            "method": method,
            "seed": seed,
            "rate": 0.1,
            "round": 2 * number,
            "value": number * value,
            "bytes": 0,
            "failed": 0,
        }
        for (clients, method), values in finals.items()
        for seed, value in enumerate(values)
        for number in (0, 1)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("rounds", "expected"), [(10, 9.0), (6, 5.0), (2, 2.0)])
def test_accuracies_are_means_over_the_last_rounds_that_all_methods_evaluate(rounds, expected):
    """The value is the round, evaluated in every round or in every second one; at most half of the rounds count."""
    columns = {"stage": RUN, "start": SLOPE, "clients": 5, "rate": 0.1, "bytes": 0, "failed": 0}
    rows = [
        columns | {"method": f"every {stride}", "seed": stride, "round": number, "value": float(number)}
        for stride in (1, 2)
        for number in range(0, rounds + 1, stride)
    ]
    table = pd.DataFrame(rows)[
        ["stage", "start", "clients", "method", "seed", "rate", "round", "value", "bytes", "failed"]
    ]
    assert last_rounds(table).set_index("seed").value.to_dict() == {1: expected, 2: expected}


def test_the_stated_differences_are_paired_over_seeds():
    table = written(
        {
            (5, "LoRA"): (0.6, 0.7, 0.65),
            (10, "LoRA"): (0.4, 0.5, 0.44),
            (5, "FFA-LoRA"): (0.55, 0.54, 0.56),
            (10, "FFA-LoRA"): (0.55, 0.56, 0.54),
            (5, "RoLoRA"): (0.8, 0.82, 0.79),
            (10, "RoLoRA"): (0.78, 0.8, 0.79),
        }
    )
    found = statements(table, SLOPE)
    assert found["LoRA falls from 5 to 10 clients"].mean == pytest.approx((0.2 + 0.2 + 0.21) / 3)
    assert found["LoRA falls by more than RoLoRA"].mean == pytest.approx((0.18 + 0.18 + 0.21) / 3)
    assert {effect.above for effect in found.values()} == {"supports"}
    told = fig2_found(table)
    assert "FFA-LoRA ends at 55.0 +- 2.5 % with 5 clients (supports)" in told
    assert "5 clients: LoRA 65 %, FFA-LoRA 55 %, RoLoRA 80 %" in fig2_outcome(table)


@pytest.mark.parametrize(
    ("mean", "half", "says"),
    [(0.55, 0.04, "supports"), (0.55, 0.06, "undecided"), (0.4, 0.05, "contradicts"), (0.55, float("nan"), "one seed")],
)
def test_a_plateau_around_55_per_cent_is_one_from_50_to_60(mean, half, says):
    assert plateau(mean, half) == says


def test_the_picture_shows_means_and_ranges():
    table = written(
        {
            (clients, method): (0.01 * clients + 0.1 * place, 0.02 * clients + 0.1 * place)
            for clients in (5, 10)
            for place, method in enumerate(METHODS, start=1)
        }
    )
    picture = styled(draw_fig2, table)
    assert key(picture) == [*METHODS, "constant answer"]
    for axes, clients in zip(picture.axes, (5, 10), strict=True):
        marks = [level(10.0)]
        for method in METHODS:
            by = 100 * table[(table.clients == clients) & (table.method == method)].groupby("round").value.agg(
                ["mean", "min", "max"]
            )
            marks += [curve(method, by.index, by["mean"]), band(by.index, by["min"], by["max"])]
        same(drawn(axes), marks)
        told = "test accuracy (%)" * (clients == 5)
        assert texts(axes) == (f"{clients} clients: {SLOPE}", "communication round", told)
        assert axes.get_xlim() == (0, 2)


def test_a_plateau_is_taken_for_50_to_60_per_cent():
    assert plateau(0.70, 0.01) == "contradicts"
    assert plateau(0.60, 0.02) == "undecided"
