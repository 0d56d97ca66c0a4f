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
