"""Proofs about bases and whole rounds of FeDLRT, and the grid that represents many points."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from paper_checks.evaluation import evaluate_replay
from paper_checks.fedlrt.measurements.legendre_grid import on_grid
from paper_checks.fedlrt.paper import PAPER
from paper_checks.replay import replays_of
from toymodels.legendre import data_client, legendre_features

F = Fraction
REPLAYS = replays_of(PAPER.package)


OTHER = (
    ("lemma-1", {"corner": F(2)}),
    ("lemma-1", {"ranks": ()}),
    ("lemma-2", {"share": F(2)}),
    ("lemma-2", {"ranks": ()}),
    ("lemma-3", {"constant": F(99, 100)}),
    ("lemma-3", {"constant": F(101, 100)}),
    ("lemma-3", {"sizes": ((2, 3),)}),
    ("claim-trunc", {"after": 0}),
    ("claim-trunc", {"sizes": ()}),
    ("alg-4", {"inside": F(2)}),
    ("thm-5@steps-up-to-1", {"d_2": F(99, 100)}),
    ("thm-5@steps-up-to-1", {"d_3": F(99, 100)}),
    ("thm-5@steps-up-to-1", {"longest": F(2)}),
    ("claim-close-to-full@normal-to-the-manifold", {"stale": F(3)}),
    ("claim-thm3-text", {"theta": F(1, 50)}),
    ("claim-thm3-text", {"theta": F(1, 2)}),
    ("claim-thm3-text", {"rate": F(1, 8)}),
    ("claim-close-to-full@normal-to-the-manifold", {"own": F(2)}),
    ("claim-het-plateau", {"curvature": F(2)}),
    ("claim-het-plateau", {"steps": ()}),
    ("fig-3", {"moved": F(1, 5)}),
    ("fig-3", {"factor": F(128)}),
    ("fig-2@with-the-text", {"sides": F(1)}),
    ("thm-9-proof", {"truncation": F(99, 100)}),
    ("thm-9-proof", {"steps": F(99, 100)}),
    ("thm-9-proof", {"constant": F(121, 10)}),
    ("lemma-3-proof@operator-norms-of-the-bases", {"constant": F(99, 100)}),
    ("lemma-3-proof@operator-norms-of-the-bases", {"sizes": ()}),
    ("thm-7-clients", {"sign": F(-1)}),
    ("thm-7-clients", {"steps": ()}),
    ("thm-7-first-term-lines", {"share": F(99, 100)}),
    ("thm-7-first-term-lines", {"steps": ()}),
    *(("thm-7-second-term-lines", {name: F(99, 100)}) for name in ("first", "second", "third", "fourth", "leading")),
    ("thm-7-second-term-lines", {"clients": ()}),
    *(("thm-6-recursion", {name: F(99, 100)}) for name in ("steps", "drift", "leading", "last")),
    ("thm-11-hat-lines", {"jensen": F(9, 10)}),
    ("thm-11-hat-lines", {"steps": ()}),
)
"""Proofs, each with another constant than it has."""


@pytest.mark.parametrize("label", dict.fromkeys(label for label, _ in OTHER))
def test_proofs_verify_and_with_other_constants_they_do_not(label):
    proof = REPLAYS[f"fedlrt/{label}", "certificate"]
    others = [constants for of, constants in OTHER if of == label]
    answers = [evaluate_replay(proof, {}, constants).confirmed for constants in ({}, *others)]
    assert answers == [True] + [False] * len(others)


@pytest.mark.parametrize("basis", ["plain", "uniform"])
def test_weights_on_the_nodes_give_the_loss_over_the_points(basis):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1.0, 1.0, (2, 30))
    target, W = rng.standard_normal((2, 4, 4))
    p, q = legendre_features(x, 4, basis), legendre_features(y, 4, basis)
    plain = data_client(x, y, np.einsum("si,ij,sj->s", p, target, q), (4, 4), basis)
    grid = on_grid([(x, y)], target, basis)
    w = {"W": torch.from_numpy(W)}
    assert grid.excess(W) == pytest.approx(float(plain.loss(w)), rel=1e-12)
    assert np.allclose(grid.gradients(W)[0], plain.gradient(w)["W"].numpy(), rtol=0, atol=1e-11)
    assert np.allclose(grid.hessians(np.eye(4), np.eye(4))[0], plain.matrix.numpy(), rtol=0, atol=1e-11)
