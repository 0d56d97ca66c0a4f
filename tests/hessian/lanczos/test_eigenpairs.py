"""The list of extreme eigenvalues has every copy of a repeated one, or says that copies may be missing."""

from math import inf

import numpy as np
import pytest
import torch
from torch import nn

from hessian import Curvature, DenseOperator, SpectrumSettings, exact_hessian, extreme_eigenpairs, measure_spectrum
from hessian.numerics.symmetric import CountedOperator


def rotated(eigenvalues, dtype=torch.float64):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((len(eigenvalues),) * 2))[0]
    dense = torch.from_numpy(Q * np.asarray(eigenvalues, dtype=float) @ Q.T)
    return DenseOperator(((dense + dense.T) / 2).to(dtype))


def ends(eigenvalues, largest, smallest):
    values = np.sort(eigenvalues)[::-1]
    return np.r_[values[:largest], values[len(values) - smallest :]]


def linear(inputs, outputs, samples=60):
    """A linear layer with squared errors: each eigenvalue as often as there are outputs."""
    torch.manual_seed(0)
    model = nn.Linear(inputs, outputs, bias=False).double()
    data = (torch.randn(samples, n, dtype=torch.float64) for n in (inputs, outputs))
    return model, nn.MSELoss(), tuple(data)


@pytest.mark.sample(4)
@pytest.mark.parametrize(("inputs", "outputs"), [(40, 10), (7, 9), (30, 2)])
@pytest.mark.parametrize(("largest", "smallest"), [(12, 0), (0, 5), (7, 6), (1, 1)])
def test_copies_of_a_layer_with_several_outputs_are_listed(inputs, outputs, largest, smallest):
    model, loss, (x, y) = linear(inputs, outputs)
    exact = exact_hessian(model, loss, x, y)
    operator = Curvature(model, loss, (x, y))
    found = extreme_eigenpairs(operator, largest, smallest, tolerance=1e-6, rng=np.random.default_rng(1))
    expected = ends(np.linalg.eigvalsh(exact.numpy()), largest, smallest)
    np.testing.assert_allclose(found.values, expected, atol=1e-6 * expected.max())
    assert found.missed < 0.05 * expected.max()
    gram = (found.vectors @ found.vectors.T).numpy()
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-10)
    residuals = torch.linalg.vector_norm(
        found.vectors @ exact - torch.from_numpy(found.values)[:, None] * found.vectors, dim=1
    )
    assert (residuals.numpy() <= 1.5 * found.residuals + 1e-14).all()


SPECTRA = {
    "copies of both signs": np.r_[np.repeat([5.0, 4.0, 3.0], 3), np.linspace(-1, 1, 300), np.repeat(-2.0, 4)],
    "no simple one": np.repeat([4.0, 1.0, -1.0], [5, 60, 3]),
    "a border within copies": np.r_[6.0, np.repeat(5.0, 20), np.linspace(0.0, 1.0, 150)],
    "a positive definite matrix": np.repeat([3.0, 2.0, 1.0], [2, 7, 4]),
    "a negative definite matrix": -np.repeat([3.0, 2.0, 1.0], [2, 7, 4]),
    "many zeros": np.r_[np.arange(1.0, 8.0), np.zeros(200), -np.repeat([0.5, 0.25], 2)],
    "one value": np.full(30, 2.0),
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("options", [{}, {"block": 3}])
def test_lists_agree_with_known_spectra(name, dtype, options):
    operator = rotated(SPECTRA[name], dtype)
    found = extreme_eigenpairs(operator, 8, 4, tolerance=1e-4, rng=np.random.default_rng(0), **options)
    np.testing.assert_allclose(found.values, ends(SPECTRA[name], 8, 4), atol=1e-3)
    assert found.missed < 0.1


def test_a_simple_spectrum_takes_few_more_products():
    spectrum = np.random.default_rng(0).standard_normal((400, 400))
    operator = CountedOperator(rotated(np.linalg.eigvalsh(spectrum + spectrum.T)))
    lines = []
    rng = np.random.default_rng(0)
    found = extreme_eigenpairs(operator, 10, 10, tolerance=1e-4, rng=rng, progress=lines.append)
    before = max(int(line.split()[0]) for line in lines if not line.startswith("search"))
    assert before < operator.count <= 1.5 * before
    norm = np.abs(found.values).max()
    assert found.missed <= 2e-4 * norm
    np.testing.assert_allclose(
        found.values, ends(np.linalg.eigvalsh(operator._operator.matrix), 10, 10), atol=1e-6 * norm
    )
    once = extreme_eigenpairs(operator, 10, 10, tolerance=1e-4, rng=np.random.default_rng(0), products=before)
    np.testing.assert_array_equal(found.values, once.values)
    assert once.missed == inf


def test_where_products_or_rows_do_not_suffice_the_result_says_so():
    operator = rotated(SPECTRA["a border within copies"])
    found = extreme_eigenpairs(operator, 9, rng=np.random.default_rng(0), products=20)
    assert found.missed == inf
    found = extreme_eigenpairs(operator, 2, rng=np.random.default_rng(0), basis=4)
    assert found.values[1] == pytest.approx(5.0, rel=1e-3)
    assert found.missed > 1e-2
    assert extreme_eigenpairs(rotated([3.0, 2.0, 2.0]), 2, 1, rng=np.random.default_rng(0)).missed == 0.0


@pytest.mark.parametrize("unit", [2.0**40, 2.0**-40])
def test_all_numbers_have_the_unit_of_the_matrix(unit):
    matrix = rotated(np.linspace(-1.0, 1.0, 120) ** 3).matrix
    one, other = (
        extreme_eigenpairs(DenseOperator(size * matrix), 3, 2, tolerance=1e-2, rng=np.random.default_rng(0))
        for size in (1.0, unit)
    )
    assert 0.0 < one.missed < 1.0
    for name in ("values", "residuals", "missed", "rounding"):
        np.testing.assert_allclose(getattr(other, name), unit * getattr(one, name), rtol=1e-9)


def test_a_report_lists_copies_or_says_that_they_may_be_missing():
    model, loss, (x, y) = linear(40, 3)
    settings = {"outliers": 6, "probes": 1, "steps": 5}
    report = measure_spectrum(Curvature(model, loss, (x, y)), SpectrumSettings(**settings))
    exact = np.linalg.eigvalsh(exact_hessian(model, loss, x, y).numpy())
    np.testing.assert_allclose(report.eigenvalues, ends(exact, 6, 6), rtol=1e-4)
    assert "missing" not in report.words()["eigenvalues"]
    report = measure_spectrum(Curvature(model, loss, (x, y)), SpectrumSettings(**settings, products=30))
    assert "copies of repeated eigenvalues may be missing: raise products" in report.words()["eigenvalues"]
