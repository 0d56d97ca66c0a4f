"""The command line of figures: `rankproof figure` and `rankproof spectrum`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runs.format import printable
from workloads.arguments import add_command, at_least, read_name, read_number
from workloads.processes.pool import RayPool, add_place_options, place_of, slots_of
from workloads.progress import report_progress
from workloads.terminal import print_table

if TYPE_CHECKING:
    from figures.figure import Figure
    from figures.make import DrawnFigure
    from figures.spectrum.measured_network import SpectrumRequest
    from hessian.lanczos.memory import Budget


_OF_RUNS = ("model", "data", "loss", "reduction", "count", "law", "batch_norm")
"""Options of a spectrum that a run's folder determines."""


def declare(commands: Any) -> None:
    """Declare the commands that draw figures."""
    figure = add_command(
        commands,
        "figure",
        _figure,
        "compute and draw figures as PNG, PDF and SVG, with their numbers as CSV and a manifest",
        "rankproof figure rmt/transition --scale laptop --out pictures",
        several="ids",
    )
    figure.add_argument("ids", nargs="*", type=read_name, metavar="ID", help="id of a figure, or a prefix such as rmt/")
    figure.add_argument("--all", action="store_true", help="draw every figure")
    figure.add_argument("--list", action="store_true", help="list the figures")
    figure.add_argument("--json", action="store_true", help="with --list: write JSON")
    _add_out(figure)
    figure.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="seed of all random streams; default: 0"
    )
    add_figure_options(figure)
    add_place_options(figure, "training runs")

    spectrum = add_command(
        commands,
        "spectrum",
        _spectrum,
        "estimate the stable rank, the spectral density and a spiked model of a network's Hessian",
        "rankproof spectrum --model workloads.example:network --data workloads.example:images",
    )
    spectrum.add_argument("--model", metavar="MODULE:FACTORY", help="function that returns the torch.nn.Module")
    spectrum.add_argument(
        "--data",
        metavar="MODULE:FACTORY",
        help="function that returns (inputs, targets), a mapping, or an iterable of batches",
    )
    _add_out(spectrum)
    _add_spectrum_options(spectrum)


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=read_name, default="results", metavar="DIR", help="folder to write to; default: results"
    )


def add_figure_options(parser: argparse.ArgumentParser, stored: bool = False) -> None:
    """Declare the options shared by all commands with figures; with `stored`, stored numbers may set the scale."""
    parser.add_argument(
        "--scale",
        choices=("quick", "laptop", "paper"),
        default=None if stored else "quick",
        help="size of the experiments; default: "
        + ("the scale of the stored numbers, else quick" if stored else "quick"),
    )
    parser.add_argument("--device", type=read_name, default="cpu", metavar="D", help="torch device; default: cpu")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--recompute", action="store_true", help="compute all numbers again, even if they are cached or stored"
    )
    parser.set_defaults(from_runs=False)
    if not stored:
        source.add_argument(
            "--from-runs",
            action="store_true",
            help="compute the numbers from the training runs in the output folder, even if they are stored, and make "
            "the runs that are missing",
        )
    parser.add_argument(
        "--require-real", action="store_true", help="refuse stand-in data (no figure uses any at present)"
    )
    parser.add_argument(
        "--root", type=read_name, metavar="DIR", help="folder of the data sets; default: $RANKPROOF_DATA, else data"
    )


def _figure(options: argparse.Namespace) -> int:
    from figures.figure import FigureError
    from figures.ledger import all_figures, select

    if options.list:
        entries = [
            {"id": f.id, "title": f.title, "datasets": list(f.datasets)}
            for f in (select(options.ids) if options.ids else all_figures())
        ]
        if options.json:
            print(json.dumps(entries, indent=1))
        else:
            plain = [f"{entry['id']:24} {entry['title']}" for entry in entries]
            print_table([{"figure": str(entry["id"]), "title": str(entry["title"])} for entry in entries], plain)
        return 0
    if options.json:
        raise FigureError("--json is only for --list; add --list, or leave --json out")
    if bool(options.ids) == options.all:
        raise FigureError("name figures, or use --all without names; `rankproof figure --list` lists them")
    chosen = all_figures() if options.all else select(options.ids)
    place = place_of(options, FigureError)
    if options.dry_run:
        return _plan(chosen, options, slots_of(place, FigureError))
    larger = "; --scale laptop or paper is larger" if options.scale == "quick" else ""
    print(f"scale {options.scale}{larger}", file=sys.stderr)
    with ExitStack() as stack:
        pool = None if place is None else stack.enter_context(RayPool(place, FigureError))
        return _draw(chosen, options, pool)


