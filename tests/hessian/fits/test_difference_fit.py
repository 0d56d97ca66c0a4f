"""Samples' Hessians against dense ones, and what a difference of two covariances predicts of samples that are one."""

from itertools import combinations

import numpy as np
import pytest
import torch
from torch import nn

from hessian import CurvatureError, SampleHessians, exact_hessian, fit_difference, sample_hessian_parts, sample_hessians

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(9, 5, generator=GENERATOR, dtype=torch.float64)
CLASSES = torch.randint(0, 3, (9,), generator=GENERATOR)
LOSS = nn.CrossEntropyLoss()


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).double()


def gaussian_samples(N=300, P=40, seed=0):
    """Two positive and two negative directions a sample, of covariances that do not commute, unequal weights."""
    rng = np.random.default_rng(seed)
    roots = [np.linalg.qr(rng.standard_normal((P, P)))[0] for _ in range(2)]
    scales = (np.concatenate([[2.0, 1.6], np.geomspace(0.7, 0.1, P - 2)]), np.geomspace(1.5, 0.05, P))
    turns = [root[:, :] * scale for root, scale in zip(roots, scales, strict=True)]
    hessians = np.zeros((N, P, P))
    for turn, sign in zip(turns, (1.0, -1.0), strict=True):
        rows = rng.standard_normal((N, 2, P)) @ turn.T * np.sqrt(rng.exponential(size=(N, 2, 1)))
        hessians += sign * rows.transpose(0, 2, 1) @ rows
    return hessians


def summed(hessians):
    values, vectors = np.linalg.eigh(hessians)
    plus, minus = (
        ((vectors * np.maximum(sign * values, 0.0)[:, None]) @ vectors.transpose(0, 2, 1)).mean(axis=0)
        for sign in (1.0, -1.0)
    )
    kept = np.argsort(-np.abs(values), axis=1)[:, :4]
    return SampleHessians(np.sort(np.take_along_axis(values, kept, axis=1)), plus, minus, len(plus), 1.0)


def test_samples_make_up_the_hessian():
    model = network()
    found = sample_hessians(model, LOSS, (X, CLASSES), rank=12)
    assert found.plus - found.minus == pytest.approx(exact_hessian(model, LOSS, X, CLASSES).numpy(), abs=1e-12)
    for row in range(9):
        one = torch.linalg.eigvalsh(exact_hessian(model, LOSS, X[row : row + 1], CLASSES[row : row + 1]))
        nonzero = np.sort(one.numpy()[np.argsort(-one.abs().numpy())[:12]])
        assert found.eigenvalues[row] == pytest.approx(nonzero, abs=1e-12)
    assert found.traces == pytest.approx((np.trace(found.plus), np.trace(found.minus)))
    assert found.captured == pytest.approx(1.0, abs=0.3)  # nine samples, twelve random vectors each
    batches = sample_hessians(model, LOSS, [(X[:4], CLASSES[:4]), (X[4:], CLASSES[4:])], rank=12)
    assert batches.plus == pytest.approx(found.plus, abs=1e-12)


def test_directions_and_parameters():
    model = network()
    whole = exact_hessian(model, LOSS, X, CLASSES)
    V = torch.linalg.eigh(whole)[1][:, [0, 1, -2, -1]]
    found = sample_hessians(model, LOSS, (X, CLASSES), rank=12, directions=V)
    assert found.plus - found.minus == pytest.approx((V.T @ whole @ V).numpy(), abs=1e-12)
    assert found.dimension == 39
    head = sample_hessians(model, LOSS, (X, CLASSES), rank=15, parameters="2.*")
    assert head.plus - head.minus == pytest.approx(whole[-15:, -15:].numpy(), abs=1e-12)


def test_a_rank_too_small_is_seen():
    found = sample_hessians(network(), LOSS, (X, CLASSES), rank=2)
    assert found.captured < 0.9
    assert found.eigenvalues.shape == (9, 2)


@pytest.mark.parametrize("M", [1, 2, 5])
def test_frobenius_norm_is_exact_over_all_subsets(M):
    hessians = gaussian_samples(N=6, P=8)
    fit = fit_difference(summed(hessians), block=4)
    every = [float((hessians[list(subset)].mean(axis=0) ** 2).sum()) for subset in combinations(range(6), M)]
    assert fit.predict(M, top=1).frobenius_squared == pytest.approx(np.mean(every), rel=1e-12)


