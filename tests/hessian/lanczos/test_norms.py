from dataclasses import fields

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from hessian import (
    Curvature,
    CurvatureError,
    DenseOperator,
    SpectrumSettings,
    exact_hessian,
    measure_spectrum,
    stable_rank,
    stable_rank_of,
)
from hessian.lanczos.bounds import certified_norm, probable_norm
from hessian.lanczos.krylov import Krylov
from hessian.lanczos.probes import PILOT, Probes
from hessian.numerics.symmetric import normal_rows
from workloads.image_networks.small import perceptron

NORMAL = np.random.default_rng(0).standard_normal(400)
SPECTRA = {
    "outliers": np.r_[50.0, 30.0, 20.0, 8.0, -5.0, 0.05 * NORMAL[:395]],
    "power law": np.arange(1, 401) ** -1.0,
    "both signs": np.r_[1.0, -0.999, 0.02 * NORMAL[:398]],
    "semicircle": np.cos(np.linspace(0.0, np.pi, 400)),
    "flat": np.linspace(0.5, 1.0, 400),
    "copies": np.r_[10.0, 10.0, 10.0, 0.01 * NORMAL[:397]],
}


def diagonal(eigenvalues, dtype=torch.float64):
    return DenseOperator(torch.diag(torch.tensor(np.asarray(eigenvalues, dtype=float))).to(dtype))


def rotated(eigenvalues):
    """No eigenvector is near an axis."""
    values = torch.tensor(np.asarray(eigenvalues, dtype=float))
    Q = torch.linalg.qr(torch.from_numpy(np.random.default_rng(1).standard_normal((len(values),) * 2)))[0]
    matrix = Q * values @ Q.T
    return DenseOperator((matrix + matrix.T) / 2.0)


def exact(eigenvalues):
    values = np.asarray(eigenvalues, dtype=float)
    return float((values**2).sum() / np.abs(values).max() ** 2)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("width", [0.2, 0.03])
@pytest.mark.parametrize("matrix", [diagonal, rotated])
def test_intervals_cover_the_exact_stable_rank_and_are_as_narrow_as_asked(name, width, matrix):
    values = SPECTRA[name]
    operator, truth, repetitions = matrix(values), exact(values), 60 if matrix is diagonal else 30
    found = [
        stable_rank_of(operator, rng=np.random.default_rng([7, seed]), relative_width=width, confidence=0.9)
        for seed in range(repetitions)
    ]
    covered = sum(truth in one for one in found)
    assert covered >= binom.ppf(1e-6, repetitions, 0.9)
    assert np.mean([one.reached for one in found]) >= 0.8
    assert np.median([one.relative_width for one in found]) <= width
    for one in found:
        assert one.low <= one.value <= one.high
        assert one.relative_width == pytest.approx(one.deterministic_width + one.statistical_width, abs=1e-12)
        assert one.spectral_norm.low <= np.abs(values).max() * (1 + 1e-12)


def near_the_axes(eigenvalues, seed=0):
    """Every second pair of neighbours on the diagonal is turned by an angle, up to a seventh of a right one."""
    rng = np.random.default_rng(seed)
    H = np.diag(rng.permutation(eigenvalues))
    for place in range(0, len(H) - 1, 4):
        c, s = np.cos(angle := 0.2 * rng.random()), np.sin(angle)
        turn, here = np.array([[c, -s], [s, c]]), slice(place, place + 2)
        H[here, here] = turn @ H[here, here] @ turn.T
    return DenseOperator(torch.from_numpy((H + H.T) / 2.0))


@pytest.mark.sample(1)
@pytest.mark.parametrize("width", [0.05, 0.03])
def test_signs_replace_deflated_probes_where_eigenvectors_are_near_the_axes(width):
    """As many as the norm and the floor of the spread take, and fewer than of the same spectrum turned."""
    values = SPECTRA["semicircle"]
    found, others = (
        [stable_rank_of(operator, rng=np.random.default_rng([11, seed]), relative_width=width) for seed in range(12)]
        for operator in (near_the_axes(values), rotated(values))
    )
    assert all(one.signs and one.probes >= PILOT for one in found)
    assert all(one.reached and one.products == one.steps + one.probes for one in found)
    assert sum(exact(values) in one for one in found) >= binom.ppf(1e-6, len(found), 0.95)
    assert np.mean([one.probes for one in found]) < 0.5 * np.mean([one.probes for one in others])
    assert all(float(np.linalg.norm(values)) == pytest.approx(one.frobenius.value, rel=width) for one in found)


