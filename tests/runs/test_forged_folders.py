"""Folders of runs that somebody has edited: each command names what is wrong in one line, and shows no wrong number."""

import csv
import io
import json
import shutil

import pytest

from rankproof import main
from runs.index import sign_index
from runs.plan import earlier_digest
from workloads.written import RECORD

SIZES = ("--clients", "2", "--steps", "1", "--rows", "3", "--columns", "2", "--rounds", "2", "--keep-every", "1")
INDEX = "checkpoints/round-000002.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert main(["train", "fedavg", *SIZES, "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def run(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "run")


def refused(capsys, *arguments):
    """The one line that a command ends in."""
    capsys.readouterr()
    assert main(list(map(str, arguments))) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert len(answer.err) < 11_000
    return answer.err


def changed(table, change):
    """Rewrites the cells of a table, the first row of which is the heading."""
    rows = list(csv.reader(io.StringIO(table.read_text())))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(change(rows))
    table.write_text(text.getvalue())


def cell(line, name, value):
    def change(rows):
        rows[line][rows[0].index(name)] = value
        return rows

    return change


METRICS = {
    "swapped": (lambda rows: [rows[0], rows[2], rows[1], rows[3]], "line 2: round 1, where round 0 belongs"),
    "backwards": (lambda rows: [rows[0], *rows[:0:-1]], "line 2: round 2, where round 0 belongs"),
    "twice": (lambda rows: [*rows[:3], rows[2], rows[3]], "line 4: round 1, where round 2 belongs"),
    "a gap": (lambda rows: [rows[0], rows[1], rows[3]], "line 3: round 2, where round 1 belongs"),
    "no start": (lambda rows: [rows[0], *rows[2:]], "line 2: round 1, where round 0 belongs"),
    "more than asked for": (lambda rows: [*rows, ["3", *rows[3][1:]]], "it has round 3, and settings.json asks for 2"),
    "a sum that falls": (cell(3, "bytes_up", "1"), "bytes_up decrease in round 2"),
    "bytes below 0": (cell(1, "bytes_down", "-5"), "line 2: bytes_down is not a number"),
    "an underscore": (cell(2, "loss", "1_000"), "line 3: loss is not a number"),
    "another script": (cell(2, "loss", "\u0661"), "line 3: loss is not a number"),
    "spaces": (cell(2, "loss", " 1.0"), "line 3: loss is not a number"),
    "more than all numbers": (cell(2, "loss", "1e999"), "line 3: loss is not a number"),
    "a column twice": (lambda rows: [[*row, row[1]] for row in rows], "two columns with the same name"),
    "a column without a name": (lambda rows: [["" if one == "loss" else one for one in row] for row in rows], "name"),
}


@pytest.mark.parametrize("what", METRICS)
@pytest.mark.parametrize("checkpoints", [False, True])
def test_a_table_that_no_run_writes_is_not_shown(run, capsys, what, checkpoints):
    change, message = METRICS[what]
    changed(run / "metrics.csv", change)
    if not checkpoints:
        shutil.rmtree(run / "checkpoints")
        (run / RECORD).unlink()
    for action in ("list", "show", "compare"):
        said = refused(capsys, "runs", action, run)
        assert "metrics.csv" in said
        assert message in said or "is not what the run wrote" in said
        assert checkpoints or (run / RECORD).exists() or message in said


def test_a_number_that_was_edited_is_noticed_where_there_are_checkpoints_or_a_record(run, capsys):
    changed(run / "metrics.csv", cell(3, "loss", "0.5"))
    assert "metrics.csv is not what the run wrote" in refused(capsys, "runs", "list", run)
    checkpoints = (run / "checkpoints").rename(run / "away")
    assert "metrics.csv is not what the run wrote" in refused(capsys, "runs", "list", run)
    checkpoints.rename(run / "checkpoints")
    (run / "metrics.csv").unlink()
    assert "metrics.csv is not what the run wrote" in refused(capsys, "runs", "list", run)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [rows[0], *rows[:0:-1]], "after round 2"),
        (lambda rows: rows[:2], "0 bytes up until round 1, where metrics.csv has"),
        (lambda rows: [rows[0], *rows[2:]], "0 bytes down until round 1, where metrics.csv has"),
        (cell(2, "bytes", "1000000"), "1000000 bytes up until round 1"),
        (cell(2, "bytes", "-1"), "line 3: bytes is not a number"),
        (cell(2, "round", "x"), "line 3: round is not a number"),
    ],
)
def test_a_ledger_without_some_messages_is_not_shown(run, capsys, change, message):
    shutil.rmtree(run / "checkpoints")
    (run / RECORD).unlink()
    assert main(["runs", "show", str(run)]) == 0
    changed(run / "ledger.csv", change)
    said = refused(capsys, "runs", "show", run)
    assert "ledger.csv is not a table of a run" in said
    assert message in said


@pytest.mark.parametrize("name", ["metrics.csv", "ledger.csv"])
def test_a_table_that_is_a_link_is_not_shown(run, whole, capsys, name):
    (run / name).unlink()
    (run / name).symlink_to(whole / name)
    assert f"{run / name} is a link, but runs write plain files" in refused(capsys, "runs", "show", run)


@pytest.mark.parametrize("rounds", [-1, 2**63, 10**300])
def test_rounds_that_cannot_be_are_refused(run, capsys, rounds):
    edited(run, rounds=rounds)
    assert "rounds" in refused(capsys, "runs", "list", run)


def edited(folder, **changes):
    path = folder / "settings.json"
    stored = json.loads(path.read_text())
    settings = {name: changes.pop(name) for name in list(changes) if name not in stored}
    path.write_text(json.dumps({**stored, **changes, "settings": {**stored["settings"], **settings}}))


