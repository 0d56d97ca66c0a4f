"""A spectrum through training, from files of weights to a table and a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.make import rendered
from figures.spectrum_command import SpectrumRequest, operators_of, settings_of, too_little_memory_told
from figures.style import BLACK, MARKERS, SERIES, WIDTH
from hessian.state_files import load_state, numbered_states
from hessian.symmetric import CurvatureError
from hessian.through_training import overlaps, rank_columns, state_spectrum
from workloads.files import require_writable, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SHOWN = 6
"""Eigenvalues in the picture."""


def measure_checkpoints(
    request: SpectrumRequest, folder: Path, progress: Callable[[str], None] | None = None
) -> pd.DataFrame:
    """Measures a network at every file of weights in a folder.

    Returns:
        One row for each eigenvalue at each state: number (in the file's name), file, loss, value, low, high (the stable
        rank with its interval), largest (the spectral norm), frobenius, place (from 0, by decreasing eigenvalues),
        eigenvalue, residual, and overlap, overlap_low, overlap_high with the eigenvector of the same place one state
        before; missing at the first.

    Raises:
        CurvatureError: Names, files, a model, a loss or data that do not serve; the message names cause and remedy.
    """
    files = numbered_states(folder)
    states = [lambda model, path=path: load_state(model, path) for path in files.values()]
    rows: list[dict[str, Any]] = []
    before = None
    for (number, path), operator in zip(files.items(), operators_of(request, states, progress), strict=True):
        if progress is not None:
            progress(path.name)
        with too_little_memory_told():
            try:
                now = state_spectrum(operator, settings_of(request, operator), progress)
            except CurvatureError as error:
                raise CurvatureError(f"{path.name}: {error}") from error
        loss = operator.loss
        del operator  # its graph, before the next one is built
        same = {"number": number, "file": path.name, "loss": loss, **rank_columns(now.rank)}
        shared = overlaps(before, now) if before is not None else (None,) * len(now.pairs)
        for place, overlap in enumerate(shared):
            ends = (None,) * 3 if overlap is None else (overlap.value, overlap.low, overlap.high)
            rows.append(same | {
                "place": place, "eigenvalue": now.pairs.values[place], "residual": now.pairs.residuals[place],
                **dict(zip(("overlap", "overlap_low", "overlap_high"), ends, strict=True)),
            })  # fmt: skip
        before = now
    return pd.DataFrame(rows)


def write_checkpoints(table: pd.DataFrame, confidence: float, out: Path) -> list[Path]:
    """Writes ``checkpoints.csv``, ``.png`` and ``.pdf`` to a folder, all or none.

    Raises:
        OSError: The folder cannot be written to.
    """
    require_writable(out)
    contents = rendered(lambda: draw_checkpoints(table, confidence), ("png", "pdf"))
    files = {out / f"checkpoints.{kind}": content for kind, content in contents.items()}
    files = {out / "checkpoints.csv": table.to_csv(index=False).encode()} | files
    write_whole(files)
    return list(files)


def checkpoints_summary(table: pd.DataFrame, confidence: float) -> str:
    """A line for each state."""
    lines = [f"stable rank at {100 * confidence:g} %, largest eigenvalue, overlap of its vector with the one before"]
    for number, state in table.groupby("number"):
        one = state.iloc[0]
        overlap = (
            "" if pd.isna(one.overlap) else f"  {one.overlap:.3f}, {one.overlap_low:.3f} to {one.overlap_high:.3f}"
        )
        lines.append(
            f"{number:>10}  loss {one.loss:<9.4g}  {one.value:.4g}, {one.low:.4g} to {one.high:.4g}  "
            f"{one.eigenvalue:<8.4g}{overlap}"
        )
    return "\n".join(lines)


def draw_checkpoints(table: pd.DataFrame, confidence: float) -> Picture:
    """Three panels over the states: stable rank, largest eigenvalues, overlaps with the state before."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 2.6))
    a, b, c = picture.subplots(1, 3)
    states = table[table.place == 0]
    ends = [states.value - states.low, states.high - states.value]
    a.errorbar(states.number, states.value, ends, fmt="o-", color=BLACK, lw=1.0, ms=3.0)
    a.set(xlabel="number of the state", title=f"stable rank, {100 * confidence:g} % intervals")
    for place, colour, marker in zip(range(SHOWN), SERIES, MARKERS, strict=True):
        of = table[table.place == place]
        if of.empty:
            continue
        b.plot(of.number, of.eigenvalue, marker=marker, color=colour, lw=1.0, ms=3.0, label=str(place + 1))
        later = of.dropna(subset="overlap")
        slack = [later.overlap - later.overlap_low, later.overlap_high - later.overlap]
        c.errorbar(later.number, later.overlap, slack, fmt=f"{marker}-", color=colour, lw=1.0, ms=3.0)
    b.set(xlabel="number of the state", title="largest eigenvalues")
    b.legend(fontsize=7)
    c.set(xlabel="number of the state", ylim=(-0.05, 1.05), title="overlap with the state before")
    return picture
