"""Numbers, texts, places and references of what a paper contains, as LaTeX would print them."""

import pytest

from paper_checks.inventory.candidates import statements
from paper_checks.inventory.document import Place
from paper_checks.inventory.latex_text import plain_words
from paper_checks.inventory.reading import read_document

BOOK = {
    "main.tex": r"""\documentclass{article}
\usepackage{amsthm}
\newtheorem{theorem}{Theorem}[section]
\newtheorem{lem}[theorem]{Lemma}
\newtheorem{asm}{Assumption}
\newtheorem*{claim*}{Claim}
\declaretheorem[name=Proposition, sibling=theorem]{prop}
\newcommand{\R}{\mathbb{R}}
\newcommand{\norm}[1]{\left\| #1 \right\|}
\def\be{\begin{equation}} \def\ee{\end{equation}}
\newenvironment{mylem}{\begin{lem}}{\end{lem}}
\numberwithin{equation}{section}
\title{On \emph{Sums} of $\R$}
\begin{document}
\begin{abstract} All is bounded. \end{abstract}
\section{Setting}
\subsection{Words}
% \begin{lem} A comment. \end{lem}
\input{parts/first}
\iffalse \begin{lem} Hidden. \end{lem} \fi
\section*{No number}
\section{Results}
\include{parts/second.tex}
\appendix
\section{Proofs}
\begin{prop}\label{p} For $x\in\R$. \end{prop}
\begin{equation} a \tag{$\star$}\label{star} \end{equation}
\be c = d \ee
By \eqref{star}, \ref{missing} and Theorem~\ref{t}.
\end{document}
\begin{lem} After the end. \end{lem}
""",
    "parts/first.tex": r"""\begin{asm}[Smooth]\label{a} $\norm{x} \le 1$. \end{asm}
\begin{mylem}\label{l}
  For every $x \in \R$:
  \begin{align} a &= b \label{one} \\ c &= d \nonumber \\ e &= f \label{two} \end{align}
\end{mylem}
\begin{proof} By Assumption~\ref{a} and \eqref{one}. \end{proof}
""",
    "parts/second.tex": r"""\begin{theorem}\label{t} All is bounded. \end{theorem}
\begin{claim*} Without a number. \end{claim*}
\begin{subequations}\begin{align} a &= 1 \label{s} \\ b &= 2 \end{align}\end{subequations}
\begin{equation*} x \end{equation*}
\[ y \]
\begin{figure} \begin{subfigure}{1cm}\caption{Part.}\end{subfigure} \caption{A curve.}\label{f} \end{figure}
\begin{algorithm}\caption{Descent}\begin{algorithmic} \STATE Step. \label{line} \end{algorithmic}\end{algorithm}
\begin{proof}[Proof of Theorem~\ref{t}] By \cref{l,a}. \end{proof}
""",
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    for name, text in BOOK.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return read_document(str(folder / "main.tex"))


def test_items_have_the_numbers_that_are_printed(book):
    assert [item.name for item in book.items] == [
        *("Assumption 1", "Lemma 1.1", "Equation (1.1)", "Equation (1.2)", "Theorem 2.1"),
        *("Equation (2.1)", "Equation (2.1a)", "Equation (2.1b)", "Figure 1", "Algorithm 1"),
        *("Proposition A.1", "Equation (star)", "Equation (A.1)"),
    ]
    assert book.notes == ()


def test_items_know_their_place_and_section(book):
    lemma, theorem = book.item("lemma", "1.1"), book.item("theorem", "2.1")
    assert lemma.place == Place("parts/first.tex", 2)
    assert (lemma.section, theorem.section) == ("1.1", "2")
    assert book.item("proposition", "A.1").section == "A"


def test_texts_are_words_and_formulas_with_macros_written_out(book):
    assert book.title == r"On Sums of $\mathbb{R}$"
    assert book.abstract == "All is bounded."
    assert book.item("assumption", "1").text == r"$\left\| x \right\| \le 1$."
    assert book.item("assumption", "1").title == "Smooth"
    assert book.item("equation", "1.2").text == "$e = f$"
    assert book.item("figure", "1").text == "A curve."


@pytest.mark.parametrize(
    ("definition", "used", "written"),
    [
        (r"\newcommand{\f}[2][x]{f_{#1}(#2)}", r"\f{y} \f[]{y} \f[{[z]}]{y}", "f_{x}(y) f_{}(y) f_{{[z]}}(y)"),
        (r"\newcommand{\f}[ 1 ]{f(#1)}", r"\f{} \f x", "f() f(x)"),
        (r"\NewDocumentCommand{\f}{m m}{#2#1}", r"\f{1}{2}3", "213"),
        (r"\def\f#1#2{#2#1}", r"\f{1}23 \f[4", "213 4["),
        (r"\newcommand{\thef}{f}", r"\thef\thef", "ff"),
        (r"\newcommand{\f}[1]{#1\alpha}", r"\f{a}b \f{a}2", r"a\alpha b a\alpha2"),
        (r"\newcommand{\a}{x}\newcommand{\b}{\a\a}\newcommand{\c}{\b\b}\newcommand{\f}{\c\c}", r"\f", "x" * 8),
    ],
)
def test_macros_are_written_out_with_their_arguments(tmp_path, definition, used, written):
    (tmp_path / "a.tex").write_text(
        rf"\documentclass{{article}}{definition}\newtheorem{{lem}}{{Lemma}}\begin{{document}}"
        rf"\begin{{lem}} ${used}$. \end{{lem}}\end{{document}}"
    )
    (lemma,) = read_document(str(tmp_path / "a.tex")).items
    assert lemma.text == f"${written}$."


def test_references_are_resolved(book):
    lemma, theorem = book.item("lemma", "1.1"), book.item("theorem", "2.1")
    assert lemma.proof == "By Assumption 1 and (1.1)."
    assert [(one.kind, one.number) for one in lemma.proof_refers] == [("assumption", "1"), ("equation", "1.1")]
    assert {(one.kind, one.number) for one in theorem.proof_refers} >= {("lemma", "1.1"), ("assumption", "1")}
    assert book.item("equation", "1.1").inside == ("lemma", "1.1")
    assert [one.label for one in book.references if not one.resolved] == ["missing"]


def test_no_text_of_comments_floats_or_after_the_end_is_running_text(book):
    running = " ".join(paragraph.text for paragraph in book.paragraphs)
    for hidden in ("A comment", "Hidden", "After the end", "documentclass"):
        assert hidden not in running
    assert "Theorem 2.1" in running


@pytest.mark.parametrize(
    ("broken", "what"),
    [(r"{\bf open", "{"), ("$x", "$"), (r"\begin{center} open", r"\begin{center}"), (r"\textbf{open", "{")],
)
def test_what_is_never_closed_is_noted_and_passed_over(tmp_path, broken, what):
    (tmp_path / "a.tex").write_text(
        "\\documentclass{article}\\newtheorem{lemma}{Lemma}\\begin{document}\nWords "
        f"{broken} words.\n\\begin{{lemma}} One. "
        f"\\end{{lemma}}\n\\begin{{lemma}} Two. "
        f"\\end{{lemma}}\n\\end{{document}}\n"
    )
    document = read_document(str(tmp_path / "a.tex"))
    assert [item.number for item in document.items] == ["1", "2"]
    assert document.notes == (f"a.tex:2: {what} is never closed",)


X, THEOREM, LEMMA = r"\begin{equation} x \end{equation}", r"\begin{theorem} x \end{theorem}", r"\begin{lem} x \end{lem}"


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        (rf"\stepcounter{{equation}} {X} {X}", "2 3"),
        (rf"{X} \refstepcounter{{equation}} {X}", "1 3"),
        (rf"{X} \addtocounter{{equation}}{{-1}} {X} \setcounter{{equation}}{{9}} {X}", "1 1 10"),
        (rf"\newcounter{{kept}} {X} \setcounter{{kept}}{{\value{{equation}}}} {X} "
         rf"\setcounter{{equation}}{{\value{{kept}}}} {X}", "1 2 2"),
        (rf"{X} \setcounter{{equation}}{{\numexpr\value{{equation}}+3\relax}} {X}", "1 5"),
        (r"\begin{align} a \\ \stepcounter{equation} b \\ c \addtocounter{equation}{-1} \end{align}", "1 3 3"),
        (rf"\begin{{equation}}\setcounter{{equation}}{{6}} x\end{{equation}} {X}", "6 7"),
        (r"\begin{equation*} x \refstepcounter{equation}\tag{\theequation} \end{equation*}" + X, "1 2"),
        (rf"\[ x \stepcounter{{equation}}\tag{{\theequation$\theta$}} \] {X}", "1theta 2"),
        (rf"\stepcounter{{theorem}} {THEOREM} {LEMMA} \setcounter{{theorem}}{{7}} {LEMMA}", "2 3 8"),
        (rf"\stepcounter{{lem}} {THEOREM}", "2"),
        (r"\stepcounter{figure}\begin{figure}\caption{x}\end{figure}", "2"),
        (r"\setcounter{table}{3}\begin{table}\caption{x}\end{table}", "4"),
        (rf"\numberwithin{{equation}}{{section}}\section{{A}} {X} \stepcounter{{section}} {X}", "1.1 2.1"),
        (r"\begin{conjecture} x \end{conjecture}\setcounter{conjecture}{4}"
         r"\begin{conjecture} y \end{conjecture}", "1 5"),
    ],
)  # fmt: skip
def test_counters_that_a_paper_moves_are_followed(tmp_path, body, numbers):
    preamble = r"\documentclass{article}\newtheorem{theorem}{Theorem}\newtheorem{lem}[theorem]{Lemma}"
    (tmp_path / "a.tex").write_text(rf"{preamble}\begin{{document}} Words. {body} \end{{document}}")
    document = read_document(str(tmp_path / "a.tex"))
    assert " ".join(item.number for item in document.items) == numbers
    assert document.notes == ()


