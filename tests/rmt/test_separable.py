"""The law of weighted covariances against closed forms, against dense draws, and in every unit."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rmt import AtomicLaw, CovarianceSum, FreeSum, JointPopulation, MarchenkoPastur, PointMass, Semicircle, SeparableLaw

ONE = PointMass(1.0)
POPULATION = AtomicLaw((0.0, 0.1, 1.0, 4.0), (0.2, 0.4, 0.3, 0.1))
WEIGHTS = AtomicLaw((0.0, 0.3, 1.0, 5.0), (0.1, 0.5, 0.3, 0.1))
SIGNED = AtomicLaw((-2.0, -0.3, 1.0, 3.0), (0.1, 0.3, 0.5, 0.1))


def dense(law, P, rng):
    """Return eigenvalues of one draw, increasing."""
    m = round(P / law.ratio)
    population = law.population.quantile((np.arange(P) + 0.5) / P)
    weights = law.weights.quantile((np.arange(m) + 0.5) / m)
    samples = rng.standard_normal((m, P)) * np.sqrt(population)
    return np.linalg.eigvalsh((samples.T * (weights / m)) @ samples)


@pytest.mark.parametrize("ratio", [0.01, 0.25, 0.9, 1.0, 3.0])
def test_equal_weights_give_marchenko_pastur(ratio):
    law, known = SeparableLaw(PointMass(0.7), PointMass(3.0), ratio), MarchenkoPastur(ratio, 0.7 * 3.0)
    assert law.support == pytest.approx(known.support, rel=1e-13)
    assert np.array(law.atoms) == pytest.approx(np.array(known.atoms))
    assert law.edge_stieltjes == pytest.approx(known.edge_stieltjes, rel=1e-12)
    lower, upper = known._interval
    x = lower + (upper - lower) * np.linspace(0.01, 0.99, 25)
    assert law.pdf(x) == pytest.approx(known.pdf(x), rel=1e-10)
    assert law.cdf(x) == pytest.approx(known.cdf(x), abs=1e-12)
    z = np.array([1 + 1j, 0.3 - 0.01j, upper * 1.01, -0.1, 1j * 1e-3])
    assert law.stieltjes(z) == pytest.approx(known.stieltjes(z), rel=1e-11)
    assert law.stieltjes_derivative(z) == pytest.approx(known.stieltjes_derivative(z), rel=1e-10)
    levels = np.linspace(0.0, 1.0, 21)
    assert law.quantile(levels) == pytest.approx(known.quantile(levels), abs=1e-9 * upper)
    assert [law.moment(n) for n in range(6)] == pytest.approx([known.moment(n) for n in range(6)], rel=1e-13)
    assert law.variance == pytest.approx(known.variance, rel=1e-12)


def test_population_and_weights_change_places():
    """S and its companion, of dimension m, have the same eigenvalues but for zeros."""
    law, companion = SeparableLaw(POPULATION, WEIGHTS, 0.4), SeparableLaw(WEIGHTS, POPULATION, 2.5).scaled(0.4)
    assert law._interval == pytest.approx(companion._interval, rel=1e-12)
    x = np.linspace(0.05, law.support[1], 40)
    assert 0.4 * (1 - law.cdf(x)) == pytest.approx(1 - companion.cdf(x), abs=1e-11)


@pytest.mark.parametrize(
    ("population", "weights", "ratio"),
    [
        (POPULATION, WEIGHTS, 0.3),
        (POPULATION, WEIGHTS, 2.0),
        (POPULATION, SIGNED, 0.5),
        (POPULATION, SIGNED, 3.0),
        (ONE, SIGNED, 0.2),
    ],
)
def test_dense_matrices_follow_the_law(population, weights, ratio):
    """Linear statistics fluctuate by 1/P: twenty eigenvalues' worth in the mean of four draws is far outside."""
    law, rng, P = SeparableLaw(population, weights, ratio), np.random.default_rng(3), 300
    spectra = np.array([dense(law, P, rng) for _ in range(4)])
    x = law.support[0] + (law.support[1] - law.support[0]) * np.linspace(0.02, 0.98, 30)
    x = x[np.abs(x) > 1e-6]
    counted = (spectra[:, :, None] <= x).sum(axis=(0, 1)) / 4
    assert np.abs(counted - P * law.cdf(x)).max() < 2.0
    widened = 0.1 * (law.support[1] - law.support[0])
    assert law.support[0] - widened < spectra.min()
    assert spectra.max() < law.support[1] + widened
    assert (spectra**2).mean() == pytest.approx(law.moment(2), rel=0.05)


