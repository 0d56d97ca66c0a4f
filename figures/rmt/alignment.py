"""Alignment of two clients' gradients by rank, and its ingredients (FedLoRU v2, Theorem 3.3 and Appendix A.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.linalg import eigh_tridiagonal

from figures.figure import Figure, Scale, Settings
from figures.style import BLACK, BLUE, GREEN, ORANGE, VERMILION, WIDTH, dimension
from rmt import ClientGradients, SpikedModel, alignment_by_rank, draw_banded, draw_two_clients
from rmt.alignment import outlier_slopes

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MODEL = SpikedModel((4.0, -3.0, 2.0, 1.5))  # at sigma s = 1
OUTLIERS = len(MODEL.spikes)
GRADIENTS = {
    "no own errors": ClientGradients((1.0, 0.7, 0.5, -0.8)),
    "own errors, b = 0.1": ClientGradients((1.0, 0.7, 0.5, -0.8), noise_square=0.1),
    "b = 0.1, small first slope": ClientGradients((0.1, 0.7, 0.5, -0.8), noise_square=0.1),
}
LEANING = 2.0  # the spike whose weight on the bulk is shown


@dataclass(frozen=True)
class AlignmentSizes:
    """Dimension of the clients, ranks, pairs drawn, spikes of the overlaps, and matrices for the bulk weights."""

    R: int
    ranks: int
    pairs: int
    spikes: tuple[float, ...]
    matrices: int


_SPIKES = (0.5, 0.8, 1.2, 1.5, 2.0, 3.0)
ALIGNMENT_SIZES: dict[Scale, AlignmentSizes] = {
    "quick": AlignmentSizes(2000, 8, 60, _SPIKES, 8),
    "laptop": AlignmentSizes(10**5, 12, 300, (*_SPIKES, 0.2, 0.95, 1.05, 1.1, 1.35, 1.75, 2.5), 60),
    "paper": AlignmentSizes(10**6, 16, 2000, (*_SPIKES, 0.2, 0.95, 1.05, 1.1, 1.35, 1.75, 2.5), 400),
}
_BULK_R = 800
_ERRORS = 2000  # own errors of a client, averaged over for each pair


def printed_alignment(gradients: ClientGradients, rank: int) -> float:
    r"""Return the quotient of eqs. (54) and (57) with $\beta = 0$, the mean slope along a bulk eigenvector."""
    slopes, overlaps = outlier_slopes(MODEL, gradients)
    squares = slopes[:rank] ** 2
    return float(squares @ overlaps[:rank] / squares.sum())


def alignment_data(settings: Settings) -> pd.DataFrame:
    """Return cosines by rank, overlaps by spike, and the weights of a spike on the bulk."""
    sizes = settings.sizes(ALIGNMENT_SIZES)
    rows: list[dict[str, object]] = []
    settings.report("two clients")
    rng = settings.rng("alignment", "clients")
    clients = [draw_two_clients(MODEL, sizes.R, rng, sizes.ranks) for _ in range(sizes.pairs)]
    for name, gradients in GRADIENTS.items():
        rng = settings.rng("alignment", name)
        samples = _ERRORS if gradients.noise_square else 1
        cosines = np.array([pair.cosines(pair.slopes(gradients, rng, samples)) for pair in clients])
        limits = alignment_by_rank(MODEL, gradients, range(1, sizes.ranks + 1))
        for rank, (draws, limit) in enumerate(zip(cosines.T, limits, strict=True), start=1):
            rows.append(_row("cosine", name, rank, draws, limit, printed_alignment(gradients, rank), sizes.R))
    for spike in sorted(sizes.spikes):
        settings.report(f"theta = {spike:g}")
        rng, model = settings.rng("alignment", "overlap", spike), SpikedModel((spike,))
        pairs = [draw_two_clients(model, sizes.R, rng, 1).oriented() for _ in range(sizes.pairs)]
        limit = model.outliers[0].overlap
        inner = np.array([pair.inner[0, 0] for pair in pairs])
        towards = np.array([pair.towards[0, 0, 0] for pair in pairs])
        rows.append(_row("<u, u'>", "clients", spike, inner, limit, np.nan, sizes.R))
        rows.append(_row("|<v, u>|", "client and truth", spike, towards, limit**0.5, limit, sizes.R))
    settings.report("bulk")
    rng, weights = settings.rng("alignment", "bulk"), []
    edges = np.linspace(-2.0, 2.0, 13)
    for _ in range(sizes.matrices):
        band = draw_banded(SpikedModel((LEANING,)), _BULK_R, rng, top=_BULK_R, rows=_BULK_R).band
        values, vectors = eigh_tridiagonal(band[0], band[1, :-1])
        counts = np.histogram(values[:-1], edges)[0]
        weights.append(_BULK_R * np.histogram(values[:-1], edges, weights=vectors[0, :-1] ** 2)[0] / counts)
    for place, draws in enumerate(np.array(weights).T):
        middle = 0.5 * (edges[place] + edges[place + 1])
        leaning = 1.0 / (1.0 + LEANING**2 - LEANING * middle)
        rows.append(_row("bulk weight", "spike", middle, draws, leaning, LEANING**-2, _BULK_R))
    return pd.DataFrame(rows)


def _row(
    panel: str, series: str, x: float, draws: np.ndarray, limit: float, printed: float, R: int
) -> dict[str, object]:
    return {
        "panel": panel,
        "series": series,
        "x": x,
        "mean": draws.mean(),
        "standard_error": draws.std(ddof=1) / np.sqrt(len(draws)),
        "limit": limit,
        "printed": printed,
        "R": R,
        "draws": len(draws),
    }


def draw_alignment(table: pd.DataFrame) -> Picture:
    """Draw cosines by rank on the left, overlaps and bulk weights on the right."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 3.9))
    grid = picture.add_gridspec(2, 2, width_ratios=[1.35, 1.0])
    cosines, overlaps, bulk = (picture.add_subplot(grid[place]) for place in ((slice(None), 0), (0, 1), (1, 1)))
    style: dict[str, Any] = {"ls": "none", "mfc": "white", "mew": 1.1}
    colors = dict(zip(GRADIENTS, (BLUE, VERMILION, GREEN), strict=True))
    markers = dict(zip(GRADIENTS, "osD", strict=True))
    for series, part in table[table.panel == "cosine"].groupby("series", sort=False):
        name = str(series)
        cosines.plot(part.x, part.limit, color=colors[name], lw=1.0)
        if name == "no own errors":
            cosines.plot([], [], color=BLACK, lw=1.0, label="limit")
            cosines.plot([], [], color=BLACK, ls=(0, (4, 2)), lw=1.2, label="eqs. (54), (57) as printed")
        cosines.plot(part.x, part.printed, color=colors[name], ls=(0, (4, 2)), lw=1.2)
        bars = 2.0 * part.standard_error
        cosines.errorbar(part.x, part["mean"], yerr=bars, color=colors[name], marker=markers[name], label=name, **style)
    cosines.axvline(OUTLIERS + 0.5, color="0.6", lw=0.8, ls=":")
    cosines.text(OUTLIERS + 0.6, 0.02, "bulk eigenvectors", fontsize=8, color="0.35")
    cosines.set(title="(a) alignment by rank", xlabel="rank $r$", ylabel=r"$E[C_{N,r}]$", ylim=(0.0, 1.5))
    cosines.set_yticks(np.arange(0.0, 1.01, 0.2))
    cosines.legend(loc="upper right", ncols=1)
    x = np.linspace(0.0, 3.2, 400)
    square = np.where(x > 1.0, 1.0 - 1.0 / np.maximum(x, 1.0) ** 2, 0.0)
    overlaps.plot(x, square**0.5, color=ORANGE, lw=1.0)
    overlaps.plot(x, square, color=BLUE, lw=1.0)
    for panel, color, marker, label in (
        ("|<v, u>|", ORANGE, "s", r"$|\langle v,u\rangle|\to\phi$"),
        ("<u, u'>", BLUE, "o", r"$\langle u,u'\rangle\to\phi^2$"),
    ):
        part = table[table.panel == panel]
        bars = 2.0 * part.standard_error
        overlaps.errorbar(part.x, part["mean"], yerr=bars, color=color, marker=marker, label=label, **style)
    overlaps.set(title="(b) one spike", xlabel=r"$\theta/(\sigma s)$", ylim=(-0.05, 1.05), xlim=(0, 3.2))
    overlaps.legend(loc="lower right")
    part = table[table.panel == "bulk weight"]
    value = np.linspace(-2.0, 2.0, 200)
    bulk.plot(value, 1.0 / (1.0 + LEANING**2 - LEANING * value), color=BLACK, lw=1.0, label="limit")
    bulk.axhline(LEANING**-2, color=VERMILION, ls=(0, (4, 2)), lw=1.2, label="uniform, as assumed")
    bulk.errorbar(part.x, part["mean"], yerr=2.0 * part.standard_error, color=BLACK, marker="o", **style)
    bulk.set(title=rf"(c) weight on the bulk, $\theta={LEANING:g}\,\sigma s$", ylim=(0, None))
    bulk.set(xlabel=r"eigenvalue $\lambda/(\sigma s)$", ylabel=r"$R\,|\langle w,v\rangle|^2$")
    bulk.legend(loc="upper left")
    return picture


