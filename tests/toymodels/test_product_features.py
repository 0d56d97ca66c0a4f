"""Gram matrices of product features on pairs, against `Quadratic` and against the data."""

import numpy as np
import pytest
import torch

from algorithms.low_rank import USV, factor_gradient
from algorithms.tree import Tree
from toymodels.legendre import SPLITS, data_client, legendre_features, many_targets, random_targets
from toymodels.one_sample import OneSample
from toymodels.problem import ProblemError
from toymodels.product_features import product_gram


def bases(m, k, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.linalg.qr(torch.randn(3, m, k, generator=generator, dtype=torch.float64))[0]


@pytest.mark.parametrize("shape", [(4, 4), (3, 5)])
def test_a_client_on_pairs_is_the_client_of_its_data(shape):
    rng = np.random.default_rng(0)
    x, y, values = rng.uniform(-1, 1, (3, 40))
    m, n = shape
    plain = data_client(x, y, values, shape, "uniform")
    pairs = product_gram(legendre_features(x, m, "uniform"), legendre_features(y, n, "uniform"), values)
    torch.testing.assert_close(pairs.H, plain.matrix, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(pairs.B, plain.B, atol=1e-12, rtol=1e-12)
    w = {"W": torch.from_numpy(rng.standard_normal(shape))}
    torch.testing.assert_close(pairs.loss(w), plain.loss(w), atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(pairs.gradient(Tree(w))["W"], plain.gradient(Tree(w))["W"], atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_many_projections_at_once_are_the_plain_ones(k):
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, (2, 40))
    targets = random_targets(3, (4, 5), 2, rng)
    gram = product_gram(legendre_features(x, 4), legendre_features(y, 5), np.zeros(40)).with_targets(targets)
    U, V = bases(4, k, 0), bases(5, k, 1)
    S = torch.from_numpy(rng.standard_normal((3, k, k)))
    seen = gram.projected({"W": U}, {"W": V})
    losses, slopes = seen.loss({"W": S}), seen.gradient(Tree(W=S))["W"]
    for number in range(3):
        plain = gram.select([number])
        alone = type(gram)(gram.pairs, gram.H, plain.B[0], plain.c[0], gram.samples).as_quadratic()
        reduced = alone.projected({"W": U[number]}, {"W": V[number]})
        torch.testing.assert_close(losses[number], reduced.loss({"W": S[number]}), atol=1e-12, rtol=1e-12)
        expected = reduced.gradient(Tree(W=S[number]))["W"]
        torch.testing.assert_close(slopes[number], expected, atol=1e-12, rtol=1e-12)
        assert float(alone.loss({"W": targets[number]})) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("split", SPLITS)
def test_many_targets_share_their_points(split):
    targets = random_targets(2, (3, 3), 1, np.random.default_rng(2)).expand(4, 2, 3, 3)
    clients = many_targets(targets, np.random.default_rng(3), samples=80, split=split)
    assert [client.samples for client in clients] == [80 if split == "all" else 20] * 4
    assert (clients[0].pairs is clients[1].pairs) == (split == "all")
    assert max(float(client.loss({"W": targets[0]}).abs().max()) for client in clients) < 1e-12
    with pytest.raises(ProblemError, match="expected at least one client"):
        many_targets(targets, np.random.default_rng(3), samples=2)


def test_one_sample_never_needs_the_product():
    rng = np.random.default_rng(4)
    p, q, S = (torch.from_numpy(rng.standard_normal(shape)) for shape in ((1, 6), (1, 5), (2, 2)))
    client = OneSample(p, q, torch.tensor(0.7, dtype=torch.float64))
    factors = USV(Tree(W=bases(6, 2, 5)[0]), Tree(W=S), Tree(W=bases(5, 2, 6)[0]))

    class Whole:
        samples, loss = 1.0, staticmethod(client.loss)

    for found, expected in zip(factor_gradient(client, factors), factor_gradient(Whole(), factors), strict=True):
        torch.testing.assert_close(found["W"], expected["W"], atol=1e-12, rtol=1e-12)
    w = Tree(W=torch.from_numpy(rng.standard_normal((6, 5))))
    expected = torch.func.grad(client.loss)(w)["W"]
    torch.testing.assert_close(client.gradient(w)["W"], expected, atol=1e-12, rtol=1e-12)
