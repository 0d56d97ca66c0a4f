"""Stable rank and eigenpairs at one state after the other, from the state before where eigenvectors turn slowly."""

from dataclasses import replace
from math import asin, cos, pi

import numpy as np
import pytest
import torch
from scipy.linalg import expm

from hessian import DenseOperator, SpectrumSettings
from hessian.lanczos.krylov import RitzPairs
from hessian.lanczos.memory import Budget
from hessian.through_training import angles_of, overlaps, rank_columns, sequence_of, state_spectrum

P = 90


def path(turn, states, seed=0):
    """Yield eigenvalues and matrices whose eigenvectors turn and whose large eigenvalues move."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((P, P)))[0]
    skew = rng.standard_normal((P, P))
    rotation = expm(turn * (skew - skew.T) / np.sqrt(P))
    for place in range(states):
        values = np.r_[5.0 + 0.2 * place, 2.0, -1.5, 0.8 - 0.1 * place, 0.05 * rng.standard_normal(P - 4)]
        dense = (basis * values) @ basis.T
        yield values, DenseOperator(torch.from_numpy((dense + dense.T) / 2.0))
        basis = rotation @ basis


def test_states_that_change_slowly_start_from_the_one_before_with_intervals_that_hold():
    settings = SpectrumSettings(width=0.1, outliers=3)
    sequence, warm, spent = sequence_of(settings), [], []
    for values, operator in path(1e-3, 4):
        found = state_spectrum(operator, settings, sequence=sequence)
        assert (values**2).sum() / np.abs(values).max() ** 2 in found.rank
        assert np.abs(found.pairs.values - np.sort(values)[::-1][:3]).max() <= found.pairs.residuals.max() + 1e-9
        warm.append(found.warm)
        spent.append(found.rank.products)
    assert warm == [False, True, True, True]
    assert max(spent[1:]) < spent[0]


def test_unrelated_states_are_measured_from_nothing():
    settings = SpectrumSettings(width=0.1, outliers=3)
    sequence = sequence_of(settings)
    for seed in range(3):
        ((values, operator),) = path(0.0, 1, seed)
        found = state_spectrum(operator, settings, sequence=sequence)
        assert not found.warm
        assert (values**2).sum() / np.abs(values).max() ** 2 in found.rank


def test_angles_by_hand():
    """The neighbours' residuals narrow a gap, and so does an eigenvalue that may be missing beyond the last.

    The gaps of 5 are 2 - 0.3, 2.5 - 0.05 and, to 2.5 + 0.2, 2.3; those of 3 are 2 - 0.1, 0.5 - 0.05 and 0.3.
    """
    pairs = RitzPairs(np.array([5.0, 3.0, 2.5]), torch.eye(3), np.array([0.1, 0.29, 0.05]), 0.2)
    found = angles_of(replace(pairs, residuals=np.array([0.1, 0.3, 0.05])))
    assert found == pytest.approx([asin(0.1 / 1.7), pi / 2, pi / 2])  # a residual as wide as the gap tells nothing
    assert angles_of(pairs) == pytest.approx([asin(0.1 / 1.71), asin(0.29 / 0.3), pi / 2])
    assert angles_of(replace(pairs, missed=0.0))[1] == pytest.approx(asin(0.29 / 0.45))
    assert angles_of(replace(pairs, missed=np.inf)) == pytest.approx([pi / 2] * 3)


def test_overlaps_by_hand():
    """Vectors 0.5 apart, known up to 0.1 + 0.15; an angle is at least 0 and at most a right one."""
    settings = SpectrumSettings(outliers=2)
    known = state_spectrum(DenseOperator(torch.diag(torch.tensor([5.0, 3.0, 0.1]).double())), settings)
    turn = torch.tensor([[cos(0.5), -cos(pi / 2 - 0.5), 0.0], [0.0, 0.0, 1.0]]).double()
    ends = []
    for vectors, angles in ((torch.eye(3).double()[:2], [0.1, 0.2]), (turn, [0.15, 0.3])):
        pairs = RitzPairs(np.array([5.0, 3.0]), vectors, np.zeros(2))
        ends.append(replace(known, pairs=pairs, angles=np.array(angles)))
    one, other = overlaps(*ends)
    assert (one.value, one.low, one.high) == pytest.approx((cos(0.5), cos(0.75), cos(0.25)))
    assert (other.value, other.low, other.high) == pytest.approx((0.0, 0.0, cos(pi / 2 - 0.5)), abs=1e-15)
    same, opposite = overlaps(
        ends[0], replace(ends[0], pairs=replace(ends[0].pairs, vectors=-torch.eye(3).double()[:2]))
    )
    assert (same.value, same.low, same.high) == pytest.approx((1.0, cos(0.2), 1.0))
    assert (opposite.value, opposite.low, opposite.high) == pytest.approx((1.0, cos(0.4), 1.0))
    row = rank_columns(known.rank)
    assert row["value"] == pytest.approx((25 + 9 + 0.01) / 25)
    assert row["largest"] == pytest.approx(5.0)
    assert row["frobenius"] == pytest.approx(34.01**0.5)
    assert row["low"] <= row["value"] <= row["high"]


@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_overlaps_do_not_depend_on_the_lengths_of_vectors_in_single_precision(angle):
    """Vectors that were rounded to single precision are not of length 1, so a state would differ from itself."""
    settings = SpectrumSettings(outliers=2)
    known = state_spectrum(DenseOperator(torch.diag(torch.tensor([5.0, 3.0, 0.1]))), settings)
    turn = torch.tensor([[cos(angle), 0.0, cos(pi / 2 - angle)], [0.0, 1.0, 0.0]])
    states = []
    for length, vectors in ((1.0 - 2e-7, torch.eye(3)[:2]), (1.0 + 4e-7, turn)):
        pairs = RitzPairs(np.array([5.0, 3.0]), length * vectors, np.zeros(2))
        states.append(replace(known, pairs=pairs, angles=np.full(2, 1e-6)))
    for before, after in (states, states[::-1], (states[0], states[0])):
        one, other = overlaps(before, after)
        expected = 1.0 if before is after else cos(angle)
        assert one.low - 1e-12 <= expected <= one.high + 1e-12
        assert (other.value, other.high) == pytest.approx((1.0, 1.0), abs=1e-13)


def test_a_budget_of_memory_or_no_sequence_leaves_every_state_by_itself():
    assert sequence_of(SpectrumSettings(memory=Budget.of("1 GiB"))) is None
    settings = SpectrumSettings(width=0.1, outliers=3)
    states = [operator for _, operator in path(1e-3, 2)]
    alone = state_spectrum(states[1], settings)
    for operator in states:
        found = state_spectrum(operator, settings)
    assert found.rank == alone.rank
    assert not found.warm
