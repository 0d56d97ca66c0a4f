"""The spectrum of the spiked Wigner model, its outliers, and the semicircle (FedLoRU v2, Proposition 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from figures.figure import Figure, Scale, Settings
from figures.style import BLACK, BLUE, ORANGE, PURPLE, VERMILION, WIDTH, dimension
from figures.threads import few_threads
from rmt import Semicircle, SpikedModel, draw_banded, draw_dense

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

SPECTRUM_MODEL = SpikedModel((3.0, 1.5, 0.6, -0.6, -2.0))


@dataclass(frozen=True)
class SpectrumSizes:
    """R of the dense matrices and how many; R of the band and how many; draws of the outliers."""

    dense: int
    matrices: int
    band: int
    bands: int
    outliers: int


SPECTRUM_SIZES: dict[Scale, SpectrumSizes] = {
    "quick": SpectrumSizes(600, 40, 10_000, 30, 300),
    "laptop": SpectrumSizes(2000, 60, 1_000_000, 12, 2000),
    "paper": SpectrumSizes(4000, 400, 10_000_000, 20, 10_000),
}


def expected_count_excess(x: NDArray[np.float64], spikes: tuple[float, ...]) -> NDArray[np.float64]:
    r"""Return the limit of the mean number of eigenvalues below x minus R times the semicircle's distribution function.

    Gaussian noise (GOE) contributes $-\arcsin(x/2)/(2\pi)$ (Johansson 1998), each spike
    $-\arg(1 - \theta g(x + i0))/\pi$, the spectral shift of a change of rank one.

    Args:
        x: Points in units of sigma.
        spikes: Spikes in units of sigma.
    """
    inside = np.clip(x, -2.0, 2.0)
    outside = np.sign(x) * np.sqrt(np.maximum(x**2 - 4.0, 0.0))
    g = (x - outside - 1j * np.sqrt(4.0 - inside**2)) / 2.0
    noise = np.where(np.abs(x) < 2.0, -np.arcsin(inside / 2.0) / (2.0 * pi), 0.0)
    return noise - sum(np.sign(t) * np.abs(np.angle(1 - t * g)) / pi for t in spikes)


def spectrum_data(settings: Settings) -> pd.DataFrame:
    """Return one dense spectrum, eigenvalue counts with the law, and outliers with their predictions."""
    sizes, model, law = settings.sizes(SPECTRUM_SIZES), SPECTRUM_MODEL, Semicircle()
    grid = np.concatenate([np.linspace(-3.0, -2.02, 25), 2.0 * np.sin(np.linspace(-1.54, 1.54, 61))])
    grid = np.concatenate([grid, np.linspace(2.02, 4.0, 45)])
    rows: list[pd.DataFrame] = []
    counts: list[NDArray[np.float64]] = []
    for number in range(sizes.matrices):
        settings.report(f"dense matrix {number + 1} of {sizes.matrices}")
        rng = settings.rng("spectrum", "dense", number)
        with few_threads():
            values = draw_dense(model, sizes.dense, rng, device=settings.device).eigenvalues()
        counts.append(np.searchsorted(values, grid) - sizes.dense * law.cdf(grid))
        if number == 0:
            rows.append(_rows("eigenvalue", sizes.dense, np.nan, values, np.arange(sizes.dense)))
    rows += _count_rows("count", sizes.dense, grid, np.array(counts), model.spikes)
    grid = grid[(grid > -2.2) & (grid < 2.2)]
    plain: list[NDArray[np.float64]] = []
    for number in range(sizes.bands):
        settings.report(f"band matrix {number + 1} of {sizes.bands}")
        band = draw_banded(SpikedModel(), sizes.band, settings.rng("spectrum", "band", number), rows=sizes.band)
        plain.append(band.counts_below(grid) - sizes.band * law.cdf(grid))
    rows += _count_rows("count without spikes", sizes.band, grid, np.array(plain), ())
    up = [o for o in model.outliers if o.separated and o.spike > 0]
    down = [o for o in reversed(model.outliers) if o.separated and o.spike < 0]
    rng = settings.rng("spectrum", "outliers")
    draws = [draw_banded(model, sizes.dense, rng, top=len(up), bottom=len(down)) for _ in range(sizes.outliers)]
    for ends, found in ((up, [d.top(len(up)) for d in draws]), (down, [d.bottom(len(down)) for d in draws])):
        for outlier, column in zip(ends, np.array(found).T, strict=True):
            rows.append(_rows("outlier", sizes.dense, outlier.spike, column, np.arange(len(column))))
    return pd.concat(rows, ignore_index=True)


def _rows(kind: str, R: int, at: object, value: object, draw: object, predicted: object = np.nan) -> pd.DataFrame:
    return pd.DataFrame({"kind": kind, "R": R, "at": at, "value": value, "draw": draw, "predicted": predicted})


def _count_rows(
    kind: str, R: int, grid: NDArray[np.float64], counts: NDArray[np.float64], spikes: tuple[float, ...]
) -> list[pd.DataFrame]:
    predicted = expected_count_excess(grid, spikes)
    return [_rows(kind, R, grid, count, number, predicted) for number, count in enumerate(counts)]


def draw_spectrum(table: pd.DataFrame) -> Picture:
    """Draw a histogram with outliers on top; below, the counts minus the law, in eigenvalues."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 6.6))
    top, middle, lower = picture.subplots(3, 1, height_ratios=[2.4, 1.5, 1.3])
    model, R = SPECTRUM_MODEL, int(table[table.kind == "eigenvalue"].R.iloc[0])
    values = table[table.kind == "eigenvalue"].value.to_numpy()
    x = np.linspace(-2.0, 2.0, 401)
    top.hist(values, bins=np.arange(-3.0, 4.0, 0.1), weights=np.full(R, 10.0 / R), color="0.82", label="one matrix")
    top.plot(x, Semicircle().pdf(x), color=BLUE, label="semicircle")
    for outlier in model.outliers:
        if outlier.separated:
            spread = 2.0 * model.outlier_sd(outlier.spike, R)
            found = values[np.argmin(np.abs(values - outlier.location))]
            top.axvspan(outlier.location - spread, outlier.location + spread, color=VERMILION, alpha=0.25, lw=0)
            top.plot([found, found], [0, 0.055], color=BLACK, lw=1.6)
            top.annotate(
                rf"$\theta={outlier.spike:g}$", (outlier.location, 0.352), ha="center", va="top", color=VERMILION
            )
        else:
            top.plot(outlier.spike, 0.03, marker="v", ms=7, mfc="white", mec=PURPLE, mew=1.3, ls="none")
    top.plot([], [], color=BLACK, lw=1.6, label="eigenvalue outside the bulk")
    top.fill_between([], [], color=VERMILION, alpha=0.25, lw=0, label=r"predicted place $\pm 2$ sd")
    top.plot([], [], marker="v", ms=7, mfc="white", mec=PURPLE, mew=1.3, ls="none", label="spike without outlier")
    top.set(ylabel="density", xlim=(-3, 4), ylim=(0, 0.36), title=f"(a) spectrum, $R={dimension(R)}$")
    picture.legend(
        *top.get_legend_handles_labels(), loc="outside lower center", ncols=5, columnspacing=1.0, handletextpad=0.5
    )
    _draw_counts(middle, table)
    _draw_outlier_deviations(lower, table)
    return picture


