"""Each mechanical check finds a planted erratum, and raises nothing on the same text without it."""

import pytest

from paper_checks.inventory.candidates import CHECKS, find_candidates
from paper_checks.inventory.checks.grim import possible
from paper_checks.inventory.reading import read_document
from paper_checks.methods.rounded import Rounded

PREAMBLE = r"""\documentclass{article}
\newtheorem{theorem}{Theorem}\newtheorem{lemma}{Lemma}\newtheorem{assumption}{Assumption}
\begin{document}
\begin{abstract}We bound the rate by %s.\end{abstract}
\section{Results}
"""
RESULTS = r"""In \cref{tab:a} the methods are compared. %(text)s
\begin{table}\caption{Accuracies.%(caption)s}\label{tab:a}
\begin{tabular}{%(columns)s} \toprule
%(rows)s
\bottomrule \end{tabular}\end{table}
"""


def table(rows, text="", caption="", columns="lcccc"):
    return RESULTS % {"rows": rows, "text": text, "caption": caption, "columns": columns}


AVERAGES = r"""Method & A & B & C & Avg. \\ \midrule
one & 91.2 $\pm$ 0.1 & 80.4 $\pm$ 0.3 & 70.0 $\pm$ 0.2 & 80.5 \\
two & 90.0 $\pm$ 0.2 & 82.5 $\pm$ 0.1 & 71.4 $\pm$ 0.9 & 81.3 \\
three & 93.1 $\pm$ 0.1 & 79.9 $\pm$ 0.1 & 75.2 $\pm$ 0.3 & %s \\"""
LAST_ROW = r"""Task & one & two & three \\ \midrule
A & 91.2 & 80.4 & 70.0 \\
B & 90.0 & 82.5 & 71.4 \\
C & 93.1 & 79.9 & 75.2 \\ \midrule
Average & 91.4 & %s & 72.2 \\"""
SUMS = r"""Site & women & men & others & Total \\ \midrule
north & 12 & 15 & 1 & 28 \\
south & 20 & 11 & 0 & 31 \\
west & 9 & 14 & 2 & %s \\"""
DIFFERENCES = r"""Clients & base & ours & gain \\ \midrule
20 & 69.97 & 72.81 & 2.84 \\
50 & 64.68 & 66.45 & 1.77 \\
100 & 55.14 & 57.96 & %s \\
200 & 38.85 & 44.85 & 6.00 \\"""
RATIOS = r"""Clients & base & ours & ratio \\ \midrule
20 & 69.97 & 66.81 & -0.045 \\
50 & 64.68 & 62.45 & -0.034 \\
100 & 55.14 & 57.96 & %s \\
200 & 38.85 & 44.85 & +0.154 \\"""
PERCENTAGES = r"""Class & wrong & all & share of wrong \\ \midrule
a & 12 & 80 & 15.0 \\
b & 30 & 240 & 12.5 \\
c & 7 & 64 & %s \\
d & 50 & 625 & 8.0 \\"""
GAINS = r"""Method & A & B & C \\ \midrule
base & 26.19 & 42.78 & 51.51 \\
one & $27.15^{\color{+}+ 3.67\%%}$ & $43.51^{\color{+}+ 1.71\%%}$ & $55.19^{\color{+}+ 7.14\%%}$ \\
two & $29.03^{\color{+}+ 10.84\%%}$ & $46.99^{\color{+}+ %s\%%}$ & $53.42^{\color{+}+ 3.71\%%}$ \\"""
MARKS = r"""Method & A & B & C & D \\ \midrule
\multirow{2}{*}{one} & 91.2 & 80.4 & 70.0 & \textbf{61.5} \\
& 90.0 & %s & 71.4 & 60.0 \\ \cmidrule(lr){2-5}
two & \textbf{93.1} & 79.9 & \textbf{75.2} & 58.8 \\"""
SECOND = r"""In Table~\ref{tab:b} the same runs are shown with a third method.
\begin{table}\caption{More accuracies.}\label{tab:b}
\begin{tabular}{lcccc} \toprule
Method & A & B & C & D \\ \midrule
one & 91.2 $\pm$ 0.1 & 80.4 $\pm$ %s & 70.0 & 61.5 \\
two & 93.1 $\pm$ 0.1 & 79.9 $\pm$ 0.2 & 75.2 & 58.8 \\
three & 11.1 & 12.2 & 13.3 & 14.4 \\ \bottomrule
\end{tabular}\end{table}
"""
FIRST = r"""Method & A & B & C & D \\ \midrule
one & 91.2 $\pm$ 0.1 & 80.4 $\pm$ 0.3 & 70.0 & 61.5 \\
two & 93.1 $\pm$ 0.1 & 79.9 $\pm$ 0.2 & 75.2 & 58.8 \\"""
CLIENTS = r"""Rank & $r = 128$ & $r = 64$ & $r = 32$ \\ \midrule
setting 1 & 5 & 10 & 5 \\
setting 2 & - & 8 & %s \\"""
GROUPS = r"""Group & n & mean \\ \midrule
first & 20 & 3.45 \\
second & 25 & 3.48 \\
third & 18 & %s \\"""
SIZES = r"""Message & Size \\ \midrule
one & %s \\
two & 250 KB \\"""
MAGNITUDES = r"""Model & Memory & Accuracy \\ \midrule
one & 410 MB & 90.1 \\
two & 395 MB & 90.2 \\
three & %s & 90.4 \\
four & 520 MB & 91.0 \\"""
STATEMENT = r"""By \cref{asm:s} and \cref{lem:a} the theorem follows.
\begin{assumption}\label{asm:s} $f$ is $L$-smooth. \end{assumption}
\begin{lemma}\label{lem:a} For $\eta \le \frac{1}{4L}$ the loss falls. \end{lemma}
\begin{proof} %(proof)s \end{proof}
\begin{theorem}[Rate]\label{thm:a} Under \cref{asm:s}, for every step size $\eta \le \frac{1}{12L}$ and all
$T \ge 1$, the mean of the squared norms of the gradients is at most
$\frac{4}{\eta T}(f_0 - f^*) + 3\eta L \sigma^2 = O(T^{-1/2})$.
\end{theorem}
\section{Proofs}
%(more)s
"""
RESTATED = r"""\begin{theorem}[Restatement of Theorem 1]
Under \cref{asm:s}, for every step size $\eta \le \frac{1}{12L}$ and all
$T \ge 1$, the mean of the squared norms of the gradients is at most
$\frac{%s}{\eta T}(f_0 - f^*) + 3\eta L \sigma^2 = O(T^{-1/2})$.
\end{theorem}"""


