"""How long a run may take: steps and evaluations are counted by hand, and a run says so before its first round."""

import dataclasses

import pytest
import torch

from algorithms.descent import Descent
from runs.estimate import Estimate, estimate, steps_of
from runs.plan import Parts, make_plan
from runs.settings import Conduct
from workloads.partition import Parts as Divided

SETTINGS = {"samples": 90, "test_samples": 20, "side": 8, "width": 8, "model": "perceptron", "clients": 4, "batch": 8}


@pytest.mark.parametrize(
    ("local", "samples", "steps"),
    [
        (Descent(learning_rate=0.1, steps=7, batch=8), 100, 7),
        (Descent(learning_rate=0.1, epochs=3, batch=8), 17, 9),
        (Descent(learning_rate=0.1, epochs=3, batch=8), 16, 6),
        (Descent(learning_rate=0.1, epochs=5, batch=None), 16, 5),
    ],
)
def test_steps_of_a_client_in_a_round(local, samples, steps):
    assert steps_of(local, samples) == steps


def test_the_time_of_all_rounds():
    found = Estimate(steps=1200, step=0.25, evaluations=10, evaluation=3.0, workers=2)
    assert found.seconds == 1200 * 0.25 / 2 + 30
    assert str(found).startswith(
        "about 3:00 min: 1,200 local steps of 250 ms, and 10 evaluations of 3 s; fewer --rounds"
    )
    assert "12 local steps of 1.43 s, and 2 evaluations of 999 ms;" in str(Estimate(12, 1.434, 2, 0.999))
    assert "12 local steps of 1 s, and 2 evaluations of 23:54 min;" in str(Estimate(12, 0.9996, 2, 1434.0))


def test_a_resumed_run_has_not_timed_an_evaluation():
    found = Estimate(steps=60, step=1.0, evaluations=10, evaluation=None)
    assert found.seconds == 60
    assert str(found).startswith("about 1:00 min: 60 local steps of 1 s, and 10 evaluations that are not counted;")


@pytest.fixture
def parts(monkeypatch):
    """Four clients of 30, 9, 8 and 3 samples."""
    from algorithms.fedavg import FedAvg
    from algorithms.federation import Sequential
    from runs.network_problem import network_problem

    x, y = torch.rand(50, 1, 8, 8), torch.arange(50) % 3
    sizes = torch.arange(50).split([30, 9, 8, 3])
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))
    problem = network_problem(network, (x, y), Divided.join([part.numpy() for part in sizes]), (x[:9], y[:9]))
    return Parts(FedAvg(Descent(learning_rate=0.1, epochs=2, batch=8)), problem, Sequential())


@pytest.mark.parametrize(
    ("cohort", "rounds", "done", "every", "workers", "expected"),
    [
        (None, 5, 0, 1, 1, (5 * 2 * (4 + 2 + 1 + 1), 5, 1)),
        (2, 5, 0, 2, 3, (5 * 2 * 4, 3, 2)),
        (3, 7, 4, 3, 2, (3 * 3 * 4, 2, 2)),
        (None, 10, 3, 4, 1, (7 * 2 * (4 + 2 + 1 + 1), 3, 1)),
        (None, 10, 10, 4, 1, (0, 0, 1)),
    ],
)
def test_what_is_left_of_a_run(parts, cohort, rounds, done, every, workers, expected):
    conduct = Conduct(rounds=rounds, evaluate_every=every, workers=workers)
    plan = make_plan("fedavg", "mnist", SETTINGS if cohort is None else {**SETTINGS, "cohort": cohort}, conduct)
    found = estimate(plan, parts, done, 0.5)
    assert (found.steps, found.evaluations, found.workers) == expected
    assert found.step > 0
    assert found.evaluation == 0.5


def test_central_training_has_one_client(parts):
    from algorithms.central_training import CentralTraining

    plan = make_plan("central", "mnist", SETTINGS, Conduct(rounds=4))
    central = dataclasses.replace(parts, algorithm=CentralTraining(Descent(learning_rate=0.1, steps=6, batch=8)))
    assert estimate(plan, central, 0, 0.5).steps == 24


def test_every_local_training_of_a_round_counts(parts):
    """RoLoRA trains twice with the same steps, personal methods with steps of two kinds; sizes as above."""
    from algorithms.adapter import Adapter
    from algorithms.pfedlora import PersonalFedLoRA
    from algorithms.pfedloru import PersonalFedLoRU
    from algorithms.rolora import RoLoRA

    local, personal = (Descent(learning_rate=0.1, steps=n, batch=8) for n in (6, 5))
    adapter = Adapter(1)
    plan = make_plan("rolora", "mnist", {**SETTINGS, "rank": 1}, Conduct(rounds=4))
    found = [
        estimate(plan, dataclasses.replace(parts, algorithm=one), 1, 0.5).steps
        for one in (
            RoLoRA(local, adapter),
            RoLoRA(local, adapter, frozen_a=True),
            PersonalFedLoRA(local, personal, adapter),
            PersonalFedLoRU(local, adapter, 2, personal=personal),
        )
    ]
    assert found == [3 * 4 * n for n in (12, 6, 11, 11)]


def test_nothing_is_said_of_toy_problems_and_of_steps_that_fail(parts, monkeypatch):
    plan = make_plan("fedavg", "mnist", SETTINGS, Conduct(rounds=4))
    assert estimate(plan, dataclasses.replace(parts, problem=object()), 0, 0.5) is None
    monkeypatch.setattr("runs.estimate.gradient", lambda *_, **__: torch.ones(2) @ torch.ones(3))
    assert estimate(plan, parts, 0, 0.5) is None


def test_a_long_run_says_so_before_its_first_round(tmp_path, monkeypatch):
    from runs.folder import train
    from runs.plan import parts_of

    monkeypatch.setattr("runs.folder.WORTH_SAYING", 0.0)
    plan = make_plan("fedavg", "quadratics", {"clients": 2}, Conduct(rounds=2))
    said, seen = [], []
    train(plan, tmp_path / "toy", seen.append, foretell=said.append)
    assert not said
    monkeypatch.setattr("runs.folder.estimate", lambda *_: Estimate(10, 1.0, 1, 1.0))
    train(plan, tmp_path / "long", lambda metrics: seen.append(len(said)), parts=parts_of(plan), foretell=said.append)
    assert len(said) == 1
    assert seen[-1] == 1
