"""Silos that say who they are: what they say is compared, and the one that differs is named."""

import array
import functools
import io
import json
import logging
import re
import threading
from collections import deque
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from silo_line import Beside, silos_of
from test_silos import NAMES, RUN, Met
from test_silos import given as run_of
from torch import nn

from algorithms.federation import FederationError
from runs.network_problem import network_problem
from runs.settings import RunError
from runs.silos.client_store import HISTORY, ClientStore, keyed_digest
from runs.silos.executor import Silos
from runs.silos.fingerprint import fingerprint, fingerprint_of
from runs.silos.membership import Membership
from runs.silos.problem import RemoteClient, SiloSettings
from runs.silos.server import serve
from runs.silos.transport import AnswerPolicy, ClientFacts
from runs.silos.wire import PROTOCOL, Message, MessageError
from workloads.image_networks.initial import initialise
from workloads.partition import Even


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def differing(**changes):
    """Silos whose hellos differ from what an honest one says, by name."""

    def change(node, request, letter):
        content = json.loads(letter.text)
        if content["kind"] != "hello" or content["silo"] not in changes:
            return letter
        new = {**content, **changes[content["silo"]]}
        return Message(json.dumps({name: value for name, value in new.items() if value is not ...}), {})

    return change


def met(folder, names=NAMES, weights=None, **changes):
    """Facts that silos sent, and lines that a server said after it had met them."""
    said = []
    line = Beside(silos_of(run_of("fedavg").problem.clients, names, folder), differing(**changes))
    silos = Silos(names, line, RUN, AnswerPolicy(seconds=0.05), say=said.append, pause=1e-3)
    return silos.meet(weights), said


@pytest.mark.parametrize("odd", NAMES)
def test_the_hello_that_differs_is_named_wherever_it_stands(odd, tmp_path):
    with pytest.raises(FederationError, match=f"^silo {odd} has a network that computes through factors"):
        met(tmp_path, **{odd: {"values": True}})
    with pytest.raises(FederationError, match=f"^silo {odd} .* observes norm.mean, where most .* observes nothing"):
        met(tmp_path, **{odd: {"statistics": ["norm.mean"]}})


def test_the_start_tells_which_of_several_networks_is_meant(tmp_path):
    seen = {"statistics": ["norm.mean"]}
    with pytest.raises(FederationError, match=r"^silo north observes norm.mean, which the start does not have"):
        met(tmp_path, weights=["W"], north=seen, east=seen)
    with pytest.raises(FederationError, match=r"^silo south .* observes nothing, where most"):
        met(tmp_path, weights=["W", "norm.mean"], north=seen, east=seen)
    with pytest.raises(
        FederationError, match=r"no network has a majority: north .* observes norm.mean; east .* nothing; give"
    ):
        met(tmp_path, NAMES[:2], weights=["W", "norm.mean"], north=seen)
    assert len(met(tmp_path, weights=["W", "norm.mean"], north=seen, east=seen, south=seen)[0]) == 3


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"samples": 0.0}, "silo east has no samples; give it data, or leave its name out"),
        ({"samples": -3.0}, "silo east says that it has -3 samples"),
        ({"samples": 1e300}, r"silo east says that it has 1e\+300 samples"),
        ({"samples": 2.0**53 + 2.0}, "not a number of samples"),
        ({"samples": 5e-324}, r"silo east says that it has 4.94066e-324 samples, which is not a number of samples"),
        ({"samples": 0.99}, r"silo east says that it has 0.99 samples, which is not a number of samples"),
        ({"kind": "done"}, "silo east did not answer who it is"),
        ({"kind": [1]}, "silo east did not answer who it is"),
        ({"kind": "failed", "said": "no room\x1b[2J"}, r"^silo east: no room \[2J$"),
        ({"kind": "failed", "said": "silo north lies"}, r"^silo east: silo north lies$"),
        ({"kind": "failed"}, r"^silo east: it fails without giving a reason$"),
        ({"kind": "failed", "said": ["a"]}, r"^silo east: it fails without giving a reason$"),
        ({"statistics": ["s" * 100_000]}, r"^silo east .*observes s{80}, .*; give it the same$"),
        ({"protocol": float(PROTOCOL)}, "silo east speaks no protocol with a number"),
        ({"protocol": 10**4000}, r"silo east speaks protocol 10{39} .*; install the same rankproof at both$"),
        ({"samples": 7}, "silo east does not report the size"),
        ({"samples": "7"}, "silo east does not report the size"),
        ({"values": 1}, "silo east does not report the size"),
        ({"statistics": [1]}, "silo east does not report the size"),
        ({"data": "zz"}, "silo east does not report the size"),
        ({"data": ...}, "silo east does not report the size"),
        (
            {"protocol": PROTOCOL + 1},
            f"silo east speaks protocol {PROTOCOL + 1} .*the server speaks protocol {PROTOCOL}",
        ),
        ({"protocol": 1}, "silo east speaks protocol 1 .*install the same rankproof at both"),
        ({"protocol": ...}, "silo east speaks no protocol with a number"),
        ({"protocol": True}, "silo east speaks no protocol with a number"),
    ],
)
def test_a_silo_that_cannot_take_part_ends_the_meeting_with_its_name(said, why, tmp_path):
    with pytest.raises(FederationError, match=why):
        met(tmp_path, east=said)


