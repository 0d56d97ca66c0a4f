from dataclasses import replace

import numpy as np
import pytest
import torch

from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import final, go_on
from algorithms.tree import Tree
from toymodels.legendre import homogeneous
from toymodels.on_demand import SampledProblem
from toymodels.problem import ProblemError
from toymodels.quadratic import quadratics_on_demand, random_quadratics
from toymodels.regression import (
    Regressor,
    best_of_rank,
    in_expectation,
    regression,
    regression_on_demand,
    with_fresh_data,
)
from toymodels.ridges import ridge_problem


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
    assert sum(given.shares) == pytest.approx(1.0)


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


def test_a_random_start_has_orthonormal_columns_and_is_small():
    given = made(6, 4, 2, rank=2)
    first = given.facts["first"]
    assert given.start["W"].shape == (6, 4)
    torch.testing.assert_close(first.mT @ first, torch.eye(2).double())
    torch.testing.assert_close(first @ (first.mT @ given.start["W"]), given.start["W"])
    assert 0.0 < float(given.start["W"].norm()) < 1e-2


def test_fresh_data_that_are_too_few_leave_no_single_minimiser():
    given = made(4, 3, 1, samples=20)
    fresh = with_fresh_data(given, np.random.default_rng(1))
    assert float(fresh.clients[0].gradient(Tree(fresh.minimiser))["W"].abs().max()) < 1e-10
    few = with_fresh_data(replace(given, facts={**given.facts, "sizes": (2,)}), np.random.default_rng(1))
    assert few.minimiser is None
    assert few.least is None


def test_the_start_of_less_rank_than_the_truth_has_the_sine_1():
    given = made(6, 4, 2, rank=2)
    assert given.measures["angle"]({"W": given.facts["truth"][:, :1] @ torch.ones(1, 4).double()}) == 1.0
    assert given.measures["angle"]({"W": given.facts["truth"] @ torch.eye(2, 4).double()}) == pytest.approx(
        0.0, abs=1e-7
    )


def test_shares_and_facts_are_weighted_by_the_samples():
    given = made(6, 4, 3, samples=[5, 40, 15], heterogeneity=0.7)
    assert given.shares == pytest.approx([5 / 60, 40 / 60, 15 / 60])
    assert [client.samples for client in given.clients] == [5.0, 40.0, 15.0]
    own, share = given.facts["own_B"].numpy(), np.array([1, 8, 3]) / 12
    mean = sum(s * b for s, b in zip(share, own, strict=True))
    np.testing.assert_allclose(given.facts["mean_B"], mean, atol=1e-14)
    assert given.facts["gamma_squared"] == pytest.approx(
        sum(s * ((b - mean) ** 2).sum() for s, b in zip(share, own, strict=True))
    )
    for client, b in zip(given.clients, own, strict=True):
        np.testing.assert_allclose(client.target, given.facts["truth"].numpy() @ b, atol=1e-14)


@pytest.mark.parametrize("samples", [[5, 40, 15], None])
def test_personal_losses_are_weighted_like_the_clients(samples):
    given = made(6, 4, 3, samples=samples, heterogeneity=0.7)
    models = [{"W": k * torch.ones(6, 4).double()} for k in range(3)]
    shares = [1 / 3] * 3 if samples is None else [size / 60 for size in samples]
    expected = sum(
        share * float(client.loss(w)) for share, client, w in zip(shares, given.clients, models, strict=True)
    )
    assert given.evaluate_personal(models.__getitem__) == {"personal_loss": pytest.approx(expected)}


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
    fed, algorithm = Federation(given.clients, shares=given.shares), ExactRoLoRA(0.05)
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
        fed, algorithm = Federation(given.clients, shares=given.shares), ExactRoLoRA(0.05, frozen)
        state = algorithm.start(fed, Tree(given.start))
        state = final(go_on(algorithm.round, fed, state, 400), state)
        angle = given.measures["angle"](algorithm.weights(state))
        assert angle < reached if reached else angle == pytest.approx(0.9, abs=1e-9)


