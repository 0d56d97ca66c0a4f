r"""Proofs about eigenvectors of the spiked model, Gaussian noise of scale $n = \sigma s_N$, distinct $\theta_j$.

$H_N = V\Theta V^T + \epsilon_N$ with (W), (B), (I) as for the limits of eigenvalues. $u_i$ belongs to the outlier of
the i-th spike, $|\theta_i| > n$, and w to an eigenvalue of the bulk; $\phi_i^2 = 1 - n^2/\theta_i^2$. Clients draw
their noise independently. Where rotations are used the noise has twice the variance on the diagonal, which makes its
law invariant. With one variance for all entries nothing changes in the limit for $u_i$, whose eigenvalue is isolated;
of w only what stands without rotations is shown for it.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.limit_proofs import determinant, more, n, outliers, theta
from paper_checks.fedloru.replays.wigner_proofs import exchange_of_entries
from paper_checks.proof_steps import positive
from paper_checks.replay import proof, require

gap, R = sympy.symbols("delta R", positive=True)


def cone(coefficient: Fraction | int, power: Fraction | int) -> None:
    r"""$|\langle v_i, u_i\rangle|^2 \to 1 - n^2/\theta_i^2$, and $|\langle v_j, u_i\rangle|^2 \to 0$ for $j \ne i$.

    $V^T(z - H_N)^{-1}V = (G^{-1} - \Theta)^{-1}$ with $G = V^T(z - \epsilon_N)^{-1}V \to g(z)I$ off the support, so
    that it tends to the diagonal matrix of $1/(k(z) - \theta_j)$, $k = 1/g$. Its integral over a small circle around
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
    with w for either; the numbers are bounded, so that expectations follow.
    """
    phi = sympy.Symbol("phi", positive=True)
    along = sympy.Matrix([phi, 0]).dot(sympy.Matrix([phi, 0]))
    cone(1, 2)
    away_from_spikes()
    across_the_spikes(cross)
    require(sympy.simplify(along - phi**power) == 0, "the product of both overlaps")
    require(sympy.Matrix([phi, 0]).dot(sympy.Matrix([0, phi])) == cross, "different spikes")


def overlap(coefficient: Fraction, power: Fraction) -> str:
    """Check the residue of the resolvent, and eigenvectors at the edge."""
    cone(coefficient, power)
    away_from_spikes()
    exchange_of_entries(3)
    return "the residue of the resolvent along the spikes; bulk eigenvectors along them; an exchange of the entries"


@proof("fedloru-v2/eq-5@sets-by-limit")
def sets_by_limit(coefficient: Fraction = Fraction(1), power: Fraction = Fraction(2)) -> str:
    r"""The sets by limit hold the spikes with $|\theta_i| > n$, and those at n, for which the limit and (5) are 0.

    For Wigner matrices that are not Gaussian the exchange of entries gives (I) in probability, and with (B) the rest.
    """
    return overlap(coefficient, power)


@proof("fedloru-v2/eq-5")
def eq_5(coefficient: Fraction = Fraction(1), power: Fraction = Fraction(2)) -> str:
    r"""Both limits for $|\theta_i| > n$; below, the extreme eigenvector is one at the edge, with overlap 0.

    For Wigner matrices that are not Gaussian the exchange of entries gives (I) in probability, and with (B) the rest.
    """
    return overlap(coefficient, power)


@proof("fedloru-v2/def-phi")
def def_phi(coefficient: Fraction = Fraction(1), power: Fraction = Fraction(1)) -> str:
    r"""The root of the limit in (5), which is $\phi_i^2$: the overlap tends to $\phi_i$, with noise as there."""
    phi = sympy.Symbol("phi", positive=True)
    stated = phi**power
    cone(coefficient, 2)
    require(sympy.simplify(sympy.sqrt(phi**2) - stated) == 0, "the root")
    return "the residue of the resolvent along the spikes"


@proof("fedloru-v2/claim-overlap-mono")
def claim_overlap_mono(coefficient: Fraction = Fraction(1), lost: Fraction = Fraction(0)) -> str:
    r"""$\phi^2 = 1 - n^2/\theta^2$ falls with the noise; a client that has lost the outlier has the limit 0.

    For an outlier at N, $|\theta| > n$: if $|\theta| > m$ too the limits differ by $(m^2 - n^2)/\theta^2 > 0$ in their
    squares, else by $\phi^2 > 0$. For Wigner matrices as for (5).
    """
    square = 1 - coefficient * (n / theta) ** 2
    falls = (square - square.subs(n, n + gap)).subs(theta, n + gap + more)
    cone(coefficient, 2)
    away_from_spikes(lost)
    require(positive(falls), "the overlap falls with the noise")
    require(positive(square.subs(theta, n + more)), "the overlap of an outlier")
    return "the limits of (5) at two sizes of noise"


@proof("fedloru-v2/lem-A.6@its-cosine-with-gaussian-noise")
def lem_A_6(power: Fraction = Fraction(2), cross: Fraction = Fraction(0)) -> str:
    """By independence the expectation of a product is that of the two limits; parts across the spikes vanish.

    For a w that is uniform in the complement of the outliers of its client, as the printed proof takes it, the
    expectations with w are 0 exactly, whatever the noise is: its law is symmetric given these and given the other
    client. The model's own bulk eigenvectors, treated below, are not uniform and need the noise that is invariant.
    """
    inner_products(power, cross)
    return "(5) along the spikes, rotations that fix the spikes across them; Gaussian noise"


@proof("fedloru-v2/eq-49-50")
def eq_49_50(bulk: Fraction = Fraction(0), mixed: Fraction = Fraction(0)) -> str:
    r"""Rotations that fix the spikes, and bulk eigenvectors that leave their span.

    $E\langle x, w\rangle = \langle Ex, Ew\rangle$ for eigenvectors of two clients. Across the spikes it is at most
    $1/(R - p - q)$; along them $|V^Tx| \le 1$ and $E|V^Tw| \to 0$.

    The printed premise, a w uniform in the complement of its client's outliers, gives it a law that is symmetric given
    these and given the other client, so that every expectation is 0 exactly, whatever the noise is. Assumption A.5
    alone, random orthonormal vectors, does not. The model's own bulk eigenvectors, treated above, are not uniform
    and need the noise that is invariant, with twice the variance on the diagonal.
    """
    away_from_spikes()
    across_the_spikes(bulk)
    across_the_spikes(mixed)
    return "rotations that fix the spikes; bulk eigenvectors along them; Gaussian noise"


@proof("fedloru-v2/assump-A.5")
def assump_A_5(
    beta: Fraction = Fraction(0), by_index: Fraction = Fraction(0), by_client: Fraction = Fraction(0)
) -> str:
    r"""The model with a common gradient $\gamma$ of bounded norm and independent errors of mean 0 meets it, with 0.

    $E\partial_wf = \langle\gamma, Ew\rangle$ for a sign that does not look at the gradient. Across the spikes
    $|Ew| \le (R - p - q)^{-1/2}$, along them $E|V^Tw| \to 0$, for every index and client. Eigenvectors are orthonormal.

    With the sign of each w turned so that its slope is not negative the common value is $\sqrt{2b/\pi}$ instead, b the
    mean square of the clients' own errors along any one direction: the value is a matter of signs, and cosines are not.
    """
    away_from_spikes()
    for mean in (beta, by_index, by_client):
        across_the_spikes(mean)
    return (
        r"rotations that fix the spikes; bulk eigenvectors along them. The common value is 0; with each w oriented by "
        r"the gradient it is $\sqrt{2b/\pi}$, b the mean square of the clients' own errors in any one direction"
    )


@proof("fedloru-v2/assump-bulk")
def assump_bulk(lean: Fraction = Fraction(1)) -> str:
    r"""The spectral measure of v in H: $v^T(z - H)^{-1}v \to 1/(k(z) - \theta)$, with k on the upper side of the bulk.

    At $\lambda = 2n\cos t$, $k = ne^{it}$ solves $k + n^2/k = \lambda$, and the density of that measure is
    $\frac1\pi\mathrm{Im}\,k/|k - \theta|^2$ with $|k - \theta|^2 = n^2 + \theta^2 - \theta\lambda$, against $\mathrm{
    Im}\,k/(\pi n^2)$ of the semicircle. Mean and mean square are $\langle v, Hv\rangle$ and $|Hv|^2$ less the part of
    the outlier. Across the spikes: a rotation that fixes them leaves the law of the noise as it is.
    """
    t = sympy.symbols("t", positive=True)
    k = n * (sympy.cos(t) + sympy.I * sympy.sin(t))
    point = 2 * n * sympy.cos(t)
    distance = (n * sympy.cos(t) - theta) ** 2 + (n * sympy.sin(t)) ** 2
    weight, place = 1 - n**2 / theta**2, theta + n**2 / theta
    mean, square = (
        (moment - weight * place**power) / (1 - weight) for power, moment in ((1, theta), (2, theta**2 + n**2))
    )
    stated = lean * n**2 / theta, (1 - lean) * n**2 + lean * n**2 * (1 + n**2 / theta**2)
    cone(1, 2)
    require(sympy.simplify(k + n**2 / k - point) == 0, "k on the bulk")
    require(sympy.simplify(distance - (n**2 + theta**2 - theta * point)) == 0, "the density")
    require(sympy.simplify(mean - stated[0]) == 0, "the weighted mean")
    require(sympy.simplify(square - stated[1]) == 0, "the weighted mean square")
    return "the spectral measure of the spike's direction, and its first two moments"


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
    and of variance b in every direction, so that their components along orthonormal vectors are $\sqrt b\,z_i$.
    """
    b = sympy.Symbol("b", positive=True)
    scale = sympy.sqrt(noise * b)
    require(sympy.simplify(scale**2 - b) == 0, "the mean square of the own errors in each direction")


