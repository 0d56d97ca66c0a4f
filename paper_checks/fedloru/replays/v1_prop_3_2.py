"""Proposition 3.2 of v1, which is Proposition 3.1 of iclr, and the map of its proof.

Setting: `shared.general_noise`.

Setting: `shared.series`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.enclosures import rational_root
from paper_checks.fedloru.replays.shared.dimension_counts import between
from paper_checks.fedloru.replays.shared.general_noise import R, s, theta, w
from paper_checks.fedloru.replays.shared.limits import determinant
from paper_checks.fedloru.replays.shared.series import scaling
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions


def _against_weyl(values: Values, U: str) -> Violation:
    r"""Compare the stated limit with Weyl's bound, which is with the true upper bound, U the lower or the upper one.

    $R_\mu(w) = 1/(1 - cw)$ with c the ratio, whose root is rational here; the bounds are $s(1 \mp \sqrt c)^2$.
    """
    theta, s, ratio = fractions(values, "theta", "s", "ratio")
    edge = s * (1 + rational_root(ratio)) ** 2
    bound = edge if U == "upper" else s * (1 - rational_root(ratio)) ** 2
    g = theta + s / (1 - ratio * s / theta)
    printed = g if g > bound else bound
    assumes = (
        Hypothesis("theta", theta, ">", 0),
        Hypothesis("s", s, ">", 0),
        Hypothesis("s", s, "<", 1),
        Hypothesis("ratio", ratio, ">", 0),
    )
    return Violation(
        printed,
        theta + edge,
        assumes=assumes,
        reads=f"with one spike theta, Marchenko-Pastur noise with R(w) = 1/(1 - ratio w), and U_N the {U} bound of "
        f"its law, we compare the printed limit of lambda_1 with Weyl's bound on it, theta + the upper bound",
    )


@replay("fedloru-v1/prop-3.2")
def v1_prop_3_2_as_printed(values: Values) -> Violation:
    """By Weyl's inequality no eigenvalue can be as far out as the printed limit, with $U_N$ as the lower bound."""
    return _against_weyl(values, "lower")


@replay("fedloru-v1/prop-3.2@bounds-put-right")
def v1_prop_3_2_as_meant(values: Values) -> Violation:
    """By Weyl's inequality no eigenvalue can be as far out as the printed limit, with $U_N$ as the upper bound."""
    return _against_weyl(values, "upper")


