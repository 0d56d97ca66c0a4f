"""FedLoRU's proofs, none of which verifies with a smaller constant; and what statements say of ranges of equations."""

import re
from fractions import Fraction

import pytest

from paper_checks.evaluation import evaluate_replay
from paper_checks.fedloru.paper import PAPER
from paper_checks.replay import replays_of

REPLAYS = replays_of(PAPER.package)


TAMPERED = {
    "def-risk": [{"factor": "99/100"}, {"divisor_shift": -1}],
    "def-srank": [{"power": 1}, {"n_shift": -1}, {"sizes": []}],
    "def-approx@outliers-of-h-n": [{"factor": "99/100"}, {"missing": 1}],
    "def-approx@all-eigenvectors-of-h-n": [{"factor": "99/100"}, {"missing": 1}],
    "def-omega": [{"offset": "1"}, {"sign": -1}],
    "eq-1": [{"power": 2}, {"power": 0}],
    "eq-87": [{"power": 1}, {"power": 3}, {"factor": "101/100"}],
    "eq-87@masses": [{"power": 1}, {"power": 3}, {"factor": "101/100"}],
    "A.6-limitation": [
        {"after": (1, 1)},
        {"turned": (Fraction(1), Fraction(0))},
        {"turned": (Fraction(4, 5), Fraction(4, 5))},
        {"second": (Fraction(2), Fraction(3))},
    ],
    "prop-3.1-dist@wigner-matrix": [
        {"coefficient": "101/100"},
        {"edge": "21/10"},
        {"threshold": "99/100"},
        {"moment": 2},
    ],
    "thm-3.2@estimates-sets-by-condition": [{"first": "801/100"}, {"second": "401/100"}],
    "assump-4.1": [{name: "99/100"} for name in ("curvature", "second", "variance", "factors")],
    "lem-B.5": [{"constant": "99/100"}, {"power": 1}],
    "lem-B.6": [{"constant": "199/100"}],
    "lem-B.6-mid": [{"constant": "199/100"}],
    "lem-B.7": [{"constant": "99/100"}, {"steps": []}],
    "lem-B.7-mid": [{"constant": "99/100"}, {"steps": [0]}],
    "lem-B.8": [{"quarter": "24/100"}, {"steps": []}],
    "eq-63-66": [{"constant": "99/100"}],
    "claim-B3-just": [{"factor": "99/100"}],
    "eq-agg@weights-of-sum-1": [{"scale": "99/100"}, {"clients": []}],
    "claim-ill@small-against-the-noise": [{"share": "1/2"}, {"product": "101/100"}],
    "eq-59-60": [{"begins": 1}, {"steps": []}],
    "eq-61-62": [{"begins": 1}, {"total": "1/2"}, {"clients": []}],
    "eq-61-62@averages-of-the-local-steps": [{"begins": 1}, {"total": "1/2"}, {"clients": []}],
    "claim-srank-robust": [{"power": 1}, {"R": 100}, {"epsilon": "1"}],
    "eq-67-70@averages-of-the-local-steps": [
        {"kept": "76/100"},
        {"square": "99/100"},
        {"change": "24/100"},
        {"cross": "49/100"},
        {"drift": "1/2"},
    ],
    "eq-71-75@averages-of-the-local-steps": [
        {"kept": "76/100"},
        {"smooth": "49/100"},
        {"cross": "49/100"},
        {"drift": "99/100"},
    ],
    "eq-76": [{"kept": "76/100"}, {"first": "99/100"}, {"quarter": "24/100"}],
    "eq-77-K": [{"first": "266/100"}, {"second": "533/100"}],
    "eq-78-79": [{"begins": 1}, {"rounds": []}],
    "thm-4.2": [
        {"steps_factor": "199/100"},
        {"start": "133/100"},
        {"first_factor": "133/100"},
        {"second_factor": "33/100"},
        {"step_size": "1"},
    ],
    "thm-4.2-rate@as-analysed-in-appendix-b": [{"power": "1"}, {"power": "1/4"}, {"start": "4/3"}],
    "claim-alpha-ext@of-the-corrected-bounds": [{"curvature_power": 1}, {"gradient_power": 0}],
    "eq-WT": [{"power": 0}, {"scale": "99/100"}, {"cycles": []}],
    "claim-reinit": [{"accumulated": "99/100"}],
    "claim-union": [{"least": 0}, {"least": 2}, {"short": 1}, {"sizes": []}],
    "eq-55": [{"power": 1}, {"factor": "101/100"}, {"noise": "2"}],
    "claim-comm": [{"half": "51/100"}, {"sides": "99/100"}],
    "claim-comm@far-below-both-sides": [{"half": "51/100"}, {"sides": "99/100"}],
    "claim-mcomm": [{"square": 3}, {"down": "2"}, {"inner": "1/2"}],
    "eq-83": [{"factor": "99/100"}],
    "claim-noextra": [{"kept": "5"}, {"beside": "5"}, {"formed": "4"}, {"alone": "5"}, {"merging": "1"}],
    "eq-33": [{"offset": 1}, {"least": 1}, {"first_block": 2}],
    "eq-34": [{"power_shift": -1}, {"outer": 0}, {"inner": 0}],
    "eq-35": [{"s_power": 1}, {"sign": -1}, {"third": 1}],
    "eq-52-53@slopes-of-bounded-mean-square": [{"power": "1"}, {"cross": "1/10"}],
    "claim-rank-growth": [{"per": "1/2"}, {"per": "2"}, {"fewer": 1}, {"sizes": []}],
}


@pytest.mark.parametrize(("label", "changes"), [(label, c) for label, every in TAMPERED.items() for c in every])
def test_a_proof_fails_with_tampered_constants(label, changes):
    proof = REPLAYS[f"fedloru-v2/{label}", "certificate"]
    assert set(changes) <= set(proof.constants)
    constants = {name: Fraction(value) if isinstance(value, str) else value for name, value in changes.items()}
    assert not evaluate_replay(proof, {}, constants).confirmed


RANGE = re.compile(r"eqs\. \((\d+)\) to \((\d+)\)")


@pytest.mark.parametrize("one", [one for one in PAPER.claims() if RANGE.search(one.where)], ids=lambda one: one.id)
def test_every_equation_of_a_range_is_named_in_the_statement(one):
    first, last = map(int, RANGE.search(one.where).groups())
    named = {int(number) for number in re.findall(r"(?<=[( ])(\d+)(?=[),;])", one.says)}
    assert {*range(first, last + 1)} <= named
