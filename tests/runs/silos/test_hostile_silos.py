"""Answers and requests of somebody who means harm: each is refused, and the round is as if it had not come."""

import json
import os
import resource
import stat
from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from silo_line import Beside
from test_silos import NAMES, RUN, Met
from test_silos import given as run_of

from algorithms.descent import Descent
from algorithms.fedavg import local_descent
from algorithms.federation import Federation, FederationError
from algorithms.tree import Tree
from runs.silos.client_store import HISTORY, ClientStore, keyed_digest
from runs.silos.executor import Silos
from runs.silos.node import ECHOED
from runs.silos.problem import RemoteClient
from runs.silos.transport import AnswerPolicy
from runs.silos.wire import PROTOCOL, Limits, Message, MessageError, Packed, pack, read, unpack

ROOM = 100_000  # KiB that a few hundred refused answers may take


def answer(letter):
    return json.loads(letter.text), dict(letter.blobs)


def uploaded(value):
    """An honest answer but for its upload."""

    def change(letter):
        content, _ = answer(letter)
        packed = pack(value, {})
        return Message(json.dumps({**content, "upload": packed.structure}), {"upload": packed.blob})

    return change


def said(**changes):
    def change(letter):
        content, blobs = answer(letter)
        return Message(json.dumps({**content, **changes}), blobs)

    return change


def echoed(**changes):
    def change(letter):
        content, blobs = answer(letter)
        return Message(json.dumps({**content, "echo": {**content["echo"], **changes}}), blobs)

    return change


def blob(made):
    return lambda letter: Message(letter.text, {"upload": made(letter.blobs["upload"])})


def laid_out(*layout):
    return said(upload={"tree": {"W": {"tensor": ["0", *layout]}}})


def header(text):
    """A file of tensors that says anything of itself."""
    return lambda data: len(text).to_bytes(8, "little") + text + data[-640:]


W = torch.zeros(10, 8, dtype=torch.float64)
SHAPES = st.lists(st.integers(0, 12), max_size=4).filter(lambda shape: shape != [10, 8])
NESTED = "[" * 5000 + "]" * 5000
HOSTILE = st.one_of(
    SHAPES.map(lambda shape: uploaded(Tree(W=torch.zeros(shape, dtype=torch.float64)))),
    st.sampled_from([torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.uint8]).map(
        lambda kind: uploaded(Tree(W=W.to(kind)))
    ),
    st.tuples(st.integers(0, 79), st.sampled_from([float("nan"), float("inf"), -float("inf")])).map(
        lambda odd: uploaded(Tree(W=W.flatten().index_fill(0, torch.tensor(odd[0]), odd[1]).view(10, 8)))
    ),
    st.sampled_from(
        [W, (W,), {"W": W}, Tree(V=W), Tree(W=W, V=W), Tree(), (), None, "text", 3, [W], Tree(W=W[None])]
    ).map(uploaded),
    st.integers(1, 700).map(lambda cut: blob(lambda data: data[:-cut])),
    st.binary(max_size=200).map(lambda data: blob(lambda _: data)),
    st.binary(min_size=1, max_size=30).map(lambda data: blob(lambda own: own + data)),
    st.integers(70_000, 3_000_000).map(lambda size: blob(lambda _: bytes(size))),
    st.sampled_from(
        [
            b'{"0":{"dtype":"F64","shape":[1000000000,1000000000],"data_offsets":[0,640]}}',
            b'{"0":{"dtype":"F64","shape":[10,8],"data_offsets":[0,6400000000]}}',
            b'{"0":{"dtype":"F64","shape":[0,9000000000000000000],"data_offsets":[0,0]}}',
            b'{"0":{"dtype":"X","shape":[10,8],"data_offsets":[0,640]}}',
            b"{}",
            b"[" * 5000,
        ]
    ).map(lambda text: blob(header(text))),
    st.sampled_from(
        [
            ([10**12, 1], 0),
            ([8, -1], 0),
            ([8, 1], 10**12),
            ([8, 1], -1),
            ([8], 0),
            ("ab", 0),
            ([8.0, 1], 0),
            ([True, 1], 0),
            ([0, 10**15], 0),
            (None, 0),
            ([],),
            ([8, 1], 0, 1),
        ]
    ).map(lambda layout: laid_out(*layout)),
    st.sampled_from(
        [
            {"named": "os.system", "fields": [{"value": "true"}]},
            {"named": "builtins.eval", "fields": []},
            {"named": "algorithms.adapter.AB", "fields": [{"value": 1}]},
            {"factors": "algorithms.weights.Added", "fields": []},
            {"value": 1.0},
            {"tensor": ["no"]},
            {"tensor": []},
            {"tensor": "0"},
            {"tree": [1]},
            {"mapping": [[1]]},
            {},
            [],
            7,
            {"tree": {"W": {"tree": {}}}},
            "0",
            {"named": "algorithms.descent.Descent", "fields": []},
        ]
    ).map(lambda odd: said(upload=odd)),
    st.sampled_from(
        [
            {"kind": "hello"},
            {"kind": "trip"},
            {"kind": None},
            {"kind": "missing", "values": 3},
            {"keep": 1},
            {"keep": {"w": "../../../etc/passwd"}},
            {"personal": {"w": "p1-" + "g" * 64}},
            {"keep": {"w": "k2-" + "0" * 64}},
            {"personal": {str(name): "p1-" + "0" * 64 for name in range(1000)}},
            {"keep": {"w\0": "k1-" + "0" * 64}},
            {"keep": {"w\x1b[2J": "k1-" + "0" * 64}},
            {"personal": {"w" * 100_000: "p1-" + "0" * 64}},
            {"personal": {"\ud800": "p1-" + "0" * 64}},
            {"personal": {"w": "p\u0661-" + "0" * 64}},
            {"upload": None},
            {"echo": None},
        ]
    ).map(lambda odd: said(**odd)),
    st.sampled_from(
        [
            {"round": 7},
            {"round": -1},
            {"trip": 9},
            {"nonce": "0" * 32},
            {"silo": "north"},
            {"run": "ff" * 6},
            {"more": 1},
            {"round": 0.0},
            {"round": False},
        ]
    ).map(lambda odd: echoed(**odd)),
    st.sampled_from(
        ["", "[]", "7", "null", "{", NESTED, '{"a":' + NESTED + "}", '{"kind": NaN}', "{}", "9" * 5000]
    ).map(lambda text: lambda letter: Message(text, letter.blobs)),
    st.text(max_size=40).map(lambda text: lambda letter: Message(text, letter.blobs)),
    st.integers(1, 300).map(lambda cut: lambda letter: Message(letter.text[:-cut], letter.blobs)),
    st.sampled_from([{}, {"other": b""}, {"upload": b"", "more": b"1"}]).map(
        lambda blobs: lambda letter: Message(letter.text, blobs)
    ),
)


