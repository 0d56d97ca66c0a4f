"""Quantities during training, from files of weights or a run's folder, as a table and a picture.

Files, and the server of a run, are measured one after the other from the findings of the states before
(`hessian.quantities.sequence`). Clients start from nothing, and so does everything under a budget of memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.spectrum.as_json import require_same_subject
from figures.spectrum.checkpoints import left_out_lines, write_states
from figures.spectrum.measured_network import SpectrumRequest
from figures.spectrum.measured_spectrum import explain_memory_errors, settings_of
from figures.spectrum.stored_states import Place, Progress, name_of, visit_files, visit_run
from figures.style import BLACK, MARKERS, SERIES, WIDTH
from hessian.loss.output_curvature import MATRICES
from hessian.numerics.intervals import format_interval
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.curvature import Curvature
from hessian.quantities.estimates import Measurement, Profile
from hessian.quantities.measurement import measure_with, stream_of
from hessian.quantities.names import CURVES, Quantity, read_quantities
from hessian.quantities.sequence import MeasurementSequence
from runs.networks.curvatures import SERVER
from workloads.written import require_own

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

NAME = "checkpoint-quantities"
KINDS = ("csv", "json", "png", "pdf")
ACROSS, HEIGHT = 3, 2.4
"""Panels of a row of the picture, and inches of a row."""


def measure_checkpoint_quantities(
    request: SpectrumRequest,
    folder: Path,
    clients: int | None = None,
    progress: Progress | None = None,
    trust: bool = False,
) -> pd.DataFrame:
    """Measure the quantities that the settings name at every state in a folder.

    Args:
        request: Names, accuracy, device; of a run, the run itself names network, data and loss.
        folder: Folder of the files of weights, or of a run.
        clients: For a run: number of first clients to measure as well; None for files of weights.
        progress: Called with a description of the current step.
        trust: Whether code that a run names may run.

    Returns:
        One row for each quantity at each state: number and file, or number (the round) and client (-1 for the server),
        samples, loss, quantity, value, low, high, reached, limit (what would make the interval narrower), and of the
        state: products, gradients (time of products and checks in gradients over the same data) and warm (from the
        findings of the states before).

    Raises:
        CurvatureError, RunError, FederationError, DataError: Names, files, data, numbers or quantities are not valid.
    """
    require_numbers(read_quantities(request.settings.quantities))
    table = _Table(request, progress)
    if clients is None:
        visit_files(request, folder, table.add, progress)
    else:
        visit_run(request, folder, clients, table.add, progress, trust)
    return pd.DataFrame(table.rows)


def require_numbers(quantities: tuple[Quantity, ...]) -> None:
    """Check that all quantities are single numbers.

    Raises:
        CurvatureError: One is a curve.
    """
    if curves := [one.name for one in quantities if one.name in CURVES]:
        raise CurvatureError(
            f"--checkpoints measures quantities that are single numbers, not {' and '.join(curves)}: leave it out, or "
            "measure a single state without --checkpoints"
        )


class _Table:
    """Rows of states that are measured one after the other."""

    def __init__(self, request: SpectrumRequest, progress: Progress | None) -> None:
        self.rows: list[dict[str, Any]] = []
        self._request, self._progress = request, progress
        self._quantities = read_quantities(request.settings.quantities)
        self._sequence = MeasurementSequence(self._quantities, request.settings.seed)
        self._gradients: dict[int, float] = {}
        self._states = 0

    def add(self, place: Place, operator: Curvature) -> None:
        """Measure a state."""
        if self._progress is not None:
            self._progress(place.name)
        if place.client not in self._gradients:
            self._gradients[place.client] = operator.cost().gradient_seconds
        with explain_memory_errors():
            try:
                found = self._measure(place, operator)
            except CurvatureError as error:
                raise CurvatureError(f"{place.name}: {error}", keywords=error.keywords) from error
        self._states += 1
        cost = operator.cost(self._gradients[place.client])
        for quantity, one in found.found.items():
            assert not isinstance(one, Profile)
            self.rows.append(
                {
                    **place.columns,
                    "samples": operator.samples,
                    "loss": operator.loss,
                    "quantity": str(quantity),
                    "value": one.value,
                    "low": one.low,
                    "high": one.high,
                    "reached": one.reached,
                    "limit": one.limit or ("" if one.reached else "raise products"),
                    "products": cost.products,
                    "gradients": cost.gradients_with_checks,
                    "warm": found.warm,
                }
            )

    def _measure(self, place: Place, operator: Curvature) -> Measurement:
        settings = settings_of(self._request, operator)
        told = self._progress
        say = None if told is None else (lambda text: told(f"{place.name}: {text}"))
        if place.client == SERVER and settings.memory is None:
            return self._sequence.measure(operator, settings.for_quantities(), say)
        # A stream of its own for each, apart from those of the sequence.
        numbers = (settings.seed, self._states, 1)
        return measure_with(
            operator, self._quantities, settings.for_quantities(), lambda part: stream_of(part, *numbers), say
        )


def require_states_room(request: SpectrumRequest, folder: Path, out: Path) -> None:
    """Check before the work that the quantities are single numbers, and that their table may be written to a folder.

    Args:
        request: Request for the measurement.
        folder: Folder of the states.
        out: Folder of the files.

    Raises:
        CurvatureError: A quantity is a curve, or the folder has the measurement of another matrix or other states.
        OSError: A file there is another's, or cannot be written.
    """
    require_numbers(read_quantities(request.settings.quantities))
    require_own([out / f"{NAME}.{kind}" for kind in KINDS], out)
    require_same_subject(out / f"{NAME}.json", request, folder)


def write_checkpoint_quantities(table: pd.DataFrame, request: SpectrumRequest, folder: Path, out: Path) -> list[Path]:
    """Write ``checkpoint-quantities.csv``, ``.json``, ``.png`` and ``.pdf``, all or none, as `write_states`."""
    return write_states(NAME, table, request, folder, out, draw_checkpoint_quantities)


def checkpoint_quantities_summary(table: pd.DataFrame, request: SpectrumRequest, folder: Path) -> str:
    """Return a line for each state, or for server and clients at each round, and one for each of its quantities."""
    of_run = "client" in table
    lines = [f"{MATRICES[request.matrix]}, each interval at {100 * request.settings.confidence:g} %"]
    labels = {name: Quantity.of(name).label for name in table["quantity"].unique()}
    wide = max(map(len, labels.values()))
    for _, rows in table.groupby(["number", "client"] if of_run else "number", sort=False):
        first = rows.iloc[0]
        who = f"  {name_of(first.client):<10}" if of_run else ""
        start = " from the state before" if first.warm else ""
        lines.append(
            f"{first.number:>10}{who}  loss {first.loss:<9.4g}  {first.products} products, {first.gradients:.0f} "
            f"gradients{start}"
        )
        for row in rows.to_dict("records"):
            missing = "" if row["reached"] else "; wider than requested"
            missing += f": {row['limit'].replace('raise products', 'raise --products')}" if row["limit"] else ""
            interval = format_interval(row["value"], row["low"], row["high"])
            lines.append(f"{'':>12}{labels[row['quantity']]:<{wide}}  {interval}{missing}")
    return "\n".join([*lines, *([] if of_run else left_out_lines(folder))])


def draw_checkpoint_quantities(table: pd.DataFrame, confidence: float) -> Picture:
    """Draw a panel for each quantity over the states, of a run with server and clients."""
    from matplotlib.figure import Figure as Picture

    names = list(table["quantity"].unique())
    down = -(-len(names) // ACROSS)
    picture = Picture(figsize=(WIDTH, HEIGHT * down))
    panels = picture.subplots(down, min(ACROSS, len(names)), squeeze=False).flat
    of_run = "client" in table
    for name, panel in zip(names, panels, strict=False):
        rows = table[table["quantity"] == name]
        kinds = [("", rows, BLACK, "o-")]
        if of_run:
            kinds = [
                ("server", rows[rows.client == SERVER], BLACK, "o-"),
                ("clients", rows[rows.client != SERVER], SERIES[0], MARKERS[1]),  # a round has several: no line
            ]
        for label, some, colour, fmt in kinds:
            if not some.empty:
                ends = [some.value - some.low, some.high - some.value]
                panel.errorbar(some.number, some.value, ends, fmt=fmt, color=colour, lw=1.0, ms=3.0, label=label)
        panel.set(xlabel="round" if of_run else "number of the state", title=Quantity.of(name).label)
    for panel in panels:
        panel.set_axis_off()
    if of_run:
        picture.axes[0].legend(fontsize=7)
    picture.suptitle(f"{100 * confidence:g} % intervals", fontsize=8)
    return picture
