"""Abstract: limits of extreme eigenvalues and of projections of eigenvectors, by transforms of the unperturbed law."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.optimize import brentq

from low_rank_perturbations.draws import (
    GAUSSIAN_RUNGS,
    LAWS,
    POSITIVE_LAWS,
    RUNGS,
    WIGNER,
    Extremes,
    Product,
    draw_product,
    draw_singular,
    draw_sum,
)
from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.limit import Ladder, judge_limit
from rmt import Law, Outlier, SpikedModel

BOTH_ENDS = (1.8, 0.4)
"""Eigenvalues of P of rank 4 in units of the threshold of either end."""
ONE_END = (2.5, 1.5, 0.4)
"""Eigenvalues of P of rank 1 in units of the threshold."""
SCOPE = (
    "Gaussian Wigner matrices, else quantiles of a law as eigenvalues and uniformly random eigenvectors; means of "
    "draws, which do not show that the convergence is almost sure"
)


@dataclass(frozen=True)
class Spike:
    """One eigenvalue of P, its law, and which end of the spectrum it can move."""

    law: str
    theta: float
    share: float
    right: bool = True

    @property
    def name(self) -> str:
        """The law, the end and the size in thresholds."""
        return f"{self.law}, {'right' if self.right else 'left'} end, {self.share:g} thresholds"


def spikes_of(law: str) -> list[Spike]:
    """Return the eigenvalues of P in a sum, in decreasing order at the right end and increasing at the left."""
    below, above = LAWS[law].thresholds
    ends = ((above, True), (below, False))
    return [Spike(law, share * threshold, share, right) for threshold, right in ends for share in BOTH_ENDS]


@dataclass(frozen=True)
class Limits:
    """Draws of a quantity for each eigenvalue of P."""

    ladders: Mapping[Spike, Ladder]

    def judged(self, predicted: Callable[[Spike], float], scope: str, resolution: float) -> Evidence:
        """Judge the limits that are predicted for each eigenvalue."""
        return judge_limit(
            {spike.name: ladder for spike, ladder in self.ladders.items()},
            {spike.name: predicted(spike) for spike in self.ladders},
            scope=f"{scope}; {SCOPE}",
            resolution=resolution,
            settings={spike.name: {"theta": spike.theta} for spike in self.ladders},
        )


def draw_sums(context: Context, pick: Callable[[Extremes], np.ndarray]) -> Limits:
    """Draw sums for every law, and pick a number for each eigenvalue of P."""
    found: dict[Spike, Ladder] = {}
    for law in LAWS:
        spikes, rng = spikes_of(law), context.rng(law)
        dimensions = GAUSSIAN_RUNGS if law == WIGNER else RUNGS
        draws = context.size(12, 60) if law == WIGNER else context.size(32, 100)
        theta = [spike.theta for spike in spikes]
        rungs = [(R, np.array([pick(draw_sum(law, theta, R, rng)) for _ in range(draws)])) for R in dimensions]
        for column, spike in enumerate(spikes):
            found[spike] = Ladder(tuple((R, values[:, column]) for R, values in rungs))
    return Limits(found)


def draw_locations(context: Context) -> Limits:
    """Draw the extreme eigenvalues of sums."""
    return draw_sums(context, lambda one: np.append(one.top, one.bottom))


def draw_projections(context: Context) -> Limits:
    """Draw squared projections on one eigenvector of P beyond the law, and on the span of all where 0 is expected."""

    def pick(one: Extremes) -> np.ndarray:
        top, bottom = one.top_projections, one.bottom_projections
        return np.array([top[0, 0], top[1].sum(), bottom[0, -1], bottom[1].sum()])

    return draw_sums(context, pick)


def _sum(spike: Spike) -> Outlier:
    return SpikedModel((spike.theta,), LAWS[spike.law]).outliers[0]


def _edge(spike: Spike) -> float:
    return LAWS[spike.law].support[int(spike.right)]


@claim(
    "low-rank-perturbations/sums",
    where="Abstract, on the additive model; the formula follows from its transforms",
    says=r"""The extreme eigenvalues converge almost surely. In the limit of large matrices they differ from those of
    the original matrix if and only if the eigenvalues of the perturbing matrix are above a critical threshold. The
    limit depends on the law of the original matrix by a transform that linearises free additive convolution: it is
    $G^{-1}(1/\theta)$ above $1/G(b^+)$, and b otherwise. This extends the known results well beyond the Wigner, Wishart
    and Jacobi ensembles.""",
    measure=draw_locations,
    mutants=[{"leaves": "above 2/G"}, {"leaves": "always"}, {"leaves": "never"}, {"at": "the sum of both"}],
    uses=("low-rank-perturbations/ensembles", "low-rank-perturbations/critical"),
    importance="result",
    expect=("holds", "statistical"),
)
def sums(limits: Limits, leaves: str = "above 1/G", at: str = "the inverse") -> Evidence:
    """The two largest and the two smallest eigenvalues, of which one at each end should leave the law."""
    least = {"above 1/G": 1.0, "above 2/G": 2.0, "always": 0.0, "never": np.inf}[leaves]

    def predicted(spike: Spike) -> float:
        if spike.share <= least:
            return _edge(spike)
        found = _sum(spike)
        # A mutant's eigenvalue is where it would be if X and P had the same eigenvectors.
        return found.location if found.separated and at == "the inverse" else _edge(spike) + spike.theta

    return limits.judged(predicted, "sums with P of rank 4, both ends of the spectrum", 0.02)


@claim(
    "low-rank-perturbations/eigenvectors",
    where="Abstract, on eigenvectors; the formula follows from its transforms",
    says=r"""Projections of the eigenvectors of the sum on the eigenspaces of $P_n$ converge, with a phase transition
    that is analogous to that of the eigenvalues: the squared projection tends to $-1/(\theta^2G'(\rho))$ above the
    threshold, with $\rho$ the limit of the eigenvalue, and to 0 below.""",
    measure=draw_projections,
    mutants=[{"power": 1}, {"below": "as above"}],
    uses=("low-rank-perturbations/sums",),
    importance="result",
    expect=("holds", "statistical"),
)
def eigenvectors(limits: Limits, power: int = 2, below: str = "0") -> Evidence:
    """The projection on one eigenvector of P for eigenvalues beyond the law, and on all of them at its ends."""

    def predicted(spike: Spike) -> float:
        found = _sum(spike)
        if not found.separated:
            return 0.0 if below == "0" else 0.1
        return float(found.overlap if power == 2 else sqrt(found.overlap))

    return limits.judged(predicted, "sums with P of rank 4, squared projections", 0.03)


def _transform(law: Law, z: float) -> float:
    """Return T(z) = z G(z) - 1."""
    return z * float(law.stieltjes(z)) - 1.0


def _product_threshold(law: Law) -> float:
    edge = law.support[1]
    return 1.0 / (edge * law.edge_stieltjes[1] - 1.0)


def product_spikes() -> list[Spike]:
    """Return the eigenvalues of P in a product, for laws on positive numbers."""
    return [
        Spike(name, share * _product_threshold(law), share) for name, law in POSITIVE_LAWS.items() for share in ONE_END
    ]


def product_limit(law: Law, theta: float) -> Product:
    r"""Return limits of the largest eigenvalue, $T^{-1}(1/\theta)$, and of its projection $-(1 + \theta)/(\theta^2\rho
    T'(\rho))$."""
    edge = law.support[1]
    if theta <= _product_threshold(law):
        return Product(edge, 0.0)
    value = float(brentq(lambda z: 1 / _transform(law, z) - theta, edge * (1 + 1e-9), edge * (1.0 + 2.0 * theta)))
    slope = float(law.stieltjes(value)) + value * float(law.stieltjes_derivative(value))
    return Product(value, -(1.0 + theta) / (theta**2 * value * slope))


def draw_products(context: Context) -> dict[str, Limits]:
    """Draw the largest eigenvalues of products, and the projections of their eigenvectors."""
    values: dict[Spike, Ladder] = {}
    shares: dict[Spike, Ladder] = {}
    for spike in product_spikes():
        rng = context.rng(spike.name)
        rungs = [
            (R, [draw_product(spike.law, spike.theta, R, rng) for _ in range(context.size(24, 100))])
            for R in (10_000, 100_000)
        ]
        values[spike] = Ladder(tuple((R, np.array([one.value for one in drawn])) for R, drawn in rungs))
        shares[spike] = Ladder(tuple((R, np.array([one.projection for one in drawn])) for R, drawn in rungs))
    return {"values": Limits(values), "projections": Limits(shares)}


def _predicted_product(spike: Spike, leaves: str, transform: str) -> Product:
    law = POSITIVE_LAWS[spike.law]
    if leaves == "above 1/G":
        return product_limit(law, spike.theta) if spike.theta > law.thresholds[1] else Product(law.support[1], 0.0)
    if transform == "G":
        found = _sum(spike)
        return Product(found.location, found.overlap)
    return product_limit(law, spike.theta)


@claim(
    "low-rank-perturbations/products",
    where="Abstract, on the multiplicative model, whose form a review gives (zbMATH 1226.15023); the formula follows",
    says=r"""The same holds for $X_n(I_n + P_n)$ with a transform that linearises free multiplicative convolution: the
    largest eigenvalue tends to $T^{-1}(1/\theta)$ for $\theta > 1/T(b^+)$, with $T(z) = \int t(z - t)^{-1}\mu(dt)$, and
    to b otherwise.""",
    measure=draw_products,
    mutants=[{"leaves": "above 1/G"}, {"transform": "G"}],
    uses=("low-rank-perturbations/ensembles",),
    importance="result",
    expect=("holds", "statistical"),
)
def products(drawn: dict[str, Limits], leaves: str = "above 1/T", transform: str = "T") -> Evidence:
    """Laws on positive numbers, one of them of no classical ensemble."""
    return drawn["values"].judged(
        lambda spike: _predicted_product(spike, leaves, transform).value,
        "products with P of rank 1, largest eigenvalue",
        0.01,
    )


@claim(
    "low-rank-perturbations/product-eigenvectors",
    where="Abstract, on projections in the multiplicative model; the formula follows from its transforms",
    says=r"""For $(I_n + P_n)^{1/2}X_n(I_n + P_n)^{1/2}$ the squared projection of the eigenvector tends to $-(1 +
    \theta)/(\theta^2\rho T'(\rho))$ above the threshold, with $\rho$ the limit of the eigenvalue, and to 0 below.""",
    measure=draw_products,
    mutants=[{"leaves": "above 1/G"}, {"transform": "G"}],
    uses=("low-rank-perturbations/products",),
    importance="result",
    expect=("holds", "statistical"),
)
def product_eigenvectors(drawn: dict[str, Limits], leaves: str = "above 1/T", transform: str = "T") -> Evidence:
    """The draws of the products, and the projections of their eigenvectors on that of P."""
    return drawn["projections"].judged(
        lambda spike: _predicted_product(spike, leaves, transform).projection,
        "products with P of rank 1, squared projections",
        0.03,
    )


RATIO = 0.5
"""Rows over columns of the rectangular matrices."""


def _rectangular(law: Law, z: float, g: float) -> float:
    """Return the product of the transforms of the two sides at a singular value, from the law of the squares."""
    return z**2 * g * (RATIO * g + (1.0 - RATIO) / z**2)


def singular_threshold(law: Law) -> float:
    """Return the least singular value of P above which the largest one of X + P leaves the law."""
    edge = sqrt(law.support[1])
    return 1.0 / sqrt(_rectangular(law, edge, law.edge_stieltjes[1]))


def singular_limit(law: Law, theta: float) -> float:
    """Return the limit of the largest singular value of X + P for a law of the squared singular values of X."""
    edge = sqrt(law.support[1])
    if theta <= singular_threshold(law):
        return edge

    def excess(z: float) -> float:
        return 1.0 / _rectangular(law, z, float(law.stieltjes(z**2))) - theta**2

    return float(brentq(excess, edge * (1 + 1e-9), edge + theta))


def draw_singular_values(context: Context) -> Limits:
    """Draw the largest singular values of perturbed rectangular matrices."""
    found: dict[Spike, Ladder] = {}
    for name, law in POSITIVE_LAWS.items():
        for share in ONE_END:
            spike, rng = Spike(name, share * singular_threshold(law), share), context.rng(f"{name}, {share}")
            rungs = [
                (m, np.array([draw_singular(name, spike.theta, RATIO, m, rng) for _ in range(context.size(24, 100))]))
                for m in RUNGS
            ]
            found[spike] = Ladder(tuple(rungs))
    return Limits(found)


@claim(
    "low-rank-perturbations/singular-values",
    where="Abstract of version 1, and of the sequel (arXiv 1103.2221); the formula follows from its transform",
    says=r"""The results generalise to singular values of perturbations of rectangular matrices. The largest one differs
    from that of the original matrix if and only if that of the perturbing matrix is above a threshold, which depends on
    a transform of the law of singular values: it tends to $D^{-1}(1/\theta^2)$ if $\theta^2 > 1/D(b^+)$, and to the
    end b of that law otherwise.""",
    measure=draw_singular_values,
    mutants=[{"leaves": "above 2"}, {"at": "the root of both squares"}],
    importance="result",
    expect=("holds", "statistical"),
)
def singular_values(limits: Limits, leaves: str = "above 1", at: str = "the inverse") -> Evidence:
    r"""$D(z) = z^2G(z^2)\,(cG(z^2) + (1 - c)/z^2)$, with G of the squared singular values and c rows a column."""
    least = {"above 1": 1.0, "above 2": 2.0}[leaves]

    def predicted(spike: Spike) -> float:
        law = POSITIVE_LAWS[spike.law]
        edge = sqrt(law.support[1])
        if spike.share <= least:
            return edge
        return singular_limit(law, spike.theta) if at == "the inverse" else sqrt(edge**2 + spike.theta**2)

    return limits.judged(predicted, "half as many rows as columns, P of rank 1, largest singular value", 0.01)
