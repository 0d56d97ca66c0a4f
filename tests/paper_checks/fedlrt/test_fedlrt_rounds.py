"""Rounds of FeDLRT followed by hand, and the witnesses found on them."""

from itertools import chain

import numpy as np
import pytest

from algorithms.descent import Descent
from paper_checks.fedlrt.measurements.least_squares import follow_all
from paper_checks.fedlrt.measurements.traces import norm, trace, with_gradient
from paper_checks.fedlrt.paper import PAPER
from paper_checks.replay import Stored, replay_in_fresh_process

CHANGES = {
    "eq-36": ({"theta": "2"}, {"step": "1/10"}),
    "thm-3": ({"step": "1/25"}, {"theta": "1"}),
    "assumption-1": ({"delta": "1/30"}, {"outside": "8"}),
    "thm-4": ({"apart_inside": "1000"}, {"step": "1/12"}, {"theta": "100"}),
    "cor-1": ({"steps": 5}, {"norm": "26"}),
    "eq-46": ({"delta": "1/50"},),
    "thm-11-hat-first": ({"slope": [["24", "0"], ["0", "7"]]}, {"delta": "1/2"}),
    "claim-thm3-text": (
        {"corner": "0"},
        {"matrix": [["1", "0"], ["0", "1/4"]]},
        {"theta": "1/60"},
        {"theta": "1"},
        {"step": "1/10"},
    ),
    "claim-assumption-when": ({"rounds": 3}, {"theta": "1/60"}, {"theta": "2"}, {"step": "1/10"}),
    "thm-11-combine": ({"share": "1"}, {"delta": "2"}),
    "thm-11-combine@squares-of-delta": ({"share": "1"}, {"delta": "2"}),
    "thm-11-hat-first@f-as-the-negative-gradient": ({"apart_outside": "1"}, {"delta": "1/2"}),
    "claim-fedlin@any-constant-learning-rate": ({"rate": "1/10"}, {"centres": ["1", "0"]}),
}


@pytest.fixture(scope="module")
def confirmed():
    """Whether each witness is confirmed, and each of its changes, by one fresh process for all of them."""
    files = {}
    for label, changes in CHANGES.items():
        file = PAPER.to_replay(f"fedlrt/{label}")[0]
        files[label] = [Stored(file.id, file.kind, {**file.values, **change}) for change in ({}, *changes)]
    answers = iter(replay_in_fresh_process(PAPER.package, list(chain.from_iterable(files.values()))))
    return {label: [next(answers).confirmed for _ in some] for label, some in files.items()}


@pytest.mark.parametrize("label", CHANGES)
def test_a_witness_must_meet_every_hypothesis(label, confirmed):
    assert confirmed[label] == [True] + [False] * len(CHANGES[label])


def test_the_simplified_correction_fails_however_small_delta_is():
    file = PAPER.to_replay("fedlrt/thm-4")[0]
    small = {"delta": "1/10000", "slope": [["20200", "44"], ["7", "196"]], "norm": "20201"}
    apart = {"apart_inside": str(10**13), "apart_outside": "4000000"}
    files = [Stored(file.id, file.kind, {**file.values, **small, **more}) for more in (apart, {"apart_outside": "9"})]
    assert [answer.confirmed for answer in replay_in_fresh_process(PAPER.package, files)] == [True, False]


@pytest.mark.parametrize("correction", ["none", "full", "simplified"])
def test_a_followed_round_knows_its_gradients_and_its_deltas(correction):
    W = 2.0 * np.outer([1.0, 0.0], [1.0, 0.0])
    clients = [with_gradient(0.0 * np.eye(4), W, np.diag([a, b])) for a, b in ((5.0, 3.0), (3.0, 5.0))]
    one = trace("two", clients, W, 1, Descent(2, 0.01), correction)
    assert norm(one.gradient) == pytest.approx(norm(np.diag([4.0, 4.0])))
    assert one.outer == pytest.approx(17.0**0.5 / 32.0**0.5)
    assert one.needed == pytest.approx((34.0**0.5 - 3.0) / 32.0**0.5)
    assert one.change == pytest.approx(-0.02 * 32.0)
    np.testing.assert_allclose(one.star - one.W, one.travelled, atol=1e-12)


def test_the_long_runs_of_the_homogeneous_test_are_made_once_in_one_piece_of_work():
    modules = {claim.module for claim in PAPER.claims() if claim.measure is follow_all}
    assert len(modules) > 1
    assert len({PAPER.piece(module) for module in modules}) == 1
