"""Which statement a proof belongs to, and which lines belong to an equation."""

import pytest

from paper_checks.inventory.reading import read_document

PREAMBLE = r"""\documentclass{article}\usepackage{amsthm,thm-restate}
\newtheorem{theorem}{Theorem}\newtheorem{lemma}{Lemma}\newtheorem{remark}{Remark}\newtheorem*{theorem*}{Theorem}
\begin{document}\section{Main} Words.
\begin{restatable}{theorem}{MAIN}\label{thm:a} All is bounded. \end{restatable}
\begin{lemma}\label{lem:a} Some are small. \end{lemma}
\begin{theorem}[Rate]\label{thm:b} Others are large. \end{theorem}
"""
PROOF = r"\begin{proof}%s It follows. \end{proof}"
OPEN = "it is open which"


def read(tmp_path, text):
    (tmp_path / "a.tex").write_text(PREAMBLE + text + "\n\\end{document}\n")
    return read_document(str(tmp_path / "a.tex"))


APPENDIX = r"\appendix\section{More} Words. "


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        (r"\appendix\section{Proof of Lemma~\ref{lem:a}}" + PROOF % "", "Lemma 1"),
        (r"\appendix\section{Proofs}\subsection{Proof of \cref{lem:a}} We begin. \par More. " + PROOF % "", "Lemma 1"),
        (APPENDIX + r"\paragraph{Proof of Lemma~\ref{lem:a}.} Now. " + PROOF % "", "Lemma 1"),
        (APPENDIX + r"\subsection{Proof of Lemma 1} Now. " + PROOF % "", "Lemma 1"),
        (APPENDIX + r"\subsection{Detailed proof for Theorem~\ref{thm:a} via Lemma~\ref{lem:a}}" + PROOF % "",
         "Theorem 1"),
        (r"\appendix\section{Proofs}\subsection{Theorem~\ref{thm:a}}" + PROOF % "", "Theorem 1"),
        (r"\appendix\section{Proof of Theorem~\ref{thm:a}}\subsection{First step} Now. " + PROOF % "", "Theorem 1"),
        (APPENDIX + r"\MAIN*" + PROOF % "", "Theorem 1"),
        (APPENDIX + r"\MAIN* We prepare. " + PROOF % "", "Theorem 1"),
        (APPENDIX + r"\begin{theorem*}[Restatement of Theorem~\ref{thm:a}] All. \end{theorem*}" + PROOF % "",
         "Theorem 1"),
        (APPENDIX + PROOF % r"[Proof of Theorem~\ref{thm:a}]", "Theorem 1"),
        (APPENDIX + PROOF % r"[\textbf{Proof sketch of Theorem~\ref{thm:a} using Lemma~\ref{lem:a}}]", "Theorem 1"),
        (APPENDIX + PROOF % r"[Theorem~\ref{thm:a}]", "Theorem 1"),
        (APPENDIX + r"\textbf{Proof of Lemma~\ref{lem:a}.}" + PROOF % "", "Lemma 1"),
        (APPENDIX + r"We now prove Lemma~\ref{lem:a}, by cases." + PROOF % "", "Lemma 1"),
        (APPENDIX + r"\subsection{Proof of Theorem~\ref{thm:a}}\begin{lemma} Less. \end{lemma}" + PROOF % "",
         "Lemma 2"),
        (APPENDIX + r"\subsection{Proof of Theorem~\ref{thm:a}}\begin{lemma} Less. \end{lemma}" + (PROOF % "") * 2,
         "Lemma 2 Theorem 1"),
        (r"\begin{remark} It is so. \end{remark} Hence: " + PROOF % "", "Theorem 2"),
        (PROOF % "[Proof of the rate]", "Theorem 2"),
        (r"Words. " + PROOF % "", "Theorem 2"),
        (r"\subsection*{Proof}" + PROOF % "", "Theorem 2"),
        (r"\begin{proof} First: \begin{lemma} Less. \end{lemma} " + PROOF % "" + r" Thus. \end{proof}",
         "Lemma 2 Theorem 2"),
        (r"\appendix\section{Proof of Lemma~\ref{lem:a}} It follows. \section{Data} Words.", "Lemma 1"),
    ],
)  # fmt: skip
def test_a_proof_belongs_to_what_it_proves(tmp_path, text, owner):
    document = read(tmp_path, text)
    assert sorted(item.name for item in document.items if item.proof) == sorted(
        name for name in ("Lemma 1", "Lemma 2", "Theorem 1", "Theorem 2") if name in owner
    )
    assert all("It follows." in item.proof and "Data" not in item.proof for item in document.items if item.proof)
    assert not [note for note in document.notes if OPEN in note]


@pytest.mark.parametrize(
    "text",
    [
        r"\appendix\section{Proofs} " + PROOF % "",
        r"\appendix\section{Proofs of \cref{thm:a,thm:b}} " + (PROOF % "") * 2,
        APPENDIX + PROOF % "[Proof of the main result]",
        APPENDIX + PROOF % r"[Proof of \cref{gone}]",
    ],
)
def test_a_proof_of_something_open_is_given_to_none(tmp_path, text):
    document = read(tmp_path, text)
    assert not any(item.proof for item in document.items)
    assert [note for note in document.notes if OPEN in note]


def test_of_a_label_that_is_defined_twice_the_statement_before_the_proof_counts(tmp_path):
    text = r"\section{Proof of Lemma~\ref{lem:a}}" + PROOF % "" + r"\begin{lemma}\label{lem:a} Other. \end{lemma}"
    assert [item.name for item in read(tmp_path, text).items if item.proof] == ["Lemma 1"]


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        (r"\label{z} &u \nonumber\\ &\le v + w.", [r"\begin{aligned} &u \\ &\le v + w. \end{aligned}"]),
        (r"\label{z} p &= q \\ &\le r \nonumber", [r"\begin{aligned} p &= q \\ &\le r \end{aligned}"]),
        (r"a &= b \\ &= c \nonumber \\ &= d", ["a = b", r"\begin{aligned} &= c \\ &= d \end{aligned}"]),
        (r"a &= b \\ c &= d \nonumber \\ e &= f", ["a = b", "e = f"]),
        (r"a &= b \nonumber \\ &\quad + c \nonumber \\[2pt] & \left. d \right)",
         [r"\begin{aligned} a &= b \\ &\quad + c \\ & \left. d \right) \end{aligned}"]),
        (r"a &= b \\ c &= d", ["a = b", "c = d"]),
    ],
)  # fmt: skip
def test_the_text_of_an_equation_is_its_whole_chain(tmp_path, lines, texts):
    document = read(tmp_path, rf"\begin{{align}}{lines}\end{{align}} See \eqref{{z}}.")
    found = [item for item in document.items if item.kind == "equation"]
    assert [" ".join(item.text.strip("$").replace("[2pt]", "").split()) for item in found] == texts
    assert [item.number for item in found] == [str(at + 1) for at in range(len(texts))]
    assert "z" not in lines or found[0].label == "z"
