"""Predictions at other sample sizes: exact identities, samples that are of the model, and the doors."""

from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.stats import gamma

from hessian import CurvatureError, SampleHessians, SampleSpectra, bootstrap_eigenvalues, fit_covariance, spectra_of


def gaussian_factors(N=400, K=3, P=60, seed=0):
    """Samples of the model itself: rows N(0, Lambda) times the roots of unequal weights."""
    rng = np.random.default_rng(seed)
    population = np.concatenate([[20.0, 8.0, 4.0], np.geomspace(1.0, 0.01, P - 3)])
    weights = rng.exponential(size=(N, K, 1)) * np.array([2.0, 0.7, 0.3])[:, None]
    return torch.from_numpy(np.sqrt(weights / K) * rng.standard_normal((N, K, P)) * np.sqrt(population))


def matrix(factors):
    return torch.einsum("nkp,nkq->pq", factors, factors) / len(factors)


@pytest.mark.parametrize("M", [1, 2, 5])
def test_frobenius_norm_is_exact_over_all_subsets(M):
    factors = gaussian_factors(N=6, P=8)
    fit = fit_covariance(torch.linalg.eigvalsh(matrix(factors)), spectra_of(factors))
    every = [float(matrix(factors[list(subset)]).square().sum()) for subset in combinations(range(6), M)]
    assert fit.predict(M, top=1).frobenius_squared == pytest.approx(np.mean(every), rel=1e-12)


def test_samples_of_the_model_are_predicted():
    """At 20 and 100 of 400 samples the limit errs by a few per cent, and most by 0.1 in an overlap."""
    factors, rng = gaussian_factors(), np.random.default_rng(1)
    values, vectors = torch.linalg.eigh(matrix(factors))
    top = vectors.flip(1)[:, :3]
    fit = fit_covariance(values, spectra_of(factors))
    for M in (20, 100):
        found, overlaps, ranks = [], [], []
        for _ in range(200):
            subset = torch.linalg.eigh(matrix(factors[torch.from_numpy(rng.permutation(400)[:M])]))
            found.append(subset[0].flip(0)[:3].numpy())
            overlaps.append(((top.T @ subset[1].flip(1)[:, :3]) ** 2).T.numpy())
            ranks.append(float(subset[0].square().sum() / subset[0][-1] ** 2))
        predicted = fit.predict(M, top=3)
        assert predicted.eigenvalues == pytest.approx(np.mean(found, axis=0), rel=0.06)
        assert predicted.overlaps == pytest.approx(np.mean(overlaps, axis=0), abs=0.1)
        assert predicted.stable_rank == pytest.approx(np.mean(ranks), rel=0.1)
        inside = (np.array(found) > predicted.low) & (np.array(found) < predicted.high)
        assert inside[:, 0].mean() > 0.8
        held = (np.array(ranks) > predicted.stable_rank_low) & (np.array(ranks) < predicted.stable_rank_high)
        assert held.mean() > 0.8
        # Eigenvectors that do not depend on the sample size would be noticed where samples are few.
        assert (np.eye(3) == pytest.approx(np.mean(overlaps, axis=0), abs=0.1)) == (M == 100)


def test_nearly_all_samples_give_the_matrix_itself():
    factors = gaussian_factors(N=300)
    values = torch.linalg.eigvalsh(matrix(factors)).flip(0).numpy()
    predicted = fit_covariance(values, spectra_of(factors)).predict(299, top=4)
    assert predicted.eigenvalues == pytest.approx(values[:4], rel=2e-3)
    assert np.diag(predicted.overlaps) == pytest.approx(np.ones(4), abs=5e-3)


def test_top_eigenvalues_and_the_norm_suffice():
    factors = gaussian_factors()
    values = torch.linalg.eigvalsh(matrix(factors)).flip(0).numpy()
    whole = fit_covariance(values, spectra_of(factors)).predict(30)
    part = fit_covariance(values[:12], spectra_of(factors), frobenius_squared=float((values**2).sum())).predict(30)
    assert part.eigenvalues == pytest.approx(whole.eigenvalues, rel=0.01)
    assert part.stable_rank == pytest.approx(whole.stable_rank, rel=0.01)
    assert part.overlaps == pytest.approx(whole.overlaps, abs=0.02)


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_do_not_matter(unit):
    factors = gaussian_factors(N=100)
    values, spectra = torch.linalg.eigvalsh(matrix(factors)).numpy(), spectra_of(factors)
    scaled = fit_covariance(unit * values, SampleSpectra(unit * spectra.eigenvalues, spectra.blocks)).predict(20)
    plain = fit_covariance(values, spectra).predict(20)
    assert scaled.eigenvalues / unit == pytest.approx(plain.eigenvalues, rel=0.01)  # bins lie elsewhere
    assert scaled.stable_rank == pytest.approx(plain.stable_rank, rel=0.01)


@pytest.mark.parametrize("unit", [1e-170, 1e160])
def test_squares_that_are_no_numbers_are_refused_with_the_remedy(unit):
    factors = gaussian_factors(N=10)
    values, spectra = torch.linalg.eigvalsh(matrix(factors)).numpy(), spectra_of(factors)
    scaled = SampleSpectra(unit * spectra.eigenvalues, spectra.blocks)
    hessians = SampleHessians(scaled.eigenvalues, np.eye(2), np.eye(2), 2, 1.0)
    for square in (lambda: scaled.square, lambda: hessians.square, lambda: fit_covariance(unit * values, scaled)):
        with pytest.raises(
            CurvatureError, match=r"squares of eigenvalues of the order .* multiply the loss by a constant"
        ):
            square()
    assert spectra.square == pytest.approx(np.mean(np.sum(spectra.eigenvalues**2, axis=1)))
    assert SampleSpectra(0.0 * values[None], spectra.blocks).square == 0.0


