"""Eigenvalues that spikes send into gaps of the bulk: finite matrices, the law's own numbers, closed forms, draws."""

import warnings

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
    SpikedCovariance,
    SpikedModel,
    SpikedSum,
)

ONE = PointMass(1.0)
TWO_BANDS = SpikedCovariance((), AtomicLaw((0.01, 1.0), (0.9, 0.1)), ONE, 0.1)
THREE_BANDS = SpikedCovariance((), AtomicLaw((0.01, 0.2, 2.0), (0.6, 0.2, 0.2)), ONE, 0.05)
GAPS = {
    "two bands": (TWO_BANDS, [(0.016768, 0.810910)]),
    "three bands": (THREE_BANDS, [(0.01352, 0.16034), (0.23984, 1.62255)]),
    "weights": (SpikedCovariance((), ONE, AtomicLaw((0.05, 1.0), (0.5, 0.5)), 20.0), [(1.31047, 14.20202)]),
    "kernel": (SpikedCovariance((), AtomicLaw((0.0, 0.01, 1.0), (0.3, 0.6, 0.1)), ONE, 0.2), [(0.01786, 0.73837)]),
    "both": (
        SpikedCovariance((), AtomicLaw((0.01, 1.0), (0.9, 0.1)), AtomicLaw((0.0, 0.01, 1.0), (0.2, 0.7, 0.1)), 5.0),
        [(0.022092, 0.20300)],
    ),
}
BY_ITS_TRANSFORM, BY_A_GRID = RTransformLaw(lambda w: 1 / (1 - 4 * w)), SeparableLaw(ONE, ONE, 4.0)
CASES = [(model, gap) for model, gaps in GAPS.values() for gap in gaps]


def number_a(model, z):
    """Return a at points of a gap."""
    a, _ = model.law.subordination(np.asarray(z) + 0j)
    assert np.abs(a.imag).max() < 1e-25
    return a.real


@pytest.mark.parametrize("share", [0.01, 0.3, 0.8, 0.99])
@pytest.mark.parametrize(("model", "gap"), CASES)
def test_every_point_of_a_gap_is_the_eigenvalue_of_one_spike(model, gap, share):
    """At z it is z / a(z), with the overlap 1 / (1 - spike a'(z)), where that spike is positive."""
    (low, high), step = gap, 1e-5 * (gap[1] - gap[0])
    z = low + share * (high - low)
    before, here, after = number_a(model, [z - step, z, z + step])
    spike = z / here
    found = [o for o in model.in_gaps(spike) if low < o.location < high] if spike > 0 else []
    if spike > 0:
        assert [o.location for o in found] == pytest.approx([z], rel=1e-10)
        assert found[0].overlap == pytest.approx(1 / (1 - spike * (after - before) / (2 * step)), rel=1e-4)
        assert (found[0].separated, found[0].spike) == (True, spike)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("model", "gap"), CASES)
def test_a_spike_beyond_the_end_of_a_gap_has_nothing_there(model, gap, side):
    low, high = gap
    end = gap[side] + (1e-4, -1e-4)[side] * (high - low)
    spike = end / number_a(model, [end])[0]
    if spike > 0:
        assert [low < o.location < high for o in model.in_gaps(spike)].count(True) == 1
        beyond = spike * (0.8, 1.25)[side]
        assert not any(low < o.location < high for o in model.in_gaps(beyond))


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_equal_weights_have_a_closed_form(unit):
    r"""$\ell(1 + c k_1)$ and $(1 - c k_2)/(1 + c k_1)$; with $k_1 = 0$ the eigenvalue is not moved."""
    for ratio in (0.05, 0.3):
        model = SpikedCovariance((), AtomicLaw((unit, 3.0 * unit), (0.75, 0.25)), PointMass(2.0), ratio)
        for spike in (1.5, 1.9, 2.0, 2.3, 2.9):
            shrunk = np.array([1.0, 3.0]) / (spike - np.array([1.0, 3.0]))
            k1, k2 = shrunk @ [0.75, 0.25], shrunk**2 @ [0.75, 0.25]
            found = model.in_gaps(spike * unit)
            assert len(found) == (ratio * k2 < 1)
            for outlier in found:
                assert outlier.location == pytest.approx(2 * unit * spike * (1 + ratio * k1), rel=1e-13, abs=0.0)
                assert outlier.overlap == pytest.approx((1 - ratio * k2) / (1 + ratio * k1), rel=1e-12)


