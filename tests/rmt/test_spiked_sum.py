"""Outliers of sums: those of one group, dense and matrix-free draws, fluctuations, and the theorem of their page."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rmt import AtomicLaw, Comparison, CovarianceSum, JointPopulation, PointMass, SpikedCovariance, SpikedSum, draw_sum

WEIGHTS = AtomicLaw((0.0, 0.5, 3.5), (0.2, 0.6, 0.2))
BULK = AtomicLaw((0.2, 0.5, 1.0), (0.5, 0.3, 0.2))
PLUS, MINUS = np.array([[9.0, 3.0], [3.0, 4.0]]), np.array([[2.0, -1.0], [-1.0, 6.0]])
ATOMS, COUNTS = np.array([[1.0, 0.2], [0.1, 1.5], [0.5, 0.5]]), np.array([100.0, 100.0, 98.0])
ONE = PointMass(1.0)
TWO = (WEIGHTS, AtomicLaw((-1.5, -0.5), (0.5, 0.5)))


def difference(samples=(900, 600)):
    return SpikedSum(np.array([PLUS, MINUS]), JointPopulation.of(ATOMS, COUNTS), TWO, samples)


@pytest.mark.parametrize("ratio", [0.05, 0.5, 3.0])
def test_one_group_is_a_spiked_covariance(ratio):
    P, spikes = 1000, (9.0, 5.0, 0.9)
    known = SpikedCovariance(spikes, BULK, WEIGHTS, ratio)
    locations, masses = np.array(BULK.atoms).T
    model = SpikedSum(
        np.diag(spikes)[None], JointPopulation.of(locations[:, None], masses * P), (WEIGHTS,), (P / ratio,)
    )
    expected = [outlier for outlier in known.outliers if outlier.separated and outlier.spike > 1.0]
    assert [o.location for o in model.above] == pytest.approx([o.location for o in expected], rel=1e-12)
    assert [o.overlap for o in model.above] == pytest.approx([o.overlap for o in expected], rel=1e-10)
    for found, outlier in zip(model.above, expected, strict=True):
        assert found.sd == pytest.approx(known.outlier_sd(outlier.spike, P), rel=1e-10)
        with_weights = np.hypot(found.sd, found.sd_of_weights)
        assert with_weights == pytest.approx(known.outlier_sd(outlier.spike, P, drawn_weights=True), rel=1e-10)


@pytest.mark.parametrize("distance", [-1e-6, 1e-9, 1e-6, 1e-3])
def test_nothing_jumps_at_the_threshold(distance):
    known = SpikedCovariance((), BULK, WEIGHTS, 0.5)
    spike = known.thresholds[1] * (1 + distance)
    locations, masses = np.array(BULK.atoms).T
    model = SpikedSum(np.array([[[spike]]]), JointPopulation.of(locations[:, None], masses * 100), (WEIGHTS,), (200.0,))
    if distance < 1e-7:
        assert all(outlier.overlap < 1e-5 for outlier in model.above)
    else:
        assert model.above[0].overlap == pytest.approx(known.outlier(spike).overlap, rel=1e-4)
        assert model.above[0].location == pytest.approx(known.outlier(spike).location, rel=1e-12)


def test_draws_follow_the_predictions():
    """Blocks that do not commute, one outlier on either side: location, share in the block, direction, fluctuation."""
    model, rng, repeats = difference(), np.random.default_rng(0), 80
    assert (len(model.above), len(model.below)) == (1, 1)
    values, shares = [], []
    for _ in range(repeats):
        draw = draw_sum(model.population, TWO, model.samples, rng)
        found, overlaps = zip(*(draw.extreme_overlaps(1, side) for side in ("above", "below")), strict=True)
        values.append([one[0] for one in found])
        shares.append([one[0] for one in overlaps])
    for place, outlier in enumerate((model.above[0], model.below[0])):
        here = np.array(values)[:, place]
        low, high = Comparison.from_sample("location", here, outlier.location).interval(1e-6)
        room = 0.01 * abs(outlier.location)  # the limit errs by the order of 1/P
        assert low - room < outlier.location < high + room
        assert here.std() == pytest.approx(outlier.sd, rel=0.32)  # four standard errors
        expected = outlier.overlap * outlier.direction**2
        assert np.array(shares)[:, place].mean(axis=0) == pytest.approx(expected, abs=0.02)


def test_matrix_free_draws_are_of_the_same_law():
    model, rng = difference((3600, 2400)), np.random.default_rng(2)
    larger = JointPopulation(ATOMS, COUNTS * 4, model.spikes)
    draw = draw_sum(larger, TWO, model.samples, rng, matrix_free=True)
    limit = SpikedSum(model.spikes, JointPopulation.of(ATOMS, COUNTS * 4), TWO, model.samples)
    for side, (outlier,) in (("above", limit.above), ("below", limit.below)):
        values, shares = draw.extreme_overlaps(2, side)
        assert values[0] == pytest.approx(outlier.location, abs=5 * outlier.sd + 0.01)
        assert shares[0].sum() == pytest.approx(outlier.overlap, abs=0.05)
        edge = limit.law.support[int(side == "above")]
        assert values[1] == pytest.approx(edge, rel=0.05)


def test_products_of_draws_are_those_of_their_matrix():
    model, rng = difference((90, 60)), np.random.default_rng(1)
    population = JointPopulation(ATOMS, np.array([10.0, 10.0, 8.0]), model.spikes)
    draw = draw_sum(population, TWO, (90, 60), rng)
    assert draw.operator() @ np.eye(30) == pytest.approx(draw.matrix)
    free = draw_sum(population, TWO, (90, 60), rng, matrix_free=True).operator() @ np.eye(30)
    assert free == pytest.approx(free.T)


def test_the_rounding_of_singular_blocks_is_no_negative_variance():
    rng = np.random.default_rng(0)
    for sides in rng.standard_normal((20, 2, 3)):
        population = JointPopulation.of([[1.0, 2.0]], [4.0], [np.outer(side, side) for side in sides])
        draw = draw_sum(population, TWO, (5, 6), np.random.default_rng(0))
        assert np.isfinite(draw.matrix).all()


@pytest.mark.parametrize("matrix_free", [False, True])
def test_a_block_turns_into_its_eigenvectors_and_back(matrix_free):
    """Three directions, whose turn is not symmetric; many samples make S the population."""
    block = np.array([[9.0, 3.0, 1.0], [3.0, 4.0, -2.0], [1.0, -2.0, 7.0]])
    population = JointPopulation.of([[0.5]], [2.0], [block])
    draw = draw_sum(population, (PointMass(2.0),), (100_000,), np.random.default_rng(0), matrix_free=matrix_free)
    assert not np.allclose(draw.turns[0], draw.turns[0].T)
    expected = 2.0 * np.block([[block, np.zeros((3, 2))], [np.zeros((2, 3)), 0.5 * np.eye(2)]])
    assert draw.operator() @ np.eye(5) == pytest.approx(expected, abs=0.5)
    overlaps = draw.extreme_overlaps(1)[1][0]
    assert overlaps == pytest.approx(np.linalg.eigh(block)[1][:, -1] ** 2, abs=0.02)


def test_stable_rank_of_finite_matrices():
    model, rng = difference(), np.random.default_rng(5)
    squares = [(draw_sum(model.population, TWO, model.samples, rng).matrix ** 2).sum() for _ in range(20)]
    assert np.mean(squares) == pytest.approx(model.stable_rank().frobenius_squared, rel=0.02)
    assert model.stable_rank().value == pytest.approx(np.mean(squares) / model.above[0].location ** 2, rel=0.02)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_stable_ranks_below_one_are_refused(sign):
    """One sample has E|S|^2 = 2 tr L^2 + (tr L)^2, and n directions in the bulk have the edge (1 + sqrt n)^2."""
    for n in (1.0, 9.0, 1000.0):
        model = SpikedSum(np.array([[[0.1]]]), JointPopulation.of([[1.0]], [n]), (PointMass(sign),), (1.0,))
        value = (2 * (n + 0.01) + (n + 0.1) ** 2) / (1 + n**0.5) ** 4
        message = rf"at {n + 1:g} directions and \[1.0\] samples .* rank of {value:.6g}, but every .* \(draw_sum\)"
        with pytest.raises(ValueError, match=message):
            model.stable_rank()
    enough = SpikedSum(np.array([[[9.0]]]), JointPopulation.of([[1.0]], [50.0]), (PointMass(sign),), (100.0,))
    assert enough.stable_rank().value == pytest.approx((131 + (131 + 59**2) / 100) / (9 * (1 + 0.5 / 8)) ** 2)
    with pytest.raises(ValueError, match=r"at P = 1 .* rank of 0.1875, but every matrix has at least 1; draw the"):
        SpikedCovariance((), ratio=1.0).stable_rank(1)


WIDE = AtomicLaw((0.5, 3.5), (0.8, 0.2))


@pytest.mark.parametrize(
    ("model", "overlap"),
    [
        (
            SpikedSum(
                np.array([[[0.0]], [[3.0]]]),
                JointPopulation.of([[1.0, 1.0]], [300.0]),
                (WIDE, PointMass(-0.1)),
                (400.0, 400.0),
            ),
            0.89,
        ),
        (SpikedSum(np.array([[[0.01]]]), JointPopulation.of([[1.0]], [100.0]), (WIDE,), (200.0,)), None),
    ],
)
def test_outliers_below_solve_their_equation(model, overlap):
    """By numbers that are followed from above the axis; dense draws of the first have -0.335 and an overlap of 0.88."""
    (outlier,) = model.below
    a = model.law.subordination(outlier.location + 0j)[0].real
    assert outlier.location == pytest.approx(float(a @ model.spikes[:, 0, 0]), rel=1e-8)
    assert outlier.location < model.law.support[0]
    if overlap is not None:
        assert outlier.overlap == pytest.approx(overlap, abs=0.005)


size = st.floats(0.05, 5.0)


@pytest.mark.slow
@example([1.0] * 4, [0.0] * 5 + [1.0] + [0.0] * 5 + [1.0], 0.0444, 1.0, 2.0)  # a direction without variance
@given(
    st.lists(size, min_size=4, max_size=4),
    st.lists(st.floats(-1.0, 1.0), min_size=12, max_size=12),
    st.floats(0.02, 2.0),
    st.floats(0.2, 5.0),
    st.floats(1.05, 3.0),
)
def test_theorem_on_fewer_samples(atoms, entries, ratio, other, fewer):
    """Outliers of either side lie further out than in the population, the further the fewer samples; unless lost."""
    roots = np.array(entries).reshape(2, 2, 3)
    blocks = 20.0 * roots @ roots.transpose(0, 2, 1)
    bulk = JointPopulation.of(np.reshape(atoms, (2, 2)), [30.0, 60.0])
    if min(np.trace(block) for block in blocks) < 1e-3:
        return
    weights = (AtomicLaw((0.5, 2.0), (0.5, 0.5)), AtomicLaw((-1.0, -0.2), (0.5, 0.5)))
    server = SpikedSum(blocks, bulk, weights, (90 / ratio, 90 / ratio / other))
    client = server.with_samples(1 / fewer)
    whole = np.linalg.eigvalsh(1.25 * blocks[0] - 0.6 * blocks[1])
    for one, two, values in ((server.above, client.above, whole[::-1]), (server.below, client.below, whole)):
        side = 1.0 if one is server.above else -1.0
        for place, outlier in enumerate(one):
            variance = np.einsum("i,gij,j->", outlier.direction, blocks, outlier.direction)
            if variance < 1e-9:
                stays = [outlier.location, *(other.location for other in two[place : place + 1])]
                assert stays == pytest.approx([0.0] * len(stays), abs=1e-9)
                continue
            assert side * outlier.location > side * values[place]
            assert 0.0 < outlier.overlap < 1.0
            if place < len(two):
                assert side * two[place].location > side * outlier.location


@pytest.mark.slow
def test_fewer_samples_may_have_the_larger_overlap():
    """The counterexample of the page: the negative part holds the outlier back where samples are many."""
    bulk = JointPopulation.of([[0.01, 1.0]], [200.0])
    weights, rng = (PointMass(1.0), PointMass(-1.0)), np.random.default_rng(0)
    shares = []
    for samples in ((670, 67), (140, 14)):
        model = SpikedSum(np.array([[[10.0]], [[9.0]]]), bulk, weights, samples)
        draws = [draw_sum(model.population, weights, samples, rng).extreme_overlaps(1)[1][0, 0] for _ in range(120)]
        assert np.mean(draws) == pytest.approx(model.above[0].overlap, abs=0.03)
        shares.append((model.above[0].overlap, np.mean(draws)))
    many, few = shares
    assert few[0] > many[0] + 0.04
    assert few[1] > many[1] + 0.02


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SpikedSum(np.zeros((1, 0, 0)), JointPopulation.of([[1.0]], [1.0]), (WEIGHTS,), (1.0,)), "with r > 0"),
        (
            lambda: SpikedSum(PLUS[None], JointPopulation.of([[1.0]], [1.0], [[[1.0]]]), (WEIGHTS,), (1.0,)),
            "must commute",
        ),
        (lambda: draw_sum(JointPopulation.of([[1.0]], [1.5]), (WEIGHTS,), (3,), np.random.default_rng()), "round them"),
        (lambda: draw_sum(JointPopulation.of([[1.0]], [2.0]), (WEIGHTS,), (0,), np.random.default_rng()), "at least 1"),
        (lambda: draw_sum(JointPopulation.of([[1.0]], [2.0]), (ONE,), (2.5,), np.random.default_rng()), "be whole"),
        (lambda: draw_sum(JointPopulation.of([[1.0]], [2.5]), (ONE,), (3,), np.random.default_rng()), "round them"),
        (lambda: draw_sum(JointPopulation.of([[1.0]], [2.0]), (), (3,), np.random.default_rng()), "every group needs"),
    ],
)
def test_impossible_models_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_doors_of_draws():
    draw = draw_sum(JointPopulation.of([[1.0]], [5.0]), (PointMass(1.0),), (3,), np.random.default_rng(0))
    with pytest.raises(ValueError, match="side must be"):
        draw.extreme_overlaps(1, "left")
    with pytest.raises(ValueError, match="count must lie between 1 and P - 1 = 4"):
        draw.extreme_overlaps(5)


@pytest.mark.parametrize("samples", [1, 2, 5])
@pytest.mark.parametrize("matrix_free", [False, True])
def test_weights_of_a_draw_are_at_the_middles_of_equal_shares(samples, matrix_free):
    """Masses between which the middles lie: 0.45 and 0.55 of two weights, and for the second group the other way."""
    population = JointPopulation.of([[1.0, 2.0]], [4.0])
    laws = [AtomicLaw((1.0, 3.0), masses) for masses in ((0.45, 0.55), (0.55, 0.45))]
    found = draw_sum(population, laws, (samples, samples), np.random.default_rng(0), matrix_free=matrix_free)
    for group, law in zip(found.groups, laws, strict=True):
        middles = [(2 * t + 1) / (2 * samples) for t in range(samples)]
        assert group.weights.tolist() == [1.0 if p <= law.masses[0] else 3.0 for p in middles]


def test_repeated_spikes_have_no_deviation_of_their_own():
    """Above, a pair and a single one; below, a pair apart by 2 deviations or more only with enough samples."""
    bulk = JointPopulation.of([[1.0, 1.0]], [100.0])
    spikes = np.array([np.diag([9.0, 9.0, 30.0, 0.0, 0.0]), np.diag([0.0, 0.0, 0.0, 9.0, 10.0])])
    few = SpikedSum(spikes, bulk, (PointMass(1.0), PointMass(-1.0)), (500.0, 500.0))
    assert np.isnan([outlier.sd for outlier in few.above]).tolist() == [False, True, True]
    assert np.isnan([outlier.sd for outlier in few.below]).tolist() == [True, True]
    many = few.with_samples(20.0)
    assert np.isnan([outlier.sd for outlier in many.above]).tolist() == [False, True, True]
    assert [outlier.sd for outlier in many.below] == pytest.approx([10 * np.sqrt(2e-4), 9 * np.sqrt(2e-4)], rel=0.02)
    assert np.isfinite([outlier.sd_of_weights for outlier in few.above]).all()


def test_repeated_spikes_in_a_gap_have_no_deviation_of_their_own():
    locations = np.array([[0.01], [1.0]])
    for second, repels in ((0.3, True), (0.2, False)):
        model = SpikedSum(
            np.diag([0.3, second])[None], JointPopulation.of(locations, [900.0, 100.0]), (PointMass(1.0),), (10_000.0,)
        )
        assert np.isnan([outlier.sd for outlier in model.outliers_in_gaps]).tolist() == [repels] * 2


@pytest.mark.sample(2)
@pytest.mark.parametrize("unit", [1e-305, 1e-163, 1e-161, 1e-20, 1e155, 1e300])
def test_deviations_know_no_unit_of_the_weights(unit):
    bulk, spikes = JointPopulation.of([[1.0, 0.5]], [100.0]), np.array([[[3.0]], [[2.0]]])
    one, other = (
        SpikedSum(spikes, bulk, (AtomicLaw((size, 2 * size), (0.5, 0.5)), PointMass(-size)), (1000.0, 900.0)).above[0]
        for size in (1.0, unit)
    )
    assert other.location / unit == pytest.approx(one.location, rel=1e-10)
    assert other.sd / unit == pytest.approx(one.sd, rel=1e-10)
    assert other.sd_of_weights / unit == pytest.approx(one.sd_of_weights, rel=1e-10)
    assert one.sd_of_weights > 0.0


def test_next_to_an_edge_there_is_no_deviation():
    """One group is a covariance, which refuses the same spikes; the mirrored sum has them below its bulk."""
    bulk = JointPopulation.of([[1.0]], [400.0])
    for spike, close in ((1.52, True), (1.6, False)):
        above = SpikedSum(np.array([[[spike]]]), bulk, (PointMass(1.0),), (1600.0,)).above
        below = SpikedSum(np.array([[[spike]]]), bulk, (PointMass(-1.0),), (1600.0,)).below
        for (outlier,) in (above, below):
            assert outlier.overlap > 0.05
            assert np.isnan([outlier.sd, outlier.sd_of_weights]).tolist() == [close, close]
    assert above[0].sd == pytest.approx(SpikedCovariance((1.6,), ratio=0.25).outlier_sd(1.6, 400), rel=1e-10)


def test_next_to_an_end_of_a_gap_there_is_no_deviation():
    """Between bands that end at 0.0168 and begin at 0.811: the first and the last spike are next to an end."""
    bulk, places = JointPopulation.of([[0.01], [1.0]], [900.0, 100.0]), (0.01678, 0.1, 0.809)
    law = CovarianceSum(bulk, (PointMass(1.0),), (10_000.0,))
    spikes = [place / float(law.outside(place).a[0]) for place in places]
    found = SpikedSum(np.diag(spikes)[None], bulk, law.weights, law.samples).outliers_in_gaps
    assert [outlier.location for outlier in found] == pytest.approx(places)
    assert np.isnan([outlier.sd for outlier in found]).tolist() == [True, False, True]