SUMS_OF_WEIGHTS = r"""By \cref{thm:a} the value is
\[ \phi_i(v) = \sum_{S \subseteq N \setminus \{i\}} \frac{|S|! (n - |S| - 1)!}{n!} (v(S \cup \{i\}) - v(S)). \] It is
\[ \phi_j(v) = \sum_{S \subseteq N \setminus \{j\}} \frac{|S|! (n %s)!}{n!} (v(S \cup \{j\}) - v(S)). \]"""


def statement(proof="Let $\\eta \\le \\frac{1}{4L}$. The loss falls.", more="See \\cref{thm:a}."):
    return STATEMENT % {"proof": proof, "more": more}


PLANTED = {
    "average": (table(AVERAGES), "83.7", "82.7"),
    "average of a column": (table(LAST_ROW), "81.9", "80.9"),
    "sum": (table(SUMS), "26", "25"),
    "difference": (table(DIFFERENCES), "2.28", "2.82"),
    "difference, relative": (table(RATIOS), "+0.055", "+0.051"),
    "difference, percentage": (table(PERCENTAGES), "11.9", "10.9"),
    "gain": (table(GAINS), "8.94", "9.84"),
    "best mark": (table(MARKS), r"\textbf{80.2}", "82.5"),
    "repeated entry": (table(FIRST) + SECOND, "0.1", "0.3"),
    "total": (table(CLIENTS, caption=" Both settings have a total of 20 clients."), "11", "12"),
    "quoted number": (table(FIRST, "In Table~\\ref{tab:a}, method one reaches %s\\%% on task A."), "91.8", "91.2"),
    "count": (table(FIRST, "Of the samples, 17 of 28 (%s\\%%) are right."), "67.0", "60.7"),
    "count, part above whole": (table(FIRST, "The method wins in %s of the 27 settings."), "29", "20"),
    "GRIM": (table(FIRST, "The $n = 20$ raters gave a mean of %s."), "3.47", "3.45"),
    "GRIM in a table": (table(GROUPS), "3.47", "3.44"),
    "GRIM, percentage": (table(FIRST, "On 40 test questions the model has an accuracy of %s\\%%."), "71.3", "72.5"),
    "size": (table(FIRST, "A message has %s (1.5 GB)."), "150 MB", "1500 MB"),
    "size, 1000 and 1024": (table(SIZES), "187.5 KB", "192 KB"),
    "size, another unit": (table(MAGNITUDES), "402 GB", "402 MB"),
    "formula": (statement(more=SUMS_OF_WEIGHTS), "- |S|", "- |S| - 1"),
    "reference": (table(FIRST, r"This is \cref{%s}."), "tab:c", "tab:a"),
    "constant": (statement(more=RESTATED), "8", "4"),
    "constant in a proof": (statement(proof=r"We use $\eta \le \frac{1}{%sL}$, as required."), "8", "4"),
    "unused": (
        statement(more=r"By %s the claim follows."),
        r"\cref{thm:a}. \begin{lemma} Idle. \end{lemma} It",
        r"\cref{thm:a}",
    ),
}


