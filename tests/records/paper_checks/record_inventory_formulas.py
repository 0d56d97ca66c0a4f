"""Records of formulas and statements: rates as algebra, constants that change, formulas printed twice, references."""

from invented_texts import display, document, item, latex, plain, said
from recording import refused

from paper_checks.inventory.candidates import CHECKS, comparisons, find_candidates, statements
from paper_checks.inventory.checks.constants import constants
from paper_checks.inventory.checks.endings import endings
from paper_checks.inventory.checks.formulas import formulas
from paper_checks.inventory.checks.rates import one_change, read_exactly, read_rate, symbols
from paper_checks.inventory.checks.references import dangling, unused
from paper_checks.inventory.displays import by_number, display_rows, goes_on
from paper_checks.inventory.document import Place, Reference

RATES = (
    *(
        r"\frac{1}{\sqrt{KT}}",
        "(KT)^{-1/2}",
        "K^{-0.5}T^{-0.5}",
        r"\frac1T + \frac{1}{T^2}",
        r"\sqrt[3]{T}",
        r"\log T / T",
        r"\ln^2 T",
        "1/mn",
        "1/m n",
    ),
    *(
        r"1/m \cdot n",
        r"\epsilon^{-2}",
        r"\varepsilon^{-2}",
        r"T^{13}",
        r"T^{12}",
        "(a + b)^2",
        "(a + b)^{1/2}",
        "a_1 b'",
        r"a_{i,j}",
        r"\sum x",
        r"\frac12",
        r"2^{-T}",
    ),
    *(
        r"x^{\frac{1}{2}}",
        r"x^{-1/3}",
        "x^0",
        "a - b",
        "a·b",
        "",
        "(",
        "a^b",
        r"\exp(-T)",
        r"\sqrt[1]{T}",
        r"\sqrt[13]{T}",
        "T^{1/0}",
        "a+b+a",
        "3",
        r"\tfrac{ab}{c}",
    ),
)


SPECIAL = (
    *(r"\to", r"\in", r"\quad", r"\geq", r"\ge", r"\leq", r"\le", r"\int", r"\prod", r"\sum", r"\end", r"\begin"),
    *(r"\widetilde", r"\hat", r"\tilde", r"\bar", r"\operatorname", r"\text", r"\mathcal", r"\mathbf", r"\mathrm"),
    *(r"\eta", r"\cdot", r"\times", r"\log"),
)


def _rate(rate):
    return (
        rate
        if rate is None
        else sorted(
            sorted((name if name[0] != "\\" or len(name) < 12 else "name", str(power)) for name, power in term)
            for term in rate
        )
    )


def rates_as_algebra():
    for text in RATES:
        yield text, _rate(read_rate(text)), _rate(read_exactly(text))
    yield symbols(read_rate(r"\frac{a}{b} + c^2")), symbols(read_rate("1"))
    for name in SPECIAL:
        yield name, _rate(read_rate(f"a {name} b")), _rate(read_rate(f"{name} {{b}} c"))
        yield _rate(read_rate(rf"{name}{{b}}^2 c")), _rate(read_exactly(rf"2 {name} b c"))
    deep = "(" * 19 + "a" + ")" * 19
    yield read_rate(deep) is None, read_rate(f"({deep})") is None
    yield read_rate("+".join(f"a_{k}" for k in range(40))) is None
    yield read_rate("+".join(f"a_{k}" for k in range(41))) is None


def sums_with_their_coefficients():
    for one, other in (
        *(
            (r"\frac{2 a}{4 b}", r"\frac{a}{2b}"),
            ("2ab", "ab"),
            ("6a", "2 \\cdot 3 a"),
            ("a + a", "2a"),
            (r"\|x\|^2", r"\lVert x \rVert^2"),
            ("1.5a", r"\frac{3}{2}a"),
        ),
        *(
            (r"\mathbf{x} y", r"\mathbf{x}y"),
            (r"\bar{x}_k", r"\bar x_k"),
            ("x^*", "x"),
            ("x^{(t)}", "x^{(s)}"),
            ("1000000a", "1000001a"),
            ("0a", "a"),
            ("x^0 y", "y"),
        ),
    ):
        first, second = read_exactly(one), read_exactly(other)
        yield first is None, second is None, first == second