@pytest.mark.parametrize(
    "display", [r"\[ a \tag{A} \]", r"$$ a \tag{\ref{q}'} $$", r"\begin{equation} a \tag{$*$} \end{equation}"]
)
def test_a_tagged_formula_is_read_without_its_tag_and_delimiters(tmp_path, display):
    (tmp_path / "a.tex").write_text(rf"\documentclass{{article}}\begin{{document}} Words. {display} \end{{document}}")
    assert [item.text for item in read_document(str(tmp_path / "a.tex")).items] == ["$a$"]


def test_a_value_of_a_counter_that_is_not_read_is_named(tmp_path):
    text = "\\documentclass{article}\\begin{document}\nx \\setcounter{equation}{\\total{x}}"
    (tmp_path / "a.tex").write_text(text + "\\setcounter{page}{\\total{x}}\n" + X + r"\end{document}")
    assert read_document(str(tmp_path / "a.tex")).notes == (
        r"a.tex:2: \setcounter{equation} has a value that is not read, so numbers may differ",
    )


def unresolved(tmp_path, body, preamble=""):
    text = rf"\documentclass{{article}}{preamble}\begin{{document}} Words. {body} \end{{document}}"
    (tmp_path / "a.tex").write_text(text)
    document = read_document(str(tmp_path / "a.tex"))
    return [one.label for one in document.references if not one.resolved], document


