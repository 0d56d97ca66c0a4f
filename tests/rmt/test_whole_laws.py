"""Every law adds up to 1: bands between the nodes of quadrature are found, and a law that does not is refused."""

from dataclasses import replace

import numpy as np
import pytest

from rmt import (
    AtomicLaw,
    CovarianceSum,
    DensityLaw,
    FreeSum,
    JointPopulation,
    MarchenkoPastur,
    PointMass,
    RTransformLaw,
    Semicircle,
    SeparableLaw,
    SpikedModel,
    SpikedSum,
)
from rmt.cumulants import moments_from_free_cumulants
from rmt.laws import Affine, Law

PLACES = np.linspace(0.2, 2.0, 5)
FIVE = AtomicLaw(PLACES, [0.2] * 5)


@pytest.mark.sample(1)
@pytest.mark.parametrize("width", [0.3, 1e-3, 1e-5])
def test_moments_of_free_sums_count_narrow_bands(width):
    law = FreeSum(AtomicLaw(PLACES[:4], (0.1, 0.3, 0.2, 0.4)), Semicircle(width))
    assert law._panels.total == pytest.approx(1.0, abs=1e-8)
    assert [Law.moment(law, n) for n in range(1, 5)] == pytest.approx([law.moment(n) for n in range(1, 5)], rel=1e-8)


@pytest.mark.sample(1)
@pytest.mark.parametrize("ratio", [0.5, 1e-4, 1e-6])
def test_moments_of_covariances_count_narrow_bands(ratio):
    """Against the moments of products of the population, to all orders in the ratio."""
    one = CovarianceSum(JointPopulation.of(PLACES[:, None], [20.0] * 5), (PointMass(1.0),), (100 / ratio,))
    other, p = SeparableLaw(FIVE, PointMass(1.0), ratio), [FIVE.moment(n) for n in range(5)]
    third = p[3] + 3 * ratio * p[2] * p[1] + ratio**2 * p[1] ** 3
    for law in (one, other):
        assert [law.moment(n) for n in (1, 2)] == pytest.approx([p[1], p[2] + ratio * p[1] ** 2])
        assert law.moment(3) == pytest.approx(third, rel=1e-8)
        noise = SpikedModel((1000.0,), noise=law).outliers[0]
        assert noise.location == pytest.approx(1000 + p[1] + law.variance / 1000, abs=1e-5)
        assert 1 - noise.overlap == pytest.approx(law.variance / 1e6, rel=0.01)


@pytest.mark.parametrize("ratio", [0.3, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("size", [1.0, 1e60])
def test_central_moments_of_a_narrow_covariance(ratio, size):
    """Those of the Marchenko-Pastur law: c, c^2 and 2 c^2 + c^3."""
    law = SeparableLaw(PointMass(size), PointMass(1.0), ratio)
    expected = [size**2 * ratio, size**3 * ratio**2, size**4 * (2 * ratio**2 + ratio**3)]
    assert [law.moment(n, about=law.mean) for n in (2, 3, 4)] == pytest.approx(expected, rel=1e-6, abs=0.0)
    assert law.free_cumulants(3)[1:] == pytest.approx(expected[:2], rel=1e-6, abs=0.0)


COINS = AtomicLaw((-1.0, 1.0), (0.4, 0.6)), AtomicLaw((0.0, 3.0), (0.3, 0.7))
TWO = JointPopulation.of([[1.0, 0.3], [0.2, 2.0]], [30.0, 50.0]), (PointMass(1.0), PointMass(-1.0)), (200.0, 300.0)


class ShortSemicircle(Semicircle):
    @property
    def support(self):
        return self.center - 2 * self.sigma, self.center + 1.9 * self.sigma


class LightSemicircle(Semicircle):
    def _continuous_cdf(self, x):
        return 0.9 * super()._continuous_cdf(x)


class ShortSum(FreeSum):
    @property
    def _right(self):
        edge, g = self._edge(1)
        return edge - 0.05, g


class ShortCovariance(SeparableLaw):
    @property
    def edges(self):
        left, right = super().edges
        return left, replace(right, z=0.97 * right.z)


class ShortDifference(CovarianceSum):
    @property
    def edges(self):
        left, right = super().edges
        return replace(left, z=0.97 * left.z), right


WRONG = {
    "short": ShortSemicircle(),
    "light": LightSemicircle(2.0, 1.0),
    "affine": Affine(ShortSemicircle(), 2.0, 5.0),
    "free sum": ShortSum(*COINS),
    "affine free sum": Affine(ShortSum(*COINS), 3.0),
    "covariance": ShortCovariance(FIVE, PointMass(1.0), 0.5),
    "difference": ShortDifference(*TWO),
}
WHOLE = {
    "semicircle": Semicircle(2.0, 1.0),
    "pastur": MarchenkoPastur(0.3),
    "density infinite at 0": MarchenkoPastur(1.0),
    "arcsine": FreeSum(AtomicLaw((-1.0, 1.0), (0.5, 0.5)), AtomicLaw((-1.0, 1.0), (0.5, 0.5))),
    "atoms": FIVE,
    "point": PointMass(3.0),
    "affine": Affine(MarchenkoPastur(2.5), 2.0, 5.0),
    "free sum": FreeSum(*COINS),
    "nested": FreeSum(FreeSum(*COINS), Semicircle(0.3)),
    "a band of less than a double": FreeSum(AtomicLaw((0.0, 1e6), (0.5, 0.5)), Semicircle(1e-12)),
    "covariance": SeparableLaw(FIVE, PointMass(1.0), 0.5),
    "narrow covariance": SeparableLaw(FIVE, PointMass(1.0), 1e-14),
    "as many as samples": SeparableLaw(FIVE, PointMass(1.0), 1.0),
    "difference": CovarianceSum(*TWO),
    "spiked": SpikedSum(np.array([[[9.0]], [[4.0]]]), *TWO).law,
    "density": DensityLaw(lambda x: 0.5, (-1.0, 1.0)),
    "transform": RTransformLaw(lambda w: 1 / (1 - 0.25 * w)),
}


@pytest.mark.parametrize("ask", [lambda law: law.cdf(0.0), lambda law: law.quantile(0.4), lambda law: law.pdf(0.0)])
@pytest.mark.parametrize("law", WRONG.values(), ids=WRONG.keys())
def test_laws_that_do_not_add_up_to_1_are_refused(law, ask):
    law.__dict__.pop("_is_complete", None)
    with pytest.raises(ValueError, match=r"cannot be computed accurately near x = .*; its parts or their atoms differ"):
        ask(law)


@pytest.mark.parametrize("law", WHOLE.values(), ids=WHOLE.keys())
def test_laws_that_add_up_to_1_are_accepted(law):
    assert 0.0 <= law.cdf(law.quantile(0.5) - 1e-7) <= law.cdf(law.quantile(0.5)) <= 1.0


def test_densities_that_do_not_add_up_to_1_are_refused():
    with pytest.raises(ValueError, match=r"must integrate to 1, got 0\.9"):
        DensityLaw(lambda x: 0.45, (-1.0, 1.0))
    with pytest.raises(ValueError, match="R-transform"):
        RTransformLaw(lambda w: w + 0.3 * w**3)


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-200, 1e-90, 1e200])
def test_sums_of_every_size(size):
    atoms, counts, weights, samples = np.array([[1.0, 0.3], [0.2, 2.0]]), [30.0, 50.0], TWO[1], (200.0, 300.0)
    spikes = np.array([[[9.0]], [[4.0]]])
    law = CovarianceSum(JointPopulation.of(atoms * size, counts), weights, samples)
    one = CovarianceSum(*TWO)
    assert law.mean / size == pytest.approx(one.mean)
    if size > 1.0:
        assert law.frobenius_squared == np.inf
        with pytest.raises(ValueError, match="a moment of order 2 exceeds double precision"):
            law.moment(2)
    elif size > 1e-100:
        assert law.moment(2, 0.1 * size) / size**2 == pytest.approx(one.moment(2, 0.1))
        assert law.frobenius_squared / size**2 == pytest.approx(one.frobenius_squared)
    scaled = SpikedSum(spikes * size, JointPopulation.of(atoms * size, counts), weights, samples).stable_rank()
    assert scaled.value == pytest.approx(SpikedSum(spikes, *TWO).stable_rank().value)


