"""Records of ridges, Legendre features and product features: profiles, draws, splits, bases, rates, and messages."""

from math import inf

import numpy as np
import torch
from recording import refused

from toymodels import legendre, ridges
from toymodels.product_features import Coefficients, pair_products, product_gram, unpack_pairs
from toymodels.quadratic import random_quadratics
from toymodels.ridges import PROFILES, Pieces, Ridges, ridge_problem, ridges_on_demand

X = torch.tensor([-3.0, -1.0, -0.3, 0.0, 0.5, 1.0, 2.5], dtype=torch.float64)
W = {"W": torch.tensor([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]], dtype=torch.float64)}
PIECES = Pieces((-1.0, 0.5), (0.0, 2.0, -1.0), 0.3)
POINTS = np.array([-1.0, -0.4, 0.1, 0.9, 1.0])


def _rng(seed=0):
    return np.random.default_rng(seed)


def profiles():
    for name, profile in PROFILES.items():
        yield name, profile.value(X), profile.slope(X), profile.slope_bound, profile.curvatures
    for profile in (
        PIECES,
        Pieces((), (2.0,)),
        Pieces((1.0, 2.0), (0.0, -3.0, 0.0), -0.5),
        Pieces((-2.0,), (1.0, 0.0)),
    ):
        yield profile.value(X), profile.slope(X), profile.slope_bound, profile.curvatures, profile.knots


def profiles_that_are_refused():
    for knots, heights in (((0.0,), (1.0,)), ((1.0, 1.0), (0, 1, 2)), ((2.0, 1.0), (0, 1, 2)), ((0.0,), (1.0, inf))):
        yield refused(Pieces, knots, heights)
    yield refused(Pieces, 1.0, (1.0,)), refused(Pieces, (0.0,), "ab"), refused(Pieces, (), (1.0,), np.nan)
    for profile in ("huber", 3.0, ridges.Welsch, "cosine", PIECES):
        yield str(refused(ridges._named, profile))


def ridges_over_all_and_some_samples():
    D = torch.stack([W["W"], W["W"].flip(0), W["W"] * 0 + 1.0])
    client = Ridges(D / D.flatten(1).norm(dim=1)[:, None, None], torch.tensor([0.1, -0.5, 2.0]).double(), PIECES)
    yield client.loss(W), client.gradient(W)["W"], client.smoothness, client.samples, client.weight_shape
    for batch in ([0], [2, 1], [0, 0, 2]):
        yield client.loss(W, torch.tensor(batch)), client.gradient(W, torch.tensor(batch))["W"]
    turned = client.with_tensors({"D": client.D[:2], "y": client.y[:2] + 1})
    yield turned.loss(W), turned.samples, list(client.tensors())


def ridge_problems():
    for seed in (0, 1):
        for options in ({}, {"profile": "cosine", "heterogeneity": 0.0}, {"samples": [2, 5], "profile": PIECES}):
            problem = ridge_problem((3, 2), 2, _rng(seed), **{"samples": 4, **options})
            yield problem.shares, problem.smoothness, problem.facts, problem.start["W"], problem.loss(problem.start)
            yield [(client.D[0], client.y) for client in problem.clients], problem.minimiser, problem.name


def ridge_problems_on_demand():
    for seed in (0, 1):
        problem = ridges_on_demand((2, 2), 3, seed, profile="welsch", samples=2, heterogeneity=0.5)
        yield problem.smoothness, problem.start["W"], problem.loss(problem.start), problem.evaluated, problem.facts
        yield problem.clients[2].y, problem.clients.samples, problem.shares
    bent = Pieces((0.0,), (-3.0, 1.0))
    yield ridges_on_demand((2, 2), 1, 0, profile=bent, samples=2, heterogeneity=0.0).smoothness
    yield ridge_problem((2, 2), 1, _rng(), profile=bent, samples=1).smoothness
    one = ridges_on_demand((1, 1), 1, 0, profile="cosine", samples=1, heterogeneity=0.0)
    yield one.smoothness, one.clients[0].D


