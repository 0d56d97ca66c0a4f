"""Records of domains: ranges, axes, grids, what is missed, and cases drawn by hypothesis."""

import pickle

import numpy as np
from hypothesis import strategies
from recording import refused

from paper_checks.context import Context
from paper_checks.methods.domain import (
    EITHER_SIDE,
    FROM_ONE,
    OPEN_UNIT,
    POSITIVE,
    UNIT,
    UP_TO_ONE,
    Axis,
    Described,
    Searched,
    Stated,
    describe_draws,
    describe_search,
    require_reached,
    tried,
)
from paper_checks.methods.draws import draw_cases

RANGES = (POSITIVE, UNIT, OPEN_UNIT, UP_TO_ONE, EITHER_SIDE, FROM_ONE, Stated(-np.inf, np.inf), Stated(2.0, 5.0, "[)"))


def stated_ranges_and_their_ends():
    for one in RANGES:
        yield str(one), one.owned(), one.beyond(0.5, 0.75), one.beyond(one.low, one.high), one.beyond(3.0, 1e9)


def values_that_leave_a_range_or_are_a_small_part_of_it():
    for values in ([0.0, 1.0], [0.0, 0.9], [0.1, 0.9], [0.1, 0.89], [0.11, 1.0], [1.0], [-0.1, 1.0], [0.0, 1.1]):
        for one in (UNIT, OPEN_UNIT, UP_TO_ONE):
            yield refused(one.check, "x", values)
    for values in ([0.01, 1.0], [0.011, 1.0], [0.1, 10.0], [0.1, 9.9], [1.0], [0.0, 1.0], [-1.0, 1.0]):
        yield refused(POSITIVE.check, "x", values)
    for values in ([1.0, 100.0], [1.0, 99.0], [0.9, 100.0], [2.0, 200.0]):
        yield refused(FROM_ONE.check, "n", values)
    line, below = Stated(-np.inf, np.inf), Stated(-np.inf, -1.0, "(]")
    for values in ([-100.0, -1.0, 1.0, 100.0], [-100.0, -2.0, 1.0, 100.0], [1.0, 100.0], [-100.0, -1.0, 1.0, 50.0]):
        yield refused(line.check, "y", values)
    for values in ([-100.0, -1.0], [-99.0, -1.0], [-100.0, -0.5]):
        yield refused(below.check, "y", values)


def axes_that_are_refused():
    for low, high in ((0.0, 1.0), (-1.0, 1.0), (1.0, 1.0), (2.0, 1.0), (0.5, 50.0), (0.5, 49.0)):
        yield refused(lambda low=low, high=high: str(Axis("x", low, high, POSITIVE)))
    for low, high in ((0.1, 1.0), (0.1, 0.95), (0.2, 1.0), (0.21, 1.0)):
        yield refused(lambda low=low, high=high: str(Axis("x", low, high, UNIT)))
    for low, high in ((1.0, 100.0), (1.1, 200.0)):
        yield refused(lambda low=low, high=high: str(Axis("n", low, high, FROM_ONE)))
    yield refused(lambda: str(Axis("n", 2.0, 4.5, Stated(2.0, 5.0, "[)"))))
    yield refused(lambda: str(Axis("n", 2.0, 4.3, Stated(2.0, 5.0, "[)"))))
    yield refused(lambda: str(Axis("n", 2.1, 4.9, Stated(2.0, 5.0, "[)"))))
    yield refused(lambda: str(Axis("n", 2.0, 4.9, Stated(2.0, 5.0, "[]"))))


def unreached_parts_in_words():
    for signed in (False, True):
        for words in ("", "rank, $r$"):
            yield Axis("x", 0.5, 200.0, POSITIVE, signed, words).unreached()
            yield Axis("x", 0.1, 1.0, UNIT, signed, words).unreached()
            yield Axis("x", 1.0, 200.0, FROM_ONE, signed, words).unreached()
            yield Axis("x", 2.0, 5.0, Stated(2.0, 5.0, "[]"), signed, words).unreached()


def ends_and_decoded_places():
    unit = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    for signed in (False, True):
        axis = Axis("x", 0.1, 1000.0, POSITIVE, signed)
        yield axis.ends(), axis.decode(unit)


