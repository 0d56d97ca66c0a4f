"""What stands in a file of a witness or a certificate is read, never run."""

import pytest
import sympy

from paper_checks.stored_values import expression

X, N = sympy.symbols("x n")


def test_an_expression_is_that_of_its_text():
    assert expression("-(x - 1)**2 / (2*n)", {"x": X, "n": N}) == -((X - 1) ** 2) / (2 * N)
    assert expression("1/3", {}) == sympy.Rational(1, 3)
    assert expression("2**-n", {"n": N}) == 2 ** (-N)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()", "x.args", "y", "0.5", "x if n else 1", "x < 1", "[x]", "(lambda: x)()", "x +", "",
        "'x'", "True",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="is no expression in x, n"):
        expression(text, {"x": X, "n": N})
