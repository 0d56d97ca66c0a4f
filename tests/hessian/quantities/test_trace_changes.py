"""Traces by the difference from an earlier matrix: exact without a change, and intervals that hold for any change."""

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest
import torch
from scipy.stats import binom
from scipy.stats import t as student

from hessian import CurvatureError, DenseOperator
from hessian.quantities.estimates import Estimate
from hessian.quantities.names import Quantity
from hessian.quantities.trace_changes import TraceAnchor, half_of_sum
from hessian.quantities.warm_search import WarmStart

P = 40
VALUES = np.r_[3.0, -2.0, 1.0, np.linspace(-0.3, 0.5, P - 3)]


def anchor_of(basis, seed, count=8, kept=3, error=0.0, variance=0.0):
    """Return what is kept of the matrix with these eigenvectors, whose trace was estimated with an error."""
    operator = DenseOperator(torch.from_numpy((basis * VALUES) @ basis.T).clone())
    start = WarmStart(torch.from_numpy(basis[:, :kept].T.copy()), VALUES, 50, 0.0, variance=variance, degrees=inf)
    value = float(VALUES.sum()) + error
    trace = Estimate(Quantity("trace"), value, value - 1.0, value + 1.0, 0.95, 20, reached=True)
    return operator, TraceAnchor.of(operator, start, trace, count, np.random.default_rng([seed, 1]))


def basis_of(rng):
    return np.linalg.qr(rng.standard_normal((P, P)))[0]


def test_an_unchanged_matrix_has_the_trace_of_the_earlier_one_at_one_product_for_each_row():
    operator, anchor = anchor_of(basis_of(np.random.default_rng(0)), 0)
    found = anchor.follow(operator, 0.05, 0.95)
    assert found.trace.value == pytest.approx(VALUES.sum(), rel=1e-12)
    assert found.trace.width < 1e-9
    assert found.variance < 1e-20
    assert anchor.cost == 3 + 8
    assert found.trace.reached


def test_the_interval_of_a_change_by_hand():
    """Variances of the earlier trace and of the mean of 8 forms, with 5 and 8 degrees of freedom."""
    basis = basis_of(np.random.default_rng(5))
    operator, anchor = anchor_of(basis, 5, variance=0.04)
    anchor = replace(anchor, degrees=5.0)
    moved = torch.from_numpy((basis * (VALUES + np.linspace(0.0, 1.0, P))) @ basis.T)
    found = anchor.follow(DenseOperator((moved + moved.T) / 2.0), 0.05, 0.9)
    half = half_of_sum([(0.04, 5.0), (found.variance / 8, 8.0)], 0.9)
    assert found.trace.width == pytest.approx(2.0 * half, rel=1e-6)
    rounded = anchor.follow(operator, 0.05, 0.9).trace
    uncertain = replace(rounded, uncertain=0.5)
    start = WarmStart(torch.from_numpy(basis[:, :3].T.copy()), VALUES, 50, 0.0, variance=0.0, degrees=inf)
    wide = TraceAnchor.of(operator, start, uncertain, 8, np.random.default_rng(0))
    assert wide.slack == pytest.approx(0.25, rel=1e-6)
    assert wide.follow(operator, 0.05, 0.9).trace.uncertain == pytest.approx(0.5, rel=1e-6)


def test_the_effect_of_rounding_by_hand():
    """In single precision: eigenvalues -5 and 4 along the kept vectors, and 2 on a sphere of radius 2 around them."""
    unit = 8.0 * torch.finfo(torch.float32).eps
    start = WarmStart(torch.eye(6)[:2], np.array([-5.0, 4.0, 2.0]), 50, 0.0, variance=0.0, degrees=inf)
    trace = Estimate(Quantity("trace"), 7.0, 6.0, 8.0, 0.95, 20, reached=True)
    operator = DenseOperator(torch.diag(torch.tensor([-5.0, 4.0, 2.0, 2.0, 2.0, 2.0])))
    anchor = TraceAnchor.of(operator, start, trace, 3, np.random.default_rng(0))
    slack = unit * (2 * 5.0 + sqrt(6 * 16.0))
    assert anchor.slack == pytest.approx(slack, rel=1e-5)
    found = anchor.follow(operator, 0.05, 0.95).trace
    assert found.uncertain == pytest.approx(2.0 * (slack + unit * (5.0 + 4.0 + sqrt(6 * 16.0))), rel=1e-5)
    assert found.width == pytest.approx(found.uncertain, rel=1e-3)


