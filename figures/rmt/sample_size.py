"""Stable rank against the sample size, and the gap between client and server (FedLoRU v2, Theorem 3.2, eq. 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from figures.figure import Figure, Scale, Settings
from figures.style import BLACK, BLUE, GREEN, PURPLE, SKY, VERMILION, WIDTH, dimension
from rmt import SpikedModel, draw_banded
from rmt.spiked import wigner_outlier

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SPIKES, SMALL = (1.0, 0.5, 0.25, -0.6), (100, 1000)  # the spikes, and dimensions in addition to the large one
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
    "quick": SampleSizeSizes(10**5, _FEW, 12),
    "laptop": SampleSizeSizes(10**6, _MANY, 60),
    "paper": SampleSizeSizes(10**9, _MANY, 200),
}


def noise(M: float) -> float:
    r"""Return $\sigma s(M) = 10 M^{-1/2}$."""
    return 10.0 / M**0.5


def printed_bound(M: float, N: float, theta: float = 1.0) -> float:
    """Return the right side of eq. (4) over R, with every eigenvalue that is not an outlier counted in B_N."""
    client, server = noise(M), noise(N)
    return 4.0 * (client / wigner_outlier(theta, client)) ** 2 - 4.0 * (server / wigner_outlier(theta, server)) ** 2


def sample_size_data(settings: Settings) -> pd.DataFrame:
    """Return the stable ranks over R of independent draws for each sample size, and gaps to two servers."""
    sizes = settings.sizes(SAMPLE_SIZE_SIZES)
    rows = []
    for R in (*SMALL, sizes.R):
        settings.report(f"R = {R:,}")
        for M in sizes.sizes:
            draws = _ranks(settings, M, R, sizes.draws, "client")
            rows.append(_row("stable rank", str(R), M, R, draws, expected(M, R), np.nan))
    for name, N in SERVERS.items():
        settings.report(name)
        for M in (M for M in sizes.sizes if M < N):
            client = _ranks(settings, M, sizes.R, sizes.draws, name)
            gaps = client - _ranks(settings, N, sizes.R, sizes.draws, f"{name} beside {M}")
            limit = expected(M, sizes.R) - expected(N, sizes.R)
            rows.append(_row("gap", name, M, sizes.R, gaps, limit, printed_bound(M, N)))
    return pd.DataFrame(rows)


def expected(M: float, R: int) -> float:
    """Return the predicted stable rank over R."""
    return SpikedModel(SPIKES, scale=noise(M)).stable_rank(R).value / R


def _ranks(settings: Settings, M: int, R: int, draws: int, purpose: str) -> np.ndarray:
    model, rng = SpikedModel(SPIKES, scale=noise(M)), settings.rng("sample-size", purpose, M, R)
    return np.array([draw_banded(model, R, rng, top=1, bottom=1).stable_rank().value for _ in range(draws)]) / R


def _row(panel: str, series: str, M: int, R: int, draws: np.ndarray, limit: float, printed: float) -> dict[str, object]:
    low, high = np.quantile(draws, [0.1, 0.9])
    return {
        "panel": panel,
        "series": series,
        "M": M,
        "mean": draws.mean(),
        "low": low,
        "high": high,
        "limit": limit,
        "printed": printed,
        "negative": float((draws < 0).mean()),
        "R": R,
        "draws": len(draws),
    }


def draw_sample_size(table: pd.DataFrame) -> Picture:
    """Draw the stable rank over R on the left, gaps and the printed lower bound on the right."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 3.4))
    ranks, gaps = picture.subplots(1, 2)
    dimensions = sorted({int(R) for R in table.R})
    colors = dict(zip(dimensions, (SKY, GREEN, BLUE), strict=True))
    looks = {str(R): (colors[R], marker) for R, marker in zip(dimensions, "vD^", strict=True)}
    looks |= {"N = 10,000": (VERMILION, "o"), "N = 50": (PURPLE, "s")}
    for axes, panel in ((ranks, "stable rank"), (gaps, "gap")):
        for series, part in table[table.panel == panel].groupby("series", sort=False):
            name = str(series)
            color, marker = looks[name]
            bars = [part["mean"] - part.low, part.high - part["mean"]]
            label = f"server ${name}$" if panel == "gap" else f"$R={dimension(int(name))}$"
            style = {"color": color, "marker": marker, "ls": "none", "mfc": "white", "mew": 1.1}
            axes.errorbar(part.M, part["mean"], yerr=bars, label=label.replace(",", "{,}"), **style)
    grid, R = np.geomspace(table.M.min(), table.M.max(), 300), dimensions[-1]
    for dim, color in colors.items():
        ranks.plot(grid, [expected(M, dim) for M in grid], color=color, lw=1.0)
    for name, N in SERVERS.items():
        below = grid[grid < N]
        gaps.plot(below, [expected(M, R) - expected(N, R) for M in below], color=looks[name][0], lw=1.0)
    N = SERVERS["N = 10,000"]
    for kept, look in (((grid >= BURIED_BELOW) & (grid < N), (0, (4, 2))), (grid < BURIED_BELOW, ":")):
        bound = [printed_bound(M, N) for M in grid[kept]]
        gaps.plot(grid[kept], bound, color=BLACK, ls=look, lw=1.2, label="" if look == ":" else "lower bound, eq. (4)")
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


