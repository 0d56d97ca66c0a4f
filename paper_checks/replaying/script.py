"""The replay of a witness as a self-contained script: the stored values, the hypotheses and the two sides.

The lines are extracted from the replay's modules, so nothing is written twice. Functions that a replay calls are
included. The replay's own lines are at the top level, with each hypothesis as an assertion. A script needs only the
standard library, or names its other requirements in its first line.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pprint import pformat
from types import ModuleType
from typing import Any

from paper_checks.evaluation import Replay, Violation, evaluate_replay
from paper_checks.replaying.replay_source import (
    WIDTH,
    Parts,
    defining_module,
    definition_text,
    needed_names,
    pack,
    parse,
    source_of,
)

_DEFINITIONS = {
    "in_digits": """def in_digits(side):
    with localcontext(Context(prec=6, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        return Decimal(Fraction(side).numerator) / Decimal(Fraction(side).denominator)
""",
    "Hypothesis": """def Hypothesis(name, value, relation, bound):
    assert eval(f"value {'==' if relation == '=' else relation} bound"), f"not met: {name} = {value}"
""",
    "assuming": """def assuming(*assumes):
    return assumes
""",
}


def script_of(replay: Replay, values: Mapping[str, Any], where: str = "") -> str:
    """Return a script that evaluates stored values as the replay does.

    Args:
        replay: of a witness.
        values: on file.
        where: what the statement is, for the first line.

    Raises:
        ScriptError: it cannot be put into one script.
    """
    parts = Parts()
    body = "\n".join(_Body(parts, importlib.import_module(replay.evaluate.__module__), replay.evaluate.__name__).lines)
    needed = _used_only("\n".join([*parts.pieces, body]))
    if replay.kind == "witness" and "sampled" not in needed and _is_beyond_floats(replay, values):
        needed = re.sub(r"float\((left|right)\)", r"in_digits(\1)", needed)
        parts.imports.add("from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext")
        parts.imports.add("from fractions import Fraction")
    own = [text.rstrip() for name, text in _DEFINITIONS.items() if f"{name}(" in needed]
    if re.search(r"^ *(def|class) ", needed, re.MULTILINE):
        parts.imports.add("from __future__ import annotations")
    if "Fraction(" in needed:
        parts.imports.add("from fractions import Fraction")
    needs = sorted({line.split()[1].split(".")[0] for line in parts.imports} - set(sys.stdlib_module_names))
    runs = f"Needs {', '.join(needs)}" if needs else "The standard library alone is enough"
    told = f"{replay.id}{f' ({where})' if where else ''}"
    imports = sorted(parts.imports, key=lambda line: ("__future__" not in line, line))
    first = f"# {told}: the stored witness violates the statement. {runs}."
    return "\n".join([first, *imports, *_as_literal(values, replay.words), *own, needed, ""])


def _is_beyond_floats(replay: Replay, values: Mapping[str, Any]) -> bool:
    """Return whether a side of a witness is larger than floats are."""
    answer = evaluate_replay(replay, values)
    return answer.confirmed and answer.left is None


def _as_literal(values: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """Return the stored values, as many per line as fit, with their meanings as comments."""
    lines = ["values = {"]
    for name, value in values.items():
        item = f"{name!r}: {value!r}, "
        if len(lines[-1]) + len(item) > WIDTH and lines[-1].strip():
            lines.append("    ")
        if len(item) <= WIDTH:
            lines[-1] += item
        else:  # a long list takes lines of its own
            lines[-1] += f"{name!r}:"
            lines += textwrap.indent(f"{pformat(value, width=WIDTH, compact=True)}, ", "    ").splitlines()
    lines[-1] = lines[-1].removesuffix(", ") + "}"
    told = "; ".join(f"{name}: {text}" for name, text in words.items())
    if told and len(lines[-1]) + len(told) + 4 <= WIDTH + 30:  # as a comment next to them
        lines[-1] += f"  # {told}"
    elif told:
        lines += textwrap.wrap(told, WIDTH, initial_indent="# ", subsequent_indent="# ")
    return [line.rstrip() for line in lines]


def _used_only(text: str) -> str:
    """Return a script without uncalled methods and without the texts that are in its comments."""
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

    def __init__(self, parts: Parts, module: ModuleType, name: str) -> None:
        self.lines: list[str] = []
        source = source_of(module)
        tree = parse(source)
        (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
        *before, last = [node for node in function.body if not ast.unparse(node).startswith(("'", '"'))]
        assert isinstance(last, ast.Return)
        assert isinstance(last.value, ast.Call)
        called = last.value.func.id if isinstance(last.value.func, ast.Name) else ""
        if called != "Violation" or any(isinstance(node, ast.Nonlocal) for node in ast.walk(function)):
            self._delegate(parts, module, function, before, last.value)
            return
        for other in needed_names(tree, function):
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
        self, parts: Parts, module: ModuleType, function: ast.FunctionDef, before: Sequence[ast.stmt], call: ast.Call
    ) -> None:
        """Add a replay that calls another function: that function, after the assignment of its further arguments."""
        tree, name = parse(source_of(module)), ast.unparse(call.func)
        home = defining_module(module, name)
        if before or home is None or call.keywords:
            parts.collect(module, function.name)
            self.lines = [_VIOLATION, f"{function.name}(values)"]
            return
        for other in needed_names(tree, function):
            if other != name:
                parts.collect(module, other)
        (target,) = (
            node for node in parse(source_of(home)).body if isinstance(node, ast.FunctionDef) and node.name == name
        )
        names = [argument.arg for argument in target.args.args]
        set_before = [f"{argument} = {ast.unparse(value)}" for argument, value in zip(names, call.args, strict=True)]
        self.lines = [*set_before[1:], *_Body(parts, home, name).lines]

    def _add(self, node: ast.stmt, source: str) -> None:
        """Add a statement as written; for hypotheses, one assertion each."""
        stated = None if self.inner else _stated_elements(node)
        if stated is None:
            own, short = textwrap.dedent(definition_text(node, source)), ast.unparse(node)
            compact = "\n" not in short and len(short) <= WIDTH and "#" not in own
            self.lines += [short] if compact else pack(own.splitlines())
        else:
            self.lines += _assertions(stated)

    def _compare(self, call: ast.Call, module: ModuleType) -> None:
        """Add the remaining hypotheses, both sides, and their comparison."""
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        more = {one.name: value for one, value in zip(fields(Violation), call.args, strict=False)} | named
        if "assumes" in more:
            self.lines += _assertions(_elements(more["assumes"]))
        left, right = ast.unparse(more["left"]), ast.unparse(more["right"])
        sides = [f"left, right = {left}, {right}"]
        self.lines += sides if len(sides[0]) <= WIDTH else [f"left = {left}", f"right = {right}"]
        error, strict = (ast.unparse(more[name]) if name in more else "" for name in ("error", "strict"))
        violated, stated = ("left >= right", "left < right") if strict == "True" else ("left > right", "left <= right")
        if error not in ("", "0"):
            violated, stated = f"left - right > {error}", f"left - right <= {error}"
            violated += f" or (left == right and not {error})" if strict == "True" else ""
        if strict not in ("", "True", "False"):
            violated = f"{violated} or (({strict}) and left == right{f' and not {error}' if error else ''})"
        if "reads" in more:
            self.lines += _comment(more["reads"], module)
        told = f'"violates the statement" if {violated} else "does not violate the statement"'
        self.lines.append(f'print("stated: {stated}")')
        self.lines.append(f'print("left =", float(left), "right =", float(right), {told})')


_VIOLATION = """def Violation(left, right, error=0, reads="", strict=False, assumes=(), given={}, sampled=""):
    print(reads)
    print("stated: left", "<" if strict and not error else "<=", f"right + {error}" if error else "right")
    violated = "violates" if left - right > error or (strict and left == right and not error) else "does not violate"
    print("left =", float(left), "right =", float(right), violated, "the statement")
"""


def _comment(reads: ast.expr, module: ModuleType) -> list[str]:
    """Return how to read the two sides, as a comment, or as a print if it contains numbers of the run."""
    try:
        told = eval(compile(ast.Expression(reads), "reads", "eval"), dict(vars(module)))
    except NameError:
        return [f"print({ast.unparse(reads)})"]
    return [f"# {line}" for line in textwrap.wrap(str(told), WIDTH)]


def _elements(value: ast.expr) -> list[ast.expr]:
    """Return the single hypotheses, and other expressions that hold some."""
    if isinstance(value, ast.Tuple | ast.List):
        return list(value.elts)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "assuming":
        return list(value.args)
    return [ast.Starred(value)]


def _stated_elements(node: ast.stmt) -> list[ast.expr] | None:
    """Return the hypotheses that a statement states; None if it does something else."""
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "assumes":
        return _elements(node.value)
    if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == "assumes":
        return _elements(node.value)
    if isinstance(node, ast.Expr) and ast.unparse(node.value).startswith("assumes.append("):
        assert isinstance(node.value, ast.Call)
        return list(node.value.args)
    return None


def _assertions(elements: Sequence[ast.expr]) -> Iterator[str]:
    """Yield one line for each hypothesis, or for both ends of a range; a function that makes some is called."""
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
    """A hypothesis as written in the source."""

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
        """Return whether the two are the lower and the upper end of one range."""
        same = (self.name, self.value) == (other.name, other.value)
        return same and self.relation in (">", ">=") and other.relation in ("<", "<=")

    def assertion(self, end: _Stated | None = None) -> str:
        """Return the assertion with a message: the name, or the condition if the name is the value."""
        condition = f"{self.value} {'==' if self.relation == '=' else self.relation} {self.bound}"
        if end is not None:
            condition = f"{self.bound} {self.relation.replace('>', '<')} {self.value} {end.relation} {end.bound}"
        return f"assert {condition}, {repr(condition) if self.name == repr(self.value) else self.name}"
