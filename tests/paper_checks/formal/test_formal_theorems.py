"""Theorems in Coq against the ledger: constants, digests, grades; deliberate mistakes. None of it needs Coq."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from paper_checks.claim import LITERAL, Best, Evidence, Form, Reading, claim
from paper_checks.engine.judging import Judged, JudgedReading
from paper_checks.engine.verdict import decide
from paper_checks.formal import theorems
from paper_checks.formal.bridge import constants_meant, flaws
from paper_checks.formal.compile import AXIOMS, Compiled, differences
from paper_checks.formal.page import NAME, kernel_page
from paper_checks.formal.real_numbers import value_of
from paper_checks.formal.theorems import (
    RECORD,
    THEORY,
    FormalError,
    FormalTheorem,
    Sources,
    formal_theorems,
    sources_of,
)
from paper_checks.ledger import PAPERS
from paper_checks.pages.card import card_text
from paper_checks.replay import Replayed
from paper_checks.result import Result

ROOT = Path(__file__).resolve().parents[3]
OF_PAPER = {paper.name: formal_theorems(paper) for paper in PAPERS}
CLAIMS = {claim.id: claim for paper in PAPERS for claim in paper.claims()}
THEOREMS = [one for found in OF_PAPER.values() for some in found.values() for one in some]
FEDLRT = next(paper for paper in PAPERS if paper.name == "fedlrt")
UNNAMED = {
    "FeDLRT.thm_2.thm_2_bounded": "its constants are those of FeDLRT.thm_2.thm_2",
    "FeDLRT.thm_2.thm_2_least": "it is about every smaller constant",
    "FeDLRT.thm_4_least.thm_4_least": "it is about every smaller constant",
    "FeDLRT.thm_4_as_printed.thm_4_truncation": "the cost of truncation has no constant",
    "RoLoRA.sec_3_2.eq_1_for_all": "two sides that differ have no constant",
}
"""Theorems that prove or refute a statement and name no constant of the check, with the reason."""


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda one: one.name)
def test_each_theorem_is_of_the_claim_with_its_constants(theorem):
    of = CLAIMS[theorem.claim]
    assert theorem.id in of.file_ids()
    assert list(flaws(of, [theorem])) == []
    named = set(theorem.constants) & set(constants_meant(of, theorem))
    if theorem.role in ("proves", "refutes"):
        assert bool(named) != (theorem.name in UNNAMED)


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda one: one.name)
def test_each_theorem_is_recorded_as_it_is_and_assumes_what_the_reals_assume(theorem):
    assert theorem.checked, f"{theorem.name}: run `make formal`, then python -m paper_checks.formal --record"
    assert theorem.axioms
    assert set(theorem.axioms) <= set(AXIOMS)


def test_no_record_is_of_a_theorem_that_is_gone():
    recorded = {name for paper in PAPERS for name in sources_of(paper).record()["theorems"]}
    assert recorded == {one.name for one in THEOREMS}


def test_at_least_twelve_claims_of_all_papers_have_theorems():
    assert len({one.claim for one in THEOREMS}) >= 12
    assert all(OF_PAPER.values())


def test_the_grade_kernel_is_on_record_where_a_theorem_proves_the_whole_and_nowhere_else():
    proved = {one.claim for one in THEOREMS if one.role == "proves"}
    assert {id for id, of in CLAIMS.items() if of.grade == "kernel"} == proved


def test_theorems_that_prove_a_claim_together_name_each_other():
    for id in {one.claim for one in THEOREMS}:
        proofs = [one for one in THEOREMS if one.claim == id and one.role == "proves"]
        for one in proofs:
            others = [other.name.rpartition(".")[2] for other in proofs if other is not one]
            assert one.covers == (f"together with {' and '.join(others)}" if others else "")


def test_statements_hide_no_gap():
    for file in [*THEORY.glob("*.v"), *(file for paper in PAPERS for file in sources_of(paper).files)]:
        words = set(file.read_text(encoding="utf-8").replace(".", " ").split())
        assert not words & {"Admitted", "admit", "Axiom", "Parameter", "Conjecture"}, file


def test_the_page_is_the_one_that_the_theorems_give():
    assert (ROOT / "docs" / NAME).read_text(encoding="utf-8") == kernel_page(), "run `make docs`"


# Deliberate mistakes.


def in_copy(tmp_path, monkeypatch, name, old, new):
    """Return FeDLRT's theorems of one claim from copies of all files, in one of which a text is another."""
    theory, own = tmp_path / "theory", tmp_path / "formal"
    shutil.copytree(THEORY, theory)
    shutil.copytree(sources_of(FEDLRT).folder, own)
    monkeypatch.setattr(theorems, "THEORY", theory)
    (file,) = tmp_path.rglob(name)
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")
    found = Sources(own, "FeDLRT", "formal").theorems()
    return {one.name: one for one in found}


