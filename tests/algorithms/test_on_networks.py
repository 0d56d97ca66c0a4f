"""Every algorithm on a network with kernels, a norm and a head, in cases in which it equals a known one."""

from dataclasses import dataclass, replace
from itertools import combinations

import pytest
import torch
from small_network import LAYERS, Small, clients, outputs, start

from algorithms.adapter import Adapter
from algorithms.central_training import CentralTraining
from algorithms.descent import Descent, descend, gradient
from algorithms.fed_sb import FIRST_STEPS, FedSB
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError, Memory
from algorithms.fedex_lora import FedExLoRA
from algorithms.fedhm import FedHM
from algorithms.fedlin import FedLin
from algorithms.fedlora import FedLoRA
from algorithms.fedloru import RESTARTS, FedLoRU
from algorithms.fedloru_finetuning import FineTuneFedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.fedpara import FedPara, PersonalFedPara
from algorithms.fedprox import FedProx
from algorithms.fedsa_lora import FedSALoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.flora import FLoRA
from algorithms.frlora import FRLoRA
from algorithms.hetlora import HetLoRA
from algorithms.local_training import LocalTraining
from algorithms.lora_fair import LoRAFair
from algorithms.low_rank import Truncation
from algorithms.mfedloru import NestedFedLoRU
from algorithms.optimisers import AdamW, Sgd
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rbla import RBLA
from algorithms.rolora import RoLoRA
from algorithms.rounds import final, go_on, rounds
from algorithms.scaffold import CONTROLS, Scaffold
from algorithms.schedules import Cosine, Step
from algorithms.tree import Tree
from algorithms.weights import dense_tree

LOCAL = Descent(3, 0.1, batch=4)
RANK = 2
ADAPTER = Adapter(RANK, 2.0, layers=LAYERS)
EVERYTHING = Truncation(0.0)
WHOLE = Truncation(0.0, most=3)
NAMES = {"layers": LAYERS}
ALGORITHMS = {
    "FedAvg": FedAvg(LOCAL),
    "FedLin": FedLin(LOCAL),
    "FedLoRA": FedLoRA(LOCAL, ADAPTER),
    "FFA-LoRA": FFALoRA(LOCAL, ADAPTER),
    "RoLoRA": RoLoRA(LOCAL, ADAPTER),
    "FlexLoRA": FlexLoRA(LOCAL, ADAPTER),
    **{f"FedLoRU, {restart}": FedLoRU(LOCAL, ADAPTER, 2, restart) for restart in RESTARTS},
    "FedLoRU, fine-tuning": FineTuneFedLoRU(LOCAL, ADAPTER, 2),
    "pFedLoRU": PersonalFedLoRU(LOCAL, ADAPTER, 2, personal=LOCAL, personal_adapter=Adapter(1, layers=LAYERS)),
    "mFedLoRU": NestedFedLoRU(LOCAL, ADAPTER, 2, ranks=((1, 1), (2, 1), None)),
    "pFedLoRA (1)": PersonalFedLoRA(LOCAL, LOCAL, ADAPTER),
    "pFedLoRA (2)": PersonalFedLoRA(LOCAL, LOCAL, ADAPTER, jointly=True),
    "FedHM": FedHM(LOCAL, RANK, **NAMES),
    "FedHM, several ranks": FedHM(LOCAL, RANK, (1, 2, 3), **NAMES),
    "FedHM, kernels by rows": FedHM(LOCAL, RANK, layers=LAYERS, convolution="k x k, 1 x 1"),
    "FeDLRT": FeDLRT(LOCAL, RANK, WHOLE, "none", **NAMES),
    "FeDLRT, full": FeDLRT(LOCAL, RANK, WHOLE, "full", **NAMES),
    "FeDLRT, simplified": FeDLRT(LOCAL, RANK, WHOLE, "simplified", **NAMES),
    "naive FeDLRT": NaiveFeDLRT(LOCAL, RANK, WHOLE, **NAMES),
    "FedProx": FedProx(LOCAL, 0.25),
    **{f"SCAFFOLD, {control}": Scaffold(LOCAL, 1.25, control) for control in CONTROLS},
    "FedSA-LoRA": FedSALoRA(LOCAL, ADAPTER),
    "FedSA-LoRA, averaged rest": FedSALoRA(LOCAL, ADAPTER, average_rest=True),
    "FRLoRA": FRLoRA(LOCAL, ADAPTER),
    **{f"Fed-SB, {step}": FedSB(LOCAL, ADAPTER, step) for step in FIRST_STEPS},
    "FedPara": FedPara(LOCAL, RANK, **NAMES),
    "FedPara, matched": FedPara(LOCAL, RANK, initial="matched", **NAMES),
    "pFedPara": PersonalFedPara(LOCAL, RANK, **NAMES),
    "local training": LocalTraining(LOCAL),
    "FLoRA": FLoRA(LOCAL, ADAPTER, (1, 3, 2)),
    "FedEx-LoRA": FedExLoRA(LOCAL, ADAPTER),
    "FedEx-LoRA, dense": FedExLoRA(LOCAL, ADAPTER, "dense"),
    "RBLA": RBLA(LOCAL, ADAPTER, (1, 2, 1)),
    "HetLoRA": HetLoRA(LOCAL, ADAPTER, (1, 2, 2), decay=0.5, penalty=0.5),
    "LoRA-FAIR": LoRAFair(LOCAL, ADAPTER),
}


