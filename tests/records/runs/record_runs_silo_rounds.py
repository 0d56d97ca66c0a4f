"""Records of rounds of silos: requests and their answers, what a silo keeps, and what the server refuses."""

import io
import json
from contextlib import redirect_stderr
from itertools import count

import torch
from hidden_folder import in_folder
from recording import refused

from algorithms.descent import Descent
from algorithms.federation import Acknowledgement, Exchange, Reply
from algorithms.tree import Tree
from runs.index import sign_index
from runs.silos.executor import Silos, _require_numbers, _tokens
from runs.silos.node import Node
from runs.silos.server import _known_data, _known_left_out, _name_of, _read_config, _round, serve
from runs.silos.transport import AnswerPolicy
from runs.silos.wire import Message, to_json

RUN, NAMES = "0123456789ab", ("north", "south", "west")


class _Client:
    """A quadratic loss around a point; its size is its number of samples."""

    takes_values, statistics = False, frozenset()

    def __init__(self, samples, point=0.0, scale=1.0):
        self.samples, self.point, self.scale = samples, torch.full((2,), point, dtype=torch.float64), scale

    def loss(self, w, batch=None):
        return self.scale * (w["w"] - self.point).square().sum() / 2


class _Line:
    def __init__(self, silos, change):
        self.silos, self.change, self.tickets, self.answers = silos, change, count(), {}

    def nodes(self):
        return [*self.silos]

    def send(self, node, message, seconds):
        ticket = str(next(self.tickets))
        answer = self.change(node, message, self.silos[node].answer(message))
        if answer is not None:
            self.answers[ticket] = answer
        return ticket

    def receive(self, tickets):
        for ticket in [ticket for ticket in tickets if ticket in self.answers]:
            yield ticket, self.answers.pop(ticket)


def _nodes(folder, clients, names=NAMES):
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "secret").write_bytes(b"s" * 32)
    return {
        10 + k: Node(name, client, folder / name) for k, (name, client) in enumerate(zip(names, clients, strict=True))
    }


def _silos(folder, clients, change=lambda node, request, answer: answer, **policy):
    said, names = [], NAMES[: len(clients)]
    line = _Line(_nodes(folder, clients, names), change)
    policy = AnswerPolicy(**{"seconds": 3.0, "again": 2.0, **policy})
    return Silos(names, line, RUN, policy, say=said.append, pause=0.0), said


def _trip(silos, work, cohort=(0, 1, 2), round_=1, number=1, **sent):
    w = Tree({"w": torch.tensor([1.0, 2.0], dtype=torch.float64)})
    return Exchange(
        **{"round": round_, "number": number, "work": work, "cohort": cohort, "clients": [], "sent": {"w": w, **sent}},
        **{"each": {}, "then": None, "seed": 0, "draw": None, "kept": {}, "personal": {}, "equipped": {}, "shared": {}},
    )


def _descent():
    from algorithms.fedavg import local_descent

    return local_descent, Descent(steps=1, learning_rate=0.5)


@in_folder
def sums_over_silos(folder):
    work, local = _descent()
    silos, said = _silos(folder, [_Client(3, 1.0), _Client(5, 2.0), _Client(2, -1.0)])
    facts = silos.meet({"w"})
    yield [[one.samples, one.values, one.statistics, len(one.data)] for one in facts]
    total, told = silos.sum(_trip(silos, work, settings=local), [0.5, 0.25, 0.25])
    yield total["w"], all(isinstance(one, Acknowledgement) for one in told), len(told)
    yield [line.partition(": rankproof")[0] for line in said], silos.left_out, silos.suspects
    replies = list(silos.replies(_trip(silos, work, (2, 0), number=2, settings=local)))
    yield [reply.upload["w"] for reply in replies]


