"""The distribution of a bulk and its distance from a law, on three nodes, by hand."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import kstwobign

from hessian import Curvature, DenseOperator, SpectrumSettings, measure_spectrum, spectral_measure
from hessian.fits.bulk_laws import Bulk, law_fits

ONE = Bulk(10, (np.array([0.0, 1.0, 4.0]),), (np.array([0.2, 0.5, 0.3]),), np.empty(0))
WITH_KNOWN = Bulk(10, (np.array([0.0, 1.0, 4.0]),), (np.array([0.2, 0.4, 0.3]),), np.array([2.0]))


def test_lines_join_the_middles_of_the_gaps():
    # The middles are -1/2, 1/2, 5/2 and 11/2: the outer gaps are carried on beyond the ends.
    points = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 2.5, 4.0, 5.5, 6.0])
    assert ONE.cdf(points) == pytest.approx([0.0, 0.0, 0.1, 0.2, 0.325, 0.7, 0.85, 1.0, 1.0])
    assert WITH_KNOWN.cdf(np.array([0.5, 1.5, 2.0, 2.5, 6.0])) == pytest.approx([0.2, 0.4, 0.6, 0.7, 1.0])


def test_what_a_rule_leaves_open_at_a_point():
    # At a node its own weight is open, and between two nodes that of both.
    least, most = ONE.bracket(np.array([-1.0, 0.0, 0.5, 1.0, 4.0, 5.0]))
    assert least == pytest.approx([0.0, 0.0, 0.0, 0.2, 0.7, 0.7])
    assert most == pytest.approx([0.2, 0.2, 0.7, 0.7, 1.0, 1.0])
    least, most = WITH_KNOWN.bracket(np.array([2.0, 3.0]))
    assert least == pytest.approx([0.2, 0.2 + 0.1])
    assert most == pytest.approx([0.9 + 0.1, 0.9 + 0.1])


def test_moments_count_known_eigenvalues_once():
    assert WITH_KNOWN.moment(1) == pytest.approx(0.4 + 1.2 + 0.2)
    assert WITH_KNOWN.moment(2, about=1.0) == pytest.approx(0.2 + 0.3 * 9.0 + 0.1)
    two = Bulk(4, (np.array([1.0]), np.array([3.0])), (np.array([1.0]), np.array([1.0])), np.empty(0))
    assert two.moment(2) == pytest.approx((1.0 + 9.0) / 2.0)
    assert Bulk(2, (), (), np.array([1.0, 2.0])).moment(1) == 1.5


def test_the_distance_from_the_uniform_law_on_an_interval():
    """F(x) = (x + 1/2)/6: at the middles 0, 1/6, 1/2 and 1, against 0, 1/5, 7/10 and 1."""

    def law(x):
        return np.clip((x + 0.5) / 6.0, 0.0, 1.0)

    spread = kstwobign.ppf(0.5) * np.sqrt(2.0 / 10.0)
    found = ONE.distance(law, confidence=0.5)
    assert found.value == pytest.approx(0.2)
    assert found.low == 0.0
    # In the neighbourhood of node 1 everything from 0 to all three weights is open; F(1) = 1/4.
    assert found.high == pytest.approx(min(1.0, 0.75 + spread))
    for confidence in (0.5, 0.99):
        spread = kstwobign.ppf(confidence) * np.sqrt(2.0 / (3 * 1000))  # of three probes
        three = Bulk(1000, ONE.nodes * 3, ONE.weights * 3, np.empty(0)).distance(law, confidence)
        assert three.high == pytest.approx(0.75 + spread)
    assert Bulk(10**12, ONE.nodes, ONE.weights, ONE.eigenvalues).distance(law).high == pytest.approx(0.75, abs=1e-5)


def test_a_law_beyond_every_bracket_is_certainly_far():
    huge = Bulk(10**12, ONE.nodes, ONE.weights, ONE.eigenvalues)
    above, below = (huge.distance(lambda x, level=level: np.full_like(x, level)) for level in (0.9, 0.05))
    assert above.low == pytest.approx(0.7, abs=1e-5)  # at node 0 no more than 1/5 lies below
    assert below.low == pytest.approx(0.65, abs=1e-5)  # at node 4 no less than 7/10 does


def test_outliers_leave_the_bulk_of_mass_one():
    class Whole:
        P, nodes, weights, degree = 20, (np.array([1.0, 2.0]),), (np.array([0.3, 0.4]),), 3

    bulk = Bulk.of(Whole(), 4, np.array([5.0, 3.0]), residuals=np.array([0.1, 0.2]))
    assert bulk.residuals.tolist() == [0.2, 0.1]  # each with its eigenvalue
    assert bulk.size == 16
    assert bulk.weights[0] == pytest.approx([0.375, 0.5])
    assert bulk.eigenvalues.tolist() == [3.0, 5.0]
    assert bulk.cdf(np.array([9.0])) == pytest.approx([1.0])


def test_laws_are_fitted_to_the_moments():
    fits = {fit.name: fit for fit in law_fits(ONE)}
    mean, variance = ONE.moment(1), ONE.moment(2, about=ONE.moment(1))
    for name in ("shifted semicircle", "Marchenko-Pastur", "shifted Marchenko-Pastur"):
        assert fits[name].law.mean == pytest.approx(mean)
        assert fits[name].law.variance == pytest.approx(variance)
    skewed = fits["shifted Marchenko-Pastur"].law
    assert skewed.moment(3, about=mean) == pytest.approx(ONE.moment(3, about=mean))
    shared = fits["semicircle on a share of the directions"]
    for power in (2, 4):
        assert shared.share * shared.law.moment(power) == pytest.approx(ONE.moment(power))
    assert shared.cdf(np.array([-1e-9, 0.0]))[1] - shared.cdf(np.array([-1e-9, 0.0]))[0] == pytest.approx(
        1.0 - shared.share, abs=1e-6
    )


def test_laws_whose_moments_do_not_fit_are_left_out():
    flat = Bulk(10, (np.array([-2.0, -1.0]),), (np.array([0.5, 0.5]),), np.empty(0))
    assert [fit.name for fit in law_fits(flat)] == ["shifted semicircle"]
    assert law_fits(Bulk(10, (np.array([3.0]),), (np.array([1.0]),), np.empty(0))) == ()


def half_at_zero(x):
    """A law of mass 1/2 at 0 and 1/2 evenly on [1, 2]."""
    return 0.5 * (x >= 0.0) + 0.5 * np.clip(x - 1.0, 0.0, 1.0)


SPLIT = (np.array([-1e-9, 2e-9, 1.25, 1.75]), np.array([0.2, 0.3, 0.3, 0.2]))


@pytest.mark.parametrize("rounding", [2e-9, 1e-3])
def test_nodes_within_rounding_of_an_atom_are_one(rounding):
    """By hand: the nodes at 0 are one of weight 1/2, and the law's mass there is 1/2."""
    huge = Bulk(10**12, SPLIT[:1], SPLIT[1:], np.empty(0), rounding)
    found = huge.distance(half_at_zero, atoms=(0.0,))
    # At 1.5, the middle of the upper nodes, the rule has 0.8 and the law 0.75.
    assert found.value == pytest.approx(0.05, abs=1e-5)
    assert found.low == 0.0
    one = Bulk(10**12, (np.array([0.0, 1.25, 1.75]),), (np.array([0.5, 0.3, 0.2]),), np.empty(0))
    same = one.distance(half_at_zero, atoms=(0.0,))
    assert (found.value, found.low, found.high) == pytest.approx((same.value, same.low, same.high), abs=1e-12)