def test_expectation_and_fresh_data_keep_truth_and_start():
    given = made(5, 3, 3, samples=[2, 9, 30], heterogeneity=0.4)
    expected, fresh = in_expectation(given), with_fresh_data(given, np.random.default_rng(9))
    W = {"W": torch.ones(5, 3).double()}
    direct = sum(w * ((W["W"] - c.target) ** 2).sum() for w, c in zip(given.shares, given.clients, strict=True))
    assert expected.loss(W) == pytest.approx(float(direct))
    assert expected.least == pytest.approx(given.facts["gamma_squared"])
    assert fresh.loss(W) != given.loss(W)
    assert [int(torch.linalg.matrix_rank(client.G)) for client in fresh.clients] == [2, 5, 5]
    assert (expected.facts["sizes"], fresh.facts["sizes"]) == ((None,) * 3, (2, 9, 30))
    for other in (expected, fresh):
        assert other.shares == given.shares
        assert other.start is given.start
        for one, client in zip(other.clients, given.clients, strict=True):
            assert one.target is client.target
            assert one.samples == client.samples
    drawn = np.mean([with_fresh_data(given, np.random.default_rng([1, n])).clients[2].G.numpy() for n in range(400)], 0)
    assert np.abs(drawn - np.eye(5)).max() < 5 * np.sqrt(2 / (30 * 400))
    again = with_fresh_data(expected, np.random.default_rng(0))
    assert all(torch.equal(client.G, torch.eye(5).double()) for client in again.clients)


def test_without_constants_the_smoothness_is_a_bound():
    """Both are maxima over the clients, of which the second has the fewest samples."""
    known, bare = made(6, 4, 3, samples=[20, 4, 9]), made(6, 4, 3, samples=[20, 4, 9], constants=False)
    spectra = [np.linalg.eigvalsh(client.G.numpy()) for client in known.clients]
    assert known.smoothness == pytest.approx(2.0 * max(spectrum[-1] for spectrum in spectra))
    assert bare.smoothness == pytest.approx(2.0 * max((spectrum**2).sum() ** 0.5 for spectrum in spectra))
    assert bare.minimiser is None
    assert bare.least is None
    assert all(torch.equal(one.G, other.G) for one, other in zip(known.clients, bare.clients, strict=True))


