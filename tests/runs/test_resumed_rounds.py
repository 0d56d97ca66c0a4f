"""Runs that are killed within a round resume in the middle of it, and end with the same bytes."""

import os
from dataclasses import fields, replace

import pytest
import torch

import runs.folder
from algorithms.descent import Descent
from algorithms.schedules import Constant
from runs.catalogue import ALGORITHMS, options_of
from runs.folder import CHECKPOINTS, LEDGER, METRICS, train
from runs.plan import make_plan, parts_of
from runs.settings import Conduct

ROUNDS = 3
SMALL = {"clients": 3, "rows": 6, "columns": 4, "steps": 5, "batch": 4, "rank": 2}
OTHERS = {
    "fedavg": {"optimiser": "sgd", "optimiser_momentum": 0.9, "optimiser_state": "personal", "cohort": 2},
    "fedlora": {"optimiser": "adamw", "alignment": True},
    "fedloru": {"optimiser": "adam", "optimiser_state": "personal", "tau": 2, "restart": "momentum"},
    "fedlrt": {"batch": None},
    "fedlrt-full": {"batch": None},
    "hetlora": {"client_ranks": (1, 2, 2)},
    "pfedloru": {"optimiser": "adam", "tau": 2, "personal_steps": 3},
    "central": {"batch": None},
}
SAVED = Conduct(rounds=ROUNDS, save_every=0.0, save_in_round=0.0)


class Deadly(Constant):
    """A rate whose process ends when it is asked for a number of times."""

    left = 0

    def __call__(self, index):
        Deadly.left -= 1
        if not Deadly.left:
            os._exit(7)
        return self.rate


def deadly(parts):
    """The parts with rates that count their calls, as of `Deadly`."""
    changed = {
        entry.name: replace(local, learning_rate=Deadly(local.learning_rate))
        for entry in fields(parts.algorithm)
        if isinstance(local := getattr(parts.algorithm, entry.name), Descent)
    }
    return replace(parts, algorithm=replace(parts.algorithm, **changed))


def killed(plan, folder, after):
    """Train in another process until a number of local steps; return whether the run came to its end."""
    child = os.fork()
    if not child:
        code = 1
        try:
            Deadly.left = after
            train(plan, folder, parts=deadly(parts_of(plan)))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 7)
    return code == 0


def content(folder):
    last = sorted((folder / CHECKPOINTS).glob(f"*{ROUNDS:06d}.safetensors"))
    assert not list((folder / CHECKPOINTS).glob("within-*"))
    return {path.name: path.read_bytes() for path in (folder / METRICS, folder / LEDGER, *last)}


def plan_of(algorithm, problem="ridges", **given):
    given = {**SMALL, **OTHERS.get(algorithm, {}), **given}
    known = options_of(algorithm, problem, given, every=True)
    return make_plan(algorithm, problem, {name: value for name, value in given.items() if name in known}, SAVED)


@pytest.mark.sample(4)
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS, key=lambda name: (name not in OTHERS, name)))
def test_a_run_that_is_killed_again_and_again_within_a_round_ends_with_the_same_bytes(
    algorithm, tmp_path, monkeypatch
):
    monkeypatch.setattr(runs.folder, "SHARE_OF_TIME", float("inf"))
    torch.set_num_threads(1)
    plan = plan_of(algorithm)
    train(plan, tmp_path / "whole", parts=deadly(parts_of(plan)))
    attempts = 1
    steps = 7 if algorithm == "fedlrt-naive" else 4  # a round takes 15, of 5 for each client
    while not killed(plan, tmp_path / "killed", steps):
        attempts += 1
        assert attempts < 60
    assert attempts > 3
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