@pytest.mark.parametrize("name", ["outliers", "power law", "both signs", "copies"])
def test_signs_do_not_replace_deflated_probes_where_few_of_these_are_needed(name):
    """Though eigenvectors are the axes, and the square of a product with signs does not vary at all."""
    for seed in range(20):
        assert not stable_rank_of(diagonal(SPECTRA[name]), rng=np.random.default_rng(seed)).signs


def test_signs_take_no_more_products_than_the_whole_complement():
    """Ten rows find few of five copies; as many probes as directions would leave no chance at all."""
    values = np.r_[np.full(5, 10.0), 0.01 * NORMAL[:195]]
    for seed in range(15):
        found = stable_rank_of(rotated(values), rng=np.random.default_rng(seed), relative_width=0.2, basis=10)
        assert found.products <= len(values) + 3 * PILOT
        assert exact(values) in found


def test_signs_keep_to_the_products_and_come_out_the_same_in_chunks():
    operator, settings = near_the_axes(SPECTRA["semicircle"]), {"relative_width": 0.03, "basis": 40}
    one, other = (stable_rank_of(operator, rng=np.random.default_rng(0), chunk=chunk, **settings) for chunk in (1, 7))
    assert one.signs
    assert other.value == pytest.approx(one.value, rel=1e-12)
    for products in (50, 61, 70):
        few = stable_rank_of(operator, rng=np.random.default_rng(0), products=products, **settings)
        assert few.products <= products
        assert not few.reached
        assert exact(SPECTRA["semicircle"]) in few


def test_a_vain_pilot_of_signs_leaves_products_for_the_other_probes():
    operator, settings = rotated(SPECTRA["semicircle"]), {"relative_width": 0.03, "basis": 20}
    for seed in (3, 5, 10, 12):
        found = stable_rank_of(operator, rng=np.random.default_rng(seed), **settings)
        assert not found.signs
        assert found.products > found.steps + found.probes  # the pilot
        for products in (32, 35, 40):
            few = stable_rank_of(operator, rng=np.random.default_rng(seed), products=products, **settings)
            assert few.products <= products


def test_signs_are_asked_again_where_copies_take_many_probes():
    """The basis has every eigenvalue once and predicts no rest; the pilot shows the copies."""
    values = np.repeat(np.arange(1.0, 21.0), 10)
    for seed in range(4):
        found = stable_rank_of(diagonal(values), rng=np.random.default_rng(seed))
        assert found.signs
        assert exact(values) in found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_small_matrices_are_done_exactly(dtype):
    for values in ([3.0, 1.0, -0.2, 0.1], [2.0], [-2.0, 2.0], [1.0] * 7):
        found = stable_rank_of(diagonal(values, dtype), rng=np.random.default_rng(0))
        assert found.probes == 0
        assert found.value == pytest.approx(exact(values), rel=1e-6)
        assert exact(values) in found
        assert found.certified
        assert found.products <= len(values)


def test_the_certificate_bounds_the_norm_whatever_is_outside_the_basis():
    rng = np.random.default_rng(3)
    for _ in range(200):
        P, size = int(rng.integers(3, 12)), 2
        H = rng.standard_normal((P, P))
        H = H + H.T
        H[:1] *= 4.0
        H = (H + H.T) / 2.0
        krylov = Krylov(DenseOperator(torch.from_numpy(H)), rng)
        krylov.extend(size)
        V = krylov.basis.numpy()
        rest = np.eye(P) - V.T @ V
        c = float(np.linalg.norm(rest @ H @ rest, 2))
        bound, norm = certified_norm(krylov, c), float(np.linalg.norm(H, 2))
        assert bound >= norm * (1 - 1e-9)
        # Without the coupling to the rest it would be no bound.
        assert np.abs(np.linalg.eigvalsh(krylov.compression)).max() <= norm * (1 + 1e-9)


