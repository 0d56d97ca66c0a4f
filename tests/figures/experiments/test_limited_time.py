"""Runs within a time limit: the rates that are chosen, what is made next, and what an archive holds."""

import json
import subprocess
import sys
import tarfile
import time
from dataclasses import replace

import pytest
import torch

from figures.experiments.experiment import RUN, Design, Line, run_design
from figures.experiments.limited_time import FEWEST, Work, make_run, make_runs, pack
from figures.figure import Settings
from runs.listing import find_runs

LINES = tuple(
    Line({"method": method, "clients": clients}, algorithm, "quadratics", {"clients": clients}, "loss", method, own)
    for method, algorithm in (("FedAvg", "fedavg"), ("FedLin", "fedlin"))
    for clients, own in ((2, True), (3, False))
)


def given(lines=LINES, rates=(0.1,), seeds=2, **more):
    return Design(tuple(replace(line, **more) for line in lines), 3, seeds, rates, 3)


def test_runs_are_those_of_the_experiment(tmp_path):
    personal = Line({"method": "pFed"}, "pfedlora-1", "quadratics", {"clients": 2, "rank": 1}, "personal_loss")
    choosing = Design((replace(personal, tuned=True),), 3, 2, (0.1, 0.2), 2)
    settings, said = Settings(seed=1, runs=tmp_path / "runs"), []
    assert make_runs(Work([given(), choosing], settings), 1, 300.0, say=said.append) == 0
    assert said[-1] == "16 runs have ended, 0 are left"
    assert [line.partition(": ")[2] for line in said if "s on cpu: pFed, seed 199, " in line] == [
        f"pFed, seed 199, tries rate {rate}" for rate in ("0.1", "0.2", "0.02", "0.01", "0.002", "0.001")
    ]
    made = {run.folder.name for run in find_runs(tmp_path / "runs")}
    table, other = run_design(given(), settings), run_design(choosing, settings)
    assert {run.folder.name for run in find_runs(tmp_path / "runs")} == made
    assert set(table.stage) == {RUN}
    assert set(other[other.stage == RUN].rate) == {0.001}
    assert len(made) == 16


ENDLESS = """
from pathlib import Path
from figures.experiments.experiment import Design, Line
from figures.experiments.limited_time import Work, make_runs
from figures.figure import Settings

if __name__ == "__main__":
    line = Line({"method": "FedAvg"}, "fedavg", "quadratics", {"clients": 2}, "loss")
    runs = Path(__file__).parent / "runs"
    make_runs(Work([Design((line,), 10**9, 1)], Settings(runs=runs)), 1, 1e6)
"""


@pytest.mark.slow
def test_no_process_outlives_a_killed_operator(tmp_path):
    (tmp_path / "endless.py").write_text(ENDLESS)
    process = subprocess.Popen([sys.executable, str(tmp_path / "endless.py")], stdout=subprocess.PIPE)
    while not list((tmp_path / "runs").glob("*/settings.json")):
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.communicate(timeout=60)  # a worker has the same standard output, which ends with the last process


def test_no_run_is_made_without_time(tmp_path):
    said = []
    work = Work([given(), given(rates=(0.1, 0.2))], Settings(runs=tmp_path / "runs"))
    assert make_runs(work, 1, 0.0, say=said.append) == 8 + 4 + 8
    assert said == ["0 runs have ended, 20 are left"]


def test_a_group_tries_every_rate_on_its_tuned_lines_and_runs_all_its_lines(tmp_path):
    work = Work([given(rates=(0.1, 0.2), seeds=5)], Settings(seed=2))
    assert [len(lines) for _, lines in work.groups] == [2, 2]
    tried = work.choices(1)
    assert [(task.trial.label, task.trial.seeds, task.trial.settings["learning_rate"]) for task in tried] == [
        ("FedLin, 2", (299,), 0.1),
        ("FedLin, 2", (299,), 0.2),
    ]
    assert {task.metric for task in tried} == {"validation_loss"}
    own = work.runs(1, 0.2)
    assert {(task.trial.label, *task.trial.seeds) for task in own} == {
        (f"FedLin, {clients}", 200 + seed) for clients in (2, 3) for seed in range(5)
    }
    assert {task.trial.settings["learning_rate"] for task in own} == {0.2}
    assert {task.metric for task in own} == {""}


