"""The first-order change of the stable rank against subsets, for laws of samples that do not come from a covariance."""

import numpy as np
import pytest

from hessian.fits.rank_change import rank_change


def samples(eigenvalues, tail, seed):
    """Hessians of either sign and any rank around a mean of given eigenvalues: not Gaussian, entries dependent."""
    rng = np.random.default_rng(seed)
    P, N = len(eigenvalues), 400
    noise = rng.standard_normal((N, P, 2)) * np.sqrt(np.abs(eigenvalues))[:, None]
    heavy = rng.exponential(size=(N, 1, 1)) ** tail
    parts = heavy * (noise[:, :, :1] * noise[:, :, :1].transpose(0, 2, 1))
    parts = parts - 0.4 * noise[:, :, 1:] * noise[:, :, 1:].transpose(0, 2, 1)
    return parts - parts.mean(axis=0) + np.diag(eigenvalues)


def predict_change(hessians, sign=1.0):
    values, vectors = np.linalg.eigh(sign * hessians.mean(axis=0))
    order = np.argsort(-np.abs(values))
    values, vectors = sign * values[order], vectors[:, order]
    return rank_change(hessians @ vectors[:, 0] @ vectors, values, float((hessians**2).sum(axis=(1, 2)).mean()))


@pytest.mark.sample(1)
@pytest.mark.parametrize(("first", "second", "rises"), [(6.0, 1.0, True), (2.2, 2.0, False)])
def test_slope_is_that_of_finite_samples(first, second, rises):
    """Samples drawn with repetition at M = 4000 and 16000: the slope in 1/M within a quarter, of both signs."""
    hessians = samples(np.array([first, second, *[-0.3] * 4, *[0.4] * 6]), 0.5, 0)
    rng = np.random.default_rng(1)
    ranks = []
    for M in (4000, 16000):
        counts = rng.multinomial(M, np.full(400, 1 / 400), size=30000)
        values = np.linalg.eigvalsh(np.tensordot(counts / M, hessians, 1))
        ranks.append((values**2).sum(axis=1).mean() / (np.abs(values).max(axis=1) ** 2).mean())
    mean = np.linalg.eigvalsh(hessians.mean(axis=0))
    found = predict_change(hessians)
    slope = (mean**2).sum() / np.abs(mean).max() ** 2 * found.coefficient
    assert (ranks[0] - ranks[1]) / (1 / 4000 - 1 / 16000) == pytest.approx(slope, rel=0.25)
    assert (found.coefficient > 0) == rises


def test_gaussian_samples_have_the_sign_of_the_covariance_model():
    """Theorem 2: (tr^2 / ||Lambda||^2 + 1) - 2 - 2 sum lambda_j / (lambda_1 - lambda_j), for rank-one samples."""
    rng, population = np.random.default_rng(3), np.array([4.0, 2.5, 1.0, 1.0, 0.5])
    rows = rng.standard_normal((400_000, 5)) * np.sqrt(population)
    found = rank_change(rows * rows[:, :1], population, float(((rows**2).sum(axis=1) ** 2).mean()))
    trace, squares = population.sum(), (population**2).sum()
    pull = 2 * (population[1:] / (4.0 - population[1:])).sum()
    assert found.coefficient == pytest.approx(trace**2 / squares + 1 - 2 - pull, abs=0.1)


def test_a_negative_first_eigenvalue_mirrors():
    hessians = samples(np.array([3.0, 1.0, -0.5, 0.2]), 0.5, 2)
    one, other = predict_change(hessians), predict_change(-hessians)
    assert other.coefficient == pytest.approx(one.coefficient, rel=1e-10)


def test_doors():
    with pytest.raises(ValueError, match="must be the only one of largest modulus"):
        rank_change(np.ones((3, 2)), [1.0, -1.0], 1.0)
    with pytest.raises(ValueError, match="need products"):
        rank_change(np.ones((3, 2)), [1.0], 1.0)


@pytest.mark.parametrize("scale", [1e-150, -1e-40, 1e120, 1e150])
def test_change_does_not_depend_on_units(scale):
    rng = np.random.default_rng(0)
    products, values = rng.standard_normal((50, 4)), np.array([3.0, 1.0, -1.0, 0.5])
    found, expected = (
        rank_change(products * scale, values * scale, 20.0 * scale**2),
        rank_change(products, values, 20.0),
    )
    for name in ("scatter", "fluctuation", "repulsion"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)


@pytest.mark.parametrize("square", [0.0, -1.0, float("inf"), float("nan")])
def test_a_square_that_is_none_is_refused(square):
    with pytest.raises(ValueError, match="square must be positive and finite"):
        rank_change(np.eye(4), np.array([3.0, 1.0, -1.0, 0.5]), square)


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="products and eigenvalues must be finite"):
        rank_change(np.diag([1.0, np.inf]), np.array([3.0, 1.0]), 2.0)