def test_a_network_resident_or_streamed_gets_the_interval_of_its_exact_hessian():
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(64, 8, generator=generator).double()
    targets = torch.randint(3, (64,), generator=generator)
    model = perceptron(8, (12,), 3, 0)
    truth = exact(torch.linalg.eigvalsh(exact_hessian(model, nn.functional.cross_entropy, inputs, targets)).numpy())
    resident = stable_rank(model, nn.CrossEntropyLoss(), (inputs, targets), confidence=0.999)
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=10)
    streamed = stable_rank(model, nn.CrossEntropyLoss(), loader, confidence=0.999)
    for found in (resident, streamed):
        assert truth in found
        assert found.reached
        assert found.gradients > 0.0
    assert resident.value == pytest.approx(streamed.value, rel=1e-9)
    assert stable_rank(model, nn.CrossEntropyLoss(), (inputs, targets), confidence=0.999) == resident
    assert stable_rank(model, nn.CrossEntropyLoss(), (inputs, targets), parameters="2.*").value != resident.value


def test_a_budget_that_does_not_suffice_is_said():
    found = stable_rank_of(diagonal(SPECTRA["flat"]), rng=np.random.default_rng(0), relative_width=1e-3, products=40)
    assert not found.reached
    assert found.products <= 40
    assert exact(SPECTRA["flat"]) in found


@pytest.mark.parametrize(
    ("name", "words"), [("power law", "steps, probe 10 of"), ("semicircle", "steps, vector 10 of 10 of random signs")]
)
def test_progress_is_told(name, words):
    reports = []
    stable_rank_of(diagonal(SPECTRA[name]), rng=np.random.default_rng(0), progress=reports.append)
    assert any("Lanczos step 12" in text for text in reports)
    assert any(words in text for text in reports)


def test_bad_settings_and_a_zero_matrix_are_refused():
    operator = diagonal([1.0, 2.0])
    for settings in ({"relative_width": 0.0}, {"confidence": 1.0}, {"products": 5}, {"basis": 0}, {"chunk": 0}):
        with pytest.raises(CurvatureError, match=r"expected|must be"):
            stable_rank_of(operator, rng=np.random.default_rng(0), **settings)
    linear = nn.Linear(3, 1).double()
    data = (torch.ones(4, 3).double(), torch.ones(4, 1).double())
    with pytest.raises(CurvatureError, match="zero to rounding"):
        stable_rank_of(Curvature(linear, lambda out, y: out.mean(), data), rng=np.random.default_rng(0))


