"""Small changes to a Python file that make one line wrong, found in its syntax tree."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mutant:
    """One wrong line: a span of a file and its replacement."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str
    kind: str
    code: str
    """The line as it is."""
    column: int
    """Column of the change, in that line."""
    repeat: int
    """How many lines of the file before it have the same text."""
    on_import: bool
    """Outside every function: tests that run the line cannot be distinguished."""

    @property
    def place(self) -> str:
        """Name of the line, which stays the same when lines above it change."""
        return _digest(self.file, self.code, self.repeat)

    @property
    def key(self) -> str:
        """Name of the change, which stays the same when lines above it change."""
        return _digest(self.file, self.code, self.repeat, self.column, self.before, self.after)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


_SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Pow: ("**", "*"),
    ast.MatMult: ("@", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}


LOOKS = frozenset(
    {
        "alpha",
        "framealpha",
        "lw",
        "linewidth",
        "mew",
        "ms",
        "markersize",
        "fontsize",
        "title_fontsize",
        "labelsize",
        "titlesize",
        "figsize",
        "width_ratios",
        "height_ratios",
        "handlelength",
        "handletextpad",
        "columnspacing",
        "labelspacing",
        "borderaxespad",
        "capsize",
    }
)
"""Arguments and settings of pictures that say how large, thick, transparent or far apart something is: changed within
reason, the picture shows the same. Colours, marks, dashes, limits and texts are not among them: they carry meaning."""
PICTURES = "figures/"
"""Where these names mean that."""
ALONE = "looks"
"""Kind of a change to one of these."""


class Sites(ast.NodeVisitor):
    """A visitor that collects the sites in a file where one small change makes a line wrong."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.found = file, []
        self._lines = text.splitlines()
        self._depth, self._looks = 0, 0
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line.encode()))
        self._bytes = text.encode()

    def _span(self, node: Any) -> tuple[int, int]:
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _add(self, node: Any, span: tuple[int, int], after: str, kind: str) -> None:
        before = self._bytes[span[0] : span[1]].decode()
        line = self._bytes[: span[0]].count(b"\n") + 1
        written = self._lines[line - 1]
        repeat = sum(other.strip() == written.strip() for other in self._lines[: line - 1])
        kind = ALONE if self._looks else kind
        column = span[0] - self._starts[line - 1] - (len(written) - len(written.lstrip()))
        self.found.append(
            Mutant(self.file, line, *span, before, after, kind, written.strip(), column, repeat, self._depth == 0)
        )

    def _between(self, left: Any, right: Any, operator: ast.AST, kind: str) -> None:
        if type(operator) not in _SWAPS:
            return
        old, new = _SWAPS[type(operator)]
        first, last = self._span(left)[1], self._span(right)[0]
        place = self._bytes[first:last].find(old.encode())
        if place >= 0:
            self._add(left, (first + place, first + place + len(old)), new, kind)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Replace an arithmetic operator."""
        if not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)):
            self._between(node.left, node.right, node.op, "arithmetic")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Replace a comparison."""
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self._between(left, right, operator, "comparison")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Exchange `and` and `or`."""
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        first, last = self._span(node.values[0])[1], self._span(node.values[1])[0]
        place = self._bytes[first:last].find(old.encode())
        if place >= 0:
            self._add(node, (first + place, first + place + len(old)), new, "condition")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Remove the sign or the `not`."""
        span, inner = self._span(node), self._span(node.operand)
        self._add(node, span, self._bytes[inner[0] : inner[1]].decode(), "sign")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Change a number, or a truth value."""
        value = node.value
        if isinstance(value, bool):
            self._add(node, self._span(node), str(not value), "constant")
        elif isinstance(value, int):
            self._add(node, self._span(node), str(value + 1), "constant")
        elif isinstance(value, float):
            self._add(node, self._span(node), repr(value * 1.5 if value else 1.0), "constant")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Keep texts."""

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Exchange the two branches."""
        body, other = (self._bytes[slice(*self._span(part))].decode() for part in (node.body, node.orelse))
        test = self._bytes[slice(*self._span(node.test))].decode()
        self._add(node, self._span(node), f"({other} if {test} else {body})", "condition")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Negate the condition."""
        test = self._bytes[slice(*self._span(node.test))].decode()
        self._add(node, self._span(node.test), f"not ({test})", "condition")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        """Drop the returned value."""
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._add(node, self._span(node.value), "None", "return")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Leave a keyword argument out, or exchange two arguments; `strict` and `frozen` state facts and stay."""
        node.keywords = [keyword for keyword in node.keywords if keyword.arg not in ("strict", "frozen")]
        for keyword in node.keywords:
            if keyword.arg is not None and len(node.args) + len(node.keywords) > 1:
                self._within(keyword.arg, self._argument, node, keyword)
        if len(node.args) == 2 and not any(isinstance(argument, ast.Starred) for argument in node.args):
            one, two = (self._span(argument) for argument in node.args)
            first, second = self._bytes[slice(*one)], self._bytes[slice(*two)]
            if first != second and b"\n" not in self._bytes[one[0] : two[1]]:
                swapped = second + self._bytes[one[1] : two[0]] + first
                self._add(node, (one[0], two[1]), swapped.decode(), "arguments")
        self.generic_visit(node)

    def _argument(self, node: ast.Call, keyword: ast.keyword) -> None:
        start, end = self._span(keyword)
        rest = self._bytes[end:]
        if rest.startswith(b", "):
            self._add(node, (start, end + 2), "", "argument left out")
        elif rest.startswith(b")"):
            before = self._bytes[:start].rstrip()
            if before.endswith(b","):
                self._add(node, (len(before) - 1, end), "", "argument left out")

    def visit_keyword(self, node: ast.keyword) -> None:
        """Visit a keyword argument."""
        self._within(node.arg, self.generic_visit, node)

    def visit_Dict(self, node: ast.Dict) -> None:
        """Visit keys and their values."""
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                self.visit(key)
            self._within(key.value if isinstance(key, ast.Constant) else None, self.visit, value)

    def _within(self, name: object, visit: Callable[..., None], *nodes: ast.AST) -> None:
        """Visit the parts of a name; `axes.labelsize` is a font size too."""
        looks = self.file.startswith(PICTURES) and isinstance(name, str) and name.split(".")[-1] in LOOKS
        self._looks += looks
        visit(*nodes)
        self._looks -= looks

    def visit_Expr(self, node: ast.Expr) -> None:
        """Remove a call."""
        if isinstance(node.value, ast.Call):
            self._add(node, self._span(node), "pass", "statement")
        if not isinstance(node.value, ast.Constant):  # docstrings
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Remove an update."""
        self._add(node, self._span(node), "pass", "statement")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Remove a raised error."""
        self._add(node, self._span(node), "pass", "statement")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Skip annotations, which mypy checks."""
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Visit defaults and the body."""
        for part in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
            self.visit(part)
        self._depth += 1
        for part in node.body:
            self.visit(part)
        self._depth -= 1

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Visit the body."""
        self._depth += 1
        self.visit(node.body)
        self._depth -= 1

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Keep imports."""


def mutated(text: str, mutant: Mutant) -> str:
    """Return the file's text with the wrong line in it."""
    content = text.encode()
    return (content[: mutant.start] + mutant.after.encode() + content[mutant.end :]).decode()
