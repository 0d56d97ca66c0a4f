"""Curves of training runs with bands over their seeds: against rounds, and against the bytes that travelled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from figures.make import rendered
from figures.style import MARKERS, SERIES, WIDTH
from runs.listing import FoundRun, Group, grouped, metric_of
from workloads.files import require_writable, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame


def curves(runs: Sequence[FoundRun], metric: str) -> DataFrame:
    """The curve of a metric for every group of runs that differ in their seeds only.

    Returns:
        One row for each group and round that all of its runs evaluated: `runs` (their label), `seeds`, `round`,
        `bytes` (sent by then, the mean over the seeds), `mean`, `least` and `most` over the seeds.
    """
    from pandas import DataFrame

    rows = [row for group in grouped(runs) for row in _rows(group, metric)]
    return DataFrame(rows, columns=["runs", "seeds", "round", "bytes", "mean", "least", "most"])


def _rows(group: Group, metric: str) -> list[dict[str, object]]:
    found = [{row["round"]: row for row in run.curve(metric)} for run in group.runs.values()]
    rounds = sorted(set.intersection(*(set(rows) for rows in found)))
    rows = []
    for number in rounds:
        values = [float(one[number][metric]) for one in found]
        sent = [one[number]["bytes_down"] + one[number]["bytes_up"] for one in found]
        rows.append({
            "runs": group.label, "seeds": len(found), "round": number, "bytes": sum(sent) / len(sent),
            "mean": sum(values) / len(values), "least": min(values), "most": max(values),
        })  # fmt: skip
    return rows


def draw_curves(table: DataFrame, metric: str) -> Picture:
    """Two panels of the same curves: against rounds, and against megabytes on a logarithmic axis."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(WIDTH, 2.9))
    axes = picture.subplots(1, 2, sharey=True)
    for number, (label, part) in enumerate(table.groupby("runs", sort=False)):
        colour, marker = SERIES[number % len(SERIES)], MARKERS[number % len(MARKERS)]
        seeds = int(part.seeds.iloc[0])
        for axis, x in ((axes[0], part["round"]), (axes[1], part["bytes"] / 1e6)):
            axis.plot(
                x, part["mean"], color=colour, marker=marker, markevery=max(1, len(part) // 8),
                label=f"{label} ({seeds} seeds)" if seeds > 1 else str(label),
            )  # fmt: skip
            if seeds > 1:
                axis.fill_between(x, part.least, part.most, color=colour, alpha=0.2, linewidth=0)
    axes[0].set_xlabel("round")
    axes[1].set_xlabel("megabytes sent, both directions")
    if (table.bytes > 0).any():
        axes[1].set_xscale("log")
    axes[0].set_ylabel(metric.replace("_", " "))
    if "loss" in metric and (table.least > 0).all():
        axes[0].set_yscale("log")
    axes[0].legend()
    return picture


def write_curves(runs: Sequence[FoundRun], asked: str | None, out: Path) -> list[Path]:
    """Draws the curves of a metric into PNG and PDF, beside their numbers in CSV.

    Args:
        runs: The runs.
        asked: The metric; default: accuracy, else the loss.
        out: Folder of the files; made if need be.

    Raises:
        RunError: A run lacks the metric.
        OSError: The folder cannot be written.
    """
    metric = metric_of(runs, asked)
    require_writable(out)
    table = curves(runs, metric)
    name = re.sub(r"[^\w.-]+", "-", f"runs-{metric}")
    contents = {
        **rendered(lambda: draw_curves(table, metric), ("png", "pdf")),
        "csv": table.to_csv(index=False, lineterminator="\n").encode(),
    }
    write_whole({out / f"{name}.{kind}": content for kind, content in contents.items()})
    return [out / f"{name}.{kind}" for kind in contents]