def test_best_of_rank_is_a_stationary_point_below_its_neighbours():
    given = made(5, 4, 3, samples=30, rank=2, heterogeneity=1.0)
    W = best_of_rank(given, 1)
    assert torch.linalg.matrix_rank(W) == 1
    U, sigma, Vh = torch.linalg.svd(W)
    a, b = (U[:, :1] * sigma[0]).requires_grad_(), Vh[:1].clone().requires_grad_()
    loss = sum(w * c.loss({"W": a @ b}) for w, c in zip(given.shares, given.clients, strict=True))
    for slope in torch.autograd.grad(loss, (a, b)):
        torch.testing.assert_close(slope, torch.zeros_like(slope), atol=1e-10, rtol=0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        left, right = torch.randn(5, 1, generator=generator).double(), torch.randn(1, 4, generator=generator).double()
        assert given.loss({"W": W}) <= given.loss({"W": (a.detach() + 0.3 * left) @ (b.detach() + 0.3 * right)})
    torch.testing.assert_close(best_of_rank(given, 4), given.minimiser["W"])
    with pytest.raises(ProblemError, match="fewer samples"):
        best_of_rank(made(9, 4, 1, samples=5), 1)


def test_bad_input_gets_one_clear_line():
    for sizes, options in (
        ((0, 3, 2), {}),
        ((4, 3, 2), {"rank": 4}),
        ((4, 3, 2), {"samples": [5]}),
        ((4, 3, 2), {"samples": 0}),
        ((4, 3, 2), {"sine": 1.5}),
        ((3, 3, 2), {"rank": 2, "sine": 0.5}),
        ((4, 3, 2), {"heterogeneity": -1.0}),
    ):
        with pytest.raises(ProblemError, match=r"expected|needs"):
            made(*sizes, **options)


def test_numbers_of_numpy_and_ranks_that_are_not_whole():
    one, same = (regression(4, 3, 3, np.random.default_rng(0), samples=size) for size in (np.int64(5), 5))
    assert one.loss(one.start) == same.loss(same.start)
    assert one.facts["sizes"] == same.facts["sizes"]
    for rank in (-1, 1.5, float("nan")):
        with pytest.raises(ProblemError, match=f"the rank must be a whole number of at least 0, got {rank}"):
            best_of_rank(regression(4, 3, 3, np.random.default_rng(0)), rank)
    assert float(best_of_rank(regression(4, 3, 3, np.random.default_rng(0)), 0).abs().max()) == 0.0


@pytest.mark.parametrize("constants", [True, False])
def test_clients_on_demand_in_expectation_are_all_evaluated(constants):
    """The loss of client i is |W - A B_i|^2, and the mean of the targets minimises their mean."""
    given = regression_on_demand(5, 3, 6, 7, samples=10, heterogeneity=0.5)
    expected = in_expectation(given, constants=constants)
    targets = [client.target for client in given.clients]
    mean = sum(targets) / 6
    for W in (torch.zeros(5, 3).double(), torch.ones(5, 3).double(), mean):
        by_hand = np.mean([float(((W - target) ** 2).sum()) for target in targets])
        assert expected.loss({"W": W}) == pytest.approx(by_hand, rel=1e-12)
        assert expected.loss({"W": W}) == pytest.approx(
            sum(share * float(c.loss({"W": W})) for share, c in zip(expected.shares, expected.clients, strict=True))
        )
    assert expected.evaluate_personal(lambda k: {"W": targets[k]}) == {"personal_loss": 0.0}
    if constants:
        torch.testing.assert_close(expected.minimiser["W"], mean)
        assert expected.least == pytest.approx(np.mean([float(((mean - target) ** 2).sum()) for target in targets]))
    fresh = with_fresh_data(expected, np.random.default_rng(0))  # population losses have no samples
    assert fresh.loss({"W": mean}) == pytest.approx(expected.loss({"W": mean}))


def test_other_clients_of_a_problem_on_demand_are_evaluated():
    given = regression_on_demand(5, 3, 6, 7, samples=10, heterogeneity=0.5)
    clients = [replace(client, target=client.target + 1.0) for client in given.clients]
    W = torch.ones(5, 3).double()
    by_hand = np.mean([float(client.loss({"W": W})) for client in clients])
    assert replace(given, clients=clients).loss({"W": W}) == pytest.approx(by_hand)
    assert replace(given, name="other").loss({"W": W}) == given.loss({"W": W})


def test_other_clients_than_regressors_are_refused():
    rng = np.random.default_rng(0)
    for given, name in (
        (random_quadratics((3, 2), 2, rng), "Quadratic"),
        (ridge_problem((3, 2), 2, rng), "Ridges"),
        (homogeneous(2, rng, shape=(3, 2), rank=1, samples=40), "Quadratic"),
        (quadratics_on_demand((3, 2), 5, 0), "Quadratic"),
    ):
        message = f"needs a problem of regression, but client 0 of the problem .* is a {name}$"
        with pytest.raises(ProblemError, match=message):
            in_expectation(given)
        with pytest.raises(ProblemError, match=message):
            best_of_rank(given, 1)
        if not isinstance(given, SampledProblem):
            with pytest.raises(ProblemError, match=message):
                with_fresh_data(replace(given, facts={"sizes": (4, 4)}), rng)
    known = made(4, 3, 3, samples=9)
    fewer = replace(known, clients=known.clients[:2], shares=[0.5, 0.5])
    with pytest.raises(ProblemError, match="has 2 clients, but 3 numbers of samples"):
        with_fresh_data(fewer, rng)
    assert in_expectation(fewer).loss({"W": known.clients[0].target}) == 0.0


def test_clients_on_demand_have_no_fresh_data():
    given = regression_on_demand(5, 3, 6, 7, samples=10, heterogeneity=0.5)
    with pytest.raises(ProblemError, match=r"clients on demand .* cannot get new samples; use regression"):
        with_fresh_data(given, np.random.default_rng(0))
    with pytest.raises(ProblemError, match="new samples need a problem of regression"):
        with_fresh_data(random_quadratics((3, 2), 2, np.random.default_rng(0)), np.random.default_rng(0))


@pytest.mark.parametrize(("samples", "columns"), [(2, 3), (1, 2), (3, 4), (1, 5)])
def test_more_columns_than_samples_leave_no_single_b(samples, columns):
    for seed in range(20):
        client = made(6, 3, 1, samples=samples, seed=seed).clients[0]
        A = torch.from_numpy(np.random.default_rng(seed).standard_normal((6, columns)))
        for scaled in (A, 1e-80 * A, A * 10.0 ** torch.arange(0, 8 * columns, 8).double()):
            with pytest.raises(ProblemError, match=f"no single minimiser in B at this A of {columns} columns"):
                client.best_b(Tree(W=scaled))
        fits = Tree(W=A[:, :samples] * 10.0 ** torch.arange(0, 8 * samples, 8).double())  # of columns in any unit
        B = client.best_b(fits)
        slope = torch.func.grad(lambda b, c=client, a=fits: c.loss({"W": a["W"] @ b}))(B["W"])
        assert float((slope * B["W"]).abs().max()) < 1e-8


@pytest.mark.parametrize(("d", "samples", "columns"), [(5, 1, 2), (10, 1, 2), (50, 1, 2), (50, 2, 3), (10, 2, 4)])
def test_a_column_almost_orthogonal_to_all_samples_gives_no_column_more(d, samples, columns):
    """The product of such a column with the samples has few digits in every unit."""
    rng = np.random.default_rng(1)
    X, target = (torch.from_numpy(rng.standard_normal(size)) for size in ((2000, samples, d), (2000, d, 3)))
    A = torch.linalg.qr(torch.from_numpy(rng.standard_normal((2000, d, columns))))[0]
    A[::2] *= 10.0 ** torch.linspace(-9, 9, columns).double()
    A[1::3, :, 0] -= (torch.linalg.pinv(X) @ X @ A[..., :1])[1::3, :, 0]  # orthogonal to rounding
    best = torch.vmap(lambda X, target, A: Regressor(X.mT @ X / samples, target).best_b({"W": A})["W"])
    assert best(X, target, A).isnan().all()
    # A column for each sample is not too many.
    kept = best(X[::3], target[::3], A[::3, :, :samples])
    fitted = X[::3] @ (A[::3, :, :samples] @ kept - target[::3])
    assert float(fitted.abs().median()) < 1e-9
    assert float(kept.isnan().double().mean()) < 0.01


def test_one_sample_has_no_single_b_for_two_columns():
    given = made(10, 3, 4, samples=1, rank=2, seed=11)
    for client in given.clients:
        with pytest.raises(ProblemError, match="no single minimiser in B at this A of 2 columns"):
            client.best_b(Tree(W=given.facts["first"]))


@pytest.mark.parametrize("samples", [None, 50])
def test_columns_that_depend_on_each_other_leave_no_single_b(samples):
    client = made(6, 3, 1, samples=samples).clients[0]
    a, b = torch.from_numpy(np.random.default_rng(1).standard_normal((2, 6, 1)))
    for columns in ([a, 3 * a], [a, b, a - b], [a, 0 * a], [1e5 * a, 1e-5 * a], [a, a + 1e-9 * b]):
        with pytest.raises(ProblemError, match=f"no single minimiser in B at this A of {len(columns)} columns"):
            client.best_b(Tree(W=torch.cat(columns, 1)))
    client.best_b(Tree(W=torch.cat([a, a + 1e-4 * b], 1)))


@pytest.mark.parametrize("part", [0.5, 2.0])
def test_columns_are_dependent_up_to_a_border_that_grows_with_the_dimension(part):
    """Columns at an angle t have the Gram matrix [1 cos t; cos t 1], whose least eigenvalue is 2 sin(t/2)^2."""
    border = 64 * 200 * np.finfo(float).eps
    angle = 2 * np.arcsin((part * border / 2) ** 0.5)
    A = torch.zeros(200, 2).double()
    A[0], A[1, 1] = torch.tensor([1.0, np.cos(angle)]), np.sin(angle)
    client = made(200, 3, 1).clients[0]
    if part > 1.0:
        assert client.best_b(Tree(W=A))["W"].isfinite().all()
    else:
        with pytest.raises(ProblemError, match="no single minimiser"):
            client.best_b(Tree(W=A))


def test_an_a_that_has_diverged_is_reported_by_its_numbers():
    found = made(6, 3, 1).clients[0].best_b(Tree(W=torch.full((6, 2), torch.inf).double()))["W"]
    assert not found.isfinite().any()


def test_own_parts_grow_with_the_heterogeneity():
    """B_i = B + h own_i: linear in h for the same draws, also of clients on demand."""
    held = [made(5, 3, 3, heterogeneity=h).facts["own_B"] for h in (0.0, 0.5, 2.0)]
    drawn = [regression_on_demand(5, 3, 3, 7, samples=2, heterogeneity=h).clients for h in (0.0, 0.5, 2.0)]
    for zero, half, two in (held, *zip(*([client.target for client in some] for some in drawn), strict=True)):
        assert float((half - zero).abs().max()) > 0.1
        torch.testing.assert_close(two - zero, 4.0 * (half - zero))


def test_best_of_rank_says_why_there_is_no_minimiser():
    bare = made(5, 3, 4, samples=20, constants=False)
    with pytest.raises(ProblemError, match="was made with constants=False, so the minimiser is not known"):
        best_of_rank(bare, 1)
    with pytest.raises(ProblemError, match="fewer samples than d in total"):
        best_of_rank(made(9, 3, 2, samples=4, constants=False), 1)
    given = regression_on_demand(5, 3, 6, 7, samples=20, heterogeneity=0.5)
    with pytest.raises(ProblemError, match="the minimiser is not known for clients on demand"):
        best_of_rank(given, 1)
    assert torch.linalg.matrix_rank(best_of_rank(in_expectation(given), 1)) == 1
    for rank in ("1", None, float("inf"), [1]):
        with pytest.raises(ProblemError, match="the rank must be a whole number of at least 0, got"):
            best_of_rank(made(5, 3, 4), rank)


def test_the_best_b_of_stacked_clients_is_that_of_each():
    """Stacked by a leading dimension and by vmap, where a client without a single minimiser has none."""
    clients = regression(5, 3, 4, np.random.default_rng(0), samples=[9, 3, 7, 6]).clients
    A = torch.from_numpy(np.random.default_rng(1).standard_normal((5, 2)))
    each = torch.stack([client.best_b({"W": A})["W"] for client in clients])
    G, target = (torch.stack([client.tensors()[name] for client in clients]) for name in ("G", "target"))
    torch.testing.assert_close(Regressor(G, target, 9).best_b({"W": A})["W"], each)
    mapped = torch.vmap(lambda G, target: Regressor(G, target, 9).best_b({"W": A})["W"])
    torch.testing.assert_close(mapped(G, target), each)
    G[1] = 0.0
    found = mapped(G, target)
    assert found[1].isnan().all()
    torch.testing.assert_close(found[[0, 2, 3]], each[[0, 2, 3]])
