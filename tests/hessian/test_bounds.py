"""Bounds of norms, by hand."""

from math import sqrt

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.stats import beta

from hessian import DenseOperator, Interval
from hessian.bounds import certified_norm, known_square, probable_norm
from hessian.krylov import Krylov


def test_widths_are_relative():
    assert Interval(4.0, 3.0, 5.0).relative_width == 0.5
    assert Interval(0.0, 0.0, 0.0).relative_width == 0.0
    assert Interval(0.0, 0.0, 1.0).relative_width == np.inf
    assert [point in Interval(4.0, 3.0, 5.0) for point in (2.9, 3.0, 5.0, 5.1)] == [False, True, True, False]


def test_one_step_on_a_matrix_of_two_rows():
    r"""With start e_1 the basis is e_1 itself, H = [[2, 1], [1, c]]: T = 2, B = 1 and |C| = |c|.

    The bound solves x = 2 + 1/(x - c): x^2 - (2 + c) x + 2c - 1 = 0.
    """
    matrix = torch.tensor([[2.0, 1.0], [1.0, 0.5]], dtype=torch.float64)
    krylov = Krylov(DenseOperator(matrix), np.random.default_rng(0), start=torch.tensor([3.0, 0.0]).double())
    krylov.extend(1)
    assert known_square(krylov) == pytest.approx(2.0**2 + 2.0 * 1.0**2)
    largest = (2.5 + sqrt(2.5**2 - 4.0 * (2.0 * 0.5 - 1.0))) / 2.0
    assert certified_norm(krylov, 0.5) == pytest.approx(largest, rel=1e-9) == pytest.approx(2.5)
    assert certified_norm(krylov, 2.0) == np.inf


def test_an_invariant_basis_leaves_nothing_to_bound():
    krylov = Krylov(DenseOperator(torch.diag(torch.tensor([3.0, -4.0]).double())), np.random.default_rng(0))
    krylov.extend(2)
    assert certified_norm(krylov, 0.0) == pytest.approx(4.0)
    assert probable_norm(krylov, 0.01) == pytest.approx(4.0)


def test_a_row_that_waits_without_a_product_does_not_lower_the_bound_of_the_norm():
    values = np.r_[5.0, 3.0, np.cos(np.linspace(0.0, np.pi, 58))]
    krylov = Krylov(DenseOperator(torch.diag(torch.from_numpy(values))), np.random.default_rng(0))
    krylov.extend(4)
    before = probable_norm(krylov, 1e-3)
    krylov.seed(2)
    assert np.abs(krylov.ritz()[0]).max() * 1.001 < before
    assert probable_norm(krylov, 1e-3) == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize("lowest", [-2.0, -4.99, -5.01, -8.0])
def test_the_bound_is_that_of_both_ends_whichever_is_the_larger(lowest):
    values = np.r_[lowest, np.cos(np.linspace(0.0, np.pi, 58)), 5.0]
    runs = [
        Krylov(DenseOperator(torch.diag(sign * torch.from_numpy(values))), np.random.default_rng(3))
        for sign in (1.0, -1.0)
    ]
    for krylov in runs:
        krylov.extend(5)
    bounds = [probable_norm(krylov, 1e-3) for krylov in runs]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-9)
    # Each end by its own formula: what the starting vector must have along the eigenvector of a value beyond it.
    theta, S, _ = runs[0].ritz()
    first, C = S[0], runs[0].coupling[0] @ S
    least = beta.ppf(0.5e-3, 0.5, 59 / 2)
    ends = [
        brentq(
            lambda x, sign=sign: (
                ((C * first / (sign * x - theta)).sum() ** 2) / (1.0 + ((C / (sign * x - theta)) ** 2).sum()) - least
            ),
            (sign * theta).max() * (1 + 1e-9),
            1e3,
        )
        for sign in (1.0, -1.0)
    ]
    assert bounds[0] == pytest.approx(max(ends), rel=1e-6)


VANISHING = {
    0.05: [
        [-0.5717, -0.0808, -0.0715, 0.3438],
        [-0.0808, -0.0297, 0.8345, 0.1465],
        [-0.0715, 0.8345, -0.1467, 0.8422],
        [0.3438, 0.1465, 0.8422, -0.986],
    ],
    0.0025: [
        [-0.3689, 0.5028, 0.0884, -0.0643],
        [0.5028, -0.5798, -0.2735, -0.1098],
        [0.0884, -0.2735, 0.9128, 0.258],
        [-0.0643, -0.1098, 0.258, -0.9426],
    ],
}
"""By chance, in the basis of three starts and a fourth row: what the first is known to see vanishes at some bound."""


@pytest.mark.parametrize("chance", VANISHING)
def test_what_the_first_of_several_starts_is_known_to_see_may_come_back_beyond(chance):
    identity = DenseOperator(torch.eye(4, dtype=torch.float64))
    starts = Krylov(identity, np.random.default_rng(0), block=3).waiting.numpy()
    W = np.r_[starts, np.linalg.svd(starts)[2][3:]]
    H = W.T @ np.array(VANISHING[chance]) @ W
    krylov = Krylov(DenseOperator(torch.from_numpy((H + H.T) / 2)), np.random.default_rng(0), block=3)
    krylov.extend(3)
    values, vectors = np.linalg.eigh(H)
    norm, seen = np.abs(values).max(), (W[0] @ vectors[:, np.abs(values).argmax()]) ** 2
    assert seen > beta.ppf(chance / 2, 0.5, 1.5)  # no improbable start
    assert probable_norm(krylov, chance) >= norm
