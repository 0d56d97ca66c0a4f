"""Default behaviour: defaults of settings, and exchanges before the first round."""

import numpy as np
import pytest
import torch

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation, FederationError, Reply
from algorithms.fedlin import FedLin
from algorithms.low_rank import Truncation, project
from algorithms.tree import Tree
from toymodels.quadratic import random_quadratics

LOCAL = Descent(3, 0.1)
W = Tree(W=torch.zeros(4, 3, dtype=torch.float64), V=torch.zeros(2, 5, dtype=torch.float64))


def test_defaults_are_the_plain_choices():
    assert Descent() == Descent(steps=1, learning_rate=0.01, batch=None)
    assert Adapter(2) == Adapter(2, scale=1.0, seed=0)
    assert FedLin(LOCAL) == FedLin(LOCAL, as_printed=False)
    assert Truncation() == Truncation(tau=0.1, rule="after", least=0, most=None)


def test_settings_are_taken_to_their_ends():
    assert Descent(1, 5e-324, 1).batch == 1
    for bad in ({"steps": 0}, {"learning_rate": 0.0}, {"learning_rate": float("inf")}, {"batch": 0}):
        with pytest.raises(FederationError, match=r"must be a whole number of at least 1, got 0|rate must be positive"):
            Descent(**bad)
    assert Adapter(1, -5e-324).scale < 0.0
    for rank, scale in ((0, 1.0), (1, 0.0), (1, float("nan")), (1, float("inf"))):
        with pytest.raises(FederationError, match=r"rank must be .* at least 1, got 0|scale must be finite and not 0"):
            Adapter(rank, scale)
    assert Truncation(0.0, least=0, most=1).most == 1
    for bad in ({"tau": -0.1}, {"tau": float("nan")}, {"rule": "before"}, {"least": -1}):
        with pytest.raises(FederationError, match=r"expected tau >= 0|least must be .* at least 0, got -1"):
            Truncation(**bad)
    for least, most in ((0, 0), (3, 2)):
        with pytest.raises(FederationError, match=r"most must be .* at least [13], got [02]"):
            Truncation(least=least, most=most)


@pytest.mark.parametrize(
    ("sigma", "tau", "ranks"),
    [
        # Norms of tails against tau times the full norm 5: 5, 3 and 0 for (4, 3, 0) ...
        ((4.0, 3.0, 0.0), 0.5, (2, 3)),
        ((4.0, 3.0, 0.0), 0.7, (1, 2)),
        ((4.0, 3.0, 0.0), 0.0, (2, 2)),
        # ... and 13, 5, 3 against tau times 13 for (12, 4, 3).
        ((12.0, 4.0, 3.0), 0.2, (3, 3)),
        ((12.0, 4.0, 3.0), 0.3, (2, 3)),
        ((12.0, 4.0, 3.0), 0.9, (1, 2)),
    ],
)
def test_ranks_by_hand(sigma, tau, ranks):
    values = torch.tensor(sigma, dtype=torch.float64)
    for rule, rank in zip(("after", "printed"), ranks, strict=True):
        assert Truncation(tau, rule).rank(values) == rank
        assert Truncation(tau, rule, least=3).rank(values) == 3
        assert Truncation(tau, rule, most=1).rank(values) == 1


def test_no_rank_is_left_only_where_nothing_is():
    assert Truncation(0.1, least=2).rank(torch.zeros(3)) == 2
    with pytest.raises(FederationError, match=r"tau = 1 leaves rank 0; lower it, or set a smallest rank"):
        Truncation(1.0).rank(torch.tensor([1.0, 0.5]))


def test_fresh_factors_are_those_of_seed_and_turn_and_small():
    """B is zero. A times the root of its rows is normal: the mean of 6,000 squares is within 5 sqrt(2 / 6000) of 1."""
    first = Adapter(2).factors(W)
    for name, (m, n) in {"W": (4, 3), "V": (2, 5)}.items():
        assert first.A[name].shape == (m, 2)
        assert torch.equal(first.B[name], torch.zeros(2, n, dtype=torch.float64))
        assert torch.equal(first.A[name], Adapter(2).factors(W, turn=0).A[name])
        for other in (Adapter(2).factors(W, turn=1), Adapter(2, seed=1).factors(W)):
            assert not torch.equal(first.A[name], other.A[name])
    large = Adapter(20).factors(Tree(W=torch.zeros(300, 20, dtype=torch.float64))).A["W"]
    assert abs(300 * float((large**2).mean()) - 1.0) < 5 * (2 / 6000) ** 0.5


def upload_draw(client, memory):
    return Reply(upload=memory.drawn)


def test_exchanges_before_the_first_round_belong_to_round_0():
    fed = Federation(random_quadratics((2, 2), 2, np.random.default_rng(0)).clients, seed=5)
    fed.broadcast(base=W)
    found = fed.gather(upload_draw, to=(0, 1), draw=lambda client, rng: torch.tensor(rng.random(), dtype=torch.float64))
    assert [float(draw) for draw in found] == [np.random.default_rng([5, 0, 1, k]).random() for k in (0, 1)]
    assert [(entry.round, entry.trip, entry.direction) for entry in fed.ledger.entries] == [
        (0, 0, "down"),
        (0, 1, "up"),
    ]
    unstated = Federation(random_quadratics((2, 2), 2, np.random.default_rng(0)).clients)
    found = unstated.gather(
        upload_draw, to=(1,), draw=lambda client, rng: torch.tensor(rng.random(), dtype=torch.float64)
    )
    assert float(found[0]) == np.random.default_rng([0, 0, 1, 1]).random()


def test_a_tree_shows_its_names_and_shapes():
    assert repr(W) == "Tree(W: (4, 3), V: (2, 5))"


class Plain:
    samples = 7.0

    def loss(self, w, batch=None):
        return (w["W"] ** 2).sum()


def test_a_client_seen_through_bases_keeps_its_size():
    U, V = Tree(W=torch.eye(3).double()[:, :2]), Tree(W=torch.eye(2).double())
    seen = project(Plain(), U, V)
    assert seen.samples == 7.0
    assert float(seen.loss({"W": torch.full((2, 2), 3.0).double()})) == 36.0
