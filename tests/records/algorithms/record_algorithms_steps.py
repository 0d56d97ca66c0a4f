"""Records of local steps: optimisers, schedules, batches, gradients, corrections and what settings refuse."""

from dataclasses import replace

import numpy as np
import torch
from recording import refused
from small_clients import Client, clients, digest, numbers, signed, start

from algorithms.adapter import AB, Adapter
from algorithms.descent import (
    Descent,
    Wrapped,
    clip,
    descend,
    differentiate,
    gradient,
    pull_back,
    require_fresh,
    statistics_of,
    takes_values,
    to_dense,
)
from algorithms.exchange import Memory
from algorithms.optimisers import Adam, AdamW, Moments, Sgd, Velocity, count_singly, gradient_step
from algorithms.schedules import Constant, Cosine, Linear, Step, WarmUp
from algorithms.tree import Tree

W, G = [numbers(3, seed=1), numbers(2, 2, seed=2)], [numbers(3, seed=3), numbers(2, 2, seed=4)]
RULES = (
    Sgd(),
    Sgd(0.5),
    Sgd(0.5, 0.1),
    Sgd(0.0, 0.1),
    Sgd(0.5, 0.1, True),
    Adam(),
    Adam((0.5, 0.75), 0.1),
    Adam((0.0, 0.9), weight_decay=0.1),
    AdamW(),
    AdamW((0.5, 0.75), weight_decay=0.3),
    AdamW(weight_decay=0.0),
)


def three_steps_of_each_rule():
    for rule in RULES:
        w, state = W, rule.start(W)
        for number in range(3):
            w, state = rule.step(w, [grad + number for grad in G], state, 0.1 + number)
        yield str(rule), signed(w), signed(state), getattr(state, "steps", None)


def steps_of_trees_and_single_precision():
    tree, slope = Tree(a=W[0], b=W[1].float()), Tree(a=G[0], b=G[1].float())
    for rule in RULES[1:6:2]:
        stepped, _ = rule.step(tree, slope, rule.start(tree), 0.1)
        yield (
            signed(stepped.only("a")),
            [round(value, 5) for value in signed(stepped.only("b"))[0]],
            {str(leaf.dtype) for leaf in stepped.values()} == {"torch.float32", "torch.float64"},
        )
    yield (
        str(Adam().start([W[0].half()]).steps.dtype),
        str(Adam().start(tree).steps.dtype),
        str(Adam().start([]).steps.dtype),
    )


def steps_within_transforms():
    for rule in (Sgd(0.5, 0.1, True), Adam(weight_decay=0.1), AdamW()):
        yield signed(torch.vmap(lambda a, rule=rule: rule.step([a], [a**2], rule.start([a]), 0.1)[0][0])(numbers(2, 3)))
        w = W[0].clone().requires_grad_()
        yield torch.autograd.grad(rule.step([w], [w**2], rule.start([w]), 0.1)[0][0].sum(), w)
    yield (
        torch.vmap(lambda a: gradient_step([a], [a**2], 0.25)[0])(numbers(2, 2)),
        gradient_step(W, G, 0.25),
        gradient_step([], [], 0.1),
    )


def steps_counted_singly():
    state = count_singly(Adam().start(W), 2)
    state = state._replace(steps=[state.steps[0] + 4, state.steps[1]])
    yield Adam().step(W, G, state, 0.1), AdamW().step(W, G, state, 0.1)[0]
    yield len(state.steps), count_singly(state, 2) is state, count_singly(Velocity(W), 2)[0] is W, count_singly((), 1)
    yield refused(Sgd(0.5).step, W, G[:1], Velocity(W), 0.1), refused(Sgd(0.5).step, W, tuple(G), Velocity(W), 0.1)


def settings_of_rules_that_are_refused():
    for kind, options in (
        (Sgd, {"momentum": -0.1}),
        (Sgd, {"weight_decay": -1e-9}),
        (Sgd, {"momentum": float("inf")}),
        (Sgd, {"nesterov": True}),
        (Sgd, {"momentum": float("nan")}),
        (Adam, {"eps": -1.0}),
        (Adam, {"betas": (0.9, 1.0)}),
        (Adam, {"betas": (-0.1, 0.5)}),
        (Adam, {"betas": (0.5,)}),
        (AdamW, {"weight_decay": float("inf")}),
        (Sgd, {"momentum": 1.5}),
        (Adam, {"betas": (0.0, 0.0), "eps": 0.0}),
    ):
        yield options, str(refused(kind, **options))