class Quick:
    """A silo that has always done its work: its upload is its number in every place."""

    def __init__(self, name):
        self.name, self.packed = name, pack(Tree(W=W + 1.0 + NAMES.index(name)), {})

    def answer(self, letter):
        asked = json.loads(letter.text)
        echo = {name: asked[name] for name in ECHOED if name in asked}
        if asked["kind"] == "hello":
            about = {"silo": self.name, "samples": 1.0, "values": False, "statistics": [], "data": ""}
            about["protocol"] = PROTOCOL
            return Message(json.dumps({"echo": echo, "kind": "hello", **about}), {})
        content = {"echo": echo, "kind": "done", "upload": self.packed.structure, "keep": {}, "personal": {}}
        return Message(json.dumps(content), {"upload": self.packed.blob})


def mean_of(change, **patience):
    """The mean of what three silos send, one of which is hostile; and what the server said."""
    line, said = Beside({place: Quick(name) for place, name in enumerate(NAMES)}), []
    patience = AnswerPolicy(**{"seconds": 2.0, "again": 1.0, **patience})
    silos = Silos(NAMES, line, RUN, patience, say=said.append, pause=1e-4)
    silos.meet()
    line.change = lambda node, request, letter: change(letter) if node == 1 else letter
    fed = Federation([RemoteClient(name, 1.0, False, frozenset()) for name in NAMES], executor=silos)
    settings = Descent(learning_rate=0.1)
    return fed.mean(local_descent, to=(0, 1, 2), draw=settings.draw, w=Tree(W=W), settings=settings)["W"], said


def test_an_honest_answer_is_taken():
    mean, said = mean_of(lambda letter: letter)
    assert torch.equal(mean, W + 2.0)
    assert not [text for text in said if "trip" in text]


