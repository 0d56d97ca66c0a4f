"""Modules of the current folder that hide those of this package from processes that are about to start."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import PathFinder
from pathlib import Path


def require_own_modules(failed: Callable[[str], Exception], here_first: bool = False) -> None:
    """Refuse a current folder in which new processes would find other modules than this one has loaded.

    They get this process's search path, to which the current folder may have been added after the modules were loaded.

    Args:
        failed: The error to raise, of what is wrong.
        here_first: Whether the processes look into the current folder before the search path, as Ray's do.

    Raises:
        Exception: As `failed` makes it.
    """
    path = [os.getcwd()] * here_first + [place or os.getcwd() for place in sys.path]
    for name, own, other in _find_hidden(Path.cwd(), path):
        raise failed(
            f"workers would import {other} instead of {name} of {own.parent}: rename it, or start from another folder, "
            "or leave the workers out"
        )


def _find_hidden(folder: Path, path: Sequence[str]) -> Iterator[tuple[str, Path, Path]]:
    """Yield names of loaded modules, their files, and the files of a folder that hide them on a search path."""
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." in name or name == "__main__" or not file:
            continue
        if not ((folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()):
            continue
        found = PathFinder.find_spec(name, path)
        if found is None or found.origin is None:
            continue
        own, other = Path(file).resolve(), Path(found.origin).resolve()
        if own != other and folder.resolve() in other.parents:
            yield name, own, other.parent if other.name == "__init__.py" else other