@pytest.mark.parametrize("size", [2, 3])
def test_of_as_many_vectors_as_rows_one_is_left_to_the_probes(size):
    values = np.array([3.0, -2.0, 1.0])[:size]
    start = WarmStart(torch.eye(size, dtype=torch.float64), values, 50, 0.0, variance=0.0, degrees=inf)
    trace = Estimate(Quantity("trace"), float(values.sum()), 0.0, 9.0, 0.95, 20, reached=True)
    anchor = TraceAnchor.of(
        DenseOperator(torch.diag(torch.from_numpy(values))), start, trace, 2, np.random.default_rng(0)
    )
    assert anchor.cost == size - 1 + 2
    moved = DenseOperator(torch.diag(torch.from_numpy(values + np.array([0.5, 0.25, 4.0])[-size:])))
    found = anchor.follow(moved, 0.05, 0.95)
    assert found.trace.value == pytest.approx(float(moved.matrix.trace()), rel=1e-12)


def test_a_change_along_the_kept_vectors_is_seen_without_chance():
    basis = basis_of(np.random.default_rng(1))
    _, anchor = anchor_of(basis, 1)
    moved = np.r_[5.0, -1.0, 1.5, VALUES[3:]]
    found = anchor.follow(DenseOperator(torch.from_numpy((basis * moved) @ basis.T)), 0.05, 0.95)
    assert found.trace.value == pytest.approx(moved.sum(), rel=1e-12)
    assert moved.sum() in found.trace


def changed(kind, matrix, rng):
    """Return a matrix that differs little, in one direction only, along the kept vectors too, or in everything."""
    noise = rng.standard_normal((P, P)) / np.sqrt(P)
    direction = rng.standard_normal(P) / np.sqrt(P)
    return {
        "little": matrix + 0.01 * (noise + noise.T) + 0.02 * np.eye(P),
        "one direction": matrix + 2.0 * np.outer(direction, direction),
        "much": matrix @ (np.eye(P) + noise) + (np.eye(P) + noise).T @ matrix,
        "unrelated": noise @ noise.T,
    }[kind]


@pytest.mark.parametrize("error", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["little", "one direction", "much", "unrelated"])
def test_intervals_cover_small_and_large_changes(kind, error):
    repetitions, confidence, inside = 150, 0.9, 0
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, 2])
        basis = basis_of(rng)
        off = error * rng.standard_normal()
        operator, anchor = anchor_of(basis, seed, error=off, variance=error**2)
        matrix = changed(kind, operator.matrix.numpy(), rng)
        found = anchor.follow(DenseOperator(torch.from_numpy((matrix + matrix.T) / 2.0)), 0.05, confidence)
        inside += float(np.trace(matrix)) in found.trace
    assert inside >= binom.ppf(0.002, repetitions, confidence)
    if kind == "much":  # and are not too wide either
        assert inside <= binom.ppf(0.9999, repetitions, 0.97)


def test_a_change_that_is_too_large_for_the_width_says_so():
    rng = np.random.default_rng(3)
    _, anchor = anchor_of(basis_of(rng), 3)
    noise = rng.standard_normal((P, P))
    found = anchor.follow(DenseOperator(torch.from_numpy(noise @ noise.T)), 0.05, 0.95)
    assert not found.trace.reached
    assert found.trace.limit
    share = found.trace.width / found.trace.value
    for width, reached in ((0.999 * share, False), (1.001 * share, True)):
        again = anchor.follow(DenseOperator(torch.from_numpy(noise @ noise.T)), width, 0.95).trace
        assert (again.reached, bool(again.limit)) == (reached, not reached)


def test_products_that_are_not_finite_are_refused():
    operator, anchor = anchor_of(basis_of(np.random.default_rng(4)), 4)
    operator.matrix[0, 0] = float("nan")
    with pytest.raises(CurvatureError, match="not finite"):
        anchor.follow(operator, 0.05, 0.95)


def test_variances_of_independent_estimates_add_up_with_degrees_between_theirs():
    assert half_of_sum([(0.0, inf), (0.0, 3.0)], 0.95) == 0.0
    assert half_of_sum([(4.0, 7.0), (0.0, 3.0)], 0.95) == pytest.approx(2.0 * student.ppf(0.975, 7.0))
    assert half_of_sum([(1.0, 6.0), (1.0, 6.0)], 0.9) == pytest.approx(sqrt(2.0) * student.ppf(0.95, 12.0))
    assert half_of_sum([(9.0, inf), (16.0, 8.0)], 0.95) == pytest.approx(5.0 * student.ppf(0.975, 8.0 * (25 / 16) ** 2))
