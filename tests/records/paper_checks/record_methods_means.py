"""Records of measured quantities: bands, limits on ladders, means with their tails, and probabilities."""

from fractions import Fraction

import numpy as np
from evidence_shown import shown
from recording import refused

from paper_checks.context import LEVEL
from paper_checks.methods.bands import Interval, bands, judge_bands
from paper_checks.methods.limit import Ladder, judge_limit, mean_interval
from paper_checks.methods.mean import Tails, judge_means, normal_interval, robust_interval
from paper_checks.methods.probability import Counted, Law, judge_probability

F = Fraction

SPREAD = np.array([-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.25])


def _draws(mean, sd, count=80):
    """Return draws of this mean, and a deviation near the given one."""
    return mean + sd * (np.resize(SPREAD, count) - SPREAD.mean())


def _bands(measured, predicted, **rest):
    return shown(refused(judge_bands, measured, predicted, scope="two", **rest))


def intervals_and_what_they_may_be():
    for low, high, level, bias in ((1.0, 3.0, 0.1, 0.5), (2.0, 2.0, 0.0, 0.0), (-3.0, -1.0, 0.0, 0.25)):
        one = Interval(low, high, level, bias)
        yield one.middle, one.half_width, [one.may_be(value) for value in (0.49, 0.5, 1.0, 2.0, 3.5, 3.51)]
        yield [one.may_be(value, 2.0) for value in (-5.0, -4.5, -1.0, -1.01, 2.0, 5.0, 5.01)]
    for ends in (
        (3.0, 1.0),
        (np.nan, 1.0),
        (0.0, np.inf),
        (0.0, 1.0, -0.1),
        (0.0, 1.0, 0.1, -0.1),
        (True, 1.0),
        (0, "1"),
    ):
        yield refused(lambda ends=ends: str(Interval(*ends)))


def bands_by_share_and_by_resolution():
    yield bands({"a": 2.0, "b": -10.0}), bands({"a": 2.0, "b": -10.0}, 0.1, 0.5), bands({"a": 0.0}, 0.1, 0.5)
    for value in (0.0, np.nan, 1j, np.inf, -np.inf):
        yield refused(bands, {"a": value}), refused(bands, {"a": value}, 0.02, 0.3)


def a_prediction_inside_at_and_outside_its_band():
    measured = {"m": Interval(0.99, 1.01, 1e-7), "n": Interval(-2.02, -1.99, 2e-7)}
    for value in (0.97, 0.98, 0.99, 1.0, 1.011, 1.04, 1.06):
        yield _bands(measured, {"m": value, "n": -2.0})
    yield _bands(measured, {"m": 1.0, "n": -2.06}, witness={"n": {"R": 5}})
    yield _bands(measured, {"m": 2.0, "n": 5.0})
    yield _bands({}, {})


def wide_intervals_are_undecided_and_far_ones_excluded():
    for value in (0.7, 0.75, 0.9, 1.0, 1.2, 1.25, 1.3, 2.0):
        yield _bands({"m": Interval(0.9, 1.1, 1e-7)}, {"m": value}, share=0.2)
    yield _bands({"m": Interval(0.9, 1.1)}, {"m": 1.0}, share=0.01)
    yield _bands({"m": Interval(0.9, 1.1), "n": Interval(0.8, 1.2)}, {"m": 1.0, "n": 1.05}, share=0.01)
    yield _bands({"m": Interval(0.9, 1.1, bias=0.05)}, {"m": 1.2}, share=0.5)
    yield _bands({"m": Interval(0.9, 1.1, bias=0.05)}, {"m": 1.14}, share=0.5)


def predictions_of_zero_and_infinity():
    for value in (0.0, np.inf, -np.inf):
        yield _bands({"m": Interval(-0.01, 0.01)}, {"m": value}, resolution=0.05)
    yield _bands({"m": Interval(-0.01, 0.01)}, {"m": 0.0})
    yield _bands({"m": Interval(-0.01, 0.02)}, {"m": 0.005}, resolution=0.05, share=0.1)


def interval_of_a_mean_at_two_levels():
    draws = _draws(3.0, 0.5, 12)
    for level in (0.05, 1e-6):
        one = mean_interval(draws, level)
        yield one, mean_interval(draws[:2], level).half_width
    yield refused(mean_interval, draws[:1], 0.05), refused(mean_interval, np.array([1.0, np.inf]), 0.05)
    yield refused(mean_interval, np.array([]), 0.05)


def ladders_and_their_dimensions():
    one, two = _draws(1.0, 0.1), _draws(1.1, 0.1, 16)
    yield Ladder(((10, one), (1000, two))).means()
    for rungs in (
        (),
        ((10, one),),
        ((10, one), (10, two)),
        ((20, one), (10, two)),
        ((10, one), (20, two.reshape(2, 8))),
    ):
        yield refused(lambda rungs=rungs: str(Ladder(rungs).means()))
    yield Ladder(((10, one),), "it is exact").means()


