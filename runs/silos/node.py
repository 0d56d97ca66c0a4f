"""A silo: one client with its own data, which answers the requests of a server; without Flower, whose part is beside.

A silo does registered work alone, and sends what that work uploads. What the client keeps stays in the silo's folder.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from algorithms.descent import statistics_of, takes_values
from algorithms.exchange import Acknowledgement, is_whole
from algorithms.federation import Client, Exchange, FederationError, Reply, Sequential, Work
from runs.silos.client_store import Keeping, keyed_digest
from runs.silos.fingerprint import fingerprint_of
from runs.silos.guarded import guarded
from runs.silos.registered import answered_kinds, drawer, sent_kinds, works
from runs.silos.wire import PROTOCOL, Letter, LetterError, Limits, Packed, pack, printable, read, text_of, unpack
from runs.versions import versions

ECHOED = ("run", "silo", "nonce", "round", "trip")
"""Parts of a request that its answer repeats."""
_SAID = 500
MOST, NAME = 8, 80
"""At most so many kinds of objects that a silo's digest does not cover are sent, and signs of the name of one."""


@dataclass(frozen=True, eq=False)
class Node:
    """A silo.

    Attributes:
        name: Name of the silo at the server.
        client: Client with its data.
        folder: Folder of the silo alone: what its client keeps lies there.
        limits: Limits of requests.
        further: Work beside the registered, by name.
    """

    name: str
    client: Client
    folder: Path
    limits: Limits = field(default_factory=Limits)
    further: Mapping[str, Work] = field(default_factory=dict)

    def answer(self, letter: Letter) -> Letter:
        """The silo's answer; of an error that is not its own client's, its kind and no more."""
        try:
            content = read(letter, self.limits)
            return self._answer(content, letter.blobs, _echo(content))
        except Exception as error:
            return failure(error, letter, self.name)

    def _answer(self, content: Mapping[str, Any], blobs: Mapping[str, bytes], echo: Mapping[str, Any]) -> Letter:
        if content.get("kind") == "hello":
            about = self._about(content)
            return Letter(text_of({"echo": echo, "kind": "hello", **about}), {})
        if content.get("kind") != "trip":
            raise LetterError("is of no known kind")
        order = _Order(content, blobs)
        if order.text("silo") != self.name:
            raise LetterError(f"is for the silo {order.text('silo')!r}, and this is {self.name!r}")
        keeping = Keeping(self.folder, order.text("run"))
        keeping.answer_once(order.text("nonce"), order.whole("round"))
        told = order.told()
        needed = {*order.table("shared").values(), *order.table("equipped").values()}
        keeping.tell(told, needed)
        missing = sorted(digest for digest in needed if keeping.told(digest) is None)
        if missing:
            return Letter(text_of({"echo": echo, "kind": "missing", "values": missing}), {})
        trip = order.trip(guarded(self.client), keeping, self.further)
        (reply,) = Sequential().replies(trip)
        return self._reply(order, trip, reply, keeping, echo)

    def _about(self, content: Mapping[str, Any]) -> dict[str, Any]:
        if content.get("protocol") != PROTOCOL:
            raise FederationError(other_protocol("the server", content, f"silo {self.name}"))
        samples = float(self.client.samples)
        if not isfinite(samples):
            raise FederationError(f"its client has {samples} samples; it has to count them")
        found, unread, has_data = fingerprint_of(self.client)
        return {
            "silo": self.name,
            "protocol": PROTOCOL,
            "versions": versions(),
            "samples": samples,
            "values": takes_values(self.client),
            "statistics": sorted(statistics_of(self.client)),
            "data": "" if found is None else keyed_digest(self.folder, found),
            "bare": not has_data,
            "unread": [name[:NAME] for name in unread[:MOST]],
        }

    def _reply(self, order: _Order, trip: Exchange, reply: Reply, keeping: Keeping, echo: Mapping[str, Any]) -> Letter:
        finite = Acknowledgement.of(trip.cohort[0], reply).finite
        if finite is not None and not bool(finite):
            raise FederationError(
                f"{trip.name} came to numbers that are not finite; lower the learning rate or look at its data"
            )
        upload = pack(reply.upload, answered_kinds())
        kept, personal = (
            {name: keeping.put(kind, trip.round, pack(value, sent_kinds())) for name, value in values.items()}
            for kind, values in (("k", reply.keep), ("p", reply.personal))
        )
        tokens = {*kept.values(), *personal.values(), *order.table("kept").values(), *order.table("personal").values()}
        keeping.tidy(trip.round, tokens)
        content = {"echo": echo, "kind": "done", "upload": upload.structure, "keep": kept, "personal": personal}
        return Letter(text_of(content), {"upload": upload.blob})


