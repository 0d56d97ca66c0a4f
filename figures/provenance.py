"""The provenance of numbers: the code, the packages and the kind of machine."""

from __future__ import annotations

import ast
import hashlib
import io
import os
import platform
import tokenize
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from figures.code_digest import code_digest

_ROOT = Path(__file__).resolve().parent.parent
_CHECKOUT, _WHEEL = _ROOT / "docs" / "figures", _ROOT / "rankproof_stored"
FOLDER = _CHECKOUT if _CHECKOUT.is_dir() else _WHEEL
"""Folder of stored numbers: in a checkout, or next to the packages of a wheel, where `setup.py` copies them."""
ROOMS = ("rmt", "hessian", "toymodels", "algorithms", "workloads", "runs", "figures")


def sources_digest(rooms: Sequence[str] = ROOMS, root: Path = _ROOT) -> str:
    """Return the SHA-256 of the Python and JSON files of some folders or modules: names and executable content."""
    files: list[Path] = []
    for room in rooms:
        place = root / room
        files += sorted(place.rglob("*.*")) if place.is_dir() else [place]
    return _digest([file for file in files if file.suffix in (".py", ".json")], root)


def numbers_digest(data: Callable[..., object], root: Path = _ROOT) -> str:
    """Return the SHA-256 of the code that computes a figure's numbers, from `data` on (`figures.code_digest`).

    If the module of `data` is not a file, all sources count.
    """
    return code_digest(data, ROOMS, root) or sources_digest(root=root)


def _digest(files: Sequence[Path], root: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        name = file.relative_to(root) if file.is_relative_to(root) else file.name
        digest.update(str(name).encode() + b"\0" + _content(file, file.stat().st_mtime_ns))
    return digest.hexdigest()


@cache
def _content(file: Path, changed: int) -> bytes:
    """Return the executable content of one state of a file: Python without comments, docstrings and empty lines."""
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


def package_versions(packages: Sequence[str]) -> dict[str, str | None]:
    """Return the versions of packages; None for a package that is not installed."""
    return {package: _version(package) for package in packages}


def machine() -> dict[str, Any]:
    """Return the Python version, the platform and the number of processors."""
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