SCHEDULES = (
    Constant(0.5),
    Step(1.0, 2),
    Step(2.0, 3, 0.5, "step"),
    Step(1.0, 1, 1e200),
    Cosine(1.0, 4),
    Cosine(1.0, 4, 0.2, restart=False),
    Cosine(2.0, 3, 0.5, warmup=2),
    Linear(1.0, 4),
    Linear(1.0, 4, 0.25, warmup=3),
    Linear(1.0, 1),
    WarmUp(1.0, 1),
    WarmUp(2.0, 3, "step"),
    Cosine(1.0, 1),
    Linear(1.0, 2, 1.0),
)


def rates_of_schedules():
    for schedule in SCHEDULES:
        yield str(schedule), [schedule(index) for index in range(9)]


def schedules_that_are_refused():
    for make in (
        lambda: Constant(0.0),
        lambda: Constant(-1.0),
        lambda: Constant(float("inf")),
        lambda: Constant(1.0, "epoch"),
        lambda: Step(1.0, 0),
        lambda: Step(1.0, 2, 0.0),
        lambda: Step(1.0, 2, float("inf")),
        lambda: Cosine(1.0, 0),
        lambda: Linear(1.0, 2, 1.1),
        lambda: Linear(1.0, 2, -0.1),
        lambda: Linear(1.0, 2, warmup=0),
        lambda: WarmUp(1.0, 0),
        lambda: WarmUp(float("nan"), 1),
        lambda: Step(1.0, 2.0),
        lambda: Linear(1.0, 2, 0.0),
    ):
        yield str(refused(make))


def rates_of_steps():
    for rate in (0.5, Step(1.0, 2, 0.5), Step(1.0, 2, 0.5, "step")):
        local = Descent(learning_rate=rate)
        yield local.rate(), [local.rate(round, step, 3) for round in (1, 2, 3) for step in range(3)]


def settings_of_steps_that_are_refused():
    for options in (
        {"steps": 0},
        {"batch": 0},
        {"epochs": 0},
        {"learning_rate": 0.0},
        {"learning_rate": -1.0},
        {"learning_rate": float("inf")},
        {"learning_rate": float("nan")},
        {"learning_rate": lambda t: 1.0},
        {"clip": 0.0},
        {"clip": -1.0},
        {"clip": 1e-9},
        {"optimiser": 3},
        {"optimiser_state": "kept"},
        {"steps": 1.5},
        {"steps": -1, "batch": -1},
    ):
        yield refused(lambda options=options: str(Descent(**options)).partition("<")[0])
    yield (
        refused(require_fresh, Descent(optimiser_state="personal"), "FedHM cuts its factors"),
        require_fresh(Descent(), "it makes them"),
    )


def batches_by_seed():
    client = clients()[1]
    for seed in (0, [3, 1, 2, 5]):
        rng = np.random.default_rng(seed)
        yield (
            Descent(steps=3, batch=2).draw(client, rng),
            Descent(batch=9).draw(client, rng),
            Descent(epochs=2, batch=2).draw(client, rng),
            Descent(epochs=1, batch=5).draw(client, rng),
        )
    yield Descent(steps=3).draw(client, rng), Descent(epochs=3).draw(client, rng)


class _Random(Client):
    random = True

    def batches(self, rng, indices):
        return [(batch.tolist(), int(rng.integers(100))) for batch in indices]


class _Whole(Client):
    whole = True


def batches_of_other_clients():
    data = numbers(3, 3), numbers(3, 2)
    for local in (Descent(steps=2), Descent(epochs=3, steps=7), Descent(batch=2, steps=2), Descent(batch=2, epochs=1)):
        yield local.draw(_Random(*data), np.random.default_rng(1))
    yield refused(Descent(batch=1).draw, _Whole(*data), None), refused(Descent().draw, _Whole(*data), None)
    yield Descent(steps=4).count(None), Descent(steps=4, epochs=2).count(None), Descent(steps=4).count([1, 2, 3])


BATCHES = [torch.tensor([0, 3]), torch.tensor([4, 1]), torch.tensor([2, 0])]


def descents_of_a_network():
    client, memory = clients()[1], Memory(drawn=BATCHES, round=2)
    for local in (
        Descent(3, 0.3),
        Descent(3, Step(0.5, 1, 0.5)),
        Descent(3, Step(0.5, 1, 0.9, "step"), 2),
        Descent(3, 0.3, 2, optimiser=Sgd(0.5)),
        Descent(3, 0.3, clip=0.2),
        Descent(3, 0.1, optimiser=AdamW()),
    ):
        drawn = memory if local.batch else replace(memory, drawn=None)
        yield digest(descend(client, start(), local, drawn).parameters)
    yield (
        digest(descend(client, start(), Descent(2, 0.3), Memory(), correction=start())[0]),
        digest(descend(client, start(), Descent(3, 0.3), Memory(), pull=0.7)[0]),
    )
    yield digest(
        descend(
            client,
            start(),
            Descent(2, 0.3, optimiser=Adam()),
            Memory(),
            rates=Tree({"first.weight": 1.0, "first.bias": 3.0, "second.weight": 0.5}),
        )[0]
    )
    yield refused(descend, client, start(), Descent(2, batch=3), Memory())


