"""Records of sums of weighted covariances: joint populations, ends, kernels, shares, outliers, draws, and messages."""

from functools import cache

import numpy as np
from laws_shown import ends_of, moments_of
from recording import Within, refused

from rmt import AtomicLaw, CovarianceSum, JointPopulation, PointMass, SpikedSum, draw_sum
from rmt.covariance_draws import WeightedSamples
from rmt.sum_draws import SumDraw
from rmt.sum_equations import _bisect, _doublings, _end

BLOCK = np.array([[[9.0, 3.0], [3.0, 4.0]], [[2.0, -1.0], [-1.0, 6.0]]])
ONE, MINUS = PointMass(1.0), PointMass(-1.0)
TWO = (AtomicLaw((0.0, 0.3, 1.0), (0.1, 0.5, 0.4)), AtomicLaw((-1.5, -0.5), (0.4, 0.6)))
BULK = JointPopulation.of([[1.0, 0.5], [0.2, 1.0]], [60.0, 40.0])
BLOCKED = JointPopulation.of([[1.0, 0.2], [0.1, 1.5]], [50.0, 48.0], BLOCK)


@cache
def _law(name):
    return {
        "signs": lambda: CovarianceSum(BULK, TWO, (300.0, 200.0)),
        "few": lambda: CovarianceSum(BULK, (ONE, PointMass(0.5)), (30.0, 45.0)),
        "block": lambda: CovarianceSum(BLOCKED, (ONE, MINUS), (400.0, 250.0)),
        "negative": lambda: CovarianceSum(BULK, (MINUS, PointMass(-0.25)), (250.0, 500.0)),
    }[name]()


def _spiked(*spikes):
    """Return models on one bulk, whose ends are computed once."""
    model = SpikedSum(np.array(spikes), BULK, TWO, (300.0, 200.0))
    model.__dict__["law"] = _law("signs")
    return model


def ends():
    law = _law("signs")
    return ends_of(law), law.edges, law._negative_mass, law._interval, law._unit


def kernels_and_negative_masses():
    return [(law.atoms, law._negative_mass, law.mean, law._unit) for law in map(_law, ("few", "block", "negative"))]


def kernels_with_weights_of_0():
    for samples in ((50.0, 20.0), (50.0, 80.0), (111.0, 1.0)):
        yield CovarianceSum(BULK, (TWO[0], ONE), samples).atoms, CovarianceSum(BULK, (ONE, TWO[0]), samples).atoms


def distribution():
    return _law("signs").cdf([-0.9, -0.2, 0.0, 0.4]), _law("signs").pdf([-0.2, 0.4, 5.0])


def distribution_next_to_a_kernel():
    x = np.array([-0.1, 1e-9, 0.8, 1.9])
    return _law("few")._continuous_cdf(x), _law("few")._pdf(x[2:]), _law("negative")._continuous_cdf(-x)


def transforms():
    z = np.array([-3.0, 5.0, 0.3 + 0.4j, 0.5 - 0.2j])
    yield _law("signs").stieltjes(z), _law("signs").stieltjes_derivative(z)
    yield [(law._stieltjes(z[2:]), law._stieltjes_derivative(z[2:])) for law in (_law("few"), _law("block"))]


def equations():
    z, b = np.array([0.5 + 0.3j, -1.0 + 0.1j]), np.array([[0.2 - 0.1j, 0.1 - 0.3j], [-0.4 - 0.2j, -0.3 - 0.1j]])
    for name in ("few", "block"):
        one = _law(name)._equations
        yield one.width, one.lift(b), one.step(z, b), one.slopes(z, b), one.above(z, b), one.false(z, b * [[1], [1e-9]])
        yield one.contraction(z.real + 9.0 + 0j, one.lift(b.real + 0j)), one.solve(z), one.kernel, one.samples


def numbers_followed_along_the_axis():
    for z in (40.0, 3.0, 0.4):
        yield _law("few")._equations.on_axis(z, np.zeros(2)), _law("signs")._equations.on_axis(z / 2, np.zeros(2))


def guesses_of_an_end():
    for points in ([(3.0, 0.4), (2.5, 0.2), (2.3, 0.05)], [(3.0, 0.4), (2.5, 0.5), (2.3, 0.05)], [(3.0, 0.4)]):
        yield _end(points), _doublings(points, 1e-6)
    for guess, room in ((0.3, 0.01), (0.3, 1.0), (2.0, 0.01), (0.51, 0.2)):
        yield _bisect(0.0, 1.0, 5, guess, room), _bisect(0.0, 1.0, 2, guess, room)


