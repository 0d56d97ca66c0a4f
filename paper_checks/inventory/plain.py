"""A paper read from Markdown or plain text, such as a page or a PDF that was converted."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paper_checks.inventory.document import (
    FLOATS,
    STATEMENTS,
    Document,
    Item,
    Kind,
    Paragraph,
    Place,
    Reference,
    Table,
    kind_called,
)
from paper_checks.inventory.plain_tables import Block, find_blocks
from paper_checks.inventory.source import Source

NUMBER = r"(?:[A-Z]{1,2}\.?)?\d{1,3}(?:\.\d{1,3}){0,3}[a-z]?|[IVX]{1,5}(?![A-Za-z])"
_STATEMENTS = "|".join(STATEMENTS) + "|claim|fact|hypothesis|condition|observation"
_MARGIN = re.compile(r"^\s*(?:-\s+)?\d{2,4}(?=\s|$)\s*")
_HEAD = re.compile(
    (
        rf"^[\s>#*_]*(?P<called>{_STATEMENTS}|table|tab\.|figure|fig\.|"
        rf"algorithm|alg\.)\s+(?P<number>{NUMBER})(?P<rest>(?![\w-]).*)$"
    ),
    flags=re.I,
)
_WITHIN = re.compile(
    (
        rf"(?<=[.!?:;)\]])\s+(?P<head>(?P<called>{_STATEMENTS}|table|figure|"
        rf"algorithm)\s+(?P<number>{NUMBER})(?P<rest>[.:]\s*(?=[(\[A-Z$*]).*))$"
    ),
    flags=re.I,
)
"""A head that a conversion has joined to the sentence before it."""
_SECTION = re.compile(
    r"^\s*(?P<hash>#{1,6})?\s*(?:\*\*)?(?:(?:section|"
    r"appendix)\s+)?(?P<number>\d{1,2}(?:\.\d{1,2}){0,3}|"
    r"[A-Z](?:\.\d{1,2}){0,3})\.?(?:\*\*)?"
    r"\s+(?P<title>[^\s$\\|=].{1,100})$",
    flags=re.I,
)
_TAGGED = re.compile(r"\\tag\*?\s*\{\s*\(?([A-Z]?\.?\d{1,3}(?:\.\d{1,3})?[a-z]?'?)\)?\s*\}")
_IN_DISPLAY = re.compile(r"\\q?quad\s*\(([A-Z]?\.?\d{1,3}(?:\.\d{1,3})?[a-z]?)\)(?=\s*(?:\\\\|\\end|\$\$|$))")
_AT_END = re.compile(
    r"(?:^|[\s&$\\}\])])\(([A-Z]?\.?\d{1,3}(?:\.\d{1,3})?[a-z]?)\)\s*(?:\\\\)?\s*(?:\\end\{[a-z]+\*?\})?\s*\$*\s*$"
)
_MATHS = re.compile(
    r"\$\$|\\\[|\\(?:begin|quad|frac|sum|le|ge|left|mathbf|mathbb|displaystyle)|^\s*\(\d|[=≤≥<>≈∈→←:]|\\[a-z]+[_^{]"
)
_SENTENCE_END = re.compile(r"[.:;,]\s*$")
_PROOF = re.compile(r"^[\s*_#>]*(?:[A-Z]?\.?[\d.]*\s+)?proof\b(?P<of>[^.:]*)[.:]?", flags=re.I)
_PROOF_ENDS = re.compile(r"□|∎|\\square|\\qed|\\blacksquare|■|◻")
_MENTION = re.compile(
    rf"\b(?P<called>{_STATEMENTS}|theorems|lemmas|propositions|"
    rf"corollaries|definitions|assumptions|tables?|figures?|algorithms?|"
    rf"eqs?\.|equations?|figs?\.|tab\.|thm\.|lem\.|prop\.|"
    rf"alg\.)[\s~]*(?P<numbers>\(?(?:{NUMBER})\)?(?:\s*(?:,|and|or|to|&|-|"
    rf"–)\s*"
    rf"\(?(?:{NUMBER})\)?)*)(?!\w)",
    flags=re.I,
)


def read_plain(source: Source) -> Document:
    """Return what a text contains."""
    return _Reader(source).document()


@dataclass
class _Head:
    """The first line of a numbered item."""

    kind: Kind
    number: str
    line: int
    rest: str
    called: str


class _Reader:
    """Reads one text, line by line."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines = [re.sub(" {80,}", " " * 80, line) for line in _without_margins(source.lines)]

    def document(self) -> Document:
        blocks = list(find_blocks(self.lines))
        in_table = {at for block in blocks for at in range(block.start, block.end)}
        heads = list(self._heads(in_table))
        sections = list(self._sections(in_table))
        equations = self._equations(in_table)
        proofs = self._proofs(heads)
        paragraphs = list(self._paragraphs(in_table, sections))
        items = []
        ends = sorted(
            [
                *(head.line for head in heads),
                *(line for line, _ in sections),
                *(line for line, _, _ in proofs),
                len(self.lines),
            ]
        )
        for head in heads:
            end = ends[bisect_right(ends, head.line)]
            text, proof, proof_lines = self._text(head, end), "", range(0)
            for low, high, of in proofs:
                if of is head:
                    proof_lines = range(low, high)
                    proof = " ".join(" ".join(self.lines[low:high]).split())
            title = _title(head.rest)
            items.append(
                Item(
                    head.kind,
                    head.number,
                    self.source.places[head.line],
                    _section_at(sections, head.line),
                    title if head.kind not in FLOATS else text,
                    text,
                    "",
                    proof,
                    tuple(self._mentions(text, head.line)),
                    tuple(self._mentions(proof, proof_lines.start)),
                    None,
                    head.called.capitalize(),
                )
            )
        spans = [(head.line, ends[bisect_right(ends, head.line)], head) for head in heads if head.kind not in FLOATS]
        for number, line in equations:
            owner = next((head for low, high, head in spans if low <= line < high), None)
            owner = owner or next((of for low, high, of in proofs if low <= line < high), None)
            text = self._formula(line)
            items.append(
                Item(
                    "equation",
                    number,
                    self.source.places[line],
                    _section_at(sections, line),
                    "",
                    text,
                    inside=(owner.kind, owner.number) if owner else None,
                )
            )
        items.sort(key=lambda item: self._order(item.place))
        references = [
            one for paragraph in paragraphs for one in self._mentions(paragraph.text, self._order(paragraph.place))
        ]
        return Document(
            self.source.name,
            self._first_title(),
            self._abstract(sections),
            tuple(items),
            tuple(self._tables(blocks, heads)),
            tuple(paragraphs),
            tuple(references),
            self.source.notes,
        )

    def _order(self, place: Place) -> int:
        return place.line - 1

    def _heads(self, in_table: set[int]) -> Iterator[_Head]:
        """Yield the first lines of items; of several with one number, the one that looks most like a head."""
        found: dict[tuple[Kind, str], tuple[int, _Head]] = {}
        for at, line in enumerate(self.lines):
            if at in in_table:
                first, *others = line.split("\t")
                line = "" if any(other.strip() for other in others) else first
            match = _HEAD.match(line)
            joined = None if match else _WITHIN.search(line)
            match = match or joined
            if match is None:
                continue
            kind = kind_called(match["called"])
            weight = (1 if match["called"][:1].isupper() else 0) if joined else _weight(line, match, kind)
            if not weight or kind is None:
                continue
            head = _Head(kind, match["number"], at, match["rest"], match["called"].rstrip("."))
            known = found.get((kind, head.number))
            if known is None or weight > known[0]:
                found[kind, head.number] = (weight, head)
        yield from sorted((head for _, head in found.values()), key=lambda head: head.line)

    def _sections(self, in_table: set[int]) -> Iterator[tuple[int, str]]:
        for at, line in enumerate(self.lines):
            match = _SECTION.match(line) if at not in in_table and len(line) < 140 else None
            if match is None:
                continue
            alone = (at == 0 or not self.lines[at - 1].strip()) and (
                at + 1 >= len(self.lines) or not self.lines[at + 1].strip()
            )
            titled = match["title"][:1].isupper() and not _SENTENCE_END.search(match["title"])
            if (
                (titled and (match["hash"] or alone) and match["number"] not in ("I", "A"))
                or (titled and match["hash"])
                or (titled and alone)
            ):
                yield at, match["number"]

    def _equations(self, in_table: set[int]) -> list[tuple[str, int]]:
        """Return numbers of equations with their lines: those that are marked, and others that continue their order."""
        sure: list[tuple[str, int]] = []
        likely: list[tuple[str, int]] = []
        for at, line in enumerate(self.lines):
            if at in in_table:
                continue
            line = re.sub(r"</?[a-z]+>", "", line)
            tags = _TAGGED.findall(line) + _IN_DISPLAY.findall(line)
            if tags:
                sure += [(tag, at) for tag in tags]
                continue
            found = _AT_END.search(line)
            if found is None:
                continue
            before = line[: found.start()].strip()
            if (
                not before
                or line.rstrip().endswith("$$")
                or re.search(r"\\q?quad\s*$|\s{4,}$|\$\$\s*$", line[: found.start(1) - 1])
            ):
                sure.append((found[1], at))
            elif _MATHS.search(before) or _is_formula(before):
                likely.append((found[1], at))
        return _in_order(sure, likely)

    def _formula(self, line: int) -> str:
        """Return the formula with a number: its line, or the lines above down to which a display goes."""
        text = self.lines[line]
        start = line
        while start > 0 and self.lines[start - 1].strip() and text.count("$$") % 2 == 1 and line - start < 15:
            start -= 1
            text = f"{self.lines[start]} {text}"
        if not re.sub(r"[\s$()\dA-Z.]", "", text) and line > 0:  # the number has a line of its own
            above = line - 1
            while above > 0 and not self.lines[above].strip():
                above -= 1
            text = f"{self.lines[above]} {text}"
        inner = re.findall(r"\$\$(.*?)\$\$", text)
        text = inner[-1] if inner else text.replace("$$", " ")
        text = _TAGGED.sub("", text)
        text = re.sub(r"(?:\\q?quad\s*)?\(([A-Z]?\.?\d{1,3}(?:\.\d{1,3})?[a-z]?)\)\s*(?=\\end|$)", "", text)
        return f"${' '.join(text.split())}$"

    def _proofs(self, heads: list[_Head]) -> list[tuple[int, int, _Head]]:
        """Return the lines of each proof, and the statement that it proves."""
        statements = [head for head in heads if head.kind not in FLOATS]
        found: list[tuple[int, int, _Head]] = []
        for at, line in enumerate(self.lines):
            match = _PROOF.match(line)
            if match is None or not (line.lstrip("*_#> \t")[:1] in "Pp" or re.match(r"[\s#*]*[A-Z]?[\d.]*\s*P", line)):
                continue
            named = _MENTION.search(match["of"] + line[match.end() : match.end() + 30] if match["of"].strip() else "")
            before = [head for head in statements if head.line < at]
            of = before[-1] if before else None
            if named:
                kind, number = kind_called(named["called"]), re.sub(r"[()]", "", named["numbers"].split(",")[0]).strip()
                of = next((head for head in statements if (head.kind, head.number) == (kind, number)), of)
            if of is None:
                continue
            end = at + 1
            later = [head.line for head in statements if head.line > at]
            limit = later[0] if later else len(self.lines)
            while end < limit and not _PROOF_ENDS.search(self.lines[end - 1]):
                end += 1
            found.append((at, end, of))
        return found

    def _text(self, head: _Head, end: int) -> str:
        """Return what an item says: its first paragraph, with displays and what continues them."""
        rest = head.rest.strip().lstrip("*_ ")
        title = _title(head.rest)
        if head.kind not in FLOATS and title:
            rest = rest.lstrip().removeprefix(f"({title})")
        kept, paragraphs = [re.sub(r"^[\s.:*]+", "", rest)], 0
        for at in range(head.line + 1, end):
            line = self.lines[at].strip()
            if not line:
                continue
            new = not self.lines[at - 1].strip()
            display = line.startswith("$$") or _AT_END.search(line) is not None or line.startswith("\\")
            empty = not re.search(r"\w{2}", kept[0]) and len(kept) == 1
            if new and not display and not empty:
                paragraphs += 1
                if head.kind in FLOATS or (not line.lstrip("*_ ")[:1].islower() and not self._continues(at)):
                    break
            if new and display and head.kind in FLOATS:
                break
            kept.append(line)
        return _tidy(" ".join(" ".join(kept).split()).strip("* "))

    def _continues(self, at: int) -> bool:
        """Return whether a line continues the sentence before it."""
        above = at - 1
        while above > 0 and not self.lines[above].strip():
            above -= 1
        last = self.lines[above].rstrip(" $*_").rstrip()
        return last.endswith((",", ":", "and", "where", "then")) or bool(
            re.match(r"(?:where|with|for|and|then|if)\b|[a-z]\)", self.lines[at].strip(" *_"), re.I)
        )

    def _mentions(self, text: str, line: int) -> Iterator[Reference]:
        """Yield the items that a text mentions, but not those of other works."""
        place = self.source.places[min(max(line, 0), len(self.source.places) - 1)]
        for found in _MENTION.finditer(text):
            kind = kind_called(found["called"])
            if kind is None or _is_foreign(text, found):
                continue
            numbers = re.findall(rf"(?:{NUMBER})", found["numbers"])
            spans = re.findall(rf"({NUMBER})\)?\s*(?:to|-|–)\s*\(?({NUMBER})", found["numbers"])
            for low, high in spans:
                if low.isdigit() and high.isdigit() and 0 < int(high) - int(low) < 50:
                    numbers += [str(number) for number in range(int(low) + 1, int(high))]
            for number in dict.fromkeys(numbers):
                yield Reference(kind, number, place, found[0].strip())
        for found in re.finditer(r"(?<![\w)\]}_^])\(([A-Z]\.\d{1,3}|\d{1,3})\)(?!\s*(?:\\\\)?\s*\$*\s*$)", text):
            before = text[: found.start()]
            if re.search(
                r"(?:\b(?:in|by|of|from|and|using|see|to|with|on|both|apply(?:ing)?|or|substituting|combining)|,)\s*$",
                before,
                re.I,
            ) and (before.count("$") % 2 == 0):
                yield Reference("equation", found[1], place, found[0])

    def _paragraphs(self, in_table: set[int], sections: Sequence[tuple[int, str]]) -> Iterator[Paragraph]:
        kept: list[str] = []
        start = 0
        cited = False
        for at, line in enumerate([*self.lines, ""]):
            if re.match(r"^[\s#*\d.]*(?:references|bibliography)[\s*:]*$", line, re.I):
                cited = True
            elif cited and at < len(self.lines) and any(at == head for head, _ in sections):
                cited = False
            if line.strip() and at not in in_table and not cited and at < len(self.lines):
                start = start if kept else at
                kept.append(line.strip())
            elif kept:
                yield Paragraph(
                    " ".join(" ".join(kept).split()), self.source.places[start], _section_at(sections, start)
                )
                kept = []

    def _tables(self, blocks: Sequence[Block], heads: Sequence[_Head]) -> Iterator[Table]:
        """Yield the tables with the captions next to them; above or below, as most of the text has them."""
        captions = [head for head in heads if head.kind == "table"]
        above, below = {}, {}
        for number, block in enumerate(blocks):
            for head in captions:
                if (
                    head.line < block.start
                    and self._gap(head.line + 1, block.start) <= 4
                    and not any(head.line < other.start < block.start for other in blocks)
                ):
                    above[number] = head
                if (
                    head.line >= block.end
                    and self._gap(block.end, head.line) <= 2
                    and not any(block.end <= other.start < head.line for other in blocks)
                ):
                    below[number] = head
        first_above = len(above) >= len(below)
        for number, block in enumerate(blocks):
            head_of = (above if first_above else below).get(number) or (below if first_above else above).get(number)
            previous = blocks[number - 1] if number else None
            if head_of is None and previous is not None and self._gap(previous.end, block.start) <= 2:
                head_of = above.get(number - 1) if first_above else None
            if (
                head_of is None
                and number + 1 < len(blocks)
                and self._gap(block.end, blocks[number + 1].start) <= 2
                and not first_above
            ):
                head_of = below.get(number + 1)
            caption = self._text(head_of, len(self.lines)) if head_of else ""
            places = tuple(self.source.places[at] for at in block.lines)
            yield Table(head_of.number if head_of else "", caption, block.rows, places, block.rules)

    def _gap(self, start: int, end: int) -> int:
        """Return how many lines with text lie between two lines."""
        return sum(bool(line.strip()) for line in self.lines[start:end])

    def _first_title(self) -> str:
        first = next((line.strip() for line in self.lines if re.search(r"[A-Za-z]{3}", line)), "")
        return re.sub(r"^[#*\s]+|[*\s]+$", "", first)[:200]

    def _abstract(self, sections: Sequence[tuple[int, str]]) -> str:
        start = next(
            (at for at, line in enumerate(self.lines[:400]) if re.match(r"^[\s#*_]*abstract\b", line, re.I)), None
        )
        if start is None:
            return ""
        end = next((line for line, _ in sections if line > start), min(len(self.lines), start + 60))
        return re.sub(
            r"^[\s#*_]*abstract[\s.:*_—-]*", "", " ".join(" ".join(self.lines[start:end]).split()), flags=re.I
        )


