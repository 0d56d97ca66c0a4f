"""Comparisons and Kolmogorov distances against tables and counting by hand."""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from rmt import AtomicLaw, Comparison, MarchenkoPastur, PointMass, Semicircle, SeparableLaw, distribution_distance


def test_intervals_of_samples_are_those_of_the_t_table():
    """Two draws, 0 and 2: mean 1, standard error 1, and t(0.975; 1) = 12.7062; three draws: t(0.95; 2) = 2.91999."""
    two = Comparison.from_sample("x", [0.0, 2.0], 1.0)
    assert two.interval(0.05) == pytest.approx((1 - 12.7062047, 1 + 12.7062047))
    three = Comparison.from_sample("x", [-1.0, 0.0, 1.0], 1.0)
    assert three.interval(0.1) == pytest.approx((-2.91998558 / np.sqrt(3), 2.91998558 / np.sqrt(3)))


def test_intervals_of_theory_are_gaussian():
    assert Comparison.from_theory("x", 1.0, 0.0, 2.0).interval(0.05) == pytest.approx((1 - 3.919928, 1 + 3.919928))


def test_a_miss_in_a_million_unless_told():
    """Normal quantile of 1 - 5e-7: 4.891638."""
    found = Comparison.from_theory("x", 0.0, 0.0, 0.5)
    assert found.interval() == pytest.approx((-0.5 * 4.891638475699, 0.5 * 4.891638475699))
    for predicted, agrees in ((2.445, True), (2.446, False), (-2.445, True), (-2.446, False)):
        assert Comparison.from_theory("x", 0.0, predicted, 0.5).agrees() == agrees


def test_standard_errors_of_any_size_and_samples_without_spread():
    assert Comparison.from_theory("x", 0.5, 0.0, 1e-9).standard_error == 1e-9
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="x: the predicted standard error must be positive and finite, got"):
            Comparison.from_theory("x", 0.5, 0.0, bad)
    same = Comparison.from_sample("x", [2.0, 2.0, 2.0], 2.0)
    assert (same.deviation, same.agrees(), same.draws) == (0.0, True, 3)
    off = Comparison.from_sample("x", [2.0, 2.0], 3.0)
    assert (off.deviation, off.agrees()) == (-float("inf"), False)
    for sample in ([], [1.0], [1.0, float("nan")]):
        with pytest.raises(ValueError, match="x: a sample needs at least two finite draws"):
            Comparison.from_sample("x", sample, 0.0)


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 0.7, 2.2, -0.1, 1e-200, 1e300])
@pytest.mark.parametrize("size", [2, 100, 1000, 12345])
def test_draws_that_are_equal_have_this_mean_and_no_error(value, size):
    found = Comparison.from_sample("x", [value] * size, value)
    assert (found.observed, found.standard_error, found.deviation) == (value, 0.0, 0.0)
    assert found.agrees()
    for other in (value * (1 + 1e-12), value * (1 - 1e-12), 0.0):
        assert not Comparison.from_sample("x", [value] * size, other).agrees()


def test_draws_and_predictions_that_differ_by_rounding_agree():
    above = np.nextafter(0.3, 1.0)
    assert Comparison.from_sample("x", [0.3] * 50, above).agrees()
    found = Comparison.from_sample("x", [0.3, above, above] * 40, 0.3)
    assert (found.deviation, found.agrees()) == (0.0, True)
    assert Comparison.from_theory("x", above, 0.3, 1e-18).agrees()
    spread = Comparison.from_sample("x", [1.0 + 1e-12, 1.0 - 1e-12, 1.0 + 2e-12], 1.0 + 5e-12)
    assert spread.deviation == pytest.approx(-13 / np.sqrt(7), rel=1e-3)  # mean 2/3, standard error sqrt(7)/3


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-12, 1.0, 1e200, 1e307])
def test_a_comparison_knows_no_unit(unit):
    """1, 1.1 and 0.9: mean 1, standard error 0.1 / sqrt(3)."""
    sample = unit * np.array([1.0, 1.1, 0.9])
    near, far = (Comparison.from_sample("x", sample, place * unit) for place in (1.05, 5.0))
    assert near.standard_error == pytest.approx(0.1 / np.sqrt(3) * unit, rel=1e-9, abs=0.0)
    assert near.deviation == pytest.approx(-0.05 * np.sqrt(3) / 0.1)
    assert far.deviation == pytest.approx(-4 * np.sqrt(3) / 0.1)
    assert (near.agrees(), far.agrees(), far.agrees(0.01)) == (True, True, False)  # t(1 - 5e-7; 2) = 1000


