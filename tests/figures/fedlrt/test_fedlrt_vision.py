"""FeDLRT's Figures 5 to 8: settings of Table 2, shared batches, and the reference of the saved communication."""

from dataclasses import replace
from math import prod
from pathlib import Path

import pandas as pd
import pytest
from seen import bars, curve, drawn, level, same, styled, texts, within

from figures.experiments.cost import cost_of_line
from figures.experiments.experiment import RUN, Line
from figures.fedlrt import vision as vision
from figures.fedlrt.vision_runs import BUDGET, VARIANTS, VISION, method_name
from figures.figure import Settings
from workloads.data.datasets import find

ROOT = Path(__file__).resolve().parents[3] / "data"
TABLE_2 = {
    "fig-5": (128, 1e-3, 5e-4, 0.9, 1e-3),
    "fig-6": (128, 1e-2, 1e-5, 0.0, 1e-4),
    "fig-7": (128, 1e-2, 5e-4, 0.1, 1e-4),
    "fig-8": (256, 3e-4, 1e-5, None, 1e-2),
}
"""Batch size, learning rates of the start and the end, momentum, weight decay."""
EVERY = [(name, scale) for name, scales in VISION.items() for scale in scales]


@pytest.mark.parametrize(("name", "scale"), EVERY)
def test_every_run_can_be_planned(name, scale):
    of = VISION[name][scale]
    design = of.design
    assert len(design.lines) == len(of.clients) * (len(of.rows) + len({VARIANTS[row][1] for row in of.rows}))
    for line in design.lines:
        trial = line.trial(design.rounds, (0,), 0.1 if of.rates else None)
        plan = trial.plan(0)
        assert plan.settings["steps"] == of.local_steps(plan.settings["clients"])
        assert plan.settings["epochs"] is None
        assert plan.settings["statistics"] == "averaged"
    assert sum(line.tuned for line in design.lines) == (len(design.lines) if of.own_rates else bool(of.rates))


@pytest.mark.parametrize("name", VISION)
def test_the_scale_of_the_paper_is_table_2(name):
    of = VISION[name]["paper"]
    batch, start, end, momentum, decay = TABLE_2[name]
    assert (of.rounds, of.seeds) == (200, 10)
    for line in of.design.lines:
        settings = line.trial(of.rounds, (0,)).plan(0).settings
        found = (
            settings["batch"],
            settings["learning_rate"],
            settings["schedule_minimum"],
            settings.get("momentum"),
            settings["weight_decay"],
            settings["schedule_period"],
        )
        assert found == (batch, start, end, momentum, decay, 200)
        if "truncation" in settings:
            assert settings["truncation"] == 0.01
    assert of.steps == (100 if name == "fig-6" else "share")


def test_batches_are_shared_and_rounded_down_for_32_clients():
    of = VISION["fig-5"]["paper"]
    assert [of.local_steps(clients) for clients in of.clients] == [240, 120, 60, 30, 15, 7]


@pytest.mark.parametrize(("name", "entries"), [("fig-5", 5120), ("fig-6", 20_971_520), ("fig-8", 36 * 512**2)])
def test_entries_of_the_factorised_layers_are_counted_from_the_networks(name, entries):
    of = VISION[name]["paper"]
    assert of.factorised == entries


def test_what_a_layer_saves_is_what_counting_gives(tmp_path):
    """At rank 2 a layer of 8 x 8 sends 3 * 16 * 2 + 7 * 4 numbers for FedLin's 4 * 64, with simplified correction."""
    if find("fashion-mnist", ROOT) is None:
        pytest.skip("Fashion-MNIST is not here")
    table = vision.vision_data("fig-8", Settings(data_root=ROOT, runs=tmp_path))
    saved = vision.savings(table)
    assert set(saved.clients) == {1, 4}
    assert saved.of_layers.tolist() == pytest.approx([1 - 124 / 256] * 2)
    assert (saved.saved < saved.of_layers).all()
    assert "sends 52 % less than FedLin with simplified correction" in vision.vision_found("it", table)
    assert len(vision.draw_vision(table).axes) == 2
    assert "5 with 1 client, 5 with 4 clients" in vision.vision_sizes("fig-8", table)


