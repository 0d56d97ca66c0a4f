"""Sums of weighted covariances against one group alone, free sums, and dense draws whose blocks do not commute."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rmt import AtomicLaw, CovarianceSum, FreeSum, JointPopulation, MarchenkoPastur, PointMass, SeparableLaw, draw_sum

ONE = PointMass(1.0)
POPULATION = AtomicLaw((0.0, 0.1, 1.0, 4.0), (0.2, 0.4, 0.3, 0.1))
WEIGHTS = AtomicLaw((0.0, 0.3, 1.0, 5.0), (0.1, 0.5, 0.3, 0.1))
SIGNED = AtomicLaw((-2.0, -0.3, 1.0, 3.0), (0.1, 0.3, 0.5, 0.1))
NEGATIVE = AtomicLaw((-35.0, -1.0), (0.5, 0.5))
ATOMS, COUNTS = np.array([[1.0, 0.2], [0.1, 1.5], [0.5, 0.5]]), np.array([100.0, 100.0, 98.0])
BLOCK = np.array([[[9.0, 3.0], [3.0, 4.0]], [[2.0, -1.0], [-1.0, 6.0]]])
TWO_KINDS = JointPopulation.of([[1.0, 0.5], [0.2, 1.0]], [60.0, 40.0])
TWO = (WEIGHTS, AtomicLaw((-1.5, -0.5), (0.5, 0.5)))


def alone(weights, ratio, size=100.0):
    locations, masses = np.array(POPULATION.atoms).T
    return CovarianceSum(JointPopulation.of(locations[:, None], masses * size), (weights,), (size / ratio,))


@pytest.mark.parametrize("ratio", [0.3, 2.0])
@pytest.mark.parametrize("weights", [WEIGHTS, SIGNED, NEGATIVE])
def test_one_group_is_a_separable_law(weights, ratio):
    law, known = alone(weights, ratio), SeparableLaw(POPULATION, weights, ratio)
    width = known.support[1] - known.support[0]
    assert law.support == pytest.approx(known.support, abs=1e-12 * width)
    assert np.array(law.atoms) == pytest.approx(np.array(known.atoms))
    assert law.edge_stieltjes == pytest.approx(known.edge_stieltjes, rel=1e-9)
    x = np.linspace(*known.support, 13)
    assert law.cdf(x) == pytest.approx(known.cdf(x), abs=1e-12)
    assert law.pdf(x[1:-1]) * width == pytest.approx(known.pdf(x[1:-1]) * width, abs=1e-12)
    z = np.array([1 + 1j, 0.3 + 0.01j, 5 - 0.1j, -3 + 0.2j])
    assert law.stieltjes(z) == pytest.approx(known.stieltjes(z), rel=1e-12)
    assert law.stieltjes_derivative(z) == pytest.approx(known.stieltjes_derivative(z), rel=1e-11)
    levels = np.array([0.013, 0.11, 0.42, 0.77, 0.99])
    assert law.quantile(levels) == pytest.approx(known.quantile(levels), abs=1e-11 * width)
    assert [law.moment(n) for n in (1, 2)] == pytest.approx([known.moment(n) for n in (1, 2)], rel=1e-13)
    assert law.moment(3) == pytest.approx(known.moment(3), rel=1e-6)


def test_equal_weights_and_eigenvalues_give_marchenko_pastur():
    law = CovarianceSum(JointPopulation.of([[0.7]], [30.0]), (PointMass(3.0),), (120.0,))
    known = MarchenkoPastur(0.25, 2.1)
    assert law.support == pytest.approx(known.support, rel=1e-12)
    assert law.cdf([0.7, 1.9, 4.0]) == pytest.approx(known.cdf([0.7, 1.9, 4.0]), abs=1e-12)


def test_multiples_of_the_identity_make_a_free_sum():
    """Identities commute with all rotations: two independent samples are free of each other."""
    law = CovarianceSum(JointPopulation.of([[1.0, 0.5]], [60.0]), (ONE, NEGATIVE.scaled(0.05)), (200.0, 90.0))
    known = FreeSum(MarchenkoPastur(0.3), SeparableLaw(PointMass(0.5), NEGATIVE.scaled(0.05), 60 / 90))
    z = np.array([1 + 1j, 0.3 + 0.01j, 3.0, -9.0])
    assert law._stieltjes(z) == pytest.approx(known._stieltjes(z), rel=1e-9)
    assert law.variance == pytest.approx(known.variance, rel=1e-12)


def test_groups_of_one_population_are_one_group():
    """Samples of one covariance in two groups are the samples of their union."""
    locations, masses = np.array(POPULATION.atoms).T
    both = JointPopulation.of(np.repeat(locations[:, None], 2, axis=1), masses * 100)
    parts = (AtomicLaw((1.0, 3.0), (0.5, 0.5)).scaled(0.6), PointMass(-2.0 * 0.4))
    law = CovarianceSum(both, parts, (60.0, 40.0))
    known = SeparableLaw(POPULATION, AtomicLaw((-2.0, 1.0, 3.0), (0.4, 0.3, 0.3)), 1.0)
    assert law.support == pytest.approx(known.support, rel=1e-11)
    x = np.linspace(*known.support, 9)
    assert law.cdf(x) == pytest.approx(known.cdf(x), abs=1e-11)


def test_dense_differences_follow_the_law():
    """Eigenvalues of four draws, counted; the block's eigenvalues are outliers of no weight in the limit but here."""
    population, samples = JointPopulation.of(ATOMS, COUNTS, BLOCK), (900, 600)
    law, rng = CovarianceSum(population, TWO, samples), np.random.default_rng(3)
    spectra = np.array([np.linalg.eigvalsh(draw_sum(population, TWO, samples, rng).matrix) for _ in range(4)])
    x = law.support[0] + (law.support[1] - law.support[0]) * np.linspace(0.02, 0.98, 30)
    counted = (spectra[:, :, None] <= x).sum(axis=(0, 1)) / 4
    assert np.abs(counted - 300 * law.cdf(x)).max() < 2.0
    z = np.array([-3.0, -1.0, 0.0, 2.0, 9.0]) + 0.3j
    assert law.stieltjes(z) == pytest.approx((1 / (z[:, None] - spectra.ravel())).mean(axis=1), abs=4.0 / 300)
    assert (spectra**2).sum() / 4 == pytest.approx(law.frobenius_squared, rel=0.05)


