"""Flower itself: what it carries, the written app, and one run of real processes."""

import importlib.util
import json
import os
import sys
import time
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import torch
from silo_line import Beside, silos_of

import rankproof
from algorithms.federation import FederationError
from runs.catalogue import ALGORITHMS
from runs.plan import make_plan, parts_of
from runs.settings import RunError
from runs.silos.app import write_app
from runs.silos.server import serve
from runs.silos.wire import Message

FLOWER = pytest.mark.skipif(importlib.util.find_spec("flwr") is None, reason="flwr is not a part of the core")
BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.mark.sample(4)
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in ("central", "rolora-exact")])
def test_the_written_app_trains_as_it_is_and_goes_on(algorithm, tmp_path, monkeypatch):
    """Its config is one that the server takes, and its example learns."""
    write_app(tmp_path / "app", algorithm, ("a", "b"))
    app = tomllib.loads((tmp_path / "app" / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    task = {"__name__": "written_task"}
    monkeypatch.setitem(sys.modules, "written_task", ModuleType("written_task"))  # where dataclasses look for it
    exec(compile((tmp_path / "app" / "silos" / "task.py").read_text(), "task.py", "exec"), task)
    line = Beside(silos_of([task["client"](name, {}) for name in "ab"], "ab", tmp_path))
    config = {**app["config"], "folder": str(tmp_path / "results"), "seconds": 20.0}
    for rounds in (1, 3):
        last = serve({**config, "rounds": rounds}, line, task["start"])
    table = (tmp_path / "results" / "metrics.csv").read_text().splitlines()
    assert (last["round"], len(table)) == (3, 5)
    place = table[0].split(",").index("loss")
    learns = float(table[-1].split(",")[place]) < float(table[1].split(",")[place])
    assert learns or algorithm in ("local", "fedsa-lora")  # whose server has no trained model


@pytest.mark.parametrize("count", [1, 3, 4])
def test_the_written_app_has_a_rank_for_each_silo(count, tmp_path):
    names = "abcd"[:count]
    write_app(tmp_path / "app", "mfedloru", tuple(names))
    app = tomllib.loads((tmp_path / "app" / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    assert app["config"]["client-ranks"] == "2,1,2,1"[: 2 * count - 1]
    problem = make_plan("mfedloru", "quadratics", {"clients": count})
    parts = parts_of(problem)
    line = Beside(silos_of(parts.problem.clients, names, tmp_path))
    config = {**app["config"], "folder": str(tmp_path / "results"), "seconds": 20.0, "rounds": 1}
    assert serve(config, line, lambda: {"W": parts.problem.start["W"]})["round"] == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"silos": "a,a"}, "2 different names"),
        ({"least": 0}, "least must be"),
        ({"seconds": -1.0}, "positive number"),
        ({"wrong": "ask"}, "'stop' or 'left out'"),
        ({"algorithm": "central"}, "all data in one place"),
        ({"algorithm": "nobody"}, "unknown algorithm"),
        ({"tau": 3}, "takes no --tau"),
        ({"folder": ""}, "lacks folder"),
        ({"folder": "a\0b"}, "without a NUL"),
        ({"steps": "many"}, "steps must be a whole number"),
        ({"clients": 3}, "3 different names"),
        ({"limit-mb": "x"}, "config"),
        ({"seconds": "long"}, "config"),
        ({"rounds": "ten"}, "rounds must be a whole number"),
        ({"rounds": 2.5}, "rounds must be"),
        ({"rounds": True}, "rounds must be"),
        ({"alignment": True}, "function evaluate"),
        ({"seed": -1}, "seed"),
        ({"cohort": 3}, "number of clients"),
        ({"learning-rate": 0.1, "learning_rate": 0.2}, "has both learning-rate and learning_rate, which are one opt"),
        ({"learning_rate": "", "learning-rate": 0.2}, "has both learning_rate and learning-rate, which are one opt"),
        ({"evaluate-every": 1, "evaluate_every": 1}, "has both evaluate-every and evaluate_every"),
        ({"algorithm": "flexlora", "rank": 2, "ranks": "2,1,1"}, "^ranks must be a rank for each of 2 .*, got 2,1,1$"),
        ({"algorithm": "fedhm", "ranks": "1"}, "^ranks must be a rank for each of 2 .*, got 1$"),
        ({"algorithm": "mfedloru", "client-ranks": "1"}, "^client_ranks must be a rank for each of 2 .*, got 1$"),
    ],
)
def test_a_config_that_does_not_serve_is_refused_before_a_silo_is_asked(changes, why, tmp_path):
    config = {"algorithm": "fedavg", "silos": "a,b", "folder": str(tmp_path / "results"), **changes}
    line = Beside({})
    with pytest.raises((RunError, FederationError), match=why):
        serve(config, line, lambda: {"W": torch.zeros(2, 2)})
    assert not line.sent
    assert not (tmp_path / "results").exists()


