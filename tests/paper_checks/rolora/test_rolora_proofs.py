"""RoLoRA's proofs: they verify, and do not with a changed constant; fixed samples by themselves."""

import inspect
import re
from fractions import Fraction

import numpy as np
import pytest
import sympy

from paper_checks.evaluation import FlawError, evaluate_replay
from paper_checks.replay import replays_of
from paper_checks.rolora.lem_a_10_bound import plane_tail
from paper_checks.rolora.measurements.fixed_samples import FixedRun, excess, follow, worst_gram
from paper_checks.rolora.paper import PAPER
from paper_checks.rolora.replays.shared.contraction import D, fixed_samples, on_events, positive, s, x

REPLAYS = replays_of(PAPER.package)


def verifies(label, **constants):
    """Whether the steps of a proof hold with these constants, each of the type that the proof's own has."""
    found = REPLAYS[f"rolora/{label}", "certificate"]
    parameters = inspect.signature(found.evaluate).parameters
    return evaluate_replay(
        found, {}, {name: type(parameters[name].default)(value) for name, value in constants.items()}
    ).confirmed


TAMPERED = {
    "lem-A.3": [{"half": "1/3"}],
    "lem-A.4": [{"numerator": "15"}, {"quarter": "1/5"}],
    "lem-A.7": [{"share": "2/5"}],
    "thm-A.8": [{"c": "1/3"}],
    "eq-18@a-independent-of-the-samples": [{"c1": "2"}],
    "eq-26": [{"c3": "0.378"}],
    "eq-36": [{"c3": "0.378"}, {"c1": "2"}, {"every": "1/90"}],
    "eq-19": [{"share": "2/5"}],
    "eq-22@a-and-w-fixed": [{"c2": "2.6"}],
    "eq-30@for-a-positive-k": [{"c2": "2.6"}],
    "eq-32": [{"one": "2"}, {"one": "99/100"}],
    "eq-38": [{"weight": "0.99"}, {"power": "2"}],
    "eq-52@samples-independent-of-b": [{"c4": "4.1"}, {"c2": "2.6"}, {"c2": "2.7"}],
    "eq-59@for-a-positive-k": [{"c5": "0.0384"}, {"c5": "-1"}],
    "eq-59@samples-independent-of-b": [{"c5": "0.154"}],
    "eq-59@with-the-samples-of-lemma-a-10": [{"c5": "0.06"}, {"columns": "50"}],
    "eq-62@expectation-of-49": [{"c5": "0.0384"}, {"net": "0"}],
    "eq-62@samples-independent-of-b": [{"c5": "0.154"}, {"net": "0"}],
    "eq-65": [{"one": "0.99"}, {"power": "2"}],
    "eq-86@expectation-of-49": [{"second": "0.99"}, {"factor": "1.9"}, {"factor": "2.1"}],
    "eq-90": [{"one": "0.99"}, {"minimisers": "19"}, {"samples": "90"}, {"alpha": "7/10"}, {"beta": "1/2"}],
    "eq-92": [{"share": "0.99"}, {"power": "1"}, {"minimisers": "19"}],
    "eq-96": [{"less": "0.99"}, {"bound": "33"}, {"minimisers": "19"}],
    "eq-102": [{"factor": "1.9"}, {"quadratic": "1.1"}],
    "eq-107": [{"factor": "3.9"}, {"minimisers": "19"}, {"samples": "90"}, {"alpha": "7/10"}, {"beta": "1/2"}],
    "eq-110": [{"linear": "0.99"}, {"sign": -1}, {"minimisers": "19"}],
    "eq-116": [{"first": "3.9"}, {"second": "3.9"}, {"one": "0.99"}, {"samples": "720"}],
    "asm-5.1": [{"power": "1"}, {"power": "3"}, {"limit": "0.99"}],
    "eq-167@c-of-the-step": [{"factor": "1.9"}, {"limit": "3/4"}, {"samples": "13"}, {"more": "1/30"}],
    "eq-168@enough": [{"root_log": "1"}, {"power": "1"}],
    "eq-172": [{"size": "0.99"}, {"sense": 1}],
    "eq-175": [{"second": "0.99"}, {"sharp": "0.99"}],
    "eq-189": [{"noise": "2"}, {"weight": "1/2"}, {"power": 1}],
    "eq-205": [{"two": "1"}, {"others": "0"}, {"fewest": 1}],
    "eq-205@three-samples-or-more": [{"two": "1"}, {"others": "0"}, {"fewest": 1}],
    "eq-227": [{"noise": "2"}, {"weight": "1/2"}, {"power": 2}],
    "eq-230": [{"others": "0"}, {"factor": "2"}, {"power": 1}, {"fewest": 1}],
    "eq-230@two-samples-or-more": [{"others": "0"}, {"factor": "2"}, {"power": 1}, {"fewest": 1}],
    "eq-237": [{"others": "0"}, {"power": 1}, {"clients_power": 1}, {"fewest": 3}],
    "eq-237@two-samples-or-more": [{"others": "0"}, {"power": 1}, {"clients_power": 1}, {"fewest": 3}],
    "eq-241": [{"four": "3.9"}, {"two": "1.9"}, {"cross": "1"}, {"power": 1}],
    "s5-saturate": [{"share": "0.99"}],
    "prop-5.5@three-samples-or-more": [{"four": "3"}, {"two": "1"}, {"constant": "9/10"}],
    "s5-rolora-loss": [{"four": "3"}, {"fewest": "3"}],
    "s5-rolora-loss@at-recovery": [{"four": "3"}, {"fewest": "3"}],
    "lem-A.9": [{"factor": "19"}],
    "lem-A.10": [{"factor": "19"}, {"samples": "90"}, {"alpha": "7/10"}, {"beta": "1/2"}],
    "eq-43": [{"factor": "27"}, {"C": "3"}, {"C": "8"}],
    "eq-77": [{"factor": "40"}, {"C": "3"}, {"C": "10"}],
    "lem-5.3": [
        {"share": "8/25"},
        {"more": "1/30"},
        {"samples": "90"},
        {"factor": "0.73"},
        {"limit": "3/4"},
        {"printed": "1/5"},
        {"threshold": "1/9"},
        {"threshold": "0"},
    ],
    "thm-5.4": [{"fixed": "8/25"}, {"normal": "4"}, {"threshold": "1/9"}, {"samples": "13"}, {"printed": "1/5"}],
    "eq-100": [{"threshold": "2"}],
    "eq-117": [{"limit": "3/5"}, {"threshold": "1/9"}],
    "eq-124": [{"limit": "3/5"}, {"threshold": "1/9"}],
    "a4-c@c-of-the-step": [
        {"limit": "3/4"},
        {"samples": "13"},
        {"share": "8/25"},
        {"printed": "1/5"},
        {"more": "1/30"},
    ],
}