def test_every_spike_lists_its_own_and_outliers_keep_their_meaning():
    model = SpikedCovariance((3.0, 0.3, 0.3, 0.002), TWO_BANDS.bulk, ONE, 0.1)
    assert [(o.spike, o.separated) for o in model.outliers] == [(3.0, True), (0.3, False), (0.3, False), (0.002, True)]
    assert [o.spike for o in model.outliers_in_gaps] == [0.3, 0.3]
    assert model.outliers_in_gaps[0] == model.in_gaps(0.3)[0]
    assert model.in_gaps(1.0) == ()  # an eigenvalue of the bulk
    with pytest.raises(ValueError, match="eigenvalue is in a gap"):
        model.outlier_sd(0.3, 100)


@pytest.mark.parametrize("spike", [1e-300, 0.2, 0.7, 1.3, 40.0, 1e300])
def test_a_bulk_of_one_band_has_no_gaps(spike):
    assert SpikedCovariance((), ratio=0.3).in_gaps(spike) == ()
    unequal = AtomicLaw((0.0, 0.5, 1.0), (0.2, 0.4, 0.4))
    assert SpikedCovariance((), AtomicLaw((0.5, 1.0), (0.5, 0.5)), unequal, 2.0).in_gaps(spike) == ()
    coin = AtomicLaw((-1.0, 1.0), (0.5, 0.5))
    for noise in (Semicircle(0.7), MarchenkoPastur(0.5), PointMass(3.0), FreeSum(coin, coin)):
        for theta in (spike, -spike):
            assert SpikedModel((theta,), noise).outliers_in_gaps == ()


@pytest.mark.parametrize("theta", [0.3, 5.0, -0.02, -7.0])
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (0.5, 2.0)])
def test_atoms_are_finite_matrices(theta, scale, shift):
    """With equal entries of the spike's direction a matrix of 10 rows has the law's eigenvalues between its atoms."""
    places, counts = np.array([-4.0, -1.0, 3.0]), np.array([5, 3, 2])
    law, direction = AtomicLaw(places, counts / 10).shifted(shift), np.full(10, np.sqrt(0.1))
    matrix = scale * np.diag(np.repeat(places + shift, counts)) + theta * np.outer(direction, direction)
    values, vectors = np.linalg.eigh(matrix)
    away = np.abs(values[:, None] - scale * (places + shift)).min(axis=1) > 1e-9
    away &= (values > scale * (places[0] + shift)) & (values < scale * (places[-1] + shift))
    found = SpikedModel((theta,), law, scale).outliers_in_gaps
    assert [o.location for o in found] == pytest.approx(values[away], rel=1e-11)
    assert [o.overlap for o in found] == pytest.approx((direction @ vectors)[away] ** 2, rel=1e-9)


