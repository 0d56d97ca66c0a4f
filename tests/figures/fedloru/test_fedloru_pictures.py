"""The pictures of FedLoRU's figures, tables of runs and the toy: every mark against its row."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from seen import band, bars, curve, drawn, key, level, same, styled, texts, within

from figures.experiments.effects import Effect
from figures.experiments.experiment import RUN
from figures.experiments.tables import Contrast, Value, draw_table
from figures.fedloru import curves as fedloru_curves
from figures.fedloru import toy as fedloru_toy
from figures.fedloru.fig1 import ESTIMATORS, fig1_found
from figures.fedloru.fig1_picture import draw_fig1
from figures.figure import Settings


def measured():
    """Invented stable ranks: two runs, two numbers of samples, three epochs."""
    rng = np.random.default_rng(0)
    rows = []
    for weights in ("own", "common"):
        for samples in (10, 40):
            for run in range(2):
                for epoch in (2, 4, 6):
                    for estimator in ESTIMATORS:
                        value = rng.uniform(5, 9) if samples == 10 else rng.uniform(1, 4)
                        rows.append(
                            {
                                "weights": weights,
                                "samples": samples,
                                "run": run,
                                "epoch": epoch,
                                "value": value,
                                "estimator": estimator,
                                "low": 0.9 * value,
                                "high": 1.2 * value,
                            }
                        )
    return pd.DataFrame(rows)


def test_figure_1_shows_its_rows():
    table = measured()
    picture = styled(draw_fig1, table)
    assert key(picture) == ["10 samples, median", "40 samples, median"]
    panels = iter(picture.axes)
    for weights, head in (("own", "own weights"), ("common", "common weights")):
        for column, estimator in enumerate(ESTIMATORS):
            axes, marks = next(panels), []
            for samples in (10, 40):
                rows = table[(table.weights == weights) & (table.estimator == estimator) & (table.samples == samples)]
                for _, run in rows.groupby("run"):
                    name = f"{samples} samples, median"  # the thin line of a run looks like the thick one
                    marks += [
                        curve(name, run.epoch, run.value),
                        curve("", run.epoch, run.value),
                        bars("", run.epoch, run.low, run.high),
                    ]
                median = rows.groupby("epoch").value.median()
                marks.append(curve(f"{samples} samples, median", median.index, median))
            same(drawn(axes), marks, aside=0.04)
            letter = "abcdef"[column + 3 * (weights == "common")]
            assert texts(axes) == (
                f"({letter}) {estimator}\n{head * (column == 0)}",
                "epoch" * (weights == "common"),
                "stable rank, estimated" * (column == 0),
            )
            assert axes.get_yscale() == "log"
            assert list(axes.get_xticks()) == [2, 4, 6]
            assert within(axes)


def test_figure_1_compares_estimates_of_the_same_hessian():
    table = measured()
    for weights in ("own", "common"):
        for epoch in (2, 4, 6):
            for place, estimator in enumerate(ESTIMATORS):
                chosen = (table.weights == weights) & (table.epoch == epoch) & (table.estimator == estimator)
                table.loc[chosen, "value"] = (6.0, 3.0, 2.0)[place]
    assert fig1_found(table).endswith(
        f"Of the same Hessian: {ESTIMATORS[0]}, 3 to 3 times the stable rank; {ESTIMATORS[1]}, 1.5 to 1.5 times the "
        "stable rank."
    )


VALUES = [
    Value("IID, K = 20", "FedAvg", 80.0, 78.0, 0.5),
    Value("IID, K = 20", "FedLoRU", 81.25, 84.0, float("nan"), 2),
    Value("IID, K = 100", "FedAvg", None, float("nan"), float("nan"), 5),
]
CONTRASTS = [
    Contrast("IID, K = 20", "FedLoRU minus FedAvg", 1.25, Effect(5, 0.06, 0.01, 0.02)),
    Contrast("IID, K = 20", "FedHM minus FedAvg", None, Effect(5, -0.02, 0.01, 0.02)),
    Contrast("IID, K = 100", "FedLoRU minus FedAvg", -3.0, Effect(1, 0.004, float("nan"), float("nan"))),
]


def test_a_table_and_its_comparisons_stand_line_by_line():
    picture = styled(draw_table, VALUES, CONTRASTS, "accuracy, %")
    left, right = picture.axes
    lines = {}
    for text in left.texts:
        x, y = text.get_position()
        lines.setdefault(y, []).append((x, text.get_text()))
    assert {y: [word.strip() for _, word in sorted(row) if word] for y, row in lines.items()} == {
        0: ["accuracy, %", "published", "obtained", "diff."],
        1: ["IID, K = 20"],
        2: ["FedAvg", "80.0", "78.0 ± 0.5", "-2.0"],
        3: ["FedLoRU", "81.2", "84.0 (2 failed)", "+2.8"],
        4: ["IID, K = 100"],
        5: ["FedAvg", "- (5 failed)"],
    }
    tints = {round(patch.get_y() + patch.get_height() / 2, 6): to_hex(patch.get_facecolor()) for patch in left.patches}
    assert set(tints) == {2, 3}
    assert len(set(tints.values())) == 2
    same(
        drawn(right),
        [
            level(0.0),
            curve("", [5, 7], [2, 2]),
            curve("", 6, 2),
            curve("", 1.25, 2),
            curve("", [-3, -1], [3, 3]),
            curve("", -2, 3),
            curve("", 0.4, 5),
            curve("", -3, 5),
        ],
    )
    labels = dict(zip(right.get_yticks(), [label.get_text() for label in right.get_yticklabels()], strict=True))
    assert labels == {
        1: "IID, K = 20",
        2: "FedLoRU minus FedAvg",
        3: "FedHM minus FedAvg",
        4: "IID, K = 100",
        5: "FedLoRU minus FedAvg",
    }
    colours = {line.get_ydata()[0]: to_hex(line.get_color()) for line in right.lines if line.get_marker() == "o"}
    assert len(set(colours.values())) == 3
    assert left.get_ylim() == right.get_ylim() == (5.5, -0.5)
    assert right.get_xlabel() == "difference, points\ndot: obtained, diamond: published"
    (ticks,) = {label.get_fontsize() for label in right.get_yticklabels()}
    assert ticks <= 8


def test_a_table_without_comparisons_or_printed_values():
    values = [Value("", "one", None, 50.0, 1.0)]
    (alone,) = styled(draw_table, values, []).axes
    written = [text.get_text().strip() for text in alone.texts]
    assert [text for text in written if text] == ["accuracy, %", "obtained", "one", "50.0 ± 1.0"]
    bare = styled(draw_table, values, [Contrast("", "one minus other", None, Effect(5, 0.06, 0.01, 0.02))]).axes
    assert bare[1].get_xlabel() == "difference, points"


def runs_of(value):
    """Runs of two numbers of clients: a function of method, clients, seed and round."""
    return pd.DataFrame(
        {
            "stage": RUN,
            "data": "fashion-mnist",
            "split": "IID",
            "participation": 0.5,
            "clients": clients,
            "method": method,
            "size": "full" if method == "FedAvg" else "large",
            "seed": seed,
            "rate": 0.1,
            "round": count,
            "bytes": 1e6 * count * (clients / 20),
            "failed": 0,
            "value": value(method, clients, seed, count),
        }
        for clients in (20, 100)
        for method in ("FedAvg", "FedLoRA", "FedHM", "FedLoRU")
        for seed in range(3)
        for count in range(17)
    )


UNREACHED = (
    "; not reached by 3 of 3 runs of FedLoRA with 20 clients, 3 of 3 runs of FedHM with 20 clients, "
    "3 of 3 runs of FedLoRA with 100 clients, 3 of 3 runs of FedHM with 100 clients, "
    "which count as infinite in the medians"
)
SPEED = {"FedAvg": 0.2, "FedLoRA": 0.01, "FedHM": 0.02, "FedLoRU": 0.4}


def climbing(method, clients, seed, count):
    return min(0.8, SPEED[method] * count) + 0.001 * seed


def test_curves_show_the_means_and_the_range():
    table = runs_of(climbing)
    picture = styled(fedloru_curves.draw_curves, table)
    for axes, clients in zip(picture.axes, (20, 100), strict=True):
        marks = []
        for method in SPEED:
            by = 100 * table[(table.clients == clients) & (table.method == method)].groupby("round").value.agg(
                ["mean", "min", "max"]
            )
            marks += [curve(method * (clients == 100), by.index, by["mean"]), band(by.index, by["min"], by["max"])]
        same(drawn(axes), marks)
        assert texts(axes) == (f"Fashion-MNIST, IID, K = {clients}", "round", "test accuracy, %" * (clients == 20))
    assert key(picture.axes[1]) == list(SPEED)
    assert fedloru_curves.curves_outcome(table) == (
        f"Rounds to 2 points below FedAvg's end, K = 20: FedAvg 4, FedLoRU 2; K = 100: FedAvg 4, FedLoRU 2{UNREACHED}"
    )


def test_the_target_is_reached_by_equality():
    """FedAvg ends at 0.8 with every seed: 0.78 is reached by a run at exactly that value."""
    target = 0.8 - fedloru_curves.BELOW
    table = runs_of(
        lambda method, clients, seed, count: {"FedAvg": 0.8, "FedLoRU": target if count >= 3 else 0.1}.get(method, 0.2)
    )
    table = table[(table.method != "FedAvg") | (table["round"] > 0)]
    rounds = fedloru_curves.rounds_to_target(table)
    assert (rounds[20, "FedAvg"], rounds[20, "FedLoRU"], rounds[20, "FedHM"]) == (1, 3, float("inf"))
    costs = fedloru_curves.costs_to_target(table).groupby(["clients", "method"]).bytes.median()
    assert costs[20, "FedLoRU"] == 3e6
    assert costs[100, "FedLoRU"] == 15e6


def test_costs_show_medians_seeds_and_what_is_not_reached():
    table = runs_of(climbing)
    picture = styled(fedloru_curves.draw_costs, table)
    for axes, clients in zip(picture.axes, (20, 100), strict=True):
        each = clients / 20
        bars_of = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches}
        assert bars_of == pytest.approx({0: 4 * each, 3: 2 * each})
        same(
            drawn(axes),
            [curve("", [0] * 3, [4 * each] * 3), curve("", [3] * 3, [2 * each] * 3), curve("", 1, 0), curve("", 2, 0)],
        )
        assert [label.get_text() for label in axes.get_xticklabels()] == list(SPEED)
        assert texts(axes) == (f"Fashion-MNIST, K = {clients}, 78.1 %", "", "MB to the target" * (clients == 20))
    assert fedloru_curves.costs_outcome(table) == (
        f"Bytes of FedLoRU to the target, K = 20: 0.50 of FedAvg; K = 100: 0.50 of FedAvg{UNREACHED}"
    )


def test_a_run_that_does_not_reach_the_target_costs_infinitely_much():
    """FedLoRU's seeds reach it after two rounds, after four, and never: the median is four."""

    def value(method, clients, seed, count):
        first = (2, 4, 99)[seed] if (method, clients) == ("FedLoRU", 100) else 2
        return 0.8 if count >= first else 0.1

    table = runs_of(value)
    told = "; not reached by 1 of 3 runs of FedLoRU with 100 clients, which count as infinite in the medians"
    assert fedloru_curves.rounds_to_target(table)[100, "FedLoRU"] == 4
    assert dict(fedloru_curves.shares_of_bytes(table)) == {20: 1.0, 100: 2.0}
    picture = styled(fedloru_curves.draw_costs, table)
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in picture.axes[1].patches}
    assert (heights[0], heights[3]) == (10.0, 20.0)
    assert [[note.get_text() for note in axes.texts] for axes in picture.axes] == [[], ["2 of 3 runs"]]
    assert fedloru_curves.costs_outcome(table).endswith(told)
    assert fedloru_curves.curves_outcome(table).endswith(told)