@pytest.mark.parametrize("samples", [200.0, 40.0])
def test_the_density_at_0_is_that_next_to_it_unless_an_atom_is_there(samples):
    """In 100 dimensions 200 samples with weights 1 and -1 make a band across 0, and 40 leave a kernel."""
    signs = AtomicLaw((-1.0, 1.0), (0.5, 0.5))
    one = SeparableLaw(ONE, signs, 100.0 / samples).scaled(samples)
    other = CovarianceSum(JointPopulation.of([[1.0]], [100.0]), (signs,), (samples,))
    for law in (one, other):
        near = law.pdf([-1e-9 * samples, 1e-9 * samples])
        assert bool(law.atoms) == (samples < 100.0)
        assert law.pdf(0.0) == (0.0 if law.atoms else pytest.approx(near.mean(), rel=1e-6))
        assert (law.pdf(0.0) > 0.0) == (samples > 100.0)


def test_finitely_many_eigenvalues_are_placed_one_by_one():
    """At P = 40, every eigenvalue an atom of its own: medians and mean overlaps of 2,000 draws."""
    rng = np.random.default_rng(1)
    P, m = 40, 120
    population, weights = np.sort(rng.exponential(size=P) ** 2)[::-1], rng.exponential(size=m)
    law = SeparableLaw(AtomicLaw(population, [1 / P] * P), AtomicLaw(weights, [1 / m] * m), P / m)
    tops, shares = [], []
    for _ in range(2000):
        samples = rng.standard_normal((m, P)) * np.sqrt(population)
        values, vectors = np.linalg.eigh((samples.T * (weights / m)) @ samples)
        tops.append(values[::-1][:10])
        shares.append((vectors[:3, ::-1][:, :3] ** 2).T)
    levels = 1 - (np.arange(10) + 0.5) / P
    assert law.quantile(levels) == pytest.approx(np.median(tops, axis=0), rel=0.02)
    cell = 1 - (np.arange(3)[:, None] + (np.arange(20) + 0.5) / 20) / P
    overlaps = law.overlaps(law.quantile(cell).ravel(), population[:3]).reshape(3, 20, 3).mean(axis=1) / P
    assert overlaps == pytest.approx(np.mean(shares, axis=0), abs=0.03)


def test_overlaps_average_to_one_over_the_population():
    law = SeparableLaw(POPULATION, WEIGHTS, 0.5)
    locations, masses = np.array(POPULATION.atoms).T
    x = law.quantile(np.linspace(0.3, 0.99, 7))
    assert law.overlaps(x, locations) @ masses == pytest.approx(np.ones(7), rel=1e-12)


