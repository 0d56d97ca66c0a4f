"""No option is accepted and then ignored: another value changes a run's numbers, or one line refuses it."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation, FederationError
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rounds import rounds
from runs.catalogue import ALGORITHMS, algorithm_of, schemas_of
from runs.network_problem import network_problem
from runs.plan import make_plan, parts_of
from runs.settings import RunError

IDLE = {
    "precision": "only weights of half precision have factors of another type",
    "personal_precision": "as precision",
    "cap": "the rank fits all layers",
    "personal_cap": "as cap",
}
LIVE = {  # in which most options have an effect
    "clients": 4,
    "learning_rate": 0.2,
    "optimiser": "adam",
    "batch": 4,
    "epochs": 1,
    "schedule": "cosine",
    "schedule_period": 2,
    "layers": "0, 3, 5",
    "tau": 2,
    "rank": 2,
}
OWN_LIVE = {"scaffold": {"control": "gradient"}}  # its default takes plain steps only


@cache
def small_network():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 2, 5, 5, generator=generator).double()
    y = torch.randint(3, (30,), generator=generator)
    torch.manual_seed(1)
    module = nn.Sequential(nn.Conv2d(2, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(36, 5), nn.Tanh(), nn.Linear(5, 3))
    ends = np.cumsum((0, 5, 7, 10, 8))
    parts = [np.arange(*pair) for pair in pairwise(ends)]
    return network_problem(module.double(), (x, y), parts, (x, y))


def numbers(name, given):
    """Return all that a run of three rounds computes: its models, its personal ones, and its bytes."""
    plan = make_plan(name, "regression" if name == "rolora-exact" else "mnist", given)
    if name == "rolora-exact":
        made = parts_of(plan)
        algorithm, problem = made.algorithm, made.problem
    else:
        algorithm, problem = algorithm_of(name, "mnist", plan.settings), small_network()
    *_, last = rounds(algorithm, problem, rounds=3, cohort=3, seed=5)
    models = [algorithm.weights(last.state.algorithm)]
    if hasattr(algorithm, "personal_weights"):
        fed = Federation(problem.clients, seed=5, state=last.state.federation)
        models += [algorithm.personal_weights(fed, last.state.algorithm, k) for k in range(4)]
    dense = [W.dense() if hasattr(W, "dense") else W for model in models for W in model.values()]
    return [W.flatten() for W in dense], {k: v for k, v in last.metrics.items() if "bytes" in k or "rank" in k}


def equal(one, other):
    return one[1] == other[1] and all(map(torch.equal, one[0], other[0]))


def another(option, value):
    if option.name == "truncation_least":
        return 5  # above the rank that the threshold leaves
    if option.name == "decay":
        return 1.0  # others cut a rank of 2 to 1
    if option.words and value is None:
        return option.words[-1]  # no value means the first
    if option.words:
        return next(word for word in option.words if word != value)
    if option.kind is tuple:
        return (0.5, 0.6) if option.element is float else (1, 2, 1, 1)
    if option.kind is bool:
        return not value
    if option.kind is str:
        return "3, 5"
    return 1 + (value or 0) if option.kind is int else 0.125


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_option_changes_the_numbers_or_is_refused(name):
    problem = "regression" if name == "rolora-exact" else "mnist"
    live = LIVE | OWN_LIVE.get(name, {})
    known = schemas_of(name, problem, live)[0].options(live)
    base = {key: value for key, value in live.items() if key in known or key == "clients"}
    plain, settings = numbers(name, base), make_plan(name, problem, base).settings
    idle = []
    for option in known.values():
        given = {**base, option.name: another(option, settings[option.name])}
        if option.name.endswith("steps"):
            given[option.name.replace("steps", "epochs")] = None
        try:
            changed = not equal(plain, numbers(name, given))
        except (FederationError, RunError):
            continue
        if not changed and option.name not in IDLE:
            idle.append(option.name)
    assert idle == []


def test_a_rest_that_an_algorithm_lacks_is_refused():
    local, frozen = Descent(), Adapter(1, rest="frozen")
    with pytest.raises(FederationError, match=r"pFedLoRA trains all global weights, .*; leave rest out"):
        PersonalFedLoRA(local, local, frozen)
    with pytest.raises(FederationError, match="the rest belongs to the shared factors; freeze it there"):
        PersonalFedLoRU(local, Adapter(1), 2, personal_adapter=frozen)
    PersonalFedLoRU(local, frozen, 2, personal_adapter=Adapter(1))
    for rest, personal in (("trained", "frozen"), ("frozen", "trained")):
        plan = make_plan("pfedloru", "mnist", {"rest": rest, "personal_rest": personal})
        with pytest.raises(FederationError, match=r"personal_rest has no effect, .*; leave it out"):
            algorithm_of("pfedloru", "mnist", plan.settings)
    for rest in ("trained", "frozen"):
        made = algorithm_of("pfedloru", "mnist", make_plan("pfedloru", "mnist", {"rest": rest}).settings)
        assert made.adapter.rest == rest
