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
        "write a Flower app for silos that keep their data, or run the gate, a proxy that protects its server",
        "rankproof flower new hospitals --algorithm fedlrt-full --silos north,south",
    )
    flower.add_argument(
        "action",
        choices=("new", "gate"),
        help="new: write an app to a new folder; gate: run the proxy through which silos reach Flower's server, "
        "while its "
        "control interface stays closed",
    )
    flower.add_argument(
        "folder", type=read_name, metavar="FOLDER", help="folder of the new app, or of the gate's certificates"
    )
    flower.add_argument(
        "--algorithm",
        type=read_name,
        metavar="ALGORITHM",
        default="fedlrt-full",
        help="algorithm of the new app; default: %(default)s",
    )
    flower.add_argument(
        "--silos",
        type=read_name,
        metavar="NAMES",
        default="north,south",
        help="names of the silos, separated by commas and in the order of the clients; default: %(default)s",
    )
    flower.add_argument(
        "--listen",
        type=read_name,
        metavar="HOST:PORT",
        help="gate: address on which it serves the silos; default: 0.0.0.0:8443",
    )
    flower.add_argument(
        "--superlink",
        type=read_name,
        metavar="HOST:PORT",
        help="gate: address of Flower's server; default: 127.0.0.1:8000",
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
    print(f"{folder}: add your starting weights and your data in silos/task.py; README.md explains how to run it")
    return 0
