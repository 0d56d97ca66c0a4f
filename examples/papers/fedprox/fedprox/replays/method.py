"""Section 4.1 and Appendix A.2: proofs about the dissimilarity."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import rational
from paper_checks.replay import proof, require


@proof("fedprox/dissimilarity")
def dissimilarity(factor: Fraction = Fraction(1)) -> str:
    r"""With shares that sum to 1, $E_k\|\nabla F_k\|^2 - \|\nabla f\|^2 = E_k\|\nabla F_k - \nabla f\|^2 \ge 0$.

    It is 0 if all gradients are the same.
    """
    square, mean, shares = sympy.symbols("square mean shares", real=True)
    spread = square - 2 * mean * mean + mean**2 * shares
    require(sympy.expand(spread.subs(shares, 1) - (square - mean**2)) == 0, "the variance, coordinate by coordinate")
    require(bool(rational(factor) <= 1), "the factor is at most 1")
    return "the mean square is the variance plus the square of the mean"


@proof("fedprox/cor-10")
def cor_10(K: Fraction = Fraction(1)) -> str:
    r"""$E_k\|\nabla F_k\|^2 = E_k\|\nabla F_k - \nabla f\|^2 + \|\nabla f\|^2 \le \sigma^2 + \|\nabla f\|^2$.

    Dividing by $\|\nabla f\|^2 > \epsilon$ gives $B^2 \le 1 + \sigma^2/\|\nabla f\|^2 \le 1 + \sigma^2/\epsilon$.
    """
    sigma, epsilon, more = sympy.symbols("sigma epsilon more", positive=True)
    gap = rational(K) * sigma**2 / epsilon - sigma**2 / (epsilon + more)
    rest = sympy.factor(sympy.together(gap - sigma**2 * more / (epsilon * (epsilon + more))))
    require(rest.is_nonnegative is True, "the quotient falls as the gradient grows")
    return "the bound is attained as the square of the gradient tends to epsilon"
