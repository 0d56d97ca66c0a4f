"""Sections 5 and 6: the proofs, and the number of local steps that saves rounds."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import rational
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@proof("scaffold/sec-5-error")
def sec_5_error(factor: Fraction = Fraction(1), of_mean: bool = True) -> str:
    r"""With $e_i = c_i - \nabla f_i(y)$ the update of client i is away from the ideal one by $\bar e - e_i$.

    This is because c is the mean of the control variates.

    The sum of $\|\bar e - e_i\|^2$ is $\sum_i\|e_i\|^2 - 2\langle\bar e, \sum_ie_i\rangle + N\|\bar e\|^2$, and
    $\sum_ie_i = N\bar e$. So the right side is larger by $N\|\bar e\|^2$. This is so in each coordinate.
    """
    squares, total, first = sympy.symbols("squares total first", real=True)
    N = sympy.Symbol("N", positive=True)
    shift = total / N if of_mean else first
    left = squares - 2 * shift * total + N * shift**2
    require(sympy.expand(rational(factor) * squares - left - total**2 / N) == 0, "the difference of the sides")
    return "the difference of the sides is N times the square of the mean error"


@proof("scaffold/sec-6-steps")
def sec_6_steps(factor: Fraction = Fraction(2)) -> str:
    r"""In units of $\beta/\mu$, and with $a = \delta/\beta$, the rounds are $1/K + a$, and $2a$ at $K = 1/a$.

    Twice the rounds at any K are larger by $2/K > 0$.
    """
    a, K = sympy.symbols("a K", positive=True)
    rounds = 1 / K + a
    require(sympy.expand(rounds.subs(K, 1 / a) - 2 * a) == 0, "the rounds at beta/delta steps")
    require(sympy.expand(rational(factor) * rounds - 2 * a - 2 / K) == 0, "what is left")
    return "twice the rounds at K exceed those at beta/delta by 2/K"


@replay("scaffold/sec-6-steps@the-minimiser")
def sec_6_minimiser(values: Values) -> Violation:
    """Rounds with beta/delta local steps against those with K."""
    a, K = Fraction(values["similarity"]), Fraction(values["K"])
    assumes = (Hypothesis("delta / beta", a, ">", 0), Hypothesis("delta", a, "<=", 1), Hypothesis("K", K, ">=", 1))
    return Violation((1 + 1) * a, 1 / K + a, assumes=assumes, reads="rounds at K = beta/delta against those at K")