def other_protocol(one: str, content: Mapping[str, Any], other: str) -> str:
    """The message about two sides of different protocols.

    Args:
        one: Name of the side whose letter has come.
        content: Content of its letter.
        other: Name of this side.
    """
    said, versions_there = content.get("protocol"), content.get("versions")
    theirs = versions_there.get("rankproof") if isinstance(versions_there, Mapping) else None
    return (
        f"{one} speaks {f'protocol {printable(str(said), 40)}' if is_whole(said) else 'no protocol with a number'}"
        f"{f' (rankproof {printable(theirs, 40)})' if isinstance(theirs, str) else ''}, and {other} speaks protocol "
        f"{PROTOCOL} (rankproof {versions().get('rankproof', 'unknown')}); install the same rankproof at both"
    )


def failure(error: Exception, request: Letter, silo: str | None = None) -> Letter:
    """The silo's report of an error: its text where it is one of ours; else its kind, since its text may hold data."""
    echo: dict[str, Any] = {}
    with suppress(LetterError):
        echo = _echo(read(request, Limits()))
    said = str(error)
    if isinstance(error, LetterError):
        said = f"the request {error}"
    elif not isinstance(error, FederationError):
        traceback.print_exception(error)
        said = f"a {type(error).__name__}; the silo's log has more"
    name = {} if silo is None else {"silo": silo}
    return Letter(text_of({"echo": echo, "kind": "failed", "said": said[:_SAID], **name}), {})


def _echo(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: content[name] for name in ECHOED if isinstance(content.get(name), str | int)}


class _Own:
    """The clients of the federation as a silo sees them: itself."""

    def __init__(self, number: int, client: Client) -> None:
        self._number, self._client = number, client

    def __getitem__(self, number: int) -> Client:
        if number != self._number:
            raise LetterError("is about another client's data")
        return self._client

    def __len__(self) -> int:
        return self._number + 1


@dataclass(frozen=True)
class _Order:
    """The content of a request, which is looked at before it is used."""

    content: Mapping[str, Any]
    blobs: Mapping[str, bytes]

    def text(self, name: str) -> str:
        """A text.

        Raises:
            LetterError: It is none.
        """
        value = self.content.get(name)
        if not isinstance(value, str):
            raise LetterError(f"lacks {name}")
        return value

    def whole(self, name: str) -> int:
        """A whole number of at least 0.

        Raises:
            LetterError: It is none.
        """
        value = self.content.get(name)
        if not is_whole(value) or not 0 <= value < 2**63:
            raise LetterError(f"lacks {name}")
        return int(value)

    def table(self, name: str) -> Mapping[str, str]:
        """Texts by name.

        Raises:
            LetterError: It is something else.
        """
        value = self.content.get(name)
        if not isinstance(value, dict) or not all(isinstance(entry, str) for entry in value.values()):
            raise LetterError(f"lacks {name}")
        return value

    def told(self) -> dict[str, Packed]:
        """New values that every client is told, by their digests."""
        value = self.content.get("told")
        if not isinstance(value, dict):
            raise LetterError("lacks told")
        return {digest: Packed(structure, self._blob(f"told-{digest}")) for digest, structure in value.items()}

    def trip(self, client: Client, keeping: Keeping, further: Mapping[str, Work]) -> Exchange:
        """The trip of this client alone.

        Raises:
            LetterError: Work that is not registered, or a value that is not here.
        """
        name, number = self.text("work"), self.whole("number")
        work = {**further, **works()}.get(name)
        if work is None:
            raise LetterError(f"asks for {name[:80]!r}, which is no registered work")
        sent = unpack(Packed(self.content.get("sent"), self._blob("sent")), sent_kinds())
        if not isinstance(sent, dict) or set(sent) != {"sent", "draw"} or not isinstance(sent["sent"], dict):
            raise LetterError("lacks what the work takes")
        return Exchange(
            round=self.whole("round"),
            number=self.whole("trip"),
            work=work,
            cohort=(number,),
            clients=_Own(number, client),  # type: ignore[arg-type]
            sent=sent["sent"],
            each={},
            then=None,
            seed=self.whole("seed"),
            draw=drawer(sent["draw"]),
            kept={number: self._values("kept", keeping.take)},
            personal={number: self._values("personal", keeping.take)},
            equipped=self._values("equipped", keeping.told),
            shared=self._values("shared", keeping.told),
        )

    def _values(self, name: str, found: Any) -> dict[str, Any]:
        return {entry: unpack(found(key), sent_kinds()) for entry, key in self.table(name).items()}

    def _blob(self, name: str) -> bytes:
        if name not in self.blobs:
            raise LetterError(f"lacks the tensors of {name[:80]}")
        return self.blobs[name]
