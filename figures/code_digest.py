"""Digests of the definitions that a function depends on, followed from name to name across modules.

A digest of whole files would change with every line of every imported module, even if the numbers do not depend on it.
This digest covers only definitions that a chain of names leads to: functions, whole classes with their methods, and
module-level values. Annotations lead on, because methods of an argument are known by its type alone. Of each module
that is imported on the way, the digest also covers statements that run at import and define no name, or may change the
value of another one. It ignores comments, docstrings, layout, the words of annotations, modules that draw
(`X_picture`), and modules that count the cost of a run (`X_cost`, `cost`). A definition that moves to another module
leaves the digest as it is.

It follows names as they are written. So it does not see what a string names at run time, files other than Python, or a
definition that nothing but its own decorator refers to.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

Place = tuple[Path, str]
"""A module's file and a module-level name; the name is empty for what runs at the module's import."""
Reference = tuple[str, Place]
"""A name as it is written, and where it is defined."""
Origin = tuple[str, str | None]
"""A module and a name there; None means the module itself."""


def code_digest(data: Callable[..., Any], rooms: Sequence[str], root: Path) -> str | None:
    """Return the SHA-256 of the definitions that a function depends on; None if it is not in a file of the project.

    Args:
        data: A function of a module, a closure made by one, a method, or a `functools.partial` of one. Numbers, strings
            and other values that it holds count as well.
        rooms: Packages whose definitions count.
        root: Folder of the packages.
    """
    project, value = _Project(tuple(rooms), root), _Value(root)
    text = value.describe(data)
    named = [(name, place) for of, name in value.names for place in project.resolve(of, name)]
    if not named:
        return None
    texts: dict[Place, str] = {}
    references: dict[Place, list[Reference]] = {}
    waiting = [place for _, place in named]
    while waiting:
        place = waiting.pop()
        if place not in texts:
            texts[place], references[place] = _definition(project, *place, place[0].stat().st_mtime_ns)
            waiting += [other for _, other in references[place]]
    digests = _refine(texts, references)
    whole = hashlib.sha256(text.encode())
    for name, place in named:
        whole.update(f"\0{name}".encode() + digests[place])
    for one in sorted(set(digests.values())):
        whole.update(one)
    return whole.hexdigest()


def _refine(texts: Mapping[Place, str], references: Mapping[Place, Sequence[Reference]]) -> Mapping[Place, bytes]:
    """Return a digest of each definition and of what its names lead to, wherever these definitions are.

    Each step adds the digests of the definitions one name further. They are complete once no more of them differ.
    """
    digests, known = {place: hashlib.sha256(text.encode()).digest() for place, text in texts.items()}, 0
    while len(set(digests.values())) > known:
        known = len(set(digests.values()))
        further = {}
        for place, text in texts.items():
            digest = hashlib.sha256(text.encode())
            for name, other in sorted({(name, digests[other]) for name, other in references[place]}):
                digest.update(f"\0{name}\0".encode() + other)
            further[place] = digest.digest()
        digests = further
    return digests


@dataclass
class _Value:
    """The text of a value, and the module-level names that functions and types in it refer to.

    Attributes:
        root: Folder of the packages.
        names: Names found so far, each with the file of its module.
    """

    root: Path
    names: list[Place] = field(default_factory=list)
    _open: list[Any] = field(default_factory=list)

    def describe(self, value: Any) -> str:
        """Return a text that differs between values of which numbers may differ, and add the names in it."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return f"{type(value).__name__} {value!r}"
        numpy = sys.modules.get("numpy")  # a value of numpy's only exists where numpy is loaded
        if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic) and not value.dtype.hasobject:
            return f"array {value.dtype.str} {value.shape} {value.tobytes().hex()}"
        if any(value is one for one in self._open):
            return "itself"
        self._open.append(value)
        try:
            return self._describe_parts(value)
        finally:
            self._open.pop()

    def _describe_parts(self, value: Any) -> str:
        if isinstance(value, partial):
            return f"partial {self._join((value.func, value.args, value.keywords))}"
        if isinstance(value, MethodType):
            return f"method {value.__func__.__name__} {self._join((value.__self__, value.__func__))}"
        if isinstance(value, Mapping):
            return f"mapping {self._join(value.items())}"
        if isinstance(value, list | tuple):
            return f"{type(value).__name__} {self._join(value)}"
        if isinstance(value, set | frozenset):
            return f"set {sorted(map(self.describe, value))}"
        if isinstance(value, ModuleType):
            place = self._place_of(value)
            self.names += () if place is None else ((place, name) for name in _read(place).definitions)
            return f"module {value.__name__}"
        if isinstance(value, FunctionType | type):
            return self._describe_function(value)
        if hasattr(value, "tolist"):
            return f"{type(value).__name__} {self.describe(value.tolist())}"
        return f"object {self._join((type(value), getattr(value, '__wrapped__', None), _state_of(value)))}"

    def _describe_function(self, value: FunctionType | type) -> str:
        place = self._place_of(sys.modules.get(value.__module__))
        if place is not None:
            own = value.__qualname__.split(".")[0]
            line = value.__code__.co_firstlineno if isinstance(value, FunctionType) and own == "<lambda>" else None
            names = [own] if line is None else _definitions_at(place, line)
            self.names += ((place, name) for name in names)
        if isinstance(value, type):
            return f"type {value.__qualname__}"
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return f"function {value.__qualname__} {self._join((cells, value.__defaults__, value.__kwdefaults__))}"

    def _place_of(self, module: ModuleType | None) -> Path | None:
        """Return the file of a module of the project, and None for others."""
        file = getattr(module, "__file__", None)
        if file is None:
            return None
        place = Path(file).resolve()
        inside = place.is_relative_to(self.root) and _PACKAGES not in place.relative_to(self.root).parts
        return place if inside else None

    def _join(self, values: Iterable[Any]) -> str:
        return f"({', '.join(map(self.describe, values))})"


