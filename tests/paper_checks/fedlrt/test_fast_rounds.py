"""Rounds of FeDLRT in numpy against the toolkit's own, and a local step in two ways."""

import numpy as np
import pytest
import torch

from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Truncation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.fedlrt.assumption_1 import least_deltas
from paper_checks.fedlrt.measurements import legendre_grid
from paper_checks.fedlrt.measurements.fast_rounds import Rounds, low_rank_rounds
from paper_checks.fedlrt.measurements.traces import trace
from paper_checks.fedlrt.simplified_correction import Bowls
from toymodels.quadratic import centred


def bowls(rng):
    """Three losses in 5 by 4 that differ in all they can, and the same for the toolkit."""
    centres, matrices = rng.standard_normal((3, 5, 4)), []
    for _ in range(3):
        Q = np.linalg.qr(rng.standard_normal((20, 20)))[0]
        matrices.append(Q * rng.uniform(0.2, 1.0, 20) @ Q.T)
    mean = sum(H @ C.ravel() for H, C in zip(matrices, centres, strict=True))
    target = np.linalg.solve(sum(matrices), mean).reshape(5, 4)
    clients = [centred(torch.from_numpy(H), torch.from_numpy(C)) for H, C in zip(matrices, centres, strict=True)]
    return Bowls(np.stack(matrices), centres, target), clients


@pytest.mark.parametrize("correction", ["none", "simplified", "full"])
@pytest.mark.parametrize(("tau", "most"), [(0.0, 1), (0.2, None)])
def test_rounds_in_numpy_are_the_algorithm_s_own(correction, tau, most):
    rng = np.random.default_rng(3)
    fast, clients = bowls(rng)
    start, local, rank = fast.target + rng.standard_normal((5, 4)), Descent(3, 0.05), most or 2
    settings = Rounds(rank, correction, local.rate(), local.steps, tau, 4, most=most)
    distances, ranks, excess = low_rank_rounds(fast, start, settings)
    algorithm, fed = FeDLRT(local, rank, Truncation(tau, most=most), correction), Federation(clients)
    state = algorithm.start(fed, Tree({"W": torch.from_numpy(start)}))
    least = sum(float(client.loss({"W": torch.from_numpy(fast.target)})) for client in clients) / 3
    for count in range(5):
        W = algorithm.weights(state)["W"]
        assert distances[count] == pytest.approx(float(np.linalg.norm(W.numpy() - fast.target)), rel=1e-11)
        assert ranks[count] == state.S["W"].shape[0]
        assert excess[count] == pytest.approx(sum(float(c.loss({"W": W})) for c in clients) / 3 - least, rel=1e-9)
        state = one_round(algorithm.round, fed, state)


def test_the_least_deltas_are_those_of_a_followed_round():
    rng = np.random.default_rng(5)
    fast, clients = bowls(rng)
    start, local, found = fast.target + rng.standard_normal((5, 4)), Descent(1, 0.05), []
    settings = Rounds(2, "simplified", local.rate(), 1, 0.0, 1, most=2)
    low_rank_rounds(fast, start, settings, lambda *seen: found.append(least_deltas(*seen)))
    assert [max(found[0])] == pytest.approx([trace("bowls", clients, start, 2, local, "simplified").needed], rel=1e-9)


def test_a_local_step_by_nodes_is_one_by_second_derivatives(monkeypatch):
    rng = np.random.default_rng(4)
    points = rng.uniform(-1.0, 1.0, (2, 2, 50))
    grid = legendre_grid.on_grid([tuple(part) for part in points], rng.standard_normal((6, 6)), "dx")
    U, V = (np.linalg.qr(rng.standard_normal((6, 3)))[0] for _ in range(2))
    change, found = rng.standard_normal((2, 9, 1)), []
    for few in (0, 10**9):
        monkeypatch.setattr(legendre_grid, "FEW", few)
        found.append(grid.step(U, V, 0.1)(change))
    np.testing.assert_allclose(*found, atol=1e-13)
    slopes = [grid.gradients(grid.target + U @ one.reshape(3, 3) @ V.T) for one in change]
    along = np.stack([(U.T @ slopes[c][c] @ V).reshape(9, 1) for c in range(2)])
    np.testing.assert_allclose(found[0], change - 0.1 * along, atol=1e-13)
