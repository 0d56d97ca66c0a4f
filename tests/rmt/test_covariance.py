"""Predictions of the spiked covariance model: closed forms, 60 digits, draws, and the theorem of its page."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from rmt import AtomicLaw, Comparison, PointMass, SpikedCovariance, draw_covariance, draw_covariance_matrix_free
from rmt.covariance import UNIT

BULK = AtomicLaw((0.2, 0.5, 1.0), (0.5, 0.3, 0.2))
WEIGHTS = AtomicLaw((0.0, 0.5, 3.5), (0.2, 0.6, 0.2))
mp = mpmath.mp.clone()
mp.dps = 60


@pytest.mark.parametrize("ratio", [0.01, 0.25, 4.0])
@pytest.mark.parametrize("spike", [40.0, 3.1, 1.05, 0.3, 0.05])
def test_equal_weights_and_eigenvalues_have_closed_forms(spike, ratio):
    """Baik and Silverstein (2006), Paul (2007)."""
    model = SpikedCovariance((spike,), ratio=ratio)
    below, above = max(1 - np.sqrt(ratio), 0.0), 1 + np.sqrt(ratio)
    assert model.thresholds == pytest.approx((below, above))
    assert model.outliers[0].separated == (spike > above or spike < below)
    if model.outliers[0].separated:
        assert model.outliers[0].location == pytest.approx(spike + ratio * spike / (spike - 1), rel=1e-14)
        overlap = (1 - ratio / (spike - 1) ** 2) / (1 + ratio / (spike - 1))
        assert model.outliers[0].overlap == pytest.approx(overlap, abs=1e-14)
        P = 10**6  # of a spike of 3.1 and a ratio of 4, smaller ones are within the window of the threshold
        sd = spike * np.sqrt(2 * ratio / P * (1 - ratio / (spike - 1) ** 2))
        assert model.outlier_sd(spike, P) == pytest.approx(sd, rel=1e-12)


def test_edge_fluctuations_of_white_samples():
    """Johnstone (2001): (sqrt m + sqrt P) (1 / sqrt m + 1 / sqrt P)^(1/3) / m."""
    P, m = 1000, 4000
    scale = (np.sqrt(m) + np.sqrt(P)) * (1 / np.sqrt(m) + 1 / np.sqrt(P)) ** (1 / 3) / m
    model = SpikedCovariance((), ratio=P / m)
    assert model.edge_scale(P) == pytest.approx(scale, rel=1e-12)
    assert model.edge_at(P) == pytest.approx((1 + np.sqrt(P / m)) ** 2 - 1.2065335745820 * scale, rel=1e-12)
    for factor in (1e-100, 3.0, 1e100):
        for scaled in (
            SpikedCovariance((), PointMass(factor), UNIT, P / m),
            SpikedCovariance((), UNIT, PointMass(factor), P / m),
        ):
            assert scaled.edge_scale(P) == pytest.approx(factor * scale, rel=1e-12, abs=0)


@pytest.mark.parametrize("distance", [1e-14, 1e-9, 1e-4, 0.1, 3.0, 1e6])
@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_through_the_threshold_in_60_digits(distance, unit):
    """The two equations for a and b solved in 60 digits: location and overlap keep their digits at the threshold."""
    model = SpikedCovariance((), BULK.scaled(unit), WEIGHTS, 0.7)
    spike = model.thresholds[1] * (1 + distance)
    outlier = model.outlier(spike)
    ell = mp.mpf(spike) / mp.mpf(unit)
    bulk = [(mp.mpf(x) * unit / mp.mpf(unit), mp.mpf(p)) for x, p in BULK.atoms]
    weights = [(mp.mpf(x), mp.mpf(p)) for x, p in WEIGHTS.atoms]
    k1 = mp.mpf(0.7) * sum(p * x / (ell - x) for x, p in bulk)
    top = 1 / max(x for x, _ in weights)
    low, high = mp.mpf(0), top
    for _ in range(210):
        b = (low + high) / 2
        low, high = (b, high) if sum(p * x * b / (1 - x * b) for x, p in weights) < k1 else (low, b)
    a = sum(p * x / (1 - x * b) for x, p in weights)
    a2 = sum(p * (x / (1 - x * b)) ** 2 for x, p in weights)
    z = a * ell
    b1, b2 = (mp.mpf(0.7) * sum(p * x**k / (z - a * x) ** 2 for x, p in bulk) for k in (1, 2))
    assert outlier.separated
    assert outlier.location / unit == pytest.approx(float(z), rel=1e-12)
    # The threshold itself is a double: its rounding moves the overlap by so much.
    assert outlier.overlap == pytest.approx(float((1 - a2 * b2) / (1 - a2 * b2 + ell * a2 * b1)), abs=2e-14)


def test_nothing_jumps_at_the_threshold():
    model = SpikedCovariance((), BULK, WEIGHTS, 0.7)
    for threshold, sign in zip(model.thresholds, (-1, 1), strict=True):
        if threshold > 0:
            inside, outside = (model.outlier(threshold * (1 + sign * step)) for step in (-1e-9, 1e-9))
            assert outside.location == pytest.approx(inside.location, rel=1e-12)
            assert (inside.separated, inside.overlap) == (False, 0.0)
            assert 0 <= outside.overlap < 1e-7


@pytest.mark.parametrize(("draw", "repeats"), [(draw_covariance, 40), (draw_covariance_matrix_free, 8)])
def test_draws_follow_the_predictions(draw, repeats):
    """Errors of the limit are of order 1/P, here at most 1 % of the location; fluctuations within a third."""
    P = 400 if draw is draw_covariance else 2000
    model, rng = SpikedCovariance((9.0, 5.0), BULK, WEIGHTS, 0.5), np.random.default_rng(2)
    found = [draw(model, P, rng).top_overlaps(3) for _ in range(repeats)]
    values, overlaps = np.array([v for v, _ in found]), np.array([o for _, o in found])
    for place, outlier in enumerate(model.outliers):
        low, high = Comparison.from_sample("location", values[:, place], outlier.location).interval(1e-6)
        assert low - 0.01 * outlier.location < outlier.location < high + 0.01 * outlier.location
        assert overlaps[:, place, place].mean() == pytest.approx(outlier.overlap, abs=0.03)
    if draw is draw_covariance:
        for place, spike in enumerate(model.spikes):
            assert values[:, place].std() == pytest.approx(model.outlier_sd(spike, P), rel=0.35)
        edge = Comparison.from_sample("edge", values[:, 2], model.edge_at(P)).interval(1e-6)
        assert edge[0] - 0.15 < model.edge_at(P) < edge[1] + 0.15
        assert (draw(model, P, rng).eigenvalues() ** 2).sum() == pytest.approx(
            model.stable_rank(P).frobenius_squared, rel=0.1
        )


def test_both_forms_of_a_draw_multiply_alike():
    model, rng = SpikedCovariance((4.0,), BULK, WEIGHTS, 2.0), np.random.default_rng(0)
    draw = draw_covariance(model, 40, rng)
    vectors = rng.standard_normal((40, 3))
    assert draw.operator() @ vectors == pytest.approx(draw.matrix @ vectors)
    free = draw_covariance_matrix_free(model, 40, rng).operator() @ np.eye(40)
    assert free == pytest.approx(free.T)
    assert np.linalg.eigvalsh(free).min() > -1e-12
    assert np.linalg.matrix_rank(free) == 16  # a fifth of the 20 weights is 0
    with pytest.raises(ValueError, match="no matrix"):
        _ = draw_covariance_matrix_free(model, 40, rng).matrix


def test_standard_deviation_of_drawn_weights_and_other_entries():
    """One coordinate alone: S = sum of tau y^2 / m, whose variance is known."""
    model, P = SpikedCovariance((2.0,), PointMass(1e-9), WEIGHTS, 1e-9), 1
    mean, square = WEIGHTS.moment(1), WEIGHTS.moment(2)
    factor = 2.0 / np.sqrt(P / model.ratio)
    assert model.outlier_sd(2.0, P) == pytest.approx(factor * np.sqrt(2 * square), rel=1e-6)
    assert model.outlier_sd(2.0, P, fourth_moment=1.0) == pytest.approx(0.0, abs=1e-12)
    drawn = factor * np.sqrt(3 * square - mean**2)
    assert model.outlier_sd(2.0, P, drawn_weights=True) == pytest.approx(drawn, rel=1e-6)


@pytest.mark.parametrize("spike", [6.0, 4.2, 0.05])
@pytest.mark.parametrize("fourth_moment", [1.0, 3.0, 7.0])
def test_standard_deviation_by_hand(spike, fourth_moment):
    """Var = l^2 q^2 / m (2 A_2 / (1 - A_2 B_2) + (m_4 - 3) A_2), and for drawn weights Var t / (1 - A_2 B_2)^2 more.

    With t = tau / (1 - tau b), A_2 = E t^2, the location a l and B_k = c E x^k / (a l - a x)^2 over the bulk.
    """
    ratio, P = 0.2, 500
    bulk, weights = AtomicLaw((1.0, 2.0), (0.75, 0.25)), AtomicLaw((0.5, 1.5), (0.4, 0.6))
    (x, p), (tau, share) = (np.array(law.atoms).T for law in (bulk, weights))
    k1 = ratio * (p * x / (spike - x)).sum()
    ends = (1e-12, (1 - 1e-12) / 1.5) if k1 > 0 else (-1e6, -1e-12)
    b = brentq(lambda b: (share * tau * b / (1 - tau * b)).sum() - k1, *ends, xtol=1e-15)
    t = tau / (1 - tau * b)
    a, A2 = share @ t, share @ t**2
    B1, B2 = (ratio * (p * x**k / (a * spike - a * x) ** 2).sum() for k in (1, 2))
    slack = 1 - A2 * B2
    q = slack / (slack + spike * A2 * B1)
    fixed = 2 * A2 / slack + (fourth_moment - 3) * A2
    drawn = (A2 - a**2) / slack**2
    model, unit = SpikedCovariance((spike,), bulk, weights, ratio), spike * q * np.sqrt(ratio / P)
    assert slack < 0.99
    assert model.outliers[0].overlap == pytest.approx(q, rel=1e-10)
    for options, variance in (({}, fixed), ({"drawn_weights": True}, fixed + drawn)):
        found = model.outlier_sd(spike, P, fourth_moment=fourth_moment, **options)
        assert found == pytest.approx(unit * np.sqrt(variance), rel=1e-10)


@pytest.mark.parametrize(("ratio", "lower"), [(0.25, 0.25), (2.0, 0.0)])
def test_a_small_spike_inside_follows_the_smallest_eigenvalue(ratio, lower):
    """With fewer samples than dimensions that is a zero of the kernel, not the end (1 - sqrt 2)^2 of the band."""
    model = SpikedCovariance((0.9,), ratio=ratio)
    assert not model.outliers[0].separated
    assert model.outliers[0].location == pytest.approx(lower, abs=1e-14)


def test_an_outlier_next_to_the_threshold_is_not_inside_the_bulk():
    for ratio in np.linspace(0.05, 0.9, 12):
        model = SpikedCovariance((), BULK, WEIGHTS, ratio)
        (left, right), (below, above) = model.law._interval, model.thresholds
        for _ in range(6):
            below, above = np.nextafter(below, 0.0), np.nextafter(above, np.inf)
            assert model.outlier(above).location >= right
            assert below == 0.0 or model.outlier(below).location <= left


positive = st.floats(0.05, 20.0)


@settings(max_examples=max(60, settings().max_examples))
@given(
    st.lists(positive, min_size=1, max_size=4, unique=True),
    st.lists(positive, min_size=1, max_size=4, unique=True),
    st.floats(0.01, 5.0),
    st.floats(1.01, 50.0),
    st.floats(1.01, 4.0),
)
def test_theorem_on_fewer_samples_and_unequal_weights(bulk, weights, ratio, beyond, fewer):
    """Fewer samples: outliers further out, overlaps smaller. Equal weights of the same mean: nearer, larger."""
    population = AtomicLaw(bulk, [1 / len(bulk)] * len(bulk))
    law = AtomicLaw(weights, [1 / len(weights)] * len(weights))
    server = SpikedCovariance((), population, law, ratio)
    client, equal = server.at_ratio(ratio * fewer), SpikedCovariance((), population, PointMass(law.mean), ratio)
    spike = client.thresholds[1] * beyond
    of_server, of_client, of_equal = (model.outlier(spike) for model in (server, client, equal))
    assert of_server.separated
    assert of_equal.separated
    assert of_client.location > of_server.location > spike * law.mean
    assert of_client.overlap < of_server.overlap < 1
    assert of_equal.location <= of_server.location * (1 + 1e-13)
    assert of_equal.overlap >= of_server.overlap - 1e-13
    assert server.thresholds[1] >= equal.thresholds[1] * (1 - 1e-13)


@pytest.mark.parametrize(("spike", "rises"), [(40.0, True), (4.0, False)])
def test_theorem_on_the_sign_of_the_stable_rank(spike, rises):
    """The order-1/m change of the stable rank of finite matrices, by exact second moments and by simulation."""
    rng = np.random.default_rng(4)
    population = np.array([spike, *[3.0] * 2, *[0.5] * 10])
    trace, squares = population.sum(), (population**2).sum()
    pull = 2 * (population[1:] / (spike - population[1:])).sum()
    assert (trace**2 / squares > 1 + pull) == rises
    weights = np.array([0.2, 0.2, 2.6])
    ranks = []
    for m in (12000, 1500):
        total = np.zeros((8000, 13, 13))  # a sum of Wishart matrices, one for each weight, by Bartlett's factors
        for weight in weights:
            lower = np.tril(rng.standard_normal((8000, 13, 13)), -1)
            lower[:, range(13), range(13)] = np.sqrt(rng.chisquare(m // 3 - np.arange(13), (8000, 13)))
            total += weight * lower @ lower.transpose(0, 2, 1)
        root = np.sqrt(population)
        values = np.linalg.eigvalsh(total * root[:, None] * root / m)
        ranks.append((values**2).sum(axis=1).mean() / (values[:, -1] ** 2).mean())
    epsilon = np.array([(weights**2).mean() / m for m in (12000, 1500)])
    slope = squares / spike**2 * (1 + trace**2 / squares - 2 - pull)
    assert (ranks[1] - ranks[0]) / np.diff(epsilon)[0] == pytest.approx(slope, rel=0.35, abs=0.1)
    assert (ranks[1] > ranks[0]) == rises


@given(st.lists(positive, min_size=1, max_size=6), st.floats(4.0, 8.0))
def test_corollary_on_a_gap_that_suffices(others, factor):
    """A first eigenvalue at least 2 ||Lambda||^2 / tr Lambda above the second makes the sign positive."""
    rest, first = np.array(others), factor * max(others)
    copies = int(np.ceil(20 * first / rest.sum()))  # so many that the gap is as wide
    population = np.append(np.repeat(rest, copies), first)
    trace, squares = population.sum(), (population**2).sum()
    assert first - rest.max() >= 2.0 * squares / trace
    assert trace**2 / squares > 1.0 + 2.0 * copies * (rest / (first - rest)).sum()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0.0,),), "spikes of a population must be positive and finite, got 0.0"),
        (((-1.0,),), "got -1.0"),
        (((1.0,), UNIT, AtomicLaw((-1.0, 2.0), (0.5, 0.5))), "weights must not be negative in this model, got -1.0"),
        (((1.0,), UNIT, UNIT, -1.0), "ratio must be positive"),
    ],
)
def test_impossible_models_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SpikedCovariance(*arguments)


@pytest.mark.parametrize("bulk", [UNIT, BULK])
def test_a_spike_inside_follows_the_nearer_edge(bulk):
    """Below the mean of the bulk that is the lower edge; at the mean and above it is the upper one."""
    model = SpikedCovariance((), bulk, WEIGHTS, 0.7)
    lower, upper = model.bulk_edges
    found = [model.outlier(bulk.mean * (1 + step)) for step in (-1e-9, 0.0, 1e-9)]
    assert [outlier.location for outlier in found] == [lower, upper, upper]
    assert not any(outlier.separated for outlier in found)


@pytest.mark.parametrize(
    ("spikes", "P", "samples"), [((40.0,), 3, 6), ((40.0, 3.0), 6, 3), ((), 40, 9), ((40.0,), 1, 3)]
)
def test_the_frobenius_norm_of_few_dimensions_by_hand(spikes, P, samples):
    """The sum over pairs of samples of E (y_t . y_s)^2: tr Lambda^2, and for t = s also tr Lambda^2 + (tr Lambda)^2.

    A third of the samples has weight 0.5, the others 3.5; half of the eigenvalues other than the spikes are 1, half 2.
    """
    law, bulk = AtomicLaw((0.5, 3.5), (1 / 3, 2 / 3)), AtomicLaw((1.0, 2.0), (0.5, 0.5))
    model = SpikedCovariance(spikes, bulk, law, P / samples)
    others = P - len(spikes)
    population = [*spikes, *[1.0, 2.0] * (others // 2)]
    weights = [0.5, 3.5, 3.5] * (samples // 3)
    trace, squares = sum(population), sum(x * x for x in population)
    total = 0.0
    for t, one in enumerate(weights):
        for s, other in enumerate(weights):
            total += one * other * (2 * squares + trace**2 if t == s else squares)
    found = SpikedCovariance(spikes, bulk, law, P / samples).stable_rank(P)
    assert found.frobenius_squared == pytest.approx(total / samples**2, rel=1e-12)
    assert found.value == pytest.approx(total / samples**2 / model.spectral_norm**2, rel=1e-12)


@pytest.mark.parametrize(("P", "ratio", "samples"), [(7, 2.6, 3), (7, 2.9, 2), (7, 1.0, 7), (8, 0.53, 15), (2, 3.9, 1)])
def test_a_draw_has_the_spikes_and_quantiles_of_the_other_laws(P, ratio, samples):
    """The middles of so many equal shares as there are other eigenvalues, and as there are samples."""
    model, rng = SpikedCovariance((9.0, 5.0), BULK, WEIGHTS, ratio), np.random.default_rng(0)
    for draw in (draw_covariance, draw_covariance_matrix_free):
        found = draw(model, P, rng)
        for values, law, count in ((found.population[2:], BULK, P - 2), (found.weights, WEIGHTS, samples)):
            middles = (np.arange(count) + 0.5) / count
            ends = np.cumsum([mass for _, mass in law.atoms])
            expected = [law.atoms[min(np.searchsorted(ends, p - 1e-12), 2)][0] for p in middles]
            assert values.tolist() == expected
        assert found.population[:2].tolist() == [9.0, 5.0]


def test_questions_without_an_answer_are_refused():
    model = SpikedCovariance((3.0,), ratio=100.0)
    with pytest.raises(ValueError, match="has no outlier"):
        model.outlier_sd(3.0, 100)
    with pytest.raises(ValueError, match="leaves no sample"):
        draw_covariance(model, 10, np.random.default_rng(0))


@pytest.mark.parametrize("kernel", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("spike", [0.02, 0.3, 0.5])
def test_a_spike_below_the_bulk_goes_below_it_whatever_the_kernel(kernel, spike):
    """By hand, for eigenvalues 0 and 1: location = l + c (1 - p_0) l / (l - 1) with a kernel p_0 of the population."""
    bulk = AtomicLaw((0.0, 1.0), (kernel, 1.0 - kernel)) if kernel else UNIT
    model = SpikedCovariance((spike,), bulk=bulk, ratio=0.2)
    share = 0.2 * (1.0 - kernel)
    assert model.separates(spike)
    assert model.outliers[0].location == pytest.approx(spike + share * spike / (spike - 1), rel=1e-13)


@pytest.mark.parametrize("kernel", [0.1, 0.9])
def test_nothing_jumps_at_a_lower_threshold_above_a_kernel(kernel):
    """Closed form: the continuous spectrum starts at (1 - sqrt(c (1 - p_0)))^2, whichever side a spike comes from."""
    model = SpikedCovariance((), bulk=AtomicLaw((0.0, 1.0), (kernel, 1.0 - kernel)), ratio=0.5)
    edge = (1 - np.sqrt(0.5 * (1.0 - kernel))) ** 2
    outside, inside = (model.outlier(model.thresholds[0] * factor) for factor in (1 - 1e-9, 1 + 1e-9))
    assert (outside.separated, inside.separated) == (True, False)
    assert (outside.location, inside.location) == pytest.approx((edge, edge), rel=1e-8)


@pytest.mark.parametrize("options", [{}, {"fourth_moment": 1.0}, {"drawn_weights": True}])
def test_repeated_spikes_have_no_deviation_of_their_own(options):
    for spikes in ((9.0, 9.0, 5.0), (9.0, 9.0 * (1 + 1e-9))):
        model = SpikedCovariance(spikes, ratio=0.1)
        with pytest.raises(ValueError, match=r"spike 9.0 has no standard deviation of its own: .* repel each other"):
            model.outlier_sd(9.0, 1000, **options)
    alone = SpikedCovariance((5.0,), ratio=0.1)
    assert SpikedCovariance((9.0, 9.0, 5.0), ratio=0.1).outlier_sd(5.0, 1000, **options) == alone.outlier_sd(
        5.0, 1000, **options
    )


def test_spikes_farther_apart_than_they_fluctuate_keep_their_deviation():
    """Limits l + c l / (l - 1) of 4 and 4.5 are 0.4881 apart; 8 sqrt(2 c / P (1 - c / 9)) is less from P = 131."""
    model = SpikedCovariance((4.5, 4.0), ratio=0.25)
    with pytest.raises(ValueError, match=r"that of spike 4.5 repel each other"):
        model.outlier_sd(4.0, 130)
    assert model.outlier_sd(4.0, 131) == pytest.approx(4.0 * np.sqrt(0.5 / 131 * (1 - 0.25 / 9)))


def test_next_to_the_threshold_there_is_no_deviation():
    """Limit and deviation by hand: 2.25077 and 0.0148 at 1.52, next to the edge 2.25, and 2.26667 and 0.0313 at 1.6."""
    close = r"spike .* is too close to the threshold .* within 0.4 standard deviations of the edge"
    for spike, P in ((1.52, 400), (1.5 + 1e-9, 400), (1.6, 100), (0.499, 400)):
        with pytest.raises(ValueError, match=close):
            SpikedCovariance((spike,), ratio=0.25).outlier_sd(spike, P)
    sd = 1.6 * np.sqrt(0.5 / 400 * (1 - 0.25 / 0.36))
    assert SpikedCovariance((1.6,), ratio=0.25).outlier_sd(1.6, 400) == pytest.approx(sd, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-305, 1e-163, 1e-161, 1e-20, 1e155, 1e300])
@pytest.mark.parametrize("drawn", [True, False])
def test_deviations_know_no_unit_of_the_weights(unit, drawn):
    one, other = (SpikedCovariance((9.0,), weights=WEIGHTS.scaled(size), ratio=0.1) for size in (1.0, unit))
    known = one.outlier_sd(9.0, 1000, drawn_weights=drawn)
    assert other.outlier_sd(9.0, 1000, drawn_weights=drawn) / unit == pytest.approx(known, rel=1e-12)
    both = SpikedCovariance((9.0 / unit,), PointMass(1 / unit), WEIGHTS.scaled(unit), 0.1)
    assert both.outlier_sd(9.0 / unit, 1000, drawn_weights=drawn) == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("ratio", [1e300, 1e100, 1.1e20, 1e-300])
def test_ratios_beyond_double_precision_are_one_line(ratio):
    with pytest.raises(
        ValueError, match=r"^ratio, the dimension over the number of samples, must lie between"
    ) as caught:
        _ = SpikedCovariance((2.0,), ratio=ratio).outliers
    assert "\n" not in str(caught.value)
    assert SpikedCovariance((2.0,), ratio=1e20).outliers[0].location == pytest.approx((1 + 1e10) ** 2)
