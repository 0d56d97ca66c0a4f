"""Records of quadratic problems and their arguments: losses, gradients, minimisers, shares, seeds, and messages."""

import numpy as np
import torch
from recording import refused

from toymodels import problem as checks
from toymodels.on_demand import ClientsOnDemand, SampledProblem, sampled_problem
from toymodels.one_sample import OneSample
from toymodels.problem import Problem
from toymodels.quadratic import Quadratic, centred, mean_of, quadratic_problem, quadratics_on_demand, random_quadratics

W = {"W": torch.tensor([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]], dtype=torch.float64)}
U = {"W": torch.tensor([[1.0, 0.5], [0.0, -1.0], [2.0, 0.0]], dtype=torch.float64)}
V = {"W": torch.tensor([[1.0], [-2.0]], dtype=torch.float64)}
S = {"W": torch.tensor([[0.5], [-1.5]], dtype=torch.float64)}


def _rng(seed=0):
    return np.random.default_rng(seed)


def _diagonal(values, centre, samples=1.0):
    return centred(np.diag(np.asarray(values, float)), np.asarray(centre, float), samples)


SMALL = (_diagonal([1.0, 2.0], [[1.0, -1.0]], 3.0), _diagonal([4.0, 0.5], [[0.5, 2.0]]))


def _facts(problem):
    yield problem.name, problem.shares, problem.smoothness, problem.least, problem.minimiser, problem.start["W"]
    yield {name: value for name, value in problem.facts.items() if not isinstance(value, torch.Tensor)}
    yield {name: of(problem.start) for name, of in problem.measures.items()}, problem.loss(problem.start)
    yield problem.evaluate_personal(lambda k: {"W": problem.start["W"] * (k + 1)})


def numbers():
    for value in (0, 3, -2, 2.0, 2.5, True, np.int64(4), "3", None, np.inf, np.nan, 10**20, -(2.0**0.5), [1], -0.0):
        yield [
            refused(check, "x", value) for check in (checks.integer, checks.finite, checks.not_negative, checks.flag)
        ]
        yield refused(checks.seed_number, value)


def shapes_and_sizes():
    for shape in ((2, 3), [2, 3.0], (2,), (2, 3, 4), "ab", 2, (2.5, 1), (-1, 2), None):
        yield refused(checks.matrix_shape, shape)
    for samples in (5, [1, 2, 3], (1, 2), np.array([4, 5, 6]), np.array(7), 2.5, [1, 2.5, 3], "abc", torch.tensor(3)):
        yield refused(checks.sample_sizes, samples, 3)


def arrays_as_tensors():
    masked = np.ma.masked_array([1.0, 2.0], [0, 1])
    for values in ([[1, 2]], torch.tensor([1, 2]), masked, [1j], torch.tensor([1j]), "a", [[1], [2, 3]]):
        found = refused(checks.real_tensor, "v", values, torch.float64)
        yield found, str(getattr(found, "dtype", "")), refused(checks.unmasked, "v", values)


def losses_and_gradients():
    for client in (
        centred(np.arange(36.0).reshape(6, 6) / 10.0, W["W"].numpy() - 1.0),
        OneSample(torch.tensor([[1.0, 2.0, -1.0]]).double(), torch.tensor([[0.5, 3.0]]).double(), torch.tensor(0.7)),
    ):
        yield client.loss(W), client.gradient(W)["W"], client.weight_shape, client.samples, client.whole
        small = client.projected(U, V)
        yield small.loss(S), small.gradient(S)["W"], small.weight_shape, client.loss({"W": U["W"] @ S["W"] @ V["W"].mT})
    yield client.factored(U, S, V)


def centred_clients():
    client = centred([[1.0, 2.0], [0.0, 3.0]], [[1.0], [-1.0]], 5)
    return client, client.loss({"W": torch.tensor([[1.0], [-1.0]]).double()}), client.matrix, client.tensors()


