"""A paper read from LaTeX, by the parser of pylatexenc."""

from __future__ import annotations

import itertools
import logging
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pylatexenc.latexwalker import LatexEnvironmentNode, LatexGroupNode, LatexMacroNode, LatexMathNode, LatexWalker

from paper_checks.inventory.displays import by_number, find_displays, goes_on
from paper_checks.inventory.document import Document, Item, Kind, Paragraph, Place, Reference, Table
from paper_checks.inventory.latex_numbers import SECTIONS, Numbers, commands_of, set_up
from paper_checks.inventory.latex_proofs import Proofs
from paper_checks.inventory.latex_span import Span
from paper_checks.inventory.latex_tables import TABULARS, read_grid
from paper_checks.inventory.latex_text import EQUATIONS, REFERENCE, Readable, braced, formula
from paper_checks.inventory.macros import write_out
from paper_checks.inventory.source import Source, SourceError
from paper_checks.inventory.verbatim import LISTING_LABEL

_FLOATS: dict[str, Kind] = {
    "figure": "figure",
    "wrapfigure": "figure",
    "SCfigure": "figure",
    "sidewaysfigure": "figure",
    "teaserfigure": "figure",
    "floatingfigure": "figure",
    "table": "table",
    "wraptable": "table",
    "sidewaystable": "table",
    "longtable": "table",
    "algorithm": "algorithm",
    "algorithm2e": "algorithm",
    "procedure": "algorithm",
    "xltabular": "table",
    "longtblr": "table",
    "supertabular": "table",
    "margintable": "table",
    "marginfigure": "figure",
    "SCtable": "table",
    "pseudocode": "algorithm",
}
_PARTS = ("subfigure", "subtable", "subcaptionblock", "subcaptiongroup")
_ROW_BY_ROW = ("align", "gather", "eqnarray", "alignat", "flalign", "xalignat", "IEEEeqnarray", "dgroup")
_CAPTION = re.compile(
    r"\\(?:caption(?P<of>of)?|captionabove|captionbelow|tcaption|fcaption)(?![A-Za-z])(?P<star>\*?)\s*"
)
_CAPTION_OF = re.compile(r"\{\w+\*?\}\s*")
_CAPTION_OPTION = re.compile(r"\[(?:[^\[\]{}]|\{[^{}]*\})*\]\s*")
_PLACEMENT = re.compile(r"\s*\[[htbpH!\s]*\]")
_LABEL = re.compile(r"\\[A-Za-z]*label\s*(?:\[[^\]]*\])?\s*\{([^{}]*)\}|(?<=[\[,\s])label\s*=\s*\{?([^,\]{}]+)")
_DEFINES = re.compile(r"\\(?:label|lstlistinglabel)\s*(?:\[[^\]]*\]\s*)?\{[^{}#\\]+\}")
_TAG = re.compile(r"\\tag(\*?)\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_COLUMNS = re.compile(r"\s*(?:\[[^\][]*\]\s*)?\{(?:\d+|[rclRCL*@{}. ]+)\}(?=\s)")
"""The columns of an alignment, before its first line."""
_MOST_REPAIRS = 8
"""Openings without an end that are passed over."""
_BLANK = re.compile(r"\n[ \t]*\n")


def read_latex(source: Source) -> Document:
    """Return what a LaTeX source contains.

    Raises:
        SourceError: It is nested too deeply to be read.
    """
    return _Reader(source).document()


class _Reader:
    """Reads one source: structure by the parser, then labels, references and text by their places in it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        written = write_out(source.text)
        end = re.search(r"\\end\s*\{document\}", written.text)
        self.text = written.text[: end.start()] if end else written.text
        self.starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        self.numbers: Numbers = set_up(self.text, written.theorems)
        self.aliases = written.environments
        self.commands = commands_of(self.text)
        self.sections: list[Span] = []
        self.spans: list[Span] = []
        self.tabulars: list[tuple[LatexEnvironmentNode, Span | None]] = []
        self.hidden: list[tuple[int, int]] = []
        self.proofs: list[tuple[int, int, str]] = []
        self.restated: dict[str, Span] = {}
        self.abstract = (0, 0)
        self.notes = list(source.notes)
        self.external = [
            (prefix, None if text is None else {label for _, label in _labels(text)})
            for prefix, text in source.external
        ]
        self.labelled: dict[str, list[Place]] = {}

    def document(self) -> Document:
        logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)
        begin = re.search(r"\\begin\s*\{document\}", self.text)
        try:
            self._walk(self._parse(begin.end() if begin else 0), None, None)
        except RecursionError:
            raise SourceError(
                f"{self.source.name} is nested too deeply to be read, as if many groups were never closed; "
                "check that it compiles"
            ) from None
        self._attach_proofs()
        targets = self._label_targets()
        readable = Readable(targets)
        references = list(self._references(targets))
        items = tuple(self._item(span, readable, references) for span in self.spans if span.number)
        return Document(
            self.source.name,
            self._title(readable),
            readable.words(self.text[slice(*self.abstract)]),
            items,
            tuple(self._tables(readable)),
            tuple(self._paragraphs(readable, begin.end() if begin else 0)),
            tuple(one for _, one in references),
            (*self.notes, *self._unread()),
            latex=True,
            displays=tuple(find_displays(self.text, begin.end() if begin else 0, self.spans, self.hidden, self.place)),
            twice={label: tuple(places) for label, places in self.labelled.items() if len(places) > 1 and label},
        )

    def _parse(self, start: int) -> list[Any]:
        """Return the nodes of the text; what is never closed is noted, blanked, and read as if it were not there."""
        for _ in range(_MOST_REPAIRS):
            nodes, _, _ = LatexWalker(self.text, tolerant_parsing=True).get_latex_nodes(pos=start)
            kept = [node for node in nodes if node is not None]
            fault = _never_closed(kept)
            if fault is None:
                break
            at, opening = fault
            self.notes.append(f"{self.place(at)}: {opening} is never closed")
            self.text = self.text[:at] + " " * len(opening) + self.text[at + len(opening) :]
        return kept

    def place(self, at: int) -> Place:
        """Return the file and line of a place in the text."""
        line = bisect_right(self.starts, at) - 1
        return self.source.places[min(line, len(self.source.places) - 1)]

    def _walk(self, nodes: Sequence[Any], statement: Span | None, holder: Span | None) -> None:
        """Collect what the nodes contain, in order.

        Args:
            nodes: Nodes of the parser.
            statement: The statement that they are in.
            holder: The float that they are in.
        """
        for node in nodes:
            if node is None:
                continue
            if isinstance(node, LatexMacroNode):
                self._macro(node, nodes, statement, holder)
            elif isinstance(node, LatexEnvironmentNode):
                self._environment(node, statement, holder)
            elif isinstance(node, LatexMathNode):
                if node.displaytype == "display" and _TAG.search(node.latex_verbatim()):
                    inner = node.latex_verbatim().removeprefix(node.delimiters[0]).removesuffix(node.delimiters[1])
                    self._equation(node.pos, node.pos + node.len, inner, statement, counts=False)
            elif getattr(node, "nodelist", None):
                self._walk(node.nodelist, statement, holder)

    def _macro(self, node: LatexMacroNode, around: Sequence[Any], statement: Span | None, holder: Span | None) -> None:
        name = node.macroname
        if name in SECTIONS:
            self._catch_up(node.pos)
            star = self.text[node.pos + 1 + len(name) : node.pos + 2 + len(name)] == "*"
            title = re.compile(rf"\\{name}\*?\s*(?:\[[^\]]*\])?\s*").match(self.text, node.pos)
            words = (
                braced(self.text, title.end())[0] if title and self.text[title.end() : title.end() + 1] == "{" else ""
            )
            numbered = not star and name not in ("part", "paragraph", "subparagraph")
            number = self.numbers.step(name) if numbered else ""
            self.sections.append(Span(None, number, node.pos, len(self.text), title=words, called=name))
            self.hidden.append((node.pos, title.end() + len(words) + 2 if title and words else node.pos + node.len))
            return
        if name in ("caption", "captionof") and holder is None:
            found = _CAPTION.match(self.text, node.pos)
            of = re.compile(r"\{(\w+)\}\s*").match(self.text, found.end()) if found and found["of"] else None
            kind = _FLOATS.get(of[1].rstrip("*")) if of else None
            if kind:
                self._caption(Span(kind, "", node.pos, node.pos + node.len), node.pos)
            return
        arguments = node.nodeargd.argnlist if node.nodeargd is not None and node.nodeargd.argnlist else []
        self._walk([one for one in arguments if one is not None], statement, holder)

    def _environment(self, node: LatexEnvironmentNode, statement: Span | None, holder: Span | None) -> None:
        name, start, end = node.environmentname.strip(), node.pos, node.pos + node.len
        plain = name.rstrip("*")
        alias = re.search(r"\\begin\s*\{([A-Za-z]+\*?)\}", self.aliases.get(name, ""))
        if alias and plain not in self.numbers.theorems:
            name, plain = alias[1], alias[1].rstrip("*")
        self._catch_up(start)
        if plain == "restatable":
            inner = re.compile(r"\\begin\s*\{restatable\*?\}\s*(?:\[([^\]]*)\])?\s*\{(\w+)\}\s*\{(\w+)\}").match(
                self.text, start
            )
            if inner and inner[2] in self.numbers.theorems:
                self.restated[inner[3]] = self._statement(node, inner[2], inner.end(), inner[1] or "", statement)
                return
        if plain == "abstract":
            self.abstract = (self._body_start(node), end - len(r"\end{abstract}"))
        if name in self.numbers.theorems or (plain in self.numbers.theorems and name != plain):
            at = self._body_start(node)
            title = re.compile(r"\s*\[((?:[^\[\]{}]|\{[^{}]*\}|\[[^\]]*\])*)\]").match(self.text, at)
            self._statement(node, name, title.end() if title else at, title[1] if title else "", statement)
        elif plain in ("proof", "Proof", "pf"):
            option = re.compile(r"\s*\[((?:[^\[\]{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\]").match(
                self.text, self._body_start(node)
            )
            self.proofs.append((start, end, option[1] if option else ""))
            self.hidden.append((start, option.end() if option else self._body_start(node)))
            self._walk(node.nodelist, statement, holder)
        elif plain in EQUATIONS:
            self._display(node, plain, statement, holder, counts=not name.endswith("*"))
        elif plain in _FLOATS and (holder is None or name not in TABULARS):
            self._float(node, _FLOATS[plain], plain, statement)
        elif name in TABULARS:
            self.tabulars.append((node, holder))
            self.hidden.append((start, end))
        elif plain in ("thebibliography", "filecontents", "CCSXML"):
            self.hidden.append((start, end))
        else:
            self._walk(node.nodelist, statement, holder)

    def _body_start(self, node: LatexEnvironmentNode) -> int:
        found = re.compile(r"\\begin\s*\{[^{}]*\}").match(self.text, node.pos)
        return found.end() if found else node.pos

    def _statement(self, node: LatexEnvironmentNode, name: str, body: int, title: str, outer: Span | None) -> Span:
        theorem = self.numbers.theorems.get(name) or self.numbers.theorems[name.rstrip("*")]
        counted = theorem.counter if name in self.numbers.theorems else ""
        number = self.numbers.step(counted) if counted else ""
        end = node.pos + node.len
        close = self.text.rfind("\\end", body, end)
        span = Span(
            theorem.kind,
            number,
            node.pos,
            end,
            self.text[body : close if close > 0 else end],
            title,
            theorem.called,
            self._section(),
            outer,
        )
        self.spans.append(span)
        self.hidden += [(node.pos, body), (close if close > 0 else end, end)]
        key = re.search(r"(?:^|,)\s*restate\s*=\s*\{?(\w+)", title)
        if key:
            self.restated[key[1]] = span
        self._walk(node.nodelist, span, None)
        return span

    def _display(
        self, node: LatexEnvironmentNode, plain: str, statement: Span | None, holder: Span | None, counts: bool
    ) -> None:
        end = node.pos + node.len
        if plain == "subequations":
            main = self.numbers.step("equation")
            self.spans.append(Span("equation", main, node.pos, end, "", section=self._section(), inside=statement))
            whole = self.spans[-1]
            before = len(self.spans)
            kept = self.numbers.counters["equation"]
            form, value, within = kept.form, kept.value, kept.within
            kept.form, kept.value = rf"{main}\alph{{equation}}", 0
            self._walk(node.nodelist, statement, holder)
            kept.form, kept.value, kept.within = form, value, within
            whole.body = "; ".join(_formula(span) for span in self.spans[before:])
            return
        if plain in _ROW_BY_ROW:
            self._alignment(node, statement, counts)
            return
        body = self._body_start(node)
        close = self.text.rfind("\\end", body, end)
        self._equation(node.pos, end, self.text[body:close], statement, counts and plain not in ("displaymath", "math"))

    def _alignment(self, node: LatexEnvironmentNode, statement: Span | None, counts: bool) -> None:
        """Collect the equations of an alignment: each number with the lines without one that belong to it."""
        start = self._body_start(node)
        columns = _COLUMNS.match(self.text, start)
        lines: list[tuple[int, int, str]] = []
        for low, high in self._rows(node, columns.end() if columns else start):
            raw = self.text[low:high]
            if raw.strip():
                self._catch_up(high)
                lines.append((low, high, self._number(high, raw, counts)))
        chains: list[list[tuple[int, int, str]]] = []
        for line in lines:
            if chains and goes_on(self.text[slice(*line[:2])], self.text[slice(*chains[-1][0][:2])]):
                chains[-1].append(line)
            else:
                chains.append([line])
        for group in itertools.chain.from_iterable(map(by_number, chains)):
            number = next((number for _, _, number in group if number), "")
            if number:
                low, high = group[0][0], group[-1][1]
                body, inside = self.text[low:high], statement
                self.spans.append(
                    Span("equation", number, low, high, body, "", "", self._section(), inside, lines=len(group) > 1)
                )

    def _rows(self, node: LatexEnvironmentNode, start: int) -> Iterator[tuple[int, int]]:
        for inner in node.nodelist:
            if isinstance(inner, LatexMacroNode) and inner.macroname in ("\\", "cr"):
                yield start, inner.pos
                start = inner.pos + inner.len
        close = self.text.rfind("\\end", start, node.pos + node.len)
        yield start, close if close > 0 else node.pos + node.len

    def _equation(self, start: int, end: int, raw: str, statement: Span | None, counts: bool) -> None:
        number = self._number(end, raw, counts)
        if number:
            self.spans.append(Span("equation", number, start, end, raw, section=self._section(), inside=statement))

    def _number(self, end: int, raw: str, counts: bool) -> str:
        """Return the number that a formula gets at its end; empty if it has none."""
        tag = _TAG.search(raw)
        if tag:
            self._catch_up(end)
            shown = re.sub(r"\\the([a-z]+)(?![A-Za-z])", self._printed, tag[2])
            return re.sub(
                r"\\ref\s*\{([^{}]*)\}|[\\${}()]", lambda found: f"\ue002{found[1]}\ue002" if found[1] else "", shown
            )
        if not counts or re.search(r"\\(?:nonumber|notag)(?![A-Za-z])", raw):
            return ""
        self.numbers.step("equation")
        self._catch_up(end)  # the number is printed at the end of the formula
        return self.numbers.shown("equation")

    def _printed(self, found: re.Match[str]) -> str:
        r"""Return what ``\\theequation`` and its kin print here."""
        return self.numbers.shown(found[1]) if found[1] in self.numbers.counters else found[0]

    def _float(self, node: LatexEnvironmentNode, kind: Kind, name: str, statement: Span | None) -> None:
        start, end = node.pos, node.pos + node.len
        parts = [(one.pos, one.pos + one.len) for one in _inner(node) if _has_own_captions(one)]
        holder = Span(kind, "", start, end, section=self._section())
        last = holder
        for found in _CAPTION.finditer(self.text, start, end):
            if found["star"] or any(low <= found.start() < high for low, high in parts):
                continue
            span = holder if not holder.number else Span(kind, "", found.start(), end, section=self._section())
            if found["of"]:
                of = re.compile(r"\{(\w+)\}").match(self.text, found.end())
                span.kind = _FLOATS.get(of[1].rstrip("*"), kind) if of else kind
            if span is not holder:
                last.end = found.start()
            self._caption(span, found.start())
            last = span
        holder.end = end if last is holder else holder.end
        if name in TABULARS:
            self.tabulars.append((node, holder))
        self.hidden.append((start, end))
        if kind == "algorithm":
            holder.body = self._without_captions(self._body_start(node), self.text.rfind("\\end", start, end))
        before = len(self.tabulars)
        self._walk(node.nodelist, statement, holder)
        floats = [span for span in self.spans if span.kind == kind and start <= span.start < end]
        for at in range(before, len(self.tabulars)):  # several captions: each table has the nearest
            inner = self.tabulars[at][0]
            if len(floats) > 1 and self.tabulars[at][1] is holder:
                nearest = min(
                    floats, key=lambda span: abs(span.start - inner.pos) if span is not holder else inner.pos - start
                )
                self.tabulars[at] = (inner, nearest)

    def _without_captions(self, start: int, end: int) -> str:
        """Return what a float contains besides its captions and the option that says where it may be."""
        option = _PLACEMENT.match(self.text, start, end)
        pieces, start = [], option.end() if option else start
        for found in _CAPTION.finditer(self.text, start, end):
            if found.start() >= start:
                pieces.append(self.text[start : found.start()])
                start = min(self._caption_text(found)[1], end)
        return " ".join([*pieces, self.text[start:end]])

    def _caption_text(self, found: re.Match[str]) -> tuple[str, int]:
        """Return the text of a caption, and the place after it."""
        place = found.end()
        for pattern in (_CAPTION_OF, _CAPTION_OPTION) if found["of"] else (_CAPTION_OPTION,):
            passed = pattern.match(self.text, place)
            place = passed.end() if passed else place
        return braced(self.text, place) if self.text[place : place + 1] == "{" else ("", place)

    def _caption(self, span: Span, at: int) -> None:
        found = _CAPTION.match(self.text, at)
        assert found is not None
        assert span.kind is not None
        self._catch_up(at)
        span.title = self._caption_text(found)[0]
        span.number = self.numbers.step(span.kind)
        span.section = span.section or self._section()
        self.spans.append(span)

    def _catch_up(self, at: int) -> None:
        """Carry out the commands about counters that stand before a place."""
        while self.commands and self.commands[0].start() <= at:
            command = self.commands.pop(0)
            if not self.numbers.apply(command) and self.numbers.prints(command["name"]):
                says = f"\\{command['how']}{{{command['name']}}} has a value that is not read, so numbers may differ"
                self.notes.append(f"{self.place(command.start())}: {says}")

    def _section(self) -> str:
        numbered = [span for span in self.sections if span.number]
        return numbered[-1].number if numbered else ""

    def _attach_proofs(self) -> None:
        """Give each proof to the statement that it proves; note those that cannot be given surely."""
        labels: dict[str, list[Span]] = {}
        for at, label in _labels(self.text):
            span = self._innermost(at)
            if span is not None:
                labels.setdefault(label, []).append(span)
        unsure = Proofs(self.text, self.spans, self.sections, labels, self.restated).assign(self.proofs)
        if unsure:
            lines = ", ".join(str(self.place(at)) for at in unsure[:3])
            shown = f"{lines}{', ...' if len(unsure) > 3 else ''}"
            self.notes.append(
                f"{shown}: it is open which statement this proof proves, so it is given to none"
                if len(unsure) == 1
                else f"{shown}: it is open which statements {len(unsure)} proofs prove, so they are given to none"
            )

    def _innermost(self, at: int) -> Span | None:
        inside = [span for span in self.spans if span.start <= at < span.end]
        return min(inside, key=lambda span: span.end - span.start) if inside else None

    def _label_targets(self) -> dict[str, tuple[Kind | None, str]]:
        """Return kind and number of every label; the number of a section has no kind."""
        targets: dict[str, tuple[Kind | None, str]] = {}
        for at, label in _labels(self.text):
            if _DEFINES.match(self.text, at):
                self.labelled.setdefault(label, []).append(self.place(at))
            if self.text.startswith(LISTING_LABEL, at):
                targets[label] = (None, "")
                continue
            span = self._innermost(at)
            if span is not None:
                targets[label] = (span.kind, span.number)
                span.label = span.label or label
            else:
                before = [one for one in self.sections if one.start <= at]
                targets[label] = (None, before[-1].number if before else "")
        for span in self.spans:
            span.number = re.sub(
                "\ue002([^\ue002]*)\ue002", lambda found: targets.get(found[1], (None, "??"))[1], span.number
            )
        return targets

    def _references(self, targets: dict[str, tuple[Kind | None, str]]) -> Iterator[tuple[int, Reference]]:
        for found in REFERENCE.finditer(self.text):
            if found["how"] in ("href", "xref"):
                continue
            labels = found["option"] if found["how"] == "hyperref" else found["labels"]
            for label in (labels or "").split(","):
                label = label.strip()
                if not label or "#" in label or "\\" in label:
                    continue
                kind, number = targets.get(label, (None, ""))
                yield (
                    found.start(),
                    Reference(kind, number, self.place(found.start()), label, label, self._exists(label, targets)),
                )

    def _exists(self, label: str, targets: Mapping[str, object]) -> bool:
        """Return whether a label is in the paper, or may be in another document that it names."""
        return label in targets or any(
            label.startswith(prefix) and (labels is None or label.removeprefix(prefix) in labels)
            for prefix, labels in self.external
        )

    def _item(self, span: Span, readable: Readable, references: list[tuple[int, Reference]]) -> Item:
        assert span.kind is not None
        own = [one for at, one in references if span.start <= at < span.end]
        of_proof = [one for at, one in references if any(low <= at < high for low, high in span.proofs)]
        text = f"${_formula(span)}$" if span.kind == "equation" else readable.words(span.body)
        title = readable.words(span.title)
        if span.kind in ("figure", "table"):
            text = title
        inside = (span.inside.kind, span.inside.number) if span.inside is not None and span.inside.kind else None
        if inside is None and span.kind == "equation":
            owners = [one for one in self.spans if any(low <= span.start < high for low, high in one.proofs)]
            inside = (owners[-1].kind, owners[-1].number) if owners and owners[-1].kind else None
        return Item(
            span.kind,
            span.number,
            self.place(span.start),
            span.section,
            title,
            text,
            span.label,
            " ".join(readable.words(self.text[low:high]) for low, high in span.proofs),
            tuple(own),
            tuple(of_proof),
            inside,
            span.called,
        )

    def _tables(self, readable: Readable) -> Iterator[Table]:
        for node, holder in self.tabulars:
            rows, starts, rules = read_grid(node, readable.words)
            if not rows:
                continue
            numbered = holder is not None and holder.kind == "table"
            yield Table(
                holder.number if numbered and holder else "",
                readable.words(holder.title) if holder else "",
                tuple(tuple(row) for row in rows),
                tuple(self.place(start) for start in starts),
                rules,
            )

    def _paragraphs(self, readable: Readable, begin: int) -> Iterator[Paragraph]:
        """Yield the running text, without floats, tables and the bibliography; captions come last."""
        pieces, at = [], begin
        for low, high in sorted(self.hidden):
            if low > at:
                pieces.append((at, low))
            at = max(at, high)
        pieces.append((at, len(self.text)))
        for low, high in pieces:
            cuts = [low, *(found.end() for found in _BLANK.finditer(self.text, low, high)), high]
            for start, end in itertools.pairwise(cuts):
                words = readable.words(self.text[start:end])
                if len(words) > 1:
                    start += len(self.text[start:end]) - len(self.text[start:end].lstrip())
                    before = [span for span in self.sections if span.start <= start and span.number]
                    yield Paragraph(words, self.place(start), before[-1].number if before else "")
        for span in self.spans:
            if span.kind in ("table", "figure", "algorithm") and span.title:
                yield Paragraph(readable.words(span.title), self.place(span.start), span.section)

    def _title(self, readable: Readable) -> str:
        """Return the title: of several, the last before it is printed."""
        printed = re.search(r"\\maketitle(?![A-Za-z])", self.text)
        every = list(re.finditer(r"\\(?:icml|)title\*?\s*(?:\[[^\]]*\])?\s*(?=\{)", self.text))
        before = [one for one in every if printed is None or one.start() < printed.start()] or every
        if not before:
            return ""
        title = re.sub(r"\\thanks\s*\{[^{}]*\}", "", braced(self.text, before[-1].end())[0])
        return readable.words(re.sub(r"\\\\\*?\s*(?:\[[^\]]*\])?", " ", title))  # a line break, perhaps with its height

    def _unread(self) -> Iterator[str]:
        """Yield a note if environments that have numbers were not reached, as after an odd dollar sign."""
        reached = {span.start for span in self.spans} | {span.start for span in self.sections}
        missed = []
        for found in re.finditer(r"\\begin\s*\{(\w+)\}", self.text):
            name = found[1]
            theorem = self.numbers.theorems.get(name)
            if (
                ((theorem and theorem.counter) or name == "equation")
                and not any(span.start <= found.start() < span.end for span in self.spans)
                and found.start() not in reached
            ):
                missed.append(found.start())
        if missed:
            lines = "line" if len(missed) == 1 else "lines"
            shown = ", ".join(str(self.place(at)) for at in missed[:3])
            yield f"{len(missed)} environments were not read ({lines} {shown}{', ...' if len(missed) > 3 else ''})"


def _formula(span: Span) -> str:
    """Return the formula of an equation; several lines are one aligned block."""
    return formula(span.body, "align" if span.lines else "")


def _labels(text: str) -> Iterator[tuple[int, str]]:
    """Yield the labels of a text with their places."""
    for found in _LABEL.finditer(text):
        yield found.start(), (found[1] or found[2] or "").strip()


def _never_closed(nodes: Sequence[Any]) -> tuple[int, str] | None:
    """Return place and text of the innermost opening whose end is missing; None if everything is closed."""
    for node in nodes:
        if node is None:
            continue
        if isinstance(node, LatexMacroNode):
            arguments = node.nodeargd.argnlist if node.nodeargd is not None and node.nodeargd.argnlist else []
            inner = _never_closed([one for one in arguments if one is not None])
        else:
            inner = _never_closed(getattr(node, "nodelist", None) or [])
        if inner is not None:
            return inner
        if isinstance(node, LatexEnvironmentNode):
            opening = rf"\begin{{{node.environmentname}}}"
            ends = re.search(rf"\\end\s*\{{\s*{re.escape(node.environmentname)}\s*\}}$", node.latex_verbatim()[-80:])
            if ends is None and node.latex_verbatim().startswith(opening):
                return node.pos, opening
        elif isinstance(node, LatexGroupNode | LatexMathNode):
            opening, closing = node.delimiters
            if opening and closing and not node.latex_verbatim().endswith(closing):
                return node.pos, opening
    return None


def _has_own_captions(node: LatexEnvironmentNode) -> bool:
    """Return whether the captions of an environment in a float are not those of the float."""
    name = node.environmentname.strip()
    return name.rstrip("*") in _PARTS or (name.rstrip("*") in _FLOATS and name not in TABULARS)


def _inner(node: LatexEnvironmentNode) -> Iterator[LatexEnvironmentNode]:
    """Yield all environments inside of one."""
    waiting = [one for one in node.nodelist if one is not None]
    while waiting:
        one = waiting.pop()
        if isinstance(one, LatexEnvironmentNode):
            yield one
        waiting += [inner for inner in getattr(one, "nodelist", None) or [] if inner is not None]
