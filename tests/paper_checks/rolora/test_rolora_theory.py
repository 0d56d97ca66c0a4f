"""RoLoRA's proofs: exact expectations against simulation, known values and the toolkit's formulas."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
import torch
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import chi, chi2, norm

from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.context import Context
from paper_checks.rolora.lem_a_9 import eq_43
from paper_checks.rolora.lem_a_9_sums import product_tail
from paper_checks.rolora.lem_a_10 import eq_77
from paper_checks.rolora.lem_a_10_bound import across_tail, column_tail, plane_tail
from paper_checks.rolora.lem_a_11_numerator import shortfall_tail
from paper_checks.rolora.measurements.contraction_events import events
from paper_checks.rolora.measurements.expectations import (
    ALPHA,
    M,
    chi_square_moment,
    expectation,
    scalar_product,
    scale,
    symbols_of,
    target_square,
)
from paper_checks.rolora.measurements.failures import ABSOLUTE
from paper_checks.rolora.measurements.iteration_counts import Count, judge_equivalence, judge_order
from paper_checks.rolora.measurements.laws import chi_square_tails, student_tail
from paper_checks.rolora.measurements.population import by_hand, iterations
from paper_checks.rolora.measurements.rates import quotient_squared
from paper_checks.rolora.measurements.second_iteration import follow_second
from paper_checks.rolora.prop_5_5 import freeze
from paper_checks.rolora.thm_5_4_first_iteration import bounded_quantity
from toymodels.regression import Regressor
from toymodels.regression_rates import ffa_correction, ffa_population_correction, population_map


def test_tails_of_chi_square_variables_that_are_too_small_for_floats():
    """With two degrees of freedom the law is exponential; Chernoff's rate is that of many."""
    lower, upper = chi_square_tails(0.5, 2)
    assert (lower, upper) == pytest.approx((np.log(-np.expm1(-0.5)), -1.5))
    for room, n in ((0.5, 10_000), (0.999, 10**8), (0.01, 10**8)):
        rates = [0.5 * n * (np.log1p(side) - side) for side in (-room, room)]
        assert chi_square_tails(room, n) == pytest.approx(rates, rel=0.02)
        assert all(tail < rate for tail, rate in zip(chi_square_tails(room, n), rates, strict=True))


def test_tails_of_one_sample_and_of_very_many():
    assert student_tail(1.0, 1) == pytest.approx(np.log(0.5), rel=1e-13)  # Cauchy's law has its quartiles at 1
    for room in (1e-8, 1e-3, 0.3, 1e4):
        assert student_tail(room, 1) == pytest.approx(np.log1p(-2.0 / np.pi * np.arctan(room)), rel=1e-11)
    # Of 2 degrees of freedom 1 - room/sqrt(1 + room^2); of 4000 at room 1, too small for floats, by a series.
    assert student_tail(0.1, 2) == pytest.approx(np.log1p(-0.1 / np.sqrt(1.01)), rel=1e-13)
    # So many degrees of freedom that the law is normal, at thresholds whose squares are next to nothing.
    for room, m in ((1e-12, 2e25), (1e-110, 1e222)):
        assert student_tail(room, m) == pytest.approx(np.log(2.0) + norm.logsf(room * m**0.5), rel=1e-9)
    series = mpmath.log(mpmath.betainc(2000, 0.5, 0, 0.5, regularized=True))
    assert student_tail(1.0, 4000) == pytest.approx(float(series), rel=1e-13)
    # At room 1 the rate is that of the golden ratio; an integral around the mean would miss where it is largest.
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    assert product_tail(1.0, 10**8) == pytest.approx(-(golden + 0.5 * np.log(golden)) * 1e8, rel=1e-6)


@pytest.mark.parametrize(("room", "n"), [(0.05, 2), (0.9, 2), (0.3, 20), (0.5, 400)])
def test_tails_of_columns_are_integrals_by_another_rule(room, n):
    def beyond(across):
        low, high = n * (1.0 - room), n * (1.0 + room)
        inside = quad(lambda y: chi2.pdf(y, n) * across(y), low, high, epsabs=0.0, epsrel=1e-11, limit=500, points=[n])
        return inside[0] + chi2.cdf(low, n) + chi2.sf(high, n)

    for d in (2, 20):
        exact = beyond(lambda y, d=d: chi2.sf(((room * n) ** 2 - (y - n) ** 2) / y, d - 1))
        assert column_tail(room, n, d) == pytest.approx(exact, rel=1e-9)

    def schur(t, apart):
        density = np.exp(np.log(2.0) - betaln(0.5, 0.5 * n) - 0.5 * (n + 1.0) * np.log1p(t**2))
        return density * (chi2.sf(n * (1.0 + apart), n - 1) + chi2.cdf(n * (1.0 - apart), n - 1))

    most = room / np.sqrt(1.0 - room**2)
    within = quad(lambda t: schur(t, np.sqrt(max(room**2 * (1.0 + t**2) - t**2, 0.0))), 0.0, most, epsrel=1e-11)[0]
    assert plane_tail(room, n) == pytest.approx(np.log(np.exp(student_tail(most, n)) + within), abs=1e-8)
    last = min(50.0, 20.0 / np.sqrt(n))
    beside = quad(lambda t: schur(t, room * np.sqrt(1.0 + t**2)), 0.0, last, epsrel=1e-11, limit=1000, epsabs=0.0)[0]
    assert across_tail(room, n) == pytest.approx(np.log(beside), abs=1e-8)


