"""Aggregations of LoRA factors against their boxes: in fractions where these are rational, else in plain loops."""

from dataclasses import dataclass, replace
from functools import cache

import by_hand
import by_hand_aggregation
import numpy as np
import pytest
import torch
from test_by_hand import ALPHA, RATE, agree, federation, local, models
from test_ranks import pairs, quadratics
from test_without_bases import W0, mean, slope
from test_without_bases import agree as agree_with_numbers
from torch import nn
from written_federation import Knowing, Samples, Written, tensor

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation, FederationError, Sequential
from algorithms.fedex_lora import RESIDUALS, FedExLoRA
from algorithms.fedlora import FedLoRA
from algorithms.flora import FLoRA
from algorithms.hetlora import HetLoRA, Penalised
from algorithms.lora_fair import PENALTIES, LoRAFair
from algorithms.optimisers import Sgd
from algorithms.rbla import RBLA
from algorithms.rounds import final, go_on, one_round
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from runs.network_problem import network_problem


@dataclass(frozen=True)
class NewFactors(Written):
    """An adapter whose A depends on the round and the client, and whose B is 0."""

    client: int = 0

    def pair(self, w, turn=0):
        A, B, _ = super().pair(w, turn + 3 * self.client)
        return AB(A, B.map(torch.zeros_like))

    def of_client(self, number, rank):
        return replace(self, client=number, rank=rank)


RANKS = (1, 2, 2)
LAST = (2, 1, 1)
BOXES = {
    "FLoRA": (lambda b: FLoRA(local(b), NewFactors(2, ALPHA)), lambda b: by_hand_aggregation.flora(b, (2, 2, 2))),
    "FLoRA, ranks": (
        lambda b: FLoRA(local(b), NewFactors(2, ALPHA), RANKS),
        lambda b: by_hand_aggregation.flora(b, RANKS),
    ),
    **{
        f"FedEx-LoRA, {residual}, rank {rank}": (
            lambda b, residual=residual, rank=rank: FedExLoRA(local(b), Written(rank, ALPHA), residual),
            lambda b, rank=rank: by_hand_aggregation.fedex_lora(b, rank),
        )
        for residual in RESIDUALS
        for rank in (1, 2)
    },
    **{
        f"RBLA, ranks {ranks}": (
            lambda b, ranks=ranks: RBLA(local(b), Written(2, ALPHA), ranks),
            lambda b, ranks=ranks: by_hand_aggregation.rbla(b, ranks),
        )
        for ranks in (RANKS, LAST)  # with LAST, the second cohort does not train the second column
    },
}


@cache
def box(name, batch):
    return BOXES[name][1](batch)


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize(("executor", "kind"), [(Sequential, Samples), (Sequential, Knowing), (Vmap, Samples)])
@pytest.mark.parametrize("name", BOXES)
def test_models_are_those_of_the_box(name, executor, kind, batch):
    agree(models(BOXES[name][0](batch), federation(kind, executor()))[0], box(name, batch))


def trained(k, A, B, number, batch, slope_of=lambda a, b: (0.0, 0.0)):
    """Return a client's factors after its steps from the frozen start, with a further slope in both."""
    for chosen in by_hand.Draws(number, 1, k).steps(by_hand.STEPS, batch):
        G, (of_a, of_b) = slope(k, W0 + ALPHA * A @ B, chosen), slope_of(A, B)
        A, B = A - RATE * (ALPHA * G @ B.T + of_a), B - RATE * (ALPHA * A.T @ G + of_b)
    return A, B


def given(rank):
    return tuple(tensor(part).numpy() for part in by_hand.factors(rank))