def changes_by_one_factor_or_power():
    for one, other in (
        *(
            ("mcn + a", "mcn^2 + a"),
            ("mcn + a", "mc + a"),
            ("2mcn + a", "3mcn + a"),
            ("2mcn + a", "3mcn^2 + a"),
            ("m^2c^2 + a", "mc + a"),
            ("a + b", "a + b"),
            ("a + b", "a"),
        ),
        *(("2a + 3b", "3a + 2b"), ("4a", "a"), ("a", "a + b"), ("ab", "ac")),
    ):
        yield one_change(read_exactly(one), read_exactly(other))


def bounds_that_a_proof_quotes():
    for proof in (
        r"\frac{1}{4L}",
        r"\frac{1}{6L}",
        r"\frac{1}{L}",
        r"\frac{2}{4L}",
        r"\frac{1}{4L^2}",
        r"\frac{1}{4M}",
    ):
        for sign in (r"\le", "=", r"\ge", "<"):
            one = item(
                "theorem", "1", r"For $\eta \le \frac{1}{4L}$ it holds.", rf"As $\eta {sign} {proof}$, we get it."
            )
            yield proof, sign, said(constants, document(items=[one]))
    chain = item(
        "lemma",
        "2",
        r"Let $\eta = c \le \frac{1}{4L}$; $\beta < 3 \sigma^2$.",
        r"By $\eta \leq \tfrac{1}{8L}, \beta \leqslant 3\sigma^2$ and $\beta \le 5 \sigma^{2}$.",
    )
    yield said(constants, document(items=[chain, item("equation", "3", r"\eta \le 2L", r"\eta \le 4L")]))


RESTATED = (
    r"Under Assumption 1, for every step size $\eta \le \frac{1}{12L}$ and all $T \ge 1$, the mean of the squared "
    r"norms of the gradients is at most $\frac{%s}{\eta T}(f_0 - f^*) + 3\eta L \sigma^2$."
)


def statements_that_are_printed_twice():
    first = item("theorem", "1", RESTATED % 4)
    for other in (
        *(
            item("theorem", "7", RESTATED % 2, title="Restatement of Theorem 1", line=50, section="A"),
            item("theorem", "7", RESTATED % 4, title="Restatement of Theorem 1", line=50, section="A"),
        ),
        *(
            item("theorem", "7", RESTATED % 2, line=50, section="A"),
            item("theorem", "7", RESTATED % 2, line=50),
            item("lemma", "7", RESTATED % 2, line=50, section="A"),
        ),
        *(
            item("theorem", "7", "Theorem 1 (restated). " + RESTATED % 2, line=50, section="A"),
            item("theorem", "7", RESTATED % "4c", title="Theorem 1 repeated", line=50, section="A"),
        ),
        *(
            item(
                "theorem",
                "7",
                (RESTATED % 4).replace("3\\eta", "5\\eta").replace("12L", "6L"),
                title="Restatement of Theorem 1",
                line=50,
                section="A",
            ),
        ),
        *(
            item(
                "theorem", "7", "Something else with $x = 2$.", title="Restatement of Theorem 1", line=50, section="A"
            ),
            item("theorem", "7", RESTATED % 22, title="Rate", line=50, section="A"),
        ),
    ):
        yield said(constants, document(items=[first, other]))
    titled = item("theorem", "1", RESTATED % 4, title="Rate")
    yield said(constants, document(items=[titled, item("theorem", "2", RESTATED % 5, title="Rate", line=9)]))
    yield said(
        constants,
        document(items=[item("definition", "1", RESTATED % 4), item("definition", "2", RESTATED % 5, section="A")]),
    )


def rates_of_the_abstract():
    stated = item("theorem", "1", r"The rate is $O(1/\sqrt{KT})$, and $\Omega(T^{-2})$.")
    for abstract in (
        r"A rate of $O(1/\sqrt{KT})$.",
        r"A rate of $O((KT)^{-1/2})$.",
        r"A rate of $O(1/(KT))$.",
        r"A rate of $O(1/\sqrt{T})$.",
        r"A rate of $\Omega(1/T)$.",
        r"A rate of $O(T^{-2})$.",
        "No rate.",
    ):
        yield said(constants, document(items=[stated], text=[abstract], abstract=abstract))
        yield said(constants, document(text=[abstract], abstract=abstract))