def test_the_bootstrap_of_all_samples_is_the_matrix():
    factors = gaussian_factors(N=50)
    values, vectors = torch.linalg.eigh(matrix(factors))
    spectra = spectra_of(factors, vectors.flip(1)[:, :5])
    found, shares = bootstrap_eigenvalues(spectra, 50, 2, np.random.default_rng(0))
    assert found[1] == pytest.approx(values.flip(0)[:5].numpy())
    assert shares[0] == pytest.approx(np.eye(5), abs=1e-12)


@pytest.mark.parametrize("M", [1, 4, 50])
def test_a_bootstrap_of_some_samples_is_their_matrix(M):
    """Its diagonal in the directions is the mean of the samples' own; each draw takes other samples, none twice."""
    factors = gaussian_factors(N=50, P=7)
    spectra = spectra_of(factors, torch.linalg.eigh(matrix(factors))[1].flip(1)[:, :3])
    values, shares = bootstrap_eigenvalues(spectra, M, 3, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    for found, share in zip(values, shares, strict=True):
        chosen = spectra.blocks[rng.permutation(50)[:M]]
        by_hand = np.einsum("nki,nkj->ij", chosen, chosen) / M
        assert found == pytest.approx(np.linalg.eigvalsh(by_hand)[::-1], abs=1e-10)
        assert found @ share == pytest.approx(np.diag(by_hand))
    for wrong in (0, 51):
        with pytest.raises(ValueError, match=f"1 <= M <= N = 50, got 3 directions and M = {wrong}"):
            bootstrap_eigenvalues(spectra, wrong, 1, rng)


def test_doors():
    factors = gaussian_factors(N=50)
    values, spectra = torch.linalg.eigvalsh(matrix(factors)).flip(0).numpy(), spectra_of(factors)
    fit = fit_covariance(values, spectra)
    for M in (0, 50):
        with pytest.raises(ValueError, match="M must lie between 1 and N - 1 = 49"):
            fit.predict(M)
    with pytest.raises(ValueError, match="top must lie between 1 and 60"):
        fit.predict(10, top=61)
    for factor in (2.0, 1.0 + 1e-4, 1.0 + 2e-6):
        with pytest.raises(ValueError, match="not the same matrix"):
            fit_covariance(factor * values, spectra)
    assert fit_covariance((1.0 + 5e-7) * values, spectra).dimension == 60
    with pytest.raises(ValueError, match="of the trace: give more, or frobenius_squared above"):
        fit_covariance(values[:3], spectra)
    with pytest.raises(ValueError, match="at least one positive eigenvalue"):
        fit_covariance([], spectra)
    with pytest.raises(ValueError, match="need blocks in some directions"):
        bootstrap_eigenvalues(spectra, 10, 1, np.random.default_rng(0))


@pytest.mark.parametrize("M", [2, 5, 8])
def test_intervals_of_few_samples_by_hand(M):
    """Gamma laws whose squared variation is 2 E sum of w^2 plus the variance of sum of w, over M (N - 1)/(N - M)."""
    factors = gaussian_factors(N=9, P=7)
    values = torch.linalg.eigvalsh(matrix(factors)).flip(0).numpy()
    own = torch.linalg.eigvalsh(factors @ factors.mT).numpy()
    found = fit_covariance(values, spectra_of(factors)).predict(M, top=2)
    w = own / own.sum(axis=1).mean()
    gaussian = 2.0 * (w**2).sum(axis=1).mean() + ((w.sum(axis=1) - 1.0) ** 2).mean()
    variation = gaussian / (M * 8 / (9 - M))
    for end, level in ((found.low, 0.025), (found.high, 0.975)):
        expected = found.eigenvalues * gamma.ppf(level, 1.0 / variation) * variation
        assert end == pytest.approx(expected, rel=1e-9)
    frobenius, first = found.frobenius_squared, found.eigenvalues[0]
    assert found.stable_rank == pytest.approx(frobenius / first**2)
    # The first eigenvalue is in both norms: what it leaves of the Frobenius norm stays.
    rest = max(frobenius - first**2 * (1.0 + variation), 0.0)
    assert found.stable_rank_low == pytest.approx(min(found.stable_rank, 1.0 + rest / found.high[0] ** 2))
    assert found.stable_rank_high == pytest.approx(max(found.stable_rank, 1.0 + rest / found.low[0] ** 2))
    assert bool(rest > 0.0) is (M == 8)


def test_intervals_know_the_samples_own_terms():
    """Where eigenvectors are known, each eigenvalue has its own interval, from the scatter of the samples' terms."""
    factors = gaussian_factors(N=2000)
    factors[::20, :, 0] *= 3.0  # a heavy tail in the first direction
    values, vectors = torch.linalg.eigh(matrix(factors))
    top = vectors.flip(1)[:, :3]
    blind, seeing = (fit_covariance(values, spectra_of(factors, V)).predict(100, top=3) for V in (None, top))
    rng, found = np.random.default_rng(0), []
    for _ in range(300):
        subset = factors[torch.from_numpy(rng.permutation(2000)[:100])]
        found.append(torch.linalg.eigvalsh(matrix(subset)).flip(0)[:3].numpy())
    held = [((one.low < np.array(found)) & (np.array(found) < one.high)).mean(axis=0) for one in (blind, seeing)]
    assert (held[1] > 0.9).all()  # four standard errors below 95 %
    assert (held[1] < 0.995).all()
    # The spectra alone give the tail to every direction: the others' intervals hold too much.
    assert (held[0][1:] > 0.995).all()
    other = fit_covariance(values, spectra_of(factors, vectors[:, :3])).predict(100, top=3)
    assert other.low == pytest.approx(blind.low)  # directions that are not the eigenvectors say nothing of them