def _draw_counts(axes: Axes, table: pd.DataFrame) -> None:
    for kind, color, label in (("count without spikes", ORANGE, "no spike"), ("count", BLUE, "five spikes")):
        part = table[table.kind == kind]
        R = int(part.R.iloc[0])
        by = part.groupby("at")
        mean, error = by.value.mean(), by.value.std() / sqrt(part.draw.nunique())
        axes.fill_between(mean.index, mean - 2 * error, mean + 2 * error, color=color, alpha=0.35, lw=0)
        axes.plot(mean.index, mean, color=color, lw=1.0, label=f"{label}, $R={dimension(R)}$, mean $\\pm 2$ s.e.")
        axes.plot(mean.index, by.predicted.first(), color=BLACK, ls=(0, (4, 2)), lw=1.0)
    axes.plot([], [], color=BLACK, ls=(0, (4, 2)), lw=1.0, label="theory of the mean")
    axes.set(
        xlim=(-3, 4),
        ylim=(-2.6, 1.6),
        xlabel=r"$x$ (in units of $\sigma s$)",
        ylabel=r"$R\,(F_R-F)$",
        title="(b) eigenvalues below $x$, minus the law",
    )
    axes.legend(loc="lower left", ncols=1)


def _draw_outlier_deviations(axes: Axes, table: pd.DataFrame) -> None:
    part = table[table.kind == "outlier"]
    R = int(part.R.iloc[0])
    spikes = sorted(part["at"].unique())
    for place, spike in enumerate(spikes):
        sd = SPECTRUM_MODEL.outlier_sd(spike, R)
        z = (part[part["at"] == spike].value.to_numpy() - SPECTRUM_MODEL.outlier(spike).location) / sd
        offset = place + 0.28 * np.sin(np.arange(len(z)) * 2.4)
        axes.plot(z, offset, ".", ms=2.5, color="0.6", rasterized=True)
        error = 2 * z.std(ddof=1) / sqrt(len(z))
        axes.errorbar(z.mean(), place, xerr=error, color=VERMILION, marker="o", ms=4.5, lw=2.0)
        axes.text(4.4, place, f"sd {z.std(ddof=1):.2f}", va="center", ha="right", fontsize=8)
    axes.axvspan(-2, 2, color=BLUE, alpha=0.1, lw=0)
    axes.axvline(0, color=BLUE, lw=1.0)
    axes.set(
        xlim=(-4.5, 4.5),
        ylim=(-0.5, len(spikes) - 0.5),
        xlabel="(outlier $-$ predicted place) / predicted sd",
        title=f"(c) outliers of {len(part) // len(spikes)} draws, $R={dimension(R)}$; mean $\\pm 2$ s.e. in orange",
    )
    axes.set_yticks(range(len(spikes)), [rf"$\theta={s:g}$" for s in spikes])
    axes.grid(axis="y", visible=False)