def ends_of_proofs():
    for end in (
        r"\frac{2 m c n}{T}",
        r"\frac{3 m c n}{T}",
        r"\frac{2 m c n^2}{T}",
        r"\frac{2 m c}{T}",
        r"\frac{2 m c n}{T} + 1",
        r"\frac{2 m^2 c^2 n}{T}",
        r"\frac{1}{T}",
    ):
        for sign in (r"\le", r"\ge", "="):
            one = item(
                "theorem", "1", r"We have $f(x) \le \frac{2 m c n}{T}$.", rf"First $g = a$. So $f(x) {sign} {end}$."
            )
            yield end, sign, [candidate.says for candidate in endings(one)]
    for proof in (
        r"So $\frac{1}{T}\sum_t f(x_t) \le 3mcn/T$.",
        r"So $h(x) \le 3mcn/T$.",
        r"So $f(x) \le 2mcn/T$ and $f(x) \le 3mcn/T$.",
        r"$f(x) \le 3mcn/T$. $a = b$. $a = b$. $a = b$.",
        r"$f(x) \le 3mcn/T$. $a = b$. $a = b$. $a = b$. $a = b$.",
        r"$f(x) = y \le 3mcn/T, \quad x$",
    ):
        yield [candidate.says for candidate in endings(item("theorem", "1", r"We have $f(x) \le 2mcn/T$.", proof))]


SHAPLEY = r"\phi_i(v) = \sum_{S \subseteq N \setminus \{i\}} \frac{|S|! (n - |S| - 1)!}{n!} (v(S \cup \{i\}) - v(S))"


def formulas_that_are_printed_twice():
    for old, new in (
        *(
            (" - 1)!", ")!"),
            ("n!}", "n}"),
            ("- v(S))", "+ v(S))"),
            ("|S|!", "|S|"),
            ("n - |S|", "m - |S|"),
            (r"\{i\}} \frac", r"\{j\}} \frac"),
            ("_i(v)", "_j(v)"),
            (" - 1)!", " - 2)!"),
            ("|S|!", "2|S|!"),
        ),
        *((r"\phi_i(v)", r"\psi_i(v)"), (r"\phi_i(v)", "w")),
    ):
        other = SHAPLEY.replace(old, new)
        yield old, new
        yield said(
            formulas,
            document(
                displays=[display(SHAPLEY, line=3), display(other, name="Equation (2)", about="Equation (2)", line=9)]
            ),
        )


def formulas_of_three_printings_and_of_proofs():
    other = SHAPLEY.replace(" - 1)!", ")!")
    three = [display(SHAPLEY, line=3), display(other, line=6), display(SHAPLEY, line=9)]
    yield said(formulas, document(displays=three)), said(formulas, document(displays=[*three, display(other, line=12)]))
    yield said(formulas, document(displays=[three[0]] * 2))
    yield said(formulas, document(displays=[display(SHAPLEY, other)]))
    yield said(formulas, document(displays=[display(SHAPLEY, proves="Theorem 1"), display(other, proves="Theorem 2")]))
    yield said(formulas, document(displays=[display(SHAPLEY, proves="Theorem 1"), display(other, proves="Theorem 1")]))
    yield said(formulas, document(displays=[display("a = b"), display("a = c")]))
    yield said(
        formulas,
        document(displays=[display("a = b + c + d + e + f + g + h"), display("a = b + c + d + e + f + g - h")]),
    )
    yield said(formulas, document(displays=[display("a = b + c + d"), display("a = b + c - d")]))
    items = [item("equation", str(k), f"${text}$", line=k) for k, text in enumerate((SHAPLEY, other), 1)]
    yield said(formulas, document(items=items))
    yield said(formulas, document(text=[f"We have $${SHAPLEY}$$ here.", f"And $${other}$$ there."]))


def rows_of_displays():
    for body in (
        r"a &= b \\ &= c \\[2pt] d &\le e",
        r"\begin{aligned} a \\ b \end{aligned}",
        r"\begin{pmatrix} a \\ b \end{pmatrix} \\ c",
        r"a \\* b",
        "a",
    ):
        yield list(display_rows(body))
    for line, first in (
        ("= c", "a &= b"),
        ("+ d", "a"),
        ("c &= d", "a &= b"),
        ("&= d", "a &= b"),
        ("d", "a = b"),
        (r"\quad \le d", "a"),
        (r"\label{x} = d", "a"),
        ("x = y", ""),
        ("&x = y", "a &= b"),
    ):
        yield goes_on(line, first)
    yield by_number([(0, 1, ""), (1, 2, "1"), (2, 3, ""), (3, 4, "2"), (4, 5, "")]), by_number([(0, 1, "")])
    yield by_number([])


