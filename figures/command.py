"""The command line of figures: `rankproof figure`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.arguments import add_command, at_least, named

if TYPE_CHECKING:
    from figures.figure import Figure
    from figures.make import Made


def declare(commands: Any) -> None:
    """Declares `rankproof figure`."""
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


def add_figure_options(parser: argparse.ArgumentParser) -> None:
    """Declares the options of everything that draws figures."""
    parser.add_argument("--scale", choices=("quick", "laptop", "paper"), default="quick", help="default: quick")
    parser.add_argument("--device", type=named, default="cpu", metavar="D", help="torch device; default: cpu")
    parser.add_argument("--recompute", action="store_true", help="do not use cached data")
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
        print(f"{made.figure.id}: {', '.join(str(path) for path in made.paths.values())} ({made.seconds:.1f} s)")
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

        settings = Settings(
            scale=options.scale, seed=options.seed, device=options.device, data_root=options.root, progress=advance
        )
        return make(figure, settings, out, recompute=options.recompute)
