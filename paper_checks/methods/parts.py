"""Statements of several parts: each is judged, and what the parts spend and prove counts for the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from paper_checks.claim import Evidence, made_by
from paper_checks.engine.lines import Line, Lines
from paper_checks.methods.sides import UndefinedError


def judge_parts(parts: Iterable[Evidence]) -> Evidence:
    """Return the first part that does not pass, else the one of least margin, with the sum of all levels.

    The whole is proved only if every part is, and no surer than its weakest part. A part without a case leaves the
    whole without one; else the cases are those of the reported part. The lines are those of all parts: one whose name
    an earlier part has is called by its part, such as `part 2`.

    Args:
        parts: evidence of each part. Those after an undecided one are not asked for. Those after one that fails are
            judged for their lines alone; if one of them is not defined, the whole has no lines.

    Raises:
        UndefinedError: the sequence is empty.
    """
    judged: list[Evidence] = []
    complete = True
    try:
        for part in parts:
            judged.append(part)
            if part.ok is None:
                break
    except UndefinedError:
        if all(part.ok for part in judged):
            raise
        complete = False
    if not judged:
        raise UndefinedError("a statement needs at least one part")
    lines = dict(_named(judged)) if complete else {}
    failing = next((number for number, part in enumerate(judged) if not part.ok), None)
    if failing is not None:
        failed = judged[failing]
        level = sum(part.level for part in judged[: failing + 1])
        return made_by(failed.by_hand, replace(failed, level=level, lines=lines))
    weakest = min(judged, key=lambda part: part.margin)
    proved = all(part.grade == "proof" for part in judged)
    gaps = [part.gap for part in judged if part.gap is not None]
    whole = replace(
        weakest,
        level=sum(part.level for part in judged),
        cases=weakest.cases if all(part.cases for part in judged) else 0,
        whole=all(part.whole for part in judged),
        facts=tuple(fact for part in judged for fact in part.facts) if proved else (),
        gap=max(gaps) if len(gaps) == len(judged) else None,
        lines=lines,
        notes=tuple(dict.fromkeys(note for part in judged for note in part.notes)),
        flaw=next((part.flaw for part in judged if part.flaw), ""),
    )
    return made_by(next((part.by_hand for part in judged if part.by_hand), ""), whole)


def _named(parts: Iterable[Evidence]) -> Iterator[tuple[str, Line]]:
    """Yield the lines of all parts, each under a name of its own."""
    known: Lines = {}
    for number, part in enumerate(parts, start=1):
        own = {_name(name, number, known): line for name, line in part.lines.items()}
        known = {**known, **own}
        yield from own.items()


def _name(name: str, number: int, known: Lines) -> str:
    if name not in known:
        return name
    return f"{name}, part {number}" if name else f"part {number}"
