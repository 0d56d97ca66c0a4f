"""Conversion of text with LaTeX between dollar signs to HTML with MathML, which browsers show without a script."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element
from markupsafe import Markup, escape

_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
_TAGS = frozenset(
    (
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "mspace",
        "mfrac",
        "msqrt",
        "mroot",
        "mstyle",
        "msub",
        "msup",
        "msubsup",
        "munder",
        "mover",
        "munderover",
        "mtable",
        "mtr",
        "mtd",
        "mpadded",
        "mphantom",
        "menclose",
    )
)
_ATTRIBUTES = frozenset(
    (
        "display",
        "displaystyle",
        "scriptlevel",
        "mathvariant",
        "stretchy",
        "fence",
        "form",
        "separator",
        "largeop",
        "movablelimits",
        "accent",
        "symmetric",
        "lspace",
        "rspace",
        "minsize",
        "maxsize",
        "width",
        "height",
        "depth",
        "linethickness",
        "columnalign",
        "rowspacing",
        "columnspacing",
        "notation",
    )
)
_CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
_RELATIONS = frozenset("=<>≤≥≠≈≡∼≃∝→⇒∈⟹⟶↦")
_SIGNS, _TIGHT, _BARS = frozenset("+-−±"), frozenset("|‖./"), frozenset("|‖")
_OPENING, _CLOSING = frozenset("([{⌊⌈⟨"), frozenset(")]}⌋⌉⟩")
_TALL = frozenset(("mfrac", "munder", "munderover", "mtable"))
_SCRIPTS = frozenset(("msub", "msup", "msubsup"))
_RENAMED = {"∞": ("mi", "∞"), "⧵": ("mo", "∖")}  # no operator; in more fonts
_FUNCTIONS = frozenset(("arg", "deg", "dim", "ker", "hom", "Pr", "rank", "tr", "diag", "sign", "prox"))
_UNBROKEN = 12  # a formula with at most this many signs stays on one line
_FACTORS = 8  # a product with fewer signs before the next factor stays on one line
_LONG = 18  # a part with so many signs may break within a bracket
_LEADING, _TRAILING = re.compile(r"[(\[]*$"), re.compile(r"[^\w\s]*")  # brackets and stops that hug a formula
_ALIGNED = re.compile(r"\\(begin|end)\{(?:aligned|align|gathered|gather|eqnarray|multline)\*?\}")
_NAME = re.compile(r"\\(?:mathbf|mathit|mathsf|boldsymbol|bm)\{([A-Z][a-z]{2,}|[a-z]{3,})\}")
"""A name of several letters, such as Prob, in a type that the converter sets letter by letter."""
_DOLLAR = re.compile(r"(?<!\\)\$")
_CODE = re.compile("`([^`]+)`")


class MathError(ValueError):
    """An error for LaTeX without safe and complete MathML."""


def to_mathml(latex: str, display: bool = False) -> list[Markup]:
    r"""Return the MathML of one formula: one ``<math>``, or several with possible line breaks between them.

    Args:
        latex: the formula without dollar signs.
        display: with fractions and sums in full size.

    Raises:
        MathError: the formula does not parse, or uses a command that the converter does not know.

    >>> print(*to_mathml("x"))
    <math><mi>x</mi></math>
    """
    root = tree(latex, display)
    for element in list(root.iter()):
        if element.tag not in _CHILDREN:
            element[:] = _stretch_brackets(list(element))
    for element in root.iter():
        _space(list(element))
    body = list(root[0]) if len(root) == 1 and root[0].tag == "mrow" else list(root)
    return [_serialise(part, display) for part in (_breakable(body) if _leaves(root) > _UNBROKEN else [body])]


def tree(latex: str, display: bool = False) -> Element:
    """Return the MathML of a formula as a tree of elements, all of them known and complete.

    Raises:
        MathError: as above.
    """
    known = _NAME.sub(r"\\operatorname{\1}", _ALIGNED.sub(r"\\\1{split}", latex))
    try:
        root = convert_to_element(known, display="block" if display else "inline")
    except Exception as error:  # the converter has no common base for its errors
        raise MathError(f"cannot convert {latex!r}: {type(error).__name__}: {error}") from None
    for element in root.iter():
        _clean(element, latex)
    return root


def rich(text: str, display: bool = False) -> Markup:
    """Return escaped text with its formulas as MathML, and code that is between backticks as ``<code>``.

    A formula that cannot be converted stays LaTeX in ``<code>``.

    Args:
        text: text with formulas between dollar signs; with an odd number of dollar signs it is plain text.
        display: with fractions and sums in full size.

    >>> print(rich("a < b"))
    a &lt; b
    """
    words, *rest = _DOLLAR.split(text)
    if len(rest) % 2:
        return escape(text)
    done = Markup("")
    for latex, after in zip(rest[::2], rest[1::2], strict=True):
        lead, trail = _LEADING.search(words), _TRAILING.match(after)
        assert lead is not None
        assert trail is not None
        done += _words(words[: lead.start()]) + _formula(latex, display, lead.group(), trail.group())
        words = after[trail.end() :]
    return done + _words(words)


def formulas(text: str) -> list[str]:
    """Return the LaTeX between dollar signs."""
    return _DOLLAR.split(text)[1::2]


def formulas_and_words(text: str) -> list[tuple[bool, str]]:
    """Return the parts of a text in order, each with whether it is a formula; all is text if one dollar is unpaired."""
    parts = _DOLLAR.split(text)
    if len(parts) % 2 == 0:
        return [(False, text)]
    return [(bool(place % 2), part if place % 2 else _plain(part)) for place, part in enumerate(parts)]


def _words(text: str) -> Markup:
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(_plain(text)))))


def _plain(text: str) -> str:
    return text.replace(r"\$", "$")


def _formula(latex: str, display: bool, lead: str, trail: str) -> Markup:
    """Return a formula with the adjacent text that stays on its line."""
    try:
        parts = to_mathml(latex, display)
    except MathError:
        parts = [Markup("<code>{}</code>").format(latex)]
    return Markup("<wbr>").join(map(Markup, hug(parts, escape(_plain(lead)), escape(_plain(trail)))))


def hug(parts: Iterable[str], lead: str, trail: str) -> list[str]:
    """Return the HTML of a formula's parts with signs before and after it that stay on its line.

    >>> hug(["<math>a</math>", "<math>b</math>"], "", ".")
    ['<math>a</math>', '<span class="line"><math>b</math>.</span>']
    """
    *others, last = parts
    whole = [*others, last + trail]
    whole[0] = lead + whole[0]
    return [one if one[:1] == "<" and one[-1:] == ">" else f'<span class="line">{one}</span>' for one in whole]


def _clean(element: Element, latex: str) -> None:
    """Undo the converter's character references, and refuse anything that is not plain, complete MathML.

    Raises:
        MathError: a foreign element or attribute, a missing argument, or a command that came through unconverted.
    """
    element.tag = element.tag.removeprefix(_NAMESPACE)
    element.text = html.unescape(element.text) if element.text else element.text
    element.attrib.pop("xmlns", None)
    if element.text in _RENAMED:
        element.tag, element.text = _RENAMED[element.text]
    elif element.text and element.text.removeprefix("\\") in _FUNCTIONS:
        element.tag, element.text = "mi", element.text.removeprefix("\\")
    foreign = {element.tag} - _TAGS | set(element.attrib) - _ATTRIBUTES
    if foreign:
        raise MathError(f"{latex!r} has no plain MathML: {', '.join(sorted(foreign))}")
    if len(element) != _CHILDREN.get(element.tag, len(element)):
        raise MathError(f"{latex!r} lacks an argument of {element.tag}")
    if element.text and "\\" in element.text:
        raise MathError(f"{latex!r} has an unknown command {element.text}")


def _stretch_brackets(row: list[Element]) -> list[Element]:
    """Return a row with brackets as high as their content, if it has a fraction, a sum or a matrix."""
    done: list[Element] = []
    opened: list[int] = []
    for element in row:
        done.append(element)
        sign = _bracket(element)
        if sign in _OPENING:
            opened.append(len(done) - 1)
        elif sign in _CLOSING and opened:
            inside = done[(start := opened.pop()) :]
            if inside[0].tag != "mo" or not any(part.tag in _TALL for of in inside[1:-1] for part in of.iter()):
                continue
            group, close = Element("mrow"), element[0] if element.tag in _SCRIPTS else element
            group.extend([*inside[:-1], close])
            for bracket in (inside[0], close):
                bracket.set("stretchy", "true")
            if close is not element:
                element[0] = group
            done[start:] = [element if close is not element else group]
    return done


def _bracket(element: Element) -> str:
    """Return the sign of an operator, or of an operator with an index or an exponent; empty for anything else."""
    base = element[0] if element.tag in _SCRIPTS else element
    return base.text or "" if base.tag == "mo" else ""


def _space(row: list[Element]) -> None:
    """Space signs as TeX does: none around bars, dots and slashes; a sign after nothing or a relation is unary."""
    before = ""
    for element in row:
        sign = element.text or "" if element.tag == "mo" else "operand"
        if sign in _TIGHT and "form" not in element.attrib:
            element.set("lspace", "0")
            element.set("rspace", "0")
        if sign in _SIGNS and (not before or before in _RELATIONS or before in _OPENING or before == ","):
            element.set("form", "prefix")
        before = sign


def _breakable(elements: list[Element]) -> Iterator[list[Element]]:
    """Split a row, outside brackets and norms, or within one bracket if it comes late in a long part.

    Lines may break before each relation and each sign between two terms, after each comma, and in a long product after
    a fraction or a bracket.
    """
    part: list[Element] = []
    depth, bars = 0, 0
    for element in elements:
        sign = _bracket(element)
        outside = bars % 2 == 0 and (depth <= 0 or (depth == 1 and _leaves(part) >= _LONG))
        before = part[-1] if part else None
        joins = sign in _RELATIONS or (sign in _SIGNS and element.get("form") != "prefix")
        factor = before is not None and element.tag != "mo" and (before.tag == "mfrac" or _bracket(before) in _CLOSING)
        factor |= before is not None and sign in _OPENING | _BARS and _bracket(before) in _CLOSING
        factor = factor and _leaves(part) >= _FACTORS
        if (joins or factor) and outside and part:
            yield part
            part = []
            if joins:
                element.set("form", "infix")
        depth += (sign in _OPENING) - (sign in _CLOSING)
        bars += sign in _BARS
        part.append(element)
        if sign == "," and outside:
            yield part
            part = []
    if part:
        yield part


def _leaves(elements: Iterable[Element]) -> int:
    return sum(len(one) == 0 for element in elements for one in element.iter())


def _serialise(elements: list[Element], display: bool) -> Markup:
    root = Element("math", {"displaystyle": "true"} if display else {})
    root.extend(elements)
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))
