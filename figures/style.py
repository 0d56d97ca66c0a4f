"""One look for all pictures: readable at column width, in grey, and by colour-blind readers."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Picture

STYLE: dict[Any, Any] = {
    "font.sans-serif": ["DejaVu Sans", "sans-serif"],  # every text of an SVG contains the whole list
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "errorbar.capsize": 0.0,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 180.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "rankproof",
    "pdf.fonttype": 42,
}
"""For `matplotlib.rc_context`."""

BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
"""The palette of Okabe and Ito, without its yellow, which is hard to see on paper."""

SERIES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = ("o", "s", "^", "D", "v", "P")
WIDTH = 7.0
"""Inches: the text width of a page."""
LETTERS = 14
"""Characters of a headline per inch."""
SMALLER = 7.5
"""Font size of the line under a headline."""


def set_headline(picture: Picture, text: str, below: str = "") -> None:
    """Set the headline of a picture, left-aligned, on as many lines as it needs.

    Args:
        picture: The picture.
        text: The headline.
        below: A second text, which is smaller, under the headline; empty: none.
    """
    from matplotlib.text import Annotation

    width = picture.get_figwidth()
    lines = fill(text, round(LETTERS * width), break_on_hyphens=False)
    smaller = fill(below, round(LETTERS * 9 / SMALLER * width), break_on_hyphens=False)
    # Empty lines of the headline reserve the space, because layouts move only one title.
    title = picture.suptitle(lines + "\n" * len(smaller.splitlines()), x=0.01, ha="left", fontsize=9)
    if smaller:
        under = Annotation(smaller, (0, 0), xycoords=title, ha="left", va="bottom", fontsize=SMALLER, color="0.35")
        under.set_in_layout(False)
        picture.add_artist(under)


def plain_log_ticks(axis: Axis, subs: tuple[float, ...] = (1.0, 2.0, 5.0)) -> None:
    """Label the ticks of a short logarithmic axis with plain numbers."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(NullLocator())


def dimension(R: int) -> str:
    """Return a dimension as short mathematics, without the dollars."""
    exponent = len(str(R)) - 1
    return f"10^{{{exponent}}}" if 10**exponent == R else f"{R:,}".replace(",", "{,}")