def spectrum_headline(table: pd.DataFrame) -> str:
    """Return the headline: eigenvalues outside the bulk, and their distance from the stated places."""
    _, _, worst, outside = _deviations(table)
    return f"{outside} of five spikes leave the bulk, within {worst:.3f} of the stated places"


def _deviations(table: pd.DataFrame) -> tuple[int, float, float, int]:
    """Return dimension, largest errors of a mean count and of an outlier's mean, and eigenvalues outside the bulk."""
    part = table[(table.kind == "count without spikes") & (table["at"].abs() < 1.9)]
    excess = float((part.groupby("at").value.mean() - part.groupby("at").predicted.first()).abs().max())
    one = table[table.kind == "eigenvalue"]
    allowed = 2.0 + 4.0 * SPECTRUM_MODEL.edge_scale(int(one.R.iloc[0]))
    outliers = table[table.kind == "outlier"].groupby("at").value.mean()
    worst = max(abs(mean - SPECTRUM_MODEL.outlier(float(str(s))).location) for s, mean in outliers.items())
    return int(part.R.iloc[0]), excess, worst, int((one.value.abs() > allowed).sum())


def spectrum_found(table: pd.DataFrame) -> str:
    """Return the finding: largest deviation of the mean count and of an outlier's mean."""
    R, excess, worst, outside = _deviations(table)
    return (
        "Stated: the bulk follows the semicircle and every spike that leaves it lies at θ + σ²s²/θ; "
        f"found: mean eigenvalue counts at R = {R:,} within {excess:.2f} eigenvalues (sd of one matrix "
        f"{sqrt(log(R)) / pi:.2f}) of R times the law and its known correction, mean outliers within {worst:.3f} "
        f"of the stated places, {outside} eigenvalues of five spikes outside the bulk (stated: 3)."
    )


def spectrum_sizes(table: pd.DataFrame) -> str:
    """Describe dimensions and numbers of draws."""
    numbers = {kind: (int(part.R.iloc[0]), part.draw.nunique()) for kind, part in table.groupby("kind")}
    return (
        f"Dense $R={numbers['count'][0]}$ ({numbers['count'][1]} matrices), band form "
        f"$R={numbers['count without spikes'][0]}$ ({numbers['count without spikes'][1]} matrices), "
        f"{numbers['outlier'][1]} draws of the outliers."
    )


SPECTRUM = Figure(
    id="rmt/spectrum",
    title="Spectrum of the spiked Wigner model against the law",
    caption=r"$H=\sum_i\theta_i v_iv_i^T+sX$ with $\sigma s=1$ and $\theta=3,\,1.5,\,0.6,\,-0.6,\,-2$. (a) Histogram "
    r"of one matrix with the semicircle; outliers with their predicted places; the spikes $\pm0.6$ are below the "
    r"threshold $\sigma s$ and have none. (b) Number of eigenvalues below $x$ minus $R\,F(x)$; theory: "
    r"$-\arcsin(x/2)/2\pi$ for Gaussian noise, and $-\arg(1-\theta g(x))/\pi$ for each spike. "
    r"(c) Outliers in standard deviations from their predicted places.",
    data=spectrum_data,
    draw=draw_spectrum,
    headline=spectrum_headline,
    found=spectrum_found,
    sizes=spectrum_sizes,
)
