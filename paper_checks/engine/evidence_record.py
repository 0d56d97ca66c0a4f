"""Numbers of the evidence on record: one file for each paper, so a number that changes is seen.

A verdict says little about the numbers behind it: a check can measure something else and come to the same verdict. The
record holds what each form of a claim states and obtains, its margin and slack, what its replays show, the changes of
constants that are noticed, and the best constants known, of a run with the quick budget and seed 0.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper_checks.engine.decimals import last_place
from paper_checks.replay import ReplayError
from workloads.processes.locks import lock_folder
from workloads.written import FolderRecord

if TYPE_CHECKING:
    from paper_checks.claim import Claim, Evidence
    from paper_checks.engine.judging import Judged
    from paper_checks.evaluation import Replayed
    from paper_checks.result import Result

NAME = "evidence.json"
"""Name of the file in a paper's folder."""
OF = (0, "quick")
"""Seed and budget of the run that is on record."""
RELATIVE, ABSOLUTE = 1e-6, 1e-12
"""Differences between processors that count as rounding."""
PRINTED = 0.1
"""Largest relative difference between printed numbers that can be one in the last digit."""
WITH_DATA = ("fedloru-iclr/tab-A1",)
"""Claims whose scope names the real data sets that are here, so it is not on record."""
SEARCHED = 0.1
"""Relative difference between margins of mutants, because a search may end elsewhere on another processor."""
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Difference:
    """A number, or a text, that is not the one on record.

    Attributes:
        claim: Id of the claim.
        name: Name of the number: `correction margin`, `constant noticed`.
        before: Value on record; None for nothing.
        found: Value found; None for nothing.
    """

    claim: str
    name: str
    before: Any
    found: Any

    def __str__(self) -> str:
        before, found = ("nothing" if value is None else value for value in (self.before, self.found))
        return f"{self.claim}: {self.name} was {before} and is {found}"


def evidence_of(result: Result) -> dict[str, Any]:
    """Return the numbers of a result by their names, as the record holds them."""
    claim = result.claim
    if result.judged is None:
        return {}
    numbers = judged_numbers(claim, result.judged)
    for change in result.changes:
        numbers[f"{' '.join((change.constant, *change.lines))} refuted"] = change.refuted
    for answer in result.replayed:
        numbers |= answer_of(answer)
    numbers |= {f"{name} best": best.value for name, best in claim.best.items()}
    if claim.id in WITH_DATA:
        numbers = {name: value for name, value in numbers.items() if not name.endswith(" scope")}
    return numbers


def judged_numbers(claim: Claim, judged: Judged) -> dict[str, Any]:
    """Return the numbers of the forms of a claim that were judged, mutants and neighbours too, by their names."""
    numbers: dict[str, Any] = {}
    for one in judged.readings(claim):
        name = "printed" if one.first else one.reading.name
        numbers |= form_of(name, one.evidence)
        for constants, mutant in one.mutants:
            numbers |= _mutant(f"{name}, {_words(constants)}", mutant)
    if judged.control is not None:
        numbers |= form_of("control", judged.control)
    if judged.correction is not None and claim.correction is not None:
        numbers |= form_of("correction", judged.correction)
        for constants, mutant in zip(claim.correction.mutants, judged.correction_mutants, strict=False):
            numbers |= _mutant(f"correction, {_words(constants)}", mutant)
    for side in judged.neighbours:
        numbers[f"correction, {side.constant} = {side.value:g} ok"] = side.ok
    return numbers


def answer_of(answer: Replayed) -> dict[str, Any]:
    """Return what the replay of a stored file shows, by name: sides, assumptions, set-up, and how the sides compare."""
    name = " ".join(filter(None, (answer.reading, answer.kind)))
    values = {
        "sides": None if answer.left is None else [answer.left, answer.right],
        "assumes": "; ".join(told if met else f"{told} (not met)" for told, met in answer.assumes) or None,
        "given": "; ".join(f"{name} = {value}" for name, value in answer.given.items()) or None,
        "shows": answer.detail.rpartition(": ")[2] if answer.kind == "witness" else None,
    }
    return {f"{name} {word}": value for word, value in values.items() if value is not None}


def form_of(name: str, evidence: Evidence) -> dict[str, Any]:
    """Return the numbers of one form of a claim, such as the correction, by their names with its own in front."""
    values = {
        "states": evidence.printed,
        "obtains": evidence.obtained,
        "margin": evidence.margin,
        "slack": evidence.slack,
        "cases": evidence.cases,
        "tight": evidence.tight,
        "sides": None if evidence.sides is None else list(evidence.sides),
        "gap": evidence.gap,
        "scope": evidence.scope,
    }
    return {f"{name} {word}": value for word, value in values.items() if value is not None}


