"""The report and the terminal card, on a handful of invented results; the statements of the real ledger."""

import base64
import io
import os
import re
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from paper_checks.claim import GRADES, VERDICTS, Evidence, Form, claim
from paper_checks.engine.judging import Judged
from paper_checks.engine.sensitivity import NoticedChange
from paper_checks.engine.verdict import Decision
from paper_checks.ledger import PAPERS, Ledger
from paper_checks.pages import card
from paper_checks.pages.card import (
    WIDTH,
    JudgedForm,
    card_text,
    first_sentence,
    judged_forms,
    summary_line,
    summary_table,
)
from paper_checks.pages.colours import CARDS, FINDINGS, print_summary
from paper_checks.pages.mathml import MathError, formulas, rich, to_mathml
from paper_checks.pages.plain_mathematics import plain_text
from paper_checks.pages.report import (
    GRADE_MEANS,
    SCRIPTS,
    VERDICT_MEANS,
    exceptions_first,
    render,
    write_report,
    write_single_file,
)
from paper_checks.pages.report_cards import describe_constants
from paper_checks.pages.report_figures import ReportFigure
from paper_checks.pages.status_graph import components, derived_state, draw, rests_on
from paper_checks.replay import Replayed, Stored
from paper_checks.result import Result, Run
from workloads.terminal import print_text
from workloads.written import RECORD

HOSTILE = "<script>alert('x')</script><img src=http://evil.example/x onerror=y> & \"quoted\""
PAGES = Path(__file__).resolve().parents[3] / "paper_checks" / "pages"
SCRIPT = "".join((PAGES / name).read_text(encoding="utf-8") for name in SCRIPTS)
VOID = {"meta", "link", "img", "br", "hr", "wbr", "col", "input"}
PASSES = Evidence(True, "ten cases", printed="x <= 1", obtained="no violation", cases=10, slack=1.25, tight=0.5)
WORDS = {"x": "share of the step"}
FAILS = Evidence(False, "ten cases", printed="x <= 0.5", obtained="x = 1", witness={"x": 1.0})


def result(label, verdict="holds", uses=(), expect=None, says="$x^2 \\le K x$", defect="", **rest):
    correction = Form("It holds for $K = 1$. More.", {"K": 1}, ({"K": 0.9},)) if verdict == "corrected" else None
    control = Form("It holds for $K = 2$.", {"K": 2}) if verdict in ("refuted", "corrected") else None
    declare = claim(
        f"invented/{label}",
        where=rest.pop("where", "eq. 1"),
        says=says,
        measure=lambda context: None,
        uses=uses,
        mutants=[{"K": 0.9, "names": ("a", HOSTILE)}],
        correction=correction,
        control=control,
        expect=(expect or verdict, None if (expect or verdict) == "not checkable here" else "search"),
    )
    made = declare(lambda data, K=1, names=(): PASSES)
    judged = {
        "holds": Judged(PASSES, (FAILS,)),
        "corrected": Judged(FAILS, control=PASSES, correction=PASSES, correction_mutants=(FAILS,)),
        "refuted": Judged(FAILS, control=PASSES),
        "not checkable here": None,
    }[verdict]
    exception = verdict in ("refuted", "corrected")
    stored = (Stored(made.id, "witness", rest.pop("witness", {"x": 1.0})),) if exception else ()
    replayed = (Replayed("witness", True, True, 1.0, 0.5, "1 > 0.5 (exact)", words=WORDS),) if exception else ()
    grade = None if verdict == "not checkable here" else "search"
    reason = rest.pop("reason", "needs data" if verdict == "not checkable here" else "")
    decision = Decision(verdict, grade, reason, defect)
    changes = (NoticedChange("K", 1.0, 0.99),) if judged else ()
    return Result(made, decision, judged, stored, replayed, changes, 0.25, made.grade)


@pytest.fixture(scope="module")
def results():
    return (
        result("lemma"),
        result("step", "corrected", uses=("invented/lemma",)),
        result("theorem", uses=("invented/step", "invented/lemma")),
        result("number", "refuted", witness={"matrix": [[1.0, 2.0]] * 40}),
        result("data", "not checkable here"),
        result("changed", expect="refuted"),
    )