def test_predictions_on_either_side_are_refused():
    for predicted in (-1.0, 1.0):
        found = Comparison.from_theory("x", 0.0, predicted, 0.1)
        assert not found.agrees()
        assert found.deviation == pytest.approx(-10 * predicted)
    assert Comparison.from_theory("x", 0.0, 0.1, 0.1).agrees(0.05)


@pytest.mark.parametrize("size", [1, 2, 3, 50])
@pytest.mark.parametrize("shift", [-1.0, 0.0, 1.0])
def test_distance_is_the_statistic_of_kolmogorov(size, shift):
    law = Semicircle(1.0, 0.5)
    sample = law.quantile(np.random.default_rng(size).uniform(size=size)) + shift
    assert distribution_distance(sample, law) == pytest.approx(kstest(sample, law.cdf).statistic, abs=1e-12)


def test_distance_from_a_law_with_atoms_by_hand():
    coin = AtomicLaw((-1.0, 1.0), (0.25, 0.75))
    assert distribution_distance([-1.0, 1.0, 1.0, 1.0], coin) == pytest.approx(0.0, abs=1e-15)
    assert distribution_distance([-1.0, -1.0, 1.0, 1.0 + 1e-13], coin) == pytest.approx(0.25)
    assert distribution_distance([1.0], coin) == pytest.approx(0.25)
    assert distribution_distance([-1.0], coin) == pytest.approx(0.75)
    near = AtomicLaw((1.0, 1.0 + 1e-13), (0.5, 0.5))  # too near for the width that atoms have otherwise
    rounded = [1.0 - 3e-15] * 10 + [1.0 + 1e-13 + 3e-15] * 10  # the rounding of a matrix with 20 eigenvalues
    assert distribution_distance(rounded, near) == pytest.approx(0.0, abs=1e-15)
    assert distribution_distance(rounded[::10], near) == pytest.approx(0.5)  # beyond that of two
    assert distribution_distance([0.0], PointMass(0.0)) == 0.0


@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1.0, 1e12])
def test_the_distance_knows_no_unit(unit):
    """Half the eigenvalues of a law with an atom of mass 1/2 at 0; the others lie within 1e-9 of it in small units."""
    law = MarchenkoPastur(2.0, unit)
    values = np.asarray(law.quantile((np.arange(200) + 0.5) / 200))
    assert distribution_distance(values, law) < 0.006
    assert distribution_distance(values + 0.5 * unit, law) > 0.3


def by_hand(values, jumps, cdf):
    """Return the Kolmogorov distance by counting, from the law's mass up to each value and at each value."""
    values, n = np.asarray(values), len(values)
    at_most, below = (np.array([(side(values, x)).sum() / n for x in values]) for side in (np.less_equal, np.less))
    mass, jump = cdf(values), np.array([jumps.get(x, 0.0) for x in values])
    return max(np.abs(mass - at_most).max(), np.abs(mass - jump - below).max())


