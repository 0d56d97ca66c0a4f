"""Quantities of one network's matrix, from names on a command line to a table and a JSON file."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from figures.spectrum.as_json import cost_to_json, environment, require_same_subject
from figures.spectrum.measured_network import SpectrumRequest
from figures.spectrum.measured_spectrum import explain_memory_errors, operators_of, settings_of, tied_lines
from hessian.loss.output_curvature import MATRICES
from hessian.operators.curvature import Cost
from hessian.quantities.block_measurements import BlockMeasurement, measure_blocks
from hessian.quantities.estimates import Measurement
from hessian.quantities.measurement import measure_with, parts_of, stream_of
from hessian.quantities.names import Quantity, read_quantities
from rmt.results import align_rows, plain
from workloads.files import require_writable
from workloads.written import require_own, write_own

DIAGONAL = Quantity("diagonal")
DIAGONAL_ARRAYS = ("value", "sd", "low", "high")
"""Arrays of a diagonal, each as long as the parameters, which have a file of their own."""


@dataclass(frozen=True, eq=False)
class MeasuredQuantities:
    """Measured quantities of a network, and what was measured.

    Attributes:
        request: Request for the measurement.
        measurement: Quantities of the whole matrix.
        samples: Number of samples.
        loss: Value of the loss.
        dtype: Type of the products.
        cost: Cost of the products, without the products of the blocks.
        blocks: Quantities of the modules' blocks, where they were asked for.
        tied: Other names of parameters that have several, each with the name whose block holds it.
    """

    request: SpectrumRequest
    measurement: Measurement
    samples: int
    loss: float
    dtype: str
    cost: Cost
    blocks: tuple[BlockMeasurement, ...] = ()
    tied: tuple[tuple[str, str], ...] = ()


def measure_quantities(request: SpectrumRequest, progress: Callable[[str], None] | None = None) -> MeasuredQuantities:
    """Build the network, read the data and measure the quantities that the settings name.

    Args:
        request: Request for the measurement.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: Names, model, loss, data, numbers or quantities are not valid.
        FigureError: The device is not on this machine.
    """
    operator = next(operators_of(request, (lambda model: None,), progress))
    settings = settings_of(request, operator)
    asked = read_quantities(settings.quantities)
    with explain_memory_errors():
        found = measure_with(
            operator, asked, settings.for_quantities(), lambda part: stream_of(part, settings.seed), progress
        )
        cost = operator.cost()
        blocks: tuple[BlockMeasurement, ...] = ()
        if request.blocks is not None:
            blocks = measure_blocks(
                operator,
                asked,
                settings.for_quantities(),
                seed=settings.seed,
                depth=request.blocks or None,
                progress=None if progress is None else lambda text: progress(f"blocks: {text}"),
            )
    return MeasuredQuantities(
        dataclasses.replace(request, settings=settings),
        dataclasses.replace(found, gradients=cost.gradients),
        operator.samples,
        operator.loss,
        str(operator.dtype).removeprefix("torch."),
        cost,
        blocks,
        tuple(operator.aliases.items()),
    )


def steps_of(request: SpectrumRequest) -> int:
    """Return the steps of a measurement: model, data, checks, and the parts that the quantities need."""
    parts = parts_of(read_quantities(request.settings.quantities))
    return 3 + len(parts) + (request.blocks is not None)


def require_quantities_room(request: SpectrumRequest, out: Path) -> None:
    """Check before the work that a measurement may be written to a folder.

    Args:
        request: Request for the measurement.
        out: Folder of the files.

    Raises:
        CurvatureError: The folder has the measurement of another matrix.
        OSError: A file there is another's, or cannot be written.
    """
    files = [out / "quantities.json"]
    files += [out / "diagonal.npz"] if DIAGONAL in request.settings.quantities else []
    require_own(files, out)
    require_same_subject(out / "quantities.json", request)


def write_quantities(measured: MeasuredQuantities, out: Path) -> list[Path]:
    """Write ``quantities.json`` to a folder, and ``diagonal.npz`` if the diagonal was measured, all or none.

    Raises:
        OSError: The folder cannot be written to.
    """
    require_writable(out)
    text = json.dumps(to_json(measured), indent=1, ensure_ascii=False, allow_nan=False)
    files = {out / "quantities.json": (text + "\n").encode()}
    if DIAGONAL in measured.measurement.found:
        content = io.BytesIO()
        arrays = {name: getattr(measured.measurement[DIAGONAL], name) for name in DIAGONAL_ARRAYS}
        np.savez(content, **arrays)
        files[out / "diagonal.npz"] = content.getvalue()
    write_own(files, out)
    return list(files)


def to_json(measured: MeasuredQuantities) -> dict[str, Any]:
    """Return all measured values and their settings; numbers that are not finite become null."""
    fields = {
        "request": plain(measured.request),
        "parameters": measured.measurement.P,
        "samples": measured.samples,
        "loss": measured.loss,
        "dtype": measured.dtype,
        **_measurement(measured.measurement),
        "blocks": [
            {
                "name": block.name,
                "parameters": block.P,
                "reason_for_none": block.why,
                **({} if block.measurement is None else _measurement(block.measurement)),
            }
            for block in measured.blocks
        ],
        "cost": {"products": measured.cost.products, **cost_to_json(measured.cost)},
        **environment(),
    }
    found: dict[str, Any] = plain(fields)
    return found


def _measurement(measurement: Measurement) -> dict[str, Any]:
    """Return the quantities without the arrays of a diagonal, which are in a file of their own or too many."""
    fields = measurement.to_dict()
    quantities = fields["found"]
    if "diagonal" in quantities:
        left_out = (*DIAGONAL_ARRAYS, "points")
        quantities["diagonal"] = {
            **{name: value for name, value in quantities["diagonal"].items() if name not in left_out},
            "sum": float(measurement[DIAGONAL].value.sum()),
        }
    return {
        "quantities": quantities,
        "basis_rows": measurement.steps,
        "products_by_part": measurement.products,
        "given_up_for_memory": measurement.given_up,
    }


def quantities_summary(measured: MeasuredQuantities) -> str:
    """Return a table for the terminal."""
    request, measurement = measured.request, measured.measurement
    heading = (
        f"{MATRICES[request.matrix]}, {measurement.P:,} parameters, {measured.samples:,} samples, loss "
        f"{measured.loss:.4g} ({measured.dtype} on {request.device})"
    )
    cost = measured.cost
    timing = f", {cost.seconds:.1f} s; checks {cost.check_seconds:.1f} s"
    rows = {label: _name_options(text) for label, text in measurement.words().items()}
    rows["cost"] += timing
    return "\n".join([heading, *align_rows(rows), *_block_lines(measured)])


def _name_options(text: str) -> str:
    return re.sub("raise (?=products|steps)", "raise --", text).replace("raise basis", "the basis is full")


def _block_lines(measured: MeasuredQuantities) -> list[str]:
    """Return the quantities by module."""
    if not measured.blocks:
        return []
    lines = []
    for block in measured.blocks:
        lines.append(f"  {block.name or '(model)'}, {block.P:,} parameters{'' if not block.why else ': ' + block.why}")
        if block.measurement is not None:
            rows = block.measurement.words()
            rows.pop("cost")
            lines += [f"    {line}" for line in align_rows({label: _name_options(row) for label, row in rows.items()})]
    products = sum(sum(block.measurement.products.values()) for block in measured.blocks if block.measurement)
    lines += tied_lines(measured.tied)
    level = f"{100 * measured.measurement.confidence:g} % each"
    return [f"blocks         by module, {level}; {products} more products", *lines]
