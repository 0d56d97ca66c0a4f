"""Visible content of a picture: texts, and curves, bars and bands under the names that a legend gives them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from figures.style import STYLE

MARGIN = 0.04
"""Inches around a legend's letters, that stay empty."""


@dataclass(frozen=True)
class Mark:
    """Something drawn: `curve` (x, y), `bars` or `band` (x, low, high), or `level` (a line across the panel)."""

    kind: str
    name: str
    points: np.ndarray

    def __repr__(self):
        return f"{self.kind} {self.name!r} {np.array2string(self.points, threshold=12, precision=6)}"


def _mark(kind, name, *columns):
    points = np.column_stack([np.atleast_1d(np.asarray(column, dtype=float)) for column in columns])
    points = points[np.isfinite(points).all(axis=1)]
    return Mark(kind, name, points[np.lexsort(points.T[::-1])])


def curve(name, x, y):
    return _mark("curve", name, x, y)


def bars(name, x, low, high):
    return _mark("bars", name, x, low, high)


def band(x, low, high):
    return _mark("band", "", x, low, high)


def level(value):
    return _mark("level", "", value)


def _look(line):
    marker = line.get_marker()
    pointed = marker not in ("None", "none", "", " ", None)
    hollow = pointed and to_rgba(line.get_markerfacecolor()) == to_rgba("white")
    drawn = line.get_linestyle() not in ("None", "none", "", " ")
    dashes = tuple(line._unscaled_dash_pattern[1] or ()) if drawn else None
    color = line.get_color() if drawn else line.get_markeredgecolor()
    return to_hex(color), marker if pointed else None, hollow, dashes


def _legends(axes) -> list[Legend]:
    own = axes.get_legend()
    return [*([own] if own is not None else []), *axes.figure.legends]


def _name(line, label, axes):
    """The text next to the legend's sample that looks like the line; the line's own label if a legend has it."""
    legends = _legends(axes)
    texts = {text.get_text() for legend in legends for text in legend.get_texts()}
    if label in texts:
        return label
    alike = [
        text.get_text()
        for legend in legends
        for sample, text in zip(legend.legend_handles, legend.get_texts(), strict=True)
        if isinstance(sample, Line2D) and _look(sample) == _look(line)
    ]
    return alike[0] if len(alike) == 1 else ""


def drawn(axes) -> list[Mark]:
    """All marks of a panel that have a finite point; rows in the order of x."""
    of_bars = {id(part): container for container in axes.containers for part in _parts(container)}
    found = []
    for line in axes.lines:
        container = of_bars.get(id(line))
        name = _name(line, (line if container is None else container).get_label(), axes)
        x, y = (np.asarray(part, dtype=float) for part in (line.get_xdata(), line.get_ydata()))
        if line.get_transform() != axes.transData:
            found.append(level(y[0] if y[0] == y[1] and (x == (0, 1)).all() else x[0]))
        else:
            found.append(curve(name, x, y))
    for collection in axes.collections:
        if isinstance(collection, PolyCollection):
            found.append(
                band(*_ends(np.vstack([path.vertices for path in collection.get_paths()] or [np.empty((0, 2))])))
            )
        elif isinstance(collection, LineCollection):
            container = of_bars.get(id(collection))
            label = "" if container is None else container.get_label()
            upright = [s for s in collection.get_segments() if len(s) and s[0, 0] == s[-1, 0]]
            name = _name(container.lines[0], label, axes) if container is not None and container.lines[0] else ""
            if upright:
                ends = np.array([(s[0, 0], s[:, 1].min(), s[:, 1].max()) for s in upright])
                found.append(bars(name, *ends.T))
    return [mark for mark in found if len(mark.points)]


def _parts(container: Any) -> Iterable[Any]:
    if not hasattr(container, "has_yerr"):
        return []
    data, caps, lines = container.lines
    return [data, *caps, *lines]


def _ends(vertices):
    x = np.unique(vertices[:, 0])
    of = [vertices[vertices[:, 0] == value, 1] for value in x]
    return x, [ys.min() for ys in of], [ys.max() for ys in of]


def same(found: Iterable[Mark], expected: Iterable[Mark], rtol: float = 1e-9, aside: float = 1e-9) -> None:
    """Everything that is expected is drawn under its name, and nothing else.

    Args:
        found: Marks that are drawn.
        expected: Marks that should be drawn; those without a point count for nothing.
        rtol: Relative tolerance of values.
        aside: Relative tolerance of x: marks may stand side by side.
    """
    left, missing = list(found), []
    for mark in expected:
        place = next((place for place, other in enumerate(left) if _alike(other, mark, rtol, aside)), None)
        if place is not None:
            del left[place]
        elif len(mark.points):
            missing.append(mark)
    assert (missing, left) == ([], []), f"not drawn: {missing}\nnot expected: {left}"


def _alike(one: Mark, other: Mark, rtol: float, aside: float) -> bool:
    if (one.kind, one.name, one.points.shape) != (other.kind, other.name, other.points.shape):
        return False
    limits = [rtol] if one.kind == "level" else [aside, *[rtol] * (one.points.shape[1] - 1)]
    return all(
        np.allclose(a, b, rtol=limit, atol=1e-12)
        for a, b, limit in zip(one.points.T, other.points.T, limits, strict=True)
    )


def without(found: Iterable[Mark], name: str, function: Callable[[np.ndarray], Any], least: int = 20) -> list[Mark]:
    """The marks without the one curve of that name that follows a function, at no fewer points than `least`."""
    left, taken = [], 0
    for mark in found:
        x, y = mark.points[:, 0], mark.points[:, -1]
        if (mark.kind, mark.name) == ("curve", name) and len(x) >= least and np.allclose(y, function(x), atol=1e-9):
            taken += 1
        else:
            left.append(mark)
    assert taken == 1, f"{taken} curves follow the function of {name!r} in {left}"
    return left


def styled(draw: Callable[..., Any], *arguments: Any) -> Any:
    """The picture in the house's style, as it is made; nothing of it lies outside."""
    with rc_context(STYLE):
        picture = draw(*arguments)
        picture.draw_without_rendering()
    box, (width, height) = picture.get_tightbbox(), picture.get_size_inches()
    assert -MARGIN < box.x0 < box.x1 < width + MARGIN
    assert -MARGIN < box.y0 < box.y1 < height + MARGIN
    return picture


def texts(axes) -> tuple[str, str, str]:
    """Title and labels."""
    return axes.get_title(loc="left") or axes.get_title(), axes.get_xlabel(), axes.get_ylabel()


def key(holder) -> list[str]:
    """The texts of a picture's or panel's legend."""
    legend = holder.get_legend() if hasattr(holder, "get_legend") else holder.legends[0]
    return [text.get_text() for text in legend.get_texts()]


def within(axes) -> bool:
    """Whether every point of every curve, bar and band lies within the panel's limits."""
    (left, right), (low, high) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
    for mark in drawn(axes):
        if mark.kind != "level":
            x, y = mark.points[:, 0], mark.points[:, 1:]
            if not (((left <= x) & (x <= right)).all() and ((low <= y) & (y <= high)).all()):
                return False
    return True
