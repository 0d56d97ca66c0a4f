"""Proofs of FeDLRT's corrected statements: as stored they verify, with a constant that proves too much they do not."""

import copy
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from paper_checks.evaluation import evaluated
from paper_checks.fedlrt.paper import PAPER
from paper_checks.fedlrt.replays.local_steps import flaw_of_bracket, flaw_of_least, flaw_of_rise, flaw_of_series
from paper_checks.methods.worst_case.certificate import Certificate, flaw
from paper_checks.replay import replays_of

F = Fraction
REPLAYS = replays_of(PAPER.package)


def mathematics(id, values):
    """Whether the steps of a proof hold with these constants, whatever the statement's are."""
    return evaluated(replace(REPLAYS[id, "certificate"], states={}), values).confirmed


TOO_MUCH = {
    "eq-36": ({"square": "2/5"},),
    "lemma-4": ({"half": "2/5"},),
    "lemma-6": ({"factor": "1/2"}, {"clients": []}),
    "thm-2": ({"largest": "1/2"}, {"limit": "2"}, {"square": "0"}, {"steps": []}),
    "thm-3": (
        {"limit": "3/4"},
        {"limit": "0"},
        {"steps": []},
        {"constants": {"1/24": "25"}},
        {"constants": {}},
        {"constants": {"2/3": "48"}},
    ),
    "thm-4": ({"largest": "6/5"}, {"largest": "2"}, {"certificates": []}, {"square": "1/3"}, {"least": "99/100"}),
    "eq-46": ({"largest": "1"}, {"limit": "3/2"}),
    "cor-1": ({"kappa": "6/5"}, {"constants": {"1/12": "13"}}, {"constants": {}}, {"constants": {"1": "96"}}),
    "cor-2-proof": ({"constant": "95"}, {"share": "90"}, {"kappa": "1"}),
    "assumption-1": ({"factor": "1"},),
    "thm-11-combine": ({"loss": "1"}, {"half": "2/5"}),
}


def certificate(label):
    return next(file for file in PAPER.to_replay(f"fedlrt/{label}") if file.kind == "certificate")


@pytest.mark.parametrize("label", TOO_MUCH)
def test_a_proof_verifies_its_own_constants_only(label):
    file = certificate(label)
    answers = [mathematics(file.id, {**file.values, **change}) for change in ({}, *TOO_MUCH[label])]
    assert answers == [True] + [False] * len(TOO_MUCH[label])


def test_certificates_of_the_simplified_correction_prove_their_bounds_and_no_better_ones():
    file = certificate("thm-4")
    assert {(c["clients"], c["steps"]) for c in file.values["certificates"]} >= {(2, 3), (3, 3), (4, 4)}
    assert all(flaw(Certificate.from_json(content)) == "" for content in file.values["certificates"])
    for change in ({"bound": "-1/10"}, {"outside": "2"}, {"step": "1/30"}, {"recursion": "FedLin"}):
        values = copy.deepcopy(dict(file.values))
        values["certificates"][4].update(change)
        assert not mathematics(file.id, values)


def test_the_inequality_of_the_local_steps_ends_where_it_should():
    assert flaw_of_bracket(F(19, 10), F(1)) == ""
    assert flaw_of_bracket(F(2), F(1)) != ""
    assert flaw_of_bracket(F(1), F(11, 10)) != ""
    assert all(flaw_of_series(steps) == "" for steps in (1, 2, 7, 400))
    assert flaw_of_least(sympy.Integer(1)) == "" != flaw_of_least(sympy.Rational(101, 100))
    assert flaw_of_rise() == "" != flaw_of_rise(push=2) == flaw_of_rise(inside=10_000)