def centred_clients_that_are_refused():
    for H, centre, samples in (
        *((np.eye(3), np.zeros((1, 2)), 1.0), (np.eye(2), np.zeros(2), 1.0), (np.eye(2), np.zeros((1, 2)), 0.0)),
        *(
            (np.eye(2), np.zeros((1, 2)), -1.0),
            (np.eye(2), np.zeros((1, 2)), np.inf),
            (np.eye(2) * 1j, [[1.0, 2.0]], 1.0),
        ),
        *((np.eye(2), [["a", 1.0]], 1.0), (np.eye(2), np.zeros((1, 2)), "1")),
    ):
        yield refused(centred, H, centre, samples)


def means_of_clients():
    return mean_of(SMALL, (0.75, 0.25)), mean_of(SMALL[:1], (2.0,)).c


def problems_of_clients():
    for shares in (None, (1.0, 3.0), (0.0, 2.0), (1e308, 1e308)):
        yield list(_facts(quadratic_problem("two", SMALL, [[0.0, 3.0]], shares, extra=7)))


def problems_without_a_minimiser():
    for least in (-1.0, 0.0, 1e-11, 2e-10):
        problem = quadratic_problem("flat", [_diagonal([1.0, least], [[1.0, 1.0]])], [[0.0, 0.0]])
        yield problem.facts["curvature"], problem.smoothness, problem.minimiser, problem.least, list(problem.measures)


def problems_with_negative_curvature():
    clients = (_diagonal([-5.0, 1.0], [[1.0, 1.0]], 2.0), _diagonal([2.0, 3.0], [[0.0, -1.0]]))
    for some in (clients, clients[:1], clients[::-1]):
        yield list(_facts(quadratic_problem("negative", some, [[0.5, 0.25]])))


def problems_own_their_tensors():
    start = torch.zeros(1, 2, dtype=torch.float64)
    problem = quadratic_problem("own", [SMALL[0], SMALL[0]], start)
    start += 1.0
    return problem.start["W"], problem.clients[0] is problem.clients[1], problem.clients[0] is SMALL[0]


def problems_that_are_refused():
    start = [[0.0, 0.0]]
    tall, single = _diagonal([1.0, 2.0], [[1.0], [1.0]]), Quadratic(*(t.float() for t in SMALL[0].tensors().values()))
    bad = Quadratic(SMALL[0].H * np.inf, SMALL[0].B, SMALL[0].c)
    odd = Quadratic(SMALL[0].H, SMALL[0].B[0], SMALL[0].c)
    for clients in ((), (1.0,), (SMALL[0], tall), (SMALL[0], single), (bad,), (SMALL[0], odd), (tall,)):
        yield refused(quadratic_problem, "p", clients, start)
    for shares in ((1.0,), (1.0, -1e-9), (0.0, 0.0), (np.inf, 1.0), (np.nan, 1.0), 1.0, ("a", 1.0)):
        yield refused(quadratic_problem, "p", SMALL, start, shares)
    for wrong in ([[np.inf, 0.0]], [[1.0]], [[1j, 0.0]], "a"):
        yield refused(quadratic_problem, "p", SMALL, wrong)
    for size in (1e-291, 1.01e-290):
        found = refused(quadratic_problem, "p", [_diagonal([size, size], [[1.0, 1.0]])], start)
        yield found if isinstance(found, str) else found.smoothness / size


def random_problems():
    for seed in (0, 1):
        yield list(_facts(random_quadratics((2, 3), 2, _rng(seed))))
    for options in (
        *(
            {"curvatures": (-0.5, 2.0)},
            {"heterogeneity": 0.0},
            {"heterogeneity": 0.2},
            {"target_rank": 1},
            {"scale": 3.0},
        ),
    ):
        problem = random_quadratics((3, 2), 2, _rng(2), **options)
        spectra = [torch.linalg.eigvalsh(client.matrix) for client in problem.clients]
        yield options, spectra, problem.start["W"], problem.least, problem.loss(problem.start)
        yield torch.linalg.svdvals(problem.start["W"])
    yield list(_facts(random_quadratics((1, 1), 1, _rng(), curvatures=(0.3, 0.9))))


