"""Records of papers read from LaTeX: numbers, proofs, tables, macros, conditions and what could not be read."""

from collections.abc import Mapping

from invented_texts import HEAD, latex
from recording import refused

from paper_checks.inventory.conditions import Conditions
from paper_checks.inventory.document import ALIASES, KINDS, STATEMENTS, Place, kind_called
from paper_checks.inventory.latex_numbers import _letter, _roman, commands_of, set_up
from paper_checks.inventory.latex_text import Readable, braced, formula, plain_words
from paper_checks.inventory.listing import as_json, listing, plural
from paper_checks.inventory.macros import group_end, write_out
from paper_checks.inventory.verbatim import Verbatim

BODY = r"""
\title[Short]{A Paper on \emph{Rates}\thanks{x}\\ of $L$}\maketitle
\begin{abstract}We bound $f$ by \textbf{2}\,\%.\end{abstract}
\section{Intro}\label{sec:i} See \cref{thm:a}, \eqref{eq:b}, Section~\ref{sec:i} and \cite[p.~3]{key, other}.
\begin{theorem}[Rate]\label{thm:a} For $\eta \le 1$ we have
\begin{equation}\label{eq:b} f(x) = 2 \end{equation} always. \end{theorem}
\begin{proof} By \cref{lem:c} and \eqref{eq:d}. \[ f(x) = 2. \] \end{proof}
\begin{lemma}\label{lem:c} It is so. \end{lemma}
\begin{align} a &= b \label{eq:d} \\ &= c \nonumber \\ d &\le e \tag{$*$} \\ g &= h \end{align}
\subsection{More}
\begin{assumption} $L > 0$. \end{assumption}
\begin{table}[t]\caption{Numbers in \textit{units}.}\label{tab}
\begin{tabular}{lcc}\toprule Method & \multicolumn{2}{c}{Acc} \\ \midrule
\multirow{2}{*}{one} & \textbf{1.5} & 2 \\ & 3 & $4_{\pm 1}$ \\
\bottomrule\end{tabular}\end{table}
\begin{figure}\includegraphics{a}\caption[x]{A figure.}\end{figure}
\begin{algorithm}\caption{Steps}\label{alg} Do it. \end{algorithm}
\begin{proof}[Proof of Lemma~\ref{lem:c}] Clear. \end{proof}
\appendix
\section{Proofs}
\begin{theorem*} Unnumbered. \end{theorem*}
\begin{lemma} Last, better than 3 others in all of these runs. \end{lemma}
\begin{subequations} \begin{align} x &= 1 \\ y &= 2 \end{align} \end{subequations}
"""


def a_paper_as_json():
    yield as_json(latex(BODY))


def a_paper_as_a_list():
    for width in (60, 100):
        yield listing(latex(BODY), width).splitlines()
    yield listing(latex("Words only."), 20, "...").splitlines()
    for count in (9, 10, 11, 14):
        sentences = "\n\n".join(f"Our method {at} needs {at + 2} times fewer rounds than SGD." for at in range(count))
        yield listing(latex(rf"\section{{One}}{sentences}"), 80).splitlines()[-5:]
        formulas = "\n\n".join(f"The norm of the gradient {at} is $x_{at} > 2$." for at in range(count))
        yield listing(latex(rf"\section{{One}}{formulas}"), 80, "...").splitlines()[-5:]
    yield [plural(kind, number) for kind in ("lemma", "corollary") for number in (1, 2)]


def displays_and_tables_of_a_paper():
    found = latex(BODY)
    yield [(one.name, one.about, one.proves, [(row, str(place)) for row, place in one.rows]) for one in found.displays]
    yield [
        (
            one.name,
            one.caption,
            sorted(one.rules),
            [[(cell.text, cell.bold, cell.spans) for cell in row] for row in one.rows],
        )
        for one in found.tables
    ]
    yield [(str(one.place), one.section, one.text) for one in found.paragraphs]


