"""Lemma B.6 and its proof.

Setting: `shared.local_steps`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, fractions


@proof("fedloru-v2/lem-B.6")
def lem_B_6(constant: Fraction = Fraction(2)) -> str:
    r"""The difference is a sum of two products, and $(x+y)^2 \le 2(x^2+y^2)$.

    With $\Delta = A_{t+1} - A_t$: $A_{t+1}^T(\nabla(A_{t+1}B) - \nabla(A_tB))$ and $\Delta^T\nabla(A_tB)$ have norms
    of at most $LC_AC_B\|\Delta\|$ and $G\|\Delta\|$, as the weights of $f_t$ sum to at most 1.

    Two lines of the printed proof are false and not used: the mean square of a product is in general not at most the
    product of the mean squares (here one factor is bounded in every run), and the square of the norm of
    $\Delta^T\nabla(A_tB)$ is at most, and not equal to, the product of the squares.
    """
    form = sympy.Matrix([[constant - 1, -1], [-1, constant - 1]])  # constant (x^2 + y^2) - (x + y)^2
    require(form.is_positive_semidefinite is True, "the square of the sum of both parts")
    return (
        r"the difference is a sum of two products, of norms at most $LC_AC_B\|\Delta A\|$ and $G\|\Delta A\|$, and "
        "$2(x^2+y^2) - (x+y)^2$ is a square"
    )


def means_of_two_samples(
    L: Fraction, zone: Fraction, rate: Fraction, centres: list[Fraction]
) -> tuple[Fraction, Fraction]:
    """Return E[A'^2 D^2] and E[A'^2] E[D^2] of one weight from W = 0, A = B = 1, over the sample that a step draws."""

    def slopes(w: Fraction) -> list[Fraction]:
        return [L * min(max(w - c, -zone), zone) for c in centres]

    moved = [1 - rate * slope for slope in slopes(Fraction(1))]
    exact = [sum(slopes(w), Fraction(0)) / len(centres) for w in (Fraction(1), *moved)]
    bent = [(after - exact[0]) ** 2 for after in exact[1:]]
    squares = [A**2 for A in moved]
    both = sum((x * y for x, y in zip(squares, bent, strict=True)), Fraction(0)) / len(centres)
    return both, sum(squares, Fraction(0)) * sum(bent, Fraction(0)) / len(centres) ** 2


@replay("fedloru-v2/lem-B.6-mid", samples="the centres of the samples of one weight, for the second display")
def lem_B_6_mid_as_printed(values: Values) -> Violation:
    """Compare the move of A in one step, with two rows, with the gradient of two rows and two columns."""
    L, zone, rate = fractions(values, "L", "zone", "rate")
    W, A, B = ([Fraction(text) for text in values[name].split()] for name in ("W", "A", "B"))
    assumes = assuming(
        *(Hypothesis(name, value, ">", 0) for name, value in {"L": L, "zone": zone, "learning rate": rate}.items()),
        *(Hypothesis(f"entries of {n}", len(x), "=", size) for n, x, size in (("W", W, 4), ("A", A, 2), ("B", B, 2))),
    )
    places = [(i, j) for i in range(2) for j in range(2)]
    S = {(i, j): L * min(max(W[2 * i + j] + A[i] * B[j], -zone), zone) for i, j in places}
    u = [-rate * sum(S[i, j] * B[j] for j in range(2)) for i in range(2)]
    both, apart = means_of_two_samples(L, zone, rate, [Fraction(text) for text in values["samples"].split()])
    turned = sum((u[0] * S[0, j] + u[1] * S[1, j]) ** 2 for j in range(2))
    return Violation(
        sum(x * x for x in u) * sum(s * s for s in S.values()),
        turned,
        assumes=assumes,
        given={
            "u": u,
            "gradient, by rows": list(S.values()),
            "second display, for samples: E[|A'|^2 |D|^2]": both,
            "E[|A'|^2] E[|D|^2], said to be no less": apart,
        },
        reads="W has two rows and two columns, the rank is 1, and one client takes one step. The loss is a sum over "
        "the entries x of L x^2/2, continued linearly for |x| > zone. For the second display the model is one weight "
        "that starts at W = 0, A = B = 1. Its samples are drawn with equal probabilities and have the same loss "
        "around their centres, and A' is A after the step. We compare |u|^2 |gradient|^2 with |u^T gradient|^2; the "
        "paper says that they are equal",
    )


@proof("fedloru-v2/lem-B.6-mid")
def lem_B_6_mid(constant: Fraction = Fraction(2)) -> str:
    r"""$\|XY\| \le \|X\|\|Y\|$ and $\|A_{t+1}\| \le C_A$ in every run, a mean of factors that are at most $C_A$.

    Lipschitz gradients: $\|D\| \le L\|A_{t+1}B_t - A_tB_t\| \le LC_B\|u\|$; an exact gradient has at most the norm G.
    """
    form = sympy.Matrix([[constant - 1, -1], [-1, constant - 1]])  # constant (x^2 + y^2) - (x + y)^2
    p, q, r, s = sympy.symbols("p q r s", real=True)
    X, Y = sympy.Matrix([[p, q]]), sympy.Matrix([r, s])
    lost = (X * X.T)[0] * (Y.T * Y)[0] - (X * Y)[0] ** 2
    require(form.is_positive_semidefinite is True, "the square of the sum of both parts")
    require(sympy.expand(lost - (p * s - q * r) ** 2) == 0, "a row times a column, whose norm is at most the product")
    return "norms are submultiplicative, factors are bounded in every run, and $2(x^2+y^2) - (x+y)^2$ is a square"