def test_the_largest_number_of_samples_is_taken_and_reported(tmp_path):
    about, said = met(tmp_path, east={"samples": 2.0**53})
    assert about[1].samples == 2.0**53
    (line,) = [text for text in said if "it decides every mean" in text]
    assert line.startswith("silo east: says that it has 9.0072e+15 samples")
    assert not [text for text in met(tmp_path)[1] if "decides" in text]


@pytest.mark.parametrize(
    ("sizes", "large"),
    [
        ([3, 3000], {}),
        ([3, 3001], {"b": "3001 samples, 1e+03 times"}),
        ([40000, 7], {"a": "40000 samples, 5.71e+03 times"}),
        ([1, 2, 1001, 4], {}),
        ([1, 2, 2001, 400000], {"c": "2001 samples, 1e+03 times", "d": "400000 samples, 2e+05 times"}),
        ([1, 20, 4001], {}),
        ([5000], {}),
    ],
)
def test_silos_are_large_from_a_thousand_times_the_one_in_the_middle_on(sizes, large):
    """The smaller one of two in the middle counts, so one of two silos may be large."""
    found = Membership("abcd"[: len(sizes)], None, None, print)
    found.about = {k: ClientFacts(float(size), False, frozenset(), "") for k, size in enumerate(sizes)}
    said = "silo {}: says that it has {} as many as the silo in the middle"
    expected = [said.format(*one) for one in large.items()]
    assert [line.partition(";")[0] for line in found.describe_large()] == expected


def test_a_silo_refuses_a_server_of_another_protocol_with_both_versions(tmp_path):
    node = silos_of(run_of("fedavg").problem.clients, ("north",), tmp_path)[100]
    for hello in ({"protocol": 1, "versions": {"rankproof": "9.9"}}, {}):
        answer = json.loads(node.answer(Message(json.dumps({"kind": "hello", "nonce": "a", **hello}), {})).text)
        assert answer["kind"] == "failed"
        assert answer["said"].startswith(
            "the server speaks " + ("protocol 1 (rankproof 9.9)" if hello else "no protocol")
        )
        assert f"silo north speaks protocol {PROTOCOL}" in answer["said"]


def test_other_versions_are_reported_in_one_line_and_the_same_in_none(tmp_path):
    _, said = met(tmp_path, east={"versions": {"rankproof": "0.0.9", "torch": "1.0\x1b[31m"}})
    (line,) = [text for text in said if "bits may differ" in text]
    assert line.startswith("silo east: rankproof 0.0.9 instead of the server's ")
    assert "torch 1.0 [31m instead" in line
    (line,) = [text for text in met(tmp_path, east={"versions": None})[1] if "bits may differ" in text]
    assert "torch unknown instead" in line
    assert not [text for text in met(tmp_path)[1] if "bits" in text]