def test_another_constant_in_the_ledger_is_noticed():
    of = CLAIMS["fedlrt/thm-8"]

    def judge(rounds, constant=11.0, leading=1.0, limit=12, corrected=True):
        return Evidence(True, "scope")

    (told,) = flaws(replace(of, judge=judge), OF_PAPER["fedlrt"][of.id])
    assert told == "FeDLRT.thm_8.thm_8 is of another statement, with constant = 12, and the check has 11"


def test_another_best_constant_in_the_ledger_is_noticed():
    of = CLAIMS["fedlrt/thm-1"]
    (told,) = flaws(replace(of, best={"constant": Best(1.8, "guessed")}), OF_PAPER["fedlrt"][of.id])
    assert "thm_1_with_e_minus_1" in told
    assert "1.8" in told


@pytest.mark.parametrize("constant", ["12", "13"])
def test_another_constant_in_the_theorem_is_noticed(tmp_path, monkeypatch, constant):
    changed = in_copy(tmp_path, monkeypatch, "thm_8.v", "(constant := 12)", f"(constant :=  {constant})")
    told = list(flaws(CLAIMS["fedlrt/thm-8"], [changed["FeDLRT.thm_8.thm_8"]]))
    assert bool(told) == (constant == "13")
    assert not changed["FeDLRT.thm_8.thm_8"].checked


@pytest.mark.parametrize(
    ("file", "old", "new", "stale", "current"),
    [
        ("thm_8.v", "1 / (limit * L r * s_ r)) ->", "1 / (2 * limit * L r * s_ r)) ->", "thm_8.thm_8", "thm_7.thm_7"),
        ("rounds.v", "rate_nonneg : 0 <= lambda;", "rate_nonneg : 1 <= lambda;", "thm_7.thm_7", ""),
        ("smooth.v", "‖(g x ⊖ g y)‖ <= L * ‖(x ⊖ y)‖.", "‖(g x ⊖ g y)‖ <= 0 * ‖(x ⊖ y)‖.", "thm_1.thm_1", ""),
        ("thm_4.v", "0 <= delta <= most ->", "0 <= delta < most ->", "thm_4.thm_4", "thm_2.thm_2"),
    ],
    ids=["a smaller rate", "in the setting", "in the shared theory", "a smaller delta"],
)
def test_a_weakened_hypothesis_makes_the_theorems_stale_that_rest_on_it(
    tmp_path, monkeypatch, file, old, new, stale, current
):
    changed = in_copy(tmp_path, monkeypatch, file, old, new)
    assert not changed[f"FeDLRT.{stale}"].checked
    assert changed[f"FeDLRT.{stale}"].status.startswith("stale")
    assert current == "" or changed[f"FeDLRT.{current}"].checked


def test_a_constant_that_the_check_does_not_have_is_noticed(tmp_path, monkeypatch):
    changed = in_copy(tmp_path, monkeypatch, "thm_8.v", "(limit := 12)", "(longest := 12)")
    (told,) = flaws(CLAIMS["fedlrt/thm-8"], [changed["FeDLRT.thm_8.thm_8"]])
    assert told == "FeDLRT.thm_8.thm_8 sets longest = 12, and the check of fedlrt/thm-8 has no such constant"


def test_a_longer_step_than_that_of_the_check_is_noticed(tmp_path, monkeypatch):
    changed = in_copy(tmp_path, monkeypatch, "thm_8.v", "(limit := 12)", "( limit:=13 )")
    (told,) = flaws(CLAIMS["fedlrt/thm-8"], [changed["FeDLRT.thm_8.thm_8"]])
    assert told == "FeDLRT.thm_8.thm_8 is of another statement, with limit = 13, and the check has 12"


def test_the_best_constant_is_that_of_the_check_with_its_other_constants(tmp_path, monkeypatch):
    of = CLAIMS["fedlrt/thm-1"]
    changed = in_copy(
        tmp_path, monkeypatch, "thm_1.v", "(constant := exp 1 - 1) (limit := 1)", "(constant := exp 1 - 1) (limit := 2)"
    )
    (told,) = flaws(of, [changed["FeDLRT.thm_1.thm_1_with_e_minus_1"]])
    assert told == "FeDLRT.thm_1.thm_1_with_e_minus_1 is of another statement, with limit = 2, and the check has 1"