def test_finitely_many_eigenvalues_are_placed_one_by_one():
    """At P = 40, with a block of 6 directions: medians of the ends and shares of directions over 250 draws."""
    rng = np.random.default_rng(1)
    atoms = np.abs(rng.standard_normal((34, 2))) * np.array([0.4, 0.2])
    roots = rng.standard_normal((2, 6, 6)) * np.array([1.0, 0.8])[:, None, None]
    population = JointPopulation.of(atoms, np.ones(34), roots @ roots.transpose(0, 2, 1))
    weights, samples = (PointMass(1.0), PointMass(-1.0)), (120, 80)
    law = CovarianceSum(population, weights, samples)
    vectors = np.linalg.eigh(population.block[0] - population.block[1])[1][:, [5, 0]]
    ends, shares = [], []
    for _ in range(250):
        values, found = np.linalg.eigh(draw_sum(population, weights, samples, rng).matrix)
        ends.append(values[[-1, -2, 1, 0]])
        shares.append([(vectors[:, 0] @ found[:6, -1]) ** 2, (vectors[:, 1] @ found[:6, 0]) ** 2])
    levels = 1 - (np.array([0, 1, 38, 39]) + 0.5) / 40
    width = law.support[1] - law.support[0]
    assert law.quantile(levels) == pytest.approx(np.median(ends, axis=0), abs=0.01 * width)
    cells = (np.arange(20) + 0.5) / 20 / 40
    top, bottom = (law.shares(law.quantile(part), vectors).mean(axis=0) / 40 for part in (1 - cells, cells))
    assert [top[0], bottom[1]] == pytest.approx(np.mean(shares, axis=0), abs=0.03)


