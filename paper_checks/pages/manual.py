"""`rankproof help TOPIC`: the pages of the documentation in the terminal, also where only a wheel is installed."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from workloads.arguments import add_command, read_name

WIDTH = 124
"""Most columns, which lines of code need."""
MAIN = "readme"
"""Topic of the main page."""
AUTHORS = "your-own-paper"
"""Topic of the page for authors of papers, which comes next."""
_ROOT = Path(__file__).resolve().parents[2]
_CHECKOUT, _WHEEL = _ROOT / "docs", _ROOT / "rankproof_docs"
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]*)\)")
_FENCED = re.compile(r"(^[ \t]*```.*?^[ \t]*```[ \t]*$)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+[^`]*`+)")


class ManualError(ValueError):
    """A topic that no page has."""


def declare(commands: Any) -> None:
    """Declare the command that shows pages of the documentation."""
    show = add_command(
        commands,
        "help",
        _help,
        "show a page of the documentation, or list the pages",
        "rankproof help claims",
        several=None,
    )
    show.add_argument(
        "topic", nargs="?", type=read_name, metavar="TOPIC", help="a page, or a word of its name; default: list all"
    )


def pages() -> dict[str, Path]:
    """Return the pages of the documentation by topic: those of the checkout, or of the wheel."""
    folder = _CHECKOUT if _CHECKOUT.is_dir() else _WHEEL
    main = next((file for file in (folder / "README.md", _ROOT / "README.md") if file.is_file()), None)
    found = {file.stem: file for file in sorted(folder.glob("*.md")) if file.stem != "README"}
    return ({MAIN: main} if main is not None else {}) | found


def find_page(asked: str, known: Mapping[str, Path]) -> str:
    """Return the topic that a name means: itself, or the one of which it is a word, in the singular or the plural.

    Raises:
        ManualError: No topic has it, or several have.

    >>> pages = dict.fromkeys(["adding-a-claim", "verdicts", "contest-a-verdict"], Path())
    >>> find_page("claims", pages), find_page("verdict", pages)
    ('adding-a-claim', 'verdicts')
    """
    wanted = re.sub(r"\.md$", "", asked.strip().lower()).replace(" ", "-").replace("_", "-")
    for found in (
        [topic for topic in known if topic == wanted],
        [topic for topic in known if _singular(topic) == _singular(wanted)],
        [topic for topic in known if _singular(wanted) in map(_singular, topic.split("-"))],
        [topic for topic in known if wanted and wanted in topic],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise ManualError(f"{asked!r} can mean several pages: {', '.join(found)}; name one of them")
    near = get_close_matches(wanted, list(known), 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`rankproof help` lists all pages"
    raise ManualError(f"no page {asked!r}; {hint}")


def _singular(word: str) -> str:
    return word.removesuffix("s")


def page_text(file: Path, known: Mapping[str, Path], encoding: str = "utf-8") -> str:
    """Return a page in Markdown for a terminal: formulas as plain text, links as commands, without pictures.

    Args:
        file: The page.
        known: All pages, by topic.
        encoding: Encoding of the terminal.
    """
    from paper_checks.pages.plain_mathematics import plain_text

    parts = _FENCED.split(file.read_text(encoding="utf-8"))
    found = []
    for number, part in enumerate(parts):
        if number % 2:
            found.append(part)
            continue
        linked = _LINK.sub(lambda link: _in_words(link, known), part)
        pieces = _CODE.split(linked)
        found.append(
            "".join(one if place % 2 else _plain(one, plain_text, encoding) for place, one in enumerate(pieces))
        )
    return "".join(found)


def _plain(text: str, plain_text: Any, encoding: str) -> str:
    """Return a text with its formulas in plain characters, line by line, so tables and lists stay."""
    return "\n".join(plain_text(line, encoding) if line.count("$") > 1 else line for line in text.split("\n"))


def _in_words(link: re.Match[str], known: Mapping[str, Path]) -> str:
    """Return a link as the command that shows its page; an address stays, and a picture becomes its words."""
    picture, text, target = link.groups()
    if picture:
        return f"(picture: {text})" if text else ""
    if target.startswith(("http://", "https://")):
        return link[0]
    topic = Path(target.partition("#")[0]).stem if target.partition("#")[0].endswith(".md") else ""
    topic = MAIN if topic == "README" and target.count("/") < 2 else topic
    return f"{text} (`rankproof help {topic}`)" if topic in known else text


def _title(file: Path) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()
    return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), file.stem)


def _listed(known: Mapping[str, Path]) -> Iterator[str]:
    width = max(map(len, known))
    first = [topic for topic in (MAIN, AUTHORS) if topic in known]
    order = (*first, *(topic for topic in known if topic not in first))
    yield from (f"{topic:{width}}  {_title(known[topic])}" for topic in order)
    if AUTHORS in known:
        yield f"For a paper of your own: `rankproof help {AUTHORS}` has what the first checks need."
    yield "`rankproof help TOPIC` shows a page, and `rankproof COMMAND --help` the options of a command."


def _help(options: argparse.Namespace) -> int:
    known = pages()
    if not known:
        raise ManualError(f"no pages are installed in {_WHEEL}; install rankproof again")
    if options.topic is None:
        print("\n".join(_listed(known)))
        return 0
    from rich.console import Console
    from rich.markdown import Markdown

    encoding = (sys.stdout.encoding or "utf-8").lower()
    file = known[find_page(options.topic, known)]
    width = min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH)
    Console(file=sys.stdout, width=width).print(Markdown(page_text(file, known, encoding)))
    return 0
