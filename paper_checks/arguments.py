"""A proof as mathematics: the argument in the words of its docstring, with the setting and the lemmas it rests on.

A proof's docstring is the argument, its module's docstring the setting and notation, and what it calls has docstrings
for its own part. They are collected here, so that the pages and the report show the text that stands beside the code.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from paper_checks.evaluation import Replay

_SECTION = re.compile(r"\n\s*(?:Args|Attributes|Returns|Raises):\n.*", re.DOTALL)


@dataclass(frozen=True)
class Argument:
    """A proof in words and formulas; each text is a list of paragraphs, formulas stand between dollar signs.

    Attributes:
        proof: the argument.
        setting: what the proofs of one module share: setting, notation, and often the main steps; empty if nothing.
        lemmas: names and texts of what it rests on.
        source: the module it stands in, as a path from the root of the repository.
    """

    proof: tuple[str, ...]
    setting: tuple[str, ...]
    lemmas: tuple[tuple[str, tuple[str, ...]], ...]
    source: str


def argument_of(replay: Replay) -> Argument:
    """The argument of a proof."""
    module = importlib.import_module(replay.evaluate.__module__)
    lemmas, settings = {}, {}
    for home, name in _rests_on(module, replay.evaluate.__name__):
        part = vars(home).get(name)
        text = _paragraphs(inspect.getdoc(part) or "") if inspect.isfunction(part) else ()
        if text and (len(text) > 1 or "$" in text[0]):
            lemmas[name] = text
        if home is not module and len(_paragraphs(home.__doc__ or "")) > 1:
            settings[home.__name__.rpartition(".")[2]] = _paragraphs(home.__doc__ or "")
    setting = _paragraphs(module.__doc__ or "")
    return Argument(
        _paragraphs(inspect.getdoc(replay.evaluate) or ""),
        setting if len(setting) > 1 or "$" in setting[0] else (),
        (*settings.items(), *lemmas.items()),
        f"{module.__name__.replace('.', '/')}.py",
    )


def _paragraphs(text: str) -> tuple[str, ...]:
    """Paragraphs of a docstring on one line each, without its sections on arguments."""
    kept = _SECTION.sub("", inspect.cleandoc(text))
    return tuple(" ".join(part.split()) for part in kept.split("\n\n") if part.strip())


def _rests_on(module: ModuleType, name: str) -> Iterator[tuple[ModuleType, str]]:
    """Functions of the replays that a function calls, directly or through others, with their modules."""
    package = module.__name__.rpartition(".")[0]
    seen, waiting = {(module.__name__, name)}, [(module, name)]
    while waiting:
        home, own = waiting.pop(0)
        tree = ast.parse(inspect.getsource(home))
        origins = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package)
            for alias in node.names
        }
        defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for part in ast.walk(defined[own]) if own in defined else ():
            if isinstance(part, ast.Name) and (part.id in defined or part.id in origins):
                origin, called = origins.get(part.id, (None, part.id))
                place = origin or home.__name__
                if (place, called) not in seen:
                    seen.add((place, called))
                    there = importlib.import_module(place)
                    waiting.append((there, called))
                    yield there, called
