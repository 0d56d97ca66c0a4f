"""The replay of a witness as a script that stands alone: the stored values, the hypotheses and the two sides.

Nothing is written twice: the lines are those of the replay, cut out of its modules. What a replay calls comes with it;
its own lines stand at the top level, each hypothesis as an assertion. A script runs with the standard library alone,
or says in its first line what it needs besides.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from paper_checks.evaluation import Replay

_OWN = "paper_checks"
_ENGINE = (f"{_OWN}.evaluation", f"{_OWN}.replay")
_WIDTH = 110
_DEFINITIONS = {
    "Hypothesis": """def Hypothesis(name, value, relation, bound):
    assert eval(f"value {'==' if relation == '=' else relation} bound"), f"not met: {name} = {value}"
""",
    "assuming": """def assuming(*assumes):
    return assumes
""",
}
_SHORT = (
    (r'fractions\(values, ("\w+")\)', r"(Fraction(values[name]) for name in (\1,))"),
    (r'fractions\(values, ((?:"\w+"(?:, )?)+)\)', r"(Fraction(values[name]) for name in (\1))"),
    (r'followed\(values, ("\w+")\)', r"int(values[\1])"),
    (r'square\((values\["\w+"\]|target|matrix), [^()]*\)', r"[[Fraction(entry) for entry in row] for row in \1]"),
)
"""Readers of stored values, written out: in a script they check nothing."""


class ScriptError(ValueError):
    """The parts of a replay cannot stand in one script."""


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
    body = "\n".join(_Body(parts, importlib.import_module(replay.evaluate.__module__), replay.evaluate.__name__).lines)
    needed = _used_only("\n".join([*parts.pieces, body]))
    own = [text for name, text in _DEFINITIONS.items() if f"{name}(" in needed]
    if re.search(r"^ *(def|class) ", needed, re.MULTILINE):
        parts.imports.add("from __future__ import annotations")
    if "Fraction(" in needed:
        parts.imports.add("from fractions import Fraction")
    needs = sorted({line.split()[1].split(".")[0] for line in parts.imports} - set(sys.stdlib_module_names))
    runs = f"Needs {', '.join(needs)}" if needs else "The standard library alone is enough"
    told = f"{replay.id}{f' ({where})' if where else ''}"
    imports = sorted(parts.imports, key=lambda line: ("__future__" not in line, line))
    first = f"# {told}: the stored witness violates the statement. {runs}."
    return "\n".join([first, *imports, *_as_literal(values), *own, needed, ""])


def _as_literal(values: Mapping[str, Any]) -> list[str]:
    """The stored values, as many on a line as there is room for."""
    lines = ["values = {"]
    for name, value in values.items():
        item = f"{name!r}: {value!r}, "
        if len(lines[-1]) + len(item) > _WIDTH and lines[-1].strip():
            lines.append("    ")
        lines[-1] += item
    lines[-1] = lines[-1].removesuffix(", ") + "}"
    return [line.rstrip() for line in lines]


def _used_only(text: str) -> str:
    """A script without the methods that nothing in it calls, and the texts that stand in its comments."""
    while True:
        lines = text.splitlines()
        tree = ast.parse(text)
        owned = [method for owner in tree.body if isinstance(owner, ast.ClassDef) for method in owner.body]
        texts = [
            node
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper()
        ]
        for node in [*owned, *texts]:
            operator = isinstance(node, ast.FunctionDef) and node.name.startswith("__")
            if isinstance(node, ast.FunctionDef) and not operator and not re.search(rf"\.{node.name}\b", text):
                first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                del lines[first - 1 : node.end_lineno]
                break
            if isinstance(node, ast.Assign) and len(re.findall(rf"\b{ast.unparse(node.targets[0])}\b", text)) == 1:
                del lines[node.lineno - 1 : node.end_lineno]
                break
        else:
            return text
        text = "\n".join(lines)


class _Body:
    """The lines of a replay, at the top level of its script.

    Attributes:
        lines: of the script.
    """

    def __init__(self, parts: _Parts, module: ModuleType, name: str) -> None:
        self.lines: list[str] = []
        source = _source(module)
        tree = _parsed(source)
        (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
        *before, last = [node for node in function.body if not ast.unparse(node).startswith(("'", '"'))]
        assert isinstance(last, ast.Return)
        assert isinstance(last.value, ast.Call)
        called = last.value.func.id if isinstance(last.value.func, ast.Name) else ""
        if called != "Violation" or any(isinstance(node, ast.Nonlocal) for node in ast.walk(function)):
            self._delegate(parts, module, function, before, last.value)
            return
        for other in _needed(tree, function):
            parts.collect(module, other)
        self.inner = any(
            isinstance(node, ast.Name) and node.id == "assumes"
            for statement in before
            if isinstance(statement, ast.For | ast.While | ast.If | ast.With)
            for node in ast.walk(statement)
        )
        for node in before:
            self._add(node, source)
        self._compare(last.value, module)

    def _delegate(
        self, parts: _Parts, module: ModuleType, function: ast.FunctionDef, before: Sequence[ast.stmt], call: ast.Call
    ) -> None:
        """A replay that hands on to another function: that one, with its further arguments set before."""
        tree, name = _parsed(_source(module)), ast.unparse(call.func)
        home = _home(module, name)
        if before or home is None or call.keywords:
            parts.collect(module, function.name)
            self.lines = [_VIOLATION, f"{function.name}(values)"]
            return
        for other in _needed(tree, function):
            if other != name:
                parts.collect(module, other)
        (target,) = (
            node for node in _parsed(_source(home)).body if isinstance(node, ast.FunctionDef) and node.name == name
        )
        names = [argument.arg for argument in target.args.args]
        set_before = [f"{argument} = {ast.unparse(value)}" for argument, value in zip(names, call.args, strict=True)]
        self.lines = [*set_before[1:], *_Body(parts, home, name).lines]

    def _add(self, node: ast.stmt, source: str) -> None:
        """A statement as it stands; of hypotheses, one assertion each."""
        stated = None if self.inner else _stated(node)
        if stated is None:
            own, short = textwrap.dedent(_text(node, source)), ast.unparse(node)
            compact = "\n" not in short and len(short) <= _WIDTH and "#" not in own
            self.lines += [short] if compact else own.splitlines()
        else:
            self.lines += _assertions(stated)

    def _compare(self, call: ast.Call, module: ModuleType) -> None:
        """The hypotheses that are left, both sides, and what they come to."""
        more = {keyword.arg: keyword.value for keyword in call.keywords}
        if "assumes" in more:
            self.lines += _assertions(_elements(more["assumes"]))
        left, right = map(ast.unparse, call.args[:2])
        sides = [f"left, right = {left}, {right}"]
        self.lines += sides if len(sides[0]) <= _WIDTH else [f"left = {left}", f"right = {right}"]
        error = more.get("error", call.args[2] if len(call.args) > 2 else None)
        violated = "left >= right" if "strict" in more else "left > right"
        if error is not None:
            violated = f"left - right > {ast.unparse(error)}"
        if "reads" in more:
            self.lines += _comment(more["reads"], module)
        told = f'"violates the statement" if {violated} else "does not violate the statement"'
        self.lines.append(f'print("left =", float(left), "right =", float(right), {told})')


_VIOLATION = """def Violation(left, right, error=0, reads="", strict=False, assumes=(), given={}, sampled=""):
    print(reads)
    violated = "violates" if (left >= right if strict else left - right > error) else "does not violate"
    print("left =", float(left), "right =", float(right), violated, "the statement")