THREE = AtomicLaw((0.0, 1.0, 3.0), (0.2, 0.25, 0.55))
OFF_BANDS = [
    SeparableLaw(AtomicLaw((0.0, 1.0), (0.5, 0.5)), ONE, 3.0),
    SeparableLaw(AtomicLaw((0.0, 1.0, 2.0), (0.5, 0.25, 0.25)), ONE, 0.5),
    SeparableLaw(AtomicLaw((0.3, 1.0), (0.5, 0.5)), ONE, 3.0),
    SeparableLaw(AtomicLaw((0.3, 1.0), (0.5, 0.5)), ONE, 0.3),
    SeparableLaw(AtomicLaw((0.2, 1.0), (0.5, 0.5)), ONE, 0.01),
    SeparableLaw(THREE, AtomicLaw((0.0, 1.0), (0.6, 0.4)), 0.8),
    SeparableLaw(THREE, AtomicLaw((-1.0, 1.0), (0.6, 0.4)), 1.8),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("law", OFF_BANDS)
@pytest.mark.filterwarnings("error")
def test_overlaps_are_the_limit_from_above(law):
    """At 0, next to it, in gaps and outside: of the resolvent close above the axis, also for other eigenvalues."""
    locations, masses = np.array(law.population.atoms).T
    chosen, (low, high) = np.array([0.17, 5.0, *locations]), law.support
    for x in (0.0, 1e-9, -1e-9, 0.5, low - 1.0, 1.01 * high + 1e-3, 30.0, *law.quantile([0.7, 0.9, 0.999])):
        z = x + 1e-11j
        a, _ = law.subordination(z)
        above, all_of_them = (-(1.0 / (z - a * values)).imag for values in (chosen, locations))
        expected = above / (all_of_them @ masses)
        assert law.overlaps(x, chosen)[0] == pytest.approx(expected, rel=1e-5, abs=1e-8)
    for x in (1e-200, -1e-200, 1e-300):
        if law.atoms:
            assert law.overlaps(x, chosen) == pytest.approx(law.overlaps(0.0, chosen), abs=1e-12)
    assert law.overlaps([1e200, -1e200], locations) == pytest.approx(np.ones((2, len(locations))))


def test_overlaps_with_the_kernel_by_hand():
    """With 3 t / (2 (1 + t)) = 1, t = 2, the shares are as 1 : 1 / (1 + t), and their mean is 1."""
    law = OFF_BANDS[0]
    for unit in (1.0, 1e-150, 1e150):
        found = law.scaled(unit).overlaps([0.0], [0.0, unit, 4.0 * unit])
        assert found == pytest.approx(np.array([[1.5, 0.5, 1.5 / 9]]), rel=1e-12)
    # With samples enough the kernel is the population's.
    assert OFF_BANDS[1].overlaps(0.0, [0.0, 1.0, 2.0]).tolist() == [[2.0, 0.0, 0.0]]


def test_overlaps_with_the_kernel_of_draws():
    rng = np.random.default_rng(5)
    P, m = 200, 70
    population = np.repeat([0.2, 1.0, 6.0], [80, 80, 40])
    kernel = np.zeros(P)
    for _ in range(8):
        samples = rng.standard_normal((m, P)) * np.sqrt(population)
        row_space = np.linalg.qr(samples.T)[0]
        kernel += (1.0 - (row_space**2).sum(axis=1)) / 8
    law = SeparableLaw(AtomicLaw((0.2, 1.0, 6.0), (0.4, 0.4, 0.2)), ONE, P / m)
    means = [kernel[population == size].mean() * P / (P - m) for size in (0.2, 1.0, 6.0)]
    assert law.overlaps(0.0, [0.2, 1.0, 6.0])[0] == pytest.approx(means, rel=0.03)


@pytest.mark.parametrize(
    ("x", "eigenvalues", "message"),
    [
        (0.9, [0.2, -1.0], r"eigenvalues of a population are never negative, got \[-1"),
        (0.9, [np.inf], r"eigenvalues must be finite, got \[inf"),
        ([0.9, np.inf], [0.2], r"x must be finite, got \[inf"),
        ([0.9, np.nan], [0.2], "x must be a number, got nan"),
        (0.9, np.eye(2), r"eigenvalues must be a number or a row of numbers, got shape \(2, 2\)"),
        (np.eye(2), [0.2], r"x must be a number or a row of numbers, got shape \(2, 2\)"),
    ],
)
def test_overlaps_of_impossible_arguments_are_refused(x, eigenvalues, message):
    with pytest.raises(ValueError, match=message):
        OFF_BANDS[4].overlaps(x, eigenvalues)


@pytest.mark.sample(2)
@pytest.mark.parametrize("unit", [1e-150, 1e-9, 1e12, 1e150])
def test_every_unit_gives_the_same_law(unit):
    law, other = SeparableLaw(POPULATION, SIGNED, 0.5), SeparableLaw(POPULATION.scaled(unit), SIGNED, 0.5)
    weighted = SeparableLaw(POPULATION, AtomicLaw([unit * x for x in SIGNED.locations], SIGNED.masses), 0.5)
    levels = np.linspace(0.05, 0.99, 7)
    for scaled in (other, weighted):
        assert np.array(scaled.support) / unit == pytest.approx(law.support, rel=1e-12)
        assert scaled.quantile(levels) / unit == pytest.approx(law.quantile(levels), rel=1e-9)
        assert scaled.moment(1) / unit == pytest.approx(law.mean, rel=1e-12)
        assert scaled.stieltjes(20 * unit) * unit == pytest.approx(law.stieltjes(20.0), rel=1e-11)


@pytest.mark.parametrize("short", [1e-2, 1e-8, 1e-11, 1e-13])
def test_almost_as_many_dimensions_as_weights_of_both_signs(short):
    """The few eigenvalues that are lacking are those of the sign with the larger mean of 1 / tau; 0 is in a gap."""
    for weights, kept in (([-37.0, 1.2], -1), ([37.0, -1.2], 1)):
        law = SeparableLaw(AtomicLaw([20.0, 1e-3], [0.5, 0.5]), AtomicLaw(weights, [0.5, 0.5]), 1.0 - short)
        expected = 0.5 / law.ratio
        assert law.cdf(0.0) == pytest.approx(expected if kept < 0 else 1.0 - expected, abs=1e-14)


@example([1.0], [1.0, -35.0], 1.0)
@example([1.0], [-1.0], 2.0)
@example([128.0, 0.0078125], [-1.0], 0.99999)  # next to a hard edge, masses are not small
@example([1e-3, 1e3], [-1.0], 1 - 1e-8)
@example([1e-3, 1e3], [1.0, -1.0], 1 - 1e-8)
@given(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=4, unique=True),
    st.lists(st.one_of(st.floats(1e-3, 1e3), st.floats(-1e3, -1e-3)), min_size=1, max_size=4, unique=True),
    st.floats(0.01, 100.0),
)
def test_density_and_counting_agree_and_the_fixed_point_is_solved(population, weights, ratio):
    equal = [1 / len(population)] * len(population), [1 / len(weights)] * len(weights)
    law = SeparableLaw(AtomicLaw(population, equal[0]), AtomicLaw(weights, equal[1]), ratio)
    lower, upper = law._interval
    assert lower < upper
    x = lower + (upper - lower) * np.array([0.03, 0.21, 0.5, 0.77, 0.98])
    z = x + 0.01j * (upper - lower)
    a, b = law.subordination(z)
    tau, lam = np.array(weights), np.array(population)
    assert a == pytest.approx((tau / (1 - tau * b[:, None])).mean(axis=1), rel=1e-9)
    assert b == pytest.approx(ratio * (lam / (z[:, None] - a[:, None] * lam)).mean(axis=1), rel=1e-9)
    assert np.all(a.imag < 0)
    assert np.all(b.imag < 0)
    counted = law.cdf(x)
    assert np.all(np.diff(counted) >= -1e-9)
    assert law.cdf(law.support[1] + 1e-9 * (upper - lower)) == pytest.approx(1.0, abs=1e-12)
    kernel = sum(mass for _, mass in law.atoms)
    assert law._continuous_cdf(np.array([upper]))[0] == pytest.approx(1.0 - kernel, abs=1e-7)
    assert law.cdf(0.0) + law.negated().cdf(0.0) == pytest.approx(1.0 + kernel, abs=1e-10)
    assert law.moment(1) == pytest.approx(tau.mean() * lam.mean(), rel=1e-9, abs=1e-12)


