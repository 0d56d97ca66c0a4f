"""Folders of runs: damage is mended or refused, nothing is overwritten unasked, kills leave what resumes."""

import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from algorithms.federation import FederationError
from algorithms.rounds import rounds
from runs.folder import CHECKPOINTS, LEDGER, METRICS, checkpoints_of, train
from runs.plan import SETTINGS, make_plan, parts_of, read_plan
from runs.settings import Conduct, RunError
from toymodels.problem import ProblemError
from workloads.written import RECORD

SMALL = {"clients": 3, "steps": 3, "rows": 5, "columns": 4}
FILES = (SETTINGS, METRICS, LEDGER)


def plan_of(algorithm="fedavg", problem="quadratics", rounds=6, save_every=10.0, workers=1, keep_every=None, **changed):
    conduct = Conduct(rounds=rounds, save_every=save_every, workers=workers, keep_every=keep_every)
    return make_plan(algorithm, problem, {**SMALL, **changed}, conduct)


def run(folder, *names, progress=None, force=None, **changed):
    return train(plan_of(*names, **changed), folder, progress, force)


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def folder(tmp_path):
    run(tmp_path)
    return tmp_path


def cut(share):
    return lambda data: data[: int(share * len(data))]


def without_row(data):
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:3] + lines[4:])


