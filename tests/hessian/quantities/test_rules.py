"""Bounds by Gauss and Gauss-Radau rules against the measure itself, and intervals of counts against their law."""

import numpy as np
import pytest
import torch
from scipy.stats import beta

from hessian import DenseOperator, Krylov
from hessian.quantities.random_forms import count_interval, half_width, probes_needed, shifted_squares
from hessian.quantities.rules import Rule

VALUES = np.sort(np.r_[0.0, np.geomspace(1e-3, 2.0, 39)])


def rule_and_weights(steps, seed=0, values=VALUES):
    weights = np.random.default_rng(seed).standard_normal(len(values)) ** 2
    weights /= weights.sum()
    operator = DenseOperator(torch.diag(torch.from_numpy(values)))
    krylov = Krylov(operator, np.random.default_rng(0), start=torch.from_numpy(np.sqrt(weights)))
    krylov.extend(steps)
    return Rule.of(krylov), weights


@pytest.mark.parametrize("steps", [1, 2, 7, 15])
@pytest.mark.parametrize("seed", range(4))
def test_masses_are_bounded_at_every_point_and_no_closer_rule_exists(steps, seed):
    rule, weights = rule_and_weights(steps, seed)
    places = np.r_[-0.1, np.linspace(0.0, 2.1, 60), rule.nodes, VALUES[3], 3.0]
    low, high = rule.masses(places)
    upto = np.array([weights[place + 1e-12 >= VALUES].sum() for place in places])
    below = np.array([weights[place - 1e-12 > VALUES].sum() for place in places])
    assert (low <= below + 1e-7).all()
    assert (high >= upto - 1e-7).all()
    assert (low >= -1e-12).all()
    assert (high <= 1.0 + 1e-12).all()
    gauss = np.r_[0.0, np.cumsum(rule.weights)]  # the classical bounds at nodes are not closer
    for node, place in zip(rule.nodes, range(steps), strict=True):
        least, most = rule.masses(np.array([node]))
        assert least[0] >= gauss[place] - 1e-7
        assert most[0] <= gauss[place + 1] + 1e-7


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_a_rule_with_a_node_below_the_spectrum_bounds_a_logarithm_from_below(steps):
    rule, weights = rule_and_weights(steps)
    truth = weights @ np.log(VALUES + 0.01)
    nodes, others, place = rule.with_node(np.array([0.0]))
    assert nodes[0, place[0]] == pytest.approx(0.0, abs=1e-10)
    assert others.sum() == pytest.approx(1.0)
    assert others[0] @ np.log(np.maximum(nodes[0], 0.0) + 0.01) <= truth <= rule.weights @ np.log(rule.nodes + 0.01)


@pytest.mark.parametrize("size", [1e-33, 1e-17, 0.1])
def test_all_mass_is_on_one_side_of_a_place_far_beyond_the_nodes(size):
    starts = np.sqrt([0.2, 0.3, 0.5])
    rule = Rule(size * np.array([-1.0, 0.2, 2.0]), starts, size * np.array([0.3, -0.1, 0.2]), 1e-16)
    low, high = rule.masses(np.array([-1.5, 0.5, 3.0]))
    assert low == pytest.approx([0.0, 1.0, 1.0], abs=0.01)
    assert high == pytest.approx([0.0, 1.0, 1.0], abs=0.01)


def test_an_exhausted_measure_is_exact():
    values = np.array([-1.0, 0.5, 2.0])
    rule, weights = rule_and_weights(3, values=values)
    assert rule.exact
    low, high = rule.masses(np.array([-2.0, 0.0, 1.0, 3.0]))
    assert low == pytest.approx(np.r_[0.0, np.cumsum(weights)])
    assert high == pytest.approx(low)
    mirrored, _ = rule.mirrored().masses(np.array([-1.0]))
    assert mirrored[0] == pytest.approx(weights[2])


@pytest.mark.parametrize(("rank", "directions", "probes"), [(1, 60, 4), (7, 60, 4), (55, 60, 8), (500, 5000, 4)])
def test_intervals_of_counts_cover_by_the_law_of_the_forms(rank, directions, probes):
    rng = np.random.default_rng([rank, directions])
    covered = 0
    for _ in range(400):
        forms = directions * rng.beta(rank / 2.0, (directions - rank) / 2.0, probes)
        low, high = count_interval(forms.mean(), forms.mean(), directions, probes, 0.95)
        covered += low <= rank <= high
    assert 0.92 <= covered / 400 <= 0.98


@pytest.mark.parametrize(("directions", "probes"), [(7, 1), (9, 2), (30, 4)])
def test_a_count_is_bounded_by_the_law_of_the_mean_form(directions, probes):
    """The mean form over d has mean r/d and variance 2r(d - r)/(p d^2 (d + 2)); for one probe its law is beta."""

    def law(rank):
        mean, variance = rank / directions, 2 * rank * (directions - rank) / (directions**2 * (directions + 2)) / probes
        size = mean * (1 - mean) / variance - 1
        return beta(mean * size, (1 - mean) * size)

    if probes == 1:
        assert law(3).cdf(0.3) == pytest.approx(beta(3 / 2, (directions - 3) / 2).cdf(0.3))
    inner = range(1, directions)
    for low, high in ((0.3, 0.4), (1.1, 1.3), (2.6, 2.6), (3.5, 5.2)):
        least = min(rank for rank in inner if law(rank).sf(low / directions) > 0.025)
        most = max(rank for rank in inner if law(rank).cdf(high / directions) > 0.025)
        assert count_interval(low, high, directions, probes, 0.95) == (least, most)


@pytest.mark.parametrize("directions", [1, 5])
def test_counts_of_nothing_and_of_all_are_certain(directions):
    assert count_interval(0.0, 0.0, directions, 3, 0.95) == (0, 0)
    assert count_interval(directions, directions, directions, 3, 0.95) == (directions, directions)
    assert count_interval(0.0, directions, directions, 3, 0.95) == (0, directions)


@pytest.mark.parametrize("ranks", [[1.0], [1.0, -1.0, 1.0], np.linspace(-1.0, 1.0, 40), np.r_[5.0, np.full(30, 0.3)]])
def test_the_interval_of_a_trace_covers_whether_few_directions_vary_or_many(ranks):
    """Forms and squares of Gaussian directions in a large space, with the true degrees of freedom."""
    rng, covered, probes, d = np.random.default_rng(len(ranks)), 0, 10, 100_000.0
    values = np.asarray(ranks)
    degrees = (values**2).sum() ** 2 / (values**4).sum()
    for _ in range(500):
        squares = rng.standard_normal((probes, len(values))) ** 2
        forms, images = squares @ values, squares @ values**2
        _, about = shifted_squares(forms, images, d)
        half = half_width(about.mean(), d, probes, degrees * probes, 0.95)
        covered += abs(forms.mean() - values.sum()) <= half
    assert 0.925 <= covered / 500 <= 0.98


def test_as_many_probes_are_asked_for_as_the_width_needs():
    count = probes_needed(10.0, 1000.0, 5.0, 0.95, 0.5)
    assert half_width(10.0, 1000.0, count, 5.0 * count, 0.95) <= 0.505
    assert half_width(10.0, 1000.0, count - 5, 5.0 * (count - 5), 0.95) > 0.5
    assert probes_needed(0.0, 10.0, 5.0, 0.95, 0.5) == 1
    assert probes_needed(1.0, 10.0, 5.0, 0.95, 0.0) == 10**9
