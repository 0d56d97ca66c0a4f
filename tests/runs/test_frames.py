"""`runs.load`: the numbers of a run's table with its settings."""

import csv
import json
import shutil

import numpy as np
import pytest

import runs
from runs.folder import train
from runs.plan import make_plan
from runs.settings import Conduct, RunError


@pytest.fixture
def folder(tmp_path):
    """A run of five rounds that is evaluated in every second one and at the end."""
    plan = make_plan("fedlrt", "quadratics", {"clients": 3, "rows": 5, "columns": 4}, Conduct(5, evaluate_every=2))
    train(plan, tmp_path / "run")
    return tmp_path / "run"


def test_a_frame_has_the_numbers_of_the_table(folder):
    frame = runs.load(folder)
    rows = list(csv.DictReader((folder / "metrics.csv").open()))
    assert frame.index.name == "round"
    assert list(frame.index) == [0, 1, 2, 3, 4, 5]
    assert list(frame.columns) == [name for name in rows[0] if name != "round"]
    for name in frame.columns:
        expected = [float(row[name]) if row[name] else np.nan for row in rows]
        np.testing.assert_array_equal(frame[name].to_numpy(dtype=float), expected)
    assert frame["loss"].notna().tolist() == [True, False, True, False, True, True]
    assert [str(frame[name].dtype) for name in ("bytes_down", "bytes_up")] == ["int64", "int64"]


def test_settings_are_at_hand(folder):
    attributes = runs.load(str(folder)).attrs
    stored = json.loads((folder / "settings.json").read_text())
    assert attributes["settings"] == stored["settings"]
    assert attributes["settings"]["clients"] == 3
    assert (attributes["algorithm"], attributes["problem"], attributes["rounds"]) == ("fedlrt", "quadratics", 5)
    assert attributes["conduct"]["evaluate_every"] == 2
    assert attributes["versions"] == stored["versions"]
    assert attributes["folder"] == str(folder)


def test_a_run_without_a_round_is_an_empty_frame(folder):
    (folder / "metrics.csv").unlink()
    shutil.rmtree(folder / "checkpoints")
    frame = runs.load(folder)
    assert len(frame) == 0
    assert {"bytes_down", "bytes_up"} <= set(frame.columns)


def test_what_is_not_one_unchanged_run_is_refused(folder, tmp_path):
    with pytest.raises(RunError, match="is not there"):
        runs.load(tmp_path / "nowhere")
    train(make_plan("fedavg", "quadratics", {"clients": 2}, Conduct(1)), tmp_path / "other")
    with pytest.raises(RunError, match=r"has 2 runs; name the folder of one, such as .*other"):
        runs.load(tmp_path)
    settings = folder / "settings.json"
    settings.write_text(settings.read_text().replace('"clients": 3', '"clients": 4'))
    with pytest.raises(RunError, match="has been edited"):
        runs.load(folder)
