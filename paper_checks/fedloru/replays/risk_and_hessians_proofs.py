"""Proofs about the set-up: risks, their Hessians and noises for all sample sizes, and the stable rank in all shapes."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.step_proofs import positive_sizes
from paper_checks.replay import proof, require

N, M = sympy.symbols("N M", positive=True)


@proof("fedloru-v2/def-risk")
def def_risk(factor: Fraction = Fraction(1), divisor_shift: int = 0) -> str:
    r"""For all N and M, every law $\psi$ and every loss that may be differentiated twice under the integral.

    $f_N$ and $H_N$ are means of the same N points, so that $H_N = \nabla^2f_N$. The N terms of $H_N$ have one
    expectation each, $\int\nabla^2\ell\,d\psi = H_{\mathrm{true}}$, and so has their mean. A subset of M of the N
    points has each of them with probability $\binom{N-1}{M-1}/\binom NM = M/N$: given $D_N$ the mean of $H_M$ is
    $\frac1M \sum_{D_N}\frac MN\nabla^2\ell = H_N$. The integral has to allow it: for $\max(\omega - x, 0)$ and x
    uniform on [0, 1] every sample's Hessian is 0, and $H_{\mathrm{true}}$ is 1.
    """
    share = sympy.combsimp(sympy.binomial(N - 1, M - 1) / sympy.binomial(N, M))
    w, x = sympy.symbols("w x", positive=True)
    require(sympy.simplify(factor * N / (N + divisor_shift) - 1) == 0, "the mean of H_N")
    require(sympy.simplify(share - M / N) == 0, "the share of a point in a subset")
    require(sympy.simplify(factor * N * share / (M + divisor_shift) - 1) == 0, "the mean of H_M, given D_N")
    require(sympy.diff(sympy.integrate(w - x, (x, 0, w)), w, 2) == 1, "the risk of a loss with kinks")
    return "linearity of means and derivatives; the share of a point in subsets, with N and M as symbols"


@proof("fedloru-v2/eq-1")
def eq_1(power: int = 1) -> str:
    r"""For all N and M: two means of independent terms, of which those of the same data point are correlated.

    The noises have mean 0, since the Hessians have the mean $H_{\mathrm{true}}$ (def-risk). Of the pairs of a term of
    one mean and a term of the other only those that come from the same data point have a covariance, V. $\epsilon_N$
    with itself has N such pairs over $N^2$, which is $V/N$; $\epsilon_M$, whose M points are independent too, $V/M$.
    Between $\epsilon_M$ and $\epsilon_N$ there are M over $NM$, which is $V/N$ again and not 0.

    The model as printed: with the loss $\frac12\omega^T(H_{\mathrm{true}} + cG)\omega$ of a data point G, whose
    elements on and above the diagonal are independent Gaussian ones of mean 0 and variance $\sigma^2/R$, $\epsilon_N$
    is c times a mean of N such matrices. Its elements are independent Gaussian again, of the variance
    $c^2\sigma^2/(RN)$, as those of $s_NX^R$ with $s_N = cN^{-1/2}$, which falls with N and lies between 0 and 1 for
    $0 < c < 1$.
    """
    V = sympy.Symbol("V", positive=True)
    c, variance = sympy.symbols("c v", positive=True)
    scale = c / N ** sympy.Rational(power, 2)
    require(sympy.simplify(N * (c / N) ** 2 * variance - scale**2 * variance) == 0, "the scale of Gaussian noise")
    require(sympy.simplify(N * V / N**2 - V / N**power) == 0, "the covariance of the server's noise")
    require(sympy.simplify(M * V / M**2 - V / M**power) == 0, "the covariance of the client's noise")
    require(sympy.simplify(M * V / (M * N) - V / N) == 0, "the covariance between them")
    return "pairs of terms from one data point, with N and M as symbols"


@proof("fedloru-v2/def-srank")
def def_srank(power: int = 2, n_shift: int = 0, sizes: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""For every matrix $A \ne 0$ of any shape, by its singular value decomposition.

    Rotations on either side leave both norms alone, so that $\|A\|_F^2$ is the sum of all $\sigma_i^2$ and $\|A\|_2$ is
    $\sigma_1$; those past the rank n are 0. As $\sigma_1$ is the largest of the n, their squares add up to at least
    $\sigma_1^2$ and at most $n\sigma_1^2$: $1 \le \mathrm{srank}(A) \le n$. Of A = 0 there is none.
    """
    for n in positive_sizes(sizes):
        sigma = [*sympy.symbols(f"s1:{n + 1}", positive=True), sympy.Integer(0)]
        squared = sympy.diag(*sigma).norm() ** 2
        by_values = sum((s**power for s in sigma[: n + n_shift]), sympy.Integer(0)) / sigma[0] ** power
        require(sympy.simplify(squared / sigma[0] ** 2 - by_values) == 0, f"both forms at rank {n}")
    s, so_far = sympy.symbols("s so_far", positive=True)
    step = sympy.expand((so_far + s**2) - (so_far + s**power)) == 0
    require(step, "one more singular value, whatever the sum so far: an induction over the rank")
    return "both norms in terms of the singular values, by induction over the rank; the first is largest"


