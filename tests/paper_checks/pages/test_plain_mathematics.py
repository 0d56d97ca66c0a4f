"""Formulas for a terminal: known ones, and every statement of the ledger, in Unicode and in ASCII."""

import pytest

from paper_checks.ledger import Ledger
from paper_checks.pages.card import card_text
from paper_checks.pages.plain_mathematics import as_ascii, plain_text
from paper_checks.run import run

CLAIMS = Ledger.of().select()


@pytest.mark.parametrize(
    ("latex", "rich", "plain"),
    [
        (r"\frac{a+b}{c+d}x", "((a + b)/(c + d))x", "((a + b)/(c + d))x"),
        (
            r"\frac12(1 + (1 - \frac1{s_*})\sqrt{1+\delta^2})",
            "½(1 + (1 − 1/s_*)√(1 + δ²))",
            "(1/2)(1 + (1 - 1/s_*)sqrt(1 + delta^2))",
        ),
        (r"\sum_{i=1}^n \tilde W_{r,c}^s", "∑ᵢ₌₁ⁿW̃_(r,c)ˢ", "sum_(i = 1)^n Wtilde_(r,c)^s"),
        (r"-\|x\|^2 \le -2\lambda L", "−‖x‖² ≤ −2λL", "-||x||^2 <= -2 lambda L"),
        (r"A^{-1}", "A⁻¹", "A^(-1)"),
        (r"a^T(b^{T+1})^\top", "a^T(b^(T + 1))ᵀ", "a^T(b^(T + 1))^T"),
        (r"\log(1-x) < -x", "log(1 − x) < −x", "log(1 - x) < -x"),
        (r"\mathrm{srank}(H_{\mathrm{true}})", "srank(Hₜᵣᵤₑ)", "srank(H_true)"),
        (r"\overline x + \ddot y", "x\u0305 + y\u0308", "xbar + yddot"),
        (r"\overline{xy}^2", "bar(xy)²", "bar(x y)^2"),
        (r"\nabla_{\tilde S}L", "∇_S̃ L", "grad_Stilde L"),
        (r"\begin{pmatrix}a & b\\0 & c\end{pmatrix}", "(a, b; 0, c)", "(a, b; 0, c)"),
        (r"\frac{x}{(a+b)(c+d)}", "x/((a + b)(c + d))", "x/((a + b)(c + d))"),
        (r"f''", "f''", "f''"),
        (r"\frac{x}{y} \frac{x}{ab} \frac{x}{12}", "(x/y)(x/(ab))(x/12)", "(x/y)(x/(a b))(x/12)"),
    ],
)
def test_known_formulas(latex, rich, plain):
    assert plain_text(f"With ${latex}$.") == f"With {rich}."
    assert plain_text(f"With ${latex}$.", "ascii") == f"With {plain}."


def test_words_stay_and_a_dollar_can_be_written():
    assert plain_text(r"It costs \$5, $x^2$ of them.") == "It costs $5, x² of them."
    assert plain_text("one $ alone") == "one $ alone"
    assert as_ascii("Schönberg’s λ – ∞") == "Schonberg's lambda - inf"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_no_statement_keeps_latex(encoding):
    for claim in CLAIMS:
        for says in (claim.says, *(form.says for form in (claim.control, claim.correction) if form is not None)):
            shown = plain_text(says, encoding)
            assert not set("\\$") & set(shown), f"{claim.id}: {shown}"
            assert shown.count("(") - shown.count(")") == says.count("(") - says.count(")"), f"{claim.id}: {shown}"
            if encoding != "utf-8":
                assert shown.isascii()
                assert "?" not in shown, f"{claim.id}: {shown}"


def test_a_card_in_ascii_is_ascii():
    ledger = Ledger.of()
    (result,) = run(ledger.select(["fedlrt/cor-2-proof"]), ledger).results
    assert "λ" in card_text(result)
    assert card_text(result, "ascii").isascii()
