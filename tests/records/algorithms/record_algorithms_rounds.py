"""Records of rounds: runs and what they refuse, baselines, alignment, executors in this process, and interruptions."""

from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import torch
from recording import refused
from small_clients import Problem, clients, digest, signed, start

from algorithms.adapter import Adapter
from algorithms.alignment import UploadRecorder, alignment, require_models
from algorithms.central_training import CentralTraining, Pool
from algorithms.descent import Descended, Descent, Stepped
from algorithms.exchange import Reply
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationState
from algorithms.fedlora import FedLoRA
from algorithms.fedlrt import FeDLRT
from algorithms.ledger import Ledger
from algorithms.local_training import LocalTraining
from algorithms.optimisers import Sgd
from algorithms.resumable import RecordedExchange, RecordedSum, Resumable, RoundProgress
from algorithms.rounds import COLUMNS, RunState, final, go_on, one_round, rounds
from algorithms.rounds import Step as Outcome
from algorithms.sequential import Sequential
from algorithms.tree import Tree
from algorithms.vmap import Vmap

LOCAL = Descent(2, 0.2, batch=2)


def _tell(client, memory, a=0):
    return Reply(upload={"n": torch.tensor(float(memory.number * 10)) + a}, keep={"sum": 1})


def runs_of_averaging():
    for options in ({}, {"cohort": 2, "seed": 1}, {"evaluate_every": 2}, {"aligned": True}):
        yield [str(step) for step in rounds(FedAvg(Descent(1, 0.2, 2)), Problem(), rounds=3, **options)]


def resumed_runs():
    steps = list(rounds(FedAvg(LOCAL), Problem(), rounds=3, cohort=2, seed=1))
    resumed = list(
        rounds(
            FedAvg(LOCAL),
            Problem(),
            rounds=3,
            cohort=2,
            seed=1,
            resume=(steps[1].state, Ledger([entry for entry in steps[1].ledger.entries if entry.round < 2])),
        )
    )
    yield (
        [str(step) for step in resumed],
        [step.state.round for step in resumed],
        digest(resumed[-1].state.algorithm) == digest(steps[-1].state.algorithm),
        steps[2].to_dict(),
        COLUMNS,
    )
    yield (
        refused(lambda: list(rounds(FedAvg(LOCAL), Problem(), rounds=1, resume=(steps[2].state, Ledger())))),
        len(list(rounds(FedAvg(LOCAL), Problem(), rounds=3, resume=(steps[3].state, Ledger())))),
        len(list(rounds(FedAvg(LOCAL), Problem(), rounds=0))),
    )


def runs_that_are_refused():
    for algorithm, problem, options in (
        (FedAvg(LOCAL), Problem(), {"rounds": -1}),
        (FedAvg(LOCAL), Problem(), {"cohort": 0}),
        (FedAvg(LOCAL), Problem(), {"cohort": 4}),
        (FedAvg(LOCAL), Problem(), {"evaluate_every": 0}),
        (FedAvg(Descent(9, 1e200)), Problem(), {}),
        (FedAvg(LOCAL), Problem(start=start() * float("inf")), {}),
        (
            FedLoRA(LOCAL, Adapter(1, rest="frozen", layers="first")),
            Problem(clients(statistics=frozenset({"seen"})), start=start(observed=True)),
            {},
        ),
        (LocalTraining(LOCAL), Problem(), {"aligned": True}),
        (FedAvg(Descent(1, 1e40)), Problem(), {"rounds": 9}),
    ):
        yield refused(lambda a=algorithm, p=problem, o=options: str(list(rounds(a, p, **{"rounds": 1, **o}))[-1]))
    wrong = SimpleNamespace(
        start=lambda fed, w: w, round=lambda fed, cohort, w: w, weights=lambda w: [1, 2], b_rate=None
    )
    yield (
        refused(lambda: list(rounds(wrong, Problem(), rounds=1))),
        refused(lambda: list(rounds(SimpleNamespace(adapter=Adapter(1, b_rate=2.0)), Problem(), rounds=1))),
        refused(
            lambda: list(
                rounds(
                    SimpleNamespace(personal_adapter=Adapter(1, b_rate=2.0), trains_pairs=False), Problem(), rounds=1
                )
            )
        ),
    )