@pytest.mark.parametrize(
    "listing",
    [
        "\\begin{lstlisting}[label=lst:x]\nlemma \\begin{lemma}\n\\end{lstlisting}",
        "\\begin{lstlisting}[caption={A [b], c}, label={lst:x},\n  float]\nx\n\\end{lstlisting}",
        "\\begin{lstlisting}\n[language=C,\nlabel=lst:x]\nx\n\\end{lstlisting}",
        "\\begin{lstlisting}\nx (*@\\label{lst:x}@*)\n\\end{lstlisting}",
        "\\lstinputlisting[label=lst:x]{code.c}",
        "\\lstnewenvironment{code}[1][]{\\lstset{#1}}{}\\begin{code}[label=lst:x]\nx\n\\end{code}",
        "\\begin{listing}\\begin{minted}{c}\nx\n\\end{minted}\\label{lst:x}\\end{listing}",
    ],
)
def test_labels_of_listings_exist(tmp_path, listing):
    labels, document = unresolved(tmp_path, f"See \\ref{{lst:x}} and \\ref{{lst:y}}.\n{listing}\nMore words.")
    assert labels == ["lst:y"]
    assert document.items == ()
    assert "lst" not in " ".join(one.text for one in document.paragraphs)


def test_the_text_of_a_listing_has_no_labels(tmp_path):
    body = "See \\ref{a} and \\ref{b}.\n\\begin{lstlisting}\nf(x)[label=a]\n\\end{lstlisting}"
    body += "\\begin{verbatim}\\label{b}\\end{verbatim}"
    assert unresolved(tmp_path, body)[0] == ["a", "b"]