def _limit(ladders, predicted, **rest):
    return shown(refused(judge_limit, ladders, predicted, scope="limits", **rest))


def limits_that_are_reached_missed_or_not_settled():
    settled = Ladder(((10**6, _draws(1.0, 1e-3)), (10**9, _draws(1.0005, 1e-3, 40))))
    other = Ladder(((10**6, _draws(-2.0, 1e-3, 24)), (10**8, _draws(-2.001, 1e-3, 32))))
    for value in (0.95, 1.0, 1.019, 1.1):
        yield _limit({"m": settled, "n": other}, {"m": value, "n": -2.0}, settings={"m": {"c": 3}})
    yield _limit({"m": settled}, {"m": 1.0}, level=1e-8)["level"], _limit({"m": settled}, {"m": 1.0})["lines"]
    yield _limit({"m": settled}, {"m": 1.0}, share=0.001), _limit({"m": settled}, {"m": 1.0}, resolution=0.5)
    yield _limit({}, {})


def limits_away_from_which_a_mean_moves():
    for last in (1.001, 1.004, 1.01, 1.03, 1.06):
        ladder = Ladder(((10**6, _draws(1.0, 1e-4)), (10**9, _draws(last, 1e-4))))
        yield _limit({"m": ladder}, {"m": 1.0}, share=0.02), _limit({"m": ladder}, {"m": 1.0}, share=0.05)
    toward = Ladder(((10**3, _draws(1.5, 1e-4)), (10**6, _draws(1.03, 1e-4)), (10**9, _draws(1.01, 1e-4))))
    yield _limit({"m": toward}, {"m": 1.0})


def one_dimension_and_the_bias_of_its_edge():
    for R in (10**3, 10**6, 10**9):
        yield _limit({"m": Ladder(((R, _draws(5.0, 1e-4)),), "it is exact")}, {"m": 5.0})
    yield _limit({"m": Ladder(((10**4, _draws(0.5, 1e-4)),), "it is exact")}, {"m": 0.52})
    yield _limit({"m": Ladder(((10**4, _draws(0.5, 1e-4)),), "it is exact")}, {"m": 0.55})


def biases_of_limits_in_messages_and_decisions():
    one = Ladder(((10**4, _draws(0.5, 1e-5)),), "it is exact")
    large = Ladder(((10**4, _draws(-20.0, 1e-5)),), "it is exact")
    for apart in (0.0128, 0.0131, 0.0385, 0.0389):
        yield _limit({"m": one}, {"m": 0.5 + apart}, share=0.9)
        yield _limit({"m": large}, {"m": -20.0 - 20 * apart}, share=0.9)
    two = Ladder(((10**4, _draws(1.0, 0.05)), (10**6, _draws(0.75, 0.01))))
    for value in (1.02, 1.04, 1.05, 0.45, 1.6, 1.61):
        yield _limit({"m": two}, {"m": value}, share=0.9)


def unsettled_quantities_next_to_a_violated_one():
    moving = Ladder(((10**6, _draws(1.5, 1e-4)), (10**9, _draws(1.0, 1e-4))))
    still = Ladder(((10**6, _draws(2.0, 1e-4)), (10**9, _draws(2.0, 1e-4))))
    yield _limit({"m": moving, "n": still}, {"m": 1.0, "n": 2.0})
    yield _limit({"m": moving, "n": still}, {"m": 1.0, "n": 3.0})


def tails_that_are_refused_and_described():
    for fields in (
        {},
        {"deviations": {"m": 1.0}, "normal": "so"},
        {"deviations": {"m": 0.0}},
        {"deviations": {"m": -1.0}},
    ):
        yield refused(lambda fields=fields: str(Tails(**fields)))
    yield Tails({"m": 0.5, "n": 2.0}).describe(7), Tails(normal="sums").describe(7)


def normal_intervals_and_draws_that_are_not_normal():
    draws = _draws(1.0, 1.0, 16)
    yield normal_interval(draws, 0.05), normal_interval(draws, 1e-6)
    for far in (6.0, 7.0, 8.0, 9.0, 12.0):
        yield refused(normal_interval, np.append(draws, far), 0.05)
    for count in (2, 3, 4):
        yield refused(normal_interval, np.append(np.full(count - 1, 1.0), 2.0), 0.05)
    yield refused(normal_interval, np.ones(5), 0.05)


def normal_draws_at_the_border_of_one_in_a_million():
    for count, places in ((6, range(42, 50)), (12, np.arange(7.0, 8.6, 0.2))):
        others = np.resize([-0.5, 0.5], count - 1)
        yield [not isinstance(refused(normal_interval, np.append(others, far), 0.05), str) for far in places]


