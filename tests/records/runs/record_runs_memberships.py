"""Records of members of a run of silos: who they are, what they say about their data, and what is refused."""

from recording import refused

from runs.silos.membership import Membership, failure_text
from runs.silos.transport import ClientFacts
from runs.silos.wire import Limits, Message, to_json


class _Line:
    def __init__(self, nodes):
        self.there, self.sent = nodes, []

    def nodes(self):
        return self.there

    def send(self, node, message, seconds):
        self.sent.append((node, message))
        return str(node)


def _membership(nodes=(5, 7), names=("north", "south", "west")):
    said = []
    return Membership(names, _Line(list(nodes)), Limits(), said.append), said


def _hello(members, ticket, silo, **changes):
    nonce = next(nonce for sent, nonce in members._greeted.values() if sent == ticket)
    facts = {"samples": 3.0, "values": False, "statistics": [], "data": "a" * 64}
    content = {"kind": "hello", "echo": {"nonce": nonce}, "silo": silo, "protocol": 3, **facts, **changes}
    versions = {"versions": {"rankproof": "0", "torch": "0"}} if "versions" not in changes else {}
    return Message(to_json({**content, **versions}), {})


def nodes_that_say_who_they_are():
    for changes in (
        {},
        {"samples": 0.0},
        {"samples": 0.5},
        {"samples": float(2**53)},
        {"samples": float(2**54)},
        {"samples": 3},
        {"data": "x"},
        {"data": ""},
        {"statistics": [1]},
        {"protocol": 2},
        {"protocol": True},
        {"kind": "failed", "said": "no\ndata"},
        {"kind": "failed", "said": ""},
        {"kind": "other"},
        {"echo": {}},
        {"bare": True},
        {"unread": ["A", "B", "C", "D"], "cached": ["E.f"]},
        {"silo": "nobody"},
        {"kind": "failed", "silo": None},
    ):
        members, said = _membership()
        members.greet(5.0)
        ticket = members.greetings[0]
        members.take_answer(ticket, _hello(members, ticket, **{"silo": "south", **changes}))
        lines = [line.partition("rankproof 0 instead")[0].partition("(rankproof")[0] for line in said]
        yield (
            members.places,
            members.missing,
            lines,
            [len(text) > 0 for text in members.unfit.values()],
            [*members.refused],
        )
    yield [failure_text(content) for content in ({}, {"said": " a\nb "}, {"said": 3}, {"said": "x" * 600})][:3]


def silos_that_come_and_go():
    members, said = _membership()
    members.greet(5.0)
    for ticket, name in (("5", "north"), ("7", "north"), ("9", "west")):
        members.take_answer(ticket, _hello(members, ticket, name) if ticket != "9" else "gone")
    yield members.places, members.refused, members.missing, members.settle()
    members._line.there = [5, 8, 9]
    members.greet(5.0)
    yield [node for node, _ in members._line.sent], len(members.greetings)
    for ticket, name in (("8", "west"), ("9", "south")):
        members.take_answer(ticket, _hello(members, ticket, name, samples=4000.0 if name == "west" else 4.0))
    yield members.places, members.settle(), members.describe_large(), members.describe_odd({"w"})
    for facts in ({"samples": 3.0, "values": False, "statistics": [], "data": ""}, {"samples": 4.0}, None):
        usual = {"samples": 3.0, "values": False, "statistics": [], "data": "a" * 64}
        yield refused(members.take_facts, 0, facts and {**usual, **facts})
    usual = {"samples": 3.0, "values": True, "statistics": ["m"], "data": "b" * 64}
    yield (
        refused(members.take_facts, 0, usual),
        refused(members.take_facts, 0, {**usual, "values": False, "statistics": []}),
    )
    members.leave_out(1, "too slow")
    yield members.missing, members.left_out, members.take_back(1), members.missing
    yield [line.partition("rankproof 0")[0] for line in said]


def networks_of_silos():
    for kinds in (
        {0: (False, []), 1: (False, []), 2: (True, [])},
        {0: (False, ["m"]), 1: (False, []), 2: (False, ["m"])},
        {0: (False, []), 1: (True, [])},
        {0: (True, ["a", "b", "c", "d"]), 1: (True, ["a", "b", "c", "d"])},
        {},
    ):
        members, _ = _membership()
        members.about = {k: ClientFacts(2.0 + k, values, frozenset(names)) for k, (values, names) in kinds.items()}
        yield members.describe_odd(None), members.describe_odd({"m"}), members.describe_large()
        members.left_out = {1: "slow"}
        yield members.describe_odd(None)
    members.about = {k: ClientFacts(size, False, frozenset()) for k, size in enumerate((1.0, 1000.0, 1.0))}
    yield members.describe_large()
    members.about[1] = ClientFacts(1001.0, False, frozenset())
    yield members.describe_large(), members.expect_data(1, "d" * 64), members.about[1].data