def _numbers(body, head=HEAD):
    found = latex(body, head)
    return [one.name for one in found.items], list(found.notes)


def counters_and_how_they_are_printed():
    statement = r"\begin{theorem} x \end{theorem}\begin{lemma} y \end{lemma}\begin{assumption} z \end{assumption}"
    equation = r"\begin{equation} x \end{equation}"
    for commands in (
        *(
            "",
            r"\setcounter{theorem}{4}",
            r"\addtocounter{theorem}{-1}",
            r"\setcounter{theorem}{\value{section}+2}",
            r"\setcounter{lemma}{7}",
            r"\stepcounter{assumption}",
            r"\setcounter{theorem}{\foo}",
        ),
        *(
            r"\numberwithin{equation}{section}",
            r"\counterwithout{theorem}{section}",
            r"\renewcommand{\theassumption}{A\arabic{assumption}}",
            r"\renewcommand{\theequation}{\thesection.\alph{equation}}",
        ),
        *(
            r"\renewcommand{\thetheorem}{\Roman{theorem}}",
            r"\appendix",
            r"\setcounter{section}{25}\appendix",
            r"\begin{appendix}\section{B}\end{appendix}",
            r"\newcounter{foo}[section]\stepcounter{foo}",
        ),
    ):
        yield commands
        yield _numbers(
            rf"\section{{One}}{commands}{statement}{equation}\section{{Two}}{statement}{equation}"
            rf"\subsection{{C}}\subsubsection{{D}}{statement}"
        )


def theorems_that_a_class_or_thmtools_declares():
    body = (
        r"\begin{document}\section{S}\begin{theorem}x\end{theorem}\begin{lemma}y\end{lemma}"
        r"\begin{thm}z\end{thm}\begin{claim}w\end{claim}\begin{foo}v\end{foo}"
    )
    for head in (
        *(
            "\\documentclass{article}",
            "\\documentclass[a]{siamart}",
            "\\documentclass{article}\\declaretheorem[name=Result,numberwithin=section]{foo}",
            "\\documentclass{article}\\declaretheorem[sibling=theorem]{foo,thm}",
        ),
        *(
            "\\documentclass{article}\\newtheorem*{foo}{Key Lemma}",
            "\\documentclass{article}\\newtheorem{foo}[thm]{Fact}\\newtheorem{thm}{Theorem}",
            "\\documentclass{article}\\newtheorem{foo}{\\textbf{Main} Theorem}",
        ),
        "\\documentclass{article}\\declaretheorem[numbered=no, title=Note]{foo}",
    ):
        yield head, _numbers(body, head)
    yield [_letter(n) for n in (0, 1, 26, 27)], [_roman(n) for n in (1, 4, 9, 14, 40, 99, 444, 1990)]
    yield len(commands_of(r"\appendix \appendices \appendixname"))
    yield sorted(set_up("", ()).theorems)[:4]


def words_that_name_a_kind():
    yield [
        kind_called(word)
        for word in (
            *(
                "Lemmas",
                "thm.",
                "Corollaries",
                "Section",
                "lemmata",
                "Figs.",
                "EQ",
                "eqs",
                "hypotheses",
                "claims",
                "Table",
                "tab.",
                "facts",
            ),
            *KINDS,
        )
    ]
    yield STATEMENTS, ALIASES


