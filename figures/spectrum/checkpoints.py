"""The spectrum during training, from files of weights or a run's folder, as a table and a picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.make import render
from figures.spectrum.as_json import environment, plain
from figures.spectrum.measured_network import SpectrumRequest
from figures.spectrum.measured_spectrum import (
    expected_pair_products,
    expected_seconds,
    explain_memory_errors,
    settings_of,
)
from figures.spectrum.stored_states import Place, Progress, name_of, visit_files, visit_run
from figures.style import BLACK, MARKERS, SERIES, WIDTH
from hessian.loss.state_files import ENDINGS, left_out_states
from hessian.numerics.intervals import Interval
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.curvature import Curvature
from hessian.quantities.sequence import MeasurementSequence
from hessian.spectrum import SpectrumSettings, describe_missed
from hessian.through_training import StateSpectrum, overlaps, rank_columns, sequence_of, state_spectrum
from runs.networks.curvatures import SERVER
from workloads.files import require_writable
from workloads.written import write_own

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Expect = Callable[[float, str], None]
SHOWN = 6
"""Eigenvalues in the picture."""


def measure_checkpoints(
    request: SpectrumRequest, folder: Path, progress: Progress | None = None, expect: Expect | None = None
) -> pd.DataFrame:
    """Measure a network at every file of weights in a folder.

    Args:
        request: Names, accuracy, device.
        folder: Folder of the files.
        progress: Called with a description of the current step.
        expect: Called with the seconds that the work is likely to take, and its name, before the first measurement.

    Returns:
        One row for each eigenvalue at each state: number (in the file's name), file, samples, loss, value, low, high
        (the stable rank with its interval), largest (the spectral norm), frobenius, place (from 0, by decreasing
        eigenvalues), eigenvalue, residual, missed (how far beyond the last eigenvalue another may be that the rows of
        the state lack; infinite if there was no search), overlap, overlap_low, overlap_high with the eigenvector of
        the same place one state before (missing at the first), and the cost of the state: products, gradients (time
        of the products and checks in gradients over the same data, timed at the first state of the server and of each
        client) and warm (the stable rank started from the eigenvectors of the state before).

    Raises:
        CurvatureError: Names, files, model, loss or data are not valid; the message names cause and remedy.
    """
    table = _Table(request, progress, expect)
    visit_files(request, folder, table.add, progress)
    return pd.DataFrame(table.rows)


def measure_run(
    request: SpectrumRequest,
    folder: Path,
    clients: int,
    progress: Progress | None = None,
    trust: bool = False,
    expect: Expect | None = None,
) -> pd.DataFrame:
    """Measure the server's model of a run at its start and after every round with a checkpoint in the folder.

    Args:
        request: Matrix, parameters, precision, device and accuracy; network, data and loss are the run's.
        folder: Folder of the run.
        clients: Number of first clients to measure as well, each with the matrix of its own samples.
        progress: Called with the current step.
        trust: Whether code that the run names may run.
        expect: Called with the seconds that the work is likely to take, and its name, before the first measurement.

    Returns:
        The rows of `measure_checkpoints` for the server (client -1) and each client at each round (number). The
        server's overlaps are with its previous state, a client's with the server at the same round. Clients start from
        nothing, because the eigenvectors of each would need as much memory as the server's.

    Raises:
        CurvatureError, RunError, FederationError, DataError: The run, its data or its numbers are not valid.
    """
    table = _Table(request, progress, expect)
    visit_run(request, folder, clients, table.add, progress, trust)
    return pd.DataFrame(table.rows)


class _Table:
    """Rows of states that are measured one after the other."""

    def __init__(self, request: SpectrumRequest, progress: Progress | None, expect: Expect | None) -> None:
        self.rows: list[dict[str, Any]] = []
        self._request, self._progress, self._expect = request, progress, expect
        self._before: StateSpectrum | None = None
        self._sequence = sequence_of(request.settings)
        self._gradients: dict[int, float] = {}

    def add(self, place: Place, operator: Curvature) -> None:
        """Measure a state."""
        if not self.rows:
            _expect(self._expect, self._request, operator, place.states)
        if place.client not in self._gradients:
            self._gradients[place.client] = operator.cost().gradient_seconds
        gradient, sequence = self._gradients[place.client], self._sequence if place.client == SERVER else None
        found, now = _state(self._request, operator, place.name, self._progress, gradient, sequence)
        self.rows += _rows({**place.columns, **found}, now, self._before)
        self._before = now if place.client == SERVER else self._before


def _expect(expect: Expect | None, request: SpectrumRequest, operator: Curvature, states: int) -> None:
    if expect is not None:
        products = states * expected_pair_products(request.settings.outliers, operator.P)
        what = f"some {products:,} products at {states} states; fewer --outliers or files shorten it"
        expect(expected_seconds(products, operator), what)


def _state(
    request: SpectrumRequest,
    operator: Curvature,
    name: str,
    progress: Progress | None,
    gradient: float | None,
    sequence: MeasurementSequence | None,
) -> tuple[dict[str, float], StateSpectrum]:
    """Return a state's numbers for the table, and its spectrum."""
    if progress is not None:
        progress(name)
    with explain_memory_errors():
        try:
            told = None if progress is None else (lambda text: progress(f"{name}: {text}"))
            now = state_spectrum(operator, settings_of(request, operator), told, sequence)
        except CurvatureError as error:
            raise CurvatureError(f"{name}: {error}", keywords=error.keywords) from error
    cost = operator.cost(gradient)
    spent = {"products": cost.products, "gradients": cost.gradients_with_checks, "warm": now.warm}
    return {"samples": operator.samples, "loss": operator.loss, **rank_columns(now.rank), **spent}, now


def _rows(same: dict[str, Any], now: StateSpectrum, other: StateSpectrum | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each eigenvalue, with the overlaps of the eigenvectors of two states."""
    shared: Sequence[Interval | None] = (None,) * len(now.pairs) if other is None else overlaps(other, now)
    for place, overlap in enumerate(shared):
        # Not None: a column without any number would have another type.
        ends = (nan,) * 3 if overlap is None else (overlap.value, overlap.low, overlap.high)
        yield same | {
            "place": place,
            "eigenvalue": now.pairs.values[place],
            "residual": now.pairs.residuals[place],
            "missed": now.missed,
            **dict(zip(("overlap", "overlap_low", "overlap_high"), ends, strict=True)),
        }


def write_checkpoints(table: pd.DataFrame, request: SpectrumRequest, folder: Path, out: Path) -> list[Path]:
    """Write ``checkpoints.csv``, ``.json``, ``.png`` and ``.pdf``, all or none, as `write_states`."""
    return write_states("checkpoints", table, request, folder, out, draw_checkpoints)


def write_states(
    name: str,
    table: pd.DataFrame,
    request: SpectrumRequest,
    folder: Path,
    out: Path,
    draw: Callable[[pd.DataFrame, float], Picture],
) -> list[Path]:
    """Write a table of states as CSV and as JSON with its settings, and a picture as PNG and PDF, all or none.

    Args:
        name: Name of the files.
        table: The measured table.
        request: Request for the measurement.
        folder: Folder of the states.
        out: Where the files go.
        draw: Draws the table, given the confidence.

    Raises:
        OSError: The folder cannot be written to.
    """
    require_writable(out)
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    fields = {"request": plain(request), "states": str(folder), "rows": rows, **environment()}
    text = json.dumps(plain(fields), indent=1, ensure_ascii=False, allow_nan=False)
    contents = {"csv": table.to_csv(index=False).encode(), "json": (text + "\n").encode()}
    contents |= render(lambda: draw(table, request.settings.confidence), ("png", "pdf"))
    files = {out / f"{name}.{kind}": content for kind, content in contents.items()}
    write_own(files, out)
    return list(files)


def checkpoints_summary(table: pd.DataFrame, confidence: float, folder: Path) -> str:
    """Return a line for each state, or for server and clients at each round, and one about files that are left out."""
    of_run = "client" in table
    with_what = "the state before (server), the server (client)" if of_run else "the one before"
    lines = [f"stable rank at {100 * confidence:g} %, largest eigenvalue, overlap of its vector with {with_what}"]
    for one in table[table.place == 0].to_dict("records"):
        ends = f"  {one['overlap']:.3f}, {one['overlap_low']:.3f} to {one['overlap_high']:.3f}"
        ends = "" if pd.isna(one["overlap"]) else ends
        who = "  " + f"{name_of(one['client']):<10}" if of_run else ""
        lines.append(
            f"{one['number']:>10}{who}  loss {one['loss']:<9.4g}  {one['value']:.4g}, {one['low']:.4g} to "
            f"{one['high']:.4g}  {one['eigenvalue']:<8.4g}{ends}  {one['products']} products, {one['gradients']:.0f} "
            f"gradients{' from the state before' if one['warm'] else ''}"
        )
        if lacking := describe_missed(one["missed"], 2.0 * SpectrumSettings.tolerance * one["largest"]):
            lines.append(f"{'':>10}  {lacking.replace('raise products', 'raise --products')}")
    return "\n".join([*lines, *([] if of_run else left_out_lines(folder))])


def left_out_lines(folder: Path) -> list[str]:
    """Return a line about files of weights in a folder that are left out, if there are any."""
    left_out = left_out_states(folder)
    if not left_out:
        return []
    why = f"because a name has no number, or the format is none of {', '.join(ENDINGS)}"
    return [f"left out: {', '.join(left_out)}, {why}"]


def draw_checkpoints(table: pd.DataFrame, confidence: float) -> Picture:
    """Draw three panels over the states: stable rank, largest eigenvalues, overlaps.

    For files of weights: the largest eigenvalues, and their vectors' overlaps with the state before. For a run: server
    and clients, the largest eigenvalue of each, and the overlap of its vector.
    """
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 2.6))
    a, b, c = picture.subplots(1, 3)
    of_run = "client" in table
    name = "round" if of_run else "number of the state"
    of_all = table[table.client == SERVER] if of_run else table
    looks = [(of_all[of_all.place == place], SERIES[place], MARKERS[place], str(place + 1)) for place in range(SHOWN)]
    if of_run:
        clients = table[(table.client != SERVER) & (table.place == 0)]
        looks = [(of_all[of_all.place == 0], BLACK, "o", "server"), (clients, SERIES[0], MARKERS[1], "clients")]
    for rows, colour, marker, label in looks if of_run else [(of_all[of_all.place == 0], BLACK, "o", "")]:
        a.errorbar(
            rows.number,
            rows.value,
            [rows.value - rows.low, rows.high - rows.value],
            label=label,
            fmt=f"{marker}{_line(label)}",
            color=colour,
            lw=1.0,
            ms=3.0,
        )
    for rows, colour, marker, label in looks:
        if rows.empty:
            continue
        fmt = f"{marker}{_line(label)}"
        b.plot(rows.number, rows.eigenvalue, fmt, color=colour, lw=1.0, ms=3.0, label=label)
        known = rows.dropna(subset="overlap")
        slack = [known.overlap - known.overlap_low, known.overlap_high - known.overlap]
        c.errorbar(known.number, known.overlap, slack, fmt=fmt, color=colour, lw=1.0, ms=3.0)
    a.set(xlabel=name, title=f"stable rank, {100 * confidence:g} % intervals")
    b.set(xlabel=name, title="largest eigenvalue" if of_run else "largest eigenvalues")
    b.legend(fontsize=7)
    c.set(
        xlabel=name,
        ylim=(-0.05, 1.05),
        title="overlap with the state before\n(server), the server (clients)"
        if of_run
        else "overlap with the state before",
    )
    return picture


def _line(label: str) -> str:
    """Return the line style; clients are not joined, because a round has several."""
    return "" if label == "clients" else "-"
