"""Losses with bounded gradients and non-convex pieces: derivatives, bounds, and both executors."""

import numpy as np
import pytest
import torch

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.rounds import final, go_on
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from toymodels.problem import ProblemError
from toymodels.ridges import PROFILES, Pieces, Ridges, ridge_problem

PIECES = Pieces((-1.0, 0.5, 2.0), (0.0, 1.0, -0.5, 0.0), slope_at_zero=0.25)
INNER = Pieces((-1.0, 1.0, 2.0), (0.0, 3.0, -2.0, 0.0), slope_at_zero=0.5)
"""Slopes of -2.5, 3.5 and 1.5 at the knots: the largest one is between the outer knots."""
ALL = {**PROFILES, "pieces": PIECES, "pieces steepest inside": INNER}


@pytest.mark.parametrize("name", ALL)
def test_slopes_are_derivatives_and_bounds_hold_and_are_nearly_attained(name):
    profile = ALL[name]
    x = torch.linspace(-8.0, 8.0, 40_001, dtype=torch.float64, requires_grad=True)
    value = profile.value(x)
    (slope,) = torch.autograd.grad(value.sum(), x)
    assert torch.allclose(slope, profile.slope(x.detach()), atol=1e-12)
    assert float(profile.value(torch.zeros((), dtype=torch.float64))) == 0.0
    curvature = torch.diff(profile.slope(x.detach())) / torch.diff(x.detach())
    low, high = profile.curvatures
    assert low - 1e-9 <= float(curvature.min())
    assert float(curvature.max()) <= high + 1e-9
    assert float(curvature.max()) == pytest.approx(high, abs=1e-3)
    assert float(curvature.min()) == pytest.approx(low, abs=2e-3)
    assert float(slope.abs().max()) <= profile.slope_bound + 1e-12
    assert float(slope.abs().max()) == pytest.approx(profile.slope_bound, rel=0.01)


def test_slope_bounds_by_hand():
    assert (PIECES.slope_bound, INNER.slope_bound) == (0.75, 3.5)
    mirrored = Pieces((-2.0, -1.0, 1.0), (0.0, -2.0, 3.0, 0.0), slope_at_zero=-0.5)
    assert mirrored.slope_bound == 3.5


def test_pieces_with_a_curved_end_have_no_slope_bound():
    assert Pieces((), (1.0,)).slope_bound == float("inf")
    x = torch.tensor([-3.0, 2.0], dtype=torch.float64)
    assert torch.equal(Pieces((), (2.0,)).value(x), x**2)


@pytest.mark.parametrize("profile", ALL.values(), ids=list(ALL))
@pytest.mark.parametrize("shape", [(3, 2), (1, 4)])
def test_the_gradient_is_that_of_the_loss_and_the_constants_bound_it(shape, profile):
    rng = np.random.default_rng(1)
    problem = ridge_problem(shape, 3, rng, profile=profile, samples=(5, 9, 2))
    for client in problem.clients:
        for batch in (None, torch.tensor([1, 0])):
            W = torch.from_numpy(rng.standard_normal(shape)).requires_grad_()
            (slope,) = torch.autograd.grad(client.loss({"W": W}, batch), W)
            own = client.gradient({"W": W.detach()}, batch)["W"]
            assert torch.allclose(slope, own, atol=1e-12)
            assert float(torch.linalg.matrix_norm(own)) <= problem.facts["gradient_bound"] + 1e-12
            other = W.detach() + 1e-3 * torch.from_numpy(rng.standard_normal(shape))
            change = torch.linalg.matrix_norm(client.gradient({"W": other}, batch)["W"] - own)
            if batch is None:
                assert float(change) <= problem.smoothness * float(torch.linalg.matrix_norm(other - W.detach())) + 1e-12
    assert problem.shares == [5 / 16, 9 / 16, 2 / 16]
    assert problem.smoothness == problem.clients[2].smoothness > max(c.smoothness for c in problem.clients[:2])


def test_knots_may_stand_as_close_as_they_like():
    """Curvature 2 from 0 to 1/4 and none elsewhere: slope 2x, then 1/2; value x^2, then 1/16 + (x - 1/4)/2."""
    step = Pieces((0.0, 0.25), (0.0, 2.0, 0.0))
    x = torch.tensor([-1.0, 0.125, 1.25], dtype=torch.float64)
    assert step.slope(x).tolist() == [0.0, 0.25, 0.5]
    assert step.value(x).tolist() == [0.0, 1 / 64, 1 / 16 + 1 / 2]
    assert step.slope_bound == 0.5


