import numpy as np
import pytest
import torch

from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Truncation
from algorithms.rounds import final, go_on
from algorithms.tree import Tree
from toymodels.legendre import (
    BASES,
    SPLITS,
    admissible_rate,
    data_client,
    heterogeneous,
    homogeneous,
    legendre_features,
    many_targets,
    random_targets,
)
from toymodels.problem import ProblemError


@pytest.mark.parametrize("basis", BASES)
def test_the_bases_are_orthogonal_with_the_norms_they_are_named_for(basis):
    nodes, weights = np.polynomial.legendre.leggauss(12)
    p = legendre_features(nodes, 6, basis)
    gram = p.T @ (weights[:, None] * p)
    expected = {"plain": 2.0 / (2.0 * np.arange(6) + 1.0), "dx": np.ones(6), "uniform": np.full(6, 2.0)}[basis]
    np.testing.assert_allclose(gram, np.diag(expected), atol=1e-13)
    if basis == "plain":
        np.testing.assert_allclose(legendre_features(np.array([1.0]), 6, basis), 1.0)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5)])
@pytest.mark.parametrize("basis", BASES)
def test_a_client_is_its_data(basis, shape):
    rng = np.random.default_rng(0)
    x, y, values = rng.uniform(-1, 1, (3, 50))
    client = data_client(x, y, values, shape, basis)
    W = torch.from_numpy(rng.standard_normal(shape)).requires_grad_()
    p, q = (torch.from_numpy(legendre_features(z, n, basis)) for z, n in zip((x, y), shape, strict=True))
    direct = (((p @ W) * q).sum(dim=1) - torch.from_numpy(values)).square().sum() / 100
    (slope,) = torch.autograd.grad(direct, W)
    torch.testing.assert_close(client.loss({"W": W}).detach(), direct.detach())
    torch.testing.assert_close(client.gradient(Tree(W=W.detach()))["W"], slope)
    U = torch.linalg.qr(torch.randn(shape[0], 2, generator=torch.Generator().manual_seed(0)).double())[0]
    V = torch.linalg.qr(torch.randn(shape[1], 2, generator=torch.Generator().manual_seed(1)).double())[0]
    S = torch.tensor([[1.0, -0.5], [0.2, 0.7]]).double()
    whole = client.loss({"W": U @ S @ V.T})
    torch.testing.assert_close(client.projected({"W": U}, {"W": V}).loss({"W": S}), whole)


@pytest.mark.parametrize("split", SPLITS)
def test_the_target_is_the_minimiser_however_the_data_are_split(split):
    given = homogeneous(4, np.random.default_rng(1), shape=(6, 5), rank=2, samples=2000, split=split)
    torch.testing.assert_close(given.minimiser["W"], given.facts["target"], atol=1e-8, rtol=0)
    assert given.least == pytest.approx(0.0, abs=1e-14)
    assert sum(client.samples for client in given.clients) == (8000 if split == "all" else 2000)


def test_clients_whose_numbers_differ_by_one_are_weighted_by_them():
    """Eleven points are 4, 4 and 3; as many points as clients are the fewest."""
    given = homogeneous(3, np.random.default_rng(1), shape=(3, 2), rank=1, samples=11)
    assert [client.samples for client in given.clients] == [4.0, 4.0, 3.0]
    assert given.shares == pytest.approx([4 / 11, 4 / 11, 3 / 11])
    fewest = homogeneous(3, np.random.default_rng(1), shape=(3, 2), rank=1, samples=3)
    assert [client.samples for client in fewest.clients] == [1.0, 1.0, 1.0]


def test_starts_targets_and_strips_are_as_requested():
    """The module draws target, points, order of the samples and initial weights, in this order."""
    options = {"shape": (4, 3), "rank": 2, "samples": 90}
    made = [homogeneous(3, np.random.default_rng(5), start_scale=scale, **options) for scale in (1.0, 0.25)]
    torch.testing.assert_close(made[1].start["W"], 0.25 * made[0].start["W"])
    assert torch.linalg.matrix_rank(made[0].facts["target"]) == 2
    strips = homogeneous(3, np.random.default_rng(5), split="region", **options).clients
    # The mean of p_1(x)^2 = x^2 is large in the outer strips and small in the middle one, where |x| < 1/3 or so.
    squares = [float(client.H[1, 0, 1, 0]) for client in strips]
    assert squares[1] < 0.1 < min(squares[0], squares[2])
    own = heterogeneous(5, np.random.default_rng(6), shape=(4, 3), samples=200)
    targets = [torch.linalg.solve(client.matrix, client.B.flatten()).reshape(4, 3) for client in own.clients]
    for target in targets:
        assert torch.linalg.matrix_rank(target, rtol=1e-8) == 1


