"""Records of RoLoRA's measurements: settings, laws and their tails, moments, counts, and thresholds of events."""

from fractions import Fraction
from math import exp

import numpy as np
import sympy
from recording import refused

from paper_checks.context import Context
from paper_checks.rolora.measurements import (
    contraction_events,
    contraction_steps,
    expectations,
    failures,
    freezing_moments,
    heterogeneous_contraction,
    iteration_counts,
    laws,
    own_samples,
    rates,
    second_iteration,
    symbolic_factors,
    whole_counts,
)
from paper_checks.rolora.measurements.settings import Setting, tried_settings

SETTINGS = (
    Setting(1, 2, 0.1, 0.2, 0.3, 10.0),
    Setting(50, 3, 0.5, 0.01, 0.4, 0.5),
    Setting(2000, 2, 0.2, 0.9, 0.05, 3.0),
    Setting(10**5, 3, 0.9, 0.95, 0.9, 1e-9),
)


def _evidence(found):
    return found.ok, found.scope, found.printed, found.obtained, found.margin, found.slack, found.cases, found.witness


def settings_and_their_samples():
    for one in SETTINGS:
        yield one.level, one.tilde, one.q, one.m, one.least, one.numbers()


def numbers_that_are_tried():
    yield tried_settings(SETTINGS)
    yield tried_settings(SETTINGS[:1])
    yield tried_settings(SETTINGS[1:3], (12.0, 7.0), "N m")


def norms_of_variables():
    yield laws.orlicz_norm(lambda rate: 1.0 / (1.0 - 2.0 * rate) ** 0.5, 0.5)
    for power in (1, 2):
        yield laws.discrete_norm(np.array([-2.0, 1.0, 0.0]), np.array([0.2, 0.3, 0.5]), power)
        yield laws.discrete_norm(np.array([3.0]), np.array([1.0]), power)
        yield laws.discrete_norm(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), power)
        yield laws.discrete_norm(np.zeros(2), np.array([0.5, 0.5]), power)
    yield [laws.gaussian_product_norm(one) for one in (0.0, 0.5, -0.9, 1.0, -1.0, 1.2)]
    yield laws.BEST_C1, laws.BEST_C3, laws.BEST_C5, laws.GOLDEN, laws.SINE, laws.COSINE


def tails_of_chi_squares():
    for room, n in ((0.1, 3), (0.5, 20), (0.9, 1000), (1e-6, 7)):
        yield laws.chi_square_tails(room, n)


def tails_of_student():
    for room in (1e-12, 1e-3, 0.3, 1.0, 5.0):
        yield [laws.student_tail(room, m) for m in (2, 7.5, 1000, 1e8, 1e12)]


def tails_of_schur_complements():
    yield [laws.schur_tail(room, m) for room in (0.1, 0.999, 1.0, 1.5) for m in (2, 9, 300)]


def tails_of_deviations():
    for one in (
        Setting(1, 2, 0.1, 0.1, 0.3, 1.0),
        Setting(1, 5, 0.5, 0.2, 0.1, 0.3),
        Setting(1, 3, 0.9, 0.95, 0.9, 1.0),
    ):
        yield [laws.deviation_tails(one, factor) for factor in (0.5, 1.0, 2.0)]


def failures_for_constants():
    for times, power, exact in ((1.0, 10.0, True), (2.0, 10.0, False), (1.0, 2.0, True)):
        for shift in (0.0, -1e-3, 5.0):
            found = failures.failure_for_every_constant(
                "the line",
                lambda one, power=power, shift=shift: -power * np.log(one.q) + shift + 1e-3 * np.log(one.q),
                times,
                power,
                exact,
            )
            yield found
    yield failures.failure_for_every_constant("more", lambda one: -one.q, more=lambda one: -3.0)
    yield failures.ABSOLUTE_SCOPE, failures.ENOUGH_SCOPE


def bounds_with_enough_samples():
    for power in (10.0, 12.0):
        lines = list(failures.minimisers_are_near(power))
        yield lines[0].name, len(lines), [(line.left, line.right) for line in lines[::7]]
        lines = list(failures.gradient_is_near(power))
        yield lines[0].name, len(lines), [(line.left, line.right) for line in lines[::4]]