def test_smoothness_is_attained_at_the_extreme_curvature():
    D = torch.ones(1, 1, 1, dtype=torch.float64)
    client = Ridges(D, torch.zeros(1, dtype=torch.float64), PROFILES["cosine"])
    slopes = [float(client.gradient({"W": torch.full((1, 1), x, dtype=torch.float64)})["W"]) for x in (-1e-6, 1e-6)]
    assert (slopes[1] - slopes[0]) / 2e-6 == pytest.approx(client.smoothness)


def test_offsets_follow_the_common_matrix_and_the_clients_own():
    """y = <D, common + h own>: with the same draws linear in h, and h = 0 leaves one matrix for all."""
    y = [
        torch.cat([c.y for c in ridge_problem((2, 2), 3, np.random.default_rng(4), samples=6, heterogeneity=h).clients])
        for h in (0.0, 0.5, 2.0)
    ]
    torch.testing.assert_close(y[2] - y[0], 4.0 * (y[1] - y[0]))
    same = ridge_problem((2, 2), 3, np.random.default_rng(4), samples=6, heterogeneity=0.0)
    D = torch.cat([client.D.flatten(1) for client in same.clients])
    torch.testing.assert_close(D @ torch.linalg.lstsq(D, y[0]).solution, y[0])
    assert float((y[1] - y[0]).abs().max()) > 0.1


def test_twenty_samples_each_and_half_a_matrix_of_its_own_by_default():
    given, told = (
        ridge_problem((3, 2), 2, np.random.default_rng(4), **options)
        for options in ({}, {"samples": 20, "heterogeneity": 0.5})
    )
    assert [client.samples for client in given.clients] == [20.0, 20.0]
    assert all(torch.equal(one.y, other.y) for one, other in zip(given.clients, told.clients, strict=True))


def test_offsets_are_normal_with_the_variances_of_both_matrices():
    """For a direction of norm 1, <D, common + h own> is normal of variance 1 + h^2; squares vary by 2 (1 + h^2)^2."""
    for h in (0.25, 3.0):
        streams = [np.random.default_rng([5, n]) for n in range(600)]
        drawn = [ridge_problem((2, 2), 1, stream, samples=1, heterogeneity=h).clients[0] for stream in streams]
        squares = np.array([float(client.y) ** 2 for client in drawn])
        assert abs(squares.mean() / (1 + h**2) - 1.0) < 5 * (2 / 600) ** 0.5
        assert np.mean(squares < 0.454936 * (1 + h**2)) == pytest.approx(0.5, abs=5 * 0.5 / 600**0.5)


def test_smoothness_is_the_curvature_times_the_largest_eigenvalue_of_the_mean():
    D = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 0.0]], [[0.6, 0.8]]], dtype=torch.float64)
    for name, curvature in (("welsch", 1.0), ("cosine", 1.0)):
        client = Ridges(D, torch.zeros(4, dtype=torch.float64), PROFILES[name])
        # The mean of D D^T is [2.36 0.48; 0.48 1.64] / 4, whose largest eigenvalue is (2 + 0.6) / 4.
        assert client.smoothness == pytest.approx(curvature * 0.65)
    steep = Ridges(D, torch.zeros(4, dtype=torch.float64), Pieces((0.0,), (-3.0, 1.0)))
    assert steep.smoothness == pytest.approx(3 * 0.65)


def test_executors_agree_on_ridges():
    problem = ridge_problem((4, 3), 4, np.random.default_rng(2))
    ends = []
    for executor in (None, Vmap()):
        fed = Federation(problem.clients, executor=executor, seed=1)
        algorithm = FedAvg(Descent(3, 0.5, batch=4))
        w = algorithm.start(fed, Tree(problem.start))
        w = final(go_on(algorithm.round, fed, w, 3), w)
        ends.append(w["W"])
    assert float((ends[0] - ends[1]).abs().max()) <= 1e-12


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"profile": "huber"}, "unknown profile"),
        ({"samples": 0}, "positive"),
        ({"samples": (3,)}, "positive"),
        ({"heterogeneity": -1.0}, "heterogeneity"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(options, cause):
    with pytest.raises(ProblemError, match=cause):
        ridge_problem((3, 2), 2, np.random.default_rng(0), **options)
    with pytest.raises(ProblemError, match="must increase"):
        Pieces((1.0, 1.0), (0.0, 1.0, 0.0))


def test_numbers_of_samples_may_be_those_of_numpy():
    one, same = (ridge_problem((3, 4), 3, np.random.default_rng(0), samples=size) for size in (np.int64(5), 5))
    assert one.loss(one.start) == same.loss(same.start)
