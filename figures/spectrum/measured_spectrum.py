"""One measured spectrum, from names on a command line to files: JSON, PNG and PDF."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from figures.figure import Settings
from figures.make import render
from figures.spectrum.as_json import require_same_subject, to_json
from figures.spectrum.measured_network import MeasuredNetwork, SpectrumRequest
from figures.spectrum.measured_spectrum_picture import draw_block_ranks, draw_spectrum_report
from hessian.block_ranks import block_ranks
from hessian.loss.batches import Loss, size_of
from hessian.loss.factories import count_of, data_of, find_law, loss_of_name, model_of, user_error
from hessian.loss.output_curvature import MATRICES, Law
from hessian.loss.passed_checks import PassedChecks
from hessian.numerics.intervals import format_interval
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.curvature import Curvature
from hessian.operators.data_parallel import Workers
from hessian.spectrum import SpectrumSettings, measure_spectrum
from rmt.results import align_rows
from workloads.files import require_writable
from workloads.written import require_own, write_own

SPECTRUM_STEPS = 6
"""Steps of a measurement: model, data, checks, stable rank, eigenpairs, quadrature."""
TIES = 4
"""Names of tied weights that are printed."""
GRADIENTS = 2.0
"""Usual time of a product, in gradients over the same data."""


def measure_network(
    request: SpectrumRequest,
    progress: Callable[[str], None] | None = None,
    expect: Callable[[float, str], None] | None = None,
) -> MeasuredNetwork:
    """Build the network, read the data and measure.

    Args:
        request: Request for the measurement.
        progress: Called with a description of the current step.
        expect: Called with the seconds that the work is likely to take, and its name, before it starts.

    Raises:
        CurvatureError: Names, model, loss, data or numbers are not valid; the message names cause and remedy.
        FigureError: The device is not on this machine.
    """
    operator = next(operators_of(request, (lambda model: None,), progress))
    settings = settings_of(request, operator)
    with explain_memory_errors():
        if expect is not None:
            products = expected_products(settings, operator.P)
            expect(
                expected_seconds(products, operator),
                f"about {products:,} products; use fewer --steps, --probes or --outliers to shorten it",
            )
        report = measure_spectrum(operator, settings, progress)
        blocks = () if request.blocks is None else block_ranks(operator, settings, request.blocks or None, progress)
    tied = tuple(operator.aliases.items())
    return MeasuredNetwork(
        request, report, operator.samples, operator.loss, operator.unused, operator.cost(), blocks, tied
    )


def expected_products(settings: SpectrumSettings, P: int) -> int:
    """Return the approximate number of products of a measurement, exact for the quadrature.

    >>> expected_products(SpectrumSettings(probes=4, steps=60, outliers=10), P=10**6)
    370
    """
    return settings.probes * min(settings.steps, P) + expected_pair_products(2 * settings.outliers, P)


def expected_pair_products(pairs: int, P: int) -> int:
    """Return the usual number of products for a stable rank and a number of eigenpairs."""
    return min(4 * pairs + 50, 2 * P)


def expected_seconds(products: int, operator: Curvature) -> float:
    """Return the approximate time of some products, from the time of a gradient."""
    return products * GRADIENTS * operator.cost().gradient_seconds


def operators_of(
    request: SpectrumRequest,
    states: Iterable[Callable[[nn.Module], None]],
    progress: Callable[[str], None] | None = None,
) -> Iterator[Curvature]:
    """Yield the requested matrix at each of several states of the network, over the same data.

    Checks of what the network computes are made at the first state, and again where it computes something else.

    Args:
        request: Names, loss, matrix, device.
        states: Each puts the network in a state, on its device and in its dtype.
        progress: Called with the current step.

    Raises:
        CurvatureError: Names, model, loss or data are not valid.
        FigureError: The device is not on this machine.
    """
    say = progress or (lambda text: None)
    Settings(device=request.device).check_device()
    team = Workers.of(request.workers, request.ray)
    loss = loss_of_name(request.loss)
    count = count_of(request.count) if request.count is not None else size_of
    law = find_law(request.law) if request.law is not None else None
    say("building the model")
    model = _converted(request, model_of(request.model))  # before states are loaded, which would be rounded to its type
    say("reading the data")
    data = data_of(request.data)
    passed = PassedChecks()
    for state in states:
        state(model)
        say("checking loss and derivatives")
        yield _operator(request, model, loss, data, count, law, team, passed)


def _converted(request: SpectrumRequest, model: nn.Module) -> nn.Module:
    """Return the network on its device and in its dtype."""
    try:
        model = model.to(request.device)
        return model.double() if request.double else model
    except Exception as error:  # a module may have a method of its own for that
        raise user_error(error, f"moving the model to {request.device}") from error


def _operator(
    request: SpectrumRequest,
    model: nn.Module,
    loss: Loss,
    data: Any,
    count: Callable[[Any], int],
    law: Law | None,
    team: Workers | None,
    passed: PassedChecks,
) -> Curvature:
    try:
        return Curvature(
            model,
            loss,
            data,
            matrix=request.matrix,
            parameters=request.parameters or None,
            batch_norm=request.batch_norm,
            reduction=request.reduction,
            count=count,
            law=law,
            vectorize="trial" if request.trial else 1,
            memory=request.settings.memory,
            workers=team,
            checks=passed,
        )
    except CurvatureError:
        raise
    except Exception as error:  # the user's forward pass, loss or loader
        raise user_error(error, "the model or the loss on the data") from error


def settings_of(request: SpectrumRequest, operator: Curvature) -> SpectrumSettings:
    """Return the requested settings, with as many simultaneous probes as suit the operator."""
    return dataclasses.replace(request.settings, chunk=operator.chunk)


@contextmanager
def explain_memory_errors() -> Iterator[None]:
    """Turn an out-of-memory error into one line with the remedy.

    Raises:
        CurvatureError: There was one.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        raise CurvatureError(
            "out of memory: return smaller batches (a DataLoader instead of one batch), choose fewer "
            "--parameters, or set a budget with --memory"
        ) from error


