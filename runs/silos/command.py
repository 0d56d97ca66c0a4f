"""The command line of silos: `rankproof flower new` and `rankproof flower gate`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from runs.settings import RunError
from workloads.arguments import add_command, read_name


def declare(commands: Any) -> None:
    """Declare `rankproof flower`."""
    flower = add_command(
        commands,
        "flower",
        _flower,
        "write a Flower app that trains with silos, which keep their data, or keep the gate of its server",
        "rankproof flower new hospitals --algorithm fedlrt-full --silos north,south",
    )
    flower.add_argument(
        "action",
        choices=("new", "gate"),
        help="new: write an app into a new folder; gate: let silos reach Flower's server, and nobody command it",
    )
    flower.add_argument("folder", type=read_name, metavar="FOLDER", help="the new app, or the gate's certificates")
    flower.add_argument(
        "--algorithm", type=read_name, metavar="ALGORITHM", default="fedlrt-full", help="default: %(default)s"
    )
    flower.add_argument(
        "--silos",
        type=read_name,
        metavar="NAMES",
        default="north,south",
        help="between commas; a silo's place is the number of its client; default: %(default)s",
    )
    flower.add_argument(
        "--listen", type=read_name, metavar="HOST:PORT", help="of the gate, for silos; default: 0.0.0.0:8443"
    )
    flower.add_argument(
        "--superlink",
        type=read_name,
        metavar="HOST:PORT",
        help="of Flower's server, for the gate; default: 127.0.0.1:8000",
    )


def _flower(options: argparse.Namespace) -> int:
    folder = Path(options.folder)
    if options.action == "gate":
        from runs.silos.gate import LISTEN, SUPERLINK, keep_gate

        keep_gate(folder, options.listen or LISTEN, options.superlink or SUPERLINK)
        return 0
    from runs.silos.app import write_app

    if options.listen or options.superlink:
        raise RunError("--listen and --superlink are options of `rankproof flower gate`; leave them out")
    write_app(folder, options.algorithm, [name.strip() for name in options.silos.split(",")])
    print(f"{folder}: put your start and your data into silos/task.py; README.md says how to run it")
    return 0
