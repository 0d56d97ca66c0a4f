"""`rankproof runs plot`: its numbers against the runs, and the picture against its numbers."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from matplotlib import rc_context
from matplotlib.image import imread

from figures.make import render
from figures.run_curves import LABEL, curves, draw_curves, write_curves
from figures.style import STYLE
from rankproof import main
from runs.folder import METRICS, SETTINGS
from runs.listing import RunError, find_runs
from workloads.written import RECORD

ROUNDS = 4


def write_run(folder, values, seed=0, algorithm="fedavg", each=1000, metric="loss", problem="ridges", **settings):
    """A run with some value of a metric after each round; None: not evaluated."""
    folder.mkdir(parents=True)
    content = {"algorithm": algorithm, "problem": problem, "settings": {"seed": seed, **settings}, "rounds": ROUNDS}
    (folder / SETTINGS).write_text(json.dumps(content))
    lines = [f"{r},{'' if value is None else value},{each * r},{each * r // 2}" for r, value in enumerate(values)]
    (folder / METRICS).write_text("\n".join([f"round,{metric},bytes_down,bytes_up", *lines]) + "\n")


@pytest.fixture
def runs(tmp_path):
    """Three seeds of one algorithm that differ in what they sent, and one seed of another."""
    random = np.random.default_rng(0)
    for seed in range(3):
        write_run(tmp_path / "runs" / f"a{seed}", random.uniform(0.5, 1, ROUNDS + 1), seed, each=1000 + 100 * seed)
    write_run(tmp_path / "runs" / "b", random.uniform(0.5, 1, ROUNDS + 1), algorithm="fedlin", each=2000)
    return tmp_path / "runs"


def metrics(folder):
    with (folder / METRICS).open() as stream:
        return list(csv.DictReader(stream))


def test_csv_holds_mean_and_range_of_the_metrics(runs, tmp_path, capsys):
    assert main(["runs", "plot", str(runs), "--out", str(tmp_path / "out")]) == 0
    paths = [tmp_path / "out" / f"runs-loss.{kind}" for kind in ("png", "pdf", "csv")]
    assert capsys.readouterr().out == ", ".join(map(str, paths)) + "\n"
    assert sorted(tmp_path.glob("out/*")) == sorted([*paths, tmp_path / "out" / RECORD])
    with paths[2].open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["runs"], int(row["round"])) for row in rows] == [
        (label, r) for label in ("fedavg", "fedlin") for r in range(ROUNDS + 1)
    ]
    folders = {"fedavg": [runs / f"a{seed}" for seed in range(3)], "fedlin": [runs / "b"]}
    for row in rows:
        made = [metrics(folder)[int(row["round"])] for folder in folders[row["runs"]]]
        losses = [float(one["loss"]) for one in made]
        assert int(row["seeds"]) == len(made)
        assert (float(row["least"]), float(row["most"])) == (min(losses), max(losses))
        np.testing.assert_allclose(float(row["mean"]), np.mean(losses), rtol=1e-15)
        np.testing.assert_allclose(
            float(row["bytes"]), np.mean([int(one["bytes_down"]) + int(one["bytes_up"]) for one in made]), rtol=1e-15
        )


def test_a_curve_that_ends_before_a_run_of_its_group_is_named(tmp_path, capsys):
    write_run(tmp_path / "runs" / "a0", [5.0, 4.0, 3.0, 2.0])
    write_run(tmp_path / "runs" / "a1", [5.0, 4.0], seed=1)
    write_run(tmp_path / "runs" / "b0", [5.0, None, 3.0], algorithm="fedlin")
    write_run(tmp_path / "runs" / "b1", [5.0, 4.0, 3.0], seed=1, algorithm="fedlin")
    assert main(["runs", "plot", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "fedavg: the curve ends at round 1, because not all of its runs have loss after it; "
        f"{tmp_path / 'runs' / 'a0'} continues to round 3"
    ]


def test_the_picture_draws_the_csv(runs, tmp_path):
    paths = write_curves(find_runs(runs), None, tmp_path / "out")
    table = pd.read_csv(paths[2], dtype=str).astype(dict.fromkeys(["bytes", "mean", "least", "most"], float))
    table = table.astype({"seeds": int, "round": int})
    picture = draw_curves(table, "loss")
    for axis, column, scale in zip(picture.axes, ("round", "bytes"), (1, 1e3), strict=True):
        for line, (_, part) in zip(axis.get_lines(), table.groupby("runs", sort=False), strict=True):
            np.testing.assert_allclose(line.get_xdata(), part[column] / scale)
            np.testing.assert_array_equal(line.get_ydata(), part["mean"])
        (band,) = axis.collections  # one seed has none
        corners = {(round(x, 9), y) for x, y in band.get_paths()[0].vertices}
        part = table[table.runs == "fedavg"]
        for x, least, most in zip(part[column] / scale, part.least, part.most, strict=True):
            assert {(round(x, 9), least), (round(x, 9), most)} <= corners
    drawn = render(lambda: draw_curves(table, "loss"), ("png",))["png"]
    assert drawn == paths[0].read_bytes()
    assert imread(io.BytesIO(drawn)).std() > 0.05
    assert paths[1].read_bytes().startswith(b"%PDF")


def test_the_picture_says_what_it_shows(runs):
    picture = draw_curves(curves(find_runs(runs), "loss"), "loss")
    left, right = picture.axes
    assert (left.get_xlabel(), left.get_ylabel()) == ("round", "loss")
    assert right.get_xlabel() == "data sent in both directions (kB)"
    title = picture.get_suptitle()
    assert title.startswith("Loss by round and by data sent: mean (line)")
    assert title.count(".") == 1
    (legend,) = picture.legends
    assert [text.get_text() for text in legend.get_texts()] == ["fedavg (3 seeds)", "fedlin (1 seed)"]
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in left.get_lines()}
    assert len(looks) == 2


def table_of(groups, spread=1.0, each=1e3, seeds=2):
    rows = [
        {
            "runs": label,
            "seeds": seeds,
            "round": r,
            "bytes": r * each * (1 + k),
            "mean": spread**-r,
            "least": 0.9 * spread**-r,
            "most": 1.1 * spread**-r,
        }
        for k, label in enumerate(groups)
        for r in range(ROUNDS + 1)
    ]
    return pd.DataFrame(rows)


def test_curves_stand_in_the_order_of_the_table_under_their_labels():
    table = table_of(["b", "a"])
    picture = draw_curves(table, "loss")
    (legend,) = picture.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["b (2 seeds)", "a (2 seeds)"]
    for panel, scale, column in zip(picture.axes, (1, 1e3), ("round", "bytes"), strict=True):
        for line, sample, label in zip(panel.get_lines(), legend.legend_handles, "ba", strict=True):
            assert (line.get_color(), line.get_marker()) == (sample.get_color(), sample.get_marker())
            assert list(line.get_xdata() * scale) == list(table[table.runs == label][column])


def test_rounds_have_whole_ticks():
    for rounds in (1, 2, 4):
        table = table_of(["a"])
        left = draw_curves(table[table["round"] <= rounds], "loss").axes[0]
        assert all(float(tick).is_integer() for tick in left.get_xticks())


@pytest.mark.parametrize(("spread", "scale"), [(1.1, "linear"), (3.0, "log")])
def test_values_over_more_than_a_factor_of_ten_get_a_logarithmic_axis(spread, scale):
    assert draw_curves(table_of(["a"], spread), "loss").axes[0].get_yscale() == scale


def test_negative_values_get_a_linear_axis():
    table = table_of(["a"], 3.0)
    table.least -= 1.0
    assert draw_curves(table, "loss").axes[0].get_yscale() == "linear"


@pytest.mark.parametrize("huge", [1.7e308, -1.7e308, 1e151])
def test_values_that_matplotlib_cannot_place_leave_a_gap(huge):
    values = [1.0, huge, 3.0]
    table = pd.DataFrame({"runs": "a", "seeds": 1, "round": range(3), "bytes": range(3)})
    picture = draw_curves(table.assign(mean=values, least=values, most=values), "loss")
    line = picture.axes[0].get_lines()[0].get_ydata()
    assert list(np.nan_to_num(line, nan=-1.0)) == [1.0, -1.0, 3.0]
    assert picture.axes[0].get_yscale() == "linear"


def test_totals_over_more_than_a_factor_of_ten_get_a_logarithmic_axis():
    assert draw_curves(table_of("ab"), "loss").axes[1].get_xscale() == "linear"
    assert draw_curves(table_of([str(k) for k in range(12)]), "loss").axes[1].get_xscale() == "log"


@pytest.mark.parametrize(
    ("each", "unit"), [(0.0, "B"), (10.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e18, "TB")]
)
def test_units_suit_the_size(each, unit):
    assert draw_curves(table_of(["a"], each=each), "loss").axes[1].get_xlabel().endswith(f"({unit})")


def test_many_curves_with_long_labels_stay_apart_and_inside():
    labels = [f"fedloru rank={k} {'word ' * 40}" for k in range(14)]
    with rc_context(STYLE):
        picture = draw_curves(table_of(labels), "a metric of $x$ " * 6)
        picture.draw_without_rendering()
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in picture.axes[0].get_lines()}
    assert len(looks) == len(labels)
    (legend,) = picture.legends
    assert max(len(line) for text in legend.get_texts() for line in text.get_text().splitlines()) <= LABEL
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= picture.bbox.x1
    title = picture._suptitle.get_window_extent()
    assert title.x0 >= 0
    assert title.x1 <= picture.bbox.x1
    assert box.y1 < min(axis.get_window_extent().y0 for axis in picture.axes)


def test_only_rounds_that_all_runs_evaluated_are_drawn(tmp_path):
    write_run(tmp_path / "a", [1.0, None, 0.5, None, 0.25], seed=0)
    write_run(tmp_path / "b", [2.0, None, 1.5], seed=1)
    table = curves(find_runs(tmp_path), "loss")
    assert table["round"].tolist() == [0, 2]
    assert table["mean"].tolist() == [1.5, 1.0]


def test_no_round_in_common_is_refused(tmp_path):
    write_run(tmp_path / "a", [1.0, None], seed=0)
    write_run(tmp_path / "b", [None, 1.0], seed=1)
    with pytest.raises(RunError, match="fedavg have no common round"):
        curves(find_runs(tmp_path), "loss")


def test_what_is_not_finite_stands_in_the_csv(tmp_path):
    write_run(tmp_path / "a", [1.0, "nan", "inf", 0.5, 0.25])
    paths = write_curves(find_runs(tmp_path), None, tmp_path)
    assert [row["mean"] for row in csv.DictReader(paths[2].open())] == ["1.0", "nan", "inf", "0.5", "0.25"]


def test_names_of_files_come_from_the_metric(tmp_path):
    write_run(tmp_path / "a", [1.0, 0.5], metric="error of x/y")
    paths = write_curves(find_runs(tmp_path), "error of x/y", tmp_path / "out")
    assert [path.name for path in paths] == [f"runs-error-of-x-y.{kind}" for kind in ("png", "pdf", "csv")]


def test_files_are_named_after_the_folder_of_the_runs(tmp_path, monkeypatch, capsys):
    write_run(tmp_path / "trial 2" / "a", [1.0, 0.5])
    monkeypatch.chdir(tmp_path / "trial 2")
    assert main(["runs", "plot", ".", "--out", str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").glob("*-loss.*")} == {
        f"trial-2-loss.{kind}" for kind in ("png", "pdf", "csv")
    }


@pytest.mark.parametrize("action", ["compare", "plot"])
def test_runs_of_different_problems_are_not_compared(tmp_path, capsys, action):
    write_run(tmp_path / "runs" / "a", [1.0, 0.5])
    write_run(tmp_path / "runs" / "b", [1.0, 0.125], problem="legendre")
    out = ["--out", str(tmp_path / "out")] if action == "plot" else []
    words = ["runs", action, str(tmp_path / "runs"), *out]
    assert main(words) == 2
    assert "choose one with --problem: legendre, ridges" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*words, "--problem", "legendre"]) == 0
    told = capsys.readouterr().out
    if action == "plot":
        told = (tmp_path / "out" / "runs-legendre-loss.csv").read_text()
    assert "0.125" in told
    assert "0.5" not in told
    assert main([*words, "--problem", "mnist"]) == 2
    assert "no run is of the problem 'mnist'; there are legendre, ridges" in capsys.readouterr().err


def test_the_axis_of_accuracies_is_linear():
    table = table_of("ab", spread=3.0)
    assert draw_curves(table, "own accuracy").axes[0].get_yscale() == "linear"
    assert draw_curves(table, "loss").axes[0].get_yscale() == "log"


def test_a_place_that_cannot_be_written_is_one_line(runs, tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    assert main(["runs", "plot", str(runs), "--out", str(tmp_path / "file")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("place", range(3))
def test_a_band_is_unknown_where_one_seed_is(tmp_path, place):
    for seed in range(3):
        write_run(tmp_path / f"r{seed}", [1.0 + seed, "nan" if seed == place else 2.0 + seed], seed)
    first, second = curves(find_runs(tmp_path), "loss").to_dict("records")
    assert (first["mean"], first["least"], first["most"]) == (2.0, 1.0, 3.0)
    assert all(np.isnan(second[name]) for name in ("mean", "least", "most"))


def test_no_label_of_a_received_run_is_a_formula_of_a_spreadsheet(tmp_path):
    for name in ("=HYPERLINK(1)", "fedavg"):
        write_run(tmp_path / "runs" / name[:2], [1.0, 0.5], algorithm=name)
    path = write_curves(find_runs(tmp_path / "runs"), None, tmp_path / "out")[-1]
    with path.open() as stream:
        assert {row["runs"] for row in csv.DictReader(stream)} == {"'=HYPERLINK(1)", "fedavg"}