@pytest.mark.parametrize("label", TAMPERED)
def test_a_proof_verifies_and_a_tampered_one_does_not(label):
    assert verifies(label)
    assert [change for change in TAMPERED[label] if verifies(label, **change)] == []


@pytest.mark.parametrize(
    ("polynomial", "variables", "known"),
    [
        ((x - sympy.Rational(1, 3)) ** 2 + sympy.Rational(1, 500), (x,), True),
        ((x - sympy.Rational(1, 3)) ** 2 - sympy.Rational(1, 500), (x,), False),
        (1 + x * s - x**2, (x, s), False),  # 0 at x = 1, s = 0
        (2 - x**2 * s, (x, s), True),
    ],
)
def test_signs_of_polynomials(polynomial, variables, known):
    assert positive(sympy.expand(polynomial), variables) is known


def test_a_zero_is_not_positive():
    assert not positive(D, (D,))
    assert positive(D, (D,), strict=False)


def test_the_worst_client_is_as_far_as_the_proof_says():
    distance = 0.24
    gram = worst_gram(distance)
    assert np.abs(np.linalg.eigvalsh(gram) - 1.0).max() == pytest.approx(distance)
    assert gram[0, 1] / gram[0, 0] == pytest.approx(-distance / (1.0 - distance**2) ** 0.5)


@pytest.mark.parametrize("cosine", [0.03, 0.4, 0.95])
def test_fixed_samples_contract_within_the_distance_and_not_far_beyond(cosine):
    within, beyond = (follow([worst_gram(k * cosine)], cosine, 0.5, k, 8) for k in (0.3, 0.97))
    assert excess(within) < 1e-12
    assert excess(beyond) > 0.0 or cosine > 0.9


@pytest.mark.parametrize(
    ("factors", "product_factor", "rate", "missed"),
    [
        ((0.5, 0.98, 0.9), 1.0, 1.0, 0.98 - (1 - 0.25 * 0.36)),
        ((0.5, 0.98, 0.9), 1.0, 2.0, 0.98 - (1 - 2 * 0.25 * 0.36)),
        ((0.5, 0.6), 1.5, 1.0, 1.5 - 1 / (1 - 0.09)),
    ],
)
def test_what_a_run_misses_is_its_largest_factor_or_its_product(factors, product_factor, rate, missed):
    """At k = 1/2 and c_0 = 0.6 the distance is 0.3; a factor of at most 1 - s c_0^2 is stated."""
    assert excess(FixedRun(0.5, 0.25, 0.6, factors, product_factor), rate) == pytest.approx(missed)


def test_the_tail_in_the_plane_of_one_clients_own_samples():
    room, m, draws = 0.5, 12, 40_000
    X = np.random.default_rng(5).standard_normal((draws, m, 2))
    S = np.einsum("kmi,kmj->kij", X, X) / m
    T = S[:, 0, 1] / S[:, 0, 0]
    v = np.stack([T, -np.ones(draws)], axis=1) / np.sqrt(1.0 + T**2)[:, None]
    share = np.mean(np.linalg.norm(np.einsum("kij,kj->ki", S, v) - v, axis=1) >= room)
    assert np.exp(plane_tail(room, m)) == pytest.approx(share, abs=5.0 * (share / draws) ** 0.5)


def test_no_larger_share_or_threshold_is_proved():
    share, more = Fraction(3, 10), Fraction(1, 20)
    fixed_samples(share, more)
    with pytest.raises(FlawError):
        fixed_samples(share * Fraction(4, 3), 2 * more)
    half, tenth = Fraction(1, 2), Fraction(1, 10)
    on_events(half, tenth)
    with pytest.raises(FlawError, match="the denominator"):
        on_events(half, 2 * tenth)


RANGE = re.compile(r"eqs?\. \((\d+)\) (to|and) \((\d+)\)")
RELATION = re.compile(r"=|<|>|\\(?:le|ge|ne|sim)(?![a-z])")


@pytest.mark.parametrize("one", [one for one in PAPER.claims() if RANGE.search(one.where)], ids=lambda one: one.label)
def test_a_statement_has_a_relation_for_each_equation_of_its_range(one):
    """A chain is stated member by member; numbers that are empty or repeated are named next to the range."""
    first, between, last = RANGE.search(one.where).groups()
    equations = int(last) - int(first) + 1 if between == "to" else 2
    told = len(re.findall(r"is empty|repeats?\b", one.where))
    assert len(RELATION.findall(one.says)) >= equations - told
