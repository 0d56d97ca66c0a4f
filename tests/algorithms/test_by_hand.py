"""Every algorithm against its box in exact fractions: three rounds, two steps, changing cohorts, unequal shares."""

from fractions import Fraction
from functools import cache

import by_hand
import pytest
import torch
from written_federation import (
    Knowing,
    Samples,
    Written,
    WrittenFRLoRA,
    WrittenNested,
    WrittenPara,
    WrittenPersonalPara,
    WrittenSB,
    clients,
    tensor,
)

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, Sequential
from algorithms.fedlin import FedLin
from algorithms.fedlora import FedLoRA
from algorithms.fedloru import RESTARTS, FedLoRU
from algorithms.fedloru_finetuning import FineTuneFedLoRU
from algorithms.fedprox import FedProx
from algorithms.fedsa_lora import FedSALoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rolora import RoLoRA
from algorithms.rounds import one_round
from algorithms.scaffold import CONTROLS, Scaffold
from algorithms.tree import Tree
from algorithms.vmap import Vmap

RATE, ALPHA = float(by_hand.RATE), float(by_hand.ALPHA)


def local(batch, steps=by_hand.STEPS):
    return Descent(steps, RATE, batch)


def adapter(rank=1):
    return Written(rank, ALPHA)


OWN = Written(1, 0.5, own=True)
PLAIN = {
    "FedAvg": (lambda b: FedAvg(local(b)), by_hand.fedavg),
    "FedLin": (lambda b: FedLin(local(b)), by_hand.fedlin),
    "FedLin as printed": (lambda b: FedLin(local(b), as_printed=True), lambda b: by_hand.fedlin(b, as_printed=True)),
    "FedProx": (lambda b: FedProx(local(b), 0.75), lambda b: by_hand.fedprox(b, Fraction(3, 4))),
    **{
        f"SCAFFOLD, {control}, server rate {rate}": (
            lambda b, control=control, rate=rate: Scaffold(local(b), float(rate), control),
            lambda b, control=control, rate=rate: by_hand.scaffold(b, rate, control),
        )
        for control in CONTROLS
        for rate in (Fraction(1), Fraction(5, 4))
    },
    "FedLoRA": (lambda b: FedLoRA(local(b), adapter()), by_hand.fedlora),
    "FedLoRA of rank 2": (lambda b: FedLoRA(local(b), adapter(2)), lambda b: by_hand.fedlora(b, 2)),
    "RoLoRA": (lambda b: RoLoRA(local(b), adapter()), by_hand.rolora),
    "RoLoRA of rank 2": (lambda b: RoLoRA(local(b), adapter(2)), lambda b: by_hand.rolora(b, 2)),
    "RoLoRA with A frozen": (
        lambda b: RoLoRA(local(b), adapter(), frozen_a=True),
        lambda b: by_hand.rolora(b, frozen_a=True),
    ),
    "FFA-LoRA": (lambda b: FFALoRA(local(b), adapter(2)), lambda b: by_hand.rolora(b, 2, frozen_a=True)),
    **{
        f"{kind.__name__}, {restart}, tau = {tau}": (
            lambda b, kind=kind, tau=tau, restart=restart: kind(local(b), adapter(), tau, restart),
            lambda b, tau=tau, restart=restart: by_hand.fedloru(b, 1, tau, restart),
        )
        for kind in (FedLoRU, FineTuneFedLoRU)
        for tau in (1, 2)
        for restart in RESTARTS
    },
    "FRLoRA": (lambda b: WrittenFRLoRA(local(b), adapter()), by_hand.frlora),
    "FRLoRA of rank 2": (lambda b: WrittenFRLoRA(local(b), adapter(2)), lambda b: by_hand.frlora(b, 2)),
    "Fed-SB": (lambda b: WrittenSB(local(b), adapter(2)), by_hand.fed_sb),
    "FedPara": (lambda b: WrittenPara(local(b), 2), lambda b: by_hand.fedpara(b, False)[0]),
    **{
        f"mFedLoRU, ranks {ranks}, products {sent}": (
            lambda b, ranks=ranks, sent=sent: WrittenNested(
                local(b), adapter(2), 2, ranks=ranks, nested_scale=0.25, send_products=sent
            ),
            lambda b, ranks=ranks: by_hand.mfedloru(b, ranks, nested_scale=Fraction(1, 4)),
        )
        for ranks in (((1, 1),) * 3, ((2, 1),) * 3, ((1, 2), None, (2, 2)))
        for sent in (False, True)
    },
}
PERSONAL = {
    **{
        f"pFedLoRU, {restart}": (
            lambda b, restart=restart: PersonalFedLoRU(
                local(b), adapter(), 2, restart, personal=local(b and 2, by_hand.PERSONAL_STEPS), personal_adapter=OWN
            ),
            lambda b, restart=restart: by_hand.pfedloru(b, b and 2, restart=restart),
        )
        for restart in RESTARTS
    },
    "FedSA-LoRA": (lambda b: FedSALoRA(local(b), adapter()), by_hand.fedsa_lora),
    "FedSA-LoRA of rank 2": (lambda b: FedSALoRA(local(b), adapter(2)), lambda b: by_hand.fedsa_lora(b, 2)),
    "pFedPara": (lambda b: WrittenPersonalPara(local(b), 2), lambda b: by_hand.fedpara(b, True)),
    "pFedLoRA (1)": (
        lambda b: PersonalFedLoRA(local(b), local(b and 2, by_hand.PERSONAL_STEPS), OWN),
        lambda b: by_hand.pfedlora(b, b and 2, jointly=False),
    ),
    "pFedLoRA (2)": (
        lambda b: PersonalFedLoRA(local(b), local(b, by_hand.PERSONAL_STEPS), OWN, jointly=True),
        lambda b: by_hand.pfedlora(b, b, jointly=True),
    ),
}


