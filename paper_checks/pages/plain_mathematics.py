"""Conversion of text with LaTeX between dollar signs to plain text for a terminal, in Unicode or in ASCII.

Formulas go through the same converter as in the report, so they group in the same way: a fraction, a root or an
index of more than one sign is in brackets unless Unicode has signs for it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from xml.etree.ElementTree import Element

from paper_checks.pages.mathml import MathError, formulas_and_words, tree

_RELATIONS = frozenset("=<>≤≥≪≫≠≈≡∼≃∝∈∉⊂⊆⟂→←⇒⟹↦↗↘")
_BINARY = frozenset("+−-±∓×·∖∪∩⊕⊗⊞∘")
_OPENING, _CLOSING = frozenset("([{⌊⌈⟨"), frozenset(")]}⌋⌉⟩")
_BARS = frozenset("|‖")
_ACCENTS = {"~": "\u0303", "^": "\u0302", "¯": "\u0304", "˙": "\u0307", "ˇ": "\u030c", "→": "\u20d7"}
_ACCENTS |= {"―": "\u0305", "¨": "\u0308"}
_NAMED_ACCENTS = {"~": "tilde", "^": "hat", "¯": "bar", "˙": "dot", "ˇ": "check", "→": "vec", "―": "bar", "¨": "ddot"}
_UP = dict(
    zip(
        "0123456789+−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRUVW⊤*⋆′″",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵁⱽᵂᵀ**'″",
        strict=True,
    )
)
"""Letters without T, which would be read as a transposition."""
_DOWN = dict(zip("0123456789+−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
_SHARES = {("1", "2"): "½", ("1", "3"): "⅓", ("2", "3"): "⅔", ("1", "4"): "¼", ("3", "4"): "¾", ("1", "8"): "⅛"}
_ASCII = {
    "−": "-",
    "“": '"',
    "”": '"',
    "≤": "<=",
    "≥": ">=",
    "≪": "<<",
    "≫": ">>",
    "≠": "!=",
    "≈": "~",
    "∼": "~",
    "≡": "==",
    "∝": " prop. to ",
    "→": "->",
    "←": "<-",
    "⇒": "=>",
    "↦": "|->",
    "∈": " in ",
    "∉": " not in ",
    "⊂": " within ",
    "⊆": " within ",
    "∪": " union ",
    "⋃": "union ",
    "∩": " and ",
    "⊞": " [+] ",
    "±": "+-",
    "×": " x ",
    "·": "*",
    "⋅": "*",
    "‖": "||",
    "∥": "||",
    "⊤": "T",
    "∇": "grad ",
    "∂": "d",
    "∑": "sum ",
    "∏": "prod ",
    "∫": "int ",
    "∞": "inf",
    "∠": "angle ",
    "⟂": " orthogonal to ",
    "⋂": "and ",
    "⋆": "*",
    "…": "...",
    "⋯": "...",
    "√": "sqrt",
    "–": "-",
    "—": "-",
    "’": "'",
    "⟨": "<",
    "⟩": ">",
    "⌊": "floor(",
    "⌋": ")",
    "⌈": "ceil(",
    "⌉": ")",
    "λ": "lambda",
    "Λ": "Lambda",
    "∖": " minus ",
    "⊕": "(+)",
    "⊗": "(x)",
    "∘": " o ",
    "′": "'",
    "″": "''",
    "\u2006": " ",
    "\xa0": " ",
    "∼ ": "~ ",
    "ϑ": "theta",
    "ϵ": "epsilon",
    "ϕ": "phi",
    "ϱ": "rho",
}
_GREEK = "GREEK SMALL LETTER ", "GREEK CAPITAL LETTER "


def plain_text(text: str, encoding: str = "utf-8") -> str:
    r"""Return text with its formulas for a terminal of some encoding; a formula that cannot be converted stays LaTeX.

    >>> plain_text(r"If $x \le \frac12$: $\|W_r^{t+1}\|^2 \le \frac{a + b}{2c}$.")
    'If x ≤ ½: ‖Wᵣᵗ⁺¹‖² ≤ (a + b)/(2c).'
    >>> plain_text(r"If $x \le \frac12$: $\lambda_{\max}^2 \le \sqrt{a + b}$.", "ascii")
    'If x <= 1/2: lambda_max^2 <= sqrt(a + b).'
    >>> plain_text(r"$\frac{x}{3(a-1)}$, $\frac1{Ls_*}$, $\frac{2(a+1)}{f(x)}$")
    'x/(3(a − 1)), 1/(Ls_*), 2(a + 1)/f(x)'
    """
    rich = _takes(encoding)
    parts = [_formula(part, rich) if formula else part for formula, part in formulas_and_words(text)]
    whole = "".join(parts)
    return whole if rich else as_ascii(whole)


def as_ascii(text: str) -> str:
    """Return text in ASCII: symbols by their meaning, Greek letters by their names, other letters without accents."""
    found = []
    for sign in text:
        if sign.isascii():
            found.append(sign)
        elif sign in _ASCII:
            found.append(_ASCII[sign])
        else:
            name = unicodedata.name(sign, "")
            greek = next((name.removeprefix(start) for start in _GREEK if name.startswith(start)), "")
            word = greek.split()[0].lower() if greek else ""
            simple = unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode()
            found.append(word.capitalize() if name.startswith(_GREEK[1]) else word or simple or "?")
    return "".join(found)


@cache
def _takes(encoding: str) -> bool:
    """Return whether an encoding has the signs of mathematics."""
    try:
        "λ‖∇≤ᵗ₊½̃√".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _formula(latex: str, rich: bool) -> str:
    try:
        return " ".join(_row(list(tree(latex)), rich).split())
    except MathError:
        return latex


def _row(elements: Sequence[Element], rich: bool) -> str:
    """Return a row of elements with the usual spacing."""
    elements = [part for one in elements for part in (list(one) if one.tag in ("mrow", "mstyle", "math") else [one])]
    if any(one.tag in ("mrow", "mstyle") for one in elements):
        return _row(elements, rich)
    done, before, inside, in_word = "", "", 0, False
    for place, element in enumerate(elements):
        sign = (element.text or "") if element.tag == "mo" else ""
        after = elements[place + 1] if place + 1 < len(elements) else None
        if sign in _RELATIONS and sign:
            done = f"{done.rstrip()} {sign} " if rich else f"{done.rstrip()} {as_ascii(sign).strip()} "
        elif sign in _BINARY and sign:
            unary = not before or before in _RELATIONS or before in _OPENING or before in _BINARY or before == ","
            unary |= before == "open bar"
            shown = sign if rich else as_ascii(sign).strip()
            done = f"{done}{shown}" if unary else f"{done.rstrip()} {shown} "
        elif sign in (",", ";", ":"):
            done = f"{done.rstrip()}{sign} "
        elif sign in _BARS and sign:
            opens = inside % 2 == 0
            inside += 1
            done += sign if rich else as_ascii(sign)
            before = "open bar" if opens else sign
            continue
        else:
            shown = _show(element, rich, _beside(before, after))
            upright = element.get("mathvariant") == "normal"
            if done and not (upright and in_word) and _runs_together(done, shown, element, rich):
                done += " "
            done += shown
        in_word = element.get("mathvariant") == "normal"
        before = sign or "operand"
    return done


def _beside(before: str, after: Element | None) -> bool:
    """Return whether a fraction is a factor in a product, where it needs brackets."""
    free = not before or before in _RELATIONS or before in _BINARY or before in _OPENING or before == ","
    sign = (after.text or "") if after is not None and after.tag == "mo" else ""
    ends = after is None or (bool(sign) and (sign in _RELATIONS | _BINARY | _CLOSING or sign in ",.;"))
    return not ends or not (free or before == "open bar")


def _runs_together(done: str, shown: str, element: Element, rich: bool) -> bool:
    """Return whether two parts need a blank between them: after a name of letters, and around indices without signs."""
    last, first = done[-1], shown[:1]
    if last.isspace() or not first or first.isspace() or last in "([{⌊⌈⟨|‖" or first in ")]}⌋⌉⟩,.;:!'":
        return False
    name = element.tag == "mi" and len(element.text or "") > 1
    after_name = _LETTERS.search(done).group() in _NAMES and first not in "(^_²³"  # type: ignore[union-attr]
    if not rich:
        return after_name or ((last.isalnum() or last in "*'") and first.isalpha())
    return (name and last.isalnum()) or after_name or (_INDEXED.search(done) is not None and first.isalnum())


_LETTERS = re.compile("[A-Za-z]*$")
_INDEXED = re.compile(r"_\w\u0303?\u0302?\u0304?$|_\w\w+$")
"""An index without Unicode signs, which would merge with an adjacent letter."""
_ONE_INDEX = re.compile(r"(\w|[a-z]{3,})[_^][\w*]+")
_CALL = re.compile(r"[^\W\d][^\s()/+−-]*\([^()\s]*\)")
"""A function of one argument; a sum in brackets may as well be a factor."""
_PRODUCT = re.compile(r"[^\s()/+−-]+\([^()]*\)")
_NAMES = frozenset(("log", "exp", "sin", "cos", "tan", "min", "max", "sup", "inf", "lim", "diag", "tr", "Pr", "artanh"))


def _show(element: Element, rich: bool, beside: bool) -> str:
    """Return one element as text."""
    text, parts = element.text or "", list(element)
    tag = element.tag
    if tag in ("mi", "mn", "mo", "mtext"):
        return text if rich else as_ascii(text)
    if tag == "mspace":
        return " "
    if tag == "mfrac":
        return _fraction(parts, rich, beside)
    if tag == "msqrt":
        return ("√" if rich else "sqrt") + _group(_row(parts, rich), always=not rich)
    if tag == "mroot":
        return f"{_group(_row(parts[:1], rich))}^(1/{_row(parts[1:], rich)})"
    if tag == "msub":
        return _shown_base(parts[0], rich) + _script(parts[1], rich, _DOWN, "_")
    if tag == "msup":
        return _shown_base(parts[0], rich) + _script(parts[1], rich, _UP, "^")
    if tag in ("msubsup", "munderover"):
        return _shown_base(parts[0], rich) + _script(parts[1], rich, _DOWN, "_") + _script(parts[2], rich, _UP, "^")
    if tag == "munder":
        return _shown_base(parts[0], rich) + _script(parts[1], rich, _DOWN, "_") + " "
    if tag == "mover":
        return _accent(parts, rich)
    if tag == "mtable":
        if element.get("displaystyle") == "true":  # lines of a formula, aligned within
            return "; ".join(_row([part for cell in row for part in cell], rich).strip() for row in parts)
        rows = [", ".join(_row(list(cell), rich) for cell in row) for row in parts]
        return "; ".join(rows)
    return _row(parts, rich)


def _shown_base(element: Element, rich: bool) -> str:
    shown = _show(element, rich, True).rstrip()
    return f"({shown})" if element.tag in ("mfrac", "mrow") and len(shown) > 1 and shown[0] not in "(½⅓¼¾⅔" else shown


def _fraction(parts: Sequence[Element], rich: bool, beside: bool) -> str:
    top, bottom = (_row([part], rich) for part in parts)
    if rich and (top, bottom) in _SHARES:
        return _SHARES[top, bottom]
    quotient = f"{_group(top, product=True)}/{_group(bottom)}"
    return f"({quotient})" if beside else quotient


def _group(shown: str, product: bool = False, always: bool = False) -> str:
    """Return an expression in brackets, unless it is one factor (or, if allowed, a product)."""
    plain = shown.strip()
    if plain.startswith("(") and plain.endswith(")") and _closes_at(plain) == len(plain) - 1:
        return plain
    one = plain.isalnum() and (len(plain) == 1 or plain.isdecimal())
    scripted = len(plain) > 1 and all(sign in _UP.values() or sign in _DOWN.values() for sign in plain[1:])
    one |= bool((_PRODUCT if product else _CALL).fullmatch(plain) or _ONE_INDEX.fullmatch(plain))
    factors = product and " " not in plain and "/" not in plain
    return plain if not always and (one or scripted or factors) else f"({plain})"


def _closes_at(text: str) -> int:
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place
    return -1


def _script(element: Element, rich: bool, signs: dict[str, str], mark: str) -> str:
    shown = _row([element], rich).strip()
    tight = shown.replace(" ", "")
    if not shown:
        return ""
    if shown and all(sign in "′″'" for sign in shown):
        return "'" * len(unicodedata.normalize("NFKD", shown))
    if rich and all(sign in signs for sign in tight):
        return "".join(signs[sign] for sign in tight)
    shown = tight if tight.isalnum() else shown.replace(", ", ",")
    single = len(tight) == 1 or tight.isalnum() or (len(tight) == 2 and unicodedata.combining(tight[1]))
    return mark + (shown if single else f"({shown})")


def _accent(parts: Sequence[Element], rich: bool) -> str:
    shown, accent = _row(parts[:1], rich), parts[1].text or ""
    if not rich:
        return (
            f"{_NAMED_ACCENTS.get(accent, accent)}({shown})"
            if len(shown) > 1
            else (f"{shown}{_NAMED_ACCENTS.get(accent, accent)}")
        )
    if accent not in _ACCENTS:
        return f"{shown}^({_row(parts[1:], rich)})"
    return shown + _ACCENTS[accent] if len(shown) == 1 else f"{_NAMED_ACCENTS[accent]}({shown})"