def test_an_app_is_written_into_a_new_folder_alone(tmp_path):
    (tmp_path / "mine").write_text("")
    with pytest.raises(RunError, match="is not empty"):
        write_app(tmp_path, "fedavg", ("a", "b"))
    with pytest.raises(RunError, match="unknown algorithm 'fedav'; did you mean fedavg"):
        write_app(tmp_path / "new", "fedav", ("a", "b"))
    with pytest.raises(RunError, match="all data in one place"):
        write_app(tmp_path / "new", "central", ("a", "b"))
    for name in ('b"', ".", "..", ".b", "-b", ""):
        with pytest.raises(RunError, match=r"distinct names of letters.* starting with a letter or digit"):
            write_app(tmp_path / "new", "fedavg", ("a", name))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("start", [None, [torch.ones(2)], {"W": 1.0}, torch.ones(2)])
def test_a_start_of_something_else_than_tensors_by_name_is_refused(start, tmp_path):
    config = {"algorithm": "fedavg", "silos": "a", "folder": str(tmp_path / "results")}
    with pytest.raises(RunError, match="tensors by name"):
        serve(config, Beside({}), lambda: start)


def test_silos_are_no_problem_of_one_machine(capsys, tmp_path):
    words = ["train", "fedavg", "--data", "silos", "--silos", "a,b", "--out", str(tmp_path / "run")]
    assert rankproof.main(words) == 2
    assert capsys.readouterr().err.startswith("rankproof: silos hold their own data: `rankproof flower new FOLDER`")
    assert rankproof.main(["flower", "new", str(tmp_path / "app"), "--silos", "a,,b"]) == 2
    assert rankproof.main(["flower", "new", str(tmp_path / "app"), "--silos", "a, b"]) == 0
    assert not (tmp_path / "run").exists()


def test_without_flower_one_line_names_the_extra(monkeypatch):
    for name in ("flwr", "flwr.app"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "runs.silos.flower", raising=False)
    with pytest.raises(RunError, match=r"pip install 'rankproof\[flower\]'"):
        importlib.import_module("runs.silos.flower")


@FLOWER
def test_flower_carries_letters_as_they_are_and_what_is_none_is_refused():
    from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

    from runs.silos.flower import message_of, record_of

    assert os.environ["FLWR_TELEMETRY_ENABLED"] == "0", "Flower reports usage otherwise"
    letter = Message('{"a": 1}', {"sent": bytes(range(256)), "none": b""})
    assert message_of(record_of(letter)) == letter
    odd = Array(dtype="float32", shape=(1,), stype="numpy.ndarray", data=b"0")
    for record in (
        RecordDict({}),
        RecordDict({"text": ConfigRecord({"text": "{}"})}),
        RecordDict({"text": ConfigRecord({"text": 1}), "tensors": ArrayRecord()}),
        RecordDict({"text": ConfigRecord({"text": "{}", "more": "x"}), "tensors": ArrayRecord()}),
        RecordDict({"text": ConfigRecord({"text": "{}"}), "tensors": ArrayRecord({"upload": odd})}),
    ):
        assert message_of(record) == Message("", {})


@FLOWER
@pytest.mark.slow
def test_real_processes_come_to_the_bits_of_one_and_none_is_left(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import silos
    from loopback import Loopback

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with Loopback(tmp_path, silos.SILO_NAMES) as there:
            found = silos.equal_bits(there, "fedlrt-full", number=1, seconds=300.0)
    finally:
        torch.set_num_threads(threads)
    assert found["bits_of_one_process"]
    assert found["trips"] == 3
    assert not there.left()


@FLOWER
def test_a_silo_that_cannot_read_its_data_says_so_in_a_line(tmp_path, capsys):
    from flwr.app import Context, Metadata, RecordDict
    from flwr.app.message.message import make_message

    from runs.silos.flower import client_app, message_of, record_of

    def client(silo, config):
        raise FileNotFoundError("/data/patients.csv")

    def answered(**config):
        request = record_of(Message('{"kind": "hello", "nonce": "a"}', {}))
        metadata = Metadata(1, "m", 1, 5, "", "", time.time(), 100.0, "train.letter")
        context = Context(run_id=1, node_id=5, node_config=config, state=RecordDict(), run_config={})
        reply = client_app(client)(make_message(metadata=metadata, content=request), context)
        return json.loads(message_of(reply.content).text)

    found = answered(silo="a", folder=str(tmp_path))
    assert found == {"echo": {"nonce": "a"}, "kind": "failed", "said": "a FileNotFoundError; see the silo's log"}
    assert "patients" in capsys.readouterr().err
    assert "lacks silo, folder" in answered()["said"]
    assert "threads of at least 1" in answered(silo="a", folder=str(tmp_path), threads=0)["said"]
