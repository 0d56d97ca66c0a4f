"""What stands in a folder: damage is mended or refused, nothing is overwritten unasked, kills leave what resumes."""

import csv
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from algorithms.federation import FederationError
from runs.catalogue import algorithm_of, executor_of, problem_of
from runs.folder import FILES, LEDGER, METRICS, SETTINGS, stored_run, train
from runs.run import steps
from runs.settings import RunError, TrainSettings
from runs.storage import STATE

SMALL = TrainSettings(clients=3, rounds=6, steps=3, rank=2, tau=2, rows=5, columns=4)


def run(folder, algorithm="fedavg", problem="quadratics", **changed):
    return train(algorithm, problem, replace(SMALL, **changed), folder)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path):
    run(tmp_path)
    return tmp_path


def cut(share):
    return lambda data: data[: int(share * len(data))]


def without_row(data):
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:3] + lines[4:])


METRICS_DAMAGE = {
    "cut within the last row": lambda data: data[:-30],
    "cut within a number": lambda data: data[:-3],
    "cut in half": cut(0.5),
    "cut header": cut(0.02),
    "emptied": lambda data: b"",
    "a row is missing": without_row,
    "a row stands twice": lambda data: data + data.splitlines(keepends=True)[-1],
    "no header": lambda data: data.split(b"\n", 1)[1],
    "columns renamed": lambda data: data.replace(b"loss", b"lost"),
    "a number changed": lambda data: data.replace(b"0.", b"1.", 1),
    "rows beyond the state": lambda data: data + b"7,,,,\n8,1,1,1,1\n",
    "no text": lambda data: os.urandom(200),
    "nulls": lambda data: b"\0" * len(data),
}


@pytest.mark.parametrize("damage", METRICS_DAMAGE)
@pytest.mark.parametrize("rounds", [6, 9])
def test_damaged_metrics_are_written_again_from_the_state(damage, rounds, folder, tmp_path_factory):
    path = folder / METRICS
    path.write_bytes(METRICS_DAMAGE[damage](path.read_bytes()))
    last = run(folder, rounds=rounds)
    whole = tmp_path_factory.mktemp("whole")
    assert last == run(whole, rounds=rounds)
    assert content(folder) == content(whole)


@pytest.mark.parametrize("name", [METRICS, LEDGER])
def test_missing_tables_are_written_again_from_the_state(name, folder):
    before = content(folder)
    (folder / name).unlink()
    run(folder)
    assert content(folder) == before


def test_the_tables_say_what_happened(folder):
    with (folder / METRICS).open() as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["round"]) for row in rows] == list(range(7))
    assert int(rows[3]["bytes_up"]) == 3 * 3 * 8 * 20  # three rounds, three clients, 20 numbers of 8 bytes
    assert rows[0]["bytes_down"] == "0"
    assert {next(iter(row.items())) for row in rows} == {("round", str(number)) for number in range(7)}


@pytest.mark.parametrize("executor", ["sequential", "vmap"])
def test_a_folder_holds_what_the_rounds_give(executor, tmp_path):
    settings = replace(SMALL, cohort=1, seed=3, rounds=5, executor=executor)
    train("fedavg", "quadratics", settings, tmp_path)
    problem, algorithm = problem_of("quadratics", settings), algorithm_of("fedavg", settings)
    found = list(steps(problem, algorithm, rounds=5, cohort=1, seed=3, executor=executor_of(executor)))
    with (tmp_path / METRICS).open() as stream:
        assert list(csv.DictReader(stream)) == [{k: str(v) for k, v in step.metrics.items()} for step in found]


STATE_DAMAGE = {
    "emptied": lambda data: b"",
    "cut by a byte": lambda data: data[:-1],
    "cut in half": cut(0.5),
    "only the digest": lambda data: data[:64],
    "one bit of the digest": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "one bit of a tensor": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "another round": lambda data: data.replace(b'"round": 6', b'"round": 5'),
    "grown": lambda data: data + b"0",
    "no text": lambda data: os.urandom(500),
}


@pytest.mark.parametrize("damage", STATE_DAMAGE)
def test_a_damaged_state_is_refused_and_nothing_is_written(damage, folder):
    path = folder / STATE
    path.write_bytes(STATE_DAMAGE[damage](path.read_bytes()))
    before = content(folder)
    for rounds in (6, 9):
        with pytest.raises(RunError, match=r"state\.pt is damaged or of another version; .* --force"):
            run(folder, rounds=rounds)
    assert content(folder) == before


