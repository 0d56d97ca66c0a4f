"""Words of what people read: pages that are written by hand, help texts, and the report's own sentences.

`test_house` has the list for docstrings, comments and strings of code. Prose has more patterns, because a word can be
unusual in a sentence and usual as a name.
"""

import ast
import re
import subprocess
from pathlib import Path

import pytest
from test_house import REMEDIES

import rankproof
from paper_checks.ledger import PAPERS

ROOT = Path(__file__).resolve().parent.parent
UNUSUAL = {
    **{rf"(?<!there\s)\b{word}\b(?! (?:longer|larger|smaller|more|less)\b)": say for word, say in REMEDIES.items()},
    r"\breckon\w*": "count, compute, or estimate",
    r"\bin place of\b": "instead of",
    r"\bfor want of\b": "because there is not enough, or without",
    r"\b(?:go(?:es|ing|ne)?|went) on\b": "continue, or resume",
    r"\b(?:comes?|came) to (?:the|an?|\d)": "amount to, reach, or find",
    r"\bmend(?:s|ed|ing)?\b": "fix, or restore",
    r", too(?=[.,;:)]|$)": "also, before the verb",
    r"\b(?:is|are|was|were) (?:said|stated|taken) (?:to|of|as|that)\b": "name who states or takes it",
    r"\bit is open (?:what|whether|which|how)\b": "it is unclear",
    r"\b(?:hereby|thereby|whence|wherein|therein|thereof|thereto|forthwith)\b": "so, therefore, or in it",
    r"\b(?:that|those) of (?:that|those)\b": "repeat the noun",
    r"\boutside of\b": "outside",
    r"\bin silence\b": "silently",
    r"\bat hand\b": "available",
    r"\bas one (?:wants|likes|wishes|easily)\b": "name who acts",
    r"(?:^|(?<=[.:;|]\s))(?:Measured|Printed|Counted|Found|Compared|Shown|Stored|Drawn|Sent|Trained|Judged|Refused|Checked|"
    r"Tested|Tried|Missing|Left out|Taken|Known) (?:is|are|was|were)\b": "the subject first, and who acts",
    r"\b(?:bowls?|the house|rooms?)\b": "quadratic, project, package, or memory",
    r"\b(?:the|in|of|this) print\b": "the printed form, or what the paper prints",
    r"\b(?:bounds?|decides?|proves?) no\b": "negate the verb",
}
"""Patterns that a native writer would replace, and by what."""
DEFINED = {"the print"}
"""Words that the report explains: a verdict says whether the print is as meant."""
PATTERN = re.compile("|".join(f"({pattern})" for pattern in UNUSUAL).replace(" ", r"\s+"), re.IGNORECASE | re.MULTILINE)
NOT_PROSE = re.compile(
    r"^ *```.*?^ *```|<!--.*?-->|\$`[^`]*`\$|\$\$.*?\$\$|\$[^$\n]+\$|`[^`]*`|“[^”]*”|\]\([^)]*\)",
    re.DOTALL | re.MULTILINE,
)
"""Programs, comments, formulas, code, quotations of papers, and the targets of links."""
GENERATED = {f"docs/{page.name}.md" for paper in PAPERS for page in paper.pages}
GENERATED |= {"docs/kernel.md", "docs/what-rankproof-found.md"}
"""Pages that a command writes from claims, theorems and findings."""


def faults(text):
    """Line, words and remedy of each unusual pattern in prose."""
    kept = NOT_PROSE.sub(lambda found: re.sub(r"[^\n]", "_", found[0]), text)
    for found in PATTERN.finditer(kept):
        remedy = list(UNUSUAL.values())[found.lastindex - 1]
        yield kept.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), remedy


def written_pages():
    """Pages and templates written by hand: all that git tracks, but for those that a command writes from claims."""
    kinds = ("*.md", "*.md.template", "*page.template")
    listed = subprocess.run(["git", "ls-files", *kinds], capture_output=True, text=True, check=False, cwd=ROOT)
    pages = listed.stdout.split() or ["README.md", *(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]
    return [page for page in pages if page not in GENERATED and "/proofs/" not in page and "/docs/" not in page]


def helps(parser):
    """Help of a command and of the commands below it."""
    yield parser.prog, parser.format_help()
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for below in action.choices.values():
                yield from helps(below)


@pytest.mark.parametrize("page", written_pages())
def test_pages_are_in_the_words_of_a_scientific_text(page):
    found = [f"{page}:{line}: {words!r}; write {remedy}" for line, words, remedy in faults((ROOT / page).read_text())]
    assert not found, "\n".join(found)


def test_help_is_in_the_words_of_a_scientific_text():
    texts = list(helps(rankproof._parser()))
    assert len(texts) > 10
    found = [f"{name}: {words!r}; write {remedy}" for name, text in texts for _, words, remedy in faults(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("file", sorted((ROOT / "paper_checks" / "pages").glob("*.py")), ids=lambda file: file.stem)
def test_the_report_is_in_the_words_of_a_scientific_text(file):
    """Sentences are strings with a blank; other strings are names and markup."""
    found = [
        f"{file.name}:{node.lineno}: {words!r}; write {remedy}"
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        for _, words, remedy in faults(node.value)
        if words.lower() not in DEFINED
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It holds.\nMeasured are\nthe losses.", ["Measured are"]),
        ("The command goes\non, too.", ["goes on", ", too"]),
        ("The bound that of those\nis said to hold.", ["that of those", "is said to"]),
        ("L bounds no gradient; 4 is no prime and is no longer odd.", ["bounds no", "is no"]),
        ("It stands outside of the room.", ["stands", "outside of", "room"]),
        ("Too many go; the ratio is too large, two. Reckoned in `the house` and $a\\text{ anew}$.", ["Reckoned"]),
        ("The paper: “it is said that”.\n\n```text\nbeside\n```\nPrinted numbers. A [link](the/print).", []),
        ("A quadratic, too small to matter; classrooms and cushions stand, and there is no other.", []),
    ],
)
def test_unusual_words_are_found(text, found):
    assert [words for _, words, _ in faults(text)] == found


def test_pages_written_by_hand_are_found():
    pages = written_pages()
    assert {"README.md", "docs/spectra.md", "benchmarks/README.md", "examples/papers/scaffold/README.md"} <= set(pages)
    assert not {"docs/kernel.md", "docs/fedlrt-analysis.md", "docs/proofs/fedlrt--thm-2.md"} & set(pages)
