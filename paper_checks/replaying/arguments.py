"""The mathematics of a proof: the argument from its docstring, with its setting and the lemmas that it uses.

A proof's docstring is the argument. The docstring of its module has the setting and notation, or names the module that
has them (``Setting: `shared.limits`.``), and each function that it calls has a docstring for its own part. They are
collected here, so the pages and the report show the text next to the code.
"""

from __future__ import annotations

import dis
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from paper_checks.evaluation import Replay
from paper_checks.replaying.places import file_of

_SECTION = re.compile(r"\n\s*(?:Args|Attributes|Returns|Raises):\n.*", re.DOTALL)
_SETTING = re.compile(r"Setting: (`[\w.]+`(?:, `[\w.]+`)*)\.")
"""A paragraph that names the modules of a setting, relative to the package of the replays."""


@dataclass(frozen=True)
class Argument:
    """A proof in words and formulas; each text is a list of paragraphs with formulas between dollar signs.

    Attributes:
        proof: the argument.
        setting: what the proofs of one module share: setting, notation, and often the main steps; empty if nothing.
        lemmas: names and texts of what it rests on.
        source: its module, as a path from the root of the repository.
    """

    proof: tuple[str, ...]
    setting: tuple[str, ...]
    lemmas: tuple[tuple[str, tuple[str, ...]], ...]
    source: str


def argument_of(replay: Replay) -> Argument:
    """Return the argument of a proof."""
    module = importlib.import_module(replay.evaluate.__module__)
    package = module.__name__.rpartition(".")[0]
    setting, named = _setting(_paragraphs(module.__doc__ or ""))
    homes = (importlib.import_module(f"{package}.{name}") for name in named)
    settings = {home.__name__.rpartition(".")[2]: _paragraphs(home.__doc__ or "") for home in homes}
    lemmas = {}
    for name, part in _rests_on(replay.evaluate, package):
        text = _lemma(part)
        if not text:
            continue
        lemmas[name] = text
        home = importlib.import_module(part.__module__)
        if home is not module and len(_paragraphs(home.__doc__ or "")) > 1:
            settings[home.__name__.rpartition(".")[2]] = _paragraphs(home.__doc__ or "")
    return Argument(
        _paragraphs(inspect.getdoc(replay.evaluate) or ""),
        setting if len(setting) > 1 or "$" in "".join(setting) else (),
        (*settings.items(), *lemmas.items()),
        file_of(module),
    )


def _setting(paragraphs: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paragraphs of a module's docstring, and separately the modules that they name for the setting."""
    named = [found[1] for text in paragraphs if (found := _SETTING.fullmatch(text))]
    own = tuple(text for text in paragraphs if not _SETTING.fullmatch(text))
    return own, tuple(name.strip("`") for names in named for name in names.split(", "))


def _paragraphs(text: str) -> tuple[str, ...]:
    """Return the paragraphs of a docstring, one line each, without the sections on arguments."""
    kept = _SECTION.sub("", inspect.cleandoc(text))
    return tuple(" ".join(part.split()) for part in kept.split("\n\n") if part.strip())


def _lemma(part: Callable[..., Any]) -> tuple[str, ...]:
    """Return the mathematics of a function's docstring if it has formulas, or several paragraphs of words."""
    text = _paragraphs(inspect.getdoc(part) or "")
    return text if len(text) > 1 or any("$" in paragraph for paragraph in text) else ()


def _rests_on(function: Callable[..., Any], package: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the functions and proofs of a package that a body refers to, directly or not, with readable names."""
    seen, waiting = [function], [function]
    while waiting:
        own = waiting.pop(0)
        for name in _globals_of(own.__code__):
            found = own.__globals__.get(name)
            told = f"proof of {found.id}" if isinstance(found, Replay) else name.strip("_")
            part = found.evaluate if isinstance(found, Replay) else found
            part = inspect.unwrap(part) if callable(part) else part
            if inspect.isfunction(part) and part.__module__.startswith(package) and part not in seen:
                seen.append(part)
                waiting.append(part)
                yield told, part


def _globals_of(code: CodeType) -> Iterator[str]:
    """Yield the globals that a body reads, in order; those within comprehensions and lambdas last."""
    yield from (str(one.argval) for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL")
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals_of(inner)
