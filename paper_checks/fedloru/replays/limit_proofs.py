r"""Proofs of limits of eigenvalues, transforms and norms, for noise $\epsilon_N$ with entries of variance $n^2/R$.

$n = \sigma s_N$, $H_N = V\Theta V^T + \epsilon_N$ with p positive and q negative spikes, $L = -2n$, $U = 2n$. Three
classical theorems are used, each almost surely. (W) The eigenvalues of $\epsilon_N$ have the semicircle of variance
$n^2$ as their limit law (Wigner). (B) $\|\epsilon_N\| \to 2n$ for a fixed law of the entries with a finite fourth
moment, where one infinite matrix has the entries for all R (Bai and Yin); for Gaussian entries, whose norm
concentrates, always, and for others always in probability. (I) For Gaussian entries
$V^Tf(\epsilon_N)V \to \int f\,d\mu\,I$ for bounded continuous f. With twice the variance on the diagonal the
eigenvectors are independent of the eigenvalues and uniformly random, and a quadratic form in uniformly random unit
vectors concentrates about its mean; with one variance for all entries the matrix differs from such a one by a diagonal
matrix whose norm tends to 0, which changes $f(\epsilon_N)$ by an amount that tends to 0. Shares of the spectrum need
(W) alone, fixed indices at the edges (W) and (B), and only outliers (I).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.fedloru.replays.weyl_proofs import between
from paper_checks.proof_steps import positive
from paper_checks.replay import proof, require

n, theta, more, other = sympy.symbols("n theta a b", positive=True)
sigma, s = sympy.symbols("sigma s", positive=True)


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
    require((i - p).subs(i, p + first) >= 1, "an index of the noise beside each index past the outliers")
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

    g falls from $g(U) = 1/n$ to 0 there. The solution grows with $\theta$, so that the i-th largest belongs to the i-th
    spike. Negative spikes are mirrored.
    """
    at_edge = 2 * n / (2 * n**2)  # (z - sqrt(z^2 - 4 n^2)) / (2 n^2) at z = 2 n
    transform(theta, z)
    require(sympy.simplify(threshold * n * at_edge) == 1, "the threshold, where g is 1/theta at the edge")
    require(positive(sympy.diff(theta + n**2 / theta, theta).subs(theta, n + more)), "the order of the outliers")


@proof("fedloru-v2/eq-29@for-wigner-matrices")
def eq_29(edge: Fraction = Fraction(2), first: int = 1) -> str:
    """Weyl's inequalities between two eigenvalues of the noise with fixed indices."""
    past_the_outliers(edge, first)
    return "indices as symbols; the edge of the semicircle from its variance"


@proof("fedloru-v2/eq-28")
def eq_28(edge: Fraction = Fraction(2), past: int = 1) -> str:
    r"""The lower limit by $\lambda_i(H_N) \ge \lambda_{i+q}(\epsilon_N)$, for every fixed i; mirrored from below.

    $\liminf\lambda_{i+q}(\epsilon_N) \ge U$ needs (W) alone. Equality past the outliers is eq. (29), and needs (B).
    """
    past_the_outliers(edge, past)
    return "indices as symbols; the edge of the semicircle from its variance"


@proof("fedloru-v2/prop-3.1-bulk@fixed-index")
def fixed_index(edge: Fraction = Fraction(2)) -> str:
    """The limit of eq. (29), and the same from below."""
    past_the_outliers(edge, 1)
    return "eq. (29) with the indices as symbols"


@proof("fedloru-v2/prop-3.1-bulk")
def prop_3_1_bulk(edge: Fraction = Fraction(2)) -> str:
    r"""An index with $i(R)/R \to c$ between two of the noise with the same limiting share.

    $\lambda_{i+q}(\epsilon_N) \le \lambda_i(H_N) \le \lambda_{i-p}(\epsilon_N)$ for $p < i \le R - q$, and $(i \pm
    k)/R \to c$. For $0 < c < 1$ both ends tend to the $(1-c)$-quantile of the semicircle by (W), where its distribution
    function is strictly increasing. For $c = 0$ the upper end is at most $\lambda_1(\epsilon_N) \to U$ by (B), and the
    lower one is at least $\lambda_{\lfloor\delta R\rfloor}(\epsilon_N)$ for large R and every $\delta > 0$; its limit,
    the $(1-\delta)$-quantile, tends to U with $\delta \to 0$. Fixed indices have c = 0 (eq. 29); $c = 1$ is mirrored.
    """
    c, R, k = sympy.symbols("c R k", positive=True)
    share = sympy.limit((c * R + k) / R, R, sympy.oo)
    slower = sympy.limit((sympy.sqrt(R) + k) / R, R, sympy.oo)
    past_the_outliers(edge, 1)
    require(share == c, "the share of a shifted index")
    require(slower == 0, "the share of an index that grows more slowly than R")
    return "Weyl's inequalities with the indices as symbols, Wigner's law and the edges of eq. (29)"