def _state_of(value: Any) -> Any:
    """Return what another object of its type would differ in."""
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    try:
        reduced = value.__reduce_ex__(4)
    except TypeError:  # it cannot be stored
        return dict(getattr(value, "__dict__", {}))
    if isinstance(reduced, str):
        return reduced
    return [list(part) if isinstance(part, Iterator) else part for part in reduced[1:]]


_NOT_NUMBERS = ("_picture", "cost")
"""Suffixes of modules that do not affect any number."""
_PACKAGES = "site-packages"
"""Folder of other packages within an environment."""


@dataclass(frozen=True)
class _Module:
    """The top level of a module.

    Attributes:
        definitions: The statements that define or change each name; statements under one condition or loop together.
        imports: The origins of each imported name.
        stars: Modules all of whose names are imported.
        effects: Statements that define no name, or that may do more than define names.
    """

    definitions: Mapping[str, Sequence[ast.stmt]]
    imports: Mapping[str, Sequence[Origin]]
    stars: Sequence[str]
    effects: Sequence[ast.stmt]


@dataclass(frozen=True)
class _Project:
    rooms: tuple[str, ...]
    root: Path

    def resolve(self, file: Path, name: str) -> list[Place]:
        """Return where a module-level name is defined, if that is in the packages that count."""
        module = _read(file)
        found = [(file, name)] if name in module.definitions else []
        for of, inner in module.imports.get(name, ()):
            found += self._resolve_origin(self._absolute_name(of, file), inner)
        if not found and name not in module.imports:
            for star in module.stars:
                found += self._resolve_origin(self._absolute_name(star, file), name)
        if not found and name not in module.imports and "__getattr__" in module.definitions:
            found = [(file, "__getattr__")]
        return found

    def reference_all(self, tree: ast.AST, file: Path) -> tuple[list[str], list[Reference]]:
        """Return names from outside the packages with their origins, and where all other names are defined."""
        module, outside, found = _read(file), list[str](), list[Reference]()
        local: dict[str, list[Origin]] = {}
        for name, origin in _imports_of(tree):
            local.setdefault(name, []).append(origin)
        for name, origins in local.items():  # a class has what it imports as attributes
            for of, inner in origins:
                if inner is not None:
                    found += [(name, place) for place in self._resolve_origin(self._absolute_name(of, file), inner)]
        for name, rest in _chains(tree):
            if name in local or name in module.imports:
                for of, inner in local.get(name) or module.imports[name]:
                    whole = self._absolute_name(of, file)
                    if whole.split(".")[0] not in self.rooms:
                        outside.append(f"{name} = {whole}.{inner}" if inner else f"{name} = {whole}")
                    found += [(".".join((name, *rest)), place) for place in self._follow(whole, inner, rest)]
            if name not in local:
                found += [(name, place) for place in self._resolve_here(file, name)]
        return sorted(set(outside)), list(dict.fromkeys(found))

    def effects_behind(self, file: Path) -> list[Reference]:
        """Return what runs at import of the packages of a module and of the modules that it imports."""
        module = _read(file)
        origins = [(star, None) for star in module.stars] + [one for some in module.imports.values() for one in some]
        names = {".".join(self._package(file)[:count]) for count in range(1, len(self._package(file)) + 1)}
        for of, inner in origins:
            whole = self._absolute_name(of, file)
            names |= {whole, f"{whole}.{inner}"} if inner else {whole}
        files = {self._module_file(name) for name in names} - {None, file}
        return [("", (other, "")) for other in sorted(filter(None, files)) if not other.stem.endswith(_NOT_NUMBERS)]

    def _resolve_here(self, file: Path, name: str) -> list[Place]:
        module = _read(file)
        if name in module.definitions or (module.stars and name not in module.imports):
            return [place for place in self.resolve(file, name) if place[1] != "__getattr__"]
        return []

    def _follow(self, module: str, inner: str | None, rest: Sequence[str]) -> list[Place]:
        """Return where an imported name with attributes is defined: all of a module if it is used as a value."""
        path = [*([] if inner is None else [inner]), *rest]
        while path:
            found = self._resolve_name(module, path[0])
            if found or self._module_file(f"{module}.{path[0]}") is None:
                return found
            module, path = f"{module}.{path[0]}", path[1:]
        file = self._module_file(module)
        if file is None or file.stem.endswith(_NOT_NUMBERS):
            return []
        return [(file, name) for name in _read(file).definitions]

    def _resolve_origin(self, module: str, inner: str | None) -> list[Place]:
        return [] if inner is None else self._resolve_name(module, inner)

    def _resolve_name(self, module: str, name: str) -> list[Place]:
        file = self._module_file(module)
        return [] if file is None or file.stem.endswith(_NOT_NUMBERS) else self.resolve(file, name)

    def _absolute_name(self, module: str, file: Path) -> str:
        """Return a module's absolute dotted name from a possibly relative one."""
        level = len(module) - len(module.lstrip("."))
        if not level:
            return module
        package = self._package(file)
        return ".".join([*package[: len(package) + 1 - level], *filter(None, [module[level:]])])

    def _package(self, file: Path) -> tuple[str, ...]:
        return file.parent.parts[len(self.root.parts) :]

    def _module_file(self, module: str) -> Path | None:
        parts = module.split(".")
        if parts[0] not in self.rooms:
            return None
        place = self.root.joinpath(*parts)
        candidates = (place.with_suffix(".py"), place / "__init__.py")
        return next((file for file in candidates if file.is_file()), None)


