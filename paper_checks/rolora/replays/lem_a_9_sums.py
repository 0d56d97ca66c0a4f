"""Appendix A.3, proof of Lemma A.9: concentration of the sums (eqs. (22) to (31))."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.nets_and_norms import norm_of_a_product
from paper_checks.rolora.replays.shared.second_iteration import Second, second_iteration
from paper_checks.rolora.replays.shared.tails import tail_of_products
from paper_checks.stored_values import Values, fractions


@proof("rolora/eq-22@a-and-w-fixed")
def eq_22(c2: Fraction = Fraction(8, 3)) -> str:
    r"""(22) is Lemma A.3; (23) the norm of a normal variable, twice; (24) the operator norm; (25) unit vectors.

    a and w are fixed, or independent of the samples; given them, $a^\top x_{i,j}$ and $x_{i,j}^\top v$ are normal.
    """
    norm_of_a_product(c2)
    return "we use a square, the Cauchy-Schwarz inequality and a Gaussian integral"


def mean_size(found: Second) -> Fraction:
    """A lower bound on the mean size of every summand of (21), for w along b* with |b*| = 1.

    The m summands add up to n a'S v, S = X'X/n and v = (I - a a')a*, with a of the second iteration. Their sizes have
    one mean, as the rows of X can be exchanged, and it is at least the mean of |a'S v|.
    """
    root = found.stretched.root()
    off = found.both.over(root) - (found.overlap * found.square).over(found.stretched * root)
    return (1 - found.missed) * max(off.low, -off.high, Fraction(0))


def least_c_2(c_2: Fraction) -> tuple[Hypothesis, ...]:
    """Return the least value, the square of the least C' of Corollary A.5."""
    return assuming(Hypothesis("c_2, the square of a C' of Corollary A.5", c_2, ">=", Fraction(8, 3)))


SUMMANDS = (
    "one client has n samples with d dimensions in addition to the plane of a and a*, and its second iteration uses "
    "the samples of the first"
)


@replay("rolora/eq-22")
def eq_22_as_printed(values: Values) -> Violation:
    """The norm of a summand is at least its mean size, and the operator norm is delta|b*| <= 1."""
    found, [c_2] = second_iteration(values), fractions(values, "c_2")
    return Violation(
        mean_size(found),
        c_2,
        assumes=(*found.assumes, *least_c_2(c_2)),
        reads=f"{SUMMANDS}. The norm of a summand is at least its mean size. For a larger c_2, more dimensions "
        "violate the last bound. We compare the mean size with the last bound, in which we replace the operator norm "
        "by 1, which is larger",
    )


@proof("rolora/eq-26")
def eq_26(c3: str = "0.3774") -> str:
    r"""(27) is (21), (28) is Theorem A.8, and (29) with $\le$ is (30) and (31), for $c_3 \le c/c_2^2$.

    The ends by themselves, with a larger $c_3$, by Chernoff for m products of independent normal variables z, w, for
    which $Ee^{\lambda zw} = (1 - \lambda^2)^{-1/2}$. One tail is at most $\exp(-m(\lambda\epsilon + \frac12\log(1 -
    \lambda^2)))$ for $0 \le \lambda < 1$. With $\lambda = g\epsilon$, g the golden ratio $\frac{\sqrt5 - 1}2$, where $1
    - g^2 = g$: $\frac12\log(1 - g^2\epsilon^2) \ge \frac12\epsilon^2\log(1 - g^2)$ by concavity in $\epsilon^2$, so
    the exponent is at least $\epsilon^2(g + \frac12\log g)$ for $\epsilon \le 1$. For w at an angle to b* the sum
    is shorter. By Cramer's theorem the largest exponent is the rate, and as $\epsilon \to 1$ it tends to that at
    $\lambda = g$, so no larger $c_3$ works.
    """
    tail_of_products(c3)
    return "we use Chernoff's bound for products of normal variables"


@replay("rolora/eq-26")
def eq_26_as_printed(values: Values) -> Violation:
    """Compare the exponent of (28) at an angle of w and b* with the one for w along b*; that of (29) stays.

    The norm of a summand is the cosine times the norm k of the product of two independent normal variables, and k is at
    least E|zw| / log 2 = 2 / (pi log 2) > 9/10 (Jensen). While eps_2 <= k cosine the first term of (28) is the smaller.
    """
    cosine, e_2 = fractions(values, "cosine", "eps_2")
    assumes = assuming(
        Hypothesis("cosine of the angle of w and b*", cosine, ">", 0),
        Hypothesis("cosine of the angle of w and b*", cosine, "<", 1),
        Hypothesis("eps_2", e_2, ">", 0),
        Hypothesis("eps_2, for the first term of (28)", e_2, "<=", cosine * Fraction(9, 10)),
    )
    return Violation(
        cosine**-2 - 1,
        0,
        assumes=assumes,
        reads="the exponent of (28) for a w at that angle to b*, divided by the exponent for a w along b*, is "
        "cosine^-2. For (29), whose exponent is c_3 eps_2^2 m for every w, the quotient is 1. We compute the quotient "
        "minus 1",
    )


@proof("rolora/eq-30@for-a-positive-k")
def eq_30(c2: Fraction = Fraction(8, 3)) -> str:
    r"""By (22) to (25) every norm in (28) is at most $c_2$ times the operator norm, K.

    K > 0: for K = 0 both terms are 0/0. a and w are fixed, or independent of the samples, as for (22).
    So the sum of the m squares is at most $mc_2^2K^2$ and the largest norm at most $c_2K$. The last inequality is
    $\epsilon_2 \le c_2$, and $\epsilon_2 < 1 \le c_2$. (At $b^{*\top}w = 0$ all $Z_j$ are 0, and so
    are the denominators.)
    """
    norm_of_a_product(c2)
    e, m, norm, less = sympy.symbols("e m norm less", nonnegative=True)
    largest = norm + less  # c_2 K for a summand of this norm
    terms = non_negative(m * largest**2 - m * norm**2) and non_negative(largest - norm)
    order = c2 >= 1 and sympy.expand(e * m / c2 - e**2 * m / c2**2 - e * m * (c2 - e) / c2**2) == 0
    require(terms and order, "the terms of the minimum")
    return r"we use (22) to (25) in both terms, and $\epsilon_2 < 1 \le c_2$"


@replay("rolora/eq-30")
def eq_30_as_printed(values: Values) -> Violation:
    """The second term of the minimum is at most eps_2 m over the mean size of a summand, as K <= 1."""
    found, (c_2, e_2) = second_iteration(values), fractions(values, "c_2", "eps_2")
    size, n = mean_size(found), int(values["n"])
    assumes = (
        *found.assumes,
        *least_c_2(c_2),
        *assuming(Hypothesis("eps_2", e_2, ">", 0), Hypothesis("eps_2", e_2, "<", 1)),
        Hypothesis("mean size of a summand", size, ">", 0),
    )
    return Violation(
        e_2 * n / c_2,
        e_2 * n / size if size > 0 else e_2 * n / c_2,
        assumes=assumes,
        reads=f"{SUMMANDS}. For a larger c_2, more dimensions violate (31). We compare the right side of (31) with an "
        "upper bound on the left side, which should be at least as large",
    )
