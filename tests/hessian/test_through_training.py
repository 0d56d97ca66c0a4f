"""Stable rank and eigenpairs at one state after the other, from the state before where eigenvectors turn slowly."""

import numpy as np
import torch
from scipy.linalg import expm

from hessian import DenseOperator, SpectrumSettings
from hessian.lanczos.memory import Budget
from hessian.through_training import sequence_of, state_spectrum

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


def test_a_budget_of_memory_or_no_sequence_leaves_every_state_by_itself():
    assert sequence_of(SpectrumSettings(memory=Budget.of("1 GiB"))) is None
    settings = SpectrumSettings(width=0.1, outliers=3)
    states = [operator for _, operator in path(1e-3, 2)]
    alone = state_spectrum(states[1], settings)
    for operator in states:
        found = state_spectrum(operator, settings)
    assert found.rank == alone.rank
    assert not found.warm
