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
from algorithms.tree import Tree, tensors
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
        facts = {"samples": 1.0, "values": False, "statistics": [], "data": ""}
        content = {"echo": echo, "kind": "done", "upload": self.packed.structure, "keep": {}, "personal": {}}
        content["facts"] = facts
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


class Counting:
    """A client that counts how often its loss is asked for, and may do something meanwhile."""

    fingerprint = "counted"

    def __init__(self, client, meanwhile=lambda: None):
        self.client, self.asked, self.meanwhile = client, 0, meanwhile

    samples = property(lambda self: self.client.samples)

    def loss(self, w, batch=None):
        self.asked += 1
        self.meanwhile()
        return self.client.loss(w, batch)


class Queue(Beside):
    """A line on which the silo east answers only once it was asked several times, one request after the other."""

    def __init__(self, silos, times):
        super().__init__(silos)
        self.times, self.held = times, []

    def send(self, node, letter, seconds):
        if node != 101 or json.loads(letter.text)["kind"] == "hello":
            return super().send(node, letter, seconds)
        self.held.append((str(next(self._tickets)), letter))
        return self.held[-1][0]

    def receive(self, tickets):
        if len(self.held) >= self.times:
            held, self.held = self.held, []
            self._answers |= {ticket: self.silos[101].answer(letter) for ticket, letter in held}
        yield from super().receive(tickets)


def in_a_queue(name, folder, times, rounds_=2, **patience):
    """The last step of a run whose silo east is asked several times, its client, and what the server said."""
    run = run_of(name)
    met = Met(run.problem.clients, folder, run.problem.start)
    client = Counting(run.problem.clients[1])
    met.line = Queue({**met.line.silos, 101: replace(met.line.silos[101], client=client)}, times)
    met.executor = Silos(
        NAMES, met.line, RUN, AnswerPolicy(**{"seconds": 20.0, **patience}), say=met.said.append, pause=1e-3
    )
    met.executor.meet()
    return met.run(run.algorithm, rounds_)[-1], client, met


@pytest.mark.parametrize("name", ["fedavg", "pfedloru", "fedlrt-full"])
def test_a_silo_that_is_asked_again_does_its_work_once(name, tmp_path):
    once, client, _ = in_a_queue(name, tmp_path / "a", 1, again=19.0)
    again, other, met = in_a_queue(name, tmp_path / "b", 3, again=1e-3)
    assert client.asked == other.asked > 0
    assert all(
        torch.equal(a, b) for a, b in zip(tensors(once.state.algorithm), tensors(again.state.algorithm), strict=True)
    )
    assert sum("silo east: asked again" in text for text in met.said) >= 4
    done = [path.name for path in (tmp_path / "b" / "east" / RUN / "done").iterdir()]
    assert done
    assert all(name.startswith("2-") for name in done), "answers of earlier rounds are gone"


def test_a_silo_that_is_still_working_says_so_and_does_nothing(tmp_path):
    node, letter = request(tmp_path)
    content, said = json.loads(letter.text), []

    def ask(nonce, **changes):
        copy = Message(json.dumps({**content, "nonce": nonce * 32, **changes}), letter.blobs)
        return json.loads(working.answer(copy).text)

    client = Counting(node.client, lambda: said.append(ask(f"{client.asked}")["kind"]))
    working = replace(node, client=client)
    assert ask("a")["kind"] == "done"
    assert said == ["working"] * client.asked
    assert client.asked
    before = client.asked
    assert ask("b")["kind"] == "done"
    assert client.asked == before, "a copy is answered from what is there"
    client.meanwhile = lambda: None
    assert ask("c", turn="0" * 32)["kind"] == "done"
    assert client.asked == 2 * before, "another exchange is work again"


@pytest.mark.parametrize("damage", [lambda data: data[:-1] + b"!", lambda data: b"", lambda data: data[:32]])
def test_a_damaged_answer_is_worked_out_again(damage, tmp_path):
    node, letter = request(tmp_path)
    (path,) = (tmp_path / "east" / RUN / "done").iterdir()
    own = path.read_bytes()
    path.write_bytes(damage(own))
    assert json.loads(node.answer(letter).text)["kind"] == "done"
    assert path.read_bytes() == own


def test_an_answer_whose_state_is_gone_is_worked_out_again(tmp_path):
    run, captured = run_of("pfedloru"), []
    met = Met(run.problem.clients, tmp_path, run.problem.start, lambda n, asked, a: captured.append(asked) or a)
    met.run(run.algorithm, 1)
    (whole,) = [letter for letter in captured if json.loads(letter.text).get("silo") == "east"]
    own = tmp_path / "east" / RUN / "own"
    there = {path.name for path in own.iterdir()}
    for path in own.iterdir():
        path.unlink()
    copy = Message(json.dumps({**json.loads(whole.text), "nonce": "1" * 32}), whole.blobs)
    assert json.loads(met.line.silos[101].answer(copy).text)["kind"] == "done"
    assert {path.name for path in own.iterdir()} == there


