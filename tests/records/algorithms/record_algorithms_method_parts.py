"""Records of the parts of methods: the server's sums and corrections, and initial factors."""

import torch
from recording import refused
from small_clients import LAYERS, clients, digest, numbers, signed, start

from algorithms.adapter import AB, Adapter, LoRAState
from algorithms.descent import Descent
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.fed_sb import FedSB
from algorithms.federation import Federation
from algorithms.fedex_lora import residual_factors
from algorithms.fedhm import FedHM, as_values, multiply
from algorithms.fedlora import FedLoRA
from algorithms.fedpara import FedPara, Hadamard, Low, PersonalFedPara, multiply_plus_one
from algorithms.fedsa_lora import FedSALoRA
from algorithms.flexlora import first, product_and_rest
from algorithms.flora import FLoRA, stack
from algorithms.frlora import FRLoRA
from algorithms.hetlora import HetLoRA, tail
from algorithms.lora_fair import LoRAFair
from algorithms.mfedloru import NestedFedLoRU
from algorithms.optimisers import Sgd
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rbla import divide, pad
from algorithms.rounds import one_round
from algorithms.scaffold import Scaffold
from algorithms.schedules import Step as Steps
from algorithms.tree import Tree

LOCAL, KEPT, ONE = Descent(), Descent(optimiser=Sgd(0.5), optimiser_state="personal"), Adapter(2)


def _pair(rank, seed=0, rest=False):
    return AB(
        Tree(W=numbers(4, rank, seed=seed), V=numbers(3, rank, seed=seed + 1)),
        Tree(W=numbers(rank, 3, seed=seed + 2), V=numbers(rank, 5, seed=seed + 3)),
        Tree(b=numbers(2, seed=seed + 4)) if rest else Tree(),
    )


def residuals():
    sent, shares = [_pair(2, seed) for seed in (0, 10, 20)], [0.5, 0.3, 0.2]
    mean = AB(
        *(
            Tree({name: sum(s * part[i][name] for s, part in zip(shares, sent, strict=True)) for name in ("W", "V")})
            for i in (0, 1)
        )
    )
    found = residual_factors(sent, mean, shares)
    yield (
        signed(found.A @ found.B),
        signed(
            Tree(
                {
                    name: sum(s * one.A[name] @ one.B[name] for s, one in zip(shares, sent, strict=True))
                    - mean.A[name] @ mean.B[name]
                    for name in ("W", "V")
                }
            )
        ),
    )
    yield (
        {name: tuple(A.shape) for name, A in found.A.items()},
        signed(found),
        residual_factors(sent[:1], sent[0], [1.0]).A["W"].shape,
    )


def stacks():
    sent = [_pair(1, 0, True), _pair(3, 10, True)]
    found = stack(sent, [0.25, 0.75])
    yield (
        signed(found),
        found.A["V"].shape,
        found.B["V"].shape,
        len(found.rest),
        signed(product_and_rest(sent[0])),
        first(sent[1], 2).A["W"].shape,
        signed(first(sent[1], 2)),
    )


def padded_factors_and_shares():
    like, small = _pair(3, 0, True), _pair(1, 10, True)
    found = pad(like, small)
    yield (
        found.has,
        signed(found.factors),
        found.factors.A["W"].shape,
        found.factors.B["V"].shape,
        pad(like, like).has["W"],
    )
    total, old = torch.tensor([[1.0, 2.0]]), torch.tensor([[7.0, 8.0]])
    yield (
        divide(total, torch.tensor([0.5, 0.25]), old),
        divide(total, torch.tensor([0.5, 0.0]), old),
        str(divide(total, torch.tensor([0.5, 1.0]), old.half()).dtype),
    )


def ranks_that_clients_keep_and_tails():
    for decay in (0.99, 0.5, 0.6, 1.0, 0.01, 1 / 3):
        yield decay, [HetLoRA(LOCAL, Adapter(10), decay=decay).kept(rank) for rank in range(1, 11)]
    yield [float(tail(_pair(3), kept)) for kept in (0, 1, 2, 3)]


def weights_of_padded_factors():
    padded, like = [_pair(2, seed) for seed in (0, 10, 20)], _pair(2)
    zero = [AB(one.A, one.B * 0.0) for one in padded]
    for weighting in ("norms", "shares"):
        method = HetLoRA(LOCAL, ONE, weighting=weighting)
        yield (
            signed(method.average(padded, [0.5, 0.25, 0.25], like)),
            signed(method.average(zero, [0.5, 0.25, 0.25], like)),
            signed(method.average([padded[0], zero[1]], [0.5, 0.5], like)),
            str(method.average(padded, [0.5, 0.3, 0.2], AB(like.A.map(torch.Tensor.half), like.B)).A["W"].dtype),
        )


