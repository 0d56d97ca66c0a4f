"""Outliers, overlaps and stable ranks through the threshold, against R-transforms in 60 digits, in every unit."""

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rmt import (
    AtomicLaw,
    DensityLaw,
    FreeSum,
    MarchenkoPastur,
    PointMass,
    RTransformLaw,
    Semicircle,
    SpikedModel,
    draw_banded,
    rows_needed,
)

mp = mpmath.mp.clone()
mp.dps = 60
COIN = AtomicLaw((-1.0, 1.0), (0.5, 0.5))
ARCSINE = DensityLaw(lambda x: 1 / (np.pi * np.sqrt((2 - x) * (2 + x))), (-2.0, 2.0), "arcsine")
UNIFORM = DensityLaw(lambda x: 0.5, (-1.0, 1.0), "uniform")


def semicircle(sigma, centre=0.0):
    return lambda w: mp.mpf(centre) + mp.mpf(sigma) ** 2 * w


def marchenko_pastur(ratio, variance=1.0):
    return lambda w: mp.mpf(variance) / (1 - mp.mpf(ratio) * mp.mpf(variance) * w)


def coin(w):
    return (mp.sqrt(1 + 4 * w**2) - 1) / (2 * w)


def uniform(w):
    return mp.coth(w) - 1 / w


# Each law, its R-transform by hand, and its promised accuracy (of overlaps; of locations in units of the law).
LAWS = {
    "semicircle": (Semicircle(1.0), semicircle(1.0), 4e-15),
    "semicircle of another size": (Semicircle(3.73046875), semicircle(3.73046875), 4e-15),
    "semicircle shifted left": (Semicircle(1.3, -5.0), semicircle(1.3, -5.0), 4e-15),
    "Marchenko-Pastur": (MarchenkoPastur(0.3, 1.7), marchenko_pastur(0.3, 1.7), 1e-14),
    "square Marchenko-Pastur": (MarchenkoPastur(1.0), marchenko_pastur(1.0), 1e-14),
    "Marchenko-Pastur with an atom": (MarchenkoPastur(2.5), marchenko_pastur(2.5), 1e-14),
    "negative Marchenko-Pastur": (MarchenkoPastur(0.3).shifted(-4.0), lambda w: marchenko_pastur(0.3)(w) - 4, 1e-14),
    "coin": (COIN, coin, 4e-15),
    "point": (PointMass(2.0), lambda w: mp.mpf(2), 4e-15),
    "by R-transform": (RTransformLaw(lambda w: 1 / (1 - 0.25 * w)), marchenko_pastur(0.25), 1e-12),
    "semicircle by density": (DensityLaw(Semicircle()._pdf, (-2.0, 2.0)), semicircle(1.0), 1e-10),
    "Marchenko-Pastur by density": (
        DensityLaw(MarchenkoPastur(0.3)._pdf, MarchenkoPastur(0.3).support),
        marchenko_pastur(0.3),
        1e-9,
    ),
    "arcsine": (ARCSINE, lambda w: 2 * coin(w), 1e-10),
    "uniform": (UNIFORM, uniform, 1e-10),
    "free: coin and semicircle": (FreeSum(COIN, Semicircle(0.5)), lambda w: coin(w) + w / 4, 1e-14),
    "free: two coins": (FreeSum(COIN, COIN), lambda w: 2 * coin(w), 1e-14),
    "free: two semicircles": (FreeSum(Semicircle(3.0, 1.0), Semicircle(4.0, -2.0)), semicircle(5.0, -1.0), 1e-14),
    "free: Marchenko-Pastur and semicircle, moved": (
        FreeSum(MarchenkoPastur(0.3), Semicircle(0.5)).scaled(2.0).shifted(-1.0),
        lambda w: 2 * (marchenko_pastur(0.3)(2 * w) + w / 2) - 1,
        2e-14,
    ),
    "free: uniform and Marchenko-Pastur": (
        FreeSum(UNIFORM, MarchenkoPastur(0.5)),
        lambda w: uniform(w) + marchenko_pastur(0.5)(w),
        1e-9,
    ),
}
SCALES = (1e-150, 1e-9, 1.0, 1e12, 1e150)
DISTANCES = tuple(np.geomspace(1e-16, 1.0, 33))