def projection(factor: Fraction, missing: int) -> str:
    """Check a sum of projections on orthonormal vectors, as many as are kept."""
    s = sympy.Symbol("s", positive=True)
    require(factor**2 == factor and factor != 0, "a projection, by U^T U = I")
    require(sympy.simplify((s - missing) * factor - s) == 0, "its trace, the dimension, at full rank")
    return "a sum of projections on single vectors; orthonormality; the trace"


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


@proof("fedloru-v2/def-omega")
def def_omega(offset: Fraction = Fraction(0), sign: int = 1) -> str:
    r"""For every k, R and spectrum, and every loss with a non-zero mean slope m at some constant prediction c.

    At $\omega = 0$ the model $c + \frac1{2m}\sum_{i \le k}\theta_i\omega_i^2$ of $R \ge k$ weights has no slope, so
    that its true Hessian is m times its own, $\mathrm{diag}(\theta_1, \ldots, \theta_k, 0, \ldots, 0)$. With less than
    k weights there are less than k eigenvalues. So $\bar R = k = p + q$. Under a loss that ignores the prediction every
    set is empty, and $\bar R$ does not exist.
    """
    w, v, t, u, m, a = sympy.symbols("w v t u m a")
    step = (t * w**2 + u * v**2) / (2 * m)
    risk = m * step + a * step**2 / 2  # the mean loss to second order at c; two weights stand for any
    hessian = sympy.hessian(risk, (w, v)).subs({w: 0, v: 0})
    k = sympy.Symbol("k", positive=True)
    require(sympy.simplify(hessian - sign * sympy.diag(t, u)) == sympy.zeros(2), "the true Hessian of the model")
    require(sympy.simplify(k - (k + offset)) == 0, "the least number of weights")
    return "one model for every spectrum and dimension; an R x R matrix has R eigenvalues"


def stable_rank(spectrum: list[tuple[Fraction, int]]) -> Fraction:
    """Stable rank of a diagonal matrix, by entries and how often each stands there."""
    return sum(v**2 * count for v, count in spectrum) / max(v**2 for v, _ in spectrum)


@proof("fedloru-v2/claim-srank-robust")
def claim_srank_robust(
    power: int = 2,
    epsilon: Fraction = Fraction(1, 100),
    delta: Fraction = Fraction(1, 10),
    R: int = 1_000_000,
    root: int = 1000,
) -> str:
    r"""The triangle inequality in both norms, for every matrix.

    $(1-\delta)\|A\|_F \le \|A+E\|_F \le (1+\delta)\|A\|_F$ and $(1-\epsilon)\|A\|_2 \le \|A+E\|_2 \le
    (1+\epsilon)\|A\|_2$; the stable rank is the square of the quotient. Since $\|E\|_2 \le \|E\|_F$ and
    $\|A\|_2 \le \|A\|_F$ both sizes are at most $\|E\|_F/\|A\|_2$. That one of them is not enough is seen on diagonal
    matrices, $E = \epsilon(I_R - e_1e_1^T)$ on $A = e_1e_1^T$ and $E = \delta\sqrt R e_1e_1^T$ on $A = I_R$.
    """
    require(0 < epsilon <= Fraction(1, 10) and 0 < delta <= Fraction(1, 10), "sizes of at most a tenth")
    upper, lower = (1 + delta) / (1 - epsilon), (1 - delta) / (1 + epsilon)
    spread = stable_rank([(Fraction(1), 1), (epsilon, R - 1)])
    spiked = stable_rank([(1 + delta * root, 1), (Fraction(1), R - 1)])
    require(upper**power == upper**2 and lower**power == lower**2, "the square of the quotient of the norms")
    require(spread == 1 + (R - 1) * epsilon**2, "the stable rank of the example")
    require(spread > ((1 + epsilon) / (1 - epsilon)) ** 2, "a small spectral norm alone is not enough")
    require(root**2 == R and R / spiked > ((1 + delta) / (1 - delta)) ** 2, "a small Frobenius norm alone neither")
    return (
        "the triangle inequality in both norms, for every matrix and perturbation; for one norm alone, in fractions, A "
        "= e_1 e_1^T with E = epsilon (I - e_1 e_1^T), and A = I with E = delta root e_1 e_1^T in dimension R = root^2"
    )