def proofs_and_what_they_prove():
    two = r"\begin{theorem}\label{t} A. \end{theorem}\begin{lemma}[Key]\label{l} B. \end{lemma}"
    for rest in (
        *(
            r"\begin{proof} C \end{proof}",
            r"\begin{proof}[Proof of Theorem~\ref{t}] C \end{proof}",
            r"\begin{proof}[Proof of the Key Lemma] C \end{proof}",
            r"Words. \begin{proof} C \end{proof}",
            r"\section{Proofs}\begin{proof} C \end{proof}",
        ),
        *(
            r"\section{Proof of Theorem~\ref{t}}\begin{proof} C \end{proof}",
            r"\section{Proof of Theorem 1.1} C",
            r"We now prove \cref{t}. \begin{proof} C \end{proof}",
            r"\begin{proof}[Proof of Theorem 1.1] C \end{proof}\begin{proof} D \end{proof}",
        ),
        *(
            r"\begin{proof}[Proof of Corollary 9] C \end{proof}",
            r"\begin{proof}[Using \cref{t}] C \end{proof}",
            r"\begin{proof} C \begin{lemma} E \end{lemma}\begin{proof} F \end{proof} \end{proof}",
            r"\section{Proof}\begin{proof} C \end{proof}",
        ),
        *(
            r"\appendix\section{Proof of Lemma \ref{l} using Theorem \ref{t}} C \section{D}",
            r"\section{Proofs}\subsection{Theorem \ref{t}}\begin{proof} C \end{proof}",
            r"\begin{proof}[Proof of Theorems \ref{t} and \ref{l}] C \end{proof}",
        ),
    ):
        found = latex(rf"\section{{S}}{two}{rest}")
        yield rest, {one.name: one.proof for one in found.items if one.proof}, list(found.notes)


def tables_in_latex():
    for rows in (
        *(
            r"a & b \\ \hline 1 & \bfseries 2",
            r"a & \textbf{b 3} \\ \cmidrule(lr){1-2} \textbf{x} 1 & $\mathbf{2}$",
            r"\multicolumn{2}{c}{\textbf{H}} & c \\ 1 & 2 & 3",
            r"\multirow{3}{*}{A} & 1 \\ & 2 \\ & 3 \\ & 4",
        ),
        *(
            r"& 1 \\ \multirow{-2}{*}{A} & 2 \\ B & 3",
            r"a & 46.99{\small +3.1} \\ b & 1\%",
            r"a & \cellcolor{red}5 \\ \rowcolor{gray} b & 6 \\[2pt] c",
            r"a & 12,345 & $1\times 10^3$ \\ \midrule\midrule b & -- & n/a",
            r"\multicolumn{3}{l}{\multirow{2}{*}{B}} \\ x",
        ),
    ):
        found = latex(rf"\begin{{tabular}}{{lll}} {rows} \end{{tabular}}").tables[0]
        yield rows, [[(cell.text, cell.bold, cell.spans) for cell in row] for row in found.rows], sorted(found.rules)
        yield found.name
    floats = (
        r"\begin{table}\caption{One}\begin{tabular}{l}1\end{tabular}\caption{Two}\begin{tabular}{l}2\end{tabular}"
        r"\end{table}\begin{tabularx}{3cm}{ll}a&b\end{tabularx}"
    )
    yield [(one.number, one.caption, [[cell.text for cell in row] for row in one.rows]) for one in latex(floats).tables]


def captions_of_floats():
    for body in (
        *(
            r"\begin{figure}\caption*{None}\end{figure}",
            r"\begin{figure}\begin{subfigure}\caption{Part}\end{subfigure}\caption{Whole}\end{figure}",
            r"\captionof{table}{Of}",
            r"\begin{figure}\captionof{table}[s]{Of \textbf{it}}\end{figure}",
        ),
        *(
            r"\begin{algorithm}[H]\caption{Box} Do $x$. \end{algorithm}",
            r"\begin{figure}\caption{One}\caption{Two}\end{figure}",
            r"\begin{table*}\caption{Wide}\end{table*}",
        ),
    ):
        yield body, [(one.name, one.title, one.text) for one in latex(body).items]