def test_another_name_of_a_theorem_is_noticed(tmp_path, monkeypatch):
    changed = in_copy(tmp_path, monkeypatch, "thm_8.v", "Theorem thm_8 :", "Theorem theorem_8 :")
    compiled = Compiled(FEDLRT, tuple(changed.values()), dict.fromkeys(changed, AXIOMS), 0, 0.0)
    told = list(differences(compiled, FEDLRT.claims()))
    assert "FeDLRT.thm_8.theorem_8 is not the recorded theorem: read the new statement, then record it" in told
    assert "FeDLRT.thm_8.thm_8 is on record, and there is no such theorem" in told


@pytest.mark.parametrize("file", ["thm_8.v", "sums.v"], ids=["of the paper", "of the shared theory"])
def test_an_axiom_is_noticed_without_coq(tmp_path, monkeypatch, file):
    with pytest.raises(FormalError, match=rf"{file}, line \d: Axiom assumes what nobody proved"):
        in_copy(
            tmp_path, monkeypatch, file, "Open Scope R_scope.", "Axiom a : forall x y : R, x <= y. Open Scope R_scope."
        )


# Grades.

PASSES, FAILS = Evidence(True, "scope", margin=1.0), Evidence(False, "scope", margin=-1.0)
PROVES = FormalTheorem("invented/any", "proves", "X.x.x", "x.v", 3, "Theorem x : x_states (K := 1).", {"K": "1"})
PROVES = replace(PROVES, checked=True)
REFUTES = replace(PROVES, role="refutes", name="X.x.y")
WITNESS = Replayed("witness", True, True, 1.0, 0.5, "exact")
SECOND = Reading("second", "$K = 2$", {"K": 2.0}, "eq. 2", ({"K": 0.5},))


def declared(**rest):
    fields = {"where": "", "says": "", "measure": lambda context: None, "mutants": [{"K": 0.5}]}
    return claim("invented/any", **(fields | {"expect": ("holds", "kernel")} | rest))(lambda data, K=1.0: PASSES)


@pytest.mark.parametrize(
    ("formal", "grade"),
    [
        ((), "search"),
        ((PROVES,), "kernel"),
        ((replace(PROVES, checked=False),), "search"),
        ((PROVES, replace(PROVES, name="X.x.z", checked=False)), "search"),
        ((replace(PROVES, role="part of"),), "search"),
        ((replace(PROVES, role="best"),), "search"),
        ((REFUTES,), "search"),
    ],
    ids=["none", "proved", "stale", "one of two is stale", "a part", "the best constant", "refuted only"],
)
def test_a_statement_has_the_grade_kernel_where_the_kernel_checked_all_of_it(formal, grade):
    found = decide(declared(), Judged(PASSES, (FAILS,)), (), (), formal)
    assert (found.verdict, found.grade) == ("holds", grade)


@pytest.mark.parametrize(
    ("formal", "grade"),
    [
        ((PROVES, REFUTES), "kernel"),
        ((PROVES,), "proof"),
        ((REFUTES,), "search"),
        ((PROVES, replace(REFUTES, checked=False)), "proof"),
    ],
)
def test_a_corrected_statement_needs_its_refutation_checked_too(formal, grade):
    fixed = declared(correction=Form("$K = 1$", {"K": 1.0}, ({"K": 0.5},)), expect=("corrected", "kernel"))
    judged = Judged(FAILS, correction=PASSES, correction_mutants=(FAILS,), strength="weaker", control=None)
    found = decide(fixed, judged, (WITNESS,), (), formal)
    assert (found.verdict, found.grade) == ("corrected", grade)


def test_a_theorem_is_of_one_reading():
    both = declared(readings=(LITERAL, SECOND))
    judged = Judged(PASSES, (FAILS,), (JudgedReading(SECOND, False, PASSES, (({"K": 0.5}, FAILS),)),))
    second = replace(PROVES, id="invented/any@second", name="X.x.s", constants={"K": "2"})
    assert decide(both, judged, (), (), (PROVES,)).grade == "search"
    assert decide(both, judged, (), (), (PROVES, second)).grade == "kernel"
    wrong = decide(both, judged, (), (), (PROVES, replace(second, constants={"K": "3"})))
    assert wrong.defect == "X.x.s is of another statement, with K = 3, and the check has 2"
    lost = decide(both, judged, (), (), (replace(PROVES, id="invented/any@third"),))
    assert "a reading 'third' that invented/any does not have" in lost.defect


