"""The figures of the report, made by several processes, in the order they are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from figures.figure import SCALES, Figure, Settings
from figures.ledger import select
from figures.make import make
from figures.stored_numbers import stored_numbers
from paper_checks.processes import mapped
from paper_checks.report import ReportFigure
from runs.settings import RunError
from workloads.idx import DataError

NOT_COMPLETE = "its runs are not complete"
"""Why an experiment is not drawn."""


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
    """Makes figures; one whose data or model are missing says so in its place.

    Args:
        figures: what to draw, in the order of the answer.
        settings: scale, seed, device, where the data are.
        out: folder to write to.
        stored: at the scale of the numbers that are stored with the project, unless they are to be computed anew; an
            experiment without them is left out at scale quick, which decides nothing about it.
        recompute: use neither cached nor stored numbers.
        jobs: processes; pictures and numbers do not depend on it.
        progress: called with the id of each figure as it is there.

    Raises:
        FigureError: the device is not on this machine, or stored numbers are damaged.
        OSError: the folder cannot be written to.
        ProcessError: a worker was killed.
    """
    one = _One(replace(settings, progress=None, told=None), out, stored and not recompute, recompute)
    found = []
    with closing(mapped(one, [figure.id for figure in figures], min(jobs, len(figures)))) as answers:
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
        settings = replace(self.settings, told=lambda text: print(f"{id}: {text}", file=sys.stderr))
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
