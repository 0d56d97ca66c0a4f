"""Matrices of lower rank than their factors: directions that nothing determines do not depend on rounding errors."""

import numpy as np
import pytest
import torch

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation, Sequential
from algorithms.fedhm import FedHM
from algorithms.fedlrt import FeDLRT
from algorithms.flexlora import SPLITS, FlexLoRA, best_factors
from algorithms.low_rank import factorise, product, singular_triples
from algorithms.rounds import one_round
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from toymodels.quadratic import random_quadratics

SHARES, RANKS, COHORTS = (1.0, 2.0, 3.0), (1, 1, 3), ((0, 1), (1, 2), (0, 1), (0, 2))


def matrix(rows, columns, rank, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    left, right = (torch.randn(size, rank, generator=generator, dtype=torch.float64) for size in (rows, columns))
    return (left @ right.T).to(dtype)


def noisy(W, seed=1):
    noise = torch.randn(W.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(W)
    return W + 0.3 * torch.finfo(W.dtype).eps * W.abs().max() * noise


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rank", [0, 1, 3, 4, 5])
@pytest.mark.parametrize(("rows", "columns"), [(7, 5), (5, 40), (300, 6)])
def test_rounding_errors_do_not_turn_the_factors(rows, columns, rank, dtype):
    W = matrix(rows, columns, rank, dtype)
    close = {"rtol": 0, "atol": 300 * torch.finfo(dtype).eps * max(1.0, float(W.norm()))}
    U, sigma, V = singular_triples(W, 4)
    assert int((sigma > 0).sum()) == min(rank, 4)
    for one in (U, V):
        torch.testing.assert_close(one.T @ one, torch.eye(4, dtype=dtype), **close)
    if rank <= 4:
        torch.testing.assert_close(U * sigma @ V.T, W, **close)
    if rank < 4:
        other = singular_triples(noisy(W), 4)
        for found, again in zip((U, V), (other[0], other[2]), strict=True):
            signs = (found * again).sum(0).sign()  # a vector and its negative are equally good
            torch.testing.assert_close(found, signs * again, **close)


@pytest.mark.parametrize("rank", [2, 3])
def test_singular_values_above_rounding_are_kept_to_the_bit(rank):
    W = matrix(9, 6, 3)
    W = W + 1e-11 * matrix(9, 6, 6, seed=2) if rank == 3 else W
    U, sigma, Vh = torch.linalg.svd(W, full_matrices=False)
    for found, expected in zip(singular_triples(W, rank), (U[:, :rank], sigma[:rank], Vh[:rank].T), strict=True):
        assert torch.equal(found, expected)
    assert len(singular_triples(W, 6)[1].nonzero()) == (6 if rank == 3 else 3)


def test_each_split_leaves_the_null_directions_where_it_has_no_singular_values():
    W = Tree(W=matrix(6, 5, 2))
    for split in SPLITS:
        A, B = (part["W"] for part in best_factors(W, 4, split)[:2])
        torch.testing.assert_close(A @ B, W["W"])
        norms = A[:, 2:].norm(dim=0), B[2:].norm(dim=1)
        for found, unit in zip(norms, (split == "right", split == "left"), strict=True):
            torch.testing.assert_close(found, torch.full((2,), float(unit)).double())


@pytest.mark.parametrize("split", SPLITS)
def test_a_rank_above_the_smaller_side_is_that_side(split):
    """Also where the matrix has a lower rank, as the head of a softmax has, or is zero."""
    for rank in (0, 2, 3):
        W = matrix(3, 5, rank)
        assert [tuple(part.shape) for part in singular_triples(W, 4)] == [(3, 3), (3,), (5, 3)]
        A, B = (part["W"] for part in best_factors(Tree(W=W), 4, split)[:2])
        torch.testing.assert_close(A @ B, W)


def completed(vectors, count):
    """Return given vectors followed by the fixed ones, by Gram and Schmidt."""
    columns = list(vectors.T)
    for column in np.random.default_rng(0).standard_normal((len(vectors), count - len(columns))).T:
        for _ in range(2):
            column = column - sum((known @ column) * known for known in columns)
        columns.append(column / np.linalg.norm(column))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("executor", [Sequential, Vmap])
@pytest.mark.parametrize("split", SPLITS)
def test_flexlora_with_means_of_low_rank_is_the_loop_written_out(split, executor):
    """Two clients of rank 1 leave a mean of rank 2, from which the third one of rank 3 then starts."""
    clients = random_quadratics((6, 4), 3, np.random.default_rng(1), heterogeneity=0.5).clients
    w = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    fed = Federation(clients, shares=SHARES, executor=executor())
    algorithm = FlexLoRA(Descent(3, 0.05), Adapter(3, 0.5), split, RANKS)
    state = algorithm.start(fed, Tree(W=w))
    A, B = (factors["W"].numpy() for factors in state.factors[:2])
    ranks = []
    for cohort in COHORTS:
        mean = np.zeros((6, 4))
        for k in cohort:
            a, b = A[:, : RANKS[k]], B[: RANKS[k]]
            for _ in range(3):
                slope = clients[k].gradient({"W": w + 0.5 * torch.from_numpy(a @ b)})["W"].numpy()
                a, b = a - 0.05 * 0.5 * slope @ b.T, b - 0.05 * 0.5 * a.T @ slope
            mean += SHARES[k] / sum(SHARES[j] for j in cohort) * (a @ b)
        U, sigma, Vh = np.linalg.svd(mean)
        known = int((sigma > 1e-10 * sigma[0]).sum())
        sigma = np.where(np.arange(4) < known, sigma, 0.0)[:3]
        U, V = completed(U[:, :known][:, :3], 3), completed(Vh[:known][:3].T, 3)
        left = {"balanced": 0.5, "left": 1.0, "right": 0.0}[split]
        A, B = U * sigma**left, (V * sigma ** (1.0 - left)).T
        state = one_round(algorithm.round, fed, state, cohort)
        expected = w + 0.5 * torch.from_numpy(A @ B)
        torch.testing.assert_close(algorithm.weights(state)["W"], expected, rtol=1e-9, atol=1e-11)
        ranks.append(known)
    assert ranks == ([2, 3, 2, 3] if split == "balanced" else [2, 4, 2, 4])  # `balanced` keeps the third client at 2


LOCAL = Descent(4, 0.05)
ALGORITHMS = {
    **{f"FlexLoRA, {split}": FlexLoRA(LOCAL, Adapter(3), split, RANKS) for split in SPLITS},
    "FedHM": FedHM(LOCAL, 3, RANKS),
    "FeDLRT": FeDLRT(LOCAL, 3, correction="full"),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_another_rounding_changes_only_the_last_digits(name):
    """From a start of rank 1 whose last bits differ."""
    ends = []
    for start in (matrix(6, 4, 1), noisy(matrix(6, 4, 1))):
        given = random_quadratics((6, 4), 3, np.random.default_rng(1), heterogeneity=0.5)
        fed, algorithm = Federation(given.clients, shares=SHARES), ALGORITHMS[name]
        state = algorithm.start(fed, Tree(W=start))
        for cohort in COHORTS * 3:
            state = one_round(algorithm.round, fed, state, cohort)
        ends.append(algorithm.weights(state)["W"])
    torch.testing.assert_close(*ends, rtol=1e-9, atol=1e-11)


def test_a_start_of_low_rank_has_fixed_bases():
    W = matrix(6, 4, 1)
    one, other = (factorise(Tree(W=start), 3) for start in (W, noisy(W)))
    torch.testing.assert_close(product(one)["W"], W)
    for name in ("U", "V"):
        ours, theirs = (getattr(factors, name)["W"][:, 1:] for factors in (one, other))
        torch.testing.assert_close(ours * (ours * theirs).sum(0).sign(), theirs, rtol=0, atol=1e-12)
