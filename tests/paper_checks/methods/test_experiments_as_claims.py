"""Statements about experiments: undecided at the paper's scale; stored runs are reported comparison by comparison."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from figures.experiments.effects import Effect
from figures.experiments.experiment import CHOICE, RUN
from figures.fedloru.fig4 import by_loss
from figures.fedloru.fig4 import design as fine_tuning
from figures.figure import Settings
from figures.language import designs as language_designs
from figures.ledger import select
from paper_checks.ledger import Ledger
from paper_checks.methods.experiments import StoredRuns, judge_runs, runs_of

CLAIMS = [claim for claim in Ledger.of().claims if claim.kind == "experiment" and claim.seen_in]
TEXTS = {
    "rolora/fig-3": language_designs.clients_lines,
    "rolora/fig-4": language_designs.budgets_lines,
    "rolora/fig-5": language_designs.uplinks_lines,
}
FOLDER = Path(__file__).resolve().parents[3] / "docs" / "figures"


def invented(figure, value):
    """Return a table of the figure's design at laptop scale with invented values."""
    from figures.fedloru.designs import fig8_designs, tab1_design, tab3_design, tab4_design, tab6_design, tab7_design
    from figures.fedlrt.vision_runs import VISION
    from figures.rolora.fig2 import trips
    from figures.rolora.fig2_runs import FIG2_SIZES, designs

    name, settings = figure.removeprefix("fedloru/"), Settings("laptop")
    if name == "fig-8":
        made = [fig8_designs(settings)[1]]
    elif figure.startswith("fedlrt/"):
        made = [VISION[figure.removeprefix("fedlrt/")]["laptop"].design]
    elif figure in TEXTS:
        sizes = language_designs.SIZES["laptop"]
        made = language_designs.designs(TEXTS[figure](sizes), 3, {}, 0.1)
    elif figure.startswith("rolora/"):
        sizes = FIG2_SIZES["laptop"]
        made = [design for start in sizes.rounds for design in designs(sizes, start, {})]
    elif name == "fig-4":
        made = by_loss(fine_tuning(settings))
    else:
        of = {
            "tab-3": tab3_design,
            "tab-4": tab4_design,
            "tab-6": tab6_design,
            "fig-2": tab6_design,
            "tab-7": tab7_design,
        }
        made = [of.get(name, tab1_design)(settings)]
    return pd.DataFrame(
        [
            {
                "stage": RUN,
                **line.keys,
                "seed": seed,
                "rate": 0.1,
                "round": number * (trips(line.keys["method"]) if figure == "rolora/fig-2" else 1),
                "bytes": 1000 * number,
                "failed": 0,
                "value": value(line.keys, seed, number),
                "factorised": 100,
                "steps": 1,
            }
            for design in made
            for line in design.lines
            for seed in range(3)
            for number in range(1, design.rounds + 1)
        ]
    )


@pytest.mark.sample(6)
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_what_is_stored_is_told_and_decides_nothing(claim):
    figure = claim.seen_in[0]
    found = claim.judge(claim.measure(None)) if claim.measure.__qualname__.startswith("runs_of") else None
    if found is None:  # of another experiment, reported on the figure's own page
        return
    assert found.ok is None
    assert found.reason == claim.expect_reason
    stored = (FOLDER / f"{figure.replace('/', '-')}.csv").exists()
    assert found.scope.startswith("no runs at laptop scale are stored yet") is not stored
    assert stored or f"`rankproof figure {figure} --scale laptop` makes them" in found.scope


def test_runs_that_are_not_stored_are_no_case():
    (figure,) = select([CLAIMS[0].seen_in[0]])
    found = judge_runs(StoredRuns(figure, None), "large")
    assert (found.ok, found.cases, found.reason) == (None, 0, "large")


@pytest.mark.sample(6)
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_runs_that_show_it_are_told(claim):
    if not claim.measure.__qualname__.startswith("runs_of"):
        pytest.skip("reported on the page of its figure")
    table = invented(claim.seen_in[0], lambda keys, seed, number: 0.5 + 0.01 * number + 0.001 * seed)
    found = claim.judge(StoredRuns(select([claim.seen_in[0]])[0], table))
    assert found.ok is None
    assert claim.seen_in[0] in found.scope
    assert found.cases > 0


