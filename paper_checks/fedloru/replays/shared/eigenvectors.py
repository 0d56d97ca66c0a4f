r"""Eigenvectors of the spiked model with Gaussian noise of scale $n = \sigma s_N$ and distinct $\theta_j$.

$H_N = V\Theta V^T + \epsilon_N$ with (W), (B), (I) as for the limits of eigenvalues. $u_i$ belongs to the outlier of
the i-th spike, $|\theta_i| > n$, and w to an eigenvalue of the bulk; $\phi_i^2 = 1 - n^2/\theta_i^2$. Clients draw
their noise independently. Where rotations are used the noise has twice the variance on the diagonal, which makes its
law invariant. With one variance for all entries nothing changes in the limit for $u_i$, whose eigenvalue is isolated;
for w only the parts that are proved without rotations apply to it.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.limits import determinant, n, outliers, theta
from paper_checks.replay import require

gap, R = sympy.symbols("delta R", positive=True)


def cone(coefficient: Fraction | int, power: Fraction | int) -> None:
    r"""$|\langle v_i, u_i\rangle|^2 \to 1 - n^2/\theta_i^2$, and $|\langle v_j, u_i\rangle|^2 \to 0$ for $j \ne i$.

    $V^T(z - H_N)^{-1}V = (G^{-1} - \Theta)^{-1}$ with $G = V^T(z - \epsilon_N)^{-1}V \to g(z)I$ off the support, so
    it tends to the diagonal matrix of $1/(k(z) - \theta_j)$, $k = 1/g$. Its integral over a small circle around
    the limit of $\lambda_i$, which holds no other eigenvalue for large R, is $2\pi i$ times $V^Tu_iu_i^TV$; the residue
    of the limit is $1/k'$ at place i and 0 elsewhere. $k + n^2/k = z$ gives $1/k' = 1 - n^2/k^2$ at $k = \theta_i$.
    """
    G, t, k = sympy.symbols("G t k")
    inverse_slope = sympy.diff(k + n**2 / k, k).subs(k, theta)
    stated = 1 - coefficient * (n / theta) ** power
    determinant()
    outliers(theta + n**2 / theta, 1)
    require(sympy.cancel(G / (1 - t * G) - 1 / (1 / G - t)) == 0, "the resolvent along the spikes")
    require(sympy.simplify(inverse_slope - stated) == 0, "the residue")


def away_from_spikes(limit: Fraction | int = 0) -> None:
    r"""$V^Tw \to 0$ in probability for every bulk eigenvector w, uniformly over its index.

    $(\lambda - \epsilon_N)w = V\Theta V^Tw$, so $1 = |w|^2 = y^TV^T(\lambda - \epsilon_N)^{-2}Vy$ with $y = \Theta
    V^Tw$. Cut $[L, U]$ into windows of mass c of the semicircle. By (B) and Weyl's inequalities $\lambda$ is in a
    window or within a vanishing distance of one. A window is at most $\delta(c)$ wide, and widest at an edge, where it
    has $\frac{\sqrt2}{3\pi}(\delta/n)^{3/2}$ of the mass or more: $\delta(c) \le Cc^{2/3}$. The projection P on the
    eigenvectors of $\epsilon_N$ with eigenvalues in the window has $V^TPV \to cI$ by (I), as the semicircle has no
    atoms. Hence $1 \ge |y|^2(c - o(1))/(\delta(c)^2 + o(1))$: $|y|^2$ is at most a multiple of $c^{1/3}$ in the limit,
    for every c > 0. The same holds for the extreme eigenvector of a spike with $|\theta| \le n$, whose eigenvalue tends
    to the edge.
    """
    c, width, x = sympy.symbols("c w x", positive=True)
    # Near the upper edge the density sqrt(x (4 n - x)) / (2 pi n^2) is at least sqrt(2 n x) / (2 pi n^2) for x <= 2 n.
    mass = sympy.integrate(sympy.sqrt(2 * n * x) / (2 * sympy.pi * n**2), (x, 0, width))
    least = sympy.sqrt(2) / (3 * sympy.pi) * (width / n) ** sympy.Rational(3, 2)
    at_most = (c ** sympy.Rational(2, 3)) ** 2 / c
    require(sympy.simplify(mass - least) == 0, "the mass at an edge")
    require(sympy.limit(at_most, c, 0) == limit, "the bound on the components along the spikes")


def across_the_spikes(limit: Fraction | int) -> None:
    r"""Parts orthogonal to the spikes: $E\langle x, y\rangle$ of two clients gets at most $1/(R - p - q)$ from them.

    Let $x = \pm P_\perp u$ for an eigenvector u, with any rule for its sign that looks at the own client only. For a
    unit vector e orthogonal to the spikes $(E\langle x, e\rangle)^2 \le E\langle x, e\rangle^2 = E|x|^2/(R - p - q)$,
    as the noise has the same law after every rotation that fixes the spikes. So $|Ex| \le (R - p - q)^{-1/2}$, and
    $\langle Ex, Ey\rangle$ is at most the product. The inner product itself tends to 0 in probability: given y its mean
    square is at most $1/(R - p - q)$.
    """
    spikes = sympy.Symbol("p", positive=True)
    bound = (1 / sympy.sqrt(R - spikes)) ** 2
    require(sympy.limit(bound, R, sympy.oo) == limit, "the limit of the part across the spikes")


def inner_products(power: Fraction | int, cross: Fraction | int) -> None:
    r"""$\langle u_i, u_j'\rangle$ of two clients, oriented towards the spikes, tends to $\phi_i\phi_j1\{i = j\}$.

    Along the spikes $\sum_a\langle u_i, v_a\rangle\langle u_j', v_a\rangle$ has that limit by (5), and the limit 0
    with w for either; the numbers are bounded, so expectations follow.
    """
    phi = sympy.Symbol("phi", positive=True)
    along = sympy.Matrix([phi, 0]).dot(sympy.Matrix([phi, 0]))
    cone(1, 2)
    away_from_spikes()
    across_the_spikes(cross)
    require(sympy.simplify(along - phi**power) == 0, "the product of both overlaps")
    require(sympy.Matrix([phi, 0]).dot(sympy.Matrix([0, phi])) == cross, "different spikes")


def mean_cosine() -> None:
    r"""$A_r = E\cos\angle(m + \sqrt b\,z, m)$: less than 1 for b > 0, and strictly falling in r at the same $|m|$.

    With $X = |m| + \sqrt b\,z_1$ and $Y^2 = b\chi_{r-1}^2$ it is $E\,X/\sqrt{X^2 + Y^2}$. $x/\sqrt{x^2 + y^2}$ is odd
    in x and, for x > 0, falls in $y^2$, and X has more density at x than at -x; so the mean over X falls in $y^2$,
    which grows with r. In one dimension it is $P(X > 0) - P(X < 0) < 1$. For large r, $Y^2/r \to b$ gives
    $\sqrt rA_r \to |m|/\sqrt b$. For b = 0 it is 1. By symmetry about m,
    $E\frac{m + \sqrt bz}{|m + \sqrt bz|} = A_r\frac m{|m|}$.
    """
    x, y, b, size = sympy.symbols("x y b m", positive=True)
    slope = sympy.diff(x / sympy.sqrt(x**2 + y), y)
    exponent = sympy.expand(((x + size) ** 2 - (x - size) ** 2) / (2 * b))
    require(sympy.simplify(slope + x / (2 * (x**2 + y) ** sympy.Rational(3, 2))) == 0, "the cosine falls in y^2")
    require(exponent == 2 * x * size / b, "more density at x than at -x")


def own_errors(noise: Fraction) -> None:
    r"""Slopes $\langle\gamma + e, u_i\rangle \to m_i + \sqrt b\,z_i$ with $m_i = \phi_i\gamma_i$; 0 for the bulk.

    $\gamma$ is one vector of bounded norm. Along the spikes $\langle\gamma, u_i\rangle \to \phi_i\gamma_i$ by (5) for
    $u_i$ oriented towards $v_i$, and 0 for the bulk; the part of $\gamma$ across the spikes adds at most its norm over
    the root of $R - p - q$ in the mean square, by rotations. The own errors e are Gaussian, independent of the noise
    and of variance b in every direction, so their components along orthonormal vectors are $\sqrt b\,z_i$.
    """
    b = sympy.Symbol("b", positive=True)
    scale = sympy.sqrt(noise * b)
    require(sympy.simplify(scale**2 - b) == 0, "the mean square of the own errors in each direction")


def cosine(noise: Fraction) -> None:
    r"""$E[C_r] \to A_r^2\sum_{i \le r}m_i^2\phi_i^2/\sum_{i \le r}m_i^2$, for every r, with $m_i = 0$ for the bulk.

    Inner products of eigenvectors tend to $\phi_i^21\{i = j\}$ and to 0 for the bulk, in probability, so the
    bounded $C_r$ differs by a vanishing amount from $\sum_i\phi_i^2\frac{a_i}{|a|}\frac{a_i'}{|a'|}$ with independent
    slopes a and a'; the mean of $a/|a|$ is $A_rm/|m|$. The sign of an eigenvector drops out.
    Eigenvectors are in the order of the $|\theta_i|$, which differ.
    """
    A, m, phi = sympy.symbols("A m phi", positive=True)
    squares, total = m**2, sympy.Symbol("S", positive=True)
    part = phi**2 * (A * m / sympy.sqrt(total)) ** 2
    inner_products(2, 0)
    mean_cosine()
    own_errors(noise)
    require(sympy.simplify(part - A**2 * squares * phi**2 / total) == 0, "the part of one direction")