ODD = [float("nan"), 10**300, [[[1]]], {"a": 1}, "a\0b", "\ud800", "x" * 100_000, None, True, -1.5]


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("name", ["algorithm", "problem", "model", "steps", "conduct"])
def test_settings_of_another_kind_are_refused_in_one_line(run, capsys, name, value):
    edited(run, **({"problem": "./photos"} if name == "model" else {}), **{name: value})
    refused(capsys, "train", "--resume", run, "--rounds", "3")


def forge(folder, **changes):
    content = json.loads((folder / INDEX).read_text())["content"]
    (folder / INDEX).write_bytes(sign_index({**content, **changes}))


def without_earlier_ones(folder):
    """Removes the checkpoints from which a run goes on where the last one is damaged."""
    for path in (folder / "checkpoints").glob("round-00000[01].json"):
        path.unlink()


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_a_state_of_another_kind_is_refused_in_one_line(run, capsys, value):
    without_earlier_ones(run)
    for algorithm in ({"value": value}, {"tree": {}}, {"tree": {"V": {"value": value}}}, {"mapping": []}):
        forge(run, algorithm=algorithm)
        refused(capsys, "train", "--resume", run, "--rounds", "3")


EMPTY = {"length": 0, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}


@pytest.mark.parametrize(
    "marks",
    [
        *({"metrics.csv": {"length": value, "sha256": "0" * 64}, "ledger.csv": EMPTY} for value in ODD),
        {"metrics.csv": EMPTY, "ledger.csv": EMPTY},
        {"metrics.csv": EMPTY},
        {"../../x": EMPTY},
        {"/etc/passwd": EMPTY, "ledger.csv": EMPTY},
        {"a\0": EMPTY},
        {"metrics.csv": {**EMPTY, "more": 1}},
        [],
    ],
    ids=lambda value: repr(value)[:40],
)
def test_marks_of_another_kind_are_refused_in_one_line(run, capsys, marks):
    without_earlier_ones(run)
    forge(run, marks=marks)
    refused(capsys, "train", "--resume", run, "--rounds", "3")


def test_silos_that_another_run_left_out_are_not_shown(run, capsys):
    forge(run, left_out={"east": "gone\x1b[2J"})
    assert main(["runs", "show", str(run)]) == 0
    assert "silo east: gone [2J" in capsys.readouterr().out
    for run_of in ("0" * 12, [1], None):
        forge(run, left_out={"east": "gone"}, run=run_of)
        assert main(["runs", "show", str(run)]) == 0
        assert "silo east" not in capsys.readouterr().out


def test_texts_of_any_length_are_shown_in_lines_that_can_be_read(run, capsys):
    edited(run, algorithm="a" * 10**6, note="n" * 10**6)
    for action in ("list", "show"):
        assert main(["runs", action, str(run)]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 10_000


EDITED = "settings.json has been edited since the run wrote it"


def set_to(folder, **settings):
    path = folder / "settings.json"
    stored = json.loads(path.read_text())
    more = {name: settings.pop(name) for name in ("earlier",) if name in settings}
    path.write_text(json.dumps({**stored, "settings": {**stored["settings"], **settings}, **more}, indent=1) + "\n")


@pytest.fixture
def sweep(tmp_path, capsys):
    """Runs of two learning rates and two seeds."""
    for rate in ("0.1", "0.2"):
        for seed in ("0", "1"):
            place = ["--learning-rate", rate, "--seed", seed, "--out", str(tmp_path / f"{rate}-{seed}")]
            assert main(["train", "fedavg", "--clients", "2", "--steps", "1", "--rounds", "1", *place]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize("with_record", [True, False])
def test_runs_of_edited_settings_are_named_and_no_part_of_a_comparison(sweep, with_record, capsys):
    assert main(["runs", "compare", str(sweep)]) == 0
    whole = capsys.readouterr().out
    assert "edited" not in whole
    shutil.copytree(sweep / "0.1-0", sweep / "copy")
    set_to(sweep / "copy", seed=2)
    if not with_record:
        (sweep / "copy" / ".rankproof-written").unlink()
    line = f"{sweep / 'copy'}: {EDITED}"
    for action in ("list", "show", "compare"):
        assert main(["runs", action, str(sweep)]) == 0
        shown = capsys.readouterr().out
        assert shown.count(EDITED) == 1
        assert line in shown
        assert action != "compare" or shown == f"{line}: left out\n{whole}"
    assert main(["runs", "plot", str(sweep), "--out", str(sweep / "out")]) == 0
    assert f"{line}: left out" in capsys.readouterr().out
    assert main(["runs", "compare", str(sweep / "copy")]) == 2
    assert line in capsys.readouterr().err


def test_a_run_whose_rounds_were_raised_or_that_has_a_note_is_as_written(sweep, capsys):
    path = sweep / "0.2-1" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "note": "mine"}))
    assert main(["train", "--resume", str(sweep / "0.1-0"), "--rounds", "2"]) == 0
    capsys.readouterr()
    assert main(["runs", "list", str(sweep)]) == 0
    assert "edited" not in capsys.readouterr().out


def test_the_digest_of_an_earlier_version_counts_in_settings_that_were_not_edited(sweep, capsys):
    folder = sweep / "0.1-0"
    set_to(folder, learning_rate=0.3, earlier=earlier_digest(folder))
    refused(capsys, "train", "--resume", folder, "--rounds", "2")
    assert main(["runs", "list", str(sweep)]) == 0
    assert f"{folder}: {EDITED}" in capsys.readouterr().out