def random_problems_that_are_refused():
    for shape, clients, options in (
        *(((0, 2), 1, {}), ((2, 2), 0, {}), ((2, 2), 1, {"curvatures": (2.0, 1.0)}), ((2, 3), 1, {"target_rank": 3})),
        *(((2, 2), 1, {"target_rank": 0}), ((2, 2), 1, {"heterogeneity": -1e-9}), ((2, 2), 1.5, {}), ((2,), 1, {})),
        *(((2, 2), 1, {"curvatures": 1.0}), ((2, 2), 1, {"curvatures": (1.0, np.inf)}), ((2, 2), 1, {"scale": np.nan})),
        *(((2, 2), 1, {"curvatures": (0.0, 1e-291)}), ((2, 2), 1, {"scale": 1e308}), ((2, 2), 1, {"curvatures": "ab"})),
    ):
        found = refused(random_quadratics, shape, clients, _rng(), **options)
        yield found if isinstance(found, str) else found.start["W"] / 1e308


def problems_on_demand():
    for seed in (0, 1):
        problem = quadratics_on_demand((2, 3), 5, seed, curvatures=(-3.0, 1.0), heterogeneity=0.5, scale=2.0)
        yield (
            list(_facts(problem)),
            problem.evaluated,
            problem.clients[0].B,
            problem.clients[-1].B,
            len(problem.clients),
        )
    same = quadratics_on_demand((2, 2), 3, 0, heterogeneity=0.0)
    yield same.clients[0].B, same.clients[1].B, same.shares, same.clients.sizes


def numbers_of_clients_on_demand():
    clients = ClientsOnDemand(lambda rng: float(rng.standard_normal()), 4, 7, 3.0)
    yield [
        refused(clients.__getitem__, number)
        for number in (0, 3, -1, -4, 4, -5, 1.5, slice(1, 3), slice(None, None, -2))
    ]
    yield list(clients), len(clients), clients.sizes, refused(clients.pooled), ClientsOnDemand(lambda rng: 1.0, 1, 0)[0]
    for total, seed, samples in ((0, 0, 1.0), (1, -1, 1.0), (1, 0, 0.5), (1.5, 0, 1.0), (1, 0, np.nan), (1, "a", 1.0)):
        yield str(refused(lambda *given: len(ClientsOnDemand(float, *given)), total, seed, samples))


def losses_are_means_over_the_evaluated_clients():
    clients = ClientsOnDemand(lambda rng: _diagonal(rng.uniform(1.0, 2.0, 2), [[0.0, 0.0]]), 7, 3)
    start = {"W": torch.ones(1, 2, dtype=torch.float64)}
    for evaluated in (1, 2, 7):
        problem = SampledProblem("p", clients, start, [1 / 7] * 7, 1.0, evaluated=evaluated)
        yield (
            problem.loss(start),
            problem.evaluate_personal(lambda k: {"W": start["W"] * (k + 1)}),
            len(problem.sampled),
        )


def numbers_of_evaluated_clients():
    for total, entries in ((5, 10), (2000, 10), (2000, 10**6), (2000, 10**9), (64, 500_000), (65, 500_000)):
        clients = ClientsOnDemand(lambda rng: None, total, 0)
        yield sampled_problem("p", clients, torch.zeros(1, 1), 2.0, entries).evaluated


def losses_are_means_by_shares():
    problem = Problem("p", SMALL, {"W": torch.tensor([[1.0, 0.0]]).double()}, (0.9, 0.1), 4.0)
    yield problem.loss(problem.start), problem.evaluate_personal(lambda k: {"W": problem.start["W"] + k})
    yield (
        problem.least,
        problem.minimiser,
        problem.facts,
        refused(Problem, "p", SMALL, {"W": torch.zeros(2, 1)}, (1, 1), 1.0),
    )
    yield refused(Problem, "p", SMALL, {"b": torch.tensor([np.nan])}, (1, 1), 1.0)


def clients_with_other_tensors():
    client, other = SMALL
    turned = client.with_tensors(other.tensors())
    return turned, turned.samples, client.samples
