"""FedLoRU's Figures 2, 3 and 5 from the runs of its Tables 1 and 6."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from figures.experiments.effects import Effect, by_seed, mean_and_half_width, paired_effect
from figures.experiments.experiment import RUN, finals
from figures.fedloru.designs import EVALUATIONS, METHODS, tab1_design, tab6_design
from figures.fedloru.experiments import CONVENTIONS, TITLES, choices, data_by, only, sizes_of
from figures.fedloru.printed import TABLE_6
from figures.figure import Figure
from figures.style import BLACK, BLUE, MARKERS, ORANGE, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

COLOURS: Mapping[str, str] = {"FedAvg": BLACK, "FedLoRA": ORANGE, "FedHM": BLUE, "FedLoRU": VERMILION}
BELOW = 0.02
"""Distance of Figure 3's target below FedAvg's final accuracy; the printed targets are only in the image."""
LARGE = ("full", "large")


def relative_gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return relative differences to FedAvg by number of clients: columns method, clients, mean, half_width, printed.

    It is (X - FedAvg)/FedAvg, which the printed ratios follow, seed by seed; printed is nan where Table 6 has no row.
    """
    ends = finals(table, EVALUATIONS)
    printed = {(row.method, row.clients): float(row.ratio) for row in TABLE_6}
    rows = []
    for method in ("FedLoRA", "FedLoRU"):
        for clients in sorted(set(ends.clients)):
            base = by_seed(ends, method="FedAvg", clients=clients)
            ours = by_seed(ends, method=method, clients=clients)
            mean, half_width = mean_and_half_width({seed: ours[seed] / base[seed] - 1 for seed in base})
            rows.append((method, int(clients), mean, half_width, printed.get((method, int(clients)), float("nan"))))
    return pd.DataFrame(rows, columns=["method", "clients", "mean", "half_width", "printed"])


def gain_changes(table: pd.DataFrame, relative_to_itself: bool = False) -> dict[str, Effect]:
    """Return by method how much larger its relative difference to FedAvg is with the most clients than with the fewest.

    Args:
        table: Table of the figure.
        relative_to_itself: Whether a difference is relative to the method's accuracy, as in the paper, instead of to
            FedAvg's, as in `relative_gains`. They are paired by seed.
    """
    ends = finals(table, EVALUATIONS)
    found = {}
    for method in ("FedLoRA", "FedLoRU"):
        gains = []
        for clients in (int(ends.clients.max()), int(ends.clients.min())):
            ours, base = (by_seed(ends, method=name, clients=clients) for name in (method, "FedAvg"))
            whole = ours if relative_to_itself else base
            gains.append({seed: (ours[seed] - base[seed]) / whole[seed] for seed in base})
        unit = f"% of {method if relative_to_itself else 'FedAvg'}'s accuracy"
        found[method] = replace(paired_effect(*gains), unit=unit)
    return found


def draw_gains(table: pd.DataFrame) -> Picture:
    """Draw the relative difference to FedAvg against the number of clients, printed and obtained."""
    from matplotlib.figure import Figure as New

    found = relative_gains(table)
    picture = New(figsize=(WIDTH, 2.9))
    axes = picture.subplots()
    for method, mine in found.groupby("method", sort=False):
        colour = COLOURS[str(method)]
        axes.errorbar(
            mine.clients, 100 * mine["mean"], 100 * mine.half_width, color=colour, marker="o", label=f"{method}, runs"
        )
        rows = [row for row in TABLE_6 if row.method == method]
        axes.plot(
            [row.clients for row in rows],
            [100 * float(row.ratio) for row in rows],
            color=colour,
            marker="D",
            markerfacecolor="white",
            linestyle=":",
            label=f"{method}, published (CIFAR-100)",
        )
    axes.axhline(0.0, color="0.3", linewidth=0.8)
    axes.set(xlabel="clients K", ylabel="accuracy against FedAvg's, %")
    axes.legend()
    return picture


