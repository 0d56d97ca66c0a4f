"""Eigenpairs from one end of a matrix known by products, against the eigenvalues of the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator

from rmt import AtomicLaw, JointPopulation, MarchenkoPastur, PointMass, Semicircle, SpikedCovariance, SpikedModel
from rmt.covariance_draws import draw_covariance_matrix_free
from rmt.extreme_eigenpairs import extreme_eigenpairs
from rmt.laws import Law
from rmt.matrix_free import draw_matrix_free
from rmt.sum_draws import draw_sum


def _ends(operator: LinearOperator, count: int, spikes: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return the pairs of both ends, from the whole matrix: upper and lower."""
    values, vectors = eigh(np.array([operator.matvec(row) for row in np.eye(operator.shape[0])]))
    overlaps = vectors[:spikes].T ** 2
    return (values[::-1][:count], overlaps[::-1][:count]), (values[:count], overlaps[:count])


def _assert_same(found: tuple[np.ndarray, np.ndarray], expected: tuple[np.ndarray, np.ndarray], unit: float) -> None:
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-11 * unit)
    # In the space of a repeated eigenvalue only the sum of the overlaps is defined; the last one may be cut.
    groups = np.split(np.arange(len(found[0])), 1 + np.flatnonzero(np.abs(np.diff(expected[0])) > 1e-9 * unit))
    for group in groups[:-1]:
        np.testing.assert_allclose(found[1][group].sum(axis=0), expected[1][group].sum(axis=0), atol=1e-8)


@pytest.mark.sample(4)
@pytest.mark.parametrize("R", [100, 601])  # the whole matrix, and Lanczos
@pytest.mark.parametrize(
    ("noise", "count"),
    [
        (MarchenkoPastur(3.0), 5),
        (MarchenkoPastur(3.0), 2),
        (MarchenkoPastur(1.05), 6),
        (AtomicLaw((-1.0, 0.0, 1.0), (0.9, 0.05, 0.05)), 8),
        (PointMass(0.5), 5),
        (PointMass(0.0), 4),
        (Semicircle(0.4), 4),
    ],
)
def test_both_ends_of_a_draw_by_products_are_those_of_its_matrix(R: int, noise: Law, count: int) -> None:
    draw = draw_matrix_free(SpikedModel((2.0, 2.0, -1.5), noise=noise, scale=0.7), R, np.random.default_rng(R))
    upper, lower = _ends(draw.operator(), count, 3)
    _assert_same(draw.top_overlaps(count), upper, 2.0)
    _assert_same(draw.bottom_overlaps(count), lower, 2.0)


def test_copies_are_found_where_the_matrix_is_too_large_to_be_formed() -> None:
    """An atom of mass 2/3 at 0, of which a spike takes one direction away: a count by the inertia is known."""
    draw = draw_matrix_free(SpikedModel((2.0,), noise=MarchenkoPastur(3.0)), 6000, np.random.default_rng(1))
    values, overlaps = draw.bottom_overlaps(3)
    np.testing.assert_allclose(values, 0.0, atol=1e-10)
    np.testing.assert_allclose(overlaps, 0.0, atol=1e-10)


@pytest.mark.parametrize(("P", "samples"), [(100, 33), (640, 57)])
@pytest.mark.parametrize("side", ["above", "below"])
def test_the_kernel_of_a_sum_by_products_is_counted_with_its_copies(P: int, samples: int, side: str) -> None:
    population = JointPopulation.of([[1.0]], [P - 1.0], [[[9.0]]])
    draw = draw_sum(population, (PointMass(1.0),), (samples,), np.random.default_rng(P), matrix_free=True)
    upper, lower = _ends(draw.operator(), 5, 1)
    _assert_same(draw.extreme_overlaps(5, side), upper if side == "above" else lower, float(upper[0][0]))


def test_a_covariance_by_products_has_as_many_zeros_as_samples_leave() -> None:
    draw = draw_covariance_matrix_free(SpikedCovariance((5.0,), ratio=160.0), 640, np.random.default_rng(4))
    upper, _ = _ends(draw.operator(), 9, 1)
    assert (upper[0] > 1.0).sum() == 4
    _assert_same(draw.top_overlaps(9), upper, float(upper[0][0]))


@pytest.mark.parametrize("scale", [2.0**-66, 2.0**-400, 2.0**90])
@pytest.mark.parametrize("P", [201, 801])
def test_the_unit_of_a_sum_by_products_does_not_matter(scale: float, P: int) -> None:
    drawn = []
    for unit in (1.0, scale):
        population = JointPopulation.of([[unit]], [P - 1.0], [[[2.3 * unit]]])
        draw = draw_sum(population, (PointMass(1.0),), (300,), np.random.default_rng(0), matrix_free=True)
        drawn.append(draw.extreme_overlaps(3))
    np.testing.assert_allclose(drawn[1][0] / scale, drawn[0][0], rtol=1e-12)
    np.testing.assert_allclose(drawn[1][1], drawn[0][1], atol=1e-12)


def test_a_matrix_of_zeros_has_zeros() -> None:
    values, vectors = extreme_eigenpairs(np.zeros_like, 700, 3, largest=True)
    assert values.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(vectors.T @ vectors, np.eye(3))


def test_eigenvalues_too_close_together_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Next to 0 the eigenvalues differ by 1e-15: no number of restarts separates them."""
    monkeypatch.setattr("rmt.extreme_eigenpairs._RESTARTS", 20)
    diagonal = np.linspace(0.0, 1.0, 6001) ** 4
    with pytest.raises(ValueError, match="are too close together to be found by products at dimension 6001; request"):
        extreme_eigenpairs(lambda vector: diagonal * vector, 6001, 1, largest=False)


@pytest.mark.parametrize("count", [0, 3.5, 100, float("nan")])
def test_a_count_out_of_range_is_refused_by_every_draw(count: float) -> None:
    rng = np.random.default_rng(0)
    drawn = draw_covariance_matrix_free(SpikedCovariance((5.0,)), 100, rng)
    population = JointPopulation.of([[1.0]], [99.0], [[[9.0]]])
    summed = draw_sum(population, (PointMass(1.0),), (33,), rng, matrix_free=count == 0)
    spiked = draw_matrix_free(SpikedModel((2.0,)), 100, rng)
    for ask in (spiked.top_overlaps, spiked.bottom_overlaps, drawn.top_overlaps, summed.extreme_overlaps):
        with pytest.raises(ValueError, match="count must"):
            ask(count)  # type: ignore[arg-type, operator]