def equations_with_numbers_tags_and_lines():
    for body in (
        *(
            r"\begin{equation*} a \end{equation*}",
            r"\begin{equation} a \tag{3'} \end{equation}\begin{equation} b \end{equation}",
            r"\[ a \tag{A} \]",
            r"\begin{gather} a \\ b \\ \nonumber c \end{gather}",
            r"\begin{multline} a \\ b \end{multline}",
        ),
        *(
            r"\begin{align} a &= b \notag \\ &= c \end{align}",
            r"\begin{align*} a &= b \end{align*}",
            r"\begin{alignat}{2} a &= b \\ c &= d \end{alignat}",
            r"\begin{eqnarray} a &=& b \\ &\le& c \end{eqnarray}",
            r"\begin{equation}\label{q} a \end{equation}\[ b \tag{\ref{q}'} \]",
        ),
    ):
        yield body, [(one.number, one.text) for one in latex(body).items]


def macros_written_out():
    for text in (
        *(
            r"\newcommand{\R}{\mathbb{R}} x \in \R^n",
            r"\newcommand{\n}[1]{\|#1\|} \n{x} \n y",
            r"\newcommand{\m}[2][a]{#1+#2} \m{b} \m[c]{d}",
            r"\def\f#1#2{#1/#2} \f{a}{b}",
            r"\DeclareMathOperator{\tr}{tr} \tr A",
            r"\DeclareMathOperator*{\am}{arg\,min} \am x",
        ),
        *(
            r"\newcommand{\a}{\b}\newcommand{\b}{c} \a",
            r"\renewcommand{\theequation}{A} x",
            r"\newenvironment{e}[1]{\begin{theorem}}{\end{theorem}} \begin{e}",
            r"\NewDocumentCommand{\g}{m m}{#2#1} \g{a}{b}",
            r"\newtheorem{t}[s]{T}[section]",
        ),
        *(
            "\\newcommand{\\x}[1]{#1\n}\n\\x{a\nb} c",
            r"\newcommand{\ref}{no} \ref{a}",
            r"\newcommand{\bad}{\if x} \bad",
            r"\newcommand{\open}{",
            r"\newcommand*{\z}{q}\z z",
        ),
    ):
        found = write_out(text)
        yield text, found.text, found.theorems, dict(found.environments), sorted(found.macros)
    yield group_end("{a{b}c}d", 0), group_end("{a", 0), group_end(r"{\}}", 0), braced("{a{b}}c", 0), braced("{ab", 0)


def conditions_and_their_branches():
    for text in (
        *(
            r"\iffalse a \else b \fi c",
            r"\iftrue a \else b \fi",
            r"\newif\ifx@y \ifx@y a \fi b",
            "\\newif\\ifp\n\\ptrue\n\\ifp a\\else b\\fi",
            r"\ifnum 1<2 a\else b\fi",
            r"\ifnum 2=1 a\else b\fi",
            r"\if aa x\else y\fi",
            r"\if ab x\else y\fi",
        ),
        *(
            r"\ifdefined\foo a\else b\fi",
            r"\unless\iffalse a\else b\fi",
            r"\iff a",
            r"\iffalse \iftrue a \fi b \fi c",
            r"\iffalse a",
            r"\else a",
            r"\ifthenelse{x}{a}{b}",
            r"\newcommand{\a}{\iffoo x\fi} b",
            r"\let\ifq=\iftrue \ifq a\else b\fi",
            r"\ifcase 1 a\or b\fi",
            r"\iftrue a\or b\else c\or d\fi e",
            r"\iffalse a\or b\else c\or d\fi e",
            "\\newif\\ifp\n\\unless\\ifp a\\else b\\fi\\else c",
        ),
        "\\newif\\ifp\n\\ifdefined\\x\n\\ptrue\n\\fi\n\\ifp a\\else b\\fi",
    ):
        state = Conditions(True)
        aside = state.begin_file()
        kept = [state.kept(line, Place("a.tex", at)) for at, line in enumerate(text.split("\n"), 1)]
        state.end_file(aside)
        yield text, kept, list(state.notes)
    quiet = Conditions(False)
    quiet.declare(r"\newif\ifstyled")
    yield quiet.kept(r"\ifstyled a\fi \ifdefined\x b\fi", Place("a", 1)), list(quiet.notes)
    yield quiet.kept(r"\begin{document}\ifstyled a\fi", Place("a", 2)), list(quiet.notes)


