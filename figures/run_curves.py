"""Curves of training runs with bands over their seeds, against rounds and against bytes sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isfinite, isnan, log10, nan
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from figures.make import render
from figures.style import MARKERS, SERIES, WIDTH, set_headline
from runs.format import printable
from runs.listing import FoundRun, Group, group_runs, mean_of, metric_of
from runs.settings import RunError
from workloads.files import require_writable
from workloads.messages import as_cell
from workloads.written import write_own

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

LABEL = 100
"""Characters per line of the title and the legend, which are as wide as the picture."""
HUGE = 1e150
"""Size from which values are not drawn: matplotlib squares them, and adds margins."""


def curves(runs: Sequence[FoundRun], metric: str) -> DataFrame:
    """Return the curve of a metric for every group of runs that differ only in their seeds.

    Returns:
        One row for each group and round that all of its runs evaluated: `runs` (their label), `seeds`, `round`,
        `bytes` (sent by then, the mean over the seeds), `mean`, `least` and `most` over the seeds.

    Raises:
        RunError: The same run twice, or no round that all runs of a group evaluated.
    """
    from pandas import DataFrame

    rows = [row for group in group_runs(runs) for row in _rows(group, metric)]
    return DataFrame(rows, columns=["runs", "seeds", "round", "bytes", "mean", "least", "most"])


def shortened_curves(runs: Sequence[FoundRun], asked: str | None) -> list[str]:
    """Return a line for each curve that is cut at the shortest run of its group.

    Args:
        runs: The runs.
        asked: The metric; default: accuracy, else the loss.

    Raises:
        RunError: As `curves`.
    """
    metric, lines = metric_of(runs, asked), []
    for group in group_runs(runs):
        end = _rows(group, metric)[-1]["round"]
        last = {run.curve(metric)[-1]["round"]: run for run in group.runs.values()}
        if max(last) != end:
            lines.append(
                f"{group.label}: the curve ends at round {end}, because not all of its runs have {metric} after it; "
                f"{last[max(last)].folder} continues to round {max(last)}"
            )
    return lines


def _rows(group: Group, metric: str) -> list[dict[str, object]]:
    found = [{row["round"]: row for row in run.curve(metric)} for run in group.runs.values()]
    rounds = sorted(set.intersection(*(set(rows) for rows in found)))
    if not rounds:
        raise RunError(f"the runs of {group.label} have no common round with {metric!r}")
    rows = []
    for number in rounds:
        values = [float(one[number][metric]) for one in found]
        sent = [one[number]["bytes_down"] + one[number]["bytes_up"] for one in found]
        rows.append(
            {
                "runs": group.label,
                "seeds": len(found),
                "round": number,
                "bytes": sum(sent) / len(sent),
                "mean": mean_of(values),
                "least": nan if any(map(isnan, values)) else min(values),  # wherever the nan is among the seeds
                "most": nan if any(map(isnan, values)) else max(values),
            }
        )
    return rows


def draw_curves(table: DataFrame, metric: str) -> Picture:
    """Draw two panels of the same curves: against rounds, and against bytes sent.

    An axis is logarithmic where its values, or the totals of bytes, are positive and span more than a factor of 10. An
    axis of accuracies is linear. Values of at least `HUGE` leave a gap, as infinite ones do.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    table = table.assign(**{name: table[name].where(table[name].abs() < HUGE) for name in ("mean", "least", "most")})
    groups = table.groupby("runs", sort=False)
    unit, name = _unit(float(table.bytes.max()))
    labels = [fill(_plain(label), LABEL) for label in _labels(table)]
    picture = Figure(figsize=(WIDTH, 3.1 + 0.17 * sum(label.count("\n") + 1 for label in labels)))
    axes = picture.subplots(1, 2, sharey=True)
    for number, (_, part) in enumerate(groups):
        look = _look(number)
        for axis, x in ((axes[0], part["round"]), (axes[1], part["bytes"] / unit)):
            axis.plot(x, part["mean"], markevery=max(1, len(part) // 8), **look)
            if part.seeds.iloc[0] > 1:
                axis.fill_between(x, part.least, part.most, color=look["color"], alpha=0.15, linewidth=0)
    axes[0].set_xlabel("round")
    axes[0].xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[1].set_xlabel(f"data sent in both directions ({name})")
    if _spans_decades(groups.bytes.max()):
        axes[1].set_xscale("log")
    axes[0].set_ylabel(_plain(metric))
    if not metric.endswith("accuracy") and _spans_decades([*table.least, *table.most]):
        axes[0].set_yscale("log")
    set_headline(picture, _plain(_title(metric, bool((table.seeds > 1).any()))))
    picture.legend(axes[0].get_lines(), labels, loc="outside lower left")
    return picture


def _labels(table: DataFrame) -> list[str]:
    seeds = table.groupby("runs", sort=False).seeds.first()
    return [f"{label} ({count} seed{'s' if count > 1 else ''})" for label, count in seeds.items()]


def _look(number: int) -> dict[str, Any]:
    """Return colour, marker and line of a curve; after six colours the lines are dashed, then dotted."""
    turn = number // len(SERIES)
    return {
        "color": SERIES[number % len(SERIES)],
        "marker": MARKERS[(number + turn) % len(MARKERS)],
        "linestyle": ("-", "--", ":", "-.")[turn % 4],
    }


def _title(metric: str, bands: bool) -> str:
    words = f"{metric[0].upper()}{metric[1:]} by round and by data sent"
    return f"{words}: mean (line) and range (band) over the seeds." if bands else f"{words}."


def _plain(text: str) -> str:
    """Return a text with dollars escaped, which matplotlib would read as mathematics."""
    return printable(text).replace("$", r"\$")


def _unit(most: float) -> tuple[float, str]:
    """Return bytes in a unit that suits most of them, and its name."""
    power = min(max(0, int(log10(most)) // 3), 4) if most >= 1 else 0
    return 1000.0**power, ("B", "kB", "MB", "GB", "TB")[power]


def _spans_decades(values: Iterable[float]) -> bool:
    finite = [value for value in values if isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) / min(finite) > 10


def write_curves(runs: Sequence[FoundRun], asked: str | None, out: Path, of: str = "runs") -> list[Path]:
    """Draw the curves of a metric as PNG and PDF, and write their numbers as CSV.

    Args:
        runs: The runs.
        asked: The metric; default: accuracy, else the loss.
        out: Folder of the files; made if need be.
        of: Name of the runs, for the names of the files.

    Raises:
        RunError: A run lacks the metric, or is there twice.
        OSError: The folder cannot be written.
    """
    metric = metric_of(runs, asked)
    require_writable(out)
    table = curves(runs, metric)
    name = re.sub(r"[^\w.-]+", "-", f"{of}-{metric}")
    contents = {
        **render(lambda: draw_curves(table, metric), ("png", "pdf")),
        "csv": table.assign(runs=table.runs.map(as_cell))
        .to_csv(index=False, na_rep="nan", lineterminator="\n")
        .encode(),
    }
    write_own({out / f"{name}.{kind}": content for kind, content in contents.items()}, out)
    return [out / f"{name}.{kind}" for kind in contents]
