"""The Tracy-Widom law against its published moments, an independent table, and its own tail expansions."""

import numpy as np
import pytest
from TracyWidom import TracyWidom

from rmt import tracy_widom
from rmt.tracy_widom import TracyWidom1

law = TracyWidom1()


def test_moments_are_the_published_ones():
    assert law.mean == pytest.approx(-1.2065335745820, abs=1e-12)
    assert law.variance == pytest.approx(1.607781034581, abs=1e-11)


def test_agrees_with_an_independent_table():
    oracle, s = TracyWidom(beta=1), np.linspace(-5, 3, 33)
    assert np.max(np.abs(law.cdf(s) - oracle.cdf(s))) < 2e-4
    assert np.max(np.abs(law.pdf(s) - oracle.pdf(s))) < 2e-4


def test_density_is_normalised_and_is_the_derivative():
    nodes, weights = np.polynomial.legendre.leggauss(80)
    s = 12 * nodes + 2
    assert 12 * weights @ law.pdf(s) == pytest.approx(1, abs=1e-12)
    points, h = np.array([-8.5, -4.0, -1.0, 0.5, 5.0]), 1e-3
    slope = (8 * (law.cdf(points + h) - law.cdf(points - h)) - (law.cdf(points + 2 * h) - law.cdf(points - 2 * h))) / (
        12 * h
    )
    assert np.allclose(law.pdf(points), slope, rtol=1e-6, atol=1e-12)


def test_twice_the_nodes_change_nothing(monkeypatch):
    s = np.linspace(-8.9, 12, 15)
    coarse = law.cdf(s), law.pdf(s)
    monkeypatch.setattr(tracy_widom, "NODES", 2 * tracy_widom.NODES)
    assert np.max(np.abs(coarse[0] - law.cdf(s))) < 1e-13
    assert np.max(np.abs(coarse[1] - law.pdf(s))) < 1e-12


def test_both_tails_are_finite_positive_and_monotone():
    s = np.linspace(-25, 40, 261)
    cdf, pdf, sf = law.cdf(s), law.pdf(s), law.sf(s)
    assert np.all(np.diff(cdf) >= -1e-14)
    assert np.all(pdf > 0)
    assert np.all(np.diff(sf[s > 5]) < 0)
    assert np.all(sf > 0)


def test_determinant_meets_the_left_tail_expansion():
    for s in (-8.0, -8.5, -9.0):
        value, slope = tracy_widom._left_tail(np.array([s]))
        assert law.cdf(s) == pytest.approx(np.exp(value[0]), rel=1e-4, abs=0)
        assert law.pdf(s) == pytest.approx(np.exp(value[0]) * slope[0], rel=1e-4, abs=0)


@pytest.mark.parametrize("s", [8.0, 20.0, 40.0])
def test_right_tail_exponent(s):
    # 1 - F_1(s) ~ exp(-2/3 s^(3/2)) / (4 sqrt(pi) s^(3/4)), up to a relative error of order s^(-3/2)
    tail = np.exp(-2 / 3 * s**1.5) / (4 * np.sqrt(np.pi) * s**0.75)
    assert law.sf(s) == pytest.approx(tail, rel=s**-1.5, abs=0)


def test_quantile_inverts_the_cdf():
    p = np.array([1e-250, 1e-20, 1e-6, 0.01, 0.3, 0.5, 0.5000001, 0.99])
    assert np.allclose(law.cdf(law.quantile(p)), p, rtol=1e-9, atol=0)
    assert law.sf(law.quantile(1 - 1e-10)) == pytest.approx(1e-10, rel=1e-5, abs=0)
    assert law.quantile([0.0, 1.0]).tolist() == [-np.inf, np.inf]


def test_scalars_and_infinities():
    assert isinstance(law.cdf(0.0), float)
    assert law.cdf([-np.inf, np.inf]).tolist() == [0.0, 1.0]
    assert law.pdf([-np.inf, np.inf]).tolist() == [0.0, 0.0]
    assert law.cdf(np.zeros((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("method", ["cdf", "sf", "pdf", "quantile"])
def test_nan_is_refused(method):
    with pytest.raises(ValueError, match="nan"):
        getattr(law, method)([0.5, np.nan])


def test_levels_outside_the_unit_interval_are_refused():
    with pytest.raises(ValueError, match=r"1\.5"):
        law.quantile(1.5)