DAMAGE = {
    "cut within the last row": lambda data: data[:-30],
    "cut within a number": lambda data: data[:-3],
    "cut in half": cut(0.5),
    "emptied": lambda data: b"",
    "a row is missing": without_row,
    "no header": lambda data: data.split(b"\n", 1)[1],
    "a number changed": lambda data: data.replace(b"0", b"1", 1),
    "other line ends": lambda data: data.replace(b"\n", b"\r\n"),
    "no text": lambda data: os.urandom(200),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", [METRICS, LEDGER])
def test_a_table_that_was_changed_is_refused_and_nothing_is_written(damage, name, folder):
    path = folder / name
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    before = content(folder)
    for rounds_ in (6, 9):
        with pytest.raises(RunError, match=rf"{name} is not what the run wrote; .* --out"):
            run(folder, rounds=rounds_)
    assert content(folder) == before


@pytest.mark.parametrize("name", [*FILES, "log.txt"])
@pytest.mark.parametrize("force", [None, lambda files: None])
def test_a_pipe_with_the_name_of_a_runs_file_is_refused(name, force, folder):
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(RunError, match=rf"{name} is not a file, but a run writes a file there; name another folder"):
        run(folder, rounds=9, force=force)


def test_a_pipe_with_the_name_of_a_checkpoint_is_passed_over(folder):
    os.mkfifo(folder / CHECKPOINTS / "round-000009.json")
    told = []
    train(plan_of(rounds=7), folder, say=told.append)
    assert told == [
        f"{folder / CHECKPOINTS / 'round-000009.json'} is not a file; move it away, or name another folder; resuming "
        "from round 6"
    ]


@pytest.mark.parametrize("names", [[METRICS], [LEDGER], [METRICS, LEDGER]])
def test_a_table_that_is_missing_is_named(names, folder):
    for name in names:
        (folder / name).unlink()
    before = content(folder)
    with pytest.raises(RunError, match=rf"without its {' and '.join(names)}; .* start over with --force"):
        run(folder, rounds=9)
    assert content(folder) == before
    run(folder, force=lambda files: None)
    assert set(content(folder)) >= {METRICS, LEDGER}


def test_rows_beyond_the_checkpoint_are_written_again(folder, tmp_path_factory):
    whole = tmp_path_factory.mktemp("whole")
    run(whole, rounds=9)
    with (folder / METRICS).open("ab") as stream:
        stream.write(b"7,1,1,1,1\n8,1")
    (folder / LEDGER).write_bytes((whole / LEDGER).read_bytes())
    told = []
    train(plan_of(rounds=9), folder, say=told.append)
    assert told == [
        f"metrics.csv and ledger.csv of {folder}: removing the rows after round 6, the last with a checkpoint"
    ]
    for name in FILES:
        assert (folder / name).read_bytes() == (whole / name).read_bytes()
    train(plan_of(rounds=9), folder, say=told.append)
    assert len(told) == 1


def test_a_row_that_looks_like_a_round_is_removed_with_a_line(folder):
    before = (folder / METRICS).read_bytes()
    (folder / METRICS).write_bytes(before + b"7,1.5,1.5,9999,9999\n")
    told = []
    train(plan_of(), folder, say=told.append)
    assert told == [f"metrics.csv of {folder}: removing the rows after round 6, the last with a checkpoint"]
    assert (folder / METRICS).read_bytes() == before


def noted(data):
    return json.dumps({**json.loads(data), "note": "mine"}, indent=1).encode()


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("edit", [noted, lambda data: data.replace(b" ", b"\t"), lambda data: data + b"\n"])
def test_settings_that_somebody_edited_stay(edit, recorded, folder):
    if not recorded:  # as an earlier version left them
        (folder / RECORD).unlink()
    path = folder / SETTINGS
    path.write_bytes(edit(path.read_bytes()))
    before = content(folder)
    run(folder)  # a run that is complete has nothing to write there
    assert path.read_bytes() == before[SETTINGS]
    before = content(folder)
    for changed, needed in (({"rounds": 9}, '"rounds": 9'), ({"evaluate_every": 2}, '"evaluate_every": 2')):
        with pytest.raises(RunError, match=rf"settings\.json has been changed since .* write .*{needed}.* into it, or"):
            run(folder, **changed)
    assert content(folder) == before
    path.write_bytes(
        edited_rounds := before[SETTINGS]
        .replace(b'"rounds": 6', b'"rounds": 9')
        .replace(b'"rounds":\t6', b'"rounds":\t9')
    )
    run(folder, rounds=9)
    assert path.read_bytes() == edited_rounds
    assert read_plan(folder).conduct.rounds == 9


def test_edited_settings_are_blamed_and_not_the_checkpoints(folder):
    path = folder / SETTINGS
    original = path.read_bytes()
    path.write_text(json.dumps(edited(learning_rate=0.75)(json.loads(original)), indent=1) + "\n")
    before = content(folder)
    with pytest.raises(RunError, match=r"settings\.json has been changed since .* restore it from a copy"):
        train(read_plan(folder), folder)
    with pytest.raises(RunError, match=r"settings\.json has been changed .* other learning_rate than the checkpoints"):
        run(folder)
    assert content(folder) == before
    path.write_bytes(original)
    run(folder)


def test_the_tables_say_what_happened(folder):
    with (folder / METRICS).open() as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["round"]) for row in rows] == list(range(7))
    assert int(rows[3]["bytes_up"]) == 3 * 3 * 8 * 20  # three rounds, three clients, 20 numbers of 8 bytes
    assert rows[0]["bytes_down"] == "0"
    with (folder / LEDGER).open() as stream:
        entries = list(csv.DictReader(stream))
    assert sum(int(entry["bytes"]) for entry in entries) == int(rows[-1]["bytes_up"]) + int(rows[-1]["bytes_down"])


def test_a_ledger_without_messages_names_its_columns(tmp_path):
    run(tmp_path, "local", rounds=2)
    first = content(tmp_path)[LEDGER]
    assert first == b"round,trip,direction,what,clients,entries,bytes\n"
    run(tmp_path, "local", rounds=4)
    assert content(tmp_path)[LEDGER] == first