@pytest.mark.parametrize(
    ("atoms", "samples"), [((0.0, 0.5, 1.0), 100.0), ((0.2, 0.5, 1.0), 1000.0), ((0.0, 0.5, 1.0), 1000.0)]
)
def test_shares_of_one_group_are_overlaps_on_and_off_the_spectrum(atoms, samples):
    weights, block = AtomicLaw((0.5, 2.0), (0.6, 0.4)), np.array([1.5, 0.7])
    counts = np.array([100.0, 100.0, 98.0])
    population = JointPopulation.of(np.array(atoms)[:, None], counts, np.diag(block)[None])
    law = CovarianceSum(population, (weights,), (samples,))
    masses = np.array([*counts, 1.0, 1.0]) / 300
    single = SeparableLaw(AtomicLaw([*atoms, *block], masses), weights, 300 / samples)
    high = single.support[1]
    x = np.array([0.0, -1.0, 1e-12, -1e-9, 1.2 * high, 3.0 * high, *single.quantile([0.75, 0.9, 0.99])])
    assert law.shares(x, np.eye(2)) == pytest.approx(single.overlaps(x, block), rel=1e-9, abs=1e-12)
    turned = np.array([[0.6], [0.8]])
    for z in (-1.0, 1.2 * high):
        mixed = single.overlaps(z, block)[0] @ turned[:, 0] ** 2
        assert law.shares(z, turned)[0, 0] == pytest.approx(mixed, rel=1e-9)


@pytest.mark.parametrize("samples", [(400.0, 30.0), (20.0, 30.0)])
def test_shares_of_differences_are_the_limit_from_above(samples):
    """Above the axis, of the resolvent: in bands, outside and in the kernel, of blocks that do not commute."""
    population = JointPopulation.of([[1.0, 0.5], [0.0, 2.0]], [60.0, 40.0], BLOCK)
    law = CovarianceSum(population, (ONE, PointMass(-1.0)), samples)
    low, high = law.support
    for x in (low - 0.5, 1.1 * high, *law.quantile([0.02, 0.98]), *([0.0] if law.atoms else [])):
        z = np.array([x + 1e-9j])
        a, _ = law.subordination(z)
        inverse = np.linalg.inv(z * np.eye(2) - np.tensordot(a[0], BLOCK, 1))
        trace = population.resolvent(z, a).trace[0].imag
        assert law.shares(x, np.eye(2))[0] == pytest.approx(102 * np.diag(inverse).imag / trace, rel=1e-6)


@pytest.mark.parametrize(
    ("x", "directions", "message"),
    [
        (1.0, [1.0, 0.0], r"directions must be unit columns of the block, \(r, k\) with r = 2, got shape \(2,\)"),
        (1.0, np.eye(3), r"directions must be unit columns of the block, \(r, k\) with r = 2, got shape \(3, 3\)"),
        (1.0, 1.0, r"directions must be unit columns of the block, .* got shape \(\)"),
        (1.0, [[10.0], [0.0]], r"directions must be columns of length 1, got length \[10"),
        (1.0, [[1.0, 0.0], [0.0, 0.0]], r"directions must be columns of length 1, got length \[0"),
        (np.inf, np.eye(2), r"x must be finite, got \[inf"),
        (np.eye(2), np.eye(2), r"x must be a number or a row of numbers, got shape \(2, 2\)"),
    ],
)
def test_shares_of_impossible_arguments_are_refused(x, directions, message):
    law = CovarianceSum(JointPopulation.of(ATOMS, COUNTS, BLOCK), TWO, (900, 600))
    with pytest.raises(ValueError, match=message):
        law.shares(x, directions)
    assert law.shares([1.0, 2.0], np.eye(2, dtype=np.float32)).shape == (2, 2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("unit", [1e-150, 1e-9, 1e12, 1e150])
def test_every_unit_gives_the_same_law(unit):
    law = CovarianceSum(JointPopulation.of(ATOMS, COUNTS, BLOCK), TWO, (900, 600))
    levels = np.array([0.05, 0.4, 0.99])
    quantiles = law.quantile(levels)
    for one, other in ((unit, unit), (unit, 1.0)):
        population = law.population.scaled(np.array([one, other]))
        weights = (TWO[0], TWO[1].scaled(one / other))
        scaled = CovarianceSum(population, weights, law.samples)
        assert np.array(scaled.support) / unit == pytest.approx(law.support, rel=1e-10)
        assert scaled.quantile(levels) / unit == pytest.approx(quantiles, rel=1e-8)
        assert scaled.stieltjes(20 * unit) * unit == pytest.approx(law.stieltjes(20.0), rel=1e-11)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("weights", "shares", "ratio"), [((0.5, 3.5), (0.8, 0.2), 0.5), ((0.05, 10.0), (0.95, 0.05), 0.1)]
)
def test_ends_and_the_numbers_beyond_them_are_those_of_one_group(weights, shares, ratio, sign):
    """Where weights are negative Newton's method from the right misses points, and the end lay where it first did."""
    law = AtomicLaw([sign * tau for tau in weights], shares)
    one = SeparableLaw(PointMass(1.0), law, ratio)
    found = CovarianceSum(JointPopulation.of([[1.0]], [1.0]), (law,), (1.0 / ratio,))
    assert found.support == pytest.approx(one.support, rel=1e-9)
    assert found.edge_stieltjes == pytest.approx(one.edge_stieltjes, rel=1e-4)
    (lower, upper), width = one.support, one.support[1] - one.support[0]
    for far in (1e-4, 1e-2, 0.1, 3.0):
        for x in (lower - far * width, upper + far * width):
            assert found.outside(x).a == pytest.approx(found.subordination(x + 0j)[0].real, rel=1e-8)