def written():
    """Runs of three seeds, in which correction helps with 32 clients."""
    finals = {
        ("without correction", 1): 0.8,
        ("without correction", 32): 0.6,
        ("FedAvg", 1): 0.8,
        ("FedAvg", 32): 0.62,
        ("full correction", 1): 0.8,
        ("full correction", 32): 0.75,
        ("FedLin", 1): 0.81,
        ("FedLin", 32): 0.75,
    }
    return pd.DataFrame(
        {
            "stage": RUN,
            "method": method,
            "clients": clients,
            "seed": seed,
            "rate": 0.1,
            "round": 5,
            "value": value + 0.01 * seed,
            "bytes": 1000 if method in VARIANTS else 4000,
            "failed": 0,
            "factorised": 10,
            "steps": 240 // clients,
        }
        for (method, clients), value in finals.items()
        for seed in range(3)
    )


def test_the_stated_differences_are_paired_over_seeds():
    found = {name: effect.mean for name, effect in vision.contrasts(written()).items()}
    assert found["full correction against none, 32 clients"] == pytest.approx(0.15)
    assert found["FeDLRT without correction: 1 client against 32"] == pytest.approx(0.2)
    assert found["FeDLRT with full correction against FedLin, 1 client"] == pytest.approx(-0.01)
    assert "accuracy is 0.0 to 2.0 points below its counterpart's" in vision.vision_outcome(written())
    assert "7 with 32 clients (240/C, rounded down with 32, so every run" in vision.vision_sizes("fig-5", written())


@pytest.mark.parametrize(("rounds", "verdict"), [(39, "not reached within 39 of 200 rounds"), (40, "supports")])
def test_runs_of_few_rounds_do_not_reach_what_is_stated_for_the_end(rounds, verdict):
    table = written().assign(round=rounds)
    assert vision.contrasts(table)["FeDLRT without correction: 1 client against 32"].verdict == verdict
    assert f"at this scale and after {rounds} of 200 rounds: " in vision.vision_found("it", table)
    assert "at this scale: " in vision.vision_found("it", table.assign(round=200))


@pytest.mark.parametrize("name", VISION)
def test_narrow_networks_keep_the_share_of_what_is_factorised(name):
    shares = []
    for scale in ("laptop", "paper"):
        of = VISION[name][scale]
        shares.append(of.factorised / sum(prod(shape) for shape in of.shapes.values()))
    assert shares[0] == pytest.approx(shares[1], abs=0.1)


@pytest.mark.skipif(find("fashion-mnist", ROOT) is None, reason="Fashion-MNIST is not here")
def test_local_steps_and_what_comes_to_them_are_counted():
    """FedAvg does nothing but steps; FedLin also takes a gradient of all samples."""
    settings, found = Settings(data_root=ROOT), {}
    lines = [line for line in VISION["fig-6"]["quick"].design.lines if line.options["clients"] == 4]
    assert {line.algorithm for line in lines} == {"fedlin", "fedlrt"}
    for line in lines:
        steps = [replace(line, options={**line.options, "width": 16, "steps": number}) for number in (1, 2, 5)]
        one, two, five = (cost_of_line(of, 3, settings).operations for of in steps)
        assert five - one == pytest.approx(4 * (two - one))
        found[line.algorithm] = (2 * one - two) / one
    plain = Line({}, "fedavg", "fashion-mnist", {**line.options, "learning_rate": 0.1})
    one, two = (cost_of_line(plain, rounds, settings).operations for rounds in (1, 2))
    assert two == pytest.approx(2 * one)
    assert found["fedlin"] > 0.5


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (1000, 1000, "% less than FedLin with full correction"),
        (4400, 4400, "% more than FedLin with full correction"),
        (1000, 4400, "% less than FedAvg without correction"),
    ],
)
def test_more_communication_than_of_all_weights_is_not_called_saved(first, second, told):
    table = written()
    table.loc[table.method.isin(VARIANTS), "bytes"] = first
    table.loc[table.method.isin(VARIANTS) & (table.clients == 32), "bytes"] = second
    assert told in vision.vision_outcome(table)
    assert ("more" in vision.vision_outcome(table)) is (second == 4400)