def moments():
    return [moments_of(_law(name), 4) for name in ("signs", "few", "block")]


def frobenius_norms():
    return [_law(name).frobenius_squared for name in ("signs", "few", "block", "negative")]


def subordination():
    z = np.array([[0.5 + 0.5j], [-1.0 + 0.1j]])
    return _law("signs").subordination(z), refused(_law("signs").subordination, 1 - 1e-9j)


def numbers_outside():
    for x in (-3.0, 5.0, -0.8, 0.3):
        found = refused(_law("signs").outside, x)
        yield found, *((found.squares, found.traces, found.negated().a) if not isinstance(found, str) else ())


def numbers_at_the_ends():
    return [Within(1e-3, _law("signs").outside(end).a) for end in _law("signs").support]


def shares():
    law, directions = _law("block"), np.array([[1.0, 0.6], [0.0, 0.8]])
    yield law.shares([0.3, -0.4, 40.0], directions), law.shares(0.5, directions[:, :1])
    for wrong in (
        directions[:1],
        directions * 1.1,
        directions * 0.9,
        directions * (1 - 2e-6),
        directions * (1 + 1e-7),
        directions[0],
        np.zeros((2, 0)),
    ):
        yield refused(law.shares, [0.3], wrong)
    yield refused(law.shares, [np.inf], directions), refused(law.shares, [[1.0]], directions)


def scaled_sums():
    law = _law("signs").scaled(2.0)
    return law.mean, law.population.largest, refused(law.scaled, 0.0), _law("signs")._mirrored.mean


def sums_that_are_refused():
    for population, weights, samples in (
        *((1.0, TWO, (1.0, 2.0)), (BULK, ONE, (1.0, 2.0)), (BULK, TWO, 1.0), (BULK, TWO[:1], (1.0, 2.0))),
        *((BULK, TWO, (1.0,)), (BULK, ("a", ONE), (1.0, 2.0)), (BULK, (PointMass(0.0), ONE), (1.0, 2.0))),
        *((BULK, TWO, (0.0, 1.0)), (BULK, TWO, (1.0, -2.0)), (BULK, TWO, (np.inf, 1.0))),
    ):
        yield refused(CovarianceSum, population, weights, samples)


def joint_populations():
    for population in (BULK, BLOCKED):
        yield population.groups, population.dimension, population.largest, population.traces, population.products()
        yield population.scaled(np.array([2.0, 0.5])).traces, population.smallest(5.0, np.array([0.4, 0.3]))
        yield [population.rank(np.array(sizes)) for sizes in ((10.0, 20.0), (500.0, 1.0), (0.0, 0.0), (70.0, 80.0))]


def ranks_of_covariances_with_kernels():
    population = JointPopulation.of([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], [5.0, 3.0, 2.0], BLOCK * [[[1.0]], [[0.0]]])
    return [population.rank(np.array(sizes)) for sizes in ((9.0, 9.0), (2.0, 9.0), (9.0, 1.0), (6.5, 2.5))]


def traces_of_resolvents():
    z, a = np.array([1.0 + 1j, 20.0 + 0j]), np.array([[0.5 - 0.1j, 0.2 - 0.3j], [0.3 + 0j, 0.4 + 0j]])
    for population in (BULK, BLOCKED):
        yield population.resolvent(z, a), population.angle(z, a)
    yield BLOCKED.shares(z, a, np.array([[1.0], [0.0]]))


def populations_that_are_refused():
    for atoms, counts, block in (
        *(([1.0], [1.0], None), ([[1.0]], [1.0, 2.0], None), ([[1.0]], [0.0], None), ([[-1e-9]], [1.0], None)),
        *(([[np.inf]], [1.0], None), ([[1.0]], [np.nan], None), ([[0.0]], [1.0], None), ([["a"]], [1.0], None)),
        *(
            ([[1.0]], [1.0], BLOCK),
            ([[1.0, 1.0]], [1.0], -BLOCK),
            ([[1.0, 1.0]], [1.0], BLOCK + np.array([[0, 1e-3], [0, 0]])),
        ),
        *(([[1.0, 1.0]], [1.0], BLOCK * np.nan), ([[1.0, 0.0]], [1.0], None), ([[1.0, 1.0]], [1.0], BLOCK[0])),
    ):
        yield refused(JointPopulation.of, atoms, counts, block)


def _shown(outliers):
    for one in outliers:
        yield one.location, np.abs(one.direction), one.overlap, one.sd, one.sd_of_weights


