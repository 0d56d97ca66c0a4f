"""Stable rank of the spiked Wigner model against the dimension, at two sample sizes (FedLoRU v2, Theorem 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from figures.figure import Figure, Scale, Settings
from figures.style import BLACK, BLUE, GREEN, VERMILION, WIDTH, dimension
from rmt import SpikedModel, draw_banded, stable_rank_gap

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SERVER = SpikedModel((5.0, 3.0, 1.5, -2.0), scale=0.5)
CLIENT = SERVER.at_scale(1.0)
MODELS = {"client": CLIENT, "server": SERVER}


@dataclass(frozen=True)
class StableRankSizes:
    """Dimensions and draws at each."""

    dimensions: tuple[int, ...]
    draws: int


STABLE_RANK_SIZES: dict[Scale, StableRankSizes] = {
    "quick": StableRankSizes(tuple(10**k for k in range(1, 10)), 200),
    "laptop": StableRankSizes(tuple(10**k for k in range(1, 13)), 2000),
    "paper": StableRankSizes(tuple(10**k for k in range(1, 13)), 20_000),
}


def stable_rank_data(settings: Settings) -> pd.DataFrame:
    """Return the mean and central interval of the stable rank over draws, for each dimension and sample size."""
    sizes = settings.sizes(STABLE_RANK_SIZES)
    rows = []
    for R in sizes.dimensions:
        settings.report(f"R = {R:,}")
        draws = {}
        for name, model in MODELS.items():
            rng = settings.rng("stable-rank", R, name)
            draws[name] = np.array([draw_banded(model, R, rng).stable_rank().value for _ in range(sizes.draws)])
            rows.append(_row(R, name, draws[name], model.stable_rank(R).value, predicted_sd(model, R)))
        gap_sd = float(np.hypot(predicted_sd(CLIENT, R), predicted_sd(SERVER, R)))
        gap = draws["client"] - draws["server"]
        rows.append(_row(R, "gap", gap, stable_rank_gap(CLIENT, SERVER, R), gap_sd))
    return pd.DataFrame(rows)


def predicted_sd(model: SpikedModel, R: int) -> float:
    r"""Return the leading-order standard deviation of the stable rank, from the largest eigenvalue's."""
    top = model.outliers[0]
    return 2.0 * model.stable_rank(R).value * model.outlier_sd(top.spike, R) / top.location


def _row(R: int, name: str, draws: np.ndarray, predicted: float, sd: float) -> dict[str, object]:
    low, high = np.quantile(draws, [0.1, 0.9])
    error = draws.std(ddof=1) / np.sqrt(len(draws))
    return {
        "R": R,
        "quantity": name,
        "mean": draws.mean(),
        "low": low,
        "high": high,
        "standard_error": error,
        "predicted": predicted,
        "predicted_sd": sd,
        "positive": float((draws > 0).mean()),
        "draws": len(draws),
    }


