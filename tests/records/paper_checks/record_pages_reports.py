"""Records of the report: its pages, sections, links, tables, cards, maps and graphs."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import invented_results as invented
from invented_results import (
    AMBIGUOUS,
    CORRECTED,
    FINDINGS,
    HALF,
    HOLDS,
    LOOSE,
    MISPRINT,
    PAPER,
    PROOF,
    REFUTED,
    SETTING,
    STUB,
    WITNESS,
    declared,
    found,
    outcome,
    results,
)
from recording import refused

from paper_checks.claim import LITERAL, VERDICTS
from paper_checks.context import Context
from paper_checks.engine.verdict import Decision
from paper_checks.pages import report, report_cards, report_links, report_pages, report_papers, status_graph, status_map
from paper_checks.pages.overview import overview
from paper_checks.pages.report_figures import ReportFigure
from paper_checks.pages.status_map import Cell, Column
from paper_checks.paper import CHANGES

FIGURES = (
    ReportFigure("invented/fig-2", "Figure 2", "Loss $L$.", svg="<svg/>", scale="quick", seeds=(0,), found="one; two"),
    ReportFigure("rmt/edge of", "Edge", "An edge.", png=b"png"),
    ReportFigure.missing("invented/tab-1", "Table 1", "Gone.", "no data", "rankproof figure x"),
)


def _sections(run=None):
    run = run or invented.run()
    return report_papers.paper_sections(run, report._notes(run))


def _text(page):
    """Return the words of a page, without tags, scripts and styles."""
    bare = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", page)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare)).strip()


def a_report_in_one_page():
    manifest = {
        "started": "2026",
        "commit": None,
        "seed": 0,
        "level_spent": 0.0,
        "packages": {"numpy": "2", "none": None},
    }
    page = report.render(invented.run(), FIGURES, manifest)
    text = _text(page)
    yield [text[place : place + 400] for place in range(0, len(text), 400)]
    yield sorted(set(re.findall(r'id="([^"]+)"', page)))
    yield sorted(set(re.findall(r'href="([^"]+)"', page)))


def pages_of_a_report():
    sections = _sections()
    pages = report_pages.pages_of(sections, FIGURES)
    yield [(page.file, sorted(page.parts), len(page.papers)) for page in (*pages, report_pages.single_page(sections))]
    yield [page.file for page in report_pages.pages_of(sections, [])], report_pages.anchors(pages, FIGURES)
    yield report_pages.anchors(pages, [])
    known = report_pages.anchors(pages, FIGURES)
    for page in (*pages, report_pages.single_page(sections)):
        link = report_pages.links_from(page, known)
        yield [
            link(anchor)
            for anchor in (
                "invented/thm-3",
                "figures",
                "figure:rmt/edge of",
                "summary",
                "paper:invented",
                "how:invented/eq-9",
            )
        ]
    yield [report_pages.picture_file(one) for one in FIGURES], report_pages.file_names(["a", "b"])
    yield {path.name: content.decode() for path, content in report_pages.pictures_of(FIGURES, Path("out")).items()}
    for name in (
        "paper-a.html",
        "paper-.html",
        "map-a.svg",
        "figures.html",
        "index.html",
        "paper-a/b.html",
        "xpaper-a.html",
        "map-a.svg2",
    ):
        yield report_pages.is_report_page(name)


def sections_of_papers():
    for one in _sections():
        yield one.name, one.called, one.title, one.main, one.cited, one.link
        yield [(theme.anchor, theme.title, theme.short, theme.tally) for theme in one.themes]
        yield [finding.entries for finding in one.findings], [point.says for point in one.headlines]
        yield [len(graph) > 0 for graph in one.graph]
        yield dict(one.stated), one.faults, one.kinds, one.failing, one.others
        yield [result.claim.id for result in one.stubs], len(one.results)
        yield [(column.title, [cell.words for cell in column.cells]) for column in one.columns]
    some = _sections(invented.run(results=results()[1:3]))[0]
    yield [finding.entries for finding in some.findings], [point.says for point in some.headlines], some.failing
    yield some.others, some.kinds
    lost = _sections(invented.run(papers=()))
    yield [
        (
            one.name,
            one.called,
            one.title,
            one.main,
            [theme.title for theme in one.themes],
            [theme.anchor for theme in one.themes],
        )
        for one in lost
    ]
    bare = _sections(invented.run(papers=(replace(PAPER, called="", cited="", link=""),)))[0]
    yield bare.called, bare.cited, report_papers.home(HOLDS, ()), report_papers.home(HOLDS, (PAPER,)).name
    yield report_papers.home(declared("x"), (PAPER,)) is PAPER


def names_and_places_of_statements():
    for where in (
        "Section 3.2, Theorem 4; Appendix G.1, Theorem 11",
        "eq. (4)",
        "eqs. (4), (5)",
        "Section 5",
        "Lemma 2",
        "Table 1, row 3",
        "Theorems",
        "page 3; Figure 2",
    ):
        yield report_papers.place(where), report_papers.is_numbered(where)
    for title in (
        "Section 3.2 and Appendix G: runs of it (Theorem 4), and more",
        "Tables 1 to 3",
        "Table 1: its rows, and more",
        "Short, and long",
        "v2 of it: its proof: steps",
        "Notation: a, b",
    ):
        yield report_papers.Theme("", title, ()).short
    stub, one, two = results()[6], results()[2], results()[0]
    for some in ((), (two,), (one, two), (stub,), (stub, stub, one), (stub, two)):
        yield report_papers.Theme("", "t", some).tally


def findings_by_change_and_the_leading_ones():
    sections = _sections()
    yield [
        (change, [(paper.name, finding.id) for paper, finding in some])
        for change, some in report_pages.by_change([*sections, *sections])
    ]
    many = [
        replace(FINDINGS[0], id=f"f-{k}", changes=change)
        for k, change in enumerate([*CHANGES[:2], *CHANGES[:3], CHANGES[0], CHANGES[0]])
    ]
    for found_ in (many, many[1:3], [FINDINGS[1]], []):
        ordered = sorted(found_, key=lambda one: CHANGES.index(one.changes))
        change, some = report_pages.leading(SimpleNamespace(findings=ordered))
        yield change, [one.id for one in some]
        yield [one.id for one in report_pages.leading(SimpleNamespace(findings=ordered), 1)[1]]


def words_and_tables_of_claims():
    yield report_pages.search_words("The loss of $L_2$, and the loss in eq. 4.2; A-b c'd x1 12 Ünï it's")
    yield report_pages.says(CORRECTED), report_pages.says(SETTING)
    yield report_pages.claims_table(results()).splitlines()


def results_as_entries_of_the_contract():
    for one in results()[1:6]:
        yield one.as_json()


def figures_and_the_claims_in_them():
    papers = (PAPER, replace(PAPER, name="rmt", called=""))
    yield [(name, [one.id for one in some]) for name, some in report_links.figure_groups(FIGURES, papers)]
    yield [(name, [one.id for one in some]) for name, some in report_links.figure_groups(FIGURES[:1], ())]
    seen = report_links.figures_of(results(), FIGURES, (PAPER,))
    yield {id: [one.id for one in some] for id, some in seen.items()}, report_links.claims_of(seen)
    by_id = {one.claim.id: one for one in results()}
    double = {**by_id, "invented/x": replace(results()[0], claim=replace(HOLDS, id="invented/x"))}
    yield report_links.pointers(list(by_id), by_id), report_links.pointers(list(double), double)
    yield report_links.headings(list(double.values()))
    yield [one.address[:40] for one in FIGURES]
    yield report_links.headings(
        [replace(one, claim=replace(one.claim, where="Section 2, after")) for one in results()[:2]]
    )


def certainty_and_findings_on_cards():
    draws = replace(WITNESS, exact=False)
    for one in (
        *results(),
        found(HOLDS, [PROOF]),
        found(CORRECTED, [WITNESS, PROOF]),
        found(REFUTED, [draws]),
        found(MISPRINT, [draws, PROOF]),
    ):
        yield report_cards.certainty(one), report_cards.describe_finding(one), report_cards.describe_forms(one)
        yield report_cards.fails(one)
    three = declared("three", readings=(LITERAL, HALF, replace(HALF, name="third", constants={"K": 0.75})))
    one = replace(found(three), decision=Decision("ambiguous", "search"))
    yield report_cards.describe_finding(one), report_cards.describe_forms(one), report_cards.certainty(one)
    yield report_cards.describe_finding(replace(results()[4], judged=None)), report_cards.describe_constants(HOLDS)
    yield report_cards.describe_constants(LOOSE)
    undecided = replace(results()[4], judged=replace(results()[4].judged, printed=outcome(None)))
    yield report_cards.describe_finding(undecided), report_cards.certainty(undecided)


def lists_that_are_split():
    for text, most in (
        ("one; two; three", 10),
        ("one; two; three", 8),
        ("one; two; three", 7),
        ("one; two; three", 99),
        ("one; two; three", 14),
        ("one; two; three", 15),
        ("one (2; 3); $[4; 5)$; six [a; b)", 3),
        ("", 5),
    ):
        yield report_cards.split_finding(text, most), report_cards.entries(text), report.head_and_rest(text, most)
    for length in (418, 419, 420, 421, 422):
        first = "a" * (length - 1)
        yield length, [len(part) for part in report_cards.split_caption(f"{first}. Next. Last.")]
        first, rest = report_cards.split_finding(f"{'a' * (length - 3)}; b; c")
        yield len(first), rest
    text = "Loss by round, cf. $L. M$. Bands: all seeds. Five seeds. $x$ is last."
    for most in (10, 26, 43, 44, 45, 57, 69, 100):
        yield report_cards.split_caption(text, most)


def rows_of_witnesses_and_manifests():
    yield report.values_table(
        {
            "x": 1.5,
            "list": [1, 2],
            "long": list(range(40)),
            "text": "a" * 90,
            "longer": "a" * 91,
            "map": {str(k): k for k in range(30)},
        }
    )
    manifest = {
        **{
            "started": "2026",
            "wall_seconds": 12.345,
            "commit": None,
            "uncommitted_changes": True,
            "seed": 3,
            "stored_for_no_claim": [],
            "level_spent": 1.0,
        },
        **{"packages": {"numpy": "2.0", "torch": None}, "some_thing": [1, 2], "processors": 4, "empty": ()},
    }
    yield report.manifest_rows(invented.run(), manifest), report.number(1234567.891), report.number(0.1)
    yield [report.kind(verdict) for verdict in VERDICTS]
    yield report.GRADE_MEANS, report.IMPORTANCE_MEANS


def order_and_groups_of_results():
    wrong = replace(results()[0], expected_grade="proof")
    ordered = report.exceptions_first([*results(), wrong])
    yield [one.claim.id for one in ordered]
    yield [(key, [one.claim.id for one in some]) for key, some in report.by_verdict(ordered)]
    sections = _sections()
    for papers, some in (
        ((PAPER,), sections),
        ((PAPER,), sections * 2),
        ((replace(PAPER, package="paper_checks.x"),), sections * 2),
        ((), []),
    ):
        yield report.subject(invented.run(papers=papers), some)
    yield report._notes(invented.run()), report.repository().startswith("https://")
    yield report.proof_arguments(invented.run())


def graphs_of_what_rests_on_what():
    uses = {"a": ("b", "c"), "b": ("d",), "c": (), "d": ("b",), "e": (), "f": ("g",), "g": (), "h": ("a",)}
    yield status_graph.used_by(uses), status_graph.condense(uses, ["a", "d", "h", "f"]), status_graph.components(uses)
    yield status_graph.uses_within(results()), status_graph.rests_on(results())
    yield status_graph.uses_within(results()[1:3])
    verdicts = {"x/a": "corrected", "x/b": "refuted", "x/c": "corrected", "x/d": "ambiguous"}
    yield [
        status_graph.derived_state(below, verdicts) for below in ([], ["x/a"], ["x/a", "x/b"], ["x/a", "x/c", "x/d"])
    ]


def a_graph_as_a_picture():
    by_id = {one.claim.id: one for one in results()}
    together, alone = status_graph.components(status_graph.uses_within(results()))
    notes = report._notes(invented.run())
    yield alone, [str(status_graph.draw(group, by_id, notes, lambda id: f"#{id}")) for group in together]
    other = {
        **by_id,
        "other/long-label": replace(
            results()[1], claim=replace(LOOSE, id="other/long-label", uses=("invented/thm-3",))
        ),
    }
    yield str(status_graph.draw(["other/long-label", "invented/thm-3"], other, {"invented/thm-3": "a note"}, str))
    wide = {
        f"p/{name}": tuple(f"p/{used}" for used in below)
        for name, below in {"a": "bcd", "b": "e", "c": "e", "d": "", "e": "d", "f": "ad"}.items()
    }
    drawn = {id: replace(results()[0], claim=replace(HOLDS, id=id, uses=used)) for id, used in wide.items()}
    yield re.findall(
        r'(?:label" x="[^>]*>[^<]*|<path class="edge" d="[^"]*)', str(status_graph.draw(list(wide), drawn, {}, str))
    )


def maps_of_papers():
    columns = status_map.of_ledger(PAPER)
    yield [
        (column.title, [(cell.id, cell.verdict, cell.sign, cell.is_stub, cell.words) for cell in column.cells])
        for column in columns
    ]
    yield status_map.draw("Squares & more", columns).splitlines()
    cell = Cell("a/b", "$x$", "refuted", "step")
    stub = replace(cell, verdict="not checkable here", is_stub=True)
    long = [Column("t", (cell,) * count) for count in (9, 10, 11, 21)]
    text = status_map.draw("long", [*long, *[Column("u", (stub,))] * 30, Column("none", ())])
    yield re.findall(r'<svg[^>]*viewBox="[^"]*"|<desc.*|fill="#565d68">\d+|<text x="[^"]*" y="[^"]*" fill', text)
    yield status_map.draw("stubs", [Column("u", (stub,) * 2)]).splitlines()[2]
    yield status_map.draw("none", []).splitlines()[0][:100]
    yield {
        path.name: content.decode()[-8:]
        for path, content in status_map.files({"a": ("A", columns)}, Path("out")).items()
    }
    yield Cell.of(STUB, "not checkable here").is_stub, Cell.of(STUB, "holds").is_stub
    yield Cell.of(AMBIGUOUS, "ambiguous").words, Context("a/b").seed


def an_overview_of_findings():
    yield overview([PAPER]).splitlines()
    weaker = [
        replace(FINDINGS[0], id=f"w-{k}", changes=change, headline=f"Half. of $x_{k}$ in Lemma 2.")
        for k, change in enumerate([CHANGES[1], CHANGES[2], CHANGES[2], CHANGES[1]])
    ]
    other = replace(
        PAPER,
        findings=tuple(weaker),
        called="Other Name",
        pages=(PAPER.pages[0], replace(PAPER.pages[0], name="two", title="Second", themes=("others",))),
    )
    yield overview([PAPER, other]).splitlines()[8:], overview([replace(PAPER, findings=())]).splitlines()[10:]
    yield refused(overview, [])