def alignment_headline(table: pd.DataFrame) -> str:
    """Return the headline: the alignment beyond the spikes, without and with the clients' own errors."""
    cosine = table[table.panel == "cosine"].set_index(["series", "x"])["mean"]
    plain, noisy, _ = (float(cosine.loc[name].iloc[-1]) for name in GRADIENTS)
    return f"Beyond the {OUTLIERS} spikes the alignment is {plain:.2f}, with the clients' own errors {noisy:.2f}"


def alignment_found(table: pd.DataFrame) -> str:
    """Return the finding: the decrease of the alignment with the rank, and the errors of the printed quotients."""
    cosine = table[table.panel == "cosine"].set_index(["series", "x"])
    plain, noisy, small = (cosine.loc[name] for name in GRADIENTS)
    last = noisy.index.max()
    off = (noisy.printed - noisy["mean"]).abs().max()
    errors = cosine.standard_error.clip(lower=1e-3)
    distance = float(((cosine["mean"] - cosine.limit) / errors).abs().max())
    return (
        "Stated: the expected alignment falls strictly with every rank; found: without own errors of the clients it "
        f"falls up to r = {OUTLIERS} as printed and stays at {plain['mean'][last]:.3f} beyond; with them it falls on, "
        f"from {noisy['mean'][OUTLIERS]:.2f} to {noisy['mean'][last]:.2f} at r = {last:g}, up to {off:.2f} below "
        f"the printed quotient; with a small first slope it rises from {small['mean'][1]:.2f} at r = 1 "
        f"to {small['mean'][2]:.2f} at r = 2. All means are within {distance:.1f} standard errors (at least 0.001) of "
        "the closed form."
    )