"""


def _comment(reads: ast.expr, module: ModuleType) -> list[str]:
    """How to read the two sides: as a comment, or printed where numbers of the run stand in it."""
    try:
        told = eval(compile(ast.Expression(reads), "reads", "eval"), dict(vars(module)))
    except NameError:
        return [f"print({ast.unparse(reads)})"]
    return [f"# {line}" for line in textwrap.wrap(str(told), _WIDTH)]


def _elements(value: ast.expr) -> list[ast.expr]:
    """Single hypotheses, and whatever else holds some."""
    if isinstance(value, ast.Tuple | ast.List):
        return list(value.elts)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "assuming":
        return list(value.args)
    return [ast.Starred(value)]


def _stated(node: ast.stmt) -> list[ast.expr] | None:
    """The hypotheses that a statement states; None if it does something else."""
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "assumes":
        return _elements(node.value)
    if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == "assumes":
        return _elements(node.value)
    if isinstance(node, ast.Expr) and ast.unparse(node.value).startswith("assumes.append("):
        assert isinstance(node.value, ast.Call)
        return list(node.value.args)
    return None


def _assertions(elements: Sequence[ast.expr]) -> Iterator[str]:
    """One line for each hypothesis, or for both ends of a range; what makes some elsewhere is called."""
    waiting: _Stated | None = None
    for element in elements:
        one = _Stated.of(element)
        if waiting is not None and one is not None and waiting.starts(one):
            yield waiting.assertion(one)
            waiting = None
            continue
        if waiting is not None:
            yield waiting.assertion()
        waiting = one
        if isinstance(element, ast.Starred) and isinstance(element.value, ast.GeneratorExp):
            yield f"[{ast.unparse(element)}]"
        elif isinstance(element, ast.Starred) and isinstance(element.value, ast.ListComp | ast.Call):
            yield ast.unparse(element.value)
    if waiting is not None:
        yield waiting.assertion()


@dataclass(frozen=True)
class _Stated:
    """A hypothesis as the source states it."""

    name: str
    value: str
    relation: str
    bound: str

    @classmethod
    def of(cls, element: ast.expr) -> _Stated | None:
        if not (isinstance(element, ast.Call) and ast.unparse(element.func) == "Hypothesis"):
            return None
        name, value, relation, bound = map(ast.unparse, element.args)
        return cls(name, value, ast.literal_eval(relation), bound)

    def starts(self, other: _Stated) -> bool:
        """Whether the two are the lower and the upper end of one range."""
        same = (self.name, self.value) == (other.name, other.value)
        return same and self.relation in (">", ">=") and other.relation in ("<", "<=")

    def assertion(self, end: _Stated | None = None) -> str:
        """As a line, with the name where it says more than the value."""
        told = "" if self.name == repr(self.value) else f", {self.name}"
        if end is not None:
            low = self.relation.replace(">", "<")
            return f"assert {self.bound} {low} {self.value} {end.relation} {end.bound}{told}"
        return f"assert {self.value} {'==' if self.relation == '=' else self.relation} {self.bound}{told}"


def _home(module: ModuleType, name: str) -> ModuleType | None:
    """The module of the toolkit that defines a function of this name, or the replay's package; None if neither."""
    found = vars(module).get(name)
    home = getattr(found, "__module__", "")
    return sys.modules[home] if inspect.isfunction(found) and _is_own(home, module) and home not in _ENGINE else None


def _is_own(name: str, module: ModuleType) -> bool:
    """Whether a module is of the toolkit, or of the package that a module belongs to."""
    return name.split(".")[0] in (_OWN, module.__name__.split(".")[0])


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
        found = vars(module).get(name)
        if inspect.ismodule(found) and _is_own(found.__name__, module):
            raise ScriptError(f"{module.__name__} imports the module {name}; import its functions by their names")
        source = _source(module)
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


def _source(module: ModuleType) -> str:
    """The source of a module, with stored values read in the plainest way."""
    source = inspect.getsource(module)
    for reader, plain in _SHORT:
        source = re.sub(reader, plain, source)
    return source


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
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or (
            field == "decorator_list" and isinstance(node, ast.FunctionDef) and _declares(node)
        ):
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
    kept = [line for line in kept if line.strip()]
    return "\n".join(line.replace("", "") for line in kept)