STAYING = ("local training", "FedSA-LoRA", "FedSA-LoRA, averaged rest")
"""Algorithms whose server has no model of its own, or not all of one."""


def run(algorithm, count=2, *, who=None, w=None, seed=3):
    fed = Federation(clients() if who is None else who, seed=seed)
    state = algorithm.start(fed, start() if w is None else w)
    state = final(go_on(algorithm.round, fed, state, count), state)
    return Tree(dense_tree(algorithm.weights(state), like=start())), fed, state


def close(one, other, within=1e-11):
    assert set(one) == set(other)
    for name in one:
        torch.testing.assert_close(one[name], other[name], rtol=within, atol=within, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_factors_in_layers_and_products_give_the_same_model(name):
    """Clients that compute through factors agree with clients that are given tensors."""
    if "FeDLRT" in name:
        pytest.skip("factors alone do not tell a kernel's shape: these clients must take values")
    algorithm = ALGORITHMS[name]
    with_values, _, _ = run(algorithm)
    without, _, _ = run(algorithm, who=clients(takes_values=False))
    close(with_values, without, 1e-9)
    if name not in STAYING:
        assert all(float((with_values[n] - W).abs().max()) > 1e-6 for n, W in start().items())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_all_learn(name):
    algorithm, slow = ALGORITHMS[name], clients()
    fed = Federation(slow, seed=3)
    state = before = algorithm.start(fed, start())
    state = final(go_on(algorithm.round, fed, state, 6), state)

    def loss(model):
        losses = [float(client.loss(model(k))) for k, client in enumerate(slow)]
        return sum(losses) / len(losses)

    if hasattr(algorithm, "personal_weights"):
        assert loss(lambda k: algorithm.personal_weights(fed, state, k)) < 0.9 * loss(lambda _: start())
    if name not in STAYING:
        assert loss(lambda _: algorithm.weights(state)) < loss(lambda _: algorithm.weights(before))


@pytest.mark.parametrize("restart", RESTARTS)
def test_fedloru_that_never_accumulates_is_fedlora(restart):
    close(run(FedLoRU(LOCAL, ADAPTER, 99, restart), 3)[0], run(FedLoRA(LOCAL, ADAPTER), 3)[0], 0.0)


def test_rolora_with_a_frozen_is_ffa_lora():
    close(run(RoLoRA(LOCAL, ADAPTER, frozen_a=True), 3)[0], run(FFALoRA(LOCAL, ADAPTER), 3)[0], 0.0)


@pytest.mark.parametrize("restart", RESTARTS)
def test_stored_pairs_give_the_same_model_as_merged_ones(restart):
    beside, _, state = run(FineTuneFedLoRU(LOCAL, ADAPTER, 2, restart), 5)
    close(beside, run(FedLoRU(LOCAL, ADAPTER, 2, restart), 5)[0])
    assert len(state.pairs) == 2


@pytest.mark.parametrize(("restart", "kept"), [("random", True), ("keep A", True), ("momentum", False)])
def test_a_merge_leaves_the_network_as_it_was_unless_the_product_counts_twice(restart, kept):
    x = clients()[0].x
    before, after = (outputs(run(FedLoRU(LOCAL, ADAPTER, tau, restart), 3)[0], x)[0] for tau in (99, 3))
    assert (float((before - after).abs().max()) < 1e-12) is kept


SQUARE = {"layers": "conv", "convolution": "1 x k, k x 1"}
"""Reads the kernel as a 6 x 6 matrix, which bases of rank 6 represent exactly."""


@pytest.mark.parametrize(("correction", "full"), [("none", FedAvg), ("full", FedLin), ("simplified", FedLin)])
def test_fedlrt_at_full_rank_without_truncation_is_the_full_method(correction, full):
    local = Descent(3, 0.1)
    found = run(FeDLRT(local, 6, EVERYTHING, correction, **SQUARE))[0]
    close(found, run(full(local))[0], 1e-9)


def test_nested_clients_at_full_rank_take_the_first_step_of_fedloru():
    once = Descent(1, 0.1)
    nested = NestedFedLoRU(once, ADAPTER, 3, ranks=((RANK, RANK),) * 3, nested_scale=1 / RANK)
    close(run(nested, 4)[0], run(FedLoRU(once, ADAPTER, 3), 4)[0])


def test_fedhm_of_one_rank_is_fedhm_of_equal_ranks():
    close(run(FedHM(LOCAL, RANK, **NAMES))[0], run(FedHM(LOCAL, RANK, (RANK,) * 3, **NAMES))[0], 0.0)


def test_fedhm_at_full_rank_sends_the_function_that_the_server_has():
    algorithm = FedHM(LOCAL, 3, layers="conv", convolution="k x k, 1 x 1")
    w = start()
    cut = algorithm.cut(w, 3)
    torch.testing.assert_close((cut.A @ cut.B)["conv.weight"].reshape(3, 2, 2, 3), w["conv.weight"])
    assert set(cut.rest) == set(w) - {"conv.weight"}


class Common(Adapter):
    """An adapter from which all clients draw the same factors."""

    def of_client(self, number, rank):
        return replace(self, rank=rank)


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if "local" not in name])
def test_one_client_is_not_averaged(name):
    """Three equal clients give the same as one."""
    (one,) = clients(1)
    algorithm = {
        "mFedLoRU": NestedFedLoRU(LOCAL, ADAPTER, 2, ranks=((1, 1),)),
        "FedHM, several ranks": FedHM(LOCAL, RANK, (2,), **NAMES),
        "FLoRA": FLoRA(LOCAL, Common(RANK, 2.0, layers=LAYERS), (2,)),
        "RBLA": RBLA(LOCAL, ADAPTER, (2,)),
        "HetLoRA": HetLoRA(LOCAL, ADAPTER, (2,)),
    }.get(name, ALGORITHMS[name])
    full = {key: value for key, value in vars(algorithm).items() if key != "local"}
    if full.get("ranks"):
        full["ranks"] = full["ranks"] * 3
    for key in ("personal",):
        if key in full:
            full[key] = Descent(3, 0.1)
    several = type(algorithm)(local=Descent(3, 0.1), **full)
    alone = type(algorithm)(
        local=Descent(3, 0.1), **{**full, **({"ranks": full["ranks"][:1]} if full.get("ranks") else {})}
    )
    close(run(several, who=[one] * 3)[0], run(alone, who=[one])[0], 1e-9)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (None, lambda p: torch.optim.SGD(p, 0.1)),
        (Sgd(0.9, 0.01, nesterov=True), lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.01, nesterov=True)),
        (AdamW(), lambda p: torch.optim.AdamW(p, 0.1)),
    ],
)
def test_one_client_is_central_training_by_torch_optim(ours, theirs):
    """Statistics follow the batches and have neither gradients nor weight decay."""
    (client,) = clients(1)
    local = Descent(epochs=2, batch=3, learning_rate=0.1, optimiser=ours, optimiser_state="personal")
    found, _, _ = run(FedAvg(local), 2, who=[client])
    w = {name: entry.clone() for name, entry in start().items()}
    trained = [entry.requires_grad_() for name, entry in w.items() if name not in client.statistics]
    optimiser = theirs(trained)
    for number in (1, 2):
        for batch in local.draw(client, torch_rng(3, number, 1, 0)):
            optimiser.zero_grad()
            loss, new = client.loss_and_statistics(w, batch)
            loss.backward()
            optimiser.step()
            w.update(new)
    close(found, {name: entry.detach() for name, entry in w.items()}, 1e-12)
    central = CentralTraining(local)
    clients_, shares = central.pool([client], None)
    assert shares is None
    assert clients_[0].samples == client.samples