@cache
def _definition(project: _Project, file: Path, name: str, changed: int) -> tuple[str, list[Reference]]:
    """Return the text of a definition as it runs, and where the names in it are defined, for one state of the file."""
    module = _module(file, changed)
    texts: list[str] = []
    references = [("", (file, ""))] if name else project.effects_behind(file)
    for statement in module.definitions[name] if name else module.effects:
        text, found = _statement(project, file, statement)
        texts.append(text)
        references += found
    return "\n".join(texts), references


@cache
def _statement(project: _Project, file: Path, statement: ast.stmt) -> tuple[str, list[Reference]]:
    """Return the text of a statement as it runs, with the origins of names; it loses docstrings and annotations."""
    outside, found = project.reference_all(statement, file)
    return "\n".join([ast.unparse(_Stripper().visit(statement)), *outside]), found


def _read(file: Path) -> _Module:
    return _module(file, file.stat().st_mtime_ns)


@cache
def _module(file: Path, changed: int) -> _Module:
    """Return the top level of a module, for one state of its file."""
    tree = ast.parse(file.read_bytes())
    definitions: dict[str, list[ast.stmt]] = {}
    imports: dict[str, list[Origin]] = {}
    stars, effects = [], []
    for statement in tree.body:
        alone = isinstance(statement, ast.Import | ast.ImportFrom) or _is_for_types(statement)
        imported = list(_imports_at_top(statement))
        stars += [of for name, (of, _) in imported if name == "*"]
        for name, origin in imported:
            imports.setdefault(name, []).append(origin)
        if alone or _is_docstring(statement) or _is_for_scripts(statement):
            continue
        names = dict.fromkeys((*_names_defined(statement), *(name for name, _ in imported)))
        for name in names:
            definitions.setdefault(name, []).append(statement)
        if not names or isinstance(statement, _COMPOUND) or _changes_another(statement, definitions):
            effects.append(statement)
    return _Module(definitions, imports, stars, effects)


