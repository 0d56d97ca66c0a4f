"""The report: every verdict and its evidence, in pages or in one file, offline and also without scripts."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import metadata, version
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from paper_checks.claim import IMPORTANCES, VERDICTS, Grade, Importance, Verdict
from paper_checks.context import LEVEL, SUITE_LEVEL
from paper_checks.names import Names
from paper_checks.pages import card, report_cards, status_graph, status_map
from paper_checks.pages.card import VERDICT_MEANS
from paper_checks.pages.mathml import rich
from paper_checks.pages.plain_mathematics import plain_text
from paper_checks.pages.report_links import claims_of, figure_groups, figures_of, headings, pointers
from paper_checks.pages.report_pages import (
    INDEX,
    TABLE,
    ReportPage,
    anchors,
    by_change,
    claims_table,
    is_report_page,
    leading,
    links_from,
    pages_of,
    picture_file,
    pictures_of,
    says,
    search_words,
    single_page,
)
from paper_checks.pages.report_papers import FIRST, PaperSection, home, paper_sections
from paper_checks.replay import replays_of
from paper_checks.replaying.arguments import Argument, argument_of
from paper_checks.result import Result, Run, describe_misprint
from workloads.processes.locks import lock_folder
from workloads.written import FolderRecord, write_own

if TYPE_CHECKING:
    from paper_checks.pages.report_figures import ReportFigure

GRADE_MEANS: Mapping[Grade, str] = {
    "kernel": "the kernel of the proof assistant Coq checked the statement and every step of its proof. Readers "
    "compare the formal statement with the printed one.",
    "proof": "a computer verified it exactly, by symbolic identities, by comparing exact numbers or intervals, or by "
    "an exact counterexample that separate code evaluated again. Where a card says “proof, step by step”, a computer "
    "carries out the calculations, and the words that connect them are for readers to judge.",
    "certified": "a computer found a numerical bound and reports the gap that remains; it is not exact.",
    "statistical": "a computer measured random draws; a true statement fails such a check with a probability of at "
    f"most {LEVEL:g}.",
    "search": "a computer searched and found no violation, and the check does notice small changes of the statement. "
    "Cases that were not searched may still violate it.",
}
SCRIPTS = ("report_search.js", "report.js")
"""Files of the script: what a query finds, and what the pages do with it."""
IMPORTANCE_MEANS: Mapping[Importance, str] = {
    "result": "a theorem, a proposition, or what a paper is known for.",
    "step": "a step of a proof, a definition, a remark.",
    "detail": "a misprint, a rounding, a single number.",
}


def write_report(run: Run, figures: Sequence[ReportFigure], manifest: Mapping[str, Any], out: Path) -> Path:
    """Write the report into a folder, all or none, and return the front page.

    The folder gets a front page, a page for each paper with a map of it, a page of figures with their pictures, and a
    table of all claims. Pages of papers that an earlier report had, and that nobody has changed, are removed.

    Args:
        run: results of the claims.
        figures: figures, in the order they are shown.
        manifest: settings and environment, as from ``run_manifest``.
        out: the folder; it is made if need be.

    Raises:
        OSError: the folder cannot be made or written.
    """
    sections = paper_sections(run, _notes(run))
    pages = pages_of(sections, figures)
    files = {
        out / page.file: text.encode() for page, text in zip(pages, _render(run, figures, manifest, pages), strict=True)
    }
    files |= status_map.files({told.name: (told.called, told.columns) for told in sections}, out)
    files |= {out / TABLE: claims_table(run.results).encode(), **pictures_of(figures, out)}
    record, fresh = FolderRecord(out), [folder for folder in {path.parent for path in files} if not folder.exists()]
    try:
        for folder in fresh:
            folder.mkdir(parents=True, exist_ok=True)
        with lock_folder(out, wait=True):  # pages of two reports that are made at the same time do not mix
            record.write(files)
            record.remove({out / name for name, _, _ in record.lines() if is_report_page(name)} - files.keys())
    except OSError:
        for folder in fresh:
            with suppress(OSError):
                folder.rmdir()
        raise
    return out / INDEX


def write_single_file(run: Run, figures: Sequence[ReportFigure], manifest: Mapping[str, Any], path: Path) -> Path:
    """Write the report as one HTML file with its pictures, for mail, and return its path.

    Raises:
        OSError: the file cannot be written, or rankproof did not write the one that is there.
    """
    write_own({path: render(run, figures, manifest).encode()}, path.parent)
    return path


def render(run: Run, figures: Sequence[ReportFigure], manifest: Mapping[str, Any]) -> str:
    """Return the report as one page with everything."""
    [text] = _render(run, figures, manifest, [single_page(paper_sections(run, _notes(run)))])
    return text


def _notes(run: Run) -> dict[str, str]:
    """Return for each claim that holds the claims below it that do not, in words."""
    verdicts = {result.claim.id: result.decision.verdict for result in run.results}
    return {
        id: status_graph.derived_state(found, verdicts) if verdicts[id] == "holds" else ""
        for id, found in status_graph.rests_on(run.results).items()
    }


def _render(
    run: Run, figures: Sequence[ReportFigure], manifest: Mapping[str, Any], pages: Sequence[ReportPage]
) -> Iterator[str]:
    """Yield the text of each page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "rich": rich,
        "kind": kind,
        "number": number,
        "by_verdict": by_verdict,
        "words": search_words,
    }
    template = environment.get_template("report.html")
    papers = list(chain.from_iterable(page.papers for page in pages))
    by_id = {result.claim.id: result for result in run.results}
    judged = [result for result in run.results if not result.is_stub]
    kinds = [result.claim.kind for result in judged]
    names = Names([result.claim for result in run.results], {paper.name: paper.called for paper in run.papers})
    seen = figures_of(run.results, figures, run.papers)
    script = "".join((Path(__file__).parent / name).read_text(encoding="utf-8") for name in SCRIPTS)
    known = anchors(pages, figures)
    context = {
        "script": Markup(script),
        "script_digest": f"sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}",
        "index": INDEX,
        "table_file": TABLE,
        "run": run,
        "card": card,
        "certainty": report_cards.certainty,
        "describe_finding": report_cards.describe_finding,
        "describe_forms": report_cards.describe_forms,
        "split_finding": report_cards.split_finding,
        "split_caption": report_cards.split_caption,
        "fails": report_cards.fails,
        "describe_constants": report_cards.describe_constants,
        "describe_misprint": describe_misprint,
        "describe_unnamed": card.describe_unnamed,
        "results": by_id,
        "figures": figures,
        "manifest": manifest,
        "rows": manifest_rows(run, manifest),
        "papers": papers,
        "subject": subject(run, papers),
        "options": "".join(f" {paper.option.strip()}" for paper in run.papers if paper.option),
        "first": FIRST,
        "figure_groups": figure_groups(figures, run.papers),
        "pointers": pointers,
        "judged": judged,
        "stubs": [result for result in run.results if result.is_stub],
        "outside": [paper.package for paper in run.papers if paper.is_outside],
        "unchecked": sum(result.decision.verdict == "not checkable here" for result in judged),
        "stated": [kind for kind in kinds if kind in card.STATED],
        "others": [kind for kind in kinds if kind not in card.STATED],
        "names_of": lambda id: json.dumps(names.as_rows(id)),
        "says": says,
        "called": {r.claim.id: paper.called for paper in papers for r in (*paper.results, *paper.stubs)},
        "vocabulary": json.dumps(names.vocabulary),
        "leading": leading,
        "by_change": by_change,
        "headings": headings(run.results),
        "figures_of": seen,
        "figures_seen": lambda ids: {figure.id: figure for id in ids for figure in seen[id]}.values(),
        "claims_of": claims_of(seen),
        "importances": IMPORTANCE_MEANS,
        "exceptions": exceptions_first(judged),
        "counts": Counter((r.decision.verdict, r.decision.grade) for r in judged),
        "counted": Counter(r.decision.verdict for r in judged if r.as_expected),
        "version": version("rankproof"),
        "repository": repository(),
        "verdicts": VERDICT_MEANS,
        "prints": card.PRINT_MEANS,
        "grades": GRADE_MEANS,
        "signs": status_graph.SIGNS,
        "suite_level": SUITE_LEVEL,
        "rests_on": status_graph.rests_on(run.results),
        "used_by": status_graph.used_by(status_graph.uses_within(run.results)),
        "table": values_table,
        "arguments": proof_arguments(run),
        "split": head_and_rest,
    }
    notes = _notes(run)
    for page in pages:
        shown = [result for paper in page.papers for result in paper.results]
        together, alone = status_graph.components(status_graph.uses_within(shown))
        yield template.render(
            context,
            page=page,
            to=links_from(page, known),
            short=plain_text if page.file else rich,
            picture=picture_file if page.file else attrgetter("address"),
            graphs=[status_graph.draw(group, by_id, notes, lambda id: f"#{id}") for group in together],
            alone=[id for id in alone if not by_id[id].is_stub],
        )


