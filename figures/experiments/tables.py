"""Tables of the papers as pictures: published, obtained and difference, and each comparison with its interval.

Colours show the size of a difference and the finding on a comparison. Words and numbers repeat both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from figures.experiments.effects import Effect, Finding
from figures.experiments.text_tables import Cell, fill_table
from figures.style import BLUE, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

COLOURS: dict[Finding, str] = {"supports": BLUE, "contradicts": VERMILION, "undecided": "0.55", "not reached": "0.55"}
ROW = 0.19
"""Inches of a row."""
FULL_TINT = 30.0
"""Points of difference at which a cell has its full tint."""


@dataclass(frozen=True)
class Value:
    """A row of a table.

    Attributes:
        group: Setting; written where it changes.
        name: Name of the row.
        published: Printed value, in per cent; none: nothing is printed.
        obtained: Mean over the seeds, in per cent; nan where every run failed.
        half_width: Half the width of its 95 % interval; nan for one seed.
        failed: Number of runs that failed.
        same_data: Whether the printed value is of the data that were run.
    """

    group: str
    name: str
    published: float | None
    obtained: float
    half_width: float
    failed: int = 0
    same_data: bool = True

    @property
    def difference(self) -> float:
        """Obtained minus published; nan if nothing is printed, or only for other data."""
        return float("nan") if self.published is None or not self.same_data else self.obtained - self.published

    @property
    def cells(self) -> tuple[str, str, str]:
        """Published, obtained and difference as text."""
        published = "" if self.published is None else f"{self.published:.1f}"
        width = f" ± {self.half_width:.1f}" if np.isfinite(self.half_width) else ""
        obtained = f"{self.obtained:.1f}{width}" if np.isfinite(self.obtained) else "-"
        difference = f"{self.difference:+z.1f}" if np.isfinite(self.difference) else ""
        return published, obtained + (f" ({self.failed} failed)" if self.failed else ""), difference


@dataclass(frozen=True)
class Contrast:
    """A statement that one line is above another, and the evidence of the runs.

    Attributes:
        group: Setting; written where it changes.
        name: Name of the comparison.
        published: The difference between the printed values, in points; none: nothing is printed.
        effect: Effect of the runs, in shares of 1.
    """

    group: str
    name: str
    published: float | None
    effect: Effect

    @property
    def falls(self) -> bool:
        """Whether the first line is printed below the second."""
        return self.published is not None and self.published < 0.0

    @property
    def finding(self) -> Finding:
        """Finding on the printed order of the lines; if nothing is printed, on whether the first is above."""
        return (self.effect.reversed if self.falls else self.effect).above


def count_effects(one: str, other: str, effects: Sequence[Effect]) -> str:
    """Describe in how many settings one line is above another in the runs, below it, or neither.

    >>> count_effects("FedLoRU", "FedAvg", [Effect(5, 0.02, 0.01, 0.02), Effect(5, 0.01, 0.03, 0.04)])
    'FedLoRU is above FedAvg in 1 of 2 settings, 1 undecided (+1.0 to +2.0 points)'
    """
    found = Counter(effect.above for effect in effects)
    words = [f"below in {found['contradicts']}"] if found["contradicts"] else []
    words += [f"{found['undecided']} undecided"] if found["undecided"] else []
    words += [f"{found['not reached']} not reached"] if found["not reached"] else []
    of = f"{found['supports']} of {len(effects)} setting{'s'[: len(effects) - 1]}"
    means = sorted(100 * effect.mean for effect in effects if effect.pairs)
    span = " to ".join(f"{mean:+z.1f}" for mean in dict.fromkeys((*means[:1], *means[-1:])))
    return f"{one} is above {other} in {', '.join([of, *words])} ({f'{span} points' if span else 'runs failed'})"


def lead_headline(one: str, other: str, effects: Sequence[Effect], settings: str = "settings") -> str:
    """Return the headline of a comparison in several settings: one fact, in at most fifteen words.

    >>> lead_headline("FedLoRU", "FedAvg", [Effect(5, -0.02, 0.01, 0.02), Effect(5, -0.01, 0.005, 0.01)])
    'FedLoRU is below FedAvg in both settings, by 1.0 to 2.0 points'
    >>> lead_headline("FedLoRU", "FedAvg", [Effect(5, 0.02, 0.01, 0.02), Effect(5, 0.01, 0.03, 0.04)])
    'FedLoRU is above FedAvg in 1 of 2 settings, undecided in 1'
    """
    found, count = Counter(effect.above for effect in effects), len(effects)
    words: dict[Finding, str] = {
        "supports": "above",
        "contradicts": "below",
        "undecided": "undecided",
        "not reached": "not reached",
    }
    told = [(word, found[finding]) for finding, word in words.items() if found[finding]]
    if not told:
        return f"{one} and {other} have no setting in common"
    (first, often), *more = told
    decided = first in ("above", "below")
    every = {1: f"the one {settings[:-1]}", 2: f"both {settings}"}.get(count, f"all {count} {settings}")
    where = every if decided and often == count else f"{often} of {count} {settings}"
    if not decided:
        rest = "".join(f", {word} in {number}" for word, number in more)
        return f"{one} against {other} is {first} in {where}{rest}"
    sizes = sorted(abs(100 * effect.mean) for effect in effects)
    span = " to ".join(dict.fromkeys(f"{size:.1f}" for size in (sizes[0], sizes[-1])))
    rest = "".join(f", {word} in {number}" for word, number in more) if more else f", by {span} points"
    return f"{one} is {first} {other} in {where}{rest}"


def draw_table(values: Sequence[Value], contrasts: Sequence[Contrast], unit: str = "accuracy, %") -> Picture:
    """Draw the table on the left and the comparisons on the right, or one below the other if the table is short.

    Args:
        values: Rows of the table.
        contrasts: Comparisons; none are drawn where there are none.
        unit: Unit of the values.
    """
    from matplotlib.figure import Figure

    lines = max(_lines([v.group for v in values]), _lines([c.group for c in contrasts]))
    picture = Figure(figsize=(WIDTH, 1.15 + ROW * lines))
    left, *right = picture.subplots(
        1, 2 if contrasts else 1, width_ratios=(1.15, 1) if contrasts else None, squeeze=False
    )[0]
    _table(left, values, lines, unit)
    for axes in right:
        _forest(axes, contrasts, lines)
    return picture


def _lines(groups: Sequence[str]) -> int:
    return len(groups) + len(dict.fromkeys(groups)) + 1


def _table(axes: Any, values: Sequence[Value], lines: int, unit: str) -> None:
    printed = any(value.published is not None for value in values)
    compared = any(np.isfinite(value.difference) for value in values)
    rows: list[list[Cell]] = []
    for group, of in groupby(values, key=lambda value: value.group):
        rows.append([Cell(group, bold=True)])
        for value in of:
            published, obtained, difference = map(Cell, value.cells)
            if np.isfinite(value.difference):
                difference = Cell(difference.text, value.difference / FULL_TINT)
            shown = [*([published] if printed else []), obtained, *([difference] if compared else [])]
            rows.append([Cell(f"  {value.name}"), *shown])
    heads = (unit, *(("published",) if printed else ()), "obtained", *(("diff.",) if compared else ()))
    widths = {2: (0.7, 0.3), 3: (0.46, 0.22, 0.32), 4: (0.34, 0.18, 0.28, 0.2)}
    fill_table(axes, heads, rows, widths[len(heads)], lines)


def _forest(axes: Any, contrasts: Sequence[Contrast], lines: int) -> None:
    axes.set_ylim(lines - 0.5, -0.5)
    axes.axvline(0.0, color="0.3", linewidth=0.8)
    labels, group, line = [], None, 1
    for contrast in contrasts:
        if contrast.group != group:
            labels.append((line, contrast.group))
            line, group = line + 1, contrast.group
        effect = contrast.effect
        colour = COLOURS[effect.above]
        if np.isfinite(effect.half_width):
            axes.plot([100 * effect.low, 100 * effect.high], [line, line], color=colour, linewidth=1.6)
        axes.plot(100 * effect.mean, line, "o", color=colour, markersize=4)
        if contrast.published is not None:
            axes.plot(contrast.published, line, "D", markerfacecolor="white", markeredgecolor="black", markersize=3.5)
        labels.append((line, contrast.name))
        line += 1
    axes.set_yticks([at for at, _ in labels], [text for _, text in labels], fontsize=7)
    groups = {contrast.group for contrast in contrasts}
    for tick, (_, text) in zip(axes.get_yticklabels(), labels, strict=True):
        tick.set_weight("bold" if text in groups else "normal")
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    printed = any(contrast.published is not None for contrast in contrasts)
    axes.set_xlabel("difference, points" + ("\ndot: obtained, diamond: published" if printed else ""), fontsize=8)