def rounds_by_hand():
    fed = Federation(clients((3,) * 5), seed=2)
    seen = []

    def note(fed, cohort, state):
        seen.append(list(cohort))
        return state + 1

    yield (
        one_round(note, fed, 0),
        one_round(note, fed, 0, 2),
        one_round(note, fed, 0, (4, 1)),
        one_round(note, fed, 0, np.array([2, 3])),
        one_round(note, fed, 0, torch.tensor([0])),
        seen,
    )
    yield (
        list(go_on(note, fed, 5, 3, 1)),
        seen[5:],
        final(iter([1, 2]), 0),
        final(iter(()), 7),
        refused(one_round, note, fed, 0, {1, 2}),
        refused(one_round, note, fed, 0, "3"),
        refused(one_round, note, fed, 0, 9),
    )

    def fail(fed, cohort, state):
        raise state

    yield (
        refused(one_round, fail, fed, torch.linalg.LinAlgError("svd")),
        refused(one_round, fail, fed, NotImplementedError("svd not implemented for Half")),
        refused(one_round, fail, fed, NotImplementedError("elsewhere")),
    )


def metrics_of_ranks_and_evaluations():
    step = list(rounds(FeDLRT(LOCAL, 2, layers="first, second", cap=True), Problem(), rounds=1, cohort=2))[-1]
    yield str(step), step.words()
    problem = SimpleNamespace(
        clients=clients(),
        shares=None,
        start=start(),
        evaluate=lambda w, fed: {"train loss": float(w["first.bias"].sum()), "clients": float(len(fed.clients))},
        evaluate_personal=lambda of, fed: {"own": float(of(1)["first.bias"].sum())},
    )
    yield (
        [str(step) for step in rounds(LocalTraining(LOCAL), problem, rounds=1)],
        [str(step) for step in rounds(FedAvg(LOCAL), problem, rounds=1)],
    )
    bad = SimpleNamespace(
        **{
            **vars(problem),
            "evaluate": lambda w, fed: {
                "train loss": float("nan") if fed.state.round else 1.0,
                "accuracy": float("nan"),
            },
        }
    )
    yield refused(lambda: list(rounds(FedAvg(LOCAL), bad, rounds=1)))
    yield str(
        Outcome({"round": 3, "loss": 0.123456789, "bytes_up": 1234567}, RunState(3, None, FederationState()), Ledger())
    )


def central_and_local_training():
    for shares in (None, (1.0, 2.0, 3.0)):
        yield [
            str(step) for step in rounds(CentralTraining(Descent(2, 0.2)), Problem(shares=shares), rounds=2, cohort=2)
        ]
    pool, none = CentralTraining(LOCAL).pool(clients(), (1.0, 0.0, 3.0))
    yield (
        pool[0].samples,
        none,
        float(pool[0].loss(start())),
        refused(pool[0].loss, start(), torch.tensor([0])),
        CentralTraining(LOCAL).pool(SimpleNamespace(pooled=lambda: "all"), None),
        Pool(tuple(clients()), (1, 1, 1)).samples,
    )
    step = list(
        rounds(
            LocalTraining(Descent(2, 0.2, 2, optimiser=Sgd(0.5), optimiser_state="personal")),
            Problem(),
            rounds=2,
            cohort=2,
        )
    )[-1]
    yield (
        str(step),
        {number: [list(kept), digest(kept)] for number, kept in sorted(step.state.federation.personal.items())},
        list(step.state.federation.equipped),
    )


def alignments_of_updates():
    algorithm, before = FedAvg(LOCAL), Tree(a=torch.zeros(2), b=torch.zeros(1))
    sent = [
        Tree(a=torch.tensor([1.0, 0.0]), b=torch.ones(1)),
        Tree(a=torch.tensor([0.0, 2.0]), b=-torch.ones(1)),
        Tree(a=torch.tensor([-1.0, 0.0]), b=torch.ones(1)),
    ]
    after = Tree(a=torch.tensor([1.0, 1.0]), b=torch.ones(1))
    yield (
        alignment(algorithm, before, after, sent),
        alignment(algorithm, before, after, sent[:1], ["b"]),
        alignment(algorithm, before, before, sent),
        alignment(algorithm, after, before, sent[1:]),
    )
    yield refused(require_models, LocalTraining(LOCAL)), require_models(algorithm)
    recorder = UploadRecorder()
    fed = Federation(clients(), executor=recorder)
    fed._begin()
    yield (
        fed.mean(_tell, to=(0, 2), then=lambda upload: {"n": upload["n"] + 1}),
        recorder.take(),
        recorder.take(),
        fed.gather(_tell, to=(1,)),
        recorder.take(),
    )


