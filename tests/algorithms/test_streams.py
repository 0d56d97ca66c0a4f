"""Random streams: equal settings give equal numbers, and streams of different purpose all differ."""

from itertools import combinations, product

import numpy as np
import pytest
import torch

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation, FederationState, Memory, Reply
from algorithms.fedloru import FedLoRU
from algorithms.flora import train_new_factors
from algorithms.mfedloru import NestedFedLoRU
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rounds import go_on
from algorithms.tree import Tree
from toymodels.quadratic import random_quadratics

FEW = range(3)


def require_apart(streams):
    """Check that each stream differs from every other stream of its shape."""
    for (one, first), (other, second) in combinations(streams.items(), 2):
        if first.shape == second.shape:
            assert not torch.equal(first, second), f"{one} and {other} are one stream"


def fed(seed=0, round=0, clients=3):
    return Federation(
        random_quadratics((2, 2), clients, np.random.default_rng(0)).clients,
        seed=seed,
        state=FederationState(round=round),
    )


def test_cohorts_are_those_of_seed_and_round():
    def drawn(seed, round):
        return torch.tensor(fed(seed, round, 40).cohort(20))

    require_apart({at: drawn(*at) for at in product(FEW, FEW)})
    assert torch.equal(drawn(2, 1), drawn(2, 1))


def uploaded(client, memory):
    return Reply(upload=memory.drawn)


def test_clients_draw_by_seed_round_exchange_and_number():
    def streams():
        found = {}
        for seed, round in product(FEW, FEW):
            one = fed(seed, round)
            for exchange in FEW:
                drawn = one.gather(uploaded, to=(0, 1, 2), draw=lambda client, rng: torch.from_numpy(rng.random(4)))
                found |= {(seed, round, exchange, number): numbers for number, numbers in enumerate(drawn)}
        return found

    found, again = streams(), streams()
    assert len(found) == 3**4
    require_apart(found)
    assert all(torch.equal(numbers, again[at]) for at, numbers in found.items())


def test_factors_start_by_seed_turn_and_layer():
    w = Tree(W=torch.zeros(5, 4).double(), V=torch.zeros(5, 4).double())

    def streams():
        return {
            (seed, turn, name): A
            for seed, turn in product(FEW, FEW)
            for name, A in Adapter(2, seed=seed).pair(w, turn).A.items()
        }

    found, again = streams(), streams()
    require_apart(found)
    assert all(torch.equal(A, again[at]) for at, A in found.items())


def test_nested_factors_start_by_turn_and_side_and_unlike_the_factors():
    """All sides are equal, so that one stream could replace another."""
    factors = Adapter(3).pair(Tree(W=torch.zeros(3, 3).double()))
    algorithm = NestedFedLoRU(Descent(), Adapter(3), 2, ranks=((3, 3),))
    found = {"A": torch.linalg.qr(factors.A["W"])[0]}
    for turn in FEW:
        nested = algorithm.draw_factors(factors, (3, 3), turn)
        found |= {("rows", turn): nested.A_u["W"].T, ("columns", turn): nested.B_d["W"]}
    require_apart(found)


def test_clients_of_flora_draw_in_every_round_anew_and_each_for_itself():
    """With seed, round and client apart, also the round of one client from the seed of another."""
    w, client = Tree(W=torch.zeros(5, 4).double()), random_quadratics((5, 4), 1, np.random.default_rng(0)).clients[0]
    found = {}
    for seed, round, number in product(FEW, FEW, FEW):
        own, memory = Adapter(2, seed=seed).of_client(number, 2), Memory(shared={"base": w}, round=round)
        found[seed, round, number] = train_new_factors(client, memory, own, Tree(), Descent(1, 1e-300)).upload.A["W"]
    require_apart(found)


def test_factors_restart_after_every_accumulation():
    """With tau = 2 in FedLoRU, A is drawn at turns 0, 2 and 4, where no step moves it."""
    given = random_quadratics((4, 3), 2, np.random.default_rng(0))
    still = Descent(1, 1e-300)
    for algorithm in (FedLoRU(still, Adapter(2, seed=6), 2), PersonalFedLoRU(still, Adapter(2, seed=6), 2)):
        one = Federation(given.clients)
        state = algorithm.start(one, Tree(given.start))
        found = [state.factors.A["W"], *(state.factors.A["W"] for state in go_on(algorithm.round, one, state, 5))]
        turns = [Adapter(2, seed=6).pair(given.start, turn).A["W"] for turn in (0, 0, 2, 2, 4, 4)]
        for one_of, other in zip(found, turns, strict=True):
            assert torch.equal(one_of, other)


@pytest.mark.parametrize("jointly", [False, True])
def test_two_kinds_of_steps_take_batches_of_their_own(jointly):
    """Personal steps come first; joint steps are as many as both kinds together, each with its own batch."""

    class Twenty:
        samples = 20

    local, personal = Descent(2, 0.1, batch=5), Descent(3, 0.1, batch=5)
    algorithm = PersonalFedLoRA(local, personal, Adapter(1), jointly=jointly)
    drawn = algorithm._draws(Twenty(), np.random.default_rng(4))
    rows = drawn if jointly else torch.cat(drawn)
    assert rows.shape[:1] == (5,)
    assert jointly or [len(part) for part in drawn] == [3, 2]
    require_apart(dict(enumerate(rows)))
