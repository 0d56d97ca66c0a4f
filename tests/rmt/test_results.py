"""Results as text, as plain values and as tables."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from algorithms.rounds import Step
from hessian import DenseOperator, Interval, SpectrumSettings, fit_spiked, measure_spectrum
from hessian.fits.bulk_laws import LawFit
from hessian.numerics.intervals import StableRankInterval
from rmt import Comparison, Semicircle, SpikedModel
from rmt.results import SHOWN, Result, format_value, plain


@dataclass(frozen=True)
class Counted(Result):
    """A result with a text of its own."""

    name: str
    values: tuple[float, ...]
    parts: dict[str, int] = field(default_factory=dict)
    inner: Interval | None = None


def report():
    """Return the spectrum of a matrix with two outliers."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((60, 60)) / 60**0.5
    matrix = np.diag([9.0, -5.0, *[0.0] * 58]) + 0.2 * (noise + noise.T) / 2**0.5
    return measure_spectrum(DenseOperator(torch.tensor(matrix)), SpectrumSettings(outliers=5, probes=2, steps=20))


MODEL = SpikedModel((2.0, -0.5), scale=0.8)
RESULTS = [
    MODEL,
    MODEL.outliers[0],
    MODEL.stable_rank(100),
    Comparison("the edge", 2.0, 1.9, 0.1, "sample", 7),
    Interval(1.5, 1.25, float("inf")),
    Counted("a", (1.0, float("-inf")), {"x": 3}, Interval(1.0, 0.5, 2.0)),
    LawFit("semicircle", Semicircle(0.5), 1.0, Interval(0.1, 0.05, 0.2)),
    Step({"round": 3.0, "loss": 0.25}, None, None),
    fit_spiked(np.concatenate([np.linspace(-1.0, 1.0, 80), [4.0, 5.0]])),
    report(),
    report().stable_rank,
    report().fit,
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_result_is_three_lines_plain_values_and_a_table(result):
    assert 1 <= len(str(result).splitlines()) <= 3
    assert repr(result).startswith(f"{type(result).__name__}(")
    json.dumps(result.to_dict(), allow_nan=False)
    html = result._repr_html_()
    assert html.startswith("<table>")
    assert html.count("<tr>") == html.count("</tr>") == len(result.words())


def test_plain_values_are_those_of_the_fields():
    assert RESULTS[5].to_dict() == {
        "name": "a",
        "values": [1.0, "-inf"],
        "parts": {"x": 3},
        "inner": {"value": 1.0, "low": 0.5, "high": 2.0},
    }
    assert RESULTS[7].to_dict() == {"metrics": {"round": 3.0, "loss": 0.25}}


def test_the_words_of_an_interval():
    rank = StableRankInterval(
        3.237, 3.225, 3.252, 0.95, Interval(4.532, 4.53, 4.54), Interval(8.153, 8.137, 8.172), -4.532, 1e-5, True,
        1.4e-5, 0.0084, 18, 10, 28, True,
    )  # fmt: skip
    first, second = str(rank).splitlines()
    width = "width 0.0014 % from the norm (certified), 0.84 % from 10 probes"
    assert first == f"stable rank    3.237, 3.225 to 3.252 at 95 %; {width}"
    assert second == "norms          spectral 4.532 (eigenvalue -4.532), Frobenius 8.153, 8.137 to 8.172"


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((1.00213, 1.00204, 1.00241), "1.0021, 1.0020 to 1.0024"),
        ((-5.0, -5.0000004, -4.9999996), "-5.0000000, -5.0000004 to -4.9999996"),
        ((2.0, 2.0, 2.0), "2, 2 to 2"),
        ((0.5, 0.0, 1.0), "0.5, 0 to 1"),
        ((3.0, 2.9, float("inf")), "3, 2.9 to inf"),
        ((5.0, 5.0, 5.0 + 4e-8), "5, 5 to 5"),
        ((1.0, 1.0, 1.0 + 2**-52), "1, 1 to 1"),
    ],
)
def test_the_ends_of_an_interval_are_told_apart(numbers, words):
    assert str(Interval(*numbers)) == words


def test_html_is_escaped():
    html = Counted("<script>alert('&')</script>", (1.0,))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_plain_values():
    assert plain((np.float64(1.5), torch.tensor([1, 2]), float("nan"))) == [1.5, [1, 2], None]
    inside = {"a": Pair(float("inf"), Interval(1.0, 0.5, float("inf"))), "b": [(float("-inf"),)]}
    for finite_only, high, low in ((True, None, None), (False, "inf", "-inf")):
        interval = {"value": 1.0, "low": 0.5, "high": high}
        assert plain(inside, finite_only) == {"a": {"one": high, "other": interval}, "b": [[low]]}


@dataclass(frozen=True)
class Pair:
    """A dataclass that is not a result."""

    one: float
    other: Interval


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (tuple(range(SHOWN)), "0, 1, 2, 3, 4, 5"),
        (tuple(range(SHOWN + 1)), "0, 1, 2, 3, 4, 5, ... (7 computed)"),
        (((1.0, 2.0), (3.0,), ()), "3 of 2, 1, 0 numbers"),
        ([np.zeros(4), np.zeros(2)], "2 of 4, 2 numbers"),
        (np.zeros((3, 5)), "3 x 5 numbers"),
        (np.array([1.5, -2.0]), "1.5, -2"),
        (np.array(12345.678), "1.235e+04"),
        ({"a": 1234, "b": True, "c": None}, "a 1,234, b yes, c none"),
        ({}, "none"),
        ((), "none"),
        (Interval(2.0, 1.0, 3.0), "2, 1 to 3"),
        ("text", "text"),
    ],
)
def test_values_in_words(value, words):
    assert format_value(value) == words


def test_names_of_rmt_are_loaded_when_they_are_asked_for():
    import rmt

    assert all(getattr(rmt, name) is not None for name in rmt.__all__)
    assert set(rmt._HOMES) == set(rmt.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rmt.nothing  # noqa: B018