@pytest.mark.parametrize(("room", "m"), [(1e-3, 1), (0.3, 1), (0.05, 10), (1.0, 10)])
def test_tail_of_products_is_an_integral_by_another_rule(room, m):
    exact = quad(
        lambda s: chi.pdf(s, m) * 2.0 * norm.sf(room * m / s), 0.0, np.inf, epsabs=0.0, epsrel=1e-11, limit=500
    )
    assert product_tail(room, m) == pytest.approx(np.log(exact[0]), rel=1e-9, abs=1e-12)


def test_the_told_probability_that_99_fails_is_its_probability_and_no_bound():
    """Given z the minimiser is normal: an integral over the length of z, at the witness."""
    one = ABSOLUTE[0]
    m = int(one.m)
    roots = [
        (0.8 - side * (0.64 - one.level) ** 0.5) / 0.6 for side in (1.0, -1.0)
    ]  # of (4/5 - 3/5 y)^2 = 16/25 - eps'

    def given(length: float) -> float:
        return float((norm.sf(roots[0] * length) - norm.sf(roots[1] * length)) * chi.pdf(length, m))

    middle = m**0.5
    total, _ = quad(given, middle - 8.0, middle + 8.0, epsabs=0.0, epsrel=1e-10)
    assert shortfall_tail(one.level, one.m) == pytest.approx(np.log(total), rel=1e-7)
    assert shortfall_tail(one.level, one.m) == pytest.approx(-7.155, abs=1e-3)


def test_moments_of_chi_square_variables():
    m = sympy.Symbol("m")
    assert [chi_square_moment(m, k) for k in (0, 1)] == [1, m]
    assert sympy.expand(chi_square_moment(m, 2) - m**2 - 2 * m) == 0
    assert chi_square_moment(sympy.Integer(7), -2) == sympy.Rational(1, 15)


@pytest.mark.parametrize("clients", [1, 2, 3])
def test_expected_losses_are_the_toolkits(clients):
    mean = sum(scale(i) for i in range(1, clients + 1)) / clients
    h = symbols_of(1)[0]
    training = expectation(target_square(1) - 2 * mean * scalar_product(1) + mean**2 * h**2, clients) / M
    population = expectation(1 - 2 * ALPHA * mean + mean**2, clients)
    for m in (3, 4, 10):
        at = {M: m, ALPHA: sympy.Rational(3, 5)}
        for loss, correction in ((training, ffa_correction), (population, ffa_population_correction)):
            assert float(loss.subs(at)) == pytest.approx(0.64 * (1.0 + correction(clients, m)), rel=1e-12)


def test_expectations_agree_with_simulation():
    rng, m, alpha, draws = np.random.default_rng(3), 12, 0.6, 200_000
    x, y = rng.standard_normal((2, draws, m))
    target = alpha * x + 0.8 * y
    s = (x * target).sum(axis=1) / (x * x).sum(axis=1)
    pairs = ((s, scale(1)), (s**2, scale(1) ** 2), (s**2 * (x * x).sum(axis=1), scale(1) ** 2 * symbols_of(1)[0] ** 2))
    for sample, term in pairs:
        exact = float(expectation(term, 1).subs({M: m, ALPHA: sympy.Rational(3, 5)}))
        assert abs(sample.mean() - exact) < 6.0 * sample.std() / draws**0.5


def test_an_expectation_that_is_not_rational_is_refused():
    with pytest.raises(ValueError, match="no rational expectation"):
        expectation(symbols_of(1)[0], 1)


def test_the_first_step_is_the_toolkits():
    for delta, step in ((0.3, 0.2), (0.8, 1.0), (0.1, 0.75)):
        assert delta**2 * quotient_squared(delta**2, step) == pytest.approx(population_map(delta, step) ** 2)
    edge = Fraction(3, 4)
    assert bounded_quantity(Fraction(1), edge) == 3  # the best bound on the step for all starts


def test_one_sample_can_be_fitted_from_any_start():
    one = freeze([[1, 1]], [3, 4], [1, 0], [1, 0])
    two = freeze([[1, 0], [0, 1]], [3, 4], [1, 0], [1, 2])
    assert (one.least, two.least) == (0, 80)
    assert two.found == pytest.approx(80.0)


def test_iterations_under_the_population_loss():
    one = by_hand(["3/5", "4/5"], [["1", "0"], ["0", "2"]], "1/8")
    assert one.b_after[0].tolist() == pytest.approx([0.3, 0.6])
    assert one.gamma_squared == pytest.approx(1.25)
    drawn = iterations(Context("x/y"))
    assert all(float((each.a_after**2).sum()) == pytest.approx(1.0) for each in drawn)
    assert any(float((each.mean_b**2).sum()) < 1e-20 for each in drawn)