def gains_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: whether the gain grows from the smallest to the largest number of clients."""
    parts, changes = [], gain_changes(table)
    for method, mine in relative_gains(table).groupby("method", sort=False):
        first, last, change = mine.iloc[0], mine.iloc[-1], changes[str(method)]
        parts.append(
            f"{method} {100 * first['mean']:+.1f} % at K = {first.clients}, {100 * last['mean']:+.1f} % at "
            f"K = {last.clients}, a change of {change.text}; that the gain grows: {change.verdict}"
        )
    return f"Against FedAvg: {'; '.join(parts)}"


def gains_headline(table: pd.DataFrame) -> str:
    """Return the headline: FedLoRU's gain with the fewest and with the most clients."""
    mine = relative_gains(table).query("method == 'FedLoRU'")
    told = [f"{100 * row['mean']:+.1f} % with {row.clients} clients" for _, row in mine.iloc[[0, -1]].iterrows()]
    return f"FedLoRU's gain over FedAvg: {', '.join(dict.fromkeys(told))}"


def gains_found(table: pd.DataFrame) -> str:
    """Return the paper's statement and the finding."""
    return (
        f"Stated: the gain of FedLoRU and FedLoRA over FedAvg grows with the number of clients. Found: "
        f"{gains_outcome(table)}."
    )


def costs_to_target(table: pd.DataFrame) -> pd.DataFrame:
    """Return the bytes until a run first reaches the target: columns data, clients, target, method, seed, bytes.

    The target is `BELOW` under the median of FedAvg's final accuracies in the same setting. Bytes are those that
    travelled in both directions, the frozen weights sent at the start included; nan where the target is not reached.
    """
    runs = table[(table.stage == RUN) & (table.split == "IID") & table["size"].isin(LARGE)]
    ends = finals(runs, EVALUATIONS)
    rows = []
    for (data, clients), of_case in runs.groupby(["data", "clients"], sort=False):
        base = by_seed(ends, data=str(data), clients=int(str(clients)), method="FedAvg")
        target = float(np.nanmedian(list(base.values()))) - BELOW
        for (method, seed), run in of_case.groupby(["method", "seed"], sort=False):
            there = run[run.value >= target]
            rows.append((data, clients, target, method, seed, float(there.bytes.min()) if len(there) else float("nan")))
    return pd.DataFrame(rows, columns=["data", "clients", "target", "method", "seed", "bytes"])


def draw_costs(table: pd.DataFrame) -> Picture:
    """Draw bars of the median cost and a dot for each seed; a cross if most seeds do not reach the target.

    If some do not, the number of those that do is above the bar.
    """
    from matplotlib.figure import Figure as New

    costs = costs_to_target(table)
    cases = list(costs.groupby(["data", "clients"], sort=False))
    picture = New(figsize=(WIDTH, 2.7))
    for axes, ((data, clients), mine) in zip(picture.subplots(1, len(cases), squeeze=False)[0], cases, strict=True):
        for place, method in enumerate(METHODS):
            amounts = mine[mine.method == method].bytes / 1e6
            if np.isfinite(typical := median_cost(amounts)):
                axes.bar(place, typical, color=COLOURS[method], alpha=0.75, width=0.6)
                if amounts.isna().any():
                    told = f"{amounts.notna().sum()} of {len(amounts)} runs"
                    axes.annotate(told, (place, typical), (0, 3), textcoords="offset points", ha="center", fontsize=6.5)
            else:
                axes.plot(place, 0.0, "x", color=COLOURS[method], markersize=9, clip_on=False)
            axes.plot([place] * len(amounts), amounts, ".", color="0.2", markersize=4)
        axes.set_xticks(range(len(METHODS)), METHODS, fontsize=7.5)
        axes.set_title(f"{TITLES[str(data)]}, K = {clients}, {100 * mine.target.iloc[0]:.1f} %", fontsize=8)
        axes.grid(False, axis="x")
        axes.set_ylim(bottom=0)
    picture.axes[0].set_ylabel("MB to the target")
    return picture


