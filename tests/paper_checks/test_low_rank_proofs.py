"""Proofs about bases and whole rounds of FeDLRT, and the grid that stands for many points."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from paper_checks.evaluation import evaluated
from paper_checks.fedlrt.measurements.legendre_grid import on_grid
from paper_checks.fedlrt.paper import PAPER
from paper_checks.replay import Stored, replays_of
from toymodels.legendre import data_client, legendre_features

REPLAYS = replays_of(PAPER.package)


def mathematics(id, values):
    """Whether the steps of a proof hold with these constants, whatever the statement's are."""
    return evaluated(replace(REPLAYS[id, "certificate"], states={}), values).confirmed


TAMPERED: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("lemma-1", lambda v: v.update(corner="2")),
    ("lemma-1", lambda v: v.update(ranks=[])),
    ("lemma-2@the-same-spans", lambda v: v.update(share="2")),
    ("lemma-2@the-same-spans", lambda v: v.update(ranks=[])),
    ("lemma-3", lambda v: v.update(constant="99/100")),
    ("lemma-3", lambda v: v.update(constant="101/100")),
    ("lemma-3", lambda v: v.update(sizes=[[2, 3]])),
    ("claim-trunc", lambda v: v.update(after=0)),
    ("claim-trunc", lambda v: v.update(sizes=[])),
    ("alg-4", lambda v: v.update(inside="2")),
    ("thm-5@steps-up-to-1", lambda v: v.update(d_2="99/100")),
    ("thm-5@steps-up-to-1", lambda v: v.update(d_3="99/100")),
    ("thm-5@steps-up-to-1", lambda v: v.update(longest="2")),
    ("claim-close-to-full", lambda v: v.update(stale="3")),
    ("claim-thm3-text", lambda v: v.update(theta="1/50")),
    ("claim-thm3-text", lambda v: v.update(theta="1/2")),
    ("claim-thm3-text", lambda v: v.update(rate="1/8")),
    ("claim-close-to-full", lambda v: v.update(own="2")),
    ("claim-close-to-full@as-theorem-5-bounds-it", lambda v: v.update(d_2="99/100")),
    ("claim-close-to-full@as-theorem-5-bounds-it", lambda v: v.update(d_3="99/100")),
    ("claim-het-plateau", lambda v: v.update(curvature="2")),
    ("claim-het-plateau", lambda v: v.update(steps=[])),
    ("fig-2@with-the-text", lambda v: v.update(sides="1")),
    ("thm-9-proof@given-the-three-bounds", lambda v: v.update(truncation="99/100")),
    ("thm-9-proof@given-the-three-bounds", lambda v: v.update(steps="99/100")),
    ("thm-9-proof@given-the-three-bounds", lambda v: v.update(constant="121/10")),
    ("lemma-3-proof@operator-norms-of-the-bases", lambda v: v.update(constant="99/100")),
    ("lemma-3-proof@operator-norms-of-the-bases", lambda v: v.update(sizes=[])),
    ("thm-7-clients", lambda v: v.update(sign="-1")),
    ("thm-7-clients", lambda v: v.update(steps=[])),
    ("thm-7-first-term-lines", lambda v: v.update(share="99/100")),
    ("thm-7-first-term-lines", lambda v: v.update(steps=[])),
    *(
        ("thm-7-second-term-lines", lambda v, name=name: v.update({name: "99/100"}))
        for name in ("first", "second", "third", "fourth", "leading")
    ),
    ("thm-7-second-term-lines", lambda v: v.update(clients=[])),
    *(
        ("thm-6-recursion", lambda v, name=name: v.update({name: "99/100"}))
        for name in ("steps", "drift", "leading", "last")
    ),
    ("thm-11-hat-lines", lambda v: v.update(jensen="9/10")),
    ("thm-11-hat-lines", lambda v: v.update(steps=[])),
]


def test_proofs_verify_and_tampered_ones_do_not():
    files = {}
    for label in dict.fromkeys(label for label, _ in TAMPERED):
        of_claim = PAPER.to_replay(f"fedlrt/{label.partition('@')[0]}")
        (files[label],) = (file for file in of_claim if (file.kind, file.id) == ("certificate", f"fedlrt/{label}"))
    changed, empty = [], [replace(file, values={}) for file in files.values()]
    for label, change in TAMPERED:
        values = dict(files[label].values)
        change(values)
        changed.append(Stored(f"fedlrt/{label}", "certificate", values))
    verified = [mathematics(file.id, file.values) for file in (*files.values(), *changed, *empty)]
    assert verified == [True] * len(files) + [False] * (len(changed) + len(empty))


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
