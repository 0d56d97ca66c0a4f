"""FedPara's weights and initial factors: kernels by loops, ranks, sizes, and what its personal variant keeps."""

from itertools import product

import numpy as np
import pytest
import torch

from algorithms.descent import Descent
from algorithms.federation import Federation, FederationError
from algorithms.fedpara import FedPara, Low, PersonalFedPara, multiply
from algorithms.rounds import final, go_on
from algorithms.tree import Tree
from toymodels.quadratic import random_quadratics

LOCAL = Descent(5, 0.05)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_a_kernel_is_the_core_times_both_factors():
    """Proposition 3, one entry after the other."""
    X, Y, T = normal(4, 2), normal(3, 2, seed=1), normal(2, 2, 2, 5, seed=2)
    found = Low(Tree(W=X), Tree(W=Y), Tree(W=T)).weights()["W"]
    assert found.shape == (4, 3, 2, 5)
    for o, i, h, w in product(range(4), range(3), range(2), range(5)):
        entry = sum(T[x, y, h, w] * X[o, x] * Y[i, y] for x, y in product(range(2), range(2)))
        torch.testing.assert_close(found[o, i, h, w], entry)


def test_a_product_has_up_to_the_square_of_the_rank():
    w = Tree(W=normal(9, 8))
    for rank, reached in ((1, 1), (2, 4), (3, 8)):
        state = FedPara(LOCAL, rank).start(
            Federation(random_quadratics((9, 8), 1, np.random.default_rng(0)).clients), w
        )
        assert int(torch.linalg.matrix_rank(multiply(state)["W"])) == reached


@pytest.mark.parametrize("kind", [FedPara, PersonalFedPara])
def test_initial_factors_depend_on_the_seed_alone_and_have_the_sizes_that_are_asked_for(kind):
    fed = Federation(random_quadratics((3, 2), 1, np.random.default_rng(0)).clients)
    w = Tree(dense=3.0 * normal(300, 200), kernel=0.5 * normal(60, 40, 3, 5), bias=normal(7))

    def begun(**given):
        algorithm = kind(LOCAL, 8, layers="dense, kernel", **given)
        state = algorithm.start(fed, w)
        second = fed.personal(0)["second"] if kind is PersonalFedPara else state.second
        return algorithm, state, second

    algorithm, state, second = begun()
    for low in (state.first, second):
        for part, name, variance in (
            ("X", "dense", 2 / 300),
            ("Y", "dense", 2 / 200),
            ("X", "kernel", 2 / 60),
            ("Y", "kernel", 2 / 40),
            ("T", "kernel", 2 / (8 * 15)),
        ):
            assert float(getattr(low, part)[name].var()) == pytest.approx(variance, rel=0.3)
        assert set(low.T) == {"kernel"}
    assert not torch.equal(state.first.X["dense"], second.X["dense"])
    assert torch.equal(begun()[1].first.X["dense"], state.first.X["dense"])
    assert not torch.equal(begun(seed=1)[1].first.X["dense"], state.first.X["dense"])
    assert torch.equal(algorithm.weights(state)["bias"], w["bias"])
    algorithm, state, _ = begun(initial="matched")
    own = algorithm.personal_weights(fed, state, 0) if kind is PersonalFedPara else algorithm.weights(state)
    for name in ("dense", "kernel"):
        assert float(own[name].square().mean()) == pytest.approx(float(w[name].square().mean()), rel=0.5)


def test_weights_that_are_zero_have_no_size_to_match():
    with pytest.raises(FederationError, match="W has only zeros, whose size cannot be matched; choose initial He"):
        FedPara(LOCAL, 1, initial="matched").start(None, Tree(W=torch.zeros(3, 2)))


def test_a_rank_above_the_channels_of_a_kernel_is_refused_or_capped():
    w = Tree(kernel=normal(4, 3, 5, 5))
    with pytest.raises(FederationError, match=r"as a 4 x 3 array of kernels it takes 1 to 3; lower the rank, or set"):
        FedPara(LOCAL, 4).start(None, w)
    assert FedPara(LOCAL, 4, cap=True).start(None, w).first.T["kernel"].shape == (3, 3, 5, 5)
    with pytest.raises(FederationError, match=r"rank 1 does not fit bias of shape \(3,\), which is not a matrix"):
        FedPara(LOCAL, 1).start(None, Tree(bias=normal(3)))


def test_the_personal_variant_keeps_the_second_weight_of_each_client():
    given = random_quadratics((6, 4), 4, np.random.default_rng(1), heterogeneity=0.5)
    fed, algorithm = Federation(given.clients), PersonalFedPara(LOCAL, 2)
    state = algorithm.start(fed, Tree(given.start))
    before = [algorithm.personal_weights(fed, state, k) for k in range(4)]
    state = final(go_on(algorithm.round, fed, state, 10), state)
    own = [algorithm.personal_weights(fed, state, k) for k in range(4)]
    for number, client in enumerate(given.clients):
        losses = [float(client.loss(mine)) for mine in own]
        assert losses[number] == min(losses) < float(client.loss(before[number]))
    assert set(state.first._asdict()) == {"X", "Y", "T"}
