"""Quadratures of three nodes by hand, and what is made where nothing is said."""

import numpy as np
import pytest
import torch

from hessian import CurvatureError, DenseOperator, SpectralMeasure, spectral_measure
from hessian.lanczos.krylov import RitzPairs

ONE = SpectralMeasure(4, (np.array([-1.0, 3.0]), np.array([1.0, 2.0])), (np.array([0.5, 0.25]),) * 2, np.array([5.0]))
"""Two probes and one atom of mass 1/4."""


def test_moments_average_the_probes_beside_the_atoms():
    first, second = 0.5 * 1 + 0.25 * 9, 0.5 * 1 + 0.25 * 4
    moment = ONE.moment(2)
    assert moment.value == pytest.approx(25 / 4 + (first + second) / 2)
    assert moment.sd == pytest.approx(abs(first - second) / 2)  # of two, the deviation is their gap over root two
    assert np.isnan(SpectralMeasure(4, ONE.nodes[:1], ONE.weights[:1], ONE.atoms).moment(1).sd)
    alone = SpectralMeasure(2, (), (), np.array([3.0, 1.0])).moment(1)
    assert (alone.value, alone.sd) == (2.0, 0.0)


def test_the_rule_is_in_increasing_order_with_and_without_atoms():
    nodes, weights = ONE.rule()
    assert nodes.tolist() == [-1.0, 1.0, 2.0, 3.0, 5.0]
    assert weights == pytest.approx([0.25, 0.25, 0.125, 0.125, 0.25])
    nodes, weights = ONE.rule(with_atoms=False)
    assert nodes.tolist() == [-1.0, 1.0, 2.0, 3.0]
    assert weights.sum() == pytest.approx(0.75)
    assert ONE.cdf([-2, -1, 1.5, 5]).tolist() == pytest.approx([0.0, 0.25, 0.5, 1.0])


def test_the_density_is_a_sum_of_normal_ones():
    peak = 1.0 / (0.1 * np.sqrt(2.0 * np.pi))
    assert ONE.density([5, 4], 0.1) == pytest.approx([0.25 * peak, 0.0], abs=1e-15)
    assert ONE.density([[5], [1]], 0.1, with_atoms=False) == pytest.approx(np.array([[0.0], [0.25 * peak]]), abs=1e-15)
    for width in (0.0, -1.0, float("nan")):
        with pytest.raises(CurvatureError, match="the width of the kernel must be positive"):
            ONE.density([0.0], width)


def test_eight_probes_of_sixty_steps_where_nothing_is_said():
    operator, reports = DenseOperator(torch.diag(torch.linspace(-1.0, 1.0, 90).double())), []
    measure = spectral_measure(operator, rng=np.random.default_rng(0), progress=reports.append)
    assert [len(nodes) for nodes in measure.nodes] == [60] * 8
    assert reports == [f"probe {probe} of 8" for probe in range(1, 9)]
    assert [float(weights.sum()) for weights in measure.weights] == pytest.approx([1.0] * 8)
    for numbers in ({"probes": 0}, {"steps": 0}):
        with pytest.raises(CurvatureError, match="probes and steps must be positive"):
            spectral_measure(operator, rng=np.random.default_rng(0), **numbers)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_three_vectors_give_the_rule_of_a_basis(dtype):
    """The same nodes while no eigenvalue has converged; later copies, which share the weights."""
    values = np.r_[50.0, 20.0, np.linspace(-1.0, 1.0, 88)]
    operator = DenseOperator(torch.diag(torch.from_numpy(values)).to(dtype))
    for steps, same in ((5, True), (60, False)):
        one, other = (
            spectral_measure(operator, rng=np.random.default_rng(1), probes=1, steps=steps, three_vectors=three)
            for three in (False, True)
        )
        if same:
            np.testing.assert_allclose(one.nodes[0], other.nodes[0], atol=1e-3)
            np.testing.assert_allclose(one.weights[0], other.weights[0], atol=1e-4)
        assert other.weights[0].sum() == pytest.approx(1.0, rel=1e-5)
        for power in range(5):
            assert other.moment(power).value == pytest.approx(one.moment(power).value, rel=1e-4, abs=1e-4)
        grid = np.array([-0.5, 0.0, 0.5, 10.0, 30.0])
        np.testing.assert_allclose(one.cdf(grid), other.cdf(grid), atol=0.05 if not same else 1e-5)
    assert int((other.nodes[0] > 40.0).sum()) > 1  # copies


def test_rounding_is_that_of_the_largest_modulus_taken_out():
    """The pair of -1e6 is taken out, next to which the products with the rest are rounded."""
    for sign in (-1.0, 1.0):
        matrix = sign * torch.diag(torch.cat([torch.tensor([1e6]), torch.linspace(0.0, 1.0, 30)]).double())
        pairs = RitzPairs(np.array([sign * 1e6]), torch.eye(31).double()[:1], np.zeros(1))
        found = spectral_measure(DenseOperator(matrix), rng=np.random.default_rng(0), probes=1, steps=3, without=pairs)
        assert found.rounding == pytest.approx(10.0 * np.finfo(float).eps * 1e6, rel=0.5)
        assert found.atoms.tolist() == [sign * 1e6]


def test_three_vectors_stop_where_a_space_is_invariant():
    operator = DenseOperator(torch.eye(7).double())
    measure = spectral_measure(operator, rng=np.random.default_rng(0), probes=2, steps=5, three_vectors=True)
    assert [nodes.tolist() for nodes in measure.nodes] == [pytest.approx([1.0])] * 2


@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("steps", [1, 2])
def test_steps_give_the_moments_that_their_rule_is_exact_for_and_no_others(three, steps):
    values = np.arange(-3.0, 9.0)
    operator = DenseOperator(torch.diag(torch.from_numpy(values)))
    few, many = (
        spectral_measure(operator, rng=np.random.default_rng(0), probes=3, steps=m, three_vectors=three)
        for m in (steps, 9)
    )
    for power in range(2 * steps):
        assert few.moment(power).value == pytest.approx(many.moment(power).value)
    with pytest.raises(CurvatureError, match=rf"moment {2 * steps} needs steps of at least {steps + 1}"):
        few.moment(2 * steps)


@pytest.mark.parametrize("power", [-1, 0.5, np.nan, np.inf, True, "2"])
def test_powers_that_no_rule_is_exact_for_are_refused(power):
    with pytest.raises(CurvatureError, match="must be a whole number of at least 0, got"):
        ONE.moment(power)


def test_steps_that_see_everything_give_all_moments():
    whole = spectral_measure(DenseOperator(torch.eye(7).double()), rng=np.random.default_rng(0), probes=1, steps=2)
    assert whole.moment(8).value == pytest.approx(1.0)
    all_of_two = DenseOperator(torch.diag(torch.tensor([1.0, 3.0]).double()))
    values = [
        spectral_measure(all_of_two, rng=np.random.default_rng(seed), probes=1, steps=2).moment(6).value
        for seed in range(2)
    ]
    assert all(1.0 < value < 3.0**6 for value in values)