def subject(run: Run, sections: Sequence[PaperSection]) -> str:
    """Return whose claims the report is about: a field if it has several papers of the toolkit, else the papers."""
    if len(sections) > 1 and not all(paper.is_outside for paper in run.papers):
        return "federated low-rank training"
    return card.join_words([section.called for section in sections])


def repository() -> str:
    """Return the repository's address from the installed package; empty if it has none."""
    addresses = (entry.partition(", ")[2] for entry in metadata("rankproof").get_all("Project-URL", []))
    return next((address for address in addresses if address.startswith("https://")), "")


def proof_arguments(run: Run) -> dict[tuple[str, str], Argument]:
    """Return the arguments of the stored proofs, by claim and kind."""
    proved = [result.claim for result in run.results for file in result.stored if file.kind == "certificate"]
    found: dict[tuple[str, str], Argument] = {}
    wanted = {(claim.id, "certificate") for claim in proved}
    for package in {paper.package for claim in proved if (paper := home(claim, run.papers))}:
        replays = replays_of(package)
        found |= {key: argument_of(replay) for key, replay in replays.items() if key in wanted}
    return found


def exceptions_first(results: Sequence[Result]) -> list[Result]:
    """Sort results: differences from the record first, then refuted, corrected and so on, results before details."""

    def place_of(result: Result) -> tuple[bool, int, int]:
        verdict, importance = result.decision.verdict, result.claim.importance
        return result.as_expected, VERDICTS.index(verdict), IMPORTANCES.index(importance)

    return sorted(results, key=place_of)


