"""A silo: one client with its own data, which answers the requests of a server. Independent of Flower.

A silo does only registered work, and sends its upload. The client's state stays in the silo's folder.
"""

from __future__ import annotations

import json
import random
import reprlib
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch

from algorithms.descent import statistics_of, takes_values
from algorithms.exchange import Acknowledgement, is_whole
from algorithms.federation import Client, Exchange, FederationError, Reply, Sequential, Work
from runs.networks.network_function import seeded_draws
from runs.silos.client_store import ClientStore, keyed_digest
from runs.silos.fingerprint import Fingerprint, fingerprint_of
from runs.silos.guarded import check_losses
from runs.silos.registered import answered_kinds, find_draw, sent_kinds, works
from runs.silos.wire import PROTOCOL, Limits, Message, MessageError, Packed, pack, printable, read, to_json, unpack
from runs.versions import versions

ECHOED = ("run", "silo", "nonce", "round", "trip")
"""Parts of a request that its answer repeats."""
_SAID = 500
MOST, NAME = 8, 80
"""Largest number of kinds of objects outside the digest that are reported, and of characters in the name of one."""


@dataclass(frozen=True, eq=False)
class Node:
    """A silo's client with its folder and limits.

    Attributes:
        name: Name of the silo at the server.
        client: Client with its data.
        folder: Folder of this silo only; it keeps the client's state.
        limits: Limits of requests.
        further: Work in addition to the registered work, by name.
    """

    name: str
    client: Client
    folder: Path
    limits: Limits = field(default_factory=Limits)
    further: Mapping[str, Work] = field(default_factory=dict)

    def answer(self, message: Message) -> Message:
        """Answer a request; of an unexpected error only the kind is sent."""
        try:
            content = read(message, self.limits)
            return self._answer(content, message.blobs, _echo(content))
        except Exception as error:
            return failure(error, message, self.name)

    def _answer(self, content: Mapping[str, Any], blobs: Mapping[str, bytes], echo: Mapping[str, Any]) -> Message:
        if content.get("kind") == "hello":
            about = self._about(content)
            return Message(to_json({"echo": echo, "kind": "hello", **about}), {})
        if content.get("kind") != "trip":
            raise MessageError("is of an unknown kind")
        order = _Request(content, blobs)
        if order.text("silo") != self.name:
            raise MessageError(f"is for the silo {order.text('silo')!r}, and this is {self.name!r}")
        keeping = ClientStore(self.folder, order.text("run"))
        keeping.answer_once(order.text("nonce"), order.whole_number("round"))
        told = order.broadcast_values()
        needed = {*order.table("shared").values(), *order.table("equipped").values()}
        keeping.keep_broadcast(told, needed)
        missing = sorted(digest for digest in needed if keeping.load_broadcast(digest) is None)
        if missing:
            return Message(to_json({"echo": echo, "kind": "missing", "values": missing}), {})
        facts, _ = self._facts()
        round, work = order.whole_number("round"), order.digest(facts)
        with keeping.begin(round, work) as free:
            if not free:
                return Message(to_json({"echo": echo, "kind": "working"}), {})
            done = keeping.find_answer(round, work)
            if done is None:
                trip = order.trip(check_losses(self.client), keeping, self.further)
                with _seeded(trip):
                    (reply,) = Sequential().replies(trip)
                done = self._reply(order, trip, reply, keeping)
                keeping.keep_answer(round, work, done)
        content = {"echo": echo, "kind": "done", "facts": facts, **done.structure}
        return Message(to_json(content), {"upload": done.blob})

    def _facts(self) -> tuple[dict[str, Any], Fingerprint]:
        """Return the facts on which the run relies, and the fingerprint of the data."""
        samples = _samples_of(self.client)
        found = fingerprint_of(self.client)
        facts = {
            "samples": samples,
            "values": takes_values(self.client),
            "statistics": sorted(statistics_of(self.client)),
            "data": "" if found.digest is None else keyed_digest(self.folder, found.digest),
        }
        return facts, found

    def _about(self, content: Mapping[str, Any]) -> dict[str, Any]:
        if content.get("protocol") != PROTOCOL:
            raise FederationError(other_protocol("the server", content, f"silo {self.name}"))
        facts, found = self._facts()
        return {
            "silo": self.name,
            "protocol": PROTOCOL,
            "versions": versions(),
            **facts,
            "bare": not found.has_data,
            "unread": [name[:NAME] for name in found.unread[:MOST]],
            "cached": [name[:NAME] for name in found.cached[:MOST]],
        }

    def _reply(self, order: _Request, trip: Exchange, reply: Reply, keeping: ClientStore) -> Packed:
        """Keep the client's state, and return the tokens of it with the upload."""
        finite = Acknowledgement.of(trip.cohort[0], reply).finite
        if finite is not None and not bool(finite):
            raise FederationError(
                f"{trip.name} computed non-finite numbers; lower the learning rate or look at its data"
            )
        upload = pack(reply.upload, answered_kinds())
        kept, personal = (
            {name: keeping.put(kind, trip.round, pack(value, sent_kinds())) for name, value in values.items()}
            for kind, values in (("k", reply.keep), ("p", reply.personal))
        )
        tokens = {*kept.values(), *personal.values(), *order.table("kept").values(), *order.table("personal").values()}
        keeping.tidy(trip.round, tokens)
        return Packed({"upload": upload.structure, "keep": kept, "personal": personal}, upload.blob)


