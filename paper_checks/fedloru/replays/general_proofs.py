r"""Proofs for noise $\epsilon_N = sX^R$ of a general limit law $\mu$ with support between L and U.

$g = g_\mu$, $R = R_\mu$, $g_{\mu_N}(z) = g(z/s)/s$ and $R(g(z)) + 1/g(z) = z$. Two properties are used. (E) The extreme
eigenvalues of $X^R$ tend to L and U, as the corrections ask. (I) $V^Tf(X^R)V \to \int f\,d\mu\,I$ for bounded
continuous f and the directions V of the spikes: the eigenvectors are spread evenly over them, in probability by QUE,
almost surely if they are uniformly random, since a quadratic form in uniformly random unit vectors concentrates about
its mean. Limits are those of (E) and (I), almost sure or in probability. In the steps that are shared with Gaussian
noise this (I) stands in the place of the one told there, and (E) in that of (B).
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.limit_proofs import determinant
from paper_checks.fedloru.replays.weyl_proofs import between
from paper_checks.replay import proof, require

s, theta, w = sympy.symbols("s theta w", positive=True)
R = sympy.Function("R")


def branches(coefficient: Fraction, edge: Fraction, threshold: Fraction) -> None:
    r"""Spikes with $1/\theta < g_{\mu_N}(U_N^+)$ go to $\theta + sR(s/\theta)$, the other positive ones to $U_N$.

    The determinant tends to $\prod_j(1 - \theta_jg_{\mu_N}(z))$ off the support, by (I) and (E). Beyond $U_N$ the
    transform falls continuously from $g_{\mu_N}(U_N^+)$ to 0, so that $g_{\mu_N}(z) = 1/\theta$ has one solution if
    that is larger than $1/\theta$, and none else; $z = R_{\mu_N}(1/\theta) + \theta$ by the definition of R, and
    $R_{\mu_N}(w) = sR(sw)$. It grows with $\theta$. A further $\lambda_i$, $i \le p$, is at least
    $\lambda_{i+q}(\epsilon_N) \to U_N$ (Weyl), and a fixed $i > p$ lies between two eigenvalues of the noise that tend
    to $U_N$. Mirrored from below.
    """
    scaled = s * (R(s * w) + 1 / (s * w)) - 1 / w  # R of the noise at w
    stated = theta + coefficient * s * R(s / theta)
    upper, at_edge = sympy.symbols("U g_U", positive=True)
    reached = 1 / (at_edge / s)  # g of the noise at its edge is g(U)/s
    determinant()
    require(sympy.simplify((scaled + 1 / w).subs(w, 1 / theta) - stated) == 0, "the outlier by the definition of R")
    require(sympy.simplify(threshold * s / at_edge - reached) == 0, "the threshold")
    require(sympy.simplify(edge * s * upper - s * upper) == 0, "the edge of the scaled noise")
    between(0, 0)


@proof("fedloru-v1/eq-3-4")
def v1_eq_3_4(scale: Fraction = Fraction(1)) -> str:
    r"""The named ensembles have limit laws of compact support, and one ensemble meets all that is assumed at once.

    Wigner matrices, with entries $R^{-1/2}$ times a fixed law of finite variance, and with them the Gaussian ensembles,
    have the semicircle (Wigner), for which $z = \sigma^2g + 1/g$. Wishart matrices $\frac1nYY^T$, Y of R x n entries
    of one law and $R/n \to c$, have the law of Marchenko and Pastur, for which $z = 1/(1 - cg) + 1/g$. Either support
    ends where these functions of g have a critical point: at $\pm2\sigma$, and at $(1 \pm \sqrt c)^2$ (for c = 1 at 0,
    where the density is not bounded; for c > 1 there is a mass at 0 beside, and no density: the assumption of one
    leaves c < 1). Inside the supports the densities are smooth.

    All at once: $X^R = O\,\mathrm{diag}(q_1, \ldots, q_R)\,O^T$ with a uniformly random rotation O and the quantiles
    $q_i$, at $(i - \frac12)/R$, of any law of compact support whose density is smooth everywhere. It is random, real
    and symmetric, its spectral measure tends to that law, and its eigenvectors are uniformly random, which QUE asks for
    in the limit. $s(N) = 1/(N + 2)$ decreases from $\mathbb{N}$ to (0, 1).
    """
    g, (c, sigma) = sympy.Symbol("g"), sympy.symbols("c sigma", positive=True)
    wigner, wishart = sigma**2 * g + 1 / g, 1 / (1 - c**2 * g) + 1 / g  # c^2: the ratio
    ends = {sympy.simplify(wishart.subs(g, root)) for root in sympy.solve(sympy.diff(wishart, g), g)}
    stated = {sympy.simplify(scale * (1 + sign * c) ** 2) for sign in (1, -1)}
    outer = sympy.solve(sympy.diff(wigner, g), g)
    require(
        {sympy.simplify(wigner.subs(g, root)) for root in outer} == {2 * scale * sigma, -2 * scale * sigma},
        "the edges of the semicircle",
    )
    require({sympy.expand(end) for end in ends} == {sympy.expand(end) for end in stated}, "the edges of Wishart's law")
    return "the ends of both laws, from their R-transforms; rotations of fixed eigenvalues meet every condition"


@proof("fedloru-v1/prop-3.2")
def v1_prop_3_2(
    coefficient: Fraction = Fraction(1), edge: Fraction = Fraction(1), threshold: Fraction = Fraction(1)
) -> str:
    r"""Both branches, and fixed indices past the outliers, as told under Branches.

    Where the density vanishes like a square root at the edge, g has an infinite slope there, so that its inverse
    $R_{\mu_N}(w) + 1/w$ has a critical point, with the value $U_N$, at the threshold, and exceeds $U_N$ on both sides
    of it. A density that vanishes faster gives g a finite slope at the edge, and no such point.
    """
    branches(coefficient, edge, threshold)
    return "a small determinant, the definition of R, and Weyl's inequalities"


@proof("fedloru-iclr/prop-3.1")
def iclr_prop_3_1(
    coefficient: Fraction = Fraction(1), edge: Fraction = Fraction(1), threshold: Fraction = Fraction(1)
) -> str:
    r"""Both branches as in v1; an index $\lfloor cR\rfloor$ between two of the noise with the same share.

    $\lambda_{i+q}(\epsilon_N) \le \lambda_i(H_N) \le \lambda_{i-p}(\epsilon_N)$, and both ends tend to the
    $(1-c)$-quantile of $\mu_N$ where it is unique, by the weak convergence to $\mu_N$.
    """
    c, dimension, shift = sympy.symbols("c R k", positive=True)
    share = sympy.limit((c * dimension + shift) / dimension, dimension, sympy.oo)
    branches(coefficient, edge, threshold)
    require(share == c, "the share of a shifted index")
    return "a small determinant, the definition of R, and Weyl's inequalities"


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
    return "limits of both norms; one derivative by the definition of R; an example with a double eigenvalue"
