"""Appendix A.1 and A.3: sums of matrices, free convolution and the subordination function (Lemma A.2, eq. 30 to 31)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Best, Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.eigenvalues import Setting
from paper_checks.fedloru.spectral.noise import ATOMS
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit
from paper_checks.methods.mean import Tails, judge_means
from rmt.banded import draw_banded
from rmt.closed_laws import AtomicLaw, MarchenkoPastur, PointMass, Semicircle
from rmt.cumulants import free_cumulants_from_moments, moments_from_free_cumulants
from rmt.dense import ENTRY_LAWS, draw_dense, rotated, wigner
from rmt.free import FreeSum
from rmt.laws import Law
from rmt.spiked import wigner_outlier

POWERS = (2, 3, 4, 6)
SUM_DIMENSION = 160
SIGMA = 1.0
NEARLY_NORMAL = (
    "traces of powers obey a central limit theorem, for sums of rotated matrices (Pastur and Vasilchuk) and for "
    "Gaussian ones with a variance profile (Guionnet)"
)

# Every X is a rotation-invariant matrix with this limit law; its mean is 0, positive or negative, its shape lopsided.
SUMMANDS: dict[str, Law] = {
    "GOE": Semicircle(SIGMA),
    "rotated Marchenko-Pastur": MarchenkoPastur(0.3),
    "rotated two atoms": AtomicLaw((-1.0, 2.0), (0.75, 0.25)),
    "rotated negative mean": MarchenkoPastur(0.4, 0.8).shifted(-2.0),
}
DIAGONALS: dict[str, Law] = {
    "D of three atoms": AtomicLaw(*zip(*ATOMS, strict=True)),
    "D of two atoms": AtomicLaw((-0.5, 1.5), (0.4, 0.6)),
}
# D = diag(x) with as many +1 as -1, entries of X of variance (1 + rho x_a x_b)/R: the variances of a row add up to 1.
SIGNS = AtomicLaw((-1.0, 1.0), (0.5, 0.5))
ALIGNMENT = 0.5


Moments = tuple[float, ...]


@dataclass(frozen=True)
class Sums:
    """Draws of normalised traces of powers of X + D, less its limiting mean, with the laws of the parts.

    Attributes:
        traces: the draws of each moment of each sum.
        parts: power, and the moments of X and of D about their means.
        aligned: names of the moments in which the variances of X follow D.
    """

    traces: dict[str, NDArray[np.float64]]
    parts: dict[str, tuple[int, Moments, Moments]]
    aligned: frozenset[str]


def _traces(matrix: NDArray[np.float64]) -> list[float]:
    """Normalised traces of the powers in ``POWERS``."""
    square = matrix @ matrix
    cube = square @ matrix
    pairs = ((matrix, matrix), (square, matrix), (square, square), (cube, cube))
    return [float(np.vdot(a, b)) / len(matrix) for a, b in pairs]


def _central_moments(law: Law) -> Moments:
    return tuple(law.moment(k, about=law.mean) for k in range(1, POWERS[-1] + 1))


def measure_sums(context: Context) -> Sums:
    """Sums with a variance profile of X that follows D, with diagonal D, and with D rotated independently of X."""
    R, draws = SUM_DIMENSION, context.size(40, 200)
    traces: dict[str, NDArray[np.float64]] = {}
    parts: dict[str, tuple[int, Moments, Moments]] = {}

    def keep(name: str, rows: list[list[float]], own: Moments, added: Moments) -> None:
        for column, power in enumerate(POWERS):
            traces[f"moment {power} of X + D, {name}"] = np.array(rows)[:, column]
            parts[f"moment {power} of X + D, {name}"] = (power, own, added)

    rng, x = context.rng("profile"), np.repeat([-1.0, 1.0], R // 2)
    profile = np.sqrt(1.0 + ALIGNMENT * np.outer(x, x))
    rows = [_traces(profile * wigner(SIGMA, R, rng, ENTRY_LAWS["goe"]) + np.diag(x)) for _ in range(draws)]
    keep("variance profile of x, D = diag(x)", rows, _central_moments(SUMMANDS["GOE"]), _central_moments(SIGNS))
    aligned = frozenset(traces)
    for index, (name, law) in enumerate(SUMMANDS.items()):
        place, other = list(DIAGONALS.items())[index % len(DIAGONALS)]
        rng, spectrum = context.rng(name), np.asarray(other.quantile((np.arange(R) + 0.5) / R))
        rows = []
        for _ in range(draws):
            matrix = wigner(SIGMA, R, rng, ENTRY_LAWS["goe"]) if name == "GOE" else rotated(law, R, rng)
            matrix += rotated(other, R, rng) if index == len(SUMMANDS) - 1 else np.diag(spectrum)
            matrix.flat[:: R + 1] -= law.mean + other.mean
            rows.append(_traces(matrix))
        keep(f"{name}, {place}", rows, _central_moments(law), _central_moments(other))
    return Sums(traces, parts, aligned)


def _by_pair(names: Iterable[str], parts: Mapping[str, tuple[int, Moments, Moments]]) -> Iterator[str]:
    powers: dict[str, list[str]] = {}
    for name in names:
        powers.setdefault(name.partition("X + D, ")[2], []).append(str(parts[name][0]))
    for pair, of in powers.items():
        yield f"{pair} ({', '.join(of)})"


@cache
def moment_of_sum(power: int, own: Moments, added: Moments, convolution: str, weight: float) -> float:
    """A moment of X + D: free cumulants add (D's times ``weight``), or classical ones, or the moments themselves."""
    if convolution == "free":
        pairs = zip(*(free_cumulants_from_moments(moments[:power]) for moments in (own, added)), strict=True)
        return float(moments_from_free_cumulants([a + weight * b for a, b in pairs])[-1])
    if convolution == "classical":
        return sum(comb(power, k) * (1.0, *own)[k] * (1.0, *added)[power - k] for k in range(power + 1))
    return own[power - 1] + added[power - 1]


@claim(
    "fedloru-v1/lem-A.2",
    where="v1 and iclr Appendix A, Lemma A.2",
    says="Let $X$ be random real symmetric and $D$ symmetric (deterministic or random), with deterministic limits "
    r"$\mu_X$, $\mu_D$ of their spectral measures; let $X$ have QUE and $P(W_1(\hat\mu_X, \mu_X) > \delta) \le "
    r"e^{-N^\tau f(\delta)}$ for some $\tau > 0$ and positive increasing f. Then $X + D$ has a limiting spectral "
    r"measure, the free convolution $\mu_X \boxplus \mu_D$.",
    measure=measure_sums,
    control=Form(
        r"For D deterministic, and $\|X\|$ and $\|D\|$ bounded, the first three moments alone are those of the free "
        "convolution.",
        {"most": 3},
    ),
    correction=Form(
        r"The same for X whose law is invariant under rotations, and D deterministic or independent of X. (Where the "
        r"rank of D stays bounded any X will do, by interlacing: $\mu_{X + D} = \mu_X$.)",
        {"aligned": False},
        mutants=({"convolution": "classical"}, {"convolution": "moments"}, {"weight": 1.75}),
    ),
    uses=("fedloru-v2/eq-33",),
    because="QUE does not suffice: entries whose variances depend on D can keep it, but change moment 4 of X + D.",
    expect=("corrected", "proof"),
)
def v1_lem_A_2(
    data: Sums, aligned: bool = True, convolution: str = "free", weight: float = 1.0, most: int = max(POWERS)
) -> Evidence:
    """Mean normalised moments of X + D; ``aligned`` includes the sums in which the variances of X follow D."""
    names = [name for name in data.traces if (aligned or name not in data.aligned) and data.parts[name][0] <= most]

    def predict(convolution: str, weight: float, **_: Any) -> Predictions:
        return {name: moment_of_sum(*data.parts[name], convolution, weight) for name in names}

    return judge_means(
        {name: data.traces[name] for name in names},
        predict(convolution, weight),
        share=0.1,
        resolution=0.15,
        tails=Tails(normal=NEARLY_NORMAL),
        scope=f"moments about the mean at R = {SUM_DIMENSION}: {'; '.join(_by_pair(names, data.parts))}",
        settings={name: {"rho": ALIGNMENT, "power": data.parts[name][0]} for name in data.aligned},
    )


# Spikes of both signs, outside and inside of the range of k, which takes only values beyond sigma s.
PLANTED = Setting((1.5, 0.65, 0.3, -0.2, -1.0), 2.0, 0.25)
POINTS = tuple(PLANTED.noise * z for z in (0.7 + 0.5j, -1.5 + 0.8j, 2.2 + 1.2j))
TRANSFORM_DIMENSION = 250


def subordination(z: complex, strength: float) -> complex:
    r"""$k(z) = 1/g_{\mu_N}(z)$ for the semicircle, its variance times ``strength``; z itself for strength 0."""
    return complex(1.0 / Semicircle(PLANTED.noise * strength**0.5).stieltjes(z)) if strength else z


@dataclass(frozen=True)
class Planted:
    """Ladders of the eigenvalues that belong to the spikes, and of the empirical Stieltjes transform.

    Attributes:
        eigenvalues: by name, with the spike: as many from either end as there are spikes of that sign.
        spikes: the spike of each.
        transforms: real and imaginary parts, by name.
        places: the point z of each, and whether it is the imaginary part.
    """

    eigenvalues: dict[str, Ladder]
    spikes: dict[str, float]
    transforms: dict[str, Ladder]
    places: dict[str, tuple[complex, bool]]


def measure_planted(context: Context) -> Planted:
    """Eigenvalues at large R in band form, transforms from dense spectra."""
    model, rng = PLANTED.model(), context.rng("eigenvalues")
    above = [theta for theta in PLANTED.spikes if theta > 0]
    below = [theta for theta in PLANTED.spikes if theta < 0]
    rungs = []
    for R in context.size((10**4, 10**5), (10**4, 10**6)):
        draws = [draw_banded(model, R, rng, top=len(above), bottom=len(below)) for _ in range(context.size(16, 60))]
        rungs.append((R, np.array([[*d.top(len(above)), *d.bottom(len(below))[::-1]] for d in draws])))
    spikes = {f"eigenvalue of theta = {theta / PLANTED.noise:.3g} sigma s": theta for theta in PLANTED.spikes}
    eigenvalues = {
        name: Ladder(tuple((R, found[:, column]) for R, found in rungs)) for column, name in enumerate(spikes)
    }
    rng, R, rows = context.rng("transforms"), TRANSFORM_DIMENSION, []
    for _ in range(context.size(60, 100)):
        spectrum = draw_dense(model, R, rng, entries="goe").eigenvalues()
        rows.append([np.mean(1.0 / (z - spectrum)) for z in POINTS])
    values, transforms, places = np.array(rows), {}, {}
    for column, z in enumerate(POINTS):
        for part, found in (("Re", values[:, column].real), ("Im", values[:, column].imag)):
            name = f"{part} g_H({z / PLANTED.noise:.3g} sigma s)"
            transforms[name], places[name] = (
                Ladder(((R, found),), "a transform is a mean over R eigenvalues"),
                (z, part == "Im"),
            )
    return Planted(eigenvalues, spikes, transforms, places)


@claim(
    "fedloru-v2/eq-30-31",
    where="Appendix A.3, eqs. (30) and (31)",
    says=r"$\hat g_{H_N}(z) = g_{\mu_{H_N}}(z) + o(1) = g_{\mu_N \boxplus \nu}(z) + o(1) = g_\nu(k(z)) + o(1) = \hat "
    r"g_{H_{\mathrm{true}}}(k(z)) + o(1)$ (30), where k is the subordination function with $g_{\mu_N \boxplus \nu}(z) "
    r"= g_\nu(k(z))$. For an eigenvalue $\lambda$ of $H_N$ outside of the support $\hat g_{H_{\mathrm{true}}}$ has a "
    r"singularity at $k(\lambda)$, for any R, which must correspond to one of the outlier eigenvalues of $H_N$. In "
    r"other words, $\theta_i$ is an outlier eigenvalue of $H_{\mathrm{true}}$ if and only if $k(\lambda) = \theta_i$ "
    r"for an eigenvalue $\lambda$ of $H_N$ outside $\mathrm{supp}(\mu_N \boxplus \nu) = \mathrm{supp}(\mu_N)$; the "
    r"family of the outliers of $H_N$ is $\{k^{-1}(\theta_j) : k^{-1}(\theta_j) \in "
    r"\mathbb{R}\setminus\mathrm{supp}(\mu_N \boxplus \nu)\}$ (31).",
    measure=measure_planted,
    control=Form(
        "The statement about the transforms, eq. (30), for noise with the semicircle as its limit law.",
        {"outliers": False},
    ),
    correction=Form(
        "Eq. (30) holds where the noise has the semicircle as its limit law. For Gaussian noise, and in probability "
        r"for Wigner matrices as in prop-3.1-dist, the outliers of $H_N$ tend to the $k^{-1}(\theta_j)$ with "
        r"$|\theta_j| > \sigma s_N$, the range of $k$ on $\mathbb{R}\setminus\mathrm{supp}(\mu_N)$. The other "
        r"$\theta_j$ are outlier eigenvalues of $H_{\mathrm{true}}$ (whose limiting density is $\delta_0$) without any "
        r"such $\lambda$, although $\theta_j + \sigma^2s_N^2/\theta_j$ lies outside of the support for $|\theta_j| \ne "
        r"\sigma s_N$. In the sentence before, $k(\lambda)$ corresponds to an outlier of $H_{\mathrm{true}}$, not of "
        r"$H_N$, and only in the limit: at a finite R, with noise of a density, it is none of the $\theta_j$ with "
        "probability 1, and tends to one.",
        {"least": 1.0},
        mutants=({"least": 0.5}, {"least": 1.5}, {"coefficient": 1.1}, {"strength": 0.75}, {"strength": 0.0}),
    ),
    uses=("fedloru-v2/lem-A.1a", "fedloru-v2/lem-A.2", "fedloru-v2/eq-32"),
    because=r"Eigenvalues $|\theta_j| < \sigma s_N$ of $H_{\mathrm{true}}$ give no outlier of $H_N$: k takes no such "
    "value off the support.",
    best={
        "coefficient": Best(1.0, "proved: the outlier is where k is the spike"),
        "strength": Best(1.0, "proved: k belongs to noise of this variance"),
        "least": Best(1.0, r"proved: k takes all values beyond $\sigma s_N$ off the support, and no others"),
    },
    expect=("corrected", "proof"),
)
def eq_30_31(
    data: Planted, least: float = 0.0, coefficient: float = 1.0, strength: float = 1.0, outliers: bool = True
) -> Evidence:
    """Every spike beyond ``least`` in units of sigma s has an outlier, the others end at the edge of the support."""

    def predict(least: float, coefficient: float, strength: float, **_: Any) -> Predictions:
        found = {}
        for name, theta in data.spikes.items():
            edge = FreeSum(Semicircle(PLANTED.noise), PointMass(0.0)).support[int(theta > 0)]
            outside = abs(theta) > least * PLANTED.noise
            found[name] = wigner_outlier(theta, coefficient**0.5 * PLANTED.noise) if outside else edge
        for name, (z, imaginary) in data.places.items():
            at, zeros = subordination(z, strength), TRANSFORM_DIMENSION - len(PLANTED.spikes)
            value = (zeros / at + sum(1.0 / (at - theta) for theta in PLANTED.spikes)) / TRANSFORM_DIMENSION
            found[name] = value.imag if imaginary else value.real
        return found

    ladders = {**data.transforms, **(data.eigenvalues if outliers else {})}
    predicted = predict(least, coefficient, strength)
    return judge_limit(
        ladders,
        {name: predicted[name] for name in ladders},
        resolution=0.02,
        scope=f"{len(data.spikes)} spikes from {min(data.spikes.values()) / PLANTED.noise:.3g} to "
        f"{max(data.spikes.values()) / PLANTED.noise:.3g} sigma s, Gaussian noise; {len(POINTS)} points z",
        settings={
            name: {"theta": theta, "sigma": PLANTED.sigma, "s": PLANTED.s} for name, theta in data.spikes.items()
        },
    )