def branches(coefficient: Fraction, edge: Fraction, threshold: Fraction) -> None:
    r"""Spikes with $1/\theta < g_{\mu_N}(U_N^+)$ go to $\theta + sR(s/\theta)$, the other positive ones to $U_N$.

    The determinant tends to $\prod_j(1 - \theta_jg_{\mu_N}(z))$ off the support, by (I) and (E). Beyond $U_N$ the
    transform falls continuously from $g_{\mu_N}(U_N^+)$ to 0, so $g_{\mu_N}(z) = 1/\theta$ has one solution if
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


@proof("fedloru-v1/prop-3.2")
def v1_prop_3_2(
    coefficient: Fraction = Fraction(1), edge: Fraction = Fraction(1), threshold: Fraction = Fraction(1)
) -> str:
    r"""Both branches, and fixed indices past the outliers, as in the part on branches.

    Where the density vanishes like a square root at the edge, g has an infinite slope there, so its inverse
    $R_{\mu_N}(w) + 1/w$ has a critical point, with the value $U_N$, at the threshold, and exceeds $U_N$ on both sides
    of it. A density that vanishes faster gives g a finite slope at the edge, and no such point.
    """
    branches(coefficient, edge, threshold)
    return "we use a small determinant, the definition of R and Weyl's inequalities"


def _inside_the_bulk(values: Values) -> Violation:
    r"""The noise has the eigenvalues $s h(1 - (2j-1)/R)$, which fill a uniform law.

    One positive spike moves each of them up, at most to the one above it (Weyl); the distance of that interval from 0
    and from both edges does not vanish as R grows.
    """
    share, s, half = fractions(values, "share", "s", "half_width")
    R = int(values["R"])
    assumes = (
        Hypothesis("share", share, ">", 0),
        Hypothesis("share", share, "<", 1),
        Hypothesis("s", s, ">", 0),
        Hypothesis("s", s, "<", 1),
        Hypothesis("half width of the law", half, ">", 0),
        Hypothesis("R", R, ">=", 2),
    )
    i = round(share * R)
    low, high = (s * half * (1 - Fraction(2 * j - 1, R)) for j in (i, i - 1))
    apart = [
        Fraction(0) if low <= limit <= high else min(abs(limit - low), abs(limit - high))
        for limit in (Fraction(0), -s * half, s * half)
    ]
    spacing = high - low
    return Violation(
        min(apart),
        spacing,
        assumes=assumes,
        reads="there is one positive spike, the eigenvalues of X fill the uniform law on [-half_width, half_width], "
        "whose density is constant there, and the eigenvectors may have any law, for example uniformly random ones. "
        f"We compare the distance of lambda_i, with i = {float(share):g} R, from the set {{0, L, U}} with the level "
        "spacing",
    )


@replay("fedloru-iclr/prop-3.1")
def iclr_prop_3_1_as_printed(values: Values) -> Violation:
    """Inside the bulk, for a set of limits that does not depend on which letter is the upper bound."""
    return _inside_the_bulk(values)


@replay("fedloru-iclr/prop-3.1@bounds-put-right")
def iclr_prop_3_1_as_meant(values: Values) -> Violation:
    """Inside the bulk, for a set of limits that does not depend on which letter is the upper bound."""
    return _inside_the_bulk(values)


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
    return "we use a small determinant, the definition of R and Weyl's inequalities"


@replay("fedloru-v1/eq-29-32")
def eq_29_32(values: Values) -> Violation:
    r"""Marchenko-Pastur noise of ratio c with entries of variance 1: $k(k^{-1}(\theta))$ from the quadratic for g.

    $\mathcal{R}_\mu(w) = 1/(1 - cw)$; with v = s the transform of the scaled law solves
    $c\,v\,z\,g^2 - (z - v(1-c))g + 1 = 0$ and is, off the support, the root that tends to 0 at infinity.
    """
    theta, s, ratio = fractions(values, "theta", "s", "ratio")
    z = s / (1 - ratio * s / theta) + theta
    line = z - s * (1 - ratio)
    square = line**2 - 4 * ratio * s * z  # (z - a)(z - b) with the edges a, b = s (1 -+ root of c)^2
    root = rational_root(square)
    beyond = z - s * (1 + ratio)  # positive right of the support, negative left of it
    g = (line - root if beyond > 0 else line + root) / (2 * ratio * s * z)
    assumes = (
        Hypothesis("s", s, ">", 0),
        Hypothesis("s", s, "<", 1),
        Hypothesis("ratio", ratio, ">", 0),
        Hypothesis("ratio", ratio, "<", 1),
        Hypothesis("(z - a)(z - b) at z = k^-1(theta), off the support", square, ">", 0),
    )
    return Violation(
        abs(1 / g - theta),
        0,
        assumes=assumes,
        reads="for Marchenko-Pastur noise, with R(w) = 1/(1 - ratio w), we compute |k(k^-1(theta)) - theta|",
    )


@proof("fedloru-v1/eq-29-32@the-outliers")
def v1_eq_29_32(
    beyond: Fraction = Fraction(1),
    coefficient: Fraction = Fraction(1),
    outer: int = 1,
    inner: int = 1,
    power_shift: int = 0,
) -> str:
    r"""For every law of compact support, by the definition of R: $R_\mu(g_\mu(z)) + 1/g_\mu(z) = z$.

    Moments. $zg = 1 + gR(g) = 1 + \sum_rC_rg^r$ with $g = \sum_nm_nz^{-n-1}$; the coefficient of $z^{-n}$ is the
    recursion, since $g^r$ contributes $m_{i_1}\cdots m_{i_r}$ for $r + i_1 + \cdots + i_r = n$.

    Inverse. Beyond the upper end of the support $k = 1/g$ grows continuously from $1/g(U^+)$ to infinity, since g falls
    to 0. For $\theta > 1/g(U^+)$ there is one z with $k(z) = \theta$, and $z = R(1/\theta) + \theta$ by the definition
    of R; mirrored below. All values of k off the support are then beyond these two thresholds, so no $\theta$
    between them is one. For the semicircle the threshold is $\sigma s$: $\theta - \sigma^2s^2/\theta$ is the positive
    root of $z^2 - 4\sigma^2s^2$ if and only if $\theta > \sigma s$.
    """
    s, w, R, theta = sympy.symbols("s w R theta", positive=True)
    scaled = s * (R + 1 / (s * w)) - 1 / w
    inverse = coefficient * s**outer * R + theta
    noise, more = sympy.symbols("n a", positive=True)
    at = beyond * noise + more
    scaling(outer, inner, power_shift)
    require(sympy.expand((scaled + 1 / w).subs(w, 1 / theta) - inverse) == 0, "z by the definition of R")
    require(non_negative(sympy.numer(sympy.together(at - noise**2 / at))), "the root beyond the threshold")
    return "we use the definition of R for every law, symbolic orders, and the threshold of the semicircle"