def costs_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: the median cost of FedLoRU compared with FedAvg's."""
    parts = [
        f"K = {clients}: {f'{ratio:.2f} of FedAvg' if np.isfinite(ratio) else 'target not reached'}"
        for clients, ratio in shares_of_bytes(table)
    ]
    return f"Bytes of FedLoRU to the target, {'; '.join(parts)}{_unreached(table)}"


def median_cost(amounts: pd.Series) -> float:
    """Return the median over the seeds, in which a run that does not reach the target costs infinitely much."""
    return float(np.median(amounts.fillna(np.inf)))


def _unreached(table: pd.DataFrame) -> str:
    """Return how many runs do not reach the target, by method and clients; empty if all do."""
    parts = []
    for (clients, method), mine in costs_to_target(table).groupby(["clients", "method"], sort=False):
        if lacking := int(mine.bytes.isna().sum()):
            parts.append(f"{lacking} of {len(mine)} runs of {method} with {clients} clients")
    return f"; not reached by {', '.join(parts)}, which count as infinite in the medians" if parts else ""


def shares_of_bytes(table: pd.DataFrame) -> list[tuple[int, float]]:
    """Return the number of clients of each setting, and FedLoRU's median bytes to the target relative to FedAvg's."""
    found = []
    for (_, clients), mine in costs_to_target(table).groupby(["data", "clients"], sort=False):
        ours, theirs = (median_cost(mine[mine.method == method].bytes) for method in ("FedLoRU", "FedAvg"))
        found.append((int(str(clients)), ours / theirs if np.isfinite([ours, theirs]).all() else float("nan")))
    return found


def costs_headline(table: pd.DataFrame) -> str:
    """Return the headline: FedLoRU's bytes to the target relative to FedAvg's."""
    shares = [share for _, share in shares_of_bytes(table)]
    there = sorted(share for share in shares if np.isfinite(share))
    if len(there) < len(shares):
        return f"FedLoRU reaches the target in {len(there)} of {len(shares)} settings"
    span = " to ".join(dict.fromkeys(f"{share:.2f}" for share in (there[0], there[-1])))
    return f"FedLoRU reaches the target with {span} of FedAvg's bytes, by the median"


def costs_found(table: pd.DataFrame) -> str:
    """Return the paper's statement and the finding."""
    return f"Stated: FedLoRU reaches a target accuracy at a much lower cost. Found: {costs_outcome(table)}."


def draw_curves(table: pd.DataFrame) -> Picture:
    """Draw test accuracy by round for IID clients: the mean, and a band from the smallest to the largest value."""
    from matplotlib.figure import Figure as New

    runs = table[(table.stage == RUN) & (table.split == "IID") & table["size"].isin(LARGE)]
    cases = list(runs.groupby(["data", "clients"], sort=False))
    picture = New(figsize=(WIDTH, 3.0))
    grid = picture.subplots(1, len(cases), squeeze=False, sharey=True)[0]
    for axes, ((data, clients), mine) in zip(grid, cases, strict=True):
        for marker, method in zip(MARKERS, METHODS, strict=False):
            curve = 100 * mine[mine.method == method].groupby("round").value.agg(["mean", "min", "max"])
            axes.plot(curve.index, curve["mean"], color=COLOURS[method], marker=marker, markevery=4, label=method)
            axes.fill_between(curve.index, curve["min"], curve["max"], color=COLOURS[method], alpha=0.15, lw=0)
        axes.set_title(f"{TITLES[str(data)]}, IID, K = {clients}", fontsize=8.5)
        axes.set_xlabel("round")
    grid[0].set_ylabel("test accuracy, %")
    grid[-1].legend(loc="lower right")
    return picture


