"""Records of spectra predicted at other sample sizes: one covariance, a difference of two, and a bootstrap."""

import dataclasses
from types import SimpleNamespace

import numpy as np
from recording import Within, refused

from hessian import HessianFit, SampleHessians, SampleSpectra, bootstrap_eigenvalues, fit_covariance, fit_difference


def _factors(N, K, P, seed):
    scales = np.array([3.0, 2.0, 1.0, 0.7, 0.5, 0.4, 0.3, 0.2])[:P]
    return np.random.default_rng(seed).standard_normal((N, K, P)) * scales / np.sqrt(K)


FACTORS = _factors(40, 2, 6, 0)
VALUES, VECTORS = (part[..., ::-1] for part in np.linalg.eigh(np.einsum("nki,nkj->ij", FACTORS, FACTORS) / 40))
SPECTRA = SampleSpectra(np.linalg.eigvalsh(np.einsum("nki,nli->nkl", FACTORS, FACTORS)), FACTORS @ VECTORS)


def _rounded(found):
    return Within(1e-4, found.to_dict())


def covariance_of_all_eigenvalues():
    fit = fit_covariance(VALUES, SPECTRA)
    yield fit.top, fit.population, fit.dimension, fit.frobenius_squared, SPECTRA.trace, SPECTRA.square
    yield len(fit.weights.atoms), fit.weights.mean


EQUAL = SampleSpectra(np.tile([[0.0, 3.0], [1.0, 8.0]], (15, 1)), np.zeros((30, 2, 0)))


def predictions_from_many_to_few():
    blocks = np.sqrt(np.array([[[4.5, 0.5], [1.5, 0.3]], [[1.5, 0.5], [1.5, 1.5]]] * 15))
    fit = fit_covariance([4.5, 1.4, 0.1], SampleSpectra(EQUAL.eigenvalues, blocks))
    yield _rounded(fit.predict(4, top=2))
    known = fit_covariance([4.5, 1.4, 0.1], SampleSpectra(EQUAL.eigenvalues, blocks[:, :, :1]))
    yield Within(1e-4, known.predict(29, top=1).to_dict())
    fit = fit_covariance(VALUES, SPECTRA)
    yield [refused(fit.predict, M) for M in (0, 40, 41)], refused(fit.predict, 4, top=0), refused(fit.predict, 4, top=7)


def predictions_without_blocks():
    found = fit_covariance([4.0, 1.5, 0.5], EQUAL).predict(8, top=2)
    return Within(1e-4, [found.low, found.high, found.stable_rank_low, found.stable_rank_high])


def eigenvalues_that_are_missing():
    squares = float((VALUES**2).sum())
    fit = fit_covariance(VALUES[:3], SPECTRA, frobenius_squared=squares)
    yield fit.population, fit.dimension, fit.frobenius_squared, fit.top
    nearly = fit_covariance(VALUES[:5], SPECTRA, frobenius_squared=squares * (1.0 + 1e-3))
    yield nearly.population, nearly.dimension
    yield refused(fit_covariance, VALUES[:3], SPECTRA)
    yield refused(fit_covariance, VALUES[:3], SPECTRA, frobenius_squared=float((VALUES[:3] ** 2).sum()))


def refused_eigenvalues():
    yield refused(fit_covariance, [0.0, -1.0], SPECTRA), refused(fit_covariance, [], SPECTRA)
    yield refused(fit_covariance, VALUES * 1.01, SPECTRA), refused(fit_covariance, [np.inf, 1.0], SPECTRA)
    yield fit_covariance([*VALUES, -0.5, 0.0, 1e-15], SPECTRA).top
    for off in (5e-7, -5e-7, 2e-6, -2e-6):
        shifted = [VALUES[0] + off * SPECTRA.trace, *VALUES[1:]]
        found = refused(fit_covariance, shifted, SPECTRA)
        yield found if isinstance(found, str) else found.dimension


def eigenvalues_resampled():
    values, shares = bootstrap_eigenvalues(SPECTRA, 10, 2, np.random.default_rng(0))
    yield values, shares, bootstrap_eigenvalues(SPECTRA, 40, 1, np.random.default_rng(1))[0]
    yield bootstrap_eigenvalues(SPECTRA, 1, 1, np.random.default_rng(5))[0].shape
    for M in (0, 41):
        yield refused(bootstrap_eigenvalues, SPECTRA, M, 1, np.random.default_rng(0))
    bare = SampleSpectra(SPECTRA.eigenvalues, np.zeros((40, 2, 0)))
    yield refused(bootstrap_eigenvalues, bare, 4, 1, np.random.default_rng(0))


PLUS, MINUS = _factors(30, 2, 5, 1), 0.6 * _factors(30, 1, 5, 2)[:, :, ::-1]


def _hessians(dimension=5, directions=5):
    values = [np.linalg.eigvalsh(a.T @ a - b.T @ b)[[0, 3, 4]] for a, b in zip(PLUS, MINUS, strict=True)]
    parts = [np.einsum("nki,nkj->ij", part, part)[:directions, :directions] / 30 for part in (PLUS, MINUS)]
    return SampleHessians(np.array(values), *parts, dimension, 1.0)


def two_signs_of_samples():
    hessians = _hessians()
    fit = fit_difference(hessians, block=3)
    yield (
        hessians.traces,
        hessians.square,
        fit.rows,
        fit.samples,
        fit.square,
        fit.frobenius_squared,
        np.abs(fit.top) ** 2,
    )
    yield [len(law.atoms) for law in fit.weights], [law.mean for law in fit.weights], fit.population.dimension
    yield fit.law(6).samples, fit.law(1).samples


class _Straight(HessianFit):
    """A fit with a law whose quantiles and overlaps are known by simple formulas."""

    def law(self, M):
        def shares(cells, chosen):
            return np.outer(cells, np.abs(chosen).sum(axis=0)) + np.arange(chosen.shape[1])

        return SimpleNamespace(quantile=lambda level: 6.0 * level**2 - 4.0 + 1.0 / M, shares=shares)


def predictions_of_both_ends():
    fit = fit_difference(_hessians(), block=4)
    straight = _Straight(**{field.name: getattr(fit, field.name) for field in dataclasses.fields(fit)})
    yield straight.predict(6, top=2), straight.predict(20, top=1), straight.predict(1, top=1).stable_rank
    yield dataclasses.replace(straight, square=200.0, samples=9).predict(6, top=1).frobenius_squared
    yield [refused(fit.law, M) for M in (0, 30)], refused(fit.predict, 6, top=3), refused(fit.predict, 6, top=0)


def directions_that_were_left_out():
    fit = fit_difference(_hessians(9, 4), block=2, frobenius_squared=70.0)
    yield fit.population.dimension, fit.frobenius_squared, fit.population
    yield refused(fit_difference, _hessians(9, 4), block=2), refused(fit_difference, _hessians(), block=1)
    yield refused(fit_difference, _hessians(), block=6), refused(fit_difference, _hessians())
    for sign in (1.0, -1.0):
        one = SampleHessians(sign * np.array([[0.0, 1.0], [0.5, 2.0]]), np.eye(2), np.zeros((2, 2)), 2, 1.0)
        yield refused(fit_difference, one, block=2), one.traces