def test_gains_show_runs_and_printed_ratios():
    finals = {"FedAvg": 0.5, "FedLoRA": 0.4, "FedLoRU": 0.6, "FedHM": 0.5}
    table = runs_of(lambda method, clients, seed, count: finals[method] * (1 + 0.01 * seed * (method != "FedAvg")))
    picture = styled(fedloru_curves.draw_gains, table)
    (axes,) = picture.axes
    found = fedloru_curves.relative_gains(table).set_index(["method", "clients"])
    assert found["mean"].to_dict() == pytest.approx(
        {
            ("FedLoRA", 20): 0.8 * 1.01 - 1,
            ("FedLoRA", 100): 0.8 * 1.01 - 1,
            ("FedLoRU", 20): 1.2 * 1.01 - 1,
            ("FedLoRU", 100): 1.2 * 1.01 - 1,
        }
    )
    marks = [level(0.0)]
    for method in ("FedLoRA", "FedLoRU"):
        mean, half = 100 * found["mean"][method], 100 * found.half_width[method]
        assert (half > 0).all()
        rows = [row for row in fedloru_curves.TABLE_6 if row.method == method]
        marks += [
            curve(f"{method}, runs", mean.index, mean),
            bars(f"{method}, runs", mean.index, mean - half, mean + half),
            curve(
                f"{method}, published (CIFAR-100)",
                [row.clients for row in rows],
                [100 * float(row.ratio) for row in rows],
            ),
        ]
    same(drawn(axes), marks)
    assert texts(axes) == ("", "clients K", "accuracy against FedAvg's, %")
    same_gain = (
        "a change of +0.0 [+0.0, +0.0] % of FedAvg's accuracy, smallest detectable 0.0; that the gain grows: undecided"
    )
    assert fedloru_curves.gains_outcome(table) == (
        f"Against FedAvg: FedLoRA -19.2 % at K = 20, -19.2 % at K = 100, {same_gain}; FedLoRU +21.2 % at K = 20, "
        f"+21.2 % at K = 100, {same_gain}"
    )
    assert fedloru_curves.gains_outcome(table) in fedloru_curves.gains_found(table)