def test_numbers_of_iterations():
    counts = [Count("0.6", "0.78125", "0.5", (1, 2, 3))]
    assert not judge_order(counts, 1, False, 1.0, 1.0).ok
    assert judge_order(counts, -1, False, 1.0, 1.0).ok
    assert judge_equivalence(counts, 2.0, 2.0, 2.0, 1).ok
    assert not judge_equivalence(counts, 2.0, 1.0, 2.0, 1).ok


def test_the_second_iteration_on_the_same_samples_is_the_algorithms():
    rng, n, d, c, delta, s = np.random.default_rng(2), 40, 120, 0.6, 0.8, 0.5
    X = rng.standard_normal((n, d))
    a, truth, own = np.zeros((d, 1)), np.zeros((d, 1)), np.eye(1, d)
    a[0], truth[0], truth[1] = 1.0, c, delta
    fed = Federation((Regressor(torch.from_numpy(X.T @ X / n), torch.from_numpy(truth @ own)),))
    algorithm = ExactRoLoRA(s)
    state = algorithm.start(fed, Tree(W=torch.from_numpy(a @ own)))
    state = one_round(algorithm.refit, fed, one_round(algorithm.round, fed, state))
    off = float(state.B["W"][0, 0]) * state.A["W"].numpy()[:, 0] - truth[:, 0]
    found = abs(truth[:, 0] @ (X.T @ (X @ off) / n - off)) / np.linalg.norm(off)
    x, y, rest = X[:, 0], X[:, 1], X[:, 2:]
    t = x @ y / (x @ x)
    r = y - t * x
    g = rest.T @ r / np.linalg.norm(r)
    across = (rest @ g - np.linalg.norm(r) / (r @ r) * (g @ g) * r) / np.linalg.norm(g)
    eta = across @ x / np.linalg.norm(x)
    told = follow_second(c, delta, s, n, (x @ x, r @ r, g @ g, across @ across - eta**2, t, eta))
    assert found == pytest.approx(told.deviation)
    new = state.A["W"].numpy()[:, 0] / np.linalg.norm(state.A["W"].numpy())
    assert told.square == pytest.approx(np.linalg.norm(X @ new) ** 2 / n)
    aside = truth[:, 0] - (new @ truth[:, 0]) * new
    assert told.summand == pytest.approx(abs((X @ new) @ (X @ aside)) / n)


@pytest.mark.parametrize(
    ("s", "D", "place", "level"), [(0.5, 0.6, 0.3, 0.9), (0.9, 0.99, 0.0, 0.999), (0.3, 0.05, 0.5, 6)]
)
def test_the_worst_step_on_the_events_is_found_by_turning_the_gradient(s, D, place, level):
    """Maximum over lengths of b and deviations of the gradient that (13) and (76) allow, in the plane of a and a*."""
    share = level * D / 16
    c = (D + (1 - D) * place) ** 0.5
    delta = (1 - c**2) ** 0.5
    turns = np.linspace(0.0, 2 * np.pi, 20_001)
    found = 0.0
    for b in c + share * delta * np.linspace(-1, 1, 5):
        gradient = 2 * b * np.array([b - c, -delta])  # along a and u, with a* = c a + delta u
        off = 2 * share * (1 + share) ** 2 * delta * np.array([np.cos(turns), np.sin(turns)])
        step = np.array([1.0, 0.0])[:, None] - s * (gradient[:, None] + off)
        across = delta * step[0] - c * step[1]
        found = max(found, np.abs(across / np.linalg.norm(step, axis=0)).max() / delta)
    case = {name: np.array([value]) for name, value in {"D": D, "place": place, "level": level, "tilde": level}.items()}
    assert events(case, s, 1.0)[0][0] == pytest.approx(found**2, rel=1e-6)


def test_the_longest_step_on_the_events_is_that_of_the_printed_thresholds():
    share = np.concatenate([np.linspace(1e-3, 0.99, 60), 1 - np.logspace(-6, -2, 60)])
    cases = dict(zip(("D", "place"), (axis.ravel() for axis in np.meshgrid(share, share)), strict=True))

    def most(s, wide):
        left, right = events({**cases, "level": np.array(wide), "tilde": np.array(wide)}, s, 1.0)
        return (left - right).max()

    assert most(0.71, 1.0) < 0 < most(0.72, 1.0)
    assert most(0.68, 1.6) < 0 < most(0.7, 1.6)


def test_the_samples_that_a_scope_tells_are_those_of_its_form():
    settings = eq_43.measure(None)
    literal, corrected = eq_43.judge(settings), eq_43.judge(settings, form="least", factor=28.0)
    assert "m = 31 values from 17 to 2.99573e+12 of" in literal.scope
    needed = ((max(math.log(one.N), one.d * math.log(2 / one.e0)), min(one.e1, one.e2)) for one in settings)
    assert f"to {28 * max(most / level**2 for most, level in needed):.6g} of" in corrected.scope
    at = eq_77.measure(None)
    least = min(math.ceil(100 * one.d * math.log(2 / one.e0) / one.e2**2) for one in at)
    assert f"; N m = 20 values from {least} to " in eq_77.judge(at).scope
