"""Locations of checks and replays in the source: file, line and function, relative to the folder of their package."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from paper_checks.claim import Claim
from paper_checks.evaluation import Replay
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
    """Return the location of a claim's declaration and judge."""
    return _place(importlib.import_module(claim.module), claim, claim.judge)


def replay_places(package: str, files: Sequence[Stored]) -> tuple[Place | None, ...]:
    """Return the locations of the evaluations that replay stored files of a paper; None for a file without one."""
    known = replays_of(package) if files else {}
    found = (known.get((file.id, file.kind)) for file in files)
    return tuple(None if replay is None else replay_place(replay) for replay in found)


def replay_place(replay: Replay) -> Place:
    """Return the location of a replay."""
    return _place(sys.modules[replay.evaluate.__module__], replay, replay.evaluate)


def file_of(module: ModuleType) -> str:
    """Return the file of a module, relative to the folder that holds its package."""
    return f"{module.__name__.replace('.', '/')}{'/__init__' if hasattr(module, '__path__') else ''}.py"


def _place(module: ModuleType, item: object, function: Callable[..., Any]) -> Place:
    """Return the location of a function of a module; of a function made elsewhere, its item's location."""
    written = inspect.unwrap(function)
    code = getattr(written, "__code__", None)
    if code is not None and code.co_filename == module.__file__:
        return Place(file_of(module), code.co_firstlineno, written.__name__)
    names = [name for name, value in vars(module).items() if value is item]
    for name, line in ((name, _bound(module).get(name)) for name in names):
        if line is not None:
            return Place(file_of(module), line, name)
    return Place(file_of(module), 1, names[0] if names else module.__name__)


@cache
def _bound(module: ModuleType) -> dict[str, int]:
    """Return the first lines of the statements that bind the names of a module."""
    found: dict[str, int] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = (part for target in targets for part in ast.walk(target))
            found |= {part.id: node.lineno for part in parts if isinstance(part, ast.Name)}
    return found
