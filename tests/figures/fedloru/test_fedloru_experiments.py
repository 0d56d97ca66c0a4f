"""FedLoRU's experiments: the designs as printed, the same samples for all, and what tables and figures state."""

import copy
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch

import rankproof
from figures.experiments.cost import cost_of_line
from figures.experiments.differences import differences
from figures.experiments.experiment import CHOICE, RUN
from figures.fedloru import alignment as aligned
from figures.fedloru import curves as curves
from figures.fedloru import experiments as tables
from figures.fedloru import trained_ranks as trained
from figures.fedloru.designs import (
    LEFT_OUT,
    choice_of,
    fig8_designs,
    matched_rank,
    network_of,
    parameters,
    restarts_design,
    share,
    tab1_design,
    tab3_design,
    tab4_design,
    tab6_design,
    tab7_design,
)
from figures.fedloru.scales import RANKS, SIZES
from figures.figure import Settings
from figures.make import make
from hessian import exact_hessian
from runs.cost import Cost
from runs.networks.network_function import Batch
from workloads.data.datasets import find
from workloads.image_networks.resnet import resnet_shapes

DESIGNS = {
    "1": tab1_design,
    "3": tab3_design,
    "4": tab4_design,
    "6": tab6_design,
    "7": tab7_design,
    "restarts": restarts_design,
}
FIGURES = (
    tables.TABLE_1_FIGURE,
    tables.TABLE_3_FIGURE,
    tables.TABLE_4_FIGURE,
    tables.TABLE_6_FIGURE,
    tables.TABLE_7_FIGURE,
    tables.RESTARTS_FIGURE,
    curves.FIGURE_2,
    curves.FIGURE_3,
    curves.FIGURE_5,
    aligned.FIGURE_8,
)
OWN = {"restart", "rank", "ranks", "client_ranks", "cap", "tau", "personal_rank", "learning_rate"}
"""Options in which methods of one setting may differ."""


def invented(of, value, failed=()):
    """The table of a design at laptop scale with invented values: a function of line, seed and round."""
    rows = [
        {
            "stage": RUN,
            **line.keys,
            "seed": seed,
            "rate": 0.1,
            "round": number,
            "bytes": 1000 * number,
            "failed": 0,
            "value": value(line.keys, seed, number),
        }
        for line in DESIGNS[of](Settings("laptop")).lines
        for seed in range(5)
        for number in range(17)
    ]
    choice = {**rows[0], "stage": CHOICE, "seed": 99}
    return pd.DataFrame([choice, *rows])


def level(keys, seed, number, lead):
    noise = 0.001 * ((seed * 7 + len(keys["method"]) * 3 + number) % 5 - 2)
    return 0.5 + 0.02 * number + noise + (lead if keys["method"].endswith("LoRU") else 0.0)


@pytest.mark.parametrize("of", DESIGNS)
@pytest.mark.parametrize("scale", ["quick", "laptop", "paper"])
def test_methods_of_a_setting_have_the_same_samples_clients_and_steps(of, scale):
    settings = {}
    for line in DESIGNS[of](Settings(scale)).lines:
        key = tuple(value for name, value in line.keys.items() if name not in ("method", "size"))
        same = {name: value for name, value in line.options.items() if name not in OWN}
        assert settings.setdefault(key, same) == same
        assert line.trial(4, (0,), 0.1).plan(0).settings["cohort"] == max(
            1, int(float(line.keys["participation"]) * line.keys["clients"] + 0.25)
        )


