"""Conditions of TeX: the inventory has what is typeset, or a note says that all branches were read."""

import pytest

from paper_checks.inventory.reading import read_document

A, B = r"\begin{lemma} First. \end{lemma}", r"\begin{lemma} Second. \end{lemma}"
ONE, TWO, BOTH, NONE = ["First."], ["Second."], ["First.", "Second."], []


def read(tmp_path, body, preamble=""):
    text = f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\nWords.\n{body}\n\\end{{document}}\n"
    (tmp_path / "a.tex").write_text(text)
    document = read_document(str(tmp_path / "a.tex"))
    return [item.text for item in document.items], document.notes


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        (r"\iffalse old: $a \iff b$ \fi " + A, ONE),
        (rf"\iffalse $a \iff b$, \iffoo x \fi {A}", ONE),
        (rf"\iffalse {A} \else {B} \fi", TWO),
        (f"\\iffalse\n{A}\n\\else\n{B}\n\\fi", TWO),
        (rf"\iftrue {A} \else {B} \fi", ONE),
        (rf"\unless\iffalse {A} \else {B} \fi", ONE),
        (rf"\iffalse \iftrue x \else y \fi {A} \else {B} \fi", TWO),
        (rf"\iffalse \ifnum\value{{x}}>1 x \else y \fi {A} \else {B} \fi", TWO),
        (rf"\iffalse \ifx\a\iffalse x \fi {A} \fi {B}", TWO),
        (rf"\iffalse \ifdefined\iffalse x \fi {A} \fi {B}", TWO),
        (rf"\iftrue $a \iff b$ {A} \fi {B}", BOTH),
        (rf"\ifnum 1<2 {A} \else {B} \fi", ONE),
        (rf"\ifnum 3=2 {A} \else {B} \fi", TWO),
        (rf"\if0 {A} \fi {B}", TWO),
        (rf"\if 00 {A} \else {B} \fi", ONE),
        (rf"\newif\iflong {A} \iflong {B} \fi", ONE),
        (rf"\newif\iflong \iflong {A} \else {B} \fi", TWO),
        (rf"\newif\iflong \longtrue \iflong {A} \else {B} \fi", ONE),
        (rf"\newif\iflong \longtrue \longfalse \iflong {A} \else {B} \fi", TWO),
        (rf"\newif\iflong \iffalse \longtrue \fi \iflong {A} \else {B} \fi", TWO),
        (rf"\newif\if@long \@longtrue \if@long {A} \else {B} \fi", ONE),
        (rf"\newif\ifx@y \x@ytrue \ifx@y {A} \else {B} \fi", ONE),
        (rf"\iffalse \ifxyz \ifdefinedx x \fi {A}", ONE),
        (rf"\let\iflong\iftrue \iflong {A} \else {B} \fi", ONE),
        (rf"\let\iflong=\iffalse \iflong {A} \else {B} \fi", TWO),
        (rf"\newif\iflong \iffalse \let\iflong=\iftrue \fi \iflong {A} \else {B} \fi", TWO),
        (rf"\newif\iflong \longtrue \iffalse \newif\iflong \fi \iflong {A} \else {B} \fi", ONE),
        (rf"\newif\iflong \longtrue \iflong {A} \newif\ifnew \ifnew {B} \fi \fi", ONE),
    ],
)
def test_only_the_branch_that_is_typeset_is_read(tmp_path, body, texts):
    assert read(tmp_path, body) == (texts, ())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (rf"\ifnum\value{{page}}>1 {A} \else {B} \fi", r"a.tex:5: \ifnum may hold or not, so all"),
        (rf"\ifmmode {A} \else {B} \fi", r"a.tex:5: \ifmmode may hold or not"),
        (rf"\iftoggle{{long}}{{{A}}}{{{B}}}", r"a.tex:5: \iftoggle may hold or not"),
        (rf"\ifthenelse{{\boolean{{long}}}}{{{A}}}{{{B}}}", r"a.tex:5: \ifthenelse may hold or not"),
        (rf"\ifstrange {A} \else {B} \fi", r"a.tex:5: \else is of a condition that is not declared"),
        (rf"\newif\iflong \ifmmode\longtrue\fi \iflong {A} \else {B} \fi", r"\iflong may hold or not"),
    ],
)
def test_where_the_source_does_not_say_both_branches_are_read_and_named(tmp_path, body, says):
    texts, notes = read(tmp_path, body)
    assert texts == BOTH
    assert says in " ".join(notes)


def test_a_condition_that_is_set_within_a_macro_is_not_known(tmp_path):
    preamble = "\\newif\\iflong\n\\newcommand{\\full}{\\longtrue}"
    texts, notes = read(tmp_path, rf"\iflong {A} \else {B} \fi", preamble)
    assert texts == BOTH
    assert notes == (r"a.tex:6: \iflong may hold or not, so all of its branches were read",)


@pytest.mark.parametrize(
    "body",
    [
        "\\newcommand\\Item[1][]{\n \\ifx\\relax#1\\relax \\item \\else \\item[#1] \\fi\n\\ifmmode x \\else y \\fi}\n",
        "\\newcommand{\\set}[1]{\\{#1\\}\\}\n \\ifmmode x \\else y \\fi}\n",
        "\\def\\either{\\ifthenelse{\\boolean{a}}{x}{y}} ",
    ],
)
def test_conditions_within_the_definition_of_a_macro_are_not_named(tmp_path, body):
    assert read(tmp_path, body + A) == (ONE, ())


def test_a_condition_after_a_definition_is_named(tmp_path):
    body = rf"\newif\iflong\newcommand{{\both}}{{x}}\longtrue \iflong {A} \else {B} \fi \ifmmode x \else y \fi"
    texts, notes = read(tmp_path, body)
    assert texts == ONE
    assert notes == (r"a.tex:5: \ifmmode may hold or not, so all of its branches were read",)


def test_a_condition_of_a_style_file_is_known_as_one(tmp_path):
    (tmp_path / "ours.sty").write_text("\\newif\\ifours\n\\DeclareOption{final}{\\ourstrue}\n")
    preamble = "\\usepackage[final]{graphicx, ours}\\newif\\iflong"
    texts, notes = read(tmp_path, rf"\iflong \ifours x \else y \fi {A} \else {B} \fi", preamble)
    assert (texts, notes) == (TWO, ())


def test_a_branch_that_never_ends_is_named(tmp_path):
    texts, notes = read(tmp_path, f"{A}\n\\iffalse\n{B}")
    assert texts == ONE
    assert r"a.tex:6: \iffalse is never closed" in " ".join(notes)


def test_conditions_around_an_inclusion_choose_the_file(tmp_path):
    for name, text in (("one.tex", A), ("two.tex", B)):
        (tmp_path / name).write_text(text)
    body = "\\newif\\iflong\\longtrue\n\\iflong\n\\input{one}\n\\else\n\\input{two}\n\\fi"
    assert read(tmp_path, body) == (ONE, ())