def _plan(figures: Sequence[Figure], options: argparse.Namespace, slots: tuple[str, ...]) -> int:
    """Report the cost of figures without running anything."""
    from figures.experiments.sweep import OnlyPlannedError, needs_runs
    from figures.figure import Settings

    for figure in figures:
        if not needs_runs(figure):
            print(f"{figure.id}: the numbers need no training runs; they are computed on this machine")
            continue
        print(f"{figure.id}:")
        runs = Path(options.out) / "runs"
        settings = Settings(options.scale, options.seed, options.device, options.root, runs, notify=print, slots=slots)
        with suppress(OnlyPlannedError):
            figure.data(settings)
    return 0


def _draw(figures: Sequence[Figure], options: argparse.Namespace, pool: Executor | None) -> int:
    for figure in figures:
        made = _make_one(figure, options, Path(options.out), pool)
        stored = ", numbers as stored" if made.manifest["stored"] else ""
        print(
            f"{made.figure.id}: {', '.join(str(path) for path in made.paths.values())} ({made.seconds:.1f} s{stored})"
        )
        if made.note:
            print(f"{made.figure.id}: {made.note}", file=sys.stderr)
    return 0


def _make_one(figure: Figure, options: argparse.Namespace, out: Path, pool: Executor | None = None) -> DrawnFigure:
    """Make one figure with the options of `add_figure_options`, and show its progress on the terminal."""
    from figures.figure import Settings
    from figures.make import make

    with report_progress(figure.id) as bar:

        def write_line(text: str) -> None:
            bar.write(f"{figure.id}: {text}", sys.stderr)

        settings = Settings(
            scale=options.scale,
            seed=options.seed,
            device=options.device,
            data_root=options.root,
            progress=bar.step,
            notify=write_line,
            pool=pool,
        )
        return make(figure, settings, out, options.recompute, options.from_runs)