@in_folder
def sums_without_a_silo(folder):
    work, local = _descent()

    def change(node, request, answer):
        return "it is off" if node == 11 and json.loads(request.text)["kind"] == "trip" else answer

    silos, said = _silos(folder, [_Client(3, 1.0), _Client(5, 2.0), _Client(2, -1.0)], change, least=2)
    silos.meet()
    total, told = silos.sum(_trip(silos, work, settings=local), [0.5, 0.25, 0.25])
    yield total["w"], len(told), [line for line in said if "round" in line]
    silos._patience = AnswerPolicy(seconds=3.0, again=2.0)
    yield refused(silos.sum, _trip(silos, work, number=2, settings=local), [0.5, 0.25, 0.25])
    yield refused(silos.replies, _trip(silos, work, (1,), 2, settings=local))


def _changed(answer, **changes):
    return Message(json.dumps({**json.loads(answer.text), **changes}), answer.blobs)


ANSWERS = {
    "another echo": lambda answer: _changed(answer, echo={}),
    "failed": lambda answer: _changed(answer, kind="failed", said="no\ndata"),
    "unknown": lambda answer: _changed(answer, kind="more"),
    "no facts": lambda answer: _changed(answer, facts=None),
    "keeps": lambda answer: _changed(answer, keep={"a": "k1-" + "0" * 64}),
    "keeps wrongly": lambda answer: _changed(answer, keep={"a": "k2-" + "0" * 64}),
    "other tensors": lambda answer: Message(answer.text, {"upload": answer.blobs["upload"][:-1]}),
    "no upload": lambda answer: Message(answer.text, {}),
    "large": lambda answer: Message(answer.text, {"upload": answer.blobs["upload"] + b"0" * 70000}),
}


def _refused_answer(folder, name, **policy):
    work, local = _descent()

    def change(node, request, answer):
        return ANSWERS[name](answer) if node == 11 and json.loads(request.text)["kind"] == "trip" else answer

    silos, _ = _silos(folder / name, [_Client(3, 1.0), _Client(5, 2.0), _Client(2, -1.0)], change, **policy)
    silos.meet()
    found = refused(silos.sum, _trip(silos, work, settings=local), [0.5, 0.25, 0.25])
    return found if isinstance(found, str) else [found[0]["w"], silos.left_out]


@in_folder
def answers_to_another_request(folder):
    return [_refused_answer(folder, name) for name in ("another echo", "failed", "unknown")]


@in_folder
def answers_that_keep_other_values(folder):
    return [_refused_answer(folder, name) for name in ("no facts", "keeps", "keeps wrongly")]


@in_folder
def silos_that_are_left_out(folder):
    return [
        _refused_answer(folder, name, wrong="left out", least=2) for name in ("other tensors", "no upload", "large")
    ]


@in_folder
def uploads_that_are_far(folder):
    work, local = _descent()
    for scale in (3000.0, 1e11):
        silos, said = _silos(
            folder / str(scale), [_Client(3, 1.0), _Client(5, 2.0), _Client(2, -1.0, scale)], least=2, wrong="left out"
        )
        silos.meet()
        found = refused(silos.sum, _trip(silos, work, settings=local), [0.5, 0.25, 0.25])
        yield found if isinstance(found, str) else found[0]["w"], silos.suspects, silos.left_out
        yield [line for line in said if "round" in line]


@in_folder
def halves_that_differ(folder):
    for scale in (3000.0, 1e11):
        silos, said = _silos(folder / str(scale), [_Client(3, 1.0), _Client(5, 2.0, scale)])
        silos.meet()
        silos.suspect({"south": "sent much", "nobody": "x"})
        trip = _trip(silos, lambda *given: None, (0, 1))
        replies = {0: Reply(torch.ones(1)), 1: Reply(torch.ones(1) * scale)}
        yield refused(silos._require_near, trip, replies), said[-1], silos.suspects
        yield silos.leave_out({"north": "slow"}), silos.left_out, silos.leave_out({}), silos.left_out


def executors_that_are_refused():
    for names, policy in (
        ((), {}),
        (("a", "a"), {}),
        (("a", " "), {}),
        (("a", "b"), {"least": 3}),
        (("a", "b"), {"least": 2}),
    ):
        made = refused(Silos, names, None, RUN, AnswerPolicy(**policy))
        yield made if isinstance(made, str) else made.names


