"""Appendix A.3, proof of Proposition 3.1: the edges of the bulk (eqs. (26) to (29)).

Setting: `shared.limits`.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import sympy

from paper_checks.fedloru.replays.shared.limits import at_the_edges, noise, past_the_outliers
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, fractions

LAW = "an entry of X is size sigma with a random sign, with probability R^-1.5/size^2, and Gaussian otherwise"


def rare_entries(values: Values) -> tuple[int, Fraction, list[Hypothesis]]:
    r"""Return R, the probability p of a large entry, and what is assumed of the law of all entries.

    Independent entries from one law: $\pm a\sigma$ with probability $p = R^{-3/2}/a^2$, Gaussian otherwise. The large
    entries touch $O(\sqrt R)$ of the R rows, so the limiting density is the density of the Gaussian part, whose entries
    have variance $(1 - R^{-1/2})/(1-p)$ of $\sigma^2/R$.
    """
    root, (size, edge) = int(values["root_of_R"]), fractions(values, "size", "edge")
    known = assuming(Hypothesis("root of R", root, ">", 0), Hypothesis("large entries over sigma", size, ">", 0))
    R = root**2
    p = 1 / (size**2 * root**3)
    left_over = (1 - p * size**2 * R) / (1 - p)  # variance of the Gaussian part, in units of sigma^2 / R
    share = p * (R - 1)
    assumes = [
        *known,
        Hypothesis("p, a probability", p, "<", 1),
        Hypothesis("share of the rows with large entries", share, "<=", Fraction(1, 100)),
        Hypothesis("variance of the Gaussian part", left_over, ">=", Fraction(49, 50)),
        Hypothesis("large entries over sigma, against U", size, ">", edge),
        Hypothesis("U over sigma", edge, "=", 2),
    ]
    return R, p, assumes


def without_large(p: Fraction, pairs: int) -> Fraction:
    """Bound P(no large entry among some) = (1 - p)^pairs <= exp(-x) <= 1/(1 + x + x^2/2 + ...), x = p * pairs."""
    return 1 / sum(((p * pairs) ** k / factorial(k) for k in range(12)), Fraction(0))


@replay("fedloru-v2/eq-26-27")
def eq_26_27_as_printed(values: Values) -> Violation:
    r"""A large entry in row i and column j gives the Rayleigh quotients $(X_{ii}+X_{jj})/2 \pm a\sigma$.

    Hence $\max(\lambda_1, -\lambda_R) \ge a\sigma$.
    """
    R, p, assumes = rare_entries(values)
    event = (
        f"{LAW}. We compare a lower bound on P(max(lambda_1, -lambda_R) >= {float(values['size']):g} sigma s_N) with "
        "1/2"
    )
    return Violation(1 - without_large(p, R * (R - 1) // 2), Fraction(1, 2), assumes=assumes, reads=event)


@proof("fedloru-v2/eq-26-27@for-wigner-matrices")
def for_wigner_matrices(edge: Fraction = Fraction(2)) -> str:
    """Theorems (W) and (B) for the eigenvalues of the noise with fixed indices."""
    at_the_edges(edge)
    return "the variance gives the edge of the semicircle"


@proof("fedloru-v2/eq-26-27")
def eq_26_27(edge: Fraction = Fraction(2)) -> str:
    r"""(26) by (W) only, as a positive share of the eigenvalues lies near each edge; (27) by (B).

    For the other law, $P(X_{ij} = \pm3\sigma) = R^{-3/2}/9$ gives $R^{1/2}/18$ large entries on average, a number that
    is a sum of independent ones, and so tends to infinity in probability. A large entry at $i \ne j$ has Rayleigh
    quotients $3\sigma s_N$ above and below the mean of two diagonal entries, one of which is at least $3\sigma s_N$ in
    modulus. The large entries form a matrix of low rank, which changes a distribution function by at most its rank over
    R, and the other entries have variance $\sigma^2/R\,(1 + o(1))$.
    """
    R, size = sympy.Symbol("R", positive=True), sympy.Integer(3)
    rate = R ** sympy.Rational(-3, 2) / size**2
    pairs = R * (R - 1) / 2
    at_the_edges(edge)
    require(size > edge, "a large entry exceeds the edge")
    require(sympy.limit(rate * pairs, R, sympy.oo) == sympy.oo, "the number of large entries")
    require(sympy.limit(2 * rate * pairs / R, R, sympy.oo) == 0, "their rank over R")
    require(sympy.limit(rate * size**2 * R, R, sympy.oo) == 0, "the variance that they take")
    return "the variance gives the edge of the semicircle; we bound the number and the rank of the large entries"


@replay("fedloru-v2/eq-28")
def eq_28_as_printed(values: Values) -> Violation:
    r"""$U_N \le \liminf\lambda_i \le \limsup\lambda_i \le L_N$ for the same i."""
    sigma, s = fractions(values, "sigma", "s")
    return Violation(
        2 * sigma * s,
        -2 * sigma * s,
        assumes=noise(sigma, s),
        reads="we compare U = 2 sigma s with L, which should be larger by eq. (28)",
    )


@proof("fedloru-v2/eq-28")
def eq_28(edge: Fraction = Fraction(2), past: int = 1) -> str:
    r"""The lower limit by $\lambda_i(H_N) \ge \lambda_{i+q}(\epsilon_N)$, for every fixed i; mirrored from below.

    $\liminf\lambda_{i+q}(\epsilon_N) \ge U$ needs only (W). Equality past the outliers is eq. (29), and needs (B).
    """
    past_the_outliers(edge, past)
    return "the variance gives the edge of the semicircle, and the indices are symbols"


@replay("fedloru-v2/eq-29")
def eq_29_as_printed(values: Values) -> Violation:
    r"""A large entry in each of $m = p + q + 1$ blocks of indices gives m orthonormal vectors, $3\sigma$ on each.

    The part that joins them, and the diagonal, has variance at most $\sigma^2/R$ in each of $m^2$ places and does not
    depend on where the large entries are; by Markov's inequality its Frobenius norm exceeds half of
    $a\sigma - U/s_N$ with probability at most $m^2/R$ over the square of that. So $\lambda_m(\epsilon_N) > U_N$ by a
    fixed amount, and $\lambda_{p+1}(H_N) \ge \lambda_{p+1+q}(\epsilon_N)$ by (25).
    """
    R, p, assumes = rare_entries(values)
    size, edge = fractions(values, "size", "edge")
    positive, negative = int(values["positive"]), int(values["negative"])
    assumes += [Hypothesis("p", positive, ">=", 0), Hypothesis("q", negative, ">=", 0)]
    blocks = max(positive, 0) + max(negative, 0) + 1
    block, room = R // blocks, (size - edge) / 2
    joined = Fraction(blocks**2, R) / room**2 if room else Fraction(1)
    event = (
        f"{LAW}; p = positive and q = negative. We compare a lower bound on P(lambda_{positive + 1}(H_N) >= "
        f"{float(edge + room):g} sigma s_N) with 1/2"
    )
    return Violation(
        1 - blocks * without_large(p, block * (block - 1) // 2) - joined, Fraction(1, 2), assumes=assumes, reads=event
    )


@proof("fedloru-v2/eq-29@for-wigner-matrices")
def eq_29(edge: Fraction = Fraction(2), first: int = 1) -> str:
    """Weyl's inequalities between two eigenvalues of the noise with fixed indices."""
    past_the_outliers(edge, first)
    return "the variance gives the edge of the semicircle, and the indices are symbols"
