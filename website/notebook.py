"""Pages as notebooks: `python website/notebook.py` runs their cells and writes outputs, pictures and notebooks.

The pages in `docs/` are the sources. A block of Python is a cell, and so is a block of commands that is followed by a
block `text`, its output. All other blocks are shown but not run. The figures that a cell of Python opens are the
pictures after it.
"""

from __future__ import annotations

import base64
import contextlib
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = tuple(DOCS / f"{name}.md" for name in ("tutorial", "spectra-by-example", "training-by-example"))
_CELL = re.compile(
    r"^```(?P<kind>python|bash)\n(?P<source>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?"
    r"(?:\n!\[(?P<title>[^]\n]*)\]\((?P<picture>figures/[^)\n]*)\)\n)?",
    flags=re.M | re.S,
)


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        kind: `words`, `python` or `bash`.
        source: Markdown, a program, or commands.
        output: Printed text; empty for words.
        title: Title of the figure that the cell draws.
        picture: Place of its picture in the folder of the pages; empty if it draws none.
    """

    kind: str
    source: str
    output: str = ""
    title: str = ""
    picture: str = ""


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
        fields = (block[name] or "" for name in ("output", "title", "picture"))
        found.append(Cell(block["kind"], block["source"].rstrip("\n"), *fields))
        words = ""
    words += page[done:]
    return found + ([Cell("words", words.strip())] if words.strip() else [])


def run(todo: Sequence[Cell], folder: Path, name: str = "cell") -> Iterator[Cell]:
    """Yield the cells with their output; programs share their names, commands run in a shell, in a folder.

    Commands do not see the user's stored results of claims, which `rankproof show` would print with their date.

    Args:
        todo: The cells.
        folder: Folder for the commands; the pictures are written to its folder `figures`.
        name: Beginning of the names of the pictures.

    Raises:
        CalledProcessError: A command fails; what a program raises is not caught.
    """
    names: dict[str, Any] = {}
    pictures = (f"figures/{name}-{number}.png" for number in itertools.count(1))
    others = _open_figures()
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    environment = {**os.environ, "PATH": path, "RANKPROOF_CACHE": str(folder / ".cache")}
    for cell in todo:
        if cell.kind == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(cell.source, names)
            title, picture = _draw(folder, pictures, others)
            yield replace(cell, output=printed.getvalue(), title=title, picture=picture)
        elif cell.kind == "bash":
            command = ["/bin/sh", "-ec", cell.source]
            done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            yield replace(cell, output=done.stdout)
        else:
            yield cell


def _open_figures() -> frozenset[int]:
    pyplot = sys.modules.get("matplotlib.pyplot")
    return frozenset(pyplot.get_fignums()) if pyplot else frozenset()


def _draw(folder: Path, places: Iterator[str], others: frozenset[int]) -> tuple[str, str]:
    """Write the figure that a cell has opened, if any, to the next of the places; return its title and its place."""
    numbers = sorted(_open_figures() - others)
    if not numbers:
        return "", ""
    from matplotlib import pyplot

    if len(numbers) > 1:
        for number in numbers:
            pyplot.close(number)
        raise ValueError(f"a cell must draw at most one figure, got {len(numbers)}")
    figure, picture = pyplot.figure(numbers[0]), next(places)
    title = figure.get_suptitle() or figure.axes[0].get_title()
    (folder / picture).parent.mkdir(exist_ok=True)
    figure.savefig(folder / picture, dpi=130, metadata={"Software": None})
    pyplot.close(figure)
    return title, picture


def page_of(done: Sequence[Cell]) -> str:
    """Return the page with the outputs of its cells."""
    parts = []
    for cell in done:
        output = f"\n\n```text\n{cell.output}```" if cell.output else ""
        output += f"\n\n![{cell.title}]({cell.picture})" if cell.picture else ""
        parts.append(cell.source if cell.kind == "words" else f"```{cell.kind}\n{cell.source}\n```{output}")
    return "\n\n".join(parts) + "\n"


def notebook(done: Sequence[Cell], folder: Path = DOCS) -> str:
    """Return the notebook as JSON, format 4.4; commands are lines that begin with `!`.

    Args:
        done: The cells with their outputs.
        folder: Folder that the places of pictures start from.
    """
    written: list[dict[str, Any]] = []
    for cell in done:
        if cell.kind == "words":
            written.append({"cell_type": "markdown", "metadata": {}, "source": _lines(_in_dollars(cell.source))})
            continue
        source = re.sub("^", "!", cell.source, flags=re.M) if cell.kind == "bash" else cell.source
        stream = {"name": "stdout", "output_type": "stream", "text": _lines(cell.output)}
        outputs: list[dict[str, Any]] = [stream] if cell.output else []
        if cell.picture:
            data = {
                "image/png": base64.b64encode((folder / cell.picture).read_bytes()).decode(),
                "text/plain": [cell.title],
            }
            outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
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
    """Run the cells of the pages, and write the pages, their pictures and the notebooks."""
    import matplotlib

    matplotlib.use("Agg")
    for page in PAGES:
        with TemporaryDirectory() as folder:
            done = list(run(cells(page.read_text(encoding="utf-8")), Path(folder), page.stem))
            for cell in done:
                if cell.picture:
                    shutil.copy(Path(folder, cell.picture), DOCS / cell.picture)
        page.write_text(page_of(done), encoding="utf-8")
        page.with_suffix(".ipynb").write_text(notebook(done), encoding="utf-8")


if __name__ == "__main__":
    main()
