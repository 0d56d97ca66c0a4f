"""Text with LaTeX between dollar signs as HTML with MathML, which browsers show without a script."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element
from markupsafe import Markup, escape

_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
_TAGS = frozenset(
    [
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
    ]
)
_ATTRIBUTES = frozenset(
    [
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
    ]
)
_CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
_RELATIONS = frozenset("=<>≤≥≠≈≡∼≃∝→⇒∈⟹⟶↦")
_OPENING, _CLOSING = frozenset("([{⌊⌈⟨"), frozenset(")]}⌋⌉⟩")
_DOLLAR = re.compile(r"(?<!\\)\$")


class MathError(ValueError):
    """LaTeX that has no safe and complete MathML."""


def to_mathml(latex: str) -> Markup:
    r"""MathML of one formula; it may be several ``<math>`` in a row, so that a line can break before a relation.

    Args:
        latex: the formula without dollar signs.

    Raises:
        MathError: the formula does not parse, or uses a command that the converter does not know.

    >>> print(to_mathml("x"))
    <math><mi>x</mi></math>
    """
    try:
        root = convert_to_element(latex)
    except Exception as error:  # the converter has no common base for its errors
        raise MathError(f"cannot convert {latex!r}: {type(error).__name__}: {error}") from None
    for element in root.iter():
        _clean(element, latex)
    body = list(root[0]) if len(root) == 1 and root[0].tag == "mrow" else list(root)
    return Markup("<wbr>").join(_serialised(part) for part in _breakable(body))


def rich(text: str) -> Markup:
    """Escaped text with its formulas as MathML; a formula that cannot be converted stays LaTeX, in ``<code>``.

    >>> print(rich("a < b"))
    a &lt; b
    """
    pieces = _DOLLAR.split(text)
    if len(pieces) % 2 == 0:
        return escape(text)
    return Markup("").join(_formula(piece) if i % 2 else _words(piece) for i, piece in enumerate(pieces))


def formulas(text: str) -> list[str]:
    """The LaTeX between dollar signs."""
    return _DOLLAR.split(text)[1::2]


def _words(text: str) -> Markup:
    return escape(text.replace(r"\$", "$"))


def _formula(latex: str) -> Markup:
    try:
        return to_mathml(latex)
    except MathError:
        return Markup("<code>{}</code>").format(latex)


def _clean(element: Element, latex: str) -> None:
    """Undoes the converter's character references and refuses whatever is not plain, complete MathML.

    Raises:
        MathError: a foreign element or attribute, a missing argument, or a command that came through unconverted.
    """
    element.tag = element.tag.removeprefix(_NAMESPACE)
    element.text = html.unescape(element.text) if element.text else element.text
    element.attrib.pop("xmlns", None)
    foreign = {element.tag} - _TAGS | set(element.attrib) - _ATTRIBUTES
    if foreign:
        raise MathError(f"{latex!r} has no plain MathML: {', '.join(sorted(foreign))}")
    if len(element) != _CHILDREN.get(element.tag, len(element)):
        raise MathError(f"{latex!r} lacks an argument of {element.tag}")
    if element.text and "\\" in element.text:
        raise MathError(f"{latex!r} has an unknown command {element.text}")


def _breakable(elements: list[Element]) -> Iterator[list[Element]]:
    """Cuts a row before each relation and after each comma that stands outside of brackets."""
    part: list[Element] = []
    depth = 0
    for element in elements:
        sign = element.text or "" if element.tag == "mo" else ""
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if sign in _RELATIONS and depth <= 0 and part:
            yield part
            part = []
            element.set("form", "infix")
        part.append(element)
        if sign == "," and depth <= 0:
            yield part
            part = []
    if part:
        yield part


def _serialised(elements: list[Element]) -> Markup:
    root = Element("math")
    root.extend(elements)
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))
