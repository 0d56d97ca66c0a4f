"""Theorem 3.3 of v1, which is Theorem 3.2 of iclr.

Setting: `shared.general_noise`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.general_noise import R, s, theta
from paper_checks.fedloru.replays.shared.limits import determinant
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v1/thm-3.3")
def v1_thm_3_3_as_printed(values: Values) -> Violation:
    r"""Noise with the eigenvalues $h(1 - (2j-1)/R)$ and uniformly random eigenvectors, one spike: the gap over R.

    With y = v^T X v for the spike's direction, ||H||_F^2 = theta^2 + 2 theta s y + s^2 sum d^2 and
    theta + s y <= ||H|| <= theta + s h. The mean of y is 0 and its variance 2 sum d^2 / (R (R + 2)), so |y| <= delta
    except with probability variance / delta^2 (Chebyshev) for each of client and server.
    """
    theta, s_M, s_N, half = fractions(values, "theta", "s_M", "s_N", "half_width")
    R, delta = int(values["R"]), Fraction(1, 10)
    squares = half**2 * Fraction(R**2 - 1, 3 * R)  # sum of the squares of the eigenvalues
    fails = 2 * (2 * squares / (R * (R + 2))) / delta**2
    assumes = (
        Hypothesis("s_N", s_N, ">", 0),
        Hypothesis("s_N, against s_M", s_N, "<", s_M),
        Hypothesis("s_M", s_M, "<", 1),
        Hypothesis("half width of the law", half, ">", 0),
        Hypothesis("theta, against s_N delta, delta = 1/10", theta, ">", s_N * delta),
        Hypothesis(
            "probability of |v^T X v| > delta at M or at N, v the spike's direction", fails, "<", Fraction(1, 100)
        ),
    )
    client = (theta**2 - 2 * theta * s_M * delta + s_M**2 * squares) / (theta + s_M * half) ** 2
    server = (theta**2 + 2 * theta * s_N * delta + s_N**2 * squares) / (theta - s_N * delta) ** 2
    return Violation(
        (client - server) / R,
        0,
        assumes=assumes,
        reads="there is one spike theta, the eigenvalues of X fill the uniform law on [-half_width, half_width], "
        "whose density is constant there, and the eigenvectors are uniformly random. We compare a lower bound on "
        "(srank(H_M) - srank(H_N))/R, valid if |v^T X v| <= delta at M and at N, with 0, the limit of S/R",
    )


@proof("fedloru-v1/thm-3.3")
def v1_thm_3_3(growth: Fraction = Fraction(1), second_moment: Fraction = Fraction(1)) -> str:
    r"""$\mathrm{srank}(H)/R \to m_2s^2/\lambda^2$, and $s/\lambda(s)$ never decreases.

    $\|H\|_F^2/R \to s^2m_2$ by weak convergence and (E), as the spikes change $\|H\|_F$ by a bounded amount. The norm
    tends to the largest of $s\max(|L|, |U|)$ and the outliers in modulus. For an outlier $\lambda = \theta + sR(x)$, $x
    = s/\theta > 0$, $\lambda - s\lambda' = \theta(1 - x^2R'(x)) > 0$, because the inverse $R(w) + 1/w$ of g falls up to
    $g(U^+)$; mirrored for a negative one. So $s/\lambda$ is the least of functions that increase strictly (outliers)
    and one that is constant (the bulk), and outliers disappear as s grows: the limit of the difference is positive if
    and only if an outlier is the norm at N.

    Where the bulk is the norm at both: one spike $0 < \theta < s_N(|L| - |U|)$, and noise whose least eigenvalue L is
    double. By Weyl's inequalities L s is an eigenvalue of H, and the norm is $s|L|$ exactly. Then
    $L^2\,\mathrm{srank}(H) = \theta^2/s^2 + 2\theta y/s + \sum d^2$, with $y = v^TXv \to$ the mean of $\mu$ for both
    and of variance $O(1/R)$; for a law of mean 0 the difference tends to $\theta^2(s_M^{-2} - s_N^{-2})/L^2 < 0$.
    """
    x, m_2 = sympy.symbols("x m_2", positive=True)
    outlier = theta + s * R(s / theta)
    slope = sympy.simplify((outlier - s * sympy.diff(outlier, s)).subs(s, x * theta).doit())
    inverse = sympy.diff(R(x) + 1 / x, x)  # negative up to g(U)
    stated = growth * second_moment * s**2 * m_2
    # Noise of mean 0 with the double eigenvalue -2, and a spike along (1, 2, 2)/3.
    direction = sympy.Matrix([1, 2, 2]) / 3
    hessian = s * sympy.diag(-2, -2, 4) + theta * direction * direction.T
    determinant()
    require(sympy.simplify(stated - s**2 * m_2) == 0, "the mean square of the eigenvalues of the noise")
    require(sympy.simplify(slope + theta * x**2 * inverse) == 0, "s over an outlier grows with s")
    require(sympy.expand((hessian + 2 * s * sympy.eye(3)).det()) == 0, "a double eigenvalue of the noise is one of H")
    return (
        "we use the limits of both norms, one derivative from the definition of R, and an example with a double "
        "eigenvalue"
    )