def test_the_settings_of_the_papers_figures_are_the_defaults():
    """Figure 4 has one 20 x 20 target of rank 4, Figure 1 has 10 x 10 targets of rank 1; both have 10,000 points."""
    one = homogeneous(2, np.random.default_rng(7))
    assert one.start["W"].shape == one.facts["target"].shape == (20, 20)
    assert torch.linalg.matrix_rank(one.facts["target"]) == 4
    assert [client.samples for client in one.clients] == [5000.0, 5000.0]
    each = heterogeneous(2, np.random.default_rng(7))
    assert each.start["W"].shape == (10, 10)
    assert [client.samples for client in each.clients] == [10_000.0, 10_000.0]
    many = many_targets(
        random_targets(2, (2, 2), 1, np.random.default_rng(7)).expand(1, 2, 2, 2), np.random.default_rng(7)
    )
    assert many[0].samples == 10_000.0


def test_start_and_target_have_the_size_of_one_singular_direction_each():
    """Entries times the root of the larger side are normal: of variance 1 for the start, r for a target of rank r.

    The sum of n squared normal numbers is within 5 of its standard deviations, sqrt(2 n); that of a product of factors
    has at most r (m + n) numbers behind it.
    """
    made = homogeneous(1, np.random.default_rng(8), shape=(30, 20), rank=3, samples=2000)
    each = heterogeneous(1, np.random.default_rng(8), shape=(30, 20), samples=2000)
    for problem in (made, each):
        assert abs(30 * float((problem.start["W"] ** 2).mean()) - 1.0) < 5 * (2 / 600) ** 0.5
    targets = random_targets(200, (6, 9), 2, np.random.default_rng(9))
    squares = 9.0 * (targets**2).mean(dim=(1, 2))
    assert abs(float(squares.mean()) - 2.0) < 5 * float(squares.std()) / 200**0.5
    assert homogeneous(1, np.random.default_rng(8), shape=(1, 3), rank=1, samples=50).start["W"].shape == (1, 3)


def test_the_uniform_basis_has_curvature_near_one():
    given = homogeneous(1, np.random.default_rng(2), shape=(5, 5), rank=2, samples=20_000, basis="uniform")
    low, high = given.facts["curvature"]
    assert 0.8 < low < high < 1.25
    assert admissible_rate(given, 20) == pytest.approx(1.0 / (12 * given.smoothness * 20))


def test_fedlrt_finds_the_rank_and_the_target():
    given = homogeneous(4, np.random.default_rng(3), shape=(8, 8), rank=2, samples=3000, basis="uniform")
    fed = Federation(given.clients, shares=given.shares)
    algorithm = FeDLRT(Descent(20, 0.1), 4, Truncation(0.01), "full")
    state = algorithm.start(fed, Tree(given.start))
    state = final(go_on(algorithm.round, fed, state, 60), state)
    assert state.S["W"].shape == (2, 2)
    assert given.measures["distance"](algorithm.weights(state)) < 1e-6


def test_heterogeneous_clients_disagree():
    given = heterogeneous(4, np.random.default_rng(4), shape=(5, 4), samples=500)
    assert given.least > 1e-3
    assert given.facts["basis"] == "plain"
    assert all(float(client.loss(given.minimiser)) > 0 for client in given.clients)


def test_bad_input_gets_one_clear_line():
    rng = np.random.default_rng(0)
    for wrong in (
        lambda: homogeneous(0, rng),
        lambda: homogeneous(3, rng, samples=2),
        lambda: homogeneous(2, rng, rank=99),
        lambda: homogeneous(2, rng, basis="chebyshev"),
        lambda: homogeneous(2, rng, split="odd"),
        lambda: data_client(np.ones(2), np.ones(2), np.ones(3), (2, 2), "plain"),
    ):
        with pytest.raises(ProblemError, match=r"expected|does not fit|must be one of"):
            wrong()