def corrected_means():
    A, B, P = numbers(4, 2, seed=1), numbers(2, 3, seed=2), numbers(4, 3, seed=3)
    for options in (
        {"server_steps": 1},
        {"server_steps": 5, "server_rate": 0.1},
        {"server_steps": 1, "penalty": "squared", "server_rate": 0.5, "penalty_weight": 2.0},
        {"server_steps": 2, "penalty_weight": 500.0},
    ):
        method = LoRAFair(LOCAL, ONE, **options)
        yield (
            signed(method.correct(A, B, P)),
            bool(torch.equal(method.correct(A, B, P * 0.0), B)),
            bool(torch.equal(method.correct(A, B * 0.0, P), B * 0.0)),
            bool(torch.equal(method.correct(A * 0.0, B, P), B)),
        )
    method = LoRAFair(LOCAL, ONE, 2.0, server_rate=0.5)
    yield (
        [
            method.shrink(torch.tensor(values).double())
            for values in ([3.0, 4.0], [0.6, 0.8], [0.3, 0.4], [0.0, 0.0], [1.2, 0.0])
        ],
        [LoRAFair(LOCAL, ONE, 2.0, "squared", 1, 0.5).shrink(torch.tensor([3.0, -4.0]).double())],
    )


def first_steps():
    G = Tree({"first.weight": numbers(4, 3, seed=1), "second.weight": numbers(2, 4, seed=2), "first.bias": numbers(4)})
    for method in (
        FedSB(Descent(learning_rate=0.3), Adapter(2, 1.5, layers=LAYERS), "gradient"),
        FedSB(Descent(learning_rate=Steps(0.4, 1)), Adapter(1, -0.5, layers="first", a_at="inputs"), "gradient"),
        FedSB(LOCAL, Adapter(1, layers="first"), "gradient", 2.0),
    ):
        A, R, B = method.first_factors(G)
        yield digest((A, R, B)), signed(A @ R @ B)
    for method in (
        FedSB(Descent(learning_rate=0.3), Adapter(2, layers="second")),
        FedSB(LOCAL, Adapter(3, 2.0, layers="first"), first_rate=2.0),
    ):
        A, R, B = method.first_factors(G)
        yield signed(A @ R @ B)


def principal_factors():
    for scale in (1.0, 4.0, -4.0):
        method = FRLoRA(LOCAL, Adapter(2, scale, layers=LAYERS))
        A, B = method.principal_factors(start())
        yield digest((A, B)), signed(scale * (A @ B))
    fed = Federation(clients())
    state = FRLoRA(LOCAL, Adapter(2, 2.0, layers="first")).start(fed, start())
    yield (
        signed(state.base),
        sorted(fed.state.shared),
        list(state.factors.rest),
        FRLoRA(LOCAL, Adapter(2, layers="first")).merged_rank(state._replace(rounds=4), "first.weight"),
    )


def initial_hadamard_factors():
    w = Tree(W=numbers(4, 6, seed=1), K=numbers(3, 2, 3, 2, seed=2), b=numbers(2))
    for options in ({}, {"initial": "matched"}, {"seed": 1}, {"rank": 1}):
        method = FedPara(LOCAL, **{"rank": 2, "layers": "W, K", **options})
        state = method.start(Federation(clients()), w)
        yield (
            signed(state),
            {name: tuple(T.shape) for name, T in state.first.T.items()},
            signed(method.weights(state)),
            list(state.rest),
        )
    scales = FedPara(LOCAL, 2)._scales, FedPara(LOCAL, 2, initial="matched")._scales
    yield (
        [scale("W", [4, 6], 2, 2, 0.5) for scale in scales],
        [scale("K", [3, 2, 12], 2, 4, 0.5) for scale in scales],
        refused(scales[1], "W", [4, 6], 2, 2, 0.0),
        scales[0]("W", [4, 6], 2, 2, 0.0),
    )


def personal_hadamard_products():
    w, fed = Tree(W=numbers(4, 6, seed=1), b=numbers(2)), Federation(clients())
    method = PersonalFedPara(LOCAL, 2, "W", initial="matched")
    state = method.start(fed, w)
    yield (
        signed(state),
        signed(fed.personal(0)["second"]),
        signed(method.weights(state)),
        signed(method.personal_weights(fed, state, 1)),
    )
    low = Low(Tree(W=torch.ones(2, 1)), Tree(W=torch.tensor([[1.0], [2.0]])), Tree())
    yield (
        multiply_plus_one(Hadamard(low, low, Tree(b=torch.ones(1)))),
        Low(Tree(K=torch.ones(2, 1)), Tree(K=2 * torch.ones(3, 1)), Tree(K=torch.arange(4.0).reshape(1, 1, 2, 2)))
        .weights()["K"]
        .shape,
    )
    yield (
        refused(FedPara(LOCAL, 3).start, fed, Tree(W=numbers(2, 4))),
        refused(FedPara(LOCAL, 3).start, fed, Tree(K=numbers(4, 2, 3))),
        refused(FedPara(LOCAL, 1).start, fed, Tree(b=numbers(3))),
        len(FedPara(LOCAL, 3, cap=True).start(fed, Tree(W=numbers(2, 4))).first.X["W"][0]),
    )


