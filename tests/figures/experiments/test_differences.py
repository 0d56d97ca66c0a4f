"""Settings that differ from the paper's: none can be missing from the table."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd
import pytest

from figures.experiments.differences import (
    PAGE,
    Difference,
    describe,
    differences,
    page,
    stored_differences,
    with_beyond,
)
from figures.experiments.disclosures import scale_line, under_headline
from figures.experiments.experiment import Design, Line
from figures.figure import Figure, Settings
from figures.ledger import select
from figures.make import make
from figures.provenance import numbers_digest
from figures.stored_numbers import FOLDER, stored_numbers, stored_settings

LINES = (
    Line({"method": "FedAvg"}, "fedavg", "quadratics", {"clients": 3, "learning_rate": 0.1, "steps": 3}),
    Line({"method": "FedLin"}, "fedlin", "quadratics", {"clients": 3, "learning_rate": 0.2, "rows": 7}),
)
PRINTED = Design(LINES, 40, 3)
LAPTOP = Settings(scale="laptop")


def comparing(run, **more):
    """A figure whose paper has the runs of `PRINTED`, and which has others at every scale below."""

    def designs(settings):
        return [PRINTED if settings.scale == "paper" else run]

    words = dict.fromkeys(("headline", "found", "sizes"), lambda table: "words")
    return Figure("theme/name", "title", "caption.", draw=lambda table: None, **words, designs=designs, **more)


def with_option(name, value):
    return replace(PRINTED, lines=(replace(LINES[0], options={**LINES[0].options, name: value}), LINES[1]))


def found(run, **more):
    return differences(comparing(run, data=lambda settings: pd.DataFrame(), **more), LAPTOP)


def test_equal_runs_differ_in_nothing():
    assert found(PRINTED) == ()
    assert describe(()) == ""
    assert differences(replace(comparing(PRINTED, data=None), designs=None), LAPTOP) == ()


@pytest.mark.parametrize(
    ("name", "value", "row"),
    [
        ("clients", 4, Difference("clients", "clients (fedavg)", "3", "4")),
        ("learning_rate", 0.3, Difference("learning_rate", "learning rate (fedavg)", "0.1", "0.3")),
        ("steps", 4, Difference("steps", "local steps (fedavg)", "3", "4")),
        ("columns", 5, Difference("columns", "columns (fedavg)", "8", "5")),  # against the default
        ("cohort", 2, Difference("cohort", "clients in a round (fedavg)", "all clients", "2")),
    ],
)
def test_each_option_that_differs_is_a_row_also_against_a_default(name, value, row):
    assert found(with_option(name, value)) == (row,)


def test_experiments_that_share_their_differences_share_a_table():
    rows = (Difference("layers", "layers", "all", "*.query"), Difference("rounds", "rounds", "40", "5"))
    text = page([("a/one", rows), ("a/two", rows[:1]), ("a/three", rows)])
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## a/one, a/three", "## a/two"]
    assert text.count("| layers | all | `*.query` |") == 2
    assert text.count("| rounds | 40 | 5 |") == 1
    assert "[a/three](a-three.png)" in text


def test_an_experiment_of_no_paper_has_a_scale_but_no_differences():
    figure = comparing(replace(PRINTED, rounds=5), data=None, in_paper=False)
    assert differences(figure, LAPTOP) == ()
    assert scale_line(figure, LAPTOP).endswith("5 rounds, 3 seeds")


def test_a_figure_without_runs_tells_its_scale_by_its_numbers():
    figure = replace(comparing(PRINTED, data=None), designs=None, under=lambda table: f"{len(table)} rows")
    assert under_headline(figure, pd.DataFrame({"value": [1.0, 2.0]}), LAPTOP) == "2 rows"


def test_rounds_seeds_methods_and_chosen_rates_are_rows():
    assert found(replace(PRINTED, rounds=5, seeds=2)) == (
        Difference("rounds", "rounds", "40", "5"),
        Difference("seeds", "number of seeds", "3", "2"),
    )
    assert found(replace(PRINTED, lines=LINES[:1])) == (Difference("methods", "methods", "fedavg, fedlin", "fedavg"),)
    chosen = tuple(
        replace(
            line,
            options={name: value for name, value in line.options.items() if name != "learning_rate"},
            rate_of=line.algorithm,
            tuned=True,
        )
        for line in LINES
    )
    rows = found(replace(PRINTED, lines=chosen, rates=(0.1, 0.3), tuning_rounds=4))
    assert rows == (
        Difference("learning_rate", "learning rate (fedavg)", "0.1", "chosen on validation samples"),
        Difference("learning_rate", "learning rate (fedlin)", "0.2", "chosen on validation samples"),
    )


def test_epochs_replace_local_steps():
    by_epochs = Line({"method": "FedAvg"}, "fedavg", "quadratics", {"clients": 3, "learning_rate": 0.1, "epochs": 2})
    assert found(replace(PRINTED, lines=(by_epochs, LINES[1]))) == (
        Difference("steps", "local steps (fedavg)", "3", "none"),
        Difference("epochs", "local epochs (fedavg)", "none", "2"),
    )


def test_a_setting_that_no_option_has_is_a_row_of_new_and_of_stored_numbers():
    figure = comparing(PRINTED, data=None, beyond={"warm start": ("5 iterations", "none")})
    row = Difference("warm start", "warm start", "5 iterations", "none")
    assert differences(figure, LAPTOP) == (row,)
    stored = (Difference("rounds", "rounds", "40", "5"), Difference("warm start", "warm start", "4 iterations", "none"))
    assert with_beyond(figure, stored) == (stored[0], row)


def test_stored_rows_name_the_sources_that_the_figure_names_now():
    figure = comparing(
        PRINTED, data=None, conventions={"rounds": "Section 5.1", "starts": "guessed", "rates tried": "a"}
    )
    stored = (
        Difference("held_out", "samples held out (fedavg)", "10", "1", "not printed"),
        Difference("first: rounds", "rounds (first reading)", "4", "2", "not printed"),
        Difference("plan: starts", "random starts", "20", "5"),
        Difference("rates tried", "rates tried", "0.1, 0.3", "0.1"),
        Difference("clients", "clients", "3", "4", "elsewhere"),
    )
    assert [row.paper for row in with_beyond(figure, stored)] == [
        "10",
        "4 (Section 5.1)",
        "20 (guessed)",
        "0.1, 0.3 (a)",
        "3",
    ]


def test_values_that_are_not_printed_say_so_and_data_of_the_paper_alone_are_named():
    rows = found(replace(PRINTED, rounds=5), conventions={"rounds": "not printed"}, printed={"data": ("GLUE",)})
    assert rows == (
        Difference("data", "data", "GLUE", "quadratics"),
        Difference("rounds", "rounds", "40", "5", "not printed"),
    )


@dataclass(frozen=True)
class Inner:
    clients: tuple[int, ...]
    rounds: Mapping[str, int]


@dataclass(frozen=True)
class Outer:
    side: int
    first: Inner
    longer: Inner | None = None


def test_sizes_of_numbers_without_training_runs_are_compared_with_the_paper_s():
    paper = Outer(20, Inner((1, 2), {"uniform": 50}))
    laptop = Outer(20, Inner((1,), {"uniform": 5, "dx": 6}), Inner((1,), {"uniform": 70}))
    figure = replace(
        comparing(PRINTED, data=None),
        designs=None,
        by_scale={"paper": paper, "laptop": laptop},
        conventions={"rounds": "not printed"},
    )
    assert differences(figure, LAPTOP) == (
        Difference("first: clients", "first: clients", "1, 2", "1"),
        Difference("first: rounds", "rounds (first reading)", "50 (uniform)", "5 (uniform), 6 (dx)", "not printed"),
    )
    assert differences(figure, Settings(scale="paper")) == ()


def test_caption_and_manifest_have_the_differences(tmp_path):
    from matplotlib.figure import Figure as Picture

    figure = replace(
        comparing(with_option("steps", 5), data=lambda settings: pd.DataFrame({"value": [1.0]})),
        draw=lambda table: Picture(figsize=(2, 2)),
    )
    made = make(figure, LAPTOP, tmp_path)
    assert made.caption.endswith("(its own in parentheses): local steps (fedavg) 5 (3).")
    manifest = json.loads((tmp_path / "theme-name.manifest.json").read_text())
    assert manifest["differences"] == [
        {"option": "steps", "setting": "local steps (fedavg)", "printed": "3", "run": "5", "source": ""}
    ]


def test_another_optimiser_than_the_printed_one_is_listed():
    rows = {row.setting: (row.printed, row.run) for row in differences(*select(["fedlrt/fig-8"]), LAPTOP)}
    assert rows["optimiser"] == ("adam", "sgd")
    assert rows["batch"] == ("256", "32")
    assert rows["schedule of the rate"] == ("cosine", "constant")
    assert rows["weight decay"] == ("0.01", "0")
    assert rows["rounds"] == ("200", "5")


def test_the_page_of_stored_experiments_is_current():
    text = page(stored_differences())
    assert text == (FOLDER / PAGE).read_text(encoding="utf-8")
    assert text.count("\n## ") >= 10


def test_stored_experiments_state_the_settings_in_which_their_figures_differ_from_the_paper_s():
    """Those whose code has not changed since, and so those that are stored next."""
    stated = dict(stored_differences())
    for figure in select(stated):
        settings = stored_settings(figure)
        entry = stored_numbers(figure, settings)
        if entry["identity"]["sources_sha256"] == numbers_digest(figure.data):
            assert stated[figure.id] == differences(figure, settings)
    assert ("optimiser", "adam", "sgd") in {(row.setting, row.printed, row.run) for row in stated["fedlrt/fig-8"]}


def test_stored_numbers_keep_the_settings_that_they_were_made_with(tmp_path, monkeypatch):
    from matplotlib.figure import Figure as Picture

    figure = replace(
        comparing(with_option("steps", 5), data=lambda settings: pd.DataFrame({"value": [1.0]})),
        draw=lambda table: Picture(figsize=(2, 2)),
    )
    first = make(figure, LAPTOP, tmp_path / "stored")
    monkeypatch.setattr("figures.make.stored_numbers", partial(stored_numbers, folder=tmp_path / "stored"))
    later = replace(figure, designs=lambda settings: [PRINTED])
    again = make(later, LAPTOP, tmp_path / "drawn")
    assert again.manifest["stored"]
    assert again.manifest["differences"] == first.manifest["differences"]
    assert "local steps (fedavg) 5 (3)" in again.caption
    assert "local steps" not in make(later, LAPTOP, tmp_path / "drawn", recompute=True).caption