def alignment_sizes(table: pd.DataFrame) -> str:
    """Describe dimensions and draws."""
    R = int(table[table.panel == "cosine"].R.max())
    counts = {panel: int(part.draws.max()) for panel, part in table.groupby("panel")}
    return (
        f"(a, b) $R={dimension(R)}$, {counts['cosine']} pairs of clients; (c) $R={_BULK_R}$, "
        f"{counts['bulk weight']} matrices."
    )


ALIGNMENT = Figure(
    id="rmt/alignment",
    title="Alignment of two clients by rank, and its ingredients",
    caption=r"Two clients of one true Hessian with independent Gaussian noise, $\sigma s=1$; means $\pm2$ standard "
    r"errors of exact draws. (a) Cosine between their rank-$r$ gradients for $\theta=4,\,-3,\,2,\,1.5$ and common "
    r"components 1, 0.7, 0.5, $-0.8$ along the spikes (0.1 first in the third case), without and with client "
    r"errors of mean square $b$ in every direction; lines: the closed form for $R\to\infty$; dashed: the "
    r"quotients of eqs. (54) "
    r"and (57) with $\alpha_i=\phi_i\gamma_i$ and $\beta=0$. (b) Overlap of the leading eigenvectors of two clients, "
    r"and of one client with the truth. (c) Weight of the spike's direction on bulk eigenvectors; dashed: "
    r"uniform, as Assumption A.5 and Lemma A.6 assume.",
    data=alignment_data,
    draw=draw_alignment,
    headline=alignment_headline,
    found=alignment_found,
    sizes=alignment_sizes,
)
