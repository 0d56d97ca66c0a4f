"""Runs through their folder: every algorithm on every problem it fits, and resuming."""

import csv
import json

import pytest
import torch

from algorithms.federation import FederationError
from runs.catalogue import ALGORITHMS, TOYS, options_of
from runs.folder import checkpoints_of, train
from runs.plan import make_plan, parts_of, read_plan
from runs.settings import Conduct

GIVEN = {"clients": 3, "steps": 3, "rank": 2, "tau": 2, "rows": 5, "columns": 4}


def plan_of(algorithm, problem, rounds=6, **more):
    known = options_of(algorithm, problem, {})
    given = {name: value for name, value in {**GIVEN, **more}.items() if name in known}
    return make_plan(algorithm, problem, given, Conduct(rounds=rounds))


def rows(folder):
    with (folder / "metrics.csv").open() as stream:
        return list(csv.DictReader(stream))


@pytest.mark.sample(80)
@pytest.mark.parametrize("problem", TOYS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_runs_on_every_problem_it_fits(algorithm, problem, tmp_path):
    plan = plan_of(algorithm, problem)
    if algorithm == "rolora-exact" and "regression" not in problem:
        with pytest.raises(FederationError, match="needs a regression"):
            train(plan, tmp_path)
        return
    last = train(plan, tmp_path)
    assert [float(row["round"]) for row in rows(tmp_path)] == list(range(7))
    learning = "personal_loss" if algorithm in ("local", "fedsa-lora") else "loss"
    assert float(rows(tmp_path)[-1][learning]) == last[learning] < float(rows(tmp_path)[0][learning])
    assert (last["bytes_up"] > 0) == (algorithm not in ("local", "central"))
    assert sum(int(row["bytes"]) for row in csv.DictReader((tmp_path / "ledger.csv").open())) == (
        last["bytes_up"] + last["bytes_down"]
    )


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "rolora-exact"])
def test_an_interrupted_run_resumes_to_the_same_result(algorithm, tmp_path):
    plan = plan_of(algorithm, "quadratics", rounds=7, cohort=2)

    def stop(metrics):
        if metrics["round"] == 4:
            raise KeyboardInterrupt

    train(plan, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(plan, tmp_path / "parts", stop)
    assert (tmp_path / "parts" / "checkpoints" / "round-000004.json").exists()  # the round that was done
    assert read_plan(tmp_path / "parts") == plan
    calls = []
    train(plan, tmp_path / "parts", calls.append)
    assert [call["round"] for call in calls] == [5, 6, 7]
    for name in ("metrics.csv", "ledger.csv", "checkpoints/round-000007.safetensors"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    parts = parts_of(plan)
    models = [
        parts.algorithm.weights(checkpoints_of(plan, parts, tmp_path / half).load()[0].state.algorithm)["W"]
        for half in ("whole", "parts")
    ]
    assert torch.equal(*models)


def test_metrics_can_be_followed_while_a_run_goes_on(tmp_path):
    def follow(metrics):
        assert [float(row["round"]) for row in rows(tmp_path)] == list(range(int(metrics["round"]) + 1))
        assert float(rows(tmp_path)[-1]["loss"]) == metrics["loss"]

    train(plan_of("fedavg", "quadratics"), tmp_path, follow)


def test_a_finished_run_can_be_lengthened_and_is_not_run_twice(tmp_path):
    first = train(plan_of("fedlrt", "quadratics"), tmp_path)
    calls = []
    assert train(plan_of("fedlrt", "quadratics"), tmp_path, calls.append) == first
    assert calls == []
    train(plan_of("fedlrt", "quadratics", rounds=9), tmp_path, calls.append)
    assert [call["round"] for call in calls] == [7, 8, 9]
    assert len(rows(tmp_path)) == 10


def test_settings_and_versions_are_written(tmp_path):
    plan = plan_of("fedlora", "ridges")
    train(plan, tmp_path)
    stored = json.loads((tmp_path / "settings.json").read_text())
    assert stored["settings"] == plan.stored_settings
    later = {"alignment", "a_at", "precision", "b_rate"}  # stored only if they are not the default
    asked = {name: value for name, value in plan.settings.items() if name not in later}
    assert plan.stored_settings == asked
    assert (stored["algorithm"], stored["problem"], stored["rounds"]) == ("fedlora", "ridges", 6)
    assert stored["versions"]["torch"] == torch.__version__


def test_a_folder_is_named_by_what_decides_the_numbers():
    plan = plan_of("fedlora", "ridges")
    assert plan.folder.startswith("fedlora-ridges-")
    assert plan_of("fedlora", "ridges", rounds=9).folder == plan.folder
    assert plan_of("fedlora", "ridges", steps=3).folder == plan.folder  # as it is
    assert len({plan_of("fedlora", "ridges", **{name: 1}).folder for name in ("steps", "seed", "rank")}) == 3
