"""The page on adding a method: its example is the method that it says, and the files that it names are there."""

import re
from pathlib import Path

import pytest
import torch

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation, FederationError
from algorithms.fedlora import FedLoRA
from algorithms.rounds import one_round
from algorithms.tree import Tree
from runs.plan import make_plan, parts_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "add-a-method.md").read_text()
COHORTS = ((0, 1), (1, 2), (0, 1, 2))


@pytest.fixture(scope="module")
def example():
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    names = {"__name__": "example"}
    exec(compile(program, "docs/add-a-method.md", "exec"), names)
    return names["SmoothedLoRA"]


def states(algorithm):
    """Return the state after each round, and the federation, on weights of 7 x 5 and another without factors."""
    given = {"clients": 3, "steps": 2, "rows": 7, "columns": 5, "heterogeneity": 0.5}
    problem = parts_of(make_plan("fedavg", "quadratics", given)).problem
    fed = Federation(problem.clients, shares=(1.0, 2.0, 3.0))
    state, found = algorithm.start(fed, Tree(W=torch.eye(7, 5, dtype=torch.float64))), []
    for cohort in COHORTS:
        state = one_round(algorithm.round, fed, state, cohort)
        found.append(state)
    return found, fed


@pytest.mark.parametrize("beta", [0.0, 0.25])
def test_the_example_smooths_the_factors_and_sends_nothing_for_it(example, beta):
    local, adapter = Descent(2, 0.1), Adapter(2)
    plain, fed = states(FedLoRA(local, adapter))
    ours, own = states(example(local, adapter, beta))
    assert own.ledger.bytes() == fed.ledger.bytes()
    A, B = (factor["W"] for factor in adapter.factors(Tree(W=torch.eye(7, 5, dtype=torch.float64)))[:2])
    for one, other in zip(plain, ours, strict=True):
        torch.testing.assert_close(other.factors.A["W"], one.factors.A["W"], rtol=0.0, atol=0.0)
        A, B = beta * A + (1 - beta) * one.factors.A["W"], beta * B + (1 - beta) * one.factors.B["W"]
        model = example(local, adapter, beta).weights(other)["W"]
        torch.testing.assert_close(model, torch.eye(7, 5, dtype=torch.float64) + A @ B)
    assert not torch.equal(ours[0].factors.A["W"], ours[1].factors.A["W"])


@pytest.mark.parametrize("beta", [-0.1, 1.0, float("nan")])
def test_the_example_refuses_a_share_out_of_range(example, beta):
    with pytest.raises(FederationError, match="beta must be at least 0 and less than 1"):
        example(Descent(2, 0.1), Adapter(2), beta)


def test_the_files_that_the_page_names_are_there():
    named = re.findall(r"`((?:tests|runs|algorithms)/[\w/]+\.py)`", PAGE)
    assert {ROOT / name for name in named if name != "algorithms/my_method.py" and not (ROOT / name).exists()} == set()
    assert len(named) >= 6