@pytest.mark.parametrize("theta", [0.15, 0.6, 2.0, 9.0, -0.15, -0.6, -3.0, -40.0])
@pytest.mark.parametrize("sigma", [0.05, 0.4])
@pytest.mark.parametrize("masses", [(0.9, 0.1), (0.5, 0.2, 0.3)])
def test_atoms_and_a_semicircle(theta, sigma, masses):
    r"""With $g_a(\omega) = w$: $z = \omega + \sigma^2 w$, where its derivative by w is negative; by a polynomial."""
    places, w = np.array([-3.0, -0.5, 3.0] if len(masses) == 3 else [-3.0, 3.0]), 1 / theta
    polynomial, total = np.poly(places) * w, np.zeros(len(places))
    for place, mass in zip(places, masses, strict=True):
        total = total + mass * np.poly(places[places != place])
    polynomial[1:] -= total
    omega = np.sort(np.roots(polynomial).real)
    omega = omega[(omega > places[0]) & (omega < places[-1])]
    overlap = w**2 / ((omega[:, None] - places) ** -2.0 @ masses) - (sigma * w) ** 2
    parts = AtomicLaw(places, masses), Semicircle(sigma)
    for law in (FreeSum(*parts), FreeSum(*parts[::-1])):
        found = SpikedModel((theta,), law).outliers_in_gaps
        assert [o.location for o in found] == pytest.approx((omega + sigma**2 * w)[overlap > 0], rel=1e-10)
        assert [o.overlap for o in found] == pytest.approx(overlap[overlap > 0], abs=1e-10)


@pytest.mark.parametrize("theta", [-1.0, 0.3, 1.0, 1.9, 2.1, 8.0])
def test_between_the_kernel_and_a_band(theta):
    """Z Z^T / n of rank n and one direction more: 0 for a spike above the threshold ratio - sqrt(ratio) = 2."""
    found = SpikedModel((theta,), MarchenkoPastur(4.0)).outliers_in_gaps
    assert len(found) == (0 < theta < 2)
    expected = [theta + 1 / (1 - 4 / theta)] if found else []
    for law in (MarchenkoPastur(4.0), BY_ITS_TRANSFORM, BY_A_GRID, FreeSum(PointMass(0.0), MarchenkoPastur(4.0))):
        others = SpikedModel((theta,), law).outliers_in_gaps
        assert [o.location for o in others] == pytest.approx(expected, rel=1e-9)
        assert [o.overlap for o in others] == pytest.approx([o.overlap for o in found], rel=1e-8)
    shifted = SpikedModel((theta,), MarchenkoPastur(4.0).shifted(-5.0)).outliers_in_gaps
    assert [o.location for o in shifted] == pytest.approx([x - 5.0 for x in expected])


@pytest.mark.parametrize("theta", [0.3, 2.0, -0.1, -5.0])
def test_a_density_that_vanishes_inside(theta):
    """Uniform on both sides of a gap: g(z) = log|(z + 1)(z - h) / ((z + h)(z - 1))|."""
    law = DensityLaw(lambda x: np.where(np.abs(x) > 0.5, 1.0, 0.0), (-1.0, 1.0))
    (found,) = SpikedModel((theta,), law).outliers_in_gaps
    z = found.location
    assert np.log(abs((z + 1) * (z - 0.5) / (z + 0.5) / (z - 1))) == pytest.approx(1 / theta, abs=1e-6)
    slope = 1 / (z + 1) + 1 / (z - 0.5) - 1 / (z + 0.5) - 1 / (z - 1)
    assert found.overlap == pytest.approx(-1 / theta**2 / slope, rel=1e-5)
    for noise, scale, shift in ((law.scaled(3.0), 1.0, 0.0), (law.shifted(-2.0).scaled(1.5), 2.0, -6.0)):
        (moved,) = SpikedModel((3.0 * theta,), noise, scale).outliers_in_gaps  # three times the model, and a shift
        assert (moved.location, moved.overlap) == pytest.approx((3.0 * z + shift, found.overlap), rel=1e-9)


def as_sum(spike, model, P):
    places, masses = np.array(model.bulk.atoms).T
    population = JointPopulation.of(places[:, None], masses * P)
    return SpikedSum(np.array([[[spike]]]), population, (model.weights,), (P / model.ratio,))


@pytest.mark.sample(2)
@pytest.mark.parametrize("spike", [0.01, 0.018, 0.04, 0.3, 0.8])
def test_a_sum_of_one_group_is_a_covariance(spike):
    expected = TWO_BANDS.in_gaps(spike)
    found = as_sum(spike, TWO_BANDS, 100).outliers_in_gaps
    assert [o.location for o in found] == pytest.approx([o.location for o in expected], rel=1e-9)
    assert [o.overlap for o in found] == pytest.approx([o.overlap for o in expected], abs=1e-8)