def successes_near_one():
    yield [failures.most_successes(*at) for at in (failures.NEAR_ONE, (0.9, 0.1), (0.999, 1e-4))]
    yield _evidence(failures.judge_near_one())


def samples_of_one_client():
    case = {"m": "4", "cosine": "4/5", "sine": "3/5", "aa": "5/4", "au": "-1/3", "uu": "3/4"}
    for changes in ({}, {"au": "0"}, {"m": "1"}, {"cosine": "-4/5"}):
        one = own_samples.own_samples({**case, **changes})
        yield str(one.b), [[str(part) for part in pair] for pair in (one.gradient, one.mean, one.stated, one.truth)]
        yield str(one.deviation(one.mean)), str(one.deviation(one.stated))


def sums_of_whole_counts():
    for size, runs, entering in (
        (7, 1, "rounded"),
        (7, 1, "cut"),
        (3, 2, "rounded"),
        (Fraction(5, 2), 2, "cut"),
        (8, 1, "rounded"),
    ):
        found = np.flatnonzero(whole_counts.sums_of_counts(Fraction(size), runs, entering))
        yield len(found), found[:8]


def attainable_means():
    for text in ("33.33", "33.34", "66.66", "66.7", "14.28", "14.29", "0.01", "99.99", "100.00", "6.25", "6.24"):
        yield [
            whole_counts.attainable(text, runs, size, entering)
            for runs, size in ((1, 7), (2, 3), (1, 16), (3, Fraction(7, 2)))
            for entering in ("rounded", "cut", "whole")
        ]


def second_iterations():
    for at in ((900.0, 1100.0, 5.0, 990.0, 0.1, 2.0), (1000.0, 1000.0, 4.0, 1000.0, -0.3, -5.0)):
        for s in (0.1, 1.0):
            yield second_iteration.follow_second(0.8, 0.6, s, 1000.0, at)
            yield second_iteration.follow_second(0.6, 0.8, s, 1000.0, at)


def least_values_of_second_iterations():
    case = {"cosine": "4/5", "sine": "3/5", "s": "1/4", "n": "100000", "d": "40", "room": "1/20"}
    for changes in ({}, {"room": "1/5"}, {"d": "400"}, {"n": "1000"}):
        yield second_iteration.least_values({**case, **changes})


def thresholds_and_lengths_of_events():
    for D, level, tilde in ((0.5, 0.2, 0.9), (1.0, 1.0, 0.1)):
        case = {"D": D, "level": level, "tilde": tilde, "place": 0.25}
        yield contraction_events.thresholds(case), contraction_events.lengths(case)
        for s in (1e-3, 0.3, 0.5, 2.0):
            yield contraction_events.events(case, s, 1.0), contraction_events.events(case, s, 2.0)
    beyond = {"D": 0.5, "level": 16.0, "tilde": 60.0, "place": np.array([0.0, 0.5, 1.0])}
    yield contraction_events.events(beyond, 0.5, 1.0), [str(axis.words) for axis in contraction_events.AXES]


def quotients_of_unlimited_samples():
    yield [rates.quotient_squared(square, s) for square in (0.1, 0.9) for s in (0.05, 0.5, 1.0)]


def contraction_with_different_clients():
    case = {"delta_0": 0.6, "ratio": 0.5, "step": 0.25}
    for changes in ({}, {"step": 0.5}, {"ratio": 1.0}, {"delta_0": 0.99, "step": 5.0}):
        values = {**case, **changes}
        yield [
            heterogeneous_contraction.contraction(values, factor, power) for factor in (2.0, 30.0) for power in (1, 2)
        ]
    columns = {name: np.full(45, value) for name, value in case.items()}
    yield heterogeneous_contraction.iterate_angles(columns)[[0, 1, 18, 19, 20, 21, 39, 40]]


def counts_of_iterations():
    for seed in (0, 1):
        counts = iteration_counts.search_counts(Context("counts", seed))
        yield len(counts), counts[0], counts[-1].numbers(), counts[5].drawn, [one.rate for one in counts[:20:7]]