def hidden(operator, seeds, eigenvalues):
    """The tenth of the seeds whose starting vector has the smallest part along the largest eigenvector."""
    top = int(np.abs(eigenvalues).argmax())
    parts = [float(normal_rows(operator, np.random.default_rng(seed), 1)[0][top].abs()) for seed in seeds]
    return [seeds[i] for i in np.argsort(parts)[: len(seeds) // 10]]


@pytest.mark.sample(3)
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("gap", [0.03, 0.3])
@pytest.mark.parametrize("width", [0.2, 0.5])
def test_starting_vectors_that_hide_the_largest_eigenvalue_are_covered_too(width, gap, sign):
    """The worst tenth of 300 seeds, at loose widths, where the basis is small."""
    bulk = SPECTRA["semicircle"][1:]
    eigenvalues = sign * np.r_[1.0 + gap, np.where(bulk > 0.0, bulk, 0.3 * bulk)]
    operator, truth = diagonal(eigenvalues), exact(eigenvalues)
    worst = hidden(operator, list(range(300)), eigenvalues)
    found = [stable_rank_of(operator, rng=np.random.default_rng(seed), relative_width=width) for seed in worst]
    # Of 300 starting vectors, less than one is allowed to hide an end; the probes' share is the rest of 5 %.
    assert sum(truth in one for one in found) >= binom.ppf(1e-6, len(worst), 0.95 - 0.025)
    assert all(one.spectral_norm.high >= 1.0 + gap for one in found)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("basis", [1, 2, 3, 5])
def test_a_basis_too_small_gives_wide_intervals_and_not_wrong_ones(name, basis):
    operator, truth, repetitions = diagonal(SPECTRA[name]), exact(SPECTRA[name]), 30
    found = [
        stable_rank_of(operator, rng=np.random.default_rng([3, seed]), relative_width=0.2, confidence=0.9, basis=basis)
        for seed in range(repetitions)
    ]
    assert sum(truth in one for one in found) >= binom.ppf(1e-6, repetitions, 0.9)
    for one in found:
        assert one.steps <= basis
        assert 1.0 <= one.low <= one.value <= one.high <= operator.P
        assert one.reached is (one.relative_width <= 0.2)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_bound_of_the_norm_is_wrong_as_often_as_said(sign):
    """One eigenvalue and zeros: after one step the bound is below it just where the start has too small a part."""
    operator = diagonal(np.r_[sign, np.zeros(49)])
    missed = 0
    for seed in range(600):
        krylov = Krylov(operator, np.random.default_rng(seed))
        krylov.extend(1)
        missed += probable_norm(krylov, 0.2) < 1.0 - 1e-9
    assert binom.ppf(1e-6, 600, 0.1) <= missed <= binom.ppf(1 - 1e-6, 600, 0.1)  # half the chance is the other end's


@pytest.mark.slow
def test_copies_hidden_from_the_basis_are_covered_as_often_as_said():
    operator, truth, repetitions = diagonal(SPECTRA["copies"]), exact(SPECTRA["copies"]), 200
    found = [
        stable_rank_of(operator, rng=np.random.default_rng([8, seed]), relative_width=0.2, confidence=0.9)
        for seed in range(repetitions)
    ]
    assert sum(truth in one for one in found) >= binom.ppf(0.05, repetitions, 0.9)
    assert all(one.reached for one in found)
    # Other starting vectors find the copies, so that probes need not count them.
    assert np.mean([one.products for one in found]) < 60


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 2])
def test_copies_above_a_bulk_as_large_as_they_are_covered_as_often_as_said(copies):
    """They make less than half of the square of what is left, and most of its spread."""
    eigenvalues = np.r_[np.full(1 + copies, 5.0), SPECTRA["semicircle"][1 + copies : 200]]
    operator, truth, repetitions = diagonal(eigenvalues), exact(eigenvalues), 200
    found = [
        stable_rank_of(operator, rng=np.random.default_rng([9, seed]), relative_width=0.2)
        for seed in range(repetitions)
    ]
    assert sum(truth in one for one in found) >= binom.ppf(0.01, repetitions, 0.95)


def flat(count, width, *outliers):
    """Outliers above a bulk of nearly equal moduli and both signs."""
    rng = np.random.default_rng(0)
    return np.r_[outliers, (1.0 - width * rng.uniform(size=count)) * rng.choice([1, -1], count)]


HIDDEN = {
    "four within 0.2 %": (np.r_[3.0 * (1.0 - 5e-4 * np.arange(4)), np.linspace(-0.4, 0.4, 796)], {}, 200),
    "five within 1 %": (np.r_[3.0 * (1.0 - 3e-3 * np.arange(5)), np.linspace(-0.4, 0.4, 795)], {}, 200),
    "a ladder below the largest": (
        np.r_[2.0, 1.0 - 0.094 * np.arange(6), 0.067 * NORMAL[:393]],
        {"relative_width": 0.1},
        600,
    ),
    "a flat bulk and few beyond the rows": (
        flat(400, 0.016, 69.2, 11.5, -10.8, 7.7, 6.5, 6.4, 3.3, 3.1, -2.3, 2.1),
        {"relative_width": 0.05},
        400,
    ),
    "the same with five rows": (
        flat(300, 0.007, 31.5, 11.5, 5.6, -4.5, 2.3),
        {"relative_width": 1.0, "basis": 5, "products": 22},
        600,
    ),
}
"""Eigenvalues of which a few separate late and make the probes differ, settings, and repetitions."""