FORGED = {
    "a row less": lambda content: content["rows"].pop(2),
    "rows of other rounds": lambda content: content["rows"].reverse(),
    "another class": lambda content: content.update(algorithm={"named": "os:system", "fields": [{"value": "true"}]}),
    "no class": lambda content: content.update(algorithm={"named": "Path", "fields": []}),
    "a tensor that is not there": lambda content: content.update(algorithm={"tensor": 9}),
    "a larger tensor": lambda content: content.update(tensors=[["torch.float64", [5, 5]]]),
    "no tensor type": lambda content: content.update(tensors=[["torch.load", [5, 4]]]),
    "no round": lambda content: content.pop("round"),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_state_that_no_run_wrote_is_refused(forgery, folder):
    head, blob = (folder / STATE).read_bytes().split(b"\n", 2)[1:]
    content = json.loads(head)
    FORGED[forgery](content)
    body = json.dumps(content).encode() + b"\n" + blob
    (folder / STATE).write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    with pytest.raises(RunError, match=r"state\.pt is not what a run saves .*; start anew with --force"):
        run(folder)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"algorithm": "fedlin"}, "algorithm"), ({"problem": "ridges"}, "problem"), ({"seed": 1}, "seed"),
        ({"steps": 4, "cohort": 2}, "cohort, steps"),
    ],
)  # fmt: skip
def test_the_state_of_another_run_is_refused(other, named, folder, tmp_path_factory):
    foreign = tmp_path_factory.mktemp("foreign")
    run(foreign, **other)
    (folder / STATE).write_bytes((foreign / STATE).read_bytes())
    before = content(folder)
    with pytest.raises(RunError, match=rf"state\.pt is of a run with other {named}; "):
        run(folder)
    assert content(folder) == before


def test_the_state_of_a_longer_run_is_refused(folder, tmp_path_factory):
    longer = tmp_path_factory.mktemp("longer")
    run(longer, rounds=8)
    (folder / STATE).write_bytes((longer / STATE).read_bytes())
    with pytest.raises(RunError, match=r"stands at round 8 of 6"):
        run(folder)


def test_fewer_rounds_are_refused_and_nothing_is_written(folder):
    before = content(folder)
    with pytest.raises(RunError, match="holds a run of 6 rounds, which can be raised and not lowered to 5"):
        run(folder, rounds=5)
    assert content(folder) == before


def edited(**changed):
    return lambda stored: {**stored, **changed}


SETTINGS_DAMAGE = {
    "cut": ("", "is no valid JSON"),
    "no JSON": ("rows: 5", "is no valid JSON"),
    "deep": ("[" * 100_000, "is no valid JSON"),
    "a list": ("[]", "lacks algorithm, clients"),
    "a number": ("3", "lacks algorithm"),
    "a key less": (lambda stored: {k: v for k, v in stored.items() if k != "tau"}, "lacks tau"),
    "a key more": (edited(momentum=0.9), "has the unknown momentum"),
    "a text for a number": (edited(rows="5"), "rows must be a whole number"),
    "a fraction for a whole number": (edited(rows=5.0), "rows must be a whole number"),
    "a truth for a number": (edited(rows=True), "rows must be a whole number"),
    "nothing": (edited(rows=None), "rows must be a whole number"),
    "a list for a number": (edited(scale=[1.0]), "scale must be a finite number"),
    "no number": (edited(heterogeneity=float("nan")), "heterogeneity must be a finite number"),
    "infinity": (edited(learning_rate=float("inf")), "learning_rate must be a finite number"),
    "beyond floats": (edited(scale=10**400), "scale must be a finite number"),
    "out of range": (edited(rounds=-5), "rounds must be a whole number from 1"),
    "a cohort too large": (edited(cohort=4), "cohort must be at most the number of clients, 3"),
    "an unknown word": (edited(restart="never"), "restart must be one of"),
    "an algorithm that is no name": (edited(algorithm=["fedavg"]), "algorithm and problem must be names"),
    "an unknown algorithm": (edited(algorithm="fedprox"), "unknown algorithm 'fedprox'"),
}


@pytest.mark.parametrize("damage", SETTINGS_DAMAGE)
def test_damaged_settings_are_refused_and_nothing_is_written(damage, folder):
    change, message = SETTINGS_DAMAGE[damage]
    path = folder / SETTINGS
    path.write_text(change if isinstance(change, str) else json.dumps(change(json.loads(path.read_text()))))
    before = content(folder)
    with pytest.raises(RunError, match=message) as caught:
        train(*stored_run(folder), folder)
    assert "\n" not in str(caught.value)
    if damage != "an unknown algorithm":
        with pytest.raises(RunError, match=message):  # a start does not write over it either
            run(folder)
    assert content(folder) == before