def test_comparisons_are_counted_by_what_they_say():
    (figure,) = select(["fedloru/tab-7"])
    runs = StoredRuns(figure, pd.DataFrame({"a": [1]}))
    sides = [("this", Effect(3, 0.1, 0.05, 0.1)), ("that", Effect(3, 0.1, 0.05, 0.1).reversed)]
    found = judge_runs(runs, "why", lambda table: [*sides, ("it", Effect(3, 0.0, 0.05, 0.1))])
    assert found.scope.startswith("at laptop scale (fedloru/tab-7) 1 of 3 comparisons support it, 1 contradict it, 1 ")
    assert "that: contradicts, -10.0 [-15.0, -5.0] points" in found.scope
    assert (found.cases, found.reason) == (3, "why")


def test_directions_are_those_of_the_statements():
    claims = {claim.id: claim for claim in CLAIMS}

    def says(id, value):
        claim = claims[id]
        return claim.judge(StoredRuns(select([claim.seen_in[0]])[0], invented(claim.seen_in[0], value))).scope

    def low_rank(keys):
        return keys["method"] != "FedAvg"

    text = says("fedloru-v2/txt-align", lambda k, seed, t: 0.5 + 1e-3 * seed + low_rank(k) * (0.1 if t > 20 else -0.1))
    assert "8 of 8 comparisons support it" in text
    text = says("fedloru-v2/fig-2", lambda k, seed, t: 0.5 + 1e-3 * seed + low_rank(k) * 1e-3 * k["clients"])
    assert "2 of 2 comparisons support a gap that is wider with the most clients, 0 contradict it" in text
    for method in ("FedLoRA", "FedLoRU"):  # (X - FedAvg)/X of the caption: 0.2/0.7 at 200 clients, 0.02/0.52 at 20
        assert text.count(f"supports, +24.7 [+24.6, +24.8] % of {method}'s accuracy, smallest detectable") == 1
    tab6 = {20: -0.05, 50: -0.05, 100: 0.05, 200: 0.05}
    as_printed = {"FedLoRA": {**tab6, 100: -0.02}, "FedLoRU": {k: by + 0.02 for k, by in tab6.items()}}
    for id, count in (("fedloru-v2/tab-6", 8), ("fedloru-v1/tab-2", 4), ("fedloru-iclr/fig-2b", 4)):
        text = says(id, lambda k, seed, t: 0.5 + 1e-3 * seed + as_printed.get(k["method"], {}).get(k["clients"], 0.0))
        assert f"{count} of {count} comparisons support the order that " in text  # below FedAvg, too, where so printed
        assert "FedLoRU below FedAvg, K = 20: supports, +3.0 [+3.0, +3.0] points" in text
    assert "FedLoRA" not in text
    for id in ("fedloru-iclr/tab-1", "fedloru-v1/tab-1"):  # orders of cells of iclr: not what is said of 20 or 14 cells
        text = says(id, lambda k, seed, t: 0.5 + 1e-3 * seed + (k["method"] == "FedHM"))
        assert "comparisons support it" not in text
        assert "in that cell of Fashion-MNIST" in text
    text = says("fedloru-v2/tab-4", lambda k, seed, t: 0.5 + 1e-3 * seed + (k["method"] == "FedHM"))
    assert "comparisons support it" not in text  # it has two halves of opposite order, neither of these data
    assert "above the second, as is printed on CIFAR-100, the opposite on CIFAR-10: mFedLoRU minus FedHM" in text
    assert text.count("contradicts") == 2
    text = says("fedlrt/fig-5", lambda k, seed, t: 0.5 + 1e-3 * seed - 1e-3 * k["clients"] * ("without" in k["method"]))
    assert "0 of 3 comparisons support the fall without correction and the gain by it" in text
    assert "3 are not reached by the runs" in text
    assert text.count("not reached within 5 of 200 rounds, +") == 3
    text = says("fedloru-v2/fig-3", lambda k, seed, t: 0.05 * min(t, 10) * (2 if k["method"] == "FedLoRU" else 1))
    assert "2 of 2 comparisons support it against FedAvg (FedHM and FedLoRA are not compared), 0 contradict" in text
    text = says("fedloru-v2/fig-3", lambda k, seed, t: 0.05 * min(t, 10) * (seed != 1 or k["method"] != "FedLoRU"))
    assert "0 of 2 comparisons support it against FedAvg" in text  # one seed may need any number of bytes
    assert "2 are not reached by the runs" in text
    assert re.search(r"FedAvg \((\d) of (?!\1)\d seeds reach the target\): not reached within 16 rounds", text)


