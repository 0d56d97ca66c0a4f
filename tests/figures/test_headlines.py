"""Every picture has one sentence with numbers as its headline, inside the picture: one fact."""

import json
import re
from functools import cache

import pytest
from matplotlib import rc_context
from words_of_figures import FIGURES, RECORD, table_of, words

from figures.style import STYLE

ON_RECORD = json.loads(RECORD.read_text(encoding="utf-8"))


@cache
def stored(figure):
    """Stored table of a figure and its texts, which take seconds for some."""
    table = table_of(figure)
    return table, words(figure, table)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_every_sentence_is_the_one_on_record(figure):
    """After a change that is meant, `python tests/figures/words_of_figures.py` shows it and records it."""
    assert stored(figure)[1] == ON_RECORD[figure.id]


def test_every_figure_is_on_record():
    assert list(ON_RECORD) == [figure.id for figure in FIGURES]


@pytest.mark.sample(5)
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_headline_tells_a_number_and_lies_inside(figure):
    table, texts = stored(figure)
    expected = texts["headline"]
    with rc_context(STYLE):
        picture = figure.picture(table, texts["under the headline"])
        picture.draw_without_rendering()
    headline = picture.get_suptitle().strip().replace("\n", " ")
    assert headline == expected
    assert any(letter.isdigit() for letter in headline)
    assert "nan" not in headline.lower().split()
    title, whole = picture._suptitle.get_window_extent(), picture.bbox
    assert whole.x0 <= title.x0 < title.x1 <= whole.x1
    assert whole.y0 <= title.y0 < title.y1 <= whole.y1
    for axes in picture.axes:
        assert title.y0 >= axes.get_window_extent().y1
    for legend in picture.legends:
        assert not title.overlaps(legend.get_window_extent())


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_a_headline_has_at_most_fifteen_words(figure):
    headline = stored(figure)[1]["headline"]
    assert len(headline.split()) <= 15, headline


def numbers(text):
    """Numbers of a text with the size of their last digit."""
    found = []
    for number in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", text):
        mantissa, _, exponent = number.replace(",", "").partition("e")
        digits = len(mantissa.partition(".")[2])
        found.append((float(number.replace(",", "")), 10.0 ** (int(exponent or 0) - digits)))
    return found


TOLD = {  # what the finding does not tell in numbers
    "fedloru/language-ranks": (14, 36, 23, 27),  # sums over the numbers of samples
    "fedloru/fig-8": (2,),  # settings
    "fedloru/trained-ranks": (36, 45),  # sums over methods and rounds
    "hessian/alignment": (4,),  # cases
    "fedloru/toy": (0.0008, 0.2, 0.4),  # 0.00076 to 0.17, and 0.39 and 0.45
    "fedlrt/fig-4": (12, 5),  # marks of its matrix
    "rmt/stable-rank": (100, 0.0272),  # 0.0370 - 0.0098
}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_its_numbers_are_those_of_the_finding(figure):
    _, texts = stored(figure)
    known = [value for value, _ in numbers(texts["found"] + texts["sizes"] + figure.title)]
    known += TOLD.get(figure.id, ())
    for value, digit in numbers(texts["headline"]):
        assert any(abs(value - other) <= 0.51 * digit for other in known), value
