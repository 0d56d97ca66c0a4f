"""Records of federations: cohorts, exchanges, what clients keep, the ledger of rounds, executors and interruptions."""

import torch
from recording import refused
from small_clients import Client, clients, numbers

from algorithms.descent import Descent
from algorithms.exchange import Acknowledgement, Exchange, Reply
from algorithms.federation import Federation, FederationError, FederationState, InterruptedWorkError
from algorithms.ledger import Ledger
from algorithms.tree import Tree

LOCAL = Descent(2, 0.2, batch=2)


class Lazy(list):
    """A lazy sequence of clients."""

    @property
    def sizes(self):
        return [client.samples for client in self]


def _messages(ledger):
    return [
        (one.round, one.trip, one.direction, one.what, one.clients, one.entries, one.bytes) for one in ledger.entries
    ]


def _tell(client, memory, a=0, b=0):
    return Reply(
        upload={"n": torch.tensor(float(memory.number * 10)) + a},
        keep={"sum": memory.kept.get("sum", 0) + 1},
        personal={"rounds": memory.personal.get("rounds", 0) + memory.round},
    )


def _know(client, memory, **sent):
    return Reply(
        upload=torch.tensor(
            [
                float(memory.kept.get("sum", -1)),
                float(memory.personal.get("rounds", -1)),
                float(memory.shared.get("c", -1)),
                float(sent.get("b", -1)),
            ]
        )
    )


def cohorts_by_seed_and_round():
    for seed in (0, 5):
        fed = Federation(clients((3,) * 7), seed=seed)
        for _ in range(3):
            fed._begin()
            yield fed.cohort(3), fed.cohort(1), fed.cohort(6), fed.cohort(7), fed.cohort()
        yield [refused(fed.cohort, size) for size in (0, 8, -1, 2.0, True)], fed.everyone


def federations_that_are_refused():
    empty = Client(torch.zeros(0, 3), torch.zeros(0, 2))
    for given, options in (
        ([], {}),
        ([clients()[0], empty, empty], {}),
        (clients(), {"shares": (1.0, 2.0)}),
        (clients(), {"shares": (1.0, 2.0, -1.0)}),
        (clients(), {"shares": (1.0, float("nan"), 1.0)}),
        (clients(), {"seed": -1}),
        (clients(), {"shares": (0.0, 0.0, 0.0)}),
        (Lazy([empty]), {}),
        (clients(), {"shares": [[1.0, 1.0, 1.0]]}),
        (clients(), {"shares": tuple(map(float, range(12)))}),
    ):
        yield refused(lambda given=given, options=options: Federation(given, **options).shares)
    yield Federation(Lazy(clients())).shares, Federation(clients(), shares=(2, 0, 1)).shares


def exchanges_of_a_round():
    fed = Federation(clients(), shares=(3.0, 1.0, 2.0), seed=4)
    fed._begin()
    yield (
        fed.gather(_tell, to=(0, 2), a=torch.tensor(1.0), b=3),
        fed.mean(_tell, to=(1, 2), each={"a": {1: torch.tensor([1.0, 2.0]), 2: torch.tensor([3.0, 4.0])}}),
    )
    fed.broadcast(c=torch.tensor(7.0), d="text")
    yield (
        fed.gather(_know, to=(0, 1, 2), each={"b": {0: 5, 1: 6, 2: 7}}),
        fed.mean(_know, to=(2,), then=lambda upload: -upload),
    )
    fed.set_shared(c=torch.tensor(8.0))
    fed.set_personal(rounds=100, other=1)
    yield fed.mean(_know, to=(0, 1)), fed.personal(1), fed.personal(0), fed.state
    fed._begin()
    fed.gather(_tell, to=(1,))
    yield (
        fed.gather(_know, to=(0, 1)),
        {number: dict(kept) for number, kept in sorted(fed.state.personal.items())},
        fed.state.round,
        _messages(fed.ledger),
    )


def shares_of_cohorts():
    fed = Federation(clients(), shares=(3.0, 0.0, 1.0))
    yield (
        fed.cohort_shares((0, 2)),
        fed.cohort_shares((1, 2)),
        refused(fed.cohort_shares, (1,)),
        fed.average([torch.ones(1), torch.zeros(1)], of=(0, 2)),
        refused(fed.mean, _know, to=(1,)),
    )
    for cohort in ((), (0, 0), (3,), (-1,), (0.0,), (True,), tuple(range(20)), (2, 0)):
        yield refused(lambda cohort=cohort: [upload.tolist() for upload in fed.gather(_know, to=cohort)])


