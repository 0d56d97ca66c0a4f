"""Stored witnesses with each of their numbers changed, and what the replays of these come to, on record.

``python tests/paper_checks/moved_witnesses.py`` writes the record again and prints the witnesses whose numbers changed.
"""

import copy
import json
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import fsum, isfinite
from pathlib import Path
from typing import Any
from zlib import crc32

from paper_checks.evaluation import Replay, Replayed, evaluate_replay
from paper_checks.ledger import PAPERS
from paper_checks.replay import replays_of

RECORD = Path(__file__).with_suffix(".json")
WITNESSES: dict[str, tuple[Replay, dict[str, Any]]] = {}
for paper in PAPERS:
    for (id, kind), found in replays_of(paper.package).items():
        files = [file for file in paper.to_replay(id) if file.kind == kind == "witness"]
        if files:
            WITNESSES[id] = found, dict(files[0].values)

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


@cache
def beyond(id: str) -> tuple[tuple[tuple[Any, ...], Replayed], ...]:
    """Return results of the moved witnesses."""
    found, values = WITNESSES[id]
    return tuple((path, evaluate_replay(found, one)) for path, one in moved(values))


def summary(answers: Sequence[Replayed]) -> list[float]:
    """Return numbers that nearly every change of a replay changes, each equal on every processor up to rounding.

    They are the numbers of answers, of those that confirm, and of exact ones, a checksum of all assumptions with their
    values, and a weighted sum of all sides.
    """
    told = "\n".join(f"{one} {met}" for answer in answers for one, met in answer.assumes)
    sides = [side for answer in answers for side in (answer.left, answer.right) if side is not None and isfinite(side)]
    weighted = fsum((1 + place % 7) * side / (1 + abs(side)) for place, side in enumerate(sides))
    confirmed, exact = (sum(getattr(answer, name) for answer in answers) for name in ("confirmed", "exact"))
    return [len(answers), confirmed, exact, crc32(told.encode()), weighted]


if __name__ == "__main__":
    before = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    now = {id: summary([answer for _, answer in beyond(id)]) for id in sorted(WITNESSES.keys() - LONG)}
    for id, numbers in now.items():
        if before.get(id) != numbers:
            print(f"{id}: was {before.get(id)} and is {numbers}", file=sys.stderr)
    lines = ",\n".join(f" {json.dumps(id)}: {json.dumps(numbers)}" for id, numbers in now.items())
    RECORD.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
