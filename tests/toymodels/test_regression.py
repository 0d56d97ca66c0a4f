import numpy as np
import pytest
import torch

from algorithms.federation import Federation
from algorithms.lora import ExactRoLoRA
from algorithms.tree import Tree
from toymodels.problem import ProblemError
from toymodels.regression import regression


def made(*sizes, seed=0, **options):
    return regression(*sizes, np.random.default_rng(seed), **options)


@pytest.mark.parametrize("options", [{}, {"samples": 30}, {"samples": [5, 40, 9], "rank": 2, "heterogeneity": 0.7}])
def test_gradient_minimiser_and_smoothness(options):
    given = made(6, 4, 3, **options)
    W = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)).double()
    for client in given.clients:
        slope = torch.func.grad(lambda w, client=client: client.loss({"W": w}))(W)
        torch.testing.assert_close(client.gradient(Tree(W=W))["W"], slope)
        other = torch.randn(6, 4).double()
        off = client.gradient(Tree(W=other))["W"] - slope
        assert torch.linalg.vector_norm(off) <= given.smoothness * torch.linalg.vector_norm(other - W) * (1 + 1e-12)
    assert given.loss(given.minimiser) == pytest.approx(given.least, abs=1e-14)
    assert given.least <= given.loss({"W": given.minimiser["W"] + 1e-3 * W})
    assert sum(given.weights) == pytest.approx(1.0)


def test_the_gram_matrix_is_all_of_the_data():
    rng = np.random.default_rng(4)
    given = regression(5, 3, 1, rng, samples=7)
    again = np.random.default_rng(4)  # the same draws, in the order of the module
    np.linalg.qr(again.standard_normal((5, 2)))
    again.standard_normal((1, 3)), again.standard_normal((1, 3))
    X = torch.from_numpy(again.standard_normal((7, 5)))
    client, W = given.clients[0], torch.ones(5, 3).double()
    direct = ((X @ client.target - X @ W) ** 2).sum() / 7
    torch.testing.assert_close(client.loss({"W": W}), direct)


@pytest.mark.parametrize("rank", [1, 2])
def test_the_start_has_the_angle_asked_for(rank):
    for sine in (0.0, 0.3, 1.0):
        given = made(8, 4, 2, rank=rank, sine=sine)
        assert given.measures["angle"](given.start) == pytest.approx(sine, abs=1e-9)


def test_best_b_minimises():
    given = made(6, 4, 1, samples=20, rank=2)
    client = given.clients[0]
    A = Tree(W=torch.randn(6, 2, generator=torch.Generator().manual_seed(1)).double())
    B = client.best_b(A)
    slope = torch.func.grad(lambda b: client.loss({"W": A["W"] @ b}))(B["W"])
    torch.testing.assert_close(slope, torch.zeros_like(slope), atol=1e-12, rtol=0)


def test_one_step_of_the_population_dynamics_is_the_closed_form():
    """b = (a.a*) b*, then a (1 - 2 eta |b|^2) + 2 eta (a* b* b^T), normalised; RoLoRA, Section A.5."""
    given = made(7, 3, 4, heterogeneity=0.5, sine=0.6)
    fed, algorithm = Federation(given.clients, weights=given.weights), ExactRoLoRA(0.05)
    state = algorithm.start(fed, Tree(given.start))
    a, truth = state.A["W"][:, 0], given.facts["truth"][:, 0]
    mean = torch.stack([truth @ client.target for client in given.clients]).mean(dim=0)
    b = (a @ truth) * mean
    stepped = a - 2 * 0.05 * (a * (b @ b) - truth * (mean @ b))
    state = algorithm.round(fed, fed.everyone, state)
    torch.testing.assert_close(state.B["W"][0], b)
    torch.testing.assert_close(state.A["W"][:, 0], stepped / torch.linalg.vector_norm(stepped))


def test_exact_rolora_finds_the_direction_and_frozen_a_keeps_its_angle():
    given = made(10, 5, 4, samples=200, sine=0.9)
    for frozen, reached in ((False, 1e-6), (True, None)):
        fed, algorithm = Federation(given.clients, weights=given.weights), ExactRoLoRA(0.05, frozen)
        state = algorithm.start(fed, Tree(given.start))
        for _ in range(400):
            fed.begin()
            state = algorithm.round(fed, fed.everyone, state)
        angle = given.measures["angle"](algorithm.weights(state))
        assert angle < reached if reached else angle == pytest.approx(0.9, abs=1e-9)


def test_bad_input_gets_one_clear_line():
    for sizes, options in (
        ((0, 3, 2), {}), ((4, 3, 2), {"rank": 4}), ((4, 3, 2), {"samples": [5]}), ((4, 3, 2), {"samples": 0}),
        ((4, 3, 2), {"sine": 1.5}), ((3, 3, 2), {"rank": 2, "sine": 0.5}), ((4, 3, 2), {"heterogeneity": -1.0}),
    ):  # fmt: skip
        with pytest.raises(ProblemError, match=r"expected|needs"):
            made(*sizes, **options)
