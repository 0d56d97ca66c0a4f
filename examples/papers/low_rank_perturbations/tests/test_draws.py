"""The secular equations give the eigenvalues and vectors of the same matrices, built in full."""

import numpy as np
import pytest
from low_rank_perturbations.draws import draw_product, draw_singular, projections, spectrum

from rmt import SpikedModel
from rmt.secular import draw_rotated

WISHART = "Wishart, ratio 1/2"


@pytest.mark.parametrize("index", [1, 2, 3, 30])
def test_projections_on_the_directions(index):
    spikes = (3.0, 1.7, -2.0)
    draw = draw_rotated(SpikedModel(spikes), 30, np.random.default_rng(1))
    values, vectors = np.linalg.eigh(np.diag(draw.noise) + draw.directions * spikes @ draw.directions.T)
    assert draw.eigenvalue(index) == pytest.approx(values[-index])
    expected = (draw.directions.T @ vectors[:, -index]) ** 2
    assert projections(draw, draw.eigenvalue(index)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("theta", [0.05, 0.7, 20.0])
def test_products(theta):
    v = np.random.default_rng(2).standard_normal(25)
    v /= np.linalg.norm(v)
    root = np.eye(25) + (np.sqrt(1 + theta) - 1) * np.outer(v, v)
    values, vectors = np.linalg.eigh(root * spectrum(WISHART, 25) @ root)
    found = draw_product(WISHART, theta, 25, np.random.default_rng(2))
    assert (found.value, found.projection) == pytest.approx((values[-1], (v @ vectors[:, -1]) ** 2))


@pytest.mark.parametrize(("theta", "ratio"), [(0.1, 0.5), (2.0, 0.5), (2.0, 0.8), (0.3, 1.0)])
def test_singular_values(theta, ratio):
    m, rng = 20, np.random.default_rng(3)
    n = round(m / ratio)
    u, v = rng.standard_normal(m), rng.standard_normal(n)
    X = np.zeros((m, n))
    np.fill_diagonal(X, np.sqrt(spectrum(WISHART, m)))
    X += theta * np.outer(u / np.linalg.norm(u), v / np.linalg.norm(v))
    found = draw_singular(WISHART, theta, ratio, m, np.random.default_rng(3))
    assert found == pytest.approx(np.linalg.norm(X, 2))