def _without_margins(lines: Sequence[str]) -> list[str]:
    """Return lines without the line numbers that manuscripts under review have in their margin."""
    numbered = [
        int(found[0].strip(" -")) for line in lines if (found := re.match(r"^\s*(?:-\s+)?\d{3,4}(?=\s|$)", line))
    ]
    rising = sum(after == before + 1 for before, after in itertools.pairwise(numbered))
    if len(numbered) < 100 or rising < len(numbered) * 0.5:
        return list(lines)
    return [_MARGIN.sub("", line) if not line.startswith("|") and "\t" not in line else line for line in lines]


def _weight(line: str, match: re.Match[str], kind: Kind | None) -> int:
    """Return how much a line looks like the head of an item rather than a sentence about it; 0 is a sentence."""
    rest = match["rest"]
    marked = bool(re.match(r"^\s*(?:>|#+\s|\*\*|__|\*|_)", line))
    if not match["called"][:1].isupper():
        return 0
    if re.match(r"^\s*(?:\*\*|__|\*)?\s*[.:|—–]", rest) or re.match(r"^[.:]?(?:\*\*|__)", rest):
        after = re.sub(r"^[\s.:*_|—–]+", "", rest)
        return 4 if marked or not after or not after[:1].islower() else 2
    if not rest.strip() or not rest.strip("*_ "):
        return 3 if marked or len(line.split()) <= 3 else 0
    if re.match(r"^\s*\([^)]*", rest):
        closed = re.match(r"^\s*\((?:[^()]|\([^()]*\))*\)(?P<then>.*)$", rest)
        if closed is None:
            return 2 if marked else 1
        then = closed["then"].strip(" *_")
        return 3 if marked or not then or then[0] in ".:" or (then[:1].isupper()) else 0
    if marked:
        return 2
    if kind in FLOATS:
        word = rest.split()[0]
        return (
            1
            if rest[:1].isspace()
            and re.match(r"^(?:[A-Z]|[a-z]+[A-Z])", word)
            and not re.match(r"(?:and|or)\b", word, re.I)
            else 0
        )
    return 0


