"""`rankproof train --tensorboard`: the event files hold what metrics.csv does; without the extra, one line."""

import csv
import sys

import pytest

from rankproof import main

RUN = ["train", "fedavg", "--rows", "5", "--columns", "4", "--clients", "3"]


@pytest.fixture
def board(tmp_path):
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

    def read():
        events = accumulators.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
        return {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}

    return read


def written(folder):
    with (folder / "metrics.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    names = [name for name in rows[0] if name != "round"]
    return {name: {int(row["round"]): float(row[name]) for row in rows if row[name]} for name in names}


def test_the_board_holds_the_metrics_of_every_round(tmp_path, board):
    more = ["--tensorboard", "--out", str(tmp_path)]
    assert main([*RUN, "--rounds", "5", "--evaluate-every", "2", *more]) == 0
    assert board() == {name: pytest.approx(values, rel=1e-6) for name, values in written(tmp_path).items()}
    assert set(board()["loss"]) == {0, 2, 4, 5}
    assert main(["train", "--resume", str(tmp_path), "--rounds", "8", "--tensorboard"]) == 0
    assert set(board()["bytes_up"]) == set(range(9))
    assert board() == {name: pytest.approx(values, rel=1e-6) for name, values in written(tmp_path).items()}


def test_a_run_that_starts_anew_leaves_no_events_of_the_old_one(tmp_path, board):
    assert main([*RUN, "--rounds", "6", "--tensorboard", "--out", str(tmp_path)]) == 0
    assert main([*RUN, "--rounds", "2", "--seed", "1", "--tensorboard", "--force", "--out", str(tmp_path)]) == 0
    assert board() == {name: pytest.approx(values, rel=1e-6) for name, values in written(tmp_path).items()}


def test_without_the_extra_it_is_one_line_and_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    assert main([*RUN, "--tensorboard", "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err.strip()
    assert told == "rankproof: --tensorboard needs the package tensorboard: pip install 'rankproof[tensorboard]'"
    assert not (tmp_path / "run").exists()