@pytest.mark.slow
@pytest.mark.hypothesis
@settings(max_examples=max(300, settings().max_examples), suppress_health_check=[HealthCheck.too_slow])
@given(HOSTILE)
@example(blob(lambda _: bytes(60_000_000)))
def test_hostile_answers_are_refused_and_change_nothing(hostile):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mean, said = mean_of(hostile, wrong="left out", least=2)
    assert torch.equal(mean, W + 2.0), "of the first and the third"
    assert any("silo east: refused" in text or "silo east: missing" in text for text in said)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < ROOM


@pytest.mark.hypothesis
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(HOSTILE)
def test_a_hostile_answer_ends_the_round_with_the_name_of_its_silo(hostile):
    with pytest.raises(FederationError, match=r"local_descent: (silo east: |2 of 3 silos answered.* east)"):
        mean_of(hostile)


def test_an_answer_to_an_earlier_round_is_refused(tmp_path):
    """A whole and honest answer, sent again in the next round."""
    first = []

    def again(node, request, letter):
        if json.loads(request.text).get("silo") != "east":
            return letter
        first.append(letter)
        return first[0]

    run = run_of("fedavg")
    met = Met(run.problem.clients, tmp_path, run.problem.start, again)
    with pytest.raises(FederationError, match="round 2, local_descent: silo east: answers another request"):
        met.run(run.algorithm)


def test_uploads_that_only_differ_in_form_are_compared_where_nothing_else_tells(tmp_path):
    """Work that needs more than a loss cannot be rehearsed at the server."""
    run = run_of("rolora-exact")

    def wider(node, request, letter):
        asked = json.loads(request.text)
        if asked.get("silo") != "east":
            return letter
        content, blobs = json.loads(letter.text), dict(letter.blobs)
        upload = unpack(Packed(content["upload"], blobs["upload"]), {})
        packed = pack(Tree({name: torch.cat([entry, entry]) for name, entry in upload.items()}), {})
        return Message(json.dumps({**content, "upload": packed.structure}), {"upload": packed.blob})

    met = Met(run.problem.clients, tmp_path / "a", run.problem.start, wider)
    with pytest.raises(FederationError, match="silo east: an upload whose form, or whose names"):
        met.run(run.algorithm, 1)
    met = Met(run.problem.clients[:2], tmp_path / "b", run.problem.start, wider, names=NAMES[:2])
    with pytest.raises(FederationError, match="north, east sent uploads of different forms"):
        met.run(run.algorithm, 1)


def request(node_folder, **changes):
    """A request to the silo east as a server sends it, but for some changes."""
    captured = []
    run = run_of("fedavg")
    met = Met(
        run.problem.clients,
        node_folder,
        run.problem.start,
        lambda node, asked, letter: captured.append(asked) or letter,
    )
    met.run(run.algorithm, 1)
    (whole,) = [letter for letter in captured if json.loads(letter.text).get("silo") == "east"]
    content = {**json.loads(whole.text), "nonce": "1" * 32, **changes}
    return met.line.silos[101], Message(json.dumps(content), whole.blobs)


SENT = {"named": "algorithms.descent.Descent", "fields": [{"value": 1}] * 7}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"work": "os.system"}, "not registered work"),
        ({"work": "fedavg._hidden"}, "not registered work"),
        ({"work": "builtins.eval"}, "not registered work"),
        ({"work": 3}, "lacks work"),
        ({"run": "../../up"}, "names no run"),
        ({"silo": "north"}, "is for the silo 'north'"),
        ({"nonce": "../x"}, "number of its own"),
        ({"round": -1}, "lacks round"),
        ({"kind": "shell"}, "an unknown kind"),
        ({"kept": {"w": "../secret"}}, "asks for a value that no silo keeps"),
        ({"personal": {"LU": "p3-" + "0" * 64}}, "kept in round 3, which is missing"),
        ({"seed": 2**70}, "lacks seed"),
        ({"shared": {"base": "../../secret"}}, ""),
        ({"told": {"../../planted": {"value": 1}}}, "lacks the tensors"),
        ({"sent": SENT}, ""),
        ({"sent": {"named": "subprocess.Popen", "fields": []}}, "is not a message of a silo or its server"),
        ({"sent": {"value": 1}}, "lacks the arguments of the work"),
        ({"number": True}, "lacks number"),
    ],
)
def test_a_silo_does_no_work_that_is_not_registered_and_reads_no_file_that_is_not_its_own(changes, why, tmp_path):
    node, letter = request(tmp_path / "silos", **changes)
    files = {path for path in tmp_path.rglob("*") if path.parent.name != "answered"}
    content = json.loads(node.answer(letter).text)
    assert content["kind"] == ("missing" if "shared" in changes else "failed")
    assert why in content.get("said", why)
    assert {path for path in tmp_path.rglob("*") if path.parent.name != "answered"} <= files


