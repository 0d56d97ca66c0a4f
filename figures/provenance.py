"""The provenance of numbers: the code, the packages and the kind of machine."""

from __future__ import annotations

import ast
import hashlib
import io
import os
import platform
import tokenize
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

from figures.code_digest import code_digest
from runs.versions import installed

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
    data = file.read_bytes()
    text = io.TextIOWrapper(io.BytesIO(data), tokenize.detect_encoding(io.BytesIO(data).readline)[0]).read()
    lines, tree = text.split("\n"), ast.parse(text)
    nodes = list(ast.walk(tree))
    docstrings = [node for node in nodes if _is_docstring(node)]
    if not all(_is_alone(node, lines) for node in docstrings):
        return ast.dump(_WithoutStrings().visit(tree)).encode()
    for node in docstrings:
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        lines[first:last] = [""] * (last - first)
    for row, column in _comments(text, lines, nodes).items():
        lines[row] = lines[row][:column]
    # The end of a line within a string is part of the string.
    kept = {row for node in nodes if _is_string(node) for row in range(node.lineno - 1, (node.end_lineno or 1) - 1)}
    for node in docstrings:
        kept.difference_update(range(node.lineno - 1, node.end_lineno or node.lineno))
    rows = [line if row in kept else line.rstrip() for row, line in enumerate(lines) if row in kept or line.strip()]
    return "\n".join(rows).encode()


class _WithoutStrings(ast.NodeTransformer):
    """A transformer that replaces bare strings by `pass`."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Replace a bare string."""
        return ast.Pass() if _is_docstring(node) else node


def _is_docstring(node: ast.AST) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_string(node: ast.AST) -> TypeGuard[ast.expr]:
    """Return whether a node is a string, one of bytes, or one with values in it."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _is_alone(node: ast.Expr, lines: Sequence[str]) -> bool:
    """Return whether a docstring shares its lines with nothing but a comment."""
    last = lines[(node.end_lineno or node.lineno) - 1].encode()[node.end_col_offset or 0 :].strip()
    return not lines[node.lineno - 1].encode()[: node.col_offset].strip() and (not last or last.startswith(b"#"))


def _comments(text: str, lines: Sequence[str], nodes: Iterable[ast.AST]) -> dict[int, int]:
    """Return the column of the comment of each row, from 0, given the lines without docstrings."""
    strings: dict[int, list[tuple[int, int]]] = {row: [] for row, line in enumerate(lines) if "#" in line}
    for node in nodes:
        if _is_string(node):
            last, end = node.end_lineno or node.lineno, node.end_col_offset or 0
            for row in range(node.lineno - 1, last):
                if row in strings:
                    begin = node.col_offset if row == node.lineno - 1 else 0
                    strings[row].append((begin, end if row == last - 1 else len(text)))
    first = {row: len(lines[row].partition("#")[0].encode()) for row in strings}  # strings are placed by bytes
    if not any(begin <= first[row] < end for row, some in strings.items() for begin, end in some):
        return {row: lines[row].index("#") for row in strings}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)  # they take ten times as long as all else
    return {one.start[0] - 1: one.start[1] for one in tokens if one.type == tokenize.COMMENT}


def package_versions(packages: Sequence[str]) -> dict[str, str | None]:
    """Return the versions of packages; None for a package that is not installed."""
    return {package: installed(package) for package in packages}


def machine() -> dict[str, Any]:
    """Return the Python version, the platform and the number of processors."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
    }