class Page(HTMLParser):
    """Elements of a page; fails on tags that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.attributes, self.texts = [], [], [], set(), [], []
        self.scripts = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def figure(**rest):
    return ReportFigure(
        "invented/fig-1",
        "Figure 1",
        r"Spikes $\theta$.",
        svg="<svg xmlns='http://www.w3.org/2000/svg'/>",
        scale="quick",
        datasets=("mnist",),
        seeds=(0,),
        seconds=1.5,
        command="rankproof figure invented/fig-1",
        **rest,
    )


def page_of(results, figures=(), manifest=None):
    return render(
        Run(tuple(results), 0, "quick", 2.0, papers=PAPERS), figures, manifest or {"commit": "abc", "seed": 0}
    )


def test_the_page_is_well_formed_and_loads_nothing(results):
    text = page_of(results, [figure(), ReportFigure.missing("f-2", "Figure 2", "Gone.", "no data")])
    page = Page(text)
    assert not page.tags & {"link", "iframe", "object", "embed", "base", "form"}
    assert page.scripts == [SCRIPT]
    assert text.count("<script") == 1
    assert not re.search(r"url\(|@import", text)
    for tag, name, value in page.attributes:
        assert not name.startswith("on")
        assert name != "src" or (tag == "img" and value.startswith("data:image/"))
        assert name != "href" or value.startswith("#")
    assert "Not drawn" in text


def test_the_browser_runs_the_script_of_the_page_and_no_other(results):
    """A browser that heeds the policy computes the digest of what is between the tags."""
    text = page_of(results)
    digest = base64.b64encode(sha256(SCRIPT.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in text
    assert f"<script>{SCRIPT}</script>" in text


def test_every_claim_has_one_card_and_every_link_resolves(results):
    page = Page(page_of(results, [figure()]))
    assert len(page.ids) == len(set(page.ids))
    assert {r.claim.id for r in results} | {"figure:invented/fig-1"} <= set(page.ids)
    assert {link[1:] for link in page.links} <= set(page.ids)


@pytest.fixture(scope="module")
def of_the_ledger():
    """Return the page of all claims, before any of them is checked."""
    undecided = Decision("not checkable here", None, "not run")
    return page_of([Result(claim, undecided, None, (), (), (), 0.0, None) for claim in Ledger.of().claims])


def test_links_of_the_ledger_lead_to_their_own_paper(of_the_ledger):
    """Themes of two papers may have one name."""
    page = Page(of_the_ledger)
    assert len(page.ids) == len(set(page.ids))
    inside = {link[1:] for link in page.links if link.startswith("#") and not link.startswith("#figure:")}
    assert inside <= set(page.ids)
    outside = {link for link in page.links if not link.startswith("#")}
    assert outside == {paper.link for paper in Ledger.of().papers}


def test_the_map_has_a_cell_for_every_statement(of_the_ledger):
    cells = re.findall(r'<a class="cell [^>]* href="#([^"]+)"', of_the_ledger)
    assert sorted(cells) == sorted(claim.id for claim in Ledger.of().claims)


def test_the_first_screen_says_what_matters_of_each_paper(of_the_ledger):
    header = of_the_ledger[: of_the_ledger.index('id="legend"')]
    assert all(word in header for word in ("python -m pip install .", "rankproof check", *VERDICTS, *GRADES))
    legend, papers = of_the_ledger.index('id="legend"'), of_the_ledger.index('id="paper:')
    assert legend < papers
    first = of_the_ledger[papers : of_the_ledger.index('id="findings"')]
    for paper in PAPERS:
        assert paper.main
        assert rich(paper.main) in first
        assert f'href="#paper:{paper.name}">{paper.called}<' in header
        stated = sum(claim.kind in card.STATED for claim in paper.claims())
        assert f"{stated} are not checkable here</span>" in header
        main = [one for one in paper.findings if one.changes == "changes a main result"]
        assert main
        assert all(rich(one.headline) in header for one in main[:3])
        assert f'id="paper:{paper.name}">{paper.called}<' in first
        assert paper.title in first
        assert paper.cited in first
        assert all(f'href="#{id}"' in first for page in paper.pages for one in page.headlines for id in one.claims)


def test_cards_show_forms_mutants_witness_replay_and_commands(results):
    text = page_of(results)
    said = (
        "Does not hold as meant; the corrected statement below passes the same check.",
        "Does not hold as meant; the weaker statement",
        "K = 0.9",
        "refuted, as it must be",
        "1 &gt; 0.5 (exact)",
        "rankproof replay invented/number",
        "rankproof check invented/data",
        "a relative change of -0.01 is noticed",
        "1.25",
        "50.0% of them within one per cent",
        "40 entries",
        "Needs data",
        "It fails as printed: proof, by a witness in exact numbers.",
        "The corrected statement holds: search, which found no violation.",
        "Check it yourself:",
        "share of the step",
    )
    for words in said:
        assert words in text


def test_hostile_text_comes_out_as_text(results):
    bad = result(
        "bad",
        "refuted",
        says=f"$x$ {HOSTILE} $\\text{{{HOSTILE}}}$",
        where=HOSTILE,
        reason=HOSTILE,
        witness={HOSTILE: HOSTILE},
    )
    drawn = ReportFigure(
        HOSTILE, HOSTILE, HOSTILE, svg=HOSTILE, scale=HOSTILE, datasets=(HOSTILE,), command=HOSTILE, found=HOSTILE
    )
    text = page_of([*results, bad], [drawn], {"started": HOSTILE, HOSTILE: HOSTILE, "packages": {HOSTILE: HOSTILE}})
    page = Page(text)
    assert page.scripts == [SCRIPT]
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert not [value for tag, name, value in page.attributes if name == "src" and not value.startswith("data:")]


def test_a_form_that_is_violated_has_no_slack(results):
    """The worst case of the search is not the one that its line tells."""
    assert [form.slack for form in judged_forms(results[0])] == [1.25]
    violated = replace(results[0], judged=Judged(replace(FAILS, slack=0.01), ()))
    assert [form.slack for form in judged_forms(violated)] == [None]


def test_a_stored_result_shows_its_correction_without_evidence(results):
    stored = replace(results[1], judged=None, decision=Decision("corrected", "search", "stored result, commit abc"))
    for text in (page_of([stored]), card_text(stored)):
        assert "tored result, commit abc" in text
        assert "It holds for" in text


def test_exceptions_come_first_and_what_is_not_on_record_before_them(results):
    order = [r.claim.label for r in exceptions_first(results)]
    assert order == ["changed", "number", "step", "data", "lemma", "theorem"]
    text = page_of(results)
    assert text.index("This run is not the one on record") < text.index("on record: refuted")
    assert "All 5 checks were run again" in page_of(results[:5])
    skipped = replace(results[4], decision=Decision("not checkable here", None, "needs torch", excused=True))
    assert "All 4 checks were run again" in page_of([*results[:4], skipped])


def test_the_whole_of_words_is_explained():
    assert tuple(VERDICT_MEANS) == VERDICTS
    assert tuple(GRADE_MEANS) == GRADES


def test_the_state_of_what_lies_below_is_transitive(results):
    above = result("corollary", uses=("invented/theorem", "invented/elsewhere"))
    below = rests_on([*results, above])
    verdicts = {r.claim.id: r.decision.verdict for r in results}
    assert below["invented/corollary"] == ("invented/step",)
    assert below["invented/step"] == ()
    assert derived_state(below["invented/corollary"], verdicts) == "below it: step ≈"
    text = page_of([*results, above])
    assert "below it: step ≈" in text
    assert "invented/elsewhere (not in this run)" in text


def test_graph_columns_follow_the_longest_path_and_boxes_do_not_overlap(results):
    uses = {r.claim.id: r.claim.uses for r in results}
    together, alone = components(uses)
    assert together == [["invented/lemma", "invented/step", "invented/theorem"]]
    assert alone == ["invented/number", "invented/data", "invented/changed"]
    by_id = {r.claim.id: r for r in results}
    svg = str(draw(together[0], by_id, dict.fromkeys(by_id, ""), lambda id: f"#{id}"))
    at = dict(zip(re.findall(r'href="#([^"]+)"', svg), re.findall(r'<rect x="([\d.]+)"', svg), strict=True))
    x = {id: float(value) for id, value in at.items()}
    assert x["invented/theorem"] < x["invented/step"] < x["invented/lemma"]
    fan = [result("base"), *(result(f"c{i}", uses=("invented/base",)) for i in range(9))]
    by_id = {r.claim.id: r for r in fan}
    svg = str(draw(list(by_id), by_id, dict.fromkeys(by_id, ""), lambda id: f"#{id}"))
    boxes = [tuple(map(float, box)) for box in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" .*?height="([\d.]+)"', svg)]
    leaves = sorted(y for x, y, _ in boxes if x < 100)
    assert len(leaves) == 9
    assert all(b - a >= boxes[0][2] for a, b in pairwise(leaves))


def test_boxes_name_the_paper_only_where_there_are_several():
    one, two = result("lemma"), result("theorem", uses=("invented/lemma",))
    other = replace(two, claim=replace(two.claim, id="other/theorem"))
    for above, labels in ((two, ["lemma", "theorem"]), (other, ["invented/lemma", "other/theorem"])):
        by_id = {r.claim.id: r for r in (one, above)}
        svg = str(draw(list(by_id), by_id, dict.fromkeys(by_id, ""), lambda id: f"#{id}"))
        assert sorted(re.findall(r'class="label"[^>]*>([^<]*)<', svg)) == labels


def test_a_circle_of_uses_is_drawn_all_the_same():
    circle = [result("a", uses=("invented/b",)), result("b", "corrected", uses=("invented/a",))]
    Page(page_of(circle))
    assert rests_on(circle)["invented/b"] == ()


def test_every_formula_of_the_ledger_converts():
    for one in Ledger.of().claims:
        for text in (one.says, one.where, *(form.says for form in (one.control, one.correction) if form)):
            assert len(text.split("$")) % 2, f"{one.id}: odd number of dollar signs"
            for latex in formulas(text):
                assert to_mathml(latex)
                assert to_mathml(latex, display=True)


@pytest.mark.parametrize("latex", [r"\frac{a", r"\nosuch x", r"\href{javascript:x}{y}", r"\left( x", "x_{"])
def test_what_cannot_be_converted_stays_latex(latex):
    with pytest.raises(MathError):
        to_mathml(latex)
    assert "<code>" in rich(f"see ${latex}$")
    Page(str(rich(f"see ${latex}$")))


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\begin{aligned} a &= b \\ &\le c + d \end{aligned}", "a = b; ≤ c + d"),
        (r"\begin{align*} x &< y \end{align*}", "x < y"),
        (r"\begin{gathered} x \\ y \end{gathered}", "x; y"),
        (r"\mathbf{Prob}[x > 0]", "Prob[x > 0]"),
        (r"\mathit{rank}(A)", "rank(A)"),
        (r"\mathbf{Wx}", "Wx"),
    ],
)
def test_aligned_lines_and_names_are_shown(latex, shown):
    assert plain_text(f"${latex}$") == shown
    assert "<code>" not in rich(f"${latex}$")


def test_formulas_keep_their_brackets_and_their_bars():
    assert '<span class="line">(<math>' in rich("on ($x$) all")
    assert rich("costs 5$") == "costs 5$"
    assert rich("in `a_b<c`, of $x$") == "in <code>a_b&lt;c</code>, of <math><mi>x</mi></math>"
    assert rich(r"costs \$5") == "costs $5"
    bars = str(*to_mathml("|x| = |y|"))
    assert bars.count('lspace="0" rspace="0"') == 4
    assert '<mo form="prefix">−</mo>' in str(*to_mathml("x = -y"))
    assert rich("${}^2$") == "<math><msup><mrow></mrow><mn>2</mn></msup></math>"  # HTML closes no element by itself
    long = to_mathml(r"\frac{a+b}{c+d} = \frac{e+f}{g+h} = \frac{i}{j}")
    assert len(long) == 3


@pytest.mark.parametrize(
    ("latex", "high"),
    [
        (r"(\frac{a}{b} + 1)^2", 2),
        (r"2[x(\frac{1}{y})]_i", 4),
        (r"[\frac{a}{b}, c)", 2),
        ("f(x)(a + b)^2", 0),
        (r"(x)\frac{a}{b}", 0),
        (r"\frac{a}{b})", 0),
    ],
)
def test_brackets_are_as_high_as_what_they_enclose(latex, high):
    formula = "".join(to_mathml(latex))
    assert formula.count('stretchy="true"') == high
    plain = "".join(re.findall(r">([^<]*)<", formula))
    assert plain == re.sub(r"\\frac\{(.)\}\{(.)\}|[\s^_]", r"\1\2", latex)


def test_a_line_breaks_after_a_bracket_with_an_exponent():
    first, second = to_mathml("(a + b + c + d + e)^2 = (a + b + c + d)_i")
    assert first.endswith("<mn>2</mn></msup></math>")
    assert second.startswith('<math><mo form="infix">=</mo>')


def test_a_short_product_stays_on_one_line_and_a_long_one_breaks_between_factors():
    assert len(to_mathml(r"a = b + c + d + e + \frac{L}{2}\vartheta^2")) == 6
    first, second = to_mathml(r"(a + b + c + d)\frac{e + f}{g + h}x_1 y_2 z_3")
    assert first.endswith(")</mo></math>")
    assert second.startswith("<math><mfrac>")


def test_written_whole_or_not_at_all(results, tmp_path, monkeypatch):
    run = Run(tuple(results), 0, "quick", 2.0)
    path = write_report(run, [], {}, tmp_path / "new" / "report")
    assert path == tmp_path / "new" / "report" / "index.html"
    names = {"index.html", "paper-invented.html", "claims.csv", "map-invented.svg", RECORD}
    assert {entry.name for entry in path.parent.iterdir()} == names
    alone = write_single_file(run, [], {}, tmp_path / "mail.html")
    assert alone.read_text(encoding="utf-8") == render(run, [], {})

    def fails(descriptor):
        raise OSError("disk full")

    before = {entry: entry.read_bytes() for entry in path.parent.iterdir() if entry.name != RECORD}
    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="disk full"):
        write_report(run, [figure()], {}, path.parent)
    with pytest.raises(OSError, match="disk full"):
        write_single_file(run, [figure()], {}, alone)
    assert {entry: entry.read_bytes() for entry in path.parent.iterdir() if entry.name != RECORD} == before
    assert alone.read_text(encoding="utf-8") == render(run, [], {})


def test_a_folder_that_cannot_be_written_is_an_error_and_stays_empty(results, tmp_path):
    run = Run(tuple(results), 0, "quick", 2.0)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        write_report(run, [], {}, tmp_path / "file" / "report")
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write anywhere")
    with pytest.raises(OSError, match="locked"):
        write_report(run, [], {}, folder)
    assert not list(folder.iterdir())


def test_the_terminal_card_is_plain_and_narrow(results):
    for one in results:
        text = card_text(one)
        assert max(map(len, text.splitlines())) <= WIDTH
        assert "$" not in text
        assert "x² ≤ Kx" in text
    assert "NOT AS RECORDED" in card_text(results[5])
    assert "rankproof replay invented/number" in card_text(results[3])
    assert any("x = 1.0  (share of the step)" in card_text(one) for one in results)
    assert "reason       needs data" in card_text(results[4])


def test_the_table_ends_in_counts(results):
    lines = summary_table(Run(tuple(results), 0, "quick", 2.0)).splitlines()
    assert len(lines) == len(results) + 2
    assert "<-- on record: refuted" in lines[6]
    assert lines[-1] == "6 claims: 3 hold, 1 is corrected, 1 is refuted, 1 is not checkable here; 1 is not as recorded"


def test_another_grade_and_a_file_of_no_claim_are_said(results):
    recorded = replace(results[0], expected_grade="proof")
    assert not recorded.as_expected
    assert "on record: holds (proof)" in card_text(recorded)
    lines = summary_table(Run((recorded,), 0, "quick", 2.0)).splitlines()
    assert "<-- on record: holds (proof)" in lines[1]
    assert lines[-1] == "1 claim: 1 holds; 1 is not as recorded"
    stray = Run((results[0],), 0, "quick", 2.0, ("invented/witnesses/old.json",))
    assert not stray.as_expected
    assert summary_table(stray).endswith("every verdict as recorded; stored for no claim: invented/witnesses/old.json")


def test_a_stored_result_that_is_ambiguous_says_so(results):
    stored = replace(results[0], judged=None, decision=Decision("ambiguous", "search", "stored"))
    assert "Holds under one reading and fails under another." in " ".join(card_text(stored).split())


def test_in_short_takes_the_first_sentence_of_a_correction(results):
    assert summary_line(results[1]) == "Correction: It holds for $K = 1$."
    assert summary_line(results[3]) == "Printed: x <= 0.5; obtained: x = 1"
    assert first_sentence("At $a. b$ it is. Not.") == "At $a. b$ it is."


def test_constants_are_told_in_the_words_of_their_check():
    """All that a judge's docstring tells of its constants, lines that go on included, and not the measurement."""

    @claim(
        "invented/eq-2",
        where="eq. 2",
        says="$x$",
        measure=lambda context: None,
        mutants=[{"K": 2.0}],
        expect=("holds", "search"),
    )
    def eq_2(data, K=1.0, sharp=0.0):
        """A bound.

        Args:
            data: the cases.
            K: the largest step, in units
                of the printed one.
            sharp: whether the exact limit is taken.
        """
        return PASSES

    words = {"K": "the largest step, in units of the printed one", "sharp": "whether the exact limit is taken"}
    assert describe_constants(eq_2) == words