def ridge_problems_that_are_refused():
    for shape, clients, options in (
        *(((0, 2), 1, {}), ((2, 2), 0, {}), ((2, 2), 1, {"samples": 0}), ((2, 2), 2, {"samples": [1]}), ((2,), 1, {})),
        *(((2, 2), 1, {"heterogeneity": -1.0}), ((2, 2), 1, {"profile": "huber"}), ((2, 2), 1.5, {})),
    ):
        yield refused(ridge_problem, shape, clients, _rng(), **options)
    for given in (((0, 2), 1, 0), ((2, 2), 1, -1), ((2, 2), 0, 0)):
        yield refused(ridges_on_demand, *given, profile="welsch", samples=1, heterogeneity=0.0)
    yield refused(ridges_on_demand, (2, 2), 1, 0, profile="x", samples=1, heterogeneity=0.0)


def features():
    for basis in legendre.BASES:
        yield legendre.legendre_features(POINTS, 4, basis), legendre.legendre_features(POINTS[:1], 1, basis)
    for degrees, basis in ((0, "plain"), (2, "dy"), (1.5, "plain")):
        yield refused(legendre.legendre_features, POINTS, degrees, basis)
    yield refused(legendre.legendre_features, np.ma.masked_array([0.0, 0.5], [0, 1]), 2)


def clients_of_data():
    for basis in ("plain", "uniform"):
        client = legendre.data_client(POINTS, POINTS[::-1] ** 2, POINTS + 1.0, (3, 2), basis)
        yield client.H.sum(dim=(2, 3)), client.B, client.c, client.samples, client.loss(W), client.gradient(W)["W"]
    yield refused(legendre.data_client, POINTS, POINTS[:4], POINTS, (3, 2), "plain")
    yield refused(legendre.data_client, [], [], [], (3, 2), "plain")


def _shown(problem):
    yield problem.name, problem.shares, problem.smoothness, problem.least, problem.loss(problem.start)
    yield problem.start["W"], problem.facts["curvature"], problem.facts["basis"], problem.facts.get("target")
    yield [(client.samples, client.B) for client in problem.clients], problem.minimiser


def problems_of_one_target():
    for seed in (0, 1):
        yield list(_shown(legendre.homogeneous(2, _rng(seed), shape=(2, 3), rank=1, samples=25)))


def problems_of_one_target_with_options():
    for options in (
        {"split": "all"},
        {"split": "region"},
        {"basis": "dx"},
        {"start_scale": 0.1},
        {"samples": 26},
        {"rank": 2},
    ):
        given = {"shape": (3, 2), "rank": 1, "samples": 25, **options}
        yield options, list(_shown(legendre.homogeneous(3, _rng(2), **given)))


def problems_of_a_target_each():
    for options in ({}, {"basis": "uniform"}, {"start_scale": 2.0}):
        yield list(_shown(legendre.heterogeneous(2, _rng(3), shape=(2, 3), samples=12, **options)))


def problems_on_demand():
    for seed in (0, 1):
        problem = legendre.homogeneous_on_demand(3, seed, shape=(2, 3), rank=1, samples=7, basis="dx")
        yield problem.smoothness, problem.start["W"], problem.facts, problem.loss(problem.start), problem.evaluated
        yield problem.clients[2].B, problem.clients.samples, problem.name


def problems_at_the_borders_of_their_sizes():
    for clients, samples, split in ((3, 3, "random"), (3, 4, "region"), (1, 1, "all"), (2, 1, "all")):
        found = refused(legendre.homogeneous, clients, _rng(5), shape=(1, 2), rank=1, samples=samples, split=split)
        yield found if isinstance(found, str) else (found.loss(found.start), found.shares, found.least)


