"""Text on the report's cards and figures: the finding, its certainty, and the meaning of constants."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from paper_checks.claim import NOT_AS_MEANT, Claim, Evidence, Grade
from paper_checks.pages import card
from paper_checks.result import OUTCOME, Result

_ARGUMENT = re.compile(r"^(\w+): (.*)$")
_SENTENCE = re.compile(r"\. (?=[A-Z$])")
_HOLDS: dict[Grade, str] = {
    "kernel": "kernel, by a theorem in Coq",
    "proof": "proof, by symbols or exact numbers of the check",
    "certified": "certified, by a bound with its gap",
    "statistical": "statistical, on random draws",
    "search": "search, which found no violation",
}
_FAILS = {True: "proof, by a witness in exact numbers", False: "statistical, by a witness from random draws"}
_UNDER = {True: "holds", False: "fails", None: "is undecided"}
BY_PROOF = "proof, step by step"


def certainty(result: Result) -> list[tuple[str, str]]:
    """Return the assertions of a verdict, form by form, with their certainty; empty if nothing was judged."""
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
            yield f"It holds {name}", _describe_holding(one.evidence, proved=("certificate", one.key) in answers)
    if judged.correction is not None:
        proved = not judged.printed.ok and ("certificate", "") in answers
        yield "The corrected statement holds", _describe_holding(judged.correction, proved=proved)


def _describe_holding(evidence: Evidence, *, proved: bool) -> str:
    if proved:
        return BY_PROOF
    return f"{_HOLDS[evidence.grade]}{f' ({evidence.shown})' if evidence.shown else ''}"


def fails(result: Result) -> bool:
    """Return whether a result (not a step or a detail) fails as its author means it."""
    return result.claim.importance == "result" and result.decision.verdict in NOT_AS_MEANT


def describe_finding(result: Result) -> str:
    """Return the verdict as a sentence; for readings, how many hold, since their names come later."""
    if result.decision.verdict != "ambiguous" or result.judged is None:
        return card.headline(result)
    outcomes = [one.evidence.ok for one in result.judged.readings(result.claim)]
    if sorted(outcomes, key=str) == [False, True]:
        return "Holds under one of the two readings below and fails under the other."
    told = [f"{words} under {outcomes.count(ok)}" for ok, words in _UNDER.items() if ok in outcomes]
    return f"Of the {len(outcomes)} readings below, it {card.join_words(told)}."


def describe_forms(result: Result) -> list[tuple[str, str]]:
    """Return the forms other than the printed one, each with a heading; a reading begins with its verdict."""
    if result.judged is None or result.decision.verdict != "ambiguous":
        return [(card.sentence_case(name), says) for name, says in card.other_forms(result)]
    readings = [
        (f"{card.sentence_case(OUTCOME[one.evidence.ok])}, read as “{one.reading.name}”", one.reading.says)
        for one in result.judged.readings(result.claim)
    ]
    forms = card.judged_forms(result)[len(readings) :]
    return readings + [(card.sentence_case(form.name), form.says) for form in forms]


def split_finding(text: str, most: int = 420) -> tuple[str, list[str]]:
    """Split the finding of a figure, a list ``a; b; c``, after at most a number of characters.

    >>> split_finding("one; two; three", 10)
    ('one; two', ['three'])
    """
    parts = entries(text)
    shown = 1
    while shown < len(parts) and len("; ".join(parts[: shown + 1])) <= most:
        shown += 1
    return "; ".join(parts[:shown]), parts[shown:]


def split_caption(text: str, most: int = 420) -> tuple[str, str]:
    """Split a caption into its first sentences, at least one and up to a number of characters, and the rest.

    >>> split_caption("Loss by round, cf. $L. M$. Bands: all seeds. Five seeds.", 45)
    ('Loss by round, cf. $L. M$. Bands: all seeds.', 'Five seeds.')
    """
    ends = [found.start() + 1 for found in _SENTENCE.finditer(text) if text.count("$", 0, found.start()) % 2 == 0]
    if len(text) <= most or not ends:
        return text, ""
    cut = max([end for end in ends if end <= most], default=ends[0])
    return text[:cut], text[cut:].strip()


def entries(text: str) -> list[str]:
    """Return the entries of a list ``a; b; c``; semicolons in brackets and formulas do not separate.

    >>> entries("one (2; 3); $[4; 5)$; six")
    ['one (2; 3)', '$[4; 5)$', 'six']
    """
    parts: list[str] = []
    for part in text.split("; "):
        if parts and (parts[-1].count("$") % 2 or _open(parts[-1]) > 0):
            parts[-1] += f"; {part}"
        else:
            parts.append(part)
    return parts


def _open(text: str) -> int:
    """Count the brackets that are open at the end of a text, except those in formulas."""
    outside = "".join(text.split("$")[::2])
    return sum(outside.count(one) for one in "([") - sum(outside.count(one) for one in ")]")


def describe_constants(claim: Claim) -> dict[str, str]:
    """Return the meaning of a check's constants from the ``Args`` of its docstring; empty if it has none.

    The first argument is the measurement, which is not a constant.
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