def states_that_clients_keep():
    client, kept = clients()[0], {}
    for number in (1, 2):
        local = Descent(2, 0.2, optimiser=Sgd(0.5), optimiser_state="personal")
        found = descend(client, start(), local, Memory(personal=kept, round=number), slot="B")
        kept = found.personal
        yield list(kept), digest(kept), digest(found.parameters)
    fresh = descend(client, start(), Descent(2, 0.2, optimiser=Sgd(0.5)), Memory(personal={"B": 1}), slot="B")
    yield (
        fresh.personal,
        digest(fresh.parameters),
        descend(client, start(), Descent(optimiser_state="personal"), Memory()).personal,
    )


class _Idle(Client):
    def loss(self, w, batch=None):
        return (w["first.weight"] ** 2).sum() + (
            w["second.weight"].sum() if batch is not None and int(batch[0]) == 3 else 0.0
        )


def parameters_that_do_not_affect_the_loss():
    client, memory = (
        _Idle(numbers(5, 3), numbers(5, 2)),
        Memory(drawn=[torch.tensor([3]), torch.tensor([0]), torch.tensor([3])]),
    )
    for local in (
        Descent(3, 0.1, 1),
        Descent(3, 0.1, 1, optimiser=AdamW(weight_decay=0.5)),
        Descent(3, 0.1, 1, optimiser=Sgd(0.5, 0.1), optimiser_state="personal"),
    ):
        found = descend(client, start(), local, memory)
        yield signed(found.parameters), digest(found.personal)
    yield (
        signed(descend(client, start(), Descent(1, 0.1), Memory(), pull=0.5)[0]),
        signed(descend(client, start(), Descent(1, 0.1), Memory(), correction=start())[0]),
    )
    yield signed(gradient(client, start())), signed(gradient(client, start(), batch=torch.tensor([3])))


def statistics_that_clients_observe():
    client = clients(statistics=frozenset({"seen"}))[1]
    found = descend(client, start(observed=True), Descent(2, 0.1, 2), Memory(drawn=BATCHES[:2])).parameters
    yield (
        list(found),
        found["seen"],
        signed(gradient(client, start(observed=True)))[3],
        sorted(statistics_of(client)),
        statistics_of(3) == frozenset(),
    )
    yield (
        takes_values(client),
        takes_values(clients(takes_values=True)[0]),
        Wrapped(client).samples,
        sorted(Wrapped(client).statistics),
        Wrapped(client).passes,
        Wrapped(client).parts,
    )


class _Divided(Client):
    def passes(self, together):
        return [] if together else [(0.25, torch.tensor([0, 1])), (0.75, torch.tensor([2]))]

    def parts(self, batch):
        return [(0.3, batch[:1]), (0.7, batch[1:])]


def gradients_over_parts():
    client = _Divided(numbers(3, 3), numbers(3, 2))
    yield (
        signed(gradient(client, start())),
        signed(gradient(client, start(), batch=torch.tensor([2, 0, 1]))),
        signed(descend(client, start(), Descent(1, 0.5), Memory())[0]),
    )
    yield signed(descend(client, start(), Descent(1, 0.5, 2), Memory(drawn=BATCHES[2:]))[0])


class _Own(Client):
    def gradient(self, w, batch=None):
        return Tree(w).map(lambda entry: entry * (2.0 if batch is None else 3.0))


class _Bound(Client):
    def bind_weights(self, w):
        from contextlib import nullcontext

        return nullcontext(lambda batch: self.loss(w, batch))


def gradients_that_clients_compute():
    client, adapter = _Own(numbers(3, 3), numbers(3, 2)), Adapter(1, 0.5, layers="first")
    at = adapter.factors(start())._replace(B=Tree({"first.weight": numbers(1, 3)}))
    yield signed(gradient(client, start(), batch=1)), signed(gradient(client, at, adapter.assembler(client, start())))
    yield (
        signed(pull_back(lambda w: w, at, adapter.assembler(client, start()))),
        signed(gradient(clients()[0], at, adapter.assembler(client, start()))),
    )
    bound, plain = (kind(*(numbers(5, n, seed=n) for n in (3, 2))) for kind in (_Bound, Client))
    for local in (Descent(3, 0.3, 2), Descent(3, Step(0.5, 1, 0.5, "step"), 2)):
        yield [digest(descend(client, start(), local, Memory(drawn=BATCHES, round=2))[0]) for client in (bound, plain)]


