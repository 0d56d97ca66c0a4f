"""Names of claims and figures in the report, links between them, and words for results that fail."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from test_report import FAILS, PASSES, figure, page_of, result

from paper_checks.claim import LITERAL, Reading
from paper_checks.judging import Judged, JudgedReading
from paper_checks.ledger import PAPERS
from paper_checks.report_cards import fails, figure_told, forms_told, found_in_words
from paper_checks.report_links import OTHER_FIGURES, claims_of, figure_groups, figures_of, headings, pointers
from paper_checks.report_papers import Theme
from paper_checks.verdict import Decision


def at(label, where, verdict="holds", **rest):
    made = result(label, verdict)
    return replace(made, claim=replace(made.claim, where=where, **rest))


def test_claims_that_are_called_the_same_are_told_apart_by_their_labels():
    one, two, three = at("a", "Theorem 1"), at("b", "Section 2, Theorem 1"), at("c", "Section 2, the text")
    known = {found.claim.id: found for found in (one, two, three)}
    assert [name for _, name in pointers(list(known), known)] == ["Theorem 1 (a)", "Theorem 1 (b)", "Section 2 (c)"]
    assert pointers(["invented/a"], known) == [("invented/a", "Theorem 1")]


def test_headings_of_cards_say_more_than_a_section_and_differ():
    found = headings([at("a", "Table 1, rows"), at("b", "Table 1"), at("c", "Section 2, the text"), at("d", "eq. (1)")])
    assert list(found.values()) == [
        ("Table 1 (a)", "Table 1, rows"),
        ("Table 1 (b)", ""),
        ("Section 2, the text", ""),
        ("eq. (1)", ""),
    ]


def test_figures_stand_under_their_papers_in_the_order_of_the_papers():
    papers = [SimpleNamespace(name="b", called="Bee"), SimpleNamespace(name="a", called="")]
    figures = [replace(figure(), id=id) for id in ("rmt/x", "a/1", "b/2", "a/3")]
    groups = figure_groups(figures, papers)
    assert [(name, [one.id for one in some]) for name, some in groups] == [
        ("Bee", ["b/2"]),
        ("a", ["a/1", "a/3"]),
        (OTHER_FIGURES, ["rmt/x"]),
    ]


def test_claims_and_their_figures_point_to_each_other():
    figures = [figure(), replace(figure(), id="rmt/x")]
    results = [at("fig-1", "Figure 1"), at("seen", "eq. 1", seen_in=("rmt/x", "not/drawn")), at("none", "eq. 2")]
    seen = figures_of(results, figures, ())
    assert {id: [one.id for one in some] for id, some in seen.items()} == {
        "invented/fig-1": ["invented/fig-1"],
        "invented/seen": ["rmt/x"],
        "invented/none": [],
    }
    assert claims_of(seen) == {"invented/fig-1": ["invented/fig-1"], "rmt/x": ["invented/seen"]}
    text = page_of(results, figures)
    assert 'Drawn here: <a href="#figure:rmt/x">' in text
    assert 'Claims seen here: <a href="#invented/seen">' in text


def test_results_that_fail_stand_out_and_details_do_not():
    known = [
        at(f"{verdict}-{weight}", "eq. 1", verdict, importance=weight)
        for verdict in ("holds", "corrected", "refuted")
        for weight in ("result", "step", "detail")
    ]
    assert [one.claim.label for one in known if fails(one)] == ["corrected-result", "refuted-result"]
    text = page_of(known)
    assert text.count(" fails v-") == 2
    assert "of the 3 results among them <strong>2</strong> do not hold as printed" in text


def test_a_reading_says_whether_it_holds_before_what_it_is():
    other = Reading("per round", says="$x$", constants={"K": 2}, why="so counted")
    one = at("a", "eq. 1", readings=(LITERAL, other))
    judged = Judged(FAILS, others=(JudgedReading(other, False, PASSES),))
    one = replace(one, judged=judged, decision=Decision("depends on the reading", "search", ""))
    assert forms_told(one) == [("Does not hold, read as “literal”", ""), ("Holds, read as “per round”", "$x$")]
    assert found_in_words(one) == "Holds in 1 of 2 readings of the print, does not hold in 1; they are below."
    text = page_of([one])
    assert "Does not hold, read as “literal”, as it stands above." in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Stated: a. Found: b; c.", ("Stated: a. Found: b; c.", [])),
        (f"{'a' * 300}; {'b' * 300}; c", ("a" * 300, ["b" * 300, "c"])),
        (f"{'a' * 500} $x; y$; c", (f"{'a' * 500} $x; y$", ["c"])),
    ],
)
def test_long_findings_of_figures_are_folded_between_formulas(text, told):
    assert figure_told(text) == told


def test_a_figure_that_lacks_its_runs_takes_one_line_with_the_command():
    lacking = type(figure()).missing("a/1", "Figure 1", "What would be drawn.", "its runs are not complete", "make it")
    text = page_of([result("lemma")], [lacking])
    assert "its runs are not complete; <code>make it</code> makes them." in text
    assert "What would be drawn." not in text
    assert "root seed" not in text


@pytest.mark.parametrize(
    ("title", "short"),
    [
        ("Section 3, eq. (1): limits of eigenvalues (Lemma 1), and more", "limits of eigenvalues"),
        ("Parameter counts, recomputed: Appendix C", "Parameter counts"),
        ("Algorithms 3 and 4: FedAvg, FedLin and others, executed", "FedAvg, FedLin and others"),
        ("Section 4, one test: its setting, in all norms", "one test: its setting"),
        ("invented", "invented"),
    ],
)
def test_sections_have_short_names(title, short):
    assert Theme("", title, ()).short == short


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_no_two_sections_of_a_paper_have_one_short_name(paper):
    names = [Theme("", paper.told(theme)[0].rstrip("."), ()).short for theme in paper.themes]
    assert len(set(names)) == len(names)
