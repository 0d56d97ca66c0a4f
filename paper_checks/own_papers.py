"""Papers in addition to the toolkit's: packages with claims, witnesses and replays of their own.

A package has a module ``paper`` whose ``PAPER`` says what the paper is. It is named on the command line, as a folder or
by its import name, or installed with an entry point of the group ``rankproof.papers``. Every error in it is
reported in one line before anything is checked.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pickle
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from paper_checks import GROUP
from paper_checks.claim import in_one_line
from paper_checks.ledger import PAPERS, LedgerError
from paper_checks.names import owner
from paper_checks.paper import Paper, import_alone
from paper_checks.replay import REPLAY_LIMIT, ReplayError, replays_of

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""Single hyphens between words, because two hyphens end the name of a paper in the names of its proofs' pages."""
_PAGE = re.compile(r"[a-z][a-z0-9-]*")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def own_papers(named: Sequence[str] = ()) -> tuple[Paper, ...]:
    """Return the papers of installed packages, then those that are named, each once.

    Folders that are named join the import path of this process, at its end.

    Args:
        named: folders (of a package, or of a project that holds one) or import names.

    Raises:
        LedgerError: a package is not found, cannot be loaded, is not a paper, or takes a name that is in use.
    """
    found: dict[str, Paper] = {}
    for point in sorted(entry_points(group=GROUP)):
        remedy = f"fix or uninstall {point.dist.name if point.dist else point.value}"
        with _in_one_line(f"the installed paper {point.name}", remedy):
            _add(found, point.value.partition(":")[0].rpartition(".")[0], point)
    for name in named:
        with _in_one_line(f"the paper {name}", "fix it, or leave it out"):
            package = _package(name)
            if package not in found:
                _add(found, package, None)
                found[package] = replace(found[package], named=name)
    _require_names_of_their_own(tuple(found.values()))
    return tuple(found.values())


def named_papers(named: Sequence[str]) -> tuple[Paper, ...]:
    """Return the papers that are named, each once, without other installed ones.

    Raises:
        LedgerError: As `own_papers`.
    """
    found = {paper.package: paper for paper in own_papers(named)}
    return tuple(found[package] for package in dict.fromkeys(map(_package, named)))


