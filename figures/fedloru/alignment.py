"""FedLoRU's Figure 8: cosine similarity of the clients' updates and the federation's update, by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from figures.experiments.cost import announce_cost
from figures.experiments.effects import Effect, paired_effect
from figures.experiments.experiment import RUN, Design, choose_rates, run_design
from figures.fedloru.curves import COLOURS
from figures.fedloru.designs import fig8_designs, with_rates
from figures.fedloru.experiments import CONVENTIONS, TITLES, choices, describe_sizes, left_out
from figures.fedloru.scales import ALIGNED, SIZES
from figures.figure import Figure, Settings
from figures.style import MARKERS, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CROSSING = 20
"""Approximate round after which the paper finds low-rank updates better aligned, with 20 clients."""
STARTING = 5
"""Number of rounds that we read "initially" as, if there are many."""


def alignment_data(settings: Settings) -> pd.DataFrame:
    """Choose the learning rates, then make the runs; one row for each round from the first on."""
    choosing, design = fig8_designs(settings)
    announce_cost(aligned_designs(settings), settings, left_out())
    rows, rates = choose_rates(choosing, settings)
    table = run_design(with_rates(design, rates), settings)
    return pd.concat([pd.DataFrame(rows), table[table["round"] > 0]], ignore_index=True)


def aligned_designs(settings: Settings) -> list[Design]:
    """Return the runs, and those that choose their learning rates."""
    choosing, design = fig8_designs(settings)
    return [design, replace(choosing, seeds=0)]


def spans(rounds: int) -> tuple[range, range]:
    """Return the rounds that count as the start, and those after which low rank is said to be ahead.

    >>> spans(40), spans(4)
    ((range(1, 6), range(21, 41)), (range(1, 2), range(3, 5)))
    """
    early = min(STARTING, max(1, rounds // 8))
    return range(1, early + 1), range(min(CROSSING, rounds // 2) + 1, rounds + 1)


def differences(table: pd.DataFrame) -> Iterator[tuple[str, str, range, Effect]]:
    """Yield the alignment of low-rank updates less FedAvg's by span, paired by seed: case, method, rounds, effect."""
    runs = table[table.stage == RUN]
    for name, mine in cases(runs):
        for rounds in spans(int(runs["round"].max())):
            within = mine[mine["round"].isin(rounds)]
            means = within.groupby(["method", "seed"]).value.mean()
            for method in ("FedLoRA", "FedLoRU"):
                yield name, method, rounds, paired_effect(means[method].to_dict(), means["FedAvg"].to_dict())


def cases(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the runs of each setting with its name."""
    for (clients, participation), mine in runs.groupby(["clients", "participation"], sort=False):
        yield f"K = {clients}, C = {participation}", mine


def draw_alignment(table: pd.DataFrame) -> Picture:
    """Draw a panel for each setting, a line for each method: the mean over the seeds, from the least to the most."""
    from matplotlib.figure import Figure as New

    runs = table[table.stage == RUN]
    picture = New(figsize=(WIDTH, 3.0))
    found = list(cases(runs))
    grid = picture.subplots(1, len(found), squeeze=False, sharey=True)[0]
    for axes, (name, mine) in zip(grid, found, strict=True):
        for marker, (method, of) in zip(MARKERS, mine.groupby("method", sort=False), strict=False):
            curve = of.groupby("round").value.agg(["mean", "min", "max"])
            colour = COLOURS[str(method)]
            axes.plot(curve.index, curve["mean"], color=colour, marker=marker, markevery=5, label=str(method))
            axes.fill_between(curve.index, curve["min"], curve["max"], color=colour, alpha=0.15, lw=0)
        axes.set_title(f"{TITLES[str(mine.data.iloc[0])]}, IID, {name}", fontsize=8.5)
        axes.set_xlabel("round")
    grid[0].set_ylabel("cosine with the global update")
    grid[-1].legend(loc="upper right")
    return picture


def alignment_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: FedLoRU's position in both spans, setting by setting."""
    parts: dict[str, list[str]] = {}
    for name, method, rounds, effect in differences(table):
        if method == "FedLoRU":
            words = {"supports": "above", "contradicts": "below"}.get(effect.above, "not distinguished")
            ahead = f", the mean over the seeds above in {_rounds_ahead(table, name, rounds)} of {len(rounds)}"
            parts.setdefault(name, []).append(f"{words} in rounds {_span(rounds)} ({effect.mean:+.3f}{ahead})")
    told = "; ".join(f"{name}: {', '.join(said)}" for name, said in parts.items())
    return f"Alignment of FedLoRU's updates against FedAvg's, {told}."


def _rounds_ahead(table: pd.DataFrame, case: str, rounds: range) -> int:
    """Return the number of rounds in which FedLoRU's mean over the seeds is above FedAvg's."""
    (mine,) = [of for name, of in cases(table[table.stage == RUN]) if name == case]
    means = mine[mine["round"].isin(rounds)].pivot_table(index="round", columns="method", values="value")
    return int((means["FedLoRU"] > means["FedAvg"]).sum())


def alignment_headline(table: pd.DataFrame) -> str:
    """Return the headline: in how many settings FedLoRU is better aligned in the later rounds."""
    late = [(rounds, effect) for _, method, rounds, effect in differences(table) if method == "FedLoRU"][1::2]
    ahead = sum(effect.above == "supports" for _, effect in late)
    return (
        f"After round {late[0][0][0] - 1} FedLoRU's mean alignment is above FedAvg's in {ahead} of {len(late)} settings"
    )


def alignment_found(table: pd.DataFrame) -> str:
    """Return the paper's statement and the finding, span by span."""
    each = "; ".join(
        f"{name}, {method} minus FedAvg in rounds {_span(rounds)}: {effect.mean:+.4f} [{effect.low:+.4f}, "
        f"{effect.high:+.4f}], smallest detectable {effect.detectable:.4f}"
        for name, method, rounds, effect in differences(table)
    )
    return (
        "Stated: full-rank updates are better aligned with the global update at first, low-rank ones later, with 20 "
        f"clients after about {CROSSING} rounds. Found: {alignment_outcome(table)} {each}."
    )


def _span(rounds: range) -> str:
    return f"{rounds[0]}" if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}"


def alignment_sizes(table: pd.DataFrame) -> str:
    """Describe the sizes of the scale that a table was computed at."""
    last = int(table[table.stage == RUN]["round"].max())
    scale, (rounds, tau) = next((name, of) for name, of in ALIGNED.items() if of[0] == last)
    return f"{describe_sizes(table, SIZES[scale], rounds, tau)}."


FIGURE_8 = Figure(
    "fedloru/fig-8",
    "FedLoRU, Figure 8: alignment of the clients' updates with the global update",
    "Cosine between a client's update of the model (all weights as one vector, without running statistics) and "
    "the change of the global model, averaged over the clients of a round. Line: mean over the seeds; band: "
    "range. For low-rank methods we take the update of $W + AB$, with factors at their largest size.",
    alignment_data,
    draw_alignment,
    alignment_headline,
    alignment_found,
    alignment_sizes,
    choose=choices("cifar-100"),
    quick_decides=False,
    conventions=CONVENTIONS,
    designs=aligned_designs,
    printed={"data": ("cifar-100",)},
)
