"""Theorem 3.3: gradient alignment.

Setting: `shared.eigenvectors`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.eigenvectors import cosine
from paper_checks.fedloru.replays.shared.two_clients import TWO_CLIENTS, small_first_slope
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/def-approx")
def def_approx_as_printed(values: Values) -> Violation:
    r"""Two weights and one spike, $H_N = \mathrm{diag}(\theta_1, 0) + \epsilon$: is $\theta_1$ an eigenvalue of it?"""
    theta, e11, e12, e22 = fractions(values, "theta_1", "e11", "e12", "e22")
    return Violation(
        abs((theta + e11 - theta) * (e22 - theta) - e12**2),
        0,
        assumes=(Hypothesis("|theta_1|", abs(theta), ">", 0),),
        reads="with H_true = diag(theta_1, 0) and the noise e, we compute |det(H_N - theta_1)|, which would be 0 if "
        "theta_1 were an eigenvalue",
    )


def projection(factor: Fraction, missing: int) -> str:
    """Check a sum of projections on orthonormal vectors, as many as are kept."""
    s = sympy.Symbol("s", positive=True)
    require(factor**2 == factor and factor != 0, "a projection, by U^T U = I")
    require(sympy.simplify((s - missing) * factor - s) == 0, "its trace, the dimension, at full rank")
    return "we use a sum of projections onto single vectors, orthonormality and the trace"


@proof("fedloru-v2/def-approx@outliers-of-h-n")
def outliers(factor: Fraction = Fraction(1), missing: int = 0) -> str:
    r"""In every dimension: with $U_r = (u_1, \ldots, u_r)$, $r \le s$, the sum is $U_rU_r^T\nabla f$.

    $U_rU_r^T = \sum_{i \le r}u_iu_i^T$ does not change with the sign of a $u_i$. As $U_r^TU_r = I$ it is its own
    square, and symmetric: the orthogonal projection on the span of the $u_i$, of dimension r, and at full rank s. The
    cosine is defined where no projection of a gradient is 0, and where the order by magnitude leaves no choice:
    $|\lambda_r| > |\lambda_{r+1}|$ at either client.
    """
    return projection(factor, missing)


@proof("fedloru-v2/def-approx@all-eigenvectors-of-h-n")
def def_approx(factor: Fraction = Fraction(1), missing: int = 0) -> str:
    r"""In every dimension: with $U_r = (u_1, \ldots, u_r)$ the sum is $U_rU_r^T\nabla f$.

    $U_rU_r^T = \sum_{i \le r}u_iu_i^T$ does not change with the sign of a $u_i$. As $U_r^TU_r = I$ it is its own
    square, and symmetric: the orthogonal projection on the span of the $u_i$, which is everything for all eigenvectors
    of $H_N$ and has the dimension r otherwise. The cosine is defined where no projection of a gradient is 0, and where
    the order by magnitude leaves no choice: $|\lambda_r| > |\lambda_{r+1}|$ at either client.
    """
    return projection(factor, missing)


@replay("fedloru-v2/thm-3.3", **TWO_CLIENTS)
def thm_3_3_as_printed(values: Values) -> Violation:
    """Compare g(1) with the limit of the difference of the cosines, for a small first slope."""
    return small_first_slope(values)


@proof("fedloru-v2/thm-3.3")
def thm_3_3(noise: Fraction = Fraction(1)) -> str:
    r"""The limit of $E[C_r]$ for every r, its differences, and the two examples.

    Slopes without spread give the quotient of (54) and (57), which falls strictly by (55) and (58). For b = 0,
    $A_r = 1$: below the last outlier the quotient falls by eq. (55), past it nothing changes. For b > 0 the quotient
    stays past the last outlier and $A_r$ falls. Below it can increase: for $m_1 \to 0$, $A_1 \to 0$ and with it
    $E[C_1]$, while $A_2$ and $E[C_2]$ stay positive. For $\theta_1 = -\theta_2$, b = 0 and clients that order their
    own eigenvalues by magnitude each keeps either eigenvector first with probability 1/2 if the noise has twice the
    variance on the diagonal: for the reflection Q that swaps $v_1$ and $v_2$, $-Q\epsilon Q$ has the law of
    $\epsilon$, and, without further spikes, $-QHQ$ the law of H, with both eigenvectors exchanged. (Further spikes move
    both eigenvalues by $O(1/R)$, less than their fluctuations, which have the order $R^{-1/2}$; so 1/2 is the limit.)
    Both clients keep the same one with probability 1/2, so
    $E[C_1] \to \phi^2/2$, and $E[C_2] \to \phi^2$. With $u_1$ at $g_N^{-1}(\theta_1)$ for both clients they keep the
    same one.
    """
    x, b, m = sympy.symbols("x b m", positive=True)
    density = sympy.exp(-((x - m) ** 2) / (2 * b)) / sympy.sqrt(2 * sympy.pi * b)
    negative = sympy.integrate(density.subs(x, -x), (x, 0, sympy.oo))
    half = sympy.Rational(1, 2)
    cosine(noise)
    require(sympy.limit(1 - 2 * negative, m, 0) == 0, "the mean cosine in one dimension for a small slope")
    require(half * half + half * half == half, "both clients keep the eigenvector of one spike")
    return "we use inner products of eigenvectors, the mean direction of the slopes, and two examples"