@pytest.mark.parametrize("executor", ["sequential", "vmap"])
def test_a_folder_holds_what_the_rounds_give(executor, tmp_path):
    plan = plan_of(cohort=1, seed=3, rounds=5, executor=executor, evaluate_every=2)
    train(plan, tmp_path)
    parts = parts_of(plan)
    found = list(
        rounds(parts.algorithm, parts.problem, rounds=5, cohort=1, seed=3, executor=parts.executor, evaluate_every=2)
    )
    with (tmp_path / METRICS).open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows == [{name: str(step.metrics.get(name, "")) for name in rows[0]} for step in found]
    assert [row["round"] for row in rows if row["loss"]] == ["0", "2", "4", "5"]
    assert list(rows[0]) == ["round", "loss", "distance", "bytes_down", "bytes_up"]


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"algorithm": "fedlin"}, "algorithm"),
        ({"problem": "ridges"}, "problem"),
        ({"seed": 1}, "seed"),
        ({"steps": 4, "cohort": 2}, "cohort, steps"),
    ],
)
def test_other_settings_are_refused(other, named, folder):
    before = content(folder)
    names = (other.pop("algorithm", "fedavg"), other.pop("problem", "quadratics"))
    with pytest.raises(RunError, match=f"holds a run with other {named}.*; name another folder with --out"):
        run(folder, *names, **other)
    assert content(folder) == before


def test_the_checkpoints_of_another_run_are_refused(folder, tmp_path_factory):
    foreign = tmp_path_factory.mktemp("foreign")
    run(foreign, seed=1)
    for path in (folder / CHECKPOINTS).iterdir():
        path.write_bytes((foreign / CHECKPOINTS / path.name).read_bytes())
    with pytest.raises(RunError, match="belongs to another run"):
        run(folder)


def test_a_damaged_checkpoint_gives_way_and_is_told(tmp_path, tmp_path_factory):
    run(tmp_path, rounds=4, save_every=0.0)
    numbers_before = sorted((tmp_path / CHECKPOINTS).glob("*.json"))
    numbers_before[-1].write_text("{}")
    told = []
    train(plan_of(rounds=6), tmp_path, say=told.append)
    assert len(told) == 1
    assert "round-000004.json is damaged or of another version; resuming from round " in told[0]
    whole = tmp_path_factory.mktemp("whole")
    run(whole, rounds=6)
    assert (tmp_path / METRICS).read_bytes() == (whole / METRICS).read_bytes()


@pytest.mark.parametrize("algorithm", ["fedavg", "pfedloru"])
def test_checkpoints_of_every_so_many_rounds_stay(algorithm, tmp_path):
    """They are the states that the run went through, with each client's own memory, and a resumed run keeps them."""
    run(tmp_path, algorithm, rounds=8, keep_every=3, cohort=2)
    stored = read_plan(tmp_path)
    train(replace(stored, conduct=replace(stored.conduct, rounds=10)), tmp_path)
    plan = plan_of(algorithm, rounds=10, cohort=2)
    parts = parts_of(plan)
    kept = {one.state.round: one.state for one in checkpoints_of(plan, parts, tmp_path).load_each()}
    assert list(kept) == [3, 6, 9, 10]
    for step in rounds(parts.algorithm, parts.problem, rounds=10, cohort=2, seed=plan.settings["seed"]):
        if step.state.round in kept:
            found = kept[step.state.round]
            ours, theirs = (parts.algorithm.weights(one.algorithm) for one in (found, step.state))
            assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
            assert set(found.federation.personal) == set(step.state.federation.personal)
    run(tmp_path, algorithm, rounds=11, cohort=2)
    assert [one.state.round for one in checkpoints_of(plan, parts, tmp_path).load_each()] == [10, 11]


def write_settings(folder, stored):
    """Writes settings as another version of rankproof would have, which left no record."""
    (folder / SETTINGS).write_text(json.dumps(stored, indent=1) + "\n")
    (folder / RECORD).unlink()


def test_other_versions_are_told(folder):
    stored = json.loads((folder / SETTINGS).read_text())
    stored["versions"]["torch"] = "1.0"
    write_settings(folder, stored)
    told = []
    train(plan_of(rounds=7), folder, say=told.append)
    assert len(told) == 1
    assert "computed by torch 1.0, now " in told[0]
    assert json.loads((folder / SETTINGS).read_text())["versions"]["torch"] != "1.0"


