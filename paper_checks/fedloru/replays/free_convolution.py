"""Replays of the claims in ``free_convolution`` and ``general_map``."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from paper_checks.enclosures import rational_root
from paper_checks.fedloru.replays.edges import noise
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v1/lem-A.2")
def v1_lem_A_2(values: Values) -> Violation:
    r"""X a GOE matrix with entries of variance $\sigma^2/R$ and $D = cX$, so that $X + D = (1 + c)X$.

    The eigenvectors of X are uniformly random (QUE) and its empirical measure concentrates at the speed $R^2$; D is
    symmetric, random, and has the law of $cX$ in the limit. The free convolution of two semicircles is one whose
    variances add, with moments $C_{k/2}$ times a power of the variance.
    """
    c, sigma = fractions(values, "c", "sigma")
    power = int(values["power"])
    catalan = Fraction(comb(power, power // 2), power // 2 + 1) if power % 2 == 0 else Fraction(0)
    actual = ((1 + c) * sigma) ** power * catalan
    free = ((1 + c**2) * sigma**2) ** (power // 2) * catalan
    assumes = (
        Hypothesis("sigma", sigma, ">", 0),
        Hypothesis("c", c, "!=", 0),
        Hypothesis("power", power, ">", 0),
    )
    return Violation(abs(actual - free), 0, assumes=assumes,
                     reads=f"|moment {power} of X + D - that of the free convolution|, D = {float(c):g} X")  # fmt: skip


@replay("fedloru-v2/eq-30-31")
def eq_30_31(values: Values) -> Violation:
    r"""The only $\lambda$ outside of the support at which $k(\lambda) = \theta$ is possible, and k there.

    $k + \sigma^2s^2/k = \lambda$ for the subordination function, so $k(\lambda) = \theta$ leaves one candidate; of the
    two roots of this equation k is the one that grows like $\lambda$, the larger one in absolute value.
    """
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    candidate = theta + sigma**2 * s**2 / theta
    root = rational_root(candidate**2 - 4 * sigma**2 * s**2)
    k = (candidate + (root if candidate > 0 else -root)) / 2
    assumes = [*noise(sigma, s), Hypothesis("|lambda|, off the support", abs(candidate), ">", 2 * sigma * s)]
    return Violation(abs(k - theta), 0, assumes=assumes,
                     reads="|k(lambda) - theta| at the only lambda that could belong to theta")  # fmt: skip


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
    return Violation(abs(1 / g - theta), 0, assumes=assumes,
                     reads="Marchenko-Pastur noise: |k(k^-1(theta)) - theta|")  # fmt: skip