def test_a_damaged_table_is_no_answer(tmp_path, monkeypatch):
    from figures import stored_numbers as storing
    from figures.figure import FigureError

    (tmp_path / "fedloru-tab-7.csv").write_text("a\n1\n")
    (tmp_path / "fedloru-tab-7.manifest.json").write_text("{}")
    monkeypatch.setattr(
        "paper_checks.methods.experiments.stored_numbers",
        lambda figure, settings: storing.stored_numbers(figure, settings, tmp_path),
    )
    with pytest.raises(FigureError, match="restore it from a copy"):
        runs_of("fedloru/tab-7")(None)


def test_an_effect_turns_round():
    one = Effect(5, 0.02, 0.01, 0.02)
    assert one.reversed == replace(one, mean=-0.02)
    assert (one.above, one.reversed.above) == ("supports", "contradicts")


def test_a_card_names_the_findings_that_the_last_evaluation_alone_would_change():
    def value(keys, seed, number):
        return 0.5 + 0.001 * (seed % 2) - 0.05 * (keys["method"] == "FedLoRU" and number < 16)

    (claim,) = [claim for claim in CLAIMS if claim.id == "fedloru-v2/tab-7"]
    (figure,) = select(["fedloru/tab-7"])
    scope = claim.judge(StoredRuns(figure, invented("fedloru/tab-7", value))).scope
    assert scope.count("FedLoRU above FedAvg, K = 100: contradicts, -4.0 ") == 1
    assert "; by the last evaluation alone: FedLoRU above FedAvg, K = 100: undecided, +0.0 " in scope
    same = claim.judge(StoredRuns(figure, invented("fedloru/tab-7", lambda keys, seed, number: 0.5 + 0.001 * seed)))
    assert same.scope.endswith("smallest detectable 0.0")


def test_cosines_are_no_points():
    (claim,) = [claim for claim in CLAIMS if claim.id == "fedloru-v2/txt-align"]
    table = invented("fedloru/fig-8", lambda keys, seed, number: 0.5 + 0.001 * seed)
    scope = claim.judge(StoredRuns(select(["fedloru/fig-8"])[0], table)).scope
    assert scope.count(" hundredths of the cosine, ") == 8
    assert " points" not in scope


@pytest.mark.parametrize("id", ["fedloru-v2/tab-7", "fedloru-v2/tab-4"])
def test_a_card_names_the_rates_that_were_chosen_by_little(id):
    (claim,) = [claim for claim in CLAIMS if claim.id == id]
    (figure,) = select([id.replace("-v2", "")])
    runs = invented(figure.id, lambda keys, seed, number: 0.5 + 0.001 * seed)
    tried = runs[(runs["round"] == 8) & (runs.seed == 0)].assign(stage=CHOICE, seed=99, rate=0.1)
    behind = tried.method.map({"FedHM": 0.004}).fillna(0.01)
    worse = tried.assign(rate=0.03, value=tried.value - behind)
    scope = claim.judge(StoredRuns(figure, pd.concat([tried, worse, runs]))).scope
    assert scope.count("by at most 0.5 points on the validation samples: 0.1 over 0.03: FedHM (") == 1
    assert scope.endswith(")")
    assert "rates chosen" not in claim.judge(StoredRuns(figure, runs)).scope
