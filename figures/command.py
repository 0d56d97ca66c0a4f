"""The command line of figures: `rankproof figure` and `rankproof spectrum`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.arguments import add_command, at_least, named

if TYPE_CHECKING:
    from figures.figure import Figure
    from figures.make import Made
    from figures.spectrum_command import SpectrumRequest
    from hessian.memory import Budget


def declare(commands: Any) -> None:
    """Declares the commands that draw figures."""
    figure = add_command(
        commands, "figure", _figure, "compute and draw figures: PNG, PDF, SVG, CSV and a manifest",
        "rankproof figure rmt/transition --scale laptop --out pictures", several="ids",
    )  # fmt: skip
    figure.add_argument("ids", nargs="*", type=named, metavar="ID", help="figure, or a prefix such as rmt/")
    figure.add_argument("--all", action="store_true", help="every figure")
    figure.add_argument("--list", action="store_true", help="list the figures")
    figure.add_argument("--json", action="store_true", help="with --list: as JSON")
    figure.add_argument("--out", type=named, default="results", metavar="DIR", help="default: results")
    figure.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="root of all random streams; default: 0"
    )
    add_figure_options(figure)

    spectrum = add_command(
        commands, "spectrum", _spectrum, "stable rank, density and spiked model of a network's Hessian",
        "rankproof spectrum --model workloads.example:network --data workloads.example:images",
    )  # fmt: skip
    spectrum.add_argument("--model", required=True, metavar="MODULE:FACTORY", help="called for the torch.nn.Module")
    spectrum.add_argument(
        "--data", required=True, metavar="MODULE:FACTORY", help="called for (inputs, targets), a mapping, or batches"
    )
    spectrum.add_argument("--out", type=named, default="results", metavar="DIR", help="default: results")
    _add_spectrum_options(spectrum)


def add_figure_options(parser: argparse.ArgumentParser) -> None:
    """Declares the options of everything that draws figures."""
    parser.add_argument("--scale", choices=("quick", "laptop", "paper"), default="quick", help="default: quick")
    parser.add_argument("--device", type=named, default="cpu", metavar="D", help="torch device; default: cpu")
    parser.add_argument("--recompute", action="store_true", help="use neither cached nor stored numbers")
    parser.add_argument("--require-real", action="store_true", help="refuse stand-in data (there is none so far)")
    parser.add_argument(
        "--root", type=named, metavar="DIR", help="where the data sets lie; default: $RANKPROOF_DATA, else data"
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
            for entry in entries:
                print(f"{entry['id']:24} {entry['title']}")
        return 0
    if options.json:
        raise FigureError("--json lists the figures: name --list too")
    if not options.ids and not options.all:
        raise FigureError("name a figure, or --all; `rankproof figure --list` lists them")
    chosen = select(options.ids)
    for figure in all_figures() if options.all else chosen:
        made = make_figure(figure, options, Path(options.out))
        stored = ", numbers as stored" if made.manifest["stored"] else ""
        print(
            f"{made.figure.id}: {', '.join(str(path) for path in made.paths.values())} ({made.seconds:.1f} s{stored})"
        )
        if made.note:
            print(f"{made.figure.id}: {made.note}", file=sys.stderr)
    return 0


def make_figure(figure: Figure, options: argparse.Namespace, out: Path) -> Made:
    """Makes one figure as the options of `add_figure_options` say, with its progress on the terminal."""
    from tqdm import tqdm

    from figures.figure import Settings
    from figures.make import make

    with tqdm(desc=figure.id, disable=None, leave=False, bar_format="{desc}: {postfix} {elapsed}") as bar:

        def advance(text: str) -> None:
            bar.set_postfix_str(text)

        def tell(text: str) -> None:
            tqdm.write(f"{figure.id}: {text}", file=sys.stderr)

        settings = Settings(
            scale=options.scale, seed=options.seed, device=options.device, data_root=options.root, progress=advance,
            told=tell,
        )  # fmt: skip
        return make(figure, settings, out, recompute=options.recompute)


def _add_spectrum_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--loss", default="cross-entropy", metavar="NAME", help="cross-entropy, mse or module:function")
    add("--reduction", choices=("mean", "sum"), help="of the loss over samples; default: its own, else mean")
    add("--count", metavar="MODULE:FUNCTION", help="samples or tokens of a batch; default: the length of its tensors")
    matrices = ("hessian", "gauss-newton", "residual", "fisher", "empirical-fisher")
    add("--matrix", choices=matrices, default="hessian", help="default: hessian")
    add("--law", metavar="MODULE:FUNCTION", help="of the targets given the output, for the Fisher matrix")
    add("--parameters", nargs="+", default=(), metavar="PATTERN", help="names such as 'layer1.*'; default: all")
    add("--blocks", nargs="?", const=0, type=at_least(1), metavar="DEPTH",
        help="stable rank of every module too, or of those at a depth: 1 for layer1, head")  # fmt: skip
    add(
        "--checkpoints",
        metavar="DIR",
        help="instead: stable rank, largest eigenvalues and overlaps at every numbered file of weights in a folder",
    )
    add("--batch-norm", choices=("running", "batch"), help="statistics of batch norm in training mode")
    add("--trial", action="store_true",
        help="multiply one vector or eight at a time, whatever is faster: numbers repeat to rounding")  # fmt: skip
    add("--double", action="store_true", help="measure in float64")
    add("--device", default="cpu", metavar="D", help="torch device; default: cpu")
    add("--width", type=float, default=0.05, metavar="W", help="relative width of the interval; default: 0.05")
    add("--confidence", type=float, default=0.95, metavar="C", help="of the intervals; default: 0.95")
    add("--outliers", type=at_least(1), default=10, metavar="K", help="eigenpairs at each end; default: 10")
    add("--probes", type=at_least(1), default=4, metavar="N", help="of the quadrature; default: 4")
    add("--steps", type=at_least(1), default=60, metavar="N", help="Lanczos steps of each probe; default: 60")
    add("--seed", type=at_least(0), default=0, metavar="N", help="root of all random streams; default: 0")
    add("--products", type=at_least(22), default=2000, metavar="N", help="at most, for each part; default: 2000")
    add("--memory", metavar="SIZE", help="of model, graph and vectors, such as '6 GiB'; default: what it takes")
    add("--scratch", metavar="DIR", help="with --memory: a folder for vectors that do not fit")


def _budget(options: argparse.Namespace) -> Budget | None:
    from hessian.memory import Budget as Given
    from hessian.symmetric import CurvatureError

    if options.memory is None:
        if options.scratch is not None:
            raise CurvatureError("--scratch is for vectors that do not fit in --memory, which is not given")
        return None
    return Given.named(options.memory, options.scratch)


def _spectrum(options: argparse.Namespace) -> int:
    from tqdm import tqdm

    from figures.spectrum_command import SpectrumRequest, measure_network, summary, write_spectrum
    from hessian.spectrum import SpectrumSettings
    from workloads.files import require_writable

    settings = SpectrumSettings(
        options.width, options.confidence, options.outliers, probes=options.probes, steps=options.steps,
        seed=options.seed, products=options.products, memory=_budget(options),
    )  # fmt: skip
    request = SpectrumRequest(
        options.model, options.data, options.loss, options.matrix, tuple(options.parameters), options.batch_norm,
        options.reduction, options.double, options.device, settings, options.count, options.law,
        options.blocks, options.trial,
    )  # fmt: skip
    out = Path(options.out)
    require_writable(out)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` does; the installed command does not
    if options.checkpoints is not None:
        return _checkpoints(request, Path(options.checkpoints), out)
    with tqdm(desc="spectrum", disable=None, leave=False, bar_format="{desc}: {postfix} {elapsed}") as bar:
        measured = measure_network(request, bar.set_postfix_str)
    paths = write_spectrum(measured, out)
    print(summary(measured))
    print(", ".join(str(path) for path in paths.values()))
    return 0


def _checkpoints(request: SpectrumRequest, folder: Path, out: Path) -> int:
    from tqdm import tqdm

    from figures.spectrum_checkpoints import checkpoints_summary, measure_checkpoints, write_checkpoints
    from hessian.symmetric import CurvatureError

    if request.blocks is not None:
        raise CurvatureError("--blocks and --checkpoints are two measurements: ask for one at a time")
    with tqdm(desc="spectrum", disable=None, leave=False, bar_format="{desc}: {postfix} {elapsed}") as bar:
        table = measure_checkpoints(request, folder, bar.set_postfix_str)
    confidence = request.settings.confidence
    paths = write_checkpoints(table, confidence, out)
    print(checkpoints_summary(table, confidence))
    print(", ".join(str(path) for path in paths))
    return 0
