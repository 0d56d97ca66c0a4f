"""Hypotheses of the stored witnesses: each is met, and a witness that is moved past any of them violates nothing."""

import copy
import inspect
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from paper_checks.evaluation import Hypothesis, Replay, Replayed, Violation, evaluated, replay
from paper_checks.ledger import PAPERS
from paper_checks.replay import replays_of, stored

WITNESSES: dict[str, tuple[Replay, dict[str, Any]]] = {}
for paper in PAPERS:
    for (id, kind), found in replays_of(paper.package).items():
        files = [file for file in stored(paper.folder, id) if file.kind == kind == "witness"]
        if files:
            WITNESSES[id] = found, dict(files[0].values)

LONG = {
    "fedlrt/claim-hom-clients", "fedlrt/claim-het-plateau", "fedlrt/fig-1", "fedlrt/claim-het-converge",
}  # fmt: skip
"""Follows long runs; the hypotheses of their setting stand in one place of the replay and are plain equalities."""
STATED = [id for id, (found, _) in WITNESSES.items() if "assumes=" in inspect.getsource(found.evaluate)]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all numbers."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    elif _number(value) is not None:
        yield path


def _number(leaf: Any) -> Fraction | None:
    try:
        return None if isinstance(leaf, bool) else Fraction(str(leaf))
    except ValueError:
        return None


def moved(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The witness with one number changed a little, much, in its sign, to 0."""
    for path in leaves(values):
        place: Any = values
        for key in path:
            place = place[key]
        number = _number(place)
        assert number is not None
        factors = (
            "0",
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
        others = [number * Fraction(factor) for factor in factors] + [number + 1, number - 1]
        for other in others:
            if other == number or (isinstance(place, int) and (other.denominator != 1 or other > 10_000)):
                continue
            changed = copy.deepcopy(values)
            last: Any = changed
            for key in path[:-1]:
                last = last[key]
            kind = type(place)
            last[path[-1]] = str(other) if kind is str else kind(other)
            yield changed
    for name, value in values.items():
        if isinstance(value, list) and len(value) > 1:
            yield {**values, name: value[:-1]}


@cache
def beyond(id: str) -> tuple[Replayed, ...]:
    """What the moved witnesses come to."""
    found, values = WITNESSES[id]
    return tuple(evaluated(found, one) for one in moved(values))


@pytest.mark.parametrize("id", STATED)
def test_a_witness_meets_every_hypothesis_and_each_can_fail(id):
    found, values = WITNESSES[id]
    if id in LONG:
        return
    answer = evaluated(found, values)
    assert answer.confirmed
    assert answer.assumes
    assert all(met for _, met in answer.assumes)
    for place, (told, _) in enumerate(answer.assumes):
        failed = [one for one in beyond(id) if len(one.assumes) == len(answer.assumes) and not one.assumes[place][1]]
        assert failed, f"no move of the witness fails {told}"
        assert not any(one.confirmed for one in failed), told


def test_statements_of_few_hypotheses_only_are_left_to_words():
    assert len(STATED) >= 30


def test_a_hypothesis_that_is_not_met_is_told_first():
    @replay("demo/eq-1")
    def demo(values):
        return Violation(2, 1, assumes=[Hypothesis("rate", Fraction(values["rate"]), "<=", Fraction(1, 12))],
                         given={"U": [1, Fraction(1, 2)]})  # fmt: skip

    met, unmet = (evaluated(demo, {"rate": rate}) for rate in ("1/12", "1/11"))
    assert (met.confirmed, met.assumes, met.given) == (True, [("rate = 1/12 <= 1/12", True)], {"U": "[1, 1/2]"})
    assert not unmet.confirmed
    assert unmet.detail == "an assumption is not met: rate = 1/11 <= 1/12"