def _mutant(name: str, evidence: Evidence) -> dict[str, Any]:
    return {f"{name}: ok": evidence.ok, f"{name}: margin": evidence.margin}


def _words(constants: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in constants.items())


def read_record(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the record of a paper by claim; empty where there is none.

    Raises:
        OSError: The file cannot be read.
        ReplayError: It is not a record.
    """
    path = folder / NAME
    if not path.is_file():
        return {}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or not all(isinstance(numbers, dict) for numbers in record.values()):
        raise ReplayError(f"{path} is not a record of evidence: move it away, or restore it from a copy")
    return record


def write(folder: Path, results: Sequence[Result], ids: Sequence[str]) -> None:
    """Record the numbers of results, and keep the numbers of other claims.

    Args:
        folder: Folder of the paper.
        results: Results of some of its claims.
        ids: Ids of all of its claims, in order; what is on record of others goes.

    Raises:
        OSError: The file cannot be written.
        ReplayError: The file is not a record.
    """
    with lock_folder(folder, wait=True):  # another check may be recording other claims of this paper
        record = read_record(folder)
        kept = record | {result.claim.id: evidence_of(result) for result in results if not result.decision.excused}
        kept = {id: kept[id] for id in ids if id in kept}
        path, written = folder / NAME, FolderRecord(folder)
        if record and not written.owns(path):
            data = path.read_bytes()
            if data == _text(record) and set(record) & set(ids):  # it came with the package
                written.note([(NAME, len(data), hashlib.sha256(data).hexdigest())])
        written.write({path: _text(kept)})


def _text(record: Mapping[str, Any]) -> bytes:
    """Return the file of a record: one line for each number, so the history shows which one changed."""
    return (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode()


def differences(result: Result, record: Mapping[str, Mapping[str, Any]]) -> Iterator[Difference]:
    """Yield the numbers of a result that are not those on record.

    There are none where an extra that it needs is missing, nor for a claim that is neither on record nor decided, such
    as one without a check.
    """
    undecided = result.decision.verdict == "not checkable here" and not result.decision.defect
    if result.decision.excused or (undecided and result.claim.id not in record):
        return
    yield from changed(result.claim.id, record.get(result.claim.id, {}), evidence_of(result))


def changed(claim: str, before: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the numbers of a claim that are not those on record."""
    for name in dict.fromkeys((*before, *found)):
        relative = SEARCHED if name.endswith(": margin") else RELATIVE
        if not agree(before.get(name), found.get(name), relative):
            yield Difference(claim, name, before.get(name), found.get(name))


def agree(before: Any, found: Any, relative: float = RELATIVE) -> bool:
    """Return whether two values are equal up to a relative difference, or a tiny absolute one.

    Numbers in a text may differ by one in the last digit that is printed.

    >>> agree("0.31 within 2e-08", "0.32 within 2e-08"), agree("0.31", "0.33"), agree(1.0, 1.0 + 1e-7), agree(1, 1.001)
    (True, False, True, False)
    """
    if before in (None, "") and found in (None, ""):
        return True
    if isinstance(before, list) and isinstance(found, list):
        return len(before) == len(found) and all(agree(*pair) for pair in zip(before, found, strict=True))
    if isinstance(before, str) and isinstance(found, str):
        pairs = zip(_NUMBER.findall(before), _NUMBER.findall(found), strict=False)
        return _NUMBER.split(before) == _NUMBER.split(found) and all(_last_digit(*pair) for pair in pairs)
    if isinstance(before, (bool, type(None))) or isinstance(found, (bool, type(None))):
        return before is found
    if isinstance(before, int | float) and isinstance(found, int | float):
        return before == found or isclose(before, found, rel_tol=relative, abs_tol=ABSOLUTE)
    return bool(before == found)


def _last_digit(before: str, found: str) -> bool:
    """Return whether two printed numbers are one number that was rounded in two ways; whole numbers must be equal."""
    if before == found:
        return True
    numbers = float(before), float(found)
    size = max(map(abs, numbers))
    if size < ABSOLUTE:
        return True
    if not isfinite(size) or not (_is_rounded(before) and _is_rounded(found)):
        return False
    unit = max(10.0 ** last_place(text) for text in (before, found))
    return abs(numbers[0] - numbers[1]) <= min(1.0001 * unit, PRINTED * size)


def _is_rounded(text: str) -> bool:
    return "." in text or "e" in text.lower()
