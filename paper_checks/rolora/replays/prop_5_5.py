"""Proposition 5.5: where FFA-LoRA ends (eqs. (10) and (11)).

Setting: `shared.expected_loss`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.expected_loss import N, expected_loss, k, m, n
from paper_checks.stored_values import Values, fractions


@proof("rolora/s5-saturate")
def s5_saturate(share: Fraction = Fraction(1)) -> str:
    r"""Column by column, with $f = \|Xa^0\|^2 > 0$, $h = Xa^0\cdot Xa^*$ and $j = \|Xa^*\|^2$.

    $\|Xa^*b^*_p - Xa^0b_p\|^2 = f(b_p - \frac hfb^*_p)^2 + b_p^{*2}(j - \frac{h^2}f)$, and $fj > h^2$ for linearly
    independent vectors (Cauchy and Schwarz). Two normal vectors of $m \ge 2$ entries, of correlation below 1 in size,
    are almost surely linearly independent; two of one entry never are, and almost surely $Xa^0 \ne 0$.
    """
    f, h, j, b, own = sympy.symbols("f h j b own")
    whole = j * own**2 - 2 * h * own * b + f * b**2
    least = share * own**2 * (j - h**2 / f)
    require(sympy.simplify(whole - f * (b - h / f * own) ** 2 - least) == 0, "the least value")
    return "we complete the square and use the Cauchy-Schwarz inequality"


@replay("rolora/prop-5.5")
def prop_5_5_every(values: Values) -> Violation:
    """Two clients or more with two samples: the mean with 1/chi^2_2 set to 0 where chi^2_2 < 2^-k, k = halvings.

    E[1/chi^2_2] is then at least the integral of exp(-1/2) / (2 y) over [2^-k, 1], k log(2) exp(-1/2) / 2 > k/5. The
    rest is as in the proof of the proposition.
    """
    N, m, k = (int(values[name]) for name in ("N", "m", "halvings"))
    (constant,) = fractions(values, "constant")
    assumes = assuming(
        Hypothesis("N", N, ">=", 2),
        Hypothesis("m", m, "=", 2),
        Hypothesis("halvings", k, ">=", 1),
        Hypothesis("constant", constant, ">", 0),
    )
    least = (m - 1 + (1 - Fraction(1, N)) ** 2 + Fraction((N - 1) * m * k, 5 * N**2)) / m
    return Violation(
        least,
        1 + constant / (N * m),
        assumes=assumes,
        reads="K = constant. Our lower bound on the expected loss over |b*|^2 delta_0^2 omits 1/chi^2_2 for chi^2_2 < "
        "2^-halvings, and with more halvings it exceeds the printed bound for any K. We compare it with 1 + K/(Nm)",
    )


def second_term_is_at_most(constant: Fraction) -> None:
    """Show that N m |c| is at most ``constant`` for m >= 3 and whole N. N = n + 1, m = k + 4."""
    bound = constant * N * (m - 2)
    # m >= 4, where N (4 - m) - 2 is negative; m = 3, where it is N - 2.
    room = sympy.expand((bound - (N * (m - 4) + 2)).subs({N: n + 1, m: k + 4}))
    met = all(c >= 0 for c in sympy.Poly(room, n, k).coeffs()) and constant >= 1
    require(met, "the constant in O(1/(Nm))")


@proof("rolora/prop-5.5@three-samples-or-more")
def prop_5_5(four: Fraction = Fraction(4), two: Fraction = Fraction(2), constant: Fraction = Fraction(1)) -> str:
    r"""The expectation by the setting above, and the size of its second term.

    $1 + \tilde c = \frac1m(m - 1 + (1 - \frac1N)^2 + \frac{N-1}{N^2}\cdot\frac m{m-2})$, so $\tilde c = \frac{N(4
    - m) - 2}{N^2m(m-2)}$. Its product with Nm is at most 1 in size: for $m \ge 4$ by the signs of coefficients in N - 1
    and m - 4, and at m = 3 it is $|N - 2|/N$.
    """
    expected_loss(four, two)
    second_term_is_at_most(constant)
    return (
        r"the loss is a sum of two orthogonal parts, for every $m \ge 3$ and any number of clients; $Nm|\tilde c| \le "
        "1$"
    )
