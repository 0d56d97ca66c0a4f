"""The source of a replay and of what it calls, extracted from their modules for a self-contained script."""

from __future__ import annotations

import ast
import dis
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from types import CodeType, ModuleType

WIDTH = 110
"""Width of a line of a script."""
_OWN = "paper_checks"
_ENGINE = (f"{_OWN}.evaluation", f"{_OWN}.replay")
_SHORT = (
    (r'fractions\(values, ("\w+")\)', r"(Fraction(values[name]) for name in (\1,))"),
    (r'fractions\(values, ((?:"\w+"(?:, )?)+)\)', r"(Fraction(values[name]) for name in (\1))"),
    (r'followed\(values, ("\w+")\)', r"int(values[\1])"),
    (r'square\((values\["\w+"\]|target|matrix), [^()]*\)', r"[[Fraction(entry) for entry in row] for row in \1]"),
)
"""Readers of stored values, written out: in a script they check nothing."""


class ScriptError(ValueError):
    """An error for a replay whose parts do not fit into one script."""


def defining_module(module: ModuleType, name: str) -> ModuleType | None:
    """Return the module of the toolkit, or of the replay's package, that defines a function; None if neither does."""
    found = vars(module).get(name)
    home = getattr(found, "__module__", "")
    return sys.modules[home] if inspect.isfunction(found) and _is_own(home, module) and home not in _ENGINE else None


def _is_own(name: str, module: ModuleType) -> bool:
    """Return whether a module belongs to the toolkit, or to the package of another module."""
    return name.split(".")[0] in (_OWN, module.__name__.split(".")[0])


class Parts:
    """The definitions that a function needs, each after its own dependencies."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.pieces: list[str] = []
        self.home: dict[str, str] = {}

    def collect(self, module: ModuleType, name: str) -> None:
        """Add a name of a module, unless it is present."""
        if name in self.home and self.home[name] == module.__name__:
            return
        found = vars(module).get(name)
        if inspect.ismodule(found) and _is_own(found.__name__, module):
            raise ScriptError(f"{module.__name__} imports the module {name}; import its functions by name instead")
        source = source_of(module)
        tree = parse(source)
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node, name, module)
            elif name in _defined_names(node):
                for one in _defined_names(node):  # one statement can define several
                    self._comes_from(module.__name__, one)
                for other in needed_names(tree, node):
                    self.collect(module, other)
                self.pieces.append(definition_text(node, source))

    def _comes_from(self, place: str, name: str) -> None:
        if self.home.setdefault(name, place) != place:
            raise ScriptError(f"{name} is of {self.home[name]} and of {place}")

    def _import(self, node: ast.Import | ast.ImportFrom, name: str, module: ModuleType) -> None:
        for alias in node.names:
            if (alias.asname or alias.name) != name:
                continue
            own = isinstance(node, ast.ImportFrom) and f"{'.' * node.level}{node.module or ''}"
            source = own and importlib.util.resolve_name(own, module.__package__)
            if not source or not _is_own(source, module):
                line = ast.unparse(type(node)(**{**vars(node), "names": [alias]}))
                self._comes_from(line, name)
                self.imports.add(line)
            elif source not in _ENGINE:  # those have short forms here
                if alias.asname:
                    raise ScriptError(f"{alias.name} is renamed in {module.__name__}")
                self.collect(importlib.import_module(source), name)


def source_of(module: ModuleType) -> str:
    """Return the source of a module, with stored values read in the simplest way."""
    source = inspect.getsource(module)
    for reader, plain in _SHORT:
        source = re.sub(reader, plain, source)
    return source


@cache
def parse(source: str) -> ast.Module:
    """Return the syntax tree of a source; it is cached."""
    return ast.parse(source)


def _defined_names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()


def needed_names(tree: ast.Module, node: ast.stmt) -> Iterator[str]:
    """Yield the names of the module that a definition uses outside its annotations."""
    known: set[str] = set()
    for other in tree.body:
        known |= _defined_names(other)
        if isinstance(other, ast.Import | ast.ImportFrom):
            known |= {alias.asname or alias.name for alias in other.names}
    read = _read_from_module(node)
    for name in dict.fromkeys(_used_names(node)):
        if name in known and name in read and name not in _defined_names(node):
            yield name


def _read_from_module(node: ast.stmt) -> set[str]:
    """Return the names that a statement reads from its module, except its own variables of the same names."""
    waiting, found = ([compile(ast.Module([node], []), "<part>", "exec", annotations.compiler_flag)], set[str]())
    while waiting:
        code = waiting.pop()
        loaded = (one for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
        found |= {str(one.argval) for one in loaded}
        waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return found


def _used_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or (
            field == "decorator_list" and isinstance(node, ast.FunctionDef) and _declares(node)
        ):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from _used_names(part)


def _declares(node: ast.FunctionDef) -> bool:
    """Return whether a function is declared as a replay, which a script leaves out."""
    names = [decorator.func for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
    return any(isinstance(name, ast.Name) and name.id in ("replay", "proof") for name in names)


def definition_text(node: ast.stmt, source: str) -> str:
    """Return the lines of a definition with its comments, without the replay's decorator and without docstrings."""
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
    kept = [line for line in kept if line.strip()]
    return "\n".join(pack(kept))


def pack(lines: Sequence[str]) -> list[str]:
    """Return code with several elements of a list or call per line, where the formatter puts one on each."""
    found: list[str] = []
    for line in lines:
        inner = line.lstrip()
        depth = len(line) - len(inner)
        before = found[-1] if found else ""
        joins = before.endswith(",") and inner.endswith(",") and "#" not in before + line
        if joins and depth == len(before) - len(before.lstrip()) and len(before) + 1 + len(inner) <= WIDTH:
            found[-1] = f"{before} {inner}"
        else:
            found.append(line)
    return found