def test_nodes_beyond_rounding_of_an_atom_stay_apart():
    """A fifth of the mass certainly lies below 0 if the node at -1e-9 is known better than that."""
    huge = Bulk(10**12, SPLIT[:1], SPLIT[1:], np.empty(0), 0.9e-9)
    assert huge.distance(half_at_zero, atoms=(0.0,)).low == 0.0  # one node alone leaves its own weight open
    three = (np.array([-2e-9, -1e-9, 1.25, 1.75]),), (np.array([0.2, 0.3, 0.3, 0.2]),)
    assert Bulk(10**12, *three, np.empty(0), 0.9e-9).distance(half_at_zero, atoms=(0.0,)).low == pytest.approx(
        0.2, abs=1e-5
    )
    assert Bulk(10**12, *three, np.empty(0), 2e-9).distance(half_at_zero, atoms=(0.0,)).low == 0.0


@pytest.mark.parametrize(("residuals", "low"), [(None, 0.25), ([1e-6] * 4, 0.25), ([1e-4] * 4, 0.0)])
def test_eigenvalues_within_their_residual_of_an_atom_are_on_it(residuals, low):
    values = np.array([2e-5, 1e-5, 1.75, 1.25])
    errors = None if residuals is None else np.array(residuals)

    class Whole:
        P, nodes, weights, degree = 4, (), (), math.inf

    found = Bulk.of(Whole(), 0, values, residuals=errors).distance(half_at_zero, atoms=(0.0,))
    assert found.low == pytest.approx(low)  # at the first eigenvalue the law has 1/2 and the spectrum 1/4