def problems_that_are_refused():
    for clients, options in (
        *((0, {}), (4, {"samples": 3}), (1, {"split": "halves"}), (1, {"rank": 3}), (1, {"rank": 0}), (1.5, {})),
        *((1, {"shape": (0, 2)}), (1, {"basis": "x"}), (1, {"start_scale": inf}), (1, {"samples": 2.5})),
    ):
        yield refused(legendre.homogeneous, clients, _rng(), **{"shape": (2, 2), "rank": 1, "samples": 5, **options})
    yield refused(legendre.heterogeneous, 0, _rng(), shape=(2, 2), samples=5)
    for given in ({"rank": 3}, {"samples": 0}, {"basis": "x"}, {"samples": 1.5}):
        found = refused(
            lambda given: legendre.homogeneous_on_demand(
                1, 0, **{"shape": (2, 2), "rank": 1, "samples": 3, "basis": "dx", **given}
            ),
            given,
        )
        yield found if isinstance(found, str) else found.smoothness


def many_targets_at_once():
    targets = torch.stack([legendre.random_targets(3, (3, 2), 1, _rng(seed)) for seed in (0, 1)])
    for split in legendre.SPLITS:
        clients = legendre.many_targets(targets, _rng(4), samples=11, split=split, basis="dx")
        yield [(client.loss(W), client.gradient(W)["W"][0], client.samples, client.c) for client in clients]
    yield targets, [refused(legendre.random_targets, *given, _rng()) for given in ((0, (2, 2), 1), (1, (2, 2), 3))]


def admissible_rates():
    problem = random_quadratics((2, 2), 2, _rng(), curvatures=(0.1, 4.0))
    demand = legendre.homogeneous_on_demand(1, 0, shape=(2, 2), rank=1, samples=3, basis="dx")
    yield [refused(legendre.admissible_rate, problem, steps) for steps in (1, 5, 0, -1, 1.5)]
    yield refused(legendre.admissible_rate, demand, 1)
    flat = random_quadratics((2, 2), 1, _rng(), curvatures=(0.0, 0.0))
    yield refused(legendre.admissible_rate, flat, 1)


def _gram():
    p, q = legendre.legendre_features(POINTS, 3), legendre.legendre_features(POINTS**2, 2)
    return product_gram(p, q, POINTS - 0.5)


def product_features():
    client = _gram()
    yield client.pairs, client.H[0], client.B, client.c, client.samples, client.weight_shape
    yield client.loss(W), client.gradient(W)["W"], client.as_quadratic().loss(W), list(client.tensors())


def product_features_of_several_targets():
    client = _gram().with_targets(torch.stack([W["W"], -W["W"], 2 * W["W"] + 1]))
    yield client.loss(W), client.gradient(W)["W"][:, 0], client.B[1], client.c, client.weight_shape
    yield client.select([2, 0]).loss(W), refused(client.as_quadratic), refused(client.select([]).as_quadratic)
    yield client.select([1]).as_quadratic().loss(W)


def product_features_in_bases():
    U = {"W": torch.tensor([[1.0, 0.5], [0.0, -1.0], [2.0, 0.0]]).double()}
    V = {"W": torch.tensor([[1.0, 0.3], [-2.0, 1.0]]).double()}
    S = {"W": torch.tensor([[0.5, 2.0], [-1.5, 0.1]]).double()}
    client = _gram()
    small = client.projected(U, V)
    yield (
        small.loss(S),
        small.gradient(S)["W"],
        small.H[1],
        small.samples,
        client.loss({"W": U["W"] @ S["W"] @ V["W"].mT}),
    )
    yield client.as_quadratic().projected(U, V).loss(S)
    yield Coefficients(torch.eye(2).double(), torch.ones(1, 2).double(), torch.tensor(0.5)).loss(
        {"W": torch.ones(1, 2).double()}
    )


def products_of_pairs():
    return pair_products(W["W"]), unpack_pairs(torch.arange(18.0).double().reshape(6, 3), 3, 2)
