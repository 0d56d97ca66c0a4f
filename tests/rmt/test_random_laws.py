"""Random laws against draws, against each other and against themselves: narrow bands, light atoms, every unit."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rmt import (
    AtomicLaw,
    CovarianceSum,
    FreeSum,
    JointPopulation,
    MarchenkoPastur,
    PointMass,
    Semicircle,
    SeparableLaw,
    SpikedCovariance,
    SpikedSum,
)
from rmt.laws import Affine

pytestmark = pytest.mark.filterwarnings("error")
seeds = st.integers(0, 2**32 - 1)
DEEP = settings.default.max_examples >= 1000
fewer = settings(max_examples=500 if DEEP else 4)  # of each kind


def masses(rng, count):
    """Equal, random, over three decades, or one atom with nearly everything; none below about 0.001."""
    kind = rng.integers(4)
    if kind == 0:
        found = np.ones(count)
    elif kind == 1:
        found = rng.dirichlet(np.ones(count))
    elif kind == 2:
        found = 10 ** rng.uniform(-3, 0, count)
    else:
        found = np.full(count, 1e-3)
        found[rng.integers(count)] = 1 - 1e-3 * (count - 1)
    found = np.maximum(found / found.sum(), 1e-3)
    return found / found.sum()


def locations(rng, count):
    """Different numbers: of one size, over eight decades, nearly equal, equally spaced, or in two groups far apart."""
    kind = rng.integers(5)
    if kind == 0:
        found = rng.standard_normal(count)
    elif kind == 1:
        found = rng.choice([-1, 1], count) * 10 ** rng.uniform(-4, 4, count)
    elif kind == 2:
        found = rng.standard_normal() + 10 ** rng.uniform(-8, -2) * rng.standard_normal(count)
    elif kind == 3:
        found = np.arange(count) - rng.integers(count) + 0.0
    else:
        found = np.where(rng.random(count) < 0.5, 1e3, 0) + rng.standard_normal(count)
    return found * 10 ** rng.uniform(-2, 2)


def unit(rng):
    return 10.0 ** rng.uniform(-150, 150) if rng.random() < 0.25 else 1.0


def atoms(rng, least=2, most=5, positive=False):
    count = int(rng.integers(least, most + 1))
    places = locations(rng, count)
    if positive:
        places = np.abs(places) + 1e-9 * np.arange(1, count + 1) * np.abs(places).max(initial=1e-3)
    places = np.where(np.abs(places).max() > 0, places, 1.0)
    return AtomicLaw(places, masses(rng, count))


def check_counting(law, rng):
    """The distribution function ends at 1, rises, and the quantile is the first point at which it reaches a level."""
    lower, upper = law.support
    assert lower < upper
    width = upper - lower
    levels = np.sort(np.concatenate([[1e-6, 1 - 1e-6], rng.random(12)]))
    points = law.quantile(levels)
    assert np.diff(points).min() >= -1e-9 * width
    assert (law.cdf(points) - levels).min() >= -1e-8
    before = points - np.maximum(1e-10 * width, 4 * np.spacing(np.abs(points)))  # no distance is below rounding
    assert (law.cdf(before) - levels).max() <= 1e-8
    if all(location < upper for location, _ in law.atoms):
        assert law.cdf(np.nextafter(upper, lower)) >= 1 - 1e-3  # a band of a few doubles
    return width


def check_spectrum(law, values, most):
    """Counted eigenvalues, between those that differ by more than rounding."""
    values, count = np.sort(values), len(values)
    apart = np.flatnonzero(np.diff(values) > 1e-7 * (law.support[1] - law.support[0]))
    if len(apart):
        counted = (apart + 1) / count
        assert np.abs(counted - law.cdf((values[apart] + values[apart + 1]) / 2)).max() <= most / count


def free_sum(rng):
    size = unit(rng)
    return FreeSum(atoms(rng).scaled(size), atoms(rng).scaled(size))


def check_free_sum(seed):
    """Return the distance of two free sums is at most that of their parts, which rounding to 100 values makes 1/100."""
    rng = np.random.default_rng(seed)
    law, count = free_sum(rng), 100
    try:
        check_counting(law, rng)
    except ValueError as refused:
        ends = np.abs([*law.a.support, *law.b.support]).max()
        gaps = [np.diff([x for x, _ in part.atoms]).min() for part in (law.a, law.b)]
        if "cannot be computed accurately" not in str(refused) or min(gaps) > 1e-11 * ends:
            raise
        return
    levels = (np.arange(count) + 0.5) / count
    turn = np.linalg.qr(rng.standard_normal((count, count)))[0]
    matrix = np.diag(law.a.quantile(levels)) + (turn * law.b.quantile(levels)) @ turn.T
    check_spectrum(law, np.linalg.eigvalsh(matrix), 6)


def check_separable(seed):
    rng = np.random.default_rng(seed)
    size, ratio = unit(rng), 10 ** rng.uniform(-1.5, 1.5)
    population, weights = atoms(rng, 1, 4, positive=True).scaled(size), atoms(rng, 1, 4)
    law = SeparableLaw(population, weights, ratio)
    width = check_counting(law, rng)
    places, shares = np.array(population.atoms).T
    try:
        other = CovarianceSum(JointPopulation.of(places[:, None], 100 * shares), (weights,), (100 / ratio,))
        points = law.quantile(rng.random(5))
        assert np.abs(other.cdf(points + 1e-9 * width) - law.cdf(points + 1e-9 * width)).max() < 1e-6
    except ValueError as refused:
        if "next to an atom at 0" not in str(refused):
            raise


def check_covariance_sum(seed):
    """Identities commute with everything, so that their samples are free of each other."""
    rng = np.random.default_rng(seed)
    size, ratios, weights = unit(rng), 10 ** rng.uniform(-1, 1, 2), (atoms(rng, 1, 3), atoms(rng, 1, 3))
    second = 10 ** rng.uniform(-1, 1)
    try:
        law = CovarianceSum(JointPopulation.of([[size, size * second]], [100.0]), weights, tuple(100 / ratios))
        width = check_counting(law, rng)
    except ValueError as refused:
        if "next to an atom at 0" not in str(refused):
            raise
        return
    parts = (
        SeparableLaw(PointMass(size * eigenvalue), part, ratio)
        for eigenvalue, part, ratio in zip((1.0, second), weights, ratios, strict=True)
    )
    z = np.array([law.quantile(0.3) + 0.3j * width])
    # Without its ends, which take seconds.
    assert law.stieltjes(z) == pytest.approx(FreeSum(*parts)._stieltjes(z), rel=1e-6)


def check_scales(law, rng):
    """As above, unless the smallest products of weights and eigenvalues are lost to rounding of the largest."""
    try:
        check_counting(law, rng)
    except ValueError as refused:
        weights = [abs(x) for part in law.weights for x, _ in part.atoms if x]
        products = np.outer(weights, law.population.atoms[law.population.atoms > 0])
        if "cannot be computed accurately" not in str(refused) or products.min() > 1e-10 * products.max():
            raise


def check_spiked_sum(seed):
    """One group is a spiked covariance, and so are two of proportional covariances, whose weights make one law."""
    rng = np.random.default_rng(seed)
    ratio, bulk, weights = 10 ** rng.uniform(-1, 1), atoms(rng, 1, 3, positive=True), atoms(rng, 1, 3, positive=True)
    spike = bulk.support[1] * 10 ** rng.uniform(0.1, 3)
    places, shares = np.array(bulk.atoms).T
    model = SpikedSum(
        np.array([[[spike]]]), JointPopulation.of(places[:, None], 100 * shares), (weights,), (100 / ratio,)
    )
    known = SpikedCovariance((spike,), bulk, weights, ratio).outlier(spike)
    if known.overlap > 1e-3:
        assert model.above[0].location == pytest.approx(known.location, rel=1e-8)
        assert model.above[0].overlap == pytest.approx(known.overlap, rel=1e-5)
    check_scales(model.law, rng)

    factor, others, share = 10 ** rng.uniform(-1, 1), atoms(rng, 1, 3, positive=True), rng.uniform(0.1, 0.9)
    samples = (share * 100 / ratio, (1 - share) * 100 / ratio)
    two = SpikedSum(
        np.array([[[spike]], [[factor * spike]]]),
        JointPopulation.of(places[:, None] * [1.0, factor], 100 * shares),
        (weights, others),
        samples,
    )
    pooled = AtomicLaw(
        [x / share for x, _ in weights.atoms] + [factor * x / (1 - share) for x, _ in others.atoms],
        [share * p for _, p in weights.atoms] + [(1 - share) * p for _, p in others.atoms],
    )
    single = SpikedCovariance((spike,), bulk, pooled, ratio)
    known = single.outlier(spike)
    if known.overlap > 1e-3:
        (found,) = two.above
        assert found.location == pytest.approx(known.location, rel=1e-8)
        assert found.overlap == pytest.approx(known.overlap, rel=1e-5)
        if np.isnan(found.sd):  # next to the edge
            with pytest.raises(ValueError, match="too close to the threshold"):
                single.outlier_sd(spike, 100)
        else:
            assert found.sd == pytest.approx(single.outlier_sd(spike, 100), rel=1e-5)
    points = single.law.quantile(rng.random(5)) + 1e-9 * (single.law.support[1] - single.law.support[0])
    assert two.law.cdf(points) == pytest.approx(single.law.cdf(points), abs=1e-6)


def check_outliers_of_two_groups(seed):
    """Blocks that do not commute and weights of both signs: numbers from above the axis solve the outliers' equation.

    Outliers are as many as eigenvalues of the block's matrix change sign between the edge and far away.
    """
    rng = np.random.default_rng(seed)
    size, ratios = int(rng.integers(1, 4)), 10 ** rng.uniform(-1, 0.5, 2)
    roots = rng.standard_normal((2, size, size)) * 10 ** rng.uniform(-0.5, 1.0, (2, 1, 1))
    spikes = roots @ roots.transpose(0, 2, 1)
    bulk = JointPopulation.of(rng.uniform(0.1, 2.0, (3, 2)), rng.uniform(20, 60, 3))
    weights = tuple(
        AtomicLaw(side * rng.uniform(0.2, 2.0, 2), rng.dirichlet([2.0, 2.0])) for side in (1.0, rng.choice([-1.0, 1.0]))
    )
    model = SpikedSum(spikes, bulk, weights, tuple(100 / ratios))
    law, width = model.law, model.law.support[1] - model.law.support[0]
    for side, found in ((1.0, model.above), (-1.0, model.below)):

        def matrix(z):
            return z * np.eye(size) - np.tensordot(law.subordination(complex(z))[0], spikes, 1)

        edge = law.support[int(side > 0)]
        near, signs = edge + side * 1e-4 * width, np.linalg.eigvalsh(side * matrix(edge + side * 1e-4 * width).real)
        assert sum(side * (one.location - near) > 0 for one in found) == (signs < 0).sum()
        for one in found:
            if side * (one.location - near) < 0:
                continue
            z, step = one.location, 1e-5 * abs(one.location - edge)
            residual = matrix(z) @ one.direction
            assert np.abs(residual).max() < 1e-7 * (abs(z) + np.abs(matrix(z)).max())
            slope = (one.direction @ (matrix(z + step) - matrix(z - step)) @ one.direction).real / (2 * step)
            assert one.overlap == pytest.approx(1 / slope, rel=1e-4)


@example(50)
@example(42)
@example(86)
@example(242)
@fewer
@given(seeds)
def test_free_sums_of_atoms(seed):
    check_free_sum(seed)


@fewer
@given(seeds)
def test_separable_laws(seed):
    check_separable(seed)


@fewer
@given(seeds)
def test_sums_of_two_covariances(seed):
    check_covariance_sum(seed)


@pytest.mark.slow
@example(146)
@fewer
@given(seeds)
def test_spiked_sums(seed):
    check_spiked_sum(seed)


@fewer
@given(seeds)
def test_outliers_of_two_groups(seed):
    check_outliers_of_two_groups(seed)


def test_a_narrow_band_next_to_an_atom_counts():
    law = FreeSum(
        AtomicLaw((12.7607, -2.6278, 0.1896), (0.204, 0.458, 0.338)),
        AtomicLaw((-0.0510, 0.0551, 0.1518), (0.049, 0.755, 0.196)),
    )
    assert law.cdf(1.0) == pytest.approx(0.796, abs=1e-12)
    assert law.cdf(-1.0) == pytest.approx(0.458, abs=1e-12)
    assert 0.1 < law.quantile(0.7) < 0.4


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [1e-160, 1e-90, 1e90, 1e160])
def test_free_sums_of_every_size(size):
    coin, law = AtomicLaw((-1.0, 1.0), (0.5, 0.5)), FreeSum(AtomicLaw((-1.0, 1.0), (0.3, 0.7)), Semicircle(0.2, 1.0))
    scaled = FreeSum(AtomicLaw((-size, size), (0.3, 0.7)), Semicircle(0.2 * size, size))
    assert np.array(scaled.support) / size == pytest.approx(law.support, rel=1e-12)
    x = np.linspace(*law.support, 9)
    assert scaled.cdf(x * size) == pytest.approx(law.cdf(x), abs=1e-12)
    assert scaled.quantile([0.1, 0.6]) / size == pytest.approx(law.quantile([0.1, 0.6]), rel=1e-9)
    assert scaled.stieltjes(4 * size) * size == pytest.approx(law.stieltjes(4.0), rel=1e-12)
    assert FreeSum(coin.scaled(size), coin.scaled(size)).pdf(0.5 * size) * size == pytest.approx(
        1 / (np.pi * np.sqrt(3.75))
    )


@pytest.mark.parametrize("ratio", [1e-30, 1e-10, 1e-3, 0.0099, 0.0101, 0.5, 2.0, 99.0, 101.0, 1e10, 7e32])
@pytest.mark.parametrize("variance", [2.5e-17, 1.0, 1e200])
def test_marchenko_pastur_at_every_ratio(ratio, variance):
    """Against quadrature of its density in the angle t, x = v (1 + ratio - 2 sqrt(ratio) cos t)."""
    law, small = MarchenkoPastur(ratio, variance), min(ratio, 1 / ratio)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    place = variance * max(ratio, 1.0)
    x = place * (1 + small + 2 * np.sqrt(small) * np.linspace(-0.9, 0.9, 7))
    rounded = np.clip(((x - place) / place - small) / (2 * np.sqrt(small)), -1, 1)  # what is left of the angle
    angles = np.arccos(-rounded)[:, None] / 2 * (nodes + 1)
    density = np.sin(angles) ** 2 / (1 + small - 2 * np.sqrt(small) * np.cos(angles))
    exact = density @ weights * np.arccos(-rounded) / np.pi / max(ratio, 1.0)
    assert law.cdf(x) - (1 - 1 / max(ratio, 1.0)) == pytest.approx(exact, abs=1e-13)
    assert law.cdf(law.support[1]) == 1.0
    assert law.cdf(np.nextafter(law.support[0], -np.inf)) == 0.0
    assert law.support[0] <= law.quantile(0.5) <= law.support[1]
    z = law.support[1] + 2j * variance * np.sqrt(ratio)
    offset = ((z - place) / place - small) / (2 * np.sqrt(small)) if ratio < 1 else None
    if offset is not None:  # the integral of the density over z - x, in the same angle
        t = np.pi / 2 * (nodes + 1)
        mass = np.sin(t) ** 2 / (1 + small - 2 * np.sqrt(small) * np.cos(t)) * weights
        expected = mass @ (1 / (offset + np.cos(t))) / (2 * np.sqrt(small) * variance)
        assert law.stieltjes(z) == pytest.approx(expected, rel=1e-10, abs=0.0)


EVERY = {
    "semicircle": Semicircle(),
    "huge semicircle": Semicircle(1e300),
    "tiny semicircle": Semicircle(1e-300),
    "pastur": MarchenkoPastur(0.3),
    "with a kernel": MarchenkoPastur(2.5),
    "coins": FreeSum(AtomicLaw((-1.0, 1.0), (0.5, 0.5)), AtomicLaw((-1.0, 1.0), (0.5, 0.5))),
    "affine": Affine(MarchenkoPastur(0.3), 1e200, -1e199),
    "point": PointMass(1.0),
    "separable": SeparableLaw(AtomicLaw((1.0, 2.0), (0.5, 0.5)), PointMass(1.0), 0.5),
}


@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY.keys())
def test_limits_at_extreme_points(law):
    for far in (1e308, -1e308, 1.7e308, 1e308 + 1e308j):
        assert law.stieltjes(far) / 4 * far * 4 == pytest.approx(1.0, rel=1e-7)
        assert abs(law.stieltjes_derivative(far)) < 1e-300
    assert law.cdf([-np.inf, -1e308, 1e308, np.inf]).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert law.pdf([-np.inf, -1e308, 1e308, np.inf]).tolist() == [0.0] * 4
    assert law.quantile([0.0, 1.0]) == pytest.approx(law.support, rel=1e-9, abs=1e-300)
    for ask in (law.stieltjes, law.pdf, law.cdf, law.quantile):
        with pytest.raises(ValueError, match="nan"):
            ask(np.nan)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Semicircle(1e308),
        lambda: MarchenkoPastur(1e30, 1e300),
        lambda: AtomicLaw((-1e308, 1e308), (0.5, 0.5)),
        lambda: Affine(MarchenkoPastur(0.3), 1e308, 1e308).support,
    ],
)
def test_laws_beyond_double_precision_are_refused(build):
    with pytest.raises(ValueError, match="must be finite, got inf"):
        build()