def test_the_card_and_the_json_show_the_formal_statement():
    of = declared()
    judged = Judged(PASSES, (FAILS,))
    result = Result(of, decide(of, judged, (), (), (PROVES,)), judged, (), (), (), 0.0, "kernel", formal=(PROVES,))
    text = card_text(result)
    assert "verdict      holds (kernel)" in text
    assert "kernel       X.x.x proves the established statement, with K = 1: checked" in text
    assert "  | Theorem x : x_states (K := 1)." in text
    (told,) = result.as_json()["formal"]
    assert (told["theorem"], told["role"], told["checked"], told["source"]) == ("X.x.x", "proves", True, "x.v:3")
    stale = replace(PROVES, checked=False)
    result = replace(result, formal=(stale,), decision=decide(of, judged, (), (), (stale,)))
    assert "on record: holds (kernel)" in card_text(result)
    assert "stale" in card_text(result)
    assert not result.as_expected


# Files.

STATES = (
    "Definition x_states {K : R} : Prop := forall x, x <= K * x.\n\n(* proves: a/b *)\nTheorem x : x_states (K := 2).\n"
)


def written(tmp_path, **files):
    for name, text in files.items():
        (tmp_path / f"{name}.v").write_text(text, encoding="utf-8")
    return Sources(tmp_path, "X", "x/formal")


def test_a_theorem_is_read_with_its_definitions(tmp_path):
    (one,) = written(tmp_path, x=f"Definition y := 1.\n{STATES}Proof.\nQed.\n").theorems()
    assert (one.id, one.role, one.name, one.file, one.line) == ("a/b", "proves", "X.x.x", "x/formal/x.v", 5)
    assert one.constants == {"K": "2"}
    assert one.statement.startswith("Definition x_states")
    assert "Definition y" not in one.statement
    assert not one.checked


def test_a_part_says_what_it_covers_and_of_which_reading(tmp_path):
    text = "(* part of: a/b@second: one client,\n   one step *)\nTheorem x : True.\nProof.\nQed.\n"
    (one,) = written(tmp_path, x=text).theorems()
    assert (one.claim, one.reading, one.role, one.covers) == ("a/b", "second", "part of", "one client, one step")


def test_a_record_of_another_claim_or_role_does_not_count(tmp_path):
    sources = written(tmp_path, x=f"{STATES}Proof.\nQed.\n")
    (one,) = sources.theorems()
    entry = {"id": "a/b", "role": "proves", "digest": one.digest, "axioms": []}
    for changes, checked in (({}, True), ({"id": "a/c"}, False), ({"role": "part of"}, False), ({"digest": ""}, False)):
        (tmp_path / RECORD).write_text(json.dumps({"theorems": {"X.x.x": entry | changes}}))
        assert sources.theorems()[0].checked is checked


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"x": "(* proves: a/b *)\nLemma x : True.\nProof.\nQed.\n"}, "is the line before `Theorem`"),
        ({"x": f"From X Require Import y.\n{STATES}Proof.\n"}, "imports X.y, and there is no"),
        ({"x": "From X Require Import y.\n", "y": f"From X Require Import x.\n{STATES}Proof.\n"}, "imports itself"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path, files, told):
    with pytest.raises(FormalError, match=told):
        written(tmp_path, **files).theorems()


NEEDS_A = (
    "Definition lem_1_states {K : R} : Prop := bound K.\n\n"
    "(* proves: a/b *)\nTheorem x : lem_1_states (K := 2).\nProof.\n"
)