def test_the_paper_s_scale_is_as_printed():
    lines = tab6_design(Settings("paper")).lines
    assert sorted({line.keys["clients"] for line in lines}) == [20, 50, 100, 200, 300, 400]
    assert {line.options["cohort"] / line.options["clients"] for line in lines} == {0.5}
    assert {line.options["cohort"] / line.options["clients"] for line in tab7_design(Settings("paper")).lines} == {0.1}
    for line in lines:
        of = line.options
        assert (of["epochs"], of["batch"], of["momentum"], of["schedule_minimum"], of["held_out"]) == (
            5,
            32,
            0.9,
            0.001,
            10_000,
        )
        assert "side" not in of
        assert "samples" not in of
    assert set(SIZES["paper"].rates) == {0.3, 0.2, 0.1, 0.05, 0.01}
    assert all(entry.source for entry in LEFT_OUT)


def test_the_laptop_s_steps_are_those_of_the_paper():
    laptop, paper = SIZES["laptop"].federation, SIZES["paper"].federation
    same = ("epochs", "batch", "momentum", "optimiser", "schedule", "schedule_minimum")
    assert {name: laptop[name] for name in same} == {name: paper[name] for name in same}


def test_shares_are_those_that_are_printed():
    for data, printed in (("fashion-mnist", (44, 33, 22)), ("cifar-100", (41, 31, 21))):
        network = network_of(SIZES["paper"], data)
        found = [100 * share(network, rank) for rank in RANKS.values()]
        assert found == pytest.approx(printed, abs=3)  # a rank above the side of a layer is lowered to it
        shapes = resnet_shapes(
            10 if data == "fashion-mnist" else 18,
            10 if data == "fashion-mnist" else 100,
            channels=1 if data == "fashion-mnist" else 3,
        )
        assert parameters(network) == sum(parameter.numel() for parameter in shapes.parameters())


def test_fedhm_has_the_nearest_number_of_parameters():
    network = network_of(SIZES["laptop"], "fashion-mnist")
    for size in RANKS:
        rank = SIZES["laptop"].rank(size)
        wanted, mine = parameters(network, rank), matched_rank(network, rank)
        gaps = [abs(parameters(network, r, "1 x k, k x 1") - wanted) for r in (mine - 1, mine, mine + 1)]
        assert gaps[1] == min(gaps)
        assert gaps[1] < 0.05 * wanted


def test_runs_that_tables_share_are_the_same_runs():
    def plans(design):
        return {line.trial(16, (0,), 0.1).plan(0).digest for line in design.lines}

    laptop = Settings("laptop")
    assert len(plans(tab1_design(laptop)) & plans(tab6_design(laptop))) == 6


@pytest.mark.parametrize("of", [of for of in DESIGNS if of != "restarts"])
@pytest.mark.parametrize(("lead", "says"), [(0.05, "supports"), (-0.05, "contradicts")])
def test_tables_say_what_the_runs_say(of, lead, says):
    table = invented(of, lambda keys, seed, number: level(keys, seed, number, lead))
    found = tables.contrasts(table, of, tables.PAIRS[of])
    ours = [contrast for contrast in found if contrast.group.startswith(("FedLoRU", "pFedLoRU", "mFedLoRU"))]
    assert {contrast.effect.above for contrast in ours} == {says}
    for contrast in ours:
        assert contrast.effect.mean == pytest.approx(lead, abs=0.01)
    text = tables.found_in(of)(table)
    assert f": {says}" in text
    assert tables.STATED[of] in text
    picture = tables.drawing(of)(table)
    written = {text.get_text() for axes in picture.axes for text in axes.texts}
    assert {cell for value in tables.values(table, of) for cell in value.cells} <= written | {""}


def test_findings_that_the_last_evaluation_alone_would_change_are_named():
    def value(keys, seed, number, at_the_end):
        behind = keys["method"] == "FedLoRU" and keys["clients"] == 200 and (number < 16 or at_the_end)
        return 0.5 + 0.001 * (seed % 2) * (keys["method"] == "FedLoRU") - 0.05 * behind

    told = tables.found_in("7")(invented("7", lambda *of: value(*of, at_the_end=False)))
    changed = told.partition("By the last evaluation alone: ")[2]
    assert changed.startswith("FedLoRU minus FedAvg, K = 200: undecided, +0.")
    assert changed.count("K = 200: undecided") == 3
    assert "K = 100" not in changed
    assert "By the last" not in tables.found_in("7")(invented("7", lambda *of: value(*of, at_the_end=True)))


