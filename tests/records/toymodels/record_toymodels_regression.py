"""Records of matrix regression and its rates: draws by seed and option, best B, ranks, minimisers, and messages."""

from dataclasses import replace

import numpy as np
import torch
from recording import refused

from toymodels import regression_rates as rates
from toymodels.quadratic import random_quadratics
from toymodels.regression import (
    Regressor,
    _has_one_minimiser,
    _is_definite,
    best_of_rank,
    in_expectation,
    regression,
    regression_on_demand,
    with_fresh_data,
)

W = {"W": torch.tensor([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]], dtype=torch.float64)}
CLIENT = Regressor(torch.tensor([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]]).double(), W["W"] * 2 - 1, 7.0)


def _rng(seed=0):
    return np.random.default_rng(seed)


def _shown(problem):
    facts = problem.facts
    yield problem.name, problem.shares, problem.smoothness, problem.least, problem.loss(problem.start), sorted(facts)
    yield facts["sizes"], facts["gamma_squared"], facts["own_B"], facts["mean_B"]
    yield None if problem.minimiser is None else problem.minimiser["W"], problem.measures["angle"](problem.start)
    yield [client.samples for client in problem.clients], problem.evaluate_personal(lambda k: problem.start)


def losses_and_gradients():
    return CLIENT.loss(W), CLIENT.gradient(W)["W"], CLIENT.weight_shape, CLIENT.samples, CLIENT.whole


def best_b_at_an_a():
    for A in ([[1.0], [0.5], [-2.0]], [[1.0, 0.0], [0.5, 1.0], [-2.0, 0.3]]):
        a = torch.tensor(A).double()
        yield CLIENT.best_b({"W": a})["W"], CLIENT.best_b({"W": 2 * a})["W"]


def best_b_that_is_not_unique():
    for A in ([[1.0, 2.0], [0.5, 1.0], [-2.0, -4.0]], [[0.0], [0.0], [0.0]], [[1.0, 0.0], [0.5, 0.0], [1.0, 0.0]]):
        yield refused(CLIENT.best_b, {"W": torch.tensor(A).double()})
    few = replace(CLIENT, G=torch.ones(3, 3).double())
    yield refused(few.best_b, {"W": torch.eye(3, 2).double()}), refused(few.best_b, {"W": torch.ones(3, 1).double()})


def best_b_of_nearly_equal_columns():
    """Refused below a size that grows with the dimension, as the rounding of the sums does."""
    for d in (3, 20, 200):
        client = Regressor(torch.eye(d).double(), torch.ones(d, 1).double())
        for off in (1e-7, 4.5e-7, 1.5e-6):
            a = torch.zeros(d, 2).double()
            a[0], a[1, 1] = 1.0, off
            yield isinstance(refused(client.best_b, {"W": a}), str)


def minimisers_in_every_unit():
    for unit in (1e-14, 1.0, 1e14):
        for least in (1e-9, 1e-11):
            yield _has_one_minimiser(unit * torch.diag(torch.tensor([1.0, least])).double())


def definiteness_at_its_border():
    size = 64.0 * 3 * torch.finfo(torch.float64).eps
    for least in (0.5 * size, 2.0 * size, -1.0, float("nan")):
        yield _is_definite(torch.diag(torch.tensor([1.0, least])).double(), torch.tensor([1.0, 1.0]).double(), 3)
    yield _is_definite(torch.eye(2).double(), torch.tensor([1.0, 0.0]).double(), 3)


def problems_of_two_seeds():
    for seed in (0, 1):
        yield list(_shown(regression(4, 2, 2, _rng(seed))))


def problems_with_samples():
    for samples in (9, [3, 12]):
        yield list(_shown(regression(4, 2, 2, _rng(2), samples=samples, heterogeneity=0.5)))


def problems_of_rank_2():
    for sine in (None, 0.0, 0.3, 1.0):
        problem = regression(5, 3, 2, _rng(3), rank=2, sine=sine, heterogeneity=1.0)
        yield problem.measures["angle"](problem.start), problem.facts["first"].abs().sum(), problem.start["W"].norm()


def problems_at_the_borders_of_their_sizes():
    for sizes, options in (
        *(((4, 3, 1), {"rank": 2, "sine": 0.4}), ((2, 2, 1), {"rank": 2}), ((2, 1, 1), {"sine": 1.0}), ((1, 1, 1), {})),
        *(((1, 1, 2), {"samples": 1}), ((3, 2, 2), {"samples": [1, 2]}), ((2, 3, 1), {"sine": 0.0})),
    ):
        problem = regression(*sizes, _rng(9), **options)
        yield problem.measures["angle"](problem.start), problem.loss(problem.start), problem.smoothness, problem.least


def problems_with_too_few_samples():
    problem = regression(4, 2, 2, _rng(4), samples=[1, 2])
    yield problem.minimiser, problem.least, problem.smoothness, refused(best_of_rank, problem, 1)


def problems_without_constants():
    problem = regression(4, 2, 2, _rng(4), samples=6, constants=False)
    yield problem.smoothness, problem.minimiser, problem.least, refused(best_of_rank, problem, 1)
    yield (
        with_fresh_data(problem, _rng(1), constants=True).smoothness,
        in_expectation(problem, constants=False).smoothness,
    )


def fresh_data_and_expectations():
    problem = regression(4, 2, 2, _rng(5), samples=[5, 8], heterogeneity=0.3)
    fresh, expected = with_fresh_data(problem, _rng(6)), in_expectation(problem)
    yield list(_shown(fresh)), list(_shown(expected)), [client.G[0] for client in fresh.clients]
    yield with_fresh_data(expected, _rng(6)).loss(problem.start), problem.loss(problem.start)