@pytest.fixture(scope="module")
def toy():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(fedloru_toy.TOY_SIZES, "quick", fedloru_toy.ToySizes(6, (2, 3), 2))
        return fedloru_toy.toy_data(Settings())


def test_the_toy_runs_each_method_at_its_cycles(toy):
    assert {method: set(of.tau) for method, of in toy.groupby("method")} == {
        "FedAvg": {0},
        "FedLoRA": {0},
        "random": {2, 3},
        "keep A": {2, 3},
        "momentum": {2, 3},
    }
    start = toy[toy["round"] == 0]
    assert start.excess.to_numpy() == pytest.approx(1.0)
    assert (start["rank"] == 0).all()
    last = toy[toy["round"] == 6].set_index(["case", "method", "tau"])["rank"]
    assert last["equal clients", "FedAvg", 0] > 4
    assert last["equal clients", "FedLoRA", 0] == 2
    assert last["equal clients", "random", 2] == 6  # two factors of rank 2 accumulated, one in training
    assert set(toy.seeds) == {2}
    assert (toy.diverged == 0).all()


def test_the_toy_shows_its_rows(toy):
    picture = styled(fedloru_toy.draw_toy, toy)
    names = [
        "FedAvg",
        "FedLoRA (no accumulation)",
        "FedLoRU, A drawn again, B = 0",
        "FedLoRU, A kept, B = 0",
        "FedLoRU, both kept (listing)",
    ]
    assert key(picture) == names
    for column, case in enumerate(("equal clients", "different clients")):
        top, bottom = picture.axes[column], picture.axes[2 + column]
        above, below = [], [level(2.0)]
        for method, name in zip(("FedAvg", "FedLoRA", "random", "keep A", "momentum"), names, strict=True):
            mine = toy[(toy.case == case) & (toy.method == method) & toy.tau.isin((0, 3))]
            above += [curve(name, mine["round"], mine.excess), band(mine["round"], mine.low, mine.high)]
            below.append(curve(name, mine["round"], mine["rank"]))
        same(drawn(top), above)
        same(drawn(bottom), below)
        first = column == 0
        assert texts(top) == (
            f"({'ab'[column]}) {case}, $\\tau = 3$",
            "",
            "loss above its least value\n(start = 1)" * first,
        )
        assert texts(bottom) == (f"({'cd'[column]}) rank of $W - W_0$", "round", "rank" * first)
        assert (top.get_yscale(), bottom.get_yscale()) == ("log", "linear")
        assert within(top)


