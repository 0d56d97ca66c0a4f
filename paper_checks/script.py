"""The replay of a witness as a script that stands alone: its source, what it calls, and the stored values.

Nothing is written twice: the lines are those of the replay, cut out of its modules. A script runs with the standard
library alone, or says in its first line what it needs besides.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pprint import pformat
from types import ModuleType
from typing import Any

from paper_checks.evaluation import Replay

_OWN = "paper_checks"
_EVALUATION = f"{_OWN}.evaluation"
_PREAMBLE = """
def Hypothesis(name, value, relation, bound):
    return name, value, relation, bound, eval(f"value {'==' if relation == '=' else relation} bound")


def Violation(left, right, error=0, exact=True, unmet="", reads="", strict=False, assumes=(), given={}):
    return locals()
"""
_END = """
if __name__ == "__main__":
    found = {name}(values)
    for name, value in found["given"].items():
        print(name, "=", value)
    for name, value, relation, bound, met in found["assumes"]:
        print("assumed:", name, "=", value, *(() if relation == "=" else (relation, bound)), "" if met else "NOT MET")
    left, right, error = found["left"], found["right"], found["error"]
    violated = left - right > error or (found["strict"] and left == right and error == 0)
    print(found["reads"])
    print("left =", left, "=", float(left))
    print("right =", right, "=", float(right))
    met = not found["unmet"] and all(one[-1] for one in found["assumes"])
    print("violates the statement" if violated and met else "does not violate the statement", found["unmet"])
"""


class ScriptError(ValueError):
    """Two parts of a replay have one name, so that they cannot stand in one script."""


def script_of(replay: Replay, values: Mapping[str, Any], where: str = "") -> str:
    """A script that evaluates stored values as the replay does.

    Args:
        replay: of a witness.
        values: on file.
        where: what the statement is, for the first line.

    Raises:
        ScriptError: it cannot be put into one script.
    """
    parts = _Parts()
    name = replay.evaluate.__name__
    parts.collect(importlib.import_module(replay.evaluate.__module__), name)
    needs = sorted({line.split()[1].split(".")[0] for line in parts.imports} - set(sys.stdlib_module_names))
    runs = f"needs {', '.join(needs)}" if needs else "the standard library alone is enough"
    stated = f"values = {pformat(dict(values), width=110, sort_dicts=False)}"
    told = f"{replay.id}{f' ({where})' if where else ''}"
    return "\n".join(
        [
            f"# {told}: the stored witness violates the statement. {runs[0].upper()}{runs[1:]}.",
            "from __future__ import annotations\n",
            *sorted(parts.imports),
            "",
            stated,
            "",
            _PREAMBLE,
            "\n\n\n".join(parts.pieces),
            "",
            _END.replace("{name}", name),
        ]
    )


class _Parts:
    """Definitions that a function needs, each after what it needs itself."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.pieces: list[str] = []
        self.home: dict[str, str] = {}

    def collect(self, module: ModuleType, name: str) -> None:
        """Adds a name of a module, unless it is there."""
        if name in self.home and self.home[name] == module.__name__:
            return
        source = inspect.getsource(module)
        tree = _parsed(source)
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node, name, module)
            elif name in _defined(node):
                self._comes_from(module.__name__, name)
                for other in _needed(tree, node):
                    self.collect(module, other)
                self.pieces.append(_text(node, source))

    def _comes_from(self, place: str, name: str) -> None:
        if self.home.setdefault(name, place) != place:
            raise ScriptError(f"{name} is of {self.home[name]} and of {place}")

    def _import(self, node: ast.Import | ast.ImportFrom, name: str, module: ModuleType) -> None:
        for alias in node.names:
            if (alias.asname or alias.name) != name:
                continue
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(_OWN):
                line = ast.unparse(type(node)(**{**vars(node), "names": [alias]}))
                self._comes_from(line, name)
                self.imports.add(line)
            elif node.module not in (_EVALUATION, f"{_OWN}.replay"):  # those stand in the preamble
                if alias.asname:
                    raise ScriptError(f"{alias.name} is renamed in {module.__name__}")
                self.collect(importlib.import_module(node.module or ""), name)


@cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()


def _needed(tree: ast.Module, node: ast.stmt) -> Iterator[str]:
    """Names of the module that a definition uses outside of its annotations."""
    known: set[str] = set()
    for other in tree.body:
        known |= _defined(other)
        if isinstance(other, ast.Import | ast.ImportFrom):
            known |= {alias.asname or alias.name for alias in other.names}
    for name in dict.fromkeys(_used(node)):
        if name in known and name not in _defined(node):
            yield name


def _used(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or (field == "decorator_list" and isinstance(node, ast.FunctionDef)
                                                  and _declares(node)):  # fmt: skip
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from _used(part)


def _declares(node: ast.FunctionDef) -> bool:
    """Whether a function is declared as a replay, which a script leaves out."""
    names = [decorator.func for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
    return any(isinstance(name, ast.Name) and name.id in ("replay", "proof") for name in names)


def _text(node: ast.stmt, source: str) -> str:
    """The lines of a definition, comments included, without the declaration as a replay and without docstrings."""
    lines = source.splitlines()
    first = node.lineno - 1
    dropped: set[int] = set()
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        if node.decorator_list and not (isinstance(node, ast.FunctionDef) and _declares(node)):
            first = node.decorator_list[0].lineno - 1
        for part in ast.walk(node):
            if isinstance(part, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(part) and len(part.body) > 1:
                dropped |= set(range(part.body[0].lineno - 1, part.body[0].end_lineno or 0))
    kept = [line for number, line in enumerate(lines[first : node.end_lineno], first) if number not in dropped]
    while kept and not kept[-1].strip():
        kept.pop()
    return "\n".join(line.replace("  # fmt: skip", "") for line in kept)
