"""A client is determined by its tensors: with the tensors of another client, it equals the other."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from algorithms.tree import Tree
from toymodels.legendre import data_client, legendre_features
from toymodels.one_sample import OneSample
from toymodels.product_features import Coefficients, ProductGram, product_gram
from toymodels.quadratic import Quadratic, centred, random_quadratics
from toymodels.regression import Regressor, regression
from toymodels.ridges import ridge_problem


def gram(rng):
    x, y, values = rng.uniform(-1, 1, (3, 20))
    return product_gram(legendre_features(x, 3), legendre_features(y, 2), values)


MADE = {
    "quadratic": lambda rng: random_quadratics((3, 2), 1, rng).clients[0],
    "regressor": lambda rng: regression(3, 2, 1, rng, samples=7).clients[0],
    "ridges": lambda rng: ridge_problem((3, 2), 1, rng, samples=7).clients[0],
    "Legendre": lambda rng: data_client(*rng.uniform(-1, 1, (3, 7)), (3, 2), "plain"),
    "product features": gram,
}


@pytest.mark.parametrize("name", MADE)
def test_with_the_tensors_of_another_it_is_the_other(name):
    one, other = (MADE[name](np.random.default_rng(seed)) for seed in (0, 1))
    w = Tree(W=torch.from_numpy(np.random.default_rng(2).standard_normal((3, 2))))
    turned = one.with_tensors(other.tensors())
    assert float(turned.loss(w)) == float(other.loss(w)) != float(one.loss(w))
    assert torch.equal(turned.gradient(w)["W"], other.gradient(w)["W"])
    assert turned.samples == one.samples == other.samples
    U, V = torch.eye(3).double()[:, :2], torch.eye(2).double()
    S = {"W": torch.tensor([[1.0, 2.0], [3.0, -1.0]]).double()}
    assert one != turned != other
    assert {one: "one", other: "other"}[other] == "other"
    if hasattr(one, "projected"):
        found = float(turned.projected({"W": U}, {"W": V}).loss(S))
        assert found == pytest.approx(float(other.loss({"W": U @ S["W"] @ V.T})), rel=1e-14)  # of other shapes


def test_data_of_unstated_size_count_as_one_sample():
    one, four = torch.ones(1, 1).double(), torch.ones(1, 1, 1, 1).double()
    for client in (
        Quadratic(four, one, one[0, 0]),
        centred(four, one),
        Regressor(one, one),
        OneSample(one, one, one[0, 0]),
        ProductGram(one, one, one, one[0, 0]),
        Coefficients(one, one, one[0, 0]),
    ):
        assert client.samples == 1.0
        assert client != replace(client)
        assert len({client, client}) == 1