def test_a_node_that_says_nothing_right_is_named_when_the_time_is_over(tmp_path):
    with pytest.raises(
        FederationError, match=r"no silo named east in 0.05 s; node 101 was refused: it is not a silo of"
    ):
        met(tmp_path, east={"silo": "eas\x1b[31mt"})


def waited(folder, change, seconds=0.1):
    """The message of a server that waits in vain."""
    line = Beside(silos_of(run_of("fedavg").problem.clients, NAMES, folder), change)
    with pytest.raises(FederationError) as error:
        Silos(NAMES, line, RUN, AnswerPolicy(seconds=seconds), pause=1e-3).meet()
    return str(error.value)


def test_a_node_that_has_come_in_since_is_not_blamed_for_one_that_has_not(tmp_path, monkeypatch):
    monkeypatch.setattr("runs.silos.membership.AGAIN", 0.0)
    asked = []

    def change(node, request, letter):
        asked.append(node)
        return "Flower's error" if node == 100 and asked.count(100) == 1 else None if node == 101 else letter

    # Long enough for a second round of questions on a busy machine.
    assert waited(tmp_path, change, seconds=1.0) == "no silo named east in 1 s; start it"
    assert asked.count(100) == 2


def test_why_a_node_was_refused_is_one_printable_line(tmp_path):
    said = waited(tmp_path, lambda node, request, letter: "lost\x1b[2J\n" * 1000 if node == 101 else letter)
    assert said.startswith("no silo named east in 0.1 s; node 101 was refused: lost [2J lost")
    assert said.isprintable()
    assert len(said) <= 2000


@dataclass(frozen=True, eq=False)
class Data:
    x: object
    samples: float = 3.0

    def loss(self, w, batch=None):
        return (w["W"] ** 2).sum()

    @functools.cached_property
    def computed(self):
        return torch.rand(3)


X = torch.arange(6.0).view(3, 2)


class OwnDeque(deque):
    pass


class OwnList(list):
    def __init__(self, site, values):
        super().__init__(values)
        self.site = site


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (X, X + 1e-6 * torch.eye(3, 2)),
        (X, X.double()),
        (X, X.view(2, 3)),
        (X, X.flip(0)),
        (X.numpy(), X.numpy() + 1.0),
        (X.bfloat16(), X.bfloat16() + 1.0),
        ([X, X[:1]], [X[:1], X]),
        ({"a": X}, {"b": X}),
        ((1.0, 2.0), (1.0, 2.5)),
        ("patients.csv", "patients-2.csv"),
        (b"ab", b"ac"),
        (np.array([1, "a"], dtype=object), np.array([1, "b"], dtype=object)),
        (torch.utils.data.TensorDataset(X), torch.utils.data.TensorDataset(X + 1.0)),
        (SimpleNamespace(x=X), SimpleNamespace(x=X * 2.0)),
        (functools.partial(torch.add, X), functools.partial(torch.add, -X)),
        (lambda w, x=X: x, lambda w, x=X + 1.0: x),
        (X.to_sparse(), (X + 1.0).to_sparse()),
        (torch.view_as_complex(X), torch.view_as_complex(X).conj()),
        ({"ab": "c"}, {"a": "bc"}),
        (["ab"], ["a", "b"]),
        (X > 2.0, X > 3.0),
        (range(4), range(4, 8)),
        (slice(0, 4), slice(4, 8)),
        (array.array("d", [1.0, 2.0]), array.array("d", [1.0, 3.0])),
        (deque([1.0, 2.0]), deque([1.0, 3.0])),
        (OwnDeque([1.0, 2.0]), OwnDeque([1.0, 3.0])),
        (OwnList("a", [1.0]), OwnList("b", [1.0])),
        (bytearray(b"ab"), bytearray(b"ac")),
        (memoryview(b"ab"), memoryview(b"ac")),
        (io.BytesIO(b"ab"), io.BytesIO(b"ac")),
        ([Decimal("0.1")], [Decimal("0.2")]),
        ([date(2020, 1, 1)], [date(2020, 1, 2)]),
        ({1: 2.0}.values(), {1: 3.0}.values()),
        (iter([1.0, 2.0]), iter([1.0, 3.0])),
        (deque([X]).__iter__(), deque([X + 1.0]).__iter__()),
        ([1.0, 2.0].__getitem__, [1.0, 3.0].__getitem__),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([1.0, 2.0], mask=[1, 0])),
        (np.array({1: 2.0}, dtype=object), np.array({1: 3.0}, dtype=object)),
        (torch.utils.data.Subset([X], range(4)), torch.utils.data.Subset([X], range(4, 8))),
        ([Image.new("L", (2, 2), 1)], [Image.new("L", (2, 2), 2)]),
        (pd.DataFrame({"a": [1, 1]}, index=[0, 1]), pd.DataFrame({"a": [1, 1]}, index=[1, 0])),
    ],
)
def test_other_data_of_the_same_size_have_another_fingerprint(one, other):
    assert fingerprint(Data(one)) != fingerprint(Data(other))
    assert fingerprint(Data(one)) == fingerprint(Data(one)) is not None


