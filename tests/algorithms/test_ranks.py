"""Ranks of layers and clients: ranks above a layer's smaller side, ranks of each client, and steps in moving bases."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent
from algorithms.fed_sb import FedSB
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError, Sequential
from algorithms.fedex_lora import FedExLoRA
from algorithms.fedhm import FedHM
from algorithms.fedlora import FedLoRA
from algorithms.fedloru import FedLoRU
from algorithms.fedloru_finetuning import FineTuneFedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.fedpara import FedPara
from algorithms.fedsa_lora import FedSALoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA, best_factors, first
from algorithms.flora import FLoRA
from algorithms.frlora import FRLoRA
from algorithms.hetlora import HetLoRA
from algorithms.lora_fair import LoRAFair
from algorithms.low_rank import Truncation
from algorithms.mfedloru import NestedFedLoRU
from algorithms.optimisers import Adam, AdamW, Sgd
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rbla import RBLA
from algorithms.rolora import RoLoRA
from algorithms.rounds import final, go_on, one_round
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from toymodels.quadratic import random_quadratics

LOCAL = Descent(2, 0.05)


class Pair:
    """A client with two quadratics, of a small layer and of a larger one."""

    def __init__(self, small, large):
        self.small, self.large, self.samples = small, large, 1.0

    def loss(self, w, batch=None):
        return self.small.loss({"W": w["small"]}) + self.large.loss({"W": w["large"]})


def pairs(clients=3):
    small = random_quadratics((3, 5), clients, np.random.default_rng(0), heterogeneity=0.5).clients
    large = random_quadratics((6, 7), clients, np.random.default_rng(1), heterogeneity=0.5).clients
    generator = torch.Generator().manual_seed(0)
    start = {
        name: torch.randn(*shape, generator=generator, dtype=torch.float64)
        for name, shape in (("small", (3, 5)), ("large", (6, 7)))
    }
    return [Pair(*both) for both in zip(small, large, strict=True)], Tree(start)


def of_rank(rank, cap):
    adapter = Adapter(rank, cap=cap)
    return {
        "FedLoRA": FedLoRA(LOCAL, adapter),
        "FFA-LoRA": FFALoRA(LOCAL, adapter),
        "RoLoRA": RoLoRA(LOCAL, adapter),
        "FlexLoRA": FlexLoRA(LOCAL, adapter),
        "FlexLoRA, ranks": FlexLoRA(LOCAL, adapter, ranks=(1, rank, 2)),
        "FedLoRU": FedLoRU(LOCAL, adapter, 2),
        "FedLoRU, pairs": FineTuneFedLoRU(LOCAL, adapter, 2),
        "pFedLoRU": PersonalFedLoRU(LOCAL, Adapter(2), 2, personal=LOCAL, personal_adapter=adapter),
        "pFedLoRA": PersonalFedLoRA(LOCAL, LOCAL, adapter),
        "mFedLoRU": NestedFedLoRU(LOCAL, adapter, 2, ranks=((rank, rank), (1, rank), None)),
        "FedHM": FedHM(LOCAL, rank, cap=cap),
        "FedHM, ranks": FedHM(LOCAL, 1, (1, rank, 2), cap=cap),
        "FeDLRT": FeDLRT(LOCAL, rank, Truncation(0.0), cap=cap),
        "FedSA-LoRA": FedSALoRA(LOCAL, adapter, average_rest=True),
        "FRLoRA": FRLoRA(LOCAL, adapter),
        "Fed-SB": FedSB(LOCAL, adapter, "gradient"),
        "FedPara": FedPara(LOCAL, rank, cap=cap),
        "naive": NaiveFeDLRT(LOCAL, rank, cap=cap),
        "FLoRA": FLoRA(LOCAL, adapter),
        "FLoRA, ranks": FLoRA(LOCAL, Adapter(2, cap=cap), (1, rank, 2)),
        "FedEx-LoRA": FedExLoRA(LOCAL, adapter),
        "FedEx-LoRA, truncated": FedExLoRA(LOCAL, adapter, residual_rank=4),
        "RBLA": RBLA(LOCAL, adapter, (1, rank, 2)),
        "HetLoRA": HetLoRA(LOCAL, adapter, (1, rank, 2), decay=0.5),
        "LoRA-FAIR": LoRAFair(LOCAL, adapter),
    }


@pytest.mark.parametrize("name", of_rank(5, False))
def test_a_rank_above_a_layer_is_refused_by_its_name_or_capped(name):
    clients, start = pairs()

    def run(algorithm):
        fed = Federation(clients)
        return algorithm.weights(final(go_on(algorithm.round, fed, algorithm.start(fed, start), 3), None))

    told = r"rank 5 does not fit small of shape \(3, 5\): as a 3 x 5 matrix it takes 1 to 3; lower the rank, or set cap"
    with pytest.raises(FederationError, match=told):
        run(of_rank(5, False)[name])
    capped = run(of_rank(5, True)[name])
    loss = lambda w: float(sum(client.loss(w) for client in clients))  # noqa: E731
    assert {n: w.shape for n, w in capped.items()} == {n: w.shape for n, w in start.items()}
    assert (loss(capped) < loss(start)) is (name != "FedSA-LoRA")  # whose server has no B
    within, said = run(of_rank(3, True)[name]), run(of_rank(3, False)[name])
    assert all(torch.equal(within[n], said[n]) for n in start)  # nothing changes if the rank fits


def test_what_is_no_matrix_takes_no_rank():
    with pytest.raises(
        FederationError, match=r"rank 1 does not fit b of shape \(3,\), which is not a matrix; name the"
    ):
        Adapter(1, cap=True).factors(Tree(b=torch.ones(3)))
    for cap in (False, True):  # no rank and no cap would help
        with pytest.raises(FederationError, match=r"rank 9 does not fit b of shape \(3,\), .*; name the layers"):
            Adapter(9, cap=cap).factors(Tree(a=torch.ones(2, 3), b=torch.ones(3)))
    with pytest.raises(FederationError, match="takes 1 to 2"):
        FedHM(LOCAL, 1, (1, 0), cap=True).start(Federation(pairs(2)[0]), Tree(W=torch.ones(2, 2)))


def quadratics(clients=3, shape=(6, 4)):
    return random_quadratics(shape, clients, np.random.default_rng(1), heterogeneity=0.5).clients


def test_each_client_of_flexlora_trains_its_own_rank():
    """Against the paper's three steps, written out."""
    clients, local, ranks = quadratics(), Descent(3, 0.05), (1, 3, 2)
    w = Tree(W=torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    fed = Federation(clients, shares=(1.0, 2.0, 3.0))
    algorithm = FlexLoRA(local, Adapter(3, 0.5), ranks=ranks)
    state = algorithm.start(fed, w)
    A, B = state.factors.A["W"], state.factors.B["W"]
    for _ in range(3):
        update = torch.zeros(6, 4, dtype=torch.float64)
        for client, share, r in zip(clients, (1 / 6, 2 / 6, 3 / 6), ranks, strict=True):
            a, b = A[:, :r].clone(), B[:r].clone()
            for _ in range(3):
                slope = client.gradient({"W": w["W"] + 0.5 * a @ b})["W"]
                a, b = a - 0.05 * 0.5 * slope @ b.T, b - 0.05 * 0.5 * a.T @ slope
            update += share * (a @ b)
        U, sigma, Vh = torch.linalg.svd(update, full_matrices=False)
        A, B = U[:, :3] * sigma[:3].sqrt(), sigma[:3, None].sqrt() * Vh[:3]
        state = one_round(algorithm.round, fed, state)
        torch.testing.assert_close(algorithm.weights(state)["W"], w["W"] + 0.5 * A @ B, rtol=1e-10, atol=1e-12)
    down = [entry for entry in fed.ledger.entries if (entry.round, entry.direction) == (2, "down")]
    assert sum(entry.entries for entry in down) == sum(r * (6 + 4) for r in ranks)


@pytest.mark.parametrize("executor", [Sequential, Vmap])
def test_flexlora_of_equal_ranks_is_that_of_one(executor):
    def run(ranks):
        fed, algorithm = Federation(quadratics(), executor=executor()), FlexLoRA(LOCAL, Adapter(2), ranks=ranks)
        start = algorithm.start(fed, Tree(W=torch.ones(6, 4, dtype=torch.float64)))
        return final(go_on(algorithm.round, fed, start, 3, cohort=2), start).factors.A["W"]

    assert torch.equal(run((2, 2, 2)), run(()))


def test_the_first_columns_belong_to_the_largest_singular_values():
    W = Tree(W=torch.randn(5, 4, generator=torch.Generator().manual_seed(0)))
    for split in ("balanced", "left", "right"):
        cut, best = first(best_factors(W, 4, split), 2), best_factors(W, 2, split)
        torch.testing.assert_close(cut.A["W"] @ cut.B["W"], best.A["W"] @ best.B["W"])
    assert first(AB(Tree(), Tree(), W), 1).rest is W


def test_ranks_that_do_not_serve_are_named():
    with pytest.raises(FederationError, match=r"ranks must be from 1 to the server's, 2 \(--rank\), got 3"):
        FlexLoRA(LOCAL, Adapter(2), ranks=(1, 3))
    with pytest.raises(FederationError, match="expected a rank for each of 3 clients, got 1"):
        FlexLoRA(LOCAL, Adapter(2), ranks=(1,)).start(Federation(quadratics()), Tree(W=torch.ones(6, 4)))


OPTIMISERS = {"none": None, "momentum": Sgd(0.9, weight_decay=0.01), "Nesterov": Sgd(0.5, nesterov=True)}


@pytest.mark.parametrize("kept", ["fresh", "personal"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_naive_fedlrt_at_full_rank_steps_as_without_bases(name, kept):
    """With square matrices of full rank, bases span everything, so that states linear in gradients follow exactly."""
    local = Descent(4, 0.1, optimiser=OPTIMISERS[name], optimiser_state=kept, clip=0.5)
    (client,), start = quadratics(1, (4, 4)), torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
    found = []
    for algorithm in (FedAvg(local), NaiveFeDLRT(local, 4, Truncation(0.0))):
        fed = Federation([client])
        state = algorithm.start(fed, Tree(W=start.double()))
        found.append(algorithm.weights(final(go_on(algorithm.round, fed, state, 3), state))["W"])
    torch.testing.assert_close(*found, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("optimiser", [Adam(), AdamW()])
def test_naive_fedlrt_learns_with_any_optimiser(optimiser):
    clients, start = quadratics(3), Tree(W=torch.ones(6, 4, dtype=torch.float64))
    for local in (
        Descent(4, 0.05, optimiser=optimiser),
        replace(LOCAL, optimiser=optimiser, optimiser_state="personal"),
    ):
        fed, algorithm = Federation(clients), NaiveFeDLRT(local, 2)
        state = algorithm.start(fed, start)
        end = algorithm.weights(final(go_on(algorithm.round, fed, state, 5), state))
        assert sum(client.loss(end) for client in clients) < 0.9 * sum(client.loss(start) for client in clients)
        assert bool(fed.personal(0)) == (local.optimiser_state == "personal")


def test_one_rank_for_each_client_is_a_pair_of_them_and_the_full_one_trains_the_factors():
    clients, start = pairs()

    def run(**ranks):
        algorithm, fed = NestedFedLoRU(LOCAL, Adapter(3), 2, **ranks), Federation(clients)
        state = final(go_on(algorithm.round, fed, algorithm.start(fed, start), 3), None)
        return algorithm.weights(state), fed.ledger.bytes("up")

    ours, theirs = run(client_ranks=(3, 1, 2)), run(ranks=(None, (1, 1), (2, 2)))
    assert ours[1] == theirs[1]
    for name, W in ours[0].items():
        torch.testing.assert_close(W, theirs[0][name], rtol=0, atol=0)
    for ranks in ((1, 2), (1, 2, 3, 1)):
        with pytest.raises(FederationError, match=f"expected a rank for each of 3 clients, got {len(ranks)}"):
            run(client_ranks=ranks)