@contextmanager
def _seeded(trip: Exchange) -> Iterator[None]:
    """Seed the global generators for one exchange, for example for drop-out in the silo's network.

    A silo has a new process for each message, which would draw other numbers whenever the run is repeated or resumes.
    """
    words = np.random.SeedSequence([trip.seed, trip.round, trip.number, trip.cohort[0], 1]).generate_state(3).tolist()
    of_numpy, of_python = np.random.get_state(), random.getstate()  # noqa: NPY002
    with seeded_draws(words[0], torch.device("cpu")):
        np.random.seed(words[1])  # noqa: NPY002
        random.seed(words[2])
        try:
            yield
        finally:
            np.random.set_state(of_numpy)  # noqa: NPY002
            random.setstate(of_python)


def _samples_of(client: Client) -> float:
    """Return the number of samples of a client.

    Raises:
        FederationError: It is not a whole number that a float represents.
    """
    said: Any = client.samples
    try:
        samples = float("nan") if isinstance(said, bool | str | bytes) else float(said)
        exact = samples.is_integer() and bool(samples == said)
    except (ArithmeticError, RuntimeError, TypeError, ValueError):
        exact = False
    if not exact:
        got = "a number beyond 2^53" if is_whole(said) else f"{reprlib.repr(said)}"
        raise FederationError(f"its client has {got} samples; samples must be a whole number of at least 1")
    return samples


def other_protocol(one: str, content: Mapping[str, Any], other: str) -> str:
    """Describe two sides with different protocols.

    Args:
        one: Name of the side that sent the message.
        content: Content of its message.
        other: Name of this side.
    """
    said, versions_there = content.get("protocol"), content.get("versions")
    theirs = versions_there.get("rankproof") if isinstance(versions_there, Mapping) else None
    return (
        f"{one} speaks {f'protocol {printable(str(said), 40)}' if is_whole(said) else 'no protocol with a number'}"
        f"{f' (rankproof {printable(theirs, 40)})' if isinstance(theirs, str) else ''}, and {other} speaks protocol "
        f"{PROTOCOL} (rankproof {versions().get('rankproof', 'unknown')}); install the same rankproof at both"
    )


def failure(error: Exception, request: Message, silo: str | None = None) -> Message:
    """Report an error: its text if it is one of ours, and else only its kind, because its text may hold data."""
    echo: dict[str, Any] = {}
    with suppress(MessageError):
        echo = _echo(read(request, Limits()))
    said = str(error)
    if isinstance(error, MessageError):
        said = f"the request {error}"
    elif not isinstance(error, FederationError):
        traceback.print_exception(error)
        said = f"a {type(error).__name__}; see the silo's log"
    name = {} if silo is None else {"silo": silo}
    return Message(to_json({"echo": echo, "kind": "failed", "said": said[:_SAID], **name}), {})


