"""Proposition 3.2 of v1, which is Proposition 3.1 of iclr, and the map of its proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import LITERAL, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.measurements.general_noise import (
    MARCHENKO_PASTUR,
    SEMICIRCLE,
    SKEWED,
    UNIFORM,
    Noise,
)
from paper_checks.methods.bands import Predictions
from paper_checks.methods.domain import POSITIVE, Stated, tried
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.limit import Ladder, judge_limit
from rmt.closed_laws import MarchenkoPastur, Semicircle
from rmt.cumulants import free_cumulants_from_moments
from rmt.free import FreeSum
from rmt.general_laws import DensityLaw, RTransformLaw
from rmt.laws import Law
from rmt.secular import RotatedDraw, draw_rotated
from rmt.spiked import SpikedModel


@dataclass(frozen=True)
class Spot:
    """One eigenvalue under observation.

    Attributes:
        noise: law of X.
        s: scale of the noise.
        spikes: all spikes of the model.
        theta: the spike this eigenvalue belongs to; 0 for an index past all spikes.
        index: index from the top, or from the bottom if negative.
        stray: whether X has one eigenvalue beyond the edge of its law.
    """

    noise: Noise
    s: float
    spikes: tuple[float, ...]
    theta: float
    index: int
    stray: bool = False

    @property
    def name(self) -> str:
        """Return a readable name."""
        place = f"lambda_{self.index}" if self.index > 0 else f"lambda_R-{-1 - self.index}"
        listed = ", ".join(f"{spike:.3g}" for spike in self.spikes)
        return f"{place}, {self.noise.name}{' with a stray eigenvalue' if self.stray else ''}, spikes {listed}"

    @cached_property
    def model(self) -> SpikedModel:
        """Return the spiked model."""
        return SpikedModel(self.spikes, self.noise.law, self.s)

    def numbers(self) -> dict[str, float]:
        """Return plain numbers for witnesses."""
        return {"theta": self.theta, "s": self.s, "spikes": len(self.spikes), **dict(self.noise.numbers)}

    @cached_property
    def relative(self) -> float:
        """Return the spike in units of the threshold on its side; infinite where every spike separates."""
        below, above = self.model.thresholds
        threshold = above if self.theta > 0 else below
        return self.theta / threshold if threshold else np.inf

    def observe(self, draw: RotatedDraw) -> float:
        """Return the eigenvalue in one draw."""
        return draw.eigenvalue(self.index if self.index > 0 else draw.R + 1 + self.index)


@dataclass(frozen=True)
class Observed:
    """Ladders of eigenvalues at their spots, and of eigenvalues at a share of the spectrum."""

    ladders: dict[Spot, Ladder]
    inside: dict[tuple[Noise, float], Ladder]


def _mirrored(w: Any) -> Any:
    return -1.0 / (1.0 + 0.25 * w)


MIRRORED = Noise("mirrored Marchenko-Pastur (negative mean)", RTransformLaw(_mirrored), _mirrored)

NOISES = (MARCHENKO_PASTUR, SEMICIRCLE, MIRRORED, SKEWED, UNIFORM)


def _spots() -> tuple[Spot, ...]:
    found = []
    for noise in NOISES:
        s = 0.5
        below, above = SpikedModel((1.0,), noise.law, s).thresholds
        up = (0.5, 0.7, 1.5, 2.0)
        down = (0.5, 1.6)
        spikes = [ratio * above for ratio in up] if above else [0.2, 0.4, 0.7]
        spikes += [ratio * below for ratio in down] if below else [-0.3, -0.7]
        found += [Spot(noise, s, (theta,), theta, 1 if theta > 0 else -1) for theta in spikes]
    together = (0.7, 0.2, -0.08, -0.4)  # Marchenko-Pastur at s = 1/2 has its thresholds at 0.375 and -0.125
    for theta, index in zip((*together, 0.0, 0.0), (1, 2, -2, -1, 3, -3), strict=True):
        found.append(Spot(MARCHENKO_PASTUR, 0.5, together, theta, index))
    found.append(Spot(SEMICIRCLE, 0.5, (0.75,), 0.75, 1, stray=True))
    return tuple(found)


SPOTS = _spots()


def observe(context: Context, spots: Sequence[Spot], dimensions: Sequence[int] = (10**3, 10**4)) -> dict[Spot, Ladder]:
    """Draw every model at each dimension once for all spots on it."""
    found: dict[Spot, Ladder] = {}
    models = {(spot.noise, spot.spikes, spot.stray): spot.model for spot in spots}
    for (noise, spikes, stray), model in models.items():
        here = [spot for spot in spots if (spot.noise, spot.spikes, spot.stray) == (noise, spikes, stray)]
        rungs = []
        for R in dimensions:
            rng, spectrum = context.rng(f"{here[0].name}, R = {R}"), noise.spectrum(R, stray)
            draws = [draw_rotated(model, R, rng, spectrum=spectrum) for _ in range(context.size(32, 200))]
            rungs.append((R, np.array([[spot.observe(draw) for spot in here] for draw in draws])))
        found |= {spot: Ladder(tuple((R, values[:, place]) for R, values in rungs)) for place, spot in enumerate(here)}
    return found


def measure_extremes(context: Context) -> Observed:
    """Measure all spots."""
    return Observed(observe(context, SPOTS), {})


def _branch_scope(spots: Sequence[Spot]) -> str:
    laws = ", ".join(dict.fromkeys(spot.noise.name for spot in spots))
    ratios = [spot.relative for spot in spots if spot.theta]
    finite = [ratio for ratio in ratios if np.isfinite(ratio)]
    return (
        f"{laws}; spikes of either sign at {min(finite):.2g} to {max(finite):.2g} thresholds, alone and four "
        "together, uniformly random eigenvectors"
    )


def limiting_eigenvalue(
    spot: Spot,
    rule: str = "printed",
    coefficient: float = 1.0,
    edge: float = 1.0,
    threshold: float = 1.0,
    inner: bool = True,
    upper: str = "U",
    **_: Any,
) -> float:
    """Return the two branches, by the printed rule or by the threshold.

    ``inner`` scales the argument of R, ``upper`` is the letter of the upper bound.
    """
    bounds = spot.model.bulk_edges
    limit = edge * bounds[int((spot.index > 0) == (upper == "U"))]
    if not spot.theta:
        return limit
    g = spot.theta + coefficient * spot.s * float(spot.noise.transform((spot.s if inner else 1.0) / spot.theta))
    if rule == "printed":
        return g if (g > limit if spot.theta > 0 else g < limit) else limit
    return g if spot.relative > threshold else limit


@claim(
    "fedloru-v1/prop-3.2",
    where="v1, Section 3.1, Proposition 3.2, eqs. (5) to (7)",
    says=r"""As $R \to \infty$, weakly almost surely, for $i = 1, \ldots, p$: $\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ if
    $g_N^{-1}(\theta_i) > U_N$, else $U_N$ (5); for $i = 0, \ldots, q-1$: $\lambda_{R-i}(H_N) \to
    g_N^{-1}(\theta_{p+q-i})$ if that is $< L_N$, else $L_N$ (6); $g_N^{-1}(\theta) = \theta +
    s(N)\mathcal{R}_\mu(s(N)\theta^{-1})$ (7), and $U_N$ and $L_N$ are lower and upper bounds of $\mu_N$. For fixed $i >
    p$ a $\lambda_i$ that converges to a limit outside $[0, U_N]$ converges to $U_N$, and mirrored. The noise is
    $s(N)X^R$, $X^R$ with a limit law $\mu$ of compact support and smooth density, and with QUE.""",
    measure=measure_extremes,
    readings=(
        LITERAL,
        Reading(
            "bounds put right",
            r"As printed, with $L_N$ and $U_N$ as the lower and the upper bound on $\mu_N$.",
            {"upper": "U"},
            "The proof has “L_N, U_N are lower and upper bound” (A.2), and (5) puts the largest eigenvalues at $U_N$.",
            ({"coefficient": 1.2}, {"edge": 1.1}),
        ),
    ),
    control=Form(
        r"""The statement for spikes that leave the bulk, $1/\theta$ strictly between $g_{\mu_N}(L_N^-)$ and
        $g_{\mu_N}(U_N^+)$, and noise without stray eigenvalues whose eigenvectors are uniformly random.""",
        {"separated_only": True, "strays": False, "upper": "U"},
    ),
    correction=Form(
        r"""$\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ if $1/\theta_i < g_{\mu_N}(U_N^+)$, the Stieltjes transform at the
        edge (infinite if the density jumps there: then every spike leaves), else $U_N$; mirrored with
        $g_{\mu_N}(L_N^-)$; if the extreme eigenvalues of $s(N)X^R$ themselves tend to $L_N$ and $U_N$, which weak
        convergence to $\mu$ does not imply. $U_N$ is the upper bound, $L_N$ the lower one. Where the density vanishes
        like a square root at the edge, the printed condition $g_N^{-1}(\theta_i) > U_N$ also holds for spikes a little
        below the threshold, because $R_{\mu_N}(w) + 1/w$ has a local minimum, $U_N$, there. For fixed $i > p$,
        $\lambda_i \to U_N$, and mirrored. Almost surely, if the extreme eigenvalues converge so and the eigenvectors
        are uniformly random; under QUE alone, in probability.""",
        {"rule": "threshold", "strays": False, "upper": "U"},
        mutants=(
            {"upper": "L"},
            {"coefficient": 1.2},
            {"edge": 1.1},
            {"threshold": 1.7},
            {"threshold": 0.6},
            {"inner": False},
            {"strays": True},
        ),
    ),
    vary=("coefficient", "edge"),
    uses=("fedloru-v2/prop-3.1",),
    importance="result",
    because=r"$g_N^{-1}(\theta) > U_N$ can hold for spikes below $1/g_{\mu_N}(U_N)$, whose eigenvalue stays at the "
    "edge; $U_N$ is the upper bound.",
    hypotheses=(
        Dropped(r"$1/\theta_i < g_{\mu_N}(U_N^+)$ where the outlier is claimed", {"rule": "printed"}),
        Dropped("extreme eigenvalues of the noise that tend to the edges", {"strays": True}),
    ),
    expect=("corrected", "proof"),
    intended=Intended(
        "bounds put right",
        "Same condition “if g_N^{-1}(θ_i) > U_N” for a general law; A.2 has “L_N, U_N are lower and upper bound”, and "
        "(5) puts the largest eigenvalues at U_N",
    ),
    print="misprint",
)
def v1_prop_3_2(
    data: Observed,
    rule: str = "printed",
    coefficient: float = 1.0,
    edge: float = 1.0,
    threshold: float = 1.0,
    inner: bool = True,
    separated_only: bool = False,
    strays: bool = True,
    upper: str = "L",
) -> Evidence:
    """Every branch for five laws, single spikes and four together, and noise with one stray eigenvalue."""
    form = {"rule": rule, "coefficient": coefficient, "edge": edge, "threshold": threshold, "inner": inner}
    form |= {"upper": upper}
    spots = [s for s in data.ladders if (strays or not s.stray) and not (separated_only and s.relative <= 1.0)]
    if separated_only:
        spots = [spot for spot in spots if spot.theta]

    def predict(**form: Any) -> Predictions:
        return {spot.name: limiting_eigenvalue(spot, **form) for spot in spots}

    return judge_limit(
        {spot.name: data.ladders[spot] for spot in spots},
        predict(**form),
        scope=_branch_scope(spots),
        resolution=0.02,
        settings={spot.name: spot.numbers() for spot in spots},
    )


SHARES = (0.2, 0.4, 0.8)

BULK_SPIKE, BULK_SCALE = 1.0, 0.5


def measure_with_bulk(context: Context) -> Observed:
    """Measure Marchenko-Pastur and uniform noise: the spots, and eigenvalues at fixed shares of the spectrum."""
    ladders = observe(context, [s for s in SPOTS if s.noise is MARCHENKO_PASTUR and not s.stray])
    inside, dimensions = {}, (10**3, 10**4)
    for noise in (UNIFORM, MARCHENKO_PASTUR):
        model, draws = SpikedModel((BULK_SPIKE,), noise.law, BULK_SCALE), {}
        for R in dimensions:
            rng, spectrum = context.rng(f"{noise.name}, R = {R}"), noise.spectrum(R)
            draws[R] = [draw_rotated(model, R, rng, spectrum=spectrum) for _ in range(context.size(12, 60))]
        for share in SHARES:
            rungs = ((R, np.array([one.eigenvalue(round(share * R)) for one in draws[R]])) for R in dimensions)
            inside[noise, share] = Ladder(tuple(rungs))
    return Observed(ladders, inside)


@cache
def _quantile(noise: Noise, level: float) -> float:
    return BULK_SCALE * float(noise.law.quantile(level))


def limit_inside(noise: Noise, share: float, interior: str, edge: float) -> float:
    """Return the limit of the eigenvalue at a share of the spectrum; of a set of limits the nearest is taken."""
    quantile = _quantile(noise, 1.0 - share)
    if interior == "set":
        ends = (edge * BULK_SCALE * end for end in noise.law.support)
        return min((0.0, *ends), key=lambda limit: abs(limit - quantile))
    return quantile if interior == "quantile" else _quantile(noise, share)


@claim(
    "fedloru-iclr/prop-3.1",
    where="iclr, Section 3.1, Proposition 3.1, eqs. (2) to (4), and its last sentence",
    says=r"""For $H_N = H_{\mathrm{true}} + \epsilon(N)$, as $R \to \infty$, weakly almost surely: for $i = 1, \ldots,
    p$, $\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ if $g_N^{-1}(\theta_i) > U_N$, else $U_N$ (2); for $i = 0, \ldots, q-1$,
    $\lambda_{R-i}(H_N) \to g_N^{-1}(\theta_{p+q-i})$ if that is $< L_N$, else $L_N$ (3); $g_N^{-1}(\theta) = \theta +
    s(N)\mathcal{R}_\mu(s(N)\theta^{-1})$ (4); $U_N$ and $L_N$ are lower and upper bounds (in this order) of the limit
    law $\mu_N$ of $\epsilon(N)$; and for $p < i \le P - q$, $\lambda_i(H_N) \to \{0, L_N, U_N\}$. The noise is
    $s(N)X^R$, $X^R$ with a limit law $\mu$ of compact support and smooth density, and with QUE.""",
    measure=measure_with_bulk,
    readings=(
        LITERAL,
        Reading(
            "bounds put right",
            r"As printed, with $L_N$ and $U_N$ as the lower and the upper bound on $\mu_N$, and with R for the printed "
            "P, which the paper does not define.",
            {"upper": "U"},
            "The proof has “L_N, U_N are lower and upper bound” (A.2), and (2) puts the largest eigenvalues at $U_N$.",
            ({"coefficient": 1.2}, {"edge": 1.1}),
        ),
    ),
    control=Form(
        r"""For noise whose extreme eigenvalues tend to $U_N$ and $L_N$ and whose eigenvectors are uniformly random: the
        two branches for spikes that leave the bulk, and $\lambda_i \to U_N$ for fixed $i > p$, and mirrored.""",
        {"separated_only": True, "upper": "U"},
    ),
    correction=Form(
        r"""For noise whose extreme eigenvalues tend to $U_N$ and $L_N$: the two branches with the thresholds
        $1/g_{\mu_N}(U_N^+)$ and $1/g_{\mu_N}(L_N^-)$ as for v1, Proposition 3.2 ($g_{\mu_N}(z) = \int\frac{d\mu_N(x)}{z
        - x}$ to the right of the support, and to the left of it); for fixed $i > p$, which the proof treats, $\lambda_i
        \to U_N$, and mirrored; for $i = \lfloor cR \rfloor$, $0 < c < 1$, $\lambda_i$ tends to the $(1-c)$-quantile of
        $\mu_N$ where that is unique, inside the bulk. Almost surely, if the extreme eigenvalues converge so and the
        eigenvectors are uniformly random; under QUE alone, in probability.""",
        {"rule": "threshold", "interior": "quantile", "upper": "U"},
        mutants=(
            {"upper": "L"},
            {"interior": "mirrored"},
            {"threshold": 1.7},
            {"threshold": 0.6},
            {"edge": 1.1},
            {"coefficient": 1.2},
        ),
    ),
    vary=("coefficient", "edge"),
    uses=("fedloru-v1/prop-3.2", "fedloru-v2/prop-3.1-bulk"),
    importance="result",
    because="Spikes below the threshold can meet the condition, and indices proportional to R end inside. $U_N$ is the "
    "upper bound; P is R.",
    hypotheses=(Dropped(r"$1/\theta_i < g_{\mu_N}(U_N^+)$ where the outlier is claimed", {"rule": "printed"}),),
    expect=("corrected", "proof"),
    intended=Intended(
        "bounds put right",
        "Same condition “if g_N^{-1}(θ_i) > U_N” for a general law; A.2 has “L_N, U_N are lower and upper bound”, and "
        "(2) puts the largest eigenvalues at U_N; the P of “p < i ≤ P-q” is R, the number of eigenvalues",
    ),
    print="misprint",
)
def iclr_prop_3_1(
    data: Observed,
    rule: str = "printed",
    interior: str = "set",
    coefficient: float = 1.0,
    edge: float = 1.0,
    threshold: float = 1.0,
    separated_only: bool = False,
    upper: str = "L",
) -> Evidence:
    """Eigenvalues at fixed shares of the spectrum, then the branches for one asymmetric law."""
    form: dict[str, Any] = {
        "rule": rule,
        "interior": interior,
        "coefficient": coefficient,
        "edge": edge,
        "threshold": threshold,
        "upper": upper,
    }
    spots = [s for s in data.ladders if not (separated_only and s.theta and s.relative <= 1.0)]
    shares = (
        {}
        if separated_only
        else {f"lambda_i at i = {share:g} R, {noise.name}": (noise, share) for noise, share in data.inside}
    )

    def predict(interior: str, edge: float, **form: Any) -> Predictions:
        inside = {name: limit_inside(*at, interior, edge) for name, at in shares.items()}
        return inside | {spot.name: limiting_eigenvalue(spot, edge=edge, **form) for spot in spots}

    inner = (
        f"; shares {', '.join(map(str, SHARES))} of the spectrum of {UNIFORM.name} and {MARCHENKO_PASTUR.name} noise"
    )
    settings: dict[str, dict[str, float]] = {
        name: {"share": share, "s": BULK_SCALE, "theta": BULK_SPIKE, **dict(noise.numbers)}
        for name, (noise, share) in shares.items()
    }
    return judge_limit(
        {name: data.inside[at] for name, at in shares.items()} | {spot.name: data.ladders[spot] for spot in spots},
        predict(**form),
        resolution=0.02,
        scope=_branch_scope(spots) + ("" if separated_only else inner),
        settings=settings | {spot.name: spot.numbers() for spot in spots},
    )


@dataclass(frozen=True)
class Continued:
    """A noise law with its R-transform in closed form, also where no z outside the support belongs to it.

    Attributes:
        name: what the law is called.
        law: the law.
        transform: its R-transform, meromorphic.
        accuracy: relative accuracy of its Stieltjes transform.
        numbers: parameters, for the witness.
    """

    name: str
    law: Law
    transform: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    accuracy: float
    numbers: dict[str, float]


@dataclass(frozen=True)
class Mapped:
    """Spikes for one law, the thresholds beyond which they separate, and cumulants from the density.

    Attributes:
        of: the law.
        s: factor of the noise, one per spike.
        theta: the spikes.
        threshold: threshold of the same sign, 0 where every spike separates.
        cumulants: by s, of the scaled law from the moments of its density, and of the law.
    """

    of: Continued
    s: NDArray[np.float64]
    theta: NDArray[np.float64]
    threshold: NDArray[np.float64]
    cumulants: dict[float, tuple[tuple[float, ...], tuple[float, ...]]]


SCALES = (0.9, 0.25, 0.0075)


def continued_laws() -> tuple[Continued, ...]:
    """Return laws with smooth densities: one-sided, symmetric, of negative mean, lopsided; one that jumps at edges."""

    def poisson(ratio: float) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        return lambda w: 1.0 / (1.0 - ratio * w)

    lopsided = FreeSum(Semicircle(0.5, -1.0), MarchenkoPastur(0.3))
    return (
        Continued("Marchenko-Pastur", MarchenkoPastur(0.25), poisson(0.25), 1e-11, {"ratio": 0.25}),
        Continued("semicircle", Semicircle(1.5), lambda w: 2.25 * w, 1e-11, {}),
        Continued("semicircle of negative mean", Semicircle(1.0, -0.7), lambda w: w - 0.7, 1e-11, {}),
        Continued(
            "Marchenko-Pastur of negative mean",
            MarchenkoPastur(0.4).shifted(-2.0),
            lambda w: poisson(0.4)(w) - 2.0,
            1e-11,
            {},
        ),
        Continued("semicircle [+] Marchenko-Pastur", lopsided, lambda w: 0.25 * w - 1.0 + poisson(0.3)(w), 1e-9, {}),
        Continued(
            "uniform", DensityLaw(lambda x: 0.5, (-1.0, 1.0), "uniform"), lambda w: 1.0 / np.tanh(w) - 1.0 / w, 1e-8, {}
        ),
    )


ORDER = 6


def _cumulants_by_quadrature(law: Law) -> tuple[float, ...]:
    r"""Return free cumulants from moments of the density, by Gauss and Legendre in the angle $x = c + h \sin\phi$."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    (lower, upper), angles = law.support, 0.5 * np.pi * nodes
    x = 0.5 * (lower + upper) + 0.5 * (upper - lower) * np.sin(angles)
    masses = law.pdf(x) * 0.5 * (upper - lower) * np.cos(angles) * 0.5 * np.pi * weights
    return free_cumulants_from_moments([float(np.sum(masses * x**n)) for n in range(1, ORDER + 1)])


