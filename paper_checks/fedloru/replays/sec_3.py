"""Section 3: the risks and their Hessians, and the stable rank."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import sympy

from paper_checks.fedloru.replays.shared.local_steps import positive_sizes
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values

N, M = sympy.symbols("N M", positive=True)


@proof("fedloru-v2/def-risk")
def def_risk(factor: Fraction = Fraction(1), divisor_shift: int = 0) -> str:
    r"""For all N and M, every law $\psi$ and every loss that may be differentiated twice under the integral.

    $f_N$ and $H_N$ are means of the same N points, so $H_N = \nabla^2f_N$. The N terms of $H_N$ have one
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
    return "means and derivatives are linear; we compute the share of a point in subsets, with N and M as symbols"


@proof("fedloru-v2/def-srank")
def def_srank(power: int = 2, n_shift: int = 0, sizes: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""For every matrix $A \ne 0$ of any shape, by its singular value decomposition.

    Rotations on either side do not change either norm, so $\|A\|_F^2$ is the sum of all $\sigma_i^2$ and $\|A\|_2$
    is $\sigma_1$; those past the rank n are 0. As $\sigma_1$ is the largest of the n, their squares add up to at least
    $\sigma_1^2$ and at most $n\sigma_1^2$: $1 \le \mathrm{srank}(A) \le n$. Of A = 0 there is none.
    """
    for n in positive_sizes(sizes):
        sigma = [*sympy.symbols(f"s1:{n + 1}", positive=True), sympy.Integer(0)]
        squared = sympy.diag(*sigma).norm() ** 2
        by_values = sum((s**power for s in sigma[: n + n_shift]), sympy.Integer(0)) / sigma[0] ** power
        require(sympy.simplify(squared / sigma[0] ** 2 - by_values) == 0, f"both forms at rank {n}")
    s, so_far = sympy.symbols("s so_far", positive=True)
    step = sympy.expand((so_far + s**2) - (so_far + s**power)) == 0
    require(step, "one more singular value, for any sum so far: an induction over the rank")
    return (
        "by induction over the rank, we write both norms in terms of the singular values, of which the first is the "
        "largest"
    )


DIAGONALS = {"copies": "multiplicity of a", "kernel": "multiplicity of 0"}

FINE = 10**12


def _root_above(square: Fraction) -> Fraction:
    """Return a fraction just above the square root."""
    return Fraction(isqrt(square.numerator * FINE**2 // square.denominator) + 1, FINE)


def _change(values: Values, norm: str) -> Violation:
    """Return the change of the stable rank for A = diag(1, a, ..., 0, ...) and E = diag(x, y, ..., z, ...)."""
    a, m, k, x, y, z = (Fraction(values[name]) for name in ("a", "copies", "kernel", "x", "y", "z"))
    before, after = 1 + m * a**2, ((1 + x) ** 2, (a + y) ** 2, z**2)
    ratio = (after[0] + m * after[1] + k * after[2]) / max(after) / before
    sizes = {"spectral": max(abs(x), abs(y), abs(z)), "Frobenius": _root_above((x**2 + m * y**2 + k * z**2) / before)}
    size = sizes[norm]
    assumes = assuming(
        Hypothesis("a, the second eigenvalue", a, ">", 0),
        Hypothesis("a, against the largest eigenvalue", a, "<=", 1),
        Hypothesis("eigenvalues a", m, ">=", 1),
        Hypothesis("eigenvalues 0", k, ">=", 1),
        Hypothesis(f"relative {norm} size of E", size, "<", 1),
    )
    factor = max(ratio, 1 / ratio)
    return Violation(
        factor,
        ((1 + size) / (1 - size)) ** 2,
        assumes=assumes,
        reads="with A = diag(1, a, ..., a, 0, ..., 0) and E = diag(x, y, ..., y, z, ..., z), we compare the factor "
        f"by which the stable rank rises or falls with ((1 + e)/(1 - e))^2, where e is the relative {norm} size of E",
    )


@replay("fedloru-v2/claim-srank-robust@small-in-the-spectral-norm", **DIAGONALS)
def in_the_spectral_norm(values: Values) -> Violation:
    """Many small eigenvalues add up."""
    return _change(values, "spectral")


@replay("fedloru-v2/claim-srank-robust@small-in-the-frobenius-norm", **DIAGONALS)
def in_the_frobenius_norm(values: Values) -> Violation:
    """The largest of many eigenvalues can change while all of them together hardly do."""
    return _change(values, "Frobenius")


def stable_rank(spectrum: list[tuple[Fraction, int]]) -> Fraction:
    """Return the stable rank of a diagonal matrix, by entries and how often each of them occurs."""
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
    require(spread > ((1 + epsilon) / (1 - epsilon)) ** 2, "a small spectral norm by itself is not enough")
    require(root**2 == R and R / spiked > ((1 + delta) / (1 - delta)) ** 2, "nor is a small Frobenius norm by itself")
    return (
        "we use the triangle inequality in both norms, for every matrix and perturbation; the examples for only one "
        "norm, in fractions, are A = e_1 e_1^T with E = epsilon (I - e_1 e_1^T), and A = I with E = delta root e_1 "
        "e_1^T in dimension R = root^2"
    )
