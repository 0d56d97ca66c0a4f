"""Membership: nodes connect and disconnect, and say which silo they are."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from algorithms.exchange import is_whole
from runs.silos.node import other_protocol
from runs.silos.transport import ClientFacts, Transport
from runs.silos.wire import PROTOCOL, Limits, Message, MessageError, printable, read, to_json
from runs.versions import versions

MOST_SAMPLES = 2**53
"""Largest number of samples that a silo may report; larger ones are not represented exactly."""
MANY_TIMES = 1000.0
"""Multiple of the median number of samples from which a silo is reported, because it decides the mean."""
COMPARED = ("rankproof", "torch")
"""Packages whose versions are compared, because runs promise bits."""
AGAIN = 20.0
"""Seconds after which a refused node is asked again who it is, because it may have been restarted."""


class _UnfitError(MessageError):
    """Error about a silo of this run that cannot take part."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number


class Membership:
    """The silos of a run and their nodes.

    Attributes:
        places: Nodes of the connected clients, by the clients' numbers.
        about: Facts that each silo reported about its client. Once the run relies on them, they have to be the same
            when a silo returns. Before that, the facts of a node that leaves are forgotten: they may be another's.
        left_out: Why silos are left out of the rest of the run, by their clients' numbers; nothing is compared of them.
        unfit: Why a missing silo was refused, by its client's number.
        refused: Why nodes were refused that do not name a silo of this run, or do not answer.
    """

    def __init__(self, names: Sequence[str], line: Transport, limits: Limits, say: Callable[[str], None]) -> None:
        """Store the arguments; nobody is asked yet.

        Args:
            names: Names of the silos, in the order of their clients.
            line: Line to the nodes.
            limits: Limits of the silos' answers.
            say: Called with a line on each event.
        """
        self._names, self._line, self._limits, self._say = names, line, limits, say
        self.places: dict[int, int] = {}
        self.about: dict[int, ClientFacts] = {}
        self.left_out: dict[int, str] = {}
        self.unfit: dict[int, str] = {}
        self.refused: dict[int, str] = {}
        self._unread: set[int] = set()
        self._greeted: dict[int, tuple[str, str]] = {}
        self._refused: dict[int, float] = {}
        self._settled = False

    @property
    def greetings(self) -> list[str]:
        """Tickets of the answers of new nodes."""
        return [ticket for ticket, _ in self._greeted.values()]

    def greet(self, seconds: float) -> None:
        """Ask new nodes who they are, and forget the places of those that left."""
        there = self._look()
        self._greeted = {node: asked for node, asked in self._greeted.items() if node in there}
        self._refused = {node: since for node, since in self._refused.items() if time.monotonic() - since < AGAIN}
        for node in sorted(there - {*self.places.values(), *self._greeted, *self._refused}):
            nonce = secrets.token_hex(16)
            content = {"kind": "hello", "nonce": nonce, "protocol": PROTOCOL, "versions": versions()}
            message = Message(to_json(content), {})
            ticket = self._line.send(node, message, seconds)
            if ticket is not None:
                self._greeted[node] = ticket, nonce

    @property
    def missing(self) -> list[int]:
        """Clients' numbers of the silos that are not connected and not left out."""
        return [number for number in range(len(self._names)) if number not in {*self.places, *self.left_out}]

    def settle(self) -> bool:
        """Bind the silos to their facts if all of them are still connected, and return whether they are."""
        self._look()
        self._settled = not self.missing
        return self._settled

    def leave_out(self, number: int, why: str, about: ClientFacts | None = None) -> None:
        """Leave a silo out of the rest of the run.

        Args:
            number: Number of its client.
            why: Reason.
            about: Facts that the run has about it; default: those that it reported.
        """
        self.left_out[number] = why
        self.unfit.pop(number, None)
        if about is not None:
            self.about[number] = about

    def take_back(self, number: int) -> None:
        """Take part again with a silo that was left out, and ask it who it is."""
        self.left_out.pop(number, None)
        self.places.pop(number, None)

    def _look(self) -> set[int]:
        """Return the connected nodes, and forget the places of those that left."""
        there = set(self._line.nodes())
        went = [number for number, node in self.places.items() if node not in there]
        if went:
            self._refused = {}  # one of them may be the silo that went
        for number in went:
            del self.places[number]
            if not self._settled and number not in self.left_out:
                self.about.pop(number, None)
        return there

    def take_answer(self, ticket: str, answer: Message | str) -> None:
        """Take the name that a new node gives; a name that is taken stays with its owner."""
        node = next((node for node, (sent, _) in self._greeted.items() if sent == ticket), None)
        if node is None:
            return
        _, nonce = self._greeted.pop(node)
        try:
            if isinstance(answer, str):
                raise MessageError(answer)
            number, about, content = self._identify(answer, nonce)
        except MessageError as error:
            self._refused[node] = time.monotonic()
            if isinstance(error, _UnfitError):
                self.unfit[error.number] = str(error)
            else:
                self.refused[node] = str(error)
            self._say(f"node {node}: refused, {error}")
            return
        self.places[number] = node
        self.unfit.pop(number, None)
        self.refused.pop(node, None)
        name = self._names[number]
        if about is None:
            self._say(f"silo {name}: there, but {self.left_out[number]}")
            return
        self._say(f"silo {name}: there, with {about.samples:g} samples")
        if not self.about[number].data or (about.data and content.get("bare") is True):
            self._say(
                f"silo {name}: its client has nothing that identifies its data, so other data would not be "
                f"noticed; add an attribute fingerprint that identifies them"
            )
        unread = content.get("unread")
        if about.data and isinstance(unread, list) and unread and all(isinstance(kind, str) for kind in unread):
            self._say(
                f"silo {name}: the digest of its data covers no {_format_names(unread)}; other data there would "
                f"not be noticed; add an attribute fingerprint to its client that identifies them"
            )
        cached = content.get("cached")
        if about.data and isinstance(cached, list) and cached and all(isinstance(name, str) for name in cached):
            self._say(
                f"silo {name}: the digest of its data leaves out the cached properties {_format_names(cached)}; other "
                f"data there would not be noticed; name them in an attribute fingerprint of its client, or compute "
                f"them in its __init__"
            )
        others = _describe_versions(content.get("versions"))
        if others:
            self._say(f"silo {name}: {others}; its bits may differ")

    def _identify(self, answer: Message, nonce: str) -> tuple[int, ClientFacts | None, Mapping[str, Any]]:
        """Return the client's number of a new node, its facts unless it is left out, and its whole answer.

        Raises:
            MessageError: It is not a silo of the run, or cannot take part.
        """
        content = read(answer, replace(self._limits, bytes=0))
        name = content.get("silo")
        if content.get("kind") == "failed" and name is None:
            raise MessageError(failure_text(content))
        if content.get("echo") != {"nonce": nonce} or name not in self._names:
            raise MessageError(f"it is not a silo of this run: {str(name)[:80]!r}")
        number = self._names.index(name)
        if number in self.places:
            raise MessageError(f"silo {name} is the name of another node; it is asked again when that node has left")
        if number in self.left_out:
            return number, None, content
        if content.get("kind") == "failed":
            raise _UnfitError(number, f"silo {name}: {failure_text(content)}")
        if content.get("kind") != "hello":
            raise _UnfitError(number, f"silo {name} did not answer who it is")
        if not is_whole(content.get("protocol")) or content["protocol"] != PROTOCOL:
            raise _UnfitError(number, other_protocol(f"silo {name}", content, "the server"))
        try:
            about = _read_facts(content)
        except MessageError as error:
            raise _UnfitError(number, f"silo {name} {error}") from error
        changed = self._compare(number, about)
        if changed:
            raise _UnfitError(
                number, f"silo {name} came back with {changed}; restore its earlier state, or begin another run"
            )
        return number, about, content

    def take_facts(self, number: int, content: Any) -> None:
        """Compare the facts in an answer with those on which the run relies.

        Raises:
            MessageError: They have changed, or are none.
        """
        changed = self._compare(number, _read_facts(content if isinstance(content, Mapping) else {}))
        if changed:
            raise MessageError(f"answered with {changed}; give it what it had, or begin another run")

    def expect_data(self, number: int, digest: str) -> None:
        """Expect data of a known digest from a silo that could not read its data."""
        about = self.about[number]
        if digest and not about.data:
            self.about[number] = about._replace(data=digest)
            self._compare(number, about)

    def _compare(self, number: int, about: ClientFacts) -> str:
        """Describe how a silo's facts have changed, and remember those that are new."""
        before = self.about.setdefault(number, about)
        changed = _describe_changes(before, about)
        if changed:
            return changed
        if about.data:
            self.about[number] = about
            self._unread.discard(number)
        elif before.data and number not in self._unread:
            self._unread.add(number)
            self._say(
                f"silo {self._names[number]}: its data cannot be read now; they are compared with the earlier digest "
                "when they can"
            )
        return ""

    def describe_odd(self, weights: Collection[str] | None) -> str | None:
        """Describe the silos whose network differs from the start or from most silos; None if all agree.

        Args:
            weights: Names of the start's weights, where they are known.
        """
        there = {number: about for number, about in self.about.items() if number not in self.left_out}
        for number, about in sorted(there.items()):
            unknown = sorted(about.statistics.difference(weights)) if weights is not None else []
            if unknown:
                listed = _format_names(unknown)
                return (
                    f"silo {self._names[number]} observes {listed}, which the start does not have; give it that network"
                )
        kinds = [(about.values, about.statistics) for _, about in sorted(there.items())]
        most = max(kinds, key=kinds.count, default=None)
        if most is None or kinds.count(most) == len(kinds):
            return None
        numbers = sorted(there)
        if 2 * kinds.count(most) <= len(kinds):
            said = "; ".join(f"{self._names[number]} {_describe_network(self.about[number])}" for number in numbers)
            return f"silos have different networks, and no network has a majority: {said}; give all the same"
        odd = [number for number, kind in zip(numbers, kinds, strict=True) if kind != most]
        said = "; ".join(f"silo {self._names[number]} {_describe_network(self.about[number])}" for number in odd)
        usual = next(about for about in there.values() if (about.values, about.statistics) == most)
        common = _describe_network(usual).removeprefix("has a network that ")
        return f"{said}, where most silos' network {common}; give it the same"

    def describe_large(self) -> list[str]:
        """Return a line for each silo that reports far more samples than the others."""
        sizes = sorted(about.samples for about in self.about.values())
        usual = sizes[(len(sizes) - 1) // 2] if sizes else 0.0
        return [
            f"silo {self._names[number]}: says that it has {about.samples:g} samples, "
            f"{about.samples / usual:.3g} times as many as the silo in the middle; it decides every mean"
            for number, about in sorted(self.about.items())
            if about.samples > MANY_TIMES * usual
        ]


def failure_text(content: Mapping[str, Any]) -> str:
    """Return the text of a failure in an answer, in one line of bounded length."""
    said = content.get("said")
    return (printable(said).strip() if isinstance(said, str) else "") or "it fails without giving a reason"


def _read_facts(content: Mapping[str, Any]) -> ClientFacts:
    samples, values, statistics, data = (content.get(name) for name in ("samples", "values", "statistics", "data"))
    right = isinstance(samples, float) and isfinite(samples) and isinstance(values, bool)
    right = right and isinstance(data, str) and re.fullmatch(r"(?:[0-9a-f]{64})?", data) is not None
    if not right or not isinstance(statistics, list) or not all(isinstance(name, str) for name in statistics):
        raise MessageError("does not report the size and kind of its data")
    assert isinstance(samples, float)
    if samples == 0.0:
        raise MessageError("has no samples; give it data, or leave its name out of the app's silos")
    if not (1.0 <= samples <= MOST_SAMPLES and samples.is_integer()):
        raise MessageError(f"says that it has {samples:g} samples, which is not a number of samples")
    return ClientFacts(samples, bool(values), frozenset(statistics), str(data))


def _describe_changes(before: ClientFacts, now: ClientFacts) -> str:
    """Describe the facts that have changed."""
    changed = []
    if before.samples != now.samples:
        changed.append(f"{now.samples:g} samples instead of {before.samples:g}")
    elif before.data != now.data and before.data and now.data:
        changed.append(
            "other data, other attributes that a `fingerprint` could leave out, or without the key in its folder"
        )
    if (before.values, before.statistics) != (now.values, now.statistics):
        changed.append("another network")
    return " and ".join(changed)


def _describe_network(about: ClientFacts) -> str:
    """Describe how a silo's network differs from others."""
    through = "through factors" if about.values else "through whole matrices"
    return f"has a network that computes {through} and observes {_format_names(sorted(about.statistics)) or 'nothing'}"


def _format_names(names: Sequence[str]) -> str:
    """Format the first names, so the line has room for the remedy."""
    return ", ".join(printable(name, 80) for name in names[:3]) + (" and more" if len(names) > 3 else "")


def _describe_versions(said: Any) -> str:
    """Describe the versions of a silo that differ from the server's."""
    there, here = said if isinstance(said, Mapping) else {}, versions()
    return ", ".join(
        f"{name} {printable(str(there.get(name, 'unknown')), 40)} instead of the server's {here.get(name, 'unknown')}"
        for name in COMPARED
        if there.get(name) != here.get(name)
    )