def test_a_group_tries_further_rates_until_the_best_is_inside():
    work, said = Work([given(rates=(0.1, 0.2))], Settings()), []
    low, high = work.choices(1)
    further = work.after_choices(1, {low: 0.5, high: 0.7}, said.append)
    assert [(task.trial.settings["learning_rate"], task.metric) for task in further] == [(1.0, "validation_loss")]
    own = work.after_choices(1, {low: 0.5, high: 0.7, further[0]: 0.6}, said.append)
    assert {(task.trial.settings["learning_rate"], task.metric) for task in own} == {(0.2, "")}
    assert len(own) == 4
    assert said == [
        "FedLin, 2: rate 0.2 of 0.1: 0.5000, 0.2: 0.7000; next: 1",
        "FedLin, 2: rate 0.2 of 0.1: 0.5000, 0.2: 0.7000, 1: 0.6000",
    ]


def test_all_lines_get_a_few_seeds_before_any_gets_more():
    first, second = given(seeds=5), given(seeds=4)
    work = Work([first, second], Settings())
    ordered = sorted((task for group in range(4) for task in work.runs(group, 0.1)), key=lambda task: task.order)
    few = 4 * FEWEST
    assert {task.group for task in ordered[:few]} == {0, 1}
    assert {task.group for task in ordered[few : 2 * few]} == {2, 3}
    assert {task.trial.seeds[0] for task in ordered[: 2 * few]} == set(range(FEWEST))


@pytest.mark.parametrize(
    ("device", "clients", "model", "place"),
    [
        ("cpu", 9, "alexnet", ("cpu", "sequential")),
        ("cuda", 4, "alexnet", ("cuda", "vmap")),
        ("cuda", 3, "alexnet", ("cpu", "sequential")),
        ("cuda", 3, "vgg16", ("cuda", "sequential")),
    ],
)
def test_many_clients_are_computed_at_once_on_a_device(device, clients, model, place):
    line = Line({"method": "FedAvg"}, "fedavg", "fashion-mnist", {"clients": clients, "model": model}, tuned=True)
    work = Work([Design((line,), 1, 1, (0.1,))], Settings(), device, 4, ("alexnet",))
    assert work.place(work.runs(0, 0.1)[0].trial) == place


def test_all_clients_at_once_make_the_same_run(tmp_path):
    (task,) = Work([given(LINES[:1], seeds=1)], Settings()).runs(0, 0.1)
    for executor in ("sequential", "vmap"):
        assert make_run(task.trial, tmp_path / executor, None, "cpu", executor) == ""
    apart, at_once = (find_runs(tmp_path / executor)[0] for executor in ("sequential", "vmap"))
    assert apart.folder.name == at_once.folder.name
    assert at_once.conduct["executor"] == "vmap"
    assert [row["loss"] for row in at_once.rows] == pytest.approx([row["loss"] for row in apart.rows])


def test_a_run_counts_as_failed_if_it_also_fails_with_one_client_after_the_other(tmp_path):
    (task,) = Work([given(LINES[:1], seeds=1)], Settings()).runs(0, 1e200)
    assert make_run(task.trial, tmp_path, None, "cpu", "vmap").startswith("round 1, client 0: ")


def test_an_archive_holds_results_and_the_checkpoints_of_what_has_not_ended(tmp_path):
    store = tmp_path / "runs"
    run_design(given(LINES[:1], seeds=2), Settings(runs=store))
    ended, open_ = (run.folder for run in find_runs(store))
    path = open_ / "settings.json"
    path.write_text(path.read_text().replace('"rounds": 3', '"rounds": 4'))
    assert pack(store, tmp_path / "all.tar.gz", 2**20) == []
    with tarfile.open(tmp_path / "all.tar.gz") as tar:
        names = set(tar.getnames())
        environment = json.load(tar.extractfile("environment.json"))
    assert environment["device"] == "cpu"
    assert environment["packages"]["torch"].startswith(torch.__version__.partition("+")[0])
    assert {f"{folder.name}/{file}" for folder in (ended, open_) for file in ("settings.json", "metrics.csv")} <= names
    assert {name.split("/")[0] for name in names if "checkpoints" in name} == {open_.name}
    left = pack(store, tmp_path / "small.tar.gz", 0)
    assert left
    assert all("checkpoints" in name for name in left)
    unpacked = tmp_path / "there"
    with tarfile.open(tmp_path / "small.tar.gz") as tar:
        tar.extractall(unpacked, filter="data")
    assert [run.done for run in find_runs(unpacked)] == [3, 3]
