"""Modules and replays of a paper depend neither on settings nor on draws of what ran before them."""

import json
import random
import sys

import numpy as np
import pytest
import torch

from paper_checks.engine.generators import generators_seeded
from paper_checks.ledger import LedgerError
from paper_checks.paper import Paper
from paper_checks.replay import ReplayError, Stored, replay_in_fresh_process, replays_of

CLAIM = """
from paper_checks.methods.relations import Relation, relations


@relations("{id}", where="", says="", measure=lambda context: 1, mutants=[{{"K": 2}}], expect=("holds", "search"))
def check(x, K=1):
    yield Relation("one", x, K)
    return "one"
"""
REPLAYS = """
import random
from decimal import Decimal, getcontext

import mpmath
import numpy as np

from paper_checks.replay import Violation, replay


@replay("alone/changing")
def changing(values):
    mpmath.mp.dps, getcontext().prec = 60, 3
    return Violation(float(values["x"]), 1, error=1e-9)


@replay("alone/measuring")
def measuring(values):
    lost = 1e15 * float(mpmath.sqrt(2) ** 2 - 2) + float(Decimal(1) / 3)
    return Violation(float(values["x"]) + lost, 1, error=1e-9)


@replay("alone/drawing")
def drawing(values):
    drawn = random.random() + np.random.rand() + np.random.default_rng().random()
    return Violation(float(values["x"]) + drawn, 1, error=1e-9, sampled="three draws")


@replay("alone/idle")
def idle(values):
    return Violation(2.0 + 0.0 * float(values["x"]) + random.random(), 1, error=1e-9, sampled="a draw")
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function that writes modules of a package on the import path."""

    def write(**files):
        for name, text in {"__init__": "", "replays": "", **files}.items():
            (tmp_path / "alone").mkdir(exist_ok=True)
            (tmp_path / "alone" / f"{name}.py").write_text(text)
        return Paper("alone", "Alone", "alone", tuple(name for name in files if name != "replays"))

    monkeypatch.syspath_prepend(tmp_path)
    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "alone"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("import torch; torch.set_default_dtype(torch.float64)", "torch's default type"),
        ("import mpmath; mpmath.mp.dps = 40", "the precision of mpmath"),
        ("import decimal; decimal.getcontext().prec = 5", "the context of decimals"),
        ("import numpy; numpy.seterr(all='ignore')", "numpy's answers to overflow"),
        ("import os; os.chdir('/')", "the current folder"),
        ("import warnings; warnings.simplefilter('error', BytesWarning)", "which warnings raise errors"),
        ("import sympy; sympy.assumptions.global_assumptions.add(sympy.Q.positive(sympy.Symbol('x')))", "of sympy"),
    ],
)
def test_a_module_that_changes_a_setting_is_refused_and_the_setting_restored(package, line, told):
    paper = package(first=line + CLAIM.format(id="alone/first"), second=CLAIM.format(id="alone/second"))
    before = torch.get_default_dtype(), np.geterr()
    with pytest.raises(LedgerError, match=rf"importing alone.first changes .*{told}.* within the functions"):
        paper.claims()
    assert (torch.get_default_dtype(), np.geterr()) == before
    package(replays=line)
    with pytest.raises(ReplayError, match=rf"importing alone.replays changes .*{told}"):
        replays_of("alone")


def test_a_module_may_set_what_decides_no_number(package, monkeypatch):
    monkeypatch.setenv("OF_A_PAPER", "0")
    line = "import os, warnings; os.environ['OF_A_PAPER'] = '1'; warnings.simplefilter('ignore')"
    paper = package(first=line + CLAIM.format(id="alone/first"))
    assert [claim.id for claim in paper.claims()] == ["alone/first"]


def test_draws_of_a_module_are_the_same_in_every_process(package):
    drawn = "random.random(), numpy.random.rand(), numpy.random.default_rng().random(), float(torch.rand(1))"
    text = f"import random, numpy, torch\nDRAWN = {drawn}\n{CLAIM.format(id='alone/first')}"
    found = []
    for seed in (1, 2):
        with generators_seeded(seed):
            after = random.Random(seed).random()
            package(first=text).claims()
            assert random.random() == after
        found.append(sys.modules.pop("alone.first").DRAWN)
    assert found[0] == found[1]
    assert len(set(found[0])) == 4


@pytest.mark.parametrize("order", [("changing", "measuring", "drawing"), ("drawing", "measuring"), ("measuring",)])
def test_a_replay_comes_to_the_same_after_any_other(package, order):
    package(replays=REPLAYS)
    files = [Stored(f"alone/{name}", "witness", {"x": 2.0}) for name in order]
    answers = dict(zip(order, replay_in_fresh_process("alone", files), strict=True))
    assert answers["measuring"].left == pytest.approx(2.0 + 4 * 0.1110223 + 1.0 / 3.0, rel=1e-6)
    again = replay_in_fresh_process("alone", files[-1:])
    assert json.dumps(answers[order[-1]].left) == json.dumps(again[0].left)
    assert all(answer.confirmed and answer.can_fail for answer in answers.values())


def test_a_replay_that_fails_by_its_draws_alone_cannot_fail(package):
    package(replays=REPLAYS)
    (answer,) = replay_in_fresh_process("alone", [Stored("alone/idle", "witness", {"x": 2.0})])
    assert answer.confirmed
    assert not answer.can_fail