def opened():
    yield X


@pytest.mark.parametrize(("value", "kind"), [(opened(), "generator"), ([{"rows": opened()}], "generator")])
def test_what_a_fingerprint_does_not_cover_is_said(value, kind, tmp_path):
    assert fingerprint_of(Data(X)).unread == ()
    assert fingerprint_of(Data(value)).unread == (kind,)
    said = []
    line = Beside(silos_of([Data(value), Data(X)], NAMES[:2], tmp_path))
    Silos(NAMES[:2], line, RUN, AnswerPolicy(seconds=5.0), say=said.append, pause=1e-3).meet()
    (text,) = [text for text in said if "covers no" in text]
    assert text.startswith(f"silo north: the digest of its data covers no {kind}; ")


def test_a_client_that_holds_no_data_is_not_known_by_it():
    assert fingerprint(SimpleNamespace(root=None)) is None
    assert fingerprint(lambda: 1) is None


@pytest.mark.parametrize(
    ("value", "has_data"),
    [
        (40.0, False),
        ("patients.csv", False),
        ({"rate": 0.1, "folder": "a"}, False),
        (SimpleNamespace(count=3), False),
        (torch.tensor(3.0), False),
        (np.array(3.0), False),
        (date(2020, 1, 1), False),
        (functools.partial(print, 3), False),
        (lambda w, n=3: n, False),
        (nn.Linear(2, 3), False),
        (X, True),
        ([1.0, 2.0], True),
        ({"rows": [1.0, 2.0]}, True),
        ([SimpleNamespace(count=3)], True),
        (lambda w, x=X: x, True),
        (b"ab", True),
    ],
)
def test_single_numbers_and_texts_are_no_data(value, has_data, tmp_path):
    assert fingerprint_of(Data(value)).has_data == has_data
    said = []
    line = Beside(silos_of([Data(value), Data(X)], NAMES[:2], tmp_path))
    Silos(NAMES[:2], line, RUN, AnswerPolicy(seconds=5.0), say=said.append, pause=1e-3).meet()
    lines = [text for text in said if "has nothing that identifies its data" in text]
    assert [text.partition(":")[0] for text in lines] == ([] if has_data else ["silo north"])


class Tag:
    def __init__(self, number):
        self.number = number


class Kind(Enum):
    ONE = Tag(1)
    TWO = Tag(2)


