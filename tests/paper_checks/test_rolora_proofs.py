"""RoLoRA's proofs: they verify, and do not with a changed constant or with none; fixed samples by themselves."""

from dataclasses import replace

import numpy as np
import pytest
import sympy

from paper_checks.evaluation import evaluated
from paper_checks.replay import Stored, replays_of, stored
from paper_checks.rolora.fixed_samples import excess, follow, worst_gram
from paper_checks.rolora.paper import PAPER
from paper_checks.rolora.replays.contraction_proofs import D, fixed_samples, on_events, positive, s, x

REPLAYS = replays_of(PAPER.package)


def mathematics(id, values):
    """Whether the steps of a proof hold with these constants, whatever the statement's are."""
    return evaluated(replace(REPLAYS[id, "certificate"], states={}), values).confirmed


TAMPERED = {
    "lem-A.3": [{"half": "1/3"}],
    "lem-A.4": [{"numerator": "15"}, {"quarter": "1/5"}],
    "lem-A.7": [{"share": "2/5"}],
    "thm-A.8": [{"c": "1/3"}],
    "eq-18": [{"c1": "2"}],
    "eq-26": [{"c3": "0.378"}],
    "eq-36": [{"c3": "0.378"}, {"c1": "2"}],
    "s5-saturate": [{"share": "0.99"}],
    "prop-5.5": [{"four": "3"}, {"two": "1"}, {"constant": "9/10"}],
    "s5-rolora-loss": [{"four": "3"}, {"fewest": "3"}],
    "s5-rolora-loss@at-recovery": [{"four": "3"}, {"fewest": "3"}],
    "lem-A.9": [{"factor": "19"}],
    "lem-A.9@constant-of-the-thresholds": [{"factor": "10"}, {"more": "40"}],
    "lem-A.10": [{"factor": "19"}, {"samples": "90"}, {"alpha": "7/10"}, {"beta": "1/2"}],
    "eq-43@constant-of-the-thresholds": [{"factor": "20"}, {"C": "3"}],
    "eq-43": [{"factor": "27"}, {"C": "3"}, {"C": "8"}],
    "eq-77": [{"factor": "40"}, {"C": "3"}, {"C": "10"}],
    "lem-A.11": [{"limit": "3/4"}, {"threshold": "1/9"}, {"threshold": "0"}],
    "lem-5.3": [{"share": "8/25"}, {"more": "1/30"}, {"samples": "90"}, {"factor": "0.73"}, {"limit": "3/4"}],
    "thm-5.4": [{"fixed": "8/25"}, {"normal": "4"}, {"threshold": "1/9"}],
    "eq-100": [{"threshold": "2"}],
    "eq-117": [{"limit": "3/5"}, {"threshold": "1/9"}],
    "eq-124": [{"limit": "3/5"}, {"threshold": "1/9"}],
    "a4-c@c-of-the-step": [{"limit": "3/4"}, {"samples": "90"}],
}


def certificate(label: str) -> Stored:
    return next(file for file in stored(PAPER.folder, f"rolora/{label}") if file.kind == "certificate")


def test_proofs_verify_and_tampered_ones_do_not():
    files, expected = [], []
    for label, changes in TAMPERED.items():
        file = certificate(label)
        for values in (file.values, {}, *({**file.values, **change} for change in changes)):
            files.append(Stored(file.id, file.kind, values))
            expected.append(values is file.values)
    found = [mathematics(file.id, file.values) for file in files]
    assert found == expected, [(f.id, f.values) for f, a, b in zip(files, found, expected, strict=True) if a != b]


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


def test_no_larger_share_or_threshold_is_proved():
    share, more = sympy.Rational(3, 10), sympy.Rational(1, 20)
    assert (fixed_samples(share, more), fixed_samples(share * sympy.Rational(4, 3), 2 * more) == "") == ("", False)
    half, tenth = sympy.Rational(1, 2), sympy.Rational(1, 10)
    assert (on_events(half, tenth), on_events(half, 2 * tenth)) == ("", "the denominator")
