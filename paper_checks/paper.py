"""Papers: their folders, their themes, and the pages that tell their findings."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Literal
from zlib import crc32

from paper_checks.claim import Claim, in_one_line
from paper_checks.engine.generators import generators_seeded
from paper_checks.engine.process_settings import SettingsError, settings_kept
from paper_checks.evaluation import declared_in, require_kept, require_word
from paper_checks.replay import Stored, to_replay


class LedgerError(ValueError):
    """An id or paper that is not in the ledger, or a ledger that contradicts itself."""


def import_alone(name: str) -> ModuleType:
    """Import a module of a paper, so that its numbers and those of other claims do not depend on what was imported.

    Draws without a seed start from one of the module's name. They can still differ between processes if the module is
    the first to load numpy or torch, or if another module imports it first.

    Raises:
        LedgerError: It changes settings of the process.
    """
    if name in sys.modules:  # nothing is left to draw or to change
        return importlib.import_module(name)
    try:
        with generators_seeded(crc32(name.encode())), settings_kept(name):
            return importlib.import_module(name)
    except SettingsError as error:
        raise LedgerError(str(error)) from None


Rows = tuple[tuple[str, ...], ...]
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


Change = Literal["changes a main result", "weakens a result", "changes a proof only", "changes nothing"]
CHANGES: tuple[Change, ...] = ("changes a main result", "weakens a result", "changes a proof only", "changes nothing")


@dataclass(frozen=True)
class Finding:
    """A root cause: what explains the entries of a paper that do not simply hold as printed.

    Texts are words, and LaTeX between dollar signs.

    Attributes:
        id: lowercase words joined by dashes; unique in its paper.
        headline: the finding in one plain sentence.
        changes: what it changes in the paper.
        entries: ids of the claims that it explains; each claim that does not hold as printed has one finding.
        witness: its clearest case, in numbers.
        advice: what a user of the paper should do.

    Raises:
        ValueError: No id of this form, a text that is missing, or another change.
    """

    id: str
    headline: str
    changes: Change
    entries: tuple[str, ...]
    witness: str
    advice: str

    def __post_init__(self) -> None:
        for name in ("headline", "witness", "advice"):
            object.__setattr__(self, name, in_one_line(getattr(self, name)))
        if not _SLUG.fullmatch(self.id):
            raise ValueError(f"the id of a finding must be lower-case words joined by hyphens, got {self.id!r}")
        require_word(f"the finding {self.id}", "changes", self.changes, CHANGES)
        if not (self.headline and self.entries and self.witness and self.advice):
            raise ValueError(f"{self.id}: a finding needs a headline, entries, a witness and advice")


@dataclass(frozen=True)
class Headline:
    """A point in a sentence or two (words and LaTeX between dollar signs), and the claims that carry it."""

    says: str
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Listing:
    """A table at the end of a page: its heading, its columns and its rows, all text.

    Rows that take time or torch to compute are given by a function, called when the page is written.
    """

    title: str
    columns: tuple[str, ...]
    rows: Rows | Callable[[], Rows]

    def lines(self) -> list[str]:
        """Return the table in Markdown."""
        rows = self.rows() if callable(self.rows) else self.rows
        return [f"| {' | '.join(row)} |" for row in (self.columns, tuple("---" for _ in self.columns), *rows)]


@dataclass(frozen=True)
class Page:
    """A page of findings in ``docs/``: some themes of a paper, for people who read along.

    Attributes:
        name: file name without its ending.
        title: its heading.
        about: one paragraph on what it covers.
        themes: modules of the paper whose claims it tells, in the order of the paper.
        headlines: what holds, or holds in a stronger form, next to the findings.
        listings: tables at its end.
    """

    name: str
    title: str
    about: str
    themes: tuple[str, ...]
    headlines: tuple[Headline, ...] = ()
    listings: tuple[Listing, ...] = ()


@dataclass(frozen=True)
class Paper:
    """One paper: a package with one module per theme, ``replays``, ``witnesses/`` and ``certificates/``.

    Attributes:
        name: short name.
        title: full title.
        package: import name of its folder.
        themes: modules of the package that hold claims, in the order of the paper.
        pages: the pages that tell its findings.
        findings: what was found, sorted by its consequence; together they explain each claim that is not plain.
        together: groups of neighbouring themes that share runs, which one worker then makes once.
        called: name of its method.
        main: what it proposes, its main claim, and whether that survives the checks: two short sentences.
        facts: what matters most to somebody who uses or cites it, three points with the claims that carry them.
        authors: their names, first names first.
        year: year of its first version.
        cited: authors, date, and what its versions are.
        link: where it can be read; empty if nowhere.
        rewritten: the command that writes its pages.
        named: how the user named it by ``--papers``; empty for a paper that every command knows.
    """

    name: str
    title: str
    package: str
    themes: tuple[str, ...]
    pages: tuple[Page, ...] = ()
    findings: tuple[Finding, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    called: str = ""
    main: str = ""
    facts: tuple[Headline, ...] = ()
    authors: tuple[str, ...] = ()
    year: int | None = None
    cited: str = ""
    link: str = ""
    rewritten: str = "rankproof pages"
    named: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.findings, tuple | list) or not all(isinstance(one, Finding) for one in self.findings):
            raise ValueError(f"{self.name}: findings must be a tuple of Finding, got {self.findings!r}")
        by_consequence = sorted(self.findings, key=lambda one: CHANGES.index(one.changes))
        object.__setattr__(self, "findings", tuple(by_consequence))

    @property
    def option(self) -> str:
        """The option that a command about one of its claims needs, with a blank after it; empty if it needs none."""
        return f"--papers {shlex.quote(self.named)} " if self.named else ""

    def finding_of(self, id: str) -> Finding | None:
        """Return the finding that explains a claim; None where there is none."""
        return next((finding for finding in self.findings if id in finding.entries), None)

    def claims(self) -> tuple[Claim, ...]:
        """Return claims in the order of their declaration."""
        found = []
        for theme in self.themes:
            found += self.read_theme(theme)[1]
        return tuple(found)

    def declaring(self, ids: Collection[str]) -> tuple[str, ...]:
        """Return themes whose source declares one of these ids, first in a call; none of them is imported."""
        sources = {theme: self.folder.joinpath(*theme.split(".")).with_suffix(".py") for theme in self.themes}
        texts = {theme: source.read_text(encoding="utf-8") for theme, source in sources.items()}
        declared = re.compile(rf'\w\(\s*"({"|".join(map(re.escape, ids))})"')
        return tuple(theme for theme, text in texts.items() if declared.search(text))

    def read_theme(self, theme: str) -> tuple[str, list[Claim]]:
        """Return the subject of a theme, in one line, and its claims in the order of their declaration.

        Raises:
            LedgerError: A claim has lost its name to a later statement, never had one, or has a judge of elsewhere; or
                the module changes settings of the process.
        """
        module = import_alone(f"{self.package}.{theme}")
        about = (module.__doc__ or theme).split("\n\n")[0].replace("\n", " ")
        try:
            require_kept(module, Claim, "judge")
        except ValueError as error:
            raise LedgerError(str(error)) from None
        for line, item in declared_in(module, Claim):
            if item.module != module.__name__:
                raise LedgerError(
                    f"{item.id} ({module.__name__}, line {line}) has a judge from the module {item.module}; "
                    f"define the judge in the module that declares the claim"
                )
        claims = [item for item in vars(module).values() if isinstance(item, Claim) and item.module == module.__name__]
        return about, claims

    def piece(self, module: str) -> tuple[str, ...]:
        """Return the modules that one worker checks, of which one is given."""
        pieces = (tuple(f"{self.package}.{theme}" for theme in some) for some in self.together)
        return next((some for some in pieces if module in some), (module,))

    def to_replay(self, id: str) -> tuple[Stored, ...]:
        """Return the witnesses and proofs of one of its claims, those of its first reading first."""
        return to_replay(self.package, self.folder, id)

    @property
    def is_outside(self) -> bool:
        """Whether its package is outside of the toolkit, so none of the toolkit's tests has seen it."""
        return not self.package.startswith(f"{__name__.partition('.')[0]}.")

    @property
    def folder(self) -> Path:
        """Folder of its package, where witnesses and certificates are stored."""
        file = importlib.import_module(self.package).__file__
        assert file is not None
        return Path(file).parent
