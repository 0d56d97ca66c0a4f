"""Digests of the definitions that a function depends on, followed from name to name across modules.

A digest of whole files would change with every line of every imported module, even if the numbers do not depend on it.
This digest covers only definitions that a chain of names leads to: functions, whole classes with their methods, and
module-level values. It ignores comments, docstrings, annotations and layout, modules that draw (`X_picture`), and
modules that count the cost of a run (`X_cost`, `cost`). It follows names as they are written, so it does not see
imports by a string at run time.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

Place = tuple[Path, str]
"""A module's file and a module-level name."""


def code_digest(data: Callable[..., Any], rooms: Sequence[str], root: Path) -> str | None:
    """Return the SHA-256 of the definitions that a function depends on; None if it is not in a file of the project.

    Args:
        data: A function of a module, a closure made by one, or a `functools.partial` of one.
        rooms: Packages whose definitions count.
        root: Folder of the packages.
    """
    project = _Project(tuple(rooms), root)
    waiting = [place for name in _names_behind(data) for place in [project.resolve(*name)] if place is not None]
    if not waiting:
        return None
    reached: dict[Place, str] = {}
    while waiting:
        place = waiting.pop()
        if place not in reached:
            reached[place], names = _definition(project, *place, place[0].stat().st_mtime_ns)
            waiting += names
    digest = hashlib.sha256()
    for text in sorted(set(reached.values())):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


def _names_behind(value: Any) -> Iterator[Place]:
    """Yield the module-level names that a function, or what it was built from, refers to."""
    if isinstance(value, partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from _names_behind(part)
    elif isinstance(value, FunctionType | type):
        file = getattr(sys.modules.get(value.__module__), "__file__", None)
        if file is not None:
            place, own = Path(file).resolve(), value.__qualname__.split(".")[0]
            line = value.__code__.co_firstlineno if isinstance(value, FunctionType) and own == "<lambda>" else None
            names = [own] if line is None else _definitions_at(place, line)
            yield from ((place, name) for name in names)
        for cell in getattr(value, "__closure__", None) or ():
            yield from _names_behind(cell.cell_contents)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _names_behind(part)


_NOT_NUMBERS = ("_picture", "cost")
"""Suffixes of modules that do not affect any number."""


@dataclass(frozen=True)
class _Module:
    """The top level of a module: the statements that define each name, and the origin of each import."""

    definitions: Mapping[str, Sequence[ast.stmt]]
    imports: Mapping[str, tuple[str, str | None]]


@dataclass(frozen=True)
class _Project:
    rooms: tuple[str, ...]
    root: Path

    def resolve(self, file: Path, name: str) -> Place | None:
        """Return where a module-level name is defined; None if that is outside the packages that count."""
        module = _module(file, file.stat().st_mtime_ns)
        if name in module.definitions:
            return file, name
        if name not in module.imports:
            return None
        of, inner = module.imports[name]
        return None if inner is None else self._resolve_import(self._absolute_name(of, file), inner)

    def resolve_all(self, tree: ast.AST, file: Path) -> list[Place]:
        module, found = _module(file, file.stat().st_mtime_ns), []
        local = dict(_imports_of(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                if node.id in local and local[node.id][1] is not None:
                    of, inner = local[node.id]
                    found.append(self._resolve_import(self._absolute_name(of, file), str(inner)))
                else:
                    found.append(self.resolve(file, node.id))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                of, inner = local.get(node.value.id) or module.imports.get(node.value.id) or ("", None)
                whole = f"{self._absolute_name(of, file)}.{inner}" if inner else self._absolute_name(of, file)
                found.append(self._resolve_import(whole, node.attr))
        return [place for place in found if place is not None]

    def _resolve_import(self, module: str, name: str) -> Place | None:
        file = self._module_file(module)
        return None if file is None or file.stem.endswith(_NOT_NUMBERS) else self.resolve(file, name)

    def _absolute_name(self, module: str, file: Path) -> str:
        """Return a module's absolute dotted name from a possibly relative one."""
        level = len(module) - len(module.lstrip("."))
        if not level:
            return module
        package = file.parent.parts[len(self.root.parts) :]
        return ".".join([*package[: len(package) + 1 - level], *filter(None, [module[level:]])])

    def _module_file(self, module: str) -> Path | None:
        parts = module.split(".")
        if parts[0] not in self.rooms:
            return None
        place = self.root.joinpath(*parts)
        candidates = (place.with_suffix(".py"), place / "__init__.py")
        return next((file for file in candidates if file.is_file()), None)


@cache
def _definition(project: _Project, file: Path, name: str, changed: int) -> tuple[str, list[Place]]:
    """Return the text of a definition as it runs, and where the names in it are defined, for one state of the file."""
    texts, places = [], []
    for statement in _module(file, changed).definitions[name]:
        bare = _Stripper().visit(deepcopy(statement))
        texts.append(ast.unparse(ast.fix_missing_locations(bare)))
        places += project.resolve_all(bare, file)
    return "\n".join(texts), places


@cache
def _module(file: Path, changed: int) -> _Module:
    """Return the top level of a module, for one state of its file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    definitions: dict[str, list[ast.stmt]] = {}
    for statement in _flatten(tree.body):
        for name in _names_defined(statement):
            definitions.setdefault(name, []).append(statement)
    top = ast.Module([s for s in _flatten(tree.body) if isinstance(s, ast.Import | ast.ImportFrom)], [])
    return _Module(definitions, dict(_imports_of(top)))


def _definitions_at(file: Path, line: int) -> list[str]:
    """Return the names whose definitions contain a line."""
    definitions = _module(file, file.stat().st_mtime_ns).definitions
    return [
        name
        for name, statements in definitions.items()
        if any(statement.lineno <= line <= (statement.end_lineno or line) for statement in statements)
    ]


def _flatten(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the top-level statements, including those under conditions and in try blocks."""
    for statement in body:
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.For):
            for part in ("body", "orelse", "finalbody"):
                yield from _flatten(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _flatten(handler.body)
        else:
            yield statement


def _names_defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [
        node.id for target in targets if target is not None for node in ast.walk(target) if isinstance(node, ast.Name)
    ]


def _imports_of(tree: ast.AST) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Yield each imported name with its module and its name there; None means the module itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    alias.asname or alias.name.split(".")[0],
                    (alias.name if alias.asname else alias.name.split(".")[0], None),
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, ("." * node.level + (node.module or ""), alias.name)


class _Stripper(ast.NodeTransformer):
    """A transformer that removes docstrings and annotations."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Replace a bare string by `pass`."""
        alone = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return ast.Pass() if alone else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Remove the annotation of an argument."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Remove the annotation of the return value."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Remove the annotation of a variable or of a field."""
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)
