"""What is saved comes back, to the bit and to the type; what cannot be saved is named."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from algorithms.federation import FederationState
from algorithms.ledger import Entry, Ledger
from algorithms.lora import AB
from algorithms.tree import Tree
from runs.run import RunState
from runs.settings import RunError
from runs.storage import STATE, Saved, load, save

RUN = {"algorithm": "fedavg", "seed": 3}
ROWS = [{"round": 0, "loss": 1.5}, {"round": 1, "loss": 0.1 + 0.2}]
KEPT = {
    "double": Tree(W=torch.tensor([[0.1, -2.0]], dtype=torch.float64)),
    "several": (torch.arange(3), torch.tensor(1.5, dtype=torch.float32), torch.empty(0, 2, dtype=torch.float64)),
    "short": torch.tensor([1.0, 3.0], dtype=torch.float16),
    "shorter": torch.tensor([1.0, 3.0], dtype=torch.bfloat16),
    "turned": torch.arange(6.0, dtype=torch.float64).reshape(2, 3).T,
    "plain": (1, 0.1, "two", True, None),
    "named": AB(Tree(W=torch.ones(2, 1)), Tree(W=torch.zeros(1, 2))),
    "within": {"a": {"b": (torch.tensor(7),)}},
}


def saved(algorithm):
    ledger = Ledger([Entry(1, 1, "down", "w", 2, 4, 32)])
    federation = FederationState(1, {2: {"w": torch.ones(2)}}, {"basis": torch.eye(2)})
    return Saved(RunState(1, algorithm, federation), ledger, ROWS)


def same(one, other):
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)
    elif isinstance(one, Mapping):
        assert list(one) == list(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            same(left, right)
    else:
        assert one == other


@pytest.mark.parametrize("kind", KEPT)
def test_what_is_saved_comes_back(kind, tmp_path):
    given = saved(KEPT[kind])
    save(tmp_path, RUN, given)
    found = load(tmp_path, RUN)
    same(found.state.algorithm, given.state.algorithm)
    same(found.state.federation.personal, given.state.federation.personal)
    same(found.state.federation.shared, given.state.federation.shared)
    assert found.state.round == found.state.federation.round == 1
    assert found.ledger.entries == given.ledger.entries
    assert found.rows == ROWS
    assert [path.name for path in Path(tmp_path).iterdir()] == [STATE]


def test_tensors_that_are_read_can_be_changed_and_share_nothing(tmp_path):
    save(tmp_path, RUN, saved({"one": torch.zeros(2), "other": torch.zeros(2)}))
    found = load(tmp_path, RUN).state.algorithm
    found["one"] += 1.0
    assert found["other"].tolist() == [0.0, 0.0]


def test_what_cannot_be_stored_is_named_and_leaves_the_file(tmp_path):
    save(tmp_path, RUN, saved((1,)))
    before = (tmp_path / STATE).read_bytes()
    for unknown in ({1, 2}, object(), {"deep": (lambda: 0,)}):
        with pytest.raises(TypeError, match=r"a state holds a (set|object|function), which cannot be stored"):
            save(tmp_path, RUN, saved(unknown))
    assert (tmp_path / STATE).read_bytes() == before


def test_a_state_of_another_run_or_with_other_rows_is_refused(tmp_path):
    save(tmp_path, RUN, saved((1,)))
    with pytest.raises(RunError, match="is of a run with other seed"):
        load(tmp_path, {**RUN, "seed": 4})
    assert load(tmp_path, {"seed": 3}).rows == ROWS
    save(tmp_path, RUN, replace(saved((1,)), rows=ROWS[:1]))
    with pytest.raises(RunError, match="is not what a run saves"):
        load(tmp_path, RUN)
