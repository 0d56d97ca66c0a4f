"""Tools that measure the geometric claims of FeDLRT, against oracles."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from paper_checks.context import Context
from paper_checks.fedlrt.alg_6 import measure_means
from paper_checks.fedlrt.full_rank_distance import measure_beside
from paper_checks.fedlrt.lemma_2 import projector
from paper_checks.fedlrt.measurements.splitting import flow
from paper_checks.fedlrt.sec_3_1 import claim_trunc, measure_spectra
from toymodels.quadratic import centred


@pytest.mark.parametrize("curvatures", [(0.1, 1.0), (-0.3, 1.0), (0.0, 1.0)])
def test_the_gradient_flow_of_a_quadratic_is_integrated_exactly(curvatures):
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    loss = centred(turn * np.linspace(*curvatures, 6) @ turn.T, rng.standard_normal((2, 3)))
    start = rng.standard_normal((2, 3))

    def slope(_, w):
        return -loss.gradient({"W": torch.from_numpy(w.reshape(2, 3))})["W"].numpy().ravel()

    oracle = solve_ivp(slope, (0.0, 1.5), start.ravel(), rtol=1e-11, atol=1e-12).y[:, -1].reshape(2, 3)
    np.testing.assert_allclose(flow(loss, torch.from_numpy(start), 1.5).numpy(), oracle, rtol=0, atol=1e-8)


def test_a_projector_has_the_rank_that_is_there():
    basis = torch.eye(5, 2, dtype=torch.float64)
    inside = basis @ torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    assert torch.trace(projector(basis, inside)) == pytest.approx(2.0)
    assert torch.trace(projector(basis, 1e-6 * torch.eye(5, dtype=torch.float64)[:, 2:4])) == pytest.approx(4.0)
    assert torch.trace(projector(basis, 0.0 * inside)) == pytest.approx(2.0)


def test_spectra_meet_the_assumption_and_hold_ties_and_zeros():
    spectra = measure_spectra(Context("fedlrt/claim-trunc"))
    assert all(sum(s * s for s in sigma) >= theta**2 and theta > 0 for sigma, theta in spectra)
    assert any(sigma[-1] == 0 for sigma, _ in spectra)
    assert any(sum(s * s for s in sigma[k:]) == theta**2 for sigma, theta in spectra for k in range(len(sigma)))
    assert claim_trunc.judge(spectra, after=1).ok
    assert not claim_trunc.judge(spectra).ok


def test_the_core_of_stacked_factors_has_the_singular_values_of_the_mean():
    means = measure_means(Context("fedlrt/claim-alg6"))
    assert any(one.clients * one.rank < one.size for one in means)
    assert any(one.clients * one.rank >= one.size for one in means)
    assert max(one.gap for one in means) < 1e-12


def test_fedlrt_is_fedlin_within_its_bases_and_stays_behind_outside():
    runs = measure_beside(Context("fedlrt/claim-close-to-full"))
    inside = [one for one in runs if one.normal < 1e-12 and one.rounds == 5]
    assert inside
    assert all(one.distance < 1e-12 for one in inside)
    stuck = next(one for one in runs if one.by_hand is not None)
    assert stuck.distance == pytest.approx(1.0 - 0.99**stuck.rounds, abs=1e-4)
    assert stuck.off_rank == pytest.approx(2.0**0.5 * 1e-4)
    assert 0.0 < stuck.cut < 1e-9
    assert stuck.normal == pytest.approx(1.0)
    assert stuck.distance <= stuck.bound(1.0, 1.0, 1.0)
    attained = [one for one in runs if one.rounds == 1 and one.cut == 0.0][:2]
    assert [(one.distance, one.normal, one.slope) for one in attained] == [(0.5, 1.0, 1.0), (0.0625, 0.0, 1.0)]
    assert [one.bound(1.0, 1.0, 1.0) for one in attained] == [0.5, 0.0625]