def zeros_and_noise(zeros, size, seed, dtype):
    """A semicircle of random signs and directions among zeros, rotated; and its eigenvalues."""
    rng = np.random.default_rng([zeros, size, seed])
    noise = rng.standard_normal((size, size))
    values = np.concatenate([np.zeros(zeros), np.linalg.eigvalsh(noise + noise.T) / np.sqrt(2.0 * size)])
    turn = np.linalg.qr(rng.standard_normal((zeros + size,) * 2))[0]
    matrix = (turn * values) @ turn.T
    return DenseOperator(torch.from_numpy((matrix + matrix.T) / 2.0).to(dtype)), values


def least_squares(samples, width, seed, dtype):
    """Curvature of linear regression on fewer samples than weights; and its eigenvalues."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(samples, width, generator=generator, dtype=torch.float64).to(dtype)
    model = torch.nn.Linear(width, 1, bias=False).to(dtype)
    values = np.linalg.svd(x.double().numpy(), compute_uv=False) ** 2 * 2.0 / samples
    operator = Curvature(model, torch.nn.functional.mse_loss, (x, torch.ones(samples, 1, dtype=dtype)))
    return operator, np.concatenate([np.zeros(width - samples), values])


def exact_distance(values, law):
    """Kolmogorov distance of some eigenvalues from a fitted law, by counting."""
    at, size = np.unique(values), len(values)
    upto = np.searchsorted(np.sort(values), at, side="right") / size
    below = np.searchsorted(np.sort(values), at, side="left") / size
    before = law.cdf(np.nextafter(at, -np.inf))
    return max(np.abs(law.cdf(at) - upto).max(), np.abs(before - below).max())


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(
    ("problem", "law"),
    [
        (lambda seed, dtype: least_squares(50, 150, seed, dtype), "Marchenko-Pastur"),
        (lambda seed, dtype: zeros_and_noise(100, 50, seed, dtype), "semicircle on a share of the directions"),
    ],
)
def test_intervals_of_laws_with_an_atom_cover_the_distance_of_a_singular_matrix(problem, law, dtype):
    """At 95 %, more than 3 of 12 miss with a chance of 2e-3."""
    missed = 0
    for seed in range(12):
        operator, values = problem(seed, dtype)
        rest = spectral_measure(operator, rng=np.random.default_rng([6, seed]), probes=4, steps=60)
        bulk = Bulk.of(rest, 0, np.empty(0), rounding=rest.rounding)
        (found,) = [one for one in law_fits(bulk) if one.name == law]
        missed += exact_distance(values, found) not in found.distance
    assert missed <= 3


def test_a_fit_knows_the_rounding_of_its_nodes_and_the_residuals_of_its_pairs():
    operator, values = least_squares(50, 150, 0, torch.float64)
    fit = measure_spectrum(operator, SpectrumSettings(outliers=10, seed=0)).fit
    assert 0.0 < fit.bulk.rounding < 1e-12 * values.max()
    assert (fit.bulk.residuals > np.abs(fit.bulk.eigenvalues))[:10].all()  # the smallest pairs are zeros
    kept = sorted(set(range(150)) - {int(np.abs(values - one).argmin()) for one in fit.outliers})
    (found,) = [one for one in fit.alternatives if one.name == "Marchenko-Pastur"]
    assert exact_distance(values[kept], found) in found.distance
    assert found.distance.value == pytest.approx(exact_distance(values[kept], found), abs=0.05)