def test_the_samples_held_out_are_those_that_the_paper_prints():
    rows = {row.setting: (row.printed, row.run) for row in differences(tables.TABLE_6_FIGURE, Settings("laptop"))}
    assert rows["samples held out"] == ("10000", "1000")


def test_restarts_are_compared_with_no_accumulation_and_with_one_another():
    lines = {line.keys["method"]: line for line in restarts_design(Settings("laptop")).lines}
    assert [line.options.get("restart") for line in lines.values()] == [
        None,
        "random",
        "keep A",
        "momentum",
        "random",
        "random",
    ]
    assert [line.options.get("tau") for line in lines.values()] == [None, 2, 2, 2, 4, 8]
    tab1 = {line.trial(16, (0,), 0.1).plan(0).digest for line in tab1_design(Settings("laptop")).lines}
    shared = [name for name, line in lines.items() if line.trial(16, (0,), 0.1).plan(0).digest in tab1]
    assert shared == ["FedLoRA", "A anew"]
    table = invented("restarts", lambda keys, seed, number: 0.5 + 0.1 * (keys["method"] == "A kept") + 1e-4 * seed)
    found = tables.contrasts(table, "restarts", tables.PAIRS["restarts"])
    says = {(contrast.name, contrast.group): contrast.effect.mean for contrast in found}
    assert says["A kept", "minus FedLoRA"] == pytest.approx(0.1)
    assert says["both kept", "minus A anew"] == pytest.approx(0.0, abs=1e-12)
    assert len(says) == 9
    assert tables.lead_outcome(table, "restarts").startswith("A form that accumulates is above FedLoRA in 1 of 5 forms")


def test_a_line_that_fails_is_said_to_and_decides_nothing():
    table = invented("7", lambda keys, seed, number: 0.5)
    table = table[(table.method != "FedHM") | (table["round"] == 16)].copy()
    table.loc[table.method == "FedHM", ["value", "failed"]] = [float("nan"), 1]
    (found,) = tables.contrasts(table, "7", [("FedLoRU", "FedHM")])[:1]
    assert (found.effect.above, found.effect.failed) == ("undecided", 5)
    assert "no seed without a failed run" in tables.found_in("7")(table)
    assert "FedLoRU is above FedHM in 0 of 2 settings, 2 undecided (runs failed)" in tables.lead_outcome(table, "7")
    texts = {text.get_text() for axes in tables.drawing("7")(table).axes for text in axes.texts}
    assert "- (5 failed)" in texts


def test_published_values_stand_beside_their_lines():
    table = invented("7", lambda keys, seed, number: 0.5)
    printed = {(value.group, value.name): value.published for value in tables.values(table, "7")}
    assert printed["Fashion-MNIST, K = 200 (printed: CIFAR-100)", "FedHM"] == pytest.approx(48.72)
    one = {(value.group, value.name): value.published for value in tables.values(invented("1", lambda *_: 0.5), "1")}
    assert one["Fashion-MNIST, NonIID, K = 20", "FedLoRU medium"] == 80.02
    assert one["Fashion-MNIST, IID, K = 100", "FedAvg"] == 90.19
    assert Counter(value is None for value in one.values()) == {False: 30}
    alone, differences = tables.printed_only(invented("4", lambda *_: 0.5), "4")
    assert [value.published for value in alone] == [88.09, 84.81, 88.68, 84.36, 49.84, 51.16, 50.52, 50.89]
    assert {value.cells[1] for value in alone} == {"-"}
    assert [contrast.published for contrast in differences] == pytest.approx([-3.28, -4.32, 1.32, 0.37])
    assert tables.printed_only(table, "7") == ([], [])
    six = [
        contrast.published for contrast in tables.contrasts(invented("6", lambda *_: 0.5), "6", [("FedLoRU", "FedAvg")])
    ]
    assert six == pytest.approx([-3.16, -2.23, 2.82, 6.0])