def candidates(tmp_path, text, rate="$O(T^{-1/2})$"):
    source = tmp_path / "paper.tex"
    source.write_text(PREAMBLE % rate + text + "\n\\end{document}\n")
    return find_candidates(read_document(str(source)))


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_erratum_is_found(tmp_path, name):
    text, wrong, _ = PLANTED[name]
    (found,) = candidates(tmp_path, text % wrong)
    assert found.check == name.split(",")[0].split(" in ")[0].split(" of ")[0]
    assert found.place.file == "paper.tex"


@pytest.mark.parametrize("name", PLANTED)
def test_its_clean_twin_raises_nothing(tmp_path, name):
    text, _, right = PLANTED[name]
    assert candidates(tmp_path, text % right) == ()


def test_a_rate_of_the_abstract_that_no_statement_has_is_found(tmp_path):
    (found,) = candidates(tmp_path, statement(), rate="$O(1/T)$")
    assert (found.check, found.about) == ("constant", "abstract")
    assert candidates(tmp_path, statement(), rate=r"$\mathcal{O}(1/\sqrt{T})$") == ()


RATE = r"By \cref{t} all holds. \begin{theorem}\label{t} The error is at most $O(%s)$. \end{theorem}"


@pytest.mark.parametrize(
    ("abstract", "statement", "differ"),
    [
        ("d/n", r"\frac{d}{n}", False),
        ("1/m^2", "m^{-2}", False),
        (r"1/\sqrt{KT}", "(KT)^{-1/2}", False),
        (r"\tfrac1{\sqrt{K T}}", r"K^{-0.5}\,T^{-\frac12}", False),
        (r"\left(\frac{d}{n}\right)^{1/2}", r"\sqrt{d/n}", False),
        (r"\frac{\log T}{T}", r"T^{-1} \ln(T)", False),
        (r"\frac{1}{T} + \frac{2}{\sqrt T}", "T^{-1/2} + T^{-1}", False),
        (r"(a+b)^2", "a^2 + 2ab + b^2", False),
        (r"\sqrt[3]{T}", "T^{1/3}", False),
        (r"d^{1/2}/\varepsilon^2", r"\sqrt{d}\epsilon^{-2}", False),
        ("1/KT", r"\frac{1}{KT}", False),  # which of two it means is open
        (r"T^{\alpha}", "T^2", False),  # not understood
        ("T^{9^{9^{9^9}}}", "T^2", False),
        ("n", "d", False),  # of something else
        ("d/n", r"\frac{d}{n^2}", True),
        ("m^{-2}", r"1/\sqrt{m}", True),
        (r"1/\sqrt{KT}", "(KT)^{-1/3}", True),
        (r"\frac{1}{T} + \frac{1}{\sqrt T}", "T^{-1/2} + T^{-2}", True),
    ],
)
def test_rates_are_compared_as_algebra(tmp_path, abstract, statement, differ):
    found = candidates(tmp_path, RATE % statement, rate=f"$O({abstract})$")
    assert [one.about for one in found] == ["abstract"] * differ
    assert all(f"O({abstract})" in one.says and statement in one.says for one in found)


def test_a_definition_of_a_ratio_that_its_column_does_not_follow_is_found(tmp_path):
    text = table(RATIOS % "+0.051", caption=r" The ratio is $\frac{\text{ours} - \text{base}}{\text{%s}}$.")
    (found,) = candidates(tmp_path, text % "ours")
    assert "relative to base" in found.says
    assert candidates(tmp_path, text % "base") == ()


def test_a_label_that_is_defined_twice_is_found(tmp_path):
    text = table(FIRST)
    (found,) = candidates(tmp_path, text + text.replace("91.2", "11.2").replace("93.1", "13.1").replace("75.2", "15.2"))
    assert "defined 2 times" in found.says


