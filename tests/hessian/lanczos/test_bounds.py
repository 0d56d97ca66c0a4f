"""Bounds of norms, by hand."""

from math import sqrt

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.stats import beta

from hessian import CurvatureError, DenseOperator, Interval
from hessian.lanczos.bounds import certified_norm, known_square, probable_norm
from hessian.lanczos.krylov import Krylov


def test_widths_are_relative():
    assert Interval(4.0, 3.0, 5.0).relative_width == 0.5
    assert Interval(-4.0, -5.0, -3.0).relative_width == 0.5
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


def test_what_was_lost_of_products_counts_on_both_sides_of_the_diagonal():
    krylov = Krylov(DenseOperator(torch.diag(torch.arange(1.0, 5.0).double())), np.random.default_rng(0))
    krylov.extend(2)
    before = known_square(krylov)
    krylov.lost_square = 0.25
    assert known_square(krylov) == pytest.approx(before + 2 * 0.25)


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


BEYOND = {
    "between two places": (
        4,
        0.05,
        [[-0.5717, -0.0808, -0.0715], [-0.0808, -0.0297, 0.8345], [-0.0715, 0.8345, -0.1467]],
        [0.3438, 0.1465, 0.8422],
        -0.986,
    ),
    "at the first place": (
        4,
        0.0025,
        [[-0.3689, 0.5028, 0.0884], [0.5028, -0.5798, -0.2735], [0.0884, -0.2735, 0.9128]],
        [-0.0643, -0.1098, 0.258],
        -0.9426,
    ),
    "at the end of the bracket": (
        10,
        0.0025,
        [[1.3003, 0.66, -0.6909], [0.66, -1.215, 0.1351], [-0.6909, 0.1351, 1.5814]],
        [0.008037, 0.66002, 0.39184],
        21.97,
    ),
}
"""Three starting vectors and a row that is coupled to them: P, a chance, T, B and the row's own entry. What the first
is known to see of an eigenvector vanishes at a bound, and comes back beyond."""


@pytest.mark.parametrize("case", BEYOND)
def test_what_the_first_of_several_starts_is_known_to_see_may_come_back_beyond(case):
    P, chance, T, B, last = BEYOND[case]
    identity = DenseOperator(torch.eye(P, dtype=torch.float64))
    starts = Krylov(identity, np.random.default_rng(0), block=3).waiting.numpy()
    W = np.r_[starts, np.linalg.svd(starts)[2][3:]]
    inside = np.zeros((P, P))
    inside[:4, :4] = np.block([[np.array(T), np.array(B)[:, None]], [np.array(B), np.array([last])]])
    H = W.T @ inside @ W
    krylov = Krylov(DenseOperator(torch.from_numpy((H + H.T) / 2)), np.random.default_rng(0), block=3)
    krylov.extend(3)
    values, vectors = np.linalg.eigh(H)
    norm, seen = np.abs(values).max(), (W[0] @ vectors[:, np.abs(values).argmax()]) ** 2
    assert seen > beta.ppf(chance / 2, 0.5, (P - 1) / 2)  # no improbable start
    assert probable_norm(krylov, chance) >= norm


def test_a_bound_rests_on_a_first_row_that_is_random():
    operator = DenseOperator(torch.diag(torch.arange(-5.0, 15.0).double()))
    krylov = Krylov(operator, np.random.default_rng(0))
    assert (krylov.starts, Krylov(operator, np.random.default_rng(0), block=3).starts) == (1, 3)
    krylov.extend(4)
    krylov.seed(2)
    assert krylov.starts == 3
    krylov.restart([0, 3])
    with pytest.raises(CurvatureError, match="after a restart"):
        probable_norm(krylov, 1e-3)
    zero = Krylov(DenseOperator(torch.zeros(5, 5).double()), np.random.default_rng(0), block=3)
    zero.extend(1)
    assert probable_norm(zero, 1e-3) == 0.0