def values_that_hypothesis_may_draw():
    for low, high, signed in ((0.1, 10.0, False), (0.6, 100.0, True)):
        found = draw_cases(Context("a/b"), Axis("x", low, high, POSITIVE, signed).strategy(), 60)
        yield low <= min(map(abs, found)), max(map(abs, found)) <= high
        yield {value < 0 for value in found} == {False, signed}
        yield sorted({abs(value) for value in found} & {low, high, 0.1, 0.5, 0.75, 0.99, 1.0, 1.01, 2.0, 3.0})


def draws_depend_on_the_seed_the_claim_and_nothing_else():
    strategy = strategies.integers(0, 10**9)
    one, again, other, of = (
        draw_cases(context, strategy, 12) for context in (*(Context("a/b"),) * 2, Context("a/b", 1), Context("a/c"))
    )
    yield one == again, one == other, one == of, len(one)
    yield len(draw_cases(Context("a/b"), strategies.booleans(), 12)) < 12
    yield len(draw_cases(Context("a/b"), strategies.just(3), 5))


def places_that_values_miss():
    axis, either = Axis("x", 0.01, 100.0, POSITIVE), Axis("t", 0.01, 100.0, POSITIVE, signed=True)
    full = axis.decode(np.linspace(0.0, 1.0, 120))
    for values in (
        full,
        full[1:],
        full[2:],
        full[:-1],
        full[:-2],
        full[12:],
        full[:-12],
        full[(full < 1) | (full > 3)],
    ):
        yield list(axis.missed(values))
    yield list(axis.missed(np.empty(0)))
    yield list(either.missed(full)), list(either.missed(-full)), list(either.missed(np.append(full, -full[3:-3])))


def cases_that_an_assumption_leaves():
    axis = Axis("x", 0.01, 100.0, POSITIVE)
    for count in (99, 100, 101):
        yield refused(require_reached, [axis], {"x": axis.decode(np.linspace(0.0, 1.0, count))})
    yield refused(require_reached, [axis], {"x": axis.decode(np.linspace(0.25, 0.95, 120))})


def grids_that_are_too_small_or_leave_an_end():
    tenths = [k / 10 for k in range(11)]
    for values in (tenths, tenths[1:], tenths[:-1], tenths[1:-1], tenths[2:], tenths[:9], [0.0, 1.0] * 5):
        for stated in (UNIT, UP_TO_ONE, OPEN_UNIT):
            grid = tried(("eps", values, stated))
            yield refused(grid.check), grid.describe()


def grids_of_several_parameters_and_their_corners():
    a, b = [0.0, 0.0, 1.0, 1.0] + [0.5] * 6, [1.0, 100.0, 1.0, 100.0] + [3.0] * 6
    for left_out in (None, 0, 3):
        keep = [k for k in range(10) if k != left_out] + [9]
        grid = tried(("a", [a[k] for k in keep], UNIT), ("n", [b[k] for k in keep], FROM_ONE))
        yield refused(grid.check), grid.describe(), [sorted(some) for some in grid.corners()]
    many = tried(*((name, [0.0] * 5 + [1.0] * 5, UNIT) for name in "abcd"))
    five = tried(*((name, [0.0] * 5 + [1.0] * 5, UNIT) for name in "abcde"))
    yield refused(many.check), refused(five.check), five.describe()


def settled_and_empty_grids():
    few = tried(("a", [0.5] * 10, UNIT), settled={"a": "both sides are linear in it"})
    yield refused(few.check), few.describe()
    yield tried(("a", [], UNIT)).describe(), refused(tried(("a", [], UNIT)).check)
    for count in (6, 7):
        yield tried(("a", np.linspace(0.0, 1.0, count), UNIT)).describe()


def rare_events_that_draws_miss():
    for count in (0, 1, 10, 1000, 10**6):
        found = describe_draws(count)
        yield str(found), found.cases


def parts_of_a_search_that_are_missed():
    axes = (
        Axis("x", 0.5, 200.0, POSITIVE),
        Axis("y", 0.1, 1.0, UNIT, words="share"),
        Axis("z", 2.0, 5.0, Stated(2.0, 5.0, "[]")),
    )
    for uniform in (0, 13, 14, 500):
        yield describe_search(axes, uniform), describe_search([], uniform)
    yield Described("text").cases, Described("text", 3).cases, pickle.loads(pickle.dumps(Described("text", 3))).cases
    yield Searched({"x": 1}).domain