def _square(client, memory, a):
    return Reply(
        upload=(client.x**2).sum() + a.sum() * memory.number,
        keep={"k": client.y},
        personal={"p": client.x.sum(), "text": "t"},
    )


def clients_at_once():
    for executor in (Vmap(), Sequential()):
        fed = Federation(clients((3, 3, 3)), executor=executor, seed=3)
        fed._begin()
        yield (
            fed.gather(_square, to=(0, 2), each={"a": {0: torch.ones(1), 2: torch.ones(2)}}),
            fed.mean(_square, to=(1, 2), a=torch.ones(3)),
            digest(fed.state.personal[2]),
        )
        yield (
            fed.state.personal[1]["text"],
            digest(fed.mean(lambda client, memory: Reply(upload=memory.kept["k"]), to=(1, 2))),
        )
    fed = Federation(clients(), executor=Vmap())
    yield refused(fed.gather, _square, to=(0, 1), a=torch.ones(1))
    yield refused(
        Federation(clients((3, 3)), executor=Vmap()).gather,
        lambda client, memory: Reply(upload=client.x if client.x.sum() > 0 else client.y),
        to=(0, 1),
    )


def _noted():
    before, notes = Resumable(), []
    before.recorded = lambda: notes.append(deepcopy(before.progress))
    return before, notes


def _interrupted(algorithm, place):
    before, notes = _noted()
    fed = Federation(clients(), seed=1, executor=before)
    state = algorithm.start(fed, start())
    whole = digest(one_round(algorithm.round, fed, state, 2))
    note = notes[place]
    note.check()
    fed = Federation(clients(), seed=1, executor=Resumable(note))
    algorithm.start(fed, start())
    resumed = digest(one_round(algorithm.round, fed, state, 2))
    return [str(one) for one in notes], note.clients, note.steps, resumed == whole, resumed


def rounds_interrupted_within_a_client():
    yield _interrupted(FedAvg(LOCAL), 3)


def rounds_interrupted_in_the_last_exchange():
    yield _interrupted(FeDLRT(LOCAL, 1, correction="full", layers="first, second"), 7)


def rounds_interrupted_in_the_first_exchange():
    yield _interrupted(FeDLRT(Descent(1), 1, correction="none", layers="first, second"), 0)


def progress_in_words():
    for stepped in (None, Stepped(1, [], {}, None), Stepped(2, [], {}, None)):
        for replies in ([], [Reply()], [Reply()] * 2):
            yield str(RoundProgress(3, [RecordedExchange(False, None, None, [], replies)], [], stepped))
    yield (
        Resumable().progress,
        str(RoundProgress(1, [], [], None)),
        RoundProgress(2, [], [], Stepped(1, [], {}, None)).steps,
    )


def records_that_are_refused():
    good = RecordedSum({"a": torch.ones(1)}, ("float32",))
    exchange = RecordedExchange(True, good, None, [], [])
    for progress in (
        RoundProgress(1, [exchange._replace(total=RecordedSum({"a": torch.ones(1)}, ("nn",)))], [], None),
        RoundProgress(1, [exchange._replace(replies=[3])], [], None),
        RoundProgress(1.0, [], [], None),
        RoundProgress(1, [], [3], None),
        RoundProgress(1, [], [], Stepped(1.0, [], {}, None)),
        RoundProgress(1, [exchange], [Descended(1, {})], None),
    ):
        yield refused(progress.check)
    other = Resumable(RoundProgress(1, [exchange], [], None))
    fed = Federation(clients(), executor=other)
    fed._begin()
    yield (
        refused(fed.gather, _tell, to=(0,)),
        RecordedSum.of(None),
        RecordedSum.of(good.restore()),
        signed(good.restore().unrounded),
    )


def clients_of_several_types():
    one, other = clients((3, 3))
    mixed = [one, other.with_tensors({"x": other.x.float(), "y": other.y.float()})]
    fed = Federation(mixed, executor=Vmap())
    yield refused(fed.gather, _square, to=(0, 1), a=torch.ones(1))
    fed = Federation(clients((3, 3, 3)), executor=Vmap())
    each = {"a": {0: torch.ones(1), 1: torch.ones(1).double(), 2: torch.full((1,), 2.0)}}
    yield fed.gather(_square, to=(0, 1, 2), each=each)
