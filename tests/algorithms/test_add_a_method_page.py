"""The page on adding a method: its example is the method that it says, and the files that it names are there."""

import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import by_hand
import pytest
import test_by_hand as hand
import torch
from test_by_hand import adapter, agree, federation, local, models

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation, FederationError
from algorithms.fedlora import FedLoRA
from algorithms.rounds import one_round
from algorithms.tree import Tree
from runs.plan import make_plan, parts_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add-a-method.md").read_text()
METHOD, BY_HAND = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
COHORTS = ((0, 1), (1, 2), (0, 1, 2))


def run(program, names):
    """Run a program of the page and return its names."""
    exec(compile(program, "docs/add-a-method.md", "exec"), names)
    return names


@pytest.fixture(scope="module")
def example():
    return run(METHOD, {"__name__": "example"})["SmoothedLoRA"]


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


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("rank", [1, 2])
def test_the_example_agrees_with_its_loop_by_hand(example, batch, rank):
    loop = run(BY_HAND, dict(vars(by_hand)))["smoothed_lora"]
    found, _ = models(example(local(batch), adapter(rank), 0.25), federation())
    agree(found, loop(batch, Fraction(1, 4), rank))


def test_the_lines_to_copy_run(example):
    loops = run(BY_HAND, dict(vars(by_hand)))
    names = {**vars(hand), "SmoothedLoRA": example, "Adapter": Adapter, "LOCAL": local(2), "ADAPTER": adapter()}
    names["by_hand"] = SimpleNamespace(**loops)

    def copied(start, brackets):
        return eval(re.search(rf"`({start}.*SmoothedLoRA\(.*),`", PAGE).group(1).join(brackets), names)

    plain, built = copied('"SmoothedLoRA": ', "{}"), copied('"smoothed-lora": (?=S)', "{}")
    refused = copied(r"\(lambda: ", "()")
    ours, theirs = plain["SmoothedLoRA"]
    agree(models(ours(2), federation())[0], theirs(2))
    assert list(built) == ["smoothed-lora"]
    with pytest.raises(FederationError, match=refused[1]):
        refused[0]()


@pytest.mark.parametrize("beta", [-0.1, 1.0, float("nan")])
def test_the_example_refuses_a_share_out_of_range(example, beta):
    with pytest.raises(FederationError, match="beta must be at least 0 and less than 1"):
        example(Descent(2, 0.1), Adapter(2), beta)


def test_the_files_that_the_page_names_are_there():
    named = re.findall(r"`((?:tests|runs|algorithms)/[\w/]+\.py)`", PAGE)
    assert {
        ROOT / name for name in named if name != "algorithms/smoothed_lora.py" and not (ROOT / name).exists()
    } == set()
    assert len(named) >= 6
