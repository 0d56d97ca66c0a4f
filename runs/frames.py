"""Metrics of a run as a data frame."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from runs.listing import FoundRun, describe_edit, find_runs
from runs.settings import RunError

if TYPE_CHECKING:
    from pandas import DataFrame


def load(folder: str | Path) -> DataFrame:
    """Return the metrics of a run, a row per round, with the settings of the run in `attrs`.

    Nothing is recomputed, and no code runs that the folder names. The run may still be in progress.

    Args:
        folder: Folder of one run, as `rankproof train` writes it.

    Returns:
        A frame with the index `round`, from 0 for the start. Columns that every run has are `bytes_down` and
        `bytes_up`: bytes sent to and by all clients since the start. The problem adds its own, such as `loss` and
        `accuracy`. `rank` is the largest rank of the layers if the algorithm changes it, and `alignment` is there if it
        was measured. Values are missing (NaN) for rounds without an evaluation. `attrs` has the settings by name in
        `settings`, and `algorithm`, `problem`, `rounds` (number asked for), `conduct`, `versions`, `given` and
        `folder`.

    Raises:
        RunError: The folder has no run or several, the run cannot be read, or its settings were changed afterwards.

    >>> frame = load("results/runs/fedavg-quadratics-299300a6e31c")  # doctest: +SKIP
    >>> frame["loss"].iloc[-1], frame.attrs["settings"]["learning_rate"]  # doctest: +SKIP
    (5.62, 0.05)
    """
    import pandas as pd

    found = find_runs(Path(folder))
    if len(found) > 1:
        raise RunError(f"{folder} has {len(found)} runs; name the folder of one, such as {found[0].folder}")
    (run,) = found
    if run.edited:
        raise RunError(f"{describe_edit(run)}; restore it from a copy")
    frame = pd.DataFrame([dict(row) for row in run.rows] or {"round": [], "bytes_down": [], "bytes_up": []})
    frame = frame.astype({"round": "int64", "bytes_down": "int64", "bytes_up": "int64"}).set_index("round")
    names = [field.name for field in fields(FoundRun) if field.name not in ("rows", "edited")]
    frame.attrs.update({name: getattr(run, name) for name in names} | {"folder": str(run.folder)})
    return frame
