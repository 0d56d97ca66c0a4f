"""Runs through their folder: every algorithm on every problem it fits, and resuming."""

import csv
from dataclasses import replace

import pytest
import torch

from algorithms.federation import FederationError
from runs.catalogue import ALGORITHMS, PROBLEMS, algorithm_of
from runs.folder import stored_run, train
from runs.settings import TrainSettings
from runs.storage import load

SETTINGS = TrainSettings(clients=3, rounds=6, steps=3, rank=2, tau=2, rows=5, columns=4)


def rows(folder):
    with (folder / "metrics.csv").open() as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_runs_on_every_problem_it_fits(algorithm, problem, tmp_path):
    if algorithm == "rolora-exact" and "regression" not in problem:
        with pytest.raises(FederationError, match="needs a regression"):
            train(algorithm, problem, SETTINGS, tmp_path)
        return
    last = train(algorithm, problem, SETTINGS, tmp_path)
    assert [float(row["round"]) for row in rows(tmp_path)] == list(range(7))
    assert float(rows(tmp_path)[-1]["loss"]) == last["loss"] < float(rows(tmp_path)[0]["loss"])
    assert last["bytes_up"] > 0
    assert sum(int(row["bytes"]) for row in csv.DictReader((tmp_path / "ledger.csv").open())) == (
        last["bytes_up"] + last["bytes_down"]
    )


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "rolora-exact"])
def test_an_interrupted_run_resumes_to_the_same_result(algorithm, tmp_path, monkeypatch):
    monkeypatch.setattr("runs.folder.SAVE_EVERY_SECONDS", 0.0)
    settings = TrainSettings(clients=3, cohort=2, rounds=7, steps=3, tau=2, rows=5, columns=4)

    def stop(metrics):
        if metrics["round"] == 4:
            raise KeyboardInterrupt

    train(algorithm, "quadratics", settings, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(algorithm, "quadratics", settings, tmp_path / "parts", stop)
    assert stored_run(tmp_path / "parts") == (algorithm, "quadratics", settings)
    train(algorithm, "quadratics", settings, tmp_path / "parts")
    assert rows(tmp_path / "parts") == rows(tmp_path / "whole")
    assert (tmp_path / "parts" / "ledger.csv").read_text() == (tmp_path / "whole" / "ledger.csv").read_text()
    models = [
        algorithm_of(algorithm, settings).weights(load(tmp_path / part, {}).state.algorithm)["W"]
        for part in ("whole", "parts")
    ]
    assert torch.equal(*models)


def test_metrics_can_be_followed_while_a_run_goes_on(tmp_path):
    def follow(metrics):
        assert [float(row["round"]) for row in rows(tmp_path)] == list(range(int(metrics["round"]) + 1))
        assert float(rows(tmp_path)[-1]["loss"]) == metrics["loss"]

    train("fedavg", "quadratics", SETTINGS, tmp_path, follow)


def test_a_finished_run_can_be_lengthened_and_is_not_run_twice(tmp_path):
    train("fedlrt", "quadratics", SETTINGS, tmp_path)
    calls = []
    train("fedlrt", "quadratics", SETTINGS, tmp_path, calls.append)
    assert calls == []
    longer = replace(SETTINGS, rounds=9)
    train("fedlrt", "quadratics", longer, tmp_path, calls.append)
    assert [call["round"] for call in calls] == [7, 8, 9]
    assert len(rows(tmp_path)) == 10
