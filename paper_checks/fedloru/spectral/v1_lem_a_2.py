"""Lemma A.2 of v1 and iclr: free convolution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Evidence, Form, Intended, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.lem_a_2 import ATOMS
from paper_checks.methods.bands import Predictions
from paper_checks.methods.mean import Tails, judge_means
from rmt.closed_laws import AtomicLaw, MarchenkoPastur, Semicircle
from rmt.cumulants import free_cumulants_from_moments, moments_from_free_cumulants
from rmt.dense import ENTRY_LAWS, rotated, wigner
from rmt.laws import Law

POWERS = (2, 3, 4, 6)

SUM_DIMENSION = 160

NEARLY_NORMAL = (
    "traces of powers obey a central limit theorem, for sums of rotated matrices (Pastur and Vasilchuk) and for "
    "Gaussian ones with a variance profile (Guionnet)"
)

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


SIGMA = 1.0

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


def _traces(matrix: NDArray[np.float64]) -> list[float]:
    """Return normalised traces of the powers in ``POWERS``."""
    square = matrix @ matrix
    cube = square @ matrix
    pairs = ((matrix, matrix), (square, matrix), (square, square), (cube, cube))
    return [float(np.vdot(a, b)) / len(matrix) for a, b in pairs]


def _central_moments(law: Law) -> Moments:
    return tuple(law.moment(k, about=law.mean) for k in range(1, POWERS[-1] + 1))


def measure_sums(context: Context) -> Sums:
    """Draw sums with a variance profile of X that follows D, with diagonal D, and with D rotated independently of X."""
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
    """Return a moment of X + D: free (D's times ``weight``) or classical cumulants add, or the moments themselves."""
    if convolution == "free":
        pairs = zip(*(free_cumulants_from_moments(moments[:power]) for moments in (own, added)), strict=True)
        return float(moments_from_free_cumulants([a + weight * b for a, b in pairs])[-1])
    if convolution == "classical":
        return sum(comb(power, k) * (1.0, *own)[k] * (1.0, *added)[power - k] for k in range(power + 1))
    return own[power - 1] + added[power - 1]


@claim(
    "fedloru-v1/lem-A.2",
    where="v1 and iclr Appendix A, Lemma A.2",
    says=r"""Let $X$ be random real symmetric and $D$ symmetric (deterministic or random), with deterministic limits
    $\mu_X$, $\mu_D$ of their spectral measures; let $X$ have QUE and $P(W_1(\hat\mu_X, \mu_X) > \delta) \le e^{-N^\tau
    f(\delta)}$ for some $\tau > 0$ and positive increasing f. Then $X + D$ has a limiting spectral measure, the free
    convolution $\mu_X \boxplus \mu_D$.""",
    measure=measure_sums,
    control=Form(
        r"""For D deterministic, and $\|X\|$ and $\|D\|$ bounded, only the first three moments are those of the free
        convolution.""",
        {"most": 3},
    ),
    correction=Form(
        r"""The same for X whose law is invariant under rotations, and D deterministic or independent of X. (If the rank
        of D stays bounded, any X works, by interlacing: $\mu_{X + D} = \mu_X$.)""",
        {"aligned": False},
        mutants=({"convolution": "classical"}, {"convolution": "moments"}, {"weight": 1.75}),
    ),
    uses=("fedloru-v2/eq-33",),
    because="QUE is not enough: independent entries whose variances follow a fixed diagonal D can keep it, but change "
    "moment 4 of X + D.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“Assume that X has QUE and μ̂_X concentrates … Then H = X + D” has the free convolution; "
        "used only for D of bounded rank",
    ),
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
