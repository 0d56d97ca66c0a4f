"""Stored values of a witness or a certificate are read, never run."""

import json

import pytest
import sympy

from paper_checks.replay import ReplayError, stored, stored_path
from paper_checks.stored_values import CHANGES, MOST_TRIED, changed_values, expression, require_short

X, N = sympy.symbols("x n")


def test_an_expression_is_that_of_its_text():
    assert expression("-(x - 1)**2 / (2*n)", {"x": X, "n": N}) == -((X - 1) ** 2) / (2 * N)
    assert expression("1/3", {}) == sympy.Rational(1, 3)
    assert expression("2**-n", {"n": N}) == 2 ** (-N)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()",
        "x.args",
        "y",
        "0.5",
        "x if n else 1",
        "x < 1",
        "[x]",
        "(lambda: x)()",
        "x +",
        "",
        "'x'",
        "True",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="is not an expression in x, n"):
        expression(text, {"x": X, "n": N})


@pytest.mark.parametrize("text", ["10**10**10", "x**99999", "(2**4000)**4000", "2**-99999", "(1/3)**99999"])
def test_powers_that_take_longer_to_write_out_than_to_ask_for_are_refused(text):
    with pytest.raises(ValueError, match="write a smaller one"):
        expression(text, {"x": X})


LONG = ["1e999999999", " -2.5E-999999999 ", "1e+4301", "1_0e1_0000"]


@pytest.mark.parametrize("text", LONG)
@pytest.mark.parametrize("kind", ["witness", "certificate"])
def test_numbers_that_take_minutes_to_write_out_are_refused_where_files_are_read(text, kind, tmp_path):
    path = stored_path(tmp_path, "a/b", kind)
    path.parent.mkdir()
    path.write_text(json.dumps({"id": "a/b", "values": {"rows": [{"step": text}]}}))
    with pytest.raises(ReplayError, match=rf"{path.name} is not .*exponent above 4300: write a smaller number"):
        stored(tmp_path, "a/b")


def test_other_texts_are_left_alone():
    require_short({"a": ["1e4300", "1e-30", "1/3", "case1e9999", "e9999", 10**400, 1e300, None, True], "1e9999": {}})


@pytest.mark.parametrize(("count", "apart"), [(1, 1), (11, 1), (12, 2), (23, 2), (24, 3), (50, 5)])
def test_values_that_are_changed_are_spread_evenly_over_the_file(count, apart):
    """Each time one of them changes; of a long row, the last ones change as well."""
    values = {"x": [10 + number for number in range(count)]}
    places = []
    for changed in changed_values(values):
        (place,) = (number for number, other in enumerate(changed["x"]) if other != values["x"][number])
        places.append(place)
    assert places == len(CHANGES) * list(range(0, count, apart))
    assert len(places) <= len(CHANGES) * MOST_TRIED