def verbatim_text_and_labels_of_listings():
    for text in (
        *(
            "a \\begin{verbatim} b \\end{verbatim} c",
            "\\begin{lstlisting}[label={x}, a]\ncode \\label{y}\n\\end{lstlisting} d",
            "\\begin{lstlisting}\n[label=no]\n\\end{lstlisting}",
            "\\begin{minted}{c} \\label{m} \\end{minted}",
            "\\begin{comment}\n\\end{verbatim}\n\\end{comment}e",
            "\\begin{lstlisting} x\n\\end{verbatim} $y$ \\begin{comment}\n\\end{lstlisting} b \\end{minted}",
        ),
        "\\begin{verbatim}\\label{v}",
    ):
        state = Verbatim()
        yield text, [state.kept(line) for line in text.split("\n")], state.inside


def latex_as_words():
    targets: Mapping = {"t": ("theorem", "3"), "e": ("equation", "4"), "s": (None, "2")}
    readable = Readable(targets)
    for text in (
        *(
            r"See \cref{t}, \ref{t}, \eqref{e}, \cref{e}, \ref{e}, \autoref{s}, \ref{none}.",
            r"\cite[see][p.~2]{a, b} \citep{c}",
            r"``quoted'' --- a--b~c \% \& 12\,500",
            r"\'e \"{o} \ss \o \S \ldots \pm",
            r"\textbf{b} {\em e} \label{x}\vspace{1em} f",
        ),
        *(
            r"\begin{itemize}\item a \item[b] c\end{itemize}",
            r"\[ x \label{y} \] and \(z\) and $$w$$",
            r"\begin{align} a &= b \\ c &= d \end{align}",
            r"\hyperref[t]{here} \href{u}{v} \nameref{t}",
            r"\color{red} r \textcolor{blue}{s}",
            r"\\ new \@ line\ x",
        ),
    ):
        yield text, readable.words(text), plain_words(text)
    for body, environment in (
        (r"a &= b \\", "align"),
        (r"a = b \\", "align"),
        (r" a = b \\ ", "equation"),
        (r"a = b \\", ""),
        (r"a \& b & c", ""),
        (r"\begin{subequations} \displaystyle a \end{subequations} \tag*{x{y}} \notag", "displaymath"),
        (r"\ensuremath{a} \textstyle b \limits_c \displaystyles \label {q}", "math"),
        (r"a &= b", ""),
        (r"{2} a \\ b", "alignat"),
        (r"a \label{x} \nonumber", "equation"),
        (r"\begin{cases} a & b \end{cases}", ""),
        ("a", "gather*"),
    ):
        yield formula(body, environment)


def references_by_every_command():
    readable = Readable({"t": ("theorem", "3"), "e": ("equation", "4"), "s": (None, "2")})
    for how in ("ref", "eqref", "cref", "Cref", "autoref", "Autoref", "thref", "Thref", "pageref", "cref*", "ref*"):
        yield how, [readable.words(rf"By \{how}{{{label}}} it is") for label in ("t", "e", "s", "none", "t,e")]


def displays_of_every_environment():
    for name in ("align", "eqnarray", "alignat", "flalign", "gather", "multline", "IEEEeqnarray", "equation", "split"):
        yield name, [formula(r"{2} a &= b \\ c &\le d", name + star) for star in ("", "*")]


def what_is_never_closed_or_not_reached():
    for body in (
        r"\begin{theorem} a",
        r"{ a \begin{theorem} b \end{theorem}",
        r"$ a \begin{theorem} b \end{theorem}",
        r"\begin{theorem} a \begin{equation} b \end{theorem}",
        "\\section{A}\n\n\\begin{center} \\begin{lemma} c \\end{lemma}",
    ):
        yield body, refused(_numbers, body)
