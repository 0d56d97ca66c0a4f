"""RoLoRA with different clients: the algebra of the proofs against numbers, and other constants."""

from fractions import Fraction

import numpy as np
import pytest
import sympy

from paper_checks.evaluation import evaluate_replay
from paper_checks.proof_steps import positive
from paper_checks.replay import replays_of
from paper_checks.rolora.paper import PAPER
from paper_checks.rolora.replays.shared import rank_one
from paper_checks.rolora.replays.shared.tangent_map import not_negative

REPLAYS = replays_of(PAPER.package)


PROVED = (
    *("a5-minimiser", "a5-minimiser@unit-vectors-up-to-a-common-sign", "lem-A.15", "eq-249", "eq-255", "prop-A.17"),
    *("eq-274", "eq-293", "a5-loss@at-recovery"),
    *("lem-A.16", "eq-270", "thm-A.14", "thm-A.14@c-of-lemma-a-16", "eq-286", "txt-exponential", "asm-A.12"),
)


def test_products_of_models_are_those_of_matrices():
    rng = np.random.default_rng(7)
    d, k, clients = 4, 3, 5
    left = {name: rng.standard_normal(d) for name in ("a", "a*", "h")}
    left = {name: v / np.linalg.norm(v) for name, v in left.items()}
    own = rng.standard_normal((clients, k))
    right = {"mean": own.mean(axis=0), "b": rng.standard_normal(k)}
    means = []
    for mine in own:
        vectors = {**left, **right, "b_i*": mine}
        truth = np.outer(vectors["a*"], mine) - np.outer(
            vectors["a"] + 2 * vectors["h"], vectors["b"] - vectors["mean"]
        )
        means.append((truth**2).sum())
    side = rank_one.plus((1, rank_one.A), (2, rank_one.H))
    other = rank_one.plus((1, rank_one.B), (-1, rank_one.MEAN))
    model = rank_one.minus([(rank_one.TRUTH, rank_one.OWN)], [(side, other)])
    inner = {
        rank_one.SQUARE_A: 1.0,
        rank_one.COSINE: left["a"] @ left["a*"],
        rank_one.ALONG_H: left["a"] @ left["h"],
        rank_one.TRUTH_H: left["a*"] @ left["h"],
        rank_one.SQUARE_H: 1.0,
        rank_one.MEAN_SQUARED: right["mean"] @ right["mean"],
        rank_one.MEAN_B: right["mean"] @ right["b"],
        rank_one.SQUARE_B: right["b"] @ right["b"],
        rank_one.GAMMA_SQUARED: ((own - right["mean"]) ** 2).sum(axis=1).mean(),
    }
    found = rank_one.over_clients(rank_one.frobenius(model, model)).subs(inner)
    assert float(found) == pytest.approx(float(np.mean(means)), rel=1e-12)


def test_a_mean_of_what_is_not_linear_is_refused():
    with pytest.raises(ValueError, match="not linear"):
        rank_one.over_clients(rank_one.OWN_B**2)


def test_a_sign_is_proved_only_if_there_is_one():
    s, u = sympy.symbols("s u", positive=True)
    assert positive(s / (1 + u) + u)
    assert positive(-s / (-1 - u))
    assert not positive(s - u)
    assert not positive(-s / (1 + u))
    assert not positive(s - s)
    assert not_negative(s - s)


@pytest.mark.parametrize("label", PROVED)
def test_every_proof_verifies_and_none_does_with_another_constant(label):
    """A larger constant or a smaller one makes the statement false, or less than the established one."""
    found = REPLAYS[f"rolora/{label}", "certificate"]
    assert evaluate_replay(found, {}).confirmed
    changes = [
        {name: Fraction(value) + step}
        for name, value in found.constants.items()
        for step in (Fraction(-1, 50), Fraction(1, 50))
    ]
    assert [change for change in changes if evaluate_replay(found, {}, change).confirmed] == []
