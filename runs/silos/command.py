"""The command line of silos: `rankproof flower new`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from workloads.arguments import add_command, named


def declare(commands: Any) -> None:
    """Declares `rankproof flower`."""
    flower = add_command(
        commands,
        "flower",
        _flower,
        "write a Flower app that trains with silos, which keep their data",
        "rankproof flower new hospitals --algorithm fedlrt-full --silos north,south",
    )
    flower.add_argument("action", choices=("new",), help="new: write an app into a new folder")
    flower.add_argument("folder", type=named, metavar="FOLDER")
    flower.add_argument(
        "--algorithm", type=named, metavar="ALGORITHM", default="fedlrt-full", help="default: %(default)s"
    )
    flower.add_argument(
        "--silos",
        type=named,
        metavar="NAMES",
        default="north,south",
        help="between commas; a silo's place is the number of its client; default: %(default)s",
    )


def _flower(options: argparse.Namespace) -> int:
    from runs.silos.app import write_app

    folder = Path(options.folder)
    write_app(folder, options.algorithm, [name.strip() for name in options.silos.split(",")])
    print(f"{folder}: put your start and your data into silos/task.py; README.md says how to run it")
    return 0
