"""Stable rank against the sample size, and the gap between client and server (FedLoRU v2, Theorem 3.2, eq. 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from figures.figure import Figure, Scale, Settings
from figures.style import BLACK, BLUE, GREEN, VERMILION, WIDTH, dimension
from rmt import SpikedModel, draw_banded
from rmt.spiked import wigner_outlier

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SPIKES = {"one spike": (1.0,), "four spikes": (1.0, 0.5, 0.25, -0.6)}
BURIED_BELOW = 100  # samples at which sigma s = 10 / sqrt(M) meets the largest spike, 1
SERVERS = {"N = 10,000": 10_000, "N = 50": 50}  # one server that sees the spike, one whose noise buries it


@dataclass(frozen=True)
class SampleSizeSizes:
    """Dimension, sample sizes and draws at each."""

    R: int
    sizes: tuple[int, ...]
    draws: int


_FEW = (10, 20, 50, 80, 120, 200, 500, 2000, 10_000, 100_000)
_MANY = tuple(sorted({*_FEW, *(round(10**k) for k in np.arange(1.0, 5.01, 0.125))}))
SAMPLE_SIZE_SIZES: dict[Scale, SampleSizeSizes] = {
    "quick": SampleSizeSizes(10**5, _FEW, 20),
    "laptop": SampleSizeSizes(10**6, _MANY, 60),
    "paper": SampleSizeSizes(10**9, _MANY, 200),
}


def noise(M: float) -> float:
    r"""$\sigma s(M) = 10 M^{-1/2}$."""
    return 10.0 / M**0.5


def printed_bound(M: float, N: float, theta: float = 1.0) -> float:
    """Right side of eq. (4) over R with every eigenvalue that is no outlier counted in B_N."""
    client, server = noise(M), noise(N)
    return 4.0 * (client / wigner_outlier(theta, client)) ** 2 - 4.0 * (server / wigner_outlier(theta, server)) ** 2


def sample_size_data(settings: Settings) -> pd.DataFrame:
    """Stable ranks over R of independent draws for each sample size, and gaps to two servers."""
    sizes = settings.sizes(SAMPLE_SIZE_SIZES)
    rows = []
    for name, spikes in SPIKES.items():
        settings.report(name)
        for M in sizes.sizes:
            draws = _ranks(settings, spikes, M, sizes, name)
            limit = SpikedModel(spikes, scale=noise(M)).stable_rank(sizes.R).value / sizes.R
            rows.append(_row("stable rank", name, M, draws, limit, np.nan, sizes))
    spikes = SPIKES["one spike"]
    for name, N in SERVERS.items():
        settings.report(name)
        server = SpikedModel(spikes, scale=noise(N)).stable_rank(sizes.R).value / sizes.R
        for M in (M for M in sizes.sizes if M < N):
            gaps = _ranks(settings, spikes, M, sizes, name) - _ranks(settings, spikes, N, sizes, f"{name}, server, {M}")
            limit = SpikedModel(spikes, scale=noise(M)).stable_rank(sizes.R).value / sizes.R - server
            rows.append(_row("gap", name, M, gaps, limit, printed_bound(M, N), sizes))
    return pd.DataFrame(rows)


def _ranks(settings: Settings, spikes: tuple[float, ...], M: int, sizes: SampleSizeSizes, purpose: str) -> np.ndarray:
    model, rng = SpikedModel(spikes, scale=noise(M)), settings.rng("sample-size", purpose, M)
    draws = [draw_banded(model, sizes.R, rng, top=1, bottom=1).stable_rank().value for _ in range(sizes.draws)]
    return np.array(draws) / sizes.R


def _row(
    panel: str, series: str, M: int, draws: np.ndarray, limit: float, printed: float, sizes: SampleSizeSizes
) -> dict[str, object]:
    low, high = np.quantile(draws, [0.1, 0.9])
    return {
        "panel": panel, "series": series, "M": M, "mean": draws.mean(), "low": low, "high": high, "limit": limit,
        "printed": printed, "negative": float((draws < 0).mean()), "R": sizes.R, "draws": len(draws),
    }  # fmt: skip


def draw_sample_size(table: pd.DataFrame) -> Picture:
    """Stable rank over R on the left, gaps and the printed lower bound on the right."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 3.1))
    ranks, gaps = picture.subplots(1, 2)
    looks = {
        "one spike": (BLUE, "o"),
        "four spikes": (GREEN, "D"),
        "N = 10,000": (VERMILION, "o"),
        "N = 50": (BLUE, "s"),
    }
    for axes, panel in ((ranks, "stable rank"), (gaps, "gap")):
        for series, part in table[table.panel == panel].groupby("series", sort=False):
            color, marker = looks[str(series)]
            bars = [part["mean"] - part.low, part.high - part["mean"]]
            style = {"color": color, "marker": marker, "ls": "none", "mfc": "white", "mew": 1.1}
            axes.errorbar(part.M, part["mean"], yerr=bars, label=str(series).replace("N", "server $N$"), **style)
    M = np.geomspace(table.M.min(), table.M.max(), 300)
    R = int(table.R.max())
    for name, spikes in SPIKES.items():
        curve = [SpikedModel(spikes, scale=noise(m)).stable_rank(R).value / R for m in M]
        ranks.plot(M, curve, color=looks[name][0], lw=1.0)
    for name, N in SERVERS.items():
        one = [SpikedModel((1.0,), scale=noise(m)).stable_rank(R).value / R for m in (*M[N > M], N)]
        gaps.plot(M[N > M], np.array(one[:-1]) - one[-1], color=looks[name][0], lw=1.0)
    N = SERVERS["N = 10,000"]
    for part, look in (((M >= BURIED_BELOW) & (N > M), (0, (4, 2))), (M < BURIED_BELOW, ":")):
        label = "lower bound, eq. (4)" if look != ":" else None
        gaps.plot(M[part], printed_bound(M[part], N), color=BLACK, ls=look, lw=1.2, label=label)
    for axes in (ranks, gaps):
        axes.axvspan(table.M.min() / 1.3, BURIED_BELOW, color="0.93", lw=0, zorder=0)
        axes.set(xscale="log", xlabel="sample size $M$", xlim=(table.M.min() / 1.3, table.M.max() * 1.3))
    ranks.set(title="(a) stable rank over $R$", ylabel=r"$\Vert H_M\Vert_F^2/(R\,\Vert H_M\Vert_2^2)$", yscale="log")
    ranks.text(BURIED_BELOW / 1.2, ranks.get_ylim()[0] * 1.6, r"$\sigma s_M>\theta_0$", ha="right", fontsize=8)
    ranks.legend(loc="upper right")
    gaps.set(title="(b) gap to a server, over $R$", ylabel="difference of stable ranks$/R$", ylim=(-0.08, 1.08))
    gaps.set_xlim(table.M.min() / 1.3, N * 1.3)
    gaps.legend(loc="upper right")
    return picture