def test_samples_of_the_model_are_predicted():
    """At 30 and 100 of 300 samples, means over 100 subsets; the limit errs by a few per cent, 0.1 in an overlap."""
    hessians, rng = gaussian_samples(), np.random.default_rng(1)
    vectors = np.linalg.eigh(hessians.mean(axis=0))[1]
    fit = fit_difference(summed(hessians), block=12)
    for M in (30, 100):
        ends, overlaps, ranks = [], [], []
        for _ in range(100):
            values, found = np.linalg.eigh(hessians[rng.permutation(300)[:M]].mean(axis=0))
            ends.append(values[[-1, -2, 0, 1]])
            overlaps.append([(vectors[:, k] @ found[:, k]) ** 2 for k in (-1, -2, 0)])
            ranks.append((values**2).sum() / np.abs(values).max() ** 2)
        predicted = fit.predict(M, top=3)
        expected = [*predicted.above[:2], *predicted.below[:2]]
        assert expected == pytest.approx(np.mean(ends, axis=0), rel=0.08)
        found_overlaps = [*predicted.overlaps_above[:2], predicted.overlaps_below[0]]
        assert found_overlaps == pytest.approx(np.mean(overlaps, axis=0), abs=0.12)
        assert predicted.stable_rank == pytest.approx(np.mean(ranks), rel=0.15)
        # A spectrum that does not depend on the sample size would be noticed.
        assert predicted.above[0] > 1.01 * np.linalg.eigvalsh(hessians.mean(axis=0))[-1]


def test_directions_that_were_left_out():
    """The block alone and equal shares for the rest: first eigenvalue within a few per cent of all directions."""
    hessians = gaussian_samples()
    whole = summed(hessians)
    turn = np.linalg.eigh(whole.plus + whole.minus)[1][:, ::-1][:, :20]
    part = SampleHessians(whole.eigenvalues, turn.T @ whole.plus @ turn, turn.T @ whole.minus @ turn, 40, 1.0)
    squares = float((hessians.mean(axis=0) ** 2).sum())
    some, every = (
        fit_difference(part, block=12, frobenius_squared=squares).predict(30),
        fit_difference(whole).predict(30),
    )
    assert some.above[0] == pytest.approx(every.above[0], rel=0.02)
    assert some.stable_rank == pytest.approx(every.stable_rank, rel=0.04)


def test_doors():
    with pytest.raises(CurvatureError, match="rank must lie between 1 and P = 39, got 40"):
        sample_hessian_parts(network(), LOSS, (X, CLASSES), rank=40)
    with pytest.raises(CurvatureError, match="couple the samples"):
        sample_hessian_parts(network(), LOSS, (X, CLASSES), rank=4, batch_norm="batch")
    whole = summed(gaussian_samples(N=20, P=8))
    with pytest.raises(ValueError, match="block must lie between 2 and the number of directions, 8"):
        fit_difference(whole, block=9)
    fit = fit_difference(whole, block=4)
    with pytest.raises(ValueError, match="M must lie between 1 and N - 1 = 19"):
        fit.predict(20, top=1)
    with pytest.raises(ValueError, match="top must lie between 1 and half the block, 2"):
        fit.predict(5, top=3)
    part = SampleHessians(whole.eigenvalues, whole.plus[:4, :4], whole.minus[:4, :4], 8, 1.0)
    with pytest.raises(ValueError, match="4 directions were left out"):
        fit_difference(part, block=3)
    with pytest.raises(ValueError, match="all of one sign"):
        fit_difference(SampleHessians(np.abs(whole.eigenvalues), whole.plus, whole.minus, 8, 1.0), block=4)


def test_a_block_of_all_directions():
    """Where the parts commute, a smaller block loses nothing."""
    plus, minus = np.diag([4.0, 1.0, 0.5, 0.1]), np.diag([0.2, 0.3, 0.1, 3.0])
    hessians = SampleHessians(np.tile([-3.6, 5.6], (50, 1)), plus, minus, 4, 1.0)
    some, every = (fit_difference(hessians, block=block).predict(10, top=1) for block in (2, 4))
    assert every.above == pytest.approx(some.above, rel=1e-6)
    assert every.below == pytest.approx(some.below, rel=1e-6)
    assert every.overlaps_below == pytest.approx(some.overlaps_below, rel=1e-4)