def test_a_silo_that_says_it_is_working_for_ever_is_missing_and_the_settings_are_named(tmp_path):
    run = run_of("fedavg")

    def busy(node, asked, letter):
        content = json.loads(letter.text)
        east = json.loads(asked.text).get("silo") == "east"
        return Message(json.dumps({"echo": content["echo"], "kind": "working"}), {}) if east else letter

    met = Met(run.problem.clients, tmp_path, run.problem.start, busy, seconds=0.2, again=0.01)
    with pytest.raises(
        FederationError, match=r"answer from east; .* 0\.2 s \(`seconds`\).* 0\.01 s \(`again`\): raise"
    ):
        met.run(run.algorithm, 1)
    assert any("silo east: is still working" in text for text in met.said)


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


def kept_after(folder, between):
    """Rounds whose versions a silo keeps of 20, after something has happened to its folder in the middle."""
    tokens = {}
    for round in range(1, 21):
        keeping = ClientStore(folder, RUN)
        tokens[round] = keeping.put("p", round, pack(torch.ones(3) * round, {}))
        keeping.tidy(round, {tokens[round]})
        if round == 12:
            between(folder)
    return [round for round, token in tokens.items() if (folder / RUN / "own" / token).exists()]


def set_back(folder):
    """Give all files times of the future, as after the clock was set back."""
    for path in folder.rglob("*"):
        os.utime(path, ns=(4 * 10**18, 4 * 10**18))


def lose_times(folder):
    """Give all files the same time, as a copy may."""
    for path in folder.rglob("*"):
        os.utime(path, ns=(0, 0))


@pytest.mark.parametrize(
    "between", [set_back, lose_times, lambda folder: (folder / RUN / "rounds").unlink(), lambda folder: None]
)
def test_which_versions_are_the_last_does_not_depend_on_clocks(between, tmp_path):
    assert kept_after(tmp_path, between) == [13, 14, 15, 16, 17, 18, 19, 20]


def test_the_list_of_rounds_stays_short(tmp_path):
    keeping = ClientStore(tmp_path, RUN)
    first = keeping.put("p", 1, pack(torch.ones(3), {}))
    (tmp_path / RUN / "rounds").write_bytes(b"".join(b"%d\n" % round for round in (*range(2000), 7)))
    keeping.answer_once("a" * 32, 7)
    keeping.answer_once("b" * 32, 2001)
    assert (tmp_path / RUN / "rounds").read_bytes().split() == [b"1", b"7", b"2001"]
    keeping.tidy(2001, ())
    keeping.take(first)


def test_files_of_others_in_the_folder_of_a_silo_stay(tmp_path):
    keeping = ClientStore(tmp_path, RUN)
    own = ("notes.txt", "2 things.md", ".2-b", "2-" + "g" * 64)
    paths = [tmp_path / RUN / place / name for place in ("own", "told", "answered", "done") for name in own]
    for path in paths:
        path.write_text("1 mine")
    for round in range(1, HISTORY + 3):
        token = keeping.put("p", round, pack(torch.ones(3) * round, {}))
        keeping.answer_once(f"{round:032x}", round)
        keeping.keep_broadcast({}, ())
        keeping.keep_answer(round, "a" * 64, Packed({"keep": {}, "personal": {"w": token}}, b""))
        keeping.tidy(round, {token})
    assert [path.read_text() for path in paths] == ["1 mine"] * len(paths)
    assert [path.name for path in (tmp_path / RUN / "done").glob("*" + "a" * 64)] == [f"{HISTORY + 2}-{'a' * 64}"]
    assert len(list((tmp_path / RUN / "answered").glob("0*"))) == HISTORY


def test_values_that_were_broadcast_stay_as_long_as_they_are_needed(tmp_path):
    keeping = ClientStore(tmp_path, RUN)
    values = {one.digest: one for one in (pack(torch.ones(size), {}) for size in (2, 3, 4))}
    first, second, third = values
    for new, needed in ((values, {first, third}), ({}, {second, third})):
        keeping.keep_broadcast(new, needed)
        kept = {digest for digest in values if keeping.load_broadcast(digest) is not None}
        assert kept == needed - (set() if new else {second})
    with pytest.raises(MessageError, match="does not match its digest"):
        keeping.keep_broadcast({first: values[second]}, values)
    assert keeping.load_broadcast(first) is None


def test_the_answers_of_one_round_are_kept(tmp_path):
    """The round asked for last: a run that is started over begins again, below the rounds of the run before."""
    keeping = ClientStore(tmp_path, RUN)
    tokens = {name: keeping.put(kind, 1, pack(torch.ones(3), {})) for name, kind in (("keep", "k"), ("personal", "p"))}
    answer = Packed({name: {"w": token} for name, token in tokens.items()}, b"x")
    works = "a" * 64, "b" * 64
    for round in (3, 1, 2):
        for work in works:
            keeping.keep_answer(round, work, answer)
        found = [(other, work) for other in (1, 2, 3) for work in works if keeping.find_answer(other, work)]
        assert found == [(round, work) for work in works]
    for token in tokens.values():  # an answer refers to values, of which each has to be here
        path = tmp_path / RUN / "own" / token
        data = path.read_bytes()
        path.unlink()
        assert keeping.find_answer(2, works[0]) is None
        path.write_bytes(data)
    (tmp_path / RUN / "done" / f"2-{'c' * 64}").write_bytes((tmp_path / RUN / "done" / f"2-{works[0]}").read_bytes())
    assert keeping.find_answer(2, works[0]) is not None
    assert keeping.find_answer(2, "c" * 64) is None  # the seal is that of another work


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