def test_gains_are_relative_to_fedavg():
    table = invented("6", lambda keys, seed, number: {"FedAvg": 0.5, "FedLoRA": 0.4}.get(keys["method"], 0.55))
    found = curves.relative_gains(table).set_index(["method", "clients"])
    assert found["mean"]["FedLoRU", 20] == pytest.approx(0.1)
    assert found["mean"]["FedLoRA", 200] == pytest.approx(-0.2)
    assert found.printed["FedLoRU", 200] == 0.154
    assert len(curves.draw_gains(table).axes[0].get_lines()) >= 4


@pytest.mark.parametrize(("more", "says"), [(0.001, "supports"), (-0.001, "contradicts"), (0.0, "undecided")])
def test_gains_are_compared_between_the_fewest_and_the_most_clients(more, says):
    def value(keys, seed, number):
        level = {"FedAvg": 0.5, "FedLoRA": 0.4}.get(keys["method"], 0.55 + more * (keys["clients"] - 20))
        return level + 0.001 * (seed % 2) * (keys["clients"] == 20 and keys["method"] != "FedAvg")

    table = invented("6", value)
    found = curves.gain_changes(table)
    assert (found["FedLoRU"].above, found["FedLoRA"].above) == (says, "undecided")
    assert found["FedLoRU"].mean == pytest.approx(360 * more, abs=0.002)
    assert f" of FedAvg's accuracy, smallest detectable 0.2; that the gain grows: {says}" in curves.gains_found(table)


def test_costs_are_those_of_the_first_round_at_the_target():
    def value(keys, seed, number):
        speed = {"FedAvg": 0.1, "FedLoRU": 0.2, "FedHM": 0.05}.get(keys["method"], 0.0)
        return min(0.8, speed * number)

    costs = curves.costs_to_target(invented("1", value))
    assert set(costs.target.round(6)) == {0.78}
    medians = costs.groupby("method").bytes.median()
    assert medians["FedAvg"] == 8000
    assert medians["FedLoRU"] == 4000
    assert medians["FedHM"] == 16_000
    assert np.isnan(medians["FedLoRA"])
    rounds = curves.rounds_to_target(invented("1", value))
    assert (rounds[20, "FedAvg"], rounds[100, "FedLoRU"], rounds[20, "FedLoRA"]) == (8, 4, float("inf"))
    assert "0.50 of FedAvg" in curves.costs_found(invented("1", value))


@pytest.mark.parametrize("scale", ["quick", "laptop", "paper"])
def test_alignment_chooses_its_rates_in_runs_of_the_tables(scale):
    settings = Settings(scale)
    choosing, design = fig8_designs(settings)
    of_tables = {line.rate_of: line for of in (tab1_design, tab7_design) for line in of(settings).lines if line.tuned}
    for line, looked in zip(choosing.lines, design.lines, strict=True):
        other = of_tables.get(line.rate_of)  # CIFAR-100 where it is here
        assert other is None or other.options == line.options
        differs = {name for name in looked.options if looked.options[name] != line.options.get(name)}
        assert {"alignment", "evaluate_every"} <= differs <= {"alignment", "evaluate_every", "tau"}
    assert len(design.lines) == 6