def test_labels_of_another_document_exist_if_it_has_them(tmp_path):
    (tmp_path / "supp.tex").write_text(
        "\\documentclass{article}\\externaldocument{a}\\begin{document}\\input{more}\\label{supp:x}\\end{document}"
    )
    (tmp_path / "more.tex").write_text("\\label{supp:y}")
    body = r"By \ref{supp:x}, \ref{supp:y} and \ref{supp:z}."
    assert unresolved(tmp_path, body, r"\externaldocument{supp}")[0] == ["supp:z"]
    body = r"By \ref{S-supp:x}, \ref{supp:x} and \cref{S-supp:z}."
    labels, document = unresolved(tmp_path, body, r"\externaldocument[S-]{supp}")
    assert labels == ["supp:x", "S-supp:z"]
    assert document.notes == ()


def test_labels_of_a_document_that_is_missing_are_not_judged(tmp_path):
    body = r"By \ref{S-x} and \ref{y}."
    labels, document = unresolved(tmp_path, body, r"\externaldocument[S-]{gone}")
    assert labels == ["y"]
    assert document.notes == ("a.tex:1: gone is missing, so references to its labels are not checked",)


TEXT = """# Sums

## 1 Introduction

By Lemma 2 and (3) the sum is bounded. Lemma 2 is by Weyl.
Theorem 5 of Smith (2020) says more.

**Assumption 1.** The sum is finite.

**Lemma 2** (Weyl). *For every x the following holds,*

$$a \\le b, \\tag{1}$$

*where b is positive.*

Proof. By Assumption 1 and (1) it follows. □

Theorem A.3. Let x be real.

$$\\begin{aligned} x &= y \\quad (2) \\\\ &= z \\quad (3) \\end{aligned}$$

Theorem A.3 is sharp.

## 2.1 Numbers

Table 1: Accuracies of methods.

| Method | A | B | Avg. |
|---|---|---|---|
| one | 1.0 | **2.0** | 1.5 |
| two | 3.0 | 1.0 | 2.0 |

Figure 2. Curves of both.

Table 1 shows more.

Algorithm 1 Descent

x = y (4)
"""


def test_plain_text_is_read_alike(tmp_path):
    (tmp_path / "paper.md").write_text(TEXT)
    document = read_document(str(tmp_path / "paper.md"))
    found = {item.name: item for item in document.items}
    assert list(found) == [
        *("Assumption 1", "Lemma 2", "Equation (1)", "Theorem A.3", "Equation (2)", "Equation (3)"),
        *("Table 1", "Figure 2", "Algorithm 1", "Equation (4)"),
    ]
    assert found["Lemma 2"].title == "Weyl"
    assert found["Lemma 2"].text == r"For every x the following holds, $a \le b$ where b is positive."
    assert [(one.kind, one.number) for one in found["Lemma 2"].proof_refers] == [("assumption", "1"), ("equation", "1")]
    assert found["Equation (1)"].inside == ("lemma", "2")
    assert found["Table 1"].section == "2.1"
    assert found["Lemma 2"].place == Place("paper.md", 10)
    assert ("theorem", "5") not in {(one.kind, one.number) for one in document.references}


@pytest.mark.parametrize(
    ("heads", "kept"),
    [
        (("Theorem 1. One holds.", "Theorem 1. Two holds."), 0),
        (("Theorem 1. One holds.", "**Theorem 1.** Two holds."), 0),
        (("Theorem 1. of one is cited.", "Theorem 1. Two holds."), 1),
        (("Theorem 1. of one is cited.", "Theorem 1. of two is cited."), 0),
    ],
)
def test_of_equal_heads_of_a_theorem_the_first_counts(tmp_path, heads, kept):
    (tmp_path / "paper.md").write_text("\n\nSome text.\n\n".join(("# A title", *heads, "")))
    (item,) = read_document(str(tmp_path / "paper.md")).items
    assert item.place == Place("paper.md", (5, 9)[kept])


@pytest.mark.parametrize(("last", "whole"), [(4, True), (51, True), (52, False)])
def test_a_range_of_less_than_50_items_mentions_all_of_them(tmp_path, last, whole):
    (tmp_path / "paper.md").write_text(f"# A title\n\nAll of it follows from Lemmas 2 to {last} and from the text.\n")
    references = read_document(str(tmp_path / "paper.md")).references
    assert {int(one.number) for one in references} == (set(range(2, last + 1)) if whole else {2, last})