def torch_rng(*key):
    import numpy as np

    return np.random.default_rng(list(key))


def test_central_training_descends_on_the_mean_loss_of_all():
    who = clients()

    class Problem:
        clients, shares, start = who, None, start()

        def evaluate(self, w, fed):
            return {"loss": float(Pooled().loss(w))}

    class Pooled:
        def loss(self, w):
            return sum(len(c.y) * c.loss(w) for c in who) / sum(len(c.y) for c in who)

    steps = list(rounds(CentralTraining(Descent(2, 0.1)), Problem(), rounds=2))
    w = start()
    parameters = Tree({n: e for n, e in w.items() if n not in who[0].statistics})
    for _ in range(4):
        at = {n: e.clone().requires_grad_() for n, e in parameters.items()}
        slopes = torch.autograd.grad(Pooled().loss(at), list(at.values()))
        parameters = Tree({n: e.detach() - 0.1 * g for (n, e), g in zip(at.items(), slopes, strict=True)})
    reached = steps[-1].state.algorithm
    close(reached.only(parameters), parameters)
    assert steps[-1].metrics["loss"] < steps[0].metrics["loss"]


def test_frozen_weights_stay_and_do_not_travel():
    w = start(statistics=False)
    who = clients(statistics=frozenset())
    adapter = Adapter(RANK, layers=LAYERS, rest="frozen")
    found, fed, state = run(FedLoRU(LOCAL, adapter, 2), 3, who=who, w=w)
    assert not state.factors.rest
    per_client = RANK * (3 + 12 + 5 + 12)
    assert fed.ledger.count("up", 1) == 3 * per_client
    for name in ("norm.weight", "head.bias", "hidden.bias"):
        assert torch.equal(found[name], w[name])