def _add_spectrum_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--loss", metavar="NAME", help="cross-entropy, mse or module:function; default: cross-entropy")
    add(
        "--reduction",
        choices=("mean", "sum"),
        help="how the loss combines samples; default: the loss's own reduction, else mean",
    )
    add(
        "--count",
        metavar="MODULE:FUNCTION",
        help="function that counts the samples or tokens of a batch; default: the length of its tensors",
    )
    matrices = ("hessian", "gauss-newton", "residual", "fisher", "empirical-fisher")
    add("--matrix", choices=matrices, default="hessian", help="matrix to measure; default: hessian")
    add("--law", metavar="MODULE:FUNCTION", help="distribution of the targets given the output, for the Fisher matrix")
    add(
        "--parameters",
        nargs="+",
        default=(),
        metavar="PATTERN",
        help="only these parameters, by patterns such as 'layer1.*'; default: all",
    )
    add(
        "--blocks",
        nargs="?",
        const=0,
        type=at_least(1),
        metavar="DEPTH",
        help="also measure the stable rank of every module, or of the modules at one depth (1: layer1, head)",
    )
    add(
        "--quantities",
        metavar="LIST",
        help="measure these, each with an interval, instead of the whole spectrum: trace, sharpness (largest "
        "eigenvalue), smallest, frobenius-squared, stable-rank, count-above=T, count-below=T (below -T), "
        "effective-dimension=T, log-det=T, diagonal, density; separated by commas; with --checkpoints, at every state",
    )
    add(
        "--checkpoints",
        type=read_name,
        metavar="DIR",
        help="measure the stable rank, largest eigenvalues and overlaps, or --quantities, for every numbered file of "
        "weights in DIR, or for every checkpoint if DIR is a run of rankproof train, which also supplies network, data "
        "and loss",
    )
    add(
        "--clients",
        type=at_least(0),
        metavar="N",
        help="with a run: also measure the first N clients, each on its own samples; default: 0",
    )
    add("--trust", action="store_true", help="with a run: allow the code named in its settings to run")
    add("--batch-norm", choices=("running", "batch"), help="statistics that batch norm uses in training mode")
    add(
        "--trial",
        action="store_true",
        help="time batches of one and of eight vectors and use the faster; repeated runs then agree only up to "
        "rounding",
    )
    add("--double", action="store_true", help="measure in float64")
    add("--device", metavar="D", help="torch device; default: cpu, or the device of the first of --workers")
    add(
        "--workers",
        metavar="N",
        help="number of processes that share the data, or their devices, such as cuda:0,cuda:1; default: none",
    )
    add("--ray", metavar="ADDRESS", help="with --workers: run them as actors of this Ray cluster; local starts one")
    add(
        "--width",
        type=read_number,
        default=0.05,
        metavar="W",
        help="target for the relative width of the interval; default: 0.05",
    )
    add(
        "--confidence",
        type=read_number,
        default=0.95,
        metavar="C",
        help="confidence level of the intervals; default: 0.95",
    )
    add(
        "--outliers",
        type=at_least(1),
        default=10,
        metavar="K",
        help="number of eigenpairs at each end of the spectrum; default: 10",
    )
    add("--probes", type=at_least(1), default=4, metavar="N", help="random probes for the spectral density; default: 4")
    add("--steps", type=at_least(1), default=60, metavar="N", help="Lanczos steps per probe; default: 60")
    add("--seed", type=at_least(0), default=0, metavar="N", help="seed of all random streams; default: 0")
    add(
        "--products",
        type=at_least(22),
        default=2000,
        metavar="N",
        help="maximum number of matrix-vector products for each part of the measurement; default: 2000",
    )
    add(
        "--memory",
        metavar="SIZE",
        help="memory budget for model, graph and vectors, such as '6 GiB'; default: no limit",
    )
    add("--scratch", metavar="DIR", help="with --memory: folder for vectors that do not fit")


def _budget(options: argparse.Namespace) -> Budget | None:
    from hessian.lanczos.memory import Budget as Given
    from hessian.numerics.symmetric import CurvatureError

    if options.memory is None:
        if options.scratch is not None:
            raise CurvatureError("--scratch requires --memory, because it stores the vectors that exceed this budget")
        return None
    return Given.named(options.memory, options.scratch)


def _spectrum(options: argparse.Namespace) -> int:
    from figures.spectrum.checkpoint_quantities import require_states_room
    from figures.spectrum.measured_network import SpectrumRequest
    from figures.spectrum.measured_spectrum import (
        SPECTRUM_STEPS,
        measure_network,
        require_room,
        summary,
        write_spectrum,
    )
    from hessian.operators.data_parallel import Workers
    from hessian.quantities.names import read_quantities
    from hessian.spectrum import SpectrumSettings
    from workloads.files import writable

    settings = SpectrumSettings(
        options.width,
        options.confidence,
        options.outliers,
        probes=options.probes,
        steps=options.steps,
        seed=options.seed,
        products=options.products,
        memory=_budget(options),
    )
    if options.quantities is not None:
        settings = replace(settings, quantities=read_quantities(options.quantities))
    of_run = _require_names(options)
    device = options.device or (None if options.workers is None else Workers(options.workers, options.ray).device)
    request = SpectrumRequest(
        *((options.checkpoints, options.checkpoints) if of_run else (options.model, options.data)),
        "cross-entropy" if options.loss is None else options.loss,
        options.matrix,
        tuple(options.parameters),
        options.batch_norm,
        options.reduction,
        options.double,
        device or "cpu",
        settings,
        options.count,
        options.law,
        options.blocks,
        options.trial,
        options.workers,
        options.ray,
    )
    out = Path(options.out)
    with writable(out):
        if options.quantities is not None and options.checkpoints is None:
            return _quantities(request, out)
        if options.quantities is not None:
            require_states_room(request, Path(options.checkpoints), out)
        else:
            require_room(request, out, None if options.checkpoints is None else Path(options.checkpoints))
        if not of_run or options.trust:  # the folder of a run may hold anything
            _import_from_here()
        if options.checkpoints is not None:
            measure = _checkpoints if options.quantities is None else _checkpoint_quantities
            return measure(
                request, Path(options.checkpoints), (options.clients or 0) if of_run else None, out, options.trust
            )
        steps = SPECTRUM_STEPS + (request.blocks is not None)
        with report_progress("spectrum", steps) as bar:
            measured = measure_network(request, bar.step, bar.expect)
        paths = write_spectrum(measured, out)
        print("\n".join(map(printable, summary(measured).splitlines())))
        print(printable(", ".join(str(path) for path in paths.values())))
        return 0