def gradients_of_tensors_that_are_not_used():
    a, b = numbers(2, seed=1), numbers(3, seed=2)
    yield (
        differentiate(lambda at: ((at[0] ** 3).sum(), "more"), [a, b]),
        differentiate(lambda at: (torch.ones(()), 1), [a]),
    )
    yield torch.vmap(lambda x: differentiate(lambda at: ((at[0] ** 3).sum(), b), [x, b])[0][0])(numbers(2, 2))
    with torch.inference_mode():
        yield refused(differentiate, lambda at: (at[0].sum(), 0), [a])
    yield to_dense(torch.tensor([[0, 1]]).float().to_sparse()), to_dense(a) is a


def clipped_gradients():
    for most in (0.1, 1.0, 3.0, 100.0):
        yield clip(G, most), float(torch.cat([grad.flatten() for grad in clip(G, most)]).norm())
    yield Moments(1, 2, 3), isinstance(AB({}, {}).rest, Tree)


def steps_along_tiny_gradients():
    tiny = [grad * 1e-6 for grad in G]
    yield clip(tiny, 1e-6), clip(tiny, 1e-5), clip([grad * 0.0 for grad in G], 1.0)
    for rule in (Adam(), AdamW(), Adam(eps=1e-6)):
        yield signed(rule.step(W, [grad * 1e-8 for grad in G], rule.start(W), 1.0)[0])


def idle_parameters_with_pulls_and_corrections():
    client, memory = _Idle(numbers(5, 3), numbers(5, 2)), Memory(drawn=[torch.tensor([0]), torch.tensor([0])])
    for options in ({}, {"pull": 0.5}, {"correction": start()}, {"rates": Tree(dict.fromkeys(start(), 2.0))}):
        for rule in (AdamW(weight_decay=0.5), Sgd(0.5, 0.1)):
            found = descend(client, start(), Descent(2, 0.1, 1, optimiser=rule), memory, **options)
            yield list(options), signed(found.parameters)


class _Pieces(Client):
    """Batches in pieces of some sizes, with shares that do not add up to 1."""

    pieces = ()

    def parts(self, batch):
        return [(0.5 * len(one), one) for one in batch.split(self.pieces)]


def gradients_over_pieces_of_other_types():
    for kind in (torch.float64, torch.float32, torch.bfloat16):
        client = _Pieces(numbers(3, 3).to(kind), numbers(3, 2).to(kind))
        w = start().map(lambda entry, kind=kind: entry.to(kind))
        for sizes in ((1, 2), (3,)):
            object.__setattr__(client, "pieces", sizes)
            found = gradient(client, w, batch=torch.tensor([2, 0, 1]))
            yield {str(entry.dtype) for entry in found.values()}
            if kind == torch.float64:
                yield signed(found), [entry.sub(entry.float()).abs().max() > 0.0 for entry in found.values()]


class _Partial(Client):
    """A client that observes another statistic in each step."""

    def loss_and_statistics(self, w, batch=None):
        return self.loss(w, batch) * w["seen"].sum(), {"seen" if int(batch[0]) else "other": w["seen"] + w["other"]}


def statistics_of_some_steps():
    client = _Partial(numbers(5, 3), numbers(5, 2), frozenset({"seen", "other"}))
    w = Tree({**start(observed=True), "other": numbers(3, seed=5)})
    for drawn in (BATCHES, BATCHES[::-1], BATCHES[1:]):
        found = descend(client, w, Descent(len(drawn), 0.1, 2), Memory(drawn=drawn)).parameters
        yield found["seen"], found["other"], digest(found)


def rates_of_bound_weights():
    client = _Bound(*(numbers(5, n, seed=n) for n in (3, 2)))
    for rates in (None, Tree({"first.weight": 2.0, "first.bias": 0.0, "second.weight": 0.5})):
        for options in ({}, {"pull": 0.5}):
            yield digest(descend(client, start(), Descent(3, 0.3, 2), Memory(drawn=BATCHES), rates=rates, **options)[0])


def gradients_through_constants():
    at, fixed = Tree(a=numbers(2, seed=1)), numbers(3, seed=2)
    found = pull_back(lambda w: w, at, lambda w: Tree(a=3.0 * w["a"], fixed=fixed, idle=0.0 * w["a"].detach()))
    yield found["a"]