def test_a_table_in_plain_text_has_its_caption_and_marks(tmp_path):
    (tmp_path / "paper.md").write_text(TEXT)
    (table,) = read_document(str(tmp_path / "paper.md")).tables
    assert (table.number, table.caption) == ("1", "Accuracies of methods.")
    assert [[cell.text for cell in row] for row in table.rows[1:]] == [
        ["one", "1.0", "2.0", "1.5"],
        ["two", "3.0", "1.0", "2.0"],
    ]
    assert [cell.bold for cell in table.rows[1]] == [False, False, True, False]


@pytest.mark.parametrize(
    "rows",
    [
        "Method\tA\tB\nfirst one\t1.0\t2.0\ntwo\t3.0\t1.5\n",
        "Method A B\nfirst one 1.0 2.0\ntwo 3.0 1.5\n",
        "| Method | A | B |\n|---|---|---|\n| first one | 1.0 | 2.0 |\n| two | 3.0 | 1.5 |\n",
    ],
)
def test_columns_are_divided_by_tabs_bars_or_spaces(tmp_path, rows):
    (tmp_path / "paper.txt").write_text(f"Words.\n\n{rows}\nTable 7. A caption.\n\nMore words.\n")
    (table,) = read_document(str(tmp_path / "paper.txt")).tables
    assert (table.number, table.caption) == ("7", "A caption.")
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["Method", "A", "B"],
        ["first one", "1.0", "2.0"],
        ["two", "3.0", "1.5"],
    ]


def test_line_numbers_in_the_margin_are_dropped(tmp_path):
    lines = [f"{number} word" for number in range(100, 220)] + [
        "220 **Lemma 4.** The sum is finite.",
        "221",
        "222 Words.",
    ]
    (tmp_path / "paper.txt").write_text("\n".join(lines))
    document = read_document(str(tmp_path / "paper.txt"))
    assert [item.name for item in document.items] == ["Lemma 4"]


def test_cells_that_span_rows_and_columns_are_repeated(tmp_path):
    (tmp_path / "a.tex").write_text(r"""\documentclass{article}\begin{document}
\begin{table}\caption{Spans.}
\begin{tabular}{@{}l|l*{3}{c}@{}} \toprule
\multirow[t]{2}{*}{Data} & \multirow{2}{2cm}{Method} & \multicolumn{2}{c}{Group} & \\ \cmidrule(lr){3-4}
& & A & B & C \\[2pt] \midrule
\multirow{2}{*}{X} & one & \textbf{1.0} & {\bfseries 2.0} & $\mathbf{3.0}_{\pm 0.1}$ \\
& two & 4.0 & 5.0 & \underline{6.0} \\ \hline
Y & one & 7.0 & \multicolumn{2}{c}{8.0} \\ \bottomrule
\end{tabular}\end{table}
\end{document}""")
    (table,) = read_document(str(tmp_path / "a.tex")).tables
    assert [[cell.text for cell in row][:4] for row in table.rows] == [
        ["Data", "Method", "Group", "Group"],
        ["Data", "Method", "A", "B"],
        ["X", "one", "1.0", "2.0"],
        ["X", "two", "4.0", "5.0"],
        ["Y", "one", "7.0", "8.0"],
    ]
    assert [cell.bold for cell in table.rows[2]] == [False, False, True, True, True]
    assert not any(cell.bold for cell in table.rows[3])
    assert table.rows[4][4].text == "8.0"
    assert table.rules == {2, 4}


def test_a_cell_that_spans_rows_above_it_reaches_as_many_as_it_says(tmp_path):
    (tmp_path / "a.tex").write_text(r"""\documentclass{article}\begin{document}
\begin{table}\caption{Upwards.}\begin{tabular}{lll}
 & one & 1 \\ & two & 2 \\ & three & 3 \\ \multirow{-3}{*}{A} & four & 4 \\ \multirow{-9}{*}{B} & five & 5
\end{tabular}\end{table}
\end{document}""")
    (table,) = read_document(str(tmp_path / "a.tex")).tables
    assert [row[0].text for row in table.rows] == ["B", "A", "A", "A", "B"]


