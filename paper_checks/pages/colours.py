"""Colours of verdicts, cards and findings on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from workloads.terminal import is_styled, print_table, print_text

if TYPE_CHECKING:
    from paper_checks.claim import Claim
    from paper_checks.result import Run

VERDICTS: Mapping[str, str] = {
    "holds": "green",
    "corrected": "yellow",
    "refuted": "red",
    "ambiguous": "magenta",
    "not checkable here": "bright_black",
}
"""Colours of the verdicts; the words say the same."""
CELLS = {rf"\A{word}\b": style for word, style in VERDICTS.items()} | {r"(?s)\A<--.*": "bold red"}
"""Styles of cells in a table of claims."""
CARDS = {
    r"(?m)^\S+$(?=\n=+$)": "bold",
    r"(?m)^NOT AS RECORDED.*$": "bold red",
    **{rf"(?m)(?<=^verdict {{6}}){word}\b": f"bold {style}" for word, style in VERDICTS.items()},
}
"""Styles of a card."""
FINDINGS = {
    r"(?m)^.+$(?=\n=+$)": "bold",
    r"(?m)^\d+\. \[[^]]+\].*$": "bold",
    **{rf"(?:(?<=\()|(?<=: )){word}\b(?=[);,])": style for word, style in VERDICTS.items()},
}
"""Styles of the findings about a paper."""
TALLY = {r"\d+ (is|are) not as recorded.*": "bold red", "every verdict as recorded": "green"}
"""Styles of the line of counts."""


def print_claims(claims: Sequence[Claim]) -> None:
    """Print id, recorded verdict, grade and place of claims."""
    from paper_checks.pages.card import describe_grade, describe_verdict

    rows = [
        {
            "claim": claim.id,
            "verdict": "not checked yet" if claim.is_stub else describe_verdict(claim.expect, claim.print),
            "grade": describe_grade(claim.grade, claim.family) or "-",
            "where": claim.where,
        }
        for claim in claims
    ]
    width = max(len(claim.id) for claim in claims)
    plain = [f"{one['claim']:{width}}  {one['verdict']:22}  {one['grade']:11}  {one['where']}" for one in rows]
    print_table(rows, plain, CELLS)


def list_of(asked: str, found: Sequence[Any], option: str) -> str:
    """Return a line for each of many claims that a name may mean."""
    width = max(len(one.id) for one in found)
    lines = [f"{one.id:{width}}  {one.expect:22}  {one.where}" for one in found]
    return "\n".join(
        [*lines, f"{len(found)} claims match {asked!r}; `rankproof show {option}{found[0].id}` shows one of them"]
    )


def print_summary(run: Run, stream: TextIO | None = None) -> None:
    """Print what `summary_table` says, on a terminal as a table with colours."""
    from paper_checks.pages.card import summary_rows, summary_table, tally

    if not is_styled(stream or sys.stdout):
        print(summary_table(run), file=stream)
        return
    heading, *rows = summary_rows(run)
    print_table([dict(zip(heading, map(str.strip, row), strict=True)) for row in rows], (), CELLS, stream)
    print_text(tally(run), TALLY, stream)