def robust_intervals():
    draws = _draws(1.0, 1.0, 64)
    for deviation, level in ((1.5, 0.05), (3.0, 0.05), (1.5, 1e-6)):
        yield robust_interval(draws, deviation, level)
    yield robust_interval(np.ones(50), 2.0, 0.05), robust_interval(np.append(draws, 40.0), 1.5, 0.05)
    for count in (7, 8):
        yield refused(robust_interval, draws[:count], 1.5, 0.05)
    yield refused(robust_interval, np.append(draws, np.nan), 1.5, 0.05)
    for deviation in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        yield refused(robust_interval, draws, deviation, 0.05)


def means_by_what_is_known_of_their_law():
    draws = {"m": _draws(1.0, 0.01, 60), "n": _draws(-5.0, 0.1, 72), "c": np.full(9, 2.0)}
    predicted = {"m": 1.0, "n": -5.0, "c": 2.0}

    def judged(tails, names=("m", "n"), **rest):
        some = {name: draws[name] for name in names}
        return shown(refused(judge_means, some, {**predicted, **rest}, scope="means", tails=tails))

    bounded = Tails({"m": 0.012, "n": 0.12})
    yield judged(bounded), judged(bounded, m=1.05), judged(bounded, n=-5.2), judged(bounded, n=5.0)
    yield judged(Tails(normal="sums")), judged(Tails(normal="sums"), m=1.05)
    sums = Tails(normal="sums", constant=frozenset({"c"}))
    yield judged(sums, ("m", "c")), judged(sums, ("m", "c"), c=2.05), judged(sums, ("c",), c=2.03)
    yield judged(Tails(normal="sums"), ("m", "c")), judged(Tails(normal="sums", constant=frozenset({"m"})))
    yield judged(bounded, ())
    both = {"m": {"R": 3}, "n": {"R": 4}}
    rest = {"scope": "means", "tails": bounded, "settings": both}
    yield shown(judge_means({"m": draws["m"]}, {"m": 1.5}, **rest))
    yield shown(judge_means(draws, {**predicted, "n": 9.0}, **(rest | {"tails": sums})))
    yield shown(judge_means({"m": draws["m"]}, {"m": 1.0}, share=0.5, resolution=2.0, **rest))
    yield shown(judge_means({"m": draws["m"]}, {"m": 1.0}, share=0.001, **rest))


def counts_and_laws_that_are_refused():
    for counts in (
        (1, 0),
        (-1, 5),
        (6, 5),
        (1.0, 5),
        (True, 5),
        (0, 1),
        (5, 5),
        (1, 2**53),
        (1, 2**53 - 1),
        (np.int64(2), 5),
    ):
        yield refused(lambda counts=counts: str(Counted(*counts)))
    for law in ((0.5,), (0.5, 1e-9), (F(1, 2),), (1,), (0,), (F(3, 2),), (-0.1, 0.1), (1.1, 0.1), (0.5, -0.1), (True,)):
        yield refused(lambda law=law: Law(*law).interval())


def intervals_of_counts():
    for happened, draws in ((0, 20), (1, 20), (7, 20), (20, 20), (0, 1)):
        yield Counted(happened, draws).interval(), Counted(happened, draws).interval(0.05)


def _probability(event, low, high, **rest):
    return shown(refused(judge_probability, event, low, high, scope="draws", what="A", **rest))


def probabilities_by_counts():
    for low, high in ((0.1, 0.9), (0.4, 0.9), (0.0, 0.2), (0.8, 1.0), (0.0, 1.0), (0.35, 0.65)):
        yield _probability(Counted(120, 240), low, high)
    yield _probability(Counted(120, 240), 0.42, 0.58, level=0.05), _probability(Counted(120, 240), 0.8, 1.0, level=0.05)
    yield _probability(Counted(3, 240), 0.5, 1.0, witness={"R": 4})


def probabilities_by_law_at_their_borders():
    for low, high in (
        (F(1, 3), 1),
        (F(1, 3) + F(1, 10**9), 1),
        (0, F(1, 3)),
        (0, F(1, 3) - F(1, 10**9)),
        (F(1, 3), F(1, 3)),
    ):
        yield _probability(Law(F(1, 3)), low, high)
        yield _probability(Law(1 / 3, 1e-12), low, high)
    yield _probability(Law(F(1, 10)), 0.1, 1.0), _probability(Law(F(1, 10)), np.float64(0.1), 0.1)
    yield _probability(Law(0.5, 0.1), 0.3, 0.6), _probability(Law(0.5, 0.1), 0.0, 0.4)
    yield _probability(Law(0.5, 0.1), 0.0, 0.39)
    yield _probability(Law(F(1, 3)), np.nan, 1), _probability(Law(F(1, 3)), 0, np.inf)
    yield _probability(Law(F(1, 3)), "0", 1)
    yield LEVEL
