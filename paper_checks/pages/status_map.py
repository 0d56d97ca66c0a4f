"""Maps of papers: a column for each section, a cell for each statement, as files and for the report.

``python -m paper_checks.pages.status_map docs/figures`` draws the maps of the verdicts on record.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markupsafe import escape

from paper_checks.claim import NOT_AS_MEANT, VERDICTS, Claim, Importance, Verdict
from paper_checks.pages.card import count_verdicts
from paper_checks.pages.plain_mathematics import plain_text
from paper_checks.pages.status_graph import SIGNS
from paper_checks.paper import Paper
from paper_checks.result import count_stubs
from workloads.arguments import write_documents
from workloads.files import write_whole

ROWS = 10
"""Cells of a column before the next begins; the report's style sheet has the same."""
SIZES: Mapping[Importance, float] = {"result": 22.0, "step": 17.0, "detail": 13.0}
_PITCH, _WIDTH, _HEAD, _BETWEEN = 24.0, 960.0, 22.0, 16.0


@dataclass(frozen=True)
class Cell:
    """One statement on a map.

    Attributes:
        id: Id of the claim.
        where: Where the paper has it; may hold LaTeX between dollar signs.
        verdict: Colours and signs the cell.
        importance: Sets its shape and size.
        is_stub: Nobody has written its check yet.
    """

    id: str
    where: str
    verdict: Verdict
    importance: Importance
    is_stub: bool = False

    @classmethod
    def of(cls, claim: Claim, verdict: Verdict) -> Cell:
        """Return the cell of a claim with a verdict."""
        return cls(claim.id, claim.where, verdict, claim.importance, claim.is_stub and verdict == claim.expect)

    @property
    def words(self) -> str:
        """Its text for screen readers."""
        return f"{plain_text(self.where)}: {'not checked yet' if self.is_stub else self.verdict}"

    @property
    def sign(self) -> str:
        """The sign of its verdict."""
        return SIGNS[self.verdict]


@dataclass(frozen=True)
class Column:
    """One section on a map.

    Attributes:
        title: Subject of the section.
        cells: Statements of the section in their order.
    """

    title: str
    cells: tuple[Cell, ...]


def of_ledger(paper: Paper) -> tuple[Column, ...]:
    """Return the columns of a paper with the verdicts on record; no check is run."""
    sections = (paper.read_theme(theme) for theme in paper.themes)
    return tuple(
        Column(title.rstrip("."), tuple(Cell.of(claim, claim.expect) for claim in claims)) for title, claims in sections
    )