def in_two_orders(kind):
    """Objects of the same contents, at other addresses and in another order."""
    tags = [Tag(number) for number in range(9)]
    return kind(tags), kind([Tag(tag.number) for tag in reversed(tags)])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        in_two_orders(set),
        in_two_orders(lambda tags: {tag: tag.number for tag in tags}),
        in_two_orders(lambda tags: {(tag, "a") for tag in tags}),
        in_two_orders(lambda tags: {frozenset(tags), frozenset(tags[4:5])}),
        ({frozenset([1, 9, 17])}, {frozenset([17, 9, 1])}),  # they collide, so their order is that of their making
        ({frozenset([1, 9, 17]): 1.0}, {frozenset([17, 9, 1]): 1.0}),
        (threading.Thread(target=print), threading.Thread(target=print)),
        (threading.Event(), threading.Event()),
    ],
)
def test_the_digest_does_not_depend_on_addresses(one, other):
    assert fingerprint(Data([X, one])) == fingerprint(Data([X, other]))


def test_a_logger_is_no_data(monkeypatch):
    logger = logging.getLogger("silo")
    made = [logger, logger.info, logging.LoggerAdapter(logger, {}), logging.StreamHandler()]
    before = [fingerprint(Data([X, one])) for one in made]
    monkeypatch.setattr(logger, "level", logging.DEBUG)
    monkeypatch.setattr(logger, "handlers", [logging.StreamHandler()])
    monkeypatch.setattr(made[3], "level", logging.DEBUG)
    assert [fingerprint(Data([X, one])) for one in made] == before


def test_what_sets_and_enumerations_hold_is_data():
    assert fingerprint(Data(Kind.ONE)) == fingerprint(Data(Kind.ONE)) != fingerprint(Data(Kind.TWO))
    assert fingerprint(Data({Tag(1)})) != fingerprint(Data({Tag(2)}))
    assert fingerprint(Data({Tag(1), Tag(2)})) == fingerprint(Data({Tag(2), Tag(1)})) != fingerprint(Data({Tag(1)}))
    assert fingerprint(Data({Tag(1): 2, Tag(2): 1})) != fingerprint(Data({Tag(1): 1, Tag(2): 2}))


def test_a_client_names_the_attributes_that_are_its_data():
    def made(x=X, **more):
        return SimpleNamespace(x=x, y=[1.0], fingerprint=("x", "y"), **more)

    assert fingerprint(made(began=1.0)) == fingerprint(made(began=2.0)) != fingerprint(made(X + 1.0, began=1.0))
    assert fingerprint_of(SimpleNamespace(count=3.0, fingerprint=("count",))).has_data
    with pytest.raises(FederationError, match="its client's fingerprint names 'z', and the client has no such attrib"):
        fingerprint(SimpleNamespace(x=X, fingerprint=["x", "z"]))
    for odd in (X, (), [1], {"x": 1}):
        with pytest.raises(FederationError, match=r"its client's fingerprint is a .*; make it a text"):
            fingerprint(SimpleNamespace(x=X, fingerprint=odd))


def test_a_fingerprint_that_names_nothing_ends_the_meeting_with_the_name_of_its_silo(tmp_path):
    line = Beside(silos_of([SimpleNamespace(samples=3.0, fingerprint=["z"]), Data(X)], NAMES[:2], tmp_path))
    with pytest.raises(FederationError, match=r"^silo north: its client's fingerprint names 'z'"):
        Silos(NAMES[:2], line, RUN, AnswerPolicy(seconds=5.0), pause=1e-3).meet()


def test_the_fingerprint_is_that_of_the_data_and_not_of_the_process():
    def made(**more):
        return SimpleNamespace(x=X.t().contiguous().t(), **more)

    assert fingerprint(made(net=nn.Linear(2, 3), draw=torch.Generator())) == fingerprint(
        made(net=nn.Linear(2, 3), draw=torch.Generator().manual_seed(1))
    )
    worked = Data(X)
    worked.computed  # noqa: B018
    assert fingerprint(worked) == fingerprint(Data(X.clone()))
    assert fingerprint(SimpleNamespace(fingerprint="files of May", x=X)) == fingerprint(
        SimpleNamespace(fingerprint="files of May", x=X + 1.0)
    )
    assert fingerprint(object()) is None
    ring = SimpleNamespace(x=X)
    ring.self = ring
    assert fingerprint(ring) is not None