def near_threshold(law, side, distance, scale):
    """Return the spike at that relative distance from the threshold, or that far from 0 where the threshold is 0."""
    threshold = law.thresholds[int(side > 0)]
    unit = abs(threshold) or (law.support[1] - law.support[0]) / 2 or 1.0
    return scale * (threshold + side * distance * unit)


def by_hand(transform, spike, scale):
    """Location in units of the scale, and overlap."""
    theta = mp.mpf(spike) / mp.mpf(scale)
    slope = mp.diff(transform, 1 / theta)
    return transform(1 / theta) + theta, 1 - slope / theta**2


def check_against_the_oracle(name, side, distance, scale):
    law, transform, accuracy = LAWS[name]
    spike = near_threshold(law, side, distance, scale)
    model = SpikedModel((spike,), law, scale)
    (outlier,) = model.outliers
    edge = model.bulk_edges[int(side > 0)]
    size = max(map(abs, law.support)) + abs(spike / scale)
    if not side * spike > side * model.thresholds[int(side > 0)]:
        assert (outlier.location, outlier.separated, outlier.overlap) == (edge, False, 0.0)
        return
    location, overlap = by_hand(transform, spike, scale)
    assert outlier.separated
    assert side * outlier.location >= side * edge
    assert abs(outlier.location / scale - float(location)) <= accuracy * size
    assert abs(outlier.overlap - float(max(overlap, 0))) <= accuracy
    assert 0.0 <= outlier.overlap <= 1.0


@pytest.mark.sample(40)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", LAWS)
def test_outliers_and_overlaps_on_both_sides_of_both_thresholds(name, scale):
    law = LAWS[name][0]
    for side in (-1.0, 1.0):
        for distance in DISTANCES:
            check_against_the_oracle(name, side, distance, scale)
        if law.thresholds[int(side > 0)] != 0.0:
            for distance in (0.0, *DISTANCES[:-1]):
                check_against_the_oracle(name, side, -distance, scale)


@given(
    name=st.sampled_from(sorted(LAWS)),
    side=st.sampled_from((-1.0, 1.0)),
    exponent=st.floats(-17.0, 1.0),
    inside=st.booleans(),
    scale=st.floats(-150.0, 150.0),
)
@example(name="semicircle", side=1.0, exponent=-9.0, inside=False, scale=0.0)
def test_no_spike_is_too_near_to_its_threshold(name, side, exponent, inside, scale):
    inside = inside and LAWS[name][0].thresholds[int(side > 0)] != 0.0 and exponent < -0.01
    check_against_the_oracle(name, side, (-1.0 if inside else 1.0) * 10.0**exponent, 10.0**scale)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", LAWS)
def test_stable_ranks_are_continuous(name, scale):
    """Near the threshold the stable rank changes with the spike no faster than its numerator does."""
    law, R = LAWS[name][0], 1000
    for side in (-1.0, 1.0):
        if law.thresholds[int(side > 0)] == 0.0:
            continue
        at = SpikedModel((near_threshold(law, side, 0.0, scale),), law, scale).stable_rank(R)
        for distance in DISTANCES[:20]:
            for sign in (-1.0, 1.0):
                spike = near_threshold(law, side, sign * distance, scale)
                found = SpikedModel((spike,), law, scale).stable_rank(R)
                assert found.value == pytest.approx(at.value, rel=distance + 1e-13)
                assert found.spectral_norm == pytest.approx(at.spectral_norm, rel=4 * distance + 1e-13, abs=0.0)


