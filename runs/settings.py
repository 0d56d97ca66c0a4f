"""Settings of a run, each with the values it takes; without torch, so that the command line can read them."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any


class RunError(ValueError):
    """A run that cannot start or go on as asked; the message names cause and remedy."""


@dataclass(frozen=True)
class Option:
    """One setting.

    Attributes:
        kind: `int`, `float` or `str`.
        text: What it is.
        takes: Its values, in words.
        fits: Whether a value of its type is one of them.
        optional: ``None`` is a value, too.
    """

    kind: type
    text: str
    takes: str
    fits: Callable[[Any], bool]
    optional: bool = False

    def check(self, name: str, value: object) -> None:
        """Refuses other types and other values.

        Raises:
            RunError: A value that the setting does not take.
        """
        if value is None and self.optional:
            return
        types = (int, float) if self.kind is float else (self.kind,)
        try:
            fits = type(value) in types and self.fits(value)
        except OverflowError:  # a whole number that no float holds
            fits = False
        if not fits:
            raise RunError(f"{name} must be {self.takes}, got {reprlib.repr(value)}")


def _whole(default: int | None, text: str, least: int, most: int) -> Any:
    takes = f"a whole number from {least} to {most:,}"
    option = Option(int, text, takes, lambda value: least <= value <= most, optional=default is None)
    return field(default=default, metadata={"option": option})


def _number(default: float, text: str, takes: str, fits: Callable[[float], bool]) -> Any:
    option = Option(float, text, f"a finite number {takes}", lambda value: isfinite(value) and fits(value))
    return field(default=default, metadata={"option": option})


def _word(default: str, text: str, *words: str) -> Any:
    option = Option(str, text, f"one of {', '.join(map(repr, words))}", lambda value: value in words)
    return field(default=default, metadata={"option": option})


SIZE, COUNT = 10**6, 10**9


@dataclass(frozen=True)
class TrainSettings:
    """Settings of algorithms, problems and runs; each uses those that concern it. `OPTIONS` says what they are.

    Raises:
        RunError: A value of another type or out of its range.
    """

    clients: int = _whole(4, "number of clients", 1, SIZE)
    cohort: int | None = _whole(None, "clients of a round; default: all", 1, SIZE)
    rounds: int = _whole(100, "number of rounds", 1, COUNT)
    steps: int = _whole(10, "local steps of a round", 1, COUNT)
    learning_rate: float = _number(0.05, "of the local steps", "above 0", lambda value: value > 0)
    rank: int = _whole(2, "of the factors; of the start, for FeDLRT", 1, SIZE)
    tau: int = _whole(10, "rounds between accumulations, for FedLoRU", 1, COUNT)
    restart: str = _word("random", "of the factors after an accumulation", "random", "momentum", "keep A")
    scale: float = _number(1.0, "of the product of the factors", "other than 0", lambda value: value != 0)
    truncation: float = _number(
        0.01, "relative threshold of singular values, for FeDLRT", "of at least 0", lambda value: value >= 0
    )
    rows: int = _whole(10, "of the weights", 1, SIZE)
    columns: int = _whole(8, "of the weights", 1, SIZE)
    heterogeneity: float = _number(0.5, "how much clients differ", "of at least 0", lambda value: value >= 0)
    samples: int = _whole(50, "of each client, for ridges, regression and Legendre", 1, SIZE)
    seed: int = _whole(0, "of everything random", 0, 2**63 - 1)
    executor: str = _word("sequential", "where clients work", "sequential", "vmap")

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            option.check(name, getattr(self, name))
        if self.cohort is not None and self.cohort > self.clients:
            raise RunError(f"cohort must be at most the number of clients, {self.clients}, got {self.cohort}")


OPTIONS: Mapping[str, Option] = {entry.name: entry.metadata["option"] for entry in fields(TrainSettings)}
"""What each setting is, by its name."""


def default(name: str) -> Any:
    """The value of a setting that is not named."""
    return next(entry.default for entry in fields(TrainSettings) if entry.name == name)
