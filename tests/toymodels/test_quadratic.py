"""Quadratic clients by hand, with prescribed spectra and in coefficient space."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from algorithms.tree import Tree
from toymodels.problem import Problem, ProblemError
from toymodels.quadratic import Quadratic, centred, mean_of, quadratic_problem, random_quadratics

W = {"W": torch.tensor([[1.0, -2.0]], dtype=torch.float64)}
CENTRE = torch.tensor([[0.5, 1.0]], dtype=torch.float64)


def test_a_centred_loss_takes_the_symmetric_part_and_is_zero_at_its_centre():
    """W - C = (1/2, -3); H's symmetric part is [2 1; 1 4]; its value (2/4 - 3 + 36)/2 = 67/4, its slope (-2, -23/2)."""
    client = centred(torch.tensor([[2.0, 3.0], [-1.0, 4.0]]), CENTRE, samples=5.0)
    assert float(client.loss(W)) == float(Fraction(67, 4))
    assert client.gradient(Tree(W))["W"].tolist() == [[-2.0, -11.5]]
    assert float(client.loss({"W": CENTRE})) == 0.0
    assert client.samples == 5.0
    slope = torch.func.grad(lambda w: client.loss({"W": w}))(W["W"])
    assert slope.tolist() == [[-2.0, -11.5]]
    with pytest.raises(ProblemError, match=r"H of shape \(3, 3\) does not act"):
        centred(torch.eye(3), CENTRE)


def test_the_mean_is_weighted_and_its_minimiser_known():
    """(w - 1)^2 and 3 (w - 5)^2 / 2 with shares 1/4 and 3/4: curvature 11/4, pull 47/4, minimiser 47/11.

    The least value is 1/4 (36/11)^2 + 9/8 (8/11)^2 = 36/11.
    """
    made = [centred([[2.0]], [[1.0]], samples=2.0), centred([[3.0]], [[5.0]], samples=7.0)]
    given = quadratic_problem("by hand", made, torch.zeros(1, 1).double(), shares=[2.0, 6.0], extra=7)
    assert given.shares == [0.25, 0.75]
    assert float(given.minimiser["W"]) == pytest.approx(47 / 11)
    assert given.least == pytest.approx(36 / 11)
    assert given.loss(given.minimiser) == pytest.approx(36 / 11)
    assert given.loss(given.start) == pytest.approx(0.25 * 1 + 0.75 * 37.5)
    assert given.smoothness == 3.0
    assert given.facts == {"curvature": (2.75, 2.75), "extra": 7}
    assert given.measures["distance"](given.start) == pytest.approx(47 / 11)
    mean = mean_of(made, given.shares)
    assert float(mean.loss({"W": torch.ones(1, 1).double()})) == pytest.approx(0.75 * 24)
    assert mean.samples == 9.0
    with pytest.raises(ProblemError, match="expected 2 shares, got 3"):
        quadratic_problem("", made, torch.zeros(1, 1).double(), shares=[1.0, 1.0, 1.0])


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_without_positive_curvature_there_is_no_minimiser(low):
    given = quadratic_problem("flat", [centred(torch.diag(torch.tensor([low, 2.0])), CENTRE)], W["W"])
    assert given.minimiser is None
    assert given.least is None
    assert given.measures == {}
    assert given.facts["curvature"] == (low, 2.0)


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e6])
def test_whether_there_is_a_minimiser_does_not_depend_on_the_scale(size):
    given = quadratic_problem("small", [centred(size * torch.diag(torch.tensor([1.0, 2.0])), CENTRE)], W["W"])
    torch.testing.assert_close(given.minimiser["W"], CENTRE)
    bent = quadratic_problem("bent", [centred(size * torch.diag(torch.tensor([1e-11, 2.0])), CENTRE)], W["W"])
    assert bent.minimiser is None


@pytest.mark.parametrize("curvatures", [(0.1, 1.0), (-0.5, 2.0), (-3.0, 2.0), (0.3, 0.3)])
def test_every_client_has_the_extreme_curvatures_asked_for(curvatures):
    given = random_quadratics((3, 2), 4, np.random.default_rng(0), curvatures=curvatures)
    for client in given.clients:
        spectrum = torch.linalg.eigvalsh(client.matrix)
        assert (float(spectrum[0]), float(spectrum[-1])) == pytest.approx(curvatures)
    assert given.smoothness == pytest.approx(max(map(abs, curvatures)))