def draw(name: str, columns: Sequence[Column]) -> str:
    """Return a map as self-contained SVG text.

    Args:
        name: Name of the paper.
        columns: Columns in the order of the paper; long ones continue in the next column.
    """
    cells = [cell for column in columns for cell in column.cells]
    counts = Counter(cell.verdict for cell in cells if not cell.is_stub)
    judged = [cell.verdict for cell in cells if not cell.is_stub]
    told = count_verdicts(judged) + count_stubs(len(cells) - len(judged), alone=not judged).removeprefix(": ")
    body: list[str] = []
    x, top, tallest = 0.0, 34.0, 0
    for number, column in enumerate(columns, 1):
        width = _PITCH * max(1, -(-len(column.cells) // ROWS))
        if x + width > _WIDTH:
            x, top = 0.0, top + _HEAD + _PITCH * tallest + _BETWEEN
            tallest = 0
        tallest = max(tallest, min(ROWS, len(column.cells)))
        body += _column(column, number, x, top)
        x += width + 6.0
    height = top + _HEAD + _PITCH * tallest + 66.0
    colours = _colours()
    rules = "".join(
        f".{_kind(verdict)}{{fill:{colours[_kind(verdict) + '-bg']};stroke:{colours[_kind(verdict)]}}}"
        f".t-{_kind(verdict)}{{fill:{colours[_kind(verdict)]}}}"
        for verdict in VERDICTS
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 0 {_WIDTH + 24:g} {height:g}" width="{_WIDTH + 24:g}" '
        f'height="{height:g}" role="img" aria-labelledby="name words" font-family="DejaVu Sans, sans-serif">'
    )
    return "\n".join(
        [
            head,
            f'<title id="name">Map of {escape(name)}</title>',
            f'<desc id="words">{len(columns)} sections, {len(cells)} claims: {told}.</desc>',
            f"<style>{rules}text{{text-anchor:middle;font-size:12px}}.k{{text-anchor:start}}</style>",
            f'<rect x="-12" width="{_WIDTH + 24:g}" height="{height:g}" fill="#fff"/>',
            f'<text class="k" y="20" font-weight="700">{escape(name)}: a column for each of {len(columns)} sections, '
            f"a cell for each of {len(cells)} claims</text>",
            *body,
            *_key(counts, sum(cell.is_stub for cell in cells), height - 36.0),
            "</svg>\n",
        ]
    )


def _column(column: Column, number: int, x: float, top: float) -> Iterator[str]:
    title = f"<title>{escape(plain_text(column.title))}</title>"
    yield f'<text x="{x + _PITCH / 2:g}" y="{top + 14:g}" fill="#565d68">{number}{title}</text>'
    for place, cell in enumerate(column.cells):
        across, down = divmod(place, ROWS)
        middle = x + _PITCH * (across + 0.5), top + _HEAD + _PITCH * (down + 0.5)
        yield f"<g><title>{escape(cell.words)}</title>{_shape(cell.importance, cell.verdict, *middle)}</g>"


def _shape(importance: Importance, verdict: Verdict, x: float, y: float) -> str:
    size, kind = SIZES[importance], _kind(verdict)
    radius = {"result": 2.0, "step": 3.0, "detail": size / 2.0}[importance]
    place = f'x="{x - size / 2:g}" y="{y - size / 2:g}" width="{size:g}" height="{size:g}" rx="{radius:g}"'
    stroke = 2 if importance == "result" else 1
    letters = f'x="{x:g}" y="{y + 0.24 * size:g}" style="font-size:{0.7 * size:.1f}px;font-weight:700"'
    signed, filled = letters, ""
    if importance == "result" and verdict in NOT_AS_MEANT:
        colours = _colours()
        signed = letters.replace('style="', f'style="fill:{colours[kind + "-bg"]};')
        filled = f' style="fill:{colours[kind]}"'
    sign = f'<text class="t-{kind}" {signed}>{SIGNS[verdict]}</text>'
    return f'<rect class="{kind}" stroke-width="{stroke}" {place}{filled}/>{sign}'


def _key(counts: Mapping[Verdict, int], stubs: int, y: float) -> Iterator[str]:
    x = 10.0
    for verdict in VERDICTS:
        if counts[verdict]:
            words = f"{verdict} {counts[verdict]}"
            yield f'{_shape("step", verdict, x, y - 4)}<text class="k" x="{x + 14:g}" y="{y:g}">{words}</text>'
            x += 34.0 + 7.2 * len(words)
    if stubs:
        words = f"not checked yet {stubs}"
        sign = _shape("step", "not checkable here", x, y - 4)
        yield f'{sign}<text class="k" x="{x + 14:g}" y="{y:g}">{words}</text>'
        x += 34.0 + 7.2 * len(words)
    for importance, size in SIZES.items():
        radius = size / 2 if importance == "detail" else 2
        place = f'x="{x:g}" y="{y - 4 - size / 2:g}" width="{size:g}" height="{size:g}" rx="{radius:g}"'
        yield f'<rect {place} fill="#f3f4f0" stroke="#565d68"/>'
        yield f'<text class="k" x="{x + size + 5:g}" y="{y:g}">{importance}</text>'
        x += size + 18.0 + 7.2 * len(importance)
    filled = "Filled squares: results that fail in the intended sense."
    yield f'<text class="k" x="0" y="{y + 22:g}" fill="#565d68">{filled}</text>'


def _kind(verdict: Verdict) -> str:
    return verdict.split(" ")[0]


@cache
def _colours() -> dict[str, str]:
    """Return the report's colours on white, by their names in its style sheet."""
    sheet = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    light = sheet[: sheet.index("@media")]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]+)", light))


def files(maps: Mapping[str, tuple[str, Sequence[Column]]], folder: Path) -> dict[Path, bytes]:
    """Return maps as the contents of SVG files in a folder.

    Args:
        maps: Maps by the short name of the paper: its name as people know it, columns.
        folder: Folder of the files.
    """
    return {folder / f"map-{name}.svg": draw(called, columns).encode() for name, (called, columns) in maps.items()}


def write(folder: Path) -> list[Path]:
    """Draw the maps of all papers on record into a folder.

    Raises:
        OSError: The folder cannot be written to.
    """
    from paper_checks.ledger import PAPERS

    drawn = files({paper.name: (paper.called or paper.name, of_ledger(paper)) for paper in PAPERS}, folder)
    return write_whole(drawn)


if __name__ == "__main__":
    sys.exit(write_documents("paper_checks.pages.status_map", "the maps of claims", "docs/figures", write))