def test_averages_are_judged_by_the_intervals_of_their_last_digits(tmp_path):
    # 81.0, 82.0 and 84.0 can be anything within 0.05: their mean is in [82.283..., 82.383...].
    rows = (
        r"Method & A & B & C & Avg. \\ \midrule one & 81.0 & 82.0 & 84.0 & 82.3 \\ two & 80.0 & 80.0 & 80.0 & 80.0 \\ "
    )
    rows += r"three & 81.0 & 82.0 & 84.0 & %s \\"
    assert candidates(tmp_path, table(rows % "82.4")) == ()
    assert [one.check for one in candidates(tmp_path, table(rows % "82.5"))] == ["average"]


def test_weighted_averages_of_every_row_are_not_errata(tmp_path):
    rows = (
        r"Method & A & B & C & Avg. \\ \midrule one & 81.0 & 82.0 & 84.0 & 83.5 \\ two & 70.0 & 80.0 & 90.0 & 88.1 \\ "
    )
    assert candidates(tmp_path, table(rows + r"three & 60.0 & 65.0 & 84.0 & 77.7 \\")) == ()


def test_smallest_entries_can_be_best(tmp_path):
    rows = r"""Error & A $\downarrow$ & B $\downarrow$ & C $\downarrow$ & D $\downarrow$ \\ \midrule
one & \textbf{1.2} & 2.4 & \textbf{0.7} & %s \\
two & 1.9 & \textbf{2.1} & 0.9 & 3.0 \\"""
    assert candidates(tmp_path, table(rows % r"\textbf{2.9}")) == ()
    assert [one.check for one in candidates(tmp_path, table(rows % r"\textbf{3.1}"))] == ["best mark"]


def test_a_method_whose_name_and_numbers_are_bold_is_no_mark_of_the_best(tmp_path):
    rows = r"""Method & A & B & C & D \\ \midrule
one & 91.2 & 80.4 & 70.0 & 61.5 \\
\textbf{ours} & \textbf{90.0} & \textbf{82.5} & \textbf{69.4} & \textbf{60.0} \\"""
    assert candidates(tmp_path, table(rows)) == ()


@pytest.mark.parametrize(
    ("mean", "n", "can"), [("3.45", 20, True), ("3.47", 20, False), ("5.19", 28, False), ("5.18", 28, True)]
)
def test_grim_is_right_on_known_means(mean, n, can):
    assert possible(Rounded.printed(mean), n) is can
    assert any(abs(total / n - float(mean)) <= 0.005 + 1e-12 for total in range(10 * n)) is can


def test_mentions_of_other_works_are_no_dangling_references(tmp_path):
    source = tmp_path / "paper.txt"
    source.write_text(
        "Lemma 1. The sum is small.\n\nBy Lemma 1 and Theorem 3 of Smith "
        "(2020), and by [7, Lemma 9], it holds. See also Lemma 4.4 of "
        "(Vershynin, 2018).\n\nTheorem 2. The mean is small.\n\nBy Theorem 2 we are done, as by Lemma 8.\n"
    )
    found = find_candidates(read_document(str(source)))
    assert [one.says for one in found] == ["Lemma 8: there is no lemma 8"]


def test_every_check_has_a_planted_erratum():
    checks = {"average": "averages", "sum": "sums", "difference": "differences", "repeated entry": "repeated entries"}
    checks |= {
        "best mark": "best marks",
        "quoted number": "quoted numbers",
        "count": "counts",
        "GRIM": "GRIM",
        "size": "sizes",
    }
    checks |= {
        "gain": "gains",
        "formula": "formulas",
        "constant": "constants",
        "reference": "references",
        "unused": "unused",
    }
    assert set(checks.values()) == set(CHECKS)
    assert set(checks) <= set(PLANTED)


ENDING = r"""The result is \cref{lem:e}. \begin{lemma}\label{lem:e} We have
\begin{equation} %s \end{equation} \end{lemma}
\section{Proof of Lemma~\ref{lem:e}}
\begin{proof} We begin. \begin{align*} %s \end{align*} It is left to choose $x$. \end{proof}"""
GRADIENT = r"\mathbb{E}\left[\left\| \nabla f(\widehat{x}^T) \right\|^2\right] \leq "
MEAN = r"\frac{1}{T} \sum_{t=0}^{T-1} \mathbb{E}\left[\left\| \nabla f(x^t) \right\|^2\right] &\leq "
LAST = r"\frac{2\Delta_0}{\gamma T} + \frac{%s\Psi^{0}}{T} + 2C"