def test_a_block_of_smaller_rank_hides_no_mass():
    """The same covariance as block and as eigenvalues."""
    weights, block = (AtomicLaw((-1.0, 1.0), (0.5, 0.5)),), np.outer((0.1, 0.3), (0.1, 0.3))
    as_block = CovarianceSum(JointPopulation.of([[1.0]], [2.0], [block]), weights, (12.0,))
    as_atoms = CovarianceSum(JointPopulation.of([[1.0], [0.1], [0.0]], [2.0, 1.0, 1.0]), weights, (12.0,))
    near = np.append(10.0 ** -np.arange(4, 17), 0.0)
    for x in (-near, near):
        assert as_block.cdf(x) == pytest.approx(as_atoms.cdf(x), abs=1e-8)
    assert as_block.cdf(0.0) == pytest.approx(0.625, abs=1e-8)
    assert as_block.pdf(0.0) == as_atoms.pdf(0.0) == 0.0


@pytest.mark.parametrize("small", [1.0, 1e-2, 1e-3, 1e-4])
def test_mass_is_counted_at_a_hard_edge(small):
    """Three samples reach three directions, so that a fifth of these has a negative eigenvalue (Sylvester)."""
    weights = PointMass(0.01), AtomicLaw((-0.0143, 0.0049, 0.244), (0.2, 0.55, 0.25))
    law = CovarianceSum(JointPopulation.of([[1.0, 0.0], [0.0, small]], [7.0, 3.0]), weights, (130.0, 3.0))
    assert law.cdf([-1e-30, 0.0, 1e-30]) == pytest.approx(np.full(3, 0.06), abs=1e-9)


def test_a_side_much_smaller_than_the_other_is_counted():
    weights = AtomicLaw((-1e-12, 1.0), (0.9, 0.1))
    law = CovarianceSum(JointPopulation.of([[1.0]], [100.0]), (weights,), (400.0,))
    x = [-1e-3, 0.0, 1e-3, 0.1, 0.3]
    assert law.cdf(x) == pytest.approx(SeparableLaw(PointMass(1.0), weights, 0.25).cdf(x), abs=1e-9)


def test_ends_of_a_law_of_one_sign_are_not_of_the_other():
    law = CovarianceSum(JointPopulation.of([[1.0]], [100.0]), (PointMass(1.0),), (100.0,))
    assert 0.0 <= law.support[0] < 1e-12
    assert law.moment(0) == 1.0