def hetlora(ranks, kept, penalty, weighting, batch):
    """Return the models and the ranks after each round."""
    ranks, (A, B), found, pruned = list(ranks), given(2), [], []
    norm = np.linalg.norm
    for number, cohort in by_hand.rounds():
        sent = []
        for k in cohort:
            r, start = kept(ranks[k]), (A[:, : ranks[k]], B[: ranks[k]])

            def slope_of(a, b, r=r):
                of_a, of_b = np.zeros_like(a), np.zeros_like(b)
                if a.shape[1] > r:
                    of_a[:, r:] = penalty * norm(b[r:]) / norm(a[:, r:]) * a[:, r:]
                    of_b[r:] = penalty * norm(a[:, r:]) / norm(b[r:]) * b[r:]
                return of_a, of_b

            a, b = trained(k, *start, number, batch, slope_of)
            if norm(a[:, r:]) * norm(b[r:]) < norm(start[0][:, r:]) * norm(start[1][r:]):
                a, b, ranks[k] = a[:, :r], b[:r], r
            more = 2 - a.shape[1]
            sent.append((np.pad(a, ((0, 0), (0, more))), np.pad(b, ((0, more), (0, 0)))))
        weights = [norm(a @ b) for a, b in sent] if weighting == "norms" else [by_hand.SHARES[k] for k in cohort]
        A, B = (np.average([one[place] for one in sent], axis=0, weights=weights) for place in (0, 1))
        found.append(W0 + ALPHA * A @ B)
        pruned.append(tuple(ranks))
    return found, pruned


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize("executor", [Sequential, Vmap])
@pytest.mark.parametrize("weighting", ["norms", "shares"])
@pytest.mark.parametrize(("decay", "penalty"), [(0.5, 0.0), (0.5, 4.0), (1.0, 0.0)])
def test_hetlora_is_its_text(decay, penalty, weighting, executor, batch):
    algorithm = HetLoRA(local(batch), Written(2, ALPHA), RANKS, decay, penalty, weighting)
    expected, ranks = hetlora(RANKS, lambda r: max(1, int(decay * r)), penalty, weighting, batch)
    found, state = models(algorithm, federation(executor=executor()))
    agree_with_numbers(found, expected)
    assert state.ranks == ranks[-1]
    assert (ranks[-1] == RANKS) is (decay == 1.0)


