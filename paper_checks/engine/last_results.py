"""Last results of claims, kept on disk so that ``rankproof show`` answers at once.

Only results of the papers of the toolkit that are as recorded are kept. They are valid for the very code, Python and
packages that made them, and no other command reads them: ``rankproof check`` and the report measure every time.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures.provenance import FOLDER as FIGURES
from figures.provenance import package_versions
from paper_checks.names import Names
from workloads.files import write_whole

if TYPE_CHECKING:
    from paper_checks.ledger import Ledger
    from paper_checks.result import Run

FOLDER = "RANKPROOF_CACHE"
"""Environment variable that names the folder of the results."""
ROOMS = ("rmt", "workloads", "hessian", "toymodels", "algorithms", "runs", "figures", "paper_checks", "rankproof.py")
PACKAGES = ("numpy", "scipy", "torch", "sympy", "mpmath", "hypothesis", "pandas")
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Entry:
    """A claim as the list of all claims names it: its ids, its place in the paper and the verdict on record."""

    id: str
    also: tuple[str, ...]
    where: str
    expect: str


@dataclass(frozen=True)
class LastResults:
    """Results on disk that the present code made.

    Attributes:
        entries: all claims of the toolkit, or those that have results.
        whole: whether they are all claims.
        papers: names of methods by the names of their papers.
        cards: what was found about each claim, by its id.
    """

    entries: tuple[Entry, ...] = ()
    whole: bool = False
    papers: Mapping[str, str] = field(default_factory=dict)
    cards: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def tells(self, asked: Sequence[str], own: bool) -> bool:
        """Return whether the entries are enough to say what is meant.

        Args:
            asked: ids, prefixes and names.
            own: whether there are papers of the user's own, which names and prefixes may mean too.
        """
        exact = {id for one in self.entries for id in (one.id, *one.also)}
        if not self.whole or own:
            return exact.issuperset(asked)
        return all(self.names.find(one) for one in asked)

    @cached_property
    def names(self) -> Names[Entry]:
        """Names of the claims."""
        return Names(self.entries, self.papers)

    def card(self, id: str, budget: str, seed: int, encoding: str) -> str | None:
        """Return the card of a claim with the time of its measurement; None where it was not measured so."""
        found = self.cards.get(id)
        if found is None or (found["budget"], found["seed"]) != (budget, seed):
            return None
        return str(found["utf-8" if encoding == "utf-8" else "ascii"])


def last_results() -> LastResults:
    """Return the results on disk; none where there are none, or other code made them."""
    with suppress(OSError, ValueError, KeyError, TypeError, RuntimeError):
        content = json.loads(_path().read_text(encoding="utf-8"))
        if content["made_by"] == made_by():
            entries = tuple(Entry(id, tuple(also), where, expect) for id, also, where, expect in content["entries"])
            return LastResults(entries, content["whole"], content["papers"], content["cards"])
    return LastResults()


def keep(run: Run, ledger: Ledger, code: str) -> None:
    """Keep the results of a run with those that are there, if they can be written and the code is still the same.

    Args:
        run: the run.
        ledger: the ledger of its claims.
        code: the digest of the code from before the run.
    """
    if made_by() != code:
        return
    from paper_checks.ledger import PAPERS

    before, whole = last_results(), ledger.whole
    claims = ledger.claims if whole else () if before.whole else (one.claim for one in run.results)
    entries = {} if whole else {one.id: one for one in before.entries}
    entries |= {
        one.id: Entry(one.id, one.also, one.where, one.expect) for one in claims if ledger.home[one.id] in PAPERS
    }
    papers = {paper.name: paper.called for paper in PAPERS}
    cards = {**before.cards, **dict(_cards(run, [ledger.home[one.claim.id] in PAPERS for one in run.results]))}
    content = {
        "made_by": code,
        "entries": [[one.id, one.also, one.where, one.expect] for one in entries.values()],
        "whole": whole or before.whole,
        "papers": papers,
        "cards": cards,
    }
    with suppress(OSError, RuntimeError):
        _path().parent.mkdir(parents=True, exist_ok=True)
        write_whole({_path(): json.dumps(content).encode()})


def _cards(run: Run, kept: Sequence[bool]) -> Iterator[tuple[str, dict[str, Any]]]:
    from paper_checks.pages.card import card_text, measured_lines

    when = datetime.now(UTC)
    for result, own in zip(run.results, kept, strict=True):
        if own and result.as_expected and not result.decision.excused and not run.of_no_claim:
            told = {
                encoding: "\n".join([card_text(result, encoding), *measured_lines(when, result.claim.id)])
                for encoding in ("utf-8", "ascii")
            }
            yield result.claim.id, {"budget": run.budget, "seed": run.seed, **told}


def _path() -> Path:
    """Return the file of the results of this installation.

    Raises:
        RuntimeError: The user has no home folder.
    """
    named = os.environ.get(FOLDER)
    folder = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankproof"
    return folder / f"results-{hashlib.sha256(os.fsencode(_ROOT)).hexdigest()[:16]}.json"


def made_by() -> str:
    """Return a digest of everything that can change a result: sources, witnesses, stored figures, Python, packages."""
    digest = hashlib.sha256()
    places = [(_ROOT / room, (".py", ".json", ".v")) for room in ROOMS]
    for place, endings in (*places, (FIGURES, (".csv", ".json"))):
        for file in sorted(place.rglob("*.*")) if place.is_dir() else [place]:
            if file.suffix in endings:
                content = file.read_bytes()
                digest.update(f"{file.relative_to(place.parent)}\0{len(content)}\0".encode() + content)
    digest.update(json.dumps([package_versions(PACKAGES), platform.python_version(), platform.machine()]).encode())
    return digest.hexdigest()
