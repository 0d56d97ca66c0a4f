"""Section 3.1 and Appendix A: the scale of the noise, and its variance without the factor 1/R."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Evidence, Form, Intended, Reading, claim
from paper_checks.context import LEVEL, Context
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit
from paper_checks.methods.mean import Tails, judge_means
from rmt.banded import draw_banded
from rmt.closed_laws import Semicircle
from rmt.spiked import SpikedModel

FEATURES = 5


def noise_deviation(M: int) -> float:
    r"""Return the standard deviation of $\|H_M - I\|_F^2 / V$, from the moments of $\|x\|^2$, a $\chi^2$ of d degrees.

    A mean of M independent $g_i = x_ix_i^\top - I$ has $E\|\bar g\|^4 = (E\|g\|^4 + (M-1)(V^2 + 2\,\mathrm{tr}\,C^2))
    / M^3$, where their covariance C is 2 on the symmetric matrices, of trace $V = d(d+1)$.
    """
    d, V = FEATURES, FEATURES * (FEATURES + 1)
    r = [float(np.prod(d + 2.0 * np.arange(k))) for k in range(5)]
    fourth = r[4] - 4 * r[3] + (4 + 2 * d) * r[2] - 4 * d * r[1] + d**2
    square = (fourth + (M - 1) * (V**2 + 4 * V)) / M**3 / V**2
    return float(np.sqrt(square - 1.0 / M**2))


def measure_sample_noise(context: Context) -> dict[str, NDArray[np.float64]]:
    r"""Measure $\|H_M - I\|_F^2 / V$ with $V = d(d+1)$ for $x \sim N(0, I_d)$."""
    d, repeats = FEATURES, context.size(20_000, 80_000)
    found = {}
    for M in (4, 16, 64):
        x = context.rng(f"M = {M}").standard_normal((repeats, M, d))
        noise = np.einsum("nmi,nmj->nij", x, x) / M - np.eye(d)
        found[f"squared noise at M = {M}"] = (noise**2).sum(axis=(1, 2)) / (d * (d + 1))
    return found


@claim(
    "fedloru-v2/claim-scale",
    where="Section 3.1, after Theorem 3.2",
    says=r"""Under a typical scaling assumption such as $s_M = 1/M$, $\sigma^2s_M^2$ remains sufficiently small in most
    practical settings, which makes ill-conditioning, $\theta_0^2 \le \sigma^2s_M^2$, unlikely.""",
    measure=measure_sample_noise,
    control=Form(r"$s_M$ decreases with $M$.", {"decreasing": True}),
    correction=Form(
        r"""$s_M \propto M^{-1/2}$: for the mean of $M$ independent sample Hessians $E\|H_M - H_{\mathrm{true}}\|_F^2 =
        V/M$ exactly, V that of one. It is small for large M as well, but falls with $1/M$ and not with $1/M^2$.""",
        {"exponent": 0.5},
        mutants=({"exponent": 0.55}, {"exponent": 0.45}),
    ),
    kind="assumption",
    because="The mean of M independent sample Hessians deviates from its expectation by the order of $M^{-1/2}$, not "
    "$1/M$.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“Under a typical scaling assumption such as s_M = 1/M” (after Theorem 3.2); H_M is "
        "“1/N”-mean of sample Hessians (Sec. 3)",
    ),
    seen_in=("hessian/fmnist-exact", "hessian/predictions"),
)
def claim_scale(draws: dict[str, NDArray[np.float64]], exponent: float = 1.0, decreasing: bool = False) -> Evidence:
    """Squared noise of the mean of M sample Hessians, in units of the squared noise of one sample."""
    tails = Tails({name: noise_deviation(int(name.split()[-1])) for name in draws})
    if decreasing:
        names = sorted(draws, key=lambda name: int(name.split()[-1]))
        intervals = [tails.interval(name, draws[name], LEVEL / len(draws)) for name in names]
        room = min(larger.low - smaller.high for larger, smaller in pairwise(intervals))
        return Evidence(
            room > 0,
            f"{len(names)} sample sizes",
            "each interval below the one before",
            f"by at least {room:.3g}",
            room,
            level=LEVEL,
        )

    def predict(exponent: float, **_: Any) -> Predictions:
        return {name: float(int(name.split()[-1]) ** (-2.0 * exponent)) for name in draws}

    return judge_means(
        draws,
        predict(exponent),
        tails=tails,
        share=0.05,
        scope=f"Hessians x x^T of linear regression with Gaussian x in {FEATURES} dimensions; {', '.join(draws)}; the "
        "order of s_M alone: how small sigma^2 s_M^2 is in practice is not judged",
        settings={name: {"M": int(name.split()[-1])} for name in draws},
    )


CONSTANT_VARIANCE = 2.0  # sigma, with a spike of half of it

CENTRE = 20.0  # in units of sigma; the edges of the bulk lie at 200 where eigenvalues are counted

CENTRAL = f"eigenvalues within {CENTRE:g} sigma of 0, over the root of R"


def measure_growth(context: Context) -> dict[str, Ladder]:
    """Measure extreme eigenvalues of noise of constant entry variance, and its central ones over the root of R."""
    sigma, low, middle, high = CONSTANT_VARIANCE, 10**4, 10**6, 10**8
    rng, draws = context.rng("growth"), context.size(16, 80)

    def extremes(R: int) -> NDArray[np.float64]:
        model = SpikedModel((sigma / 2,), Semicircle(sigma), float(np.sqrt(R)))
        found = [draw_banded(model, R, rng, top=1, bottom=1) for _ in range(draws)]
        squares = [d.stable_rank().frobenius_squared for d in found]
        return np.array([(d.top(1)[0], d.bottom(1)[0], np.sqrt(f / R)) for d, f in zip(found, squares, strict=True)])

    base, between, far = extremes(low).mean(axis=0), extremes(middle), extremes(high)
    ladders = {  # the growth to the middle, squared, is that to the end where it is a power
        name: Ladder(((middle, (between[:, column] / base[column]) ** 2), (high, far[:, column] / base[column])))
        for column, name in enumerate(("lambda_1", "lambda_R", "root mean square"))
    }
    model, ends = SpikedModel((sigma / 2,), Semicircle(sigma), float(np.sqrt(low))), np.array([-1.0, 1.0])
    counts = []
    for _ in range(draws):
        below, above = draw_banded(model, low, rng, top=low, rows=low).counts_below(CENTRE * sigma * ends)
        counts.append((above - below) / np.sqrt(low))
    return {**ladders, CENTRAL: Ladder(((low, np.array(counts)),), "such a count deviates by the root of log R only")}


@claim(
    "fedloru-v2/claim-scaling-var",
    where="Appendix A, discussion of the noise model: the variance without 1/R",
    says=r"""If a variance of $\sigma^2$ were used instead of $\sigma^2/R$, the eigenvalues of the perturbed Hessian
    would diverge as R increases.""",
    measure=measure_growth,
    readings=(
        Reading(
            "every eigenvalue",
            r"$|\lambda_i(H_N)| \to \infty$ for every index $i = i(R)$, also one that grows with R.",
            why="It says the eigenvalues, without exception.",
        ),
        Reading(
            "fixed index and mean square",
            r"For Wigner noise, entries $s_N$ times one law of mean 0 and variance $\sigma^2$ for all R, in "
            r"probability: $|\lambda_i(H_N)| \to \infty$ for every index at a fixed distance from either end, and so "
            "does the root mean square of all eigenvalues.",
            {"every": False},
            "The paper uses it to explain the scale of the noise, and compares outliers with the edges. Appendix A "
            "calls the noise a Wigner matrix.",
            ({"exponent": 0.0}, {"exponent": 0.49}, {"exponent": 0.51}),
        ),
    ),
    uses=("fedloru-v2/prop-3.1",),
    because=r"With Gaussian noise about $\sqrt R$ eigenvalues near the median stay bounded: the density at 0 is only "
    r"of order $\sqrt R$.",
    expect=("holds", "proof"),
    intended=Intended(
        "fixed index and mean square",
        "“it prevents the eigenvalues of the perturbed Hessian from diverging”: the spectrum's "
        "size, not each index inside it",
    ),
)
def claim_scaling_var(ladders: dict[str, Ladder], every: bool = True, exponent: float = 0.5) -> Evidence:
    """Growth of the extreme eigenvalues from R = 10^4 to 10^8, by a power of R; those that stay near 0, if any."""
    kept = {name: ladder for name, ladder in ladders.items() if every or name != CENTRAL}

    def predict(exponent: float) -> Predictions:
        return {name: 0.0 if name == CENTRAL else 10.0 ** (4 * exponent) for name in kept}

    return judge_limit(
        kept,
        predict(exponent),
        resolution=0.02,
        scope="lambda_1, lambda_R and the root mean square over their means at R = 10^4, one spike inside the bulk, "
        "Gaussian noise",
        settings={CENTRAL: {"sigma": CONSTANT_VARIANCE, "width": CENTRE * CONSTANT_VARIANCE}},
    )