def draw_stable_rank(table: pd.DataFrame) -> Picture:
    """Draw stable ranks and their gap on top, each divided by its prediction below."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 4.9))
    grid = picture.subplots(2, 2, height_ratios=[2.2, 1.0], sharex=True)
    looks = {
        "client": (VERMILION, "o", r"client, $\sigma s_M=1$"),
        "server": (BLUE, "s", r"server, $\sigma s_N=0.5$"),
        "gap": (GREEN, "D", "client $-$ server"),
    }
    for (top, low), names in zip(grid.T, (("client", "server"), ("gap",)), strict=True):
        for place, name in enumerate(names):
            color, marker, label = looks[name]
            part = table[table.quantity == name]
            style = {"color": color, "marker": marker, "ls": "none", "mfc": "white", "mew": 1.1}
            top.plot(part.R, part.predicted, color=color)
            bars = [part["mean"] - part.low, part.high - part["mean"]]
            top.errorbar(part.R, part["mean"], yerr=bars, label=label, **style)
            off = part.R * 1.25 ** (place - 0.5 * (len(names) - 1))
            unit = part.predicted / np.sqrt(part.R)
            mean, spread = (part["mean"] - part.predicted) / unit, [bar / unit for bar in bars]
            low.errorbar(off, mean, yerr=spread, lw=1.0, **style)
            low.errorbar(off, mean, yerr=2.0 * part.standard_error / unit, lw=3.0, **style)
            band = 1.2816 * (part.predicted_sd / unit).iloc[-1]
            low.axhspan(-band, band, color=color, alpha=0.15, lw=0)
        top.plot([], [], color=BLACK, label="prediction")
        top.set(xscale="log", yscale="log")
        top.legend(loc="upper left")
        low.axhline(0.0, color=BLACK, lw=0.8)
        low.set(xlabel="dimension $R$", ylim=(-2.2, 2.2))
    grid[0, 0].set(title="(a) stable rank", ylabel=r"$\Vert H\Vert_F^2/\Vert H\Vert_2^2$")
    grid[0, 1].set(title="(b) gap between the sample sizes", ylabel="difference of stable ranks")
    grid[1, 0].set(ylabel=r"(draw/prediction$-1$)$\sqrt{R}$")
    return picture


def stable_rank_headline(table: pd.DataFrame) -> str:
    """Return the headline: the dimension from which the client has the larger stable rank."""
    start = _always(table[table.quantity == "gap"])
    return f"The client's stable rank is the larger in every draw from R = {start:,.0f} on"


def _always(gap: pd.DataFrame) -> float:
    """Return the smallest dimension from which the gap is positive in every draw; nan if there is none."""
    sometimes = gap[gap.positive < 1.0].R
    return float(gap[(sometimes.max() if len(sometimes) else 0) < gap.R].R.min())


def stable_rank_found(table: pd.DataFrame) -> str:
    """Return the finding: growth with the dimension, and the sign of the gap."""
    last, gap = table[table.R.max() == table.R].set_index("quantity"), table[table.quantity == "gap"]
    per_R = {name: last["mean"][name] / last.R[name] for name in MODELS}
    return (
        "Stated: the stable rank of the client (smaller sample) exceeds that of the server; found: it does in every "
        f"draw from R = {_always(gap):.0e} on, and both grow in proportion to R ({per_R['client']:.4f} R and "
        f"{per_R['server']:.4f} R at R = {last.R['gap']:.0e}), so the gap grows without bound."
    )


def stable_rank_sizes(table: pd.DataFrame) -> str:
    """Describe dimensions and draws."""
    least, most = (f"${dimension(int(R))}$" for R in (table.R.min(), table.R.max()))
    return f"$R$ from {least} to {most}, {table.draws.max()} draws at each point."


STABLE_RANK = Figure(
    id="rmt/stable-rank",
    title="Stable rank against the dimension, client and server",
    caption=r"$H=\sum_i\theta_iv_iv_i^T+sX$ with $\theta=5,\,3,\,1.5,\,-2$ and Gaussian noise, at two noise scales: "
    r"$\sigma s_M=1$ (client) and $\sigma s_N=0.5$ (server). (a) Stable rank of exact draws (band form): mean and "
    r"central 80%, with the prediction $(\sum_i\theta_i^2+\sigma^2s^2R)/\lambda_1^2$ with "
    r"$\lambda_1=\theta_1+\sigma^2s^2/\theta_1$. (b) The gap, for independent client and server noise. Below: "
    r"relative deviation from the prediction times $\sqrt R$; thin bars central 80% of the draws, thick bars $\pm2$ "
    r"standard errors of the mean, shades the central 80% predicted from the fluctuation of $\lambda_1$.",
    data=stable_rank_data,
    draw=draw_stable_rank,
    headline=stable_rank_headline,
    found=stable_rank_found,
    sizes=stable_rank_sizes,
)