@pytest.mark.parametrize(
    ("stated", "proved", "differ"),
    [
        (GRADIENT + LAST % "", MEAN + LAST % "2", True),
        (GRADIENT + LAST % "2", MEAN + LAST % "2", False),
        (GRADIENT + LAST % "2", MEAN + r"\frac{2}{T} \left( \frac{\Delta_0}{\gamma} + \Psi^0 + CT \right)", False),
        (
            r"L \leq mcn\eta^2\epsilon^2",
            r"L &\leq m \sum_{i=1}^c n^2\eta^2\epsilon^2 \\ &= mcn^2\eta^2\epsilon^2",
            True,
        ),
        (r"L \leq mcn^2\eta^2\epsilon^2", r"L &\leq m \sum_{i=1}^c n^2\eta^2 \\ &= mcn^2 \eta^2\epsilon^2", False),
        (r"\|x^t - y\|^2 \le \frac{4}{\mu} A_0", r"\left\| x^t - y \right\|^2 &\le B \\ &= 8 A_0 / \mu.", True),
        (r"\|x^t - y\|^2 \le \frac{4}{\mu} A_0", r"\| x^{t+1} - y \|^2 &\le \tfrac{4}{\mu} A_0", False),
        (r"\|x\| \le 2ab", r"\| x \| &\le 3ab \\ &\le 2ab", False),
        (r"\|x\| \le 2ab", r"\| x \| &\le 2ab + 3c", False),  # another sum
        (r"\|x\| \le 2ab", r"\| x \| &\le 2ac", False),  # another symbol
        (r"\|x\| \le 2ab", r"\| y \| &\le 3ab", False),  # about something else
        (r"\|x\| \le 2ab", r"\| x \| &\ge 3ab", False),
        (r"\|x\| \le 2ab_1", r"\| x \| &\le 2ab_2", False),
        (r"\|x\| = \mathcal{O}(ab)", r"\| x \| &= \mathcal{O}(2ab)", False),
        (r"\|x\| \le ab", r"\| x \| &\le a \exp(b^{t})", False),  # not understood
        *(
            (r"\|x\| \le 2ab", rf"\| x \| &\le 3{space}a{space} b", True)
            for space in (r"\,", r"\;", r"\:", r"\!", r"\ ")
        ),
        (r"\|x\| \le 2ab", r"\| x \| &\le 2\,a\;b", False),
        (r"\|x\| \le 2\,a\;b", r"\| x \| &\le 2ab", False),
    ],
)
def test_a_proof_that_ends_with_another_factor_or_power_is_found(tmp_path, stated, proved, differ):
    found = candidates(tmp_path, ENDING % (stated, proved))
    assert [(one.check, one.about) for one in found] == [("constant", "Lemma 1")] * differ
    assert all("the proof ends with" in one.says for one in found)


COLLAPSE = r"""Task & Model & Base & Ours & Rate \\ \midrule
PubMed & small & 0.210 & 0.650 $\pm$ 0.046 & 0.830 \\
PubMed & large & 0.620 & 0.690 $\pm$ 0.010 & 0.884 \\
MedQA & small & 0.317 & 0.414 $\pm$ 0.024 & 0.392 \\
MedQA & large & 0.436 & 0.539 $\pm$ 0.012 & 0.323 \\"""


@pytest.mark.parametrize(
    ("sentence", "meant"),
    [
        ("the rate falls from 0.884 to 0.329 on MedQA and from 0.830 to 0.323.", "0.392"),
        (r"on PubMed it rises from 0.210 to 0.650 $\pm$ 0.046, on MedQA from 0.317 to 0.424 $\pm$ 0.024.", "0.414"),
        ("it is the best. That is clear. On MedQA, Base has only 0.371.", "0.317"),
        ("the base has 0.201 on PubMed.", "0.210"),
        ("on PubMed it has 0.650 $\\pm$ 0.064.", "0.046"),
        ("it improves by 0.103 on MedQA.", None),  # 0.539 - 0.436
        ("there is a gain of 0.222 on MedQA.", None),  # 0.539 - 0.317, not in one row or column
        ("the gap is 0.070 on PubMed.", None),
        ("the base gains 0.410 points from small to large on PubMed.", None),  # 0.620 - 0.210
        ("it is $1.48$ times faster, by 31.3\\% on MedQA.", None),
        ("on average it has 0.573 on PubMed.", None),
        ("with $p < 0.436$ and $\\alpha = 0.435$ on PubMed.", None),
    ],
)
def test_a_number_of_a_sentence_may_be_a_difference_only_where_it_says_so(tmp_path, sentence, meant):
    text = table(COLLAPSE, r"In Table~\ref{tab:a}, " + sentence.replace("%", "%%"), columns="llccc").replace("%%", "%")
    found = candidates(tmp_path, text)
    assert [one.values[1] for one in found] == ([meant] if meant else [])


