"""Records of formulas as MathML, as plain text and in ASCII, of anchors, and of pages of the manual."""

import tempfile
from pathlib import Path

from recording import refused

from paper_checks.pages.manual import _listed, find_page, page_text, pages
from paper_checks.pages.markdown import anchor_of, mathematics
from paper_checks.pages.mathml import formulas, formulas_and_words, hug, rich, to_mathml
from paper_checks.pages.plain_mathematics import as_ascii, plain_text

FORMULAS = (
    *(
        r"x",
        r"x \le \frac12",
        r"\|W_r^{t+1}\|^2 \le \frac{a + b}{2c}",
        r"\lambda_{\max}^2 \le \sqrt{a + b}",
        r"\frac{x}{3(a-1)}",
        r"\frac1{Ls_*}",
    ),
    *(
        r"\frac{2(a+1)}{f(x)}",
        r"-x + (-y) = -z",
        r"a, -b; c: d",
        r"\sum_{i=1}^n x_i^2",
        r"\max_{k \ge 1} a_k",
        r"\hat\theta + \tilde{x} - \bar{ab}",
    ),
    *(
        r"\frac{a}{b} c",
        r"c \frac{a}{b}",
        r"\left(\frac{a}{b}\right)^2",
        r"(\frac{a}{b})_k",
        r"|x - y| + |z|",
        r"\|A\|_F",
        r"e^{-x^2/2}",
        r"x'' + y'",
    ),
    *(
        r"\sqrt[3]{x + 1}",
        r"\log n \cdot \exp(-x)",
        r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
        r"\begin{aligned} a &= b \\ c &\le d \end{aligned}",
    ),
    *(
        r"A^\top B \otimes C",
        r"\mathbb{E}[x \mid y]",
        r"\mathrm{rank}(A) = \operatorname{tr} B",
        r"x \in \mathbb{R}^{n \times m}",
        r"2\pi i",
        r"a_{ij} b^{k,l}",
    ),
    *(
        r"\infty \to 0 \Rightarrow \nabla f \approx \partial g",
        r"\lfloor x \rfloor \lceil y \rceil",
        r"\langle u, v \rangle",
        r"x_{1}^{T}",
        r"s_\star, \dot{w}, \vec{v}",
    ),
    *(
        r"\tfrac34 \cdot \frac23",
        r"\frac{a}{b} + \frac{c}{d}",
        r"-\frac{a}{b}",
        r"\frac{\lambda L s}{1 - q^{2s}}",
        r"\frac{ab}{c}",
        r"10^{-3}",
        r"k \ne l \pm 1",
    ),
    *(
        r"\boldsymbol{Prob}(x)",
        r"\underline{x}",
        r"\overbrace{a}^b",
        r"O(\log^2 n)",
        r"\min(a, b) \cup \{c\}",
        r"x^{(t)}",
        r"\ell_2",
        r"\Lambda \varrho \varepsilon \vartheta \phi",
    ),
)
BROKEN = (r"\frac{a}", r"\unknown x", r"\color{red} x", r"x^", r"{", r"\href{http://x}{y}", r"a_b_c")
LONG = (
    r"a + b = c + d - e \le f(x + y, z) \frac{a}{b}(c + d) + g",
    r"\|a + b\| + (x + y + z + u + v + w + r + s + t + k + l = m) = 1, 2, 3, 4, 5",
    r"\left(\frac{a + b}{c}\right)(d + e + f + g + h)(i + j + k + l + m + n) \ge 0",
    r"\{a, b, c, d, e, f, g, h\}",
)


def formulas_in_plain_text():
    for latex in FORMULAS:
        yield latex, plain_text(f"${latex}$"), plain_text(f"${latex}$", "ascii")


def formulas_as_mathml():
    for latex in FORMULAS:
        yield [str(one) for one in to_mathml(latex)]


def formulas_with_breaks_and_in_full_size():
    for latex in LONG:
        yield [str(one) for one in to_mathml(latex)], [str(one)[:60] for one in to_mathml(latex, True)]


def powers_and_indices_of_every_sign():
    signs = "0123456789+-=()abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    names = (r"\top", r"\star", r"\prime", r"\beta", r"\gamma", r"\rho", r"\varphi", r"\chi", r"\phi", r"\eta", "*")
    yield [plain_text(f"$X^{{{sign}}}$ $X_{{{sign}}}$ $X^{{2{sign}}}_{{1{sign}}}$") for sign in (*signs, *names)]
    yield [plain_text(rf"$\frac{{{a}}}{{{b}}} x$") for a in (1, 2, 3, 5) for b in (2, 3, 4, 5, 8)]
    accents = ("tilde", "hat", "bar", "dot", "check", "vec", "widetilde", "widehat", "overline", "ddot")
    yield [
        [plain_text(rf"$\{name}{{{of}}}$", *to) for of in ("x", "xy") for to in ((), ("ascii",))] for name in accents
    ]