@contextmanager
def no_bytecode() -> Iterator[None]:
    """Leave no `__pycache__` in a package that is loaded while open, here or in the process that replays it."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def pages_of(papers: Sequence[Paper], folder: Path, replay_seconds: float = REPLAY_LIMIT) -> list[Path]:
    """Write the pages of some papers into a folder; returns the paths.

    Args:
        papers: The papers.
        folder: The folder.
        replay_seconds: Most seconds for one evaluation of a replay.

    Raises:
        LedgerError: a page cannot be made.
        OSError: the folder cannot be written.
        ReplayError: the replays of a paper cannot run.
    """
    from paper_checks.findings import write_pages

    try:
        return write_pages(folder, papers, replay_seconds=replay_seconds)
    except (LedgerError, OSError, ReplayError):
        raise
    except Exception as error:
        names = ", ".join(paper.name for paper in papers)
        raise LedgerError(
            f"cannot write the pages of {names}: {_place(error)}{type(error).__name__}: {error}"
        ) from error


def require_free(name: str, taken: Sequence[Paper] = PAPERS) -> None:
    """Check that a paper may have this name.

    Raises:
        LedgerError: its claims could be taken for those of another paper, or it is not a name.
    """
    if not _NAME.fullmatch(name):
        raise LedgerError(
            f"{name!r} is not a valid name for a paper: use lower-case letters and digits, "
            f"starting with a letter, and single hyphens between them"
        )
    for paper in taken:
        if name.startswith(paper.name) and (paper in PAPERS or name == paper.name):
            raise LedgerError(f"the name {name} is already used by the paper {paper.name}; choose another")


def _require_names_of_their_own(papers: Sequence[Paper]) -> None:
    """Check that no id and no page of a paper could be taken for one of another that is loaded with it.

    Raises:
        LedgerError: One begins with the name of another paper.
    """
    names = [paper.name for paper in papers]
    for paper in papers:
        ids = [(claim.id, claim.paper) for claim in paper.claims()]
        for name, begins in (*ids, *((page.name, page.name) for page in paper.pages)):
            other = owner(begins, names)
            if other not in (None, paper.name):
                raise LedgerError(
                    f"{paper.name} declares {name}, which begins with the name of the paper {other}; "
                    f"use names of its own, or leave one of the two papers out"
                )


def _add(found: dict[str, Paper], package: str, point: EntryPoint | None) -> None:
    """Load a paper and all that can fail in it, unless it is there."""
    if package in found:
        return
    with redirect_stdout(sys.stderr):  # what a package prints is not the command's answer
        module = import_alone(point.module if point else f"{package}.paper")
        paper = point.load() if point else getattr(module, "PAPER", None)
        if not isinstance(paper, Paper):
            raise LedgerError(f"{package}.paper has no PAPER of the class paper_checks.paper.Paper; add one")
        if paper.package != package:
            raise LedgerError(f"the paper of {package} gives {paper.package!r} as its package; write __package__")
        require_free(paper.name, (*PAPERS, *found.values()))
        _check(paper)
    found[package] = paper


def _check(paper: Paper) -> None:
    """Check everything that the commands rely on.

    Raises:
        LedgerError: what is missing or contradicts itself, with the remedy.
    """
    if not isinstance(paper.themes, tuple) or not paper.themes:
        raise LedgerError(f"{paper.name}: themes must be a tuple of module names, got {paper.themes!r}")
    for theme in paper.themes:
        if not paper.folder.joinpath(*theme.split(".")).with_suffix(".py").is_file():
            raise LedgerError(
                f"{paper.name}: {paper.folder} does not contain the theme {theme}.py; add it or leave it out of themes"
            )
        if not paper.read_theme(theme)[1]:
            raise LedgerError(f"{paper.name}: the theme {theme} declares no claims; declare one or leave the theme out")
    for claim in paper.claims():
        if not all(isinstance(text, str) for text in (claim.says, claim.where)) or isinstance(claim.uses, str):
            raise LedgerError(f"{claim.id}: says and where must be text, and uses a tuple of ids")
        if claim.paper != paper.name and not claim.paper.startswith(f"{paper.name}-"):
            raise LedgerError(
                f"{claim.id}: ids of this paper must begin with {paper.name}/, or {paper.name}- for versions"
            )
    if importlib.util.find_spec(f"{paper.package}.replays") is None:
        raise LedgerError(f"{paper.name} has no module replays; add {paper.folder / 'replays.py'}, which may be empty")
    for id in (id for id, _ in replays_of(paper.package) if not isinstance(id, str)):
        raise LedgerError(f"{paper.name}: a replay must name its claim by an id in quotes, got {id!r}")
    if not all(isinstance(text, str) for text in (paper.title, paper.called, paper.cited, paper.link)):
        raise LedgerError(f"{paper.name}: title, called, cited and link must be text; write them in quotes")
    if paper.link and not paper.link.startswith(("https://", "http://")):
        raise LedgerError(f"{paper.name}: link must be a web address, got {paper.link!r}")
    for page in paper.pages:
        if not page.name.startswith(paper.name) or not _PAGE.fullmatch(page.name):
            raise LedgerError(f"{paper.name}: names of its pages must begin with {paper.name}, got {page.name!r}")
        if not {*page.themes} <= {*paper.themes}:
            raise LedgerError(
                f"{paper.name}: the page {page.name} has themes that are missing from the paper: {page.themes}"
            )
        told = {claim.id for theme in page.themes for claim in paper.read_theme(theme)[1]}
        for id in (id for headline in page.headlines for id in headline.claims if id not in told):
            raise LedgerError(
                f"{paper.name}: a headline of the page {page.name} rests on {id}, which the page does not contain"
            )
    _require_own_words(paper)
    pickle.dumps(paper)  # workers are handed it


def _require_own_words(paper: Paper) -> None:
    """Check that no headline, title or author of the example is left on claims that are the author's own.

    Raises:
        LedgerError: One is, with the remedy.
    """
    from paper_checks.your_paper.paper import PAPER as EXAMPLE

    stated = {in_one_line(text) for file in EXAMPLE.folder.glob("*.py") for text in _statements(file)}
    says = {claim.id: claim.says for claim in paper.claims()}
    own = {id for id, text in says.items() if text not in stated}
    headlines = {one.says for page in EXAMPLE.pages for one in page.headlines}
    for page in paper.pages:
        for one in page.headlines:
            if one.says in headlines and own & {*one.claims}:
                raise LedgerError(
                    f"{paper.name}: a headline of the page {page.name} is still that of the example, but "
                    f"{', '.join(one.claims)} is not: write what holds in your paper, or leave the headlines empty"
                )
    subject = EXAMPLE.title.partition(" about ")[2]
    left = ["title"] * paper.title.endswith(subject) + ["cited"] * (paper.cited == EXAMPLE.cited)
    if left and own == {*says}:
        raise LedgerError(
            f"{paper.name}: {' and '.join(left)} in paper.py {'is' if len(left) == 1 else 'are'} still of the example, "
            "but none of its claims is: name your paper"
        )


def _statements(file: Path) -> Iterator[str]:
    """Yield the statements of the claims that a file declares, without importing it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "says" and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def _package(name: str) -> str:
    """Return the import name of a folder or a package."""
    folder = Path(name)
    if folder.is_dir():
        found = _packages_in(folder.resolve())
        if len(found) == 1:
            return _importable(found[0])
        if len(found) > 1:
            raise LedgerError(f"{name} contains several papers: name {' or '.join(str(one) for one in found)}")
    if not _MODULE.fullmatch(name) or importlib.util.find_spec(name) is None:
        flaw = "contains no package with a paper.py" if folder.is_dir() else "is neither a folder nor importable"
        raise LedgerError(f"{name} {flaw}; `rankproof new-paper NAME` writes one")
    return name


