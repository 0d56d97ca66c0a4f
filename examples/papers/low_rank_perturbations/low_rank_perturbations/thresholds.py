"""Abstract: the critical threshold of Wigner and Wishart matrices, and when a law of eigenvalues has one."""

from __future__ import annotations

from dataclasses import dataclass
from math import gamma

import numpy as np
import sympy

from paper_checks.claim import Dropped, Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import POSITIVE, tried
from paper_checks.methods.identity import Equation, Equations, Point, identities
from paper_checks.methods.inequality import judge_inequality
from rmt import DensityLaw
from rmt.spiked import wigner_outlier

THETA, SIGMA, S, W = sympy.symbols("theta sigma s w", positive=True)
"""A perturbing eigenvalue; Wigner entries have variance sigma^2/n; s is the root of the ratio of a Wishart matrix."""
RATIO = S**2


def draw_points(context: Context) -> list[Point]:
    """Draw exact points with $s < 1$, and eigenvalues above every threshold."""
    rng = context.rng("points")
    return [
        {SIGMA: sympy.Rational(int(rng.integers(1, 20)), 7), S: s, THETA: sympy.Integer(int(rng.integers(5, 20)))}
        for s in (sympy.Rational(1, 3), sympy.Rational(1, 2), sympy.Rational(3, 4))
    ]


def wishart(w: sympy.Expr) -> sympy.Expr:
    """Return the inverse Cauchy transform of the Marchenko-Pastur law of mean 1."""
    return 1 / w + 1 / (1 - RATIO * w)


@identities(
    "low-rank-perturbations/ensembles",
    where="Abstract, on the class of spiked models, and of version 1; the formulas follow from their transforms",
    says=r"""The limits depend on the law of the original matrix by integral transforms, for the Wigner and Wishart
    matrices of the literature and beyond. With $G(z) = \int(z - t)^{-1}\mu(dt)$ and $T(z) = zG(z) - 1$, the limit of a
    sum is at $G(\rho) = 1/\theta$: at $\theta + \sigma^2/\theta$ for Wigner, at $\theta + \theta/(\theta - c)$ for
    Wishart matrices. That of a product with $I + P$ is at $T(\rho) = 1/\theta$, for Wishart matrices at
    $(1 + \theta)(1 + c/\theta)$. The singular value of a sum with a rectangular Gaussian matrix is at $D(\rho) =
    1/\theta^2$, with $\rho^2 = (1 + \theta^2)(1 + c/\theta^2)$.""",
    measure=draw_points,
    mutants=[{"power": 1}, {"product": 2}],
    importance="result",
    expect=("holds", "proof"),
)
def ensembles(points: list[Point], power: int = 2, product: int = 1) -> Equations:
    r"""The quadratic equations of both transforms, and by how much the other root exceeds the stated one.

    G is the smaller root beyond the law. The difference is positive exactly above the thresholds $\sigma$,
    $c + \sqrt c$ and $\sqrt c$.
    """
    c = RATIO
    rho = wigner_outlier(THETA, SIGMA) if power == 2 else THETA + SIGMA / THETA
    yield Equation("Wigner, sum", SIGMA**2 / THETA**2 - rho / THETA + 1, 0)
    yield Equation(
        "Wigner, sum: the other root", rho / SIGMA**2 - 2 / THETA, (THETA**2 - SIGMA**2) / (SIGMA**2 * THETA)
    )
    sums, products = THETA + THETA / (THETA - c), (1 + THETA) * (1 + product * c / THETA)
    roots = {
        "sum": (sums, 1 / THETA, ((THETA - c) ** 2 - c) / (c * THETA * (THETA + 1 - c))),
        "product": (products, (1 + 1 / THETA) / products, (THETA**2 - c) / (c * (1 + THETA) * (THETA + c))),
    }
    for name, (z, g, more) in roots.items():
        yield Equation(f"Wishart, {name}", sympy.together(c * z * g**2 - (z + c - 1) * g + 1), 0)
        yield Equation(f"Wishart, {name}: the other root", sympy.together((z + c - 1) / (c * z) - 2 * g - more), 0)
    square = products.subs(THETA, THETA**2)  # of the singular value
    g = (1 + 1 / THETA**2) / square
    yield Equation("rectangular", sympy.together(square * g * (c * g + (1 - c) / square) - 1 / THETA**2), 0)
    return points, "any sigma, ratio and eigenvalue above the threshold", ("theta", "sigma", "s")


