"""Tests that what the toolkit shows for small inputs is what is on record."""

import math

import numpy as np
import pytest
from recording import Within, cases, differences, kept, parts, plain, refused, run

ALL = [(part, name) for part in parts() for name in cases(part)]


@pytest.mark.parametrize(("part", "name"), ALL, ids=[f"{part}/{name}" for part, name in ALL])
def test_what_is_shown_is_on_record(part, name):
    record = kept(part)
    remedy = f"PYTHONPATH=. python tests/records/recording.py {part}"
    assert name in record, f"a new case; {remedy} records it"
    found = list(differences(record[name], run(cases(part)[name])))
    assert not found, "\n".join([*found[:10], f"if this is meant: {remedy}"])


@pytest.mark.parametrize("part", parts())
def test_a_record_has_no_more_than_its_cases(part):
    assert set(kept(part)) <= set(cases(part))


@pytest.mark.parametrize(
    ("before", "after", "alike"),
    [
        (1.0, 1.0 + 9e-7, True),
        (1.0, 1.0 + 2e-6, False),
        (0.0, 9e-13, True),
        (0.0, 2e-12, False),
        (3, 3.0, False),
        (True, 1, False),
        ("nan", "inf", False),
        ("at 0.123 in 15 steps", "at 0.124 in 15 steps", True),
        ("at 0.123 in 15 steps", "at 0.125 in 15 steps", False),
        ("at 0.123 in 15 steps", "at 0.123 in 16 steps", False),
        ("1e+03 s", "999 s", True),
        ("1 s", "0.999 s", True),
        ("1e+06", "3", False),
        ("p = 0", "p = 0.9", False),
        ("3000000 bytes", "3000002 bytes", False),
        ("#009e7359", "#009e7326", False),
        ("1e400", "1e300", False),
        ("1.2e-05", "1.3e-05", True),
        ("1.2e-05", "1.4e-05", False),
        ("v1.2.3", "v1.2.4", False),
        ([1.0, 2.0], [1.0], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ({"within": 0.1, "value": [1.0]}, {"within": 0.1, "value": [1.09]}, True),
        ({"within": 0.1, "value": [1.0]}, {"within": 0.1, "value": [1.2]}, False),
        ({"within": 0.1, "value": [1.0]}, {"within": 0.2, "value": [1.0]}, False),
    ],
)
def test_numbers_differ_beyond_their_tolerance(before, after, alike):
    assert (not list(differences(before, after))) is alike


def test_values_become_plain():
    assert plain([np.float64(0.5), np.arange(2), math.inf, 1 + 2j, (None, "x"), {1: True}]) == [
        *(0.5, [0, 1], "inf", [1.0, 2.0], [None, "x"], {"1": True})
    ]
    assert plain(Within(0.1, np.float32(0.5))) == {"within": 0.1, "value": 0.5}
    assert plain(iter((1, 2.0))) == [1, 2.0]
    assert refused(float, "x") == "ValueError: could not convert string to float: 'x'"
    assert refused(float, "1") == 1.0
