"""Markdown as GitHub and docstrings have it, where Python-Markdown differs: formulas, foldings, cells and doctests.

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

from paper_checks.pages.mathml import MathError, to_mathml

IN_CODE = r"\$`([^`]+)`\$"
IN_DOLLARS = r"(?<![\\$\w])\$(?![\s`$])([^$`]+?)(?<![\s\\])\$(?![\w$])"


_log = logging.getLogger("mkdocs.dialect")


def _html(latex: str, display: bool = False) -> str:
    """A formula as MathML; one that cannot be converted is shown as LaTeX, and makes a strict build fail."""
    try:
        return "<wbr>".join(to_mathml(latex, display))
    except MathError as error:
        _log.warning(str(error))
        return f"<code>{html.escape(latex)}</code>"


class _Formula(InlineProcessor):
    """A formula within a line; a line may break before its relations."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]
        return self.md.htmlStash.store(_html(m.group(1))), m.start(0), m.end(0)


class _Cells(Preprocessor):
    """A bar within code in a table, which GitHub wants with a backslash, and Python-Markdown without."""

    def run(self, lines: list[str]) -> list[str]:
        def bare(found: re.Match[str]) -> str:
            return found.group().replace(r"\|", "|")

        return [re.sub("`[^`]+`", bare, line) if line.startswith("|") else line for line in lines]


class _Foldings(Preprocessor):
    """Markdown within `<details>`, which GitHub reads as such."""

    def run(self, lines: list[str]) -> list[str]:
        return [
            re.sub("^<details><summary>", '<details markdown="1"><summary markdown="span">', line) for line in lines
        ]


class _Doctests(Preprocessor):
    """Examples of docstrings: from `>>>` to the next empty line they are code."""

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
    """Formulas in lines, ``$`...`$`` and ``$...$``, and what else GitHub and docstrings have."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Registers the first formulas before code is taken as code, and others after, so that dollars in code stay."""
        md.preprocessors.register(_Foldings(md), "foldings", 40)
        md.preprocessors.register(_Doctests(md), "doctests", 40)
        md.preprocessors.register(_Cells(md), "bars_in_cells", 20)
        md.inlinePatterns.register(_Formula(IN_CODE, md), "formula_in_code", 195)
        md.inlinePatterns.register(_Formula(IN_DOLLARS, md), "formula_in_dollars", 188)


def block(source: str, *_: Any, **__: Any) -> str:
    """A fence of the language `math`, as `pymdownx.superfences` hands it on."""
    return f'<p class="formula">{_html(" ".join(source.split()), display=True)}</p>'


def makeExtension(**settings: Any) -> Dialect:
    """Makes the extension; Markdown calls it by the module's name."""
    return Dialect(**settings)