@pytest.mark.parametrize(
    ("text", "times"),
    [
        (r"\begin{equation}\label{s} a \end{equation}\begin{equation}\label{s} b \end{equation}", 2),
        (r"\begin{equation}\label{s} a \end{equation} By \eqref{s}. \section{B}\label{s}\section{C}\label{s}", 3),
        (r"\begin{enumerate}[label=(\roman*)]\item a\end{enumerate}\begin{enumerate}[label=(\roman*)]\item b"
         r"\end{enumerate}", 0),
        (r"\begin{axis} \xlabel{Step} \end{axis} \begin{axis} \xlabel{Step} \end{axis}", 0),
    ],
)  # fmt: skip
def test_a_label_that_is_defined_twice_is_found_without_a_reference(tmp_path, text, times):
    found = candidates(tmp_path, "Words. " + text)
    assert [f"defined {times} times" in one.says for one in found] == [True] * bool(times)
    assert all(("nothing refers to it" in one.says) == (times == 2) for one in found)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (r"a 44,978-example mixture", "44,987 training examples", True),
        (r"44\,978 examples", "44987 new examples", True),
        ("44,978 examples", "44,978 training examples", False),
        ("44,978 examples", "44,987 tokens", False),
        ("44,978 examples", "44,789 examples", False),
        ("about 44,978 examples", "44,987 examples", False),
    ],
)
def test_a_long_number_with_two_digits_exchanged_is_found(tmp_path, first, second, found):
    text = f"We train on {first} of text.\n\n\\section{{Data}} The set has {second} in it."
    assert [one.check for one in candidates(tmp_path, text)] == ["count"] * found


def ratios(head, rows):
    body = "\n".join(" & ".join(row) + r" \\" for row in rows)
    return (
        r"\documentclass{article}\begin{document}\begin{table}\caption{T}\begin{tabular}{lrrr}"
        + "\n"
        + " & ".join(head)
        + r" \\ \hline"
        + "\n"
        + body
        + "\n"
        + r"\end{tabular}\end{table}\end{document}"
    )


@pytest.mark.parametrize(
    ("head", "rows", "wrong"),
    [
        (
            ("Threads", "Base ms", "Opt. ms", "Speedup"),
            [("1", "13.527", "13.286", "1.018"), ("2", "6.895", "6.591", "1.064"), ("4", "4.932", "3.465", "1.423")],
            ["1.0461"],
        ),
        (
            ("cap", "return", "volatility", "Sharpe"),  # a name that does not say that it compares
            [
                ("1.0", "0.076", "0.158", "0.484"),
                ("1.5", "0.096", "0.158", "0.621"),
                ("2.0", "0.097", "0.178", "0.545"),
                ("3.0", "0.094", "0.258", "0.365"),
            ],
            ["0.6076"],
        ),
        (
            ("cap", "return", "volatility", "Sharpe"),  # two rows of four disagree: another definition
            [
                ("1.0", "0.076", "0.158", "0.494"),
                ("1.5", "0.096", "0.158", "0.621"),
                ("2.0", "0.097", "0.178", "0.545"),
                ("3.0", "0.094", "0.258", "0.365"),
            ],
            [],
        ),
        (
            ("cap", "return", "volatility", "Sharpe"),  # three rows with such a name are too few
            [
                ("1.0", "0.076", "0.158", "0.484"),
                ("1.5", "0.096", "0.158", "0.621"),
                ("3.0", "0.094", "0.258", "0.365"),
            ],
            [],
        ),
    ],
)
def test_a_ratio_of_two_columns_that_one_row_breaks_is_shown(tmp_path, head, rows, wrong):
    (tmp_path / "p.tex").write_text(ratios(head, rows))
    found = [one.says for one in find_candidates(read_document(tmp_path / "p.tex")) if one.check == "difference"]
    assert len(found) == len(wrong)
    for text, value in zip(found, wrong, strict=True):
        assert f"gives {value}" in text
