"""Records of executors with workers, run in this process: division, repeated work, serialised messages and errors."""

from contextlib import contextmanager

import numpy as np
import torch
from recording import refused
from small_clients import Problem, clients, digest, numbers

from algorithms.descent import Descent
from algorithms.exchange import Exchange, Key, Reply
from algorithms.executors.processes import Processes
from algorithms.executors.sharing import pack, unpack
from algorithms.executors.team import LOSSES, Member, Team
from algorithms.executors.worker import pack_message, run_task
from algorithms.federation import Federation
from algorithms.fedlin import FedLin
from algorithms.rounds import rounds
from workloads.processes.worker_pool import Failure


class _Here(Member):
    def __init__(self, number):
        super().__init__()
        self.number, self.federations, self.task = number, {}, None

    def send(self, task):
        self.task = task


class InProcess(Team):
    """A team whose workers are in this process; chosen workers are lost at chosen tasks."""

    def __init__(self, workers, lost=()):
        super().__init__(workers)
        self.members, self.count, self.losses, self.log, self.said = (
            [_Here(k) for k in range(workers)],
            0,
            set(lost),
            [],
            [],
        )
        self.say = self.said.append

    def close(self):
        self.log.append("closed")

    @contextmanager
    def _supervise(self):
        yield

    def _members(self):
        return self.members

    def _receive(self, busy):
        for member in list(busy)[:1]:
            self.count += 1
            task = member.task
            given = tuple(part is not None for part in (task.clients, task.lasting, task.exchange))
            self.log.append(
                (
                    member.number,
                    unpack(task.part)[0],
                    given,
                    task.federation,
                    task.fresh,
                    len(task.again),
                    list(task.gone),
                )
            )
            if self.count in self.losses:
                member.lost = True
                self.members[self.members.index(member)] = _Here(member.number + 10)
                yield member, None
            else:
                yield member, run_task(task, member.federations, shared=False)

    def _pack(self, what, message):
        return pack_message(what, message, shared=False)

    def _publish(self, packed):
        return packed


def _first(client, memory, a):
    return Reply(upload=a * memory.number, keep={"seen": a} if memory.number != 1 else {}, personal={"p": memory.round})


def _second(client, memory, e=0):
    return Reply(
        upload=torch.tensor(
            float(memory.kept["seen"].sum() if "seen" in memory.kept else -1) + e + memory.personal["p"]
        )
    )


def parts_of_workers():
    for workers in (1, 2, 3):
        team = InProcess(workers)
        fed = Federation(clients((3,) * 5), executor=team, shares=(1.0, 2.0, 3.0, 4.0, 5.0))
        for _ in range(2):
            fed._begin()
            yield (
                fed.mean(_first, to=(0, 1, 3, 4), a=torch.ones(2)),
                fed.gather(_second, to=(0, 1, 4), each={"e": {0: 10, 1: 20, 4: 30}}),
            )
            fed.broadcast(c=torch.ones(1))
        yield team.log, fed.state.personal


def large_cohorts():
    team = InProcess(2)
    fed = Federation(clients((3,) * 35), executor=team)
    yield fed.mean(_first, to=tuple(range(1, 35)), a=torch.ones(1)), [entry[:2] for entry in team.log]


def _known(client, memory):
    """Return what a client knows of the values of all clients."""
    return Reply(upload=torch.stack([memory.shared["x"], memory.personal["y"]]).sum(), keep={"k": memory.shared["x"]})


def _sum_of_kept(client, memory):
    return Reply(upload=memory.kept.get("k", torch.zeros(())) + memory.number)


def values_that_are_replaced():
    """The same name with another value, an equal value, and values of both kinds with one name."""
    for workers in (1, 2):
        team = InProcess(workers)
        fed = Federation(clients((3,) * 4), executor=team)
        one, two = torch.tensor(1.0), torch.tensor(20.0)
        for shared, own in ((one, two), (two, two), (two, one), (one.clone(), one), (one, one)):
            fed._begin()
            fed.set_shared(x=shared)
            fed.set_personal(y=own)
            yield fed.gather(_known, to=(0, 1, 3))
        yield [entry[2] for entry in team.log]


def lost_workers_after_several_exchanges():
    """Clients that kept something in other exchanges than their neighbours did."""
    for lost in ((3,), (4,), (5, 6), (7,)):
        team = InProcess(2, lost)
        fed = Federation(clients((3,) * 4), executor=team)
        fed._begin()
        fed.set_shared(x=torch.tensor(2.0))
        fed.set_personal(y=torch.tensor(3.0))
        found = fed.gather(_known, to=(0, 1)), fed.gather(_known, to=(2,)), fed.gather(_sum_of_kept, to=(0, 1, 2, 3))
        yield found, len(team.said), [entry[5] for entry in team.log]


