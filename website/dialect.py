"""Markdown of GitHub and docstrings, where Python-Markdown differs: formulas, foldings, cells and doctests.

Formulas become MathML, which browsers show without a script.
"""

from __future__ import annotations

import html
import logging
import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

from paper_checks.pages.mathml import MathError, hug, to_mathml

_LEAD, _TRAIL = r"([(“]?)", r"([.,;:!?)”]*)"  # brackets and stops that stay on the line of a formula
IN_CODE = rf"{_LEAD}\$`([^`]+)`\${_TRAIL}"
IN_DOLLARS = rf"{_LEAD}(?<![\\$\w])\$(?![\s`$])([^$`]+?)(?<![\s\\])\$(?![\w$]){_TRAIL}"


_log = logging.getLogger("mkdocs.dialect")


def _html(latex: str, display: bool = False, lead: str = "", trail: str = "") -> str:
    """Return a formula as MathML, with the signs before and after it on its line.

    A formula that cannot be converted is shown as LaTeX, and fails a strict build.
    """
    try:
        parts: list[str] = list(to_mathml(latex, display))
    except MathError as error:
        _log.warning(str(error))
        parts = [f"<code>{html.escape(latex)}</code>"]
    hugged = hug(parts, html.escape(lead), html.escape(trail))
    return "<wbr>".join(hugged)


class _Formula(InlineProcessor):
    """An inline formula; a line may break before its relations."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]
        lead, latex, trail = m.groups()[:3]
        return self.md.htmlStash.store(_html(latex, lead=lead, trail=trail)), m.start(0), m.end(0)


class _Cells(Preprocessor):
    """A bar within code in a table; GitHub needs a backslash before it, Python-Markdown does not."""

    def run(self, lines: list[str]) -> list[str]:
        def bare(found: re.Match[str]) -> str:
            return found.group().replace(r"\|", "|")

        return [re.sub("`[^`]+`", bare, line) if line.startswith("|") else line for line in lines]


class _Foldings(Preprocessor):
    """Markdown within `<details>`, which GitHub renders."""

    def run(self, lines: list[str]) -> list[str]:
        return [
            re.sub("^<details( open)?><summary>", r'<details\1 markdown="1"><summary markdown="span">', line)
            for line in lines
        ]


class _Sublists(Preprocessor):
    """Lists within the items of a numbered list: GitHub needs an indentation of three, Python-Markdown of four."""

    def run(self, lines: list[str]) -> list[str]:
        return [re.sub("^   - ", "    - ", line) for line in lines]


class _Doctests(Preprocessor):
    """Examples in docstrings: from `>>>` to the next empty line they are code."""

    def run(self, lines: list[str]) -> list[str]:
        done, fenced, example = [], False, False
        for line in [*lines, ""]:
            fenced ^= line.startswith("```")
            if line.startswith(">>> ") and not fenced and not example:
                done.append("```pycon")
                example = True
            elif example and not line.strip():
                done.append("```")
                example = False
            done.append(line)
        return done


class Dialect(Extension):
    """Inline formulas, ``$`...`$`` and ``$...$``, and the other differences of GitHub and docstrings."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the first formulas before code is parsed, and others after, so that dollars in code stay."""
        md.preprocessors.register(_Foldings(md), "foldings", 40)
        md.preprocessors.register(_Doctests(md), "doctests", 40)
        md.preprocessors.register(_Cells(md), "bars_in_cells", 20)
        md.preprocessors.register(_Sublists(md), "sublists", 20)
        md.inlinePatterns.register(_Formula(IN_CODE, md), "formula_in_code", 195)
        md.inlinePatterns.register(_Formula(IN_DOLLARS, md), "formula_in_dollars", 188)


def block(source: str, *_: Any, **__: Any) -> str:
    """Return a fence of the language `math`, as `pymdownx.superfences` passes it."""
    return f'<p class="formula">{_html(" ".join(source.split()), display=True)}</p>'


def makeExtension(**settings: Any) -> Dialect:
    """Return the extension; Markdown calls this by the module's name."""
    return Dialect(**settings)