@pytest.mark.parametrize("small", [1e-6, 1e-9, 1e-10, 1e-12])
def test_half_of_a_small_symmetric_part_lies_below_0(small):
    population = JointPopulation.of([[1.0, 0.0], [0.0, small]], [1.0, 1.0])
    law = CovarianceSum(population, (PointMass(1.0), AtomicLaw((-1.0, 1.0), (0.5, 0.5))), (4.0, 4.0))
    assert law.cdf(0.0) == pytest.approx(0.25, abs=1e-9)


@pytest.mark.parametrize("x", [0.0, 1e-14, 1e-10, -1e-10])
def test_the_derivative_of_the_transform_near_0_outside_the_support(x):
    """Two groups alike are one with twice the samples and twice the weight."""
    law = CovarianceSum(JointPopulation.of([[1.0, 1.0]], [100.0]), (PointMass(1.0), PointMass(1.0)), (400.0, 400.0))
    one = SeparableLaw(PointMass(1.0), PointMass(2.0), 1 / 8)
    assert law.stieltjes_derivative(x) == pytest.approx(one.stieltjes_derivative(x), rel=1e-9)


def test_ranks_have_no_unit():
    block = [[[1e16, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]
    population = JointPopulation.of([[1e16, 1.0]], [1.0], block)
    law = CovarianceSum(population, (PointMass(1e-16), PointMass(-1.0)), (4.0, 4.0))
    assert law.atoms == ()
    assert law.cdf(0.0) == pytest.approx(0.5, abs=1e-9)


def test_the_variance_of_many_samples():
    law = CovarianceSum(JointPopulation.of([[0.7]], [30.0]), (PointMass(3.0),), (1e18,))
    assert law.variance == pytest.approx(9 * 0.49 * 30 / 1e18, rel=1e-9, abs=0.0)


def test_mass_is_counted_to_the_brink_of_an_atom():
    """Twice 8/3 samples for 8 directions: a third of the eigenvalues is 0, as many are on either side, by symmetry."""
    plus = AtomicLaw((0.5, 1.0, 2.0), (1 / 3, 1 / 3, 1 / 3))
    minus = AtomicLaw((-0.5, -1.0, -2.0), (1 / 3, 1 / 3, 1 / 3))
    law = CovarianceSum(JointPopulation.of([[1.0, 1.0]], [8.0]), (plus, minus), (8 / 3, 8 / 3))
    near = 10.0 ** -np.arange(3, 18)
    assert law.cdf(-near) == pytest.approx(np.full(15, 1 / 3), abs=1e-9)
    assert law.cdf(np.append(near, 0.0)) == pytest.approx(np.full(16, 2 / 3), abs=1e-9)


def test_mass_is_counted_beside_an_atom_where_groups_have_nothing_in_common():
    """Eleven directions, of which as many are reached as there are samples: 0.8577 positive, 0.5446 negative."""
    population = JointPopulation.of([[3.234, 0.0], [0.0, 0.00301], [143.7, 0.0]], [2.0, 3.0, 6.0])
    halves, samples = (0.5, 0.5), (0.8577, 0.5446)
    weights = AtomicLaw((21.19, 0.05494), halves), AtomicLaw((-21.19, -0.05494), halves)
    law = CovarianceSum(population, weights, samples)
    near = np.append(law.support[1] * 10.0 ** -np.arange(9.0, 17.0, 0.25), 4.39545285e-08)
    assert law.cdf(-near) == pytest.approx(np.full(len(near), samples[1] / 11), abs=1e-9)
    assert law.cdf(near) == pytest.approx(np.full(len(near), 1 - samples[0] / 11), abs=1e-9)


@pytest.mark.slow
@example([1.0], [2.0], [1.0], [1.0], 1.0, 1.0)
@example([1.0, 30.0], [0.0, 1.0], [1.0, 100.0], [1.0], 0.1, 8.0)
@example([1.0, 1.0], [1.0, 1.0], [1.0, 2.0, 0.5], [1.0, 2.0, 0.5], 3.0, 3.0)  # its middle is an atom in a gap
@given(
    st.lists(st.floats(1e-2, 1e2), min_size=2, max_size=2),
    st.lists(st.floats(1e-2, 1e2), min_size=2, max_size=2),
    st.lists(st.floats(1e-2, 1e2), min_size=1, max_size=3, unique=True),
    st.lists(st.floats(1e-2, 1e2), min_size=1, max_size=3, unique=True),
    st.floats(0.05, 20.0),
    st.floats(0.05, 20.0),
)
def test_differences_solve_their_equations_and_count(one, other, plus, minus, first, second):
    atoms = np.zeros((2, 2))
    atoms[: len(one), 0], atoms[: len(other), 1] = one, other
    weights = tuple(
        AtomicLaw([sign * x for x in part], [1 / len(part)] * len(part)) for sign, part in ((1, plus), (-1, minus))
    )
    law = CovarianceSum(JointPopulation.of(atoms, [3.0, 5.0]), weights, (8 / first, 8 / second))
    lower, upper = law.support
    assert lower < 0.0 < upper or law.atoms or lower < upper
    x = lower + (upper - lower) * np.array([0.03, 0.21, 0.5, 0.77, 0.98])
    z = x + 0.01j * (upper - lower)
    a, b = law.subordination(z)
    inverse = 1 / (z[:, None] - a @ atoms.T) * np.array([3.0, 5.0])
    assert b == pytest.approx(inverse @ atoms / np.array(law.samples), rel=1e-8)
    for g, part in enumerate(weights):
        tau, mass = np.array(part.atoms).T
        assert a[:, g] == pytest.approx((tau / (1 - tau * b[:, g, None])) @ mass, rel=1e-8)
    assert np.all(a.imag < 0)
    assert np.all(b.imag < 0)
    counted = law.cdf(x)
    assert np.all(np.diff(counted) >= -1e-8)
    assert law.cdf(upper + 1e-6 * (upper - lower)) == pytest.approx(1.0, abs=1e-12)
    assert law._continuous_cdf(np.array([upper]))[0] == pytest.approx(1.0 - sum(p for _, p in law.atoms), abs=1e-5)
    assert law._continuous_cdf(np.array([lower]))[0] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: JointPopulation.of([1.0], [1.0]), "atoms must be"),
        (lambda: JointPopulation.of([[1.0, 1.0]], [1.0, 1.0]), "every atom needs one count"),
        (lambda: JointPopulation.of([[1.0, -1.0]], [1.0]), "never negative, got -1.0"),
        (lambda: JointPopulation.of([[1.0, 0.0]], [1.0]), "no covariance may be the zero matrix"),
        (lambda: JointPopulation.of([[np.nan]], [1.0]), "atoms must be finite"),
        (lambda: JointPopulation.of([[1.0]], [1.0], [[[1.0, 2.0], [2.0, 1.0]]]), "block has a negative eigenvalue"),
        (lambda: JointPopulation.of([[1.0]], [1.0], [[[1.0, 2.0], [0.0, 9.0]]]), "block must be symmetric"),
        (lambda: CovarianceSum(JointPopulation.of([[1.0, 1.0]], [1.0]), (ONE,), (1.0,)), "every group needs weights"),
        (lambda: CovarianceSum(JointPopulation.of([[1.0]], [1.0]), (PointMass(0.0),), (1.0,)), "not all be 0"),
        (
            lambda: CovarianceSum(JointPopulation.of([[1.0]], [1.0]), (ONE,), (0.0,)),
            "number of samples must be positive",
        ),
        (
            lambda: CovarianceSum(JointPopulation.of([[1e-200]], [1.0]), (PointMass(1e-200),), (1.0,)),
            "the largest weight must be positive",
        ),
        (lambda: alone(WEIGHTS, 0.3).subordination(-1j), "must lie in the upper half-plane"),
        (lambda: alone(WEIGHTS, 0.3).outside(1.0), "outside the support"),
    ],
)
def test_impossible_sums_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("others", [0, 1, 40])
@pytest.mark.parametrize(
    ("law", "level"),
    [
        (CovarianceSum(TWO_KINDS, (ONE, PointMass(-1.0)), (400.0, 300.0)), 0.4),
        (SeparableLaw(AtomicLaw((1.0, 5.0), (0.5, 0.5)), NEGATIVE, 0.01), 0.5),
        (SeparableLaw(ONE, AtomicLaw((-1.0, 2.0), (0.5, 0.5)), 2.0), 0.25),
    ],
)
def test_a_quantile_in_a_gap_is_the_end_below_it(law, level, others):
    point = law.quantile(np.append(np.linspace(0.01, 0.99, others), level))[-1]
    width = law.support[1] - law.support[0]
    assert law.cdf(point) == pytest.approx(level, abs=1e-12)
    assert law.pdf(point - 1e-6 * width) * width > 1e-4
    assert law.pdf(point + 1e-6 * width) * width < 1e-9


