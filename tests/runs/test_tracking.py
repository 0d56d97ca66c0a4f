"""Trackers: every round once, with copies of its numbers, and failures that do not end the run."""

import csv
import sys

import pytest

from rankproof import main
from runs.folder import train
from runs.plan import make_plan
from runs.settings import Conduct

SETTINGS = {"clients": 2, "rows": 5, "columns": 4, "learning_rate": 0.05}


def plan_of(rounds, **more):
    return make_plan("fedavg", "quadratics", SETTINGS | more, Conduct(rounds=rounds, save_every=1e6))


def rows_of(folder):
    return list(csv.DictReader((folder / "metrics.csv").open()))


def test_a_tracker_gets_every_round_with_metrics_settings_and_folder(tmp_path):
    reports = []
    train(plan_of(3), tmp_path, on_round=reports.append)
    assert [report.round for report in reports] == [0, 1, 2, 3]
    assert [report.metrics["loss"] for report in reports] == [float(row["loss"]) for row in rows_of(tmp_path)]
    assert reports[0].folder == tmp_path
    settings = reports[0].settings
    assert (settings["algorithm"], settings["problem"], settings["rows"]) == ("fedavg", "quadratics", 5)


def test_a_tracker_is_called_after_the_display_and_cannot_change_the_run(tmp_path):
    order = []

    def spoil(report):
        order.append("tracker")
        report.metrics.clear()
        report.settings.clear()

    last = train(plan_of(2), tmp_path / "spoilt", lambda metrics: order.append("display"), on_round=spoil)
    assert order == ["display", "tracker"] * 3
    assert last == train(plan_of(2), tmp_path / "plain")
    for name in ("settings.json", "metrics.csv", "ledger.csv"):
        assert (tmp_path / "spoilt" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


def test_what_a_tracker_changes_is_whole_again_in_the_next_report(tmp_path):
    seen, said = [], []

    def spoil(report):
        seen.append((len(report.metrics) > 2, report.settings["rows"]))
        report.metrics.clear()
        report.settings.pop("rows")

    train(plan_of(2), tmp_path, say=said.append, on_round=spoil)
    assert seen == 3 * [(True, 5)]
    assert not said


@pytest.mark.parametrize("error", [ValueError("no\nnetwork"), SystemExit(3)])
def test_a_failure_is_one_line_and_later_rounds_are_still_reported(tmp_path, error):
    said, rounds = [], []

    def fail(report):
        rounds.append(report.round)
        if report.round in (1, 2):
            raise error

    assert train(plan_of(4), tmp_path, say=said.append, on_round=fail)["round"] == 4
    assert rounds == [0, 1, 2, 3, 4]
    (line,) = said
    assert line.startswith(f"the tracker failed in round 1 ({type(error).__name__} in test_tracking.py, line ")
    assert line.endswith("; the run continues")
    assert "\n" not in line


class Killed(BaseException):
    """The end of the process."""


def test_a_stopped_run_does_not_report_a_round_twice(tmp_path):
    rounds = []

    def stop(report):
        rounds.append(report.round)
        if report.round == 2:
            raise Killed

    with pytest.raises(Killed):
        train(plan_of(5), tmp_path, on_round=stop)
    train(plan_of(5), tmp_path, on_round=lambda report: rounds.append(report.round))
    assert rounds == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("saved", [0, 2])
def test_rounds_after_the_last_checkpoint_are_computed_again_but_not_reported(tmp_path, saved):
    """A run that is killed has rows after its last checkpoint, or no checkpoint at all."""
    whole, rounds = [], []
    train(plan_of(4), tmp_path / "whole", on_round=whole.append)
    if saved:
        train(plan_of(saved), tmp_path / "run")
    else:
        train(plan_of(1), tmp_path / "run")
        for path in sorted((tmp_path / "run" / "checkpoints").iterdir()):
            path.unlink()
        (tmp_path / "run" / "checkpoints").rmdir()
        record = tmp_path / "run" / ".rankproof-written"
        record.write_text("".join(x for x in record.read_text().splitlines(True) if "checkpoints" not in x))
    lines = (tmp_path / "whole" / "metrics.csv").read_text().splitlines(keepends=True)
    (tmp_path / "run" / "metrics.csv").write_text("".join(lines)[:-1])  # the end of the last line is missing
    train(plan_of(4), tmp_path / "run", on_round=lambda report: rounds.append(report.round))
    assert rounds == [4]
    assert (tmp_path / "run" / "metrics.csv").read_text() == "".join(lines)


def test_a_run_that_starts_over_reports_from_the_start(tmp_path):
    rounds = []
    train(plan_of(2), tmp_path)
    train(plan_of(1), tmp_path, replace=lambda files: None, on_round=lambda report: rounds.append(report.round))
    assert rounds == [0, 1]


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with trackers in the current folder."""
    (tmp_path / "own_tracker.py").write_text(
        "def log(report):\n    open('log', 'a').write(f'{report.round} {report.metrics[\"loss\"]}\\n')\n"
        "def fail(report):\n    raise OSError('offline')\nnumber = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("own_tracker", None)


SMALL = ["--rows", "5", "--columns", "4", "--out", "run"]


def test_the_command_line_names_a_tracker_also_for_a_resumed_run(module, capsys):
    assert main(["train", "fedavg", *SMALL, "--rounds", "2", "--tracker", "own_tracker:log"]) == 0
    assert main(["train", "--resume", "run", "--rounds", "3", "--tracker", "own_tracker:log"]) == 0
    logged = [line.split() for line in (module / "log").read_text().splitlines()]
    assert logged == [[row["round"], row["loss"]] for row in rows_of(module / "run")]
    assert main(["train", "--resume", "run", "--rounds", "4", "--tracker", "own_tracker:fail"]) == 0
    assert "the tracker failed in round 4 (OSError in own_tracker.py, line 4: offline)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("own_tracker:none", "has no 'none' for --tracker"),
        ("own_tracker:number", "is a int; name a function that takes a report"),
        ("own_tracker", "--tracker must look like module:name"),
        ("nowhere:log", "there is no module 'nowhere' for --tracker"),
    ],
)
def test_a_tracker_that_cannot_be_is_one_line_before_the_run(module, capsys, name, reason):
    assert main(["train", "fedavg", *SMALL, "--tracker", name]) == 2
    line = capsys.readouterr().err
    assert len(line.splitlines()) == 1
    assert reason in line
    assert not (module / "run").exists()