_COMPOUND = (ast.For, ast.While, ast.With, ast.If, ast.Try, ast.Match)
"""Statements that may do more than define the names in them."""


def _changes_another(statement: ast.stmt, definitions: Mapping[str, list[ast.stmt]]) -> bool:
    """Return whether an assignment may change another value: it calls a method of one that the module assigns."""
    if isinstance(statement, _SCOPES):
        return False
    called = [node.func for node in _walk_scope(statement) if isinstance(node, ast.Call)]
    owners = {name for function in called if isinstance(function, ast.Attribute) for name in _first_name(function)}
    defined = {name for name in owners if any(not isinstance(of, _SCOPES) for of in definitions.get(name, ()))}
    return bool(defined - set(_names_defined(statement)))


def _definitions_at(file: Path, line: int) -> list[str]:
    """Return the names whose definitions contain a line."""
    return [
        name
        for name, statements in _read(file).definitions.items()
        if any(statement.lineno <= line <= (statement.end_lineno or line) for statement in statements)
    ]


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_for_types(statement: ast.stmt) -> bool:
    """Return whether a statement is an import for type checkers alone."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    return ast.unparse(statement.test).removeprefix("typing.") == "TYPE_CHECKING"


def _is_for_scripts(statement: ast.stmt) -> bool:
    """Return whether a statement runs only if its module is run as a script."""
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "__name__ == '__main__'"


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _walk_scope(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a statement and its parts, without the bodies of functions and classes."""
    yield tree
    if not isinstance(tree, _SCOPES):
        for part in ast.iter_child_nodes(tree):
            yield from _walk_scope(part)


def _imports_at_top(statement: ast.stmt) -> Iterator[tuple[str, Origin]]:
    for node in _walk_scope(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imports_of(node)


def _names_defined(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement defines, and those whose items, attributes or methods it may change."""
    inner = {
        id(name)
        for node in _walk_scope(statement)
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
    }
    for node in _walk_scope(statement):
        if id(node) in inner:
            continue  # names within a comprehension stay there
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            yield from _first_name(node)
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name is not None:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            yield node.rest
        elif isinstance(node, ast.Global):
            yield from node.names


def _first_name(node: ast.AST) -> Iterator[str]:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _chains(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Yield each name with the attributes that follow it: `a.b.c` is the name a with b and c."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        rest: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            rest.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield inner.id, rest
        else:
            waiting += ast.iter_child_nodes(inner)


def _imports_of(tree: ast.AST) -> Iterator[tuple[str, Origin]]:
    """Yield each imported name with its module and its name there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                yield alias.asname or first, (alias.name if alias.asname else first, None)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, ("." * node.level + (node.module or ""), alias.name)


_MEANT = ("ClassVar", "InitVar", "KW_ONLY")
"""Annotations that say which fields a dataclass has."""


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
        """Remove the annotation of a variable or of a field, except for its meaning to a dataclass."""
        words = ast.unparse(node.annotation)
        meant = next((word for word in _MEANT if word in words), None)
        node.annotation = ast.Constant(meant)
        return self.generic_visit(node)
