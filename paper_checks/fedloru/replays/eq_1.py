"""Eq. (1): the noise model, and the laws of the earlier versions.

Setting: `shared.general_noise`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import sympy

from paper_checks.fedloru.replays.sec_3 import M, N
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values

POINTS = (
    "a data point is one of three, with probabilities p1, p2 and 1 - p1 - p2. Two entries of its Hessian are g1, g2 "
    "or g3 and h1, h2 or h3. The server has N = 2 data points, and the client has M = 1 of them. We compute "
)


def _covariance(terms: list[tuple[Fraction, Fraction, Fraction]]) -> Fraction:
    """Return the covariance, from all values with their probabilities."""
    first, second = (sum((term[0] * term[k] for term in terms), Fraction(0)) for k in (1, 2))
    return sum((p * (a - first) * (b - second) for p, a, b in terms), Fraction(0))


def _two_and_one(values: Values) -> tuple[Fraction, Fraction, Fraction, tuple[Hypothesis, ...]]:
    """Return covariances of an entry h with an entry g: of one data point with the mean of two, of each with itself.

    A data point is one of three, with probabilities p1, p2 and what is missing to 1; the client's is either of the
    server's two.
    """
    p = [Fraction(values["p1"]), Fraction(values["p2"])]
    p.append(1 - p[0] - p[1])
    h, g = ([Fraction(values[f"{name}{k}"]) for k in (1, 2, 3)] for name in "hg")
    assumes = assuming(Hypothesis("least probability", min(p), ">", 0))
    pairs = list(product(range(3), repeat=2))
    between = [(p[i] * p[j] / 2, h[k], (g[i] + g[j]) / 2) for i, j in pairs for k in (i, j)]
    server = [(p[i] * p[j], (h[i] + h[j]) / 2, (g[i] + g[j]) / 2) for i, j in pairs]
    client = [(p[k], h[k], g[k]) for k in range(3)]
    return _covariance(between), _covariance(server), _covariance(client), assumes


@replay("fedloru-v2/eq-1@uncorrelated-noises")
def uncorrelated_noises(values: Values) -> Violation:
    """The noises of two data points and of one of them are correlated."""
    between, _, _, assumes = _two_and_one(values)
    return Violation(
        abs(between), 0, assumes=assumes, reads=f"{POINTS}|Cov(epsilon_M, epsilon_N)| for the entries h and g"
    )


@replay("fedloru-v2/eq-1@one-matrix-x")
def one_matrix(values: Values) -> Violation:
    """Multiples of one matrix have a covariance whose square is the product of their own."""
    between, server, client, assumes = _two_and_one(values)
    return Violation(
        abs(between**2 - server * client),
        0,
        assumes=assumes,
        reads=f"{POINTS}the distance of the square of Cov(epsilon_M, epsilon_N), for the entries h and g, from the "
        "product of Cov(epsilon_M) and Cov(epsilon_N)",
    )


@proof("fedloru-v2/eq-1")
def eq_1(power: int = 1) -> str:
    r"""For all N and M: two means of independent terms, where only terms of the same data point are correlated.

    The noises have mean 0, since the Hessians have the mean $H_{\mathrm{true}}$ (def-risk). A term of one mean and a
    term of the other have the covariance V if they come from the same data point, and 0 otherwise. $\epsilon_N$ with
    itself has N such pairs over $N^2$, which is $V/N$; $\epsilon_M$, whose M points are also independent, has $V/M$.
    Between $\epsilon_M$ and $\epsilon_N$ there are M over $NM$, which is $V/N$ again and not 0.

    The model as printed: with the loss $\frac12\omega^T(H_{\mathrm{true}} + cG)\omega$ of a data point G, whose
    elements on and above the diagonal are independent Gaussian ones of mean 0 and variance $\sigma^2/R$, $\epsilon_N$
    is c times a mean of N such matrices. Its elements are independent Gaussian again, of the variance
    $c^2\sigma^2/(RN)$, like the elements of $s_NX^R$ with $s_N = cN^{-1/2}$, which falls with N and lies between 0 and
    1 for $0 < c < 1$.
    """
    V = sympy.Symbol("V", positive=True)
    c, variance = sympy.symbols("c v", positive=True)
    scale = c / N ** sympy.Rational(power, 2)
    require(sympy.simplify(N * (c / N) ** 2 * variance - scale**2 * variance) == 0, "the scale of Gaussian noise")
    require(sympy.simplify(N * V / N**2 - V / N**power) == 0, "the covariance of the server's noise")
    require(sympy.simplify(M * V / M**2 - V / M**power) == 0, "the covariance of the client's noise")
    require(sympy.simplify(M * V / (M * N) - V / N) == 0, "the covariance between them")
    return "we compute pairs of terms from one data point, with N and M as symbols"


@proof("fedloru-v1/eq-3-4")
def v1_eq_3_4(scale: Fraction = Fraction(1)) -> str:
    r"""The named ensembles have limit laws of compact support, and one ensemble meets all that is assumed at once.

    Wigner matrices, with entries $R^{-1/2}$ times a fixed law of finite variance, and with them the Gaussian ensembles,
    have the semicircle (Wigner), for which $z = \sigma^2g + 1/g$. Wishart matrices $\frac1nYY^T$, Y of R x n entries of
    one law and $R/n \to c$, have the law of Marchenko and Pastur, for which $z = 1/(1 - cg) + 1/g$. Either support ends
    where these functions of g have a critical point: at $\pm2\sigma$, and at $(1 \pm \sqrt c)^2$ (for c = 1 at 0, where
    the density is not bounded; for c > 1 a mass at 0 is added and no density exists, so assuming one leaves c <
    1). Inside the supports the densities are smooth.

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
    return "the R-transforms give the ends of both laws; rotations of fixed eigenvalues meet every condition"
