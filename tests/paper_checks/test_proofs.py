"""Every proof: it proves the statement that the judge checks, and with anything changed it does not.

The constants and sizes of the statement are the proof's keyword defaults, and it is called with others. What a file
holds (multipliers, terms, examples) may have slack: a changed one may still verify, and then proves the same.
"""

import copy
import inspect
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from paper_checks.evaluation import Replay, Replayed, evaluate_replay
from paper_checks.ledger import PAPERS, Ledger
from paper_checks.replay import Stored, replays_of

LEDGER = Ledger.of()
PROOFS: dict[str, tuple[Replay, dict[str, Any]]] = {}
FILES: dict[str, tuple[str, Stored]] = {}
"""Package and stored file of each proof."""
for paper in PAPERS:
    for (id, kind), found in replays_of(paper.package).items():
        if kind == "certificate" and not found.states:
            of_claim = paper.to_replay(id.partition("@")[0])
            (file,) = (one for one in of_claim if (one.id, one.kind) == (id, kind))
            PROOFS[id], FILES[id] = (found, dict(file.values)), (paper.package, file)

OTHER_QUANTITIES = {
    ("rolora/eq-26", "c3"): "the proof's constant is rounded down",
    ("rolora/lem-A.10", "samples"): "the judge names which numbers of samples are meant, the proof the least one",
}
"""Constants of a proof that have the name of a constant of the judge and another value, with the reason."""
MOST_CHANGES = 16
"""Changes of a file's own leaves that are tried, evenly spread."""


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield paths of all numbers and strings."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    else:
        yield path


def containers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield paths of everything that can be dropped from a list or a mapping."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*path, key)
            yield from containers(value[key], (*path, key))


def first_of_each(paths: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The first of the parts of one name that stand in many entries of a list, as a setting in many certificates."""
    seen = set()
    for path in paths:
        kind = tuple("" if isinstance(key, int) else key for key in path[:-1]), path[-1]
        if isinstance(path[-1], int) or kind not in seen:
            seen.add(kind)
            yield path


def numbers(text: Any) -> Fraction | None:
    """Return a number on file, or None."""
    try:
        return None if isinstance(text, bool) else Fraction(str(text))
    except ValueError:
        return None


def others(leaf: Any) -> list[Any]:
    """Small and large changes of a leaf, up and down, its sign, and zero."""
    number = numbers(leaf)
    if number is None:
        return ["", f"{leaf} + 1", leaf.replace("2", "3")]
    if isinstance(leaf, int):
        return [number_ for number_ in dict.fromkeys((leaf + 1, leaf - 1, 2 * leaf, -leaf)) if number_ != leaf]
    step = max(abs(number), Fraction(1, 100))
    changed = (number + step / 1000, number - step / 1000, number + step, number - step / 2, -number)
    return [str(one) for one in dict.fromkeys(changed) if one != number]


def with_leaf(values: dict[str, Any], path: tuple[Any, ...], leaf: Any) -> dict[str, Any]:
    """Return the values with one leaf changed."""
    changed = copy.deepcopy(values)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = leaf
    return changed


def without(values: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    """Return the values with something dropped."""
    changed = copy.deepcopy(values)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return changed


def kind_of(id: str, name: str) -> type:
    """Return the type of a constant of a proof, which its default has."""
    return type(inspect.signature(PROOFS[id][0].evaluate).parameters[name].default)


def of_kind(kind: type, value: Any) -> Any:
    """Return the value in another type, or as it is where that type lacks it: 2.5 as an int, or -1 as a tuple."""
    if kind is Fraction:
        return Fraction(str(value))
    if (kind is int and value != int(value)) or (kind is tuple and not isinstance(value, list | tuple)):
        return value
    return kind(value)


def with_constants(id: str, **constants: Any) -> Replayed:
    """Return result of the proof of a statement with other constants, each of the type that the proof's own has."""
    return evaluate_replay(*PROOFS[id], {name: of_kind(kind_of(id, name), value) for name, value in constants.items()})


@pytest.fixture(scope="module", params=PROOFS)
def id(request: pytest.FixtureRequest) -> str:
    """Return one proof after the other, all tests of each together: they share what is cached."""
    return str(request.param)


@cache
def as_declared(id: str) -> Replayed:
    """Return result of the proof with its own constants and file."""
    return evaluate_replay(*PROOFS[id])


def test_a_proof_proves_its_statement(id, stored_answers):
    replay, (package, file) = PROOFS[id][0], FILES[id]
    (answer,) = stored_answers(package, [file])
    assert answer.confirmed, answer.detail
    assert answer.proves == replay.constants


def test_no_change_of_its_file_is_taken_for_it(id):
    replay, values = PROOFS[id]
    own = list(leaves(values))
    for path in own[:: 1 + len(own) * 5 // MOST_CHANGES]:
        leaf = values
        for key in path:
            leaf = leaf[key]
        answers = [evaluate_replay(replay, with_leaf(values, path, other)) for other in others(leaf)]
        assert all(not one.confirmed or one == as_declared(id) for one in answers), path
        assert not all(one.confirmed for one in answers), f"{path} does not matter"
    for path in first_of_each(containers(values)):
        if len(path) < 4:
            assert not evaluate_replay(replay, without(values, path)).confirmed, path
    assert not evaluate_replay(replay, {**values, "more": "1"}).confirmed


def test_the_mathematics_of_a_proof_needs_every_constant_of_its_statement(id):
    replay, _ = PROOFS[id]
    for name, value in replay.constants.items():
        if isinstance(value, list):
            assert not with_constants(id, **{name: []}).confirmed, name
        elif isinstance(value, str):
            # Many constants have room, and all have an end.
            factors = [Fraction(factor) for factor in ("51/50", "49/50", "5/4", "4/5", "4", "1/4", "40", "1/40")]
            near = [Fraction(value) * factor or factor for factor in factors]
            assert not all(with_constants(id, **{name: one}).confirmed for one in near), name
        elif isinstance(value, int):
            assert not all(with_constants(id, **{name: value + sign}).confirmed for sign in (1, -1)), name


def standing(id: str) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """Return constants and mutants of the form that is proved: a reading, or the correction."""
    of_claim, _, slug = id.partition("@")
    claim = LEDGER.select([of_claim])[0]
    for reading in claim.readings[1:]:
        if reading.slug == slug:
            return {**claim.printed_constants(), **reading.constants}, reading.mutants or claim.mutants
    fails = any(file.kind == "witness" and file.id == id for file in LEDGER.home[of_claim].to_replay(of_claim))
    if not fails or claim.correction is None:
        return claim.printed_constants(), claim.mutants
    return {**claim.printed_constants(), **claim.correction.constants}, claim.correction.mutants


def test_a_proof_and_the_judge_have_the_same_constants_and_no_mutant_is_proved(id):
    replay, _ = PROOFS[id]
    constants, mutants = standing(id)
    for name, value in replay.constants.items():
        if name not in constants or (id, name) in OTHER_QUANTITIES or isinstance(value, list):
            continue
        stated = numbers(value)
        assert stated is not None, name
        assert float(stated) == pytest.approx(float(constants[name]), rel=1e-12), name
    for mutant in mutants:
        if set(mutant) <= set(replay.constants):
            assert not with_constants(id, **mutant).confirmed, mutant
