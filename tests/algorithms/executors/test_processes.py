"""Clients in other processes: the same bits, shared arrays, and no leftover processes."""

import gc
import os
import signal
import types
import weakref
from multiprocessing import active_children
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest
import torch
from ended_commands import ended
from torch import nn
from torch.utils import _pytree as pytree
from travelling import (
    add_kept,
    add_to_kept,
    answer_number,
    die,
    differ,
    divide,
    fail,
    pages_taken,
    quadratics,
    read_kept,
    read_told,
    tell_process,
)

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.exchange import Acknowledgement, Exchange, Reply
from algorithms.executors.processes import Processes
from algorithms.executors.sharing import pack, unpack
from algorithms.fed_sb import FedSB
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError, Sequential
from algorithms.fedex_lora import FedExLoRA
from algorithms.fedlin import FedLin
from algorithms.fedloru import FedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.fedpara import PersonalFedPara
from algorithms.fedsa_lora import FedSALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.flora import FLoRA
from algorithms.frlora import FRLoRA
from algorithms.hetlora import HetLoRA
from algorithms.lora_fair import LoRAFair
from algorithms.low_rank import Truncation
from algorithms.partial_sums import PARTS, fold
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rbla import RBLA
from algorithms.rounds import final, go_on, one_round
from algorithms.scaffold import Scaffold
from algorithms.tree import Tree

HERE = Path(__file__).parents[1]
LOCAL = Descent(3, 0.05)
ALGORITHMS = {
    "FedAvg": FedAvg(LOCAL),
    "FedLin": FedLin(LOCAL),
    "FeDLRT, full": FeDLRT(LOCAL, 2, Truncation(0.05), "full"),
    "FedLoRU": FedLoRU(LOCAL, Adapter(2), tau=2),
    "pFedLoRU": PersonalFedLoRU(LOCAL, Adapter(2), tau=2, personal=Descent(3, 0.05)),
    "FlexLoRA": FlexLoRA(LOCAL, Adapter(2)),
    "FLoRA": FLoRA(LOCAL, Adapter(2)),
    "FedEx-LoRA": FedExLoRA(LOCAL, Adapter(2)),
    "RBLA": RBLA(LOCAL, Adapter(3)),
    "HetLoRA": HetLoRA(LOCAL, Adapter(3), decay=0.5, penalty=1.0),
    "LoRA-FAIR": LoRAFair(LOCAL, Adapter(2)),
    "SCAFFOLD": Scaffold(LOCAL),
    "FedSA-LoRA": FedSALoRA(LOCAL, Adapter(2)),
    "FRLoRA": FRLoRA(LOCAL, Adapter(2)),
    "Fed-SB": FedSB(LOCAL, Adapter(2)),
    "pFedPara": PersonalFedPara(LOCAL, 2),
}


@pytest.fixture(scope="module")
def pools(two_workers):
    """Executors of 1, 2 and 3 workers, which all tests share."""
    made = {workers: Processes(workers) for workers in (1, 3)}
    yield {1: made[1], 2: two_workers, 3: made[3]}
    for pool in made.values():
        pool.close()


def run(algorithm, given, executor, rounds=3, size=20):
    fed = Federation(given.clients, seed=3, executor=executor)
    state = algorithm.start(fed, Tree(given.start))
    state = final(go_on(algorithm.round, fed, state, rounds, size), state)
    return pytree.tree_leaves((state, fed.state.personal, dict(fed.state.shared))), fed.ledger


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_any_number_of_workers_gives_the_bits_of_one_process(name, pools):
    given = quadratics()
    expected, ledger = run(ALGORITHMS[name], given, Sequential())
    assert any(isinstance(leaf, torch.Tensor) for leaf in expected)
    for pool in pools.values():
        found, own = run(ALGORITHMS[name], given, pool)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other
        assert (own.bytes("down"), own.bytes("up")) == (ledger.bytes("down"), ledger.bytes("up"))