def lost_workers():
    for lost in ((2,), (3, 4), (5,)):
        team = InProcess(2, lost)
        fed = Federation(clients((3,) * 4), executor=team)
        fed._begin()
        yield (
            fed.mean(_first, to=(0, 1, 2), a=torch.ones(2)),
            fed.gather(_second, to=(0, 2)),
            team.said,
            [entry[:2] + entry[5:6] for entry in team.log],
        )
    yield (
        LOSSES,
        refused(
            Federation(clients((3,) * 20), executor=InProcess(1, (2, 3, 4))).mean,
            _first,
            to=tuple(range(20)),
            a=torch.ones(1),
        ),
        refused(Federation(clients(), executor=InProcess(1, (1, 2, 3))).mean, _first, to=(2,), a=torch.ones(1)),
    )


def runs_by_workers():
    for algorithm in (FedLin(Descent(1, 0.3, 2)),):
        yield [
            [str(step) for step in rounds(algorithm, Problem(), rounds=2, seed=1, executor=executor)][1:]
            for executor in (None, InProcess(2))
        ]


def _fail(client, memory, how):
    if how == "index":
        return {}["x"]
    return Reply(upload="text" if how == "text" else torch.ones(1 + memory.number), keep={"x": 1})


def failures_of_work():
    for how in ("index", "text", "shapes"):
        for workers in (1, 2):
            fed = Federation(clients(), executor=InProcess(workers))
            yield how, refused(fed.mean, _fail, to=(0, 1, 2), how=how)
    yield (
        refused(Federation(clients(), executor=InProcess(1)).mean, lambda client, memory: 1, to=(0,)).partition(" (")[
            0
        ],
        refused(Federation(clients(), executor=InProcess(1)).mean, _fail, to=(0,), how=(n for n in ())),
    )
    found = Failure.of(ValueError("why"), RuntimeError)
    yield str(found.error), type(found.error).__name__, found.trace, found.error.__traceback__


class _Unpicklable(Exception):  # noqa: N818
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def failures_that_cannot_be_sent():
    yield (
        type(Failure.of(_Unpicklable(1, 2), RuntimeError).error).__name__,
        str(Failure.of(_Unpicklable(1, 2), RuntimeError).error),
    )


def teams_that_are_refused():
    for workers, threads in ((0, 1), (1, 0), (17, 1), (16, 1), (1.0, 1)):
        yield refused(lambda w=workers, t=threads: (Processes(w, t).workers, Processes(w, t).threads))


def two_federations_of_a_team():
    team = InProcess(1)
    one, other = (Federation(clients(), executor=team, seed=seed) for seed in (1, 2))
    for fed in (one, other, one):
        fed._begin()
        fed.mean(_first, to=(0, 2), a=torch.ones(1))
    yield team.log
    del one
    other.mean(_first, to=(1,), a=torch.ones(1))
    yield team.log[-1], isinstance(Key(), Key)


def serialised_messages():
    shared = torch.arange(3.0)
    message = {
        "a": shared,
        "b": [shared, numbers(2, 2)],
        "c": torch.tensor(True),
        "n": 3,
        "h": torch.ones(1, dtype=torch.float16),
        "e": torch.zeros(0),
    }
    for options in ({}, {"shared": False}):
        packed = pack(message, **options)
        found = unpack(packed)
        yield (
            [(place.offset, tuple(place.shape), str(place.dtype)) for place in packed.places],
            type(packed.entries).__name__,
            len(packed.entries),
            found,
        )
        yield found["a"] is found["b"][0], unpack(packed, own=True)["b"][1], len(packed.places)
    large = pack(torch.ones(5000, dtype=torch.float64), shared=False)
    yield (
        type(large.entries).__name__,
        large.entries.shape,
        float(unpack(large).sum()),
        unpack(pack(())),
        type(pack(torch.ones(4096, dtype=torch.float64), shared=False).entries).__name__,
        type(pack(torch.ones(4097, dtype=torch.float64), shared=False).entries).__name__,
    )
    yield (
        refused(pack_message, "it", {"x": np.arange(2)}) is not None,
        str(refused(pack_message, "the part", lambda: 1)).partition(" (")[0],
        str(refused(pack_message, "the part", lambda: 1)).rpartition("); ")[2],
    )


def exchanges_without_their_clients():
    exchange = Exchange(
        1, 1, _second, (0, 1), clients(), {}, {"e": {0: 1, 1: 2}}, None, 0, None, {}, {0: {"p": 1}}, {}, {}
    )
    yield (
        exchange.restrict((1,)).clients,
        unpack(pack(exchange.restrict((1,)))).each,
        digest(unpack(pack(clients()[0].tensors()))),
    )


def _keep(client, memory, name, only):
    keep = {name: torch.tensor(float(memory.number + 1))} if memory.number in only else {}
    return Reply(upload=torch.tensor([float(len(memory.kept)), float(sum(memory.kept.values()))]), keep=keep)


def values_kept_by_workers_that_are_lost():
    for lost in ((), (4,), (7,), (8, 9), (11,)):
        team = InProcess(2, lost)
        fed = Federation(clients(), executor=team)
        fed._begin()
        for name, only in (("a", (0, 2)), ("b", (1,)), ("c", (1, 2)), ("d", ())):
            yield fed.gather(_keep, to=(0, 1, 2), name=name, only=only)
        yield [entry[:2] + entry[5:6] for entry in team.log]