def numbers_and_tokens_that_are_refused():
    trip = _trip(None, max)
    top = torch.finfo(torch.float32).max ** 0.5
    for leaf in (
        torch.ones(2),
        torch.tensor([top * 0.99]),
        torch.tensor([top * 1.01]),
        torch.tensor([top, top]) * 0.72,
    ):
        yield refused(_require_numbers, [leaf])
    for leaf in (
        torch.tensor([float("nan")]),
        torch.ones(1).to(torch.float8_e5m2),
        torch.tensor([2**62]),
        torch.ones(0),
    ):
        yield refused(_require_numbers, [leaf])
    right = "k1-" + "0" * 64
    for value in (
        {},
        {"a": right},
        {"a": "p" + right[1:]},
        {"a": "k2" + right[2:]},
        {"a\n": right},
        {"a" * 201: right},
        [],
    ):
        yield refused(_tokens, value, "k", trip)
    yield (
        refused(_tokens, {str(k): right for k in range(65)}, "k", trip),
        len(_tokens({str(k): right for k in range(64)}, "k", trip)),
    )


@in_folder
def configurations_of_an_app(folder):
    right = {"algorithm": "fedavg", "silos": "north,south", "folder": str(folder / "run")}
    for changes in (
        {},
        {
            "rounds": 3,
            "evaluate-every": 2,
            "seconds": 5.0,
            "least": 1,
            "limit-mb": 2,
            "learning-rate": "0.25",
            "cohort": "",
        },
        {"evaluate-every": 2, "evaluate_every": 3},
        {"limit-mb": 0},
        {"seconds": "x"},
        {"rounds": "3"},
        {"mu": 1.0},
        {"folder": "a\0b"},
        {"algorithm": "fedlora", "rank": 1},
        {"silos": "north"},
        {"device": "cpu"},
    ):
        found = refused(_read_config, {**right, **changes})
        yield found if isinstance(found, str) else [found[0].settings, found[0].conduct.rounds, *found[1:]]
    for name in right:
        yield refused(_read_config, {key: value for key, value in right.items() if key != name})
    said = io.StringIO()
    with redirect_stderr(said):
        _round({"round": 3, "loss": 0.123456789, "note": "x"})
    yield said.getvalue()


@in_folder
def facts_of_a_stored_run(folder):
    given = {
        "sizes of silos": [3.0, 2.0],
        "content of silo north": "n",
        "content of silo south": 3,
        "name at the silos": RUN,
    }
    path = folder / "settings.json"
    plan = _read_config({"algorithm": "fedavg", "silos": "north,south", "folder": str(folder)})[0]
    for stored in (
        {"given": given},
        {"given": {**given, "name at the silos": "x"}},
        {"given": {"name at the silos": ""}},
        {},
        [],
    ):
        path.write_text(json.dumps(stored))
        found = refused(_name_of, plan, folder)
        yield _known_data(folder, ("north", "south")), found if isinstance(found, str) else len(found[0])
    (folder / "checkpoints").mkdir()
    path.write_text(to_json({"given": given}))
    for left in ({"south": "slow"}, {"south": "slow", "north": "far"}, {}, []):
        (folder / "checkpoints" / "round-000001.json").write_bytes(sign_index({"left_out": left}))
        yield (
            _known_left_out(folder, ("north", "south")),
            [_known_left_out(folder, names) for names in (("north", "south", "west"), ("south",), ("south", "north"))],
        )


@in_folder
def a_run_of_silos(folder):
    nodes = _nodes(folder, [_Client(3, 1.0), _Client(5, 2.0)], ("north", "south"))
    line = _Line(nodes, lambda node, request, answer: answer)
    config = {"algorithm": "fedavg", "silos": "north,south", "folder": str(folder / "run"), "rounds": 1, "steps": 1}
    said = io.StringIO()
    with redirect_stderr(said):
        yield serve(
            {**config, "learning-rate": 0.5},
            line,
            lambda: {"w": torch.zeros(2, dtype=torch.float64)},
            lambda w: {"sum": w["w"].sum()},
        )
    yield [text for text in said.getvalue().splitlines() if "bytes" not in text]
    for changes in ({"algorithm": "central"}, {"alignment": "true"}):
        yield refused(serve, {**config, **changes}, line, lambda: {"w": torch.zeros(2)})