@pytest.mark.parametrize("conduct", [{"evaluate_every": 3}, {"workers": 2}, {"executor": "vmap"}])
def test_a_run_goes_on_however_it_is_conducted(conduct, folder, tmp_path_factory):
    whole = tmp_path_factory.mktemp("whole")
    run(whole, rounds=9)
    told = []
    plan = plan_of(rounds=9, **conduct)
    assert plan.digest == plan_of().digest
    train(plan, folder, say=told.append)
    assert told == (
        ["the run was computed by executor sequential, now vmap: the last digits may differ; resuming from round 6"]
        if "executor" in conduct
        else []
    )
    assert read_plan(folder).conduct == Conduct(**{"rounds": 9, **conduct, "workers": 1})
    ours, theirs = (list(csv.DictReader((place / METRICS).open())) for place in (folder, whole))
    assert [row["round"] for row in ours] == [str(number) for number in range(10)]
    for our, their in zip(ours, theirs, strict=True):
        evaluated = "evaluate_every" not in conduct or int(our["round"]) not in (7, 8)
        assert (our["loss"] != "") == evaluated
        if evaluated and "executor" in conduct:
            assert float(our["loss"]) == pytest.approx(float(their["loss"]), rel=1e-12)
        elif evaluated:
            assert our == their


def as_an_earlier_version_wrote_it(folder, executor="sequential", evaluate_every=1):
    """Rewrites a folder as earlier versions left it: conduct among the settings, no cap, and so another digest."""
    stored = json.loads((folder / SETTINGS).read_text())
    conduct = {"executor": executor, "device": "cpu", "evaluate_every": evaluate_every}
    assert stored.pop("conduct").keys() == conduct.keys()
    stored["settings"] |= conduct
    stored["settings"].pop("cap", None)
    write_settings(folder, stored)
    identity = {"algorithm": stored["algorithm"], "problem": stored["problem"], **stored["settings"]}
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
    for path in (folder / CHECKPOINTS).glob("*.json"):
        content = json.loads(path.read_text())["content"] | {"run": digest}
        sha256 = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        path.write_text(json.dumps({"sha256": sha256, "content": content}))


@pytest.mark.parametrize("algorithm", ["fedavg", "fedlrt"])
@pytest.mark.parametrize("conduct", [{}, {"executor": "vmap"}, {"evaluate_every": 2}])
def test_a_run_that_an_earlier_version_began_goes_on(algorithm, conduct, tmp_path):
    run(tmp_path / "whole", algorithm, rounds=12, **conduct)
    run(tmp_path / "run", algorithm, **conduct)
    as_an_earlier_version_wrote_it(tmp_path / "run", **conduct)
    assert read_plan(tmp_path / "run") == plan_of(algorithm, **conduct)
    for until in (8, 10, 12):  # the last two checkpoints were of two digests, then of one
        train(plan_of(algorithm, rounds=until, save_every=0.0, **conduct), tmp_path / "run")
    for name in (METRICS, LEDGER):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_kill_before_the_first_checkpoint_of_this_version_loses_nothing(folder, monkeypatch):
    as_an_earlier_version_wrote_it(folder)

    def killed(checkpoints, checkpoint):
        raise KeyboardInterrupt

    monkeypatch.setattr("runs.folder.Checkpoints.save", killed)
    with pytest.raises(KeyboardInterrupt):
        run(folder, rounds=8, evaluate_every=4)
    monkeypatch.undo()
    assert read_plan(folder).conduct.evaluate_every == 4
    calls = []
    run(folder, rounds=8, progress=calls.append)
    assert [call["round"] for call in calls] == [7, 8]


def test_fewer_rounds_are_refused_and_nothing_is_written(folder):
    before = content(folder)
    with pytest.raises(
        RunError,
        match="holds a run of 6 rounds; the number can be raised but not lowered to 5; give --rounds 6 or more, ",
    ):
        run(folder, rounds=5)
    assert content(folder) == before


