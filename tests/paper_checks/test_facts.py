import pytest
import sympy

from paper_checks import proof_steps
from paper_checks.claim import Evidence
from paper_checks.facts import combine, compare, identity, positive, proves_positive

n, m, t, a, b = sympy.symbols("n m t a b")


@pytest.mark.parametrize(
    ("expression", "substitution"),
    [
        ((m**2 - n**2) / (m + n), {m: n + a}),
        ((n - m) / (m**2 - n**2 - 5 * (m - n) * (m + n)), {m: n + a}),
        (t**4 - m**2 * n**2, {m: n + a, t: n + a + b}),
        (sympy.Integer(3), {}),
    ],
)
def test_positive_expressions_are_proved(expression, substitution):
    assert proves_positive(expression, substitution)


@pytest.mark.parametrize(
    ("expression", "substitution"),
    [
        (n - m, {m: n + a}),
        (m - n, {}),
        (m - n - a, {m: n + a}),
        (sympy.Integer(-3), {}),
        (sympy.Integer(0), {}),
        (1 / (m - n), {n: m + a}),
        (2 * n - m, {n: m, m: n}),  # 2m - n, if both are replaced at once
    ],
)
def test_other_expressions_are_not(expression, substitution):
    assert not proves_positive(expression, substitution)


@pytest.mark.parametrize("expression", [0.1 * n + m, n**0.5, sympy.Float(0), 2.5])
def test_floats_show_nothing(expression):
    for show in (lambda: identity("it", expression), lambda: positive("it", expression, {})):
        with pytest.raises(TypeError, match="exact expressions must not contain floats"):
            show()
    with pytest.raises(TypeError, match=r"got 0\.10000000000000001, but"):
        positive("it", m - n, {m: n + 0.1})


@pytest.mark.parametrize("expression", [0.1 * n, n + 1.0, 0.5])
def test_signs_in_proofs_are_of_exact_expressions(expression):
    for sign in (proof_steps.non_negative, proof_steps.positive):
        with pytest.raises(TypeError, match="signs need exact expressions"):
            sign(expression)


@pytest.mark.parametrize("field", ["whole", "infinite"])
def test_what_python_takes_for_true_is_no_evidence(field):
    with pytest.raises(TypeError, match="True or False, got str 'no'"):
        Evidence(True, "scope", **{field: "no"})


def test_symbols_may_be_renamed_into_each_other():
    assert proves_positive(m - n, {m: n + m, n: n})
    assert proves_positive(m - n, {m: n + a, n: n})
    assert not proves_positive(m - n, {m: n, n: m + n})


def test_what_was_shown_everywhere_is_told_where_it_is_not_told_yet():
    facts = combine(positive("the gap", m - n, {m: n + a}), identity("the rest", n - n), compare("one case", 1, "<", 2))
    told = "the gap: positive for all positive symbols, m = a + n; the rest: identically 0"
    assert Evidence(True, "scope", obtained="no violation", facts=facts).shown == told
    assert Evidence(True, "scope", obtained="identically 0 in all lines", facts=facts).shown == ""
    assert Evidence(False, "scope", facts=facts).shown == ""