@pytest.mark.sample(1)
@pytest.mark.parametrize("spike", [0.025, 0.3, 0.7])
def test_drawn_covariances(spike):
    """Four standard deviations about the limits, which are off by terms of order 1/P."""
    P, m = 400, 4000
    rng, (found,) = np.random.default_rng(3), TWO_BANDS.in_gaps(spike)
    roots = np.sqrt(np.repeat([spike, 0.01, 1.0], [1, 359, 40]))
    values, vectors = np.linalg.eigh(np.cov(rng.standard_normal((m, P)) * roots, rowvar=False))
    mine = int(np.argmax(vectors[0] ** 2))
    sd = as_sum(spike, TWO_BANDS, P).outliers_in_gaps[0].sd
    assert abs(values[mine] - found.location) < 4 * sd
    assert vectors[0, mine] ** 2 == pytest.approx(found.overlap, abs=0.05)


@pytest.mark.parametrize(("theta", "among"), [(0.6, (0.9, 0.1)), (-6.0, (0.5, 0.5)), (5.0, (0.5, 0.5))])
def test_drawn_sums_of_atoms_and_a_wigner_matrix(theta, among):
    R, sigma, rng = 600, 0.3, np.random.default_rng(4)
    (found,) = SpikedModel((theta,), FreeSum(AtomicLaw((-3.0, 3.0), among), Semicircle(sigma))).outliers_in_gaps
    noise, direction = rng.standard_normal((R, R)) * sigma / np.sqrt(2 * R), rng.standard_normal(R)
    direction /= np.linalg.norm(direction)
    atoms = np.diag(np.repeat([-3.0, 3.0], np.rint(np.array(among) * R).astype(int)))
    values, vectors = np.linalg.eigh(atoms + noise + noise.T + theta * np.outer(direction, direction))
    inside = np.flatnonzero(np.abs(values) < 2.4)
    mine = inside[np.argmin(np.abs(values[inside] - found.location))]
    # The weight of the direction in the two eigenspaces of the atoms moves the eigenvalue most.
    assert values[mine] == pytest.approx(found.location, abs=0.3)
    assert (vectors[:, mine] @ direction) ** 2 == pytest.approx(found.overlap, abs=0.06)


def test_a_drawn_sum_of_two_groups_that_do_not_commute():
    """The spikes' covariances of the groups have different eigenvectors, and both send an eigenvalue into the gap."""
    bulk = JointPopulation.of([[0.02, 0.01], [3.0, 4.0]], [348.0, 50.0])
    spikes = np.array([[[0.5, 0.2], [0.2, 0.3]], [[0.4, -0.1], [-0.1, 0.6]]])
    model = SpikedSum(spikes, bulk, (ONE, PointMass(0.5)), (4000.0, 4000.0))
    found, rng, total = model.outliers_in_gaps, np.random.default_rng(5), 0.0
    assert len(found) == 2
    for g, weight in enumerate((1.0, 0.5)):
        roots = np.sqrt(np.concatenate([[1.0, 1.0], np.repeat(bulk.atoms[:, g], [348, 50])]))
        samples = rng.standard_normal((4000, 400)) * roots
        samples[:, :2] @= np.linalg.cholesky(spikes[g]).T
        total = total + weight * samples.T @ samples / 4000
    values, vectors = np.linalg.eigh(total)
    inside = np.flatnonzero((values > 0.15) & (values < 1.5))
    for outlier, place in zip(found, inside, strict=True):
        assert abs(values[place] - outlier.location) < 4 * outlier.sd
        block = vectors[:2, place]
        assert block @ block == pytest.approx(outlier.overlap, abs=0.05)
        assert abs(block @ outlier.direction) == pytest.approx(np.linalg.norm(block), rel=0.05)


