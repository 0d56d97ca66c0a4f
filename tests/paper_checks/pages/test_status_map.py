"""Maps as files have a cell for each claim and stand alone."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from paper_checks.ledger import PAPERS
from paper_checks.pages.status_map import ROWS, Cell, Column, draw, files, of_ledger, write

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>"&'


def cells(number, verdict="holds", importance="step"):
    return tuple(Cell(f"a/{place}", f"eq. {place}", verdict, importance) for place in range(number))


def shapes(text):
    """Rectangles of cells without those of the key."""
    groups = ElementTree.fromstring(text).iter(f"{SVG}g")
    return [next(group.iter(f"{SVG}rect")) for group in groups]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_each_claim_of_the_ledger_has_a_cell_of_its_verdict(paper):
    claims = paper.claims()
    drawn = shapes(draw(paper.called, of_ledger(paper)))
    assert [shape.get("class") for shape in drawn] == [claim.expect.split()[0] for claim in claims]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_stored_map_is_that_of_the_ledger(paper):
    """`make docs` draws it."""
    stored = Path(__file__).resolve().parents[3] / "docs" / "figures" / f"map-{paper.name}.svg"
    assert stored.read_text(encoding="utf-8") == draw(paper.called, of_ledger(paper))


def test_cells_do_not_lie_on_each_other_and_are_within_the_picture():
    columns = [Column("A.", cells(number)) for number in (1, ROWS, ROWS + 1, 35)] * 9
    text = draw("A", columns)
    _, _, width, height = (float(part) for part in ElementTree.fromstring(text).get("viewBox").split())
    places = [(float(shape.get("x")), float(shape.get("y"))) for shape in shapes(text)]
    assert len(set(places)) == len(places) == sum(len(column.cells) for column in columns)
    assert all(0 <= x <= width - 24 and 0 <= y <= height - 40 for x, y in places)


@pytest.mark.parametrize(
    ("verdict", "importance", "filled"),
    [
        ("refuted", "result", True),
        ("corrected", "result", True),
        ("ambiguous", "result", False),
        ("holds", "result", False),
        ("refuted", "step", False),
        ("corrected", "detail", False),
    ],
)
def test_results_that_do_not_hold_as_meant_are_filled(verdict, importance, filled):
    (shape,) = shapes(draw("A", [Column("A.", cells(1, verdict, importance))]))
    assert ("style" in shape.attrib) == filled


def test_names_are_text():
    odd = Cell("a/b", f"eq. 1 {HOSTILE}", "refuted", "result")
    text = draw(HOSTILE, [Column(HOSTILE, (odd,))])
    assert "<script" not in text
    assert f"eq. 1 {HOSTILE}: refuted" in [title.text for title in ElementTree.fromstring(text).iter(f"{SVG}title")]


def test_files_are_named_by_paper_and_load_nothing(tmp_path):
    assert list(files({"p": ("P", [Column("A.", cells(2))])}, tmp_path)) == [tmp_path / "map-p.svg"]
    written = sorted(write(tmp_path))
    assert written == sorted(tmp_path.iterdir())
    assert [path.name for path in written] == sorted(f"map-{paper.name}.svg" for paper in PAPERS)
    assert not any(re.search(r"<image|href|url\(", path.read_text(encoding="utf-8")) for path in written)
