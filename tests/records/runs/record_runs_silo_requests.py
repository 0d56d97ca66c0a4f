"""Records of requests to a silo: its answers, what it keeps and remembers, and what it refuses."""

import io
import json
from contextlib import redirect_stderr

import torch
from hidden_folder import in_folder
from recording import refused

from algorithms.tree import Tree
from runs.silos.client_store import HISTORY, ClientStore, keyed_digest
from runs.silos.node import Node, _samples_of, failure, other_protocol
from runs.silos.wire import Message, MessageError, pack
from runs.stored import named_types

RUN, NAMES = "0123456789ab", ("north", "south", "west")


class _Client:
    """A quadratic loss around a point; its size is its number of samples."""

    takes_values, statistics = False, frozenset()

    def __init__(self, samples, point=0.0, scale=1.0):
        self.samples, self.point, self.scale = samples, torch.full((2,), point, dtype=torch.float64), scale

    def loss(self, w, batch=None):
        return self.scale * (w["w"] - self.point).square().sum() / 2


def _nodes(folder, clients, names=NAMES):
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "secret").write_bytes(b"s" * 32)
    return {
        10 + k: Node(name, client, folder / name) for k, (name, client) in enumerate(zip(names, clients, strict=True))
    }


def _request(**changes):
    w = Tree({"w": torch.ones(2, dtype=torch.float64)})
    sent = pack({"sent": {"w": w}, "draw": None}, named_types())
    content = {
        "kind": "trip",
        "run": RUN,
        "silo": "north",
        "nonce": "a" * 32,
        "round": 1,
        "trip": 1,
        "turn": "t",
        "number": 0,
    }
    content |= {"work": "problem.local_loss", "seed": 0, "shared": {}, "equipped": {}, "kept": {}, "personal": {}}
    content |= {"sent": sent.structure, "told": {}}
    return Message(json.dumps({**content, **changes}), {"sent": sent.blob})


@in_folder
def requests_to_a_silo(folder):
    node = _nodes(folder, [_Client(3)], ("north",))[10]
    for place, changes in enumerate(
        (
            {"kind": "other"},
            {"silo": "south"},
            {"silo": None},
            {"run": "x"},
            {"nonce": "x"},
            {"round": -1},
            {"round": 2**63},
            {"round": 1.0},
            {"shared": []},
            {"told": None},
            {"told": {"0" * 64: {"value": 1}}},
            {"work": "os.system"},
            {"shared": {"a": "0" * 64}},
            {"kept": {"a": "k1-" + "0" * 64}},
            {"kept": {"a": "x"}},
            {"turn": 3},
            {"seed": None},
            {"sent": {"value": 1}},
        )
    ):
        answer = node.answer(_request(**{"nonce": f"{place:032x}", **changes}))
        content = json.loads(answer.text)
        yield content["kind"], content.get("said"), content.get("values"), sorted(content["echo"])
    yield (
        json.loads(node.answer(_request(nonce=f"{11:032x}")).text)["said"],
        json.loads(node.answer(Message("{", {})).text),
    )
    hello = json.loads(node.answer(Message('{"kind": "hello", "nonce": "n", "protocol": 3}', {})).text)
    yield {name: value for name, value in hello.items() if name not in ("versions", "data")}, len(hello["data"])
    yield json.loads(node.answer(Message('{"kind": "hello", "protocol": 2}', {})).text)["said"].partition(" (rank")[0]


def numbers_of_samples():
    for samples in (3, 3.0, 2.5, True, "3", None, float("nan"), 2**53, 2**53 + 1, 0, -1, torch.tensor(4), [1]):
        yield refused(lambda samples: _samples_of(_Client(samples)), samples)
    for content in ({"protocol": 2}, {"protocol": "2"}, {"protocol": 4, "versions": {"rankproof": "9.9"}}, {}):
        yield other_protocol("one", content, "other").partition(", and")[0]
    said = io.StringIO()
    with redirect_stderr(said):
        for error in (MessageError("lacks a"), ValueError("secret"), RuntimeError("x" * 600)):
            answer = json.loads(failure(error, Message('{"run": "r", "round": 3, "nonce": []}', {}), "north").text)
            yield {**answer, "said": answer["said"][:60]}, "Error" in said.getvalue()


@in_folder
def values_that_a_silo_keeps(folder):
    (folder / "secret").write_bytes(b"s" * 32)
    store, value = ClientStore(folder, RUN), pack({"a": 1}, {})
    tokens = {(kind, number): store.put(kind, number, value) for kind in "kp" for number in range(1, HISTORY + 3)}
    yield tokens["k", 1], tokens["p", 10], store.take(tokens["k", 3]) == value, keyed_digest(folder, b"x")
    store.tidy(4, {tokens["k", 2]})
    there = sorted((path.name[0], int(path.name[1:].partition("-")[0])) for path in (folder / RUN / "own").iterdir())
    yield there
    yield (
        refused(store.take, tokens["k", 1]),
        refused(store.take, tokens["p", 2]),
        refused(store.take, "x"),
        refused(store.take, 3),
    )
    (folder / RUN / "own" / tokens["k", 5]).write_bytes(value.as_bytes + b" ")
    yield (
        refused(store.take, tokens["k", 5]),
        refused(ClientStore, folder, "xyz"),
        refused(ClientStore, folder, "A" * 12),
    )
    store.keep_broadcast({value.digest: value}, {value.digest})
    yield store.load_broadcast(value.digest) == value, store.load_broadcast("0" * 64), store.load_broadcast("..")
    yield refused(store.keep_broadcast, {"0" * 64: value}, {}), store.keep_broadcast({}, {})
    yield store.load_broadcast(value.digest)
    (folder / "secret").write_bytes(b"s" * 31)
    yield refused(keyed_digest, folder, b"x")


@in_folder
def requests_that_a_silo_remembers(folder):
    (folder / "secret").write_bytes(b"s" * 32)
    store = ClientStore(folder, RUN)
    for number in (1, 2, 3, 1, 4, 5, 6, 7, 8, 9, 10):
        store.answer_once(f"{len(list((folder / RUN / 'answered').iterdir())):016x}{number:016x}", number)
    found = sorted(int(path.read_text()) for path in (folder / RUN / "answered").iterdir())
    yield found, store._listed(), [refused(store.answer_once, nonce, 1) for nonce in ("x", 3, "A" * 32, "0" * 31)]
    store.answer_once("f" * 32, 11)
    yield refused(store.answer_once, "f" * 32, 11)
    done = pack({"upload": None, "keep": {}, "personal": {}}, {})
    done = done._replace(structure={"upload": 1, "keep": {}, "personal": {}})
    store.keep_answer(3, "0" * 64, done)
    yield store.find_answer(3, "0" * 64) == done, store.find_answer(2, "0" * 64), store.find_answer(3, "1" * 64)
    with store.begin(3, "0" * 64) as free, store.begin(3, "0" * 64) as again:
        yield free, again
    store.keep_answer(
        4, "2" * 64, done._replace(structure={"upload": 1, "keep": {"a": "k1-" + "0" * 64}, "personal": {}})
    )
    yield store.find_answer(4, "2" * 64), sorted(path.name[:3] for path in (folder / RUN / "done").iterdir())
