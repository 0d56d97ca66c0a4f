"""Which statement a proof in LaTeX proves.

A name decides: in the option of the proof, in the text right before it, or in its heading. Without one, a proof belongs
to the statement right before it. A restated theorem counts as the theorem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from paper_checks.inventory.document import FLOATS, Kind, kind_called
from paper_checks.inventory.latex_numbers import SECTIONS
from paper_checks.inventory.latex_span import Span
from paper_checks.inventory.latex_text import REFERENCE

_PROVED: tuple[Kind, ...] = ("theorem", "lemma", "proposition", "corollary")
_OF = re.compile(r"\b(?:of|for)\b", re.I)
_MEANS = re.compile(r"\b(?:using|via|from|by|with|assuming|given|under|based|that uses|in terms)\b", re.I)
"""Words after which a heading names what a proof uses."""
_PROOF = re.compile(r"\b(?:proof|proving|prove)s?\b", re.I)
_SAYS = re.compile(r"\b(?:proofs?\s+(?:[a-z]+\s+){0,3}?(?:of|for)|proving|prove)\b(?P<what>[^.]{0,160})", re.I)
_BARE = re.compile(r"[\s~.:]*(?:detailed |full |complete )?proof[\s~.:]*", re.I)
_NUMBERED = re.compile(r"(?P<kind>[A-Za-z]+)[\s~]+\(?(?P<number>[A-Z]?\.?\d+(?:\.\d+)*)\b")
_AGAIN = re.compile(r"restat|recall|repeat|copy", re.I)
_NO_WORDS = re.compile(r"\\[A-Za-z]+\*?(?:\s*\[[^\][]*\])?(?:\s*\{[^{}]*\})*|[\s{}.~]")
_REST = re.compile(r"\\bibliography(?![a-z])|\\begin\s*\{thebibliography\}|\\printbibliography|\\appendix")


class Proofs:
    """Gives each proof of a source to statements, if it is sure to which.

    Args:
        text: The source.
        spans: Statements and equations in their order.
        sections: Headings in their order.
        labels: Spans that contain each label, one for every place of it.
        restated: Statements by the command that prints them again.
    """

    def __init__(
        self,
        text: str,
        spans: Sequence[Span],
        sections: Sequence[Span],
        labels: Mapping[str, Sequence[Span]],
        restated: Mapping[str, Span],
    ) -> None:
        self._text = text
        self._sections = sections
        self._labels = labels
        self._statements = [span for span in spans if span.kind not in ("equation", *FLOATS, None)]
        again = [
            (found.start(), found.end(), span)
            for name, span in restated.items()
            for found in re.compile(rf"\\{name}\*?(?![A-Za-z])").finditer(text, span.end)
        ]
        whole = [(span.start, span.end, span) for span in self._statements]
        self._printed = sorted([*whole, *again], key=lambda one: one[1])

    def assign(self, proofs: Sequence[tuple[int, int, str]]) -> list[int]:
        """Add the proofs to their statements.

        Args:
            proofs: Begin, end and option of each.

        Returns:
            Where the proofs begin whose statement is not sure.
        """
        unsure = []
        for start, end, option in proofs:
            found = self._owners(start, end, option, proofs)
            if found is None:
                unsure.append(start)
            for owner in found or ():
                if (start, end) not in owner.proofs:
                    owner.proofs.append((start, end))
        for low, high, heading in self._bare_sections(proofs):
            for owner in self._named_by(heading, low) or []:
                owner.proofs.append((low, high))
        return unsure

    def _owners(
        self, start: int, end: int, option: str, proofs: Sequence[tuple[int, int, str]]
    ) -> Sequence[Span] | None:
        """Return what a proof proves: nothing for a part of another proof; None if it is not sure."""
        named = self._called(option, start)
        if named:
            return named
        around = [span for span in self._statements if span.start <= start < span.end]
        if around:
            return around[-1:]
        low = max((close for _, close, _ in proofs if close <= start), default=0)
        outer = [one for one in proofs if one[0] < start and end <= one[1] and one[:2] != (start, end)]
        before = [one for one in self._printed if one[1] <= start and (not outer or one[0] >= outer[-1][0])]
        other = self._other_kind(option)
        if before and other in (None, before[-1][2].kind) and before[-1][1] >= low:
            gap = self._text[before[-1][1] : start]
            if not self._headings(before[-1][1], start) and not _NO_WORDS.sub("", gap):
                return self._meant(before[-1][2])
        low = max(
            [low, *(one[1] for one in before[-1:]), *(self._begin(one) for one in self._sections if one.start < start)]
        )
        said = list(_SAYS.finditer(self._text[low:start]))
        named = self._mentioned(said[-1]["what"], start) if said else []
        if named and not outer:
            return named
        if outer:
            own = [span for _, _, span in before if self._is_proved(span)]
            return own[-1:] if own and not own[-1].proofs else []
        if other is not None or (option and _OF.search(option)):
            return None
        for heading in self._around(start):
            named = self._named_by(heading, start)
            if named:
                inside = [one for one in proofs if heading.start < one[0] < self._end(heading)]
                return named if len(named) == 1 or len(inside) == 1 else None
        proved = [one for one in before if self._is_proved(one[2])]
        if len(proofs) == 1 and sum(map(self._is_proved, self._statements)) == 1 and proved:
            return [proved[-1][2]]
        if not proved or self._headings(proved[-1][1], start) or (proved[-1][2].proofs):
            return None
        return self._meant(proved[-1][2])

    @staticmethod
    def _is_proved(span: Span) -> bool:
        """Return whether a statement is one that papers prove."""
        return span.kind in _PROVED or (
            span.kind == "remark" and not re.match("remark|note|comment|example", span.called, re.I)
        )

    def _meant(self, span: Span) -> list[Span]:
        """Return a statement with the one that it prints again."""
        again = self._mentioned(span.title, span.start) if not span.number or _AGAIN.search(span.title) else []
        return [*again, *([span] if span.number else [])] or [span]

    def _called(self, option: str, start: int) -> list[Span]:
        """Return the statements that the option of a proof names."""
        of = _OF.search(option)
        what = option[of.end() :] if of else option
        named = self._mentioned(what, start)
        if named or not of:
            return named
        words = _plain(what)
        titled = [span for span in self._statements if span.title and _plain(span.title) in words]
        return titled if len(titled) == 1 else []

    @staticmethod
    def _other_kind(option: str) -> Kind | None:
        """Return the kind of statement that an option is about."""
        of = _OF.search(option)
        words = re.findall(r"[A-Za-z]+", option[of.end() :]) if of else []
        return next((kind for word in words if (kind := kind_called(word))), None)

    def _named_by(self, heading: Span, start: int) -> list[Span]:
        """Return the statements whose proof a heading announces."""
        proof = _PROOF.search(heading.title)
        if proof:
            of = _OF.search(heading.title, proof.end())
            return self._mentioned(heading.title[of.end() if of else proof.end() :], start)
        above = [one for one in self._around(heading.start) if _PROOF.search(one.title)]
        alone = re.fullmatch(rf"[\s~]*[A-Za-z]*[\s~]*(?:{REFERENCE.pattern}|[\d.]+)[\s~.:]*", heading.title)
        return self._mentioned(heading.title, start) if above and alone else []

    def _mentioned(self, words: str, start: int) -> list[Span]:
        """Return the statements that words refer to, by label or by number, up to what a proof uses."""
        means = _MEANS.search(words)
        words = words[: means.start()] if means else words
        found: list[Span] = []
        for one in REFERENCE.finditer(words):
            labels = one["option"] if one["how"] == "hyperref" else one["labels"]
            for label in (labels or "").split(","):
                found += self._labelled(label.strip(), start)
        for one in _NUMBERED.finditer(words):
            kind = kind_called(one["kind"])
            same = [span for span in self._statements if span.kind == kind and span.number == one["number"]]
            found += same if len(same) == 1 else []
        return found

    def _labelled(self, label: str, start: int) -> list[Span]:
        """Return what has a label; of several, the only one before the proof."""
        spans = list(self._labels.get(label, ()))
        if len(spans) > 1:
            spans = [span for span in spans if span.end <= start]
        if len(spans) != 1 or spans[0].kind in (None, *FLOATS):
            return []
        return [spans[0].inside] if spans[0].kind == "equation" and spans[0].inside else spans

    def _headings(self, low: int, high: int) -> bool:
        """Return whether a heading other than "Proof" is between two places."""
        between = any(low <= one.start < high and not _BARE.fullmatch(one.title) for one in self._sections)
        return between or re.search(r"\\appendix(?![a-z])", self._text[low:high]) is not None

    def _around(self, at: int) -> Iterator[Span]:
        """Yield the headings that a place is under, the innermost first."""
        level = len(SECTIONS)
        for one in reversed([one for one in self._sections if one.start < at]):
            if SECTIONS.index(one.called) < level:
                level = SECTIONS.index(one.called)
                yield one

    def _begin(self, heading: Span) -> int:
        """Return where the part under a heading begins."""
        return self._text.find(heading.title, heading.start) + len(heading.title) + 1

    def _end(self, heading: Span) -> int:
        """Return where the part under a heading ends."""
        level = SECTIONS.index(heading.called)
        after = (one.start for one in self._sections if one.start > heading.start)
        lower = {one.start: SECTIONS.index(one.called) for one in self._sections}
        end = next((at for at in after if lower[at] <= level), len(self._text))
        rest = _REST.search(self._text, heading.start, end)
        return rest.start() if rest else end

    def _bare_sections(self, proofs: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, Span]]:
        """Yield begin, end and heading of the parts that are a proof without an environment."""
        for heading in self._sections:
            if not _PROOF.search(heading.title):
                continue
            low, high = heading.start, self._end(heading)
            taken = [*(start for start, _, _ in proofs), *(span.start for span in self._statements)]
            if any(low <= at < high for at in taken) or len(self._named_by(heading, low)) != 1:
                continue
            yield self._begin(heading), high, heading


def _plain(words: str) -> str:
    words = re.sub(r"\\[A-Za-z]+|[^A-Za-z0-9 ]", " ", words.lower())
    return " ".join(re.sub(r"\bthe\b", " ", words).split())