def test_the_toy_tells_each_curve_s_end_in_the_order_of_the_methods(toy):
    text = fedloru_toy.toy_found(toy)
    assert [part.split(":")[0] for part in text.split("equal clients: ")[1].split(". ")[0].split("; ")] == [
        "FedAvg",
        "FedLoRA (no accumulation)",
        "FedLoRU, A drawn again, B = 0, tau = 2",
        "FedLoRU, A drawn again, B = 0, tau = 3",
        "FedLoRU, A kept, B = 0, tau = 2",
        "FedLoRU, A kept, B = 0, tau = 3",
        "FedLoRU, both kept (listing), tau = 2",
        "FedLoRU, both kept (listing), tau = 3",
    ]
    assert "diverged" not in text
    assert fedloru_toy.toy_sizes(toy).endswith("2 seeds, $\\tau$ of 2, 3.")


def test_no_difference_is_shown_between_values_of_different_data():
    alike, other = Value("here", "one", 45.4, 76.6, 1.0), Value("here", "one", 45.4, 76.6, 1.0, same_data=False)
    assert alike.cells == ("45.4", "76.6 ± 1.0", "+31.2")
    assert other.cells == ("45.4", "76.6 ± 1.0", "")
    heads = [
        {text.get_text() for text in styled(draw_table, [value], [], "One").axes[0].texts} for value in (alike, other)
    ]
    assert {"published", "obtained", "diff."} <= heads[0]
    assert {"published", "obtained"} <= heads[1]
    assert "diff." not in heads[1]
