"""Errors of the LoRA algorithms and of the exact scheme, and `refit`."""

import numpy as np
import pytest
import torch

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation, FederationError
from algorithms.flexlora import FlexLoRA
from algorithms.rounds import final, go_on, one_round
from algorithms.tree import Tree
from toymodels.quadratic import random_quadratics
from toymodels.regression import regression


class Flat:
    """A client with a constant loss."""

    samples = 1.0

    def loss(self, w, batch=None):
        return 0.0 * w["W"].sum()

    def gradient(self, w, batch=None):
        return type(w)({"W": torch.zeros_like(w["W"])})


def test_a_product_that_overflows_names_round_and_client():
    fed, algorithm = Federation([Flat(), Flat()]), FlexLoRA(Descent(), Adapter(1))
    state = algorithm.start(fed, Tree(W=torch.zeros(3, 2).double()))
    huge = AB(
        Tree(W=torch.full((3, 1), 1e200, dtype=torch.float64)), Tree(W=torch.full((1, 2), 1e200, dtype=torch.float64))
    )
    with pytest.raises(FederationError, match="round 1, client 0: train_factors returned non-finite numbers"):
        one_round(algorithm.round, fed, state._replace(factors=huge))


def test_the_exact_scheme_needs_a_direction_and_a_regression():
    given = regression(5, 3, 2, np.random.default_rng(0))
    with pytest.raises(FederationError, match="starts from the direction of W"):
        ExactRoLoRA(0.1).start(Federation(given.clients), Tree(W=torch.zeros(5, 3).double()))
    other = random_quadratics((5, 3), 2, np.random.default_rng(0))
    fed = Federation(other.clients)
    state = ExactRoLoRA(0.1).start(fed, Tree(given.start))
    with pytest.raises(FederationError, match=r"round 1, minimise_b: .* has no closed form for b"):
        one_round(ExactRoLoRA(0.1).round, fed, state)


def test_refitted_keeps_a_and_takes_the_mean_of_the_best_b():
    given = regression(5, 3, 4, np.random.default_rng(0), samples=[9, 20, 30, 11], heterogeneity=0.5)
    fed, algorithm = Federation(given.clients, shares=given.shares), ExactRoLoRA(0.05)
    state = algorithm.start(fed, Tree(given.start))
    state = final(go_on(algorithm.round, fed, state, 3), state)
    refitted = one_round(algorithm.refit, fed, state)
    assert refitted.A is state.A
    mean = sum(w * c.best_b(state.A)["W"] for w, c in zip(given.shares, given.clients, strict=True))
    torch.testing.assert_close(refitted.B["W"], mean)
    assert given.loss(algorithm.weights(refitted)) < given.loss(algorithm.weights(state))
    assert fed.ledger.trips(4) == 1