def test_settings_that_are_no_text_are_refused(folder):
    (folder / SETTINGS).write_bytes(b"\xff\xfe{}")
    with pytest.raises(RunError, match="is no valid JSON"):
        stored_run(folder)


@pytest.mark.parametrize("name", [STATE, METRICS, LEDGER])
def test_files_that_no_run_wrote_are_left_alone(name, tmp_path):
    (tmp_path / name).write_text("mine")
    with pytest.raises(RunError, match=rf"holds {name} without settings\.json; name another folder"):
        run(tmp_path)
    assert content(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_the_place_of_a_file_is_refused(name, tmp_path):
    (tmp_path / name).mkdir()
    for force in (None, lambda files: None):
        with pytest.raises(RunError, match="is a folder, where a run writes a file"):
            train("fedavg", "quadratics", SMALL, tmp_path, replace=force)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_start_that_fails_writes_nothing(tmp_path):
    for change in ({"rank": 9}, {"heterogeneity": 1e300}):
        with pytest.raises(FederationError):
            run(tmp_path / "new", "fedlora", **change)
    assert not (tmp_path / "new").exists()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_run_without_a_saved_round_gives_way(tmp_path, monkeypatch):
    monkeypatch.setattr("runs.folder.SAVE_EVERY_SECONDS", 0.0)  # the start is no round
    with pytest.raises(FederationError, match=r"^round 1[:,].* lower the learning rate[^;]*$"):
        run(tmp_path, learning_rate=1e300, rounds=50)
    assert {path.name for path in tmp_path.iterdir()} == {SETTINGS, METRICS}
    run(tmp_path, "fedlin", rounds=2)
    assert stored_run(tmp_path) == ("fedlin", "quadratics", replace(SMALL, rounds=2))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_run_that_diverges_names_the_round_it_keeps(tmp_path, monkeypatch):
    monkeypatch.setattr("runs.folder.SAVE_EVERY_SECONDS", 0.0)
    with pytest.raises(FederationError, match=r"lower the learning rate.*; .* keeps round \d+$"):
        run(tmp_path, learning_rate=50.0, rounds=5000)
    with pytest.raises(RunError, match="holds a run with other learning_rate"):
        run(tmp_path)


def test_a_run_can_start_anew_and_names_what_it_removes(folder):
    (folder / "notes.txt").write_text("mine")
    told = []
    train("fedlin", "quadratics", SMALL, folder, replace=told.extend)
    assert told == [folder / name for name in (STATE, METRICS, LEDGER, SETTINGS)]
    assert (folder / "notes.txt").read_text() == "mine"
    assert stored_run(folder)[0] == "fedlin"
    (folder / SETTINGS).write_text("{")
    train("fedavg", "quadratics", SMALL, folder, replace=told.extend)
    assert stored_run(folder)[0] == "fedavg"


def test_a_failing_start_removes_nothing(folder):
    before = content(folder)
    with pytest.raises(FederationError):
        train("fedlora", "quadratics", replace(SMALL, rank=9), folder, replace=lambda files: None)
    assert content(folder) == before


PROGRAM = """
import os, sys
from pathlib import Path
import runs.folder, workloads.files
from runs.settings import TrainSettings
runs.folder.SAVE_EVERY_SECONDS = 0.0
at, seen, replaced = int(sys.argv[2]), 0, os.replace
def replace(*paths):  # dies at the chosen rename, before or after it
    global seen
    seen += 1
    if seen == at: os._exit(9)
    replaced(*paths)
    if seen == at + 1: os._exit(9)
os.replace = replace
settings = TrainSettings(clients=3, cohort=2, rounds=4, steps=2, tau=2)
runs.folder.train("fedloru", "quadratics", settings, Path(sys.argv[1]))
"""


@pytest.mark.parametrize("at", range(9))
def test_whatever_a_kill_leaves_resumes_to_the_bit(at, tmp_path):
    settings = TrainSettings(clients=3, cohort=2, rounds=4, steps=2, tau=2)
    train("fedloru", "quadratics", settings, tmp_path / "whole")
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "parts"), str(at)], cwd=root)
    assert done.returncode in (0, 9)
    train("fedloru", "quadratics", settings, tmp_path / "parts")
    kept = {name: data for name, data in content_of_files(tmp_path / "parts").items() if name in FILES}
    assert kept == content_of_files(tmp_path / "whole")


def content_of_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
