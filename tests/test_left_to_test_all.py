"""The choice of the tests that `make test` leaves out."""

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def chooser(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1] / "benchmarks")
    return importlib.import_module("left_to_test_all")


def lines(*numbers):
    return {("rmt/a.py", number) for number in numbers}


def test_a_long_test_is_left_where_others_that_stay_run_its_lines(chooser):
    ran = {
        "tests/rmt/test_a.py::test_slowest": lines(1, 2),
        "tests/rmt/test_a.py::test_slow": lines(2, 3),
        "tests/rmt/test_a.py::test_alone": lines(3, 4),
        "tests/rmt/test_a.py::test_short": lines(1, 2),
        "tests/rmt/test_a.py::test_noticed": lines(1),
        "tests/rmt/test_a.py::test_numbers_are_on_record[one]": lines(1),
        "tests/rmt/test_a.py::test_a_command": set(),
        "tests/test_pages.py::test_all": lines(1),
    }
    seconds = dict(zip(ran, (9.0, 8.0, 7.0, 0.2, 3.0, 3.0, 5.0, 4.0), strict=True))
    found = chooser.left(seconds, ran, {"tests/rmt/test_a.py::test_noticed"}, 0.25)
    assert found == ["tests/rmt/test_a.py::test_slow", "tests/rmt/test_a.py::test_slowest"]
    few = {name: ran[name] for name in [*found, "tests/rmt/test_a.py::test_alone"]}
    assert chooser.left(dict.fromkeys(few, 1.0), few, set(), 0.25) == ["tests/rmt/test_a.py::test_slow"]


def test_only_what_noticed_counts_of_a_record(chooser):
    judged = [{"result": "noticed", "test": "a"}, {"result": "survived", "test": "b"}, {"result": "noticed"}]
    record = {"rmt": {"judged": judged, "noticed at once": {"key": "c", "other key": "d"}}}
    assert sorted(chooser.noticing([record])) == ["a", "c", "d"]
