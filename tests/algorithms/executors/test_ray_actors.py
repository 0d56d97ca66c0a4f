"""Clients in Ray actors: the bits of one process, even if actors are lost, and no leftover processes."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
import types

import pytest
import torch
from torch.utils import _pytree as pytree
from travelling import add_kept, add_to_kept, die, die_once, divide, fail, pages_taken, quadratics, read_kept

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.executors.processes import Processes
from algorithms.executors.ray_actors import Actors
from algorithms.executors.team import LOSSES
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation, FederationError, Reply, Sequential
from algorithms.fedlin import FedLin
from algorithms.fedloru import FedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Truncation
from algorithms.mfedloru import NestedFedLoRU
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rolora import RoLoRA
from algorithms.rounds import final, go_on
from algorithms.tree import Tree
from runs.folder import LEDGER, LOG, METRICS, train
from runs.plan import SETTINGS, make_plan
from runs.settings import Conduct
from workloads.processes.cluster import import_ray
from workloads.processes.pool import Place, RayPool, slots_of

pytestmark = pytest.mark.slow

ray = pytest.importorskip("ray", reason="the extra ray is not installed")
LOCAL = Descent(3, 0.05)
CLIENTS = 23
SERVERS = ("raylet", "gcs_server", "ray::")
ALGORITHMS = {
    "FedAvg": FedAvg(LOCAL),
    "FedLin": FedLin(LOCAL),
    "FeDLRT, full": FeDLRT(LOCAL, 2, Truncation(0.05), "full"),
    "RoLoRA": RoLoRA(LOCAL, Adapter(2)),
    "FedLoRU": FedLoRU(LOCAL, Adapter(2), tau=2),
    "pFedLoRU": PersonalFedLoRU(LOCAL, Adapter(2), tau=2, personal=Descent(3, 0.05)),
    "mFedLoRU": NestedFedLoRU(LOCAL, Adapter(2), tau=2, ranks=tuple((1 + k % 2, 1) for k in range(CLIENTS))),
}


@pytest.fixture(scope="module")
def teams():
    """Teams of 1, 2 and 4 actors in one cluster, and two processes; all tests share them."""
    import_ray(FederationError)  # sets what a cluster starts with
    ray.init(
        "local",
        num_cpus=8,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=100 * 2**20,
    )
    made = {"2 processes": Processes(2), **{f"{count} actors": Actors(count) for count in (1, 2, 4)}}
    yield made
    own = started()
    assert any("raylet" in words for words in own.values())
    for team in made.values():
        team.close()
    ray.shutdown()
    patience = time.monotonic() + 30.0
    while left := own.items() & processes()[0].items():
        assert time.monotonic() < patience, f"Ray left processes behind: {left}"
        time.sleep(0.1)


def processes():
    """Return the command lines and parents of all processes, by id."""
    found = subprocess.run(["ps", "-wweo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    return {row[0]: row[2] for row in rows}, {row[0]: row[1] for row in rows}


def started():
    """Return the processes that this one and its children have started."""
    words, parents = processes()
    found, new = {}, {str(os.getpid())}
    while new:
        new = {process for process, parent in parents.items() if parent in new}
        found |= {process: words[process] for process in new if any(name in words[process] for name in SERVERS)}
    return found


def run(algorithm, executor, rounds=3, size=20, disturb=lambda number: None):
    given = quadratics(CLIENTS)
    fed = Federation(given.clients, seed=3, executor=executor)
    state = algorithm.start(fed, Tree(given.start))
    for number in range(rounds):
        disturb(number)
        state = final(go_on(algorithm.round, fed, state, 1, size), state)
    return pytree.tree_leaves((state, fed.state.personal, dict(fed.state.shared))), fed.ledger.entries


def same(found, expected):
    assert found[1] == expected[1]  # the ledger lost no message and counted none twice
    assert len(found[0]) == len(expected[0])
    assert any(isinstance(leaf, torch.Tensor) for leaf in found[0])
    for one, other in zip(found[0], expected[0], strict=True):
        assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


@pytest.mark.parametrize("name", ALGORITHMS)
def test_any_number_of_actors_gives_the_bits_of_one_process(name, teams):
    expected = run(ALGORITHMS[name], Sequential())
    for team in teams.values():
        same(run(ALGORITHMS[name], team), expected)


@pytest.mark.parametrize("name", ["FeDLRT, full", "pFedLoRU"])
def test_actors_that_are_killed_at_random_change_no_bit(name, teams):
    team, heard, rng = teams["4 actors"], [], random.Random(0)
    expected = run(ALGORITHMS[name], Sequential(), rounds=5)
    team.say = heard.append
    timers = []

    def disturb(number):
        there = [actor.process for actor in team._actors if actor.process]
        if there:
            timers.append(threading.Timer(rng.uniform(0.0, 0.05), kill, (rng.choice(there),)))
            timers[-1].start()

    same(run(ALGORITHMS[name], team, rounds=5, disturb=disturb), expected)
    for timer in timers:
        timer.join()
    team.say = lambda text: None
    assert heard
    assert all("a worker died; the work of client" in text for text in heard)


def kill(process):
    assert process > 1  # 0 would address the whole process group
    with contextlib.suppress(ProcessLookupError):  # it was killed before
        os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("at", [0, 7, 22])
def test_what_clients_kept_in_a_lost_actor_is_had_again(at, teams, tmp_path):
    heard = []
    teams["2 actors"].say = heard.append

    def kept(executor, marker):
        fed = Federation(quadratics().clients, executor=executor)
        fed.mean(add_kept, to=fed.everyone, w=torch.tensor(1.0))
        fed.mean(add_to_kept, to=range(0, 23, 2), w=torch.tensor(0.5))
        found = [fed.mean(die_once, to=range(23), at=at, marker=str(marker))]
        found += fed.gather(die_once, to=range(5), at=-1, marker="")
        return found + fed.gather(read_kept, to=fed.everyone)

    (tmp_path / "there").touch()
    assert kept(teams["2 actors"], tmp_path / "absent") == kept(Sequential(), tmp_path / "there")
    part = f"clients {at - at % 2} to {at - at % 2 + 1}" if at < 22 else "client 22"
    assert heard == [f"round 0, die_once: a worker died; the work of {part} is repeated"]
    teams["2 actors"].say = lambda text: None


def test_freed_memory_stays_with_an_actor(teams):
    fed = Federation(quadratics(2).clients, executor=teams["1 actors"])
    fed.gather(pages_taken, to=(0,))
    assert fed.gather(pages_taken, to=(0,))[0] < 0.25 * 10 * 4 * 1024


def test_work_that_fails_stops_the_round_and_says_where(teams):
    team = teams["2 actors"]
    fed = Federation(quadratics().clients, executor=team)
    with pytest.raises(FederationError, match="fail: client 7 has a wrong file"):
        fed.mean(fail, to=range(20), at=7)
    with pytest.raises(ZeroDivisionError) as caught:
        fed.mean(divide, to=range(3, 6))
    assert "in the work of client 3" in "".join(caught.value.__notes__)
    lost = f"die: {LOSSES} workers in a row died during the work of client 2, most likely because memory ran out"
    with pytest.raises(FederationError, match=lost):
        fed.mean(die, to=range(5), at=2)
    assert fed.gather(read_told_number, to=(4, 5)) == [4.0, 5.0]  # others have started


def read_told_number(client, memory):
    return Reply(torch.tensor(float(memory.number)))


def test_what_actors_cannot_import_is_one_line(monkeypatch, teams):
    module = types.ModuleType("nowhere_else")
    exec("def work(client, memory):\n    return None", vars(module))
    monkeypatch.setitem(sys.modules, "nowhere_else", module)
    fed = Federation(quadratics(2).clients, executor=teams["1 actors"])
    with pytest.raises(FederationError, match=r"work: a worker cannot import .*'nowhere_else'.*move it to a module"):
        fed.mean(module.work, to=(0, 1))
    with pytest.raises(FederationError, match=r"cannot be sent to other processes .*use another executor"):
        fed.mean(lambda client, memory: Reply(torch.ones(1)), to=(0,))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"workers": 12}, r"at local has \d CPU free, and 12 are needed: use fewer workers"),
        ({"workers": 17}, "workers must be at most 16, the parts into which an exchange is cut, got 17"),
        ({"workers": 1, "graphics": 0.5}, "at local has 0 GPU free, and 0.5 are needed: use fewer workers"),
        ({"workers": 0}, "workers must be a whole number of at least 1"),
        ({"workers": 1, "graphics": float("nan")}, "GPUs of a worker must be a fraction such as .* got nan"),
        ({"workers": 1, "graphics": 1.5}, "GPUs of a worker must be a fraction such as .* got 1.5"),
    ],
)
def test_a_cluster_without_room_is_one_line(wrong, message, teams):
    with pytest.raises(FederationError, match=message):
        Federation(quadratics(2).clients, executor=Actors(**wrong)).gather(read_told_number, to=(0,))


def test_a_pool_makes_calls_in_workers_and_hands_their_errors_on(teams, tmp_path):
    with RayPool(Place("local"), FederationError) as pool:
        assert len(pool.slots) == 8
        assert pool.submit(divmod, 7, 2).result() == (3, 1)
        assert list(pool.map(abs, (-1, 2))) == [1, 2]
        with pytest.raises(ZeroDivisionError, match=r"^division by zero"):
            pool.submit(divide, None, None).result()
        once = pool.submit(end_once, str(tmp_path / "marker"))
        assert once.result() == "again"  # its process ended the first time
    assert ray.is_initialized()  # the pool has joined the cluster and does not end it


def test_a_pool_without_room_is_one_line(teams):
    with pytest.raises(FederationError, match=r"no machine of the Ray cluster at local has a processor and 0.5 GPU"):
        RayPool(Place("local", graphics=0.5), FederationError)
    assert ray.is_initialized()
    with pytest.raises(FederationError, match=r"at local has a processor and 1 GPU: leave --gpus-per-worker out"):
        slots_of(Place("local", graphics=1.0), FederationError)


def end_once(marker):
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "again"
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def test_a_run_on_ray_has_the_files_of_one_process_and_a_log_of_its_losses(teams, tmp_path, monkeypatch):
    settings, team = {"clients": 5, "cohort": 4}, teams["2 actors"]
    plans = {
        name: make_plan("fedlin", "quadratics", settings, Conduct(rounds=4, executor=name))
        for name in ("sequential", "ray")
    }
    monkeypatch.setattr("runs.plan.executor_of", lambda name, *given: team if name == "ray" else Sequential())
    monkeypatch.setattr(team, "close", lambda: None)

    def end_one(metrics):
        if metrics["round"] == 2:
            for actor in team._actors:
                if actor.process:  # others are still starting
                    kill(actor.process)

    said = []
    train(plans["sequential"], tmp_path / "alone")
    train(plans["ray"], tmp_path / "ray", end_one, say=said.append)
    for name in (METRICS, LEDGER, SETTINGS):
        assert (tmp_path / "alone" / name).read_bytes() == (tmp_path / "ray" / name).read_bytes()
    assert said
    assert [line.split(" ", 2)[2] for line in (tmp_path / "ray" / LOG).read_text().splitlines()] == said
    assert all("a worker died; the work of client" in text for text in said)
    assert not (tmp_path / "alone" / LOG).exists()