def cosine(noise: Fraction) -> None:
    r"""$E[C_r] \to A_r^2\sum_{i \le r}m_i^2\phi_i^2/\sum_{i \le r}m_i^2$, for every r, with $m_i = 0$ for the bulk.

    Inner products of eigenvectors tend to $\phi_i^21\{i = j\}$ and to 0 for the bulk, in probability, so that the
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


@proof("fedloru-v2/eq-52-53@slopes-of-bounded-mean-square")
def eq_52_53(power: Fraction = Fraction(2), cross: Fraction = Fraction(0)) -> str:
    r"""Any slopes $a_i$, $a_j'$ of bounded mean square, whatever they depend on at their own client.

    The numerator is $\sum_{i,j}a_ia_j'\langle u_i, u_j'\rangle$, which (52) sorts. Clients are independent, so that
    $a_ia_j'$ has a bounded mean square, and $E[a_ia_j'] = \alpha_i\alpha_j$. The inner product is at most 1 and tends
    to $\phi_i^21\{i = j\}$ in probability, and so in the mean square; by the inequality of Cauchy and Schwarz
    $E[a_ia_j'\langle u_i, u_j'\rangle] - \alpha_i\alpha_j\phi_i^21\{i = j\} \to 0$.
    """
    inner_products(power, cross)
    return (
        "inner products of the eigenvectors of two clients, which converge in the mean square, times slopes of bounded "
        "mean square; Gaussian noise"
    )


@proof("fedloru-v2/eq-51-54")
def eq_51_54(noise: Fraction = Fraction(1)) -> str:
    r"""The limit of $E[C_r]$ for r up to the last outlier, and of the norms, $(E|m + \sqrt bz|)^2$ by independence.

    $A_r < 1$ if and only if b > 0; it is 1 whenever the direction of the slopes does not vary.
    """
    cosine(noise)
    return "inner products of eigenvectors, and the mean direction of the slopes"


@proof("fedloru-v2/eq-57-58")
def eq_57_58(noise: Fraction = Fraction(1)) -> str:
    r"""The limit of $E[C_r]$ past the last outlier, where S and A stay and $A_r$ falls; constant for b = 0.

    A slope along w has the mean square b, and the mean 0 if its sign does not look at the gradient; if w is oriented by
    the gradient the mean is $E|\sqrt bz|$, of the square $2b/\pi$. Slopes without spread, $\alpha_i$ and $\beta$, give
    every gradient the squared norm $A + (r - \tilde r)\beta^2$, and the inner product still tends to S: (57) and (58).
    """
    x, b = sympy.symbols("x b", positive=True)
    density = sympy.exp(-(x**2) / (2 * b)) / sympy.sqrt(2 * sympy.pi * b)
    oriented = 2 * sympy.integrate(x * density, (x, 0, sympy.oo))
    cosine(noise)
    require(sympy.simplify(oriented**2 - 2 * b / sympy.pi) == 0, "oriented bulk eigenvectors")
    return "inner products of eigenvectors, and the mean direction of the slopes"


@proof("fedloru-v2/thm-3.3")
def thm_3_3(noise: Fraction = Fraction(1)) -> str:
    r"""The limit of $E[C_r]$ for every r, its differences, and the two examples.

    Slopes without spread make the quotient that of (54) and (57), which falls strictly by (55) and (58). For b = 0,
    $A_r = 1$: below the last outlier the quotient falls by eq. (55), past it nothing changes. For b > 0 the quotient
    stays past the last outlier and $A_r$ falls. Below it can increase: for $m_1 \to 0$, $A_1 \to 0$ and with it
    $E[C_1]$, while $A_2$ and $E[C_2]$ stay positive. For $\theta_1 = -\theta_2$, b = 0 and clients that order their
    own eigenvalues by magnitude each keeps either eigenvector first with probability 1/2 if the noise has twice the
    variance on the diagonal: for the reflection Q that swaps $v_1$ and $v_2$, $-Q\epsilon Q$ has the law of
    $\epsilon$, and, without further spikes, $-QHQ$ that of H, with both eigenvectors exchanged. (Further spikes move
    both eigenvalues by $O(1/R)$, less than their fluctuations, which have the order $R^{-1/2}$; so 1/2 is the limit.)
    Both clients keep the same one with probability 1/2, so that
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
    return "inner products of eigenvectors, and the mean direction of the slopes; two examples"