def test_a_client_of_a_network_is_known_by_its_data_and_not_by_its_first_weights():
    def client(seed, shift=0.0):
        x, y = torch.arange(24.0).view(6, 4) + shift, torch.arange(6) % 3
        module = initialise(nn.Sequential(nn.Linear(4, 3)), seed, torch.float32)
        return network_problem(module, (x, y), Even().parts(y.numpy(), 2, 0), (x, y)).clients[0]

    assert fingerprint(client(0)) == fingerprint(client(1)) != fingerprint(client(0, shift=1.0))


def test_the_digest_of_the_data_needs_the_key_of_the_silo(tmp_path):
    own = fingerprint(Data(X))
    assert keyed_digest(tmp_path / "a", own) == keyed_digest(tmp_path / "a", own)
    assert keyed_digest(tmp_path / "a", own) != keyed_digest(tmp_path / "b", own) != own.hex()


def test_a_silo_that_comes_back_with_other_data_of_the_same_size_is_refused_by_name(tmp_path):
    parts = run_of("fedavg")
    there = Met(parts.problem.clients, tmp_path, parts.problem.start, seconds=0.5)
    assert len({about.data for about in there.executor.meet()}) == 3
    old = there.line.silos.pop(101)
    other = replace(parts.problem.clients[1], B=parts.problem.clients[1].B + 1.0)
    assert other.samples == old.client.samples
    there.line.silos[999] = replace(old, client=other)
    with pytest.raises(FederationError, match=r"no answer from east \(silo east came back with other data"):
        there.run(parts.algorithm, 1)


def test_a_server_that_goes_on_knows_the_data_of_its_silos(tmp_path):
    config = {"algorithm": "fedavg", "silos": "a,b", "folder": str(tmp_path / "results"), "seconds": 5.0, "steps": 2}

    def trained(rounds, *data):
        line = Beside(silos_of([Data(x) for x in data], "ab", tmp_path))
        return serve({**config, "rounds": rounds}, line, lambda: {"W": torch.ones(2, 2)})

    trained(1, X, X + 1.0)
    with pytest.raises(RunError, match="another content of silo b"):
        trained(2, X, X + 2.0)
    assert trained(2, X, X + 1.0)["round"] == 2


@dataclass(frozen=True, eq=False)
class Sized(Data):
    fingerprint: str = "files of May"


class Hidden:
    """A client that holds nothing that can be read."""

    samples = 3.0

    def loss(self, w, batch=None):
        return (w["W"] ** 2).sum()


def test_a_server_that_goes_on_takes_no_other_number_of_samples_however_close(tmp_path):
    config = {"algorithm": "fedavg", "silos": "a,b", "folder": str(tmp_path / "results"), "seconds": 5.0, "steps": 2}

    def trained(rounds, samples):
        line = Beside(silos_of([Sized(X, samples), Sized(X)], "ab", tmp_path))
        return serve({**config, "rounds": rounds}, line, lambda: {"W": torch.ones(2, 2)})

    trained(1, 10000.0)
    with pytest.raises(RunError, match="another sizes of silos"):
        trained(2, 10001.0)
    assert trained(2, 10000.0)["round"] == 2


def test_a_server_remembers_data_that_a_silo_could_not_read_for_a_time(tmp_path):
    config = {"algorithm": "fedavg", "silos": "a,b", "folder": str(tmp_path / "results"), "seconds": 5.0, "steps": 2}

    def trained(rounds, client):
        line = Beside(silos_of([client, Data(X)], "ab", tmp_path))
        return serve({**config, "rounds": rounds}, line, lambda: {"W": torch.ones(2, 2)})

    trained(1, Data(X + 1.0))
    assert trained(2, Hidden())["round"] == 2
    with pytest.raises(RunError, match="another content of silo a"):
        trained(3, Data(X + 2.0))
    assert trained(3, Data(X + 1.0))["round"] == 3