def test_work_is_done_elsewhere_on_one_thread_and_clients_stay_for_a_round(pools):
    fed = Federation(quadratics().clients, executor=pools[2])
    for _ in range(2):
        seen = one_round(lambda fed, cohort, _: [fed.gather(tell_process, to=cohort) for _ in range(2)], fed, None, 20)
        first, second = (torch.stack(uploads) for uploads in seen)
        assert os.getpid() not in first[:, 0]
        assert set(first[:, 1].tolist()) == {1}
        assert not first[:, 2].any()  # a new round discards what was kept in the last one
        assert torch.equal(second[:, 2], first[:, 0])
        assert torch.equal(second[:, 0], first[:, 0])
    assert len(set(first[:, 0].tolist())) <= 2


def test_freed_memory_stays_with_a_worker(pools):
    fed = Federation(quadratics(2).clients, executor=pools[2])
    fed.gather(pages_taken, to=(0,))
    assert fed.gather(pages_taken, to=(0,))[0] < 0.25 * 10 * 4 * 1024


def test_replies_come_in_the_order_of_the_cohort(pools):
    fed = Federation(quadratics().clients, executor=pools[3])
    assert [int(n) for n in fed.gather(answer_number, to=(0, 3, 4, 22))] == [0, 3, 4, 22]
    assert [int(n) for n in fed.gather(answer_number, to=range(23))] == list(range(23))


def test_shared_and_personal_values_are_sent_again_when_they_change(pools):
    fed = Federation(quadratics(3).clients, executor=pools[2])
    for value in (1.0, 2.0):
        fed.broadcast(a=torch.tensor(value))
        fed.set_personal(b=torch.tensor(10.0 * value))
        assert float(fed.mean(sum_of_memories, to=fed.everyone)) == 11.0 * value
    fed.set_personal(b=torch.tensor(5.0))
    assert float(fed.mean(sum_of_memories, to=fed.everyone)) == pytest.approx(7.0)
    fed.set_shared(a=torch.tensor(4.0))
    assert float(fed.mean(sum_of_memories, to=fed.everyone)) == pytest.approx(9.0)


def sum_of_memories(client, memory):
    return Reply(memory.shared["a"] + memory.personal["b"])


def test_two_federations_may_share_workers(pools):
    one, other = (Federation(quadratics(3).clients, executor=pools[2]) for _ in range(2))
    for fed, value in ((one, 1.0), (other, 2.0), (one, 3.0)):
        fed.mean(add_kept, to=fed.everyone, w=torch.tensor(value))
        assert float(fed.mean(read_kept, to=fed.everyone)) == pytest.approx(value + 1.0)


@pytest.mark.slow
def test_an_error_is_that_of_the_first_client_and_ends_the_workers():
    with_errors = Processes(2)
    for executor in (Sequential(), with_errors):
        fed = Federation(quadratics().clients, executor=executor)
        with pytest.raises(FederationError, match="fail: client 7 has a wrong file"):
            fed.mean(fail, to=range(20), at=7)
    assert not [child for child in active_children() if child in [w.process for w in with_errors._workers]]
    fed = Federation(quadratics().clients, executor=with_errors)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        fed.mean(divide, to=range(3))
    for executor in (Sequential(), with_errors):
        fed = Federation(quadratics().clients, executor=executor)
        with pytest.raises(FederationError, match="client 4 sent a different structure from the clients before it"):
            fed.mean(differ, to=range(8))
    with_errors.close()


@pytest.mark.slow
def test_a_worker_that_dies_ends_the_run_in_one_line_and_leaves_no_process():
    before = set(active_children())
    pool = Processes(2)
    fed = Federation(quadratics().clients, executor=pool)
    with pytest.raises(FederationError) as caught:
        fed.mean(die, to=range(20), at=5)
    assert str(caught.value) == (
        "round 0, die: a worker was killed by SIGKILL, most likely because memory ran out; "
        "use fewer workers, or free memory"
    )
    assert set(active_children()) == before
    assert [int(n) for n in fed.gather(answer_number, to=(1, 2))] == [1, 2]  # new workers start
    pool.close()
    assert set(active_children()) == before


def test_workers_end_with_their_executor():
    before = set(active_children())
    pool = Processes(1)
    Federation(quadratics(2).clients, executor=pool).gather(answer_number, to=(0, 1))
    assert set(active_children()) != before
    del pool
    assert set(active_children()) == before