@proof("fedloru-v2/eq-26-27@for-wigner-matrices")
def for_wigner_matrices(edge: Fraction = Fraction(2)) -> str:
    """Theorems (W) and (B) for the eigenvalues of the noise with fixed indices."""
    at_the_edges(edge)
    return "the edge of the semicircle from its variance"


@proof("fedloru-v2/eq-26-27")
def eq_26_27(edge: Fraction = Fraction(2)) -> str:
    r"""(26) by (W) alone, as a positive share of the eigenvalues lies near each edge; (27) by (B).

    For the other law, $P(X_{ij} = \pm3\sigma) = R^{-3/2}/9$ gives $R^{1/2}/18$ large entries on average, a number that
    is a sum of independent ones, and so tends to infinity in probability. A large entry at $i \ne j$ has Rayleigh
    quotients $3\sigma s_N$ above and below the mean of two diagonal entries, one of which is at least $3\sigma s_N$ in
    modulus. The large entries are a matrix of low rank, which changes no distribution function by more than its rank
    over R, and what is left has entries of variance $\sigma^2/R\,(1 + o(1))$.
    """
    R, size = sympy.Symbol("R", positive=True), sympy.Integer(3)
    rate = R ** sympy.Rational(-3, 2) / size**2
    pairs = R * (R - 1) / 2
    at_the_edges(edge)
    require(size > edge, "a large entry exceeds the edge")
    require(sympy.limit(rate * pairs, R, sympy.oo) == sympy.oo, "the number of large entries")
    require(sympy.limit(2 * rate * pairs / R, R, sympy.oo) == 0, "their rank over R")
    require(sympy.limit(rate * size**2 * R, R, sympy.oo) == 0, "the variance that they take")
    return "the edge of the semicircle from its variance; number and rank of the large entries"


@proof("fedloru-v2/prop-3.1")
def prop_3_1(
    coefficient: Fraction = Fraction(1),
    edge: Fraction = Fraction(2),
    threshold: Fraction = Fraction(1),
    s_power: Fraction = Fraction(2),
) -> str:
    r"""Gaussian noise: the eigenvalues off the support from a small determinant, the others at the edge.

    No eigenvalue stays off $[L, U]$ but those that tend to zeros of the determinant. A further $\lambda_i$, $i \le p$,
    is at least $\lambda_{i+q}(\epsilon_N) \to U$ by Weyl's inequality, and tends to U.
    """
    printed = theta + coefficient * sigma**2 * s**s_power / theta
    z = theta + n**2 / theta
    determinant()
    outliers(z, threshold)
    require(sympy.simplify(printed - z.subs(n, sigma * s)) == 0, "the printed limit")
    past_the_outliers(edge, 1)
    return "a small determinant, the transform of the semicircle beyond its edge, and Weyl's inequalities"


@proof("fedloru-v2/eq-30-31")
def eq_30_31(
    least: Fraction = Fraction(1), coefficient: Fraction = Fraction(1), strength: Fraction = Fraction(1)
) -> str:
    r"""Eq. (30): $g_{H_N}$ and $g_{\epsilon_N}$ differ by at most $(p+q)\pi/(Rv)$, since the ranks do (interlacing).

    $g_{\epsilon_N}(z) \to g_\mu(z) = 1/k(z)$ by (W), and $\hat g_{H_{\mathrm{true}}}(k) = \frac1R\sum_j1/(k - \theta_j)
    + (1 - \frac{p+q}R)/k \to 1/k$. The outliers are those of Proposition 3.1 (for Wigner matrices that are not Gaussian
    those of prop-3.1-dist); beyond the edge k takes the values beyond $n$ only, so that the other $\theta_j$ belong to
    no $\lambda$.
    """
    z = theta + coefficient * n**2 / theta
    k = sympy.Symbol("k", positive=True)
    g = 1 / k
    equation = strength * n**2 * g**2 - z * g + 1
    determinant()
    outliers(z, least)
    require(sympy.simplify(equation.subs(k, theta)) == 0, "the equation of the subordination function")
    return "interlacing, a small determinant, and the transform of the semicircle beyond its edge"