@pytest.mark.parametrize("option", ["sibling", "numberlike", "sharenumber"])
def test_statements_share_a_counter_by_each_of_its_names(tmp_path, option):
    (tmp_path / "a.tex").write_text(rf"""\documentclass{{article}}
\declaretheorem{{theorem}}\declaretheorem[{option}=theorem]{{lemma}}\begin{{document}}
\begin{{theorem}} One. \end{{theorem}}\begin{{lemma}} Two. \end{{lemma}}\begin{{theorem}} Three. \end{{theorem}}
\end{{document}}""")
    items = read_document(str(tmp_path / "a.tex")).items
    assert [item.name for item in items] == ["Theorem 1", "Lemma 2", "Theorem 3"]


@pytest.mark.parametrize(
    ("titles", "body", "meant"),
    [
        (r"\title{Formatting Instructions}\title[Short]{The Paper}", r"\maketitle", "The Paper"),
        (r"\title{Of a template}", r"\title{The Paper} \maketitle", "The Paper"),
        (r"\title{The Paper}", r"\maketitle \title{Too late}", "The Paper"),
        (r"\icmltitlerunning{Short}", r"\twocolumn[\icmltitle{The Paper}]", "The Paper"),
        (r"\title{The Paper}", "", "The Paper"),
        (r"\title{The \\\\[4pt] Paper}", r"\maketitle", "The Paper"),
    ],
)
def test_of_several_titles_the_last_before_it_is_printed_counts(tmp_path, titles, body, meant):
    (tmp_path / "a.tex").write_text(
        rf"\documentclass{{article}}{titles}\begin{{document}}{body} Words. \end{{document}}"
    )
    assert read_document(str(tmp_path / "a.tex")).title == meant


FLOATS_IN_A_FLOAT = r"""\documentclass{article}\begin{document}
\begin{figure}[t] \begin{minipage}{1cm}
\begin{algorithm}[H] \begin{algorithmic}[1] \STATE Go back. \end{algorithmic}
\caption[Short]{Backward \emph{flow}}\label{back} \end{algorithm} \end{minipage}
\begin{subfigure}{1cm} \begin{algorithm}[H] \caption{Forward}\label{forth} Go on. \end{algorithm} \end{subfigure}
%s \end{figure}
\begin{algorithm*}[!htbp]
\caption{Alone} Stay. \end{algorithm*}
\begin{figure} \begin{table}[H] \caption{Sizes}\label{sizes}
\begin{tabular}{lc} a & 1 \\ b & 2 \end{tabular} \end{table}
\caption{A curve}\label{curve} \end{figure} By \ref{back}, \ref{forth}, \ref{sizes} and \ref{curve}. \end{document}
"""


@pytest.mark.parametrize("caption", ["", r"\caption{Both}"])
def test_an_algorithm_or_a_table_in_a_figure_has_the_number_of_its_own_kind(tmp_path, caption):
    (tmp_path / "a.tex").write_text(FLOATS_IN_A_FLOAT % caption)
    document = read_document(str(tmp_path / "a.tex"))
    names = [(item.name, item.title) for item in document.items]
    figures = [("Figure 1", "Both"), ("Figure 2", "A curve")] if caption else [("Figure 1", "A curve")]
    assert [one for one in names if one[0].startswith("Figure")] == figures
    assert [one for one in names if not one[0].startswith("Figure")] == [
        ("Algorithm 1", "Backward flow"), ("Algorithm 2", "Forward"), ("Algorithm 3", "Alone"), ("Table 1", "Sizes")
    ]  # fmt: skip
    assert [item.text for item in document.items if item.kind == "algorithm"] == ["Go back.", "Go on.", "Stay."]
    assert [(table.name, table.caption) for table in document.tables] == [("Table 1", "Sizes")]
    assert [(one.kind, one.number) for one in document.references] == [
        ("algorithm", "1"), ("algorithm", "2"), ("table", "1"), ("figure", "2" if caption else "1")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("begin", "states"), [("Every", True), ("For example, every", False), ("E.g., every", False), ("E.g. every", False)]
)
def test_an_example_states_nothing(tmp_path, begin, states):
    (tmp_path / "p.md").write_text(f"{begin} big matrix of this model has $x = 1$ and always holds.\n")
    assert len(list(statements(read_document(str(tmp_path / "p.md"))))) == states


@pytest.mark.parametrize(
    ("text", "words"), [(r"\leanok We have it.", "We have it."), (r"The \rulers of \lean{a} it.", "The of it.")]
)
def test_commands_are_dropped_whole(text, words):
    assert " ".join(plain_words(text).split()) == words