def rounds_to_target(table: pd.DataFrame) -> dict[tuple[int, str], float]:
    """Return the median rounds to the target of Figure 3, by clients and method; nan if most runs do not reach it."""
    runs = table[(table.stage == RUN) & (table.split == "IID") & table["size"].isin(LARGE)]
    targets = costs_to_target(table).groupby(["data", "clients"]).target.first().to_dict()
    found: dict[tuple[int, str], list[Any]] = {}
    for (data, clients, method, _), run in runs.groupby(["data", "clients", "method", "seed"], sort=False):
        there = run[run.value >= targets[(data, clients)]]
        found.setdefault((int(str(clients)), str(method)), []).append(
            there["round"].min() if len(there) else float("inf")
        )
    return {key: float(np.median(rounds)) for key, rounds in found.items()}


def curves_outcome(table: pd.DataFrame) -> str:
    """Return the outcome: the rounds to the target."""
    rounds = rounds_to_target(table)
    parts = []
    for clients in dict.fromkeys(clients for clients, _ in rounds):
        each = [f"{m} {rounds[clients, m]:g}" for m in METHODS if np.isfinite(rounds.get((clients, m), np.inf))]
        parts.append(f"K = {clients}: {', '.join(each)}")
    return f"Rounds to {100 * BELOW:.0f} points below FedAvg's end, {'; '.join(parts)}{_unreached(table)}"


def curves_headline(table: pd.DataFrame) -> str:
    """Return the headline: FedLoRU's rounds to the target, and FedAvg's."""
    rounds = rounds_to_target(table)
    counts = list(dict.fromkeys(clients for clients, _ in rounds))
    ours, theirs = (
        " and ".join(
            f"{rounds[clients, m]:g}" if np.isfinite(rounds.get((clients, m), np.inf)) else "more" for clients in counts
        )
        for m in ("FedLoRU", "FedAvg")
    )
    return f"FedLoRU needs {ours} rounds to the target, FedAvg {theirs}"


def curves_found(table: pd.DataFrame) -> str:
    """Return the paper's statement and the finding."""
    return f"Stated: FedLoRU converges about as fast as FedAvg. Found, median over the seeds: {curves_outcome(table)}."


FIGURE_2 = Figure(
    "fedloru/fig-2",
    "FedLoRU, Figure 2: gain over FedAvg by the number of clients",
    "Relative difference of the final test accuracy to FedAvg's, (X - FedAvg)/FedAvg, by the number of clients: means "
    "over the seeds with 95 % intervals, and the printed ratios of Table 6.",
    data_by(tab6_design),
    draw_gains,
    gains_headline,
    gains_found,
    sizes_of,
    choose=choices("cifar-100"),
    quick_decides=False,
    conventions=CONVENTIONS,
    designs=only(tab6_design),
    printed={"data": ("cifar-100",)},
)
FIGURE_3 = Figure(
    "fedloru/fig-3",
    "FedLoRU, Figure 3: communication to a target accuracy",
    f"Bytes sent in both directions until the test accuracy first reaches a target, {100 * BELOW:.0f} points "
    "below the median of FedAvg's final accuracies (the paper shows its targets only in an image). Bars: "
    "medians over the seeds, in which a run that does not reach the target counts as infinite, with the number of runs "
    "that reach it if not all do; dots: seeds; cross: most do not reach it. The frozen weights that every client "
    "receives at the start are counted.",
    data_by(tab1_design),
    draw_costs,
    costs_headline,
    costs_found,
    sizes_of,
    choose=choices("cifar-10", "cifar-100"),
    quick_decides=False,
    conventions=CONVENTIONS,
    designs=only(tab1_design),
    printed={"data": ("cifar-10", "cifar-100")},
)
FIGURE_5 = Figure(
    "fedloru/fig-5",
    "FedLoRU, Figures 5 to 7: test accuracy by round, identically distributed clients",
    "Test accuracy by round, with low-rank methods at their largest size. Line: mean over the seeds; band: range.",
    data_by(tab1_design),
    draw_curves,
    curves_headline,
    curves_found,
    sizes_of,
    choose=choices("fashion-mnist", "cifar-10", "cifar-100"),
    quick_decides=False,
    conventions=CONVENTIONS,
    designs=only(tab1_design),
    printed={"data": ("fashion-mnist", "cifar-10", "cifar-100")},
)