def measure_maps(context: Context) -> list[Mapped]:
    """Return spikes of both signs from far below to far above the thresholds of each law."""
    found = []
    for of in continued_laws():
        rng, rows = context.rng(of.name), []
        drawn = np.exp(rng.uniform(-4.0, 4.0, context.size(15, 200)))
        ratios = np.concatenate([[0.01, 0.3, 0.5, 0.8, 0.95, 0.99, 1.01, 1.2, 2.0, 10.0, 1e3], drawn])
        for s in SCALES:
            for sign, threshold in zip((-1.0, 1.0), SpikedModel((), of.law, s).thresholds, strict=True):
                rows += [(s, r * (threshold or sign * s), threshold) for r in ratios]
        s, theta, threshold = np.array(rows).T
        own = of.law.free_cumulants(ORDER)
        cumulants = {scale: (_cumulants_by_quadrature(of.law.scaled(scale)), own) for scale in SCALES}
        found.append(Mapped(of, s, theta, threshold, cumulants))
    return found


def _map_of_one_law(
    at: Mapped, beyond: float, coefficient: float, powers: tuple[int, int], power_shift: int
) -> Evidence:
    kept = np.abs(at.theta) > beyond * np.abs(at.threshold)
    s, theta = at.s[kept], at.theta[kept]
    unit = np.abs(np.where(at.threshold[kept] == 0.0, s, at.threshold[kept]))
    with np.errstate(divide="ignore"):
        z = coefficient * s ** powers[0] * at.of.transform(s ** powers[1] / theta) + theta
    back, error = np.full(len(z), np.nan), np.full(len(z), np.nan)
    for scale in SCALES:
        law = at.of.law.scaled(scale)
        (lower, upper) = law.support
        room = 1e-6 * (upper - lower)  # closer to an edge, rounding decides
        here = (s == scale) & np.isfinite(z) & ((z < lower - room) | (z > upper + room))
        k = 1.0 / law.stieltjes(z[here])
        slope = np.abs(k**2 * law.stieltjes_derivative(z[here]))
        back[here] = k
        error[here] = at.of.accuracy * np.abs(k) + slope * 1e-14 * (np.abs(z[here]) + np.abs(theta[here]) + scale)
    outside, least = np.isfinite(back), beyond if at.threshold.all() else 0.0
    ratios = np.round(np.abs(theta) / unit, 9)[outside]
    s, theta, left = s[outside], theta[outside], np.abs(back - theta)[outside]
    places: list[dict[str, Any]] = [
        {"law": at.of.name, **at.of.numbers, "s": float(a), "theta": float(b)} for a, b in zip(s, theta, strict=True)
    ]
    rows, errors = list(left / np.abs(theta)), list(error[outside] / np.abs(theta))
    sizes = list((np.abs(z[outside]) + np.abs(theta)) / np.abs(theta))
    for scale, (scaled, own) in at.cumulants.items():
        for n in range(1, ORDER + 1):
            rows.append(abs(scaled[n - 1] / scale**n - scale**power_shift * own[n - 1]))
            errors.append(1e-8 * max(1.0, *np.abs(at.of.law.support)) ** n)
            sizes.append(max(1.0, *np.abs(at.of.law.support)) ** n)
            places.append({"law": at.of.name, "s": scale, "n": n})
    return judge_inequality(
        np.array(rows),
        np.zeros(len(rows)),
        np.array(errors),
        size=np.array(sizes),
        quotient=True,
        case=places,
        scope=f"{at.of.name}, {len(theta)} spikes from {theta.min():.2g} to {theta.max():.2g}",
        domain=tried(("s", s, POSITIVE), ("theta over its threshold", ratios, Stated(least, inf))),
        printed=f"|k(k^-1(theta)) - theta| = 0 and C_n(mu_N) = s^n C_n(mu), {at.of.name}",
    )