@pytest.mark.parametrize("law", [UNIFORM, MarchenkoPastur(0.3), FreeSum(COIN, Semicircle(0.5))])
def test_spikes_in_units_of_the_noise_say_the_same(law):
    """Scaled by the model, by the law, or not at all, down to the last unit of double precision."""
    for spike in (3.0, 0.8, -0.3, -5.0):
        plain = SpikedModel((spike,), law)
        for scale in (1e-300, 1e-200, 1e-155, 1e155, 1e200, 1e300):
            for moved in (SpikedModel((scale * spike,), law, scale), SpikedModel((scale * spike,), law.scaled(scale))):
                assert moved.outliers[0].location / scale == pytest.approx(plain.outliers[0].location, rel=1e-12)
                assert moved.outliers[0].overlap == pytest.approx(plain.outliers[0].overlap, abs=1e-12)
                assert moved.stable_rank(50).value == pytest.approx(plain.stable_rank(50).value, rel=1e-12)


def test_an_edge_where_the_density_vanishes_fast_keeps_its_overlap():
    """Density 3/2 (1 - |x|)^2: g' is finite at the edge, and the overlap tends to -1/(theta^2 g') > 0 there."""
    law = DensityLaw(lambda x: 1.5 * (1 - np.abs(x)) ** 2, (-1.0, 1.0))
    slope = mp.quad(lambda x: mp.mpf(1.5) * (1 - abs(x)) ** 2 / (1 - x) ** 2, [-1, 0, 1])
    threshold = law.thresholds[1]
    (outlier,) = SpikedModel((threshold * (1 + 1e-12),), law).outliers
    assert outlier.overlap == pytest.approx(float(1 / (threshold**2 * slope)), rel=1e-5)
    assert SpikedModel((threshold,), law).outliers[0].overlap == 0.0


def test_a_linear_edge_closes_slowly():
    """Density 1 - |x|: g' grows like a logarithm, and so does the inverse of the overlap."""
    law = DensityLaw(lambda x: 1 - np.abs(x), (-1.0, 1.0))
    gap = mp.mpf("1e-7")
    z = 1 + gap
    g = (z + 1) * mp.log(z + 1) + (z - 1) * mp.log(z - 1) - 2 * z * mp.log(z)
    slope = mp.log(z + 1) + mp.log(z - 1) - 2 * mp.log(z)
    for side in (-1.0, 1.0):
        (outlier,) = SpikedModel((side * float(1 / g),), law).outliers
        assert side * outlier.location - 1 == pytest.approx(1e-7, rel=1e-3)
        assert outlier.overlap == pytest.approx(float(-(g**2) / slope), rel=1e-4)


def test_a_spike_at_the_threshold_has_no_outlier_whatever_the_size():
    for sigma in (49.0, 3.73046875, 0.1, 1 / 3):
        for spike in (sigma, -sigma):
            assert not SpikedModel((spike,), Semicircle(sigma)).outliers[0].separated
            assert not SpikedModel((spike,), scale=sigma).outliers[0].separated
            beyond = SpikedModel((np.nextafter(spike, 2 * spike),), scale=sigma).outliers[0]
            assert beyond.separated
            assert beyond.overlap < 1e-15


def test_draws_at_the_threshold():
    rng = np.random.default_rng(0)
    for spike in (1.0, 1.0 + 1e-15, 1.000000001, -1.000000001):
        model = SpikedModel((spike,))
        assert rows_needed(model, 10**6, top=1, bottom=1) == rows_needed(SpikedModel(), 10**6, top=1, bottom=1)
        draw = draw_banded(model, 1000, rng, top=1, bottom=1)
        assert draw.stable_rank().value == pytest.approx(model.stable_rank(1000).value, rel=0.1)


def test_spikes_inside_are_refused_by_the_law_itself():
    with pytest.raises(ValueError, match=r"a spike must lie outside \[-1.0, 1.0\], got 0.5"):
        Semicircle().outlier(0.5)
    with pytest.raises(ValueError, match=r"got 0\.0"):
        COIN.outlier(0.0)
