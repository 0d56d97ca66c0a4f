"""A package for a paper of one's own, written from the example in `paper_checks.your_paper`."""

from __future__ import annotations

import importlib.util
import keyword
from pathlib import Path

from paper_checks.ledger import LedgerError
from paper_checks.own_papers import own_papers, pages_of, require_free
from workloads.files import require_writable, write_whole

_EXAMPLE = Path(__file__).parent / "your_paper"
_PROJECT = "project"
_TEMPLATE = ".template"


def write_paper(name: str, folder: Path) -> list[Path]:
    """Write a project with a claim of each method, a witness and a proof, a page, tests and an entry point.

    Args:
        name: of the paper; its package has underscores for hyphens.
        folder: of the project, new or empty.

    Returns:
        The paths written.

    Raises:
        LedgerError: the name is taken or cannot be one, or the folder holds something.
        OSError: the folder cannot be written.
    """
    require_free(name)
    package = name.replace("-", "_")
    if keyword.iskeyword(package) or importlib.util.find_spec(package) is not None:
        raise LedgerError(f"the name {package} already has another meaning in Python; choose a name other than {name}")
    if folder.is_dir() and any(folder.iterdir()):
        raise LedgerError(f"the folder {folder} is not empty; name a new folder with --out")
    files = {folder / place: text.encode() for place, text in _files(name, package).items()}
    for parent in {path.parent for path in files}:
        require_writable(parent)
    write_whole(files, fresh=files)
    papers = [paper for paper in own_papers([str(folder)]) if paper.name == name]
    return [*files, *pages_of(papers, folder / "docs")]


def project_file(file: str, name: str, package: str) -> str:
    """Return a file that every project of a paper has, such as ``pyproject.toml``, for a paper of this name."""
    return _rename((_EXAMPLE / _PROJECT / f"{file}{_TEMPLATE}").read_text(encoding="utf-8"), name, package)


def _files(name: str, package: str) -> dict[Path, str]:
    """Return the contents by path in the project."""
    found = {}
    for file in sorted(_EXAMPLE.rglob("*")):
        place = file.relative_to(_EXAMPLE)
        if file.suffix == _TEMPLATE:
            place = place.relative_to(_PROJECT).with_suffix("")
        elif file.suffix in (".py", ".json"):
            place = _EXAMPLE.name / place
        else:
            continue
        text = file.read_text(encoding="utf-8")
        found[Path(_rename(str(place), name, package))] = _rename(text, name, package)
    return found


def _rename(text: str, name: str, package: str) -> str:
    text = text.replace(f"paper_checks.{_EXAMPLE.name}", package)
    return text.replace(_EXAMPLE.name, package).replace(_EXAMPLE.name.replace("_", "-"), name)