def _packages_in(folder: Path) -> list[Path]:
    """Return the folder if it is a paper's package; else those in it, or in its ``src``."""
    if (folder / "paper.py").is_file():
        return [folder]
    return sorted(file.parent for pattern in ("*/paper.py", "src/*/paper.py") for file in folder.glob(pattern))


def _importable(folder: Path) -> str:
    """Return the name by which a folder can be imported from now on, here and in processes that are started."""
    package = folder.name
    if not _MODULE.fullmatch(package) or not (folder / "__init__.py").is_file():
        raise LedgerError(f"{folder} is not a package: it needs a name that is valid in Python, and an __init__.py")
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:  # nothing, or folders without an __init__.py, which a package precedes
        sys.path.append(str(folder.parent))
        importlib.invalidate_caches()
        spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None or Path(spec.origin).resolve().parent != folder:
        other = spec.origin if spec else "nothing"
        raise LedgerError(
            f"the name {package} already means {other} in Python; uninstall that, or rename the folder {folder}"
        )
    return package


@contextmanager
def _in_one_line(what: str, remedy: str) -> Iterator[None]:
    """Make every error of a package one that its author can read."""
    try:
        yield
    except LedgerError:
        raise
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}"
        raise LedgerError(f"{what} cannot be loaded: {_place(error)}{said}; {remedy}") from error


def _place(error: BaseException) -> str:
    """Return the last line of an error's traceback outside toolkit and importer; empty if there is none."""
    here = str(Path(__file__).parent)
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "importlib" not in one.filename]
    frames = [one for one in frames if not one.filename.startswith((here, "<"))]
    return f"{frames[-1].filename}, line {frames[-1].lineno}: " if frames else ""