def test_what_cannot_travel_is_refused(pools):
    fed = Federation(quadratics(3).clients, executor=pools[1])
    with pytest.raises(FederationError, match=r"<lambda>: <lambda> cannot be sent to other processes .*use another"):
        fed.mean(lambda client, memory: Reply(torch.ones(1)), to=(0,))
    with pytest.raises(FederationError, match="workers must be a whole number of at least 1"):
        Processes(0)


def test_the_remedy_for_a_class_within_a_function_is_to_define_it_elsewhere(pools):
    class Within:
        samples = 1.0

    fed = Federation([Within(), Within()], executor=pools[1])
    with pytest.raises(
        FederationError, match=r"Within.*; define it at the top level of a module, or use another executor, without wo"
    ):
        fed.mean(answer_number, to=(0, 1))
    fed = Federation(quadratics(3).clients, executor=pools[1])
    with pytest.raises(FederationError, match=r"generator' object\); use another executor, without workers"):
        fed.mean(answer_number, to=(0, 1), sent=(number for number in ()))


@pytest.mark.parametrize("workers", [2, 3])
def test_clients_that_kept_something_in_several_processes_come_together(workers, pools):
    def kept(executor):
        fed = Federation(quadratics(40).clients, executor=executor)
        fed.mean(add_kept, to=range(3), w=torch.tensor(1.0))
        fed.mean(add_kept, to=range(3, 40), w=torch.tensor(2.0))
        return fed.gather(read_kept, to=range(40))

    assert kept(pools[workers]) == kept(Sequential())


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_federations_in_turns_keep_what_is_theirs(workers, pools):
    def turns(executors):
        feds = [Federation(quadratics(n).clients, executor=one) for n, one in zip((23, 9, 23), executors, strict=True)]
        for value, fed in enumerate(feds):
            fed.broadcast(value=torch.tensor(float(value)))
        for value, fed in enumerate(feds):
            fed.mean(add_kept, to=fed.everyone, w=torch.tensor(100.0 * value))
        found = [fed.gather(read_kept, to=fed.everyone) for fed in reversed(feds)]
        return found + [fed.gather(read_told, to=(0, 3)) for fed in feds]

    assert turns([pools[workers]] * 3) == turns([Sequential() for _ in range(3)])


def test_workers_forget_a_federation_that_is_gone(pools):
    first = Federation(quadratics(4).clients, executor=pools[2])
    first.mean(add_kept, to=first.everyone, w=torch.tensor(1.0))
    held = weakref.ref(first.clients[0])
    number = pools[2]._served[first._key].number
    del first
    gc.collect()
    assert held() is None
    assert number in pools[2]._gone
    second = Federation(quadratics(4).clients, executor=pools[2])
    assert second.gather(answer_number, to=(1,)) == [torch.tensor(1.0)]


@pytest.mark.slow
def test_what_was_lost_with_the_workers_of_another_federation_is_had_again():
    pool = Processes(2)
    one, other, undisturbed = (Federation(quadratics(4).clients, executor=by) for by in (pool, pool, Sequential()))
    for fed in (one, undisturbed):
        fed.mean(add_kept, to=fed.everyone, w=torch.tensor(1.0))
        fed.mean(add_to_kept, to=(1, 3), w=torch.tensor(10.0))
    with pytest.raises(FederationError, match="client 2 has a wrong file"):
        other.mean(fail, to=other.everyone, at=2)
    assert one.gather(read_kept, to=(3,)) == [torch.tensor(14.0)]
    for fed in (one, undisturbed):
        fed.mean(add_to_kept, to=(0, 1), w=torch.tensor(0.5))
    assert one.gather(read_kept, to=one.everyone) == undisturbed.gather(read_kept, to=one.everyone)
    one._begin()
    with pytest.raises(KeyError, match="w"):  # other rounds are not repeated
        one.gather(read_kept, to=(3,))
    pool.close()


