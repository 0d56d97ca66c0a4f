"""LaTeX as words to read: formulas between dollar signs, references resolved, markup dropped."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pylatexenc.latex2text import LatexNodes2Text

from paper_checks.inventory.checks.numbers import COLOUR, with_commas
from paper_checks.inventory.document import Kind
from paper_checks.inventory.macros import group_end

EQUATIONS = (
    "equation",
    "align",
    "gather",
    "multline",
    "eqnarray",
    "alignat",
    "flalign",
    "IEEEeqnarray",
    "dmath",
    "dgroup",
    "displaymath",
    "math",
    "subequations",
    "xalignat",
    "empheq",
)
REFERENCE = re.compile(
    r"\\(?P<how>[A-Za-z]*?(?:ref|Ref|refrange)|uses)\*?\s*(?:\[(?P<option>[^\][{}]*)\])?\s*\{(?P<labels>[^{}]*)\}"
)
_CITE = re.compile(r"\\[cC]ite[A-Za-z]*\*?\s*((?:\[[^\]]*\]\s*)*)\{([^{}]*)\}")
MATHS = re.compile(
    rf"\\begin\s*\{{(?P<env>(?:{'|'.join(EQUATIONS)})\*?)\}}(?P<body>.*?)\\end\s*\{{(?P=env)\}}"
    r"|\\\[(?P<shown>.*?)\\\]|\$\$(?P<double>.*?)\$\$|\\\((?P<round>.*?)\\\)|(?<!\\)\$(?P<inline>(?:\\.|[^$\\])+)\$",
    flags=re.S,
)
_DROPPED = re.compile(
    r"\\(?:label|lstlistinglabel|lstinputlisting|vspace|hspace|vskip|hskip|index|pagestyle|thispagestyle|bibliographystyle|bibliography|setlength|"
    r"addtolength|setcounter|addtocounter|includegraphics|usepackage|color|definecolor|input|include|phantomsection|"
    r"addcontentsline|lean|leanok|notready|discussion|fontsize|raisebox|rule|"
    r"graphicspath|captionsetup|resizebox|scalebox|renewcommand|looseness)(?![A-Za-z])\*?"
    r"\s*(?:\[[^\]]*\])*\s*(?:\{[^{}]*\})*"
)
_ACCENT = re.compile(r"\\(?:[\"'`^~=.]|[cvuHkrbdt](?![A-Za-z]))\s*(?:\{\\?[A-Za-z]*\}|\\?[A-Za-z])")
_SIGNS = {
    "``": "“",
    "''": "”",
    "---": "—",
    "--": "–",
    "~": " ",
    r"\%": "%",
    r"\&": "&",
    r"\#": "#",
    r"\_": "_",
    r"\$": "$",
    r"\{": "{",
    r"\}": "}",
    r"\,": " ",
    r"\;": " ",
    r"\:": " ",
    r"\!": "",
    r"\ ": " ",
    r"\/": "",
    r"\@": "",
    r"\\": " ",
}
_SIGN = re.compile("|".join(re.escape(sign) for sign in _SIGNS))
_WORDS = {
    "ldots": "…",
    "dots": "…",
    "textendash": "–",
    "textemdash": "—",
    "ss": "ß",
    "o": "ø",
    "ae": "æ",
    "oe": "œ",
    "S": "§",
    "pm": "±",
    "textpm": "±",
    "times": "×",
    "texttimes": "×",
    "textasciitilde": "~",
    "LaTeX": "LaTeX",
}
_MARK = "\ue000"


class Readable:
    """Turns pieces of LaTeX into words.

    Attributes:
        targets: Kind and number of each label.
    """

    def __init__(self, targets: Mapping[str, tuple[Kind | None, str]]) -> None:
        self.targets = targets

    def words(self, latex: str) -> str:
        """Return a piece of LaTeX as words, in one line, its formulas between dollar signs."""
        kept: list[str] = []

        def keep(found: re.Match[str]) -> str:
            body = next(
                part
                for part in (found["body"], found["shown"], found["double"], found["round"], found["inline"])
                if part is not None
            )
            kept.append(formula(body, found["env"] or ""))
            return f"{_MARK}{len(kept) - 1}{_MARK}"

        text = MATHS.sub(keep, latex)
        text = REFERENCE.sub(self._shown, text)
        text = _CITE.sub(lambda found: _cited(found[1], found[2]), text)
        text = plain_words(text)
        text = re.sub(f"{_MARK}(\\d+){_MARK}", lambda found: f"${kept[int(found[1])]}$", text)
        return " ".join(text.split())

    def _shown(self, found: re.Match[str]) -> str:
        how = found["how"]
        if how in ("href", "pageref", "hyperref", "nameref", "xref", "uses"):
            return ""
        labels = [label.strip() for label in found["labels"].split(",") if label.strip()]
        shown = []
        for label in labels:
            kind, number = self.targets.get(label, (None, "??"))
            if how == "eqref" or (kind == "equation" and how != "ref"):
                number = f"({number})"
            shown.append(
                f"{kind.capitalize()} {number}" if kind and how.lower() in ("cref", "autoref", "thref") else number
            )
        return ", ".join(shown)


def plain_words(text: str) -> str:
    """Return LaTeX without formulas as words: markup dropped, accents and signs put in."""
    text = _ACCENT.sub(lambda found: _accented(found[0]), with_commas(text))
    text = re.sub(r"\\item\s*(?:\[([^\]]*)\])?", lambda found: f" {found[1] or '•'} ", text)
    text = re.sub(r"\\begin\s*\{[^{}]*\}(?:\s*\[[^\]]*\])?|\\end\s*\{[^{}]*\}", " ", text)
    text = _DROPPED.sub(" ", COLOUR.sub("", text))
    text = _SIGN.sub(lambda found: _SIGNS[found[0]], text)
    text = re.sub(r"\\([A-Za-z]+)\*?\s?", lambda found: _WORDS.get(found[1], ""), text)
    return re.sub(r"[{}]|\\.", "", text)


def _accented(latex: str) -> str:
    return str(LatexNodes2Text().latex_to_text(latex))


def _cited(options: str, keys: str) -> str:
    notes = [note for note in re.findall(r"\[([^\]]*)\]", options) if note]
    return f"[{', '.join([keys.strip(), *notes])}]"


def formula(body: str, environment: str = "") -> str:
    """Return a formula without its labels and numbers; several lines become one aligned block."""
    body = re.sub(
        r"\\label\s*\{[^{}]*\}|\\(?:nonumber|notag)(?![A-Za-z])|"
        r"\\tag\*?\s*\{(?:[^{}]|\{[^{}]*\})*\}",
        "",
        body,
    )
    body = re.sub(
        r"\\begin\s*\{(?:equation|subequations|math|displaymath|align|gather)\*?\}|"
        r"\\end\s*\{(?:equation|subequations|math|displaymath|align|gather)\*?\}",
        " ",
        body,
    )
    body = re.sub(r"\\(?:ensuremath|displaystyle|textstyle|limits)(?![A-Za-z])", "", body)
    body = " ".join(body.split()).removesuffix("\\\\").strip()
    if environment.rstrip("*") in ("align", "eqnarray", "alignat", "flalign", "gather", "multline", "IEEEeqnarray"):
        body = re.sub(r"^\{\d+\}|^\{[rcl]+\}", "", body)
        if "\\\\" in body or "&" in body:
            body = rf"\begin{{aligned}} {body.strip()} \end{{aligned}}"
    elif not environment and "\\begin" not in body:  # a line of an alignment
        body = re.sub(r"(?<!\\)&", "", body)
    return body


def braced(text: str, at: int) -> tuple[str, int]:
    """Return the group at an opening brace, and the place after it; all that follows if it never ends."""
    end = group_end(text, at)
    return (text[at + 1 :], len(text)) if end is None else (text[at + 1 : end - 1], end)