@identities(
    "low-rank-perturbations/critical",
    where="Abstract, “above a certain critical threshold”; the numbers follow from its transforms",
    says=r"""The limit of the extreme eigenvalues differs from that of the original matrix if and only if the
    eigenvalues of the perturbing matrix are above a critical threshold, which the transforms give: $1/G(b^+)$ for the
    largest eigenvalue of a sum, with b the right end of the law.""",
    measure=draw_points,
    mutants=[{"upper": 2}],
    readings=(
        Reading(
            "each end has its threshold",
            r"The largest eigenvalue changes its limit for $\theta > 1/G(b^+)$, which is $\sigma$ for Wigner and "
            r"$c + \sqrt c$ for Wishart matrices, and the smallest one for $\theta < 1/G(a^-)$: $-\sigma$ and "
            r"$c - \sqrt c$, for ratios c < 1.",
            why="A positive eigenvalue moves the largest eigenvalue and a negative one the smallest.",
        ),
        Reading(
            "one threshold for both ends",
            r"An extreme eigenvalue of either end changes its limit if and only if $|\theta| > 1/G(b^+)$.",
            {"lower": "opposite"},
            why="The abstract has one threshold for the extreme eigenvalues.",
            mutants=({"lower": "opposite", "upper": 2},),
        ),
    ),
    because=r"The Wishart law is not symmetric: its thresholds are c + sqrt(c) and c - sqrt(c).",
    intended=Intended(
        "each end has its threshold", "“intimately related to the same aforementioned integral transforms”"
    ),
    uses=("low-rank-perturbations/ensembles",),
    importance="result",
    expect=("holds", "proof"),
)
def critical(points: list[Point], lower: str = "own", upper: int = 1) -> Equations:
    """At 1/threshold the inverse of G has its critical value, which is the end of the law."""
    laws = {
        "Wigner": (wigner_outlier(1 / W, SIGMA), (SIGMA, -SIGMA), (2 * SIGMA, -2 * SIGMA)),
        "Wishart": (wishart(W), (RATIO + S, RATIO - S), ((1 + S) ** 2, (1 - S) ** 2)),
    }
    for name, (inverse, (above, below), (right, left)) in laws.items():
        above = upper * above
        for end, threshold, edge in (("right", above, right), ("left", below if lower == "own" else -above, left)):
            at = 1 / threshold
            yield Equation(f"{name}, {end}: the slope", sympy.together(sympy.diff(inverse, W).subs(W, at)), 0)
            yield Equation(f"{name}, {end}: the end of the law", sympy.together(inverse.subs(W, at) - edge), 0)
    return points, "any sigma, and ratios s^2 below 1", ("theta", "sigma", "s")


@dataclass(frozen=True)
class Edge:
    """A law on [0, length] whose density is like $x^{p-1}$ at 0 and like $(length - x)^{q-1}$ at the right end."""

    p: float
    length: float
    threshold: float


DECAYS = {"square root": 1.5, "none": 1.0, "growth": 0.75}
"""The exponent q of a density like $(b - x)^{q-1}$ at the edge b."""


def edges(context: Context) -> dict[str, list[Edge]]:
    """Return thresholds $1/G(b^+)$ of beta laws, by quadrature of their densities."""
    del context  # nothing is drawn
    return {
        decay: [
            Edge(p, length, _beta(p, q, length).thresholds[1]) for p in (0.5, 1, 2, 10, 50) for length in (0.1, 1, 10)
        ]
        for decay, q in DECAYS.items()
    }


def _beta(p: float, q: float, length: float) -> DensityLaw:
    norm = gamma(p + q) / (gamma(p) * gamma(q)) / length
    return DensityLaw(lambda x: norm * (x / length) ** (p - 1) * (1 - x / length) ** (q - 1), (0.0, length))


@claim(
    "low-rank-perturbations/decay",
    where="Abstract; the threshold of a sum is 1/G(b+), with G at the right end of the law",
    says="Square root decay of the eigenvalue density at the edge suffices to ensure that the threshold is finite.",
    measure=edges,
    mutants=[{"widths": 0.4}],
    readings=(
        Reading(
            "the threshold is finite",
            r"$1/G(b^+) \le b - a$, the width of the law.",
            why="The words themselves. This holds without any decay.",
        ),
        Reading(
            "the transform is finite",
            r"$G(b^+)$ is finite, so that $1/G(b^+) > 0$.",
            {"side": "positive"},
            why="At a threshold of 0, as for a uniform density, every positive eigenvalue changes the limit.",
            mutants=({"side": "positive", "decay": "growth"},),
        ),
    ),
    intended=Intended(
        "the transform is finite", "“a phase transition phenomenon”, “above a certain critical threshold”"
    ),
    hypotheses=(Dropped("square root decay of the density", {"decay": "none"}),),
    vary=(),
    importance="result",
    expect=("holds", "proof"),
)
def decay(
    laws: dict[str, list[Edge]], decay: str = "square root", side: str = "finite", widths: float = 1.0
) -> Evidence:
    """Thresholds of laws whose density decays as stated at the right end, and is like a power at the left one."""
    found = laws[decay]
    thresholds = np.array([one.threshold for one in found])
    bound = widths * np.array([one.length for one in found])
    left, right = (thresholds, bound) if side == "finite" else (np.zeros_like(bound), thresholds)
    return judge_inequality(
        left,
        right,
        1e-9 * bound * (thresholds > 0),
        strict=side != "finite",
        scope=f"beta laws, density at the right end: {decay}",
        case=[{"p": one.p, "length": one.length, "q": DECAYS[decay]} for one in found],
        printed="1/G(b+) <= b - a" if side == "finite" else "0 < 1/G(b+)",
        domain=tried(("p", [one.p for one in found], POSITIVE), ("length", [one.length for one in found], POSITIVE)),
    )
