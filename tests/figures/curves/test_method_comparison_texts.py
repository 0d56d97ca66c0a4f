"""The comparison of methods with an adapter: which methods, equal numbers of local steps, and what the table says."""

from dataclasses import fields, replace

import pandas as pd
import pytest
from matplotlib import rc_context

from figures.curves.method_comparison_runs import LABELS, WHOLE, Comparison, design_of, device_of, line_of
from figures.curves.method_comparison_texts import ADAPTED, DIVIDED, SENTENCES, SENTENCES_COMPARED, WHOLE_WEIGHTS
from figures.figure import Settings
from figures.style import STYLE
from runs.catalogue import ALGORITHMS, options_of
from runs.experiments import Experiment, carry_out


def test_every_method_with_an_adapter_is_compared_or_left_out():
    with_adapter = [name for name in LABELS if "adapter" in {field.name for field in fields(ALGORITHMS[name].kind)}]
    assert [name for name in with_adapter if name not in WHOLE_WEIGHTS] == list(ADAPTED)
    assert set(WHOLE_WEIGHTS) <= set(with_adapter)
    laptop, paper = (SENTENCES.sizes[scale].methods for scale in ("laptop", "paper"))
    assert laptop == paper == ADAPTED


@pytest.mark.parametrize("scale", SENTENCES.sizes)
def test_a_client_takes_equally_many_steps_in_a_round_of_every_method(scale):
    sizes = SENTENCES.sizes[scale]
    steps = sizes.federation["steps"]
    for name in sizes.methods:
        line = line_of(name, sizes, SENTENCES)
        kinds = ("steps", "steps") if name == "rolora" else ("steps", *DIVIDED.get(name, ())[1:])
        assert sum(line.options[kind] for kind in kinds) == steps


def test_every_method_with_personal_steps_divides_them():
    sizes = SENTENCES.sizes["paper"]
    personal = [name for name in sizes.methods if "personal_steps" in options_of(name, SENTENCES.data, {})]
    assert personal == [name for name in DIVIDED if name != "rolora"]


@pytest.mark.parametrize("scale", SENTENCES.sizes)
def test_every_run_can_be_planned_and_chooses_its_rate_at_the_figures_length(scale):
    design = design_of(Settings(scale), SENTENCES)
    assert design.tuning_rounds == design.rounds
    for line in design.lines:
        plan = line.trial(design.rounds, (0,), 0.01).plan(0)
        assert plan.settings["optimiser"] == "adamw"
        assert plan.settings["layers"] == SENTENCES.sizes[scale].federation["layers"]


def test_the_laptop_scale_has_three_seeds_and_a_grid():
    sizes = SENTENCES.sizes["laptop"]
    assert sizes.seeds >= 3
    assert len(sizes.rates) >= 4
    assert sizes.measured < sizes.rounds


def test_the_device_is_that_of_the_stored_run(tmp_path):
    images = Comparison(
        "examples.own_images:images",
        {
            "quick": replace(
                SENTENCES.sizes["quick"],
                federation={"model": "perceptron", "width": 4, "clients": 2, "batch": 20},
                methods=("fedlora",),
                every=1,
            )
        },
    )
    settings = Settings(runs=tmp_path, device="cuda:1")
    line, rounds = line_of("fedlora", images.sizes["quick"], images), 1
    assert device_of(line, rounds, 0, 0.1, settings) == "cuda"
    carry_out(Experiment((line.trial(rounds, (0,), 0.1),)), tmp_path)
    assert device_of(line, rounds, 0, 0.1, settings) == "cpu"


def invented():
    """Return a table of the laptop scale with invented numbers: trained on a GPU, measured on a processor."""
    sizes = SENTENCES.sizes["laptop"]
    rows = []
    for place, name in enumerate(sizes.methods, 1):
        common = {"method": LABELS[name], "rate": 0.01, "failed": 0}
        run = {**common, "bytes": 0, "round": sizes.rounds, "device": "cuda"}
        rows += [{**run, "stage": "choice", "seed": 99, "rate": rate, "value": 0.5} for rate in sizes.rates]
        for seed in range(sizes.seeds):
            for number in range(0, sizes.rounds + 1, sizes.every):
                value = 0.5 + 0.02 * place * number / sizes.rounds
                rows.append(
                    {**run, "stage": "run", "seed": seed, "round": number, "value": value, "bytes": number * 1000}
                )
        measured = {**common, "bytes": 0, "seed": 0, "round": 1, "device": "cpu"}
        rows.append({**measured, "stage": "seconds", "value": float(place)})
        if name in WHOLE:
            rows.append({**measured, "stage": "error", "value": 1e-6 * 10**place})
    columns = ["stage", "method", "seed", "rate", "round", "value", "bytes", "failed", "device"]
    return pd.DataFrame(rows)[columns]


def test_the_headline_counts_the_intervals_of_differences_from_fedlora():
    table = invented()
    table = table[table.method.isin(["FedLoRA", "FFA-LoRA", "RoLoRA", "HetLoRA", "FedSA-LoRA (p)"])].copy()
    last = (table.stage == "run") & (table["round"] == 12)
    values = {  # three seeds: the half width is 2.48 standard deviations
        "FedLoRA": (0.80, 0.79, 0.81),
        "FFA-LoRA": (0.83, 0.83, 0.84),
        "RoLoRA": (0.70, 0.70, 0.71),
        "HetLoRA": (0.81, 0.83, 0.81),
        "FedSA-LoRA (p)": (0.99, 0.99, 0.99),
    }
    for name, own in values.items():
        table.loc[last & (table.method == name), "value"] = own
    headline = "Of 3 other methods 1 ends above FedLoRA, 1 ends below, 1 is undecided"
    assert SENTENCES_COMPARED.headline(table) == headline
    assert headline in SENTENCES_COMPARED.found(table)
    assert "HetLoRA +1.7 [-3.5, +6.8] points" in SENTENCES_COMPARED.found(table)
    same = pd.concat([table, table[table.method == "FedLoRA"].assign(method="RBLA")])
    assert SENTENCES_COMPARED.headline(same) == headline  # nothing to compare
    assert "RBLA ends as FedLoRA with every seed." in SENTENCES_COMPARED.found(same)
    assert "RBLA +0.0" not in SENTENCES_COMPARED.found(same)
    without = table[table.method != "FFA-LoRA"]
    assert SENTENCES_COMPARED.headline(without).startswith("Of 2 other methods none ends above FedLoRA, 1 ends below")


def test_texts_say_sizes_and_devices_and_times_relative_to_the_first_method():
    table = invented()
    sizes = SENTENCES_COMPARED.sizes(table)
    assert sizes.startswith("MiniLM on rated-sentences, 5,120 training sentences, 1,024 test sentences")
    assert sizes.endswith("Device of the runs: cuda; of the measured rounds: cpu.")
    assert "12 rounds, seeds 0, 1, 2, learning rates from 0.005, 0.01, 0.02, 0.05" in sizes
    found = SENTENCES_COMPARED.found(table)
    assert "A round takes at most 16.0 times as long as FedLoRA's, with pFedLoRU (p)." in found
    assert "exact up to rounding with FedLoRA, FFA-LoRA." in found
    with rc_context(STYLE):
        picture = SENTENCES_COMPARED.picture(table)
        picture.draw_without_rendering()
    *_, bars = picture.axes
    assert bars.get_xlabel() == "time of a round / FedLoRA's"
    assert len(bars.get_yticklabels()) == len(ADAPTED)
