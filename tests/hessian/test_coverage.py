"""Every interval and every standard deviation that is returned, against matrices of known spectrum.

Stable ranks, bounds of the norm and probes are in `test_norms`, residuals in `test_krylov`, distances of whole bulks in
`test_measured_fit`, standard deviations of fits to all eigenvalues in `test_spiked_fit`.
"""

import numpy as np
import pytest
import torch
from scipy.stats import binom, norm, t

from hessian import DenseOperator, extreme_eigenpairs, fit_measured, spectral_measure, stable_rank_of
from rmt import MarchenkoPastur, SpikedModel, draw_dense

CHANCE = 1e-6
"""Probability that each test fails though all is as stated."""
SKEW = {("outliers", 1), ("outliers", 2), ("power law", 1), ("power law", 2)}
"""Spectra and powers where few directions carry the sum, so that eight probes are not yet normal."""
NORMAL = np.random.default_rng(0).standard_normal(150)
SPECTRA = {
    "outliers": np.r_[20.0, 8.0, -12.0, 0.2 * NORMAL[:147]],
    "power law": np.arange(1, 151) ** -1.0,
    "semicircle": np.cos(np.linspace(0.0, np.pi, 150)),
    "one sign": np.linspace(0.3, 1.0, 150),
}


def diagonal(eigenvalues):
    return DenseOperator(torch.diag(torch.from_numpy(np.asarray(eigenvalues, dtype=float))))


def rotated(eigenvalues):
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((len(eigenvalues),) * 2))[0]
    matrix = torch.from_numpy(Q * eigenvalues @ Q.T)
    return DenseOperator((matrix + matrix.T) / 2.0)


def often_enough(held, nominal):
    return sum(held) >= binom.ppf(CHANCE, len(held), nominal)


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("width", [0.3, 0.05])
@pytest.mark.parametrize("matrix", [diagonal, rotated])
def test_norms_lie_within_their_intervals_and_an_eigenvalue_within_the_residual(name, width, matrix):
    values, held = SPECTRA[name], {"frobenius": [], "spectral": [], "eigenvalue": []}
    operator = matrix(values)
    for seed in range(40):
        found = stable_rank_of(operator, rng=np.random.default_rng([1, seed]), relative_width=width, confidence=0.9)
        held["frobenius"].append(float(np.linalg.norm(values)) in found.frobenius)
        held["spectral"].append(
            found.spectral_norm.low * (1 - 1e-12) <= np.abs(values).max() <= found.spectral_norm.high
        )
        held["eigenvalue"].append(np.abs(values - found.eigenvalue).min() <= found.residual + 1e-12)
    assert often_enough(held["frobenius"], 0.9)
    assert often_enough(held["spectral"], 1.0 - 0.05 * 0.1)  # a twentieth of what may go wrong
    assert all(held["eigenvalue"])


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", SPECTRA)
def test_moments_are_as_far_off_as_their_standard_errors_say(name):
    """Scores over 8 probes of complete rules follow the t law, nearly: probes are sums over many directions."""
    values, scores = SPECTRA[name][::6], {1: [], 2: []}
    operator = diagonal(values)
    for seed in range(60):
        measure = spectral_measure(operator, rng=np.random.default_rng([2, seed]), probes=8, steps=len(values))
        for power in scores:
            moment = measure.moment(power)
            scores[power].append((moment.value - np.mean(values**power)) / moment.sd)
    for power, found in scores.items():
        level = 0.8 if (name, power) in SKEW else 0.9
        assert often_enough(np.abs(found) <= t.ppf((1 + level) / 2, 7), level), power
        assert sum(np.abs(found) <= t.ppf(0.75, 7)) <= binom.ppf(1 - CHANCE, len(found), 0.5), power


@pytest.mark.slow
@pytest.mark.parametrize("name", ["outliers", "semicircle"])
def test_both_estimates_of_the_rest_are_as_far_off_as_they_say(name):
    values, scores = SPECTRA[name], {"norm": [], "quadrature": []}
    truth = np.sort(values)[4:-4] @ np.sort(values)[4:-4]
    operator = diagonal(values)
    for seed in range(50):
        rng = np.random.default_rng([3, seed])
        rank = stable_rank_of(operator, rng=rng, relative_width=0.1)
        pairs = extreme_eigenpairs(operator, 4, 4, rng=rng, tolerance=1e-9)
        rest = spectral_measure(operator, rng=rng, probes=2, steps=20, without=pairs)
        fit = fit_measured(pairs, 4, rank.frobenius, rest)
        for way, found in (("norm", fit.rest_by_norm), ("quadrature", fit.rest_by_quadrature)):
            scores[way].append((found.value - truth) / found.sd)
    for way in scores:
        assert often_enough(np.abs(scores[way]) <= norm.ppf(0.975), 0.95), way
    assert 0.6 < np.std(scores["quadrature"]) < 1.4


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "model", [SpikedModel((5.0, 2.5, -3.0)), SpikedModel((6.0,), noise=MarchenkoPastur(0.5))], ids=["Wigner", "Wishart"]
)
def test_fits_to_draws_of_a_known_law_cover_it(model):
    """Noise, spikes, and the distances of all eigenvalues of the bulk from every law that is fitted to it."""
    held: dict[str, list[bool]] = {}
    for seed in range(25):
        matrix = draw_dense(model, 100, np.random.default_rng([4, seed])).matrix
        values, operator = np.linalg.eigvalsh(matrix), DenseOperator(torch.from_numpy(matrix))
        rng = np.random.default_rng([5, seed])
        rank = stable_rank_of(operator, rng=rng)
        pairs = extreme_eigenpairs(operator, 5, 5, rng=rng, tolerance=1e-4)
        fit = fit_measured(
            pairs, 5, rank.frobenius, spectral_measure(operator, rng=rng, probes=3, steps=30, without=pairs)
        )
        outliers = {int(np.abs(values - outlier).argmin()) for outlier in fit.outliers}
        bulk = np.array([value for place, value in enumerate(values) if place not in outliers])
        steps = np.arange(len(bulk) + 1) / len(bulk)
        laws = [("fitted semicircle", fit.model.noise_law.cdf, fit.distance)]
        laws += [(law.name, law.cdf, law.distance) for law in fit.alternatives]
        for name, cdf, distance in laws:
            below, upto = cdf(np.nextafter(bulk, -np.inf)), cdf(np.nextafter(bulk, np.inf))
            exact = float(max((steps[1:] - upto).max(), (below - steps[:-1]).max()))
            held.setdefault(name, []).append(exact in distance)
        if model.spikes == (5.0, 2.5, -3.0):
            held.setdefault("sigma", []).append(abs(fit.sigma - 1.0) <= 1.96 * fit.sigma_sd)
            assert len(fit.model.spikes) == 3
            for truth, spike, sd in zip((5.0, 2.5, -3.0), fit.model.spikes, fit.spike_sd, strict=True):
                held.setdefault(f"spike {truth}", []).append(abs(spike - truth) <= 1.96 * sd)
    assert len(held) >= 4
    for name, each in held.items():
        assert often_enough(each, 0.95), name