@pytest.mark.parametrize(
    "imports",
    [
        "From X Require Import a.",
        "From X Require Export a.",
        "From X Require a.",
        "Require Import X.a.",
        "Require X.a.",
        "Require Import a.",
        "Require Export Coq.Reals.Reals a.",
        "From X Require Import a (* x *).",
        "From X Require Import (* all of *) a.",
        "From\n  X Require\n  Import a.",
        "From Coq Require Import Reals. From X Require Import a.",
        "From X Require Import a. Open Scope R_scope.",
        "#[global] From X Require Import a.",
        "From X Require Import(notations) a.",
        "From X Require Import a(bound).",
        "Section S. From X Require Import a. End S.",
        "From X Require Import c.",
    ],
)
def test_a_change_of_an_imported_file_makes_a_theorem_stale_however_it_is_imported(tmp_path, imports):
    c = "Require Import (* by *) X.a.\n"
    sources = written(
        tmp_path, a="Definition bound K := K.\n", b=f"{imports}\n{NEEDS_A}", c=c, d="Definition d := 1.\n"
    )
    (one,) = sources.theorems()
    (tmp_path / RECORD).write_text(
        json.dumps({"theorems": {"X.b.x": {"id": "a/b", "role": "proves", "digest": one.digest, "axioms": []}}})
    )
    assert "a.v" in one.imports
    written(tmp_path, d="Definition d := 2.\n")
    assert sources.theorems()[0].checked
    written(tmp_path, a="Definition bound K := 0 * K.\n")
    assert not sources.theorems()[0].checked
    assert [path.stem for path in sources.in_order()][:2] == ["a", "c" if "c." in imports else "b"]


def test_what_only_looks_like_an_import_is_none(tmp_path):
    text = f'(* From X Require Import gone. *)\nDefinition s := "Require Import X.gone.".\n{STATES}Proof.\n'
    (one,) = written(tmp_path, x=text, a="").theorems()
    assert one.imports == ()


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("Axiom a : False.", "Axiom"),
        ("Axioms a b : False.", "Axioms"),
        ("Parameter a : False.", "Parameter"),
        ("Local Parameters (a : False).", "Parameters"),
        ("#[local] Conjecture a : False.", "Conjecture"),
        ("Module Type T. Parameter a : False. End T.", "Parameter"),
        ("Lemma a : False. Proof. Admitted.", "Admitted"),
        ("Lemma a : False. Proof. { admit. } Qed.", "admit"),
        ("Lemma a : False. Proof. now (intros; admit). Abort.", "admit"),
        ("Lemma a : False. Proof. give_up. Abort.", "give_up"),
        ("Admit Obligations.", "Admit Obligations"),
        ("Hypothesis a : False.", "Hypothesis"),
        ("Hypotheses a : False.", "Hypotheses"),
        ("Variable a : False.", "Variable"),
        ("Local Variables a : False.", "Variables"),
        ("Context (a : False).", "Context"),
        ("Module M. Variable a : False. End M.", "Variable"),
        ("Section S. End S. Variable a : False.", "Variable"),
        ("Declare Module M : T.", "Declare Module"),
        ("Declare\n  Instance a : T.", "Declare Instance"),
        ("Unset Guard Checking.", "Unset Guard Checking"),
        ("#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n.", "bypass_check"),
        ("Load other.", "Load"),
        ('Add LoadPath "x" as Y.', "Add LoadPath"),
        ('Declare ML Module "x".', "Declare ML Module"),
    ],
)
def test_what_nobody_proved_is_refused_at_once(tmp_path, line, word):
    sources = written(tmp_path, x=f"{STATES}Proof.\nQed.\n", y=f"(* A file. *)\n{line}\n")
    place = 3 if "\n" in line and word.startswith("Load") else 2
    with pytest.raises(FormalError, match=rf"y\.v, line {place}: {word} (assumes what nobody proved|brings a file)"):
        sources.theorems()


@pytest.mark.parametrize(
    "line",
    [
        "(* Axiom a : False. Admitted (* admit. *) *)",
        'Definition s := "Admitted. Axiom".',
        "Section S. Variable n : nat. Hypothesis positive : n > 0. Context {m : nat}. End S.",
        "Definition admitted' := 1. Definition x_admit := 2. Definition Axiomatic := 3.",
        "Module M. Section S. Variable n : nat. End S. End M.",
    ],
)
def test_what_assumes_nothing_is_read(tmp_path, line):
    assert len(written(tmp_path, x=f"{line}\n{STATES}Proof.\nQed.\n").theorems()) == 1


@pytest.mark.parametrize(
    "within",
    [
        "Section S.\nHypothesis small : 1 <= 0.\n",
        "Section S. Variable n : nat.\n",
        "Section S.\nContext (small : 1 <= 0).\n",
        "Section S.\nLet K := 0.\n",
        "Section T. End T. Section S.\n",
        "Module S.\n",
        "Module Type S.\n",
        "Module S (A : T).\n",
        "Module S. Section T. End T.\n",
    ],
)
def test_a_theorem_whose_section_can_add_hypotheses_is_refused(tmp_path, within):
    with pytest.raises(FormalError, match=r"x\.v, line \d+: x is within (Section|Module) S, whose hypotheses"):
        written(tmp_path, x=f"{within}{STATES}Proof.\nQed.\nEnd S.\n").theorems()
    (one,) = written(tmp_path, x=f"{within}End S.\n{STATES}Proof.\nQed.\n").theorems()
    assert one.name == "X.x.x"


