"""One sentence with numbers stands over every picture and inside it."""

from pathlib import Path

import pytest
from matplotlib import rc_context

from figures.ledger import all_figures
from figures.make import table_of
from figures.style import STYLE

STORED = Path(__file__).parents[2] / "docs" / "figures"
FIGURES = [figure for figure in all_figures() if (STORED / f"{figure.slug}.csv").exists()]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_headline_tells_a_number_and_lies_inside(figure):
    table = table_of((STORED / f"{figure.slug}.csv").read_text())
    with rc_context(STYLE):
        picture = figure.picture(table)
        picture.draw_without_rendering()
    headline = picture.get_suptitle().replace("\n", " ")
    assert headline == figure.headline(table)
    assert any(letter.isdigit() for letter in headline)
    assert "nan" not in headline.lower().split()
    title, whole = picture._suptitle.get_window_extent(), picture.bbox
    assert whole.x0 <= title.x0 < title.x1 <= whole.x1
    assert whole.y0 <= title.y0 < title.y1 <= whole.y1
    for axes in picture.axes:
        assert title.y0 >= axes.get_window_extent().y1
    for legend in picture.legends:
        assert not title.overlaps(legend.get_window_extent())