def test_alignment_is_compared_at_the_start_and_after_the_twentieth_round():
    lines = fig8_designs(Settings("laptop"))[1].lines
    rows = [
        {
            "stage": RUN,
            **line.keys,
            "seed": seed,
            "rate": 0.1,
            "round": number,
            "bytes": 0,
            "failed": 0,
            "value": 0.4 + 1e-4 * seed + (0.0 if line.keys["method"] == "FedAvg" else -0.1 if number <= 5 else 0.05),
        }
        for line in lines
        for seed in range(5)
        for number in range(1, 41)
    ]
    table = pd.DataFrame(rows)
    said = {(of.start, effect.above): effect.mean for _, _, of, effect in aligned.differences(table)}
    assert said == {(1, "contradicts"): pytest.approx(-0.1), (21, "supports"): pytest.approx(0.05)}
    early = "below in rounds 1 to 5 (-0.100, the mean over the seeds above in 0 of 5)"
    assert f"{early}, above in rounds 21 to 40 (+0.050, the mean over the seeds above in 20 of 20)" in (
        aligned.alignment_outcome(table)
    )
    table.loc[(table["round"] == 40) & (table.clients == 20) & (table.method == "FedLoRU"), "value"] = 0.3
    assert aligned.alignment_outcome(table).count("above in 19 of 20") == 1
    assert [len(axes.get_lines()) for axes in aligned.draw_alignment(table).axes] == [3, 3]


def ranks(client, server, largest=2.0):
    """Two clients of a server, each measured twice, with intervals of a tenth to both sides."""
    rows = [
        {
            "method": method,
            "data": "fashion-mnist",
            "seed": 0,
            "round": number,
            "client": place,
            "samples": 10,
            "value": value,
            "low": 0.9 * value,
            "high": 1.1 * value,
            "largest": largest if place >= 0 else 2.0,
            "frobenius": value**0.5 * (largest if place >= 0 else 2.0),
            "parameters": 100,
        }
        for method in ("FedAvg", "FedLoRU")
        for number in (0, 16)
        for place, value in ((-1, server), (0, client), (1, client))
    ]
    return pd.DataFrame(rows)


def test_a_client_is_above_its_server_where_the_intervals_say_so():
    for client, server, above, below in ((4.0, 2.0, 8, 0), (2.0, 4.0, 0, 8), (2.1, 2.0, 0, 0)):
        found = trained.compare_with_server(ranks(client, server))
        assert (found.above.sum(), found.below.sum()) == (above, below)
    assert (
        "before training in 2 of 2 (intervals apart: 0 above, 0 below), later with FedAvg in 2 of 2 (inter"
        in trained.ranks_outcome(ranks(2.1, 2.0))
    )


def test_the_model_adds_noise_without_a_direction():
    """F^2 = 16 of the client against 8: noise of 8/100 for a direction raises 2 to 2.04."""
    found = trained.compare_with_server(ranks(4.0, 2.0)).iloc[0]
    assert found.predicted == pytest.approx(16.0 / 2.04**2)
    assert found.larger == 1.0
    assert "largest eigenvalue 1.50 times the server's" in trained.ranks_found(ranks(4.0, 2.0, largest=3.0))


@pytest.mark.slow
@pytest.mark.skipif(find("fashion-mnist") is None, reason="Fashion-MNIST is not here: `rankproof data fetch`")
def test_trained_ranks_are_those_of_the_hessians_at_the_runs_weights(tmp_path):
    """Against the eigenvalues of dense matrices, of server and client; both methods start from the same weights."""
    settings = Settings(runs=tmp_path)
    sizes, design = trained.RANK_SIZES["quick"], trained.federations(settings)
    line = design.lines[0]
    *_, (number, problem, weights) = trained.states(line, 0.1, 0, sizes, settings)
    assert number == 2
    for row in trained.measure_ranks(problem, weights, 0, number, sizes, settings):
        module = copy.deepcopy(problem.clients.network.testing.module)
        module.load_state_dict(dict(weights), strict=False)
        samples = problem.clients[row["client"]].indices if row["client"] >= 0 else torch.arange(row["samples"])
        x, y = problem.clients.network.prepare_samples(problem.clients.data, Batch(samples))
        values = torch.linalg.eigvalsh(exact_hessian(module, torch.nn.functional.cross_entropy, x, y).double())
        assert row["low"] <= float((values**2).sum() / values.abs().max() ** 2) <= row["high"]
    table = trained.trained_ranks(settings)
    start = table[table["round"] == 0].set_index(["method", "client"]).value
    assert start["FedAvg"].equals(start["FedLoRU"])
    assert len(trained.draw_ranks(table).axes) == 2
    assert trained.ranks_sizes(table).startswith("$P=")


