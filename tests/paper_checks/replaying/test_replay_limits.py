"""A slow replay: what runs is named, and its time is limited."""

import sys
from itertools import count

import numpy as np
import pytest
import sympy

from paper_checks.replay import (
    ReplayError,
    Stored,
    describe_values,
    replay_each,
    replay_in_fresh_process,
    values_to_store,
)

NUMBERS = count()
REPLAYS = """
import threading
from fractions import Fraction
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require


def power(values):
    q = int(values["q"])
    while q > 6:
        pass
    return Violation(Fraction(2) ** q, 1, reads="2^q")


@replay("own/quick")
def quick(values):
    return power({"q": min(int(values["q"]), 6)})


@replay("own/slow")
def slow(values):
    return power(values)


@replay("own/waiting")
def waiting(values):
    threading.Event().wait()
    return power(values)


@replay("own/constant")
def constant(values):
    return Violation(2, 1 if int(values["q"]) and values["way"] else 1)


@replay("own/bounded")
def bounded(values):
    assumed = assuming(Hypothesis("q", int(values["q"]), "=", 3))
    return Violation(int(values["q"]), 2, assumes=assumed)


@proof("own/proof")
def proved(K: int = 2) -> str:
    \"\"\"It is even.\"\"\"
    while K > 6:
        pass
    require(K % 2 == 0, "even")
    return "even"
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Yield the name of a package with the replays above."""
    name = f"slow_{next(NUMBERS)}"
    (tmp_path / name / "replays").mkdir(parents=True)
    (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / name / "replays" / "__init__.py").write_text(REPLAYS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("paper_checks.replay._WAITING", 1000.0)  # the clock runs while other programs compute
    yield name
    for module in [module for module in sys.modules if module.startswith(name)]:
        del sys.modules[module]


def witness(label, **values):
    return Stored(f"own/{label}", "witness", values)


def test_what_is_replayed_is_named_with_its_values(package):
    phases = []
    (answer,) = replay_in_fresh_process(package, [witness("quick", q=3)], phase=phases.append)
    assert answer.confirmed
    assert answer.can_fail
    assert phases == ["replaying own/quick with q = 3", "replaying own/quick with q = 4"]


def test_a_replay_that_takes_too_long_says_where_and_others_go_on(package):
    files = [witness("slow", q=7), witness("quick", q=2), witness("slow", q=6), witness("slow", q=8)]
    first, quick, changed, again = replay_each(package, files, timeout=0.3)
    assert quick.confirmed
    assert (first.confirmed, again.confirmed) == (False, False)
    assert first.detail.startswith("the replay of own/slow with q = 7 took more than 0.3 s; let it take less")
    assert "--replay-seconds" in first.detail
    assert "own/slow with q = 8 took more" in again.detail
    # A changed value at which it takes too long shows nothing, and the next one is tried.
    assert changed.confirmed
    assert changed.can_fail


def test_a_replay_that_waits_is_ended_too(package, monkeypatch):
    monkeypatch.setattr("paper_checks.replay._WAITING", 1.0)
    (answer,) = replay_each(package, [witness("waiting", q=7)], timeout=1.0)
    assert answer.detail.startswith("the replay of own/waiting with q = 7 took more than 1 s; let it take less")


def test_a_slow_proof_names_its_mutant(package):
    proof = Stored("own/proof", "certificate", {}, mutants=[{"K": 7}])
    (answer,) = replay_in_fresh_process(package, [proof], timeout=0.3)
    ((mutant, error),) = answer.ended_at
    assert mutant == {"K": 7}
    assert error.startswith("the replay of own/proof with K = 7 took more than 0.3 s; let it take less")


def test_mutants_that_were_tried_are_counted_and_no_others(package):
    """At most twelve are tried, and of these only those that name what the proof has, in its kind."""
    foreign, listed = {"other": 3}, {"K": [3, 5]}
    for mutants, tried in (
        ((), None),
        ([foreign], 0),
        ([foreign, {"K": 3}, listed, {"K": 4}], 2),
        ([{"K": 2 * k + 1} for k in range(3)] + 12 * [{"K": 4}], 12),
    ):
        file = Stored("own/proof", "certificate", {}, mutants=mutants)
        (answer,) = replay_in_fresh_process(package, [file])
        assert answer.tried == tried
        assert answer.proves_too == [mutant for mutant in mutants[:12] if mutant == {"K": 4}]


def test_finding_the_values_to_store_is_limited_too(package):
    phases = []
    found = {"own/quick": {"q": 3, "other": 1.23456}, "own/unread": {"q": 3}}
    assert values_to_store(package, found, phase=phases.append) == {"own/quick": {"q": 3}, "own/unread": {"q": 3}}
    assert phases == ["replaying own/quick with q = 3, other = 1.23456"]
    with pytest.raises(ReplayError, match=r"own/slow with q = 7 took more than 0.3 s; let it take less"):
        values_to_store(package, {"own/slow": {"q": 7}}, 0.3)


def test_values_to_store_are_those_of_a_file(package):
    found = {"q": np.int64(3), "x": [sympy.Rational(1, 3), np.float64(0.1)], "y": np.array([1.5]), "z": (1, "a")}
    assert values_to_store(package, {"own/unread": found}) == {
        "own/unread": {"q": 3, "x": ["1/3", 0.1], "y": [1.5], "z": [1, "a"]}
    }
    with pytest.raises(
        ReplayError, match=r"the check of own/unread found cannot be stored: object <object .*let it have"
    ):
        values_to_store(package, {"own/unread": {"q": object()}})


def test_a_replay_that_cannot_fail_lists_what_was_tried(package):
    (answer,) = replay_in_fresh_process(package, [witness("constant", q=3, way="up")])
    assert answer.confirmed
    assert not answer.can_fail
    assert answer.alike_at == ["q = 4", "way = other up", "q = 8", "q = 1"]


def test_an_assumption_that_every_change_breaks_does_not_show_that_a_replay_can_fail(package):
    (answer,) = replay_in_fresh_process(package, [witness("bounded", q=3)])
    assert answer.confirmed
    assert not answer.can_fail
    assert answer.alike_at == [f"q = {q} (an assumption is not met: q = {q}, and not 3)" for q in (4, 8, 1)]


def test_a_long_number_is_named_by_both_of_its_ends():
    told = describe_values({"q": "12" + 60 * "0" + "34"})
    assert told.startswith("q = 12000")
    assert told.endswith("00034")
    assert len(told) < 50