def require_room(request: SpectrumRequest, out: Path, states: Path | None = None) -> None:
    """Check before the work that a measurement may be written to a folder.

    Args:
        request: Request for the measurement.
        out: Folder of the files.
        states: Folder of the states, for a measurement of checkpoints.

    Raises:
        CurvatureError: The folder has the measurement of another matrix.
        OSError: A file there is another's, or cannot be written.
    """
    name = "spectrum" if states is None else "checkpoints"
    kinds = ("csv", "json", "pdf", "png")
    blocks = [out / f"blocks.{kind}" for kind in ("pdf", "png")] if request.blocks is not None else []
    require_own([*(out / f"{name}.{kind}" for kind in kinds if (name, kind) != ("spectrum", "csv")), *blocks], out)
    require_same_subject(out / f"{name}.json", request, states)


def write_spectrum(measured: MeasuredNetwork, out: Path) -> dict[str, Path]:
    """Write ``spectrum.json``, ``.png`` and ``.pdf`` to a folder, and ``blocks.png`` and ``.pdf``, all or none.

    Raises:
        OSError: The folder cannot be written to.
    """
    require_writable(out)
    contents = render(lambda: draw_spectrum_report(measured.report), ("png", "pdf"))
    text = json.dumps(to_json(measured), indent=1, ensure_ascii=False, allow_nan=False)
    contents["json"] = (text + "\n").encode()
    paths = {kind: out / f"spectrum.{kind}" for kind in ("json", "png", "pdf")}
    files = {paths[kind]: content for kind, content in contents.items()}
    if any(block.rank is not None for block in measured.blocks):
        confidence = measured.report.settings.confidence
        pictures = render(lambda: draw_block_ranks(measured.blocks, confidence), ("png", "pdf"))
        paths |= {f"blocks {kind}": out / f"blocks.{kind}" for kind in pictures}
        files |= {paths[f"blocks {kind}"]: content for kind, content in pictures.items()}
    write_own(files, out)
    return paths


def summary(measured: MeasuredNetwork) -> str:
    """Return a few lines for the terminal."""
    report, request = measured.report, measured.request
    rows = {label: text for label, text in report.words().items() if label != "eigenvalues"}
    rows = {label: re.sub("raise (?=products|outliers)", "raise --", text) for label, text in rows.items()}
    rows["stable rank"] = rows["stable rank"].replace(
        "wider than requested", f"wider than the {100 * request.settings.width:g} % requested"
    )
    heading = (
        f"{MATRICES[request.matrix]}, {report.P:,} parameters, {measured.samples:,} samples, loss {measured.loss:.4g} "
        f"({report.dtype} on {report.device})"
    )
    return "\n".join([heading, *align_rows(rows), _cost_line(measured), *_block_lines(measured)])


def _cost_line(measured: MeasuredNetwork) -> str:
    parts = ", ".join(f"{part} {count}" for part, count in measured.report.products.items())
    cost = measured.cost
    way = f", {cost.together} vectors together" if cost.together > 1 else ""
    way += f", {cost.workers} workers" if cost.workers > 1 else ""
    way += f", one vector at a time: products with several at once {cost.fault}" if cost.fault else ""
    return (
        f"cost           {cost.products} products ({parts}): the time of {cost.gradients:.0f} gradients, "
        f"{cost.seconds:.1f} s{way}; checks {cost.check_seconds:.1f} s"
    )


def _block_lines(measured: MeasuredNetwork) -> list[str]:
    """Return the stable ranks by module."""
    if not measured.blocks:
        return []
    wide = max(len(block.name or "(model)") for block in measured.blocks)
    lines = []
    for block in measured.blocks:
        rank = block.rank
        found = block.why if rank is None else format_interval(rank.value, rank.low, rank.high)
        wider = "" if rank is None or rank.reached else "; wider than requested"
        lines.append(f"  {block.name or '(model)':{wide}}  {block.P:>11,} parameters  {found}{wider}")
    products = sum(block.rank.products for block in measured.blocks if block.rank is not None)
    level = f"{100 * measured.report.settings.confidence:g} % each"
    lines += tied_lines(measured.tied)
    return [f"blocks         stable rank by module, {level}; {products} products more", *lines]


def tied_lines(tied: tuple[tuple[str, str], ...]) -> list[str]:
    """Return a line about parameters that have several names, if there are any."""
    if not tied:
        return []
    shown = [f"{other} is {name}" for other, name in tied[:TIES]]
    more = len(tied) - len(shown)
    return [f"  tied parameters, counted in one block only: {', '.join(shown)}" + (f" and {more} more" if more else "")]
