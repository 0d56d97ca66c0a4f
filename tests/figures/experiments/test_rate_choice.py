"""Which learning rates are tried, in which order, and which one is chosen."""

import pandas as pd
import pytest

from figures.experiments.rate_choice import best_rate, describe_seeds, next_tries

GRID = (0.005, 0.01, 0.02, 0.05)


def first(values, seed=0):
    return {(rate, seed): value for rate, value in values.items()}


@pytest.mark.parametrize(
    ("values", "grid", "expected"),
    [
        ({0.3: 0.0, 0.1: 0.0}, (0.3, 0.1), [(0.03, 0)]),
        ({0.3: 0.0, 0.1: 0.0, 0.03: 0.5}, (0.3, 0.1), [(0.01, 0)]),
        ({0.3: 0.0, 0.1: 0.0, 0.001: 0.0}, (0.3, 0.1), []),
        (dict(zip(GRID, (0.5, 0.6, 0.7, 0.8), strict=True)), GRID, [(0.1, 0)]),
        (dict(zip(GRID, (0.5, 0.5, 0.4, 0.3), strict=True)), GRID, [(0.002, 0)]),
        (dict(zip(GRID, (0.5, 0.6, 0.4, 0.3), strict=True)), GRID, []),
        # The last rate that is tried is a hundred times smaller, although 1e-6 x 100 is below 1e-4 in rounding.
        ({1e-4: 0.5, 1e-3: 0.4, 1e-5: 0.6}, (1e-4, 1e-3), [(1e-6, 0)]),
        ({1e-4: 0.5, 1e-3: 0.4, 1e-5: 0.6, 1e-6: 0.7}, (1e-4, 1e-3), []),
        ({0.01: 0.5, 10**-1.5: 0.6}, (0.01, 10**-1.5), [(0.1, 0)]),
        ({0.01: 0.6, 10**-1.5: 0.5}, (0.01, 10**-1.5), [(float(f"{10**-2.5:.12g}"), 0)]),
    ],
)
def test_rates_continue_while_the_best_is_at_an_end(values, grid, expected):
    assert next_tries(first(values), grid) == expected


def test_a_single_rate_is_no_choice():
    assert next_tries({}, (0.1,)) == next_tries({}, ()) == []


@pytest.mark.parametrize(("value", "expected"), [(0.795, [(0.02, 1), (0.01, 1)]), (0.7949, [])])
def test_a_second_seed_is_asked_for_up_to_half_a_point(value, expected):
    values = first({0.005: 0.6, 0.02: 0.8, 0.01: value, 0.05: 0.7})
    assert next_tries(values, GRID) == expected
    assert next_tries(values, GRID, "paper") == expected


def test_each_close_rate_gets_the_second_seed_once():
    values = first({0.005: 0.6, 0.01: 0.797, 0.02: 0.8, 0.05: 0.7})
    assert next_tries(values | {(0.01, 1): 0.9}, GRID) == [(0.02, 1)]
    assert next_tries(values | {(0.01, 1): 0.9, (0.02, 1): 0.8}, GRID) == []


def test_means_over_both_seeds_decide_only_among_rates_that_have_both():
    values = first({0.005: 0.6, 0.01: 0.797, 0.02: 0.8, 0.05: 0.79})
    assert best_rate(values) == best_rate(values | {(0.01, 1): 0.9}) == 0.02
    assert best_rate(values | first({0.01: 0.784, 0.02: 0.78}, 1)) == 0.01
    assert best_rate(values | first({0.01: 0.782, 0.02: 0.78}, 1)) == 0.02
    assert best_rate(values | first({0.01: 0.784, 0.02: 0.78, 0.05: 0.99}, 1)) == 0.01  # 0.05 was out by the first seed


def test_a_second_seed_that_moves_the_best_to_an_end_continues_the_grid():
    values = first({0.1: 0.7, 0.3: 0.8, 1.0: 0.797}) | first({0.3: 0.7, 1.0: 0.8}, 1)
    assert next_tries(values, (0.1, 0.3)) == [(3.0, 0)]
    assert next_tries(values | {(3.0, 0): 0.1}, (0.1, 0.3)) == []
    assert best_rate(values | {(3.0, 0): 0.1}) == 1.0


def test_of_equal_rates_the_first_is_chosen_and_the_smallest_if_every_run_fails():
    assert best_rate(first({0.3: 0.8, 0.1: 0.8})) == 0.3
    assert best_rate(first({0.3: 0.0, 0.1: 0.0, 0.2: 0.0})) == 0.1


def test_the_seed_of_the_first_runs_is_named_first():
    assert describe_seeds(pd.DataFrame({"seed": [99, 99]})) == "seed 99"
    assert describe_seeds(pd.DataFrame({"seed": [198, 199, 199]})) == (
        "seed 199 (and 198 for rates that differ by at most 0.5 points)"
    )