def edited(**changed):
    return lambda stored: {**stored, "settings": {**stored["settings"], **changed}}


def renamed(**changed):
    return lambda stored: {**stored, **changed}


SETTINGS_DAMAGE = {
    "cut": ("", "is not valid JSON"),
    "no JSON": ("rows: 5", "is not valid JSON"),
    "deep": ("[" * 100_000, "is not valid JSON"),
    "a list": ("[]", "lacks algorithm, problem"),
    "a number": ("3", "lacks algorithm"),
    "a key less": (lambda stored: {**stored, "settings": {"steps": 3}}, "lacks cohort, seed"),
    "a key more": (edited(momentun=0.9), "takes no --momentun"),
    "a text for a number": (edited(rows="5"), "rows must be a whole number"),
    "a fraction for a whole number": (edited(rows=5.0), "rows must be a whole number"),
    "a truth for a number": (edited(rows=True), "rows must be a whole number"),
    "nothing": (edited(rows=None), "rows must be a whole number"),
    "a list for a number": (edited(heterogeneity=[1.0]), "heterogeneity must be a finite number"),
    "no number": (edited(heterogeneity=float("nan")), "heterogeneity must be a finite number"),
    "infinity": (edited(learning_rate=float("inf")), "learning_rate must be a finite number"),
    "beyond floats": (edited(learning_rate=10**400), "learning_rate must be a finite number"),
    "out of range": (renamed(rounds=-5), "rounds must be a whole number of at least 1"),
    "rounds that are not a number": (renamed(rounds="6"), "rounds must be a whole number"),
    "a cohort too large": (edited(cohort=4), "cohort must be at most the number of clients, 3"),
    "an unknown word": (renamed(conduct={"executor": "never"}), "executor must be one of"),
    "a conduct that is none": (renamed(conduct=[]), "conduct must be a table of executor, device, evaluate_every"),
    "a conduct of another kind": (renamed(conduct={"pace": 1}), "conduct must be a table of"),
    "an evaluation that never comes": (renamed(conduct={"evaluate_every": 0}), "evaluate_every must be a whole number"),
    "settings that are none": (renamed(settings=[]), "settings a table"),
    "an algorithm that is not a name": (renamed(algorithm=["fedavg"]), "algorithm and problem must be names"),
    "an unknown algorithm": (renamed(algorithm="fedfoo"), "unknown algorithm 'fedfoo'"),
}


@pytest.mark.parametrize("damage", SETTINGS_DAMAGE)
def test_damaged_settings_are_refused_and_nothing_is_written(damage, folder):
    change, message = SETTINGS_DAMAGE[damage]
    path = folder / SETTINGS
    path.write_text(change if isinstance(change, str) else json.dumps(change(json.loads(path.read_text()))))
    before = content(folder)
    for again in (lambda: read_plan(folder), lambda: run(folder)):  # a start does not write over it either
        with pytest.raises(RunError, match=message) as caught:
            again()
        assert "\n" not in str(caught.value)
    assert content(folder) == before


def test_settings_that_are_no_text_are_refused(folder):
    (folder / SETTINGS).write_bytes(b"\xff\xfe{}")
    with pytest.raises(RunError, match="is not valid JSON"):
        read_plan(folder)