def nested_factors_and_changes():
    adapter = Adapter(2, seed=5)
    factors = adapter.factors(Tree(W=numbers(4, 3), V=numbers(3, 5)))
    for options in ({}, {"nested_scale": 2.0}):
        method = NestedFedLoRU(LOCAL, adapter, 1, **options)
        for turn in (0, 1):
            nested = method.draw_factors(factors, (1, 2), turn)
            yield (
                digest(nested),
                [tuple(part["W"].shape) for part in nested[:4]],
                float((nested.A_u["W"] @ nested.A_u["W"].mT).sum()),
            )
        filled = nested._replace(
            A_d=nested.A_d.map(lambda entry: entry + 1.0), B_u=nested.B_u.map(lambda entry: entry - 0.5)
        )
        changed = method.apply_changes(factors, filled)
        yield (
            digest((changed.A - factors.A, changed.B - factors.B)),
            digest(method.recover(factors, filled)) == digest(changed),
            method.recover(factors, changed) is changed,
        )
        yield digest(method.recover(factors, {"A": factors.A, "B": factors.B, "rest": Tree()}))


def weights_of_cut_layers():
    w = Tree(
        {"conv.weight": numbers(4, 2, 3, 2, seed=5), "line.weight": numbers(3, 5, seed=6), "bias": numbers(3, seed=7)}
    )
    for convolution in ("k x k, 1 x 1", "1 x k, k x 1"):
        cut = FedHM(LOCAL, 2, layers="conv, line", convolution=convolution).cut(w, 2)
        shapes = {name: tuple(W.shape) for name, W in w.items()}
        yield (
            digest(cut),
            signed(multiply(shapes, cut)),
            [type(entry).__name__ for entry in as_values(shapes, cut).values()],
            list(multiply(shapes, cut)),
        )
    yield (
        refused(FedHM(LOCAL, 1, (1, 2, 4), "line").start, Federation(clients()), w),
        FedHM(LOCAL, 1).convolution,
        refused(FedHM(LOCAL, 0, (), "line").start, Federation(clients()), w),
    )


class _Regression:
    samples, C = 2.0, torch.tensor([[2.0, -1.0, 0.5], [1.0, 3.0, -2.0]]).double()

    def __init__(self, shift):
        self.shift = shift

    def loss(self, w, batch=None):
        return ((w["W"] - self.C - self.shift) ** 2).sum() / 2

    def best_b(self, a):
        if self.shift > 5:
            raise ValueError("no unique b")
        return Tree(W=a["W"].mT @ (self.C + self.shift) / (a["W"] ** 2).sum())


def exact_iterations():
    fed = Federation([_Regression(0.0), _Regression(1.0)], shares=(1.0, 3.0))
    for method in (ExactRoLoRA(0.1), ExactRoLoRA(0.1, True)):
        state = method.start(fed, Tree(W=numbers(2, 3)))
        yield digest(state)
        for _ in range(2):
            state = one_round(method.round, fed, state)
        yield (
            signed(method.weights(state)),
            digest(method.refit(fed, (0, 1), state)),
            fed.ledger.bytes("down"),
            fed.ledger.bytes("up"),
        )
    yield (
        refused(method.start, fed, Tree(W=torch.zeros(2, 3))),
        refused(method.start, fed, Tree(W=torch.ones(3))),
        refused(method.refit, Federation(clients()), (0,), state),
        refused(method.refit, Federation([_Regression(6.0)]), (0,), state),
    )


def models_of_clients():
    sent = Adapter(1, 0.5, layers="first").factors(start())
    sent = sent._replace(B=sent.B.map(lambda entry: entry + 1.0))
    yield (
        signed(FedLoRA(LOCAL, Adapter(1, 0.5, layers="first")).client_model(LoRAState(start(), sent), sent)),
        signed(Scaffold(LOCAL).client_model(None, (start(), 3))),
    )
    yield (
        FedSB(LOCAL, ONE).makes_factors,
        FRLoRA.makes_factors,
        FedSALoRA.kept_factor,
        FedLoRA.kept_factor,
        [kind.trains_pairs for kind in (FedLoRA, FedSB, NestedFedLoRU, PersonalFedLoRU, HetLoRA, FLoRA)],
    )


def ranks_at_roundings():
    for decay, rank in ((0.29, 100), (0.57, 100), (0.58, 50), (0.289999, 100), (0.29, 99)):
        yield decay, HetLoRA(LOCAL, Adapter(100), decay=decay).kept(rank)
