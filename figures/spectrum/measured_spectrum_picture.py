"""The pictures of a measured spectrum and of the stable ranks of a network's modules."""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, WIDTH, plain_log_ticks
from hessian.block_ranks import BlockRank
from hessian.fits.bulk_laws import Bulk
from hessian.fits.density_estimate import smooth_density
from hessian.fits.spiked_fit import sd_alone
from hessian.spectrum import SpectrumReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

POINTS = 1500
QUANTILES = 500
KERNELS = 200
"""Widths of the smoothing kernel across the whole spectrum."""
LAWS: tuple[dict[str, Any], ...] = (
    {"color": GREEN, "ls": (0, (5, 2))},
    {"color": PURPLE, "ls": (0, (3, 1, 1, 1))},
    {"color": ORANGE, "ls": (0, (1, 1.2))},
    {"color": SKY, "ls": (0, (4, 1.5))},
)


def draw_spectrum_report(report: SpectrumReport) -> Picture:
    """Draw three panels: the whole spectrum, its bulk, and the bulk's distribution function with the laws."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 5.6))
    grid = picture.add_gridspec(2, 2)
    a, b, c = picture.add_subplot(grid[0, :]), picture.add_subplot(grid[1, 0]), picture.add_subplot(grid[1, 1])
    nodes, _ = report.measure.rule()
    span = float(nodes[-1] - nodes[0]) or 1.0
    cut = report.fit.thresholds[1] if report.fit is not None else float(np.abs(nodes).max()) or 1.0
    width = span / KERNELS
    _draw_density(a, report, (nodes[0] - 0.04 * span, nodes[-1] + 0.04 * span), width, legend=True)
    inner = nodes[np.abs(nodes) <= cut]
    fine = 2.0 * cut * max(len(report.measure.nodes), 1) / max(len(inner), 20)  # about one gap of a single rule
    _draw_density(b, report, (-1.6 * cut, 1.6 * cut), fine, legend=False)
    a.set_title(f"(a) all {report.P:,} eigenvalues; smoothed by a normal kernel of sd {width:.2g}")
    b.set_title(f"(b) the bulk; kernel of sd {fine:.2g}")
    _draw_distribution(c, report, cut)
    return picture


def _draw_density(
    axes: Axes, report: SpectrumReport, limits: tuple[float, float], width: float, *, legend: bool
) -> None:
    x = np.linspace(*limits, POINTS)
    density = report.measure.density(x, width, with_atoms=False)
    single = 1.0 / (report.P * width * sqrt(2.0 * pi))  # the height that the kernel gives to one eigenvalue
    axes.fill_between(x, density, single / 100, color=BLUE, alpha=0.15, lw=0)
    axes.plot(x, density, color=BLUE, label="quadrature of the rest")
    fit = report.fit
    outlying = np.isin(report.eigenvalues, fit.outliers) if fit is not None else np.ones(len(report.eigenvalues), bool)
    groups = [(outlying, VERMILION, "computed, outlier" if fit is not None else "computed")]
    if fit is not None:
        groups.append((~outlying, "0.45", "computed, in the bulk"))
    for chosen, color, label in groups:
        values = report.eigenvalues[chosen]
        shown = (values >= limits[0]) & (values <= limits[1])
        if shown.any():
            values, errors = values[shown], report.residuals[chosen][shown]
            axes.vlines(values, single / 100, single, color=color, lw=1.0)
            axes.errorbar(values, np.full(len(values), single), xerr=errors, fmt="o", color=color, ms=3.0, label=label)
    if fit is not None:
        noise = fit.model.noise_law.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
        smooth = smooth_density(noise, x, width) * fit.bulk.size / report.P
        axes.plot(x, smooth, color=BLACK, ls=(0, (4, 2)), lw=1.2, label="fitted noise, smoothed alike")
        spots = [o for o in fit.model.outliers if o.separated and limits[0] <= o.location <= limits[1]]
        if spots:
            axes.errorbar(
                [o.location for o in spots],
                np.full(len(spots), 1.8 * single),
                xerr=[2.0 * sd_alone(fit.model, o.spike, report.P) for o in spots],
                fmt="v",
                color=BLACK,
                mfc="white",
                ms=4.0,
                lw=1.0,
                label=r"fitted outlier $\pm 2$ sd",
            )
    top = max(float(density.max()), single)
    axes.set(yscale="log", xlim=limits, ylim=(single / 20, 4.0 * top), xlabel="eigenvalue", ylabel="density")
    axes.minorticks_off()
    if legend:
        axes.legend(loc="upper right", ncols=1, labelspacing=0.25, handletextpad=0.5)


def _draw_distribution(axes: Axes, report: SpectrumReport, cut: float) -> None:
    bulk = report.fit.bulk if report.fit is not None else Bulk.of(report.measure, 0, report.eigenvalues)
    x = np.linspace(-1.3 * cut, 4.0 * cut, POINTS)  # room for the legend on the right
    least, most = bulk.bracket(x)
    axes.fill_between(x, least, most, color=BLUE, alpha=0.15, lw=0, step="mid", label="left open by the quadrature")
    axes.plot(x, bulk.cdf(x), color=BLUE, lw=2.0, label="measured")
    title = "(c) share of the bulk below"
    if report.fit is not None:
        axes.plot(
            x,
            np.asarray(report.fit.model.noise_law.cdf(x)),
            color=BLACK,
            ls=(0, (4, 2)),
            lw=1.2,
            label=f"fitted semicircle: {report.fit.distance.value:.2f}",
        )
        for law, look in zip(report.fit.alternatives, LAWS, strict=False):
            axes.plot(x, law.cdf(x), lw=1.0, label=f"{_short(law.name)}: {law.distance.value:.2f}", **look)
        title += ", and distances"
    axes.set(xlabel="eigenvalue", ylim=(-0.03, 1.03), xlim=(x[0], x[-1]), title=title)
    axes.locator_params(axis="x", nbins=5)
    axes.legend(loc="center right", labelspacing=0.25, handletextpad=0.5, handlelength=1.6, fontsize=7)


def _short(name: str) -> str:
    return name.replace("on a share of the directions", "and zeros")


def draw_block_ranks(blocks: tuple[BlockRank, ...], confidence: float) -> Picture:
    """Draw one line for each block that has a stable rank, from the top in the model's order."""
    from matplotlib.figure import Figure as Picture

    shown = [(block, block.rank) for block in blocks if block.rank is not None]
    picture = Picture(figsize=(WIDTH, 1.0 + 0.22 * max(len(shown), 3)))
    axes = picture.add_subplot()
    for place, (_, rank) in enumerate(shown):
        ends = [[rank.value - rank.low], [rank.high - rank.value]]
        axes.errorbar([rank.value], [place], xerr=ends, fmt="o", color=BLUE, lw=1.0, ms=3.5)
    axes.set_yticks(range(len(shown)), [f"{block.name or '(model)'} ({block.P:,})" for block, _ in shown])
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel=f"stable rank, {100 * confidence:g} % intervals")
    plain_log_ticks(axes.xaxis)
    axes.set_title("diagonal blocks (parameters)")
    return picture