def _title(rest: str) -> str:
    """Return the text in parentheses right after the number."""
    found = re.match(r"^[\s*_.]*\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)", rest)
    return found[1].strip() if found else ""


def _tidy(text: str) -> str:
    """Return a text with its displays between single dollar signs, without numbers and marks of italics."""
    text = re.sub(
        r"\$\$(.+?)\$\$", lambda found: f"${_IN_DISPLAY.sub('', _TAGGED.sub('', found[1])).strip(' ,')}$", text
    )
    parts = text.split("$")
    parts[::2] = [re.sub(r"(?<=[\s.,])\*+(?!\w*})|(?<![\^_{])\*+(?=[\s.,:]|$)", "", part) for part in parts[::2]]
    return "$".join(parts)


def _is_formula(text: str) -> bool:
    """Return whether most of a line is signs and single letters."""
    words = re.findall(r"[A-Za-z]{4,}", re.sub(r"\\[A-Za-z]+", "", text))
    return len(words) <= max(2, len(text) // 40)


def _in_order(sure: list[tuple[str, int]], likely: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return all marked numbers once, and those of the others that fit between them in the order of the text."""
    found = dict[str, int]()
    for number, line in sure:
        found.setdefault(number, line)
    by_prefix: dict[str, list[tuple[int, int, str, bool]]] = {}
    for (number, line), certain in [*((one, True) for one in sure), *((one, False) for one in likely)]:
        split = re.fullmatch(r"(.*?)(\d+)([a-z]?)", number)
        if split and (certain or number not in found):
            by_prefix.setdefault(split[1], []).append((line, int(split[2]), number, certain))
    for chain in by_prefix.values():
        for line, _, number, certain in _longest_rise(sorted(chain)):
            if not certain:
                found.setdefault(number, line)
    return sorted(found.items(), key=lambda pair: pair[1])


def _longest_rise(chain: list[tuple[int, int, str, bool]]) -> list[tuple[int, int, str, bool]]:
    """Return the heaviest run of numbers that rise along the text; marked numbers weigh more, and jumps cost."""
    best: list[float] = []
    before: list[int] = []
    for at, (_, number, _, certain) in enumerate(chain):
        weight = 3.0 if certain else 1.0
        score, link = weight, -1
        for earlier in range(max(0, at - 80), at):
            step = number - chain[earlier][1]
            if step > 0 and best[earlier] + weight - 0.05 * min(step - 1, 30) > score:
                score, link = best[earlier] + weight - 0.05 * min(step - 1, 30), earlier
        best.append(score)
        before.append(link)
    kept = []
    at = max(range(len(chain)), key=lambda one: best[one]) if chain else -1
    while at >= 0:
        kept.append(chain[at])
        at = before[at]
    return kept[::-1]


def _is_foreign(text: str, found: re.Match[str]) -> bool:
    """Return whether a mention is of another work, as in "Lemma 5 of [28]" or "[28, Lemma 5]"."""
    before, after = text[max(0, found.start() - 60) : found.start()], text[found.end() : found.end() + 60]
    if re.search(r"\[[^\][]*[,;]\s*(?:\w+\s+)?$|\([A-Z][^()]*\d{4}[a-z]?[,;]\s*$", before):
        return True
    if re.search(r"(?:\]|\d{4}[a-z]?\)|et al\.?,?\s*(?:\(\d{4}\))?|’s|'s)\s*[,(]?\s*$", before):
        return True
    return bool(
        re.match(
            (
                r"[.\d]*\)?,?\s*(?:of|in|from|by)\s+(?:the\s+)?(?:book|paper|work|\[|"
                r"\(|[A-Z][\w.&-]+(?:\s+(?:et al|and|&)|\s*[(\[,]|\s+[A-Z]))"
            ),
            after,
        )
        or re.match(
            r"[.\d]*\s*(?:\[\d|\((?:[A-Z][\w-]+,?\s.*\d{4}|[A-Z]\w+ \d{4}))|[.\d]*\s+(?:from|of|in)\s+[a-z]+\d{4}",
            after,
        )
    )


def _section_at(sections: Sequence[tuple[int, str]], line: int) -> str:
    before = [number for at, number in sections if at <= line]
    return before[-1] if before else ""
