"""Stored witnesses: each meets its hypotheses, none survives past any of them, and no value on file is idle."""

import copy
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from paper_checks.evaluation import Hypothesis, Replay, Replayed, Violation, evaluate_replay, replay
from paper_checks.ledger import PAPERS
from paper_checks.replay import replays_of

WITNESSES: dict[str, tuple[Replay, dict[str, Any]]] = {}
for paper in PAPERS:
    for (id, kind), found in replays_of(paper.package).items():
        files = [file for file in paper.to_replay(id) if file.kind == kind == "witness"]
        if files:
            WITNESSES[id] = found, dict(files[0].values)

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
LONG = {
    "fedlrt/claim-hom-clients",
    "fedlrt/claim-het-plateau",
    "fedlrt/fig-1",
    "fedlrt/claim-het-converge",
    "fedlrt/claim-thm3-figure",
    "fedlrt/claim-hom-stepsize",
    "fedlrt/claim-hom-rank@value-1-at-1-with-a-start-of-size-0-01",
    "fedlrt/fig-4@value-1-at-1-with-a-start-of-size-0-01",
}
"""Follows long runs; a witness is moved only in its hypotheses, which are decided before the runs."""
FACTORS = (
    "0",
    "1/10000000000000",
    "-1",
    "-1/2",
    "-2",
    "1/100",
    "1/2",
    "9/10",
    "99/100",
    "101/100",
    "11/10",
    "2",
    "4",
    "40",
    "1000",
)


def at(values: Any, path: tuple[Any, ...]) -> Any:
    """Return the value at a path."""
    for key in path:
        values = values[key]
    return values


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values that are not containers."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    else:
        yield path


def number(leaf: Any) -> Fraction | None:
    """Return a number on file, or None."""
    try:
        return None if isinstance(leaf, bool) else Fraction(str(leaf))
    except ValueError:
        return None


def others(leaf: Any) -> Iterator[Any]:
    """A number changed a little, much, in its sign, to 0; of a list in a text, each number; a name, lengthened."""
    value = number(leaf)
    if value is None and " " in str(leaf):
        words = leaf.split()
        for place, word in enumerate(words):
            yield from (" ".join([*words[:place], str(other), *words[place + 1 :]]) for other in others(word))
        yield from (" ".join(words[:-1]), f"{leaf} 1")
    elif value is None:
        yield f"{leaf}, or not"
    else:
        changed = [*(value * Fraction(factor) for factor in FACTORS), value + 1, value - 1, value + 2]
        for other in dict.fromkeys(changed):
            if other != value and not (isinstance(leaf, int) and (other.denominator != 1 or other > 10_000)):
                yield str(other) if isinstance(leaf, str) else type(leaf)(other)


def moved(values: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the witness with one leaf changed, or a list shortened, and where."""
    for path in leaves(values):
        for other in others(at(values, path)):
            changed = copy.deepcopy(values)
            at(changed, path[:-1])[path[-1]] = other
            yield path, changed
    for name, value in values.items():
        if isinstance(value, list) and len(value) > 1:
            yield (name,), {**values, name: value[:-1]}
        yield (), {other: value for other, value in values.items() if other != name}


def about(told: str) -> str:
    """Return the words of a hypothesis without its two numbers."""
    return re.sub(r"[-0-9./e+]+", "", told.split(", and not ")[0].replace("= nan", "="))


@cache
def beyond(id: str) -> tuple[tuple[tuple[Any, ...], Replayed], ...]:
    """Return results of the moved witnesses."""
    found, values = WITNESSES[id]
    return tuple((path, evaluate_replay(found, one)) for path, one in moved(values))


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
    same = [path for path, one in beyond(id) if what_it_comes_to(one) == what_it_comes_to(answer)]
    for path in leaves(values):
        assert same.count(path) < sum(other == path for other, _ in beyond(id)), path
    for name in values:
        assert not evaluate_replay(
            found, {other: value for other, value in values.items() if other != name}
        ).confirmed, name
    assert evaluate_replay(found, {**values, "more": 1}).confirmed is False


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
