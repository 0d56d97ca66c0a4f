"""Outlier and overlap of one spike as it crosses the threshold, at dimensions from 10^2 up (FedLoRU v2, Prop. 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from figures.figure import Figure, Scale, Settings
from figures.style import BLACK, MARKERS, SERIES, VERMILION, WIDTH, dimension
from rmt import SpikedModel, draw_banded
from rmt.spiked import wigner_outlier

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CENTRAL = 0.8
"""Share of the draws inside the bars."""


@dataclass(frozen=True)
class TransitionSizes:
    """Dimensions, draws at each point, points across the whole range and across the window of the transition."""

    dimensions: tuple[int, ...]
    draws: int
    across: int
    window: int


TRANSITION_SIZES: dict[Scale, TransitionSizes] = {
    "quick": TransitionSizes((10**2, 10**4, 10**6, 10**9), 40, 13, 9),
    "laptop": TransitionSizes((10**2, 10**4, 10**6, 10**9), 400, 25, 17),
    "paper": TransitionSizes((10**2, 10**4, 10**6, 10**9, 10**12), 1000, 25, 17),
}


def transition_data(settings: Settings) -> pd.DataFrame:
    """Return the mean and central interval of the largest eigenvalue and its overlap, for each dimension and spike."""
    return transition_table(settings, settings.sizes(TRANSITION_SIZES))


def transition_table(settings: Settings, sizes: TransitionSizes) -> pd.DataFrame:
    """Compute `transition_data` for given sizes; one row for each dimension, range and spike."""
    rows = []
    for R in sizes.dimensions:
        settings.report(f"R = {R:,}")
        across = np.linspace(0.1, 2.5, sizes.across)
        window = 1.0 + np.linspace(-3.0, 3.0, sizes.window) * R ** (-1.0 / 3.0)
        spikes = [("across", spike) for spike in across] + [("window", spike) for spike in window if spike > 0.05]
        for span, spike in spikes:
            rng = settings.rng("transition", R, span, spike)
            model = SpikedModel((spike,))
            draws = [draw_banded(model, R, rng).top_overlaps(1) for _ in range(sizes.draws)]
            row = {"R": R, "span": span, "spike": spike, "draws": sizes.draws}
            row |= _summary("location", np.array([values[0] for values, _ in draws]))
            row |= _summary("overlap", np.array([overlaps[0, 0] for _, overlaps in draws]))
            outlier = model.outlier(spike)
            row |= {"location_limit": outlier.location, "overlap_limit": outlier.overlap}
            rows.append(row | {"location_printed": float(wigner_outlier(spike, 1.0))})
    return pd.DataFrame(rows)


def _summary(name: str, draws: np.ndarray) -> dict[str, float]:
    tail = (1.0 - CENTRAL) / 2.0
    low, high = np.quantile(draws, [tail, 1.0 - tail])
    error = draws.std(ddof=1) / np.sqrt(len(draws))
    return {name: draws.mean(), f"{name}_low": low, f"{name}_high": high, f"{name}_error": error}


def draw_transition(table: pd.DataFrame) -> Picture:
    """Draw the whole range on top; below, the window of the transition in its own units."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 5.9))
    (location, overlap), (near_location, near_overlap) = picture.subplots(2, 2)
    fine = np.linspace(0.02, 2.6, 400)
    limits = [SpikedModel((float(spike),)).outlier(float(spike)) for spike in fine]
    location.plot(fine, [o.location for o in limits], color=BLACK, label="limit")
    small = fine[fine < 1.0]
    (printed,) = location.plot(
        small, wigner_outlier(small, 1.0), color=VERMILION, ls=(0, (4, 2)), label="printed branch, small spikes"
    )
    overlap.plot(fine, [o.overlap for o in limits], color=BLACK)
    for place, (R, part) in enumerate(table.groupby("R")):
        color, marker, scale = SERIES[place], MARKERS[place], float(str(R)) ** (1.0 / 3.0)
        style = {"color": color, "marker": marker, "ls": "none", "lw": 1.0, "ms": 4.0, "mfc": "white", "mew": 1.1}
        spread = part[part.span == "across"]
        for axes, name in ((location, "location"), (overlap, "overlap")):
            shift = spread.spike + 0.024 * (place - 1.5)  # side by side, or the bars would hide each other
            bars = [spread[name] - spread[f"{name}_low"], spread[f"{name}_high"] - spread[name]]
            axes.errorbar(
                shift, spread[name], yerr=np.maximum(bars, 0.0), label=f"$R={dimension(int(str(R)))}$", **style
            )
        close = part[part.span == "window"]
        x = (close.spike - 1.0) * scale
        for axes, name, centre, power in ((near_location, "location", 2.0, 2), (near_overlap, "overlap", 0.0, 1)):
            y = (close[name] - centre) * scale**power
            axes.errorbar(x, y, yerr=2.0 * close[f"{name}_error"] * scale**power, **style | {"ls": "-"})
    u = np.linspace(-3.0, 3.0, 201)
    near_location.plot(u, np.where(u > 0.0, u**2, 0.0), color=BLACK)
    near_location.plot(u[u < 0.0], u[u < 0.0] ** 2, color=VERMILION, ls=(0, (4, 2)))
    near_overlap.plot(u, np.where(u > 0.0, 2.0 * u, 0.0), color=BLACK)
    location.set(
        title="(a) largest eigenvalue",
        xlabel=r"spike $\theta$ (units of $\sigma s$)",
        ylabel=r"$\lambda_1$",
        xlim=(0, 2.6),
        ylim=(1.7, 4.1),
    )
    overlap.set(
        title="(b) overlap with the spike",
        xlabel=r"spike $\theta$ (units of $\sigma s$)",
        ylabel=r"$\langle v_1,u_1\rangle^2$",
        xlim=(0, 2.6),
        ylim=(-0.03, 1.0),
    )
    near_location.set(
        title="(c) the window of the transition",
        xlabel=r"$(\theta-1)\,R^{1/3}$",
        ylabel=r"$(\lambda_1-2)\,R^{2/3}$",
        ylim=(-2.5, 10),
    )
    near_overlap.set(
        title="(d) the overlap there",
        xlabel=r"$(\theta-1)\,R^{1/3}$",
        ylabel=r"$\langle v_1,u_1\rangle^2\,R^{1/3}$",
        ylim=(-0.3, 6.3),
    )
    handles, labels = location.get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=6, columnspacing=1.0, handletextpad=0.4)
    assert printed in handles
    return picture