def test_a_request_is_answered_once(tmp_path):
    node, letter = request(tmp_path)
    assert json.loads(node.answer(letter).text)["kind"] == "done"
    assert "was answered before" in json.loads(node.answer(letter).text)["said"]


def test_an_error_of_a_client_says_nothing_of_its_data(tmp_path, capsys):
    node, letter = request(tmp_path)

    class Broken:
        samples = 1.0

        def loss(self, w, batch=None):
            raise KeyError("patient 17")

    content = json.loads(replace(node, client=Broken()).answer(letter).text)
    assert content["said"] == "a KeyError; see the silo's log"
    assert "patient 17" in capsys.readouterr().err


def test_letters_are_measured_before_they_are_taken_apart():
    for letter in (
        Message("{}", {"a": bytes(11)}),
        Message("{" + " " * 50 + "}", {}),
        Message("{}", {"a": b"", "b": b""}),
    ):
        with pytest.raises(MessageError, match="at most"):
            read(letter, Limits(bytes=10, text=20, blobs=1))
    with pytest.raises(MessageError, match="deep"):
        read(Message('{"a": [[[[1]]]]}', {}), Limits(depth=4))


def test_what_a_silo_keeps_is_found_out_when_it_is_damaged(tmp_path):
    keeping = ClientStore(tmp_path, RUN)
    token = keeping.put("p", 1, pack(torch.ones(3), {}))
    assert torch.equal(unpack(keeping.take(token), {}), torch.ones(3))
    path = tmp_path / RUN / "own" / token
    path.write_bytes(path.read_bytes()[:-1] + b"\1")
    with pytest.raises(MessageError, match="damaged"):
        keeping.take(token)


def test_a_request_that_comes_late_takes_nothing_from_later_rounds(tmp_path):
    keeping = ClientStore(tmp_path, RUN)
    kept = {round: keeping.put("k", round, pack(torch.ones(3) * round, {})) for round in (1, 2, 3)}
    personal = {round: keeping.put("p", round, pack(torch.ones(3) * round, {})) for round in range(1, 20)}
    keeping.tidy(2, {personal[1]})
    for token in (kept[2], kept[3], personal[1], *(personal[round] for round in range(12, 20))):
        keeping.take(token)
    for token in (kept[1], personal[2], personal[11]):
        with pytest.raises(MessageError, match="which is missing"):
            keeping.take(token)


@pytest.mark.parametrize("other", [0.0, 0.5])
def test_a_run_that_was_started_over_keeps_its_own_last_rounds(other, tmp_path):
    """Rounds of the run before have higher numbers, and where nothing has changed the same values."""
    keeping = ClientStore(tmp_path, RUN)

    def did(round, more):
        token = keeping.put("p", round, pack(torch.ones(3) * round + more, {}))
        keeping.tidy(round, {token})
        return token

    for round in range(1, 41):
        did(round, 0.0)
    again = [did(round, other) for round in range(1, 21)]
    for token in again[-HISTORY:]:
        keeping.take(token)
    for token in again[:-HISTORY]:
        with pytest.raises(MessageError, match="which is missing"):
            keeping.take(token)
    assert len(list((tmp_path / RUN / "own").iterdir())) == HISTORY


def test_what_a_silo_keeps_is_for_its_own_user(tmp_path):
    """Personal factors never leave the silo, so nobody else of its machine reads them."""
    before = os.umask(0o022)
    try:
        request(tmp_path / "silos")
    finally:
        os.umask(before)
    for name in NAMES:
        assert stat.S_IMODE(next((tmp_path / "silos" / name).glob("[0-9a-f]*/")).stat().st_mode) == 0o700


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_damaged_secret_makes_no_digest(size, tmp_path):
    """With an empty key, anybody could compare digests with those of their own guesses."""
    (tmp_path / "secret").write_bytes(bytes(size))
    for use in (lambda: keyed_digest(tmp_path, b"data"), lambda: ClientStore(tmp_path, RUN)):
        with pytest.raises(FederationError, match="secret of the silo's folder is damaged; restore it, or begin with"):
            use()
