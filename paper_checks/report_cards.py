"""Words on the report's cards: how sure each half of a verdict is, and what the names of constants stand for."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from paper_checks.claim import Claim, Evidence, Grade
from paper_checks.result import Result

_ARGUMENT = re.compile(r"^(\w+): (.*)$")
_HOLDS: dict[Grade, str] = {
    "proof": "proof, by symbols or exact numbers of the check",
    "certified": "certified, by a bound with its gap",
    "statistical": "statistical, on random draws",
    "search": "search, which found no violation",
}
_FAILS = {True: "proof, by a witness in exact numbers", False: "statistical, by a witness from random draws"}
BY_PROOF = "proof, step by step"


def certainty(result: Result) -> list[tuple[str, str]]:
    """Assertions of a verdict, form by form, and how sure each is; nothing where nothing was judged."""
    return list(_certainty(result)) if result.judged is not None and result.decision.grade else []


def _certainty(result: Result) -> Iterator[tuple[str, str]]:
    judged, claim = result.judged, result.claim
    assert judged is not None
    answers = {(answer.kind, answer.reading): answer for answer in result.replayed}
    readings = judged.readings(claim)
    for one in readings:
        name = f"read as “{one.reading.name}”" if len(readings) > 1 or one.reading.says else "as printed"
        if one.evidence.ok is False:
            witness = answers.get(("witness", one.key))
            yield f"It fails {name}", _FAILS[witness is not None and witness.exact]
        elif one.evidence.ok:
            yield f"It holds {name}", _holding(one.evidence, proved=("certificate", one.key) in answers)
    if judged.correction is not None:
        proved = not judged.printed.ok and ("certificate", "") in answers
        yield "The corrected statement holds", _holding(judged.correction, proved=proved)


def _holding(evidence: Evidence, *, proved: bool) -> str:
    return BY_PROOF if proved else _HOLDS[evidence.grade]


def constants_in_words(claim: Claim) -> dict[str, str]:
    """Constants of a check, and what they stand for, by the ``Args`` of its docstring; empty where it tells none.

    The first argument is the measurement, which is no constant.
    """
    section = re.search(r"\nArgs:\n(.*?)(?:\n\S|\Z)", inspect.getdoc(claim.judge) or "", re.DOTALL)
    if section is None:
        return {}
    told: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(section[1]).splitlines():
        found = _ARGUMENT.match(line)
        if found:
            name, text = found.groups()
            told[name] = text
        elif name:
            told[name] += f" {line.strip()}"
    return {name: text.rstrip(".") for name, text in told.items() if name in claim.printed_constants()}
