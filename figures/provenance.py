"""Where numbers come from: the code, the packages and the kind of machine."""

from __future__ import annotations

import ast
import hashlib
import io
import os
import platform
import sys
import tokenize
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("rmt", "hessian", "toymodels", "algorithms", "workloads", "runs", "figures")


def sources_digest(rooms: Sequence[str] = ROOMS, root: Path = _ROOT) -> str:
    """SHA-256 over the Python and JSON files of some folders or modules of a project: their names and what they do."""
    files: list[Path] = []
    for room in rooms:
        place = root / room
        files += sorted(place.rglob("*.*")) if place.is_dir() else [place]
    return _digest([file for file in files if file.suffix in (".py", ".json")], root)


def numbers_digest(data: Callable[..., object], root: Path = _ROOT) -> str:
    """SHA-256 over the code that computes a figure's numbers: the module of `data` and all modules that it imports.

    Modules that draw (`X_picture`) do not count. Where the module of `data` is no file, all sources do.
    """
    module = sys.modules[getattr(data, "func", data).__module__]
    if getattr(module, "__file__", None) is None:
        return sources_digest(root=root)
    return _digest(sorted(_imported(Path(str(module.__file__)).resolve(), root)), root)


def _digest(files: Sequence[Path], root: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        name = file.relative_to(root) if file.is_relative_to(root) else file.name
        digest.update(str(name).encode() + b"\0" + _content(file, file.stat().st_mtime_ns))
    return digest.hexdigest()


@cache
def _content(file: Path, changed: int) -> bytes:
    """The content of a file that runs, at its state of a moment: Python without comments, docstrings, empty lines."""
    if file.suffix != ".py":
        return file.read_bytes()
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            rows = range(node.lineno - 1, node.end_lineno or node.lineno)
            lines[rows.start : rows.stop] = [""] * len(rows)
    return "\n".join(line.rstrip() for line in lines if line.strip()).encode()


def _imported(start: Path, root: Path) -> set[Path]:
    """A module and those of the project that it imports, directly or through others, wherever the import stands."""
    found: set[Path] = set()
    waiting = {start}
    while waiting:
        file = waiting.pop()
        if file not in found and not file.stem.endswith("_picture"):
            found.add(file)
            waiting |= _imports(file, file.stat().st_mtime_ns, root)
    return found


@cache
def _imports(file: Path, changed: int, root: Path) -> frozenset[Path]:
    names: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = file.parent.parts[len(root.parts) :]
            here = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*here, *([node.module] if node.module else [])])
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return frozenset(found for name in names if name.split(".")[0] in ROOMS for found in _files(name, root))


def _files(name: str, root: Path) -> list[Path]:
    """The files that an import of a dotted name runs, as far as it names modules."""
    parts = name.split(".")
    places = [root.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
    candidates = [file for place in places for file in (place / "__init__.py", place.with_suffix(".py"))]
    return [file for file in candidates if file.is_file()]


def package_versions(packages: Sequence[str]) -> dict[str, str | None]:
    """Versions of installed packages; None where one is not installed."""
    return {package: _version(package) for package in packages}


def machine() -> dict[str, Any]:
    """Python, platform and number of processors."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