@pytest.mark.parametrize(
    "name", ["FedAvg", "FedProx", "FedLin", "FedLoRA", "FedLoRU, random", "FRLoRA", "FeDLRT, full", "FedHM"]
)
def test_statistics_are_averaged_and_no_step_is_taken_in_them(name):
    """After one local step on all samples, the statistics are the mean of what the clients observe at the start."""
    algorithm = ALGORITHMS[name]
    settings = {key: value for key, value in vars(algorithm).items() if key != "local"}
    found, fed, _ = run(
        type(algorithm)(local=Descent(1, 0.5, clip=1e-3, optimiser=Sgd(weight_decay=0.5)), **settings), 1
    )
    sizes = torch.tensor([len(c.y) for c in fed.clients]).double()
    w = algorithm.weights(algorithm.start(Federation(clients()), start()))
    if name == "FedHM":
        cut = algorithm.cut(start(), RANK)
        w = {**start(), "conv.weight": (cut.A @ cut.B)["conv.weight"].reshape(3, 2, 2, 3).transpose(1, 2)}
        w["conv.weight"] = torch.from_numpy((cut.A @ cut.B)["conv.weight"].numpy()).reshape(3, 2, 2, 3).transpose(1, 2)
    seen = [outputs(w, c.x)[1]["norm.running_mean"] for c in clients()]
    mean = sum(size * one for size, one in zip(sizes / sizes.sum(), seen, strict=True))
    torch.testing.assert_close(found["norm.running_mean"], mean)


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("rate", [1.0, 1.25])
def test_scaffold_averages_statistics_at_any_server_rate_and_has_no_control_of_them(control, rate):
    found, fed, state = run(Scaffold(Descent(1, 0.5), rate, control), 1)
    sizes = torch.tensor([len(c.y) for c in fed.clients]).double()
    seen = [outputs(start(), c.x)[1]["norm.running_var"] for c in clients()]
    mean = sum(size * one for size, one in zip(sizes / sizes.sum(), seen, strict=True))
    torch.testing.assert_close(found["norm.running_var"], mean)
    assert set(state.c) == set(start()) - clients()[0].statistics == set(fed.personal(0)["control"])


