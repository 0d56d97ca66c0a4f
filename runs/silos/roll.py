"""Who is there: nodes come and go, and say which silo they are."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from runs.silos.line import About, Line
from runs.silos.wire import Letter, LetterError, Limits, read, text_of

AGAIN = 20.0
"""Seconds after which a node that was refused is asked again who it is; it may have been started anew."""


class Roll:
    """The silos of a run and their nodes.

    Attributes:
        places: Nodes of the clients that are there, by the clients' numbers.
        about: Facts that each silo told about its client; they have to be the same when it comes back.
    """

    def __init__(self, names: Sequence[str], line: Line, limits: Limits, say: Callable[[str], None]) -> None:
        """Asks nobody yet.

        Args:
            names: Names of the silos, in the order of their clients.
            line: Line to the nodes.
            limits: Limits of the silos' answers.
            say: Told, in a line, what happens.
        """
        self._names, self._line, self._limits, self._say = names, line, limits, say
        self.places: dict[int, int] = {}
        self.about: dict[int, About] = {}
        self._greeted: dict[int, tuple[str, str]] = {}
        self._refused: dict[int, float] = {}

    @property
    def greetings(self) -> list[str]:
        """Tickets of newcomers' answers."""
        return [ticket for ticket, _ in self._greeted.values()]

    def greet(self, seconds: float) -> None:
        """Asks those who have come since who they are; those who went are no silo's place any more."""
        there = set(self._line.nodes())
        if not there.issuperset(self.places.values()):
            self._refused = {}  # one of them may be the silo that went
        self.places = {number: node for number, node in self.places.items() if node in there}
        self._greeted = {node: asked for node, asked in self._greeted.items() if node in there}
        self._refused = {node: since for node, since in self._refused.items() if time.monotonic() - since < AGAIN}
        for node in sorted(there - {*self.places.values(), *self._greeted, *self._refused}):
            nonce = secrets.token_hex(16)
            letter = Letter(text_of({"kind": "hello", "nonce": nonce}), {})
            ticket = self._line.send(node, letter, seconds)
            if ticket is not None:
                self._greeted[node] = ticket, nonce

    def hear(self, ticket: str, answer: Letter | str) -> None:
        """Takes the name that a newcomer gives; a name that is taken stays with whom it belongs to."""
        node = next((node for node, (sent, _) in self._greeted.items() if sent == ticket), None)
        if node is None:
            return
        _, nonce = self._greeted.pop(node)
        try:
            if isinstance(answer, str):
                raise LetterError(answer)
            number, about = self._introduced(answer, nonce)
        except LetterError as error:
            self._refused[node] = time.monotonic()
            self._say(f"node {node}: refused, {error}")
            return
        self.places[number] = node
        self._say(f"silo {self._names[number]}: there, with {about.samples:g} samples")

    def _introduced(self, answer: Letter, nonce: str) -> tuple[int, About]:
        """Who a newcomer is, by the number of its client.

        Raises:
            LetterError: Nobody who is asked for.
        """
        content = read(answer, replace(self._limits, bytes=0))
        if content.get("kind") == "failed":
            raise LetterError(said_in(content))
        name, about = content.get("silo"), _about(content)
        if content.get("echo") != {"nonce": nonce} or name not in self._names:
            raise LetterError(f"it is no silo of this run: {str(name)[:80]!r}")
        number = self._names.index(name)
        if number in self.places:
            raise LetterError(f"silo {name} is another node's name; it is asked again when that one is gone")
        if self.about.setdefault(number, about) != about:
            raise LetterError(f"silo {name} came back with other data or another network")
        return number, about


def said_in(content: Mapping[str, Any]) -> str:
    """The text of a failure in an answer, in one line of bounded length."""
    return "".join(sign if sign.isprintable() else " " for sign in str(content.get("said")))[:500]


def _about(content: Mapping[str, Any]) -> About:
    samples, values, statistics = (content.get(name) for name in ("samples", "values", "statistics"))
    right = isinstance(samples, float) and isfinite(samples) and samples > 0.0 and isinstance(values, bool)
    if not right or not isinstance(statistics, list) or not all(isinstance(name, str) for name in statistics):
        raise LetterError("does not say how much data of what kind it has")
    assert isinstance(samples, float)
    return About(samples, bool(values), frozenset(statistics))
