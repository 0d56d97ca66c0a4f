"""Signs and commands of LaTeX that the inventory recognises, each by itself."""

from invented_texts import display, document, item, latex

from paper_checks.inventory.checks.constants import constants
from paper_checks.inventory.checks.endings import endings
from paper_checks.inventory.checks.formulas import formulas
from paper_checks.inventory.checks.rates import read_exactly, read_rate
from paper_checks.inventory.latex_text import plain_words
from paper_checks.inventory.macros import write_out
from paper_checks.inventory.verbatim import Verbatim

LAYOUT = (
    "left right middle big Big bigg Bigg bigl bigr bigm Bigl biggr displaystyle textstyle scriptstyle limits nolimits"
)
LAYOUT += (
    " mathlarger mathsmaller nonumber notag allowbreak ensuremath normalsize small large hfill phantom leftarrow mathrm"
)
LAYOUT += " mathbf mathbb mathcal textbf rm bf bm bar hat widehat tilde widetilde overline star ast quad qquad"
COMMANDS = [rf"\{name}" for name in LAYOUT.split()]
COMMANDS += [
    r"\,",
    r"\;",
    r"\:",
    r"\!",
    r"\>",
    "~",
    "&",
    r"\label{x}",
    r"\tag{x}",
    r"\hspace{x}",
    r"\vspace*{x}",
    r"\color{r}",
]


def _by_sign(signs, of):
    """Return the signs in the order of what is found with each."""
    found = {}
    for sign in signs:
        found.setdefault(str(of(sign)), []).append(sign)
    return sorted(found.items())


def _slip(one, other=None):
    """Return how many slips are found in two formulas that differ in a sign."""
    rows = [one.replace("@", "+"), (one if other is None else other).replace("@", "-")]
    return len(list(formulas(document(displays=[display(row) for row in rows]))))


def layout_in_formulas():
    yield _by_sign(
        COMMANDS, lambda sign: _slip("a = b c d f g h n o p q r s @ 1", f"a = b c d {sign} f g h n o p q r s @ 1")
    )
    yield _by_sign(
        COMMANDS,
        lambda sign: [
            one.says[:30]
            for one in constants(
                document(
                    items=[
                        item("theorem", "1", "$a + b c d f g \\le 3 h$ for all of the clients that there are."),
                        item(
                            "theorem",
                            "2",
                            f"$a + b c {sign} d f g \\le 4 h$ for all of the clients that there are.",
                            title="Restatement of Theorem 1",
                        ),
                    ]
                )
            )
        ],
    )
    yield _by_sign(COMMANDS, lambda sign: read_exactly(f"2 a {sign} b") == read_exactly("2 a b"))
    yield _by_sign(COMMANDS, lambda sign: read_rate(f"a {sign} b") == read_rate("a b"))
    yield _by_sign(
        COMMANDS, lambda sign: len(list(endings(item("theorem", "1", r"$f \le 2 m c$.", rf"So $f \le 3 m {sign} c$."))))
    )


SAME = (
    r"\dfrac \frac \tfrac \frac \leq \le \leqslant \le \geq \ge \geqslant \ge \lvert | \rvert | \vert | \mid | \| \Vert"
)
SAME += r" \lVert \Vert \rVert \Vert \backslash \setminus \dots \ldots \cdots \ldots \lbrace \{ \rbrace \} \ast * \bm"
SAME += r" \boldsymbol \mathbf \boldsymbol \alpha \beta"


def signs_that_mean_the_same():
    signs = SAME.split()
    pairs = list(zip(signs[::2], signs[1::2], strict=True))
    formula = "a = b c d {} f g h n o p q r s t u v w x y @ 1"
    yield _by_sign(pairs, lambda pair: _slip(*(formula.format(sign) for sign in pair)))
    relations = r"= \triangleq \coloneqq \equiv \le \ge < > \approx \propto \sim \lesssim \gtrsim \ne :"
    yield _by_sign(relations.split(), lambda sign: _slip(f"a {sign} b c d f g h n o p q r s @ 1"))
    yield _by_sign(relations.split(), lambda sign: _slip(f"a = k {sign} b c d f g h n o p q r s @ 1"))
    ends = r"\text \forall \implies \Rightarrow \iff \Leftrightarrow \textrm \mbox \where \wherever , ;"
    yield _by_sign(ends.split(), lambda sign: _slip(f"a = b c d f g h n o p q r s {sign} @ 1"))
    limits = r"\sum \prod \int \max \min \sup \inf \bigcup \bigcap \lim \argmin \log x"
    yield _by_sign(limits.split(), lambda sign: _slip(f"a = b c d f g h n o p q {sign}_{{k @ 1}} r s t"))
    yield _by_sign(
        limits.split(),
        lambda sign: _slip(f"a = b c d f g h n o p q {sign}^{{k}} r s @ t", "a = b c d f g h n o p q r s"),
    )


