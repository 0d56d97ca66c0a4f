"""Damaged files of a run give the right numbers, or status 2 and one line; nothing else is touched.

`HYPOTHESIS_PROFILE=deep` draws thousands of cases.
"""

import contextlib
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankproof import main

FIRST, LAST = 2, 4
ALGORITHMS = ("pfedloru", "fedlrt", "fedavg")
SIZES = ("--clients", "2", "--steps", "1", "--rows", "3", "--columns", "2", "--save-every", "0")
STRANGE = "a user's own"


def run(*arguments):
    """Status, standard output and standard error of one command; an exception is none of the three."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        status = main([str(argument) for argument in arguments])
    return status, out.getvalue(), error.getvalue()


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """By algorithm: the files after the first rounds, and those after the last."""
    found = {}
    for algorithm in ALGORITHMS:
        rank = () if algorithm == "fedavg" else ("--rank", "1")
        stages = []
        for rounds in (FIRST, LAST):
            folder = tmp_path_factory.mktemp(algorithm)
            for step in (1, rounds):  # two checkpoints, regardless of the time between rounds
                status, _, said = run("train", algorithm, *SIZES, *rank, "--rounds", step, "--out", folder)
                assert (status, said) == (0, "")
            stages.append(contents(folder))
        found[algorithm] = stages
    return found


HOWS = ["cut", "bytes", "longer", "twice", "empty", "missing", "folder", "circle", "nowhere", "linked", "swapped"]
WORDS = st.sampled_from([b"-1", b"nan", b"1e999", b"9" * 5000, b"[" * 50_000, b"\0", b"\xff", b"\r", b'"', b"{}"])


def damaged(draw, files, folder):
    """Writes the files, one of them damaged; the name of that."""
    name = draw(st.sampled_from(sorted(files)), label="file")
    how = draw(st.sampled_from(HOWS), label="how")
    for other, content in files.items():
        (folder / other).parent.mkdir(parents=True, exist_ok=True)
        (folder / other).write_bytes(content)
    path, content = folder / name, files[name]
    at = draw(st.integers(0, len(content)), label="at")
    if how == "cut":
        path.write_bytes(content[:at])
    elif how == "bytes":
        path.write_bytes(content[:at] + draw(st.binary(max_size=4)) + content[at + draw(st.integers(0, 4)) :])
    elif how == "longer":
        path.write_bytes(content[:at] + draw(WORDS, label="word") + content[at:])
    elif how == "twice":
        path.write_bytes(content * 2)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "swapped":
        path.write_bytes(files[draw(st.sampled_from(sorted(files)), label="with")])
    else:
        path.unlink()
        if how == "folder":
            path.mkdir()
            (path / "own").write_text(STRANGE)
        elif how == "circle":
            path.symlink_to(path.name)
        elif how == "nowhere":
            path.symlink_to("nowhere")
        elif how == "linked":
            (path.parent / "elsewhere").write_bytes(content)
            path.symlink_to("elsewhere")
    return name, how


def meaning(content):
    """Content of settings, versions aside."""
    try:
        return {name: value for name, value in json.loads(content).items() if name != "versions"}
    except (ValueError, AttributeError, RecursionError):
        return None


def test_a_folder_of_a_user_stays_whatever_its_name(runs, tmp_path):
    files, expected = runs["pfedloru"]
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    name = "checkpoints/client-000000-round-000001.safetensors"  # which no later checkpoint needs
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    (tmp_path / name / "own").write_text(STRANGE)
    assert run("train", "--resume", tmp_path, "--rounds", LAST)[0] == 0
    assert (tmp_path / "metrics.csv").read_bytes() == expected["metrics.csv"]
    assert (tmp_path / name / "own").read_text() == STRANGE


@given(st.data(), st.sampled_from(ALGORITHMS))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_damaged_run_goes_on_to_the_same_bits_or_says_why_not(runs, data, algorithm):
    files, expected = runs[algorithm]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        folder.mkdir()
        file, how = damaged(data.draw, files, folder)
        (folder / "notes.txt").write_text(STRANGE)
        plan = (folder / "settings.json").read_bytes() if (folder / "settings.json").is_file() else b""
        status, out, said = run("train", "--resume", folder, "--rounds", LAST)
        assert (folder / "notes.txt").read_text() == STRANGE
        if how == "folder":
            assert (folder / file / "own").read_text() == STRANGE
        after = contents(folder)
    if status:
        assert (status, out) == (2, "")
        assert said.startswith("rankproof: ")
        assert said.count("\n") == 1
        return
    assert all(line.startswith("rankproof: ") for line in said.splitlines())
    assert "metrics.csv" in out
    if meaning(plan) == meaning(files["settings.json"]):
        assert after["metrics.csv"] == expected["metrics.csv"]
        assert after["ledger.csv"] == expected["ledger.csv"]


@given(st.data(), st.sampled_from(ALGORITHMS), st.sampled_from(["list", "show", "compare", "compare", "plot"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_damaged_run_is_shown_or_named(runs, data, algorithm, action):
    with tempfile.TemporaryDirectory() as name:
        for other in ("whole", "damaged"):
            (Path(name) / other).mkdir()
        files = runs[algorithm][0]
        damaged(data.draw, files, Path(name) / "damaged")
        for own, content in files.items():
            (Path(name) / "whole" / own).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / "whole" / own).write_bytes(content.replace(b'"seed": 0', b'"seed": 1'))
        before = contents(Path(name))
        target = Path(name) / "damaged" if action == "show" else Path(name)
        more = ("--out", Path(name) / "picture") if action == "plot" else ()
        status, out, said = run("runs", action, target, *more)
        after = contents(Path(name))
    assert {file: content for file, content in after.items() if not file.startswith("picture")} == before
    if status:
        assert (status, out) == (2, "")
        assert said.startswith("rankproof: ")
        assert said.count("\n") == 1
    else:
        assert said == ""
        assert out
