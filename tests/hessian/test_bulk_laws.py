"""The distribution of a bulk and its distance from a law, on three nodes, by hand."""

import numpy as np
import pytest
from scipy.stats import kstwobign

from hessian.bulk_laws import Bulk, law_fits

ONE = Bulk(10, (np.array([0.0, 1.0, 4.0]),), (np.array([0.2, 0.5, 0.3]),), np.empty(0))
WITH_KNOWN = Bulk(10, (np.array([0.0, 1.0, 4.0]),), (np.array([0.2, 0.4, 0.3]),), np.array([2.0]))


def test_lines_join_the_middles_of_the_gaps():
    # The middles are -1/2, 1/2, 5/2 and 11/2: the outer gaps are carried on beyond the ends.
    points = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 2.5, 4.0, 5.5, 6.0])
    assert ONE.cdf(points) == pytest.approx([0.0, 0.0, 0.1, 0.2, 0.325, 0.7, 0.85, 1.0, 1.0])
    assert WITH_KNOWN.cdf(np.array([0.5, 1.5, 2.0, 2.5, 6.0])) == pytest.approx([0.2, 0.4, 0.6, 0.7, 1.0])


def test_what_a_rule_leaves_open_at_a_point():
    # At a node its own weight is open, and between two nodes that of both.
    least, most = ONE.bracket(np.array([-1.0, 0.0, 0.5, 1.0, 4.0, 5.0]))
    assert least == pytest.approx([0.0, 0.0, 0.0, 0.2, 0.7, 0.7])
    assert most == pytest.approx([0.2, 0.2, 0.7, 0.7, 1.0, 1.0])
    least, most = WITH_KNOWN.bracket(np.array([2.0, 3.0]))
    assert least == pytest.approx([0.2, 0.2 + 0.1])
    assert most == pytest.approx([0.9 + 0.1, 0.9 + 0.1])


def test_moments_count_known_eigenvalues_once():
    assert WITH_KNOWN.moment(1) == pytest.approx(0.4 + 1.2 + 0.2)
    assert WITH_KNOWN.moment(2, about=1.0) == pytest.approx(0.2 + 0.3 * 9.0 + 0.1)
    two = Bulk(4, (np.array([1.0]), np.array([3.0])), (np.array([1.0]), np.array([1.0])), np.empty(0))
    assert two.moment(2) == pytest.approx((1.0 + 9.0) / 2.0)
    assert Bulk(2, (), (), np.array([1.0, 2.0])).moment(1) == 1.5


def test_the_distance_from_the_uniform_law_on_an_interval():
    """F(x) = (x + 1/2)/6: at the middles 0, 1/6, 1/2 and 1, against 0, 1/5, 7/10 and 1."""

    def law(x):
        return np.clip((x + 0.5) / 6.0, 0.0, 1.0)

    spread = kstwobign.ppf(0.5) * np.sqrt(2.0 / 10.0)
    found = ONE.distance(law, confidence=0.5)
    assert found.value == pytest.approx(0.2)
    assert found.low == 0.0
    # In the neighbourhood of node 1 everything from 0 to all three weights is open; F(1) = 1/4.
    assert found.high == pytest.approx(min(1.0, 0.75 + spread))
    for confidence in (0.5, 0.99):
        spread = kstwobign.ppf(confidence) * np.sqrt(2.0 / (3 * 1000))  # of three probes
        three = Bulk(1000, ONE.nodes * 3, ONE.weights * 3, np.empty(0)).distance(law, confidence)
        assert three.high == pytest.approx(0.75 + spread)
    assert Bulk(10**12, ONE.nodes, ONE.weights, ONE.eigenvalues).distance(law).high == pytest.approx(0.75, abs=1e-5)


def test_a_law_beyond_every_bracket_is_certainly_far():
    huge = Bulk(10**12, ONE.nodes, ONE.weights, ONE.eigenvalues)
    above, below = (huge.distance(lambda x, level=level: np.full_like(x, level)) for level in (0.9, 0.05))
    assert above.low == pytest.approx(0.7, abs=1e-5)  # at node 0 no more than 1/5 lies below
    assert below.low == pytest.approx(0.65, abs=1e-5)  # at node 4 no less than 7/10 does


def test_outliers_leave_the_bulk_of_mass_one():
    class Whole:
        P, nodes, weights = 20, (np.array([1.0, 2.0]),), (np.array([0.3, 0.4]),)

    bulk = Bulk.of(Whole(), 4, np.array([5.0, 3.0]))
    assert bulk.size == 16
    assert bulk.weights[0] == pytest.approx([0.375, 0.5])
    assert bulk.eigenvalues.tolist() == [3.0, 5.0]
    assert bulk.cdf(np.array([9.0])) == pytest.approx([1.0])


def test_laws_are_fitted_to_the_moments():
    fits = {fit.name: fit for fit in law_fits(ONE)}
    mean, variance = ONE.moment(1), ONE.moment(2, about=ONE.moment(1))
    for name in ("shifted semicircle", "Marchenko-Pastur", "shifted Marchenko-Pastur"):
        assert fits[name].law.mean == pytest.approx(mean)
        assert fits[name].law.variance == pytest.approx(variance)
    skewed = fits["shifted Marchenko-Pastur"].law
    assert skewed.moment(3, about=mean) == pytest.approx(ONE.moment(3, about=mean))
    shared = fits["semicircle on a share of the directions"]
    for power in (2, 4):
        assert shared.share * shared.law.moment(power) == pytest.approx(ONE.moment(power))
    assert shared.cdf(np.array([-1e-9, 0.0]))[1] - shared.cdf(np.array([-1e-9, 0.0]))[0] == pytest.approx(
        1.0 - shared.share, abs=1e-6
    )


def test_laws_whose_moments_do_not_fit_are_left_out():
    flat = Bulk(10, (np.array([-2.0, -1.0]),), (np.array([0.5, 0.5]),), np.empty(0))
    assert [fit.name for fit in law_fits(flat)] == ["shifted semicircle"]
    assert law_fits(Bulk(10, (np.array([3.0]),), (np.array([1.0]),), np.empty(0))) == ()