def test_lists_are_spikes_and_other_populations_are_named():
    assert SpikedSum([[[9.0]], [[4.0]]], *TWO).above[0].overlap > 0.5
    with pytest.raises(ValueError, match="population must be a JointPopulation, got a list"):
        CovarianceSum([[1.0]], (PointMass(1.0),), (2.0,))
    with pytest.raises(ValueError, match="bulk must be a JointPopulation, got a list"):
        SpikedSum([[[9.0]]], [[1.0]], (PointMass(1.0),), (2.0,))


@pytest.mark.parametrize("small", [1e-10, 1e-3])
def test_moments_of_groups_of_very_different_sizes(small):
    """Groups of multiples of the identity are free: their cumulants add. Those of one are ratio^(k-1) E[tau^k]."""
    places, shares, counts = np.array([1.0, -3.0, 2.0]), np.array([0.5, 0.3, 0.2]), (150.0, 40.0)
    weights = (AtomicLaw(tuple(places), tuple(shares)), PointMass(-1.0))
    law = CovarianceSum(JointPopulation.of([[1.0, small]], [100.0]), weights, counts)
    cumulants = [
        (100 / counts[0]) ** (k - 1) * (places**k @ shares) + (100 / counts[1]) ** (k - 1) * (-small) ** k
        for k in range(1, 8)
    ]
    assert [law.moment(n) for n in range(8)] == pytest.approx([1.0, *moments_from_free_cumulants(cumulants)], rel=1e-13)
    centred = moments_from_free_cumulants([0.0, *cumulants[1:]])
    assert [law.moment(n, law.mean) for n in range(2, 8)] == pytest.approx(list(centred)[1:], rel=1e-12)


def test_moments_with_a_block_are_those_of_its_eigenvalues():
    atoms, turn = (
        np.array([[1.0, 1e-10], [0.3, 2e-10], [2.0, 1e-11], [0.7, 3e-10]]),
        np.linalg.qr(np.vander([1, 2, 4]))[0],
    )
    block = np.stack([(turn * atoms[1:, g]) @ turn.T for g in range(2)])
    weights, samples = (AtomicLaw((1.0, -2.0), (0.6, 0.4)), PointMass(-3.0)), (6.0, 2.0)
    law = CovarianceSum(JointPopulation.of(atoms, [2.0, 1.0, 1.0, 1.0]), weights, samples)
    turned = CovarianceSum(JointPopulation.of(atoms[:1], [2.0], block), weights, samples)
    for about in (0.0, 0.4):
        known = [law.moment(n, about) for n in range(7)]
        assert [turned.moment(n, about) for n in range(7)] == pytest.approx(known, rel=1e-12)


def test_moments_that_vanish_do_in_every_unit():
    weights = AtomicLaw((-1e200, 1e200), (0.5, 0.5))
    assert SeparableLaw(PointMass(1.0), weights, 0.5).moment(3) == 0.0
    with pytest.raises(ValueError, match="a moment of order 2 exceeds double precision"):
        SeparableLaw(PointMass(1.0), weights, 0.5).moment(2)
