"""Places of checks and replays in the source: file, line and function, relative to the folder of their package."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from paper_checks.claim import Claim
from paper_checks.evaluation import Replay, binding_lines, declared_in
from paper_checks.replay import Stored, replays_of


@dataclass(frozen=True)
class Place:
    """A definition in the source.

    Attributes:
        file: path relative to the folder that holds the package, which is the root of the repository.
        line: line where the definition begins.
        name: name of the function, or of what is defined.
    """

    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def check_place(claim: Claim) -> Place:
    """Return the place of a claim's declaration and judge."""
    return _place(importlib.import_module(claim.module), claim, claim.judge)


def replay_places(package: str, files: Sequence[Stored]) -> tuple[Place | None, ...]:
    """Return the places of the evaluations that replay stored files of a paper; None where none is written."""
    known = replays_of(package) if files else {}
    found = (known.get((file.id, file.kind)) for file in files)
    return tuple(None if replay is None else replay_place(replay) for replay in found)


def replay_place(replay: Replay) -> Place:
    """Return the place of a replay; where several share a function of another module, the place of the declaration."""
    return _place(importlib.import_module(replay.module), replay, replay.evaluate)


def file_of(module: ModuleType) -> str:
    """Return the file of a module, relative to the folder that holds its package."""
    return f"{module.__name__.replace('.', '/')}{'/__init__' if hasattr(module, '__path__') else ''}.py"


def _place(module: ModuleType, item: object, function: Callable[..., Any]) -> Place:
    """Return the place of a function of a module; for a function of another module, of the item's declaration."""
    written = inspect.unwrap(function)
    code = getattr(written, "__code__", None)
    if code is not None and code.co_filename == module.__file__:
        return Place(file_of(module), code.co_firstlineno, written.__name__)
    names = [name for name, value in vars(module).items() if value is item]
    declared = next((line for line, one in declared_in(module, type(item)) if one is item), None)
    for name in names:
        lines = _bound(module).get(name, [])
        if lines:
            around = (first for first, last in lines if declared is not None and first <= declared <= last)
            return Place(file_of(module), next(around, lines[-1][0]), name)
    return Place(file_of(module), declared or 1, names[0] if names else module.__name__)


_bound = cache(binding_lines)
"""Lines of the statements that bind the names of a module, read once."""