@pytest.mark.parametrize("theta", [5e-324, 1e-310, 1e-300, 1e-3])
@pytest.mark.parametrize(("ratio", "variance"), [(2.0, 1.0), (1.5, 3.0)])
def test_small_spikes_next_to_a_kernel_have_their_eigenvalue(theta, ratio, variance):
    """A spike next to a kernel of mass 1 - 1/ratio lifts an eigenvalue out of it, to theta times that mass."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ((location, overlap),) = MarchenkoPastur(ratio, variance).outliers_in_gaps(theta)
        below, share = MarchenkoPastur(ratio, variance).outlier(-theta)
    assert location == pytest.approx(theta * (1 - 1 / ratio), rel=1e-2, abs=1e-307)
    assert overlap == pytest.approx(1 - 1 / ratio, rel=1e-2)
    assert below == pytest.approx(-theta * (1 - 1 / ratio), rel=1e-2, abs=1e-307)
    assert share == pytest.approx(1 - 1 / ratio, rel=1e-2)


def test_a_spike_at_the_pole_of_the_r_transform_has_no_eigenvalue_in_a_gap():
    """R = v / (1 - c v / theta) is infinite at theta = c v, where no warning is given."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ratio, variance in ((2.0, 1.0), (4.0, 0.5)):
            noise = MarchenkoPastur(ratio, variance)
            assert SpikedModel((ratio * variance,), noise).outliers_in_gaps == ()
            assert FreeSum(noise, AtomicLaw((-90.0, 90.0), (0.5, 0.5))).outliers_in_gaps(ratio * variance) == ()


WHITE = SeparableLaw(PointMass(1.0), PointMass(1.0), 3.0)
WHITE_SUM = CovarianceSum(JointPopulation.of([[1.0]], [300.0]), (PointMass(1.0),), (100.0,))


@pytest.mark.sample(6)
@pytest.mark.parametrize("theta", [1.0, 1e-2, 1e-8, 1e-16, 1e-50, 1e-119, 1e-121, 1e-300])
@pytest.mark.parametrize(
    ("law", "mirrored"),
    [(WHITE, False), (WHITE_SUM, False), (WHITE.scaled(2.0**-10), False), (WHITE.negated(), True)],
    ids=["separable", "sum", "scaled", "negated"],
)
def test_next_to_a_kernel_equations_are_as_good_as_the_closed_form(law, mirrored, theta):
    """A white sample of ratio 3 has a kernel of 2/3, and its law is that of Marchenko and Pastur."""
    sign = -1.0 if mirrored else 1.0
    known = MarchenkoPastur(3.0, float(abs(law.mean)))
    theta *= known.entry_variance
    for spike in (theta, -theta):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = law.outliers_in_gaps(sign * spike)
        expected = known.outliers_in_gaps(spike)
        assert len(found) == len(expected) == int(spike > 0)
        for (location, overlap), (place, share) in zip(found, expected, strict=True):
            assert location == pytest.approx(sign * place, rel=1e-12, abs=0.0)
            assert overlap == pytest.approx(share, rel=1e-12)
    (place, share), outlier = known.outlier(-theta), SpikedModel((-sign * theta,), law).outliers[0]
    assert outlier.location == pytest.approx(sign * place, rel=1e-12, abs=0.0)
    assert outlier.overlap == pytest.approx(share, rel=1e-12)


def test_a_population_with_a_kernel_has_the_transform_of_the_rest():
    """A quarter of the directions has no variance, and the others are a white sample of ratio 3/8."""
    law = SeparableLaw(AtomicLaw((0.0, 1.0), (0.25, 0.75)), PointMass(1.0), 0.5)
    for theta in (1e-3, 1e-9, 1e-16, 1e-40):
        ((location, overlap),) = law.outliers_in_gaps(theta)
        h = float(MarchenkoPastur(0.375).stieltjes(location))
        assert 0.25 / location + 0.75 * h == pytest.approx(1.0 / theta, rel=1e-12)
        assert overlap == pytest.approx(0.25, rel=20 * theta + 1e-12)