def signs_of_rates():
    for sign in (r"\frac", r"\tfrac", r"\dfrac", r"\nicefrac", r"\sfrac", r"\cfrac"):
        yield sign, read_rate(f"{sign}{{a}}{{b}}") == read_rate("a / b")
    for sign in (r"\log", r"\ln", r"\exp", r"\sin", r"\max"):
        yield sign, read_rate(f"{sign}(a) b") is None, read_rate(f"{sign} a b") == read_rate(r"\log a b")
    for sign in (r"\cdot", r"\times", "*", "·", r"\star"):
        yield sign, read_rate(f"a {sign} b") == read_rate("a b")
    yield read_rate(r"\varepsilon") == read_rate(r"\epsilon"), read_rate("−a + b") is None
    for norm in (r"\|", r"\Vert", r"\lVert", r"\rVert", r"\Verts", "|"):
        yield norm, read_exactly(rf"2 {norm} a {norm}^2 b") == read_exactly(r"2 \| a \|^2 b")


def signs_of_the_ends_of_proofs():
    for sign in (
        r"\le",
        r"\leq",
        r"\leqslant",
        "≤",
        "<",
        r"\ge",
        r"\geq",
        r"\geqslant",
        "≥",
        ">",
        "=",
        r"\left",
        r"\approx",
    ):
        yield (
            sign,
            [
                len(list(endings(item("theorem", "1", f"$f {sign} 2 m c$.", f"So $f {other} 3 m c$."))))
                for other in ("<", ">")
            ],
        )
    ends = r"; \quad \qquad \text \textrm \textnormal \mbox \forall \tag \implies \Rightarrow \footnote .~ \quads ,"
    yield _by_sign(
        ends.split(),
        lambda sign: len(list(endings(item("theorem", "1", r"$f \le 2 m c$.", rf"So $f \le 3 m c {sign} {{d}}$.")))),
    )
    hidden = r"\mathcal{O} \tilde{O} \widetilde{O} \tilde{\mathcal{O}} \Theta \Omega 𝒪 \mathcal{L} O \Theta_1"
    yield _by_sign(
        hidden.split(),
        lambda sign: len(
            list(endings(item("theorem", "1", rf"$f \le {sign}(2 m c)$.", rf"So $f \le {sign}(3 m c)$.")))
        ),
    )
    for row in (r"\\", r"\\*", r"\\[2pt]", r"\\ [2pt]", r"\\\\", r"\newline"):
        yield (
            row,
            [one.says for one in endings(item("theorem", "1", r"$f \le 2 m c$.", rf"$$f \le g {row} \le 3 m c$$"))],
        )


def environments_of_formulas():
    names = "equation align gather multline eqnarray alignat flalign IEEEeqnarray dmath dgroup displaymath math"
    names += " subequations xalignat empheq split aligned verbatim"
    for name in names.split():
        found = latex(
            "".join(rf"A. \begin{{{name}{star}}} a = b \\ c = d \end{{{name}{star}}} B." for star in ("", "*"))
        )
        yield name, [one.name for one in found.items], [[row for row, _ in one.rows] for one in found.displays]
    for name in (
        "verbatim",
        "verbatim*",
        "lstlisting",
        "minted",
        "comment",
        "Verbatim",
        "filecontents",
        "filecontents*",
        "quote",
    ):
        state = Verbatim()
        yield name, [state.kept(line) for line in (rf"a \begin{{{name}}} b", r"c \label{d}", rf"e \end {{{name}}} f")]
    floats = "figure table algorithm wrapfigure wraptable sidewaystable longtable subfigure subtable subcaptionblock"
    for name in floats.split():
        found = latex(rf"\begin{{{name}}} \caption{{A b c.}} \label{{x}} \end{{{name}}} See \cref{{x}}.")
        inner = latex(
            rf"\begin{{figure}} \begin{{{name}}} \caption{{Inner.}} \end{{{name}}} \caption{{Outer.}} \end{{figure}}"
        )
        yield name, [[(one.name, one.title) for one in made.items] for made in (found, inner)]


def commands_that_are_no_words():
    names = "label lstlistinglabel lstinputlisting vspace hspace vskip hskip index pagestyle thispagestyle"
    names += " bibliographystyle"
    names += (
        " bibliography setlength addtolength setcounter addtocounter includegraphics usepackage color definecolor input"
    )
    names += (
        " include phantomsection addcontentsline lean leanok notready discussion fontsize raisebox rule graphicspath"
    )
    names += " captionsetup resizebox scalebox renewcommand looseness textbf emph footnote"
    yield _by_sign(names.split(), lambda name: [plain_words(rf"a \{name}{rest} b") for rest in ("{x}{y}", "*[o]{x}")])
    for accent in ('"', "'", "`", "^", "~", "=", ".", "c", "v", "u", "H", "k", "r", "b", "d", "t"):
        yield accent, plain_words(rf"a\{accent}{{o}}b \{accent} e \{accent}{{\i}}")
    for sign in (
        "``",
        "''",
        "---",
        "--",
        "~",
        r"\%",
        r"\&",
        r"\#",
        r"\_",
        r"\$",
        r"\{",
        r"\}",
        r"\ ",
        r"\,",
        r"\\",
        r"\ldots",
    ):
        yield sign, plain_words(f"a{sign}b")
    for name in ("thesection", "theequation", "thetheorem", "thefigure", "thetable", "thelemma", "theorem", "x"):
        made = write_out(rf"\newtheorem{{lemma}}{{L}} \renewcommand {{\{name}}} [ 1 ] {{y #1}} \{name}{{z}}")
        yield name, made.text, sorted(made.macros)
