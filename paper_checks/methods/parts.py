"""Statements of several parts: each is judged, and what the parts spend and prove counts for the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from paper_checks.claim import Evidence
from paper_checks.methods.sides import UndefinedError


def judge_parts(parts: Iterable[Evidence]) -> Evidence:
    """Return the first part that does not pass, else the one of least margin, with the sum of all levels.

    The whole is proved only if every part is, and no surer than its weakest part. A part without a case leaves the
    whole without one; else the cases are those of the reported part.

    Args:
        parts: evidence of each part; those after one that does not pass are not asked for.

    Raises:
        UndefinedError: the sequence is empty.
    """
    judged: list[Evidence] = []
    for part in parts:
        judged.append(part)
        if not part.ok:
            break
    if not judged:
        raise UndefinedError("a statement of no parts says nothing")
    spent = sum(part.level for part in judged)
    lines = {name: line for part in judged for name, line in part.lines.items()}
    if not judged[-1].ok:
        return replace(judged[-1], level=spent, lines=lines)
    weakest = min(judged, key=lambda part: part.margin)
    proved = all(part.grade == "proof" for part in judged)
    gaps = [part.gap for part in judged if part.gap is not None]
    return replace(
        weakest,
        level=spent,
        cases=weakest.cases if all(part.cases for part in judged) else 0,
        whole=all(part.whole for part in judged),
        facts=tuple(fact for part in judged for fact in part.facts) if proved else (),
        gap=max(gaps) if len(gaps) == len(judged) else None,
        lines=lines,
    )
