"""A package for a paper of one's own, written from the example in `paper_checks.your_paper`."""

from __future__ import annotations

import importlib.util
import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from paper_checks.ledger import LedgerError
from paper_checks.own_papers import no_bytecode, own_papers, pages_of, require_free
from paper_checks.your_paper.paper import RESULTS
from workloads.files import require_writable, write_whole

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "identity": ("eq_1",),
    "inequality": ("lem_1", "lem_2"),
    "limit": ("thm_1",),
    "probability": ("lem_4",),
    "table": ("table_1",),
    "box": ("alg_1",),
}
"""Results of the example by what is to be checked; inequalities come as one that holds and one that is corrected."""
COUNTS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
_EXAMPLE = Path(__file__).parent / "your_paper"
_PROJECT = "project"
_TEMPLATE = ".template"


def write_paper(name: str, folder: Path, examples: Sequence[str] = ()) -> list[Path]:
    """Write a project with worked claims, their witnesses and proofs, a page, tests and an entry point.

    Args:
        name: of the paper; its package has underscores for hyphens.
        folder: of the project, new or empty.
        examples: kinds of claims, of `EXAMPLES`; all that the example has by default.

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
    chosen = [result for result in RESULTS if not examples or any(result in EXAMPLES[kind] for kind in examples)]
    files = {folder / place: text.encode() for place, text in _files(name, package, chosen).items()}
    for parent in {path.parent for path in files}:
        require_writable(parent)
    write_whole(files, fresh=files)
    with no_bytecode():
        papers = [paper for paper in own_papers([str(folder)]) if paper.name == name]
        return [*files, *pages_of(papers, folder / "docs")]


def project_file(file: str, name: str, package: str) -> str:
    """Return a file that every project of a paper has, such as ``pyproject.toml``, for a paper of this name."""
    return _rename((_EXAMPLE / _PROJECT / f"{file}{_TEMPLATE}").read_text(encoding="utf-8"), name, package)


def _files(name: str, package: str, chosen: Sequence[str]) -> dict[Path, str]:
    """Return the contents by path in the project, with the chosen results alone."""
    left_out = [result for result in RESULTS if result not in chosen]
    unused = [] if {"lem_1", "lem_2"} & {*chosen} else ["measurements"]
    found = {}
    for file in sorted(_EXAMPLE.rglob("*")):
        place = file.relative_to(_EXAMPLE)
        if file.suffix == _TEMPLATE:
            place = place.relative_to(_PROJECT).with_suffix("")
        elif file.suffix in (".py", ".json"):
            place = _EXAMPLE.name / place
        else:
            continue
        result = file.stem.rpartition("--")[2].replace("-", "_")
        if result in left_out or file.parent.name in unused:
            continue
        text = file.read_text(encoding="utf-8")
        text = _with_chosen(text, chosen, left_out) if left_out else text
        found[Path(_rename(str(place), name, package))] = _rename(text, name, package)
    return found


def _with_chosen(text: str, chosen: Sequence[str], left_out: Sequence[str]) -> str:
    """Return a file of the example without what it says of results that are left out."""
    number = f"{COUNTS[len(chosen)]} {'Statement' if len(chosen) == 1 else 'Statements'}"
    text = text.replace("Ten Statements", number.title())
    text = re.sub(r"^RESULTS = .*$", f"RESULTS = ({', '.join(map(_quoted, chosen))},)", text, flags=re.MULTILINE)
    for result in left_out:
        text = re.sub(rf'^    uses=\("your-paper/{result.replace("_", "-")}",\),\n', "", text, flags=re.MULTILINE)
        text = re.sub(rf"^\| `your_paper/{result}\.py` .*\n", "", text, flags=re.MULTILINE)
    if "lem_2" in left_out:
        text = re.sub(
            r"^            \(\n {16}Headline\(.*?^            \),\n", "", text, flags=re.MULTILINE | re.DOTALL
        )
        text = text.replace(
            "from paper_checks.paper import Headline, Page, Paper", "from paper_checks.paper import Page, Paper"
        )
        text = re.sub(r" `lem-2` fails as printed,.*?with a proof\.", "", text, flags=re.DOTALL)
        text = re.sub(r"^rankproof replay .*\n", "", text, flags=re.MULTILINE)
        text = text.replace("your-paper/lem-2   ", f"your-paper/{chosen[0].replace('_', '-')}   ")
    if "lem_1" in left_out:
        text = re.sub(r"^\| `your_paper/measurements/` .*\n", "", text, flags=re.MULTILINE)
    claims = "Claims of an invented paper" if len(chosen) > 1 else "A claim of an invented paper"
    return re.sub(r"Ten claims of an invented paper, one for each method of checking", claims, text)


def _quoted(text: str) -> str:
    return f'"{text}"'


def _rename(text: str, name: str, package: str) -> str:
    text = text.replace(f"paper_checks.{_EXAMPLE.name}", package)
    return text.replace(_EXAMPLE.name, package).replace(_EXAMPLE.name.replace("_", "-"), name)