@claim(
    "fedloru-v1/eq-29-32",
    where="v1 Appendix A.2, eqs. (29), (31) and (32); iclr Appendix A.2, eqs. (25), (27) and (28); the recursion (30), "
    "iclr (26), is that of fedloru-v2/eq-33",
    says=r"""For the noise law $\mu$ and the eigenvalues $\theta$ of $H_{\mathrm{true}}$, k the subordination function,
    the outliers of $H_N$ are the $k^{-1}(\theta_j)$ off the support of $\mu_N \boxplus \nu$; $k^{-1}(\theta) = g_{\mu_N
    \boxplus \nu}^{-1}(g_\nu(\theta)) = \mathcal{R}_{\mu_N}(g_\nu(\theta)) + g_\nu^{-1}(g_\nu(\theta)) =
    \mathcal{R}_{\mu_N}(1/\theta) + \theta$ (29; v1 lacks a parenthesis); from $m_n^{\mu_N} = s(N)^nm_n^\mu$ and
    $C_n^{(\mu_N)} = s(N)^nC_n^{(\mu)}$, $\mathcal{R}_{\mu_N}(\theta) = s(N)\mathcal{R}_\mu(s(N)\theta)$ (31); and, as
    an expression for the outliers of $H_N$, $k^{-1}(\theta) = s(N)\mathcal{R}_\mu(s(N)/\theta) + \theta$ (32).""",
    measure=measure_maps,
    readings=(
        Reading(
            "every eigenvalue of the true Hessian",
            r"(29), (31) and (32) for every eigenvalue $\theta \ne 0$ of $H_{\mathrm{true}}$: wherever "
            r"$s(N)\mathcal{R}_\mu(s(N)/\theta) + \theta$ is a number off the support, k is $\theta$ there.",
            why=r"The lines are written for $\theta$ without a condition, and Proposition 3.2 compares (32) with $U_N$ "
            "at every spike.",
        ),
        Reading(
            "the outliers",
            r"(29), (31) and (32) for the outliers of $H_N$, $\theta = k(\lambda)$ with $\lambda$ off the support: for "
            r"$\theta > 1/g_{\mu_N}(U_N^+)$ and $\theta < 1/g_{\mu_N}(L_N^-)$, which is all $\theta \ne 0$ only if "
            r"$g_{\mu_N}$ is infinite at both edges. Between the two, where k never takes the value $\theta$, a "
            r"formula of $\mathcal{R}_\mu$ can continue (for Marchenko-Pastur beyond a pole).",
            {"beyond": 1.0},
            "(32) is called an expression for the outliers, and the lines before it name them.",
            ({"beyond": 0.9}, {"coefficient": 1.001}, {"outer": 0}, {"inner": 0}, {"power_shift": 1}),
        ),
    ),
    uses=("fedloru-v2/eq-33", "fedloru-v2/eq-34"),
    also=("fedloru-iclr/eq-25-28",),
    because=r"As a formula for every $\theta$: k has no value between $1/g_{\mu_N}(L_N)$ and $1/g_{\mu_N}(U_N)$ off "
    "the support.",
    hypotheses=(Dropped(r"$\theta$ beyond the thresholds", {"beyond": 0.0}),),
    expect=("holds", "proof"),
    intended=Intended(
        "the outliers",
        "“Finally, we have a expression for the outliers of H_N” (v1 (32), iclr (28)): only values of k are inverted",
    ),
    print="unstated",
)
def eq_29_32(
    data: list[Mapped],
    beyond: float = 0.0,
    coefficient: float = 1.0,
    outer: int = 1,
    inner: int = 1,
    power_shift: int = 0,
) -> Evidence:
    """Law by law: the cumulants, then whether k undoes the printed inverse at every spike it leaves outside."""
    passed: list[Evidence] = []
    for at in data:
        evidence = _map_of_one_law(at, beyond, coefficient, (outer, inner), power_shift)
        if not evidence.ok:
            return evidence
        passed.append(evidence)
    weakest = min(passed, key=lambda evidence: evidence.margin)
    scope = f"{len(data)} laws, s = {SCALES}: " + "; ".join(evidence.scope for evidence in passed)
    return replace(weakest, scope=scope, cases=sum(evidence.cases for evidence in passed))