def test_hetloras_penalty_is_in_the_loss_of_networks_with_and_without_running_statistics():
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(4, 5, bias=False), nn.BatchNorm1d(5), nn.Linear(5, 2)).double()
    x, y = torch.randn(9, 4, dtype=torch.float64), torch.randint(2, (9,))
    problem = network_problem(module, (x, y), [range(9)], (x, y))
    client, adapter = problem.clients[0], Adapter(3, 1.5, layers="0")
    A, B = torch.randn(5, 3, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    factors = AB(Tree({"0.weight": A}), Tree({"0.weight": B}))
    assemble = adapter.assembler(client, problem.start)
    free, penalised = (Penalised(client, assemble, penalty, kept=1) for penalty in (0.0, 0.7))
    product = float(A[:, 1:].norm() * B[1:].norm())
    for found, plain in (
        (penalised.loss(factors), free.loss(factors)),
        (penalised.loss_and_statistics(factors)[0], free.loss_and_statistics(factors)[0]),
    ):
        assert float(found - plain) == pytest.approx(0.7 * product)


def corrected(A, B, product, weight, penalty, steps, rate):
    """Take the server's steps: explicit in the cosine, by finite differences, and implicit in the penalty."""

    def objective(change):
        other = A @ (B + change)
        return 1 - (product * other).sum() / np.linalg.norm(product) / np.linalg.norm(other)

    change = np.zeros_like(B)
    for _ in range(steps):
        slopes = np.zeros_like(B)
        for place in np.ndindex(*B.shape):
            unit = np.zeros_like(B)
            unit[place] = 1e-6
            slopes[place] = (objective(change + unit) - objective(change - unit)) / 2e-6
        change = change - rate * slopes
        if penalty == "squared":  # where the minimum of |x - change|^2 / 2 + rate weight |x|^2 is, or that with |x|
            change = change / (1 + 2 * rate * weight)
        else:
            change = change * max(0.0, 1.0 - rate * weight / np.linalg.norm(change))
    return B + change


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("weight", [0.0, 0.05])
def test_lora_fair_takes_the_steps_of_equation_8(weight, penalty):
    """In three rounds with changing cohorts and unequal shares."""
    algorithm = LoRAFair(local(1), Written(2, ALPHA), weight, penalty, server_steps=3, server_rate=0.1)
    A, B = given(2)
    expected = []
    for number, cohort in by_hand.rounds():
        sent = [trained(k, A, B, number, 1) for k in cohort]
        A, B = (mean(cohort, [one[place] for one in sent]) for place in (0, 1))
        B = corrected(A, B, mean(cohort, [a @ b for a, b in sent]), weight, penalty, 3, 0.1)
        expected.append(W0 + ALPHA * A @ B)
    for one, other in zip(models(algorithm, federation())[0], expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other, atol=1e-8)


def test_lora_fair_raises_the_cosine_and_leaves_products_without_an_angle():
    generator = torch.Generator().manual_seed(0)
    A, B, product = (torch.randn(*shape, generator=generator).double() for shape in ((7, 2), (2, 5), (7, 5)))
    algorithm = LoRAFair(Descent(), Adapter(2), penalty_weight=0.0, server_steps=300, server_rate=1.0)

    def cosine(B):
        return float(torch.nn.functional.cosine_similarity((A @ B).flatten(), product.flatten(), dim=0))

    best = cosine(torch.linalg.lstsq(A, product).solution)  # the closest product also has the least angle
    assert cosine(B) < cosine(algorithm.correct(A, B, product)) == pytest.approx(best, abs=1e-6)
    for zero in ((A, 0.0 * B, product), (A, B, 0.0 * product)):
        assert torch.equal(algorithm.correct(*zero), zero[1])
    strong = replace(algorithm, penalty_weight=10.0)
    assert torch.equal(strong.correct(A, B, product), B)
    assert torch.equal(replace(strong, penalty_weight=0.01).correct(A, B, A @ B), B), "nothing to correct"


def test_a_truncated_residual_is_the_best_one_and_costs_its_rank():
    w = Tree(W=torch.ones(6, 4, dtype=torch.float64))
    ends = []
    for rank in (None, 1):
        fed = Federation(quadratics(), shares=(1, 2, 3))
        algorithm = FedExLoRA(Descent(3, 0.1), Adapter(2, 0.5), residual_rank=rank)
        ends.append(one_round(algorithm.round, fed, algorithm.start(fed, w)))
    exact = ends[0]
    whole, part = ((state.base - w)["W"] for state in ends)
    U, sigma, Vh = torch.linalg.svd(whole)
    torch.testing.assert_close(part, sigma[0] * torch.outer(U[:, 0], Vh[0]))
    assert fed.ledger.count("down", 1) == 3 * 2 * (6 + 4) + 3 * 1 * (6 + 4)
    assert torch.linalg.matrix_rank(whole) == 4 == exact.merged  # 2 for each client but one


def exactly(name):
    adapter = Adapter(2, 0.5, rest="trained")
    return {
        "FLoRA": FLoRA(Descent(3, 0.1), adapter, (1, 3, 2)),
        "FedEx-LoRA": FedExLoRA(Descent(3, 0.1), adapter),
        "FedEx-LoRA, dense": FedExLoRA(Descent(3, 0.1), adapter, "dense"),
        "FedEx-LoRA, A at inputs": FedExLoRA(Descent(3, 0.1), replace(adapter, a_at="inputs"), "dense"),
    }[name]


@pytest.mark.parametrize("name", ["FLoRA", "FedEx-LoRA", "FedEx-LoRA, dense", "FedEx-LoRA, A at inputs"])
def test_the_model_is_the_mean_of_the_clients_models(name):
    """On two layers of unequal shapes: each client alone has the model that it trained."""
    clients, start = pairs()
    algorithm, shares = exactly(name), (1.0, 2.0, 3.0)

    def after(fed, cohort):
        state = algorithm.start(fed, start)
        return algorithm.weights(one_round(algorithm.round, fed, state, cohort))

    together = after(Federation(clients, shares=shares), (0, 1, 2))
    alone = [after(Federation(clients, shares=shares), (k,)) for k in range(3)]
    for layer, W in together.items():
        expected = sum(share * model[layer] for share, model in zip(shares, alone, strict=True)) / 6.0
        torch.testing.assert_close(W, expected, rtol=1e-12, atol=1e-12)
    plain = FedLoRA(algorithm.local, algorithm.adapter)
    fed = Federation(clients, shares=shares)
    averaged = plain.weights(one_round(plain.round, fed, plain.start(fed, start), (0, 1, 2)))
    assert any(float((averaged[layer] - W).abs().max()) > 1e-4 for layer, W in together.items())


@pytest.mark.parametrize("name", ["RBLA", "HetLoRA"])
def test_equal_ranks_without_pruning_are_fedlora(name):
    kind = {
        "RBLA": lambda *given: RBLA(*given, ranks=(2, 2, 2)),
        "HetLoRA": lambda *given: HetLoRA(*given, decay=1.0, penalty=0.0, weighting="shares"),
    }[name]
    found = []
    for made in (kind, FedLoRA):
        algorithm, fed = made(Descent(3, 0.1), Adapter(2)), Federation(quadratics(), shares=(1, 2, 3))
        state = algorithm.start(fed, Tree(W=torch.ones(6, 4, dtype=torch.float64)))
        found.append(algorithm.weights(final(go_on(algorithm.round, fed, state, 3, cohort=2), state))["W"])
    torch.testing.assert_close(*found, rtol=1e-13, atol=1e-13)


def test_a_pruned_client_sends_and_receives_its_new_rank():
    fed = Federation(quadratics())
    algorithm = HetLoRA(Descent(3, 0.1), Adapter(4), (4, 2, 3), decay=0.5, penalty=5.0)
    state = algorithm.start(fed, Tree(W=torch.ones(6, 4, dtype=torch.float64)))
    seen = [state.ranks]
    for number in range(1, 5):
        state = one_round(algorithm.round, fed, state)
        assert fed.ledger.count("down", number) == sum(r * (6 + 4) for r in seen[-1])
        assert fed.ledger.count("up", number) == sum(r * (6 + 4) + 1 for r in state.ranks)
        seen.append(state.ranks)
    assert seen[1] == (4, 2, 3)  # the tails of B are 0 at first, so that they can only grow
    assert state.ranks == (1, 1, 1)
    assert (2, 1, 1) in seen


WRONG = {
    "ranks of HetLoRA": (lambda: HetLoRA(Descent(), Adapter(2), (3,)), r"from 1 to the server's, 2 \(--rank\), got 3"),
    "ranks of RBLA": (lambda: RBLA(Descent(), Adapter(2), (0,)), r"from 1 to the server's, 2 \(--rank\), got 0"),
    "decay": (lambda: HetLoRA(Descent(), Adapter(2), decay=0.0), "a decay above 0 and at most 1 .* got 0.0 and 0.01"),
    "penalty": (lambda: HetLoRA(Descent(), Adapter(2), penalty=-1.0), "penalty of at least 0, got 0.99 and -1.0"),
    "weighting": (lambda: HetLoRA(Descent(), Adapter(2), weighting="size"), "weighting must be one of"),
    "residual": (lambda: FedExLoRA(Descent(), Adapter(2), "sparse"), "residual must be one of"),
    "residual rank": (lambda: FedExLoRA(Descent(), Adapter(2), residual_rank=0), "residual_rank must be a whole"),
    "both": (lambda: FedExLoRA(Descent(), Adapter(2), "dense", 1), "a truncated residual is sent as factors"),
    "steps": (lambda: LoRAFair(Descent(), Adapter(2), server_steps=0), "server_steps must be a whole number"),
    "rate": (lambda: LoRAFair(Descent(), Adapter(2), server_rate=0.0), "positive, finite server_rate, got 0.01 and 0"),
    "kind": (lambda: LoRAFair(Descent(), Adapter(2), penalty="cubed"), "penalty must be one of"),
    "memory of FLoRA": (
        lambda: FLoRA(Descent(optimiser=Sgd(0.9), optimiser_state="personal"), Adapter(2)),
        "FLoRA draws its factors again in every round",
    ),
    "memory of HetLoRA": (
        lambda: HetLoRA(Descent(optimiser=Sgd(0.9), optimiser_state="personal"), Adapter(2)),
        "HetLoRA may prune its factors again in every round",
    ),
    **{
        f"count of {kind.__name__}": (
            lambda kind=kind: kind(Descent(), Adapter(2), (1, 2)).start(
                Federation(quadratics()), Tree(W=torch.ones(6, 4))
            ),
            "expected a rank for each of 3 clients, got 2",
        )
        for kind in (FLoRA, RBLA, HetLoRA)
    },
    "size": (
        lambda: FLoRA(Descent(), Adapter(2), (1, 5, 2)).start(Federation(quadratics()), Tree(W=torch.ones(6, 4))),
        r"rank 5 does not fit W of shape \(6, 4\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_values_that_do_not_serve_are_named(name):
    action, message = WRONG[name]
    with pytest.raises(FederationError, match=message) as caught:
        action()
    assert "\n" not in str(caught.value)
