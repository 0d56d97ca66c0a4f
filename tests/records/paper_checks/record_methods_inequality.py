"""Records of inequalities over cases: sides, tolerances, witnesses, notes, and what is refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import sympy
from evidence_shown import shown
from recording import refused

from paper_checks.context import Context
from paper_checks.methods.domain import POSITIVE, UNIT, Axis, Described, Stated, tried
from paper_checks.methods.inequality import collect_cases, judge_inequality, steps_of
from paper_checks.methods.sides import checked_draws, checked_sides, exactly, number, require_decided, require_some

F = Fraction

SEARCH = Described("searched everywhere", 4)


def _judge(left, right, error=0.0, scope="cases", **rest):
    return shown(refused(judge_inequality, np.array(left), np.array(right), error, scope=scope, **rest))


def passes_with_its_least_quotient_and_share_of_near_equality():
    yield _judge([1.0, -2.0, 3.0, 0.99], [4.0, -1.0, 3.02, 1.0], quotient=True, domain=SEARCH, printed="a <= b")
    yield _judge([1.0, -2.0, 3.0, 0.98], [4.0, -1.0, 3.1, 1.0], quotient=True, domain=SEARCH)
    yield _judge([1.0, -2.0, 3.0, 0.5], [4.0, -1.0, 3.1, 1.0], domain=SEARCH)
    yield _judge([-1.0, 0.0], [-0.5, 2.0], quotient=True, domain=Described("all", 2))


def passes_without_a_domain_or_with_one_in_words():
    yield _judge([1.0], [2.0])
    yield _judge([1.0, 0.0], [2.0, 1.0], domain="what the author says")
    yield _judge([1.0, 0.0], [2.0, 1.0], domain=SEARCH)
    yield _judge([], [], domain=SEARCH)
    yield _judge([1.0] * 5, [2.0] * 5, domain=SEARCH)


def violations_by_the_greatest_difference():
    case = {"x": np.array([0.5, 1.5, 2.5]), "text": ["1/3", "2", "0.1"]}
    yield _judge([1.0, 5.0, 30.0], [2.0, 4.0, 28.0], case=case, quotient=True, domain="anything")
    yield _judge([1.0, 5.0, 30.0], [2.0, 4.0, 28.0], case=case, readable=[True, True, False])
    yield _judge([1.0, 3.0, 30.0], [2.0, 4.0, 28.0], case=case, readable=[True, True, False])
    yield _judge([-1.0, -2.0], [-1.5, -4.0])
    yield _judge([1.0, 5.0], [2.0, 4.0], case=[{"a": 1}, {"a": 2}])
    yield _judge([7.0, 5.0], [2.0, 4.0], case=lambda i: {"i": i + 10})


def borders_of_the_error_bound():
    for excess in (0.9e-7, 1e-7, 1.1e-7):
        yield _judge([0.0, 1.0 + excess], [1.0, 1.0], 1e-7, domain=Described("", 2))
    for error in (0.99e-6, 1.01e-6):
        yield _judge([1.0 + 5e-7], [1.0], error, domain=SEARCH)
    yield _judge([1.0 + 5e-3], [1.0], 6e-3, size=1e4, domain=SEARCH)
    yield _judge([1.0 + 5e-3], [1.0], 2e-2, size=1e5, domain=SEARCH)
    yield _judge([1.0 + 5e-3], [1.0], 2e-2, size=1e3, domain=SEARCH)
    yield _judge([1.0, 2.0], [1.1, 2.1], 0.5, domain=SEARCH)
    yield _judge([1.0, -2.0], [0.9, -2.1], [0.05, 0.2], domain=SEARCH)


def tolerances_of_cases_of_several_sizes():
    for size in (0.0, 1.0, 1e5):
        yield _judge([1000.0, 1.0], [999.9, 0.99], [0.2, 0.1], size=size, domain=SEARCH)
        yield _judge([-1.0, -1000.0], [-1.01, -1000.1], [0.1, 0.2], size=size, domain=SEARCH)


def strict_and_not_strict_at_equality():
    for strict in (False, True):
        yield _judge([1.0, 2.0], [1.0, 3.0], strict=strict, domain=SEARCH)
        yield _judge([1.0, 2.0], [1.0 + 5e-7, 3.0], 5e-7, strict=strict, domain=SEARCH)
        yield _judge([1.0, 2.0], [1.0 + 6e-7, 3.0], 5e-7, strict=strict, domain=SEARCH)


def exact_cases_decide():
    def sides(case):
        return case["x"] ** 2, case["x"]

    for strict in (False, True):
        for columns in ([0.5, 1.0, 0.25], [0.5, 1.25, 1.5], [F(1, 3), F(4, 3), 1]):
            x = np.array([float(value) for value in columns])
            rest = {"case": {"x": columns}, "exact": sides, "strict": strict, "domain": SEARCH}
            yield _judge(x**2, x, 0.0, **rest)
    x = np.array([1.0 + 2.0**-52, 0.5])
    yield _judge([1.0, 0.25], [1.0, 0.5], 1e-3, case={"x": x}, exact=sides)


def one_violation_among_many_equalities_is_found_exactly():
    for strict, value in ((False, F(1, 2) + F(1, 10**30)), (True, F(1, 2))):
        cases = [{"x": F(k, 400)} for k in range(199)] + [{"x": value}]
        left = np.array([float(case["x"]) for case in cases])
        yield _judge(left, np.full(200, 0.5), case=cases, exact=lambda case: (case["x"], F(1, 2)), strict=strict)[
            "witness"
        ]


def infinite_sides():
    for infinite in (False, True):
        yield _judge([1.0, 2.0], [np.inf, 3.0], infinite=infinite, domain=SEARCH)
        yield _judge([np.inf, 2.0], [1.0, 3.0], infinite=infinite, domain=SEARCH)
        yield _judge([np.inf, 5.0], [1.0, 3.0], infinite=infinite, domain=SEARCH)
        yield _judge([-np.inf, 2.0], [1.0, 3.0], infinite=infinite, domain=SEARCH)
        yield _judge([np.inf, 2.0], [np.inf, 3.0], infinite=infinite, domain=SEARCH)


def lines_of_several_statements():
    yield _judge([1.0, 5.0, 3.0, 2.0], [2.0, 4.0, 3.5, 2.5], lines=["a", "b", "a", "b"], strict=True)
    yield _judge([1.0, 3.0, 3.0], [2.0, 4.0, 3.5], 0.25, lines=["a", "b", "a"], domain=SEARCH)
    yield _judge([1.0, 3.0], [2.0, 4.0], lines=["a"])
    yield steps_of([np.zeros(2), np.ones(2), np.ones(2)])


def cases_that_do_not_fit_or_are_no_numbers():
    yield _judge([1.0, 5.0], [2.0, 4.0], case={"x": np.zeros(2), "y": [1], "z": 3.0})
    yield _judge([1.0, 5.0], [2.0, 4.0], case=[{"x": 1}] * 3)
    for value in ("word", "1/0", None, "0.1", "0.5", "1e3", Decimal("0.1"), 2**60 + 1, sympy.Rational(1, 3)):
        yield _judge([5.0], [4.0], case={"x": [value]})


def grids_that_are_tried():
    grid = tried(("eps", [k / 10 for k in range(1, 11)], Stated(0.0, 1.0, "(]")))
    x = grid.rows[:, 0]
    yield _judge(x**2, x, case={"eps": x}, domain=grid)
    yield _judge(x[:9] ** 2, x[:9], domain=grid)
    yield _judge(x[:5] ** 2, x[:5], domain=tried(("eps", x[:5], UNIT)))
    yield _judge(x, x**2, case={"eps": x}, domain=tried(("eps", x[:5], UNIT)))


def sides_at_the_door():
    def sides(left, right, error=0.0, **rest):
        return refused(checked_sides, left, right, error, **({"infinite": False} | rest))

    yield sides(np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    yield sides(np.array([1.0, 2.0, 3.0]), np.array([np.inf, 2.0, -np.inf]))
    yield sides(np.array([np.inf, np.inf]), np.array([np.inf, 2.0]), infinite=True)
    yield sides(np.array([1, 2]), np.array([1.0, 2.0]))
    yield sides([1, 2], [F(1, 3), F(5, 3)])
    yield sides([2**60 + 1], [2**60])
    yield sides([2**60 + 1], np.array([2.0**60]))
    yield sides([2**60 + 1], np.array([2.0**60]), decided=True)
    yield sides([F(1, 10)], np.array([0.1]))
    yield sides([F(1, 10)], np.array([0.1]), 1e-15)
    yield sides([Decimal("0.1"), 1], [F(1, 10), 2])
    yield sides(np.array([1.0, 2.0]), np.array([1.0]))
    yield sides(np.ones((2, 2)), np.ones((2, 2)))
    yield sides(np.ma.masked_array([1.0, 2.0], [True, False]), np.ones(2))
    yield sides(np.ones(2), np.ma.masked_array([1.0, 2.0], [True, False]))
    yield sides(np.array([True]), np.ones(1))
    yield sides(np.array([1j]), np.ones(1))
    for error in (-1e-300, 0.0, np.inf, np.nan, [0.1, -0.1]):
        yield sides(np.ones(2), np.zeros(2), error)


def wider_types_are_subtracted_in_their_own_precision():
    left, right = np.array([1.0], dtype=np.float32), np.array([0.1])
    yield checked_sides(left, right, 0.0, infinite=False)
    yield checked_sides(np.array([1.0], dtype=np.float16), np.array([0.1], dtype=np.float16), 0.0, infinite=False)


def whole_numbers_near_floats():
    for left, right, error in (
        (F(1, 3), 1 / 3, 0.0),
        (F(1, 3), 1 / 3, 1e-17),
        (F(1, 3), 1 / 3, 1e-16),
        (F(1), 1.0, 0.0),
    ):
        yield refused(require_decided, left, right, float(left) - right, error, "a case")
        yield refused(require_decided, right, left, right - float(left), error, "a case")
    yield exactly(0.1), exactly(np.float32(0.5)), exactly(3), refused(exactly, "half")


def numbers_and_draws():
    for value in (True, np.True_, 1, 0.5, F(1, 3), Decimal("2.5"), sympy.Rational(2, 3), np.float32(0.25), np.int64(3)):
        yield refused(number, value, "a level")
    for value in ("1", None, 1j, np.nan, np.inf, -np.inf, Decimal("nan"), [1.0]):
        yield refused(number, value, "a level")
    for draws in ([1, 2], [1.5], [True, False], [[1.0]], [1j], ["a"], np.ma.masked_array([1.0, 2.0], [0, 1]), 3.0):
        yield refused(checked_draws, draws, "R = 5")
    yield refused(require_some, [], "cells"), refused(require_some, [0], "cells")


def a_collection_of_corners_draws_and_uniform_cases():
    axes = (Axis("x", 1e-2, 1e2, POSITIVE), Axis("t", 0.5, 2.0, Stated(0.4, 2.1), signed=True, words="tilt, $t$"))
    for seed in (0, 1):
        found = collect_cases(
            Context("a/b", seed), axes, lambda c: c["x"] > 0.0, lambda c: c["x"], examples=1, restarts=0
        )
        yield found.domain, found.domain.cases, {name: column[:8] for name, column in found.items()}
        yield {name: column[-3:] for name, column in found.items()}
        held = found.holding({"x": found["x"][:1]})
        yield held.domain, len(held["x"])


def a_collection_that_loses_its_corner():
    axis = Axis("x", 1e-2, 1e2, POSITIVE)
    for most in (99.0, 50.0, 0.011):
        found = refused(
            *(collect_cases, Context("a/b"), [axis], lambda c, most=most: c["x"] <= most, lambda c: c["x"]),
            examples=1,
            restarts=0,
        )
        yield found if isinstance(found, str) else found.domain


def a_search_comes_to_equality():
    axis = Axis("x", 1e-2, 1e2, POSITIVE)
    for seed in (0, 1):
        found = collect_cases(
            *(Context("a/b", seed), [axis], lambda c: c["x"] > 0.0, lambda c: np.abs(c["x"] - 0.3)),
            examples=1,
            restarts=1,
        )
        yield bool(np.abs(found["x"][3:-500] - 0.3).min() < 1e-9), len(found["x"]) > 700
        yield found.domain.cases == len(found["x"]), str(found.domain)
