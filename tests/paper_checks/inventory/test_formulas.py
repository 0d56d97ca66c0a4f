"""A formula that is printed twice with one short difference is found; other formulas that are alike are not."""

import pytest

from paper_checks.inventory.candidates import find_candidates
from paper_checks.inventory.reading import read_document

START = r"""\documentclass{article}\newtheorem{theorem}{Theorem}\newtheorem{lemma}{Lemma}\begin{document}\section{One}
By \cref{t,l} all holds. \begin{theorem}\label{t} All is bounded. \end{theorem}
\begin{lemma}\label{l} All is small. \end{lemma}
"""
VALUE = r"\phi_i(v) = \sum_{S \subseteq N \setminus \{i\}} \frac{|S|! (n - |S| - 1)!}{n!} (v(S \cup \{i\}) - v(S))"
STEP = r"x^{t+1} = x^t - \eta \left( \nabla f(x^t) + \lambda x^t \right) + 2 \beta (x^t - x^{t-1})"
BOUND = (
    r"\|x^T - x\|^2 \le 2 \left( 1 - \frac{\mu}{L} \right)^T \|x^0 - x\|^2 + \frac{4 \eta \sigma^2}{n \mu} + 3 \eta^2 L"
)


def found(tmp_path, text):
    (tmp_path / "a.tex").write_text(START + text + "\n\\end{document}\n")
    return [one for one in find_candidates(read_document(str(tmp_path / "a.tex"))) if one.check == "formula"]


def equation(text):
    return rf"\begin{{equation}} {text} \end{{equation}}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (VALUE.replace(" - 1)!", ")!"), VALUE),
        (VALUE.replace("n!", "n"), VALUE),
        (VALUE.replace("- v(S)", "+ v(S)"), VALUE),
        (VALUE.replace(" - 1", " + 1"), VALUE),
        (VALUE.replace("- 1)!", "- 2)!"), VALUE),
        (STEP.replace("2 ", ""), STEP),
        (STEP.replace("2 ", "3 "), STEP),
        (STEP.replace(r"\beta", ""), STEP),
        (STEP.replace("- \\eta", "+ \\eta"), STEP),
        (STEP.replace(r"\lambda x^t", r"\lambda^2 x^t"), STEP),
        (
            r"\phi_1(v) &= " + VALUE.partition("=")[2] + r" \\ &= 3",
            VALUE.replace(" - 1)!", ")!").replace("phi_i", "phi_1"),
        ),
    ],
)
@pytest.mark.parametrize("renamed", [False, True])
@pytest.mark.parametrize("where", ["display", "dollars", "proof"])
def test_one_short_difference_is_found_in_any_display(tmp_path, first, second, renamed, where):
    if "&" in first:
        first = rf"\begin{{aligned}} {first} \end{{aligned}}"
    if renamed:
        second = (
            second.replace("_i", "_j").replace(r"\{i\}", r"\{j\}").replace(r"\frac", r"\dfrac").replace(r"\left", "")
        )
        second = second.replace(r"\right", "").replace(r"\setminus", r"\backslash")
    again = {
        "display": rf"\[ {second}. \]",
        "dollars": rf"Words. $$ {second} $$",
        "proof": r"\begin{proof}[Proof of Theorem~\ref{t}] It is "
        rf"\begin{{align*}} {second} \\ &= 7. \end{{align*}} \end{{proof}}",
    }[where]
    (one,) = found(tmp_path, equation(first) + "\n\nMore words.\n\n" + again)
    assert one.says.startswith(
        {"display": "a formula", "dollars": "a formula", "proof": "the proof of Theorem 1"}[where]
    )
    assert "Equation (1) (a.tex:4)" in one.says
    assert one.values[0] != one.values[1]
    assert found(tmp_path, equation(second) + again) == []


def test_the_printing_that_differs_from_two_others_is_the_candidate(tmp_path):
    wrong = VALUE.replace(" - 1)!", ")!")
    (one,) = found(tmp_path, "\n".join([equation(wrong), equation(VALUE), rf"\[ {VALUE} \]"]))
    assert (one.about, one.place.line) == ("Equation (1)", 4)
    assert "where Equation (2) (a.tex:5) and a formula (a.tex:6) print" in one.says
    assert (r"(n-|S|)!" in one.values[0], r"(n-|S|-1)!" in one.values[1]) == (True, True)


@pytest.mark.parametrize(
    "text",
    [
        rf"\begin{{align}} {STEP} \\ &= {STEP.partition('=')[2].replace('2', '3')} \end{{align}}",  # line to line
        equation(STEP) + equation(STEP.replace("t+1", "t").replace("x^t -", "x^{t-1} -")),  # another time
        equation(STEP) + equation(STEP.replace("x^{t-1}", "x^0")),
        equation(STEP) + equation(STEP.replace("f(", "g(")),  # another function
        equation(STEP) + equation(STEP.replace(r"\eta", r"\gamma")),
        equation(STEP) + equation("y" + STEP[1:].replace("2", "3")),  # of something else
        equation(STEP) + equation(STEP.replace("x^t - x", r"x_1^t - x")),
        equation("f(x) = 2x + 1") + equation("f(x) = 3x + 1"),  # short
        equation(BOUND) + equation(BOUND.replace("4", "8")),  # bounds of two results
        rf"\begin{{proof}}[Proof of Theorem~\ref{{t}}] \[ {STEP} \] \end{{proof}}"
        rf"\begin{{proof}}[Proof of Lemma~\ref{{l}}] \[ {STEP.replace('2', '3')} \] \end{{proof}}",  # of each proof
        equation(STEP)
        + equation(STEP.replace("2", "3"))
        + rf"\[ {STEP} \] \[ {STEP.replace('2', '3')} \]",  # two things
        equation(STEP) + rf"\begin{{align*}} {STEP.replace('2', '3')} \\ &= {STEP.partition('=')[2]} \end{{align*}}",
    ],
)
def test_formulas_that_are_meant_to_differ_are_no_candidates(tmp_path, text):
    assert found(tmp_path, text) == []


def test_a_long_right_side_is_compared_under_another_left_side_too(tmp_path):
    wrong = "s(i, v)" + VALUE.partition(")")[2].replace(" - 1)!", ")!")
    (one,) = found(tmp_path, equation(VALUE) + "\n" + equation(wrong))
    assert one.about == "Equation (2)"


def test_text_that_is_not_latex_is_compared_too(tmp_path):
    wrong = VALUE.replace(" - 1)!", ")!")
    (tmp_path / "a.md").write_text(
        f"# A paper\n\nThe value is\n\n$${wrong} \\quad (4)$$\n\nLater it is\n\n$${VALUE}$$\n\nWords.\n"
    )
    candidates = [one for one in find_candidates(read_document(str(tmp_path / "a.md"))) if one.check == "formula"]
    assert [sorted(one.values, key=len)[0] for one in candidates] == [r"\dots (n-|S|)! \dots"]


@pytest.mark.parametrize("terms", range(6, 14))
def test_a_missing_factor_is_found_at_every_length(tmp_path, terms):
    names = ("alpha", "beta", "gamma", "delta", "mu", "nu", "xi", "rho", "tau", "chi", "psi", "zeta", "omega")
    whole = [rf"\{name} x" if at != terms // 2 else rf"2 \{name} x" for at, name in enumerate(names[:terms])]
    long = "y = " + " + ".join(whole)
    (one,) = found(tmp_path, equation(long) + "\n\nMore words.\n\n" + equation(long.replace("2 ", "")))
    assert "2" in one.values[0] + one.values[1]
