"""Proofs of FeDLRT's corrected statements: they verify, and with a constant that proves too much they do not."""

import copy
from fractions import Fraction

import pytest

from paper_checks.evaluation import FlawError, evaluate_replay
from paper_checks.fedlrt.paper import PAPER
from paper_checks.fedlrt.replays.shared.local_steps import coefficients_of_the_power, local_steps_descend
from paper_checks.fedlrt.replays.thm_4 import loss_can_rise, no_smaller_constant_serves
from paper_checks.methods.worst_case.certificate import Certificate, find_flaw
from paper_checks.replay import replays_of

F = Fraction
REPLAYS = replays_of(PAPER.package)
TOO_MUCH = {
    "eq-36": ({"square": F(2, 5)},),
    "lemma-4": ({"half": F(2, 5)},),
    "lemma-6": ({"factor": F(1, 2)}, {"clients": ()}),
    "thm-2": ({"largest": F(1, 2)}, {"limit": F(2)}, {"square": F(0)}, {"steps": ()}),
    "thm-3": (
        {"limit": F(3, 4)},
        {"limit": F(0)},
        {"steps": ()},
        {"constants": {"1/24": F(25)}},
        {"constants": {}},
        {"constants": {"2/3": F(48)}},
    ),
    "thm-4": ({"largest": F(6, 5)}, {"largest": F(2)}, {"square": F(1, 3)}, {"least": F(99, 100)}),
    "eq-46": ({"largest": F(1)}, {"limit": F(3, 2)}),
    "cor-1": ({"kappa": "6/5"}, {"constants": {"1/12": F(13)}}, {"constants": {}}, {"constants": {"1": F(96)}}),
    "cor-2-proof": ({"constant": F(95)}, {"share": F(90)}, {"kappa": "1"}),
    "assumption-1": ({"factor": F(1)},),
    "thm-11-combine": ({"loss": F(1)}, {"half": F(2, 5)}),
    "thm-6-proof": ({"steps": ()}, {"steps": (0,)}),
    "thm-7": ({"first": F(2, 5)}, {"first": F(1, 2), "drift": F(9, 10)}, {"square": F(1, 5)}),
    "thm-7-first-term": ({"drift": F(99, 100)}, {"leading": F(101, 100)}),
    "thm-7-second-term": ({"square": F(2, 5)}, {"leading": F(2, 5)}),
    "thm-8": ({"further": ({"steps": 16, "step": F(1, 10)},)}, {"further": ()}),
    "thm-1": ({"further_steps": ()},),
}


def values(label):
    """Return the values of the file of a proof; none if it reads no file."""
    return next(file.values for file in PAPER.to_replay(f"fedlrt/{label}") if file.kind == "certificate")


def proved(label, constants=(), own=None):
    """Return whether a proof holds with some constants changed, by the values of its file or by other ones."""
    own = values(label) if own is None else own
    return evaluate_replay(REPLAYS[f"fedlrt/{label}", "certificate"], own, dict(constants)).confirmed


@pytest.mark.parametrize("label", TOO_MUCH)
def test_a_proof_verifies_its_own_constants_only(label):
    assert [proved(label, change) for change in ({}, *TOO_MUCH[label])] == [True] + [False] * len(TOO_MUCH[label])


def test_certificates_of_the_simplified_correction_prove_their_bounds_and_no_better_ones():
    own = values("thm-4")
    assert {(c["clients"], c["steps"]) for c in own["certificates"]} >= {(2, 3), (3, 3), (4, 4)}
    assert all(find_flaw(Certificate.from_json(content)) == "" for content in own["certificates"])
    for change in ({"bound": "-1/10"}, {"outside": "2"}, {"step": "1/30"}, {"recursion": "FedLin"}):
        other = copy.deepcopy(dict(own))
        other["certificates"][4].update(change)
        assert not proved("thm-4", own=other)
    assert not proved("thm-4", own={"certificates": []})


def test_the_inequality_of_the_local_steps_ends_where_it_should():
    local_steps_descend(F(19, 10), F(1))
    for steps in (1, 2, 7, 400):
        coefficients_of_the_power(steps)
    no_smaller_constant_serves(F(1))
    loss_can_rise()
    for lemma, others, step in (
        (local_steps_descend, {"largest": F(2), "limit": F(1)}, "not proved for all x <= 1 and R <= 2"),
        (local_steps_descend, {"largest": F(1), "limit": F(11, 10)}, "the argument needs 0 < x <= 1"),
        (no_smaller_constant_serves, {"constant": F(101, 100)}, "another constant"),
        (loss_can_rise, {"push": 2}, "the loss does not rise"),
        (loss_can_rise, {"inside": 10_000}, "the loss does not rise"),
    ):
        with pytest.raises(FlawError, match=step):
            lemma(**others)