COUNTS = (
    iteration_counts.Count("0.6", "0.5", "0.5", (1, 3, 50)),
    iteration_counts.Count("0.1", "0.9", "0.001", (2,)),
    iteration_counts.Count("0.9", "0.1", "3", (7, 300)),
    iteration_counts.Count("0.3", "0.5", "1.5", ()),
)


def equivalence_of_the_lines():
    for form in ((1.0, 1.0, 2.0, 1), (2.0, 2.0, 2.0, 1), (2.0, 1.0, 2.0, 1), (1.0, 1.0, 1.0, 1), (1.0, 1.0, 2.0, -1)):
        yield _evidence(iteration_counts.judge_equivalence(COUNTS, *form))
        yield _evidence(iteration_counts.judge_equivalence(COUNTS[2:], *form))


def order_of_both_counts():
    for sense in (1, -1):
        for beyond in (False, True):
            for root, size in ((1.0, 1.0), (2.0, 1.0), (2.0, 0.7)):
                yield _evidence(iteration_counts.judge_order(COUNTS, sense, beyond, root, size))


def expectations_of_powers():
    h, g, w = expectations.symbols_of(1)
    other = expectations.symbols_of(2)
    for power in (-3, -1, 0, 1, 3):
        yield str(expectations.chi_square_moment(sympy.Symbol("k"), power))
    for expression in (g**4, g**3 * h, g**2 / h**2, w**2 * h**2, g * other[1], h**2 * other[0] ** 2, sympy.Integer(0)):
        yield str(sympy.factor(expectations.expectation(expression, 2)))
    yield refused(expectations.expectation, h, 1), refused(expectations.expectation, h * g**2, 1)
    yield str(sympy.factor(expectations.expectation(expectations.scale(1) ** 2, 1)))
    yield str(sympy.factor(expectations.expectation(expectations.target_square(1), 1)))
    yield str(sympy.factor(expectations.expectation(expectations.scalar_product(2), 2)))


def means_of_forms():
    x, y = sympy.symbols("x y")
    return str(expectations.mean_of_form(3 * x**2 - y**2 + 5 * x * y, (x, y)))


def parts_of_the_moments():
    for N in (1, 2, 3):
        for name, part in freezing_moments.parts(N).items():
            yield name, sympy.sympify(part).subs(freezing_moments.point(4, "0.8", "0.6")).evalf()


def points_of_the_moments():
    for one in freezing_moments.POINTS:
        yield [str(value) for value in one.values()][:12]
    yield str(freezing_moments.IN_COORDINATES.left - freezing_moments.IN_COORDINATES.right)


def judged_moments():
    names = ("s", "s^2", "z2")
    data = freezing_moments.measure_moments(*names)(Context("moments"))
    right = {"s": lambda N: expectations.ALPHA, "z2": lambda N: expectations.ALPHA * sympy.Rational(N - 1, N)}
    for formulas in (right, {"s": lambda N: expectations.ALPHA * N}):
        yield _evidence(freezing_moments.judge_moments(data, formulas, "scope"))
    yield [str(data.terms["s^2"][N]) for N in (1, 4)], len(data.points)


def factors_in_symbols():
    As, Bs = symbolic_factors.factors(2)
    yield (
        [str(matrix[0, 1]) for matrix in As + Bs],
        str(symbolic_factors.mean(As)[2, 1]),
        str(symbolic_factors.mean(As[:1])[0, 0]),
    )
    yield [str(line) for line in symbolic_factors.entrywise("name", As[0] * Bs[0], As[1] * Bs[1])[:2]]
    for seed in (0, 1):
        points = symbolic_factors.points_of(Context("points", seed))
        yield len(points), len(points[0]), [str(value) for value in list(points[0].values())[:4]]


def scope_and_tails_of_gradients():
    yield (
        contraction_steps.scope([None] * 3),
        [exp(contraction_steps.gradient_tail(b, m)) for b, m in ((0.1, 5), (0.01, 40), (1.0, 3))],
    )