class Growing:
    """A silo whose data are those of the round, as with a function that reads them for each message."""

    def __init__(self, node, client):
        self.node, self.client = node, client

    def answer(self, letter):
        round = json.loads(letter.text).get("round", 0)
        return replace(self.node, client=self.client(round)).answer(letter)


def grown(folder, client, **patience):
    """Lines of a server whose silo east has other data in other rounds, and the last step of the run or its error."""
    parts = run_of("fedavg")
    there = Met(parts.problem.clients, folder, parts.problem.start, seconds=0.5, **patience)
    there.line.silos[101] = Growing(there.line.silos[101], lambda round: client(parts.problem.clients[1], round))
    try:
        return there.said, there.run(parts.algorithm, 3)[-1]
    except FederationError as error:
        return there.said, str(error)


def more(client, round):
    return replace(client, samples=client.samples + 990.0) if round >= 2 else client


def other(client, round):
    return replace(client, B=client.B + 1.0) if round >= 2 else client


@pytest.mark.parametrize(
    ("client", "why"), [(more, r"answered with [\d.e+]+ samples instead of"), (other, "answered with other data, ")]
)
def test_data_that_change_while_the_silo_stays_are_refused_by_name(client, why, tmp_path):
    said, error = grown(tmp_path / "a", client)
    assert re.match(f"round 2, local_descent: silo east: {why}", error)
    assert "; give it what it had, or begin another run" in error
    said, last = grown(tmp_path / "b", client, wrong="left out", least=2)
    assert last.state.round == 3
    assert [re.search(f"round 2, trip 1, silo east: refused, {why}", text) for text in said if "refused" in text] != []


def test_data_that_stay_the_same_are_taken(tmp_path):
    said, last = grown(tmp_path, lambda client, round: replace(client, B=client.B.clone()))
    assert last.state.round == 3
    assert len(said) == 3, "each is there"


def test_data_that_cannot_be_read_for_a_while_are_compared_later(tmp_path):
    def unreadable(client, round):
        return Unread(client) if round == 2 else client

    def then_other(client, round):
        return Unread(client) if round == 2 else other(client, round)

    said, last = grown(tmp_path / "a", unreadable)
    assert last.state.round == 3
    assert sum("silo east: its data cannot be read now" in text for text in said) == 1
    said, error = grown(tmp_path / "b", then_other)
    assert error.startswith("round 3, local_descent: silo east: answered with other data, ")


class Away(dict):
    """A table whose file cannot be read."""

    def items(self):
        raise OSError("the disk is away")


class Unread:
    """A client with data of which nothing can be read."""

    def __init__(self, client):
        self.client, self.rows = client, Away()

    def __getattr__(self, name):
        return getattr(self.client, name)


def test_answered_requests_are_forgotten_with_the_rounds_that_nobody_goes_back_to(tmp_path):
    keeping = ClientStore(tmp_path, RUN)
    for round in range(1, 41):
        for trip in range(3):
            keeping.answer_once(f"{round:016x}{trip:016x}", round)
    assert len(list((tmp_path / RUN / "answered").iterdir())) == 3 * HISTORY
    for nonce in (f"{40:016x}{0:016x}", f"{41 - HISTORY:016x}{2:016x}"):
        with pytest.raises(MessageError, match="answered before"):
            keeping.answer_once(nonce, 40)
    keeping.answer_once("f" * 32, 1)  # a run that was started over
    with pytest.raises(MessageError, match="answered before"):
        keeping.answer_once("f" * 32, 1)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("limit-mb", value) for value in (float("inf"), float("nan"), 0, -1, 1e300, True, "x")),
        *(("seconds", value) for value in (float("inf"), 0, True, "5")),
        ("again", "1"),
    ],
)
def test_a_config_that_cannot_be_is_refused_with_its_option_and_value(option, value, tmp_path):
    config = {"algorithm": "fedavg", "silos": "a,b", "folder": str(tmp_path / "results"), option: value}
    with pytest.raises(
        RunError, match=f"^the app's config: {option} must be a .*number.* got {re.escape(repr(value))}$"
    ):
        serve(config, Beside({}), lambda: {"W": torch.ones(2, 2)})