def beside_a_kernel(small, samples=(400.0, 400.0)):
    """Return a third of the directions with positive samples, a third with negative ones, a third with none."""
    population = JointPopulation.of([[1.0, 0.0], [0.0, small], [0.0, 0.0]], [100.0] * 3)
    return CovarianceSum(population, (ONE, PointMass(-1.0)), samples)


@pytest.mark.sample(2)
@pytest.mark.parametrize("small", [1.0, 1e-3, 1e-6, 1e-7])
def test_a_small_side_beside_a_kernel_is_resolved(small):
    law, known = beside_a_kernel(small), MarchenkoPastur(0.25)
    assert law.support == pytest.approx((-2.25 * small, 2.25), rel=1e-5)
    assert law.cdf(-1e-3 * small) == pytest.approx(1 / 3, abs=1e-9)
    assert law.cdf(0.0) == pytest.approx(2 / 3, abs=1e-9)
    levels = np.array([0.1, 0.5, 0.9])
    assert law.quantile(levels / 3) == pytest.approx(-small * known.quantile(1 - levels), rel=1e-6)
    assert law.quantile((2 + levels) / 3) == pytest.approx(known.quantile(levels), rel=1e-9)


def test_a_hard_edge_beside_a_kernel_is_counted():
    assert beside_a_kernel(1.0, (400.0, 100.0)).cdf(0.0) == pytest.approx(2 / 3, abs=1e-7)