def test_gradients_are_those_of_finite_differences():
    (client,) = clients(1)
    algorithm = FedLoRA(LOCAL, ADAPTER)
    state = algorithm.start(Federation([client]), start())
    factors = state.factors._replace(B=state.factors.B.map(lambda B: B + 0.3))
    assemble = ADAPTER.assembler(client, state.base)
    slope = gradient(client, factors, assemble)
    for part, name, place in ((0, "conv.weight", (1, 0)), (1, "hidden.weight", (0, 7)), (2, "head.bias", (2,))):
        ends = []
        for change in (1e-6, -1e-6):
            moved = factors[part][name].clone()
            moved[place] += change
            at = factors._replace(**{factors._fields[part]: Tree({**factors[part], name: moved})})
            ends.append(float(client.loss(assemble(at))))
        assert float(slope[part][name][place]) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)
    assert not slope.rest["norm.running_var"].any()


def test_rates_follow_their_schedule_over_rounds_and_steps():
    one = Descent(4, Cosine(1.0, period=2))
    assert [one.rate(number, 3, 4) for number in (1, 2, 3)] == [Cosine(1.0, 2)(index) for index in (0, 1, 2)]
    each = Descent(4, Step(1.0, every=3, factor=0.5, per="step"))
    assert [each.rate(number, step, 4) for number in (1, 2) for step in range(4)] == [
        1,
        1,
        1,
        0.5,
        0.5,
        0.5,
        0.25,
        0.25,
    ]

    class Slope:
        samples = 1.0

        def loss(self, w, batch=None):
            return w["W"].sum()

    fed = Federation([Slope()])
    algorithm = FedAvg(each)
    w = final(go_on(algorithm.round, fed, Tree(W=torch.zeros(1)), 2), None)
    assert w["W"].item() == pytest.approx(-(3 + 1.5 + 0.5))


def test_epochs_visit_every_sample_once_and_smaller_last_batches_count():
    (client,) = clients(1, samples=7)
    batches = Descent(epochs=2, batch=3).draw(client, torch_rng(0))
    assert [len(batch) for batch in batches] == [3, 3, 1, 3, 3, 1]
    assert sorted(torch.cat(batches[:3]).tolist()) == sorted(torch.cat(batches[3:]).tolist()) == list(range(7))

    class Doubling(Small):
        def batches(self, rng, indices):
            return [torch.cat([batch, batch]) for batch in indices]

    doubled = Descent(epochs=1, batch=3).draw(Doubling(client.x, client.y), torch_rng(0))
    assert [len(batch) for batch in doubled] == [6, 6, 2]


def test_clipping_is_that_of_torch():
    (client,) = clients(1)
    at = start()
    slope = gradient(client, at)
    parameters = [torch.nn.Parameter(entry.clone()) for entry in at.values()]
    for parameter, entry in zip(parameters, slope.values(), strict=True):
        parameter.grad = entry.clone()
    torch.nn.utils.clip_grad_norm_(parameters, 0.01)
    end, _ = descend(client, at, Descent(1, 1.0, clip=0.01), Memory())
    for (name, entry), parameter in zip(at.items(), parameters, strict=True):
        if name not in client.statistics:
            torch.testing.assert_close(entry - end[name], parameter.grad)


@dataclass(frozen=True)
class Bowl:
    """Its loss is |w|^2 / 2, so the gradient is w."""

    samples: float = 1.0

    def loss(self, w, batch=None):
        return w["W"].square().sum() / 2.0


def test_what_is_added_to_a_gradient_is_clipped_with_it():
    """Gradients are clipped to the norm 1/2 with correction and pull.

    From (3, 0), the gradient (3, 0) and the correction (-3, 4) make (0, 4). In the second step, from (3, -1/2), they
    make (0, 7/2), and the pull of 2 back to (3, 0) adds (0, -1).
    """
    at = Tree(W=torch.tensor([3.0, 0.0]).double())
    added = Tree(W=torch.tensor([-3.0, 4.0]).double())
    for steps, y in ((1, -0.5), (2, -1.0)):
        local = Descent(steps, 1.0, clip=0.5)
        end, _ = descend(Bowl(), at, local, Memory(), correction=added, pull=2.0)
        torch.testing.assert_close(end["W"], torch.tensor([3.0, y]).double(), atol=1e-5, rtol=0)
    # Without a correction the second step, from (2.5, 0), is along 2.5 + 3 (2.5 - 3) = 1, longer than 1/2.
    end, _ = descend(Bowl(), at, Descent(2, 1.0, clip=0.5), Memory(), pull=3.0)
    torch.testing.assert_close(end["W"], torch.tensor([2.0, 0.0]).double(), atol=1e-5, rtol=0)
    # A step that is short enough is not lengthened.
    end, _ = descend(Bowl(), at, Descent(1, 0.1, clip=4.0), Memory())
    torch.testing.assert_close(end["W"], torch.tensor([2.7, 0.0]).double())


