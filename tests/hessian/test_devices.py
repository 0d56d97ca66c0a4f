"""Devices: nothing is created elsewhere than where the model lies, and on a GPU the numbers are those of the CPU.

Without a GPU, a foreign default device replaces it: a tensor that is created without naming its device lands there,
where it has no values, and the computation fails.
"""

import copy
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from curvature_cases import cases

from hessian import Curvature, exact_hessian, extreme_eigenpairs, measure_spectrum, spectral_measure, stable_rank
from hessian.pyhessian.backend import PyHessianSettings, density_quadrature, top_eigenvalues
from hessian.spectrum import SpectrumSettings
from workloads.image_networks.small import perceptron

CASES = cases()
LOSS = torch.nn.CrossEntropyLoss()
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
DEVICES = [pytest.param("foreign default", id="foreign"), pytest.param("cuda", marks=needs_gpu)]


def placed(model, device):
    """A copy of the model on the device, and a context in which other tensors are created elsewhere."""
    if device == "cuda":
        return copy.deepcopy(model).cuda(), nullcontext()
    return copy.deepcopy(model), torch.device("meta")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("vectorize", [1, 4])
@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_products_do_not_depend_on_the_device(name, matrix, vectorize, device):
    case = CASES[name]
    if matrix == "gauss-newton" and case.mapping:
        pytest.skip("the output is not a single tensor")
    options = {**case.options, "matrix": matrix, "vectorize": vectorize}
    here = Curvature(case.model, case.loss, case.batch(), **options)
    vectors = torch.randn((4, here.P), dtype=here.dtype, generator=torch.Generator().manual_seed(1))
    expected = here.products(vectors)
    model, elsewhere = placed(case.model, device)
    with elsewhere:
        there = Curvature(model, case.loss, case.uneven(), **options)
        found = there.products(vectors.to(there.device))
        assert there.cost().gradient_seconds > 0.0
    assert float((found.cpu() - expected).norm()) <= 1e-11 * float(expected.norm())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["mlp", "cnn", "transformer"])
def test_the_interval_contains_the_stable_rank_of_the_dense_matrix(name, device):
    case = CASES[name]
    values = torch.linalg.eigvalsh(case.dense())
    exact = float((values**2).sum() / values.abs().max() ** 2)
    model, elsewhere = placed(case.model, device)
    with elsewhere:
        found = stable_rank(model, case.loss, case.uneven(), relative_width=1e-3, basis=1000, **case.options)
    assert exact in found


@pytest.mark.parametrize("device", DEVICES)
def test_eigenpairs_and_quadrature_do_not_depend_on_the_device(device):
    case = CASES["cnn"]
    values = torch.linalg.eigvalsh(case.dense()).flip(0).numpy()
    model, elsewhere = placed(case.model, device)
    with elsewhere:
        operator = Curvature(model, case.loss, case.batch())
        pairs = extreme_eigenpairs(operator, 3, 2, rng=np.random.default_rng(0), tolerance=1e-9)
        moment = spectral_measure(operator, rng=np.random.default_rng(1), probes=20, steps=operator.P).moment(2)
    assert pairs.values == pytest.approx([*values[:3], *values[-2:]], rel=1e-7, abs=1e-9 * abs(values[0]))
    assert moment.value == pytest.approx(float((values**2).mean()), abs=6.0 * moment.sd)


@pytest.mark.parametrize("device", DEVICES)
def test_the_exact_hessian_and_a_whole_measurement(device):
    own = perceptron(6, (5,), 3, 0)
    x, y = torch.randn(20, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2)), torch.arange(20) % 3
    expected = exact_hessian(own, LOSS, x, y)
    values = torch.linalg.eigvalsh(expected)
    model, elsewhere = placed(own, device)
    with elsewhere:
        operator = Curvature(model, LOSS, (x, y))
        here = x.to(operator.device), y.to(operator.device)
        found = exact_hessian(model, LOSS, *here)
        slow = exact_hessian(model, LOSS, *here, method="columns")
        report = measure_spectrum(operator, SpectrumSettings(outliers=3))
    for other in (found, slow):
        assert float((other.cpu() - expected).norm()) <= 1e-12 * float(expected.norm())
    assert float((values**2).sum() / values.abs().max() ** 2) in report.stable_rank


@needs_gpu
def test_pyhessian_follows_the_model():
    case = CASES["mlp"]  # PyHessian creates its tensors first and moves them then: no foreign default for it
    top = float(torch.linalg.eigvalsh(case.dense())[-1])
    model = copy.deepcopy(case.model).cuda()
    found = density_quadrature(model, LOSS, case.batch(), PyHessianSettings(iterations=25))
    assert found.nodes[0][-1] == pytest.approx(top, rel=1e-5)  # of 25 steps from a start that a GPU draws
    assert top_eigenvalues(model, LOSS, case.batch()).values[0] == pytest.approx(top, rel=0.05)
