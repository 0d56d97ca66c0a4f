"""Bounds of a statement and of the last lines of its proof that differ by one factor or one power."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from paper_checks.inventory.checks.rates import Rate, one_change, read_exactly
from paper_checks.inventory.document import Candidate, Item

_LAST = 4
"""Formulas at the end of a proof that can be what it proves."""
_SIGN = re.compile(r"\\(?:leq?|geq?|leqslant|geqslant)(?![A-Za-z])|[≤≥<>=]")
_BELOW, _ABOVE = ("\\le", "\\leq", "\\leqslant", "≤", "<"), ("\\ge", "\\geq", "\\geqslant", "≥", ">")
_ROW = re.compile(r"(?<!\\)\\\\\*?(?:\s*\[[^\][]*\])?")
_ENDS = re.compile(
    r"[;]|\\q?quad(?![A-Za-z])|\\(?:text|textrm|textnormal|mbox|forall|tag|implies|Rightarrow|footnote)(?![A-Za-z])|\.\s"
)
_SPACE = re.compile(r"(?<!\\)\\[,;:!> ]")
"""Spaces, whose signs would otherwise end a formula."""
_HIDDEN = re.compile(r"\\(?:mathcal|tilde|widetilde)\s*\{+\s*\\?[A-Za-z{]*O|\\(?:Theta|Omega|mathcal)(?![A-Za-z])|𝒪")
_LONGEST = 400
_FORMATS = re.compile(
    r"\\(?:left|right|[bB]igg?[lr]?|,|;|!|:|mathrm|mathbf|mathbb|mathcal|text[a-z]*|rm|bf|bm|frac|[dt]frac|sum|nolimits|"
    r"limits|bar|hat|widehat|tilde|widetilde|overline|min|max|sqrt|prod|cdot|mid|Vert|lVert|rVert|star|ast)(?![A-Za-z])"
)
_OVER = {"T", "t", "K", "k", "N", "n", "M", "m", "i", "j", "s", "R", "r"}
"""Symbols of averages, which a left side can have more than another."""


@dataclass(frozen=True)
class _Side:
    """A right side of a formula.

    Attributes:
        left: The left side.
        right: The right side, as printed.
        sign: 1 for a bound from above, -1 from below, 0 for an equation.
        value: The right side as algebra.
    """

    left: str
    right: str
    sign: int
    value: Rate

    @property
    def letters(self) -> int:
        """How many symbols the right side has."""
        return len({name for term in self.value for name, _ in term if not name.isdigit()})


def endings(item: Item) -> Iterator[Candidate]:
    """Yield a bound of a statement if its proof ends with the same bound up to one factor or one power."""
    stated = [side for chain in _chains(item.text) for side in chain]
    chains = list(_chains(item.proof))
    if not stated or not chains:
        return
    proved = {side.value for chain in chains for side in chain}
    ends = [chain[-1] for chain in chains[-_LAST:] if chain]
    for side in stated:
        if side.letters < 2 or side.value in proved:
            continue
        for end in reversed(ends):
            if side.sign * end.sign < 0 or not _same_left(side.left, end.left):
                continue
            if one_change(side.value, end.value) and end.value not in {one.value for one in stated}:
                says = f"the proof ends with ${end.right}$, the statement has ${side.right}$"
                yield Candidate("constant", item.place, item.name, says, (end.right, side.right))
            break


def _chains(text: str) -> Iterator[list[_Side]]:
    """Yield for each formula the right sides that are understood, in their order."""
    for formula in re.findall(r"\$([^$]+)\$", text):
        inner = re.sub(r"\\(?:begin|end)\s*\{(?:aligned|split|gathered)\}(?:\[[a-z]\])?", " ", _SPACE.sub(" ", formula))
        if "\\begin" in inner:
            continue
        rows: list[str] = []
        for row in _ROW.split(inner):
            plain = re.sub(r"(?<!\\)&", " ", row).strip()
            if rows and (_SIGN.match(plain) or re.match(r"[-+*/]|\\(?:q?quad|cdot|times)", plain)):
                rows[-1] += " " + re.sub(r"^(?:\\q?quad\s*)+", "", plain)
            else:
                rows.append(plain)
        for row in rows:
            sides = list(_sides(row))
            if sides:
                yield sides


def _sides(formula: str) -> Iterator[_Side]:
    """Yield the right sides of a chain."""
    parts, signs = _split(formula)
    left = re.split(r",(?![^({]*[)}])", parts[0])[-1].strip()
    sign = 0
    for at, part in enumerate(parts[1:]):
        sign = sign or (1 if signs[at] in _BELOW else -1 if signs[at] in _ABOVE else 0)
        cut = _ENDS.search(part + " ")
        right = part[: cut.start()] if cut else part
        right = re.split(r",(?![^({\[]*[)}\]])", right)[0].strip().rstrip(".:*,")
        value = read_exactly(right) if len(right) <= _LONGEST and not _HIDDEN.search(right) else None
        if value is not None:
            yield _Side(left, " ".join(right.split()), sign, value)
        if cut:
            return


def _split(formula: str) -> tuple[list[str], list[str]]:
    """Return what is between the relations of a formula that are in no group, and these relations."""
    parts, signs, depth, start = [], [], 0, 0
    for found in re.finditer(rf"\\[{{}}]|[{{}}]|{_SIGN.pattern}", formula):
        if found[0] in "{}":
            depth += 1 if found[0] == "{" else -1
        elif depth == 0 and found[0][:2] not in ("\\{", "\\}"):
            parts.append(formula[start : found.start()])
            signs.append(found[0])
            start = found.end()
    return [*parts, formula[start:]], signs


def _same_left(one: str, other: str) -> bool:
    """Return whether two left sides are about one thing: they differ by an average at most."""
    first, second = (_names(side) for side in (one, other))
    if not first - _OVER or not second - _OVER:
        return first == second and bool(first)
    return first - _OVER == second - _OVER


def _names(side: str) -> set[str]:
    """Return the symbols of a left side without indices and powers."""
    text = _FORMATS.sub(" ", side)
    text = re.sub(r"[_^]\s*(?:\{(?:[^{}]|\{[^{}]*\})*\}|\\[A-Za-z]+|.)", " ", text)
    return set(re.findall(r"\\[A-Za-z]+|[A-Za-z]", text))