def test_four_clients_are_compared_with_fewer_and_more_where_all_take_as_many_steps():
    table = written()
    few = table[table.clients == 1].assign(clients=4, value=lambda rows: rows.value + 0.03)
    names = vision.contrasts(pd.concat([table, few]).assign(steps=100))
    assert names["FedLin: 4 clients against 1"].mean == pytest.approx(0.03)
    assert names["FeDLRT with full correction: 4 clients against 32"].mean == pytest.approx(0.08)
    assert not any("4 clients against" in name for name in vision.contrasts(pd.concat([table, few])))


def test_a_failed_run_saves_nothing():
    table = written()
    table.loc[(table.method == "full correction") & (table.seed == 0), "failed"] = 1
    assert len(vision.savings(table)) == len(vision.savings(written())) - 2


def test_what_training_of_all_weights_would_have_sent_is_known_where_it_failed():
    table = written()
    failed = (table.method == "FedLin") & (table.seed == 0)
    table.loc[failed, ["bytes", "failed", "value"]] = [0, 1, float("nan")]
    pd.testing.assert_frame_equal(vision.savings(table), vision.savings(written()))
    assert len(vision.draw_vision(table).axes) == 4
    table.loc[(table.method == "FedLin") & (table.clients == 32), ["bytes", "failed", "value"]] = [0, 1, float("nan")]
    assert set(vision.savings(table)[vision.savings(table).method == "full correction"].clients) == {1}


def test_no_budget_is_too_small():
    assert replace(VISION["fig-5"]["quick"], steps="share").local_steps(2 * BUDGET) == 1


def test_the_picture_shows_means_and_intervals():
    table = written()
    picture = styled(vision.draw_vision, table)
    saved, half = vision.savings(table), 4.302652729911275 / 3**0.5  # t of two degrees of freedom
    for row, other, (left, right) in zip(
        ("without correction", "full correction"),
        ("FedAvg", "FedLin"),
        (picture.axes[:2], picture.axes[2:]),
        strict=True,
    ):
        marks = []
        for column, name in (("of_layers", "factorised layers"), ("saved", "all weights")):
            mean = 100 * saved[saved.method == row].groupby("clients")[column].mean()
            marks += [curve(name, mean.index, mean), bars(name, mean.index, mean, mean)]
        same(drawn(left), [*marks, level(0.0)])
        marks = []
        for method, name in ((row, "FeDLRT"), (other, other)):
            of = 100 * table[table.method == method].groupby("clients").value.agg(["mean", "std"])
            size = of["std"] * half
            marks += [curve(name, of.index, of["mean"]), bars(name, of.index, of["mean"] - size, of["mean"] + size)]
        same(drawn(right), marks)
        last = row == "full correction"
        assert texts(left) == (f"FeDLRT {method_name(row)}", "clients C" * last, f"saved against {other} (%)")
        assert texts(right) == ("", "clients C" * last, "test accuracy (%)")
        assert left.get_ylim()[1] == 100
        assert within(right)
    assert picture.axes[1].get_ylim() == picture.axes[3].get_ylim()
    assert [label.get_text() for label in picture.axes[3].get_xticklabels()] == ["1", "32"]


def test_savings_are_shares_of_what_all_weights_and_the_factorised_layers_send():
    """1000 bytes for 4000; ten entries of 4 bytes, twice or four times in each of five rounds, for each client."""
    saved = vision.savings(written()).groupby(["method", "clients"])[["saved", "of_layers"]].agg(["min", "max"])
    for method, trips in (("without correction", 2), ("full correction", 4)):
        for clients in (1, 32):
            row = saved.loc[method, clients]
            assert set(row["saved"]) == {0.75}
            assert row["of_layers"].tolist() == pytest.approx([3000 / (4 * trips * 10 * clients * 5)] * 2)
