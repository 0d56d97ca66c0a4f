"""Communication saved by FeDLRT on the paper's networks, by rank, counted from the networks themselves."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import pandas as pd

from algorithms.kernels import layer_names
from figures.fedlrt.vision_runs import TRIPS, VARIANTS, VISION, Vision
from figures.figure import Figure, Settings
from figures.style import MARKERS, SERIES, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SQUARES = {"without correction": 5, "full correction": 13, "simplified correction": 7}
"""Number of r x r matrices sent per round, besides 3 (m + n) r numbers: S, wide coefficients (4), corrections."""
NETWORKS = {"fig-5": "ResNet18, head", "fig-6": "AlexNet, head", "fig-7": "VGG16, head", "fig-8": "ViT, all inner"}
STATED = {"fig-5": (0.90,), "fig-6": (0.96, 0.97), "fig-8": (0.55,)}
"""Stated savings, as fractions of the factorised layers' communication, by figure."""


def elements_sent(m: int, n: int, rank: int, row: str) -> int:
    """Return the elements that a FeDLRT round sends to and from a client for a layer with room to double both bases."""
    return 3 * (m + n) * rank + SQUARES[row] * rank**2


def sides(vision: Vision) -> list[tuple[int, int]]:
    """Return rows and columns of the factorised layers, from the network itself."""
    shapes = vision.shapes
    return [(shapes[name][0], prod(shapes[name][1:])) for name in layer_names(shapes.items(), vision.layers)]


def communication_data(settings: Settings) -> pd.DataFrame:
    """Return the saved fraction at every rank that can be doubled in each layer, by network and variant."""
    rows: list[dict[str, Any]] = []
    for figure, name in NETWORKS.items():
        vision = VISION[figure]["paper"]
        layers, every = sides(vision), sum(map(prod, vision.shapes.values()))
        full = sum(m * n for m, n in layers)
        for rank in range(1, min(min(layer) for layer in layers) // 2 + 1):
            kept = sum((m + n + rank) * rank for m, n in layers)
            for row, (_, counterpart, _) in VARIANTS.items():
                low, trips = sum(elements_sent(m, n, rank, row) for m, n in layers), TRIPS[counterpart]
                rows.append(
                    {
                        "figure": figure,
                        "network": name,
                        "variant": row,
                        "rank": rank,
                        "parameters": every,
                        "factorised": full,
                        "of_layers": 1 - low / (trips * full),
                        "of_all": (trips * full - low) / (trips * every),
                        "compression": 1 - kept / full,
                    }
                )
    return pd.DataFrame(rows)


def largest_rank(table: pd.DataFrame, figure: str, variant: str, share: float) -> int:
    """Return the largest rank that saves a given fraction of the layers' communication; 0 if none does."""
    mine = table[(table.figure == figure) & (table.variant == variant) & (table.of_layers >= share)]
    return int(mine["rank"].max()) if len(mine) else 0


def draw_communication(table: pd.DataFrame) -> Picture:
    """Draw a panel for each network: saved fraction against rank for each variant, and the stated value."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(WIDTH, 2.8))
    panels = picture.subplots(1, len(NETWORKS), sharey=True)
    for axes, (figure, name) in zip(panels, NETWORKS.items(), strict=True):
        mine = table[table.figure == figure]
        for number, (row, part) in enumerate(mine.groupby("variant", sort=False)):
            every = max(1, len(part) // 6)
            axes.plot(
                part["rank"],
                100 * part.of_layers,
                color=SERIES[number],
                marker=MARKERS[number],
                markevery=every,
                label=f"{row}, against {VARIANTS[str(row)][1]}",
            )
        for share in STATED.get(figure, ()):
            axes.axhline(100 * share, color="0.3", linestyle=":", linewidth=1.0)
        axes.set_title(name, fontsize=8.5)
        axes.set(xlabel="rank", ylim=(-60, 100))
    panels[0].set_ylabel("communication saved (%)")
    picture.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return picture


def communication_headline(table: pd.DataFrame) -> str:
    """Return the headline: the ranks that the stated savings require."""
    head, vit = (
        largest_rank(table, figure, "simplified correction", STATED[figure][0]) for figure in ("fig-5", "fig-8")
    )
    low, high = (largest_rank(table, "fig-6", "simplified correction", share) for share in reversed(STATED["fig-6"]))
    return f"The stated savings require rank {head} (ResNet18), {low} to {high} (AlexNet), {vit} (transformer)"


def communication_found(table: pd.DataFrame) -> str:
    """Return the finding: the ranks that the stated savings require, and the layers' part of each network."""
    parts = []
    for figure, shares in STATED.items():
        mine = table[table.figure == figure].iloc[0]
        ranks = "; ".join(
            f"{row}: {', '.join(f'{100 * s:g} % up to rank {largest_rank(table, figure, row, s)}' for s in shares)}"
            for row in VARIANTS
        )
        factorised, every = int(mine.factorised), int(mine.parameters)
        of = f"{factorised:,} of {every:,} parameters ({100 * factorised / every:.2f} %)"
        parts.append(f"{mine.network}, {of}: {ranks}")
    return (
        "Stated: the compressed layers save up to 90 %, 96 to 97 % and over 55 %. Found by counting: "
        f"{'. '.join(parts)}."
    )


def communication_sizes(table: pd.DataFrame) -> str:
    """Describe what is counted."""
    return (
        "The papers' networks at full size, one rank for all factorised layers, a round of one client, both "
        "directions. No training; 0 means that no rank saves as much."
    )


COMMUNICATION = Figure(
    "fedlrt/communication",
    "Communication of FeDLRT on the paper's networks",
    "Share of the factorised layers' communication that a round of FeDLRT saves against FedAvg or FedLin, by rank: "
    r"$3(m + n)r$ numbers and 5, 13 or 7 matrices $r \times r$ for a layer $m \times n$, compared with $2mn$ or "
    r"$4mn$ without factors. Dotted: the paper's values.",
    communication_data,
    draw_communication,
    communication_headline,
    communication_found,
    communication_sizes,
)