def federation(kind=Samples, executor=None):
    return Federation(clients(kind), shares=by_hand.SHARES, seed=by_hand.SEED, executor=executor)


def models(algorithm, fed):
    """Return the model after every round, and the last state."""
    state, found = algorithm.start(fed, Tree(W=tensor(by_hand.W0))), []
    for cohort in by_hand.COHORTS:
        state = one_round(algorithm.round, fed, state, cohort)
        found.append(algorithm.weights(state)["W"])
    return found, state


def agree(found, expected):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, tensor(other), atol=1e-13, rtol=1e-12)


@cache
def box(name, batch):
    """Return the result of an algorithm's box, computed once for all ways of running it."""
    return {**PLAIN, **PERSONAL}[name][1](batch)


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize(("executor", "kind"), [(Sequential, Samples), (Sequential, Knowing), (Vmap, Samples)])
@pytest.mark.parametrize("name", PLAIN)
def test_models_are_those_of_the_box(name, executor, kind, batch):
    algorithm = PLAIN[name][0](batch)
    agree(models(algorithm, federation(kind, executor()))[0], box(name, batch))


@pytest.mark.parametrize("batch", [None, 1])
@pytest.mark.parametrize("executor", [Sequential, Vmap])
@pytest.mark.parametrize("name", PERSONAL)
def test_models_with_personal_factors_are_those_of_the_box(name, executor, batch):
    algorithm, fed = PERSONAL[name][0](batch), federation(executor=executor())
    found, state = models(algorithm, fed)
    expected, own = box(name, batch)
    agree(found, expected)
    agree([algorithm.personal_weights(fed, state, k)["W"] for k in range(3)], own)


def test_the_fractions_are_those_of_paper_and_pencil():
    """The first round of FedAvg with full batches, one step of client 0 and of client 1.

    W0 = [1 -1/2; 0 1; 1/4 1/2]. Client 0: <D_1, W0> = 1 - 1 + 1/2 = 1/2, off by -3/2; <D_2, W0> = -1/2 + 1 - 1/4 = 1/4,
    off by 5/4; <D_3, W0> = 2 - 1 + 3/4 = 7/4, off by 3/4. The gradient is a third of
    -3/2 [1 0; 2 -1; 0 1] + 5/4 [0 1; 1 1; -1 0] + 3/4 [2 0; 0 -1; 1 1] = [0 5/4; -7/4 2; -1/2 -3/4].
    Client 1: <D_1, W0> = -1 - 1/2 + 1 + 1/4 = -1/4, off by -1/4; <D_2, W0> = 1 - 1 - 1/2 = -1/2, off by -7/2;
    <D_3, W0> = 1/2 + 0 + 1/4 + 1 = 7/4, off by 15/4. The gradient is a third of
    -1/4 [-1 1; 0 1; 1 0] - 7/2 [1 2; 0 0; 0 -1] + 15/4 [0 -1; 1 0; 1 2] = [-13/4 -11; 15/4 -1/4; 7/2 11].
    With shares 3 : 1 the mean gradient is 3/4 of the first and 1/4 of the second.
    """
    first = over(12, [[0, 5], [-7, 8], [-2, -3]])
    second = over(12, [[-13, -44], [15, -1], [14, 44]])
    assert [by_hand.slope(k, by_hand.W0) for k in (0, 1)] == [first, second]
    mean = over(48, [[-13, -29], [-6, 23], [8, 35]])
    assert by_hand.mean((0, 1), [first, second]) == mean
    fed = federation()
    stepped = one_round(FedAvg(Descent(1, RATE)).round, fed, Tree(W=tensor(by_hand.W0)), (0, 1))["W"]
    expected = over(768, [[768 + 13, -384 + 29], [6, 768 - 23], [192 - 8, 384 - 35]])
    torch.testing.assert_close(stepped, tensor(expected), atol=1e-15, rtol=0)


def over(denominator, numerators):
    return [[Fraction(entry, denominator) for entry in row] for row in numerators]
