"""Flower carries the messages: the `ServerApp` runs our loop over rounds, and the `ClientApp` is a silo."""

from __future__ import annotations

import os

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")  # before Flower is imported, which reports usage by default

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import torch

from algorithms.exchange import is_whole
from algorithms.federation import Client, FederationError
from runs.settings import RunError
from runs.silos.node import Node, failure
from runs.silos.problem import Evaluate
from runs.silos.server import Start, say, serve
from runs.silos.wire import Limits, Message
from workloads.files import with_home

try:
    from flwr.app import Array, ArrayRecord, ConfigRecord, Context, RecordDict
    from flwr.app import Message as FlowerMessage
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
except ImportError as error:
    raise RunError("silos need Flower: pip install 'rankproof[flower]'") from error

ACTION = "train.letter"
"""Type of all messages."""
_BYTES = "rankproof.safetensors"


class FlowerTransport:
    """A transport through Flower's grid."""

    def __init__(self, grid: Grid) -> None:
        self._grid, self._asked = grid, dict[str, int]()

    def nodes(self) -> Collection[int]:
        """Return the nodes that Flower knows to be connected."""
        return list(self._grid.get_node_ids())

    def send(self, node: int, message: Message, seconds: float) -> str | None:
        """Send a message and return Flower's number of it as the ticket."""
        content, ttl = record_of(message), max(seconds, 1.0)
        carried = FlowerMessage(content=content, dst_node_id=node, message_type=ACTION, ttl=ttl)
        (ticket,) = list(self._grid.push_messages([carried])) or [None]
        if ticket is not None:
            self._asked[ticket] = node
        return ticket

    def receive(self, tickets: Collection[str]) -> Iterator[tuple[str, Message | str]]:
        """Yield the answers that have arrived, one at a time, so at most one is in memory before its check."""
        for ticket in list(tickets):
            for message in self._grid.pull_messages([ticket]):
                if message.metadata.reply_to_message_id != ticket:
                    continue
                node = self._asked.pop(ticket, None)
                if message.has_error():
                    yield ticket, f"Flower's error {message.error.code}: {message.error.reason}"[:500]
                elif message.metadata.src_node_id != node:
                    yield ticket, "an answer of another node"
                else:
                    yield ticket, message_of(message.content)


def record_of(message: Message) -> RecordDict:
    """Convert a message to Flower's record."""
    arrays = {
        name: Array(dtype="uint8", shape=(len(blob),), stype=_BYTES, data=blob) for name, blob in message.blobs.items()
    }
    return RecordDict({"text": ConfigRecord({"text": message.text}), "tensors": ArrayRecord(arrays)})


def message_of(record: RecordDict) -> Message:
    """Convert Flower's record to a message; a malformed one becomes an empty message, which is refused."""
    text, tensors = record.get("text"), record.get("tensors")
    if not isinstance(text, ConfigRecord) or not isinstance(tensors, ArrayRecord) or len(record) != 2:
        return Message("", {})
    said = text.get("text")
    if not isinstance(said, str) or len(text) != 1 or not all(array.stype == _BYTES for array in tensors.values()):
        return Message("", {})
    return Message(said, {name: array.data for name, array in tensors.items()})


def server_app(start: Start, evaluate: Evaluate | None = None) -> ServerApp:
    """Build the server's side of an app.

    Args:
        start: Returns the initial weights by name, the same on every call.
        evaluate: Returns numbers by name for weights, from the server's data; default: the silos' mean loss.
    """
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        try:
            serve(context.run_config, FlowerTransport(grid), start, evaluate)
        except (FederationError, RunError, OSError) as error:
            say(str(error))  # and Flower, which takes the run as failed, shows where it came from
            raise

    return app


def client_app(client: Callable[[str, Mapping[str, Any]], Client]) -> ClientApp:
    """Build a silo's side of an app.

    The silo's own settings (`flower-supernode --node-config`) are `silo`, its name, and `folder`, where it keeps what
    belongs to its client; `limit-mb` for the largest request and `threads`, and what the function needs.

    Args:
        client: Returns the client with its data, from the silo's name and settings.
    """
    app = ClientApp()

    @app.train("letter")
    def letter(message: FlowerMessage, context: Context) -> FlowerMessage:
        request = message_of(message.content)
        try:
            answer = _node(client, context.node_config).answer(request)
        except Exception as error:  # of the function that gives the data, or of the node's config
            answer = failure(error, request)
        return FlowerMessage(record_of(answer), reply_to=message)

    return app


def _node(client: Callable[[str, Mapping[str, Any]], Client], config: Mapping[str, Any]) -> Node:
    missing = [name for name in ("silo", "folder") if not isinstance(config.get(name), str)]
    if missing:
        raise FederationError(
            f'the node\'s config lacks {", ".join(missing)}: --node-config \'silo="a" folder="/..."\''
        )
    threads, most = config.get("threads", 1), config.get("limit-mb", 1024)
    if not is_whole(threads) or threads < 1:
        raise FederationError(f"the node's config needs threads of at least 1, as a number, got {threads!r}")
    try:
        limits = Limits.of_megabytes(most)
    except ValueError as error:
        raise FederationError(f"the node's config: {error}") from error
    torch.set_num_threads(int(threads))  # one: the bits of a run in one process
    name, folder = str(config["silo"]), with_home(str(config["folder"]))
    if "\0" in str(folder):
        raise FederationError(f"the node's config needs a folder without a NUL character, got {str(folder)!r}")
    return Node(name, client(name, config), folder, limits)