def _echo(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: content[name] for name in ECHOED if isinstance(content.get(name), str | int)}


class _OwnClient:
    """The clients of the federation as a silo sees them: only itself."""

    def __init__(self, number: int, client: Client) -> None:
        self._number, self._client = number, client

    def __getitem__(self, number: int) -> Client:
        if number != self._number:
            raise MessageError("concerns another client's data")
        return self._client

    def __len__(self) -> int:
        return self._number + 1


@dataclass(frozen=True)
class _Request:
    """The content of a request, checked before use."""

    content: Mapping[str, Any]
    blobs: Mapping[str, bytes]

    def text(self, name: str) -> str:
        """Return a text.

        Raises:
            MessageError: It is none.
        """
        value = self.content.get(name)
        if not isinstance(value, str):
            raise MessageError(f"lacks {name}")
        return value

    def whole_number(self, name: str) -> int:
        """Return a whole number of at least 0.

        Raises:
            MessageError: It is none.
        """
        value = self.content.get(name)
        if not is_whole(value) or not 0 <= value < 2**63:
            raise MessageError(f"lacks {name}")
        return int(value)

    def table(self, name: str) -> Mapping[str, str]:
        """Return a table of texts by name.

        Raises:
            MessageError: It is something else.
        """
        value = self.content.get(name)
        if not isinstance(value, dict) or not all(isinstance(entry, str) for entry in value.values()):
            raise MessageError(f"lacks {name}")
        return value

    def digest(self, facts: Mapping[str, Any]) -> str:
        """Return the digest of all that determines the answer; copies of a request in one exchange have the same.

        Args:
            facts: Facts about the client that does the work.
        """
        self.text("turn")
        own = {name: value for name, value in self.content.items() if name not in ("nonce", "told")}
        text = json.dumps([own, facts], sort_keys=True).encode()
        return sha256(text + b"\0" + self._blob("sent")).hexdigest()

    def broadcast_values(self) -> dict[str, Packed]:
        """Return the new broadcast values, by their digests."""
        value = self.content.get("told")
        if not isinstance(value, dict):
            raise MessageError("lacks told")
        return {digest: Packed(structure, self._blob(f"told-{digest}")) for digest, structure in value.items()}

    def trip(self, client: Client, keeping: ClientStore, further: Mapping[str, Work]) -> Exchange:
        """Return the exchange with only this client.

        Raises:
            MessageError: Work that is not registered, or a value that is not here.
        """
        name, number = self.text("work"), self.whole_number("number")
        work = {**further, **works()}.get(name)
        if work is None:
            raise MessageError(f"asks for {name[:80]!r}, which is not registered work")
        sent = unpack(Packed(self.content.get("sent"), self._blob("sent")), sent_kinds())
        if not isinstance(sent, dict) or set(sent) != {"sent", "draw"} or not isinstance(sent["sent"], dict):
            raise MessageError("lacks the arguments of the work")
        return Exchange(
            round=self.whole_number("round"),
            number=self.whole_number("trip"),
            work=work,
            cohort=(number,),
            clients=_OwnClient(number, client),  # type: ignore[arg-type]
            sent=sent["sent"],
            each={},
            then=None,
            seed=self.whole_number("seed"),
            draw=find_draw(sent["draw"]),
            kept={number: self._values("kept", keeping.take)},
            personal={number: self._values("personal", keeping.take)},
            equipped=self._values("equipped", keeping.load_broadcast),
            shared=self._values("shared", keeping.load_broadcast),
        )

    def _values(self, name: str, found: Any) -> dict[str, Any]:
        return {entry: unpack(found(key), sent_kinds()) for entry, key in self.table(name).items()}

    def _blob(self, name: str) -> bytes:
        if name not in self.blobs:
            raise MessageError(f"lacks the tensors of {name[:80]}")
        return self.blobs[name]