def test_signed_differences_by_free_convolution():
    """A difference of two independent covariances, whose eigenvectors are unrelated."""
    plus, minus = SeparableLaw(ONE, ONE, 0.25), SeparableLaw(AtomicLaw((0.5, 2.0), (0.5, 0.5)), ONE, 0.5)
    law, rng, P = FreeSum(plus, minus.negated()), np.random.default_rng(5), 300
    rotation = np.linalg.qr(rng.standard_normal((P, P)))[0]
    one, other = (rng.standard_normal((m, P)) for m in (4 * P, 2 * P))
    other = other * np.sqrt(np.repeat([0.5, 2.0], P // 2)) @ rotation
    spectrum = np.linalg.eigvalsh(one.T @ one / (4 * P) - other.T @ other / (2 * P))
    z = np.array([-3.0, -2.0, -1.0, 0.0, 1.0]) + 0.3j
    assert law._stieltjes(z) == pytest.approx((1 / (z[:, None] - spectrum)).mean(axis=1), abs=4.0 / P)
    assert law.mean == pytest.approx(-0.25)


def test_weights_of_one_sign_mirror():
    law = SeparableLaw(POPULATION, WEIGHTS, 0.5)
    mirrored = law.negated()
    assert mirrored.support == pytest.approx((-law.support[1], -law.support[0]))
    x = np.linspace(0.1, 5.0, 7)
    assert mirrored.cdf(-x) == pytest.approx(1 - law.cdf(x), abs=1e-11)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Semicircle(), ONE, 1.0), "population must be an AtomicLaw or a PointMass, got Semicircle"),
        ((ONE, Semicircle(), 1.0), "weights must be an AtomicLaw or a PointMass, got Semicircle"),
        ((PointMass(-1.0), ONE, 1.0), "never negative, got -1.0"),
        ((PointMass(0.0), ONE, 1.0), "population must not all be 0"),
        ((ONE, PointMass(0.0), 1.0), "weights must not all be 0"),
        ((ONE, ONE, 0.0), "ratio must be positive"),
        ((PointMass(1e200), PointMass(1e200), 1.0), "the product of the largest"),
        ((PointMass(1e-200), PointMass(1e-200), 1.0), "the product of the largest .* must be positive"),
        ((AtomicLaw([1e-60, 1.0], [0.5, 0.5]), AtomicLaw([1.0, -1e-60], [0.5, 0.5]), 1.0), "is 1e-120 of the largest"),
    ],
)
def test_impossible_laws_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SeparableLaw(*arguments)


