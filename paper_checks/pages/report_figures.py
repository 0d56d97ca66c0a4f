"""The figures of the report, made by several processes, and returned in the order in which they are shown."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from figures.figure import SCALES, Figure, Settings
from figures.ledger import select
from figures.make import DrawnFigure, make
from figures.stored_numbers import stored_numbers
from paper_checks.engine.processes import map_work
from runs.settings import RunError
from workloads.data.idx import DataError

NOT_COMPLETE = "its runs are not complete"
"""Why an experiment is not drawn."""


@dataclass(frozen=True)
class ReportFigure:
    """A figure or a table of a paper in the report.

    Attributes:
        id: its id, such as ``fedlrt/fig-4``.
        title: its title; may hold LaTeX between dollar signs, like caption and found.
        caption: what is drawn.
        svg: the picture as SVG text, or
        png: the picture as PNG bytes.
        scale: quick, laptop or paper.
        datasets: names of the data sets in it.
        seeds: seeds of its random streams.
        seconds: time its numbers took; 0 where they are stored.
        command: the command that draws it again.
        found: one sentence: what is stated and what is found.
        reason: why it is not drawn; empty if it is.
    """

    id: str
    title: str
    caption: str
    svg: str = ""
    png: bytes = b""
    scale: str = ""
    datasets: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    seconds: float = 0.0
    command: str = ""
    found: str = ""
    reason: str = ""

    @classmethod
    def missing(cls, id: str, title: str, caption: str, reason: str, command: str = "") -> ReportFigure:
        """Return a figure that could not be drawn, with the reason, and the command that makes what is missing."""
        return cls(id, title, caption, command=command, reason=reason)

    @classmethod
    def of(cls, made: DrawnFigure) -> ReportFigure:
        """Return a figure that was made, with the picture and the manifest that ``make`` wrote."""
        manifest = made.manifest
        return cls(
            made.figure.id,
            made.figure.title,
            made.caption,
            svg=made.paths["svg"].read_text(encoding="utf-8"),
            scale=manifest["scale"],
            datasets=tuple(entry["name"] for entry in made.manifest["data"]),
            seeds=(manifest["seed"],),
            seconds=0.0 if manifest["stored"] else manifest["seconds_for_the_numbers"],
            command=manifest["command"],
            found=made.found,
        )

    @property
    def address(self) -> str:
        """The picture as a data address: an image can neither run scripts nor load other files."""
        kind, content = ("svg+xml", self.svg.encode()) if self.svg else ("png", self.png)
        return f"data:image/{kind};base64,{base64.b64encode(content).decode()}" if content else ""


def report_figures(
    figures: Sequence[Figure],
    settings: Settings,
    out: Path,
    *,
    stored: bool = False,
    recompute: bool = False,
    jobs: int = 1,
    progress: Callable[[str], None] = lambda id: None,
) -> list[ReportFigure]:
    """Make figures; a figure whose data or model are missing is replaced by a message.

    Args:
        figures: the figures, in the order of the result.
        settings: scale, seed, device, and location of the data.
        out: folder to write to.
        stored: draw at the scale of the stored numbers, unless they are to be computed again; an experiment without
            stored numbers is left out at scale quick, which is not evidence about it.
        recompute: use neither cached nor stored numbers.
        jobs: processes; pictures and numbers do not depend on it.
        progress: called with the id of each figure when it is ready.

    Raises:
        FigureError: the device is not on this machine, or stored numbers are damaged.
        OSError: the folder cannot be written to.
        ProcessError: a worker was killed.
    """
    one = _One(replace(settings, progress=None, notify=None), out, stored and not recompute, recompute)
    found = []
    with closing(map_work(one, [figure.id for figure in figures], min(jobs, len(figures)))) as answers:
        for figure in answers:
            found.append(figure)
            progress(figure.id)
    return found


@dataclass(frozen=True)
class _One:
    """A worker's task: one figure for the report."""

    settings: Settings
    out: Path
    stored: bool
    recompute: bool

    def __call__(self, id: str) -> ReportFigure:
        [figure] = select([id])
        settings = replace(self.settings, notify=lambda text: print(f"{id}: {text}", file=sys.stderr))
        scales = (replace(settings, scale=scale) for scale in reversed(SCALES[1:]))
        stored = next((one for one in scales if self.stored and stored_numbers(figure, one) is not None), None)
        if stored is not None:
            settings = stored
        elif self.stored and settings.scale == "quick" and not figure.quick_decides:
            command = f"rankproof figure {id} --scale laptop"
            return ReportFigure.missing(id, figure.title, figure.caption, NOT_COMPLETE, command)
        try:
            return ReportFigure.of(make(figure, settings, self.out, recompute=self.recompute))
        except (DataError, RunError) as error:  # data or a model that are not here, an extra that is not installed
            return ReportFigure.missing(id, figure.title, figure.caption, " ".join(str(error).split()))