def sample_size_found(table: pd.DataFrame) -> str:
    """Growth with R, the ratio of printed bound and gap, and the signs."""
    gaps = table[table.panel == "gap"]
    seen = gaps[(gaps.series == "N = 10,000")]
    covered = seen[(seen.M >= BURIED_BELOW) & (seen["mean"] > 0.005)]
    ratio = covered.printed / covered["mean"]
    buried = gaps[gaps.series == "N = 50"]
    return (
        "Stated: for θ₀² ≥ σ²s_M² the gap is positive and at least the right side of eq. (4), which decreases with M; "
        f"found: it is positive in every draw, also for θ₀² < σ²s_M² as long as the server sees the spike (negative "
        f"share {seen.negative.max():.2f}), grows in proportion to R, and the printed bound is {ratio.min():.2f} to "
        f"{ratio.max():.2f} times the gap; if the server's noise buries the spike too, gap/R is within "
        f"{buried['mean'].abs().max():.1e} of 0 and negative in {buried.negative.min():.0%} to "
        f"{buried.negative.max():.0%} of the draws."
    )


def sample_size_sizes(table: pd.DataFrame) -> str:
    """Dimension and draws."""
    return f"$R={dimension(int(table.R.max()))}$, {table.draws.max()} draws at each point."


SAMPLE_SIZE = Figure(
    id="rmt/sample-size",
    title="Stable rank against the sample size, and the gap between client and server",
    caption=r"$H=\sum_i\theta_iv_iv_i^T+sX$ with Gaussian noise, $\sigma s(M)=10\,M^{-1/2}$; exact draws in band form, "
    r"mean and central 80%, lines: $R\to\infty$. (a) Stable rank over $R$ for $\theta=1$ and for "
    r"$\theta=1,\,0.5,\,0.25,\,-0.6$; grey: $M$ at which the noise buries the largest spike, where it is 1/4. "
    r"(b) Stable rank of a client with $M$ samples minus that of a server, independent noise, $\theta=1$: a server that "
    r"sees the spike ($N=10{,}000$) and one that does not ($N=50$). Dashed: lower bound of Theorem 3.2 for the first, "
    r"with $B_N$ the number of all eigenvalues that are no outliers; dotted where its assumption "
    r"$\theta_0^2\geq\sigma^2s_M^2$ fails.",
    data=sample_size_data,
    draw=draw_sample_size,
    found=sample_size_found,
    sizes=sample_size_sizes,
)
