"""What each setting takes, to its ends, and what a run without options is."""

import math
from dataclasses import FrozenInstanceError, asdict, replace

import pytest

from runs.settings import OPTIONS, RunError, TrainSettings, default

PLAIN = {
    "clients": 4, "cohort": None, "rounds": 100, "steps": 10, "learning_rate": 0.05, "rank": 2, "tau": 10,
    "restart": "random", "scale": 1.0, "truncation": 0.01, "rows": 10, "columns": 8, "heterogeneity": 0.5,
    "samples": 50, "seed": 0, "executor": "sequential",
}  # fmt: skip
SIZE, COUNT = 10**6, 10**9
WHOLE = {
    **dict.fromkeys(("clients", "rank", "rows", "columns", "samples"), (1, SIZE)),
    **dict.fromkeys(("rounds", "steps", "tau"), (1, COUNT)),
    "cohort": (1, SIZE),
    "seed": (0, 2**63 - 1),
}
TINY = math.ulp(0.0)
LARGEST = 1.7976931348623157e308
NUMBERS = {  # taken, refused
    "learning_rate": ((TINY, 3, LARGEST), (0.0, 0, -TINY, -1.0)),
    "scale": ((TINY, -TINY, -2, LARGEST), (0.0, -0.0, 0)),
    "truncation": ((0.0, 0, TINY, LARGEST), (-TINY, -1)),
    "heterogeneity": ((0.0, 0, TINY, LARGEST), (-TINY, -1)),
}
WORDS = {"restart": ("random", "momentum", "keep A"), "executor": ("sequential", "vmap")}


def taken(**changed):
    return replace(TrainSettings(clients=SIZE), **changed)


def test_a_run_without_options_is_the_documented_one():
    """Folders of earlier runs and the help rely on these."""
    assert asdict(TrainSettings()) == PLAIN == {name: default(name) for name in OPTIONS}
    assert set(WHOLE) | set(NUMBERS) | set(WORDS) == set(OPTIONS)
    assert {name for name, option in OPTIONS.items() if option.optional} == {"cohort"}
    with pytest.raises(FrozenInstanceError):
        TrainSettings().rounds = 3


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_taken_to_both_ends(name):
    least, most = WHOLE[name]
    for value in (least, most):
        assert getattr(taken(**{name: value}), name) == value
    for value in (least - 1, most + 1, 1.0, "1", True):
        with pytest.raises(RunError, match=f"{name} must be a whole number from {least} to {most:,}, got"):
            taken(**{name: value})
    if name == "cohort":
        assert taken(cohort=None).cohort is None
    else:
        with pytest.raises(RunError, match=f"{name} must be a whole number"):
            taken(**{name: None})


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_taken_to_both_ends(name):
    good, bad = NUMBERS[name]
    for value in good:
        assert getattr(taken(**{name: value}), name) == value
    for value in (*bad, math.inf, -math.inf, math.nan, 10**400, "1", None, False):
        with pytest.raises(RunError, match=f"{name} must be a finite number"):
            taken(**{name: value})


@pytest.mark.parametrize("name", WORDS)
def test_words_are_those_listed(name):
    for value in WORDS[name]:
        assert getattr(taken(**{name: value}), name) == value
    listed = ", ".join(map(repr, WORDS[name]))
    for value in ("", "Random", 0, None):
        with pytest.raises(RunError, match=f"{name} must be one of {listed}, got"):
            taken(**{name: value})


def test_a_cohort_is_at_most_all_clients():
    assert TrainSettings(clients=3, cohort=3).cohort == 3
    with pytest.raises(RunError, match="cohort must be at most the number of clients, 3, got 4"):
        TrainSettings(clients=3, cohort=4)