def fresh_data_that_are_refused():
    problem, other = regression(4, 2, 2, _rng(), samples=5), random_quadratics((4, 2), 1, _rng())
    demand = regression_on_demand(4, 2, 3, 0, samples=5, heterogeneity=0.0)
    yield (
        refused(with_fresh_data, demand, _rng()),
        refused(with_fresh_data, other, _rng()),
        refused(in_expectation, other),
    )
    yield refused(with_fresh_data, replace(problem, facts={"sizes": (5,)}), _rng())
    yield refused(with_fresh_data, replace(other, facts={"sizes": (5,)}), _rng()), refused(best_of_rank, other, 1)
    yield refused(with_fresh_data, problem, _rng(), constants=1), refused(in_expectation, problem, constants="no")
    yield refused(best_of_rank, demand, 1), in_expectation(demand).facts["sizes"], in_expectation(demand).shares


def best_matrices_of_each_rank():
    problem = regression(4, 3, 3, _rng(7), samples=[9, 5, 14], heterogeneity=1.0)
    for rank in (0, 1, 2, 3, 8):
        found = best_of_rank(problem, rank)
        yield found, problem.loss({"W": found})
    yield [refused(best_of_rank, problem, rank) for rank in (-1, 1.5, "a")]


def angles_of_matrices():
    problem = regression(4, 2, 1, _rng(8))
    truth, angle = problem.facts["truth"], problem.measures["angle"]
    row = torch.tensor([[1.0, -2.0]]).double()
    other = torch.tensor([[1.0], [0.0], [0.0], [0.0]]).double()
    yield angle({"W": truth @ row}), angle({"W": other @ row}), angle({"W": truth @ row + 0.1 * other @ row})
    yield angle({"W": 0.0 * other @ row}), angle({"W": (truth @ row).float()}) < 1e-6
    two = regression(5, 3, 1, _rng(8), rank=2)
    yield two.measures["angle"]({"W": two.facts["truth"][:, :1] @ torch.ones(1, 3).double()})


def problems_on_demand():
    for seed in (0, 1):
        for samples in (None, 4):
            problem = regression_on_demand(3, 2, 4, seed, samples=samples, heterogeneity=0.5)
            yield problem.smoothness, problem.start["W"], problem.loss(problem.start), problem.evaluated, problem.shares
            yield problem.clients[1].target, problem.clients[3].G, problem.clients.samples, problem.facts["truth"]
            yield problem.measures["angle"](problem.start), problem.evaluate_personal(lambda k: {"W": W["W"] * k})


def problems_that_are_refused():
    for sizes, options in (
        *(((0, 2, 1), {}), ((2, 0, 1), {}), ((2, 2, 0), {}), ((3, 2, 1), {"rank": 3}), ((3, 2, 1), {"rank": 0})),
        *(
            ((3, 2, 2), {"samples": 0}),
            ((3, 2, 2), {"samples": [1]}),
            ((3, 2, 2), {"samples": [1, 0]}),
            ((2.5, 2, 1), {}),
        ),
        *(((3, 2, 1), {"heterogeneity": -0.1}), ((3, 2, 1), {"sine": 1.01}), ((3, 2, 1), {"sine": -0.01})),
        *(((3, 3, 1), {"sine": 0.5, "rank": 2}), ((3, 2, 1), {"constants": 1}), ((3, 2, 1), {"sine": np.nan})),
    ):
        yield refused(regression, *sizes, _rng(), **options)
    for given in ((0, 2, 1, 0), (3, 2, 1, -1), (3, 2, 0, 0), (3, 2.5, 1, 0)):
        yield refused(regression_on_demand, *given, samples=3, heterogeneity=0.0)
    for samples, heterogeneity in ((0, 0.0), (2.5, 0.0), (3, -1.0)):
        yield refused(regression_on_demand, 3, 2, 1, 0, samples=samples, heterogeneity=heterogeneity)


def maps_and_factors():
    for delta, step in (
        (0.3, 0.2),
        (0.9, 0.5),
        (0.6, 1.0),
        (0.5, 3.0),
        (0.0, 1.0),
        (1.0, 0.7),
        (0.4, 0.0),
        (0.5, 0.51),
    ):
        yield rates.population_map(delta, step), refused(rates.homogeneous_factor, delta, step)
        yield refused(rates.heterogeneous_factor, delta, step), rates.largest_step_of_homogeneous_factor(delta)


def maps_at_large_steps():
    for step in (1e7, 9e149, 1.1e150, 1e300):
        yield rates.population_map(0.6, step), rates.population_map(1.0, step), rates.population_map(0.0, step)


def corrections():
    for clients, samples in ((1, 3), (2, 3), (3, 4), (5, 5), (10, 20), (2, 2), (0, 5), (1.5, 5), (2, 3.5), (1, "a")):
        yield (
            refused(rates.ffa_correction, clients, samples),
            refused(rates.ffa_population_correction, clients, samples),
        )


def rates_that_are_refused():
    for delta, step in ((-1e-9, 0.1), (1.0 + 1e-9, 0.1), (0.5, -1e-9), (np.nan, 0.1), (0.5, np.inf), ("a", 0.1)):
        yield refused(rates.population_map, delta, step), refused(rates.homogeneous_factor, delta, step)
        yield refused(rates.heterogeneous_factor, delta, step), refused(rates.largest_step_of_homogeneous_factor, delta)
    yield refused(rates.homogeneous_factor, 0.5, 1.0 + 1e-9), refused(rates.heterogeneous_factor, 0.5, 0.5 + 1e-9)