@pytest.mark.parametrize(("per", "rates"), [("step", (1 / 16, 1 / 32)), ("round", (1 / 4, 1 / 4))])
def test_every_step_has_the_rate_of_its_place(per, rates):
    """In the third round of two steps each: steps 4 and 5, or round 2, of a rate that is halved each time."""
    at, schedule = Tree(W=torch.tensor([64.0]).double()), Step(1.0, every=1, factor=0.5, per=per)
    for optimiser in (None, Sgd()):
        end, _ = descend(Bowl(), at, Descent(2, schedule, optimiser=optimiser), Memory(round=3))
        assert float(end["W"]) == 64.0 * (1 - rates[0]) * (1 - rates[1])


def test_each_pass_has_a_new_order_and_a_random_client_as_many_batches_as_passes():
    @dataclass
    class Thirty:
        samples: int = 30
        random: bool = False

    drawn = Descent(epochs=3, batch=12).draw(Thirty(), torch_rng(0))
    assert [len(batch) for batch in drawn] == [12, 12, 6] * 3
    passes = [torch.cat(drawn[first : first + 3]) for first in (0, 3, 6)]
    assert all(torch.equal(one.sort().values, torch.arange(30)) for one in passes)
    assert not any(torch.equal(one, other) for one, other in combinations(passes, 2))
    assert Descent(epochs=3).draw(Thirty(), torch_rng(0)) is None
    for local, count in ((Descent(epochs=3), 3), (Descent(steps=2), 2)):
        whole = local.draw(Thirty(random=True), torch_rng(0))
        assert [batch.tolist() for batch in whole] == [list(range(30))] * count


@pytest.mark.parametrize("optimiser", [Sgd(0.9), AdamW()])
def test_a_personal_optimiser_continues_and_a_fresh_one_restarts(optimiser):
    (client,) = clients(1)
    through, _, _ = run(FedAvg(Descent(4, 0.05, optimiser=optimiser)), 1, who=[client])
    for kept in ("personal", "fresh"):
        local = Descent(2, 0.05, optimiser=optimiser, optimiser_state=kept)
        found, _, _ = run(FedAvg(local), 2, who=[client])
        same = float((found["head.weight"] - through["head.weight"]).abs().max()) < 1e-12
        assert same is (kept == "personal")


def test_momentum_follows_the_bases_of_fedlrt():
    """For one layer at full rank, momentum in coefficients of changing bases is momentum of the full weights."""
    (client,) = clients(1)
    momentum = Sgd(0.9)
    for kept in ("personal", "fresh"):
        local = Descent(2, 0.05, optimiser=momentum, optimiser_state=kept)
        low, _, _ = run(FeDLRT(local, 6, EVERYTHING, "none", **SQUARE), 3, who=[client])
        close(low, run(FedAvg(local), 3, who=[client])[0], 1e-9)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            lambda: Adapter(9, layers=LAYERS).factors(start()),
            r"rank 9 does not fit conv.weight of shape \(3, 2, 2, 3\)",
        ),
        (lambda: Adapter(1).factors(start()), r"rank 1 does not fit norm.weight of shape \(3,\)"),
        (lambda: Adapter(1, layers="layer*").factors(start()), "no layer with a matrix weight matches 'layer"),
        (lambda: run(FeDLRT(LOCAL, 1)), "name the layers that are factorised"),
        (lambda: run(FedHM(LOCAL, 1, (1, 2), **NAMES)), "expected a rank for each of 3 clients, got 2"),
        (lambda: Adapter(1, rest="some"), "rest 'trained' or 'frozen'"),
        (lambda: Descent(epochs=0), "epochs must be a whole number of at least 1"),
        (lambda: Descent(clip=0.0), "clip must be positive"),
        (lambda: Descent(optimiser_state="shared"), "optimiser_state must be"),
        (lambda: run(FedAvg(Descent(3, 1e300))), "round 1, client 0: local_descent returned non-finite numbers"),
    ],
)
def test_bad_input_gets_one_clear_line(action, message):
    with pytest.raises(FederationError, match=message) as caught:
        action()
    assert "\n" not in str(caught.value)