@proof("fedloru-v2/lem-A.2")
def lem_A_2(variance: Fraction = Fraction(1)) -> str:
    r"""Pastur's equation $g(z) = g_D(z - n^2g(z))$, and what it says in terms of R-transforms.

    Gaussian entries, $G = (z - X - D)^{-1}$, $v = \mathrm{Im}\,z$. $\partial G = G\,\partial X\,G$ and Gaussian
    integration by parts give $E[XG] = n^2E[\hat g\,G] + \frac{n^2}RE[G^2]$ with $\hat g = \frac1R\mathrm{tr}\,G$, and
    $\hat g$, a Lipschitz function of the entries, has a variance of order $R^{-2}$ (Poincare). With $(z - D)G = I + XG$
    this is $(z - D - n^2E\hat g)EG = I + o(1)$ in the normalised trace, so that every limit g of $\hat g$ satisfies
    Pastur's equation. It has one solution with values in the lower half plane: two differ by $n^2(g - g')\int\frac{
    d\mu_D(x)}{(z - n^2g - x)(z - n^2g' - x)}$, and by the imaginary part of the equation and the inequality of Cauchy
    and Schwarz the factor of $g - g'$ is less than 1. Other entries: replacing them one by one by Gaussian ones, cut
    off at $\delta$ (which leaves out a vanishing share of the variance where they have a fixed law), changes $E\hat g$
    by at most a multiple of $\delta v^{-4}$, since third derivatives of $\hat g$ are of order $v^{-4}/R$ and the
    $R^2$ third moments at most $\delta n^2/R$. Changing one row and column changes $\hat g$ by at most $C/(Rv)$, so
    that $\hat g$ concentrates about its mean (martingale differences), almost surely.

    At $w = g(z)$ the equation is $z = R_D(w) + 1/w + n^2w$: the R-transforms of D and of the semicircle add up, which
    defines the free convolution.
    """
    w, R_D, z, g = sympy.symbols("w R_D z g")
    strength = variance * n**2
    inverse = R_D + 1 / w + strength * w  # of z - n^2 g = R_D + 1/w at w = g
    of_semicircle = sympy.solve(n**2 * g**2 - z * g + 1, z)[0].subs(g, w) - 1 / w
    # Entries a, b of E[X_ab G_ba]: covariance n^2/R (delta delta + delta delta) against dG_ba/dX = G E G.
    size = 2
    entries = sympy.Matrix(size, size, lambda i, j: sympy.Symbol(f"x{min(i, j)}{max(i, j)}"))
    resolvent = (z * sympy.eye(size) - entries).inv()
    change = resolvent.diff(entries[0, 1])
    unit = sympy.Matrix([[0, 1], [1, 0]])
    require(sympy.simplify(change - resolvent * unit * resolvent) == sympy.zeros(size), "the derivative of G")
    require(sympy.expand(inverse - 1 / w - R_D - of_semicircle) == 0, "the R-transforms add up")
    return (
        r"Pastur's equation by integration by parts for Gaussian entries, others by exchange of entries; its "
        r"R-transforms; that $\|D\|$ is bounded is not used"
    )


def invariance() -> None:
    r"""$E[\hat g\,XG] = E[\hat x\,G] + \frac1RE[GXG - XG^2]$ with $\hat x = \frac1R\mathrm{tr}(XG)$, if X is invariant.

    Rotating X by $e^{tL}$, L antisymmetric, leaves $E[G]$ as it is, so that $E[G(LX - XL)G] = 0$. For $L = e_ae_b^T -
    e_be_a^T$ this is summed over a, at the row a: a sum of four products, since G and X are symmetric.
    """
    size, b, column = 3, 0, 1
    G, X = (
        sympy.Matrix(size, size, lambda i, j, name=name: sympy.Symbol(f"{name}{min(i, j)}{max(i, j)}")) for name in "gx"
    )
    summed = sympy.Integer(0)
    for a in range(size):
        turn = sympy.zeros(size)
        turn[a, b] += 1
        turn[b, a] -= 1
        summed += (G * (turn * X - X * turn) * G)[a, column]
    told = G.trace() * X * G - (X * G).trace() * G - (G * X * G - X * G * G)
    require(sympy.expand(summed - told[b, column]) == 0, "the sum of the four products")