def test_a_side_that_cannot_be_resolved_is_refused():
    with pytest.raises(ValueError, match="next to an atom at 0"):
        beside_a_kernel(1e-9).support  # noqa: B018 (the property raises)


@pytest.mark.sample(1)
@pytest.mark.parametrize("small", [1e-13, 1e-17, 1e-40])
def test_a_group_too_small_for_the_directions_that_others_leave_is_refused(small):
    population = JointPopulation.of([[1.0, small]], [100.0])
    law = CovarianceSum(population, (ONE, PointMass(-1.0)), (50.0, 300.0))
    with pytest.raises(ValueError, match="cannot be computed accurately"):
        law.quantile([0.1, 0.3, 0.45])
    assert law.cdf([-1.0, 1e-3]) == pytest.approx([0.0, 0.5], abs=1e-9)


@pytest.mark.parametrize(
    ("atoms", "weights", "samples"),
    [
        ([[1.0, 1e-13]], (ONE, ONE), (50.0, 300.0)),
        ([[1.0, 0.0], [0.0, 1e-10]], (AtomicLaw((2e-10, 1.0), (0.5, 0.5)), PointMass(-1.0)), (200.0, 150.0)),
        ([[1.0, 1e-10], [1e-10, 0.5]], (ONE, PointMass(-1e-10)), (50.0, 150.0)),
    ],
)
def test_ends_of_groups_of_very_different_sizes_are_found(atoms, weights, samples):
    """To 1e-10 of the larger end, that of the larger group alone (Marchenko and Pastur 1967)."""
    population = JointPopulation.of(atoms, [100.0] if len(atoms) == 1 else [60.0, 40.0])
    law = CovarianceSum(population, weights, samples)
    first = np.array(atoms)[:, 0]
    alone = SeparableLaw(AtomicLaw(first, population.counts / 100), weights[0], 100 / samples[0])
    assert law.support[1] == pytest.approx(alone.support[1], rel=1e-8)
