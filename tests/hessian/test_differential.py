"""`hessian` against exact Hessians on generated problems: equal within what is stated, or refused with a reason."""

import itertools

import every_layer
import layer_routes
import numpy as np
import pytest
import torch
from generated_cases import BATCHINGS, CONTAINERS, FLAT, MEANINGS, TOKENS, problems
from torch import nn

from hessian import Curvature, CurvatureError, Workers, exact_hessian, stable_rank_of

PROBLEMS = list(problems())
CONFIDENCE = 0.9999
"""Confidence level of each interval: in a fixed set of problems, none may miss."""
ROUNDING = {torch.float64: 1e-9, torch.float32: 2e-4}


def test_there_are_at_least_200_of_them_and_no_two_choices_go_together():
    assert len(PROBLEMS) >= 200
    assert len({problem.name for problem in PROBLEMS}) == len(PROBLEMS)
    for several in (False, True):
        for recombines in (False, True):
            assert sum(p.several is several and p.recombines is recombines for p in PROBLEMS) >= 20
    for words in ("weights only", "vmap", "kept graphs"):
        assert sum(p.name.endswith(words) for p in PROBLEMS) >= 3
    met = {pair for problem in PROBLEMS for pair in itertools.combinations(problem.made_of, 2)}
    networks, dtypes = [*FLAT, *TOKENS], ["torch.float32", "torch.float64"]
    for one, other in ((MEANINGS, BATCHINGS), (MEANINGS, dtypes), (MEANINGS, CONTAINERS), (networks, dtypes)):
        assert set(itertools.product(one, other)) <= met
    assert len({pair for pair in met if pair[0] in networks and pair[1] in BATCHINGS}) >= 0.9 * 5 * len(networks)


@pytest.mark.sample(80)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_a_case_is_right_or_refused(problem):
    # What batches' losses cannot make up must be refused, and nothing else.
    wrong = problem.several and not problem.recombines
    if wrong:
        with pytest.raises(CurvatureError, match=r"over samples|over independent samples|count=") as caught:
            Curvature(problem.model, problem.loss, problem.data, **problem.options)
        assert "\n" not in str(caught.value)
        return
    operator = Curvature(problem.model, problem.loss, problem.data, **problem.options)
    exact = problem.exact()
    assert len(exact) == operator.P
    vectors = torch.randn(3, operator.P, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = operator.products(vectors.to(operator.dtype)).double()
    size = torch.linalg.vector_norm(vectors, dim=1) * torch.linalg.matrix_norm(exact, 2)
    assert bool((torch.linalg.vector_norm(found - vectors @ exact, dim=1) <= ROUNDING[operator.dtype] * size).all())
    if PROBLEMS.index(problem) % 4:  # intervals rest on the products alone, for any network
        return
    values = torch.linalg.eigvalsh(exact).numpy()
    truth = float((values**2).sum() / np.abs(values).max() ** 2)
    interval = stable_rank_of(
        operator, rng=np.random.default_rng(0), relative_width=0.1, confidence=CONFIDENCE, chunk=8
    )
    assert interval.low * (1 - ROUNDING[operator.dtype]) <= truth <= interval.high * (1 + ROUNDING[operator.dtype])


@pytest.mark.parametrize("problem", PROBLEMS[::3], ids=lambda problem: problem.name)
def test_its_gauss_newton_matrix_is_right_or_refused(problem):
    options = {**problem.options, "matrix": "gauss-newton"}
    penalised = "penalised" in problem.made_of
    if "mapping" in problem.made_of or penalised or (problem.several and not problem.recombines):
        message = "one tensor as output|in addition to the model's output|over samples|over independent samples|count="
        with pytest.raises(CurvatureError, match=message):
            Curvature(problem.model, problem.loss, problem.data, **options)
        return
    operator = Curvature(problem.model, problem.loss, problem.data, **options)
    found, exact = operator.products(torch.eye(operator.P, dtype=operator.dtype)).double(), problem.gauss_newton()
    assert float((found - exact).abs().max()) <= ROUNDING[operator.dtype] * float(exact.abs().max())


@pytest.mark.parametrize("problem", PROBLEMS[::5], ids=lambda problem: problem.name)
def test_the_dense_hessian_is_right_or_refused(problem):
    model, loss, x, y = problem.plain
    if "parameters" in problem.options:
        pytest.skip("takes all trainable parameters")
    if "batch_norm" in problem.options:
        with pytest.raises(CurvatureError, match="in training mode"):
            exact_hessian(model, loss, x, y)
        return
    mean = problem.recombines and problem.options.get("reduction") != "sum" and "count" not in problem.options
    if not mean:
        with pytest.raises(
            CurvatureError,
            match=r"over samples|over independent samples|reduces by|for only some "
            r"of its",
        ):
            exact_hessian(model, loss, x, y, rows=5)
        return
    found = exact_hessian(model, loss, x, y, rows=5)
    exact = problem.exact()
    assert float((found.double() - exact).abs().max()) <= ROUNDING[found.dtype] * float(exact.abs().max())


LAYERS = [
    (name, route)
    for name in every_layer.CASES
    for route in layer_routes.ROUTES
    if not name.startswith("Lazy") or route == "together"  # which is another layer once it is made
]


@pytest.fixture(scope="module")
def two():
    """Two processes, which all tests share."""
    with Workers(2) as workers:
        yield workers


def test_no_layer_with_parameters_is_forgotten():
    assert every_layer.layers_with_parameters() == {*every_layer.CASES, *every_layer.EXCUSED}
    assert len(PROBLEMS) + len(LAYERS) >= 500


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hessian.RouteWarning")
@pytest.mark.parametrize(("name", "route"), LAYERS, ids=[f"{name}-{route}" for name, route in LAYERS])
def test_every_layer_is_right_by_every_route(name, route, two):
    problem = every_layer.layer_problem(name)
    found, exact = layer_routes.ROUTES[route](problem, two)
    assert found.shape == exact.shape
    assert float((found - exact).abs().max()) <= 1e-11 * float(exact.abs().max())


def test_a_layer_without_second_derivative_is_refused():
    model = nn.Sequential(nn.EmbeddingBag(5, 3), nn.Tanh())
    words, targets = torch.randint(5, (4, 3)), torch.zeros(4, 3)
    with pytest.raises(CurvatureError, match="has no second derivative"):
        Curvature(model, nn.MSELoss(), (words, targets))
