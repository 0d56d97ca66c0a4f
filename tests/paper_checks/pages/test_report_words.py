"""Names of claims and figures in the report, links between them, and words for results that fail."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from test_report import FAILS, PASSES, figure, page_of, result

from paper_checks.claim import LITERAL, Dropped, Evidence, Form, Reading
from paper_checks.engine.judging import Judged, JudgedReading
from paper_checks.engine.verdict import Decision
from paper_checks.ledger import PAPERS
from paper_checks.pages.card import Mutant, cases_text, describe_hypotheses
from paper_checks.pages.report import head_and_rest, values_table
from paper_checks.pages.report_cards import certainty, describe_finding, describe_forms, fails, split_finding
from paper_checks.pages.report_links import OTHER_FIGURES, claims_of, figure_groups, figures_of, headings, pointers
from paper_checks.pages.report_papers import PaperSection, Theme
from paper_checks.pages.status_graph import condense
from paper_checks.replay import Replayed


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
    assert "Of the 3 results among them <strong>2</strong> do not hold as meant" in text


def test_a_reading_says_whether_it_holds_before_what_it_is():
    other = Reading("per round", says="$x$", constants={"K": 2}, why="so counted")
    one = at("a", "eq. 1", readings=(LITERAL, other))
    judged = Judged(FAILS, others=(JudgedReading(other, False, PASSES),))
    one = replace(one, judged=judged, decision=Decision("ambiguous", "search", ""))
    assert describe_forms(one) == [("Does not hold, read as “literal”", ""), ("Holds, read as “per round”", "$x$")]
    assert describe_finding(one) == "Holds under one of the two readings below and fails under the other."
    text = page_of([one])
    assert "Does not hold, read as “literal”, as printed above." in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Stated: a. Found: b; c.", ("Stated: a. Found: b; c.", [])),
        (f"{'a' * 300}; {'b' * 300}; c", ("a" * 300, ["b" * 300, "c"])),
        (f"{'a' * 500} $x; y$; c", (f"{'a' * 500} $x; y$", ["c"])),
    ],
)
def test_long_findings_of_figures_are_folded_between_formulas(text, expected):
    assert split_finding(text) == expected


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
    names = [Theme("", paper.read_theme(theme)[0].rstrip("."), ()).short for theme in paper.themes]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ({"cases": 1}, "1 case"),
        ({"cases": 0}, "0 cases"),
        ({"cases": 12, "tight": 0.1234}, "12 cases, 12.3% of them within one per cent of equality"),
        ({"cases": 2, "tight": 0.0}, "2 cases, 0.0% of them within one per cent of equality"),
        ({"cases": 2, "level": 1e-6}, "2 cases, false-alarm probability at most 1e-06"),
    ],
)
def test_cases_are_told_with_their_share_near_equality(rest, expected):
    assert cases_text(Evidence(True, "", **rest)) == expected


@pytest.mark.parametrize(("ok", "caught"), [(True, False), (None, False), (False, True)])
def test_a_mutant_is_caught_where_it_is_refuted(ok, caught):
    assert Mutant("K = 2", Evidence(ok, "")).caught == caught


def test_each_dropped_hypothesis_is_told():
    dropped = (Dropped("a"), Dropped("b"), Dropped("c"), Dropped("d", superfluous="$x^2 \\ge 0$"))
    one = at("a", "eq. 1", hypotheses=dropped)
    one = replace(one, judged=replace(one.judged, dropped=(False, None, True, True)))
    assert describe_hypotheses(one) == [
        "a: needed: a case without it violates the statement",
        "b: not known to be needed: no case was found",
        "c: not known to be needed: no case was found",
        "d: not needed: $x^2 \\ge 0$",
    ]


@pytest.mark.parametrize(("exact", "expected"), [(True, "proof, by a witness"), (False, "statistical, by a witness")])
def test_a_failure_is_as_sure_as_its_witness(exact, expected):
    one = at("a", "eq. 1", "corrected")
    certificate = Replayed("certificate", True, True, None, None, "proved")
    answers = (replace(one.replayed[0], exact=exact), certificate)
    (fails_as, how), (fixed, by) = certainty(replace(one, replayed=answers))
    assert (fails_as, fixed) == ("It fails as printed", "The corrected statement holds")
    assert how.startswith(expected)
    assert by == "proof, step by step"


def test_the_certificate_of_a_reading_that_holds_is_not_one_of_the_correction():
    other = Reading("per round", says="$x$", constants={"K": 2}, why="so counted")
    one = at("a", "eq. 1", readings=(LITERAL, other), correction=Form("$K = 3$", {"K": 3}))
    judged = Judged(PASSES, others=(JudgedReading(other, False, FAILS),), correction=PASSES)
    answers = (Replayed("certificate", True, True, None, None, "proved"),)
    levels = dict(certainty(replace(one, judged=judged, replayed=answers)))
    assert levels["It holds read as “literal”"] == "proof, step by step"
    assert levels["The corrected statement holds"].startswith("search")


def test_readings_are_counted_by_their_outcomes():
    others = [Reading(f"number {place}", says="$x$", constants={"K": place}, why="so") for place in range(2, 7)]
    one = at("a", "eq. 1", readings=(LITERAL, *others))
    outcomes = (FAILS, PASSES, FAILS, PASSES, Evidence(None, ""))
    judged = Judged(
        PASSES, others=tuple(JudgedReading(*pair) for pair in zip(others, [False] * 5, outcomes, strict=True))
    )
    one = replace(one, judged=judged, decision=Decision("ambiguous", "search"))
    expected = "Of the 6 readings below, it holds under 3, fails under 2 and is undecided under 1."
    assert describe_finding(one) == expected


def test_statements_and_numbers_are_counted_apart_from_what_can_not_be_true():
    known = [
        at("a", "eq. 1", "holds", importance="result"),
        at("b", "eq. 1", "refuted", importance="result"),
        at("c", "eq. 1", "corrected", importance="result", kind="number"),
        at("d", "eq. 1", "corrected", importance="step"),
        at("e", "eq. 1", "refuted", importance="result", kind="setting"),
        at("f", "eq. 1", "holds", importance="detail", kind="algorithm"),
        at("g", "eq. 1", "not checkable here", importance="result"),
    ]
    depends = replace(at("h", "eq. 1", importance="result"), decision=Decision("ambiguous", "search"))
    theme = Theme("", "Theme", (*known, depends))
    paper = PaperSection("p", "P", "", "", "", "", (theme,), (), (), ())
    counts = {"holds": 1, "ambiguous": 1, "corrected": 2, "refuted": 1, "not checkable here": 1}
    assert dict(paper.stated) == counts
    assert paper.failing == (5, 2, 1)
    assert paper.kinds == "6 statements and numbers"
    assert paper.others == "2 settings and algorithms: 1 holds, 1 is refuted"
    assert theme.tally == "8: 2 are corrected, 2 are refuted, 1 is ambiguous, 1 is not checkable here"
    assert Theme("", "Theme", tuple(known[:1])).tally == "1"


@pytest.mark.parametrize(("length", "whole"), [(90, True), (91, False)])
def test_long_values_are_folded(length, whole):
    ((name, shown, rest),) = values_table({"x": "1" * length})
    assert (name, rest) == ("x", "" if whole else f'"{"1" * length}"')
    assert shown == ("1" * length if whole else f"{length} characters")


@pytest.mark.parametrize(("length", "whole"), [(220, True), (221, False)])
def test_long_lists_are_folded_after_their_first_entry(length, whole):
    text = f"{'a' * 100}; {'b' * (length - 105)}; c"
    assert len(text) == length
    assert head_and_rest(text) == ((text, []) if whole else ("a" * 100, ["b" * (length - 105), "c"]))
    assert head_and_rest("a" * 300) == ("a" * 300, [])


def test_a_result_rests_on_others_through_any_number_of_steps():
    uses = {"a": ("x", "b"), "x": ("y",), "y": ("z", "b"), "z": ("c", "x"), "b": ("a",), "c": ()}
    assert condense(uses, ["a", "b", "c"]) == {"a": ("b", "c"), "b": ("a",), "c": ()}
