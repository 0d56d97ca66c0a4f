"""All candidates for errata of a paper, and its sentences that compare numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from paper_checks.inventory.checks.averages import averages, sums
from paper_checks.inventory.checks.constants import constants
from paper_checks.inventory.checks.counts import counts
from paper_checks.inventory.checks.differences import differences
from paper_checks.inventory.checks.formulas import formulas
from paper_checks.inventory.checks.gains import gains
from paper_checks.inventory.checks.grim import grim
from paper_checks.inventory.checks.marks import marks
from paper_checks.inventory.checks.quotes import quotes
from paper_checks.inventory.checks.references import dangling, unused
from paper_checks.inventory.checks.repeats import repeats
from paper_checks.inventory.checks.sizes import sizes
from paper_checks.inventory.document import Candidate, Document, Paragraph

CHECKS: Mapping[str, Callable[[Document], Iterator[Candidate]]] = {
    "averages": averages,
    "sums": sums,
    "differences": differences,
    "gains": gains,
    "repeated entries": repeats,
    "best marks": marks,
    "quoted numbers": quotes,
    "counts": counts,
    "GRIM": grim,
    "sizes": sizes,
    "constants": constants,
    "formulas": formulas,
    "references": dangling,
    "unused": unused,
}
"""The mechanical checks by name, those of numbers first."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*\s*(?:\\?%|×|x\b|times\b|points?\b|percent\b)?")
_COMPARES = re.compile(
    r"\b(?:better|worse|higher|lower|larger|smaller|faster|slower|more|less|"
    r"fewer|greater|best|worst|highest|lowest|most|least|exceed|"
    r"outperform|surpass|improv|reduc|increas|decreas|drop|gain|at (?:most|"
    r"least)|up to|below|above|compared|than|half|twice|only)\w*\b",
    re.I,
)


def find_candidates(document: Document) -> tuple[Candidate, ...]:
    """Return what every mechanical check finds, each once."""
    found = [candidate for check in CHECKS.values() for candidate in check(document)]
    return tuple(dict.fromkeys(found))


_CLAIMS = re.compile(
    r"\b(?:is|are|has|have|then|holds?|exists?|equals?|satisf(?:y|ies)|implies|must|cannot|always|never|every|"
    r"whenever|if and only if|there (?:is|are)|no\b.{0,80}\bexists?|follows|converges?|contains?)\b",
    re.I,
)
_RELATES = re.compile(
    r"[=<>≤≥≠≡∈⊂⊆]|\\(?:leq?|geq?|leqslant|geqslant|neq?|equiv|in|notin|subset|subseteq|supseteq|approx|sim|simeq|cong|mid|nmid|"
    r"propto|lesssim|gtrsim|to|rightarrow|implies|iff|mapsto|ll|gg|prec|preceq|succ|succeq|perp)(?![A-Za-z])"
)
_SIZED = re.compile(
    r"\b(?:order|degree|rank|dimension|size|length|rate|cardinality|exactly|at (?:most|least))s?\s+"
    r"\$[^$]*[\w}][^$\w]*(?:[-+*/^]|\\(?:cdot|times|frac|sqrt|log)(?![A-Za-z]))[^$]*\$"
)
"""A word that gives a size, with a formula."""
_SPACE = re.compile(r"\\in\s*\\(?:mathbb|mathcal|mathrm|R|N|Z|C)(?![A-Za-z])")
"""Membership in a space."""
_NAMES = re.compile(
    r"^(?:where|here|with|let|given|denote|define|we (?:let|write|denote|define|set|use|call)|"
    r"to formali[sz]e|for example|e\.g(?=\.)|suppose|assume|"
    r"consider|recall|note that we|proof)\b|\b(?:denotes?|is denoted|are denoted|is defined|are defined|"
    r"stand(?:s)? for|"
    r"refers? to|is called|are called|we (?:call|define)|assume we have|"
    r"we set|we train|is set to|are set to)\b",
    re.I,
)
"""Words of a sentence that gives something a name or a value."""


def statements(document: Document) -> Iterator[tuple[Paragraph, str]]:
    """Yield sentences of the running text that state something with a formula, and are in no numbered statement."""
    seen = set()
    printed = " ".join(" ".join(f"{item.text} {item.proof}".split()) for item in document.items)
    captions = {item.title for item in document.items if item.title}
    for paragraph in document.paragraphs:
        if paragraph.text in captions:
            continue
        for sentence in paragraph.sentences():
            formulas = re.findall(r"\$+([^$]+)\$+", sentence)
            words = re.sub(r"\$[^$]*\$|\[[^\][]*\]", " ", sentence)
            if sentence in seen or not 20 < len(sentence) < 800 or len(re.findall(r"[A-Za-z]{2,}", words)) < 4:
                continue
            relates = any(_RELATES.search(_SPACE.sub(" ", formula)) for formula in formulas)
            if not (relates or _SIZED.search(sentence)) or not _CLAIMS.search(words) or _NAMES.search(words.strip()):
                continue
            if " ".join(sentence.split()).rstrip(".") in printed:
                continue
            seen.add(sentence)
            yield paragraph, sentence


def comparisons(document: Document) -> Iterator[tuple[Paragraph, str]]:
    """Yield sentences of the running text with a number and a comparison, which may be claims."""
    seen = set()
    for paragraph in document.paragraphs:
        for sentence in paragraph.sentences():
            words = re.sub(
                r"\[[^\][]*\]|\$[^$]*\$",
                lambda found: found[0] if re.fullmatch(r"\$[\d.,\s\\%×]+\$", found[0]) else " ",
                sentence,
            )
            words = re.sub(
                r"\b(?:Section|Appendix|Figure|Fig\.|Table|Theorem|Lemma|Equation|Algorithm)s?\s*[\d.]+", " ", words
            )
            if sentence in seen or not 30 < len(sentence) < 600 or len(re.findall(r"[A-Za-z]{3,}", words)) < 5:
                continue
            if _NUMBER.search(re.sub(r"\(\d{4}[a-z]?\)|\b(?:19|20)\d\d\b", " ", words)) and _COMPARES.search(words):
                seen.add(sentence)
                yield paragraph, sentence