def known_tensors_cost_nothing():
    known = torch.ones(5)
    fed = Federation(clients(), known=[known])
    fed.broadcast(a=known, b=torch.ones(2))
    fed.broadcast(a=known)
    yield _messages(fed.ledger), sorted(fed.state.shared)
    again = Federation(
        clients(),
        ledger=Ledger(fed.ledger.entries),
        state=FederationState(4, {1: {"x": 1}}, {"s": 2}, {"x": 3, "y": 4}),
    )
    yield again.personal(1), again.personal(0), again.state.round, again._begin(), again.ledger.bytes()


def _draw(client, rng):
    return rng.integers(0, 1000, 3).tolist()


def _drawn(client, memory):
    return Reply(upload=torch.tensor([float(number) for number in memory.drawn]))


def random_numbers_of_clients():
    for seed in (0, 1):
        fed = Federation(clients(), seed=seed)
        for _ in range(2):
            fed._begin()
            yield fed.gather(_drawn, to=(0, 1, 2), draw=_draw), fed.gather(_drawn, to=(2,), draw=_draw)


def _spoil(client, memory, w, how):
    if how == "sent" and memory.number == 1:
        w["a"].add_(1.0)
    if how == "hidden":
        w["a"].numpy()[0] += 1.0
    if how == "raise":
        raise FederationError("no luck")
    if how == "interrupted":
        raise InterruptedWorkError("lost")
    value = torch.tensor([torch.inf if how == "inf" and memory.number else 1.0])
    return Reply(
        upload=value if how != "kind" else "text", personal={"p": torch.tensor(torch.nan)} if how == "nan" else {}
    )


class _Odd(Client):
    def tensors(self):
        return {"n": torch.arange(2), "x": self.x, "y": self.y / 0.0}


def work_that_fails():
    for how in ("sent", "hidden", "raise", "interrupted", "inf", "nan", "kind"):
        fed = Federation(clients())
        fed._begin()
        for call in (fed.mean, fed.gather):
            found = refused(call, _spoil, to=(0, 1), w=Tree(a=torch.ones(2).double()), how=how)
            yield how, found if isinstance(found, str) else len(found)
    fed = Federation([_Odd(numbers(2, 3), numbers(2, 2))])
    yield refused(fed.gather, _spoil, to=(0,), w=Tree(), how="nan"), fed._begin(), refused(fed.gather, _know, to=(5,))


def exchanges_and_their_parts():
    exchange = Exchange(
        2,
        3,
        _know,
        (0, 2),
        clients(),
        {"w": torch.ones(2)},
        {"a": {0: torch.ones(1), 1: 5, 2: torch.ones(3)}},
        None,
        7,
        _draw,
        {2: {"k": 1}, 1: {"k": 2}},
        {0: {"p": 1}, 1: {"p": 2}},
        {"e": 3, "p": 4},
        {"s": 5},
    )
    yield (
        exchange.name,
        exchange.memory(0, clients()[0]),
        exchange.memory(2, clients()[2]),
        exchange.arguments_for(2),
        exchange.messages_down()[1],
    )
    part = exchange.restrict((2,))
    yield (
        part.cohort,
        part.clients,
        part.each,
        part.kept,
        part.personal,
        part.equipped,
        Acknowledgement.of(3, Reply(torch.ones(4))).bytes,
    )
    plain = Exchange(
        1, 1, _know, (0, 2), None, {"w": torch.ones(2)}, {"a": {0: 1, 2: 3}}, None, 0, None, {}, {}, {}, {}
    )
    yield plain.messages_down(), plain.memory(1, None), plain.arguments_for(0)


class _Partly(Client):
    def tensors(self):
        spoilt = self.y.clone()
        spoilt[0, 0] = torch.nan
        return {"x": self.x, "y": spoilt, "z": spoilt}


def clients_whose_data_are_partly_not_finite():
    fed = Federation([clients()[0], _Partly(numbers(2, 3), numbers(2, 2))])
    yield (
        refused(fed.gather, _spoil, to=(1,), w=Tree(), how="nan"),
        refused(fed.gather, _spoil, to=(0,), w=Tree(), how="nan"),
    )


def _keep(client, memory, name, only=None):
    keep = {name: torch.tensor(float(memory.number + memory.round))} if only in (None, memory.number) else {}
    return Reply(upload=torch.tensor(float(len(memory.kept))), keep=keep)


def values_kept_in_several_exchanges():
    fed = Federation(clients())
    for _ in range(2):
        fed._begin()
        for name, only in (("a", None), ("b", 1), ("a", 2), ("c", None)):
            yield fed.gather(_keep, to=(0, 1, 2), name=name, only=only)
        yield {number: dict(kept) for number, kept in sorted(fed._kept.items())}