def test_arrays_are_shared_and_not_sent(monkeypatch, pools):
    sizes = []
    fed = Federation(quadratics().clients, executor=pools[2])
    fed.gather(answer_number, to=(0, 1))  # starts the workers
    original = type(pools[2]._workers[0].connection).send

    def counting(connection, message):
        sizes.append(len(ForkingPickler.dumps(message)))
        original(connection, message)

    monkeypatch.setattr(type(pools[2]._workers[0].connection), "send", counting)
    w = Tree({"W": torch.randn(300, 200, dtype=torch.float64)})
    fed.mean(add_kept, to=range(20), w=w["W"])
    assert len(sizes) >= 10  # including handles of shared memory
    assert max(sizes) < 10_000 < w["W"].numel()


def test_messages_arrive_as_they_were():
    base = torch.randn(6, 7, dtype=torch.float64)
    message = {
        "view": base[1:, ::2],
        "again": base,
        "twice": [base, base],
        "empty": torch.empty(0, 3),
        "none": None,
        "flag": torch.tensor(True),
        "half": torch.randn(3).bfloat16(),
        "complex": torch.randn(2, dtype=torch.complex64),
        "expanded": torch.ones(1).expand(9),
        "tree": Tree(W=base),
        "large": torch.randn(9000),
        "module": nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)),
    }
    packed = pack(message)
    assert isinstance(packed.entries, torch.Tensor)
    assert packed.entries.is_shared()
    for own in (False, True):
        found = unpack(packed, own=own)
        for name, value in message.items():
            if isinstance(value, torch.Tensor):
                assert torch.equal(found[name], value)
                assert found[name].dtype == value.dtype
                assert found[name].is_shared() != own or not value.numel()
        assert found["twice"][0] is found["twice"][1] is found["again"]
        assert torch.equal(found["tree"]["W"], base)
        state = message["module"].state_dict()
        assert all(torch.equal(found["module"].state_dict()[name], state[name]) for name in state)
        assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in found["module"].parameters())
    small = pack({"a": torch.ones(3), "none": ()})
    assert isinstance(small.entries, bytes)
    assert torch.equal(unpack(small)["a"], torch.ones(3))
    assert unpack(pack(("nothing", 1))) == ("nothing", 1)


def test_no_room_in_shared_memory_is_one_error(monkeypatch):
    full = types.SimpleNamespace(f_bavail=10, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    monkeypatch.setattr(os.path, "isdir", lambda path: True)
    assert unpack(pack(torch.ones(9)))[0] == 1.0
    with pytest.raises(FederationError, match="/dev/shm is too small for 80,000 bytes"):
        pack(torch.ones(20_000))


@pytest.mark.parametrize("clients", [1, 2, PARTS, PARTS + 1, 40, 20 * PARTS])
def test_parts_of_a_cohort_add_up_to_the_bits_of_the_whole(clients):
    torch.manual_seed(0)
    uploads, shares = [torch.randn(5) for _ in range(clients)], torch.rand(clients).tolist()
    exchange = Exchange(1, 1, answer_number, range(clients), None, {}, {}, None, 0, None, {}, {}, {}, {})
    total, acknowledgements = fold(exchange, map(Reply, uploads), shares)
    assert [one.number for one in acknowledgements] == list(range(clients))
    assert isinstance(acknowledgements[0], Acknowledgement)
    exact = sum(share * upload.double() for share, upload in zip(shares, uploads, strict=True))
    assert torch.allclose(total.double(), exact, rtol=1e-5, atol=1e-5)
    if clients <= PARTS:  # a plain sum, one client after the other
        plain = uploads[0] * shares[0]
        for share, upload in zip(shares[1:], uploads[1:], strict=True):
            plain = plain + upload * share
        assert torch.equal(total, plain)


PROGRAM = """
import sys
sys.path[:0] = {paths!r}
if __name__ == "__main__":
    from algorithms.executors.processes import Processes
    from algorithms.federation import Federation
    from travelling import quadratics, write_and_wait
    fed = Federation(quadratics(2).clients, executor=Processes(2))
    fed.gather(write_and_wait, to=(0, 1), pipe=sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_whatever_ends_the_run_ends_its_workers(tmp_path, end):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM.format(paths=[str(HERE.parents[1]), str(HERE)]))
    status, _ = ended([str(script)], tmp_path / "pipe", 2, end, cwd=tmp_path)
    assert status == -end