def sample_size_headline(table: pd.DataFrame) -> str:
    """Return the headline: the printed bound on the gap."""
    _, covered = _server_that_sees(table)
    ratio = (covered.printed / covered["mean"]).median()
    return f"The printed lower bound on the gap of stable ranks is {ratio:.2f} times the gap"


def _server_that_sees(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the gaps to the server that sees the spike, and those that Theorem 3.2 applies to."""
    seen = table[(table.panel == "gap") & (table.series == "N = 10,000")]
    return seen, seen[(seen.M >= BURIED_BELOW) & (seen["mean"] > 0.005)]


def sample_size_found(table: pd.DataFrame) -> str:
    """Return the finding: growth with R, the ratio of printed bound and gap, and the signs."""
    gaps = table[table.panel == "gap"]
    seen, covered = _server_that_sees(table)
    ratio = covered.printed / covered["mean"]
    buried = gaps[gaps.series == "N = 50"]
    return (
        "Stated: for θ₀² ≥ σ²s_M² the gap is positive and at least the right side of eq. (4), which decreases with M; "
        f"found: it is positive in every draw, also for θ₀² < σ²s_M² as long as the server sees the spike (negative "
        f"share {seen.negative.max():.2f}), grows in proportion to R, and the printed bound is {ratio.min():.2f} to "
        f"{ratio.max():.2f} times the gap; if the server's noise also buries the spike, gap/R is within "
        f"{buried['mean'].abs().max():.1e} of 0 and negative in {buried.negative.min():.0%} to "
        f"{buried.negative.max():.0%} of the draws."
    )


def sample_size_sizes(table: pd.DataFrame) -> str:
    """Describe dimension and draws."""
    return f"$R={dimension(int(table.R.max()))}$, {table.draws.max()} draws at each point."


SAMPLE_SIZE = Figure(
    id="rmt/sample-size",
    title="Stable rank against the sample size, and the gap between client and server",
    caption=r"$H=\sum_i\theta_iv_iv_i^T+sX$ with $\theta=1,\,0.5,\,0.25,\,-0.6$, Gaussian noise and "
    r"$\sigma s(M)=10\,M^{-1/2}$; exact draws in band form, mean and central 80%, lines: prediction. "
    r"(a) Stable rank over $R$; grey: $M$ at which the noise buries the largest spike $\theta_0=1$, where it tends to "
    r"1/4. (b) Stable rank of a client with $M$ samples minus that of a server, independent noise: one that sees the "
    r"spike ($N=10{,}000$) and one that does not ($N=50$). Dashed: lower bound of Theorem 3.2 for the first, with "
    r"$B_N$ the number of all eigenvalues that are not outliers; dotted where its assumption "
    r"$\theta_0^2\geq\sigma^2s_M^2$ fails.",
    data=sample_size_data,
    draw=draw_sample_size,
    headline=sample_size_headline,
    found=sample_size_found,
    sizes=sample_size_sizes,
)