def transition_headline(table: pd.DataFrame) -> str:
    """Return the headline: how far the printed branch is from the largest eigenvalue of small spikes."""
    _, gap = _at_the_largest(table)
    return f"For θ < 0.7 σs the printed branch is {gap.min():.2f} to {gap.max():.1f} σs too high"


def _at_the_largest(table: pd.DataFrame) -> tuple[float, pd.Series]:
    """Return, at the largest dimension, the greatest distance from the limit and distances below the printed branch."""
    part = table[(table.R.max() == table.R) & (table.span == "across")]
    small = part[part.spike < 0.7]
    return float((part.location - part.location_limit).abs().max()), small.location_printed - small.location


def transition_found(table: pd.DataFrame) -> str:
    """Return the finding: distances from the limit and from the printed branch at the largest dimension."""
    R, (from_limit, gap) = int(table.R.max()), _at_the_largest(table)
    return (
        "Stated: λ₁ → θ + σ²s²/θ wherever that number exceeds 2σs, which as printed includes 0 < θ < σs; found at "
        f"R = {R:.0e}: mean λ₁ within {from_limit:.1e} of 2σs for θ ≤ σs and of θ + σ²s²/θ above, and for "
        f"θ < 0.7 σs below the printed branch by {gap.min():.2f} to {gap.max():.1f} (in units of σs)."
    )


def transition_sizes(table: pd.DataFrame) -> str:
    """Describe dimensions and draws."""
    return f"$R$ from {_integer(table.R.min())} to {_integer(table.R.max())}, {table.draws.max()} draws at each point."


def _integer(R: int) -> str:
    return f"${dimension(int(R))}$"


TRANSITION = Figure(
    id="rmt/transition",
    title="A spike crosses the threshold",
    caption=r"One spike $\theta$ in Gaussian noise with $\sigma s=1$; exact band form. (a) Largest eigenvalue, mean "
    r"and central 80% of the draws, with the limit $\max(\theta+1/\theta,\,2)$ with the first for $\theta>1$ only; "
    r"dashed: the first branch of Proposition 3.1 (FedLoRU v2) as printed, which covers every $\theta+1/\theta>2$ "
    r"and so also small spikes. (b) Squared overlap of its eigenvector with the spike, limit $1-\theta^{-2}$. "
    r"(c, d) The window of width $R^{-1/3}$ in which both are rounded: means $\pm2$ standard errors; black: the limits "
    r"to leading order.",
    data=transition_data,
    draw=draw_transition,
    headline=transition_headline,
    found=transition_found,
    sizes=transition_sizes,
)