def test_a_theorem_within_a_comment_is_none(tmp_path):
    text = f"(* earlier:\n{STATES}Proof. trivial. Qed. *)\nTheorem x : True. Proof. exact I. Qed.\n"
    assert written(tmp_path, x=text).theorems() == ()


def test_the_statement_that_is_shown_is_that_of_the_sentence(tmp_path):
    text = (
        "(* Definition x_states {K : R} : Prop := strong K. *)\n"
        "Open Scope R_scope. #[local] Definition x_states {K : R} : Prop := weak K.\n"
        'Notation "a ~~> b" := True (at level 70). Infix "+++" := plus (at level 50).\n'
        "Section S. Let low := 0. Definition weak (K : R) := low ~~> K. End S.\n"
        "Inductive never := . Notation top := 1.\n"
        "(* proves: a/b *)\nTheorem x : x_states (K := 2) (* (K := 3) *). Proof. exact I. Qed.\n"
    )
    (one,) = written(tmp_path, x=text).theorems()
    shown = one.statement.split("\n\n")
    assert shown == [
        'Notation "a ~~> b" := True (at level 70).',
        "#[local] Definition x_states {K : R} : Prop := weak K.",
        "Let low := 0.",
        "Definition weak (K : R) := low ~~> K.",
        "Theorem x : x_states (K := 2) (* (K := 3) *).",
    ]
    assert (one.line, one.constants) == (7, {"K": "2"})


def test_notations_and_coercions_of_imported_files_are_shown(tmp_path):
    a = 'Notation "x <= y" := True.\nNotation "x ## y" := False.\nCoercion f : A >-> R.\n'
    (one,) = written(tmp_path, a=a, x=f"From X Require Import a.\n{STATES}Proof.\n").theorems()
    assert one.statement.split("\n\n")[:2] == ['Notation "x <= y" := True.', "Coercion f : A >-> R."]


@pytest.mark.parametrize(
    "axioms", ["nonsense.false", ["nonsense.false"], ["Classical_Prop.classic", "ClassicalEpsilon.x"], 5, [5], None]
)
def test_a_record_of_other_axioms_is_refused(tmp_path, axioms):
    sources = written(tmp_path, x=f"{STATES}Proof.\nQed.\n")
    entry = {"id": "a/b", "role": "proves", "digest": sources.theorems()[0].digest, "axioms": axioms}
    (tmp_path / RECORD).write_text(json.dumps({"theorems": {"X.x.x": entry}}))
    with pytest.raises(
        FormalError, match=r"does not hold a record|with the axiom (nonsense\.false|ClassicalEpsilon\.x)"
    ):
        sources.theorems()


@pytest.mark.parametrize(
    ("called", "logical"),
    [("X", "X"), ("My Method", "your_paper"), ("Rankproof", "your_paper"), ("Coq", "your_paper"), ("", "your_paper")],
)
def test_coq_knows_a_paper_by_a_name_that_it_can_read(called, logical):
    assert sources_of(replace(FEDLRT, called=called, package="paper_checks.your_paper")).logical == logical


@pytest.mark.parametrize("content", ["[]", "{", '{"theorems": []}', '{"theorems": {"x": {"digest": 1}}}', "{}"])
def test_a_broken_record_is_named(tmp_path, content):
    (tmp_path / RECORD).write_text(content)
    with pytest.raises(FormalError, match="does not hold a record of theorems"):
        written(tmp_path, x=f"{STATES}Proof.\n").theorems()


@pytest.mark.parametrize(
    ("term", "value"),
    [
        ("12", "12"),
        ("1 / 2", "1/2"),
        ("(1 - 1 / 3) * 3", "2"),
        ("- 3 ^ 2", "-9"),
        ("sqrt 4", "2.0"),
        ("1 + exp 1", "3.718281828459045"),
        ("1 / 0", "1 / 0"),
        ("fun s => 1 - s", "fun s => 1 - s"),
        ("n", "n"),
        ("2 ^ 1000", "2 ^ 1000"),
        ("True", "True"),
    ],
)
def test_values_of_constant_terms(term, value):
    assert value_of(term) == value