@pytest.mark.slow
@pytest.mark.parametrize("name", HIDDEN)
def test_few_large_directions_beside_the_basis_are_covered_as_often_as_said(name):
    values, settings, repetitions = HIDDEN[name]
    operator, truth = rotated(values), exact(values)
    found = [
        stable_rank_of(operator, rng=np.random.default_rng([12, seed]), **{"relative_width": 0.2, **settings})
        for seed in range(repetitions)
    ]
    assert sum(truth in one for one in found) >= binom.ppf(0.05, repetitions, 0.95)


@pytest.mark.parametrize(
    ("dtype", "scale"), [(torch.float32, 1e30), (torch.float32, 1e-30), (torch.float64, 1e160), (torch.float64, 1e-160)]
)
def test_no_scale_is_taken_for_zero(dtype, scale):
    plain, scaled = (
        measure_spectrum(diagonal(np.r_[3.0, 2.0, 0.1 * NORMAL[:60]] * factor, dtype), SpectrumSettings(outliers=2))
        for factor in (1.0, scale)
    )
    rank = plain.stable_rank
    assert scaled.stable_rank.value == pytest.approx(rank.value, rel=1e-6)
    assert scaled.stable_rank.high == pytest.approx(rank.high, rel=1e-5)
    for name in ("spectral_norm", "frobenius"):
        one, other = getattr(scaled.stable_rank, name), getattr(rank, name)
        assert [one.low / scale, one.high / scale] == pytest.approx([other.low, other.high], rel=1e-5)
    assert scaled.eigenvalues / scale == pytest.approx(plain.eigenvalues, rel=1e-5, abs=1e-6)
    assert scaled.residuals.max() / scale <= 1e-3
    assert scaled.measure.nodes[0] / scale == pytest.approx(plain.measure.nodes[0], abs=1e-3)
    assert (scaled.fit is None) is (scale in (1e160, 1e-160))
    exactly = stable_rank_of(diagonal(np.full(30, scale), dtype), rng=np.random.default_rng(0))
    assert exactly.value == pytest.approx(30.0, rel=1e-5)


def test_everything_with_the_unit_of_an_eigenvalue_scales_with_the_matrix():
    """A power of two changes no digit."""
    values, factor = np.r_[3.0, -2.0, 0.1 * NORMAL[:60]], 2.0**9
    plain, scaled = (
        stable_rank_of(diagonal(values * by), rng=np.random.default_rng(0), basis=20, products=60)
        for by in (1.0, factor)
    )
    assert plain.residual > 0.0
    for name in (field.name for field in fields(plain)):
        one, other = getattr(plain, name), getattr(scaled, name)
        if name in ("spectral_norm", "frobenius"):
            assert (other.value, other.low, other.high) == (factor * one.value, factor * one.low, factor * one.high)
        else:
            assert other == (factor * one if name in ("eigenvalue", "residual") else one), name


def test_numbers_too_small_to_keep_their_digits_are_refused():
    with pytest.raises(CurvatureError, match="numbers lose their digits: multiply the loss by a constant"):
        stable_rank_of(diagonal(np.full(30, 1e-39), torch.float32), rng=np.random.default_rng(0))


@pytest.mark.parametrize("freedom", [4, 20, 100])
@pytest.mark.parametrize("count", [PILOT, 40])
def test_the_interval_of_probes_covers_their_mean_as_often_as_said(freedom, count):
    """Sums of so many equal squares, of mean 1, as probes of a matrix of that rank give them."""
    rng = np.random.default_rng(freedom + count)
    draws = rng.chisquare(freedom, (4000, count)) / freedom
    intervals = [Probes(squares).interval(0.95) for squares in draws]
    covered = sum(1.0 in one for one in intervals)
    # A twentieth of the 5 % is left to the starting vector; and not so wide that nothing could miss.
    assert binom.ppf(1e-6, 4000, 0.9525) <= covered < 3960
