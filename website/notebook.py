"""The tutorial as a notebook: `python website/notebook.py` runs its cells and writes their outputs and the notebook.

The page `docs/tutorial.md` is the source. A block of Python is a cell, and so is a block of commands that is followed
by a block `text`, its output. All other blocks are shown but not run.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorial.md"
_CELL = re.compile(
    r"^```(?P<kind>python|bash)\n(?P<source>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", flags=re.M | re.S
)


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        kind: `words`, `python` or `bash`.
        source: Markdown, a program, or commands.
        output: Printed text; empty for words.
    """

    kind: str
    source: str
    output: str = ""


def cells(page: str) -> list[Cell]:
    """Return the cells of a page in their order."""
    found, words, done = [], "", 0
    for block in _CELL.finditer(page):
        words += page[done : block.start()]
        done = block.end()
        if block["kind"] == "bash" and block["output"] is None:
            words += block.group()
            continue
        found += [Cell("words", words.strip())] if words.strip() else []
        found.append(Cell(block["kind"], block["source"].rstrip("\n"), block["output"] or ""))
        words = ""
    words += page[done:]
    return found + ([Cell("words", words.strip())] if words.strip() else [])


def run(todo: Sequence[Cell], folder: Path) -> Iterator[Cell]:
    """Yield the cells with their output; programs share their names, commands run in a shell, in a folder.

    Commands do not see the user's stored results of claims, which `rankproof show` would print with their date.

    Raises:
        CalledProcessError: A command fails; what a program raises is not caught.
    """
    names: dict[str, Any] = {}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    environment = {**os.environ, "PATH": path, "RANKPROOF_CACHE": str(folder / ".cache")}
    for cell in todo:
        if cell.kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(cell.source, names)
            yield replace(cell, output=printed.getvalue())
        elif cell.kind == "bash":
            command = ["/bin/sh", "-ec", cell.source]
            done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            yield replace(cell, output=done.stdout)
        else:
            yield cell


def page_of(done: Sequence[Cell]) -> str:
    """Return the page with the outputs of its cells."""
    parts = []
    for cell in done:
        output = f"\n\n```text\n{cell.output}```" if cell.output else ""
        parts.append(cell.source if cell.kind == "words" else f"```{cell.kind}\n{cell.source}\n```{output}")
    return "\n\n".join(parts) + "\n"


def notebook(done: Sequence[Cell]) -> str:
    """Return the notebook as JSON, format 4.4; commands are lines that begin with `!`."""
    written: list[dict[str, Any]] = []
    for cell in done:
        if cell.kind == "words":
            written.append({"cell_type": "markdown", "metadata": {}, "source": _lines(_in_dollars(cell.source))})
            continue
        source = re.sub("^", "!", cell.source, flags=re.M) if cell.kind == "bash" else cell.source
        stream = {"name": "stdout", "output_type": "stream", "text": _lines(cell.output)}
        outputs = [stream] if cell.output else []
        written.append(
            {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": outputs, "source": _lines(source)}
        )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _in_dollars(words: str) -> str:
    """Return formulas without the backquotes that GitHub's pages need."""
    return re.sub(r"\$`([^`]+)`\$", r"$\1$", words)


def main() -> None:
    """Run the cells of the page, and write the page and the notebook."""
    with TemporaryDirectory() as folder:
        done = list(run(cells(PAGE.read_text(encoding="utf-8")), Path(folder)))
    PAGE.write_text(page_of(done), encoding="utf-8")
    PAGE.with_suffix(".ipynb").write_text(notebook(done), encoding="utf-8")


if __name__ == "__main__":
    main()
