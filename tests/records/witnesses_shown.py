"""Stored witnesses of a paper, and what their replays show: sides, assumptions, set-up, and how to read them."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from paper_checks.evaluation import Replay, evaluate_replay
from paper_checks.ledger import PAPERS
from paper_checks.replay import replays_of

SLOW = (
    "fedlrt/claim-het-",
    "fedlrt/claim-hom-",
    "fedlrt/claim-thm3-figure",
    "fedlrt/fig-1",
    "fedlrt/fig-4@",
    "rolora/table-2@each-trial-rounded-squares-over-three",
    "rolora/table-10@each-trial-cut-off-47-2-as-47-20",
)
"""Beginnings of ids whose replays follow long runs or take more than a tenth of a second."""


@cache
def _witnesses(package: str) -> dict[str, tuple[Replay, Any]]:
    paper = next(one for one in PAPERS if one.package == package)
    found = {}
    for (id, kind), replay in replays_of(package).items():
        files = [file for file in paper.to_replay(id) if file.kind == kind == "witness"]
        if files and not id.startswith(SLOW):
            found[id] = replay, files[0].values
    return found


def witnesses_shown(
    package: str, paper: str, *kinds: str, without: tuple[str, ...] = ("-",)
) -> Iterator[tuple[Any, ...]]:
    """Yield what is shown at the witnesses of a paper whose labels begin with one of some words.

    Args:
        package: package of the paper and its versions.
        paper: part of the id before the slash.
        kinds: beginnings of the labels; any by default.
        without: beginnings of labels to leave out.
    """
    for id, (replay, values) in sorted(_witnesses(f"paper_checks.{package}").items()):
        of, _, label = id.partition("/")
        if of == paper and label.startswith(kinds or "") and not label.startswith(without):
            found = evaluate_replay(replay, values)
            yield id, found.left, found.right, found.exact, found.detail, found.assumes, found.given, found.words
