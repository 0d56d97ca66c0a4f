"""Stored witnesses: each meets its hypotheses, none survives past any of them, and no value on file is idle."""

import json
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from moved_witnesses import LONG, RECORD, WITNESSES, beyond, leaves, others, summary

from paper_checks.evaluation import Hypothesis, Replayed, Violation, evaluate_replay, replay

OF_ALL_NUMBERS = {
    "fedloru-v1/eq-14",
    "fedloru-v2/eq-83",
    "fedloru-v1/Fj2",
    "fedloru-v1/eq-18-19",
    "fedlrt/eq-1",
    "fedlrt/eq-10",
    "fedloru-v2/eq-44",
    "rolora/table-6",
}
"""Identities that are stated of any numbers, and two printings of one number: nothing is assumed."""


def about(told: str) -> str:
    """Return the words of a hypothesis without its two numbers."""
    return re.sub(r"[-0-9./e+]+", "", told.split(", and not ")[0].replace("= nan", "="))


ON_RECORD = json.loads(RECORD.read_text(encoding="utf-8"))
MOVED_LONG = "rolora/table-10@each-trial-cut-off-47-2-as-47-20"
"""Its moves take as long as those of all others together."""
MOVED = [pytest.param(id, marks=pytest.mark.slow) if id == MOVED_LONG else id for id in sorted(WITNESSES.keys() - LONG)]


@pytest.fixture(scope="module", params=MOVED)
def id(request: pytest.FixtureRequest) -> str:
    """Return one witness after the other, both tests of each together: they share its moves."""
    return str(request.param)


def test_a_witness_meets_every_hypothesis_and_each_can_fail(id):
    found, values = WITNESSES[id]
    answer = evaluate_replay(found, values)
    assert bool(answer.assumes) == (id not in OF_ALL_NUMBERS)
    failed = set()
    for _, one in beyond(id):
        broken = {about(told) for told, met in one.assumes if not met}
        assert not (broken and one.confirmed), broken
        failed |= broken
    for told, met in answer.assumes:
        assert met, told
        assert about(told) in failed, f"no move of the witness fails {told}"


def test_no_value_of_a_witness_is_idle(id):
    found, values = WITNESSES[id]
    answer = evaluate_replay(found, values)
    whole = what_it_comes_to(answer)
    moves = Counter(path for path, _ in beyond(id))
    same = Counter(path for path, one in beyond(id) if what_it_comes_to(one) == whole)
    for path in leaves(values):
        assert same[path] < moves[path], path
    for name in values:
        assert not evaluate_replay(
            found, {other: value for other, value in values.items() if other != name}
        ).confirmed, name
    assert evaluate_replay(found, {**values, "more": 1}).confirmed is False


def test_a_moved_witness_comes_to_the_numbers_on_record(id):
    """After a change that is meant, `python tests/paper_checks/moved_witnesses.py` shows and records it."""
    *counts, sides = summary([answer for _, answer in beyond(id)])
    *counted, on_record = ON_RECORD[id]
    assert counts == counted
    assert sides == pytest.approx(on_record, rel=1e-7)


def test_every_witness_is_on_record():
    assert ON_RECORD.keys() == WITNESSES.keys() - LONG


def what_it_comes_to(answer: Replayed) -> Any:
    """Return all but the words around it."""
    return answer.confirmed, answer.left, answer.right, answer.assumes, answer.given


@pytest.mark.parametrize("long", sorted(LONG))
def test_a_long_run_in_another_setting_is_refused_before_it_is_followed(long):
    found, values = WITNESSES[long]
    for name in values.keys() - {"much"}:
        changed = {"rounds": (0, 10_000), "clients": (0, 1, 3)}.get(name, others(values[name]))
        for other in changed:
            assert evaluate_replay(found, {**values, name: other}).detail.startswith("an assumption is not met: ")


def test_a_hypothesis_that_is_not_met_is_told_first():
    @replay("demo/eq-1")
    def demo(values):
        return Violation(
            2,
            1,
            assumes=[Hypothesis("rate", Fraction(values["rate"]), "<=", Fraction(1, 12))],
            given={"U": [1, Fraction(1, 2)]},
        )

    met, unmet = (evaluate_replay(demo, {"rate": rate}) for rate in ("1/12", "1/11"))
    assert (met.confirmed, met.assumes, met.given) == (True, [("rate = 1/12 <= 1/12", True)], {"U": "[1, 1/2]"})
    assert not unmet.confirmed
    assert unmet.detail == "an assumption is not met: rate = 1/11 <= 1/12"