@proof("fedloru-v1/lem-A.2")
def v1_lem_A_2(weight: Fraction = Fraction(1)) -> str:
    r"""Rotations of X give both subordination functions, and these the sum of the R-transforms.

    $G = (z - X - D)^{-1}$, $\hat g = \frac1R\mathrm{tr}\,G$, $v = \mathrm{Im}\,z$, given the eigenvalues of X and given
    D. Eigenvalues beyond K are set to 0 first: for large K that changes the rank by little, so the distribution
    functions by little (interlacing), and free convolution is continuous. Then $\|GXG - XG^2\| \le 2K/v^2$, and
    $\hat g$ and $\hat x$, Lipschitz functions of a random rotation, have variances of order $R^{-2}$ (Gromov and
    Milman). So $g\,E[XG] = x\,E[G] + o(1)$ in the operator norm, $g = E\hat g$, $x = E\hat x$. By $(z - D)G = I + XG$,
    $(z - x/g - D)E[G] = I + o(1)$ where v is large, since $zg \to 1$ and x/g stays bounded as v grows: $g = g_D(w_D) +
    o(1)$ with $w_D = z - x/g$. Seen from the eigenvectors of X it is D that is rotated, so $g = g_X(w_X) + o(1)$ with
    $w_X = z - d/g$, $d = E\frac1R\mathrm{tr}(DG)$. $x + d = zg - 1$, so that $w_D + w_X = z + 1/g$, and with $w =
    R(g) + 1/g$ the R-transforms add up, for all large v and by analytic continuation for all z.

    If the rank of D stays bounded, the distribution functions of $X + D$ and X differ by at most that rank over R.
    """
    z, g, x, R_X, R_D = sympy.symbols("z g x R_X R_D")
    d = z * g - 1 - x
    both = (z - x / g) + (z - d / g)
    from_both = sympy.solve(both.subs(x, 0) - (R_D + 1 / g + R_X + 1 / g), z)[0]
    stated = R_X + weight * R_D + 1 / g
    invariance()
    require(sympy.simplify(both - (z + 1 / g)) == 0, "the sum of both subordination functions")
    require(sympy.simplify(from_both - stated) == 0, "the R-transforms add up")
    return "rotations of one summand by four products; the sum of both subordination functions"


@proof("fedloru-v2/claim-scaling-var@fixed-index-and-mean-square")
def claim_scaling_var(exponent: Fraction = Fraction(1, 2)) -> str:
    r"""Entries of variance $\sigma^2$ are $\sqrt R$ times entries of variance $\sigma^2/R$.

    By Weyl's inequality $|\lambda_i(H_N) - \lambda_i(\epsilon_N)| \le \|H_{\mathrm{true}}\|$, which does not depend on
    R, while $\lambda_k(\epsilon_N)/\sqrt R$ has a lower limit of at least $2\sigma s_N$ for fixed k by (W), and an
    upper one of at most $-2\sigma s_N$ for indices counted from the other end. The mean square of all eigenvalues
    diverges as well, since $\|\epsilon_N\|_F^2/R$ has the mean $\sigma^2s_N^2R$.
    """
    R = sympy.Symbol("R", positive=True)
    scaled = (R**exponent) ** 2 * sigma**2 / R
    require(sympy.simplify(scaled - sigma**2) == 0, "the variance of scaled entries")
    require(sympy.limit(R**exponent, R, sympy.oo) == sympy.oo, "the scale diverges")
    at_the_edges(2)
    return "the scale of the entries; Weyl's inequalities; the edge of the semicircle"


@proof("fedloru-v2/claim-scale")
def claim_scale(exponent: Fraction = Fraction(1, 2)) -> str:
    r"""The covariances of independent terms vanish: $E\|\frac1M\sum_kG_k\|_F^2 = \frac1{M^2}\cdot MV$ for every M."""
    M, V = sympy.symbols("M V", positive=True)
    stated = V * (M**-exponent) ** 2
    require(sympy.simplify(M * V / M**2 - stated) == 0, "the variance of a mean")
    return "the variance of a mean"