def references_to_nothing_and_what_nothing_refers_to():
    body = r"""\section{One}\label{s}
By \cref{thm:a} and \ref{none}, \eqref{eq:x,eq:y} hold; see Lemma~\ref{lem:b} and \autoref{fig}.
\begin{theorem}\label{thm:a} $x = 1$. \end{theorem}
\begin{lemma}\label{lem:b} $x = 2$. \end{lemma}
\begin{lemma}\label{lem:c} $x = 3$. \end{lemma}
\begin{assumption}\label{lem:c} $x = 4$. \end{assumption}
\begin{equation}\label{eq:x} x = 5 \end{equation}
\begin{table}\caption{A table.}\label{tab}\end{table}
\begin{figure}\caption{A figure.}\label{fig}\end{figure}"""
    found = latex(body)
    yield said(dangling, found), said(unused, found)
    yield [(str(one.place), one.kind, one.number, one.text, one.resolved) for one in found.references]
    yield {label: [str(place) for place in places] for label, places in found.twice.items()}
    words = (
        "# 1 One\n\nTheorem 1. It is so.\n\nLemma 2.3. It is so, by Theorem 4.\n\n"
        "By Lemma 2.3, Lemma 2.4 and Lemma 7 and Theorem 2.3, and Figure 1 of [3]. Table 9 has it.\n"
        "\nTable 1. A table.\n"
    )
    yield said(dangling, plain(words)), said(unused, plain(words))
    for count in (1, 2, 3, 4, 5):
        again = "\n".join(rf"\begin{{lemma}}\label{{l}} $x = {at}$. \end{{lemma}}" for at in range(count))
        yield count, said(dangling, latex(again)), said(dangling, latex(rf"{again} By \cref{{l}}, it is."))
    foreign = document(
        items=[item("lemma", "1", "x")],
        references=[
            Reference("lemma", "1a", Place("a", 1), "Lemma 1a"),
            Reference("lemma", "2a", Place("a", 1), "Lemma 2a"),
            Reference(None, "3", Place("a", 1), "3"),
        ],
    )
    yield said(dangling, foreign), said(unused, foreign)


SENTENCES = (
    *(
        "We have $f(x) \\le 3$ for all $x$, which is always true.",
        "Here $x$ denotes the number $n = 3$ of all clients.",
        "The matrix has rank $2r$ after one round of training.",
        "The loss is $L$ and it holds for all of us.",
    ),
    *(
        "Short $x = 1$ is.",
        "If $x \\in \\mathbb{R}^d$ then the vector is real, of course.",
        "There exists $x \\in S$ with this property in all cases.",
        "Theorem 2 says that $a = b$ always holds for all.",
    ),
    *(
        "FedAvg is 3.5 points better than FedLoRU on all of the data sets.",
        "The accuracy improves from 91.2% to 93.1% in this setting here.",
        "In 2019 it was better than what Smith (2020) had proposed then.",
        "See Section 3 for more and better results of this method.",
    ),
    *(
        "It is twice as fast as the method of the others in 5 runs.",
        "The number of clients is 20 in all of our experiments here.",
    ),
)


def sentences_that_state_or_compare():
    found = document(text=[*SENTENCES, SENTENCES[0]], items=[item("theorem", "1", SENTENCES[4])])
    yield [sentence for _, sentence in statements(found)], [sentence for _, sentence in comparisons(found)]
    for length in (20, 21, 30, 31, 599, 600, 799, 800):
        words = "It is at most 3 and is $x = 1$ so"
        text = f"{words} {'a' * max(0, length - len(words) - 2)}."
        yield len(text), len(list(statements(document(text=[text])))), len(list(comparisons(document(text=[text]))))
    yield list(CHECKS), len(find_candidates(found))
    yield refused(
        lambda: [
            sentence
            for one in document(text=["One. Two! (Three) e.g. Four? “Five.” $x. Y$ six. et al. Seven"]).paragraphs
            for sentence in one.sentences()
        ]
    )