def outliers_of_sums():
    for model in (_spiked(*BLOCK), _spiked([[1.02]], [[1.02]]), _spiked([[0.1]], [[9.0]])):
        yield list(_shown(model.above)), list(_shown(model.below)), model.spectral_norm


def outliers_next_to_each_other_have_no_deviation():
    model = _spiked(np.diag([6.0, 6.05, 60.0]), np.zeros((3, 3)))
    return [(one.location, one.overlap, one.sd) for one in (*model.above, *model.below)]


def outliers_next_to_the_end_have_no_deviation():
    return [[(one.location, one.sd) for one in _spiked([[x]], [[0.1]]).above] for x in (1.2, 1.3, 1.35, 1.4, 1.5, 3.0)]


def outliers_next_to_either_end_have_no_deviation():
    model = _spiked(*BLOCK)
    ends = ((9.0,), (9.0, 5.0), (5.0, 9.0), (4.9, 9.0), (4.7, 9.0), (9.0, 4.7), (9.0, 4.9))
    return [(one.sd, one.sd_of_weights) for one in (model._outlier(5.0, 0, 1.0, end) for end in ends)]


def more_samples():
    return _spiked(*BLOCK).with_samples(2.5).samples, refused(_spiked(*BLOCK).with_samples, 0.0)


def stable_ranks_of_sums():
    for factor in (1.0, 50.0):
        yield refused(_spiked(*(factor * BLOCK)).stable_rank)


def spiked_sums_that_are_refused():
    for spikes, bulk in ((BLOCK, 1.0), (BLOCK[0], BULK), (np.zeros((2, 0, 0)), BULK), (-BLOCK, BULK), (BLOCK, BLOCKED)):
        yield refused(SpikedSum, spikes, bulk, (ONE, MINUS), (4.0, 2.0))
    yield refused(SpikedSum, BLOCK[:1], BULK, (ONE, MINUS), (4.0, 2.0))
    yield refused(SpikedSum, BLOCK, BULK, (ONE,), (4.0, 2.0))


# Its directions are those of the coordinates, so no sign of an eigenvector is free.
SMALL = JointPopulation.of([[1.0, 0.2], [0.1, 1.5]], [3.0, 4.0], np.array([np.diag([4.0, 9.0]), np.diag([2.0, 6.0])]))


def draws_of_sums():
    for seed in (0, 1):
        draw = draw_sum(SMALL, TWO, (11, 6), np.random.default_rng(seed))
        yield draw.P, draw.matrix[:3, :3], np.linalg.eigvalsh(draw.matrix), draw.operator() @ np.arange(9.0)
        yield draw.extreme_overlaps(2), draw.extreme_overlaps(3, "below"), [group.weights for group in draw.groups]


def turned_draws():
    a, b = np.cos(0.4), np.sin(0.4)
    turns = np.array([[[a, -b, 0.0], [b, a, 0.0], [0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0], [a, -b, 0.0], [b, a, 0.0]]])
    rng = np.random.default_rng(5)
    groups = [WeightedSamples(np.arange(1.0, 6.0), np.array([1.0, -2.0, 0.5]), rng.standard_normal((3, 5)), None)] * 2
    draw = SumDraw(groups, turns)
    yield draw.matrix, draw.operator() @ np.arange(5.0), draw.matrix @ np.arange(5.0), draw.extreme_overlaps(2)
    yield draw.extreme_overlaps(1, "below"), draw.P


def draws_of_sums_by_products():
    draw = draw_sum(SMALL, TWO, (11, 6), np.random.default_rng(2), matrix_free=True)
    yield draw.operator() @ np.arange(9.0), draw.extreme_overlaps(2), draw.extreme_overlaps(1, "below")
    yield refused(lambda: draw.matrix)


def draws_of_sums_that_are_refused():
    rng, draw = np.random.default_rng(0), draw_sum(SMALL, TWO, (11, 6), np.random.default_rng(0))
    yield [refused(draw.extreme_overlaps, count) for count in (0, 9, 1.5)], refused(draw.extreme_overlaps, 1, "up")
    for samples in ((11.5, 6), (0, 6), (1, 1), (11,)):
        yield refused(lambda samples=samples: draw_sum(SMALL, TWO, samples, rng).P)
    half = JointPopulation.of([[1.0, 1.0]], [2.5])
    yield refused(draw_sum, half, TWO, (11, 6), rng), refused(draw_sum, SMALL, TWO, (11, 6), rng, matrix_free=1)