def by_verdict(results: Sequence[Result]) -> list[tuple[tuple[bool, Verdict], list[Result]]]:
    """Return groups of consecutive results with one verdict, as recorded or not."""
    found = groupby(results, key=lambda result: (result.as_expected, result.decision.verdict))
    return [(key, list(some)) for key, some in found]


def values_table(values: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the rows of a witness: name, shown value, and the whole value if it is too long to show."""
    rows = []
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if len(text) <= 90:
            rows.append((name, text, ""))
        else:
            kind = f"{len(value)} entries" if isinstance(value, list | dict) else f"{len(text)} characters"
            rows.append((name, kind, json.dumps(value, indent=1, ensure_ascii=False, default=str)))
    return rows


def head_and_rest(text: str, most: int = 220) -> tuple[str, list[str]]:
    """Split a long list ``a; b; c`` into its first entry and the others, to be folded; a short text stays whole."""
    head, *rest = report_cards.entries(text)
    return (head, rest) if len(text) > most and rest else (text, [])


def kind(verdict: Verdict) -> str:
    """Return the first word of a verdict, which determines its colour."""
    return verdict.split()[0]


def number(value: float) -> str:
    """Return a number with at most six digits."""
    return f"{value:.6g}"


_LABELS = {
    "started": "Date",
    "wall_seconds": "Wall time",
    "commit": "Commit",
    "uncommitted_changes": "Uncommitted changes",
    "sources_sha256": "SHA-256 of the sources",
    "seed": "Root seed",
    "budget": "Budget",
    "claims": "Claims",
    "level_spent": "False-alarm level spent",
    "stored_for_no_claim": "Stored files that belong to no claim",
    "python": "Python",
    "platform": "Platform",
    "processors": "Processors",
}


def manifest_rows(run: Run, manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return labels and values as text; a mapping in the manifest becomes one row for each of its entries."""
    rows = []
    for key, value in manifest.items():
        label = _LABELS.get(key, card.sentence_case(key.replace("_", " ")))
        if isinstance(value, Mapping):
            rows += [(f"{label}: {name}", _describe_versions(entry)) for name, entry in value.items()]
        elif key == "level_spent":
            rows.append((label, f"{run.level:.2g}, summed over all claims; bound {SUITE_LEVEL:g}"))
        elif key == "wall_seconds":
            rows.append((label, f"{value:.1f} s"))
        elif value != []:  # an empty list says nothing
            rows.append((label, _describe_versions(value)))
    return rows


def _describe_versions(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
