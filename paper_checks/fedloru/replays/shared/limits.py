r"""Limits of eigenvalues, transforms and norms, for noise $\epsilon_N$ with entries of variance $n^2/R$.

$n = \sigma s_N$, $H_N = V\Theta V^T + \epsilon_N$ with p positive and q negative spikes, $L = -2n$, $U = 2n$. Three
classical theorems are used, each almost surely. (W) The eigenvalues of $\epsilon_N$ have the semicircle of variance
$n^2$ as their limit law (Wigner). (B) $\|\epsilon_N\| \to 2n$ for a fixed law of the entries with a finite fourth
moment, where one infinite matrix has the entries for all R (Bai and Yin); for Gaussian entries, whose norm
concentrates, always, and for others always in probability. (I) For Gaussian entries
$V^Tf(\epsilon_N)V \to \int f\,d\mu\,I$ for bounded continuous f. With twice the variance on the diagonal the
eigenvectors are independent of the eigenvalues and uniformly random, and a quadratic form in uniformly random unit
vectors concentrates about its mean; with one variance for all entries the matrix differs from such a one by a diagonal
matrix whose norm tends to 0, which changes $f(\epsilon_N)$ by an amount that tends to 0. Shares of the spectrum need
only (W), fixed indices at the edges (W) and (B), and only outliers (I).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.fedloru.replays.shared.dimension_counts import between
from paper_checks.proof_steps import positive
from paper_checks.replay import Hypothesis, require

sigma, s = sympy.symbols("sigma s", positive=True)


def noise(sigma: Fraction, s: Fraction) -> list[Hypothesis]:
    """Return the hypotheses on the noise of a sample size: sigma > 0, s in (0, 1)."""
    return [Hypothesis("sigma", sigma, ">", 0), Hypothesis("s", s, ">", 0), Hypothesis("s", s, "<", 1)]


n, theta, more, other = sympy.symbols("n theta a b", positive=True)


def semicircle(edge: Fraction | int) -> None:
    r"""The semicircle of variance $n^2$ has its edges at $\pm2n$: with radius r its mean square is $r^2/4$."""
    angle = sympy.Symbol("t", real=True)
    density = 2 * sympy.cos(angle) ** 2 / sympy.pi  # of x = r sin t
    square = sympy.integrate((edge * n * sympy.sin(angle)) ** 2 * density, (angle, -sympy.pi / 2, sympy.pi / 2))
    require(sympy.simplify(square - n**2) == 0, "the edge of the semicircle")


def transform(spike: Any, z: Any) -> None:
    r"""$k = 1/g_\mu$ at z is the spike: $n^2g^2 - zg + 1 = 0$, and beyond the edge g is the smaller root.

    For $z = \theta + n^2/\theta$ and $\theta > n$, $\sqrt{z^2 - 4n^2} = \theta - n^2/\theta > 0$.
    """
    root = spike - n**2 / spike
    require(sympy.simplify(z**2 - 4 * n**2 - root**2) == 0, "the square root of z^2 - 4 n^2")
    require(sympy.simplify(2 * n**2 / (z - root) - spike) == 0, "k(z)")
    require(positive(root.subs(theta, n + more)), "the root beyond the threshold")


def at_the_edges(edge: Fraction | int) -> None:
    r"""$\lambda_k(\epsilon_N) \to U$ for every fixed k, and mirrored.

    At most $\|\epsilon_N\|$, it has the upper limit U by (B); by (W) a positive share of the eigenvalues lies beyond
    $U - \delta$, more than k of them for large R, for every $\delta > 0$.
    """
    semicircle(edge)


def past_the_outliers(edge: Fraction, first: int) -> None:
    r"""$\lambda_i(H_N) \to U$ for every fixed $i > p$, and mirrored.

    Both ends of $\lambda_{i+q}(\epsilon_N) \le \lambda_i(H_N) \le \lambda_{i-p}(\epsilon_N)$ tend to U.
    """
    p, i = sympy.symbols("p i", integer=True, positive=True)
    between(0, 0)
    require((i - p).subs(i, p + first) >= 1, "an index of the noise for each index past the outliers")
    at_the_edges(edge)


def determinant() -> None:
    r"""Eigenvalues off the support: $\det(z - H_N) = \det(z - \epsilon_N)\det(I - \Theta V^T(z - \epsilon_N)^{-1}V)$.

    By (I) the second matrix tends to $I - g(z)\Theta$, uniformly on compact sets off $[L, U]$, where by (B) the entries
    are analytic and bounded for large R. By the theorem of Hurwitz the eigenvalues of $H_N$ there tend, with their
    multiplicities, to the zeros of $\prod_j(1 - \theta_jg(z))$.
    """
    z, e = sympy.Symbol("z"), sympy.symbols("e1:4")
    V, spikes = sympy.Matrix(3, 2, sympy.symbols("v1:7")), sympy.diag(*sympy.symbols("t1:3"))
    noise = sympy.diag(*(z - one for one in e))
    whole = (noise - V * spikes * V.T).det()
    small = (sympy.eye(2) - spikes * V.T * noise.inv() * V).det()
    require(sympy.expand(sympy.together(whole - noise.det() * small).as_numer_denom()[0]) == 0, "the determinant")


def outliers(z: Any, threshold: Fraction | int) -> None:
    r"""$1 = \theta g(z)$ has the one solution $\theta + n^2/\theta$ beyond U for $\theta > n$, and none else.

    g falls from $g(U) = 1/n$ to 0 there. The solution grows with $\theta$, so the i-th largest belongs to the i-th
    spike. Negative spikes are mirrored.
    """
    at_edge = 2 * n / (2 * n**2)  # (z - sqrt(z^2 - 4 n^2)) / (2 n^2) at z = 2 n
    transform(theta, z)
    require(sympy.simplify(threshold * n * at_edge) == 1, "the threshold, where g is 1/theta at the edge")
    require(positive(sympy.diff(theta + n**2 / theta, theta).subs(theta, n + more)), "the order of the outliers")