def test_curvatures_are_a_tenth_to_one_by_default():
    given = random_quadratics((3, 2), 1, np.random.default_rng(0))
    assert given.facts["curvature"] == pytest.approx((0.1, 1.0))
    twice = random_quadratics((3, 2), 1, np.random.default_rng(0), scale=2.0)
    assert torch.equal(twice.start["W"], 2.0 * given.start["W"])


def test_heterogeneity_scale_and_rank_are_those_asked_for():
    same = random_quadratics((3, 4), 3, np.random.default_rng(1), heterogeneity=0.0)
    assert all(torch.equal(client.H, same.clients[0].H) for client in same.clients)
    assert same.least == pytest.approx(0.0, abs=1e-12)
    other = random_quadratics((3, 4), 3, np.random.default_rng(1), heterogeneity=1.0)
    assert not torch.equal(other.clients[0].H, other.clients[1].H)
    low = random_quadratics((3, 4), 1, np.random.default_rng(1), heterogeneity=0.0, target_rank=1, scale=0.5)
    assert torch.linalg.matrix_rank(low.minimiser["W"]) == torch.linalg.matrix_rank(low.start["W"]) == 1
    for rank in (1, 3):
        made = [
            random_quadratics(
                (3, 3), 1, np.random.default_rng([2, seed]), heterogeneity=1.0, target_rank=rank, scale=0.5
            )
            for seed in range(300)
        ]  # entries of a target have variance 1, of a start scale^2, of a client's centre 1 + heterogeneity^2
        for values, expected in (
            ([float((one.start["W"] ** 2).mean()) for one in made], 0.25),
            ([float((one.minimiser["W"] ** 2).mean()) for one in made], 2.0),
        ):
            assert abs(np.mean(values) - expected) < 5 * np.std(values) / len(values) ** 0.5


@pytest.mark.parametrize(
    "wrong", [{"curvatures": (1.0, 0.5)}, {"target_rank": 3}, {"target_rank": 0}, {"heterogeneity": -1.0}]
)
def test_numbers_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ProblemError, match="expected positive sizes, curvatures in order"):
        random_quadratics((3, 2), 2, np.random.default_rng(0), **wrong)


def test_projection_and_projected_gradient_are_those_of_the_product():
    rng = np.random.default_rng(3)
    client = random_quadratics((4, 3), 1, rng).clients[0]
    U = torch.eye(4, dtype=torch.float64)[:, :2]  # a view, as good as a copy
    V = torch.linalg.qr(torch.from_numpy(rng.standard_normal((3, 2))))[0]
    S = torch.from_numpy(rng.standard_normal((2, 2)))
    seen = client.projected({"W": U}, {"W": V})
    torch.testing.assert_close(seen.loss({"W": S}), client.loss({"W": U @ S @ V.T}))
    expected = U.T @ client.gradient(Tree(W=U @ S @ V.T))["W"] @ V
    torch.testing.assert_close(seen.gradient(Tree(W=S))["W"], expected)
    assert seen.samples == client.samples


def test_a_problem_weighs_its_clients():
    clients = [Quadratic(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1), torch.tensor(float(c))) for c in (1, 10)]
    assert Problem("", clients, {"W": torch.zeros(1, 1)}, (0.9, 0.1), 0.0).loss(
        {"W": torch.zeros(1, 1)}
    ) == pytest.approx(1.9)


@pytest.mark.parametrize("low", [1e-3, 1e-9, 1e-11, 0.0])
def test_a_minimiser_is_single_where_the_least_curvature_is_beyond_rounding(low):
    """The border is 1e-10 of the largest curvature."""
    client = centred(np.diag([2.0, 2.0 * low]), np.array([[3.0], [0.0]]))
    given = quadratic_problem("two", [client], torch.zeros(2, 1).double())
    assert (given.minimiser is not None) is (low > 1e-10)
    assert ("distance" in given.measures) is (low > 1e-10)
    if low > 1e-10:
        assert given.measures["distance"](given.start) == pytest.approx(3.0)


def test_clients_and_shares_of_a_problem_are_checked():
    good = centred(torch.eye(2).double(), torch.ones(1, 2).double())
    bad = centred(torch.tensor([[float("nan"), 0.0], [0.0, 1.0]]).double(), torch.ones(1, 2).double())
    start = torch.zeros(1, 2).double()
    for clients, shares, message in (
        ([], None, "at least one client"),
        ([good, bad], None, "those of client 1 are not"),
        ([good], [0.0], r"must not all be 0, got \[0.0\]"),
        ([good, good], [1.0, float("nan")], "shares must be finite and at least 0"),
        ([good, good], [2.0, -1.0], "shares must be finite and at least 0"),
    ):
        with pytest.raises(ProblemError, match=message):
            quadratic_problem("", clients, start, shares)
