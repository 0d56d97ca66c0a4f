"""Runs that are killed within a round resume in the middle of it, and end with the same bytes."""

import json
import os
from dataclasses import replace

import pytest
import torch
from limited_steps import Limited, limited

import runs.folder
from algorithms.fedavg import FedAvg
from algorithms.federation import Reply
from runs.catalogue import ALGORITHMS, options_of
from runs.folder import CHECKPOINTS, LEDGER, METRICS, train
from runs.plan import make_plan, parts_of
from runs.settings import Conduct

ROUNDS = 2
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
CONDUCT = Conduct(rounds=ROUNDS, save_every=0.0)


class Unstorable(FedAvg):
    """Its clients keep an object for the round."""

    def round(self, fed, cohort, w):
        fed.gather(keep_an_object, to=cohort)
        return super().round(fed, cohort, w)


def keep_an_object(client, memory):
    return Reply(keep={"object": object()})


def interrupted(plan, folder, after):
    """Train until a number of local steps; return whether the run came to its end."""
    Limited.left, Limited.kill = after, False
    try:
        train(plan, folder, parts=limited(parts_of(plan)))
    except KeyboardInterrupt:
        return False
    return True


def killed(plan, folder, after):
    """Train in another process, which ends at a number of local steps as if it were killed."""
    child = os.fork()
    if not child:
        code = 1
        try:
            Limited.left, Limited.kill = after, True
            train(plan, folder, parts=limited(parts_of(plan)))
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


def plan_of(algorithm, conduct=CONDUCT):
    given = {**SMALL, **OTHERS.get(algorithm, {})}
    known = options_of(algorithm, "ridges", given, every=True)
    return make_plan(algorithm, "ridges", {name: value for name, value in given.items() if name in known}, conduct)


def whole_run(plan, folder):
    torch.set_num_threads(1)
    Limited.left = 0
    train(plan, folder, parts=limited(parts_of(plan)))
    return content(folder)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "algorithm", sorted({*ALGORITHMS} - {"rolora-exact"}, key=lambda name: (name not in OTHERS, name))
)
def test_a_run_that_is_interrupted_again_and_again_within_a_round_ends_with_the_same_bytes(algorithm, tmp_path):
    plan, attempts = plan_of(algorithm), 1
    expected = whole_run(plan, tmp_path / "whole")
    steps = 11 if algorithm == "fedlrt-naive" else 6  # a round takes 15, of 5 for each client
    while not interrupted(plan, tmp_path / "again", steps):
        attempts += 1
        assert attempts < 40
    assert attempts > 1
    assert content(tmp_path / "again") == expected


@pytest.mark.parametrize("algorithm", ["rolora", pytest.param("pfedloru", marks=pytest.mark.slow)])
def test_a_run_that_is_killed_within_a_round_ends_with_the_same_bytes(algorithm, tmp_path, monkeypatch):
    monkeypatch.setattr(runs.folder, "SHARE_OF_TIME", float("inf"))
    plan = plan_of(algorithm, replace(CONDUCT, save_in_round=0.0))
    expected = whole_run(plan_of(algorithm), tmp_path / "whole")
    for after in (8, 2, 13, 1):
        assert not killed(plan, tmp_path / "killed", after)
    assert list((tmp_path / "killed" / CHECKPOINTS).glob("within-*"))
    assert killed(plan, tmp_path / "killed", 0)
    assert content(tmp_path / "killed") == expected


def test_progress_that_was_damaged_is_named_and_the_run_resumes_from_the_last_round(tmp_path):
    plan = plan_of("rolora")
    expected = whole_run(plan, tmp_path / "whole")
    assert not interrupted(plan, tmp_path / "again", 20)  # in the second half of the first round
    (index,) = (tmp_path / "again" / CHECKPOINTS).glob("within-*.json")
    assert json.loads(index.read_text())["content"]["round"] == 1
    (tensors,) = (tmp_path / "again" / CHECKPOINTS).glob("within-*.safetensors")
    tensors.write_bytes(tensors.read_bytes()[:-1])
    Limited.left, lines = 0, []
    train(plan, tmp_path / "again", say=lines.append, parts=limited(parts_of(plan)))
    assert lines == [f"{tensors} is damaged; resuming from round 0"]
    tensors.unlink()  # nobody removes a file that was changed
    assert content(tmp_path / "again") == expected


def test_what_cannot_be_stored_within_a_round_is_named_and_the_run_goes_on(tmp_path):
    plan = plan_of("fedavg")
    parts = limited(parts_of(plan))
    parts = replace(parts, algorithm=Unstorable(parts.algorithm.local))
    Limited.left, Limited.kill, lines = 4, False, []
    with pytest.raises(KeyboardInterrupt):
        train(plan, tmp_path / "run", say=lines.append, parts=parts)
    assert len(lines) == 1
    assert lines[0].startswith("within rounds no checkpoint is written, because a state holds a ")
    assert not list((tmp_path / "run" / CHECKPOINTS).glob("within-*"))