def test_results_that_rest_on_each_other_are_written(results, tmp_path):
    """The maps are written without the claims below each one."""
    main = tuple(replace(one, claim=replace(one.claim, importance="result")) for one in results)
    write_report(Run(main, 0, "quick", 2.0), [], {}, tmp_path)
    assert 'class="graph"' in (tmp_path / "paper-invented.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("ok", "found"), [(True, "holds"), (False, "does not hold"), (None, "is undecided")])
def test_readings_are_shown_with_what_was_found(ok, found, monkeypatch):
    forms = [JudgedForm(name, "x", SimpleNamespace(ok=ok)) for name in ("reading: literal", "corrected")]
    monkeypatch.setattr(card, "judged_forms", lambda result: forms)
    assert card.other_forms(SimpleNamespace(judged=object())) == (
        (f"reading: literal ({found})", "x"),
        ("corrected", "x"),
    )


@pytest.mark.parametrize(("kind", "print", "seen"), [("number", "misprint", True), ("number", "as meant", False)])
def test_a_misprinted_number_is_not_a_bare_holds(kind, print, seen):
    because = "1.064 should be 1.046."
    one = result("table-1")
    one = replace(one, claim=replace(one.claim, kind=kind, print=print, because=because))
    text = page_of([one])
    words = f"holds as meant; misprint: {because}"
    badge = '<span class="badge v-corrected"><span aria-hidden="true">≠</span> holds as meant; misprint</span>'
    assert (badge in text) == seen
    assert f"{because}</p>" in text
    assert (f'<td class="short"><span aria-hidden="true">≠</span> H{words[1:]}</td>' in text) == seen


def test_claims_that_are_not_as_recorded_come_last(results):
    assert [one.as_expected for one in results].count(False) == 1
    (off,) = (one for one in results if not one.as_expected)
    lines = summary_table(Run((off, *(one for one in results if one is not off)), 0, "quick", 2.0)).splitlines()
    assert lines[-2].startswith(off.claim.id)
    assert "<-- on record" in lines[-2]


def test_a_terminal_shows_the_same_table_with_colours(results, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    run, stream = Run(tuple(results), 0, "quick", 2.0), io.StringIO()
    print_summary(run, stream)
    styled = stream.getvalue()
    assert "\x1b[32mholds\x1b[0m" in styled
    assert "\x1b[1;31m<-- on record: refuted" in styled
    shown = [line.split() for line in re.sub(r"\x1b\[[\d;]*m", "", styled).splitlines()]
    assert shown == [line.split() for line in summary_table(run).splitlines()]


def test_colours_mark_the_verdict_and_not_the_prose(results, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def shown(text, styles):
        stream = io.StringIO()
        print_text(text, styles, stream)
        return stream.getvalue()

    card = shown(f"{card_text(results[0])}\nbecause      it holds", CARDS)
    assert f"\x1b[1m{results[0].claim.id}\x1b[0m\n==" in card
    assert card.count("\x1b[1;32mholds\x1b[0m") == 1
    findings = shown(
        "Paper\n=====\nthm-2 is corrected here (thm-2: corrected; thm-3: holds, with a misprint)", FINDINGS
    )
    assert findings.startswith("\x1b[1mPaper\x1b[0m\n")
    assert (
        "is corrected here (thm-2: \x1b[33mcorrected\x1b[0m; thm-3: \x1b[32mholds\x1b[0m, with a misprint)" in findings
    )
