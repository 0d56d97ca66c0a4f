"""Locations of the repository's files on the site, and the targets of the links between its pages.

The pages are written for a reader of the repository. A page or file that they link to is also on the site: at its own
path if it is in `docs/`, else under `source/`, with programs as pages and folders as lists. Hidden folders lose their
dot there, because MkDocs builds no hidden pages.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FRONT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
"""Pages of the root with their own location."""

_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_CODE = re.compile(r"^ *(`{3,})[^\n]*\n.*?^ *\1 *$|\$`[^`\n]+`\$|`[^`\n]+`", flags=re.M | re.S)
_LISTED = (".md", ".py")


def place(path: str) -> str:
    """Return the location of a file or folder among the sources of the site.

    Args:
        path: Path from the root of the repository, with `/`.

    >>> place("docs/spectra.md"), place("README.md"), place("examples/own_data.py")
    ('spectra.md', 'index.md', 'source/examples/own_data.py.md')
    """
    if path in FRONT:
        return FRONT[path]
    within = path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}".replace("/.", "/")
    if (ROOT / path).is_dir():
        return f"{within}/{'README' if (ROOT / path / 'README.md').exists() else 'index'}.md"
    return f"{within}.md" if path.endswith(".py") else within


def targets(text: str, path: str) -> Iterator[str]:
    """Yield the files and folders of the repository that a page links to.

    Args:
        text: The page.
        path: Path of the page, from the root.
    """
    for piece, is_code in _pieces(text):
        for link in () if is_code else _LINK.findall(piece):
            if target := _target(link, path):
                yield target


def relink(text: str, path: str) -> str:
    """Return the page with links that are valid on the site.

    Args:
        text: The page.
        path: Path of the page, from the root.

    >>> relink("[it](docs/spectra.md#blocks), `[it](x)`", "README.md")
    '[it](spectra.md#blocks), `[it](x)`'
    """
    here = posixpath.dirname(place(path))

    def there(found: re.Match[str]) -> str:
        target, anchor = _target(found.group(1), path), found.group(1).partition("#")[2]
        if target is None:
            return found.group(1)
        return posixpath.relpath(place(target), here) + (f"#{anchor}" if anchor else "")

    return "".join(piece if is_code else _LINK.sub(there, piece) for piece, is_code in _pieces(text))


def page_of(path: str) -> str:
    """Return the site's page for a program or a folder without its own page: the program, or a list."""
    file = ROOT / path
    if file.is_dir():
        entries = sorted(entry for entry in file.iterdir() if entry.suffix in _LISTED)
        lines = (f"- [{_title(entry)}]({entry.name})" for entry in entries)
        return f"# {file.name}\n\n" + "\n".join(lines) + "\n"
    return f"# {path}\n\n``````python\n{file.read_text(encoding='utf-8')}``````\n"


def linked_pages(pages: Iterable[str], known: Callable[[str], bool]) -> Iterator[str]:
    """Yield the pages that the given pages link to, directly or through others, each once.

    Args:
        pages: Paths of pages to start from.
        known: Whether a path is on the site anyway.
    """
    open_pages, seen = list(pages), set(pages)
    while open_pages:
        path = open_pages.pop()
        file = ROOT / path
        folder = file.is_dir() and not (file / "README.md").exists()
        text = page_of(path) if folder else file.read_text(encoding="utf-8")
        for target in targets(text, f"{path}/index.md" if folder else path):
            target = f"{target}/README.md" if (ROOT / target / "README.md").exists() else target
            if target in seen or not (ROOT / target).exists():  # the build reports missing targets
                continue
            seen.add(target)
            if not known(target):
                yield target
            if target.endswith(".md") or (ROOT / target).is_dir():
                open_pages.append(target)


def _target(link: str, path: str) -> str | None:
    """Return the target of a link, from the root; None if it is outside the repository or on the same page."""
    to = link.partition("#")[0]
    if not to or re.match(r"[a-z]+:", to):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), to))
    return None if target.startswith(("..", "/")) else target


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a page in order, each with whether it is code or a formula."""
    end = 0
    for found in _CODE.finditer(text):
        yield text[end : found.start()], False
        yield found.group(), True
        end = found.end()
    yield text[end:], False


def _title(entry: Path) -> str:
    heading = re.search(r"^# (.+)$", entry.read_text(encoding="utf-8"), flags=re.M) if entry.suffix == ".md" else None
    return heading.group(1) if heading else f"`{entry.name}`"