def test_below_the_paper_s_scale_the_data_set_is_named():
    choice = choice_of(Settings(), ("cifar-100",))
    assert choice.names == ("fashion-mnist",)
    assert choice.note == "The paper's cifar-100: not run at this scale; fashion-mnist in place"


@pytest.mark.sample(3)
@pytest.mark.skipif(find("fashion-mnist") is None, reason="Fashion-MNIST is not here: `rankproof data fetch`")
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_small_federation_runs_here_and_now(figure, tmp_path):
    made = make(figure, Settings(), tmp_path)
    assert set(made.table.stage) == {RUN}
    assert not made.table.failed.any()
    assert "perceptron of width 16" in made.caption
    assert made.found.startswith("Stated: ")


@pytest.mark.sample(2)
@pytest.mark.skipif(find("fashion-mnist") is None, reason="Fashion-MNIST is not here: `rankproof data fetch`")
@pytest.mark.parametrize("of", DESIGNS)
def test_every_line_has_a_cost(of):
    assert min(cost_of_line(line, 1, Settings()).operations for line in DESIGNS[of](Settings()).lines) > 0


@pytest.mark.skipif(find("fashion-mnist") is None, reason="Fashion-MNIST is not here: `rankproof data fetch`")
def test_operations_are_those_of_the_steps_of_a_run():
    """A perceptron of 49, 16 and 10: two operations for a weight forward, and two or four backward."""
    line = next(line for line in tab7_design(Settings()).lines if line.keys["method"] == "FedAvg")
    of = SIZES["quick"].federation
    weights, first = 49 * 16 + 16 * 10, 49 * 16
    samples = line.options["cohort"] * of["samples"] / line.options["clients"]
    assert cost_of_line(line, 3, Settings()).operations == 3 * samples * 2 * (3 * weights - first)


def test_the_cost_is_told_before_a_run_at_the_paper_s_scale(monkeypatch, capsys, tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("figures.experiments.cost.cost_of_line", lambda *_: Cost(1e15, 1e6))
    monkeypatch.setattr(tables, "run_design", stop)
    monkeypatch.setattr(
        "figures.make._verified_data_set", lambda name, settings: {"name": name, "title": name, "md5": {}}
    )
    assert rankproof.main(["figure", "fedloru/tab-7", "--scale", "paper", "--out", str(tmp_path)]) != 0
    told = capsys.readouterr().err
    assert "64 runs of up to 400 rounds: 6.4e+16 floating-point operations, about 2 GPU hours" in told
    assert "not printed: rounds: 400 (the command of the authors' released code)" in told


@pytest.mark.parametrize(("reach", "share"), [(2, np.nan), (3, 0.5), (5, 0.5)])
def test_a_target_is_reached_if_more_than_half_of_the_seeds_reach_it(reach, share):
    """FedLoRU takes 4 rounds, FedAvg 8; of five seeds two are too few."""

    def value(keys, seed, number):
        speed = {"FedAvg": 0.1, "FedLoRU": 0.2 if seed < reach else 0.0}.get(keys["method"], 0.0)
        return min(0.8, speed * number)

    table = invented("1", value)
    for _, found in curves.shares_of_bytes(table):
        assert found == pytest.approx(share, nan_ok=True)
    even = table[table.seed != 4]  # of four seeds, two are half
    expected = share if reach > 2 else np.nan
    for _, found in curves.shares_of_bytes(even):
        assert found == pytest.approx(expected, nan_ok=True)