@pytest.mark.parametrize("name", ["a\x1b[31m", "<b>x</b>", "a&b", 'a"b', "a`b", "a|b", "a\\b", "a\nb", "a\u202eb"])
def test_names_that_would_do_something_where_they_are_shown_are_refused(name):
    with pytest.raises(RunError, match="silos' names must be printable") as refused:
        SiloSettings(f"north,{name}", 2)
    assert str(refused.value).isprintable()
    assert SiloSettings("São Paulo,O-2", 2).names == ("São Paulo", "O-2")


def test_what_is_said_about_a_silo_is_one_printable_line(tmp_path):
    parts = run_of("fedavg")
    met = Met(
        parts.problem.clients,
        tmp_path,
        parts.problem.start,
        lambda node, request, letter: "lost\x1b[2J\r\n" if json.loads(request.text).get("silo") == "east" else letter,
        least=2,
        seconds=0.2,
    )
    met.run(parts.algorithm, 1)
    assert any("did not answer, lost [2J" in text for text in met.said)
    assert all(text.isprintable() for text in met.said)


@pytest.mark.parametrize(
    "lie", [{"samples": 4.0}, {"data": "0" * 64}, {"values": True}, {"statistics": ["norm.mean"]}, {}], ids=str
)
@pytest.mark.parametrize("last", [False, True], ids=["before the others", "at the last hello"])
def test_a_node_that_left_before_the_run_began_binds_nobody_to_its_facts(lie, last, tmp_path):
    clients = run_of("fedavg").problem.clients
    honest = {
        about.name: about for about in (RemoteClient(n, *a) for n, a in zip(NAMES, met(tmp_path)[0], strict=True))
    }
    silos = silos_of(clients, NAMES, tmp_path)
    real = silos.pop(101)
    impostor = replace(real, client=clients[0] if not lie else real.client)

    def change(node, request, letter):
        return letter if node != 999 else Message(json.dumps({**json.loads(letter.text), **lie}), {})

    line = Beside({999: impostor, **(silos if last else {})}, change)
    receive = line.receive

    def leaving(tickets):
        yield from list(receive(tickets))
        if line.silos.pop(999, None):
            line.silos.update({101: real, **silos})

    line.receive = leaving
    found = Silos(NAMES, line, RUN, AnswerPolicy(seconds=5.0), pause=1e-3).meet(["W"])
    assert found == [about_of(honest[name]) for name in NAMES]


def about_of(distant):
    return distant.samples, distant.takes_values, distant.statistics, distant.data


def test_a_silo_that_came_back_otherwise_before_the_run_began_is_taken_as_it_is_now(tmp_path):
    """A silo that is mended while the server waits for the others."""
    clients = run_of("fedavg").problem.clients
    silos = silos_of(clients, NAMES, tmp_path)
    last = silos.pop(102)
    line = Beside(silos)
    looks = []

    def nodes():
        looks.append(1)
        if len(looks) == 3:
            line.silos[201] = replace(line.silos.pop(101), client=replace(clients[1], B=clients[1].B[:1]))
        if len(looks) == 6:
            line.silos[102] = last
        return list(line.silos)

    line.nodes = nodes
    silos = Silos(NAMES, line, RUN, AnswerPolicy(seconds=5.0), pause=1e-3)
    assert silos.meet()[1].data != met(tmp_path)[0][1].data
