"""Descriptions of pictures as plain values: what is drawn where, in which look, and under which words."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator
from pandas import DataFrame

from figures.make import read_table
from figures.style import STYLE

STORED = Path(__file__).parents[2] / "docs" / "figures"


def figures_of(values: Any) -> list[float]:
    """Return number, ends, and a mean that depends on the order of numbers; those that are not finite count 0."""
    flat = np.asarray(values, dtype=float).ravel()
    finite = np.where(np.isfinite(flat), flat, 0.0)
    if not len(flat):
        return [0]
    places = np.linspace(1.0, 2.0, len(flat))
    return [len(flat), *(_digits(one) for one in (finite.min(), finite.max(), places @ finite))]


def _digits(value: float) -> float:
    return float(f"{value:.7g}")


def _colour(colour: Any) -> str:
    if isinstance(colour, np.ndarray) and colour.ndim == 2:
        return ", ".join(dict.fromkeys(_colour(one) for one in colour))
    return colour if isinstance(colour, str) and colour == "none" else to_hex(colour, keep_alpha=True)


def _line(line: Line2D) -> list[Any]:
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    width = f"{line.get_linestyle()} {line.get_linewidth():g}" if line.get_linestyle() != "None" else ""
    mark = line.get_marker()
    face = "" if mark in ("None", None) else f"{mark} {line.get_markersize():g} {_colour(line.get_markerfacecolor())}"
    every = f" every {line.get_markevery()}" if face and line.get_markevery() else ""
    label = "" if str(line.get_label()).startswith("_") else line.get_label()
    return [label, f"{_colour(line.get_color())} {width} {face}{every}", figures_of(x), figures_of(y)]


def _collection(one: Collection) -> list[Any]:
    label = "" if str(one.get_label()).startswith("_") else one.get_label()
    parts = [path.vertices for path in one.get_paths()]
    points = np.concatenate(parts) if parts else np.zeros((0, 2))
    look = f"{_colour(one.get_facecolor())} {_colour(one.get_edgecolor())} {len(parts)}"
    offsets = np.asarray(one.get_offsets(), float)
    found = [label, look, figures_of(points[:, 0]), figures_of(points[:, 1])]
    return [*found, figures_of(offsets)] if offsets.any() else found


def _legend(legend: Any) -> list[str]:
    return [legend.get_title().get_text(), *(text.get_text() for text in legend.get_texts())]


def panel(axes: Axes) -> dict[str, Any]:
    """Return what a panel shows."""
    found: dict[str, Any] = {
        "words": [axes.get_title(loc) for loc in ("left", "center") if axes.get_title(loc)]
        + [axes.get_xlabel(), axes.get_ylabel()],
        "scales": f"{axes.get_xscale()} {axes.get_yscale()} {axes.axison} {axes.xaxis_inverted()}",
        "limits": [_digits(one) for one in (*axes.get_xlim(), *axes.get_ylim())],
        "lines": [_line(line) for line in axes.get_lines()],
        "areas": [_collection(one) for one in axes.collections],
        "patches": [
            [
                type(one).__name__,
                _colour(one.get_facecolor()),
                *([_digits(side) for side in one.get_bbox().bounds] if isinstance(one, Rectangle) else ()),
            ]
            for one in axes.patches[:60]
        ],
        "texts": [[one.get_text(), _colour(one.get_color()), *map(_digits, one.get_position())] for one in axes.texts],
        "images": [figures_of(one.get_array()) for one in axes.images],
        "legend": [] if axes.get_legend() is None else _legend(axes.get_legend()),
    }
    for axis, name in ((axes.xaxis, "across"), (axes.yaxis, "up")):
        if isinstance(axis.get_major_locator(), FixedLocator):
            texts = [tick.get_text() for tick in axis.get_ticklabels()]
            found[name] = [figures_of(axis.get_ticklocs()), *texts]
    return {name: of for name, of in found.items() if of}


def picture(draw: Any, *arguments: Any) -> dict[str, Any]:
    """Draw a picture in the project's style and describe it."""
    with rc_context(STYLE):
        drawn: Figure = draw(*arguments)
    return {
        "size": [_digits(side) for side in drawn.get_size_inches()],
        "title": drawn.get_suptitle(),
        "legends": [_legend(one) for one in drawn.legends],
        "texts": [text.get_text() for text in drawn.texts],
        "panels": [panel(axes) for axes in drawn.axes],
    }


def stored(slug: str, **columns: str) -> DataFrame:
    """Return the stored numbers of a figure, only rows with one of the given entries, separated by bars, by column."""
    rows = csv.reader((STORED / f"{slug}.csv").open(encoding="utf-8", newline=""))
    names = next(rows)
    wanted = [(names.index(name), set(entries.split("|"))) for name, entries in columns.items()]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(row for row in rows if all(row[place] in entries for place, entries in wanted))
    return read_table(text.getvalue())
