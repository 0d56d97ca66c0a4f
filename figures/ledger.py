"""The list of all figures, collected from their modules."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module

import figures
from figures.figure import Figure, FigureError


def all_figures() -> tuple[Figure, ...]:
    """Return every figure of every module of the package, sorted by module name.

    Raises:
        FigureError: Two figures share an id.
    """
    found = pkgutil.walk_packages(figures.__path__, f"{figures.__name__}.")
    modules = [import_module(one.name) for one in found]
    ledger: dict[str, Figure] = {}
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Figure) and ledger.setdefault(value.id, value) is not value:
                raise FigureError(f"two figures are called {value.id!r}, one of them in {module.__name__}")
    return tuple(ledger.values())


def select(ids: Iterable[str] = ()) -> tuple[Figure, ...]:
    """Return figures by id or by a prefix with a final slash (`rmt/`), in the given order; all if none is named.

    Raises:
        FigureError: An id that no figure has; the message names near ones.
    """
    everything = all_figures()
    wanted: dict[str, Figure] = {}
    asked = tuple(ids)
    for id in asked:
        hits = [figure for figure in everything if figure.id == id or (id.endswith("/") and figure.id.startswith(id))]
        if not hits:
            raise FigureError(_unknown(id, [figure.id for figure in everything]))
        wanted.update((figure.id, figure) for figure in hits)
    return tuple(wanted.values()) if asked else everything


def _unknown(id: str, known: list[str]) -> str:
    near = [k for k in known if id and (id in k or k.split("/")[-1] == id.split("/")[-1])]
    near = near or get_close_matches(id, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
    return f"unknown figure {id!r}; {hint}"