@pytest.mark.parametrize("name", [METRICS, LEDGER])
def test_files_that_no_run_wrote_are_left_alone(name, tmp_path):
    (tmp_path / name).write_text("mine")
    with pytest.raises(RunError, match=rf"holds {name} without settings\.json; name another folder"):
        run(tmp_path)
    assert content(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("name", [*FILES, CHECKPOINTS])
def test_a_folder_in_the_place_of_a_file_is_refused(name, tmp_path):
    (tmp_path / name).touch() if name == CHECKPOINTS else (tmp_path / name).mkdir()
    for force in (None, lambda files: None):
        with pytest.raises(RunError, match=r"but a run (writes a file|has a folder) there"):
            run(tmp_path, force=force)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_start_that_fails_writes_nothing(tmp_path):
    for name, change in (("fedlora", {"rank": 9}), ("fedavg", {"heterogeneity": 1e300})):
        with pytest.raises((FederationError, ProblemError)):
            run(tmp_path / "new", name, **change)
    assert not (tmp_path / "new").exists()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_run_without_a_saved_round_gives_way(tmp_path):
    with pytest.raises(FederationError, match=r"^round 1[:,].* lower the learning rate[^;]*$"):
        run(tmp_path, learning_rate=1e300, rounds=50, save_every=0.0)  # the start is not a round
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, RECORD}
    run(tmp_path, "fedlin", rounds=2)
    assert read_plan(tmp_path) == plan_of("fedlin", rounds=2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_run_that_diverges_keeps_its_last_round_and_names_it(tmp_path):
    with pytest.raises(
        FederationError, match=r"round (\d+)[,:].*lower the learning rate.*; .* keeps round \d+$"
    ) as said:
        run(tmp_path, learning_rate=50.0, rounds=5000)
    failed, kept = (int(word.strip(",:")) for word in (str(said.value).split()[1], str(said.value).split()[-1]))
    assert kept == failed - 1
    with pytest.raises(RunError, match="holds a run with other learning_rate"):
        run(tmp_path)


def test_a_run_can_start_anew_and_names_what_it_removes(folder):
    (folder / "notes.txt").write_text("mine")
    told = []
    run(folder, "fedlin", force=told.extend)
    assert told == [folder / name for name in (CHECKPOINTS, METRICS, LEDGER, SETTINGS)]
    assert (folder / "notes.txt").read_text() == "mine"
    assert read_plan(folder).algorithm == "fedlin"
    run(folder, force=told.extend)
    assert read_plan(folder).algorithm == "fedavg"


@pytest.mark.parametrize("name", [*FILES, "log.txt", f"{CHECKPOINTS}/round-000006.json"])
@pytest.mark.parametrize("data", [b"", b"{}", b"{", b"epoch,auc\n1,0.9\n", b"round,loss\n0,1\n"])
def test_starting_anew_removes_nothing_that_has_been_changed(name, data, folder):
    (folder / name).write_bytes(data)
    before = content(folder)
    for again in ("fedavg", "fedlin"):
        with pytest.raises(RunError, match=rf"{name}: rankproof did not write it, .* name another folder with --out"):
            run(folder, again, force=lambda files: None)
    assert content(folder) == before


def test_results_without_their_checkpoints_are_results(folder):
    shutil.rmtree(folder / CHECKPOINTS)
    before = content(folder)
    for algorithm in ("fedavg", "fedlin"):
        with pytest.raises(RunError, match="holds the results of a run, without its checkpoints; name another folder"):
            run(folder, algorithm)
    assert content(folder) == before
    (folder / RECORD).unlink()  # as an earlier version left them
    with pytest.raises(RunError, match=r"settings\.json: rankproof did not write it"):
        run(folder, force=lambda files: None)
    before.pop(RECORD)
    assert content(folder) == before


def test_a_run_of_an_earlier_version_can_start_anew(folder):
    (folder / RECORD).unlink()
    run(folder, "fedlin", force=lambda files: None)
    assert read_plan(folder).algorithm == "fedlin"


@pytest.mark.parametrize("line", [b"# mine\n", b"7,1,1,1,mine\n", b"note,1,1,1,1\n", b"7,1,1,1,1,1\n", b"5,1,1,1,1\n"])
def test_what_a_user_adds_to_a_table_is_not_cut_off(line, folder):
    with (folder / METRICS).open("ab") as stream:
        stream.write(line)
    before = content(folder)
    with pytest.raises(RunError, match=r"metrics\.csv contains rows that no run wrote after round 6; move that away"):
        run(folder, rounds=9)
    assert content(folder) == before


@pytest.mark.parametrize("name", [SETTINGS, METRICS, LEDGER, CHECKPOINTS])
@pytest.mark.parametrize("force", [None, lambda files: None])
def test_a_link_to_a_part_of_another_run_is_refused(name, force, folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "run"
    shutil.copytree(folder, other)
    (shutil.rmtree if name == CHECKPOINTS else Path.unlink)(folder / name)
    (folder / name).symlink_to(other / name)
    before = content(folder), content(other)
    with pytest.raises(
        RunError,
        match=rf"{name} is a link, but runs write plain files; name another folder with "
        rf"--out",
    ):
        run(folder, rounds=9, force=force)
    assert (content(folder), content(other)) == before


def test_a_copy_by_hard_links_stays_a_run(folder, tmp_path_factory):
    """As `cp -al` and programs for backups make them."""
    other = tmp_path_factory.mktemp("other") / "run"
    shutil.copytree(folder, other, copy_function=os.link)
    before = content(other)
    run(folder, rounds=9)
    assert content(other) == before
    run(other, rounds=9)
    for name in FILES:
        assert (other / name).read_bytes() == (folder / name).read_bytes()


def test_a_failing_start_removes_nothing(folder):
    before = content(folder)
    with pytest.raises(FederationError):
        run(folder, "fedlora", rank=9, force=lambda files: None)
    assert content(folder) == before


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_fails_in_the_first_round_removes_nothing(folder):
    before, told = content(folder), []
    with pytest.raises(FederationError, match=rf"^round 1[:,].*; {folder} still holds the previous run$"):
        run(folder, learning_rate=1e300, force=told.extend)
    assert content(folder) == before
    assert not told


def test_a_run_that_starts_anew_writes_what_a_first_one_writes(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    run(folder, "fedlin", force=lambda files: None)
    run(other, "fedlin")
    for name in (METRICS, LEDGER):
        assert (folder / name).read_bytes() == (other / name).read_bytes()


def test_two_runs_do_not_write_into_one_folder(folder):
    def second(metrics):
        with pytest.raises(RunError, match="another run is writing into"):
            run(folder, rounds=8)

    run(folder, rounds=7, progress=second)
    run(folder, rounds=8)


PROGRAM = """
import os, sys
from pathlib import Path
import runs.folder, workloads.files
from runs.plan import make_plan
from runs.settings import Conduct
at, seen = int(sys.argv[2]), 0
def dying(named):  # at the chosen name that a file is given, before or after it
    def name(*paths):
        global seen
        seen += 1
        if seen == at: os._exit(9)
        named(*paths)
        if seen == at + 1: os._exit(9)
    return name
os.replace, os.link = dying(os.replace), dying(os.link)
given = {"clients": 3, "cohort": 2, "steps": 2, "tau": 2}
plan = make_plan("pfedloru", "quadratics", given, Conduct(rounds=4, save_every=0.0))
runs.folder.SHARE_OF_TIME = float("inf")
runs.folder.train(plan, Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    run_given(folder)
    return folder


def run_given(folder):
    given = {"clients": 3, "cohort": 2, "steps": 2, "tau": 2}
    train(make_plan("pfedloru", "quadratics", given, Conduct(rounds=4)), folder)


@pytest.mark.sample(2)
@pytest.mark.parametrize("at", [0, 1, 2, 4, 6, 7, 9, 12])
def test_whatever_a_kill_at_a_rename_leaves_resumes_to_the_bit(at, tmp_path, uninterrupted):
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), str(at)], cwd=root, env=environment)
    assert done.returncode in (0, 9)
    run_given(tmp_path)
    for name in (*FILES, f"{CHECKPOINTS}/round-000004.safetensors"):
        assert (tmp_path / name).read_bytes() == (uninterrupted / name).read_bytes()
    assert clients(tmp_path) == clients(uninterrupted)


def clients(folder):
    """Files of what each client holds at the end, regardless of the round in which each was written."""
    index = json.loads((folder / CHECKPOINTS / "round-000004.json").read_text())["content"]
    return {client: index["files"][name] for client, name in index["personal"].items()}