def _import_from_here() -> None:
    """Make modules of the current folder importable, as `python -m` does; the installed command does not."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _quantities(request: SpectrumRequest, out: Path) -> int:
    from figures.spectrum.measured_quantities import (
        measure_quantities,
        quantities_summary,
        require_quantities_room,
        steps_of,
        write_quantities,
    )

    require_quantities_room(request, out)
    _import_from_here()
    with report_progress("quantities", steps_of(request)) as bar:
        measured = measure_quantities(request, bar.step)
    paths = write_quantities(measured, out)
    print("\n".join(map(printable, quantities_summary(measured).splitlines())))
    print(printable(", ".join(str(path) for path in paths)))
    return 0


def _require_names(options: argparse.Namespace) -> bool:
    """Return whether a run's folder gives network, data and loss; they must be named otherwise, and only then."""
    from hessian.numerics.symmetric import CurvatureError
    from runs.index import SETTINGS

    if options.blocks is not None and options.checkpoints is not None:
        raise CurvatureError("--blocks and --checkpoints are separate measurements: use one at a time")
    of_run = options.checkpoints is not None and (Path(options.checkpoints) / SETTINGS).is_file()
    given = [name for name in _OF_RUNS if getattr(options, name) is not None]
    lacking = [f"--{name}" for name in ("model", "data") if getattr(options, name) is None]
    if of_run and given:
        raise CurvatureError(
            f"{options.checkpoints} is a run, which defines network, data and loss: leave out "
            f"{', '.join('--' + name.replace('_', '-') for name in given)}"
        )
    if not of_run and lacking:
        raise CurvatureError(f"{' and '.join(lacking)} must be given, unless --checkpoints is the folder of a run")
    if not of_run and options.clients is not None:
        raise CurvatureError("--clients requires --checkpoints with the folder of a run of rankproof train")
    return of_run


def _checkpoint_quantities(request: SpectrumRequest, folder: Path, clients: int | None, out: Path, trust: bool) -> int:
    from figures.spectrum.checkpoint_quantities import (
        checkpoint_quantities_summary,
        measure_checkpoint_quantities,
        write_checkpoint_quantities,
    )

    with report_progress("quantities") as bar:
        table = measure_checkpoint_quantities(request, folder, clients, bar.step, trust)
    paths = write_checkpoint_quantities(table, request, folder, out)
    print("\n".join(map(printable, checkpoint_quantities_summary(table, request, folder).splitlines())))
    print(printable(", ".join(str(path) for path in paths)))
    return 0


def _checkpoints(request: SpectrumRequest, folder: Path, clients: int | None, out: Path, trust: bool) -> int:
    from figures.spectrum.checkpoints import checkpoints_summary, measure_checkpoints, measure_run, write_checkpoints

    with report_progress("spectrum") as bar:
        if clients is None:
            table = measure_checkpoints(request, folder, bar.step, bar.expect)
        else:
            table = measure_run(request, folder, clients, bar.step, trust, bar.expect)
    paths = write_checkpoints(table, request, folder, out)
    print("\n".join(map(printable, checkpoints_summary(table, request.settings.confidence, folder).splitlines())))
    print(printable(", ".join(str(path) for path in paths)))
    return 0