@pytest.mark.sample(1)
@pytest.mark.parametrize("small", [1e-6, 3e-7, 1e-9])
def test_blocks_of_very_different_sizes_keep_their_quantiles(small):
    law = SeparableLaw(AtomicLaw([1.0, small], [0.5, 0.5]), PointMass(1.0), 0.25)
    levels = np.linspace(0.02, 0.98, 25)
    points = law.quantile(levels)
    assert law.cdf(points) == pytest.approx(levels, abs=1e-11)
    assert (np.diff(points) > 0).all()


@pytest.mark.sample(3)
@pytest.mark.parametrize("small", [1e-14, 1e-16, 1e-20, 1e-60, 1e-99])
@pytest.mark.parametrize(
    ("make", "ratio", "levels"),
    [
        (lambda small: (AtomicLaw([small, 1.0], [0.5, 0.5]), ONE), 0.25, [0.1, 0.3, 0.499]),
        (lambda small: (AtomicLaw([small, 1.0], [0.3, 0.7]), ONE), 0.7, [0.001, 0.2, 0.29]),
        (lambda small: (ONE, AtomicLaw([small, 1.0], [0.5, 0.5])), 0.7, [0.001, 0.1, 0.28]),
        (lambda small: (ONE, AtomicLaw([-small, 1.0], [0.5, 0.5])), 0.7, [0.001, 0.1, 0.28]),
        (lambda small: (ONE, AtomicLaw([small, 1.0], [0.4, 0.6])), 2.0, [0.55, 0.69]),
        (lambda small: (ONE, AtomicLaw([-small, 1.0], [0.5, 0.5])), 2.0, [0.01, 0.24]),
    ],
)
def test_bands_that_vanish_next_to_others_keep_their_shape(make, ratio, levels, small):
    """In units of the small band the law has a limit, which 1e-9 is as close to as 1e-99 is."""
    known, law = SeparableLaw(*make(1e-9), ratio), SeparableLaw(*make(small), ratio)
    assert law.quantile(levels) / small == pytest.approx(known.quantile(levels) / 1e-9, rel=1e-7)
    assert law.cdf(law.quantile(levels)) == pytest.approx(levels, abs=1e-11)
    places = known.quantile(levels)
    assert law.pdf(places * (small / 1e-9)) * small == pytest.approx(known.pdf(places) * 1e-9, rel=1e-6)


@pytest.mark.parametrize("small", [1e-30, 1e-14, 1e-3])
def test_a_small_band_is_that_of_its_limit(small):
    """Projecting the larger half away leaves Marchenko and Pastur's law with as many samples fewer."""
    law = SeparableLaw(AtomicLaw([small, 1.0], [0.5, 0.5]), ONE, 0.25)
    limit = MarchenkoPastur(1 / 7, 7 / 8 * small)
    levels = np.array([0.05, 0.5, 0.9])
    assert law.quantile(levels / 2) == pytest.approx(limit.quantile(levels), rel=max(small, 1e-9), abs=0.0)


def test_no_eigenvalue_of_a_positive_covariance_is_negative():
    law = SeparableLaw(AtomicLaw([1e-100, 1.0], [0.5, 0.5]), ONE, 2.0)
    assert law.support == (0.0, pytest.approx(4.0))
    assert law.quantile([0.0, 0.5]).tolist() == [0.0, 0.0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("light", [1e-12, 1e-20])
def test_the_end_at_a_light_eigenvalue(light):
    """A share of the population that is a point but for its interaction with the rest, which moves it by the ratio."""
    law = SeparableLaw(AtomicLaw([1.0, 2.0], [light, 1.0 - light]), ONE, 1e-12)
    assert law.support[0] == pytest.approx(1.0 - 2e-12, abs=3e-12)
    assert law.support[1] == pytest.approx(2.0 * (1 + 2e-6), rel=1e-11)
    assert law.quantile(0.0) == law.support[0]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("population", "weights", "points"),
    [
        (((1e-6, 1.0), (0.5, 0.5)), ((1e-6, 1.0), (0.9995, 0.0005)), (3e-13, 5e-13, 1e-12, 1.5e-12, 2e-12)),
        (((1e-7, 1.0), (0.05, 0.95)), ((1e-6, 1.0), (0.9995, 0.0005)), (5.26e-14,)),
    ],
)
def test_bands_of_far_smaller_products_keep_their_mass(population, weights, points):
    """The same law as a sum of one covariance, which solves other equations."""
    law = SeparableLaw(AtomicLaw(*population), AtomicLaw(*weights), 0.5)
    directions = JointPopulation.of([[x] for x in population[0]], population[1])
    twin = CovarianceSum(directions, (law.weights,), (2.0,))
    assert law.cdf(np.array(points)) == pytest.approx(twin.cdf(np.array(points)), abs=1e-9)