@pytest.mark.parametrize(
    ("law", "kernel", "n"),
    [
        (SeparableLaw(AtomicLaw((1e-9, 1.0), (0.5, 0.5)), PointMass(1.0), 400 / 280), 120, 400),
        (SeparableLaw(AtomicLaw((1e-11, 1.0), (0.3, 0.7)), PointMass(1.0), 1.5), 100, 300),
        (SeparableLaw(PointMass(1.0), AtomicLaw((1e-10, 2.0), (0.4, 0.6)), 2.0), 150, 300),
        (MarchenkoPastur(1.2), 100, 600),
    ],
)
def test_small_eigenvalues_are_not_a_kernel(law, kernel, n):
    """A sample at quantiles, whose kernel comes back with the rounding of eigenvalues: at most 1/n away."""
    places = (np.arange(n) + 0.5) / n
    values = np.asarray(law.quantile(places))
    assert (values[:kernel] == 0.0).all()
    assert values[kernel] > 0.0
    rounded = values.copy()
    rounded[:kernel] = 6e-16 * values[-1] * np.linspace(-1.0, 1.0, kernel)
    right = by_hand(values, dict(law.atoms), law.cdf)
    assert right < 1.0 / n
    assert distribution_distance(rounded, law) == pytest.approx(right, abs=1e-9)
    assert distribution_distance(np.random.default_rng(0).permutation(rounded), law) == pytest.approx(right, abs=1e-9)


def test_a_large_eigenvalue_hides_no_band():
    """One eigenvalue of 1e8 next to a band from 0.009: it counts 1/n, and the kernel keeps its rounding."""
    law, n = MarchenkoPastur(1.2), 600
    values = np.asarray(law.quantile((np.arange(n) + 0.5) / n))
    values[:100], values[-1] = 5e-8 * np.linspace(-1.0, 1.0, 100), 1e8
    assert distribution_distance(values, law) == pytest.approx(1.0 / n)


@pytest.mark.parametrize("apart", [1e-15, 1e-13, 1e-10, 1e-3])
def test_close_atoms_keep_their_own_values(apart):
    law = AtomicLaw((0.0, apart, 1.0), (0.3, 0.3, 0.4))
    assert distribution_distance([0.0] * 3 + [apart] * 3 + [1.0] * 4, law) == pytest.approx(0.0, abs=1e-15)
    assert distribution_distance([0.0] * 1 + [apart] * 5 + [1.0] * 4, law) == pytest.approx(0.2)
    pair = AtomicLaw((1.0, 1.0 + apart), (0.25, 0.75))
    assert distribution_distance([1.0] + [1.0 + apart] * 3, pair) == pytest.approx(0.0, abs=1e-15)
    assert distribution_distance([1.0] * 4, pair) == pytest.approx(0.75)


@pytest.mark.parametrize(("off", "distance"), [(1e-15, 0.0), (1e-12, 0.0), (1e-11, 0.3), (-1e-11, 0.3), (1e-9, 0.3)])
def test_values_beyond_rounding_are_not_on_an_atom(off, distance):
    found = distribution_distance([0.0] * 3 + [off] * 3 + [1.0] * 4, AtomicLaw((0.0, 1.0), (0.6, 0.4)))
    assert found == pytest.approx(distance, abs=1e-15)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_eigenvalues_that_are_not_finite_are_refused(bad):
    for law in (Semicircle(), PointMass(0.0)):
        with pytest.raises(ValueError, match="eigenvalues must be finite, got"):
            distribution_distance([0.3, bad, 0.0], law)


def test_no_eigenvalues_are_one_line():
    with pytest.raises(ValueError, match="no eigenvalues to compare"):
        distribution_distance([], Semicircle())


@pytest.mark.parametrize("level", [0.0, -0.1, 1.0, 2.0, 1e-301, float("nan"), float("inf"), "a", None])
def test_levels_that_are_no_chance_are_refused(level):
    for found in (Comparison.from_theory("x", 0.0, 0.1, 0.1), Comparison.from_sample("x", [0.0, 1.0], 0.1)):
        for ask in (found.agrees, found.interval):
            with pytest.raises(ValueError, match="level"):
                ask(level)