def elements_of_mathml():
    for latex in (
        *(r"a \quad b \, c", r"\displaystyle \sum_{i=1}^n i", r"\textstyle \sum_i i", r"\sqrt{a} \sqrt[3]{b}"),
        *(r"\underbrace{a}_{b}", r"\overline{a} \underline{b}", r"\overset{a}{=} \underset{b}{\max}", r"\text{a b}"),
        *(r"\phantom{a} b", r"\boxed{a}", r"\smash{a}", r"\cancel{a}", r"\binom{n}{k}", r"\mathbf{a} \mathcal{B}"),
        *(r"\begin{cases} a & b \\ c & d \end{cases}", r"\big( a \Big| b \bigg)", r"\color{red} a", r"\href{x}{a}"),
        *(r"\hspace{1em} a", r"\mathop{a}\limits_b", r"a \stackrel{b}{=} c", r"\xrightarrow{a}", r"\not= \nleq"),
    ):
        yield latex, refused(lambda latex=latex: [str(one) for one in to_mathml(latex)])


def formulas_that_cannot_be_converted():
    for latex in BROKEN:
        yield refused(lambda latex=latex: [str(one) for one in to_mathml(latex)]), plain_text(f"a ${latex}$ b")
        yield str(rich(f"a ${latex}$ b"))


def texts_with_formulas():
    for text in (
        *(
            "no formula, a < b & c",
            "a $x$, then ($y$). `code` here",
            r"costs \$5 and $x$",
            "odd $ dollar",
            "$a$$b$",
            "$x$-th",
            "[$x$]; $y$!",
            "",
        ),
        *("``$x$``", "(see $x$)", "$x$ and $y$: done"),
    ):
        yield str(rich(text)), plain_text(text), plain_text(text, "ascii"), formulas(text), formulas_and_words(text)
    yield str(rich("$\\frac{a}{b}$", True)), hug(["<m>a</m>"], "(", ")."), hug(["<m>a</m>", "<m>b</m>"], "(", "")
    yield hug(["<m>a</m>"], "", "")


def letters_in_ascii():
    yield as_ascii("“λ ≤ Λ” – Ünïcödé … α β γ Δ ϑ ∑ ∏ ∫ ∞ ⊗ ⊕ ∘ ⟨x⟩ ⌊y⌋ ⌈z⌉ ′ ″ √2 × · ± ∇∂ → ⇒ ∈ ∉ ∪ ∩ ‖ ⊤ ½ 中 ✓")
    yield plain_text("λ ≤ 1", "latin-1"), plain_text("λ ≤ 1", "no-such-encoding"), plain_text("λ ≤ 1", "utf-16")


def anchors_and_mathematics_in_markdown():
    for id in ("fedloru-v2/prop-3.1", "a/Thm-A.8_b", "FeDLRT", "x (y)"):
        yield anchor_of(id)
    for text in ("a rank of $r_1$", r"\$5 and $x$", "$a$ and $b$", "$a\nb$", r"$\text{a \$ b}$"):
        yield mathematics(text)


TOPICS = dict.fromkeys(
    [
        "readme",
        "adding-a-claim",
        "verdicts",
        "contest-a-verdict",
        "your-own-paper",
        "runs",
        "networks",
        "language-models",
    ],
    Path(),
)


def pages_that_a_name_means():
    names = (
        "claims",
        "verdict",
        "Verdicts.md",
        "a verdict",
        "your own_paper",
        "run",
        "network",
        "language",
        "paper",
        "a",
        "models",
        "model",
        "xyz",
        "vredicts",
        "",
        "own",
    )
    for asked in names:
        yield asked, refused(find_page, asked, TOPICS)


def a_page_in_the_terminal():
    text = """# Title of $x$

A [link](verdicts.md), [one](runs.md#part), ![picture](a.png), ![](b.png) and [site](https://x.org/a_b).
`$code$` and $\\lambda \\le 1$, for \\$5. [Home](README.md), [other](../docs/README.md), [far](../../x/README.md),
[file](a.py).

```bash
run $HOME [link](verdicts.md)
```

| $a$ | $b$ |
"""
    with tempfile.TemporaryDirectory() as name:
        file, other = Path(name, "page.md"), Path(name, "bare.md")
        file.write_text(text, encoding="utf-8")
        other.write_text("no heading\n", encoding="utf-8")
        yield page_text(file, TOPICS).splitlines(), page_text(file, TOPICS, "ascii").splitlines()[:4]
        yield list(_listed({"page": file, "your-own-paper": other, "readme": file}))
        yield list(_listed({"b": other, "readme": file}))


def topics_of_the_manual():
    known = pages()
    yield list(known)[:1], "your-own-paper" in known, "README" in known