@pytest.mark.parametrize("level", [1e-300, 1e-100, 1e-17, 0.5])
def test_small_levels_keep_their_digits(level):
    """A normal law is beyond x with chance erfc(x / sqrt 2), and Cauchy's with 2 / (pi x) far out."""
    low, high = Comparison.from_theory("x", 0.0, 0.0, 1.0).interval(level)
    assert math.erfc(high / math.sqrt(2.0)) == pytest.approx(level, rel=1e-9, abs=0.0)
    assert low == -high
    for predicted, agrees in ((high - 1e-5, True), (high + 1e-5, False)):
        assert Comparison.from_theory("x", 0.0, predicted, 1.0).agrees(level) == agrees
    two = Comparison.from_sample("x", [-1.0, 1.0], 0.0).interval(level)
    assert two[1] == pytest.approx(2.0 / np.pi / level if level < 0.1 else 1.0)


def test_complex_numbers_are_neither_draws_nor_eigenvalues():
    with pytest.raises(ValueError, match="x: a sample must be an array of real numbers"):
        Comparison.from_sample("x", [1j, 2j], 0.0)
    with pytest.raises(ValueError, match="eigenvalues must be an array of real numbers"):
        distribution_distance(np.array([1.0 + 0j, 2.0]), Semicircle())


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_agrees_with_the_same_infinity_only(value):
    for other in (5.0, 0.0, -value):
        assert not Comparison.from_theory("x", other, value, 1.0).agrees()
        assert not Comparison.from_theory("x", value, other, 1.0).agrees()
    assert Comparison.from_theory("x", 5.0, value, 1.0).deviation == -value
    assert Comparison.from_theory("x", value, 5.0, 1.0).deviation == value
    same = Comparison.from_theory("x", value, value, 1.0)
    assert (same.deviation, same.agrees()) == (0.0, True)
    for sample in ([1.0, 2.0, 3.0], [2.0, 2.0]):
        found = Comparison.from_sample("x", sample, value)
        assert (found.deviation, found.agrees()) == (-value, False)


def test_nan_agrees_with_nothing():
    for other in (5.0, np.inf, np.nan):
        assert not Comparison.from_theory("x", other, np.nan, 1.0).agrees()
        assert not Comparison.from_theory("x", np.nan, other, 1.0).agrees()
    assert not Comparison.from_sample("x", [2.0, 2.0], np.nan).agrees()


@pytest.mark.parametrize("size", [1e3, 1e6, 1e8])
def test_a_bulk_without_its_outlier_has_the_rounding_of_the_whole_matrix(size):
    """100 of 600 directions have no sample; their zeros come back with the rounding of the outlier."""
    rng, P, m = np.random.default_rng(3), 600, 500
    samples, direction = rng.standard_normal((m, P)), rng.standard_normal(P)
    direction /= np.linalg.norm(direction)
    samples += (np.sqrt(size) - 1.0) * np.outer(samples @ direction, direction)
    values = np.linalg.eigvalsh(samples.T @ samples / m)
    bulk, law = values[:-1], MarchenkoPastur(P / m)
    zeroed = np.where(np.arange(P - 1) < P - m, 0.0, bulk)
    right = by_hand(zeroed, dict(law.atoms), law.cdf)
    assert right < 0.01
    assert distribution_distance(bulk, law, scale=values[-1]) == pytest.approx(right, abs=1e-9)
    assert distribution_distance(bulk, law, scale=1e-3) == distribution_distance(bulk, law)  # at least that of the bulk


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan, "a"])
def test_a_scale_that_no_matrix_has_is_refused(scale):
    with pytest.raises(ValueError, match=r"scale must be (positive and finite|a number), got"):
        distribution_distance([0.0, 1.0], Semicircle(), scale=scale)


def test_what_is_not_a_number_is_not_compared():
    for numbers in ((1.0, 2.0, "a"), ("1", 2.0, 1.0), (1.0, None, 1.0)):
        with pytest.raises(
            ValueError, match=r"^x: the (predicted standard error|prediction|observation) must be a number"
        ):
            Comparison.from_theory("x", *numbers)
    with pytest.raises(ValueError, match=r"^x: the prediction must be a number, got '2'"):
        Comparison.from_sample("x", [1.0, 2.0], "2")
